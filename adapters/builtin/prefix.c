/*
 * A window behind a prefix: the first tokens stay, and of those behind them the newest. Growing, with recording, or in buffers that
 * never move.
 */
#include "adapters/builtin/builtin_internal.h"

#include <string.h>

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int is_fixed(const kvc_builtin_layer *layer) {
    return layer->info->part[0].rule == KVC_PART_FIXED_PREFIX;
}

/* Tokens behind the prefix that are kept between calls. */
static int64_t window_kept(const kvc_builtin_layer *layer) {
    const kvc_params *params = layer->params;
    return is_fixed(layer) ? smaller(params->window, params->capacity) : params->window - 1;
}

int64_t kvc_builtin_prefix_cells(const kvc_builtin_layer *layer) {
    return layer->prefix + window_kept(layer);
}

/* Cells `first` to `first + count` of what is held and the new tokens behind it. */
static unsigned char *gather(kvc_store *store, const int32_t *numbers, int64_t first, int64_t count, unsigned char *out) {
    size_t stripe = kvc_store_stripe(store);
    int64_t held = larger(0, smaller(count, store->count - first));
    if (held > 0) {
        memcpy(out, kvc_store_view(store, first, held), (size_t)held * stripe);
    }
    if (count > held) {
        kvc_store_make_cells(store, numbers + (first + held - store->count), count - held, out + (size_t)held * stripe);
    }
    return out + (size_t)larger(0, count) * stripe;
}

/* What an append returns: `front` cells of the prefix and the newest `shown` of `total`. */
static void set_returned(kvc_builtin_part *part, const int32_t *numbers, int64_t front, int64_t shown, int64_t total) {
    kvc_store *store = &part->store;
    size_t size = (size_t)(front + shown) * kvc_store_stripe(store);
    unsigned char *out = size > 0 ? kvc_store_buffer(store, 1, size) : NULL;
    part->returned = out;
    part->returned_cells = out != NULL ? front + shown : 0;
    if (out != NULL) {
        out = gather(store, numbers, 0, front, out);
        (void)gather(store, numbers, total - shown, shown, out);
    }
}

/* Drops cells behind the first `front`. */
static void remove_behind(kvc_store *store, int64_t front, int64_t cells) {
    if (cells <= 0) {
        return;
    }
    memmove(kvc_store_cell(store, 0, 0, front), kvc_store_cell(store, 0, 0, front + cells),
            (size_t)(store->count - front - cells) * kvc_store_stripe(store));
    store->count -= cells;
}

static void append_growing(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t total = store->count + count;
    int64_t front = smaller(layer->prefix, total);
    int64_t kept = window_kept(layer);
    int64_t visible = smaller(larger(0, store->count - layer->prefix), kept);
    int64_t shown = smaller(total - front, visible + count);
    set_returned(part, numbers, layer->fault == KVC_FAULT_RETURNS_WITHOUT_PREFIX && shown > 0 ? 0 : front, shown, total);
    kvc_store_push(store, numbers, count);
    if (layer->fault == KVC_FAULT_KEEPS_TOO_FEW) {
        kept--;
    }
    if (!layer->recording) {
        remove_behind(store, layer->fault == KVC_FAULT_EVICTS_PREFIX ? 0 : front, total - front - larger(0, kept));
    }
}

static void append_fixed(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t total = store->count + count;
    int64_t front = smaller(layer->prefix, total);
    int64_t kept = window_kept(layer);
    int64_t held = larger(0, store->count - layer->prefix);
    part->returned_cells = -1;
    if (total - front <= kept) {
        kvc_store_push(store, numbers, count);
        return;
    }
    size_t size = (size_t)(front + kept) * kvc_store_stripe(store);
    unsigned char *spare = kvc_store_buffer(store, 0, size);
    if (spare == NULL) {
        return; /* cannot be: see kvc_builtin_layer_check_append */
    }
    set_returned(part, numbers, front, smaller(total - front, (held == kept ? kept - 1 : held) + count), total);
    int64_t first = layer->fault == KVC_FAULT_EVICTS_PREFIX ? total - front - kept : 0;
    unsigned char *end = gather(store, numbers, first, front, spare);
    (void)gather(store, numbers, total - kept, kept, end);
    memcpy(kvc_store_cell(store, 0, 0, 0), spare, size);
    store->count = front + kept;
}

void kvc_builtin_prefix_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    if (!layer->settled) {
        layer->prefix = layer->params->keep > 0 ? layer->params->keep : count;
        if (is_fixed(layer)) {
            layer->prefix = smaller(layer->prefix, layer->params->capacity - window_kept(layer));
        }
        layer->settled = 1;
    }
    for (int i = 0; i < layer->info->parts; i++) {
        if (is_fixed(layer)) {
            append_fixed(layer, &layer->part[i], numbers, count);
        } else {
            append_growing(layer, &layer->part[i], numbers, count);
        }
    }
}

const kvc_refusal *kvc_builtin_prefix_check_crop(const kvc_builtin_layer *layer, int64_t removed) {
    int64_t left = layer->length - removed;
    int64_t behind = layer->length - layer->prefix;
    int64_t need = smaller(left - layer->prefix, window_kept(layer));
    if (is_fixed(layer)) {
        return removed > 0 && left > 0 && behind > window_kept(layer) ? &kvc_refusal_lost : NULL;
    }
    if (behind >= layer->params->window && !layer->recording) {
        return &kvc_refusal_unrecorded;
    }
    return left > layer->prefix && layer->part[0].store.count - layer->prefix - removed < need ? &kvc_refusal_lost : NULL;
}

void kvc_builtin_prefix_crop(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t dropped) {
    kvc_store *store = &part->store;
    int64_t left = layer->length - dropped;
    int64_t front = smaller(layer->prefix, left);
    if (left <= layer->prefix) {
        if (layer->fault != KVC_FAULT_CROP_SPARES_PREFIX) {
            kvc_store_drop_back(store, store->count - left);
        }
        return;
    }
    kvc_store_drop_back(store, dropped);
    remove_behind(store, front, is_fixed(layer) ? 0 : store->count - front - window_kept(layer));
}

int kvc_builtin_prefix_claim(const kvc_builtin_layer *layer) {
    int64_t behind = layer->length - layer->prefix;
    if (is_fixed(layer)) {
        return behind <= window_kept(layer);
    }
    return behind < layer->params->window || (layer->recording && layer->part[0].store.count >= layer->length);
}

void kvc_builtin_prefix_mask(const kvc_builtin_layer *layer, int64_t count, int64_t *length, int64_t *offset) {
    int64_t prefix = layer->settled ? layer->prefix : layer->params->keep > 0 ? layer->params->keep : count;
    int64_t window = is_fixed(layer) ? window_kept(layer) : layer->params->window;
    if (is_fixed(layer)) {
        prefix = smaller(prefix, layer->params->capacity - window);
    }
    int64_t behind = larger(0, layer->length - prefix);
    *offset = larger(0, behind - window + 1);
    *length = smaller(layer->length, prefix) + smaller(behind, window - 1) + count;
    if (is_fixed(layer) && layer->length + count <= prefix + window) {
        *length = prefix + window;
    }
    if (layer->fault == KVC_FAULT_MASK_WITHOUT_PREFIX && behind >= window) {
        *length -= prefix;
    }
}
