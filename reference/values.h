/*
 * Reading values back, and writing any: which token an element belongs to. The value formula itself stands in the plugin interface
 * and in docs/protocol.md; every adapter implements the same one.
 */
#ifndef KVC_REFERENCE_VALUES_H
#define KVC_REFERENCE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "kvconform/plugin.h"

enum { KVC_LEVEL_SLACK = 16 }; /* an element belongs to a level when it is no further from it than a 16th of the amplitude */

/*
 * In digits only: makes a cell of `channels` elements, as some row and head have it, that of another row and head: all that tells
 * them apart stands in two of eight channels.
 */
void kvc_value_move(kvc_dtype dtype, int salt, int row, int head, int channels, void *cell);
/* Writes one element of type `dtype` (little-endian, unaligned is fine) for the whole number `value`. */
void kvc_value_store(kvc_dtype dtype, int64_t value, void *out);
/* The same for any number: rounded to nearest even. Its magnitude is 0, or normal in that type. */
void kvc_value_write(kvc_dtype dtype, double number, void *out);
/* Reads one element. Returns 1 and sets *value if it is a whole number, 0 for anything else (fractions, NaN, infinities). */
int kvc_value_load(kvc_dtype dtype, const void *in, int64_t *value);
/*
 * Which token, row and head the `channels` values belong to. Needs 8 channels or more. Returns 1 and sets the outputs, or 0 if
 * the values belong to none.
 */
int kvc_value_decode(int salt, const int64_t *values, int channels, int32_t *token, int *row, int *head);

/* The level that one element is near to: 1 for the upper, 0 for the lower, -1 for neither. */
int kvc_value_near(kvc_dtype dtype, const void *in);
/* Whether `count` elements are all near the levels that the elements of `want` are. */
int kvc_value_agree(kvc_dtype dtype, const void *have, const void *want, size_t count);
/* As kvc_value_decode, for the KVC_LEVEL_CHANNELS results of kvc_value_near. */
int kvc_value_decode_levels(int salt, const int *level, int32_t *token, int *row, int *head);

#endif
