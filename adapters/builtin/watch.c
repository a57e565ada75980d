#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

static const char returned_word[] = "returned.";

/* A new entry with room for `size` bytes, without a name, or NULL when memory is short. */
static kvc_watched *add_entry(kvc_watch *watch, size_t size) {
    if (watch->count == watch->room) {
        size_t room = watch->room != 0 ? 2 * watch->room : 16;
        kvc_watched **list = realloc(watch->list, room * sizeof *list);
        if (list == NULL) {
            return NULL;
        }
        watch->list = list;
        watch->room = room;
    }
    if (watch->count == watch->made) {
        watch->list[watch->made] = calloc(1, sizeof **watch->list);
        if (watch->list[watch->made] == NULL) {
            return NULL;
        }
        watch->made++;
    }
    kvc_watched *entry = watch->list[watch->count];
    if (entry->data == NULL || size > entry->room) {
        unsigned char *data = malloc(size != 0 ? size : 1);
        if (data == NULL) {
            return NULL;
        }
        free(entry->data);
        entry->data = data;
        entry->room = size;
    }
    entry->size = size;
    entry->tensor = (kvc_tensor){.name = entry->name, .data = entry->data};
    watch->count++;
    return entry;
}

/* Adds text to a name that ends at `at`, as far as it fits; returns its new end. */
static size_t add_text(char *name, size_t at, const char *text, size_t length) {
    size_t left = KVC_NAME_MAX - 1 - at;
    length = length < left ? length : left;
    memcpy(name + at, text, length);
    name[at + length] = '\0';
    return at + length;
}

/* Names an entry `KIND.NUMBER.` and what follows: printing would take longer than all the rest. */
static size_t begin_name(kvc_watched *entry, const char *kind, int32_t append) {
    char digits[12];
    size_t first = sizeof digits;
    digits[--first] = '.';
    for (int32_t rest = append; rest > 0 || first == sizeof digits - 1; rest /= 10) {
        digits[--first] = (char)('0' + rest % 10);
    }
    return add_text(entry->name, add_text(entry->name, 0, kind, strlen(kind)), digits + first, sizeof digits - first);
}

static int has_input(kvc_part_rule rule) {
    switch (rule) {
    case KVC_PART_ALL:
    case KVC_PART_WINDOW:
    case KVC_PART_LAST:
    case KVC_PART_FIXED:
    case KVC_PART_FIXED_WINDOW:
    case KVC_PART_PREFIX:
    case KVC_PART_FIXED_PREFIX:
    case KVC_PART_RING:
    case KVC_PART_QUANTISED:
        return 1;
    default:
        return 0;
    }
}

static void fill_input(kvc_builtin_part *part, kvc_watched *entry, const int32_t *numbers, int64_t count, unsigned char *cells) {
    kvc_store *store = &part->store;
    int turned = part->info->shape == KVC_SHAPE_TURNED;
    unsigned char *out = entry->data;
    memcpy(entry->tensor.shape, part->stored_as.shape, sizeof entry->tensor.shape);
    entry->tensor.shape[0] = store->rows;
    entry->tensor.shape[part->tokens_axis] = count;
    entry->tensor.dims = part->stored_as.dims;
    entry->tensor.dtype = part->stored_as.dtype;
    if (!turned) {
        kvc_store_make_lanes(store, numbers, count, out);
        return;
    }
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++, out += (size_t)count * store->cell) {
            kvc_store_make_cells(store, numbers, count, row, head, cells);
            kvc_store_turn(store, cells, count, out);
        }
    }
}

int kvc_watch_inputs(kvc_watch *watch, kvc_builtin_layer *layer, int32_t append, const int32_t *numbers, int64_t count) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        const char *name = kvc_stored_name(layer->number, (kvc_part_name)part->info->name);
        if (!has_input((kvc_part_rule)part->info->rule)) {
            continue;
        }
        if (part->info->rule == KVC_PART_QUANTISED) {
            part -= 2; /* its residual holds tokens as they come in */
        }
        const kvc_store *store = &part->store;
        size_t lane = (size_t)count * store->cell;
        if (watch->cells == NULL || lane > watch->cells_room) {
            unsigned char *cells = malloc(lane);
            if (cells == NULL) {
                return -1;
            }
            free(watch->cells);
            watch->cells = cells;
            watch->cells_room = lane;
        }
        kvc_watched *entry = add_entry(watch, (size_t)store->rows * (size_t)store->heads * lane);
        if (entry == NULL) {
            return -1;
        }
        (void)add_text(entry->name, begin_name(entry, "input.", append), name, strlen(name));
        entry->append = append;
        entry->is_input = 1;
        fill_input(part, entry, numbers, count, watch->cells);
    }
    return 0;
}

int kvc_watch_returned(kvc_watch *watch, int32_t append, const kvc_observation *out) {
    for (int32_t i = 0; i < out->tensors; i++) {
        const kvc_tensor *tensor = &out->tensor[i];
        const char *word = strstr(tensor->name, returned_word);
        if (word == NULL) {
            continue;
        }
        size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
        for (int32_t d = 0; d < tensor->dims; d++) {
            size *= (size_t)tensor->shape[d];
        }
        kvc_watched *entry = add_entry(watch, size);
        if (entry == NULL) {
            return -1;
        }
        const char *rest = word + sizeof returned_word - 1;
        size_t at = add_text(entry->name, begin_name(entry, "earlier.", append), tensor->name, (size_t)(word - tensor->name));
        (void)add_text(entry->name, at, rest, strlen(rest));
        entry->is_input = 0;
        if (size != 0) {
            memcpy(entry->data, tensor->data, size);
        }
        memcpy(entry->tensor.shape, tensor->shape, sizeof entry->tensor.shape);
        entry->tensor.dims = tensor->dims;
        entry->tensor.dtype = tensor->dtype;
        entry->append = append;
    }
    return 0;
}

void kvc_watch_spoil(kvc_watch *watch, int32_t append, int is_input) {
    for (size_t i = 0; i < watch->count; i++) {
        kvc_watched *entry = watch->list[i];
        size_t element = kvc_dtype_size((kvc_dtype)entry->tensor.dtype);
        if (entry->append == append && entry->is_input == is_input && entry->size >= element) {
            memset(entry->data + entry->size - element, 0, element);
        }
    }
}

void kvc_watch_show(const kvc_watch *watch, kvc_observation *out) {
    for (size_t i = 0; i < watch->count && out->tensors < KVC_TENSORS_MAX; i++) {
        out->tensor[out->tensors++] = watch->list[i]->tensor;
    }
}

void kvc_watch_renew(kvc_watch *watch) {
    watch->count = 0;
}

void kvc_watch_close(kvc_watch *watch) {
    for (size_t i = 0; i < watch->made; i++) {
        free(watch->list[i]->data);
        free(watch->list[i]);
    }
    free(watch->list);
    free(watch->cells);
    memset(watch, 0, sizeof *watch);
}
