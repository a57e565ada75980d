/* kvconform report */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/report_folder.h"
#include "harness/shard.h"
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

/* `result` is NULL where there is more than one. Returns an exit status. */
static int write_reports(const kvc_options *options, const cJSON *merged, const cJSON *result)
{
    char error[640] = "";

    kvc_report_folder_sweep(options->report, "merged.json");
    if ((result != NULL && kvc_report_folder_write_json(options->report, "result.json", result, error, sizeof error) != 0) ||
        kvc_report_folder_write_json(options->report, "merged.json", merged, error, sizeof error) != 0 ||
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
    kvc_shard_input *documents = calloc((size_t)options->words, sizeof *documents);
    size_t count = (size_t)options->words;
    size_t shards = 0;
    kvc_error reason = {""};
    cJSON *merged = NULL;
    char error[1024] = "";
    int status = KVC_EXIT_USAGE;

    if (inputs == NULL || documents == NULL) {
        kvc_complain("not enough memory");
        status = KVC_EXIT_INTERNAL;
        goto cleanup;
    }
    for (int at = 0; at < options->words; at++) {
        if (kvc_result_read_unchecked(options->word[at], &documents[at].json, error, sizeof error) != 0) {
            kvc_complain(error);
            goto cleanup;
        }
        documents[at].name = options->word[at];
        if (!kvc_shard_is(documents[at].json) && kvc_result_check(documents[at].json, reason.text, sizeof reason.text) != 0) {
            (void)snprintf(error, sizeof error, "%s: %s", strcmp(options->word[at], "-") == 0 ? "standard input" : options->word[at], reason.text);
            kvc_complain(error);
            goto cleanup;
        }
        shards += kvc_shard_is(documents[at].json) ? 1u : 0u;
    }
    if (!kvc_shards_join(documents, &count, &reason)) {
        kvc_complain(reason.text);
        goto cleanup;
    }
    for (size_t at = 0; at < count; at++)
        inputs[at] = (kvc_merge_input){documents[at].name, documents[at].json};
    if (kvc_merge(inputs, count, &merged, error, sizeof error) != 0 ||
        kvc_report_folder_make(options->report, error, sizeof error) != 0) {
        kvc_complain(error);
        goto cleanup;
    }
    /* The shards of one run make what that run would have made. */
    status = write_reports(options, merged, shards > 0 && count == 1 ? documents[0].json : NULL);
cleanup:
    for (size_t at = 0; documents != NULL && at < count; at++)
        cJSON_Delete(documents[at].json);
    cJSON_Delete(merged);
    free(documents);
    free(inputs);
    return status;
}
