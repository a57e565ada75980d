/* kvconform run: one variant, portion by portion. */
#include <stdio.h>
#include <string.h>

#include "harness/carry.h"
#include "harness/report_folder.h"
#include "harness/resume.h"
#include "harness/running.h"
#include "harness/shard.h"
#include "harness/system.h"
#include "reports/folder.h"
#include "reports/model.h"
#include "reports/result.h"

enum { PROOF_RUNS = 20000, PROOF_RUNS_LEAST = 1000, PROOF_RUNS_MOST = 40000, DEATHS_PROCESS = 100, SAVE_PART = 20 /* saving takes one part of so many of the time */ };

/* One variant while it is explored. */
typedef struct exploring {
    kvc_running *running;
    kvc_crew *crew;
    kvc_generator *generator;
    kvc_bench bench;
    kvc_selection selection;
    const char *const *variants; /* of the subject */
    kvc_record_run *run;
    cJSON *open;
    cJSON *entry; /* what stands in the result: of a shard `open` itself, otherwise what is joined of it */
    uint64_t sequences;
    uint64_t portion;
    int64_t until_ms; /* the time at which it ends, 0: none */
    kvc_until *until; /* or NULL */
    uint64_t deaths;  /* after which it is given up, 0: no bound */
    const kvc_finding *known[KVC_FINDINGS_MAX];
    int knowns;
} exploring;

void kvc_running_fail(kvc_running *self, const char *error)
{
    kvc_progress_clear(&self->progress);
    kvc_complain(error);
    self->internal = 1;
}

void kvc_running_sweep(kvc_running *self)
{
    /* A search that goes on keeps what is there until its end. */
    if (self->corpus != NULL)
        return;
    if (!self->swept)
        kvc_report_folder_sweep(self->session->options->report, "result.json");
    self->swept = 1;
}

int kvc_running_keep(const kvc_running *self, cJSON *result)
{
    if (self->corpus != NULL)
        return kvc_carry_runs(self->earlier, result);
    return self->session->options->shards > 0 ? kvc_shard_keep(result, self->earlier) : kvc_resume_keep(result, self->earlier);
}

/* Writes the result to every place that is to have it while the run goes on. Returns 0 with `error` set. */
static int write_so_far(kvc_running *self, const cJSON *result, const cJSON *entry, char *error, size_t size)
{
    const kvc_options *options = self->session->options;

    if (options->report != NULL) {
        kvc_running_sweep(self);
        if (kvc_report_folder_write_cases(options->report, entry, error, size) != 0 ||
            kvc_report_folder_write_json(options->report, "result.json", result, error, size) != 0)
            return 0;
    }
    return !(options->resume || options->shards > 0) || options->json == NULL || strcmp(options->json, "-") == 0 ||
           kvc_result_write_file(options->json, result, error, size) == 0;
}

void kvc_running_save(kvc_running *self, const cJSON *entry)
{
    int64_t start = kvc_now_ms();
    cJSON *whole = NULL;
    char error[640] = "";

    if (self->internal)
        return;
    if (self->earlier != NULL && ((whole = cJSON_Duplicate(self->result, 1)) == NULL || !kvc_running_keep(self, whole)))
        kvc_running_fail(self, "not enough memory");
    else if (!write_so_far(self, whole != NULL ? whole : self->result, entry, error, sizeof error))
        kvc_running_fail(self, error);
    cJSON_Delete(whole);
    self->next_save_ms = kvc_now_ms() + (kvc_now_ms() - start) * SAVE_PART;
}

static void fail_memory(kvc_running *self)
{
    kvc_running_fail(self, "not enough memory");
}

void kvc_running_add(kvc_running *self, const kvc_record_run *run)
{
    kvc_error ignored;
    cJSON *open = kvc_record_open(run, NULL);
    cJSON *entry = open != NULL ? kvc_portions_join(open, &ignored) : NULL;

    cJSON_Delete(open);
    if (entry != NULL && cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(self->result, "runs"), entry))
        return;
    cJSON_Delete(entry);
    fail_memory(self);
}

void kvc_running_not_run(kvc_running *self, const kvc_record_run *run, const char *reason)
{
    kvc_record_run entry = *run;

    entry.status = "not run";
    entry.reason = reason;
    self->not_run = 1;
    kvc_running_add(self, &entry);
}

const char *kvc_running_broken_off(const kvc_running *self)
{
    return self->interrupted ? "interrupted before it began" : "an error ended the run before it began";
}

/* A time is not shared out: whoever gives one says how long each variant may take. */
uint64_t kvc_running_sequences(const kvc_running *self, const kvc_spec *spec)
{
    const kvc_options *options = self->session->options;
    uint64_t share = spec != NULL && kvc_options_bounds_sequences(options) && options->verb != KVC_VERB_FUZZ ? (uint64_t)spec->share : 1;

    return options->sequences / share > 0 ? options->sequences / share : 1;
}

/* Takes a variant over from the result to go on with. Returns 0 when it is not there. */
static int take_over(kvc_running *self, const kvc_record_run *run, const kvc_spec *spec)
{
    const cJSON *there = kvc_resume_find(self->earlier, run->target, run->version, run->variant, run->contract);
    cJSON *entry;

    if (there == NULL)
        return 0;
    entry = cJSON_Duplicate(there, 1);
    if (entry == NULL || !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(self->result, "runs"), entry)) {
        cJSON_Delete(entry);
        fail_memory(self);
        return 1;
    }
    self->ran++;
    self->findings |= cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "findings")) > 0;
    kvc_running_save(self, entry);
    if (kvc_options_bounds_sequences(self->session->options))
        self->progress.total -= kvc_running_sequences(self, spec);
    return 1;
}

/* How many portions a variant has. */
static uint64_t portions_of(const exploring *self)
{
    uint64_t count = self->sequences / self->portion + (self->sequences % self->portion != 0);

    return count < KVC_PORTIONS_MAX ? count : KVC_PORTIONS_MAX;
}

/* The entry in the result becomes what the portions so far make of it. Returns 0 when memory is short. */
static int renew(exploring *self, int finished)
{
    kvc_running *running = self->running;
    cJSON *runs = cJSON_GetObjectItemCaseSensitive(running->result, "runs");
    kvc_error error = {""};
    cJSON *entry;

    if (running->session->options->shards > 0)
        return 1;
    entry = kvc_portions_join(self->open, &error);
    if (entry == NULL) {
        kvc_running_fail(running, error.text);
        return 0;
    }
    /* Told of what a crash leaves behind, so that it is not taken for the whole. */
    if (!finished) {
        cJSON *status = cJSON_GetObjectItemCaseSensitive(entry, "status");
        cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(entry, "reason"), "stopped between two portions");
        if (strcmp(status->valuestring, "conforms") == 0)
            cJSON_SetValuestring(status, "not run");
    }
    if (self->entry == NULL)
        cJSON_AddItemToArray(runs, entry);
    else
        cJSON_ReplaceItemViaPointer(runs, self->entry, entry);
    self->entry = entry;
    return 1;
}

/* What single layers are studied with: as in runs of their own in the standard profile, up to one portion. */
static int open_links(exploring *self)
{
    const kvc_options *options = self->running->session->options;
    kvc_layer_links_options links = {.crew = self->crew, .catalogue = self->bench.catalogue, .contract = self->bench.contract,
                                     .variants = self->variants, .selection = self->selection, .portion = self->portion,
                                     .deaths = self->deaths};

    /* A fault of a layer has its name from what any caller may do, whatever the model was asked. */
    kvc_profile_of(KVC_HOSTILE, &links.selection.draws);
    links.sequences = kvc_options_bounds_sequences(options) && options->verb != KVC_VERB_FUZZ ? options->sequences : KVC_BUDGET_STANDARD;
    if (self->running->links == NULL)
        self->running->links = kvc_layer_links_open(&links);
    return self->running->links != NULL;
}

/* Of a whole model: what its cache is made of, and what is told of its findings besides. */
static kvc_crew_result complete_model(exploring *self, kvc_exploration *exploration, kvc_error *error)
{
    cJSON *there = cJSON_GetObjectItemCaseSensitive(self->open, "layers");
    cJSON *layers = NULL;
    const cJSON *layer;
    kvc_crew_result result;

    kvc_error_set(error, "not enough memory");
    if (!open_links(self))
        return KVC_CREW_FAILED;
    result = cJSON_GetArraySize(there) == 0 ? kvc_model_layers(&self->bench, &self->bench.smallest, &layers, error) : KVC_CREW_DONE;
    cJSON_ArrayForEach(layer, cJSON_GetObjectItemCaseSensitive(layers, "layers"))
        cJSON_AddItemToArray(there, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(layer, "class"), 1));
    cJSON_Delete(layers);
    return result == KVC_CREW_DONE ? kvc_model_findings_complete(&self->bench, &self->selection, self->variants, self->running->links,
                                                                 exploration, error)
                                   : result;
}

/* Whether those who asked for the run know a finding. */
static int is_known(void *context, const kvc_finding *finding)
{
    const exploring *self = context;
    const kvc_known *known = self->running->session->known;
    const kvc_spec *spec = self->bench.spec;

    return known->covers(known->context, self->run->subject, self->run->version, self->run->variant,
                         spec->layers > 0 ? spec->layer_choice[finding->params.layers] : NULL, finding);
}

/*
 * What the subject could not run from the start: it is none of its caches, or nobody expected that it could be run (a model that cannot
 * be made small). All else is an error.
 */
static kvc_portion_end how_it_failed(const exploring *self, const kvc_exploration *exploration)
{
    const kvc_exemptions *exemptions = kvc_catalogue_exemptions(self->running->session->catalogue, self->run->subject);

    if (exploration->sequences > 0)
        return KVC_PORTION_FAILED;
    if (kvc_crew_is_absent(self->crew))
        return KVC_PORTION_ABSENT;
    return exemptions != NULL && kvc_exemptions_find(exemptions, self->run->version, self->run->variant) != NULL ? KVC_PORTION_NOT_COVERED
                                                                                                               : KVC_PORTION_FAILED;
}

/* Explores one portion and adds what came of it. Returns 0 when nothing more of the variant is to be run. */
static int explore_portion(exploring *self, uint64_t number)
{
    kvc_running *running = self->running;
    uint64_t first = number * self->portion;
    uint64_t left = self->sequences - first;
    kvc_explore_options options = {.first = first, .sequences = left < self->portion ? left : self->portion, .until = self->until,
                                   .scripts = 1, .deaths = self->deaths, .known = self->known, .knowns = self->knowns,
                                   .is_known = running->session->known != NULL ? is_known : NULL, .context = self};
    kvc_portion_end end = KVC_PORTION_WHOLE;
    kvc_exploration *exploration = kvc_exploration_open();
    kvc_error error = {""};
    kvc_crew_result result;
    int good;
    int over;

    if (exploration == NULL) {
        fail_memory(running);
        return 0;
    }
    if (self->until_ms > 0) {
        options.milliseconds = self->until_ms - kvc_now_ms();
        if (options.milliseconds < 1)
            options.milliseconds = 1;
    }
    result = kvc_crew_choose(self->crew, &self->selection, self->generator, &error);
    if (result == KVC_CREW_STOPPED && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(self->open, "portions")) == 0) {
        running->interrupted = 1;
        kvc_exploration_close(exploration);
        return 0;
    }
    /* One that was stopped before it began is told too: those before it are not the whole. */
    if (result == KVC_CREW_DONE)
        result = kvc_explore(&self->bench, self->generator, &options, exploration, &error);
    if (result == KVC_CREW_DONE && self->bench.spec->kind == KVC_KIND_MODEL && self->bench.spec->view[0].rule == KVC_RULE_PREDICTED)
        result = complete_model(self, exploration, &error);
    if (result == KVC_CREW_FAILED)
        end = how_it_failed(self, exploration);
    else if (result == KVC_CREW_STOPPED)
        end = KVC_PORTION_INTERRUPTED;
    else if (exploration->deaths > 0)
        end = KVC_PORTION_GIVEN_UP;
    good = kvc_portion_add(self->open, (int64_t)number, self->run, &self->bench, exploration, end,
                           end >= KVC_PORTION_FAILED ? error.text : "");
    if (!good)
        fail_memory(running);
    running->progress.done += self->until_ms > 0 ? exploration->sequences : options.sequences;
    running->interrupted |= end == KVC_PORTION_INTERRUPTED;
    running->not_covered |= end == KVC_PORTION_NOT_COVERED;
    running->ran -= end >= KVC_PORTION_ABSENT;
    running->not_run |= end == KVC_PORTION_FAILED || (end != KVC_PORTION_WHOLE && end < KVC_PORTION_FAILED && exploration->findings == 0);
    running->findings |= exploration->findings > 0;
    over = self->until != NULL && exploration->sequences < options.sequences;
    if (self->until != NULL)
        kvc_until_add(self->until, &exploration->coverage, exploration->sequences);
    kvc_exploration_close(exploration);
    if (over || !good || end != KVC_PORTION_WHOLE)
        return 0;
    return self->until_ms == 0 || kvc_now_ms() < self->until_ms;
}

/* Takes a portion over from the file of the shard to go on with. Returns 0 when it is not there, or did not come to its end. */
static int take_portion(exploring *self, uint64_t number, int *more)
{
    const cJSON *there = kvc_shard_find(self->running->earlier, self->run);
    const cJSON *portion = kvc_portion_find(there, (int64_t)number);
    cJSON *copy;

    if (portion == NULL || !kvc_portion_is_done(portion))
        return 0;
    copy = cJSON_Duplicate(portion, 1);
    if (copy == NULL || !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(self->open, "portions"), copy)) {
        cJSON_Delete(copy);
        fail_memory(self->running);
    }
    self->running->findings |= cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(portion, "findings")) > 0;
    *more = kvc_portion_ended(portion) == KVC_PORTION_WHOLE;
    return 1;
}

static void explore_portions(exploring *self)
{
    kvc_running *running = self->running;
    const kvc_options *options = running->session->options;
    uint64_t count = portions_of(self);
    uint64_t unit = running->units;
    int more = 1;

    running->units += count;
    for (uint64_t number = 0; number < count && more && !running->internal; number++) {
        if (options->shards > 0 && (unit + number) % options->shards != options->shard - 1)
            continue;
        /* A shard that is stopped still takes over what the file to go on with has, so that nothing of it is lost. */
        if (options->shards == 0 || !take_portion(self, number, &more)) {
            if (running->interrupted)
                continue;
            more = explore_portion(self, number);
            if (!running->internal && number + 1 < count && more && kvc_now_ms() >= running->next_save_ms &&
                renew(self, 0))
                kvc_running_save(running, self->entry);
        }
    }
    if (running->internal)
        return;
    if (options->shards == 0 && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(self->open, "portions")) == 0)
        kvc_running_not_run(running, self->run, "interrupted before it began");
    else if (renew(self, 1))
        kvc_running_save(running, self->entry);
}

/* How long this variant may take: its own bound, and its part of what is left of that of the run. 0: no bound; -1: nothing is left. */
static int64_t time_of(const kvc_running *self)
{
    const kvc_options *options = self->session->options;
    int64_t left;

    if (options->run_milliseconds == 0)
        return options->milliseconds;
    left = self->began_ms + options->run_milliseconds - kvc_now_ms();
    if (left <= 0)
        return -1;
    left /= self->targets_left > 0 ? self->targets_left : 1;
    left /= self->variants_left > 0 ? self->variants_left : 1;
    left = left > 0 ? left : 1;
    return options->milliseconds > 0 && options->milliseconds < left ? options->milliseconds : left;
}

/* What ended by the clock, or when enough was covered, says by which number of sequences it is run again. */
static void add_budget(exploring *self)
{
    if (self->entry != NULL && self->until != NULL)
        cJSON_AddItemToObject(self->entry, "covered", kvc_until_print(self->until));
    if (self->entry != NULL && (self->until_ms > 0 || self->until != NULL))
        cJSON_AddNumberToObject(self->entry, "budget",
                                kvc_json_number(self->entry, "sequences") * self->bench.spec->share);
}

static void choose(exploring *self, const kvc_contract *contract)
{
    const kvc_options *options = self->running->session->options;
    const kvc_record_run *run = self->run;

    self->selection.seed = options->seed;
    self->selection.draws = options->draws;
    (void)snprintf(self->selection.subject, sizeof self->selection.subject, "%s", run->subject);
    (void)snprintf(self->selection.version, sizeof self->selection.version, "%s", run->version);
    (void)snprintf(self->selection.variant, sizeof self->selection.variant, "%s", run->variant);
    (void)snprintf(self->selection.contract, sizeof self->selection.contract, "%s", contract->id);
    self->bench.smallest = kvc_generator_smallest(self->generator);
}

static void run_open(exploring *self)
{
    kvc_running *running = self->running;
    const kvc_options *options = running->session->options;
    kvc_record_run *run = self->run;
    kvc_error error = {""};
    int64_t time = time_of(running);

    if (time < 0) {
        kvc_running_not_run(running, run, "the time of --time was over before it began");
        return;
    }
    self->until_ms = time > 0 ? kvc_now_ms() + time : 0;
    run->status = "conforms";
    self->open = kvc_record_open(run, &(kvc_record_explored){&self->bench, self->generator});
    if (self->open == NULL) {
        fail_memory(running);
        return;
    }
    running->ran++;
    if (options->shards > 0) {
        cJSON_AddNumberToObject(self->open, "total", (double)portions_of(self));
        self->entry = self->open;
        cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(running->result, "runs"), self->open);
    }
    if (options->until_covered > 0 && (self->until = kvc_until_open(self->generator, options->until_covered, &error)) == NULL)
        kvc_running_fail(running, error.text);
    else
        explore_portions(self);
    add_budget(self);
    kvc_until_close(self->until);
    if (options->shards == 0)
        cJSON_Delete(self->open);
}

/* Runs that a proof may take. Where each takes a context of its own they are half as many as sequences were asked for. */
static uint64_t proof_runs(const kvc_spec *spec, uint64_t sequences)
{
    if (spec->memory == 0)
        return PROOF_RUNS;
    return sequences / 2 < PROOF_RUNS_LEAST ? PROOF_RUNS_LEAST : sequences / 2 > PROOF_RUNS_MOST ? PROOF_RUNS_MOST : sequences / 2;
}

void kvc_running_variant(kvc_running *self, kvc_crew *crew, const kvc_spec *spec, kvc_record_run *run,
                         const kvc_contract *contract, const char *const *variants, int in_process)
{
    const kvc_session *session = self->session;
    const kvc_options *options = session->options;
    kvc_error error = {""};
    exploring one = {.running = self, .crew = crew, .variants = variants, .run = run, .portion = options->portion,
                           .deaths = in_process ? 0 : DEATHS_PROCESS};

    if (options->shards == 0 && self->corpus == NULL && take_over(self, run, spec))
        return;
    if (self->internal || (self->interrupted && options->shards == 0)) {
        kvc_running_not_run(self, run, kvc_running_broken_off(self));
        return;
    }
    one.sequences = kvc_running_sequences(self, spec);
    one.bench = (kvc_bench){crew, session->catalogue, contract, spec, run->variant, kvc_params_standard(),
                            proof_runs(spec, one.sequences), NULL};
    one.generator = kvc_generator_open_draws(session->catalogue, contract, spec, run->variant, run->version, variants,
                                             options->seed, &options->draws, &error);
    if (one.generator == NULL) {
        kvc_running_not_run(self, run, error.text);
        return;
    }
    choose(&one, contract);
    if (session->known != NULL)
        one.knowns = session->known->of(session->known->context, run->subject, run->version, run->variant, one.known, KVC_FINDINGS_MAX);
    if (self->corpus != NULL)
        kvc_running_search(self, &one.bench, one.generator, &one.selection, run, one.sequences);
    else
        run_open(&one);
    kvc_generator_close(one.generator);
}
