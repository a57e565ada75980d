/*
 * Numbers: how many tokens the op before removed, in the subject's own count, shown after a trim only; how many there are
 * (of a window that may keep one more either number); whether
 * there never were any; the memory that they take. What a container says of itself is about all of its layers.
 */
#include "reference/view.h"

#include "reference/rows_check.h"

/* Whether a number of `slot` is also about the tensor of `other`. */
static int speaks_of(const kvc_plan *plan, int slot, int other)
{
    const kvc_view_spec *own = plan->spec->view;

    return plan->slot[other].layer == plan->slot[slot].layer ||
           (plan->spec->layers > 0 && plan->slot[slot].view >= own && plan->slot[slot].view < own + plan->spec->views);
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = model->trimmed >= 0 ? KVC_CELL_NUMBER : KVC_CELL_UNKNOWN;
    extent->end = model->trimmed;
}

static void stored_count(const kvc_model *model, int slot, kvc_extent *extent)
{
    const kvc_plan *plan = model->plan;

    /* Rows may be padded, and be one as long as the longest then. */
    extent->kind = plan->own_rows && !model->own.alone ? KVC_CELL_AT_LEAST : KVC_CELL_NUMBER;
    extent->end = 0;
    extent->optional = 1;
    for (int at = 0; at < plan->slots; at++) {
        if (!speaks_of(plan, slot, at) || plan->slot[at].view->law != KVC_KEYS)
            continue;
        if (plan->slot[at].view->rule == KVC_RULE_WINDOW || plan->slot[at].view->rule == KVC_RULE_PREFIX_WINDOW ||
            plan->slot[at].view->rule == KVC_RULE_RING) {
            kvc_extent held = {.end = model->length};
            plan->slot[at].kind->stored(model, at, &held);
            extent->end = held.end - held.first_min + held.keep;
            extent->first_max = held.first_max - held.first_min;
            continue;
        }
        extent->end = kvc_larger(extent->end, plan->slot[at].view->rule == KVC_RULE_ROTATING
                                                  ? kvc_smaller(model->length, plan->params.capacity)
                                                  : model->length);
    }
}

/* No text says what is true of a cache from which everything was removed, or that got no tokens. */
static void stored_unused(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = model->length == 0 && (model->used || model->appended_none) ? KVC_CELL_UNKNOWN : KVC_CELL_NUMBER;
    extent->end = model->length == 0;
    extent->optional = 1;
}

/* What is said without help is said with it. */
static void stored_agreed(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = KVC_CELL_NUMBER;
    extent->end = model->length;
    extent->optional = 1;
}

/* Cells that a tensor must hold, of all rows. */
static int64_t cells_of(const kvc_model *model, int slot)
{
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
    int64_t cells = 0;

    if (!model->plan->own_rows) {
        model->plan->slot[slot].kind->stored(model, slot, &extent);
        return extent.kind == KVC_CELL_FOLD    ? (int64_t)extent.end * model->rows
               : extent.kind == KVC_CELL_TOKEN ? (int64_t)(extent.end - extent.first_max + extent.keep) * model->rows
                                               : 0;
    }
    for (int32_t row = 0; row < model->rows; row++) {
        kvc_row_extent of_row;
        kvc_rows_stored(model, slot, row, &of_row);
        cells += model->plan->slot[slot].view->rule == KVC_RULE_FOLDED ? of_row.end > 0 : of_row.end - of_row.first;
    }
    return cells;
}

/* A cache that quantises takes two bits for each channel at least; how much any takes in advance is for it to choose. */
static void stored_bytes(const kvc_model *model, int slot, kvc_extent *extent)
{
    const kvc_plan *plan = model->plan;
    int64_t bytes = 0;

    for (int at = 0; at < plan->slots; at++) {
        const kvc_slot *place = &plan->slot[at];
        kvc_law law = place->view->law;
        size_t cell = place->encoding == KVC_TWO_LEVELS ? (size_t)place->channels * 2 / 8 : place->cell;
        if (speaks_of(plan, slot, at) && !model->slot[at].unjudged && (law == KVC_KEYS || law == KVC_VALUES || law == KVC_STATE))
            bytes += cells_of(model, at) * place->heads * (int64_t)cell;
    }
    extent->kind = KVC_CELL_AT_LEAST;
    extent->optional = 1;
    extent->end = bytes < INT32_MAX ? (int32_t)bytes : INT32_MAX;
}


const kvc_view_kind kvc_view_count = {NULL, NULL, NULL, stored_count};
const kvc_view_kind kvc_view_trimmed = {NULL, NULL, NULL, stored};
const kvc_view_kind kvc_view_unused = {NULL, NULL, NULL, stored_unused};
const kvc_view_kind kvc_view_agreed = {NULL, NULL, NULL, stored_agreed};
const kvc_view_kind kvc_view_bytes = {NULL, NULL, NULL, stored_bytes};
