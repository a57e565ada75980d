#include "harness/random.h"

uint64_t kvc_random_stream(uint64_t seed, const char *stream)
{
    uint64_t hash = kvc_random_scramble(seed + 0x9e3779b97f4a7c15u);

    for (; *stream != '\0'; stream++)
        hash = kvc_random_scramble(hash ^ (unsigned char)*stream) + 0x9e3779b97f4a7c15u;
    return hash;
}

kvc_random kvc_random_for(uint64_t seed, const char *stream, uint64_t index)
{
    return kvc_random_of(kvc_random_stream(seed, stream), index);
}

kvc_random kvc_random_from(const uint8_t *bytes, size_t size)
{
    static const uint8_t none = 0;

    return (kvc_random){0, size > 0 ? bytes : &none, size};
}

uint32_t kvc_random_read_below(kvc_random *random, uint32_t limit)
{
    size_t width = limit <= 1u << 8 ? 1 : limit <= 1u << 16 ? 2 : 4;
    uint32_t number = 0;

    if (random->left < width) {
        random->left = 0;
        return (uint32_t)(random->state++ % limit);
    }
    for (size_t at = 0; at < width; at++)
        number |= (uint32_t)random->bytes[at] << (8 * at);
    random->bytes += width;
    random->left -= width;
    return number % limit;
}
