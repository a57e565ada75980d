#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { TOKENS_AT_FIRST = 32, TOKENS_KEPT = 512, KINDS_LIMIT = KVC_INPUTS_MAX / 2, BYTES_LIMIT = 4 << 20 };

static size_t bytes(const kvc_inputs *inputs, int32_t room) {
    return (size_t)KVC_ROWS_MAX * (size_t)inputs->heads * (size_t)room * inputs->cell;
}

kvc_inputs *kvc_inputs_of_kind(kvc_inputs_kept *kept, kvc_encoding encoding, kvc_dtype dtype, int32_t salt, int32_t heads,
                               int32_t channels) {
    kvc_inputs *found = kept->list;
    for (; found < kept->list + kept->used; found++) {
        if (found->encoding == encoding && found->dtype == dtype && found->salt == salt && found->heads == heads &&
            found->channels == channels) {
            return found;
        }
    }
    if (kept->used == KVC_INPUTS_MAX) {
        return NULL;
    }
    kept->used++;
    *found = (kvc_inputs){.dtype = dtype,
                          .encoding = encoding,
                          .salt = salt,
                          .heads = heads,
                          .channels = channels,
                          .cell = (size_t)channels * kvc_dtype_size(dtype)};
    return found;
}

void kvc_inputs_limit(kvc_inputs_kept *kept) {
    size_t size = 0;
    for (int32_t i = 0; i < kept->used; i++) {
        size += bytes(&kept->list[i], kept->list[i].room);
    }
    if (kept->used > KINDS_LIMIT || size > BYTES_LIMIT) {
        kvc_inputs_close(kept);
    }
}

void kvc_inputs_close(kvc_inputs_kept *kept) {
    for (int32_t i = 0; i < kept->used; i++) {
        free(kept->list[i].cells);
    }
    kept->used = 0;
}

/* Makes room for `tokens` tokens; what was worked out is forgotten. Returns 0, or -1 when memory is short. */
static int make_room(kvc_inputs *inputs, int32_t tokens) {
    int32_t room = inputs->room > 0 ? inputs->room : TOKENS_AT_FIRST;
    while (room < tokens) {
        room *= 2;
    }
    if (inputs->cell == 0 || (size_t)KVC_ROWS_MAX * (size_t)inputs->heads * (size_t)room > PTRDIFF_MAX / inputs->cell) {
        return -1;
    }
    unsigned char *cells = malloc(bytes(inputs, room));
    if (cells == NULL) {
        return -1;
    }
    free(inputs->cells);
    inputs->cells = cells;
    inputs->room = room;
    inputs->tokens = inputs->rows = 0;
    return 0;
}

/* The first head of the first row. */
static void fill_first(kvc_inputs *inputs, int32_t from, int32_t to) {
    for (int32_t token = from; token < to; token++) {
        kvc_value_row(inputs->encoding, inputs->dtype, inputs->salt, token, 0, 0, inputs->channels,
                      inputs->cells + (size_t)token * inputs->cell);
    }
}

/* The same tokens in another lane. */
static void fill_lane(kvc_inputs *inputs, int32_t row, int32_t head, int32_t from, int32_t to) {
    size_t lane = (size_t)row * (size_t)inputs->heads + (size_t)head;
    unsigned char *out = inputs->cells + (lane * (size_t)inputs->room + (size_t)from) * inputs->cell;
    if (inputs->encoding != KVC_DIGITS) {
        for (int32_t token = from; token < to; token++, out += inputs->cell) {
            kvc_value_row(inputs->encoding, inputs->dtype, inputs->salt, token, row, head, inputs->channels, out);
        }
        return;
    }
    memcpy(out, inputs->cells + (size_t)from * inputs->cell, (size_t)(to - from) * inputs->cell);
    kvc_value_move(inputs->dtype, inputs->salt, row, head, inputs->channels, to - from, out);
}

/* Works out tokens `from` to `to` of rows `first_row` to `rows`. */
static void fill(kvc_inputs *inputs, int32_t first_row, int32_t rows, int32_t from, int32_t to) {
    for (int32_t row = first_row; row < rows; row++) {
        for (int32_t head = 0; head < inputs->heads; head++) {
            if (row == 0 && head == 0) {
                fill_first(inputs, from, to);
            } else {
                fill_lane(inputs, row, head, from, to);
            }
        }
    }
}

const unsigned char *kvc_inputs_find(kvc_inputs *inputs, int32_t rows, const int32_t *numbers, int64_t count) {
    if (inputs == NULL || count < 1) {
        return NULL;
    }
    int32_t first = numbers[0];
    if (first < 0 || first >= TOKENS_KEPT || count > TOKENS_KEPT - first) {
        return NULL;
    }
    for (int64_t i = 1; i < count; i++) {
        if (numbers[i] != first + i) {
            return NULL;
        }
    }
    int32_t tokens = first + (int32_t)count;
    if (tokens > inputs->room && make_room(inputs, tokens) != 0) {
        return NULL;
    }
    if (tokens > inputs->tokens) {
        fill(inputs, 0, inputs->rows, inputs->tokens, tokens);
        inputs->tokens = tokens;
    }
    if (rows > inputs->rows) {
        fill(inputs, inputs->rows, rows, 0, inputs->tokens);
        inputs->rows = rows;
    }
    return inputs->cells + (size_t)first * inputs->cell;
}
