/*
 * How much memory a process holds. The one file that knows how an operating system tells.
 */
#ifndef KVC_HARNESS_MEMORY_USE_H
#define KVC_HARNESS_MEMORY_USE_H

#include <stdint.h>

/* Resident bytes of a process, 0 for this one; 0 when it cannot be told. */
uint64_t kvc_memory_use(int pid);

#endif
