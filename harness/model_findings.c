#include "harness/model_findings.h"

#include <stdlib.h>
#include <string.h>

#include "harness/case.h"

static kvc_crew_result fail_memory(kvc_error *error)
{
    kvc_error_set(error, "not enough memory");
    return KVC_CREW_FAILED;
}

kvc_crew_result kvc_model_layers(const kvc_bench *bench, const kvc_params *params, cJSON **layers, kvc_error *error)
{
    cJSON *json = cJSON_CreateObject();
    char *request = NULL;
    kvc_crew_result result;

    *layers = NULL;
    if (json != NULL && cJSON_AddStringToObject(json, "variant", bench->variant) != NULL &&
        cJSON_AddItemToObject(json, "params", kvc_params_print(params, bench->spec)))
        request = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    if (request == NULL)
        return fail_memory(error);
    result = kvc_crew_layers(bench->crew, request, layers, error);
    cJSON_free(request);
    return result;
}

/* Marks in `reached` the findings that a failing sequence of assisted decoding belongs to. */
static int mark_reached(const kvc_bench *bench, const kvc_tally *tally, const kvc_exploration *exploration, uint8_t *reached, kvc_error *error)
{
    for (int at = 0; at < tally->count; at++) {
        const kvc_tally_entry *entry = &tally->entry[at];
        kvc_finding met = {.failure = entry->failure, .params = entry->params, .sequence = entry->sequence};
        if (!kvc_finding_name(bench, &met, error))
            return 0;
        for (int finding = 0; finding < exploration->findings; finding++) {
            const kvc_finding *known = &exploration->finding[finding];
            reached[finding] |= (uint8_t)(strcmp(known->id, met.id) == 0 || kvc_finding_covers(known, &met));
        }
    }
    return 1;
}

/* Whether it is still to be found out if assisted decoding comes to one of the findings. It reorders, resets and copies nothing. */
static int is_sought(const kvc_exploration *exploration, const uint8_t *reached)
{
    for (int at = 0; at < exploration->findings; at++) {
        kvc_law law = exploration->finding[at].law;
        if (!reached[at] && law != KVC_BATCH && law != KVC_RESET_LAW && law != KVC_SAVE)
            return 1;
    }
    return 0;
}

/* Does with the model what assisted decoding does, until nothing more is to be found out. */
static kvc_crew_result run_assisted(const kvc_bench *bench, const kvc_selection *selection, const char *const *variants,
                                    const kvc_exploration *exploration, uint8_t *reached, kvc_error *error)
{
    kvc_selection assisted = *selection;
    kvc_exclusions *exclusions = calloc(1, sizeof *exclusions);
    kvc_coverage *coverage = calloc(1, sizeof *coverage);
    kvc_tally *tally = calloc(1, sizeof *tally);
    kvc_generator *generator;
    uint64_t ops = 0;
    kvc_crew_result result = KVC_CREW_FAILED;

    kvc_profile_of(KVC_ASSISTED, &assisted.draws);
    generator = kvc_generator_open_draws(bench->catalogue, bench->contract, bench->spec, bench->variant, assisted.version, variants,
                                         assisted.seed, &assisted.draws, error);
    if (exclusions == NULL || coverage == NULL || tally == NULL)
        result = fail_memory(error);
    else if (generator != NULL)
        result = kvc_crew_choose(bench->crew, &assisted, generator, error);
    /* What is common is met at once. */
    for (uint64_t start = 0, end = KVC_BLOCK; result == KVC_CREW_DONE && start < KVC_ASSISTED_SEQUENCES && is_sought(exploration, reached);
         start = end, end = KVC_ASSISTED_SEQUENCES) {
        result = kvc_crew_range(bench->crew, start, end, exclusions, tally, coverage, &ops, error);
        if (result == KVC_CREW_DONE && !mark_reached(bench, tally, exploration, reached, error))
            result = KVC_CREW_FAILED;
    }
    kvc_generator_close(generator);
    free(tally);
    free(coverage);
    free(exclusions);
    return result;
}

/* The field `model` of a finding (docs/result.md) as text. Takes `links`. Returns 0 when memory is short. */
static int write_down(kvc_finding *finding, const cJSON *layers, int reached, cJSON *links)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *names;
    const cJSON *layer;

    cJSON_AddItemToObject(json, "cache", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(layers, "cache"), 1));
    names = cJSON_AddArrayToObject(json, "layers");
    cJSON_ArrayForEach(layer, cJSON_GetObjectItemCaseSensitive(layers, "layers"))
        cJSON_AddItemToArray(names, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(layer, "class"), 1));
    if (finding->failure.claimed == KVC_CLAIMED_NOTHING)
        cJSON_AddNullToObject(json, "promised");
    else
        cJSON_AddBoolToObject(json, "promised", finding->failure.claimed == KVC_CLAIMED_YES);
    cJSON_AddBoolToObject(json, "generate", reached);
    if (!cJSON_AddItemToObject(json, "links", links))
        cJSON_Delete(links);
    cJSON_free(finding->model);
    finding->model = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return finding->model != NULL;
}

kvc_crew_result kvc_model_findings_complete(const kvc_bench *bench, const kvc_selection *selection, const char *const *variants,
                                            kvc_layer_links *links, kvc_exploration *exploration, kvc_error *error)
{
    uint8_t reached[KVC_FINDINGS_MAX] = {0};
    kvc_crew_result result = KVC_CREW_DONE;

    if (is_sought(exploration, reached))
        result = run_assisted(bench, selection, variants, exploration, reached, error);
    for (int at = 0; at < exploration->findings && result == KVC_CREW_DONE; at++) {
        kvc_finding *finding = &exploration->finding[at];
        cJSON *layers = NULL;
        cJSON *list = NULL;
        result = kvc_model_layers(bench, &finding->params, &layers, error);
        if (result == KVC_CREW_DONE)
            result = kvc_layer_links_find(links, cJSON_GetObjectItemCaseSensitive(layers, "layers"), finding, &list, error);
        if (result == KVC_CREW_DONE && !cJSON_IsNull(layers) && !write_down(finding, layers, reached[at], list))
            result = fail_memory(error);
        else if (result == KVC_CREW_DONE && cJSON_IsNull(layers))
            cJSON_Delete(list);
        cJSON_Delete(layers);
    }
    return result;
}
