/*
 * Prints the requests of docs/protocol.md that kvconform sends for a range of sequences, one on a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/blocks.h"
#include "harness/protocol.h"

static int print_all(char **word, uint64_t seed, uint64_t start, uint64_t end, kvc_error *error)
{
    kvc_blocks blocks;
    kvc_block *block = malloc(sizeof *block);
    int more = kvc_blocks_open(&blocks, NULL, word[0], word[1], word[2], seed, start, end, error);
    int good = more;
    int64_t id = 0;

    if (good && block == NULL) {
        kvc_error_set(error, "not enough memory");
        good = 0;
    }
    while (good && (more = kvc_blocks_next(&blocks, block, error)) > 0) {
        kvc_batch batch = {block->plan, (size_t)block->count, block->sequence, NULL, NULL, 0};
        char *line = kvc_request_run(id++, &batch);
        good = line != NULL && fputs(line, stdout) >= 0;
        free(line);
        if (!good)
            kvc_error_set(error, "a request could not be written");
    }
    kvc_blocks_close(&blocks);
    free(block);
    return good && more == 0 && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    uint64_t seed;
    uint64_t start;
    uint64_t end;
    kvc_error error = {""};

    if (argc != 7 || !kvc_blocks_number(argv[4], &seed) || !kvc_blocks_number(argv[5], &start) ||
        !kvc_blocks_number(argv[6], &end)) {
        (void)fprintf(stderr, "usage: requests SUBJECT VERSION VARIANT SEED START END\n"
                              "example: requests transformers 5.24.0 DynamicLayer 1 5000 10000\n");
        return 2;
    }
    if (print_all(argv + 1, seed, start, end, &error))
        return 0;
    (void)fprintf(stderr, "requests: %s\n", error.text);
    return 1;
}
