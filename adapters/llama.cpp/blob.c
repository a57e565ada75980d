#include "blob.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 64, ROW_MAX = 1 << 16 };

typedef struct reader {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    int bad;
    kvc_blob_numbers numbers;
    int64_t width;
} reader;

static const uint8_t *take(reader *self, size_t size)
{
    const uint8_t *here = self->bytes + self->at;

    if (self->bad || size > self->size - self->at) {
        self->bad = 1;
        return NULL;
    }
    self->at += size;
    return here;
}

static uint32_t take_u32(reader *self)
{
    uint32_t number = 0;
    const uint8_t *here = take(self, sizeof number);

    if (here != NULL)
        memcpy(&number, here, sizeof number);
    return number;
}

static uint64_t take_u64(reader *self)
{
    uint64_t number = 0;
    const uint8_t *here = take(self, sizeof number);

    if (here != NULL)
        memcpy(&number, here, sizeof number);
    return number;
}

uint64_t kvc_blob_digest(uint64_t hash, const uint8_t *bytes, size_t size)
{
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; size > 0; size--, bytes++)
        hash = (hash ^ *bytes) * 0x100000001b3u;
    return hash ^ (hash >> 32);
}

/* What the values of the first layer begin with. */
static void take_first(const reader *self, kvc_cell *cell, const uint8_t *row)
{
    float numbers[KVC_ROW_MAX];

    self->numbers(row, numbers, self->width);
    for (int at = 0; at < KVC_CELL_FIRST && at < self->width; at++)
        cell->first[at] = numbers[at];
}

/* Adds rows that lie one behind the other. */
static void add_rows(const reader *self, kvc_cells *cells, int keys, int first, const uint8_t *rows, size_t row)
{
    for (int at = 0; at < cells->count; at++) {
        kvc_cell *cell = &cells->cell[at];
        uint64_t *sum = keys ? &cell->keys : &cell->values;
        *sum = kvc_blob_digest(*sum, rows + (size_t)at * row, row);
        if (!keys && first)
            take_first(self, cell, rows + (size_t)at * row);
    }
}

/* Values that are stored transposed: the first channel of all cells, then the second. */
static int add_transposed(const reader *self, kvc_cells *cells, int first, const uint8_t *data, size_t element, size_t width)
{
    uint8_t *row = malloc(element * width + 1);

    if (row == NULL)
        return 0;
    for (int at = 0; at < cells->count; at++) {
        kvc_cell *cell = &cells->cell[at];
        for (size_t channel = 0; channel < width; channel++)
            memcpy(row + channel * element, data + (channel * (size_t)cells->count + (size_t)at) * element, element);
        cell->values = kvc_blob_digest(cell->values, row, element * width);
        if (first)
            take_first(self, cell, row);
    }
    free(row);
    return 1;
}

static int by_position(const void *a, const void *b)
{
    const kvc_cell *left = a;
    const kvc_cell *right = b;

    if (left->position != right->position)
        return left->position < right->position ? -1 : 1;
    return left->values < right->values ? -1 : left->values > right->values;
}

static int read_data(reader *self, kvc_cells *cells)
{
    uint32_t transposed = take_u32(self);
    uint32_t layers = take_u32(self);

    if (self->bad || layers > LAYERS_MAX)
        return 0;
    cells->layers = (int)layers;
    for (uint32_t layer = 0; layer < 2 * layers; layer++) {
        int keys = layer < layers;
        (void)take_u32(self); /* the type: it shows in the bytes */
        if (keys || !transposed) {
            uint64_t row = take_u64(self);
            const uint8_t *rows = row <= ROW_MAX ? take(self, (size_t)row * (size_t)cells->count) : NULL;
            if (rows == NULL)
                return 0;
            add_rows(self, cells, keys, layer == layers, rows, (size_t)row);
        } else {
            uint32_t element = take_u32(self);
            uint32_t width = take_u32(self);
            const uint8_t *data = NULL;
            if (element <= 16 && width <= ROW_MAX)
                data = take(self, (size_t)element * width * (size_t)cells->count);
            if (data == NULL || !add_transposed(self, cells, layer == layers, data, element, width))
                return 0;
        }
    }
    return 1;
}

static int read_cells(reader *self, kvc_cells *cells)
{
    uint32_t streams = take_u32(self);

    cells->count = 0;
    cells->layers = 0;
    for (uint32_t stream = 0; stream < streams && !self->bad; stream++) {
        uint32_t count;
        count = take_u32(self);
        if (count == 0)
            continue;
        /* A sequence lies in one stream. */
        if (self->bad || count > KVC_CELLS_MAX || cells->count > 0)
            return 0;
        cells->count = (int)count;
        for (uint32_t at = 0; at < count; at++) {
            uint32_t owners;
            memset(&cells->cell[at], 0, sizeof cells->cell[at]);
            cells->cell[at].position = (int32_t)take_u32(self);
            owners = take_u32(self);
            if (owners > 64 || take(self, owners * sizeof(int32_t)) == NULL)
                return 0;
        }
        if (!read_data(self, cells))
            return 0;
    }
    qsort(cells->cell, (size_t)cells->count, sizeof cells->cell[0], by_position);
    return !self->bad;
}

static int read_states(reader *self, int layers, kvc_blob *blob)
{
    uint32_t count;

    count = take_u32(self);
    if (self->bad || count > KVC_CELLS_MAX)
        return 0;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t owners;
        blob->position = (int32_t)take_u32(self);
        owners = take_u32(self);
        if (owners > 64 || take(self, owners * sizeof(int32_t)) == NULL)
            return 0;
    }
    blob->states = (int)count;
    (void)take_u32(self); /* whether the states are transposed: no released version does it */
    (void)take_u32(self);
    for (int layer = 0; layer < 2 * layers; layer++) {
        uint64_t row;
        const uint8_t *rows;
        (void)take_u32(self);
        row = take_u64(self);
        rows = row <= ROW_MAX ? take(self, (size_t)row * count) : NULL;
        if (rows == NULL)
            return 0;
        blob->state = kvc_blob_digest(blob->state, rows, (size_t)row * count);
    }
    return !self->bad;
}

int kvc_blob_read(const uint8_t *bytes, size_t size, const kvc_memory_shape *shape, kvc_blob_numbers numbers, int64_t width, kvc_blob *blob)
{
    reader self = {bytes, size, 0, 0, numbers, width};

    blob->attention.count = blob->window.count = 0;
    blob->attention.layers = blob->window.layers = 0;
    blob->states = 0;
    blob->position = -1;
    blob->state = 0;
    (void)take_u32(&self);
    (void)take_u32(&self);
    if (shape->attention && !read_cells(&self, &blob->attention))
        return 0;
    if (shape->window && !read_cells(&self, &blob->window))
        return 0;
    if (shape->recurrent > 0 && !read_states(&self, shape->recurrent, blob))
        return 0;
    return !self.bad && self.at == size;
}
