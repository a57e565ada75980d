/* Whole models: which logits are compared, with which tokens of a fresh cache, and which law a difference breaks. */
#include "tests/unit/support.h"

#include <math.h>

#include "harness/choice.h"
#include "harness/prediction_memo.h"
#include "reference/judge.h"

enum { WORDS = 3 };

static kvc_observation observation;

static const kvc_observation *observed(const double *value, int64_t tokens, const double *margin) {
    memset(&observation, 0, sizeof observation);
    observation.tensors = margin != NULL ? 2 : 1;
    observation.tensor[0] = (kvc_tensor){.name = "returned.logits", .dtype = KVC_FLOAT64, .dims = 3, .shape = {1, tokens, WORDS},
                                         .data = value};
    observation.tensor[1] =
        (kvc_tensor){.name = "returned.margin", .dtype = KVC_FLOAT64, .dims = 1, .shape = {1}, .data = margin};
    return &observation;
}

static kvc_prediction predicted(const double *value, int64_t tokens) {
    kvc_prediction out = {.value = NULL};
    kvc_prediction_start(&out);
    cr_assert(kvc_prediction_take(&out, observed(value, tokens, NULL)));
    return out;
}

Test(predictions, the_last_tokens_are_compared_in_parts_of_the_largest) {
    static const double one[] = {1, 2, -4};
    static const double two[] = {9, 9, 9, 1, 2.5, -4};
    kvc_prediction seen = predicted(one, 1);
    kvc_prediction longer = predicted(two, 2);
    kvc_prediction nothing = {.value = NULL};
    cr_expect_float_eq(kvc_prediction_distance(&seen, &longer), 0.5 / 4, 1e-12);
    cr_expect_eq(kvc_prediction_distance(&seen, &seen), 0);
    cr_expect(isinf(kvc_prediction_distance(&longer, &seen)), "the fresh cache says nothing of the first of two tokens");
    cr_expect(isinf(kvc_prediction_distance(&nothing, &seen)));
    kvc_prediction_clear(&seen);
    kvc_prediction_clear(&longer);
}

Test(predictions, a_close_choice_of_any_append_is_a_tie) {
    static const double logits[] = {1, 2, 3};
    static const double close = 1e-9;
    static const double wide = 0.25;
    static const double unknown = NAN;
    kvc_prediction prediction = predicted(logits, 1);
    cr_expect_not(kvc_prediction_is_tied(&prediction), "a model that chooses nothing");
    cr_assert(kvc_prediction_take(&prediction, observed(logits, 1, &wide)));
    cr_expect_not(kvc_prediction_is_tied(&prediction));
    cr_assert(kvc_prediction_take(&prediction, observed(logits, 1, &close)));
    cr_assert(kvc_prediction_take(&prediction, observed(logits, 1, &wide)));
    cr_expect(kvc_prediction_is_tied(&prediction), "an earlier append has chosen by chance");
    kvc_prediction_start(&prediction);
    cr_expect_not(kvc_prediction_is_tied(&prediction));
    cr_assert(kvc_prediction_take(&prediction, observed(logits, 1, &unknown)));
    cr_expect(kvc_prediction_is_tied(&prediction));
    kvc_prediction_clear(&prediction);
}

static kvc_prediction with_loss(double value, double loss) {
    const double logits[] = {value, 1, -1};
    kvc_prediction out = {.value = NULL};
    kvc_prediction_start(&out);
    (void)observed(logits, 1, &loss);
    observation.tensor[1].name = "returned.loss";
    cr_assert(kvc_prediction_take(&out, &observation));
    return out;
}

/* What may be: the arithmetic, eight times what other pieces change, eight times what the cache loses. */
Test(predictions, what_is_lost_is_allowed_for) {
    kvc_prediction seen = with_loss(4, 0);
    kvc_prediction whole = with_loss(4, 0);
    kvc_prediction nearly = with_loss(4 + 4e-6, 0);
    kvc_prediction other = with_loss(5, 0);
    kvc_prediction lossy = with_loss(4, 0.02);
    kvc_prediction near_loss = with_loss(4.4, 0.02);
    kvc_prediction unknown = with_loss(4, NAN);
    kvc_prediction nothing = {.value = NULL};
    kvc_prediction_start(&nothing);
    cr_expect_float_eq(kvc_prediction_allowed(&seen, &whole, &whole), kvc_prediction_bound(), 1e-12);
    cr_expect_float_eq(kvc_prediction_allowed(&seen, &nearly, &whole), kvc_prediction_bound() + 8e-6, 1e-9);
    cr_expect(isinf(kvc_prediction_allowed(&seen, &other, &whole)), "pieces change everything");
    cr_expect_float_eq(kvc_prediction_allowed(&seen, NULL, &whole), kvc_prediction_control_bound(), 1e-12);
    cr_expect_float_eq(kvc_prediction_allowed(&lossy, &whole, &lossy), kvc_prediction_bound() + 0.16, 1e-6);
    cr_expect_float_eq(kvc_prediction_allowed(&lossy, &near_loss, &lossy), kvc_prediction_bound() + 8 * 0.1, 1e-6);
    cr_expect(isinf(kvc_prediction_allowed(&lossy, &other, &lossy)), "other pieces lose more than was measured");
    cr_expect_float_eq(kvc_prediction_allowed(&lossy, NULL, &lossy), kvc_prediction_control_bound() + 0.16, 1e-6);
    cr_expect(isinf(kvc_prediction_allowed(&unknown, &lossy, &lossy)));
    cr_expect(isinf(kvc_prediction_allowed(&seen, &whole, &nothing)), "a fresh cache that refuses says nothing");
    cr_expect(isinf(kvc_prediction_allowed(&seen, &nothing, &whole)));
    kvc_prediction *all[] = {&seen, &whole, &nearly, &other, &lossy, &near_loss, &unknown, &nothing};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        kvc_prediction_clear(all[at]);
}

Test(predictions, what_a_fresh_cache_predicts_is_remembered) {
    kvc_prediction_memo *memo = kvc_prediction_memo_open();
    kvc_prediction prediction = with_loss(4, 0.5);
    kvc_prediction found = {.value = NULL};
    kvc_params params = kvc_params_standard();
    kvc_params other = params;
    kvc_sequence appends = {1, {op_of("append 2")}};
    kvc_sequence pieces = {2, {op_of("append 1"), op_of("append 1")}};
    kvc_kept *kept = calloc(1, sizeof *kept);
    int failed = 0;
    cr_assert(memo != NULL && kept != NULL);
    kept->count = 2;
    kept->number[1] = 1;
    other.batch++;
    cr_expect_eq(kvc_prediction_memo_find(memo, &params, &appends, kept, &found, &failed), 0);
    cr_assert(kvc_prediction_memo_add(memo, &params, &appends, kept, &prediction, 1));
    cr_assert_eq(kvc_prediction_memo_find(memo, &params, &appends, kept, &found, &failed), 1);
    cr_expect(failed);
    cr_expect_eq(kvc_prediction_distance(&found, &prediction), 0);
    cr_expect_eq(found.loss, 0.5);
    cr_expect_neq(found.value, prediction.value, "each has memory of its own");
    cr_expect_eq(kvc_prediction_memo_find(memo, &other, &appends, kept, &found, &failed), 0);
    cr_expect_eq(kvc_prediction_memo_find(memo, &params, &pieces, kept, &found, &failed), 0);
    kept->origin[1][0] = 1;
    cr_expect_eq(kvc_prediction_memo_find(memo, &params, &appends, kept, &found, &failed), 0, "of another row");
    kept->origin[1][0] = 0;
    /* More than there is room for: what is found is right all the same. */
    for (int32_t number = 2; number < 2000; number++) {
        kept->number[1] = number;
        prediction.value[0] = number;
        cr_assert(kvc_prediction_memo_add(memo, &params, &appends, kept, &prediction, 0));
        cr_assert_eq(kvc_prediction_memo_find(memo, &params, &appends, kept, &found, &failed), 1);
        cr_expect_eq(found.value[0], number);
    }
    kvc_prediction_memo_forget(memo);
    cr_expect_eq(kvc_prediction_memo_find(memo, &params, &appends, kept, &found, &failed), 0);
    kvc_prediction_memo_close(memo);
    kvc_prediction_memo_close(NULL);
    kvc_prediction_clear(&prediction);
    kvc_prediction_clear(&found);
    free(kept);
}

/* A sequence of ops, performed by the reference on the shipped spec of whole models; what is kept of it. */
typedef struct kept_case {
    const char *op[8];
    const char *pieces; /* the appends of a fresh cache */
    const char *numbers;
} kept_case;

static void follow(const kept_case *given) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_params params = kvc_params_standard();
    kvc_plan *plan = malloc(sizeof *plan);
    kvc_kept *kept = calloc(1, sizeof *kept);
    kvc_judge *judge = kvc_judge_open();
    kvc_sequence appends;
    char text[256] = "";
    cr_assert(plan != NULL && kept != NULL && judge != NULL);
    read_shipped(&catalogue);
    params.batch = 2;
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24"),
                            kvc_catalogue_spec(&catalogue, "transformers", "model/llama"), "model/llama", &params, plan, &error),
              "%s", error.text);
    cr_expect(plan->predicts);
    cr_assert(kvc_judge_start(judge, plan, NULL));
    for (int at = 0; given->op[at] != NULL; at++) {
        kvc_op op = op_of(given->op[at]);
        cr_assert(kvc_judge_assume_outcome(judge, &op, 0));
        kvc_kept_follow(kept, kvc_judge_model(judge));
    }
    cr_assert(kvc_kept_finish(kept, kvc_judge_model(judge)));
    kvc_kept_appends(kept, 0, 0, &appends);
    for (int at = 0; at < appends.count; at++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", at > 0 ? " " : "", (int)appends.op[at].n);
    cr_expect_str_eq(text, given->pieces, "%s: %s", given->op[0], text);
    text[0] = '\0';
    for (int at = 0; at < kept->count; at++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d/%d%d", at > 0 ? " " : "", (int)kept->number[at],
                       kept->origin[at][0], kept->origin[at][1]);
    cr_expect_str_eq(text, given->numbers, "%s", text);
    kvc_kept_appends(kept, 1, 1, &appends);
    cr_expect_eq(appends.count, 2);
    cr_expect_eq(appends.op[0].kind, KVC_RECORD);
    cr_expect_eq(appends.op[1].n, kept->count);
    kvc_judge_close(judge);
    kvc_catalogue_clear(&catalogue);
    free(kept);
    free(plan);
}

Test(predictions, what_stays_comes_in_the_pieces_in_which_it_came) {
    static const kept_case cases[] = {
        {{"append 2", "append 3", "crop -1", "append 1", NULL}, "2 2 1", "0/01 1/01 2/01 3/01 5/01"},
        {{"append 2", "append 3", "crop -4", "append 2", NULL}, "1 2", "0/01 5/01 6/01"},
        {{"append 2", "reset", "append 1", NULL}, "1", "2/01"},
        {{"append 1", "reorder 1 0", "append 1", NULL}, "1 1", "0/10 1/01"},
        {{"append 1", "copy", "append 2", NULL}, "1 2", "0/01 1/01 2/01"},
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        follow(&cases[at]);
}

static kvc_law law_of(const char *first, const char *second, const char *third, uint64_t refused) {
    kvc_sequence ops = {3, {op_of(first), op_of(second), op_of(third)}};
    kvc_rule_name rule;
    return kvc_prediction_law(&ops, refused, &rule);
}

Test(predictions, a_fresh_cache_refuses_nothing) {
    kvc_sequence ops = {3, {op_of("record 1"), op_of("append 2"), op_of("append 1")}};
    cr_expect(kvc_only_appends(&ops, 0));
    cr_expect_not(kvc_only_appends(&ops, 2), "an append that was refused may have changed something");
    ops.op[1] = op_of("crop 0");
    cr_expect_not(kvc_only_appends(&ops, 0));
}

Test(predictions, the_law_is_that_of_the_ops_before) {
    cr_expect_eq(law_of("append 2", "crop -1", "append 1", 0), KVC_RESUME);
    cr_expect_eq(law_of("append 2", "reset", "append 1", 0), KVC_RESET_LAW);
    cr_expect_eq(law_of("append 2", "reorder 1 0", "append 1", 0), KVC_BATCH);
    cr_expect_eq(law_of("append 2", "copy", "append 1", 0), KVC_SAVE);
    cr_expect_eq(law_of("append 2", "crop -1", "append 1", 2), KVC_ATOMIC, "a refused crop has changed something");
    cr_expect_eq(law_of("append 2", "append 3", "append 1", 2), KVC_ATOMIC, "and so has a refused append");
    cr_expect_eq(law_of("append 2", "append 1", "append 1", 0), KVC_CHUNK);
}

Test(predictions, how_inputs_lie_and_are_given_is_the_models_own) {
    static const char *const variants[] = {"model/llama", NULL};
    kvc_catalogue catalogue;
    kvc_rules rules;
    kvc_choice choice;
    kvc_random random = kvc_random_for(1, "model/llama", 0);
    const kvc_spec *spec;
    read_shipped(&catalogue);
    spec = kvc_catalogue_spec(&catalogue, "transformers", "model/llama");
    cr_assert_not_null(spec);
    kvc_catalogue_rules(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24"), spec->variant, &rules);
    kvc_choice_make(&catalogue, spec, &rules, "5.24.0", variants, &choice);
    cr_expect_eq(choice.combinations, 2, "two kinds of attention");
    cr_expect_eq(kvc_choice_base(&choice, 1).watch, 0);
    for (int at = 0; at < 200; at++) {
        kvc_params params = kvc_choice_random(&choice, &random);
        cr_assert_eq(params.watch, 0);
        cr_assert_eq(params.layout, KVC_CONTIGUOUS);
        cr_assert_eq(params.call, KVC_CALL_POSITION);
        cr_assert_eq(kvc_choice_call(&choice, (uint64_t)at), KVC_CALL_POSITION);
    }
    kvc_catalogue_clear(&catalogue);
}

/* A static cache is full at its capacity: what passes it may be refused, and what is not refused is compared. */
Test(predictions, more_than_a_static_cache_holds_may_be_refused) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_params params = kvc_params_standard();
    kvc_plan *plan = malloc(sizeof *plan);
    kvc_model model;
    kvc_expectation expectation;
    kvc_op fits = op_of("append 12");
    kvc_op passes = op_of("append 13");
    cr_assert_not_null(plan);
    read_shipped(&catalogue);
    params.capacity = 12;
    for (int kind = 0; kind < 2; kind++) {
        const char *variant = kind == 0 ? "model-static/llama" : "model-quantised/llama";
        cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24"),
                                kvc_catalogue_spec(&catalogue, "transformers", variant), variant, &params, plan, &error),
                  "%s", error.text);
        cr_assert(kvc_model_open(&model, plan));
        kvc_model_expect(&model, &fits, &expectation);
        cr_expect_eq(expectation.verdict, KVC_DO);
        kvc_model_expect(&model, &passes, &expectation);
        cr_expect_eq(expectation.verdict, kind == 0 ? KVC_EITHER : KVC_DO, "%s", variant);
        kvc_model_close(&model);
    }
    kvc_catalogue_clear(&catalogue);
    free(plan);
}

Test(predictions, all_that_was_appended_is_fed_as_if_nothing_were_done_between) {
    kvc_kept *kept = calloc(1, sizeof *kept);
    kvc_sequence ops = {.count = 5};
    kvc_sequence appends;
    ops.op[0] = op_of("append 2");
    ops.op[1] = op_of("crop -1");
    ops.op[2] = op_of("append 4");
    ops.op[3] = op_of("reset");
    ops.op[4] = op_of("append 3");
    cr_assert_not_null(kept);
    cr_assert(kvc_kept_all(kept, &ops, (uint64_t)1 << 2));
    cr_expect_eq(kept->count, 5, "%d", (int)kept->count);
    for (int at = 0; at < kept->count; at++) {
        cr_expect_eq(kept->number[at], at);
        cr_expect_eq(kept->origin[at][0], 0);
        cr_expect_eq(kept->origin[at][1], 1);
    }
    kvc_kept_appends(kept, 0, 0, &appends);
    cr_assert_eq(appends.count, 2);
    cr_expect_eq(appends.op[0].n, 2);
    cr_expect_eq(appends.op[1].n, 3);
    ops.op[4].n = KVC_KEPT_MAX - 2;
    cr_expect(kvc_kept_all(kept, &ops, (uint64_t)1 << 2));
    ops.op[4].n++;
    cr_expect_not(kvc_kept_all(kept, &ops, (uint64_t)1 << 2));
    free(kept);
}
