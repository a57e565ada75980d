#include "adapters/builtin/builtin_internal.h"

#include <string.h>

#include "reference/values.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

const kvc_refusal *kvc_builtin_layer_check_append(kvc_builtin_layer *layer, int64_t count) {
    int64_t limit = kvc_builtin_layer_limit(layer);
    if (layer->info->part[0].rule == KVC_PART_NOTHING && layer->fault != KVC_FAULT_APPEND_ACCEPTED) {
        return &kvc_refusal_nothing;
    }
    if (layer->info->part[0].rule == KVC_PART_FIXED) {
        if (layer->length + count > limit && layer->fault != KVC_FAULT_OVERFLOW_WRAPS) {
            return layer->fault == KVC_FAULT_OVERFLOW_WRONG_ERROR ? &kvc_refusal_broken : &kvc_refusal_overflow;
        }
        if (layer->length + count == limit && layer->fault == KVC_FAULT_REFUSES_LAST_CELL) {
            return &kvc_refusal_overflow;
        }
    }
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        kvc_store *store = &part->store;
        int failed = 0;
        switch ((kvc_part_rule)part->info->rule) {
        case KVC_PART_ALL:
        case KVC_PART_WINDOW:
        case KVC_PART_LAST:
        case KVC_PART_ENTRIES:
        case KVC_PART_REST:
        case KVC_PART_PREFIX:
        case KVC_PART_NOTHING:
        case KVC_PART_RESIDUAL:
            failed = kvc_store_reserve(store, count);
            break;
        case KVC_PART_QUANTISED:
            failed = kvc_quantised_reserve(layer, count);
            break;
        case KVC_PART_CONSTANT:
            failed = kvc_store_reserve(store, 2);
            break;
        case KVC_PART_FIXED_PREFIX: {
            /* For what stays and for what is returned. */
            size_t stripe = kvc_store_stripe(store);
            failed = kvc_store_buffer(store, 0, (size_t)limit * stripe) == NULL ||
                     kvc_store_buffer(store, 1, (size_t)(limit + count) * stripe) == NULL;
            break;
        }
        case KVC_PART_OPAQUE:
            failed = kvc_store_buffer(store, 1, (size_t)count * kvc_store_stripe(store)) == NULL;
            break;
        case KVC_PART_FIXED_WINDOW:
            if (layer->length + count > limit) {
                failed = kvc_store_buffer(store, 1, (size_t)(limit + count) * kvc_store_stripe(store)) == NULL;
            }
            break;
        default:
            break;
        }
        if (failed) {
            return &kvc_refusal_memory;
        }
    }
    return NULL;
}

/* Turns the channels of one cell by one place. */
static void turn_cell(const kvc_store *store, unsigned char *cell) {
    unsigned char first[8];
    memcpy(first, cell, store->element);
    memmove(cell, cell + store->element, store->cell - store->element);
    memcpy(cell + store->cell - store->element, first, store->element);
}

static void spoil_new_cells(const kvc_builtin_layer *layer, kvc_builtin_part *part, int64_t count) {
    kvc_store *store = &part->store;
    int64_t first = store->count - count;
    if (layer->fault == KVC_FAULT_APPEND_REPEATS_ROW && part->info->name == KVC_NAME_KEYS) {
        for (int64_t index = first; index < store->count; index++) {
            for (int32_t row = 1; row < store->rows; row++) {
                memcpy(kvc_store_cell(store, row, 0, index), kvc_store_cell(store, 0, 0, index),
                       (size_t)store->heads * store->cell);
            }
        }
    }
    if (layer->fault == KVC_FAULT_STRIDED_READ_WRONG && part->info->name == KVC_NAME_VALUES &&
        layer->params->layout == KVC_STRIDED) {
        for (int32_t row = 0; row < store->rows; row++) {
            for (int32_t head = 0; head < store->heads; head++) {
                for (int64_t index = first + 1; index < store->count; index++) {
                    turn_cell(store, kvc_store_cell(store, row, head, index));
                }
            }
        }
    }
}

static void set_returned(kvc_builtin_part *part, int64_t cells) {
    kvc_store *store = &part->store;
    cells = larger(0, smaller(cells, store->count));
    part->returned = kvc_store_view(store, store->count - cells, cells);
    part->returned_cells = cells;
}

static void append_all(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t before = store->count;
    kvc_store_push(store, numbers, count);
    part->returned_cells = -1;
    if (layer->fault == KVC_FAULT_NONE) {
        return;
    }
    spoil_new_cells(layer, part, count);
    if (layer->fault == KVC_FAULT_RETURNS_BEFORE_APPEND) {
        part->returned = kvc_store_view(store, 0, before);
        part->returned_cells = before;
    } else if (before > 0 &&
               (layer->fault == KVC_FAULT_RETURNS_NEW_ONLY ||
                (layer->fault == KVC_FAULT_INDEX_RETURNS_NEW_ONLY && part->info->name == KVC_NAME_INDEX))) {
        set_returned(part, count);
    }
}

static void append_window(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    int64_t kept = layer->params->window - 1;
    int64_t visible = smaller(part->store.count, kept);
    kvc_store_push(&part->store, numbers, count);
    set_returned(part, layer->fault == KVC_FAULT_RECORD_RETURNS_ALL ? part->store.count : visible + count);
    if (layer->fault == KVC_FAULT_KEEPS_TOO_FEW) {
        kept--;
    } else if (layer->fault == KVC_FAULT_KEEPS_TOO_MANY) {
        kept += 2;
    }
    if (!layer->recording) {
        kvc_store_keep_newest(&part->store, kept);
    }
}

static void append_last(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t kept = layer->params->kernel;
    int new_only = layer->fault == KVC_FAULT_RETURNS_NEW_ONLY && store->count > 0;
    kvc_store_push(store, numbers, count);
    int64_t cells = new_only ? count : store->count;
    part->returned_cells = larger(cells, new_only ? 0 : kept);
    part->returned = kvc_store_view_padded(store, 1, store->count - cells, cells, part->returned_cells);
    if (layer->fault == KVC_FAULT_KEEPS_TOO_FEW) {
        kept--;
    }
    if (!layer->recording) {
        kvc_store_keep_newest(store, kept);
    }
}

static void append_folded(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    part->returned_cells = -1;
    if (layer->fault == KVC_FAULT_RETURNS_BEFORE_APPEND && store->count > 0) {
        size_t size = (size_t)store->rows * (size_t)store->heads * store->cell;
        unsigned char *before = kvc_store_buffer(store, 1, size);
        if (before != NULL) {
            memcpy(before, store->data, size);
        }
        part->returned = before;
        part->returned_cells = 1;
    }
    for (int64_t i = layer->fault == KVC_FAULT_FOLDS_LAST_ONLY ? count - 1 : 0; i < count; i++) {
        layer->fold = kvc_value_fold(layer->fold, numbers[i]);
    }
    kvc_store_write_fold(store, 0, layer->fold);
    store->count = 1;
}

/* A polynomial in the values of the tokens, modulo a prime: exact, and it depends on their order. */
static int64_t mix_value(int64_t sum, int value) {
    return (sum * 31 + value) % 2147483647;
}

/* An int64, little-endian. */
static uint64_t load_integer(const unsigned char *in) {
    return (uint64_t)in[0] | (uint64_t)in[1] << 8 | (uint64_t)in[2] << 16 | (uint64_t)in[3] << 24 | (uint64_t)in[4] << 32 |
           (uint64_t)in[5] << 40 | (uint64_t)in[6] << 48 | (uint64_t)in[7] << 56;
}

static void store_integer(uint64_t value, unsigned char *out) {
    out[0] = (unsigned char)value;
    out[1] = (unsigned char)(value >> 8);
    out[2] = (unsigned char)(value >> 16);
    out[3] = (unsigned char)(value >> 24);
    out[4] = (unsigned char)(value >> 32);
    out[5] = (unsigned char)(value >> 40);
    out[6] = (unsigned char)(value >> 48);
    out[7] = (unsigned char)(value >> 56);
}

/* Values are 1 to 7: of an int64 the lowest byte tells. */
static void append_opaque(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int continues = store->count > 0 || (layer->fault == KVC_FAULT_NOT_RESET_ON_FULL_CROP && layer->depth != 0);
    int64_t extra = layer->fault == KVC_FAULT_CHUNK_DEPENDENT ? count : 0;
    if (layer->fault == KVC_FAULT_FULL_CROP_COUNTS && layer->depth != 0) {
        extra = 1;
        layer->depth = 0;
    }
    unsigned char *inputs = kvc_store_buffer(store, 1, (size_t)count * kvc_store_stripe(store));
    if (inputs == NULL) {
        return; /* cannot be: see kvc_builtin_layer_check_append */
    }
    size_t stripe = kvc_store_stripe(store);
    kvc_store_make_cells(store, numbers, count, inputs);
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++, inputs += store->cell) {
            unsigned char *cell = kvc_store_cell(store, row, head, 0);
            for (int32_t channel = 0; channel < store->channels; channel++) {
                const unsigned char *input = inputs + (size_t)channel * store->element;
                unsigned char *element = cell + (size_t)channel * store->element;
                int64_t sum = continues ? (int64_t)load_integer(element) : 0;
                for (int64_t i = 0; i < count; i++, input += stripe) {
                    if (layer->fault != KVC_FAULT_FIRST_CHUNK_SPECIAL || count < 4 || i != 2) {
                        sum = mix_value(sum, input[0]);
                    }
                }
                store_integer((uint64_t)(sum + extra), element);
            }
        }
    }
    store->count = 1;
}

void kvc_builtin_layer_fill_buffer(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    int64_t from = layer->fault == KVC_FAULT_APPEND_PAST_CROPPED ? larger(layer->peak, layer->length) : layer->length;
    int64_t limit = kvc_builtin_layer_limit(layer);
    for (int p = 0; p < layer->info->parts; p++) {
        kvc_builtin_part *part = &layer->part[p];
        part->returned_cells = -1;
        if (layer->fault == KVC_FAULT_VALUES_NOT_WRITTEN && part->info->name == KVC_NAME_VALUES && count == 1 &&
            layer->peak > layer->length) {
            continue;
        }
        if (from >= 0 && from + count <= limit) {
            kvc_store_write(&part->store, from, numbers, count);
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t index = from + i;
            if (layer->fault == KVC_FAULT_OVERFLOW_WRAPS || layer->fault == KVC_FAULT_WRAPS_AROUND) {
                index %= limit;
            }
            if (index >= 0 && index < limit) {
                kvc_store_write(&part->store, index, &numbers[i], 1);
            }
        }
    }
}

/* Past the window: what was held and the new tokens are joined, the newest stay. `check` has made room for both. */
static void append_fixed_window(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t limit = store->capacity;
    int64_t held = smaller(layer->length, limit);
    int64_t visible = layer->length >= limit ? limit - 1 : held;
    int64_t joined = held + count;
    size_t stripe = kvc_store_stripe(store);
    unsigned char *buffer = kvc_store_buffer(store, 1, (size_t)joined * stripe);
    if (buffer == NULL) {
        return; /* cannot be: see kvc_builtin_layer_check_append */
    }
    int64_t shown = layer->fault == KVC_FAULT_FULL_RETURNS_BUFFER ? limit : visible + count;
    if (layer->fault == KVC_FAULT_MOVES_WHEN_FULL) {
        kvc_store_move(store);
    }
    memcpy(buffer, store->data, (size_t)held * stripe);
    kvc_store_make_cells(store, numbers, count, buffer + (size_t)held * stripe);
    memcpy(store->data, buffer + (size_t)(joined - limit) * stripe, (size_t)limit * stripe);
    buffer += (size_t)(joined - shown) * stripe;
    part->returned = buffer;
    part->returned_cells = shown;
}

static void append_ring(const kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    kvc_store *store = &part->store;
    int64_t limit = store->capacity;
    int64_t keep = layer->params->keep;
    if (layer->fault == KVC_FAULT_ONE_TOO_FEW && limit > keep + 1) {
        limit--;
    }
    keep = layer->fault == KVC_FAULT_EVICTS_KEPT ? 0 : smaller(keep, limit - 1);
    for (int64_t i = 0, run; i < count; i += run) {
        int64_t place = layer->length + i;
        int64_t index = place < limit ? place : keep + (place - keep) % (limit - keep);
        run = smaller(count - i, limit - index);
        kvc_store_write(store, index, numbers + i, run);
    }
    store->count = smaller(layer->length + count, limit);
}

static void append_blocks(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    kvc_store *entries = &layer->part[0].store;
    kvc_store *rest = &layer->part[1].store;
    int closed = 0;
    for (int64_t i = 0; i < count; i++) {
        kvc_store_push(rest, &numbers[i], 1);
        if (layer->open_count < layer->params->block) {
            layer->open_tokens[layer->open_count++] = numbers[i];
        }
        layer->fold = kvc_value_fold(layer->fold, numbers[i]);
        if (layer->open_count < layer->params->block ||
            (layer->fault == KVC_FAULT_LONG_APPEND_CLOSES_ONCE && closed)) {
            continue;
        }
        int32_t fold = 0;
        for (int32_t k = 0; k < layer->open_count; k++) {
            fold = kvc_value_fold(fold, layer->open_tokens[k]);
        }
        kvc_store_write_fold(entries, entries->start + entries->count,
                             layer->fault == KVC_FAULT_FOLD_NOT_ROLLED_BACK ? layer->fold : fold);
        entries->count++;
        closed = 1;
        layer->fold = 0;
        layer->open_count = 0;
        if (layer->fault != KVC_FAULT_REST_NOT_CLEARED) {
            kvc_store_drop_back(rest, rest->count);
        }
    }
}

static void append_constant(kvc_builtin_layer *layer, kvc_builtin_part *part) {
    int again = layer->fault == KVC_FAULT_WRITTEN_TWICE && part->info->name == KVC_NAME_CROSS_KEYS && part->store.count == 2 &&
                layer->used;
    if (part->store.count == 0 || again) {
        static const int32_t numbers[2] = {0, 1};
        kvc_store_push(&part->store, numbers, 2);
    }
}

static void append_part(kvc_builtin_layer *layer, kvc_builtin_part *part, const int32_t *numbers, int64_t count) {
    switch ((kvc_part_rule)part->info->rule) {
    case KVC_PART_ALL:
        append_all(layer, part, numbers, count);
        break;
    case KVC_PART_WINDOW:
        append_window(layer, part, numbers, count);
        break;
    case KVC_PART_LAST:
        append_last(layer, part, numbers, count);
        break;
    case KVC_PART_FOLDED:
        append_folded(layer, part, numbers, count);
        break;
    case KVC_PART_OPAQUE:
        append_opaque(layer, part, numbers, count);
        break;
    case KVC_PART_FIXED_WINDOW:
        append_fixed_window(layer, part, numbers, count);
        break;
    case KVC_PART_RING:
        append_ring(layer, part, numbers, count);
        break;
    case KVC_PART_CONSTANT:
        append_constant(layer, part);
        break;
    default:
        break;
    }
}

void kvc_builtin_layer_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    kvc_part_rule rule = (kvc_part_rule)layer->info->part[0].rule;
    int past_window = layer->length + count > kvc_builtin_layer_limit(layer) && layer->fault != KVC_FAULT_WRAPS_AROUND;
    if (!layer->used) {
        layer->whole = layer->recording;
    }
    if (rule == KVC_PART_FIXED || (rule == KVC_PART_FIXED_WINDOW && !past_window)) {
        kvc_builtin_layer_fill_buffer(layer, numbers, count);
    } else if (rule == KVC_PART_PREFIX || rule == KVC_PART_FIXED_PREFIX) {
        kvc_builtin_prefix_append(layer, numbers, count);
    } else if (rule == KVC_PART_ENTRIES && layer->info->parts > 2) {
        kvc_builtin_overlap_append(layer, numbers, count);
    } else if (rule == KVC_PART_RESIDUAL) {
        kvc_quantised_append(layer, numbers, count);
    } else if (rule == KVC_PART_ENTRIES) {
        append_blocks(layer, numbers, count);
    } else {
        for (int i = 0; i < layer->info->parts; i++) {
            append_part(layer, &layer->part[i], numbers, count);
        }
    }
    layer->length += count;
    layer->used = 1;
    layer->shrunk = 0;
    layer->peak = larger(layer->peak, layer->length);
    if (layer->fault == KVC_FAULT_LATE_STALE_VALUE && layer->depth > 0 && layer->depth < 3) {
        layer->depth++;
    }
}

void kvc_builtin_layer_spoil_refused_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    if (layer->fault == KVC_FAULT_REFUSED_APPEND_KEPT && kvc_store_reserve(&layer->part[0].store, count) == 0) {
        kvc_store_push(&layer->part[0].store, numbers, count);
    }
    if (layer->info->part[0].rule != KVC_PART_FIXED) {
        return;
    }
    if (layer->fault == KVC_FAULT_OVERFLOW_HALF_DONE) {
        kvc_builtin_layer_fill_buffer(layer, numbers, count);
        layer->length = kvc_builtin_layer_limit(layer);
    } else if (layer->fault == KVC_FAULT_OVERFLOW_COUNTS) {
        layer->length += count;
    }
}
