/* kvconform baseline update | migrate */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/gate.h"
#include "reports/model.h"

/* Runs in which something was found or nothing was: what the versions of an entry are told from. */
static int was_run(const cJSON *run)
{
    const char *status = kvc_json_string(run, "status");

    return strcmp(status, "findings") == 0 || strcmp(status, "conforms") == 0;
}

/* Whether the variant was run at another version of its subject too, where this finding was not: then the entry needs its versions. */
static int is_elsewhere(const kvc_gate *gate, const kvc_gate_item *item)
{
    const cJSON *one = cJSON_GetObjectItemCaseSensitive(item->finding, "case");
    const cJSON *run;

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(gate->result, "runs")) {
        const cJSON *finding;
        int there = 0;
        /* Where it was met it is, also when a case of the corpus showed it and not the run. */
        if (!was_run(run) || strcmp(kvc_json_string(run, "version"), item->version) == 0 ||
            strcmp(kvc_json_string(run, "subject"), kvc_json_string(one, "subject")) != 0 ||
            strcmp(kvc_json_string(run, "variant"), kvc_json_string(one, "variant")) != 0)
            continue;
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(run, "findings"))
            there |= strcmp(kvc_json_string(finding, "id"), kvc_json_string(item->finding, "id")) == 0;
        if (!there)
            return 1;
    }
    return 0;
}

static int count_of(const kvc_gate *gate, const kvc_gate_item *item)
{
    int count = 0;

    for (int at = 0; at < gate->items; at++) {
        const kvc_gate_item *other = &gate->item[at];
        const cJSON *a = cJSON_GetObjectItemCaseSensitive(other->finding, "case");
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(item->finding, "case");
        count += other < item && other->state == KVC_GATE_NEW && strcmp(kvc_json_string(a, "variant"), kvc_json_string(b, "variant")) == 0 &&
                 strcmp(kvc_json_string(other->finding, "id"), kvc_json_string(item->finding, "id")) == 0;
    }
    return count;
}

/* Takes out what is fixed or matches nothing. Pointers of the gate to entries are not to be used after it. */
static int remove_fixed(kvc_gate *gate)
{
    int removed = 0;

    for (int entry = gate->baseline.entries - 1; entry >= 0; entry--) {
        int gone = 0;
        for (int at = 0; at < gate->items; at++) {
            const kvc_gate_item *item = &gate->item[at];
            gone |= item->entry == &gate->baseline.entry[entry] &&
                    (item->state == KVC_GATE_FIXED || item->state == KVC_GATE_NOTHING);
        }
        if (gone) {
            /* Those behind it move up by one, and with them what points to them. */
            for (int at = 0; at < gate->items; at++) {
                if (gate->item[at].entry == &gate->baseline.entry[entry])
                    gate->item[at].entry = NULL;
                else if (gate->item[at].entry > &gate->baseline.entry[entry])
                    gate->item[at].entry--;
            }
            kvc_baseline_remove(&gate->baseline, entry);
            removed++;
        }
    }
    return removed;
}

/* Entries whose case shows another id than theirs, since ids are made otherwise now. */
static int migrate(kvc_gate *gate)
{
    int moved = 0;

    for (int at = 0; at < gate->items; at++) {
        const kvc_gate_item *item = &gate->item[at];
        if (item->entry == NULL || item->state != KVC_GATE_KNOWN || item->id[0] == '\0')
            continue;
        cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(item->entry->json, "id"), item->id);
        item->entry->id = kvc_json_string(item->entry->json, "id");
        moved++;
    }
    return moved;
}

static int add_new(kvc_gate *gate, const kvc_options *options, int *added)
{
    kvc_error error = {""};

    for (int at = 0; at < gate->items; at++) {
        const kvc_gate_item *item = &gate->item[at];
        kvc_baseline_words words = {options->reason, options->address, gate->today, options->expires, NULL, NULL};
        if (item->state != KVC_GATE_NEW)
            continue;
        if (is_elsewhere(gate, item))
            words.from = words.to = item->version;
        else if (count_of(gate, item) > 0)
            continue; /* one entry for all versions */
        if (!kvc_baseline_add(&gate->baseline, item->finding, &words, &error)) {
            kvc_complain(error.text);
            return 0;
        }
        (*added)++;
    }
    return 1;
}

int kvc_command_baseline(const kvc_session *session)
{
    const kvc_options *options = session->options;
    int migrates = strcmp(options->word[0], "migrate") == 0;
    kvc_options inner_options = *options;
    kvc_session inner = *session;
    kvc_error error = {""};
    kvc_gate gate;
    int removed = 0;
    int added = 0;
    int moved = 0;
    int status;

    inner_options.word = options->word + 1;
    inner_options.words = options->words - 1;
    inner.options = &inner_options;
    status = kvc_gate_look(&inner, options->add, &gate);
    if (status == 0) {
        if (migrates)
            moved = migrate(&gate);
        if (options->remove_fixed)
            removed = remove_fixed(&gate);
        if (options->add && !add_new(&gate, options, &added))
            status = KVC_EXIT_INTERNAL;
        if (status == 0 && !kvc_baseline_write(options->baseline, &gate.baseline, &error)) {
            kvc_complain(error.text);
            status = KVC_EXIT_INTERNAL;
        }
        if (status == 0 && !options->quiet)
            (void)printf("%s: %d added, %d removed, %d carried over; %d %s\n", options->baseline, added, removed, moved,
                         gate.baseline.entries, gate.baseline.entries == 1 ? "entry" : "entries");
        if (status == 0 && (gate.not_run > 0 || gate.run_status == KVC_EXIT_NOT_RUN || gate.count[KVC_GATE_UNKNOWN] > 0)) {
            kvc_complain("not all could be run: entries that could not be tried stay as they are");
            status = KVC_EXIT_NOT_RUN;
        }
    }
    if (status == KVC_EXIT_INTERRUPTED) {
        kvc_error_set(&error, "interrupted: %.400s stays as it was", options->baseline);
        kvc_complain(error.text);
    }
    kvc_gate_clear(&gate);
    return status;
}
