/*
 * The newest min(capacity, window) tokens in a buffer of that many cells, in temporal order. What was evicted cannot be
 * rolled back.
 */
#include "reference/view.h"

static int32_t cells(const kvc_model *model)
{
    return kvc_smaller(model->plan->params.capacity, model->plan->params.window);
}

static void appended(kvc_model *model, int slot)
{
    model->slot[slot].held = kvc_larger(model->slot[slot].held, model->length - cells(model));
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    int32_t held = model->slot[slot].held;

    if (held == 0 || asked->removed == 0 || asked->target == 0)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    if ((*rule)->value == KVC_UNRECORDED_REFUSE)
        return KVC_MUST_REFUSE;
    /* One token less than the buffer is enough to go on with, when it is given back exactly; of one cell that is none. */
    return cells(model) == 1 || kvc_larger(0, asked->target - (cells(model) - 1)) >= held ? KVC_EITHER : KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    model->slot[slot].held = asked->target == 0 ? 0 : kvc_smaller(model->slot[slot].held, asked->target);
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->first_min = extent->first_max = kvc_smaller(model->slot[slot].held, model->length);
    extent->width = cells(model);
}

const kvc_view_kind kvc_view_fixed_window = {appended, crop, cropped, stored};
