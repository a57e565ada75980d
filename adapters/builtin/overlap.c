/*
 * Blocks whose entries also depend on the block before: the tokens of the newest finished block are kept beside the unfinished
 * ones, and how many blocks are finished is counted.
 */
#include "adapters/builtin/builtin_internal.h"

#include <string.h>

#include "reference/values.h"

enum { ENTRIES = 0, REST, OVERLAP, COUNT };

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Copies cells of the rest, or of what was kept before, so that a later change of the store does not reach them. */
static void return_copy(kvc_builtin_part *part, int64_t from, int64_t cells) {
    kvc_store *store = &part->store;
    size_t size = (size_t)cells * kvc_store_stripe(store);
    unsigned char *out = cells > 0 ? kvc_store_buffer(store, 1, size) : NULL;
    part->returned = out;
    part->returned_cells = out != NULL ? cells : 0;
    if (out != NULL) {
        memcpy(out, kvc_store_view(store, from, cells), size);
    }
}

static void make_entries(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int32_t fold = 0;
        layer->open_tokens[layer->open_count++] = numbers[i];
        if (layer->open_count < layer->params->block) {
            continue;
        }
        for (int32_t k = 0; k < layer->open_count; k++) {
            fold = kvc_value_fold(fold, layer->open_tokens[k]);
        }
        kvc_store *entries = &layer->part[ENTRIES].store;
        kvc_store_write_fold(entries, entries->start + entries->count, fold);
        entries->count++;
        layer->open_count = 0;
    }
}

/* The cells of one block of the rest become the overlap. */
static void keep_overlap(kvc_builtin_layer *layer, int64_t from) {
    kvc_store *rest = &layer->part[REST].store;
    kvc_store *overlap = &layer->part[OVERLAP].store;
    overlap->count = layer->params->block;
    memcpy(kvc_store_cell(overlap, 0, 0, 0), kvc_store_cell(rest, 0, 0, from),
           (size_t)layer->params->block * kvc_store_stripe(rest));
}

void kvc_builtin_overlap_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    kvc_builtin_part *rest = &layer->part[REST];
    kvc_builtin_part *overlap = &layer->part[OVERLAP];
    int64_t block = layer->params->block;
    int64_t before = rest->store.count;
    int64_t closed = (before + count) / block * block;
    int64_t skipped = layer->fault == KVC_FAULT_CLOSED_WITHOUT_REST ? smaller(before, closed) : 0;
    kvc_store_push(&rest->store, numbers, count);
    make_entries(layer, numbers, count);
    layer->part[ENTRIES].returned_cells = -1;
    return_copy(rest, skipped, closed - skipped);
    layer->block_start = layer->finished * block;
    return_copy(overlap, 0, overlap->store.count);
    if (closed > 0) {
        keep_overlap(layer, layer->fault == KVC_FAULT_OVERLAP_LAGS ? 0 : closed - block);
        layer->finished += layer->fault == KVC_FAULT_COUNTS_ONE_BLOCK ? 1 : closed / block;
    }
    if (layer->fault == KVC_FAULT_PRIOR_IS_NEW) {
        return_copy(overlap, 0, overlap->store.count);
    } else if (layer->fault == KVC_FAULT_BLOCK_START_LATE) {
        layer->block_start = layer->finished * block;
    }
    kvc_store_drop_front(&rest->store, closed);
}

void kvc_builtin_overlap_crop(kvc_builtin_layer *layer, int64_t left) {
    int64_t finished = left / layer->params->block;
    if (left <= 0) {
        layer->part[OVERLAP].store.count = 0;
    }
    if (layer->fault != KVC_FAULT_COUNT_NOT_CROPPED) {
        layer->finished = smaller(layer->finished, finished);
    }
}
