/*
 * The sequences that kvconform runs on a variant, block by block, for loops that make the same calls.
 */
#ifndef KVC_BENCH_BLOCKS_H
#define KVC_BENCH_BLOCKS_H

#include "harness/generator.h"

/* A range of sequences: zero everything before kvc_blocks_open. */
typedef struct kvc_blocks {
    kvc_catalogue catalogue;
    kvc_generator *generator;
    uint64_t index; /* next sequence */
    uint64_t end;
} kvc_blocks;

/* One block: sequences that share their parameters. Belongs to the kvc_blocks until the next one is read. */
typedef struct kvc_block {
    const kvc_plan *plan;
    int count;
    uint64_t ops;
    kvc_sequence sequence[KVC_BLOCK];
} kvc_block;

/*
 * Sequences start to end - 1 of a variant in the hostile profile, none of them left out. Reads specs and contracts of
 * kvc_data_find, and takes those that the subject's hello brings, which may be NULL. Returns 1, or 0 with *error set. Free with
 * kvc_blocks_close, also after a failure.
 */
int kvc_blocks_open(kvc_blocks *blocks, const cJSON *hello, const char *subject, const char *version, const char *variant, uint64_t seed,
                    uint64_t start, uint64_t end, kvc_error *error);
/* The next block. Returns 1, 0 at the end, or -1 with *error set. */
int kvc_blocks_next(kvc_blocks *blocks, kvc_block *block, kvc_error *error);
void kvc_blocks_close(kvc_blocks *blocks);
/* Reads a whole number from 0 on. Returns 0 for anything else. */
int kvc_blocks_number(const char *text, uint64_t *number);

#endif
