#include "adapters/builtin/builtin_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char returned_word[] = "returned.";

/* A new entry with room for `size` bytes, or NULL when memory is short. */
static kvc_watched *add_entry(kvc_watch *watch, const char *name, size_t size) {
    if (watch->count == watch->room) {
        size_t room = watch->room != 0 ? 2 * watch->room : 16;
        kvc_watched *list = realloc(watch->list, room * sizeof *list);
        if (list == NULL) {
            return NULL;
        }
        watch->list = list;
        watch->room = room;
    }
    kvc_watched *entry = &watch->list[watch->count];
    memset(entry, 0, sizeof *entry);
    entry->name = malloc(strlen(name) + 1);
    entry->data = malloc(size != 0 ? size : 1);
    if (entry->name == NULL || entry->data == NULL) {
        free(entry->name);
        free(entry->data);
        return NULL;
    }
    memcpy(entry->name, name, strlen(name) + 1);
    entry->size = size;
    watch->count++;
    return entry;
}

static int has_input(kvc_part_rule rule) {
    switch (rule) {
    case KVC_PART_ALL:
    case KVC_PART_WINDOW:
    case KVC_PART_LAST:
    case KVC_PART_FIXED:
    case KVC_PART_FIXED_WINDOW:
    case KVC_PART_RING:
        return 1;
    default:
        return 0;
    }
}

static void fill_input(const kvc_builtin_part *part, kvc_watched *entry, const int32_t *numbers, int64_t count,
                       unsigned char *cell) {
    const kvc_store *store = &part->store;
    int turned = part->info->shape == KVC_SHAPE_TURNED;
    unsigned char *out = entry->data;
    entry->dims = 0;
    entry->shape[entry->dims++] = store->rows;
    if (part->info->shape == KVC_SHAPE_KEYS || part->info->shape == KVC_SHAPE_VALUES) {
        entry->shape[entry->dims++] = store->heads;
    }
    entry->shape[entry->dims++] = turned ? store->channels : count;
    entry->shape[entry->dims++] = turned ? count : store->channels;
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            for (int64_t i = 0; i < count; i++) {
                if (!turned) {
                    kvc_store_make_cell(store, numbers[i], row, head, out + (size_t)i * store->cell);
                    continue;
                }
                kvc_store_make_cell(store, numbers[i], row, head, cell);
                for (size_t channel = 0; channel < (size_t)store->channels; channel++) {
                    memcpy(out + (channel * (size_t)count + (size_t)i) * store->element, cell + channel * store->element,
                           store->element);
                }
            }
            out += (size_t)count * store->cell;
        }
    }
}

int kvc_watch_inputs(kvc_watch *watch, kvc_builtin_layer *layer, int32_t append, const int32_t *numbers, int64_t count) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        const kvc_store *store = &part->store;
        if (!has_input((kvc_part_rule)part->info->rule)) {
            continue;
        }
        char name[KVC_NAME_MAX];
        (void)snprintf(name, sizeof name, "input.%d.%s", (int)append,
                       kvc_stored_name(layer->number, (kvc_part_name)part->info->name));
        unsigned char *cell = malloc(store->cell);
        kvc_watched *entry = add_entry(watch, name, (size_t)(count * store->rows * store->heads) * store->cell);
        if (cell != NULL && entry != NULL) {
            entry->dtype = (int32_t)store->dtype;
            entry->append = append;
            entry->is_input = 1;
            fill_input(part, entry, numbers, count, cell);
        }
        free(cell);
        if (cell == NULL || entry == NULL) {
            return -1;
        }
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
        char name[KVC_NAME_MAX];
        (void)snprintf(name, sizeof name, "earlier.%d.%.*s%s", (int)append, (int)(word - tensor->name), tensor->name,
                       word + sizeof returned_word - 1);
        size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
        for (int32_t d = 0; d < tensor->dims; d++) {
            size *= (size_t)tensor->shape[d];
        }
        kvc_watched *entry = add_entry(watch, name, size);
        if (entry == NULL) {
            return -1;
        }
        if (size != 0) {
            memcpy(entry->data, tensor->data, size);
        }
        memcpy(entry->shape, tensor->shape, sizeof entry->shape);
        entry->dims = tensor->dims;
        entry->dtype = tensor->dtype;
        entry->append = append;
    }
    return 0;
}

void kvc_watch_spoil(kvc_watch *watch, int32_t append, int is_input) {
    for (size_t i = 0; i < watch->count; i++) {
        kvc_watched *entry = &watch->list[i];
        size_t element = kvc_dtype_size((kvc_dtype)entry->dtype);
        if (entry->append == append && entry->is_input == is_input && entry->size >= element) {
            memset(entry->data + entry->size - element, 0, element);
        }
    }
}

void kvc_watch_show(const kvc_watch *watch, kvc_observation *out) {
    for (size_t i = 0; i < watch->count && out->tensors < KVC_TENSORS_MAX; i++) {
        const kvc_watched *entry = &watch->list[i];
        kvc_tensor *tensor = &out->tensor[out->tensors++];
        tensor->name = entry->name;
        tensor->data = entry->data;
        tensor->address = 0;
        memcpy(tensor->shape, entry->shape, sizeof tensor->shape);
        tensor->dims = entry->dims;
        tensor->dtype = entry->dtype;
    }
}

void kvc_watch_close(kvc_watch *watch) {
    for (size_t i = 0; i < watch->count; i++) {
        free(watch->list[i].name);
        free(watch->list[i].data);
    }
    free(watch->list);
    memset(watch, 0, sizeof *watch);
}
