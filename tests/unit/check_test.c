/* Tensors built by hand against their view, in every dtype: as expected, and each way of deviating. */
#include "tests/unit/support.h"

#include "reference/check.h"

typedef struct scene {
    tiny *subject;
    kvc_model model;
    kvc_expected *expected;
    arena *memory;
} scene;

static scene begin(tiny *subject, const char *const *ops) {
    scene out = {.subject = subject};
    tiny_plan(subject);
    out.expected = kvc_expected_open();
    out.memory = calloc(1, sizeof *out.memory);
    cr_assert_not_null(out.expected);
    cr_assert_not_null(out.memory);
    cr_assert(kvc_model_open(&out.model, &subject->plan));
    for (; *ops != NULL; ops++) {
        kvc_op op = op_of(*ops);
        kvc_expectation expectation;
        kvc_model_expect(&out.model, &op, &expectation);
        cr_assert(kvc_model_commit(&out.model, &op, &expectation, expectation.verdict == KVC_MUST_REFUSE));
    }
    return out;
}

static void end(scene *s) {
    kvc_model_close(&s->model);
    kvc_expected_close(s->expected);
    free(s->memory);
}

static kvc_deviation check(scene *s, int slot, const kvc_tensor *tensor) {
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
    kvc_view_kind_of(s->subject->plan.slot[slot].view->rule)->stored(&s->model, slot, &extent);
    return kvc_check_tensor(s->expected, &s->model, slot, &extent, tensor);
}

/* A tensor in words, in every dtype and however it lies in memory. */
static void expect_all(tiny *subject, const char *const *ops, int slot, const char *text, kvc_deviation expected) {
    for (int32_t dtype = 0; dtype <= KVC_FLOAT64; dtype++) {
        subject->params.dtype = dtype;
        scene s = begin(subject, ops);
        kvc_tensor tensor = tensor_of(s.memory, &subject->plan, slot, text);
        for (int way = 0; way < LIES_WAYS; way++) {
            kvc_tensor lies = laid_out(s.memory, &subject->plan.slot[slot], &tensor, way);
            kvc_deviation have = check(&s, slot, &lies);
            cr_expect_eq((int)have, (int)expected, "%s %s, way %d: %s, expected %s", kvc_dtype_name((kvc_dtype)dtype), text, way,
                         kvc_deviation_text(have), kvc_deviation_text(expected));
        }
        end(&s);
    }
    subject->params.dtype = KVC_FLOAT32;
}

static const char *const three_of_five[] = {"append 5", "crop -2", NULL};

Test(check, every_token) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    s->params.batch = 2;
    s->params.heads = 2;
    s->params.key_dim = 9;
    expect_all(s, three_of_five, 0, "0 1 2|0 1 2", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "0 1|0 1", KVC_SHORT);
    expect_all(s, three_of_five, 0, "1 2|1 2", KVC_SHORT);
    expect_all(s, three_of_five, 0, "|", KVC_SHORT);
    expect_all(s, three_of_five, 0, "0 0 1 2|0 0 1 2", KVC_LONG);
    expect_all(s, three_of_five, 0, "0 1 2 3|0 1 2 3", KVC_STALE);
    expect_all(s, three_of_five, 0, "0 1 3|0 1 3", KVC_STALE);
    expect_all(s, three_of_five, 0, "0 1 2|0 1 4", KVC_STALE);
    expect_all(s, three_of_five, 0, "0 3|0 3", KVC_STALE);
    expect_all(s, three_of_five, 0, "1 0 2|1 0 2", KVC_WRONG_ORDER);
    expect_all(s, three_of_five, 0, "0 1 2|0 2 1", KVC_WRONG_ORDER);
    expect_all(s, three_of_five, 0, "0 1 2|0@0 1@0 2@0", KVC_WRONG_ROW);
    expect_all(s, three_of_five, 0, "0 1 2@1|0 1 2", KVC_WRONG_ROW);
    expect_all(s, three_of_five, 0, "0 1 2^0|0 1 2", KVC_WRONG_HEAD);
    expect_all(s, three_of_five, 0, "0 1 2|0^1 1^1 2^1", KVC_WRONG_HEAD);
    expect_all(s, three_of_five, 0, "0 ? 2|0 1 2", KVC_WRONG_VALUE);
    expect_all(s, three_of_five, 0, "0 1 2|0 1 -", KVC_WRONG_VALUE);
    expect_all(s, three_of_five, 0, "- 0 1 2|- 0 1 2", KVC_WRONG_VALUE);
    expect_all(s, three_of_five, 0, "0 1 2", KVC_WRONG_SHAPE);
    expect_all(s, three_of_five, 0, "0 1 2|0 1 2|0 1 2", KVC_WRONG_SHAPE);
    tiny_close(s);
}

Test(check, two_levels) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    s->params.values = KVC_TWO_LEVELS;
    s->params.batch = 2;
    s->params.heads = 2;
    s->params.key_dim = 33;
    expect_all(s, three_of_five, 0, "0 1 2|0 1 2", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "0 1|0 1", KVC_SHORT);
    expect_all(s, three_of_five, 0, "0 1 2 3|0 1 2 3", KVC_STALE);
    expect_all(s, three_of_five, 0, "0 1 2|0 2 1", KVC_WRONG_ORDER);
    expect_all(s, three_of_five, 0, "0 1 2@1|0 1 2", KVC_WRONG_ROW);
    expect_all(s, three_of_five, 0, "0 1 2^0|0 1 2", KVC_WRONG_HEAD);
    expect_all(s, three_of_five, 0, "0 1 2|0 1 -", KVC_WRONG_VALUE);
    tiny_close(s);
}

/* What a quantiser rounds is near enough; another scale is not. */
Test(check, two_levels_rounded) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    s->params.values = KVC_TWO_LEVELS;
    s->params.key_dim = 32;
    scene at = begin(s, three_of_five);
    kvc_tensor tensor = tensor_of(at.memory, &s->plan, 0, "0 1 2");
    float element;
    float *elements = malloc(96 * sizeof *elements);
    cr_assert_not_null(elements);
    memcpy(elements, tensor.data, 96 * sizeof *elements);
    tensor.data = elements;
    for (int i = 0; i < 96; i++) {
        elements[i] *= i % 2 != 0 ? 1.05F : 0.95F;
    }
    cr_expect_eq((int)check(&at, 0, &tensor), KVC_AS_EXPECTED);
    element = elements[40];
    elements[40] = element * 0.9F;
    cr_expect_eq((int)check(&at, 0, &tensor), KVC_WRONG_VALUE);
    elements[40] = -element;
    cr_expect_eq((int)check(&at, 0, &tensor), KVC_WRONG_VALUE);
    free(elements);
    end(&at);
    tiny_close(s);
}

Test(check, residual) {
    tiny *s = tiny_open(KEYS("residual", ""), RULE("crop", "remove"));
    s->params.residual = 2;
    expect_all(s, three_of_five, 0, "1 2", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "2", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "0 1 2", KVC_LONG);
    expect_all(s, three_of_five, 0, "0 1", KVC_WRONG_ORDER);
    expect_all(s, three_of_five, 0, "2 3", KVC_STALE);
    tiny_close(s);
}

Test(check, one_row_and_one_head) {
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    expect_all(s, three_of_five, 0, "0 1 2", KVC_AS_EXPECTED);
    expect_all(s, three_of_five, 0, "0 1 2@3", KVC_WRONG_ROW);
    expect_all(s, three_of_five, 0, "2 0 1", KVC_WRONG_ORDER);
    tiny_close(s);
}

Test(check, rows_that_moved) {
    static const char *const ops[] = {"append 2", "reorder 1 0", "append 1", NULL};
    tiny *s = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    s->params.batch = 2;
    expect_all(s, ops, 0, "0@1 1@1 2|0@0 1@0 2", KVC_AS_EXPECTED);
    expect_all(s, ops, 0, "0 1 2|0 1 2", KVC_WRONG_ROW);
    tiny_close(s);
}

/* One element, anywhere, decides. */
Test(check, every_element_counts) {
    tiny *subject = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    subject->params.batch = 2;
    subject->params.heads = 2;
    subject->params.key_dim = 9;
    for (int32_t dtype = 0; dtype <= KVC_FLOAT64; dtype++) {
        subject->params.dtype = dtype;
        scene s = begin(subject, three_of_five);
        kvc_tensor tensor = tensor_of(s.memory, &subject->plan, 0, "0 1 2|0 1 2");
        int64_t bytes = kvc_tensor_elements(&tensor) * (int64_t)kvc_dtype_size((kvc_dtype)dtype);
        cr_expect_eq(kvc_tensor_elements(&tensor), 2 * 2 * 3 * 9);
        for (int way = LIES_DENSE; way <= LIES_TOKENS_FIRST; way++) {
            size_t first = way == LIES_DENSE ? 0 : s.memory->used;
            kvc_tensor lies = laid_out(s.memory, &subject->plan.slot[0], &tensor, way);
            for (size_t at = first; at < first + (size_t)bytes; at++) {
                s.memory->byte[at] ^= 1;
                cr_assert_neq((int)check(&s, 0, &lies), KVC_AS_EXPECTED, "byte %d", (int)at);
                s.memory->byte[at] ^= 1;
            }
            cr_expect_eq((int)check(&s, 0, &lies), KVC_AS_EXPECTED);
        }
        end(&s);
    }
    tiny_close(subject);
}

/* A distance that is not the one at which the elements lie: what stands there is something else. */
Test(check, every_stride_counts) {
    tiny *subject = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    subject->params.batch = 2;
    subject->params.heads = 2;
    for (int way = LIES_TOKENS_FIRST; way < LIES_WAYS; way++) {
        scene s = begin(subject, three_of_five);
        kvc_tensor tensor = tensor_of(s.memory, &subject->plan, 0, "0 1 2|0 1 2");
        kvc_tensor lies = laid_out(s.memory, &subject->plan.slot[0], &tensor, way);
        cr_expect_eq((int)check(&s, 0, &lies), KVC_AS_EXPECTED);
        for (int axis = 0; axis < lies.dims; axis++) {
            kvc_tensor wrong = lies;
            wrong.stride[axis] /= 2;
            cr_expect_neq((int)check(&s, 0, &wrong), KVC_AS_EXPECTED, "way %d axis %d halved", way, axis);
            wrong.stride[axis] = 0;
            cr_expect_neq((int)check(&s, 0, &wrong), KVC_AS_EXPECTED, "way %d axis %d none", way, axis);
        }
        end(&s);
    }
    tiny_close(subject);
}

Test(check, dtype_and_shape) {
    tiny *subject = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    scene s = begin(subject, three_of_five);
    kvc_tensor good = tensor_of(s.memory, &subject->plan, 0, "0 1 2");
    kvc_tensor tensor = good;
    cr_expect_eq((int)check(&s, 0, NULL), KVC_MISSING);
    tensor.dtype = KVC_FLOAT16;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_DTYPE);
    tensor = good;
    tensor.dims = 3;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE);
    tensor = good;
    tensor.shape[1] = 3;
    tensor.shape[2] = 1;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE, "heads and tokens exchanged");
    tensor = good;
    tensor.shape[3] = 4;
    tensor.shape[2] = 6;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE, "other channels");
    tensor = good;
    tensor.shape[2] = -1;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE);
    tensor.shape[2] = INT64_MAX;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE);
    tensor = good;
    tensor.dims = KVC_DIMS_MAX + 1;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE);
    tensor.dims = -1;
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_WRONG_SHAPE);
    end(&s);
    tiny_close(subject);
}

/* An empty tensor may be absent or have any shape with no elements. */
Test(check, empty) {
    static const char *const none[] = {"append 2", "crop -2", NULL};
    tiny *subject = tiny_open(KEYS("all", ""), RULE("crop", "remove"));
    scene s = begin(subject, none);
    kvc_tensor tensor = {.name = "keys", .dims = 1, .shape = {0}, .dtype = KVC_FLOAT64};
    cr_expect_eq((int)check(&s, 0, NULL), KVC_AS_EXPECTED);
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_AS_EXPECTED);
    tensor = (kvc_tensor){.name = "keys", .dims = 4, .shape = {9, 9, 0, 9}, .dtype = KVC_FLOAT32};
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_AS_EXPECTED);
    tensor = tensor_of(s.memory, &subject->plan, 0, "1");
    cr_expect_eq((int)check(&s, 0, &tensor), KVC_STALE);
    end(&s);
    tiny_close(subject);
}

Test(check, elements) {
    kvc_tensor tensor = {.dims = 0};
    cr_expect_eq(kvc_tensor_elements(&tensor), 1);
    tensor = (kvc_tensor){.dims = 3, .shape = {2, 3, 4}};
    cr_expect_eq(kvc_tensor_elements(&tensor), 24);
    tensor = (kvc_tensor){.dims = 3, .shape = {1 << 30, 0, 1 << 30}};
    cr_expect_eq(kvc_tensor_elements(&tensor), 0);
    tensor = (kvc_tensor){.dims = 2, .shape = {1 << 30, 2}};
    cr_expect_eq(kvc_tensor_elements(&tensor), -1);
    tensor = (kvc_tensor){.dims = 6, .shape = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20}};
    cr_expect_eq(kvc_tensor_elements(&tensor), -1);
    tensor = (kvc_tensor){.dims = 2, .shape = {INT64_MIN, 2}};
    cr_expect_eq(kvc_tensor_elements(&tensor), -1);
}

Test(check, other_layouts) {
    static const char *const ops[] = {"append 3", NULL};
    tiny *s = tiny_open("{\"name\":\"indexer_keys\",\"salt\":2,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"batch\",\"tokens\",\"index_dim\"]},"
                        "{\"name\":\"idx_keys\",\"salt\":2,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"batch\",\"one\",\"tokens\",\"index_dim\"]},"
                        "{\"name\":\"ids\",\"salt\":0,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"planes\",\"batch\",\"tokens\"],\"dtype\":\"int64\"}",
                        RULE("crop", "remove"));
    s->params.batch = 2;
    s->params.index_dim = 9;
    for (int slot = 0; slot < 3; slot++) {
        expect_all(s, ops, slot, "0 1 2|0 1 2", KVC_AS_EXPECTED);
        expect_all(s, ops, slot, "0 1|0 1", KVC_SHORT);
        expect_all(s, ops, slot, "0 1 2|0 1 3", KVC_STALE);
        expect_all(s, ops, slot, "0 1 2|0 2 1", KVC_WRONG_ORDER);
        expect_all(s, ops, slot, "0@1 1@1 2@1|0 1 2", KVC_WRONG_ROW);
        expect_all(s, ops, slot, "0 1 2|0 1 ?", KVC_WRONG_VALUE);
    }
    expect_all(s, ops, 2, "0 1 2^0|0 1 2", KVC_WRONG_HEAD); /* planes are told apart like heads */
    tiny_close(s);
}

Test(check, window) {
    static const char *const ops[] = {"append 6", NULL};
    tiny *s = tiny_open(KEYS("window", ""), RULE("unrecorded", "refuse"));
    s->params.window = 4;
    expect_all(s, ops, 0, "3 4 5", KVC_AS_EXPECTED);
    expect_all(s, ops, 0, "4 5", KVC_SHORT);
    expect_all(s, ops, 0, "2 3 4 5", KVC_LONG);
    expect_all(s, ops, 0, "0 1 2 3 4 5", KVC_LONG);
    expect_all(s, ops, 0, "2 3 4", KVC_WRONG_ORDER);
    expect_all(s, ops, 0, "3 4 6", KVC_STALE);
    tiny_close(s);
    s = tiny_open(KEYS("window", ",\"keeps\":\"window\""), RULE("unrecorded", "refuse"));
    s->params.window = 4;
    expect_all(s, ops, 0, "3 4 5", KVC_AS_EXPECTED);
    expect_all(s, ops, 0, "2 3 4 5", KVC_AS_EXPECTED);
    expect_all(s, ops, 0, "1 2 3 4 5", KVC_LONG);
    expect_all(s, ops, 0, "4 5", KVC_SHORT);
    tiny_close(s);
}

Test(check, convolution) {
    static const char *const two[] = {"append 2", NULL};
    static const char *const five[] = {"append 5", NULL};
    static const char *const none[] = {"append 5", "reset", NULL};
    tiny *s = tiny_open("{\"name\":\"conv\",\"salt\":3,\"law\":\"STATE\",\"rule\":\"last\",\"dims\":[\"batch\",\"channels\",\"tokens\"]}",
                        RULE("unrecorded", "refuse"));
    s->params.kernel = 3;
    s->params.batch = 2;
    s->params.channels = 9;
    expect_all(s, two, 0, "0 1|0 1", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "- 0 1|- 0 1", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "- - - 0 1|- - - 0 1", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "0 1 -|0 1 -", KVC_WRONG_VALUE);
    expect_all(s, two, 0, "- 0 1|0 1 -", KVC_WRONG_VALUE);
    expect_all(s, two, 0, "- - 1|- - 1", KVC_SHORT);
    expect_all(s, two, 0, "- - -|- - -", KVC_SHORT);
    expect_all(s, five, 0, "2 3 4|2 3 4", KVC_AS_EXPECTED);
    expect_all(s, five, 0, "1 2 3 4|1 2 3 4", KVC_LONG);
    expect_all(s, five, 0, "- 3 4|- 3 4", KVC_SHORT);
    expect_all(s, none, 0, "- - -|- - -", KVC_AS_EXPECTED);
    expect_all(s, none, 0, "- - 4|- - 4", KVC_STALE);
    tiny_close(s);
}

Test(check, fixed_buffers) {
    static const char *const two[] = {"append 3", "crop -1", NULL};
    static const char *const none[] = {"append 3", "reset", NULL};
    static const char *const six[] = {"append 6", NULL};
    tiny *s = tiny_open(KEYS("fixed", ""), RULE("overflow", "refuse"));
    s->params.capacity = 4;
    /* Past the length anything may stand. */
    expect_all(s, two, 0, "0 1 - -", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "0 1 2 ?", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "0 2 - -", KVC_STALE);
    expect_all(s, two, 0, "1 0 - -", KVC_WRONG_ORDER);
    expect_all(s, two, 0, "0 - - -", KVC_WRONG_VALUE);
    expect_all(s, two, 0, "0 1", KVC_WRONG_SHAPE);
    expect_all(s, two, 0, "0 1 - - -", KVC_WRONG_SHAPE);
    expect_all(s, none, 0, "0 1 2 -", KVC_AS_EXPECTED);
    tiny_close(s);
    s = tiny_open(KEYS("fixed_window", ""), RULE("overflow", "evict"));
    s->params.capacity = 8;
    s->params.window = 4;
    expect_all(s, two, 0, "0 1 - ?", KVC_AS_EXPECTED);
    expect_all(s, six, 0, "2 3 4 5", KVC_AS_EXPECTED);
    expect_all(s, six, 0, "4 5 2 3", KVC_WRONG_ORDER); /* in temporal order, not a ring */
    expect_all(s, six, 0, "3 4 5 ?", KVC_WRONG_VALUE);
    tiny_close(s);
}

Test(check, ring) {
    static const char *const six[] = {"append 6", NULL};
    static const char *const three[] = {"append 3", NULL};
    tiny *s = tiny_open(KEYS("ring", ""), RULE("overflow", "evict"));
    s->params.capacity = 4;
    s->params.keep = 1;
    s->params.batch = 2;
    s->params.heads = 2;
    expect_all(s, six, 0, "0 3 4 5|0 3 4 5", KVC_AS_EXPECTED);
    expect_all(s, six, 0, "0 4 5 3|5 4 3 0", KVC_AS_EXPECTED);
    expect_all(s, six, 0, "0 3 4|0 3 4", KVC_SHORT);
    expect_all(s, six, 0, "0 2 3 4 5|0 2 3 4 5", KVC_LONG);
    expect_all(s, six, 0, "0 3 4 6|0 3 4 6", KVC_STALE);
    expect_all(s, six, 0, "0 3 4 5|0 3 4 ?", KVC_WRONG_VALUE);
    expect_all(s, three, 0, "2 1 0|1 0 2", KVC_AS_EXPECTED);
    expect_all(s, three, 0, "2 1|2 1", KVC_SHORT);
    cr_expect_neq(kvc_deviation_text(KVC_SHORT), kvc_deviation_text(KVC_LONG));
    tiny_close(s);
}

Test(check, blocks) {
    static const char *const five[] = {"append 5", NULL};
    tiny *s = tiny_open(VIEW("entries", "0", "STATE", "blocks", "key_dim", "") "," VIEW("rest", "1", "STATE", "block_rest", "key_dim", ""),
                        RULE("unrecorded", "exact"));
    s->params.block = 2;
    /* Tokens 0, 1: 33; tokens 2, 3: 31 * (2 + 1) + 3 + 1. */
    expect_all(s, five, 0, "33 97", KVC_AS_EXPECTED);
    expect_all(s, five, 0, "33", KVC_SHORT);
    expect_all(s, five, 0, "97 33", KVC_WRONG_ORDER);
    expect_all(s, five, 0, "33 98", KVC_STALE);
    expect_all(s, five, 1, "4", KVC_AS_EXPECTED);
    expect_all(s, five, 1, "3 4", KVC_LONG);
    expect_all(s, five, 1, "", KVC_SHORT);
    tiny_close(s);
}

Test(check, folds_and_constants) {
    static const char *const two[] = {"append 2", NULL};
    static const char *const moved[] = {"append 1", "reorder 1 0", NULL};
    static const char *const none[] = {"append 2", "reset", NULL};
    tiny *s = tiny_open("{\"name\":\"recurrent\",\"salt\":4,\"law\":\"STATE\",\"rule\":\"folded\",\"dims\":[\"batch\",\"heads\",\"key_dim\",\"value_dim\"]},"
                        VIEW("cross", "2", "KEYS", "constant", "key_dim", ""),
                        RULE("recurrent", "refuse"));
    s->params.batch = 2;
    s->params.heads = 2;
    s->params.value_dim = 10;
    expect_all(s, two, 0, "33|33", KVC_AS_EXPECTED);
    expect_all(s, two, 0, "33|34", KVC_WRONG_VALUE);
    expect_all(s, two, 0, "33^0|33", KVC_WRONG_VALUE);
    expect_all(s, two, 0, "33", KVC_WRONG_SHAPE);
    expect_all(s, moved, 0, "1@1|1@0", KVC_AS_EXPECTED);
    expect_all(s, moved, 0, "1|1", KVC_WRONG_VALUE);
    expect_all(s, none, 0, "-|-", KVC_AS_EXPECTED);
    expect_all(s, none, 0, "33|33", KVC_STALE);
    expect_all(s, two, 1, "0 1|0 1", KVC_AS_EXPECTED);
    expect_all(s, two, 1, "0|0", KVC_SHORT);
    expect_all(s, moved, 1, "0@1 1@1|0@0 1@0", KVC_AS_EXPECTED);
    expect_all(s, moved, 1, "0 1|0 1", KVC_WRONG_ROW);
    tiny_close(s);
}

/* Reading cells back, for the lanes of a report. */
Test(check, read_back) {
    static const char *const ops[] = {"append 3", NULL};
    tiny *subject = tiny_open(KEYS("all", "") ",{\"name\":\"ids\",\"salt\":0,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"planes\",\"batch\",\"tokens\"],"
                              "\"dtype\":\"int64\"}",
                              RULE("crop", "remove"));
    subject->params.batch = 2;
    subject->params.heads = 2;
    for (int32_t dtype = 0; dtype <= KVC_FLOAT64; dtype++) {
        kvc_cell cell;
        subject->params.dtype = dtype;
        scene s = begin(subject, ops);
        kvc_tensor tensor = tensor_of(s.memory, &subject->plan, 0, "0 100000@1^1|- ?");
        cr_expect_eq(kvc_check_width(&subject->plan, 0, &tensor), 2);
        kvc_check_read(&subject->plan, 0, &tensor, 0, 1, 1, &cell);
        cr_expect(cell.known == 1 && cell.token == 100000 && cell.row == 1 && cell.head == 1);
        kvc_check_read(&subject->plan, 0, &tensor, 1, 0, 0, &cell);
        cr_expect_eq(cell.known, -1);
        kvc_check_read(&subject->plan, 0, &tensor, 1, 0, 1, &cell);
        cr_expect_eq(cell.known, 0);
        tensor.shape[3] = 9;
        cr_expect_eq(kvc_check_width(&subject->plan, 0, &tensor), -1);
        tensor = tensor_of(s.memory, &subject->plan, 1, "7|8 ");
        kvc_check_read(&subject->plan, 1, &tensor, 1, 1, 0, &cell);
        cr_expect(cell.known == 1 && cell.token == 8 && cell.row == 1 && cell.head == 1);
        end(&s);
    }
    tiny_close(subject);
}

Test(check, words) {
    for (int at = 0; at < KVC_DEVIATIONS; at++) {
        cr_expect_gt(strlen(kvc_deviation_text((kvc_deviation)at)), (size_t)1);
        for (int other = 0; other < at; other++) {
            cr_expect_neq(strcmp(kvc_deviation_text((kvc_deviation)at), kvc_deviation_text((kvc_deviation)other)), 0);
        }
    }
    cr_expect_str_eq(kvc_deviation_text((kvc_deviation)KVC_DEVIATIONS), "?");
}
