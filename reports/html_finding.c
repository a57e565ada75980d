/*
 * The findings, by variant. Each is a <details> whose summary says what is wrong, with the case and the versions; inside are the
 * case step by step, the lanes, why that is wrong and how sure that is, and what to paste into a bug report.
 */
#include <string.h>

#include "reports/html_internal.h"
#include "reports/law_text.h"
#include "reports/words.h"

enum { OPEN_MAX = 8 }; /* so many findings stand open from the start; of more, only the first */

/* Which token numbers the op puts in, counted from `next`; returns the next number after it. */
static double add_new_tokens(kvc_text *out, const cJSON *op, double next)
{
    static const char *const feeds[] = {"append", "split", "append_rows", "extend"};
    const cJSON *argument = op->child->next;
    const cJSON *row = NULL;
    double count = 0;
    size_t at = 0;
    while (at < sizeof feeds / sizeof feeds[0] && strcmp(op->child->valuestring, feeds[at]) != 0) {
        at++;
    }
    if (at < sizeof feeds / sizeof feeds[0]) {
        count = cJSON_IsNumber(argument) ? argument->valuedouble : 0;
        cJSON_ArrayForEach (row, argument) {
            count = cJSON_IsNumber(row) && row->valuedouble > count ? row->valuedouble : count;
        }
    }
    if (count < 1) {
        return next;
    }
    if (count > 1) {
        kvc_text_add_format(out, " <span class=\"soft\">tokens %.0f–%.0f</span>", next, next + count - 1);
    } else {
        kvc_text_add_format(out, " <span class=\"soft\">token %.0f</span>", next);
    }
    return next + count;
}

/* What sort of cache the case needs. */
static void add_sizes(kvc_text *out, const cJSON *finding)
{
    kvc_text plain = {0};
    kvc_words_add_sizes(&plain, finding);
    if (plain.length > 0) {
        kvc_text_add(out, "<p class=\"soft\">with ");
        kvc_html_add(out, kvc_text_string(&plain));
        kvc_text_add(out, "</p>\n");
    }
    out->failed |= plain.failed;
    kvc_text_free(&plain);
}

/* The case as a row of steps; the one that goes wrong is marked. */
static void add_steps(kvc_text *out, const cJSON *finding)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "ops");
    const cJSON *op = NULL;
    kvc_text plain = {0};
    int step = (int)kvc_json_number(finding, "step");
    int index = 0;
    double next = 0;
    kvc_text_add(out, "<ol class=\"steps\">");
    cJSON_ArrayForEach (op, ops) {
        if (index > step || (index < step && index >= 100)) {
            index++;
            continue;
        }
        kvc_text_add(out, index == step ? "<li class=\"here\">" : "<li>");
        kvc_words_add_op(&plain, op);
        kvc_html_add_code(out, kvc_text_string(&plain));
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        next = add_new_tokens(out, op, next);
        kvc_text_add(out, index == step ? " <b class=\"bad\">✗ wrong here</b></li>" : "</li>");
        index++;
    }
    kvc_text_add(out, "</ol>\n");
}

/* One line of a table of facts. */
static void add_fact(kvc_text *out, const kvc_fact *fact, const cJSON *expected, const cJSON *observed)
{
    int known = fact->compared && expected != NULL && observed != NULL;
    int same = known && cJSON_Compare(expected, observed, 1);
    kvc_text_add_format(out, "<tr%s><th scope=\"row\">%s</th><td>", known && !same ? " class=\"here\"" : "", fact->name);
    for (int side = 0; side < 2; side++) {
        const cJSON *value = side == 0 ? expected : observed;
        kvc_text_add(out, side == 0 ? "" : "</td><td>");
        if (value != NULL) {
            kvc_html_add_value(out, value);
        } else {
            kvc_text_add(out, "<span class=\"soft\">–</span>");
        }
    }
    kvc_text_add(out, "</td><td>");
    if (known) {
        kvc_text_add(out, same ? "<span class=\"good\">✓</span> same" : "<span class=\"bad\">✗</span> differs");
    }
    kvc_text_add(out, "</td></tr>\n");
}

/* Facts beside the tensors: all of them, or those that are wrong, with the error. */
static void add_facts(kvc_text *out, const cJSON *finding, int all)
{
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(finding, "expected");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    int any = 0;
    for (size_t i = 0; i < KVC_FACTS; i++) {
        const cJSON *left = cJSON_GetObjectItemCaseSensitive(expected, kvc_facts[i].field);
        const cJSON *right = cJSON_GetObjectItemCaseSensitive(observed, kvc_facts[i].field);
        int differs = left != NULL && right != NULL ? !cJSON_Compare(left, right, 1) : !kvc_facts[i].compared;
        if ((left == NULL && right == NULL) || (!all && !differs)) {
            continue;
        }
        kvc_text_add(out, any++ ? ""
                                : "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Facts after that op\">"
                                  "<table class=\"facts\">\n<caption>After that op</caption>\n<thead><tr><th scope=\"col\">fact</th>"
                                  "<th scope=\"col\">expected</th><th scope=\"col\">observed</th><th scope=\"col\">difference</th>"
                                  "</tr></thead>\n<tbody>\n");
        add_fact(out, &kvc_facts[i], left, right);
    }
    kvc_text_add(out, any ? "</tbody></table></div>\n" : "");
}

static void add_law(kvc_text *out, const cJSON *finding)
{
    const cJSON *also = cJSON_GetObjectItemCaseSensitive(finding, "also");
    const cJSON *entry = NULL;
    kvc_text plain = {0};
    kvc_text_add(out, "<dt>Law broken</dt><dd><b>");
    kvc_html_add(out, kvc_json_string(finding, "law"));
    kvc_text_add_format(out, "</b> %s", kvc_report_law_text(kvc_json_string(finding, "law")));
    if (also->child != NULL) {
        kvc_text_add(out, " <span class=\"soft\">Also: ");
        cJSON_ArrayForEach (entry, also) {
            kvc_text_add(&plain, entry == also->child ? "" : ", ");
            kvc_text_add(&plain, entry->valuestring);
        }
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, ".</span>");
    }
    kvc_text_add(out, "</dd>\n");
}

static void add_rule(kvc_text *out, const cJSON *finding)
{
    const cJSON *rule = cJSON_GetObjectItemCaseSensitive(finding, "rule");
    const char *source = kvc_json_string(finding, "source");
    int documented = strcmp(kvc_json_string(finding, "basis"), "documented") == 0;
    kvc_text plain = {0};
    kvc_text_add_format(out, "<dt>Promised by</dt><dd><b>%s</b>: ", documented ? "Documented" : "Inferred");
    if (*source != '\0') {
        kvc_html_add(out, source);
    } else {
        kvc_text_add(out, documented ? "the subject's own texts" : "the law itself");
    }
    kvc_text_add(out, documented ? "" : " <span class=\"soft\">(The subject's texts are silent; the argument is ours.)</span>");
    if (rule != NULL && strcmp(kvc_json_string(rule, "name"), "law") != 0) {
        kvc_text_add(out, " <span class=\"soft\">Rule</span> ");
        kvc_text_add_format(&plain, "%s: ", kvc_json_string(rule, "name"));
        kvc_words_add_value(&plain, cJSON_GetObjectItemCaseSensitive(rule, "value"));
        kvc_html_add_code(out, kvc_text_string(&plain));
        out->failed |= plain.failed;
        kvc_text_free(&plain);
    }
    kvc_text_add(out, "</dd>\n");
}

/* Every version of the subject: whether it is affected. */
static void add_seen(kvc_text *out, const kvc_report_model *model, size_t cause)
{
    size_t row = model->causes[cause].row;
    size_t versions = 0;
    kvc_text_add(out, "<dt>Versions</dt><dd><ul class=\"versions\">");
    for (size_t i = 0; i < model->version_count; i++) {
        const kvc_report_cell *cell =
            kvc_html_is_column(model, i, model->rows[row].subject_index) ? kvc_report_model_cell(model, row, i) : NULL;
        if (cell == NULL) {
            continue;
        }
        int hit = kvc_report_model_affects(model, cause, i);
        kvc_text_add_format(out, "<li%s>%s ", hit ? " class=\"hit\"" : "",
                            hit                               ? "<b class=\"bad\">✗</b>"
                            : kvc_report_was_run(cell->status) ? "<span class=\"good\">✓</span>"
                                                               : kvc_status_glyph(cell->status));
        kvc_html_add(out, model->versions[i].version);
        kvc_text_add_format(out, " <span class=\"word\">%s</span></li>",
                            hit                               ? "affected"
                            : kvc_report_was_run(cell->status) ? "not found"
                                                               : kvc_status_word(cell->status));
        versions++;
    }
    kvc_text_add(out, "</ul>");
    if (versions > 1) {
        kvc_text_add(out, "<span class=\"soft\">The case shown is from ");
        kvc_html_add(out, model->versions[model->runs[model->findings[model->causes[cause].shown].run].version].version);
        kvc_text_add(out, ".</span>");
    }
    kvc_text_add(out, "</dd>\n");
}

static void add_sure(kvc_text *out, const kvc_report_model *model, size_t cause, const cJSON *finding)
{
    kvc_text_add(out, "<dt>How sure</dt><dd>");
    if (kvc_json_true(finding, "flaky")) {
        kvc_text tries = {0};
        kvc_words_add_tries(&tries, finding);
        kvc_text_add(out, "<b>≈ Flaky:</b> the case did not fail every time it was run");
        kvc_text_add_html_short(out, kvc_text_string(&tries), KVC_LINES_SHOW, KVC_HTML_TEXT_MAX);
        kvc_text_add(out, ". ");
        kvc_text_free(&tries);
    }
    if (kvc_json_true(finding, "control")) {
        kvc_text_add(out, "<b>⚑ Control:</b> this cache is broken on purpose. ");
    }
    kvc_words_add_minimal(out, finding);
    kvc_text_add(out, " ");
    kvc_words_add_plural(out, model->causes[cause].failures, "sequence", "sequences");
    kvc_text_add(out, " failed for this cause.</dd>\n");
}

static void add_script(kvc_text *out, const cJSON *finding)
{
    const char *script = kvc_json_string(finding, "script");
    const char *reason = kvc_json_string(finding, "no_script");
    if (*script == '\0') {
        kvc_text_add(out, "<p class=\"soft\">There is no script; use the replay command.");
        kvc_text_add(out, *reason != '\0' ? " The reason: " : "");
        kvc_html_add(out, reason);
        kvc_text_add(out, "</p>\n");
        return;
    }
    kvc_text_add_format(out, "<details class=\"part\"><summary>Script for a bug report</summary>\n<p class=\"soft\">It needs only the "
                             "subject. Exit status 1: the fault shows; 0: it does not.%s</p>\n<pre class=\"copy\" tabindex=\"0\" "
                             "role=\"region\" aria-label=\"Script\">",
                        strlen(script) > KVC_HTML_SCRIPT_MAX ? " It is cut here; the result has it whole." : "");
    kvc_text_add_html_short(out, script, KVC_LINES_KEEP, KVC_HTML_SCRIPT_MAX);
    kvc_text_add(out, "</pre></details>\n");
}

static void add_replay(kvc_text *out, const cJSON *finding)
{
    kvc_text plain = {0};
    kvc_text_add(out, "<details class=\"part\"><summary>Replay, parameters, id</summary>\n<dl>");
    if (*kvc_json_string(finding, "replay") != '\0') {
        kvc_text_add(out, "<dt>Replay</dt><dd><pre class=\"copy\" tabindex=\"0\" role=\"region\" aria-label=\"Replay\">");
        kvc_text_add_html_short(out, kvc_json_string(finding, "replay"), KVC_LINES_KEEP, KVC_HTML_TEXT_MAX);
        kvc_text_add(out, "</pre></dd>\n");
    }
    kvc_text_add(out, "<dt>Parameters</dt><dd>");
    kvc_words_add_table(&plain, cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "params"));
    kvc_html_add_text(out, &plain);
    kvc_text_add(out, "</dd>\n<dt>Finding</dt><dd>");
    kvc_html_add_code(out, kvc_json_string(finding, "id"));
    static const char *const fields[][2] = {{"tensor", "Tensor"}, {"situation", "Situation"}, {"deviation", "Deviation"}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (*kvc_json_string(finding, fields[i][0]) != '\0') {
            kvc_text_add_format(out, "</dd>\n<dt>%s</dt><dd>", fields[i][1]);
            kvc_html_add(out, kvc_json_string(finding, fields[i][0]));
        }
    }
    kvc_text_add(out, "</dd></dl></details>\n");
}

/* What is seen before a finding is opened: enough to know it. */
static void add_summary(kvc_text *out, const kvc_report_model *model, size_t cause, const cJSON *finding, const kvc_lanes *lanes)
{
    const char *severity = kvc_json_string(finding, "severity");
    kvc_text plain = {0};
    kvc_text_add_format(out, "<summary><h4><span class=\"soft\">%zu</span> ", cause + 1);
    kvc_html_add(out, kvc_words_title(&model->rows[model->causes[cause].row], finding));
    kvc_text_add(out, "</h4>\n<span class=\"about\"><span class=\"tag\">");
    kvc_html_add(out, kvc_json_string(finding, "law"));
    kvc_text_add_format(out, "</span> <span class=\"tag\">%s %s</span> <span class=\"tag\">%s</span> ", kvc_severity_glyph(severity),
                        kvc_severity_meaning(severity), kvc_json_string(finding, "basis"));
    kvc_words_add_versions(&plain, model, cause);
    if (model->subjects[model->rows[model->causes[cause].row].subject_index].versions > 1) {
        kvc_text_add(out, "<span class=\"tag\">in ");
        kvc_html_add(out, kvc_text_string(&plain));
        kvc_text_add(out, "</span>");
    }
    kvc_text_free(&plain);
    kvc_text_add(out, "</span>\n<span class=\"mini\">");
    kvc_words_add_ops(&plain, finding);
    kvc_html_add_code(out, kvc_text_string(&plain));
    kvc_text_free(&plain);
    kvc_text_add(out, " <span class=\"soft\">→</span> ");
    if (lanes->wrong > 0) {
        kvc_html_add_lane_words(out, lanes);
    } else {
        kvc_words_add_difference(&plain, finding);
        kvc_text_add_html_short(out, kvc_text_string(&plain), KVC_LINES_SHOW, 240);
        kvc_text_free(&plain);
    }
    kvc_text_add(out, "</span></summary>\n");
}

static void add_card(kvc_text *out, const kvc_report_model *model, size_t cause, int open)
{
    const cJSON *finding = model->findings[model->causes[cause].shown].json;
    kvc_lanes lanes = {0};
    if (kvc_lanes_make(finding, &lanes) != 0) {
        out->failed = 1;
        kvc_lanes_free(&lanes);
        return;
    }
    kvc_text_add_format(out, "<details class=\"card\"%s>", open ? " open" : "");
    add_summary(out, model, cause, finding, &lanes);
    /* A link to what is inside opens the finding in browsers of today; the summary is in view in all of them. */
    kvc_text_add(out, "<div class=\"inside\" id=\"");
    kvc_html_add_anchor(out, model, cause);
    kvc_text_add(out, "\">\n");
    add_steps(out, finding);
    add_sizes(out, finding);
    /* First what the finding is about. */
    if (lanes.wrong == 0) {
        add_facts(out, finding, 0);
    }
    kvc_html_add_lanes(out, &lanes);
    if (lanes.wrong > 0) {
        add_facts(out, finding, 0);
    }
    kvc_text_add(out, "<dl>\n");
    add_law(out, finding);
    add_rule(out, finding);
    kvc_html_add_model_facts(out, model, cause, finding);
    add_seen(out, model, cause);
    add_sure(out, model, cause, finding);
    kvc_text_add(out, "</dl>\n");
    add_script(out, finding);
    kvc_text_add(out, "<details class=\"part\"><summary>The same as tables</summary>\n");
    add_facts(out, finding, 1);
    kvc_html_add_lane_tables(out, &lanes);
    kvc_text_add(out, "</details>\n");
    add_replay(out, finding);
    kvc_text_add(out, "</div></details>\n");
    kvc_lanes_free(&lanes);
}

/* Findings beyond those that are drawn, one line each. Returns where it stopped. */
static size_t add_rest(kvc_text *out, const kvc_report_model *model, size_t from)
{
    size_t cause = from;
    kvc_text plain = {0};
    kvc_html_open_scroll(out, "More findings");
    kvc_text_add(out, "<table class=\"wide\">\n<caption>More findings, in short</caption>\n<thead><tr><th scope=\"col\">finding</th>"
                      "<th scope=\"col\">variant</th><th scope=\"col\">case</th><th scope=\"col\">versions</th></tr></thead>\n<tbody>\n");
    for (; cause < model->cause_count && cause < from + KVC_HTML_LISTED_MAX && out->length < KVC_HTML_LISTED_BYTES; cause++) {
        const cJSON *finding = model->findings[model->causes[cause].shown].json;
        kvc_text_add_format(out, "<tr><th scope=\"row\">%zu. ", cause + 1);
        kvc_text_add_html_short(out, kvc_words_title(&model->rows[model->causes[cause].row], finding), KVC_LINES_SHOW, 160);
        kvc_text_add(out, "</th><td>");
        kvc_html_add_name(out, kvc_words_row_name(&model->rows[model->causes[cause].row]));
        kvc_text_add(out, "</td><td><code>");
        kvc_words_add_ops(&plain, finding);
        kvc_text_add_html_short(out, kvc_text_string(&plain), KVC_LINES_SHOW, 120);
        kvc_text_free(&plain);
        kvc_text_add(out, "</code></td><td>");
        kvc_words_add_versions(&plain, model, cause);
        kvc_text_add_html_short(out, kvc_text_string(&plain), KVC_LINES_SHOW, 120);
        kvc_text_free(&plain);
        kvc_text_add(out, "</td></tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
    return cause;
}

void kvc_html_add_findings(kvc_text *out, const kvc_report_model *model)
{
    size_t row = KVC_NONE;
    size_t cause = 0;
    kvc_text_add(out, "<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings</h2>\n<p class=\"soft\">Each is the smallest "
                      "sequence of calls on a new cache that shows the fault. Numbers are tokens, in the order in which they were "
                      "appended; the oldest stands left. ≠ another token, + one too many, − one missing, ▲ the first wrong cell, "
                      "∅ nothing there.</p>\n");
    for (; cause < model->cause_count && cause < KVC_HTML_CARDS_MAX && out->length < KVC_HTML_CARDS_BYTES; cause++) {
        if (model->causes[cause].row != row) {
            row = model->causes[cause].row;
            kvc_text_add_format(out, "<h3 id=\"row-%zu\">", row);
            kvc_html_add_name(out, kvc_words_row_name(&model->rows[row]));
            kvc_text_add(out, " <span class=\"soft\">");
            if (model->subject_count > 1) {
                kvc_html_add(out, model->rows[row].subject);
                kvc_text_add(out, ", ");
            }
            kvc_words_add_plural(out, model->rows[row].causes, "finding", "findings");
            kvc_text_add(out, "</span></h3>\n");
        }
        add_card(out, model, cause, cause == 0 || model->cause_count <= OPEN_MAX);
    }
    if (cause < model->cause_count) {
        cause = add_rest(out, model, cause);
    }
    if (cause < model->cause_count) {
        kvc_text_add(out, "<p>");
        kvc_words_add_plural(out, model->cause_count - cause, "more finding is", "more findings are");
        kvc_text_add(out, " not listed here; the JSON beside this page has them all.</p>\n");
    }
    kvc_text_add(out, "</section>\n");
}
