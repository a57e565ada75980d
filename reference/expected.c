#include "reference/expected.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

kvc_expected *kvc_expected_open(void)
{
    kvc_expected *expected = calloc(1, sizeof *expected);

    if (expected == NULL)
        return NULL;
    expected->encoder = kvc_encoder_open();
    if (expected->encoder == NULL) {
        free(expected);
        return NULL;
    }
    return expected;
}

void kvc_expected_close(kvc_expected *expected)
{
    if (expected == NULL)
        return;
    kvc_encoder_close(expected->encoder);
    for (int at = 0; at < KVC_SLOTS_MAX; at++)
        free(expected->slot[at].bytes);
    free(expected);
}

void kvc_expected_forget(kvc_expected *expected)
{
    for (int at = 0; at < KVC_SLOTS_MAX; at++)
        expected->slot[at].rows = 0;
}

/* The slot is another than before, or has another number of rows: nothing of what was laid counts. */
static void describe(kvc_expected *expected, const kvc_model *model, int slot, kvc_cell_kind kind)
{
    const kvc_slot *place = &model->plan->slot[slot];
    kvc_expected_cells *cells = &expected->slot[slot];
    int64_t within = (int64_t)place->element;
    int64_t dense = within;

    cells->table =
        kvc_encoder_table(expected->encoder, place->encoding, place->dtype, place->salt, place->channels);
    cells->salt = place->salt;
    cells->channels = place->channels;
    cells->dtype = place->dtype;
    cells->encoding = place->encoding;
    cells->heads = place->heads;
    cells->rows = model->rows;
    cells->kind = kind;
    cells->laid = 0;
    cells->striped = cells->table != NULL && place->heads <= KVC_ENCODED_HEADS
                         ? &cells->table->striped[model->rows - 1][place->heads - 1]
                         : NULL;
    cells->stripe = (size_t)model->rows * (size_t)place->heads * place->cell;
    cells->one_is_dense = 1;
    memset(&cells->tensor, 0, sizeof cells->tensor);
    cells->tensor.dims = place->view->dims;
    cells->tensor.dtype = (int32_t)place->dtype;
    for (int axis = place->view->dims - 1; axis >= 0; axis--) {
        int64_t size = axis == place->batch_axis ? model->rows : axis == place->tokens_axis ? 1 : place->size[axis];
        if (axis == place->batch_axis) {
            cells->tensor.stride[axis] = (int64_t)((size_t)place->heads * place->cell);
        } else if (axis == place->heads_axis) {
            cells->tensor.stride[axis] = (int64_t)place->cell;
        } else if (axis == place->tokens_axis) {
            cells->tensor.stride[axis] = (int64_t)cells->stripe;
        } else {
            cells->tensor.stride[axis] = within;
            within *= size;
        }
        cells->tensor.shape[axis] = size;
        cells->one_is_dense &= size == 1 || cells->tensor.stride[axis] == dense;
        dense *= size;
    }
}

static int make_room(kvc_expected_cells *cells, int32_t end)
{
    size_t size = (size_t)end * cells->stripe;
    size_t room = cells->room > 0 ? cells->room : 1024;
    uint8_t *larger;

    if (end < 0 || cells->stripe == 0 || (size_t)end > KVC_EXPECTED_BYTES_MAX / cells->stripe)
        return 0;
    while (room < size)
        room *= 2;
    larger = realloc(cells->bytes, room);
    if (larger == NULL)
        return 0;
    cells->want = cells->bytes = larger;
    cells->room = room;
    return 1;
}

/* One cell in all rows and heads, which came from the rows `origin`. */
static int lay_cell(kvc_expected *expected, kvc_expected_cells *cells, int32_t index, const int32_t *number,
                    const uint8_t *origin)
{
    uint8_t *first = cells->bytes + (size_t)index * cells->stripe;
    uint8_t *at = first;
    size_t size = cells->stripe / (size_t)cells->rows / (size_t)cells->heads;

    for (int32_t row = 0; row < cells->rows; row++) {
        for (int head = 0; head < cells->heads; head++, at += size) {
            const uint8_t *one;
            if (at != first && number[row] == number[0] && cells->encoding == KVC_DIGITS && cells->dtype != KVC_INT64) {
                /* Two of eight channels tell lanes apart. */
                memcpy(at, first, size);
                kvc_value_move(cells->dtype, cells->salt, origin[row], head, cells->channels, at);
                continue;
            }
            one = kvc_encoder_row(expected->encoder, cells->encoding, cells->dtype, cells->salt, cells->channels,
                                  number[row], origin[row], head);
            if (one == NULL)
                return 0;
            memcpy(at, one, size);
        }
    }
    return 1;
}

/* `count` tokens of one run. */
static int lay_run(kvc_expected *expected, kvc_expected_cells *cells, const kvc_run *run, int32_t first, int32_t count)
{
    int32_t number = run->number + (first - run->begin);
    uint8_t *at = cells->bytes + (size_t)first * cells->stripe;
    size_t size = cells->stripe / (size_t)cells->rows; /* of one row */
    int32_t from = cells->rows; /* rows of the tokens that are copied */
    const uint8_t *stripes;

    for (int32_t row = 0; row < cells->rows; row++)
        from = kvc_larger(from, run->origin[row] + 1);
    stripes = cells->table != NULL
                  ? kvc_encoded_stripes(expected->encoder, cells->table, number, count, from, cells->heads)
                  : NULL;
    if (stripes != NULL && run->ordered) {
        memcpy(at, stripes, (size_t)count * cells->stripe);
        return 1;
    }
    for (int32_t one = 0; one < count; one++) {
        int32_t numbers[KVC_ROWS_MAX];
        if (stripes != NULL) {
            for (int32_t row = 0; row < cells->rows; row++, at += size)
                memcpy(at, stripes + (size_t)run->origin[row] * size, size);
            stripes += (size_t)from * size;
            continue;
        }
        for (int32_t row = 0; row < cells->rows; row++)
            numbers[row] = number + one;
        if (!lay_cell(expected, cells, first + one, numbers, run->origin))
            return 0;
    }
    return 1;
}

static int lay_tokens(kvc_expected *expected, kvc_expected_cells *cells, const kvc_model *model, int32_t end)
{
    const kvc_run *run = kvc_model_run(model, cells->laid);
    const kvc_run *behind = model->run + model->runs;

    for (; cells->laid < end; run++) {
        int32_t next = run + 1 < behind ? kvc_smaller(run[1].begin, end) : end;
        if (!lay_run(expected, cells, run, cells->laid, next - cells->laid))
            return 0;
        cells->laid = next;
    }
    return 1;
}

/* A state that is the same in all rows, which were written in their places. Returns 0 for any other. */
static int lay_fold(kvc_expected *expected, kvc_expected_cells *cells, const kvc_slot_state *state)
{
    const uint8_t *stripe;

    for (int32_t row = 0; row < cells->rows; row++) {
        if (state->fold[row] != state->fold[0] || state->fold_row[row] != row)
            return 0;
    }
    stripe = kvc_encoder_fold(expected->encoder, cells->encoding, cells->dtype, cells->salt, cells->channels, state->fold[0], cells->rows,
                              cells->heads);
    if (stripe != NULL)
        memcpy(cells->bytes, stripe, cells->stripe);
    return stripe != NULL;
}

/* Blocks and constants are few, and a state is one. */
static int lay_others(kvc_expected *expected, kvc_expected_cells *cells, const kvc_model *model, int slot, int32_t end)
{
    kvc_extent extent = {.kind = cells->kind, .end = end, .width = -1};
    const kvc_slot_state *state = &model->slot[slot];

    for (; cells->laid < end; cells->laid++) {
        int32_t number[KVC_ROWS_MAX];
        const uint8_t *origin = state->fold_row;
        int first_origin;
        kvc_view_cell(model, slot, &extent, cells->laid, 0, &number[0], &first_origin);
        if (cells->kind == KVC_CELL_BLOCK)
            origin = kvc_model_run(model, (cells->laid + 1) * model->plan->params.block - 1)->origin;
        if (cells->kind == KVC_CELL_FOLD && lay_fold(expected, cells, state))
            continue;
        for (int32_t row = 1; row < cells->rows; row++)
            number[row] = cells->kind == KVC_CELL_FOLD ? state->fold[row] : number[0];
        if (!lay_cell(expected, cells, cells->laid, number, origin))
            return 0;
    }
    return 1;
}

/* Whether a folded state is the one that was laid. */
static int is_laid(const kvc_expected_cells *cells, const kvc_slot_state *state)
{
    for (int32_t row = 0; row < cells->rows; row++) {
        if (cells->fold[row] != state->fold[row] || cells->fold_row[row] != state->fold_row[row])
            return 0;
    }
    return 1;
}

kvc_expected_cells *kvc_expected_go_on(kvc_expected *expected, const kvc_model *model, int slot, int32_t end)
{
    kvc_expected_cells *cells = &expected->slot[slot];
    const kvc_run *run = model->run + model->runs - 1;
    int32_t first = cells->laid;

    if ((size_t)end * cells->stripe > cells->room && !make_room(cells, end))
        return NULL;
    if (run->ordered && run->begin <= first && end <= model->length && cells->table != NULL) {
        /* Most often what was appended last. */
        const uint8_t *stripes = kvc_encoded_stripes(expected->encoder, cells->table, run->number + (first - run->begin), end - first,
                                                     cells->rows, cells->heads);
        if (stripes != NULL) {
            memcpy(cells->bytes + (size_t)first * cells->stripe, stripes, (size_t)(end - first) * cells->stripe);
            cells->laid = end;
            return cells;
        }
    }
    return lay_tokens(expected, cells, model, end) ? cells : NULL;
}

kvc_expected_cells *kvc_expected_lay(kvc_expected *expected, const kvc_model *model, int slot, kvc_cell_kind kind,
                                     int32_t end)
{
    const kvc_slot_state *state = &model->slot[slot];
    kvc_expected_cells *cells = &expected->slot[slot];

    if (cells->rows != model->rows || cells->kind != kind)
        describe(expected, model, slot, kind);
    cells->want = cells->bytes;
    if (cells->changes != model->changes) {
        int32_t intact = cells->changes + 1 == model->changes ? model->intact : 0;
        cells->laid = kvc_smaller(cells->laid, kind == KVC_CELL_BLOCK ? intact / model->plan->params.block : intact);
        cells->changes = model->changes;
    }
    if (kind == KVC_CELL_FOLD) {
        if (cells->laid > 0 && !is_laid(cells, state))
            cells->laid = 0;
        memcpy(cells->fold, state->fold, sizeof cells->fold);
        memcpy(cells->fold_row, state->fold_row, sizeof cells->fold_row);
    }
    if (cells->laid >= end)
        return cells;
    if ((size_t)end * cells->stripe > cells->room && !make_room(cells, end))
        return NULL;
    return (kind == KVC_CELL_TOKEN ? lay_tokens(expected, cells, model, end)
                                   : lay_others(expected, cells, model, slot, end))
               ? cells
               : NULL;
}
