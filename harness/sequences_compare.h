/*
 * What comes of a decode on a cache that holds several sequences, compared with what a fresh cache makes of the same tokens.
 */
#ifndef KVC_HARNESS_SEQUENCES_COMPARE_H
#define KVC_HARNESS_SEQUENCES_COMPARE_H

#include "harness/generator.h"
#include "reference/sequences_judge.h"

/* What a decode returned for each of its sequences. Copied by value, owns nothing. */
typedef struct kvc_sequences_results {
    int count[KVC_SEQUENCES_MAX]; /* of logits; 0: nothing */
    float logits[KVC_SEQUENCES_MAX][KVC_LOGITS_MAX];
} kvc_sequences_results;

/* The same tokens at the same positions for a fresh cache, in the pieces in which they were decoded, and in others. */
typedef struct kvc_sequences_pieces {
    kvc_sequence whole;
    kvc_sequence split;
    int32_t numbers[KVC_LOG_MAX];
} kvc_sequences_pieces;

void kvc_sequences_results_take(kvc_sequences_results *results, const kvc_op *op, const kvc_observation *observation);
/* Whether the ops are nothing but decodes of one sequence: a fresh cache would do the very same. */
int kvc_sequences_is_plain(const kvc_sequence *ops);
/* Returns 0 when no fresh cache can tell what comes of this sequence. */
int kvc_sequences_pieces_make(const kvc_model *model, int sequence, kvc_sequences_pieces *pieces);
/* Largest difference of logits: those of place `a_row` and `b_row` of two decodes; huge when one of them is missing or no number. */
float kvc_sequences_distance(const kvc_sequences_results *a, int a_row, const kvc_sequences_results *b, int b_row);
/* How far two results may be apart that are the same but for the order of the arithmetic. */
float kvc_sequences_bound(const kvc_plan *plan);
/* Whether what was seen is farther from what two fresh caches made than arithmetic explains. */
int kvc_sequences_is_far(const kvc_plan *plan, const kvc_sequences_results *seen, int row, const kvc_sequences_results *same,
                         const kvc_sequences_results *other);
/* The rule that says what the ops before the last should have left. */
kvc_rule_name kvc_sequences_deciding_rule(const kvc_plan *plan, const kvc_sequence *ops);

#endif
