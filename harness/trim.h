/*
 * Making bytes smaller step by step, for fuzzers that run each candidate themselves: the shrinker's candidates, one at a time.
 */
#ifndef KVC_HARNESS_TRIM_H
#define KVC_HARNESS_TRIM_H

#include "harness/fuzz_target.h"

typedef struct kvc_trim kvc_trim;

/* `target` must live longer. NULL when memory is short. */
kvc_trim *kvc_trim_open(kvc_fuzz_target *target);
void kvc_trim_close(kvc_trim *trim);
/* Begins with these bytes. Returns 1 when there is a candidate, 0 when nothing smaller is to be tried, -1 when memory is short. */
int kvc_trim_begin(kvc_trim *trim, const uint8_t *data, size_t size);
/* The candidate to try now. */
const kvc_bytes *kvc_trim_candidate(const kvc_trim *trim);
/* Whether it did; returns as kvc_trim_begin. */
int kvc_trim_answer(kvc_trim *trim, int did);

#endif
