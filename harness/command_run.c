/* kvconform run */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/carry.h"
#include "harness/commands.h"
#include "harness/progress.h"
#include "harness/record.h"
#include "harness/report_folder.h"
#include "harness/resume.h"
#include "harness/target.h"
#include "harness/uncovered.h"
#include "reports/folder.h"
#include "reports/merge.h"
#include "reports/result.h"
#include "reports/summary.h"

enum { PLUGIN_MEMORY_MB = 1024, PLUGIN_GROWTH_MB = 16, PROOF_RUNS = 20000, PROOF_RUNS_LEAST = 1000, PROOF_RUNS_MOST = 40000, DEATHS_PROCESS = 100 };

/* The state of a whole run. */
typedef struct running {
    const kvc_session *session;
    cJSON *result;
    cJSON *earlier; /* the result to go on with, or NULL */
    kvc_progress progress;
    int ran; /* variants that conform or have findings */
    int findings;
    int not_run;
    int not_covered;
    int internal;
    int interrupted;
    int summarised_elsewhere; /* the caller takes the result and says what came of it */
    kvc_corpus *corpus; /* fuzz: what guides the workers */
    const char *corpus_folder; /* fuzz: where it is kept */
    int swept; /* the report folder holds nothing of an earlier run any more */
} running;

static void fail(running *self, const char *error)
{
    kvc_progress_clear(&self->progress);
    kvc_complain(error);
    self->internal = 1;
}

/* Whether a file can be written there, told before hours of running rather than after. */
static int check_json(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    struct stat status;
    kvc_error error;

    if (strcmp(path, "-") == 0)
        return 1;
    if (stat(path, &status) == 0) {
        if (!S_ISDIR(status.st_mode) && access(path, W_OK) == 0)
            return 1;
        if (S_ISDIR(status.st_mode))
            errno = EISDIR;
    } else if (length < sizeof folder) {
        memcpy(folder, slash == NULL ? "." : path, length);
        folder[length] = '\0';
        if (access(folder, W_OK | X_OK) == 0)
            return 1;
    } else {
        errno = ENAMETOOLONG;
    }
    kvc_error_set(&error, "--json %.300s: cannot be written: %s", path, strerror(errno));
    kvc_complain(error.text);
    return 0;
}

/* The first thing of this run that comes to the report folder takes the place of what an earlier one left there. */
static void sweep(running *self)
{
    /* A search that goes on keeps what is there until its end. */
    if (self->corpus != NULL)
        return;
    if (!self->swept)
        kvc_report_folder_sweep(self->session->options->report, "result.json");
    self->swept = 1;
}

/* What was found so far is on disk after every variant: a crash or a power cut loses one variant at most. */
static void save(running *self, const cJSON *entry)
{
    const kvc_options *options = self->session->options;
    char error[640] = "";

    if (self->internal)
        return;
    if (options->report != NULL) {
        cJSON *whole = self->corpus != NULL ? cJSON_Duplicate(self->result, 1) : NULL;
        sweep(self);
        if (self->corpus != NULL && (whole == NULL || !kvc_carry_runs(self->earlier, whole)))
            fail(self, "not enough memory");
        else if (kvc_report_folder_write_cases(options->report, entry, error, sizeof error) != 0 ||
                 kvc_report_folder_write_json(options->report, "result.json", whole != NULL ? whole : self->result, error,
                                              sizeof error) != 0)
            fail(self, error);
        cJSON_Delete(whole);
    }
    if (options->resume && options->json != NULL &&
        kvc_result_write_file(options->json, self->result, error, sizeof error) != 0)
        fail(self, error);
}

/* Sequences of one variant. A time is not shared out: whoever gives one says how long each variant may take. */
static uint64_t sequences_of(const kvc_options *options, const kvc_spec *spec)
{
    uint64_t share = spec != NULL && options->milliseconds == 0 && options->verb != KVC_VERB_FUZZ ? (uint64_t)spec->share : 1;

    return options->sequences / share > 0 ? options->sequences / share : 1;
}

/* Takes a variant over from the result to go on with. Returns 0 when it is not there. */
static int take_over(running *self, const kvc_record_run *run, const kvc_spec *spec)
{
    const cJSON *there = kvc_resume_find(self->earlier, run->target, run->version, run->variant, run->contract);
    cJSON *entry;

    if (there == NULL)
        return 0;
    entry = cJSON_Duplicate(there, 1);
    if (entry == NULL || !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(self->result, "runs"), entry)) {
        cJSON_Delete(entry);
        kvc_complain("not enough memory");
        self->internal = 1;
        return 1;
    }
    self->ran++;
    self->findings |= cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "findings")) > 0;
    save(self, entry);
    if (self->session->options->milliseconds == 0)
        self->progress.total -= sequences_of(self->session->options, spec);
    return 1;
}

static int add(running *self, const kvc_record_run *run)
{
    if (kvc_record_add(self->result, run, NULL) != NULL)
        return 1;
    kvc_complain("not enough memory");
    self->internal = 1;
    return 0;
}

static void not_run(running *self, const kvc_record_run *run, const char *reason)
{
    kvc_record_run entry = *run;

    entry.status = "not run";
    entry.reason = reason;
    self->not_run = 1;
    (void)add(self, &entry);
}

/* What is known of the variant that is searched, to save it while the search goes on. */
typedef struct searching {
    running *self;
    const kvc_record_run *run;
    const kvc_bench *bench;
    kvc_generator *generator;
} searching;

/* A search has found something new, or has gone on for a while. */
static void save_search(void *context, const kvc_exploration *exploration)
{
    const searching *search = context;
    running *self = search->self;
    kvc_record_run run = *search->run;
    cJSON *runs = cJSON_GetObjectItemCaseSensitive(self->result, "runs");
    cJSON *entry;

    run.status = exploration->findings > 0 ? "findings" : "not run";
    run.reason = "the search was going on when this was written";
    entry = kvc_record_add(self->result, &run, &(kvc_record_explored){search->bench, search->generator, exploration});
    if (entry == NULL || kvc_carry_findings(self->earlier, entry) < 0)
        fail(self, "not enough memory");
    else
        save(self, entry);
    if (entry != NULL)
        cJSON_Delete(cJSON_DetachItemViaPointer(runs, entry));
}

/* The corpus of a variant that is searched. NULL with *error set. */
static kvc_guide *open_guide(running *self, const kvc_bench *bench, kvc_generator *generator, char *cases, size_t size,
                             const char **more, kvc_error *error)
{
    const kvc_options *options = self->session->options;
    kvc_guide_options guide = {self->corpus, self->corpus_folder, more, 0, options->minimise};

    for (int at = 1; at < options->corpora; at++)
        more[guide.mores++] = options->corpus[at];
    /* What was reported must show again. */
    (void)snprintf(cases, size, "%s/cases", options->report);
    more[guide.mores++] = cases;
    return kvc_guide_open(&guide, bench, generator, error);
}

/* Runs that a proof may take. Where each takes a context of its own they are half as many as sequences were asked for. */
static uint64_t proof_runs(const kvc_options *options, const kvc_spec *spec)
{
    uint64_t runs = sequences_of(options, spec) / 2;

    if (spec->memory == 0)
        return PROOF_RUNS;
    return runs < PROOF_RUNS_LEAST ? PROOF_RUNS_LEAST : runs > PROOF_RUNS_MOST ? PROOF_RUNS_MOST : runs;
}

/* One variant: explores it and writes down what came of it. */
static void run_variant(running *self, kvc_crew *crew, const kvc_spec *spec, kvc_record_run *run,
                        const kvc_contract *contract, const char *const *variants, int in_process)
{
    const kvc_session *session = self->session;
    const kvc_options *options = session->options;
    kvc_explore_options explore = {.sequences = options->minimise ? 0 : sequences_of(options, spec),
                                   .milliseconds = options->milliseconds, .scripts = 1,
                                   .deaths = in_process || options->verb == KVC_VERB_FUZZ ? 0 : DEATHS_PROCESS};
    kvc_error error = {""};
    kvc_selection selection = {.seed = options->seed, .profile = (int32_t)options->profile};
    kvc_exploration exploration;
    kvc_bench bench = {crew, session->catalogue, contract, spec, run->variant, kvc_params_standard(),
                       proof_runs(options, spec), NULL};
    kvc_generator *generator =
        kvc_generator_open(session->catalogue, contract, spec, run->variant, run->version, variants, options->seed,
                           options->profile, &error);
    kvc_crew_result result;
    cJSON *entry;
    const char *more[KVC_CORPORA_MAX + 1];
    char cases[4096];
    searching search = {self, run, &bench, generator};

    if (generator == NULL) {
        not_run(self, run, error.text);
        return;
    }
    if (self->corpus != NULL) {
        explore.guide = open_guide(self, &bench, generator, cases, sizeof cases, more, &error);
        explore.save = save_search;
        explore.context = &search;
        if (explore.guide == NULL) {
            not_run(self, run, error.text);
            kvc_generator_close(generator);
            return;
        }
    }
    (void)snprintf(selection.subject, sizeof selection.subject, "%s", run->subject);
    (void)snprintf(selection.version, sizeof selection.version, "%s", run->version);
    (void)snprintf(selection.variant, sizeof selection.variant, "%s", run->variant);
    (void)snprintf(selection.contract, sizeof selection.contract, "%s", contract->id);
    bench.smallest = kvc_generator_smallest(generator);
    result = kvc_crew_choose(crew, &selection, generator, &error);
    if (result == KVC_CREW_DONE) {
        result = kvc_explore(&bench, generator, &explore, &exploration, &error);
        self->findings |= exploration.findings > 0;
        self->ran++;
        run->status = exploration.findings > 0 ? "findings" : "conforms";
        if (result == KVC_CREW_FAILED) {
            run->reason = error.text;
            self->not_run = 1;
        } else if (result == KVC_CREW_STOPPED) {
            kvc_error_set(&error, "interrupted after %llu sequence%s", (unsigned long long)exploration.sequences,
                          exploration.sequences == 1 ? "" : "s");
            run->reason = error.text;
        } else if (exploration.deaths > 0) {
            kvc_error_set(&error, "given up after %llu sequences: its process had ended %llu times",
                          (unsigned long long)exploration.sequences, (unsigned long long)exploration.deaths);
            run->reason = error.text;
        }
        /* What did not come to its end and found nothing has not conformed. */
        if (run->reason != NULL && exploration.findings == 0) {
            run->status = "not run";
            self->not_run = 1;
        }
        entry = kvc_record_add(self->result, run, &(kvc_record_explored){&bench, generator, &exploration});
        if (entry == NULL || (self->corpus != NULL && kvc_carry_findings(self->earlier, entry) < 0)) {
            kvc_complain("not enough memory");
            self->internal = 1;
        } else {
            self->findings |= cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "findings")) > 0;
            save(self, entry);
        }
        self->progress.done += options->milliseconds > 0 ? exploration.sequences : explore.sequences;
        kvc_exploration_clear(&exploration);
    } else if (result == KVC_CREW_FAILED) {
        not_run(self, run, error.text);
    } else {
        not_run(self, run, "interrupted before it began");
    }
    self->interrupted |= result == KVC_CREW_STOPPED;
    kvc_guide_close(explore.guide);
    kvc_generator_close(generator);
}

static int is_listed(const char *const *variants, const char *name)
{
    for (size_t at = 0; variants[at] != NULL; at++) {
        if (strcmp(variants[at], name) == 0)
            return 1;
    }
    return 0;
}

static const kvc_contract *find_contract(running *self, kvc_record_run *run)
{
    const kvc_session *session = self->session;
    const kvc_contract *contract;

    if (session->options->contract != NULL)
        return kvc_catalogue_contract_by_id(session->catalogue, session->options->contract);
    contract = kvc_catalogue_contract(session->catalogue, run->subject, run->version, &run->assumed);
    return contract;
}

/* Why what comes after is not run any more. */
static const char *broken_off(const running *self)
{
    return self->interrupted ? "interrupted before it began" : "an error ended the run before it began";
}

/*
 * Two targets may name the same variant: it is run once, for the same seed would only give the same again. Returns the entry of the
 * first, or NULL.
 */
static const cJSON *find_run_before(const running *self, const kvc_record_run *run)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(self->result, "runs")) {
        if (kvc_json_number(entry, "sequences") > 0 && strcmp(kvc_json_string(entry, "variant"), run->variant) == 0 &&
            strcmp(kvc_json_string(entry, "version"), run->version) == 0 &&
            strcmp(kvc_json_string(entry, "subject"), run->subject) == 0 &&
            cJSON_Compare(cJSON_GetObjectItemCaseSensitive(entry, "environment"), run->environment, 1))
            return entry;
    }
    return NULL;
}

/* Whether the variant was run before. Two programs that call themselves the same are told, for a report could not tell them apart. */
static int was_run_before(running *self, const kvc_target *target, const kvc_record_run *run)
{
    const cJSON *before = find_run_before(self, run);

    if (before != NULL && (target->is_exec || target->is_plugin) && !kvc_target_is_same(kvc_json_string(before, "target"), run->target))
        not_run(self, run, "another target of this run has the same subject, version and variant; give one of them another version");
    return before != NULL;
}

/* Whether the target is one variant that is there: then no other class matters. */
static int is_one_variant(const kvc_target *target, const char *const *variants)
{
    return target->variant[0] != '\0' && strpbrk(target->variant, "*?[") == NULL && is_listed(variants, target->variant);
}

/*
 * Asks the subject for all of its cache classes and writes down those that nothing covers. *uncovered becomes their list, NULL when
 * there is nothing to say. Returns 0 with the complaint written when the exemptions are wrong.
 */
static int survey(running *self, kvc_crew *crew, const kvc_target *target, const kvc_record_run *run, const cJSON *hello,
                  const char *const *variants, cJSON **uncovered)
{
    cJSON *classes = NULL;
    kvc_error error = {""};
    int good = 1;

    *uncovered = NULL;
    if (is_one_variant(target, variants))
        return 1;
    if (kvc_crew_classes(crew, &classes, &error) == KVC_CREW_FAILED) {
        not_run(self, run, error.text);
    } else if (cJSON_IsArray(classes)) {
        *uncovered = kvc_uncovered_find(self->session->catalogue, run->subject, run->version, run->assumed, classes, variants,
                                        &error);
        good = *uncovered != NULL;
        /* What is known and cannot be run here is said with its reason. */
        for (int at = cJSON_GetArraySize(*uncovered) - 1; at >= 0; at--) {
            if (kvc_hello_unavailable(hello, cJSON_GetArrayItem(*uncovered, at)->valuestring) != NULL)
                cJSON_DeleteItemFromArray(*uncovered, at);
        }
        if (!good) {
            kvc_progress_clear(&self->progress);
            kvc_complain(error.text);
        }
    }
    cJSON_Delete(classes);
    return good;
}

/* Writes down the classes that nothing covers. Returns how many the target speaks of. */
static int add_uncovered(running *self, const kvc_target *target, const kvc_record_run *run, const cJSON *uncovered)
{
    const cJSON *item;
    int count = 0;

    cJSON_ArrayForEach(item, uncovered) {
        kvc_record_run entry = *run;
        if (!kvc_target_takes(target, item->valuestring))
            continue;
        count++;
        self->not_covered = 1;
        entry.variant = item->valuestring;
        entry.status = "not covered";
        entry.reason = "a cache class that no spec covers and no exemption names";
        (void)add(self, &entry);
    }
    return count;
}

static int is_in(const cJSON *list, const char *name)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list) {
        if (strcmp(item->valuestring, name) == 0)
            return 1;
    }
    return 0;
}

/* All variants of a subject that says hello. Returns 0, or an exit status for bad usage with the complaint written. */
static int run_variants(running *self, kvc_crew *crew, const kvc_target *target, const cJSON *hello,
                        const char *const *variants)
{
    const kvc_session *session = self->session;
    kvc_record_run run = {target->text, target->subject, "", "", NULL, 0, NULL, "not run", NULL, NULL, NULL};
    const char *reason;
    const kvc_contract *contract;
    cJSON *uncovered;
    kvc_error error;
    int matched = 0;

    run.subject = cJSON_GetObjectItemCaseSensitive(hello, "subject")->valuestring;
    run.version = cJSON_GetObjectItemCaseSensitive(hello, "version")->valuestring;
    run.environment = cJSON_GetObjectItemCaseSensitive(hello, "environment");
    contract = find_contract(self, &run);
    if (!kvc_record_subject(self->result, target->text, hello)) {
        kvc_complain("not enough memory");
        self->internal = 1;
    }
    for (size_t at = 0; variants[at] != NULL; at++) {
        if (kvc_target_takes(target, variants[at]) && session->options->milliseconds == 0)
            self->progress.total += sequences_of(
                session->options, kvc_catalogue_spec(session->catalogue, run.subject, variants[at]));
    }
    if (!survey(self, crew, target, &run, hello, variants, &uncovered))
        return KVC_EXIT_USAGE;
    matched = add_uncovered(self, target, &run, uncovered) > 0;
    /* What the contracts know and this version lacks. */
    for (size_t at = 0; at < session->catalogue->specs; at++) {
        const kvc_spec *spec = &session->catalogue->spec[at];
        kvc_record_run entry = run;
        if (strcmp(spec->subject, run.subject) != 0 || !kvc_target_takes(target, spec->variant) ||
            is_listed(variants, spec->variant) || is_in(uncovered, spec->variant))
            continue;
        matched = 1;
        entry.variant = spec->variant;
        if ((reason = kvc_hello_unavailable(hello, spec->variant)) != NULL) {
            not_run(self, &entry, reason);
            continue;
        }
        entry.status = "absent";
        entry.reason = "this version has no such class";
        (void)add(self, &entry);
    }
    for (size_t at = 0; variants[at] != NULL; at++) {
        const kvc_spec *spec;
        char what[160];
        kvc_record_run entry = run;
        if (!kvc_target_takes(target, variants[at]))
            continue;
        matched = 1;
        entry.variant = variants[at];
        entry.location = kvc_hello_location(hello, variants[at]);
        entry.scripts = kvc_hello_scripts(hello);
        spec = kvc_catalogue_spec(session->catalogue, run.subject, variants[at]);
        if (spec == NULL || contract == NULL) {
            self->not_covered = 1;
            entry.status = "not covered";
            entry.reason = spec == NULL ? "no spec says what this variant keeps" : "no contract covers this version";
            (void)add(self, &entry);
            continue;
        }
        entry.contract = contract->id;
        if (was_run_before(self, target, &entry) || (self->corpus == NULL && take_over(self, &entry, spec)))
            continue;
        if (self->interrupted || self->internal) {
            not_run(self, &entry, broken_off(self));
            continue;
        }
        (void)snprintf(what, sizeof what, "%s %s %s", run.subject, run.version, variants[at]);
        kvc_progress_name(&self->progress, what);
        run_variant(self, crew, spec, &entry, contract, variants, kvc_subject_in_process(&target->access));
    }
    cJSON_Delete(uncovered);
    if (matched)
        return 0;
    kvc_progress_clear(&self->progress);
    kvc_error_set(&error, "target \"%.100s\": no variant matches; kvconform list variants shows them", target->text);
    kvc_complain(error.text);
    return KVC_EXIT_USAGE;
}

static void on_progress(void *context, uint64_t sequences)
{
    kvc_progress_show(context, sequences);
}

/* Returns an exit status for bad usage, otherwise 0. */
static int run_target(running *self, const char *text)
{
    const kvc_session *session = self->session;
    const kvc_options *options = session->options;
    kvc_target *target = malloc(sizeof *target);
    kvc_record_run run = {text, "", "", "", NULL, 0, NULL, "not run", NULL, NULL, NULL};
    kvc_crew_options crew_options = {.catalogue = session->catalogue, .jobs = options->jobs, .stop = session->stop,
                                     .progress = on_progress, .context = &self->progress};
    const char **variants = NULL;
    const cJSON *hello = NULL;
    kvc_crew *crew = NULL;
    kvc_error error = {""};
    kvc_target_result prepared;
    kvc_crew_result result;
    int status = 0;

    if (target == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    prepared = kvc_target_parse(text, options, target, &error);
    if (prepared == KVC_TARGET_READY && (self->interrupted || self->internal)) {
        prepared = KVC_TARGET_NOT_RUN;
        kvc_error_set(&error, "%s", broken_off(self));
    }
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(target, options, session->data, &error);
    run.subject = target->subject[0] != '\0' ? target->subject : "?";
    run.version = target->version;
    run.variant = target->variant;
    if (prepared == KVC_TARGET_BAD) {
        kvc_complain(error.text);
        free(target);
        return KVC_EXIT_USAGE;
    }
    if (prepared == KVC_TARGET_NOT_RUN) {
        not_run(self, &run, error.text);
        free(target);
        return 0;
    }
    /* As the target calls itself: a path alone is one of a plugin. */
    run.target = target->text;
    crew_options.access = target->access;
    crew_options.access.process.places = options->trace;
    crew_options.corpus = self->corpus;
    crew_options.stall_ms = target->access.process.timeout_ms;
    crew_options.memory_limit = options->memory_limit > 0 ? options->memory_limit : (uint64_t)PLUGIN_MEMORY_MB << 20;
    crew_options.growth_limit = (uint64_t)PLUGIN_GROWTH_MB << 20;
    kvc_progress_name(&self->progress, text);
    crew = kvc_crew_open(&crew_options, &error);
    result = crew != NULL ? kvc_crew_hello(crew, &hello, &error) : KVC_CREW_FAILED;
    if (result == KVC_CREW_FAILED) {
        not_run(self, &run, error.text);
    } else if (result == KVC_CREW_STOPPED) {
        self->interrupted = 1;
        not_run(self, &run, broken_off(self));
    } else if ((variants = kvc_hello_variants(hello)) == NULL) {
        self->internal = 1;
    } else if (target->version[0] != '\0' && options->python != NULL &&
               strcmp(target->version, cJSON_GetObjectItemCaseSensitive(hello, "version")->valuestring) != 0) {
        kvc_error_set(&error, "target \"%.100s\": --python has version %.60s", text,
                      cJSON_GetObjectItemCaseSensitive(hello, "version")->valuestring);
        kvc_complain(error.text);
        status = KVC_EXIT_USAGE;
    } else if (options->contract != NULL &&
               strcmp(kvc_catalogue_contract_by_id(session->catalogue, options->contract)->subject,
                      cJSON_GetObjectItemCaseSensitive(hello, "subject")->valuestring) != 0) {
        kvc_progress_clear(&self->progress);
        kvc_error_set(&error, "--contract \"%.60s\": is a contract of %.60s, not of \"%.100s\"", options->contract,
                      kvc_catalogue_contract_by_id(session->catalogue, options->contract)->subject, text);
        kvc_complain(error.text);
        status = KVC_EXIT_USAGE;
    } else {
        status = run_variants(self, crew, target, hello, variants);
    }
    free(variants);
    kvc_crew_close(crew);
    free(target);
    return status;
}

static void write_reports(running *self)
{
    const char *folder = self->session->options->report;
    kvc_merge_input input = {"result.json", self->result};
    cJSON *merged = NULL;
    char error[640] = "";

    if (kvc_report_folder_write_json(folder, "result.json", self->result, error, sizeof error) != 0 ||
        kvc_merge(&input, 1, &merged, error, sizeof error) != 0 ||
        kvc_report_folder_write(folder, merged, error, sizeof error) != 0)
        fail(self, error);
    cJSON_Delete(merged);
}

/* What was found, for the terminal. */
static void show_summary(running *self, FILE *out)
{
    int colour = getenv("NO_COLOR") == NULL && isatty(fileno(out));
    const char *folder = self->session->options->report;
    kvc_report_model model = {0};
    kvc_text text = {0};

    if (kvc_report_model_make(self->result, &model) == 0 && kvc_report_summary(&model, colour, &text) == 0) {
        (void)fputs(kvc_text_string(&text), out);
        if (folder != NULL && !self->internal)
            (void)fprintf(out, "report: %s/report.html (and report.md, report.sarif, junit.xml, badge.svg, result.json, cases/)\n",
                          folder);
        if (fflush(out) != 0)
            self->internal = 1;
    }
    kvc_text_free(&text);
    kvc_report_model_free(&model);
}

/* Of the result to go on with nothing is lost, also when this run was stopped before it came to it. */
static void keep_earlier(running *self)
{
    cJSON *runs = cJSON_GetObjectItemCaseSensitive(self->result, "runs");
    const cJSON *entry;

    if (!self->interrupted && !self->internal)
        return;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(self->earlier, "runs")) {
        const cJSON *word[4];
        static const char *const field[] = {"target", "version", "variant", "contract"};
        for (size_t at = 0; at < sizeof field / sizeof field[0]; at++)
            word[at] = cJSON_GetObjectItemCaseSensitive(entry, field[at]);
        if (kvc_resume_find(self->earlier, word[0]->valuestring, word[1]->valuestring, word[2]->valuestring,
                            word[3]->valuestring) == entry &&
            kvc_resume_find(self->result, word[0]->valuestring, word[1]->valuestring, word[2]->valuestring,
                            word[3]->valuestring) == NULL)
            cJSON_AddItemToArray(runs, cJSON_Duplicate(entry, 1));
    }
}

/* The end of a run: what was found is written to every place that was asked for, whatever happens to the others. */
static void finish(running *self)
{
    const kvc_options *options = self->session->options;
    char error[640] = "";
    int to_output = options->json != NULL && strcmp(options->json, "-") == 0;

    kvc_progress_clear(&self->progress);
    if (self->corpus == NULL)
        keep_earlier(self);
    else if (!kvc_carry_runs(self->earlier, self->result))
        fail(self, "not enough memory");
    if (!kvc_record_finish(self->result, self->interrupted) ||
        kvc_result_check(self->result, error, sizeof error) != 0) {
        kvc_complain(error[0] != '\0' ? error : "not enough memory");
        self->internal = 1;
    }
    if (options->report != NULL) {
        sweep(self);
        if (self->corpus != NULL) {
            kvc_report_folder_sweep_result(options->report, self->earlier);
            kvc_report_folder_sweep(options->report, "result.json");
        }
        write_reports(self);
    }
    if (options->json != NULL && kvc_result_write_file(options->json, self->result, error, sizeof error) != 0) {
        kvc_complain(error);
        self->internal = 1;
    }
    if (!options->quiet && !self->summarised_elsewhere && (!options->endless || self->interrupted || self->internal))
        show_summary(self, to_output ? stderr : stdout);
}

/* Reads the result to go on with, if there is one. */
static int read_earlier(running *self)
{
    const kvc_options *options = self->session->options;
    char path[4096];
    int length = options->json != NULL ? snprintf(path, sizeof path, "%s", options->json)
                                       : snprintf(path, sizeof path, "%s/result.json", options->report);
    kvc_error error = {""};

    if (length < 0 || (size_t)length >= sizeof path)
        kvc_error_set(&error, "--resume: path too long");
    else if (kvc_resume_read(path, self->session, &self->earlier, &error))
        return 1;
    kvc_complain(error.text);
    return 0;
}

/* A search goes on with what its folders hold. */
static int begin_search(running *self, char *error, size_t size)
{
    const kvc_options *options = self->session->options;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/result.json", options->report);
    if (access(path, F_OK) == 0 && kvc_result_read_unfinished(path, &self->earlier, error, size) != 0)
        return 0;
    self->corpus_folder = options->corpus[0];
    self->corpus = kvc_corpus_open();
    if (self->corpus == NULL)
        (void)snprintf(error, size, "not enough memory");
    return self->corpus != NULL;
}

int kvc_run_targets(const kvc_session *session, cJSON **result)
{
    const kvc_options *options = session->options;
    running self = {.session = session, .summarised_elsewhere = result != NULL};
    char error[640];
    int status = 0;

    if (options->contract != NULL && kvc_catalogue_contract_by_id(session->catalogue, options->contract) == NULL) {
        kvc_error reason;
        kvc_error_set(&reason, "--contract \"%.60s\": no such contract; kvconform list contracts shows them",
                      options->contract);
        kvc_complain(reason.text);
        return KVC_EXIT_USAGE;
    }
    /* Bad targets are told before anything runs. */
    for (int at = 0; at < options->words; at++) {
        kvc_target *target = malloc(sizeof *target);
        kvc_error reason = {""};
        kvc_target_result parsed =
            target != NULL ? kvc_target_parse(options->word[at], options, target, &reason) : KVC_TARGET_NOT_RUN;
        free(target);
        if (parsed != KVC_TARGET_READY) {
            kvc_complain(reason.text[0] != '\0' ? reason.text : "not enough memory");
            return parsed == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_INTERNAL;
        }
    }
    if (options->json != NULL && !check_json(options->json))
        return KVC_EXIT_USAGE;
    if (options->report != NULL && kvc_report_folder_make(options->report, error, sizeof error) != 0) {
        kvc_complain(error);
        return KVC_EXIT_USAGE;
    }
    if (options->resume && !read_earlier(&self))
        return KVC_EXIT_USAGE;
    if (options->verb == KVC_VERB_FUZZ && !begin_search(&self, error, sizeof error)) {
        kvc_complain(error);
        return KVC_EXIT_USAGE;
    }
    self.result = kvc_record_start(session);
    if (self.result == NULL) {
        cJSON_Delete(self.earlier);
        kvc_corpus_close(self.corpus);
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    kvc_progress_start(&self.progress, options->quiet, 0);
    self.progress.pipe = options->progress;
    for (int at = 0; at < options->words && status == 0; at++)
        status = run_target(&self, options->word[at]);
    self.interrupted |= *session->stop != 0;
    /* A wrong command line gets its one line only, unless something ran before it was noticed. */
    if (status == 0 || cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(self.result, "runs")) > 0)
        finish(&self);
    if (result != NULL)
        *result = self.result;
    else
        cJSON_Delete(self.result);
    cJSON_Delete(self.earlier);
    kvc_corpus_close(self.corpus);
    if (status != 0)
        return status;
    if (self.interrupted)
        return KVC_EXIT_INTERRUPTED;
    if (self.internal)
        return KVC_EXIT_INTERNAL;
    if (self.findings)
        return KVC_EXIT_FINDINGS;
    /* Nothing was judged: that must not look like success. */
    return self.not_run || (self.ran == 0 && self.not_covered) ? KVC_EXIT_NOT_RUN : KVC_EXIT_CONFORMS;
}

int kvc_command_run(const kvc_session *session)
{
    return kvc_run_targets(session, NULL);
}
