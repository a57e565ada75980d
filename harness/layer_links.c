#include "harness/layer_links.h"

#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "reports/model.h"

/* Of one target: a subject has no more variants of layers. */
enum { VARIANTS_MAX = 64, PROOF_RUNS = 20000 };

/* One variant of a layer, and what its own run finds. */
typedef struct studied {
    const char *variant; /* of the options' list */
    kvc_generator *generator;
    kvc_bench bench;
    int explored;
    kvc_exploration exploration;
} studied;

struct kvc_layer_links {
    kvc_layer_links_options options;
    studied variant[VARIANTS_MAX];
    int variants;
};

kvc_layer_links *kvc_layer_links_open(const kvc_layer_links_options *options)
{
    kvc_layer_links *links = calloc(1, sizeof *links);

    if (links != NULL)
        links->options = *options;
    return links;
}

void kvc_layer_links_close(kvc_layer_links *links)
{
    for (int at = 0; links != NULL && at < links->variants; at++) {
        kvc_generator_close(links->variant[at].generator);
        if (links->variant[at].explored)
            kvc_exploration_clear(&links->variant[at].exploration);
    }
    free(links);
}

/* The entry of a variant, made when it is first asked for. *out is NULL when the subject or the specs have none of this name. */
static int study(kvc_layer_links *links, const char *name, studied **out, kvc_error *error)
{
    const kvc_layer_links_options *options = &links->options;
    const kvc_spec *spec = kvc_catalogue_spec(options->catalogue, options->selection.subject, name);
    size_t listed = 0;
    studied *one;

    *out = NULL;
    for (int at = 0; at < links->variants && *out == NULL; at++) {
        if (strcmp(links->variant[at].variant, name) == 0)
            *out = &links->variant[at];
    }
    while (options->variants[listed] != NULL && strcmp(options->variants[listed], name) != 0)
        listed++;
    if (*out != NULL || spec == NULL || spec->kind == KVC_KIND_MODEL || options->variants[listed] == NULL || links->variants == VARIANTS_MAX)
        return 1;
    one = &links->variant[links->variants];
    one->variant = options->variants[listed];
    one->bench = (kvc_bench){options->crew, options->catalogue, options->contract, spec, one->variant, kvc_params_standard(), PROOF_RUNS, NULL};
    one->generator = kvc_generator_open_draws(options->catalogue, options->contract, spec, one->variant, options->selection.version,
                                              options->variants, options->selection.seed, &options->selection.draws, error);
    if (one->generator == NULL)
        return 0;
    one->bench.smallest = kvc_generator_smallest(one->generator);
    links->variants++;
    *out = one;
    return 1;
}

static kvc_crew_result choose(kvc_layer_links *links, studied *one, kvc_error *error)
{
    kvc_selection *selection = &links->options.selection;

    memset(selection->variant, 0, sizeof selection->variant);
    memcpy(selection->variant, one->variant, strlen(one->variant));
    return kvc_crew_choose(links->options.crew, selection, one->generator, error);
}

/* What a run of the variant finds, but for the stand-alone programs. */
static kvc_crew_result explore(kvc_layer_links *links, studied *one, kvc_error *error)
{
    uint64_t sequences = links->options.sequences / (uint64_t)one->bench.spec->share;
    kvc_explore_options options = {.sequences = sequences < links->options.portion ? sequences : links->options.portion,
                                   .deaths = links->options.deaths};
    kvc_crew_result result;

    if (one->explored)
        return KVC_CREW_DONE;
    options.sequences = options.sequences > 0 ? options.sequences : 1;
    result = choose(links, one, error);
    if (result == KVC_CREW_DONE)
        result = kvc_explore(&one->bench, one->generator, &options, &one->exploration, error);
    if (result == KVC_CREW_DONE)
        one->explored = 1;
    else
        kvc_exploration_clear(&one->exploration);
    return result;
}

/* The finding of the variant's own run that a failure in it belongs to, or NULL. */
static const kvc_finding *find_same(const studied *one, const kvc_finding *failing)
{
    for (int at = 0; at < one->exploration.findings; at++) {
        if (strcmp(one->exploration.finding[at].id, failing->id) == 0)
            return &one->exploration.finding[at];
    }
    for (int at = 0; at < one->exploration.findings; at++) {
        if (kvc_finding_covers(&one->exploration.finding[at], failing))
            return &one->exploration.finding[at];
    }
    return NULL;
}

/* Makes the failing case as small as the variant's own run would, until it is one that the run has found. */
static kvc_crew_result identify(kvc_layer_links *links, studied *one, kvc_finding *failing, kvc_error *error)
{
    const kvc_finding *same;
    kvc_crew_result result = kvc_finding_shrink(&one->bench, failing, error);

    if (result == KVC_CREW_DONE && !kvc_finding_name(&one->bench, failing, error))
        result = KVC_CREW_FAILED;
    if (result == KVC_CREW_DONE)
        result = explore(links, one, error);
    if (result != KVC_CREW_DONE)
        return result;
    same = find_same(one, failing);
    if (same == NULL) {
        result = kvc_finding_prove(&one->bench, failing, error);
        if (result == KVC_CREW_DONE && !kvc_finding_name(&one->bench, failing, error))
            result = KVC_CREW_FAILED;
        same = result == KVC_CREW_DONE ? find_same(one, failing) : NULL;
    }
    if (same != NULL) {
        memcpy(failing->id, same->id, sizeof failing->id);
        failing->law = same->law;
    }
    return result;
}

/* Adds what layer number `layer` shows, beside the layers that show the same. */
static int add_link(cJSON *list, const char *variant, const kvc_finding *failing, int layer)
{
    cJSON *entry = NULL;
    cJSON *numbers;

    cJSON_ArrayForEach(entry, list) {
        if (strcmp(kvc_json_string(entry, "id"), failing->id) == 0 && strcmp(kvc_json_string(entry, "variant"), variant) == 0)
            break;
    }
    if (entry == NULL) {
        entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "variant", variant);
        cJSON_AddStringToObject(entry, "law", kvc_law_name(failing->law));
        cJSON_AddStringToObject(entry, "id", failing->id);
        (void)cJSON_AddArrayToObject(entry, "layers");
        if (!cJSON_AddItemToArray(list, entry)) {
            cJSON_Delete(entry);
            return 0;
        }
    }
    numbers = cJSON_GetObjectItemCaseSensitive(entry, "layers");
    return cJSON_AddItemToArray(numbers, cJSON_CreateNumber(layer));
}

/* The case as the layer meets it. Returns 0 when it cannot be performed there. */
static int make_case(const studied *one, const cJSON *layer, const kvc_finding *finding, kvc_finding *out)
{
    int batch = kvc_param_find("batch");
    kvc_error ignored;
    kvc_plan plan;

    memset(out, 0, sizeof *out);
    out->params = one->bench.smallest;
    if ((one->bench.spec->params & 1u << batch) != 0)
        out->params.batch = finding->params.batch;
    out->sequence = finding->sequence;
    return (out->params.batch == finding->params.batch) &&
           kvc_params_read(cJSON_GetObjectItemCaseSensitive(layer, "params"), "layers", one->bench.spec, &out->params, &ignored) &&
           kvc_plan_make(one->bench.catalogue, one->bench.contract, one->bench.spec, one->variant, &out->params, &plan, &ignored) &&
           kvc_sequence_is_valid(&plan, &out->sequence, &ignored);
}

static kvc_crew_result try_layer(kvc_layer_links *links, const cJSON *layer, int number, const kvc_finding *finding, cJSON *list,
                                 kvc_error *error)
{
    studied *one;
    kvc_finding failing;
    uint8_t failed = 0;
    kvc_crew_result result;

    if (!study(links, kvc_json_string(layer, "variant"), &one, error))
        return KVC_CREW_FAILED;
    if (one == NULL || !make_case(one, layer, finding, &failing))
        return KVC_CREW_DONE;
    result = choose(links, one, error);
    if (result == KVC_CREW_DONE)
        result = kvc_crew_evaluate(links->options.crew, &failing.params, &failing.sequence, 1, &failed, &failing.failure, error);
    if (result == KVC_CREW_DONE && failed) {
        result = identify(links, one, &failing, error);
        if (result == KVC_CREW_DONE && !add_link(list, one->variant, &failing, number)) {
            kvc_error_set(error, "not enough memory");
            result = KVC_CREW_FAILED;
        }
    }
    kvc_finding_clear(&failing);
    return result;
}

kvc_crew_result kvc_layer_links_find(kvc_layer_links *links, const cJSON *layers, const kvc_finding *finding, cJSON **list, kvc_error *error)
{
    cJSON *found = cJSON_CreateArray();
    kvc_crew_result result = found != NULL ? KVC_CREW_DONE : KVC_CREW_FAILED;
    const cJSON *layer;
    int number = 0;

    if (found == NULL)
        kvc_error_set(error, "not enough memory");
    cJSON_ArrayForEach(layer, layers) {
        if (result == KVC_CREW_DONE)
            result = try_layer(links, layer, number, finding, found, error);
        number++;
    }
    if (result == KVC_CREW_DONE) {
        *list = found;
    } else {
        *list = NULL;
        cJSON_Delete(found);
    }
    return result;
}
