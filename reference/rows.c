#include "reference/rows.h"

#include <string.h>

#include "reference/values.h"
#include "reference/view.h"

int32_t kvc_rows_window(const kvc_plan *plan)
{
    for (int at = 0; at < plan->slots; at++) {
        kvc_view_rule rule = plan->slot[at].view->rule;
        if (rule == KVC_RULE_WINDOW)
            return plan->params.window;
        if (rule == KVC_RULE_RING || rule == KVC_RULE_ROTATING)
            return plan->params.capacity;
    }
    return 0;
}

void kvc_rows_start(kvc_model *model)
{
    kvc_rows *rows = &model->own;

    rows->alone = rows->uneven = rows->left = rows->merged = 0;
    rows->call = 0;
    for (int32_t at = 0; at < model->rows; at++)
        memset(&rows->row[at], 0, offsetof(kvc_row_log, run));
}

static const kvc_contract_rule *rule_of(const kvc_model *model, kvc_rule_name name)
{
    return model->plan->rules.rule[name];
}

static int32_t removed_from(const kvc_row_log *row, const kvc_op *op)
{
    int64_t asked = -(int64_t)kvc_op_as_crop(op);

    return (int32_t)(asked < row->length ? asked : row->length);
}

static int has_states(const kvc_plan *plan)
{
    for (int at = 0; at < plan->slots; at++) {
        if (plan->slot[at].view->rule == KVC_RULE_FOLDED)
            return 1;
    }
    return 0;
}

/* What the rows still have decides whether tokens can be taken back. */
static void expect_removal(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_rows *rows = &model->own;
    int32_t window = kvc_rows_window(model->plan);
    const kvc_contract_rule *unrecorded = rule_of(model, KVC_CONTRACT_UNRECORDED);
    int over = 0; /* more than some row has */

    out->rule = rule_of(model, KVC_CONTRACT_CROP);
    for (int32_t at = 0; at < model->rows; at++) {
        const kvc_row_log *row = &rows->row[at];
        int32_t removed = removed_from(row, op);
        int32_t left = row->length - removed;
        int32_t needed = window > 0 ? kvc_larger(0, left - (window - 1)) : 0;
        out->removed = kvc_larger(out->removed, removed);
        over |= -(int64_t)kvc_op_as_crop(op) > row->length;
        if (window == 0)
            continue;
        if (removed > 0 && left > 0 && needed < row->spare) {
            out->verdict = KVC_MUST_REFUSE;
            out->rule = unrecorded;
        } else if (out->verdict == KVC_DO &&
                   ((removed > 0 && (needed < row->held || row->length >= window)) || rows->uneven)) {
            /* It may have been dropped, or padding may have filled the window. */
            out->verdict = KVC_EITHER;
            out->rule = unrecorded;
        }
    }
    if (out->removed > 0 && has_states(model->plan)) {
        out->verdict = KVC_MUST_REFUSE;
        out->rule = rule_of(model, KVC_CONTRACT_RECURRENT);
    }
    if (over && out->verdict != KVC_MUST_REFUSE) {
        out->rule = rule_of(model, KVC_CONTRACT_CROP_OVER);
        out->situation.ask = KVC_ASK_OVER;
    }
    out->target = model->length - out->removed;
}

static void expect_crop(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    unsigned crop = rule_of(model, KVC_CONTRACT_CROP)->value;
    int32_t n = kvc_op_as_crop(op);

    out->target = model->length;
    if (n > 0) {
        out->rule = rule_of(model, KVC_CONTRACT_CROP_POSITIVE);
        out->verdict = out->rule->value == KVC_POSITIVE_NOTHING ? KVC_EITHER : KVC_MUST_REFUSE;
        out->unspecified |= out->rule->value == KVC_POSITIVE_KEEP;
    } else if (crop == KVC_CROP_REFUSE) {
        out->rule = rule_of(model, KVC_CONTRACT_CROP);
        out->verdict = KVC_MUST_REFUSE;
    } else if (n == 0) {
        out->rule = rule_of(model, KVC_CONTRACT_CROP_ZERO);
        out->unspecified |= out->rule->value == KVC_ZERO_EMPTY;
    } else if (!model->used) {
        out->rule = rule_of(model, KVC_CONTRACT_CROP_UNUSED);
        out->verdict = out->rule->value == KVC_UNUSED_EITHER ? KVC_EITHER : KVC_DO;
    } else {
        expect_removal(model, op, out);
        if (crop == KVC_CROP_EITHER && out->verdict == KVC_DO)
            out->verdict = KVC_EITHER;
    }
}

static int any_is_zero(const kvc_op *op)
{
    for (int at = 0; at < op->count; at++) {
        if (op->rows[at] == 0)
            return 1;
    }
    return 0;
}

/* Whether rows that get different numbers of tokens are padded on the left: only what is fed first can be. */
static int pads_left(const kvc_model *model, const kvc_op *op)
{
    return op->kind == KVC_APPEND_ROWS && model->plan->params.left && !model->used;
}

/* Whether rows are padded on the right, and one call gives a single token to those that get one. */
static int calls_with_one(const kvc_model *model, const kvc_op *op)
{
    int32_t most = kvc_op_tokens(op);
    int32_t chunk = model->plan->params.chunk > 0 ? model->plan->params.chunk : most;
    int uneven = 0;

    for (int at = 0; at < op->count; at++)
        uneven |= op->rows[at] != most;
    return uneven && !pads_left(model, op) && (chunk == 1 || most % chunk == 1);
}

/* Whether a layer takes no single token while its rows are padded. */
static int wants_several(const kvc_plan *plan)
{
    for (int layer = 0; layer < plan->layers; layer++) {
        if (plan->layer[layer].rules.rule[KVC_CONTRACT_APPEND_ROWS]->value == KVC_ROWS_SEVERAL)
            return 1;
    }
    return 0;
}

/* Whether rows that get different numbers of tokens cannot be fed so: where no caller pads them on the right. */
static int pads_otherwise(const kvc_model *model, const kvc_op *op)
{
    unsigned how = rule_of(model, KVC_CONTRACT_APPEND_ROWS)->value;

    return !pads_left(model, op) && (how == KVC_ROWS_LEFT || (how == KVC_ROWS_MERGED && !model->own.merged));
}

void kvc_rows_expect(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_rows *rows = &model->own;
    int filled = rule_of(model, KVC_CONTRACT_EXTEND)->value == KVC_EXTEND_FILLED;

    out->situation.rows = (uint8_t)(rows->alone ? 2 : rows->uneven);
    out->unspecified = (int64_t)model->next + kvc_op_tokens(op) > KVC_TOKENS_MAX ||
                       kvc_op_rows_after(op, model->rows) == 0;
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
        out->rule = rule_of(model, KVC_CONTRACT_APPEND);
        out->unspecified |= op->n < 1;
        return;
    case KVC_CROP:
    case KVC_TRIM:
        expect_crop(model, op, out);
        out->unspecified |= kvc_rule_is_silent(out->rule);
        return;
    case KVC_SELECT:
    case KVC_REORDER:
        out->rule = rule_of(model, KVC_CONTRACT_BATCH_OPS);
        out->unspecified |= rows->alone || (filled && !model->used);
        return;
    case KVC_APPEND_ROWS:
        out->rule = rule_of(model, KVC_CONTRACT_APPEND_ROWS);
        out->unspecified |= rows->alone || kvc_op_tokens(op) == 0 || (pads_left(model, op) && any_is_zero(op)) ||
                            pads_otherwise(model, op) || (wants_several(model->plan) && calls_with_one(model, op));
        return;
    case KVC_MERGE:
        /* Where no row holds anything there is nothing to take out, and no caller asks for it. */
        out->rule = rule_of(model, KVC_CONTRACT_MERGE);
        out->unspecified |= model->length == 0 && !rows->alone;
        return;
    case KVC_EXTRACT:
        out->rule = rule_of(model, KVC_CONTRACT_EXTRACT);
        out->unspecified |= model->length == 0 || rows->alone;
        return;
    case KVC_EXTEND:
        out->rule = rule_of(model, KVC_CONTRACT_EXTEND);
        out->unspecified |= rows->alone || (filled && (!model->used || any_is_zero(op)));
        return;
    case KVC_SPLIT:
        out->rule = rule_of(model, KVC_CONTRACT_SPLIT);
        out->unspecified |= !model->used || rows->alone;
        return;
    case KVC_COPY:
        out->rule = rule_of(model, KVC_CONTRACT_COPY);
        return;
    case KVC_PICKLE:
        out->rule = rule_of(model, KVC_CONTRACT_PICKLE);
        return;
    case KVC_SAVE_FILE:
    case KVC_FROM_STATE:
        out->rule = rule_of(model, op->kind == KVC_SAVE_FILE ? KVC_CONTRACT_SAVE : KVC_CONTRACT_STATE);
        /* Where no row holds anything it may be as one that was never used. */
        if (out->rule->value == KVC_STORING_USED && model->length == 0)
            out->verdict = KVC_EITHER;
        return;
    default:
        out->rule = rule_of(model, KVC_CONTRACT_CROP);
        out->unspecified = 1;
    }
}

/* The last `in_call` of `count` tokens come in the last call of the append. */
static void add_tokens(kvc_model *model, kvc_row_log *row, int32_t count, int32_t in_call, int origin)
{
    int32_t window = kvc_rows_window(model->plan);
    int32_t before = row->length;

    row->in_call = in_call;
    if (count == 0 || row->runs == KVC_OPS_MAX)
        return;
    row->run[row->runs++] = (kvc_row_run){before, kvc_model_number(model, 0), (uint8_t)origin};
    row->length += count;
    if (window == 0)
        return;
    row->held = kvc_larger(row->held, row->length - (window - 1));
    row->spare = kvc_larger(row->spare, before - (window - 1));
}

static void append(kvc_model *model, const kvc_op *op)
{
    kvc_rows *rows = &model->own;
    int32_t most = kvc_op_tokens(op);
    int32_t chunk = model->plan->params.chunk;

    rows->left = pads_left(model, op);
    rows->call = op->kind == KVC_APPEND_ROWS && !rows->left && chunk > 0 && most > 0 ? (most - 1) % chunk + 1 : most;
    for (int32_t at = 0; at < model->rows; at++) {
        int32_t count = op->kind == KVC_APPEND ? op->n : op->rows[at];
        int32_t in_call = rows->left ? count : kvc_larger(0, count - (most - rows->call));
        add_tokens(model, &rows->row[at], count, in_call, at);
    }
}

static void crop(kvc_model *model, const kvc_op *op)
{
    for (int32_t at = 0; kvc_op_as_crop(op) < 0 && at < model->rows; at++) {
        kvc_row_log *row = &model->own.row[at];
        row->length -= removed_from(row, op);
        while (row->runs > 0 && row->run[row->runs - 1].begin >= row->length)
            row->runs--;
        if (row->length == 0)
            row->held = row->spare = 0;
    }
}

/* Row i becomes what row rows[i] was. */
static void choose(kvc_model *model, const uint8_t *rows, int32_t count)
{
    kvc_row_log before[KVC_ROWS_MAX];

    memcpy(before, model->own.row, (size_t)model->rows * sizeof before[0]);
    for (int32_t at = 0; at < count; at++)
        model->own.row[at] = before[rows[at]];
    model->rows = count;
}

static void extend(kvc_model *model, const kvc_op *op)
{
    for (int at = 0; at < op->count; at++) {
        kvc_row_log *row = &model->own.row[model->rows + at];
        memset(row, 0, offsetof(kvc_row_log, run));
        add_tokens(model, row, op->rows[at], 0, at);
    }
    model->rows += op->count;
}

static void split(kvc_model *model, const kvc_op *op)
{
    uint8_t rows[KVC_ROWS_MAX];
    int32_t staying = 0;

    for (int32_t row = 0; row < model->rows; row++) {
        int goes = 0;
        for (int at = 0; at < op->count; at++)
            goes |= op->rows[at] == row;
        if (!goes)
            rows[staying++] = (uint8_t)row;
    }
    memcpy(rows + staying, op->rows, op->count);
    choose(model, rows, model->rows);
    for (int at = 0; at < op->count; at++)
        add_tokens(model, &model->own.row[staying + at], op->n, 0, at);
}

int kvc_rows_commit(kvc_model *model, const kvc_op *op)
{
    const uint8_t only[1] = {(uint8_t)op->n};
    kvc_rows *rows = &model->own;

    rows->call = 0;
    if (kvc_op_rows_after(op, model->rows) == 0)
        return 0;
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
    case KVC_APPEND_ROWS:
        append(model, op);
        break;
    case KVC_CROP:
    case KVC_TRIM:
        crop(model, op);
        break;
    case KVC_SELECT:
    case KVC_REORDER:
    case KVC_MERGE:
        choose(model, op->rows, op->count);
        rows->alone = 0;
        rows->merged |= op->kind == KVC_MERGE;
        break;
    case KVC_EXTRACT:
        choose(model, only, 1);
        rows->alone = 1;
        break;
    case KVC_EXTEND:
        extend(model, op);
        break;
    case KVC_SPLIT:
        split(model, op);
        break;
    default:
        break;
    }
    model->length = 0;
    model->used = model->used || kvc_op_tokens(op) > 0;
    for (int32_t at = 0; at < model->rows; at++) {
        model->length = kvc_larger(model->length, rows->row[at].length);
        rows->uneven |= rows->row[at].length != rows->row[0].length;
    }
    /* What was taken out of its batch has no padding. */
    if (op->kind == KVC_EXTRACT)
        rows->uneven = 0;
    return 1;
}
