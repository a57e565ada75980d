/*
 * The corpus: sequences that reached something new, as bytes, and what was reached. It lies in memory that the main process and its
 * workers share: the main process writes it between rounds, workers only read it.
 *
 * What a sequence reaches are features: a situation that an op was judged in, an op behind another, a line or branch of the
 * subject that was run, and how often. A feature is a number below KVC_FEATURES; two may fall on the same.
 */
#ifndef KVC_HARNESS_CORPUS_H
#define KVC_HARNESS_CORPUS_H

#include "harness/decode.h"

enum { KVC_CORPUS_MAX = 4096, KVC_FEATURES = 1 << 20 };

typedef struct kvc_corpus {
    int32_t count;
    int32_t lost; /* that found no room */
    kvc_bytes entry[KVC_CORPUS_MAX];
    uint8_t seen[KVC_FEATURES / 8];
    uint8_t reached[KVC_OP_KINDS][KVC_SITUATIONS]; /* an op was judged there */
} kvc_corpus;

typedef enum kvc_feature_kind {
    KVC_FEATURE_SITUATION = 1, /* one: op and situation; two: refused */
    KVC_FEATURE_BEHIND,        /* one: op, and whether it refused; two: the op before */
    KVC_FEATURE_COUNTER,       /* one: number of the place in the subject's code; two: how often, as a power of two */
    KVC_FEATURE_TOLD           /* one: what the adapter said */
} kvc_feature_kind;

uint32_t kvc_feature(kvc_feature_kind kind, uint64_t one, uint64_t two);
static inline int kvc_feature_is_in(const uint8_t seen[KVC_FEATURES / 8], uint32_t feature)
{
    return seen[feature / 8] >> feature % 8 & 1;
}
static inline void kvc_feature_put(uint8_t seen[KVC_FEATURES / 8], uint32_t feature)
{
    seen[feature / 8] = (uint8_t)(seen[feature / 8] | 1u << feature % 8);
}

/* Shared memory for one, empty; NULL when memory is short. */
kvc_corpus *kvc_corpus_open(void);
void kvc_corpus_close(kvc_corpus *corpus);
void kvc_corpus_clear(kvc_corpus *corpus);
/* Returns 0 when there is no room for it. */
int kvc_corpus_add(kvc_corpus *corpus, const kvc_bytes *bytes);

#endif
