#include "harness/trim.h"

#include <stdlib.h>

#include "harness/shrink.h"

/* After so many candidates in a row that did not do, and so many in all, what is left is small enough. */
enum { REFUSED_MAX = 60, TRIED_MAX = 300 };

struct kvc_trim {
    kvc_fuzz_target *target;
    kvc_params params; /* the smallest so far */
    kvc_sequence sequence;
    int tail;    /* the shrinker never takes the last op away; here that is tried first */
    int refused; /* candidates of it that did not do */
    int tried;
    int passed; /* while the shrinker proposes: those that were passed over */
    int waiting; /* a candidate is there */
    kvc_params next_params;
    kvc_sequence next;
    kvc_bytes bytes; /* of it */
};

kvc_trim *kvc_trim_open(kvc_fuzz_target *target)
{
    kvc_trim *trim = calloc(1, sizeof *trim);

    if (trim != NULL)
        trim->target = target;
    return trim;
}

void kvc_trim_close(kvc_trim *trim)
{
    free(trim);
}

/* The shrinker asks at once and the fuzzer answers later: so it is asked again from its beginning, and told what is known. */
static int choose(void *context, const kvc_params *params, kvc_sequence *candidate, int count, kvc_crew_result *result)
{
    kvc_trim *trim = context;

    if (trim->passed + count <= trim->refused) {
        trim->passed += count;
        return -1;
    }
    trim->next = candidate[trim->refused - trim->passed];
    trim->next_params = *params;
    trim->waiting = 1;
    *result = KVC_CREW_STOPPED;
    return -1;
}

static int find_next(kvc_trim *trim)
{
    kvc_params params = trim->params;
    kvc_sequence sequence = trim->sequence;
    const kvc_bench *bench = kvc_fuzz_target_bench(trim->target);
    kvc_plan plan;
    kvc_error ignored;

    trim->passed = trim->waiting = 0;
    trim->tail &= sequence.count > 1;
    if (trim->refused >= REFUSED_MAX || trim->tried >= TRIED_MAX)
        return 0;
    if (trim->tail) {
        trim->next = sequence;
        trim->next.count--;
        trim->next_params = params;
        trim->waiting = 1;
    } else if (kvc_shrink(bench, &params, &sequence, choose, trim) == KVC_CREW_FAILED) {
        return -1;
    }
    if (!trim->waiting ||
        !kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &trim->next_params, &plan, &ignored))
        return 0;
    trim->tried++;
    (void)kvc_encode(kvc_fuzz_target_choice(trim->target), kvc_fuzz_target_model(trim->target), &plan, &trim->next, &trim->bytes);
    return 1;
}

int kvc_trim_begin(kvc_trim *trim, const uint8_t *data, size_t size)
{
    const kvc_bench *bench = kvc_fuzz_target_bench(trim->target);
    kvc_model *model = kvc_fuzz_target_model(trim->target);
    kvc_bytes bytes;
    kvc_decoded decoded;
    kvc_plan plan;
    kvc_error ignored;

    kvc_bytes_take(data, size, &bytes);
    trim->params = kvc_decode_params(kvc_fuzz_target_choice(trim->target), &bytes);
    trim->refused = trim->tried = 0;
    trim->tail = 1;
    if (!kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &trim->params, &plan, &ignored))
        return 0;
    kvc_model_start(model, &plan, NULL);
    if (!kvc_decode_ops(model, &bytes, NULL, 0, &decoded))
        return -1;
    trim->sequence = decoded.sequence;
    return decoded.sequence.count > 0 ? find_next(trim) : 0;
}

const kvc_bytes *kvc_trim_candidate(const kvc_trim *trim)
{
    return &trim->bytes;
}

int kvc_trim_answer(kvc_trim *trim, int did)
{
    if (!trim->waiting)
        return 0;
    if (did) {
        trim->params = trim->next_params;
        trim->sequence = trim->next;
        trim->refused = 0;
    } else if (trim->tail) {
        trim->tail = 0;
    } else {
        trim->refused++;
    }
    return find_next(trim);
}
