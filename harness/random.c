#include "harness/random.h"

static uint64_t scramble(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

kvc_random kvc_random_for(uint64_t seed, const char *stream, uint64_t index)
{
    kvc_random out;
    uint64_t hash = scramble(seed + 0x9e3779b97f4a7c15u);

    for (; *stream != '\0'; stream++)
        hash = scramble(hash ^ (unsigned char)*stream) + 0x9e3779b97f4a7c15u;
    out.state = scramble(hash ^ scramble(index + 0x632be59bd9b4e019u));
    return out;
}

uint64_t kvc_random_next(kvc_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return scramble(random->state);
}

uint32_t kvc_random_below(kvc_random *random, uint32_t limit)
{
    return limit == 0 ? 0 : (uint32_t)(((kvc_random_next(random) >> 32) * limit) >> 32);
}

int32_t kvc_random_between(kvc_random *random, int32_t low, int32_t high)
{
    return high <= low ? low : (int32_t)(low + (int64_t)kvc_random_below(random, (uint32_t)high - (uint32_t)low + 1u));
}

int kvc_random_one_in(kvc_random *random, uint32_t odds)
{
    return kvc_random_below(random, odds) == 0;
}
