/* Drives a cache behind the plugin interface, in this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/driver.h"
#include "harness/observed.h"
#include "harness/plugin_load.h"
#include "harness/protocol.h"
#include "reference/json.h"

enum {
    NUMBERS_KEPT = 4096,
    VARIANTS_MAX = 4096,
    VERSION_MAX = 64,
    REASON_MAX = 400,
    SUFFIX_MAX = 9,
    SCRIPT_ROOM = 1 << 16,
    SCRIPT_MAX = 1 << 20
};

typedef struct plugin_driver {
    kvc_driver base;
    const kvc_plugin *given; /* the table as it was given, or NULL */
    const char *path;        /* of the shared object, or NULL */
    int loaded;
    kvc_plugin table; /* checked; complete once it is loaded */
    kvc_batch batch[KVC_BATCHES_IN_FLIGHT];
    int batches;
    int32_t *numbers; /* 0, 1, 2, ...: `room` of them */
    int32_t room;
    int32_t next; /* tokens of the sequence before the next op */
    kvc_cache *cache; /* of the sequence, or of the last one, for the next; NULL for none */
    kvc_observed observed;
    int cleared; /* nothing is said in the observation but of its first layers */
    kvc_observation observation;
} plugin_driver;

static int load(plugin_driver *self, kvc_error *error)
{
    if (!self->loaded)
        self->loaded = self->given != NULL ? kvc_plugin_check(self->given, "plugin", &self->table, error)
                                           : kvc_plugin_load(self->path, &self->table, error);
    return self->loaded;
}

/* A text of the plugin as JSON; NULL with *error set when it has no end within `limit` bytes. */
static cJSON *take_text(const char *text, size_t limit, const char *what, kvc_error *error)
{
    cJSON *json = memchr(text, '\0', limit) != NULL ? cJSON_CreateString(text) : NULL;

    if (json == NULL)
        kvc_error_set(error, "the plugin's %s: expected a text of less than %zu bytes", what, limit);
    return json;
}

/* JSON text, or where `word` allows it any other. */
static cJSON *take_json(const char *text, const char *what, int word, kvc_error *error)
{
    cJSON *json = NULL;

    if (word && text[0] != '{')
        return take_text(text, KVC_SPEC_NAME_MAX * 2, what, error);
    if (memchr(text, '\0', KVC_SPEC_FILE_MAX) == NULL)
        kvc_error_set(error, "the plugin's %s: more than 1 MiB", what);
    else
        (void)kvc_json_parse(text, strlen(text), what, &json, error);
    return json;
}

/* Adds `item`, which may be NULL, and takes it over. */
static int put(cJSON *object, const char *field, cJSON *item)
{
    if (item != NULL && cJSON_AddItemToObject(object, field, item))
        return 1;
    cJSON_Delete(item);
    return 0;
}

/* One variant: to those that can be had, or to those that cannot. */
static int add_variant(plugin_driver *self, cJSON *hello, const char *name, kvc_error *error)
{
    cJSON *copy = take_text(name, KVC_SPEC_NAME_MAX, "name of a variant", error);
    const char *why = copy != NULL && self->table.unavailable != NULL ? self->table.unavailable(name) : NULL;
    const char *spec = copy != NULL && self->table.spec != NULL && strchr(name, '+') == NULL ? self->table.spec(name) : NULL;
    char what[KVC_SPEC_NAME_MAX + 16];
    int good = copy != NULL;

    if (!good)
        return 0;
    (void)snprintf(what, sizeof what, "spec of %s", copy->valuestring);
    if (spec != NULL)
        good = put(cJSON_GetObjectItemCaseSensitive(hello, "specs"), copy->valuestring, take_json(spec, what, 1, error));
    if (good && why != NULL)
        good = put(cJSON_GetObjectItemCaseSensitive(hello, "unavailable"), copy->valuestring,
                   take_text(why, REASON_MAX, "reason why a variant cannot be had", error));
    if (good && why == NULL)
        return cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(hello, "variants"), copy);
    cJSON_Delete(copy);
    return good;
}

static int fill_hello(plugin_driver *self, cJSON *hello, kvc_error *error)
{
    const char *contract = self->table.contract != NULL ? self->table.contract() : NULL;
    const char *name;
    int good = cJSON_AddNumberToObject(hello, "protocol", 1) != NULL &&
               put(hello, "subject", take_text(self->table.subject, KVC_SPEC_NAME_MAX, "name of its subject", error)) &&
               put(hello, "version", take_text(self->table.subject_version, VERSION_MAX, "version", error)) &&
               cJSON_AddObjectToObject(hello, "environment") != NULL && cJSON_AddArrayToObject(hello, "variants") != NULL &&
               cJSON_AddObjectToObject(hello, "unavailable") != NULL && cJSON_AddObjectToObject(hello, "specs") != NULL &&
               (self->table.script_suffix == NULL ||
                put(hello, "scripts", take_text(self->table.script_suffix, SUFFIX_MAX, "suffix of scripts", error))) &&
               (contract == NULL || put(hello, "contract", take_json(contract, "contract", 0, error)));

    for (size_t at = 0; good && (name = self->table.variant(at)) != NULL; at++) {
        if (at == VARIANTS_MAX)
            kvc_error_set(error, "the plugin has more than %d variants", VARIANTS_MAX);
        good = at < VARIANTS_MAX && add_variant(self, hello, name, error);
    }
    return good;
}

static kvc_drive hello(kvc_driver *driver, cJSON **out, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    cJSON *json = cJSON_CreateObject();

    error->text[0] = '\0';
    if (json != NULL && load(self, error) && fill_hello(self, json, error) && kvc_reply_check_hello(json, error)) {
        *out = json;
        return KVC_DROVE;
    }
    cJSON_Delete(json);
    if (error->text[0] == '\0')
        kvc_error_set(error, "not enough memory");
    return KVC_DRIVE_BAD;
}

static kvc_drive submit(kvc_driver *driver, const kvc_batch *batch, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;

    if (self->batches == KVC_BATCHES_IN_FLIGHT) {
        kvc_error_set(error, "too many batches in flight");
        return KVC_DRIVE_BAD;
    }
    if (batch->origins != NULL) {
        kvc_error_set(error, "%s: a plugin cannot be told in which rows tokens were: what a whole model predicts is compared for programs only",
                      batch->plan->variant);
        return KVC_DRIVE_BAD;
    }
    self->batch[self->batches++] = *batch;
    return KVC_DROVE;
}

/*
 * Numbers for the `count` tokens of one op, behind `next` others: from those that the sequence has, or as they come. NULL when memory is
 * short.
 */
static const int32_t *number_tokens(plugin_driver *self, const int32_t *numbers, int32_t next, int32_t count)
{
    if (numbers != NULL)
        return numbers + next;
    if (next + count > self->room) {
        int32_t *larger = realloc(self->numbers, 2 * (size_t)(next + count) * sizeof *larger);
        if (larger == NULL)
            return NULL;
        self->numbers = larger;
        for (; self->room < 2 * (next + count); self->room++)
            self->numbers[self->room] = self->room;
    }
    return self->numbers + next;
}

/* A cache for a batch; what the last one was made of may go into it. */
static kvc_cache *open_cache(plugin_driver *self, const kvc_plan *plan)
{
    kvc_cache *before = self->cache;

    self->cache = NULL;
    if (before != NULL && self->table.reopen != NULL)
        return self->table.reopen(before, plan->variant, &plan->params, plan->parts, plan->layer_words);
    if (before != NULL)
        self->table.close(before);
    return self->table.open(plan->variant, &plan->params, plan->parts, plan->layer_words);
}

static int begin(kvc_driver *driver, const kvc_plan *plan, int another, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;

    self->next = 0;
    if (self->cache == NULL || another)
        self->cache = open_cache(self, plan);
    if (self->cache == NULL)
        kvc_error_set(error, "%s: the plugin could not make the cache", plan->variant);
    return self->cache != NULL;
}

/*
 * Before an op. A cache of this program says nothing of layers that it does not have: behind those of the op before all is clear.
 */
static inline void clear(plugin_driver *self)
{
    kvc_observation *out = &self->observation;
    int32_t layers = out->layers;

    if (self->given == NULL || !self->cleared) {
        kvc_observation_clear(out);
        self->cleared = 1;
        return;
    }
    for (int32_t layer = 0; layer < layers; layer++)
        out->length[layer] = out->mask_length[layer] = out->mask_offset[layer] = out->position[layer] = KVC_ABSENT;
    out->outcome = out->layers = out->tensors = 0;
    out->claim = -1;
    out->error_kind = out->error_text = "";
}

static const kvc_observation *perform(kvc_driver *driver, const kvc_op *op, const int32_t *numbers, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    int32_t count = kvc_op_tokens(op);
    const int32_t *of_op = NULL;

    if (count > 0) {
        of_op = number_tokens(self, numbers, self->next, count);
        self->next += count;
    }
    clear(self);
    self->table.run(self->cache, op, of_op, &self->observation);
    /* Of a table that is part of this program the same is tested. */
    if (self->given == NULL && !kvc_observed_check(&self->observed, &self->observation, error)) {
        self->table.close(self->cache);
        self->cache = NULL;
        return NULL;
    }
    return &self->observation;
}

static void finish(kvc_driver *driver)
{
    plugin_driver *self = (plugin_driver *)driver;

    if (self->table.renew == NULL || !self->table.renew(self->cache)) {
        self->table.close(self->cache);
        self->cache = NULL;
    }
}

static kvc_drive collect(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    kvc_batch batch = self->batch[0];

    if (self->batches == 0) {
        kvc_error_set(error, "no batch in flight");
        return KVC_DRIVE_BAD;
    }
    self->batches--;
    memmove(self->batch, self->batch + 1, (size_t)self->batches * sizeof batch);
    for (size_t at = 0; at < batch.count; at++) {
        const kvc_sequence *sequence = &batch.sequence[at];
        const int32_t *numbers = batch.numbers != NULL ? batch.numbers[at] : NULL;
        /* A crash while the cache is opened belongs to this sequence. */
        if (at == 0 || self->cache == NULL)
            (void)step(context, at, 0, NULL);
        if (!begin(driver, batch.plan, at == 0, error)) {
            self->batches = 0;
            return KVC_DRIVE_BAD;
        }
        for (int op = 0; op < sequence->count; op++) {
            const kvc_observation *shown;
            (void)step(context, at, op, NULL);
            shown = perform(driver, &sequence->op[op], numbers, error);
            if (shown == NULL) {
                self->batches = 0;
                return KVC_DRIVE_BAD;
            }
            if (step(context, at, op, shown))
                break;
        }
        finish(driver);
    }
    return KVC_DROVE;
}

static kvc_drive script(kvc_driver *driver, const char *request, char **out, kvc_error *error)
{
    plugin_driver *self = (plugin_driver *)driver;
    size_t room = SCRIPT_ROOM;
    size_t length;

    if (!load(self, error))
        return KVC_DRIVE_BAD;
    for (;;) {
        *out = calloc(1, room);
        if (*out == NULL) {
            kvc_error_set(error, "not enough memory");
            return KVC_DRIVE_BAD;
        }
        length = self->table.script != NULL ? self->table.script(request, *out, room) : 0;
        if (length < room && (*out)[length] == '\0')
            return KVC_DROVE;
        free(*out);
        *out = NULL;
        if (length >= SCRIPT_MAX || length < room) {
            kvc_error_set(error, "the plugin's script: expected less than 1 MiB and a zero byte at its end");
            return KVC_DRIVE_BAD;
        }
        room = length + 1;
    }
}

static void close_driver(kvc_driver *driver)
{
    plugin_driver *self = (plugin_driver *)driver;

    if (self->cache != NULL)
        self->table.close(self->cache);
    free(self->numbers);
    free(self);
}

kvc_driver *kvc_plugin_driver_open(const kvc_plugin *plugin, const char *path)
{
    static const kvc_driver_table table = {hello, submit, collect, script, NULL, NULL, close_driver, NULL, begin, perform, finish};
    plugin_driver *self = calloc(1, sizeof *self);

    if (self == NULL)
        return NULL;
    self->base.table = &table;
    self->base.in_process = 1;
    self->given = plugin;
    self->path = path;
    self->numbers = malloc(NUMBERS_KEPT * sizeof *self->numbers);
    if (self->numbers == NULL) {
        free(self);
        return NULL;
    }
    for (; self->room < NUMBERS_KEPT; self->room++)
        self->numbers[self->room] = self->room;
    return &self->base;
}
