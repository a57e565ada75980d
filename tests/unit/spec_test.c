/* Reading specs: good ones, and every kind of damage, which must be told in one line: file, field, expectation. */
#include "tests/unit/support.h"

#include "reference/spec.h"

static const char good_text[] =
    "{\"schema\": \"kvconform-spec/1\", \"subject\": \"s\", \"variant\": \"v\", \"title\": \"A test\", \"kind\": \"static window\", \"source\": \"the docs\",\n"
    " \"ops\": [\"append\", \"crop\", \"record\"],\n"
    " \"params\": {\"batch\": [1, 3], \"heads\": [1, 2], \"key_dim\": [8, 9], \"window\": [1, 6], \"states\": [1, 2]},\n"
    " \"dtypes\": [\"float16\", \"float64\"], \"parts\": [\"attention+state\", \"attention\"], \"length\": false, \"claim\": true,\n"
    " \"since\": {\"state\": \"5.2.0\", \"states\": \"5.3.0\"},\n"
    " \"views\": [{\"name\": \"keys\", \"salt\": 6, \"law\": \"KEYS\", \"rule\": \"window\", \"part\": \"attention\",\n"
    "   \"dims\": [\"batch\", \"heads\", \"tokens\", \"key_dim\"], \"returned\": \"window\", \"static\": true, \"keeps\": \"window\"},\n"
    "  {\"name\": \"states.*\", \"salt\": 0, \"law\": \"STATE\", \"rule\": \"folded\", \"part\": \"state\",\n"
    "   \"dims\": [\"batch\", \"heads\", \"key_dim\", \"key_dim\"], \"dtype\": \"int64\"}]}";

static int parse(const char *text, kvc_spec *spec, kvc_error *error) {
    memset(error, 0, sizeof *error);
    return kvc_spec_parse(text, strlen(text), "file.json", spec, error);
}

Test(spec, good) {
    kvc_spec spec;
    kvc_error error;
    cr_assert(parse(good_text, &spec, &error), "%s", error.text);
    cr_expect_str_eq(spec.subject, "s");
    cr_expect_str_eq(spec.variant, "v");
    cr_expect_str_eq(spec.source, "the docs");
    cr_expect_eq((int)spec.kind, KVC_KIND_STATIC_WINDOW);
    cr_expect_str_eq(kvc_kind_name(spec.kind), "static window");
    cr_expect(kvc_spec_has_op(&spec, KVC_APPEND) && kvc_spec_has_op(&spec, KVC_CROP) && kvc_spec_has_op(&spec, KVC_RECORD));
    cr_expect_not(kvc_spec_has_op(&spec, KVC_RESET));
    cr_expect(kvc_spec_uses(&spec, offsetof(kvc_params, window)));
    cr_expect_not(kvc_spec_uses(&spec, offsetof(kvc_params, kernel)));
    cr_expect_eq(spec.low[kvc_param_find("window")], 1);
    cr_expect_eq(spec.high[kvc_param_find("window")], 6);
    cr_expect_eq(spec.dtypes, 1u << KVC_FLOAT16 | 1u << KVC_FLOAT64);
    cr_expect_eq(spec.length, 0);
    cr_expect_eq(spec.claim, 1);
    cr_expect_eq(spec.parts, 2);
    cr_expect_eq(spec.part_names, 2);
    cr_expect_eq(spec.part_mask[0], 3u);
    cr_expect_eq(spec.part_mask[1], 1u);
    cr_expect_str_eq(kvc_spec_since(&spec, "state"), "5.2.0");
    cr_expect_str_eq(kvc_spec_since(&spec, "attention"), "");
    cr_assert_eq(spec.views, 2);
    cr_expect_str_eq(spec.view[0].name, "keys");
    cr_expect_eq(spec.view[0].salt, 6);
    cr_expect_eq((int)spec.view[0].law, KVC_KEYS);
    cr_expect_eq((int)spec.view[0].rule, KVC_RULE_WINDOW);
    cr_expect_eq((int)spec.view[0].returned, KVC_RETURNS_WINDOW);
    cr_expect(spec.view[0].is_static && spec.view[0].keeps_window && !spec.view[0].numbered && !spec.view[0].integer);
    cr_expect_str_eq(spec.view[1].name, "states.");
    cr_expect(spec.view[1].numbered && spec.view[1].integer && !spec.view[1].is_static);
    cr_expect_eq((int)spec.view[1].returned, KVC_RETURNS_NONE);
    cr_expect_eq(spec.view[1].part, 1);
}

Test(spec, values_of_two_levels) {
    kvc_spec spec;
    kvc_error error;
    int values = kvc_param_find("values");
    cr_assert(parse(good_text, &spec, &error), "%s", error.text);
    cr_expect_eq((int)spec.values, KVC_DIGITS);
    cr_expect_not(kvc_spec_writes(&spec, values));
    cr_expect(kvc_spec_writes(&spec, kvc_param_find("call")));
    cr_expect(kvc_spec_writes(&spec, kvc_param_find("window")));
    cr_expect_not(kvc_spec_writes(&spec, kvc_param_find("kernel")));
    cr_expect_not(parse(damaged_text(good_text, "\"claim\": true,", "\"values\": \"two_levels\","), &spec, &error));
    cr_expect(strstr(error.text, "view \"keys\": values of two levels need 32 channels") != NULL, "%s", error.text);
    cr_expect_not(parse(damaged_text(good_text, "\"claim\": true,", "\"values\": \"three\","), &spec, &error));
    cr_expect(strstr(error.text, "expected one of digits, two_levels") != NULL, "%s", error.text);
}

Test(spec, basis_of_the_source) {
    kvc_spec spec;
    kvc_error error;
    cr_assert(parse(good_text, &spec, &error), "%s", error.text);
    cr_expect_eq(spec.inferred, 0);
    cr_assert(parse(damaged_text(good_text, "\"claim\": true,", "\"basis\": \"inferred\","), &spec, &error), "%s", error.text);
    cr_expect_eq(spec.inferred, 1);
    cr_assert(parse(damaged_text(good_text, "\"keeps\": \"window\"", "\"keeps\": \"length\""), &spec, &error), "%s", error.text);
    cr_expect(spec.view[0].keeps_length && !spec.view[0].keeps_window);
    cr_expect_str_eq(spec.view[0].source, "");
    cr_assert(parse(damaged_text(good_text, "\"keeps\": \"window\"", "\"source\": \"its own text\", \"basis\": \"inferred\""), &spec, &error), "%s",
              error.text);
    cr_expect_str_eq(spec.view[0].source, "its own text");
    cr_expect(spec.view[0].inferred && !spec.inferred);
    cr_expect_not(parse(damaged_text(good_text, "\"keeps\": \"window\"", "\"basis\": \"guessed\""), &spec, &error));
    cr_expect(strstr(error.text, "expected one of documented, inferred") != NULL, "%s", error.text);
    cr_expect_not(parse(damaged_text(good_text, "\"claim\": true,", "\"basis\": \"guessed\","), &spec, &error));
    cr_expect(strstr(error.text, "expected one of documented, inferred") != NULL, "%s", error.text);
}

Test(spec, what_may_be_left_out) {
    static const char least[] =
        "{\"schema\": \"kvconform-spec/1\", \"subject\": \"s\", \"variant\": \"v\", \"title\": \"t\", \"kind\": \"full\", \"ops\": [\"append\"],"
        "\"views\": [{\"name\": \"k\", \"salt\": 0, \"law\": \"KEYS\", \"rule\": \"all\", \"dims\": [\"batch\", \"tokens\", \"key_dim\"]}]}";
    kvc_spec spec;
    kvc_error error;
    cr_assert(parse(least, &spec, &error), "%s", error.text);
    cr_expect_eq(spec.length, 1);
    cr_expect_eq(spec.claim, 0);
    cr_expect_eq(spec.parts, 0);
    cr_expect_eq(spec.layers, 0);
    cr_expect_eq(spec.share, 1);
    cr_expect_eq(spec.dtypes, 1u << KVC_FLOAT32);
    cr_expect_eq(spec.view[0].part, -1);
    cr_expect_eq(spec.view[0].keeps_window, 0);
}

Test(spec, every_rule_dim_and_return) {
    static const char *const rules[] = {"all",  "window", "last",       "folded",   "fixed", "fixed_window",
                                        "ring", "blocks", "block_rest", "block_overlap", "block_count", "nothing", "prefix_window", "fixed_prefix_window",
                                        "residual", "constant", "flag", "rotating", "chunked", "chunk_start", "count",
                                        "trimmed", "unused", "bytes", "seen", "seen_window", "opaque", "predicted", "agreed"};
    static const char *const returned[] = {"none", "all", "window", "held_and_new", "held", "buffer", "state",
                                            "closed", "prior", "rotating", "seen", "block_start", "predicted"};
    kvc_spec spec;
    kvc_error error;
    char text[2048];
    for (int rule = 0; rule < KVC_VIEW_RULES; rule++) {
        for (int back = 0; back < KVC_RETURNED_KINDS; back++) {
            (void)snprintf(text, sizeof text,
                           "{\"schema\": \"kvconform-spec/1\", \"subject\": \"s\", \"variant\": \"v\", \"title\": \"t\", \"kind\": \"full\","
                           "\"ops\": [\"append\"], \"params\": {\"window\": [1, 2], \"kernel\": [1, 2], \"capacity\": [1, 2],"
                           "\"keep\": [0, 2], \"block\": [1, 2], \"residual\": [1, 2]}, \"views\": [{\"name\": \"k\", \"salt\": 0, \"law\": \"KEYS\", \"rule\": \"%s\","
                           "\"dims\": [\"planes\", \"batch\", %s\"index_dim\"], \"returned\": \"%s\"}]}",
                           rules[rule], rule == KVC_RULE_FOLDED || rule == KVC_RULE_BLOCK_COUNT || rule == KVC_RULE_FLAG || rule == KVC_RULE_CHUNK_START || rule == KVC_RULE_COUNT || rule == KVC_RULE_TRIMMED || rule == KVC_RULE_UNUSED || rule == KVC_RULE_BYTES || rule == KVC_RULE_PREDICTED || rule == KVC_RULE_AGREED ? "" : "\"tokens\", ", returned[back]);
            cr_assert(parse(text, &spec, &error), "%s", error.text);
            cr_expect_eq((int)spec.view[0].rule, rule);
            cr_expect_eq((int)spec.view[0].returned, back);
            cr_expect_eq((int)spec.view[0].dim[0], KVC_DIM_PLANES);
            cr_expect_str_eq(kvc_view_rule_name((kvc_view_rule)rule), rules[rule]);
        }
    }
}

Test(spec, damage) {
    static const damage table[] = {
        {"kvconform-spec/1", "kvconform-spec/2", "schema"},
        {"\"schema\"", "\"scheme\"", "scheme"},
        {"\"subject\": \"s\", ", "", "subject"},
        {"\"subject\": \"s\"", "\"subject\": 7", "subject"},
        {"\"variant\": \"v\"", "\"variant\": \"\"", "variant"},
        {"\"title\": \"A test\"", "\"title\": \"A\\ntest\"", "title"},
        {"\"title\": \"A test\"", "\"title\": null", "title"},
        {"\"kind\": \"static window\", ", "", "kind"},
        {"\"static window\"", "\"sliding\"", "expected one of full, static"},
        {"\"title\": \"A test\"", "\"title\": \"A test\", \"title\": \"B\"", "title"},
        {"\"source\": \"the docs\"", "\"source\": []", "source"},
        {"\"source\"", "\"colour\"", "colour"},
        {"\"source\"", "\"share\": 0, \"source\"", "share"},
        {"\"source\"", "\"share\": \"half\", \"source\"", "share"},
        {"[\"append\", \"crop\", \"record\"]", "[\"crop\"]", "ops"},
        {"[\"append\", \"crop\", \"record\"]", "[\"append\", \"cut\"]", "ops"},
        {"[\"append\", \"crop\", \"record\"]", "\"append\"", "ops"},
        {"[\"append\", \"crop\", \"record\"]", "[\"append\", 3]", "ops"},
        {"\"window\": [1, 6]", "\"window\": [0, 6]", "window"},
        {"\"window\": [1, 6]", "\"window\": [6, 1]", "window"},
        {"\"window\": [1, 6]", "\"window\": [1, 65537]", "window"},
        {"\"window\": [1, 6]", "\"window\": [1]", "window"},
        {"\"window\": [1, 6]", "\"window\": 6", "window"},
        {"\"window\": [1, 6]", "\"window\": [1, 2.5]", "window"},
        {"\"window\": [1, 6]", "\"window\": [1, 6, 0]", "window"},
        {"\"window\": [1, 6]", "\"window\": [1, 6, 1, 1]", "window"},
        {"\"window\": [1, 6]", "\"windows\": [1, 6]", "windows"},
        {"\"window\": [1, 6]", "\"window\": [1, 6], \"window\": [1, 6]", "window"},
        {"\"window\": [1, 6], ", "", "window"},
        {"\"batch\": [1, 3]", "\"batch\": [1, 9]", "batch"},
        {"\"batch\": [1, 3]", "\"dtype\": [1, 3]", "dtype"},
        {"[\"float16\", \"float64\"]", "[\"float16\", \"float8\"]", "dtypes"},
        {"[\"float16\", \"float64\"]", "[\"int64\"]", "dtypes"},
        {"[\"float16\", \"float64\"]", "[]", "dtypes"},
        {"\"parts\": [\"attention+state\", ", "\"parts\": [\"attention++state\", ", "parts"},
        {"\"parts\": [\"attention+state\", ", "\"parts\": [\"\", ", "parts"},
        {"\"parts\": [\"attention+state\", ", "\"parts\": [7, ", "parts"},
        {"\"parts\": [\"attention+state\", ", "\"parts\": [\"attention+a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+state\", ", "parts"},
        {"\"parts\": [\"attention+state\", ", "\"parts\": [\"attention\", ", "state"},
        {"\"length\": false", "\"length\": \"no\"", "length"},
        {"\"claim\": true", "\"claim\": 1", "claim"},
        {"\"since\": {\"state\": \"5.2.0\"", "\"since\": {\"state\": 5.2", "state"},
        {"\"since\": {\"state\"", "\"since\": {\"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij\"", "since"},
        {"\"since\": {\"state\": \"5.2.0\", \"states\": \"5.3.0\"}", "\"since\": [1]", "since"},
        {"\"views\": [", "\"views\": [3, ", "views"},
        {"\"name\": \"keys\"", "\"name\": \"\"", "name"},
        {"\"name\": \"keys\", ", "", "name"},
        {"\"name\": \"keys\"", "\"name\": \"keys\", \"size\": 3", "size"},
        {"\"salt\": 6", "\"salt\": 7", "salt"},
        {"\"salt\": 6", "\"salt\": -1", "salt"},
        {"\"salt\": 6", "\"salt\": \"6\"", "salt"},
        {"\"law\": \"KEYS\"", "\"law\": \"CLAMP\"", "law"},
        {"\"law\": \"KEYS\"", "\"law\": \"keys\"", "law"},
        {"\"rule\": \"window\"", "\"rule\": \"windows\"", "rule"},
        {"\"rule\": \"window\"", "\"rule\": 3", "rule"},
        {"\"rule\": \"window\"", "\"rule\": \"last\"", "last"},
        {"\"rule\": \"folded\"", "\"rule\": \"all\"", "dims"},
        {"\"part\": \"attention\"", "\"part\": \"index\"", "index"},
        {"\"tokens\", ", "", "dims"},
        {"\"tokens\", ", "\"tokens\", \"tokens\", ", "dims"},
        {"\"tokens\", ", "\"tokens\", \"cells\", ", "dims"},
        {"\"tokens\", ", "\"tokens\", 3, ", "dims"},
        {"\"tokens\", ", "\"tokens\", \"one\", \"one\", \"one\", ", "dims"},
        {"\"dims\": [\"batch\", \"heads\", \"key_dim\"", "\"dims\": [\"batch\", \"tokens\", \"key_dim\"", "dims"},
        {"\"returned\": \"window\"", "\"returned\": \"some\"", "returned"},
        {"\"static\": true", "\"static\": \"yes\"", "static"},
        {"\"keeps\": \"window\"", "\"keeps\": \"window+1\"", "keeps"},
        {"\"dtype\": \"int64\"", "\"dtype\": \"float16\"", "dtype"},
        {"\"views\"", "\"layers\"", "layers"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_spec spec;
        kvc_error error;
        int accepted = parse(damaged_text(good_text, table[at].from, table[at].to), &spec, &error);
        expect_refused(&table[at], accepted, "file.json: ", &error);
    }
}

Test(spec, no_views_and_no_object) {
    kvc_spec spec;
    kvc_error error;
    cr_expect_not(parse("{\"schema\": \"kvconform-spec/1\", \"subject\": \"s\", \"variant\": \"v\", \"title\": \"t\", \"kind\": \"full\", \"ops\": [\"append\"]}",
                        &spec, &error));
    cr_expect_not_null(strstr(error.text, "views"), "%s", error.text);
    cr_expect_not(parse("[1]", &spec, &error));
    cr_expect_not_null(strstr(error.text, "expected an object"), "%s", error.text);
    cr_expect_not(parse("{", &spec, &error));
    cr_expect_not_null(strstr(error.text, "not valid JSON"), "%s", error.text);
}

/* A name in `since` that is too long is told whatever the error held before. */
Test(spec, stale_error_text) {
    kvc_spec spec;
    kvc_error error;
    const char *text = damaged_text(good_text, "\"since\": {\"state\"", "\"since\": {\"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij\"");
    memset(&error, 'x', sizeof error);
    error.text[sizeof error.text - 1] = '\0';
    cr_expect_not(kvc_spec_parse(text, strlen(text), "file.json", &spec, &error));
    cr_expect_eq(strncmp(error.text, "file.json: ", 11), 0, "%.40s", error.text);
}

/* Cut anywhere, and with any byte replaced: an answer, and never more than the buffer is read. */
Test(spec, cut_and_changed_anywhere) {
    size_t length = strlen(good_text);
    for (size_t end = 0; end < length; end++) {
        char *text = malloc(length);
        kvc_spec spec;
        kvc_error error = {""};
        cr_assert_not_null(text);
        memcpy(text, good_text, end);
        cr_expect_not(kvc_spec_parse(text, end, "file.json", &spec, &error), "cut at %zu", end);
        cr_expect_eq(strncmp(error.text, "file.json: ", 11), 0);
        memcpy(text, good_text, length);
        text[end] = '7';
        error.text[0] = '\0';
        if (!kvc_spec_parse(text, length, "file.json", &spec, &error)) {
            cr_expect_eq(strncmp(error.text, "file.json: ", 11), 0, "byte %zu: %s", end, error.text);
        }
        free(text);
    }
}

/* Whether some choice of parts has both. */
static int stand_together(const kvc_spec *spec, int a, int b) {
    unsigned wanted = (a >= 0 ? 1u << a : 0u) | (b >= 0 ? 1u << b : 0u);
    for (int at = 0; at < spec->parts; at++) {
        if ((spec->part_mask[at] & wanted) == wanted) {
            return 1;
        }
    }
    return spec->parts == 0;
}

Test(spec, shipped) {
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    cr_expect_geq(catalogue.specs, (size_t)25);
    for (size_t at = 0; at < catalogue.specs; at++) {
        const kvc_spec *spec = &catalogue.spec[at];
        /* Of a cache that holds several sequences no tensors are looked at. */
        if (spec->memory != 0) {
            cr_expect(kvc_spec_has_op(spec, KVC_DECODE), "%s", spec->variant);
            continue;
        }
        if (spec->memory != 0) {
            cr_expect(kvc_spec_has_op(spec, KVC_DECODE) && kvc_spec_uses(spec, offsetof(kvc_params, sequences)), "%s", spec->variant);
            continue;
        }
        cr_expect(kvc_spec_has_op(spec, KVC_APPEND), "%s", spec->variant);
        cr_expect(kvc_spec_uses(spec, offsetof(kvc_params, batch)), "%s", spec->variant);
        cr_expect(spec->views > 0 || spec->layers > 0, "%s", spec->variant);
        /* Eight channels say which token it is. */
        cr_expect_geq(spec->low[kvc_param_find("key_dim")], 8, "%s", spec->variant);
        for (int view = 0; view < spec->views; view++) {
            for (int other = 0; other < view; other++) {
                int together = stand_together(spec, spec->view[view].part, spec->view[other].part);
                cr_expect(!together || strcmp(spec->view[view].name, spec->view[other].name) != 0, "%s", spec->variant);
            }
        }
    }
    kvc_catalogue_clear(&catalogue);
}
