/* The value formula: what is written is read again, in every type and at any place. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "reference/values.h"

enum { CHANNELS = 8 };

static uint32_t take(const uint8_t *data, size_t size, size_t at)
{
    uint32_t number = 0;

    for (size_t byte = at; byte < at + 4; byte++)
        number = number << 8 | (byte < size ? data[byte] : 0u);
    return number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int salt = (int)(take(data, size, 0) % 7);
    int32_t token = (int32_t)(take(data, size, 4) % KVC_TOKENS_MAX);
    int row = (int)(take(data, size, 8) % 7);
    int head = (int)(take(data, size, 12) % 7);
    int32_t fold = kvc_value_fold((int32_t)(take(data, size, 16) % KVC_TOKENS_MAX), token);
    int64_t value[CHANNELS];
    int64_t any[CHANNELS];
    int32_t found_token;
    int found_row;
    int found_head;

    KVC_MUST(fold >= 0 && fold < KVC_TOKENS_MAX);
    for (int channel = 0; channel < CHANNELS; channel++) {
        value[channel] = kvc_value(salt, token, row, head, channel);
        KVC_MUST(value[channel] >= 1 && value[channel] <= 7);
        for (int dtype = 0; dtype < KVC_DTYPES; dtype++) {
            uint8_t bytes[16];
            int64_t again = 0;
            kvc_value_store((kvc_dtype)dtype, value[channel], bytes + channel);
            KVC_MUST(kvc_value_load((kvc_dtype)dtype, bytes + channel, &again) == 1 && again == value[channel]);
        }
    }
    KVC_MUST(kvc_value_decode(salt, value, CHANNELS, &found_token, &found_row, &found_head) == 1);
    KVC_MUST(found_token == token && found_row == row && found_head == head);
    for (int dtype = 0; dtype < KVC_INT64; dtype++) {
        uint8_t row_bytes[KVC_LEVEL_CHANNELS * 8];
        int level[KVC_LEVEL_CHANNELS];
        size_t width = kvc_dtype_size((kvc_dtype)dtype);
        kvc_value_row(KVC_TWO_LEVELS, (kvc_dtype)dtype, salt, token, row, head, KVC_LEVEL_CHANNELS, row_bytes);
        for (size_t channel = 0; channel < KVC_LEVEL_CHANNELS; channel++)
            level[channel] = kvc_value_near((kvc_dtype)dtype, row_bytes + channel * width);
        KVC_MUST(kvc_value_decode_levels(salt, level, &found_token, &found_row, &found_head) == 1);
        KVC_MUST(found_token == token && found_row == row && found_head == head);
        for (size_t channel = 0; channel < KVC_LEVEL_CHANNELS; channel++)
            level[channel] = (int)(take(data, size, channel) % 3) - 1;
        if (kvc_value_decode_levels(salt, level, &found_token, &found_row, &found_head)) {
            for (int channel = 0; channel < KVC_LEVEL_CHANNELS; channel++)
                KVC_MUST(kvc_value_level(salt, found_token, found_row, found_head, channel) ==
                         (level[channel] == 1 ? KVC_AMPLITUDE : -KVC_AMPLITUDE));
        }
    }
    /* Any bytes are read as a whole number, or as none; what is decoded of them belongs to the formula. */
    for (int dtype = 0; dtype < KVC_DTYPES; dtype++) {
        size_t width = kvc_dtype_size((kvc_dtype)dtype);
        for (size_t at = 0; at + width <= size; at++) {
            int64_t number;
            if (kvc_value_load((kvc_dtype)dtype, data + at, &number) && number >= -256 && number <= 256) {
                uint8_t bytes[16];
                int64_t again;
                kvc_value_store((kvc_dtype)dtype, number, bytes);
                KVC_MUST(kvc_value_load((kvc_dtype)dtype, bytes, &again) == 1 && again == number);
            }
        }
    }
    for (int channel = 0; channel < CHANNELS; channel++)
        any[channel] = (int64_t)((uint64_t)take(data, size, (size_t)channel) << 32 | take(data, size, (size_t)channel + 3));
    if (kvc_value_decode(salt, any, CHANNELS, &found_token, &found_row, &found_head)) {
        for (int channel = 0; channel < CHANNELS; channel++)
            KVC_MUST(any[channel] == kvc_value(salt, found_token, found_row, found_head, channel));
    }
    return 0;
}
