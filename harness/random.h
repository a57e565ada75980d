/*
 * Random numbers that are the same everywhere for the same seed.
 */
#ifndef KVC_HARNESS_RANDOM_H
#define KVC_HARNESS_RANDOM_H

#include <stdint.h>

typedef struct kvc_random {
    uint64_t state;
} kvc_random;

/* A generator for one purpose: `stream` and `index` name it, so that it does not depend on what was drawn elsewhere. */
kvc_random kvc_random_for(uint64_t seed, const char *stream, uint64_t index);
uint64_t kvc_random_next(kvc_random *random);
/* Uniform in 0..limit-1; 0 when limit is 0. */
uint32_t kvc_random_below(kvc_random *random, uint32_t limit);
/* Uniform in low..high. */
int32_t kvc_random_between(kvc_random *random, int32_t low, int32_t high);
/* 1 in `odds` calls gives 1. */
int kvc_random_one_in(kvc_random *random, uint32_t odds);

#endif
