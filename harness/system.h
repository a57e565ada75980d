/*
 * What differs between operating systems: this is the one file that knows.
 */
#ifndef KVC_HARNESS_SYSTEM_H
#define KVC_HARNESS_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* Resident bytes of a process, 0 for this one; 0 when it cannot be told. */
uint64_t kvc_memory_use(int pid);
/*
 * For how long a process has stood still that was seen to do so at every look. What waits for a processor on a busy machine does not
 * hang: while it waits nothing is counted, as far as that can be told. And who looks may have waited too: of the time between two looks
 * at most a tenth of a second counts.
 */
typedef struct kvc_standing {
    int64_t looked_ms;
    uint64_t ran;   /* nanoseconds on a processor at the last look */
    uint64_t stood; /* nanoseconds */
} kvc_standing;

void kvc_standing_begin(kvc_standing *standing, int pid);
/* Milliseconds since the beginning. */
int64_t kvc_standing_look(kvc_standing *standing, int pid);
/* This process ends when its parent does, also when that was killed. Does nothing where there is no way. */
void kvc_die_with_parent(void);

/* The file of this program, with no symbolic link in it. Returns 0 when it cannot be told or has no room. */
int kvc_program_path(char *path, size_t size);

/* Milliseconds of a clock that only goes forward. */
int64_t kvc_now_ms(void);

#endif
