#include "bench/checked.h"

#include <stdio.h>
#include <stdlib.h>

#include "adapters/builtin/builtin.h"
#include "bench/blocks.h"
#include "harness/driver.h"
#include "reference/judge.h"

_Static_assert((int)KVC_CHECKED_BLOCK == (int)KVC_BLOCK, "the same blocks");

struct kvc_checked {
    kvc_blocks blocks;
    kvc_block block;
    kvc_draws draws;
    kvc_driver *driver;
    kvc_judge *judge;
    int another; /* the next cache is of another plan */
    uint64_t ops;
};

static void complain(const kvc_error *error)
{
    (void)fprintf(stderr, "bench: %s\n", error->text);
}

kvc_checked *kvc_checked_open(const char *variant, uint64_t seed, uint64_t sequences)
{
    const kvc_plugin *plugin = kvc_builtin_plugin();
    kvc_checked *checked = calloc(1, sizeof *checked);
    kvc_error error = {"not enough memory"};
    cJSON *hello = NULL;
    int good;

    if (checked == NULL) {
        complain(&error);
        return NULL;
    }
    kvc_profile_of(KVC_HOSTILE, &checked->draws);
    checked->driver = kvc_plugin_driver_open(plugin, NULL);
    checked->judge = kvc_judge_open();
    good = checked->driver != NULL && checked->judge != NULL && kvc_driver_hello(checked->driver, &hello, &error) == KVC_DROVE &&
           kvc_blocks_open(&checked->blocks, hello, plugin->subject, plugin->subject_version, variant, seed, 0, UINT64_MAX, &error);
    cJSON_Delete(hello);
    if (good) {
        checked->blocks.index = kvc_generator_tail(checked->blocks.generator);
        checked->blocks.end = checked->blocks.index + sequences + KVC_BLOCK;
        return checked;
    }
    complain(&error);
    kvc_checked_close(checked);
    return NULL;
}

void kvc_checked_close(kvc_checked *checked)
{
    if (checked == NULL)
        return;
    kvc_judge_close(checked->judge);
    if (checked->driver != NULL)
        kvc_driver_close(checked->driver);
    kvc_blocks_close(&checked->blocks);
    free(checked);
}

int kvc_checked_next(kvc_checked *checked)
{
    kvc_error error = {""};
    int more = kvc_blocks_next(&checked->blocks, &checked->block, &error);

    checked->another = 1;
    if (more < 0)
        complain(&error);
    return more;
}

int32_t kvc_checked_rows(const kvc_checked *checked)
{
    return checked->block.plan->params.batch;
}

int32_t kvc_checked_boundary(const kvc_checked *checked)
{
    return kvc_plan_boundary(checked->block.plan);
}

int kvc_checked_weight(const kvc_checked *checked, int kind)
{
    return kvc_plan_has_op(checked->block.plan, (kvc_op_kind)kind) ? checked->draws.weight[kind] : 0;
}

int kvc_checked_begin(kvc_checked *checked)
{
    kvc_error error = {"not enough memory"};

    if (kvc_driver_begin(checked->driver, checked->block.plan, checked->another, &error) &&
        kvc_judge_start(checked->judge, checked->block.plan, NULL)) {
        checked->another = 0;
        return 1;
    }
    complain(&error);
    return 0;
}

void kvc_checked_finish(kvc_checked *checked)
{
    kvc_driver_finish(checked->driver);
}

int kvc_checked_op(kvc_checked *checked, const kvc_op *op)
{
    const kvc_observation *shown;
    kvc_expectation expectation;
    kvc_failure failure;
    kvc_error error;

    kvc_model_expect(kvc_judge_model(checked->judge), op, &expectation);
    if (expectation.unspecified)
        return 1;
    shown = kvc_driver_perform(checked->driver, op, NULL, &error);
    checked->ops++;
    return shown != NULL && kvc_judge_step(checked->judge, op, shown, &failure) == 0;
}

uint64_t kvc_checked_ops(const kvc_checked *checked)
{
    return checked->ops;
}
