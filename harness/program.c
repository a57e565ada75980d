#include "harness/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int kvc_program_output(const char *const *command, char *out, size_t size, int quiet)
{
    int pair[2];
    pid_t pid;
    size_t used = 0;
    int status = -1;

    if (pipe(pair) != 0)
        return -1;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        union {
            const char *const *given;
            char *const *wanted;
        } arguments = {.given = command};
        (void)close(pair[0]);
        if (dup2(pair[1], 1) >= 0 && (!quiet || freopen("/dev/null", "w", stderr) != NULL))
            (void)execvp(arguments.wanted[0], arguments.wanted);
        _exit(127);
    }
    (void)close(pair[1]);
    while (pid > 0) {
        char piece[512];
        ssize_t got = read(pair[0], piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (ssize_t at = 0; at < got && used + 1 < size; at++)
            out[used++] = piece[at];
    }
    (void)close(pair[0]);
    out[used] = '\0';
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int kvc_program_line(const char *const *command, char *line, size_t size, int quiet)
{
    int status = kvc_program_output(command, line, size, quiet);

    line[strcspn(line, "\r\n")] = '\0';
    return status;
}
