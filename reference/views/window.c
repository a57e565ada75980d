/*
 * The newest window - 1 tokens between calls; while recording, all that was held when recording began or at the last crop, and
 * all since. A crop gives back exactly what a fresh cache would hold, or refuses.
 */
#include "reference/view.h"

static int32_t kept(const kvc_model *model)
{
    return model->plan->params.window - 1;
}

/* While recording it may keep the past, and need not. */
static int tolerates(const kvc_model *model, int slot)
{
    return kvc_slot_rule(model, slot, KVC_CONTRACT_RECORD)->value == KVC_RECORD_TOLERATED;
}

static int keeps_more(const kvc_model *model, int slot)
{
    return model->plan->slot[slot].view->keeps_window;
}

static void appended(kvc_model *model, int slot)
{
    kvc_slot_state *state = &model->slot[slot];
    int32_t needed = kvc_larger(state->held, model->length - kept(model));

    if (!kvc_slot_records(model, slot))
        state->held = state->spare = needed;
    else if (tolerates(model, slot))
        state->held = needed;
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    const kvc_contract_rule *unrecorded = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    int reached = model->length >= model->plan->params.window;

    if (reached && !kvc_slot_records(model, slot) && unrecorded->value == KVC_UNRECORDED_REFUSE) {
        *rule = unrecorded;
        return KVC_MUST_REFUSE;
    }
    /* Past the window "keep the first n" is not what a rollback means: it may refuse that. */
    if (reached && asked->situation.ask == KVC_ASK_POSITIVE)
        return KVC_EITHER;
    if (asked->target == 0 || kvc_larger(0, asked->target - kept(model)) >= model->slot[slot].held)
        return KVC_DO;
    *rule = unrecorded;
    /* One that may keep `window` tokens may have the one more that is needed. */
    if (keeps_more(model, slot) && kvc_larger(0, asked->target - kept(model)) >= model->slot[slot].held - 1)
        return KVC_EITHER;
    if (tolerates(model, slot) && kvc_larger(0, asked->target - kept(model)) >= model->slot[slot].spare)
        return KVC_EITHER;
    /* A window of one token keeps nothing between calls: nothing that is needed can be gone. */
    return kept(model) == 0 ? KVC_EITHER : KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    int32_t needed = kvc_larger(0, model->length - kept(model));
    int trim = asked->trim && kvc_slot_rule(model, slot, KVC_CONTRACT_CROP_ZERO)->value == KVC_ZERO_SHRINK;

    if (trim || asked->removed > 0)
        model->slot[slot].held = model->slot[slot].spare = needed;
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->first_min = extent->first_max = model->slot[slot].held;
    if (tolerates(model, slot))
        extent->first_min = model->slot[slot].spare;
    if (keeps_more(model, slot) && extent->first_min > 0)
        extent->first_min--;
}

const kvc_view_kind kvc_view_window = {appended, crop, cropped, stored};
