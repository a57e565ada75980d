/*
 * Shards: the parts of a run that different machines run, `kvconform-shard/1`, and the result of them all.
 *
 * A shard's file has the head of a result and, of every variant of the whole run, an open entry (harness/portion.h) with the portions
 * that are its own. So a result is made of all shards and of nothing less.
 */
#ifndef KVC_HARNESS_SHARD_H
#define KVC_HARNESS_SHARD_H

#include "harness/record.h"

/* Adds to the head which part this is. */
void kvc_shard_begin(cJSON *shard, const kvc_options *options);
/*
 * Reads a shard's file and checks it; if `unfinished`, one that was cut short passes as one that was interrupted. The caller frees
 * *out with cJSON_Delete. Returns 0 with *error set.
 */
int kvc_shard_read(const char *path, int unfinished, cJSON **out, kvc_error *error);
/* The open entry of this variant, or NULL. `shard` may be NULL. */
const cJSON *kvc_shard_find(const cJSON *shard, const kvc_record_run *run);
/* Adds what `earlier` (may be NULL) has of variants and portions that the shard has not come to. Returns 0 when memory is short. */
int kvc_shard_keep(cJSON *shard, const cJSON *earlier);
/* What the shard itself found, in the form of a result. NULL with `error` set. */
cJSON *kvc_shard_show(const cJSON *shard, char *error, size_t error_size);

/* A document of the caller's; `name` stands for it in errors. */
typedef struct kvc_shard_input {
    const char *name;
    cJSON *json;
} kvc_shard_input;

int kvc_shard_is(const cJSON *document);
/*
 * Replaces the shards among the documents by the results that they make, in place. *count becomes the number of documents left, whose
 * names are those of the first shards. Returns 0 with *error set: a shard that is missing, there twice, interrupted, or of another run.
 */
int kvc_shards_join(kvc_shard_input *input, size_t *count, kvc_error *error);

#endif
