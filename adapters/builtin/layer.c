#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t find_limit(const kvc_builtin_layer *layer) {
    const kvc_params *params = layer->params;
    switch ((kvc_part_rule)layer->info->part[0].rule) {
    case KVC_PART_WINDOW:
        return params->window;
    case KVC_PART_FIXED_WINDOW:
        return smaller(params->window, params->capacity);
    default:
        return params->capacity;
    }
}

/* Cells that a buffer which never grows needs, or room for a start. */
static int64_t first_capacity(const kvc_builtin_layer *layer, kvc_part_rule rule) {
    switch (rule) {
    case KVC_PART_FIXED:
    case KVC_PART_FIXED_WINDOW:
    case KVC_PART_FIXED_PREFIX:
    case KVC_PART_RING:
        return kvc_builtin_layer_limit(layer);
    case KVC_PART_FOLDED:
    case KVC_PART_OPAQUE:
        return 1;
    case KVC_PART_CONSTANT:
        return 4;
    case KVC_PART_OVERLAP:
        return layer->params->block;
    case KVC_PART_COUNT:
        return 1;
    default:
        return 16;
    }
}

static int is_buffer(kvc_part_rule rule) {
    return rule == KVC_PART_FIXED || rule == KVC_PART_FIXED_WINDOW || rule == KVC_PART_FIXED_PREFIX || rule == KVC_PART_RING;
}

static void clear(kvc_store *store) {
    memset(store->data, 0, (size_t)store->rows * (size_t)store->heads * (size_t)store->capacity * store->cell);
}

static int open_part(kvc_builtin_layer *layer, kvc_builtin_part *part, kvc_inputs_kept *inputs) {
    const kvc_params *params = layer->params;
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    kvc_dtype dtype = (kvc_dtype)params->dtype;
    int32_t heads = params->heads;
    int32_t channels = params->key_dim;
    switch ((kvc_part_shape)part->info->shape) {
    case KVC_SHAPE_KEYS:
        break;
    case KVC_SHAPE_VALUES:
        channels = params->value_dim;
        break;
    case KVC_SHAPE_INDEX:
        heads = 1;
        channels = params->index_dim;
        break;
    case KVC_SHAPE_TURNED:
        heads = 1;
        channels = params->channels;
        break;
    case KVC_SHAPE_STATE:
        channels = params->key_dim * params->value_dim;
        break;
    case KVC_SHAPE_SUMMARY:
        channels = params->channels;
        dtype = KVC_INT64;
        break;
    case KVC_SHAPE_NUMBER:
        channels = 1;
        dtype = KVC_INT64;
        break;
    }
    kvc_encoding encoding = dtype == KVC_INT64 ? KVC_DIGITS : (kvc_encoding)params->values;
    if (rule == KVC_PART_QUANTISED) {
        channels = kvc_quantised_channels(channels);
        dtype = KVC_FLOAT32;
    }
    if (kvc_store_reopen(&part->store, params->batch, heads, channels, dtype, encoding, part->info->salt,
                       first_capacity(layer, rule)) != 0) {
        return -1;
    }
    kvc_store_find_inputs(&part->store, inputs);
    kvc_builtin_part_describe(layer, part);
    part->store.pinned = (is_buffer(rule) && rule != KVC_PART_RING) || rule == KVC_PART_OPAQUE;
    return 0;
}

int kvc_builtin_layer_renew(kvc_builtin_layer *layer) {
    layer->recording = layer->whole = layer->used = layer->was_reset = layer->lost_dtype = layer->shrunk = 0;
    layer->away = layer->early = layer->one_cell_short = 0;
    layer->away_count = 0;
    layer->rows = layer->params->batch;
    layer->fold = 0;
    layer->open_count = 0;
    layer->length = layer->peak = layer->bias = layer->finished = layer->block_start = layer->prefix = 0;
    layer->settled = 0;
    layer->depth = 0;
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        kvc_part_rule rule = (kvc_part_rule)part->info->rule;
        if (kvc_store_renew(&part->store) != 0) {
            return -1;
        }
        part->returned = NULL;
        part->returned_cells = 0;
        if (is_buffer(rule) || rule == KVC_PART_OPAQUE) {
            clear(&part->store);
        }
    }
    return 0;
}

int kvc_builtin_layer_reopen(kvc_builtin_layer *layer, kvc_fault fault, kvc_inputs_kept *inputs) {
    layer->fault = fault;
    layer->limit = find_limit(layer);
    layer->is_original = 0;
    for (int i = 0; i < layer->info->parts; i++) {
        layer->part[i].fits_rows = 0;
        if (open_part(layer, &layer->part[i], inputs) != 0) {
            return -1;
        }
    }
    if (layer->info->part[0].rule == KVC_PART_ENTRIES) {
        int32_t *tokens = realloc(layer->open_tokens, ((size_t)layer->params->block + 1) * sizeof *tokens);
        if (tokens == NULL) {
            return -1;
        }
        layer->open_tokens = tokens;
    }
    return kvc_builtin_layer_renew(layer);
}

int kvc_builtin_layer_open(kvc_builtin_layer *layer, const kvc_variant_info *info, const kvc_params *params, int number,
                           kvc_fault fault, kvc_inputs_kept *inputs) {
    memset(layer, 0, sizeof *layer);
    layer->info = info;
    layer->params = params;
    layer->number = number;
    for (int i = 0; i < info->parts; i++) {
        layer->part[i].info = &info->part[i];
    }
    return kvc_builtin_layer_reopen(layer, fault, inputs);
}

void kvc_builtin_layer_close(kvc_builtin_layer *layer) {
    for (int i = 0; i < KVC_LAYER_PARTS_MAX; i++) {
        kvc_store_close(&layer->part[i].store);
    }
    free(layer->open_tokens);
    layer->open_tokens = NULL;
}

/* Parts that a forgetful reset leaves as they are. */
static int reset_forgets(const kvc_builtin_layer *layer, const kvc_builtin_part *part) {
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    kvc_part_name name = (kvc_part_name)part->info->name;
    switch (layer->fault) {
    case KVC_FAULT_RESET_KEEPS_VALUES:
        return name == KVC_NAME_VALUES;
    case KVC_FAULT_RESET_KEEPS_INDEX:
        return name == KVC_NAME_INDEX;
    case KVC_FAULT_RESET_KEEPS_WINDOW:
        return layer->length >= kvc_builtin_layer_limit(layer);
    case KVC_FAULT_RESET_KEEPS_STATES:
        return rule == KVC_PART_LAST;
    case KVC_FAULT_RESET_KEEPS_SUMMARY:
        return rule == KVC_PART_OPAQUE;
    case KVC_FAULT_RESET_KEEPS_REST:
        return rule == KVC_PART_REST;
    case KVC_FAULT_RESET_KEEPS_OVERLAP:
        return rule == KVC_PART_OVERLAP;
    case KVC_FAULT_RESET_KEEPS_QUANTISED:
        return rule == KVC_PART_QUANTISED;
    case KVC_FAULT_RESET_KEEPS_CROSS:
        return rule == KVC_PART_CONSTANT;
    default:
        return 0;
    }
}

void kvc_builtin_layer_reset(kvc_builtin_layer *layer) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        kvc_store *store = &part->store;
        if (is_buffer((kvc_part_rule)part->info->rule)) {
            clear(store);
        }
        if (layer->fault == KVC_FAULT_RESET_MOVES_BUFFER) {
            kvc_store_move(store);
        }
        if (!reset_forgets(layer, part)) {
            store->start = 0;
            store->count = 0;
        }
    }
    if (layer->fault != KVC_FAULT_RESET_KEEPS_FOLD) {
        layer->fold = 0;
    }
    if (layer->fault != KVC_FAULT_RESET_KEEPS_REST) {
        layer->open_count = 0;
    }
    if (layer->fault == KVC_FAULT_RESET_STOPS_RECORDING) {
        layer->recording = 0;
    }
    if (layer->fault != KVC_FAULT_RESET_KEEPS_LENGTH) {
        layer->length = 0;
    }
    if (layer->fault != KVC_FAULT_RESET_KEEPS_PREFIX) {
        layer->settled = 0;
        layer->prefix = 0;
    }
    if (layer->fault != KVC_FAULT_RESET_KEEPS_FINISHED) {
        layer->finished = 0;
    }
    layer->was_reset = layer->used;
    layer->used = 0;
    layer->peak = 0;
    layer->bias = 0;
    layer->depth = 0;
    layer->shrunk = 0;
    layer->lost_dtype = 0;
    layer->early = 0;
    layer->one_cell_short = 0;
}

void kvc_builtin_layer_record(kvc_builtin_layer *layer, int on) {
    if (on || layer->fault != KVC_FAULT_RECORD_NEVER_ENDS) {
        layer->recording = on;
    }
    /* What was recorded stays until the next append. */
    layer->whole &= layer->recording;
}

/* Parts that a forgetful change of rows leaves as they are. */
static int rows_forget(const kvc_builtin_layer *layer, const kvc_builtin_part *part, const kvc_op *op) {
    kvc_part_name name = (kvc_part_name)part->info->name;
    if (op->kind == KVC_REPEAT) {
        return (layer->fault == KVC_FAULT_REPEAT_FORGETS_INDEX && name == KVC_NAME_INDEX) ||
               (layer->fault == KVC_FAULT_REPEAT_FORGETS_QUANTISED && part->info->rule == KVC_PART_QUANTISED);
    }
    if (op->kind != KVC_REORDER) {
        return 0;
    }
    switch (layer->fault) {
    case KVC_FAULT_REORDER_KEYS_ONLY:
        return name == KVC_NAME_VALUES;
    case KVC_FAULT_REORDER_VALUES_ONLY:
        return name == KVC_NAME_KEYS;
    case KVC_FAULT_REORDER_FORGETS:
        return 1;
    case KVC_FAULT_REORDER_FORGETS_INDEX:
        return name == KVC_NAME_INDEX;
    case KVC_FAULT_REORDER_FORGETS_ENTRIES:
        return name == KVC_NAME_ENTRIES;
    case KVC_FAULT_REORDER_FORGETS_OVERLAP:
        return name == KVC_NAME_OVERLAP;
    case KVC_FAULT_REORDER_FORGETS_QUANTISED:
        return part->info->rule == KVC_PART_QUANTISED;
    case KVC_FAULT_REORDER_FORGETS_CROSS:
        return part->info->rule == KVC_PART_CONSTANT;
    case KVC_FAULT_REORDER_FORGETS_STATES:
        return part->info->rule == KVC_PART_LAST;
    default:
        return 0;
    }
}

int kvc_builtin_layer_prepare_rows(kvc_builtin_layer *layer, const kvc_op *op, const uint8_t *rows, int32_t count) {
    uint8_t used[KVC_ROWS_MAX];
    for (int32_t row = 0; row < count; row++) {
        used[row] = rows[row];
    }
    /* A tensor that a fault forgets still gets its number of rows, or nothing could be shown. */
    uint8_t same[KVC_ROWS_MAX];
    for (int32_t row = 0; row < count; row++) {
        same[row] = (uint8_t)(row % layer->rows);
    }
    for (int32_t row = 0; row < count; row++) {
        if (layer->fault == KVC_FAULT_REORDER_INVERSE && op->kind == KVC_REORDER) {
            used[rows[row]] = (uint8_t)row;
        } else if (layer->fault == KVC_FAULT_REPEAT_TILES && op->kind == KVC_REPEAT) {
            used[row] = same[row];
        } else if (layer->fault == KVC_FAULT_SELECT_FIRST_ROWS && op->kind == KVC_SELECT) {
            used[row] = same[row];
        }
    }
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        if (kvc_store_prepare_rows(&part->store, rows_forget(layer, part, op) ? same : used, count) != 0) {
            return -1;
        }
    }
    return 0;
}

void kvc_builtin_layer_commit_rows(kvc_builtin_layer *layer, const kvc_op *op, int32_t count) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_store_commit_rows(&layer->part[i].store);
        if (layer->fault == KVC_FAULT_REORDER_MOVES_BUFFER && op->kind == KVC_REORDER) {
            kvc_store_move(&layer->part[i].store);
        }
    }
    layer->rows = count;
    if (layer->fault == KVC_FAULT_SCALE_LOST_ON_REORDER && op->kind == KVC_REORDER) {
        kvc_quantised_spoil_rows(layer);
    }
    if (layer->fault == KVC_FAULT_POSITION_DRIFTS_ON_REORDER && op->kind == KVC_REORDER) {
        layer->bias++;
    }
}

void kvc_builtin_layer_abandon_rows(kvc_builtin_layer *layer) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_store_abandon_rows(&layer->part[i].store);
    }
}
