/*
 * How far "no finding" can be trusted: what was not run and why, how often each op was done in each situation, and how all of it
 * was run.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html_internal.h"
#include "reports/words.h"

static void add_version(kvc_text *out, const kvc_report_version *version)
{
    kvc_text plain = {0};
    kvc_words_add_version(&plain, version);
    kvc_html_add_text(out, &plain);
}

/* So many runs of a row are compared: those beyond them have a line of their own. */
enum { LIKE_MAX = 200 };

/* The first run of the row with the same status and reason as `run`. */
static size_t first_like(const kvc_report_model *model, size_t run)
{
    const kvc_report_run *like = &model->runs[run];
    const char *reason = kvc_json_string(like->json, "reason");
    int seen = 0;
    for (size_t cell = model->rows[like->row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        for (size_t at = model->cells[cell].first_run; at != KVC_NONE; at = model->runs[at].next) {
            if (seen++ == LIKE_MAX) {
                return run;
            }
            if (model->runs[at].status == like->status && strcmp(kvc_json_string(model->runs[at].json, "reason"), reason) == 0) {
                return at;
            }
        }
    }
    return run;
}

/* The versions of all runs of the row like `run`. */
static void add_like(kvc_text *out, const kvc_report_model *model, size_t run)
{
    size_t count = 0;
    int seen = 0;
    for (size_t cell = model->rows[model->runs[run].row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        for (size_t at = model->cells[cell].first_run; at != KVC_NONE && seen++ < LIKE_MAX; at = model->runs[at].next) {
            if (first_like(model, at) == run) {
                kvc_text_add(out, count++ > 0 ? ", " : "");
                kvc_html_add(out, model->versions[model->cells[cell].version].version);
                break;
            }
        }
    }
    if (count == 0) {
        kvc_html_add(out, model->versions[model->runs[run].version].version);
    }
}

/* Adds what has this status and a reason, one line for each variant and reason. Returns how many lines. */
static size_t add_reasons(kvc_text *out, const kvc_report_model *model, kvc_status status, const char *caption)
{
    size_t lines = 0;
    for (size_t i = 0; i < model->run_count && out->length < KVC_HTML_LISTED_BYTES && lines < KVC_HTML_ROWS_MAX; i++) {
        const kvc_report_run *run = &model->runs[i];
        const kvc_report_row *row = &model->rows[run->row];
        if (run->status != status || *kvc_json_string(run->json, "reason") == '\0' || first_like(model, i) != i) {
            continue;
        }
        if (lines++ == 0) {
            kvc_html_open_scroll(out, caption);
            kvc_text_add_format(out,
                                "<table class=\"wide\">\n<caption>%s %s</caption>\n<thead><tr><th scope=\"col\">variant</th>"
                                "<th scope=\"col\">subject</th><th scope=\"col\">versions</th><th scope=\"col\">reason</th></tr>"
                                "</thead>\n<tbody>\n",
                                kvc_status_glyph(status), caption);
        }
        kvc_text_add(out, "<tr><th scope=\"row\">");
        kvc_html_add_name(out, kvc_words_row_name(row));
        kvc_text_add(out, "</th><td>");
        kvc_html_add(out, row->subject);
        kvc_text_add(out, "</td><td>");
        add_like(out, model, i);
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(run->json, "reason"));
        kvc_text_add(out, "</td></tr>\n");
    }
    if (lines > 0) {
        kvc_text_add(out, "</tbody></table>");
        kvc_html_close_scroll(out);
    }
    return lines;
}

void kvc_html_add_not_run(kvc_text *out, const kvc_report_model *model)
{
    size_t any = 0;
    for (size_t i = 0; i < model->run_count && !any; i++) {
        any = *kvc_json_string(model->runs[i].json, "reason") != '\0';
    }
    if (!any) {
        return;
    }
    kvc_text_add(out, "<section aria-labelledby=\"not-run\">\n<h2 id=\"not-run\">What was not run, and why</h2>\n");
    (void)add_reasons(out, model, KVC_STATUS_NOT_COVERED, "Not covered: nothing is known about these");
    (void)add_reasons(out, model, KVC_STATUS_NOT_RUN, "Could not be run");
    (void)add_reasons(out, model, KVC_STATUS_FINDINGS, "Findings of a run that did not come to its end");
    (void)add_reasons(out, model, KVC_STATUS_CONFORMS, "Not run to the end");
    if (model->status_count[KVC_STATUS_ABSENT] > 0) {
        kvc_text_add(out, "<details class=\"part\"><summary>Classes that some versions do not have</summary>\n");
        (void)add_reasons(out, model, KVC_STATUS_ABSENT, "Absent");
        kvc_text_add(out, "</details>\n");
    }
    kvc_text_add(out, "</section>\n");
}

/* How often an op was done in a situation at one version. */
typedef struct kvc_reached {
    const char *op, *situation;
    const char *because; /* NULL, or the finding that stands in the way */
    size_t version;
    uint64_t count;
} kvc_reached;

static int same_situation(const kvc_reached *a, const kvc_reached *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->situation, b->situation) == 0;
}

static int compare_reached(const void *left, const void *right)
{
    const kvc_reached *a = left;
    const kvc_reached *b = right;
    int order = strcmp(a->op, b->op);
    order = order != 0 ? order : strcmp(a->situation, b->situation);
    order = order != 0 ? order : (a->version > b->version) - (a->version < b->version);
    return order != 0 ? order : (a->count < b->count) - (a->count > b->count);
}

/* All situations of a row. *out is for the caller to free. Returns 0, or -1 without memory. */
static int gather(const kvc_report_model *model, size_t row, kvc_reached **out, size_t *count)
{
    static const char *const lists[] = {"coverage", "unreached"};
    const cJSON *entry = NULL;
    size_t room = 1;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
            for (size_t at = model->cells[cell].first_run; at != KVC_NONE; at = model->runs[at].next) {
                for (size_t list = 0; list < 2; list++) {
                    cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(model->runs[at].json, lists[list])) {
                        if (pass == 0) {
                            room++;
                            continue;
                        }
                        (*out)[(*count)++] = (kvc_reached){kvc_json_string(entry, "op"), kvc_json_string(entry, "situation"),
                                                           list == 1 ? kvc_json_string(entry, "because") : NULL,
                                                           model->cells[cell].version,
                                                           (uint64_t)kvc_json_number(entry, "count")};
                    }
                }
            }
        }
        if (pass == 0 && (*out = malloc(room * sizeof **out)) == NULL) {
            return -1;
        }
    }
    qsort(*out, *count, sizeof **out, compare_reached);
    return 0;
}

/* The number of the finding of this row with that id, as a link; the id alone when there is none. */
static void add_because(kvc_text *out, const kvc_report_model *model, size_t row, const char *id)
{
    size_t first = model->rows[row].first_cause;
    for (size_t i = first; i < first + model->rows[row].causes && i < KVC_HTML_CARDS_MAX; i++) {
        if (strcmp(model->causes[i].id, id) == 0) {
            kvc_text_add(out, "behind <a href=\"#");
            kvc_html_add_anchor(out, model, i);
            kvc_text_add_format(out, "\">✗ %zu</a>", i + 1);
            return;
        }
    }
    kvc_text_add(out, "behind ");
    kvc_html_add_code(out, id);
}

/* The counts of one situation, a cell for each version that was run. */
static void add_situation(kvc_text *out, const kvc_report_model *model, size_t row, const kvc_reached *reached, size_t count)
{
    size_t at = 0;
    kvc_text_add(out, "<tr><th scope=\"row\">");
    kvc_html_add(out, reached->op);
    kvc_text_add(out, "</th><td>");
    kvc_html_add(out, reached->situation);
    kvc_text_add(out, "</td>");
    for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        uint64_t times = 0;
        const char *because = NULL;
        if (!kvc_report_was_run(model->cells[cell].status) ||
            !kvc_html_is_column(model, model->cells[cell].version, model->rows[row].subject_index)) {
            continue;
        }
        while (at < count && reached[at].version < model->cells[cell].version) {
            at++;
        }
        for (; at < count && reached[at].version == model->cells[cell].version; at++) {
            times += reached[at].count;
            because = reached[at].because != NULL ? reached[at].because : because;
        }
        kvc_text_add(out, "<td class=\"number\">");
        if (times > 0) {
            kvc_text_add_count(out, times);
        } else if (because != NULL) {
            add_because(out, model, row, because);
        } else {
            kvc_text_add(out, "–");
        }
        kvc_text_add(out, "</td>");
    }
    kvc_text_add(out, "</tr>\n");
}

/* How many sequences were run of each version, and what was run of them in full. */
static void add_sequences(kvc_text *out, const kvc_report_model *model, size_t row)
{
    kvc_text plain = {0};
    kvc_html_open_scroll(out, "Sequences");
    kvc_text_add(out, "<table>\n<caption>Sequences</caption>\n<thead><tr><th scope=\"col\">version</th><th scope=\"col\" class=\"number\">"
                      "sequences</th><th scope=\"col\" class=\"number\">ops</th><th scope=\"col\">every sequence up to</th>"
                      "<th scope=\"col\">of these ops</th><th scope=\"col\">contract</th></tr></thead>\n<tbody>\n");
    for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        for (size_t at = model->cells[cell].first_run; at != KVC_NONE; at = model->runs[at].next) {
            const cJSON *run = model->runs[at].json;
            const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run, "exhaustive");
            if (!kvc_report_was_run(model->runs[at].status) || out->length >= KVC_HTML_COVERAGE_BYTES) {
                continue;
            }
            kvc_text_add(out, "<tr><th scope=\"row\">");
            kvc_html_add(out, model->versions[model->cells[cell].version].version);
            kvc_text_add(out, "</th><td class=\"number\">");
            kvc_text_add_count(out, (uint64_t)kvc_json_number(run, "sequences"));
            kvc_text_add(out, "</td><td class=\"number\">");
            kvc_text_add_count(out, (uint64_t)kvc_json_number(run, "ops"));
            kvc_text_add(out, "</td><td>");
            kvc_words_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
            kvc_text_add(out, "</td><td>");
            kvc_words_add_value(&plain, cJSON_GetObjectItemCaseSensitive(exhaustive, "alphabet"));
            kvc_html_add_text(out, &plain);
            kvc_text_add(out, "</td><td>");
            kvc_html_add(out, kvc_json_string(run, "contract"));
            kvc_text_add(out, kvc_json_true(run, "assumed") ? " <span class=\"soft\">(assumed: the version is newer)</span>" : "");
            kvc_text_add(out, "</td></tr>\n");
        }
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

/* What was taken for granted of a class, or is not tested of it: those of its first run that says so. */
static void add_notes(kvc_text *out, const kvc_report_model *model, size_t row, const char *field, const char *heading)
{
    const cJSON *notes = NULL;
    const cJSON *note = NULL;
    for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        for (size_t at = model->cells[cell].first_run; at != KVC_NONE; at = model->runs[at].next) {
            const cJSON *list = cJSON_GetObjectItemCaseSensitive(model->runs[at].json, field);
            notes = notes == NULL && cJSON_GetArraySize(list) > 0 ? list : notes;
        }
    }
    if (notes == NULL) {
        return;
    }
    kvc_text_add_format(out, "<p>%s:</p>\n<ul>\n", heading);
    cJSON_ArrayForEach (note, notes) {
        kvc_text_add(out, "<li>");
        kvc_html_add(out, note->valuestring);
        kvc_text_add(out, "</li>\n");
    }
    kvc_text_add(out, "</ul>\n");
}

/* Returns 0, or -1 without memory. */
static int add_row_coverage(kvc_text *out, const kvc_report_model *model, size_t row)
{
    kvc_reached *reached = NULL;
    size_t count = 0;
    size_t situations = 0;
    uint64_t sequences = 0;
    if (gather(model, row, &reached, &count) != 0) {
        return -1;
    }
    for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        for (size_t at = model->cells[cell].first_run; at != KVC_NONE; at = model->runs[at].next) {
            sequences += (uint64_t)kvc_json_number(model->runs[at].json, "sequences");
        }
    }
    for (size_t i = 0; i < count; i++) {
        situations += i == 0 || !same_situation(&reached[i - 1], &reached[i]);
    }
    kvc_text_add(out, "<details class=\"part\"><summary>");
    kvc_html_add_name(out, kvc_words_row_name(&model->rows[row]));
    kvc_text_add(out, " <span class=\"soft\">");
    kvc_words_add_plural(out, sequences, "sequence", "sequences");
    kvc_text_add(out, ", ");
    kvc_words_add_plural(out, situations, "situation", "situations");
    kvc_text_add(out, "</span></summary>\n");
    add_notes(out, model, row, "assumptions", "Assumed");
    add_notes(out, model, row, "untested", "Not tested");
    add_sequences(out, model, row);
    kvc_html_open_scroll(out, "Situations reached");
    kvc_text_add(out, "<table>\n<caption>How often each op was done in each situation</caption>\n<thead><tr><th scope=\"col\">op</th>"
                      "<th scope=\"col\">situation</th>");
    for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
        if (kvc_report_was_run(model->cells[cell].status) &&
            kvc_html_is_column(model, model->cells[cell].version, model->rows[row].subject_index)) {
            kvc_text_add(out, "<th scope=\"col\" class=\"number\">");
            kvc_html_add(out, model->versions[model->cells[cell].version].version);
            kvc_text_add(out, "</th>");
        }
    }
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count && out->length < KVC_HTML_COVERAGE_BYTES;) {
        size_t end = i + 1;
        while (end < count && same_situation(&reached[i], &reached[end])) {
            end++;
        }
        add_situation(out, model, row, &reached[i], end - i);
        i = end;
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
    kvc_text_add(out, "</details>\n");
    free(reached);
    return 0;
}

void kvc_html_add_coverage(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "<section aria-labelledby=\"coverage\">\n<h2 id=\"coverage\">Coverage</h2>\n<p class=\"soft\">How often each op was "
                      "done in each situation: no finding means little where a number is small. What stands behind a finding was "
                      "planned and never reached: look again once that is mended. Short sequences were all run, over a small "
                      "alphabet of ops; longer ones were drawn at random.</p>\n");
    for (size_t row = 0; row < model->row_count; row++) {
        int run = 0;
        for (size_t cell = model->rows[row].first_cell; cell != KVC_NONE; cell = model->cells[cell].next) {
            run |= kvc_report_was_run(model->cells[cell].status);
        }
        if (run && out->length >= KVC_HTML_COVERAGE_BYTES) {
            kvc_text_add(out, "<p>The coverage of the rest is not shown here; the JSON beside this page has it.</p>\n");
            break;
        }
        if (run && add_row_coverage(out, model, row) != 0) {
            out->failed = 1;
        }
    }
    kvc_text_add(out, "</section>\n");
}

static void add_results(kvc_text *out, const kvc_report_model *model)
{
    kvc_text plain = {0};
    kvc_html_open_scroll(out, "Runs");
    kvc_text_add(out, "<table class=\"wide\">\n<caption>Runs that this report was made of</caption>\n<thead><tr><th scope=\"col\">command"
                      "</th><th scope=\"col\">seed</th><th scope=\"col\">profile</th><th scope=\"col\">budget</th><th scope=\"col\">"
                      "machine</th><th scope=\"col\">program</th><th scope=\"col\">finished</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < model->result_count && i < KVC_HTML_ROWS_MAX; i++) {
        const cJSON *result = model->results[i];
        const cJSON *tool = cJSON_GetObjectItemCaseSensitive(result, "tool");
        const cJSON *finished = cJSON_GetObjectItemCaseSensitive(result, "finished");
        kvc_text_add(out, "<tr><td>");
        kvc_words_add_command(&plain, cJSON_GetObjectItemCaseSensitive(result, "command"));
        kvc_html_add_code(out, kvc_text_string(&plain));
        kvc_text_free(&plain);
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(result, "seed"));
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(result, "profile"));
        kvc_text_add(out, "</td><td>");
        kvc_words_add_table(&plain, cJSON_GetObjectItemCaseSensitive(result, "budget"));
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(cJSON_GetObjectItemCaseSensitive(result, "environment"), "platform"));
        kvc_text_add(out, "</td><td>");
        kvc_text_add_format(&plain, "%s %s", kvc_json_string(tool, "name"), kvc_json_string(tool, "version"));
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(finished, "at"));
        kvc_text_add(out, kvc_json_true(finished, "interrupted") ? " <b>interrupted</b></td></tr>\n" : "</td></tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

void kvc_html_add_provenance(kvc_text *out, const kvc_report_model *model)
{
    kvc_text plain = {0};
    kvc_text_add(out, "<section aria-labelledby=\"how\">\n<h2 id=\"how\">How it was run</h2>\n");
    add_results(out, model);
    kvc_html_open_scroll(out, "Environments");
    kvc_text_add(out, "<table class=\"wide\">\n<caption>What each subject ran in</caption>\n<thead><tr><th scope=\"col\">subject</th>"
                      "<th scope=\"col\">environment</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < model->version_count && i < KVC_HTML_ROWS_MAX; i++) {
        const cJSON *environment = cJSON_GetObjectItemCaseSensitive(model->runs[model->versions[i].first].json, "environment");
        kvc_text_add(out, "<tr><th scope=\"row\">");
        add_version(out, &model->versions[i]);
        kvc_text_add(out, "</th><td>");
        kvc_words_add_table(&plain, environment);
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, "</td></tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
    kvc_text_add(out, "</section>\n");
}
