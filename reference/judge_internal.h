/*
 * What the files of the judge share.
 */
#ifndef KVC_REFERENCE_JUDGE_INTERNAL_H
#define KVC_REFERENCE_JUDGE_INTERNAL_H

#include <string.h>

#include "reference/judge.h"

enum { KVC_WATCHED_MAX = KVC_TENSORS_MAX, KVC_SHORTCUTS = 64, KVC_COPIES_MAX = 1 << 18 };

/* What a tensor of an observation is. */
enum {
    KVC_IS_STORED = 0,
    KVC_IS_RETURNED,
    KVC_IS_INPUT,
    KVC_IS_EARLIER,
    KVC_IS_OTHER,
    KVC_IS_ORIGINAL,
    KVC_IS_ORIGINAL_LENGTH,
    KVC_IS_ORIGINAL_OTHER,
    KVC_IS_ROW_POSITION,
    KVC_IS_ROW_PADDING,
    KVC_IS_ASIDE /* said of an append, and no part of the cache */
};

/* What a tensor was when it was first shown. */
typedef struct kvc_first_shown {
    kvc_tensor copy; /* without data when there was no room: `content` stands for it */
    size_t size;     /* of the copy */
    uint64_t content;
    int fills; /* its elements fill a piece of memory, of which the copy is one */
} kvc_first_shown;

/* An input or an earlier return. */
typedef struct kvc_watched_entry {
    const char *name;
    kvc_first_shown as;
    char text[KVC_NAME_MAX]; /* a name that was shown here, "" where it was longer */
    int16_t slot; /* of the plan, or -1: that the text speaks of */
    uint8_t kind; /* KVC_IS_INPUT or KVC_IS_EARLIER */
    uint8_t live; /* documented to change */
} kvc_watched_entry;

/* Watched tensors that lie one behind the other, as their copies do. */
typedef struct kvc_stretch {
    const uint8_t *data;
    const uint8_t *copy;
    size_t size;
} kvc_stretch;

/* Where the tensor that stands at a place of the observation belongs; names are compared by address first. */
typedef struct kvc_shortcut {
    const char *name;
    int16_t slot; /* -1: not of the plan; of what rows say of themselves the layer */
    uint8_t kind;
} kvc_shortcut;

/* What is asked of a slot at every op. */
typedef struct kvc_glanced {
    void (*stored)(const kvc_model *model, int slot, kvc_extent *extent);
    kvc_expected_cells *cells;
    int32_t tokens_axis;
    int16_t layer;
    uint8_t is_all;      /* it stores every token */
    uint8_t returns_all; /* appends return all that is stored */
    uint8_t has_mask;    /* masks are announced for its returned tensor */
} kvc_glanced;

/* What a tensor must hold that was looked at. */
typedef struct kvc_looked_at {
    int slot; /* -1 for none */
    const kvc_tensor *tensor;
    kvc_extent extent; /* not of one that stores every token */
} kvc_looked_at;

/* The tensors of one slot in the observation, NULL for those that are not shown. */
typedef struct kvc_seen {
    const kvc_tensor *tensor[2]; /* KVC_IS_STORED and KVC_IS_RETURNED */
    const kvc_tensor *original; /* of the cache that was copied last, as it is now */
} kvc_seen;

struct kvc_judge {
    const kvc_model *model; /* `own`, or one that another keeps, which is followed */
    kvc_model own;
    kvc_expected *expected;
    kvc_expectation expectation;
    int step;
    /* What `shortcuts` and `expected` were worked out for. */
    const kvc_spec *spec;
    kvc_params params;
    /* For kvc_judge_glance. */
    int glances;    /* whether it can say anything of caches of this plan */
    int regular[2]; /* that many places of `shortcuts` show each tensor of the plan once; -1: not known */
    uint8_t reports[KVC_PLAN_LAYERS_MAX]; /* whether a layer says its length */
    int32_t ahead[KVC_PLAN_LAYERS_MAX];   /* kvc_plan_ahead */
    kvc_glanced glanced[KVC_SLOTS_MAX];
    kvc_looked_at looked_at;
    kvc_extent returned; /* what the tensor must hold that is looked at now */
    kvc_shortcut shortcuts[2][KVC_SHORTCUTS]; /* of an op that returned nothing, and of an append: more is shown then */
    int first_watched; /* place of the first input or earlier return in the observation */
    int followed;      /* so many of them from there on are those of `watch`, in its order */
    uint8_t kind[KVC_TENSORS_MAX]; /* of each tensor of the observation */
    kvc_seen seen[KVC_SLOTS_MAX];
    uint64_t address[KVC_SLOTS_MAX];
    int64_t address_cells[KVC_SLOTS_MAX]; /* of the buffer that had the address */
    uint64_t other; /* content of the tensors that no view describes */
    int other_known;
    /* Of the cache that was copied last: as it is shown now, and as it was when it was copied. */
    const kvc_tensor *original_length;
    const kvc_tensor *row_position[KVC_PLAN_LAYERS_MAX]; /* of rows with lengths of their own */
    const kvc_tensor *row_padding[KVC_PLAN_LAYERS_MAX];
    uint64_t original_other;
    int has_original;
    kvc_first_shown original[KVC_SLOTS_MAX + 1]; /* the slots and the lengths */
    uint64_t original_other_kept;
    int watched;
    int texts; /* so many entries have a text that was shown for tensors of this plan */
    kvc_watched_entry watch[KVC_WATCHED_MAX];
    kvc_tensor shown[KVC_WATCHED_MAX]; /* each as it was shown first */
    int apart;     /* watched tensors that are in no stretch though they must not change */
    int stretches;
    kvc_stretch stretch[KVC_WATCHED_MAX];
    size_t copied;
    uint8_t copies[KVC_COPIES_MAX]; /* of watched tensors: comparing is faster than a digest */
    /* Tensors without their gaps, two at most. */
    uint8_t *packed[2];
    size_t packed_room[2];
    int out_of_memory;
};

/* Whether a name is that of an input or of an earlier return. */
static inline int kvc_judge_is_watched(const char *name)
{
    return (name[0] == 'i' && strncmp(name, "input.", 6) == 0) || (name[0] == 'e' && strncmp(name, "earlier.", 8) == 0);
}

/* How many tensors from place `at` on are those that are watched, one after the other. */
static inline int kvc_judge_count_followed(const kvc_judge *judge, const kvc_observation *observation, int at)
{
    int most = observation->tensors - at < judge->watched ? observation->tensors - at : judge->watched;
    int count = 0;

    while (count < most && judge->watch[count].name == observation->tensor[at + count].name)
        count++;
    return count;
}

/* Another plan is looked at from now on. */
void kvc_judge_prepare_glance(kvc_judge *judge, const kvc_plan *plan);
/* Whether it is documented that the op is refused with this error, and nothing was claimed to the contrary. */
int kvc_judge_may_refuse(const kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation);
/*
 * An op was done or refused, as it must be, and the model stands behind it. Returns as kvc_judge_step. A glance at what is shown most
 * often says that nothing is wrong; what else there may be to do is left to the two below, which return the same.
 */
int kvc_judge_glance(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                     kvc_failure *failure);
/* All was right but for inputs and earlier returns, which were sorted and not looked at. */
int kvc_judge_watched(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                      kvc_failure *failure);
/* Not all was right: everything is looked at. The outcome is as expected. */
int kvc_judge_at_length(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                        kvc_failure *failure);
/* Digests: of bytes, and of the elements of a tensor, the same however they lie. */
uint64_t kvc_judge_hash_bytes(uint64_t hash, const void *data, size_t size);
uint64_t kvc_judge_hash(kvc_judge *judge, uint64_t hash, const kvc_tensor *tensor);
/* Inputs and earlier returns, as they were sorted, hold what they held when they were shown first. */
void kvc_judge_check_watched(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found);
/* The cache that was copied is what it was before, and stays so whatever is done with the copy. */
void kvc_judge_check_original(kvc_judge *judge, const kvc_op *op, kvc_failure *failure, int *found);

#endif
