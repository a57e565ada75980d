/* Case files: what is read can be written, and is the same when it is read again. */
#include <string.h>

#include "fuzz/catalogue.h"
#include "harness/case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const kvc_catalogue *catalogue = kvc_fuzz_catalogue();
    kvc_case *item = malloc(sizeof *item);
    kvc_case *again = malloc(sizeof *again);
    kvc_plan *plan = malloc(sizeof *plan);
    kvc_error error = {""};

    if (item == NULL || again == NULL || plan == NULL)
        abort();
    if (!kvc_case_parse((const char *)data, size, "input", catalogue, item, &error)) {
        KVC_MUST(error.text[0] != '\0');
    } else {
        const kvc_spec *spec = kvc_catalogue_spec(catalogue, item->subject, item->variant);
        int assumed;
        const kvc_contract *contract = kvc_catalogue_contract(catalogue, item->subject, "999", &assumed);
        cJSON *json = kvc_case_print(item, spec);
        char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
        cJSON *json_again;
        char *text_again;
        KVC_MUST(text != NULL);
        KVC_MUST(kvc_case_parse(text, strlen(text), "again", catalogue, again, &error));
        json_again = kvc_case_print(again, spec);
        text_again = json_again != NULL ? cJSON_PrintUnformatted(json_again) : NULL;
        KVC_MUST(text_again != NULL && strcmp(text, text_again) == 0);
        if (kvc_plan_make(catalogue, contract, spec, item->variant, &item->params, plan, &error) &&
            !kvc_sequence_is_valid(plan, &item->sequence, &error))
            KVC_MUST(error.text[0] != '\0');
        cJSON_free(text_again);
        cJSON_Delete(json_again);
        cJSON_free(text);
        cJSON_Delete(json);
    }
    free(plan);
    free(again);
    free(item);
    return 0;
}
