#include "harness/detail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "reference/check_seen.h"
#include "harness/sequences_detail.h"
#include "harness/detail_rows.h"
#include "reference/values.h"

enum { CELLS_SHOWN = 64, TITLE_SIZE = 640, LIST_SIZE = 160 };

/* How many of the oldest tokens of the log make this fold, or -1. */
static int32_t fold_length(const kvc_model *model, int32_t fold)
{
    int32_t now = 0;

    for (int32_t at = 0; at <= model->length; at++) {
        if (now == fold)
            return at;
        if (at < model->length)
            now = kvc_value_fold(now, kvc_model_token(model, at));
    }
    return -1;
}

/* A fold is shown as the tokens that make it. */
static void add_folded(cJSON *list, const kvc_model *model, int32_t fold)
{
    int32_t count = fold_length(model, fold);

    if (count < 0)
        cJSON_AddItemToArray(list, cJSON_CreateString("?"));
    for (int32_t at = 0; at < count && at < CELLS_SHOWN; at++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(kvc_model_token(model, at)));
}

/* The entry of a block is shown as the newest token of the block; -1 when no block of the log makes it. */
static int32_t newest_of_block(const kvc_model *model, int32_t fold)
{
    int32_t block = model->plan->params.block;

    for (int32_t end = block; end <= model->length; end += block) {
        int32_t now = 0;
        for (int32_t at = end - block; at < end; at++)
            now = kvc_value_fold(now, kvc_model_token(model, at));
        if (now == fold)
            return kvc_model_token(model, end - 1);
    }
    return -1;
}

/* Whether it is one number, for all rows. */
static int is_number(const kvc_extent *extent)
{
    return extent->kind == KVC_CELL_NUMBER || extent->kind == KVC_CELL_AT_LEAST;
}

/* The tokens of one row that a tensor must hold. */
static cJSON *expected_row(const kvc_model *model, int slot, const kvc_extent *extent, int row)
{
    cJSON *list = cJSON_CreateArray();
    int32_t first = extent->kind == KVC_CELL_FOLD ? 0 : extent->first_max;
    int32_t shown = 0;

    if (is_number(extent)) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber(extent->end));
        return list;
    }
    for (int32_t at = 0; list != NULL && at < extent->end; at++) {
        int32_t number;
        int origin;
        if (at < first && at >= extent->keep)
            continue;
        if (shown++ == CELLS_SHOWN) {
            cJSON_AddItemToArray(list, cJSON_CreateString("..."));
            break;
        }
        kvc_view_cell(model, slot, extent, at, row, &number, &origin);
        if (extent->kind == KVC_CELL_FOLD)
            add_folded(list, model, number);
        else
            cJSON_AddItemToArray(list, cJSON_CreateNumber(extent->kind == KVC_CELL_BLOCK ? newest_of_block(model, number)
                                                                                          : number));
    }
    return list;
}

/* What a tensor of one number holds, in a list of its own; NULL when it is no such tensor. */
static cJSON *observed_number(const kvc_tensor *tensor)
{
    int64_t value;
    cJSON *list;

    if (tensor->dtype != KVC_INT64 || kvc_tensor_elements(tensor) != 1 ||
        !kvc_value_load(KVC_INT64, tensor->data, &value) || (list = cJSON_CreateArray()) == NULL)
        return NULL;
    cJSON_AddItemToArray(list, cJSON_CreateNumber((double)value));
    return list;
}

/* A token as the report shows it: its number, and its row and head where they are not the ones of this place. */
static cJSON *shown_cell(const kvc_cell *cell, int origin, int head, int heads)
{
    char text[64];

    if (cell->known < 0)
        return cJSON_CreateString("0");
    if (cell->known == 0)
        return cJSON_CreateString("?");
    if (origin >= 0 && cell->row != origin) {
        (void)snprintf(text, sizeof text, "%d@row%d", (int)cell->token, cell->row);
        return cJSON_CreateString(text);
    }
    if (heads > 1 && cell->head != head) {
        (void)snprintf(text, sizeof text, "%d@head%d", (int)cell->token, cell->head);
        return cJSON_CreateString(text);
    }
    return cJSON_CreateNumber(cell->token);
}

/* The row that a token of the log came from, or -1. */
static int origin_of(const kvc_model *model, int slot, const kvc_extent *extent, int32_t token, int row)
{
    for (int32_t at = 0; at < extent->end; at++) {
        int32_t number;
        int origin;
        kvc_view_cell(model, slot, extent, at, row, &number, &origin);
        if (number == token)
            return origin;
    }
    return -1;
}

static cJSON *observed_row(const kvc_model *model, int slot, const kvc_extent *extent, const kvc_tensor *tensor,
                           int64_t width, int row)
{
    const kvc_slot *place = &model->plan->slot[slot];
    cJSON *list = cJSON_CreateArray();
    int32_t count = 0;
    int leading = extent->zeros_left;

    if (extent->width >= 0 && width > extent->end - extent->first_max + extent->keep)
        width = extent->end - extent->first_max + extent->keep;
    for (int64_t at = 0; list != NULL && at < width; at++) {
        kvc_cell cell;
        int head = 0;
        kvc_check_read(model->plan, slot, tensor, row, 0, at, &cell);
        /* The first head that differs speaks for the cell. */
        while (head + 1 < place->heads && cell.known == 1 && cell.head == head) {
            head++;
            kvc_check_read(model->plan, slot, tensor, row, head, at, &cell);
        }
        if (leading && cell.known < 0)
            continue;
        leading = 0;
        if (count++ == CELLS_SHOWN) {
            cJSON_AddItemToArray(list, cJSON_CreateString("..."));
            break;
        }
        if (extent->kind == KVC_CELL_FOLD && cell.known == 1 && cell.row == model->slot[slot].fold_row[row] &&
            cell.head == head) {
            add_folded(list, model, cell.token);
            continue;
        }
        if (extent->kind == KVC_CELL_FOLD && cell.known < 0)
            continue;
        if (extent->kind == KVC_CELL_BLOCK && cell.known == 1) {
            int from = origin_of(model, slot, extent, cell.token, row);
            cell.token = newest_of_block(model, cell.token);
            cell.known = cell.token >= 0;
            cJSON_AddItemToArray(list, shown_cell(&cell, from, head, place->heads));
            continue;
        }
        cJSON_AddItemToArray(list, shown_cell(&cell, cell.known == 1 ? (extent->kind == KVC_CELL_FOLD
                                                                           ? model->slot[slot].fold_row[row]
                                                                           : origin_of(model, slot, extent, cell.token,
                                                                                       row))
                                                                    : -1,
                                              head, place->heads));
    }
    return list;
}

static const kvc_tensor *find_tensor(const kvc_observation *observation, const char *name)
{
    for (int at = 0; observation != NULL && at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, name) == 0)
            return &observation->tensor[at];
    }
    return NULL;
}

/* A row that says type and shape, for a tensor that cannot be read. */
static void add_shape(cJSON *rows, const kvc_tensor *tensor)
{
    char text[128];
    int used = snprintf(text, sizeof text, "%s [", kvc_dtype_name((kvc_dtype)tensor->dtype));
    cJSON *row = cJSON_CreateArray();

    for (int axis = 0; axis < tensor->dims && used > 0 && (size_t)used < sizeof text; axis++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%lld", axis > 0 ? ", " : "",
                         (long long)tensor->shape[axis]);
    if (used > 0 && (size_t)used < sizeof text - 1)
        strcat(text, "]");
    if (row != NULL) {
        cJSON_AddItemToArray(row, cJSON_CreateString(text));
        cJSON_AddItemToArray(rows, row);
    }
}

static void add_pair(cJSON *expected, cJSON *observed, const kvc_model *model, int slot, const kvc_extent *extent,
                     const char *name, const kvc_tensor *tensor)
{
    cJSON *want = cJSON_AddArrayToObject(expected, name);
    cJSON *have;
    int64_t width;

    for (int32_t row = 0; want != NULL && row < (is_number(extent) ? 1 : model->rows); row++)
        cJSON_AddItemToArray(want, expected_row(model, slot, extent, row));
    if (tensor == NULL)
        return;
    have = cJSON_AddArrayToObject(observed, name);
    if (have == NULL || kvc_tensor_elements(tensor) <= 0)
        return;
    if (is_number(extent)) {
        cJSON *number = observed_number(tensor);
        if (number != NULL)
            cJSON_AddItemToArray(have, number);
        return;
    }
    width = kvc_check_width(model->plan, slot, tensor);
    if (width < 0) {
        add_shape(have, tensor);
        return;
    }
    for (int64_t row = 0; row < tensor->shape[model->plan->slot[slot].batch_axis]; row++)
        cJSON_AddItemToArray(have, row < model->rows
                                       ? observed_row(model, slot, extent, tensor, width, (int)row)
                                       : cJSON_CreateArray());
}

/* The tokens that one new token must see, or does see; `mask` NULL for what it must. */
static cJSON *seen_row(const kvc_model *model, int slot, const kvc_tensor *keys, const kvc_tensor *mask, int row, int query)
{
    int keys_slot = kvc_seen_keys(model->plan, slot);
    cJSON *list = cJSON_CreateArray();

    for (int32_t at = 0; list != NULL && mask == NULL && at < model->length; at++) {
        if (kvc_seen_wanted(model, slot, query, at) == 1)
            cJSON_AddItemToArray(list, cJSON_CreateNumber(kvc_model_token(model, at)));
    }
    for (int64_t cell = 0; list != NULL && mask != NULL && cell < keys->shape[model->plan->slot[keys_slot].tokens_axis]; cell++) {
        int32_t at = kvc_seen_token(model, keys_slot, keys, row, cell);
        if (kvc_seen_in(mask, row, query, cell))
            cJSON_AddItemToArray(list, at >= 0 ? cJSON_CreateNumber(kvc_model_token(model, at)) : cJSON_CreateString("?"));
    }
    return list;
}

/* What a mask lets the new tokens of the first row that is wrong see, one list for each of them. */
static void add_seen(cJSON *expected, cJSON *observed, const kvc_model *model, int slot, const kvc_observation *observation)
{
    const kvc_slot *place = &model->plan->slot[slot];
    int keys_slot = kvc_seen_keys(model->plan, slot);
    const kvc_tensor *keys = keys_slot >= 0 ? find_tensor(observation, model->plan->slot[keys_slot].returned_name) : NULL;
    const kvc_tensor *mask = find_tensor(observation, place->returned_name);
    kvc_seen_fault fault;
    cJSON *want;
    cJSON *have;
    int fits;

    if (keys == NULL || mask == NULL || kvc_check_seen(model, slot, keys, mask, &fault) == KVC_AS_EXPECTED)
        return;
    want = cJSON_AddArrayToObject(expected, place->returned_name);
    have = cJSON_AddArrayToObject(observed, place->returned_name);
    fits = kvc_seen_fits(model, keys_slot, keys, mask);
    for (int query = 0; want != NULL && have != NULL && query < model->appended && query < CELLS_SHOWN; query++) {
        cJSON_AddItemToArray(want, seen_row(model, slot, keys, NULL, fault.row, query));
        if (fits)
            cJSON_AddItemToArray(have, seen_row(model, slot, keys, mask, fault.row, query));
    }
    if (!fits && have != NULL)
        add_shape(have, mask);
}

static void add_tensors(cJSON *expected, cJSON *observed, const kvc_model *model, const kvc_observation *observation,
                        int with_returned)
{
    cJSON *want = cJSON_AddObjectToObject(expected, "tensors");
    cJSON *have = cJSON_AddObjectToObject(observed, "tensors");

    if (want != NULL && have != NULL && model->plan->own_rows) {
        for (int at = 0; at < model->plan->slots; at++) {
            const kvc_slot *slot = &model->plan->slot[at];
            if (slot->view->law == KVC_MASK)
                continue;
            kvc_detail_rows(want, have, model, at, 0, slot->name, find_tensor(observation, slot->name));
            if (with_returned)
                kvc_detail_rows(want, have, model, at, 1, slot->returned_name,
                                find_tensor(observation, slot->returned_name));
        }
        return;
    }
    for (int at = 0; want != NULL && have != NULL && at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
        if (model->slot[at].unjudged || slot->view->rule == KVC_RULE_OPAQUE)
            continue;
        if (slot->view->returned == KVC_RETURNS_SEEN) {
            if (with_returned)
                add_seen(want, have, model, at, observation);
            continue;
        }
        kvc_view_kind_of(slot->view->rule)->stored(model, at, &extent);
        if (extent.kind != KVC_CELL_UNKNOWN)
            add_pair(want, have, model, at, &extent, slot->name, find_tensor(observation, slot->name));
        if (with_returned && kvc_view_returned(model, at, &extent))
            add_pair(want, have, model, at, &extent, slot->returned_name,
                     find_tensor(observation, slot->returned_name));
    }
}

static void add_lengths(cJSON *expected, cJSON *observed, const kvc_model *model, const kvc_observation *observation)
{
    cJSON *want = cJSON_AddArrayToObject(expected, "length");
    cJSON *have = cJSON_AddArrayToObject(observed, "length");

    for (int layer = 0; want != NULL && have != NULL && layer < model->plan->layers; layer++) {
        if (!model->plan->layer[layer].spec->length || (model->plan->own_rows && !model->own.alone))
            continue;
        cJSON_AddItemToArray(want, cJSON_CreateNumber(model->length));
        if (observation == NULL)
            continue;
        if (layer < observation->layers && observation->length[layer] != KVC_ABSENT)
            cJSON_AddItemToArray(have, cJSON_CreateNumber((double)observation->length[layer]));
        else
            cJSON_AddItemToArray(have, cJSON_CreateNull());
    }
}

/* The first row in which the two differ; the first row when none does. */
static int differing_row(const cJSON *expected, const cJSON *observed, const char *name)
{
    const cJSON *want = cJSON_GetObjectItemCaseSensitive(expected, name);
    const cJSON *have = cJSON_GetObjectItemCaseSensitive(observed, name);

    for (int row = 0; row < cJSON_GetArraySize(want) && row < cJSON_GetArraySize(have); row++) {
        if (!cJSON_Compare(cJSON_GetArrayItem(want, row), cJSON_GetArrayItem(have, row), 1))
            return row;
    }
    return 0;
}

/* 1 for "0": what list_text wrote is one number. */
static int is_one_token(const char *list)
{
    return list[0] != '\0' && list[strspn(list, "0123456789")] == '\0';
}

/* "0, 1", "none" */
static void list_text(const cJSON *tensors, const char *name, int number, char *out)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(tensors, name);
    const cJSON *row = rows != NULL ? cJSON_GetArrayItem(rows, number) : NULL;
    char *text = row != NULL ? cJSON_PrintUnformatted(row) : NULL;
    size_t used = 0;

    if (rows == NULL) {
        (void)snprintf(out, LIST_SIZE, "no tensor");
        return;
    }
    if (text == NULL || strcmp(text, "[]") == 0) {
        (void)snprintf(out, LIST_SIZE, "none");
    } else {
        for (const char *at = text; *at != '\0' && used + 3 < LIST_SIZE; at++) {
            if (*at == '[' || *at == ']' || *at == '"')
                continue;
            out[used++] = *at;
            if (*at == ',')
                out[used++] = ' ';
        }
        out[used] = '\0';
    }
    cJSON_free(text);
}

static void op_text(const kvc_op *op, char *out, size_t size)
{
    char text[128];
    char *space;

    (void)kvc_op_format(op, text, sizeof text);
    space = strchr(text, ' ');
    if (space != NULL)
        *space = '\0';
    (void)snprintf(out, size, "%s(%s)", text, space != NULL ? space + 1 : "");
}

static const char *tensor_name(const kvc_plan *plan, const kvc_failure *failure, int returned)
{
    if (failure->slot < 0 || failure->slot >= plan->slots)
        return "a tensor";
    return returned ? plan->slot[failure->slot].returned_name : plan->slot[failure->slot].name;
}

/* Why an op had to be refused, in words. */
static const char *reason_to_refuse(const kvc_plan *plan, const kvc_expectation *expectation)
{
    switch (expectation->rule->name) {
    case KVC_CONTRACT_UNRECORDED:
        return expectation->situation.recording == 0 && kvc_plan_has_op(plan, KVC_RECORD)
                   ? "the tokens that it would have to bring back were not recorded"
                                                     : "the tokens that it would have to bring back are gone";
    case KVC_CONTRACT_RECURRENT:
        return "a recurrent state cannot be rolled back";
    case KVC_CONTRACT_CROP_POSITIVE:
        return "a positive number must be refused";
    case KVC_CONTRACT_BLOCKS:
        return "a finished block cannot be opened again";
    case KVC_CONTRACT_APPEND:
        return "this cache stores nothing";
    case KVC_CONTRACT_CROP_EVICTED:
        return "some layers no longer have that many tokens";
    case KVC_CONTRACT_OVERFLOW:
        return "it passes the maximal length";
    default:
        return "this cache must refuse it";
    }
}

static void predicate_of_outcome(const kvc_plan *plan, const kvc_expectation *expectation, const kvc_observation *observation,
                                 const kvc_failure *failure, char *out, size_t size)
{
    switch ((kvc_deviation)failure->deviation) {
    case KVC_REFUSED:
        (void)snprintf(out, size, expectation->verdict == KVC_DO ? "raises %.60s, but it can be done"
                                                                  : "raises %.60s, though the cache says that it can be cropped",
                       observation != NULL && observation->error_kind[0] != '\0' ? observation->error_kind
                                                                                  : "an error");
        return;
    case KVC_WRONG_ERROR:
        (void)snprintf(out, size, "raises %.60s instead of the documented %.60s",
                       observation != NULL && observation->error_kind[0] != '\0' ? observation->error_kind
                                                                                  : "an error without a name",
                       expectation->rule->error[0]);
        return;
    case KVC_NOT_REFUSED:
        (void)snprintf(out, size, "is done, though %s", reason_to_refuse(plan, expectation));
        return;
    case KVC_HUNG:
        (void)snprintf(out, size, "never comes back");
        return;
    case KVC_SWELLED:
        (void)snprintf(out, size, "takes more memory than its limit");
        return;
    default:
        (void)snprintf(out, size, "ends the process");
    }
}

/* 0: done, 1: refused, 2: died. Without an observation it follows from the failure. */
static int outcome_of(const kvc_observation *observation, const kvc_failure *failure)
{
    if (observation != NULL)
        return observation->outcome != 0;
    if (failure->deviation >= KVC_CRASHED)
        return 2;
    return failure->deviation == KVC_REFUSED || failure->deviation == KVC_WRONG_ERROR || failure->law == KVC_ATOMIC ||
           (failure->also & (1u << KVC_ATOMIC)) != 0;
}

/* One sentence that a maintainer understands. */
static void make_title(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation,
                       const kvc_failure *failure, const cJSON *expected, const cJSON *observed, char *title)
{
    const kvc_model *model = kvc_judge_model(judge);
    const kvc_expectation *expectation = kvc_judge_expectation(judge);
    int32_t before = kvc_op_is_rollback(op->kind) && expectation->verdict != KVC_MUST_REFUSE
                         ? expectation->target + expectation->removed
                         : model->length - model->appended;
    char what[160];
    char where[96] = "";
    char predicate[240];
    char want[LIST_SIZE];
    char have[LIST_SIZE];
    char in_row[24] = "";
    char list[200];
    const char *name;
    int row;
    int returned = failure->place == KVC_PLACE_RETURNED;

    op_text(op, what, sizeof what);
    if (model->plan->params.call != KVC_CALL_POSITION) {
        size_t used = strlen(what);
        (void)snprintf(what + used, sizeof what - used, " called by %s", kvc_call_name(model->plan->params.call));
        for (char *at = what + used; *at != '\0'; at++)
            *at = *at == '_' ? ' ' : *at;
    }
    if (expectation->situation.held == 0)
        (void)snprintf(where, sizeof where, " on a cache that was never used");
    else if (expectation->situation.held == 3)
        (void)snprintf(where, sizeof where, " on a cache that was initialised and never used");
    else if (expectation->situation.held == 1)
        (void)snprintf(where, sizeof where, " on a cache that is empty again");
    else if (op->kind != KVC_RESET && !model->plan->own_rows)
        (void)snprintf(where, sizeof where, " on %d token%s", (int)before, before == 1 ? "" : "s");
    name = tensor_name(model->plan, failure, returned || failure->place == KVC_PLACE_SEEN);
    row = differing_row(cJSON_GetObjectItemCaseSensitive(expected, "tensors"),
                        cJSON_GetObjectItemCaseSensitive(observed, "tensors"), name);
    list_text(cJSON_GetObjectItemCaseSensitive(expected, "tensors"), name, row, want);
    list_text(cJSON_GetObjectItemCaseSensitive(observed, "tensors"), name, row, have);
    if (model->rows > 1)
        (void)snprintf(in_row, sizeof in_row, " in row %d", row);
    switch ((kvc_place)failure->place) {
    case KVC_PLACE_OUTCOME:
        predicate_of_outcome(model->plan, expectation, observation, failure, predicate, sizeof predicate);
        break;
    case KVC_PLACE_LENGTH:
        if (model->plan->own_rows && failure->slot >= 0)
            (void)snprintf(predicate, sizeof predicate, "%s", kvc_detail_padding_text(judge, observation, failure, list, sizeof list));
        else if (observation == NULL || failure->layer >= observation->layers)
            (void)snprintf(predicate, sizeof predicate, "reports another length than %d", (int)model->length);
        else
            (void)snprintf(predicate, sizeof predicate, "reports length %lld instead of %d",
                           failure->layer < observation->layers ? (long long)observation->length[failure->layer] : 0LL,
                           (int)model->length);
        break;
    case KVC_PLACE_STORED:
    case KVC_PLACE_RETURNED:
        if (failure->deviation == KVC_RAISED)
            (void)snprintf(predicate, sizeof predicate, "leaves a cache that raises %.60s when it is asked for %.60s",
                           observation != NULL && observation->error_kind[0] != '\0' ? observation->error_kind : "an error", name);
        else if (failure->deviation == KVC_WRONG_DTYPE || failure->deviation == KVC_WRONG_SHAPE)
            (void)snprintf(predicate, sizeof predicate, "%s %s with the %s", returned ? "returns" : "leaves", name,
                           kvc_deviation_text((kvc_deviation)failure->deviation));
        else if (observation == NULL)
            (void)snprintf(predicate, sizeof predicate, "%s %.60s that are %s", returned ? "returns" : "leaves", name,
                           kvc_deviation_text((kvc_deviation)failure->deviation));
        else if (failure->deviation == KVC_TOO_LOW || failure->deviation == KVC_TOO_HIGH ||
                 failure->deviation == KVC_NEGATIVE)
            (void)snprintf(predicate, sizeof predicate, "%s %.60s at %.60s instead of %.60s",
                           returned ? "returns" : "leaves", name, have, want);
        else
            (void)snprintf(predicate, sizeof predicate, "%s %.60s with token%s %.60s instead of %.60s%s",
                           returned ? "returns" : "leaves", name, is_one_token(have) ? "" : "s", have, want, in_row);
        break;
    case KVC_PLACE_MASK:
        if (observation == NULL)
            (void)snprintf(predicate, sizeof predicate, "was announced with another mask than what it returns");
        else
            (void)snprintf(predicate, sizeof predicate, "was announced as %lld tokens from %lld on, other than what it returns",
                           (long long)observation->mask_length[failure->layer],
                           (long long)observation->mask_offset[failure->layer]);
        break;
    case KVC_PLACE_SEEN:
        if (model->plan->own_rows)
            (void)snprintf(predicate, sizeof predicate, "%s", kvc_detail_mask_text(judge, observation, failure, list, sizeof list));
        else if (observation == NULL || failure->deviation == KVC_WRONG_SHAPE || failure->deviation == KVC_MISSING)
            (void)snprintf(predicate, sizeof predicate, "was announced with a mask that %s",
                           failure->deviation == KVC_WRONG_SHAPE ? "does not fit what it returns"
                                                                 : "does not let each token see what it must");
        else
            (void)snprintf(predicate, sizeof predicate, "was announced with a mask that lets new token %d see %.60s instead of %.60s",
                           row, have, want);
        break;
    case KVC_PLACE_POSITION:
        if (model->plan->own_rows)
            (void)snprintf(predicate, sizeof predicate, "%s", kvc_detail_position_text(judge, observation, failure, list, sizeof list));
        else if (observation == NULL)
            (void)snprintf(predicate, sizeof predicate, "announces another position for the next token than %d",
                           (int)model->length + kvc_plan_ahead(model->plan, failure->layer));
        else
            (void)snprintf(predicate, sizeof predicate, "announces position %lld for the next token instead of %d",
                           (long long)observation->position[failure->layer],
                           (int)model->length + kvc_plan_ahead(model->plan, failure->layer));
        break;
    case KVC_PLACE_ADDRESS:
        (void)snprintf(predicate, sizeof predicate, "moves %.60s, a buffer that is documented to keep its address",
                       name);
        break;
    case KVC_PLACE_INPUT:
    case KVC_PLACE_KEPT:
        (void)snprintf(predicate, sizeof predicate, "writes to the tensor that was given as %.60s", name);
        break;
    case KVC_PLACE_EARLIER:
        (void)snprintf(predicate, sizeof predicate, "changes %.60s that an earlier append returned", name);
        break;
    case KVC_PLACE_OTHER:
        (void)snprintf(predicate, sizeof predicate, "%s",
                       failure->deviation == KVC_DIFFERS ? "leaves another state than a fresh cache with the same tokens"
                       : kvc_op_moves_cache((kvc_op_kind)op->kind) ? "changes the cache's own counters"
                                                         : "was refused and yet changed the cache's own counters");
        break;
    case KVC_PLACE_LOGITS:
        (void)snprintf(predicate, sizeof predicate, failure->law == KVC_CHUNK
                           ? "predicts something else than when the same tokens come in one piece"
                           : "predicts something else than with a fresh cache of the same tokens");
        break;
    case KVC_PLACE_ORIGINAL:
        (void)snprintf(predicate, sizeof predicate, "changes %.60s of the cache that %s",
                       failure->slot >= 0 ? name : "the length", op->kind == KVC_COPY ? "it copies" : "was copied");
        break;
    default:
        (void)snprintf(predicate, sizeof predicate, "%s", kvc_deviation_text((kvc_deviation)failure->deviation));
    }
    if (outcome_of(observation, failure) == 1 && failure->place != KVC_PLACE_OUTCOME)
        (void)snprintf(title, TITLE_SIZE, "%s: %s%s was refused and %s", model->plan->variant, what, where, predicate);
    else
        (void)snprintf(title, TITLE_SIZE, "%s: %s%s %s", model->plan->variant, what, where, predicate);
}

static void add_number_or_null(cJSON *list, int64_t number)
{
    cJSON_AddItemToArray(list, number == KVC_ABSENT ? cJSON_CreateNull() : cJSON_CreateNumber((double)number));
}

/* A layer that announces no mask, a placeholder for example, has none to show. */
static void add_pair_or_null(cJSON *list, int64_t length, int64_t offset)
{
    cJSON *pair = length == KVC_ABSENT || offset == KVC_ABSENT ? cJSON_CreateNull() : cJSON_CreateArray();

    if (cJSON_IsArray(pair)) {
        cJSON_AddItemToArray(pair, cJSON_CreateNumber((double)length));
        cJSON_AddItemToArray(pair, cJSON_CreateNumber((double)offset));
    }
    cJSON_AddItemToArray(list, pair);
}

/* For each layer what was announced before the append, beside what the append then returned. */
static void add_masks(kvc_judge *judge, const kvc_observation *observation, cJSON *expected, cJSON *observed)
{
    const kvc_model *model = kvc_judge_model(judge);
    cJSON *want = cJSON_AddArrayToObject(expected, "masks");
    cJSON *have = cJSON_AddArrayToObject(observed, "masks");

    for (int layer = 0; want != NULL && have != NULL && layer < model->plan->layers; layer++) {
        int64_t width = KVC_ABSENT;
        int64_t offset = KVC_ABSENT;
        for (int at = 0; at < model->plan->slots; at++) {
            const kvc_slot *slot = &model->plan->slot[at];
            const kvc_tensor *tensor = find_tensor(observation, slot->returned_name);
            kvc_extent extent;
            if (slot->layer != layer || slot->view->law != KVC_KEYS || tensor == NULL ||
                tensor->dims <= slot->tokens_axis || !kvc_view_returned(model, at, &extent))
                continue;
            width = tensor->shape[slot->tokens_axis];
            offset = extent.width >= 0 ? extent.first_min : extent.end - width;
            offset += kvc_plan_ahead(model->plan, layer);
        }
        add_pair_or_null(want, width, offset);
        add_pair_or_null(have, observation->mask_length[layer], observation->mask_offset[layer]);
    }
}

static void add_positions(const kvc_model *model, const kvc_observation *observation, cJSON *expected, cJSON *observed)
{
    cJSON *want = cJSON_AddArrayToObject(expected, "positions");
    cJSON *have = cJSON_AddArrayToObject(observed, "positions");

    for (int layer = 0; want != NULL && have != NULL && layer < model->plan->layers; layer++) {
        add_number_or_null(want, observation->position[layer] == KVC_ABSENT
                                      ? KVC_ABSENT
                                      : model->length + kvc_plan_ahead(model->plan, layer));
        add_number_or_null(have, observation->position[layer]);
    }
}

/* The tokens of each row that a fresh cache was given, and how far from it the model was. */
static void add_prediction(const kvc_model *model, const kvc_failure *failure, cJSON *expected, cJSON *observed)
{
    cJSON *rows = cJSON_AddArrayToObject(expected, "kept");

    for (int32_t row = 0; rows != NULL && row < model->rows; row++) {
        cJSON *tokens = cJSON_CreateArray();
        for (int32_t at = 0; at < model->length; at++)
            cJSON_AddItemToArray(tokens, cJSON_CreateNumber(kvc_model_token(model, at)));
        cJSON_AddItemToArray(rows, tokens);
    }
    cJSON_AddNumberToObject(observed, "difference", (double)failure->apart);
}

void kvc_detail_write(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation,
                      const kvc_failure *failure, char *out, size_t size)
{
    const kvc_model *model = kvc_judge_model(judge);
    const kvc_expectation *expectation = kvc_judge_expectation(judge);
    cJSON *json = cJSON_CreateObject();
    cJSON *expected = json != NULL ? cJSON_AddObjectToObject(json, "expected") : NULL;
    cJSON *observed = json != NULL ? cJSON_AddObjectToObject(json, "observed") : NULL;
    char title[TITLE_SIZE];
    static const char *const outcomes[] = {"done", "refused", "died"};

    out[0] = '\0';
    if (expected != NULL && observed != NULL && model->sequences != NULL) {
        kvc_sequences_detail(model, expectation, op, observation, failure, expected, observed, title, sizeof title);
        cJSON_AddStringToObject(json, "title", title);
        if (!cJSON_PrintPreallocated(json, out, size > 2048 ? (int)size - 1024 : 0, 0))
            out[0] = '\0';
    } else if (expected != NULL && observed != NULL) {
        cJSON_AddStringToObject(expected, "outcome", expectation->verdict == KVC_MUST_REFUSE ? "refused" : "done");
        if (failure->deviation == KVC_WRONG_ERROR) {
            cJSON *errors = cJSON_AddArrayToObject(expected, "errors");
            for (int at = 0; at < expectation->rule->errors; at++)
                cJSON_AddItemToArray(errors, cJSON_CreateString(expectation->rule->error[at]));
        }
        cJSON_AddStringToObject(observed, "outcome", outcomes[outcome_of(observation, failure)]);
        if (observation != NULL && (observation->outcome != 0 || failure->deviation == KVC_RAISED)) {
            char text[400];
            (void)snprintf(text, sizeof text, "%.80s: %.300s", observation->error_kind, observation->error_text);
            cJSON_AddStringToObject(observed, "error", text);
        }
        else if (failure->place == KVC_PLACE_ADDRESS || failure->place == KVC_PLACE_INPUT ||
                 failure->place == KVC_PLACE_KEPT || failure->place == KVC_PLACE_EARLIER || failure->place == KVC_PLACE_ORIGINAL) {
            char text[160];
            (void)snprintf(text, sizeof text, "%.100s %s",
                           failure->slot >= 0 || failure->place != KVC_PLACE_ORIGINAL
                               ? tensor_name(model->plan, failure, 0)
                               : "the length",
                           failure->place == KVC_PLACE_ORIGINAL ? "of the cache that was copied has been changed"
                           : failure->place == KVC_PLACE_ADDRESS ? "was moved to another address"
                           : failure->place == KVC_PLACE_EARLIER ? "was returned earlier and has been changed"
                                                                 : "was given as an input and has been written to");
            cJSON_AddStringToObject(observed, "error", text);
        }
        add_lengths(expected, observed, model, observation);
        if (failure->deviation != KVC_DIFFERS)
            add_tensors(expected, observed, model, observation,
                        (op->kind == KVC_APPEND || op->kind == KVC_APPEND_ROWS) && observation != NULL && observation->outcome == 0 &&
                        failure->deviation != KVC_DIFFERS);
        if (observation != NULL && op->kind == KVC_APPEND && failure->place == KVC_PLACE_MASK &&
            !model->plan->own_rows) {
            add_masks(judge, observation, expected, observed);
        }
        if (observation != NULL && failure->place == KVC_PLACE_POSITION && !model->plan->own_rows)
            add_positions(model, observation, expected, observed);
        if (observation != NULL && kvc_op_is_rollback(op->kind) && observation->claim >= 0)
            cJSON_AddBoolToObject(observed, "claim", observation->claim);
        /* What must be refused must not be claimed. */
        if (failure->law == KVC_HONEST && expectation->verdict != KVC_DO)
            cJSON_AddFalseToObject(expected, "claim");
        if (failure->place == KVC_PLACE_LOGITS)
            add_prediction(model, failure, expected, observed);
        make_title(judge, op, observation, failure, expected, observed, title);
        cJSON_AddStringToObject(json, "title", title);
        if (!cJSON_PrintPreallocated(json, out, size > 2048 ? (int)size - 1024 : 0, 0))
            out[0] = '\0';
    }
    cJSON_Delete(json);
}
