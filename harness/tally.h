/*
 * Failures counted by what they look like, with the smallest case of each.
 */
#ifndef KVC_HARNESS_TALLY_H
#define KVC_HARNESS_TALLY_H

#include "harness/generator.h"
#include "reference/judge.h"

enum { KVC_TALLY_MAX = 512 };

typedef struct kvc_tally_entry {
    kvc_failure failure;
    kvc_params params;
    kvc_sequence sequence; /* up to and including the op that failed */
    uint64_t index;        /* number of the sequence */
    uint64_t first;        /* number of the first sequence that failed so */
    uint64_t failures;     /* sequences that failed so */
} kvc_tally_entry;

/* Lies in memory that two processes share: counts are checked by the reader. */
typedef struct kvc_tally {
    int32_t count;
    int32_t lost; /* kinds of failure that found no room */
    kvc_tally_entry entry[KVC_TALLY_MAX];
} kvc_tally;

/*
 * Whether two failures look the same: law, tensor, kind of op, situation in outline, kind of deviation. A window of one token,
 * which holds nothing between calls, is a matter of its own, lest every fault be made smaller into one of it. `strict` also sets apart
 * the way of calling and whether a reset came before, which shrinking may take away.
 */
int kvc_failures_alike(const kvc_failure *a, const kvc_params *a_params, const kvc_sequence *a_sequence,
                       const kvc_failure *b, const kvc_params *b_params, const kvc_sequence *b_sequence, int strict);
/* The situation of a failure in outline: what its name says of it. */
kvc_situation kvc_failure_outline(const kvc_failure *failure);
/* Marks all situations that look in outline like this one, as the failure's outline goes. `table` is that of one kind of op. */
void kvc_exclude_outline(uint8_t table[KVC_SITUATIONS], const kvc_failure *failure, const kvc_situation *situation);
/* `index` is the number of `sequence`, `first` that of the first of the `failures` sequences that it stands for. */
void kvc_tally_add(kvc_tally *tally, const kvc_failure *failure, const kvc_params *params,
                   const kvc_sequence *sequence, uint64_t index, uint64_t first, uint64_t failures);

#endif
