/*
 * The reference model: for each kind of view what crop must do and what must be held after each op, worked out by hand from the
 * design's table. A line is an op and what follows from it:
 *
 *     verdict BEGIN..END        tokens of the log; /W: in a buffer of W cells; z: zeros to the left; s: in any order; +K: the first K too
 *     b0..2, k0..2, f33@1, u    entries of blocks, a constant, a fold and its row, a state that is only compared with itself
 *     free                      not judged
 *     -> ...                    what the append returns
 */
#include "tests/unit/support.h"

#include "reference/view.h"

typedef struct line {
    const char *op;
    const char *expected;
} line;

static void print_extent(const kvc_model *model, int slot, const kvc_extent *extent, char *out, size_t size) {
    char first[32];
    int used = 0;
    if (extent->kind == KVC_CELL_UNKNOWN) {
        (void)snprintf(out, size, "u");
        return;
    }
    if (extent->kind == KVC_CELL_FOLD) {
        (void)snprintf(out, size, extent->end == 0 ? "f-" : "f%d@%d", (int)model->slot[slot].fold[0],
                       model->slot[slot].fold_row[0]);
        return;
    }
    (void)snprintf(first, sizeof first, extent->first_min == extent->first_max ? "%d" : "%d-%d", (int)extent->first_min,
                   (int)extent->first_max);
    used = snprintf(out, size, "%s%s..%d%s%s", extent->kind == KVC_CELL_BLOCK ? "b" : extent->kind == KVC_CELL_CONSTANT ? "k" : "",
                    first, (int)extent->end, extent->zeros_left ? "z" : "", extent->as_set ? "s" : "");
    if (extent->keep > 0) {
        used += snprintf(out + used, size - (size_t)used, "+%d", (int)extent->keep);
    }
    if (extent->width >= 0) {
        (void)snprintf(out + used, size - (size_t)used, "/%d", (int)extent->width);
    }
}

/* Performs one op as the contract says it must end and writes down what follows from it. */
static void perform(kvc_model *model, const char *text, int slot, char *out, size_t size) {
    static const char *const words[] = {"do", "either", "refuse"};
    kvc_op op = op_of(text);
    kvc_expectation expectation;
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
    char have[64];
    char back[64] = "";
    kvc_model_expect(model, &op, &expectation);
    cr_assert_not_null(expectation.rule, "%s", text);
    if (expectation.unspecified) {
        (void)snprintf(out, size, "unspecified");
        return;
    }
    cr_assert(kvc_model_commit(model, &op, &expectation, expectation.verdict == KVC_MUST_REFUSE));
    kvc_view_kind_of(model->plan->slot[slot].view->rule)->stored(model, slot, &extent);
    print_extent(model, slot, &extent, have, sizeof have);
    if (model->slot[slot].unjudged) {
        (void)snprintf(have, sizeof have, "free");
    }
    if (op.kind == KVC_APPEND && expectation.verdict != KVC_MUST_REFUSE && kvc_view_returned(model, slot, &extent)) {
        print_extent(model, slot, &extent, back, sizeof back);
    }
    (void)snprintf(out, size, "%s %s%s%s", words[expectation.verdict], have, back[0] != '\0' ? " -> " : "", back);
}

static void walk_slot(tiny *subject, const line *lines, size_t count, int slot) {
    kvc_model model;
    tiny_plan(subject);
    cr_assert(kvc_model_open(&model, &subject->plan));
    for (size_t at = 0; at < count; at++) {
        char have[192];
        perform(&model, lines[at].op, slot, have, sizeof have);
        cr_expect_str_eq(have, lines[at].expected, "line %zu, %s: is \"%s\", expected \"%s\"", at + 1, lines[at].op, have,
                         lines[at].expected);
    }
    kvc_model_close(&model);
}
#define WALK_SLOT(subject, slot, ...)                                                                                            \
    do {                                                                                                                         \
        static const line lines[] = {__VA_ARGS__};                                                                               \
        walk_slot(subject, lines, sizeof lines / sizeof lines[0], slot);                                                         \
    } while (0)
#define WALK(subject, ...) WALK_SLOT(subject, 0, __VA_ARGS__)

static void run_all(kvc_model *model, const char *const *ops) {
    for (; *ops != NULL; ops++) {
        kvc_op op = op_of(*ops);
        kvc_expectation expectation;
        kvc_model_expect(model, &op, &expectation);
        cr_assert_not(expectation.unspecified, "%s", *ops);
        cr_assert(kvc_model_commit(model, &op, &expectation, expectation.verdict == KVC_MUST_REFUSE));
    }
}

Test(model, all) {
    tiny *s = tiny_open(KEYS("all", RETURNED("all")), RULE("crop_positive", "refuse"));
    WALK(s, {"crop -1", "do 0..0"}, {"crop 0", "do 0..0"}, {"crop 1", "refuse 0..0"}, {"append 3", "do 0..3 -> 0..3"},
         {"crop 0", "do 0..3"}, {"crop -1", "do 0..2"}, {"append 2", "do 0..4 -> 0..4"}, {"crop 2", "refuse 0..4"},
         {"crop -4", "do 0..0"}, {"crop -1", "do 0..0"}, {"append 1", "do 0..1 -> 0..1"}, {"crop -5", "do 0..0"},
         {"append 0", "do 0..0 -> 0..0"}, {"append 2", "do 0..2 -> 0..2"}, {"crop -2147483648", "do 0..0"}, {"reset", "do 0..0"});
    tiny_close(s);
}

Test(model, all_in_the_age_of_lengths) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop_positive", "keep") "," RULE("crop_zero", "empty"));
    WALK(s, {"append 3", "do 0..3"}, {"crop 5", "do 0..3"}, {"crop 3", "do 0..3"}, {"crop 2", "do 0..2"}, {"crop -1", "do 0..1"},
         {"append 2", "do 0..3"}, {"crop 0", "do 0..0"}, {"crop 2", "do 0..0"});
    tiny_close(s);
}

Test(model, contracts_of_crop) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "refuse"));
    WALK(s, {"append 3", "do 0..3"}, {"crop -1", "refuse 0..3"}, {"crop 0", "refuse 0..3"}, {"crop -9", "refuse 0..3"});
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("crop", "ignored"));
    WALK(s, {"append 3", "do 0..3"}, {"crop -1", "do free"}, {"append 1", "do free"}, {"reset", "do 0..0"}, {"append 1", "do 0..1"});
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("crop", "absent") "," RULE("record", "absent") "," RULE("offload", "absent") ","
                  RULE("initialize", "absent") "," RULE("pickle", "absent") "," RULE_JSON("batch_ops", "[\"reorder\"]"));
    tiny_plan(s);
    cr_expect_eq(s->plan.ops, 1u << KVC_APPEND | 1u << KVC_RESET | 1u << KVC_REORDER | 1u << KVC_COPY);
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("copy", "absent"));
    tiny_plan(s);
    cr_expect_eq(s->plan.ops & (1u << KVC_COPY | 1u << KVC_PICKLE), 1u << KVC_PICKLE);
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("crop_unused", "either"));
    WALK(s, {"crop -1", "either 0..0"}, {"crop 0", "either 0..0"}, {"append 0", "do 0..0"}, {"crop -1", "either 0..0"},
         {"append 2", "do 0..2"}, {"crop -2", "do 0..0"}, {"crop -1", "do 0..0"}, {"reset", "do 0..0"}, {"crop -1", "either 0..0"});
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("crop_positive", "refuse_used"));
    WALK(s, {"crop 1", "either 0..0"}, {"append 2", "do 0..2"}, {"crop 1", "refuse 0..2"}, {"crop -2", "do 0..0"}, {"crop 1", "refuse 0..0"});
    tiny_close(s);
    s = tiny_open(KEYS("all", ""), RULE("crop_positive", "unspecified"));
    WALK(s, {"crop 1", "unspecified"}, {"append 2", "do 0..2"}, {"crop 1", "unspecified"}, {"crop 0", "do 0..2"}, {"crop -1", "do 0..1"});
    tiny_close(s);
}

Test(model, batch_ops_that_are_refused) {
    tiny *s = tiny_open(KEYS("all", ""), RULE_JSON("batch_ops", "[\"reorder\"]") "," RULE_JSON("batch_refused", "[\"select\",\"repeat\"]"));
    tiny_plan(s);
    cr_expect_eq(s->plan.ops & (1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT),
                 1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT);
    WALK(s, {"select 0", "refuse 0..0"}, {"append 2", "do 0..2"}, {"select 0", "refuse 0..2"}, {"repeat 2", "refuse 0..2"},
         {"reorder 0", "do 0..2"});
    tiny_close(s);
}

#define WINDOW_RULES                                                                                                             \
    RULE("crop_positive", "refuse") "," RULE("crop_zero", "shrink") "," RULE_ERROR("unrecorded", "refuse", "RuntimeError")

static tiny *window_of(int size) {
    tiny *s = tiny_open(KEYS("window", RETURNED("window")), WINDOW_RULES);
    s->params.window = size;
    return s;
}

Test(model, window_without_recording) {
    tiny *s = window_of(4);
    WALK(s, {"append 3", "do 0..3 -> 0..3"}, {"crop -1", "do 0..2"}, {"append 1", "do 0..3 -> 0..3"},
         {"append 1", "do 1..4 -> 0..4"}, {"crop -1", "refuse 1..4"}, {"crop 0", "refuse 1..4"}, {"crop -4", "refuse 1..4"},
         {"crop -9", "refuse 1..4"}, {"append 2", "do 3..6 -> 1..6"}, {"append 5", "do 8..11 -> 3..11"}, {"reset", "do 0..0"},
         {"append 9", "do 6..9 -> 0..9"}, {"crop 3", "refuse 6..9"});
    /* At the window itself a token is gone already. */
    WALK(s, {"append 4", "do 1..4 -> 0..4"}, {"crop -1", "refuse 1..4"});
    tiny_close(s);
}

Test(model, window_recording_since_the_first_token) {
    tiny *s = window_of(4);
    WALK(s, {"record 1", "do 0..0"}, {"append 6", "do 0..6 -> 0..6"}, {"append 1", "do 0..7 -> 3..7"},
         {"append 2", "do 0..9 -> 4..9"}, {"crop -3", "do 3..6"}, {"crop -1", "refuse 3..6"}, {"crop 0", "do 3..6"},
         {"append 1", "do 3..7 -> 3..7"}, {"append 2", "do 3..9 -> 4..9"}, {"crop -3", "do 3..6"}, {"append 3", "do 3..9 -> 3..9"},
         {"crop -4", "refuse 3..9"}, {"crop -9", "do 0..0"}, {"append 5", "do 0..5 -> 0..5"}, {"crop -2", "do 0..3"},
         {"crop -1", "do 0..2"}, {"append 4", "do 0..6 -> 0..6"}, {"crop 0", "do 3..6"}, {"crop -1", "refuse 3..6"},
         {"crop -7", "do 0..0"});
    /* Recorded tokens are given back by crop(0); a reset keeps the setting. */
    WALK(s, {"record 1", "do 0..0"}, {"append 6", "do 0..6 -> 0..6"}, {"crop 0", "do 3..6"}, {"reset", "do 0..0"},
         {"append 6", "do 0..6 -> 0..6"}, {"crop -6", "do 0..0"}, {"append 6", "do 0..6 -> 0..6"}, {"crop 2", "refuse 0..6"});
    tiny_close(s);
}

Test(model, window_recording_switched_on_late) {
    tiny *s = window_of(4);
    WALK(s, {"append 6", "do 3..6 -> 0..6"}, {"record 1", "do 3..6"}, {"crop 0", "do 3..6"}, {"crop -1", "refuse 3..6"},
         {"append 2", "do 3..8 -> 3..8"}, {"crop -3", "refuse 3..8"}, {"crop -2", "do 3..6"}, {"append 3", "do 3..9 -> 3..9"},
         {"crop -1", "do 5..8"}, {"crop -1", "refuse 5..8"}, {"crop -8", "do 0..0"});
    /* Below the window everything is still there. */
    WALK(s, {"append 2", "do 0..2 -> 0..2"}, {"record 1", "do 0..2"}, {"append 4", "do 0..6 -> 0..6"}, {"crop -5", "do 0..1"});
    tiny_close(s);
}

Test(model, window_recording_switched_off) {
    tiny *s = window_of(4);
    /* Runtimes end it after a crop has given back what was recorded; before that no text says what is held. */
    WALK(s, {"record 1", "do 0..0"}, {"append 6", "do 0..6 -> 0..6"}, {"record 0", "unspecified"}, {"crop -1", "do 2..5"},
         {"record 0", "do 2..5"}, {"crop 0", "refuse 2..5"}, {"append 1", "do 3..6 -> 2..6"}, {"crop -1", "refuse 3..6"},
         {"reset", "do 0..0"}, {"append 5", "do 2..5 -> 0..5"});
    WALK(s, {"record 1", "do 0..0"}, {"record 0", "do 0..0"}, {"append 5", "do 2..5 -> 0..5"}, {"record 0", "do 2..5"},
         {"record 1", "do 2..5"}, {"append 1", "do 2..6 -> 2..6"}, {"crop 0", "do 3..6"}, {"record 0", "do 3..6"},
         {"record 1", "do 3..6"}, {"crop -1", "refuse 3..6"});
    tiny_close(s);
}

Test(model, window_of_one_and_two) {
    tiny *s = window_of(1);
    WALK(s, {"append 2", "do 2..2 -> 0..2"}, {"append 1", "do 3..3 -> 2..3"}, {"crop -1", "refuse 3..3"}, {"reset", "do 0..0"},
         {"crop 0", "do 0..0"}, {"crop -1", "do 0..0"}, {"record 1", "do 0..0"}, {"append 3", "do 0..3 -> 0..3"}, {"crop -1", "do 2..2"},
         {"crop -1", "either 1..1"}, {"append 1", "do 1..2 -> 1..2"}, {"crop 0", "do 2..2"}, {"crop -3", "do 0..0"});
    s->params.window = 2;
    WALK(s, {"append 1", "do 0..1 -> 0..1"}, {"crop -1", "do 0..0"}, {"append 2", "do 1..2 -> 0..2"}, {"crop -1", "refuse 1..2"},
         {"record 1", "do 1..2"}, {"append 2", "do 1..4 -> 1..4"}, {"append 1", "do 1..5 -> 3..5"}, {"crop -3", "do 1..2"});
    tiny_close(s);
}

Test(model, window_that_keeps_a_positive_number) {
    tiny *s = tiny_open(KEYS("window", ""), RULE("crop_positive", "keep") "," RULE("unrecorded", "refuse"));
    s->params.window = 4;
    WALK(s, {"append 3", "do 0..3"}, {"crop 2", "do 0..2"}, {"crop 9", "do 0..2"}, {"append 5", "do 4..7"}, {"crop 2", "refuse 4..7"},
         {"reset", "do 0..0"}, {"record 1", "do 0..0"}, {"append 6", "do 0..6"}, {"crop 3", "either 0..3"});
    tiny_close(s);
}

Test(model, window_that_gives_back_what_it_can) {
    tiny *s = tiny_open(KEYS("window", ""), RULE("crop_zero", "nothing") "," RULE("unrecorded", "exact"));
    s->params.window = 4;
    WALK(s, {"append 6", "do 3..6"}, {"crop 0", "do 3..6"}, {"crop -1", "refuse 3..6"}, {"crop -6", "do 0..0"},
         {"record 1", "do 0..0"}, {"append 6", "do 0..6"}, {"crop 0", "do 0..6"}, {"crop -1", "do 2..5"});
    tiny_close(s);
}

Test(model, window_that_may_keep_one_more) {
    tiny *s = tiny_open(KEYS("window", ",\"keeps\":\"window\""), WINDOW_RULES);
    s->params.window = 4;
    WALK(s, {"append 3", "do 0..3"}, {"append 1", "do 0-1..4"}, {"append 1", "do 1-2..5"});
    tiny_close(s);
    /* The one more may be used by a crop, and be among what is returned. */
    s = tiny_open(KEYS("window", RETURNED("window") ",\"keeps\":\"window\""), RULE("unrecorded", "exact"));
    s->params.window = 4;
    WALK(s, {"append 6", "do 2-3..6 -> 0..6"}, {"append 1", "do 3-4..7 -> 2-3..7"}, {"crop -2", "refuse 3-4..7"},
         {"crop -1", "either 2-3..6"}, {"append 1", "do 3-4..7 -> 2-3..7"});
    tiny_close(s);
}

static tiny *last_of(int size) {
    tiny *s = tiny_open("{\"name\":\"conv_states.0\",\"salt\":3,\"law\":\"STATE\",\"rule\":\"last\","
                        "\"dims\":[\"batch\",\"channels\",\"tokens\"],\"returned\":\"held_and_new\"}",
                        WINDOW_RULES);
    s->params.kernel = size;
    return s;
}

Test(model, last) {
    tiny *s = last_of(3);
    WALK(s, {"append 2", "do 0..2z -> 0..2z"}, {"append 1", "do 0..3z -> 0..3z"}, {"append 1", "do 1..4z -> 0..4z"},
         {"append 3", "do 4..7z -> 1..7z"}, {"crop -1", "refuse 4..7z"}, {"crop 0", "refuse 4..7z"}, {"crop -9", "refuse 4..7z"},
         {"crop 1", "refuse 4..7z"}, {"reset", "do 0..0z"}, {"append 1", "do 0..1z -> 0..1z"}, {"crop -1", "refuse 0..1z"});
    /* K = 3, recording, 5 tokens: crop(-1) leaves 1 2 3, crop(0) leaves 2 3 4, crop(-3) leaves two. */
    WALK(s, {"record 1", "do 0..0z"}, {"append 5", "do 0..5z -> 0..5z"}, {"crop -1", "do 1..4z"}, {"crop -1", "refuse 1..4z"},
         {"crop 0", "do 1..4z"}, {"append 1", "do 1..5z -> 1..5z"}, {"crop -2", "refuse 1..5z"}, {"crop -1", "do 1..4z"},
         {"crop -4", "do 0..0z"}, {"append 5", "do 0..5z -> 0..5z"}, {"crop 0", "do 2..5z"}, {"crop -6", "do 0..0z"},
         {"append 5", "do 0..5z -> 0..5z"}, {"crop -3", "do 0..2z"}, {"crop -1", "do 0..1z"});
    WALK(s, {"append 4", "do 1..4z -> 0..4z"}, {"record 1", "do 1..4z"}, {"append 2", "do 1..6z -> 1..6z"}, {"crop -3", "refuse 1..6z"},
         {"crop -2", "do 1..4z"}, {"append 2", "do 1..6z -> 1..6z"}, {"crop 0", "do 3..6z"}, {"record 0", "do 3..6z"},
         {"crop 0", "refuse 3..6z"}, {"append 1", "do 4..7z -> 3..7z"});
    tiny_close(s);
}

Test(model, last_that_is_left_alone) {
    tiny *s = tiny_open("{\"name\":\"conv_states.0\",\"salt\":3,\"law\":\"STATE\",\"rule\":\"last\","
                        "\"dims\":[\"batch\",\"channels\",\"tokens\"],\"returned\":\"held_and_new\"}",
                        RULE("unrecorded", "ignored") "," RULE("returns", "held"));
    s->params.kernel = 3;
    WALK(s, {"append 2", "do 0..2z -> 0..2z"}, {"append 2", "do 1..4z -> 1..4z"}, {"crop 0", "do 1..4z"}, {"crop -1", "do free"},
         {"append 1", "do free -> 1..4z"}, {"reset", "do 0..0z"}, {"append 4", "do 1..4z -> 1..4z"});
    tiny_close(s);
}

static const char folded_view[] = "{\"name\":\"recurrent_states.0\",\"salt\":4,\"law\":\"STATE\",\"rule\":\"folded\","
                                  "\"dims\":[\"batch\",\"heads\",\"key_dim\",\"value_dim\"],\"returned\":\"state\"}";

Test(model, folded) {
    tiny *s = tiny_open(folded_view, RULE("recurrent", "refuse"));
    /* 0: (31 * 0 + 0 + 1), 1: (31 * 1 + 1 + 1), 2: (31 * 33 + 2 + 1), 3: (31 * 1026 + 3 + 1) */
    WALK(s, {"append 1", "do f1@0 -> f1@0"}, {"append 1", "do f33@0 -> f33@0"}, {"crop 0", "do f33@0"}, {"crop -1", "refuse f33@0"},
         {"crop -2", "refuse f33@0"}, {"crop -9", "refuse f33@0"}, {"append 2", "do f31810@0 -> f31810@0"}, {"reset", "do f-"},
         {"append 1", "do f5@0 -> f5@0"});
    tiny_close(s);
    s = tiny_open(folded_view, RULE("recurrent", "ignored"));
    WALK(s, {"append 2", "do f33@0 -> f33@0"}, {"crop 0", "do f33@0"}, {"crop -1", "do free"}, {"reset", "do f-"},
         {"append 1", "do f3@0 -> f3@0"});
    tiny_close(s);
}

Test(model, opaque) {
    tiny *s = tiny_open("{\"name\":\"summary\",\"salt\":0,\"law\":\"STATE\",\"rule\":\"opaque\",\"dims\":[\"batch\",\"channels\"]}",
                        RULE("recurrent", "refuse"));
    WALK(s, {"append 3", "do u"}, {"crop 0", "do u"}, {"crop -1", "refuse u"}, {"crop -3", "do u"}, {"append 1", "do u"},
         {"crop -2", "do u"});
    tiny_close(s);
}

Test(model, fixed) {
    tiny *s = tiny_open(KEYS("fixed", RETURNED("buffer")), RULE_ERROR("overflow", "refuse", "IndexError"));
    s->params.capacity = 4;
    WALK(s, {"append 3", "do 0..3/4 -> 0..3/4"}, {"append 2", "refuse 0..3/4"}, {"append 1", "do 0..4/4 -> 0..4/4"},
         {"append 1", "refuse 0..4/4"}, {"crop 0", "do 0..4/4"}, {"crop -2", "do 0..2/4"}, {"append 2", "do 0..4/4 -> 0..4/4"},
         {"crop -9", "do 0..0/4"}, {"append 4", "do 0..4/4 -> 0..4/4"}, {"reset", "do 0..0/4"}, {"append 5", "refuse 0..0/4"});
    tiny_close(s);
    s = tiny_open(KEYS("fixed", RETURNED("all") ",\"keeps\":\"length\""), RULE("overflow", "refuse"));
    s->params.capacity = 4;
    WALK(s, {"append 3", "do 0..3 -> 0..3"}, {"append 2", "refuse 0..3"}, {"crop -1", "do 0..2"});
    tiny_close(s);
    s = tiny_open(KEYS("fixed", ""), RULE("overflow", "unspecified"));
    s->params.capacity = 4;
    WALK(s, {"append 3", "do 0..3/4"}, {"append 2", "unspecified"}, {"append 1", "do 0..4/4"});
    tiny_close(s);
}

Test(model, fixed_window) {
    tiny *s = tiny_open(KEYS("fixed_window", RETURNED("buffer")), RULE("overflow", "evict") "," RULE("unrecorded", "exact"));
    s->params.capacity = 8;
    s->params.window = 4;
    /* The whole buffer while filling, what was held and the new tokens when it overflows; then at least W - 1 and the new. */
    WALK(s, {"append 3", "do 0..3/4 -> 0..3/4"}, {"crop -1", "do 0..2/4"}, {"append 2", "do 0..4/4 -> 0..4/4"}, {"crop -1", "do 0..3/4"},
         {"append 2", "do 1..5/4 -> 0..5"}, {"append 1", "do 2..6/4 -> 1-2..6"}, {"crop 0", "do 2..6/4"}, {"crop -2", "refuse 2..6/4"},
         {"crop -1", "either 2..5/4"}, {"crop -1", "refuse 2..5/4"}, {"append 1", "do 2..6/4 -> 1-2..6"},
         {"append 1", "do 3..7/4 -> 2-3..7"}, {"crop -7", "do 0..0/4"}, {"append 2", "do 0..2/4 -> 0..2/4"}, {"crop -5", "do 0..0/4"},
         {"append 9", "do 5..9/4 -> 0..9"}, {"reset", "do 0..0/4"}, {"append 1", "do 0..1/4 -> 0..1/4"});
    /* Of a window of one token nothing is needed for the next, so any crop can be given back. */
    s->params.window = 1;
    WALK(s, {"append 3", "do 2..3/1 -> 0..3"}, {"crop -2", "either 1..1/1"}, {"append 1", "do 1..2/1 -> 0-1..2"});
    s->params.window = 4;
    /* The buffer is the whole cache: what happens past its length is not written. */
    s->params.capacity = 3;
    WALK(s, {"append 3", "do 0..3/3 -> 0..3/3"}, {"append 1", "unspecified"}, {"crop -1", "do 0..2/3"});
    tiny_close(s);
}

Test(model, ring) {
    tiny *s = tiny_open(KEYS("ring", ""), RULE("overflow", "evict") "," RULE("unrecorded", "exact"));
    s->params.capacity = 4;
    s->params.keep = 1;
    WALK(s, {"append 4", "do 0..4s"}, {"crop -1", "do 0..3s"}, {"append 1", "do 0..4s"}, {"append 2", "do 3..6s+1"},
         {"crop 0", "do 3..6s+1"}, {"crop -1", "refuse 3..6s+1"}, {"crop -6", "do 0..0s"}, {"append 2", "do 0..2s"},
         {"append 3", "do 2..5s+1"}, {"crop -9", "do 0..0s"}, {"append 5", "do 2..5s+1"}, {"reset", "do 0..0s"}, {"append 1", "do 0..1s"});
    s->params.keep = 0;
    WALK(s, {"append 5", "do 1..5s"}, {"append 4", "do 5..9s"}, {"crop -1", "refuse 5..9s"});
    tiny_close(s);
}

Test(model, blocks) {
    tiny *s = tiny_open(VIEW("entries", "0", "STATE", "blocks", "key_dim", "") "," VIEW("rest", "1", "STATE", "block_rest", "key_dim", ""),
                        RULE("unrecorded", "exact"));
    s->params.block = 2;
    WALK(s, {"append 1", "do b0..0"}, {"append 2", "do b0..1"}, {"append 2", "do b0..2"}, {"crop -1", "do b0..2"},
         {"crop -1", "refuse b0..2"}, {"crop -2", "do b0..1"}, {"append 3", "do b0..2"}, {"crop -2", "refuse b0..2"},
         {"crop 0", "do b0..2"}, {"crop -3", "do b0..1"}, {"crop -9", "do b0..0"});
    WALK_SLOT(s, 1, {"append 1", "do 0..1"}, {"append 2", "do 2..3"}, {"append 2", "do 4..5"}, {"crop -1", "do 4..4"},
              {"crop -1", "refuse 4..4"}, {"crop -2", "do 2..2"}, {"append 3", "do 4..5"}, {"crop -5", "do 0..0"});
    tiny_close(s);
}

Test(model, constant) {
    tiny *s = tiny_open(VIEW("cross_keys", "2", "KEYS", "constant", "key_dim", "") "," KEYS("all", ""), RULE("crop", "remove"));
    WALK(s, {"append 3", "do k0..2"}, {"append 1", "do k0..2"}, {"crop -2", "do k0..2"}, {"crop -9", "do k0..2"}, {"append 1", "do k0..2"},
         {"reset", "do k0..0"}, {"crop -1", "do k0..0"}, {"append 1", "do k0..2"});
    tiny_close(s);
}

/* One part of a cache that refuses holds the others back. */
Test(model, parts_are_cropped_together) {
    tiny *s = tiny_open(KEYS("all", "") ",{\"name\":\"conv\",\"salt\":3,\"law\":\"STATE\",\"rule\":\"last\",\"dims\":[\"batch\",\"channels\",\"tokens\"]}",
                        WINDOW_RULES);
    s->params.kernel = 2;
    WALK(s, {"append 3", "do 0..3"}, {"crop -1", "refuse 0..3"}, {"record 1", "do 0..3"}, {"append 2", "do 0..5"}, {"crop -2", "do 0..3"},
         {"crop 0", "do 0..3"});
    tiny_close(s);
}

/* A cache that was never used holds nothing that could be lost: it need not refuse, whatever its views are. */
Test(model, never_used) {
    static const char *const views[] = {"window", "last", "ring", "fixed", "fixed_window", "all", "block_rest"};
    static const char *const crops[] = {"crop 0", "crop -1", "crop -9"};
    for (size_t view = 0; view < sizeof views / sizeof views[0]; view++) {
        for (size_t at = 0; at < sizeof crops / sizeof crops[0]; at++) {
            char text[256];
            (void)snprintf(text, sizeof text,
                           "{\"name\":\"x\",\"salt\":0,\"law\":\"STATE\",\"rule\":\"%s\",\"dims\":[\"batch\",\"tokens\",\"key_dim\"]}",
                           views[view]);
            tiny *s = tiny_open(text, RULE("crop_unused", "nothing"));
            kvc_model model;
            kvc_expectation expectation;
            kvc_op op = op_of(crops[at]);
            tiny_plan(s);
            cr_assert(kvc_model_open(&model, &s->plan));
            kvc_model_expect(&model, &op, &expectation);
            cr_expect_neq((int)expectation.verdict, KVC_MUST_REFUSE, "%s: %s", views[view], crops[at]);
            cr_expect_eq(expectation.removed, 0);
            cr_expect_eq(expectation.target, 0);
            cr_expect_eq(expectation.situation.held, 0);
            op = op_of("crop 1");
            kvc_model_expect(&model, &op, &expectation);
            cr_expect_eq((int)expectation.verdict, KVC_MUST_REFUSE, "a positive number is refused also then");
            kvc_model_close(&model);
            tiny_close(s);
        }
    }
}

/* Ops that leave what is held as it is: after an offload an append needs a prefetch, which nothing but a prefetch is. */
Test(model, keeping) {
    tiny *s = tiny_open(KEYS("all", RETURNED("all")), RULE("crop_positive", "refuse"));
    WALK(s, {"append 2", "do 0..2 -> 0..2"}, {"copy", "do 0..2"}, {"pickle", "do 0..2"}, {"prefetch", "do 0..2"}, {"offload", "do 0..2"},
         {"append 1", "unspecified"}, {"crop -1", "do 0..1"}, {"copy", "do 0..1"}, {"append 1", "unspecified"}, {"reset", "do 0..0"},
         {"append 1", "unspecified"}, {"offload", "do 0..0"}, {"prefetch", "do 0..0"}, {"append 1", "do 0..1 -> 0..1"});
    tiny_close(s);
    s = tiny_open(KEYS("all", RETURNED("all")), RULE("offload", "any"));
    WALK(s, {"offload", "do 0..0"}, {"append 2", "do 0..2 -> 0..2"}, {"crop -1", "do 0..1"});
    tiny_close(s);
    /* Recording ends after a crop, also on a copy that was made between. */
    s = window_of(4);
    WALK(s, {"record 1", "do 0..0"}, {"append 6", "do 0..6 -> 0..6"}, {"copy", "do 0..6"}, {"record 0", "unspecified"},
         {"crop -1", "do 2..5"}, {"copy", "do 2..5"}, {"pickle", "do 2..5"}, {"record 0", "do 2..5"});
    tiny_close(s);
}

/* Memory is taken early on a cache with which nothing was done but to switch recording on. */
Test(model, initialize) {
    static const char *const spoilers[] = {"append 0", "append 1", "crop 0", "reset", "copy", "pickle", "offload", "prefetch",
                                           "initialize", "reorder 0"};
    tiny *s = tiny_open(KEYS("all", RETURNED("all")), RULE("crop_unused", "nothing"));
    kvc_model model;
    kvc_expectation expectation;
    kvc_op op;
    WALK(s, {"record 1", "do 0..0"}, {"initialize", "do 0..0"}, {"append 2", "do 0..2 -> 0..2"}, {"crop -3", "do 0..0"});
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    for (size_t at = 0; at < sizeof spoilers / sizeof spoilers[0]; at++) {
        const char *const before[] = {spoilers[at], NULL};
        kvc_model_start(&model, &s->plan, NULL);
        run_all(&model, before);
        op = op_of("initialize");
        kvc_model_expect(&model, &op, &expectation);
        cr_expect(expectation.unspecified, "%s", spoilers[at]);
    }
    /* It has memory: the rule for caches that were never used does not decide a crop any more. */
    for (int early = 0; early < 2; early++) {
        const char *const before[] = {early ? "initialize" : NULL, NULL};
        kvc_model_start(&model, &s->plan, NULL);
        run_all(&model, before);
        op = op_of("crop -1");
        kvc_model_expect(&model, &op, &expectation);
        cr_expect_eq((int)expectation.verdict, KVC_DO);
        cr_expect_eq(expectation.rule->name == KVC_CONTRACT_CROP_UNUSED, !early);
    }
    kvc_model_close(&model);
    tiny_close(s);
}

/* The error that is documented is that of the rule that decides. */
Test(model, rule_that_decides) {
    tiny *s = tiny_open(KEYS("window", ""), RULE_ERROR("crop_positive", "refuse", "ValueError") "," RULE_ERROR("unrecorded", "refuse", "RuntimeError"));
    kvc_model model;
    kvc_expectation expectation;
    kvc_op op = op_of("append 6");
    s->params.window = 4;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    kvc_model_expect(&model, &op, &expectation);
    cr_assert(kvc_model_commit(&model, &op, &expectation, 0));
    op = op_of("crop 1");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_str_eq(expectation.rule->error[0], "ValueError");
    op = op_of("crop -1");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_str_eq(expectation.rule->error[0], "RuntimeError");
    cr_expect_eq((int)expectation.rule->name, KVC_CONTRACT_UNRECORDED);
    kvc_model_close(&model);
    tiny_close(s);
}

/* Numbers and rows of origin of a row, `0 1@1`. */
static void expect_row(const kvc_model *model, int row, const char *expected) {
    char have[256] = "";
    size_t used = 0;
    for (int32_t at = 0; at < model->length; at++) {
        int origin = kvc_model_run(model, at)->origin[row];
        used += (size_t)snprintf(have + used, sizeof have - used, origin == row ? "%s%d" : "%s%d@%d", at > 0 ? " " : "",
                                 (int)kvc_model_token(model, at), origin);
    }
    cr_expect_str_eq(have, expected, "row %d: is \"%s\", expected \"%s\"", row, have, expected);
}

Test(model, rows) {
    static const char *const first[] = {"append 1", "reorder 1 0", "append 1", NULL};
    static const char *const second[] = {"repeat 2", "append 1", NULL};
    static const char *const third[] = {"select 3 0", "crop -1", NULL};
    static const char *const fourth[] = {"reorder 1 1", "append 1", NULL};
    static const char *const after_reset[] = {"reset", "append 1", NULL};
    tiny *s = tiny_open(KEYS("all", "") "," VIEW("cross", "2", "KEYS", "constant", "key_dim", ""), RULE("crop_zero", "nothing"));
    kvc_model model;
    s->params.batch = 2;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, first);
    expect_row(&model, 0, "0@1 1");
    expect_row(&model, 1, "0@0 1");
    cr_expect_eq(model.slot[1].fold_row[0], 1, "a constant moves with its row");
    run_all(&model, second);
    cr_expect_eq(model.rows, 4);
    expect_row(&model, 0, "0@1 1 2");
    expect_row(&model, 1, "0 1@0 2");
    expect_row(&model, 2, "0@0 1@1 2");
    expect_row(&model, 3, "0@0 1@1 2");
    run_all(&model, third);
    cr_expect_eq(model.rows, 2);
    expect_row(&model, 0, "0 1@1");
    expect_row(&model, 1, "0 1@0");
    run_all(&model, fourth);
    expect_row(&model, 0, "0@1 1 3");
    expect_row(&model, 1, "0 1@0 3");
    run_all(&model, after_reset);
    expect_row(&model, 0, "4");
    cr_expect_eq(model.rows, 2);
    kvc_model_close(&model);
    tiny_close(s);
}

Test(model, rows_of_a_fold) {
    static const char *const ops[] = {"append 1", "reorder 1 0", NULL};
    static const char *const more[] = {"append 1", NULL};
    tiny *s = tiny_open(folded_view, RULE("recurrent", "refuse"));
    kvc_model model;
    s->params.batch = 2;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, ops);
    cr_expect_eq(model.slot[0].fold_row[0], 1, "written in the other row");
    run_all(&model, more);
    cr_expect_eq(model.slot[0].fold_row[0], 0, "written anew where it stands");
    cr_expect_eq(model.slot[0].fold[0], 33);
    kvc_model_close(&model);
    tiny_close(s);
}

/* An entry of a block is a fold of its tokens and belongs to the row in which the block was closed. */
Test(model, cells_of_blocks) {
    static const char *const ops[] = {"append 1", "reorder 1 0", "append 2", NULL};
    tiny *s = tiny_open(VIEW("entries", "0", "STATE", "blocks", "key_dim", ""), RULE("unrecorded", "exact"));
    kvc_model model;
    kvc_extent extent = {.kind = KVC_CELL_BLOCK, .width = -1};
    int32_t number = 0;
    int origin = 0;
    s->params.batch = 2;
    s->params.block = 2;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, ops);
    kvc_view_cell(&model, 0, &extent, 0, 0, &number, &origin);
    cr_expect_eq(number, 33);
    cr_expect_eq(origin, 0);
    kvc_model_close(&model);
    tiny_close(s);
}

/* The first append settles a prefix that is not declared; whether it grows again once it was cut is said nowhere. */
Test(model, prefix_windows) {
    static const char *const first[] = {"append 2", "append 4", NULL};
    tiny *s = tiny_open(KEYS("prefix_window", RETURNED("window")), RULE("unrecorded", "exact"));
    kvc_model model;
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
    kvc_expectation expectation;
    kvc_op op = op_of("crop -1");
    s->params.window = 3;
    s->params.keep = 0;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, first);
    s->plan.slot[0].kind->stored(&model, 0, &extent);
    cr_expect_eq(extent.keep, 2);
    cr_expect_eq(extent.first_min, 4);
    cr_expect(kvc_view_returned(&model, 0, &extent));
    cr_expect_eq(extent.first_min, 2);
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_MUST_REFUSE, "token 3 is gone");
    op = op_of("crop -4");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_DO, "the prefix is whole");
    op = op_of("crop -5");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_DO);
    cr_assert(kvc_model_commit(&model, &op, &expectation, 0));
    op = op_of("append 1");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect(expectation.unspecified);
    s->params.keep = 2;
    tiny_plan(s);
    kvc_model_start(&model, &s->plan, NULL);
    run_all(&model, first);
    op = op_of("crop -5");
    kvc_model_expect(&model, &op, &expectation);
    cr_assert(kvc_model_commit(&model, &op, &expectation, 0));
    op = op_of("append 1");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_not(expectation.unspecified, "its length was declared");
    kvc_model_close(&model);
    tiny_close(s);
}

/* What the caller of overlapping blocks gets back, and what may be taken away again. */
Test(model, overlapping_blocks) {
    static const char *const first[] = {"append 3", NULL};
    static const char *const second[] = {"append 2", NULL};
    tiny *s = tiny_open(VIEW("overlap", "0", "STATE", "block_overlap", "key_dim", ", \"returned\": \"prior\""), RULE("blocks", "exact"));
    kvc_model model;
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
    kvc_expectation expectation;
    kvc_op op = op_of("crop -1");
    s->params.block = 2;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, first);
    cr_expect(kvc_view_returned(&model, 0, &extent));
    cr_expect_eq(extent.end, 0, "there was no block before");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_DO);
    op = op_of("crop -2");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_MUST_REFUSE);
    cr_expect_eq((int)expectation.rule->name, KVC_CONTRACT_BLOCKS);
    op = op_of("crop -3");
    kvc_model_expect(&model, &op, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_DO, "everything can be removed");
    run_all(&model, second);
    cr_expect(kvc_view_returned(&model, 0, &extent));
    cr_expect_eq(extent.first_min, 0);
    cr_expect_eq(extent.end, 2);
    s->plan.slot[0].kind->stored(&model, 0, &extent);
    cr_expect_eq(extent.first_min, 2);
    cr_expect_eq(extent.end, 4);
    kvc_model_close(&model);
    tiny_close(s);
}

/* A refused append has used its numbers up; `numbers` are taken in the order of appending. */
Test(model, token_numbers) {
    static const char *const ops[] = {"append 3", "append 2", "append 1", "crop -2", "append 1", NULL};
    static const int32_t numbers[] = {10, 20, 30, 40, 50, 60, 70};
    tiny *s = tiny_open(KEYS("fixed", ""), RULE("overflow", "refuse"));
    kvc_model model;
    s->params.capacity = 4;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, ops);
    expect_row(&model, 0, "0 1 6");
    kvc_model_start(&model, &s->plan, numbers);
    run_all(&model, ops);
    expect_row(&model, 0, "10 20 70");
    kvc_model_close(&model);
    tiny_close(s);
}

Test(model, long_logs) {
    static const char *const ops[] = {"append 1", "append 700", "append 5000", "crop -5600", "append 3", NULL};
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop_zero", "nothing"));
    kvc_model model;
    kvc_op op = op_of("append 117649");
    kvc_expectation expectation;
    tiny_plan(s);
    cr_assert(kvc_model_open(&model, &s->plan));
    run_all(&model, ops);
    cr_expect_eq(model.length, 104);
    cr_expect_eq(kvc_model_token(&model, 103), 5703);
    kvc_model_expect(&model, &op, &expectation);
    cr_expect(expectation.unspecified, "more tokens than can be told apart");
    kvc_model_close(&model);
    tiny_close(s);
}

/* A container crops all of its layers or, when one refuses, none. */
Test(model, layers) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_plan plan;
    kvc_model model;
    kvc_params params = kvc_params_standard();
    static const line lines[] = {{"append 3", "do 0..3 -> 0..3"}, {"crop -1", "refuse 0..3"}, {"crop -5", "refuse 0..3"},
                                 {"record 1", "do 0..3"},         {"append 2", "do 0..5 -> 0..5"}, {"crop -2", "do 0..3"},
                                 {"crop -1", "refuse 0..3"},      {"crop -4", "do 0..0"}};
    read_shipped(&catalogue);
    params.window = 2;
    params.layers = 1; /* full+window */
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "builtin-1"),
                            kvc_catalogue_spec(&catalogue, "builtin", "layers"), "layers", &params, &plan, &error));
    cr_assert(kvc_model_open(&model, &plan));
    for (size_t at = 0; at < sizeof lines / sizeof lines[0]; at++) {
        char have[192];
        perform(&model, lines[at].op, 0, have, sizeof have);
        cr_expect_str_eq(have, lines[at].expected, "%s: %s", lines[at].op, have);
    }
    kvc_model_close(&model);
    kvc_catalogue_clear(&catalogue);
}

/*
 * An append that a later layer refuses: when each is fed by a call of its own, those before have taken it, and nothing is said of
 * them until a reset. When it is one call, nothing was taken.
 */
static void append_refused_half_way(unsigned parts) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_plan plan;
    kvc_model model;
    kvc_params params = kvc_params_standard();
    kvc_expectation expectation;
    const kvc_op two = op_of("append 2");
    const kvc_op reset = op_of("reset");
    const kvc_contract_rule rule = {.name = KVC_CONTRACT_APPEND_PARTS, .value = parts};
    const int one_by_one = parts == KVC_PARTS_ONE_BY_ONE;
    char text[192];
    const kvc_spec *spec;
    read_shipped(&catalogue);
    spec = kvc_catalogue_spec(&catalogue, "builtin", "layers");
    params.capacity = 3;
    while (params.layers < spec->layers && strcmp(spec->layer_choice[params.layers], "full+fixed") != 0)
        params.layers++;
    cr_assert_lt(params.layers, spec->layers);
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "builtin-1"), spec, "layers", &params, &plan,
                            &error), "%s", error.text);
    plan.rules.rule[KVC_CONTRACT_APPEND_PARTS] = &rule;
    cr_assert(kvc_model_open(&model, &plan));
    perform(&model, "append 2", 0, text, sizeof text);
    kvc_model_expect(&model, &two, &expectation);
    cr_expect_eq((int)expectation.verdict, KVC_MUST_REFUSE);
    cr_expect_eq(expectation.layer, 1);
    for (int at = 0; at < plan.slots; at++)
        cr_expect_eq(kvc_model_fed_before(&model, at, &expectation), one_by_one && plan.slot[at].layer == 0);
    cr_assert(kvc_model_commit(&model, &two, &expectation, 1));
    cr_expect_eq(model.torn, one_by_one);
    kvc_model_expect(&model, &two, &expectation);
    cr_expect_eq(expectation.unspecified, one_by_one);
    kvc_model_expect(&model, &reset, &expectation);
    cr_expect_not(expectation.unspecified);
    cr_assert(kvc_model_commit(&model, &reset, &expectation, 0));
    kvc_model_expect(&model, &two, &expectation);
    cr_expect_not(expectation.unspecified);
    kvc_model_close(&model);
    kvc_catalogue_clear(&catalogue);
}
Test(model, append_refused_half_way) {
    append_refused_half_way(KVC_PARTS_ONE_BY_ONE);
    append_refused_half_way(KVC_PARTS_TOGETHER);
}

/* Layers of multi token prediction announce positions ahead of what they hold. */
Test(model, positions_ahead) {
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_plan plan;
    kvc_params params = kvc_params_standard();
    const kvc_contract *contract;
    read_shipped(&catalogue);
    contract = kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24");
    cr_assert(kvc_plan_make(&catalogue, contract, kvc_catalogue_spec(&catalogue, "transformers", "MtpCache"), "MtpCache", &params,
                            &plan, &error), "%s", error.text);
    cr_expect_eq(kvc_plan_ahead(&plan, 0), 1);
    cr_expect_eq(kvc_plan_ahead(&plan, 1), 2);
    cr_assert(kvc_plan_make(&catalogue, contract, kvc_catalogue_spec(&catalogue, "transformers", "DFlashCache"), "DFlashCache",
                            &params, &plan, &error), "%s", error.text);
    cr_expect_eq(kvc_plan_ahead(&plan, 1), 0);
    kvc_catalogue_clear(&catalogue);
}

Test(model, situations) {
    tiny *s = tiny_open(KEYS("window", ""), WINDOW_RULES);
    static const struct {
        const char *before[6];
        const char *op;
        kvc_situation situation; /* held, reached, recording, ask, cropped, shared, rows */
    } table[] = {
        {{NULL}, "crop -1", {0, 1, 0, KVC_ASK_OVER, 0, 0, 0}},
        {{"record 1", NULL}, "crop 0", {0, 1, 1, KVC_ASK_ZERO, 0, 0, 0}},
        {{"append 2", NULL}, "append 1", {2, 1, 0, KVC_ASK_NOTHING, 0, 0, 0}},
        {{"append 3", NULL}, "crop -3", {2, 2, 0, KVC_ASK_ALL, 0, 0, 0}},
        {{"record 1", "append 4", NULL}, "crop -2", {2, 3, 1, KVC_ASK_PART, 0, 0, 0}},
        {{"append 1", "record 1", NULL}, "crop 1", {2, 1, 2, KVC_ASK_POSITIVE, 0, 0, 0}},
        {{"append 1", "crop -1", NULL}, "crop -1", {1, 1, 0, KVC_ASK_OVER, 1, 0, 0}},
        {{"append 1", "crop -1", "append 1", NULL}, "crop -1", {2, 1, 0, KVC_ASK_ALL, 0, 0, 0}},
        {{"append 1", "reset", NULL}, "reset", {0, 1, 0, KVC_ASK_NOTHING, 0, 0, 0}},
        {{"initialize", NULL}, "crop -1", {3, 1, 0, KVC_ASK_OVER, 0, 0, 0}},
        {{"initialize", "reset", NULL}, "append 1", {0, 1, 0, KVC_ASK_NOTHING, 0, 0, 0}},
        {{"append 2", "crop -1", "pickle", NULL}, "copy", {2, 1, 0, KVC_ASK_NOTHING, 1, 0, 0}},
    };
    s->params.window = 3;
    tiny_plan(s);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_model model;
        kvc_expectation expectation;
        kvc_op op = op_of(table[at].op);
        const kvc_situation *have = &expectation.situation;
        const kvc_situation *want = &table[at].situation;
        cr_assert(kvc_model_open(&model, &s->plan));
        run_all(&model, table[at].before);
        kvc_model_expect(&model, &op, &expectation);
        cr_expect(have->held == want->held && have->reached == want->reached && have->recording == want->recording &&
                      have->ask == want->ask && have->cropped == want->cropped,
                  "case %zu: %d %d %d %d %d", at, have->held, have->reached, have->recording, have->ask, have->cropped);
        kvc_model_close(&model);
    }
    tiny_close(s);
}

Test(model, codes_of_situations) {
    for (int code = 0; code < KVC_SITUATIONS; code++) {
        kvc_situation situation;
        char text[200];
        kvc_situation_from_code(code, &situation);
        cr_expect_eq(kvc_situation_code(&situation), code);
        cr_expect_gt(strlen(kvc_situation_text(&situation, text, sizeof text)), (size_t)5);
        cr_expect_lt(strlen(text), sizeof text - 1, "cut off");
    }
}

Test(model, rotating) {
    tiny *s = tiny_open(KEYS("rotating", RETURNED("rotating")), RULE("unrecorded", "refuse") "," RULE("crop_positive", "nothing"));
    s->params.capacity = 4;
    WALK(s, {"append 2", "do 0..2s -> 0..2"}, {"trim 1", "do 0..1s"}, {"append 3", "do 0..4s -> 0..4"},
         {"trim 1", "either 0..3s"}, {"append 1", "do 0..4s -> 0..4s"}, {"append 1", "do 1..5s -> 1..5s"},
         {"trim 1", "refuse 1..5s"}, {"append 3", "do 2-4..8s -> 2..8"}, {"trim -1", "either 2-4..8s"},
         {"trim 0", "do 2-4..8s"}, {"append 0", "do 2-4..8s -> 2-4..8s"});
    s->params.keep = 1;
    WALK(s, {"append 6", "do 1-3..6s+1 -> 0..6"}, {"append 1", "do 4..7s+1 -> 4..7s+1"},
         {"append 2", "do 5-6..9s+1 -> 5..9+1"});
    tiny_close(s);
}

Test(model, rotating_that_gives_back_what_it_can) {
    tiny *s = tiny_open(KEYS("rotating", RETURNED("rotating")), RULE("unrecorded", "exact"));
    s->params.capacity = 4;
    WALK(s, {"append 6", "do 0-2..6s -> 0..6"}, {"trim 1", "either 0-2..5s"}, {"append 1", "do 2..6s -> 2..6s"},
         {"trim 1", "either 2..5s"}, {"trim 2", "refuse 2..5s"});
    tiny_close(s);
}

Test(model, chunked) {
    tiny *s = tiny_open(KEYS("chunked", RETURNED("held")), RULE("crop_evicted", "clamp"));
    s->params.capacity = 3;
    WALK(s, {"append 5", "do 0..5 -> 0..5"}, {"trim_front", "do 2..5"}, {"trim 1", "do 2..4"},
         {"trim_front", "do 2..4"}, {"trim 9", "do 2..2"}, {"append 1", "do 2..3 -> 2..3"});
    tiny_close(s);
    s = tiny_open(KEYS("chunked", RETURNED("held")), "");
    s->params.capacity = 3;
    WALK(s, {"append 5", "do 0..5 -> 0..5"}, {"trim_front", "do 2..5"}, {"trim 9", "refuse 2..5"},
         {"trim 3", "do 2..2"});
    tiny_close(s);
}

Test(model, saving_what_was_never_used) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("save", "used"));
    WALK(s, {"save", "either 0..0"}, {"state", "do 0..0"}, {"append 1", "do 0..1"}, {"save", "do 0..1"});
    tiny_close(s);
}
