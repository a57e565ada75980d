#include "reference/brought.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/json.h"

enum { BROUGHT_MAX = 256 };

/* Takes away what another subject brought. */
static void forget(kvc_catalogue *catalogue)
{
    catalogue->specs -= catalogue->brought_specs;
    catalogue->brought_specs = 0;
    while (catalogue->brought_contracts > 0) {
        kvc_contract_clear(&catalogue->contract[--catalogue->contracts]);
        catalogue->brought_contracts--;
    }
}

/* "SUBJECT:VARIANT" of a spec that is there. */
static const kvc_spec *find_other(const kvc_catalogue *catalogue, const cJSON *text, const char *name, kvc_error *error)
{
    const char *colon = cJSON_IsString(text) ? strchr(text->valuestring, ':') : NULL;
    char subject[KVC_SPEC_NAME_MAX];
    const kvc_spec *spec = NULL;

    if (colon != NULL && (size_t)(colon - text->valuestring) < sizeof subject) {
        memcpy(subject, text->valuestring, (size_t)(colon - text->valuestring));
        subject[colon - text->valuestring] = '\0';
        spec = kvc_catalogue_spec(catalogue, subject, colon + 1);
    }
    if (spec == NULL)
        kvc_error_set(error, "%s: expected SUBJECT:VARIANT of a spec that is there (kvconform list variants), not \"%.60s\"", name,
                      cJSON_IsString(text) ? text->valuestring : "(no text)");
    return spec;
}

/* A spec of its own, one like another, or one like another with changes. */
static int read_spec(const kvc_catalogue *catalogue, const cJSON *item, const char *subject, kvc_spec *spec, kvc_error *error)
{
    const cJSON *like = cJSON_GetObjectItemCaseSensitive(item, "like");
    const kvc_spec *other = NULL;
    char name[KVC_SPEC_NAME_MAX + 16];

    (void)snprintf(name, sizeof name, "spec of %.*s", KVC_SPEC_NAME_MAX - 1, item->string);
    if (cJSON_IsString(item) || like != NULL) {
        other = find_other(catalogue, like != NULL ? like : item, name, error);
        if (other == NULL || !kvc_spec_like(like != NULL ? item : NULL, name, other, spec, error))
            return 0;
        (void)snprintf(spec->subject, sizeof spec->subject, "%s", subject);
        (void)snprintf(spec->variant, sizeof spec->variant, "%s", item->string);
        return 1;
    }
    if (!kvc_spec_from_json(item, name, spec, error))
        return 0;
    if (strcmp(spec->subject, subject) == 0 && strcmp(spec->variant, item->string) == 0)
        return 1;
    kvc_error_set(error, "%s: is that of %.60s %.60s", name, spec->subject, spec->variant);
    return 0;
}

static int bring_specs(kvc_catalogue *catalogue, const cJSON *specs, const char *subject, kvc_error *error)
{
    int count = cJSON_GetArraySize(specs);
    kvc_spec *larger;
    const cJSON *item;

    if (specs != NULL && (!cJSON_IsObject(specs) || count > BROUGHT_MAX)) {
        kvc_error_set(error, "the subject's specs: expected an object of at most %d", BROUGHT_MAX);
        return 0;
    }
    if (count == 0)
        return 1;
    larger = realloc(catalogue->spec, (catalogue->specs + (size_t)count) * sizeof *larger);
    if (larger == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    catalogue->spec = larger;
    cJSON_ArrayForEach(item, specs) {
        if (item->string[0] == '\0' || strlen(item->string) >= KVC_SPEC_NAME_MAX || strchr(item->string, '+') != NULL ||
            !kvc_text_is_plain(item->string)) {
            kvc_error_set(error, "the subject's specs: expected names of variants shorter than %d bytes, without a +",
                          KVC_SPEC_NAME_MAX);
            return 0;
        }
        if (kvc_catalogue_spec(catalogue, subject, item->string) != NULL)
            continue;
        if (!read_spec(catalogue, item, subject, &catalogue->spec[catalogue->specs], error))
            return 0;
        catalogue->specs++;
        catalogue->brought_specs++;
    }
    return 1;
}

/* A contract without rules: the standard values count. */
static void make_standard(kvc_contract *contract, const char *subject)
{
    memset(contract, 0, sizeof *contract);
    (void)snprintf(contract->id, sizeof contract->id, "standard");
    (void)snprintf(contract->subject, sizeof contract->subject, "%s", subject);
    (void)snprintf(contract->from, sizeof contract->from, "0");
}

static int read_contract(kvc_catalogue *catalogue, const cJSON *json, const char *subject, kvc_contract *contract,
                         kvc_error *error)
{
    if (!kvc_contract_from_json(json, "the subject's contract", contract, error))
        return 0;
    if (strcmp(contract->subject, subject) != 0)
        kvc_error_set(error, "the subject's contract: field \"subject\": \"%.60s\", expected \"%.60s\"", contract->subject, subject);
    else if (kvc_catalogue_contract_by_id(catalogue, contract->id) != NULL)
        kvc_error_set(error, "the subject's contract: field \"id\": there is a contract \"%.60s\" already", contract->id);
    else if (contract->extends[0] != '\0' && kvc_catalogue_contract_by_id(catalogue, contract->extends) == NULL)
        kvc_error_set(error, "the subject's contract: field \"extends\": \"%.60s\" is not there", contract->extends);
    else
        return 1;
    return 0;
}

static int bring_contract(kvc_catalogue *catalogue, const cJSON *json, const char *subject, const char *version, kvc_error *error)
{
    kvc_contract *larger;
    int assumed;

    if ((json == NULL && catalogue->brought_specs == 0) ||
        kvc_catalogue_contract(catalogue, subject, version, &assumed) != NULL)
        return 1;
    larger = realloc(catalogue->contract, (catalogue->contracts + 1) * sizeof *larger);
    if (larger == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    catalogue->contract = larger;
    larger += catalogue->contracts;
    if (json == NULL) {
        make_standard(larger, subject);
    } else if (!read_contract(catalogue, json, subject, larger, error)) {
        kvc_contract_clear(larger);
        return 0;
    }
    catalogue->contracts++;
    catalogue->brought_contracts++;
    return 1;
}

int kvc_catalogue_bring(kvc_catalogue *catalogue, const cJSON *hello, kvc_error *error)
{
    const cJSON *specs = cJSON_GetObjectItemCaseSensitive(hello, "specs");
    const cJSON *contract = cJSON_GetObjectItemCaseSensitive(hello, "contract");
    const char *subject = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(hello, "subject"));
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(hello, "version"));

    forget(catalogue);
    if (bring_specs(catalogue, specs, subject, error) && bring_contract(catalogue, contract, subject, version, error))
        return 1;
    forget(catalogue);
    return 0;
}
