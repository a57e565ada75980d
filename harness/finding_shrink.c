/* Making the case of a finding smaller while it fails in the same way. */
#include <stdlib.h>

#include "harness/case.h"
#include "harness/shrink.h"

enum { WIDER_MAX = 4 }; /* a case that was made smaller holds few tokens */

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

/* The case in a window of `window`, its first append `more` tokens longer. Returns 1 when it fails in the same way there, and is taken. */
static int fails_in(failing *self, int32_t window, int32_t more, kvc_params *params, kvc_sequence *sequence, kvc_crew_result *result)
{
    const kvc_bench *bench = self->bench;
    kvc_finding *finding = self->finding;
    kvc_failure like = finding->failure;
    kvc_params wider = *params;
    kvc_sequence longer = *sequence;
    kvc_plan plan;
    kvc_error why;
    int at = 0;

    while (at < longer.count && longer.op[at].kind != KVC_APPEND)
        at++;
    if (at < longer.count)
        longer.op[at].n += more;
    wider.window = window;
    if (!kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &wider, &plan, &why) ||
        !kvc_sequence_is_valid(&plan, &longer, &why))
        return 0;
    *result = kvc_crew_evaluate(bench->crew, &wider, &longer, 1, self->failed, self->failure, self->error);
    like.narrow = 0;
    /* How full the window is cannot be the same. */
    like.situation.reached = self->failure[0].situation.reached;
    if (*result != KVC_CREW_DONE || !self->failed[0] || !kvc_failures_alike(&like, params, &longer, &self->failure[0], &wider, &longer, 0))
        return 0;
    finding->failure = self->failure[0];
    finding->params = *params = wider;
    longer.count = finding->failure.step + 1;
    finding->sequence = *sequence = longer;
    return 1;
}

/*
 * Whether the case fails in a wider window too: then a window of one is no part of the fault, and whoever meets it in another window first
 * gives it the same id.
 */
static int widen(failing *self, kvc_params *params, kvc_sequence *sequence, kvc_crew_result *result)
{
    int widened = 0;

    if (!self->finding->failure.narrow || self->finding->failure.law == KVC_ALIVE)
        return 0;
    for (int32_t window = 2; !widened && window <= WIDER_MAX && *result == KVC_CREW_DONE; window++) {
        widened = fails_in(self, window, 0, params, sequence, result);
        if (!widened && *result == KVC_CREW_DONE)
            widened = fails_in(self, window, window - 1, params, sequence, result);
    }
    return widened;
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
    if (result == KVC_CREW_DONE && widen(self, &params, &sequence, &result))
        result = kvc_shrink(bench, &params, &sequence, choose_failing, self);
    free(self);
    finding->shrunk = result == KVC_CREW_DONE;
    return result;
}
