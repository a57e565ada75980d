#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { TOKENS_AT_FIRST = 32, TOKENS_KEPT = 512 };

void kvc_inputs_close(kvc_inputs *inputs) {
    free(inputs->cells);
    memset(inputs, 0, sizeof *inputs);
}

/* Makes room for `tokens` tokens; what was worked out is forgotten. Returns 0, or -1 when memory is short. */
static int make_room(kvc_inputs *inputs, const kvc_store *store, int32_t tokens) {
    int32_t room = inputs->room > 0 ? inputs->room : TOKENS_AT_FIRST;
    while (room < tokens) {
        room *= 2;
    }
    size_t lanes = (size_t)KVC_ROWS_MAX * (size_t)store->heads;
    if (store->cell == 0 || lanes * (size_t)room > PTRDIFF_MAX / store->cell) {
        return -1;
    }
    unsigned char *cells = malloc(lanes * (size_t)room * store->cell);
    if (cells == NULL) {
        return -1;
    }
    free(inputs->cells);
    memset(inputs, 0, sizeof *inputs);
    inputs->cells = cells;
    inputs->room = room;
    return 0;
}

/* The first head of the first row. */
static void fill_first(kvc_inputs *inputs, const kvc_store *store, int32_t from, int32_t to) {
    for (int32_t token = from; token < to; token++) {
        kvc_value_row(store->encoding, store->dtype, store->salt, token, 0, 0, store->channels,
                      inputs->cells + (size_t)token * store->cell);
    }
}

/* The same tokens in another lane. */
static void fill_lane(kvc_inputs *inputs, const kvc_store *store, int32_t row, int32_t head, int32_t from, int32_t to) {
    size_t lane = (size_t)row * (size_t)store->heads + (size_t)head;
    unsigned char *out = inputs->cells + (lane * (size_t)inputs->room + (size_t)from) * store->cell;
    if (store->encoding != KVC_DIGITS) {
        for (int32_t token = from; token < to; token++, out += store->cell) {
            kvc_value_row(store->encoding, store->dtype, store->salt, token, row, head, store->channels, out);
        }
        return;
    }
    memcpy(out, inputs->cells + (size_t)from * store->cell, (size_t)(to - from) * store->cell);
    kvc_value_move(store->dtype, store->salt, row, head, store->channels, to - from, out);
}

/* Works out tokens `from` to `to` of rows `first_row` to `rows`. */
static void fill(kvc_inputs *inputs, const kvc_store *store, int32_t first_row, int32_t rows, int32_t from, int32_t to) {
    for (int32_t row = first_row; row < rows; row++) {
        for (int32_t head = 0; head < store->heads; head++) {
            if (row == 0 && head == 0) {
                fill_first(inputs, store, from, to);
            } else {
                fill_lane(inputs, store, row, head, from, to);
            }
        }
    }
}

const unsigned char *kvc_inputs_find(kvc_inputs *inputs, const kvc_store *store, const int32_t *numbers, int64_t count) {
    if (count < 1) {
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
    if (tokens > inputs->room && make_room(inputs, store, tokens) != 0) {
        return NULL;
    }
    if (tokens > inputs->tokens) {
        fill(inputs, store, 0, inputs->rows, inputs->tokens, tokens);
        inputs->tokens = tokens;
    }
    if (store->rows > inputs->rows) {
        fill(inputs, store, inputs->rows, store->rows, 0, inputs->tokens);
        inputs->rows = store->rows;
    }
    return inputs->cells + (size_t)first * store->cell;
}
