#include <string.h>

#include "reports/html_internal.h"
#include "reports/law_text.h"

/* Which token numbers the append `op` puts in, counted from `next`; returns the next number after it. */
static double add_new_tokens(kvc_text *out, const cJSON *op, double next)
{
    double count = cJSON_IsNumber(op->child->next) ? op->child->next->valuedouble : 0;
    if (strcmp(op->child->valuestring, "append") != 0 || count < 1) {
        return next;
    }
    if (count > 1) {
        kvc_text_add_format(out, "adds tokens %.0f–%.0f", next, next + count - 1);
    } else {
        kvc_text_add_format(out, "adds token %.0f", next);
    }
    return next + count;
}

static void add_ops(kvc_text *out, const cJSON *finding)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "ops");
    const cJSON *op = NULL;
    kvc_text plain = {0};
    int step = (int)kvc_json_number(finding, "step");
    int index = 0;
    double next = 0;
    kvc_text_add(out, "<div class=\"scroll\"><table class=\"ops\">\n<caption>Minimal case, on a new cache</caption>\n"
                      "<thead><tr><th scope=\"col\">step</th><th scope=\"col\">op</th>"
                      "<th scope=\"col\"><span class=\"hidden\">what happens</span></th></tr></thead>\n<tbody>\n");
    cJSON_ArrayForEach (op, ops) {
        kvc_text_add_format(out, "<tr%s><th scope=\"row\">%d</th><td>", index == step ? " class=\"here\"" : "", index);
        kvc_model_add_op(&plain, op);
        kvc_html_add_code(out, kvc_text_string(&plain));
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        kvc_text_add(out, "</td><td>");
        next = add_new_tokens(out, op, next);
        kvc_text_add(out, index == step ? " <span class=\"bad\">✗</span> <b>wrong here</b></td></tr>\n" : "</td></tr>\n");
        index++;
    }
    kvc_text_add(out, "</tbody></table></div>\n");
}

/* One line of the table of facts, if either side has it. `same` is a mark and a word, or "". */
static void add_fact(kvc_text *out, const char *name, const cJSON *expected, const cJSON *observed, int compare)
{
    kvc_text left = {0};
    kvc_text right = {0};
    if (expected == NULL && observed == NULL) {
        return;
    }
    kvc_model_add_value(&left, expected);
    kvc_model_add_value(&right, observed);
    int known = compare && expected != NULL && observed != NULL;
    int same = strcmp(kvc_text_string(&left), kvc_text_string(&right)) == 0;
    kvc_text_add_format(out, "<tr%s><th scope=\"row\">%s</th><td>", known && !same ? " class=\"here\"" : "", name);
    if (expected != NULL) {
        kvc_html_add_text(out, &left);
    } else {
        kvc_text_add(out, "<span class=\"soft\">–</span>");
    }
    kvc_text_add(out, "</td><td><span class=\"clip\">");
    if (observed != NULL) {
        kvc_html_add_text(out, &right);
    } else {
        kvc_text_add(out, "<span class=\"soft\">–</span>");
    }
    kvc_text_add(out, "</span></td><td>");
    if (known) {
        kvc_text_add(out, same ? "<span class=\"good\">✓</span> same" : "<span class=\"bad\">✗</span> differs");
    }
    kvc_text_add(out, "</td></tr>\n");
    out->failed |= left.failed | right.failed;
    kvc_text_free(&left);
    kvc_text_free(&right);
}

static void add_facts(kvc_text *out, const cJSON *finding)
{
    static const struct {
        const char *field, *name;
        int compare;
    } facts[] = {
        {"outcome", "outcome", 1},         {"length", "length", 1},        {"masks", "mask sizes", 1},
        {"positions", "next position", 1}, {"claim", "claims to crop", 1}, {"error", "error", 0},
    };
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(finding, "expected");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    kvc_text_add(out, "<div class=\"scroll\"><table class=\"facts\">\n<caption>After that op</caption>\n"
                      "<thead><tr><th scope=\"col\"><span class=\"hidden\">fact</span></th><th scope=\"col\">expected</th>"
                      "<th scope=\"col\">observed</th><th scope=\"col\"><span class=\"hidden\">difference</span></th>"
                      "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        add_fact(out, facts[i].name, cJSON_GetObjectItemCaseSensitive(expected, facts[i].field),
                 cJSON_GetObjectItemCaseSensitive(observed, facts[i].field), facts[i].compare);
    }
    kvc_text_add(out, "</tbody></table></div>\n");
}

static void add_tag(kvc_text *out, const char *what, const char *value)
{
    if (*value != '\0') {
        kvc_text_add_format(out, "<li>%s%s", what, *what != '\0' ? " " : "");
        kvc_html_add(out, value);
        kvc_text_add(out, "</li>");
    }
}

static void add_tags(kvc_text *out, const cJSON *run, const cJSON *finding)
{
    const char *severity = kvc_json_string(finding, "severity");
    kvc_text_add_format(out, "<ul class=\"tags\"><li class=\"bad\">%s <b>%s</b>: %s</li><li>", kvc_severity_glyph(severity),
                        severity, kvc_severity_meaning(severity));
    kvc_html_add_code(out, kvc_json_string(run, "variant"));
    kvc_text_add(out, "</li>");
    add_tag(out, "law", kvc_json_string(finding, "law"));
    add_tag(out, "", kvc_json_string(finding, "basis"));
    add_tag(out, "situation:", kvc_json_string(finding, "situation"));
    add_tag(out, "deviation:", kvc_json_string(finding, "deviation"));
    if (kvc_json_true(finding, "flaky")) {
        kvc_text_add(out, "<li>≈ flaky: did not happen every time</li>");
    }
    if (kvc_json_true(finding, "control")) {
        kvc_text_add(out, "<li>⚑ control: broken on purpose</li>");
    }
    kvc_text_add(out, "</ul>\n");
}

static void add_law(kvc_text *out, const cJSON *finding)
{
    const cJSON *also = cJSON_GetObjectItemCaseSensitive(finding, "also");
    const cJSON *entry = NULL;
    kvc_text_add(out, "<dt>Law broken</dt><dd><b>");
    kvc_html_add(out, kvc_json_string(finding, "law"));
    kvc_text_add_format(out, "</b>: %s", kvc_report_law_text(kvc_json_string(finding, "law")));
    if (also->child != NULL) {
        kvc_text_add(out, " <span class=\"soft\">Also: ");
        cJSON_ArrayForEach (entry, also) {
            kvc_text_add(out, entry == also->child ? "" : ", ");
            kvc_html_add(out, entry->valuestring);
        }
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
    if (rule != NULL) {
        kvc_text_add(out, "<dt>Rule</dt><dd>");
        kvc_text_add_format(&plain, "%s = ", kvc_json_string(rule, "name"));
        kvc_model_add_value(&plain, cJSON_GetObjectItemCaseSensitive(rule, "value"));
        kvc_html_add_code(out, kvc_text_string(&plain));
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        kvc_text_add(out, "</dd>\n");
    }
    kvc_text_add_format(out, "<dt>Rests on</dt><dd><b>%s</b>: ", documented ? "documented" : "inferred");
    if (*source != '\0') {
        kvc_html_add(out, source);
    } else {
        kvc_text_add(out, documented ? "the subject's own texts" : "the law itself");
    }
    kvc_text_add_format(out, "%s</dd>\n",
                        documented ? "" : " <span class=\"soft\">(The subject's texts are silent; the argument is ours.)</span>");
}

/* Every run in which this cause was found. */
static void add_seen(kvc_text *out, const kvc_report_model *model, size_t finding)
{
    kvc_text plain = {0};
    uint64_t failures = 0;
    size_t versions = 0;
    size_t previous = SIZE_MAX;
    kvc_text_add(out, "<dt>Seen in</dt><dd>");
    for (size_t at = finding; at != KVC_NO_FINDING; at = model->findings[at].next) {
        size_t version = model->runs[model->findings[at].run].version;
        failures += (uint64_t)kvc_json_number(model->findings[at].json, "failures");
        if (version == previous) {
            continue;
        }
        previous = version;
        kvc_text_add(out, versions++ > 0 ? ", " : "");
        kvc_model_add_version(&plain, &model->versions[version]);
        kvc_html_add_text(out, &plain);
    }
    kvc_text_add(out, " <span class=\"soft\">(");
    kvc_model_add_plural(out, failures, "failing sequence", "failing sequences");
    kvc_text_add(out, versions > 1 ? "; the case shown is from the first)</span></dd>\n" : ")</span></dd>\n");
}

static void add_script(kvc_text *out, const cJSON *finding)
{
    const char *script = kvc_json_string(finding, "script");
    if (*script == '\0') {
        const char *reason = kvc_json_string(finding, "no_script");
        kvc_text_add(out, "<p class=\"soft\">No script; use the replay command.");
        if (*reason != '\0') {
            kvc_text_add(out, " The reason: ");
            kvc_html_add(out, reason);
        }
        kvc_text_add(out, "</p>\n");
        return;
    }
    kvc_text_add(out, "<details><summary>Script to paste into a bug report (exit status 1: the fault shows)</summary>"
                      "<pre class=\"copy\" tabindex=\"0\">");
    kvc_text_add_html(out, script, KVC_LINES_KEEP);
    kvc_text_add(out, "</pre></details>\n");
}

void kvc_html_add_finding(kvc_text *out, const kvc_report_model *model, size_t index)
{
    const kvc_report_finding *finding = &model->findings[index];
    const cJSON *json = finding->json;
    const cJSON *case_json = cJSON_GetObjectItemCaseSensitive(json, "case");
    kvc_text plain = {0};
    kvc_text_add_format(out, "<article id=\"finding-%zu\">\n<h3><span class=\"bad\">✗</span> %zu. ", finding->number,
                        finding->number);
    kvc_html_add(out, kvc_json_string(json, "title"));
    kvc_text_add(out, "</h3>\n");
    add_tags(out, model->runs[finding->run].json, json);
    kvc_text_add(out, "<div class=\"pair\">\n");
    add_ops(out, json);
    add_facts(out, json);
    kvc_text_add(out, "</div>\n");
    if (kvc_html_add_lanes(out, json) != 0) {
        out->failed = 1;
    }
    kvc_text_add(out, "<dl>\n");
    add_law(out, json);
    add_rule(out, json);
    kvc_text_add(out, "<dt>Minimal</dt><dd>");
    kvc_model_add_minimal(out, json);
    kvc_text_add(out, "</dd>\n");
    add_seen(out, model, index);
    kvc_text_add(out, "<dt>Parameters</dt><dd>");
    kvc_model_add_table(&plain, cJSON_GetObjectItemCaseSensitive(case_json, "params"));
    kvc_html_add_text(out, &plain);
    kvc_text_add(out, "</dd>\n<dt>Finding</dt><dd>");
    kvc_html_add_code(out, kvc_json_string(json, "id"));
    kvc_text_add(out, "</dd>\n");
    if (*kvc_json_string(json, "replay") != '\0') {
        kvc_text_add(out, "<dt>Replay</dt><dd><pre class=\"copy\" tabindex=\"0\">");
        kvc_text_add_html(out, kvc_json_string(json, "replay"), KVC_LINES_KEEP);
        kvc_text_add(out, "</pre></dd>\n");
    }
    kvc_text_add(out, "</dl>\n");
    add_script(out, json);
    kvc_text_add(out, "<p><a href=\"#top\">↑ Back to the summary</a></p>\n</article>\n");
}
