/*
 * One fuzz target: what libFuzzer calls, and what fuzz/files.c calls where there is no libFuzzer.
 */
#ifndef KVC_FUZZ_FUZZ_H
#define KVC_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input; ends the process, so that the fuzzer keeps the input. */
#define KVC_MUST(condition)                                                                  \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                         \
        }                                                                                    \
    } while (0)

#endif
