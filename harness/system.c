#include "harness/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* The second number of a one-line file of numbers below /proc; pid 0 for this process. 0 when it cannot be read. */
static uint64_t second_number(int pid, const char *file_name)
{
    char path[64];
    char text[128];
    FILE *file;
    uint64_t number = 0;

    if (pid > 0)
        (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, file_name);
    else
        (void)snprintf(path, sizeof path, "/proc/self/%s", file_name);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) != NULL) {
        char *rest = NULL;
        (void)strtoull(text, &rest, 10);
        if (rest != NULL)
            number = strtoull(rest, NULL, 10);
    }
    (void)fclose(file);
    return number;
}

uint64_t kvc_memory_use(int pid)
{
    return second_number(pid, "statm") * (uint64_t)sysconf(_SC_PAGESIZE);
}

int64_t kvc_waited_ms(int pid)
{
    return (int64_t)(second_number(pid, "schedstat") / 1000000);
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
