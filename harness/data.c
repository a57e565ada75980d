#include "harness/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (take(KVC_PKGDATADIR, folder, size) || take(".", folder, size))
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
