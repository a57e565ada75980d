#include "reference/view.h"

#include "reference/values.h"

const kvc_view_kind *kvc_view_kind_of(kvc_view_rule rule)
{
    switch (rule) {
    case KVC_RULE_ALL:
        return &kvc_view_all;
    case KVC_RULE_WINDOW:
        return &kvc_view_window;
    case KVC_RULE_LAST:
        return &kvc_view_last;
    case KVC_RULE_FOLDED:
        return &kvc_view_folded;
    case KVC_RULE_FIXED:
        return &kvc_view_fixed;
    case KVC_RULE_FIXED_WINDOW:
        return &kvc_view_fixed_window;
    case KVC_RULE_RING:
        return &kvc_view_ring;
    case KVC_RULE_BLOCKS:
        return &kvc_view_blocks;
    case KVC_RULE_BLOCK_REST:
        return &kvc_view_block_rest;
    case KVC_RULE_BLOCK_OVERLAP:
        return &kvc_view_block_overlap;
    case KVC_RULE_BLOCK_COUNT:
        return &kvc_view_block_count;
    case KVC_RULE_NOTHING:
        return &kvc_view_nothing;
    case KVC_RULE_PREFIX_WINDOW:
        return &kvc_view_prefix_window;
    case KVC_RULE_FIXED_PREFIX_WINDOW:
        return &kvc_view_fixed_prefix_window;
    case KVC_RULE_RESIDUAL:
        return &kvc_view_residual;
    case KVC_RULE_CONSTANT:
        return &kvc_view_constant;
    case KVC_RULE_FLAG:
        return &kvc_view_flag;
    case KVC_RULE_ROTATING:
        return &kvc_view_rotating;
    case KVC_RULE_CHUNKED:
        return &kvc_view_chunked;
    case KVC_RULE_CHUNK_START:
        return &kvc_view_chunk_start;
    case KVC_RULE_COUNT:
        return &kvc_view_count;
    case KVC_RULE_TRIMMED:
        return &kvc_view_trimmed;
    case KVC_RULE_AGREED:
        return &kvc_view_agreed;
    case KVC_RULE_UNUSED:
        return &kvc_view_unused;
    case KVC_RULE_BYTES:
        return &kvc_view_bytes;
    case KVC_RULE_SEEN:
    case KVC_RULE_SEEN_WINDOW:
        return &kvc_view_seen;
    case KVC_RULE_PREDICTED:
        return &kvc_view_predicted;
    case KVC_RULE_OPAQUE:
        return &kvc_view_opaque;
    }
    return &kvc_view_opaque;
}

/* A window that is kept in a static buffer hands the buffer out until it overflows, then what was held and what is new. */
static void returned_buffer(const kvc_model *model, int slot, kvc_extent *extent)
{
    const kvc_params *params = &model->plan->params;
    int32_t cells;
    kvc_view_rule rule = model->plan->slot[slot].view->rule;
    int32_t prefix = rule == KVC_RULE_FIXED_PREFIX_WINDOW ? kvc_view_prefix(model, slot, 0) : 0;

    if (rule != KVC_RULE_FIXED_WINDOW && rule != KVC_RULE_FIXED_PREFIX_WINDOW) {
        extent->width = params->capacity;
        return;
    }
    cells = kvc_smaller(params->capacity, params->window);
    if (model->length <= prefix + cells) {
        extent->width = prefix + cells;
        return;
    }
    extent->keep = prefix;
    extent->first_min = kvc_larger(prefix, model->length - model->appended - cells);
    extent->first_max = kvc_larger(prefix, model->length - model->appended - (cells - 1));
}

/* What the caller needs to make the entries of the blocks that an append finished. */
static int returned_of_blocks(const kvc_model *model, kvc_returned returned, kvc_extent *extent)
{
    int32_t block = model->plan->params.block;
    int32_t before = (model->length - model->appended) / block * block;
    int32_t now = model->length / block * block;

    if (returned == KVC_RETURNS_BLOCK_START) {
        extent->kind = KVC_CELL_NUMBER;
        extent->end = before;
        return 1;
    }
    extent->end = returned == KVC_RETURNS_CLOSED ? now : before;
    extent->first_min = extent->first_max = returned == KVC_RETURNS_CLOSED ? before : kvc_larger(0, before - block);
    return returned == KVC_RETURNS_CLOSED || now > before;
}

int kvc_view_returned(const kvc_model *model, int slot, kvc_extent *extent)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_returned returned = place->view->returned;

    if (returned == KVC_RETURNS_NONE)
        return 0;
    *extent = (kvc_extent){.kind = KVC_CELL_TOKEN, .end = model->length, .width = -1};
    if (returned == KVC_RETURNS_HELD_AND_NEW &&
        kvc_slot_rule(model, slot, KVC_CONTRACT_RETURNS)->value == KVC_CONVOLUTION_HELD)
        returned = KVC_RETURNS_HELD;
    switch (returned) {
    case KVC_RETURNS_NONE:
    case KVC_RETURNS_ALL:
        break;
    case KVC_RETURNS_WINDOW:
        extent->first_min = extent->first_max =
            kvc_larger(model->slot[slot].held_before, model->length - (model->plan->params.window - 1 + model->appended));
        if (extent->first_min < 0)
            extent->first_min = extent->first_max = 0;
        if (place->view->rule == KVC_RULE_PREFIX_WINDOW) {
            extent->keep = kvc_smaller(kvc_view_prefix(model, slot, 0), model->length);
            extent->first_min = extent->first_max = kvc_larger(extent->keep, extent->first_min);
        }
        if (place->view->keeps_window && extent->first_min > extent->keep)
            extent->first_min--;
        break;
    case KVC_RETURNS_HELD_AND_NEW:
        extent->first_min = extent->first_max = model->slot[slot].held_before;
        extent->zeros_left = place->view->rule == KVC_RULE_LAST;
        break;
    case KVC_RETURNS_HELD:
    case KVC_RETURNS_STATE:
        place->kind->stored(model, slot, extent);
        break;
    case KVC_RETURNS_BUFFER:
        returned_buffer(model, slot, extent);
        break;
    case KVC_RETURNS_ROTATING:
        kvc_view_rotating_returned(model, slot, extent);
        break;
    case KVC_RETURNS_SEEN:
        extent->kind = KVC_CELL_SEEN;
        break;
    case KVC_RETURNS_PREDICTED:
        extent->kind = KVC_CELL_PREDICTED;
        break;
    case KVC_RETURNS_CLOSED:
    case KVC_RETURNS_PRIOR:
    case KVC_RETURNS_BLOCK_START:
        return returned_of_blocks(model, returned, extent);
    }
    return 1;
}

void kvc_view_cell(const kvc_model *model, int slot, const kvc_extent *extent, int32_t cell, int row, int32_t *number,
                   int *origin)
{
    const kvc_slot_state *state = &model->slot[slot];

    switch (extent->kind) {
    case KVC_CELL_TOKEN:
        *number = kvc_model_token(model, cell);
        *origin = kvc_model_run(model, cell)->origin[row];
        return;
    case KVC_CELL_BLOCK: {
        int32_t block = model->plan->params.block;
        *number = 0;
        for (int32_t at = cell * block; at < (cell + 1) * block; at++)
            *number = kvc_value_fold(*number, kvc_model_token(model, at));
        /* The entry is written by the append that closes the block. */
        *origin = kvc_model_run(model, (cell + 1) * block - 1)->origin[row];
        return;
    }
    case KVC_CELL_CONSTANT:
        *number = cell;
        *origin = state->fold_row[row];
        return;
    case KVC_CELL_FOLD:
        *number = state->fold[row];
        *origin = state->fold_row[row];
        return;
    case KVC_CELL_NUMBER:
    case KVC_CELL_AT_LEAST:
    case KVC_CELL_SEEN:
    case KVC_CELL_PREDICTED:
    case KVC_CELL_UNKNOWN:
        break;
    }
    *number = 0;
    *origin = 0;
}
