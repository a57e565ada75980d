/*
 * A cache behind a plugin, as a target of libFuzzer, or with KVC_AFL of AFL++ in persistent mode; fuzz/cache builds both.
 *
 * KVCONFORM_PLUGIN names the shared object, KVCONFORM_VARIANT a variant of it (default: the first). A sequence that breaks a law ends the
 * process, so that the engine keeps it.
 */
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "harness/fuzz_target.h"
#include "harness/mutate.h"

enum { STATES = 1 << 12, TITLE = 512 };

static kvc_fuzz_target *target;

static void load(void)
{
    const char *plugin = getenv("KVCONFORM_PLUGIN");
    kvc_error error = {"KVCONFORM_PLUGIN: expected the path of a plugin, such as ./my_cache.so"};

    if (plugin != NULL)
        target = kvc_fuzz_target_load(plugin, getenv("KVCONFORM_VARIANT"), &error);
    if (target == NULL) {
        (void)fprintf(stderr, "kvconform: %s\n", error.text);
        exit(2);
    }
}

/*
 * What the model is in counts as coverage does: an engine sees that a sequence came to a situation that none came to before. How often it did
 * is left out, for it says little and makes many sequences look new.
 */
static uint8_t counted[STATES];

static uint8_t *state_of(int op, int situation)
{
    return &counted[kvc_random_scramble((uint64_t)(op * KVC_SITUATIONS + situation)) % STATES];
}

#ifdef KVC_AFL
static uint32_t state[STATES];
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

static void count(size_t at)
{
    __sanitizer_cov_trace_pc_guard(&state[at]);
}
#else
/* Read by nobody here: without `volatile` the compiler would leave it out. */
__attribute__((section("__libfuzzer_extra_counters"))) static volatile uint8_t state[STATES];

static void count(size_t at)
{
    state[at] = 1;
}
#endif

static void reached(void *context, int op, int situation)
{
    uint8_t *once = state_of(op, situation);

    (void)context;
    if (!*once)
        count((size_t)(once - counted));
    *once = 1;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    char title[TITLE];
    kvc_error error = {""};
    int verdict;

    memset(counted, 0, sizeof counted);
    verdict = kvc_fuzz_target_try(target, data, size, reached, NULL, title, sizeof title, &error);
    if (verdict == 1)
        return;
    (void)fprintf(stderr, "kvconform: %s\n", verdict == 0 ? title : error.text);
    abort();
}

#ifdef KVC_AFL
__AFL_FUZZ_INIT()

/* `--hello` prints what the plugin says of itself, which the mutator needs. */
int main(int argc, char **argv)
{
    unsigned char *data;

    load();
    if (argc > 1 && strcmp(argv[1], "--hello") == 0) {
        char *hello = kvc_fuzz_target_hello(target);
        int good = hello != NULL && puts(hello) >= 0;
        cJSON_free(hello);
        kvc_fuzz_target_close(target);
        return good ? 0 : 2;
    }
    __sanitizer_cov_trace_pc_guard_init(state, state + STATES);
    __AFL_INIT();
    data = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(100000))
        try_bytes(data, (size_t)__AFL_FUZZ_TESTCASE_LEN);
    return 0;
}
#else
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned int seed);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    load();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    return 0;
}

static size_t give(const kvc_bytes *bytes, uint8_t *out, size_t room)
{
    size_t size = (size_t)bytes->size < room ? (size_t)bytes->size : room;

    memcpy(out, bytes->byte, size);
    return size;
}

static int records_in(size_t room)
{
    return room > KVC_BYTES_HEADER ? (int)((room - KVC_BYTES_HEADER) / KVC_BYTES_RECORD) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    kvc_random random = kvc_random_for(seed, "libFuzzer", size);
    kvc_bytes bytes;

    kvc_bytes_take(data, size, &bytes);
    kvc_mutate(&bytes, NULL, 1, records_in(max_size), &random);
    return give(&bytes, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned int seed)
{
    kvc_random random = kvc_random_for(seed, "libFuzzer", one_size + two_size);
    kvc_bytes first;
    kvc_bytes second;
    kvc_bytes both;

    kvc_bytes_take(one, one_size, &first);
    kvc_bytes_take(two, two_size, &second);
    kvc_cross_over(&first, &second, records_in(out_size), &random, &both);
    return give(&both, out, out_size);
}
#endif
