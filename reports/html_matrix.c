/*
 * What breaks where: variants down and versions across, and the same by law.
 */
#include <string.h>

#include "reports/html_internal.h"
#include "reports/law_text.h"
#include "reports/words.h"

/* A glyph and a count, with the word below. `count` is left out for what was not run. */
static void add_mark(kvc_text *out, const char *style, const char *glyph, const char *word, size_t count, int counted)
{
    kvc_text_add_format(out, "<span class=\"%s mark\">%s", style, glyph);
    if (counted) {
        kvc_text_add(out, " ");
        kvc_text_add_count(out, count);
    }
    kvc_text_add_format(out, "</span> <span class=\"word\">%s</span>", word);
}

void kvc_html_add_cell(kvc_text *out, const kvc_report_model *model, const kvc_report_cell *cell, size_t version)
{
    if (cell == NULL && model->versions[version].whole_not_run) {
        kvc_text_add(out, "<td class=\"cell\">");
        add_mark(out, "soft", kvc_status_glyph(KVC_STATUS_NOT_RUN), kvc_status_word(KVC_STATUS_NOT_RUN), 0, 0);
        kvc_text_add(out, "</td>");
    } else if (cell == NULL) {
        kvc_text_add(out, "<td class=\"cell\"><span class=\"soft mark\">–</span> <span class=\"word\">no result</span></td>");
    } else if (cell->status == KVC_STATUS_FINDINGS) {
        /* Findings that are not drawn have no place of their own. */
        if (model->rows[cell->row].first_cause < KVC_HTML_CARDS_MAX) {
            kvc_text_add_format(out, "<td class=\"cell badcell\"><a href=\"#row-%zu\">", cell->row);
        } else {
            kvc_text_add(out, "<td class=\"cell badcell\"><a href=\"#findings\">");
        }
        add_mark(out, "bad", kvc_status_glyph(cell->status), cell->findings == 1 ? "finding" : "findings", cell->findings, 1);
        kvc_text_add(out, "</a></td>");
    } else {
        int good = cell->status == KVC_STATUS_CONFORMS;
        kvc_text_add(out, "<td class=\"cell\">");
        add_mark(out, good ? "good" : "soft", kvc_status_glyph(cell->status), kvc_status_word(cell->status), 0, good);
        kvc_text_add(out, "</td>");
    }
}

int kvc_html_is_column(const kvc_report_model *model, size_t version, size_t subject)
{
    const kvc_report_version *of = &model->versions[version];
    return of->subject_index == subject && of->ordinal + KVC_HTML_COLUMNS_MAX >= model->subjects[subject].versions;
}

/* Heads of the columns: the versions of a subject. */
static void add_versions(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    for (size_t i = 0; i < model->version_count; i++) {
        if (kvc_html_is_column(model, i, subject)) {
            kvc_text_add(out, "<th scope=\"col\">");
            kvc_html_add(out, model->versions[i].version[0] != '\0' ? model->versions[i].version : "–");
            kvc_text_add(out, "</th>");
        }
    }
}

void kvc_html_open_matrix(kvc_text *out, const kvc_report_model *model, size_t subject, const char *what, const char *first)
{
    kvc_text label = {0};
    kvc_text_add_format(&label, "%s of ", what);
    kvc_html_add(&label, model->subjects[subject].name);
    kvc_html_open_scroll(out, kvc_text_string(&label));
    kvc_text_add_format(out, "<table class=\"matrix\">\n<caption>%s of <b>", what);
    kvc_html_add(out, model->subjects[subject].name);
    kvc_text_add_format(out, "</b> by version</caption>\n<thead><tr><th scope=\"col\">%s</th>", first);
    add_versions(out, model, subject);
    out->failed |= label.failed;
    kvc_text_free(&label);
}

static void add_matrix(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    size_t shown = 0;
    kvc_html_open_matrix(out, model, subject, "Variants", "variant");
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < model->row_count && shown < KVC_HTML_ROWS_MAX && out->length < KVC_HTML_CARDS_BYTES; row++) {
        if (model->rows[row].subject_index != subject || model->rows[row].is_model || !kvc_report_model_is_shown(model, row)) {
            continue;
        }
        shown++;
        kvc_text_add(out, "<tr><th scope=\"row\">");
        kvc_html_add_name(out, kvc_words_row_name(&model->rows[row]));
        kvc_text_add(out, "</th>");
        size_t at = model->rows[row].first_cell;
        for (size_t i = 0; i < model->version_count; i++) {
            if (!kvc_html_is_column(model, i, subject)) {
                continue;
            }
            /* In a merged document the cells have the order of the versions. */
            int is_next = at != KVC_NONE && model->cells[at].version == i;
            kvc_html_add_cell(out, model, is_next ? &model->cells[at] : kvc_report_model_cell(model, row, i), i);
            at = is_next ? model->cells[at].next : at;
        }
        kvc_text_add(out, "</tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
    if (model->subjects[subject].versions > KVC_HTML_COLUMNS_MAX) {
        kvc_text_add_format(out, "<p>The newest %d of %zu versions are shown.</p>\n", KVC_HTML_COLUMNS_MAX,
                            model->subjects[subject].versions);
    }
    if (shown >= KVC_HTML_ROWS_MAX || out->length >= KVC_HTML_CARDS_BYTES) {
        kvc_text_add_format(out, "<p>%zu variants are shown, of %zu.</p>\n", shown,
                            model->subjects[subject].rows - model->subjects[subject].models);
    }
}

const char kvc_html_legend[] = "<p class=\"legend\"><b class=\"bad\">✗</b> findings, follow them · <b class=\"good\">✓</b> conforms: none was "
                               "found · ○ not covered: no rule says what it must do · ⊘ not run · ∅ absent: that version has no such "
                               "class</p>\n";

int kvc_html_has_classes(const kvc_report_model *model)
{
    size_t rows = 0;
    size_t models = 0;
    for (size_t subject = 0; subject < model->subject_count; subject++) {
        rows += model->subjects[subject].rows;
        models += model->subjects[subject].models;
    }
    return models == 0 || rows > models;
}

void kvc_html_add_matrices(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "<section aria-labelledby=\"matrix\">\n<h2 id=\"matrix\">What breaks where</h2>\n");
    for (size_t subject = 0; subject < model->subject_count && out->length < KVC_HTML_CARDS_BYTES; subject++) {
        if (model->subjects[subject].models == 0 || model->subjects[subject].rows > model->subjects[subject].models) {
            add_matrix(out, model, subject);
        }
    }
    kvc_text_add(out, kvc_html_legend);
    kvc_text_add(out, "</section>\n");
}

static size_t count_law(const kvc_report_model *model, const char *law, size_t version)
{
    size_t count = 0;
    for (size_t i = 0; i < model->cause_count; i++) {
        count += strcmp(model->causes[i].law, law) == 0 && kvc_report_model_affects(model, i, version);
    }
    return count;
}

/* Numbers of the findings under a law, each a link. */
static void add_law_links(kvc_text *out, const kvc_report_model *model, const char *law, size_t subject)
{
    size_t shown = 0;
    size_t more = 0;
    for (size_t i = 0; i < model->cause_count; i++) {
        if (strcmp(model->causes[i].law, law) != 0 || model->rows[model->causes[i].row].subject_index != subject) {
            continue;
        }
        if (shown == 60 || i >= KVC_HTML_CARDS_MAX) {
            more++;
            continue;
        }
        kvc_text_add(out, shown++ > 0 ? " <a href=\"#" : "<a href=\"#");
        kvc_html_add_anchor(out, model, i);
        kvc_text_add_format(out, "\">%zu</a>", i + 1);
    }
    if (more > 0) {
        kvc_text_add_format(out, " and %zu more", more);
    }
}

static void add_law(kvc_text *out, const kvc_report_model *model, const char *law, size_t subject)
{
    kvc_text_add(out, "<tr><th scope=\"row\">");
    kvc_html_add(out, law);
    kvc_text_add_format(out, " <span class=\"says\">%s</span></th>", kvc_report_law_text(law));
    for (size_t i = 0; i < model->version_count; i++) {
        if (kvc_html_is_column(model, i, subject)) {
            size_t count = count_law(model, law, i);
            kvc_text_add_format(out, "<td class=\"cell%s\">", count > 0 ? " badcell" : "");
            add_mark(out, count > 0 ? "bad" : "soft", count > 0 ? "✗" : "·", count == 1 ? "finding" : count > 0 ? "findings" : "none",
                     count, 1);
            kvc_text_add(out, "</td>");
        }
    }
    kvc_text_add(out, "<td class=\"links\">");
    add_law_links(out, model, law, subject);
    kvc_text_add(out, "</td></tr>\n");
}

/* Laws differ little in number: those that a hostile result invents are bounded. */
enum { LAWS_MAX = 40 };

static void add_laws_of(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    const char *laws[LAWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < model->cause_count; i++) {
        size_t place = 0;
        if (model->rows[model->causes[i].row].subject_index != subject) {
            continue;
        }
        while (place < count && strcmp(laws[place], model->causes[i].law) != 0) {
            place++;
        }
        if (place == count && count < LAWS_MAX) {
            /* Put where it belongs: unknown ones behind the others. */
            size_t rank = kvc_report_law_rank(model->causes[i].law);
            for (place = count++; place > 0 && kvc_report_law_rank(laws[place - 1]) > rank; place--) {
                laws[place] = laws[place - 1];
            }
            laws[place] = model->causes[i].law;
        }
    }
    if (count == 0) {
        return;
    }
    kvc_html_open_matrix(out, model, subject, "Broken laws", "law");
    kvc_text_add(out, "<th scope=\"col\">findings</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count; i++) {
        add_law(out, model, laws[i], subject);
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

void kvc_html_add_laws(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "<section aria-labelledby=\"laws\">\n<h2 id=\"laws\">By law</h2>\n");
    for (size_t subject = 0; subject < model->subject_count && out->length < KVC_HTML_CARDS_BYTES; subject++) {
        add_laws_of(out, model, subject);
    }
    kvc_text_add(out, "<p class=\"legend\">A fault that breaks several laws counts under the first of them. Laws that are not listed "
                      "were not seen broken.</p>\n</section>\n");
}
