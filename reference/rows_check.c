#include "reference/rows_check.h"

#include <string.h>

#include "reference/check_seen.h"
#include "reference/values.h"

static int is_mask(const kvc_model *model, int slot)
{
    return model->plan->slot[slot].view->rule == KVC_RULE_SEEN || model->plan->slot[slot].view->rule == KVC_RULE_SEEN_WINDOW;
}

static int is_folded(const kvc_model *model, int slot)
{
    return model->plan->slot[slot].view->rule == KVC_RULE_FOLDED;
}

int kvc_rows_is_number(const kvc_model *model, int slot)
{
    kvc_view_rule rule = model->plan->slot[slot].view->rule;

    return rule == KVC_RULE_COUNT || rule == KVC_RULE_UNUSED || rule == KVC_RULE_BYTES;
}

static int is_windowed(const kvc_model *model, int slot)
{
    return model->plan->slot[slot].view->rule != KVC_RULE_ALL && !is_folded(model, slot);
}

void kvc_rows_stored(const kvc_model *model, int slot, int32_t row, kvc_row_extent *extent)
{
    const kvc_row_log *log = &model->own.row[row];

    memset(extent, 0, sizeof *extent);
    extent->end = log->length;
    if (is_windowed(model, slot)) {
        extent->first = kvc_smaller(log->held, log->length);
        extent->least = kvc_smaller(log->spare, extent->first);
    }
    extent->as_set = model->plan->slot[slot].view->rule == KVC_RULE_RING ||
                     model->plan->slot[slot].view->rule == KVC_RULE_ROTATING;
    extent->whole = model->own.alone;
}

int kvc_rows_returned(const kvc_model *model, int slot, int32_t row, kvc_row_extent *extent)
{
    const kvc_row_log *log = &model->own.row[row];
    int32_t window = kvc_rows_window(model->plan);

    kvc_rows_stored(model, slot, row, extent);
    if (model->own.call == 0 || model->plan->slot[slot].view->returned == KVC_RETURNS_NONE)
        return 0;
    extent->skipped = log->in_call == 0;
    extent->right = model->own.left ? 0 : model->own.call - log->in_call;
    if (is_windowed(model, slot)) {
        /* All that the first token of the call may see. */
        int32_t first = log->length - log->in_call;
        extent->first = kvc_larger(0, first - (window - 1));
        extent->least = kvc_smaller(extent->first, extent->least);
    }
    return 1;
}

static int cell_holds(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor, int32_t row,
                      int64_t cell, int32_t index)
{
    const kvc_row_run *run = kvc_row_run_of(&model->own.row[row], index);

    return kvc_check_cell_is(encoder, &model->plan->slot[slot], tensor, row, cell, run->number + (index - run->begin),
                             run->origin);
}

/* The cell in which a token stands, tried from *from on; -1 when it stands in none. */
static int64_t find_cell(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor, int32_t row,
                         int32_t index, int64_t width, int64_t *from)
{
    for (int64_t tried = 0; tried < width; tried++) {
        int64_t cell = (*from + tried) % width;
        if (cell_holds(encoder, model, slot, tensor, row, cell, index)) {
            *from = cell + 1;
            return cell;
        }
    }
    return -1;
}

static int log_has(const kvc_row_log *log, int32_t number)
{
    for (int32_t at = 0; at < log->length; at++) {
        const kvc_row_run *run = kvc_row_run_of(log, at);
        if (run->number + (at - run->begin) == number)
            return 1;
    }
    return 0;
}

int32_t kvc_rows_fold(const kvc_row_log *log)
{
    int32_t fold = 0;

    for (int32_t run = 0, at = 0; run < log->runs; run++) {
        int32_t end = run + 1 < log->runs ? log->run[run + 1].begin : log->length;
        for (; at < end; at++)
            fold = kvc_value_fold(fold, log->run[run].number + (at - log->run[run].begin));
    }
    return fold;
}

/* The state of a row folds its tokens, and was written by the append that gave it the last; that of an empty row is zeros. */
static kvc_deviation check_state(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor, int32_t row)
{
    const kvc_row_log *log = &model->own.row[row];
    kvc_cell have;

    if (log->length > 0 && kvc_check_cell_is(encoder, &model->plan->slot[slot], tensor, row, 0, kvc_rows_fold(log),
                                             log->run[log->runs - 1].origin))
        return KVC_AS_EXPECTED;
    for (int head = 0; head < model->plan->slot[slot].heads; head++) {
        kvc_check_read(model->plan, slot, tensor, row, head, 0, &have);
        if (log->length == 0 && have.known < 0)
            continue;
        for (int32_t at = 0; have.known == 1 && at < model->rows; at++) {
            if (at != row && model->own.row[at].length > 0 && have.token == kvc_rows_fold(&model->own.row[at]))
                return KVC_WRONG_ROW;
        }
        return log->length == 0 ? KVC_STALE : KVC_WRONG_VALUE;
    }
    return log->length == 0 ? KVC_AS_EXPECTED : KVC_WRONG_VALUE;
}

/* The tokens of the row are not where they must be: in what way? */
static kvc_deviation classify(const kvc_model *model, int slot, const kvc_row_extent *extent, const kvc_tensor *tensor,
                              int32_t row, int64_t width)
{
    const kvc_row_log *log = &model->own.row[row];
    int32_t count = extent->end - extent->first;
    int unknown = 0;
    int stale = 0;
    int wrong_row = 0;
    int wrong_head = 0;

    if (extent->whole && width > extent->end - extent->least)
        return KVC_LONG;
    for (int64_t cell = extent->as_set ? 0 : width - extent->right - count; cell < width - extent->right; cell++) {
        for (int head = 0; head < model->plan->slot[slot].heads; head++) {
            kvc_cell have;
            kvc_check_read(model->plan, slot, tensor, row, head, cell, &have);
            if (have.known != 1) {
                unknown = 1;
                continue;
            }
            wrong_head |= model->plan->slot[slot].heads > 1 && have.head != head;
            if (!log_has(log, have.token))
                stale = 1;
            for (int32_t at = 0; at < log->length; at++) {
                const kvc_row_run *run = kvc_row_run_of(log, at);
                wrong_row |= run->number + (at - run->begin) == have.token && have.row != run->origin;
            }
        }
    }
    /* Cells of a set that hold no token of the row may pad it. */
    if (unknown && !extent->as_set)
        return KVC_WRONG_VALUE;
    if (wrong_head)
        return KVC_WRONG_HEAD;
    if (wrong_row)
        return KVC_WRONG_ROW;
    if (stale && !extent->as_set)
        return KVC_STALE;
    return extent->as_set ? KVC_SHORT : KVC_WRONG_ORDER;
}

static kvc_deviation check_row(kvc_encoder *encoder, const kvc_model *model, int slot, kvc_row_extent *extent,
                               const kvc_tensor *tensor, int32_t row, int64_t width)
{
    int64_t from = 0;

    if (is_folded(model, slot))
        return check_state(encoder, model, slot, tensor, row);
    if (extent->whole) {
        /* How many there are is for the cache to choose between its bounds. */
        int64_t first = extent->end - width;
        if (first < extent->least || first > extent->first)
            return first > extent->first ? KVC_SHORT : KVC_LONG;
        extent->first = (int32_t)first;
    }
    if (width < extent->end - extent->first + extent->right)
        return KVC_SHORT;
    for (int32_t at = extent->first; at < extent->end; at++) {
        int right = extent->as_set ? find_cell(encoder, model, slot, tensor, row, at, width, &from) >= 0
                                   : cell_holds(encoder, model, slot, tensor, row, width - extent->right - (extent->end - at), at);
        if (!right)
            return classify(model, slot, extent, tensor, row, width);
    }
    return KVC_AS_EXPECTED;
}

static kvc_deviation check_number(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor)
{
    kvc_extent extent = {.kind = KVC_CELL_UNKNOWN, .width = -1};

    model->plan->slot[slot].kind->stored(model, slot, &extent);
    return kvc_check_at_length(encoder, model, slot, &extent, tensor);
}

static kvc_deviation check(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor, int returned,
                           int32_t *row)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_row_extent extent[KVC_ROWS_MAX];
    int64_t width;
    int needs = 0;

    *row = 0;
    if (is_mask(model, slot))
        return KVC_AS_EXPECTED; /* it holds no tokens */
    if (kvc_rows_is_number(model, slot))
        return returned || tensor == NULL ? KVC_AS_EXPECTED : check_number(encoder, model, slot, tensor);
    for (int32_t at = 0; at < model->rows; at++) {
        if (!returned)
            kvc_rows_stored(model, slot, at, &extent[at]);
        else if (!kvc_rows_returned(model, slot, at, &extent[at]))
            return KVC_AS_EXPECTED;
        needs |= !extent[at].skipped && extent[at].end > extent[at].first;
    }
    if (tensor == NULL)
        return needs ? KVC_MISSING : KVC_AS_EXPECTED;
    if (kvc_tensor_elements(tensor) == 0)
        return needs ? KVC_SHORT : KVC_AS_EXPECTED;
    if (tensor->dtype != (int32_t)place->dtype)
        return KVC_WRONG_DTYPE;
    width = kvc_check_width(model->plan, slot, tensor);
    if (width < 0 || tensor->shape[place->batch_axis] != model->rows)
        return KVC_WRONG_SHAPE;
    for (*row = 0; *row < model->rows; (*row)++) {
        kvc_deviation deviation = extent[*row].skipped
                                      ? KVC_AS_EXPECTED
                                      : check_row(encoder, model, slot, &extent[*row], tensor, *row, width);
        if (deviation != KVC_AS_EXPECTED)
            return deviation;
    }
    return KVC_AS_EXPECTED;
}

kvc_deviation kvc_rows_check_stored(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor,
                                    int32_t *row)
{
    return check(encoder, model, slot, tensor, 0, row);
}

kvc_deviation kvc_rows_check_returned(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor,
                                      int32_t *row)
{
    return check(encoder, model, slot, tensor, 1, row);
}

/* One number for each row: its length, or what the length leaves of a width. */
static kvc_deviation check_numbers(const kvc_model *model, const kvc_tensor *tensor, int64_t width, int32_t *row)
{
    *row = 0;
    if (tensor->dtype != KVC_INT64)
        return KVC_WRONG_DTYPE;
    if (tensor->dims != 1 || tensor->shape[0] != model->rows)
        return KVC_WRONG_SHAPE;
    for (; *row < model->rows; (*row)++) {
        int64_t length = model->own.row[*row].length;
        int64_t want = width >= 0 ? width - length : length;
        int64_t have;
        memcpy(&have, (const uint8_t *)tensor->data + kvc_tensor_element(tensor, *row), sizeof have);
        if (have != want)
            return have < 0 ? KVC_NEGATIVE : have < want ? KVC_TOO_LOW : KVC_TOO_HIGH;
    }
    return KVC_AS_EXPECTED;
}

kvc_deviation kvc_rows_check_numbers(const kvc_model *model, const kvc_tensor *tensor, int32_t *row)
{
    *row = 0;
    return tensor == NULL ? KVC_AS_EXPECTED : check_numbers(model, tensor, -1, row);
}

kvc_deviation kvc_rows_check_padding(const kvc_model *model, int slot, const kvc_tensor *stored, const kvc_tensor *padding,
                                     int32_t *row)
{
    int64_t width = stored != NULL ? kvc_check_width(model->plan, slot, stored) : -1;

    *row = 0;
    return padding == NULL || width < 0 || is_windowed(model, slot) ? KVC_AS_EXPECTED
                                                                    : check_numbers(model, padding, width, row);
}

int kvc_rows_sees(const kvc_tensor *mask, int32_t row, int32_t query, int64_t cell)
{
    int64_t value;

    memcpy(&value,
           (const uint8_t *)mask->data + kvc_tensor_element(mask, (row * mask->shape[1] + query) * mask->shape[2] + cell),
           sizeof value);
    return value != 0;
}

/* As many cells are seen as there are tokens to be seen, and each of those stands in a cell that is seen. */
static kvc_deviation check_query(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *returned,
                                 const kvc_tensor *mask, const kvc_row_query *query)
{
    int64_t width = mask->shape[2];
    int64_t seen = 0;
    int64_t from = 0;
    int32_t count = query->last - query->first + 1;

    for (int64_t cell = 0; cell < width; cell++)
        seen += kvc_rows_sees(mask, query->row, query->query, cell);
    if (seen != count)
        return seen < count ? KVC_SHORT : KVC_LONG;
    for (int32_t at = query->first; at <= query->last; at++) {
        int found = 0;
        for (int64_t tried = 0; tried < width && !found; tried++) {
            int64_t cell = (from + tried) % width;
            found = kvc_rows_sees(mask, query->row, query->query, cell) &&
                    cell_holds(encoder, model, slot, returned, query->row, cell, at);
            from = found ? cell + 1 : from;
        }
        if (!found)
            return KVC_WRONG_VALUE;
    }
    return KVC_AS_EXPECTED;
}

/* How many tokens the newest may see, itself included, by the mask that was asked for; 0: all. */
static int32_t window_of_mask(const kvc_model *model, int slot, int keys)
{
    int32_t window = is_windowed(model, keys) ? kvc_rows_window(model->plan) : 0;
    int32_t asked = model->plan->slot[slot].view->rule == KVC_RULE_SEEN_WINDOW ? model->plan->params.window : 0;

    return asked == 0 ? window : window == 0 ? asked : kvc_smaller(window, asked);
}

kvc_deviation kvc_rows_check_mask(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *returned,
                                  const kvc_tensor *mask, kvc_row_query *wrong)
{
    const kvc_rows *rows = &model->own;
    int keys = kvc_seen_keys(model->plan, slot);
    int32_t window = keys >= 0 ? window_of_mask(model, slot, keys) : 0;
    int64_t width = returned != NULL && keys >= 0 ? kvc_check_width(model->plan, keys, returned) : -1;

    memset(wrong, 0, sizeof *wrong);
    if (rows->call == 0 || width < 0)
        return KVC_AS_EXPECTED;
    if (mask == NULL)
        return KVC_MISSING;
    if (mask->dtype != KVC_INT64)
        return KVC_WRONG_DTYPE;
    if (mask->dims != 3 || mask->shape[0] != model->rows || mask->shape[1] != rows->call || mask->shape[2] != width)
        return KVC_WRONG_SHAPE;
    for (wrong->row = 0; wrong->row < model->rows; wrong->row++) {
        const kvc_row_log *log = &rows->row[wrong->row];
        for (int32_t at = 0; at < log->in_call; at++) {
            kvc_deviation deviation;
            wrong->query = (rows->left ? rows->call - log->in_call : 0) + at;
            wrong->last = log->length - log->in_call + at;
            wrong->first = window > 0 ? kvc_larger(0, wrong->last - (window - 1)) : 0;
            deviation = check_query(encoder, model, keys, returned, mask, wrong);
            if (deviation != KVC_AS_EXPECTED)
                return deviation;
        }
    }
    return KVC_AS_EXPECTED;
}
