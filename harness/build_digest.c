#include "harness/build_digest.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, DEPTH_MAX = 8 };

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t at = 0; at < count; at++)
        hash = (hash ^ byte[at]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t add_file(uint64_t hash, const char *path)
{
    FILE *file = fopen(path, "rb");
    char block[1 << 14];
    size_t got;

    while (file != NULL && (got = fread(block, 1, sizeof block, file)) > 0)
        hash = add_bytes(hash, block, got);
    if (file != NULL)
        (void)fclose(file);
    return hash;
}

static int is_source(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    /* Folders have no dot; what Python keeps of its own is not ours. */
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "__pycache__") != 0 &&
           (dot == NULL || strcmp(dot, ".json") == 0 || strcmp(dot, ".py") == 0);
}

static uint64_t add_folder(uint64_t hash, const char *folder, int depth)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, is_source, alphasort);

    for (int at = 0; at < count; at++) {
        char path[PATH_BYTES];
        struct stat status;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry[at]->d_name);
        if (length > 0 && (size_t)length < sizeof path && stat(path, &status) == 0) {
            hash = add_bytes(hash, entry[at]->d_name, strlen(entry[at]->d_name) + 1);
            if (S_ISREG(status.st_mode))
                hash = add_file(hash, path);
            else if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
                hash = add_folder(hash, path, depth + 1);
        }
        free(entry[at]);
    }
    free(entry);
    return hash;
}

void kvc_build_digest(const char *data, char digest[KVC_BUILD_DIGEST_SIZE])
{
    static const char *const folders[] = {"reference/specs", "reference/contracts", "reference/exemptions", "adapters/python"};
    uint64_t hash = add_file(UINT64_C(14695981039346656037), "/proc/self/exe");

    for (size_t at = 0; at < sizeof folders / sizeof folders[0]; at++) {
        char path[PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s/%s", data, folders[at]);
        if (length > 0 && (size_t)length < sizeof path)
            hash = add_folder(hash, path, 0);
    }
    (void)snprintf(digest, KVC_BUILD_DIGEST_SIZE, "%016llx", (unsigned long long)hash);
}
