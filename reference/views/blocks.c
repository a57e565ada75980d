/* One entry for each `block` tokens, and the tokens of the unfinished block. A closed block cannot be opened again. */
#include "reference/view.h"

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    int32_t block = model->plan->params.block;

    if (asked->target >= model->length / block * block || asked->target % block == 0)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    return KVC_MUST_REFUSE;
}

static void stored_entries(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = KVC_CELL_BLOCK;
    extent->end = model->length / model->plan->params.block;
}

static void stored_rest(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->end = model->length;
    extent->first_min = extent->first_max = model->length / model->plan->params.block * model->plan->params.block;
}

const kvc_view_kind kvc_view_blocks = {NULL, crop, NULL, stored_entries};
const kvc_view_kind kvc_view_block_rest = {NULL, crop, NULL, stored_rest};
