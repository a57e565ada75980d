/*
 * A ring of `capacity` tokens, the first `keep` of which are never evicted. Between calls it holds at least its capacity, and at most
 * what the last append of several tokens needed: what the first of them may see, and all of them. Which cell a token stands in is the
 * cache's own choice. While there is room a rollback must be done. Once the ring has wrapped it must be refused, or, where the contract
 * says that it is exact, may be as long as all is there that the next token may see beside itself.
 */
#include "reference/view.h"

/* Evictable tokens that one more token may see beside itself. */
static int32_t visible_before(const kvc_model *model)
{
    return model->plan->params.capacity - 1 - model->plan->params.keep;
}

static void appended(kvc_model *model, int slot)
{
    kvc_slot_state *state = &model->slot[slot];

    state->spare = kvc_larger(state->spare, model->length - model->appended - visible_before(model));
    state->held = kvc_larger(state->held, model->length - visible_before(model) - 1);
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    const kvc_slot_state *state = &model->slot[slot];
    int32_t keep = model->plan->params.keep;
    int32_t needed = kvc_larger(0, asked->target - visible_before(model));

    if (asked->removed == 0 || model->length < model->plan->params.capacity)
        return KVC_DO;
    *rule = kvc_slot_rule(model, slot, KVC_CONTRACT_UNRECORDED);
    if ((*rule)->value == KVC_UNRECORDED_REFUSE && model->length > model->plan->params.capacity)
        return KVC_MUST_REFUSE;
    return asked->target <= keep || kvc_larger(keep, needed) >= kvc_larger(keep, state->spare) ? KVC_EITHER : KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    kvc_slot_state *state = &model->slot[slot];

    if (asked->removed == 0)
        return;
    state->held = kvc_larger(0, asked->target - visible_before(model));
    state->spare = kvc_smaller(state->spare, state->held);
}

/* Sets which tokens there are: the first `keep`, and those from `first` on. */
static void set_extent(const kvc_model *model, int32_t first_min, int32_t first_max, kvc_extent *extent)
{
    extent->end = model->length;
    extent->keep = kvc_smaller(model->plan->params.keep, model->length);
    extent->first_min = kvc_larger(extent->keep, first_min);
    extent->first_max = kvc_larger(extent->keep, first_max);
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    set_extent(model, model->slot[slot].spare, model->slot[slot].held, extent);
    extent->as_set = 1;
}

void kvc_view_rotating_returned(const kvc_model *model, int slot, kvc_extent *extent)
{
    int32_t first = kvc_larger(0, model->length - model->appended - visible_before(model));

    if (model->appended == 0) {
        stored(model, slot, extent);
        return;
    }
    set_extent(model, first, first, extent);
    extent->as_set = model->appended == 1;
    if (!extent->as_set && first <= extent->keep) {
        extent->keep = 0;
        extent->first_min = extent->first_max = 0;
    }
}

const kvc_view_kind kvc_view_rotating = {appended, crop, cropped, stored};
