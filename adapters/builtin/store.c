#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

static size_t lanes(const kvc_store *store) {
    return (size_t)store->rows * (size_t)store->heads;
}

/* Bytes of `a * b * c`, or SIZE_MAX where that does not fit, so that malloc fails. */
static size_t product(size_t a, size_t b, size_t c) {
    if (b != 0 && a > SIZE_MAX / b) {
        return SIZE_MAX;
    }
    if (c != 0 && a * b > SIZE_MAX / c) {
        return SIZE_MAX;
    }
    return a * b * c;
}

static void *take_memory(size_t size) {
    if (size > PTRDIFF_MAX) {
        return NULL;
    }
    return malloc(size != 0 ? size : 1);
}

static void fill_blank(kvc_store *store, int32_t from, int32_t to) {
    for (int32_t row = from; row < to; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            unsigned char *cell = store->blank + ((size_t)row * (size_t)store->heads + (size_t)head) * store->cell;
            for (int32_t channel = 0; channel < store->channels; channel++) {
                int value = kvc_value(store->salt, 0, row, head, channel);
                kvc_value_store(store->dtype, value, cell + (size_t)channel * store->element);
            }
        }
    }
}

int kvc_store_open(kvc_store *store, int32_t rows, int32_t heads, int32_t channels, kvc_dtype dtype, int salt, int64_t capacity) {
    memset(store, 0, sizeof *store);
    store->rows = rows;
    store->heads = heads;
    store->channels = channels;
    store->salt = salt;
    store->dtype = dtype;
    store->element = kvc_dtype_size(dtype);
    store->cell = (size_t)channels * store->element;
    store->capacity = capacity;
    store->data = take_memory(product(lanes(store), (size_t)capacity, store->cell));
    store->blank = take_memory(product(lanes(store), 1, store->cell));
    if (store->data == NULL || store->blank == NULL) {
        return -1;
    }
    fill_blank(store, 0, rows);
    store->blank_rows = rows;
    return 0;
}

void kvc_store_close(kvc_store *store) {
    free(store->data);
    free(store->blank);
    free(store->spare);
    for (int which = 0; which < KVC_LANES_SHOWN; which++) {
        free(store->shown[which]);
    }
    memset(store, 0, sizeof *store);
}

static unsigned char *slot(const kvc_store *store, size_t lane, int64_t index) {
    return store->data + (lane * (size_t)store->capacity + (size_t)index) * store->cell;
}

int kvc_store_reserve(kvc_store *store, int64_t extra) {
    if (store->start + store->count + extra <= store->capacity) {
        return 0;
    }
    /* Cells dropped in front make room first, where they are at least half of it: each cell moves a bounded number of times. */
    if (store->count + extra <= store->capacity / 2) {
        for (size_t lane = 0; lane < lanes(store); lane++) {
            memmove(slot(store, lane, 0), slot(store, lane, store->start), (size_t)store->count * store->cell);
        }
        store->start = 0;
        return 0;
    }
    int64_t capacity = 2 * (store->count + extra);
    unsigned char *data = take_memory(product(lanes(store), (size_t)capacity, store->cell));
    if (data == NULL) {
        return -1;
    }
    for (size_t lane = 0; lane < lanes(store); lane++) {
        memcpy(data + lane * (size_t)capacity * store->cell, slot(store, lane, store->start), (size_t)store->count * store->cell);
    }
    free(store->data);
    store->data = data;
    store->capacity = capacity;
    store->start = 0;
    return 0;
}

/* float32, little-endian: the common type needs no conversion. */
static const unsigned char small_floats[8][4] = {{0, 0, 0, 0},       {0, 0, 0x80, 0x3f}, {0, 0, 0, 0x40},    {0, 0, 0x40, 0x40},
                                                 {0, 0, 0x80, 0x40}, {0, 0, 0xa0, 0x40}, {0, 0, 0xc0, 0x40}, {0, 0, 0xe0, 0x40}};

/* The digits of the token lie in channels 0 to 5 of each 8; those of row and head are in the blank cell already. */
static void patch_cell(const kvc_store *store, int32_t token, unsigned char *cell) {
    int32_t rest = token;
    for (int32_t place = 0; place <= 5 && rest != 0; place++, rest /= 7) {
        int32_t digit = rest % 7;
        for (int32_t channel = place; digit != 0 && channel < store->channels; channel += 8) {
            int value = 1 + (digit + 3 * store->salt + 5 * channel) % 7;
            if (store->dtype == KVC_FLOAT32) {
                memcpy(cell + (size_t)channel * 4, small_floats[value], 4);
            } else {
                kvc_value_store(store->dtype, value, cell + (size_t)channel * store->element);
            }
        }
    }
}

void kvc_store_make_cell(const kvc_store *store, int32_t token, int32_t row, int32_t head, unsigned char *out) {
    memcpy(out, store->blank + ((size_t)row * (size_t)store->heads + (size_t)head) * store->cell, store->cell);
    patch_cell(store, token, out);
}

void kvc_store_write(kvc_store *store, int64_t index, int32_t token) {
    size_t lane = 0;
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++, lane++) {
            kvc_store_make_cell(store, token, row, head, slot(store, lane, index));
        }
    }
}

void kvc_store_push(kvc_store *store, int32_t token) {
    kvc_store_write(store, store->start + store->count, token);
    store->count++;
}

unsigned char *kvc_store_cell(const kvc_store *store, int32_t row, int32_t head, int64_t index) {
    return slot(store, (size_t)row * (size_t)store->heads + (size_t)head, store->start + index);
}

void kvc_store_drop_front(kvc_store *store, int64_t cells) {
    if (cells <= 0) {
        return;
    }
    if (cells > store->count) {
        cells = store->count;
    }
    store->start += cells;
    store->count -= cells;
}

void kvc_store_drop_back(kvc_store *store, int64_t cells) {
    if (cells > 0) {
        store->count = cells < store->count ? store->count - cells : 0;
    }
}

void kvc_store_keep_newest(kvc_store *store, int64_t cells) {
    kvc_store_drop_front(store, store->count - (cells > 0 ? cells : 0));
}

int kvc_store_prepare_rows(kvc_store *store, const uint8_t *rows, int32_t count) {
    size_t row_size = product((size_t)store->heads, (size_t)store->capacity, store->cell);
    if (count > store->blank_rows) {
        size_t size = product((size_t)count, (size_t)store->heads, store->cell);
        unsigned char *blank = size > PTRDIFF_MAX ? NULL : realloc(store->blank, size);
        if (blank == NULL) {
            return -1;
        }
        store->blank = blank;
        fill_blank(store, store->blank_rows, count);
        store->blank_rows = count;
    }
    unsigned char *spare = take_memory(product((size_t)count, row_size, 1));
    if (spare == NULL) {
        return -1;
    }
    size_t used = (size_t)(store->start + store->count) * store->cell;
    if (store->pinned) {
        used = (size_t)store->capacity * store->cell;
    }
    size_t lane_size = (size_t)store->capacity * store->cell;
    for (int32_t row = 0; row < count; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            size_t from = (size_t)rows[row] * (size_t)store->heads + (size_t)head;
            size_t to = (size_t)row * (size_t)store->heads + (size_t)head;
            memcpy(spare + to * lane_size, store->data + from * lane_size, used);
        }
    }
    free(store->spare);
    store->spare = spare;
    store->spare_rows = count;
    return 0;
}

void kvc_store_commit_rows(kvc_store *store) {
    if (store->spare == NULL) {
        return;
    }
    if (store->pinned && store->spare_rows == store->rows) {
        memcpy(store->data, store->spare, lanes(store) * (size_t)store->capacity * store->cell);
        kvc_store_abandon_rows(store);
        return;
    }
    free(store->data);
    store->data = store->spare;
    store->rows = store->spare_rows;
    store->spare = NULL;
}

void kvc_store_abandon_rows(kvc_store *store) {
    free(store->spare);
    store->spare = NULL;
}

void kvc_store_move(kvc_store *store) {
    size_t size = lanes(store) * (size_t)store->capacity * store->cell;
    unsigned char *data = take_memory(size);
    if (data != NULL) {
        memcpy(data, store->data, size);
        free(store->data);
        store->data = data;
    }
}

unsigned char *kvc_store_buffer(kvc_store *store, int which, size_t size) {
    if (size > store->shown_size[which]) {
        unsigned char *buffer = take_memory(product(size, 2, 1));
        if (buffer == NULL) {
            return NULL;
        }
        free(store->shown[which]);
        store->shown[which] = buffer;
        store->shown_size[which] = 2 * size;
    }
    return store->shown[which];
}

const void *kvc_store_view(kvc_store *store, int which, int64_t from, int64_t cells) {
    if (cells <= 0) {
        return NULL;
    }
    size_t count = lanes(store);
    int64_t first = store->start + from;
    if (count == 1 || (first == 0 && cells == store->capacity)) {
        return slot(store, 0, first);
    }
    size_t size = (size_t)cells * store->cell;
    unsigned char *buffer = kvc_store_buffer(store, which, product(count, size, 1));
    for (size_t lane = 0; buffer != NULL && lane < count; lane++) {
        memcpy(buffer + lane * size, slot(store, lane, first), size);
    }
    return buffer;
}

const void *kvc_store_view_turned(kvc_store *store, int which, int64_t from, int64_t cells, int64_t width) {
    size_t row_size = product((size_t)width, store->cell, 1);
    unsigned char *buffer = kvc_store_buffer(store, which, product(lanes(store), row_size, 1));
    if (buffer == NULL) {
        return NULL;
    }
    memset(buffer, 0, lanes(store) * row_size);
    for (size_t lane = 0; lane < lanes(store); lane++) {
        for (int64_t index = 0; index < cells; index++) {
            const unsigned char *cell = slot(store, lane, store->start + from + index);
            size_t column = (size_t)(width - cells + index);
            for (size_t channel = 0; channel < (size_t)store->channels; channel++) {
                unsigned char *out = buffer + lane * row_size + (channel * (size_t)width + column) * store->element;
                memcpy(out, cell + channel * store->element, store->element);
            }
        }
    }
    return buffer;
}
