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

static unsigned char *lane_of(const kvc_inputs *inputs, const kvc_store *store, int32_t row, int32_t head) {
    return inputs->cells + ((size_t)row * (size_t)store->heads + (size_t)head) * (size_t)inputs->room * store->cell;
}

/* Works out what is missing of one row. */
static void fill_row(kvc_inputs *inputs, const kvc_store *store, int32_t row, int32_t tokens) {
    for (int32_t head = 0; head < store->heads; head++) {
        unsigned char *lane = lane_of(inputs, store, row, head);
        for (int32_t token = inputs->filled[row]; token < tokens; token++) {
            kvc_value_row(store->encoding, store->dtype, store->salt, token, row, head, store->channels,
                          lane + (size_t)token * store->cell);
        }
    }
    inputs->filled[row] = tokens;
}

const unsigned char *kvc_inputs_find(kvc_inputs *inputs, const kvc_store *store, const int32_t *numbers, int64_t count, int32_t row,
                                     int32_t head) {
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
    if (tokens > inputs->filled[row]) {
        fill_row(inputs, store, row, tokens);
    }
    return lane_of(inputs, store, row, head) + (size_t)first * store->cell;
}
