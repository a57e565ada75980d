#include "harness/prediction_memo.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 512, KEY_MAX = sizeof(kvc_params) + KVC_OPS_MAX * 2 * sizeof(int32_t) + KVC_KEPT_MAX * (sizeof(int32_t) + KVC_ROWS_MAX) };

typedef struct entry {
    uint8_t *key; /* owned; NULL: free */
    size_t size;
    kvc_prediction prediction;
    int failed;
} entry;

struct kvc_prediction_memo {
    entry entry[ENTRIES];
};

typedef struct key {
    size_t size;
    uint8_t byte[KEY_MAX];
} key;

static void put(key *self, const void *from, size_t size)
{
    memcpy(self->byte + self->size, from, size);
    self->size += size;
}

static void make_key(const kvc_params *params, const kvc_sequence *appends, const kvc_kept *kept, key *out)
{
    out->size = 0;
    put(out, params, sizeof *params);
    for (int at = 0; at < appends->count; at++) {
        int32_t kind = appends->op[at].kind;
        put(out, &kind, sizeof kind);
        put(out, &appends->op[at].n, sizeof appends->op[at].n);
    }
    put(out, kept->number, (size_t)kept->count * sizeof kept->number[0]);
    put(out, kept->origin, (size_t)kept->count * sizeof kept->origin[0]);
}

/* FNV-1a. */
static size_t place_of(const key *self)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t at = 0; at < self->size; at++)
        hash = (hash ^ self->byte[at]) * 0x100000001b3u;
    return (size_t)((hash ^ hash >> 32) % ENTRIES);
}

kvc_prediction_memo *kvc_prediction_memo_open(void)
{
    return calloc(1, sizeof(kvc_prediction_memo));
}

void kvc_prediction_memo_forget(kvc_prediction_memo *memo)
{
    for (size_t at = 0; at < ENTRIES; at++) {
        free(memo->entry[at].key);
        kvc_prediction_clear(&memo->entry[at].prediction);
    }
    memset(memo, 0, sizeof *memo);
}

void kvc_prediction_memo_close(kvc_prediction_memo *memo)
{
    if (memo == NULL)
        return;
    kvc_prediction_memo_forget(memo);
    free(memo);
}

int kvc_prediction_memo_find(const kvc_prediction_memo *memo, const kvc_params *params, const kvc_sequence *appends, const kvc_kept *kept,
                             kvc_prediction *out, int *failed)
{
    const entry *found;
    key wanted;

    make_key(params, appends, kept, &wanted);
    found = &memo->entry[place_of(&wanted)];
    if (found->key == NULL || found->size != wanted.size || memcmp(found->key, wanted.byte, wanted.size) != 0)
        return 0;
    *failed = found->failed;
    return kvc_prediction_copy(out, &found->prediction) ? 1 : -1;
}

int kvc_prediction_memo_add(kvc_prediction_memo *memo, const kvc_params *params, const kvc_sequence *appends, const kvc_kept *kept,
                            const kvc_prediction *prediction, int failed)
{
    entry *place;
    uint8_t *bytes;
    key wanted;

    make_key(params, appends, kept, &wanted);
    place = &memo->entry[place_of(&wanted)];
    bytes = malloc(wanted.size);
    if (bytes == NULL)
        return 0;
    free(place->key);
    place->key = NULL;
    if (!kvc_prediction_copy(&place->prediction, prediction)) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, wanted.byte, wanted.size);
    place->key = bytes;
    place->size = wanted.size;
    place->failed = failed;
    return 1;
}
