/*
 * What differs between operating systems: this is the one file that knows.
 */
#ifndef KVC_HARNESS_SYSTEM_H
#define KVC_HARNESS_SYSTEM_H

#include <stdint.h>

/* Resident bytes of a process, 0 for this one; 0 when it cannot be told. */
uint64_t kvc_memory_use(int pid);
/*
 * Milliseconds that a process could have run but had to wait for a processor, since it began; 0 when it cannot be told. What stands
 * still on a busy machine does not hang.
 */
int64_t kvc_waited_ms(int pid);
/* This process ends when its parent does, also when that was killed. Does nothing where there is no way. */
void kvc_die_with_parent(void);

/* Milliseconds of a clock that only goes forward. */
int64_t kvc_now_ms(void);

#endif
