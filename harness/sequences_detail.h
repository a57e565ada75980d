/*
 * The detail of a failure of a cache that holds several sequences: what was expected and what was seen of each, and a title.
 */
#ifndef KVC_HARNESS_SEQUENCES_DETAIL_H
#define KVC_HARNESS_SEQUENCES_DETAIL_H

#include <cjson/cJSON.h>

#include "reference/judge.h"

/* Fills the two objects and the title. `observation` may be NULL. The model stands where the op should have left the cache. */
void kvc_sequences_detail(const kvc_model *model, const kvc_expectation *expectation, const kvc_op *op,
                          const kvc_observation *observation, const kvc_failure *failure, cJSON *expected, cJSON *observed,
                          char *title, size_t size);

#endif
