#include "harness/feedback.h"

#include <stdlib.h>
#include <string.h>

#include "harness/instrumented.h"

struct kvc_collector {
    kvc_feedback *out;
    const kvc_corpus *corpus;
    int before; /* kind of the op before, -1 for none */
    int pending;
    uint32_t feature[KVC_SEQUENCE_FEATURES]; /* of this sequence, not known */
    uint8_t known[KVC_FEATURES / 8];
};

kvc_collector *kvc_collector_open(kvc_feedback *out, const kvc_corpus *corpus)
{
    kvc_collector *collector = calloc(1, sizeof *collector);

    if (collector != NULL) {
        collector->out = out;
        collector->corpus = corpus;
    }
    return collector;
}

void kvc_collector_close(kvc_collector *collector)
{
    free(collector);
}

void kvc_collector_begin(kvc_collector *collector)
{
    if (collector->out->mode == KVC_FEEDBACK_NEW)
        memcpy(collector->known, collector->corpus->seen, sizeof collector->known);
    else
        memset(collector->known, 0, sizeof collector->known);
}

void kvc_collector_start(kvc_collector *collector)
{
    collector->pending = 0;
    collector->before = -1;
    if (collector->out->mode != KVC_FEEDBACK_OFF)
        kvc_instrumented_reset();
}

/* The same feature may stand there twice, which does no harm. */
static void note(kvc_collector *collector, uint32_t feature)
{
    if (!kvc_feature_is_in(collector->known, feature) && collector->pending < KVC_SEQUENCE_FEATURES)
        collector->feature[collector->pending++] = feature;
}

void kvc_collector_op(kvc_collector *collector, int op, int situation, int refused)
{
    uint64_t where = (uint64_t)(op * KVC_SITUATIONS + situation);

    if (collector->out->mode == KVC_FEEDBACK_OFF)
        return;
    note(collector, kvc_feature(KVC_FEATURE_SITUATION, where, refused != 0));
    note(collector, kvc_feature(KVC_FEATURE_BEHIND, (uint64_t)(op * 2 + (refused != 0)), (uint64_t)(collector->before + 1)));
    collector->before = op;
}

void kvc_collector_told(kvc_collector *collector, const uint32_t *told, size_t count)
{
    for (size_t at = 0; collector->out->mode != KVC_FEEDBACK_OFF && at < count; at++)
        note(collector, kvc_feature(KVC_FEATURE_TOLD, told[at], 0));
}

static void note_counter(void *context, uint32_t place, uint8_t count)
{
    int power = 0;

    while (count >> power > 1)
        power++;
    note(context, kvc_feature(KVC_FEATURE_COUNTER, place, (uint64_t)power));
}

void kvc_collector_end(kvc_collector *collector, uint64_t index)
{
    kvc_feedback *out = collector->out;
    int first = out->features;

    if (out->mode == KVC_FEEDBACK_OFF)
        return;
    kvc_instrumented_collect(note_counter, collector);
    if (collector->pending == 0 || out->candidates == KVC_CANDIDATES_MAX ||
        out->features + collector->pending > KVC_FEEDBACK_FEATURES)
        return;
    for (int at = 0; at < collector->pending; at++) {
        uint32_t feature = collector->feature[at];
        if (kvc_feature_is_in(collector->known, feature))
            continue;
        kvc_feature_put(collector->known, feature);
        out->feature[out->features++] = feature;
    }
    out->candidate[out->candidates++] = (kvc_candidate){index, first, out->features - first};
    collector->pending = 0;
    /* Of the next sequence all features are wanted again. */
    for (int at = first; out->mode == KVC_FEEDBACK_ALL && at < out->features; at++)
        collector->known[out->feature[at] / 8] = 0;
}

void kvc_collector_drop(kvc_collector *collector, uint64_t index)
{
    kvc_feedback *out = collector->out;

    collector->pending = 0;
    for (int at = out->candidates - 1; at >= 0 && at >= out->candidates - KVC_BLOCK; at--) {
        if (out->candidate[at].index != index)
            continue;
        memmove(&out->candidate[at], &out->candidate[at + 1], (size_t)(out->candidates - at - 1) * sizeof out->candidate[0]);
        out->candidates--;
        return;
    }
}
