#include "harness/sequences_detail.h"

#include <stdio.h>
#include <string.h>

#include "reference/sequences_judge.h"

enum { CELLS_SHOWN = 64 };

/* The numbers that a state of so many cells is shown as. */
static void add_number(cJSON *list, int place, int count, int64_t number)
{
    if (place < CELLS_SHOWN)
        cJSON_AddItemToArray(list, number < 0 ? cJSON_CreateString("?") : cJSON_CreateNumber((double)number));
    else if (place == CELLS_SHOWN && count > CELLS_SHOWN)
        cJSON_AddItemToArray(list, cJSON_CreateString("..."));
}

static void add_cells(const kvc_model *model, int sequence, const char *part, const char *column, const kvc_observation *observation,
                      cJSON *expected, cJSON *observed)
{
    const kvc_sequence_log *log = &model->sequences->log[sequence];
    const kvc_tensor *tensor = observation != NULL ? kvc_sequences_tensor(observation, sequence, part) : NULL;
    int tokens = strcmp(column, "tokens") == 0;
    int window = strcmp(part, "window") == 0;
    char name[64];
    cJSON *want;
    cJSON *have;
    int count = 0;
    int told = tensor == NULL || tensor->shape[0] == 0 || kvc_sequences_number(tensor, 1) >= 0;

    /* Where the cells do not say which token they hold, their positions are enough. */
    if (tokens && !told)
        return;
    (void)snprintf(name, sizeof name, "sequence%d.%s.%s", sequence, part, column);
    want = cJSON_AddArrayToObject(expected, name);
    cJSON_AddItemToArray(want, cJSON_CreateArray());
    for (int32_t at = 0; at < log->count; at++) {
        if (!window || log->entry[at].position >= log->held)
            add_number(cJSON_GetArrayItem(want, 0), count++, log->count, tokens ? log->entry[at].number : log->entry[at].position);
    }
    if (tensor == NULL)
        return;
    have = cJSON_AddArrayToObject(observed, name);
    cJSON_AddItemToArray(have, cJSON_CreateArray());
    for (int64_t at = 0; at < tensor->shape[0]; at++)
        add_number(cJSON_GetArrayItem(have, 0), (int)at, (int)tensor->shape[0], kvc_sequences_number(tensor, 4 * at + tokens));
}

static void add_sequences(const kvc_model *model, const kvc_observation *observation, cJSON *expected, cJSON *observed)
{
    static const char *const parts[] = {"attention", "window"};
    cJSON *want = cJSON_AddArrayToObject(expected, "length");
    cJSON *have = cJSON_AddArrayToObject(observed, "length");
    cJSON *want_tensors = cJSON_AddObjectToObject(expected, "tensors");
    cJSON *have_tensors = cJSON_AddObjectToObject(observed, "tensors");

    for (int32_t sequence = 0; sequence < model->rows; sequence++) {
        const kvc_tensor *positions = observation != NULL ? kvc_sequences_tensor(observation, sequence, "positions") : NULL;
        int32_t most, low, high;
        kvc_sequences_positions(model, sequence, &most, &low, &high);
        cJSON_AddItemToArray(want, cJSON_CreateNumber(most + 1));
        cJSON_AddItemToArray(have, positions != NULL ? cJSON_CreateNumber((double)kvc_sequences_number(positions, 1) + 1)
                                                     : cJSON_CreateNull());
        for (int part = 0; part < 2; part++) {
            if (!kvc_plan_remembers(model->plan, part == 0 ? KVC_MEMORY_ATTENTION : KVC_MEMORY_WINDOW))
                continue;
            add_cells(model, sequence, parts[part], "tokens", observation, want_tensors, have_tensors);
            add_cells(model, sequence, parts[part], "positions", observation, want_tensors, have_tensors);
        }
    }
}

/*
 * For each sequence what a fresh cache would have to decode to hold the same, as pieces of [position, first token, tokens]; none where no
 * fresh cache can tell.
 */
static void add_pieces(const kvc_model *model, cJSON *expected)
{
    cJSON *all = cJSON_AddArrayToObject(expected, "pieces");

    for (int32_t sequence = 0; sequence < model->rows; sequence++) {
        const kvc_sequence_log *log = &model->sequences->log[sequence];
        cJSON *list = cJSON_CreateArray();
        int32_t start = 0;
        int good = log->pure && list != NULL;
        for (int32_t at = 0; good && at < log->count; at++) {
            const kvc_entry *entry = &log->entry[at];
            good = at == 0 || entry->position == entry[-1].position + 1;
            if (good && (at + 1 == log->count || entry[1].chunk != entry->chunk || entry[1].number != entry->number + 1)) {
                int piece[3] = {log->entry[start].position, log->entry[start].number, at - start + 1};
                cJSON_AddItemToArray(list, cJSON_CreateIntArray(piece, 3));
                start = at + 1;
            }
        }
        if (!good) {
            cJSON_Delete(list);
            list = cJSON_CreateArray();
        }
        cJSON_AddItemToArray(all, list);
    }
}

/* The first sequence whose reported positions are wrong, in words. */
static void say_positions(const kvc_model *model, const kvc_observation *observation, char *out, size_t size)
{
    for (int32_t sequence = 0; observation != NULL && sequence < model->rows; sequence++) {
        const kvc_tensor *positions = kvc_sequences_tensor(observation, sequence, "positions");
        int32_t most, low, high;
        int64_t first, last;
        kvc_sequences_positions(model, sequence, &most, &low, &high);
        if (positions == NULL)
            continue;
        first = kvc_sequences_number(positions, 0);
        last = kvc_sequences_number(positions, 1);
        if (last != most) {
            (void)snprintf(out, size, "reports %lld as the largest position of sequence %d instead of %d", (long long)last,
                           (int)sequence, (int)most);
            return;
        }
        if (first < low || first > high) {
            (void)snprintf(out, size, "reports %lld as the smallest position of sequence %d instead of %d", (long long)first,
                           (int)sequence, (int)high);
            return;
        }
    }
    (void)snprintf(out, size, "reports other positions than it holds");
}

static const char *reason_to_refuse(const kvc_expectation *expectation)
{
    switch (expectation->rule->name) {
    case KVC_CONTRACT_DECODE:
        return "its positions do not follow those that are there";
    case KVC_CONTRACT_CELLS:
        return "there are not so many cells";
    case KVC_CONTRACT_SEQ_RM_STATE:
        return "a recurrent state cannot go back so far";
    case KVC_CONTRACT_SEQ_RESTORE_DAMAGED:
        return "what was saved is damaged";
    default:
        return "it must be refused";
    }
}

static void say_cells(const kvc_failure *failure, char *out, size_t size)
{
    const char *where = failure->place == KVC_PLACE_WINDOW ? " of layers with a window" : "";

    switch ((kvc_deviation)failure->deviation) {
    case KVC_SHORT:
        (void)snprintf(out, size, "leaves cells%s without tokens that belong there", where);
        return;
    case KVC_LONG:
        (void)snprintf(out, size, "leaves cells%s with tokens that do not belong there", where);
        return;
    case KVC_WRONG_VALUE:
        (void)snprintf(out, size, "leaves cells%s that hold something else than their tokens", where);
        return;
    case KVC_WRITTEN:
        (void)snprintf(out, size, "changes what cells%s hold that stay", where);
        return;
    default:
        (void)snprintf(out, size, "leaves a sequence that cannot be saved");
    }
}

static void say(const kvc_model *model, const kvc_expectation *expectation, const kvc_observation *observation,
                const kvc_failure *failure, char *out, size_t size)
{
    const char *what = kvc_deviation_text((kvc_deviation)failure->deviation);

    switch ((kvc_place)failure->place) {
    case KVC_PLACE_OUTCOME:
        if (failure->deviation == KVC_REFUSED)
            (void)snprintf(out, size, "is refused, but it can be done");
        else if (failure->deviation == KVC_NOT_REFUSED)
            (void)snprintf(out, size, "is done, though %s", reason_to_refuse(expectation));
        else if (failure->deviation == KVC_HUNG)
            (void)snprintf(out, size, "never comes back");
        else if (failure->deviation == KVC_SWELLED)
            (void)snprintf(out, size, "takes more memory than its limit");
        else
            (void)snprintf(out, size, "ends the process");
        return;
    case KVC_PLACE_POSITIONS:
        say_positions(model, observation, out, size);
        return;
    case KVC_PLACE_CELLS:
    case KVC_PLACE_WINDOW:
        say_cells(failure, out, size);
        return;
    case KVC_PLACE_CELL_KEYS:
        (void)snprintf(out, size, "changes the keys of cells that stay");
        return;
    case KVC_PLACE_CELL_VALUES:
        (void)snprintf(out, size, "changes the values of cells that stay");
        return;
    case KVC_PLACE_STATE:
        (void)snprintf(out, size, "leaves a recurrent state with %s", what);
        return;
    case KVC_PLACE_LOGITS:
        (void)snprintf(out, size, "gives other logits than a fresh context with the same tokens");
        return;
    default:
        (void)snprintf(out, size, failure->law == KVC_SAVE ? "changes what it saves" : "was refused and yet changed what is held");
    }
}

void kvc_sequences_detail(const kvc_model *model, const kvc_expectation *expectation, const kvc_op *op,
                          const kvc_observation *observation, const kvc_failure *failure, cJSON *expected, cJSON *observed,
                          char *title, size_t size)
{
    char what[160];
    char predicate[240];
    int died = failure->deviation >= KVC_CRASHED;
    int refused = observation != NULL ? observation->outcome != 0 : failure->deviation == KVC_REFUSED || failure->law == KVC_ATOMIC;

    cJSON_AddStringToObject(expected, "outcome", expectation->verdict == KVC_MUST_REFUSE ? "refused" : "done");
    cJSON_AddStringToObject(observed, "outcome", died ? "died" : refused ? "refused" : "done");
    if (refused && observation != NULL) {
        char text[400];
        (void)snprintf(text, sizeof text, "%.80s%s%.300s", observation->error_kind, observation->error_text[0] != '\0' ? ": " : "",
                       observation->error_text);
        cJSON_AddStringToObject(observed, "error", text);
    } else if (failure->place == KVC_PLACE_LOGITS) {
        cJSON_AddStringToObject(observed, "error", "the logits are not those of a fresh context with the same tokens");
    }
    /* Of logits that differ no cell was seen. */
    add_sequences(model, failure->place != KVC_PLACE_LOGITS ? observation : NULL, expected, observed);
    if (failure->place == KVC_PLACE_LOGITS) {
        cJSON_DeleteItemFromObjectCaseSensitive(expected, "tensors");
        cJSON_DeleteItemFromObjectCaseSensitive(observed, "tensors");
        cJSON_DeleteItemFromObjectCaseSensitive(observed, "length");
    }
    add_pieces(model, expected);
    (void)kvc_op_format(op, what, sizeof what);
    say(model, expectation, observation, failure, predicate, sizeof predicate);
    (void)snprintf(title, size, "%s: %s %s", model->plan->variant, what, predicate);
}
