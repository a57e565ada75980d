#include "harness/predictions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 8 };

static const char returned_logits[] = "returned.logits";
static const char returned_margin[] = "returned.margin";
static const char returned_loss[] = "returned.loss";

void kvc_prediction_start(kvc_prediction *prediction)
{
    prediction->rows = prediction->tokens = prediction->words = 0;
    prediction->margin = INFINITY;
    prediction->loss = 0;
}

/* The one number of a tensor, or `otherwise` where it has not one. */
static double number_of(const kvc_tensor *tensor, double otherwise)
{
    double number;

    if (tensor->dtype != KVC_FLOAT64 || kvc_tensor_elements(tensor) != 1)
        return otherwise;
    memcpy(&number, tensor->data, sizeof number);
    return number;
}

/* A margin that is no number is that of equal scores which are no numbers themselves. */
static void take_margin(kvc_prediction *prediction, const kvc_tensor *tensor)
{
    double margin = number_of(tensor, INFINITY);

    prediction->margin = isnan(margin) ? 0 : fmin(prediction->margin, margin);
}

/* What is lost without measure leaves nothing to be compared. */
static void take_loss(kvc_prediction *prediction, const kvc_tensor *tensor)
{
    double loss = number_of(tensor, 0);

    prediction->loss = isnan(loss) ? INFINITY : fmax(prediction->loss, loss);
}

static int make_room(kvc_prediction *prediction, size_t elements)
{
    double *larger;

    if (elements <= prediction->room)
        return 1;
    larger = realloc(prediction->value, elements * sizeof *larger);
    if (larger == NULL)
        return 0;
    prediction->value = larger;
    prediction->room = elements;
    return 1;
}

int kvc_prediction_take(kvc_prediction *prediction, const kvc_observation *observation)
{
    const kvc_tensor *tensor = NULL;
    int64_t elements;

    prediction->rows = prediction->tokens = prediction->words = 0;
    for (int at = 0; at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, returned_logits) == 0)
            tensor = &observation->tensor[at];
        else if (strcmp(observation->tensor[at].name, returned_margin) == 0)
            take_margin(prediction, &observation->tensor[at]);
        else if (strcmp(observation->tensor[at].name, returned_loss) == 0)
            take_loss(prediction, &observation->tensor[at]);
    }
    if (tensor == NULL || tensor->dims != 3 || tensor->dtype != KVC_FLOAT64 || (elements = kvc_tensor_elements(tensor)) <= 0)
        return 1;
    if (!make_room(prediction, (size_t)elements))
        return 0;
    kvc_tensor_pack(tensor, elements, prediction->value);
    prediction->rows = (int32_t)tensor->shape[0];
    prediction->tokens = (int32_t)tensor->shape[1];
    prediction->words = (int32_t)tensor->shape[2];
    return 1;
}

int kvc_prediction_copy(kvc_prediction *to, const kvc_prediction *from)
{
    size_t elements = (size_t)from->rows * (size_t)from->tokens * (size_t)from->words;
    kvc_prediction before = *to;

    if (!make_room(&before, elements))
        return 0;
    *to = *from;
    to->value = before.value;
    to->room = before.room;
    if (elements > 0)
        memcpy(to->value, from->value, elements * sizeof *from->value);
    return 1;
}

void kvc_prediction_clear(kvc_prediction *prediction)
{
    free(prediction->value);
    memset(prediction, 0, sizeof *prediction);
}

double kvc_prediction_distance(const kvc_prediction *seen, const kvc_prediction *other)
{
    size_t lane = (size_t)seen->tokens * (size_t)seen->words;
    double apart = 0;
    double largest = 0;

    if (seen->tokens == 0 || other->tokens < seen->tokens || other->rows != seen->rows || other->words != seen->words)
        return INFINITY;
    for (int32_t row = 0; row < seen->rows; row++) {
        const double *a = seen->value + (size_t)row * lane;
        const double *b = other->value + ((size_t)(row + 1) * (size_t)other->tokens - (size_t)seen->tokens) * (size_t)other->words;
        for (size_t at = 0; at < lane; at++) {
            apart = fmax(apart, fabs(a[at] - b[at]));
            largest = fmax(largest, fabs(b[at]));
        }
    }
    return largest > 0 ? apart / largest : apart > 0 ? INFINITY : 0;
}

/* Models run in float64, but for a few steps that their code does in float32, whatever it is given. */
double kvc_prediction_bound(void)
{
    return 1e-5;
}

double kvc_prediction_control_bound(void)
{
    return 1e-3;
}

double kvc_prediction_allowed(const kvc_prediction *seen, const kvc_prediction *pieces, const kvc_prediction *whole)
{
    double loss = fmax(seen->loss, whole->loss);
    double noise;

    /* A fresh cache that refuses as many tokens says nothing. */
    if (whole->tokens == 0 || (pieces != NULL && pieces->tokens == 0))
        return INFINITY;
    if (pieces == NULL)
        return kvc_prediction_control_bound() + TIMES * loss;
    noise = kvc_prediction_distance(pieces, whole);
    if (!(noise <= (loss > 0 ? TIMES * loss : kvc_prediction_bound())))
        return INFINITY;
    return kvc_prediction_bound() + TIMES * fmax(noise, loss);
}

int kvc_prediction_is_tied(const kvc_prediction *prediction)
{
    return prediction->margin <= kvc_prediction_bound();
}

void kvc_kept_follow(kvc_kept *kept, const kvc_model *model)
{
    int32_t before = kept->pieces > 0 ? kept->end[kept->pieces - 1] : 0;

    if (model->length > before) {
        kept->end[kept->pieces++] = model->length;
        return;
    }
    while (kept->pieces > 0 && kept->end[kept->pieces - 1] > model->length)
        kept->pieces--;
    if (model->length > (kept->pieces > 0 ? kept->end[kept->pieces - 1] : 0))
        kept->end[kept->pieces++] = model->length;
}

int kvc_kept_finish(kvc_kept *kept, const kvc_model *model)
{
    kept->count = 0;
    if (model->length > KVC_KEPT_MAX)
        return 0;
    for (; kept->count < model->length; kept->count++) {
        kept->number[kept->count] = kvc_model_token(model, kept->count);
        memcpy(kept->origin[kept->count], kvc_model_run(model, kept->count)->origin, KVC_ROWS_MAX);
    }
    return 1;
}

int kvc_kept_all(kvc_kept *kept, const kvc_sequence *ops, uint64_t refused)
{
    kept->count = kept->pieces = 0;
    for (int at = 0; at < ops->count; at++) {
        if (ops->op[at].kind != KVC_APPEND || (refused >> at & 1u) != 0)
            continue;
        if (ops->op[at].n > KVC_KEPT_MAX - kept->count)
            return 0;
        for (int32_t more = 0; more < ops->op[at].n; more++, kept->count++) {
            kept->number[kept->count] = kept->count;
            for (int row = 0; row < KVC_ROWS_MAX; row++)
                kept->origin[kept->count][row] = (uint8_t)row;
        }
        kept->end[kept->pieces++] = kept->count;
    }
    return 1;
}

void kvc_kept_appends(const kvc_kept *kept, int recording, int in_one, kvc_sequence *out)
{
    int32_t begin = 0;

    out->count = 0;
    if (recording)
        out->op[out->count++] = (kvc_op){.kind = KVC_RECORD, .n = 1};
    if (in_one) {
        out->op[out->count++] = (kvc_op){.kind = KVC_APPEND, .n = kept->count};
        return;
    }
    for (int32_t at = 0; at < kept->pieces && out->count < KVC_OPS_MAX; at++) {
        out->op[out->count++] = (kvc_op){.kind = KVC_APPEND, .n = kept->end[at] - begin};
        begin = kept->end[at];
    }
}

int kvc_only_appends(const kvc_sequence *ops, uint64_t refused)
{
    if (refused != 0)
        return 0;
    for (int at = 0; at < ops->count; at++) {
        if (ops->op[at].kind != KVC_APPEND && ops->op[at].kind != KVC_RECORD)
            return 0;
    }
    return 1;
}

kvc_law kvc_prediction_law(const kvc_sequence *ops, uint64_t refused, kvc_rule_name *rule)
{
    int has_crop = 0;
    int has_batch = 0;
    int has_reset = 0;
    int has_move = 0;

    for (int at = 0; at < ops->count; at++) {
        kvc_op_kind kind = (kvc_op_kind)ops->op[at].kind;
        if ((refused >> at & 1u) != 0)
            continue;
        has_crop |= kind == KVC_CROP;
        has_reset |= kind == KVC_RESET;
        has_batch |= kind == KVC_REORDER || kind == KVC_SELECT || kind == KVC_REPEAT;
        has_move |= kvc_op_moves_cache(kind);
    }
    *rule = has_batch && !has_reset ? KVC_CONTRACT_BATCH_OPS : KVC_CONTRACT_CROP;
    if (refused != 0 && !has_crop && !has_reset && !has_batch && !has_move)
        return KVC_ATOMIC;
    return has_reset ? KVC_RESET_LAW : has_batch ? KVC_BATCH : has_crop ? KVC_RESUME : has_move ? KVC_SAVE : KVC_CHUNK;
}
