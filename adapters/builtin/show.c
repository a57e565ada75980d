#include "adapters/builtin/builtin_internal.h"

#include <string.h>

#include "reference/values.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

int64_t kvc_builtin_layer_wrong_length(const kvc_builtin_layer *layer) {
    switch (layer->fault) {
    case KVC_FAULT_LENGTH_NOT_ROLLED_BACK:
        return layer->peak;
    case KVC_FAULT_RESET_KEEPS_COUNT:
        return layer->length + layer->was_reset;
    case KVC_FAULT_LENGTH_CAPPED:
        return smaller(layer->length, kvc_builtin_layer_limit(layer));
    case KVC_FAULT_LENGTH_FROM_RESIDUAL:
        return layer->part[0].store.count;
    default:
        return layer->length;
    }
}

int64_t kvc_builtin_layer_wrong_position(const kvc_builtin_layer *layer) {
    switch (layer->fault) {
    case KVC_FAULT_POSITION_NOT_ROLLED_BACK:
        return layer->peak;
    case KVC_FAULT_POSITION_CAPPED:
        return smaller(layer->length, kvc_builtin_layer_limit(layer));
    case KVC_FAULT_POSITION_WRAPS:
        return layer->length % kvc_builtin_layer_limit(layer);
    default:
        return layer->length + layer->bias;
    }
}

static void mask_of_all(const kvc_builtin_layer *layer, int64_t count, int64_t *length) {
    *length = layer->length + count;
    if (layer->fault == KVC_FAULT_MASK_WITHOUT_NEW) {
        *length = layer->length;
    } else if (layer->fault == KVC_FAULT_MASK_NOT_ROLLED_BACK) {
        *length = larger(layer->length, layer->peak) + count;
    }
}

void kvc_builtin_layer_mask(const kvc_builtin_layer *layer, int64_t count, int64_t *length, int64_t *offset) {
    if (!layer->info->masks) {
        *length = KVC_ABSENT;
        *offset = KVC_ABSENT;
        return;
    }
    /* The attention part is the last one; what a layer holds beside it announces no mask. */
    int64_t limit = kvc_builtin_layer_limit(layer);
    int64_t late = layer->fault == KVC_FAULT_MASK_OFFSET_LATE && layer->length >= limit;
    *offset = 0;
    switch ((kvc_part_rule)layer->info->part[layer->info->parts - 1].rule) {
    case KVC_PART_WINDOW:
        *length = smaller(layer->length, limit - 1) + count;
        *offset = layer->length - limit + 1 + late;
        if (layer->fault != KVC_FAULT_MASK_OFFSET_NEGATIVE) {
            *offset = larger(0, *offset);
        }
        break;
    case KVC_PART_FIXED:
        *length = layer->fault == KVC_FAULT_MASK_IS_LENGTH ? layer->length + count : limit;
        break;
    case KVC_PART_FIXED_WINDOW:
        *offset = larger(0, layer->length - limit + 1 + late);
        if (layer->length >= limit) {
            *length = limit - 1 + count;
        } else {
            *length = larger(limit, layer->length + count);
        }
        break;
    case KVC_PART_PREFIX:
    case KVC_PART_FIXED_PREFIX:
        kvc_builtin_prefix_mask(layer, count, length, offset);
        break;
    default:
        mask_of_all(layer, count, length);
        break;
    }
}

void kvc_builtin_part_describe(const kvc_builtin_layer *layer, kvc_builtin_part *part) {
    const kvc_params *params = layer->params;
    const kvc_store *store = &part->store;
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    kvc_tensor *tensor = &part->stored_as;
    memset(tensor, 0, sizeof *tensor);
    part->tokens_axis = -1;
    switch ((kvc_part_shape)part->info->shape) {
    case KVC_SHAPE_KEYS:
    case KVC_SHAPE_VALUES:
        tensor->dims = 4;
        tensor->shape[1] = store->heads;
        part->tokens_axis = 2;
        tensor->shape[3] = store->channels;
        break;
    case KVC_SHAPE_INDEX:
        tensor->dims = 3;
        part->tokens_axis = 1;
        tensor->shape[2] = store->channels;
        break;
    case KVC_SHAPE_TURNED:
        tensor->dims = 3;
        tensor->shape[1] = store->channels;
        part->tokens_axis = 2;
        break;
    case KVC_SHAPE_STATE:
        tensor->dims = 4;
        tensor->shape[1] = store->heads;
        tensor->shape[2] = params->key_dim;
        tensor->shape[3] = params->value_dim;
        break;
    case KVC_SHAPE_SUMMARY:
        tensor->dims = 3;
        tensor->shape[1] = store->heads;
        tensor->shape[2] = store->channels;
        break;
    case KVC_SHAPE_NUMBER:
        tensor->dims = 1;
        tensor->shape[0] = 1;
        break;
    }
    tensor->dtype = (int32_t)store->dtype;
    part->returned_as = *tensor;
    part->is_plain = part->tokens_axis >= 0 && (rule == KVC_PART_ALL || rule == KVC_PART_WINDOW || rule == KVC_PART_RING ||
                                                rule == KVC_PART_ENTRIES || rule == KVC_PART_REST || rule == KVC_PART_OVERLAP ||
                                                rule == KVC_PART_NOTHING || rule == KVC_PART_PREFIX || rule == KVC_PART_RESIDUAL ||
                                                rule == KVC_PART_CONSTANT);
    part->is_whole = rule == KVC_PART_FIXED || rule == KVC_PART_FIXED_WINDOW;
    tensor->name = kvc_stored_name(layer->number, (kvc_part_name)part->info->name);
    part->returned_as.name = kvc_returned_name(layer->number, (kvc_part_name)part->info->name);
}

/* A state lies row by row, as the strides of what is expected say: so it is compared as it lies. */
static void set_strides_of_state(kvc_tensor *tensor, int64_t size) {
    for (int axis = tensor->dims - 1; axis >= 0; axis--) {
        tensor->stride[axis] = size;
        size *= tensor->shape[axis];
    }
}

void kvc_builtin_part_set_sizes(const kvc_builtin_part *part, int64_t cells, kvc_tensor *tensor) {
    int64_t rows = part->store.rows;
    int64_t size = (int64_t)kvc_dtype_size((kvc_dtype)tensor->dtype);
    if (part->info->shape == KVC_SHAPE_NUMBER) {
        return;
    }
    tensor->shape[0] = rows;
    if (part->info->rule == KVC_PART_FOLDED) {
        set_strides_of_state(tensor, size);
        return;
    }
    if (part->tokens_axis < 0) {
        return;
    }
    tensor->shape[part->tokens_axis] = cells;
    switch ((kvc_part_shape)part->info->shape) {
    case KVC_SHAPE_KEYS:
    case KVC_SHAPE_VALUES:
        tensor->stride[3] = size;
        tensor->stride[1] = size * tensor->shape[3];
        tensor->stride[0] = tensor->stride[1] * tensor->shape[1];
        tensor->stride[2] = tensor->stride[0] * rows;
        break;
    case KVC_SHAPE_INDEX:
        tensor->stride[2] = size;
        tensor->stride[0] = size * tensor->shape[2];
        tensor->stride[1] = tensor->stride[0] * rows;
        break;
    case KVC_SHAPE_TURNED:
        tensor->stride[1] = size;
        tensor->stride[0] = size * tensor->shape[1];
        tensor->stride[2] = tensor->stride[0] * rows;
        break;
    default:
        break;
    }
}

/* Keys that have become float32. Returns NULL when memory is short. */
static const void *widen(kvc_store *store, const void *data, int64_t cells) {
    size_t count = (size_t)(cells * store->rows * store->heads * store->channels);
    unsigned char *out = kvc_store_buffer(store, 1, count * 4);
    for (size_t i = 0; out != NULL && i < count; i++) {
        int64_t value = 0;
        (void)kvc_value_load(store->dtype, (const unsigned char *)data + i * store->element, &value);
        kvc_value_store(KVC_FLOAT32, value, out + i * 4);
    }
    return out;
}

/* Zeros on the wrong side. */
static void pad_right(const kvc_store *store, int64_t cells, int64_t width) {
    size_t state = (size_t)cells * kvc_store_stripe(store);
    size_t padding = (size_t)(width - cells) * kvc_store_stripe(store);
    memmove(store->shown[0], store->shown[0] + padding, state);
    memset(store->shown[0] + state, 0, padding);
}

static int show_quantised(kvc_builtin_layer *layer, int index, kvc_tensor *tensor) {
    const kvc_builtin_part *part = &layer->part[index];
    const kvc_store *residual = &layer->part[index - 2].store;
    int64_t cells;
    *tensor = part->stored_as;
    if (layer->is_original) {
        tensor->name = kvc_original_name(layer->number, (kvc_part_name)part->info->name);
    }
    tensor->dtype = (int32_t)residual->dtype;
    tensor->data = kvc_quantised_view(layer, index, 0, &cells);
    tensor->shape[3] = residual->channels;
    kvc_builtin_part_set_sizes(part, cells, tensor);
    return cells > 0 && tensor->data == NULL ? -1 : 0;
}

static int show_stored(kvc_builtin_layer *layer, kvc_builtin_part *part, kvc_tensor *tensor) {
    kvc_store *store = &part->store;
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    int64_t cells = store->count;
    *tensor = part->stored_as;
    if (layer->is_original) {
        tensor->name = kvc_original_name(layer->number, (kvc_part_name)part->info->name);
    }
    switch (rule) {
    case KVC_PART_LAST:
        cells = larger(cells, layer->params->kernel);
        tensor->data = kvc_store_view_padded(store, 0, 0, store->count, cells);
        if (layer->fault == KVC_FAULT_PADS_RIGHT && tensor->data == store->shown[0] && store->count < cells) {
            pad_right(store, store->count, cells);
        }
        break;
    case KVC_PART_FIXED:
    case KVC_PART_FIXED_WINDOW:
        cells = store->capacity;
        tensor->data = store->data;
        tensor->address = (uint64_t)(uintptr_t)store->data;
        if (layer->one_cell_short) {
            tensor->data = kvc_store_view(store, 0, --cells);
        }
        break;
    case KVC_PART_FIXED_PREFIX:
        cells = layer->settled || layer->early ? kvc_builtin_prefix_cells(layer) : 0;
        tensor->data = kvc_store_view(store, 0, cells);
        tensor->address = cells > 0 ? (uint64_t)(uintptr_t)store->data : 0;
        break;
    case KVC_PART_COUNT:
        cells = 1;
        tensor->data = &layer->finished;
        break;
    default:
        tensor->data = kvc_store_view(store, 0, cells);
        break;
    }
    if (layer->lost_dtype && part->info->name == KVC_NAME_KEYS && cells > 0) {
        tensor->data = widen(store, tensor->data, cells);
        tensor->dtype = KVC_FLOAT32;
        kvc_builtin_part_set_sizes(part, cells, tensor);
    } else if (part->tokens_axis >= 0) {
        tensor->shape[part->tokens_axis] = cells;
    }
    return cells > 0 && tensor->data == NULL ? -1 : 0;
}

static int show_returned(const kvc_builtin_layer *layer, const kvc_builtin_part *part, const kvc_tensor *stored, kvc_tensor *tensor) {
    if (part->returned_cells < 0 && part->info->rule != KVC_PART_COUNT) {
        *tensor = *stored;
        tensor->name = part->returned_as.name;
        tensor->address = 0;
        return 0;
    }
    *tensor = part->returned_as;
    tensor->dtype = stored->dtype;
    if (part->info->rule == KVC_PART_COUNT) {
        tensor->data = &layer->block_start;
        return 0;
    }
    tensor->data = part->returned;
    if (tensor->dtype != part->returned_as.dtype || part->info->rule == KVC_PART_QUANTISED) {
        memcpy(tensor->shape, stored->shape, sizeof tensor->shape);
        kvc_builtin_part_set_sizes(part, part->returned_cells, tensor);
    } else if (part->tokens_axis >= 0) {
        tensor->shape[part->tokens_axis] = part->returned_cells;
    }
    return part->returned_cells > 0 && tensor->data == NULL ? -1 : 0;
}

/* Where rows and cells lie depends on how many rows there are. */
static void fit(kvc_builtin_part *part) {
    part->fits_rows = part->store.rows;
    kvc_builtin_part_set_sizes(part, 0, &part->stored_as);
    kvc_builtin_part_set_sizes(part, 0, &part->returned_as);
}

/*
 * A part that shows its buffer or the cells that it has in use, and what it returned as it lies. Returns the place behind what is shown.
 * Neither entry is made of the other: what was just written in pieces is not ready to be read.
 */
static inline kvc_tensor *show_plain(const kvc_builtin_part *part, int appended, kvc_tensor *at) {
    const kvc_store *store = &part->store;
    int64_t cells = part->is_whole ? store->capacity : store->count;
    const void *data = part->is_whole ? store->data : kvc_store_view(store, 0, cells);
    kvc_tensor *stored = at++;
    *stored = part->stored_as;
    stored->data = data;
    stored->address = part->is_whole ? (uint64_t)(uintptr_t)data : 0;
    stored->shape[part->tokens_axis] = cells;
    if (appended && part->info->returned) {
        kvc_tensor *returned = at++;
        int itself = part->returned_cells < 0;
        *returned = part->returned_as;
        returned->data = itself ? data : part->returned;
        returned->shape[part->tokens_axis] = itself ? cells : part->returned_cells;
    }
    return at;
}

/* Any other part. Returns NULL when memory is short. Apart from the loop, which is done after every op and most often for plain parts. */
static __attribute__((noinline)) kvc_tensor *show_other(kvc_builtin_layer *layer, kvc_builtin_part *part, int appended, kvc_tensor *at) {
    kvc_part_rule rule = (kvc_part_rule)part->info->rule;
    if ((rule == KVC_PART_FOLDED || rule == KVC_PART_OPAQUE) && part->store.count == 0) {
        return at; /* there is no state of no tokens */
    }
    kvc_tensor *stored = at++;
    int failed = rule == KVC_PART_QUANTISED ? show_quantised(layer, (int)(part - layer->part), stored) : show_stored(layer, part, stored);
    if (appended && part->info->returned) {
        failed |= show_returned(layer, part, stored, at++);
    }
    return failed == 0 ? at : NULL;
}

int kvc_builtin_layer_show(kvc_builtin_layer *layer, int appended, kvc_observation *out) {
    int is_plain = !layer->is_original && !layer->lost_dtype && !layer->one_cell_short;
    kvc_builtin_part *end = layer->part + layer->info->parts;
    kvc_tensor *at = &out->tensor[out->tensors];
    for (kvc_builtin_part *part = layer->part; at != NULL && part < end; part++) {
        if (part->fits_rows != part->store.rows) {
            fit(part);
        }
        at = is_plain && (part->is_plain | part->is_whole) ? show_plain(part, appended, at) : show_other(layer, part, appended, at);
    }
    if (at == NULL) {
        return -1;
    }
    out->tensors = (int32_t)(at - out->tensor);
    return 0;
}
