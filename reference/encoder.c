#include "reference/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

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

kvc_encoded *kvc_encoder_make_table(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels)
{
    uint8_t *place = &encoder->place[encoding][dtype][salt][channels];
    kvc_encoded *found;

    if (encoder->used == KVC_ENCODER_TABLES_MAX)
        return NULL;
    found = &encoder->tables[encoder->used];
    found->encoding = encoding;
    found->dtype = dtype;
    found->salt = salt;
    found->channels = channels;
    found->cell = (size_t)channels * kvc_dtype_size(dtype);
    found->bytes = malloc((size_t)KVC_ROWS_MAX * KVC_ENCODED_HEADS * KVC_ENCODED_TOKENS * found->cell);
    if (found->bytes == NULL)
        return NULL;
    *place = (uint8_t)++encoder->used;
    return found;
}

void kvc_encoded_fill(kvc_encoded *table, int32_t end, int row, int head)
{
    uint8_t *lane = table->bytes + (size_t)(row * KVC_ENCODED_HEADS + head) * KVC_ENCODED_TOKENS * table->cell;
    int32_t *filled = &table->filled[row][head];

    for (; *filled < end; ++*filled)
        encode(lane + (size_t)*filled * table->cell, table->encoding, table->dtype, table->salt, table->channels,
               *filled, row, head);
}

static const uint8_t *find_recent(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                                  int32_t token, int row, int head)
{
    kvc_recent *recent = &encoder->recent[row][head];
    uint8_t *bytes = recent->bytes;

    if (recent->encoding == encoding && recent->dtype == dtype && recent->salt == salt &&
        recent->channels == channels && recent->token == token)
        return bytes;
    recent->encoding = encoding;
    recent->dtype = dtype;
    recent->salt = salt;
    recent->channels = channels;
    recent->token = token;
    if ((row > 0 || head > 0) && encoding == KVC_DIGITS && dtype != KVC_INT64 && token == encoder->recent[0][0].token &&
        find_recent(encoder, encoding, dtype, salt, channels, token, 0, 0) != NULL) {
        memcpy(bytes, encoder->recent[0][0].bytes, (size_t)channels * kvc_dtype_size(dtype));
        kvc_value_move(dtype, salt, row, head, channels, 1, bytes);
    } else {
        encode(bytes, encoding, dtype, salt, channels, token, row, head);
    }
    return bytes;
}

const uint8_t *kvc_encoder_row(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                               int32_t token, int row, int head)
{
    kvc_encoded *table = kvc_encoder_table(encoder, encoding, dtype, salt, channels);
    const uint8_t *kept = table != NULL ? kvc_encoded_lane(table, token, 1, row, head) : NULL;

    if (kept != NULL || channels < 1 || channels > KVC_ENCODER_CHANNELS_MAX)
        return kept;
    if (row >= 0 && row < KVC_ROWS_MAX && head >= 0 && head < KVC_ENCODED_HEADS && channels <= KVC_ENCODER_RECENT_CHANNELS)
        return find_recent(encoder, encoding, dtype, salt, channels, token, row, head);
    encode(encoder->spare, encoding, dtype, salt, channels, token, row, head);
    return encoder->spare;
}
