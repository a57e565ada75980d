/*
 * The bytes of a token's channels, worked out once and kept, so that a check is a comparison of memory.
 */
#ifndef KVC_REFERENCE_ENCODER_H
#define KVC_REFERENCE_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "reference/params.h"

typedef struct kvc_encoder kvc_encoder;

/* Returns NULL when memory is short. Not for use by two threads. */
kvc_encoder *kvc_encoder_open(void);
void kvc_encoder_close(kvc_encoder *encoder);
/*
 * The `channels` elements of type `dtype` for one token, row and head: channels * size bytes. Valid until the next call. NULL
 * when memory is short or there are too many channels.
 */
const uint8_t *kvc_encoder_row(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                               int32_t token, int row, int head);
enum { KVC_ENCODED_TOKENS = 256, KVC_ENCODED_HEADS = 2 };

/* Tokens from 0 on, each in all its rows and heads: [token][row][head][channel]. */
typedef struct kvc_striped {
    uint8_t *bytes;
    int32_t room;
    int32_t filled;
} kvc_striped;

/* All that was ever asked for of one type, salt and number of channels. */
typedef struct kvc_encoded {
    kvc_encoding encoding;
    kvc_dtype dtype;
    int salt;
    int channels;
    size_t cell;    /* bytes for one token */
    uint8_t *bytes; /* [row][head][token][channel]; NULL as long as none is asked for */
    int32_t filled[KVC_ROWS_MAX][KVC_ENCODED_HEADS]; /* tokens from 0 on that are worked out */
    kvc_striped striped[KVC_ROWS_MAX][KVC_ENCODED_HEADS]; /* for each number of rows and heads */
} kvc_encoded;

enum {
    KVC_ENCODER_TABLES_MAX = 96,
    KVC_ENCODER_SALTS = 7,
    KVC_ENCODER_CHANNELS_KEPT = 64,
    KVC_ENCODER_RECENT_CHANNELS = 128,
    KVC_ENCODER_CHANNELS_MAX = 4096,
    KVC_ENCODER_STRIPED_MAX = 8 << 20, /* bytes */
    KVC_ENCODER_FOLDS = 256
};

/* One number in all rows and heads, each in its own: [row][head][channel]. */
typedef struct kvc_fold {
    uint8_t *bytes;
    size_t room;
    kvc_encoding encoding;
    kvc_dtype dtype;
    int salt;
    int channels; /* 0 at first */
    int32_t number;
    int32_t rows;
    int heads;
} kvc_fold;

typedef struct kvc_recent {
    kvc_encoding encoding;
    kvc_dtype dtype;
    int salt;
    int channels; /* 0 at first */
    int32_t token;
    uint8_t bytes[KVC_ENCODER_RECENT_CHANNELS * 8];
} kvc_recent;

/* Known here only so that looking a table up needs no call. */
struct kvc_encoder {
    kvc_encoded tables[KVC_ENCODER_TABLES_MAX];
    int used;
    size_t striped_bytes; /* in all */
    /* Number of the table, from 1 on; 0 for none. */
    uint8_t place[KVC_ENCODINGS][KVC_DTYPES][KVC_ENCODER_SALTS][KVC_ENCODER_CHANNELS_KEPT + 1];
    /* What was asked for last of each row and head, and found no room in a table: a state is asked for after every op. */
    kvc_recent recent[KVC_ROWS_MAX][KVC_ENCODED_HEADS];
    kvc_fold fold[KVC_ENCODER_FOLDS];
    uint8_t spare[KVC_ENCODER_CHANNELS_MAX * 8];
};

kvc_encoded *kvc_encoder_make_table(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels);
/* Valid until the encoder is closed. NULL where there are too many channels, or when memory is short: then ask for rows. */
static inline kvc_encoded *kvc_encoder_table(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels)
{
    int place;

    if (salt < 0 || salt >= KVC_ENCODER_SALTS || channels < 1 || channels > KVC_ENCODER_CHANNELS_KEPT)
        return NULL;
    place = encoder->place[encoding][dtype][salt][channels];
    return place > 0 ? &encoder->tables[place - 1] : kvc_encoder_make_table(encoder, encoding, dtype, salt, channels);
}
/*
 * One number as all of `rows` rows and `heads` heads have it: [row][head][channel]. Sequences come to the same folds again and again,
 * so the last are kept. NULL when memory is short or there are too many channels. Valid until the next call.
 */
const uint8_t *kvc_encoder_fold(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels, int32_t number,
                                int32_t rows, int heads);
/* Works out what is missing of a row and head below number `end`. Returns 0 when memory is short. */
int kvc_encoded_fill(kvc_encoded *table, int32_t end, int row, int head);
/* The same for tokens in all of `rows` rows and `heads` heads. */
int kvc_striped_fill(kvc_encoder *encoder, kvc_encoded *table, int32_t end, int32_t rows, int heads);
/*
 * The same as kvc_encoder_row for `count` tokens with consecutive numbers, one after the other. NULL for more than is kept.
 */
static inline const uint8_t *kvc_encoded_lane(kvc_encoded *table, int32_t token, int32_t count, int row, int head)
{
    if (token < 0 || count < 0 || token > KVC_ENCODED_TOKENS - count || row < 0 || row >= KVC_ROWS_MAX || head < 0 ||
        head >= KVC_ENCODED_HEADS)
        return NULL;
    if (table->filled[row][head] < token + count && !kvc_encoded_fill(table, token + count, row, head))
        return NULL;
    return table->bytes +
           ((size_t)(row * KVC_ENCODED_HEADS + head) * KVC_ENCODED_TOKENS + (size_t)token) * table->cell;
}
/*
 * `count` tokens with consecutive numbers, each as all of `rows` rows and `heads` heads have it: [token][row][head][channel]. NULL
 * for more than is kept, or when memory is short. Valid until the next call.
 */
static inline const uint8_t *kvc_encoded_stripes(kvc_encoder *encoder, kvc_encoded *table, int32_t token, int32_t count,
                                                 int32_t rows, int heads)
{
    kvc_striped *striped;

    if (token < 0 || count < 0 || token > KVC_ENCODED_TOKENS - count || rows < 1 || rows > KVC_ROWS_MAX || heads < 1 ||
        heads > KVC_ENCODED_HEADS)
        return NULL;
    striped = &table->striped[rows - 1][heads - 1];
    if (striped->filled < token + count && !kvc_striped_fill(encoder, table, token + count, rows, heads))
        return NULL;
    return striped->bytes + (size_t)token * (size_t)rows * (size_t)heads * table->cell;
}

#endif
