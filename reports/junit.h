/*
 * JUnit XML, as CI systems read it: a suite for each subject and version, a test for each variant that conforms and one for each
 * finding, which fails. What could not be run is an error; what a version lacks or no contract covers is skipped.
 */
#ifndef KVC_REPORTS_JUNIT_H
#define KVC_REPORTS_JUNIT_H

#include "reports/model.h"

/* Adds the document to *out. Returns 0, or -1 without memory or beyond KVC_TEXT_MAX. */
int kvc_report_junit(const kvc_report_model *model, kvc_text *out);

#endif
