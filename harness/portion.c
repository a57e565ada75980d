#include "harness/portion.h"

#include <string.h>

#include "harness/portion_internal.h"
#include "reports/model.h"

static const char *const ends[] = {"", "interrupted", "given up", "failed", "absent", "not covered"};

/* What joining needs of a failure beside its finding: the fields of kvc_failure that tell causes apart. */
static void add_cause(cJSON *json, const kvc_finding *finding)
{
    cJSON *cause = cJSON_AddObjectToObject(json, "cause");

    cJSON_AddStringToObject(cause, "wrong", finding->wrong);
    for (size_t at = 0; at < KVC_CAUSE_FIELDS; at++)
        cJSON_AddNumberToObject(cause, kvc_cause_fields[at].name, (double)kvc_cause_get(finding, (kvc_cause_field)at));
}

/* Rows of five numbers: op, situation, how often it was planned, judged and, of these, refused. */
static void add_coverage(cJSON *portion, const kvc_coverage *coverage)
{
    cJSON *list = cJSON_AddArrayToObject(portion, "coverage");

    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            const double row[KVC_COVERAGE_ROW] = {op, code, (double)coverage->of[op][code].planned,
                                                  (double)coverage->of[op][code].judged, (double)coverage->of[op][code].refused};
            if (coverage->of[op][code].judged > 0 || coverage->of[op][code].planned > 0)
                cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(row, KVC_COVERAGE_ROW));
        }
    }
}

int kvc_portion_add(cJSON *open, int64_t number, const kvc_record_run *run, const kvc_bench *bench,
                    const kvc_exploration *exploration, kvc_portion_end end, const char *why)
{
    cJSON *portion = cJSON_CreateObject();
    cJSON *list;

    if (portion == NULL || !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(open, "portions"), portion)) {
        cJSON_Delete(portion);
        return 0;
    }
    cJSON_AddNumberToObject(portion, "number", (double)number);
    cJSON_AddStringToObject(portion, "ended", ends[end]);
    cJSON_AddStringToObject(portion, "why", why);
    cJSON_AddNumberToObject(portion, "deaths", (double)exploration->deaths);
    cJSON_AddNumberToObject(portion, "sequences", (double)exploration->sequences);
    cJSON_AddNumberToObject(portion, "ops", (double)exploration->ops);
    cJSON_AddNumberToObject(portion, "milliseconds", (double)exploration->milliseconds);
    cJSON_AddNumberToObject(portion, "exhaustive", (double)exploration->exhaustive);
    cJSON_AddNumberToObject(portion, "size", exploration->exhaustive_size);
    cJSON_AddNumberToObject(portion, "lost", exploration->lost);
    add_coverage(portion, &exploration->coverage);
    list = cJSON_AddArrayToObject(portion, "findings");
    for (int at = 0; at < exploration->findings; at++) {
        cJSON *json = kvc_record_finding(run, bench, &exploration->finding[at]);
        if (json == NULL || !cJSON_AddItemToArray(list, json)) {
            cJSON_Delete(json);
            return 0;
        }
        add_cause(json, &exploration->finding[at]);
    }
    return list != NULL;
}

const cJSON *kvc_portion_find(const cJSON *open, int64_t number)
{
    const cJSON *portion;

    cJSON_ArrayForEach(portion, cJSON_GetObjectItemCaseSensitive(open, "portions")) {
        if (kvc_json_number(portion, "number") == (double)number)
            return portion;
    }
    return NULL;
}

kvc_portion_end kvc_portion_ended(const cJSON *portion)
{
    const char *word = kvc_json_string(portion, "ended");
    int end = KVC_PORTION_WHOLE;

    while (end < KVC_PORTION_NOT_COVERED && strcmp(word, ends[end]) != 0)
        end++;
    return (kvc_portion_end)end;
}

int kvc_portion_is_done(const cJSON *portion)
{
    kvc_portion_end end = kvc_portion_ended(portion);

    return end == KVC_PORTION_WHOLE || end == KVC_PORTION_GIVEN_UP || end == KVC_PORTION_ABSENT;
}
