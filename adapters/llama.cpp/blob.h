/*
 * Reads what llama_state_seq_get_data wrote of one sequence: which positions it holds, and what stands there.
 *
 * The layout is written nowhere; it is the one of llama.cpp's own reader. Everything is bounded by the size of the blob.
 */
#ifndef KVC_ADAPTERS_LLAMA_BLOB_H
#define KVC_ADAPTERS_LLAMA_BLOB_H

#include <stddef.h>
#include <stdint.h>

enum { KVC_CELLS_MAX = 2048, KVC_CELL_FIRST = 16, KVC_ROW_MAX = 1024 };

/* What memories a context has, in the order in which they are written. */
typedef struct kvc_memory_shape {
    int attention; /* 1: cells of (full) attention */
    int window;    /* 1: then cells of a sliding window */
    int recurrent; /* number of recurrent layers; 0: no recurrent memory */
} kvc_memory_shape;

typedef struct kvc_cell {
    int32_t position;
    uint64_t keys;   /* digest of the cell's keys in all layers */
    uint64_t values; /* and of its values */
    float first[KVC_CELL_FIRST]; /* of its values in the first layer of this memory; 0 where there are not so many */
} kvc_cell;

typedef struct kvc_cells {
    int count;
    int layers;
    kvc_cell cell[KVC_CELLS_MAX]; /* sorted by position */
} kvc_cells;

typedef struct kvc_blob {
    kvc_cells attention;
    kvc_cells window;
    int states;         /* recurrent cells */
    int32_t position;   /* of the last of them, -1 without one */
    uint64_t state;     /* digest of its rows in all layers */
} kvc_blob;

/* Turns `count` elements of a cache type into numbers. */
typedef void (*kvc_blob_numbers)(const void *elements, float *out, int64_t count);
/* Returns 1, or 0 when the bytes are not such a state. A row of values of the first layer has `width` elements, at most KVC_ROW_MAX. */
int kvc_blob_read(const uint8_t *bytes, size_t size, const kvc_memory_shape *shape, kvc_blob_numbers numbers, int64_t width, kvc_blob *blob);
uint64_t kvc_blob_digest(uint64_t hash, const uint8_t *bytes, size_t size);

#endif
