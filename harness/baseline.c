#include "harness/baseline.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/contract.h"
#include "reference/json.h"
#include "reports/file.h"
#include "reports/result.h"

enum { WORD_MAX = 200 };

static int is_digits(const char *text, int count)
{
    for (int at = 0; at < count; at++) {
        if (text[at] < '0' || text[at] > '9')
            return 0;
    }
    return 1;
}

int kvc_baseline_is_day(const char *text)
{
    int month;
    int day;

    if (strlen(text) != 10 || !is_digits(text, 4) || text[4] != '-' || !is_digits(text + 5, 2) || text[7] != '-' ||
        !is_digits(text + 8, 2))
        return 0;
    month = (text[5] - '0') * 10 + text[6] - '0';
    day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* A text of the entry that stays where it is; "" where it may be absent and is. Returns NULL with *error set. */
static const char *word_of(const cJSON *json, const char *name, const char *field, size_t most, int needed, kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field);

    if (item == NULL && !needed)
        return "";
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0' || strlen(item->valuestring) > most ||
        !kvc_text_is_plain(item->valuestring)) {
        kvc_error_set(error, "%s: field \"%s\": expected a text of 1 to %zu characters on one line", name, field, most);
        return NULL;
    }
    return item->valuestring;
}

static int read_day(const cJSON *json, const char *name, const char *field, int needed, const char **out, kvc_error *error)
{
    *out = word_of(json, name, field, WORD_MAX, needed, error);
    if (*out == NULL)
        return 0;
    if (**out != '\0' && !kvc_baseline_is_day(*out)) {
        kvc_error_set(error, "%s: field \"%s\": \"%.20s\", expected a day such as 2027-01-31", name, field, *out);
        return 0;
    }
    return 1;
}

static int read_condition(const cJSON *json, const char *name, kvc_baseline_entry *entry, kvc_error *error)
{
    static const char *const known[] = {"from", "to", "dtype", "platform", NULL};
    const cJSON *when = cJSON_GetObjectItemCaseSensitive(json, "when");

    entry->from = entry->to = entry->dtype = entry->platform = "";
    if (when == NULL)
        return 1;
    if (!cJSON_IsObject(when)) {
        kvc_error_set(error, "%s: field \"when\": expected an object with from, to, dtype or platform", name);
        return 0;
    }
    return kvc_json_known_fields(when, name, "when", known, error) &&
           (entry->from = word_of(when, name, "from", WORD_MAX, 0, error)) != NULL &&
           (entry->to = word_of(when, name, "to", WORD_MAX, 0, error)) != NULL &&
           (entry->dtype = word_of(when, name, "dtype", WORD_MAX, 0, error)) != NULL &&
           (entry->platform = word_of(when, name, "platform", WORD_MAX, 0, error)) != NULL;
}

static int read_entry(cJSON *json, const char *name, kvc_baseline_entry *entry, kvc_error *error)
{
    static const char *const known[] = {"id",     "target",  "when", "law",     "title", "case",
                                        "reason", "address", "date", "expires", NULL};
    const char *law;

    memset(entry, 0, sizeof *entry);
    entry->json = json;
    if (!cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: expected an object", name);
        return 0;
    }
    if (!kvc_json_known_fields(json, name, "entry", known, error) ||
        (entry->id = word_of(json, name, "id", WORD_MAX, 1, error)) == NULL ||
        (entry->target = word_of(json, name, "target", WORD_MAX, 1, error)) == NULL ||
        (law = word_of(json, name, "law", WORD_MAX, 1, error)) == NULL ||
        (entry->title = word_of(json, name, "title", KVC_BASELINE_TEXT_MAX, 1, error)) == NULL ||
        (entry->reason = word_of(json, name, "reason", KVC_BASELINE_TEXT_MAX, 0, error)) == NULL ||
        (entry->address = word_of(json, name, "address", KVC_BASELINE_TEXT_MAX, 0, error)) == NULL ||
        !read_day(json, name, "date", 1, &entry->date, error) ||
        !read_day(json, name, "expires", 0, &entry->expires, error) || !read_condition(json, name, entry, error))
        return 0;
    if (!kvc_law_parse(law, &entry->law)) {
        kvc_error_set(error, "%s: field \"law\": \"%.40s\", expected a law; kvconform list laws shows them", name, law);
        return 0;
    }
    if (strchr(entry->target, ':') == NULL) {
        kvc_error_set(error, "%s: field \"target\": \"%.80s\", expected SUBJECT:VARIANT, which may be a pattern", name,
                      entry->target);
        return 0;
    }
    if (entry->reason[0] == '\0' && entry->address[0] == '\0') {
        kvc_error_set(error, "%s: expected a reason or an address: why is this finding accepted?", name);
        return 0;
    }
    entry->item = cJSON_GetObjectItemCaseSensitive(json, "case");
    if (!cJSON_IsObject(entry->item)) {
        kvc_error_set(error, "%s: field \"case\": expected a kvconform-case/1 object", name);
        return 0;
    }
    return 1;
}

static int compare_entries(const void *left, const void *right)
{
    const kvc_baseline_entry *a = left;
    const kvc_baseline_entry *b = right;
    int order = strcmp(a->target, b->target);

    order = order != 0 ? order : strcmp(a->id, b->id);
    order = order != 0 ? order : kvc_version_compare(a->from, b->from);
    order = order != 0 ? order : strcmp(a->dtype, b->dtype);
    return order != 0 ? order : strcmp(a->platform, b->platform);
}

/* Whether two entries would both count for one finding. Those of one target and id stand together. */
static int overlap(const kvc_baseline_entry *a, const kvc_baseline_entry *b)
{
    if (strcmp(a->target, b->target) != 0 || strcmp(a->id, b->id) != 0 || strcmp(a->dtype, b->dtype) != 0 ||
        strcmp(a->platform, b->platform) != 0)
        return 0;
    return (a->to[0] == '\0' || b->from[0] == '\0' || kvc_version_compare(b->from, a->to) <= 0) &&
           (b->to[0] == '\0' || a->from[0] == '\0' || kvc_version_compare(a->from, b->to) <= 0);
}

static int read_entries(cJSON *list, const char *name, kvc_baseline *baseline, kvc_error *error)
{
    char where[400];

    baseline->entry = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *baseline->entry);
    if (baseline->entry == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    while (list->child != NULL) {
        kvc_baseline_entry *entry = &baseline->entry[baseline->entries];
        cJSON *json = cJSON_DetachItemViaPointer(list, list->child);
        (void)snprintf(where, sizeof where, "%.300s: entry %d", name, baseline->entries + 1);
        baseline->entries++;
        if (!read_entry(json, where, entry, error))
            return 0;
        if (baseline->entries > 1 && compare_entries(entry - 1, entry) > 0) {
            kvc_error_set(error, "%s: %.60s stands behind %.60s: expected entries sorted by target and id; kvconform baseline writes them so",
                          where, entry->id, entry[-1].id);
            return 0;
        }
        for (const kvc_baseline_entry *other = entry; other > baseline->entry && strcmp(other[-1].id, entry->id) == 0; other--) {
            if (overlap(other - 1, entry)) {
                kvc_error_set(error, "%s: %.60s of %.80s stands there twice", where, entry->id, entry->target);
                return 0;
            }
        }
    }
    return 1;
}

int kvc_baseline_parse(const char *text, size_t length, const char *name, kvc_baseline *baseline, kvc_error *error)
{
    static const char *const known[] = {"schema", "entries", NULL};
    const cJSON *list = NULL;
    char schema[64];
    cJSON *json = NULL;
    int good;

    memset(baseline, 0, sizeof *baseline);
    if (!kvc_json_parse(text, length, name, &json, error))
        return 0;
    good = kvc_json_known_fields(json, name, "baseline", known, error) &&
           kvc_json_text(json, name, "schema", schema, sizeof schema, error);
    if (good && strcmp(schema, KVC_BASELINE_SCHEMA) != 0) {
        kvc_error_set(error, "%s: field \"schema\": \"%s\", expected " KVC_BASELINE_SCHEMA, name, schema);
        good = 0;
    }
    good = good && kvc_json_array(json, name, "entries", KVC_BASELINE_ENTRIES_MAX, &list, error) &&
           read_entries(cJSON_GetObjectItemCaseSensitive(json, "entries"), name, baseline, error);
    cJSON_Delete(json);
    return good;
}

int kvc_baseline_read(const char *path, kvc_baseline *baseline, kvc_error *error)
{
    char *text;
    size_t length;
    int good;

    memset(baseline, 0, sizeof *baseline);
    if (!kvc_file_read(path, KVC_BASELINE_FILE_MAX, &text, &length, error))
        return 0;
    good = kvc_baseline_parse(text, length, path, baseline, error);
    free(text);
    return good;
}

void kvc_baseline_clear(kvc_baseline *baseline)
{
    for (int at = 0; at < baseline->entries; at++)
        cJSON_Delete(baseline->entry[at].json);
    free(baseline->entry);
    *baseline = (kvc_baseline){NULL, 0};
}

int kvc_baseline_matches(const kvc_baseline_entry *entry, const kvc_baseline_place *place)
{
    char name[2 * WORD_MAX + 2];

    (void)snprintf(name, sizeof name, "%.*s:%.*s", WORD_MAX, place->subject, WORD_MAX, place->variant);
    return fnmatch(entry->target, name, 0) == 0;
}

int kvc_baseline_applies(const kvc_baseline_entry *entry, const kvc_baseline_place *place)
{
    return kvc_baseline_matches(entry, place) &&
           (entry->from[0] == '\0' || kvc_version_compare(entry->from, place->version) <= 0) &&
           (entry->to[0] == '\0' || kvc_version_compare(place->version, entry->to) <= 0) &&
           (entry->dtype[0] == '\0' || place->dtype[0] == '\0' || strcmp(entry->dtype, place->dtype) == 0) &&
           (entry->platform[0] == '\0' || fnmatch(entry->platform, place->platform, 0) == 0);
}

kvc_baseline_entry *kvc_baseline_find(const kvc_baseline *baseline, const char *id, const kvc_baseline_place *place)
{
    for (int at = 0; at < baseline->entries; at++) {
        if (strcmp(baseline->entry[at].id, id) == 0 && kvc_baseline_applies(&baseline->entry[at], place))
            return &baseline->entry[at];
    }
    return NULL;
}

int kvc_baseline_expired(const kvc_baseline_entry *entry, const char *today)
{
    return entry->expires[0] != '\0' && strcmp(entry->expires, today) < 0;
}

static cJSON *condition_of(const kvc_baseline_words *words)
{
    cJSON *when = cJSON_CreateObject();

    if (words->from != NULL)
        cJSON_AddStringToObject(when, "from", words->from);
    if (words->to != NULL)
        cJSON_AddStringToObject(when, "to", words->to);
    return when;
}

int kvc_baseline_add(kvc_baseline *baseline, const cJSON *finding, const kvc_baseline_words *words, kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(finding, "case");
    const cJSON *subject = cJSON_GetObjectItemCaseSensitive(item, "subject");
    const cJSON *variant = cJSON_GetObjectItemCaseSensitive(item, "variant");
    kvc_baseline_entry *grown;
    char target[2 * WORD_MAX + 2];
    cJSON *json = cJSON_CreateObject();

    if (!cJSON_IsString(subject) || !cJSON_IsString(variant)) {
        cJSON_Delete(json);
        kvc_error_set(error, "a finding without a case cannot stand in a baseline");
        return 0;
    }
    (void)snprintf(target, sizeof target, "%.*s:%.*s", WORD_MAX, subject->valuestring, WORD_MAX, variant->valuestring);
    cJSON_AddItemToObject(json, "id", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(finding, "id"), 1));
    cJSON_AddStringToObject(json, "target", target);
    if (words->from != NULL || words->to != NULL)
        cJSON_AddItemToObject(json, "when", condition_of(words));
    cJSON_AddItemToObject(json, "law", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(finding, "law"), 1));
    cJSON_AddItemToObject(json, "title", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(finding, "title"), 1));
    cJSON_AddItemToObject(json, "case", cJSON_Duplicate(item, 1));
    if (words->reason != NULL)
        cJSON_AddStringToObject(json, "reason", words->reason);
    if (words->address != NULL)
        cJSON_AddStringToObject(json, "address", words->address);
    cJSON_AddStringToObject(json, "date", words->date);
    if (words->expires != NULL)
        cJSON_AddStringToObject(json, "expires", words->expires);
    grown = realloc(baseline->entry, ((size_t)baseline->entries + 2) * sizeof *grown);
    if (grown != NULL)
        baseline->entry = grown;
    if (grown == NULL || baseline->entries == KVC_BASELINE_ENTRIES_MAX ||
        !read_entry(json, "the new entry", &grown[baseline->entries], error)) {
        if (error->text[0] == '\0')
            kvc_error_set(error, grown == NULL ? "not enough memory" : "a baseline has room for %d entries", KVC_BASELINE_ENTRIES_MAX);
        cJSON_Delete(json);
        return 0;
    }
    baseline->entries++;
    qsort(baseline->entry, (size_t)baseline->entries, sizeof *baseline->entry, compare_entries);
    return 1;
}

void kvc_baseline_remove(kvc_baseline *baseline, int at)
{
    cJSON_Delete(baseline->entry[at].json);
    baseline->entries--;
    memmove(&baseline->entry[at], &baseline->entry[at + 1], (size_t)(baseline->entries - at) * sizeof *baseline->entry);
}

int kvc_baseline_write(const char *path, const kvc_baseline *baseline, kvc_error *error)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list;
    char *text;
    size_t length;
    int good = 0;

    cJSON_AddStringToObject(json, "schema", KVC_BASELINE_SCHEMA);
    list = cJSON_AddArrayToObject(json, "entries");
    for (int at = 0; at < baseline->entries; at++)
        cJSON_AddItemToArray(list, cJSON_Duplicate(baseline->entry[at].json, 1));
    text = cJSON_GetArraySize(list) == baseline->entries ? kvc_result_print(json, &length) : NULL;
    if (text == NULL)
        kvc_error_set(error, "not enough memory");
    else
        good = kvc_report_file_write(path, text, length, error->text, sizeof error->text) == 0;
    cJSON_free(text);
    cJSON_Delete(json);
    return good;
}
