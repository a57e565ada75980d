#include "harness/fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/data.h"
#include "harness/driver.h"
#include "harness/protocol.h"
#include "reference/brought.h"
#include "reference/json.h"

struct kvc_fuzz_target {
    kvc_catalogue catalogue;
    kvc_driver *driver; /* NULL: nothing can be run */
    kvc_judge *judge;
    cJSON *hello;
    const char **variants;
    kvc_bench bench;
    kvc_choice choice;
    kvc_plan plan;
    kvc_model model;
    int has_model;
    kvc_decoded decoded;
    /* While a sequence runs. */
    kvc_fuzz_reached reached;
    void *context;
    int verdict; /* 1 it conforms so far, 0 it does not, -1 memory is short */
    int step;
    kvc_failure failure;
};

void kvc_fuzz_target_close(kvc_fuzz_target *target)
{
    if (target == NULL)
        return;
    if (target->has_model)
        kvc_model_close(&target->model);
    if (target->driver != NULL)
        kvc_driver_close(target->driver);
    kvc_judge_close(target->judge);
    free(target->variants);
    cJSON_Delete(target->hello);
    kvc_catalogue_clear(&target->catalogue);
    free(target);
}

/* Everything that follows from the hello. */
static int prepare(kvc_fuzz_target *target, const char *variant, kvc_error *error)
{
    const char *subject;
    const char *version;
    kvc_bench *bench = &target->bench;
    kvc_rules rules;
    int known = 0;
    int assumed;

    target->variants = kvc_hello_variants(target->hello);
    if (target->variants == NULL || !kvc_catalogue_bring(&target->catalogue, target->hello, error))
        return 0;
    subject = cJSON_GetObjectItemCaseSensitive(target->hello, "subject")->valuestring;
    version = cJSON_GetObjectItemCaseSensitive(target->hello, "version")->valuestring;
    if (variant == NULL)
        variant = target->variants[0] != NULL ? target->variants[0] : "";
    for (size_t at = 0; target->variants[at] != NULL; at++) {
        if (strcmp(target->variants[at], variant) == 0) {
            bench->variant = target->variants[at];
            known = 1;
        }
    }
    bench->catalogue = &target->catalogue;
    bench->spec = kvc_catalogue_spec(&target->catalogue, subject, variant);
    bench->contract = kvc_catalogue_contract(&target->catalogue, subject, version, &assumed);
    if (!known || bench->spec == NULL || bench->contract == NULL) {
        kvc_error_set(error, "%s: the plugin has no variant \"%.60s\", or nothing says what it keeps", subject, variant);
        return 0;
    }
    kvc_catalogue_rules(&target->catalogue, bench->contract, bench->spec->variant, &rules);
    kvc_choice_make(&target->catalogue, bench->spec, &rules, version, target->variants, &target->choice);
    if (target->choice.combinations == 0) {
        kvc_error_set(error, "%s: this version has none of the spec's parts or layers", variant);
        return 0;
    }
    bench->smallest = kvc_choice_smallest(&target->choice);
    if (!kvc_plan_make(&target->catalogue, bench->contract, bench->spec, bench->variant, &bench->smallest, &target->plan, error))
        return 0;
    target->has_model = kvc_model_open(&target->model, &target->plan);
    target->judge = kvc_judge_open();
    if (target->has_model && target->judge != NULL)
        return 1;
    kvc_error_set(error, "not enough memory");
    return 0;
}

static kvc_fuzz_target *open_target(kvc_error *error)
{
    kvc_fuzz_target *target = calloc(1, sizeof *target);
    char folder[4096];

    kvc_error_set(error, "not enough memory");
    if (target != NULL && kvc_data_find(folder, sizeof folder, error) && kvc_data_catalogue(folder, &target->catalogue, error))
        return target;
    kvc_fuzz_target_close(target);
    return NULL;
}

kvc_fuzz_target *kvc_fuzz_target_load(const char *library, const char *variant, kvc_error *error)
{
    kvc_fuzz_target *target = open_target(error);

    if (target == NULL)
        return NULL;
    target->driver = kvc_plugin_driver_open(NULL, library);
    if (target->driver != NULL && kvc_driver_hello(target->driver, &target->hello, error) == KVC_DROVE &&
        prepare(target, variant, error))
        return target;
    kvc_fuzz_target_close(target);
    return NULL;
}

kvc_fuzz_target *kvc_fuzz_target_of_hello(const char *text, const char *variant, kvc_error *error)
{
    kvc_fuzz_target *target = open_target(error);

    if (target == NULL)
        return NULL;
    if (kvc_json_parse(text, strlen(text), "hello", &target->hello, error) && kvc_reply_check_hello(target->hello, error) &&
        prepare(target, variant, error))
        return target;
    kvc_fuzz_target_close(target);
    return NULL;
}

char *kvc_fuzz_target_hello(const kvc_fuzz_target *target)
{
    return cJSON_PrintUnformatted(target->hello);
}

const kvc_bench *kvc_fuzz_target_bench(const kvc_fuzz_target *target)
{
    return &target->bench;
}

const kvc_choice *kvc_fuzz_target_choice(const kvc_fuzz_target *target)
{
    return &target->choice;
}

kvc_model *kvc_fuzz_target_model(kvc_fuzz_target *target)
{
    return &target->model;
}

static int on_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    kvc_fuzz_target *target = context;
    const kvc_op *op = &target->decoded.sequence.op[step];
    int result;

    (void)sequence;
    if (observation == NULL)
        return 0;
    target->step = step;
    result = kvc_judge_step(target->judge, op, observation, &target->failure);
    if (result == 1)
        target->verdict = 0;
    else if (result < 0)
        target->verdict = -1;
    else if (target->reached != NULL)
        target->reached(target->context, op->kind, kvc_situation_code(&kvc_judge_expectation(target->judge)->situation));
    return result != 0;
}

static void say_what_is_wrong(const kvc_fuzz_target *target, char *title, size_t size)
{
    size_t used = (size_t)snprintf(title, size, "%s: %s: ", target->bench.variant, kvc_law_name((kvc_law)target->failure.law));

    for (int at = 0; at <= target->step && used + 2 < size; at++) {
        if (at > 0)
            used += (size_t)snprintf(title + used, size - used, ", ");
        if (used < size)
            used += (size_t)kvc_op_format(&target->decoded.sequence.op[at], title + used, size - used);
    }
}

int kvc_fuzz_target_try(kvc_fuzz_target *target, const uint8_t *data, size_t length, kvc_fuzz_reached reached, void *context,
                        char *title, size_t size, kvc_error *error)
{
    kvc_bytes bytes;
    kvc_params params;
    kvc_batch batch = {&target->plan, 1, &target->decoded.sequence, NULL, NULL, 0};

    kvc_bytes_take(data, length, &bytes);
    params = kvc_decode_params(&target->choice, &bytes);
    if (!kvc_plan_make(&target->catalogue, target->bench.contract, target->bench.spec, target->bench.variant, &params, &target->plan,
                       error))
        return -1;
    kvc_model_start(&target->model, &target->plan, NULL);
    if (!kvc_decode_ops(&target->model, &bytes, NULL, 0, &target->decoded) || !kvc_judge_start(target->judge, &target->plan, NULL)) {
        kvc_error_set(error, "not enough memory");
        return -1;
    }
    target->reached = reached;
    target->context = context;
    target->verdict = 1;
    if (kvc_driver_submit(target->driver, &batch, error) != KVC_DROVE ||
        kvc_driver_collect(target->driver, on_step, target, error) != KVC_DROVE)
        return -1;
    if (target->verdict == 0)
        say_what_is_wrong(target, title, size);
    else if (target->verdict < 0)
        kvc_error_set(error, "not enough memory");
    return target->verdict;
}
