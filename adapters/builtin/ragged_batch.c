#include "adapters/builtin/ragged_batch.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

static size_t cell_size(const kvc_params *params, int kind) {
    int32_t channels = kind == 0 ? params->key_dim : params->value_dim;
    return (size_t)channels * kvc_dtype_size((kvc_dtype)params->dtype);
}

static unsigned char *cell(const kvc_ragged_batch *batch, int kind, int32_t row, int32_t head, int32_t column) {
    size_t lane = (size_t)row * (size_t)batch->params->heads + (size_t)head;
    return batch->cells[kind] + (lane * (size_t)batch->columns + (size_t)column) * cell_size(batch->params, kind);
}

static size_t cells_of(const kvc_ragged_batch *batch) {
    return (size_t)batch->rows * (size_t)batch->params->heads * (size_t)batch->columns;
}

int kvc_ragged_batch_open(kvc_ragged_batch *batch, const kvc_params *params, int32_t rows, int32_t columns) {
    memset(batch, 0, sizeof *batch);
    batch->params = params;
    batch->rows = rows;
    batch->columns = columns;
    for (int kind = 0; columns > 0 && kind < KVC_RAGGED_KINDS; kind++) {
        batch->cells[kind] = calloc(cells_of(batch), cell_size(params, kind));
        if (batch->cells[kind] == NULL) {
            return -1;
        }
    }
    return 0;
}

void kvc_ragged_batch_close(kvc_ragged_batch *batch) {
    for (int kind = 0; kind < KVC_RAGGED_KINDS; kind++) {
        free(batch->cells[kind]);
        batch->cells[kind] = NULL;
    }
}

int kvc_ragged_batch_copy(kvc_ragged_batch *out, const kvc_ragged_batch *from) {
    if (kvc_ragged_batch_open(out, from->params, from->rows, from->columns) != 0) {
        return -1;
    }
    memcpy(out->pad, from->pad, sizeof out->pad);
    memcpy(out->length, from->length, sizeof out->length);
    for (int kind = 0; from->columns > 0 && kind < KVC_RAGGED_KINDS; kind++) {
        memcpy(out->cells[kind], from->cells[kind], cells_of(from) * cell_size(from->params, kind));
    }
    return 0;
}

void kvc_ragged_batch_put(kvc_ragged_batch *batch, int32_t row, int32_t column, int32_t number, int32_t origin) {
    const kvc_params *params = batch->params;
    for (int kind = 0; kind < KVC_RAGGED_KINDS; kind++) {
        int32_t channels = kind == 0 ? params->key_dim : params->value_dim;
        for (int32_t head = 0; head < params->heads; head++) {
            kvc_value_row(KVC_DIGITS, (kvc_dtype)params->dtype, kind, number, origin, head, channels,
                          cell(batch, kind, row, head, column));
        }
    }
}

void kvc_ragged_batch_take(kvc_ragged_batch *batch, int32_t row, int32_t column, const kvc_ragged_batch *from, int32_t from_row,
                           int32_t from_column, int32_t count) {
    for (int kind = 0; count > 0 && kind < KVC_RAGGED_KINDS; kind++) {
        for (int32_t head = 0; head < batch->params->heads; head++) {
            memcpy(cell(batch, kind, row, head, column), cell(from, kind, from_row, head, from_column),
                   (size_t)count * cell_size(batch->params, kind));
        }
    }
}
