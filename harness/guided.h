/*
 * Sequences that are made of those of a corpus: a block takes an entry and keeps its parameters, each sequence of it changes the ops.
 * The same seed and the same corpus give the same sequences.
 */
#ifndef KVC_HARNESS_GUIDED_H
#define KVC_HARNESS_GUIDED_H

#include "harness/corpus.h"

typedef struct kvc_guided {
    const kvc_corpus *corpus; /* NULL: none */
    kvc_bytes parent;         /* of the block */
} kvc_guided;

/* Whether the block that begins with sequence `block` is made of the corpus. */
int kvc_guided_takes(const kvc_guided *guided, uint64_t block);
/* Begins a block; `random` is its own. Returns its parameters. */
kvc_params kvc_guided_begin(kvc_guided *guided, const kvc_choice *choice, kvc_random *random);
/*
 * Makes a sequence with `model`, which has the plan of the block. An aimed one is the first of several that comes to a situation which no
 * op was judged in yet. Returns 1, or 0 when memory is short.
 */
int kvc_guided_sequence(kvc_guided *guided, kvc_model *model, const kvc_exclusions *exclusions, int careful, int aimed,
                        kvc_random *random, kvc_sequence *out, kvc_coverage *coverage);

#endif
