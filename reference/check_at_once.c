/*
 * Most tensors are as they must be, and lie as the values of a table do: that is found out here, with little more than a
 * comparison of memory for each lane (a lane is one head of one row). It stands in a file of its own so that it stays small: all else is in check.c.
 */
#include "reference/check.h"

#include <string.h>

/* All rows and heads hold the tokens of the log from number `first` on, from `have` on. 0 also where no table has them. */
static int lanes_are_right(kvc_encoder *encoder, const kvc_model *model, int slot, int32_t end, const uint8_t *have,
                           int64_t width, int32_t first)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_encoded *table = kvc_encoder_table(encoder, place->encoding, place->dtype, place->salt, place->channels);
    size_t size = place->cell;
    size_t lane = (size_t)width * size;
    size_t table_lane = KVC_ENCODED_TOKENS * size;
    size_t table_row = KVC_ENCODED_HEADS * table_lane;
    int32_t rows = model->rows;
    int heads = place->heads;

    if (table == NULL || heads > KVC_ENCODED_HEADS)
        return 0;
    for (const kvc_run *run = kvc_model_run(model, first); first < end; run++) {
        int last = run + 1 == model->run + model->runs;
        int32_t next = last ? end : kvc_smaller(run[1].begin, end);
        int32_t number = run->number + (first - run->begin);
        int32_t needed = number + (next - first);
        size_t bytes = (size_t)(next - first) * size;
        const uint8_t *first_lane = table->bytes + (size_t)number * size;
        const uint8_t *at = have;
        if (needed > KVC_ENCODED_TOKENS)
            return 0;
        for (int32_t row = 0; row < rows; row++) {
            int origin = run->origin[row];
            const uint8_t *want = first_lane + (size_t)origin * table_row;
            for (int head = 0; head < heads; head++, at += lane, want += table_lane) {
                if (table->filled[origin][head] < needed)
                    kvc_encoded_fill(table, needed, origin, head);
                if (memcmp(want, at, bytes) != 0)
                    return 0;
            }
        }
        have += bytes;
        first = next;
    }
    return 1;
}

/*
 * Whether a tensor of which rows, heads, tokens and channels lie in this order is as it must be: what most are is found out at
 * once. What it says no to is looked at at length.
 */
static int is_right_at_once(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                            const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int tokens = place->tokens_axis;
    int64_t width;
    int64_t count;

    if (tensor->dtype != (int32_t)place->dtype || tensor->dims != place->view->dims ||
        tensor->shape[0] != model->rows || (tokens == 2 && tensor->shape[1] != place->size[1]))
        return 0;
    for (int axis = tokens + 1; axis < tensor->dims; axis++) {
        if (tensor->shape[axis] != place->size[axis])
            return 0;
    }
    width = tensor->shape[tokens];
    if (width == 0 && extent->first_max >= extent->end)
        return 1;
    count = extent->width >= 0 ? extent->end - extent->first_max : width;
    if (count <= 0 || count > width || (extent->width >= 0 && width != extent->width) || count > extent->end ||
        extent->end - count < extent->first_min || extent->end - count > extent->first_max)
        return 0;
    return lanes_are_right(encoder, model, slot, extent->end, tensor->data, width, extent->end - (int32_t)count);
}

kvc_deviation kvc_check_tensor(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                               const kvc_tensor *tensor)
{
    if (tensor != NULL && model->plan->slot[slot].in_lanes && extent->kind == KVC_CELL_TOKEN &&
        (extent->zeros_left | extent->as_set | extent->keep) == 0 &&
        is_right_at_once(encoder, model, slot, extent, tensor))
        return KVC_AS_EXPECTED;
    return kvc_check_at_length(encoder, model, slot, extent, tensor);
}
