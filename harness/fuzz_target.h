/*
 * One variant of a plugin for fuzzers that bring their own engine (libFuzzer, AFL++): bytes are decoded, performed in this process and judged.
 */
#ifndef KVC_HARNESS_FUZZ_TARGET_H
#define KVC_HARNESS_FUZZ_TARGET_H

#include <cjson/cJSON.h>

#include "harness/decode.h"
#include "harness/finding.h"

typedef struct kvc_fuzz_target kvc_fuzz_target;

/* Called after each op that was judged, and conforms: its kind and the code of its situation. */
typedef void (*kvc_fuzz_reached)(void *context, int op, int situation);

/*
 * Loads the plugin; kvconform's data is found as the program finds it. `variant` NULL: the plugin's first. NULL with *error set.
 */
kvc_fuzz_target *kvc_fuzz_target_load(const char *library, const char *variant, kvc_error *error);
/* The same of a plugin's hello alone, for who only makes sequences: nothing can be run. */
kvc_fuzz_target *kvc_fuzz_target_of_hello(const char *text, const char *variant, kvc_error *error);
void kvc_fuzz_target_close(kvc_fuzz_target *target);
/* The plugin's hello as JSON text, for kvc_fuzz_target_of_hello; the caller frees it with cJSON_free. */
char *kvc_fuzz_target_hello(const kvc_fuzz_target *target);
/* For shrinking: a bench without a crew. It and the others belong to the target. */
const kvc_bench *kvc_fuzz_target_bench(const kvc_fuzz_target *target);
const kvc_choice *kvc_fuzz_target_choice(const kvc_fuzz_target *target);
kvc_model *kvc_fuzz_target_model(kvc_fuzz_target *target);

/*
 * Runs the sequence of these bytes. Returns 1 when it conforms, 0 when it does not, with *title saying what is wrong in a line of
 * `size` bytes, or -1 with *error set. A crash of the cache is one of this process.
 */
int kvc_fuzz_target_try(kvc_fuzz_target *target, const uint8_t *data, size_t length, kvc_fuzz_reached reached, void *context,
                        char *title, size_t size, kvc_error *error);

#endif
