/*
 * Rows with lengths of their own: what each op makes of the logs, what can be taken back, and which tensors and masks are right.
 */
#include "tests/unit/support.h"

#include "reference/judge.h"
#include "reference/rows_check.h"

static kvc_catalogue catalogue;
static kvc_plan plan;
static kvc_model model;

/* A model of a shipped spec with two rows, a window or a ring of 3 where it has one, and the choice `layers` of layers. */
static void begin_of(const char *subject, const char *contract, const char *variant, int layers) {
    kvc_error error = {""};
    kvc_params params = kvc_params_standard();
    params.batch = 2;
    params.window = params.capacity = 3;
    params.key_dim = 8;
    params.value_dim = 2;
    params.states = 1;
    params.layers = layers;
    read_shipped(&catalogue);
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, contract),
                            kvc_catalogue_spec(&catalogue, subject, variant), variant, &params, &plan, &error),
              "%s", error.text);
    cr_assert(kvc_model_open(&model, &plan));
}

/* The same of a built-in cache. */
static void begin(const char *variant) {
    begin_of("builtin", "builtin-1", variant, 0);
}

static void end(void) {
    kvc_model_close(&model);
    kvc_catalogue_clear(&catalogue);
}

/* The rows as text: numbers of their tokens, those of another row of origin with it: "0 1 | 0 2@0". */
static const char *logs(void) {
    static char out[512];
    int used = 0;
    for (int32_t row = 0; row < model.rows; row++) {
        const kvc_row_log *log = &model.own.row[row];
        used += snprintf(out + used, sizeof out - (size_t)used, "%s", row > 0 ? " |" : "");
        for (int32_t at = 0; at < log->length; at++) {
            const kvc_row_run *run = kvc_row_run_of(log, at);
            used += snprintf(out + used, sizeof out - (size_t)used, " %d", (int)(run->number + (at - run->begin)));
            if (run->origin != row) {
                used += snprintf(out + used, sizeof out - (size_t)used, "@%d", run->origin);
            }
        }
    }
    return out;
}

/* Performs one op; returns "do", "either", "refuse" or "unspecified". */
static const char *perform(const char *text) {
    static const char *const words[] = {"do", "either", "refuse"};
    kvc_op op = op_of(text);
    kvc_expectation expectation;
    kvc_model_expect(&model, &op, &expectation);
    cr_assert_not_null(expectation.rule, "%s", text);
    if (expectation.unspecified) {
        return "unspecified";
    }
    cr_assert(kvc_model_commit(&model, &op, &expectation, expectation.verdict == KVC_MUST_REFUSE), "%s", text);
    return words[expectation.verdict];
}

typedef struct line {
    const char *op;
    const char *verdict;
    const char *logs;
} line;

static void walk(const line *lines, size_t count) {
    for (size_t at = 0; at < count; at++) {
        cr_expect_str_eq(perform(lines[at].op), lines[at].verdict, "line %zu, %s", at + 1, lines[at].op);
        cr_expect_str_eq(logs(), lines[at].logs, "line %zu, %s: is \"%s\", expected \"%s\"", at + 1, lines[at].op, logs(),
                         lines[at].logs);
    }
}
#define WALK(lines) walk(lines, sizeof(lines) / sizeof(lines)[0])

Test(rows, logs) {
    static const line lines[] = {{"append 1", "do", " 0 | 0"},
                                 {"append_rows 1 2", "do", " 0 1 | 0 1 2"},
                                 {"append_rows 0 1", "do", " 0 1 | 0 1 2 3"},
                                 {"append_rows 0 0", "unspecified", " 0 1 | 0 1 2 3"},
                                 {"append_rows 1", "unspecified", " 0 1 | 0 1 2 3"},
                                 {"crop -1", "do", " 0 | 0 1 2"},
                                 {"crop -2", "do", " | 0"},
                                 {"append 1", "do", " 4 | 0 4"},
                                 {"extend 0 2", "do", " 4 | 0 4 | | 5@1 6@1"},
                                 {"select 3 1 0", "do", " 5@1 6@1 | 0 4 | 4@0"},
                                 {"split 1 0", "do", " 0@1 4@1 | 4@0 | 5@1 6@1 7@0"},
                                 {"split 0 0 1 2", "unspecified", " 0@1 4@1 | 4@0 | 5@1 6@1 7@0"},
                                 {"split 0 1 0", "unspecified", " 0@1 4@1 | 4@0 | 5@1 6@1 7@0"},
                                 {"merge 2 2 0", "do", " 5@1 6@1 7 | 5 6 7@0 | 0@1 4@1"},
                                 {"extract 2", "do", " 0@1 4@1"},
                                 {"select 0", "unspecified", " 0@1 4@1"},
                                 {"append_rows 1", "unspecified", " 0@1 4@1"},
                                 {"extend 1", "unspecified", " 0@1 4@1"},
                                 {"append 1", "do", " 0@1 4@1 8"},
                                 {"merge 0", "do", " 0@1 4@1 8"},
                                 {"append_rows 1", "do", " 0@1 4@1 8 9"},
                                 {"crop 1", "refuse", " 0@1 4@1 8 9"},
                                 {"crop -9", "do", ""},
                                 {"extract 0", "unspecified", ""}};
    begin("ragged");
    cr_expect_str_eq(perform("extract 0"), "unspecified");
    cr_expect_str_eq(perform("merge 0"), "unspecified");
    cr_expect_str_eq(perform("crop -1"), "do");
    WALK(lines);
    end();
}

/* A window of 3 holds two tokens between calls, and may hold what it held before the last append. */
Test(rows, window) {
    static const line lines[] = {{"append 2", "do", " 0 1 | 0 1"},
                                 {"crop -1", "do", " 0 | 0"},
                                 {"append 3", "do", " 0 2 3 4 | 0 2 3 4"},
                                 {"crop -1", "either", " 0 2 3 | 0 2 3"},
                                 {"append 1", "do", " 0 2 3 5 | 0 2 3 5"},
                                 {"append 1", "do", " 0 2 3 5 6 | 0 2 3 5 6"},
                                 {"crop -2", "refuse", " 0 2 3 5 6 | 0 2 3 5 6"},
                                 {"crop -5", "either", " |"},
                                 {"append_rows 1 2", "do", " 7 | 7 8"},
                                 {"crop -1", "either", " | 7"}};
    kvc_row_extent extent;
    begin("ragged_window");
    WALK(lines);
    perform("append 4");
    kvc_rows_stored(&model, 0, 1, &extent);
    cr_expect(extent.end == 5 && extent.first == 3 && extent.least == 0, "%d %d %d", (int)extent.end, (int)extent.first,
              (int)extent.least);
    cr_expect(kvc_rows_returned(&model, 0, 1, &extent));
    cr_expect(extent.end == 5 && extent.first == 0 && extent.right == 0);
    perform("append_rows 2 1");
    cr_expect(kvc_rows_returned(&model, 0, 1, &extent));
    cr_expect(extent.end == 6 && extent.first == 3 && extent.right == 1, "%d %d %d", (int)extent.end, (int)extent.first,
              (int)extent.right);
    end();
}

/* In calls of two tokens row 0 gets its only one in the first, and of the last call nothing is said of it. */
Test(rows, chunks) {
    kvc_row_extent extent;
    begin("ragged");
    plan.params.chunk = 2;
    perform("append_rows 1 3");
    cr_expect_eq(model.own.call, 1);
    cr_expect(kvc_rows_returned(&model, 0, 0, &extent) && extent.skipped);
    cr_expect(kvc_rows_returned(&model, 0, 1, &extent) && !extent.skipped && extent.right == 0);
    end();
}

/* A tensor of keys, rows in words as in support.h. */
static kvc_tensor keys_of(const char *text, float *data) {
    cells row;
    int width = 0;
    int32_t rows = 0;
    for (const char *rest = text; *rest != '\0'; rows++) {
        rest = read_cells(rest, (int)rows, &row);
        cr_assert(rows == 0 || row.count == width, "%s", text);
        width = row.count;
        for (int cell = 0; cell < width; cell++) {
            for (int channel = 0; channel < 8; channel++) {
                float value = row.cell[cell].kind == '0'   ? 0.0f
                              : row.cell[cell].kind == '?' ? 0.5f
                                                           : (float)kvc_value(0, row.cell[cell].number, row.cell[cell].row, 0, channel);
                data[(rows * width + cell) * 8 + channel] = value;
            }
        }
    }
    return (kvc_tensor){.name = "keys", .data = data, .shape = {rows, 1, width, 8}, .dims = 4, .dtype = KVC_FLOAT32};
}

static void expect_keys(kvc_encoder *encoder, const char *text, kvc_deviation deviation, int32_t wrong) {
    static float data[7 * 32 * 8];
    int32_t row;
    kvc_tensor tensor = keys_of(text, data);
    kvc_deviation have = kvc_rows_check_stored(encoder, &model, 0, &tensor, &row);
    cr_expect_eq(have, deviation, "%s: %s", text, kvc_deviation_text(have));
    if (deviation != KVC_AS_EXPECTED) {
        cr_expect_eq(row, wrong, "%s: row %d", text, (int)row);
    }
}

Test(rows, stored_tensors) {
    kvc_encoder *encoder = kvc_encoder_open();
    begin("ragged");
    perform("append_rows 1 2");
    expect_keys(encoder, "- 0 | 0 1", KVC_AS_EXPECTED, 0);
    expect_keys(encoder, "? 0 | 0 1", KVC_AS_EXPECTED, 0);
    expect_keys(encoder, "7 - 0 | ? 0 1", KVC_AS_EXPECTED, 0);
    expect_keys(encoder, "0 - | 0 1", KVC_WRONG_VALUE, 0);
    expect_keys(encoder, "- 0 | 1 0", KVC_WRONG_ORDER, 1);
    expect_keys(encoder, "- 0 | 0 1@0", KVC_WRONG_ROW, 1);
    expect_keys(encoder, "- 0 | 0 2", KVC_STALE, 1);
    expect_keys(encoder, "0 | 1", KVC_SHORT, 1);
    expect_keys(encoder, "- 0 | 0 1 | 0 1", KVC_WRONG_SHAPE, 0);
    perform("extract 1");
    expect_keys(encoder, "0@1 1@1", KVC_AS_EXPECTED, 0);
    expect_keys(encoder, "- 0@1 1@1", KVC_LONG, 0);
    end();
    kvc_encoder_close(encoder);
}

static void expect_mask(kvc_encoder *encoder, const char *keys, const int64_t *mask, int64_t queries, int64_t width,
                        kvc_deviation deviation) {
    static float data[7 * 32 * 8];
    kvc_tensor returned = keys_of(keys, data);
    kvc_row_query wrong;
    kvc_tensor tensor = {.name = "returned.mask", .data = mask, .shape = {2, queries, width}, .dims = 3, .dtype = KVC_INT64};
    kvc_deviation have = kvc_rows_check_mask(encoder, &model, 2, &returned, &tensor, &wrong);
    cr_expect_eq(have, deviation, "%s: %s", keys, kvc_deviation_text(have));
}

Test(rows, masks) {
    static const int64_t blind[] = {1, 0, 1, 1, 1, 0, 0, 1};
    static const int64_t padding[] = {0, 1, 1, 1, 1, 1};
    static const int64_t exact[] = {0, 0, 1, 1, 1, 1};
    static const int64_t short_one[] = {0, 0, 1, 0, 0, 1};
    static const int64_t misplaced[] = {0, 1, 0, 0, 1, 1};
    kvc_encoder *encoder = kvc_encoder_open();
    begin("ragged");
    perform("append_rows 1 2");
    /* What stands right of a row's tokens may hold anything, and queries there are not looked at. */
    {
        static const int64_t mask[] = {1, 0, 1, 1, 1, 0, 1, 1};
        expect_mask(encoder, "0 ? | 0 1", mask, 2, 2, KVC_AS_EXPECTED);
        expect_mask(encoder, "0 ? | 0 1", blind, 2, 2, KVC_SHORT);
    }
    perform("crop -1");
    perform("append 1");
    expect_mask(encoder, "- - 2 | - 0 2", (const int64_t[]){0, 0, 1, 0, 1, 1}, 1, 3, KVC_AS_EXPECTED);
    expect_mask(encoder, "- - 2 | - 0 2", padding, 1, 3, KVC_LONG);
    expect_mask(encoder, "- - 2 | - 0 2", exact, 1, 3, KVC_LONG);
    expect_mask(encoder, "- - 2 | - 0 2", short_one, 1, 3, KVC_SHORT);
    expect_mask(encoder, "- - 2 | - 0 2", misplaced, 1, 3, KVC_WRONG_VALUE);
    expect_mask(encoder, "- - 2 | - 0 2", exact, 3, 1, KVC_WRONG_SHAPE);
    end();
    kvc_encoder_close(encoder);
}

Test(rows, numbers_of_rows) {
    static const int64_t right[] = {1, 2};
    static const int64_t low[] = {1, 1};
    static const int64_t negative[] = {-1, 2};
    int32_t row;
    kvc_tensor tensor = {.name = "rows.position", .data = right, .shape = {2}, .dims = 1, .dtype = KVC_INT64};
    begin("ragged");
    perform("append_rows 1 2");
    cr_expect_eq(kvc_rows_check_numbers(&model, NULL, &row), KVC_AS_EXPECTED);
    cr_expect_eq(kvc_rows_check_numbers(&model, &tensor, &row), KVC_AS_EXPECTED);
    tensor.data = low;
    cr_expect(kvc_rows_check_numbers(&model, &tensor, &row) == KVC_TOO_LOW && row == 1);
    tensor.data = negative;
    cr_expect(kvc_rows_check_numbers(&model, &tensor, &row) == KVC_NEGATIVE && row == 0);
    tensor.shape[0] = 1;
    cr_expect_eq(kvc_rows_check_numbers(&model, &tensor, &row), KVC_WRONG_SHAPE);
    end();
}

Test(rows, ops) {
    static const struct {
        const char *text;
        const char *written;
        int32_t tokens;
        int32_t rows; /* of a batch of two */
        int64_t weight;
    } table[] = {{"append_rows 0 3", "append_rows [0, 3]", 3, 2, 4},
                 {"append_rows 1", "append_rows [1]", 1, 0, 2},
                 {"merge 1 1 0", "merge [1, 1, 0]", 0, 3, 1},
                 {"merge 2", "merge [2]", 0, 0, 1},
                 {"extract 1", "extract 1", 0, 1, 2},
                 {"extract 2", "extract 2", 0, 0, 3},
                 {"extend 2 1", "extend [2, 1]", 2, 4, 4},
                 {"extend 1 1 1 1 1 1", "extend [1, 1, 1, 1, 1, 1]", 1, 0, 7},
                 {"split 2 1", "split 2 [1]", 2, 2, 3},
                 {"split 0 0 1", "split 0 [0, 1]", 0, 0, 1}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_op op = op_of(table[at].text);
        char text[64];
        (void)kvc_op_format(&op, text, sizeof text);
        cr_expect_str_eq(text, table[at].written);
        cr_expect_eq(kvc_op_tokens(&op), table[at].tokens, "%s", text);
        cr_expect_eq(kvc_op_rows_after(&op, 2), table[at].rows, "%s", text);
        cr_expect_eq(kvc_op_weight(&op), table[at].weight, "%s", text);
    }
}

/* The state tensor of two rows that fold these tokens, each written as the row behind it; a row of zeros where the fold is 0. */
static kvc_deviation check_states(kvc_encoder *encoder, int32_t first, int row_of_first, int32_t second, int row_of_second, int32_t *wrong) {
    static float data[2][16];
    const int32_t fold[] = {first, second};
    const int row[] = {row_of_first, row_of_second};
    kvc_tensor tensor = {.name = "states.0", .data = data, .shape = {2, 1, 8, 2}, .dims = 4, .dtype = KVC_FLOAT32};
    for (int at = 0; at < 2; at++) {
        for (int channel = 0; channel < 16; channel++) {
            data[at][channel] = fold[at] == 0 ? 0.0f : (float)kvc_value(2, fold[at], row[at], 0, channel);
        }
    }
    return kvc_rows_check_stored(encoder, &model, 0, &tensor, wrong);
}

/* A state folds the tokens of its row, whoever pads it; that of an empty row is zeros. */
Test(rows, states) {
    static const line lines[] = {{"trim 1", "do", " |"},
                                 {"append 1", "do", " 0 | 0"},
                                 {"trim 1", "refuse", " 0 | 0"},
                                 {"trim 0", "do", " 0 | 0"},
                                 {"append_rows 0 2", "do", " 0 | 0 1 2"}};
    kvc_encoder *encoder = kvc_encoder_open();
    int32_t one = kvc_value_fold(0, 0);
    int32_t three = kvc_value_fold(kvc_value_fold(one, 1), 2);
    int32_t row;
    begin_of("mlx-lm", "mlx-lm-0.32", "ArraysCache-batch", 0);
    cr_expect_eq(check_states(encoder, 0, 0, 0, 0, &row), KVC_AS_EXPECTED);
    cr_expect_eq(check_states(encoder, 0, 0, one, 1, &row), KVC_STALE);
    cr_expect_eq(row, 1);
    WALK(lines);
    cr_expect_eq(kvc_rows_fold(&model.own.row[1]), three);
    cr_expect_eq(check_states(encoder, one, 0, three, 1, &row), KVC_AS_EXPECTED);
    cr_expect_eq(check_states(encoder, one, 0, one, 1, &row), KVC_WRONG_ROW);
    cr_expect_eq(row, 1);
    cr_expect_eq(check_states(encoder, one, 1, three, 1, &row), KVC_WRONG_VALUE);
    cr_expect_eq(row, 0);
    cr_expect_eq(check_states(encoder, one, 0, 7, 1, &row), KVC_WRONG_VALUE);
    cr_expect_str_eq(perform("extend 0"), "do");
    cr_expect_str_eq(perform("extract 1"), "do");
    cr_expect_str_eq(logs(), " 0@1 1@1 2@1");
    end();
    kvc_encoder_close(encoder);
}

/* Prompts are padded on the right only where a version's caller does it. */
Test(rows, padding_of_callers) {
    begin_of("mlx-lm", "mlx-lm-0.28", "ArraysCache-batch", 0);
    cr_expect_str_eq(perform("append_rows 1 2"), "unspecified");
    cr_expect_eq(kvc_plan_has_op(&plan, KVC_MERGE), 0);
    model.plan = &plan;
    plan.params.left = 1;
    cr_expect_str_eq(perform("append_rows 1 2"), "do");
    cr_expect_str_eq(perform("append_rows 1 2"), "unspecified");
    end();
    begin_of("mlx-lm", "mlx-lm-0.30", "ArraysCache-batch", 0);
    cr_expect_str_eq(perform("append 1"), "do");
    cr_expect_str_eq(perform("append_rows 1 2"), "unspecified");
    cr_expect_str_eq(perform("merge 0 1"), "do");
    cr_expect_str_eq(perform("append_rows 1 2"), "do");
    end();
    /* Of a list with a ring no call has a single token, and the ring's window is none of the other layer's. */
    begin_of("mlx-lm", "mlx-lm-0.32", "CacheList-batch", 2);
    cr_expect_str_eq(perform("append_rows 1 0"), "unspecified");
    cr_expect_str_eq(perform("append_rows 4 2"), "do");
    cr_expect_str_eq(perform("trim 1"), "refuse");
    end();
}

/* What a batch says of itself: extents of the number called `name`. */
static kvc_extent number_of(const char *name) {
    kvc_extent extent = {.kind = KVC_CELL_UNKNOWN, .width = -1};
    for (int at = 0; at < plan.slots; at++) {
        if (strcmp(plan.slot[at].name, name) == 0) {
            plan.slot[at].kind->stored(&model, at, &extent);
            return extent;
        }
    }
    cr_assert_fail("%s is not there", name);
    return extent;
}

/* What is made of a number that the cache raised an error for: an int64 tensor without elements. */
static kvc_deviation raised(const char *name) {
    const kvc_tensor none = {.name = name, .dtype = KVC_INT64, .dims = 1, .shape = {0}};
    kvc_extent extent = number_of(name);
    kvc_encoder *encoder = kvc_encoder_open();
    kvc_deviation found;
    cr_assert_not_null(encoder);
    found = kvc_check_at_length(encoder, &model, 0, &extent, &none);
    kvc_encoder_close(encoder);
    return found;
}

Test(rows, numbers) {
    /* Keys and values of four tokens and one state for each row: 4 bytes for each of 8, 2 and 16 channels. */
    begin_of("mlx-lm", "mlx-lm-0.32", "CacheList-batch", 0);
    cr_expect_eq(number_of("layer1.list_unused").end, 1);
    cr_expect_eq(number_of("layer1.list_bytes").end, 0);
    perform("append_rows 3 1");
    cr_expect_eq(number_of("layer0.list_unused").end, 0);
    cr_expect_eq(number_of("layer0.list_bytes").kind, KVC_CELL_AT_LEAST);
    cr_expect_eq(number_of("layer0.list_bytes").end, 2 * 64 + 4 * 40);
    cr_expect_eq(number_of("layer0.bytes").end, 2 * 64);
    cr_expect_eq(number_of("layer1.bytes").end, 4 * 40);
    cr_expect_eq(number_of("layer0.list_size").kind, KVC_CELL_AT_LEAST);
    cr_expect_eq(number_of("layer0.list_size").end, 3);
    perform("extract 1");
    cr_expect_eq(number_of("layer1.list_size").kind, KVC_CELL_NUMBER);
    cr_expect_eq(number_of("layer1.list_size").end, 1);
    end();
    begin_of("mlx-lm", "mlx-lm-0.32", "BatchKVCache", 0);
    perform("append 1");
    cr_expect_eq((int)raised("bytes"), KVC_RAISED);
    cr_expect_eq((int)raised("unused"), KVC_RAISED);
    perform("trim 1");
    cr_expect_eq(number_of("unused").kind, KVC_CELL_UNKNOWN);
    cr_expect_eq((int)raised("unused"), KVC_AS_EXPECTED, "no text says what it is then");
    end();
}
