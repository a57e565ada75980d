/* The adapter protocol: requests as they are written, and replies that may hold anything. */
#include "tests/unit/support.h"

#include "harness/protocol.h"
#include "reference/check.h"
#include "reference/json.h"

/* A batch of the document's example: [append 3, crop -5] and [append 1] on keys and values of eight channels. */
typedef struct scene {
    tiny *subject;
    kvc_sequence sequence[2];
    kvc_batch batch;
    kvc_reply_table table;
} scene;

static scene *begin(void) {
    scene *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    s->subject = tiny_open(KEYS("all", RETURNED("all")) "," VALUES("all", RETURNED("all")), RULE("crop", "remove"));
    tiny_plan(s->subject);
    s->sequence[0] = (kvc_sequence){2, {{.kind = KVC_APPEND, .n = 3}, {.kind = KVC_CROP, .n = -5}}};
    s->sequence[1] = (kvc_sequence){1, {{.kind = KVC_APPEND, .n = 1}}};
    s->batch = (kvc_batch){&s->subject->plan, 2, s->sequence, NULL, NULL, 0};
    return s;
}

static void end(scene *s) {
    kvc_reply_table_clear(&s->table);
    tiny_close(s->subject);
    free(s);
}

static const char good_reply[] =
    "{\"id\": 7, \"tensors\": [[\"keys\", \"float32\", [1, 1, 3, 8]], [\"returned.keys\", \"float32\", [1, 1, 3, 8]], "
    "[\"values\", \"float16\", [1, 1, 0, 8]], [\"counter\", \"int64\", []]], \"errors\": [[\"ValueError\", \"no\"]],"
    "\"results\": [[[0, [3], [[3, 0]], [3], null, [0, [1, 0], 2], -1], [1, [null], [], [null], 1, [3], 0]],"
    "[[0, [1], [null], [1], 0, [2, 3], -1, [4096, 0]]]], \"bytes\": 112}";

/* Parses a copy of the text. */
static int parse(const char *text, size_t length, int64_t id, cJSON **json, char **results, kvc_error *error) {
    char *line = malloc(length + 1);
    kvc_said said;
    int good;
    cr_assert_not_null(line);
    memcpy(line, text, length);
    line[length] = '\0';
    good = kvc_reply_parse(line, length, id, json, results, &said, error);
    free(line);
    return good;
}

static void open_reply(scene *s, const char *text, kvc_reply *reply) {
    cJSON *json = NULL;
    char *results = NULL;
    kvc_error error = {""};
    cr_assert(parse(text, strlen(text), 7, &json, &results, &error), "%s", error.text);
    cr_assert(kvc_reply_open(json, results, &s->batch, &s->table, reply, &error), "%s", error.text);
}

Test(protocol, good_reply) {
    scene *s = begin();
    kvc_reply reply;
    open_reply(s, good_reply, &reply);
    kvc_observation *seen = calloc(1, sizeof *seen);
    uint8_t *data = malloc(reply.bytes);
    kvc_error error = {""};
    cr_assert(seen != NULL && data != NULL);
    for (size_t at = 0; at < reply.bytes; at++) {
        data[at] = (uint8_t)at;
    }
    cr_expect_eq(reply.bytes, (size_t)112);
    cr_expect_eq(s->table.count, 4);
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_expect_eq(reply.sequence, (size_t)0);
    cr_expect_eq(reply.step, 0);
    cr_expect_eq(seen->outcome, 0);
    cr_expect_eq(seen->layers, 1);
    cr_expect_eq(seen->length[0], 3);
    cr_expect_eq(seen->length[1], KVC_ABSENT);
    cr_expect_eq(seen->mask_length[0], 3);
    cr_expect_eq(seen->mask_offset[0], 0);
    cr_expect_eq(seen->position[0], 3);
    cr_expect_eq(seen->claim, -1);
    cr_expect_str_eq(seen->error_kind, "");
    cr_assert_eq(seen->tensors, 3);
    cr_expect_str_eq(seen->tensor[0].name, "keys");
    cr_expect_eq(seen->tensor[0].data, (const void *)data);
    cr_expect_eq(seen->tensor[1].data, (const void *)data, "it shares the bytes");
    cr_expect_str_eq(seen->tensor[1].name, "returned.keys");
    cr_expect_eq(seen->tensor[2].dtype, KVC_FLOAT16);
    cr_expect_eq(seen->tensor[2].shape[2], 0);
    cr_expect_eq(reply.used, (size_t)96);
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_expect_eq(reply.step, 1);
    cr_expect_eq(seen->outcome, 1);
    cr_expect_eq(seen->length[0], KVC_ABSENT);
    cr_expect_eq(seen->mask_length[0], KVC_ABSENT);
    cr_expect_eq(seen->claim, 1);
    cr_expect_str_eq(seen->error_kind, "ValueError");
    cr_expect_str_eq(seen->error_text, "no");
    cr_expect_eq(seen->tensor[0].dims, 0);
    cr_expect_eq(seen->tensor[0].data, (const void *)(data + 96));
    cr_expect_eq(reply.used, (size_t)104);
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_expect_eq(reply.sequence, (size_t)1);
    cr_expect_eq(seen->claim, 0);
    cr_expect_eq(seen->tensor[0].address, (uint64_t)4096);
    cr_expect_eq(seen->tensor[1].address, (uint64_t)0);
    cr_expect_eq(reply.used, reply.bytes);
    cr_expect_eq(kvc_reply_next(&reply, data, seen, &error), 0, "%s", error.text);
    free(data);
    free(seen);
    kvc_reply_clear(&reply);
    end(s);
}

static int read_all(scene *s, const char *text, kvc_error *error);

/* A second reply of the same process: it knows the tensors of the first, and says what is as it was in the step before. */
Test(protocol, what_is_known) {
    static const char text[] =
        " {\"bytes\":104,\"results\" : [ [ [0, [3.0],[],[30e-1],null,[0,3],-1], [0,[3],[],[3],null,[4,[0,-1],[3,-1]],-1] ],"
        "[[0,[1],[],[1],null,[],-1]]] ,\"id\": 7, \"known\": 4, \"tensors\": [[\"more\", \"int64\", [0]]], \"errors\": []}";
    scene *s = begin();
    kvc_reply reply;
    kvc_observation *seen = calloc(1, sizeof *seen);
    uint8_t data[104] = {0};
    kvc_error error = {""};
    cr_assert_not_null(seen);
    open_reply(s, good_reply, &reply);
    kvc_reply_clear(&reply);
    open_reply(s, text, &reply);
    cr_expect_eq(s->table.count, 5);
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_expect_eq(seen->length[0], 3);
    cr_expect_eq(seen->position[0], 3);
    cr_expect_str_eq(seen->tensor[0].name, "keys");
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_assert_eq(seen->tensors, 3);
    cr_expect_str_eq(seen->tensor[0].name, "more");
    cr_expect_str_eq(seen->tensor[1].name, "keys");
    cr_expect_eq(seen->tensor[1].shape[2], 3);
    cr_expect_eq(seen->tensor[1].data, (const void *)data);
    cr_expect_eq(seen->tensor[2].data, (const void *)(data + 96));
    cr_assert_eq(kvc_reply_next(&reply, data, seen, &error), 1, "%s", error.text);
    cr_expect_eq(kvc_reply_next(&reply, data, seen, &error), 0, "%s", error.text);
    kvc_reply_clear(&reply);
    kvc_reply_table_restart(&s->table);
    cr_expect_not(read_all(s, text, &error), "a process that was started anew has sent no tensors");
    cr_expect_not_null(strstr(error.text, "known"), "%s", error.text);
    free(seen);
    end(s);
}

static void refuse_message(const char *text, size_t length, int64_t id, const char *word) {
    cJSON *json = NULL;
    char *results = NULL;
    kvc_error error = {""};
    cr_expect_not(parse(text, length, id, &json, &results, &error), "%.80s", text);
    cr_expect_null(json);
    cr_expect_null(results);
    cr_expect_not_null(strstr(error.text, word), "%.80s: no \"%s\" in: %s", text, word, error.text);
    cr_expect_null(strchr(error.text, '\n'));
}

Test(protocol, messages) {
    static const struct {
        const char *text;
        const char *word;
    } table[] = {
        {"", "not valid"},
        {"hello", "not valid"},
        {"[7]", "object"},
        {"7", "object"},
        {"{}", "\"id\""},
        {"{\"id\": 8}", "8, expected 7"},
        {"{\"id\": -7}", "\"id\""},
        {"{\"id\": \"7\"}", "\"id\""},
        {"{\"id\": 7.5}", "\"id\""},
        {"{\"id\": null}", "\"id\""},
        {"{\"id\": 1e999}", "\"id\""},
        {"{\"id\": NaN}", "not valid"},
        {"{\"id\": 7} {\"id\": 7}", "after the end"},
        {"{\"id\": 7, \"error\": \"I cannot\\ndo that\"}", "I cannot do that"},
        {"{\"id\": 7, \"error\": {}}", "no text"},
        {"{\"id\": 7, \"error\": null}", "no text"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        refuse_message(table[at].text, strlen(table[at].text), 7, table[at].word);
    }
    for (size_t cut = 0; cut < strlen(good_reply); cut++) {
        char *text = malloc(cut + 1);
        cr_assert_not_null(text);
        memcpy(text, good_reply, cut);
        refuse_message(text, cut, 7, "not valid");
        free(text);
    }
    refuse_message("{\"id\": 7, \"a\": \"b\0\"}", 19, 7, "zero byte");
}

Test(protocol, deep_nesting) {
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 32);
    int used;
    cr_assert_not_null(text);
    used = snprintf(text, 32, "{\"id\": 7, \"results\": ");
    memset(text + used, '[', DEPTH);
    refuse_message(text, (size_t)used + DEPTH, 7, "deeper");
    free(text);
}

/* Reads every byte of what is shown: one too many is seen by the sanitizers. */
static void touch(const kvc_observation *seen) {
    for (int at = 0; at < seen->tensors; at++) {
        volatile uint8_t sum = 0;
        int64_t size = kvc_tensor_elements(&seen->tensor[at]) * (int64_t)kvc_dtype_size((kvc_dtype)seen->tensor[at].dtype);
        for (int64_t byte = 0; byte < size; byte++) {
            sum = (uint8_t)(sum + ((const uint8_t *)seen->tensor[at].data)[byte]);
        }
    }
}

/* Opens a damaged reply and reads all of its steps. Returns whether that could be done. */
static int read_all(scene *s, const char *text, kvc_error *error) {
    kvc_reply reply;
    cJSON *json = NULL;
    char *results = NULL;
    kvc_observation *seen;
    uint8_t *data = NULL;
    int next = -1;
    memset(error, 0, sizeof *error);
    if (!parse(text, strlen(text), 7, &json, &results, error)) {
        return 0;
    }
    seen = calloc(1, sizeof *seen);
    cr_assert_not_null(seen);
    if (kvc_reply_open(json, results, &s->batch, &s->table, &reply, error)) {
        /* Exactly as many bytes as were announced. */
        data = calloc(reply.bytes + (reply.bytes == 0), 1);
        cr_assert_not_null(data);
        while ((next = kvc_reply_next(&reply, data, seen, error)) > 0) {
            touch(seen);
        }
        cr_expect_leq(reply.used, reply.bytes);
    }
    kvc_reply_clear(&reply);
    free(data);
    free(seen);
    return next == 0;
}

Test(protocol, damaged_replies) {
    static const damage table[] = {
        {"\"bytes\": 112", "\"bytes\": -1", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 1073741825", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 1e300", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 112.5", "bytes"},
        {"\"bytes\": 112", "\"bytes\": \"112\"", "bytes"},
        {"\"bytes\": 112", "\"bytes\": null", "bytes"},
        {", \"bytes\": 112", "", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 111", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 95", "bytes"},
        {"\"bytes\": 112", "\"bytes\": 0", "bytes"},
        {"\"tensors\"", "\"tensor\"", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "7", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\"]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, 3, 8], 0]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[7, \"float32\", [1, 1, 3, 8]]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"\", \"float32\", [1, 1, 3, 8]]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"ke\\u0001ys\", \"float32\", [1, 1, 3, 8]]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float8\", [1, 1, 3, 8]]", "float8"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", 32, [1, 1, 3, 8]]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", 24]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, 3, 8, 1, 1, 1]]", "tensors"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, -3, 8]]", "shape"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, 3.5, 8]]", "shape"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, null, 8]]", "shape"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, 1e999, 8]]", "shape"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [65536, 65536, 65536, 65536]]", "too many elements"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1073741824, 1073741824, 1073741824, 1073741824, 1073741824, 16]]", "too many elements"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float64\", [1073741824]]", "too many elements"},
        {"[\"keys\", \"float32\", [1, 1, 3, 8]]", "[\"keys\", \"float32\", [1, 1, 2, 8]]", "another size"},
        {"\"errors\": [[\"ValueError\", \"no\"]]", "\"errors\": {}", "errors"},
        {"\"errors\": [[\"ValueError\", \"no\"]]", "\"errors\": [\"ValueError\"]", "errors"},
        {"\"errors\": [[\"ValueError\", \"no\"]]", "\"errors\": [[\"ValueError\"]]", "errors"},
        {"\"errors\": [[\"ValueError\", \"no\"]]", "\"errors\": [[\"ValueError\", 3]]", "errors"},
        {"\"errors\": [[\"ValueError\", \"no\"]]", "\"errors\": []", "error"},
        {"\"results\": [", "\"results\": [[],", "results"},
        {"\"results\": [", "\"results\": 3, \"rest\": [", "results"},
        {"\"results\": [[", "\"results\": [[[0, [], [], [], null, [], -1], ", "2 steps"},
        {"[[0, [3], ", "[3, [0, [3], ", "steps"},
        {",[[0, [1], [null], [1], 0, [2, 3], -1, [4096, 0]]]", "", "1 sequences"},
        {"[0, [3], [[3, 0]], [3], null, [0, [1, 0], 2], -1]", "{}", "step"},
        {"[0, [3], [[3, 0]], [3], null, [0, [1, 0], 2], -1]", "[0, [3], [[3, 0]], [3], null, [0]]", "7 or 8"},
        {"[0, [3], [[3, 0]], [3], null, [0, [1, 0], 2], -1]", "[0, [3], [[3, 0]], [3], null, [], -1, [], 0]", "7 or 8"},
        {"[0, [3], ", "[2, [3], ", "outcome"},
        {"[0, [3], ", "[true, [3], ", "outcome"},
        {"[0, [3], ", "[0, 3, ", "lengths"},
        {"[0, [3], ", "[0, [3.5], ", "lengths"},
        {"[0, [3], ", "[0, [\"3\"], ", "lengths"},
        {"[0, [3], ", "[0, [1e300], ", "lengths"},
        {"[0, [3], ", "[0, [-1e999], ", "lengths"},
        {"[0, [3], ", "[0, [0,1,2,3,4,5,6,7,8], ", "lengths"},
        {"[[3, 0]]", "[[3]]", "masks"},
        {"[[3, 0]]", "[3]", "masks"},
        {"[[3, 0]]", "[[3, null]]", "masks"},
        {"[[3, 0]]", "[[3, 0, 0]]", "masks"},
        {"[[3, 0]]", "[null,null,null,null,null,null,null,null,null]", "masks"},
        {"[[3, 0]]", "null", "masks"},
        {"[[3, 0]], [3]", "[[3, 0]], [{}]", "positions"},
        {"[[3, 0]], [3]", "[[3, 0]], null", "positions"},
        {"null, [0, [1, 0], 2]", "2, [0, [1, 0], 2]", "claim"},
        {"null, [0, [1, 0], 2]", "\"yes\", [0, [1, 0], 2]", "claim"},
        {"[0, [1, 0], 2]", "7", "tensors"},
        {"[0, [1, 0], 2]", "[4]", "tensors"},
        {"[0, [1, 0], 2]", "[-1]", "tensors"},
        {"[0, [1, 0], 2]", "[0.5]", "tensors"},
        {"[0, [1, 0], 2]", "[null]", "tensors"},
        {"[0, [1, 0], 2]", "[[1, 0], 0]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1, 1], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1, -1], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1, 1e9], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1, \"0\"], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [1, 0, 0], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [4, 0], 2]", "tensors"},
        {"[0, [1, 0], 2]", "[0, [2, 0], 2]", "another size"},
        {"[0, [1, 0], 2]", "[0, 1, 2]", "bytes"},
        {"[0, [1, 0], 2], -1", "[0, [1, 0], 2], -2", "error"},
        {"[0, [1, 0], 2], -1", "[0, [1, 0], 2], 1", "error"},
        {"[0, [1, 0], 2], -1", "[0, [1, 0], 2], null", "error"},
        {"[null], 1, [3], 0]", "[null], 1, [3, [0, 1]], 0]", "earlier entry"},
        {"[null], 1, [3], 0]", "[null], 1, [3, [0, -2]], 0]", "earlier entry"},
        {"[[0, [1], [null], [1], 0, [2, 3]", "[[0, [1], [null], [1], 0, [[0, -1], 3]", "as before"},
        {"[null], 1, [3], 0]", "[null], 1, [[3, -1]], 0]", "as before"},
        {"\"tensors\": ", "\"known\": 5, \"tensors\": ", "known"},
        {"\"tensors\": ", "\"known\": -1, \"tensors\": ", "known"},
        {"\"tensors\": ", "\"known\": null, \"tensors\": ", "known"},
        {"\"bytes\": 112", "\"bytes\": 112, \"results\": []", "results"},
        {"\"results\"", "\"\\u0072esults\"", "results"},
        {"[0, [3], ", "[0, [03], ", "lengths"},
        {"[0, [3], ", "[0, [+3], ", "lengths"},
        {"[0, [3], ", "[0, [3.], ", "lengths"},
        {"[0, [3], ", "[0, [NaN], ", "lengths"},
        {"[0, [3], ", "[0, [nul], ", "lengths"},
        {"[0, [3], ", "[0, [3,], ", "lengths"},
        {"[0, [3], ", "[0, [99999999999999999999999999], ", "lengths"},
        {"[0, [3], ", "[0 [3], ", "7 or 8"},
        {"[4096, 0]", "[4096, 0],", "7 or 8"},
        {"[4096, 0]]]]", "[4096, 0]]], 7]", "more than 2 sequences"},
        {"[4096, 0]]]]", "[4096, 0]]]] 7", "more than 2 sequences"},
        {"[4096, 0]]]]", "[4096, 0]], []]]", "1 steps"},
        {"[4096, 0]", "[4096]", "addresses"},
        {"[4096, 0]", "[4096, 0, 0]", "addresses"},
        {"[4096, 0]", "[4096, -1]", "addresses"},
        {"[4096, 0]", "4096", "addresses"},
        {"[4096, 0]", "[4096, 1e300]", "addresses"},
    };
    scene *s = begin();
    kvc_error error;
    cr_assert(read_all(s, good_reply, &error), "%s", error.text);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        int accepted = read_all(s, damaged_text(good_reply, table[at].from, table[at].to), &error);
        expect_refused(&table[at], accepted, "", &error);
        cr_expect_not_null(strstr(error.text, "adapter"), "%s", error.text);
    }
    end(s);
}

/* Any one byte replaced: read or refused, never past the end. */
Test(protocol, changed_anywhere) {
    static const char bytes[] = "0-9[]{}\",.e n\\";
    char text[sizeof good_reply];
    scene *s = begin();
    for (size_t at = 0; at < sizeof good_reply - 1; at++) {
        for (size_t byte = 0; byte < sizeof bytes - 1; byte++) {
            kvc_error error;
            memcpy(text, good_reply, sizeof text);
            text[at] = bytes[byte];
            if (!read_all(s, text, &error)) {
                cr_expect_gt(strlen(error.text), (size_t)0);
            }
        }
    }
    end(s);
}

/* The reply of another batch. */
Test(protocol, other_batch) {
    scene *s = begin();
    kvc_error error;
    s->batch.count = 1;
    cr_expect_not(read_all(s, good_reply, &error));
    s->batch.count = 2;
    s->sequence[1].count = 2;
    cr_expect_not(read_all(s, good_reply, &error));
    end(s);
}

Test(protocol, hello) {
    static const char good[] = "{\"id\": 0, \"protocol\": 1, \"subject\": \"s\", \"version\": \"5.24.0\", \"environment\": {\"python\": \"3\"}, "
                               "\"variants\": [\"a\", \"b\"]}";
    static const struct {
        const char *from;
        const char *to;
        const char *word; /* NULL: good */
    } table[] = {
        {"", "", NULL},
        {"{\"python\": \"3\"}", "{}", NULL},
        {"[\"a\", \"b\"]", "[]", NULL},
        {"\"protocol\": 1", "\"protocol\": 2", "protocol"},
        {"\"protocol\": 1, ", "", "protocol"},
        {"\"subject\": \"s\"", "\"subject\": \"\"", "subject"},
        {"\"subject\": \"s\", ", "", "subject"},
        {"\"version\": \"5.24.0\"", "\"version\": 5.24", "version"},
        {"{\"python\": \"3\"}", "[]", "environment"},
        {"{\"python\": \"3\"}", "{\"python\": 3}", "environment"},
        {"\"environment\": {\"python\": \"3\"}, ", "", "environment"},
        {"[\"a\", \"b\"]", "\"a\"", "variants"},
        {"[\"a\", \"b\"]", "[\"a\", 3]", "variants"},
        {"[\"a\", \"b\"]", "[\"a\", \"\"]", "variants"},
        {"[\"a\", \"b\"]", "[\"a\", \"b\\n\"]", "variants"},
        {"[\"a\", \"b\"]", "[\"a\", \"a\"]", "twice"},
        {"[\"a\", \"b\"]", "[], \"offers\": [\"classes\"]", NULL},
        {"[\"a\", \"b\"]", "[], \"offers\": []", NULL},
        {"[\"a\", \"b\"]", "[], \"offers\": \"classes\"", "offers"},
        {"\"protocol\": 1", "\"protocol\": 1, \"scripts\": \"c\"", NULL},
        {"\"protocol\": 1", "\"protocol\": 1, \"scripts\": \"\"", "scripts"},
        {"\"protocol\": 1", "\"protocol\": 1, \"scripts\": \"a/b\"", "scripts"},
        {"\"protocol\": 1", "\"protocol\": 1, \"scripts\": \"json\"", "scripts"},
        {"\"protocol\": 1", "\"protocol\": 1, \"scripts\": 1", "scripts"},
        {"[\"a\", \"b\"]", "[], \"offers\": [7]", "offers"},
        {"[\"a\", \"b\"]", "[], \"offers\": [\"a\", \"a\"]", "offers"},
        {"\"protocol\": 1", "\"protocol\": 1, \"unavailable\": {\"c\": \"no package\"}", NULL},
        {"\"protocol\": 1", "\"protocol\": 1, \"unavailable\": [\"c\"]", "unavailable"},
        {"\"protocol\": 1", "\"protocol\": 1, \"unavailable\": {\"c\": \"\"}", "unavailable"},
        {"\"protocol\": 1", "\"protocol\": 1, \"unavailable\": {\"c\": 1}", "unavailable"},
        {"\"protocol\": 1", "\"protocol\": 1, \"unavailable\": {\"a\": \"no package\"}", "too"},
        {"\"protocol\": 1", "\"protocol\": 1, \"offers\": [\"classes\"], \"unavailable\": {\"a\": \"no package\"}", "too"},
        {"\"protocol\": 1", "\"protocol\": 1, \"untested\": {\"a\": [\"rows\"]}, \"assumptions\": {\"a\": []}", NULL},
        {"\"protocol\": 1", "\"protocol\": 1, \"untested\": [\"rows\"]", "untested"},
        {"\"protocol\": 1", "\"protocol\": 1, \"untested\": {\"a\": \"rows\"}", "untested"},
        {"\"protocol\": 1", "\"protocol\": 1, \"assumptions\": {\"a\": [\"\"]}", "assumptions"},
        {"\"protocol\": 1", "\"protocol\": 1, \"assumptions\": {\"a\": [1]}", "assumptions"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        char *text = damaged_text(good, table[at].from, table[at].to);
        cJSON *json = NULL;
        kvc_error error = {""};
        kvc_said said;
        if (!kvc_reply_parse(text, strlen(text), 0, &json, NULL, &said, &error)) {
            cr_expect(table[at].word != NULL && strstr(error.text, table[at].word) != NULL, "%s", error.text);
            continue;
        }
        cr_expect_eq(kvc_reply_check_hello(json, &error), table[at].word == NULL, "%s: %s", table[at].to, error.text);
        if (table[at].word != NULL) {
            cr_expect_not_null(strstr(error.text, table[at].word), "%s", error.text);
        }
        cJSON_Delete(json);
    }
}

Test(protocol, names) {
    kvc_names names = {0};
    const char *keys = kvc_names_keep(&names, "keys");
    int kept = 0;
    cr_assert_not_null(keys);
    cr_expect_eq(kvc_names_keep(&names, "keys"), keys, "equal names have equal addresses");
    cr_expect_neq(kvc_names_keep(&names, "key"), keys);
    for (int at = 0; at < 10000; at++) {
        char name[32];
        (void)snprintf(name, sizeof name, "tensor.%d", at);
        kept += kvc_names_keep(&names, name) != NULL;
    }
    cr_expect_lt(kept, 10000, "an adapter cannot fill the memory with names");
    cr_expect_eq(kvc_names_keep(&names, "keys"), keys);
    cr_expect_str_eq(keys, "keys");
    kvc_names_clear(&names);
}

static cJSON *parse_request(char *line) {
    cJSON *json = NULL;
    kvc_error error = {""};
    cr_assert_not_null(line);
    size_t length = strlen(line);
    cr_assert_eq(line[length - 1], '\n');
    cr_expect_eq(strchr(line, '\n'), line + length - 1, "one line");
    cr_assert(kvc_json_parse(line, length, "request", &json, &error), "%s: %s", line, error.text);
    free(line);
    return json;
}

static void expect_json(const cJSON *json, const char *field, const char *expected) {
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(json, field));
    cr_expect_str_eq(text != NULL ? text : "(none)", expected, "%s is %s, expected %s", field, text, expected);
    cJSON_free(text);
}

Test(protocol, classes) {
    static const struct {
        const char *text;
        const char *word; /* NULL: good */
    } table[] = {
        {"{\"id\": 1, \"classes\": [\"A\", \"B\"]}", NULL}, {"{\"id\": 1, \"classes\": []}", NULL},
        {"{\"id\": 1}", "classes"},                          {"{\"id\": 1, \"classes\": {}}", "classes"},
        {"{\"id\": 1, \"classes\": [1]}", "classes"},        {"{\"id\": 1, \"classes\": [\"\"]}", "classes"},
        {"{\"id\": 1, \"classes\": [\"A\", \"A\"]}", "twice"},
    };
    cJSON *json = parse_request(kvc_request_classes(3));
    expect_json(json, "request", "\"classes\"");
    cJSON_Delete(json);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_error error = {""};
        json = cJSON_Parse(table[at].text);
        cr_assert_not_null(json);
        cr_expect_eq(kvc_reply_check_classes(json, &error), table[at].word == NULL, "%s: %s", table[at].text, error.text);
        cr_expect(table[at].word == NULL || strstr(error.text, table[at].word) != NULL, "%s: %s", table[at].text, error.text);
        cJSON_Delete(json);
    }
    json = cJSON_Parse("{\"offers\": [\"classes\"]}");
    cr_expect(kvc_reply_offers(json, "classes"));
    cr_expect_not(kvc_reply_offers(json, "class"));
    cJSON_Delete(json);
}

Test(protocol, layers) {
    static const struct {
        const char *text;
        const char *word; /* of the error, NULL: good */
    } table[] = {
        {"{\"cache\": \"C\", \"layers\": []}", NULL},
        {"{\"cache\": \"C\", \"layers\": [{\"class\": \"A\"}, {\"class\": \"A\", \"variant\": \"A\", \"params\": {\"window\": 4, \"parts\": \"a+b\"}}]}",
         NULL},
        {"{\"layers\": []}", "cache"},
        {"{\"cache\": \"C\"}", "layers"},
        {"{\"cache\": \"C\", \"layers\": [\"A\"]}", "layers"},
        {"{\"cache\": \"C\", \"layers\": [{\"variant\": \"A\"}]}", "layers"},
        {"{\"cache\": \"C\", \"layers\": [{\"class\": \"A\", \"variant\": 1}]}", "layers"},
        {"{\"cache\": \"C\", \"layers\": [{\"class\": \"A\", \"params\": []}]}", "params"},
        {"{\"cache\": \"C\", \"layers\": [{\"class\": \"A\", \"params\": {\"window\": 1.5}}]}", "params"},
        {"{\"cache\": \"C\", \"layers\": [{\"class\": \"A\", \"params\": {\"window\": null}}]}", "params"},
    };
    cJSON *json = parse_request(kvc_request_layers(4, "{\"variant\":\"model/v\",\"params\":{\"batch\":1}}"));
    expect_json(json, "request", "\"layers\"");
    expect_json(json, "variant", "\"model/v\"");
    expect_json(json, "params", "{\"batch\":1}");
    cJSON_Delete(json);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_error error = {""};
        json = cJSON_Parse(table[at].text);
        cr_assert_not_null(json);
        cr_expect_eq(kvc_reply_check_layers(json, &error), table[at].word == NULL, "%s: %s", table[at].text, error.text);
        cr_expect(table[at].word == NULL || strstr(error.text, table[at].word) != NULL, "%s: %s", table[at].text, error.text);
        cJSON_Delete(json);
    }
}

/* Places are asked for by a batch that wants them, and believed no more than anything else. */
Test(protocol, places) {
    static const struct {
        const char *text;
        const char *word; /* of the error, NULL: good */
    } table[] = {{"{\"places\": [[1, 4294967295], []]}", NULL},
                 {"{}", "one array for each of 2"},
                 {"{\"places\": [[1]]}", "one array for each of 2"},
                 {"{\"places\": [[], 3]}", "arrays of at most"},
                 {"{\"places\": [[], [-1]]}", "places"},
                 {"{\"places\": [[], [4294967296]]}", "places"},
                 {"{\"places\": [[], [\"a\"]]}", "places"}};
    scene *s = begin();
    uint32_t told[KVC_REPLY_PLACES_MAX];
    cJSON *json = parse_request(kvc_request_run(1, &s->batch));
    cr_expect_null(cJSON_GetObjectItemCaseSensitive(json, "places"));
    cJSON_Delete(json);
    s->batch.places = 1;
    json = parse_request(kvc_request_run(1, &s->batch));
    expect_json(json, "places", "1");
    cJSON_Delete(json);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_reply reply = {.json = cJSON_Parse(table[at].text), .batch = &s->batch};
        kvc_error error = {""};
        cr_assert_not_null(reply.json);
        cr_expect_eq(kvc_reply_check_places(&reply, &error), table[at].word == NULL, "%s: %s", table[at].text, error.text);
        cr_expect(table[at].word == NULL || strstr(error.text, table[at].word) != NULL, "%s: %s", table[at].text, error.text);
        if (table[at].word == NULL) {
            cr_expect_eq(kvc_reply_places(&reply, 0, told), 2u);
            cr_expect(told[0] == 1 && told[1] == UINT32_MAX);
            cr_expect_eq(kvc_reply_places(&reply, 1, told), 0u);
        }
        cJSON_Delete(reply.json);
    }
    end(s);
}

Test(protocol, request_hello) {
    cJSON *json = parse_request(kvc_request_hello(0));
    expect_json(json, "id", "0");
    expect_json(json, "request", "\"hello\"");
    expect_json(json, "protocol", "1");
    cJSON_Delete(json);
}

Test(protocol, request_run) {
    static const int32_t numbers[] = {0, 1, 4};
    scene *s = begin();
    const int32_t *const lists[] = {numbers, NULL};
    cJSON *json = parse_request(kvc_request_run(1000000007, &s->batch));
    expect_json(json, "id", "1000000007");
    expect_json(json, "request", "\"run\"");
    expect_json(json, "variant", "\"v\"");
    expect_json(json, "sequences", "[[[\"append\",3],[\"crop\",-5]],[[\"append\",1]]]");
    cr_expect_null(cJSON_GetObjectItemCaseSensitive(json, "numbers"));
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(json, "params");
    expect_json(params, "batch", "1");
    expect_json(params, "window", "4");
    expect_json(params, "dtype", "\"float32\"");
    expect_json(params, "layout", "\"contiguous\"");
    expect_json(params, "call", "\"position\"");
    expect_json(params, "watch", "0");
    cr_expect_null(cJSON_GetObjectItemCaseSensitive(params, "parts"), "a parameter that is not used is absent");
    cr_expect_null(cJSON_GetObjectItemCaseSensitive(params, "layers"));
    cJSON_Delete(json);
    s->batch.numbers = lists;
    json = parse_request(kvc_request_run(1, &s->batch));
    expect_json(json, "numbers", "[[0,1,4],null]");
    cJSON_Delete(json);
    end(s);
}

Test(protocol, request_with_every_op) {
    scene *s = begin();
    s->sequence[0] = (kvc_sequence){7,
                                    {{.kind = KVC_APPEND, .n = 0},
                                     {.kind = KVC_CROP, .n = INT32_MIN},
                                     {.kind = KVC_RESET},
                                     {.kind = KVC_REORDER, .count = 2, .rows = {1, 0}},
                                     {.kind = KVC_SELECT, .count = 1, .rows = {6}},
                                     {.kind = KVC_REPEAT, .n = 2},
                                     {.kind = KVC_RECORD, .n = 1}}};
    s->batch.count = 1;
    cJSON *json = parse_request(kvc_request_run(1, &s->batch));
    expect_json(json, "sequences",
                "[[[\"append\",0],[\"crop\",-2147483648],[\"reset\"],[\"reorder\",[1,0]],[\"select\",[6]],[\"repeat\",2],[\"record\",1]]]");
    cJSON_Delete(json);
    end(s);
}

/* Names from the command line may hold anything. */
Test(protocol, request_quotes) {
    scene *s = begin();
    (void)snprintf(s->subject->plan.variant, sizeof s->subject->plan.variant, "%s", "a\"b\\c\nd\x01 \xc3\xa4");
    cJSON *json = parse_request(kvc_request_run(1, &s->batch));
    const cJSON *variant = cJSON_GetObjectItemCaseSensitive(json, "variant");
    cr_expect_str_eq(variant->valuestring, "a\"b\\c\nd\x01 \xc3\xa4");
    cJSON_Delete(json);
    end(s);
}

Test(protocol, request_of_layers_and_parts) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_plan plan;
    kvc_params params = kvc_params_standard();
    kvc_sequence sequence = {1, {{.kind = KVC_APPEND, .n = 1}}};
    kvc_batch batch = {&plan, 1, &sequence, NULL, NULL, 0};
    read_shipped(&catalogue);
    params.layers = 1;
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24"),
                            kvc_catalogue_spec(&catalogue, "transformers", "DynamicCache"), "DynamicCache", &params, &plan, &error));
    cJSON *json = parse_request(kvc_request_run(1, &batch));
    const cJSON *fields = cJSON_GetObjectItemCaseSensitive(json, "params");
    expect_json(fields, "layers", "\"DynamicLayer+DynamicSlidingWindowLayer\"");
    cr_expect_not_null(cJSON_GetObjectItemCaseSensitive(fields, "parts"));
    cr_expect_null(cJSON_GetObjectItemCaseSensitive(fields, "capacity"));
    cJSON_Delete(json);
    kvc_catalogue_clear(&catalogue);
}

Test(protocol, request_script) {
    cJSON *json = parse_request(kvc_request_script(2, "{\"variant\":\"v\",\"step\":1}"));
    expect_json(json, "id", "2");
    expect_json(json, "request", "\"script\"");
    expect_json(json, "variant", "\"v\"");
    expect_json(json, "step", "1");
    cJSON_Delete(json);
    cr_expect_null(kvc_request_script(2, ""));
    cr_expect_null(kvc_request_script(2, "no object"));
}
