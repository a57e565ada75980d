/*
 * The ops of which the sequences of a proof are made: all with numbers up to those of the case, at its own parameters.
 */
#ifndef KVC_HARNESS_PROVE_CHOICES_H
#define KVC_HARNESS_PROVE_CHOICES_H

#include "harness/generator.h"

enum { KVC_PROOF_OPS_MAX = 4096 };

typedef struct kvc_proof_ops {
    int count;
    int complete; /* 0: there are more than can be tried */
    kvc_op op[KVC_PROOF_OPS_MAX];
} kvc_proof_ops;

void kvc_proof_ops_make(const kvc_plan *plan, const kvc_sequence *sequence, kvc_proof_ops *choices);

#endif
