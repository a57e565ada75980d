#include "harness/profile.h"

#include <string.h>

const kvc_edges kvc_edges_standard = {.append = {2, 1, 1, 1, 1, 1, 1},
                                      .crop = {2, 2, 1, 1, 1, 1, 1, 1, 2},
                                      .append_few = 4,
                                      .append_all = 8,
                                      .crop_all = 12};

void kvc_edges_add_up(kvc_edges *edges)
{
    edges->append_few = edges->append_all = edges->crop_all = 0;
    for (int at = 0; at < KVC_APPEND_EDGES; at++) {
        edges->append_few = (uint16_t)(edges->append_few + (at <= KVC_APPEND_FEW ? edges->append[at] : 0));
        edges->append_all = (uint16_t)(edges->append_all + edges->append[at]);
    }
    for (int at = 0; at < KVC_CROP_EDGES; at++)
        edges->crop_all = (uint16_t)(edges->crop_all + edges->crop[at]);
}

/* Crop, which the project is about, is on more often than not; what stores the cache elsewhere shows soon, and is on seldom. */
static kvc_chance off_of(int kind)
{
    if (kvc_op_is_rollback(kind) || kind == KVC_SEQ_RM)
        return (kvc_chance){1, 8};
    if (kind > KVC_RECORD && kind < KVC_DECODE && kind != KVC_TRIM_FRONT && kind < KVC_APPEND_ROWS)
        return (kvc_chance){3, 4};
    return (kvc_chance){1, 2};
}

void kvc_profile_of(kvc_profile profile, kvc_draws *draws)
{
    static const uint8_t weights[KVC_OP_KINDS] = {10, 9, 2, 3, 2, 2, 3, 2, 2, 2, 2, 1, 9, 4, 2, 2, 2, 14, 9, 3, 1, 2, 1, 1, 3, 3, 6, 2, 2, 3, 3};
    const kvc_param_info *table = kvc_param_table();

    memset(draws, 0, sizeof *draws);
    memcpy(draws->name, profile == KVC_ASSISTED ? "assisted" : "hostile", profile == KVC_ASSISTED ? 9 : 8);
    draws->like = profile;
    draws->exhaustive = profile == KVC_ASSISTED ? 0 : KVC_EXHAUSTIVE_MAX;
    draws->ops = UINT32_MAX >> (32 - KVC_OP_KINDS);
    memcpy(draws->weight, weights, sizeof weights);
    for (int kind = 0; kind < KVC_OP_KINDS; kind++)
        draws->off[kind] = off_of(kind);
    draws->least = 2;
    draws->most = 7;
    draws->long_in = 4;
    draws->long_most = 19;
    draws->rounds = 6;
    draws->edges = kvc_edges_standard;
    for (int at = 0; at < KVC_PARAMS; at++) {
        draws->low[at] = table[at].minimum;
        draws->high[at] = table[at].maximum;
        draws->words[at] = UINT32_MAX;
    }
}

int kvc_profile_named(const char *name, kvc_draws *draws)
{
    kvc_profile_of(KVC_ASSISTED, draws);
    if (strcmp(name, draws->name) == 0)
        return 1;
    kvc_profile_of(KVC_HOSTILE, draws);
    return strcmp(name, draws->name) == 0;
}

int kvc_profile_is_standard(const kvc_draws *draws)
{
    kvc_draws standard;

    return kvc_profile_named(draws->name, &standard) && memcmp(draws, &standard, sizeof standard) == 0;
}
