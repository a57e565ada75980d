#include "harness/draw.h"

#include <string.h>

#include "harness/sequences_alphabet.h"
#include "reference/view.h"

int32_t kvc_draw_append(const kvc_model *model, kvc_profile profile, const kvc_edges *edges, kvc_random *random)
{
    int boundary = kvc_plan_boundary(model->plan);

    if (profile != KVC_ASSISTED &&
        model->plan->rules.rule[KVC_CONTRACT_APPEND_NONE]->value == KVC_NONE_NOTHING && kvc_random_one_in(random, 12))
        return 0;
    switch ((kvc_append_edge)kvc_weights_draw(edges->append, boundary > 0 ? edges->append_all : edges->append_few, random)) {
    case KVC_APPEND_ONE:
        return 1;
    case KVC_APPEND_TWO:
        return 2;
    case KVC_APPEND_FEW:
        return kvc_random_between(random, 1, 8);
    case KVC_APPEND_BELOW:
        return boundary > 1 ? boundary - 1 : 1;
    case KVC_APPEND_AT:
        return boundary;
    case KVC_APPEND_PAST:
        return boundary + 1;
    case KVC_APPEND_TWICE:
        break;
    }
    return boundary * 2 + kvc_random_between(random, 0, 2);
}

static int32_t random_crop(const kvc_model *model, const kvc_edges *edges, kvc_random *random)
{
    int32_t held = model->length - kvc_model_floor(model);
    int boundary = kvc_plan_boundary(model->plan);

    switch ((kvc_crop_edge)kvc_weights_draw(edges->crop, edges->crop_all, random)) {
    case KVC_CROP_ZERO:
        return 0;
    case KVC_CROP_ONE:
        return -1;
    case KVC_CROP_ALL:
        return -held;
    case KVC_CROP_OVER:
        return -held - 1;
    case KVC_CROP_FAR_OVER:
        return -held - kvc_random_between(random, 1, 4);
    case KVC_CROP_TO_BOUNDARY:
        return held > boundary ? -(held - boundary) : -1;
    case KVC_CROP_NEAR_BOUNDARY:
        return held > boundary + 1 ? -(held - boundary) - 1 + 2 * (int32_t)kvc_random_below(random, 2) : -2;
    case KVC_CROP_POSITIVE:
        return kvc_random_one_in(random, 2) ? kvc_random_between(random, 1, held + 1) : 1;
    case KVC_CROP_PART:
        break;
    }
    return held > 0 ? -kvc_random_between(random, 1, held) : -1;
}

static void random_rows(const kvc_model *model, kvc_random *random, int count, kvc_op *op)
{
    op->count = (uint8_t)count;
    for (int at = 0; at < count; at++)
        op->rows[at] = (uint8_t)kvc_random_below(random, (uint32_t)model->rows);
}

/* For each of `count` rows a number of tokens: few, or what a boundary makes of it; now and then none. */
static void random_counts(const kvc_model *model, kvc_profile profile, const kvc_edges *edges, kvc_random *random, int count, kvc_op *op)
{
    op->count = (uint8_t)count;
    for (int at = 0; at < count; at++)
        op->rows[at] = (uint8_t)(kvc_random_one_in(random, 4) ? 0 : kvc_draw_append(model, profile, edges, random));
}

/* Some of the rows, in order, and not all. Returns 0 when there is one row only. */
static int random_part(const kvc_model *model, kvc_random *random, kvc_op *op)
{
    uint32_t all = (1u << model->rows) - 1;
    uint32_t mask;

    if (model->rows < 2)
        return 0;
    mask = 1 + kvc_random_below(random, all - 1);
    for (int32_t row = 0; row < model->rows; row++) {
        if ((mask & 1u << row) != 0)
            op->rows[op->count++] = (uint8_t)row;
    }
    return 1;
}

int kvc_draw_op(const kvc_model *model, kvc_profile profile, const kvc_edges *edges, kvc_op_kind kind, kvc_random *random, kvc_op *op)
{
    memset(op, 0, sizeof *op);
    op->kind = (uint8_t)kind;
    if (kvc_op_is_of_sequences((int)kind)) {
        kvc_sequences_random_op(model, random, op);
        return 1;
    }
    switch (kind) {
    case KVC_APPEND:
        op->n = kvc_draw_append(model, profile, edges, random);
        return 1;
    case KVC_CROP:
        op->n = random_crop(model, edges, random);
        return 1;
    case KVC_TRIM:
        op->n = -random_crop(model, edges, random);
        return 1;
    case KVC_RESET:
        return 1;
    case KVC_REORDER:
        random_rows(model, random, model->rows, op);
        return 1;
    case KVC_SELECT:
        random_rows(model, random, kvc_random_between(random, 1, model->rows), op);
        return 1;
    case KVC_REPEAT:
        op->n = kvc_random_between(random, 1, 3);
        return model->rows * op->n <= KVC_ROWS_MAX;
    case KVC_RECORD:
        op->n = !kvc_random_one_in(random, 4);
        return 1;
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
    case KVC_INITIALIZE:
    case KVC_COPY:
    case KVC_PICKLE:
    case KVC_TRIM_FRONT:
    case KVC_SAVE_FILE:
    case KVC_FROM_STATE:
    case KVC_QUANTIZE:
        return 1;
    case KVC_APPEND_ROWS:
        random_counts(model, profile, edges, random, model->rows, op);
        return 1;
    case KVC_EXTEND:
        if (model->rows == KVC_ROWS_MAX)
            return 0;
        random_counts(model, profile, edges, random, kvc_random_between(random, 1, kvc_smaller(2, KVC_ROWS_MAX - model->rows)), op);
        return 1;
    case KVC_MERGE:
        random_rows(model, random, kvc_random_between(random, 1, model->rows), op);
        return 1;
    case KVC_EXTRACT:
        op->n = (int32_t)kvc_random_below(random, (uint32_t)model->rows);
        return 1;
    case KVC_SPLIT:
        op->n = kvc_random_one_in(random, 2) ? 1 : kvc_random_one_in(random, 2) ? 0 : kvc_draw_append(model, profile, edges, random);
        return random_part(model, random, op);
    default:
        break;
    }
    return 0;
}

