/* Drives a cache behind the C interface, in this process. */
#include <stdlib.h>
#include <string.h>

#include "harness/driver.h"

enum { NUMBERS_KEPT = 4096 };

typedef struct plugin_driver {
    kvc_driver base;
    const kvc_plugin *plugin;
    kvc_batch batch[KVC_BATCHES_IN_FLIGHT];
    int batches;
    int32_t *numbers;
    int32_t room;
    kvc_cache *cache; /* of the last batch, for the next one; NULL for none */
    kvc_observation observation;
} plugin_driver;

static kvc_drive hello(kvc_driver *driver, cJSON **out, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    cJSON *json = cJSON_CreateObject();
    cJSON *variants = json != NULL ? cJSON_AddArrayToObject(json, "variants") : NULL;
    int good = variants != NULL && cJSON_AddStringToObject(json, "subject", self->plugin->subject) != NULL &&
               cJSON_AddStringToObject(json, "version", self->plugin->subject_version) != NULL &&
               cJSON_AddObjectToObject(json, "environment") != NULL;

    for (size_t at = 0; good && self->plugin->variant(at) != NULL; at++)
        good = cJSON_AddItemToArray(variants, cJSON_CreateString(self->plugin->variant(at)));
    if (!good) {
        cJSON_Delete(json);
        kvc_error_set(error, "not enough memory");
        return KVC_DRIVE_BAD;
    }
    *out = json;
    return KVC_DROVE;
}

static kvc_drive submit(kvc_driver *driver, const kvc_batch *batch, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;

    if (self->batches == KVC_BATCHES_IN_FLIGHT) {
        kvc_error_set(error, "too many batches in flight");
        return KVC_DRIVE_BAD;
    }
    self->batch[self->batches++] = *batch;
    return KVC_DROVE;
}

/* Numbers for the tokens of one append. */
static const int32_t *number_tokens(plugin_driver *self, const int32_t *numbers, int32_t next, int32_t count)
{
    if (count > self->room) {
        int32_t *larger = realloc(self->numbers, (size_t)count * sizeof *larger);
        if (larger == NULL)
            return NULL;
        self->numbers = larger;
        self->room = count;
    }
    for (int32_t at = 0; at < count; at++)
        self->numbers[at] = numbers != NULL ? numbers[next + at] : next + at;
    return self->numbers;
}

/* A cache for a batch; what the last one was made of may go into it. */
static kvc_cache *open_cache(plugin_driver *self, const kvc_plan *plan)
{
    kvc_cache *before = self->cache;

    self->cache = NULL;
    if (before != NULL && self->plugin->reopen != NULL)
        return self->plugin->reopen(before, plan->variant, &plan->params, plan->parts, plan->layer_words);
    self->plugin->close(before);
    return self->plugin->open(plan->variant, &plan->params, plan->parts, plan->layer_words);
}

static kvc_drive collect(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    kvc_batch batch = self->batch[0];
    kvc_cache *cache = NULL; /* of this batch */

    if (self->batches == 0) {
        kvc_error_set(error, "no batch in flight");
        return KVC_DRIVE_BAD;
    }
    self->batches--;
    memmove(self->batch, self->batch + 1, (size_t)self->batches * sizeof batch);
    for (size_t at = 0; at < batch.count; at++) {
        const kvc_sequence *sequence = &batch.sequence[at];
        const kvc_plan *plan = batch.plan;
        int32_t next = 0;
        if (cache == NULL)
            cache = open_cache(self, plan);
        if (cache == NULL) {
            self->batches = 0;
            kvc_error_set(error, "%s: the plugin could not make the cache", plan->variant);
            return KVC_DRIVE_BAD;
        }
        for (int op = 0; op < sequence->count; op++) {
            const kvc_op *what = &sequence->op[op];
            const int32_t *numbers = NULL;
            if (what->kind == KVC_APPEND) {
                numbers = number_tokens(self, batch.numbers != NULL ? batch.numbers[at] : NULL, next, what->n);
                next += what->n;
            }
            (void)step(context, at, op, NULL);
            kvc_observation_clear(&self->observation);
            self->plugin->run(cache, what, numbers, &self->observation);
            if (step(context, at, op, &self->observation))
                break;
        }
        if (self->plugin->renew == NULL || !self->plugin->renew(cache)) {
            self->plugin->close(cache);
            cache = NULL;
        }
    }
    self->cache = cache;
    return KVC_DROVE;
}

static kvc_drive script(kvc_driver *driver, const char *request, char **out, kvc_error *error)
{
    (void)driver;
    (void)request;
    *out = calloc(1, 1);
    if (*out != NULL)
        return KVC_DROVE;
    kvc_error_set(error, "not enough memory");
    return KVC_DRIVE_BAD;
}

static void close_driver(kvc_driver *driver)
{
    plugin_driver *self = (plugin_driver *)driver;

    self->plugin->close(self->cache);
    free(self->numbers);
    free(self);
}

kvc_driver *kvc_plugin_driver_open(const kvc_plugin *plugin)
{
    static const kvc_driver_table table = {hello, submit, collect, script, NULL, close_driver};
    plugin_driver *self = calloc(1, sizeof *self);

    if (self == NULL)
        return NULL;
    self->base.table = &table;
    self->base.in_process = 1;
    self->plugin = plugin;
    self->numbers = malloc(NUMBERS_KEPT * sizeof *self->numbers);
    self->room = NUMBERS_KEPT;
    if (self->numbers == NULL) {
        free(self);
        return NULL;
    }
    return &self->base;
}
