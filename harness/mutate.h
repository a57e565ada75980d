/*
 * Changing the bytes of a sequence op by op, for the fuzzers: insert, delete, change, splice, repeat, swap. What comes out is whole
 * records again; harness/decode.h says what they mean.
 */
#ifndef KVC_HARNESS_MUTATE_H
#define KVC_HARNESS_MUTATE_H

#include "harness/decode.h"

/*
 * Changes `bytes` in one to four ways. `other` is a second sequence to take ops from, or NULL; `parameters` allows the header to be
 * changed too; at most `records_max` records, no more than KVC_OPS_MAX, come out.
 */
void kvc_mutate(kvc_bytes *bytes, const kvc_bytes *other, int parameters, int records_max, kvc_random *random);
/* The beginning of one, the end of the other, cut at random. */
void kvc_cross_over(const kvc_bytes *first, const kvc_bytes *second, int records_max, kvc_random *random, kvc_bytes *out);

#endif
