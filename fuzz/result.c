/* Result files, and every report that is made of those that are good. */
#include "fuzz/fuzz.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/result.h"
#include "reports/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    char error[640] = "";
    cJSON *result = NULL;
    kvc_text text = {0};

    if (copy == NULL)
        return 0;
    for (size_t at = 0; at < size; at++)
        copy[at] = (char)data[at];
    copy[size] = '\0';
    if (kvc_result_parse("input", copy, size, &result, error, sizeof error) != 0) {
        KVC_MUST(error[0] != '\0' && result == NULL);
    } else {
        KVC_MUST(kvc_report_summary(result, 1, &text) == 0);
        kvc_text_free(&text);
        KVC_MUST(kvc_report_markdown(result, &text) == 0);
        kvc_text_free(&text);
        KVC_MUST(kvc_report_html(result, &text) == 0);
        kvc_text_free(&text);
        cJSON_Delete(result);
    }
    free(copy);
    return 0;
}
