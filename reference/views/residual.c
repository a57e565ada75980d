/*
 * At most the newest `residual` tokens, as they came: what a quantised cache has not quantised yet. When it quantises them is its
 * own choice, so the view may also be empty. That nothing is lost or kept twice is said by the view of all tokens beside it.
 */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->end = model->length;
    extent->first_min = kvc_larger(0, model->length - model->plan->params.residual);
    extent->first_max = model->length;
}

const kvc_view_kind kvc_view_residual = {NULL, NULL, NULL, stored};
