/* Which of the returned tokens each new token may see: nothing is stored, so it is judged with what an append returns. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)model;
    (void)slot;
    extent->kind = KVC_CELL_UNKNOWN;
}

const kvc_view_kind kvc_view_seen = {NULL, NULL, NULL, stored};
