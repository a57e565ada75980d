/* kvconform matrix: several versions of one subject, each in a process of its own, and one report of them all. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/commands.h"
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
    int status; /* its exit status, KVC_EXIT_INTERNAL when it died */
    kvc_progress_news last;
} part;

typedef struct matrix {
    const kvc_session *session;
    part *part;
    int parts;
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
        int length = snprintf(one->path, sizeof one->path, "%s/results/%s-%s.json", options->report, target->subject, version[at]);
        (void)snprintf(one->target, sizeof one->target, "%s@%s%s", target->subject, version[at], word + subject_length);
        if (length < 0 || (size_t)length >= sizeof one->path) {
            kvc_error_set(&error, "--report %.300s: path too long", options->report);
            count = 0;
        }
    }
    self->parts = count;
    if (count > 0 && self->part != NULL)
        status = 0;
    else
        kvc_complain(error.text[0] != '\0' ? error.text : "not enough memory");
    free(version);
    free(target);
    return status;
}

/* What the process of one version does. */
static int run_part(const matrix *self, const part *one, int jobs, int news)
{
    kvc_options options = *self->session->options;
    kvc_session session = *self->session;
    const char *words[1] = {one->target};

    options.verb = KVC_VERB_RUN;
    options.word = words;
    options.words = 1;
    options.report = NULL;
    options.json = one->path;
    options.resume = 1;
    options.jobs = jobs;
    options.quiet = 1;
    options.progress = news;
    session.options = &options;
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
    int complete = kvc_resume_read(one->path, self->session, &earlier, &ignored) && earlier != NULL &&
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
    kvc_record_run run = {one->target, "", "", "", NULL, 0, NULL, "not run", reason, NULL, NULL};
    kvc_target *target = malloc(sizeof *target);
    kvc_error ignored;
    cJSON *result = kvc_record_start(self->session);

    (void)snprintf(reason, sizeof reason, "the process of this version was ended by signal %d", signal_number);
    if (target != NULL && kvc_target_parse(one->target, self->session->options, target, &ignored) == KVC_TARGET_READY) {
        run.subject = target->subject;
        run.version = target->version;
        run.variant = target->variant;
    }
    if (result == NULL || kvc_record_add(result, &run, NULL) == NULL || !kvc_record_finish(result, 0) ||
        kvc_result_write_file(one->path, result, error, sizeof error) != 0)
        kvc_complain(reason);
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

/* Which exit status tells more: as in `run`, a finding outweighs what could not be run. */
static int rank(int status)
{
    static const int order[] = {KVC_EXIT_CONFORMS, KVC_EXIT_NOT_RUN,  KVC_EXIT_FINDINGS,
                                KVC_EXIT_USAGE,    KVC_EXIT_INTERNAL, KVC_EXIT_INTERRUPTED};
    int at = 0;

    while (at + 1 < (int)(sizeof order / sizeof order[0]) && order[at] != status)
        at++;
    return at;
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
            worst = rank(self.part[at].status) > rank(worst) ? self.part[at].status : worst;
        /* A wrong command line or a result that cannot be gone on with was told by the part, and makes no report. */
        if (status == 0 && worst != KVC_EXIT_USAGE)
            status = write_report(&self);
        status = *session->stop ? KVC_EXIT_INTERRUPTED : status != 0 ? status : worst;
    }
    free(self.part);
    return status;
}
