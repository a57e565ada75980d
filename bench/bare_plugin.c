/*
 * The bare C loop: makes the calls on a cache behind the plugin interface that kvconform makes for the same sequences, and looks at
 * nothing. Beside it, block by block in turn, the same calls by kvconform's own driver, which also checks what is shown but does
 * not judge it: what it takes more is the cost of the interface. Only the calls are timed, in processor time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/builtin/builtin.h"
#include "bench/blocks.h"
#include "harness/driver.h"
#include "harness/plugin_load.h"

enum { TOKENS_IN_SEQUENCE_MAX = 4096 };

typedef struct loop {
    kvc_plugin plugin;
    kvc_driver *driver;
    int32_t *numbers;
    kvc_observation *seen;
    kvc_cache *cache; /* of the bare loop, or NULL */
    int64_t bare_ns;
    int64_t driver_ns;
    uint64_t ops;
} loop;

static int64_t now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A cache for a block, of what the last one was made of where the plugin can. */
static kvc_cache *open_cache(const kvc_plugin *plugin, kvc_cache *before, const kvc_plan *plan)
{
    if (before != NULL && plugin->reopen != NULL)
        return plugin->reopen(before, plan->variant, &plan->params, plan->parts, plan->layer_words);
    if (before != NULL)
        plugin->close(before);
    return plugin->open(plan->variant, &plan->params, plan->parts, plan->layer_words);
}

/* Performs all sequences of a block; *kept is the cache of the one before, or NULL. Returns 0 when the cache cannot be made. */
static int perform(const kvc_plugin *plugin, kvc_cache **kept, const kvc_block *block, const int32_t *numbers, kvc_observation *seen)
{
    kvc_cache *cache = *kept;

    for (int at = 0; at < block->count; at++) {
        const kvc_sequence *sequence = &block->sequence[at];
        int32_t next = 0;
        if (cache == NULL || at == 0)
            cache = open_cache(plugin, cache, block->plan);
        *kept = cache;
        if (cache == NULL)
            return 0;
        for (int op = 0; op < sequence->count; op++) {
            const kvc_op *what = &sequence->op[op];
            if (what->kind == KVC_APPEND && next + what->n > TOKENS_IN_SEQUENCE_MAX)
                break;
            kvc_observation_clear(seen);
            plugin->run(cache, what, what->kind == KVC_APPEND ? numbers + next : NULL, seen);
            next += what->kind == KVC_APPEND ? what->n : 0;
        }
        if (plugin->renew == NULL || !plugin->renew(cache)) {
            plugin->close(cache);
            cache = NULL;
        }
    }
    *kept = cache;
    return 1;
}

static int look_away(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    (void)context;
    (void)sequence;
    (void)step;
    (void)observation;
    return 0;
}

static int drive(kvc_driver *driver, const kvc_block *block, kvc_error *error)
{
    kvc_batch batch = {block->plan, (size_t)block->count, block->sequence, NULL, NULL, 0};

    return kvc_driver_submit(driver, &batch, error) == KVC_DROVE &&
           kvc_driver_collect(driver, look_away, NULL, error) == KVC_DROVE;
}

/* One block in both ways; which comes first takes turns. */
static int time_block(loop *self, const kvc_block *block, int turn, kvc_error *error)
{
    for (int half = 0; half < 2; half++) {
        int64_t begin = now_ns();
        if (half == turn) {
            if (!perform(&self->plugin, &self->cache, block, self->numbers, self->seen)) {
                kvc_error_set(error, "%s: the cache could not be made", block->plan->variant);
                return 0;
            }
            self->bare_ns += now_ns() - begin;
        } else {
            if (!drive(self->driver, block, error))
                return 0;
            self->driver_ns += now_ns() - begin;
        }
    }
    self->ops += block->ops;
    return 1;
}

static int run(const char *name, const char *variant, const uint64_t span[3], kvc_error *error)
{
    const kvc_plugin *builtin = strcmp(name, "builtin") == 0 ? kvc_builtin_plugin() : NULL;
    loop self = {.driver = kvc_plugin_driver_open(builtin, name)};
    kvc_blocks blocks = {.generator = NULL};
    kvc_block *block = malloc(sizeof *block);
    cJSON *hello = NULL;
    int turn = 0;
    int more = 1;
    int good = builtin != NULL ? kvc_plugin_check(builtin, name, &self.plugin, error) : kvc_plugin_load(name, &self.plugin, error);

    self.seen = calloc(1, sizeof *self.seen);
    self.numbers = malloc(TOKENS_IN_SEQUENCE_MAX * sizeof *self.numbers);
    if (good && (block == NULL || self.driver == NULL || self.seen == NULL || self.numbers == NULL)) {
        kvc_error_set(error, "not enough memory");
        good = 0;
    }
    for (int32_t at = 0; good && at < TOKENS_IN_SEQUENCE_MAX; at++)
        self.numbers[at] = at;
    good = good && kvc_driver_hello(self.driver, &hello, error) == KVC_DROVE &&
           kvc_blocks_open(&blocks, hello, self.plugin.subject, self.plugin.subject_version, variant, span[0], span[1], span[2], error);
    while (good && (more = kvc_blocks_next(&blocks, block, error)) > 0) {
        good = time_block(&self, block, turn, error);
        turn = !turn;
    }
    good = good && more == 0;
    if (good)
        (void)printf("{\"ops\": %" PRIu64 ", \"seconds\": %.6f, \"driver_seconds\": %.6f}\n", self.ops,
                     (double)self.bare_ns / 1e9, (double)self.driver_ns / 1e9);
    if (self.cache != NULL)
        self.plugin.close(self.cache);
    kvc_driver_close(self.driver);
    kvc_blocks_close(&blocks);
    cJSON_Delete(hello);
    free(block);
    free(self.seen);
    free(self.numbers);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t span[3]; /* seed, start, end */
    kvc_error error = {""};
    int good = argc == 6;

    for (int at = 0; good && at < 3; at++)
        good = kvc_blocks_number(argv[3 + at], &span[at]);
    if (!good) {
        (void)fprintf(stderr, "usage: bare_plugin builtin|PATH VARIANT SEED START END\n"
                              "example: bare_plugin builtin full 1 20000 120000\n");
        return 2;
    }
    if (run(argv[1], argv[2], span, &error))
        return 0;
    (void)fprintf(stderr, "bare_plugin: %s\n", error.text);
    return 1;
}
