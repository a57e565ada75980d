/*
 * Bytes and sequences: every string of bytes is a legal sequence with legal parameters, and every legal sequence has bytes. What the
 * fuzzers keep and change are such bytes; the reference model decides what they mean, and no subject is asked.
 *
 * The first KVC_BYTES_HEADER bytes are the choices of the parameters, in the order of kvc_choice_random. Each KVC_BYTES_RECORD bytes
 * behind them are one op: its kind in the low six bits of the first, an op that the variant lacks standing for another; if the highest bit is set,
 * the arguments as they are, little-endian, otherwise the choices from which kvc_draw_op draws them, so that "all that is held" stays
 * that when something before it changes. An op that must not stand where it does is left out. Bytes that are missing are 0.
 */
#ifndef KVC_HARNESS_DECODE_H
#define KVC_HARNESS_DECODE_H

#include "harness/choice.h"
#include "harness/draw.h"

enum {
    KVC_BYTES_HEADER = 32,
    KVC_BYTES_RECORD = 16,
    KVC_BYTES_MAX = KVC_BYTES_HEADER + KVC_OPS_MAX * KVC_BYTES_RECORD,
    KVC_BYTES_KIND = 0x3f,   /* of the first byte of a record */
    KVC_BYTES_LITERAL = 0x80
};

typedef struct kvc_bytes {
    int32_t size; /* a header and whole records */
    uint8_t byte[KVC_BYTES_MAX];
} kvc_bytes;

typedef struct kvc_decoded {
    kvc_sequence sequence;
    int situation[KVC_OPS_MAX]; /* code of where each op stands */
    kvc_bytes kept;             /* the same without the records that were left out */
} kvc_decoded;

/* Takes a header and whole records from any bytes: what is missing of them is 0, what is too much is cut off. */
void kvc_bytes_take(const uint8_t *data, size_t size, kvc_bytes *out);
static inline int kvc_bytes_records(const kvc_bytes *bytes)
{
    return (bytes->size - KVC_BYTES_HEADER) / KVC_BYTES_RECORD;
}
static inline uint8_t *kvc_bytes_record(kvc_bytes *bytes, int at)
{
    return bytes->byte + KVC_BYTES_HEADER + at * KVC_BYTES_RECORD;
}

kvc_params kvc_decode_params(const kvc_choice *choice, const kvc_bytes *bytes);
/*
 * Decodes the ops into `model`, which was started with the plan of those parameters. `exclusions` and `careful` as for kvc_draw_take.
 * Returns 1, or 0 when memory is short.
 */
int kvc_decode_ops(kvc_model *model, const kvc_bytes *bytes, const kvc_exclusions *exclusions, int careful, kvc_decoded *out);
/*
 * The bytes of a sequence with parameters; `model` is one to work with, and `plan` that of the parameters. Returns 1 when they are decoded to
 * exactly that, 0 when they are only near: a parameter is outside of what the spec tries, or an op cannot stand in a generated sequence.
 */
int kvc_encode(const kvc_choice *choice, kvc_model *model, const kvc_plan *plan, const kvc_sequence *sequence, kvc_bytes *out);

#endif
