/*
 * What fresh caches predicted, remembered: most sequences of a whole model leave the same few tokens, and a fresh cache that is given
 * the same tokens in the same pieces predicts the same.
 */
#ifndef KVC_HARNESS_PREDICTION_MEMO_H
#define KVC_HARNESS_PREDICTION_MEMO_H

#include "harness/predictions.h"

typedef struct kvc_prediction_memo kvc_prediction_memo;

/* NULL when memory is short. */
kvc_prediction_memo *kvc_prediction_memo_open(void);
void kvc_prediction_memo_close(kvc_prediction_memo *memo);
/* Forgets all: what follows is of another model. */
void kvc_prediction_memo_forget(kvc_prediction_memo *memo);
/*
 * What a fresh cache with these parameters predicted last when these appends gave it the tokens of `kept`. Returns 1 with *out, whose
 * memory stays its own, and *failed (it broke a law itself); 0 where it is not known; -1 when memory is short.
 */
int kvc_prediction_memo_find(const kvc_prediction_memo *memo, const kvc_params *params, const kvc_sequence *appends, const kvc_kept *kept,
                             kvc_prediction *out, int *failed);
/* Remembers it, perhaps in the place of another. Returns 0 when memory is short. */
int kvc_prediction_memo_add(kvc_prediction_memo *memo, const kvc_params *params, const kvc_sequence *appends, const kvc_kept *kept,
                            const kvc_prediction *prediction, int failed);

#endif
