/* Whole models in a report: what their findings follow from, and what changed from version to version. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/models.h"
#include "reports/result.h"

static cJSON *result;
static kvc_report_model model;

static cJSON *read_models(void)
{
    const char *top = getenv("KVC_TOP");
    char path[1000];
    char error[600] = "";
    cJSON *json = NULL;

    (void)snprintf(path, sizeof path, "%s/tests/data/result-models.json", top != NULL ? top : ".");
    cr_assert_eq(kvc_result_read_file(path, &json, error, sizeof error), 0, "%s", error);
    return json;
}

static void make(void)
{
    result = read_models();
    cr_assert_eq(kvc_report_model_make(result, &model), 0);
}

static void forget(void)
{
    kvc_report_model_free(&model);
    cJSON_Delete(result);
}

static size_t row_of(const char *variant)
{
    size_t row = 0;
    while (row < model.row_count && strcmp(model.rows[row].variant, variant) != 0)
        row++;
    cr_assert_lt(row, model.row_count, "%s", variant);
    return row;
}

Test(models, are_told_from_classes, .init = make, .fini = forget)
{
    static const char *const expected[] = {"alpha", "beta", "delta", "gamma", "iota", "kappa", "omega"};
    size_t count = 0;
    size_t *rows = kvc_models_sorted(&model, 0, &count);

    cr_assert_eq(model.subjects[0].models, (size_t)7);
    cr_assert_eq(model.subjects[0].rows, (size_t)9);
    cr_assert_eq(count, sizeof expected / sizeof expected[0]);
    for (size_t at = 0; at < count; at++)
        cr_expect_str_eq(kvc_models_name(&model.rows[rows[at]]), expected[at]);
    cr_expect_not(model.rows[row_of("StaleLayer")].is_model);
    cr_expect(model.rows[row_of("model/omega")].is_model, "one that could not be run has no kind, but its name");
    free(rows);
}

/* A fault of a layer is found again by its id, and reaches each model once, in however many versions it does. */
Test(models, are_linked_to_faults_of_layers, .init = make, .fini = forget)
{
    size_t at = 0;
    const cJSON *finding;
    const cJSON *link;

    cr_assert_eq(model.link_count, (size_t)4);
    cr_expect_str_eq(model.links[0].variant, "ElsewhereLayer");
    cr_expect_eq(model.links[0].layer, KVC_NONE, "the run of that layer is not here");
    cr_expect_eq(kvc_models_links_end(&model, 0), (size_t)1);
    cr_expect_eq(kvc_models_links_end(&model, 1), (size_t)4);
    for (at = 1; at < model.link_count; at++) {
        cr_expect_str_eq(model.links[at].id, model.causes[model.links[at].layer].id);
        cr_expect_eq(model.causes[model.links[at].layer].row, row_of("StaleLayer"));
        cr_expect(model.rows[model.causes[model.links[at].model].row].is_model);
    }
    at = model.rows[row_of("model/delta")].first_cause;
    finding = model.findings[model.causes[at].shown].json;
    link = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "model"), "links"), 0);
    cr_expect_eq(kvc_models_find_link(&model, at, link), (size_t)0);
    cr_expect_eq(kvc_models_find_link(&model, at + 1, link), KVC_NONE);
}

Test(models, changes_by_version, .init = make, .fini = forget)
{
    static const struct {
        const char *variant;
        kvc_models_change change;
    } table[] = {
        {"model/alpha", {.fresh = 1}},
        {"model/beta", {.gone = 1}},
        {"model/delta", {0}},
        {"model/gamma", {0}},
        {"model/iota", {.is_first = 1}},
        {"model/kappa", {.is_first = 1, .was_there = 1}},
        {"model/omega", {0}},
    };

    cr_assert_eq(model.version_count, (size_t)2);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_models_change change = kvc_models_changed(&model, row_of(table[at].variant), 1);
        kvc_models_change first = kvc_models_changed(&model, row_of(table[at].variant), 0);
        cr_expect_eq(change.fresh, table[at].change.fresh, "%s", table[at].variant);
        cr_expect_eq(change.gone, table[at].change.gone, "%s", table[at].variant);
        cr_expect_eq(change.is_first, table[at].change.is_first, "%s", table[at].variant);
        cr_expect_eq(change.was_there, table[at].change.was_there, "%s", table[at].variant);
        cr_expect_eq(change.is_lost, table[at].change.is_lost, "%s", table[at].variant);
        cr_expect_not(kvc_models_is_change(&first), "%s: nothing is known of versions before the first", table[at].variant);
    }
}

Test(models, words, .init = make, .fini = forget)
{
    const kvc_report_row *row = &model.rows[row_of("model/alpha")];
    cJSON *finding = cJSON_Duplicate(model.findings[model.causes[row->first_cause].shown].json, 1);
    cJSON *told = cJSON_GetObjectItemCaseSensitive(finding, "model");
    kvc_text text = {0};

    kvc_models_add_words(&text, finding);
    cr_expect_str_eq(kvc_text_string(&text), "Logits are off by 0.42 of the largest one. is_croppable had said that it could be cropped. "
                                             "Assisted generation comes to it. Its cache is ToyCache of StaleLayer, RightLayer.");
    kvc_text_free(&text);
    cJSON_ReplaceItemInObjectCaseSensitive(told, "promised", cJSON_CreateFalse());
    cJSON_ReplaceItemInObjectCaseSensitive(told, "generate", cJSON_CreateFalse());
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "observed"), "difference");
    kvc_models_add_words(&text, finding);
    cr_expect_str_eq(kvc_text_string(&text), "is_croppable had said that it could not be cropped. Assisted generation does not come to it. "
                                             "Its cache is ToyCache of StaleLayer, RightLayer.");
    kvc_text_free(&text);
    cJSON_DeleteItemFromObjectCaseSensitive(finding, "model");
    kvc_models_add_words(&text, finding);
    cr_expect_eq(text.length, (size_t)0, "nothing is told of other findings");
    cJSON_Delete(finding);
}

/* The first finding of a model, with `field` of what is told of it replaced. */
static void expect_refused(const char *field, const char *json, const char *words)
{
    cJSON *changed = read_models();
    cJSON *run;
    char error[600] = "";

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(changed, "runs")) {
        cJSON *finding = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(run, "findings"), 0);
        cJSON *told = cJSON_GetObjectItemCaseSensitive(finding, "model");
        if (told != NULL) {
            cJSON_DeleteItemFromObjectCaseSensitive(told, field);
            if (json != NULL)
                cJSON_AddItemToObject(told, field, cJSON_Parse(json));
            break;
        }
    }
    cr_assert_not_null(run);
    cr_expect_eq(kvc_result_check(changed, error, sizeof error), -1, "%s: %s", field, json != NULL ? json : "nothing");
    cr_expect(strstr(error, words) != NULL, "%s: %s", field, error);
    cJSON_Delete(changed);
}

Test(models, what_is_told_is_checked)
{
    expect_refused("cache", NULL, "findings[0].model.cache");
    expect_refused("layers", "[1]", "findings[0].model.layers");
    expect_refused("promised", "\"yes\"", "findings[0].model.promised: expected true, false or null");
    expect_refused("generate", NULL, "findings[0].model.generate");
    expect_refused("links", NULL, "findings[0].model.links");
    expect_refused("links", "[1]", "findings[0].model.links[0]: expected an object");
    expect_refused("links", "[{\"variant\": \"A\", \"law\": \"KEYS\", \"id\": \"<b>\", \"layers\": [0]}]", "links[0].id");
    expect_refused("links", "[{\"variant\": \"A\", \"law\": \"KEYS\", \"id\": \"KEYS-1\", \"layers\": [-1]}]", "links[0].layers");
}
