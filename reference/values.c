#include "reference/values.h"

#include <math.h>
#include <string.h>

static const int32_t powers_of_seven[6] = {1, 7, 49, 343, 2401, 16807};

/* The bytes of 0 to 7 in each type, little-endian. */
static const unsigned char small_bytes[KVC_DTYPES][8][8] = {
    {{0, 0, 0, 0}, {0, 0, 0x80, 0x3f}, {0, 0, 0, 0x40}, {0, 0, 0x40, 0x40}, {0, 0, 0x80, 0x40}, {0, 0, 0xa0, 0x40}, {0, 0, 0xc0, 0x40}, {0, 0, 0xe0, 0x40}},
    {{0, 0}, {0, 0x3c}, {0, 0x40}, {0, 0x42}, {0, 0x44}, {0, 0x45}, {0, 0x46}, {0, 0x47}},
    {{0, 0}, {0x80, 0x3f}, {0, 0x40}, {0x40, 0x40}, {0x80, 0x40}, {0xa0, 0x40}, {0xc0, 0x40}, {0xe0, 0x40}},
    {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0, 0x40}, {0, 0, 0, 0, 0, 0, 0x08, 0x40}, {0, 0, 0, 0, 0, 0, 0x10, 0x40}, {0, 0, 0, 0, 0, 0, 0x14, 0x40}, {0, 0, 0, 0, 0, 0, 0x18, 0x40}, {0, 0, 0, 0, 0, 0, 0x1c, 0x40}},
    {{0, 0, 0, 0, 0, 0, 0, 0}, {0x01, 0, 0, 0, 0, 0, 0, 0}, {0x02, 0, 0, 0, 0, 0, 0, 0}, {0x03, 0, 0, 0, 0, 0, 0, 0}, {0x04, 0, 0, 0, 0, 0, 0, 0}, {0x05, 0, 0, 0, 0, 0, 0, 0}, {0x06, 0, 0, 0, 0, 0, 0, 0}, {0x07, 0, 0, 0, 0, 0, 0, 0}}};

/* Byte i is (start + 5 * i) % 7: what the formula adds to the digits of eight channels, of which the first adds `start`. */
static const uint64_t shifts[7] = {
    0x0002040601030500,
    0x0103050002040601,
    0x0204060103050002,
    0x0305000204060103,
    0x0406010305000204,
    0x0500020406010305,
    0x0601030500020406};

int kvc_value(int salt, int32_t token, int row, int head, int channel) {
    int place = channel % 8;
    int digit;
    if (place <= 5) {
        digit = token == 0 ? 0 : (int)((token / powers_of_seven[place]) % 7);
    } else if (place == 6) {
        digit = row % 7;
    } else {
        digit = head % 7;
    }
    return 1 + (digit + 3 * salt + 5 * channel) % 7;
}

/*
 * What 32 channels say in two levels, one bit each. The last bit of every eight is the opposite of the first: so any eight
 * channels that begin at a multiple of eight hold both levels, and a quantiser finds the same range in all of them.
 */
static uint32_t level_bits(int salt, int32_t token, int row, int head) {
    uint32_t data = (uint32_t)token | (uint32_t)(row % 7) << 17 | (uint32_t)(head % 7) << 20 | (uint32_t)salt << 23;
    uint32_t parity = data;
    uint32_t bits = 0;
    for (int shift = 16; shift > 0; shift /= 2) {
        parity ^= parity >> shift;
    }
    data |= (parity & 1u) << 26 | (~parity & 1u) << 27;
    for (int place = 0; place < 4; place++) {
        uint32_t seven = data >> (7 * place) & 0x7fu;
        bits |= (seven | (~seven & 1u) << 7) << (8 * place);
    }
    return bits;
}

static int level_of(uint32_t bits, int channel) {
    return (int)((bits >> (channel % KVC_LEVEL_CHANNELS) & 1u) ^ ((unsigned)channel / KVC_LEVEL_CHANNELS & 1u));
}

int kvc_value_level(int salt, int32_t token, int row, int head, int channel) {
    return level_of(level_bits(salt, token, row, head), channel) != 0 ? KVC_AMPLITUDE : -KVC_AMPLITUDE;
}

int64_t kvc_value_integer(int32_t token, int row, int head) {
    return 64 * (int64_t)token + 8 * (int64_t)row + head;
}

int32_t kvc_value_fold(int32_t fold, int32_t token) {
    return (int32_t)((31 * (int64_t)fold + token + 1) % KVC_TOKENS_MAX);
}

static void put_bytes(uint64_t bits, size_t size, unsigned char *out) {
    for (size_t i = 0; i < size; i++, bits >>= 8) {
        out[i] = (unsigned char)bits;
    }
}

static uint64_t get_bytes(const unsigned char *in, size_t size) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        bits |= (uint64_t)in[i] << (8 * i);
    }
    return bits;
}

static uint32_t float_bits(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static float float_from_bits(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Rounds to nearest even. Subnormals do not occur. */
static uint16_t half_from_float(float number) {
    uint32_t bits = float_bits(number);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    uint32_t rest = bits & 0x7fffffffu;
    if (rest == 0) {
        return sign;
    }
    uint32_t half = (rest - (112u << 23)) >> 13;
    uint32_t lost = rest & 0x1fffu;
    if (lost > 0x1000u || (lost == 0x1000u && (half & 1u) != 0)) {
        half++;
    }
    if (half > 0x7c00u) {
        half = 0x7c00u;
    }
    return (uint16_t)(sign | half);
}

static uint16_t brain_from_float(float number) {
    uint32_t bits = float_bits(number);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static double half_to_double(uint16_t half) {
    int exponent = (half >> 10) & 31;
    int mantissa = half & 0x3ff;
    double magnitude;
    if (exponent == 31) {
        magnitude = mantissa != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        magnitude = ldexp(mantissa, -24);
    } else {
        magnitude = ldexp(mantissa + 1024, exponent - 25);
    }
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

/* Writes whole numbers 0 to 7, one from each byte of `values`, lowest first; `count` of them. */
static inline void put_small(kvc_dtype dtype, uint64_t values, int count, unsigned char *out) {
    const unsigned char(*bytes)[8] = small_bytes[dtype];
    /* Each case has a size that the compiler knows. */
    switch (kvc_dtype_size(dtype)) {
    case 2:
        for (int i = 0; i < count; i++, values >>= 8, out += 2) {
            memcpy(out, bytes[values & 7], 2);
        }
        break;
    case 4:
        for (int i = 0; i < count; i++, values >>= 8, out += 4) {
            memcpy(out, bytes[values & 7], 4);
        }
        break;
    default:
        for (int i = 0; i < count; i++, values >>= 8, out += 8) {
            memcpy(out, bytes[values & 7], 8);
        }
        break;
    }
}

static void put_levels(kvc_dtype dtype, uint32_t bits, int channels, unsigned char *out) {
    unsigned char level[2][8];
    size_t size = kvc_dtype_size(dtype);
    kvc_value_store(dtype, -KVC_AMPLITUDE, level[0]);
    kvc_value_store(dtype, KVC_AMPLITUDE, level[1]);
    for (int channel = 0; channel < channels; channel++, out += size) {
        memcpy(out, level[level_of(bits, channel)], size);
    }
}

void kvc_value_row(kvc_encoding encoding, kvc_dtype dtype, int salt, int32_t token, int row, int head, int channels,
                   void *out) {
    static const uint64_t ones = 0x0101010101010101u;
    unsigned char *at = out;
    size_t step = 8 * kvc_dtype_size(dtype);
    uint64_t digits = (uint64_t)(row % 7) << 48 | (uint64_t)(head % 7) << 56;
    int start = 3 * salt % 7;
    if (encoding == KVC_TWO_LEVELS) {
        put_levels(dtype, level_bits(salt, token, row, head), channels, at);
        return;
    }
    for (int place = 0; token > 0 && place <= 5; place++, token /= 7) {
        digits |= (uint64_t)(token % 7) << (8 * place);
    }
    /* Eight channels at a time, each in a byte of its own: no sum is above 12, and 121 more lifts those from 7 on over the byte's top bit. */
    for (int channel = 0; channel < channels; channel += 8, at += step) {
        uint64_t sums = digits + shifts[start];
        uint64_t above = ((sums + 121 * ones) >> 7) & ones;
        put_small(dtype, sums - 7 * above + ones, channels - channel < 8 ? channels - channel : 8, at);
        start = start >= 2 ? start - 2 : start + 5; /* 5 * 8 % 7 is 5 */
    }
}

/* Writes an element to every cell from `at` on; `cell` is the distance. */
static void put_column(const unsigned char *element, size_t size, unsigned char *at, size_t cell, int64_t count) {
    for (int64_t i = 0; i < count; i++, at += cell) {
        /* Each case has a size that the compiler knows. */
        if (size == 4) {
            memcpy(at, element, 4);
        } else if (size == 2) {
            memcpy(at, element, 2);
        } else {
            memcpy(at, element, 8);
        }
    }
}

void kvc_value_move(kvc_dtype dtype, int salt, int row, int head, int channels, int64_t count, void *cells) {
    size_t size = kvc_dtype_size(dtype);
    int values[2] = {(row % 7 + 3 * salt + 5 * 6) % 7, (head % 7 + 3 * salt + 5 * 7) % 7};
    for (int channel = 6; channel < channels; channel += 8) {
        for (int which = 0; which < 2 && channel + which < channels; which++) {
            unsigned char *first = (unsigned char *)cells + (size_t)(channel + which) * size;
            put_column(small_bytes[dtype][1 + values[which]], size, first, (size_t)channels * size, count);
            values[which] = values[which] >= 2 ? values[which] - 2 : values[which] + 5; /* 5 * 8 % 7 is 5 */
        }
    }
}

void kvc_value_write(kvc_dtype dtype, double number, void *out) {
    uint64_t bits = 0;
    switch (dtype) {
    case KVC_FLOAT32:
        bits = float_bits((float)number);
        break;
    case KVC_FLOAT16:
        bits = half_from_float((float)number);
        break;
    case KVC_BFLOAT16:
        bits = brain_from_float((float)number);
        break;
    case KVC_FLOAT64:
        memcpy(&bits, &number, sizeof bits);
        break;
    case KVC_INT64:
        bits = (uint64_t)(int64_t)number;
        break;
    }
    put_bytes(bits, kvc_dtype_size(dtype), out);
}

void kvc_value_store(kvc_dtype dtype, int64_t value, void *out) {
    if (value >= 0 && value <= 7) {
        put_small(dtype, (uint64_t)value, 1, out);
    } else if (dtype == KVC_INT64) {
        put_bytes((uint64_t)value, sizeof value, out);
    } else {
        kvc_value_write(dtype, (double)value, out);
    }
}

static double read_number(kvc_dtype dtype, const void *in) {
    uint64_t bits = get_bytes(in, kvc_dtype_size(dtype));
    double number = 0;
    switch (dtype) {
    case KVC_FLOAT32:
        return (double)float_from_bits((uint32_t)bits);
    case KVC_FLOAT16:
        return half_to_double((uint16_t)bits);
    case KVC_BFLOAT16:
        return (double)float_from_bits((uint32_t)bits << 16);
    case KVC_FLOAT64:
        memcpy(&number, &bits, sizeof number);
        return number;
    case KVC_INT64:
        break;
    }
    return (double)(int64_t)bits;
}

int kvc_value_load(kvc_dtype dtype, const void *in, int64_t *value) {
    if (dtype == KVC_INT64) {
        uint64_t bits = get_bytes(in, sizeof bits);
        memcpy(value, &bits, sizeof *value);
        return 1;
    }
    double number = read_number(dtype, in);
    /* The comparison is false for NaN; 2^63 itself does not fit. */
    if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0)) {
        return 0;
    }
    int64_t whole = (int64_t)number;
    if ((double)whole < number || (double)whole > number) {
        return 0;
    }
    *value = whole;
    return 1;
}

int kvc_value_near(kvc_dtype dtype, const void *in) {
    double slack = (double)KVC_AMPLITUDE / KVC_LEVEL_SLACK;
    double number = read_number(dtype, in);
    if (fabs(number - KVC_AMPLITUDE) <= slack) {
        return 1;
    }
    return fabs(number + KVC_AMPLITUDE) <= slack ? 0 : -1;
}

int kvc_value_agree(kvc_dtype dtype, const void *have, const void *want, size_t count) {
    const unsigned char *a = have;
    const unsigned char *b = want;
    size_t size = kvc_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        int level = kvc_value_near(dtype, a + i * size);
        if (level < 0 || level != kvc_value_near(dtype, b + i * size)) {
            return 0;
        }
    }
    return 1;
}

/* Undoes the formula for one channel. Returns the digit, or -1 for a value outside 1..7. */
static int digit_of(int salt, int channel, int64_t value) {
    if (value < 1 || value > 7) {
        return -1;
    }
    int shift = (3 * salt + 5 * channel) % 7;
    return ((int)value - 1 + 7 - shift) % 7;
}

int kvc_value_decode(int salt, const int64_t *values, int channels, int32_t *token, int *row, int *head) {
    int digits[8];
    if (channels < 8) {
        return 0;
    }
    for (int channel = 0; channel < channels; channel++) {
        int digit = digit_of(salt, channel, values[channel]);
        if (digit < 0) {
            return 0;
        }
        if (channel < 8) {
            digits[channel] = digit;
        } else if (digits[channel % 8] != digit) {
            return 0;
        }
    }
    int32_t number = 0;
    for (int place = 5; place >= 0; place--) {
        number = number * 7 + digits[place];
    }
    *token = number;
    *row = digits[6];
    *head = digits[7];
    return 1;
}

int kvc_value_decode_levels(int salt, const int *level, int32_t *token, int *row, int *head) {
    uint32_t bits = 0;
    uint32_t data = 0;
    for (int channel = 0; channel < KVC_LEVEL_CHANNELS; channel++) {
        if (level[channel] < 0) {
            return 0;
        }
        bits |= (uint32_t)level[channel] << channel;
    }
    for (int place = 0; place < 4; place++) {
        data |= (bits >> (8 * place) & 0x7fu) << (7 * place);
    }
    *token = (int32_t)(data & 0x1ffffu);
    *row = (int)(data >> 17 & 7u);
    *head = (int)(data >> 20 & 7u);
    return *token < KVC_TOKENS_MAX && *row < 7 && *head < 7 && level_bits(salt, *token, *row, *head) == bits;
}
