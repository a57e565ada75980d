/*
 * A plugin with one fault, FAULT, built around the example: each must give one clear line or a finding, and harm nothing else.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define kvconform_plugin good_plugin
#include "examples/my_cache.c"
#undef kvconform_plugin

enum fault {
    none,
    /* Harmless. */
    older, newer_unused, prints,
    /* The table. */
    null_table, version_zero, version_newer, size_small, size_huge, newer_function, subject_null, version_null, variant_null,
    open_null, run_null, close_null,
    /* Before the first op. */
    constructor_aborts, constructor_exits, constructor_hangs, entry_crashes, variant_hangs, variants_endless, subject_endless,
    variant_endless, variant_twice, variant_odd, variant_changes, no_variants, spec_garbage, spec_unknown, spec_endless, spec_deep, contract_garbage,
    contract_of_another, contract_taken, unavailable_endless,
    /* In an op. */
    open_fails, open_crashes, close_crashes, close_hangs, run_crashes, run_exits, run_closes_all, run_hangs, run_leaks, outcome_odd, claim_odd, layers_many,
    tensors_many, tensors_negative, name_null, name_empty, name_endless, name_unmapped, dims_many, dims_negative, dtype_unknown,
    shape_negative, shape_overflows, data_null, data_unmapped, stride_negative, stride_huge, stride_overlaps, error_null,
    error_endless
};

static char endless[1 << 21];

static const char *forever(void)
{
    memset(endless, 'a', sizeof endless);
    return endless;
}

static const void *unmapped(void)
{
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page;
}

static void crash(void)
{
    abort();
}

static void hang(void)
{
    for (;;)
        (void)sleep(1);
}

__attribute__((constructor)) static void construct(void)
{
    if (FAULT == constructor_aborts)
        abort();
    if (FAULT == constructor_exits)
        exit(0);
    if (FAULT == constructor_hangs)
        hang();
}

static const char *bad_variant(size_t index)
{
    static char name[32];

    switch ((enum fault)FAULT) {
    case variant_hangs:
        hang();
        return NULL;
    case variants_endless:
        (void)snprintf(name, sizeof name, "v%zu", index);
        return name;
    case variant_endless:
        return index == 0 ? forever() : NULL;
    case variant_twice:
        return index < 2 ? "Full" : NULL;
    case variant_odd:
        return index == 0 ? "Fu\x1b[31mll" : NULL;
    case variant_changes:
        (void)snprintf(name, sizeof name, "v%ld", (long)getpid());
        return index == 0 ? name : NULL;
    case no_variants:
        return NULL;
    default:
        return variant(index);
    }
}

static const char *bad_spec(const char *name)
{
    switch ((enum fault)FAULT) {
    case spec_garbage:
        return "{\"like\": \"builtin:full\", \"rules\": 1}";
    case spec_unknown:
        return "builtin:fool";
    case spec_endless:
        return forever();
    case spec_deep:
        memset(endless, '{', sizeof endless);
        endless[sizeof endless / 4] = '\0';
        return endless;
    default:
        return spec(name);
    }
}

static const char *bad_contract(void)
{
    switch ((enum fault)FAULT) {
    case contract_garbage:
        return "{\"schema\": \"kvconform-contract/1\", \"id\": \"my_cache-1\"";
    case contract_of_another:
        return "{\"schema\": \"kvconform-contract/1\", \"id\": \"x\", \"subject\": \"builtin\", \"from\": \"1\", \"rules\": []}";
    case contract_taken:
        return "{\"schema\": \"kvconform-contract/1\", \"id\": \"builtin-1\", \"subject\": \"my_cache\", \"from\": \"1\", \"rules\": []}";
    default:
        return NULL;
    }
}

static kvc_cache *bad_open(const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    if (FAULT == open_crashes)
        crash();
    return FAULT == open_fails ? NULL : open_cache(name, params, parts, layers);
}

static void bad_close(kvc_cache *cache)
{
    if (FAULT == close_crashes)
        crash();
    if (FAULT == close_hangs)
        hang();
    close_cache(cache);
}

static const char *bad_unavailable(const char *name)
{
    (void)name;
    return FAULT == unavailable_endless ? forever() : NULL;
}

/* What is done with the process. */
static void misbehave(void)
{
    switch ((enum fault)FAULT) {
    case prints:
        (void)puts("noise");
        (void)fflush(stdout);
        break;
    case variant_changes: /* it is loaded again, by the next worker at the latest */
    case run_crashes:
        crash();
        break;
    case run_exits:
        exit(0);
    case run_closes_all:
        for (int at = 3; at < 256; at++)
            (void)close(at);
        break;
    case run_hangs:
        hang();
        break;
    case run_leaks: {
        size_t size = (size_t)64 << 20;
        char *block = (char *)malloc(size);
        for (size_t at = 0; block != NULL && at < size; at += 1024)
            block[at] = 1;
        break;
    }
    default:
        break;
    }
}

static void bad_run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    kvc_tensor *first = &out->tensor[0];

    misbehave();
    run(cache, op, numbers, out);
    switch ((enum fault)FAULT) {
    case outcome_odd:
        out->outcome = 7;
        break;
    case claim_odd:
        out->claim = -9;
        break;
    case layers_many:
        out->layers = 1 << 30;
        break;
    case tensors_many:
        out->tensors = INT32_MAX;
        break;
    case tensors_negative:
        out->tensors = INT32_MIN;
        break;
    case name_null:
        first->name = NULL;
        break;
    case name_empty:
        first->name = "";
        break;
    case name_endless:
        first->name = forever();
        break;
    case name_unmapped:
        first->name = (const char *)unmapped();
        break;
    case dims_many:
        first->dims = 1 << 30;
        break;
    case dims_negative:
        first->dims = -1;
        break;
    case dtype_unknown:
        first->dtype = 99;
        break;
    case shape_negative:
        first->shape[2] = -1;
        break;
    case shape_overflows:
        for (int at = 0; at < 4; at++)
            first->shape[at] = (int64_t)1 << 62;
        break;
    case data_null:
        first->data = NULL;
        break;
    case data_unmapped:
        first->data = unmapped();
        break;
    case stride_negative:
        first->stride[0] = -4096;
        break;
    case stride_huge:
        for (int at = 0; at < 4; at++)
            first->stride[at] = INT64_MAX;
        break;
    case stride_overlaps:
        for (int at = 0; at < 4; at++)
            first->stride[at] = 1;
        break;
    case error_null:
        out->error_text = NULL;
        break;
    case error_endless:
        out->outcome = 1;
        out->error_text = forever();
        break;
    default:
        break;
    }
}

/* A table with functions behind those that this header knows. */
static struct {
    kvc_plugin known;
    void (*later)(void);
} table;

KVCONFORM_EXPORT const kvc_plugin *kvconform_plugin(void);

const kvc_plugin *kvconform_plugin(void)
{
    kvc_plugin *plugin = &table.known;

    if (FAULT == entry_crashes)
        crash();
    *plugin = *good_plugin();
    plugin->variant = bad_variant;
    plugin->spec = bad_spec;
    plugin->contract = bad_contract;
    plugin->open = bad_open;
    plugin->run = bad_run;
    plugin->close = bad_close;
    plugin->unavailable = bad_unavailable;
    switch ((enum fault)FAULT) {
    case null_table:
        return NULL;
    case version_zero:
        plugin->version = 0;
        break;
    case version_newer:
        plugin->version = KVC_PLUGIN_VERSION + 1;
        break;
    case older:
        plugin->size = offsetof(kvc_plugin, renew);
        plugin->renew = (int (*)(kvc_cache *))(void (*)(void))crash;
        break;
    case size_small:
        plugin->size = 16;
        break;
    case size_huge:
        plugin->size = UINT32_MAX;
        break;
    case newer_unused:
        plugin->size = sizeof table;
        break;
    case newer_function:
        plugin->size = sizeof table;
        table.later = crash;
        break;
    case subject_null:
        plugin->subject = NULL;
        break;
    case subject_endless:
        plugin->subject = forever();
        break;
    case version_null:
        plugin->subject_version = NULL;
        break;
    case variant_null:
        plugin->variant = NULL;
        break;
    case open_null:
        plugin->open = NULL;
        break;
    case run_null:
        plugin->run = NULL;
        break;
    case close_null:
        plugin->close = NULL;
        break;
    default:
        break;
    }
    return plugin;
}
