/* kvconform run --runs: the same run with several seeds, one after the other, and what they found together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/report_folder.h"
#include "harness/system.h"
#include "reports/folder.h"
#include "reports/merge.h"
#include "reports/result.h"
#include "reports/summary.h"

enum { PATH_BYTES = 4096 };

typedef struct seeds {
    const kvc_session *session;
    cJSON **result;
    kvc_merge_input *input;
    char (*name)[32];
    size_t count; /* seeds that were run */
    int64_t began_ms;
} seeds;

static int fail(const char *error, int status)
{
    kvc_complain(error);
    return status;
}

/* Runs one seed. Returns its exit status. */
static int run_seed(seeds *self, uint64_t number)
{
    const kvc_options *all = self->session->options;
    kvc_options options = *all;
    kvc_session session = *self->session;
    char path[PATH_BYTES];
    cJSON *result = NULL;
    int status;
    int length = snprintf(path, sizeof path, "%s/results/seed-%llu.json", all->report != NULL ? all->report : "",
                          (unsigned long long)(all->seed + number));

    if (length < 0 || (size_t)length >= sizeof path)
        return fail("--report: path too long", KVC_EXIT_USAGE);
    options.seed = all->seed + number;
    options.runs = 0;
    options.json = all->report != NULL ? path : NULL;
    options.report = NULL;
    /* Each has its part of the time that is left. */
    if (all->run_milliseconds > 0) {
        options.run_milliseconds = (self->began_ms + all->run_milliseconds - kvc_now_ms()) / (int64_t)(all->runs - number);
        if (options.run_milliseconds < 1)
            options.run_milliseconds = 1;
    }
    session.options = &options;
    status = kvc_run_targets(&session, &result);
    if (result != NULL) {
        (void)snprintf(self->name[self->count], sizeof self->name[0], "seed %llu", (unsigned long long)options.seed);
        self->input[self->count] = (kvc_merge_input){self->name[self->count], result};
        self->result[self->count++] = result;
    }
    return status;
}

static void show(const kvc_options *options, const cJSON *merged)
{
    FILE *out = options->json != NULL && strcmp(options->json, "-") == 0 ? stderr : stdout;
    kvc_report_model model = {0};
    kvc_text text = {0};

    if (kvc_report_model_make(merged, &model) == 0 &&
        kvc_report_summary(&model, getenv("NO_COLOR") == NULL && isatty(fileno(out)), &text) == 0) {
        (void)fputs(kvc_text_string(&text), out);
        if (options->report != NULL)
            (void)fprintf(out, "report: %s/report.html (and report.md, report.sarif, junit.xml, badge.svg, merged.json, results/, cases/)\n",
                          options->report);
    }
    kvc_text_free(&text);
    kvc_report_model_free(&model);
}

/* What all seeds found, wherever it was asked for. Returns an exit status. */
static int write_all(const seeds *self)
{
    const kvc_options *options = self->session->options;
    cJSON *merged = NULL;
    char error[1024] = "";
    int status = 0;

    if (kvc_merge(self->input, self->count, &merged, error, sizeof error) != 0)
        return fail(error, KVC_EXIT_INTERNAL);
    if (options->report != NULL) {
        kvc_report_folder_sweep(options->report, "merged.json");
        if (kvc_report_folder_write_json(options->report, "merged.json", merged, error, sizeof error) != 0 ||
            kvc_report_folder_write(options->report, merged, error, sizeof error) != 0)
            status = fail(error, KVC_EXIT_INTERNAL);
    }
    if (options->json != NULL && kvc_result_write_file(options->json, merged, error, sizeof error) != 0)
        status = fail(error, KVC_EXIT_INTERNAL);
    if (status == 0 && !options->quiet)
        show(options, merged);
    cJSON_Delete(merged);
    return status;
}

/* DIR and DIR/results. */
static int make_folders(const kvc_options *options)
{
    char path[PATH_BYTES];
    char error[640] = "";
    int length = snprintf(path, sizeof path, "%s/results", options->report);

    if (length < 0 || (size_t)length >= sizeof path)
        (void)snprintf(error, sizeof error, "--report: path too long");
    else if (kvc_report_folder_make(options->report, error, sizeof error) == 0 &&
             kvc_report_folder_make_one(path, error, sizeof error) == 0)
        return 1;
    kvc_complain(error);
    return 0;
}

int kvc_run_seeds(const kvc_session *session)
{
    const kvc_options *options = session->options;
    size_t count = (size_t)options->runs;
    seeds self = {.session = session, .began_ms = kvc_now_ms()};
    int status = 0;
    int written;

    if (options->report != NULL && !make_folders(options))
        return KVC_EXIT_USAGE;
    self.result = calloc(count, sizeof *self.result);
    self.input = calloc(count, sizeof *self.input);
    self.name = calloc(count, sizeof *self.name);
    if (self.result == NULL || self.input == NULL || self.name == NULL)
        status = fail("not enough memory", KVC_EXIT_INTERNAL);
    for (uint64_t number = 0; number < options->runs && status != KVC_EXIT_USAGE && status != KVC_EXIT_INTERNAL &&
                              status != KVC_EXIT_INTERRUPTED;
         number++)
        status = kvc_exit_worse(status, run_seed(&self, number));
    if (self.count > 0) {
        written = write_all(&self);
        status = kvc_exit_worse(status, written);
    }
    for (size_t at = 0; at < self.count; at++)
        cJSON_Delete(self.result[at]);
    free(self.result);
    free(self.input);
    free(self.name);
    return status;
}
