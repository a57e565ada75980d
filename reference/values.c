#include "reference/values.h"

#include <math.h>
#include <string.h>

static const int32_t powers_of_seven[6] = {1, 7, 49, 343, 2401, 16807};

/* The two highest bytes of 0 to 7, little-endian, in each floating type: their other bytes are zero. */
static const unsigned char high_bytes[4][8][2] = {
    {{0x00, 0x00}, {0x80, 0x3f}, {0x00, 0x40}, {0x40, 0x40}, {0x80, 0x40}, {0xa0, 0x40}, {0xc0, 0x40}, {0xe0, 0x40}},
    {{0x00, 0x00}, {0x00, 0x3c}, {0x00, 0x40}, {0x00, 0x42}, {0x00, 0x44}, {0x00, 0x45}, {0x00, 0x46}, {0x00, 0x47}},
    {{0x00, 0x00}, {0x80, 0x3f}, {0x00, 0x40}, {0x40, 0x40}, {0x80, 0x40}, {0xa0, 0x40}, {0xc0, 0x40}, {0xe0, 0x40}},
    {{0x00, 0x00}, {0xf0, 0x3f}, {0x00, 0x40}, {0x08, 0x40}, {0x10, 0x40}, {0x14, 0x40}, {0x18, 0x40}, {0x1c, 0x40}}};

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

int64_t kvc_value_integer(int32_t token, int row, int head) {
    return 64 * (int64_t)token + 8 * (int64_t)row + head;
}

int32_t kvc_value_fold(int32_t fold, int32_t token) {
    return (int32_t)((31 * (int64_t)fold + token + 1) % KVC_TOKENS_MAX);
}

static void put_bytes(uint64_t bits, size_t size, unsigned char *out) {
    for (size_t i = 0; i < size; i++) {
        out[i] = (unsigned char)(bits >> (8 * i));
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

/* Rounds to nearest even. Whole numbers have no subnormals, so only zero, normal numbers and overflow occur. */
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

/* Sizes are known here, so that each store is one or two instructions. */
static inline void put_small(kvc_dtype dtype, int value, unsigned char *out) {
    switch (dtype) {
    case KVC_FLOAT32:
        memset(out, 0, 2);
        memcpy(out + 2, high_bytes[KVC_FLOAT32][value], 2);
        break;
    case KVC_FLOAT16:
    case KVC_BFLOAT16:
        memcpy(out, high_bytes[dtype][value], 2);
        break;
    case KVC_FLOAT64:
        memset(out, 0, 6);
        memcpy(out + 6, high_bytes[KVC_FLOAT64][value], 2);
        break;
    case KVC_INT64:
        memset(out, 0, 8);
        out[0] = (unsigned char)value;
        break;
    }
}

void kvc_value_row(kvc_dtype dtype, int salt, int32_t token, int row, int head, int channels, void *out) {
    unsigned char *at = out;
    size_t size = kvc_dtype_size(dtype);
    int digits[8] = {0, 0, 0, 0, 0, 0, row % 7, head % 7};
    int shift = 3 * salt % 7;
    for (int place = 0; token > 0 && place <= 5; place++, token /= 7) {
        digits[place] = token % 7;
    }
    for (int channel = 0; channel < channels; channel++, at += size) {
        int digit = digits[channel % 8] + shift;
        put_small(dtype, 1 + (digit >= 7 ? digit - 7 : digit), at);
        shift = shift >= 2 ? shift - 2 : shift + 5;
    }
}

void kvc_value_store(kvc_dtype dtype, int64_t value, void *out) {
    uint64_t bits = 0;
    double wide = (double)value;
    if (value >= 0 && value <= 7) {
        put_small(dtype, (int)value, out);
        return;
    }
    switch (dtype) {
    case KVC_FLOAT32:
        bits = float_bits((float)value);
        break;
    case KVC_FLOAT16:
        bits = half_from_float((float)value);
        break;
    case KVC_BFLOAT16:
        bits = brain_from_float((float)value);
        break;
    case KVC_FLOAT64:
        memcpy(&bits, &wide, sizeof bits);
        break;
    case KVC_INT64:
        bits = (uint64_t)value;
        break;
    }
    put_bytes(bits, kvc_dtype_size(dtype), out);
}

int kvc_value_load(kvc_dtype dtype, const void *in, int64_t *value) {
    uint64_t bits = get_bytes(in, kvc_dtype_size(dtype));
    double number = 0;
    switch (dtype) {
    case KVC_FLOAT32:
        number = (double)float_from_bits((uint32_t)bits);
        break;
    case KVC_FLOAT16:
        number = half_to_double((uint16_t)bits);
        break;
    case KVC_BFLOAT16:
        number = (double)float_from_bits((uint32_t)bits << 16);
        break;
    case KVC_FLOAT64:
        memcpy(&number, &bits, sizeof number);
        break;
    case KVC_INT64:
        memcpy(value, &bits, sizeof *value);
        return 1;
    }
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
