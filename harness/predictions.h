/*
 * What a whole model predicts with its cache, compared with what it predicts with a fresh one.
 */
#ifndef KVC_HARNESS_PREDICTIONS_H
#define KVC_HARNESS_PREDICTIONS_H

#include "harness/generator.h"
#include "reference/judge.h"

enum { KVC_KEPT_MAX = 512 }; /* tokens; what is left of a longer sequence is not compared */

/* The logits of one append: for each row and each new token one for each word. */
typedef struct kvc_prediction {
    int32_t rows;
    int32_t tokens;
    int32_t words;
    double *value; /* owned */
    size_t room;
    /*
     * Of all appends since the start, the smallest margin by which a score was among the best that were taken, in parts of the largest
     * score; INFINITY where the subject tells of none.
     */
    double margin;
    /* What a cache that quantises makes of the logits, in parts of the largest one, as its subject measures it; 0 where none is told. */
    double loss;
} kvc_prediction;

/* What must still be in the cache before and after an append, and in which pieces it came. */
typedef struct kvc_kept {
    int32_t count;
    int32_t pieces;
    int32_t end[KVC_OPS_MAX]; /* of each piece, in tokens from the first on */
    int32_t number[KVC_KEPT_MAX];
    uint8_t origin[KVC_KEPT_MAX][KVC_ROWS_MAX]; /* for each row now, the row into which the token was appended */
} kvc_kept;

/* Forgets what was predicted before, at the start of a sequence. */
void kvc_prediction_start(kvc_prediction *prediction);
/* Keeps the logits that an append returned, none where it returned none. Returns 0 when memory is short. */
int kvc_prediction_take(kvc_prediction *prediction, const kvc_observation *observation);
/* Makes one what another is; its memory stays its own. Returns 0 when memory is short. */
int kvc_prediction_copy(kvc_prediction *to, const kvc_prediction *from);
void kvc_prediction_clear(kvc_prediction *prediction);
/*
 * The largest difference between the logits of `seen` and those of the same tokens, which are the last, in `other`; in parts of the
 * largest logit. Huge when one of them has not so many.
 */
double kvc_prediction_distance(const kvc_prediction *seen, const kvc_prediction *other);
/* How far two predictions may be apart that are the same but for the order of the arithmetic. */
double kvc_prediction_bound(void);
/*
 * How far two fresh caches, fed in other pieces, may be apart before that is a fault of its own: steps in float32 add up in a
 * recurrent state, and what they add up to is no fault. What is less and still above the bound only withholds a verdict.
 */
double kvc_prediction_control_bound(void);
/*
 * How far apart from fresh caches a prediction may be, one of which got the same pieces and one all in one piece: the order of the
 * arithmetic, eight times what those two are apart, and eight times what the cache loses. Nothing else is allowed for. INFINITY where
 * nothing can be said.
 */
double kvc_prediction_allowed(const kvc_prediction *seen, const kvc_prediction *pieces, const kvc_prediction *whole);
/* Whether a choice among scores was so close that the order of the arithmetic may have decided it: then nothing can be compared. */
int kvc_prediction_is_tied(const kvc_prediction *prediction);

/* Follows the log through one op that was just done or refused. */
void kvc_kept_follow(kvc_kept *kept, const kvc_model *model);
/* Takes down the tokens of the log. Returns 0 where there are too many of them. */
int kvc_kept_finish(kvc_kept *kept, const kvc_model *model);
/* Instead, all that a sequence appends, as if nothing were done between; what was refused is left out. Returns 0 where it is too much. */
int kvc_kept_all(kvc_kept *kept, const kvc_sequence *ops, uint64_t refused);
/* Appends that make the same log in a fresh cache, in the same pieces, or in one; recording first where it is on. */
void kvc_kept_appends(const kvc_kept *kept, int recording, int in_one, kvc_sequence *out);

/* Whether the ops do nothing but append, and none was refused: a fresh cache would do the very same. */
int kvc_only_appends(const kvc_sequence *ops, uint64_t refused);
/* The law that the ops before the last append have broken when it predicts something else, and the rule that says so. */
kvc_law kvc_prediction_law(const kvc_sequence *ops, uint64_t refused, kvc_rule_name *rule);

#endif
