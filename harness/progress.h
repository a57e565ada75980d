/*
 * Progress on standard error: a bar with time left on a terminal, a line now and then in a log.
 */
#ifndef KVC_HARNESS_PROGRESS_H
#define KVC_HARNESS_PROGRESS_H

#include <stdint.h>

typedef struct kvc_progress {
    int shown;    /* 0: says nothing */
    int terminal; /* a bar is drawn over and over */
    uint64_t total; /* sequences of the whole run, 0 when it is not known */
    uint64_t done;  /* sequences of finished variants and rounds */
    char what[160];
    int64_t started_ms;
    int64_t last_ms;
    int drawn; /* a bar stands on the line */
    int pipe;  /* where another process is told, 0 for none */
} kvc_progress;

/* What a process that shows nothing itself writes to `pipe`. */
typedef struct kvc_progress_news {
    uint64_t total;
    uint64_t done;
} kvc_progress_news;

void kvc_progress_start(kvc_progress *progress, int quiet, uint64_t total);
/* What runs now: "transformers 5.24.0 DynamicLayer". */
void kvc_progress_name(kvc_progress *progress, const char *what);
/* `context` is the kvc_progress; `sequences` of the round that runs. Fits kvc_crew_options.progress. */
void kvc_progress_show(void *context, uint64_t sequences);
/* Takes the bar away, so that other text can be written. */
void kvc_progress_clear(kvc_progress *progress);

#endif
