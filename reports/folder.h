/*
 * A folder of reports, all made from one result: report.html, report.md, report.sarif, junit.xml, badge.svg, and in cases/ the
 * minimal case of each finding with its script.
 */
#ifndef KVC_REPORTS_FOLDER_H
#define KVC_REPORTS_FOLDER_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* All return 0, or -1 with one sentence in `error`. */

/* Makes one folder, if it is not there. */
int kvc_report_folder_make_one(const char *path, char *error, size_t error_size);
/* Makes the folder and its cases/, if they are not there, and removes what writers that were killed have left in them. */
int kvc_report_folder_make(const char *folder, char *error, size_t error_size);
/* Writes the cases and scripts of one entry of `runs`. */
int kvc_report_folder_write_cases(const char *folder, const cJSON *run, char *error, size_t error_size);
/* Writes `json` as FOLDER/NAME. */
int kvc_report_folder_write_json(const char *folder, const char *name, const cJSON *json, char *error, size_t error_size);
/* Writes all reports but the document itself, which is a merged one. The same document gives the same bytes. */
int kvc_report_folder_write(const char *folder, const cJSON *merged, char *error, size_t error_size);

#endif
