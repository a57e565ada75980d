#include "bench/oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness/explore.h"

enum { RANDOM_OPS_MAX = 20, RANDOM_TRIES = 6, RANDOM_APPEND_MAX = 8, PROOF_RUNS = 20000, DEATHS_MAX = 100 };

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void random_list(kvc_random *random, int count, int most, kvc_op *op)
{
    op->count = (uint8_t)count;
    for (int at = 0; at < count; at++)
        op->rows[at] = (uint8_t)kvc_random_between(random, 0, most);
}

/* Any op that the variant has, with any argument: no edge is more likely than what lies beside it. */
static kvc_op random_op(kvc_oracle *self, kvc_random *random)
{
    kvc_op op = {.kind = 0};
    int most = 2 * kvc_plan_boundary(&self->plan) + 2;
    int32_t rows = self->model.rows;

    if (most < RANDOM_APPEND_MAX)
        most = RANDOM_APPEND_MAX;
    do
        op.kind = (uint8_t)kvc_random_below(random, KVC_OP_KINDS);
    while (!kvc_plan_has_op(&self->plan, (kvc_op_kind)op.kind));
    if (op.kind == KVC_CROP || op.kind == KVC_TRIM)
        op.n = kvc_random_between(random, -kvc_oracle_held(self) - 4, kvc_oracle_held(self) + 1) * (op.kind == KVC_TRIM ? -1 : 1);
    else if (op.kind == KVC_REPEAT)
        op.n = kvc_random_between(random, 1, 3);
    else if (op.kind == KVC_RECORD)
        op.n = kvc_random_between(random, 0, 1);
    else if (op.kind == KVC_EXTRACT)
        op.n = kvc_random_between(random, 0, rows - 1);
    else if (kvc_op_has_number((kvc_op_kind)op.kind))
        op.n = kvc_random_between(random, 0, most);
    if (op.kind == KVC_REORDER)
        random_list(random, rows, rows - 1, &op);
    else if (kvc_op_names_rows((kvc_op_kind)op.kind))
        random_list(random, kvc_random_between(random, 1, rows), rows - 1, &op);
    else if (kvc_op_has_counts((kvc_op_kind)op.kind))
        random_list(random, op.kind == KVC_APPEND_ROWS ? rows : kvc_random_between(random, 1, 2), most, &op);
    return op;
}

/* Plain random testing: every sequence has parameters, length, ops and arguments of its own. */
int kvc_oracle_random(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error)
{
    double begun = now();

    for (uint64_t number = 0; number < limit; number++) {
        kvc_random random = kvc_random_for(seed, "plain random", number);
        kvc_params params = kvc_choice_random(&self->choice, &random);
        int length = kvc_random_between(&random, 1, RANDOM_OPS_MAX);
        kvc_failure failure;
        int failed;
        if (!kvc_oracle_start(self, &params))
            continue;
        for (int at = 0; at < length; at++) {
            int taken = 0;
            for (int attempt = 0; attempt < RANDOM_TRIES && taken == 0; attempt++) {
                kvc_op op = random_op(self, &random);
                taken = kvc_oracle_take(self, &op);
            }
            if (taken < 0) {
                kvc_error_set(error, "not enough memory");
                return 0;
            }
        }
        failed = kvc_oracle_perform(self, &params, &self->sequence, &failure, error);
        if (failed < 0)
            return 0;
        if (failed > 0 && kvc_oracle_is_like(self, &failure)) {
            (void)printf("found %" PRIu64 " %.6f ", number + 1, now() - begun);
            kvc_oracle_print_case("fails", &self->sequence, &failure);
            return 1;
        }
    }
    (void)printf("nothing %" PRIu64 " %.6f\n", limit, now() - begun);
    return 1;
}

/* kvconform's own sequences, block by block, until one fails. Nothing is left out for what was found: a run does that from its next round on. */
int kvc_oracle_generator(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error)
{
    kvc_exclusions *none = calloc(1, sizeof *none);
    kvc_tally *tally = calloc(1, sizeof *tally);
    kvc_coverage *coverage = calloc(1, sizeof *coverage);
    int good = none != NULL && tally != NULL && coverage != NULL;
    uint64_t first = UINT64_MAX;
    uint64_t ops = 0;
    double begun;

    if (!good)
        kvc_error_set(error, "not enough memory");
    good = good && kvc_oracle_choose(self, seed, error);
    begun = now();
    for (uint64_t index = 0; good && index < limit && first == UINT64_MAX;) {
        uint64_t end = kvc_generator_block_end(self->generator, index);
        end = end < limit ? end : limit;
        tally->count = 0;
        good = kvc_crew_range(self->crew, index, end, none, tally, coverage, &ops, error) == KVC_CREW_DONE;
        for (int at = 0; at < tally->count; at++) {
            if (kvc_oracle_is_like(self, &tally->entry[at].failure) && tally->entry[at].first < first)
                first = tally->entry[at].first;
        }
        index = end;
    }
    if (good && first != UINT64_MAX)
        (void)printf("found %" PRIu64 " %.6f\n", first + 1, now() - begun);
    else if (good)
        (void)printf("nothing %" PRIu64 " %.6f\n", limit, now() - begun);
    free(none);
    free(tally);
    free(coverage);
    return good;
}

int kvc_oracle_explore(kvc_oracle *self, uint64_t seed, uint64_t limit, kvc_error *error)
{
    int is_process = self->target.access.process.command != NULL;
    kvc_explore_options options = {.sequences = limit, .deaths = is_process ? DEATHS_MAX : 0};
    kvc_bench bench = {.crew = self->crew, .catalogue = &self->catalogue, .contract = self->contract, .spec = self->spec,
                       .variant = self->selection.variant, .prove_limit = PROOF_RUNS};
    kvc_exploration found;
    const kvc_finding *smallest = NULL;
    uint64_t first = UINT64_MAX;
    double begun;
    kvc_crew_result result;

    if (!kvc_oracle_choose(self, seed, error))
        return 0;
    bench.smallest = kvc_generator_smallest(self->generator);
    begun = now();
    result = kvc_explore(&bench, self->generator, &options, &found, error);
    for (int at = 0; at < found.findings; at++) {
        const kvc_finding *finding = &found.finding[at];
        if (!kvc_oracle_is_like(self, &finding->failure))
            continue;
        if (finding->first < first)
            first = finding->first;
        if (smallest == NULL || kvc_ops_compare(finding->sequence.op, (size_t)finding->sequence.count, smallest->sequence.op,
                                                (size_t)smallest->sequence.count) < 0)
            smallest = finding;
    }
    if (result == KVC_CREW_DONE && smallest != NULL) {
        (void)printf("found %" PRIu64 " %.6f ", first + 1, now() - begun);
        kvc_oracle_print_case("fails", &smallest->sequence, &smallest->failure);
    } else if (result == KVC_CREW_DONE) {
        (void)printf("nothing %" PRIu64 " %.6f\n", limit, now() - begun);
    }
    kvc_exploration_clear(&found);
    return result == KVC_CREW_DONE;
}
