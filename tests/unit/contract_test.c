/* Reading contracts, their rules laid over each other, and the order of versions. */
#include "tests/unit/support.h"

#include "reference/contract.h"

static const char good_text[] =
    "{\"schema\": \"kvconform-contract/1\", \"id\": \"s-2\", \"extends\": \"s-1\", \"subject\": \"s\", \"from\": \"2.0\", \"known_to\": \"2.4\",\n"
    " \"rules\": [{\"rule\": \"crop_positive\", \"value\": \"refuse\", \"errors\": [\"ValueError\", \"RuntimeError\"],\n"
    "   \"variants\": [\"*\"], \"basis\": \"documented\", \"source\": \"the docs\"},\n"
    "  {\"rule\": \"calls\", \"value\": [\"position\", \"container\"], \"variants\": [\"Dynamic*\", \"Static?\"], \"basis\": \"inferred\",\n"
    "   \"source\": \"an argument\"}]}";

static int parse(const char *text, kvc_contract *contract, kvc_error *error) {
    memset(error, 0, sizeof *error);
    return kvc_contract_parse(text, strlen(text), "file.json", contract, error);
}

Test(contract, good) {
    kvc_contract contract;
    kvc_error error;
    char words[128];
    cr_assert(parse(good_text, &contract, &error), "%s", error.text);
    cr_expect_str_eq(contract.id, "s-2");
    cr_expect_str_eq(contract.extends, "s-1");
    cr_expect_str_eq(contract.from, "2.0");
    cr_expect_str_eq(contract.known_to, "2.4");
    cr_assert_eq(contract.rules, (size_t)2);
    cr_expect_eq((int)contract.rule[0].name, KVC_CONTRACT_CROP_POSITIVE);
    cr_expect_eq(contract.rule[0].value, (unsigned)KVC_POSITIVE_REFUSE);
    cr_expect_eq(contract.rule[0].errors, 2);
    cr_expect_str_eq(contract.rule[0].error[1], "RuntimeError");
    cr_expect_eq(contract.rule[0].documented, 1);
    cr_expect_eq(contract.rule[1].value, 1u << KVC_CALL_POSITION | 1u << KVC_CALL_CONTAINER);
    cr_expect_eq(contract.rule[1].documented, 0);
    cr_expect_str_eq(contract.rule[1].variant[1], "Static?");
    cr_expect_str_eq(kvc_rule_value_text(&contract.rule[0], words, sizeof words), "refuse");
    cr_expect_str_eq(kvc_rule_value_text(&contract.rule[1], words, sizeof words), "position, container");
    kvc_contract_clear(&contract);
    cr_expect_null(contract.rule);
}

/* All values of docs/formats.md, and none beside them. */
Test(contract, every_value) {
    static const struct {
        const char *rule;
        const char *values[5];
        int documented_as[5];
    } table[] = {
        {"crop", {"remove", "absent", "refuse", "ignored"}, {KVC_CROP_REMOVE, KVC_CROP_ABSENT, KVC_CROP_REFUSE, KVC_CROP_IGNORED}},
        {"crop_positive", {"keep", "refuse"}, {KVC_POSITIVE_KEEP, KVC_POSITIVE_REFUSE}},
        {"crop_zero", {"nothing", "empty", "shrink"}, {KVC_ZERO_NOTHING, KVC_ZERO_EMPTY, KVC_ZERO_SHRINK}},
        {"crop_unused", {"nothing", "either"}, {KVC_UNUSED_NOTHING, KVC_UNUSED_EITHER}},
        {"crop_over", {"empty"}, {0}},
        {"unrecorded", {"refuse", "exact", "ignored"}, {KVC_UNRECORDED_REFUSE, KVC_UNRECORDED_EXACT, KVC_UNRECORDED_IGNORED}},
        {"recurrent", {"refuse", "ignored"}, {KVC_RECURRENT_REFUSE, KVC_RECURRENT_IGNORED}},
        {"overflow", {"refuse", "evict", "unspecified", "either"}, {KVC_OVERFLOW_REFUSE, KVC_OVERFLOW_EVICT, KVC_OVERFLOW_UNSPECIFIED, KVC_OVERFLOW_EITHER}},
        {"claim", {"croppable", "none"}, {KVC_CLAIM_CROPPABLE, KVC_CLAIM_NONE}},
        {"returns", {"held_and_new", "held"}, {KVC_CONVOLUTION_HELD_AND_NEW, KVC_CONVOLUTION_HELD}},
        {"record", {"offered", "absent"}, {KVC_RECORD_OFFERED, KVC_RECORD_ABSENT}},
        {"returned_tensors", {"fresh", "live"}, {KVC_RETURNED_FRESH, KVC_RETURNED_LIVE}},
        {"append_parts", {"one_by_one", "together"}, {KVC_PARTS_ONE_BY_ONE, KVC_PARTS_TOGETHER}},
        {"chunk", {"same", "unspecified"}, {KVC_CHUNK_SAME, KVC_CHUNK_UNSPECIFIED}},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        for (int value = 0; value < 5; value++) {
            char text[1024];
            kvc_contract contract;
            kvc_error error;
            const char *word = table[at].values[value] != NULL ? table[at].values[value] : "sometimes";
            (void)snprintf(text, sizeof text,
                           "{\"schema\": \"kvconform-contract/1\", \"id\": \"i\", \"subject\": \"s\", \"from\": \"1\", \"rules\": [{\"rule\": "
                           "\"%s\", \"value\": \"%s\", \"variants\": [\"*\"], \"basis\": \"documented\", \"source\": \"x\"}]}",
                           table[at].rule, word);
            cr_expect_eq(parse(text, &contract, &error), table[at].values[value] != NULL, "%s %s", table[at].rule, word);
            if (table[at].values[value] != NULL) {
                cr_expect_eq((int)contract.rule[0].value, table[at].documented_as[value], "%s %s", table[at].rule, word);
                cr_expect_str_eq(kvc_rule_name_text(contract.rule[0].name), table[at].rule);
                cr_expect_str_eq(kvc_rule_value_text(&contract.rule[0], text, sizeof text), word);
            }
            kvc_contract_clear(&contract);
        }
    }
}

Test(contract, damage) {
    static const damage table[] = {
        {"kvconform-contract/1", "kvconform-spec/1", "schema"},
        {"\"id\": \"s-2\", ", "", "id"},
        {"\"id\": \"s-2\"", "\"id\": 2", "id"},
        {"\"extends\": \"s-1\"", "\"extends\": {}", "extends"},
        {"\"subject\": \"s\", ", "", "subject"},
        {"\"from\": \"2.0\"", "\"from\": 2.0", "from"},
        {"\"known_to\": \"2.4\"", "\"known_to\": 2.4", "known_to"},
        {"\"known_to\"", "\"until\"", "until"},
        {"\"rules\": [", "\"rules\": 7, \"notes\": [", "rules"},
        {"\"rules\": [", "\"rules\": [7, ", "rules"},
        {"\"rule\": \"crop_positive\"", "\"rule\": \"crop_negative\"", "crop_negative"},
        {"\"rule\": \"crop_positive\", ", "", "rule"},
        {"\"value\": \"refuse\"", "\"value\": \"allow\"", "crop_positive"},
        {"\"value\": \"refuse\"", "\"value\": [\"refuse\"]", "crop_positive"},
        {"\"value\": \"refuse\", ", "", "crop_positive"},
        {"[\"position\", \"container\"]", "\"position\"", "calls"},
        {"[\"position\", \"container\"]", "[\"position\", \"email\"]", "email"},
        {"[\"position\", \"container\"]", "[\"position\", 3]", "calls"},
        {"\"errors\": [\"ValueError\", \"RuntimeError\"]", "\"errors\": \"ValueError\"", "errors"},
        {"\"errors\": [\"ValueError\", ", "\"errors\": [\"\", ", "errors"},
        {"\"errors\": [\"ValueError\", ", "\"errors\": [3, ", "errors"},
        {"\"errors\": [", "\"errors\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", ", "errors"},
        {"\"variants\": [\"*\"]", "\"variants\": []", "variants"},
        {"\"variants\": [\"*\"], ", "", "variants"},
        {"\"variants\": [\"*\"]", "\"variants\": \"*\"", "variants"},
        {"\"basis\": \"documented\", ", "", "basis"},
        {"\"basis\": \"documented\"", "\"basis\": \"guessed\"", "basis"},
        {", \"source\": \"the docs\"", "", "source"},
        {"\"source\": \"the docs\"", "\"source\": \"the docs\", \"when\": 3", "when"},
        {"\"source\": \"the docs\"", "\"source\": \"the\\u0001docs\"", "source"},
        {"\"source\": \"the docs\"", "\"source\": \"a\", \"source\": \"b\"", "source"},
    };
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_contract contract;
        kvc_error error;
        int accepted = parse(damaged_text(good_text, table[at].from, table[at].to), &contract, &error);
        expect_refused(&table[at], accepted, "file.json: ", &error);
        kvc_contract_clear(&contract);
    }
}

Test(contract, cut_anywhere) {
    size_t length = strlen(good_text);
    for (size_t end = 0; end < length; end++) {
        char *text = malloc(end + 1);
        kvc_contract contract;
        kvc_error error = {""};
        cr_assert_not_null(text);
        memcpy(text, good_text, end);
        cr_expect_not(kvc_contract_parse(text, end, "file.json", &contract, &error), "cut at %zu", end);
        kvc_contract_clear(&contract);
        free(text);
    }
}

Test(contract, files) {
    kvc_contract contract;
    kvc_error error = {""};
    cr_expect_not(kvc_contract_read("/nowhere/x.json", &contract, &error));
    cr_expect_not_null(strstr(error.text, "/nowhere/x.json"), "%s", error.text);
    kvc_contract_clear(&contract);
}

/* The last rule of a name whose globs match wins; the others stay. */
Test(contract, rules_over_each_other) {
    kvc_contract contract;
    kvc_error error;
    kvc_rules rules;
    cr_assert(parse("{\"schema\": \"kvconform-contract/1\", \"id\": \"i\", \"subject\": \"s\", \"from\": \"1\", \"rules\": ["
                    "{\"rule\": \"crop_zero\", \"value\": \"empty\", \"variants\": [\"*\"], \"basis\": \"documented\", \"source\": \"a\"},"
                    "{\"rule\": \"crop_zero\", \"value\": \"shrink\", \"variants\": [\"Slide*\", \"Linear\"], \"basis\": \"documented\", \"source\": \"b\"},"
                    "{\"rule\": \"crop\", \"value\": \"absent\", \"variants\": [\"SlideTwo\"], \"basis\": \"documented\", \"source\": \"c\"}]}",
                    &contract, &error),
              "%s", error.text);
    kvc_rules_standard(&rules);
    kvc_rules_apply(&rules, &contract, "Full");
    cr_expect_eq(rules.rule[KVC_CONTRACT_CROP_ZERO]->value, (unsigned)KVC_ZERO_EMPTY);
    cr_expect_eq(rules.rule[KVC_CONTRACT_CROP]->value, (unsigned)KVC_CROP_REMOVE);
    kvc_rules_standard(&rules);
    kvc_rules_apply(&rules, &contract, "SlideTwo");
    cr_expect_eq(rules.rule[KVC_CONTRACT_CROP_ZERO]->value, (unsigned)KVC_ZERO_SHRINK);
    cr_expect_eq(rules.rule[KVC_CONTRACT_CROP]->value, (unsigned)KVC_CROP_ABSENT);
    kvc_rules_standard(&rules);
    kvc_rules_apply(&rules, &contract, "Linear");
    cr_expect_eq(rules.rule[KVC_CONTRACT_CROP_ZERO]->value, (unsigned)KVC_ZERO_SHRINK);
    kvc_contract_clear(&contract);
}

/* What holds where a contract is silent is said for every rule. */
Test(contract, standard_rules) {
    kvc_rules rules;
    kvc_rules_standard(&rules);
    for (int at = 0; at < KVC_CONTRACT_RULES; at++) {
        cr_expect_eq((int)rules.rule[at]->name, at);
        cr_assert_not_null(rules.rule[at]->source);
        cr_expect_gt(strlen(rules.rule[at]->source), (size_t)10);
    }
}

Test(contract, versions) {
    static const char *const rising[] = {"",       "1",      "4.57.6", "5.9.1",  "5.12.0", "5.12.1",
                                         "5.14.1", "5.15.1", "5.17.0", "5.24.0", "5.24.1", "6"};
    for (size_t a = 0; a < sizeof rising / sizeof rising[0]; a++) {
        for (size_t b = 0; b < sizeof rising / sizeof rising[0]; b++) {
            int order = kvc_version_compare(rising[a], rising[b]);
            cr_expect_eq((order > 0) - (order < 0), (a > b) - (a < b), "%s %s", rising[a], rising[b]);
        }
    }
    cr_expect_eq(kvc_version_compare("5.12", "5.12.0"), 0);
    cr_expect_lt(kvc_version_compare("5.9.1", "5.12.0.dev0"), 0);
    cr_expect_eq(kvc_version_compare("5.12.0.dev0", "5.12.0"), 0);
    cr_expect_lt(kvc_version_compare("5.24.0rc1", "5.24.1"), 0);
    (void)kvc_version_compare("99999999999999999999999999.1", "x.y.z");
    (void)kvc_version_compare("5..1", "-3");
}

/* What every shipped rule owes its reader. */
Test(contract, shipped) {
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    cr_expect_geq(catalogue.contracts, (size_t)9);
    for (size_t at = 0; at < catalogue.contracts; at++) {
        const kvc_contract *contract = &catalogue.contract[at];
        cr_expect_gt(contract->rules, (size_t)0, "%s", contract->id);
        for (size_t rule = 0; rule < contract->rules; rule++) {
            cr_expect_gt(strlen(contract->rule[rule].source), (size_t)20, "%s: rule %zu", contract->id, rule);
            cr_expect_gt(contract->rule[rule].variants, 0);
        }
    }
    kvc_catalogue_clear(&catalogue);
}
