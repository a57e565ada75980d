/* kvconform diff */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/commands.h"
#include "reports/difference.h"
#include "reports/file.h"
#include "reports/result.h"

static int fail(const char *why, int status)
{
    kvc_complain(why);
    return status;
}

/* Writes what the options ask for. Returns an exit status, 0 when all was written. */
static int write_all(const kvc_options *options, const kvc_difference *difference)
{
    kvc_text text = {0};
    char error[640] = "";
    int status = 0;

    if (options->json != NULL) {
        cJSON *json = kvc_difference_json(difference);
        if (json == NULL || kvc_result_write_file(options->json, json, error, sizeof error) != 0)
            status = fail(json == NULL ? "not enough memory" : error, KVC_EXIT_INTERNAL);
        cJSON_Delete(json);
    }
    if (status == 0 && options->markdown != NULL) {
        if (kvc_difference_markdown(difference, &text) != 0)
            status = fail("not enough memory", KVC_EXIT_INTERNAL);
        else if (kvc_report_file_write(options->markdown, kvc_text_string(&text), text.length, error, sizeof error) != 0)
            status = fail(error, KVC_EXIT_INTERNAL);
        kvc_text_free(&text);
    }
    if (status == 0 && !options->quiet) {
        /* Where the document itself goes to standard output, nothing else does. */
        int taken = (options->json != NULL && options->json[0] == '-' && options->json[1] == '\0') ||
                    (options->markdown != NULL && options->markdown[0] == '-' && options->markdown[1] == '\0');
        if (kvc_difference_text(difference, getenv("NO_COLOR") == NULL && isatty(STDOUT_FILENO), &text) != 0)
            status = fail("not enough memory", KVC_EXIT_INTERNAL);
        else if (!taken)
            (void)fputs(kvc_text_string(&text), stdout);
        kvc_text_free(&text);
    }
    return status;
}

int kvc_command_diff(const kvc_session *session)
{
    const kvc_options *options = session->options;
    cJSON *json[2] = {NULL, NULL};
    kvc_report_model model[2] = {{0}, {0}};
    kvc_difference difference = {0};
    char error[1024] = "";
    int status = 0;

    for (int at = 0; at < 2 && status == 0; at++) {
        if (kvc_result_read_file(options->word[at], &json[at], error, sizeof error) != 0)
            status = fail(error, KVC_EXIT_USAGE);
        else if (kvc_report_model_make(json[at], &model[at]) != 0)
            status = fail("not enough memory", KVC_EXIT_INTERNAL);
    }
    if (status == 0 && kvc_difference_make(&model[0], &model[1], &difference) != 0)
        status = fail("not enough memory", KVC_EXIT_INTERNAL);
    if (status == 0)
        status = write_all(options, &difference);
    if (status == 0 && difference.count[KVC_CHANGE_NEW] > 0)
        status = KVC_EXIT_FINDINGS;
    else if (status == 0 && difference.count[KVC_CHANGE_UNKNOWN] > 0)
        status = KVC_EXIT_NOT_RUN;
    kvc_difference_free(&difference);
    for (int at = 0; at < 2; at++) {
        kvc_report_model_free(&model[at]);
        cJSON_Delete(json[at]);
    }
    return status;
}
