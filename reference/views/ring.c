/* The first `keep` tokens and the newest capacity - keep, in any order. Nothing can be rolled back once a cell was overwritten. */
#include "reference/view.h"

static void appended(kvc_model *model, int slot)
{
    const kvc_params *params = &model->plan->params;

    if (model->length > params->capacity)
        model->slot[slot].held = kvc_larger(model->slot[slot].held, model->length - (params->capacity - params->keep));
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    if (model->slot[slot].held == 0 || asked->removed == 0 || asked->target == 0)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    return KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    if (asked->target == 0)
        model->slot[slot].held = 0;
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->first_min = extent->first_max = model->slot[slot].held;
    extent->as_set = 1;
    extent->keep = model->slot[slot].held > 0 ? model->plan->params.keep : 0;
}

const kvc_view_kind kvc_view_ring = {appended, crop, cropped, stored};
