/* kvconform report */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/report_folder.h"
#include "reports/folder.h"
#include "reports/merge.h"
#include "reports/model.h"
#include "reports/result.h"
#include "reports/summary.h"

static void show(const kvc_options *options, const cJSON *merged)
{
    kvc_report_model model = {0};
    kvc_text text = {0};

    if (kvc_report_model_make(merged, &model) == 0) {
        kvc_report_summary_line(&model, getenv("NO_COLOR") == NULL && isatty(STDOUT_FILENO), &text);
        (void)printf("%sreport: %s/report.html (and report.md, report.sarif, junit.xml, badge.svg, merged.json, cases/)\n",
                     kvc_text_string(&text), options->report);
    }
    kvc_text_free(&text);
    kvc_report_model_free(&model);
}

/* Returns an exit status. */
static int write_reports(const kvc_options *options, const cJSON *merged)
{
    char error[640] = "";

    kvc_report_folder_sweep(options->report, "merged.json");
    if (kvc_report_folder_write_json(options->report, "merged.json", merged, error, sizeof error) != 0 ||
        kvc_report_folder_write(options->report, merged, error, sizeof error) != 0) {
        kvc_complain(error);
        return KVC_EXIT_INTERNAL;
    }
    if (!options->quiet)
        show(options, merged);
    return KVC_EXIT_CONFORMS;
}

int kvc_command_report(const kvc_session *session)
{
    const kvc_options *options = session->options;
    kvc_merge_input *inputs = calloc((size_t)options->words, sizeof *inputs);
    cJSON **results = calloc((size_t)options->words, sizeof *results);
    cJSON *merged = NULL;
    char error[1024] = "";
    int status = KVC_EXIT_USAGE;

    if (inputs == NULL || results == NULL) {
        kvc_complain("not enough memory");
        status = KVC_EXIT_INTERNAL;
        goto cleanup;
    }
    for (int at = 0; at < options->words; at++) {
        if (kvc_result_read_file(options->word[at], &results[at], error, sizeof error) != 0) {
            kvc_complain(error);
            goto cleanup;
        }
        inputs[at].name = options->word[at];
        inputs[at].json = results[at];
    }
    if (kvc_merge(inputs, (size_t)options->words, &merged, error, sizeof error) != 0 ||
        kvc_report_folder_make(options->report, error, sizeof error) != 0) {
        kvc_complain(error);
        goto cleanup;
    }
    status = write_reports(options, merged);
cleanup:
    for (int at = 0; results != NULL && at < options->words; at++)
        cJSON_Delete(results[at]);
    cJSON_Delete(merged);
    free(results);
    free(inputs);
    return status;
}
