#include "harness/alphabet.h"

#include <string.h>

#include "harness/sequences_alphabet.h"

static const char *const letter_words[KVC_LETTERS] = {
    "append 1", "append up to the boundary", "crop 0",   "crop -1",          "crop -held",     "crop -(held + 1)",
    "crop 1",   "reset",                     "reorder backwards", "select the last row", "repeat 2", "record 1",
    "record 0", "append 0", "trim the front", "append one more in each row", "append one less in each row",
    "merge backwards", "extract the last row", "extend by a row of 2", "split the first row", "copy", "pickle", "offload",
    "prefetch", "initialize", "save", "state", "quantize"};

static const kvc_op_kind letter_kind[KVC_LETTERS] = {
    KVC_APPEND, KVC_APPEND, KVC_CROP,    KVC_CROP,   KVC_CROP,   KVC_CROP,  KVC_CROP,
    KVC_RESET,  KVC_REORDER, KVC_SELECT, KVC_REPEAT, KVC_RECORD, KVC_RECORD,
    KVC_APPEND, KVC_TRIM_FRONT, KVC_APPEND_ROWS, KVC_APPEND_ROWS, KVC_MERGE, KVC_EXTRACT, KVC_EXTEND, KVC_SPLIT,
    KVC_COPY, KVC_PICKLE, KVC_OFFLOAD, KVC_PREFETCH, KVC_INITIALIZE, KVC_SAVE_FILE, KVC_FROM_STATE, KVC_QUANTIZE};

static const char *const trim_words[] = {"trim 0", "trim 1", "trim held", "trim held + 1", "trim -1"};

static int is_crop(kvc_letter letter)
{
    return letter >= KVC_LETTER_CROP_ZERO && letter <= KVC_LETTER_CROP_POSITIVE;
}

static int trims(const kvc_plan *plan)
{
    return kvc_plan_has_op(plan, KVC_TRIM);
}

const char *kvc_letter_text(const kvc_plan *plan, kvc_letter letter)
{
    if (letter >= KVC_LETTER_SEQUENCES)
        return kvc_sequences_letter_text(letter);
    if (is_crop(letter) && trims(plan))
        return trim_words[letter - KVC_LETTER_CROP_ZERO];
    return (unsigned)letter < KVC_LETTERS ? letter_words[letter] : "?";
}

static int is_offered(const kvc_plan *plan, kvc_letter letter)
{
    if (letter == KVC_LETTER_APPEND_NONE)
        return plan->rules.rule[KVC_CONTRACT_APPEND_NONE]->value == KVC_NONE_NOTHING;
    return kvc_plan_has_op(plan, is_crop(letter) && trims(plan) ? KVC_TRIM : letter_kind[letter]);
}

void kvc_alphabet_make(const kvc_plan *plan, kvc_alphabet *alphabet)
{
    /* In order of importance: what a variant lacks makes room for the next. */
    static const kvc_letter order[KVC_LETTERS] = {
        KVC_LETTER_APPEND_ONE, KVC_LETTER_APPEND_BOUNDARY, KVC_LETTER_TRIM_FRONT,  KVC_LETTER_APPEND_MORE,
        KVC_LETTER_CROP_ONE,   KVC_LETTER_EXTEND,          KVC_LETTER_SPLIT,       KVC_LETTER_MERGE,
        KVC_LETTER_EXTRACT,    KVC_LETTER_CROP_OVER,       KVC_LETTER_CROP_ZERO,   KVC_LETTER_RECORD,
        KVC_LETTER_RESET,      KVC_LETTER_REORDER,         KVC_LETTER_SELECT,      KVC_LETTER_REPEAT,
        KVC_LETTER_APPEND_LESS, KVC_LETTER_CROP_HELD,      KVC_LETTER_CROP_POSITIVE, KVC_LETTER_APPEND_NONE,
        KVC_LETTER_RECORD_OFF, KVC_LETTER_COPY,            KVC_LETTER_PICKLE,      KVC_LETTER_OFFLOAD,
        KVC_LETTER_PREFETCH,   KVC_LETTER_INITIALIZE,      KVC_LETTER_SAVE,        KVC_LETTER_STATE,
        KVC_LETTER_QUANTIZE};

    memset(alphabet, 0, sizeof *alphabet);
    if (kvc_plan_has_sequences(plan)) {
        kvc_sequences_alphabet(plan, alphabet);
        return;
    }
    for (int at = 0; at < KVC_LETTERS && alphabet->count < (plan->own_rows ? KVC_ALPHABET_ROWS : KVC_ALPHABET_MAX); at++) {
        /* Rows with lengths of their own have more ops that matter than fit: the rest stands in short sequences. */
        int is_short = order[at] >= KVC_LETTER_COPY || (plan->own_rows && alphabet->in_long == KVC_ALPHABET_LONG);
        if (!is_offered(plan, order[at]) || (!is_short && alphabet->count == KVC_ALPHABET_LONG))
            continue;
        alphabet->letter[alphabet->count++] = order[at];
        alphabet->in_long += !is_short;
    }
}

static int make_op(kvc_letter letter, const kvc_model *model, kvc_op *op)
{
    int boundary = kvc_plan_boundary(model->plan);
    int32_t held = model->length - kvc_model_floor(model);

    memset(op, 0, sizeof *op);
    if (letter >= KVC_LETTER_SEQUENCES)
        return kvc_sequences_letter_op(letter, model, op);
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
        op->n = -held;
        return held > 1;
    case KVC_LETTER_CROP_OVER:
        op->n = -held - 1;
        return held > 0;
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
    case KVC_LETTER_APPEND_MORE:
    case KVC_LETTER_APPEND_LESS:
        op->count = (uint8_t)model->rows;
        for (int32_t row = 0; row < model->rows; row++)
            op->rows[row] = (uint8_t)(letter == KVC_LETTER_APPEND_MORE ? (boundary > 1 ? boundary : 1) + row
                                                                       : model->rows - 1 - row);
        return model->rows > 1;
    case KVC_LETTER_MERGE:
        op->count = (uint8_t)model->rows;
        for (int32_t row = 0; row < model->rows; row++)
            op->rows[row] = (uint8_t)(model->rows - 1 - row);
        return 1;
    case KVC_LETTER_EXTRACT:
        op->n = model->rows - 1;
        return 1;
    case KVC_LETTER_EXTEND:
        op->count = 1;
        op->rows[0] = 2;
        return model->rows < KVC_ROWS_MAX;
    case KVC_LETTER_SPLIT:
        op->n = 1;
        op->count = 1;
        op->rows[0] = 0;
        return model->rows > 1;
    case KVC_LETTER_CROP_ZERO:
    case KVC_LETTER_RESET:
    case KVC_LETTER_RECORD_OFF:
    case KVC_LETTER_COPY:
    case KVC_LETTER_PICKLE:
    case KVC_LETTER_OFFLOAD:
    case KVC_LETTER_PREFETCH:
    case KVC_LETTER_INITIALIZE:
    case KVC_LETTER_APPEND_NONE:
    case KVC_LETTER_TRIM_FRONT:
    case KVC_LETTER_SAVE:
    case KVC_LETTER_STATE:
    case KVC_LETTER_QUANTIZE:
        return 1;
    case KVC_LETTER_SEQUENCES:
        break;
    }
    return 0;
}

int kvc_letter_op(kvc_letter letter, const kvc_model *model, kvc_op *op)
{
    int good = make_op(letter, model, op);

    if (is_crop(letter) && trims(model->plan)) {
        op->kind = KVC_TRIM;
        op->n = -op->n;
    }
    return good;
}
