/* Spec files: reading, and what is worked out of those that are good. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "harness/choice.h"
#include "reference/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const variants[] = {"full", "window", NULL};
    kvc_spec spec;
    kvc_error error = {""};
    kvc_catalogue catalogue = {.specs = 1, .spec = &spec};
    kvc_contract contract;
    kvc_rules rules;
    kvc_choice choice;
    kvc_params params;
    kvc_plan *plan;

    if (!kvc_spec_parse((const char *)data, size, "input", &spec, &error)) {
        KVC_MUST(error.text[0] != '\0');
        return 0;
    }
    plan = malloc(sizeof *plan);
    if (plan == NULL)
        return 0;
    memset(&contract, 0, sizeof contract);
    kvc_catalogue_rules(&catalogue, &contract, spec.variant, &rules);
    kvc_choice_make(&spec, &rules, "1", variants, &choice);
    params = kvc_choice_smallest(&choice);
    if (choice.combinations > 0)
        (void)kvc_plan_make(&catalogue, &contract, &spec, spec.variant, &params, plan, &error);
    free(plan);
    return 0;
}
