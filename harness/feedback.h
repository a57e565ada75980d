/*
 * What a worker tells of sequences that reached something new, and how it collects it.
 */
#ifndef KVC_HARNESS_FEEDBACK_H
#define KVC_HARNESS_FEEDBACK_H

#include "harness/corpus.h"

enum { KVC_CANDIDATES_MAX = 8192, KVC_FEEDBACK_FEATURES = 1 << 17, KVC_SEQUENCE_FEATURES = 1 << 13 };

typedef enum kvc_feedback_mode {
    KVC_FEEDBACK_OFF = 0,
    KVC_FEEDBACK_NEW, /* features that neither the corpus nor an earlier sequence of this worker's range has */
    KVC_FEEDBACK_ALL  /* all features of each sequence */
} kvc_feedback_mode;

typedef struct kvc_candidate {
    uint64_t index; /* number of the sequence, or its place while cases are evaluated */
    int32_t first;  /* of its features */
    int32_t count;
} kvc_candidate;

/*
 * In memory shared with the main process, which sets the mode and empties it; counts are checked by the reader. What finds no room is
 * found again in a later round.
 */
typedef struct kvc_feedback {
    int32_t mode;
    int32_t candidates;
    int32_t features;
    kvc_candidate candidate[KVC_CANDIDATES_MAX];
    uint32_t feature[KVC_FEEDBACK_FEATURES];
} kvc_feedback;

typedef struct kvc_collector kvc_collector;

/* Collects into `out`; NULL when memory is short. */
kvc_collector *kvc_collector_open(kvc_feedback *out, const kvc_corpus *corpus);
void kvc_collector_close(kvc_collector *collector);
/* A range of sequences begins, or cases to evaluate. */
void kvc_collector_begin(kvc_collector *collector);
/* A sequence begins, an op of it was judged, the adapter has told of places in the code, it has ended and conforms. */
void kvc_collector_start(kvc_collector *collector);
void kvc_collector_op(kvc_collector *collector, int op, int situation, int refused);
void kvc_collector_told(kvc_collector *collector, const uint32_t *told, size_t count);
void kvc_collector_end(kvc_collector *collector, uint64_t index);
/* It does not conform after all. */
void kvc_collector_drop(kvc_collector *collector, uint64_t index);

#endif
