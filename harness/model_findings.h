/*
 * What is told of a finding of a whole model beside its case: what its cache is made of and had said of itself, whether `generate` comes
 * to it, and which faults of single layers it follows from.
 */
#ifndef KVC_HARNESS_MODEL_FINDINGS_H
#define KVC_HARNESS_MODEL_FINDINGS_H

#include "harness/layer_links.h"

/* How many sequences of the profile `assisted` decide whether `generate` comes to a finding. */
enum { KVC_ASSISTED_SEQUENCES = 256 };

/* What the cache of the model is made of with these parameters: an object with `cache` and `layers`, or null; the caller frees it. */
kvc_crew_result kvc_model_layers(const kvc_bench *bench, const kvc_params *params, cJSON **layers, kvc_error *error);
/*
 * Fills in `model` of each finding of a run of the model that `selection` names. `variants` are those of the subject, NULL-ended.
 * Chooses other variants for the crew.
 */
kvc_crew_result kvc_model_findings_complete(const kvc_bench *bench, const kvc_selection *selection, const char *const *variants,
                                            kvc_layer_links *links, kvc_exploration *exploration, kvc_error *error);

#endif
