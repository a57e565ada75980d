/*
 * The generator: sequence number i of a variant. It opens with some long random ones; then all short ones come in order of size;
 * among those of three ops and more every fourth block is a random one, and what follows them is random.
 *
 * It works with the reference model alone and never asks a subject. Sequence i is the same for the same seed, whatever the
 * number of workers. Sequences come in blocks that share their parameters.
 */
#ifndef KVC_HARNESS_GENERATOR_H
#define KVC_HARNESS_GENERATOR_H

#include <stdint.h>

#include "harness/profile.h"
#include "reference/model.h"

enum { KVC_BLOCK = 64, KVC_LETTERS_MAX = 32, KVC_STAGES_MAX = 64, KVC_ROUND = 2048 };

typedef struct kvc_sequence {
    int32_t count;
    kvc_op op[KVC_OPS_MAX];
} kvc_sequence;

/* A set of situations in which an op is not tried again: the triggers of what was found already. */
typedef struct kvc_exclusions {
    uint64_t changes; /* how often something was added: to be raised with it */
    uint8_t always[KVC_OP_KINDS][KVC_SITUATIONS]; /* it kills the process */
    uint8_t often[KVC_OP_KINDS][KVC_SITUATIONS];  /* left out of three sequences in four */
} kvc_exclusions;

/* How often an op was made in a situation. */
typedef struct kvc_counts {
    uint64_t planned;
    uint64_t judged;
    uint64_t refused; /* of those judged */
} kvc_counts;

/* Counts by op and situation. */
typedef struct kvc_coverage {
    kvc_counts of[KVC_OP_KINDS][KVC_SITUATIONS];
    /* Whether any of KVC_SITUATIONS_ALONE situations in a row was counted: most never are, and the tables are large. */
    uint8_t counted[KVC_OP_KINDS][KVC_SITUATIONS / KVC_SITUATIONS_ALONE];
} kvc_coverage;

static inline void kvc_coverage_planned(kvc_coverage *coverage, int op, int code)
{
    coverage->counted[op][code / KVC_SITUATIONS_ALONE] = 1;
    coverage->of[op][code].planned++;
}

static inline void kvc_coverage_judged(kvc_coverage *coverage, int op, int code, int refused)
{
    coverage->counted[op][code / KVC_SITUATIONS_ALONE] = 1;
    coverage->of[op][code].judged++;
    coverage->of[op][code].refused += refused != 0;
}

typedef struct kvc_generator kvc_generator;
struct kvc_choice;
struct kvc_corpus;

/*
 * A generator for a variant. `variants` are the NULL-ended names that the subject has (used to choose layers). Everything
 * given must live longer. Returns NULL with *error set.
 */
kvc_generator *kvc_generator_open(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                                  const char *variant, const char *version, const char *const *variants, uint64_t seed,
                                  kvc_profile profile, kvc_error *error);
/* The same with a profile of its own, which is copied. */
kvc_generator *kvc_generator_open_draws(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                                        const char *variant, const char *version, const char *const *variants, uint64_t seed,
                                        const kvc_draws *draws, kvc_error *error);
void kvc_generator_close(kvc_generator *generator);
/*
 * From now on most random blocks are made of the sequences of this corpus (harness/guided.h), which must live longer. What it gives
 * depends on what the corpus holds. Not in the assisted profile.
 */
void kvc_generator_guide(kvc_generator *generator, const struct kvc_corpus *corpus);
const struct kvc_choice *kvc_generator_choice(const kvc_generator *generator);

/* How many of the first `count` sequences are of the exhaustive stage (none in the assisted profile). */
uint64_t kvc_generator_exhaustive(const kvc_generator *generator, uint64_t count);
/* First sequence of which what the opening found is worked up: till then short sequences may show the same (0: there is no opening). */
uint64_t kvc_generator_settled(const kvc_generator *generator);
/* First sequence behind the exhaustive stage: all from there on are random (0 in the assisted profile). */
uint64_t kvc_generator_tail(const kvc_generator *generator);
/* Longest length of which all sequences are among the first `count`. */
int kvc_generator_complete_size(const kvc_generator *generator, uint64_t count);
/* The letters of the alphabet as text; returns how many there are. */
int kvc_generator_alphabet(const kvc_generator *generator, char text[KVC_LETTERS_MAX][48]);
/* First sequence of the round that follows the one of `index`: findings are worked up between rounds. */
uint64_t kvc_generator_round_end(const kvc_generator *generator, uint64_t index);
/* First sequence of the next block: sequences before it share the parameters of `index`. */
uint64_t kvc_generator_block_end(const kvc_generator *generator, uint64_t index);
/* The plan of the block of `index`; valid until the block changes or the generator is closed. NULL with *error set. */
const kvc_plan *kvc_generator_plan(kvc_generator *generator, uint64_t index, kvc_error *error);
/* Sequence number `index`. `coverage` may be NULL. Returns 1, or 0 with *error set. */
int kvc_generator_sequence(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions,
                           kvc_sequence *out, kvc_coverage *coverage, kvc_error *error);
/* The model with which sequences are made: it stands behind the op that was taken last. */
const kvc_model *kvc_generator_model(const kvc_generator *generator);
/* An op was taken as the last one of `ops`: what is expected of it, and its situation as a code. */
typedef void (*kvc_taken_function)(void *context, const kvc_sequence *ops, const kvc_expectation *expectation, int code);
/* Makes a sequence as kvc_generator_sequence does, and says so after each op. */
int kvc_generator_steps(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions, kvc_sequence *out,
                        kvc_coverage *coverage, kvc_taken_function taken, void *context, kvc_error *error);
/* Parameters that shrinking aims at. */
kvc_params kvc_generator_smallest(const kvc_generator *generator);

#endif
