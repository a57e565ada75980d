/*
 * Reading JSON that may hold anything: bounded size and depth, typed fields, errors that name file, field and
 * expectation. All functions return 1 on success and 0 with *error set.
 */
#ifndef KVC_REFERENCE_JSON_H
#define KVC_REFERENCE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "reference/error.h"

enum { KVC_JSON_DEPTH_MAX = 32 };

/* Parses `length` bytes. `name` is used in errors. The caller frees *out with cJSON_Delete. */
int kvc_json_parse(const char *text, size_t length, const char *name, cJSON **out, kvc_error *error);
/* Reads a file of at most `limit` bytes. */
int kvc_json_read_file(const char *path, size_t limit, cJSON **out, kvc_error *error);
/*
 * Looks at brackets, commas and quotation marks only, before anything is parsed or allocated: a small text can otherwise ask for a lot
 * of memory or stack. Returns where it nests deeper than `depth_max` (*is_deep: 1) or has more than `values_max` values (0), or
 * `length`.
 */
size_t kvc_json_excess(const char *text, size_t length, size_t depth_max, size_t values_max, int *is_deep);
/* Whether a file of this name is taken for one of JSON: hidden ones are not. */
int kvc_json_is_name(const char *name);
/* Reads a file ("-": standard input) of at most `limit` bytes into a NUL-ended buffer that the caller frees. */
int kvc_file_read(const char *path, size_t limit, char **out, size_t *length, kvc_error *error);

/* Field `field` of `object` as text of less than `size` bytes without control characters. */
int kvc_json_text(const cJSON *object, const char *name, const char *field, char *out, size_t size, kvc_error *error);
/* As kvc_json_text; absent gives "". */
int kvc_json_text_optional(const cJSON *object, const char *name, const char *field, char *out, size_t size,
                           kvc_error *error);
/* A whole number from minimum to maximum. */
int kvc_json_integer(const cJSON *item, const char *name, const char *field, int64_t minimum, int64_t maximum,
                     int64_t *out, kvc_error *error);
/* Field `field` as an array of at most `limit` entries. */
int kvc_json_array(const cJSON *object, const char *name, const char *field, int limit, const cJSON **out,
                   kvc_error *error);
/* Every field of `object` is one of the NULL-ended `known`, and none stands twice. */
int kvc_json_known_fields(const cJSON *object, const char *name, const char *where, const char *const *known,
                          kvc_error *error);
/* Text is printable, without control characters. */
int kvc_text_is_plain(const char *text);

#endif
