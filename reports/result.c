#include "reports/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/json.h"
#include "reference/utf8.h"
#include "reports/file.h"

/* Number of the line in which text[offset] stands, from 1. */
static size_t line_of(const char *text, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++) {
        line += text[i] == '\n';
    }
    return line;
}

static int bound_document(const char *name, const char *text, size_t size, char *error, size_t error_size)
{
    const char *zero = memchr(text, '\0', size);
    int is_deep;
    size_t at = kvc_json_excess(text, size, KVC_RESULT_DEPTH_MAX, KVC_RESULT_VALUES_MAX, &is_deep);
    if (zero != NULL && (size_t)(zero - text) < at) {
        (void)snprintf(error, error_size, "%s:%zu: a zero byte, expected JSON text", name, line_of(text, (size_t)(zero - text)));
        return -1;
    }
    if (at == size) {
        return 0;
    }
    if (is_deep) {
        (void)snprintf(error, error_size, "%s:%zu: nested deeper than %d", name, line_of(text, at), (int)KVC_RESULT_DEPTH_MAX);
    } else {
        (void)snprintf(error, error_size, "%s: more than %d values", name, (int)KVC_RESULT_VALUES_MAX);
    }
    return -1;
}

/* Lets a result that has no `finished` pass as one that was interrupted. */
static int forgive(cJSON *result)
{
    cJSON *finished;

    if (!cJSON_IsObject(result) || cJSON_GetObjectItemCaseSensitive(result, "finished") != NULL) {
        return 1;
    }
    finished = cJSON_AddObjectToObject(result, "finished");
    return finished != NULL && cJSON_AddTrueToObject(finished, "interrupted") != NULL &&
           cJSON_AddStringToObject(finished, "at", "unknown") != NULL;
}

/* How much is asked of a document. */
typedef enum strictness { WHOLE = 0, UNFINISHED, UNCHECKED } strictness;

static int parse(const char *name, const char *text, size_t size, strictness how, cJSON **out, char *error, size_t error_size)
{
    char reason[512];
    const char *end = text;
    *out = NULL;
    if (size > KVC_RESULT_BYTES_MAX) {
        (void)snprintf(error, error_size, "%s: larger than the limit of %zu bytes", name, KVC_RESULT_BYTES_MAX);
        return -1;
    }
    if (bound_document(name, text, size, error, error_size) != 0) {
        return -1;
    }
    cJSON *result = cJSON_ParseWithLengthOpts(text, size + 1, &end, 1);
    if (result == NULL) {
        size_t offset = end >= text && end <= text + size ? (size_t)(end - text) : 0;
        (void)snprintf(error, error_size, "%s:%zu: not JSON, or cut short; expected a result as kvconform run writes it", name, line_of(text, offset));
        return -1;
    }
    if (how == UNFINISHED && !forgive(result)) {
        (void)snprintf(error, error_size, "%s: not enough memory", name);
        cJSON_Delete(result);
        return -1;
    }
    if (how != UNCHECKED && kvc_result_check(result, reason, sizeof reason) != 0) {
        (void)snprintf(error, error_size, "%s: %s", name, reason);
        cJSON_Delete(result);
        return -1;
    }
    *out = result;
    return 0;
}

int kvc_result_parse(const char *name, const char *text, size_t size, cJSON **out, char *error, size_t error_size)
{
    return parse(name, text, size, WHOLE, out, error, error_size);
}

static int read_file(const char *path, strictness how, cJSON **out, char *error, size_t error_size)
{
    char *text = NULL;
    size_t size = 0;
    kvc_error reason;
    *out = NULL;
    if (!kvc_file_read(path, KVC_RESULT_BYTES_MAX, &text, &size, &reason)) {
        (void)snprintf(error, error_size, "%s", reason.text);
        return -1;
    }
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    int result = parse(name, text, size, how, out, error, error_size);
    free(text);
    return result;
}

int kvc_result_read_file(const char *path, cJSON **out, char *error, size_t error_size)
{
    return read_file(path, WHOLE, out, error, error_size);
}

int kvc_result_read_unfinished(const char *path, cJSON **out, char *error, size_t error_size)
{
    return read_file(path, UNFINISHED, out, error, error_size);
}

int kvc_result_read_unchecked(const char *path, cJSON **out, char *error, size_t error_size)
{
    return read_file(path, UNCHECKED, out, error, error_size);
}

char *kvc_result_print(const cJSON *json, size_t *length)
{
    char *text = cJSON_Print(json);
    if (text == NULL) {
        return NULL;
    }
    *length = strlen(text) + 1;
    kvc_utf8_repair(text);   /* a command line may hold any bytes */
    text[*length - 1] = '\n'; /* in place of the NUL, which nothing needs any more */
    return text;
}

int kvc_result_write_file(const char *path, const cJSON *result, char *error, size_t error_size)
{
    size_t length = 0;
    char *text = kvc_result_print(result, &length);
    if (text == NULL) {
        (void)snprintf(error, error_size, "%s: not enough memory to write the result", path);
        return -1;
    }
    int written = kvc_report_file_write(path, text, length, error, error_size);
    cJSON_free(text);
    return written;
}
