/*
 * Folders with sequences as bytes, one file for each. A file's name is a digest of its bytes, so that the same sequence is there once; files
 * of other names, those of other fuzzers, and cases (NAME.json) are read too.
 */
#ifndef KVC_HARNESS_CORPUS_FOLDER_H
#define KVC_HARNESS_CORPUS_FOLDER_H

#include "harness/decode.h"

enum { KVC_CORPUS_FILES_MAX = 100000, KVC_CORPUS_NAME_SIZE = 17 };

typedef struct kvc_corpus_file {
    char *path; /* owned */
    size_t size;
} kvc_corpus_file;

typedef struct kvc_corpus_files {
    kvc_corpus_file *file; /* owned */
    int count;
    int room;
} kvc_corpus_files;

/* Adds the plain files in a folder, not those below it, none whose name begins with a dot and none that is half written. Returns 0 with *error set. */
int kvc_corpus_folder_list(const char *folder, kvc_corpus_files *files, kvc_error *error);
/* The smallest first, then by name. */
void kvc_corpus_files_sort(kvc_corpus_files *files);
void kvc_corpus_files_clear(kvc_corpus_files *files);
/* The name of a file with these bytes. */
void kvc_corpus_name(const kvc_bytes *bytes, char name[KVC_CORPUS_NAME_SIZE]);
/* Writes a file, whole or not at all, unless it is there; `synced` waits for the disk. Returns 0 with *error set. */
int kvc_corpus_folder_write(const char *folder, const kvc_bytes *bytes, int synced, kvc_error *error);
/* Removes a file if its name is such a digest. */
void kvc_corpus_file_remove(const char *path);
/* Removes what was left half written. */
void kvc_corpus_folder_tidy(const char *folder);

#endif
