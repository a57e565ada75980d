/*
 * One op at a time: its arguments are drawn where the model stands, and it is taken into a sequence if it may stand there. Where the
 * choices come from, random numbers or a fuzzer's bytes, is a matter of the kvc_random.
 */
#ifndef KVC_HARNESS_DRAW_H
#define KVC_HARNESS_DRAW_H

#include "harness/generator.h"
#include "harness/random.h"

enum { KVC_TOKENS_IN_SEQUENCE_MAX = 400 };

/* Tokens for an append. */
int32_t kvc_draw_append(const kvc_model *model, kvc_profile profile, const kvc_edges *edges, kvc_random *random);
/* An op of this kind with arguments. Returns 0 when there is none where the model stands. */
int kvc_draw_op(const kvc_model *model, kvc_profile profile, const kvc_edges *edges, kvc_op_kind kind, kvc_random *random, kvc_op *op);
/*
 * Takes the op into the sequence and into the model; `exclusions` may be NULL, `careful` heeds what is often left out. Returns 1 with
 * *expectation what is expected of it and *situation the code of where it stands, 0 when it must not stand here, -1 when memory is short.
 * It is done for every op, so it is a part of whoever does it.
 */
static inline int kvc_draw_take(kvc_model *model, kvc_profile profile, const kvc_op *op, const kvc_exclusions *exclusions, int careful,
                                kvc_sequence *out, kvc_expectation *expectation, int *situation)
{
    int code;

    if (out->count == KVC_OPS_MAX || model->next + kvc_op_tokens(op) > KVC_TOKENS_IN_SEQUENCE_MAX)
        return 0;
    kvc_model_expect(model, op, expectation);
    if (expectation->unspecified)
        return 0;
    code = kvc_situation_code(&expectation->situation);
    if (exclusions != NULL && exclusions->changes != 0 &&
        (exclusions->always[op->kind][code] || (careful && exclusions->often[op->kind][code])))
        return 0;
    /* What the layers of a whole model refuse is said nowhere: assisted decoding asks them. */
    if (profile == KVC_ASSISTED && expectation->verdict != KVC_DO && !(expectation->verdict == KVC_EITHER && model->plan->predicts))
        return 0;
    if (!kvc_model_commit(model, op, expectation, expectation->verdict == KVC_MUST_REFUSE))
        return -1;
    *situation = code;
    out->op[out->count++] = *op;
    return 1;
}

#endif
