#include "reference/check.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "reference/values.h"

enum { ELEMENTS_MAX = 1 << 30 };

static const char *const deviation_words[KVC_DEVIATIONS] = {
    "as expected",      "missing",          "wrong dtype",    "wrong shape",      "short",       "long",
    "stale",            "wrong order",      "wrong row",      "wrong head",       "wrong value", "negative",
    "too low",          "too high",         "not refused",    "refused",          "wrong error", "changed",
    "moved",            "written",          "differs",        "raised",           "crashed",     "hung",
    "too much memory"};

const char *kvc_deviation_text(kvc_deviation deviation)
{
    return (unsigned)deviation < KVC_DEVIATIONS ? deviation_words[deviation] : "?";
}

int64_t kvc_tensor_elements(const kvc_tensor *tensor)
{
    int64_t count = 1;

    if (tensor->dims < 0 || tensor->dims > KVC_DIMS_MAX)
        return -1;
    for (int axis = 0; axis < tensor->dims; axis++) {
        int64_t size = tensor->shape[axis];
        /* Both factors are at most 2^30. */
        if (size < 0 || size > ELEMENTS_MAX || count * size > ELEMENTS_MAX)
            return -1;
        count *= size;
    }
    return count;
}

int64_t kvc_tensor_element(const kvc_tensor *tensor, int64_t index)
{
    int64_t size = (int64_t)kvc_dtype_size((kvc_dtype)tensor->dtype);
    int64_t offset = 0;

    if (!kvc_tensor_is_strided(tensor))
        return index * size;
    for (int axis = tensor->dims - 1; axis >= 0; axis--) {
        offset += index % tensor->shape[axis] * tensor->stride[axis];
        index /= tensor->shape[axis];
    }
    return offset;
}

void kvc_tensor_pack(const kvc_tensor *tensor, int64_t elements, void *out)
{
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);

    for (int64_t at = 0; at < elements; at++)
        memcpy((uint8_t *)out + (size_t)at * size, (const uint8_t *)tensor->data + kvc_tensor_element(tensor, at), size);
}

/* Distances in bytes between neighbours on the axes of a slot. */
typedef struct strides {
    int64_t row;
    int64_t head;
    int64_t cell;
    int64_t channel;
} strides;

static strides find_strides(const kvc_slot *slot, const kvc_tensor *tensor)
{
    strides out = {0, 0, 0, 0};
    int64_t size = (int64_t)slot->element;
    int64_t dense = size;

    if (slot->in_lanes && !kvc_tensor_is_strided(tensor)) {
        out.channel = slot->channel_axis >= 0 ? size : 0;
        out.cell = slot->channels * size;
        out.head = out.cell * tensor->shape[slot->tokens_axis];
        out.row = out.head * slot->heads;
        return out;
    }
    for (int axis = tensor->dims - 1; axis >= 0; axis--) {
        int64_t step = kvc_tensor_is_strided(tensor) ? tensor->stride[axis] : dense;
        if (axis == slot->batch_axis)
            out.row = step;
        else if (axis == slot->heads_axis)
            out.head = step;
        else if (axis == slot->tokens_axis)
            out.cell = step;
        /* Several channel axes stand together at the end, so the last one's distance is that of a channel. */
        if (out.channel == 0 && slot->channel_axis >= 0 && axis >= slot->channel_axis && axis != slot->batch_axis &&
            axis != slot->heads_axis && axis != slot->tokens_axis)
            out.channel = step;
        dense *= tensor->shape[axis];
    }
    return out;
}

/* Whether the channels of a cell lie at one distance, also where they have several axes. */
static int channels_join(const kvc_slot *slot, const kvc_tensor *tensor)
{
    if (!kvc_tensor_is_strided(tensor) || slot->channel_axis < 0)
        return 1;
    for (int axis = tensor->dims - 1; axis > slot->channel_axis; axis--) {
        int both = axis != slot->tokens_axis && axis != slot->batch_axis && axis != slot->heads_axis &&
                   axis - 1 != slot->tokens_axis && axis - 1 != slot->batch_axis && axis - 1 != slot->heads_axis;
        if (both && tensor->stride[axis - 1] != tensor->stride[axis] * tensor->shape[axis])
            return 0;
    }
    return 1;
}

/* Every axis but the tokens' has the right size. */
static int shape_is_right(const kvc_slot *slot, int32_t rows, const kvc_tensor *tensor)
{
    if (tensor->dims != slot->view->dims)
        return 0;
    for (int axis = 0; axis < tensor->dims; axis++) {
        int64_t want = axis == slot->batch_axis ? rows : slot->size[axis];
        if (axis != slot->tokens_axis && tensor->shape[axis] != want)
            return 0;
    }
    return 1;
}

/* Whether two elements of 2, 4 or 8 bytes are the same: sizes that the compiler knows need no call. */
static inline int is_same(const uint8_t *a, const uint8_t *b, size_t size)
{
    return size == 4 ? memcmp(a, b, 4) == 0 : size == 2 ? memcmp(a, b, 2) == 0 : memcmp(a, b, 8) == 0;
}

static int all_zero(const kvc_tensor *tensor, int64_t elements)
{
    static const uint8_t zero[8] = {0};
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);

    for (int64_t at = 0; at < elements; at++) {
        if (!is_same((const uint8_t *)tensor->data + kvc_tensor_element(tensor, at), zero, size))
            return 0;
    }
    return 1;
}

static int cell_is_zero(const kvc_slot *slot, const kvc_tensor *tensor, const strides *step, int64_t row, int64_t head,
                        int64_t cell)
{
    static const uint8_t zero[8] = {0};
    size_t size = slot->element;
    const uint8_t *have = (const uint8_t *)tensor->data + (row * step->row + head * step->head + cell * step->cell);

    for (int channel = 0; channel < slot->channels; channel++, have += step->channel) {
        if (!is_same(have, zero, size))
            return 0;
    }
    return 1;
}

/* Elements of a tensor whose values have two levels need only be near them: a quantiser rounds. */
static inline int elements_agree(const kvc_slot *slot, const uint8_t *have, const uint8_t *want, size_t count)
{
    return memcmp(want, have, count * slot->element) == 0 ||
           (slot->encoding == KVC_TWO_LEVELS && kvc_value_agree(slot->dtype, have, want, count));
}

/* `cells` cells from `have` on, compared with as many that lie one behind the other. */
static inline int cells_are(const kvc_slot *slot, const strides *step, const uint8_t *have, const uint8_t *want,
                            int32_t cells)
{
    size_t size = slot->element;

    if ((slot->channels == 1 || step->channel == (int64_t)size) && (cells == 1 || step->cell == (int64_t)slot->cell))
        return elements_agree(slot, have, want, (size_t)cells * (size_t)slot->channels);
    for (int32_t cell = 0; cell < cells; cell++, have += step->cell) {
        const uint8_t *at = have;
        for (int channel = 0; channel < slot->channels; channel++, at += step->channel, want += size) {
            if (!is_same(want, at, size) && !elements_agree(slot, at, want, 1))
                return 0;
        }
    }
    return 1;
}

static int cell_is_right(kvc_encoder *encoder, const kvc_slot *slot, const kvc_tensor *tensor, const strides *step,
                         int64_t row, int64_t head, int64_t cell, int32_t number, int origin)
{
    const uint8_t *want =
        kvc_encoder_row(encoder, slot->encoding, slot->dtype, slot->salt, slot->channels, number, origin, (int)head);
    const uint8_t *have = (const uint8_t *)tensor->data + (row * step->row + head * step->head + cell * step->cell);

    return want != NULL && cells_are(slot, step, have, want, 1);
}

int kvc_check_cell_is(kvc_encoder *encoder, const kvc_slot *slot, const kvc_tensor *tensor, int64_t row, int64_t cell,
                      int32_t number, int origin)
{
    strides step = find_strides(slot, tensor);

    for (int64_t head = 0; head < slot->heads; head++) {
        if (!cell_is_right(encoder, slot, tensor, &step, row, head, cell, number, origin))
            return 0;
    }
    return 1;
}

int64_t kvc_check_width(const kvc_plan *plan, int slot, const kvc_tensor *tensor)
{
    const kvc_slot *place = &plan->slot[slot];
    int64_t rows = tensor->dims > place->batch_axis ? tensor->shape[place->batch_axis] : -1;

    if (kvc_tensor_elements(tensor) < 0 || rows < 0 || rows > KVC_ROWS_MAX || tensor->dtype != (int32_t)place->dtype ||
        !shape_is_right(place, (int32_t)rows, tensor) || !channels_join(place, tensor))
        return -1;
    return place->tokens_axis < 0 ? 1 : tensor->shape[place->tokens_axis];
}

/* The cell that begins at `at`, in two levels. */
static void read_levels(const kvc_slot *slot, const kvc_tensor *tensor, const uint8_t *at, int64_t step, kvc_cell *out)
{
    int level[KVC_LEVEL_CHANNELS];

    if (slot->channels < KVC_LEVEL_CHANNELS)
        return;
    for (int channel = 0; channel < KVC_LEVEL_CHANNELS; channel++)
        level[channel] = kvc_value_near((kvc_dtype)tensor->dtype, at + channel * step);
    out->known = kvc_value_decode_levels(slot->salt, level, &out->token, &out->row, &out->head);
}

void kvc_check_read(const kvc_plan *plan, int slot, const kvc_tensor *tensor, int64_t row, int64_t head, int64_t cell,
                    kvc_cell *out)
{
    const kvc_slot *place = &plan->slot[slot];
    strides step = find_strides(place, tensor);
    const uint8_t *at = (const uint8_t *)tensor->data + (row * step.row + head * step.head + cell * step.cell);
    int64_t values[8];

    memset(out, 0, sizeof *out);
    if (place->dtype == KVC_INT64) {
        int64_t value;
        if (kvc_value_load(KVC_INT64, at, &value) && value >= 0 &&
            value / 64 < KVC_TOKENS_MAX) {
            out->known = 1;
            out->token = (int32_t)(value / 64);
            out->row = (int)(value / 8 % 8);
            out->head = (int)(value % 8);
        }
        return;
    }
    if (cell_is_zero(place, tensor, &step, row, head, cell)) {
        out->known = -1;
        return;
    }
    if (place->encoding == KVC_TWO_LEVELS) {
        read_levels(place, tensor, at, step.channel, out);
        return;
    }
    if (place->channels < 8)
        return;
    for (int channel = 0; channel < 8; channel++) {
        if (!kvc_value_load((kvc_dtype)tensor->dtype, at + channel * step.channel, &values[channel]))
            return;
    }
    out->known = kvc_value_decode(place->salt, values, 8, &out->token, &out->row, &out->head);
}

static int log_holds(const kvc_model *model, const kvc_extent *extent, int slot, int32_t number)
{
    int32_t end = extent->kind == KVC_CELL_TOKEN ? model->length : extent->end;

    for (int32_t at = 0; at < end; at++) {
        int32_t have;
        int origin;
        kvc_view_cell(model, slot, extent, at, 0, &have, &origin);
        if (have == number)
            return 1;
    }
    return 0;
}

/* The tensor is wrong: in what way? */
static kvc_deviation classify(const kvc_model *model, int slot, const kvc_extent *extent, const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int64_t width = kvc_check_width(model->plan, slot, tensor);
    int64_t begin = 0;
    int32_t count = extent->end - extent->first_max + extent->keep;
    int unknown = 0;
    int wrong_row = 0;
    int wrong_head = 0;
    int stale = 0;

    if (extent->kind == KVC_CELL_FOLD)
        return KVC_WRONG_VALUE;
    if (extent->width >= 0 && width > count)
        width = count;
    while (extent->zeros_left && begin < width) {
        kvc_cell cell;
        kvc_check_read(model->plan, slot, tensor, 0, 0, begin, &cell);
        if (cell.known >= 0)
            break;
        begin++;
    }
    for (int64_t row = 0; row < model->rows; row++) {
        for (int64_t head = 0; head < place->heads; head++) {
            for (int64_t at = begin; at < width; at++) {
                kvc_cell cell;
                int32_t number;
                int origin;
                int32_t token = extent->end - (int32_t)(width - at);
                kvc_check_read(model->plan, slot, tensor, row, head, at, &cell);
                if (cell.known != 1) {
                    unknown = 1;
                    continue;
                }
                wrong_head |= place->heads > 1 && cell.head != (int)head;
                if (!log_holds(model, extent, slot, cell.token)) {
                    stale = 1;
                    continue;
                }
                if (token < 0)
                    continue;
                kvc_view_cell(model, slot, extent, token, (int)row, &number, &origin);
                wrong_row |= cell.token == number && cell.row != origin;
            }
        }
    }
    if (unknown)
        return KVC_WRONG_VALUE;
    if (wrong_head)
        return KVC_WRONG_HEAD;
    if (wrong_row)
        return KVC_WRONG_ROW;
    if (stale)
        return KVC_STALE;
    if (width - begin < count)
        return KVC_SHORT;
    return width - begin > extent->end - extent->first_min + extent->keep ? KVC_LONG : KVC_WRONG_ORDER;
}

/* Tokens of the log from number `first` of it on, compared by whole runs. */
static int compare_tokens(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                          const kvc_tensor *tensor, const strides *step, int64_t begin, int32_t first)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_encoded *table = kvc_encoder_table(encoder, place->encoding, place->dtype, place->salt, place->channels);
    const kvc_run *end = model->run + model->runs;

    if (first >= extent->end)
        return 1;
    for (const kvc_run *run = kvc_model_run(model, first); run < end && run->begin < extent->end; run++) {
        int32_t from = kvc_larger(run->begin, first);
        int32_t to = run + 1 < end ? kvc_smaller(run[1].begin, extent->end) : extent->end;
        int32_t number = run->number + (from - run->begin);
        int64_t cell = begin + (from - first);
        for (int64_t row = 0; row < model->rows; row++) {
            const uint8_t *have = (const uint8_t *)tensor->data + (row * step->row + cell * step->cell);
            int origin = run->origin[row];
            for (int64_t head = 0; head < place->heads; head++, have += step->head) {
                const uint8_t *want =
                    table != NULL ? kvc_encoded_lane(table, number, to - from, origin, (int)head) : NULL;
                if (want != NULL) {
                    if (!cells_are(place, step, have, want, to - from))
                        return 0;
                    continue;
                }
                for (int32_t one = 0; one < to - from; one++) {
                    if (!cell_is_right(encoder, place, tensor, step, row, head, cell + one, number + one, origin))
                        return 0;
                }
            }
        }
    }
    return 1;
}

static int compare_interval(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                            const kvc_tensor *tensor, const strides *step, int64_t begin, int32_t first)
{
    const kvc_slot *place = &model->plan->slot[slot];

    if (extent->kind == KVC_CELL_TOKEN)
        return compare_tokens(encoder, model, slot, extent, tensor, step, begin, first);
    for (int64_t row = 0; row < model->rows; row++) {
        for (int32_t at = first; at < extent->end; at++) {
            int32_t number;
            int origin;
            kvc_view_cell(model, slot, extent, at, (int)row, &number, &origin);
            for (int64_t head = 0; head < place->heads; head++) {
                if (!cell_is_right(encoder, place, tensor, step, row, head, begin + (at - first), number, origin))
                    return 0;
            }
        }
    }
    return 1;
}

/* Each expected token stands in exactly one cell. */
static int compare_set(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                       const kvc_tensor *tensor, const strides *step, int64_t width)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int64_t oldest = extent->keep; /* where the oldest of those that may be evicted stands, the same in all rows */

    for (int64_t row = 0; row < model->rows; row++) {
        int64_t cell = 0;
        for (int32_t at = 0; at < extent->end; at++) {
            int32_t number;
            int origin;
            int64_t tried = 0;
            if (at >= extent->keep && at < extent->first_max) {
                cell = oldest;
                continue;
            }
            kvc_view_cell(model, slot, extent, at, (int)row, &number, &origin);
            /* Any order will do, but most often the next one stands in the next cell. */
            for (; tried < width; tried++, cell++) {
                if (cell >= width)
                    cell = 0;
                if (cell_is_right(encoder, place, tensor, step, row, 0, cell, number, origin))
                    break;
            }
            if (tried == width)
                return 0;
            for (int64_t head = 1; head < place->heads; head++) {
                if (!cell_is_right(encoder, place, tensor, step, row, head, cell, number, origin))
                    return 0;
            }
            if (at == extent->first_max)
                oldest = cell;
            cell++;
        }
    }
    return 1;
}

static kvc_deviation check_fold(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                                const kvc_tensor *tensor, int64_t elements)
{
    const kvc_slot *place = &model->plan->slot[slot];
    strides step;

    if (extent->end == 0)
        return all_zero(tensor, elements) ? KVC_AS_EXPECTED : KVC_STALE;
    if (!shape_is_right(place, model->rows, tensor))
        return KVC_WRONG_SHAPE;
    step = find_strides(place, tensor);
    for (int64_t row = 0; row < model->rows; row++) {
        int32_t number;
        int origin;
        kvc_view_cell(model, slot, extent, 0, (int)row, &number, &origin);
        for (int64_t head = 0; head < place->heads; head++) {
            if (!cell_is_right(encoder, place, tensor, &step, row, head, 0, number, origin))
                return KVC_WRONG_VALUE;
        }
    }
    return KVC_AS_EXPECTED;
}

/* A number: how many tokens or blocks there are, or where one begins. */
static kvc_deviation check_number(const kvc_extent *extent, const kvc_tensor *tensor)
{
    int64_t value;

    if (tensor == NULL)
        return extent->end == 0 || extent->optional ? KVC_AS_EXPECTED : KVC_MISSING;
    if (kvc_tensor_elements(tensor) == 0)
        return KVC_RAISED;
    if (kvc_tensor_elements(tensor) != 1)
        return KVC_WRONG_SHAPE;
    if (tensor->dtype != KVC_INT64)
        return KVC_WRONG_DTYPE;
    (void)kvc_value_load(KVC_INT64, tensor->data, &value);
    if ((value <= extent->end && value >= extent->end - extent->first_max) ||
        (extent->kind == KVC_CELL_AT_LEAST && value > extent->end))
        return KVC_AS_EXPECTED;
    return value < 0 ? KVC_NEGATIVE : value < extent->end ? KVC_TOO_LOW : KVC_TOO_HIGH;
}

/* The first `keep` tokens, then the interval. */
static kvc_deviation check_kept(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                                const kvc_tensor *tensor, const strides *step)
{
    int64_t width = tensor->shape[model->plan->slot[slot].tokens_axis];
    int64_t count = extent->width >= 0 ? extent->end - extent->first_max : width - extent->keep;
    kvc_extent front = *extent;

    if (extent->width >= 0 && width != extent->width)
        return KVC_WRONG_SHAPE;
    if (extent->keep + count > width)
        return KVC_SHORT;
    if (count < 0 || extent->end - count < extent->first_min || extent->end - count > extent->first_max)
        return classify(model, slot, extent, tensor);
    front.end = extent->keep;
    if (compare_interval(encoder, model, slot, &front, tensor, step, 0, 0) &&
        compare_interval(encoder, model, slot, extent, tensor, step, extent->keep, extent->end - (int32_t)count))
        return KVC_AS_EXPECTED;
    return classify(model, slot, extent, tensor);
}

/* Without the gaps between its channels. */
static kvc_deviation check_packed(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                                  const kvc_tensor *tensor, int64_t elements)
{
    kvc_tensor dense = *tensor;
    void *packed = malloc((size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype));
    kvc_deviation deviation;

    if (packed == NULL)
        return KVC_WRONG_SHAPE;
    kvc_tensor_pack(tensor, elements, packed);
    memset(dense.stride, 0, sizeof dense.stride);
    dense.data = packed;
    deviation = kvc_check_at_length(encoder, model, slot, extent, &dense);
    free(packed);
    return deviation;
}

/* Numbers that only the subject can work out: they are there for every new token of every row, and are numbers. */
static kvc_deviation check_predicted(const kvc_model *model, int slot, const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];

    if (tensor == NULL)
        return KVC_MISSING;
    if (tensor->dtype != KVC_FLOAT64)
        return KVC_WRONG_DTYPE;
    if (tensor->dims != 3 || tensor->shape[0] != model->rows || tensor->shape[1] != model->appended ||
        tensor->shape[2] != place->channels || kvc_tensor_elements(tensor) < 0)
        return KVC_WRONG_SHAPE;
    for (int64_t at = 0; at < kvc_tensor_elements(tensor); at++) {
        double value;
        memcpy(&value, (const uint8_t *)tensor->data + kvc_tensor_element(tensor, at), sizeof value);
        if (!isfinite(value))
            return KVC_WRONG_VALUE;
    }
    return KVC_AS_EXPECTED;
}

kvc_deviation kvc_check_at_length(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                                  const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int may_be_empty = extent->kind == KVC_CELL_FOLD ? extent->end == 0
                                                     : extent->first_max >= extent->end && extent->keep == 0;
    int64_t elements;
    int64_t width;
    int64_t begin = 0;
    int64_t count;
    strides step;

    if (extent->kind == KVC_CELL_PREDICTED)
        return check_predicted(model, slot, tensor);
    if (extent->kind == KVC_CELL_UNKNOWN || extent->kind == KVC_CELL_SEEN)
        return KVC_AS_EXPECTED;
    if (extent->kind == KVC_CELL_NUMBER || extent->kind == KVC_CELL_AT_LEAST)
        return check_number(extent, tensor);
    if (tensor == NULL)
        return may_be_empty ? KVC_AS_EXPECTED : KVC_MISSING;
    elements = kvc_tensor_elements(tensor);
    if (elements < 0)
        return KVC_WRONG_SHAPE;
    if (elements == 0)
        return may_be_empty ? KVC_AS_EXPECTED : KVC_SHORT;
    if (tensor->dims == place->view->dims && !channels_join(place, tensor))
        return check_packed(encoder, model, slot, extent, tensor, elements);
    if (tensor->dtype != (int32_t)place->dtype)
        return may_be_empty && extent->width >= 0 ? KVC_AS_EXPECTED : KVC_WRONG_DTYPE;
    if (extent->kind == KVC_CELL_FOLD)
        return check_fold(encoder, model, slot, extent, tensor, elements);
    if (may_be_empty && (extent->width >= 0 || (extent->zeros_left && all_zero(tensor, elements))))
        return KVC_AS_EXPECTED;
    if (!shape_is_right(place, model->rows, tensor))
        return KVC_WRONG_SHAPE;
    step = find_strides(place, tensor);
    width = tensor->shape[place->tokens_axis];
    if (extent->as_set) {
        kvc_extent found = *extent;
        found.first_max = extent->end - (int32_t)(width - extent->keep);
        if (width <= extent->end && found.first_max >= extent->first_min && found.first_max <= extent->first_max &&
            compare_set(encoder, model, slot, &found, tensor, &step, width))
            return KVC_AS_EXPECTED;
        return classify(model, slot, extent, tensor);
    }
    if (extent->keep > 0)
        return check_kept(encoder, model, slot, extent, tensor, &step);
    if (extent->width >= 0) {
        if (width != extent->width)
            return KVC_WRONG_SHAPE;
        count = extent->end - extent->first_max;
    } else {
        while (extent->zeros_left && begin < width && cell_is_zero(place, tensor, &step, 0, 0, begin))
            begin++;
        for (int64_t at = 0; at < begin; at++) {
            for (int64_t row = 0; row < model->rows; row++) {
                for (int64_t head = 0; head < place->heads; head++) {
                    if (!cell_is_zero(place, tensor, &step, row, head, at))
                        return KVC_WRONG_VALUE;
                }
            }
        }
        count = width - begin;
        if (count > extent->end || extent->end - count < extent->first_min || extent->end - count > extent->first_max)
            return classify(model, slot, extent, tensor);
    }
    if (count > width)
        return KVC_SHORT;
    if (compare_interval(encoder, model, slot, extent, tensor, &step, begin, extent->end - (int32_t)count))
        return KVC_AS_EXPECTED;
    return classify(model, slot, extent, tensor);
}
