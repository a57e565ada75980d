#include "reference/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "reference/utf8.h"

void kvc_error_set(kvc_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    /* One line only: a text from a file may hold anything. */
    for (char *at = error->text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f)
            *at = ' ';
    }
    kvc_utf8_repair(error->text);
}
