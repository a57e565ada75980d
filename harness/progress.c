#include "harness/progress.h"
#include "harness/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TERMINAL_EVERY_MS = 150, LOG_EVERY_MS = 15000, BAR = 24 };

void kvc_progress_start(kvc_progress *progress, int quiet, uint64_t total)
{
    const char *term = getenv("TERM");

    memset(progress, 0, sizeof *progress);
    progress->shown = !quiet;
    progress->terminal = isatty(2) && term != NULL && strcmp(term, "dumb") != 0;
    progress->total = total;
    progress->started_ms = progress->last_ms = kvc_now_ms();
}

void kvc_progress_name(kvc_progress *progress, const char *what)
{
    (void)snprintf(progress->what, sizeof progress->what, "%s", what);
}

static void time_left(const kvc_progress *progress, uint64_t done, char *out, size_t size)
{
    int64_t spent = kvc_now_ms() - progress->started_ms;
    int64_t left;

    out[0] = '\0';
    if (progress->total == 0 || done == 0 || done >= progress->total)
        return;
    left = (int64_t)((double)spent * ((double)progress->total - (double)done) / (double)done / 1000);
    if (left >= 60)
        (void)snprintf(out, size, ", about %lld min left", (long long)(left + 30) / 60);
    else
        (void)snprintf(out, size, ", about %lld s left", (long long)left + 1);
}

void kvc_progress_show(void *context, uint64_t sequences)
{
    kvc_progress *progress = context;
    int64_t now = kvc_now_ms();
    uint64_t done = progress->done + sequences;
    char left[48];

    if (progress->pipe > 0 && now - progress->last_ms >= TERMINAL_EVERY_MS) {
        kvc_progress_news news = {progress->total, done};
        progress->last_ms = now;
        /* Shorter than PIPE_BUF: it arrives whole. Who does not read it any more is told nothing. */
        (void)!write(progress->pipe, &news, sizeof news);
    }
    if (!progress->shown || now - progress->last_ms < (progress->terminal ? TERMINAL_EVERY_MS : LOG_EVERY_MS))
        return;
    progress->last_ms = now;
    if (done == 0) {
        /* The subject is still starting: the time left is reckoned from its first sequences. */
        progress->started_ms = now;
        if (!progress->terminal) {
            (void)fprintf(stderr, "kvconform: %s: starting\n", progress->what);
            return;
        }
    }
    time_left(progress, done, left, sizeof left);
    if (progress->terminal) {
        char bar[BAR + 1];
        uint64_t full = progress->total > 0 ? done * BAR / progress->total : 0;
        for (uint64_t at = 0; at < BAR; at++)
            bar[at] = at < full ? '#' : '.';
        bar[BAR] = '\0';
        (void)fprintf(stderr, "\r\033[K[%s] %.60s: %llu sequences%s", bar, progress->what, (unsigned long long)done, left);
        progress->drawn = 1;
    } else {
        (void)fprintf(stderr, "kvconform: %s: %llu of %llu sequences%s\n", progress->what, (unsigned long long)done,
                      (unsigned long long)progress->total, left);
    }
    (void)fflush(stderr);
}

void kvc_progress_clear(kvc_progress *progress)
{
    if (progress->drawn) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
    }
    progress->drawn = 0;
}
