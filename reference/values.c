#include "reference/values.h"

#include <math.h>
#include <string.h>

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

/* Elements of a size that the compiler knows; `row` and `head` are their values less 1 in the first eight channels. */
static inline void move_lane(const unsigned char bytes[8][8], size_t size, int row, int head, int channels, unsigned char *cell) {
    int fresh = channels < KVC_PERIOD_CHANNELS ? channels : KVC_PERIOD_CHANNELS;
    for (int channel = 6; channel < fresh; channel += 8) {
        memcpy(cell + (size_t)channel * size, bytes[1 + row], size);
        if (channel + 1 < fresh) {
            memcpy(cell + (size_t)(channel + 1) * size, bytes[1 + head], size);
        }
        row = row >= 2 ? row - 2 : row + 5; /* 5 * 8 % 7 is 5 */
        head = head >= 2 ? head - 2 : head + 5;
    }
    if (fresh < channels) {
        kvc_value_repeat(size, channels, cell);
    }
}

void kvc_value_move(kvc_dtype dtype, int salt, int row, int head, int channels, void *cell) {
    const unsigned char(*bytes)[8] = kvc_value_table(dtype);
    int of_row = (row % 7 + 3 * salt + 5 * 6) % 7;
    int of_head = (head % 7 + 3 * salt + 5 * 7) % 7;
    switch (kvc_dtype_size(dtype)) {
    case 2:
        move_lane(bytes, 2, of_row, of_head, channels, cell);
        break;
    case 4:
        move_lane(bytes, 4, of_row, of_head, channels, cell);
        break;
    default:
        move_lane(bytes, 8, of_row, of_head, channels, cell);
        break;
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
        kvc_value_put(kvc_value_bytes(dtype, (unsigned)value), kvc_dtype_size(dtype), out);
    } else if (dtype == KVC_INT64) {
        kvc_value_put_integer(value, out);
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
    return *token < KVC_TOKENS_MAX && *row < 7 && *head < 7 && kvc_value_level_bits(salt, *token, *row, *head) == bits;
}
