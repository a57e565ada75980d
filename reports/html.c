#include "reports/html.h"

#include <string.h>

#include "reports/html_internal.h"

void kvc_html_add(kvc_text *out, const char *string)
{
    kvc_text_add_html(out, string, KVC_LINES_SHOW);
}

void kvc_html_add_text(kvc_text *out, kvc_text *plain)
{
    kvc_html_add(out, kvc_text_string(plain));
    out->failed |= plain->failed;
    kvc_text_free(plain);
}

void kvc_html_add_code(kvc_text *out, const char *string)
{
    kvc_text_add(out, "<code>");
    kvc_html_add(out, string);
    kvc_text_add(out, "</code>");
}

void kvc_html_add_name(kvc_text *out, const char *name)
{
    kvc_text escaped = {0};
    kvc_html_add(&escaped, name);
    const char *at = kvc_text_string(&escaped);
    for (size_t i = 0; at[i] != '\0'; i++) {
        /* Entities and visible marks have no such place, so none of them is parted. */
        if (i > 0 && at[i] >= 'A' && at[i] <= 'Z' && ((at[i - 1] >= 'a' && at[i - 1] <= 'z') || at[i - 1] == '_')) {
            kvc_text_add(out, "<wbr>");
        }
        kvc_text_add_char(out, at[i], 1);
    }
    out->failed |= escaped.failed;
    kvc_text_free(&escaped);
}

static void add_version(kvc_text *out, const kvc_report_version *version)
{
    kvc_text plain = {0};
    kvc_model_add_version(&plain, version);
    kvc_html_add_text(out, &plain);
}

/* 1 for runs that were made: the others have no counts. */
static int was_run(const kvc_report_run *run)
{
    return run->status == KVC_STATUS_CONFORMS || run->status == KVC_STATUS_FINDINGS;
}

/* The glyph, the word and the number of findings. */
static void add_verdict(kvc_text *out, const kvc_report_run *run)
{
    const char *style = run->status == KVC_STATUS_CONFORMS ? "good" : run->status == KVC_STATUS_FINDINGS ? "bad" : "soft";
    kvc_text_add_format(out, "<span class=\"%s glyph\">%s</span> ", style, kvc_status_glyph(run->status));
    if (run->status == KVC_STATUS_FINDINGS) {
        kvc_model_add_plural(out, run->findings, "finding", "findings");
    } else {
        kvc_text_add(out, kvc_status_word(run->status));
    }
}

static void add_head(kvc_text *out, const kvc_report_model *model)
{
    kvc_text plain = {0};
    kvc_text_add_format(out,
                        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; "
                        "base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" "
                        "content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                        kvc_html_style_hash);
    kvc_model_add_headline(&plain, model);
    kvc_html_add(out, kvc_text_string(&plain));
    kvc_text_add(out, " – kvconform</title>\n<style>");
    for (size_t i = 0; kvc_html_style[i] != NULL; i++) {
        kvc_text_add(out, kvc_html_style[i]);
    }
    kvc_text_add(out, "</style>\n</head>\n<body>\n<header id=\"top\">\n");
    kvc_text_add(out, "<p class=\"soft\">kvconform: do these KV caches keep the right tokens?</p>\n<h1>");
    int bad = model->status_count[KVC_STATUS_FINDINGS] > 0;
    const char *headline = kvc_text_string(&plain);
    size_t glyph = strcspn(headline, " ");
    kvc_text_add_format(out, "<span class=\"%s\">", bad ? "bad" : "good");
    kvc_text_add_bytes(out, headline, glyph);
    kvc_text_add(out, "</span>");
    kvc_html_add(out, headline + glyph);
    out->failed |= plain.failed;
    kvc_text_free(&plain);
    kvc_text_add(out, "</h1>\n<p>");
    for (size_t i = 0; i < model->version_count && i < 8; i++) {
        kvc_text_add(out, i == 0 ? "<b>" : ", <b>");
        add_version(out, &model->versions[i]);
        kvc_text_add(out, "</b>");
    }
    if (model->version_count > 8) {
        kvc_text_add_format(out, " and %zu more", model->version_count - 8);
    }
    kvc_text_add(out, ". ");
    kvc_model_add_plural(out, model->sequences, "sequence", "sequences");
    kvc_text_add(out, " with ");
    kvc_model_add_plural(out, model->ops, "op", "ops");
    kvc_text_add_format(out, " in %.1f s, profile <code>", model->seconds);
    kvc_html_add(out, model->profile);
    kvc_text_add(out, "</code>, seed <code>");
    kvc_html_add(out, model->seed);
    kvc_text_add(out, "</code>.</p>\n</header>\n<main>\n");
}

/* The findings in one line each. */
static void add_list(kvc_text *out, const kvc_report_model *model)
{
    kvc_text plain = {0};
    if (model->causes == 0) {
        return;
    }
    kvc_text_add(out, "<h2 id=\"findings\">Findings</h2>\n<ol class=\"findings\">\n");
    for (size_t i = 0; i < model->finding_count; i++) {
        const kvc_report_finding *finding = &model->findings[i];
        if (finding->cause != i) {
            continue;
        }
        const char *severity = kvc_json_string(finding->json, "severity");
        kvc_text_add_format(out, "<li><a href=\"#finding-%zu\">%zu. ", finding->number, finding->number);
        kvc_html_add(out, kvc_json_string(finding->json, "title"));
        kvc_text_add(out, "</a><br>");
        kvc_html_add_code(out, kvc_json_string(model->runs[finding->run].json, "variant"));
        kvc_text_add(out, " <span class=\"soft\">after</span> ");
        kvc_model_add_ops(&plain,
                          cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding->json, "case"), "ops"));
        kvc_html_add_code(out, kvc_text_string(&plain));
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        kvc_text_add_format(out, " <span class=\"soft\">· %s %s%s%s", kvc_severity_glyph(severity), severity,
                            kvc_json_true(finding->json, "control") ? " · ⚑ control" : "",
                            kvc_json_true(finding->json, "flaky") ? " · ≈ flaky" : "");
        for (size_t at = i; at != KVC_NO_FINDING; at = model->findings[at].next) {
            kvc_text_add(out, at == i ? " · " : ", ");
            add_version(out, &model->versions[model->runs[model->findings[at].run].version]);
        }
        kvc_text_add(out, "</span></li>\n");
    }
    kvc_text_add(out, "</ol>\n");
}

/* The runs of one version, one line each. */
static void add_version_table(kvc_text *out, const kvc_report_model *model, size_t version)
{
    kvc_text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Variants of ");
    add_version(out, &model->versions[version]);
    kvc_text_add(out, "\"><table class=\"wide runs\">\n<caption>Variants of <b>");
    add_version(out, &model->versions[version]);
    kvc_text_add(out, "</b></caption>\n<thead><tr><th scope=\"col\">variant</th><th scope=\"col\">verdict</th>"
                      "<th scope=\"col\" class=\"number\">sequences</th><th scope=\"col\" class=\"number\">"
                      "all up to</th><th scope=\"col\">contract</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        if (run->version != version) {
            continue;
        }
        const char *variant = kvc_json_string(run->json, "variant");
        kvc_text_add(out, "<tr><th scope=\"row\">");
        kvc_html_add_name(out, *variant != '\0' ? variant : kvc_json_string(run->json, "target"));
        kvc_text_add(out, "</th><td class=\"verdict\">");
        add_verdict(out, run);
        kvc_text_add(out, "</td><td class=\"number\">");
        if (was_run(run)) {
            const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run->json, "exhaustive");
            kvc_text_add_count(out, (uint64_t)kvc_json_number(run->json, "sequences"));
            kvc_text_add(out, "</td><td class=\"number\">");
            kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
        } else {
            kvc_text_add(out, "–</td><td class=\"number\">–");
        }
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(run->json, "contract"));
        kvc_text_add(out, kvc_json_true(run->json, "assumed") ? " <span class=\"soft\">(assumed)</span>" : "");
        kvc_text_add(out, "</td></tr>\n");
    }
    kvc_text_add(out, "</tbody></table></div>\n");
}

/* 1 for the first run of its subject and variant, whatever the version. */
static int is_new_variant(const kvc_report_model *model, size_t run, const char *subject)
{
    const char *variant = kvc_json_string(model->runs[run].json, "variant");
    if (strcmp(kvc_json_string(model->runs[run].json, "subject"), subject) != 0) {
        return 0;
    }
    for (size_t i = 0; i < run; i++) {
        if (strcmp(kvc_json_string(model->runs[i].json, "variant"), variant) == 0 &&
            strcmp(kvc_json_string(model->runs[i].json, "subject"), subject) == 0) {
            return 0;
        }
    }
    return 1;
}

/* What breaks where: variants down, versions across. `first` is the first version of its subject. */
static void add_matrix(kvc_text *out, const kvc_report_model *model, size_t first)
{
    const char *subject = model->versions[first].subject;
    kvc_text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Verdicts of ");
    kvc_html_add(out, subject);
    kvc_text_add(out, "\"><table class=\"matrix\">\n<caption>Variants of <b>");
    kvc_html_add(out, subject);
    kvc_text_add(out, "</b> by version</caption>\n<thead><tr><th scope=\"col\">variant</th>");
    for (size_t i = first; i < model->version_count; i++) {
        if (strcmp(model->versions[i].subject, subject) == 0) {
            kvc_text_add(out, "<th scope=\"col\">");
            kvc_html_add(out, model->versions[i].version);
            kvc_text_add(out, "</th>");
        }
    }
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < model->run_count; row++) {
        if (!is_new_variant(model, row, subject)) {
            continue;
        }
        const char *variant = kvc_json_string(model->runs[row].json, "variant");
        kvc_text_add(out, "<tr><th scope=\"row\">");
        kvc_html_add_name(out, variant);
        kvc_text_add(out, "</th>");
        for (size_t i = first; i < model->version_count; i++) {
            if (strcmp(model->versions[i].subject, subject) != 0) {
                continue;
            }
            kvc_text_add(out, "<td class=\"verdict\">");
            for (size_t run = row; run < model->run_count; run++) {
                if (model->runs[run].version == i && strcmp(kvc_json_string(model->runs[run].json, "variant"), variant) == 0) {
                    add_verdict(out, &model->runs[run]);
                    break;
                }
            }
            kvc_text_add(out, "</td>");
        }
        kvc_text_add(out, "</tr>\n");
    }
    kvc_text_add(out, "</tbody></table></div>\n");
}

/* Number of versions of the subject of version `first`, or 0 if an earlier one has the same subject. */
static size_t count_versions(const kvc_report_model *model, size_t first)
{
    size_t count = 0;
    for (size_t i = 0; i < model->version_count; i++) {
        if (strcmp(model->versions[i].subject, model->versions[first].subject) == 0) {
            if (i < first) {
                return 0;
            }
            count++;
        }
    }
    return count;
}

static void add_runs(kvc_text *out, const kvc_report_model *model)
{
    int assumed = 0;
    int matrices = 0;
    kvc_text_add(out, "<h2 id=\"variants\">Verdicts</h2>\n");
    for (size_t i = 0; i < model->version_count; i++) {
        if (count_versions(model, i) > 1) {
            add_matrix(out, model, i);
            matrices = 1;
        }
    }
    /* The matrix says the most; then the counts may wait until someone asks. */
    kvc_text_add(out, matrices ? "<details><summary>Number of sequences, and contracts</summary>\n" : "");
    for (size_t i = 0; i < model->version_count; i++) {
        add_version_table(out, model, i);
    }
    for (size_t i = 0; i < model->run_count; i++) {
        assumed |= kvc_json_true(model->runs[i].json, "assumed");
    }
    kvc_text_add(out, "<p class=\"soft\"><i>All up to</i>: every sequence of the variant's small alphabet up to that many ops "
                      "was run; longer ones were drawn at random.");
    if (assumed) {
        kvc_text_add(out, " <i>Assumed</i>: the version is newer than any contract knows, so the newest contract was used.");
    }
    kvc_text_add(out, matrices ? "</p>\n</details>\n" : "</p>\n");
}

/* What was not run, with the reason. */
static void add_not_run(kvc_text *out, const kvc_report_model *model)
{
    int any = 0;
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        if (*kvc_json_string(run->json, "reason") == '\0') {
            continue;
        }
        kvc_text_add(out, any++ ? ""
                                : "<h2 id=\"not-run\">What was not run, or not to its end, and why</h2>\n"
                                  "<div class=\"scroll\"><table class=\"wide\">\n<caption>Little or nothing is said about these"
                                  "</caption>\n<thead><tr><th scope=\"col\">variant</th><th scope=\"col\">state</th>"
                                  "<th scope=\"col\">reason</th></tr></thead>\n<tbody>\n");
        kvc_text_add(out, "<tr><th scope=\"row\">");
        const char *variant = kvc_json_string(run->json, "variant");
        kvc_html_add_name(out, *variant != '\0' ? variant : kvc_json_string(run->json, "target"));
        kvc_text_add(out, " <span class=\"soft\">");
        add_version(out, &model->versions[run->version]);
        kvc_text_add(out, "</span></th><td class=\"verdict\">");
        add_verdict(out, run);
        kvc_text_add(out, "</td><td>");
        kvc_html_add(out, kvc_json_string(run->json, "reason"));
        kvc_text_add(out, "</td></tr>\n");
    }
    kvc_text_add(out, any ? "</tbody></table></div>\n" : "");
}

/* Situations that a finding keeps from being reached. */
static void add_unreached(kvc_text *out, const kvc_report_model *model)
{
    int any = 0;
    const cJSON *entry = NULL;
    for (size_t i = 0; i < model->run_count; i++) {
        cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(model->runs[i].json, "unreached")) {
            if (!any++) {
                kvc_text_add(out, "<h2 id=\"unreached\">What could not be reached</h2>\n<div class=\"scroll\">"
                                  "<table class=\"wide\">\n<caption>A finding stands in the way: look again once it is mended"
                                  "</caption>\n<thead><tr><th scope=\"col\">variant</th><th scope=\"col\">op</th>"
                                  "<th scope=\"col\">situation</th><th scope=\"col\">because of</th></tr></thead>\n<tbody>\n");
            }
            kvc_text_add(out, "<tr><th scope=\"row\">");
            kvc_html_add_name(out, kvc_json_string(model->runs[i].json, "variant"));
            kvc_text_add(out, " <span class=\"soft\">");
            add_version(out, &model->versions[model->runs[i].version]);
            kvc_text_add(out, "</span></th><td>");
            kvc_html_add(out, kvc_json_string(entry, "op"));
            kvc_text_add(out, "</td><td>");
            kvc_html_add(out, kvc_json_string(entry, "situation"));
            kvc_text_add(out, "</td><td>");
            kvc_html_add_code(out, kvc_json_string(entry, "because"));
            kvc_text_add(out, "</td></tr>\n");
        }
    }
    kvc_text_add(out, any ? "</tbody></table></div>\n" : "");
}

static void add_coverage(kvc_text *out, const kvc_report_model *model)
{
    const cJSON *entry = NULL;
    kvc_text plain = {0};
    kvc_text_add(out, "<h2 id=\"coverage\">Coverage</h2>\n<p>How often each op was done in each situation. No finding means "
                      "little where a number is small.</p>\n");
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        if (!was_run(run)) {
            continue;
        }
        const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run->json, "exhaustive");
        kvc_text_add(out, "<details><summary>");
        kvc_html_add_name(out, kvc_json_string(run->json, "variant"));
        kvc_text_add(out, " <span class=\"soft\">");
        add_version(out, &model->versions[run->version]);
        kvc_text_add(out, "</span></summary>\n<p>All ");
        kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "sequences"), "sequence", "sequences");
        kvc_text_add(out, " of up to ");
        kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
        kvc_text_add(out, " from: ");
        kvc_model_add_value(&plain, cJSON_GetObjectItemCaseSensitive(exhaustive, "alphabet"));
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, ".</p>\n<div class=\"scroll\"><table>\n<caption>Situations reached</caption>\n<thead><tr>"
                          "<th scope=\"col\">op</th><th scope=\"col\">situation</th><th scope=\"col\" class=\"number\">times"
                          "</th></tr></thead>\n<tbody>\n");
        cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(run->json, "coverage")) {
            kvc_text_add(out, "<tr><th scope=\"row\">");
            kvc_html_add(out, kvc_json_string(entry, "op"));
            kvc_text_add(out, "</th><td>");
            kvc_html_add(out, kvc_json_string(entry, "situation"));
            kvc_text_add(out, "</td><td class=\"number\">");
            kvc_text_add_count(out, (uint64_t)kvc_json_number(entry, "count"));
            kvc_text_add(out, "</td></tr>\n");
        }
        kvc_text_add(out, "</tbody></table></div></details>\n");
    }
}

static void add_provenance(kvc_text *out, const kvc_report_model *model)
{
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(model->result, "command");
    const cJSON *word = NULL;
    const cJSON *tool = cJSON_GetObjectItemCaseSensitive(model->result, "tool");
    const cJSON *finished = cJSON_GetObjectItemCaseSensitive(model->result, "finished");
    kvc_text plain = {0};
    kvc_text_add(out, "<h2 id=\"how\">How it was run</h2>\n<dl>\n<dt>Command</dt><dd><pre class=\"copy\" tabindex=\"0\">");
    cJSON_ArrayForEach (word, command) {
        kvc_text_add(out, word == command->child ? "" : " ");
        kvc_html_add(out, word->valuestring);
    }
    kvc_text_add(out, "</pre></dd>\n<dt>Budget</dt><dd>");
    kvc_model_add_table(&plain, cJSON_GetObjectItemCaseSensitive(model->result, "budget"));
    kvc_html_add_text(out, &plain);
    kvc_text_add(out, "</dd>\n<dt>Environment</dt><dd>");
    kvc_html_add(out, kvc_json_string(cJSON_GetObjectItemCaseSensitive(model->result, "environment"), "platform"));
    kvc_text_add(out, "</dd>\n");
    for (size_t i = 0; i < model->version_count; i++) {
        const cJSON *environment = cJSON_GetObjectItemCaseSensitive(model->runs[model->versions[i].first].json, "environment");
        if (environment != NULL && environment->child != NULL) {
            kvc_text_add(out, "<dt>");
            add_version(out, &model->versions[i]);
            kvc_text_add(out, "</dt><dd>");
            kvc_model_add_table(&plain, environment);
            kvc_html_add_text(out, &plain);
            kvc_text_add(out, "</dd>\n");
        }
    }
    kvc_text_add(out, "</dl>\n</main>\n<footer>\n<p>");
    kvc_html_add(out, kvc_json_string(tool, "name"));
    kvc_text_add(out, " ");
    kvc_html_add(out, kvc_json_string(tool, "version"));
    if (cJSON_IsObject(finished)) {
        kvc_text_add(out, ", finished ");
        kvc_html_add(out, kvc_json_string(finished, "at"));
    }
    kvc_text_add(out, ". The same seed and number of sequences give the same result.</p>\n</footer>\n</body>\n</html>\n");
}

int kvc_report_html(const cJSON *result, kvc_text *out)
{
    kvc_report_model model = {0};
    if (kvc_model_make(result, &model) != 0) {
        kvc_model_free(&model);
        return -1;
    }
    add_head(out, &model);
    add_list(out, &model);
    add_runs(out, &model);
    if (model.causes > 0) {
        kvc_text_add(out, "<h2 id=\"details\">Each finding</h2>\n");
    }
    for (size_t i = 0; i < model.finding_count; i++) {
        if (model.findings[i].cause == i) {
            kvc_html_add_finding(out, &model, i);
        }
    }
    add_not_run(out, &model);
    add_unreached(out, &model);
    add_coverage(out, &model);
    add_provenance(out, &model);
    kvc_model_free(&model);
    return out->failed ? -1 : 0;
}
