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
/*
 * Some ops mean most right after others: what was put off is saved, what was saved is restored, what was removed from is decoded into.
 * Returns 1 with such an op, at random, or 0. `last` is the op before, NULL for none; `kinds` has a bit for each kind that is switched on.
 */
int kvc_sequences_follow(const kvc_model *model, const kvc_op *last, unsigned kinds, kvc_random *random, kvc_op *op);
/* A decode of one token into the sequence that the op was about. */
kvc_op kvc_sequences_last(const kvc_op *op);
/* Fills the arguments of an op whose kind is set. */
void kvc_sequences_random_op(const kvc_model *model, kvc_random *random, kvc_op *op);

#endif
