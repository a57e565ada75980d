#include "reference/exemptions.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "reference/contract.h"
#include "reference/json.h"

static int read_exemption(const cJSON *json, const char *name, kvc_exemption *out, kvc_error *error)
{
    static const char *const known[] = {"classes", "from", "until", "reason", NULL};

    if (!cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: field \"exemptions\": expected objects", name);
        return 0;
    }
    if (!kvc_json_known_fields(json, name, "exemptions", known, error) ||
        !kvc_json_text(json, name, "classes", out->classes, sizeof out->classes, error) ||
        !kvc_json_text_optional(json, name, "from", out->from, sizeof out->from, error) ||
        !kvc_json_text_optional(json, name, "until", out->until, sizeof out->until, error) ||
        !kvc_json_text(json, name, "reason", out->reason, sizeof out->reason, error))
        return 0;
    if (out->classes[0] == '\0' || out->reason[0] == '\0') {
        kvc_error_set(error, "%s: field \"%s\": expected a text that is not empty", name,
                      out->classes[0] == '\0' ? "classes" : "reason");
        return 0;
    }
    return 1;
}

static int read_exemptions(const cJSON *json, const char *name, kvc_exemptions *exemptions, kvc_error *error)
{
    static const char *const known[] = {"schema", "subject", "exemptions", NULL};
    const cJSON *list;
    const cJSON *item;
    char schema[64];

    if (!kvc_json_known_fields(json, name, "exemptions", known, error) ||
        !kvc_json_text(json, name, "schema", schema, sizeof schema, error))
        return 0;
    if (strcmp(schema, "kvconform-exemptions/1") != 0) {
        kvc_error_set(error, "%s: field \"schema\": \"%s\", expected kvconform-exemptions/1", name, schema);
        return 0;
    }
    if (!kvc_json_text(json, name, "subject", exemptions->subject, sizeof exemptions->subject, error) ||
        !kvc_json_array(json, name, "exemptions", KVC_EXEMPTIONS_MAX, &list, error))
        return 0;
    exemptions->exemption = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *exemptions->exemption);
    if (exemptions->exemption == NULL) {
        kvc_error_set(error, "%s: not enough memory", name);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        kvc_exemption *one = &exemptions->exemption[exemptions->count];
        if (!read_exemption(item, name, one, error))
            return 0;
        for (size_t at = 0; at < exemptions->count; at++) {
            const kvc_exemption *other = &exemptions->exemption[at];
            if (strcmp(other->classes, one->classes) == 0 && strcmp(other->from, one->from) == 0) {
                kvc_error_set(error, "%s: field \"exemptions\": \"%s\" stands there twice", name, one->classes);
                return 0;
            }
        }
        exemptions->count++;
    }
    return 1;
}

int kvc_exemptions_parse(const char *text, size_t length, const char *name, kvc_exemptions *exemptions, kvc_error *error)
{
    cJSON *json;
    int good;

    memset(exemptions, 0, sizeof *exemptions);
    if (!kvc_json_parse(text, length, name, &json, error))
        return 0;
    good = read_exemptions(json, name, exemptions, error);
    cJSON_Delete(json);
    return good;
}

int kvc_exemptions_read(const char *path, kvc_exemptions *exemptions, kvc_error *error)
{
    char *text;
    size_t length;
    int good;

    memset(exemptions, 0, sizeof *exemptions);
    if (!kvc_file_read(path, KVC_EXEMPTIONS_FILE_MAX, &text, &length, error))
        return 0;
    good = kvc_exemptions_parse(text, length, path, exemptions, error);
    free(text);
    return good;
}

void kvc_exemptions_clear(kvc_exemptions *exemptions)
{
    free(exemptions->exemption);
    memset(exemptions, 0, sizeof *exemptions);
}

int kvc_exemption_applies(const kvc_exemption *exemption, const char *version)
{
    return (exemption->from[0] == '\0' || kvc_version_compare(version, exemption->from) >= 0) &&
           (exemption->until[0] == '\0' || kvc_version_compare(version, exemption->until) < 0);
}

const kvc_exemption *kvc_exemptions_find(const kvc_exemptions *exemptions, const char *version, const char *name)
{
    for (size_t at = 0; exemptions != NULL && at < exemptions->count; at++) {
        const kvc_exemption *one = &exemptions->exemption[at];
        if (kvc_exemption_applies(one, version) && fnmatch(one->classes, name, 0) == 0)
            return one;
    }
    return NULL;
}
