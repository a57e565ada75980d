/* Making a case smaller: fewer ops, smaller numbers, smaller parameters, while it fails in the same way. */
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/shrink.h"

enum { ROUNDS_MAX = 12, NUMBERS_TRIED = 12 };

/* Candidates with the same parameters, in order of preference. */
typedef struct candidates {
    int count;
    kvc_sequence sequence[KVC_EVALUATE_MAX];
} candidates;

typedef struct shrinker {
    const kvc_bench *bench;
    kvc_params params; /* the smallest so far */
    kvc_sequence sequence;
    kvc_shrink_choose choose;
    void *context;
    candidates *list;
    kvc_plan plan; /* of the parameters */
    kvc_crew_result result;
} shrinker;

static int make_plan(shrinker *self, const kvc_params *params, kvc_plan *plan)
{
    kvc_error ignored;

    return kvc_plan_make(self->bench->catalogue, self->bench->contract, self->bench->spec, self->bench->variant, params,
                         plan, &ignored);
}

/* Whether an op before the last is known to end the process: then the last cannot fail, and the process need not be spent. */
static int ends_early(const shrinker *self, const kvc_sequence *sequence)
{
    const kvc_exclusions *deadly = self->bench->deadly;
    kvc_model model;
    int early = 0;

    if (deadly == NULL || !kvc_model_open(&model, &self->plan))
        return 0;
    for (int at = 0; at + 1 < sequence->count && !early; at++) {
        kvc_expectation expectation;
        kvc_model_expect(&model, &sequence->op[at], &expectation);
        early = deadly->always[sequence->op[at].kind][kvc_situation_code(&expectation.situation)] ||
                !kvc_model_commit(&model, &sequence->op[at], &expectation, expectation.verdict == KVC_MUST_REFUSE);
    }
    kvc_model_close(&model);
    return early;
}

static void propose(shrinker *self, const kvc_sequence *sequence)
{
    if (self->list->count < KVC_EVALUATE_MAX && sequence->count > 0 &&
        kvc_sequence_is_valid(&self->plan, sequence, NULL) && !ends_early(self, sequence))
        self->list->sequence[self->list->count++] = *sequence;
}

/* Takes the first candidate that will do. Returns 1 when one was taken. */
static int take_first(shrinker *self, const kvc_params *params)
{
    candidates *list = self->list;
    int count = list->count;
    int taken;

    list->count = 0;
    if (count == 0 || self->result != KVC_CREW_DONE)
        return 0;
    taken = self->choose(self->context, params, list->sequence, count, &self->result);
    if (taken < 0)
        return 0;
    self->sequence = list->sequence[taken];
    self->params = *params;
    return 1;
}

static int shrink_params(shrinker *self)
{
    const kvc_param_info *table = kvc_param_table();
    int changed = 0;

    for (int at = 0; at < KVC_PARAMS && self->result == KVC_CREW_DONE; at++) {
        int32_t least = kvc_param_get(&self->bench->smallest, at);
        if (strcmp(table[at].name, "parts") == 0 || strcmp(table[at].name, "layers") == 0)
            continue;
        for (int32_t value = least; value < kvc_param_get(&self->params, at);
             value += self->bench->spec->step[at]) {
            kvc_params params = self->params;
            kvc_param_set(&params, at, value);
            if (!make_plan(self, &params, &self->plan))
                continue;
            propose(self, &self->sequence);
            if (take_first(self, &params)) {
                changed = 1;
                break;
            }
            if (self->result != KVC_CREW_DONE || value - least > NUMBERS_TRIED)
                break;
        }
        (void)make_plan(self, &self->params, &self->plan);
    }
    return changed;
}

static int shrink_ops(shrinker *self)
{
    int changed = 0;

    for (int piece = self->sequence.count / 2; piece >= 1; piece = piece > 1 ? piece / 2 : 0) {
        int again = 1;
        while (again && self->result == KVC_CREW_DONE) {
            const kvc_sequence *whole = &self->sequence;
            for (int at = 0; at + piece < whole->count; at++) {
                kvc_sequence cut = *whole;
                memmove(&cut.op[at], &cut.op[at + piece], (size_t)(cut.count - at - piece) * sizeof cut.op[0]);
                cut.count -= piece;
                propose(self, &cut);
            }
            again = take_first(self, &self->params);
            changed |= again;
        }
    }
    return changed;
}

static int same_rows(const kvc_op *a, const kvc_op *b)
{
    return a->count == b->count && memcmp(a->rows, b->rows, a->count) == 0 && a->begin == b->begin;
}

/* Two appends or two crops side by side become one. */
static int join_ops(shrinker *self)
{
    int changed = 0;
    int again = 1;

    while (again && self->result == KVC_CREW_DONE) {
        const kvc_sequence *whole = &self->sequence;
        for (int at = 0; at + 1 < whole->count; at++) {
            kvc_sequence next = *whole;
            const kvc_op *other = &whole->op[at + 1];
            if (whole->op[at].kind != other->kind ||
                (other->kind != KVC_APPEND && !kvc_op_is_rollback(other->kind) &&
                 !(other->kind == KVC_DECODE && same_rows(&whole->op[at], other))))
                continue;
            next.op[at].n += other->n;
            memmove(&next.op[at + 1], &next.op[at + 2], (size_t)(next.count - at - 2) * sizeof next.op[0]);
            next.count--;
            propose(self, &next);
        }
        again = take_first(self, &self->params);
        changed |= again;
    }
    return changed;
}

/*
 * Whether a number is tried in place of `size`: many small ones, some near the one that is known to fail, and between them those at half the
 * distance, a quarter, and so on, by which a limit is come to in a few rounds.
 */
static int is_tried(int32_t smaller, int32_t size, int32_t near)
{
    if (smaller <= NUMBERS_TRIED || size - smaller <= near)
        return 1;
    for (int32_t step = size / 2; step > 0; step /= 2) {
        if (smaller == step || size - smaller == step)
            return 1;
    }
    return 0;
}

static int32_t with_size(const kvc_op *op, int32_t size)
{
    return op->n < 0 ? -size : size;
}

/* Ops on sequences: each argument becomes what is plainest, then smaller; a decode reads for fewer sequences. */
static int shrink_arguments(shrinker *self)
{
    int changed = 0;

    for (int at = 0; at < self->sequence.count && self->result == KVC_CREW_DONE; at++) {
        const kvc_op before = self->sequence.op[at];
        kvc_sequence next = self->sequence;
        if (!kvc_op_is_of_sequences(before.kind))
            continue;
        for (const char *letter = kvc_op_arguments((kvc_op_kind)before.kind); *letter != '\0'; letter++) {
            int32_t value = kvc_op_argument(&before, *letter);
            for (int32_t less = -1; *letter != 'r' && less < abs(value); less++) {
                if (!is_tried(less, abs(value), 3))
                    continue;
                next.op[at] = before;
                kvc_op_set_argument(&next.op[at], *letter, less);
                if (kvc_op_compare(&next.op[at], &before) < 0 || kvc_op_weight(&next.op[at]) < kvc_op_weight(&before))
                    propose(self, &next);
            }
        }
        for (int row = 0; before.count > 1 && row < before.count; row++) {
            next.op[at] = before;
            memmove(&next.op[at].rows[row], &next.op[at].rows[row + 1], (size_t)(before.count - row - 1));
            next.op[at].count--;
            propose(self, &next);
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

/* What is decoded and the positions after it become smaller together. */
static int shrink_positions(shrinker *self)
{
    int changed = 0;

    for (int first = 0; first < self->sequence.count && self->result == KVC_CREW_DONE; first++) {
        const kvc_sequence *whole = &self->sequence;
        if (whole->op[first].kind != KVC_DECODE)
            continue;
        for (int32_t less = whole->op[first].n - 1; less >= 1; less--) {
            kvc_sequence next = *whole;
            if (!is_tried(less, whole->op[first].n, 2))
                continue;
            next.op[first].n -= less;
            for (int at = first + 1; at < next.count; at++) {
                kvc_op *op = &next.op[at];
                if (op->kind == KVC_DECODE || !kvc_op_is_of_sequences(op->kind))
                    continue;
                op->begin -= op->begin > less ? less : 0;
                op->end -= op->end > less ? less : 0;
            }
            propose(self, &next);
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

static int shrink_numbers(shrinker *self)
{
    int changed = 0;

    for (int at = 0; at < self->sequence.count && self->result == KVC_CREW_DONE; at++) {
        const kvc_op *op = &self->sequence.op[at];
        int32_t size = op->n < 0 ? -op->n : op->n;
        if (op->kind != KVC_APPEND && !kvc_op_is_rollback(op->kind) && op->kind != KVC_REPEAT && op->kind != KVC_EXTRACT &&
            op->kind != KVC_SPLIT)
            continue;
        for (int32_t smaller = op->kind == KVC_EXTRACT || op->kind == KVC_SPLIT ? 0 : 1; smaller < size; smaller++) {
            kvc_sequence next = self->sequence;
            if (!is_tried(smaller, size, 2))
                continue;
            next.op[at].n = with_size(op, smaller);
            propose(self, &next);
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

/* Two numbers that belong together become smaller together: what is appended and what is removed of it. */
static int shrink_pairs(shrinker *self)
{
    int changed = 0;

    for (int first = 0; first < self->sequence.count && self->result == KVC_CREW_DONE; first++) {
        for (int second = first + 1; second < self->sequence.count; second++) {
            const kvc_sequence *whole = &self->sequence;
            int32_t a = abs(whole->op[first].n);
            int32_t b = abs(whole->op[second].n);
            for (int32_t less = (a < b ? a : b) - 1; less >= 1; less--) {
                kvc_sequence next = *whole;
                if (!is_tried(less, a < b ? a : b, 2))
                    continue;
                next.op[first].n = with_size(&whole->op[first], a - less);
                next.op[second].n = with_size(&whole->op[second], b - less);
                propose(self, &next);
            }
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

/* Rows: a plain exchange, or the first row alone, where that is enough. */
static int shrink_rows(shrinker *self)
{
    int changed = 0;

    for (int at = 0; at < self->sequence.count && self->result == KVC_CREW_DONE; at++) {
        kvc_sequence next = self->sequence;
        kvc_op *op = &next.op[at];
        kvc_op before = *op;
        if (op->kind == KVC_SELECT || op->kind == KVC_MERGE || op->kind == KVC_SPLIT) {
            for (int count = 1; count <= before.count; count++) {
                for (uint8_t row = 0; row < 2; row++) {
                    op->count = (uint8_t)count;
                    for (int place = 0; place < count; place++)
                        op->rows[place] = (uint8_t)(place == 0 ? row : place);
                    if (kvc_op_compare(op, &before) < 0)
                        propose(self, &next);
                }
            }
        } else if (op->kind == KVC_REORDER) {
            for (int way = 0; way < 3; way++) {
                for (int place = 0; place < op->count; place++)
                    op->rows[place] = (uint8_t)(way == 0 ? 0 : way == 1 ? place : op->count - 1 - place);
                if (kvc_op_compare(op, &before) < 0)
                    propose(self, &next);
            }
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

/* Numbers of tokens for each row: all the same, one less, one left out. */
static int shrink_counts(shrinker *self)
{
    int changed = 0;

    for (int at = 0; at < self->sequence.count && self->result == KVC_CREW_DONE; at++) {
        kvc_sequence next = self->sequence;
        kvc_op *op = &next.op[at];
        kvc_op before = *op;
        if (!kvc_op_has_counts((kvc_op_kind)op->kind))
            continue;
        if (op->kind == KVC_APPEND_ROWS && kvc_op_tokens(&before) > 0) {
            *op = (kvc_op){.kind = KVC_APPEND, .n = kvc_op_tokens(&before)};
            propose(self, &next);
        }
        for (int place = 0; op->kind == KVC_EXTEND && before.count > 1 && place < before.count; place++) {
            *op = before;
            op->count--;
            memmove(&op->rows[place], &op->rows[place + 1], (size_t)(op->count - place));
            propose(self, &next);
        }
        for (int place = 0; place < before.count; place++) {
            for (int32_t smaller = 0; smaller < before.rows[place] && smaller <= NUMBERS_TRIED; smaller++) {
                *op = before;
                op->rows[place] = (uint8_t)smaller;
                propose(self, &next);
            }
        }
        /* As much less in each: what matters may be the difference. */
        for (int32_t less = kvc_op_tokens(&before) - 1; less >= 1; less--) {
            *op = before;
            for (int place = 0; place < before.count; place++)
                op->rows[place] = (uint8_t)(before.rows[place] > less ? before.rows[place] - less : 0);
            propose(self, &next);
        }
        changed |= take_first(self, &self->params);
    }
    return changed;
}

/* The sequence of a batch without row `row`. Returns 0 when there is none. */
static int without_row(const kvc_sequence *whole, int32_t rows, int32_t row, kvc_sequence *out)
{
    *out = *whole;
    for (int at = 0; at < out->count; at++) {
        kvc_op *op = &out->op[at];
        int32_t after = kvc_op_rows_after(op, rows);
        int32_t moved = row; /* where it is after the op */
        int kept = 0;
        if (row < 0)
            break;
        if (op->kind == KVC_EXTRACT && op->n == row)
            return 0;
        if (op->kind == KVC_EXTRACT) {
            op->n -= op->n > row;
            moved = -1;
        } else if (op->kind == KVC_APPEND_ROWS) {
            memmove(&op->rows[row], &op->rows[row + 1], (size_t)(op->count - row - 1));
            op->count--;
        } else if (kvc_op_names_rows((kvc_op_kind)op->kind)) {
            if (op->kind == KVC_SPLIT)
                return 0;
            moved = -1;
            for (int place = 0; place < op->count; place++) {
                if (op->rows[place] == row && moved < 0)
                    moved = place;
                else if (op->rows[place] == row)
                    return 0;
                else
                    op->rows[kept++] = (uint8_t)(op->rows[place] - (op->rows[place] > row));
            }
            op->count = (uint8_t)kept;
            if (kept == 0)
                return 0;
        } else if (op->kind == KVC_REPEAT) {
            return 0;
        }
        rows = after;
        row = moved;
    }
    return 1;
}

/* One row of the batch less. */
static int drop_rows(shrinker *self)
{
    int changed = 0;
    int again = 1;

    while (again && self->plan.own_rows && self->params.batch > 1 && self->result == KVC_CREW_DONE) {
        kvc_params params = self->params;
        params.batch--;
        again = 0;
        if (params.batch < self->bench->smallest.batch || !make_plan(self, &params, &self->plan))
            break;
        for (int32_t row = params.batch; row >= 0; row--) {
            kvc_sequence next;
            if (without_row(&self->sequence, self->params.batch, row, &next))
                propose(self, &next);
        }
        again = take_first(self, &params);
        changed |= again;
    }
    (void)make_plan(self, &self->params, &self->plan);
    return changed;
}

kvc_crew_result kvc_shrink(const kvc_bench *bench, kvc_params *params, kvc_sequence *sequence, kvc_shrink_choose choose,
                           void *context)
{
    shrinker self = {.bench = bench, .params = *params, .sequence = *sequence, .choose = choose, .context = context,
                     .result = KVC_CREW_DONE};
    int changed = 1;

    self.list = malloc(sizeof *self.list);
    if (self.list == NULL)
        return KVC_CREW_FAILED;
    self.list->count = 0;
    if (!make_plan(&self, params, &self.plan))
        changed = 0;
    for (int round = 0; changed && round < ROUNDS_MAX && self.result == KVC_CREW_DONE; round++) {
        changed = shrink_ops(&self);
        changed |= join_ops(&self);
        changed |= shrink_numbers(&self);
        changed |= shrink_positions(&self);
        changed |= shrink_arguments(&self);
        changed |= shrink_pairs(&self);
        changed |= shrink_rows(&self);
        changed |= shrink_counts(&self);
        changed |= drop_rows(&self);
        changed |= shrink_params(&self);
    }
    free(self.list);
    *params = self.params;
    *sequence = self.sequence;
    return self.result;
}
