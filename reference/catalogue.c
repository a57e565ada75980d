#include "reference/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/json.h"

enum { EXTENDS_MAX = 32, PATH_SIZE = 4096, FILES_MAX = 1024 };

static int is_json(const struct dirent *entry)
{
    return kvc_json_is_name(entry->d_name);
}

static int is_folder_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void free_entries(struct dirent **entries, int count)
{
    for (int at = 0; at < count; at++)
        free(entries[at]);
    free(entries);
}

/* Makes room for one more element of `width` bytes. */
static void *grow(void *array, size_t count, size_t width, const char *name, kvc_error *error)
{
    void *larger;

    if (count >= FILES_MAX || (larger = realloc(array, (count + 1) * width)) == NULL) {
        kvc_error_set(error, "%s: too many files or not enough memory", name);
        return NULL;
    }
    return larger;
}

static int join(char *out, const char *folder, const char *name, kvc_error *error)
{
    int length = snprintf(out, PATH_SIZE, "%s/%s", folder, name);

    if (length < 0 || length >= PATH_SIZE) {
        kvc_error_set(error, "%.200s: path too long", folder);
        return 0;
    }
    return 1;
}

static int read_specs_of(const char *folder, const char *subject, kvc_catalogue *catalogue, kvc_error *error)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_json, alphasort);
    int good = 1;
    char path[PATH_SIZE];

    if (count < 0) {
        if (errno == ENOTDIR)
            return 1;
        kvc_error_set(error, "%s: cannot be read: %s", folder, strerror(errno));
        return 0;
    }
    for (int at = 0; good && at < count; at++) {
        kvc_spec *larger = grow(catalogue->spec, catalogue->specs, sizeof *larger, folder, error);
        kvc_spec *spec;
        good = 0;
        if (larger == NULL)
            break;
        catalogue->spec = larger;
        spec = &larger[catalogue->specs];
        if (!join(path, folder, entries[at]->d_name, error) || !kvc_spec_read(path, spec, error))
            break;
        if (strcmp(spec->subject, subject) != 0) {
            kvc_error_set(error, "%s: field \"subject\": \"%s\", expected \"%s\" as its folder is called", path,
                          spec->subject, subject);
            break;
        }
        if (kvc_catalogue_spec(catalogue, spec->subject, spec->variant) != NULL) {
            kvc_error_set(error, "%s: variant \"%s\" has a spec already", path, spec->variant);
            break;
        }
        catalogue->specs++;
        good = 1;
    }
    free_entries(entries, count);
    return good;
}

static int read_specs(const char *folder, kvc_catalogue *catalogue, kvc_error *error)
{
    struct dirent **entries = NULL;
    char specs[PATH_SIZE];
    char path[PATH_SIZE];
    int good = join(specs, folder, "specs", error);
    int count;

    if (!good)
        return 0;
    count = scandir(specs, &entries, is_folder_name, alphasort);
    if (count < 0) {
        kvc_error_set(error, "%s: cannot be read: %s (expected the folder of the specs; set KVCONFORM_DATA)", specs,
                      strerror(errno));
        return 0;
    }
    for (int at = 0; good && at < count; at++)
        good = join(path, specs, entries[at]->d_name, error) &&
               read_specs_of(path, entries[at]->d_name, catalogue, error);
    free_entries(entries, count);
    return good;
}

static int read_contracts(const char *folder, kvc_catalogue *catalogue, kvc_error *error)
{
    struct dirent **entries = NULL;
    char contracts[PATH_SIZE];
    char path[PATH_SIZE];
    int good = join(contracts, folder, "contracts", error);
    int count;

    if (!good)
        return 0;
    count = scandir(contracts, &entries, is_json, alphasort);
    if (count < 0) {
        kvc_error_set(error, "%s: cannot be read: %s", contracts, strerror(errno));
        return 0;
    }
    for (int at = 0; good && at < count; at++) {
        kvc_contract *larger = grow(catalogue->contract, catalogue->contracts, sizeof *larger, contracts, error);
        good = 0;
        if (larger == NULL)
            break;
        catalogue->contract = larger;
        if (!join(path, contracts, entries[at]->d_name, error))
            break;
        if (!kvc_contract_read(path, &larger[catalogue->contracts], error)) {
            kvc_contract_clear(&larger[catalogue->contracts]);
            break;
        }
        if (kvc_catalogue_contract_by_id(catalogue, larger[catalogue->contracts].id) != NULL) {
            kvc_error_set(error, "%s: field \"id\": \"%s\" stands in another file too", path,
                          larger[catalogue->contracts].id);
            kvc_contract_clear(&larger[catalogue->contracts]);
            break;
        }
        catalogue->contracts++;
        good = 1;
    }
    free_entries(entries, count);
    return good;
}

static int read_exemptions(const char *folder, kvc_catalogue *catalogue, kvc_error *error)
{
    struct dirent **entries = NULL;
    char below[PATH_SIZE];
    char path[PATH_SIZE];
    int good = join(below, folder, "exemptions", error);
    int count = good ? scandir(below, &entries, is_json, alphasort) : 0;

    /* A folder of one's own specs needs none. */
    if (count < 0 && errno != ENOENT) {
        kvc_error_set(error, "%s: cannot be read: %s", below, strerror(errno));
        return 0;
    }
    for (int at = 0; good && at < count; at++) {
        kvc_exemptions *larger = grow(catalogue->exemptions, catalogue->exempted, sizeof *larger, below, error);
        good = 0;
        if (larger == NULL)
            break;
        catalogue->exemptions = larger;
        if (!join(path, below, entries[at]->d_name, error))
            break;
        if (!kvc_exemptions_read(path, &larger[catalogue->exempted], error)) {
            kvc_exemptions_clear(&larger[catalogue->exempted]);
            break;
        }
        catalogue->exempted++;
        good = 1;
    }
    free_entries(entries, count);
    return good;
}

static int compare_contracts(const void *left, const void *right)
{
    const kvc_contract *a = left;
    const kvc_contract *b = right;
    int order = strcmp(a->subject, b->subject);

    return order != 0 ? order : kvc_version_compare(a->from, b->from);
}

/* The contracts that `contract` extends, nearest first. Returns how many, or -1 for a missing one or a circle. */
static int extended(const kvc_catalogue *catalogue, const kvc_contract *contract,
                    const kvc_contract *chain[EXTENDS_MAX])
{
    int count = 0;

    for (; contract != NULL && count < EXTENDS_MAX; count++) {
        chain[count] = contract;
        if (contract->extends[0] == '\0')
            return count + 1;
        contract = kvc_catalogue_contract_by_id(catalogue, contract->extends);
    }
    return -1;
}

int kvc_catalogue_read(const char *folder, kvc_catalogue *catalogue, kvc_error *error)
{
    const kvc_contract *chain[EXTENDS_MAX];

    memset(catalogue, 0, sizeof *catalogue);
    if (!read_specs(folder, catalogue, error) || !read_contracts(folder, catalogue, error) ||
        !read_exemptions(folder, catalogue, error))
        return 0;
    if (catalogue->contracts > 0)
        qsort(catalogue->contract, catalogue->contracts, sizeof *catalogue->contract, compare_contracts);
    for (size_t at = 0; at < catalogue->contracts; at++) {
        if (extended(catalogue, &catalogue->contract[at], chain) < 0) {
            kvc_error_set(error, "%s/contracts: contract \"%s\": field \"extends\": \"%s\" is not there or goes in a circle",
                          folder, catalogue->contract[at].id, catalogue->contract[at].extends);
            return 0;
        }
    }
    return 1;
}

void kvc_catalogue_clear(kvc_catalogue *catalogue)
{
    for (size_t at = 0; at < catalogue->contracts; at++)
        kvc_contract_clear(&catalogue->contract[at]);
    for (size_t at = 0; at < catalogue->exempted; at++)
        kvc_exemptions_clear(&catalogue->exemptions[at]);
    free(catalogue->exemptions);
    free(catalogue->contract);
    free(catalogue->spec);
    memset(catalogue, 0, sizeof *catalogue);
}

static const kvc_spec *find_spec(const kvc_catalogue *catalogue, const char *subject, const char *variant, size_t length)
{
    for (size_t at = 0; at < catalogue->specs; at++) {
        const kvc_spec *spec = &catalogue->spec[at];
        if (strcmp(spec->subject, subject) == 0 && strlen(spec->variant) == length &&
            memcmp(spec->variant, variant, length) == 0)
            return spec;
    }
    return NULL;
}

const kvc_spec *kvc_catalogue_spec(const kvc_catalogue *catalogue, const char *subject, const char *variant)
{
    const kvc_spec *spec = find_spec(catalogue, subject, variant, strcspn(variant, "+"));
    const char *slash = spec == NULL ? strchr(variant, '/') : NULL;

    return slash != NULL ? find_spec(catalogue, subject, variant, (size_t)(slash - variant)) : spec;
}

const kvc_contract *kvc_catalogue_contract(const kvc_catalogue *catalogue, const char *subject, const char *version,
                                           int *assumed)
{
    const kvc_contract *best = NULL;

    for (size_t at = 0; at < catalogue->contracts; at++) {
        const kvc_contract *contract = &catalogue->contract[at];
        if (strcmp(contract->subject, subject) == 0 && contract->from[0] != '\0' && kvc_version_compare(contract->from, version) <= 0)
            best = contract;
    }
    *assumed = best != NULL && best->known_to[0] != '\0' && kvc_version_compare(version, best->known_to) > 0;
    return best;
}

const kvc_contract *kvc_catalogue_contract_by_id(const kvc_catalogue *catalogue, const char *id)
{
    for (size_t at = 0; at < catalogue->contracts; at++) {
        if (strcmp(catalogue->contract[at].id, id) == 0)
            return &catalogue->contract[at];
    }
    return NULL;
}

const kvc_exemptions *kvc_catalogue_exemptions(const kvc_catalogue *catalogue, const char *subject)
{
    for (size_t at = 0; at < catalogue->exempted; at++) {
        if (strcmp(catalogue->exemptions[at].subject, subject) == 0)
            return &catalogue->exemptions[at];
    }
    return NULL;
}

void kvc_catalogue_rules(const kvc_catalogue *catalogue, const kvc_contract *contract, const char *variant,
                         kvc_rules *rules)
{
    const kvc_contract *chain[EXTENDS_MAX];
    int count = extended(catalogue, contract, chain);

    kvc_rules_standard(rules);
    while (count > 0)
        kvc_rules_apply(rules, chain[--count], variant);
}
