/* At most `capacity` tokens in a buffer that is never moved; cells past the length may hold anything, and may not be shown. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    if (!model->plan->slot[slot].view->keeps_length)
        extent->width = model->plan->params.capacity;
}

const kvc_view_kind kvc_view_fixed = {NULL, NULL, NULL, stored};
