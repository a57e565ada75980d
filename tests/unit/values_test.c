/* The value formula, parameters and ops against numbers worked out by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "reference/op.h"
#include "reference/params.h"
#include "reference/values.h"

Test(values, first_token) {
    static const int expected[9] = {1, 6, 4, 2, 7, 5, 3, 1, 6};
    for (int channel = 0; channel < 9; channel++) {
        cr_expect_eq(kvc_value(0, 0, 0, 0, channel), expected[channel], "channel %d", channel);
    }
}

Test(values, digits_of_the_token) {
    cr_expect_eq(kvc_value(0, 8, 0, 0, 0), 2);
    cr_expect_eq(kvc_value(0, 8, 0, 0, 1), 7);
    cr_expect_eq(kvc_value(0, 8, 0, 0, 2), 4);
    cr_expect_eq(kvc_value(0, 117648, 0, 0, 0), 7);
    cr_expect_eq(kvc_value(0, 117648, 0, 0, 1), 5);
    cr_expect_eq(kvc_value(0, 7, 0, 0, 9), 5);
}

Test(values, salt_row_and_head) {
    cr_expect_eq(kvc_value(1, 0, 0, 0, 0), 4);
    cr_expect_eq(kvc_value(6, 0, 0, 0, 0), 5);
    cr_expect_eq(kvc_value(0, 0, 2, 0, 6), 5);
    cr_expect_eq(kvc_value(0, 0, 0, 1, 7), 2);
    cr_expect_eq(kvc_value(0, 0, 7, 0, 6), kvc_value(0, 0, 0, 0, 6));
    cr_expect_eq(kvc_value_integer(3, 2, 1), 209);
}

Test(values, fold) {
    int32_t fold = kvc_value_fold(0, 0);
    cr_expect_eq(fold, 1);
    fold = kvc_value_fold(fold, 1);
    cr_expect_eq(fold, 33);
    cr_expect_eq(kvc_value_fold(fold, 2), 1026);
    cr_expect_eq(kvc_value_fold(117648, 117648), (31 * 117648 + 117649) % 117649);
}

static void expect_bytes(kvc_dtype dtype, int64_t value, uint64_t bits) {
    unsigned char out[9];
    memset(out, 0xaa, sizeof out);
    kvc_value_store(dtype, value, out + 1);
    for (size_t i = 0; i < kvc_dtype_size(dtype); i++) {
        cr_expect_eq(out[1 + i], (unsigned char)(bits >> (8 * i)), "%s %lld byte %zu", kvc_dtype_name(dtype),
                     (long long)value, i);
    }
}

Test(values, stored_bits) {
    expect_bytes(KVC_FLOAT32, 5, 0x40a00000u);
    expect_bytes(KVC_FLOAT16, 5, 0x4500u);
    expect_bytes(KVC_FLOAT16, 0, 0);
    expect_bytes(KVC_FLOAT16, -1, 0xbc00u);
    expect_bytes(KVC_FLOAT16, 2049, 0x6800u);
    expect_bytes(KVC_FLOAT16, 2051, 0x6802u);
    expect_bytes(KVC_FLOAT16, 65504, 0x7bffu);
    expect_bytes(KVC_FLOAT16, 65520, 0x7c00u);
    expect_bytes(KVC_FLOAT16, 1000000, 0x7c00u);
    expect_bytes(KVC_BFLOAT16, 5, 0x40a0u);
    expect_bytes(KVC_BFLOAT16, 257, 0x4380u);
    expect_bytes(KVC_FLOAT64, 5, 0x4014000000000000u);
    expect_bytes(KVC_INT64, -2, 0xfffffffffffffffeu);
}

Test(values, round_trip) {
    for (int dtype = 0; dtype < KVC_DTYPES; dtype++) {
        for (int64_t value = -256; value <= 256; value++) {
            unsigned char bytes[8];
            int64_t read = 999;
            kvc_value_store((kvc_dtype)dtype, value, bytes);
            cr_assert(kvc_value_load((kvc_dtype)dtype, bytes, &read));
            cr_assert_eq(read, value);
        }
    }
}

static int loads(float number) {
    int64_t value;
    return kvc_value_load(KVC_FLOAT32, &number, &value);
}

Test(values, no_whole_number) {
    static const unsigned char half_infinity[2] = {0x00, 0x7c};
    static const unsigned char half_nan[2] = {0x01, 0x7c};
    static const unsigned char half_smallest[2] = {0x01, 0x00};
    int64_t value = 0;
    double large = 9223372036854775808.0;
    cr_expect(loads(3.0F));
    cr_expect(loads(-0.0F));
    cr_expect_not(loads(0.5F));
    cr_expect_not(loads(NAN));
    cr_expect_not(loads(INFINITY));
    cr_expect_not(loads(-INFINITY));
    cr_expect_not(kvc_value_load(KVC_FLOAT16, half_infinity, &value));
    cr_expect_not(kvc_value_load(KVC_FLOAT16, half_nan, &value));
    cr_expect_not(kvc_value_load(KVC_FLOAT16, half_smallest, &value));
    cr_expect_not(kvc_value_load(KVC_FLOAT64, &large, &value));
}

Test(values, decode) {
    static const int32_t tokens[] = {0, 1, 6, 7, 48, 2400, 100000, 117648};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        for (int salt = 0; salt < 7; salt++) {
            int64_t values[11];
            int32_t token = -1;
            int row = -1;
            int head = -1;
            for (int channel = 0; channel < 11; channel++) {
                values[channel] = kvc_value(salt, tokens[i], 3, 2, channel);
            }
            cr_assert(kvc_value_decode(salt, values, 11, &token, &row, &head));
            cr_expect_eq(token, tokens[i]);
            cr_expect_eq(row, 3);
            cr_expect_eq(head, 2);
            cr_expect_not(kvc_value_decode(salt, values, 7, &token, &row, &head));
            values[9] = 1 + values[9] % 7;
            cr_expect_not(kvc_value_decode(salt, values, 11, &token, &row, &head));
            values[0] = 0;
            cr_expect_not(kvc_value_decode(salt, values, 8, &token, &row, &head));
        }
    }
}

/* Token 5, row 2, head 1, salt 1, by hand: data bits 0 and 2 (token), 18 (row), 20 (head), 23 (salt), 26 (their parity, odd). */
Test(values, two_levels) {
    uint32_t have = 0;
    for (int channel = 0; channel < 32; channel++) {
        int value = kvc_value_level(1, 5, 2, 1, channel);
        cr_expect(value == 4 || value == -4);
        have |= (uint32_t)(value == 4) << channel;
        cr_expect_eq(kvc_value_level(1, 5, 2, 1, channel + 32), -value);
    }
    cr_expect_eq(have, 0xa4d08005u, "%x", have);
}

static int decode(const void *bytes, kvc_dtype dtype, int salt, int32_t *token, int *row, int *head) {
    int level[KVC_LEVEL_CHANNELS];
    for (size_t channel = 0; channel < KVC_LEVEL_CHANNELS; channel++) {
        level[channel] = kvc_value_near(dtype, (const unsigned char *)bytes + channel * kvc_dtype_size(dtype));
    }
    return kvc_value_decode_levels(salt, level, token, row, head);
}

Test(values, decode_levels) {
    static const int32_t tokens[] = {0, 1, 6, 7, 48, 2400, 21845, 100000, 117648};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        for (int salt = 0; salt < 7; salt++) {
            unsigned char half[64];
            double wide[32];
            int32_t token = -1;
            int row = -1;
            int head = -1;
            kvc_value_row(KVC_TWO_LEVELS, KVC_FLOAT16, salt, tokens[i], 6, 2, 32, half);
            cr_assert(decode(half, KVC_FLOAT16, salt, &token, &row, &head));
            cr_expect(token == tokens[i] && row == 6 && head == 2);
            cr_expect_not(decode(half, KVC_FLOAT16, (salt + 1) % 7, &token, &row, &head), "another tensor's");
            kvc_value_row(KVC_TWO_LEVELS, KVC_FLOAT64, salt, tokens[i], 6, 2, 32, wide);
            for (int channel = 0; channel < 32; channel += 8) {
                int both = 0;
                for (int at = channel; at < channel + 8; at++) {
                    both |= wide[at] > 0 ? 1 : 2;
                }
                cr_expect_eq(both, 3, "any eight channels hold both levels");
            }
            for (int channel = 0; channel < 32; channel++) {
                wide[channel] = -wide[channel];
                cr_expect_not(decode(wide, KVC_FLOAT64, salt, &token, &row, &head), "one wrong element");
                wide[channel] *= -0.9;
                cr_expect_not(decode(wide, KVC_FLOAT64, salt, &token, &row, &head), "one wrong scale");
                wide[channel] /= 0.9;
            }
        }
    }
}

Test(values, near_a_level) {
    static const struct {
        double number;
        int level;
    } cases[] = {{4, 1}, {-4, 0}, {4.25, 1}, {3.75, 1}, {-4.25, 0}, {-3.75, 0}, {4.26, -1}, {3.74, -1}, {-3.74, -1}, {0, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(kvc_value_near(KVC_FLOAT64, &cases[i].number), cases[i].level, "%g", cases[i].number);
    }
    double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(kvc_value_near(KVC_FLOAT64, &odd[i]), -1);
    }
    const float have[] = {4.1F, -3.9F, 4.0F};
    const float want[] = {4.0F, -4.0F, -4.0F};
    cr_expect(kvc_value_agree(KVC_FLOAT32, have, want, 2));
    cr_expect_not(kvc_value_agree(KVC_FLOAT32, have, want, 3));
}

Test(values, written_fractions) {
    unsigned char out[8];
    float back;
    kvc_value_write(KVC_FLOAT32, 4.1, out);
    memcpy(&back, out, sizeof back);
    cr_expect_float_eq(back, 4.1F, 1e-7F);
    kvc_value_write(KVC_FLOAT16, -4.0009765625, out);
    cr_expect_eq(out[0] | out[1] << 8, 0xc400);
    kvc_value_write(KVC_BFLOAT16, 4.1, out);
    cr_expect_eq(out[0] | out[1] << 8, 0x4083);
}

Test(params, table) {
    kvc_params params = kvc_params_standard();
    for (int i = 0; i < KVC_PARAMS; i++) {
        const kvc_param_info *info = &kvc_param_table()[i];
        cr_expect_eq(info->offset, (size_t)i * sizeof(int32_t), "the order of the struct");
        cr_expect_eq(kvc_param_find(info->name), i);
        cr_expect_eq(kvc_param_get(&params, i), info->standard);
        cr_expect(info->minimum <= info->standard && info->standard <= info->maximum);
        if (info->words != NULL) {
            int words = 0;
            while (info->words[words] != NULL) {
                words++;
            }
            cr_expect_eq(words, info->maximum + 1);
        }
        kvc_param_set(&params, i, 77);
        cr_expect_eq(kvc_param_get(&params, i), 77);
    }
    cr_expect_eq(params.layers, 77);
    cr_expect_eq(kvc_param_find("depth"), -1);
}

Test(params, dtypes) {
    static const size_t sizes[KVC_DTYPES] = {4, 2, 2, 8, 8};
    kvc_dtype dtype = KVC_FLOAT32;
    for (int i = 0; i < KVC_DTYPES; i++) {
        cr_expect(kvc_dtype_parse(kvc_dtype_name((kvc_dtype)i), &dtype));
        cr_expect_eq((int)dtype, i);
        cr_expect_eq(kvc_dtype_size(dtype), sizes[i]);
    }
    cr_expect_not(kvc_dtype_parse("float8", &dtype));
}

Test(op, names) {
    kvc_op_kind kind = KVC_APPEND;
    for (int i = 0; i < KVC_OP_KINDS; i++) {
        cr_expect(kvc_op_parse_name(kvc_op_name((kvc_op_kind)i), &kind));
        cr_expect_eq((int)kind, i);
    }
    cr_expect_not(kvc_op_parse_name("crops", &kind));
}

Test(op, order) {
    const kvc_op append_two = {.kind = KVC_APPEND, .n = 2};
    const kvc_op crop_one = {.kind = KVC_CROP, .n = -1};
    const kvc_op crop_plus = {.kind = KVC_CROP, .n = 1};
    const kvc_op crop_two = {.kind = KVC_CROP, .n = -2};
    const kvc_op reset = {.kind = KVC_RESET};
    const kvc_op swap = {.kind = KVC_REORDER, .count = 2, .rows = {1, 0}};
    const kvc_op same = {.kind = KVC_REORDER, .count = 2, .rows = {0, 1}};
    const kvc_op two[] = {append_two, crop_one};
    const kvc_op heavy[] = {append_two, crop_two};
    cr_expect_lt(kvc_op_compare(&append_two, &crop_one), 0);
    cr_expect_lt(kvc_op_compare(&crop_one, &crop_plus), 0);
    cr_expect_lt(kvc_op_compare(&crop_plus, &crop_two), 0);
    cr_expect_gt(kvc_op_compare(&swap, &same), 0);
    cr_expect_eq(kvc_op_compare(&swap, &swap), 0);
    cr_expect_eq(kvc_op_weight(&crop_two), 2);
    cr_expect_eq(kvc_op_weight(&reset), 1);
    cr_expect_eq(kvc_op_weight(&(kvc_op){.kind = KVC_CROP, .n = INT32_MIN}), 2147483648);
    cr_expect_lt(kvc_ops_compare(&crop_two, 1, two, 2), 0);
    cr_expect_lt(kvc_ops_compare(two, 2, heavy, 2), 0);
    cr_expect_eq(kvc_ops_compare(two, 2, two, 2), 0);
}

Test(op, format) {
    char text[64];
    cr_expect_eq(kvc_op_format(&(kvc_op){.kind = KVC_APPEND, .n = 3}, text, sizeof text), 8);
    cr_expect_str_eq(text, "append 3");
    (void)kvc_op_format(&(kvc_op){.kind = KVC_CROP, .n = -5}, text, sizeof text);
    cr_expect_str_eq(text, "crop -5");
    (void)kvc_op_format(&(kvc_op){.kind = KVC_RESET}, text, sizeof text);
    cr_expect_str_eq(text, "reset");
    (void)kvc_op_format(&(kvc_op){.kind = KVC_REORDER, .count = 3, .rows = {1, 0, 2}}, text, sizeof text);
    cr_expect_str_eq(text, "reorder [1, 0, 2]");
    cr_expect_eq(kvc_op_format(&(kvc_op){.kind = KVC_SELECT, .count = 1, .rows = {4}}, text, 4), 10);
    cr_expect_str_eq(text, "sel");
}

/* Whole rows, of more channels than two periods too, and rows moved to another row and head, are what the formula says element by element. */
Test(values, whole_rows) {
    static const int32_t numbers[] = {0, 6, 7, 48, 49, 12345, KVC_TOKENS_MAX - 1};
    for (int dtype = 0; dtype < KVC_DTYPES; dtype++) {
        size_t size = kvc_dtype_size((kvc_dtype)dtype);
        for (int salt = 0; salt < 7; salt++) {
            for (int channels = 1; channels <= 131; channels += 5) {
                for (size_t at = 0; at < sizeof numbers / sizeof numbers[0]; at++) {
                    unsigned char row[131 * 8 + 1];
                    unsigned char moved[131 * 8 + 1];
                    row[(size_t)channels * size] = 0xaa;
                    kvc_value_row(KVC_DIGITS, (kvc_dtype)dtype, salt, numbers[at], 5, 1, channels, row);
                    cr_assert_eq(row[(size_t)channels * size], 0xaa);
                    kvc_value_row(KVC_DIGITS, (kvc_dtype)dtype, salt, numbers[at], 0, 0, channels, moved);
                    moved[(size_t)channels * size] = 0xaa;
                    kvc_value_move((kvc_dtype)dtype, salt, 5, 1, channels, moved);
                    cr_assert_arr_eq(moved, row, (size_t)channels * size + 1);
                    for (int channel = 0; channel < channels; channel++) {
                        unsigned char element[8];
                        kvc_value_store((kvc_dtype)dtype, kvc_value(salt, numbers[at], 5, 1, channel), element);
                        cr_assert_arr_eq(row + (size_t)channel * size, element, size);
                    }
                }
            }
        }
    }
}
