/*
 * The parts of the HTML page, private to reports/.
 */
#ifndef KVC_REPORTS_HTML_INTERNAL_H
#define KVC_REPORTS_HTML_INTERNAL_H

#include "reports/lanes.h"
#include "reports/model.h"
#include "reports/runtimes.h"

/* Bounds that keep the page quick, whatever is in the result. */
enum {
    KVC_HTML_TEXT_MAX = 2000,            /* bytes of one foreign text */
    KVC_HTML_SCRIPT_MAX = 64 * 1024,     /* bytes of a script */
    KVC_HTML_CARDS_MAX = 300,            /* findings that are drawn */
    KVC_HTML_LISTED_MAX = 2000,          /* findings beyond them that are listed */
    KVC_HTML_ROWS_MAX = 1000,            /* rows of a table */
    KVC_HTML_COLUMNS_MAX = 60,           /* versions of a subject in a table: the newest */
    KVC_HTML_CARDS_BYTES = 6 << 20,      /* size of the page after which no more findings are drawn, */
    KVC_HTML_LISTED_BYTES = 7 << 20,     /* none is listed, */
    KVC_HTML_COVERAGE_BYTES = 10 << 20   /* and no coverage is shown */
};

/* The style sheet, a NULL-ended list of parts, and the hash of all as the content security policy names it: `sha256-...`. */
extern const char *const kvc_html_style[];
extern const char kvc_html_style_hash[];

/* Foreign text on one line, cut where it is long. */
void kvc_html_add(kvc_text *out, const char *string);
/* The same for the name of a class, which may be broken before its capitals. */
void kvc_html_add_name(kvc_text *out, const char *name);
/* What was gathered in *plain, escaped; empties *plain. */
void kvc_html_add_text(kvc_text *out, kvc_text *plain);
/* Between <code> and </code>. */
void kvc_html_add_code(kvc_text *out, const char *string);
/* A token, value or list of a result. */
void kvc_html_add_value(kvc_text *out, const cJSON *value);
/* The name of the place where a finding is: `finding-CLAMP-c918cc39`. It stays the same in every report. */
void kvc_html_add_anchor(kvc_text *out, const kvc_report_model *model, size_t cause);
/* Opens and closes what scrolls sideways when it is wide; `label` is escaped already. */
void kvc_html_open_scroll(kvc_text *out, const char *label);
void kvc_html_close_scroll(kvc_text *out);

/* 1 if the version has a column in the tables of its subject. */
int kvc_html_is_column(const kvc_report_model *model, size_t version, size_t subject);

/* 1 if there are cache classes, or nothing but what could not be run; 1 if there are whole models. */
int kvc_html_has_classes(const kvc_report_model *model);
int kvc_html_has_models(const kvc_report_model *model);
/* A table with a column for each version of a subject, up to the heads of these; `first` is the head of the first column. */
void kvc_html_open_matrix(kvc_text *out, const kvc_report_model *model, size_t subject, const char *what, const char *first);
/* What came of a variant at a version; `cell` may be NULL. */
void kvc_html_add_cell(kvc_text *out, const kvc_report_model *model, const kvc_report_cell *cell, size_t version);
/* What the glyphs in such a table say. */
extern const char kvc_html_legend[];

/* Sections. */
void kvc_html_add_runtimes(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes);
void kvc_html_add_matrices(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_models(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_laws(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_findings(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_not_run(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_coverage(kvc_text *out, const kvc_report_model *model);
void kvc_html_add_provenance(kvc_text *out, const kvc_report_model *model);

/* Of a finding: what is told of that of a whole model, and which models that of a layer reaches, as entries of a list of terms. */
void kvc_html_add_model_facts(kvc_text *out, const kvc_report_model *model, size_t cause, const cJSON *finding);

/* The tensors of a finding: what goes wrong first in a few words, all drawn, and as tables. */
void kvc_html_add_lane_words(kvc_text *out, const kvc_lanes *lanes);
void kvc_html_add_lanes(kvc_text *out, const kvc_lanes *lanes);
void kvc_html_add_lane_tables(kvc_text *out, const kvc_lanes *lanes);

#endif
