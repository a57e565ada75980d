/*
 * The custom mutator of AFL++ for fuzz/cache.c: changes sequences op by op, takes ops from other entries of the queue, and trims with kvconform's
 * shrinker. KVCONFORM_HELLO names the file with the plugin's hello, KVCONFORM_VARIANT the variant; without a hello nothing is trimmed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate.h"
#include "harness/trim.h"
#include "reference/json.h"

/* A step number that ends a trimming. */
enum { STEPS = 1 << 20, HELLO_MAX = 4 << 20 };

typedef struct mutator {
    kvc_random random;
    kvc_fuzz_target *target; /* NULL: nothing is trimmed */
    kvc_trim *trim;
    kvc_bytes bytes;
    int step;
} mutator;

void *afl_custom_init(void *afl, unsigned int seed);
void afl_custom_deinit(void *data);
size_t afl_custom_fuzz(void *data, uint8_t *in, size_t size, uint8_t **out, uint8_t *add, size_t add_size, size_t max_size);
int32_t afl_custom_init_trim(void *data, uint8_t *in, size_t size);
size_t afl_custom_trim(void *data, uint8_t **out);
int32_t afl_custom_post_trim(void *data, uint8_t success);

void *afl_custom_init(void *afl, unsigned int seed)
{
    mutator *self = calloc(1, sizeof *self);
    const char *path = getenv("KVCONFORM_HELLO");
    char *hello = NULL;
    size_t length = 0;
    kvc_error error = {""};

    (void)afl;
    if (self == NULL)
        return NULL;
    self->random = kvc_random_for(seed, "AFL++", 0);
    if (path == NULL)
        return self;
    if (kvc_file_read(path, HELLO_MAX, &hello, &length, &error))
        self->target = kvc_fuzz_target_of_hello(hello, getenv("KVCONFORM_VARIANT"), &error);
    free(hello);
    if (self->target != NULL)
        self->trim = kvc_trim_open(self->target);
    if (self->trim == NULL) {
        (void)fprintf(stderr, "kvconform: %s\n", error.text[0] != '\0' ? error.text : "not enough memory");
        afl_custom_deinit(self);
        return NULL;
    }
    return self;
}

void afl_custom_deinit(void *data)
{
    mutator *self = data;

    kvc_trim_close(self->trim);
    kvc_fuzz_target_close(self->target);
    free(self);
}

size_t afl_custom_fuzz(void *data, uint8_t *in, size_t size, uint8_t **out, uint8_t *add, size_t add_size, size_t max_size)
{
    mutator *self = data;
    kvc_bytes other;
    int records = max_size > KVC_BYTES_HEADER ? (int)((max_size - KVC_BYTES_HEADER) / KVC_BYTES_RECORD) : 0;

    kvc_bytes_take(in, size, &self->bytes);
    if (add != NULL)
        kvc_bytes_take(add, add_size, &other);
    kvc_mutate(&self->bytes, add != NULL ? &other : NULL, 1, records, &self->random);
    *out = self->bytes.byte;
    return (size_t)self->bytes.size < max_size ? (size_t)self->bytes.size : max_size;
}

int32_t afl_custom_init_trim(void *data, uint8_t *in, size_t size)
{
    mutator *self = data;

    self->step = 0;
    return self->trim != NULL && kvc_trim_begin(self->trim, in, size) > 0 ? STEPS : 0;
}

size_t afl_custom_trim(void *data, uint8_t **out)
{
    mutator *self = data;

    self->bytes = *kvc_trim_candidate(self->trim);
    *out = self->bytes.byte;
    return (size_t)self->bytes.size;
}

int32_t afl_custom_post_trim(void *data, uint8_t success)
{
    mutator *self = data;

    return kvc_trim_answer(self->trim, success) > 0 ? ++self->step : STEPS;
}
