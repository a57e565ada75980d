/* The model of a cache that holds several sequences: verdicts, positions, and when a fresh cache can tell what follows; ops as JSON. */
#include "tests/unit/support.h"

#include "harness/case.h"
#include "harness/sequences_compare.h"
#include "reference/model.h"

enum { D = KVC_DECODE, RM = KVC_SEQ_RM, CP = KVC_SEQ_CP, KEEP = KVC_SEQ_KEEP, ADD = KVC_SEQ_ADD, DIV = KVC_SEQ_DIV, SAVE = KVC_SEQ_SAVE,
       RESTORE = KVC_SEQ_RESTORE };

/* An op and what follows from it for sequence 0: `most` and `least` positions, and whether a fresh cache can tell. */
typedef struct line {
    int kind;
    int a, b, c, d; /* decode: sequence, n; the others: their arguments in order */
    int verdict;    /* kvc_verdict, -1: no text says what happens */
    int refused;    /* what the cache does */
    int most;
    int pure;
} line;

static kvc_op make_op(const line *what) {
    const int argument[4] = {what->a, what->b, what->c, what->d};
    kvc_op op = {.kind = (uint8_t)what->kind};
    if (what->kind == D) {
        op.rows[op.count++] = (uint8_t)what->a;
        op.n = what->b;
        op.begin = what->c;
        return op;
    }
    for (int at = 0; kvc_op_arguments((kvc_op_kind)what->kind)[at] != '\0'; at++) {
        kvc_op_set_argument(&op, kvc_op_arguments((kvc_op_kind)what->kind)[at], argument[at]);
    }
    return op;
}

static void follow(const char *variant, const char *parts, const line *lines, size_t count) {
    kvc_catalogue catalogue;
    kvc_plan plan;
    kvc_model model;
    kvc_error error = {""};
    read_shipped(&catalogue);
    const kvc_spec *spec = kvc_catalogue_spec(&catalogue, "llama.cpp", variant);
    cr_assert_not_null(spec);
    kvc_params params = kvc_params_standard();
    params.sequences = 3;
    params.capacity = 256;
    params.window = 4;
    params.snapshots = strcmp(variant, "hybrid_snapshots") == 0 ? 2 : 0;
    for (int at = 0; at < spec->parts; at++) {
        params.parts = strcmp(spec->part_choice[at], parts) == 0 ? at : params.parts;
    }
    cr_assert(kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "llama.cpp-0.5"), spec, variant, &params, &plan, &error),
              "%s", error.text);
    cr_assert(kvc_model_open(&model, &plan));
    for (size_t at = 0; at < count; at++) {
        const line *now = &lines[at];
        kvc_op op = make_op(now);
        kvc_expectation expectation;
        char text[160];
        int32_t most, low, high;
        kvc_model_expect(&model, &op, &expectation);
        (void)kvc_op_format(&op, text, sizeof text);
        cr_expect_eq(expectation.unspecified ? -1 : (int)expectation.verdict, now->verdict, "%s, line %zu: %s", variant, at, text);
        if (expectation.unspecified) {
            continue;
        }
        cr_assert(kvc_model_commit(&model, &op, &expectation, now->refused));
        kvc_sequences_positions(&model, 0, &most, &low, &high);
        cr_expect_eq(most, now->most, "%s, line %zu: %s: %d", variant, at, text, (int)most);
        cr_expect_eq((int)model.sequences->log[0].pure, now->pure, "%s, line %zu: %s", variant, at, text);
    }
    kvc_model_close(&model);
    kvc_catalogue_clear(&catalogue);
}

#define FOLLOW(variant, parts, ...)                                                                                              \
    do {                                                                                                                         \
        static const line lines[] = {__VA_ARGS__};                                                                               \
        follow(variant, parts, lines, sizeof lines / sizeof lines[0]);                                                           \
    } while (0)

Test(sequences, full) {
    FOLLOW("full", "unified+f32", {D, 0, 5, 0, 0, KVC_DO, 0, 4, 1}, {RM, 0, 3, -1, 0, KVC_DO, 0, 2, 1},
           {D, 0, 1, 1, 0, KVC_MUST_REFUSE, 1, 2, 1}, {D, 0, 1, -1, 0, KVC_MUST_REFUSE, 1, 2, 1}, {CP, 0, 1, -1, -1, KVC_DO, 0, 2, 1},
           {CP, 0, 1, -1, -1, -1, 0, 0, 0}, {ADD, 0, -1, -1, 2, -1, 0, 0, 0}, {RM, 1, -1, -1, 0, KVC_DO, 0, 2, 1},
           {ADD, 0, -1, -1, 2, KVC_DO, 0, 4, 1}, {ADD, 0, -1, -1, -3, -1, 0, 0, 0}, {RM, 0, 3, 4, 0, KVC_DO, 0, 4, 0},
           {RM, -1, -1, -1, 0, KVC_DO, 0, -1, 1}, {D, 0, 2, 7, 0, KVC_EITHER, 0, 8, 1}, {DIV, 0, -1, -1, 2, KVC_DO, 0, 4, 0},
           {KEEP, 1, 0, 0, 0, KVC_DO, 0, -1, 1});
    FOLLOW("full", "unified+f32", {D, 0, 200, 0, 0, KVC_DO, 0, 199, 1}, {D, 1, 57, 0, 0, KVC_MUST_REFUSE, 1, 199, 1},
           {D, 1, 56, 0, 0, KVC_DO, 0, 199, 1}, {D, 0, 257, 0, 0, -1, 0, 0, 0}, {RM, 1, -1, -1, 0, KVC_DO, 0, 199, 1},
           {CP, 0, 1, -1, -1, KVC_DO, 0, 199, 1}, {D, 1, 56, 0, 0, KVC_DO, 0, 199, 1}, {D, 0, 1, 0, 0, KVC_MUST_REFUSE, 1, 199, 1});
    FOLLOW("full", "split+f32", {D, 0, 200, 0, 0, KVC_DO, 0, 199, 1}, {D, 1, 200, 0, 0, KVC_DO, 0, 199, 1},
           {D, 1, 57, 0, 0, KVC_MUST_REFUSE, 1, 199, 1}, {CP, 0, 2, -1, 5, -1, 0, 0, 0}, {CP, 0, 2, -1, -1, KVC_DO, 0, 199, 1});
}

Test(sequences, saving) {
    FOLLOW("full", "unified+f32", {RESTORE, 0, 0, 0, 0, -1, 0, 0, 0}, {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {SAVE, 0, 0, 0, 0, KVC_DO, 0, 2, 1},
           {D, 0, 2, 0, 0, KVC_DO, 0, 4, 1}, {RESTORE, 0, 4, 0, 0, KVC_MUST_REFUSE, 1, 4, 1}, {RESTORE, 0, 0, 0, 0, KVC_DO, 0, 2, 1},
           {SAVE, 1, 0, 0, 0, KVC_DO, 0, 2, 1}, {RESTORE, 0, 4, 0, 0, -1, 0, 0, 0}, {RESTORE, 0, 0, 0, 0, KVC_DO, 0, -1, 1});
}

Test(sequences, damages) {
    /* Bytes behind a whole state may be left unread; what only a file has can be damaged in a file alone. */
    FOLLOW("full", "unified+f32", {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {SAVE, 0, 0, 0, 0, KVC_DO, 0, 2, 1}, {D, 0, 1, 0, 0, KVC_DO, 0, 3, 1},
           {RESTORE, 0, KVC_DAMAGE_LONGER, 0, 0, KVC_EITHER, 1, 3, 1}, {RESTORE, 0, KVC_DAMAGES_OF_FILES - 1, 0, 0, KVC_MUST_REFUSE, 1, 3, 1},
           {RESTORE, 0, KVC_DAMAGES_OF_FILES, 0, 0, -1, 0, 0, 0}, {RESTORE, 0, KVC_DAMAGE_LONGER, 0, 0, KVC_EITHER, 0, 2, 1});
    FOLLOW("full", "unified+f32+file", {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {SAVE, 0, 0, 0, 0, KVC_DO, 0, 2, 1},
           {RESTORE, 0, KVC_DAMAGES, 0, 0, KVC_MUST_REFUSE, 1, 2, 1}, {RESTORE, 0, KVC_DAMAGES + 1, 0, 0, -1, 0, 0, 0});
}

Test(sequences, checkpoints) {
    /* It is restored where the rest of what it was taken of is still there, into the same sequence and as it was. */
    FOLLOW("hybrid", "unified+f32+checkpoint", {SAVE, 0, 0, 0, 0, KVC_DO, 0, -1, 1}, {RESTORE, 0, 0, 0, 0, -1, 0, 0, 0},
           {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {SAVE, 0, 0, 0, 0, KVC_DO, 0, 2, 1}, {D, 0, 2, 0, 0, KVC_DO, 0, 4, 1},
           {RESTORE, 1, 0, 0, 0, -1, 0, 0, 0}, {RESTORE, 0, 3, 0, 0, -1, 0, 0, 0}, {RESTORE, 0, 0, 0, 0, KVC_DO, 0, 2, 1},
           {D, 0, 1, 0, 0, KVC_DO, 0, 3, 1}, {ADD, 0, -1, -1, 1, KVC_DO, 0, 4, 1}, {RESTORE, 0, 0, 0, 0, -1, 0, 0, 0},
           {RM, 0, -1, -1, 0, KVC_DO, 0, -1, 1}, {D, 0, 4, 0, 0, KVC_DO, 0, 3, 1}, {RESTORE, 0, 0, 0, 0, -1, 0, 0, 0});
    FOLLOW("hybrid", "unified+f32+checkpoint", {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {SAVE, 0, 0, 0, 0, KVC_DO, 0, 2, 1},
           {CP, 0, 1, -1, -1, KVC_DO, 0, 2, 1}, {D, 0, 1, 0, 0, KVC_DO, 0, 3, 1}, {RESTORE, 0, 0, 0, 0, KVC_EITHER, 0, 2, 1});
}

Test(sequences, states) {
    FOLLOW("recurrent", "", {D, 0, 5, 0, 0, KVC_DO, 0, 4, 1}, {RM, 0, 4, -1, 0, KVC_MUST_REFUSE, 1, 4, 1},
           {RM, 0, 0, 2, 0, KVC_EITHER, 0, 4, 1}, {RM, 0, 5, -1, 0, KVC_DO, 0, 4, 1}, {CP, 0, 1, 1, -1, -1, 0, 0, 0},
           {RM, 0, 0, 5, 0, KVC_DO, 0, -1, 1});
    FOLLOW("hybrid_snapshots", "unified+f32", {D, 0, 5, 0, 0, KVC_DO, 0, 4, 1}, {RM, 0, 3, -1, 0, KVC_EITHER, 0, 2, 1},
           {RM, 0, 1, -1, 0, KVC_EITHER, 1, 2, 1}, {D, 0, 4, 0, 0, KVC_DO, 0, 6, 1}, {RM, 0, 4, -1, 0, KVC_MUST_REFUSE, 1, 6, 1},
           {RM, 0, 2, 4, 0, KVC_EITHER, 0, 6, 0}, {RM, 0, -1, -1, 0, KVC_DO, 0, -1, 1});
}

Test(sequences, windows) {
    FOLLOW("window", "unified+f32", {D, 0, 3, 0, 0, KVC_DO, 0, 2, 1}, {RM, 0, 2, -1, 0, KVC_DO, 0, 1, 1}, {D, 0, 8, 0, 0, KVC_DO, 0, 9, 1},
           {RM, 0, 9, -1, 0, KVC_EITHER, 0, 8, 0}, {RM, 0, -1, -1, 0, KVC_DO, 0, -1, 1});
    /* A window may be full of cells that two sequences share: for a third too. */
    FOLLOW("window", "unified+f32", {D, 0, 200, 0, 0, KVC_DO, 0, 199, 1}, {D, 2, 1, 0, 0, KVC_DO, 0, 199, 1}, {CP, 0, 1, -1, -1, KVC_DO, 0, 199, 1},
           {D, 2, 1, 0, 0, KVC_EITHER, 1, 199, 1});
}

/* Copies hold the same, and what is done with one shows in it alone. */
Test(sequences, copies) {
    static kvc_sequences one, other;
    kvc_sequences_start(&one);
    one.log[1].count = 2;
    one.log[1].entry[1].position = 7;
    one.saved.count = 1;
    one.saved.entry[0].number = 5;
    one.has_saved = 1;
    one.saved_of = 2;
    one.chunks = 3;
    one.cells = 4;
    kvc_sequences_copy(&other, &one);
    one.log[1].entry[1].position = 8;
    cr_expect_eq(other.log[1].count, 2);
    cr_expect_eq(other.log[1].entry[1].position, 7);
    cr_expect_eq(other.log[0].count, 0);
    cr_expect_eq(other.saved.entry[0].number, 5);
    cr_expect(other.has_saved && other.saved_of == 2 && other.chunks == 3 && other.cells == 4);
}

/* What is not there any more does not stand in the pieces that a fresh cache gets. */
Test(sequences, pieces) {
    kvc_catalogue catalogue;
    kvc_plan plan;
    kvc_model model;
    kvc_error error = {""};
    kvc_sequences_pieces *pieces = malloc(sizeof *pieces);
    static const line lines[] = {{D, 0, 5, 0, 0, 0, 0, 0, 0}, {RM, 0, 3, -1, 0, 0, 0, 0, 0}, {D, 0, 2, 0, 0, 0, 0, 0, 0},
                                 {ADD, 0, -1, -1, 7, 0, 0, 0, 0}};
    read_shipped(&catalogue);
    kvc_params params = kvc_params_standard();
    params.sequences = 1;
    params.capacity = 256;
    cr_assert(pieces != NULL && kvc_plan_make(&catalogue, kvc_catalogue_contract_by_id(&catalogue, "llama.cpp-0.5"),
                                              kvc_catalogue_spec(&catalogue, "llama.cpp", "full"), "full", &params, &plan, &error));
    cr_assert(kvc_model_open(&model, &plan));
    for (size_t at = 0; at < sizeof lines / sizeof lines[0]; at++) {
        kvc_op op = make_op(&lines[at]);
        kvc_expectation expectation;
        kvc_model_expect(&model, &op, &expectation);
        cr_assert(kvc_model_commit(&model, &op, &expectation, 0));
    }
    cr_assert(kvc_sequences_pieces_make(&model, 0, pieces));
    cr_assert_eq(pieces->whole.count, 2);
    cr_expect_eq(pieces->whole.op[0].n, 3);
    cr_expect_eq(pieces->whole.op[0].begin, 7);
    cr_expect_eq(pieces->whole.op[1].n, 2);
    cr_expect_eq(pieces->whole.op[1].begin, 0);
    cr_expect_eq(pieces->numbers[2], 2);
    cr_expect_eq(pieces->numbers[3], 5, "3 and 4 were removed");
    cr_expect_eq(pieces->split.count, 4);
    kvc_model_close(&model);
    kvc_catalogue_clear(&catalogue);
    free(pieces);
}

Test(sequences, ops_as_json) {
    static const char *const good[] = {"[\"decode\",[0,2],9]", "[\"decode\",[1],1,-1]", "[\"seq_rm\",-1,0,7]", "[\"seq_cp\",0,1,-1,-1]",
                                       "[\"seq_keep\",2]",     "[\"seq_add\",0,1,4,-3]", "[\"seq_div\",0,-1,-1,2]", "[\"clear\",0]",
                                       "[\"seq_save\",1]",     "[\"seq_restore\",0,8]"};
    static const char *const bad[] = {"[\"decode\",1,9]",      "[\"decode\",[0],0]",     "[\"decode\",[]]",       "[\"seq_rm\",-2,0,7]",
                                      "[\"seq_cp\",-1,1,0,0]", "[\"seq_keep\"]",         "[\"seq_add\",0,1,4]",   "[\"clear\",2]",
                                      "[\"seq_save\",9]",      "[\"seq_restore\",0,0.5]", "[\"seq_restore\",0,0,0]"};
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    for (size_t at = 0; at < sizeof good / sizeof good[0] + sizeof bad / sizeof bad[0]; at++) {
        size_t goods = sizeof good / sizeof good[0];
        const char *op = at < goods ? good[at] : bad[at - goods];
        kvc_case *item = malloc(sizeof *item);
        kvc_error error = {""};
        char text[400];
        cr_assert_not_null(item);
        (void)snprintf(text, sizeof text,
                       "{\"schema\": \"kvconform-case/1\", \"subject\": \"llama.cpp\", \"variant\": \"full\", \"params\": {\"sequences\": 3}, "
                       "\"ops\": [%s]}",
                       op);
        cr_expect_eq(kvc_case_parse(text, strlen(text), "a case", &catalogue, item, &error), at < goods, "%s: %s", op, error.text);
        if (at < goods) {
            cJSON *ops = kvc_ops_print(item->sequence.op, item->sequence.count);
            char *printed = cJSON_PrintUnformatted(ops);
            cr_assert_not_null(printed);
            cr_expect_eq(strncmp(printed + 1, op, strlen(op)), 0, "%s: %s", op, printed);
            cJSON_free(printed);
            cJSON_Delete(ops);
        }
        free(item);
    }
    kvc_catalogue_clear(&catalogue);
}
