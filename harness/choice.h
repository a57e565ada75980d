/*
 * Choosing parameters: what a version offers of parts, layers, calls and sizes.
 */
#ifndef KVC_HARNESS_CHOICE_H
#define KVC_HARNESS_CHOICE_H

#include "harness/profile.h"
#include "reference/catalogue.h"

enum { KVC_COMBINATIONS_MAX = 32 };

typedef struct kvc_choice {
    const kvc_spec *spec;
    int combinations; /* of parts and layers that this version has */
    int32_t parts[KVC_COMBINATIONS_MAX];
    int32_t layers[KVC_COMBINATIONS_MAX];
    unsigned calls;  /* bit 1 << kvc_call */
    unsigned frozen; /* bit 1 << parameter: cannot be varied in this version */
    unsigned dtypes; /* bit 1 << dtype */
    unsigned layouts;
    int32_t watch_least; /* limits of `watch` */
    int32_t watch_most;
    int32_t low[KVC_PARAMS]; /* of the spec, or closer */
    int32_t high[KVC_PARAMS];
} kvc_choice;

/*
 * Works out what can be chosen. `variants` are the NULL-ended names that the subject has. Choices of parts that are the same for
 * every layer of a container are one.
 */
void kvc_choice_make(const kvc_catalogue *catalogue, const kvc_spec *spec, const kvc_rules *rules, const char *version,
                     const char *const *variants, kvc_choice *choice);
/* Leaves what the profile has too. Returns 0 with *error set when nothing is left of a parameter. */
int kvc_choice_narrow(kvc_choice *choice, const kvc_draws *draws, kvc_error *error);
/* Whether parameters from a file are within what the spec tries. Returns 1, or 0 with *error set. */
int kvc_choice_allows(const kvc_spec *spec, const kvc_params *params, kvc_error *error);
/* The parameters of the exhaustive stage: small, at boundaries that short sequences reach. */
kvc_params kvc_choice_base(const kvc_choice *choice, int combination);
kvc_params kvc_choice_random(const kvc_choice *choice, kvc_random *random);
/* The bytes from which kvc_choice_random reads these parameters, as near to them as it can. Writes at most `size`, the rest is 0. */
void kvc_choice_write(const kvc_choice *choice, const kvc_params *params, uint8_t *bytes, size_t size);
/*
 * The way to call of a block of the random stage. `turn` counts such blocks: two of three call by position, the others take the other
 * ways one after the other, for what is left to chance is not met in the few blocks that a container gets.
 */
int kvc_choice_call(const kvc_choice *choice, uint64_t turn);
kvc_params kvc_choice_smallest(const kvc_choice *choice);

#endif
