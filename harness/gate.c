#include "harness/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/case_files.h"
#include "harness/replay.h"
#include "harness/target.h"
#include "reports/model.h"

enum { TRIES = 3 };

/* Adds an item; NULL when memory is short. */
static kvc_gate_item *add(kvc_gate *gate, kvc_gate_state state, kvc_baseline_entry *entry)
{
    kvc_gate_item *grown = realloc(gate->item, ((size_t)gate->items + 1) * sizeof *grown);

    if (grown == NULL)
        return NULL;
    gate->item = grown;
    grown[gate->items] = (kvc_gate_item){.state = state, .entry = entry};
    gate->count[state]++;
    return &grown[gate->items++];
}

static void restate(kvc_gate *gate, kvc_gate_item *item, kvc_gate_state state)
{
    gate->count[item->state]--;
    gate->count[state]++;
    item->state = state;
}

static kvc_gate_item *item_of(const kvc_gate *gate, const kvc_baseline_entry *entry)
{
    for (int at = 0; at < gate->items; at++) {
        if (gate->item[at].entry == entry)
            return &gate->item[at];
    }
    return NULL;
}

static int is_told(const kvc_gate *gate, const char *id, const char *variant, const char *version)
{
    for (int at = 0; at < gate->items; at++) {
        const cJSON *finding = gate->item[at].finding;
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(finding, "case");
        if (finding != NULL && strcmp(kvc_json_string(finding, "id"), id) == 0 &&
            strcmp(kvc_json_string(item, "variant"), variant) == 0 && strcmp(gate->item[at].version, version) == 0)
            return 1;
    }
    return 0;
}

static const char *platform_of(const cJSON *object)
{
    return kvc_json_string(cJSON_GetObjectItemCaseSensitive(object, "environment"), "platform");
}

/* Runs a case up to three times: one that fails now and then is not gone. Returns what kvc_replayer_run does. */
static int try_case(kvc_replayer *replayer, const kvc_case *item, int until_broken, kvc_replayed *out, kvc_error *error)
{
    int status = kvc_replayer_run(replayer, item, out, error);

    for (int at = 1; at < TRIES && status == 0 && until_broken && out->outcome == KVC_CASE_CONFORMS; at++) {
        kvc_replayed_clear(out);
        status = kvc_replayer_run(replayer, item, out, error);
    }
    return status;
}

/* What a run of a case showed, in a word. */
static void tell_try(cJSON *tries, const kvc_replayed *replayed)
{
    char text[128];

    if (replayed->outcome == KVC_CASE_BREAKS)
        (void)snprintf(text, sizeof text, "%s", replayed->id);
    else
        (void)snprintf(text, sizeof text, "%s", kvc_case_outcome_text(replayed->outcome, KVC_ALIVE));
    cJSON_AddItemToArray(tries, cJSON_CreateString(text));
}

/* Runs a case that broke a law again: three times in all must agree, else it is flaky. Returns what kvc_replayer_run does. */
static int repeat(kvc_replayer *replayer, const kvc_case *item, const kvc_replayed *first, cJSON *tries, kvc_gate_state *state,
                  kvc_error *error)
{
    int status = 0;

    *state = KVC_GATE_NEW;
    tell_try(tries, first);
    for (int at = 1; at < TRIES && status == 0; at++) {
        kvc_replayed again = {.detail = NULL};
        status = kvc_replayer_run(replayer, item, &again, error);
        if (status == 0) {
            tell_try(tries, &again);
            if (again.outcome != KVC_CASE_BREAKS || strcmp(again.id, first->id) != 0)
                *state = KVC_GATE_FLAKY;
        }
        kvc_replayed_clear(&again);
    }
    return status;
}

/* A finding that a case of the corpus shows and nothing holds. */
static int meet(kvc_gate *gate, kvc_gate_state state, const cJSON *tries, const kvc_replayed *replayed, const kvc_case *item,
                const kvc_spec *spec, const char *path)
{
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(replayed->detail, "title");
    kvc_gate_item *told = add(gate, state, NULL);
    kvc_case met = *item;

    if (told == NULL)
        return 0;
    (void)snprintf(met.subject, sizeof met.subject, "%s", replayed->subject);
    (void)snprintf(met.version, sizeof met.version, "%s", replayed->version);
    (void)snprintf(told->version, sizeof told->version, "%s", replayed->version);
    (void)snprintf(told->note, sizeof told->note, "shown by %.300s", path);
    told->finding = cJSON_CreateObject();
    cJSON_AddItemToObject(told->finding, "tries", cJSON_Duplicate(tries, 1));
    cJSON_AddStringToObject(told->finding, "id", replayed->id);
    cJSON_AddStringToObject(told->finding, "law", kvc_law_name(replayed->law));
    cJSON_AddStringToObject(told->finding, "title", cJSON_IsString(title) ? title->valuestring : path);
    cJSON_AddItemToObject(told->finding, "case", kvc_case_print(&met, spec));
    return 1;
}

/* One target: its subject runs, and the cases that it takes are tried. */
typedef struct trying {
    const kvc_session *session;
    kvc_gate *gate;
    kvc_replayer *replayer;
    const kvc_target *target;
    const char *subject, *version, *platform;
} trying;

static kvc_baseline_place place_of(const trying *self, const char *variant, const char *dtype)
{
    return (kvc_baseline_place){self->subject, self->version, variant, self->platform, dtype};
}

/* Whether an entry is to be tried here: its case is of this subject, its conditions hold, and the target takes its variant. */
static int concerns(const trying *self, const kvc_baseline_entry *entry)
{
    const char *variant = kvc_json_string(entry->item, "variant");
    kvc_baseline_place place = place_of(self, variant, "");

    return strcmp(kvc_json_string(entry->item, "subject"), self->subject) == 0 && kvc_target_takes(self->target, variant) &&
           kvc_baseline_applies(entry, &place);
}

/* The case of an entry. Returns 0, or an exit status when nothing more can be tried. */
static int try_entry(trying *self, kvc_baseline_entry *entry)
{
    kvc_gate_item *item = item_of(self->gate, entry);
    int is_first = item == NULL;
    kvc_gate_state state;
    char *text = cJSON_PrintUnformatted(entry->item);
    kvc_replayed replayed = {.detail = NULL};
    kvc_error error = {""};
    kvc_case one;
    int good;

    if (item == NULL)
        item = add(self->gate, KVC_GATE_UNKNOWN, entry);
    if (item == NULL || text == NULL) {
        cJSON_free(text);
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    /* Of several versions one that shows it, then one that could not be tried, counts more than one where it is gone. */
    if (item->state == KVC_GATE_KNOWN) {
        cJSON_free(text);
        return 0;
    }
    good = kvc_case_parse(text, strlen(text), entry->id, self->session->catalogue, &one, &error) &&
           try_case(self->replayer, &one, 1, &replayed, &error) == 0;
    state = !good                                                                    ? KVC_GATE_UNKNOWN
            : replayed.outcome == KVC_CASE_BREAKS && replayed.law == entry->law ? KVC_GATE_KNOWN
                                                                                     : KVC_GATE_FIXED;
    if (is_first || state != KVC_GATE_FIXED) {
        restate(self->gate, item, state);
        (void)snprintf(item->version, sizeof item->version, "%s", self->version);
        item->note[0] = '\0';
        if (state == KVC_GATE_UNKNOWN)
            (void)snprintf(item->note, sizeof item->note, "%.390s", error.text);
        else if (state == KVC_GATE_FIXED)
            (void)snprintf(item->note, sizeof item->note, "its case %s on %s %s",
                           replayed.outcome == KVC_CASE_BREAKS ? kvc_law_name(replayed.law)
                                                               : kvc_case_outcome_text(replayed.outcome, KVC_ALIVE),
                           replayed.subject, replayed.version);
    }
    if (state == KVC_GATE_KNOWN) {
        (void)snprintf(item->id, sizeof item->id, "%s", strcmp(replayed.id, entry->id) != 0 ? replayed.id : "");
        if (replayed.id[0] != '\0' && (item->shown = malloc(sizeof *item->shown)) != NULL)
            *item->shown = replayed.finding;
    }
    cJSON_free(text);
    kvc_replayed_clear(&replayed);
    return *self->session->stop ? KVC_EXIT_INTERRUPTED : 0;
}

/* One case of the corpus. What it shows and the baseline does not hold is new. */
static int try_file(trying *self, const char *path)
{
    const kvc_case_expect *expect;
    kvc_replayed replayed = {.detail = NULL};
    kvc_baseline_place place;
    kvc_error error = {""};
    kvc_case one;
    int status;

    if (!kvc_case_read(path, self->session->catalogue, &one, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    if (strcmp(one.subject, self->subject) != 0 || !kvc_target_takes(self->target, one.variant))
        return 0;
    expect = kvc_case_expected(&one, self->version);
    status = try_case(self->replayer, &one, expect != NULL && expect->outcome == KVC_CASE_BREAKS, &replayed, &error);
    if (status == KVC_EXIT_NOT_RUN)
        return 0; /* what cannot be run is told by the run itself */
    if (status != 0) {
        kvc_complain(error.text);
        return status;
    }
    place = place_of(self, one.variant, kvc_dtype_name((kvc_dtype)one.params.dtype));
    if (replayed.outcome == KVC_CASE_BREAKS && kvc_baseline_find(&self->gate->baseline, replayed.id, &place) == NULL &&
        !is_told(self->gate, replayed.id, one.variant, self->version) &&
        !kvc_gate_knows(self->session, self->gate, self->replayer, &replayed, one.variant)) {
        cJSON *tries = cJSON_CreateArray();
        kvc_gate_state state;
        error.text[0] = '\0';
        status = repeat(self->replayer, &one, &replayed, tries, &state, &error);
        if (status == 0 && !meet(self->gate, state, tries, &replayed, &one,
                                 kvc_catalogue_spec(self->session->catalogue, self->subject, one.variant), path)) {
            kvc_error_set(&error, "not enough memory");
            status = KVC_EXIT_INTERNAL;
        }
        cJSON_Delete(tries);
        if (status != 0)
            kvc_complain(error.text);
    }
    kvc_replayed_clear(&replayed);
    return status == 0 && *self->session->stop ? KVC_EXIT_INTERRUPTED : status;
}

/* All cases of one target. One that cannot be started is left to the run, which says so. */
static int try_target(trying *self, const char *text)
{
    const kvc_options *options = self->session->options;
    kvc_case_files files = {NULL, 0};
    kvc_error error = {""};
    const cJSON *hello;
    int status = kvc_replayer_start(self->replayer, text, &error);

    if (status == KVC_EXIT_NOT_RUN)
        return *self->session->stop ? KVC_EXIT_INTERRUPTED : 0;
    if (status != 0) {
        kvc_complain(error.text);
        return status;
    }
    hello = kvc_replayer_hello(self->replayer);
    self->subject = kvc_json_string(hello, "subject");
    self->version = kvc_json_string(hello, "version");
    self->platform = platform_of(hello);
    for (int at = 0; at < self->gate->baseline.entries && status == 0; at++) {
        if (concerns(self, &self->gate->baseline.entry[at]))
            status = try_entry(self, &self->gate->baseline.entry[at]);
    }
    if (options->cases != NULL && status == 0) {
        if (!kvc_case_files_find(&options->cases, 1, &files, &error)) {
            kvc_complain(error.text);
            status = KVC_EXIT_USAGE;
        }
        for (int at = 0; at < files.count && status == 0; at++)
            status = try_file(self, files.path[at]);
        kvc_case_files_clear(&files);
    }
    return status;
}

static int try_cases(const kvc_session *session, kvc_gate *gate)
{
    trying self = {.session = session, .gate = gate, .replayer = gate->replayer};
    kvc_target *target = malloc(sizeof *target);
    kvc_error error = {""};
    int status = 0;

    self.target = target;
    if (self.replayer == NULL || target == NULL) {
        kvc_complain("not enough memory");
        status = KVC_EXIT_INTERNAL;
    }
    for (int at = 0; at < session->options->words && status == 0; at++) {
        if (kvc_target_parse(session->options->word[at], session->options, target, &error) == KVC_TARGET_READY) {
            status = try_target(&self, session->options->word[at]);
        } else {
            kvc_complain(error.text);
            status = KVC_EXIT_USAGE;
        }
    }
    free(target);
    return status;
}

/* The findings of one entry of `runs`. */
static int take_run(kvc_gate *gate, const cJSON *run)
{
    const char *version = kvc_json_string(run, "version");
    const cJSON *finding;

    cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(run, "findings")) {
        const cJSON *params = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "params");
        kvc_baseline_place place = {kvc_json_string(run, "subject"), version, kvc_json_string(run, "variant"), platform_of(run),
                                    kvc_json_string(params, "dtype")};
        kvc_baseline_entry *entry = kvc_baseline_find(&gate->baseline, kvc_json_string(finding, "id"), &place);
        kvc_gate_item *item = entry != NULL ? item_of(gate, entry) : NULL;
        if (item != NULL) {
            restate(gate, item, KVC_GATE_KNOWN);
            item->id[0] = item->note[0] = '\0';
        } else if (entry != NULL) {
            item = add(gate, KVC_GATE_KNOWN, entry);
        } else if (!is_told(gate, kvc_json_string(finding, "id"), place.variant, version)) {
            item = add(gate, kvc_json_true(finding, "flaky") ? KVC_GATE_FLAKY : KVC_GATE_NEW, NULL);
            if (item != NULL)
                item->finding = cJSON_Duplicate(finding, 1);
        } else {
            continue;
        }
        if (item == NULL)
            return 0;
        (void)snprintf(item->version, sizeof item->version, "%s", version);
    }
    return 1;
}

/* An entry that nothing has spoken of: does its target match what was run? */
static int take_entry(kvc_gate *gate, kvc_baseline_entry *entry, const kvc_session *session)
{
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(gate->result, "runs");
    const cJSON *run;
    kvc_target *target = malloc(sizeof *target);
    kvc_error ignored;
    int matched = 0;
    int whole = 0;

    cJSON_ArrayForEach(run, runs) {
        kvc_baseline_place place = {kvc_json_string(run, "subject"), kvc_json_string(run, "version"),
                                    kvc_json_string(run, "variant"), "", ""};
        size_t length = strlen(place.subject);
        matched |= kvc_baseline_matches(entry, &place);
        /* Of a subject that was run as a whole every variant is known, but for caches that are broken on purpose. */
        if (target != NULL && strncmp(entry->target, place.subject, length) == 0 && entry->target[length] == ':' &&
            kvc_target_parse(kvc_json_string(run, "target"), session->options, target, &ignored) == KVC_TARGET_READY)
            whole |= target->variant[0] == '\0' && kvc_target_takes(target, entry->target + length + 1);
    }
    free(target);
    if (matched || !whole) {
        gate->elsewhere++;
        return 1;
    }
    return add(gate, KVC_GATE_NOTHING, entry) != NULL;
}

int kvc_gate_was_cut_short(const cJSON *run)
{
    return strcmp(kvc_json_string(run, "status"), "findings") == 0 && kvc_json_string(run, "reason")[0] != '\0';
}

static int settle(const kvc_session *session, kvc_gate *gate)
{
    const cJSON *run;
    int good = 1;

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(gate->result, "runs")) {
        good = good && take_run(gate, run);
        /* The exit status of a run with findings does not tell. */
        gate->not_run += kvc_gate_was_cut_short(run) || strcmp(kvc_json_string(run, "status"), "not run") == 0;
    }
    for (int at = 0; good && at < gate->baseline.entries; at++) {
        kvc_gate_item *item = item_of(gate, &gate->baseline.entry[at]);
        if (item == NULL)
            good = take_entry(gate, &gate->baseline.entry[at], session);
        else if (item->state == KVC_GATE_KNOWN && kvc_baseline_expired(item->entry, gate->today))
            restate(gate, item, KVC_GATE_EXPIRED);
    }
    if (!good)
        kvc_complain("not enough memory");
    return good ? 0 : KVC_EXIT_INTERNAL;
}

/* What the cases of the baseline have shown of a variant. */
static int known_of(const void *context, const char *subject, const char *version, const char *variant, const kvc_finding **out, int most)
{
    const kvc_gate *gate = context;
    kvc_baseline_place place = {subject, version, variant, "", ""};
    int count = 0;

    for (int at = 0; at < gate->items && count < most; at++) {
        if (kvc_gate_speaks_of(&gate->item[at], &place) && strcmp(gate->item[at].version, version) == 0)
            out[count++] = gate->item[at].shown;
    }
    return count;
}

static int covers(const void *context, const char *subject, const char *version, const char *variant, const char *layers,
                  const kvc_finding *met)
{
    return kvc_gate_covers(context, met, subject, version, variant, layers);
}

static kvc_crew *lend(const void *context, const char *target)
{
    const kvc_gate *gate = context;

    return kvc_replayer_lend(gate->replayer, target);
}

int kvc_gate_look(const kvc_session *session, int may_be_new, kvc_gate *gate)
{
    time_t now = time(NULL);
    struct tm day;
    kvc_error error = {""};
    const kvc_known known = {known_of, covers, lend, gate};
    kvc_session running = *session;
    int is_there;
    int status;

    memset(gate, 0, sizeof *gate);
    (void)strftime(gate->today, sizeof gate->today, "%Y-%m-%d", gmtime_r(&now, &day));
    is_there = access(session->options->baseline, F_OK) == 0 || errno != ENOENT;
    if (!is_there && !may_be_new)
        kvc_error_set(&error, "%.300s: there is no such file: kvconform baseline update --add makes it", session->options->baseline);
    if (error.text[0] != '\0' || (is_there && !kvc_baseline_read(session->options->baseline, &gate->baseline, &error))) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    gate->replayer = kvc_replayer_open(session, session->options->jobs);
    status = try_cases(session, gate);
    if (status != 0)
        return status;
    running.known = &known;
    gate->run_status = kvc_run_targets(&running, &gate->result);
    if (gate->result == NULL || gate->run_status == KVC_EXIT_USAGE || gate->run_status == KVC_EXIT_INTERNAL ||
        gate->run_status == KVC_EXIT_INTERRUPTED)
        return gate->run_status;
    status = settle(session, gate);
    return status == 0 ? kvc_gate_cover(session, gate) : status;
}

void kvc_gate_clear(kvc_gate *gate)
{
    for (int at = 0; at < gate->items; at++) {
        cJSON_Delete(gate->item[at].finding);
        free(gate->item[at].shown);
    }
    free(gate->item);
    cJSON_Delete(gate->result);
    kvc_replayer_close(gate->replayer);
    kvc_baseline_clear(&gate->baseline);
    memset(gate, 0, sizeof *gate);
}
