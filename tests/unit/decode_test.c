/* Bytes and sequences: any bytes are a legal sequence, any sequence has bytes, and what mutation makes of them is bytes again. */
#include "tests/unit/support.h"

#include "harness/case.h"
#include "harness/decode.h"
#include "harness/mutate.h"

enum { TRIED = 400 };

typedef struct scene {
    kvc_catalogue catalogue;
    const kvc_spec *spec;
    const kvc_contract *contract;
    kvc_choice choice;
    kvc_plan plan;
    kvc_model model;
    kvc_decoded decoded;
    kvc_decoded again;
} scene;

static void prepare(scene *s, const kvc_spec *spec) {
    kvc_rules rules;
    kvc_params smallest;
    kvc_error error = {""};
    int assumed;
    s->spec = spec;
    s->contract = kvc_catalogue_contract(&s->catalogue, spec->subject, "999", &assumed);
    cr_assert_not_null(s->contract, "%s", spec->subject);
    kvc_catalogue_rules(&s->catalogue, s->contract, spec->variant, &rules);
    kvc_choice_make(&s->catalogue, spec, &rules, "999", NULL, &s->choice);
    cr_assert_gt(s->choice.combinations, 0);
    smallest = kvc_choice_smallest(&s->choice);
    cr_assert(kvc_plan_make(&s->catalogue, s->contract, spec, spec->variant, &smallest, &s->plan, &error), "%s", error.text);
    cr_assert(kvc_model_open(&s->model, &s->plan));
}

static void decode(scene *s, const kvc_bytes *bytes, kvc_decoded *out) {
    kvc_params params = kvc_decode_params(&s->choice, bytes);
    kvc_error error = {""};
    cr_assert(kvc_plan_make(&s->catalogue, s->contract, s->spec, s->spec->variant, &params, &s->plan, &error), "%s: %s",
              s->spec->variant, error.text);
    kvc_model_start(&s->model, &s->plan, NULL);
    cr_assert(kvc_decode_ops(&s->model, bytes, NULL, 0, out));
    cr_assert(kvc_sequence_is_valid(&s->plan, &out->sequence, &error), "%s: %s", s->spec->variant, error.text);
}

static void expect_same(const scene *s, const kvc_sequence *a, const kvc_sequence *b, const char *what) {
    cr_assert_eq(kvc_ops_compare(a->op, (size_t)a->count, b->op, (size_t)b->count), 0, "%s: %s", s->spec->variant, what);
}

static void random_bytes(kvc_random *random, kvc_bytes *out) {
    uint8_t data[KVC_BYTES_MAX + 100];
    size_t size = kvc_random_below(random, sizeof data + 1);
    uint32_t limit = kvc_random_one_in(random, 2) ? 256 : 40;
    for (size_t at = 0; at < size; at++)
        data[at] = (uint8_t)kvc_random_below(random, limit);
    kvc_bytes_take(data, size, out);
    cr_assert(out->size >= KVC_BYTES_HEADER && out->size <= KVC_BYTES_MAX);
    cr_assert_eq((out->size - KVC_BYTES_HEADER) % KVC_BYTES_RECORD, 0);
}

/* For every variant of every subject: legal whatever the bytes, the same without what was left out, and the same through encode. */
Test(decode, any_bytes_are_a_legal_sequence) {
    scene *s = calloc(1, sizeof *s);
    uint64_t ops = 0;
    uint64_t literal = 0;
    read_shipped(&s->catalogue);
    for (size_t at = 0; at < s->catalogue.specs; at++) {
        prepare(s, &s->catalogue.spec[at]);
        for (uint64_t turn = 0; turn < TRIED; turn++) {
            kvc_random random = kvc_random_for(1, s->spec->variant, turn);
            kvc_bytes bytes;
            kvc_bytes encoded;
            kvc_plan plan;
            random_bytes(&random, &bytes);
            decode(s, &bytes, &s->decoded);
            plan = s->plan;
            decode(s, &s->decoded.kept, &s->again);
            expect_same(s, &s->decoded.sequence, &s->again.sequence, "without what was left out");
            cr_assert_eq(kvc_bytes_records(&s->decoded.kept), s->decoded.sequence.count);
            cr_assert_eq(memcmp(s->decoded.situation, s->again.situation, (size_t)s->again.sequence.count * sizeof(int)), 0);
            cr_assert(kvc_encode(&s->choice, &s->model, &plan, &s->decoded.sequence, &encoded), "%s: turn %d", s->spec->variant,
                      (int)turn);
            decode(s, &encoded, &s->again);
            cr_assert_eq(memcmp(&plan.params, &s->plan.params, sizeof plan.params), 0, "%s", s->spec->variant);
            expect_same(s, &s->decoded.sequence, &s->again.sequence, "through encode");
            ops += (uint64_t)s->again.sequence.count;
            for (int record = 0; record < kvc_bytes_records(&encoded); record++)
                literal += (kvc_bytes_record(&encoded, record)[0] & KVC_BYTES_LITERAL) != 0;
        }
        kvc_model_close(&s->model);
    }
    cr_expect_gt(ops, 1000 * s->catalogue.specs);
    cr_expect(literal > 0 && literal < ops / 2, "%llu of %llu are literal", (unsigned long long)literal, (unsigned long long)ops);
    kvc_catalogue_clear(&s->catalogue);
    free(s);
}

/* What the generator makes of random numbers has bytes too. */
Test(decode, generated_sequences_have_bytes) {
    static const char *const names[] = {"full", "window", "ring", "cross", "quantised", NULL};
    scene *s = calloc(1, sizeof *s);
    read_shipped(&s->catalogue);
    for (size_t at = 0; names[at] != NULL; at++) {
        kvc_error error = {""};
        kvc_generator *generator;
        prepare(s, kvc_catalogue_spec(&s->catalogue, "builtin", names[at]));
        generator = kvc_generator_open(&s->catalogue, s->contract, s->spec, names[at], "999", names, 1, KVC_HOSTILE, &error);
        cr_assert_not_null(generator, "%s", error.text);
        for (uint64_t index = 0; index < 9000; index += 7) {
            kvc_sequence sequence;
            kvc_bytes bytes;
            kvc_plan plan = *kvc_generator_plan(generator, index, &error);
            cr_assert(kvc_generator_sequence(generator, index, NULL, &sequence, NULL, &error));
            cr_assert(kvc_encode(&s->choice, &s->model, &plan, &sequence, &bytes), "%s %d", names[at], (int)index);
            decode(s, &bytes, &s->again);
            expect_same(s, &sequence, &s->again.sequence, "generated");
        }
        kvc_generator_close(generator);
        kvc_model_close(&s->model);
    }
    kvc_catalogue_clear(&s->catalogue);
    free(s);
}

/* Numbers that no choice draws are written as they are; what has no bytes is told. */
Test(decode, what_cannot_be_drawn) {
    scene *s = calloc(1, sizeof *s);
    kvc_bytes bytes;
    kvc_sequence sequence = {2, {{.kind = KVC_APPEND, .n = 37}, {.kind = KVC_CROP, .n = -INT32_MAX}}};
    kvc_params params;
    kvc_error error = {""};
    read_shipped(&s->catalogue);
    prepare(s, kvc_catalogue_spec(&s->catalogue, "builtin", "full"));
    cr_expect(kvc_encode(&s->choice, &s->model, &s->plan, &sequence, &bytes));
    decode(s, &bytes, &s->again);
    expect_same(s, &sequence, &s->again.sequence, "literal");
    cr_expect_eq(kvc_bytes_record(&bytes, 0)[0], KVC_APPEND | KVC_BYTES_LITERAL);
    params = s->plan.params;
    params.heads = s->spec->high[kvc_param_find("heads")] + 5;
    cr_assert(kvc_plan_make(&s->catalogue, s->contract, s->spec, "full", &params, &s->plan, &error));
    cr_expect_not(kvc_encode(&s->choice, &s->model, &s->plan, &sequence, &bytes));
    decode(s, &bytes, &s->again);
    cr_expect_eq(s->plan.params.heads, params.heads - 5);
    expect_same(s, &sequence, &s->again.sequence, "near");
    sequence.op[0].n = 100000;
    cr_expect_not(kvc_encode(&s->choice, &s->model, &s->plan, &sequence, &bytes), "it has more tokens than a generated one may");
    cr_expect_eq(kvc_bytes_records(&bytes), 1);
    kvc_model_close(&s->model);
    kvc_catalogue_clear(&s->catalogue);
    free(s);
}

/* Whole records in, whole records out, never more than asked for; each way of changing is met. */
Test(decode, mutation) {
    scene *s = calloc(1, sizeof *s);
    kvc_bytes bytes;
    kvc_bytes other;
    int longer = 0;
    int shorter = 0;
    int same = 0;
    int headers = 0;
    read_shipped(&s->catalogue);
    prepare(s, kvc_catalogue_spec(&s->catalogue, "builtin", "window"));
    kvc_bytes_take(NULL, 0, &bytes);
    kvc_bytes_take(NULL, 0, &other);
    for (uint64_t turn = 0; turn < 20000; turn++) {
        kvc_random random = kvc_random_for(1, "mutate", turn);
        kvc_bytes before = bytes;
        int most = kvc_random_between(&random, kvc_bytes_records(&bytes), KVC_OPS_MAX);
        kvc_mutate(&bytes, kvc_random_one_in(&random, 2) ? &other : NULL, turn % 2 != 0, most, &random);
        cr_assert(bytes.size >= KVC_BYTES_HEADER && kvc_bytes_records(&bytes) <= most, "turn %d", (int)turn);
        cr_assert_eq((bytes.size - KVC_BYTES_HEADER) % KVC_BYTES_RECORD, 0);
        longer += bytes.size > before.size;
        shorter += bytes.size < before.size;
        same += bytes.size == before.size && memcmp(bytes.byte, before.byte, (size_t)bytes.size) == 0;
        headers += memcmp(bytes.byte, before.byte, KVC_BYTES_HEADER) != 0;
        cr_assert(turn % 2 != 0 || memcmp(bytes.byte, before.byte, KVC_BYTES_HEADER) == 0, "parameters were to stay");
        decode(s, &bytes, &s->decoded);
        if (turn % 5 == 0) {
            kvc_cross_over(&bytes, &other, most, &random, &before);
            cr_assert(before.size >= KVC_BYTES_HEADER && kvc_bytes_records(&before) <= most);
            cr_assert_eq(memcmp(before.byte, bytes.byte, KVC_BYTES_HEADER), 0);
            other = bytes;
        }
        if (kvc_bytes_records(&bytes) > 40)
            kvc_bytes_take(NULL, 0, &bytes);
    }
    cr_expect(longer > 5000 && shorter > 1000 && headers > 100, "%d longer, %d shorter, %d headers", longer, shorter, headers);
    cr_expect_lt(same, 3000, "a mutation mostly changes something");
    kvc_model_close(&s->model);
    kvc_catalogue_clear(&s->catalogue);
    free(s);
}
