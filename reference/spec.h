/*
 * Specs: what a variant keeps, as data (docs/formats.md).
 */
#ifndef KVC_REFERENCE_SPEC_H
#define KVC_REFERENCE_SPEC_H

#include <stdint.h>

#include <cjson/cJSON.h>

#include "reference/error.h"
#include "reference/law.h"
#include "reference/op.h"
#include "reference/params.h"

enum {
    KVC_SPEC_NAME_MAX = 96,
    KVC_SPEC_TITLE_MAX = 160,
    KVC_SPEC_SOURCE_MAX = 400,
    KVC_VIEWS_MAX = 16,
    KVC_CHOICES_MAX = 16, /* entries in `parts` and in `layers` */
    KVC_CHOICE_NAME_MAX = 200,
    KVC_PARTS_MAX = 16, /* different parts in one spec */
    KVC_SINCE_MAX = 8,
    KVC_SHARE_MAX = 100,
    KVC_SPEC_FILE_MAX = 1 << 20
};

/* How a tensor depends on the tokens that are in the cache. */
typedef enum kvc_view_rule {
    KVC_RULE_ALL = 0,      /* every token */
    KVC_RULE_WINDOW,       /* the newest window - 1, more while recording */
    KVC_RULE_LAST,         /* the newest `kernel`; zeros on the left of them do not count */
    KVC_RULE_FOLDED,       /* one value that depends on every token */
    KVC_RULE_FIXED,        /* at most `capacity`, in place */
    KVC_RULE_FIXED_WINDOW, /* the newest min(capacity, window), in place, in temporal order */
    KVC_RULE_RING,         /* the first `keep` and the newest capacity - keep, as a set */
    KVC_RULE_BLOCKS,       /* one entry for each `block` tokens */
    KVC_RULE_BLOCK_REST,   /* the tokens of the unfinished block */
    KVC_RULE_BLOCK_OVERLAP, /* the tokens of the newest finished block */
    KVC_RULE_BLOCK_COUNT,  /* how many blocks are finished: a number */
    KVC_RULE_NOTHING,      /* no token ever */
    KVC_RULE_PREFIX_WINDOW, /* a prefix that stays, and the newest window - 1 behind it */
    KVC_RULE_FIXED_PREFIX_WINDOW, /* the same in place: a prefix and the newest `window` behind it */
    KVC_RULE_RESIDUAL,     /* at most the newest `residual` */
    KVC_RULE_CONSTANT,     /* set once */
    KVC_RULE_FLAG,         /* whether what is set once is set: a number, 0 or 1 */
    KVC_RULE_ROTATING,     /* the first `keep` and at least the newest capacity - keep, in any order */
    KVC_RULE_CHUNKED,      /* every token from a start on, which only a front trim moves */
    KVC_RULE_CHUNK_START,  /* where that is: a number */
    KVC_RULE_COUNT,        /* how many tokens there are, evicted ones left out: a number */
    KVC_RULE_TRIMMED,      /* how many tokens the op before removed, as a trim says: a number */
    KVC_RULE_UNUSED,       /* whether it never held anything: a number, 0 or 1 */
    KVC_RULE_BYTES,        /* how much memory it takes: a number that is no less than what it must hold takes */
    KVC_RULE_SEEN,         /* which of the returned tokens each new token may see */
    KVC_RULE_SEEN_WINDOW,  /* the same, when only the newest `window` are asked for */
    KVC_RULE_OPAQUE,       /* the subject's own; only compared with itself */
    KVC_RULE_PREDICTED,    /* nothing is shown of the cache but what a whole model predicts with it */
    KVC_RULE_AGREED        /* how many tokens a whole model says alike with help and without, all: a number */
} kvc_view_rule;
enum { KVC_VIEW_RULES = KVC_RULE_AGREED + 1 };

typedef enum kvc_dim {
    KVC_DIM_BATCH = 0,
    KVC_DIM_HEADS,
    KVC_DIM_TOKENS,
    KVC_DIM_ONE,
    KVC_DIM_PLANES, /* told apart like a head */
    KVC_DIM_KEY,
    KVC_DIM_VALUE,
    KVC_DIM_INDEX,
    KVC_DIM_CHANNELS,
    KVC_DIM_KEY_TWICE, /* two keys side by side */
    KVC_DIM_INDEX_TWICE,
    KVC_DIM_NEW /* the tokens of the last append */
} kvc_dim;
enum { KVC_DIM_KINDS = 12, KVC_PLANES = 2, KVC_VIEW_DIMS_MAX = 6 };

/* What an append returns for a tensor. */
typedef enum kvc_returned {
    KVC_RETURNS_NONE = 0,
    KVC_RETURNS_ALL,
    KVC_RETURNS_WINDOW,       /* what was visible before and the new tokens */
    KVC_RETURNS_HELD_AND_NEW, /* what was held before and the new tokens */
    KVC_RETURNS_HELD,         /* what is held now */
    KVC_RETURNS_BUFFER,       /* the whole buffer, the first `length` cells of which count */
    KVC_RETURNS_STATE,        /* the state itself */
    KVC_RETURNS_CLOSED,       /* the tokens of the blocks that it finished */
    KVC_RETURNS_PRIOR,        /* what was held before, by an append that finished a block */
    KVC_RETURNS_ROTATING,     /* of one token: what is held now; of several: capacity - 1 tokens and the new ones, oldest first */
    KVC_RETURNS_SEEN,         /* see KVC_RULE_SEEN */
    KVC_RETURNS_BLOCK_START,  /* the position at which the block began that was unfinished before: a number */
    KVC_RETURNS_PREDICTED     /* logits of the new tokens, which only the subject can work out */
} kvc_returned;
enum { KVC_RETURNED_KINDS = 13 };

/* What users call such a cache, whatever the runtime. */
typedef enum kvc_kind {
    KVC_KIND_FULL = 0, /* every token, in memory that grows */
    KVC_KIND_STATIC,   /* every token, in memory that was taken before */
    KVC_KIND_WINDOW,   /* the newest tokens, perhaps behind a prefix */
    KVC_KIND_STATIC_WINDOW,
    KVC_KIND_INDEXED,    /* every token, with keys that choose among them */
    KVC_KIND_QUANTISED,  /* every token, in fewer bits */
    KVC_KIND_COMPRESSED, /* blocks of tokens in one entry each */
    KVC_KIND_RECURRENT,  /* states instead of tokens */
    KVC_KIND_HYBRID,     /* states and tokens in one layer or one context */
    KVC_KIND_LAYERS,     /* a container of layers of these kinds */
    KVC_KIND_CROSS,      /* beside a cross-attention that is set once */
    KVC_KIND_NONE,       /* stores nothing */
    KVC_KIND_MODEL       /* a whole model with the cache that it asks for */
} kvc_kind;
enum { KVC_KINDS = 13 };

/* What a cache that holds several sequences keeps of each. */
typedef enum kvc_memory {
    KVC_MEMORY_ATTENTION = 0, /* every token, in a cell of its own */
    KVC_MEMORY_WINDOW,        /* the newest tokens, in layers with a sliding window */
    KVC_MEMORY_STATE,         /* one recurrent state */
    KVC_MEMORY_ALONE          /* not a memory: what a cell holds depends on its token and position alone */
} kvc_memory;

typedef struct kvc_view_spec {
    char name[40];
    int numbered; /* one tensor for each of `states` */
    int salt;
    kvc_law law;
    kvc_view_rule rule;
    int part; /* index into the spec's part names, or -1: always there */
    int dims;
    kvc_dim dim[KVC_VIEW_DIMS_MAX];
    int integer; /* int64 instead of the type of the inputs */
    kvc_returned returned;
    int is_static;    /* documented to keep its address */
    int keeps_window; /* a window view may hold `window` instead of window - 1 */
    int keeps_length; /* a fixed view shows the first `length` cells of its buffer only */
    char source[KVC_SPEC_SOURCE_MAX]; /* where it is written what it must be, where that is another text than the spec's; or "" */
    int inferred;                     /* as in kvc_spec */
} kvc_view_spec;

typedef struct kvc_spec {
    char subject[KVC_SPEC_NAME_MAX];
    char variant[KVC_SPEC_NAME_MAX];
    char title[KVC_SPEC_TITLE_MAX];
    kvc_kind kind; /* by which reports compare runtimes */
    char source[KVC_SPEC_SOURCE_MAX]; /* where it is written what the variant keeps, or "" */
    int inferred;     /* the source is an argument or an assumption, and no text of the subject's */
    unsigned ops;             /* bit 1 << kvc_op_kind */
    unsigned params;          /* bit 1 << index in kvc_param_table */
    int32_t low[KVC_PARAMS];  /* smallest and largest value that is tried */
    int32_t high[KVC_PARAMS];
    int32_t step[KVC_PARAMS]; /* only every so many values are tried; at least 1 */
    unsigned dtypes;          /* bit 1 << kvc_dtype */
    kvc_encoding values;      /* how tokens are written into inputs */
    int length;               /* reports a sequence length */
    int claim;                /* makes a claim that HONEST may judge */
    int own_rows;             /* rows have lengths of their own (reference/rows.h) */
    int share;                /* it gets one part of so many of the budget; at least 1 */
    int parts;                /* number of entries in `part_choice`, 0: no choice */
    char part_choice[KVC_CHOICES_MAX][KVC_CHOICE_NAME_MAX];
    unsigned part_mask[KVC_CHOICES_MAX]; /* bit per part name */
    int part_names;
    char part_name[KVC_PARTS_MAX][40];
    int since; /* parts and parameters that came with a later version */
    char since_name[KVC_SINCE_MAX][40];
    char since_version[KVC_SINCE_MAX][24];
    int layers; /* number of entries in `layer_choice`, 0: one layer */
    char layer_choice[KVC_CHOICES_MAX][KVC_CHOICE_NAME_MAX];
    unsigned memory; /* of a cache that holds several sequences: bit 1 << kvc_memory; 0 for all others */
    int views;
    kvc_view_spec view[KVC_VIEWS_MAX];
} kvc_spec;

/* Reads and checks a spec file. Returns 1, or 0 with *error set: file, field, expectation. */
int kvc_spec_read(const char *path, kvc_spec *spec, kvc_error *error);
/* As kvc_spec_read, from memory; `name` is used in errors. */
int kvc_spec_parse(const char *text, size_t length, const char *name, kvc_spec *spec, kvc_error *error);
/* As kvc_spec_read, from JSON. */
int kvc_spec_from_json(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error);
/*
 * As another spec, but for what `json` gives: title, kind, source, ops, dtypes, and limits of parameters. `json` may be NULL. Subject and
 * variant are the other's.
 */
int kvc_spec_like(const cJSON *json, const char *name, const kvc_spec *other, kvc_spec *spec, kvc_error *error);
int kvc_spec_has_op(const kvc_spec *spec, kvc_op_kind kind);
/* Whether the spec uses the parameter at byte `offset` of kvc_params. */
int kvc_spec_uses(const kvc_spec *spec, size_t offset);
/* Whether requests and cases write the parameter `index` of kvc_param_table. Not for `watch`, `parts` and `layers`. */
int kvc_spec_writes(const kvc_spec *spec, int index);
/* The first version that has this part or parameter, "" for every version. */
const char *kvc_spec_since(const kvc_spec *spec, const char *name);
const char *kvc_view_rule_name(kvc_view_rule rule);
const char *kvc_kind_name(kvc_kind kind);

#endif
