#include "reports/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/contract.h"
#include "reports/model.h"
#include "reports/result.h"

/* The header of a result: all that it says beside its runs. */
typedef struct kvc_header {
    cJSON *json;
    char *text;   /* the same as text, by which headers are sorted */
    size_t place; /* among the sorted ones; equal headers share it */
} kvc_header;

/* A run with what it is sorted and compared by. */
typedef struct kvc_entry {
    const cJSON *json;
    const char *file; /* name of its input */
    size_t input;     /* place of its input in the order of the caller */
    size_t index;     /* in the `runs` of its input */
    size_t header;    /* index into the headers; once they are sorted, its place */
    int was_run;      /* 1: it has counts and a verdict */
    const char *subject, *version, *variant, *status, *reason, *contract, *profile, *seed;
    double sequences;
    char *environment; /* "" where none was said */
    char *profile_file; /* "" for a profile that comes with kvconform */
    char *verdict;     /* status and ids of the findings */
    char *text;        /* all of it */
} kvc_entry;

typedef struct kvc_merging {
    kvc_header *headers;
    size_t header_count;
    kvc_entry *entries;
    size_t entry_count;
    char *error;
    size_t error_size;
} kvc_merging;

static int fail_memory(const kvc_merging *merging)
{
    (void)snprintf(merging->error, merging->error_size, "not enough memory to merge the results");
    return -1;
}

/* `headers` has room for one more. */
static int add_header(kvc_merging *merging, const cJSON *result)
{
    static const char *const fields[] = {"tool", "command", "environment", "seed", "profile", "profile_file", "budget", "finished"};
    kvc_header *header = &merging->headers[merging->header_count++];
    *header = (kvc_header){.json = cJSON_CreateObject()};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const cJSON *field = cJSON_GetObjectItemCaseSensitive(result, fields[i]);
        if (field == NULL) {
            continue; /* one that came later */
        }
        cJSON *copy = cJSON_Duplicate(field, 1);
        if (copy == NULL || !cJSON_AddItemToObject(header->json, fields[i], copy)) {
            cJSON_Delete(copy);
            return fail_memory(merging);
        }
    }
    header->text = cJSON_PrintUnformatted(header->json);
    return header->text != NULL ? 0 : fail_memory(merging);
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The status and the sorted ids of the findings. NULL without memory. */
static char *verdict_of(const cJSON *run)
{
    const cJSON *findings = cJSON_GetObjectItemCaseSensitive(run, "findings");
    const cJSON *finding = NULL;
    size_t count = 0;
    kvc_text text = {0};
    const char **ids = malloc(((size_t)cJSON_GetArraySize(findings) + 1) * sizeof *ids);
    if (ids == NULL) {
        return NULL;
    }
    cJSON_ArrayForEach (finding, findings) {
        ids[count++] = kvc_json_string(finding, "id");
    }
    qsort(ids, count, sizeof *ids, compare_words);
    kvc_text_add(&text, kvc_json_string(run, "status"));
    for (size_t i = 0; i < count; i++) {
        kvc_text_add_format(&text, " %s", ids[i]);
    }
    free(ids);
    if (text.failed) {
        kvc_text_free(&text);
    }
    return text.data;
}

/* A run as text, but for the number of its header, which is another in every document. NULL without memory. */
static char *text_of(const cJSON *run)
{
    cJSON *copy = cJSON_Duplicate(run, 1);
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "result");
    char *text = copy != NULL ? cJSON_PrintUnformatted(copy) : NULL;
    cJSON_Delete(copy);
    return text;
}

/* `entries` has room for one more. */
static int add_entry(kvc_merging *merging, const cJSON *run, const kvc_merge_input *from, size_t input, size_t index,
                     size_t header)
{
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(run, "environment");
    const cJSON *said = merging->headers[header].json;
    kvc_entry *entry = &merging->entries[merging->entry_count++];
    *entry = (kvc_entry){.json = run, .file = from->name, .input = input, .index = index, .header = header};
    entry->subject = kvc_json_string(run, "subject");
    entry->version = kvc_json_string(run, "version");
    entry->variant = kvc_json_string(run, "variant");
    entry->status = kvc_json_string(run, "status");
    entry->reason = kvc_json_string(run, "reason");
    entry->contract = kvc_json_string(run, "contract");
    entry->profile = kvc_json_string(said, "profile");
    entry->seed = kvc_json_string(said, "seed");
    entry->sequences = kvc_json_number(run, "sequences");
    entry->was_run = strcmp(entry->status, "conforms") == 0 || strcmp(entry->status, "findings") == 0;
    entry->environment = environment != NULL && environment->child != NULL ? cJSON_PrintUnformatted(environment) : calloc(1, 1);
    entry->profile_file = cJSON_HasObjectItem(said, "profile_file")
                              ? cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(said, "profile_file"))
                              : calloc(1, 1);
    entry->verdict = verdict_of(run);
    entry->text = text_of(run);
    return entry->environment != NULL && entry->profile_file != NULL && entry->verdict != NULL && entry->text != NULL ? 0 : fail_memory(merging);
}

/* What counts as one class of one subject: entries of it stand together. */
static int compare_classes(const kvc_entry *a, const kvc_entry *b)
{
    int order = strcmp(a->subject, b->subject);
    order = order != 0 ? order : kvc_version_compare(a->version, b->version);
    order = order != 0 ? order : strcmp(a->version, b->version);
    return order != 0 ? order : strcmp(a->variant, b->variant);
}

/* What makes two runs the same run, within one class. */
static int compare_runs(const kvc_entry *a, const kvc_entry *b)
{
    int order = strcmp(a->profile, b->profile);
    if (order == 0 && strlen(a->seed) != strlen(b->seed)) { /* digits */
        order = strlen(a->seed) < strlen(b->seed) ? -1 : 1;
    }
    order = order != 0 ? order : strcmp(a->seed, b->seed);
    order = order != 0 ? order : (a->sequences > b->sequences) - (a->sequences < b->sequences);
    order = order != 0 ? order : strcmp(a->profile_file, b->profile_file);
    order = order != 0 ? order : strcmp(a->contract, b->contract);
    return order != 0 ? order : strcmp(a->environment, b->environment);
}

static int compare_entries(const void *left, const void *right)
{
    const kvc_entry *a = left;
    const kvc_entry *b = right;
    int order = compare_classes(a, b);
    order = order != 0 ? order : a->was_run - b->was_run;
    if (a->was_run) {
        order = order != 0 ? order : compare_runs(a, b);
    } else {
        order = order != 0 ? order : strcmp(a->status, b->status);
        order = order != 0 ? order : strcmp(a->reason, b->reason);
    }
    order = order != 0 ? order : strcmp(a->text, b->text);
    return order != 0 ? order : (a->header > b->header) - (a->header < b->header);
}

static int compare_headers(const void *left, const void *right)
{
    const kvc_header *a = *(const kvc_header *const *)left;
    const kvc_header *b = *(const kvc_header *const *)right;
    return strcmp(a->text, b->text);
}

/* Gives each header its place, and each entry that of its header. Adds the headers to `list`. */
static int sort_headers(kvc_merging *merging, cJSON *list)
{
    size_t place = 0;
    kvc_header **sorted = malloc((merging->header_count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return fail_memory(merging);
    }
    for (size_t i = 0; i < merging->header_count; i++) {
        sorted[i] = &merging->headers[i];
    }
    qsort(sorted, merging->header_count, sizeof(kvc_header *), compare_headers);
    for (size_t i = 0; i < merging->header_count; i++) {
        if (i == 0 || strcmp(sorted[i - 1]->text, sorted[i]->text) != 0) {
            place += i > 0;
            cJSON_AddItemToArray(list, sorted[i]->json);
            sorted[i]->json = NULL; /* the list has it */
        }
        sorted[i]->place = place;
    }
    for (size_t i = 0; i < merging->entry_count; i++) {
        merging->entries[i].header = merging->headers[merging->entries[i].header].place;
    }
    free(sorted);
    return 0;
}

/* Two documents that are the same: the second is named. */
static int refuse_same_documents(const kvc_merging *merging, const kvc_merge_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (inputs[i].json == inputs[j].json || cJSON_Compare(inputs[i].json, inputs[j].json, 1)) {
                (void)snprintf(merging->error, merging->error_size,
                               "%.200s: runs: expected each result once, but this one is the same as %.200s; leave one of them out",
                               inputs[i].name, inputs[j].name);
                return -1;
            }
        }
    }
    return 0;
}

/* Names a run with all that makes it this run. */
static void describe(const kvc_entry *entry, char *text, size_t size)
{
    (void)snprintf(text, size, "%.80s%s%.40s %.80s (profile %.20s, seed %s, %.0f sequences)", entry->subject,
                   entry->version[0] != '\0' ? " " : "", entry->version, entry->variant, entry->profile, entry->seed,
                   entry->sequences);
}

static int refuse_runs(const kvc_merging *merging, const kvc_entry *first, const kvc_entry *second)
{
    char what[400];
    if (first->input > second->input) { /* the one that was given later is named first */
        const kvc_entry *other = first;
        first = second;
        second = other;
    }
    describe(second, what, sizeof what);
    if (strcmp(first->verdict, second->verdict) == 0) {
        (void)snprintf(merging->error, merging->error_size,
                       "%.200s: runs[%zu]: expected each run once, but %s is also runs[%zu] of %.200s; leave one of them out",
                       second->file, second->index, what, first->index, first->file);
    } else {
        (void)snprintf(merging->error, merging->error_size,
                       "%.200s: runs[%zu].%s: expected the verdict of runs[%zu] of %.200s for the same %s, found another one; "
                       "run it again with one kvconform and give only that result",
                       second->file, second->index, strcmp(first->status, second->status) != 0 ? "status" : "findings",
                       first->index, first->file, what);
    }
    return -1;
}

static int refuse_absent(const kvc_merging *merging, const kvc_entry *absent, const kvc_entry *there)
{
    (void)snprintf(merging->error, merging->error_size,
                   "%.200s: runs[%zu].status: expected `absent` as in runs[%zu] of %.200s, found `%s`: %.80s %.40s has a class "
                   "%.80s or it has not; run it again and give only that result",
                   there->file, there->index, absent->index, absent->file, there->status, there->subject, there->version,
                   there->variant);
    return -1;
}

/* One environment is not known to be another one. */
static int may_be_one_environment(const kvc_entry *a, const kvc_entry *b)
{
    return a->environment[0] == '\0' || b->environment[0] == '\0' || strcmp(a->environment, b->environment) == 0;
}

/* Looks for runs that are there twice or contradict each other. The entries are sorted. */
static int compare_all(const kvc_merging *merging)
{
    const kvc_entry *absent = NULL;
    for (size_t i = 0; i < merging->entry_count; i++) {
        const kvc_entry *entry = &merging->entries[i];
        const kvc_entry *before = i > 0 ? entry - 1 : NULL;
        if (before == NULL || compare_classes(before, entry) != 0) {
            before = NULL;
            absent = NULL;
        }
        if (before != NULL && before->was_run && entry->was_run && compare_runs(before, entry) == 0) {
            return refuse_runs(merging, before, entry);
        }
        if (strcmp(entry->status, "absent") == 0) {
            absent = entry;
        } else if (absent != NULL && strcmp(entry->status, "not run") != 0 && may_be_one_environment(absent, entry)) {
            return refuse_absent(merging, absent, entry);
        }
    }
    return 0;
}

/* 1 for what was not run and says nothing that the one before does not say. */
static int says_nothing_new(const kvc_entry *entry, const kvc_entry *before)
{
    return !entry->was_run && !before->was_run && compare_classes(before, entry) == 0 &&
           strcmp(before->status, entry->status) == 0 && strcmp(before->reason, entry->reason) == 0;
}

static int add_runs(const kvc_merging *merging, cJSON *runs)
{
    for (size_t i = 0; i < merging->entry_count; i++) {
        const kvc_entry *entry = &merging->entries[i];
        if (i > 0 && says_nothing_new(entry, entry - 1)) {
            continue;
        }
        cJSON *copy = cJSON_Duplicate(entry->json, 1);
        cJSON_DeleteItemFromObjectCaseSensitive(copy, "result");
        if (copy == NULL || !cJSON_AddItemToArray(runs, copy) ||
            cJSON_AddNumberToObject(copy, "result", (double)entry->header) == NULL) {
            return fail_memory(merging);
        }
    }
    return 0;
}

/* Headers and entries of one input. */
static int add_input(kvc_merging *merging, const kvc_merge_input *input, size_t place)
{
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(input->json, "results");
    const cJSON *run = NULL;
    const cJSON *header = NULL;
    size_t index = 0;
    size_t first = merging->header_count;
    int merged = strcmp(kvc_json_string(input->json, "schema"), KVC_MERGED_SCHEMA) == 0;
    if (!merged && add_header(merging, input->json) != 0) {
        return -1;
    }
    if (merged) {
        cJSON_ArrayForEach (header, results) {
            if (add_header(merging, header) != 0) {
                return -1;
            }
        }
    }
    cJSON_ArrayForEach (run, cJSON_GetObjectItemCaseSensitive(input->json, "runs")) {
        size_t of = merged ? (size_t)kvc_json_number(run, "result") : 0;
        if (add_entry(merging, run, input, place, index++, first + of) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Room for all, or an error that says why there is none. */
static int start(kvc_merging *merging, const kvc_merge_input *inputs, size_t count)
{
    size_t headers = 0;
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const cJSON *results = cJSON_GetObjectItemCaseSensitive(inputs[i].json, "results");
        headers += results != NULL ? (size_t)cJSON_GetArraySize(results) : 1;
        runs += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(inputs[i].json, "runs"));
        if (runs > KVC_RESULT_RUNS_MAX || headers > KVC_RESULT_RUNS_MAX) {
            (void)snprintf(merging->error, merging->error_size,
                           "%.200s: runs: expected at most %d runs in all results together; merge fewer of them",
                           inputs[i].name, (int)KVC_RESULT_RUNS_MAX);
            return -1;
        }
    }
    merging->headers = calloc(headers + 1, sizeof *merging->headers);
    merging->entries = calloc(runs + 1, sizeof *merging->entries);
    return merging->headers != NULL && merging->entries != NULL ? 0 : fail_memory(merging);
}

int kvc_merge(const kvc_merge_input *inputs, size_t count, cJSON **out, char *error, size_t error_size)
{
    kvc_merging merging = {.error = error, .error_size = error_size};
    cJSON *merged = cJSON_CreateObject();
    int result = -1;
    *out = NULL;
    if (start(&merging, inputs, count) != 0 || refuse_same_documents(&merging, inputs, count) != 0) {
        goto cleanup;
    }
    for (size_t i = 0; i < count; i++) {
        if (add_input(&merging, &inputs[i], i) != 0) {
            goto cleanup;
        }
    }
    cJSON_AddStringToObject(merged, "schema", KVC_MERGED_SCHEMA);
    cJSON *results = cJSON_AddArrayToObject(merged, "results");
    cJSON *runs = cJSON_AddArrayToObject(merged, "runs");
    if (results == NULL || runs == NULL) {
        (void)fail_memory(&merging);
        goto cleanup;
    }
    if (sort_headers(&merging, results) != 0) {
        goto cleanup;
    }
    qsort(merging.entries, merging.entry_count, sizeof *merging.entries, compare_entries);
    if (compare_all(&merging) != 0 || add_runs(&merging, runs) != 0) {
        goto cleanup;
    }
    if (cJSON_AddTrueToObject(merged, "finished") == NULL) {
        (void)fail_memory(&merging);
        goto cleanup;
    }
    *out = merged;
    merged = NULL;
    result = 0;
cleanup:
    for (size_t i = 0; i < merging.header_count; i++) {
        cJSON_Delete(merging.headers[i].json);
        cJSON_free(merging.headers[i].text);
    }
    for (size_t i = 0; i < merging.entry_count; i++) {
        cJSON_free(merging.entries[i].environment);
        cJSON_free(merging.entries[i].profile_file);
        free(merging.entries[i].verdict);
        cJSON_free(merging.entries[i].text);
    }
    free(merging.headers);
    free(merging.entries);
    cJSON_Delete(merged);
    return result;
}
