/*
 * The short text that a terminal shows at the end of a run.
 */
#ifndef KVC_REPORTS_SUMMARY_H
#define KVC_REPORTS_SUMMARY_H

#include <cjson/cJSON.h>

#include "reports/text.h"

/*
 * Adds the summary of a checked result to *out: a line for each run, each finding in a few lines, and a last line that
 * says what happened. `colour` 1 adds colours, which never say more than the words. Returns 0, or -1 without memory.
 */
int kvc_report_summary(const cJSON *result, int colour, kvc_text *out);

#endif
