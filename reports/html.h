/*
 * One self-contained page: no script, no network, readable from a file, on paper and on a phone.
 */
#ifndef KVC_REPORTS_HTML_H
#define KVC_REPORTS_HTML_H

#include <cjson/cJSON.h>

#include "reports/text.h"

/* Adds the page of a checked result to *out. Returns 0, or -1 without memory or beyond KVC_TEXT_MAX. */
int kvc_report_html(const cJSON *result, kvc_text *out);

#endif
