/*
 * The built-in subject: correct caches, one for each kind of view, and the switches that break them.
 *
 * The broken caches are variants of the plugin too, named `VARIANT+FAULT`. They test the harness itself: every one of them must
 * be found, and in the correct ones nothing may be found. docs/builtin.md describes both.
 */
#ifndef KVC_ADAPTERS_BUILTIN_BUILTIN_H
#define KVC_ADAPTERS_BUILTIN_BUILTIN_H

#include <stddef.h>

#include "kvconform/plugin.h"

typedef struct kvc_builtin_fault {
    const char *variant;     /* the correct variant that is broken */
    const char *fault;       /* name of the switch; the broken variant is `VARIANT+FAULT` */
    const char *law;         /* the first law, in the order of the laws, that it breaks */
    const char *description; /* one sentence: what goes wrong, and when */
} kvc_builtin_fault;

/* Sets *table to all faults; returns how many. The table is constant. */
size_t kvc_builtin_faults(const kvc_builtin_fault **table);

/* Correct caches and broken ones. */
const kvc_plugin *kvc_builtin_plugin(void);

#endif
