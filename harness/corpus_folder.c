#include "harness/corpus_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/random.h"
#include "reports/file.h"

enum { PATH_SIZE = 4096 };

static int join(const char *folder, const char *name, char out[PATH_SIZE], kvc_error *error)
{
    int length = snprintf(out, PATH_SIZE, "%s/%s", folder, name);

    if (length > 0 && length < PATH_SIZE)
        return 1;
    kvc_error_set(error, "%.300s: a path in it is too long", folder);
    return 0;
}

static int add(kvc_corpus_files *files, const char *path, size_t size, kvc_error *error)
{
    if (files->count == KVC_CORPUS_FILES_MAX) {
        kvc_error_set(error, "%.300s: more than %d sequences to begin with; --minimise makes them fewer", path, KVC_CORPUS_FILES_MAX);
        return 0;
    }
    if (files->count == files->room) {
        int room = files->room > 0 ? 2 * files->room : 64;
        kvc_corpus_file *grown = realloc(files->file, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            kvc_error_set(error, "not enough memory");
            return 0;
        }
        files->file = grown;
        files->room = room;
    }
    files->file[files->count].path = strdup(path);
    files->file[files->count].size = size;
    if (files->file[files->count].path == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    files->count++;
    return 1;
}

/* What a process that was killed while it wrote has left. */
static int is_half(const char *name)
{
    size_t length = strlen(name);

    return length > 5 && strcmp(name + length - 5, ".part") == 0;
}

int kvc_corpus_folder_list(const char *folder, kvc_corpus_files *files, kvc_error *error)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    int good = 1;

    if (open == NULL) {
        kvc_error_set(error, "%.300s: cannot be read: %s", folder, strerror(errno));
        return 0;
    }
    while (good && (entry = readdir(open)) != NULL) {
        char path[PATH_SIZE];
        struct stat status;
        if (entry->d_name[0] == '.' || is_half(entry->d_name))
            continue;
        good = join(folder, entry->d_name, path, error);
        if (good && stat(path, &status) == 0 && S_ISREG(status.st_mode))
            good = add(files, path, (size_t)status.st_size, error);
    }
    (void)closedir(open);
    return good;
}

static int compare(const void *left, const void *right)
{
    const kvc_corpus_file *a = left;
    const kvc_corpus_file *b = right;

    return a->size != b->size ? (a->size > b->size) - (a->size < b->size) : strcmp(a->path, b->path);
}

void kvc_corpus_files_sort(kvc_corpus_files *files)
{
    if (files->count > 0)
        qsort(files->file, (size_t)files->count, sizeof files->file[0], compare);
}

void kvc_corpus_files_clear(kvc_corpus_files *files)
{
    for (int at = 0; at < files->count; at++)
        free(files->file[at].path);
    free(files->file);
    memset(files, 0, sizeof *files);
}

void kvc_corpus_name(const kvc_bytes *bytes, char name[KVC_CORPUS_NAME_SIZE])
{
    uint64_t digest = (uint64_t)bytes->size;

    for (int32_t at = 0; at < bytes->size; at++)
        digest = kvc_random_scramble(digest ^ bytes->byte[at]) + 0x9e3779b97f4a7c15u;
    (void)snprintf(name, KVC_CORPUS_NAME_SIZE, "%016llx", (unsigned long long)digest);
}

int kvc_corpus_folder_write(const char *folder, const kvc_bytes *bytes, int synced, kvc_error *error)
{
    char name[KVC_CORPUS_NAME_SIZE];
    char path[PATH_SIZE];

    kvc_corpus_name(bytes, name);
    if (!join(folder, name, path, error))
        return 0;
    return access(path, F_OK) == 0 ||
           (synced ? kvc_report_file_write : kvc_report_file_write_quickly)(path, (const char *)bytes->byte, (size_t)bytes->size,
                                                                            error->text, sizeof error->text) == 0;
}

/* Whether a name begins with a digest. */
static int has_digest(const char *name)
{
    return strspn(name, "0123456789abcdef") == KVC_CORPUS_NAME_SIZE - 1;
}

void kvc_corpus_file_remove(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    if (has_digest(name) && name[KVC_CORPUS_NAME_SIZE - 1] == '\0')
        (void)unlink(path);
}

void kvc_corpus_folder_tidy(const char *folder)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    char path[PATH_SIZE];
    kvc_error ignored;

    while (open != NULL && (entry = readdir(open)) != NULL) {
        if (is_half(entry->d_name) && (has_digest(entry->d_name) || strncmp(entry->d_name, "next.", 5) == 0) &&
            join(folder, entry->d_name, path, &ignored))
            (void)unlink(path);
    }
    if (open != NULL)
        (void)closedir(open);
}
