/*
 * One self-contained page: no script, no network, readable from a file, on paper and on a phone. What a subject said is cut where
 * it is long, and beyond some hundred findings the rest is listed in short, so that the page stays quick.
 */
#ifndef KVC_REPORTS_HTML_H
#define KVC_REPORTS_HTML_H

#include "reports/model.h"

/* Adds the page to *out. Returns 0, or -1 without memory or beyond KVC_TEXT_MAX. */
int kvc_report_html(const kvc_report_model *model, kvc_text *out);

#endif
