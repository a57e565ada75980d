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
/*
 * The same for `count` tokens with consecutive numbers, one after the other, in one row and head. Valid until the encoder is
 * closed. NULL for more than is kept, or when memory is short: then ask for single tokens.
 */
const uint8_t *kvc_encoder_lane(kvc_encoder *encoder, kvc_encoding encoding, kvc_dtype dtype, int salt, int channels,
                                int32_t token, int32_t count, int row, int head);

#endif
