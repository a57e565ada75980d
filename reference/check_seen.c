#include "reference/check_seen.h"

#include "reference/values.h"

int kvc_seen_keys(const kvc_plan *plan, int slot)
{
    for (int at = 0; at < plan->slots; at++) {
        if (plan->slot[at].layer == plan->slot[slot].layer && plan->slot[at].view->law == KVC_KEYS)
            return at;
    }
    return -1;
}

int kvc_seen_wanted(const kvc_model *model, int slot, int32_t query, int32_t at)
{
    const kvc_plan *plan = model->plan;
    const kvc_params *params = &plan->params;
    int keys = kvc_seen_keys(plan, slot);
    int32_t now = model->length - model->appended + query;
    int32_t first = 0;
    int32_t keep = 0;

    if (at > now || keys < 0)
        return -1;
    if (plan->slot[keys].view->rule == KVC_RULE_ROTATING) {
        keep = params->keep;
        first = now + 1 - (params->capacity - keep);
    } else if (plan->slot[keys].view->rule == KVC_RULE_CHUNKED) {
        first = model->slot[keys].held;
    }
    if (plan->slot[slot].view->rule != KVC_RULE_SEEN_WINDOW)
        return at < keep || at >= first ? 1 : -1;
    /* Who asks for fewer tokens than there are must get those; whether first tokens that are kept count is nowhere said. */
    if (at > now - params->window)
        return at < keep || at >= first ? 1 : 0;
    return at < keep ? 0 : -1;
}

int32_t kvc_seen_token(const kvc_model *model, int keys_slot, const kvc_tensor *keys, int64_t row, int64_t cell)
{
    kvc_cell read;

    kvc_check_read(model->plan, keys_slot, keys, row, 0, cell, &read);
    for (int32_t at = model->length - 1; read.known == 1 && at >= 0; at--) {
        if (kvc_model_token(model, at) == read.token)
            return at;
    }
    return -1;
}

int kvc_seen_fits(const kvc_model *model, int keys_slot, const kvc_tensor *keys, const kvc_tensor *mask)
{
    int64_t width = kvc_check_width(model->plan, keys_slot, keys);

    return mask->dtype == KVC_INT64 && mask->dims == 3 && width >= 0 && mask->shape[0] == model->rows &&
           mask->shape[1] == model->appended && mask->shape[2] == width;
}

int kvc_seen_in(const kvc_tensor *mask, int64_t row, int64_t query, int64_t cell)
{
    int64_t value = 0;
    int64_t at = (row * mask->shape[1] + query) * mask->shape[2] + cell;

    (void)kvc_value_load(KVC_INT64, (const uint8_t *)mask->data + kvc_tensor_element(mask, at), &value);
    return value != 0;
}

kvc_deviation kvc_check_seen(const kvc_model *model, int slot, const kvc_tensor *keys, const kvc_tensor *mask,
                             kvc_seen_fault *fault)
{
    int keys_slot = kvc_seen_keys(model->plan, slot);
    int64_t width;

    fault->row = fault->query = 0;
    if (keys_slot < 0 || keys == NULL || model->appended == 0)
        return KVC_AS_EXPECTED;
    width = kvc_check_width(model->plan, keys_slot, keys);
    if (width <= 0)
        return KVC_AS_EXPECTED;
    if (mask == NULL)
        return KVC_MISSING;
    if (kvc_tensor_elements(mask) < 0 || !kvc_seen_fits(model, keys_slot, keys, mask))
        return KVC_WRONG_SHAPE;
    for (fault->row = 0; fault->row < model->rows; fault->row++) {
        int32_t place[KVC_SEEN_MAX];
        if (width > KVC_SEEN_MAX)
            return KVC_AS_EXPECTED;
        for (int64_t cell = 0; cell < width; cell++)
            place[cell] = kvc_seen_token(model, keys_slot, keys, fault->row, cell);
        for (fault->query = 0; fault->query < model->appended; fault->query++) {
            for (int64_t cell = 0; cell < width; cell++) {
                int wanted = place[cell] < 0 ? 0 : kvc_seen_wanted(model, slot, fault->query, place[cell]);
                int seen = kvc_seen_in(mask, fault->row, fault->query, cell);
                if (wanted > 0 && !seen)
                    return KVC_SHORT;
                if (wanted < 0 && seen)
                    return KVC_LONG;
            }
        }
    }
    return KVC_AS_EXPECTED;
}
