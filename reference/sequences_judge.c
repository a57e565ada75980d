#include "reference/sequences_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { COLUMNS = 4 };

/* One cell as it is shown. */
typedef struct cell {
    int32_t position;
    int32_t token; /* -1: it does not say */
    uint64_t keys;
    uint64_t values;
    int taken; /* an entry of the log was found for it */
} cell;

static const kvc_tensor *find(const kvc_observation *observation, const char *name)
{
    for (int at = 0; at < observation->tensors; at++) {
        if (strcmp(observation->tensor[at].name, name) == 0)
            return &observation->tensor[at];
    }
    return NULL;
}

const kvc_tensor *kvc_sequences_tensor(const kvc_observation *observation, int sequence, const char *what)
{
    char name[KVC_NAME_MAX];
    const kvc_tensor *tensor;
    int cells = strcmp(what, "attention") == 0 || strcmp(what, "window") == 0;

    (void)snprintf(name, sizeof name, "sequence%d.%s", sequence, what);
    tensor = find(observation, name);
    if (tensor == NULL || tensor->dtype != KVC_INT64 || kvc_tensor_elements(tensor) < 0 || tensor->dims != 1 + cells ||
        (cells && (tensor->shape[0] > KVC_LOG_MAX || tensor->shape[1] != COLUMNS)) ||
        (!cells && tensor->shape[0] != (strcmp(what, "state") == 0 ? 3 : 2)))
        return NULL;
    return tensor;
}

int64_t kvc_sequences_number(const kvc_tensor *tensor, int64_t at)
{
    int64_t number;

    memcpy(&number, (const uint8_t *)tensor->data + (size_t)at * sizeof number, sizeof number);
    return number;
}

uint64_t kvc_sequences_digest(const kvc_observation *observation)
{
    uint64_t hash = 1469598103934665603u;

    for (int at = 0; at < observation->tensors; at++) {
        const kvc_tensor *tensor = &observation->tensor[at];
        int64_t elements = kvc_tensor_elements(tensor);
        const uint8_t *byte = tensor->data;
        size_t size = elements > 0 ? (size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype) : 0;
        if (strncmp(tensor->name, "returned.", 9) == 0)
            continue;
        hash = (hash ^ (uint64_t)elements) * 0x9e3779b97f4a7c15u;
        for (; size >= 8; size -= 8, byte += 8) {
            uint64_t word;
            memcpy(&word, byte, 8);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 29;
        }
    }
    return hash;
}

int kvc_sequences_logits(const kvc_observation *observation, int sequence, float logits[KVC_LOGITS_MAX])
{
    char name[KVC_NAME_MAX];
    const kvc_tensor *tensor;

    (void)snprintf(name, sizeof name, "returned.sequence%d.logits", sequence);
    tensor = find(observation, name);
    if (tensor == NULL || tensor->dtype != KVC_FLOAT32 || tensor->dims != 1 || tensor->shape[0] < 1 ||
        tensor->shape[0] > KVC_LOGITS_MAX)
        return 0;
    memcpy(logits, tensor->data, (size_t)tensor->shape[0] * sizeof logits[0]);
    return (int)tensor->shape[0];
}

/* Whether a cell may be that of this entry. */
static int fits(const kvc_entry *entry, const cell *here)
{
    return !here->taken && here->position == entry->position && (here->token < 0 || here->token == entry->number);
}

/*
 * One memory of one sequence: every entry from position `held` on has a cell, no cell is without an entry, and what a cell holds does not
 * change. Returns the law that is broken, or -1.
 */
static int check_cells(kvc_sequence_log *log, const kvc_tensor *tensor, int32_t held, int window, kvc_deviation *deviation)
{
    cell cells[KVC_LOG_MAX];
    int count = (int)tensor->shape[0];
    int next = 0;
    int law = -1;

    for (int at = 0; at < count; at++) {
        const int64_t row = (int64_t)at * COLUMNS;
        cells[at] = (cell){(int32_t)kvc_sequences_number(tensor, row), (int32_t)kvc_sequences_number(tensor, row + 1),
                           (uint64_t)kvc_sequences_number(tensor, row + 2), (uint64_t)kvc_sequences_number(tensor, row + 3), 0};
    }
    for (int32_t at = 0; at < log->count; at++) {
        kvc_entry *entry = &log->entry[at];
        uint64_t *keys = window ? &entry->window_keys : &entry->keys;
        uint64_t *values = window ? &entry->window_values : &entry->values;
        int place = next;
        while (place < count && !fits(entry, &cells[place]) && cells[place].position <= entry->position)
            place++;
        if (place == count || !fits(entry, &cells[place])) {
            if (entry->position < held)
                continue;
            *deviation = place == count || cells[place].position > entry->position ? KVC_SHORT : KVC_WRONG_VALUE;
            return KVC_VALUES;
        }
        cells[place].taken = 1;
        while (next < count && cells[next].taken)
            next++;
        /* Two at one position may stand in any order: what they hold cannot be told apart. */
        if ((at > 0 && log->entry[at - 1].position == entry->position) ||
            (at + 1 < log->count && log->entry[at + 1].position == entry->position))
            continue;
        if (*values != 0 && *values != cells[place].values && law < 0) {
            law = KVC_VALUES;
            *deviation = KVC_WRITTEN;
        }
        if (*keys != 0 && *keys != cells[place].keys && !log->moved && law != KVC_KEYS) {
            law = KVC_KEYS;
            *deviation = KVC_WRITTEN;
        }
        *values = cells[place].values;
        if (!log->moved)
            *keys = cells[place].keys;
    }
    if (next < count) {
        *deviation = KVC_LONG;
        return KVC_VALUES;
    }
    return law;
}

static int check_state(kvc_sequence_log *log, const kvc_tensor *tensor, kvc_deviation *deviation)
{
    int64_t count = kvc_sequences_number(tensor, 0);
    uint64_t digest = (uint64_t)kvc_sequences_number(tensor, 2);

    if (count != (log->state >= 0)) {
        *deviation = count > 0 ? KVC_LONG : KVC_SHORT;
        return KVC_STATE;
    }
    if (count > 0 && kvc_sequences_number(tensor, 1) != log->state) {
        *deviation = kvc_sequences_number(tensor, 1) < log->state ? KVC_TOO_LOW : KVC_TOO_HIGH;
        return KVC_STATE;
    }
    if (count > 0 && log->digest != 0 && digest != log->digest) {
        *deviation = KVC_WRITTEN;
        return KVC_STATE;
    }
    /* A state that was gone back to may still wait to be fetched; what it is shows in what comes of it. */
    if (!log->removed)
        log->digest = count > 0 ? digest : 0;
    return -1;
}

static void look_at(kvc_model *model, int sequence, int target, const kvc_observation *observation, kvc_failure *failure,
                    int *found)
{
    static const struct {
        const char *name;
        kvc_memory memory;
        kvc_place place;
    } parts[] = {{"attention", KVC_MEMORY_ATTENTION, KVC_PLACE_CELLS},
                 {"window", KVC_MEMORY_WINDOW, KVC_PLACE_WINDOW},
                 {"state", KVC_MEMORY_STATE, KVC_PLACE_STATE}};
    kvc_sequence_log *log = &model->sequences->log[sequence];
    const kvc_tensor *tensor = kvc_sequences_tensor(observation, sequence, "positions");
    kvc_law isolation = KVC_ISOLATION;

    if (tensor == NULL) {
        kvc_failure_note(failure, found, target ? KVC_LENGTH : isolation, KVC_PLACE_POSITIONS, -1, 0, KVC_MISSING);
    } else {
        int32_t most, low, high;
        int64_t first = kvc_sequences_number(tensor, 0);
        int64_t last = kvc_sequences_number(tensor, 1);
        kvc_sequences_positions(model, sequence, &most, &low, &high);
        log->reported = first >= 0 && first <= KVC_TOKENS_MAX ? (int32_t)first : -1;
        if (last != most)
            kvc_failure_note(failure, found, target ? KVC_LENGTH : isolation, KVC_PLACE_POSITIONS, -1, 0,
                             last < most ? KVC_TOO_LOW : KVC_TOO_HIGH);
        else if (first < low || first > high)
            kvc_failure_note(failure, found, target ? KVC_LENGTH : isolation, KVC_PLACE_POSITIONS, -1, 0,
                             first < low ? KVC_TOO_LOW : KVC_TOO_HIGH);
    }
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        kvc_deviation deviation = KVC_MISSING;
        kvc_place place = parts[at].place;
        int law;
        if (!kvc_plan_remembers(model->plan, parts[at].memory) || (log->copied && parts[at].memory != KVC_MEMORY_STATE))
            continue;
        tensor = kvc_sequences_tensor(observation, sequence, parts[at].name);
        if (tensor == NULL)
            law = KVC_SAVE; /* its state cannot be written, or cannot be read */
        else if (parts[at].memory == KVC_MEMORY_STATE)
            law = check_state(log, tensor, &deviation);
        else
            law = check_cells(log, tensor, parts[at].memory == KVC_MEMORY_WINDOW ? log->held : INT32_MIN,
                              parts[at].memory == KVC_MEMORY_WINDOW, &deviation);
        if (law < 0)
            continue;
        if (place == KVC_PLACE_CELLS && deviation == KVC_WRITTEN)
            place = law == KVC_KEYS ? KVC_PLACE_CELL_KEYS : KVC_PLACE_CELL_VALUES;
        kvc_failure_note(failure, found, target ? (kvc_law)law : isolation, place, -1, 0, deviation);
    }
}

void kvc_sequences_look(kvc_model *model, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    unsigned targets = kvc_op_targets(op);

    for (int32_t sequence = 0; sequence < model->rows; sequence++)
        look_at(model, sequence, (targets >> sequence & 1u) != 0, observation, failure, found);
}
