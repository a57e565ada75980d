/*
 * The cells of a batch of rows that end together, keys and values.
 */
#ifndef KVC_ADAPTERS_BUILTIN_RAGGED_BATCH_H
#define KVC_ADAPTERS_BUILTIN_RAGGED_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "reference/params.h"

enum { KVC_RAGGED_KINDS = 2 }; /* keys, values */

typedef struct kvc_ragged_batch {
    const kvc_params *params; /* not owned */
    int32_t rows;
    int32_t columns;
    int32_t pad[KVC_ROWS_MAX];    /* cells at the left that are none of the row's */
    int32_t length[KVC_ROWS_MAX]; /* tokens of the row, evicted ones included */
    unsigned char *cells[KVC_RAGGED_KINDS]; /* [rows][heads][columns][channels], owned; NULL when there are none */
} kvc_ragged_batch;

/* All cells are zero. Returns 0, or -1 when memory is short; it can be closed after both. */
int kvc_ragged_batch_open(kvc_ragged_batch *batch, const kvc_params *params, int32_t rows, int32_t columns);
void kvc_ragged_batch_close(kvc_ragged_batch *batch);
/* Returns 0, or -1 when memory is short; it can be closed after both. */
int kvc_ragged_batch_copy(kvc_ragged_batch *out, const kvc_ragged_batch *from);
/* Writes the cell of a token in all heads. */
void kvc_ragged_batch_put(kvc_ragged_batch *batch, int32_t row, int32_t column, int32_t number, int32_t origin);
/* Copies `count` cells of a row. */
void kvc_ragged_batch_take(kvc_ragged_batch *batch, int32_t row, int32_t column, const kvc_ragged_batch *from, int32_t from_row,
                           int32_t from_column, int32_t count);

#endif
