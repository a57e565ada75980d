/*
 * Where choices come from: random numbers that are the same everywhere for the same seed, or bytes that a fuzzer made.
 */
#ifndef KVC_HARNESS_RANDOM_H
#define KVC_HARNESS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct kvc_random {
    uint64_t state;
    const uint8_t *bytes; /* choices are read from here; NULL: they are random numbers */
    size_t left;          /* bytes that were not read yet */
} kvc_random;

/* A generator for one purpose: `stream` and `index` name it, so that it does not depend on what was drawn elsewhere. */
kvc_random kvc_random_for(uint64_t seed, const char *stream, uint64_t index);
/* The same in two steps, for many of one stream. */
uint64_t kvc_random_stream(uint64_t seed, const char *stream);
static inline uint64_t kvc_random_scramble(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}
static inline kvc_random kvc_random_of(uint64_t stream, uint64_t index)
{
    return (kvc_random){.state = kvc_random_scramble(stream ^ kvc_random_scramble(index + 0x632be59bd9b4e019u))};
}
/*
 * Choices read from bytes, which must live longer: one byte for each choice of up to 256, two or four for larger ones. Behind their
 * end every choice is one more than the last, from 0 on, so that what is drawn until it fits comes to an end.
 */
kvc_random kvc_random_from(const uint8_t *bytes, size_t size);
uint32_t kvc_random_read_below(kvc_random *random, uint32_t limit);
static inline uint64_t kvc_random_next(kvc_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return kvc_random_scramble(random->state);
}
/* Uniform in 0..limit-1; 0 when limit is 0. */
static inline uint32_t kvc_random_below(kvc_random *random, uint32_t limit)
{
    if (limit == 0)
        return 0;
    if (random->bytes != NULL)
        return kvc_random_read_below(random, limit);
    return (uint32_t)(((kvc_random_next(random) >> 32) * limit) >> 32);
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
