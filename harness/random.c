#include "harness/random.h"

kvc_random kvc_random_for(uint64_t seed, const char *stream, uint64_t index)
{
    kvc_random out;
    uint64_t hash = kvc_random_scramble(seed + 0x9e3779b97f4a7c15u);

    for (; *stream != '\0'; stream++)
        hash = kvc_random_scramble(hash ^ (unsigned char)*stream) + 0x9e3779b97f4a7c15u;
    out.state = kvc_random_scramble(hash ^ kvc_random_scramble(index + 0x632be59bd9b4e019u));
    return out;
}
