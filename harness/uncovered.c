#include "harness/uncovered.h"

#include <fnmatch.h>
#include <string.h>

static int is_driven(const char *name, const char *const *variants)
{
    for (size_t at = 0; variants[at] != NULL; at++) {
        size_t length = strcspn(variants[at], "-");
        if (strlen(name) == length && memcmp(variants[at], name, length) == 0)
            return 1;
    }
    return 0;
}

static int names_something(const kvc_exemption *exemption, const cJSON *classes)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, classes) {
        if (fnmatch(exemption->classes, item->valuestring, 0) == 0)
            return 1;
    }
    return 0;
}

cJSON *kvc_uncovered_find(const kvc_catalogue *catalogue, const char *subject, const char *version, int assumed,
                          const cJSON *classes, const char *const *variants, kvc_error *error)
{
    const kvc_exemptions *exemptions = kvc_catalogue_exemptions(catalogue, subject);
    int released = strspn(version, "0123456789.") == strlen(version);
    cJSON *rest = cJSON_CreateArray();
    const cJSON *item;

    for (size_t at = 0; !assumed && released && exemptions != NULL && at < exemptions->count; at++) {
        const kvc_exemption *one = &exemptions->exemption[at];
        /* Whole models are no classes, and are listed all. */
        if (strchr(one->classes, '/') == NULL && kvc_exemption_applies(one, version) && !names_something(one, classes)) {
            kvc_error_set(error,
                          "reference/exemptions/%s.json: exemption \"%s\" names no class of %s %s: remove it, or give it \"from\" or \"until\"",
                          subject, one->classes, subject, version);
            cJSON_Delete(rest);
            return NULL;
        }
    }
    cJSON_ArrayForEach(item, classes) {
        const kvc_exemption *exempting = kvc_exemptions_find(exemptions, version, item->valuestring);
        if (exempting != NULL && is_driven(item->valuestring, variants)) {
            kvc_error_set(error, "reference/exemptions/%s.json: exemption \"%s\" names %s, which is driven: narrow it", subject,
                          exempting->classes, item->valuestring);
            cJSON_Delete(rest);
            return NULL;
        }
        if (exempting != NULL || is_driven(item->valuestring, variants))
            continue;
        if (rest == NULL || !cJSON_AddItemToArray(rest, cJSON_CreateString(item->valuestring))) {
            kvc_error_set(error, "not enough memory");
            cJSON_Delete(rest);
            return NULL;
        }
    }
    if (rest == NULL)
        kvc_error_set(error, "not enough memory");
    return rest;
}
