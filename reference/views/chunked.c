/* Every token from a start on. Only a front trim moves the start; it is shown as a number too. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->first_min = extent->first_max = model->slot[slot].held;
}

static void stored_start(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->kind = KVC_CELL_NUMBER;
    extent->end = model->slot[slot].held;
}

const kvc_view_kind kvc_view_chunked = {NULL, NULL, NULL, stored};
const kvc_view_kind kvc_view_chunk_start = {NULL, NULL, NULL, stored_start};
