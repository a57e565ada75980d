#include "reference/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { TABLES_MAX = 96, TOKENS_KEPT = 128, HEADS_KEPT = 2, SALTS = 7, CHANNELS_KEPT = 64, CHANNELS_MAX = 4096 };

/* All that was ever asked for of one type, salt and number of channels. */
typedef struct table {
    size_t cell;    /* bytes for one token */
    uint8_t *bytes; /* [row][head][token][channel] */
    int32_t filled[KVC_ROWS_MAX][HEADS_KEPT]; /* tokens from 0 on that are worked out */
} table;

struct kvc_encoder {
    table tables[TABLES_MAX];
    int used;
    uint8_t place[KVC_ENCODINGS][KVC_DTYPES][SALTS][CHANNELS_KEPT + 1]; /* number of the table, from 1 on; 0 for none */
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
    for (int at = 0; at < encoder->used; at++)
        free(encoder->tables[at].bytes);
    free(encoder);
}

static void encode(uint8_t *out, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels, int32_t token, int row, int head)
{
    if (dtype != KVC_INT64) {
        kvc_value_row(encoding, dtype, salt, token, row, head, channels, out);
        return;
    }
    for (int channel = 0; channel < channels; channel++)
        kvc_value_store(KVC_INT64, kvc_value_integer(token, row, head), out + (size_t)channel * sizeof(int64_t));
}

/* NULL for what no table holds. */
static table *find_table(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels)
{
    uint8_t *place;
    table *found;

    if (salt < 0 || salt >= SALTS || channels < 1 || channels > CHANNELS_KEPT)
        return NULL;
    place = &encoder->place[encoding][dtype][salt][channels];
    if (*place > 0)
        return &encoder->tables[*place - 1];
    if (encoder->used == TABLES_MAX)
        return NULL;
    found = &encoder->tables[encoder->used];
    found->cell = (size_t)channels * kvc_dtype_size(dtype);
    found->bytes = malloc((size_t)KVC_ROWS_MAX * HEADS_KEPT * TOKENS_KEPT * found->cell);
    if (found->bytes == NULL)
        return NULL;
    *place = (uint8_t)++encoder->used;
    return found;
}

const uint8_t *kvc_encoder_lane(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                                int32_t token, int32_t count, int row, int head)
{
    table *found;
    int32_t *filled;
    uint8_t *lane;

    if (token < 0 || count < 0 || token > TOKENS_KEPT - count || row < 0 || row >= KVC_ROWS_MAX || head < 0 ||
        head >= HEADS_KEPT)
        return NULL;
    found = find_table(encoder, encoding, dtype, salt, channels);
    if (found == NULL)
        return NULL;
    lane = found->bytes + (size_t)(row * HEADS_KEPT + head) * TOKENS_KEPT * found->cell;
    filled = &found->filled[row][head];
    for (; *filled < token + count; ++*filled)
        encode(lane + (size_t)*filled * found->cell, encoding, dtype, salt, channels, *filled, row, head);
    return lane + (size_t)token * found->cell;
}

const uint8_t *kvc_encoder_row(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                               int32_t token, int row, int head)
{
    const uint8_t *kept = kvc_encoder_lane(encoder, encoding, dtype, salt, channels, token, 1, row, head);

    if (kept != NULL || channels < 1 || channels > CHANNELS_MAX)
        return kept;
    encode(encoder->spare, encoding, dtype, salt, channels, token, row, head);
    return encoder->spare;
}
