/*
 * The parts of a failure's detail that speak of rows with lengths of their own.
 */
#ifndef KVC_HARNESS_DETAIL_ROWS_H
#define KVC_HARNESS_DETAIL_ROWS_H

#include <cjson/cJSON.h>

#include "reference/judge.h"

/* Adds, for each row, the tokens that a tensor must hold to *expected and those that it holds to *observed, both under `name`. */
void kvc_detail_rows(cJSON *expected, cJSON *observed, const kvc_model *model, int slot, int returned, const char *name,
                     const kvc_tensor *tensor);
/* "lets token 3 of row 1 see cells of 0, 2 instead of tokens 2, 3"; written to `buffer`. `observation` may be NULL. */
const char *kvc_detail_mask_text(kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                 char *buffer, size_t size);
/* "announces position 1 for the next token of row 1 instead of 2" */
const char *kvc_detail_position_text(const kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                     char *buffer, size_t size);

/* "says that 1 cell pads row 1 instead of 2"; the failure speaks of a slot. */
const char *kvc_detail_padding_text(const kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                    char *buffer, size_t size);

#endif
