/*
 * A profile: how the random stage draws sequences and their parameters, and how far the exhaustive stage goes. Two come with the
 * program; others are read from files, `kvconform-profile/1` (docs/profiles.md).
 */
#ifndef KVC_HARNESS_PROFILE_H
#define KVC_HARNESS_PROFILE_H

#include <cjson/cJSON.h>

#include "harness/random.h"
#include "reference/op.h"
#include "reference/params.h"
#include "reference/error.h"

enum { KVC_PROFILE_NAME_MAX = 64, KVC_EXHAUSTIVE_MAX = 4 };

typedef enum kvc_profile {
    KVC_HOSTILE = 0, /* anything a caller may do */
    KVC_ASSISTED     /* only what assisted decoding does */
} kvc_profile;

/* What an append's argument may be, in the order in which edges are drawn; those behind KVC_APPEND_FEW need a boundary. */
typedef enum kvc_append_edge {
    KVC_APPEND_ONE = 0,
    KVC_APPEND_TWO,
    KVC_APPEND_FEW, /* 1 to 8 */
    KVC_APPEND_BELOW,
    KVC_APPEND_AT,
    KVC_APPEND_PAST,
    KVC_APPEND_TWICE
} kvc_append_edge;
enum { KVC_APPEND_EDGES = 7 };

/* What a crop's argument may be. */
typedef enum kvc_crop_edge {
    KVC_CROP_ZERO = 0,
    KVC_CROP_ONE,
    KVC_CROP_ALL,
    KVC_CROP_OVER,          /* one more than is held */
    KVC_CROP_FAR_OVER,      /* two to five more */
    KVC_CROP_TO_BOUNDARY,   /* down to the boundary */
    KVC_CROP_NEAR_BOUNDARY, /* one more or one less */
    KVC_CROP_POSITIVE,
    KVC_CROP_PART
} kvc_crop_edge;
enum { KVC_CROP_EDGES = 9 };

/* Weights of what arguments may be, and their sums. */
typedef struct kvc_edges {
    uint8_t append[KVC_APPEND_EDGES];
    uint8_t crop[KVC_CROP_EDGES];
    uint16_t append_few; /* of those up to KVC_APPEND_FEW, which need no boundary */
    uint16_t append_all;
    uint16_t crop_all;
} kvc_edges;
/* Sets the sums. */
void kvc_edges_add_up(kvc_edges *edges);
extern const kvc_edges kvc_edges_standard; /* of the profiles that come with the program */

/* `part` of `of`. */
typedef struct kvc_chance {
    uint16_t part;
    uint16_t of;
} kvc_chance;

/* Copied by value; owns nothing and points to nothing, so that processes can share it. */
typedef struct kvc_draws {
    char name[KVC_PROFILE_NAME_MAX];
    kvc_profile like; /* how its sequences are made */
    int32_t exhaustive; /* all sequences up to this many ops, 0: none */
    uint32_t ops;       /* bit 1 << kind: what is used at all */
    uint8_t weight[KVC_OP_KINDS]; /* how often an op is tried, beside others */
    kvc_chance off[KVC_OP_KINDS]; /* that a sequence has it switched off (swarm) */
    int32_t least;      /* ops of a sequence */
    int32_t most;
    int32_t long_in;    /* one in so many has up to long_most ops; 0: none */
    int32_t long_most;
    int32_t rounds;     /* of drafts in a sequence of assisted decoding, at most */
    kvc_edges edges;
    int32_t low[KVC_PARAMS]; /* limits of a parameter, beside those of the spec */
    int32_t high[KVC_PARAMS];
    uint32_t words[KVC_PARAMS]; /* of one that is written in words: bit 1 << word */
} kvc_draws;

/* Draws whether; the less likely side is one of few numbers. */
static inline int kvc_chance_draw(kvc_chance chance, kvc_random *random)
{
    uint32_t of = chance.of;
    uint32_t part = chance.part;

    return 2 * part <= of ? kvc_random_below(random, of) < part : kvc_random_below(random, of) >= of - part;
}
/* Draws one of the first weights, of which `sum`, which is not 0, is the sum. */
static inline int kvc_weights_draw(const uint8_t *weight, uint32_t sum, kvc_random *random)
{
    uint32_t pick = kvc_random_below(random, sum);
    int at = 0;

    while (pick >= weight[at])
        pick -= weight[at++];
    return at;
}

/* A profile that comes with the program. */
void kvc_profile_of(kvc_profile profile, kvc_draws *draws);
/* Returns 1 and sets *draws, or 0 when no such profile comes with the program. */
int kvc_profile_named(const char *name, kvc_draws *draws);
/* Reads a file. Returns 0 with *error set: file, field, what was expected. */
int kvc_profile_read(const char *path, kvc_draws *draws, kvc_error *error);
/* The same from text; `name` stands for the file. */
int kvc_profile_parse(const char *text, size_t length, const char *name, kvc_draws *draws, kvc_error *error);
/* The whole of it as such a file; the caller frees it with cJSON_Delete. */
cJSON *kvc_profile_print(const kvc_draws *draws);
/* Whether it is one that comes with the program, or just like it. */
int kvc_profile_is_standard(const kvc_draws *draws);

#endif
