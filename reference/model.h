/*
 * The reference model: the token log of one cache, and what the contract says about the next op.
 *
 * It never sees a subject. It is told each op and whether the subject refused it.
 */
#ifndef KVC_REFERENCE_MODEL_H
#define KVC_REFERENCE_MODEL_H

#include <stdint.h>

#include "reference/plan.h"
#include "reference/sequences.h"
#include "reference/rows.h"

/* Tokens of the log with numbers that follow each other and the same rows of origin; it ends where the next begins. */
typedef struct kvc_run {
    int32_t begin;  /* index into the log */
    int32_t number; /* of the first token */
    uint8_t origin[KVC_ROWS_MAX]; /* for each row now, the row into which the tokens were appended */
    uint8_t ordered; /* that is the row itself, for all rows that there are */
} kvc_run;

/* What the model knows of one tensor beside the log. */
typedef struct kvc_slot_state {
    int32_t held;        /* the oldest token (index into the log) that the tensor must still hold */
    int32_t held_before; /* the same before the last append */
    int32_t spare;       /* the oldest token that it may still hold, where recording is tolerated; at most `held` */
    int32_t prefix;      /* tokens that are never evicted, settled by the first append (`set`) */
    int unsure;          /* no text says whether the next tokens belong to the prefix */
    int unjudged;        /* documented to be left alone: not judged until the next reset */
    int set;             /* constant: it was set; folded: it was written */
    int32_t fold[KVC_ROWS_MAX];      /* folded: the fold number of each row */
    uint8_t fold_row[KVC_ROWS_MAX];  /* and the row it was written in; also used by constants */
} kvc_slot_state;

typedef struct kvc_model {
    const kvc_plan *plan;
    kvc_run *run; /* the log; owned */
    int32_t runs;
    int32_t room;
    int32_t length; /* tokens in the cache */
    int32_t rows;
    int32_t next; /* token numbers that were used up */
    int32_t appended; /* tokens of the last append, 0 after any other op */
    uint32_t changes; /* how often tokens were taken out of the log, or rows changed places */
    int32_t intact;   /* tokens from the oldest on that the last of these changes has left as they were */
    const int32_t *numbers; /* NULL, or the number of each token in the order of appending; not owned */
    int used;           /* appended to since it was made or reset */
    int recording;
    int recording_since_first; /* recording was on at the first append and has been since */
    int cropped;        /* the last op was a crop or trim */
    int32_t trimmed;    /* how many tokens it removed; -1 after any other op */
    int quantized;      /* it was turned into a cache that quantises */
    int torn;           /* an append was refused half way: layers before the refusing one have taken it */
    int was_reset;      /* a reset came before */
    int offloaded;      /* its tensors wait elsewhere */
    int fresh;          /* nothing was done with it yet, but for recording */
    int initialized;    /* its memory was taken before anything else */
    int appended_none;  /* an append of no tokens was done since the start */
    kvc_slot_state slot[KVC_SLOTS_MAX];
    kvc_sequences *sequences; /* of a cache that holds several, made when first needed; owned */
    kvc_rows own; /* of a plan in which rows have lengths of their own, instead of `run`: `length` is that of the longest then */
} kvc_model;

typedef enum kvc_verdict {
    KVC_DO = 0,     /* must be done */
    KVC_EITHER,     /* may be done, exactly, or refused */
    KVC_MUST_REFUSE
} kvc_verdict;

/* What a crop's argument asks for. */
typedef enum kvc_ask {
    KVC_ASK_NOTHING = 0, /* no crop */
    KVC_ASK_ZERO,
    KVC_ASK_PART,
    KVC_ASK_ALL,
    KVC_ASK_OVER, /* more than there is */
    KVC_ASK_POSITIVE, /* of a range of positions: one that is not at the end */
    KVC_ASK_ANY,         /* all of all sequences */
    KVC_ASK_PART_OF_ANY  /* a range of all sequences */
} kvc_ask;

/* Where the cache stands before an op, by the model alone. */
typedef struct kvc_situation {
    uint8_t held;     /* 0 never used, 1 empty again, 2 holding tokens, 3 initialised early and never used */
    uint8_t reached;  /* 0 no boundary, 1 below the smallest window or capacity, 2 at it, 3 past it */
    uint8_t recording; /* 0 off, 1 since the first append, 2 switched on late */
    uint8_t ask;      /* kvc_ask */
    uint8_t cropped;  /* just cropped */
    uint8_t shared;   /* 0 no other sequence, 1 others hold tokens too, 2 and may share cells with it */
    uint8_t rows;     /* 0 of one length, 1 with lengths of their own, 2 one that was taken out of its batch */
} kvc_situation;

typedef struct kvc_expectation {
    kvc_verdict verdict;
    const kvc_contract_rule *rule; /* the rule that decides; never NULL */
    int layer;                     /* the layer whose rule it is */
    int unspecified;               /* no contract says what happens: such an op is not generated */
    int32_t target;                /* length after a crop */
    int32_t removed;               /* tokens that a crop removes */
    int trim;                      /* a crop also gives back recorded extra state */
    int leave;                     /* a crop that is documented to do nothing */
    kvc_situation situation;
} kvc_expectation;

/* Makes an empty model of `plan`, which must live longer. Returns 1, or 0 when memory is short. */
int kvc_model_open(kvc_model *model, const kvc_plan *plan);
/* Empties it for a new sequence; keeps its memory. */
void kvc_model_start(kvc_model *model, const kvc_plan *plan, const int32_t *numbers);
void kvc_model_close(kvc_model *model);
/* What the contract says about `op` now. */
void kvc_model_expect(const kvc_model *model, const kvc_op *op, kvc_expectation *expectation);
/*
 * Whether an append that was refused as expected has given its tokens to this slot already: an append goes from layer to layer,
 * and within a layer convolution and recurrent states come before attention (docs/protocol.md).
 */
int kvc_model_fed_before(const kvc_model *model, int slot, const kvc_expectation *refused);
/* The op was done (refused 0) or refused (1). Returns 1, or 0 when memory is short. */
int kvc_model_commit(kvc_model *model, const kvc_op *op, const kvc_expectation *expectation, int refused);
/* The run that token `index` of the log, below its length, lies in. */
static inline const kvc_run *kvc_model_run(const kvc_model *model, int32_t index)
{
    const kvc_run *run = model->run + model->runs - 1;

    while (run->begin > index)
        run--;
    return run;
}
/* The number of token `index` of the log. */
static inline int32_t kvc_model_token(const kvc_model *model, int32_t index)
{
    const kvc_run *run = kvc_model_run(model, index);

    return run->number + (index - run->begin);
}
/* Number of the token that stands `index` places after the last used one. */
int32_t kvc_model_number(const kvc_model *model, int32_t index);
/* The oldest token of the log that any rollback can reach: what lies before was cut off on purpose. */
int32_t kvc_model_floor(const kvc_model *model);
/* "crop on a full window, recording" and the like; written to `buffer`. */
const char *kvc_situation_text(const kvc_situation *situation, char *buffer, size_t size);
/* A number for each situation, for tables; below KVC_SITUATIONS. */
enum { KVC_ASKS = 6, KVC_SITUATIONS_ALONE = 4 * 4 * 3 * KVC_ASKS * 2, KVC_SITUATIONS = 3 * 3 * 2 * KVC_SITUATIONS_ALONE };
static inline int kvc_situation_code(const kvc_situation *situation)
{
    /* What only caches of several sequences, or of rows with lengths of their own, have comes behind all others: ids of findings depend on these numbers. */
    int is_more = situation->ask >= KVC_ASKS;

    return (((situation->held * 4 + situation->reached) * 3 + situation->recording) * KVC_ASKS + situation->ask - is_more * KVC_ASKS) * 2 +
           situation->cropped + KVC_SITUATIONS_ALONE * ((situation->rows * 3 + situation->shared) * 2 + is_more);
}
void kvc_situation_from_code(int code, kvc_situation *situation);

#endif
