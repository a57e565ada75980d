#include "harness/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/portion.h"
#include "reports/model.h"
#include "reports/result.h"

void kvc_shard_begin(cJSON *shard, const kvc_options *options)
{
    cJSON *part = cJSON_AddObjectToObject(shard, "shard");
    cJSON *list;

    cJSON_AddNumberToObject(part, "part", (double)options->shard);
    cJSON_AddNumberToObject(part, "of", (double)options->shards);
    list = cJSON_AddArrayToObject(part, "targets");
    for (int at = 0; at < options->words; at++)
        cJSON_AddItemToArray(list, cJSON_CreateString(options->word[at]));
    /* A matrix is many runs, and its report needs all of them. */
    list = cJSON_AddArrayToObject(part, "beside");
    for (int at = 0; at < options->beside_count; at++)
        cJSON_AddItemToArray(list, cJSON_CreateString(options->beside[at]));
}

int kvc_shard_is(const cJSON *document)
{
    return strcmp(kvc_json_string(document, "schema"), KVC_SHARD_SCHEMA) == 0;
}

static int is_count(const cJSON *object, const char *field, double most)
{
    double number = kvc_json_number(object, field);

    return number >= 1 && number <= most && number == (double)(int64_t)number;
}

static int is_texts(const cJSON *list)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item))
            return 0;
    }
    return cJSON_IsArray(list);
}

/* What `finished` says of a run that was stopped, or that died. */
static int was_stopped(const cJSON *shard)
{
    const cJSON *finished = cJSON_GetObjectItemCaseSensitive(shard, "finished");

    return !cJSON_IsObject(finished) || kvc_json_true(finished, "interrupted");
}

/* Checks the head; the rest is checked by making a result of it. */
static int check(const cJSON *shard, const char *name, kvc_error *error)
{
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(shard, "shard");
    const cJSON *run;
    char reason[512] = "";
    cJSON *shown;
    int good;

    if (!kvc_shard_is(shard)) {
        kvc_error_set(error, "%.300s: schema: expected `%s`, found %.60s", name, KVC_SHARD_SCHEMA, kvc_json_string(shard, "schema"));
        return 0;
    }
    if (!is_count(part, "of", KVC_SHARDS_MAX) || !is_count(part, "part", kvc_json_number(part, "of")) ||
        !is_texts(cJSON_GetObjectItemCaseSensitive(part, "targets")) || !is_texts(cJSON_GetObjectItemCaseSensitive(part, "beside"))) {
        kvc_error_set(error, "%.300s: shard: expected an object with `part`, `of`, `targets` and `beside`", name);
        return 0;
    }
    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(shard, "runs")) {
        if (cJSON_HasObjectItem(run, "portions") && !is_count(run, "total", KVC_PORTIONS_MAX)) {
            kvc_error_set(error, "%.300s: runs: total: expected a whole number from 1", name);
            return 0;
        }
    }
    shown = kvc_shard_show(shard, reason, sizeof reason);
    good = shown != NULL && kvc_result_check(shown, reason, sizeof reason) == 0;
    cJSON_Delete(shown);
    if (!good)
        kvc_error_set(error, "%.300s: %.400s", name, reason);
    return good;
}

int kvc_shard_read(const char *path, int unfinished, cJSON **out, kvc_error *error)
{
    cJSON *json = NULL;

    *out = NULL;
    if (kvc_result_read_unchecked(path, &json, error->text, sizeof error->text) != 0)
        return 0;
    if (unfinished && cJSON_IsObject(json) && !cJSON_HasObjectItem(json, "finished")) {
        cJSON *finished = cJSON_AddObjectToObject(json, "finished");
        cJSON_AddTrueToObject(finished, "interrupted");
        cJSON_AddStringToObject(finished, "at", "unknown");
    }
    if (check(json, path, error)) {
        *out = json;
        return 1;
    }
    cJSON_Delete(json);
    return 0;
}

/* Whether two entries of `runs` are of the same variant. */
static int is_same(const cJSON *entry, const char *target, const char *version, const char *variant, const char *contract)
{
    return strcmp(kvc_json_string(entry, "target"), target) == 0 && strcmp(kvc_json_string(entry, "version"), version) == 0 &&
           strcmp(kvc_json_string(entry, "variant"), variant) == 0 && strcmp(kvc_json_string(entry, "contract"), contract) == 0;
}

static const cJSON *find(const cJSON *shard, const char *target, const char *version, const char *variant, const char *contract)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(shard, "runs")) {
        if (cJSON_HasObjectItem(entry, "portions") && is_same(entry, target, version, variant, contract))
            return entry;
    }
    return NULL;
}

const cJSON *kvc_shard_find(const cJSON *shard, const kvc_record_run *run)
{
    return find(shard, run->target, run->version, run->variant, run->contract);
}

/* Of a variant that is run again: the portions that need not be. */
static int keep_portions(const cJSON *entry, const cJSON *earlier)
{
    cJSON *portions = cJSON_GetObjectItemCaseSensitive(entry, "portions");
    const cJSON *portion;

    cJSON_ArrayForEach(portion, cJSON_GetObjectItemCaseSensitive(earlier, "portions")) {
        if (kvc_portion_is_done(portion) && kvc_portion_find(entry, (int64_t)kvc_json_number(portion, "number")) == NULL &&
            !cJSON_AddItemToArray(portions, cJSON_Duplicate(portion, 1)))
            return 0;
    }
    return 1;
}

int kvc_shard_keep(cJSON *shard, const cJSON *earlier)
{
    const cJSON *entry;
    int good = 1;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(earlier, "runs")) {
        const cJSON *there = find(shard, kvc_json_string(entry, "target"), kvc_json_string(entry, "version"),
                                  kvc_json_string(entry, "variant"), kvc_json_string(entry, "contract"));
        if (there != NULL)
            good = good && keep_portions(there, entry);
        else if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "portions")) > 0)
            good = good && cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(shard, "runs"), cJSON_Duplicate(entry, 1));
    }
    return good;
}

cJSON *kvc_shard_show(const cJSON *shard, char *error, size_t error_size)
{
    cJSON *result = cJSON_CreateObject();
    cJSON *runs = NULL;
    const cJSON *item;
    kvc_error reason = {"not enough memory"};

    cJSON_ArrayForEach(item, shard) {
        if (strcmp(item->string, "schema") == 0)
            cJSON_AddStringToObject(result, "schema", KVC_RESULT_SCHEMA);
        else if (strcmp(item->string, "runs") == 0)
            runs = cJSON_AddArrayToObject(result, "runs");
        else if (strcmp(item->string, "shard") != 0)
            cJSON_AddItemToObject(result, item->string, cJSON_Duplicate(item, 1));
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(shard, "runs")) {
        const cJSON *portions = cJSON_GetObjectItemCaseSensitive(item, "portions");
        cJSON *entry;
        if (portions != NULL && cJSON_GetArraySize(portions) == 0)
            continue; /* all of it is of other shards, or was not come to */
        entry = portions != NULL ? kvc_portions_join(item, &reason) : cJSON_Duplicate(item, 1);
        if (entry == NULL || !cJSON_AddItemToArray(runs, entry)) {
            (void)snprintf(error, error_size, "%s", reason.text);
            cJSON_Delete(entry);
            cJSON_Delete(result);
            return NULL;
        }
    }
    return result;
}

/* ---- Joining ---- */

/* Whether two shards are of one run, or would be if one of them had not been made otherwise. */
static int is_one_run(const cJSON *a, const cJSON *b)
{
    static const char *const fields[] = {"seed", "profile", "profile_file", "budget"};
    static const char *const parts[] = {"of", "targets", "beside"};
    const cJSON *a_part = cJSON_GetObjectItemCaseSensitive(a, "shard");
    const cJSON *b_part = cJSON_GetObjectItemCaseSensitive(b, "shard");

    for (size_t at = 0; at < sizeof fields / sizeof fields[0]; at++) {
        const cJSON *left = cJSON_GetObjectItemCaseSensitive(a, fields[at]);
        const cJSON *right = cJSON_GetObjectItemCaseSensitive(b, fields[at]);
        if ((left != NULL || right != NULL) && !cJSON_Compare(left, right, 1))
            return 0;
    }
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(a_part, parts[at]), cJSON_GetObjectItemCaseSensitive(b_part, parts[at]), 1))
            return 0;
    }
    return 1;
}

static double part_of(const cJSON *shard)
{
    return kvc_json_number(cJSON_GetObjectItemCaseSensitive(shard, "shard"), "part");
}

static double parts_of(const cJSON *shard)
{
    return kvc_json_number(cJSON_GetObjectItemCaseSensitive(shard, "shard"), "of");
}

static int compare_parts(const void *left, const void *right)
{
    double a = part_of(((const kvc_shard_input *)left)->json);
    double b = part_of(((const kvc_shard_input *)right)->json);

    return (a > b) - (a < b);
}

/* Every part once, none of them stopped, all made by the same program on the same kind of machine. The shards are sorted. */
static int check_parts(const kvc_shard_input *input, size_t count, kvc_error *error)
{
    for (size_t at = 0; at < count; at++) {
        const cJSON *shard = input[at].json;
        double expected = (double)at + 1;
        if (at > 0 && part_of(shard) == part_of(input[at - 1].json))
            kvc_error_set(error, "%.300s: shard: part %.0f of %.0f is also %.300s; give each part once", input[at].name, part_of(shard),
                          parts_of(shard), input[at - 1].name);
        else if (part_of(shard) != expected)
            kvc_error_set(error, "%.300s: shard: part %.0f of %.0f is missing beside it; a result is made of all parts", input[0].name,
                          expected, parts_of(shard));
        else if (was_stopped(shard))
            kvc_error_set(error, "%.300s: finished: part %.0f of %.0f was stopped; go on with it by --resume", input[at].name, expected,
                          parts_of(shard));
        else if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(shard, "tool"), cJSON_GetObjectItemCaseSensitive(input[0].json, "tool"), 1))
            kvc_error_set(error, "%.300s: tool: expected that of %.300s; run all parts with one build of kvconform", input[at].name,
                          input[0].name);
        else if (!cJSON_Compare(cJSON_GetObjectItemCaseSensitive(shard, "environment"),
                                cJSON_GetObjectItemCaseSensitive(input[0].json, "environment"), 1))
            kvc_error_set(error, "%.300s: environment: expected that of %.300s; run all parts on machines of one kind with the same subjects",
                          input[at].name, input[0].name);
        else
            continue;
        return 0;
    }
    if ((double)count == parts_of(input[0].json))
        return 1;
    kvc_error_set(error, "%.300s: shard: part %zu of %.0f is missing beside it; a result is made of all parts", input[0].name, count + 1,
                  parts_of(input[0].json));
    return 0;
}

/* An entry as text, without its portions: those may be many, and are not copied. NULL without memory. */
static char *head_of(const cJSON *entry)
{
    cJSON *copy = cJSON_CreateObject();
    char *text = NULL;
    const cJSON *item;
    int good = copy != NULL;

    cJSON_ArrayForEach(item, entry) {
        if (strcmp(item->string, "portions") != 0)
            good = good && cJSON_AddItemToObject(copy, item->string, cJSON_Duplicate(item, 1));
    }
    if (good)
        text = cJSON_PrintUnformatted(copy);
    cJSON_Delete(copy);
    return text;
}

/* Moves the portions of one shard's entry into the first one's, which is of the same variant. */
static int take_portions(cJSON *into, const kvc_shard_input *from, size_t index, kvc_error *error)
{
    cJSON *entry = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(from->json, "runs"), (int)index);
    cJSON *portions = cJSON_GetObjectItemCaseSensitive(entry, "portions");
    char *here = entry != NULL ? head_of(entry) : NULL;
    char *there = head_of(into);
    int same = here != NULL && there != NULL && strcmp(here, there) == 0;

    cJSON_free(here);
    cJSON_free(there);
    if (!same) {
        kvc_error_set(error, "%.300s: runs[%zu]: %.60s %.60s: `%.20s%s%.200s`, unlike in the first part, which says `%.20s%s%.200s` or was "
                      "given other bounds; run one of them again",
                      from->name, index, kvc_json_string(entry, "version"), kvc_json_string(entry, "variant"),
                      kvc_json_string(entry, "status"), kvc_json_string(entry, "reason")[0] != '\0' ? ": " : "",
                      kvc_json_string(entry, "reason"), kvc_json_string(into, "status"),
                      kvc_json_string(into, "reason")[0] != '\0' ? ": " : "", kvc_json_string(into, "reason"));
        return 0;
    }
    while (portions != NULL && portions->child != NULL)
        cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(into, "portions"), cJSON_DetachItemViaPointer(portions, portions->child));
    return 1;
}

/* All portions are there, up to the first that did not come to its end: those behind it count for nothing. */
static int check_portions(const cJSON *entry, const char *name, kvc_error *error)
{
    int64_t total = (int64_t)kvc_json_number(entry, "total");

    for (int64_t number = 0; cJSON_HasObjectItem(entry, "portions") && number < total; number++) {
        const cJSON *portion = kvc_portion_find(entry, number);
        if (portion == NULL) {
            kvc_error_set(error, "%.300s: runs: %.60s: portion %lld of %lld is in none of the parts; run them again", name,
                          kvc_json_string(entry, "variant"), (long long)number, (long long)total);
            return 0;
        }
        if (kvc_portion_ended(portion) != KVC_PORTION_WHOLE)
            return 1;
    }
    return 1;
}

/* The command that would have given the result on one machine. */
static void mend_command(cJSON *result)
{
    cJSON *command = cJSON_GetObjectItemCaseSensitive(result, "command");

    for (int at = 0; at < cJSON_GetArraySize(command);) {
        const cJSON *item = cJSON_GetArrayItem(command, at);
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        int words = strcmp(word, "--shard") == 0 || strcmp(word, "--json") == 0                   ? 2
                    : strncmp(word, "--shard=", 8) == 0 || strncmp(word, "--json=", 7) == 0 || strcmp(word, "--resume") == 0 ? 1
                                                                                                    : 0;
        at += words == 0;
        for (int gone = 0; gone < words; gone++)
            cJSON_DeleteItemFromArray(command, at);
    }
}

/* Makes a result of the sorted shards of one run; it takes the place of the first. */
static int join_run(kvc_shard_input *input, size_t count, kvc_error *error)
{
    cJSON *first = input[0].json;
    cJSON *entry;
    cJSON *result;
    const char *last = "";
    char reason[512] = "";
    size_t index = 0;

    if (!check_parts(input, count, error))
        return 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(first, "runs")) {
        for (size_t at = 1; at < count; at++) {
            if (!take_portions(entry, &input[at], index, error))
                return 0;
        }
        if (!check_portions(entry, input[0].name, error))
            return 0;
        index++;
    }
    result = kvc_shard_show(first, reason, sizeof reason);
    if (result == NULL || kvc_result_check(result, reason, sizeof reason) != 0) {
        kvc_error_set(error, "%.300s: %.400s", input[0].name, reason);
        cJSON_Delete(result);
        return 0;
    }
    mend_command(result);
    for (size_t at = 0; at < count; at++) {
        const char *ended = kvc_json_string(cJSON_GetObjectItemCaseSensitive(input[at].json, "finished"), "at");
        last = strcmp(ended, last) > 0 ? ended : last;
    }
    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(result, "finished"), "at"), last);
    for (size_t at = 0; at < count; at++)
        cJSON_Delete(input[at].json);
    input[0].json = result;
    return 1;
}

/* Of a matrix every run must be there. `targets` are those of the runs that are. */
static int check_beside(const kvc_shard_input *input, size_t count, kvc_error *error)
{
    for (size_t at = 0; at < count; at++) {
        const cJSON *wanted;
        cJSON_ArrayForEach(wanted, cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(input[at].json, "shard"), "beside")) {
            int there = 0;
            for (size_t other = 0; !there && other < count; other++) {
                const cJSON *targets = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(input[other].json, "shard"), "targets");
                const cJSON *target;
                cJSON_ArrayForEach(target, targets)
                    there |= strcmp(target->valuestring, wanted->valuestring) == 0;
            }
            if (!there) {
                kvc_error_set(error, "%.300s: shard: %.100s is missing beside it; a report of a matrix is made of all its versions", input[at].name,
                              wanted->valuestring);
                return 0;
            }
        }
    }
    return 1;
}

int kvc_shards_join(kvc_shard_input *input, size_t *count, kvc_error *error)
{
    size_t shards = 0;
    size_t results;

    /* Shards to the front, those of one run side by side. */
    for (size_t at = 0; at < *count; at++) {
        if (kvc_shard_is(input[at].json)) {
            kvc_shard_input moved = input[at];
            if (!check(moved.json, moved.name, error))
                return 0;
            memmove(input + shards + 1, input + shards, (at - shards) * sizeof *input);
            input[shards++] = moved;
        }
    }
    if (!check_beside(input, shards, error))
        return 0;
    for (results = 0; results < shards; results++) {
        size_t same = results + 1;
        for (size_t at = same; at < shards; at++) {
            if (is_one_run(input[results].json, input[at].json)) {
                kvc_shard_input other = input[same];
                input[same++] = input[at];
                input[at] = other;
            }
        }
        qsort(input + results, same - results, sizeof *input, compare_parts);
        if (!join_run(input + results, same - results, error))
            return 0;
        /* What is left of the run is its first. */
        memmove(input + results + 1, input + same, (*count - same) * sizeof *input);
        *count -= same - results - 1;
        shards -= same - results - 1;
    }
    return 1;
}
