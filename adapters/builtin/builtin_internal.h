/*
 * What the files of the built-in subject share: cells, layers and the cache.
 */
#ifndef KVC_ADAPTERS_BUILTIN_BUILTIN_INTERNAL_H
#define KVC_ADAPTERS_BUILTIN_BUILTIN_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "adapters/builtin/builtin.h"
#include "adapters/builtin/faults.h"
#include "kvconform/plugin.h"
#include "reference/op.h"
#include "reference/params.h"

enum { KVC_LAYER_PARTS_MAX = 4, KVC_LANES_SHOWN = 2, KVC_FOLDS_KEPT = 256 };

typedef struct kvc_inputs_of_rows {
    unsigned char *cells; /* [token][row][head][channel] */
    int32_t room;         /* tokens that fit */
    int32_t tokens;       /* so many are worked out */
    unsigned char *folds; /* the same of folds, each in the place that its number gives it; NULL at first */
    int32_t fold[KVC_FOLDS_KEPT]; /* the number of each and 1; 0 for none */
} kvc_inputs_of_rows;

/*
 * What a caller hands in: the cells of the tokens numbered 0, 1, ..., worked out once and kept, as a caller makes its inputs once.
 */
typedef struct kvc_inputs {
    kvc_dtype dtype;
    kvc_encoding encoding;
    int32_t salt;
    int32_t heads;
    int32_t channels;
    size_t cell; /* bytes */
    kvc_inputs_of_rows of_rows[KVC_ROWS_MAX]; /* for each number of rows */
    const struct kvc_asked *asked;
} kvc_inputs;

/* The tokens of the append that is done now: all tensors of all layers ask for the same. */
typedef struct kvc_asked {
    const int32_t *numbers;
    int64_t count;
    int32_t first; /* the number of the first; -1 where they do not follow each other, or are too large to be kept */
} kvc_asked;

enum { KVC_INPUTS_MAX = 128 };

/* The inputs of a cache, and of those that it was before (kvc_plugin.reopen). Zeroed to begin with. */
typedef struct kvc_inputs_kept {
    kvc_inputs list[KVC_INPUTS_MAX]; /* `used` of them, which keep their places in memory */
    int32_t used;
    kvc_asked asked;
} kvc_inputs_kept;

/*
 * Cells of equal size, one sequence of them for each lane; a lane is one head of one row. A cell holds one token. The cells of one
 * token in all lanes lie together, so that most ops move one piece of memory. The cells from `start` on, `count` of them, are in
 * use; `capacity` fit.
 */
typedef struct kvc_store {
    unsigned char *data;  /* [capacity][rows][heads][cell] */
    unsigned char *spare; /* another buffer, for rows in their new order and for growing: the two change places */
    unsigned char *shown[KVC_LANES_SHOWN]; /* what is shown of the stored and of the returned tensor where it is not `data` */
    size_t data_room;
    size_t spare_room;
    size_t shown_room[KVC_LANES_SHOWN];
    kvc_inputs *inputs; /* not owned; NULL for none: each cell is worked out when it is needed */
    size_t cell;    /* bytes */
    size_t stripe;  /* bytes of a token in all lanes */
    size_t element; /* bytes */
    int64_t first_capacity;
    int64_t capacity;
    int64_t start;
    int64_t count;
    int32_t first_rows;
    int32_t rows;
    int32_t spare_rows; /* prepared, 0 for none */
    int32_t heads;
    int32_t channels;
    int32_t salt;
    kvc_dtype dtype;
    kvc_encoding encoding;
    int pinned; /* 1: the buffer never moves */
    int borrowed; /* 1: the buffer is another store's; only broken copies have such */
} kvc_store;

/*
 * Makes an empty store with room for `capacity` cells of one that is zeroed or that is no longer needed, whose memory stays. Returns 0,
 * or -1 when memory is short; it can be closed after both.
 */
int kvc_store_reopen(kvc_store *store, int32_t rows, int32_t heads, int32_t channels, kvc_dtype dtype, kvc_encoding encoding, int salt,
                   int64_t capacity);
/* Takes its inputs from those that are kept. */
void kvc_store_find_inputs(kvc_store *store, kvc_inputs_kept *kept);
/* Makes it empty and of its first size again; its buffers stay. Returns 0, or -1 when memory is short. */
int kvc_store_renew(kvc_store *store);
void kvc_store_close(kvc_store *store);
/* Makes room for `extra` more cells, of which there is none. Returns 0, or -1 when memory is short; nothing is changed then. */
int kvc_store_grow(kvc_store *store, int64_t extra);
static inline int kvc_store_reserve(kvc_store *store, int64_t extra) {
    return store->start + store->count + extra <= store->capacity ? 0 : kvc_store_grow(store, extra);
}
/* The same for one number that is a fold: of those only the one that is written is worked out. */
void kvc_store_write_fold(kvc_store *store, int64_t index, int32_t fold);
/* Writes the cells of tokens to `out`: those of a token in all lanes together. */
void kvc_store_make_cells(const kvc_store *store, const int32_t *numbers, int64_t count, unsigned char *out);
/* Bytes of a token in all lanes. */
static inline size_t kvc_store_stripe(const kvc_store *store) {
    return store->stripe;
}
/* Writes the cells of tokens in all lanes from cell `index` on, counted from the start of the buffer. */
static inline void kvc_store_write(kvc_store *store, int64_t index, const int32_t *numbers, int64_t count) {
    kvc_store_make_cells(store, numbers, count, store->data + (size_t)index * kvc_store_stripe(store));
}
/* Appends the cells of tokens in all lanes. Room must have been reserved. */
static inline void kvc_store_push(kvc_store *store, const int32_t *numbers, int64_t count) {
    kvc_store_write(store, store->start + store->count, numbers, count);
    store->count += count;
}
/* Address of cell `index` in use, in one lane. */
unsigned char *kvc_store_cell(const kvc_store *store, int32_t row, int32_t head, int64_t index);
/* Drops cells; at most what there is. */
void kvc_store_drop_front(kvc_store *store, int64_t cells);
void kvc_store_drop_back(kvc_store *store, int64_t cells);
/* Keeps the newest `cells`. */
void kvc_store_keep_newest(kvc_store *store, int64_t cells);
/* Copies the rows into their new order, without a change yet. Returns 0, or -1 when memory is short. */
int kvc_store_prepare_rows(kvc_store *store, const uint8_t *rows, int32_t count);
/* Takes what was prepared; does nothing when nothing was. */
void kvc_store_commit_rows(kvc_store *store);
/* Forgets what was prepared. */
void kvc_store_abandon_rows(kvc_store *store);
/*
 * Makes `out`, which is zeroed or a store that is no longer needed, one of its own with the same contents. Returns 0, or -1 when memory
 * is short; it can be closed after both.
 */
int kvc_store_duplicate(kvc_store *out, const kvc_store *from);
/* Gives the store a new buffer with the same contents. */
void kvc_store_move(kvc_store *store);
/* A buffer of at least `size` bytes, number `which` of the store; NULL when memory is short. */
unsigned char *kvc_store_buffer(kvc_store *store, int which, size_t size);
/* Where cell `from` in use lies; those behind it follow. NULL when there are no `cells`. Valid until the store is changed. */
static inline unsigned char *kvc_store_view(const kvc_store *store, int64_t from, int64_t cells) {
    return cells > 0 ? store->data + (size_t)(store->start + from) * kvc_store_stripe(store) : NULL;
}
/*
 * The same for cells that are shown with zeros in front of them, `width` cells in all, in buffer `which`. NULL when memory is
 * short.
 */
const void *kvc_store_view_padded(kvc_store *store, int which, int64_t from, int64_t cells, int64_t width);

/* These tokens are appended: what is found out of their numbers is found out once. */
void kvc_inputs_ask(kvc_inputs_kept *kept, const int32_t *numbers, int64_t count);
/*
 * The cells of `count` tokens, each in all `rows`. Valid until the next call. NULL where the numbers do not follow each other, are
 * too large to be kept, or memory is short.
 */
const unsigned char *kvc_inputs_find(kvc_inputs *inputs, int32_t rows, const int32_t *numbers, int64_t count);
/* Those of one fold: sequences come to the same ones again and again. NULL when memory is short. */
const unsigned char *kvc_inputs_find_fold(kvc_inputs *inputs, int32_t rows, int32_t fold);
/* Works out those of one token. */
void kvc_inputs_make(const kvc_inputs *inputs, int32_t number, int32_t rows, unsigned char *out);
/* Those of a kind, which are made when there are none yet; NULL when there are too many kinds. */
kvc_inputs *kvc_inputs_of_kind(kvc_inputs_kept *kept, kvc_encoding encoding, kvc_dtype dtype, int32_t salt, int32_t heads,
                               int32_t channels);
/* Forgets all when there is much: nothing may point to them. */
void kvc_inputs_limit(kvc_inputs_kept *kept);
void kvc_inputs_close(kvc_inputs_kept *kept);

typedef enum kvc_part_rule {
    KVC_PART_ALL,
    KVC_PART_WINDOW,
    KVC_PART_LAST,
    KVC_PART_FOLDED,
    KVC_PART_OPAQUE,
    KVC_PART_FIXED,
    KVC_PART_FIXED_WINDOW,
    KVC_PART_RING,
    KVC_PART_ENTRIES, /* always followed by its rest */
    KVC_PART_REST,
    KVC_PART_OVERLAP, /* behind entries and rest: the tokens of the newest finished block */
    KVC_PART_COUNT,   /* behind those: how many blocks are finished */
    KVC_PART_NOTHING,
    KVC_PART_PREFIX,       /* a prefix that stays, and a window */
    KVC_PART_FIXED_PREFIX, /* the same in buffers */
    KVC_PART_RESIDUAL,
    KVC_PART_QUANTISED, /* two places behind its residual; shown joined with it */
    KVC_PART_CONSTANT
} kvc_part_rule;

typedef enum kvc_part_shape {
    KVC_SHAPE_KEYS,    /* [rows, heads, tokens, key_dim] */
    KVC_SHAPE_VALUES,  /* [rows, heads, tokens, value_dim] */
    KVC_SHAPE_INDEX,   /* [rows, tokens, index_dim] */
    KVC_SHAPE_TURNED,  /* [rows, channels, tokens] */
    KVC_SHAPE_STATE,   /* [rows, heads, key_dim, value_dim] */
    KVC_SHAPE_SUMMARY, /* [rows, heads, channels] */
    KVC_SHAPE_NUMBER   /* [1] */
} kvc_part_shape;

typedef enum kvc_part_name {
    KVC_NAME_KEYS,
    KVC_NAME_VALUES,
    KVC_NAME_INDEX,
    KVC_NAME_CONVOLUTION,
    KVC_NAME_RECURRENT,
    KVC_NAME_SUMMARY,
    KVC_NAME_ENTRIES,
    KVC_NAME_REST,
    KVC_NAME_OVERLAP,
    KVC_NAME_COUNT,
    KVC_NAME_CROSS_KEYS,
    KVC_NAME_CROSS_VALUES,
    KVC_NAME_RESIDUAL_KEYS,
    KVC_NAME_RESIDUAL_VALUES
} kvc_part_name;
enum { KVC_NAMES = 14 };

/* One tensor of a variant. */
typedef struct kvc_part_info {
    uint8_t rule;  /* kvc_part_rule */
    uint8_t name;  /* kvc_part_name */
    uint8_t shape; /* kvc_part_shape */
    uint8_t salt;
    uint8_t returned; /* 1: an append returns it */
} kvc_part_info;

/* A correct variant of one layer. */
typedef struct kvc_variant_info {
    const char *name;
    uint8_t parts;
    uint8_t selects; /* 1: has select and repeat */
    uint8_t records; /* 1: has record */
    uint8_t masks;   /* 1: announces mask sizes */
    uint8_t claims;  /* 1: says whether it can be cropped */
    kvc_part_info part[KVC_LAYER_PARTS_MAX];
} kvc_variant_info;

/* The variant called `name` (of `length` bytes), or NULL. */
const kvc_variant_info *kvc_variant_find(const char *name, size_t length);
/* Name of correct variant `index` (that of several layers included), or NULL past the last. */
const char *kvc_variant_name(size_t index);
/* Names of tensors; `layer` is -1 in a cache that is one layer. */
const char *kvc_stored_name(int layer, kvc_part_name name);
const char *kvc_returned_name(int layer, kvc_part_name name);
const char *kvc_original_name(int layer, kvc_part_name name);

typedef struct kvc_builtin_part {
    const kvc_part_info *info;
    kvc_store store;
    /* What never changes of the tensors that are shown: names, type and sizes. */
    kvc_tensor stored_as;
    kvc_tensor returned_as;
    int32_t tokens_axis; /* -1 for none */
    int32_t fits_rows;   /* number of rows that they are of; 0 at first */
    int is_plain;        /* it shows the cells that are in use, and nothing else */
    int is_whole;        /* it shows its buffer, which never moves */
    /* What the last append returned, for parts that return something. */
    const void *returned;
    int64_t returned_cells;
} kvc_builtin_part;

/* One layer of a cache. */
typedef struct kvc_builtin_layer {
    const kvc_variant_info *info;
    const kvc_params *params;
    kvc_fault fault;
    int number; /* -1 in a cache that is one layer */
    int64_t limit; /* length a window, buffer or ring of this layer is limited to */
    int recording;
    int whole; /* 1: recording was on since the first append */
    int used; /* 1: tokens were appended since it was made or reset */
    int was_reset;
    int lost_dtype;
    int is_original;  /* 1: it was copied, and is only shown from then on */
    int away;         /* 1: offloaded */
    int64_t away_count; /* keys that were offloaded, for one fault */
    int early;          /* its memory was taken before the first append */
    int one_cell_short; /* for one fault */
    int shrunk; /* 1: the last op on it was a crop */
    int32_t rows;
    int32_t fold;         /* of all tokens, for a folded state */
    int32_t *open_tokens; /* numbers of the tokens in the unfinished block, room for a whole one */
    int32_t open_count;
    int64_t prefix;       /* tokens that stay, settled by the first append */
    int settled;
    int64_t finished;     /* blocks, where they are counted */
    int64_t block_start;  /* position at which the block began that was unfinished before the last append */
    int64_t length;
    int64_t peak; /* greatest length since it was made or reset */
    int64_t bias; /* added to announced positions by one fault */
    int depth;    /* steps made toward a fault that shows late */
    kvc_builtin_part part[KVC_LAYER_PARTS_MAX];
} kvc_builtin_layer;

/* A refusal. NULL stands for none. */
typedef struct kvc_refusal {
    const char *kind;
    const char *text;
} kvc_refusal;

extern const kvc_refusal kvc_refusal_positive;   /* a positive crop */
extern const kvc_refusal kvc_refusal_unrecorded; /* the window was reached without recording */
extern const kvc_refusal kvc_refusal_lost;       /* needed tokens are gone */
extern const kvc_refusal kvc_refusal_folded;     /* a folded state, a closed block */
extern const kvc_refusal kvc_refusal_overflow;   /* past the capacity */
extern const kvc_refusal kvc_refusal_memory;     /* memory is short */
extern const kvc_refusal kvc_refusal_absent;     /* the variant has no such op */
extern const kvc_refusal kvc_refusal_nothing;    /* an append to a placeholder */
extern const kvc_refusal kvc_refusal_rows;       /* row numbers out of range */
extern const kvc_refusal kvc_refusal_count;      /* a number that the op does not take */
extern const kvc_refusal kvc_refusal_broken;     /* a wrong refusal, RuntimeError */
extern const kvc_refusal kvc_refusal_type;       /* a wrong refusal, TypeError */

/* Opens, closes. Returns 0, or -1 when memory is short; closing is allowed after both. */
int kvc_builtin_layer_open(kvc_builtin_layer *layer, const kvc_variant_info *info, const kvc_params *params, int number,
                           kvc_fault fault, kvc_inputs_kept *inputs);
/* Makes it one of the parameters as they are now; its memory stays. Returns as above. */
int kvc_builtin_layer_reopen(kvc_builtin_layer *layer, kvc_fault fault, kvc_inputs_kept *inputs);
/* Makes it what it was when it was opened; its memory stays. Returns 0, or -1 when memory is short. */
int kvc_builtin_layer_renew(kvc_builtin_layer *layer);
void kvc_builtin_layer_close(kvc_builtin_layer *layer);
static inline int64_t kvc_builtin_layer_limit(const kvc_builtin_layer *layer) {
    return layer->limit;
}
/* The correct check of an append and of the removal of `removed` tokens, without a change. */
const kvc_refusal *kvc_builtin_layer_check_append(kvc_builtin_layer *layer, int64_t count);
const kvc_refusal *kvc_builtin_layer_check_crop(const kvc_builtin_layer *layer, int64_t removed);
/* Do what was checked. */
void kvc_builtin_layer_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
void kvc_builtin_layer_crop(kvc_builtin_layer *layer, int64_t removed);
/* What the broken caches do to a layer whose crop or append was refused; nothing in the correct ones. */
void kvc_builtin_layer_spoil_refused_crop(kvc_builtin_layer *layer, int64_t removed);
void kvc_builtin_layer_spoil_refused_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
/* A window behind a prefix: append, crop (its check, and of one part), claim, mask sizes, cells of a buffer. */
void kvc_builtin_prefix_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
const kvc_refusal *kvc_builtin_prefix_check_crop(const kvc_builtin_layer *layer, int64_t removed);
void kvc_builtin_prefix_crop(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t dropped);
int kvc_builtin_prefix_claim(const kvc_builtin_layer *layer);
void kvc_builtin_prefix_mask(const kvc_builtin_layer *layer, int64_t count, int64_t *length, int64_t *offset);
int64_t kvc_builtin_prefix_cells(const kvc_builtin_layer *layer);
/* An append to blocks with an overlap; their crop to `left` tokens. */
void kvc_builtin_overlap_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
void kvc_builtin_overlap_crop(kvc_builtin_layer *layer, int64_t left);
/* Writes tokens into a buffer from the layer's length on, and no further than its end. */
void kvc_builtin_layer_fill_buffer(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
/*
 * The quantised cache (quantised.c): codes of one byte with a scale for each token, and a residual in full. Channels of a store of
 * codes for `channels` elements; room for an append (0, or -1 when memory is short); append and crop; the whole, `cells` of it, in
 * buffer `which`, or NULL when memory is short or there are none; what a change of rows does to scales in a broken cache.
 */
int32_t kvc_quantised_channels(int32_t channels);
int kvc_quantised_reserve(kvc_builtin_layer *layer, int64_t count);
void kvc_quantised_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count);
void kvc_quantised_crop(kvc_builtin_layer *layer, int64_t dropped);
const void *kvc_quantised_view(kvc_builtin_layer *layer, int part, int which, int64_t *cells);
void kvc_quantised_spoil_rows(kvc_builtin_layer *layer);
void kvc_builtin_layer_reset(kvc_builtin_layer *layer);
void kvc_builtin_layer_record(kvc_builtin_layer *layer, int on);
/* New rows: prepare (0, or -1 when memory is short), then commit or abandon. */
int kvc_builtin_layer_prepare_rows(kvc_builtin_layer *layer, const kvc_op *op, const uint8_t *rows, int32_t count);
void kvc_builtin_layer_commit_rows(kvc_builtin_layer *layer, const kvc_op *op, int32_t count);
void kvc_builtin_layer_abandon_rows(kvc_builtin_layer *layer);
/* 1 when every crop of up to `length` tokens can be given back, 0 when not, -1 when the variant makes no claim. */
int kvc_builtin_layer_claim(const kvc_builtin_layer *layer);
/* Mask sizes for an append of `count` tokens, and the next position. */
void kvc_builtin_layer_mask(const kvc_builtin_layer *layer, int64_t count, int64_t *length, int64_t *offset);
int64_t kvc_builtin_layer_wrong_position(const kvc_builtin_layer *layer);
static inline int64_t kvc_builtin_layer_position(const kvc_builtin_layer *layer) {
    return layer->fault == KVC_FAULT_NONE ? layer->length : kvc_builtin_layer_wrong_position(layer);
}
/* Its length, as it says. */
int64_t kvc_builtin_layer_wrong_length(const kvc_builtin_layer *layer);
static inline int64_t kvc_builtin_layer_reported_length(const kvc_builtin_layer *layer) {
    return layer->fault == KVC_FAULT_NONE ? layer->length : kvc_builtin_layer_wrong_length(layer);
}
/* Writes down what never changes of the tensors that a part shows. */
void kvc_builtin_part_describe(const kvc_builtin_layer *layer, kvc_builtin_part *part);
/* Rows and cells of a tensor of such a part, and where both lie: all lanes of a token together. The rest is described. */
void kvc_builtin_part_set_sizes(const kvc_builtin_part *part, int64_t cells, kvc_tensor *tensor);
/* Adds the layer's tensors to what is shown. Returns 0, or -1 when memory is short. */
int kvc_builtin_layer_show(kvc_builtin_layer *layer, int appended, kvc_observation *out);

/* A tensor that is shown again after every op. */
typedef struct kvc_watched {
    char name[KVC_NAME_MAX];
    const char *of; /* name of the tensor that it is a copy of, or that it is an input for */
    unsigned char *data;
    size_t size;
    int32_t append; /* number of the append */
    int is_input;
} kvc_watched;

/* Memory for the elements of several. */
typedef struct kvc_watch_chunk {
    struct kvc_watch_chunk *next;
    size_t size;
    size_t used;
    unsigned char bytes[];
} kvc_watch_chunk;

typedef struct kvc_watch {
    kvc_watched **list; /* `made` of them, which keep their places in memory; the first `count` are shown */
    kvc_tensor *shown;  /* those, one behind the other */
    size_t count;
    size_t made;
    size_t room;
    kvc_watch_chunk *chunks; /* list; owned */
    kvc_watch_chunk *chunk;  /* the one that is filled; those before it are full, those behind it not used yet */
} kvc_watch;

/* Copies the inputs of an append of `count` tokens, or one of the tensors that it returned. Returns 0, or -1 when memory is short. */
int kvc_watch_inputs(kvc_watch *watch, kvc_builtin_layer *layer, int32_t append, const int32_t *numbers, int64_t count);
int kvc_watch_returned(kvc_watch *watch, int32_t append, const kvc_tensor *tensor);
/* One fault: writes into what append number `append` was given or returned. */
void kvc_watch_spoil(kvc_watch *watch, int32_t append, int is_input);
void kvc_watch_show(const kvc_watch *watch, kvc_observation *out);
/* Forgets what is watched; keeps its memory. */
void kvc_watch_renew(kvc_watch *watch);
void kvc_watch_close(kvc_watch *watch);

/* A cache that was copied: the sequence goes on with the copy, in the struct of the cache. */
typedef struct kvc_builtin_original {
    struct kvc_builtin_original *next;
    int32_t layers;
    int64_t length[KVC_LAYERS_MAX]; /* as it reports them now */
    kvc_builtin_layer layer[];
} kvc_builtin_original;

/* Performs copy, pickle, offload, prefetch or initialize. */
const kvc_refusal *kvc_builtin_keep(kvc_cache *cache, const kvc_op *op);
/* Shows the cache that was copied last, which there must be. Returns 0, or -1 when memory is short. */
int kvc_builtin_show_original(kvc_cache *cache, kvc_observation *out);
/* Puts all originals aside: their memory serves the next that is copied. */
void kvc_builtin_renew_originals(kvc_cache *cache);
void kvc_builtin_close_originals(kvc_cache *cache);

struct kvc_ragged;

struct kvc_cache {
    kvc_params params;
    struct kvc_ragged *ragged; /* instead of all below, for the caches of ragged.h */
    kvc_fault fault;
    int32_t layers;
    int several; /* 1: of layers that are numbered, be there one only */
    int32_t rows;
    int32_t appends;
    int zeros; /* crops by 0 in a row */
    kvc_watch watch;
    kvc_inputs_kept *inputs; /* owned */
    void *leaked; /* list of what one fault takes */
    kvc_builtin_original *original; /* list, the last one first */
    kvc_builtin_original *aside;    /* list of those that are no longer needed */
    kvc_builtin_layer layer[];
};

#endif
