#include "harness/choice.h"

#include <string.h>

#include "reference/plan.h"

/* Every word of `choice`, joined by `+`, is in the version: by the spec's `since`, and for layers by the subject's variants. */
static int words_are_there(const kvc_spec *spec, const char *choice, const char *version, const char *const *variants)
{
    while (*choice != '\0') {
        char word[KVC_CHOICE_NAME_MAX];
        size_t length = strcspn(choice, "+");
        const char *since;
        memcpy(word, choice, length);
        word[length] = '\0';
        since = kvc_spec_since(spec, word);
        if (since[0] != '\0' && kvc_version_compare(version, since) < 0)
            return 0;
        if (variants != NULL) {
            size_t at = 0;
            while (variants[at] != NULL && strcmp(variants[at], word) != 0)
                at++;
            if (variants[at] == NULL)
                return 0;
        }
        choice += length + (choice[length] == '+');
    }
    return 1;
}

/* Whether no layer of the container would be another with these parts than with those of an earlier choice. */
static int is_repeated(const kvc_catalogue *catalogue, const kvc_choice *choice, int layers, int parts)
{
    const kvc_spec *spec[KVC_PLAN_LAYERS_MAX];
    unsigned mask[KVC_PLAN_LAYERS_MAX];
    unsigned other[KVC_PLAN_LAYERS_MAX];
    kvc_error ignored;
    int count;

    if (choice->spec->layers == 0 || choice->spec->views > 0)
        return 0;
    count = kvc_plan_layer_parts(catalogue, choice->spec, choice->spec->variant, layers, parts, spec, mask, &ignored);
    for (int at = 0; at < choice->combinations; at++) {
        if (choice->layers[at] == layers &&
            kvc_plan_layer_parts(catalogue, choice->spec, choice->spec->variant, layers, choice->parts[at], spec, other,
                                 &ignored) == count &&
            memcmp(mask, other, (size_t)count * sizeof mask[0]) == 0)
            return 1;
    }
    return 0;
}

void kvc_choice_make(const kvc_catalogue *catalogue, const kvc_spec *spec, const kvc_rules *rules, const char *version,
                     const char *const *variants, kvc_choice *choice)
{
    const kvc_param_info *table = kvc_param_table();

    memset(choice, 0, sizeof *choice);
    choice->spec = spec;
    choice->calls = rules->rule[KVC_CONTRACT_CALLS]->value | 1u << KVC_CALL_POSITION;
    choice->dtypes = spec->dtypes;
    choice->layouts = 1u << KVC_CONTIGUOUS | 1u << KVC_STRIDED;
    choice->watch_most = 1;
    memcpy(choice->low, spec->low, sizeof choice->low);
    memcpy(choice->high, spec->high, sizeof choice->high);
    /* A whole model makes the inputs of its cache and calls it: how they lie, and how, is its own. */
    if (spec->kind == KVC_KIND_MODEL) {
        choice->calls = 1u << KVC_CALL_POSITION;
        choice->layouts = 1u << KVC_CONTIGUOUS;
        choice->watch_most = 0;
    }
    for (int at = 0; at < KVC_PARAMS; at++) {
        const char *since = kvc_spec_since(spec, table[at].name);
        if (since[0] != '\0' && kvc_version_compare(version, since) < 0)
            choice->frozen |= 1u << at;
    }
    for (int layers = 0; layers < (spec->layers > 0 ? spec->layers : 1); layers++) {
        if (spec->layers > 0 && !words_are_there(spec, spec->layer_choice[layers], version, variants))
            continue;
        for (int parts = 0; parts < (spec->parts > 0 ? spec->parts : 1); parts++) {
            if (spec->parts > 0 && !words_are_there(spec, spec->part_choice[parts], version, NULL))
                continue;
            if (choice->combinations == KVC_COMBINATIONS_MAX)
                return;
            if (is_repeated(catalogue, choice, layers, parts))
                continue;
            choice->layers[choice->combinations] = layers;
            choice->parts[choice->combinations++] = parts;
        }
    }
}

static int nothing_left(const kvc_choice *choice, const kvc_draws *draws, const char *param, kvc_error *error)
{
    kvc_error_set(error, "%s: profile %s: parameter \"%s\" has no value that both the profile and the spec have", choice->spec->variant,
                  draws->name, param);
    return 0;
}

int kvc_choice_narrow(kvc_choice *choice, const kvc_draws *draws, kvc_error *error)
{
    const kvc_param_info *table = kvc_param_table();
    const kvc_spec *spec = choice->spec;

    for (int at = 0; at < KVC_PARAMS; at++) {
        size_t offset = table[at].offset;
        if (offset == offsetof(kvc_params, dtype))
            choice->dtypes &= draws->words[at];
        if (offset == offsetof(kvc_params, layout))
            choice->layouts &= draws->words[at];
        if (offset == offsetof(kvc_params, call))
            choice->calls &= draws->words[at];
        if (offset == offsetof(kvc_params, watch)) {
            if (draws->low[at] > choice->watch_least)
                choice->watch_least = draws->low[at];
            if (draws->high[at] < choice->watch_most)
                choice->watch_most = draws->high[at];
            if (choice->watch_least > choice->watch_most)
                return nothing_left(choice, draws, table[at].name, error);
        }
        if ((spec->params & (1u << at)) == 0 || (choice->frozen & (1u << at)) != 0)
            continue;
        if (draws->low[at] > choice->low[at])
            choice->low[at] += (draws->low[at] - choice->low[at] + spec->step[at] - 1) / spec->step[at] * spec->step[at];
        if (draws->high[at] < choice->high[at])
            choice->high[at] = draws->high[at];
        if (choice->low[at] > choice->high[at])
            return nothing_left(choice, draws, table[at].name, error);
    }
    if (choice->dtypes == 0)
        return nothing_left(choice, draws, "dtype", error);
    if (choice->calls == 0)
        return nothing_left(choice, draws, "call", error);
    return 1;
}

int kvc_choice_allows(const kvc_spec *spec, const kvc_params *params, kvc_error *error)
{
    const kvc_param_info *table = kvc_param_table();

    for (int at = 0; at < KVC_PARAMS; at++) {
        int32_t value = kvc_param_get(params, at);
        if (table[at].words != NULL || (spec->params & (1u << at)) == 0)
            continue;
        if (value < table[at].minimum || value > table[at].maximum) {
            kvc_error_set(error, "%s: parameter \"%s\": %d, expected %d to %d", spec->variant, table[at].name,
                          (int)value, (int)table[at].minimum, (int)table[at].maximum);
            return 0;
        }
    }
    return 1;
}

static void set_by_offset(kvc_params *params, size_t offset, int32_t value)
{
    const kvc_param_info *table = kvc_param_table();

    for (int at = 0; at < KVC_PARAMS; at++) {
        if (table[at].offset == offset)
            kvc_param_set(params, at, value);
    }
}

/* Sets a parameter that the spec uses to the value nearest to `wanted`. */
static void set_near(const kvc_choice *choice, kvc_params *params, size_t offset, int32_t wanted)
{
    const kvc_param_info *table = kvc_param_table();
    const kvc_spec *spec = choice->spec;

    for (int at = 0; at < KVC_PARAMS; at++) {
        int32_t value = wanted;
        if (table[at].offset != offset || (spec->params & (1u << at)) == 0 || (choice->frozen & (1u << at)) != 0)
            continue;
        if (value < choice->low[at])
            value = choice->low[at];
        if (value > choice->high[at])
            value = choice->high[at];
        kvc_param_set(params, at, value - (value - choice->low[at]) % spec->step[at]);
    }
}

kvc_params kvc_choice_smallest(const kvc_choice *choice)
{
    kvc_params params = kvc_params_standard();
    const kvc_spec *spec = choice->spec;

    for (int at = 0; at < KVC_PARAMS; at++) {
        if ((spec->params & (1u << at)) != 0)
            kvc_param_set(&params, at, choice->low[at]);
    }
    params.values = (int32_t)spec->values;
    params.watch = choice->watch_least;
    if ((choice->layouts & (1u << KVC_CONTIGUOUS)) == 0)
        params.layout = KVC_STRIDED;
    for (int32_t call = KVC_CALLS - 1; call >= 0; call--) {
        if ((choice->calls & (1u << call)) != 0)
            params.call = call;
    }
    if (choice->combinations > 0) {
        params.parts = choice->parts[0];
        params.layers = choice->layers[0];
    }
    for (int32_t dtype = KVC_DTYPES - 1; dtype >= 0; dtype--) {
        if ((choice->dtypes & (1u << dtype)) != 0)
            params.dtype = dtype;
    }
    return params;
}

kvc_params kvc_choice_base(const kvc_choice *choice, int combination)
{
    kvc_params params = kvc_choice_smallest(choice);

    params.parts = choice->parts[combination];
    params.layers = choice->layers[combination];
    set_near(choice, &params, offsetof(kvc_params, batch), 2);
    set_near(choice, &params, offsetof(kvc_params, window), 3);
    set_near(choice, &params, offsetof(kvc_params, capacity), 4);
    set_near(choice, &params, offsetof(kvc_params, kernel), 2);
    set_near(choice, &params, offsetof(kvc_params, block), 2);
    set_near(choice, &params, offsetof(kvc_params, keep), 1);
    set_near(choice, &params, offsetof(kvc_params, residual), 2);
    set_near(choice, &params, offsetof(kvc_params, sequences), 2);
    set_near(choice, &params, offsetof(kvc_params, snapshots), 4);
    /* Sizes that are multiples of something: the second of them is the first that need not fit everything. */
    for (int at = 0; at < KVC_PARAMS; at++) {
        if (choice->spec->step[at] > 1)
            set_near(choice, &params, kvc_param_table()[at].offset, choice->low[at] + choice->spec->step[at]);
    }
    set_by_offset(&params, offsetof(kvc_params, watch), choice->watch_most);
    return params;
}

int kvc_choice_call(const kvc_choice *choice, uint64_t turn)
{
    unsigned others = choice->calls & ~(1u << KVC_CALL_POSITION);
    unsigned left = others;
    int count = 0;

    for (int call = 0; call < KVC_CALLS; call++)
        count += (others >> call & 1u) != 0;
    /* A profile may leave out calling by position. */
    if (count == 0 || turn % 3 != 2)
        return kvc_choice_smallest(choice).call;
    for (uint64_t skipped = turn / 3 % (uint64_t)count; skipped > 0; skipped--)
        left &= left - 1; /* without its lowest */
    for (int call = 0; call < KVC_CALLS; call++) {
        if ((left >> call & 1u) != 0)
            return call;
    }
    return KVC_CALL_POSITION;
}

/* Of how many ways one is drawn: one that few subjects have does not change what all others are run with. */
static uint32_t drawn_calls(const kvc_choice *choice)
{
    return (choice->calls >> KVC_CALL_INFERENCE & 1u) != 0 ? KVC_CALLS : KVC_CALL_INFERENCE;
}

kvc_params kvc_choice_random(const kvc_choice *choice, kvc_random *random)
{
    kvc_params params = kvc_choice_smallest(choice);
    const kvc_spec *spec = choice->spec;
    uint32_t pick;

    for (int at = 0; at < KVC_PARAMS; at++) {
        if ((spec->params & (1u << at)) != 0 && (choice->frozen & (1u << at)) == 0)
            kvc_param_set(&params, at,
                          choice->low[at] + spec->step[at] * kvc_random_between(random, 0, (choice->high[at] - choice->low[at]) / spec->step[at]));
    }
    if (choice->combinations > 0) {
        pick = kvc_random_below(random, (uint32_t)choice->combinations);
        params.parts = choice->parts[pick];
        params.layers = choice->layers[pick];
    }
    if (kvc_random_one_in(random, 2)) {
        do
            pick = kvc_random_below(random, KVC_DTYPES);
        while ((choice->dtypes & (1u << pick)) == 0);
        params.dtype = (int32_t)pick;
    }
    params.layout = kvc_random_one_in(random, 4) ? KVC_STRIDED : KVC_CONTIGUOUS;
    if ((choice->layouts & (1u << params.layout)) == 0)
        params.layout = params.layout == KVC_STRIDED ? KVC_CONTIGUOUS : KVC_STRIDED;
    params.watch = kvc_random_one_in(random, 4);
    params.watch = params.watch < choice->watch_least ? choice->watch_least : params.watch > choice->watch_most ? choice->watch_most : params.watch;
    if (kvc_random_one_in(random, 3)) {
        do
            pick = kvc_random_below(random, drawn_calls(choice));
        while ((choice->calls & (1u << pick)) == 0);
        params.call = (int32_t)pick;
    }
    return params;
}

/* Where the bytes of choices go. */
typedef struct writer {
    uint8_t *bytes;
    size_t left;
} writer;

/* The reverse of kvc_random_read_below. */
static void put(writer *to, uint32_t limit, uint32_t number)
{
    for (size_t width = limit <= 1u << 8 ? 1 : limit <= 1u << 16 ? 2 : 4; width > 0 && to->left > 0; width--, number >>= 8) {
        *to->bytes++ = (uint8_t)number;
        to->left--;
    }
}

/* One draw for each that kvc_choice_random makes, in its order. */
void kvc_choice_write(const kvc_choice *choice, const kvc_params *params, uint8_t *bytes, size_t size)
{
    const kvc_spec *spec = choice->spec;
    kvc_params smallest = kvc_choice_smallest(choice);
    writer to = {bytes, size};
    int known;

    memset(bytes, 0, size);
    for (int at = 0; at < KVC_PARAMS; at++) {
        int32_t most = (choice->high[at] - choice->low[at]) / spec->step[at];
        int32_t number = (kvc_param_get(params, at) - choice->low[at]) / spec->step[at];
        if ((spec->params & (1u << at)) != 0 && (choice->frozen & (1u << at)) == 0 && most > 0)
            put(&to, (uint32_t)most + 1, (uint32_t)(number < 0 ? 0 : number > most ? most : number));
    }
    if (choice->combinations > 0) {
        uint32_t pick = 0;
        for (int at = 0; at < choice->combinations; at++) {
            if (choice->parts[at] == params->parts && choice->layers[at] == params->layers)
                pick = (uint32_t)at;
        }
        put(&to, (uint32_t)choice->combinations, pick);
    }
    known = params->dtype != smallest.dtype && (choice->dtypes & (1u << params->dtype)) != 0;
    put(&to, 2, !known);
    if (known)
        put(&to, KVC_DTYPES, (uint32_t)params->dtype);
    put(&to, 4, params->layout != KVC_STRIDED);
    put(&to, 4, !params->watch);
    known = params->call != KVC_CALL_POSITION && (choice->calls & (1u << params->call)) != 0;
    put(&to, 3, !known);
    if (known)
        put(&to, drawn_calls(choice), (uint32_t)params->call);
}
