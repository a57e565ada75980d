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
static inline uint64_t kvc_random_scramble(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}
static inline uint64_t kvc_random_next(kvc_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return kvc_random_scramble(random->state);
}
/* Uniform in 0..limit-1; 0 when limit is 0. */
static inline uint32_t kvc_random_below(kvc_random *random, uint32_t limit)
{
    return limit == 0 ? 0 : (uint32_t)(((kvc_random_next(random) >> 32) * limit) >> 32);
}
/* Uniform in low..high. */
static inline int32_t kvc_random_between(kvc_random *random, int32_t low, int32_t high)
{
    return high <= low ? low : (int32_t)(low + (int64_t)kvc_random_below(random, (uint32_t)high - (uint32_t)low + 1u));
}
/* 1 in `odds` calls gives 1. */
static inline int kvc_random_one_in(kvc_random *random, uint32_t odds)
{
    return kvc_random_below(random, odds) == 0;
}

#endif
