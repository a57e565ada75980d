/*
 * The bare C loop: makes the calls on a built-in cache that kvconform makes for the same sequences, and looks at nothing.
 * Only the calls are timed, in processor time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "adapters/builtin/builtin.h"
#include "bench/blocks.h"

enum { TOKENS_IN_SEQUENCE_MAX = 4096 };

static int64_t now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Performs all sequences of a block. Returns 0 when the cache cannot be made. */
static int perform(const kvc_plugin *plugin, const kvc_block *block, const int32_t *numbers, kvc_observation *seen)
{
    const kvc_plan *plan = block->plan;
    kvc_cache *cache = NULL;

    for (int at = 0; at < block->count; at++) {
        const kvc_sequence *sequence = &block->sequence[at];
        int32_t next = 0;
        if (cache == NULL)
            cache = plugin->open(plan->variant, &plan->params, plan->parts, plan->layer_words);
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
    plugin->close(cache);
    return 1;
}

static int run(const char *variant, uint64_t seed, uint64_t start, uint64_t end, kvc_error *error)
{
    const kvc_plugin *plugin = kvc_builtin_plugin();
    kvc_blocks blocks;
    kvc_block *block = malloc(sizeof *block);
    kvc_observation *seen = calloc(1, sizeof *seen);
    int32_t *numbers = malloc(TOKENS_IN_SEQUENCE_MAX * sizeof *numbers);
    uint64_t ops = 0;
    int64_t taken = 0;
    int more = kvc_blocks_open(&blocks, plugin->subject, plugin->subject_version, variant, seed, start, end, error);
    int good = more;

    if (good && (block == NULL || seen == NULL || numbers == NULL)) {
        kvc_error_set(error, "not enough memory");
        good = 0;
    }
    for (int32_t at = 0; good && at < TOKENS_IN_SEQUENCE_MAX; at++)
        numbers[at] = at;
    while (good && (more = kvc_blocks_next(&blocks, block, error)) > 0) {
        int64_t begin = now_ns();
        good = perform(plugin, block, numbers, seen);
        taken += now_ns() - begin;
        ops += block->ops;
        if (!good)
            kvc_error_set(error, "%s: the cache could not be made", variant);
    }
    good = good && more == 0;
    if (good)
        (void)printf("{\"ops\": %" PRIu64 ", \"seconds\": %.6f}\n", ops, (double)taken / 1e9);
    kvc_blocks_close(&blocks);
    free(block);
    free(seen);
    free(numbers);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t seed;
    uint64_t start;
    uint64_t end;
    kvc_error error = {""};

    if (argc != 5 || !kvc_blocks_number(argv[2], &seed) || !kvc_blocks_number(argv[3], &start) ||
        !kvc_blocks_number(argv[4], &end)) {
        (void)fprintf(stderr, "usage: bare_plugin VARIANT SEED START END\n"
                              "example: bare_plugin full 1 20000 120000\n");
        return 2;
    }
    if (run(argv[1], seed, start, end, &error))
        return 0;
    (void)fprintf(stderr, "bare_plugin: %s\n", error.text);
    return 1;
}
