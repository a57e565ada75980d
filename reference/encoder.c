#include "reference/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "reference/values.h"

enum { STRIPED_AT_FIRST = 32 };

kvc_encoder *kvc_encoder_open(void)
{
    return calloc(1, sizeof(kvc_encoder));
}

/* They are many: when they have grown too large, those that are needed are made anew. */
static void forget_striped(kvc_encoder *encoder)
{
    for (int at = 0; at < encoder->used; at++) {
        for (int rows = 0; rows < KVC_ROWS_MAX; rows++) {
            for (int heads = 0; heads < KVC_ENCODED_HEADS; heads++) {
                free(encoder->tables[at].striped[rows][heads].bytes);
                encoder->tables[at].striped[rows][heads] = (kvc_striped){NULL, 0, 0};
            }
        }
    }
    encoder->striped_bytes = 0;
}

void kvc_encoder_close(kvc_encoder *encoder)
{
    if (encoder == NULL)
        return;
    forget_striped(encoder);
    for (int at = 0; at < encoder->used; at++)
        free(encoder->tables[at].bytes);
    for (int at = 0; at < KVC_ENCODER_FOLDS; at++)
        free(encoder->fold[at].bytes);
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
    *place = (uint8_t)++encoder->used;
    return found;
}

int kvc_encoded_fill(kvc_encoded *table, int32_t end, int row, int head)
{
    int32_t *filled = &table->filled[row][head];
    uint8_t *lane;

    if (table->bytes == NULL)
        table->bytes = malloc((size_t)KVC_ROWS_MAX * KVC_ENCODED_HEADS * KVC_ENCODED_TOKENS * table->cell);
    if (table->bytes == NULL)
        return 0;
    lane = table->bytes + (size_t)(row * KVC_ENCODED_HEADS + head) * KVC_ENCODED_TOKENS * table->cell;
    for (; *filled < end; ++*filled)
        encode(lane + (size_t)*filled * table->cell, table->encoding, table->dtype, table->salt, table->channels,
               *filled, row, head);
    return 1;
}

/* One number in all rows and heads; in digits two of eight channels tell them apart. */
static void encode_stripe(uint8_t *out, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels, int32_t number, int32_t rows,
                          int heads)
{
    size_t cell = (size_t)channels * kvc_dtype_size(dtype);
    uint8_t *at = out;

    for (int32_t row = 0; row < rows; row++) {
        for (int head = 0; head < heads; head++, at += cell) {
            if (at == out || encoding != KVC_DIGITS || dtype == KVC_INT64) {
                encode(at, encoding, dtype, salt, channels, number, row, head);
                continue;
            }
            memcpy(at, out, cell);
            kvc_value_move(dtype, salt, row, head, channels, at);
        }
    }
}

int kvc_striped_fill(kvc_encoder *encoder, kvc_encoded *table, int32_t end, int32_t rows, int heads)
{
    kvc_striped *striped = &table->striped[rows - 1][heads - 1];
    size_t stripe = (size_t)rows * (size_t)heads * table->cell;

    if (striped->room < end) {
        int32_t room = striped->room > 0 ? 2 * striped->room : STRIPED_AT_FIRST;
        uint8_t *larger;
        while (room < end)
            room *= 2;
        if (encoder->striped_bytes + (size_t)room * stripe > KVC_ENCODER_STRIPED_MAX)
            forget_striped(encoder);
        larger = realloc(striped->bytes, (size_t)room * stripe);
        if (larger == NULL)
            return 0;
        encoder->striped_bytes += (size_t)(room - striped->room) * stripe;
        striped->bytes = larger;
        striped->room = room;
    }
    for (; striped->filled < end; striped->filled++)
        encode_stripe(striped->bytes + (size_t)striped->filled * stripe, table->encoding, table->dtype, table->salt, table->channels,
                      striped->filled, rows, heads);
    return 1;
}

const uint8_t *kvc_encoder_fold(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels, int32_t number,
                                int32_t rows, int heads)
{
    /* States side by side have the same number. */
    kvc_fold *fold = &encoder->fold[((uint32_t)number + 37 * (uint32_t)salt) % KVC_ENCODER_FOLDS];
    size_t size = (size_t)rows * (size_t)heads * (size_t)channels * kvc_dtype_size(dtype);

    if (channels < 1 || channels > KVC_ENCODER_CHANNELS_MAX || rows < 1 || rows > KVC_ROWS_MAX || heads < 1 || heads > KVC_ENCODED_HEADS)
        return NULL;
    if (fold->number == number && fold->channels == channels && fold->rows == rows && fold->heads == heads && fold->dtype == dtype &&
        fold->salt == salt && fold->encoding == encoding)
        return fold->bytes;
    if (size > fold->room) {
        uint8_t *larger = realloc(fold->bytes, size);
        if (larger == NULL)
            return NULL;
        fold->bytes = larger;
        fold->room = size;
    }
    fold->encoding = encoding;
    fold->dtype = dtype;
    fold->salt = salt;
    fold->channels = channels;
    fold->number = number;
    fold->rows = rows;
    fold->heads = heads;
    encode_stripe(fold->bytes, encoding, dtype, salt, channels, number, rows, heads);
    return fold->bytes;
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
        kvc_value_move(dtype, salt, row, head, channels, bytes);
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
