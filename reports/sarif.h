/*
 * SARIF 2.1.0, as code scanners report: a rule for each law, a result for each finding, at the subject's own file and line of the
 * class as the adapter tells them. A finding that rests on the subject's own texts is an error, an inferred one a warning, one of
 * a cache that is broken on purpose a note. What could not be run is a notification.
 */
#ifndef KVC_REPORTS_SARIF_H
#define KVC_REPORTS_SARIF_H

#include "reports/model.h"

/* Adds the document to *out. Returns 0, or -1 without memory or beyond KVC_TEXT_MAX. */
int kvc_report_sarif(const kvc_report_model *model, kvc_text *out);

#endif
