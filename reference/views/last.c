/*
 * The newest `kernel` tokens (a convolution's state), zeros to the left of them; while recording, more. A crop gives back
 * exactly those, or refuses.
 */
#include "reference/view.h"

static void appended(kvc_model *model, int slot)
{
    if (!kvc_slot_records(model, slot))
        model->slot[slot].held = kvc_larger(model->slot[slot].held, model->length - model->plan->params.kernel);
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    const kvc_contract_rule *unrecorded = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);

    if (unrecorded->value == KVC_UNRECORDED_IGNORED)
        return KVC_DO;
    if (!kvc_slot_records(model, slot) && unrecorded->value == KVC_UNRECORDED_REFUSE) {
        *rule = unrecorded;
        return KVC_MUST_REFUSE;
    }
    if (asked->target == 0 ||
        kvc_larger(0, asked->target - model->plan->params.kernel) >= model->slot[slot].held)
        return KVC_DO;
    *rule = unrecorded;
    return KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    kvc_slot_state *state = &model->slot[slot];

    if (kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED)->value == KVC_UNRECORDED_IGNORED) {
        if (asked->removed > 0)
            state->unjudged = 1;
        return;
    }
    if (asked->removed > 0 ||
        (asked->trim && kvc_slot_rule(model, slot, KVC_CONTRACT_CROP_ZERO)->value == KVC_ZERO_SHRINK))
        state->held = kvc_larger(0, model->length - model->plan->params.kernel);
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->first_min = extent->first_max = model->slot[slot].held;
    extent->zeros_left = 1;
}

const kvc_view_kind kvc_view_last = {appended, crop, cropped, stored};
