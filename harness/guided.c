#include "harness/guided.h"

#include "harness/mutate.h"

enum { BLOCKS_OF_FOUR = 4, NEWEST = 32, AIMS = 8, GUIDED_OPS_MAX = 32 };

int kvc_guided_takes(const kvc_guided *guided, uint64_t block)
{
    return guided->corpus != NULL && guided->corpus->count > 0 && block / KVC_BLOCK % BLOCKS_OF_FOUR != 0;
}

/* Any entry, or one of the newest, which were changed least so far. */
static const kvc_bytes *pick(const kvc_corpus *corpus, kvc_random *random)
{
    uint32_t count = (uint32_t)corpus->count;
    uint32_t newest = count < NEWEST ? count : NEWEST;

    if (kvc_random_one_in(random, 2))
        return &corpus->entry[count - 1 - kvc_random_below(random, newest)];
    return &corpus->entry[kvc_random_below(random, count)];
}

kvc_params kvc_guided_begin(kvc_guided *guided, const kvc_choice *choice, kvc_random *random)
{
    guided->parent = *pick(guided->corpus, random);
    /* The parameters of some other entry, or one of them drawn anew. */
    if (kvc_random_one_in(random, 4)) {
        const kvc_bytes *other = pick(guided->corpus, random);
        for (int at = 0; at < KVC_BYTES_HEADER; at++)
            guided->parent.byte[at] = other->byte[at];
    }
    if (kvc_random_one_in(random, 4))
        guided->parent.byte[kvc_random_below(random, KVC_BYTES_HEADER)] = (uint8_t)kvc_random_below(random, 256);
    return kvc_decode_params(choice, &guided->parent);
}

static int comes_to_new(const kvc_corpus *corpus, const kvc_decoded *decoded)
{
    for (int at = 0; at < decoded->sequence.count; at++) {
        if (!corpus->reached[decoded->sequence.op[at].kind][decoded->situation[at]])
            return 1;
    }
    return 0;
}

int kvc_guided_sequence(kvc_guided *guided, kvc_model *model, const kvc_exclusions *exclusions, int careful, int aimed,
                        kvc_random *random, kvc_sequence *out, kvc_coverage *coverage)
{
    const kvc_plan *plan = model->plan;
    kvc_decoded decoded;

    for (int attempt = 0; attempt < (aimed ? AIMS : 1); attempt++) {
        kvc_bytes bytes = guided->parent;
        int records = kvc_bytes_records(&bytes);
        kvc_mutate(&bytes, pick(guided->corpus, random), 0, records > GUIDED_OPS_MAX ? records : GUIDED_OPS_MAX, random);
        kvc_model_start(model, plan, NULL);
        if (!kvc_decode_ops(model, &bytes, exclusions, careful, &decoded))
            return 0;
        if (comes_to_new(guided->corpus, &decoded))
            break;
    }
    *out = decoded.sequence;
    for (int at = 0; coverage != NULL && at < out->count; at++)
        kvc_coverage_planned(coverage, out->op[at].kind, decoded.situation[at]);
    return 1;
}
