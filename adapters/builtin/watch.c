#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

static const char returned_word[] = "returned.";

enum { CHUNK = 1 << 14 };

/* Memory for `size` bytes of elements: what is shown one behind the other lies so, most often. NULL when memory is short. */
static unsigned char *take_bytes(kvc_watch *watch, size_t size) {
    kvc_watch_chunk *chunk = watch->chunk;
    while (chunk != NULL && size > chunk->size - chunk->used && chunk->next != NULL) {
        chunk = chunk->next;
        chunk->used = 0; /* of another sequence */
    }
    if (chunk == NULL || size > chunk->size - chunk->used) {
        size_t room = size > CHUNK ? size : CHUNK;
        kvc_watch_chunk *larger = malloc(sizeof *larger + room);
        if (larger == NULL) {
            return NULL;
        }
        *larger = (kvc_watch_chunk){NULL, room, 0};
        if (chunk == NULL) {
            watch->chunks = larger;
        } else {
            chunk->next = larger;
        }
        chunk = larger;
    }
    watch->chunk = chunk;
    chunk->used += size;
    return chunk->bytes + (chunk->used - size);
}

static int make_room(kvc_watch *watch) {
    size_t room = watch->room != 0 ? 2 * watch->room : 16;
    kvc_watched **list = realloc(watch->list, room * sizeof *list);
    if (list == NULL) {
        return -1;
    }
    watch->list = list;
    kvc_tensor *shown = realloc(watch->shown, room * sizeof *shown);
    if (shown == NULL) {
        return -1;
    }
    watch->shown = shown;
    watch->room = room;
    return 0;
}

/* Adds text to a name that ends at `at`, as far as it fits; returns its new end. */
static size_t add_text(char *name, size_t at, const char *text, size_t length) {
    size_t left = KVC_NAME_MAX - 1 - at;
    length = length < left ? length : left;
    memcpy(name + at, text, length);
    name[at + length] = '\0';
    return at + length;
}

/* Names an entry `KIND.NUMBER.` and the name of its tensor without `returned.`: printing would take longer than all the rest. */
static void name_entry(kvc_watched *entry) {
    char digits[12];
    size_t first = sizeof digits;
    const char *word = entry->is_input ? NULL : strstr(entry->of, returned_word);
    const char *rest = word != NULL ? word + sizeof returned_word - 1 : entry->of;
    digits[--first] = '.';
    for (int32_t number = entry->append; number > 0 || first == sizeof digits - 1; number /= 10) {
        digits[--first] = (char)('0' + number % 10);
    }
    size_t at = entry->is_input ? add_text(entry->name, 0, "input.", 6) : add_text(entry->name, 0, "earlier.", 8);
    at = add_text(entry->name, at, digits + first, sizeof digits - first);
    at = word != NULL ? add_text(entry->name, at, entry->of, (size_t)(word - entry->of)) : at;
    (void)add_text(entry->name, at, rest, strlen(rest));
}

/* A new entry with room for `size` bytes, for the tensor `as`, whose name says what it is of. NULL when memory is short. */
static kvc_tensor *add_entry(kvc_watch *watch, size_t size, const kvc_tensor *as, int32_t append, int is_input) {
    unsigned char *data = take_bytes(watch, size);
    if (data == NULL || (watch->count == watch->room && make_room(watch) != 0)) {
        return NULL;
    }
    if (watch->count == watch->made) {
        watch->list[watch->made] = calloc(1, sizeof **watch->list);
        if (watch->list[watch->made] == NULL) {
            return NULL;
        }
        watch->made++;
    }
    kvc_watched *entry = watch->list[watch->count];
    kvc_tensor *tensor = &watch->shown[watch->count++];
    /* In the next sequence the same tensor stands here, most often: then its name does too. */
    if (entry->of != as->name || entry->append != append || entry->is_input != is_input) {
        entry->of = as->name;
        entry->append = append;
        entry->is_input = is_input;
        name_entry(entry);
    }
    entry->data = data;
    entry->size = size;
    *tensor = *as;
    tensor->name = entry->name;
    tensor->data = data;
    return tensor;
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

int kvc_watch_inputs(kvc_watch *watch, kvc_builtin_layer *layer, int32_t append, const int32_t *numbers, int64_t count) {
    for (int i = 0; i < layer->info->parts; i++) {
        kvc_builtin_part *part = &layer->part[i];
        const char *name = part->stored_as.name;
        if (!has_input((kvc_part_rule)part->info->rule)) {
            continue;
        }
        if (part->info->rule == KVC_PART_QUANTISED) {
            part -= 2; /* its residual holds tokens as they come in */
        }
        kvc_tensor as = part->stored_as;
        as.name = name;
        kvc_builtin_part_set_sizes(part, count, &as);
        const kvc_tensor *tensor = add_entry(watch, (size_t)count * kvc_store_stripe(&part->store), &as, append, 1);
        if (tensor == NULL) {
            return -1;
        }
        kvc_store_make_cells(&part->store, numbers, count, watch->list[watch->count - 1]->data);
    }
    return 0;
}

int kvc_watch_returned(kvc_watch *watch, int32_t append, const kvc_tensor *tensor) {
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
    for (int32_t d = 0; d < tensor->dims; d++) {
        size *= (size_t)tensor->shape[d];
    }
    const kvc_tensor *entry = add_entry(watch, size, tensor, append, 0);
    if (entry == NULL) {
        return -1;
    }
    if (size != 0) {
        memcpy(watch->list[watch->count - 1]->data, tensor->data, size); /* its elements fill that memory */
    }
    return 0;
}

void kvc_watch_spoil(kvc_watch *watch, int32_t append, int is_input) {
    for (size_t i = 0; i < watch->count; i++) {
        kvc_watched *entry = watch->list[i];
        size_t element = kvc_dtype_size((kvc_dtype)watch->shown[i].dtype);
        if (entry->append == append && entry->is_input == is_input && entry->size >= element) {
            memset(entry->data + entry->size - element, 0, element);
        }
    }
}

void kvc_watch_show(const kvc_watch *watch, kvc_observation *out) {
    size_t left = (size_t)(KVC_TENSORS_MAX - out->tensors);
    size_t count = watch->count < left ? watch->count : left;
    if (count > 0) {
        memcpy(&out->tensor[out->tensors], watch->shown, count * sizeof *watch->shown);
    }
    out->tensors += (int32_t)count;
}

void kvc_watch_renew(kvc_watch *watch) {
    watch->count = 0;
    watch->chunk = watch->chunks;
    if (watch->chunk != NULL) {
        watch->chunk->used = 0;
    }
}

void kvc_watch_close(kvc_watch *watch) {
    for (size_t i = 0; i < watch->made; i++) {
        free(watch->list[i]);
    }
    while (watch->chunks != NULL) {
        kvc_watch_chunk *chunk = watch->chunks;
        watch->chunks = chunk->next;
        free(chunk);
    }
    free(watch->list);
    free(watch->shown);
    memset(watch, 0, sizeof *watch);
}
