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

int kvc_store_reopen(kvc_store *store, int32_t rows, int32_t heads, int32_t channels, kvc_dtype dtype, kvc_encoding encoding, int salt,
                     int64_t capacity) {
    store->inputs = NULL;
    store->pinned = 0;
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

static void set_rows(kvc_store *store, int32_t rows) {
    store->rows = rows;
    store->stripe = lanes(store) * store->cell;
}

int kvc_store_renew(kvc_store *store) {
    return_borrowed(store);
    set_rows(store, store->first_rows);
    store->capacity = store->first_capacity;
    store->start = 0;
    store->count = 0;
    store->spare_rows = 0;
    return enough(&store->data, &store->data_room, product(lanes(store), (size_t)store->capacity, store->cell)) != NULL ? 0 : -1;
}

int kvc_store_duplicate(kvc_store *out, const kvc_store *from) {
    size_t size = lanes(from) * (size_t)from->capacity * from->cell;
    size_t used = from->pinned ? size : (size_t)(from->start + from->count) * kvc_store_stripe(from);
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
    memcpy(out->data, from->data, used);
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

static unsigned char *slot(const kvc_store *store, int64_t index) {
    return store->data + (size_t)index * kvc_store_stripe(store);
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

int kvc_store_grow(kvc_store *store, int64_t extra) {
    /* Cells dropped in front make room first, where they are at least half of it: each cell moves a bounded number of times. */
    size_t used = (size_t)store->count * kvc_store_stripe(store);
    if (store->count + extra <= store->capacity / 2) {
        memmove(store->data, slot(store, store->start), used);
        store->start = 0;
        return 0;
    }
    int64_t capacity = 2 * (store->count + extra);
    unsigned char *data =
        enough(&store->spare, &store->spare_room, product(lanes(store), (size_t)capacity, store->cell));
    if (data == NULL) {
        return -1;
    }
    memcpy(data, slot(store, store->start), used);
    swap_spare(store);
    store->capacity = capacity;
    store->start = 0;
    return 0;
}

/* One token that is not among the inputs that are kept, or a fold. */
static void make_stripe(const kvc_store *store, int32_t number, unsigned char *out) {
    if (store->inputs != NULL) {
        kvc_inputs_make(store->inputs, number, store->rows, out);
        return;
    }
    kvc_inputs kind = {.dtype = store->dtype,
                       .encoding = store->encoding,
                       .salt = store->salt,
                       .heads = store->heads,
                       .channels = store->channels,
                       .cell = store->cell};
    kvc_inputs_make(&kind, number, store->rows, out);
}

void kvc_store_make_cells(const kvc_store *store, const int32_t *numbers, int64_t count, unsigned char *out) {
    const unsigned char *cells = kvc_inputs_find(store->inputs, store->rows, numbers, count);
    size_t stripe = kvc_store_stripe(store);
    if (cells != NULL) {
        memcpy(out, cells, (size_t)count * stripe);
        return;
    }
    for (int64_t i = 0; i < count; i++, out += stripe) {
        make_stripe(store, numbers[i], out);
    }
}

void kvc_store_write_fold(kvc_store *store, int64_t index, int32_t fold) {
    const unsigned char *cells = store->inputs != NULL ? kvc_inputs_find_fold(store->inputs, store->rows, fold) : NULL;
    if (cells != NULL) {
        memcpy(slot(store, index), cells, kvc_store_stripe(store));
    } else {
        make_stripe(store, fold, slot(store, index));
    }
}

unsigned char *kvc_store_cell(const kvc_store *store, int32_t row, int32_t head, int64_t index) {
    return slot(store, store->start + index) + ((size_t)row * (size_t)store->heads + (size_t)head) * store->cell;
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

/* Whether each row stays where it is. */
static int stay(const uint8_t *rows, int32_t count) {
    int32_t row = 0;
    while (row < count && rows[row] == row) {
        row++;
    }
    return row == count;
}

int kvc_store_prepare_rows(kvc_store *store, const uint8_t *rows, int32_t count) {
    size_t row_size = (size_t)store->heads * store->cell;
    int64_t first = store->pinned ? 0 : store->start;
    int64_t cells = store->pinned ? store->capacity : store->count;
    /* The buffers change places: this one must hold the first number of rows too when the store is renewed. */
    size_t most = (size_t)(count > store->first_rows ? count : store->first_rows) * (size_t)store->heads;
    unsigned char *spare = enough(&store->spare, &store->spare_room, product(most, (size_t)store->capacity, store->cell));
    if (spare == NULL) {
        return -1;
    }
    unsigned char *out = spare + (size_t)first * (size_t)count * row_size;
    store->spare_rows = count;
    if (count == store->rows && stay(rows, count)) {
        memcpy(out, slot(store, first), (size_t)cells * kvc_store_stripe(store));
        return 0;
    }
    for (int64_t index = first; index < first + cells; index++) {
        const unsigned char *from = slot(store, index);
        for (int32_t row = 0; row < count; row++, out += row_size) {
            memcpy(out, from + rows[row] * row_size, row_size);
        }
    }
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
        set_rows(store, store->spare_rows);
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

const void *kvc_store_view_padded(kvc_store *store, int which, int64_t from, int64_t cells, int64_t width) {
    if (cells >= width) {
        return kvc_store_view(store, from, cells);
    }
    size_t stripe = kvc_store_stripe(store);
    size_t zeros = (size_t)(width - cells) * stripe;
    unsigned char *buffer = kvc_store_buffer(store, which, product((size_t)width, stripe, 1));
    if (buffer == NULL) {
        return NULL;
    }
    memset(buffer, 0, zeros);
    if (cells > 0) {
        memcpy(buffer + zeros, kvc_store_view(store, from, cells), (size_t)cells * stripe);
    }
    return buffer;
}
