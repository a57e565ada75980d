#include "harness/decode.h"

#include <string.h>

/* So many values of the first bytes of a record are tried for an op whose arguments depend on the state. */
enum { FIRST_TRIED = 16 };

void kvc_bytes_take(const uint8_t *data, size_t size, kvc_bytes *out)
{
    size_t most = size < KVC_BYTES_MAX ? size : KVC_BYTES_MAX;

    memset(out->byte, 0, sizeof out->byte);
    if (most > 0)
        memcpy(out->byte, data, most);
    out->size = KVC_BYTES_HEADER;
    while ((size_t)out->size < most)
        out->size += KVC_BYTES_RECORD;
}

kvc_params kvc_decode_params(const kvc_choice *choice, const kvc_bytes *bytes)
{
    kvc_random from = kvc_random_from(bytes->byte, KVC_BYTES_HEADER);

    return kvc_choice_random(choice, &from);
}

/* An op kind that the plan has: the one that is meant, or another in its place. Returns 0 when the plan has no op at all. */
static int find_kind(const kvc_plan *plan, uint8_t byte, kvc_op_kind *kind)
{
    int wanted = (byte & KVC_BYTES_KIND) % KVC_OP_KINDS;

    for (int at = 0; at < KVC_OP_KINDS; at++) {
        *kind = (kvc_op_kind)((wanted + at) % KVC_OP_KINDS);
        if (kvc_plan_has_op(plan, *kind))
            return 1;
    }
    return 0;
}

/* How an argument lies in a literal record: a list of rows has its length before it. */
static size_t width_of(char letter)
{
    return letter == 's' || letter == 'o' ? 1 : 4;
}

static int32_t read_number(const uint8_t *at, size_t width, int32_t low, int32_t high)
{
    uint32_t word = 0;
    int64_t span = (int64_t)high - low + 1;
    int64_t number;

    for (size_t byte = 0; byte < width; byte++)
        word |= (uint32_t)at[byte] << (8 * byte);
    number = width == 1 ? (word < 128 ? (int64_t)word : (int64_t)word - 256)
                        : (word <= INT32_MAX ? (int64_t)word : (int64_t)word - ((int64_t)1 << 32));
    if (number < low || number > high)
        number = low + ((number - low) % span + span) % span;
    return (int32_t)number;
}

static int read_literal(const uint8_t record[KVC_BYTES_RECORD], kvc_op *op)
{
    size_t at = 1;

    for (const char *letter = kvc_op_arguments((kvc_op_kind)op->kind); *letter != '\0'; letter++) {
        int32_t low;
        int32_t high;
        kvc_op_bounds((kvc_op_kind)op->kind, *letter, &low, &high);
        if (*letter == 'r') {
            op->count = (uint8_t)(record[at++] % KVC_ROWS_MAX + 1);
            for (int row = 0; row < op->count && at < KVC_BYTES_RECORD; row++)
                op->rows[row] = (uint8_t)(record[at++] % (high + 1));
            continue;
        }
        if (at + width_of(*letter) > KVC_BYTES_RECORD)
            return 0;
        kvc_op_set_argument(op, *letter, read_number(record + at, width_of(*letter), low, high));
        at += width_of(*letter);
    }
    return 1;
}

/* Returns 0 when its arguments have no room. */
static int write_literal(const kvc_op *op, uint8_t record[KVC_BYTES_RECORD])
{
    size_t at = 1;

    memset(record, 0, KVC_BYTES_RECORD);
    record[0] = (uint8_t)(op->kind | KVC_BYTES_LITERAL);
    for (const char *letter = kvc_op_arguments((kvc_op_kind)op->kind); *letter != '\0'; letter++) {
        size_t width = *letter == 'r' ? (size_t)op->count + 1 : width_of(*letter);
        if (at + width > KVC_BYTES_RECORD || (*letter == 'r' && op->count == 0))
            return 0;
        if (*letter == 'r') {
            record[at] = (uint8_t)(op->count - 1);
            memcpy(record + at + 1, op->rows, op->count);
        } else {
            uint32_t word = (uint32_t)kvc_op_argument(op, *letter);
            for (size_t byte = 0; byte < width; byte++)
                record[at + byte] = (uint8_t)(word >> (8 * byte));
        }
        at += width;
    }
    return 1;
}

/* The op of a record where the model stands. Returns 0 when there is none. */
static int read_record(const kvc_model *model, const uint8_t record[KVC_BYTES_RECORD], kvc_op *op)
{
    kvc_op_kind kind;
    kvc_random from;

    if (!find_kind(model->plan, record[0], &kind))
        return 0;
    memset(op, 0, sizeof *op);
    op->kind = (uint8_t)kind;
    if ((record[0] & KVC_BYTES_LITERAL) != 0)
        return read_literal(record, op) && kvc_op_rows_after(op, model->rows) > 0;
    from = kvc_random_from(record + 1, KVC_BYTES_RECORD - 1);
    return kvc_draw_op(model, KVC_HOSTILE, &kvc_edges_standard, kind, &from, op);
}

int kvc_decode_ops(kvc_model *model, const kvc_bytes *bytes, const kvc_exclusions *exclusions, int careful, kvc_decoded *out)
{
    out->sequence.count = 0;
    memcpy(out->kept.byte, bytes->byte, KVC_BYTES_HEADER);
    out->kept.size = KVC_BYTES_HEADER;
    for (int at = 0; at < kvc_bytes_records(bytes); at++) {
        const uint8_t *record = bytes->byte + KVC_BYTES_HEADER + at * KVC_BYTES_RECORD;
        kvc_op op;
        kvc_expectation expectation;
        int situation;
        int taken = read_record(model, record, &op)
                        ? kvc_draw_take(model, KVC_HOSTILE, &op, exclusions, careful, &out->sequence, &expectation, &situation)
                        : 0;
        if (taken < 0)
            return 0;
        if (taken == 0)
            continue;
        out->situation[out->sequence.count - 1] = situation;
        memcpy(out->kept.byte + out->kept.size, record, KVC_BYTES_RECORD);
        out->kept.size += KVC_BYTES_RECORD;
    }
    return 1;
}

static int is_same(const kvc_op *a, const kvc_op *b)
{
    return a->kind == b->kind && kvc_op_compare(a, b) == 0;
}

/* A record with choices that are drawn to this op where the model stands. Returns 0 when the first two say too little. */
static int write_choices(const kvc_model *model, const kvc_op *op, uint8_t record[KVC_BYTES_RECORD])
{
    kvc_op drawn;

    memset(record, 0, KVC_BYTES_RECORD);
    record[0] = op->kind;
    for (int first = 0; first < FIRST_TRIED; first++) {
        for (int second = 0; second < FIRST_TRIED; second++) {
            record[1] = (uint8_t)first;
            record[2] = (uint8_t)second;
            if (read_record(model, record, &drawn) && is_same(&drawn, op))
                return 1;
        }
    }
    return 0;
}

int kvc_encode(const kvc_choice *choice, kvc_model *model, const kvc_plan *plan, const kvc_sequence *sequence, kvc_bytes *out)
{
    kvc_params decoded;
    kvc_sequence taken = {0};
    int exact = 1;

    kvc_choice_write(choice, &plan->params, out->byte, KVC_BYTES_HEADER);
    out->size = KVC_BYTES_HEADER;
    decoded = kvc_decode_params(choice, out);
    for (int at = 0; at < KVC_PARAMS; at++)
        exact &= kvc_param_get(&decoded, at) == kvc_param_get(&plan->params, at);
    kvc_model_start(model, plan, NULL);
    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        uint8_t *record = out->byte + out->size;
        kvc_op again;
        kvc_expectation expectation;
        int situation;
        int good = kvc_plan_has_op(plan, (kvc_op_kind)op->kind) &&
                   (write_choices(model, op, record) ||
                    (write_literal(op, record) && read_record(model, record, &again) && is_same(&again, op)));
        if (good && kvc_draw_take(model, KVC_HOSTILE, op, NULL, 0, &taken, &expectation, &situation) > 0)
            out->size += KVC_BYTES_RECORD;
        else
            exact = 0;
    }
    return exact;
}
