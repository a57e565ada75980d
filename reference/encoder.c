#include "reference/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { TABLES_MAX = 96, TOKENS_KEPT = 96, HEADS_KEPT = 2, CHANNELS_MAX = 4096 };

typedef struct table {
    kvc_dtype dtype;
    int salt;
    int channels;
    uint8_t *rows;   /* [token][row][head][channel] */
    uint8_t *filled; /* [token][row][head] */
} table;

struct kvc_encoder {
    table tables[TABLES_MAX];
    int used;
    int last; /* the table of the last call */
    uint8_t spare[CHANNELS_MAX * 8];
};

kvc_encoder *kvc_encoder_open(void)
{
    return calloc(1, sizeof(kvc_encoder));
}

void kvc_encoder_close(kvc_encoder *encoder)
{
    if (encoder == NULL)
        return;
    for (int at = 0; at < encoder->used; at++) {
        free(encoder->tables[at].rows);
        free(encoder->tables[at].filled);
    }
    free(encoder);
}

static void encode(uint8_t *out, kvc_dtype dtype, int salt, int channels, int32_t token, int row, int head)
{
    size_t size = kvc_dtype_size(dtype);

    for (int channel = 0; channel < channels; channel++) {
        int64_t value = dtype == KVC_INT64 ? kvc_value_integer(token, row, head)
                                           : kvc_value(salt, token, row, head, channel);
        kvc_value_store(dtype, value, out + (size_t)channel * size);
    }
}

static table *find_table(kvc_encoder *encoder, kvc_dtype dtype, int salt, int channels)
{
    table *found = &encoder->tables[encoder->last];
    size_t cells = (size_t)TOKENS_KEPT * KVC_ROWS_MAX * HEADS_KEPT;

    if (encoder->used > 0 && found->dtype == dtype && found->salt == salt && found->channels == channels)
        return found;
    for (int at = 0; at < encoder->used; at++) {
        found = &encoder->tables[at];
        if (found->dtype == dtype && found->salt == salt && found->channels == channels) {
            encoder->last = at;
            return found;
        }
    }
    if (encoder->used == TABLES_MAX || channels > 64)
        return NULL;
    found = &encoder->tables[encoder->used];
    found->dtype = dtype;
    found->salt = salt;
    found->channels = channels;
    found->rows = malloc(cells * (size_t)channels * kvc_dtype_size(dtype));
    found->filled = calloc(cells, 1);
    if (found->rows == NULL || found->filled == NULL) {
        free(found->rows);
        free(found->filled);
        return NULL;
    }
    encoder->last = encoder->used++;
    return found;
}

const uint8_t *kvc_encoder_row(kvc_encoder *encoder, kvc_dtype dtype, int salt, int channels, int32_t token, int row,
                               int head)
{
    if (channels < 1 || channels > CHANNELS_MAX)
        return NULL;
    if (token >= 0 && token < TOKENS_KEPT && head < HEADS_KEPT && row < KVC_ROWS_MAX) {
        table *found = find_table(encoder, dtype, salt, channels);
        if (found != NULL) {
            size_t cell = ((size_t)token * KVC_ROWS_MAX + (size_t)row) * HEADS_KEPT + (size_t)head;
            uint8_t *bytes = found->rows + cell * (size_t)channels * kvc_dtype_size(dtype);
            if (!found->filled[cell]) {
                encode(bytes, dtype, salt, channels, token, row, head);
                found->filled[cell] = 1;
            }
            return bytes;
        }
    }
    encode(encoder->spare, dtype, salt, channels, token, row, head);
    return encoder->spare;
}
