/*
 * The Markdown report, for forges and bug reports: everything of the page in plain tables and code blocks.
 */
#ifndef KVC_REPORTS_MARKDOWN_H
#define KVC_REPORTS_MARKDOWN_H

#include <cjson/cJSON.h>

#include "reports/text.h"

/* Adds the report of a checked result to *out. Returns 0, or -1 without memory or beyond KVC_TEXT_MAX. */
int kvc_report_markdown(const cJSON *result, kvc_text *out);

#endif
