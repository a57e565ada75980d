#include "adapters/builtin/builtin_internal.h"

#include <string.h>

const kvc_refusal kvc_refusal_positive = {"ValueError", "crop takes the number of tokens to remove as a negative number"};
const kvc_refusal kvc_refusal_unrecorded = {"RuntimeError", "the window was reached without recording"};
const kvc_refusal kvc_refusal_lost = {"RuntimeError", "tokens that would be needed after this crop are gone"};
const kvc_refusal kvc_refusal_folded = {"RuntimeError", "a state that tokens were folded into cannot be rolled back"};
const kvc_refusal kvc_refusal_overflow = {"IndexError", "the append does not fit into the buffer"};
const kvc_refusal kvc_refusal_memory = {"MemoryError", "memory is short"};
const kvc_refusal kvc_refusal_absent = {"NotImplementedError", "this cache has no such op"};
const kvc_refusal kvc_refusal_nothing = {"NotImplementedError", "this cache stores nothing"};
const kvc_refusal kvc_refusal_rows = {"IndexError", "a row number is out of range"};
const kvc_refusal kvc_refusal_count = {"ValueError", "the number is out of range"};
const kvc_refusal kvc_refusal_broken = {"RuntimeError", "refused"};
const kvc_refusal kvc_refusal_type = {"TypeError", "the cache has no tensors"};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* 1 when a broken cache overlooks that needed tokens are gone. */
static int overlooks_loss(const kvc_builtin_layer *layer, int64_t removed) {
    switch (layer->fault) {
    case KVC_FAULT_DOUBLE_CROP_LOSES:
        return layer->recording && layer->whole;
    case KVC_FAULT_LATE_RECORDING_WRONG:
        return layer->recording && !layer->whole;
    case KVC_FAULT_CLAIMS_LOST_TOKENS:
        return removed <= layer->length && (layer->info->records ? layer->recording && layer->whole : removed >= 2);
    case KVC_FAULT_UNRECORDED_CROPS:
        return !layer->recording;
    case KVC_FAULT_CROP_AFTER_EVICTION:
        return removed >= 2;
    case KVC_FAULT_TRIM_AFTER_WRAP:
    case KVC_FAULT_CROP_ACCEPTED:
    case KVC_FAULT_PARTIAL_CROP_ACCEPTED:
    case KVC_FAULT_REOPENS_SILENTLY:
        return 1;
    default:
        return 0;
    }
}

/* Windows and convolutions: `kept` cells must be there afterwards, or as many as there are tokens. */
static const kvc_refusal *check_recorded(const kvc_builtin_layer *layer, const kvc_builtin_part *part, int64_t removed,
                                         int64_t kept) {
    if (removed >= layer->length) {
        return NULL;
    }
    int64_t need = smaller(layer->length - removed, kept);
    return part->store.count - removed < need ? &kvc_refusal_lost : NULL;
}

static const kvc_refusal *check_part(const kvc_builtin_layer *layer, const kvc_builtin_part *part, int64_t removed) {
    int some_left = removed > 0 && removed < layer->length;
    int64_t left = layer->length - removed;
    int64_t block = layer->params->block;
    switch ((kvc_part_rule)part->info->rule) {
    case KVC_PART_WINDOW:
        if (!layer->recording) {
            return layer->length >= layer->params->window ? &kvc_refusal_unrecorded : NULL;
        }
        if (layer->fault == KVC_FAULT_REFUSES_RECORDED && removed > 0 && layer->length >= layer->params->window) {
            return &kvc_refusal_lost;
        }
        return check_recorded(layer, part, removed, layer->params->window - 1);
    case KVC_PART_LAST:
        return layer->recording ? check_recorded(layer, part, removed, layer->params->kernel) : &kvc_refusal_unrecorded;
    case KVC_PART_FOLDED:
        return removed > 0 && layer->length > 0 ? &kvc_refusal_folded : NULL;
    case KVC_PART_OPAQUE:
        return some_left ? &kvc_refusal_folded : NULL;
    case KVC_PART_PREFIX:
    case KVC_PART_FIXED_PREFIX:
        return kvc_builtin_prefix_check_crop(layer, removed);
    case KVC_PART_FIXED_WINDOW:
    case KVC_PART_RING:
        if (layer->fault == KVC_FAULT_REFUSES_BEFORE_WRAP && some_left && layer->length >= kvc_builtin_layer_limit(layer)) {
            return &kvc_refusal_lost;
        }
        return some_left && layer->length > kvc_builtin_layer_limit(layer) ? &kvc_refusal_lost : NULL;
    case KVC_PART_ENTRIES:
        return some_left && left / block < layer->length / block && (left % block != 0 || layer->info->parts > 2)
                   ? &kvc_refusal_folded
                   : NULL;
    default:
        return NULL;
    }
}

const kvc_refusal *kvc_builtin_layer_check_crop(const kvc_builtin_layer *layer, int64_t removed) {
    if (!layer->used) {
        int raises = layer->fault == KVC_FAULT_UNUSED_CROP_RAISES && removed > 0 && !layer->was_reset;
        return raises ? &kvc_refusal_type : NULL;
    }
    if (layer->fault == KVC_FAULT_FULL_CROP_REFUSED && removed == layer->length && removed > 0) {
        return &kvc_refusal_broken;
    }
    if (layer->fault == KVC_FAULT_ZERO_REFUSED && removed == 0) {
        return &kvc_refusal_folded;
    }
    for (int i = 0; i < layer->info->parts; i++) {
        const kvc_refusal *refusal = check_part(layer, &layer->part[i], removed);
        if (refusal != NULL && !overlooks_loss(layer, removed)) {
            return refusal;
        }
    }
    return NULL;
}

int kvc_builtin_layer_claim(const kvc_builtin_layer *layer) {
    if (!layer->info->claims) {
        return -1;
    }
    if (layer->fault == KVC_FAULT_CLAIMS_LOST_TOKENS || layer->fault == KVC_FAULT_CLAIMS_AND_REFUSES) {
        return 1;
    }
    for (int i = 0; i < layer->info->parts; i++) {
        const kvc_builtin_part *part = &layer->part[i];
        int honest = 1;
        switch ((kvc_part_rule)part->info->rule) {
        case KVC_PART_WINDOW:
            honest = layer->length < layer->params->window || (layer->recording && part->store.count >= layer->length);
            break;
        case KVC_PART_LAST:
            honest = layer->recording && part->store.count >= layer->length;
            break;
        case KVC_PART_FOLDED:
            honest = 0;
            break;
        case KVC_PART_PREFIX:
        case KVC_PART_FIXED_PREFIX:
            honest = kvc_builtin_prefix_claim(layer);
            break;
        case KVC_PART_FIXED_WINDOW:
            honest = layer->length <= kvc_builtin_layer_limit(layer);
            break;
        default:
            break;
        }
        if (!honest) {
            return 0;
        }
    }
    return 1;
}

static void turn_newest(kvc_store *store) {
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            unsigned char *cell = kvc_store_cell(store, row, head, store->count - 1);
            unsigned char first[8];
            memcpy(first, cell, store->element);
            memmove(cell, cell + store->element, store->cell - store->element);
            memcpy(cell + store->cell - store->element, first, store->element);
        }
    }
}

/* The cells behind the newest still hold a removed token. */
static void repeat_removed(kvc_store *store) {
    memcpy(kvc_store_cell(store, 0, 0, store->count - 1), kvc_store_cell(store, 0, 0, store->count), kvc_store_stripe(store));
}

static void shift_front(kvc_store *store, int64_t cells) {
    size_t stripe = kvc_store_stripe(store);
    memmove(store->data, store->data + (size_t)cells * stripe, (size_t)(store->capacity - cells) * stripe);
}

static void swap_heads(kvc_store *store) {
    for (int32_t row = 0; row < store->rows && store->heads >= 2; row++) {
        for (int64_t index = 0; index < store->count; index++) {
            unsigned char *a = kvc_store_cell(store, row, 0, index);
            unsigned char *b = kvc_store_cell(store, row, 1, index);
            for (size_t i = 0; i < store->cell; i++) {
                unsigned char byte = a[i];
                a[i] = b[i];
                b[i] = byte;
            }
        }
    }
}

static void shift_last_row(kvc_store *store) {
    for (int64_t index = 0; index < store->count && store->rows >= 2; index++) {
        memcpy(kvc_store_cell(store, store->rows - 1, 0, index), kvc_store_cell(store, store->rows - 1, 0, index + 1),
               (size_t)store->heads * store->cell);
    }
}

/* Everything a broken cache does wrong in a tensor of all tokens, after `dropped` tokens were removed correctly. */
static void spoil_all(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t dropped) {
    kvc_store *store = &part->store;
    int is_keys = part->info->name == KVC_NAME_KEYS;
    int is_values = part->info->name == KVC_NAME_VALUES;
    if (dropped <= 0 || store->count == 0) {
        return;
    }
    if (layer->fault == KVC_FAULT_HEADS_SWAPPED_AFTER_CROP && is_keys) {
        swap_heads(store);
    } else if (layer->fault == KVC_FAULT_ROW_LEFT_BEHIND && is_keys) {
        shift_last_row(store);
    } else if (layer->fault == KVC_FAULT_VALUES_CHANNEL_SHIFTED && is_values) {
        turn_newest(store);
    } else if (layer->fault == KVC_FAULT_LATE_STALE_VALUE && is_values && layer->depth >= 3) {
        repeat_removed(store);
    }
}

static void crop_all(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t removed, int64_t dropped) {
    kvc_store *store = &part->store;
    int is_index = part->info->name == KVC_NAME_INDEX;
    int is_values = part->info->name == KVC_NAME_VALUES;
    if (layer->fault == KVC_FAULT_NONE) {
        kvc_store_drop_back(store, dropped);
        return;
    }
    if (layer->fault == KVC_FAULT_VALUES_NOT_CROPPED && is_values && dropped == 1) {
        return;
    }
    if (layer->fault == KVC_FAULT_INDEX_NOT_CROPPED && is_index && removed < layer->length) {
        return;
    }
    if (layer->fault == KVC_FAULT_ZERO_EMPTIES_INDEX && is_index && removed == 0) {
        kvc_store_drop_back(store, store->count);
        return;
    }
    if (layer->fault == KVC_FAULT_OVER_REMOVAL_INDEX_LEFT && is_index && removed > layer->length) {
        kvc_store_drop_back(store, removed - layer->length);
        return;
    }
    if (layer->fault == KVC_FAULT_CROP_TAKES_OLDEST) {
        kvc_store_drop_front(store, dropped);
        return;
    }
    kvc_store_drop_back(store, dropped);
    if (layer->fault == KVC_FAULT_INDEX_ONE_SHORT && is_index && dropped > 0) {
        kvc_store_drop_back(store, 1);
    }
    spoil_all(layer, part, dropped);
}

static void crop_recorded(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t removed, int64_t dropped, int64_t kept) {
    kvc_store *store = &part->store;
    if (layer->fault == KVC_FAULT_STATES_NOT_CROPPED && removed < layer->length) {
        dropped = 0;
    }
    if (layer->fault == KVC_FAULT_OVER_REMOVAL_LEAVES_STATE && removed > layer->length) {
        kvc_store_drop_back(store, store->count - 1);
        return;
    }
    if (removed >= layer->length) {
        kvc_store_drop_back(store, store->count);
        return;
    }
    kvc_store_drop_back(store, dropped);
    if (layer->fault == KVC_FAULT_ZERO_KEEPS_RECORDED && removed == 0) {
        return;
    }
    if (layer->fault == KVC_FAULT_KEEPS_TOO_FEW) {
        kept--;
    } else if (layer->fault == KVC_FAULT_KEEPS_TOO_MANY) {
        kept += 2;
    }
    if (layer->fault == KVC_FAULT_CROP_KEEPS_OLDEST && dropped > 0) {
        kvc_store_drop_back(store, store->count - kept);
        return;
    }
    kvc_store_keep_newest(store, kept);
}

static void crop_blocks(kvc_builtin_layer *layer, int64_t removed, int64_t dropped) {
    kvc_store *entries = &layer->part[0].store;
    kvc_store *rest = &layer->part[1].store;
    int64_t block = layer->params->block;
    int64_t left = layer->length - dropped;
    int64_t closed = left / block;
    int64_t open = left % block;
    if (closed < entries->count) {
        open = 0; /* the rest belonged to tokens that are removed */
    }
    if (layer->fault != KVC_FAULT_ENTRIES_NOT_DROPPED || left <= 0) {
        kvc_store_drop_back(entries, entries->count - closed);
    }
    if (layer->fault == KVC_FAULT_OVER_REMOVAL_LEAVES_REST && removed > layer->length) {
        open = rest->count;
    }
    kvc_store_drop_back(rest, rest->count - open);
    layer->open_count = (int32_t)smaller(layer->open_count, open);
    if (left <= 0) {
        layer->fold = 0;
    }
    if (layer->info->parts > 2) {
        kvc_builtin_overlap_crop(layer, left);
    }
}

static void crop_constant(const kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t removed, int64_t dropped) {
    int is_keys = part->info->name == KVC_NAME_CROSS_KEYS;
    if (layer->fault == KVC_FAULT_CROPPED_TOO && is_keys && dropped == 1) {
        kvc_store_drop_back(&part->store, 1);
    } else if (layer->fault == KVC_FAULT_CROP_REMOVES_CROSS_VALUES && !is_keys && dropped >= 2 && removed <= layer->length) {
        kvc_store_drop_back(&part->store, 1);
    } else if (layer->fault == KVC_FAULT_LOST_WHEN_EMPTY && removed == layer->length && removed > 0) {
        kvc_store_drop_back(&part->store, part->store.count);
    }
}

static void crop_opaque(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t dropped) {
    if (dropped > 0 && dropped >= layer->length) {
        part->store.count = 0;
        layer->depth = 1; /* read by the faults that go on from what was removed */
    }
}

static void crop_part(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t removed, int64_t dropped) {
    switch ((kvc_part_rule)part->info->rule) {
    case KVC_PART_ALL:
        crop_all(layer, part, removed, dropped);
        break;
    case KVC_PART_WINDOW:
        crop_recorded(layer, part, removed, dropped, layer->params->window - 1);
        break;
    case KVC_PART_LAST:
        crop_recorded(layer, part, removed, dropped, layer->params->kernel);
        break;
    case KVC_PART_PREFIX:
    case KVC_PART_FIXED_PREFIX:
        kvc_builtin_prefix_crop(layer, part, dropped);
        break;
    case KVC_PART_CONSTANT:
        crop_constant(layer, part, removed, dropped);
        break;
    case KVC_PART_OPAQUE:
        crop_opaque(layer, part, dropped);
        break;
    case KVC_PART_FIXED:
        if (layer->fault == KVC_FAULT_CROP_SHIFTS_FRONT && dropped > 0) {
            shift_front(&part->store, dropped);
        }
        break;
    case KVC_PART_RESIDUAL:
        if (part->info->name == KVC_NAME_RESIDUAL_KEYS) {
            kvc_quantised_crop(layer, dropped); /* all parts of the layer */
        }
        break;
    case KVC_PART_RING:
        part->store.count = smaller(layer->length - dropped, part->store.count);
        break;
    case KVC_PART_ENTRIES:
        crop_blocks(layer, removed, dropped);
        break;
    default:
        break;
    }
}

void kvc_builtin_layer_crop(kvc_builtin_layer *layer, int64_t removed) {
    if (!layer->used) {
        return;
    }
    int64_t dropped = larger(0, smaller(removed, layer->length));
    if (layer->fault == KVC_FAULT_OVER_REMOVAL_LEAVES_STALE && removed > layer->length) {
        dropped = layer->length - larger(0, 2 * layer->length - removed);
    }
    for (int i = 0; i < layer->info->parts; i++) {
        crop_part(layer, &layer->part[i], removed, dropped);
    }
    int past_window = layer->length >= layer->params->window;
    if (removed > layer->length &&
        (layer->fault == KVC_FAULT_CROP_BELOW_ZERO || (layer->fault == KVC_FAULT_NEGATIVE_LENGTH && past_window))) {
        dropped = removed;
    }
    layer->length -= dropped;
    layer->shrunk = 1;
    layer->lost_dtype |= layer->fault == KVC_FAULT_DTYPE_LOST_AFTER_CROP;
    if (layer->fault == KVC_FAULT_LATE_STALE_VALUE) {
        layer->depth = dropped > 0;
    }
}

static void spoil_part(kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t removed) {
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    switch (layer->fault) {
    case KVC_FAULT_REFUSED_CROP_SHRINKS:
        kvc_store_drop_back(&part->store, 1);
        break;
    case KVC_FAULT_REFUSED_CROP_CLEARS:
        part->store.count = 0;
        layer->fold = 0;
        break;
    case KVC_FAULT_REFUSED_CROP_DROPS_REST:
        if (rule == KVC_PART_REST) {
            kvc_store_drop_back(&part->store, part->store.count);
        }
        break;
    case KVC_FAULT_REFUSED_HALF_DONE:
        if (rule == KVC_PART_ALL) {
            kvc_store_drop_back(&part->store, removed);
        }
        break;
    default:
        break;
    }
}

void kvc_builtin_layer_spoil_refused_crop(kvc_builtin_layer *layer, int64_t removed) {
    for (int i = 0; i < layer->info->parts; i++) {
        spoil_part(layer, &layer->part[i], removed);
    }
    if (layer->fault == KVC_FAULT_REFUSED_HALF_DONE) {
        layer->length -= larger(0, smaller(removed, layer->length));
    } else if (layer->fault == KVC_FAULT_REFUSED_CROP_DROPS_REST) {
        layer->open_count = 0;
    }
}
