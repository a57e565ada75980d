/* realpath belongs to the XSI part of POSIX. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include "reports/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(char *error, size_t error_size, const char *path, const char *what, int number)
{
    (void)snprintf(error, error_size, "%s: cannot %s: %s", path, what, strerror(number));
    return -1;
}

/* Returns 0, or -1 with errno set. */
static int write_all(int descriptor, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t portion = size < 1U << 30 ? size : 1U << 30;
        ssize_t count = write(descriptor, bytes, portion);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return -1;
        }
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

static int write_directly(const char *path, const char *bytes, size_t size, char *error, size_t error_size)
{
    int standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard output" : path;
    int descriptor = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return fail(error, error_size, name, "open", errno);
    }
    int result = 0;
    if (write_all(descriptor, bytes, size) != 0) {
        result = fail(error, error_size, name, "write", errno);
    }
    if (!standard && close(descriptor) != 0 && result == 0) {
        result = fail(error, error_size, name, "write", errno);
    }
    return result;
}

/*
 * Opens a new file beside `target`, with the permissions that the user's mask gives to any new file (mkstemp would make
 * it private). Returns its descriptor and its name for the caller to free, or -1 with errno set.
 */
static int open_beside(const char *target, char **name)
{
    size_t room = strlen(target) + 64;
    char *candidate = malloc(room);
    if (candidate == NULL) {
        errno = ENOMEM;
        return -1;
    }
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(candidate, room, "%s.%ld.%u.part", target, (long)getpid(), attempt);
        int descriptor = open(candidate, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            *name = candidate;
            return descriptor;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    int number = errno;
    free(candidate);
    errno = number;
    return -1;
}

/* Makes the rename itself last; a folder that cannot be synced (some network file systems) is no failure. */
static void sync_folder(const char *target)
{
    char *folder = malloc(strlen(target) + 2);
    if (folder == NULL) {
        return;
    }
    (void)strcpy(folder, target);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        (void)strcpy(folder, ".");
    } else {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    int descriptor = open(folder, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        (void)close(descriptor);
    }
    free(folder);
}

static int write_file(const char *path, const char *bytes, size_t size, int lasting, char *error, size_t error_size)
{
    struct stat status;
    char *resolved = NULL;
    char *part = NULL;
    int descriptor = -1;
    int result = -1;
    if (strcmp(path, "-") == 0) {
        return write_directly(path, bytes, size, error, error_size);
    }
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        if (S_ISDIR(status.st_mode)) {
            return fail(error, error_size, path, "write", EISDIR);
        }
        return write_directly(path, bytes, size, error, error_size);
    }
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
        resolved = realpath(path, NULL);
        if (resolved == NULL) {
            return fail(error, error_size, path, "follow the link", errno);
        }
    }
    const char *target = resolved != NULL ? resolved : path;
    descriptor = open_beside(target, &part);
    if (descriptor < 0) {
        (void)fail(error, error_size, path, "create a file in that folder", errno);
        goto cleanup;
    }
    if (write_all(descriptor, bytes, size) != 0 || (lasting && fsync(descriptor) != 0)) {
        (void)fail(error, error_size, path, "write", errno);
        goto cleanup;
    }
    int closed = close(descriptor);
    descriptor = -1;
    if (closed != 0) { /* quotas of network file systems speak up here */
        (void)fail(error, error_size, path, "write", errno);
        goto cleanup;
    }
    if (rename(part, target) != 0) {
        (void)fail(error, error_size, path, "replace the file", errno);
        goto cleanup;
    }
    if (lasting) {
        sync_folder(target);
    }
    free(part);
    part = NULL;
    result = 0;
cleanup:
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    if (part != NULL) {
        (void)unlink(part);
        free(part);
    }
    free(resolved);
    return result;
}

int kvc_report_file_write(const char *path, const char *bytes, size_t size, char *error, size_t error_size)
{
    return write_file(path, bytes, size, 1, error, error_size);
}

int kvc_report_file_write_quickly(const char *path, const char *bytes, size_t size, char *error, size_t error_size)
{
    return write_file(path, bytes, size, 0, error, error_size);
}

/* Reads the number that stands before `end`, behind a dot. Returns where the dot is, or NULL. */
static const char *number_before(const char *name, const char *end, long *number)
{
    const char *digit = end;
    while (digit > name && digit[-1] >= '0' && digit[-1] <= '9') {
        digit--;
    }
    if (digit == end || end - digit > 10 || digit - 1 <= name || digit[-1] != '.') {
        return NULL;
    }
    *number = strtol(digit, NULL, 10);
    return digit - 1;
}

/* The length of the name of what a writer that is gone was writing in the file `name`, or 0. */
static size_t left_of(const char *name)
{
    static const char suffix[] = ".part";
    size_t length = strlen(name);
    long process = 0;
    long attempt = 0;
    if (length < sizeof suffix || strcmp(name + length - (sizeof suffix - 1), suffix) != 0) {
        return 0;
    }
    const char *dot = number_before(name, name + length - (sizeof suffix - 1), &attempt);
    dot = dot != NULL ? number_before(name, dot, &process) : NULL;
    if (dot == NULL || process <= 0 || process > INT_MAX) {
        return 0;
    }
    /* In a container the number may be that of this process, which writes nothing yet. */
    if (process != (long)getpid() && (kill((pid_t)process, 0) == 0 || errno != ESRCH)) {
        return 0;
    }
    return (size_t)(dot - name);
}

/* Only files of this name; any that `takes` takes if it is NULL. */
static void sweep(const char *folder, const char *only, int (*takes)(const char *name))
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL) {
        char name[NAME_MAX + 1];
        struct stat status;
        size_t length = left_of(entry->d_name);
        if (length == 0 || length >= sizeof name) {
            continue;
        }
        memcpy(name, entry->d_name, length);
        name[length] = '\0';
        if ((only != NULL ? strcmp(name, only) == 0 : takes(name)) &&
            fstatat(dirfd(open), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
            (void)unlinkat(dirfd(open), entry->d_name, 0);
        }
    }
    if (open != NULL) {
        (void)closedir(open);
    }
}

void kvc_report_file_sweep(const char *path)
{
    char *target = realpath(path, NULL); /* parts lie beside what a link leads to */
    if (target == NULL) {
        target = strdup(path);
    }
    if (target == NULL) {
        return;
    }
    char *slash = strrchr(target, '/');
    if (slash == NULL) {
        sweep(".", target, NULL);
    } else {
        *slash = '\0';
        sweep(slash == target ? "/" : target, slash + 1, NULL);
    }
    free(target);
}

void kvc_report_file_sweep_folder(const char *folder, int (*takes)(const char *name))
{
    sweep(folder, NULL, takes);
}
