/*
 * The case files that a command line names: files, and folders with all `*.json` below them.
 */
#ifndef KVC_HARNESS_CASE_FILES_H
#define KVC_HARNESS_CASE_FILES_H

#include "reference/error.h"

enum { KVC_CASE_FILES_MAX = 100000 };

typedef struct kvc_case_files {
    char **path; /* owned, each too */
    int count;
} kvc_case_files;

/*
 * Lists the files in the order of `word`, those of a folder by name; symbolic links to folders are not followed. A word that is
 * no folder is taken as a file, there or not. Returns 0 with *error set when a folder cannot be read or holds no case file.
 * Free with kvc_case_files_clear, also after a failure.
 */
int kvc_case_files_find(const char *const *word, int words, kvc_case_files *files, kvc_error *error);
void kvc_case_files_clear(kvc_case_files *files);

#endif
