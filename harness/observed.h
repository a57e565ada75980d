/*
 * Checking what a plugin showed: every field may hold anything.
 */
#ifndef KVC_HARNESS_OBSERVED_H
#define KVC_HARNESS_OBSERVED_H

#include "kvconform/plugin.h"
#include "reference/error.h"

enum { KVC_SHOWN_BYTES_MAX = 1 << 30 };

/* Names that were found good: the same pointer is not read again, for names live as long as the plugin. */
typedef struct kvc_observed {
    const char *name[KVC_TENSORS_MAX]; /* by place in the observation */
} kvc_observed;

/*
 * Checks everything but what `data` points to. Returns 1, or 0 with *error set: what a plugin may not show is a fault of the plugin
 * and says nothing of the cache.
 */
int kvc_observed_check(kvc_observed *known, const kvc_observation *observation, kvc_error *error);

#endif
