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

enum { KVC_PLUGIN_VERSION = 1, KVC_LAYERS_MAX = 8, KVC_DIMS_MAX = 6, KVC_TENSORS_MAX = 512, KVC_NAME_MAX = 64 };

#define KVC_ABSENT INT64_MIN /* no such number: a layer that reports none */

/* One tensor as shown to the harness: row-major, without gaps, little-endian. */
typedef struct kvc_tensor {
    const char *name; /* as in the variant's spec; owned by the plugin, lives as long as the plugin or longer */
    const void *data; /* owned by the cache, valid until the next call on it; may be NULL when there are no elements */
    uint64_t address; /* memory address for buffers documented as static, otherwise 0 */
    int64_t shape[KVC_DIMS_MAX];
    int32_t dims;
    int32_t dtype; /* kvc_dtype */
} kvc_tensor;

/* What one op showed. */
typedef struct kvc_observation {
    int32_t outcome; /* 0: the call returned, 1: it refused */
    int32_t layers;  /* number of layers, 1..KVC_LAYERS_MAX */
    int64_t length[KVC_LAYERS_MAX];      /* sequence length in tokens after the op, or KVC_ABSENT */
    int64_t mask_length[KVC_LAYERS_MAX]; /* announced before an append, or KVC_ABSENT */
    int64_t mask_offset[KVC_LAYERS_MAX];
    int64_t position[KVC_LAYERS_MAX]; /* announced for the next token, or KVC_ABSENT */
    int32_t claim;                    /* before a crop: 1 can be cropped, 0 can not, -1 says nothing */
    int32_t tensors;                  /* number of entries in `tensor` that are set */
    const char *error_kind;           /* when refused: kind of exception or "" ; owned by the cache */
    const char *error_text;
    kvc_tensor tensor[KVC_TENSORS_MAX];
} kvc_observation;

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
} kvc_plugin;

/* The built-in caches, correct ones and broken ones. */
const kvc_plugin *kvc_builtin_plugin(void);

#endif
