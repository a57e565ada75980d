#include "reports/junit.h"

#include <string.h>

#include "reports/words.h"

enum { TEXT_MAX = 4000 }; /* bytes of foreign text that one test repeats; the result has it whole */

/* What the attributes of a suite count. */
typedef struct kvc_junit_counts {
    size_t tests, failures, errors, skipped;
    double seconds;
} kvc_junit_counts;

/* XML and HTML need the same escapes; control characters, which XML knows no form of, are made visible. */
static void add(kvc_text *out, const char *string)
{
    kvc_text_add_html_short(out, string, KVC_LINES_SHOW, TEXT_MAX);
}

static void count_run(const kvc_report_run *run, kvc_junit_counts *counts)
{
    size_t findings = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(run->json, "findings"));
    counts->tests += findings > 0 ? findings : 1;
    counts->failures += findings;
    counts->errors += run->status == KVC_STATUS_NOT_RUN;
    counts->skipped += run->status == KVC_STATUS_ABSENT || run->status == KVC_STATUS_NOT_COVERED;
    counts->seconds += kvc_json_number(run->json, "seconds");
}

static void add_counts(kvc_text *out, const kvc_junit_counts *counts)
{
    kvc_text_add_format(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n", counts->tests,
                        counts->failures, counts->errors, counts->skipped, counts->seconds);
}

/* Opens a test. Several runs of one variant differ in their seed. */
static void add_test(kvc_text *out, const kvc_report_model *model, const kvc_report_run *run, const char *id, double seconds)
{
    const kvc_report_version *version = &model->versions[run->version];
    const kvc_report_cell *cell = &model->cells[run->cell];
    kvc_text_add(out, "<testcase classname=\"");
    add(out, version->subject);
    kvc_text_add(out, ".");
    add(out, kvc_words_row_name(&model->rows[run->row]));
    kvc_text_add(out, "\" name=\"");
    add(out, kvc_words_row_name(&model->rows[run->row]));
    if (*id != '\0') {
        kvc_text_add_format(out, " %s", id);
    }
    if (cell->first_run != cell->last_run) {
        kvc_text_add_format(out, " (profile ");
        add(out, kvc_json_string(run->result, "profile"));
        kvc_text_add_format(out, ", seed %s)", kvc_json_string(run->result, "seed"));
    }
    kvc_text_add_format(out, "\" time=\"%.3f\">", seconds);
}

static void add_finding(kvc_text *out, const cJSON *finding)
{
    kvc_text plain = {0};
    kvc_text sizes = {0};
    kvc_text_add(out, "<failure type=\"");
    add(out, kvc_json_string(finding, "law"));
    kvc_text_add(out, "\" message=\"");
    add(out, kvc_json_string(finding, "title"));
    kvc_text_add(out, "\">");
    kvc_text_add(&plain, kvc_json_string(finding, "title"));
    kvc_text_add(&plain, "\ncase: ");
    kvc_words_add_ops(&plain, finding);
    kvc_words_add_sizes(&sizes, finding);
    kvc_text_add_format(&plain, "%s%s\nwrong at op %.0f\n", sizes.length > 0 ? "\nwith: " : "", kvc_text_string(&sizes),
                        kvc_json_number(finding, "step") + 1);
    plain.failed |= sizes.failed;
    kvc_text_free(&sizes);
    kvc_words_add_difference(&plain, finding);
    kvc_text_add_format(&plain, "\n%s: %s\n%s\n", kvc_json_string(finding, "basis"), kvc_json_string(finding, "source"),
                        kvc_json_string(finding, "replay"));
    kvc_text_add_html_short(out, kvc_text_string(&plain), KVC_LINES_KEEP, TEXT_MAX);
    out->failed |= plain.failed;
    kvc_text_free(&plain);
    kvc_text_add(out, "</failure></testcase>\n");
}

static void add_run(kvc_text *out, const kvc_report_model *model, const kvc_report_run *run)
{
    const cJSON *finding = NULL;
    double seconds = kvc_json_number(run->json, "seconds");
    cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(run->json, "findings")) {
        add_test(out, model, run, kvc_json_string(finding, "id"), seconds);
        add_finding(out, finding);
        seconds = 0; /* the time of the run is told once */
    }
    if (run->status != KVC_STATUS_FINDINGS) {
        add_test(out, model, run, "", seconds);
        if (run->status != KVC_STATUS_CONFORMS) {
            kvc_text_add_format(out, "<%s %smessage=\"%s: ", run->status == KVC_STATUS_NOT_RUN ? "error" : "skipped",
                                run->status == KVC_STATUS_NOT_RUN ? "type=\"not run\" " : "", kvc_status_word(run->status));
            add(out, kvc_json_string(run->json, "reason"));
            kvc_text_add(out, "\"/>");
        }
        kvc_text_add(out, "</testcase>\n");
    }
}

int kvc_report_junit(const kvc_report_model *model, kvc_text *out)
{
    kvc_junit_counts all = {0};
    for (size_t i = 0; i < model->run_count; i++) {
        count_run(&model->runs[i], &all);
    }
    kvc_text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kvconform\"");
    add_counts(out, &all);
    /* The runs of a version need not lie side by side in a plain result, but nearly always do. */
    for (size_t version = 0; version < model->version_count && !out->failed; version++) {
        kvc_junit_counts counts = {0};
        kvc_text plain = {0};
        for (size_t i = model->versions[version].first; i < model->run_count; i++) {
            if (model->runs[i].version == version) {
                count_run(&model->runs[i], &counts);
            }
        }
        kvc_words_add_version(&plain, &model->versions[version]);
        kvc_text_add(out, "<testsuite name=\"");
        add(out, kvc_text_string(&plain));
        kvc_text_add(out, "\"");
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        add_counts(out, &counts);
        for (size_t i = model->versions[version].first; i < model->run_count; i++) {
            if (model->runs[i].version == version) {
                add_run(out, model, &model->runs[i]);
            }
        }
        kvc_text_add(out, "</testsuite>\n");
    }
    kvc_text_add(out, "</testsuites>\n");
    return out->failed ? -1 : 0;
}
