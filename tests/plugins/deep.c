/*
 * The cache of examples/my_cache.c with a fault that lies deep: it shows behind DEPTH calls of one kind and size each, in this order, and of
 * these each has a line of its own. Whoever looks at which lines were run comes there step by step, chance does not. -DFAULT=1 reports a
 * wrong length, 2 writes past the end of memory, 3 never comes back.
 */
#include <unistd.h>

#define kvconform_plugin plugin_without_fault
#include "examples/my_cache.c"
#undef kvconform_plugin

#ifndef FAULT
#define FAULT 1
#endif
#ifndef DEPTH
#define DEPTH 4
#endif

static int depth; /* calls of the way that were made */

static int is_next(const kvc_op *op)
{
    switch (depth) {
    case 0:
        return op->kind == KVC_APPEND && op->n == 5;
    case 1:
        return op->kind == KVC_CROP && op->n == -2;
    case 2:
        return op->kind == KVC_APPEND && op->n == 4;
    case 3:
        return op->kind == KVC_RESET;
    case 4:
        return op->kind == KVC_APPEND && op->n == 6;
    default:
        return op->kind == KVC_CROP && op->n == -3;
    }
}

/* One line for each step of the way. */
static void go_on(void)
{
    switch (depth) {
    case 0:
        depth = 1;
        break;
    case 1:
        depth = 2;
        break;
    case 2:
        depth = 3;
        break;
    case 3:
        depth = 4;
        break;
    case 4:
        depth = 5;
        break;
    default:
        depth = 6;
        break;
    }
}

static void fail(kvc_observation *out)
{
    if (FAULT == 2) {
        volatile char *memory = malloc(16);
        memory[16 + depth] = 1;
        free((void *)memory);
    }
    while (FAULT == 3)
        (void)pause(); /* a hang that takes no processor */
    out->length[0]++;
}

static void run_deep(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    run(cache, op, numbers, out);
    if (is_next(op))
        go_on();
    else
        depth = 0;
    if (depth == DEPTH)
        fail(out);
}

static kvc_cache *open_deep(const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    depth = 0;
    return open_cache(name, params, parts, layers);
}

const kvc_plugin *kvconform_plugin(void)
{
    static kvc_plugin plugin;

    plugin = *plugin_without_fault();
    plugin.open = open_deep;
    plugin.run = run_deep;
    return &plugin;
}
