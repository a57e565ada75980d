/*
 * What a worker and the main process share: progress, counts, failures, and the cases to evaluate.
 */
#ifndef KVC_HARNESS_SHARED_H
#define KVC_HARNESS_SHARED_H

#include "harness/feedback.h"
#include "harness/tally.h"

enum { KVC_EVALUATE_MAX = 256, KVC_SHARED_TEXT = 1 << 20 };

/* What a worker runs: set before it is told to choose. */
typedef struct kvc_selection {
    char subject[KVC_SPEC_NAME_MAX];
    char version[64];
    char variant[KVC_SPEC_NAME_MAX];
    char contract[64];
    uint64_t seed;
    kvc_draws draws; /* the profile */
} kvc_selection;

typedef struct kvc_shared {
    kvc_selection selection;
    /* Written by the worker before every op, read by the main process when the worker dies or stands still. */
    volatile uint64_t tick;
    volatile uint64_t index; /* number of the sequence, or place in `sequence` while evaluating */
    volatile int32_t step;
    /* Counts, added to by the worker. */
    uint64_t sequences;
    uint64_t ops;
    kvc_coverage coverage;
    kvc_exclusions exclusions; /* set by the main process */
    kvc_tally tally;
    kvc_feedback feedback;
    /* Cases to evaluate, set by the main process, and what came of them. */
    kvc_params params;
    int32_t cases;
    kvc_sequence sequence[KVC_EVALUATE_MAX];
    uint8_t failed[KVC_EVALUATE_MAX];
    kvc_failure failure[KVC_EVALUATE_MAX];
    uint8_t absent; /* the subject says that it has no such cache; the text says why */
    /* JSON or an error text, NUL-ended. */
    char text[KVC_SHARED_TEXT];
} kvc_shared;

#endif
