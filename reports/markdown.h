/*
 * The Markdown report, for a comment on a pull request and the summary of a CI step: the matrix, and each finding folded up with
 * its case, its first wrong lane and what it rests on. Never longer than KVC_MARKDOWN_MAX; what does not fit is counted.
 */
#ifndef KVC_REPORTS_MARKDOWN_H
#define KVC_REPORTS_MARKDOWN_H

#include "reports/model.h"

enum { KVC_MARKDOWN_MAX = 60000 }; /* bytes; a comment takes 65,536 characters */

/* Adds the report to *out. Returns 0, or -1 without memory. */
int kvc_report_markdown(const kvc_report_model *model, kvc_text *out);

#endif
