#include "reports/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kvc_text_free(kvc_text *text)
{
    free(text->data);
    *text = (kvc_text){0};
}

const char *kvc_text_string(const kvc_text *text)
{
    return text->data != NULL ? text->data : "";
}

/* Makes room for `more` bytes and the NUL. Returns 0, or -1 and marks the text. */
static int reserve(kvc_text *text, size_t more)
{
    if (text->failed) {
        return -1;
    }
    if (more >= KVC_TEXT_MAX || text->length >= KVC_TEXT_MAX - more) {
        text->failed = 1;
        return -1;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity) {
        return 0;
    }
    size_t capacity = text->capacity > 0 ? text->capacity : 256;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *data = realloc(text->data, capacity);
    if (data == NULL) {
        text->failed = 1;
        return -1;
    }
    text->data = data;
    text->capacity = capacity;
    return 0;
}

void kvc_text_add_bytes(kvc_text *text, const char *bytes, size_t count)
{
    if (count == 0 || reserve(text, count) != 0) {
        return;
    }
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void kvc_text_add(kvc_text *text, const char *string)
{
    if (string != NULL) {
        kvc_text_add_bytes(text, string, strlen(string));
    }
}

void kvc_text_add_char(kvc_text *text, char byte, size_t times)
{
    if (times == 0 || reserve(text, times) != 0) {
        return;
    }
    memset(text->data + text->length, byte, times);
    text->length += times;
    text->data[text->length] = '\0';
}

void kvc_text_add_format(kvc_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->failed = 1;
        return;
    }
    if (reserve(text, (size_t)length) != 0) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void kvc_text_add_count(kvc_text *text, uint64_t count)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            kvc_text_add_char(text, ',', 1);
        }
        kvc_text_add_char(text, digits[i], 1);
    }
}
