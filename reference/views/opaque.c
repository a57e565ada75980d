/* A state of the subject's own making: only compared with itself, by RESUME and CHUNK. It can be emptied, not rolled back. */
#include "reference/view.h"

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    if (asked->removed == 0 || asked->target == 0)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_RECURRENT);
    return KVC_MUST_REFUSE;
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)model;
    (void)slot;
    extent->kind = KVC_CELL_UNKNOWN;
}

const kvc_view_kind kvc_view_opaque = {NULL, crop, NULL, stored};
