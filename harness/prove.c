/*
 * Proving that a case is minimal: every smaller sequence is made, by the model alone; those that end in the same situation are run.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/finding.h"
#include "harness/prove_choices.h"

/* Ops on several sequences have many arguments, and most of what they make is not legal. */
enum { NODES_MAX = 1000000, NODES_MAX_OF_SEQUENCES = 8000000 };

typedef struct prover {
    const kvc_bench *bench;
    kvc_finding *finding;
    kvc_plan plan;
    kvc_proof_ops choices;
    int64_t weight; /* of the case: that of as many ops may not be larger */
    int situation; /* outline in which the case fails */
    uint64_t nodes;
    uint64_t tried;
    int complete;
    int skipped; /* what is known to end the process was left out */
    int found; /* a smaller case was found: it is the finding's now */
    int count; /* cases that wait to be run */
    kvc_sequence *waiting;
    kvc_sequences *deep[KVC_OPS_MAX]; /* what models of several sequences hold, for each op of a branch; made when first needed */
    uint8_t failed[KVC_EVALUATE_MAX];
    kvc_failure failure[KVC_EVALUATE_MAX];
    kvc_crew_result result;
    kvc_error *error;
} prover;

static void run_waiting(prover *self)
{
    kvc_finding *finding = self->finding;
    int count = self->count;

    self->count = 0;
    if (count == 0 || self->result != KVC_CREW_DONE)
        return;
    self->result = kvc_crew_evaluate(self->bench->crew, &finding->params, self->waiting, count, self->failed,
                                     self->failure, self->error);
    self->tried += (uint64_t)count;
    for (int at = 0; self->result == KVC_CREW_DONE && at < count; at++) {
        if (self->failed[at] && kvc_failures_alike(&finding->failure, &finding->params, &finding->sequence,
                                                   &self->failure[at], &finding->params, &self->waiting[at], 0)) {
            finding->failure = self->failure[at];
            finding->sequence = self->waiting[at];
            finding->sequence.count = finding->failure.step + 1;
            self->found = 1;
            return;
        }
    }
}

static int is_over(const prover *self)
{
    return self->found || !self->complete || self->result != KVC_CREW_DONE;
}

static void extend(prover *self, kvc_sequence *sequence, kvc_model *model, int length, int64_t weight);

/* Goes on behind an op that was done, or refused, with a copy of the model: the log is short here. */
static void go_on(prover *self, kvc_sequence *sequence, const kvc_model *model, const kvc_expectation *expectation, int refused, int length,
                  int64_t weight)
{
    kvc_sequences **deep = &self->deep[sequence->count - 1];
    kvc_model next = *model;

    next.run = malloc((size_t)model->room * sizeof *next.run);
    if (model->sequences != NULL && *deep == NULL)
        *deep = malloc(sizeof **deep);
    next.sequences = model->sequences != NULL ? *deep : NULL;
    if (next.run == NULL || (model->sequences != NULL && next.sequences == NULL)) {
        self->complete = 0;
        free(next.run);
        return;
    }
    memcpy(next.run, model->run, (size_t)model->runs * sizeof *next.run);
    if (model->sequences != NULL)
        kvc_sequences_copy(next.sequences, model->sequences);
    if (kvc_model_commit(&next, &sequence->op[sequence->count - 1], expectation, refused))
        extend(self, sequence, &next, length, weight);
    else
        self->complete = 0;
    next.sequences = NULL; /* kept for the next branch */
    kvc_model_close(&next);
}

/* Keeps a sequence to be run where its last op meets the situation that is part of the cause. */
static void add_waiting(prover *self, const kvc_sequence *sequence, const kvc_expectation *expectation)
{
    kvc_failure here = self->finding->failure;
    kvc_situation outline;

    here.situation = expectation->situation;
    outline = kvc_failure_outline(&here);
    if (kvc_situation_code(&outline) != self->situation ||
        kvc_ops_compare(sequence->op, (size_t)sequence->count, self->finding->sequence.op, (size_t)self->finding->sequence.count) >= 0)
        return;
    self->waiting[self->count++] = *sequence;
    if (self->count == KVC_EVALUATE_MAX)
        run_waiting(self);
    if (self->tried + (uint64_t)self->count > self->bench->prove_limit)
        self->complete = 0;
}

/* Extends `sequence`, whose ops the model stands behind, to every sequence of `length` ops. */
static void extend(prover *self, kvc_sequence *sequence, kvc_model *model, int length, int64_t weight)
{
    const kvc_proof_ops *choices = &self->choices;
    int rest = length - sequence->count - 1; /* ops that follow */

    for (int at = 0; at < choices->count && !is_over(self); at++) {
        const kvc_op *op = &choices->op[at];
        int64_t heavier = weight + kvc_op_weight(op);
        kvc_expectation expectation;
        if (kvc_op_rows_after(op, model->rows) == 0)
            continue;
        /* Only the last op may be the one that fails, and only in the situation that is part of the cause. */
        if (rest == 0 && op->kind != self->finding->failure.op)
            continue;
        if (length == self->finding->sequence.count && heavier > self->weight)
            continue;
        if (++self->nodes > (model->sequences != NULL ? NODES_MAX_OF_SEQUENCES : NODES_MAX)) {
            self->complete = 0;
            return;
        }
        kvc_model_expect(model, op, &expectation);
        if (expectation.unspecified)
            continue;
        if (rest > 0 && self->bench->deadly != NULL &&
            self->bench->deadly->always[op->kind][kvc_situation_code(&expectation.situation)]) {
            self->skipped = 1;
            continue;
        }
        sequence->op[sequence->count++] = *op;
        if (rest == 0)
            add_waiting(self, sequence, &expectation);
        else
            go_on(self, sequence, model, &expectation, expectation.verdict == KVC_MUST_REFUSE, length, heavier);
        /* What may be refused too leads to two states; the one in which the subject is decides where a sequence ends. */
        if (rest > 0 && expectation.verdict == KVC_EITHER)
            go_on(self, sequence, model, &expectation, 1, length, heavier);
        sequence->count--;
    }
}

static void prove_once(prover *self)
{
    kvc_situation outline = kvc_failure_outline(&self->finding->failure);
    kvc_sequence sequence = {0};
    kvc_model model;

    self->situation = kvc_situation_code(&outline);
    self->count = self->found = self->skipped = 0;
    self->complete = 1;
    self->nodes = 0;
    if (!kvc_plan_make(self->bench->catalogue, self->bench->contract, self->bench->spec, self->bench->variant,
                       &self->finding->params, &self->plan, self->error) ||
        !kvc_model_open(&model, &self->plan)) {
        self->complete = 0;
        return;
    }
    kvc_proof_ops_make(&self->plan, &self->finding->sequence, &self->choices);
    self->complete = self->choices.complete;
    self->weight = 0;
    for (int at = 0; at < self->finding->sequence.count; at++)
        self->weight += kvc_op_weight(&self->finding->sequence.op[at]);
    for (int length = 1; length <= self->finding->sequence.count && !is_over(self); length++) {
        kvc_model_start(&model, &self->plan, NULL);
        extend(self, &sequence, &model, length, 0);
        sequence.count = 0;
    }
    run_waiting(self);
    kvc_model_close(&model);
}

kvc_crew_result kvc_finding_prove(const kvc_bench *bench, kvc_finding *finding, kvc_error *error)
{
    prover *self = calloc(1, sizeof *self);
    kvc_crew_result result;

    if (self == NULL || (self->waiting = malloc(KVC_EVALUATE_MAX * sizeof *self->waiting)) == NULL) {
        free(self);
        kvc_error_set(error, "not enough memory");
        return KVC_CREW_FAILED;
    }
    self->bench = bench;
    self->finding = finding;
    self->error = error;
    self->result = KVC_CREW_DONE;
    do
        prove_once(self);
    while (self->found && self->result == KVC_CREW_DONE);
    finding->proved = self->complete && !self->skipped && self->result == KVC_CREW_DONE;
    finding->smaller_tried = self->tried;
    result = self->result;
    for (int at = 0; at < KVC_OPS_MAX; at++)
        free(self->deep[at]);
    free(self->waiting);
    free(self);
    return result;
}
