#include "harness/prove_choices.h"

#include <stdlib.h>

enum { CHOICES_MAX = 240, NUMBERS_MAX = 32, ROWS_TRIED = 3, COUNTS_TRIED = 8 };

typedef struct chooser {
    const kvc_plan *plan;
    const kvc_sequence *sequence;
    kvc_proof_ops *out;
    int most; /* choices */
} chooser;

static void add_choice(chooser *self, kvc_op op)
{
    kvc_proof_ops *out = self->out;

    if (!kvc_plan_has_op(self->plan, (kvc_op_kind)op.kind))
        return;
    if (out->count < self->most)
        out->op[out->count++] = op;
    else
        out->complete = 0;
}

/* The most rows that the case comes to, and at least two. */
static int rows_of(const chooser *self)
{
    const kvc_sequence *sequence = self->sequence;
    int rows = self->plan->params.batch;
    int most = rows > 2 ? rows : 2;

    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        rows = kvc_op_rows_after(op, rows);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Every list of `count` numbers up to `most`. */
static void add_lists(chooser *self, kvc_op op, int count, int most)
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
static void add_row_ops(chooser *self, int rows)
{
    const kvc_sequence *sequence = self->sequence;
    int most = 1;
    int extended = 1;
    int32_t split = 0;

    if (!self->plan->own_rows)
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
        self->out->complete = 0;
        return;
    }
    for (uint8_t row = 0; row < rows; row++)
        add_choice(self, (kvc_op){.kind = KVC_EXTRACT, .n = row});
    for (int count = 1; count <= rows; count++) {
        if (kvc_plan_has_op(self->plan, KVC_APPEND_ROWS))
            add_lists(self, (kvc_op){.kind = KVC_APPEND_ROWS}, count, most);
        if (kvc_plan_has_op(self->plan, KVC_MERGE))
            add_lists(self, (kvc_op){.kind = KVC_MERGE}, count, rows - 1);
        if (count <= extended && kvc_plan_has_op(self->plan, KVC_EXTEND))
            add_lists(self, (kvc_op){.kind = KVC_EXTEND}, count, most);
        for (int32_t n = 0; n <= split && count < rows && kvc_plan_has_op(self->plan, KVC_SPLIT); n++)
            add_lists(self, (kvc_op){.kind = KVC_SPLIT, .n = n}, count, rows - 1);
    }
}

/* The alphabet: numbers up to all that the case appends and removes, so that fewer ops with larger numbers are among them. */
static void add_ops(chooser *self)
{
    int32_t appended = 0;
    int32_t cropped = 0;
    int positive = 0;
    int nothing = 0;
    int rows;
    const kvc_sequence *sequence = self->sequence;

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
    self->out->complete &= appended <= NUMBERS_MAX && cropped <= NUMBERS_MAX && positive <= NUMBERS_MAX;
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
        self->out->complete = 0;
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

/* ---- Ops on several sequences ---- */

/* The largest numbers of a case. */
typedef struct largest {
    int32_t tokens;    /* decoded in all its decodes, for one sequence each */
    int32_t off;       /* positions that a decode is off */
    int32_t position;  /* an end of a range */
    int32_t shift;     /* by which positions are moved */
    int32_t divisor;
    int32_t damage;
} largest;

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static largest largest_of(const kvc_sequence *sequence)
{
    largest out = {1, 1, 1, 1, 2, 1};
    int32_t tokens = 0;

    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        if (op->kind == KVC_DECODE) {
            tokens += op->n;
            out.off = larger(out.off, abs(op->begin));
            continue;
        }
        out.position = larger(out.position, larger(op->begin, op->end));
        out.shift = op->kind == KVC_SEQ_ADD ? larger(out.shift, abs(op->n)) : out.shift;
        out.divisor = op->kind == KVC_SEQ_DIV ? larger(out.divisor, op->n) : out.divisor;
        out.damage = op->kind == KVC_SEQ_RESTORE ? larger(out.damage, op->n) : out.damage;
    }
    out.tokens = larger(out.tokens, tokens);
    out.position = larger(out.position, out.tokens);
    return out;
}

/* An op with every range of positions and every number of `from` to `to`. */
static void add_ranges(chooser *self, kvc_op op, int32_t position, int32_t from, int32_t to)
{
    if (!kvc_plan_has_op(self->plan, (kvc_op_kind)op.kind))
        return;
    for (op.begin = -1; op.begin <= position; op.begin++) {
        for (op.end = -1; op.end <= position; op.end++) {
            for (op.n = from; op.n <= to; op.n++)
                add_choice(self, op);
        }
    }
}

/* Decodes for these sequences and, behind them, for each that is not among them yet. */
static void add_decodes(chooser *self, kvc_op op, const largest *most)
{
    if (op.count > 0) {
        for (op.n = 1; op.n <= most->tokens; op.n++) {
            for (op.begin = -most->off; op.begin <= most->off; op.begin++)
                add_choice(self, op);
        }
    }
    for (int32_t next = 0; next < self->plan->params.sequences && op.count < KVC_ROWS_MAX; next++) {
        kvc_op longer = op;
        int there = 0;
        for (int at = 0; at < op.count; at++)
            there |= op.rows[at] == next;
        longer.rows[longer.count++] = (uint8_t)next;
        if (!there)
            add_decodes(self, longer, most);
    }
}

static void add_sequence_ops(chooser *self)
{
    const largest most = largest_of(self->sequence);
    const int32_t sequences = self->plan->params.sequences;

    if (most.tokens > NUMBERS_MAX || most.position > NUMBERS_MAX || most.shift > NUMBERS_MAX || most.divisor > NUMBERS_MAX) {
        self->out->complete = 0;
        return;
    }
    add_decodes(self, (kvc_op){.kind = KVC_DECODE}, &most);
    for (int32_t one = -1; one < sequences; one++)
        add_ranges(self, (kvc_op){.kind = KVC_SEQ_RM, .sequence = one}, most.position, 0, 0);
    for (int32_t one = 0; one < sequences; one++) {
        for (int32_t other = 0; other < sequences; other++)
            add_ranges(self, (kvc_op){.kind = KVC_SEQ_CP, .sequence = one, .other = other}, most.position, 0, 0);
        add_choice(self, (kvc_op){.kind = KVC_SEQ_KEEP, .sequence = one});
        add_ranges(self, (kvc_op){.kind = KVC_SEQ_ADD, .sequence = one}, most.position, -most.shift, most.shift);
        add_ranges(self, (kvc_op){.kind = KVC_SEQ_DIV, .sequence = one}, most.position, 2, most.divisor);
        add_choice(self, (kvc_op){.kind = KVC_SEQ_SAVE, .sequence = one});
        for (int32_t damage = 0; damage <= most.damage; damage++)
            add_choice(self, (kvc_op){.kind = KVC_SEQ_RESTORE, .sequence = one, .n = damage});
    }
    for (int32_t data = 0; data <= 1; data++)
        add_choice(self, (kvc_op){.kind = KVC_CLEAR, .n = data});
}

void kvc_proof_ops_make(const kvc_plan *plan, const kvc_sequence *sequence, kvc_proof_ops *choices)
{
    int several = kvc_plan_has_sequences(plan);
    chooser self = {plan, sequence, choices, several ? KVC_PROOF_OPS_MAX : CHOICES_MAX};

    choices->count = 0;
    choices->complete = 1;
    if (several)
        add_sequence_ops(&self);
    else
        add_ops(&self);
}
