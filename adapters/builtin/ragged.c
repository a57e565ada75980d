#include "adapters/builtin/ragged.h"

#include <stdlib.h>
#include <string.h>

#include "adapters/builtin/builtin_internal.h"
#include "adapters/builtin/ragged_batch.h"

struct kvc_ragged {
    const kvc_params *params;
    kvc_fault fault;
    int32_t window; /* 0: none */
    int used;
    int alone;     /* one row that was taken out of its batch */
    int unrolled;  /* for one fault */
    kvc_ragged_batch held;
    kvc_ragged_batch returned; /* by the last call of the last append */
    int has_returned;
    kvc_ragged_batch original; /* of the last copy */
    int has_original;
    int64_t position[KVC_ROWS_MAX];
    int64_t padding[KVC_ROWS_MAX];
    int64_t *mask; /* [rows][call][columns of what was returned], owned */
    size_t mask_room;
    int32_t call;
};

static const char *const ragged_names[] = {"ragged", "ragged_window"};
enum { RAGGED_NAMES = sizeof ragged_names / sizeof ragged_names[0] };

const char *kvc_ragged_name(size_t index) {
    return index < RAGGED_NAMES ? ragged_names[index] : NULL;
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static void forget_returned(kvc_ragged *cache) {
    kvc_ragged_batch_close(&cache->returned);
    cache->has_returned = 0;
    cache->call = 0;
}

static void forget(kvc_ragged *cache) {
    kvc_ragged_batch_close(&cache->held);
    kvc_ragged_batch_close(&cache->original);
    forget_returned(cache);
    cache->has_original = cache->used = cache->alone = cache->unrolled = 0;
    (void)kvc_ragged_batch_open(&cache->held, cache->params, cache->params->batch, 0);
}

kvc_ragged *kvc_ragged_open(const char *name, size_t length, const kvc_params *params, kvc_fault fault) {
    size_t at = 0;
    while (at < RAGGED_NAMES && (strlen(ragged_names[at]) != length || memcmp(ragged_names[at], name, length) != 0)) {
        at++;
    }
    kvc_ragged *cache = at < RAGGED_NAMES ? calloc(1, sizeof *cache) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    cache->params = params;
    cache->fault = fault;
    cache->window = at == 1 ? params->window : 0;
    forget(cache);
    return cache;
}

void kvc_ragged_close(kvc_ragged *cache) {
    if (cache == NULL) {
        return;
    }
    kvc_ragged_batch_close(&cache->held);
    kvc_ragged_batch_close(&cache->returned);
    kvc_ragged_batch_close(&cache->original);
    free(cache->mask);
    free(cache);
}

int kvc_ragged_renew(kvc_ragged *cache) {
    forget(cache);
    return 1;
}

/* Cells of a row that hold tokens. */
static int32_t kept(const kvc_ragged_batch *batch, int32_t row) {
    return batch->columns - batch->pad[row];
}

static void replace(kvc_ragged_batch *batch, kvc_ragged_batch *next) {
    kvc_ragged_batch_close(batch);
    *batch = *next;
}

/* Which cells each query of a call may see: its row's up to its own, no more than the window. Returns 0, or -1. */
static int make_mask(kvc_ragged *cache, int32_t before, int32_t call, const int32_t *pad, int left) {
    size_t cells = (size_t)cache->held.rows * (size_t)call * (size_t)(before + call);
    if (cells > cache->mask_room) {
        int64_t *mask = realloc(cache->mask, cells * sizeof *mask);
        if (mask == NULL) {
            return -1;
        }
        cache->mask = mask;
        cache->mask_room = cells;
    }
    int64_t *at = cache->mask;
    for (int32_t row = 0; row < cache->held.rows; row++) {
        for (int32_t query = 0; query < call; query++) {
            int32_t last = before + query;
            int32_t first = cache->fault == KVC_FAULT_MASK_SHOWS_PADDING && (left || before > 0) ? 0 : pad[row];
            if (cache->window > 0 && cache->fault != KVC_FAULT_MASK_WITHOUT_WINDOW) {
                first = larger(first, last - cache->window + 1);
            }
            for (int32_t column = 0; column < before + call; column++) {
                *at++ = column >= first && column <= last;
            }
        }
    }
    cache->call = call;
    return 0;
}

/* What is held after a call that gave row r `in_call[r]` tokens: the newest of what it returned, ending together. */
static int keep_newest(kvc_ragged *cache, int32_t before, const int32_t *in_call) {
    const kvc_ragged_batch *from = &cache->returned;
    kvc_ragged_batch next;
    int32_t keep[KVC_ROWS_MAX];
    int32_t columns = 0;
    for (int32_t row = 0; row < from->rows; row++) {
        keep[row] = before + in_call[row] - from->pad[row];
        if (cache->window > 0) {
            keep[row] = smaller(keep[row], cache->window - 1);
        }
        columns = larger(columns, keep[row]);
    }
    if (kvc_ragged_batch_open(&next, cache->params, from->rows, columns) != 0) {
        kvc_ragged_batch_close(&next);
        return -1;
    }
    for (int32_t row = 0; row < from->rows; row++) {
        int32_t end = before + in_call[row];
        /* The padding that an append leaves on the right takes the place of tokens. */
        if ((cache->fault == KVC_FAULT_FINALIZE_NOT_ROLLED && in_call[row] < cache->call) ||
            (cache->fault == KVC_FAULT_PADDING_EVICTS && before - from->pad[row] == cache->window - 1)) {
            end = smaller(before + cache->call, from->columns);
        }
        next.pad[row] = columns - keep[row];
        next.length[row] = cache->held.length[row] + in_call[row];
        kvc_ragged_batch_take(&next, row, next.pad[row], from, row, end - keep[row], keep[row]);
    }
    replace(&cache->held, &next);
    return 0;
}

/* One call: `call` columns, of which row r gets the first in_call[r]. */
static int append_call(kvc_ragged *cache, const int32_t *numbers, int32_t call, const int32_t *in_call, int left) {
    int32_t before = cache->held.columns;
    forget_returned(cache);
    if (kvc_ragged_batch_open(&cache->returned, cache->params, cache->held.rows, before + call) != 0) {
        kvc_ragged_batch_close(&cache->returned);
        return -1;
    }
    cache->has_returned = 1;
    for (int32_t row = 0; row < cache->held.rows; row++) {
        int32_t shift = left ? call - in_call[row] : 0;
        cache->returned.pad[row] = cache->held.pad[row] + shift;
        kvc_ragged_batch_take(&cache->returned, row, 0, &cache->held, row, 0, before);
        for (int32_t at = 0; at < in_call[row]; at++) {
            kvc_ragged_batch_put(&cache->returned, row, before + shift + at, numbers[at], row);
        }
        /* An idle row is given the first token of the others. */
        if (cache->fault == KVC_FAULT_IDLE_ROW_WRITTEN && in_call[row] == 0 && before > 0) {
            kvc_ragged_batch_put(&cache->returned, row, before - 1, numbers[0], row);
        }
    }
    if (make_mask(cache, before, call, cache->returned.pad, left) != 0) {
        return -1;
    }
    if (left) {
        int32_t whole[KVC_ROWS_MAX];
        for (int32_t row = 0; row < cache->held.rows; row++) {
            whole[row] = call;
            cache->held.length[row] -= call - in_call[row];
        }
        return keep_newest(cache, before, whole);
    }
    return keep_newest(cache, before, in_call);
}

static int append_rows(kvc_ragged *cache, const int32_t *numbers, const int32_t *counts, int32_t chunk, int left) {
    int32_t most = 0;
    for (int32_t row = 0; row < cache->held.rows; row++) {
        most = larger(most, counts[row]);
    }
    chunk = chunk > 0 && !left ? chunk : most;
    for (int32_t from = 0; from < most; from += chunk) {
        int32_t call = smaller(chunk, most - from);
        int32_t in_call[KVC_ROWS_MAX];
        for (int32_t row = 0; row < cache->held.rows; row++) {
            in_call[row] = larger(0, smaller(call, counts[row] - from));
        }
        if (append_call(cache, numbers + from, call, in_call, left) != 0) {
            return -1;
        }
    }
    cache->used = cache->used || most > 0;
    return 0;
}

static const kvc_refusal *run_append(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers) {
    int32_t counts[KVC_ROWS_MAX];
    int uneven = op->kind == KVC_APPEND_ROWS;
    if (kvc_op_tokens(op) < 1 || numbers == NULL) {
        return &kvc_refusal_count;
    }
    for (int32_t row = 0; row < cache->held.rows; row++) {
        counts[row] = uneven ? op->rows[row] : op->n;
    }
    int left = uneven && cache->params->left && !cache->used;
    return append_rows(cache, numbers, counts, uneven ? cache->params->chunk : 0, left) != 0 ? &kvc_refusal_memory : NULL;
}

/* The last `n` tokens of each row, or all that it has, are removed from all rows or from none. */
static const kvc_refusal *run_crop(kvc_ragged *cache, const kvc_op *op) {
    const kvc_ragged_batch *held = &cache->held;
    kvc_ragged_batch next;
    int32_t left[KVC_ROWS_MAX];
    int32_t columns = 0;
    if (op->n > 0) {
        return &kvc_refusal_positive;
    }
    for (int32_t row = 0; row < held->rows; row++) {
        int32_t removed = (int32_t)(-(int64_t)op->n < held->length[row] ? -(int64_t)op->n : held->length[row]);
        int32_t needed = held->length[row] - removed;
        if (cache->window > 0) {
            needed = smaller(needed, cache->window - 1);
            if (kept(held, row) - removed < needed && removed > 0 && cache->fault != KVC_FAULT_CROP_AFTER_EVICTION) {
                return &kvc_refusal_lost;
            }
        }
        if (row > 0 && cache->fault == KVC_FAULT_CROP_FIRST_ROW) {
            removed = 0;
        }
        left[row] = larger(0, kept(held, row) - removed);
        columns = larger(columns, left[row]);
    }
    if (kvc_ragged_batch_open(&next, cache->params, held->rows, columns) != 0) {
        kvc_ragged_batch_close(&next);
        return &kvc_refusal_memory;
    }
    for (int32_t row = 0; row < held->rows; row++) {
        int64_t length = (int64_t)held->length[row] + op->n;
        next.pad[row] = columns - left[row];
        next.length[row] = (int32_t)(length < 0 && cache->fault != KVC_FAULT_CROP_BELOW_ZERO ? 0 : length);
        kvc_ragged_batch_take(&next, row, next.pad[row], held, row, held->pad[row], left[row]);
    }
    replace(&cache->held, &next);
    return NULL;
}

/* Row i becomes what row rows[i] was, with no more padding than is needed. */
static int choose(kvc_ragged *cache, const uint8_t *rows, int32_t count) {
    const kvc_ragged_batch *held = &cache->held;
    kvc_ragged_batch next;
    int32_t columns = 0;
    for (int32_t row = 0; row < count; row++) {
        columns = larger(columns, kept(held, rows[row]));
    }
    if (kvc_ragged_batch_open(&next, cache->params, count, columns) != 0) {
        kvc_ragged_batch_close(&next);
        return -1;
    }
    for (int32_t row = 0; row < count; row++) {
        next.pad[row] = columns - kept(held, rows[row]);
        next.length[row] = held->length[rows[row]];
        kvc_ragged_batch_take(&next, row, next.pad[row], held, rows[row], held->pad[rows[row]], kept(held, rows[row]));
    }
    replace(&cache->held, &next);
    return 0;
}

static const kvc_refusal *run_select(kvc_ragged *cache, const kvc_op *op) {
    int32_t pad[KVC_ROWS_MAX];
    memcpy(pad, cache->held.pad, sizeof pad);
    if (choose(cache, op->rows, op->count) != 0) {
        return &kvc_refusal_memory;
    }
    for (int32_t row = 0; cache->fault == KVC_FAULT_SELECT_KEEPS_PADDING && row < op->count; row++) {
        cache->held.pad[row] = smaller(pad[row], cache->held.columns);
    }
    return NULL;
}

static const kvc_refusal *run_merge(kvc_ragged *cache, const kvc_op *op) {
    uint8_t rows[KVC_ROWS_MAX];
    for (int at = 0; at < op->count; at++) {
        rows[at] = op->rows[cache->fault == KVC_FAULT_MERGE_SWAPS_ROWS ? op->count - 1 - at : at];
    }
    if (choose(cache, rows, op->count) != 0) {
        return &kvc_refusal_memory;
    }
    cache->alone = 0;
    return NULL;
}

static const kvc_refusal *run_extract(kvc_ragged *cache, const kvc_op *op) {
    const uint8_t row[1] = {(uint8_t)op->n};
    int32_t padding = cache->held.pad[row[0]];
    if (cache->fault == KVC_FAULT_EXTRACT_WITH_PADDING) {
        cache->held.pad[row[0]] = 0;
    }
    if (cache->fault == KVC_FAULT_EXTRACT_COUNTS_PADDING) {
        cache->held.length[row[0]] += padding;
    }
    if (choose(cache, row, 1) != 0) {
        return &kvc_refusal_memory;
    }
    cache->alone = 1;
    return NULL;
}

/* Puts the rows of another batch behind those of this one. */
static int join(kvc_ragged *cache, const kvc_ragged_batch *other) {
    const kvc_ragged_batch *held = &cache->held;
    kvc_ragged_batch next;
    int32_t columns = larger(held->columns, other->columns);
    if (kvc_ragged_batch_open(&next, cache->params, held->rows + other->rows, columns) != 0) {
        kvc_ragged_batch_close(&next);
        return -1;
    }
    for (int32_t row = 0; row < next.rows; row++) {
        const kvc_ragged_batch *from = row < held->rows ? held : other;
        int32_t of = row < held->rows ? row : row - held->rows;
        int32_t place = columns - from->columns;
        next.pad[row] = place + from->pad[of];
        next.length[row] = cache->fault == KVC_FAULT_EXTEND_WRONG_POSITION && from == other ? held->length[0] : from->length[of];
        kvc_ragged_batch_take(&next, row, cache->fault == KVC_FAULT_EXTEND_NOT_ALIGNED ? 0 : place, from, of, 0, from->columns);
    }
    replace(&cache->held, &next);
    return 0;
}

/* Another cache of the same kind with these rows, to be joined or forgotten. */
static void open_other(kvc_ragged *other, const kvc_ragged *cache, int32_t rows) {
    memset(other, 0, sizeof *other);
    other->params = cache->params;
    other->window = cache->window;
    (void)kvc_ragged_batch_open(&other->held, cache->params, rows, 0);
}

static void close_other(kvc_ragged *other) {
    kvc_ragged_batch_close(&other->held);
    kvc_ragged_batch_close(&other->returned);
    free(other->mask);
}

static const kvc_refusal *run_extend(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers) {
    kvc_ragged other;
    int32_t counts[KVC_ROWS_MAX];
    for (int at = 0; at < op->count; at++) {
        counts[at] = op->rows[at];
    }
    open_other(&other, cache, op->count);
    int good = append_rows(&other, numbers, counts, 0, 0) == 0 && join(cache, &other.held) == 0;
    cache->used = cache->used || other.used;
    close_other(&other);
    return good ? NULL : &kvc_refusal_memory;
}

static const kvc_refusal *run_split(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers) {
    kvc_ragged other;
    uint8_t staying[KVC_ROWS_MAX];
    int32_t counts[KVC_ROWS_MAX];
    int32_t stay = 0;
    for (int32_t row = 0; row < cache->held.rows; row++) {
        if (memchr(op->rows, row, op->count) == NULL) {
            staying[stay++] = (uint8_t)row;
        }
    }
    for (int at = 0; at < op->count; at++) {
        counts[at] = op->n;
    }
    open_other(&other, cache, 0);
    kvc_ragged_batch_close(&other.held);
    int good = kvc_ragged_batch_copy(&other.held, &cache->held) == 0 && choose(&other, op->rows, op->count) == 0 &&
               choose(cache, staying, stay) == 0 && append_rows(&other, numbers, counts, 0, 0) == 0;
    /* The copy shares the positions of those that stay. */
    for (int at = 0; good && cache->fault == KVC_FAULT_SPLIT_MOVES_POSITIONS && at < stay; at++) {
        cache->held.length[at] += op->n;
    }
    good = good && join(cache, &other.held) == 0;
    close_other(&other);
    return good ? NULL : &kvc_refusal_memory;
}

static const kvc_refusal *run_keep(kvc_ragged *cache, const kvc_op *op) {
    if (op->kind == KVC_COPY) {
        kvc_ragged_batch_close(&cache->original);
        cache->has_original = 1;
        return kvc_ragged_batch_copy(&cache->original, &cache->held) != 0 ? &kvc_refusal_memory : NULL;
    }
    if (cache->fault == KVC_FAULT_PICKLE_LOSES_PADDING) {
        memset(cache->held.pad, 0, sizeof cache->held.pad);
    }
    return NULL;
}

static const kvc_refusal *run_op(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers) {
    int others = op->kind == KVC_EXTRACT || op->kind == KVC_SELECT || op->kind == KVC_EXTEND || op->kind == KVC_SPLIT ||
                 op->kind == KVC_APPEND_ROWS;
    if (kvc_op_rows_after(op, cache->held.rows) == 0) {
        return &kvc_refusal_rows;
    }
    if (cache->alone && others) {
        return &kvc_refusal_absent;
    }
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
    case KVC_APPEND_ROWS:
        return run_append(cache, op, numbers);
    case KVC_CROP:
        return run_crop(cache, op);
    case KVC_SELECT:
        return run_select(cache, op);
    case KVC_MERGE:
        return run_merge(cache, op);
    case KVC_EXTRACT:
        return run_extract(cache, op);
    case KVC_EXTEND:
        return run_extend(cache, op, numbers);
    case KVC_SPLIT:
        return run_split(cache, op, numbers);
    case KVC_COPY:
    case KVC_PICKLE:
        return run_keep(cache, op);
    default:
        return &kvc_refusal_absent;
    }
}

static void show_batch(const kvc_ragged_batch *batch, const char *const names[KVC_RAGGED_KINDS], kvc_observation *out) {
    const kvc_params *params = batch->params;
    for (int kind = 0; kind < KVC_RAGGED_KINDS; kind++) {
        out->tensor[out->tensors++] = (kvc_tensor){
            .name = names[kind],
            .data = batch->cells[kind],
            .shape = {batch->rows, params->heads, batch->columns, kind == 0 ? params->key_dim : params->value_dim},
            .dims = 4,
            .dtype = params->dtype};
    }
}

void kvc_ragged_run(kvc_ragged *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    static const char *const stored[] = {"keys", "values"};
    static const char *const returned[] = {"returned.keys", "returned.values"};
    static const char *const original[] = {"original.keys", "original.values"};
    out->layers = 1;
    forget_returned(cache);
    const kvc_refusal *refusal = run_op(cache, op, numbers);
    if (refusal != NULL) {
        kvc_refuse(out, refusal->kind, refusal->text);
    }
    out->length[0] = cache->alone ? cache->held.length[0] : cache->held.columns;
    show_batch(&cache->held, stored, out);
    if (cache->has_returned && refusal == NULL) {
        show_batch(&cache->returned, returned, out);
        out->tensor[out->tensors++] = (kvc_tensor){.name = "returned.mask",
                                                   .data = cache->mask,
                                                   .shape = {cache->returned.rows, cache->call, cache->returned.columns},
                                                   .dims = 3,
                                                   .dtype = KVC_INT64};
    }
    if (cache->has_original) {
        show_batch(&cache->original, original, out);
    }
    for (int32_t row = 0; row < cache->held.rows; row++) {
        cache->position[row] = cache->held.length[row];
        cache->padding[row] = cache->held.pad[row];
    }
    out->tensor[out->tensors++] = (kvc_tensor){
        .name = "rows.position", .data = cache->position, .shape = {cache->held.rows}, .dims = 1, .dtype = KVC_INT64};
    if (!cache->alone) {
        out->tensor[out->tensors++] = (kvc_tensor){
            .name = "rows.padding", .data = cache->padding, .shape = {cache->held.rows}, .dims = 1, .dtype = KVC_INT64};
    }
}
