/* For dladdr. */
#define _GNU_SOURCE
#include "harness/instrumented.h"

#include <dlfcn.h>
#include <string.h>

enum { REGIONS_MAX = 64, TABLE = 1 << 16, MODULE_MAX = 1 << 26 };

/* The one state that is not handed around: instrumented code calls these functions with nothing of ours. */
static struct {
    uint8_t *begin[REGIONS_MAX]; /* counters that lie in the plugin */
    uint8_t *end[REGIONS_MAX];
    int regions;
    uint8_t table[TABLE]; /* of guards and of addresses */
    uint32_t guards;
    uintptr_t module; /* where the plugin begins, for addresses */
    int table_used;
} state;

/* A runtime that brings functions of its own, as libFuzzer does, takes the place of these. */
#define INSTRUMENTED __attribute__((weak, visibility("default")))

INSTRUMENTED void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
INSTRUMENTED void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);
INSTRUMENTED void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
INSTRUMENTED void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
INSTRUMENTED void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop)
{
    for (int at = 0; at < state.regions; at++) {
        if (state.begin[at] == start)
            return;
    }
    if (state.regions < REGIONS_MAX && start < stop) {
        state.begin[state.regions] = start;
        state.end[state.regions++] = stop;
    }
}

void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop)
{
    (void)start;
    (void)stop;
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    if (start == stop || *start != 0)
        return;
    for (; start < stop; start++)
        *start = ++state.guards;
    state.table_used = 1;
}

static void count(uint32_t place)
{
    uint8_t *counter = &state.table[place % TABLE];

    *counter = (uint8_t)(*counter + (*counter < UINT8_MAX));
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    if (*guard != 0)
        count(*guard);
}

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t address = (uintptr_t)__builtin_return_address(0);

    if (address - state.module >= MODULE_MAX) {
        Dl_info info;
        void *pointer;
        memcpy(&pointer, &address, sizeof pointer);
        if (dladdr(pointer, &info) == 0)
            return;
        state.module = (uintptr_t)info.dli_fbase;
    }
    state.table_used = 1;
    count((uint32_t)(((address - state.module) * 0x9e3779b97f4a7c15u) >> 48));
}

void kvc_instrumented_reset(void)
{
    for (int at = 0; at < state.regions; at++)
        memset(state.begin[at], 0, (size_t)(state.end[at] - state.begin[at]));
    if (state.table_used)
        memset(state.table, 0, sizeof state.table);
}

static void collect_from(const uint8_t *counter, size_t size, uint32_t first, void (*each)(void *, uint32_t, uint8_t), void *context)
{
    for (size_t at = 0; at < size;) {
        uint64_t word;
        /* Most places were not run. */
        if (at + sizeof word <= size) {
            memcpy(&word, counter + at, sizeof word);
            if (word == 0) {
                at += sizeof word;
                continue;
            }
        }
        if (counter[at] != 0)
            each(context, first + (uint32_t)at, counter[at]);
        at++;
    }
}

void kvc_instrumented_collect(void (*each)(void *context, uint32_t place, uint8_t count), void *context)
{
    uint32_t first = TABLE;

    if (state.table_used)
        collect_from(state.table, TABLE, 0, each, context);
    for (int at = 0; at < state.regions; at++) {
        size_t size = (size_t)(state.end[at] - state.begin[at]);
        collect_from(state.begin[at], size, first, each, context);
        first += (uint32_t)size;
    }
}

size_t kvc_instrumented_places(void)
{
    size_t places = state.guards;

    for (int at = 0; at < state.regions; at++)
        places += (size_t)(state.end[at] - state.begin[at]);
    return places > 0 ? places : state.table_used ? TABLE : 0;
}
