/*
 * Built-in caches for a bench that draws ops in its own way: each op is performed by kvconform's driver and judged by all laws, with the
 * parameters that kvconform draws for the same variant. For C++ too.
 */
#ifndef KVC_BENCH_CHECKED_H
#define KVC_BENCH_CHECKED_H

#include "kvconform/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kvc_checked kvc_checked;

enum { KVC_CHECKED_BLOCK = 64 }; /* sequences that share their parameters */

/* For so many sequences, behind the short ones. NULL when it cannot be had; says why on standard error. */
kvc_checked *kvc_checked_open(const char *variant, uint64_t seed, uint64_t sequences);
void kvc_checked_close(kvc_checked *checked); /* may be NULL */
/* Goes to the parameters of the next block of sequences. Returns 1, 0 when there is none, -1 with a complaint made. */
int kvc_checked_next(kvc_checked *checked);
/* Of these parameters: rows at first, where a window or a buffer ends (0: nowhere), and how often an op is drawn (0: never). */
int32_t kvc_checked_rows(const kvc_checked *checked);
int32_t kvc_checked_boundary(const kvc_checked *checked);
int kvc_checked_weight(const kvc_checked *checked, int kind);
/* Begins and ends a sequence. Returns 0 with a complaint made. */
int kvc_checked_begin(kvc_checked *checked);
void kvc_checked_finish(kvc_checked *checked);
/*
 * Performs and judges one op. Returns 1 when all is as it must be, 0 when a law is broken or the cache could not be asked. An op of which
 * no text says what it does there is left out, and counts as right.
 */
int kvc_checked_op(kvc_checked *checked, const kvc_op *op);
uint64_t kvc_checked_ops(const kvc_checked *checked); /* that were judged */

#ifdef __cplusplus
}
#endif

#endif
