/*
 * The parts of the HTML page, private to reports/.
 */
#ifndef KVC_REPORTS_HTML_INTERNAL_H
#define KVC_REPORTS_HTML_INTERNAL_H

#include "reports/model.h"
#include "reports/text.h"

/* The style sheet, a NULL-ended list of parts, and the hash of all as the content security policy names it: `sha256-...`. */
extern const char *const kvc_html_style[];
extern const char kvc_html_style_hash[];

/* Foreign text on one line. */
void kvc_html_add(kvc_text *out, const char *string);
/* The same for the name of a class, which may be broken before its capitals. */
void kvc_html_add_name(kvc_text *out, const char *name);
/* What was gathered in *plain, escaped; empties *plain. */
void kvc_html_add_text(kvc_text *out, kvc_text *plain);
/* Between <code> and </code>. */
void kvc_html_add_code(kvc_text *out, const char *string);

/* One finding: an article with everything about it. `finding` is the first of its cause. */
void kvc_html_add_finding(kvc_text *out, const kvc_report_model *model, size_t finding);
/* The lanes of a finding. Returns 0, or -1 without memory. */
int kvc_html_add_lanes(kvc_text *out, const cJSON *finding);

#endif
