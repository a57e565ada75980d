/*
 * Views: how a tensor follows the token log. One file for each kind.
 */
#ifndef KVC_REFERENCE_VIEW_H
#define KVC_REFERENCE_VIEW_H

#include "reference/model.h"

/* What a cell of a tensor stands for. */
typedef enum kvc_cell_kind {
    KVC_CELL_TOKEN = 0, /* cell i is token i of the log */
    KVC_CELL_BLOCK,     /* cell i folds the tokens of block i */
    KVC_CELL_CONSTANT,  /* cell i is token number i of its own */
    KVC_CELL_FOLD,      /* no token axis: one value for each row */
    KVC_CELL_NUMBER,    /* one element of type int64, which is `end`, or up to `first_max` less */
    KVC_CELL_AT_LEAST,  /* one element of type int64, which is `end` or more */
    KVC_CELL_SEEN,      /* a mask: see reference/check_seen.h */
    KVC_CELL_PREDICTED, /* numbers of which only the sizes are known */
    KVC_CELL_UNKNOWN    /* nothing is known */
} kvc_cell_kind;

enum { KVC_CONSTANT_TOKENS = 2 };

/* Which cells a tensor must hold: an interval that ends at `end` and begins anywhere from first_min to first_max. */
typedef struct kvc_extent {
    kvc_cell_kind kind;
    int32_t first_min;
    int32_t first_max;
    int32_t end;
    int32_t width;  /* exact number of cells on the token axis of which only the first end - first count; -1: no more than those */
    int zeros_left; /* cells of zeros before the first do not count */
    int as_set;     /* any order */
    int optional;   /* a number that versions may lack: not shown, it is not judged */
    int32_t keep;   /* the first `keep` tokens besides the interval, before it unless in any order */
} kvc_extent;

typedef struct kvc_view_kind {
    /* Tokens were appended: the log already holds them. May be NULL. */
    void (*appended)(kvc_model *model, int slot);
    /* May the crop be done? Sets *rule when it decides. May be NULL: always. */
    kvc_verdict (*crop)(const kvc_model *model, int slot, const kvc_expectation *crop, const kvc_contract_rule **rule);
    /* The crop was done: the log is already shorter. May be NULL. */
    void (*cropped)(kvc_model *model, int slot, const kvc_expectation *crop);
    /* What it must hold now. */
    void (*stored)(const kvc_model *model, int slot, kvc_extent *extent);
} kvc_view_kind;

const kvc_view_kind *kvc_view_kind_of(kvc_view_rule rule);
/* What the last append of model->appended tokens must have returned for the slot. Returns 0 when it returns nothing. */
int kvc_view_returned(const kvc_model *model, int slot, kvc_extent *extent);
/* Token number and the row of origin of `row` for one cell. */
void kvc_view_cell(const kvc_model *model, int slot, const kvc_extent *extent, int32_t cell, int row, int32_t *number,
                   int *origin);

extern const kvc_view_kind kvc_view_all;
extern const kvc_view_kind kvc_view_window;
extern const kvc_view_kind kvc_view_last;
extern const kvc_view_kind kvc_view_folded;
extern const kvc_view_kind kvc_view_fixed;
extern const kvc_view_kind kvc_view_fixed_window;
extern const kvc_view_kind kvc_view_ring;
extern const kvc_view_kind kvc_view_blocks;
extern const kvc_view_kind kvc_view_block_rest;
extern const kvc_view_kind kvc_view_block_overlap;
extern const kvc_view_kind kvc_view_block_count;
extern const kvc_view_kind kvc_view_nothing;
extern const kvc_view_kind kvc_view_prefix_window;
extern const kvc_view_kind kvc_view_fixed_prefix_window;

/* Length of a prefix that was settled by the first append, as far as the buffer lets it be; `wanted` before that. */
int32_t kvc_view_prefix(const kvc_model *model, int slot, int32_t wanted);
/* Whether a window in a buffer behind a prefix of `wanted` tokens is all that is left of the buffer, so that it never slides. */
int kvc_view_prefix_fills(const kvc_model *model, int slot, int32_t wanted);
extern const kvc_view_kind kvc_view_residual;
extern const kvc_view_kind kvc_view_constant;
extern const kvc_view_kind kvc_view_flag;
extern const kvc_view_kind kvc_view_rotating;
extern const kvc_view_kind kvc_view_chunked;
extern const kvc_view_kind kvc_view_chunk_start;
extern const kvc_view_kind kvc_view_count;
extern const kvc_view_kind kvc_view_trimmed;
extern const kvc_view_kind kvc_view_unused;
extern const kvc_view_kind kvc_view_agreed;
extern const kvc_view_kind kvc_view_bytes;
extern const kvc_view_kind kvc_view_seen;
extern const kvc_view_kind kvc_view_opaque;
extern const kvc_view_kind kvc_view_predicted;
/* What the last append must have returned of a ring. */
void kvc_view_rotating_returned(const kvc_model *model, int slot, kvc_extent *extent);

/* Shared by the files of the views. */
static inline const kvc_contract_rule *kvc_slot_rule(const kvc_model *model, int slot, kvc_rule_name name)
{
    return model->plan->layer[model->plan->slot[slot].layer].rules.rule[name];
}
/* Whether the slot's layer is keeping the past now: a container may be recording while some of its layers never do. */
static inline int kvc_slot_records(const kvc_model *model, int slot)
{
    return model->recording && model->plan->layer[model->plan->slot[slot].layer].records;
}
static inline int32_t kvc_larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
static inline int32_t kvc_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

#endif
