#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { TOKENS_AT_FIRST = 32, TOKENS_KEPT = 512, KINDS_LIMIT = KVC_INPUTS_MAX / 2, BYTES_LIMIT = 8 << 20 };

/* Bytes of a token in all lanes. */
static size_t stripe(const kvc_inputs *inputs, int32_t rows) {
    return (size_t)rows * (size_t)inputs->heads * inputs->cell;
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
                          .asked = &kept->asked,
                          .cell = (size_t)channels * kvc_dtype_size(dtype)};
    return found;
}

void kvc_inputs_limit(kvc_inputs_kept *kept) {
    size_t size = 0;
    for (int32_t i = 0; i < kept->used; i++) {
        for (int32_t rows = 1; rows <= KVC_ROWS_MAX; rows++) {
            const kvc_inputs_of_rows *table = &kept->list[i].of_rows[rows - 1];
            size += ((size_t)table->room + (table->folds != NULL ? KVC_FOLDS_KEPT : 0)) * stripe(&kept->list[i], rows);
        }
    }
    if (kept->used > KINDS_LIMIT || size > BYTES_LIMIT) {
        kvc_inputs_close(kept);
    }
}

void kvc_inputs_close(kvc_inputs_kept *kept) {
    for (int32_t i = 0; i < kept->used; i++) {
        for (int32_t rows = 0; rows < KVC_ROWS_MAX; rows++) {
            free(kept->list[i].of_rows[rows].cells);
            free(kept->list[i].of_rows[rows].folds);
        }
    }
    kept->used = 0;
}

/* Works out tokens up to number `tokens`. Returns 0, or -1 when memory is short. */
static int fill(const kvc_inputs *inputs, kvc_inputs_of_rows *table, int32_t rows, int32_t tokens) {
    size_t size = stripe(inputs, rows);
    if (tokens > table->room) {
        int32_t room = table->room > 0 ? table->room : TOKENS_AT_FIRST;
        while (room < tokens) {
            room *= 2;
        }
        if (size == 0 || size > PTRDIFF_MAX / (size_t)room) {
            return -1;
        }
        unsigned char *cells = realloc(table->cells, (size_t)room * size);
        if (cells == NULL) {
            return -1;
        }
        table->cells = cells;
        table->room = room;
    }
    for (; table->tokens < tokens; table->tokens++) {
        kvc_inputs_make(inputs, table->tokens, rows, table->cells + (size_t)table->tokens * size);
    }
    return 0;
}

void kvc_inputs_make(const kvc_inputs *inputs, int32_t number, int32_t rows, unsigned char *out) {
    unsigned char *first = out;
    for (int32_t row = 0; row < rows; row++) {
        for (int32_t head = 0; head < inputs->heads; head++, out += inputs->cell) {
            if (out == first || inputs->encoding != KVC_DIGITS) {
                kvc_value_row(inputs->encoding, inputs->dtype, inputs->salt, number, row, head, inputs->channels, out);
            } else {
                /* Two of eight channels tell lanes apart. */
                memcpy(out, first, inputs->cell);
                kvc_value_move(inputs->dtype, inputs->salt, row, head, inputs->channels, out);
            }
        }
    }
}

/* The first of numbers that follow each other and are kept; -1 for others. */
static int32_t first_of(const int32_t *numbers, int64_t count) {
    int32_t first = numbers[0];
    if (first < 0 || first >= TOKENS_KEPT || count > TOKENS_KEPT - first) {
        return -1;
    }
    for (int64_t i = 1; i < count; i++) {
        if (numbers[i] != first + i) {
            return -1;
        }
    }
    return first;
}

void kvc_inputs_ask(kvc_inputs_kept *kept, const int32_t *numbers, int64_t count) {
    kept->asked = (kvc_asked){numbers, count, count > 0 ? first_of(numbers, count) : -1};
}

const unsigned char *kvc_inputs_find(kvc_inputs *inputs, int32_t rows, const int32_t *numbers, int64_t count) {
    if (inputs == NULL || count < 1 || rows < 1 || rows > KVC_ROWS_MAX) {
        return NULL;
    }
    const kvc_asked *asked = inputs->asked;
    int32_t first = numbers == asked->numbers && count == asked->count ? asked->first : first_of(numbers, count);
    if (first < 0) {
        return NULL;
    }
    kvc_inputs_of_rows *table = &inputs->of_rows[rows - 1];
    int32_t tokens = first + (int32_t)count;
    if (tokens > table->tokens && fill(inputs, table, rows, tokens) != 0) {
        return NULL;
    }
    return table->cells + (size_t)first * stripe(inputs, rows);
}

const unsigned char *kvc_inputs_find_fold(kvc_inputs *inputs, int32_t rows, int32_t fold) {
    if (rows < 1 || rows > KVC_ROWS_MAX || fold < 0) {
        return NULL;
    }
    kvc_inputs_of_rows *table = &inputs->of_rows[rows - 1];
    size_t size = stripe(inputs, rows);
    size_t place = (size_t)fold % KVC_FOLDS_KEPT;
    if (table->folds == NULL) {
        table->folds = size > 0 && size <= PTRDIFF_MAX / KVC_FOLDS_KEPT ? malloc(KVC_FOLDS_KEPT * size) : NULL;
        if (table->folds == NULL) {
            return NULL;
        }
    }
    if (table->fold[place] != fold + 1) {
        table->fold[place] = fold + 1;
        kvc_inputs_make(inputs, fold, rows, table->folds + place * size);
    }
    return table->folds + place * size;
}
