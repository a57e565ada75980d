#include "bench/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/data.h"
#include "reference/brought.h"

enum { FOLDER_MAX = 4096 };

int kvc_blocks_number(const char *text, uint64_t *number)
{
    char *end;
    unsigned long long read;

    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    read = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || read > UINT64_MAX)
        return 0;
    *number = read;
    return 1;
}

int kvc_blocks_open(kvc_blocks *blocks, const cJSON *hello, const char *subject, const char *version, const char *variant, uint64_t seed,
                    uint64_t start, uint64_t end, kvc_error *error)
{
    char folder[FOLDER_MAX];
    const kvc_spec *spec;
    const kvc_contract *contract;
    int assumed;

    memset(blocks, 0, sizeof *blocks);
    if (!kvc_data_find(folder, sizeof folder, error) || !kvc_data_catalogue(folder, &blocks->catalogue, error) ||
        (hello != NULL && !kvc_catalogue_bring(&blocks->catalogue, hello, error)))
        return 0;
    spec = kvc_catalogue_spec(&blocks->catalogue, subject, variant);
    contract = kvc_catalogue_contract(&blocks->catalogue, subject, version, &assumed);
    if (spec == NULL || contract == NULL) {
        kvc_error_set(error, "%s %s: %s has no spec, or this version no contract", subject, version, variant);
        return 0;
    }
    blocks->generator =
        kvc_generator_open(&blocks->catalogue, contract, spec, variant, version, NULL, seed, KVC_HOSTILE, error);
    blocks->index = start;
    blocks->end = end;
    return blocks->generator != NULL;
}

int kvc_blocks_next(kvc_blocks *blocks, kvc_block *block, kvc_error *error)
{
    uint64_t end;

    if (blocks->index >= blocks->end)
        return 0;
    end = kvc_generator_block_end(blocks->generator, blocks->index);
    if (end > blocks->end)
        end = blocks->end;
    block->plan = kvc_generator_plan(blocks->generator, blocks->index, error);
    block->count = 0;
    block->ops = 0;
    if (block->plan == NULL)
        return -1;
    for (; blocks->index < end; blocks->index++) {
        kvc_sequence *sequence = &block->sequence[block->count++];
        if (!kvc_generator_sequence(blocks->generator, blocks->index, NULL, sequence, NULL, error))
            return -1;
        block->ops += (uint64_t)sequence->count;
    }
    return 1;
}

void kvc_blocks_close(kvc_blocks *blocks)
{
    kvc_generator_close(blocks->generator);
    kvc_catalogue_clear(&blocks->catalogue);
    memset(blocks, 0, sizeof *blocks);
}
