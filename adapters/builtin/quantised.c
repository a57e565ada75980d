/*
 * A cache in two parts: the newest tokens in full, the older ones as whole numbers of one byte with a scale for each token of each
 * row and head. A cell of codes is the scale, a float, and then a byte for each channel, in a store of float cells.
 */
#include "adapters/builtin/builtin_internal.h"

#include <math.h>
#include <string.h>

#include "reference/values.h"

enum { CODE_MAX = 127 };

int32_t kvc_quantised_channels(int32_t channels) {
    return 1 + (channels + 3) / 4;
}

int kvc_quantised_reserve(kvc_builtin_layer *layer, int64_t count) {
    for (int i = 2; i < layer->info->parts; i++) {
        if (kvc_store_reserve(&layer->part[i].store, layer->part[i - 2].store.count + count) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One token of one lane becomes codes. Inputs are whole numbers. */
static void quantise(const kvc_store *residual, const unsigned char *cell, float shrunk, unsigned char *out) {
    int64_t most = 0;
    for (int32_t channel = 0; channel < residual->channels; channel++) {
        int64_t value = 0;
        (void)kvc_value_load(residual->dtype, cell + (size_t)channel * residual->element, &value);
        most = value > most ? value : -value > most ? -value : most;
    }
    float scale = most > 0 ? (float)most / CODE_MAX : 1.0f;
    for (int32_t channel = 0; channel < residual->channels; channel++) {
        int64_t value = 0;
        (void)kvc_value_load(residual->dtype, cell + (size_t)channel * residual->element, &value);
        int8_t code = (int8_t)lrintf((float)value / scale);
        memcpy(out + sizeof scale + (size_t)channel, &code, 1);
    }
    scale *= shrunk;
    memcpy(out, &scale, sizeof scale);
}

static void restore(const kvc_store *residual, const unsigned char *codes, unsigned char *out) {
    float scale;
    memcpy(&scale, codes, sizeof scale);
    for (int32_t channel = 0; channel < residual->channels; channel++) {
        int8_t code;
        memcpy(&code, codes + sizeof scale + (size_t)channel, 1);
        kvc_value_write(residual->dtype, (double)((float)code * scale), out + (size_t)channel * residual->element);
    }
}

/* The whole residual becomes codes; room was reserved. */
static void flush(kvc_builtin_layer *layer, int part) {
    kvc_store *codes = &layer->part[part].store;
    kvc_store *residual = &layer->part[part - 2].store;
    const kvc_store *source = layer->fault == KVC_FAULT_VALUES_FROM_KEYS && part == 3 ? &layer->part[0].store : residual;
    float shrunk = layer->fault == KVC_FAULT_SCALE_HALVED ? 0.5f : layer->fault == KVC_FAULT_SCALE_DRIFTS ? 0.9f : 1.0f;
    int64_t first = codes->count;
    if (source->channels < residual->channels) {
        source = residual;
    }
    codes->count += residual->count;
    for (int32_t row = 0; row < residual->rows; row++) {
        for (int32_t head = 0; head < residual->heads; head++) {
            for (int64_t at = 0; at < residual->count; at++) {
                const unsigned char *cell =
                    kvc_store_cell(source, layer->fault == KVC_FAULT_FLUSH_FIRST_ROW ? 0 : row, head, at);
                quantise(residual, cell, shrunk, kvc_store_cell(codes, row, head, first + at));
            }
        }
    }
}

void kvc_quantised_append(kvc_builtin_layer *layer, const int32_t *numbers, int64_t count) {
    int64_t held = layer->part[0].store.count + (layer->fault == KVC_FAULT_RESIDUAL_NOT_FLUSHED ? 1 : count);
    for (int i = 0; i < 2; i++) {
        kvc_store_push(&layer->part[i].store, numbers, count);
    }
    for (int i = 2; i < layer->info->parts && held > layer->params->residual; i++) {
        flush(layer, i);
    }
    for (int i = 0; i < 2 && held > layer->params->residual; i++) {
        int64_t kept = layer->fault == KVC_FAULT_FLUSH_KEEPS_RESIDUAL ? 1 : 0;
        kvc_store_keep_newest(&layer->part[i].store, kept);
    }
    for (int i = 2; i < layer->info->parts; i++) {
        layer->part[i].returned_cells = -1;
        if (layer->fault == KVC_FAULT_RETURNS_QUANTISED_ONLY) {
            int64_t cells;
            kvc_store *residual = &layer->part[i - 2].store;
            int64_t count_held = residual->count;
            residual->count = 0;
            layer->part[i].returned = kvc_quantised_view(layer, i, 1, &cells);
            layer->part[i].returned_cells = cells;
            residual->count = count_held;
        }
    }
}

void kvc_quantised_crop(kvc_builtin_layer *layer, int64_t dropped) {
    for (int i = 2; i < layer->info->parts; i++) {
        kvc_store *residual = &layer->part[i - 2].store;
        int64_t rest = dropped - residual->count;
        kvc_store_drop_back(residual, dropped);
        if (layer->fault != KVC_FAULT_CROP_RESIDUAL_ONLY) {
            kvc_store_drop_back(&layer->part[i].store, rest);
        }
    }
}

const void *kvc_quantised_view(kvc_builtin_layer *layer, int part, int which, int64_t *cells) {
    kvc_store *codes = &layer->part[part].store;
    kvc_store *residual = &layer->part[part - 2].store;
    size_t stripe = kvc_store_stripe(residual);
    *cells = codes->count + residual->count;
    unsigned char *out = *cells > 0 ? kvc_store_buffer(codes, which, (size_t)*cells * stripe) : NULL;
    unsigned char *at = out;
    for (int64_t cell = 0; out != NULL && cell < codes->count; cell++) {
        for (int32_t row = 0; row < residual->rows; row++) {
            for (int32_t head = 0; head < residual->heads; head++, at += residual->cell) {
                restore(residual, kvc_store_cell(codes, row, head, cell), at);
            }
        }
    }
    if (out != NULL && residual->count > 0) {
        memcpy(at, kvc_store_view(residual, 0, residual->count), (size_t)residual->count * stripe);
    }
    return out;
}

void kvc_quantised_spoil_rows(kvc_builtin_layer *layer) {
    static const float lost = 1.0f;
    for (int i = 2; i < layer->info->parts; i++) {
        kvc_store *codes = &layer->part[i].store;
        for (int32_t row = 0; row < codes->rows; row++) {
            for (int32_t head = 0; head < codes->heads; head++) {
                for (int64_t cell = 0; cell < codes->count; cell++) {
                    memcpy(kvc_store_cell(codes, row, head, cell), &lost, sizeof lost);
                }
            }
        }
    }
}
