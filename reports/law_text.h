/*
 * What a law says, from the name that a result gives it.
 */
#ifndef KVC_REPORTS_LAW_TEXT_H
#define KVC_REPORTS_LAW_TEXT_H

/* One sentence, or "" for a law that is not known. Static. */
const char *kvc_report_law_text(const char *name);

#endif
