#include "reports/check_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reports/result.h"

int kvc_check_fail(const kvc_check *check, const char *name, const char *format, ...)
{
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)snprintf(check->error, check->error_size, "%s%s%s: %s", check->length > 0 ? check->path : "",
                   check->length > 0 && name != NULL ? "." : "",
                   name != NULL        ? name
                   : check->length > 0 ? ""
                                       : "result",
                   message);
    return -1;
}

size_t kvc_check_enter(kvc_check *check, const char *format, ...)
{
    size_t before = check->length;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(check->path + before, sizeof check->path - before, format, arguments);
    va_end(arguments);
    if (length > 0) {
        size_t room = sizeof check->path - before - 1;
        check->length = before + ((size_t)length < room ? (size_t)length : room);
    }
    return before;
}

void kvc_check_leave(kvc_check *check, size_t before)
{
    check->length = before;
    check->path[before] = '\0';
}

const char *kvc_check_kind(const cJSON *value)
{
    return value == NULL           ? "nothing"
           : cJSON_IsString(value) ? "a string"
           : cJSON_IsNumber(value) ? "a number"
           : cJSON_IsBool(value)   ? "true or false"
           : cJSON_IsNull(value)   ? "null"
           : cJSON_IsArray(value)  ? "a list"
                                   : "an object";
}

int kvc_check_field(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int type, const char *expected,
                    const cJSON **out)
{
    *out = cJSON_GetObjectItemCaseSensitive(object, name);
    if (*out == NULL && need == KVC_OPTIONAL) {
        return 0;
    }
    if (*out == NULL || ((*out)->type & type) == 0) {
        return kvc_check_fail(check, name, "expected %s, found %s", expected, kvc_check_kind(*out));
    }
    return 1;
}

int kvc_check_string(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, size_t least, size_t most)
{
    const cJSON *value = NULL;
    int found = kvc_check_field(check, object, name, need, cJSON_String, "a string", &value);
    if (found == 1) {
        size_t length = strlen(value->valuestring);
        if (length < least) {
            return kvc_check_fail(check, name, "expected a string that is not empty");
        }
        if (length > most) {
            return kvc_check_fail(check, name, "a string of %zu bytes, the limit is %zu", length, most);
        }
    }
    return found;
}

int kvc_check_name(const kvc_check *check, const cJSON *object, const char *name)
{
    return kvc_check_string(check, object, name, KVC_REQUIRED, 1, KVC_RESULT_WORD_MAX);
}

int kvc_check_is_integer(const cJSON *value, double least, double most)
{
    return cJSON_IsNumber(value) && value->valuedouble >= least && value->valuedouble <= most &&
           floor(value->valuedouble) == value->valuedouble;
}

int kvc_check_count(const kvc_check *check, const cJSON *object, const char *name, kvc_need need)
{
    const cJSON *value = NULL;
    int found = kvc_check_field(check, object, name, need, cJSON_Number, "a whole number from 0", &value);
    if (found == 1 && !kvc_check_is_integer(value, 0, KVC_LARGEST_INTEGER)) {
        return kvc_check_fail(check, name, "expected a whole number from 0");
    }
    return found;
}

int kvc_check_bool(const kvc_check *check, const cJSON *object, const char *name, kvc_need need)
{
    const cJSON *value = NULL;
    return kvc_check_field(check, object, name, need, cJSON_True | cJSON_False, "true or false", &value);
}

int kvc_check_word(const kvc_check *check, const cJSON *object, const char *name, const char *const *words)
{
    const cJSON *value = NULL;
    char list[128] = "";
    if (kvc_check_field(check, object, name, KVC_REQUIRED, cJSON_String, "a string", &value) < 0) {
        return -1;
    }
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], value->valuestring) == 0) {
            return 1;
        }
        size_t length = strlen(list);
        (void)snprintf(list + length, sizeof list - length, "%s`%s`", i > 0 ? ", " : "", words[i]);
    }
    return kvc_check_fail(check, name, "expected one of %s", list);
}

int kvc_check_seed(const kvc_check *check, const cJSON *object, kvc_need need)
{
    static const char largest[] = "18446744073709551615";
    int found = kvc_check_string(check, object, "seed", need, 1, KVC_RESULT_WORD_MAX);
    if (found == 1) {
        const char *digits = cJSON_GetObjectItemCaseSensitive(object, "seed")->valuestring;
        size_t length = strlen(digits);
        if (strspn(digits, "0123456789") != length || length > 20 || (length > 1 && digits[0] == '0') ||
            (length == 20 && strcmp(digits, largest) > 0)) {
            return kvc_check_fail(check, "seed", "expected a number from 0 to %s as a string of digits", largest);
        }
    }
    return found;
}

int kvc_check_list(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int most, const cJSON **out)
{
    int found = kvc_check_field(check, object, name, need, cJSON_Array, "a list", out);
    if (found == 1 && cJSON_GetArraySize(*out) > most) {
        return kvc_check_fail(check, name, "a list of more than %d entries", most);
    }
    return found;
}

int kvc_check_words(const kvc_check *check, const cJSON *object, const char *name, kvc_need need)
{
    const cJSON *list = NULL;
    const cJSON *entry = NULL;
    int found = kvc_check_list(check, object, name, need, 10000, &list);
    if (found == 1) {
        cJSON_ArrayForEach (entry, list) {
            if (!cJSON_IsString(entry) || strlen(entry->valuestring) > KVC_RESULT_TEXT_MAX) {
                return kvc_check_fail(check, name, "expected a list of strings, found %s in it", kvc_check_kind(entry));
            }
        }
    }
    return found;
}

int kvc_check_table(const kvc_check *check, const cJSON *object, const char *name, kvc_need need, int numbers)
{
    const cJSON *table = NULL;
    const cJSON *entry = NULL;
    int found = kvc_check_field(check, object, name, need, cJSON_Object, "an object", &table);
    if (found == 1) {
        cJSON_ArrayForEach (entry, table) {
            int number = numbers && cJSON_IsNumber(entry) && isfinite(entry->valuedouble);
            if (!number && !cJSON_IsString(entry)) {
                return kvc_check_fail(check, name, "expected %s for `%.60s`, found %s",
                                      numbers ? "a number or a string" : "a string", entry->string, kvc_check_kind(entry));
            }
        }
    }
    return found;
}
