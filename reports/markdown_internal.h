/*
 * The parts of the Markdown report, private to reports/.
 */
#ifndef KVC_REPORTS_MARKDOWN_INTERNAL_H
#define KVC_REPORTS_MARKDOWN_INTERNAL_H

#include "reports/model.h"

/* What was gathered in *plain as running text or as a code span, cut where it is long; empties *plain. */
void kvc_markdown_add_text(kvc_text *out, kvc_text *plain);
void kvc_markdown_add_code(kvc_text *out, kvc_text *plain);
/* Foreign running text, cut where it is long. */
void kvc_markdown_add_short(kvc_text *out, const char *string);

/* One finding. */
void kvc_markdown_add_finding(kvc_text *out, const kvc_report_model *model, size_t cause);

#endif
