#include "reference/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/utf8.h"

size_t kvc_json_excess(const char *text, size_t length, size_t depth_max, size_t values_max, int *is_deep)
{
    size_t depth = 0;
    size_t values = 1;
    int in_string = 0;

    for (size_t at = 0; at < length; at++) {
        char byte = text[at];
        if (in_string) {
            if (byte == '\\')
                at++;
            else if (byte == '"')
                in_string = 0;
            continue;
        }
        in_string = byte == '"';
        depth += byte == '[' || byte == '{';
        depth -= (byte == ']' || byte == '}') && depth > 0;
        values += byte == '[' || byte == '{' || byte == ',';
        *is_deep = depth > depth_max;
        if (*is_deep || values > values_max)
            return at;
    }
    return length;
}

int kvc_json_is_name(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".json") == 0;
}

int kvc_json_parse(const char *text, size_t length, const char *name, cJSON **out, kvc_error *error)
{
    const char *end = NULL;
    cJSON *json;
    int is_deep;

    *out = NULL;
    if (memchr(text, '\0', length) != NULL) {
        kvc_error_set(error, "%s: holds a zero byte, expected JSON text", name);
        return 0;
    }
    if (kvc_utf8_valid(text, length) < length) {
        kvc_error_set(error, "%s: not UTF-8 at byte %zu", name, kvc_utf8_valid(text, length));
        return 0;
    }
    if (kvc_json_excess(text, length, KVC_JSON_DEPTH_MAX, SIZE_MAX, &is_deep) < length) {
        kvc_error_set(error, "%s: nested deeper than %d levels, expected a flatter document", name,
                      KVC_JSON_DEPTH_MAX);
        return 0;
    }
    json = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    if (json == NULL) {
        size_t at = end != NULL && end >= text ? (size_t)(end - text) : 0;
        kvc_error_set(error, "%s: not valid JSON at byte %zu", name, at);
        return 0;
    }
    for (; end != NULL && (size_t)(end - text) < length; end++) {
        if (strchr(" \t\r\n", *end) == NULL) {
            kvc_error_set(error, "%s: text after the end of the JSON document at byte %zu", name,
                          (size_t)(end - text));
            cJSON_Delete(json);
            return 0;
        }
    }
    *out = json;
    return 1;
}

int kvc_file_read(const char *path, size_t limit, char **out, size_t *length, kvc_error *error)
{
    int standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    FILE *file = standard ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t used = 0;
    size_t room = 4096;

    *out = NULL;
    if (file == NULL) {
        kvc_error_set(error, "%s: cannot be opened: %s", name, strerror(errno));
        return 0;
    }
    for (;;) {
        char *larger = realloc(text, room + 1);
        size_t got;
        if (larger == NULL) {
            kvc_error_set(error, "%s: not enough memory to read it", name);
            break;
        }
        text = larger;
        errno = 0;
        got = fread(text + used, 1, room - used, file);
        used += got;
        if (used > limit) {
            kvc_error_set(error, "%s: larger than %zu bytes", name, limit);
            break;
        }
        if (got == 0) {
            if (ferror(file)) {
                kvc_error_set(error, "%s: cannot be read: %s", name, errno != 0 ? strerror(errno) : "read error");
                break;
            }
            text[used] = '\0';
            if (!standard)
                (void)fclose(file);
            *out = text;
            *length = used;
            return 1;
        }
        if (used == room)
            room *= 2;
    }
    free(text);
    if (!standard)
        (void)fclose(file);
    return 0;
}

int kvc_json_read_file(const char *path, size_t limit, cJSON **out, kvc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    int good;

    *out = NULL;
    if (!kvc_file_read(path, limit, &text, &length, error))
        return 0;
    good = kvc_json_parse(text, length, path, out, error);
    free(text);
    return good;
}

int kvc_text_is_plain(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f)
            return 0;
    }
    return 1;
}

int kvc_json_text_optional(const cJSON *object, const char *name, const char *field, char *out, size_t size,
                           kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    out[0] = '\0';
    if (item == NULL)
        return 1;
    if (!cJSON_IsString(item) || item->valuestring == NULL) {
        kvc_error_set(error, "%s: field \"%s\": expected a text", name, field);
        return 0;
    }
    if (strlen(item->valuestring) >= size) {
        kvc_error_set(error, "%s: field \"%s\": text of %zu bytes, expected fewer than %zu", name, field,
                      strlen(item->valuestring), size);
        return 0;
    }
    if (!kvc_text_is_plain(item->valuestring)) {
        kvc_error_set(error, "%s: field \"%s\": holds control characters", name, field);
        return 0;
    }
    memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    return 1;
}

int kvc_json_text(const cJSON *object, const char *name, const char *field, char *out, size_t size, kvc_error *error)
{
    if (!kvc_json_text_optional(object, name, field, out, size, error))
        return 0;
    if (out[0] == '\0') {
        kvc_error_set(error, "%s: field \"%s\" is missing or empty, expected a text", name, field);
        return 0;
    }
    return 1;
}

int kvc_json_integer(const cJSON *item, const char *name, const char *field, int64_t minimum, int64_t maximum,
                     int64_t *out, kvc_error *error)
{
    double value;

    if (!cJSON_IsNumber(item)) {
        kvc_error_set(error, "%s: field \"%s\": expected a whole number from %lld to %lld", name, field,
                      (long long)minimum, (long long)maximum);
        return 0;
    }
    value = item->valuedouble;
    /* NaN fails every comparison, so the test is written for what is good. */
    if (!(value >= (double)minimum && value <= (double)maximum && floor(value) == value)) {
        kvc_error_set(error, "%s: field \"%s\": %g, expected a whole number from %lld to %lld", name, field, value,
                      (long long)minimum, (long long)maximum);
        return 0;
    }
    *out = (int64_t)value;
    return 1;
}

int kvc_json_array(const cJSON *object, const char *name, const char *field, int limit, const cJSON **out,
                   kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) > limit) {
        kvc_error_set(error, "%s: field \"%s\": expected an array of at most %d entries", name, field, limit);
        return 0;
    }
    *out = item;
    return 1;
}

int kvc_json_known_fields(const cJSON *object, const char *name, const char *where, const char *const *known,
                          kvc_error *error)
{
    if (!cJSON_IsObject(object)) {
        kvc_error_set(error, "%s: %s: expected an object", name, where);
        return 0;
    }
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        size_t at = 0;
        while (known[at] != NULL && strcmp(known[at], item->string) != 0)
            at++;
        if (known[at] == NULL) {
            kvc_error_set(error, "%s: %s: unknown field \"%.60s\"", name, where, item->string);
            return 0;
        }
        for (const cJSON *other = item->next; other != NULL; other = other->next) {
            if (strcmp(other->string, item->string) == 0) {
                kvc_error_set(error, "%s: %s: field \"%.60s\" stands twice", name, where, item->string);
                return 0;
            }
        }
    }
    return 1;
}
