/*
 * A badge for a README, as SVG: "KV caches | 54 findings".
 */
#ifndef KVC_REPORTS_BADGE_H
#define KVC_REPORTS_BADGE_H

#include "reports/model.h"

/* Adds the picture to *out. Returns 0, or -1 without memory. */
int kvc_report_badge(const kvc_report_model *model, kvc_text *out);

#endif
