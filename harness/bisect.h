/*
 * Between two points in the history of a subject at which a case comes out differently: the place where that changed.
 */
#ifndef KVC_HARNESS_BISECT_H
#define KVC_HARNESS_BISECT_H

#include "harness/replay.h"

/* What a case shows at one point. */
typedef struct kvc_verdict_at {
    int known;
    kvc_case_outcome outcome;
    kvc_law law;
    char text[700]; /* `breaks CLAMP: TITLE`, `conforms`, `absent: WHY` */
} kvc_verdict_at;

/* Takes what a replay showed. */
void kvc_verdict_take(kvc_verdict_at *verdict, const kvc_replayed *replayed);
int kvc_verdicts_alike(const kvc_verdict_at *a, const kvc_verdict_at *b);

/* Asks for the verdict at point `at`. Returns 0 with *verdict set, or an exit status with the complaint written. */
typedef int kvc_bisect_ask(void *context, int at, kvc_verdict_at *verdict);

/*
 * Asks at the ends of 0 to count - 1, then as few points between them as halving needs. Returns 0 with *changed the first point that
 * comes out otherwise than point 0, or 0 when the last one comes out as the first; otherwise the exit status of `ask`. `verdict` has
 * room for `count`.
 */
int kvc_bisect(int count, kvc_bisect_ask *ask, void *context, kvc_verdict_at *verdict, int *changed);

#endif
