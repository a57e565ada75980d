/* Counting failures: what looks the same is one entry with its smallest case, in whatever order it comes. */
#include "tests/unit/support.h"

#include "harness/random.h"
#include "harness/tally.h"

typedef struct met {
    kvc_failure failure;
    kvc_params params;
    kvc_sequence sequence;
    uint64_t index;
} met;

static kvc_sequence sequence_of(const char *const *ops) {
    kvc_sequence out = {0};
    for (; *ops != NULL; ops++) {
        out.op[out.count++] = op_of(*ops);
    }
    return out;
}

static kvc_failure failure_of(kvc_law law, int32_t step) {
    kvc_failure failure = {.law = (uint8_t)law, .place = KVC_PLACE_STORED, .deviation = KVC_STALE, .op = KVC_CROP, .step = step};
    failure.situation = (kvc_situation){2, 1, 0, KVC_ASK_PART, 0, 0, 0};
    return failure;
}

Test(tally, the_smallest_case_stays) {
    static const char *const long_case[] = {"append 3", "append 1", "crop -1", "reset", NULL};
    static const char *const short_case[] = {"append 3", "crop -1", "append 5", NULL};
    static const char *const same_case[] = {"append 3", "crop -1", NULL};
    kvc_tally *tally = calloc(1, sizeof *tally);
    kvc_params params = kvc_params_standard();
    kvc_sequence sequence = sequence_of(long_case);
    kvc_failure failure = failure_of(KVC_KEYS, 2);
    cr_assert_not_null(tally);
    kvc_tally_add(tally, &failure, &params, &sequence, 10, 9, 3);
    cr_assert_eq(tally->count, 1);
    cr_expect_eq(tally->entry[0].sequence.count, 3, "cut behind the op that failed");
    sequence = sequence_of(short_case);
    failure.step = 1;
    kvc_tally_add(tally, &failure, &params, &sequence, 20, 20, 1);
    cr_assert_eq(tally->count, 1);
    cr_expect_eq(tally->entry[0].failures, (uint64_t)4);
    cr_expect_eq(tally->entry[0].index, (uint64_t)20);
    cr_expect_eq(tally->entry[0].sequence.count, 2);
    sequence = sequence_of(same_case);
    params.batch = 3;
    kvc_tally_add(tally, &failure, &params, &sequence, 15, 15, 1);
    cr_expect_eq(tally->entry[0].index, (uint64_t)15, "of equal cases the first");
    cr_expect_eq(tally->entry[0].first, (uint64_t)9, "whatever case it shows");
    cr_expect_eq(tally->entry[0].params.batch, 3);
    free(tally);
}

/* What sets two failures apart. */
Test(tally, alike) {
    static const char *const ops[] = {"append 3", "crop -1", NULL};
    static const char *const after_reset[] = {"reset", "append 3", "crop -1", NULL};
    static const char *const is_reset[] = {"append 3", "reset", NULL};
    kvc_params params = kvc_params_standard();
    kvc_params other_params = params;
    kvc_sequence sequence = sequence_of(ops);
    kvc_sequence other_sequence = sequence;
    kvc_failure failure = failure_of(KVC_KEYS, 1);
    kvc_failure other = failure;
#define ALIKE(strict) kvc_failures_alike(&failure, &params, &sequence, &other, &other_params, &other_sequence, strict)
    cr_expect(ALIKE(1));
    other.step = 7;
    other.also = 1u << KVC_VALUES;
    other.situation.cropped = 1;
    other.situation.ask = KVC_ASK_ALL;
    other_params.batch = 3;
    other_params.dtype = KVC_FLOAT16;
    cr_expect(ALIKE(1), "the size, the parameters and what else is broken are no part of the cause");
#define DIFFERS(field, value)                                                                                                    \
    do {                                                                                                                         \
        other = failure;                                                                                                         \
        other.field = value;                                                                                                     \
        cr_expect_not(ALIKE(0), #field);                                                                                         \
    } while (0)
    DIFFERS(law, KVC_VALUES);
    DIFFERS(place, KVC_PLACE_RETURNED);
    DIFFERS(deviation, KVC_SHORT);
    DIFFERS(op, KVC_APPEND);
    DIFFERS(slot, 1);
    DIFFERS(layer, 1);
    DIFFERS(situation.held, 1);
    DIFFERS(situation.reached, 3);
    DIFFERS(situation.recording, 1);
    DIFFERS(situation.ask, KVC_ASK_OVER);
    DIFFERS(situation.ask, KVC_ASK_ZERO);
    DIFFERS(situation.ask, KVC_ASK_POSITIVE);
    other = failure;
    other_params = params;
    other_params.parts = 1;
    cr_expect_not(ALIKE(0));
    other_params = params;
    other_params.layers = 1;
    cr_expect_not(ALIKE(0));
    other_params = params;
    other_params.call = KVC_CALL_KEYWORD;
    cr_expect_not(ALIKE(1));
    cr_expect(ALIKE(0));
    other_params = params;
    other_sequence = sequence_of(after_reset);
    cr_expect_not(ALIKE(1));
    cr_expect(ALIKE(0));
    /* A reset that fails itself comes after none. */
    other_sequence = sequence_of(is_reset);
    cr_expect(ALIKE(1));
    /* What a model predicts breaks the law of what came before, which a smaller case may not need; but for its control. */
    other_sequence = sequence;
    failure.op = KVC_APPEND;
    failure.place = KVC_PLACE_LOGITS;
    failure.law = KVC_RESUME;
    other = failure;
    other.law = KVC_RESET_LAW;
    cr_expect(ALIKE(0));
    cr_expect_not(ALIKE(1));
    other.law = KVC_CHUNK;
    cr_expect_not(ALIKE(0));
}

static int compare_entries(const void *left, const void *right) {
    const kvc_tally_entry *a = left;
    const kvc_tally_entry *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

static met random_meeting(kvc_random *random) {
    met out = {.params = kvc_params_standard()};
    out.failure = failure_of((kvc_law)kvc_random_between(random, KVC_CLAMP, KVC_VALUES), 0);
    out.failure.deviation = (uint8_t)kvc_random_between(random, KVC_SHORT, KVC_STALE);
    out.failure.situation.ask = (uint8_t)kvc_random_between(random, 1, 5);
    out.params.call = kvc_random_between(random, 0, 1);
    out.params.batch = kvc_random_between(random, 1, 3);
    out.sequence.count = kvc_random_between(random, 1, 5);
    for (int at = 0; at < out.sequence.count; at++) {
        out.sequence.op[at] = (kvc_op){.kind = (uint8_t)kvc_random_between(random, KVC_APPEND, KVC_RESET)};
        out.sequence.op[at].n = out.sequence.op[at].kind == KVC_RESET ? 0 : kvc_random_between(random, 0, 3);
    }
    out.failure.step = out.sequence.count - 1;
    out.index = kvc_random_next(random) >> 8;
    return out;
}

/* Merging the tallies of workers: the same in any order, and in any split among them. */
Test(tally, merging) {
    enum { COUNT = 3000, WORKERS = 4 };
    kvc_random random = kvc_random_for(1, "tally", 0);
    met *meetings = calloc(COUNT, sizeof *meetings);
    kvc_tally *first = calloc(1, sizeof *first);
    kvc_tally *merged = calloc(1, sizeof *merged);
    kvc_tally *worker = calloc(WORKERS, sizeof *worker);
    cr_assert(meetings != NULL && first != NULL && merged != NULL && worker != NULL);
    for (int at = 0; at < COUNT; at++) {
        meetings[at] = random_meeting(&random);
        kvc_tally_add(first, &meetings[at].failure, &meetings[at].params, &meetings[at].sequence, meetings[at].index, meetings[at].index, 1);
    }
    cr_expect_gt(first->count, 50);
    qsort(first->entry, (size_t)first->count, sizeof first->entry[0], compare_entries);
    for (int turn = 0; turn < 5; turn++) {
        uint64_t failures = 0;
        memset(worker, 0, WORKERS * sizeof *worker);
        memset(merged, 0, sizeof *merged);
        for (int at = COUNT - 1; at > 0; at--) {
            int other = kvc_random_between(&random, 0, at);
            met swap = meetings[at];
            meetings[at] = meetings[other];
            meetings[other] = swap;
        }
        for (int at = 0; at < COUNT; at++) {
            kvc_tally_add(&worker[kvc_random_below(&random, WORKERS)], &meetings[at].failure, &meetings[at].params,
                          &meetings[at].sequence, meetings[at].index, meetings[at].index, 1);
        }
        for (int at = 0; at < WORKERS; at++) {
            for (int entry = 0; entry < worker[at].count; entry++) {
                const kvc_tally_entry *from = &worker[at].entry[entry];
                kvc_tally_add(merged, &from->failure, &from->params, &from->sequence, from->index, from->first, from->failures);
            }
        }
        cr_assert_eq(merged->count, first->count);
        qsort(merged->entry, (size_t)merged->count, sizeof merged->entry[0], compare_entries);
        for (int at = 0; at < merged->count; at++) {
            const kvc_tally_entry *a = &merged->entry[at];
            const kvc_tally_entry *b = &first->entry[at];
            cr_assert_eq(a->index, b->index);
            cr_assert_eq(a->first, b->first);
            cr_assert_eq(a->failures, b->failures);
            cr_assert_eq(memcmp(&a->params, &b->params, sizeof a->params), 0);
            cr_assert_eq(kvc_ops_compare(a->sequence.op, (size_t)a->sequence.count, b->sequence.op, (size_t)b->sequence.count), 0);
            failures += a->failures;
        }
        cr_expect_eq(failures, (uint64_t)COUNT);
    }
    free(meetings);
    free(first);
    free(merged);
    free(worker);
}

Test(tally, full) {
    static const char *const ops[] = {"append 3", "crop -1", NULL};
    kvc_tally *tally = calloc(1, sizeof *tally);
    kvc_params params = kvc_params_standard();
    kvc_sequence sequence = sequence_of(ops);
    cr_assert_not_null(tally);
    for (int at = 0; at < KVC_TALLY_MAX + 5; at++) {
        kvc_failure failure = failure_of(KVC_KEYS, 1);
        failure.slot = (int16_t)at;
        kvc_tally_add(tally, &failure, &params, &sequence, (uint64_t)at, (uint64_t)at, 1);
    }
    cr_expect_eq(tally->count, KVC_TALLY_MAX);
    cr_expect_eq(tally->lost, 5, "what finds no room is counted");
    free(tally);
}

Test(tally, outline) {
    kvc_failure failure = failure_of(KVC_REFUSE, 1);
    failure.deviation = KVC_NOT_REFUSED;
    failure.rule = KVC_CONTRACT_CROP_POSITIVE;
    failure.situation = (kvc_situation){2, 3, 1, KVC_ASK_POSITIVE, 1, 0, 0};
    kvc_situation outline = kvc_failure_outline(&failure);
    cr_expect_eq((int)outline.recording, 0, "another rule decides");
    cr_expect_eq((int)outline.cropped, 0);
    failure.situation.rows = 1;
    cr_expect_eq((int)kvc_failure_outline(&failure).rows, 0, "padding");
    failure.situation.rows = 2;
    cr_expect_eq((int)kvc_failure_outline(&failure).rows, 2, "another kind of cache");
    failure.situation.rows = 0;
    failure.rule = KVC_CONTRACT_UNRECORDED;
    cr_expect_eq((int)kvc_failure_outline(&failure).recording, 1);
    failure.situation.reached = 2;
    kvc_situation at_boundary = kvc_failure_outline(&failure);
    failure.situation.reached = 3;
    kvc_situation past = kvc_failure_outline(&failure);
    cr_expect_eq(kvc_situation_code(&at_boundary), kvc_situation_code(&past));
}
