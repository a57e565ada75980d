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
        if (value < spec->low[at])
            value = spec->low[at];
        if (value > spec->high[at])
            value = spec->high[at];
        kvc_param_set(params, at, value - (value - spec->low[at]) % spec->step[at]);
    }
}

kvc_params kvc_choice_smallest(const kvc_choice *choice)
{
    kvc_params params = kvc_params_standard();
    const kvc_spec *spec = choice->spec;

    for (int at = 0; at < KVC_PARAMS; at++) {
        if ((spec->params & (1u << at)) != 0)
            kvc_param_set(&params, at, spec->low[at]);
    }
    params.values = (int32_t)spec->values;
    if (choice->combinations > 0) {
        params.parts = choice->parts[0];
        params.layers = choice->layers[0];
    }
    for (int32_t dtype = KVC_DTYPES - 1; dtype >= 0; dtype--) {
        if ((spec->dtypes & (1u << dtype)) != 0)
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
            set_near(choice, &params, kvc_param_table()[at].offset, choice->spec->low[at] + choice->spec->step[at]);
    }
    set_by_offset(&params, offsetof(kvc_params, watch), 1);
    return params;
}

int kvc_choice_call(const kvc_choice *choice, uint64_t turn)
{
    unsigned others = choice->calls & ~(1u << KVC_CALL_POSITION);
    unsigned left = others;
    int count = 0;

    for (int call = 0; call < KVC_CALLS; call++)
        count += (others >> call & 1u) != 0;
    if (count == 0 || turn % 3 != 2)
        return KVC_CALL_POSITION;
    for (uint64_t skipped = turn / 3 % (uint64_t)count; skipped > 0; skipped--)
        left &= left - 1; /* without its lowest */
    for (int call = 0; call < KVC_CALLS; call++) {
        if ((left >> call & 1u) != 0)
            return call;
    }
    return KVC_CALL_POSITION;
}

kvc_params kvc_choice_random(const kvc_choice *choice, kvc_random *random)
{
    kvc_params params = kvc_choice_smallest(choice);
    const kvc_spec *spec = choice->spec;
    uint32_t pick;

    for (int at = 0; at < KVC_PARAMS; at++) {
        if ((spec->params & (1u << at)) != 0 && (choice->frozen & (1u << at)) == 0)
            kvc_param_set(&params, at,
                          spec->low[at] + spec->step[at] * kvc_random_between(random, 0, (spec->high[at] - spec->low[at]) / spec->step[at]));
    }
    if (choice->combinations > 0) {
        pick = kvc_random_below(random, (uint32_t)choice->combinations);
        params.parts = choice->parts[pick];
        params.layers = choice->layers[pick];
    }
    if (kvc_random_one_in(random, 2)) {
        do
            pick = kvc_random_below(random, KVC_DTYPES);
        while ((spec->dtypes & (1u << pick)) == 0);
        params.dtype = (int32_t)pick;
    }
    params.layout = kvc_random_one_in(random, 4) ? KVC_STRIDED : KVC_CONTIGUOUS;
    params.watch = kvc_random_one_in(random, 4);
    if (kvc_random_one_in(random, 3)) {
        do
            pick = kvc_random_below(random, KVC_CALLS);
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
        int32_t most = (spec->high[at] - spec->low[at]) / spec->step[at];
        int32_t number = (kvc_param_get(params, at) - spec->low[at]) / spec->step[at];
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
    known = params->dtype != smallest.dtype && (spec->dtypes & (1u << params->dtype)) != 0;
    put(&to, 2, !known);
    if (known)
        put(&to, KVC_DTYPES, (uint32_t)params->dtype);
    put(&to, 4, params->layout != KVC_STRIDED);
    put(&to, 4, !params->watch);
    known = params->call != KVC_CALL_POSITION && (choice->calls & (1u << params->call)) != 0;
    put(&to, 3, !known);
    if (known)
        put(&to, KVC_CALLS, (uint32_t)params->call);
}
