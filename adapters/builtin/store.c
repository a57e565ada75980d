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

/* A buffer of at least `size` bytes without its contents; the old one when it is large enough. NULL when memory is short. */
static unsigned char *enough(unsigned char **buffer, size_t *room, size_t size) {
    if (*buffer == NULL || size > *room) {
        unsigned char *larger = take_memory(size);
        if (larger == NULL) {
            return NULL;
        }
        free(*buffer);
        *buffer = larger;
        *room = size;
    }
    return *buffer;
}

int kvc_store_open(kvc_store *store, int32_t rows, int32_t heads, int32_t channels, kvc_dtype dtype, kvc_encoding encoding, int salt,
                   int64_t capacity) {
    memset(store, 0, sizeof *store);
    store->first_rows = rows;
    store->first_capacity = capacity;
    store->heads = heads;
    store->channels = channels;
    store->salt = salt;
    store->dtype = dtype;
    store->encoding = encoding;
    store->element = kvc_dtype_size(dtype);
    store->cell = (size_t)channels * store->element;
    return kvc_store_renew(store);
}

void kvc_store_find_inputs(kvc_store *store, kvc_inputs_kept *kept) {
    store->inputs = kvc_inputs_of_kind(kept, store->encoding, store->dtype, store->salt, store->heads, store->channels);
}

/* A borrowed buffer stays with its owner. */
static void return_borrowed(kvc_store *store) {
    if (store->borrowed) {
        store->data = NULL;
        store->data_room = 0;
        store->borrowed = 0;
    }
}

int kvc_store_renew(kvc_store *store) {
    return_borrowed(store);
    store->rows = store->first_rows;
    store->capacity = store->first_capacity;
    store->start = 0;
    store->count = 0;
    store->spare_rows = 0;
    return enough(&store->data, &store->data_room, product(lanes(store), (size_t)store->capacity, store->cell)) != NULL ? 0 : -1;
}

int kvc_store_duplicate(kvc_store *out, const kvc_store *from) {
    size_t size = lanes(from) * (size_t)from->capacity * from->cell;
    return_borrowed(out);
    kvc_store before = *out;
    *out = *from;
    out->data = before.data;
    out->data_room = before.data_room;
    out->spare = before.spare;
    out->spare_room = before.spare_room;
    out->spare_rows = 0;
    out->borrowed = 0;
    for (int which = 0; which < KVC_LANES_SHOWN; which++) {
        out->shown[which] = before.shown[which];
        out->shown_room[which] = before.shown_room[which];
    }
    if (enough(&out->data, &out->data_room, size) == NULL) {
        return -1;
    }
    memcpy(out->data, from->data, size);
    return 0;
}

void kvc_store_close(kvc_store *store) {
    return_borrowed(store);
    free(store->data);
    free(store->spare);
    for (int which = 0; which < KVC_LANES_SHOWN; which++) {
        free(store->shown[which]);
    }
    memset(store, 0, sizeof *store);
}

static unsigned char *slot(const kvc_store *store, size_t lane, int64_t index) {
    return store->data + (lane * (size_t)store->capacity + (size_t)index) * store->cell;
}

static void swap_spare(kvc_store *store) {
    return_borrowed(store);
    unsigned char *data = store->data;
    size_t room = store->data_room;
    store->data = store->spare;
    store->data_room = store->spare_room;
    store->spare = data;
    store->spare_room = room;
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
    unsigned char *data =
        enough(&store->spare, &store->spare_room, product(lanes(store), (size_t)capacity, store->cell));
    if (data == NULL) {
        return -1;
    }
    for (size_t lane = 0; lane < lanes(store); lane++) {
        memcpy(data + lane * (size_t)capacity * store->cell, slot(store, lane, store->start), (size_t)store->count * store->cell);
    }
    swap_spare(store);
    store->capacity = capacity;
    store->start = 0;
    return 0;
}

void kvc_store_make_cells(kvc_store *store, const int32_t *numbers, int64_t count, int32_t row, int32_t head, unsigned char *out) {
    const unsigned char *cells = kvc_inputs_find(store->inputs, store->rows, numbers, count);
    if (cells != NULL) {
        size_t lane = (size_t)row * (size_t)store->heads + (size_t)head;
        memcpy(out, cells + lane * (size_t)store->inputs->room * store->cell, (size_t)count * store->cell);
        return;
    }
    for (int64_t i = 0; i < count; i++, out += store->cell) {
        kvc_value_row(store->encoding, store->dtype, store->salt, numbers[i], row, head, store->channels, out);
    }
}

/* The cells of tokens in all lanes, which are `lane_size` bytes apart. */
static void make_lanes(kvc_store *store, const int32_t *numbers, int64_t count, size_t lane_size, unsigned char *out) {
    const unsigned char *cells = kvc_inputs_find(store->inputs, store->rows, numbers, count);
    size_t inputs_lane_size = cells != NULL ? (size_t)store->inputs->room * store->cell : 0;
    size_t size = (size_t)count * store->cell;
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++, out += lane_size) {
            if (cells != NULL) {
                memcpy(out, cells, size);
                cells += inputs_lane_size;
            } else {
                kvc_store_make_cells(store, numbers, count, row, head, out);
            }
        }
    }
}

void kvc_store_write(kvc_store *store, int64_t index, const int32_t *numbers, int64_t count) {
    make_lanes(store, numbers, count, (size_t)store->capacity * store->cell, slot(store, 0, index));
}

void kvc_store_make_lanes(kvc_store *store, const int32_t *numbers, int64_t count, unsigned char *out) {
    make_lanes(store, numbers, count, (size_t)count * store->cell, out);
}

void kvc_store_write_fold(kvc_store *store, int64_t index, int32_t fold) {
    size_t lane_size = (size_t)store->capacity * store->cell;
    unsigned char *first = slot(store, 0, index);
    unsigned char *out = first;
    kvc_value_row(store->encoding, store->dtype, store->salt, fold, 0, 0, store->channels, first);
    for (int32_t row = 0; row < store->rows; row++) {
        for (int32_t head = 0; head < store->heads; head++, out += lane_size) {
            if (store->encoding != KVC_DIGITS) {
                kvc_value_row(store->encoding, store->dtype, store->salt, fold, row, head, store->channels, out);
            } else if (out != first) {
                memcpy(out, first, store->cell);
                kvc_value_move(store->dtype, store->salt, row, head, store->channels, 1, out);
            }
        }
    }
}

void kvc_store_push(kvc_store *store, const int32_t *numbers, int64_t count) {
    kvc_store_write(store, store->start + store->count, numbers, count);
    store->count += count;
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
    size_t lane_size = (size_t)store->capacity * store->cell;
    size_t from = (size_t)store->start * store->cell;
    size_t used = (size_t)store->count * store->cell;
    if (store->pinned) {
        from = 0;
        used = lane_size;
    }
    /* The buffers change places: this one must hold the first number of rows too when the store is renewed. */
    size_t most = (size_t)(count > store->first_rows ? count : store->first_rows) * (size_t)store->heads;
    unsigned char *spare = enough(&store->spare, &store->spare_room, product(most, (size_t)store->capacity, store->cell));
    if (spare == NULL) {
        return -1;
    }
    for (int32_t row = 0; row < count; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            size_t old = (size_t)rows[row] * (size_t)store->heads + (size_t)head;
            size_t new = (size_t)row * (size_t)store->heads + (size_t)head;
            memcpy(spare + new * lane_size + from, store->data + old * lane_size + from, used);
        }
    }
    store->spare_rows = count;
    return 0;
}

void kvc_store_commit_rows(kvc_store *store) {
    if (store->spare_rows == 0) {
        return;
    }
    if (store->pinned && store->spare_rows == store->rows) {
        memcpy(store->data, store->spare, lanes(store) * (size_t)store->capacity * store->cell);
    } else {
        swap_spare(store);
        store->rows = store->spare_rows;
    }
    store->spare_rows = 0;
}

void kvc_store_abandon_rows(kvc_store *store) {
    store->spare_rows = 0;
}

void kvc_store_move(kvc_store *store) {
    size_t size = lanes(store) * (size_t)store->capacity * store->cell;
    if (enough(&store->spare, &store->spare_room, size) != NULL) {
        memcpy(store->spare, store->data, size);
        swap_spare(store);
    }
}

unsigned char *kvc_store_buffer(kvc_store *store, int which, size_t size) {
    if (store->shown[which] != NULL && size <= store->shown_room[which]) {
        return store->shown[which];
    }
    return enough(&store->shown[which], &store->shown_room[which], product(size, 2, 1));
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
    size_t lane_size = (size_t)store->capacity * store->cell;
    const unsigned char *from_lane = slot(store, 0, first);
    unsigned char *buffer = kvc_store_buffer(store, which, product(count, size, 1));
    for (size_t lane = 0; buffer != NULL && lane < count; lane++, from_lane += lane_size) {
        memcpy(buffer + lane * size, from_lane, size);
    }
    return buffer;
}

/* Copies `cells` cells into the last of `width` columns; each switch case has a size that the compiler knows. */
static void turn_lane(const kvc_store *store, const unsigned char *cell, int64_t cells, unsigned char *out, int64_t width) {
    size_t step = (size_t)width * store->element;
    size_t first = (size_t)(width - cells);
    for (size_t column = first; column < (size_t)width; column++) {
        unsigned char *to = out + column * store->element;
        for (int32_t channel = 0; channel < store->channels; channel++, to += step, cell += store->element) {
            switch (store->element) {
            case 2:
                memcpy(to, cell, 2);
                break;
            case 4:
                memcpy(to, cell, 4);
                break;
            default:
                memcpy(to, cell, 8);
                break;
            }
        }
    }
}

void kvc_store_turn(const kvc_store *store, const unsigned char *cells, int64_t count, unsigned char *out) {
    turn_lane(store, cells, count, out, count);
}

const void *kvc_store_view_turned(kvc_store *store, int which, int64_t from, int64_t cells, int64_t width) {
    size_t row_size = product((size_t)width, store->cell, 1);
    unsigned char *buffer = kvc_store_buffer(store, which, product(lanes(store), row_size, 1));
    if (buffer == NULL) {
        return NULL;
    }
    if (cells < width) {
        memset(buffer, 0, lanes(store) * row_size);
    }
    for (size_t lane = 0; lane < lanes(store); lane++) {
        turn_lane(store, slot(store, lane, store->start + from), cells, buffer + lane * row_size, width);
    }
    return buffer;
}
