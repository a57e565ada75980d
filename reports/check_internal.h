/*
 * Judging one field of a JSON document, private to reports/. An error is one sentence that begins with the path of the
 * field: `runs[3].findings[0].case.ops[1]: expected ...`.
 */
#ifndef KVC_REPORTS_CHECK_INTERNAL_H
#define KVC_REPORTS_CHECK_INTERNAL_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "reports/text.h"

#define KVC_LARGEST_INTEGER 9007199254740991.0 /* 2^53 - 1: exact in every JSON reader */

/* Where the judge stands. All zero but for `error` and its size at the start. */
typedef struct kvc_check {
    char path[256];
    size_t length;
    char *error;
    size_t error_size;
} kvc_check;

typedef enum kvc_need { KVC_OPTIONAL = 0, KVC_REQUIRED } kvc_need;

/* Writes `path.name: message`; `name` may be NULL. Returns -1. */
int kvc_check_fail(const kvc_check *check, const char *name, const char *format, ...) KVC_TEXT_FORMAT(3, 4);
/* Adds to the path; returns what kvc_check_leave needs to take it away again. A path that is too long is cut. */
size_t kvc_check_enter(kvc_check *check, const char *format, ...) KVC_TEXT_FORMAT(2, 3);
void kvc_check_leave(kvc_check *check, size_t before);

/* What a value is, for errors: "a list". NULL is "nothing". */
const char *kvc_check_kind(const cJSON *value);
/* 1 when `value` is a whole number from `least` to `most`. */
int kvc_check_is_integer(const cJSON *value, double least, double most);

/* Each of the rest looks at a field of `object`. It returns 1 when it is there and good, 0 when it may be missing and is, or -1.
 */

/* `type` is one or more of cJSON's types, `expected` its words for an error. */
int kvc_check_field(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int type, const char *expected,
                    const cJSON **out);
/* A string of `least` to `most` bytes. */
int kvc_check_string(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, size_t least, size_t most);
/* A required string of 1 to KVC_RESULT_WORD_MAX bytes. */
int kvc_check_name(const kvc_check *check, const cJSON *object, const char *name);
/* A whole number from 0 to KVC_LARGEST_INTEGER. */
int kvc_check_count(const kvc_check *check, const cJSON *object, const char *name, kvc_need need);
int kvc_check_bool(const kvc_check *check, const cJSON *object, const char *name, kvc_need need);
/* One of a NULL-ended list. */
int kvc_check_word(const kvc_check *check, const cJSON *object, const char *name, const char *const *words);
/* The field `seed`, a 64-bit number as decimal digits: JSON numbers lose digits beyond 2^53. */
int kvc_check_seed(const kvc_check *check, const cJSON *object, kvc_need need);
/* A list of at most `most` entries. */
int kvc_check_list(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int most, const cJSON **out);
/* A list of strings. */
int kvc_check_words(const kvc_check *check, const cJSON *object, const char *name, kvc_need need);
/* An object whose values are strings, or numbers where `numbers` is 1. */
int kvc_check_table(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int numbers);

#endif
