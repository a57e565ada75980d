/*
 * The built-in caches `ragged` and `ragged_window`: batches whose rows have lengths of their own. Rows end together; cells of zeros
 * stand left of the shorter ones.
 */
#ifndef KVC_ADAPTERS_BUILTIN_RAGGED_H
#define KVC_ADAPTERS_BUILTIN_RAGGED_H

#include "adapters/builtin/faults.h"
#include "kvconform/plugin.h"

typedef struct kvc_ragged kvc_ragged;

/* Name of variant `index`, or NULL past the last. */
const char *kvc_ragged_name(size_t index);
/* NULL when `name` (of `length` bytes) is none of them or memory is short. `params` must live longer. */
kvc_ragged *kvc_ragged_open(const char *name, size_t length, const kvc_params *params, kvc_fault fault);
void kvc_ragged_close(kvc_ragged *cache); /* NULL is allowed */
/* As the functions of a plugin. */
int kvc_ragged_renew(kvc_ragged *cache);
void kvc_ragged_run(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out);

#endif
