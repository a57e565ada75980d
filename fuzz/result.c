/* Result files, and every report that is made of those that are good, after they were merged with themselves under another name. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "reports/badge.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/merge.h"
#include "reports/result.h"
#include "reports/sarif.h"
#include "reports/summary.h"

static int summary(const kvc_report_model *model, kvc_text *text)
{
    return kvc_report_summary(model, 1, text);
}

static void write_all(const cJSON *json)
{
    static int (*const writers[])(const kvc_report_model *, kvc_text *) = {
        summary, kvc_report_markdown, kvc_report_html, kvc_report_junit, kvc_report_sarif, kvc_report_badge};
    kvc_report_model model = {0};
    kvc_text text = {0};

    KVC_MUST(kvc_report_model_make(json, &model) == 0);
    for (size_t at = 0; at < sizeof writers / sizeof writers[0]; at++) {
        KVC_MUST(writers[at](&model, &text) == 0);
        kvc_text_free(&text);
    }
    kvc_report_model_free(&model);
}

/* A document merges alone, or is refused with a reason; what came of it merges to itself. */
static void merge(const cJSON *json)
{
    kvc_merge_input input[2] = {{"input", json}, {"again", json}};
    char error[1024] = "";
    cJSON *merged = NULL;
    cJSON *again = NULL;

    if (kvc_merge(input, 1, &merged, error, sizeof error) != 0) {
        KVC_MUST(error[0] != '\0' && merged == NULL);
        return;
    }
    KVC_MUST(kvc_result_check(merged, error, sizeof error) == 0);
    write_all(merged);
    input[0].json = merged;
    KVC_MUST(kvc_merge(input, 1, &again, error, sizeof error) == 0);
    char *before = cJSON_PrintUnformatted(merged);
    char *after = cJSON_PrintUnformatted(again);
    KVC_MUST(before != NULL && after != NULL && strcmp(before, after) == 0);
    cJSON_free(before);
    cJSON_free(after);
    cJSON_Delete(again);
    KVC_MUST(kvc_merge(input, 2, &again, error, sizeof error) != 0 || again != NULL);
    cJSON_Delete(again);
    cJSON_Delete(merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    char error[640] = "";
    cJSON *result = NULL;

    if (copy == NULL)
        return 0;
    for (size_t at = 0; at < size; at++)
        copy[at] = (char)data[at];
    copy[size] = '\0';
    if (kvc_result_parse("input", copy, size, &result, error, sizeof error) != 0) {
        KVC_MUST(error[0] != '\0' && result == NULL);
    } else {
        write_all(result);
        merge(result);
        cJSON_Delete(result);
    }
    free(copy);
    return 0;
}
