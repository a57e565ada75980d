/* kvconform matrix: several versions of one subject, each in a process of its own, and one report of them all. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/portion.h"
#include "harness/progress.h"
#include "harness/record.h"
#include "harness/resume.h"
#include "harness/target.h"
#include "reports/folder.h"
#include "reports/result.h"

enum { PATH_BYTES = 4096, POLL_MS = 200, VERSION_BYTES = 64 };

/* One version: a run of its own. */
typedef struct part {
    char target[KVC_SPEC_NAME_MAX * 2 + VERSION_BYTES];
    char path[PATH_BYTES]; /* of its result */
    pid_t pid;             /* 0: not started, or ended */
    int news;              /* the pipe on which it tells how far it is */
    uint64_t shard;  /* the part of it that this matrix runs, of so many; 0: the matrix is not divided */
    uint64_t shards;
    int status; /* its exit status, KVC_EXIT_INTERNAL when it died */
    kvc_progress_news last;
} part;

typedef struct matrix {
    const kvc_session *session;
    part *part;
    int parts;
    const char **beside; /* of a shard: the targets of all versions, owned, in the text of `targets` */
    char *targets;
    int versions;
    int started;
    int running;
    kvc_progress progress;
} matrix;

static int make_folder(const char *path)
{
    kvc_error error;

    if (kvc_report_folder_make_one(path, error.text, sizeof error.text) == 0)
        return 1;
    kvc_complain(error.text);
    return 0;
}

/*
 * Versions are dealt to shards, since each has to be started. Only where there are more shards than versions several of them share
 * one, and each of these has a part of its sequences. shard 0: it is another's.
 */
static void deal(const kvc_options *options, uint64_t version, uint64_t versions, part *one)
{
    uint64_t place = options->shard - 1;

    one->shard = one->shards = 0;
    if (options->shards == 0)
        return;
    if (options->shards <= versions) {
        one->shards = 1;
        one->shard = version % options->shards == place;
        return;
    }
    one->shards = (options->shards - 1 - version) / versions + 1;
    one->shard = place % versions == version ? place / versions + 1 : 0;
}

/* DIR/results/SUBJECT-VERSION.json; shards may share a folder. */
static int make_path(part *one, const kvc_options *options, const char *subject, const char *version, kvc_error *error)
{
    int length = one->shards == 0 ? snprintf(one->path, sizeof one->path, "%s/results/%s-%s.json", options->report, subject, version)
                                  : snprintf(one->path, sizeof one->path, "%s/results/%s-%s-shard-%llu-of-%llu.json", options->report,
                                             subject, version, (unsigned long long)one->shard, (unsigned long long)one->shards);

    if (length >= 0 && (size_t)length < sizeof one->path)
        return 1;
    kvc_error_set(error, "--report %.300s: path too long", options->report);
    return 0;
}

/* Of a shard: keeps the versions that are its own, and the targets of all. Returns 0 when memory is short. */
static int keep_own(matrix *self, int count)
{
    int kept = 0;

    self->targets = calloc((size_t)count, sizeof self->part[0].target);
    self->beside = calloc((size_t)count, sizeof *self->beside);
    if (self->beside == NULL || self->targets == NULL)
        return 0;
    for (int at = 0; at < count; at++) {
        char *target = self->targets + (size_t)at * sizeof self->part[0].target;
        memcpy(target, self->part[at].target, sizeof self->part[0].target);
        self->beside[at] = target;
        if (self->part[at].shard > 0)
            self->part[kept++] = self->part[at];
    }
    self->versions = count;
    self->parts = kept;
    return 1;
}

/* The versions as parts, each with its place in DIR/results/. Returns an exit status. */
static int prepare(matrix *self)
{
    const kvc_options *options = self->session->options;
    const char *word = options->word[0];
    size_t subject_length = strcspn(word, ":");
    char(*version)[VERSION_BYTES] = calloc(KVC_TARGET_VERSIONS_MAX, sizeof *version);
    kvc_target *target = malloc(sizeof *target);
    kvc_error error = {""};
    int count = 0;
    int status = KVC_EXIT_INTERNAL;

    if (version != NULL && target != NULL && kvc_target_parse(word, options, target, &error) == KVC_TARGET_READY) {
        status = KVC_EXIT_USAGE;
        if (target->is_exec || target->is_plugin || target->version[0] != '\0' || strcmp(target->subject, "builtin") == 0) {
            kvc_error_set(&error, "matrix: \"%.60s\": expected a subject that has versions, without one: transformers[:VARIANT]",
                          word);
        } else {
            count = kvc_target_versions(target->subject, options->versions, options, self->session->data, version, &error);
        }
    } else if (target != NULL && error.text[0] != '\0') {
        status = KVC_EXIT_USAGE;
    }
    self->part = count > 0 ? calloc((size_t)count, sizeof *self->part) : NULL;
    for (int at = 0; self->part != NULL && at < count; at++) {
        part *one = &self->part[at];
        (void)snprintf(one->target, sizeof one->target, "%s@%s%s", target->subject, version[at], word + subject_length);
        deal(options, (uint64_t)at, (uint64_t)count, one);
        if (!make_path(one, options, target->subject, version[at], &error)) {
            status = KVC_EXIT_USAGE;
            free(self->part);
            self->part = NULL;
        }
    }
    if (self->part != NULL && options->shards > 0 && !keep_own(self, count))
        count = 0;
    if (self->part != NULL && options->shards == 0)
        self->parts = count;
    if (count > 0 && self->part != NULL)
        status = 0;
    else
        kvc_complain(error.text[0] != '\0' ? error.text : "not enough memory");
    free(version);
    free(target);
    return status;
}

/* The run of one version. `options` and `word` are what it points to. */
static kvc_session session_of(const matrix *self, const part *one, kvc_options *options, const char **word)
{
    kvc_session session = *self->session;

    *options = *self->session->options;
    *word = one->target;
    options->verb = KVC_VERB_RUN;
    options->word = word;
    options->words = 1;
    options->report = NULL;
    options->json = one->path;
    options->resume = 1;
    options->quiet = 1;
    options->shard = one->shard;
    options->shards = one->shards;
    options->beside = self->beside;
    options->beside_count = self->versions;
    session.options = options;
    return session;
}

/* What the process of one version does. */
static int run_part(const matrix *self, const part *one, int jobs, int news)
{
    kvc_options options;
    const char *word;
    kvc_session session = session_of(self, one, &options, &word);

    options.jobs = jobs;
    options.progress = news;
    return kvc_command_run(&session);
}

/* As many workers as there are processors: each version gets one, the last ones what is left over. */
static int jobs_for_next(const matrix *self)
{
    int jobs = self->session->options->jobs;
    int together = self->parts < jobs ? self->parts : jobs;

    return self->started + 1 == self->parts && self->parts > 1 ? jobs : jobs / together > 0 ? jobs / together : 1;
}

/* A version that was run to its end before needs no process. */
static int is_complete(matrix *self, part *one)
{
    cJSON *earlier = NULL;
    kvc_error ignored;
    const cJSON *runs;
    const cJSON *entry;
    kvc_options options;
    const char *word;
    kvc_session session = session_of(self, one, &options, &word);
    int complete = one->shards == 0 && kvc_resume_read(one->path, &session, &earlier, &ignored) && earlier != NULL &&
                   kvc_resume_is_complete(earlier);

    runs = cJSON_GetObjectItemCaseSensitive(earlier, "runs");
    cJSON_ArrayForEach(entry, runs) {
        const cJSON *target = cJSON_GetObjectItemCaseSensitive(entry, "target");
        complete = complete && strcmp(target->valuestring, one->target) == 0;
        if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "findings")) > 0)
            one->status = KVC_EXIT_FINDINGS;
    }
    cJSON_Delete(earlier);
    if (!complete)
        one->status = 0;
    return complete;
}

static int start_next(matrix *self)
{
    part *one = &self->part[self->started];
    int jobs = jobs_for_next(self);
    int pair[2];

    if (is_complete(self, one)) {
        self->started++;
        return 1;
    }
    if (pipe(pair) != 0)
        return 0;
    (void)fflush(NULL);
    one->pid = fork();
    if (one->pid == 0) {
        (void)close(pair[0]);
        for (int at = 0; at < self->started; at++) {
            if (self->part[at].pid > 0)
                (void)close(self->part[at].news);
        }
        int status = run_part(self, one, jobs, pair[1]);
        (void)fflush(NULL);
        _exit(status);
    }
    (void)close(pair[1]);
    if (one->pid < 0) {
        (void)close(pair[0]);
        one->pid = 0;
        return 0;
    }
    one->news = pair[0];
    self->started++;
    self->running++;
    return 1;
}

static void show_progress(matrix *self)
{
    uint64_t done = 0;
    uint64_t known = 0;
    uint64_t sum = 0;
    char what[sizeof self->progress.what];

    for (int at = 0; at < self->parts; at++) {
        done += self->part[at].last.done;
        known += self->part[at].last.total > 0;
        sum += self->part[at].last.total;
    }
    /* Versions that have not said yet how much they have are taken to have as much as the others. */
    self->progress.total = known > 0 ? sum / known * (uint64_t)self->parts : 0;
    (void)snprintf(what, sizeof what, "%d of %d versions started, %d running", self->started, self->parts, self->running);
    kvc_progress_name(&self->progress, what);
    kvc_progress_show(&self->progress, done);
}

/* A process that died without a result: what it would have said of itself. */
static void write_not_run(const matrix *self, const part *one, int signal_number)
{
    char reason[160];
    char error[640];
    kvc_record_run run = {one->target, "", "", "", NULL, 0, NULL, "not run", reason, NULL, NULL, NULL, NULL, NULL};
    kvc_target *target = malloc(sizeof *target);
    kvc_error ignored;
    kvc_options options;
    const char *word;
    kvc_session session = session_of(self, one, &options, &word);
    cJSON *result = kvc_record_start(&session);
    cJSON *open;
    cJSON *entry;

    (void)snprintf(reason, sizeof reason, "the process of this version was ended by signal %d", signal_number);
    if (target != NULL && kvc_target_parse(one->target, self->session->options, target, &ignored) == KVC_TARGET_READY) {
        run.subject = target->subject;
        run.version = target->version;
        run.variant = target->variant;
    }
    open = kvc_record_open(&run, NULL);
    entry = open != NULL ? kvc_portions_join(open, &ignored) : NULL;
    if (result == NULL || !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(result, "runs"), entry) || !kvc_record_finish(result, 0) ||
        kvc_result_write_file(one->path, result, error, sizeof error) != 0)
        kvc_complain(reason);
    cJSON_Delete(open);
    cJSON_Delete(result);
    free(target);
}

static void collect_ended(matrix *self)
{
    for (int at = 0; at < self->started; at++) {
        part *one = &self->part[at];
        int status;
        if (one->pid == 0 || waitpid(one->pid, &status, WNOHANG) != one->pid)
            continue;
        one->pid = 0;
        one->status = WIFEXITED(status) ? WEXITSTATUS(status) : KVC_EXIT_INTERNAL;
        if (WIFSIGNALED(status)) {
            kvc_progress_clear(&self->progress);
            write_not_run(self, one, WTERMSIG(status));
        }
        one->last.done = one->last.total;
        (void)close(one->news);
        self->running--;
    }
}

static void read_news(matrix *self)
{
    struct pollfd *wait = calloc((size_t)self->parts, sizeof *wait);
    int count = 0;

    for (int at = 0; wait != NULL && at < self->started; at++) {
        if (self->part[at].pid > 0)
            wait[count++] = (struct pollfd){.fd = self->part[at].news, .events = POLLIN};
    }
    if (wait == NULL || poll(wait, (nfds_t)count, POLL_MS) <= 0) {
        free(wait);
        return;
    }
    for (int at = 0, seen = 0; at < self->started && seen < count; at++) {
        kvc_progress_news news;
        if (self->part[at].pid <= 0 || wait[seen].fd != self->part[at].news)
            continue;
        if ((wait[seen].revents & POLLIN) != 0 && read(wait[seen].fd, &news, sizeof news) == (ssize_t)sizeof news)
            self->part[at].last = news;
        else if ((wait[seen].revents & POLLHUP) != 0)
            (void)poll(NULL, 0, 20); /* it is ending */
        seen++;
    }
    free(wait);
}

/* Ctrl-C reaches the whole group by itself; a signal to this process alone does not. */
static void pass_on_stop(const matrix *self)
{
    for (int at = 0; at < self->started; at++) {
        if (self->part[at].pid > 0)
            (void)kill(self->part[at].pid, SIGTERM);
    }
}

static int run_all(matrix *self)
{
    int told = 0;
    int good = 1;

    while (self->running > 0 || (good && self->started < self->parts && !*self->session->stop)) {
        while (good && !*self->session->stop && self->started < self->parts &&
               self->running < self->session->options->jobs)
            good = start_next(self);
        if (*self->session->stop && !told) {
            pass_on_stop(self);
            told = 1;
        }
        read_news(self);
        collect_ended(self);
        show_progress(self);
    }
    kvc_progress_clear(&self->progress);
    if (!good)
        kvc_complain("a process could not be started");
    return good;
}

/* Puts the results together; those of versions that were never started do not exist. */
static int write_report(const matrix *self)
{
    kvc_options options = *self->session->options;
    kvc_session session = *self->session;
    const char **word = calloc((size_t)self->parts, sizeof *word);
    int status = KVC_EXIT_INTERNAL;

    options.words = 0;
    for (int at = 0; word != NULL && at < self->parts; at++) {
        if (access(self->part[at].path, F_OK) == 0)
            word[options.words++] = self->part[at].path;
    }
    options.word = word;
    session.options = &options;
    if (word == NULL)
        kvc_complain("not enough memory");
    else
        status = options.words > 0 ? kvc_command_report(&session) : 0;
    free(word);
    return status;
}

/* A part makes no report. */
static int tell_part(const matrix *self)
{
    const kvc_options *options = self->session->options;

    if (!options->quiet)
        (void)printf("shard %llu of %llu: %d of %d versions; when all parts are there: kvconform report %s/results/*.json -o DIR\n",
                     (unsigned long long)options->shard, (unsigned long long)options->shards, self->parts, self->versions, options->report);
    return 0;
}

int kvc_command_matrix(const kvc_session *session)
{
    const kvc_options *options = session->options;
    matrix self = {.session = session};
    char results[PATH_BYTES];
    int length = snprintf(results, sizeof results, "%s/results", options->report);
    int status = prepare(&self);
    int worst = 0;

    if (status == 0 && (length < 0 || (size_t)length >= sizeof results || !make_folder(options->report) || !make_folder(results)))
        status = KVC_EXIT_USAGE;
    if (status == 0) {
        kvc_progress_start(&self.progress, options->quiet, 0);
        if (!run_all(&self))
            status = KVC_EXIT_INTERNAL;
        for (int at = 0; at < self.started; at++)
            worst = kvc_exit_worse(self.part[at].status, worst);
        /* A wrong command line or a result that cannot be gone on with was told by the part, and makes no report. */
        if (status == 0 && worst != KVC_EXIT_USAGE)
            status = options->shards > 0 ? tell_part(&self) : write_report(&self);
        status = *session->stop ? KVC_EXIT_INTERRUPTED : status != 0 ? status : worst;
    }
    free(self.beside);
    free(self.targets);
    free(self.part);
    return status;
}
