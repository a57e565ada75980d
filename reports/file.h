/*
 * Whole files, written so that a reader never sees half of one. They are read with kvc_file_read (reference/json.h).
 *
 * Both return 0, or -1 with one sentence in `error` that names the path and the system's reason.
 */
#ifndef KVC_REPORTS_FILE_H
#define KVC_REPORTS_FILE_H

#include <stddef.h>

/*
 * Writes `path` ("-": standard output) in one step: a temporary file in the same folder is written, synced and renamed. A
 * failure leaves what stood there. A path that is not a regular file (a device, a pipe) is written directly, and
 * a symbolic link stays one.
 */
int kvc_report_file_write(const char *path, const char *bytes, size_t size, char *error, size_t error_size);
/* The same without waiting for the disk, for one of very many files that can be made again. */
int kvc_report_file_write_quickly(const char *path, const char *bytes, size_t size, char *error, size_t error_size);

/*
 * Removes what writers that were killed have left: NAME.PID.N.part, where no process PID runs and NAME is that of `path`, or one of
 * `folder` that `takes` takes. A process calls it before it writes there itself. What cannot be removed stays.
 */
void kvc_report_file_sweep(const char *path);
void kvc_report_file_sweep_folder(const char *folder, int (*takes)(const char *name));

#endif
