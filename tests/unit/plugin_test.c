/* The plugin interface: tables of other versions, what a plugin may show, and what a subject brings in its hello. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "adapters/builtin/builtin.h"
#include "harness/driver.h"
#include "harness/observed.h"
#include "harness/plugin_load.h"
#include "reference/brought.h"
#include "tests/unit/support.h"

/* What this kvconform knows, and then some. */
typedef struct longer {
    kvc_plugin known;
    void (*later)(void);
} longer;

static void never(void) {
    abort();
}

Test(plugin, an_older_table_has_null_for_what_it_lacks) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    kvc_plugin copy;
    kvc_error error = {""};
    plugin.size = offsetof(kvc_plugin, renew);
    cr_assert(kvc_plugin_check(&plugin, "older", &copy, &error), "%s", error.text);
    cr_expect(copy.close == plugin.close);
    cr_expect_null(copy.renew);
    cr_expect_null(copy.reopen);
    cr_expect_null(copy.script);
}

Test(plugin, a_newer_table_may_leave_unknown_functions_unset) {
    longer plugin = {*kvc_builtin_plugin(), NULL};
    kvc_plugin copy;
    kvc_error error = {""};
    plugin.known.size = sizeof plugin;
    cr_expect(kvc_plugin_check(&plugin.known, "newer", &copy, &error), "%s", error.text);
    plugin.later = never;
    cr_expect_not(kvc_plugin_check(&plugin.known, "newer", &copy, &error));
    cr_expect_not_null(strstr(error.text, "newer plugin interface"));
}

Test(plugin, every_needed_field_is_missed) {
    static const size_t needed[] = {offsetof(kvc_plugin, subject), offsetof(kvc_plugin, subject_version),
                                    offsetof(kvc_plugin, variant), offsetof(kvc_plugin, open), offsetof(kvc_plugin, run),
                                    offsetof(kvc_plugin, close)};
    for (size_t at = 0; at < sizeof needed / sizeof needed[0]; at++) {
        kvc_plugin plugin = *kvc_builtin_plugin();
        kvc_plugin copy;
        kvc_error error = {""};
        memset((char *)&plugin + needed[at], 0, sizeof(void *));
        cr_expect_not(kvc_plugin_check(&plugin, "incomplete", &copy, &error));
        cr_expect_not_null(strstr(error.text, "is NULL"), "%s", error.text);
    }
}

/* An observation of one good tensor. */
typedef struct shown {
    kvc_observed known;
    kvc_observation observation;
    float data[24];
} shown;

static shown *show_one(void) {
    const int64_t shape[] = {1, 2, 3, 4};
    shown *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    kvc_observation_clear(&s->observation);
    cr_assert_not_null(kvc_show(&s->observation, "keys", KVC_FLOAT32, s->data, 4, shape));
    return s;
}

static int is_good(shown *s) {
    kvc_error error = {""};
    int good = kvc_observed_check(&s->known, &s->observation, &error);
    cr_expect_eq(good, error.text[0] == '\0', "%s", error.text);
    return good;
}

Test(plugin, what_may_be_shown) {
    shown *s = show_one();
    kvc_tensor *tensor = &s->observation.tensor[0];
    cr_expect(is_good(s));
    for (int at = 0; at < 4; at++) {
        tensor->stride[at] = 4;
    }
    cr_expect(is_good(s));
    tensor->stride[3] = 0;
    cr_expect_not(is_good(s));
    tensor->stride[0] = 0;
    cr_expect(is_good(s));
    tensor->shape[2] = 0;
    tensor->data = NULL;
    cr_expect(is_good(s));
    tensor->shape[2] = (int64_t)1 << 31;
    cr_expect_not(is_good(s));
    free(s);
}

Test(plugin, a_shape_is_bounded_before_it_is_multiplied) {
    static const int64_t sizes[] = {1, 1 << 10, 1 << 28, (1 << 28) + 1, (int64_t)1 << 32, INT64_MAX};
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        shown *s = show_one();
        for (int axis = 0; axis < 4; axis++) {
            s->observation.tensor[0].shape[axis] = axis == 1 ? sizes[at] : 1;
        }
        cr_expect_eq(is_good(s), sizes[at] <= 1 << 28, "%lld", (long long)sizes[at]);
        for (int axis = 0; axis < 4; axis++) {
            s->observation.tensor[0].shape[axis] = sizes[at];
        }
        cr_expect_eq(is_good(s), sizes[at] == 1, "%lld to the fourth", (long long)sizes[at]);
        free(s);
    }
}

Test(plugin, kvc_show_has_limits) {
    const int64_t shape[KVC_DIMS_MAX + 1] = {1, 1, 1, 1, 1, 1, 1};
    shown *s = show_one();
    cr_expect_null(kvc_show(&s->observation, "keys", KVC_FLOAT32, s->data, KVC_DIMS_MAX + 1, shape));
    s->observation.tensors = KVC_TENSORS_MAX;
    cr_expect_null(kvc_show(&s->observation, "keys", KVC_FLOAT32, s->data, 4, shape));
    cr_expect_eq(s->observation.tensors, KVC_TENSORS_MAX);
    free(s);
}

/* The input of an append, written in one call and element by element. */
Test(plugin, inputs_are_those_of_the_formula) {
    const int32_t numbers[] = {0, 7, 117648};
    for (int encoding = 0; encoding < KVC_ENCODINGS; encoding++) {
        for (int dtype = KVC_FLOAT32; dtype <= KVC_FLOAT64; dtype++) {
            kvc_params params = kvc_params_standard();
            unsigned char input[2 * 3 * 3 * 41 * 8];
            unsigned char want[8];
            const unsigned char *have = input;
            params.dtype = dtype;
            params.values = encoding;
            kvc_value_fill(&params, 5, 2, 3, numbers, 3, 41, input);
            for (int at = 0; at < 2 * 3 * 3 * 41; at++, have += kvc_dtype_size((kvc_dtype)dtype)) {
                int row = at / (3 * 3 * 41);
                int head = at / (3 * 41) % 3;
                int32_t token = numbers[at / 41 % 3];
                int value = encoding == KVC_DIGITS ? kvc_value(5, token, row, head, at % 41) : kvc_value_level(5, token, row, head, at % 41);
                kvc_value_store((kvc_dtype)dtype, value, want);
                cr_assert_arr_eq(have, want, kvc_dtype_size((kvc_dtype)dtype));
            }
        }
    }
}

/* ---- What a subject brings ---- */

static int bring(kvc_catalogue *catalogue, const char *specs, const char *contract, kvc_error *error) {
    char text[4096];
    cJSON *hello;
    int good;
    (void)snprintf(text, sizeof text, "{\"subject\": \"mine\", \"version\": \"1.0\"%s%s%s%s}", specs[0] != '\0' ? ", \"specs\": " : "", specs,
                   contract[0] != '\0' ? ", \"contract\": " : "", contract);
    hello = cJSON_Parse(text);
    cr_assert_not_null(hello, "%s", text);
    error->text[0] = '\0';
    good = kvc_catalogue_bring(catalogue, hello, error);
    cJSON_Delete(hello);
    return good;
}

Test(brought, like_another) {
    kvc_catalogue catalogue;
    kvc_error error;
    const kvc_spec *spec;
    int assumed;
    read_shipped(&catalogue);
    cr_assert(bring(&catalogue,
                    "{\"A\": \"builtin:full\", \"B\": {\"like\": \"builtin:window\", \"title\": \"T\", \"kind\": \"indexed\", \"source\": \"S\","
                    " \"ops\": [\"append\", \"crop\"], \"dtypes\": [\"float16\"], \"params\": {\"window\": [3, 4]}}}",
                    "", &error),
              "%s", error.text);
    spec = kvc_catalogue_spec(&catalogue, "mine", "A");
    cr_assert_not_null(spec);
    cr_expect_eq(spec->ops, kvc_catalogue_spec(&catalogue, "builtin", "full")->ops);
    spec = kvc_catalogue_spec(&catalogue, "mine", "B");
    cr_assert_not_null(spec);
    cr_expect_str_eq(spec->title, "T");
    cr_expect_str_eq(spec->source, "S");
    cr_expect_eq((int)spec->kind, (int)KVC_KIND_INDEXED);
    cr_expect_eq(spec->ops, 1u << KVC_APPEND | 1u << KVC_CROP);
    cr_expect_eq(spec->dtypes, 1u << KVC_FLOAT16);
    cr_expect_eq(spec->low[kvc_param_find("window")], 3);
    cr_expect_eq(spec->high[kvc_param_find("window")], 4);
    cr_expect_eq(spec->views, kvc_catalogue_spec(&catalogue, "builtin", "window")->views);
    /* No contract was brought: the standard one. */
    cr_assert_not_null(kvc_catalogue_contract(&catalogue, "mine", "1.0", &assumed));
    cr_expect_not(assumed);
    kvc_catalogue_clear(&catalogue);
}

Test(brought, only_for_its_own_target) {
    kvc_catalogue catalogue;
    kvc_error error;
    size_t specs;
    size_t contracts;
    read_shipped(&catalogue);
    specs = catalogue.specs;
    contracts = catalogue.contracts;
    for (int round = 0; round < 3; round++) {
        cr_expect(bring(&catalogue, "{\"A\": \"builtin:full\"}", "", &error), "%s", error.text);
        cr_expect_eq(catalogue.specs, specs + 1);
        cr_expect_eq(catalogue.contracts, contracts + 1);
    }
    cr_expect(bring(&catalogue, "", "", &error));
    cr_expect_eq(catalogue.specs, specs);
    cr_expect_eq(catalogue.contracts, contracts);
    kvc_catalogue_clear(&catalogue);
}

/* A subject that calls itself by the name of another is judged by what is there. */
Test(brought, the_data_folder_counts_first) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    unsigned ops;
    size_t contracts;
    cJSON *hello = cJSON_Parse("{\"subject\": \"builtin\", \"version\": \"1\", \"specs\": {\"full\": {\"like\": \"builtin:full\","
                               " \"ops\": [\"append\"]}}, \"contract\": {\"rules\": 1}}");
    read_shipped(&catalogue);
    ops = kvc_catalogue_spec(&catalogue, "builtin", "full")->ops;
    contracts = catalogue.contracts;
    cr_expect(kvc_catalogue_bring(&catalogue, hello, &error), "%s", error.text);
    cr_expect_eq(kvc_catalogue_spec(&catalogue, "builtin", "full")->ops, ops);
    cr_expect_eq(catalogue.contracts, contracts);
    cJSON_Delete(hello);
    kvc_catalogue_clear(&catalogue);
}

Test(brought, what_is_wrong_is_named) {
    static const char *const wrong[][3] = {
        {"1", "", "expected an object"},
        {"{\"A\": 1}", "", "spec of A"},
        {"{\"A\": \"full\"}", "", "SUBJECT:VARIANT"},
        {"{\"A\": \"builtin:\"}", "", "SUBJECT:VARIANT"},
        {"{\"A+b\": \"builtin:full\"}", "", "without a +"},
        {"{\"A\": {\"like\": \"builtin:full\", \"views\": []}}", "", "views"},
        {"{\"A\": {\"like\": \"builtin:full\", \"ops\": [\"crop\"]}}", "", "append"},
        {"{\"A\": {\"like\": \"builtin:full\", \"params\": {\"window\": [1, 2]}}}", "", "window"},
        {"{\"A\": {\"like\": \"builtin:full\", \"params\": {\"batch\": [2, 1]}}}", "", "batch"},
        {"{\"A\": {\"like\": \"builtin:full\", \"dtypes\": []}}", "", "dtypes"},
        {"{\"A\": {\"like\": \"builtin:quantised\", \"params\": {\"key_dim\": [8, 8]}}}", "", "two levels"},
        {"{\"A\": {\"schema\": \"kvconform-spec/1\"}}", "", "subject"},
        {"{\"A\": \"builtin:full\"}", "[]", "contract"},
        {"{\"A\": \"builtin:full\"}",
         "{\"schema\": \"kvconform-contract/1\", \"id\": \"m\", \"extends\": \"nobody\", \"subject\": \"mine\", \"from\": \"1\", \"rules\": []}",
         "nobody"},
    };
    kvc_catalogue catalogue;
    size_t specs;
    read_shipped(&catalogue);
    specs = catalogue.specs;
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        kvc_error error;
        cr_expect_not(bring(&catalogue, wrong[at][0], wrong[at][1], &error), "%s", wrong[at][0]);
        cr_expect_not_null(strstr(error.text, wrong[at][2]), "%s: %s", wrong[at][0], error.text);
        cr_expect_eq(catalogue.specs, specs);
    }
    kvc_catalogue_clear(&catalogue);
}

/* The built-in caches come the same way as any plugin: hello, and an observation that nothing is wrong with. */
Test(plugin, the_built_in_caches_say_hello) {
    kvc_driver *driver = kvc_plugin_driver_open(kvc_builtin_plugin(), NULL);
    kvc_error error = {""};
    cJSON *hello = NULL;
    cr_assert_not_null(driver);
    cr_assert_eq((int)kvc_driver_hello(driver, &hello, &error), KVC_DROVE, "%s", error.text);
    cr_expect_str_eq(cJSON_GetObjectItemCaseSensitive(hello, "subject")->valuestring, "builtin");
    cJSON_Delete(hello);
    kvc_driver_close(driver);
}

/* A program is told of each token into which row it was appended; a plugin has no word for it, and would show what was not asked for. */
Test(plugin, no_tokens_of_other_rows) {
    static const uint8_t rows[1][KVC_ROWS_MAX] = {{0}};
    static const uint8_t(*const origins[1])[KVC_ROWS_MAX] = {rows};
    kvc_driver *driver = kvc_plugin_driver_open(kvc_builtin_plugin(), NULL);
    kvc_plan *plan = calloc(1, sizeof *plan);
    kvc_sequence sequence = {1, {op_of("append 1")}};
    kvc_error error = {""};
    cr_assert(driver != NULL && plan != NULL);
    (void)snprintf(plan->variant, sizeof plan->variant, "model");
    kvc_batch batch = {.plan = plan, .count = 1, .sequence = &sequence, .origins = origins};
    cr_expect_eq((int)kvc_driver_submit(driver, &batch, &error), KVC_DRIVE_BAD);
    cr_expect_not_null(strstr(error.text, "model: a plugin cannot be told"), "%s", error.text);
    kvc_driver_close(driver);
    free(plan);
}
