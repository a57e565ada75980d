/*
 * The plugin interface of kvconform: a cache behind a table of C functions, in a shared object.
 *
 * This header is all that a plugin needs, in C11 or C++17. It is complete in itself and links to nothing. A plugin exports one
 * function, `kvconform_plugin`, and is run with
 *
 *     kvconform run plugin:./my_cache.so
 *
 * kvconform loads it in child processes only: a crash, a hang or a leak is a finding and ends nothing else. It calls from one
 * thread, never from two at once, and may load the plugin into several processes. docs/tutorial-own-cache.md builds one.
 *
 * What a plugin does: it opens a cache for given parameters, performs one op after the other on it and shows, after each, what
 * the cache holds. It makes the tensors that it appends itself, by the value formula (below), so that every element says which
 * token it belongs to. It never judges, and never looks at what it appended to answer.
 *
 * Units: tokens, elements and bytes are named where they stand. Numbers of tokens are never negative unless said so.
 *
 * How this header changes. `version` in the table rises when something that was here gets another meaning; a plugin of a version
 * that kvconform does not know is refused. Nothing else ever changes but by additions:
 *   - functions are added at the end of kvc_plugin, which says its own size: those that an older plugin does not have count as
 *     NULL, and a newer plugin is refused only if it sets one that an older kvconform does not know;
 *   - fields are added at the end of kvc_params, kvc_op and kvc_observation, of which kvconform alone makes objects: a plugin of
 *     an older header does not see them, and those of an observation hold what they hold when nothing is said;
 *   - kvc_tensor and the lengths of arrays stay as they are;
 *   - ops, types and other words are added at the end of their enums. A plugin is given no op that its spec does not name; one
 *     that it does not know it refuses (kvc_refuse).
 */
#ifndef KVCONFORM_PLUGIN_H
#define KVCONFORM_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KVC_PLUGIN_VERSION = 1 };

/* ---- What a cache is opened with ---- */

/* Types of elements. Sizes in bytes: 4, 2, 2, 8, 8. */
typedef enum kvc_dtype {
    KVC_FLOAT32 = 0,
    KVC_FLOAT16 = 1,
    KVC_BFLOAT16 = 2,
    KVC_FLOAT64 = 3,
    KVC_INT64 = 4 /* never the type of inputs */
} kvc_dtype;

typedef enum kvc_layout { KVC_CONTIGUOUS = 0, KVC_STRIDED = 1 } kvc_layout;

/* How a token is written into the elements of a floating tensor: see the value formula. */
typedef enum kvc_encoding { KVC_DIGITS = 0, KVC_TWO_LEVELS = 1 } kvc_encoding;

/* How ops are called, for caches with several ways to call the same op. */
typedef enum kvc_call {
    KVC_CALL_POSITION = 0,
    KVC_CALL_KEYWORD,
    KVC_CALL_DEPRECATED,
    KVC_CALL_CONTAINER,
    KVC_CALL_CONTAINER_KEYWORD,
    KVC_CALL_CONTAINER_DEPRECATED,
    KVC_CALL_INFERENCE /* by position, in a mode of the library that is for inference */
} kvc_call;

enum {
    KVC_ROWS_MAX = 7,      /* rows of a batch: the value formula tells seven apart */
    KVC_LAYERS_MAX = 8,
    KVC_DIMS_MAX = 6,
    KVC_TENSORS_MAX = 2048, /* that one observation may show */
    KVC_NAME_MAX = 64       /* bytes of a name of a tensor or a variant, its end included */
};

/*
 * The parameters of one case. A variant uses those that its spec names; the others hold their default and say nothing. `parts`
 * and `layers` are numbers of kvconform's own: their words are arguments of `open`.
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
    int32_t watch;     /* 1: inputs and earlier returns are shown after every op (docs/protocol.md, Parameters) */
    int32_t parts;     /* kvconform's own */
    int32_t layers;    /* kvconform's own */
    /* Of caches that hold several sequences. */
    int32_t sequences; /* how many it holds at most */
    int32_t snapshots; /* states before the newest that a recurrent memory keeps of each sequence, to go back to */
    int32_t step;      /* most tokens that are worked out at once */
    int32_t load;      /* tokens of a long decode, kvconform's own */
    int32_t chunk;     /* most tokens of one call when rows get different numbers of them; 0: all in one */
    int32_t left;      /* 1: when rows get different numbers of tokens first, they are padded on the left */
} kvc_params;

/* ---- What is done with it ---- */

/* The ops; docs/protocol.md, Ops, says what each of them means. */
typedef enum kvc_op_kind {
    KVC_APPEND = 0, /* n: tokens, 1 and up; 0 only where the contract has append_none */
    KVC_CROP,       /* n: the argument of the cache's own crop, of any sign; -2 removes two tokens */
    KVC_RESET,
    KVC_REORDER, /* rows[count]: row i becomes what row rows[i] was */
    KVC_SELECT,  /* rows[count]: only these rows stay */
    KVC_REPEAT,  /* n: times; copies of a row stand side by side */
    KVC_RECORD,  /* n: 1 on, 0 off */
    /* Ops that change nothing of what the cache holds. */
    KVC_OFFLOAD,    /* tensors go where they wait */
    KVC_PREFETCH,   /* and come back */
    KVC_INITIALIZE, /* memory is taken before the first append */
    KVC_COPY,       /* a deep copy; the sequence goes on with it, and the original must stay as it is */
    KVC_PICKLE,     /* saved to bytes and restored; the sequence goes on with what was restored */
    /* Ops that came later stand behind the others: sequences depend on the order. */
    KVC_TRIM,       /* n: how many of the newest tokens the cache is asked to remove; the opposite of a crop's argument */
    KVC_TRIM_FRONT, /* the oldest tokens go, down to the capacity */
    KVC_SAVE_FILE,  /* saved to a file and loaded; the sequence goes on with what was loaded */
    KVC_FROM_STATE, /* made anew from what the cache calls its state */
    KVC_QUANTIZE,   /* turned into a cache that quantises */
    /* Ops on one cache that holds several sequences, numbered from 0. A range of positions is [begin, end); below 0: from 0, to the last. */
    KVC_DECODE,   /* rows[count]: n tokens for each of these sequences, in one batch; begin: how far their first position is off */
    KVC_SEQ_RM,   /* sequence, below 0 for all; begin, end: tokens at these positions are removed */
    KVC_SEQ_CP,   /* sequence, other, begin, end: tokens at these positions belong to the other one too */
    KVC_SEQ_KEEP, /* sequence: all tokens of others are removed */
    KVC_SEQ_ADD,  /* sequence, begin, end, n: their positions are moved by n */
    KVC_SEQ_DIV,  /* sequence, begin, end, n: their positions are divided by n */
    KVC_CLEAR,    /* n: 1 with the data, 0 without */
    KVC_SEQ_SAVE,   /* sequence: its state is written; the last one that was stays for later */
    KVC_SEQ_RESTORE, /* sequence: becomes what was saved last; n: 0, or the number of a damage that was done to it */
    /* Ops of caches whose rows have lengths of their own. */
    KVC_APPEND_ROWS, /* rows[count]: for each row how many tokens, 0 and up */
    KVC_MERGE,       /* rows[count]: each of these rows is taken out as a cache of its own, and those become one batch */
    KVC_EXTRACT,     /* n: this row goes on alone, as a cache of its own */
    KVC_EXTEND,      /* rows[count]: another batch, for each of its rows how many tokens, is put behind this one */
    KVC_SPLIT        /* rows[count] become a batch of their own, which gets n tokens and is put behind the rows that stay */
} kvc_op_kind;

/*
 * One call on a cache. Fields that an op does not use are 0. The last four are for caches that hold several sequences.
 */
typedef struct kvc_op {
    uint8_t kind;  /* kvc_op_kind */
    uint8_t count; /* of `rows` */
    uint8_t rows[KVC_ROWS_MAX]; /* numbers of rows, or of tokens for each row */
    int32_t n;
    int32_t sequence; /* number of the sequence that the op is about */
    int32_t other;    /* number of a second one, where to something goes */
    int32_t begin;    /* first position of a range */
    int32_t end;      /* the position behind its last */
} kvc_op;

/* ---- What it shows after an op ---- */

#define KVC_ABSENT INT64_MIN /* no such number: a layer that reports none */

/*
 * One tensor: little-endian; row-major without gaps, or as its strides say, so that a cache can show its memory as it lies. Where a
 * view of the spec has several dimensions of channels, those lie one in the other as without gaps. An entry sets every field.
 */
typedef struct kvc_tensor {
    const char *name; /* as in the spec; the plugin's, lives as long as the plugin */
    const void *data; /* the cache's, valid and unchanged until the next call on it; may be NULL when there are no elements */
    uint64_t address; /* memory address for a buffer that is documented as static, otherwise 0 */
    int64_t shape[KVC_DIMS_MAX];  /* elements along each dimension, 0 and up */
    int64_t stride[KVC_DIMS_MAX]; /* bytes from one element to the next along each, above 0; stride[0] 0: without gaps, read no others */
    int32_t dims;                 /* 0..KVC_DIMS_MAX */
    int32_t dtype;                /* kvc_dtype */
} kvc_tensor;

/*
 * What one op showed. kvconform sets it to "nothing said" before each call (kvc_observation_clear); the plugin sets what it knows.
 * The tensors are those that the cache stores after the op and, for an append that was done, those that it returned
 * (`returned.NAME`), each name once. Tensors of layer N of several are called `layerN.NAME`. A tensor that does not exist yet is left
 * out.
 */
typedef struct kvc_observation {
    int32_t outcome; /* 0: the call returned. 1: it refused, and everything must be as it was */
    int32_t layers;  /* number of layers that the arrays below speak of, 1..KVC_LAYERS_MAX; 0 when none of them says anything */
    int64_t length[KVC_LAYERS_MAX];      /* sequence length after the op, in tokens, as the cache itself reports it, or KVC_ABSENT */
    int64_t mask_length[KVC_LAYERS_MAX]; /* append only: mask size announced before it, in tokens, or KVC_ABSENT */
    int64_t mask_offset[KVC_LAYERS_MAX];
    int64_t position[KVC_LAYERS_MAX]; /* announced for the next token, or KVC_ABSENT */
    int32_t claim;                    /* what the cache said before a crop: 1 can be cropped, 0 can not, -1 nothing */
    int32_t tensors;                  /* entries of `tensor` that are set, 0..KVC_TENSORS_MAX */
    const char *error_kind; /* when refused: the kind of error as the contract names it, or ""; the plugin's, valid until the next call */
    const char *error_text; /* its text, or "" */
    kvc_tensor tensor[KVC_TENSORS_MAX];
} kvc_observation;

/* ---- The table ---- */

typedef struct kvc_cache kvc_cache; /* the plugin's own: kvconform passes it around and never looks inside */

/*
 * Texts are UTF-8, end with a zero byte, are the plugin's and live as long as the plugin. No function may end the process, throw
 * an exception, or keep a pointer that it was given past its return.
 */
typedef struct kvc_plugin {
    uint32_t version; /* KVC_PLUGIN_VERSION */
    uint32_t size;    /* sizeof(kvc_plugin) */
    const char *subject;         /* what is tested, a short name: "my_cache" */
    const char *subject_version; /* of the cache: "1.0" */
    /* Name of variant number `index`, a kind of cache that the subject has; NULL past the last. */
    const char *(*variant)(size_t index);
    /*
     * What a variant keeps: "SUBJECT:VARIANT" for the same as a variant whose spec kvconform has ("builtin:full"); or JSON text, which
     * is a spec (kvconform-spec/1, docs/formats.md) or says what is different from another ({"like": "builtin:full", "ops":
     * ["append", "crop"]}). NULL: none. A spec in kvconform's data folder (KVCONFORM_DATA) counts first. May be NULL.
     */
    const char *(*spec)(const char *variant);
    /*
     * Which rules the subject promises to follow: the text of a contract (kvconform-contract/1, docs/formats.md). NULL: none. A
     * contract in the data folder counts first; where there is none at all, the standard values of all rules count, as `inferred`.
     * May be NULL.
     */
    const char *(*contract)(void);
    /*
     * Makes an empty cache of a variant. `parts` and `layers` are the words of the spec that the parameters choose, or "". Returns
     * NULL when it cannot: that ends the run of the variant with an error and is no finding. The caller owns it until `close`.
     */
    kvc_cache *(*open)(const char *variant, const kvc_params *params, const char *parts, const char *layers);
    /*
     * Performs one op and shows the state after it. `numbers` are the token numbers of an append (op->n of them), of a decode (op->n for
     * each of its sequences, one sequence behind the other), or of an op for rows (as many as the row that gets most), otherwise NULL.
     * Always returns: a refusal is an outcome.
     */
    void (*run)(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out);
    void (*close)(kvc_cache *cache); /* not called with NULL */
    /*
     * Makes the cache what it was when it was opened, for less than closing it and opening another. Returns 1, or 0 when it cannot:
     * the caller closes it then. May be NULL.
     */
    int (*renew)(kvc_cache *cache);
    /*
     * Closes the cache and opens another, to which goes what serves both, such as inputs. Returns NULL as `open` does: the cache is
     * closed then too. May be NULL.
     */
    kvc_cache *(*reopen)(kvc_cache *cache, const char *variant, const kvc_params *params, const char *parts, const char *layers);
    /* Why the subject has this variant and cannot be asked for it here ("no model file"), or NULL. May be NULL. */
    const char *(*unavailable)(const char *variant);
    /*
     * A stand-alone program that shows a finding without kvconform. `request` is the JSON text of docs/protocol.md, Script. Writes
     * at most `room` bytes to `out`, a zero byte at the end included, and returns the length of the whole program without it, as
     * snprintf does; 0 when there is none. May be NULL.
     */
    size_t (*script)(const char *request, char *out, size_t room);
    const char *script_suffix; /* how the name of a file with it ends: "c"; at most 8 letters and digits. NULL without `script` */
} kvc_plugin;

#if defined(__GNUC__) || defined(__clang__)
#define KVCONFORM_EXPORT __attribute__((visibility("default")))
#else
#define KVCONFORM_EXPORT
#endif

/* The one function that a plugin exports. Returns its table, which is the plugin's and constant, or NULL when it cannot run here. */
KVCONFORM_EXPORT const kvc_plugin *kvconform_plugin(void);

/* ---- Showing ---- */

/* Size of one element in bytes. */
static inline size_t kvc_dtype_size(kvc_dtype dtype)
{
    return dtype == KVC_FLOAT32 ? 4 : dtype == KVC_FLOAT16 || dtype == KVC_BFLOAT16 ? 2 : 8;
}

/* Sets everything but the entries of `tensor` to "nothing said": done, no layers, no tensors. */
static inline void kvc_observation_clear(kvc_observation *out)
{
    out->outcome = 0;
    out->layers = 0;
    for (int layer = 0; layer < KVC_LAYERS_MAX; layer++) {
        out->length[layer] = KVC_ABSENT;
        out->mask_length[layer] = KVC_ABSENT;
        out->mask_offset[layer] = KVC_ABSENT;
        out->position[layer] = KVC_ABSENT;
    }
    out->claim = -1;
    out->tensors = 0;
    out->error_kind = "";
    out->error_text = "";
}

/* Sets the outcome to a refusal. */
static inline void kvc_refuse(kvc_observation *out, const char *kind, const char *text)
{
    out->outcome = 1;
    out->error_kind = kind;
    out->error_text = text;
}

/*
 * Adds a dense tensor of `dims` dimensions; the caller may set its address or its strides. Returns its entry, or NULL when there are
 * too many tensors or dimensions.
 */
static inline kvc_tensor *kvc_show(kvc_observation *out, const char *name, kvc_dtype dtype, const void *data, int dims,
                                   const int64_t *shape)
{
    kvc_tensor *tensor;

    if (out->tensors < 0 || out->tensors >= KVC_TENSORS_MAX || dims < 0 || dims > KVC_DIMS_MAX)
        return NULL;
    tensor = &out->tensor[out->tensors++];
    tensor->name = name;
    tensor->data = data;
    tensor->address = 0;
    for (int at = 0; at < dims; at++)
        tensor->shape[at] = shape[at];
    tensor->stride[0] = 0;
    tensor->dims = dims;
    tensor->dtype = (int32_t)dtype;
    return tensor;
}

/* ---- The value formula: what every element of an input is (docs/protocol.md, Tokens and values) ---- */

enum {
    KVC_TOKENS_MAX = 117649, /* 7^6: more cannot be told apart */
    KVC_AMPLITUDE = 4,       /* of values of two levels */
    KVC_LEVEL_CHANNELS = 32  /* that say which token, row and head they belong to, in two levels */
};

/* Value of one element of a floating tensor, in digits: 1..7. `salt` is the tensor's, `row` the batch row that it is appended to. */
static inline int kvc_value(int salt, int32_t token, int row, int head, int channel)
{
    int place = channel % 8;
    int digit;

    if (place <= 5) {
        for (; place > 0; place--)
            token /= 7;
        digit = (int)(token % 7);
    } else {
        digit = (place == 6 ? row : head) % 7;
    }
    return 1 + (digit + 3 * salt + 5 * channel) % 7;
}

/*
 * What 32 channels say in two levels, one bit each. The last bit of every eight is the opposite of the first: so any eight
 * channels that begin at a multiple of eight hold both levels, and a quantiser finds the same range in all of them.
 */
static inline uint32_t kvc_value_level_bits(int salt, int32_t token, int row, int head)
{
    uint32_t data = (uint32_t)token | (uint32_t)(row % 7) << 17 | (uint32_t)(head % 7) << 20 | (uint32_t)salt << 23;
    uint32_t parity = data;
    uint32_t bits = 0;

    for (int shift = 16; shift > 0; shift /= 2)
        parity ^= parity >> shift;
    data |= (parity & 1u) << 26 | (~parity & 1u) << 27;
    for (int place = 0; place < 4; place++) {
        uint32_t seven = data >> (7 * place) & 0x7fu;
        bits |= (seven | (~seven & 1u) << 7) << (8 * place);
    }
    return bits;
}

/* The level of one channel, out of the bits of its token: 1 for the upper, 0 for the lower. */
static inline int kvc_value_level_of(uint32_t bits, int channel)
{
    return (int)((bits >> (channel % KVC_LEVEL_CHANNELS) & 1u) ^ ((uint32_t)channel / KVC_LEVEL_CHANNELS & 1u));
}

/* Value of one element of a floating tensor, in two levels: KVC_AMPLITUDE or its negative. */
static inline int kvc_value_level(int salt, int32_t token, int row, int head, int channel)
{
    return kvc_value_level_of(kvc_value_level_bits(salt, token, row, head), channel) != 0 ? KVC_AMPLITUDE : -KVC_AMPLITUDE;
}

/* Value of one element of an int64 tensor, such as position ids. */
static inline int64_t kvc_value_integer(int32_t token, int row, int head)
{
    return 64 * (int64_t)token + 8 * (int64_t)row + head;
}

/*
 * A recurrent state has the values of a token whose number is its row's fold: 0 when empty, and after each appended token this.
 */
static inline int32_t kvc_value_fold(int32_t fold, int32_t token)
{
    return (int32_t)((31 * (int64_t)fold + token + 1) % KVC_TOKENS_MAX);
}

/* Copies one element. Each case has a size that the compiler knows. */
static inline void kvc_value_put(const unsigned char *element, size_t size, unsigned char *out)
{
#if defined(__GNUC__) || defined(__clang__)
    if (size == 4)
        __builtin_memcpy(out, element, 4);
    else if (size == 2)
        __builtin_memcpy(out, element, 2);
    else
        __builtin_memcpy(out, element, 8);
#else
    for (size_t at = 0; at < size; at++)
        out[at] = element[at];
#endif
}

/* The bytes of the whole numbers from 0 to 7, little-endian: as many of each as kvc_dtype_size says count; and those of one of them. */
static inline const unsigned char (*kvc_value_table(kvc_dtype dtype))[8]
{
    static const unsigned char bytes[5][8][8] = {
        {{0, 0, 0, 0}, {0, 0, 0x80, 0x3f}, {0, 0, 0, 0x40}, {0, 0, 0x40, 0x40}, {0, 0, 0x80, 0x40}, {0, 0, 0xa0, 0x40},
         {0, 0, 0xc0, 0x40}, {0, 0, 0xe0, 0x40}},
        {{0, 0}, {0, 0x3c}, {0, 0x40}, {0, 0x42}, {0, 0x44}, {0, 0x45}, {0, 0x46}, {0, 0x47}},
        {{0, 0}, {0x80, 0x3f}, {0, 0x40}, {0x40, 0x40}, {0x80, 0x40}, {0xa0, 0x40}, {0xc0, 0x40}, {0xe0, 0x40}},
        {{0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0, 0x40}, {0, 0, 0, 0, 0, 0, 0x08, 0x40},
         {0, 0, 0, 0, 0, 0, 0x10, 0x40}, {0, 0, 0, 0, 0, 0, 0x14, 0x40}, {0, 0, 0, 0, 0, 0, 0x18, 0x40},
         {0, 0, 0, 0, 0, 0, 0x1c, 0x40}},
        {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}};

    return bytes[dtype];
}
static inline const unsigned char *kvc_value_bytes(kvc_dtype dtype, unsigned value)
{
    return kvc_value_table(dtype)[value & 7];
}

/* One element of an int64 tensor. */
static inline void kvc_value_put_integer(int64_t value, void *out)
{
    uint64_t bits = (uint64_t)value;

    for (size_t at = 0; at < sizeof bits; at++, bits >>= 8)
        ((unsigned char *)out)[at] = (unsigned char)bits;
}

/* Writes the elements of one token in two levels. */
static inline void kvc_value_row_levels(kvc_dtype dtype, uint32_t bits, int channels, unsigned char *out)
{
    unsigned char level[2][8];
    size_t size = kvc_dtype_size(dtype);

    kvc_value_put(kvc_value_bytes(dtype, KVC_AMPLITUDE), size, level[0]);
    kvc_value_put(level[0], size, level[1]);
    level[0][size - 1] |= 0x80; /* the sign */
    for (int channel = 0; channel < channels; channel++, out += size)
        kvc_value_put(level[kvc_value_level_of(bits, channel)], size, out);
}

/*
 * Writes up to eight elements, whose values stand in the bytes of `values`. Called with a `size` that is written down, so that each
 * element is one move.
 */
static inline void kvc_value_put_eight(const unsigned char bytes[8][8], size_t size, uint64_t values, int count, unsigned char *out)
{
    if (count >= 8) {
        kvc_value_put(bytes[values & 7], size, out);
        kvc_value_put(bytes[values >> 8 & 7], size, out + size);
        kvc_value_put(bytes[values >> 16 & 7], size, out + 2 * size);
        kvc_value_put(bytes[values >> 24 & 7], size, out + 3 * size);
        kvc_value_put(bytes[values >> 32 & 7], size, out + 4 * size);
        kvc_value_put(bytes[values >> 40 & 7], size, out + 5 * size);
        kvc_value_put(bytes[values >> 48 & 7], size, out + 6 * size);
        kvc_value_put(bytes[values >> 56 & 7], size, out + 7 * size);
        return;
    }
    for (int place = 0; place < count; place++, values >>= 8, out += size)
        kvc_value_put(bytes[values & 7], size, out);
}

/* In digits all begins again behind so many channels: these are copied to the others, of `channels` in all. */
enum { KVC_PERIOD_CHANNELS = 56 };
static inline void kvc_value_repeat(size_t size, int channels, unsigned char *out)
{
    const size_t period = KVC_PERIOD_CHANNELS * size;
    const size_t whole = (size_t)channels * size;

    for (size_t at = period, next; at < whole; at += next) {
        next = whole - at < period ? whole - at : period;
#if defined(__GNUC__) || defined(__clang__)
        __builtin_memcpy(out + at, out, next);
#else
        for (size_t byte = 0; byte < next; byte++)
            out[at + byte] = out[byte];
#endif
    }
}

/*
 * Writes the `channels` elements of a floating tensor of type `dtype` for one token, row and head, without gaps: the same as
 * kvc_value or kvc_value_level for each, at a fraction of the cost.
 */
static inline void kvc_value_row(kvc_encoding encoding, kvc_dtype dtype, int salt, int32_t token, int row, int head,
                                 int channels, void *out)
{
    /* Byte i of number s is (s + 5 * i) % 7: what the formula adds to the digits of eight channels, to the first of them s. */
    static const uint64_t shifts[7] = {0x0002040601030500u, 0x0103050002040601u, 0x0204060103050002u, 0x0305000204060103u,
                                       0x0406010305000204u, 0x0500020406010305u, 0x0601030500020406u};
    const uint64_t ones = 0x0101010101010101u;
    const size_t size = kvc_dtype_size(dtype);
    const unsigned char(*table)[8] = kvc_value_table(dtype);
    unsigned char *at = (unsigned char *)out;
    uint64_t digits = (uint64_t)(row % 7) << 48 | (uint64_t)(head % 7) << 56;
    int start = 3 * salt % 7;
    int fresh = channels < KVC_PERIOD_CHANNELS ? channels : KVC_PERIOD_CHANNELS;

    if (encoding == KVC_TWO_LEVELS) {
        kvc_value_row_levels(dtype, kvc_value_level_bits(salt, token, row, head), channels, at);
        return;
    }
    for (int place = 0; token > 0 && place <= 5; place++, token /= 7)
        digits |= (uint64_t)(token % 7) << (8 * place);
    /* Eight channels at a time, each in a byte of its own: no sum is above 12, and 121 more lifts those from 7 on over the byte's top bit. */
    for (int channel = 0; channel < fresh; channel += 8) {
        uint64_t values = digits + shifts[start];
        values = values - 7 * (((values + 121 * ones) >> 7) & ones) + ones;
        if (size == 4)
            kvc_value_put_eight(table, 4, values, fresh - channel, at + (size_t)channel * size);
        else if (size == 2)
            kvc_value_put_eight(table, 2, values, fresh - channel, at + (size_t)channel * size);
        else
            kvc_value_put_eight(table, 8, values, fresh - channel, at + (size_t)channel * size);
        start = start >= 2 ? start - 2 : start + 5; /* 5 * 8 % 7 is 5 */
    }
    if (fresh < channels)
        kvc_value_repeat(size, channels, at);
}

/*
 * Writes the whole input of an append: shape [rows, heads, count, channels], dense, in the type and encoding of the parameters,
 * rows * heads * count * channels elements. `salt` is the tensor's in the spec. For a tensor without heads pass 1.
 */
static inline void kvc_value_fill(const kvc_params *params, int salt, int rows, int heads, const int32_t *numbers, int32_t count,
                                  int channels, void *out)
{
    kvc_dtype dtype = (kvc_dtype)params->dtype;
    size_t cell = (size_t)channels * kvc_dtype_size(dtype);
    unsigned char *at = (unsigned char *)out;

    for (int row = 0; row < rows; row++) {
        for (int head = 0; head < heads; head++) {
            for (int32_t token = 0; token < count; token++, at += cell)
                kvc_value_row((kvc_encoding)params->values, dtype, salt, numbers[token], row, head, channels, at);
        }
    }
}

#ifdef __cplusplus
}
#endif

#endif
