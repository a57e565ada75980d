/* kvconform replay */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/case_files.h"
#include "harness/commands.h"
#include "harness/finding.h"
#include "harness/target.h"

enum { MEMORY_MB = 1024, GROWTH_MB = 16 };

/* One case on one target. */
typedef struct replay {
    const char *path;
    const kvc_case *item;
    char target[KVC_SPEC_NAME_MAX + 80];
} replay;

/* The running subject of the replays before: they are ordered by target. */
typedef struct replaying {
    const kvc_session *session;
    kvc_target *target;
    char text[KVC_TARGET_TEXT_MAX]; /* target of `crew` */
    kvc_crew *crew;
    const cJSON *hello;
    char failed[KVC_TARGET_TEXT_MAX]; /* the target that could not be started: told once */
    int failed_status;
    int findings; /* cases that say nothing of what they must show, and break a law */
    int as_expected;
    int unexpected;
    int not_run;
} replaying;

static void stop_crew(replaying *self)
{
    kvc_crew_close(self->crew);
    self->crew = NULL;
    self->hello = NULL;
}

/* Starts the subject of a case unless it is running. Returns 0, or an exit status with the complaint written. */
static int start_crew(replaying *self, const char *text)
{
    const kvc_options *options = self->session->options;
    kvc_crew_options crew = {.catalogue = self->session->catalogue, .jobs = 1, .stop = self->session->stop};
    kvc_error error = {""};
    kvc_target_result prepared;

    if (self->crew != NULL && strcmp(self->text, text) == 0)
        return 0;
    if (self->failed_status != 0 && strcmp(self->failed, text) == 0)
        return self->failed_status;
    stop_crew(self);
    prepared = kvc_target_parse(text, options, self->target, &error);
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(self->target, options, self->session->data, &error);
    if (prepared == KVC_TARGET_READY) {
        crew.access = self->target->access;
        crew.stall_ms = self->target->access.process.timeout_ms;
        crew.memory_limit = options->memory_limit > 0 ? options->memory_limit : (uint64_t)MEMORY_MB << 20;
        crew.growth_limit = (uint64_t)GROWTH_MB << 20;
        self->crew = kvc_crew_open(&crew, &error);
        if (self->crew != NULL && kvc_crew_hello(self->crew, &self->hello, &error) == KVC_CREW_DONE) {
            (void)snprintf(self->text, sizeof self->text, "%s", text);
            return 0;
        }
        stop_crew(self);
        prepared = KVC_TARGET_NOT_RUN;
    }
    kvc_complain(error.text[0] != '\0' ? error.text : "interrupted");
    (void)snprintf(self->failed, sizeof self->failed, "%s", text);
    self->failed_status = prepared == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
    return self->failed_status;
}

static void print_state(const char *what, const cJSON *state)
{
    char *text = cJSON_PrintUnformatted(state);

    (void)printf("  %s %s\n", what, text != NULL ? text : "?");
    cJSON_free(text);
}

/* Counts one outcome; returns the words that set it against what the case must show. */
static const char *judge(replaying *self, const replay *one, const char *version, kvc_case_outcome outcome, kvc_law law)
{
    const kvc_case_expect *expect = kvc_case_expected(one->item, version);

    if (expect == NULL) {
        self->findings += outcome == KVC_CASE_BREAKS;
        return "";
    }
    if (expect->outcome == outcome && (outcome != KVC_CASE_BREAKS || expect->law == law)) {
        self->as_expected++;
        return ", as expected";
    }
    self->unexpected++;
    return ", NOT as expected";
}

/* Says what must have come of the case when something else did. */
static void print_expectation(const replay *one, const char *version)
{
    const kvc_case_expect *expect = kvc_case_expected(one->item, version);

    (void)printf("  the case must show: %s\n", kvc_case_outcome_text(expect->outcome, expect->law));
}

/* Says what came of the case. */
static void print_verdict(replaying *self, const replay *one, const kvc_bench *bench, kvc_finding *finding,
                          const char *detail, const char *version)
{
    cJSON *json = detail[0] != '\0' ? cJSON_Parse(detail) : NULL;
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(json, "title");
    int unexpected = self->unexpected;
    const char *words;
    kvc_error ignored;

    if (json != NULL)
        (void)kvc_finding_name(bench, finding, &ignored);
    words = judge(self, one, version, json != NULL ? KVC_CASE_BREAKS : KVC_CASE_CONFORMS, finding->law);
    if (json == NULL) {
        (void)printf("%s: conforms on %s %s%s\n", one->path, bench->spec->subject, version, words);
    } else {
        (void)printf("%s: breaks %s on %s %s%s\n", one->path, kvc_law_name(finding->law), bench->spec->subject, version,
                     words);
        /* What is known needs one line. */
        if (strcmp(words, ", as expected") != 0) {
            (void)printf("  %s\n", cJSON_IsString(title) ? title->valuestring : "?");
            print_state("expected", cJSON_GetObjectItemCaseSensitive(json, "expected"));
            print_state("observed", cJSON_GetObjectItemCaseSensitive(json, "observed"));
        }
    }
    if (self->unexpected != unexpected)
        print_expectation(one, version);
    cJSON_Delete(json);
}

/* An outcome without a run: the version lacks the class, or an op of the case. */
static void print_without_run(replaying *self, const replay *one, const char *version, kvc_case_outcome outcome,
                              const char *why)
{
    int unexpected = self->unexpected;
    const char *words = judge(self, one, version, outcome, KVC_ALIVE);

    (void)printf("%s: %s: %s%s\n", one->path, kvc_case_outcome_text(outcome, KVC_ALIVE), why, words);
    if (self->unexpected != unexpected)
        print_expectation(one, version);
}

static int run_case(replaying *self, const replay *one)
{
    const kvc_case *item = one->item;
    const kvc_session *session = self->session;
    const kvc_catalogue *catalogue = session->catalogue;
    const char *version = cJSON_GetObjectItemCaseSensitive(self->hello, "version")->valuestring;
    const char *subject = cJSON_GetObjectItemCaseSensitive(self->hello, "subject")->valuestring;
    int assumed;
    const kvc_contract *contract =
        session->options->contract != NULL
            ? kvc_catalogue_contract_by_id(catalogue, session->options->contract)
            : kvc_catalogue_contract(catalogue, subject, version, &assumed);
    kvc_bench bench = {self->crew, catalogue, contract, kvc_catalogue_spec(catalogue, subject, item->variant),
                       item->variant, item->params, 0, NULL};
    kvc_selection selection = {.seed = 1};
    const char **names = kvc_hello_variants(self->hello);
    kvc_finding finding = {.params = item->params, .sequence = item->sequence};
    kvc_generator *generator = NULL;
    kvc_error error = {""};
    kvc_plan plan;
    uint8_t failed = 0;
    const char *detail = "";
    int listed = 0;
    int status = KVC_EXIT_NOT_RUN;

    for (size_t at = 0; names != NULL && names[at] != NULL; at++)
        listed |= strcmp(names[at], item->variant) == 0;
    if (names == NULL || contract == NULL || bench.spec == NULL) {
        kvc_error_set(&error, "no contract or no spec for %s %s", subject, version);
    } else if (!listed && kvc_hello_unavailable(self->hello, item->variant) != NULL) {
        kvc_error_set(&error, "%s cannot be run here: %s", item->variant,
                      kvc_hello_unavailable(self->hello, item->variant));
    } else if (!listed) {
        kvc_error_set(&error, "%s %s has no %s", subject, version, item->variant);
        print_without_run(self, one, version, KVC_CASE_ABSENT, error.text);
        status = 0;
    } else if (!kvc_plan_make(catalogue, contract, bench.spec, item->variant, &item->params, &plan, &error) ||
               !kvc_sequence_is_valid(&plan, &item->sequence, &error)) {
        /* On the version that it names, a case that cannot be is a damaged one; on another it may just not be possible there. */
        if (kvc_case_expected(item, version) != NULL) {
            print_without_run(self, one, version, KVC_CASE_IMPOSSIBLE, error.text);
            status = 0;
        } else if (session->options->target == NULL && session->options->python == NULL) {
            status = KVC_EXIT_USAGE;
        }
    } else if ((generator = kvc_generator_open(catalogue, contract, bench.spec, item->variant, version, names, 1,
                                               KVC_HOSTILE, &error)) != NULL) {
        (void)snprintf(selection.subject, sizeof selection.subject, "%s", subject);
        (void)snprintf(selection.version, sizeof selection.version, "%s", version);
        (void)snprintf(selection.variant, sizeof selection.variant, "%s", item->variant);
        (void)snprintf(selection.contract, sizeof selection.contract, "%s", contract->id);
        if (kvc_crew_choose(self->crew, &selection, generator, &error) == KVC_CREW_DONE &&
            kvc_crew_evaluate(self->crew, &item->params, &item->sequence, 1, &failed, &finding.failure, &error) ==
                KVC_CREW_DONE &&
            (!failed || kvc_crew_detail(self->crew, &item->params, &item->sequence, &detail, &error) ==
                            KVC_CREW_DONE)) {
            finding.sequence.count = failed ? finding.failure.step + 1 : finding.sequence.count;
            print_verdict(self, one, &bench, &finding, detail, version);
            status = 0;
        }
    }
    if (status != 0) {
        kvc_error told;
        kvc_error_set(&told, "%s: %s", one->path, error.text[0] != '\0' ? error.text : "not enough memory");
        kvc_complain(told.text);
    }
    kvc_generator_close(generator);
    free(names);
    return status;
}

/* The cases of a command line and all that must be replayed of them. */
typedef struct workload {
    kvc_case_files files;
    kvc_case *item; /* one for each file */
    replay *replay;
    int replays;
} workload;

static int add_replay(workload *work, const char *path, const kvc_case *item, const char *target)
{
    replay *grown = realloc(work->replay, ((size_t)work->replays + 1) * sizeof *grown);

    if (grown == NULL)
        return 0;
    work->replay = grown;
    grown[work->replays] = (replay){.path = path, .item = item};
    (void)snprintf(grown[work->replays].target, sizeof grown->target, "%s", target);
    work->replays++;
    return 1;
}

/* A case goes to the target of the command line, else to every version that it speaks of, else to the one that it names. */
static int add_replays(const kvc_session *session, workload *work, const char *path, const kvc_case *item)
{
    char target[sizeof work->replay->target];
    int versioned = strcmp(item->subject, "builtin") != 0 && session->options->python == NULL;

    if (session->options->target != NULL)
        return add_replay(work, path, item, "");
    if (versioned && item->expects > 0 && item->expect[0].version[0] != '\0') {
        for (int at = 0; at < item->expects; at++) {
            (void)snprintf(target, sizeof target, "%s@%s", item->subject, item->expect[at].version);
            if (!add_replay(work, path, item, target))
                return 0;
        }
        return 1;
    }
    versioned = versioned && item->version[0] != '\0';
    (void)snprintf(target, sizeof target, "%s%s%s", item->subject, versioned ? "@" : "", versioned ? item->version : "");
    return add_replay(work, path, item, target);
}

/* Every target is started once: its replays stand together, in the order of the files. */
static int compare_replays(const void *left, const void *right)
{
    const replay *a = left;
    const replay *b = right;
    int by_target = strcmp(a->target, b->target);

    return by_target != 0 ? by_target : a->item < b->item ? -1 : a->item > b->item;
}

/* Reads all files. A bad one is told, and the others are still run. Returns an exit status. */
static int prepare(const kvc_session *session, workload *work)
{
    kvc_error error = {""};
    int status = 0;

    if (!kvc_case_files_find(session->options->word, session->options->words, &work->files, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    work->item = calloc((size_t)work->files.count + 1, sizeof *work->item);
    for (int at = 0; work->item != NULL && at < work->files.count; at++) {
        if (!kvc_case_read(work->files.path[at], session->catalogue, &work->item[at], &error)) {
            kvc_complain(error.text);
            status = KVC_EXIT_USAGE;
        } else if (!add_replays(session, work, work->files.path[at], &work->item[at])) {
            kvc_complain("not enough memory");
            return KVC_EXIT_INTERNAL;
        }
    }
    if (work->item == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    if (work->replays > 0)
        qsort(work->replay, (size_t)work->replays, sizeof *work->replay, compare_replays);
    return status;
}

static int replay_all(replaying *self, const workload *work)
{
    int status = 0;

    for (int at = 0; at < work->replays && !*self->session->stop; at++) {
        const replay *one = &work->replay[at];
        int result = start_crew(self, self->session->options->target != NULL ? self->session->options->target : one->target);
        if (result == 0)
            result = run_case(self, one);
        self->not_run += result != 0;
        if (status == 0 || result == KVC_EXIT_USAGE)
            status = result != 0 ? result : status;
        (void)fflush(stdout);
    }
    return status;
}

/* The target of the command line is started first: it may bring the specs that its cases are read by. */
static int start_given(replaying *self)
{
    return self->session->options->target != NULL ? start_crew(self, self->session->options->target) : 0;
}

int kvc_command_replay(const kvc_session *session)
{
    replaying self = {.session = session};
    workload work = {.replay = NULL};
    int status = KVC_EXIT_INTERNAL;

    if (session->options->contract != NULL &&
        kvc_catalogue_contract_by_id(session->catalogue, session->options->contract) == NULL) {
        kvc_error error;
        kvc_error_set(&error, "--contract \"%.60s\": no such contract; kvconform list contracts shows them",
                      session->options->contract);
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    self.target = malloc(sizeof *self.target);
    if (self.target == NULL) {
        kvc_complain("not enough memory");
    } else if ((status = start_given(&self)) == 0 && (status = prepare(session, &work)) != KVC_EXIT_INTERNAL) {
        int ran = replay_all(&self, &work);
        status = status != 0 ? status : ran;
        if (self.as_expected + self.unexpected > 0 && !session->options->quiet)
            (void)printf("%d as expected, %d not as expected%s\n", self.as_expected, self.unexpected,
                         self.not_run > 0 ? ", some not run" : "");
    }
    stop_crew(&self);
    free(self.target);
    free(work.item);
    free(work.replay);
    kvc_case_files_clear(&work.files);
    if (*session->stop)
        return KVC_EXIT_INTERRUPTED;
    return status != 0 ? status : self.findings + self.unexpected > 0 ? KVC_EXIT_FINDINGS : KVC_EXIT_CONFORMS;
}
