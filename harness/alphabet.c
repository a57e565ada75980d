#include "harness/alphabet.h"

#include <string.h>

static const char *const letter_words[KVC_LETTERS] = {
    "append 1", "append up to the boundary", "crop 0",   "crop -1",          "crop -held",     "crop -(held + 1)",
    "crop 1",   "reset",                     "reorder backwards", "select the last row", "repeat 2", "record 1",
    "record 0", "copy", "pickle", "offload", "prefetch", "initialize"};

static const kvc_op_kind letter_kind[KVC_LETTERS] = {
    KVC_APPEND, KVC_APPEND, KVC_CROP,    KVC_CROP,   KVC_CROP,   KVC_CROP,  KVC_CROP,
    KVC_RESET,  KVC_REORDER, KVC_SELECT, KVC_REPEAT, KVC_RECORD, KVC_RECORD,
    KVC_COPY, KVC_PICKLE, KVC_OFFLOAD, KVC_PREFETCH, KVC_INITIALIZE};

const char *kvc_letter_text(kvc_letter letter)
{
    return (unsigned)letter < KVC_LETTERS ? letter_words[letter] : "?";
}

void kvc_alphabet_make(const kvc_plan *plan, kvc_alphabet *alphabet)
{
    /* In order of importance: what a variant lacks makes room for the next. */
    static const kvc_letter order[KVC_LETTERS] = {
        KVC_LETTER_APPEND_ONE, KVC_LETTER_APPEND_BOUNDARY, KVC_LETTER_CROP_ONE, KVC_LETTER_CROP_OVER,
        KVC_LETTER_CROP_ZERO,  KVC_LETTER_RECORD,          KVC_LETTER_RESET,    KVC_LETTER_REORDER,
        KVC_LETTER_SELECT,     KVC_LETTER_REPEAT,          KVC_LETTER_CROP_HELD, KVC_LETTER_CROP_POSITIVE,
        KVC_LETTER_RECORD_OFF, KVC_LETTER_COPY,            KVC_LETTER_PICKLE,   KVC_LETTER_OFFLOAD,
        KVC_LETTER_PREFETCH,   KVC_LETTER_INITIALIZE};

    memset(alphabet, 0, sizeof *alphabet);
    for (int at = 0; at < KVC_LETTERS && alphabet->count < KVC_ALPHABET_MAX; at++) {
        int is_short = order[at] >= KVC_LETTER_COPY;
        if (!kvc_plan_has_op(plan, letter_kind[order[at]]) || (!is_short && alphabet->count == KVC_ALPHABET_LONG))
            continue;
        alphabet->letter[alphabet->count++] = order[at];
        alphabet->in_long += !is_short;
    }
}

int kvc_letter_op(kvc_letter letter, const kvc_model *model, kvc_op *op)
{
    int boundary = kvc_plan_boundary(model->plan);

    memset(op, 0, sizeof *op);
    op->kind = (uint8_t)letter_kind[letter];
    switch (letter) {
    case KVC_LETTER_APPEND_ONE:
    case KVC_LETTER_CROP_POSITIVE:
    case KVC_LETTER_RECORD:
        op->n = 1;
        return 1;
    case KVC_LETTER_APPEND_BOUNDARY:
        op->n = boundary > 1 ? boundary : 3;
        return 1;
    case KVC_LETTER_CROP_ONE:
        op->n = -1;
        return 1;
    case KVC_LETTER_CROP_HELD:
        op->n = -model->length;
        return model->length > 1;
    case KVC_LETTER_CROP_OVER:
        op->n = -model->length - 1;
        return model->length > 0;
    case KVC_LETTER_REORDER:
        op->count = (uint8_t)model->rows;
        for (int32_t row = 0; row < model->rows; row++)
            op->rows[row] = (uint8_t)(model->rows - 1 - row);
        return model->rows > 1;
    case KVC_LETTER_SELECT:
        op->count = 1;
        op->rows[0] = (uint8_t)(model->rows - 1);
        return 1;
    case KVC_LETTER_REPEAT:
        op->n = 2;
        return model->rows * 2 <= KVC_ROWS_MAX;
    case KVC_LETTER_CROP_ZERO:
    case KVC_LETTER_RESET:
    case KVC_LETTER_RECORD_OFF:
    case KVC_LETTER_COPY:
    case KVC_LETTER_PICKLE:
    case KVC_LETTER_OFFLOAD:
    case KVC_LETTER_PREFETCH:
    case KVC_LETTER_INITIALIZE:
        return 1;
    }
    return 0;
}
