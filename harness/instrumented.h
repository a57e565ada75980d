/*
 * Coverage of a plugin that was compiled with clang's -fsanitize-coverage=inline-8bit-counters or trace-pc-guard, or with that of gcc,
 * trace-pc. The functions that such code calls are those of this program; for any other plugin nothing is ever counted.
 */
#ifndef KVC_HARNESS_INSTRUMENTED_H
#define KVC_HARNESS_INSTRUMENTED_H

#include <stddef.h>
#include <stdint.h>

/* Sets all counters to 0. */
void kvc_instrumented_reset(void);
/* Calls `each` for every place whose counter is not 0. Places have the same numbers in every process. */
void kvc_instrumented_collect(void (*each)(void *context, uint32_t place, uint8_t count), void *context);
/* How many places are counted; of trace-pc those that a table has. */
size_t kvc_instrumented_places(void);

#endif
