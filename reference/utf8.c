#include "reference/utf8.h"

#include <string.h>

/* Bytes of the character at the front, 0 when there is none. Strict: no overlong forms, no surrogates. */
static size_t character_size(const unsigned char *byte, size_t length)
{
    size_t size = byte[0] < 0x80 ? 1 : byte[0] < 0xC2 ? 0 : byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : byte[0] < 0xF5 ? 4 : 0;

    if (size > length)
        return 0;
    for (size_t at = 1; at < size; at++) {
        if ((byte[at] & 0xC0) != 0x80)
            return 0;
    }
    if ((byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xED && byte[1] > 0x9F) || (byte[0] == 0xF0 && byte[1] < 0x90) ||
        (byte[0] == 0xF4 && byte[1] > 0x8F))
        return 0;
    return size;
}

size_t kvc_utf8_valid(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t size = character_size((const unsigned char *)text + at, length - at);
        if (size == 0)
            break;
        at += size;
    }
    return at;
}

void kvc_utf8_repair(char *text)
{
    size_t length = strlen(text);
    size_t at = kvc_utf8_valid(text, length);

    while (at < length) {
        text[at++] = '?';
        at += kvc_utf8_valid(text + at, length - at);
    }
}
