#include "reference/check.h"

#include <string.h>

#include "reference/values.h"

enum { ELEMENTS_MAX = 1 << 30 };

static const char *const deviation_words[KVC_DEVIATIONS] = {
    "as expected",      "missing",          "wrong dtype",    "wrong shape",      "short",       "long",
    "stale",            "wrong order",      "wrong row",      "wrong head",       "wrong value", "negative",
    "too low",          "too high",         "not refused",    "refused",          "wrong error", "changed",
    "moved",            "written",          "differs",        "crashed",          "hung",        "too much memory"};

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

/* Distances in elements between neighbours on the axes of a slot. */
typedef struct strides {
    int64_t row;
    int64_t head;
    int64_t cell;
    int64_t channel;
} strides;

static strides find_strides(const kvc_slot *slot, const kvc_tensor *tensor)
{
    strides out = {0, 0, 0, 0};
    int64_t step = 1;

    if (slot->in_lanes) {
        out.channel = slot->channel_axis >= 0;
        out.cell = slot->channels;
        out.head = out.cell * tensor->shape[slot->tokens_axis];
        out.row = out.head * slot->heads;
        return out;
    }
    for (int axis = tensor->dims - 1; axis >= 0; axis--) {
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
        step *= tensor->shape[axis];
    }
    return out;
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

static int is_zero(const kvc_tensor *tensor, int64_t at)
{
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
    const uint8_t *byte = (const uint8_t *)tensor->data + (size_t)at * size;

    for (size_t index = 0; index < size; index++) {
        if (byte[index] != 0)
            return 0;
    }
    return 1;
}

static int all_zero(const kvc_tensor *tensor, int64_t elements)
{
    for (int64_t at = 0; at < elements; at++) {
        if (!is_zero(tensor, at))
            return 0;
    }
    return 1;
}

static int cell_is_zero(const kvc_slot *slot, const kvc_tensor *tensor, const strides *step, int64_t row, int64_t head,
                        int64_t cell)
{
    int64_t at = row * step->row + head * step->head + cell * step->cell;

    for (int channel = 0; channel < slot->channels; channel++) {
        if (!is_zero(tensor, at + channel * step->channel))
            return 0;
    }
    return 1;
}

/* Elements of a tensor whose values have two levels need only be near them: a quantiser rounds. */
static int elements_agree(const kvc_slot *slot, const uint8_t *have, const uint8_t *want, size_t count)
{
    if (memcmp(want, have, count * kvc_dtype_size(slot->dtype)) == 0)
        return 1;
    return slot->encoding == KVC_TWO_LEVELS && kvc_value_agree(slot->dtype, have, want, count);
}

static int cell_is_right(kvc_encoder *encoder, const kvc_slot *slot, const kvc_tensor *tensor, const strides *step,
                         int64_t row, int64_t head, int64_t cell, int32_t number, int origin)
{
    size_t size = kvc_dtype_size(slot->dtype);
    const uint8_t *want =
        kvc_encoder_row(encoder, slot->encoding, slot->dtype, slot->salt, slot->channels, number, origin, (int)head);
    const uint8_t *have =
        (const uint8_t *)tensor->data + (size_t)(row * step->row + head * step->head + cell * step->cell) * size;

    if (want == NULL)
        return 0;
    if (step->channel <= 1)
        return elements_agree(slot, have, want, (size_t)slot->channels);
    for (int channel = 0; channel < slot->channels; channel++) {
        if (!elements_agree(slot, have + (size_t)(channel * step->channel) * size, want + (size_t)channel * size, 1))
            return 0;
    }
    return 1;
}

int64_t kvc_check_width(const kvc_plan *plan, int slot, const kvc_tensor *tensor)
{
    const kvc_slot *place = &plan->slot[slot];
    int64_t rows = tensor->dims > place->batch_axis ? tensor->shape[place->batch_axis] : -1;

    if (kvc_tensor_elements(tensor) < 0 || rows < 0 || rows > KVC_ROWS_MAX || tensor->dtype != (int32_t)place->dtype ||
        !shape_is_right(place, (int32_t)rows, tensor))
        return -1;
    return place->tokens_axis < 0 ? 1 : tensor->shape[place->tokens_axis];
}

/* The cell that begins at element `at`, in two levels. */
static void read_levels(const kvc_slot *slot, const kvc_tensor *tensor, int64_t at, int64_t step, kvc_cell *out)
{
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
    int level[KVC_LEVEL_CHANNELS];

    if (slot->channels < KVC_LEVEL_CHANNELS)
        return;
    for (int channel = 0; channel < KVC_LEVEL_CHANNELS; channel++)
        level[channel] = kvc_value_near((kvc_dtype)tensor->dtype,
                                        (const uint8_t *)tensor->data + (size_t)(at + channel * step) * size);
    out->known = kvc_value_decode_levels(slot->salt, level, &out->token, &out->row, &out->head);
}

void kvc_check_read(const kvc_plan *plan, int slot, const kvc_tensor *tensor, int64_t row, int64_t head, int64_t cell,
                    kvc_cell *out)
{
    const kvc_slot *place = &plan->slot[slot];
    strides step = find_strides(place, tensor);
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
    int64_t at = row * step.row + head * step.head + cell * step.cell;
    int64_t values[8];

    memset(out, 0, sizeof *out);
    if (place->dtype == KVC_INT64) {
        int64_t value;
        if (kvc_value_load(KVC_INT64, (const uint8_t *)tensor->data + (size_t)at * size, &value) && value >= 0 &&
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
        if (!kvc_value_load((kvc_dtype)tensor->dtype,
                            (const uint8_t *)tensor->data + (size_t)(at + channel * step.channel) * size,
                            &values[channel]))
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

/* Tokens from `at` on that have consecutive numbers and the same row of origin. */
static int32_t find_run(const kvc_model *model, int32_t at, int32_t end, int64_t row)
{
    const kvc_token *first = &model->token[at];
    int32_t count = 1;

    while (at + count < end && first[count].number == first->number + count &&
           first[count].origin[row] == first->origin[row])
        count++;
    return count;
}

/* Cells that lie one behind the other are compared by whole runs of tokens. */
static int compare_lanes(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                         const kvc_tensor *tensor, const strides *step, int64_t begin, int32_t first)
{
    const kvc_slot *place = &model->plan->slot[slot];
    size_t size = kvc_dtype_size(place->dtype);

    for (int64_t row = 0; row < model->rows; row++) {
        int32_t count;
        for (int32_t at = first; at < extent->end; at += count) {
            int32_t number = model->token[at].number;
            int origin = model->token[at].origin[row];
            int64_t cell = begin + (at - first);
            const uint8_t *have =
                (const uint8_t *)tensor->data + (size_t)(row * step->row + cell * step->cell) * size;
            count = find_run(model, at, extent->end, row);
            for (int64_t head = 0; head < place->heads; head++, have += (size_t)step->head * size) {
                const uint8_t *want = kvc_encoder_lane(encoder, place->encoding, place->dtype, place->salt, place->channels,
                                                       number, count, origin, (int)head);
                if (want == NULL) {
                    for (int32_t one = 0; one < count; one++) {
                        if (!cell_is_right(encoder, place, tensor, step, row, head, cell + one, number + one, origin))
                            return 0;
                    }
                } else if (!elements_agree(place, have, want, (size_t)count * (size_t)place->channels)) {
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

    if (extent->kind == KVC_CELL_TOKEN && step->channel <= 1 && step->cell == place->channels)
        return compare_lanes(encoder, model, slot, extent, tensor, step, begin, first);
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

    for (int64_t row = 0; row < model->rows; row++) {
        for (int32_t at = 0; at < extent->end; at++) {
            int32_t number;
            int origin;
            int64_t cell = 0;
            if (at >= extent->keep && at < extent->first_max)
                continue;
            kvc_view_cell(model, slot, extent, at, (int)row, &number, &origin);
            while (cell < width && !cell_is_right(encoder, place, tensor, step, row, 0, cell, number, origin))
                cell++;
            if (cell == width)
                return 0;
            for (int64_t head = 1; head < place->heads; head++) {
                if (!cell_is_right(encoder, place, tensor, step, row, head, cell, number, origin))
                    return 0;
            }
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
        return extent->end == 0 ? KVC_AS_EXPECTED : KVC_MISSING;
    if (kvc_tensor_elements(tensor) != 1)
        return KVC_WRONG_SHAPE;
    if (tensor->dtype != KVC_INT64)
        return KVC_WRONG_DTYPE;
    (void)kvc_value_load(KVC_INT64, tensor->data, &value);
    if (value == extent->end)
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

kvc_deviation kvc_check_tensor(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
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

    if (extent->kind == KVC_CELL_UNKNOWN)
        return KVC_AS_EXPECTED;
    if (extent->kind == KVC_CELL_NUMBER)
        return check_number(extent, tensor);
    if (tensor == NULL)
        return may_be_empty ? KVC_AS_EXPECTED : KVC_MISSING;
    elements = kvc_tensor_elements(tensor);
    if (elements < 0)
        return KVC_WRONG_SHAPE;
    if (elements == 0)
        return may_be_empty ? KVC_AS_EXPECTED : KVC_SHORT;
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
        count = extent->end - extent->first_max + extent->keep;
        if (width == count && compare_set(encoder, model, slot, extent, tensor, &step, width))
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
