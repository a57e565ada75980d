#include "reports/html.h"

#include <stdlib.h>
#include <string.h>

#include "reports/html_internal.h"
#include "reports/words.h"

void kvc_html_add(kvc_text *out, const char *string)
{
    kvc_text_add_html_short(out, string, KVC_LINES_SHOW, KVC_HTML_TEXT_MAX);
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

void kvc_html_add_value(kvc_text *out, const cJSON *value)
{
    kvc_text plain = {0};
    kvc_words_add_value(&plain, value);
    kvc_html_add_text(out, &plain);
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

void kvc_html_add_anchor(kvc_text *out, const kvc_report_model *model, size_t cause)
{
    kvc_text_add_format(out, "finding-%s", model->causes[cause].id);
    if (model->causes[cause].same_ids > 0) {
        /* No id of a result has this mark, so that the names stay different. */
        kvc_text_add_format(out, "~%zu", model->causes[cause].same_ids + 1);
    }
}

void kvc_html_open_scroll(kvc_text *out, const char *label)
{
    kvc_text_add_format(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">", label);
}

void kvc_html_close_scroll(kvc_text *out)
{
    kvc_text_add(out, "</div>\n");
}

static void add_head(kvc_text *out, const char *headline)
{
    kvc_text_add_format(out,
                        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s'; "
                        "base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" "
                        "content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                        kvc_html_style_hash);
    kvc_html_add(out, headline);
    kvc_text_add(out, " – kvconform</title>\n<style>");
    for (size_t i = 0; kvc_html_style[i] != NULL; i++) {
        kvc_text_add(out, kvc_html_style[i]);
    }
    kvc_text_add(out, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
}

/* `transformers 5.12.1 to 5.24.0`, for each subject. */
static void add_subjects(kvc_text *out, const kvc_report_model *model)
{
    for (size_t subject = 0; subject < model->subject_count && subject < 8; subject++) {
        const kvc_report_version *first = NULL;
        const kvc_report_version *last = NULL;
        for (size_t i = 0; i < model->version_count; i++) {
            if (model->versions[i].subject_index == subject) {
                first = first == NULL ? &model->versions[i] : first;
                last = &model->versions[i];
            }
        }
        kvc_text_add(out, subject > 0 ? ", <b>" : "<b>");
        kvc_html_add(out, model->subjects[subject].name);
        if (first != NULL && first->version[0] != '\0') {
            kvc_text_add(out, " ");
            kvc_html_add(out, first->version);
        }
        kvc_text_add(out, "</b>");
        if (first != last) {
            kvc_text_add(out, " to <b>");
            kvc_html_add(out, last->version);
            kvc_text_add_format(out, "</b> (%zu versions)", model->subjects[subject].versions);
        }
    }
    if (model->subject_count > 8) {
        kvc_text_add_format(out, " and %zu more", model->subject_count - 8);
    }
}

static void add_header(kvc_text *out, const kvc_report_model *model, const char *headline, int runtimes)
{
    const char *profile = kvc_report_model_common(model, "profile");
    const char *seed = kvc_report_model_common(model, "seed");
    size_t glyph = strcspn(headline, " ");
    kvc_text_add_format(out, "<header id=\"top\">\n<p class=\"kicker\">kvconform · conformance of KV caches</p>\n<h1><span class=\"%s\">",
                        model->cause_count > 0 ? "bad" : "good");
    kvc_text_add_bytes(out, headline, glyph);
    kvc_text_add(out, "</span>");
    kvc_html_add(out, headline + glyph);
    kvc_text_add(out, "</h1>\n<p class=\"lead\">");
    add_subjects(out, model);
    kvc_text_add(out, ". ");
    kvc_words_add_plural(out, model->sequences, "sequence", "sequences");
    kvc_text_add(out, " with ");
    kvc_words_add_plural(out, model->ops, "op", "ops");
    if (*profile != '\0') {
        kvc_text_add(out, ", profile ");
        kvc_html_add_code(out, profile);
    }
    if (*seed != '\0') {
        kvc_text_add(out, ", seed ");
        kvc_html_add_code(out, seed);
    }
    kvc_text_add(out, ".</p>\n<nav aria-label=\"On this page\"><ul>");
    kvc_text_add(out, runtimes ? "<li><a href=\"#runtimes\">Runtime by runtime</a></li>" : "");
    kvc_text_add(out, kvc_html_has_classes(model) ? "<li><a href=\"#matrix\">What breaks where</a></li>" : "");
    kvc_text_add(out, kvc_html_has_models(model) ? "<li><a href=\"#models\">Whole models</a></li>" : "");
    if (model->cause_count > 0) {
        kvc_text_add(out, "<li><a href=\"#laws\">By law</a></li><li><a href=\"#findings\">Findings</a></li>");
    }
    kvc_text_add(out, "<li><a href=\"#coverage\">Coverage</a></li><li><a href=\"#how\">How it was run</a></li></ul></nav>\n"
                      "</header>\n<main id=\"main\" tabindex=\"-1\">\n");
}

static void add_footer(kvc_text *out, const kvc_report_model *model)
{
    const cJSON *tool = model->result_count > 0 ? cJSON_GetObjectItemCaseSensitive(model->results[0], "tool") : NULL;
    kvc_text_add(out, "</main>\n<footer>\n<p>");
    kvc_html_add(out, kvc_json_string(tool, "name"));
    kvc_text_add(out, " ");
    kvc_html_add(out, kvc_json_string(tool, "version"));
    kvc_text_add(out, ". The same seed and number of sequences give the same result. <a href=\"#top\">↑ Back to the top</a></p>\n"
                      "</footer>\n</body>\n</html>\n");
}

/* Whether there are runtimes to compare. */
static int compares(const kvc_runtimes *runtimes)
{
    return runtimes->subjects > 1 && runtimes->kinds > 0;
}

int kvc_report_html(const kvc_report_model *model, kvc_text *out)
{
    kvc_text headline = {0};
    kvc_runtimes *runtimes = calloc(1, sizeof *runtimes);
    if (runtimes == NULL) {
        return -1;
    }
    kvc_runtimes_gather(model, runtimes);
    kvc_words_add_headline(&headline, model);
    add_head(out, kvc_text_string(&headline));
    add_header(out, model, kvc_text_string(&headline), compares(runtimes));
    out->failed |= headline.failed;
    kvc_text_free(&headline);
    if (compares(runtimes)) {
        kvc_html_add_runtimes(out, model, runtimes);
    }
    free(runtimes);
    if (kvc_html_has_classes(model)) {
        kvc_html_add_matrices(out, model);
    }
    if (kvc_html_has_models(model)) {
        kvc_html_add_models(out, model);
    }
    if (model->cause_count > 0) {
        kvc_html_add_laws(out, model);
        kvc_html_add_findings(out, model);
    }
    kvc_html_add_not_run(out, model);
    kvc_html_add_coverage(out, model);
    kvc_html_add_provenance(out, model);
    add_footer(out, model);
    return out->failed ? -1 : 0;
}
