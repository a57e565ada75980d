/*
 * What a subject shows after one op. Used by plugins, by the reader of the protocol and by the judge.
 */
#ifndef KVC_REFERENCE_TENSOR_H
#define KVC_REFERENCE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum { KVC_LAYERS_MAX = 8, KVC_DIMS_MAX = 6, KVC_TENSORS_MAX = 2048, KVC_NAME_MAX = 64 };

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

#endif
