/*
 * What judges the sequences of other ways to look for a fault as kvconform judges its own, so that what is compared is the search.
 */
#ifndef KVC_BENCH_ORACLE_H
#define KVC_BENCH_ORACLE_H

#include "harness/choice.h"
#include "harness/crew.h"
#include "harness/target.h"

typedef struct kvc_oracle {
    kvc_catalogue catalogue;
    kvc_target target;
    kvc_crew *crew;
    const cJSON *hello;
    const char **variants;
    const kvc_spec *spec;
    const kvc_contract *contract;
    kvc_selection selection;
    kvc_generator *generator; /* of the last choice; the crew looks at it when a worker dies */
    kvc_choice choice;
    kvc_plan plan; /* of the sequence at hand */
    kvc_model model;
    kvc_sequence sequence;
    int started;
    int has_like;
    kvc_failure like;
} kvc_oracle;

/* Chooses the variant with this seed. Returns 0 with *error set. */
int kvc_oracle_choose(kvc_oracle *self, uint64_t seed, kvc_error *error);
/* Performs one sequence and cuts it behind the op that failed. Returns -1 with *error set, else whether it failed. */
int kvc_oracle_perform(kvc_oracle *self, const kvc_params *params, kvc_sequence *sequence, kvc_failure *failure, kvc_error *error);
/* Whether this is the failure that is looked for. */
int kvc_oracle_is_like(const kvc_oracle *self, const kvc_failure *failure);
/* Prints `VERDICT OPS WEIGHT LAW op, op, ...` and ends the line. */
void kvc_oracle_print_case(const char *verdict, const kvc_sequence *sequence, const kvc_failure *failure);
/* Begins a sequence with parameters that the spec allows; 0: it does not. */
int kvc_oracle_start(kvc_oracle *self, const kvc_params *params);
/* Takes the op when it may stand here. Returns 1, 0, or -1 when memory is short. */
int kvc_oracle_take(kvc_oracle *self, const kvc_op *op);
/* Tokens that a rollback can reach. */
int32_t kvc_oracle_held(const kvc_oracle *self);

/*
 * Ways to look for a failure, each with at most `limit` sequences. They print `found NUMBER SECONDS` with the number of the first
 * sequence that failed, from 1, or `nothing LIMIT SECONDS`, and return 0 with *error set when they could not go on.
 *
 * Plain random testing: every sequence has parameters, length, ops and arguments of its own, all alike. Prints the case as it was met.
 */
int kvc_oracle_random(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error);
/* The sequences of kvconform, until one fails. */
int kvc_oracle_generator(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error);
/* What `kvconform run` does: all sequences, with those left out that findings ask for, and the smallest case of what is looked for. */
int kvc_oracle_explore(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error);

#endif
