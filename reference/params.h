/*
 * The parameters of a case: sizes, type and calling style of one cache.
 */
#ifndef KVC_REFERENCE_PARAMS_H
#define KVC_REFERENCE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

/* Element types on the wire. Sizes in bytes: 4, 2, 2, 8, 8. */
typedef enum kvc_dtype {
    KVC_FLOAT32 = 0,
    KVC_FLOAT16 = 1,
    KVC_BFLOAT16 = 2,
    KVC_FLOAT64 = 3,
    KVC_INT64 = 4
} kvc_dtype;
enum { KVC_DTYPES = 5 };

typedef enum kvc_layout { KVC_CONTIGUOUS = 0, KVC_STRIDED = 1 } kvc_layout;

/* How a token is written into the elements of a floating tensor (docs/protocol.md, tokens and values). */
typedef enum kvc_encoding { KVC_DIGITS = 0, KVC_TWO_LEVELS = 1 } kvc_encoding;
enum { KVC_ENCODINGS = 2 };

typedef enum kvc_call {
    KVC_CALL_POSITION = 0,
    KVC_CALL_KEYWORD,
    KVC_CALL_DEPRECATED,
    KVC_CALL_CONTAINER,
    KVC_CALL_CONTAINER_KEYWORD,
    KVC_CALL_CONTAINER_DEPRECATED
} kvc_call;
enum { KVC_CALLS = 6 };

/*
 * All parameters of one case. A variant uses only some; the others hold their default. Copied by value: a
 * kvc_params owns nothing. `parts` and `layers` are indices into the lists of the variant's spec.
 */
typedef struct kvc_params {
    int32_t batch;     /* rows at the start, 1..KVC_ROWS_MAX */
    int32_t heads;     /* key/value heads */
    int32_t key_dim;   /* channels of a key */
    int32_t value_dim; /* channels of a value */
    int32_t index_dim; /* channels of an index key */
    int32_t channels;  /* channels of a convolution state */
    int32_t window;    /* sliding window, in tokens, 1 and up */
    int32_t capacity;  /* maximal length of a static buffer, in tokens */
    int32_t kernel;    /* convolution width K, in tokens */
    int32_t states;    /* number of convolution and recurrent states in a layer */
    int32_t block;     /* tokens in a compressed block */
    int32_t keep;      /* first tokens that a ring never evicts */
    int32_t residual;  /* most tokens that a quantised cache keeps as they came */
    int32_t dtype;     /* kvc_dtype of the inputs */
    int32_t layout;    /* kvc_layout of the inputs */
    int32_t values;    /* kvc_encoding of the inputs: the spec's, never drawn */
    int32_t call;      /* kvc_call */
    int32_t watch;     /* 1: inputs and earlier returns are shown after every op */
    int32_t parts;     /* index into the spec's parts */
    int32_t layers;    /* index into the spec's layers */
} kvc_params;

/* The value formula tells seven rows apart. */
enum { KVC_ROWS_MAX = 7 };

/* One row of the table of parameters: its name in JSON and where it lies in kvc_params. */
typedef struct kvc_param_info {
    const char *name;
    size_t offset;
    int32_t minimum;
    int32_t maximum;
    int32_t standard; /* the default */
    const char *const *words; /* for parameters written as words: a NULL-ended list, otherwise NULL */
} kvc_param_info;

enum { KVC_PARAMS = 20 };
/* The table, in the order of the struct. */
const kvc_param_info *kvc_param_table(void);
/* Index of `name` in the table, or -1. */
int kvc_param_find(const char *name);
int32_t kvc_param_get(const kvc_params *params, int index);
void kvc_param_set(kvc_params *params, int index, int32_t value);
/* All parameters at their default. */
kvc_params kvc_params_standard(void);

const char *kvc_dtype_name(kvc_dtype dtype);
/* Returns 1 and sets *dtype, or 0 for an unknown name. */
int kvc_dtype_parse(const char *name, kvc_dtype *dtype);
/* Size of one element in bytes. */
static inline size_t kvc_dtype_size(kvc_dtype dtype) {
    return dtype == KVC_FLOAT32 ? 4 : dtype == KVC_FLOAT16 || dtype == KVC_BFLOAT16 ? 2 : 8;
}

#endif
