/* realpath belongs to the XSI part of POSIX. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include "reports/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
