/* kvconform run */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/report_folder.h"
#include "harness/resume.h"
#include "harness/running.h"
#include "harness/shard.h"
#include "harness/system.h"
#include "harness/target.h"
#include "harness/uncovered.h"
#include "reports/file.h"
#include "reports/folder.h"
#include "reports/merge.h"
#include "reports/result.h"
#include "reports/summary.h"

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

static int is_listed(const char *const *variants, const char *name)
{
    for (size_t at = 0; variants[at] != NULL; at++) {
        if (strcmp(variants[at], name) == 0)
            return 1;
    }
    return 0;
}

static const kvc_contract *find_contract(kvc_running *self, kvc_record_run *run)
{
    const kvc_session *session = self->session;
    const kvc_contract *contract;

    if (session->options->contract != NULL)
        return kvc_catalogue_contract_by_id(session->catalogue, session->options->contract);
    contract = kvc_catalogue_contract(session->catalogue, run->subject, run->version, &run->assumed);
    return contract;
}

/*
 * Two targets may name the same variant: it is run once, for the same seed would only give the same again. Returns the entry of the
 * first, or NULL.
 */
static const cJSON *find_run_before(const kvc_running *self, const kvc_record_run *run)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(self->result, "runs")) {
        if ((kvc_json_number(entry, "sequences") > 0 || cJSON_HasObjectItem(entry, "portions")) && strcmp(kvc_json_string(entry, "variant"), run->variant) == 0 &&
            strcmp(kvc_json_string(entry, "version"), run->version) == 0 &&
            strcmp(kvc_json_string(entry, "subject"), run->subject) == 0 &&
            cJSON_Compare(cJSON_GetObjectItemCaseSensitive(entry, "environment"), run->environment, 1))
            return entry;
    }
    return NULL;
}

/* Whether the variant was run before. Two programs that call themselves the same are told, for a report could not tell them apart. */
static int was_run_before(kvc_running *self, const kvc_target *target, const kvc_record_run *run)
{
    const cJSON *before = find_run_before(self, run);

    if (before != NULL && (target->is_exec || target->is_plugin) && !kvc_target_is_same(kvc_json_string(before, "target"), run->target))
        kvc_running_not_run(self, run, "another target of this run has the same subject, version and variant; give one of them another version");
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
static int survey(kvc_running *self, kvc_crew *crew, const kvc_target *target, const kvc_record_run *run, const cJSON *hello,
                  const char *const *variants, cJSON **uncovered)
{
    cJSON *classes = NULL;
    kvc_error error = {""};
    int good = 1;

    *uncovered = NULL;
    if (is_one_variant(target, variants))
        return 1;
    if (kvc_crew_classes(crew, &classes, &error) == KVC_CREW_FAILED) {
        kvc_running_not_run(self, run, error.text);
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
static int add_uncovered(kvc_running *self, const kvc_target *target, const kvc_record_run *run, const cJSON *uncovered)
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
        kvc_running_add(self, &entry);
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
static int run_variants(kvc_running *self, kvc_crew *crew, const kvc_target *target, const cJSON *hello,
                        const char *const *variants)
{
    const kvc_session *session = self->session;
    kvc_record_run run = {target->text, target->subject, "", "", NULL, 0, NULL, "not run", NULL, NULL, NULL, NULL, NULL, session->options};
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
    self->variants_left = 0;
    for (size_t at = 0; variants[at] != NULL; at++) {
        const kvc_spec *spec = kvc_catalogue_spec(session->catalogue, run.subject, variants[at]);
        if (!kvc_target_takes(target, variants[at]))
            continue;
        self->variants_left += spec != NULL && contract != NULL;
        if (kvc_options_bounds_sequences(session->options))
            self->progress.total += kvc_running_sequences(self, spec) / (session->options->shards > 0 ? session->options->shards : 1);
    }
    if (!survey(self, crew, target, &run, hello, variants, &uncovered))
        return KVC_EXIT_USAGE;
    matched = add_uncovered(self, target, &run, uncovered) > 0;
    /* What the contracts know and this version lacks. */
    for (size_t at = 0; at < session->catalogue->specs; at++) {
        const kvc_spec *spec = &session->catalogue->spec[at];
        kvc_record_run entry = run;
        if (strcmp(spec->subject, run.subject) != 0 || spec->kind == KVC_KIND_MODEL || !kvc_target_takes(target, spec->variant) ||
            is_listed(variants, spec->variant) || is_in(uncovered, spec->variant))
            continue;
        matched = 1;
        entry.variant = spec->variant;
        if ((reason = kvc_hello_unavailable(hello, spec->variant)) != NULL) {
            kvc_running_not_run(self, &entry, reason);
            continue;
        }
        entry.status = "absent";
        entry.reason = "this version has no such class";
        kvc_running_add(self, &entry);
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
        entry.assumptions = kvc_hello_notes(hello, "assumptions", variants[at]);
        entry.untested = kvc_hello_notes(hello, "untested", variants[at]);
        spec = kvc_catalogue_spec(session->catalogue, run.subject, variants[at]);
        if (spec == NULL || contract == NULL) {
            self->not_covered = 1;
            entry.status = "not covered";
            entry.reason = spec == NULL ? "no spec says what this variant keeps" : "no contract covers this version";
            kvc_running_add(self, &entry);
            continue;
        }
        entry.contract = contract->id;
        if (!was_run_before(self, target, &entry)) {
            (void)snprintf(what, sizeof what, "%s %s %s", run.subject, run.version, variants[at]);
            kvc_progress_name(&self->progress, what);
            kvc_running_variant(self, crew, spec, &entry, contract, variants, kvc_subject_in_process(&target->access));
        }
        self->variants_left--;
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
static int run_target(kvc_running *self, const char *text)
{
    const kvc_session *session = self->session;
    const kvc_options *options = session->options;
    kvc_target *target = malloc(sizeof *target);
    kvc_record_run run = {text, "", "", "", NULL, 0, NULL, "not run", NULL, NULL, NULL, NULL, NULL, session->options};
    kvc_crew_options crew_options = {.catalogue = session->catalogue, .jobs = options->jobs, .stop = session->stop,
                                     .progress = on_progress, .context = &self->progress};
    const char **variants = NULL;
    const cJSON *hello = NULL;
    kvc_crew *crew = NULL;
    kvc_crew *lent; /* by whoever has tried cases on it */
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
        kvc_error_set(&error, "%s", kvc_running_broken_off(self));
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
        kvc_running_not_run(self, &run, error.text);
        free(target);
        return 0;
    }
    /* As the target calls itself: a path alone is one of a plugin. */
    run.target = target->text;
    kvc_target_bound(target, options, &crew_options);
    crew_options.access.process.places = options->trace;
    crew_options.corpus = self->corpus;
    kvc_progress_name(&self->progress, text);
    lent = session->known != NULL ? session->known->lend(session->known->context, text) : NULL;
    crew = lent != NULL ? lent : kvc_crew_open(&crew_options, &error);
    if (lent != NULL)
        kvc_crew_watch(lent, on_progress, &self->progress);
    result = crew != NULL ? kvc_crew_hello(crew, &hello, &error) : KVC_CREW_FAILED;
    if (result == KVC_CREW_FAILED) {
        kvc_running_not_run(self, &run, error.text);
    } else if (result == KVC_CREW_STOPPED) {
        self->interrupted = 1;
        kvc_running_not_run(self, &run, kvc_running_broken_off(self));
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
    kvc_layer_links_close(self->links);
    self->links = NULL;
    free(variants);
    if (lent != NULL)
        kvc_crew_watch(lent, NULL, NULL);
    else
        kvc_crew_close(crew);
    free(target);
    return status;
}

static void write_reports(kvc_running *self)
{
    const char *folder = self->session->options->report;
    kvc_merge_input input = {"result.json", self->result};
    cJSON *merged = NULL;
    char error[640] = "";

    if (kvc_report_folder_write_json(folder, "result.json", self->result, error, sizeof error) != 0 ||
        kvc_merge(&input, 1, &merged, error, sizeof error) != 0 ||
        kvc_report_folder_write(folder, merged, error, sizeof error) != 0)
        kvc_running_fail(self, error);
    cJSON_Delete(merged);
}

/* How far a variant came that ends when enough is covered. */
static void show_covered(const cJSON *result, FILE *out)
{
    const cJSON *run;

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(result, "runs")) {
        const cJSON *covered = cJSON_GetObjectItemCaseSensitive(run, "covered");
        if (covered != NULL)
            (void)fprintf(out, "covered: %s: %.0f of %.0f situations %.0f times, ended: %s, the same again with --budget %.0f\n",
                          kvc_json_string(run, "variant"), kvc_json_number(covered, "reached"), kvc_json_number(covered, "reachable"),
                          kvc_json_number(covered, "times"), kvc_json_string(covered, "ended"), kvc_json_number(run, "budget"));
    }
}

/* What was found, for the terminal. */
static void show_summary(kvc_running *self, FILE *out)
{
    int colour = getenv("NO_COLOR") == NULL && isatty(fileno(out));
    const char *folder = self->session->options->report;
    kvc_report_model model = {0};
    kvc_text text = {0};

    if (self->shown != NULL && kvc_report_model_make(self->shown, &model) == 0 && kvc_report_summary(&model, colour, &text) == 0) {
        (void)fputs(kvc_text_string(&text), out);
        show_covered(self->shown, out);
        if (self->session->options->shards > 0)
            (void)fprintf(out, "shard %llu of %llu: a part of the run; kvconform report makes the whole of all parts\n",
                          (unsigned long long)self->session->options->shard, (unsigned long long)self->session->options->shards);
        if (folder != NULL && !self->internal)
            (void)fprintf(out, "report: %s/report.html (and report.md, report.sarif, junit.xml, badge.svg, result.json, cases/)\n",
                          folder);
        if (fflush(out) != 0)
            self->internal = 1;
    }
    kvc_text_free(&text);
    kvc_report_model_free(&model);
}

/* The end of a run: what was found is written to every place that was asked for, whatever happens to the others. */
static void finish(kvc_running *self)
{
    const kvc_options *options = self->session->options;
    char error[640] = "";
    int to_output = options->json != NULL && strcmp(options->json, "-") == 0;

    kvc_progress_clear(&self->progress);
    /* Of the result to go on with nothing is lost, also when this run was stopped before it came to it. */
    if ((self->corpus != NULL || self->interrupted || self->internal) && !kvc_running_keep(self, self->result))
        kvc_running_fail(self, "not enough memory");
    if (kvc_record_finish(self->result, self->interrupted))
        self->shown = options->shards > 0 ? kvc_shard_show(self->result, error, sizeof error) : self->result;
    if (self->shown == NULL || kvc_result_check(self->shown, error, sizeof error) != 0) {
        kvc_complain(error[0] != '\0' ? error : "not enough memory");
        self->internal = 1;
    }
    if (options->report != NULL) {
        kvc_running_sweep(self);
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
static int read_earlier(kvc_running *self)
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
static int begin_search(kvc_running *self, char *error, size_t size)
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
    kvc_running self = {.session = session, .summarised_elsewhere = result != NULL};
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
    if (options->json != NULL && strcmp(options->json, "-") != 0)
        kvc_report_file_sweep(options->json);
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
    self.began_ms = kvc_now_ms();
    for (int at = 0; at < options->words && status == 0; at++) {
        self.targets_left = options->words - at;
        status = run_target(&self, options->word[at]);
    }
    self.interrupted |= *session->stop != 0;
    /* A wrong command line gets its one line only, unless something ran before it was noticed. */
    if (status == 0 || cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(self.result, "runs")) > 0)
        finish(&self);
    if (result != NULL)
        *result = self.shown;
    else
        cJSON_Delete(self.shown);
    if (self.shown != self.result)
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
    return session->options->runs > 0 ? kvc_run_seeds(session) : kvc_run_targets(session, NULL);
}
