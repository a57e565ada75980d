/*
 * The alphabet of the exhaustive stage: ops at the variant's boundaries, with arguments relative to the state.
 *
 * The first eight make the long sequences. The ops that store a cache elsewhere come behind them and stand in short ones only: eight
 * letters and they would not fit, and what they break shows soon. So do the ops of rows with lengths of their own that are more than eight.
 */
#ifndef KVC_HARNESS_ALPHABET_H
#define KVC_HARNESS_ALPHABET_H

#include "reference/model.h"

enum { KVC_ALPHABET_LONG = 8, KVC_ALPHABET_MAX = 32, KVC_ALPHABET_ROWS = 14 /* of rows with lengths of their own */ };

typedef enum kvc_letter {
    KVC_LETTER_APPEND_ONE = 0,
    KVC_LETTER_APPEND_BOUNDARY, /* as many as the smallest window or capacity, 3 without one */
    KVC_LETTER_CROP_ZERO,
    KVC_LETTER_CROP_ONE,
    KVC_LETTER_CROP_HELD,
    KVC_LETTER_CROP_OVER, /* one more than is held */
    KVC_LETTER_CROP_POSITIVE,
    KVC_LETTER_RESET,
    KVC_LETTER_REORDER, /* rows backwards */
    KVC_LETTER_SELECT,  /* the last row */
    KVC_LETTER_REPEAT,  /* twice */
    KVC_LETTER_RECORD,
    KVC_LETTER_RECORD_OFF,
    KVC_LETTER_APPEND_NONE, /* of no token */
    KVC_LETTER_TRIM_FRONT,
    KVC_LETTER_APPEND_MORE, /* one token more in each row than in the one before, up to the boundary */
    KVC_LETTER_APPEND_LESS, /* one less; none in the last */
    KVC_LETTER_MERGE,       /* rows backwards */
    KVC_LETTER_EXTRACT,     /* the last row */
    KVC_LETTER_EXTEND,      /* one row with two tokens */
    KVC_LETTER_SPLIT,       /* the first row, with a token */
    KVC_LETTER_COPY,
    KVC_LETTER_PICKLE,
    KVC_LETTER_OFFLOAD,
    KVC_LETTER_PREFETCH,
    KVC_LETTER_INITIALIZE,
    KVC_LETTER_SAVE,
    KVC_LETTER_STATE,
    KVC_LETTER_QUANTIZE,
    KVC_LETTER_SEQUENCES /* the first of those of harness/sequences_alphabet.h */
} kvc_letter;
enum { KVC_LETTERS = KVC_LETTER_SEQUENCES };

typedef struct kvc_alphabet {
    int count;
    int in_long; /* how many of them stand in long sequences too */
    kvc_letter letter[KVC_ALPHABET_MAX];
} kvc_alphabet;

/* The letters for what a plan offers. */
void kvc_alphabet_make(const kvc_plan *plan, kvc_alphabet *alphabet);
/* The op that a letter stands for in the model's state. Returns 0 when the state has no such op. */
int kvc_letter_op(kvc_letter letter, const kvc_model *model, kvc_op *op);
/* "crop -(held + 1)", or "trim held + 1" where the plan has trims. */
const char *kvc_letter_text(const kvc_plan *plan, kvc_letter letter);

#endif
