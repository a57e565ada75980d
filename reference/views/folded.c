/* One value for each row that depends on every token (a recurrent state): it cannot be rolled back. */
#include "reference/values.h"
#include "reference/view.h"

static void appended(kvc_model *model, int slot)
{
    kvc_slot_state *state = &model->slot[slot];

    for (int32_t row = 0; row < model->rows; row++) {
        for (int32_t at = model->length - model->appended; at < model->length; at++)
            state->fold[row] = kvc_value_fold(state->fold[row], kvc_model_token(model, at));
        state->fold_row[row] = (uint8_t)row;
    }
    state->set = 1;
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    const kvc_contract_rule *recurrent = kvc_slot_rule(model, slot, KVC_CONTRACT_RECURRENT);

    if (asked->removed == 0 || recurrent->value == KVC_RECURRENT_IGNORED)
        return KVC_DO;
    *rule = recurrent;
    return KVC_MUST_REFUSE;
}

static void cropped(kvc_model *model, int slot, const kvc_expectation *asked)
{
    if (asked->removed > 0)
        model->slot[slot].unjudged = 1;
}

static void stored(const kvc_model *model, int slot, kvc_extent *extent)
{
    extent->kind = KVC_CELL_FOLD;
    extent->end = model->slot[slot].set;
}

const kvc_view_kind kvc_view_folded = {appended, crop, cropped, stored};
