/* kvconform gate */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/gate.h"
#include "reports/words.h"

static const char *const words[KVC_GATE_STATES] = {"known", "new", "flaky", "fixed", "matches nothing", "expired", "unknown"};

static const cJSON *case_of(const kvc_gate_item *item)
{
    return item->entry != NULL ? item->entry->item : cJSON_GetObjectItemCaseSensitive(item->finding, "case");
}

static void add_foreign(kvc_text *out, const char *string)
{
    kvc_text_add_terminal_short(out, string, 400);
}

static void add_item(kvc_text *out, const kvc_gate_item *item)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(case_of(item), "ops");
    const cJSON *op;
    kvc_text plain = {0};

    kvc_text_add_format(out, "%s: ", words[item->state]);
    add_foreign(out, item->entry != NULL ? item->entry->title : kvc_json_string(item->finding, "title"));
    kvc_text_add(out, "\n  in:   ");
    if (item->entry != NULL) {
        add_foreign(out, item->entry->target);
    } else {
        add_foreign(out, kvc_json_string(case_of(item), "subject"));
        kvc_text_add(out, ":");
        add_foreign(out, kvc_json_string(case_of(item), "variant"));
    }
    if (item->version[0] != '\0') {
        kvc_text_add(out, ", version ");
        add_foreign(out, item->version);
    }
    kvc_text_add(out, "\n  case: ");
    cJSON_ArrayForEach(op, ops) {
        if (cJSON_IsArray(op) && cJSON_IsString(op->child)) {
            kvc_text_add(&plain, op == ops->child ? "" : ", ");
            kvc_words_add_op(&plain, op);
        }
    }
    add_foreign(out, kvc_text_string(&plain));
    kvc_text_free(&plain);
    kvc_text_add(out, "\n  id:   ");
    add_foreign(out, item->entry != NULL ? item->entry->id : kvc_json_string(item->finding, "id"));
    kvc_text_add(out, "\n");
    if (item->state == KVC_GATE_EXPIRED) {
        kvc_text_add(out, "  accepted until ");
        add_foreign(out, item->entry->expires);
        kvc_text_add(out, "\n");
    }
    if (item->state == KVC_GATE_FLAKY) {
        kvc_words_add_tries(&plain, item->finding);
        kvc_text_add(out, "  seen:");
        add_foreign(out, kvc_text_string(&plain));
        kvc_text_add(out, "\n");
        kvc_text_free(&plain);
    }
    if (item->note[0] != '\0') {
        kvc_text_add(out, "  note: ");
        add_foreign(out, item->note);
        kvc_text_add(out, "\n");
    }
}

/* All that the gate fails for, each with what to do about it. */
static void add_what_to_do(kvc_text *out, const size_t *count)
{
    size_t gone = count[KVC_GATE_FIXED] + count[KVC_GATE_NOTHING];
    const char *before = "FAILED: ";

    if (count[KVC_GATE_NEW] > 0) {
        const char *it = count[KVC_GATE_NEW] == 1 ? "it" : "them";
        kvc_text_add_format(out, "%s%zu new: mend %s, or accept %s with kvconform baseline update --add", before,
                            count[KVC_GATE_NEW], it, it);
        before = "; ";
    }
    if (gone > 0) {
        kvc_text_add_format(out, "%s%zu fixed or gone: remove from the baseline with kvconform baseline update --remove-fixed",
                            before, gone);
        before = "; ";
    }
    if (count[KVC_GATE_EXPIRED] > 0)
        kvc_text_add_format(out, "%s%zu expired: mend, or accept again with another last day", before, count[KVC_GATE_EXPIRED]);
}

/* The first line: passed or not, and what to do. */
static void add_verdict(kvc_text *out, const kvc_gate *gate, int status, int explore)
{
    const size_t *count = gate->count;

    if (explore && status == KVC_EXIT_CONFORMS) {
        kvc_text_add_format(out, "explored: %zu new, which decide nothing; accept or report them", count[KVC_GATE_NEW]);
    } else if (status == KVC_EXIT_CONFORMS) {
        kvc_text_add_format(out, "passed: nothing new, %zu known", count[KVC_GATE_KNOWN]);
    } else if (status == KVC_EXIT_NOT_RUN) {
        kvc_text_add(out, "NOT RUN: not all could be tried; see below what is missing");
    } else {
        add_what_to_do(out, count);
    }
    kvc_text_add(out, "\n");
}

/* The last line. */
static void add_counts(kvc_text *out, const kvc_gate *gate)
{
    kvc_text_add_format(out, "%d %s in the baseline", gate->baseline.entries, gate->baseline.entries == 1 ? "entry" : "entries");
    for (int state = 0; state < KVC_GATE_STATES; state++) {
        if (gate->count[state] > 0)
            kvc_text_add_format(out, ", %zu %s", gate->count[state], words[state]);
    }
    if (gate->covered > 0)
        kvc_text_add_format(out, ", %d known in another way", gate->covered);
    if (gate->elsewhere > 0)
        kvc_text_add_format(out, ", %d of other targets or versions", gate->elsewhere);
    kvc_text_add_format(out, "; seed %s\n", kvc_json_string(gate->result, "seed"));
}

static int verdict_of(const kvc_gate *gate, int explore)
{
    if (!explore && gate->count[KVC_GATE_NEW] + gate->count[KVC_GATE_FIXED] + gate->count[KVC_GATE_NOTHING] +
                            gate->count[KVC_GATE_EXPIRED] > 0)
        return KVC_EXIT_FINDINGS;
    if (gate->not_run > 0 || gate->run_status == KVC_EXIT_NOT_RUN || gate->count[KVC_GATE_UNKNOWN] > 0)
        return KVC_EXIT_NOT_RUN;
    return KVC_EXIT_CONFORMS;
}

/* What could not be run. */
static void add_not_run(kvc_text *out, const kvc_gate *gate)
{
    const cJSON *run;

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(gate->result, "runs")) {
        const char *status = kvc_gate_was_cut_short(run) ? "not run to its end" : kvc_json_string(run, "status");
        if (strncmp(status, "not ", 4) != 0)
            continue;
        kvc_text_add_format(out, "%s: ", status);
        add_foreign(out, kvc_json_string(run, "target"));
        kvc_text_add(out, " ");
        add_foreign(out, kvc_json_string(run, "variant"));
        kvc_text_add(out, ": ");
        add_foreign(out, kvc_json_string(run, "reason"));
        kvc_text_add(out, "\n");
    }
}

static void show(const kvc_gate *gate, int status, int explore, FILE *stream)
{
    kvc_text text = {0};

    add_verdict(&text, gate, status, explore);
    for (int state = KVC_GATE_NEW; state < KVC_GATE_STATES; state++) {
        for (int at = 0; at < gate->items; at++) {
            if (gate->item[at].state == (kvc_gate_state)state)
                add_item(&text, &gate->item[at]);
        }
    }
    add_not_run(&text, gate);
    add_counts(&text, gate);
    (void)fputs(kvc_text_string(&text), stream);
    kvc_text_free(&text);
}

int kvc_command_gate(const kvc_session *session)
{
    kvc_options options = *session->options;
    kvc_session inner = *session;
    kvc_gate gate;
    int status;

    /* Another day, other sequences; whoever gives a seed wants those of that day again. */
    if (options.explore && options.seed == KVC_SEED_STANDARD)
        options.seed = (uint64_t)time(NULL) / 86400;
    inner.options = &options;
    status = kvc_gate_look(&inner, 0, &gate);
    if (status == 0) {
        status = verdict_of(&gate, options.explore);
        if (!options.quiet || status != KVC_EXIT_CONFORMS)
            show(&gate, status, options.explore,
                 options.json != NULL && strcmp(options.json, "-") == 0 ? stderr : stdout);
    }
    if (status == KVC_EXIT_INTERRUPTED)
        kvc_complain("interrupted: nothing is decided");
    kvc_gate_clear(&gate);
    return status;
}
