#include "harness/sequences_alphabet.h"

#include <string.h>

/* In order of importance; those that need a second sequence are left out where there is none. */
enum {
    DECODE_ONE = 0,
    DECODE_LOAD,
    REMOVE_LAST,
    SHARE,
    SAVE,
    RESTORE,
    REMOVE_HALF,
    DECODE_OTHER,
    LAST_LONG = DECODE_OTHER,
    REMOVE_ALL_BUT_ONE,
    REMOVE_ALL,
    REMOVE_ALL_BY_NUMBERS,
    REMOVE_NOTHING,
    REMOVE_FIRST,
    REMOVE_INSIDE,
    REMOVE_ALL_OF_ANY,
    REMOVE_LAST_OF_ANY,
    REMOVE_LAST_OF_OTHER,
    DECODE_BOTH,
    DECODE_TOO_EARLY,
    DECODE_TOO_LATE,
    DECODE_TOO_MANY,
    DECODE_REST,
    KEEP,
    SHIFT,
    SHIFT_REST,
    DIVIDE,
    CLEAR,
    CLEAR_NUMBERS,
    RESTORE_OTHER,
    RESTORE_CUT,
    RESTORE_BROKEN,
    LETTERS
};

static const struct {
    const char *text;
    kvc_op_kind kind;
    int sequences; /* that it needs */
} letters[LETTERS] = {
    [DECODE_ONE] = {"decode [0] 1", KVC_DECODE, 1},
    [DECODE_LOAD] = {"decode [0] a load", KVC_DECODE, 1},
    [REMOVE_LAST] = {"seq_rm 0: the last", KVC_SEQ_RM, 1},
    [SHARE] = {"seq_cp 0 to 1", KVC_SEQ_CP, 2},
    [SAVE] = {"save 0", KVC_SEQ_SAVE, 1},
    [RESTORE] = {"restore 0", KVC_SEQ_RESTORE, 1},
    [REMOVE_HALF] = {"seq_rm 0: the newer half", KVC_SEQ_RM, 1},
    [DECODE_OTHER] = {"decode [1] 2", KVC_DECODE, 2},
    [REMOVE_ALL_BUT_ONE] = {"seq_rm 0: all but the first", KVC_SEQ_RM, 1},
    [REMOVE_ALL] = {"seq_rm 0: all", KVC_SEQ_RM, 1},
    [REMOVE_ALL_BY_NUMBERS] = {"seq_rm 0: from 0 to the last", KVC_SEQ_RM, 1},
    [REMOVE_NOTHING] = {"seq_rm 0: behind the last", KVC_SEQ_RM, 1},
    [REMOVE_FIRST] = {"seq_rm 0: the first", KVC_SEQ_RM, 1},
    [REMOVE_INSIDE] = {"seq_rm 0: one inside", KVC_SEQ_RM, 1},
    [REMOVE_ALL_OF_ANY] = {"seq_rm -1: all", KVC_SEQ_RM, 1},
    [REMOVE_LAST_OF_ANY] = {"seq_rm -1: the last of 0", KVC_SEQ_RM, 1},
    [REMOVE_LAST_OF_OTHER] = {"seq_rm 1: the last", KVC_SEQ_RM, 2},
    [DECODE_BOTH] = {"decode [0, 1] 2", KVC_DECODE, 2},
    [DECODE_TOO_EARLY] = {"decode [0] 1, one position too early", KVC_DECODE, 1},
    [DECODE_TOO_LATE] = {"decode [0] 1, one position too late", KVC_DECODE, 1},
    [DECODE_TOO_MANY] = {"decode [0] one more than there are cells", KVC_DECODE, 1},
    [DECODE_REST] = {"decode [0] as many as there are cells", KVC_DECODE, 1},
    [KEEP] = {"seq_keep 0", KVC_SEQ_KEEP, 1},
    [SHIFT] = {"seq_add 0: all by 2", KVC_SEQ_ADD, 1},
    [SHIFT_REST] = {"seq_add 0: the newer half by 2", KVC_SEQ_ADD, 1},
    [DIVIDE] = {"seq_div 0: all by 2", KVC_SEQ_DIV, 1},
    [CLEAR] = {"clear 1", KVC_CLEAR, 1},
    [CLEAR_NUMBERS] = {"clear 0", KVC_CLEAR, 1},
    [RESTORE_OTHER] = {"restore 1", KVC_SEQ_RESTORE, 2},
    [RESTORE_CUT] = {"restore 0, cut", KVC_SEQ_RESTORE, 1},
    [RESTORE_BROKEN] = {"restore 0, broken", KVC_SEQ_RESTORE, 1},
};

void kvc_sequences_alphabet(const kvc_plan *plan, kvc_alphabet *alphabet)
{
    for (int at = 0; at < LETTERS && alphabet->count < KVC_ALPHABET_MAX; at++) {
        if (!kvc_plan_has_op(plan, letters[at].kind) || plan->params.sequences < letters[at].sequences)
            continue;
        alphabet->letter[alphabet->count++] = (kvc_letter)(KVC_LETTER_SEQUENCES + at);
        alphabet->in_long += at <= LAST_LONG;
    }
}

const char *kvc_sequences_letter_text(kvc_letter letter)
{
    unsigned at = (unsigned)letter - KVC_LETTER_SEQUENCES;

    return at < LETTERS ? letters[at].text : "?";
}

static int32_t last_of(const kvc_model *model, int sequence)
{
    const kvc_sequence_log *log = &model->sequences->log[sequence];

    return log->count > 0 ? log->entry[log->count - 1].position : -1;
}

/* More tokens than there is room for, and yet no more than a batch may have. */
static int32_t too_many(const kvc_model *model)
{
    int32_t room = model->plan->params.capacity - kvc_sequences_used(model, 0);

    return room + 1 <= model->plan->params.capacity ? room + 1 : 0;
}

int kvc_sequences_letter_op(kvc_letter letter, const kvc_model *model, kvc_op *op)
{
    int at = (int)letter - KVC_LETTER_SEQUENCES;
    int32_t last = last_of(model, 0);

    op->kind = (uint8_t)letters[at].kind;
    op->begin = op->end = op->kind == KVC_SEQ_RM || op->kind == KVC_SEQ_CP || op->kind == KVC_SEQ_ADD || op->kind == KVC_SEQ_DIV ? -1 : 0;
    op->n = op->kind == KVC_DECODE || op->kind == KVC_CLEAR ? 1 : op->kind == KVC_SEQ_ADD || op->kind == KVC_SEQ_DIV ? 2 : 0;
    if (op->kind == KVC_DECODE)
        op->count = 1;
    switch (at) {
    case DECODE_LOAD:
        op->n = model->plan->params.load;
        return 1;
    case DECODE_OTHER:
        op->rows[0] = 1;
        op->n = 2;
        return 1;
    case DECODE_BOTH:
        op->rows[op->count++] = 1;
        op->n = 2;
        return 1;
    case DECODE_TOO_EARLY:
        op->begin = -1;
        return last >= 0;
    case DECODE_TOO_LATE:
        op->begin = 1;
        return 1;
    case DECODE_TOO_MANY:
        op->n = too_many(model);
        return op->n > 0;
    case DECODE_REST:
        op->n = model->plan->params.capacity - kvc_sequences_used(model, 0);
        return op->n > 0;
    case CLEAR_NUMBERS:
        op->n = 0;
        return 1;
    case REMOVE_LAST:
    case REMOVE_LAST_OF_ANY:
        op->begin = last;
        op->sequence = at == REMOVE_LAST ? 0 : -1;
        return last > 0;
    case REMOVE_LAST_OF_OTHER:
        op->sequence = 1;
        op->begin = last_of(model, 1);
        return op->begin > 0;
    case REMOVE_HALF:
    case SHIFT_REST:
        op->begin = (last + 1) / 2;
        return op->begin > 0;
    case REMOVE_ALL_BUT_ONE:
        op->begin = 1;
        return last > 1;
    case REMOVE_ALL_BY_NUMBERS:
        op->begin = 0;
        op->end = last + 1;
        return last >= 0;
    case REMOVE_NOTHING:
        op->begin = last + 1;
        return 1;
    case REMOVE_FIRST:
        op->begin = 0;
        op->end = 1;
        return last > 0;
    case REMOVE_INSIDE:
        op->begin = 1;
        op->end = 2;
        return last > 1;
    case REMOVE_ALL_OF_ANY:
        op->sequence = -1;
        return 1;
    case SHARE:
        op->other = 1;
        return 1;
    case RESTORE_OTHER:
        op->sequence = 1;
        return 1;
    case RESTORE_CUT:
        op->n = 3;
        return 1;
    case RESTORE_BROKEN:
        op->n = 8;
        return 1;
    default:
        return 1;
    }
}

static int32_t random_count(const kvc_model *model, kvc_random *random)
{
    const kvc_params *params = &model->plan->params;

    switch (kvc_random_below(random, 12)) {
    case 0:
    case 1:
    case 2:
        return 1;
    case 3:
        return 2;
    case 4:
    case 5:
        return kvc_random_between(random, 1, 9);
    case 6:
        return params->step + kvc_random_between(random, -1, 1);
    case 7:
        return params->snapshots + kvc_random_between(random, 1, 2);
    case 8:
        return kvc_random_one_in(random, 8) ? too_many(model) - (int32_t)kvc_random_below(random, 2) : 3;
    case 9:
        return params->load + (int32_t)kvc_random_below(random, 3);
    default:
        return params->load;
    }
}

static int32_t random_damage(const kvc_model *model, kvc_random *random)
{
    return kvc_random_between(random, 1, kvc_plan_saves_to_files(model->plan) ? KVC_DAMAGES : KVC_DAMAGES_OF_FILES - 1);
}

/* A range of positions, most often one that ends with the newest. */
static void random_range(const kvc_model *model, kvc_random *random, int32_t last, kvc_op *op)
{
    const kvc_params *params = &model->plan->params;

    op->end = -1;
    switch (kvc_random_below(random, 12)) {
    case 0:
    case 1:
        op->begin = last;
        break;
    case 2:
        op->begin = last - kvc_random_between(random, 0, params->snapshots + 2);
        break;
    case 3:
        op->begin = last + 1 + (int32_t)kvc_random_below(random, 2);
        break;
    case 4:
        op->begin = -1;
        break;
    case 5:
        op->begin = 0;
        break;
    case 6:
        op->begin = last - params->window + kvc_random_between(random, -1, 1);
        break;
    case 7:
        op->begin = 1;
        break;
    default:
        op->begin = last >= 0 ? kvc_random_between(random, 0, last) : 0;
    }
    if (op->begin < -1)
        op->begin = 0;
    if (kvc_random_one_in(random, 4))
        op->end = (op->begin < 0 ? 0 : op->begin) + kvc_random_between(random, 0, last + 2 > 1 ? last + 2 : 1);
}

void kvc_sequences_random_op(const kvc_model *model, kvc_random *random, kvc_op *op)
{
    int32_t rows = model->rows;
    int32_t one = kvc_random_one_in(random, 2) ? 0 : (int32_t)kvc_random_below(random, (uint32_t)rows);
    int32_t last = last_of(model, one);

    op->sequence = one;
    switch ((kvc_op_kind)op->kind) {
    case KVC_DECODE:
        op->sequence = 0;
        op->n = random_count(model, random);
        op->rows[op->count++] = (uint8_t)one;
        for (int32_t at = 0; at < rows && kvc_random_one_in(random, 4); at++) {
            if (at != one)
                op->rows[op->count++] = (uint8_t)at;
        }
        if (kvc_random_one_in(random, 16))
            op->begin = kvc_random_one_in(random, 2) ? 1 : -1;
        return;
    case KVC_SEQ_RM:
        random_range(model, random, last, op);
        if (kvc_random_one_in(random, 8))
            op->sequence = -1;
        return;
    case KVC_SEQ_CP:
        op->other = (int32_t)kvc_random_below(random, (uint32_t)rows);
        op->begin = op->end = -1;
        if (kvc_random_one_in(random, 4))
            random_range(model, random, last, op);
        return;
    case KVC_SEQ_ADD:
    case KVC_SEQ_DIV:
        op->begin = op->end = -1;
        if (kvc_random_one_in(random, 3))
            random_range(model, random, last, op);
        op->n = op->kind == KVC_SEQ_DIV ? kvc_random_between(random, 2, 3) : kvc_random_between(random, -3, 5);
        return;
    case KVC_CLEAR:
        op->sequence = 0;
        op->n = !kvc_random_one_in(random, 4);
        return;
    case KVC_SEQ_RESTORE:
        op->n = kvc_random_one_in(random, 2) ? 0 : random_damage(model, random);
        return;
    default:
        return;
    }
}

static int follow_with(kvc_op *op, kvc_op_kind kind, int32_t sequence, int32_t n)
{
    op->kind = (uint8_t)kind;
    op->n = n;
    if (kind == KVC_DECODE)
        op->rows[op->count++] = (uint8_t)sequence;
    else
        op->sequence = sequence;
    return 1;
}

/* A checkpoint is gone back to when its sequence has gone on. */
static int follow_checkpoint(const kvc_model *model, const kvc_op *last, int restores, kvc_random *random, kvc_op *op)
{
    if (last->kind == KVC_SEQ_SAVE)
        return follow_with(op, KVC_DECODE, last->sequence, random_count(model, random));
    return restores && last->rows[0] == model->sequences->saved_of && follow_with(op, KVC_SEQ_RESTORE, last->rows[0], 0);
}

int kvc_sequences_follow(const kvc_model *model, const kvc_op *last, unsigned kinds, kvc_random *random, kvc_op *op)
{
    int saves = (kinds & 1u << KVC_SEQ_SAVE) != 0;
    int restores = (kinds & 1u << KVC_SEQ_RESTORE) != 0;

    memset(op, 0, sizeof *op);
    if (last == NULL)
        return !kvc_random_one_in(random, 8) && follow_with(op, KVC_DECODE, 0, random_count(model, random));
    if (kvc_plan_has_checkpoints(model->plan) && (last->kind == KVC_SEQ_SAVE || (last->kind == KVC_DECODE && model->sequences->has_saved)))
        return !kvc_random_one_in(random, 3) && follow_checkpoint(model, last, restores, random, op);
    switch ((kvc_op_kind)last->kind) {
    case KVC_SEQ_SAVE:
        return restores && !kvc_random_one_in(random, 3) &&
               follow_with(op, KVC_SEQ_RESTORE, kvc_random_one_in(random, 2) ? 0 : (int32_t)kvc_random_below(random, (uint32_t)model->rows),
                           kvc_random_one_in(random, 4) ? random_damage(model, random) : 0);
    case KVC_SEQ_CP:
        if (restores && model->sequences->has_saved && kvc_random_one_in(random, 4))
            return follow_with(op, KVC_SEQ_RESTORE, last->other, 0);
        return saves && kvc_random_one_in(random, 2) && follow_with(op, KVC_SEQ_SAVE, last->other, 0);
    case KVC_SEQ_ADD:
    case KVC_SEQ_DIV:
        return saves && kvc_random_one_in(random, 2) && follow_with(op, KVC_SEQ_SAVE, last->sequence, 0);
    case KVC_SEQ_RM:
    case KVC_SEQ_RESTORE:
        return last->sequence >= 0 && kvc_random_one_in(random, 3) &&
               follow_with(op, KVC_DECODE, last->sequence, kvc_random_between(random, 1, 3));
    default:
        return 0;
    }
}

kvc_op kvc_sequences_last(const kvc_op *op)
{
    int32_t sequence = op->kind == KVC_SEQ_CP ? op->other : op->sequence < 0 ? 0 : op->sequence;

    return (kvc_op){.kind = KVC_DECODE, .count = 1, .rows = {(uint8_t)sequence}, .n = 1};
}
