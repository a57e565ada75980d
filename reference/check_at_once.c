/*
 * Most tensors are as they must be, and lie as what is expected of them does: that is found out here, with little more than a
 * comparison of memory. It stands in a file of its own so that it stays small: all else is in check.c.
 */
#include "reference/check.h"

#include <string.h>

static int all_zero(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* All rows and heads hold the tokens of the log from number `first` on, from `have` on. 0 also where no table has them. */
static int lanes_are_right(kvc_encoder *encoder, const kvc_model *model, int slot, int32_t end, const uint8_t *have,
                           int64_t width, int32_t first)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_encoded *table = kvc_encoder_table(encoder, place->encoding, place->dtype, place->salt, place->channels);
    size_t size = place->cell;
    size_t lane = (size_t)width * size;
    int32_t rows = model->rows;
    int heads = place->heads;

    if (table == NULL)
        return 0;
    for (const kvc_run *run = kvc_model_run(model, first); first < end; run++) {
        int last = run + 1 == model->run + model->runs;
        int32_t next = last ? end : kvc_smaller(run[1].begin, end);
        int32_t number = run->number + (first - run->begin);
        size_t bytes = (size_t)(next - first) * size;
        const uint8_t *at = have;
        for (int32_t row = 0; row < rows; row++) {
            for (int head = 0; head < heads; head++, at += lane) {
                const uint8_t *want = kvc_encoded_lane(table, number, next - first, run->origin[row], head);
                if (want == NULL || memcmp(want, at, bytes) != 0)
                    return 0;
            }
        }
        have += bytes;
        first = next;
    }
    return 1;
}

/* Cells in any order: whether they are those behind the first `keep`, turned round as in a ring. */
static int ring_is_right(const kvc_expected_cells *cells, const kvc_extent *extent, const uint8_t *have)
{
    size_t stripe = cells->stripe;
    const uint8_t *want = cells->want + (size_t)extent->first_max * stripe;
    size_t count = (size_t)(extent->end - extent->first_max);
    size_t front = (size_t)extent->keep * stripe;

    if (memcmp(have, cells->want, front) != 0)
        return 0;
    have += front;
    for (size_t at = 0; at < count; at++) {
        if (memcmp(have + at * stripe, want, stripe) == 0)
            return memcmp(have + at * stripe, want, (count - at) * stripe) == 0 &&
                   memcmp(have, want + (count - at) * stripe, at * stripe) == 0;
    }
    return count == 0;
}

/* What lies in stripes: `width` cells from `have` on, at least one. */
static int stripes_are_right(const kvc_expected_cells *cells, const kvc_extent *extent, const uint8_t *have, int64_t width)
{
    int64_t count = extent->end - extent->first_max;
    int64_t skipped = 0;

    if (count < 0)
        return 0;
    if (extent->as_set)
        return width == count + extent->keep && ring_is_right(cells, extent, have);
    if (extent->width >= 0) {
        if (width != extent->width)
            return 0;
        /* A buffer without a token may hold anything. */
        if (count == 0 && extent->keep == 0)
            return 1;
    }
    if (extent->zeros_left) {
        /* Where it may begin at several tokens it may hold them without a zero. */
        if (extent->first_min != extent->first_max && extent->end - width >= extent->first_min && extent->end - width <= extent->first_max)
            count = width;
        skipped = width - count;
        if ((extent->first_min != extent->first_max && skipped > 0) || skipped < 0 || !all_zero(have, (size_t)skipped * cells->stripe))
            return 0;
        if (count == 0)
            return 1;
    } else if (extent->keep > 0) {
        skipped = extent->keep;
        if (extent->width < 0)
            count = width - skipped;
        if (count < 0 || skipped + count > width || memcmp(have, cells->want, (size_t)skipped * cells->stripe) != 0)
            return 0;
    } else if (extent->width < 0) {
        count = width;
    }
    if (count <= 0 || skipped + count > width || extent->end - count < extent->first_min ||
        extent->end - count > extent->first_max)
        return 0;
    return memcmp(have + (size_t)skipped * cells->stripe, cells->want + (size_t)(extent->end - count) * cells->stripe,
                  (size_t)count * cells->stripe) == 0;
}

/* The same for lanes that lie one behind the other. */
static int dense_is_right(kvc_expected *expected, const kvc_model *model, int slot, const kvc_extent *extent,
                          const uint8_t *have, int64_t width)
{
    int64_t count = extent->width >= 0 ? extent->end - extent->first_max : width;

    if (extent->kind != KVC_CELL_TOKEN || (extent->zeros_left | extent->as_set | extent->keep) != 0)
        return 0;
    if (count <= 0 || count > width || (extent->width >= 0 && width != extent->width) || count > extent->end ||
        extent->end - count < extent->first_min || extent->end - count > extent->first_max)
        return 0;
    return lanes_are_right(expected->encoder, model, slot, extent->end, have, width, extent->end - (int32_t)count);
}

/* Whether type and sizes are those of the slot's tensors. */
static int has_shape(const kvc_slot *place, int32_t rows, const kvc_tensor *tensor)
{
    int64_t wrong = (tensor->dims ^ place->view->dims) | (tensor->dtype ^ (int32_t)place->dtype);

    if (wrong != 0)
        return 0;
    for (int axis = 0; axis < tensor->dims; axis++)
        wrong |= place->size[axis] >= 0 ? tensor->shape[axis] ^ place->size[axis] : 0;
    return (wrong | (tensor->shape[place->batch_axis] ^ rows)) == 0;
}

/* Tensors without gaps. */
static int is_right_without_gaps(kvc_expected *expected, const kvc_model *model, int slot, const kvc_extent *extent,
                                 const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int one_lane = model->rows * place->heads == 1;
    const kvc_expected_cells *cells;
    int64_t width;

    if (!has_shape(place, model->rows, tensor))
        return 0;
    width = place->tokens_axis >= 0 ? tensor->shape[place->tokens_axis] : 1;
    if (width == 0)
        return extent->first_max >= extent->end && extent->keep == 0;
    if (place->in_lanes && !one_lane)
        return dense_is_right(expected, model, slot, extent, tensor->data, width);
    cells = kvc_expected_find(expected, model, slot, extent->kind, extent->end);
    /* One cell, or one lane, lies in both ways at once. */
    return cells != NULL && (place->in_lanes || (width == 1 && cells->one_is_dense)) &&
           stripes_are_right(cells, extent, tensor->data, width);
}

int kvc_check_laid(kvc_expected_cells *laid, const kvc_extent *extent, int tokens_axis, const kvc_tensor *tensor)
{
    int64_t width = 1;

    if (tokens_axis >= 0 && kvc_extent_is_plain(extent))
        return kvc_check_plain(laid, extent, tokens_axis, tensor);
    if (tokens_axis >= 0)
        width = laid->tensor.shape[tokens_axis] = tensor->shape[tokens_axis];
    if (!kvc_tensor_lies_as(tensor, &laid->tensor))
        return 0;
    if (width == 0)
        return extent->first_max >= extent->end && extent->keep == 0;
    return stripes_are_right(laid, extent, tensor->data, width);
}

/* Says yes to most tensors that are as they must be. What it says no to is looked at at length. */
static inline int is_right_at_once(kvc_expected *expected, const kvc_model *model, int slot, const kvc_extent *extent,
                                   const kvc_tensor *tensor)
{
    int tokens = model->plan->slot[slot].tokens_axis;
    kvc_expected_cells *cells;

    if (extent->kind >= KVC_CELL_NUMBER)
        return 0;
    if (!kvc_tensor_is_strided(tensor))
        return is_right_without_gaps(expected, model, slot, extent, tensor);
    cells = kvc_expected_find(expected, model, slot, extent->kind, extent->end);
    if (cells == NULL)
        return 0;
    return kvc_check_laid(cells, extent, tokens, tensor);
}

kvc_deviation kvc_check_tensor(kvc_expected *expected, const kvc_model *model, int slot, const kvc_extent *extent,
                               const kvc_tensor *tensor)
{
    if (tensor != NULL && is_right_at_once(expected, model, slot, extent, tensor))
        return KVC_AS_EXPECTED;
    return kvc_check_at_length(expected->encoder, model, slot, extent, tensor);
}
