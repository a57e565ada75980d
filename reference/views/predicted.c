/* What a whole model predicts: nothing of its cache is shown, so there is nothing that a crop could be seen to leave. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)model;
    (void)slot;
    extent->kind = KVC_CELL_UNKNOWN;
}

const kvc_view_kind kvc_view_predicted = {NULL, NULL, NULL, stored};
