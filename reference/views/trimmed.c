/* How many tokens the op before removed, in the subject's own count: shown after a trim only. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = model->trimmed >= 0 ? KVC_CELL_NUMBER : KVC_CELL_UNKNOWN;
    extent->end = model->trimmed;
}

const kvc_view_kind kvc_view_trimmed = {NULL, NULL, NULL, stored};
