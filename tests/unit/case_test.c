/* Cases: written and read again, damaged files, what may stand where, and the order of size. */
#include "tests/unit/support.h"

#include "harness/case.h"
#include "harness/choice.h"

static kvc_catalogue catalogue;

static void begin(void) {
    read_shipped(&catalogue);
}

static void end(void) {
    kvc_catalogue_clear(&catalogue);
}

static const char good_text[] =
    "{\"schema\": \"kvconform-case/1\", \"subject\": \"builtin\", \"version\": \"1\", \"variant\": \"window\", \"contract\": \"builtin-1\",\n"
    " \"params\": {\"batch\": 2, \"window\": 4, \"dtype\": \"bfloat16\", \"layout\": \"strided\", \"call\": \"keyword\", \"watch\": 1},\n"
    " \"ops\": [[\"record\", 1], [\"append\", 6], [\"crop\", -2], [\"reorder\", [1, 0]], [\"repeat\", 2], [\"select\", [3]], [\"reset\"]],\n"
    " \"title\": \"a test\", \"source\": \"nobody\", \"notes\": []}";

static int parse(const char *text, kvc_case *item, kvc_error *error) {
    memset(error, 0, sizeof *error);
    return kvc_case_parse(text, strlen(text), "file.json", &catalogue, item, error);
}

TestSuite(cases, .init = begin, .fini = end);

Test(cases, good) {
    kvc_case item;
    kvc_error error;
    char text[64];
    cr_assert(parse(good_text, &item, &error), "%s", error.text);
    cr_expect_str_eq(item.subject, "builtin");
    cr_expect_str_eq(item.version, "1");
    cr_expect_str_eq(item.variant, "window");
    cr_expect_str_eq(item.contract, "builtin-1");
    cr_expect_eq(item.params.batch, 2);
    cr_expect_eq(item.params.window, 4);
    cr_expect_eq(item.params.heads, 1, "a parameter that is absent has its default");
    cr_expect_eq(item.params.dtype, KVC_BFLOAT16);
    cr_expect_eq(item.params.layout, KVC_STRIDED);
    cr_expect_eq(item.params.call, KVC_CALL_KEYWORD);
    cr_expect_eq(item.params.watch, 1);
    cr_assert_eq(item.sequence.count, 7);
    (void)kvc_op_format(&item.sequence.op[3], text, sizeof text);
    cr_expect_str_eq(text, "reorder [1, 0]");
    (void)kvc_op_format(&item.sequence.op[2], text, sizeof text);
    cr_expect_str_eq(text, "crop -2");
}

static const char expecting[] = "\"title\": \"a test\", \"source\": \"nobody\", \"notes\": [], \"expect\": ";

static int parse_expecting(const char *expect, kvc_case *item, kvc_error *error) {
    char field[512];
    (void)snprintf(field, sizeof field, "%s%s", expecting, expect);
    return parse(damaged_text(good_text, "\"title\": \"a test\", \"source\": \"nobody\", \"notes\": []", field), item, error);
}

Test(cases, expectations) {
    kvc_case item;
    kvc_error error;
    const kvc_case_expect *expect;
    cr_assert(parse(good_text, &item, &error));
    cr_expect_null(kvc_case_expected(&item, "1"), "a case may say nothing");
    cr_assert(parse_expecting("{\"1\": \"ZERO\", \"2\": \"conforms\", \"3\": \"absent\", \"4\": \"impossible\"}", &item, &error), "%s",
              error.text);
    cr_expect_eq(item.expects, 4);
    expect = kvc_case_expected(&item, "1");
    cr_assert_not_null(expect);
    cr_expect_eq(expect->outcome, KVC_CASE_BREAKS);
    cr_expect_eq(expect->law, KVC_ZERO);
    cr_expect_str_eq(kvc_case_outcome_text(expect->outcome, expect->law), "ZERO");
    cr_expect_eq(kvc_case_expected(&item, "2")->outcome, KVC_CASE_CONFORMS);
    cr_expect_eq(kvc_case_expected(&item, "3")->outcome, KVC_CASE_ABSENT);
    cr_expect_eq(kvc_case_expected(&item, "4")->outcome, KVC_CASE_IMPOSSIBLE);
    cr_expect_null(kvc_case_expected(&item, "5"));
    cr_assert(parse_expecting("\"KEYS\"", &item, &error), "%s", error.text);
    cr_expect_eq(kvc_case_expected(&item, "any")->law, KVC_KEYS);
    static const char *const wrong[] = {"1", "[]", "{}", "\"\"", "\"keys\"", "{\"1\": 1}", "{\"\": \"KEYS\"}",
                                        "{\"1\": \"KEYS\", \"1\": \"KEYS\"}"};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        cr_expect_not(parse_expecting(wrong[at], &item, &error), "%s", wrong[at]);
        cr_expect_not_null(strstr(error.text, "file.json: field \"expect\""), "%s: %s", wrong[at], error.text);
    }
}

/* What is written is read as the same case, for each shipped variant, with each kind of op. */
Test(cases, round_trip) {
    for (size_t at = 0; at < catalogue.specs; at++) {
        const kvc_spec *spec = &catalogue.spec[at];
        kvc_case item;
        kvc_case again;
        kvc_error error = {""};
        memset(&item, 0, sizeof item);
        (void)snprintf(item.subject, sizeof item.subject, "%s", spec->subject);
        (void)snprintf(item.variant, sizeof item.variant, "%s", spec->variant);
        (void)snprintf(item.version, sizeof item.version, at % 2 == 0 ? "5.24.0" : "%s", "");
        (void)snprintf(item.contract, sizeof item.contract, at % 3 == 0 ? "builtin-1" : "%s", "");
        item.params = kvc_params_standard();
        for (int param = 0; param < KVC_PARAMS; param++) {
            if ((spec->params & (1u << param)) != 0) {
                kvc_param_set(&item.params, param, spec->high[param]);
            }
        }
        item.params.parts = spec->parts > 0 ? spec->parts - 1 : 0;
        item.params.layers = spec->layers > 0 ? spec->layers - 1 : 0;
        item.params.values = (int32_t)spec->values;
        item.params.dtype = KVC_FLOAT64;
        item.params.call = KVC_CALL_CONTAINER_DEPRECATED;
        item.params.watch = (int32_t)(at % 2);
        item.sequence = (kvc_sequence){9,
                                       {{.kind = KVC_APPEND, .n = 3},
                                        {.kind = KVC_APPEND, .n = 0},
                                        {.kind = KVC_CROP, .n = -2147483647},
                                        {.kind = KVC_CROP, .n = 5},
                                        {.kind = KVC_RESET},
                                        {.kind = KVC_REORDER, .count = 3, .rows = {2, 0, 1}},
                                        {.kind = KVC_SELECT, .count = 1, .rows = {2}},
                                        {.kind = KVC_REPEAT, .n = 2},
                                        {.kind = KVC_RECORD, .n = 1}}};
        cJSON *json = kvc_case_print(&item, spec);
        char *text = cJSON_Print(json);
        cr_assert_not_null(text);
        cr_expect(kvc_case_parse(text, strlen(text), "file.json", &catalogue, &again, &error), "%s: %s", text, error.text);
        cr_expect_eq(memcmp(&item.params, &again.params, sizeof item.params), 0, "%s", text);
        cr_expect_str_eq(again.subject, item.subject);
        cr_expect_str_eq(again.version, item.version);
        cr_expect_str_eq(again.variant, item.variant);
        cr_expect_str_eq(again.contract, item.contract);
        cr_expect_eq(kvc_ops_compare(item.sequence.op, 9, again.sequence.op, (size_t)again.sequence.count), 0, "%s", text);
        cJSON_free(text);
        cJSON_Delete(json);
    }
}

Test(cases, broken_variants_have_the_spec_of_the_correct_one) {
    kvc_case item;
    kvc_error error;
    cr_assert(parse(damaged_text(good_text, "\"window\", \"contract\"", "\"window+negative_length\", \"contract\""), &item, &error), "%s", error.text);
    cr_expect_str_eq(item.variant, "window+negative_length");
}

Test(cases, damage) {
    static const damage table[] = {
        {"kvconform-case/1", "kvconform-case/2", "schema"},
        {"\"schema\": \"kvconform-case/1\", ", "", "schema"},
        {"\"subject\": \"builtin\", ", "", "subject"},
        {"\"subject\": \"builtin\"", "\"subject\": \"nobody\"", "no spec"},
        {"\"version\": \"1\"", "\"version\": 1", "version"},
        {"\"variant\": \"window\"", "\"variant\": \"door\"", "door"},
        {"\"variant\": \"window\"", "\"variant\": null", "variant"},
        {"\"contract\": \"builtin-1\"", "\"contract\": {}", "contract"},
        {"\"notes\"", "\"remarks\"", "remarks"},
        {"\"notes\"", "\"title\"", "twice"},
        {"\"params\": {", "\"params\": [], \"seed\": {", "params"},
        {"\"batch\": 2", "\"batch\": 0", "batch"},
        {"\"batch\": 2", "\"batch\": 9", "batch"},
        {"\"batch\": 2", "\"batch\": 1.5", "batch"},
        {"\"batch\": 2", "\"batch\": \"2\"", "batch"},
        {"\"batch\": 2", "\"rows\": 2", "rows"},
        {"\"window\": 4", "\"window\": 1e9", "window"},
        {"\"window\": 4", "\"parts\": \"attention\"", "parts"},
        {"\"window\": 4", "\"layers\": 3", "layers"},
        {"\"dtype\": \"bfloat16\"", "\"dtype\": \"int64\"", "dtype"},
        {"\"dtype\": \"bfloat16\"", "\"dtype\": 2", "dtype"},
        {"\"layout\": \"strided\"", "\"layout\": \"loose\"", "layout"},
        {"\"call\": \"keyword\"", "\"call\": \"loudly\"", "call"},
        {"\"watch\": 1", "\"watch\": 2", "watch"},
        {"\"watch\": 1", "\"values\": \"two_levels\"", "values"},
        {"\"ops\": [", "\"ops\": 7, \"seed\": [", "ops"},
        {"[\"record\", 1], [\"append\", 6], [\"crop\", -2], [\"reorder\", [1, 0]], [\"repeat\", 2], [\"select\", [3]], [\"reset\"]", "", "ops"},
        {"[\"record\", 1]", "7", "ops"},
        {"[\"record\", 1]", "[]", "ops"},
        {"[\"record\", 1]", "[\"record\"]", "ops"},
        {"[\"record\", 1]", "[\"record\", 1, 2]", "ops"},
        {"[\"record\", 1]", "[\"record\", 2]", "record"},
        {"[\"record\", 1]", "[\"Record\", 1]", "ops"},
        {"[\"record\", 1]", "[1, \"record\"]", "ops"},
        {"[\"append\", 6]", "[\"append\", -1]", "append"},
        {"[\"append\", 6]", "[\"append\", 117650]", "append"},
        {"[\"append\", 6]", "[\"append\", 0.5]", "append"},
        {"[\"append\", 6]", "[\"append\", null]", "append"},
        {"[\"crop\", -2]", "[\"crop\", -2147483649]", "crop"},
        {"[\"crop\", -2]", "[\"crop\", 1e300]", "crop"},
        {"[\"crop\", -2]", "[\"crop\", \"-2\"]", "crop"},
        {"[\"reorder\", [1, 0]]", "[\"reorder\", 1]", "ops"},
        {"[\"reorder\", [1, 0]]", "[\"reorder\", []]", "ops"},
        {"[\"reorder\", [1, 0]]", "[\"reorder\", [1, -1]]", "ops"},
        {"[\"reorder\", [1, 0]]", "[\"reorder\", [1, 8]]", "ops"},
        {"[\"reorder\", [1, 0]]", "[\"reorder\", [0,0,0,0,0,0,0,0,0]]", "ops"},
        {"[\"repeat\", 2]", "[\"repeat\", 0]", "repeat"},
        {"[\"repeat\", 2]", "[\"repeat\", 9]", "repeat"},
        {"[\"reset\"]", "[\"reset\", 1]", "ops"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_case item;
        kvc_error error;
        int accepted = parse(damaged_text(good_text, table[at].from, table[at].to), &item, &error);
        expect_refused(&table[at], accepted, "file.json: ", &error);
    }
}

Test(cases, too_many_ops) {
    static char text[4096];
    kvc_case item;
    kvc_error error;
    int used = snprintf(text, sizeof text, "{\"schema\": \"kvconform-case/1\", \"subject\": \"builtin\", \"variant\": \"full\", \"ops\": [");
    for (int at = 0; at <= KVC_OPS_MAX; at++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s[\"reset\"]", at > 0 ? "," : "");
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "]}");
    cr_expect_not(parse(text, &item, &error));
    cr_expect_not_null(strstr(error.text, "at most 64"), "%s", error.text);
    /* One less is right. */
    memmove(strstr(text, "[\"reset\"],"), strstr(text, "[\"reset\"],") + 10, strlen(strstr(text, "[\"reset\"],") + 10) + 1);
    cr_expect(parse(text, &item, &error), "%s", error.text);
    cr_expect_eq(item.sequence.count, KVC_OPS_MAX);
}

Test(cases, cut_and_changed_anywhere) {
    size_t length = strlen(good_text);
    for (size_t end_at = 0; end_at < length; end_at++) {
        char *text = malloc(length);
        kvc_case item;
        kvc_error error = {""};
        cr_assert_not_null(text);
        memcpy(text, good_text, end_at);
        cr_expect_not(kvc_case_parse(text, end_at, "file.json", &catalogue, &item, &error), "cut at %zu", end_at);
        memcpy(text, good_text, length);
        text[end_at] = '9';
        if (!kvc_case_parse(text, length, "file.json", &catalogue, &item, &error)) {
            cr_expect_gt(strlen(error.text), (size_t)0);
        }
        free(text);
    }
}

Test(cases, files) {
    kvc_case item;
    kvc_error error = {""};
    cr_expect_not(kvc_case_read("/nowhere/case.json", &catalogue, &item, &error));
    cr_expect_not_null(strstr(error.text, "/nowhere/case.json"), "%s", error.text);
}

static void expect_valid(const kvc_plan *plan, const char *const *ops, const char *word) {
    kvc_sequence sequence = {0};
    kvc_error error = {""};
    for (; *ops != NULL; ops++) {
        sequence.op[sequence.count++] = op_of(*ops);
    }
    cr_expect_eq(kvc_sequence_is_valid(plan, &sequence, &error), word == NULL, "%s", error.text);
    if (word != NULL) {
        cr_expect_not_null(strstr(error.text, word), "no \"%s\" in: %s", word, error.text);
        cr_expect_eq(kvc_sequence_is_valid(plan, &sequence, NULL), 0);
    }
}

/* Rows must exist where an op stands, and something must be written about it. */
Test(cases, what_may_stand_where) {
    static const char *const good[] = {"append 1", "repeat 2", "select 3 0 0", "reorder 2 1 0", "crop -9", "reset", NULL};
    static const char *const row[] = {"append 1", "select 0", "select 1", NULL};
    static const char *const rows[] = {"append 1", "reorder 0", NULL};
    static const char *const much[] = {"repeat 3", "repeat 3", NULL};
    static const char *const none[] = {"record 1", NULL};
    static const char *const over[] = {"append 3", "append 2", NULL};
    tiny *s = tiny_open(KEYS("fixed", ""), RULE("record", "absent") "," RULE("overflow", "unspecified"));
    s->params.batch = 2;
    s->params.capacity = 4;
    tiny_plan(s);
    expect_valid(&s->plan, good, NULL);
    expect_valid(&s->plan, row, "op 3");
    expect_valid(&s->plan, rows, "op 2");
    expect_valid(&s->plan, much, "op 2");
    expect_valid(&s->plan, none, "no record");
    expect_valid(&s->plan, over, "op 2");
    tiny_close(s);
}

Test(cases, parameters_that_are_allowed) {
    const kvc_spec *spec = kvc_catalogue_spec(&catalogue, "builtin", "window");
    kvc_params params = kvc_params_standard();
    kvc_error error = {""};
    cr_expect(kvc_choice_allows(spec, &params, &error), "%s", error.text);
    params.window = 0;
    cr_expect_not(kvc_choice_allows(spec, &params, &error));
    cr_expect_not_null(strstr(error.text, "window"), "%s", error.text);
    params = kvc_params_standard();
    params.kernel = 0; /* not used */
    cr_expect(kvc_choice_allows(spec, &params, &error));
}

/* The size of a case: ops, then the sum of absolute arguments, then the ops in a fixed order. */
Test(cases, order_of_size) {
    static const char *const rising[][4] = {
        {"append 1", NULL},
        {"crop -1", NULL},
        {"crop 1", NULL},
        {"reset", NULL},
        {"reorder 0", NULL},
        {"reorder 0 1", NULL},
        {"reorder 1 0", NULL},
        {"select 0", NULL},
        {"repeat 1", NULL},
        {"record 1", NULL},
        {"append 0", NULL},
        {"append 2", NULL},
        {"crop -2", NULL},
        {"append 9", NULL},
        {"append 1", "crop 0", NULL},
        {"append 1", "crop -1", NULL},
        {"crop -1", "append 1", NULL},
        {"append 1", "crop -2", NULL},
        {"append 2", "crop -1", NULL},
        {"append 3", "reset", NULL},
        {"append 5", "reorder 1 0", NULL},
        {"append 0", "append 0", "append 0", NULL},
    };
    enum { COUNT = sizeof rising / sizeof rising[0] };
    kvc_sequence sequence[COUNT];
    memset(sequence, 0, sizeof sequence);
    for (size_t at = 0; at < COUNT; at++) {
        for (const char *const *op = rising[at]; *op != NULL; op++) {
            sequence[at].op[sequence[at].count++] = op_of(*op);
        }
    }
    for (size_t a = 0; a < COUNT; a++) {
        for (size_t b = 0; b < COUNT; b++) {
            int order = kvc_ops_compare(sequence[a].op, (size_t)sequence[a].count, sequence[b].op, (size_t)sequence[b].count);
            cr_expect_eq((order > 0) - (order < 0), (a > b) - (a < b), "%zu %zu", a, b);
        }
    }
}
