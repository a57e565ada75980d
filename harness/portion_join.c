/*
 * Joining the portions of a variant. Findings of different portions are one as those of different rounds are: the same id, or one that
 * covers the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/portion.h"
#include "harness/portion_internal.h"
#include "reference/json.h"
#include "reports/model.h"
#include "reports/result.h"

static const double COUNT_MAX = 9007199254740991.0;

/* A finding while it is joined: as much of it as comparing needs, and its JSON. */
typedef struct joined {
    kvc_finding finding; /* owns nothing */
    cJSON *json;
    double failures;
    double first; /* which sequence met it first, over all parts */
    int64_t portion;
} joined;

typedef struct joining {
    const cJSON *open;
    kvc_error *error;
    double sequences, ops, milliseconds, exhaustive, size, lost, deaths;
    kvc_portion_end end;
    char why[512];
    joined *finding;
    int findings;
    kvc_coverage *coverage;
} joining;

static int fail(joining *self, const char *field, const char *expected)
{
    kvc_error_set(self->error, "%.60s %.60s: %s: expected %s", kvc_json_string(self->open, "subject"),
                  kvc_json_string(self->open, "variant"), field, expected);
    return 0;
}

/* A number of the portion that counts something. */
static int read_count(joining *self, const cJSON *object, const char *field, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= COUNT_MAX) ||
        item->valuedouble != (double)(uint64_t)item->valuedouble)
        return fail(self, field, "a whole number from 0");
    *out = item->valuedouble;
    return 1;
}

static int add_count(joining *self, const cJSON *portion, const char *field, double *sum)
{
    double more;

    if (!read_count(self, portion, field, &more))
        return 0;
    *sum += more;
    return 1;
}

static int read_finding(joining *self, const cJSON *json, joined *out)
{
    const cJSON *cause = cJSON_GetObjectItemCaseSensitive(json, "cause");
    double step;
    int64_t value;

    memset(out, 0, sizeof *out);
    if (!read_count(self, json, "failures", &out->failures) || !read_count(self, json, "first", &out->first) || !read_count(self, json, "step", &step) ||
        !kvc_ops_read(cJSON_GetObjectItemCaseSensitive(json, "case"), "case", &out->finding.sequence, self->error) ||
        !kvc_json_text(json, "finding", "id", out->finding.id, sizeof out->finding.id, self->error) ||
        !kvc_json_text_optional(cause, "finding", "wrong", out->finding.wrong, sizeof out->finding.wrong, self->error))
        return 0;
    if (step >= out->finding.sequence.count)
        return fail(self, "step", "the place of an op of the case");
    out->finding.failure.step = (int32_t)step;
    for (size_t at = 0; at < KVC_CAUSE_FIELDS; at++) {
        const kvc_cause_info *info = &kvc_cause_fields[at];
        if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(cause, info->name), "cause", info->name, info->minimum, info->maximum,
                              &value, self->error))
            return 0;
        kvc_cause_set(&out->finding, (kvc_cause_field)at, value);
    }
    out->json = cJSON_Duplicate(json, 1);
    cJSON_DeleteItemFromObjectCaseSensitive(out->json, "cause");
    if (out->json == NULL)
        return fail(self, "findings", "enough memory");
    return 1;
}

static int is_smaller(const kvc_finding *a, const kvc_finding *b)
{
    return kvc_ops_compare(a->sequence.op, (size_t)a->sequence.count, b->sequence.op, (size_t)b->sequence.count) < 0;
}

/*
 * What an earlier portion found that this is: the same, or what covers it. Of two that cover each other the smaller case names the
 * finding, as within one portion. -1: nothing.
 */
static int find_same(const joining *self, const joined *one)
{
    for (int at = 0; at < self->findings; at++) {
        if (self->finding[at].portion < one->portion && strcmp(self->finding[at].finding.id, one->finding.id) == 0)
            return at;
    }
    for (int at = 0; at < self->findings; at++) {
        const kvc_finding *there = &self->finding[at].finding;
        if (self->finding[at].portion < one->portion && kvc_finding_covers(there, &one->finding) &&
            !(is_smaller(&one->finding, there) && kvc_finding_covers(&one->finding, there)))
            return at;
    }
    return -1;
}

/* The new finding takes the place of those before it that it covers. */
static void absorb(joining *self, joined *one)
{
    int kept = 0;

    for (int at = 0; at < self->findings; at++) {
        if (self->finding[at].portion < one->portion && kvc_finding_covers(&one->finding, &self->finding[at].finding)) {
            one->failures += self->finding[at].failures;
            one->first = one->first < self->finding[at].first ? one->first : self->finding[at].first;
            cJSON_Delete(self->finding[at].json);
        } else {
            self->finding[kept++] = self->finding[at];
        }
    }
    self->findings = kept;
}

static int add_finding(joining *self, const cJSON *json, int64_t portion)
{
    joined one;
    int same;

    if (!read_finding(self, json, &one))
        return 0;
    one.portion = portion;
    same = find_same(self, &one);
    if (same >= 0) {
        joined *there = &self->finding[same];
        if (strcmp(there->finding.id, one.finding.id) == 0 && is_smaller(&one.finding, &there->finding)) {
            cJSON *larger = there->json;
            there->json = one.json;
            there->finding = one.finding;
            one.json = larger;
        }
        there->failures += one.failures;
        there->first = there->first < one.first ? there->first : one.first;
        cJSON_Delete(one.json);
        return 1;
    }
    absorb(self, &one);
    if (self->findings == KVC_RESULT_FINDINGS_MAX) {
        self->lost++;
        cJSON_Delete(one.json);
        return 1;
    }
    self->finding[self->findings++] = one;
    return 1;
}

static int add_row(joining *self, const cJSON *row)
{
    double number[KVC_COVERAGE_ROW];
    const cJSON *item = cJSON_IsArray(row) ? row->child : NULL;
    int count = 0;

    for (; item != NULL && count < KVC_COVERAGE_ROW; item = item->next) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= COUNT_MAX))
            break;
        number[count++] = item->valuedouble;
    }
    if (count < KVC_COVERAGE_ROW || item != NULL || number[0] >= KVC_OP_KINDS || number[1] >= KVC_SITUATIONS)
        return fail(self, "coverage", "rows of five numbers");
    self->coverage->counted[(int)number[0]][(int)number[1] / KVC_SITUATIONS_ALONE] = 1;
    self->coverage->of[(int)number[0]][(int)number[1]].planned += (uint64_t)number[2];
    self->coverage->of[(int)number[0]][(int)number[1]].judged += (uint64_t)number[3];
    self->coverage->of[(int)number[0]][(int)number[1]].refused += (uint64_t)number[4];
    return 1;
}

static int add_portion(joining *self, const cJSON *portion, int64_t number)
{
    const cJSON *item;

    self->deaths = 0;
    if (!add_count(self, portion, "sequences", &self->sequences) || !add_count(self, portion, "ops", &self->ops) ||
        !add_count(self, portion, "milliseconds", &self->milliseconds) ||
        !add_count(self, portion, "exhaustive", &self->exhaustive) || !read_count(self, portion, "size", &self->size) ||
        !add_count(self, portion, "lost", &self->lost) || !read_count(self, portion, "deaths", &self->deaths))
        return 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(portion, "coverage")) {
        if (!add_row(self, item))
            return 0;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(portion, "findings")) {
        if (!add_finding(self, item, number))
            return 0;
    }
    self->end = kvc_portion_ended(portion);
    (void)snprintf(self->why, sizeof self->why, "%s", kvc_json_string(portion, "why"));
    return 1;
}

static int compare_joined(const void *left, const void *right)
{
    return kvc_findings_compare(&((const joined *)left)->finding, &((const joined *)right)->finding);
}

/* Status and reason. What did not come to its end and found nothing has not conformed. */
static void add_outcome(const joining *self, cJSON *entry)
{
    char reason[640] = "";

    if (self->end >= KVC_PORTION_FAILED)
        (void)snprintf(reason, sizeof reason, "%s", self->why);
    else if (self->end == KVC_PORTION_INTERRUPTED)
        (void)snprintf(reason, sizeof reason, "interrupted after %.0f sequence%s", self->sequences, self->sequences == 1 ? "" : "s");
    else if (self->end == KVC_PORTION_GIVEN_UP)
        (void)snprintf(reason, sizeof reason, "given up after %.0f sequences: its process had ended %.0f times", self->sequences,
                       self->deaths);
    cJSON_AddStringToObject(entry, "status",
                            self->findings > 0                      ? "findings"
                            : self->end == KVC_PORTION_ABSENT      ? "absent"
                            : self->end == KVC_PORTION_NOT_COVERED ? "not covered"
                            : reason[0] != '\0'                    ? "not run"
                                                                    : "conforms");
    cJSON_AddStringToObject(entry, "reason", reason);
}

static cJSON *row_of(int op, int code)
{
    kvc_situation situation;
    char text[160];
    cJSON *row = cJSON_CreateObject();

    kvc_situation_from_code(code, &situation);
    cJSON_AddStringToObject(row, "op", kvc_op_name((kvc_op_kind)op));
    cJSON_AddStringToObject(row, "situation", kvc_situation_text(&situation, text, sizeof text));
    return row;
}

/* Ops that were judged, and those that stood in sequences but only ever behind a failure. */
static void add_coverage(const joining *self, cJSON *entry)
{
    cJSON *covered = cJSON_AddArrayToObject(entry, "coverage");
    cJSON *unreached = cJSON_AddArrayToObject(entry, "unreached");
    const joined *most = NULL;

    /* The finding that ended most sequences stands in the way of most. */
    for (int at = 0; at < self->findings; at++) {
        if (most == NULL || self->finding[at].failures > most->failures)
            most = &self->finding[at];
    }
    for (int op = 0; self->coverage != NULL && op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            uint64_t judged;
            cJSON *row;
            if (self->coverage->counted[op][code / KVC_SITUATIONS_ALONE] == 0) {
                code += KVC_SITUATIONS_ALONE - 1 - code % KVC_SITUATIONS_ALONE;
                continue;
            }
            judged = self->coverage->of[op][code].judged;
            if (judged == 0 && self->coverage->of[op][code].planned == 0)
                continue;
            row = row_of(op, code);
            if (judged > 0) {
                cJSON_AddNumberToObject(row, "count", (double)judged);
                cJSON_AddNumberToObject(row, "refused", (double)self->coverage->of[op][code].refused);
                cJSON_AddItemToArray(covered, row);
            } else {
                cJSON_AddStringToObject(row, "because", most != NULL ? most->finding.id : "");
                cJSON_AddItemToArray(unreached, row);
            }
        }
    }
}

static cJSON *write_entry(joining *self, int portions)
{
    cJSON *entry = cJSON_CreateObject();
    const cJSON *item = self->open->child;
    cJSON *part;

    /* The head, in its order. */
    for (; item != NULL && strcmp(item->string, "status") != 0; item = item->next)
        cJSON_AddItemToObject(entry, item->string, cJSON_Duplicate(item, 1));
    if (portions > 0) {
        add_outcome(self, entry);
    } else {
        cJSON_AddStringToObject(entry, "status", kvc_json_string(self->open, "status"));
        cJSON_AddStringToObject(entry, "reason", kvc_json_string(self->open, "reason"));
    }
    cJSON_AddNumberToObject(entry, "sequences", self->sequences);
    cJSON_AddNumberToObject(entry, "ops", self->ops);
    cJSON_AddNumberToObject(entry, "seconds", self->milliseconds / 1000);
    part = cJSON_AddObjectToObject(entry, "exhaustive");
    cJSON_AddNumberToObject(part, "size", self->size);
    cJSON_AddNumberToObject(part, "sequences", self->exhaustive);
    if (self->exhaustive > 0)
        cJSON_AddItemToObject(part, "alphabet", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(self->open, "alphabet"), 1));
    else
        cJSON_AddArrayToObject(part, "alphabet");
    add_coverage(self, entry);
    cJSON_AddNumberToObject(entry, "lost", self->lost);
    part = cJSON_AddArrayToObject(entry, "findings");
    if (self->findings > 0)
        qsort(self->finding, (size_t)self->findings, sizeof self->finding[0], compare_joined);
    for (int at = 0; at < self->findings; at++) {
        cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(self->finding[at].json, "failures"), self->finding[at].failures);
        cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(self->finding[at].json, "first"), self->finding[at].first);
        cJSON_AddItemToArray(part, self->finding[at].json);
        self->finding[at].json = NULL;
    }
    if (part == NULL) {
        (void)fail(self, "findings", "enough memory");
        cJSON_Delete(entry);
        return NULL;
    }
    return entry;
}

static int compare_numbers(const void *left, const void *right)
{
    double a = kvc_json_number(*(const cJSON *const *)left, "number");
    double b = kvc_json_number(*(const cJSON *const *)right, "number");

    return (a > b) - (a < b);
}

/* The portions by their numbers, each of which stands once. */
static int read_order(joining *self, const cJSON *list, const cJSON **portion)
{
    const cJSON *item;
    size_t count = 0;
    double number;

    cJSON_ArrayForEach(item, list) {
        if (!read_count(self, item, "number", &number))
            return 0;
        portion[count++] = item;
    }
    qsort(portion, count, sizeof(const cJSON *), compare_numbers);
    for (size_t at = 1; at < count; at++) {
        if (compare_numbers(&portion[at - 1], &portion[at]) == 0)
            return fail(self, "portions", "each number once");
    }
    return 1;
}

cJSON *kvc_portions_join(const cJSON *open, kvc_error *error)
{
    joining self = {.open = open, .error = error};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(open, "portions");
    int total = cJSON_GetArraySize(list);
    const cJSON **portion = calloc((size_t)total + 1, sizeof *portion);
    cJSON *entry = NULL;
    int good = total <= KVC_PORTIONS_MAX || fail(&self, "portions", "fewer of them");

    if (total > 0) {
        self.finding = calloc(KVC_RESULT_FINDINGS_MAX, sizeof *self.finding);
        self.coverage = calloc(1, sizeof *self.coverage);
    }
    if (portion == NULL || (total > 0 && (self.finding == NULL || self.coverage == NULL)))
        good = fail(&self, "portions", "enough memory");
    /* In their order, wherever they stand. */
    good = good && read_order(&self, list, portion);
    for (int at = 0; good && at < total && self.end == KVC_PORTION_WHOLE; at++)
        good = add_portion(&self, portion[at], (int64_t)kvc_json_number(portion[at], "number"));
    if (good)
        entry = write_entry(&self, total);
    for (int at = 0; at < self.findings; at++)
        cJSON_Delete(self.finding[at].json);
    free(self.finding);
    free(self.coverage);
    free(portion);
    return entry;
}
