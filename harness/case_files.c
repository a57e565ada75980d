#include "harness/case_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reference/json.h"

enum { PATH_MAX_BYTES = 4096, DEPTH_MAX = 16 };

static int add(kvc_case_files *files, const char *path, kvc_error *error)
{
    char **grown;

    if (files->count == KVC_CASE_FILES_MAX) {
        kvc_error_set(error, "more than %d case files", KVC_CASE_FILES_MAX);
        return 0;
    }
    if ((files->count & (files->count - 1)) == 0) {
        grown = realloc(files->path, (files->count > 0 ? (size_t)files->count * 2 : 1) * sizeof *grown);
        if (grown == NULL) {
            kvc_error_set(error, "not enough memory");
            return 0;
        }
        files->path = grown;
    }
    files->path[files->count] = strdup(path);
    if (files->path[files->count] == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    files->count++;
    return 1;
}

static int keep_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int find_below(const char *folder, int depth, kvc_case_files *files, kvc_error *error)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, keep_entry, alphasort);
    int good = 1;

    if (count < 0) {
        kvc_error_set(error, "%.300s: cannot be read: %s", folder, strerror(errno));
        return 0;
    }
    for (int at = 0; at < count; at++) {
        char path[PATH_MAX_BYTES];
        struct stat status;
        int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                              entry[at]->d_name);
        if (good && (length < 0 || (size_t)length >= sizeof path)) {
            kvc_error_set(error, "%.300s: a path below it is too long", folder);
            good = 0;
        }
        if (good && lstat(path, &status) == 0) {
            if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
                good = find_below(path, depth + 1, files, error);
            else if (!S_ISDIR(status.st_mode) && kvc_json_is_name(entry[at]->d_name))
                good = add(files, path, error);
        }
        free(entry[at]);
    }
    free(entry);
    return good;
}

int kvc_case_files_find(const char *const *word, int words, kvc_case_files *files, kvc_error *error)
{
    memset(files, 0, sizeof *files);
    for (int at = 0; at < words; at++) {
        struct stat status;
        int before = files->count;
        if (stat(word[at], &status) != 0 || !S_ISDIR(status.st_mode)) {
            if (!add(files, word[at], error))
                return 0;
            continue;
        }
        if (!find_below(word[at], 0, files, error))
            return 0;
        if (files->count == before) {
            kvc_error_set(error, "%.300s: no case in it; expected files whose names end in .json", word[at]);
            return 0;
        }
    }
    return 1;
}

void kvc_case_files_clear(kvc_case_files *files)
{
    for (int at = 0; at < files->count; at++)
        free(files->path[at]);
    free(files->path);
    memset(files, 0, sizeof *files);
}
