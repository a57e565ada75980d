#include "harness/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

enum { STANDING_MOST_MS = 100, NANOSECONDS_IN_MS = 1000000 };

/* Reads the line of a file below /proc; pid 0 for this process. Returns 0 when it cannot be read. */
static int read_line(int pid, const char *file_name, char *text, int size)
{
    char path[64];
    FILE *file;
    int good;

    if (pid > 0)
        (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, file_name);
    else
        (void)snprintf(path, sizeof path, "/proc/self/%s", file_name);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    good = fgets(text, size, file) != NULL;
    (void)fclose(file);
    return good;
}

uint64_t kvc_memory_use(int pid)
{
    char text[128];
    char *rest;

    if (!read_line(pid, "statm", text, sizeof text))
        return 0;
    /* Its second number is what is resident. */
    (void)strtoull(text, &rest, 10);
    return strtoull(rest, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Nanoseconds on a processor, as far as they are counted. Returns 0 when that cannot be told. */
static int read_ran(int pid, uint64_t *ran)
{
    char text[128];

    if (!read_line(pid, "schedstat", text, sizeof text))
        return 0;
    *ran = strtoull(text, NULL, 10);
    return 1;
}

/* Whether a process is on a processor or waits for one. */
static int is_runnable(int pid)
{
    char text[256];
    const char *name_end;

    /* PID (NAME) STATE ...: the name may hold anything. */
    if (!read_line(pid, "stat", text, sizeof text))
        return 0;
    name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

void kvc_standing_begin(kvc_standing *standing, int pid)
{
    memset(standing, 0, sizeof *standing);
    standing->looked_ms = kvc_now_ms();
    (void)read_ran(pid, &standing->ran);
}

int64_t kvc_standing_look(kvc_standing *standing, int pid)
{
    int64_t now = kvc_now_ms();
    uint64_t passed = (uint64_t)(now > standing->looked_ms ? now - standing->looked_ms : 0) * NANOSECONDS_IN_MS;
    uint64_t ran;

    standing->looked_ms = now;
    if (passed > STANDING_MOST_MS * NANOSECONDS_IN_MS)
        passed = STANDING_MOST_MS * NANOSECONDS_IN_MS;
    if (read_ran(pid, &ran)) {
        uint64_t since = ran > standing->ran ? ran - standing->ran : 0;
        standing->ran = ran;
        if (since < passed && is_runnable(pid))
            passed = since;
    }
    standing->stood += passed;
    return (int64_t)(standing->stood / NANOSECONDS_IN_MS);
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

int kvc_program_path(char *path, size_t size)
{
#ifdef __APPLE__
    char given[4096], *whole;
    uint32_t room = sizeof given;
    int good = 0;

    if (_NSGetExecutablePath(given, &room) != 0 || (whole = realpath(given, NULL)) == NULL)
        return 0;
    if (strlen(whole) < size) {
        memcpy(path, whole, strlen(whole) + 1);
        good = 1;
    }
    free(whole);
    return good;
#else
    ssize_t length = size > 0 ? readlink("/proc/self/exe", path, size) : -1;

    /* What fills the room may have been cut. */
    if (length <= 0 || (size_t)length >= size)
        return 0;
    path[length] = '\0';
    return 1;
#endif
}
