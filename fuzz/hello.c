/* A hello and what it brings: what is refused brings nothing, and what is brought can be planned and is forgotten. */
#include <string.h>

#include "fuzz/catalogue.h"
#include "harness/choice.h"
#include "harness/protocol.h"
#include "reference/brought.h"
#include "reference/json.h"

/* Plans one case of each brought spec, as smoke does. */
static void plan_all(const kvc_catalogue *catalogue, const cJSON *hello)
{
    static kvc_plan plan;
    const char *version = cJSON_GetObjectItemCaseSensitive(hello, "version")->valuestring;

    for (size_t at = catalogue->specs - catalogue->brought_specs; at < catalogue->specs; at++) {
        const kvc_spec *spec = &catalogue->spec[at];
        static const char *const variants[] = {NULL};
        int assumed;
        const kvc_contract *contract = kvc_catalogue_contract(catalogue, spec->subject, version, &assumed);
        kvc_rules rules;
        kvc_choice choice;
        kvc_params params;
        kvc_error error = {""};
        if (contract == NULL)
            continue;
        kvc_catalogue_rules(catalogue, contract, spec->variant, &rules);
        kvc_choice_make(catalogue, spec, &rules, version, variants, &choice);
        params = kvc_choice_smallest(&choice);
        if (!kvc_plan_make(catalogue, contract, spec, spec->variant, &params, &plan, &error))
            KVC_MUST(error.text[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kvc_catalogue catalogue;
    static size_t specs;
    static size_t contracts;
    kvc_error error = {""};
    cJSON *hello = NULL;

    if (specs == 0) {
        catalogue = *kvc_fuzz_catalogue();
        specs = catalogue.specs;
        contracts = catalogue.contracts;
    }
    if (kvc_json_parse((const char *)data, size, "input", &hello, &error) && kvc_reply_check_hello(hello, &error)) {
        if (kvc_catalogue_bring(&catalogue, hello, &error)) {
            plan_all(&catalogue, hello);
        } else {
            KVC_MUST(error.text[0] != '\0');
            KVC_MUST(catalogue.specs == specs && catalogue.contracts == contracts);
        }
        KVC_MUST(catalogue.specs == specs + catalogue.brought_specs);
    }
    cJSON_Delete(hello);
    return 0;
}
