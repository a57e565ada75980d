/* Set by the first append, then the same until a reset (the keys of a cross-attention), and the flag that says so. */
#include "reference/view.h"

static void appended(kvc_model *model, int slot)
{
    kvc_slot_state *state = &model->slot[slot];

    if (state->set)
        return;
    state->set = 1;
    for (int32_t row = 0; row < model->rows; row++)
        state->fold_row[row] = (uint8_t)row;
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->kind = KVC_CELL_CONSTANT;
    extent->end = model->slot[slot].set ? KVC_CONSTANT_TOKENS : 0;
    /* A buffer is as large as what it is made for, and may hold anything before that. */
    if (model->plan->slot[slot].view->is_static)
        extent->width = KVC_CONSTANT_TOKENS;
}

static void stored_flag(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->kind = KVC_CELL_NUMBER;
    extent->end = model->slot[slot].set ? 1 : 0;
}

const kvc_view_kind kvc_view_constant = {appended, NULL, NULL, stored};
const kvc_view_kind kvc_view_flag = {appended, NULL, NULL, stored_flag};
