/*
 * The short text that a terminal shows at the end of a run.
 */
#ifndef KVC_REPORTS_SUMMARY_H
#define KVC_REPORTS_SUMMARY_H

#include "reports/model.h"

/*
 * Adds the summary to *out: a line for each run, each finding in a few lines (in one line where there are many), and a last line that says what happened. `colour` 1
 * adds colours, which never say more than the words. Returns 0, or -1 without memory.
 */
int kvc_report_summary(const kvc_report_model *model, int colour, kvc_text *out);
/* The last line alone. */
void kvc_report_summary_line(const kvc_report_model *model, int colour, kvc_text *out);

#endif
