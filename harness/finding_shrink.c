/* Making the case of a finding smaller while it fails in the same way. */
#include <stdlib.h>

#include "harness/shrink.h"

/* A finding that is made smaller. */
typedef struct failing {
    const kvc_bench *bench;
    kvc_finding *finding;
    kvc_error *error;
    uint8_t failed[KVC_EVALUATE_MAX];
    kvc_failure failure[KVC_EVALUATE_MAX];
} failing;

/* The first candidate that still fails in the same way, up to the op that does. */
static int choose_failing(void *context, const kvc_params *params, kvc_sequence *candidate, int count, kvc_crew_result *result)
{
    failing *self = context;
    kvc_finding *finding = self->finding;
    /* A case that ends a process costs a process, or a time limit: those are tried one by one. */
    int deadly = finding->failure.law == KVC_ALIVE;

    if (!deadly)
        *result = kvc_crew_evaluate(self->bench->crew, params, candidate, count, self->failed, self->failure, self->error);
    for (int at = 0; *result == KVC_CREW_DONE && at < count; at++) {
        if (deadly)
            *result = kvc_crew_evaluate(self->bench->crew, params, &candidate[at], 1, &self->failed[at], &self->failure[at],
                                        self->error);
        if (*result != KVC_CREW_DONE)
            break;
        if (!self->failed[at] || !kvc_failures_alike(&finding->failure, &finding->params, &finding->sequence, &self->failure[at],
                                                     params, &candidate[at], 0))
            continue;
        finding->failure = self->failure[at];
        candidate[at].count = finding->failure.step + 1;
        finding->sequence = candidate[at];
        finding->params = *params;
        return at;
    }
    return -1;
}

kvc_crew_result kvc_finding_shrink(const kvc_bench *bench, kvc_finding *finding, kvc_error *error)
{
    failing *self = malloc(sizeof *self);
    kvc_params params = finding->params;
    kvc_sequence sequence;
    kvc_crew_result result = KVC_CREW_FAILED;

    kvc_error_set(error, "not enough memory");
    if (self == NULL)
        return KVC_CREW_FAILED;
    self->bench = bench;
    self->finding = finding;
    self->error = error;
    finding->sequence.count = finding->failure.step + 1;
    sequence = finding->sequence;
    result = kvc_shrink(bench, &params, &sequence, choose_failing, self);
    free(self);
    finding->shrunk = result == KVC_CREW_DONE;
    return result;
}
