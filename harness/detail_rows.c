#include "harness/detail_rows.h"

#include <stdio.h>
#include <string.h>

#include "reference/check_seen.h"
#include "reference/rows_check.h"
#include "reference/values.h"

enum { CELLS_SHOWN = 64, NAME_SIZE = KVC_SLOT_NAME_MAX };

static int32_t number_of(const kvc_row_log *log, int32_t index)
{
    const kvc_row_run *run = kvc_row_run_of(log, index);

    return run->number + (index - run->begin);
}

/* The row of the batch from which a token of this row came, -1 when the row has no such token. */
static int origin_of(const kvc_row_log *log, int32_t number)
{
    for (int32_t at = 0; at < log->length; at++) {
        if (number_of(log, at) == number)
            return kvc_row_run_of(log, at)->origin;
    }
    return -1;
}

/* A cell in words: "3", "3@row1", "empty" for zeros, "?". */
static void cell_text(const kvc_model *model, int slot, const kvc_tensor *tensor, int32_t row, int64_t cell, char *out,
                      size_t size)
{
    kvc_cell have = {0};

    for (int head = 0; head < model->plan->slot[slot].heads; head++) {
        kvc_check_read(model->plan, slot, tensor, row, head, cell, &have);
        if (have.known == 1 && have.head != head && model->plan->slot[slot].heads > 1) {
            (void)snprintf(out, size, "%d@head%d", (int)have.token, have.head);
            return;
        }
        if (have.known != 1)
            break;
    }
    if (have.known != 1)
        (void)snprintf(out, size, "%s", have.known < 0 ? "empty" : "?");
    else if (have.row != origin_of(&model->own.row[row], have.token) && origin_of(&model->own.row[row], have.token) >= 0)
        (void)snprintf(out, size, "%d@row%d", (int)have.token, have.row);
    else
        (void)snprintf(out, size, "%d", (int)have.token);
}

/* A token that is as it should be stands there as a number, anything else as a text. */
static void add_cell(cJSON *list, const char *text)
{
    if (strspn(text, "0123456789") == strlen(text)) {
        int number = 0;
        (void)sscanf(text, "%d", &number);
        cJSON_AddItemToArray(list, cJSON_CreateNumber(number));
    } else {
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
    }
}

/* A state is shown as the tokens that it folds, "3@row1" where they are those of another row. */
static void add_state(cJSON *list, const kvc_model *model, int slot, const kvc_tensor *tensor, int32_t row)
{
    kvc_cell have;

    kvc_check_read(model->plan, slot, tensor, row, 0, 0, &have);
    for (int32_t at = 0; have.known == 1 && at < model->rows; at++) {
        /* Its own row first. */
        const kvc_row_log *log = &model->own.row[(row + at) % model->rows];
        if (log->length == 0 || have.token != kvc_rows_fold(log) || have.row != log->run[log->runs - 1].origin)
            continue;
        for (int32_t token = 0; token < log->length && token < CELLS_SHOWN; token++) {
            char text[32];
            int used = snprintf(text, sizeof text, "%d", (int)number_of(log, token));
            if (at > 0 && used > 0)
                (void)snprintf(text + used, sizeof text - (size_t)used, "@row%d", have.row);
            add_cell(list, text);
        }
        return;
    }
    if (have.known >= 0)
        cJSON_AddItemToArray(list, cJSON_CreateString("?"));
}

/* A number that a batch says of itself, where it says one. */
static void add_number(cJSON *want, cJSON *have, const kvc_model *model, int slot, const kvc_tensor *tensor)
{
    kvc_extent extent = {.kind = KVC_CELL_UNKNOWN, .width = -1};
    cJSON *wanted = cJSON_CreateArray();
    cJSON *shown = cJSON_CreateArray();
    int64_t value = 0;

    model->plan->slot[slot].kind->stored(model, slot, &extent);
    if (extent.kind != KVC_CELL_UNKNOWN)
        cJSON_AddItemToArray(wanted, cJSON_CreateNumber(extent.end));
    cJSON_AddItemToArray(want, wanted);
    if (tensor->dtype == KVC_INT64 && kvc_tensor_elements(tensor) == 1 && kvc_value_load(KVC_INT64, tensor->data, &value))
        cJSON_AddItemToArray(shown, cJSON_CreateNumber((double)value));
    cJSON_AddItemToArray(have, shown);
}

static void add_observed(cJSON *list, const kvc_model *model, int slot, const kvc_row_extent *extent, const kvc_tensor *tensor,
                         int32_t row, int64_t width)
{
    int32_t count = extent->end - extent->first;
    int64_t first = extent->whole || extent->as_set ? 0 : width - extent->right - count;
    int shown = 0;

    for (int64_t cell = first > 0 ? first : 0; cell < width - extent->right; cell++) {
        char text[32];
        kvc_cell have;
        cell_text(model, slot, tensor, row, cell, text, sizeof text);
        kvc_check_read(model->plan, slot, tensor, row, 0, cell, &have);
        /* What pads a set stands anywhere. */
        if (extent->as_set && !extent->whole && (have.known != 1 || origin_of(&model->own.row[row], have.token) < 0))
            continue;
        if (shown++ == CELLS_SHOWN) {
            cJSON_AddItemToArray(list, cJSON_CreateString("..."));
            return;
        }
        add_cell(list, text);
    }
}

void kvc_detail_rows(cJSON *expected, cJSON *observed, const kvc_model *model, int slot, int returned, const char *name,
                     const kvc_tensor *tensor)
{
    int is_number = kvc_rows_is_number(model, slot);
    cJSON *want = !is_number || (tensor != NULL && !returned) ? cJSON_AddArrayToObject(expected, name) : NULL;
    cJSON *have = tensor != NULL ? cJSON_AddArrayToObject(observed, name) : NULL;
    int64_t width = tensor != NULL ? kvc_check_width(model->plan, slot, tensor) : -1;

    if (is_number) {
        if (want != NULL && have != NULL)
            add_number(want, have, model, slot, tensor);
        return;
    }
    for (int32_t row = 0; want != NULL && row < model->rows; row++) {
        kvc_row_extent extent;
        cJSON *list = cJSON_CreateArray();
        if (!returned)
            kvc_rows_stored(model, slot, row, &extent);
        else if (!kvc_rows_returned(model, slot, row, &extent) || extent.skipped)
            extent.first = extent.end;
        for (int32_t at = extent.first; at < extent.end && at - extent.first < CELLS_SHOWN; at++)
            cJSON_AddItemToArray(list, cJSON_CreateNumber(number_of(&model->own.row[row], at)));
        cJSON_AddItemToArray(want, list);
        if (have == NULL)
            continue;
        list = cJSON_CreateArray();
        if (width >= 0 && row < tensor->shape[model->plan->slot[slot].batch_axis])
            model->plan->slot[slot].view->rule == KVC_RULE_FOLDED ? add_state(list, model, slot, tensor, row)
                                                                  : add_observed(list, model, slot, &extent, tensor, row, width);
        cJSON_AddItemToArray(have, list);
    }
}

static const kvc_tensor *find(const kvc_observation *observation, const kvc_plan *plan, int layer, const char *name)
{
    char full[NAME_SIZE];

    if (plan->spec->layers > 0)
        (void)snprintf(full, sizeof full, "layer%d.%s", layer, name);
    else
        (void)snprintf(full, sizeof full, "%s", name);
    for (int at = 0; observation != NULL && at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, full) == 0)
            return &observation->tensor[at];
    }
    return NULL;
}

static size_t put(char *buffer, size_t size, size_t used, const char *text)
{
    int wrote = used < size ? snprintf(buffer + used, size - used, "%s", text) : 0;

    return wrote > 0 ? used + (size_t)wrote : used;
}

const char *kvc_detail_mask_text(kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                 char *buffer, size_t size)
{
    const kvc_model *model = kvc_judge_model(judge);
    int keys = kvc_seen_keys(model->plan, failure->slot);
    const kvc_tensor *mask = NULL;
    const kvc_tensor *returned = NULL;
    kvc_row_query wrong;
    char text[64];
    size_t used = 0;

    for (int at = 0; observation != NULL && keys >= 0 && at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, model->plan->slot[keys].returned_name) == 0)
            returned = &observation->tensor[at];
        if (strcmp(observation->tensor[at].name, model->plan->slot[failure->slot].returned_name) == 0)
            mask = &observation->tensor[at];
    }
    if (mask == NULL || returned == NULL ||
        kvc_rows_check_mask(kvc_judge_encoder(judge), model, failure->slot, returned, mask, &wrong) ==
            KVC_AS_EXPECTED ||
        failure->deviation == KVC_WRONG_SHAPE || failure->deviation == KVC_WRONG_DTYPE) {
        (void)snprintf(buffer, size, "has a mask with the %s", kvc_deviation_text((kvc_deviation)failure->deviation));
        return buffer;
    }
    (void)snprintf(text, sizeof text, "lets token %d of row %d see ", (int)number_of(&model->own.row[wrong.row], wrong.last),
                   (int)wrong.row);
    used = put(buffer, size, used, text);
    for (int64_t cell = 0, seen = 0; cell < mask->shape[2]; cell++) {
        kvc_cell have;
        if (!kvc_rows_sees(mask, wrong.row, wrong.query, cell))
            continue;
        kvc_check_read(model->plan, keys, returned, wrong.row, 0, cell, &have);
        cell_text(model, keys, returned, wrong.row, cell, text, sizeof text);
        used = put(buffer, size, used, seen++ > 0 ? ", " : "");
        used = put(buffer, size, used,
                   have.known != 1 || origin_of(&model->own.row[wrong.row], have.token) < 0 ? "padding" : text);
    }
    used = put(buffer, size, used, " instead of ");
    for (int32_t at = wrong.first; at <= wrong.last; at++) {
        (void)snprintf(text, sizeof text, "%s%d", at > wrong.first ? ", " : "", (int)number_of(&model->own.row[wrong.row], at));
        used = put(buffer, size, used, text);
    }
    return buffer;
}

const char *kvc_detail_position_text(const kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                     char *buffer, size_t size)
{
    const kvc_model *model = kvc_judge_model(judge);
    const kvc_tensor *numbers = find(observation, model->plan, failure->layer, "rows.position");
    int32_t row = 0;
    int64_t have = 0;

    if (numbers == NULL || kvc_rows_check_numbers(model, numbers, &row) == KVC_WRONG_SHAPE || numbers->dtype != KVC_INT64 ||
        row >= model->rows) {
        (void)snprintf(buffer, size, "announces wrong positions");
        return buffer;
    }
    memcpy(&have, (const uint8_t *)numbers->data + kvc_tensor_element(numbers, row), sizeof have);
    (void)snprintf(buffer, size, "announces position %lld for the next token of row %d instead of %d", (long long)have, (int)row,
                   (int)model->own.row[row].length);
    return buffer;
}

const char *kvc_detail_padding_text(const kvc_judge *judge, const kvc_observation *observation, const kvc_failure *failure,
                                    char *buffer, size_t size)
{
    const kvc_model *model = kvc_judge_model(judge);
    const kvc_tensor *padding = find(observation, model->plan, failure->layer, "rows.padding");
    const kvc_tensor *stored = NULL;
    int64_t have = 0;
    int64_t width;
    int32_t row = 0;

    for (int at = 0; observation != NULL && at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, model->plan->slot[failure->slot].name) == 0)
            stored = &observation->tensor[at];
    }
    if (padding == NULL || stored == NULL || failure->deviation == KVC_WRONG_SHAPE || failure->deviation == KVC_WRONG_DTYPE ||
        kvc_rows_check_padding(model, failure->slot, stored, padding, &row) == KVC_AS_EXPECTED) {
        (void)snprintf(buffer, size, "reports padding that is wrong");
        return buffer;
    }
    width = kvc_check_width(model->plan, failure->slot, stored);
    memcpy(&have, (const uint8_t *)padding->data + kvc_tensor_element(padding, row), sizeof have);
    (void)snprintf(buffer, size, "reports padding of %lld for row %d instead of %lld", (long long)have, (int)row,
                   (long long)(width - model->own.row[row].length));
    return buffer;
}
