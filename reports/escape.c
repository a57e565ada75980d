/*
 * The escapes of reports/text.h. All of them read foreign text through one decoder, so that none can forget a mark.
 */
#include "reports/text.h"

#include <string.h>

/* One character of foreign text. */
typedef struct kvc_character {
    uint32_t code; /* Unicode scalar value, or the byte when `valid` is 0 */
    size_t size;   /* in bytes */
    int valid;     /* 0: a byte that is not UTF-8 */
} kvc_character;

/* Decodes strictly: no overlong forms, no surrogates, nothing above U+10FFFF. `string` is not at its end. */
static kvc_character next_character(const char *string)
{
    const unsigned char *bytes = (const unsigned char *)string;
    kvc_character broken = {bytes[0], 1, 0};
    if (bytes[0] < 0x80) {
        return (kvc_character){bytes[0], 1, 1};
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = 0;
    uint32_t code = 0;
    if (bytes[0] >= 0xC2 && bytes[0] <= 0xDF) {
        size = 2;
        code = bytes[0] & 0x1FU;
    } else if ((bytes[0] & 0xF0U) == 0xE0) {
        size = 3;
        code = bytes[0] & 0x0FU;
    } else if (bytes[0] >= 0xF0 && bytes[0] <= 0xF4) {
        size = 4;
        code = bytes[0] & 0x07U;
    } else {
        return broken;
    }
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0U) != 0x80) { /* also stops at the final NUL */
            return broken;
        }
        code = (code << 6) | (bytes[i] & 0x3FU);
    }
    if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        return broken;
    }
    return (kvc_character){code, size, 1};
}

/* 1 for what a reader would not see as it is: controls, and marks that reorder, join or hide text. */
static int is_hidden(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
        {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},   {0x3164, 0x3164},
        {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (code >= hidden[i].first && code <= hidden[i].last) {
            return 1;
        }
    }
    return 0;
}

/* Adds the visible form of what must not be shown as it is. Returns 1 if it did, 0 if the character is harmless. */
static int add_visible(kvc_text *text, kvc_character character, kvc_lines lines)
{
    if (!character.valid) {
        kvc_text_add_format(text, "\\x%02x", (unsigned)character.code);
        return 1;
    }
    if (character.code == '\n' || character.code == '\t') {
        if (lines == KVC_LINES_KEEP) {
            return 0;
        }
        kvc_text_add(text, character.code == '\n' ? "\\n" : "\\t");
        return 1;
    }
    if (character.code == '\r') {
        kvc_text_add(text, "\\r");
        return 1;
    }
    if (!is_hidden(character.code)) {
        return 0;
    }
    if (character.code < 0x100) {
        kvc_text_add_format(text, "\\x%02x", (unsigned)character.code);
    } else if (character.code < 0x10000) {
        kvc_text_add_format(text, "\\u%04x", (unsigned)character.code);
    } else {
        kvc_text_add_format(text, "\\U%08x", (unsigned)character.code);
    }
    return 1;
}

void kvc_text_add_html(kvc_text *text, const char *string, kvc_lines lines)
{
    kvc_text_add_html_short(text, string, lines, SIZE_MAX);
}

void kvc_text_add_html_short(kvc_text *text, const char *string, kvc_lines lines, size_t most)
{
    for (const char *at = string; at != NULL && *at != '\0';) {
        if ((size_t)(at - string) >= most) {
            kvc_text_add(text, "…");
            return;
        }
        kvc_character character = next_character(at);
        if (!add_visible(text, character, lines)) {
            switch (character.code) {
            case '&':
                kvc_text_add(text, "&amp;");
                break;
            case '<':
                kvc_text_add(text, "&lt;");
                break;
            case '>':
                kvc_text_add(text, "&gt;");
                break;
            case '"':
                kvc_text_add(text, "&quot;");
                break;
            case '\'':
                kvc_text_add(text, "&#39;");
                break;
            default:
                kvc_text_add_bytes(text, at, character.size);
                break;
            }
        }
        at += character.size;
    }
}

static int is_word(unsigned char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte >= 0x80;
}

void kvc_text_add_markdown(kvc_text *text, const char *string)
{
    kvc_text visible = {0};
    kvc_text_add_terminal(&visible, string, KVC_LINES_SHOW);
    const char *start = kvc_text_string(&visible);
    for (const char *at = start; *at != '\0'; at++) {
        unsigned char after = (unsigned char)at[1];
        int inside = at > start && is_word((unsigned char)at[-1]) && is_word(after);
        if (*at == '&') {
            kvc_text_add(text, "&amp;");
        } else if (*at == '<') {
            kvc_text_add(text, "&lt;");
        } else if (*at == '>') {
            kvc_text_add(text, "&gt;");
        } else if ((*at == '@' || *at == '#') && is_word(after)) {
            /* A comment parts the sign from its name, or a forge would notify people and link issues. */
            kvc_text_add_format(text, "%c<!-- -->", *at);
        } else if (*at == '_' && inside) {
            kvc_text_add_char(text, '_', 1); /* no emphasis inside a word */
        } else if (strchr("\\`*_[]|~$!", *at) != NULL) {
            kvc_text_add_format(text, "\\%c", *at);
        } else {
            kvc_text_add_char(text, *at, 1);
        }
    }
    text->failed |= visible.failed;
    kvc_text_free(&visible);
}

void kvc_text_add_markdown_html(kvc_text *text, const char *string, size_t most)
{
    kvc_text escaped = {0};
    kvc_text_add_html_short(&escaped, string, KVC_LINES_SHOW, most);
    for (const char *at = kvc_text_string(&escaped); *at != '\0'; at++) {
        kvc_text_add_char(text, *at, 1);
        /* The sign of an entity is not the beginning of a name. */
        if ((*at == '@' || (*at == '#' && (at == escaped.data || at[-1] != '&'))) && is_word((unsigned char)at[1])) {
            kvc_text_add(text, "<!-- -->");
        }
    }
    text->failed |= escaped.failed;
    kvc_text_free(&escaped);
}

/* Length of the longest run of backticks. */
static size_t longest_fence(const char *string)
{
    size_t longest = 0;
    size_t run = 0;
    for (; *string != '\0'; string++) {
        run = *string == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

void kvc_text_add_markdown_code(kvc_text *text, const char *string)
{
    kvc_text visible = {0};
    kvc_text_add_terminal(&visible, string, KVC_LINES_SHOW);
    const char *shown = kvc_text_string(&visible);
    if (*shown == '\0') {
        kvc_text_add(text, "(empty)");
    } else if (strpbrk(shown, "`|") == NULL && shown[0] != ' ' && shown[visible.length - 1] != ' ') {
        kvc_text_add_format(text, "`%s`", shown);
    } else {
        /* Bars end a table cell even in a code span, and readers disagree about escaping them there. */
        kvc_text_add(text, "<code>");
        for (; *shown != '\0'; shown++) {
            if (is_word((unsigned char)*shown) || *shown == ' ') {
                kvc_text_add_char(text, *shown, 1);
            } else {
                kvc_text_add_format(text, "&#%d;", *shown);
            }
        }
        kvc_text_add(text, "</code>");
    }
    text->failed |= visible.failed;
    kvc_text_free(&visible);
}

void kvc_text_add_markdown_block(kvc_text *text, const char *string, const char *language)
{
    kvc_text visible = {0};
    kvc_text_add_terminal(&visible, string, KVC_LINES_KEEP);
    const char *shown = kvc_text_string(&visible);
    size_t fence = longest_fence(shown) + 1;
    fence = fence < 3 ? 3 : fence;
    kvc_text_add_char(text, '`', fence);
    kvc_text_add_format(text, "%s\n", language);
    kvc_text_add(text, shown);
    if (visible.length == 0 || shown[visible.length - 1] != '\n') {
        kvc_text_add_char(text, '\n', 1);
    }
    kvc_text_add_char(text, '`', fence);
    kvc_text_add_char(text, '\n', 1);
    text->failed |= visible.failed;
    kvc_text_free(&visible);
}

void kvc_text_add_terminal(kvc_text *text, const char *string, kvc_lines lines)
{
    for (const char *at = string; at != NULL && *at != '\0';) {
        kvc_character character = next_character(at);
        if (!add_visible(text, character, lines)) {
            kvc_text_add_bytes(text, at, character.size);
        }
        at += character.size;
    }
}

void kvc_text_add_terminal_short(kvc_text *text, const char *string, size_t columns)
{
    size_t shown = 0;
    for (const char *at = string; at != NULL && *at != '\0'; shown++) {
        if (shown == columns) {
            kvc_text_add(text, "…");
            return;
        }
        kvc_character character = next_character(at);
        if (!add_visible(text, character, KVC_LINES_SHOW)) {
            kvc_text_add_bytes(text, at, character.size);
        }
        at += character.size;
    }
}
