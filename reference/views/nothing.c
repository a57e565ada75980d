/* No token, ever: what a placeholder in a container keeps. */
#include "reference/view.h"

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)model;
    (void)slot;
    extent->end = 0;
}

const kvc_view_kind kvc_view_nothing = {NULL, NULL, NULL, stored};
