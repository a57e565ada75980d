/*
 * Merging results: the order of the inputs does not matter, nothing is counted twice, and what contradicts is refused with the
 * file, the field and what to do.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/merge.h"
#include "reports/model.h"
#include "reports/result.h"

static char error[1024];

static cJSON *read_sample(void)
{
    const char *top = getenv("KVC_TOP");
    char path[1000];
    cJSON *result = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/data/result-sample.json", top != NULL ? top : ".");
    cr_assert_eq(kvc_result_read_file(path, &result, error, sizeof error), 0, "%s", error);
    return result;
}

/* The sample with only the runs of one subject and version. */
static cJSON *shard(const char *version, const char *seed)
{
    cJSON *result = read_sample();
    cJSON *runs = cJSON_GetObjectItemCaseSensitive(result, "runs");
    for (int i = cJSON_GetArraySize(runs) - 1; i >= 0; i--) {
        if (strcmp(kvc_json_string(cJSON_GetArrayItem(runs, i), "version"), version) != 0) {
            cJSON_DeleteItemFromArray(runs, i);
        }
    }
    cr_assert_neq(cJSON_GetArraySize(runs), 0);
    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(result, "seed"), seed);
    return result;
}

/* Merges up to three; the answer as text for the caller to free, or NULL with `error` set. */
static char *merge(const cJSON *first, const cJSON *second, const cJSON *third)
{
    kvc_merge_input inputs[3] = {{"a.json", first}, {"b.json", second}, {"c.json", third}};
    size_t count = third != NULL ? 3 : second != NULL ? 2 : 1;
    cJSON *merged = NULL;
    error[0] = '\0';
    if (kvc_merge(inputs, count, &merged, error, sizeof error) != 0) {
        cr_expect_null(merged);
        cr_expect_null(strchr(error, '\n'), "%s", error);
        return NULL;
    }
    char reason[600];
    cr_expect_eq(kvc_result_check(merged, reason, sizeof reason), 0, "%s", reason);
    char *text = cJSON_Print(merged);
    cJSON_Delete(merged);
    cr_assert_not_null(text);
    return text;
}

static void expect_refused(const cJSON *first, const cJSON *second, const char *beginning)
{
    char *text = merge(first, second, NULL);
    cr_expect_null(text);
    cr_expect_eq(strncmp(error, beginning, strlen(beginning)), 0, "%s\n%s", error, beginning);
    cJSON_free(text);
}

Test(merge, order_does_not_matter)
{
    cJSON *old = shard("5.14.1", "1");
    cJSON *new = shard("5.24.0", "1");
    cJSON *other = shard("1", "7");
    char *straight = merge(old, new, other);
    char *turned = merge(other, old, new);
    cr_assert_not_null(straight, "%s", error);
    cr_assert_not_null(turned, "%s", error);
    cr_expect_str_eq(straight, turned);
    cJSON_free(straight);
    cJSON_free(turned);
    cJSON_Delete(old);
    cJSON_Delete(new);
    cJSON_Delete(other);
}

Test(merge, what_was_merged_merges_again)
{
    cJSON *old = shard("5.14.1", "1");
    cJSON *new = shard("5.24.0", "1");
    cJSON *other = shard("1", "7");
    char *all = merge(old, new, other);
    char *some = merge(new, old, NULL);
    cr_assert(all != NULL && some != NULL, "%s", error);
    cJSON *part = cJSON_Parse(some);
    char *steps = merge(other, part, NULL);
    cJSON *whole = cJSON_Parse(all);
    char *again = merge(whole, NULL, NULL);
    cr_assert(steps != NULL && again != NULL, "%s", error);
    cr_expect_str_eq(steps, all);
    cr_expect_str_eq(again, all);
    expect_refused(whole, old, "b.json: runs[");
    cJSON_free(all);
    cJSON_free(some);
    cJSON_free(steps);
    cJSON_free(again);
    cJSON_Delete(part);
    cJSON_Delete(whole);
    cJSON_Delete(old);
    cJSON_Delete(new);
    cJSON_Delete(other);
}

Test(merge, runs_keep_their_seed)
{
    cJSON *first = shard("5.14.1", "1");
    cJSON *second = shard("5.14.1", "2");
    char *text = merge(first, second, NULL);
    kvc_report_model model = {0};
    cr_assert_not_null(text, "%s", error);
    cJSON *merged = cJSON_Parse(text);
    cr_assert_eq(kvc_report_model_make(merged, &model), 0);
    cr_expect_eq(model.result_count, 2U);
    cr_expect_eq(model.version_count, 1U);
    cr_expect_str_eq(kvc_report_model_common(&model, "profile"), "hostile");
    cr_expect_str_eq(kvc_report_model_common(&model, "seed"), "");
    for (size_t i = 0; i < model.row_count; i++) {
        const kvc_report_cell *cell = kvc_report_model_cell(&model, i, 0);
        cr_assert_not_null(cell);
        cr_expect_eq(cell->findings, model.rows[i].causes, "the same finding of two seeds is one");
        if (kvc_report_was_run(cell->status)) {
            cr_expect_neq(cell->first_run, cell->last_run);
            cr_expect_str_eq(kvc_json_string(model.runs[cell->first_run].result, "seed"), "1");
            cr_expect_str_eq(kvc_json_string(model.runs[cell->last_run].result, "seed"), "2");
        } else {
            cr_expect_eq(cell->first_run, cell->last_run, "what was not run says nothing twice");
        }
    }
    kvc_report_model_free(&model);
    cJSON_free(text);
    cJSON_Delete(merged);
    cJSON_Delete(first);
    cJSON_Delete(second);
}

Test(merge, refuses_the_same_twice)
{
    cJSON *first = shard("5.14.1", "1");
    cJSON *second = shard("5.14.1", "1");
    expect_refused(first, second, "b.json: runs: expected each result once, but this one is the same as a.json; leave one");
    expect_refused(first, first, "b.json: runs: expected each result once");
    /* Another command line, but the same runs. */
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(second, "command"), cJSON_CreateString("--quiet"));
    expect_refused(first, second, "b.json: runs[");
    cr_expect_not_null(strstr(error, "expected each run once, but transformers 5.14.1 DynamicIndexedLayer (profile hostile, seed 1, 48211 "
                                     "sequences) is also runs["));
    cr_expect_not_null(strstr(error, "of a.json; leave one of them out"));
    cJSON_Delete(first);
    cJSON_Delete(second);
}

static cJSON *find_run(cJSON *result, const char *variant)
{
    cJSON *run = NULL;
    cJSON_ArrayForEach (run, cJSON_GetObjectItemCaseSensitive(result, "runs")) {
        if (strcmp(kvc_json_string(run, "variant"), variant) == 0) {
            return run;
        }
    }
    cr_assert_fail("no run of %s", variant);
    return NULL;
}

Test(merge, refuses_another_verdict)
{
    cJSON *first = shard("5.14.1", "1");
    cJSON *second = shard("5.14.1", "1");
    cJSON *run = find_run(second, "DynamicIndexedLayer");
    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(run, "status"), "conforms");
    cJSON_ReplaceItemInObjectCaseSensitive(run, "findings", cJSON_CreateArray());
    cr_assert_eq(kvc_result_check(second, error, sizeof error), 0, "%s", error);
    char *text = merge(first, second, NULL);
    cr_expect_null(text);
    cr_expect_not_null(strstr(error, ".status: expected the verdict of runs["), "%s", error);
    cr_expect_not_null(strstr(error, "run it again with one kvconform and give only that result"), "%s", error);
    cJSON_free(text);
    cJSON_Delete(second);

    second = shard("5.14.1", "1");
    cJSON_DeleteItemFromArray(cJSON_GetObjectItemCaseSensitive(find_run(second, "DynamicIndexedLayer"), "findings"), 0);
    cr_assert_eq(kvc_result_check(second, error, sizeof error), 0, "%s", error);
    text = merge(first, second, NULL);
    cr_expect_null(text);
    cr_expect_not_null(strstr(error, ".findings: expected the verdict of runs["), "%s", error);
    cJSON_free(text);

    /* Another number of sequences is another run, and so is another environment. */
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(find_run(second, "DynamicIndexedLayer"), "sequences"), 10);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(second, "runs");
    for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--) {
        if (strcmp(kvc_json_string(cJSON_GetArrayItem(list, i), "variant"), "DynamicIndexedLayer") != 0) {
            cJSON_DeleteItemFromArray(list, i);
        }
    }
    text = merge(first, second, NULL);
    cr_expect_not_null(text, "%s", error);
    cJSON_free(text);
    cJSON_Delete(first);
    cJSON_Delete(second);
}

Test(merge, refuses_a_class_that_is_there_and_absent)
{
    cJSON *first = shard("5.24.0", "1");
    cJSON *second = shard("5.24.0", "2");
    cJSON *run = find_run(second, "DynamicLayer");
    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(run, "status"), "absent");
    cJSON_ReplaceItemInObjectCaseSensitive(run, "reason", cJSON_CreateString("this version has no such class"));
    cr_assert_eq(kvc_result_check(second, error, sizeof error), 0, "%s", error);
    expect_refused(second, first, "b.json: runs[");
    cr_expect_not_null(strstr(error, ".status: expected `absent` as in runs["), "%s", error);
    cJSON_Delete(first);
    cJSON_Delete(second);
}

Test(merge, merged_documents_are_checked)
{
    cJSON *first = shard("5.24.0", "1");
    char *text = merge(first, NULL, NULL);
    static const struct {
        const char *field, *json, *named;
    } wrong[] = {
        {"finished", "false", "finished: expected true: the document was cut short; merge the results again"},
        {"finished", "{\"at\": \"now\"}", "finished: expected true"},
        {"results", "{}", "results: expected a list"},
        {"results", "[]", "runs[0].result: expected the number of one of the 0 results"},
        {"results", "[{}]", "results[0].finished: expected true or an object, found nothing: the run was cut short; run it again"},
        {"results", "[{\"finished\": {}}]", "results[0].finished.at: expected a string"},
        {"results", "[{\"finished\": true, \"tool\": {\"name\": \"\"}}]", "results[0].tool.name: expected a string"},
    };
    cr_assert_not_null(text, "%s", error);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cJSON *merged = cJSON_Parse(text);
        cJSON_ReplaceItemInObjectCaseSensitive(merged, wrong[i].field, cJSON_Parse(wrong[i].json));
        cr_expect_eq(kvc_result_check(merged, error, sizeof error), -1);
        cr_expect_eq(strncmp(error, wrong[i].named, strlen(wrong[i].named)), 0, "%s\n%s", error, wrong[i].named);
        cJSON_Delete(merged);
    }
    cJSON_free(text);
    cJSON_Delete(first);
}
