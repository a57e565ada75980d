#include "harness/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

uint64_t kvc_memory_use(int pid)
{
    char path[64];
    char text[128];
    FILE *file;
    uint64_t pages = 0;

    if (pid > 0)
        (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    else
        (void)snprintf(path, sizeof path, "/proc/self/statm");
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) != NULL) {
        char *rest = NULL;
        (void)strtoull(text, &rest, 10);
        if (rest != NULL)
            pages = strtoull(rest, NULL, 10);
    }
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void kvc_die_with_parent(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

int64_t kvc_now_ms(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
