#include "harness/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/system.h"

#ifndef KVC_PKGDATADIR
#define KVC_PKGDATADIR "/usr/local/share/kvconform"
#endif

static int has_specs(const char *folder)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/reference/specs", folder);

    return length > 0 && (size_t)length < sizeof path && access(path, R_OK | X_OK) == 0;
}

static int take(const char *folder, char *out, size_t size)
{
    if (folder == NULL || strlen(folder) >= size || !has_specs(folder))
        return 0;
    memcpy(out, folder, strlen(folder) + 1);
    return 1;
}

/* An installation that was moved, or unpacked anywhere, finds what is its own: PREFIX/share/kvconform of PREFIX/bin/kvconform. */
static int take_beside_program(char *out, size_t size)
{
    static const char below[] = "/share/kvconform";
    char path[4096];
    char *end;

    if (!kvc_program_path(path, sizeof path - sizeof below))
        return 0;
    for (int up = 0; up < 2; up++) {
        end = strrchr(path, '/');
        if (end == NULL)
            return 0;
        *end = '\0';
    }
    memcpy(end, below, sizeof below);
    return take(path, out, size);
}

int kvc_data_find(char *folder, size_t size, kvc_error *error)
{
    const char *given = getenv("KVCONFORM_DATA");

    if (given != NULL && given[0] != '\0') {
        if (take(given, folder, size))
            return 1;
        kvc_error_set(error, "KVCONFORM_DATA=%s: holds no reference/specs; expected the folder with kvconform's data",
                      given);
        return 0;
    }
    if (take_beside_program(folder, size) || take(KVC_PKGDATADIR, folder, size))
        return 1;
    kvc_error_set(error, "%s: kvconform's data is not there; install it (make install) or set KVCONFORM_DATA to the source tree",
                  KVC_PKGDATADIR);
    return 0;
}

int kvc_data_catalogue(const char *folder, kvc_catalogue *catalogue, kvc_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/reference", folder);

    memset(catalogue, 0, sizeof *catalogue);
    if (length < 0 || (size_t)length >= sizeof path) {
        kvc_error_set(error, "%.200s: path too long", folder);
        return 0;
    }
    return kvc_catalogue_read(path, catalogue, error);
}
