/*
 * Ops on a cache that holds several sequences: the letters of the exhaustive stage, and random ones.
 */
#ifndef KVC_HARNESS_SEQUENCES_ALPHABET_H
#define KVC_HARNESS_SEQUENCES_ALPHABET_H

#include "harness/alphabet.h"
#include "harness/random.h"

void kvc_sequences_alphabet(const kvc_plan *plan, kvc_alphabet *alphabet);
int kvc_sequences_letter_op(kvc_letter letter, const kvc_model *model, kvc_op *op);
const char *kvc_sequences_letter_text(kvc_letter letter);
/* Fills the arguments of an op whose kind is set. */
void kvc_sequences_random_op(const kvc_model *model, kvc_random *random, kvc_op *op);

#endif
