/* Contract files: reading, and looking up the rules of a variant. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "reference/contract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const variants[] = {"full", "window+fault", "LinearAttentionLayer", ""};
    kvc_contract contract;
    kvc_error error = {""};

    if (!kvc_contract_parse((const char *)data, size, "input", &contract, &error)) {
        KVC_MUST(error.text[0] != '\0');
    } else {
        for (size_t at = 0; at < sizeof variants / sizeof variants[0]; at++) {
            kvc_rules rules;
            char text[64];
            kvc_rules_standard(&rules);
            kvc_rules_apply(&rules, &contract, variants[at]);
            for (int rule = 0; rule < KVC_CONTRACT_RULES; rule++) {
                KVC_MUST(rules.rule[rule] != NULL && rules.rule[rule]->name == (kvc_rule_name)rule);
                KVC_MUST(kvc_rule_value_text(rules.rule[rule], text, sizeof text) != NULL);
            }
        }
        KVC_MUST(kvc_version_compare(contract.from, contract.from) == 0);
        KVC_MUST((kvc_version_compare(contract.from, contract.known_to) < 0) ==
                 (kvc_version_compare(contract.known_to, contract.from) > 0));
    }
    kvc_contract_clear(&contract);
    return 0;
}
