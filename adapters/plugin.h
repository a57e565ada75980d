/*
 * The C interface to a cache: a table of functions, used in a child process of the harness.
 *
 * A plugin makes its input tensors itself from the value formula (reference/values.h, docs/protocol.md) and shows
 * what the cache holds after every op. It never judges.
 */
#ifndef KVC_ADAPTERS_PLUGIN_H
#define KVC_ADAPTERS_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "reference/op.h"
#include "reference/params.h"
#include "reference/tensor.h"

enum { KVC_PLUGIN_VERSION = 1 };

typedef struct kvc_cache kvc_cache; /* the plugin's own */

typedef struct kvc_plugin {
    uint32_t version; /* KVC_PLUGIN_VERSION */
    const char *subject;         /* "builtin" */
    const char *subject_version; /* "1" */
    /* Name of variant number `index`, or NULL past the last. Lives as long as the plugin. */
    const char *(*variant)(size_t index);
    /*
     * Makes an empty cache. `parts` and `layers` are the words of the spec that the parameters choose, or "". Returns NULL
     * when the variant is unknown or memory is short. The caller owns it until `close`.
     */
    kvc_cache *(*open)(const char *variant, const kvc_params *params, const char *parts, const char *layers);
    /*
     * Performs one op and shows the state after it. `numbers` are the token numbers of an append (op->n of them), otherwise
     * NULL. Fills every field of *out except `tensor` entries past `tensors`. Always returns: a refusal is an outcome.
     */
    void (*run)(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out);
    void (*close)(kvc_cache *cache); /* NULL is allowed */
    /*
     * Makes the cache what it was when it was opened, for less than closing it and opening another. Returns 1, or 0 when it cannot:
     * it is closed then. May be NULL.
     */
    int (*renew)(kvc_cache *cache);
    /*
     * Closes the cache and opens another, to which goes what serves both, such as inputs. Returns NULL as `open` does: the cache is
     * closed then too. May be NULL.
     */
    kvc_cache *(*reopen)(kvc_cache *cache, const char *variant, const kvc_params *params, const char *parts, const char *layers);
} kvc_plugin;

/* The built-in caches, correct ones and broken ones. */
const kvc_plugin *kvc_builtin_plugin(void);

#endif
