#include "reports/difference.h"

#include <stdlib.h>
#include <string.h>

#include "reference/contract.h"

/* What makes a finding another one when its id is the same. */
static const struct {
    const char *object, *field, *name;
} fields[] = {
    {NULL, "law", "law"},          {NULL, "severity", "severity"}, {"case", "ops", "case"},
    {"case", "params", "parameters"}, {NULL, "observed", "observed"}, {NULL, "expected", "expected"},
};

/* A finding of one version, to be found again by variant and id. */
typedef struct kvc_known {
    const char *variant, *id;
    const cJSON *json;
    int seen;
} kvc_known;

static int compare_known(const void *left, const void *right)
{
    const kvc_known *a = left;
    const kvc_known *b = right;
    int order = strcmp(a->variant, b->variant);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static const cJSON *field_of(const cJSON *finding, size_t at)
{
    const cJSON *object = fields[at].object != NULL ? cJSON_GetObjectItemCaseSensitive(finding, fields[at].object) : finding;
    return cJSON_GetObjectItemCaseSensitive(object, fields[at].field);
}

static int differs(const kvc_change *change, size_t at)
{
    const cJSON *before = field_of(change->before, at);
    const cJSON *after = field_of(change->after, at);
    return before != NULL && after != NULL && !cJSON_Compare(before, after, 1);
}

void kvc_change_add_fields(kvc_text *out, const kvc_change *change)
{
    int any = 0;
    for (size_t at = 0; change->before != NULL && change->after != NULL && at < sizeof fields / sizeof fields[0]; at++) {
        if (differs(change, at)) {
            kvc_text_add_format(out, "%s%s", any ? ", " : "", fields[at].name);
            any = 1;
        }
    }
}

const char *kvc_change_word(kvc_change_kind kind)
{
    static const char *const words[] = {"new", "fixed", "changed", "still there", "unknown"};
    return words[kind];
}

/* The version of the old result to which one of the new is compared, or NULL. */
static const kvc_report_version *counterpart(const kvc_report_model *before, const kvc_report_version *of)
{
    const kvc_report_version *same = NULL;
    const kvc_report_version *older = NULL;
    const kvc_report_version *only = NULL;
    size_t versions = 0;
    for (size_t i = 0; i < before->version_count; i++) {
        const kvc_report_version *version = &before->versions[i];
        if (strcmp(version->subject, of->subject) != 0) {
            continue;
        }
        versions++;
        only = version;
        if (strcmp(version->version, of->version) == 0) {
            same = version;
        } else if (kvc_version_compare(version->version, of->version) < 0 &&
                   (older == NULL || kvc_version_compare(version->version, older->version) > 0)) {
            older = version;
        }
    }
    return same != NULL ? same : older != NULL ? older : versions == 1 ? only : NULL;
}

static int pair_up(const kvc_report_model *before, const kvc_report_model *after, kvc_difference *out)
{
    out->pair = calloc(before->version_count + after->version_count + 1, sizeof *out->pair);
    if (out->pair == NULL) {
        return -1;
    }
    for (size_t i = 0; i < after->version_count; i++) {
        out->pair[out->pairs++] = (kvc_change_pair){counterpart(before, &after->versions[i]), &after->versions[i]};
    }
    for (size_t i = 0; i < before->version_count; i++) {
        size_t used = 0;
        while (used < out->pairs && out->pair[used].before != &before->versions[i]) {
            used++;
        }
        if (used == out->pairs) {
            out->pair[out->pairs++] = (kvc_change_pair){&before->versions[i], NULL};
        }
    }
    return 0;
}

/* All findings of a version, sorted; NULL without memory, for the caller to free. */
static kvc_known *gather(const kvc_report_model *model, const kvc_report_version *version, size_t *count)
{
    kvc_known *known = calloc(model->finding_count + 1, sizeof *known);
    *count = 0;
    for (size_t i = 0; known != NULL && version != NULL && i < model->finding_count; i++) {
        const kvc_report_run *run = &model->runs[model->findings[i].run];
        if (&model->versions[run->version] == version) {
            known[(*count)++] = (kvc_known){kvc_json_string(run->json, "variant"),
                                            kvc_json_string(model->findings[i].json, "id"), model->findings[i].json, 0};
        }
    }
    if (known != NULL) {
        qsort(known, *count, sizeof *known, compare_known);
    }
    return known;
}

/* The run of a variant at a version, one that took place if there is one; NULL when it is not in the result. */
static const kvc_report_run *run_of(const kvc_report_model *model, const kvc_report_version *version, const char *variant)
{
    const kvc_report_run *found = NULL;
    for (size_t row = 0; version != NULL && row < model->row_count; row++) {
        const kvc_report_cell *cell;
        if (strcmp(model->rows[row].subject, version->subject) != 0 || strcmp(model->rows[row].variant, variant) != 0) {
            continue;
        }
        cell = kvc_report_model_cell(model, row, (size_t)(version - model->versions));
        for (size_t at = cell != NULL ? cell->first_run : KVC_NONE; at != KVC_NONE; at = model->runs[at].next) {
            if (found == NULL || model->runs[at].status > found->status) {
                found = &model->runs[at];
            }
        }
    }
    return found;
}

static const char *note_of(const kvc_report_run *run)
{
    if (run == NULL) {
        return "not in that result";
    }
    switch (run->status) {
    case KVC_STATUS_ABSENT:
        return "that version has no such class";
    case KVC_STATUS_NOT_COVERED:
        return "not covered there";
    case KVC_STATUS_NOT_RUN:
        return "not run there";
    case KVC_STATUS_CONFORMS:
    case KVC_STATUS_FINDINGS:
        break;
    }
    return "";
}

static void add(kvc_difference *out, const kvc_change *change)
{
    out->change[out->changes++] = *change;
    out->count[change->kind]++;
}

static int compare_pair(const kvc_report_model *before, const kvc_report_model *after, size_t at, kvc_difference *out)
{
    const kvc_change_pair *pair = &out->pair[at];
    size_t old_count;
    size_t new_count;
    kvc_known *old = gather(before, pair->before, &old_count);
    kvc_known *new = gather(after, pair->after, &new_count);
    for (size_t i = 0; old != NULL && new != NULL && i < new_count; i++) {
        kvc_known *same = bsearch(&new[i], old, old_count, sizeof *old, compare_known);
        kvc_change change = {KVC_CHANGE_NEW, at, new[i].variant, NULL, new[i].json, ""};
        if (same != NULL) {
            kvc_text differences = {0};
            same->seen = 1;
            change.before = same->json;
            kvc_change_add_fields(&differences, &change);
            change.kind = differences.length > 0 ? KVC_CHANGE_CHANGED : KVC_CHANGE_STILL;
            kvc_text_free(&differences);
        } else {
            change.note = note_of(run_of(before, pair->before, new[i].variant));
        }
        add(out, &change);
    }
    for (size_t i = 0; old != NULL && new != NULL && i < old_count; i++) {
        const kvc_report_run *run;
        if (old[i].seen) {
            continue;
        }
        run = run_of(after, pair->after, old[i].variant);
        add(out, &(kvc_change){run != NULL && kvc_report_was_run(run->status) ? KVC_CHANGE_FIXED : KVC_CHANGE_UNKNOWN, at,
                               old[i].variant, old[i].json, NULL, note_of(run)});
    }
    free(old);
    free(new);
    return old != NULL && new != NULL ? 0 : -1;
}

static const char *id_of(const kvc_change *change)
{
    return kvc_json_string(change->after != NULL ? change->after : change->before, "id");
}

static int compare_changes(const void *left, const void *right)
{
    const kvc_change *a = left;
    const kvc_change *b = right;
    int order;
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->pair != b->pair) {
        return a->pair < b->pair ? -1 : 1;
    }
    order = strcmp(a->variant, b->variant);
    return order != 0 ? order : strcmp(id_of(a), id_of(b));
}

int kvc_difference_make(const kvc_report_model *before, const kvc_report_model *after, kvc_difference *out)
{
    size_t room;
    memset(out, 0, sizeof *out);
    if (pair_up(before, after, out) != 0) {
        return -1;
    }
    /* A version of the old result may stand in several pairs. */
    room = after->finding_count + before->finding_count * (after->version_count + 1) + 1;
    out->change = calloc(room, sizeof *out->change);
    if (out->change == NULL) {
        return -1;
    }
    for (size_t at = 0; at < out->pairs; at++) {
        if (compare_pair(before, after, at, out) != 0) {
            return -1;
        }
    }
    qsort(out->change, out->changes, sizeof *out->change, compare_changes);
    return 0;
}

void kvc_difference_free(kvc_difference *difference)
{
    free(difference->pair);
    free(difference->change);
    *difference = (kvc_difference){0};
}
