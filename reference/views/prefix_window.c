/*
 * A prefix that is never evicted, and a window of the newest tokens behind it: growing (window - 1 tokens between calls, more while
 * recording), or in a buffer that is never moved (`window` tokens). The prefix is `keep` tokens long, or, when that is 0, as long as
 * the first append.
 */
#include "reference/view.h"

static int32_t buffer_window(const kvc_model *model)
{
    return kvc_smaller(model->plan->params.capacity, model->plan->params.window);
}

int32_t kvc_view_prefix(const kvc_model *model, int slot, int32_t wanted)
{
    const kvc_slot_state *state = &model->slot[slot];
    int32_t prefix = state->set ? state->prefix : wanted;

    if (model->plan->slot[slot].view->rule == KVC_RULE_FIXED_PREFIX_WINDOW)
        prefix = kvc_smaller(prefix, model->plan->params.capacity - buffer_window(model));
    return prefix;
}

int kvc_view_prefix_fills(const kvc_model *model, int slot, int32_t wanted)
{
    const kvc_slot_state *state = &model->slot[slot];

    return (state->set ? state->prefix : wanted) >= model->plan->params.capacity - buffer_window(model);
}

static int32_t settle(kvc_model *model, int slot)
{
    kvc_slot_state *state = &model->slot[slot];

    if (!state->set) {
        state->set = 1;
        state->prefix = model->plan->params.keep > 0 ? model->plan->params.keep : model->length;
    }
    return kvc_view_prefix(model, slot, 0);
}

/* Without a declared length no text says whether a prefix that was cut grows again or is shorter from now on. */
static void cut(kvc_model *model, int slot, const kvc_expectation *asked)
{
    if (asked->removed > 0 && asked->target < model->slot[slot].prefix && model->plan->params.keep == 0)
        model->slot[slot].unsure = 1;
}

static void appended_window(kvc_model *model, int slot)
{
    (void)settle(model, slot);
    if (!kvc_slot_records(model, slot))
        model->slot[slot].held = kvc_larger(model->slot[slot].held, model->length - (model->plan->params.window - 1));
}

static kvc_verdict crop_window(const kvc_model *model, int slot, const kvc_expectation *asked,
                               const kvc_contract_rule **rule)
{
    const kvc_contract_rule *unrecorded = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    int32_t prefix = kvc_view_prefix(model, slot, 0);
    int32_t window = model->plan->params.window;
    int reached = model->length - prefix >= window;

    if (reached && !kvc_slot_records(model, slot) && unrecorded->value == KVC_UNRECORDED_REFUSE) {
        *rule = unrecorded;
        return KVC_MUST_REFUSE;
    }
    if (reached && asked->situation.ask == KVC_ASK_POSITIVE)
        return KVC_EITHER;
    if (asked->target <= prefix ||
        kvc_larger(prefix, asked->target - (window - 1)) >= kvc_larger(prefix, model->slot[slot].held))
        return KVC_DO;
    *rule = unrecorded;
    /* One that may keep `window` tokens may have the one more that is needed. */
    if (model->plan->slot[slot].view->keeps_window &&
        kvc_larger(prefix, asked->target - (window - 1)) >= kvc_larger(prefix, model->slot[slot].held) - 1)
        return KVC_EITHER;
    return window == 1 ? KVC_EITHER : KVC_MUST_REFUSE;
}

static void cropped_window(kvc_model *model, int slot, const kvc_expectation *asked)
{
    int trim = asked->trim && kvc_slot_rule(model, slot, KVC_CONTRACT_CROP_ZERO)->value == KVC_ZERO_SHRINK;

    cut(model, slot, asked);
    if (trim || asked->removed > 0)
        model->slot[slot].held = kvc_larger(0, model->length - (model->plan->params.window - 1));
}

static void stored_window(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->end = model->length;
    extent->keep = kvc_smaller(kvc_view_prefix(model, slot, 0), model->length);
    extent->first_min = extent->first_max = kvc_larger(extent->keep, kvc_smaller(model->slot[slot].held, model->length));
    if (model->plan->slot[slot].view->keeps_window && extent->first_min > extent->keep)
        extent->first_min--;
}

static void appended_fixed(kvc_model *model, int slot)
{
    (void)settle(model, slot);
    model->slot[slot].held = kvc_larger(model->slot[slot].held, model->length - buffer_window(model));
}

static kvc_verdict crop_fixed(const kvc_model *model, int slot, const kvc_expectation *asked,
                              const kvc_contract_rule **rule)
{
    int32_t prefix = kvc_view_prefix(model, slot, 0);
    int32_t held = model->slot[slot].held;
    int32_t window = buffer_window(model);

    if (held <= prefix || asked->removed == 0 || asked->target == 0)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    /* Nothing that was evicted is needed for a part of the prefix. */
    if (asked->target <= prefix)
        return KVC_EITHER;
    if ((*rule)->value == KVC_UNRECORDED_REFUSE)
        return KVC_MUST_REFUSE;
    return window == 1 || kvc_larger(prefix, asked->target - (window - 1)) >= held ? KVC_EITHER : KVC_MUST_REFUSE;
}

static void cropped_fixed(kvc_model *model, int slot, const kvc_expectation *asked)
{
    kvc_slot_state *state = &model->slot[slot];

    cut(model, slot, asked);
    state->held = asked->target <= kvc_view_prefix(model, slot, 0) ? 0 : kvc_smaller(state->held, asked->target);
}

static void stored_fixed(const kvc_model *model, int slot, kvc_extent *extent)
{
    int32_t prefix = kvc_view_prefix(model, slot, 0);

    extent->end = model->length;
    extent->width = prefix + buffer_window(model);
    if (model->slot[slot].held > prefix) {
        extent->keep = prefix;
        extent->first_min = extent->first_max = model->slot[slot].held;
    }
}

const kvc_view_kind kvc_view_prefix_window = {appended_window, crop_window, cropped_window, stored_window};
const kvc_view_kind kvc_view_fixed_prefix_window = {appended_fixed, crop_fixed, cropped_fixed, stored_fixed};
