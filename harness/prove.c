/*
 * Proving that a case is minimal: every smaller sequence is made, by the model alone; those that end in the same situation are run.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/finding.h"

enum { CHOICES_MAX = 240, NUMBERS_MAX = 32, ROWS_TRIED = 3, COUNTS_TRIED = 8, NODES_MAX = 1000000 };

typedef struct prover {
    const kvc_bench *bench;
    kvc_finding *finding;
    kvc_plan plan;
    int choices;
    kvc_op choice[CHOICES_MAX];
    int situation; /* outline in which the case fails */
    uint64_t nodes;
    uint64_t tried;
    int complete;
    int skipped; /* what is known to end the process was left out */
    int found; /* a smaller case was found: it is the finding's now */
    int count; /* cases that wait to be run */
    kvc_sequence *waiting;
    uint8_t failed[KVC_EVALUATE_MAX];
    kvc_failure failure[KVC_EVALUATE_MAX];
    kvc_crew_result result;
    kvc_error *error;
} prover;

static void add_choice(prover *self, kvc_op op)
{
    if (kvc_plan_has_op(&self->plan, (kvc_op_kind)op.kind)) {
        if (self->choices < CHOICES_MAX)
            self->choice[self->choices++] = op;
        else
            self->complete = 0;
    }
}

/* The most rows that the case comes to, and at least two. */
static int rows_of(const prover *self)
{
    const kvc_sequence *sequence = &self->finding->sequence;
    int rows = self->finding->params.batch;
    int most = rows > 2 ? rows : 2;

    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        rows = kvc_op_rows_after(op, rows);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Every list of `count` numbers up to `most`. */
static void add_lists(prover *self, kvc_op op, int count, int most)
{
    int lists = 1;

    for (int at = 0; at < count; at++)
        lists *= most + 1;
    op.count = (uint8_t)count;
    for (int list = 0; list < lists; list++) {
        for (int at = count - 1, rest = list; at >= 0; at--, rest /= most + 1)
            op.rows[at] = (uint8_t)(rest % (most + 1));
        add_choice(self, op);
    }
}

/* Ops of rows with lengths of their own, with numbers up to those of the case. */
static void add_row_ops(prover *self, int rows)
{
    const kvc_sequence *sequence = &self->finding->sequence;
    int most = 1;
    int extended = 1;
    int32_t split = 0;

    if (!self->plan.own_rows)
        return;
    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        if (kvc_op_has_counts((kvc_op_kind)op->kind) && kvc_op_tokens(op) > most)
            most = kvc_op_tokens(op);
        if (op->kind == KVC_EXTEND && op->count > extended)
            extended = op->count;
        if (op->kind == KVC_SPLIT && op->n > split)
            split = op->n;
    }
    if (most > COUNTS_TRIED || split > COUNTS_TRIED) {
        self->complete = 0;
        return;
    }
    for (uint8_t row = 0; row < rows; row++)
        add_choice(self, (kvc_op){.kind = KVC_EXTRACT, .n = row});
    for (int count = 1; count <= rows; count++) {
        if (kvc_plan_has_op(&self->plan, KVC_APPEND_ROWS))
            add_lists(self, (kvc_op){.kind = KVC_APPEND_ROWS}, count, most);
        if (kvc_plan_has_op(&self->plan, KVC_MERGE))
            add_lists(self, (kvc_op){.kind = KVC_MERGE}, count, rows - 1);
        if (count <= extended && kvc_plan_has_op(&self->plan, KVC_EXTEND))
            add_lists(self, (kvc_op){.kind = KVC_EXTEND}, count, most);
        for (int32_t n = 0; n <= split && count < rows && kvc_plan_has_op(&self->plan, KVC_SPLIT); n++)
            add_lists(self, (kvc_op){.kind = KVC_SPLIT, .n = n}, count, rows - 1);
    }
}

/* The alphabet: numbers up to all that the case appends and removes, so that fewer ops with larger numbers are among them. */
static void make_choices(prover *self)
{
    int32_t appended = 0;
    int32_t cropped = 0;
    int positive = 0;
    int nothing = 0;
    int rows;
    const kvc_sequence *sequence = &self->finding->sequence;

    for (int at = 0; at < sequence->count; at++) {
        int32_t n = kvc_op_as_crop(&sequence->op[at]);
        if (sequence->op[at].kind == KVC_APPEND) {
            appended += n;
            nothing |= n == 0;
        }
        if (kvc_op_is_rollback(sequence->op[at].kind) && n < 0)
            cropped -= n;
        if (kvc_op_is_rollback(sequence->op[at].kind) && n > positive)
            positive = n;
    }
    appended = appended < 1 ? 1 : appended;
    cropped = cropped < 1 ? 1 : cropped;
    self->complete &= appended <= NUMBERS_MAX && cropped <= NUMBERS_MAX && positive <= NUMBERS_MAX;
    for (int32_t n = nothing ? 0 : 1; n <= appended && n <= NUMBERS_MAX; n++)
        add_choice(self, (kvc_op){.kind = KVC_APPEND, .n = n});
    for (int32_t n = 0; n <= cropped && n <= NUMBERS_MAX; n++) {
        add_choice(self, (kvc_op){.kind = KVC_CROP, .n = -n});
        add_choice(self, (kvc_op){.kind = KVC_TRIM, .n = n});
    }
    for (int32_t n = 1; n <= (positive > 0 ? positive : 1) && n <= NUMBERS_MAX; n++) {
        add_choice(self, (kvc_op){.kind = KVC_CROP, .n = n});
        add_choice(self, (kvc_op){.kind = KVC_TRIM, .n = -n});
    }
    add_choice(self, (kvc_op){.kind = KVC_RESET});
    for (uint8_t kind = KVC_OFFLOAD; kind < KVC_OP_KINDS; kind++) {
        if (!kvc_op_has_number((kvc_op_kind)kind))
            add_choice(self, (kvc_op){.kind = kind});
    }
    for (int32_t n = 0; n <= 1; n++)
        add_choice(self, (kvc_op){.kind = KVC_RECORD, .n = n});
    rows = rows_of(self);
    if (rows > ROWS_TRIED) {
        /* Too many orders: of a case that needs more rows nothing is proved. */
        self->complete = 0;
        return;
    }
    add_row_ops(self, rows);
    for (int32_t n = 1; n <= rows; n++)
        add_choice(self, (kvc_op){.kind = KVC_REPEAT, .n = n});
    for (uint8_t count = 1; count <= rows; count++) {
        int orders = 1;
        for (uint8_t at = 0; at < count; at++)
            orders *= rows;
        for (int order = 0; order < orders; order++) {
            kvc_op op = {.kind = KVC_REORDER, .count = count};
            for (int at = count - 1, rest = order; at >= 0; at--, rest /= rows)
                op.rows[at] = (uint8_t)(rest % rows);
            add_choice(self, op);
            op.kind = KVC_SELECT;
            add_choice(self, op);
        }
    }
}

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

/* Extends `sequence`, whose ops the model stands behind, to every sequence of `length` ops. */
static void extend(prover *self, kvc_sequence *sequence, kvc_model *model, int length)
{
    for (int at = 0; at < self->choices && !is_over(self); at++) {
        const kvc_op *op = &self->choice[at];
        int last = sequence->count + 1 == length;
        kvc_expectation expectation;
        kvc_model next;
        kvc_run *runs;
        if (kvc_op_rows_after(op, model->rows) == 0)
            continue;
        /* Only the last op may be the one that fails, and only in the situation that is part of the cause. */
        if (last && op->kind != self->finding->failure.op)
            continue;
        if (++self->nodes > NODES_MAX) {
            self->complete = 0;
            return;
        }
        kvc_model_expect(model, op, &expectation);
        if (expectation.unspecified)
            continue;
        if (!last && self->bench->deadly != NULL &&
            self->bench->deadly->always[op->kind][kvc_situation_code(&expectation.situation)]) {
            self->skipped = 1;
            continue;
        }
        sequence->op[sequence->count++] = *op;
        if (last) {
            kvc_failure here = self->finding->failure;
            kvc_situation outline;
            here.situation = expectation.situation;
            outline = kvc_failure_outline(&here);
            if (kvc_situation_code(&outline) == self->situation &&
                kvc_ops_compare(sequence->op, (size_t)sequence->count, self->finding->sequence.op,
                                (size_t)self->finding->sequence.count) < 0) {
                self->waiting[self->count++] = *sequence;
                if (self->count == KVC_EVALUATE_MAX)
                    run_waiting(self);
                if (self->tried + (uint64_t)self->count > self->bench->prove_limit)
                    self->complete = 0;
            }
        } else {
            /* A copy of the model for the branch: the log is short here. */
            next = *model;
            runs = malloc((size_t)model->room * sizeof *runs);
            if (runs == NULL) {
                self->complete = 0;
                return;
            }
            memcpy(runs, model->run, (size_t)model->runs * sizeof *runs);
            next.run = runs;
            if (kvc_model_commit(&next, op, &expectation, expectation.verdict == KVC_MUST_REFUSE))
                extend(self, sequence, &next, length);
            else
                self->complete = 0;
            kvc_model_close(&next);
        }
        sequence->count--;
    }
}

static void prove_once(prover *self)
{
    kvc_situation outline = kvc_failure_outline(&self->finding->failure);
    kvc_sequence sequence = {0};
    kvc_model model;

    self->situation = kvc_situation_code(&outline);
    self->choices = self->count = self->found = 0;
    /* Ops on several sequences have too many arguments: of those nothing is proved. */
    self->complete = self->bench->spec->memory == 0;
    if (!self->complete)
        return;
    self->skipped = 0;
    self->nodes = 0;
    if (!kvc_plan_make(self->bench->catalogue, self->bench->contract, self->bench->spec, self->bench->variant,
                       &self->finding->params, &self->plan, self->error) ||
        !kvc_model_open(&model, &self->plan)) {
        self->complete = 0;
        return;
    }
    make_choices(self);
    for (int length = 1; length <= self->finding->sequence.count && !is_over(self); length++) {
        kvc_model_start(&model, &self->plan, NULL);
        extend(self, &sequence, &model, length);
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
    free(self->waiting);
    free(self);
    return result;
}
