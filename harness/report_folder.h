/*
 * The folder of a report: what an earlier run left in it.
 */
#ifndef KVC_HARNESS_REPORT_FOLDER_H
#define KVC_HARNESS_REPORT_FOLDER_H

#include <cjson/cJSON.h>

/*
 * Removes the cases and scripts of an earlier run, lest they be taken for those of the next: files that the folder's `document`,
 * result.json or merged.json, lists and that still are, byte for byte, what was written for it. Everything else stays.
 */
void kvc_report_folder_sweep(const char *folder, const char *document);
/* The same for what a result that was read lists; NULL lists nothing. */
void kvc_report_folder_sweep_result(const char *folder, const cJSON *result);

#endif
