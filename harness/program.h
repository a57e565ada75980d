/*
 * Other programs that are asked for a few words.
 */
#ifndef KVC_HARNESS_PROGRAM_H
#define KVC_HARNESS_PROGRAM_H

#include <stddef.h>

/*
 * Runs the NULL-ended command, found in PATH, and takes what it prints, at most size - 1 bytes. What it says on standard error is
 * shown unless `quiet`. Returns its exit status, 127 when it is not there, -1 when it did not end by itself.
 */
int kvc_program_output(const char *const *command, char *out, size_t size, int quiet);
/* The first line of it alone. */
int kvc_program_line(const char *const *command, char *line, size_t size, int quiet);

#endif
