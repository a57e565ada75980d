/* Exemptions: damaged files, versions; and which classes they and the driven variants leave uncovered. */
#include "tests/unit/support.h"

#include "harness/uncovered.h"

static const char good_text[] =
    "{\"schema\": \"kvconform-exemptions/1\", \"subject\": \"s\", \"exemptions\": ["
    "{\"classes\": \"Base\", \"reason\": \"abstract\"}, "
    "{\"classes\": \"*Padding\", \"from\": \"2.0\", \"until\": \"3.0\", \"reason\": \"no tokens\"}]}";

static int parse(const char *text, kvc_exemptions *exemptions, kvc_error *error) {
    memset(error, 0, sizeof *error);
    return kvc_exemptions_parse(text, strlen(text), "file.json", exemptions, error);
}

Test(uncovered, reads_exemptions) {
    kvc_exemptions exemptions;
    kvc_error error;
    cr_assert(parse(good_text, &exemptions, &error), "%s", error.text);
    cr_expect_str_eq(exemptions.subject, "s");
    cr_assert_eq(exemptions.count, (size_t)2);
    cr_expect_str_eq(exemptions.exemption[1].reason, "no tokens");
    cr_expect_not_null(kvc_exemptions_find(&exemptions, "1.0", "Base"));
    cr_expect_null(kvc_exemptions_find(&exemptions, "1.0", "Basement"));
    cr_expect_null(kvc_exemptions_find(&exemptions, "1.9.9", "LeftPadding"));
    cr_expect_not_null(kvc_exemptions_find(&exemptions, "2.0", "LeftPadding"));
    cr_expect_not_null(kvc_exemptions_find(&exemptions, "2.9", "LeftPadding"));
    cr_expect_null(kvc_exemptions_find(&exemptions, "3.0", "LeftPadding"));
    cr_expect_null(kvc_exemptions_find(NULL, "1.0", "Base"));
    kvc_exemptions_clear(&exemptions);
}

Test(uncovered, refuses_damaged_exemptions) {
    static const struct {
        const char *from;
        const char *to;
        const char *word;
    } table[] = {
        {"exemptions/1", "exemptions/2", "schema"},
        {"\"subject\": \"s\", ", "", "subject"},
        {"\"Base\"", "\"\"", "classes"},
        {"\"Base\"", "7", "classes"},
        {"\"abstract\"", "\"\"", "reason"},
        {", \"reason\": \"abstract\"", "", "reason"},
        {"\"reason\": \"abstract\"", "\"reason\": \"abstract\", \"why\": 1", "why"},
        {"\"2.0\"", "2.0", "from"},
        {"\"3.0\"", "[]", "until"},
        {"\"*Padding\", \"from\": \"2.0\"", "\"Base\"", "twice"},
        {"[{\"classes\": \"Base\"", "[7, {\"classes\": \"Base\"", "exemptions"},
        {"\"exemptions\": [", "\"exemptions\": 7, \"more\": [", "more"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        char text[1024];
        kvc_exemptions exemptions;
        kvc_error error;
        const char *place = strstr(good_text, table[at].from);
        cr_assert_not_null(place, "%s", table[at].from);
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(place - good_text), good_text, table[at].to,
                       place + strlen(table[at].from));
        cr_expect_not(parse(text, &exemptions, &error), "%s", table[at].to);
        cr_expect_not_null(strstr(error.text, "file.json"), "%s: %s", table[at].to, error.text);
        cr_expect_not_null(strstr(error.text, table[at].word), "%s: %s", table[at].to, error.text);
        kvc_exemptions_clear(&exemptions);
    }
    for (size_t cut = 0; cut + 1 < sizeof good_text; cut++) {
        kvc_exemptions exemptions;
        kvc_error error = {""};
        cr_expect_not(kvc_exemptions_parse(good_text, cut, "file.json", &exemptions, &error));
        kvc_exemptions_clear(&exemptions);
    }
}

/* What is left of `classes` on a version, joined with commas; the error's text when it is refused. */
static const char *left(const char *version, int assumed, const char *classes) {
    static char out[640];
    static const char *const variants[] = {"Full", "Many-first", "Many-second", NULL};
    kvc_exemptions exemptions;
    kvc_error error;
    kvc_catalogue catalogue = {.exempted = 1, .exemptions = &exemptions};
    cJSON *list = cJSON_Parse(classes);
    cJSON *rest;
    const cJSON *item;
    cr_assert_not_null(list);
    cr_assert(parse(good_text, &exemptions, &error), "%s", error.text);
    rest = kvc_uncovered_find(&catalogue, "s", version, assumed, list, variants, &error);
    (void)snprintf(out, sizeof out, "%s", rest == NULL ? error.text : "");
    cJSON_ArrayForEach(item, rest) {
        size_t used = strlen(out);
        (void)snprintf(out + used, sizeof out - used, "%s%s", used > 0 ? "," : "", item->valuestring);
    }
    cJSON_Delete(rest);
    cJSON_Delete(list);
    kvc_exemptions_clear(&exemptions);
    return out;
}

Test(uncovered, what_is_left) {
    cr_expect_str_eq(left("1.0", 0, "[\"Base\", \"Full\", \"Many\"]"), "");
    cr_expect_str_eq(left("1.0", 0, "[\"Base\", \"Full\", \"New\", \"Fuller\", \"Man\"]"), "New,Fuller,Man");
    cr_expect_str_eq(left("1.0", 0, "[\"Base\", \"LeftPadding\"]"), "LeftPadding");
    cr_expect_str_eq(left("2.0", 0, "[\"Base\", \"LeftPadding\"]"), "");
}

Test(uncovered, exemptions_that_are_wrong) {
    cr_expect_not_null(strstr(left("2.0", 0, "[\"Base\"]"), "\"*Padding\" names no class of s 2.0"));
    cr_expect_str_eq(left("2.0", 1, "[\"Base\", \"New\"]"), "New", "a version that nobody has read");
    cr_expect_str_eq(left("2.0.dev0", 0, "[\"Base\", \"New\"]"), "New", "between two releases");
    cr_expect_str_eq(left("1.0", 0, "[\"Base\"]"), "", "it speaks of other versions");
    cr_expect_not_null(strstr(left("1.0", 0, "[\"Full\"]"), "\"Base\" names no class"));
}
