/* Ops that leave what a cache holds as it is: copies, saved caches, memory that is taken early or put away. */
#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of a layer what its variant uses. */
static void assign_layer(kvc_builtin_layer *out, const kvc_builtin_layer *from) {
    memcpy(out, from, offsetof(kvc_builtin_layer, part) + (size_t)from->info->parts * sizeof from->part[0]);
}

/* `out` is zeroed, or was a layer of this cache before: it keeps its memory, and can be closed whatever comes of it. */
static int duplicate_layer(kvc_builtin_layer *out, const kvc_builtin_layer *from) {
    int failed = 0;
    int32_t *open_tokens = out->open_tokens;
    kvc_store store[KVC_LAYER_PARTS_MAX];
    for (int i = 0; i < from->info->parts; i++) {
        store[i] = out->part[i].store;
    }
    assign_layer(out, from);
    out->open_tokens = open_tokens;
    for (int i = 0; i < from->info->parts; i++) {
        out->part[i].store = store[i];
        out->part[i].returned = NULL;
        failed |= kvc_store_duplicate(&out->part[i].store, &from->part[i].store) != 0;
    }
    if (from->open_tokens != NULL) {
        size_t size = ((size_t)from->params->block + 1) * sizeof *from->open_tokens;
        int32_t *tokens = realloc(out->open_tokens, size); /* blocks may have been smaller */
        if (tokens == NULL) {
            return -1;
        }
        out->open_tokens = tokens;
        memcpy(tokens, from->open_tokens, size);
    }
    return failed ? -1 : 0;
}

static void share(kvc_store *copy, const kvc_store *original) {
    if (!copy->borrowed) {
        free(copy->data);
    }
    copy->data = original->data;
    copy->data_room = original->data_room;
    copy->borrowed = 1;
}

/* What the broken caches do to a copy. */
static void spoil_copy(kvc_builtin_layer *copy, kvc_builtin_layer *original) {
    for (int i = 0; i < copy->info->parts; i++) {
        kvc_part_name name = (kvc_part_name)copy->part[i].info->name;
        kvc_store *store = &copy->part[i].store;
        switch (copy->fault) {
        case KVC_FAULT_COPY_SHARES_VALUES:
            if (name == KVC_NAME_VALUES) {
                share(store, &original->part[i].store);
            }
            break;
        case KVC_FAULT_COPY_SHARES_BUFFERS:
            share(store, &original->part[i].store);
            break;
        case KVC_FAULT_COPY_FIRST_ONLY:
            if (copy->number > 0) {
                share(store, &original->part[i].store);
            }
            break;
        case KVC_FAULT_COPY_EMPTIES_ORIGINAL:
            original->part[i].store.count = 0;
            break;
        case KVC_FAULT_COPY_FORGETS_STATES:
            store->count = name == KVC_NAME_CONVOLUTION ? 0 : store->count;
            break;
        default:
            break;
        }
    }
    copy->recording &= copy->fault != KVC_FAULT_COPY_LOSES_RECORDING;
}

static void put_aside(kvc_cache *cache, kvc_builtin_original *original) {
    original->next = cache->aside;
    cache->aside = original;
}

/* The cache becomes a duplicate of itself; what it was is the original. */
static kvc_builtin_original *duplicate(kvc_cache *cache) {
    kvc_builtin_original *out = cache->aside;
    int failed = 0;
    if (out == NULL) {
        out = calloc(1, sizeof *out + (size_t)cache->layers * sizeof out->layer[0]);
        if (out == NULL) {
            return NULL;
        }
        out->layers = cache->layers;
    } else {
        cache->aside = out->next;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        failed |= duplicate_layer(&out->layer[i], &cache->layer[i]) != 0;
    }
    if (failed) {
        put_aside(cache, out);
        return NULL;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        kvc_builtin_layer copy;
        assign_layer(&copy, &out->layer[i]);
        assign_layer(&out->layer[i], &cache->layer[i]);
        out->layer[i].is_original = 1;
        assign_layer(&cache->layer[i], &copy);
    }
    return out;
}

static void close_original(kvc_builtin_original *original) {
    for (int32_t i = 0; i < original->layers; i++) {
        kvc_builtin_layer_close(&original->layer[i]);
    }
    free(original);
}

static const kvc_refusal *copy_cache(kvc_cache *cache) {
    kvc_builtin_original *original = duplicate(cache);
    if (original == NULL) {
        return &kvc_refusal_memory;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        spoil_copy(&cache->layer[i], &original->layer[i]);
    }
    /* Originals stay until the end: a broken copy may lean on one. */
    original->next = cache->original;
    cache->original = original;
    return NULL;
}

static const kvc_refusal *restore_cache(kvc_cache *cache) {
    kvc_builtin_original *original = duplicate(cache);
    if (original == NULL) {
        return &kvc_refusal_memory;
    }
    put_aside(cache, original);
    for (int32_t i = 0; i < cache->layers; i++) {
        if (cache->fault == KVC_FAULT_PICKLE_LOSES_COUNT) {
            cache->layer[i].length = 0;
        }
    }
    return NULL;
}

static void move_layer(kvc_builtin_layer *layer, int away) {
    if (layer->away == away) {
        return;
    }
    layer->away = away;
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_store *store = &layer->part[i].store;
        kvc_part_name name = (kvc_part_name)layer->part[i].info->name;
        kvc_store_move(store);
        if (layer->fault == KVC_FAULT_OFFLOAD_DROPS_VALUES && away && name == KVC_NAME_VALUES) {
            store->count = 0;
        }
        if (layer->fault == KVC_FAULT_PREFETCH_RESTORES_STALE && name == KVC_NAME_KEYS) {
            if (!away && store->count < layer->away_count && layer->length > 0) {
                store->count = layer->away_count;
            }
            layer->away_count = store->count;
        }
    }
}

static void initialize_layer(kvc_builtin_layer *layer) {
    if (layer->used) {
        return;
    }
    layer->early = 1;
    layer->length += layer->fault == KVC_FAULT_INITIALIZE_COUNTS;
    layer->lost_dtype |= layer->fault == KVC_FAULT_INITIALIZE_WRONG_DTYPE;
    layer->one_cell_short |= layer->fault == KVC_FAULT_INITIALIZE_ONE_CELL_SHORT;
}

const kvc_refusal *kvc_builtin_keep(kvc_cache *cache, const kvc_op *op) {
    if (op->kind == KVC_COPY) {
        return copy_cache(cache);
    }
    if (op->kind == KVC_PICKLE) {
        return restore_cache(cache);
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        if (op->kind == KVC_INITIALIZE) {
            initialize_layer(&cache->layer[i]);
        } else {
            move_layer(&cache->layer[i], op->kind == KVC_OFFLOAD);
        }
    }
    return NULL;
}

int kvc_builtin_show_original(kvc_cache *cache, kvc_observation *out) {
    kvc_builtin_original *original = cache->original;
    int failed = 0;
    for (int32_t i = 0; i < original->layers; i++) {
        original->length[i] = kvc_builtin_layer_reported_length(&original->layer[i]);
        failed |= kvc_builtin_layer_show(&original->layer[i], 0, out) != 0;
    }
    kvc_tensor *length = &out->tensor[out->tensors++];
    memset(length, 0, sizeof *length);
    length->name = "original.length";
    length->dtype = KVC_INT64;
    length->dims = 1;
    length->shape[0] = original->layers;
    length->data = original->length;
    return failed ? -1 : 0;
}

void kvc_builtin_renew_originals(kvc_cache *cache) {
    while (cache->original != NULL) {
        kvc_builtin_original *original = cache->original;
        cache->original = original->next;
        put_aside(cache, original);
    }
}

void kvc_builtin_close_originals(kvc_cache *cache) {
    kvc_builtin_renew_originals(cache);
    while (cache->aside != NULL) {
        kvc_builtin_original *original = cache->aside;
        cache->aside = original->next;
        close_original(original);
    }
}
