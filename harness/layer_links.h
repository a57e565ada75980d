/*
 * Which faults of single layers a case of a whole model shows: it is performed on the variant of each layer of the model's cache, with
 * the layer's own parameters, and what breaks there has the id that a run of that variant gives it.
 */
#ifndef KVC_HARNESS_LAYER_LINKS_H
#define KVC_HARNESS_LAYER_LINKS_H

#include <cjson/cJSON.h>

#include "harness/explore.h"

/* Everything must live longer. */
typedef struct kvc_layer_links_options {
    kvc_crew *crew;
    const kvc_catalogue *catalogue;
    const kvc_contract *contract;
    const char *const *variants; /* those of the subject, NULL-ended */
    kvc_selection selection;     /* subject, version, contract, seed and profile of the layers' runs */
    uint64_t sequences;          /* the budget of a variant; each has its share of it, at most `portion` */
    uint64_t portion;
    uint64_t deaths;             /* as in kvc_explore_options */
} kvc_layer_links_options;

typedef struct kvc_layer_links kvc_layer_links;

/* NULL when memory is short. */
kvc_layer_links *kvc_layer_links_open(const kvc_layer_links_options *options);
void kvc_layer_links_close(kvc_layer_links *links);
/*
 * Performs the finding's case on each layer. `layers` is the list of an adapter (docs/protocol.md). *list becomes a list with `variant`,
 * `law`, `id` and the `layers` that show it, counted from 0; the caller frees it. Chooses other variants for the crew. A variant is
 * explored as in a run of its own when something breaks in it for the first time.
 */
kvc_crew_result kvc_layer_links_find(kvc_layer_links *links, const cJSON *layers, const kvc_finding *finding, cJSON **list,
                                     kvc_error *error);

#endif
