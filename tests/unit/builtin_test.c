/* The built-in caches on short sequences, and their table of faults. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/builtin/builtin.h"
#include "reference/params.h"
#include "reference/check.h"
#include "reference/values.h"

typedef struct session {
    kvc_cache *cache;
    kvc_observation *seen;
    int32_t next;
} session;

static kvc_params params_of_tests(void) {
    kvc_params params = kvc_params_standard();
    params.window = 4;
    params.capacity = 4;
    params.kernel = 3;
    params.block = 2;
    params.keep = 1;
    return params;
}

static session begin_with(const char *variant, const kvc_params *params, const char *layers) {
    session s = {kvc_builtin_plugin()->open(variant, params, "", layers), calloc(1, sizeof *s.seen), 0};
    cr_assert_not_null(s.cache, "%s", variant);
    cr_assert_not_null(s.seen);
    return s;
}

static session begin(const char *variant) {
    kvc_params params = params_of_tests();
    return begin_with(variant, &params, "full+window");
}

static void end(session *s) {
    kvc_builtin_plugin()->close(s->cache);
    free(s->seen);
}

static void run(session *s, kvc_op_kind kind, int32_t n) {
    kvc_op op = {.kind = (uint8_t)kind, .n = n};
    int32_t numbers[64];
    for (int32_t i = 0; kind == KVC_APPEND && i < n; i++) {
        numbers[i] = s->next++;
    }
    kvc_observation_clear(s->seen);
    kvc_builtin_plugin()->run(s->cache, &op, kind == KVC_APPEND ? numbers : NULL, s->seen);
}

static void run_rows(session *s, kvc_op_kind kind, uint8_t first, uint8_t second) {
    kvc_op op = {.kind = (uint8_t)kind, .count = 2, .rows = {first, second}};
    kvc_observation_clear(s->seen);
    kvc_builtin_plugin()->run(s->cache, &op, NULL, s->seen);
}

static const kvc_tensor *find(const session *s, const char *name) {
    for (int32_t i = 0; i < s->seen->tensors; i++) {
        if (strcmp(s->seen->tensor[i].name, name) == 0) {
            return &s->seen->tensor[i];
        }
    }
    return NULL;
}

/* Writes the tokens of one row and the first head as `0 1 2`, zeros as `-`, with the row they came from when it is not `row`. */
static const char *tokens(const session *s, const char *name, int salt, int row) {
    static char text[512];
    const kvc_tensor *tensor = find(s, name);
    size_t used = 0;
    text[0] = '\0';
    cr_assert_not_null(tensor, "%s", name);
    int turned = strstr(name, "conv") != NULL;
    int64_t count = tensor->shape[tensor->dims - (turned ? 1 : 2)];
    int64_t channels = tensor->shape[tensor->dims - (turned ? 2 : 1)];
    int64_t heads = tensor->dims == 4 ? tensor->shape[1] : 1;
    for (int64_t cell = 0; cell < count; cell++) {
        int64_t values[16] = {0};
        int32_t token = 0;
        int from = 0;
        int head = 0;
        for (int64_t c = 0; c < channels && c < 16; c++) {
            int64_t index = row * heads * count * channels + (turned ? c * count + cell : cell * channels + c);
            cr_assert(kvc_value_load((kvc_dtype)tensor->dtype, (const char *)tensor->data + kvc_tensor_element(tensor, index), &values[c]));
        }
        const char *gap = cell == 0 ? "" : " ";
        if (!kvc_value_decode(salt, values, (int)channels, &token, &from, &head)) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s-", gap);
        } else if (from != row) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d@%d", gap, (int)token, from);
        } else {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", gap, (int)token);
        }
    }
    return text;
}

static void expect_refused(const session *s, const char *kind) {
    cr_expect_eq(s->seen->outcome, 1);
    cr_expect_str_eq(s->seen->error_kind, kind);
}

Test(builtin, full) {
    session s = begin("full");
    run(&s, KVC_CROP, -1);
    cr_expect_eq(s.seen->outcome, 0);
    run(&s, KVC_APPEND, 3);
    cr_expect_eq(s.seen->mask_length[0], 3);
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "0 1 2");
    run(&s, KVC_CROP, 2);
    expect_refused(&s, "ValueError");
    run(&s, KVC_CROP, 0);
    cr_expect_eq(s.seen->length[0], 3);
    run(&s, KVC_CROP, -1);
    run(&s, KVC_APPEND, 1);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 1 3");
    cr_expect_str_eq(tokens(&s, "values", 1, 0), "0 1 3");
    cr_expect_eq(s.seen->position[0], 3);
    run(&s, KVC_CROP, -9);
    cr_expect_eq(s.seen->length[0], 0);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "");
    end(&s);
}

Test(builtin, indexed) {
    session s = begin("indexed");
    run(&s, KVC_APPEND, 3);
    run(&s, KVC_CROP, -2);
    cr_expect_str_eq(tokens(&s, "indexer_keys", 2, 0), "0");
    run(&s, KVC_CROP, -5);
    cr_expect_str_eq(tokens(&s, "indexer_keys", 2, 0), "");
    end(&s);
}

Test(builtin, window) {
    session s = begin("window");
    run(&s, KVC_APPEND, 6);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "3 4 5");
    run(&s, KVC_CROP, 0);
    expect_refused(&s, "RuntimeError");
    cr_expect_eq(s.seen->claim, 0);
    run(&s, KVC_RECORD, 1);
    run(&s, KVC_APPEND, 2);
    cr_expect_eq(s.seen->mask_length[0], 5);
    cr_expect_eq(s.seen->mask_offset[0], 3);
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "3 4 5 6 7");
    run(&s, KVC_CROP, -3);
    expect_refused(&s, "RuntimeError");
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "3 4 5 6 7");
    run(&s, KVC_CROP, -1);
    cr_expect_eq(s.seen->outcome, 0);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "4 5 6");
    run(&s, KVC_CROP, -9);
    cr_expect_eq(s.seen->length[0], 0);
    end(&s);
}

Test(builtin, convolution) {
    session s = begin("convolution");
    run(&s, KVC_APPEND, 2);
    cr_expect_str_eq(tokens(&s, "conv_states.0", 3, 0), "- 0 1");
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_RESET, 0);
    run(&s, KVC_RECORD, 1);
    run(&s, KVC_APPEND, 5);
    run(&s, KVC_CROP, -1);
    cr_expect_str_eq(tokens(&s, "conv_states.0", 3, 0), "3 4 5");
    run(&s, KVC_APPEND, 1);
    cr_expect_str_eq(tokens(&s, "returned.conv_states.0", 3, 0), "3 4 5 7");
    end(&s);
}

Test(builtin, recurrent) {
    session s = begin("recurrent");
    const kvc_tensor *state;
    int64_t value = 0;
    run(&s, KVC_APPEND, 2);
    state = find(&s, "recurrent_states.0");
    cr_assert_not_null(state);
    for (int channel = 0; channel < 64; channel++) {
        cr_expect(kvc_value_load(KVC_FLOAT32, (const char *)state->data + 4 * channel, &value));
        cr_expect_eq(value, kvc_value(4, 33, 0, 0, channel));
    }
    run(&s, KVC_CROP, -9);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_CROP, 0);
    cr_expect_eq(s.seen->outcome, 0);
    run(&s, KVC_RESET, 0);
    cr_expect_null(find(&s, "recurrent_states.0"));
    end(&s);
}

static int64_t first_of_summary(const session *s) {
    int64_t value = 0;
    const kvc_tensor *summary = find(s, "summary");
    cr_assert_not_null(summary);
    cr_assert(kvc_value_load(KVC_INT64, summary->data, &value));
    return value;
}

Test(builtin, running) {
    session s = begin("running");
    run(&s, KVC_APPEND, 2);
    cr_expect_eq(first_of_summary(&s), 1 * 31 + 2);
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_CROP, -2);
    cr_expect_eq(s.seen->length[0], 0);
    run(&s, KVC_APPEND, 1);
    cr_expect_eq(first_of_summary(&s), 3);
    end(&s);
}

Test(builtin, fixed) {
    session s = begin("fixed");
    run(&s, KVC_APPEND, 3);
    uint64_t address = find(&s, "keys")->address;
    cr_expect_neq(address, 0u);
    run(&s, KVC_APPEND, 2);
    expect_refused(&s, "IndexError");
    cr_expect_eq(s.seen->length[0], 3);
    run(&s, KVC_CROP, -2);
    run(&s, KVC_APPEND, 3);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 5 6 7");
    cr_expect_eq(s.seen->mask_length[0], 4);
    cr_expect_eq(find(&s, "keys")->address, address);
    end(&s);
}

Test(builtin, fixed_window) {
    session s = begin("fixed_window");
    run(&s, KVC_APPEND, 3);
    run(&s, KVC_APPEND, 3);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "2 3 4 5");
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "0 1 2 3 4 5");
    run(&s, KVC_APPEND, 2);
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "3 4 5 6 7");
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_CROP, -8);
    cr_expect_eq(s.seen->length[0], 0);
    end(&s);
}

Test(builtin, ring) {
    session s = begin("ring");
    run(&s, KVC_APPEND, 4);
    run(&s, KVC_CROP, -1);
    run(&s, KVC_APPEND, 2);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 5 2 4");
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    end(&s);
}

Test(builtin, blocks) {
    session s = begin("blocks");
    run(&s, KVC_APPEND, 5);
    cr_expect_str_eq(tokens(&s, "entries", 0, 0), "33 97");
    cr_expect_str_eq(tokens(&s, "rest", 1, 0), "4");
    run(&s, KVC_CROP, -2);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_CROP, -3);
    cr_expect_str_eq(tokens(&s, "entries", 0, 0), "33");
    cr_expect_str_eq(tokens(&s, "rest", 1, 0), "");
    end(&s);
}

/* The block before the newest finished one is kept nowhere, so none can be opened again. */
Test(builtin, overlap) {
    session s = begin("overlap");
    run(&s, KVC_APPEND, 1);
    run(&s, KVC_APPEND, 4);
    cr_expect_str_eq(tokens(&s, "entries", 0, 0), "33 97");
    cr_expect_str_eq(tokens(&s, "rest", 1, 0), "4");
    cr_expect_str_eq(tokens(&s, "overlap", 1, 0), "2 3");
    cr_expect_str_eq(tokens(&s, "returned.rest", 1, 0), "0 1 2 3");
    cr_expect_eq(*(const int64_t *)find(&s, "count")->data, 2);
    cr_expect_eq(*(const int64_t *)find(&s, "returned.count")->data, 0);
    run(&s, KVC_CROP, -3);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_CROP, -1);
    cr_expect_eq(s.seen->outcome, 0);
    run(&s, KVC_APPEND, 2);
    cr_expect_str_eq(tokens(&s, "returned.overlap", 1, 0), "2 3");
    cr_expect_eq(*(const int64_t *)find(&s, "returned.count")->data, 4);
    end(&s);
}

Test(builtin, prefix_window) {
    session s = begin("prefix_window");
    run(&s, KVC_APPEND, 6);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 3 4 5");
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_APPEND, 1);
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "0 3 4 5 6");
    cr_expect_eq(s.seen->mask_length[0], 5);
    cr_expect_eq(s.seen->mask_offset[0], 2);
    end(&s);
}

Test(builtin, fixed_prefix) {
    kvc_params params = params_of_tests();
    params.window = 2;
    params.keep = 0;
    session s = begin_with("fixed_prefix", &params, "");
    run(&s, KVC_APPEND, 1);
    run(&s, KVC_APPEND, 3);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 2 3");
    cr_expect_str_eq(tokens(&s, "returned.keys", 0, 0), "0 1 2 3");
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    run(&s, KVC_RESET, 0);
    run(&s, KVC_APPEND, 2);
    run(&s, KVC_APPEND, 1);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "4 5 6 -");
    end(&s);
}

Test(builtin, nothing) {
    session s = begin("nothing");
    run(&s, KVC_APPEND, 2);
    expect_refused(&s, "NotImplementedError");
    run(&s, KVC_CROP, -1);
    cr_expect_eq(s.seen->outcome, 0);
    cr_expect_eq(s.seen->length[0], 0);
    end(&s);
}

Test(builtin, cross) {
    session s = begin("cross");
    run(&s, KVC_APPEND, 3);
    run(&s, KVC_CROP, -3);
    run(&s, KVC_APPEND, 1);
    cr_expect_str_eq(tokens(&s, "cross_keys", 2, 0), "0 1");
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "3");
    end(&s);
}

Test(builtin, hybrid) {
    session s = begin("hybrid");
    run(&s, KVC_APPEND, 4);
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0 1 2 3");
    end(&s);
}

Test(builtin, quantised) {
    kvc_params params = params_of_tests();
    params.values = KVC_DIGITS; /* as exact as codes of one byte are */
    params.residual = 2;
    session s = begin_with("quantised", &params, "");
    run(&s, KVC_APPEND, 2);
    cr_expect_eq(find(&s, "keys")->shape[2], 2);
    cr_expect_str_eq(tokens(&s, "residual_keys", 0, 0), "0 1");
    run(&s, KVC_APPEND, 1);
    cr_expect_eq(find(&s, "keys")->shape[2], 3);
    cr_expect_eq(find(&s, "residual_keys")->shape[2], 0);
    cr_expect_eq(s.seen->length[0], 3);
    run(&s, KVC_APPEND, 2);
    cr_expect_str_eq(tokens(&s, "residual_values", 1, 0), "3 4");
    run(&s, KVC_CROP, -3);
    cr_expect_eq(find(&s, "keys")->shape[2], 2);
    cr_expect_eq(find(&s, "residual_keys")->shape[2], 0);
    end(&s);
}

Test(builtin, layers) {
    session s = begin("layers");
    run(&s, KVC_APPEND, 5);
    run(&s, KVC_CROP, -1);
    expect_refused(&s, "RuntimeError");
    cr_expect_eq(s.seen->layers, 2);
    cr_expect_eq(s.seen->length[0], 5);
    cr_expect_str_eq(tokens(&s, "layer0.keys", 0, 0), "0 1 2 3 4");
    cr_expect_str_eq(tokens(&s, "layer1.keys", 0, 0), "2 3 4");
    end(&s);
}

Test(builtin, rows_move_together) {
    static const char *const names[] = {"full", "indexed", "window", "fixed", "fixed_window", "ring", "cross", "quantised", "hybrid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kvc_params params = params_of_tests();
        params.batch = 2;
        params.heads = 2;
        params.dtype = KVC_BFLOAT16;
        session s = begin_with(names[i], &params, "");
        run(&s, KVC_APPEND, 2);
        run_rows(&s, KVC_REORDER, 1, 0);
        run(&s, KVC_APPEND, 1);
        cr_expect_eq(strncmp(tokens(&s, "keys", 0, 0), "0@1 1@1 2", 9), 0, "%s", names[i]);
        end(&s);
    }
}

Test(builtin, repeat_and_select) {
    kvc_params params = params_of_tests();
    params.batch = 2;
    session s = begin_with("full", &params, "");
    run(&s, KVC_APPEND, 1);
    run(&s, KVC_REPEAT, 2);
    cr_expect_eq(find(&s, "keys")->shape[0], 4);
    cr_expect_str_eq(tokens(&s, "keys", 0, 1), "0@0");
    cr_expect_str_eq(tokens(&s, "keys", 0, 2), "0@1");
    run(&s, KVC_REPEAT, 4);
    expect_refused(&s, "ValueError");
    run_rows(&s, KVC_SELECT, 3, 0);
    cr_expect_eq(find(&s, "keys")->shape[0], 2);
    cr_expect_str_eq(tokens(&s, "keys", 0, 0), "0@1");
    run_rows(&s, KVC_SELECT, 5, 0);
    expect_refused(&s, "IndexError");
    end(&s);
}

Test(builtin, watched_tensors) {
    kvc_params params = params_of_tests();
    params.watch = 1;
    session s = begin_with("layers", &params, "full+window");
    run(&s, KVC_APPEND, 2);
    run(&s, KVC_APPEND, 1);
    run(&s, KVC_CROP, -2);
    cr_expect_str_eq(tokens(&s, "input.0.layer0.keys", 0, 0), "0 1");
    cr_expect_str_eq(tokens(&s, "input.1.layer1.values", 1, 0), "2");
    cr_expect_str_eq(tokens(&s, "earlier.1.layer0.keys", 0, 0), "0 1 2");
    end(&s);
}

/* The first element of the summary after three tokens, in one append or in two. */
static int64_t summary_of_three(const char *variant, int32_t first, int crop_all) {
    session s = begin(variant);
    if (crop_all) {
        run(&s, KVC_APPEND, 2);
        run(&s, KVC_CROP, -2);
        s.next = 0;
    }
    run(&s, KVC_APPEND, first);
    if (first < 3) {
        run(&s, KVC_APPEND, 3 - first);
    }
    int64_t value = first_of_summary(&s);
    end(&s);
    return value;
}

Test(builtin, faults_of_the_summary) {
    cr_expect_eq(summary_of_three("running", 3, 0), summary_of_three("running", 1, 0));
    cr_expect_eq(summary_of_three("running", 3, 0), summary_of_three("running", 3, 1));
    cr_expect_neq(summary_of_three("running+chunk_dependent", 3, 0), summary_of_three("running+chunk_dependent", 1, 0));
    cr_expect_neq(summary_of_three("running+not_reset_on_full_crop", 3, 0),
                  summary_of_three("running+not_reset_on_full_crop", 3, 1));
}

/* The table of the change that was never released: keys and index keys after a crop of three tokens. */
Test(builtin, index_key_left) {
    static const char *const left[] = {"0 1 2", "0 1", "0", "", "0 1", "0"};
    for (int32_t removed = 0; removed <= 5; removed++) {
        session s = begin("indexed+over_removal_index_left");
        run(&s, KVC_APPEND, 3);
        run(&s, KVC_CROP, -removed);
        cr_expect_eq(s.seen->length[0], removed < 3 ? 3 - removed : 0);
        cr_expect_str_eq(tokens(&s, "indexer_keys", 2, 0), left[removed], "crop %d", -removed);
        end(&s);
    }
}

Test(builtin, aborts, .signal = SIGABRT) {
    session s = begin("full+aborts_when_empty_again");
    run(&s, KVC_APPEND, 1);
    run(&s, KVC_CROP, -1);
    run(&s, KVC_CROP, -1);
}

/* Two observations show the same, but for addresses. */
static void expect_same(const kvc_observation *a, const kvc_observation *b, const char *variant) {
    cr_assert_eq(a->outcome, b->outcome, "%s", variant);
    cr_assert_eq(a->tensors, b->tensors, "%s", variant);
    for (int32_t layer = 0; layer < a->layers; layer++) {
        cr_expect_eq(a->length[layer], b->length[layer], "%s", variant);
        cr_expect_eq(a->position[layer], b->position[layer], "%s", variant);
    }
    for (int32_t at = 0; at < a->tensors; at++) {
        const kvc_tensor *left = &a->tensor[at];
        const kvc_tensor *right = &b->tensor[at];
        size_t size = kvc_dtype_size((kvc_dtype)left->dtype);
        cr_assert_str_eq(left->name, right->name);
        cr_assert_eq(left->dims, right->dims);
        for (int32_t axis = 0; axis < left->dims; axis++) {
            cr_assert_eq(left->shape[axis], right->shape[axis], "%s: %s", variant, left->name);
            size *= (size_t)left->shape[axis];
        }
        cr_assert(size == 0 || memcmp(left->data, right->data, size) == 0, "%s: %s", variant, left->name);
    }
}

/* A renewed cache is a fresh one, whatever was done before: it grew, has other rows, records, watches and is past its window. */
Test(builtin, renewed) {
    for (size_t at = 0; kvc_builtin_plugin()->variant(at) != NULL; at++) {
        const char *variant = kvc_builtin_plugin()->variant(at);
        kvc_params params = params_of_tests();
        params.watch = 1;
        if (strchr(variant, '+') != NULL) {
            continue;
        }
        session used = begin_with(variant, &params, "full+window");
        session fresh = begin_with(variant, &params, "full+window");
        run(&used, KVC_RECORD, 1);
        run(&used, KVC_APPEND, 40);
        run(&used, KVC_APPEND, 3);
        run(&used, KVC_CROP, -2);
        run_rows(&used, KVC_SELECT, 0, 0);
        run(&used, KVC_REPEAT, 3);
        run(&used, KVC_APPEND, 2);
        cr_assert(kvc_builtin_plugin()->renew(used.cache), "%s", variant);
        used.next = 0;
        for (int32_t step = 0; step < 6; step++) {
            static const int32_t sizes[6] = {2, -1, 3, 0, 1, -9};
            run(&used, sizes[step] > 0 ? KVC_APPEND : KVC_CROP, sizes[step]);
            run(&fresh, sizes[step] > 0 ? KVC_APPEND : KVC_CROP, sizes[step]);
            expect_same(used.seen, fresh.seen, variant);
        }
        end(&used);
        end(&fresh);
    }
}

/* One that takes the place of another, of any variant and size, is a fresh one; a copy was made before, and is made again. */
Test(builtin, reopened) {
    static const int32_t dtypes[3] = {KVC_FLOAT32, KVC_FLOAT16, KVC_FLOAT64};
    kvc_params params = params_of_tests();
    params.watch = 1;
    session used = begin_with("full", &params, "");
    run(&used, KVC_APPEND, 40);
    for (size_t at = 0; kvc_builtin_plugin()->variant(at) != NULL; at++) {
        const char *variant = kvc_builtin_plugin()->variant(at);
        if (strchr(variant, '+') != NULL) {
            continue;
        }
        params.dtype = dtypes[at % 3];
        params.heads = 1 + (int32_t)(at % 2);
        session fresh = begin_with(variant, &params, "full+window");
        used.cache = kvc_builtin_plugin()->reopen(used.cache, variant, &params, "", "full+window");
        cr_assert_not_null(used.cache, "%s", variant);
        used.next = 0;
        for (int32_t step = 0; step < 6; step++) {
            static const int32_t sizes[6] = {2, -1, 3, 0, 1, -9};
            run(&used, sizes[step] > 0 ? KVC_APPEND : KVC_CROP, sizes[step]);
            run(&fresh, sizes[step] > 0 ? KVC_APPEND : KVC_CROP, sizes[step]);
            expect_same(used.seen, fresh.seen, variant);
            run(&used, KVC_COPY, 0);
            run(&fresh, KVC_COPY, 0);
            expect_same(used.seen, fresh.seen, variant);
        }
        end(&fresh);
    }
    used.cache = kvc_builtin_plugin()->reopen(used.cache, "unheard_of", &params, "", "");
    cr_expect_null(used.cache);
    end(&used);
}

Test(builtin, unknown_names) {
    kvc_params params = params_of_tests();
    const kvc_plugin *plugin = kvc_builtin_plugin();
    cr_expect_null(plugin->open("unheard_of", &params, "", ""));
    cr_expect_null(plugin->open("full+nothing", &params, "", ""));
    cr_expect_null(plugin->open("full+index_not_cropped", &params, "", ""));
    cr_expect_null(plugin->open("layers", &params, "", "full+layers"));
    cr_expect_null(plugin->open("layers", &params, "", "full+full+full+full+full+full+full+full+full"));
    params.batch = 0;
    cr_expect_null(plugin->open("full", &params, "", ""));
    plugin->close(NULL);
}

Test(builtin, table_of_faults) {
    static const char *const laws[] = {"ALIVE", "CALL",   "HONEST", "REFUSE", "ATOMIC",  "CLAMP", "ZERO",
                                       "RESET", "BATCH",  "LENGTH", "INDEX",  "STATE",   "KEYS",  "VALUES",
                                       "RETURN", "MASK",  "ADDRESS", "ALIAS", "RESUME",  "CHUNK", "POSITION"};
    const kvc_builtin_fault *table = NULL;
    const kvc_plugin *plugin = kvc_builtin_plugin();
    size_t count = kvc_builtin_faults(&table);
    size_t correct = 0;
    size_t variants = 0;
    while (strchr(plugin->variant(correct), '+') == NULL) {
        correct++;
    }
    cr_expect_geq(count, 40u);
    while (plugin->variant(variants) != NULL) {
        variants++;
    }
    cr_expect_eq(variants, count + correct);
    for (size_t law = 0; law < sizeof laws / sizeof laws[0]; law++) {
        size_t uses = 0;
        for (size_t i = 0; i < count; i++) {
            uses += strcmp(table[i].law, laws[law]) == 0;
        }
        cr_expect_geq(uses, 1u, "%s", laws[law]);
    }
    for (size_t i = 0; i < count; i++) {
        char name[128];
        kvc_params params = params_of_tests();
        (void)snprintf(name, sizeof name, "%s+%s", table[i].variant, table[i].fault);
        cr_expect_str_eq(plugin->variant(correct + i), name);
        kvc_cache *cache = plugin->open(name, &params, "", "full+window");
        cr_expect_not_null(cache, "%s", name);
        plugin->close(cache);
    }
}
