/*
 * The judge: follows one sequence op by op, and names the law that an observation breaks.
 */
#ifndef KVC_REFERENCE_JUDGE_H
#define KVC_REFERENCE_JUDGE_H

#include "reference/check.h"

/* What of an observation was wrong. */
typedef enum kvc_place {
    KVC_PLACE_OUTCOME = 0,
    KVC_PLACE_LENGTH,
    KVC_PLACE_STORED,
    KVC_PLACE_RETURNED,
    KVC_PLACE_MASK,
    KVC_PLACE_POSITION,
    KVC_PLACE_ADDRESS,
    KVC_PLACE_INPUT,   /* an input of this op was written to */
    KVC_PLACE_EARLIER, /* an earlier return was changed */
    KVC_PLACE_OTHER,   /* a tensor of the subject that no view describes */
    KVC_PLACE_ORIGINAL, /* the cache that was copied */
    KVC_PLACE_SEEN,     /* what a mask lets the new tokens see */
    /* Of a cache that holds several sequences. */
    KVC_PLACE_POSITIONS, /* the smallest and largest position that it reports */
    KVC_PLACE_CELLS,     /* which tokens its cells hold, and where */
    KVC_PLACE_CELL_KEYS, /* what the cells hold of them */
    KVC_PLACE_CELL_VALUES,
    KVC_PLACE_WINDOW,    /* the same of layers with a window */
    KVC_PLACE_STATE,     /* the recurrent state */
    KVC_PLACE_LOGITS,    /* what comes of a decode */
    KVC_PLACE_KEPT       /* an input of an earlier op was written to: the cache has kept it as its own */
} kvc_place;

/* One failure of one op. Copied by value, owns nothing; points to nothing. */
/* What a cache says of itself (`is_croppable`) before crops. */
typedef enum kvc_claimed {
    KVC_CLAIMED_NOTHING = 0, /* there was no crop, or it says nothing */
    KVC_CLAIMED_NO,          /* that it cannot be cropped, each time */
    KVC_CLAIMED_YES          /* that it can, at least once */
} kvc_claimed;

typedef struct kvc_failure {
    uint8_t law; /* kvc_law: the first that is broken */
    uint8_t place;
    uint8_t deviation;
    uint8_t op; /* kvc_op_kind */
    uint8_t narrow; /* the cache has a window, of one token */
    int16_t slot; /* of the plan, or -1 */
    int16_t layer;
    int32_t step;
    uint32_t also; /* bit 1 << kvc_law: the others */
    int32_t rule;  /* kvc_rule_name of the rule that decides */
    int32_t rule_layer; /* and the layer that it holds for */
    uint32_t complaint; /* what the error of a refusal says, numbers left out; 0: it was not refused */
    uint8_t claimed; /* kvc_claimed: what the cache had said of itself before the crops of the sequence; of whole models */
    float apart; /* how far logits are from those of a fresh cache, in parts of the largest; 0 for all other failures */
    kvc_situation situation;
} kvc_failure;

typedef struct kvc_judge kvc_judge;

/* Returns NULL when memory is short. */
kvc_judge *kvc_judge_open(void);
void kvc_judge_close(kvc_judge *judge);
/* Begins a sequence. `plan` and `numbers` (may be NULL) must live until the next start. Returns 1, or 0 when memory is short. */
int kvc_judge_start(kvc_judge *judge, const kvc_plan *plan, const int32_t *numbers);
/*
 * Judges one op. Returns 0: as expected; 1: *failure is set, and the model stands where the op should have left it; 2: no text says what
 * this op does where the cache stands now; -1: memory is short. After a failure no more ops of the sequence can be judged.
 */
int kvc_judge_step(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure);
/*
 * Begins a sequence of which another keeps a model: one that takes each op as it must be, refused where it must be refused. It must
 * live until the next start. An op that the subject does otherwise makes the judge go on with a model of its own.
 */
void kvc_judge_follow(kvc_judge *judge, const kvc_model *model);
/* The model that was followed may be gone from now on. */
void kvc_judge_leave(kvc_judge *judge);
/*
 * kvc_judge_step for op number `step` of a sequence whose model is followed and stands behind it; `expectation` is what was expected
 * of it. `ops` are those up to it.
 */
int kvc_judge_followed(kvc_judge *judge, const kvc_op *ops, int step, const kvc_expectation *expectation,
                       const kvc_observation *observation, kvc_failure *failure);
/* From now on the judge has a model of its own, which stands behind `count` ops done as they must be. Returns 0 when memory is short. */
int kvc_judge_part(kvc_judge *judge, const kvc_op *ops, int count);
/* Takes an op as done as it must be, without an observation. Returns 0 when memory is short. */
int kvc_judge_assume(kvc_judge *judge, const kvc_op *op);
/* The same for one of which it is known whether it was refused. */
int kvc_judge_assume_outcome(kvc_judge *judge, const kvc_op *op, int refused);
/* A digest of the opaque tensors, and of those that no view describes, after the last op. */
uint64_t kvc_judge_opaque(const kvc_judge *judge);
/* The op never came back. */
void kvc_judge_died(kvc_judge *judge, const kvc_op *op, kvc_deviation how, kvc_failure *failure);
/* The model and the expectation of the op judged last. */
const kvc_model *kvc_judge_model(const kvc_judge *judge);
const kvc_expectation *kvc_judge_expectation(const kvc_judge *judge);
kvc_encoder *kvc_judge_encoder(kvc_judge *judge);
/* Notes a fault: the first law that is broken decides place and deviation, later ones are only added. *found becomes 1. */
void kvc_failure_note(kvc_failure *failure, int *found, kvc_law law, kvc_place place, int slot, int layer,
                      kvc_deviation deviation);
/* Adds a law to a failure: it is renamed when the law comes before its own. */
void kvc_failure_add(kvc_failure *failure, kvc_law law);

#endif
