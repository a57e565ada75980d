#include "harness/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/system.h"

enum { PIECE = 1 << 16, GRACE_MS = 1000, LOOK_MS = 100, PIECES_AT_ONCE = 64 };

struct kvc_channel {
    const kvc_process_options *options;
    pid_t pid;
    int to;   /* -1 when closed */
    int from; /* -1 at the end */
    char *out;
    size_t out_used;
    size_t out_sent;
    size_t out_room;
    char *in;
    size_t in_used;
    size_t in_taken; /* bytes at the front that were handed out */
    size_t in_room;
    char end[64];
};

static void close_pipe(int pipe_ends[2])
{
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
}

static int start(kvc_channel *channel, kvc_error *error)
{
    int to[2];
    int from[2];

    if (pipe(to) != 0) {
        kvc_error_set(error, "%s: no pipe: %s", channel->options->command[0], strerror(errno));
        return 0;
    }
    if (pipe(from) != 0) {
        kvc_error_set(error, "%s: no pipe: %s", channel->options->command[0], strerror(errno));
        close_pipe(to);
        return 0;
    }
    channel->pid = fork();
    if (channel->pid < 0) {
        kvc_error_set(error, "%s: cannot start a process: %s", channel->options->command[0], strerror(errno));
        close_pipe(to);
        close_pipe(from);
        return 0;
    }
    if (channel->pid == 0) {
        /* A worker that is killed has no time to end its subject. */
        kvc_die_with_parent();
        /* Its own group, so that whatever it starts can be ended with it; Ctrl-C reaches it through kvconform alone. */
        (void)setpgid(0, 0);
        if (dup2(to[0], 0) >= 0 && dup2(from[1], 1) >= 0) {
            union {
                const char *const *given;
                char *const *wanted;
            } arguments = {.given = channel->options->command};
            close_pipe(to);
            close_pipe(from);
            (void)signal(SIGPIPE, SIG_DFL);
            (void)signal(SIGXFSZ, SIG_DFL);
            (void)execvp(arguments.wanted[0], arguments.wanted);
        }
        _exit(127);
    }
    (void)setpgid(channel->pid, channel->pid);
    (void)close(to[0]);
    (void)close(from[1]);
    channel->to = to[1];
    channel->from = from[0];
    (void)fcntl(channel->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(channel->from, F_SETFL, O_NONBLOCK);
    (void)fcntl(channel->to, F_SETFD, FD_CLOEXEC);
    (void)fcntl(channel->from, F_SETFD, FD_CLOEXEC);
    return 1;
}

kvc_channel *kvc_channel_open(const kvc_process_options *options, kvc_error *error)
{
    kvc_channel *channel = calloc(1, sizeof *channel);

    if (channel == NULL) {
        kvc_error_set(error, "not enough memory");
        return NULL;
    }
    channel->options = options;
    channel->to = channel->from = -1;
    if (!start(channel, error)) {
        free(channel);
        return NULL;
    }
    return channel;
}

static void note_end(kvc_channel *channel, int status)
{
    if (WIFSIGNALED(status))
        (void)snprintf(channel->end, sizeof channel->end, "signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(channel->end, sizeof channel->end, "exit status %d", WEXITSTATUS(status));
    channel->pid = -1;
}

/* Waits up to `limit_ms` for the process to end. */
static int wait_end(kvc_channel *channel, int limit_ms)
{
    int64_t until = kvc_now_ms() + limit_ms;
    int status;

    while (channel->pid > 0) {
        pid_t got = waitpid(channel->pid, &status, WNOHANG);
        if (got == channel->pid || (got < 0 && errno != EINTR)) {
            if (got < 0)
                channel->pid = -1;
            else
                note_end(channel, status);
            return 1;
        }
        if (kvc_now_ms() >= until)
            return 0;
        (void)poll(NULL, 0, 5);
    }
    return 1;
}

static void end_process(kvc_channel *channel, int kindly)
{
    pid_t group = channel->pid;

    if (channel->to >= 0)
        (void)close(channel->to);
    channel->to = -1;
    if (group > 0 && (!kindly || !wait_end(channel, GRACE_MS))) {
        (void)kill(-group, SIGTERM);
        if (!wait_end(channel, kindly ? GRACE_MS : 50))
            (void)kill(-group, SIGKILL);
        (void)wait_end(channel, 10 * GRACE_MS);
    }
    /* What the adapter started may outlive it. */
    if (group > 0)
        (void)kill(-group, SIGKILL);
    if (channel->from >= 0)
        (void)close(channel->from);
    channel->from = -1;
}

void kvc_channel_close(kvc_channel *channel)
{
    if (channel == NULL)
        return;
    end_process(channel, 1);
    free(channel->out);
    free(channel->in);
    free(channel);
}

const char *kvc_channel_end_text(const kvc_channel *channel)
{
    return channel->end[0] != '\0' ? channel->end : "no exit status";
}

/* Grows a buffer to at least `need` bytes. */
static int make_room(char **buffer, size_t *room, size_t need)
{
    size_t larger = *room > 0 ? *room : PIECE;
    char *moved;

    if (need <= *room)
        return 1;
    while (larger < need) {
        if (larger > SIZE_MAX / 2)
            return 0;
        larger *= 2;
    }
    moved = realloc(*buffer, larger);
    if (moved == NULL)
        return 0;
    *buffer = moved;
    *room = larger;
    return 1;
}

int kvc_channel_send(kvc_channel *channel, const char *data, size_t length)
{
    if (channel->out_sent > 0) {
        memmove(channel->out, channel->out + channel->out_sent, channel->out_used - channel->out_sent);
        channel->out_used -= channel->out_sent;
        channel->out_sent = 0;
    }
    if (!make_room(&channel->out, &channel->out_room, channel->out_used + length))
        return 0;
    memcpy(channel->out + channel->out_used, data, length);
    channel->out_used += length;
    return 1;
}

static void write_some(kvc_channel *channel)
{
    while (channel->to >= 0 && channel->out_sent < channel->out_used) {
        ssize_t wrote = write(channel->to, channel->out + channel->out_sent, channel->out_used - channel->out_sent);
        if (wrote > 0) {
            channel->out_sent += (size_t)wrote;
        } else if (wrote < 0 && errno == EINTR) {
            continue;
        } else {
            if (wrote < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
                (void)close(channel->to);
                channel->to = -1;
            }
            return;
        }
    }
}

/* Reads what is there, but not for ever: a flood is looked at between. Returns 0 when memory is short. */
static int read_some(kvc_channel *channel)
{
    for (int piece = 0; piece < PIECES_AT_ONCE; piece++) {
        ssize_t got;
        if (!make_room(&channel->in, &channel->in_room, channel->in_used + PIECE + 1))
            return 0;
        got = read(channel->from, channel->in + channel->in_used, PIECE);
        if (got > 0) {
            channel->in_used += (size_t)got;
            if (got < PIECE)
                return 1;
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else {
            if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
                (void)close(channel->from);
                channel->from = -1;
            }
            return 1;
        }
    }
    return 1;
}

/* Ends a process that holds too much. */
static int has_swelled(kvc_channel *channel, kvc_error *error)
{
    if (channel->options->memory_limit == 0 || channel->pid <= 0 ||
        kvc_memory_use((int)channel->pid) <= channel->options->memory_limit)
        return 0;
    kvc_error_set(error, "%s: passed its memory limit", channel->options->command[0]);
    end_process(channel, 0);
    return 1;
}

/* Waits until something can be read, writing meanwhile. KVC_DROVE: there is more, or the end. */
static kvc_drive wait_for_more(kvc_channel *channel, int64_t until, kvc_error *error)
{
    for (;;) {
        struct pollfd ready[2];
        int64_t rest = until - kvc_now_ms();
        int count;
        nfds_t used = 1;
        write_some(channel);
        if (rest <= 0) {
            kvc_error_set(error, "%s: no answer within the time limit", channel->options->command[0]);
            end_process(channel, 0);
            return KVC_DRIVE_HUNG;
        }
        ready[0] = (struct pollfd){.fd = channel->from, .events = POLLIN};
        if (channel->to >= 0 && channel->out_sent < channel->out_used) {
            ready[1] = (struct pollfd){.fd = channel->to, .events = POLLOUT};
            used = 2;
        }
        count = poll(ready, used, (int)(rest < LOOK_MS ? rest : LOOK_MS));
        if (channel->options->alive != NULL)
            channel->options->alive(channel->options->context);
        if (count < 0 && errno != EINTR) {
            kvc_error_set(error, "%s: poll: %s", channel->options->command[0], strerror(errno));
            return KVC_DRIVE_BAD;
        }
        if (count == 0 && has_swelled(channel, error))
            return KVC_DRIVE_SWELLED;
        if (count > 0 && ready[0].revents != 0) {
            if (!read_some(channel)) {
                kvc_error_set(error, "not enough memory");
                return KVC_DRIVE_BAD;
            }
            return KVC_DROVE;
        }
    }
}

/* The output ended. `awaited` are the bytes of data that were to come, 0 for a line. */
static kvc_drive at_end(kvc_channel *channel, size_t awaited, kvc_error *error)
{
    int alive = !wait_end(channel, GRACE_MS);

    end_process(channel, 0);
    if (alive) {
        kvc_error_set(error, "%s: closed its output before it answered", channel->options->command[0]);
    } else if (channel->in_used > channel->in_taken && strncmp(channel->end, "exit", 4) == 0) {
        /* A program that ends by itself within a reply did the ops before; one that is killed may have lost what it wrote. */
        kvc_error_set(error, "%s: ended (%s) in the middle of a reply, %zu bytes%s after its beginning",
                      channel->options->command[0], channel->end, channel->in_used - channel->in_taken,
                      awaited > 0 ? " of data" : "");
        return KVC_DRIVE_BAD;
    } else if (strcmp(channel->end, "exit status 127") == 0) {
        kvc_error_set(error, "%s: cannot be started: is it there, and executable?", channel->options->command[0]);
    } else {
        kvc_error_set(error, "%s: ended (%s) before it answered", channel->options->command[0],
                      kvc_channel_end_text(channel));
    }
    return KVC_DRIVE_CRASHED;
}

/* Drops what was handed out by the last read. */
static void drop_taken(kvc_channel *channel)
{
    if (channel->in_taken > 0) {
        memmove(channel->in, channel->in + channel->in_taken, channel->in_used - channel->in_taken);
        channel->in_used -= channel->in_taken;
        channel->in_taken = 0;
    }
}

kvc_drive kvc_channel_read_line(kvc_channel *channel, size_t limit, int timeout_ms, char **line, size_t *length,
                                kvc_error *error)
{
    int64_t until = kvc_now_ms() + timeout_ms;
    size_t looked = 0;

    drop_taken(channel);
    for (;;) {
        char *end = looked < channel->in_used ? memchr(channel->in + looked, '\n', channel->in_used - looked) : NULL;
        kvc_drive drive;
        if (end != NULL && (size_t)(end - channel->in) <= limit) {
            *end = '\0';
            *line = channel->in;
            *length = (size_t)(end - channel->in);
            channel->in_taken = *length + 1;
            return KVC_DROVE;
        }
        if (end != NULL || channel->in_used > limit) {
            kvc_error_set(error, "%s: a reply of more than %zu bytes without a newline",
                          channel->options->command[0], limit);
            return KVC_DRIVE_BAD;
        }
        looked = channel->in_used;
        if (channel->from < 0)
            return at_end(channel, 0, error);
        drive = wait_for_more(channel, until, error);
        if (drive != KVC_DROVE)
            return drive;
    }
}

kvc_drive kvc_channel_read_bytes(kvc_channel *channel, size_t length, int timeout_ms, const uint8_t **data,
                                 kvc_error *error)
{
    int64_t until = kvc_now_ms() + timeout_ms;

    while (channel->in_used - channel->in_taken < length) {
        kvc_drive drive;
        if (channel->from < 0)
            return at_end(channel, length, error);
        drive = wait_for_more(channel, until, error);
        if (drive == KVC_DRIVE_HUNG) {
            /* All ops of the reply are done: this is no matter of the subject. */
            kvc_error_set(error, "%s: a reply that stops after %zu of %zu bytes of data", channel->options->command[0],
                          channel->in_used - channel->in_taken, length);
            return KVC_DRIVE_BAD;
        }
        if (drive != KVC_DROVE)
            return drive;
    }
    /* Looked at after every reply, or the next one would be blamed. */
    if (has_swelled(channel, error))
        return KVC_DRIVE_SWELLED;
    *data = (const uint8_t *)channel->in + channel->in_taken;
    channel->in_taken += length;
    return KVC_DROVE;
}
