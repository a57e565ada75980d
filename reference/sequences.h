/*
 * The model of a cache that holds several sequences: for each a log of tokens with their positions, in cells that sequences may share.
 *
 * It is the part of kvc_model (reference/model.h) for specs that have a `memory`. Like the rest of the model it never sees a subject.
 */
#ifndef KVC_REFERENCE_SEQUENCES_H
#define KVC_REFERENCE_SEQUENCES_H

#include <stdint.h>

#include "reference/plan.h"

enum { KVC_SEQUENCES_MAX = 4, KVC_LOG_MAX = 1024 };
/* Numbers of damages of a saved state (docs/protocol.md): all, the first that only a file can have, and the one that only adds to it. */
enum { KVC_DAMAGES = 21, KVC_DAMAGES_OF_FILES = 20, KVC_DAMAGE_LONGER = 18 };

/* One token of one sequence. What the judge saw of its cell goes along with it. */
typedef struct kvc_entry {
    int32_t position;
    int32_t number;
    int32_t chunk;   /* number of the decode that brought it */
    int32_t cell;    /* a number of its own for each cell: sequences that share one have the same */
    uint64_t keys;   /* digests of what the cell holds, 0: not seen yet */
    uint64_t values;
    uint64_t window_keys;
    uint64_t window_values;
} kvc_entry;

typedef struct kvc_sequence_log {
    int32_t count;
    int32_t held;     /* a window surely holds all tokens from this position on */
    int32_t reported; /* the smallest position that the cache said it holds, -1: it said nothing */
    int32_t state;    /* position of the recurrent state, -1: none */
    uint64_t digest;  /* of that state, 0: not seen yet */
    uint8_t pure;     /* each token was worked out from the tokens before it that are there now: a fresh cache can tell what follows */
    uint8_t used;     /* something was decoded into it */
    uint8_t removed;  /* the last op on it removed its newest tokens */
    uint8_t moved;    /* positions were moved, and nothing was decoded since: keys follow later */
    uint8_t copied;   /* it is a copy into cells of its own, and nothing was decoded since: what they hold follows later */
    uint8_t shares;   /* bit 1 << sequence: may share cells with these */
    kvc_entry entry[KVC_LOG_MAX]; /* the first `count`, by position */
} kvc_sequence_log;

typedef struct kvc_sequences {
    int32_t chunks; /* decodes so far */
    int32_t cells;  /* cells so far */
    int has_saved;
    int32_t saved_of; /* the sequence that was saved */
    kvc_sequence_log log[KVC_SEQUENCES_MAX];
    kvc_sequence_log saved;
} kvc_sequences;

struct kvc_model;
struct kvc_expectation;

/* A plan of such a cache. */
static inline int kvc_plan_has_sequences(const kvc_plan *plan)
{
    return plan->spec->memory != 0;
}
static inline int kvc_plan_remembers(const kvc_plan *plan, kvc_memory memory)
{
    return (plan->spec->memory >> memory & 1u) != 0;
}
/* Whether each sequence has cells of its own, by a word of the plan's parts. */
int kvc_plan_is_split(const kvc_plan *plan);
/* Whether states are saved to files, or are checkpoints of what cannot be gone back to otherwise, by other words. */
int kvc_plan_saves_to_files(const kvc_plan *plan);
int kvc_plan_has_checkpoints(const kvc_plan *plan);

/* Empties the model for a new sequence of ops. */
void kvc_sequences_start(kvc_sequences *sequences);
/* Copies what is used of it, which is much less than its size. */
void kvc_sequences_copy(kvc_sequences *to, const kvc_sequences *from);
/* As kvc_model_expect, kvc_model_commit. */
void kvc_sequences_expect(const struct kvc_model *model, const kvc_op *op, struct kvc_expectation *out);
void kvc_sequences_commit(struct kvc_model *model, const kvc_op *op, const struct kvc_expectation *expectation, int refused);
/* The positions that a cache must report for a sequence: largest, and the smallest with the bounds that a window leaves open; -1: empty. */
void kvc_sequences_positions(const struct kvc_model *model, int sequence, int32_t *most, int32_t *least_low, int32_t *least_high);
/* Bit 1 << sequence: those that an op is about. All others must stay as they are. */
unsigned kvc_op_targets(const kvc_op *op);
/* Whether something was put off until the next decode: a decode that is refused may have done it. */
int kvc_sequences_have_pending(const kvc_sequences *sequences);
/* Cells in use, of one sequence's share or of all. */
int32_t kvc_sequences_used(const struct kvc_model *model, int sequence);

#endif
