/* Reading JSON that may hold anything. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reference/json.h"

static void refuse(const char *text, size_t length, const char *word) {
    cJSON *json = NULL;
    kvc_error error = {""};
    cr_expect_not(kvc_json_parse(text, length, "some.json", &json, &error), "%s", text);
    cr_expect_null(json);
    cr_expect_eq(strncmp(error.text, "some.json: ", 11), 0, "%s", error.text);
    cr_expect_not_null(strstr(error.text, word), "%s: no \"%s\" in \"%s\"", text, word, error.text);
    cr_expect_null(strchr(error.text, '\n'));
}

static cJSON *parse(const char *text) {
    cJSON *json = NULL;
    kvc_error error = {""};
    cr_assert(kvc_json_parse(text, strlen(text), "some.json", &json, &error), "%s", error.text);
    return json;
}

Test(json, good_documents) {
    cJSON_Delete(parse("{}"));
    cJSON_Delete(parse(" [1, 2.5, -3, \"a\\\"[[\", null, true] \r\n\t "));
    cJSON_Delete(parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""));
}

Test(json, damaged_documents) {
    static const char *const texts[] = {"", " ", "{", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "nul", "NaN", "-", "\"\\", "\"abc", "'a'"};
    for (size_t at = 0; at < sizeof texts / sizeof texts[0]; at++) {
        refuse(texts[at], strlen(texts[at]), "not valid JSON");
    }
}

Test(json, a_length_shorter_than_the_text) {
    cJSON *json = NULL;
    kvc_error error = {""};
    /* Exactly as many bytes as are given may be read: the rest of this buffer is not ours. */
    char *bytes = malloc(4);
    cr_assert_not_null(bytes);
    memcpy(bytes, "[12]", 4);
    cr_expect(kvc_json_parse(bytes, 4, "some.json", &json, &error));
    cJSON_Delete(json);
    cr_expect_not(kvc_json_parse(bytes, 3, "some.json", &json, &error));
    free(bytes);
}

Test(json, zero_bytes) {
    refuse("{\"a\": \"b\0c\"}", 12, "zero byte");
    refuse("[1]\0", 4, "zero byte");
}

Test(json, not_utf8) {
    refuse("[\"\xff\"]", 5, "not UTF-8");
    refuse("[\"\xc3\"]", 5, "not UTF-8");
    refuse("[\"\xed\xa0\x80\"]", 7, "not UTF-8");
    refuse("[\"\xc0\x80\"]", 6, "not UTF-8");
    cJSON_Delete(parse("[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]"));
}

Test(json, text_after_the_end) {
    refuse("{} {}", 5, "after the end");
    refuse("[1] x", 5, "after the end");
    refuse("1,", 2, "after the end");
}

Test(json, depth) {
    char text[256];
    cJSON *json = NULL;
    kvc_error error = {""};
    memset(text, '[', 32);
    memset(text + 32, ']', 32);
    cr_expect(kvc_json_parse(text, 64, "some.json", &json, &error), "%s", error.text);
    cJSON_Delete(json);
    memset(text, '[', 33);
    memset(text + 33, ']', 33);
    refuse(text, 66, "deeper than 32");
    memset(text, '{', sizeof text);
    refuse(text, sizeof text, "deeper than 32");
    /* An escaped quotation mark does not end a text. */
    cJSON_Delete(parse("\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""));
}

Test(json, whole_numbers) {
    static const struct {
        const char *text;
        int good;
        int64_t number;
    } table[] = {{"0", 1, 0},      {"7", 1, 7},     {"-3", 1, -3},        {"7.0", 1, 7},      {"1e1", 0, 0},     {"8", 0, 0},
                 {"-4", 0, 0},     {"2.5", 0, 0},   {"1e999", 0, 0},      {"-1e999", 0, 0},   {"1e-400", 1, 0},  {"\"7\"", 0, 0},
                 {"null", 0, 0},   {"true", 0, 0},  {"[1]", 0, 0},        {"{}", 0, 0},       {"1e18", 0, 0},
                 {"7.00000001", 0, 0}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        cJSON *json = parse(table[at].text);
        kvc_error error = {""};
        int64_t out = 99;
        int good = kvc_json_integer(json, "some.json", "size", -3, 7, &out, &error);
        cr_expect_eq(good, table[at].good, "%s: %s", table[at].text, error.text);
        if (good) {
            cr_expect_eq(out, table[at].number, "%s", table[at].text);
        } else {
            cr_expect_eq(out, 99);
            cr_expect_not_null(strstr(error.text, "some.json: field \"size\": "), "%s", error.text);
            cr_expect_not_null(strstr(error.text, "-3 to 7"), "%s", error.text);
        }
        cJSON_Delete(json);
    }
}

Test(json, no_number) {
    kvc_error error = {""};
    int64_t out = 0;
    cJSON *nan = cJSON_CreateNumber(NAN);
    cr_expect_not(kvc_json_integer(NULL, "some.json", "size", 0, 7, &out, &error));
    cr_assert_not_null(nan);
    cr_expect_not(kvc_json_integer(nan, "some.json", "size", INT64_MIN, INT64_MAX, &out, &error));
    cJSON_Delete(nan);
}

Test(json, texts) {
    cJSON *json = parse("{\"word\": \"abc\", \"empty\": \"\", \"number\": 3, \"line\": \"a\\nb\", \"rubout\": \"a\\u007f\", \"umlaut\": \"\\u00e4\"}");
    kvc_error error = {""};
    char out[4];
    cr_expect(kvc_json_text(json, "some.json", "word", out, sizeof out, &error));
    cr_expect_str_eq(out, "abc");
    cr_expect_not(kvc_json_text(json, "some.json", "word", out, 3, &error));
    cr_expect_not_null(strstr(error.text, "some.json: field \"word\""), "%s", error.text);
    cr_expect_not(kvc_json_text(json, "some.json", "empty", out, sizeof out, &error));
    cr_expect_not(kvc_json_text(json, "some.json", "nothing", out, sizeof out, &error));
    cr_expect_not_null(strstr(error.text, "\"nothing\" is missing"), "%s", error.text);
    cr_expect(kvc_json_text_optional(json, "some.json", "nothing", out, sizeof out, &error));
    cr_expect_str_eq(out, "");
    cr_expect_not(kvc_json_text_optional(json, "some.json", "number", out, sizeof out, &error));
    cr_expect_not_null(strstr(error.text, "expected a text"), "%s", error.text);
    cr_expect_not(kvc_json_text(json, "some.json", "line", out, sizeof out, &error));
    cr_expect_not_null(strstr(error.text, "control characters"), "%s", error.text);
    cr_expect_not(kvc_json_text(json, "some.json", "rubout", out, sizeof out, &error));
    cr_expect(kvc_json_text(json, "some.json", "umlaut", out, sizeof out, &error));
    cJSON_Delete(json);
}

Test(json, arrays) {
    cJSON *json = parse("{\"list\": [1, 2], \"object\": {}}");
    kvc_error error = {""};
    const cJSON *list = NULL;
    cr_expect(kvc_json_array(json, "some.json", "list", 2, &list, &error));
    cr_expect_eq(cJSON_GetArraySize(list), 2);
    cr_expect_not(kvc_json_array(json, "some.json", "list", 1, &list, &error));
    cr_expect_not_null(strstr(error.text, "at most 1"), "%s", error.text);
    cr_expect_not(kvc_json_array(json, "some.json", "object", 2, &list, &error));
    cr_expect_not(kvc_json_array(json, "some.json", "nothing", 2, &list, &error));
    cJSON_Delete(json);
}

Test(json, known_fields) {
    static const char *const known[] = {"a", "b", NULL};
    static const struct {
        const char *text;
        const char *word; /* NULL: good */
    } table[] = {{"{\"b\": 1, \"a\": 2}", NULL},
                 {"{}", NULL},
                 {"{\"a\": 1, \"b\": 2, \"a\": 1}", "\"a\" stands twice"},
                 {"{\"A\": 1}", "unknown field \"A\""},
                 {"[1]", "expected an object"},
                 {"3", "expected an object"}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        cJSON *json = parse(table[at].text);
        kvc_error error = {""};
        cr_expect_eq(kvc_json_known_fields(json, "some.json", "case", known, &error), table[at].word == NULL);
        if (table[at].word != NULL) {
            cr_expect_not_null(strstr(error.text, table[at].word), "%s", error.text);
        }
        cJSON_Delete(json);
    }
}

Test(json, files) {
    char path[] = "kvconform-json-XXXXXX";
    int file = mkstemp(path);
    kvc_error error = {""};
    char *text = NULL;
    size_t length = 0;
    cJSON *json = NULL;
    char bytes[5000];
    cr_assert_geq(file, 0);
    memset(bytes, ' ', sizeof bytes);
    bytes[0] = '[';
    bytes[sizeof bytes - 1] = ']';
    cr_assert_eq(write(file, bytes, sizeof bytes), (ssize_t)sizeof bytes);
    cr_expect(kvc_file_read(path, sizeof bytes, &text, &length, &error), "%s", error.text);
    cr_expect_eq(length, sizeof bytes);
    cr_expect_eq(text[length], '\0');
    free(text);
    cr_expect_not(kvc_file_read(path, sizeof bytes - 1, &text, &length, &error));
    cr_expect_null(text);
    cr_expect_not_null(strstr(error.text, "larger than 4999"), "%s", error.text);
    cr_expect(kvc_json_read_file(path, sizeof bytes, &json, &error), "%s", error.text);
    cJSON_Delete(json);
    cr_expect_eq(close(file), 0);
    cr_expect_eq(unlink(path), 0);
    cr_expect_not(kvc_json_read_file(path, sizeof bytes, &json, &error));
    cr_expect_not_null(strstr(error.text, path), "%s", error.text);
    cr_expect_not(kvc_file_read("/", 100, &text, &length, &error), "a folder");
    cr_expect_not_null(strstr(error.text, "cannot be read"), "%s", error.text);
}

Test(json, errors_are_one_line) {
    kvc_error error;
    char longer[900];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    kvc_error_set(&error, "a\nb\tc\x7f%s", longer);
    cr_expect_eq(strncmp(error.text, "a b c xxx", 9), 0, "%.20s", error.text);
    cr_expect_lt(strlen(error.text), sizeof error.text);
}
