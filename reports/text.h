/*
 * A growing string, and the escapes that make foreign text safe to show.
 *
 * Foreign text is whatever a subject, an adapter or a file said: error messages, names, scripts. In every escape below
 * control characters, escape sequences, marks that reorder or hide text, and bytes that are not UTF-8 become visible as
 * `\x1b`, `\u202e` or `\xff`.
 *
 * A failure (out of memory, or more than KVC_TEXT_MAX bytes) is remembered: later additions do nothing, so a writer
 * may add without looking and check `failed` once at its end.
 */
#ifndef KVC_REPORTS_TEXT_H
#define KVC_REPORTS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define KVC_TEXT_MAX ((size_t)1 << 30) /* bytes; a report above this is a mistake */

#if defined(__GNUC__)
#define KVC_TEXT_FORMAT(string, first) __attribute__((format(printf, string, first)))
#else
#define KVC_TEXT_FORMAT(string, first)
#endif

/* All zero is an empty text. `data` is NULL or a string of `length` bytes and a NUL, owned by the text. */
typedef struct kvc_text {
    char *data;
    size_t length;
    size_t capacity;
    int failed; /* 1: something could not be added, the text is not complete */
} kvc_text;

/* What happens to line ends and tabs inside foreign text. */
typedef enum kvc_lines {
    KVC_LINES_SHOW = 0, /* become a visible `\n` and `\t`: the text stays on one line */
    KVC_LINES_KEEP      /* stay: for blocks of text such as a script */
} kvc_lines;

/* Frees what the text holds and makes it empty. */
void kvc_text_free(kvc_text *text);
/* The string, never NULL. Valid until the next addition. */
const char *kvc_text_string(const kvc_text *text);

/* Adds `string` as it is; NULL adds nothing. */
void kvc_text_add(kvc_text *text, const char *string);
void kvc_text_add_bytes(kvc_text *text, const char *bytes, size_t count);
void kvc_text_add_char(kvc_text *text, char byte, size_t times);
void kvc_text_add_format(kvc_text *text, const char *format, ...) KVC_TEXT_FORMAT(2, 3);
/* Adds a number with a comma between groups of three digits: 12,345. */
void kvc_text_add_count(kvc_text *text, uint64_t count);

/* For element content and for attribute values between quotation marks. */
void kvc_text_add_html(kvc_text *text, const char *string, kvc_lines lines);
/* The same, cut after about `most` bytes with an ellipsis. */
void kvc_text_add_html_short(kvc_text *text, const char *string, kvc_lines lines, size_t most);
/* For running Markdown text on one line: no markup, no links, no mentions. */
void kvc_text_add_markdown(kvc_text *text, const char *string);
/* For HTML inside Markdown, cut after about `most` bytes: as kvc_text_add_html on one line, and no mentions. */
void kvc_text_add_markdown_html(kvc_text *text, const char *string, size_t most);
/* A Markdown code span on one line, also safe inside a table cell. */
void kvc_text_add_markdown_code(kvc_text *text, const char *string);
/* A fenced Markdown code block, whose fence is longer than any in `string`. `language` is ours, or "". */
void kvc_text_add_markdown_block(kvc_text *text, const char *string, const char *language);
/* For a terminal: plain text with nothing that a terminal would act on. */
void kvc_text_add_terminal(kvc_text *text, const char *string, kvc_lines lines);
/* As above on one line, cut after `columns` characters with an ellipsis. */
void kvc_text_add_terminal_short(kvc_text *text, const char *string, size_t columns);

#endif
