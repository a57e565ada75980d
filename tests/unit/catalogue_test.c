/* The catalogue: damaged folders, the contract of a version, and the rules of each variant in each age. */
#include "tests/unit/support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "reference/model.h"

/* Which contract a version gets; NULL: none. */
static void expect_contract(const kvc_catalogue *catalogue, const char *version, const char *id, int assumed) {
    int is_assumed = -1;
    const kvc_contract *contract = kvc_catalogue_contract(catalogue, "transformers", version, &is_assumed);
    if (id == NULL) {
        cr_expect_null(contract, "%s", version);
        return;
    }
    cr_assert_not_null(contract, "%s", version);
    cr_expect_str_eq(contract->id, id, "%s has %s", version, contract->id);
    cr_expect_eq(is_assumed, assumed, "%s", version);
}

Test(catalogue, contract_of_a_version) {
    kvc_catalogue catalogue;
    int assumed = 0;
    read_shipped(&catalogue);
    expect_contract(&catalogue, "4.56.2", NULL, 0);
    expect_contract(&catalogue, "4.57.0", "transformers-4.57", 0);
    expect_contract(&catalogue, "4.57.6", "transformers-4.57", 0);
    expect_contract(&catalogue, "5.11.9", "transformers-4.57", 1);
    expect_contract(&catalogue, "5.12.0", "transformers-5.12", 0);
    expect_contract(&catalogue, "5.12.1", "transformers-5.12", 0);
    expect_contract(&catalogue, "5.13.0", "transformers-5.12", 0);
    expect_contract(&catalogue, "5.14.1", "transformers-5.14", 0);
    expect_contract(&catalogue, "5.15.1", "transformers-5.15", 0);
    expect_contract(&catalogue, "5.17.0", "transformers-5.17", 0);
    expect_contract(&catalogue, "5.18.0", "transformers-5.18", 0);
    expect_contract(&catalogue, "5.19.0", "transformers-5.19", 0);
    expect_contract(&catalogue, "5.21.3", "transformers-5.20", 0);
    expect_contract(&catalogue, "5.23.0", "transformers-5.22", 0);
    expect_contract(&catalogue, "5.24.0", "transformers-5.24", 0);
    expect_contract(&catalogue, "5.24.1", "transformers-5.24", 1);
    expect_contract(&catalogue, "5.100.0", "transformers-5.24", 1);
    expect_contract(&catalogue, "6.0.0.dev0", "transformers-5.24", 1);
    cr_expect_str_eq(kvc_catalogue_contract(&catalogue, "builtin", "1", &assumed)->id, "builtin-1");
    cr_expect_eq(assumed, 0);
    /* One without a first version is for none by itself. */
    cr_expect_str_eq(kvc_catalogue_contract(&catalogue, "mlx-lm", "0.32.2", &assumed)->id, "mlx-lm-0.32");
    cr_expect_null(kvc_catalogue_contract(&catalogue, "mlx-lm", "0.20.0", &assumed));
    cr_expect_str_eq(kvc_catalogue_contract_by_id(&catalogue, "mlx-lm-callers")->from, "");
    cr_expect_null(kvc_catalogue_contract(&catalogue, "nobody", "1", &assumed));
    cr_expect_eq(assumed, 0);
    cr_expect_null(kvc_catalogue_contract_by_id(&catalogue, "transformers-5.13"));
    kvc_catalogue_clear(&catalogue);
    cr_expect_eq(catalogue.specs + catalogue.contracts, (size_t)0);
}

Test(catalogue, spec_of_a_variant) {
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    cr_assert_not_null(kvc_catalogue_spec(&catalogue, "builtin", "full"));
    cr_expect_eq(kvc_catalogue_spec(&catalogue, "builtin", "full+zero_empties"), kvc_catalogue_spec(&catalogue, "builtin", "full"));
    cr_expect_null(kvc_catalogue_spec(&catalogue, "builtin", "ful"));
    cr_expect_null(kvc_catalogue_spec(&catalogue, "builtin", "fuller"));
    cr_expect_null(kvc_catalogue_spec(&catalogue, "builtin", "DynamicLayer"));
    cr_expect_null(kvc_catalogue_spec(&catalogue, "builtin", ""));
    kvc_catalogue_clear(&catalogue);
}

static kvc_rules rules_of(const kvc_catalogue *catalogue, const char *version, const char *variant) {
    int assumed = 0;
    kvc_rules rules;
    const kvc_contract *contract = kvc_catalogue_contract(catalogue, "transformers", version, &assumed);
    cr_assert_not_null(contract, "%s", version);
    kvc_catalogue_rules(catalogue, contract, variant, &rules);
    return rules;
}

static void expect_rule(const kvc_catalogue *catalogue, const char *version, const char *variant, kvc_rule_name name,
                        unsigned value) {
    kvc_rules rules = rules_of(catalogue, version, variant);
    char words[128];
    cr_expect_eq(rules.rule[name]->value, value, "%s %s: %s is %s", version, variant, kvc_rule_name_text(name),
                 kvc_rule_value_text(rules.rule[name], words, sizeof words));
}

static int has_error(const kvc_contract_rule *rule, const char *kind) {
    for (int at = 0; at < rule->errors; at++) {
        if (strcmp(rule->error[at], kind) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A positive argument: the length to keep up to 5.19, refused from 5.20; linear layers never took one once they cropped at all. */
Test(catalogue, age_of_positive_arguments) {
    static const char *const keeping[] = {"5.12.1", "5.14.1", "5.15.1", "5.17.0"};
    static const char *const growing[] = {"DynamicLayer", "DynamicIndexedLayer", "DynamicSlidingWindowLayer",
                                          "MiniMaxM3VLSparseCacheLayer"};
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t variant = 0; variant < 4; variant++) {
        for (size_t at = 0; at < 4; at++) {
            expect_rule(&catalogue, keeping[at], growing[variant], KVC_CONTRACT_CROP_POSITIVE, KVC_POSITIVE_KEEP);
        }
        expect_rule(&catalogue, "5.20.0", growing[variant], KVC_CONTRACT_CROP_POSITIVE, KVC_POSITIVE_REFUSE);
        expect_rule(&catalogue, "5.24.0", growing[variant], KVC_CONTRACT_CROP_POSITIVE, KVC_POSITIVE_REFUSE);
        cr_expect(has_error(rules_of(&catalogue, "5.24.0", growing[variant]).rule[KVC_CONTRACT_CROP_POSITIVE], "ValueError"));
    }
    cr_expect(has_error(rules_of(&catalogue, "5.24.0", "DynamicSlidingWindowLayer").rule[KVC_CONTRACT_CROP_POSITIVE],
                        "RuntimeError"));
    cr_expect_not(has_error(rules_of(&catalogue, "5.24.0", "DynamicLayer").rule[KVC_CONTRACT_CROP_POSITIVE], "RuntimeError"));
    for (size_t at = 1; at < 4; at++) {
        expect_rule(&catalogue, keeping[at], "LinearAttentionLayer", KVC_CONTRACT_CROP_POSITIVE, KVC_POSITIVE_REFUSE);
    }
    cr_expect(has_error(rules_of(&catalogue, "5.24.0", "StaticLayer").rule[KVC_CONTRACT_CROP_POSITIVE], "RuntimeError"));
    kvc_catalogue_clear(&catalogue);
}

Test(catalogue, age_of_zero) {
    static const struct {
        const char *version;
        const char *variant;
        unsigned value;
    } table[] = {
        {"5.12.1", "DynamicLayer", KVC_ZERO_EMPTY},
        {"5.12.1", "DynamicIndexedLayer", KVC_ZERO_EMPTY},
        {"5.14.1", "DynamicLayer", KVC_ZERO_NOTHING},
        {"5.14.1", "DynamicIndexedLayer", KVC_ZERO_NOTHING},
        {"5.14.1", "LinearAttentionLayer", KVC_ZERO_SHRINK},
        {"5.15.1", "DynamicLayer", KVC_ZERO_NOTHING},
        {"5.15.1", "DynamicSlidingWindowLayer", KVC_ZERO_SHRINK},
        {"5.17.0", "LinearAttentionLayer", KVC_ZERO_SHRINK},
        {"5.24.0", "DynamicLayer", KVC_ZERO_NOTHING},
        {"5.24.0", "MiniMaxM3VLSparseCacheLayer", KVC_ZERO_NOTHING},
        {"5.24.0", "DynamicSlidingWindowLayer", KVC_ZERO_SHRINK},
        {"5.24.0", "DynamicCache", KVC_ZERO_SHRINK},
        {"5.24.0", "StaticLayer", KVC_ZERO_NOTHING},
    };
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        expect_rule(&catalogue, table[at].version, table[at].variant, KVC_CONTRACT_CROP_ZERO, table[at].value);
    }
    kvc_catalogue_clear(&catalogue);
}

Test(catalogue, ages_of_the_other_rules) {
    static const struct {
        const char *version;
        const char *variant;
        kvc_rule_name rule;
        unsigned value;
    } table[] = {
        {"5.12.1", "LinearAttentionLayer", KVC_CONTRACT_CROP, KVC_CROP_IGNORED},
        {"5.14.1", "LinearAttentionLayer", KVC_CONTRACT_CROP, KVC_CROP_REMOVE},
        {"5.12.1", "StaticLayer", KVC_CONTRACT_CROP, KVC_CROP_ABSENT},
        {"5.17.0", "StaticSlidingWindowLayer", KVC_CONTRACT_CROP, KVC_CROP_ABSENT},
        {"5.24.0", "StaticIndexedLayer", KVC_CONTRACT_CROP, KVC_CROP_REMOVE},
        {"5.12.1", "MiniMaxCache", KVC_CONTRACT_CROP, KVC_CROP_REFUSE},
        {"5.24.0", "MiniMaxCache", KVC_CONTRACT_CROP, KVC_CROP_REFUSE},
        {"5.12.1", "DynamicLayer", KVC_CONTRACT_CROP_UNUSED, KVC_UNUSED_EITHER},
        {"5.17.0", "DynamicLayer", KVC_CONTRACT_CROP_UNUSED, KVC_UNUSED_EITHER},
        {"5.23.0", "DynamicLayer", KVC_CONTRACT_CROP_UNUSED, KVC_UNUSED_NOTHING},
        {"5.24.0", "MiniMaxM3VLSparseCacheLayer", KVC_CONTRACT_CROP_UNUSED, KVC_UNUSED_NOTHING},
        {"5.24.0", "LinearAttentionLayer", KVC_CONTRACT_CROP_UNUSED, KVC_UNUSED_EITHER},
        {"5.12.1", "LinearAttentionLayer", KVC_CONTRACT_UNRECORDED, KVC_UNRECORDED_IGNORED},
        {"5.14.1", "LinearAttentionLayer", KVC_CONTRACT_UNRECORDED, KVC_UNRECORDED_REFUSE},
        {"5.24.0", "StaticSlidingWindowLayer", KVC_CONTRACT_UNRECORDED, KVC_UNRECORDED_REFUSE},
        {"5.12.1", "LinearAttentionLayer", KVC_CONTRACT_RECURRENT, KVC_RECURRENT_IGNORED},
        {"5.24.0", "LinearAttentionLayer", KVC_CONTRACT_RECURRENT, KVC_RECURRENT_REFUSE},
        {"5.24.0", "StaticLayer", KVC_CONTRACT_OVERFLOW, KVC_OVERFLOW_REFUSE},
        {"5.24.0", "StaticSlidingWindowLayer", KVC_CONTRACT_OVERFLOW, KVC_OVERFLOW_EVICT},
        {"5.15.1", "DynamicLayer", KVC_CONTRACT_CLAIM, KVC_CLAIM_NONE},
        {"5.17.0", "DynamicLayer", KVC_CONTRACT_CLAIM, KVC_CLAIM_CROPPABLE},
        {"5.12.1", "LinearAttentionLayer", KVC_CONTRACT_RETURNS, KVC_CONVOLUTION_HELD},
        {"5.14.1", "LinearAttentionLayer", KVC_CONTRACT_RETURNS, KVC_CONVOLUTION_HELD_AND_NEW},
        {"5.12.1", "DynamicSlidingWindowLayer", KVC_CONTRACT_RECORD, KVC_RECORD_ABSENT},
        {"5.14.1", "DynamicSlidingWindowLayer", KVC_CONTRACT_RECORD, KVC_RECORD_ABSENT},
        {"5.14.1", "LinearAttentionLayer", KVC_CONTRACT_RECORD, KVC_RECORD_OFFERED},
        {"5.15.1", "DynamicSlidingWindowLayer", KVC_CONTRACT_RECORD, KVC_RECORD_OFFERED},
        {"5.24.0", "LinearAttentionLayer", KVC_CONTRACT_BATCH_OPS, 1u << KVC_REORDER},
        {"5.24.0", "StaticLayer", KVC_CONTRACT_BATCH_OPS, 1u << KVC_REORDER},
        {"5.24.0", "DynamicLayer", KVC_CONTRACT_BATCH_OPS, 1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT},
    };
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        expect_rule(&catalogue, table[at].version, table[at].variant, table[at].rule, table[at].value);
    }
    cr_expect(has_error(rules_of(&catalogue, "5.14.1", "DynamicSlidingWindowLayer").rule[KVC_CONTRACT_UNRECORDED], "ValueError"));
    cr_expect(has_error(rules_of(&catalogue, "5.15.1", "DynamicSlidingWindowLayer").rule[KVC_CONTRACT_UNRECORDED], "RuntimeError"));
    cr_expect_not(has_error(rules_of(&catalogue, "5.15.1", "DynamicSlidingWindowLayer").rule[KVC_CONTRACT_UNRECORDED], "ValueError"));
    kvc_catalogue_clear(&catalogue);
}

/* The deprecated keyword lasts from 5.15 until 5.17, on layers and on their container. */
Test(catalogue, age_of_the_deprecated_keyword) {
    kvc_catalogue catalogue;
    const unsigned deprecated = 1u << KVC_CALL_DEPRECATED | 1u << KVC_CALL_CONTAINER_DEPRECATED;
    read_shipped(&catalogue);
    cr_expect_eq(rules_of(&catalogue, "5.14.1", "DynamicLayer").rule[KVC_CONTRACT_CALLS]->value & deprecated, 0u);
    cr_expect_eq(rules_of(&catalogue, "5.15.1", "DynamicLayer").rule[KVC_CONTRACT_CALLS]->value & deprecated, deprecated);
    cr_expect_eq(rules_of(&catalogue, "5.17.0", "DynamicLayer").rule[KVC_CONTRACT_CALLS]->value & deprecated, deprecated);
    cr_expect_eq(rules_of(&catalogue, "5.24.0", "DynamicLayer").rule[KVC_CONTRACT_CALLS]->value & deprecated, 0u);
    kvc_catalogue_clear(&catalogue);
}

/* The table that started the project: DynamicIndexedLayer holding 3 tokens, then crop(n). -1 stands for a refusal. */
Test(catalogue, crop_of_an_indexed_layer) {
    static const int n[10] = {5, 4, 3, 2, 1, 0, -1, -2, -3, -5};
    static const struct {
        const char *version;
        int length[10];
    } table[] = {
        {"5.12.1", {3, 3, 3, 2, 1, 0, 2, 1, 0, 0}},
        {"5.14.1", {3, 3, 3, 2, 1, 3, 2, 1, 0, 0}},
        {"5.15.1", {3, 3, 3, 2, 1, 3, 2, 1, 0, 0}},
        {"5.17.0", {3, 3, 3, 2, 1, 3, 2, 1, 0, 0}},
        {"5.24.0", {-1, -1, -1, -1, -1, 3, 2, 1, 0, 0}},
    };
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t age = 0; age < sizeof table / sizeof table[0]; age++) {
        for (int at = 0; at < 10; at++) {
            int assumed = 0;
            kvc_error error = {""};
            kvc_plan plan;
            kvc_model model;
            kvc_expectation expectation;
            kvc_params params = kvc_params_standard();
            kvc_op append = op_of("append 3");
            kvc_op crop = {.kind = KVC_CROP, .n = n[at]};
            cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract(&catalogue, "transformers", table[age].version, &assumed),
                                    kvc_catalogue_spec(&catalogue, "transformers", "DynamicIndexedLayer"), "DynamicIndexedLayer",
                                    &params, &plan, &error),
                      "%s", error.text);
            cr_assert(kvc_model_open(&model, &plan));
            kvc_model_expect(&model, &append, &expectation);
            cr_assert(kvc_model_commit(&model, &append, &expectation, 0));
            kvc_model_expect(&model, &crop, &expectation);
            if (table[age].length[at] < 0) {
                cr_expect_eq((int)expectation.verdict, KVC_MUST_REFUSE, "%s crop(%d)", table[age].version, n[at]);
                cr_expect_str_eq(expectation.rule->error[0], "ValueError");
            } else {
                cr_expect_eq((int)expectation.verdict, KVC_DO, "%s crop(%d)", table[age].version, n[at]);
                cr_expect_eq(expectation.target, table[age].length[at], "%s crop(%d): %d", table[age].version, n[at],
                             (int)expectation.target);
            }
            kvc_model_close(&model);
        }
    }
    kvc_catalogue_clear(&catalogue);
}

/* Every shipped variant gives a plan under every contract of its subject, in each choice of parts and layers. */
Test(catalogue, every_plan) {
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t at = 0; at < catalogue.specs; at++) {
        const kvc_spec *spec = &catalogue.spec[at];
        for (size_t age = 0; age < catalogue.contracts; age++) {
            if (strcmp(catalogue.contract[age].subject, spec->subject) != 0) {
                continue;
            }
            for (int choice = 0; choice < (spec->layers > 0 ? spec->layers : spec->parts > 0 ? spec->parts : 1); choice++) {
                kvc_params params = kvc_params_standard();
                kvc_error error = {""};
                kvc_plan plan;
                params.parts = spec->layers > 0 ? 0 : choice;
                params.layers = spec->layers > 0 ? choice : 0;
                params.states = spec->high[kvc_param_find("states")];
                cr_assert(kvc_plan_make(&catalogue, &catalogue.contract[age], spec, spec->variant, &params, &plan, &error), "%s",
                          error.text);
                if (spec->memory != 0) {
                    cr_expect(plan.slots == 0 && kvc_plan_has_op(&plan, KVC_DECODE), "%s", spec->variant);
                    continue;
                }
                cr_expect_gt(plan.slots, 0, "%s", spec->variant);
                cr_expect(kvc_plan_has_op(&plan, KVC_APPEND), "%s", spec->variant);
                for (int slot = 0; slot < plan.slots; slot++) {
                    cr_expect_geq(plan.slot[slot].channels, plan.slot[slot].dtype == KVC_INT64 ? 1 : 8, "%s %s", spec->variant,
                                  plan.slot[slot].name);
                    for (int other = 0; other < slot; other++) {
                        cr_expect_neq(strcmp(plan.slot[slot].name, plan.slot[other].name), 0, "%s", plan.slot[slot].name);
                    }
                }
            }
        }
    }
    kvc_catalogue_clear(&catalogue);
}

Test(catalogue, plan_of_layers_and_parts) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_plan plan;
    kvc_params params = kvc_params_standard();
    const kvc_contract *contract;
    const kvc_spec *spec;
    read_shipped(&catalogue);
    contract = kvc_catalogue_contract_by_id(&catalogue, "builtin-1");
    spec = kvc_catalogue_spec(&catalogue, "builtin", "layers");
    params.layers = 1;
    params.window = 5;
    cr_assert(kvc_plan_make(&catalogue, contract, spec, "layers+reset_first_only", &params, &plan, &error), "%s", error.text);
    cr_expect_str_eq(plan.variant, "layers+reset_first_only");
    cr_expect_str_eq(plan.layer_words, "full+window");
    cr_assert_eq(plan.layers, 2);
    cr_assert_eq(plan.slots, 4);
    cr_expect_str_eq(plan.slot[0].name, "layer0.keys");
    cr_expect_str_eq(plan.slot[3].returned_name, "layer1.returned.values");
    cr_expect_eq(plan.layer[0].records, 0);
    cr_expect_eq(plan.layer[1].records, 1);
    cr_expect_eq(kvc_plan_boundary(&plan), 5);
    params.layers = 6; /* full+fixed: a static buffer cannot be selected from or repeated, and does not record */
    cr_assert(kvc_plan_make(&catalogue, contract, spec, "layers", &params, &plan, &error), "%s", error.text);
    cr_expect_not(kvc_plan_has_op(&plan, KVC_SELECT) || kvc_plan_has_op(&plan, KVC_REPEAT) || kvc_plan_has_op(&plan, KVC_RECORD));
    params.layers = spec->layers;
    cr_expect_not(kvc_plan_make(&catalogue, contract, spec, "layers", &params, &plan, &error));
    cr_expect_not_null(strstr(error.text, "no such choice"), "%s", error.text);
    params.layers = -1;
    cr_expect_not(kvc_plan_make(&catalogue, contract, spec, "layers", &params, &plan, &error));
    contract = kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24");
    spec = kvc_catalogue_spec(&catalogue, "transformers", "LinearAttentionLayer");
    params = kvc_params_standard();
    params.states = 2;
    params.parts = 1;
    cr_assert(kvc_plan_make(&catalogue, contract, spec, "LinearAttentionLayer", &params, &plan, &error), "%s", error.text);
    cr_assert_eq(plan.slots, 4);
    cr_expect_str_eq(plan.slot[1].name, "conv_states.1");
    cr_expect_eq(plan.slot[1].salt, 4);
    cr_expect_str_eq(plan.slot[3].name, "recurrent_states.1");
    cr_expect_eq(plan.slot[3].salt, 6);
    kvc_catalogue_clear(&catalogue);
}

/* A data folder made for one test. */
static char folder[64];

static void make_folder(void) {
    static const char *const names[] = {"", "/specs", "/specs/s", "/specs/t", "/contracts"};
    char path[128];
    (void)snprintf(folder, sizeof folder, "kvconform-catalogue-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (size_t at = 1; at < sizeof names / sizeof names[0]; at++) {
        (void)snprintf(path, sizeof path, "%s%s", folder, names[at]);
        cr_assert_eq(mkdir(path, 0777), 0);
    }
}

static void remove_folder(void) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

static void put_file(const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_expect_geq(fputs(text, file), 0);
    cr_expect_eq(fclose(file), 0);
}

static void put_spec(const char *name, const char *subject, const char *variant) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"schema\": \"kvconform-spec/1\", \"subject\": \"%s\", \"variant\": \"%s\", \"title\": \"t\", \"kind\": \"full\", \"ops\": [\"append\"],"
                   "\"views\": [{\"name\": \"k\", \"salt\": 0, \"law\": \"KEYS\", \"rule\": \"all\", \"dims\": [\"batch\", \"tokens\", "
                   "\"key_dim\"]}]}",
                   subject, variant);
    put_file(name, text);
}

static void put_contract(const char *name, const char *id, const char *extends, const char *from) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"schema\": \"kvconform-contract/1\", \"id\": \"%s\", \"extends\": \"%s\", \"subject\": \"s\", \"from\": \"%s\","
                   "\"rules\": [{\"rule\": \"crop_zero\", \"value\": \"empty\", \"variants\": [\"*\"], \"basis\": \"inferred\", "
                   "\"source\": \"x\"}]}",
                   id, extends, from);
    put_file(name, text);
}

static int read_folder(kvc_catalogue *catalogue, kvc_error *error) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s", folder);
    memset(error, 0, sizeof *error);
    return kvc_catalogue_read(path, catalogue, error);
}

Test(catalogue, folders, .init = make_folder, .fini = remove_folder) {
    kvc_catalogue catalogue;
    kvc_error error;
    int assumed;
    put_spec("specs/s/a.json", "s", "a");
    put_spec("specs/t/a.json", "t", "a");
    put_file("specs/s/.hidden.json", "{");
    put_file("specs/s/README", "not JSON");
    put_file("specs/README", "not a folder");
    /* By version, not by name: 10 comes after 9. */
    put_contract("contracts/a.json", "ten", "nine", "10");
    put_contract("contracts/b.json", "nine", "", "9");
    cr_assert(read_folder(&catalogue, &error), "%s", error.text);
    cr_expect_eq(catalogue.specs, (size_t)2);
    cr_expect_str_eq(kvc_catalogue_contract(&catalogue, "s", "9.5", &assumed)->id, "nine");
    cr_expect_str_eq(kvc_catalogue_contract(&catalogue, "s", "10", &assumed)->id, "ten");
    cr_expect_str_eq(kvc_catalogue_contract(&catalogue, "s", "11", &assumed)->id, "ten");
    kvc_catalogue_clear(&catalogue);
}

static void expect_damage(const char *word) {
    kvc_catalogue catalogue;
    kvc_error error;
    cr_expect_not(read_folder(&catalogue, &error));
    cr_expect_not_null(strstr(error.text, word), "no \"%s\" in: %s", word, error.text);
    kvc_catalogue_clear(&catalogue);
}

Test(catalogue, damaged_spec, .init = make_folder, .fini = remove_folder) {
    put_spec("specs/s/a.json", "s", "a");
    put_file("specs/s/b.json", "{");
    expect_damage("specs/s/b.json");
}

Test(catalogue, spec_of_another_subject, .init = make_folder, .fini = remove_folder) {
    put_spec("specs/s/a.json", "t", "a");
    expect_damage("\"subject\"");
}

Test(catalogue, spec_twice, .init = make_folder, .fini = remove_folder) {
    put_spec("specs/s/a.json", "s", "a");
    put_spec("specs/s/b.json", "s", "a");
    expect_damage("specs/s/b.json");
}

Test(catalogue, damaged_contract, .init = make_folder, .fini = remove_folder) {
    put_contract("contracts/a.json", "a", "", "1");
    put_contract("contracts/b.json", "b", "", "");
    expect_damage("contracts/b.json");
}

Test(catalogue, contract_twice, .init = make_folder, .fini = remove_folder) {
    put_contract("contracts/a.json", "a", "", "1");
    put_contract("contracts/b.json", "a", "", "2");
    expect_damage("contracts/b.json");
}

Test(catalogue, contract_extends_nothing, .init = make_folder, .fini = remove_folder) {
    put_contract("contracts/a.json", "a", "b", "1");
    expect_damage("\"extends\"");
}

Test(catalogue, contracts_in_a_circle, .init = make_folder, .fini = remove_folder) {
    put_contract("contracts/a.json", "a", "b", "1");
    put_contract("contracts/b.json", "b", "a", "2");
    expect_damage("circle");
}

Test(catalogue, no_folder) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    char path[6000];
    cr_expect_not(kvc_catalogue_read("/nowhere", &catalogue, &error));
    cr_expect_not_null(strstr(error.text, "/nowhere/specs"), "%s", error.text);
    kvc_catalogue_clear(&catalogue);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cr_expect_not(kvc_catalogue_read(path, &catalogue, &error));
    cr_expect_not_null(strstr(error.text, "too long"), "%s", error.text);
    kvc_catalogue_clear(&catalogue);
}
