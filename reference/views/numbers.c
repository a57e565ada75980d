/* Numbers of tokens: how many the op before removed, in the subject's own count, shown after a trim only; how many there are. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = model->trimmed >= 0 ? KVC_CELL_NUMBER : KVC_CELL_UNKNOWN;
    extent->end = model->trimmed;
}

static void stored_count(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->kind = KVC_CELL_NUMBER;
    extent->end = model->length;
    for (int at = 0; at < model->plan->slots; at++) {
        if (model->plan->slot[at].layer == model->plan->slot[slot].layer &&
            model->plan->slot[at].view->rule == KVC_RULE_ROTATING)
            extent->end = kvc_smaller(model->length, model->plan->params.capacity);
    }
}

const kvc_view_kind kvc_view_count = {NULL, NULL, NULL, stored_count};
const kvc_view_kind kvc_view_trimmed = {NULL, NULL, NULL, stored};
