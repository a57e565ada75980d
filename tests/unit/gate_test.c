/* What of the gate is decided without a subject: which findings follow of a known one. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "harness/gate.h"

/* The program's own, which a test does without. */
void kvc_complain(const char *text)
{
    (void)text;
}

/* Whether two known findings together cover another of the same variant. */
static int both_cover(const kvc_finding *first, const kvc_finding *second, const kvc_finding *met)
{
    static const char text[] = "{\"subject\": \"s\", \"variant\": \"v\"}";
    cJSON *json = cJSON_Parse(text);
    kvc_baseline_entry entry = {.id = "K-1", .target = "s:v", .from = "", .to = "", .dtype = "", .platform = "", .item = json};
    kvc_finding shown[] = {*first, *second};
    kvc_gate_item item[] = {{.state = KVC_GATE_KNOWN, .entry = &entry, .shown = &shown[0]},
                            {.state = KVC_GATE_KNOWN, .entry = &entry, .shown = &shown[1]}};
    kvc_gate gate = {.item = item, .items = 2};
    int covered = kvc_gate_covers(&gate, met, "s", "1", "v", NULL);

    cJSON_Delete(json);
    return covered;
}

/* Whether a known finding covers another. */
static int covers(const kvc_finding *known, const kvc_finding *met)
{
    return both_cover(known, known, met);
}

Test(gate, window_of_one)
{
    kvc_finding known = {.failure = {.law = KVC_KEYS, .place = KVC_PLACE_STORED, .deviation = KVC_LONG, .op = KVC_APPEND, .narrow = 1},
                         .law = KVC_KEYS, .shrunk = 1, .sequence = {.count = 1, .op = {{.kind = KVC_APPEND, .n = 1}}}, .wrong = "keys"};
    kvc_finding met = known;

    met.failure.law = KVC_ZERO;
    met.failure.op = KVC_CROP;
    met.failure.step = 1;
    met.sequence.count = 2;
    met.sequence.op[1] = (kvc_op){.kind = KVC_CROP};
    cr_expect(covers(&known, &met), "it holds what it should not, whichever op was done");
    met.failure.narrow = 0;
    cr_expect_not(covers(&known, &met), "a larger window");
    met.failure.narrow = 1;
    known.failure.place = met.failure.place = KVC_PLACE_OUTCOME;
    known.failure.deviation = met.failure.deviation = KVC_REFUSED;
    cr_expect_not(covers(&known, &met), "another op is refused");
}

/* A select that doubles the only row is known to leave the keys behind; on an empty cache an append comes right behind it. */
static void rows_left_behind(kvc_finding *known, kvc_finding *met)
{
    static const kvc_op select = {.kind = KVC_SELECT, .count = 2};

    *known = (kvc_finding){.failure = {.law = KVC_BATCH, .place = KVC_PLACE_STORED, .deviation = KVC_WRONG_SHAPE, .op = KVC_SELECT,
                                       .step = 1, .situation = {.held = 2}},
                           .law = KVC_BATCH, .shrunk = 1, .params = {.batch = 1},
                           .sequence = {.count = 2, .op = {{.kind = KVC_APPEND, .n = 1}}},
                           .wrong = "KEYS", .tensor = "keys of Layer"};
    known->sequence.op[1] = select;
    *met = (kvc_finding){.failure = {.law = KVC_REFUSE, .place = KVC_PLACE_OUTCOME, .deviation = KVC_REFUSED, .op = KVC_APPEND, .step = 1},
                         .law = KVC_REFUSE, .shrunk = 1, .params = {.batch = 1}, .sequence = {.count = 2}, .wrong = "outcome"};
    met->sequence.op[0] = select;
    met->sequence.op[1] = (kvc_op){.kind = KVC_APPEND, .n = 1};
}

Test(gate, rows_left_behind)
{
    kvc_finding known;
    kvc_finding met;

    rows_left_behind(&known, &met);
    cr_expect(covers(&known, &met), "the rows do not fit");
    met.failure.situation.held = 1;
    cr_expect(covers(&known, &met), "nor do they when it is empty again");
    met.failure.law = KVC_KEYS;
    met.failure.place = KVC_PLACE_STORED;
    met.failure.deviation = KVC_WRONG_SHAPE;
    (void)snprintf(met.wrong, sizeof met.wrong, "keys");
    cr_expect(covers(&known, &met), "the rows that do not fit are there afterwards");
    met.failure.law = KVC_RETURN;
    met.failure.place = KVC_PLACE_RETURNED;
    cr_expect(covers(&known, &met), "or are returned");
}

Test(gate, not_of_rows_left_behind)
{
    kvc_finding known;
    kvc_finding met;

    rows_left_behind(&known, &met);
    met.failure.situation.held = 2;
    cr_expect_not(covers(&known, &met), "where there are tokens the select itself shows it");
    rows_left_behind(&known, &met);
    met.failure.op = met.sequence.op[1].kind = KVC_CROP;
    cr_expect_not(covers(&known, &met), "a crop meets no rows");
    rows_left_behind(&known, &met);
    met.sequence.op[0].count = 1;
    cr_expect_not(covers(&known, &met), "as many rows as before fit");
    rows_left_behind(&known, &met);
    met.sequence.op[0].kind = KVC_REPEAT;
    met.sequence.op[0].n = 2;
    cr_expect_not(covers(&known, &met), "another op, which is not known to leave anything behind");
    rows_left_behind(&known, &met);
    met.failure.law = KVC_VALUES;
    met.failure.place = KVC_PLACE_STORED;
    met.failure.deviation = KVC_WRONG_SHAPE;
    (void)snprintf(met.wrong, sizeof met.wrong, "values");
    cr_expect_not(covers(&known, &met), "another tensor");
    rows_left_behind(&known, &met);
    known.failure.deviation = KVC_LONG;
    cr_expect_not(covers(&known, &met), "nothing was left behind");
}

/* A crop that a window cannot undo is known to be done all the same. */
static void done_by_layer(kvc_finding *known, kvc_finding *met)
{
    *known = (kvc_finding){.failure = {.law = KVC_REFUSE, .place = KVC_PLACE_OUTCOME, .deviation = KVC_NOT_REFUSED, .op = KVC_CROP,
                                       .step = 1, .slot = -1},
                           .law = KVC_REFUSE, .shrunk = 1, .wrong = "outcome",
                           .sequence = {.count = 2, .op = {{.kind = KVC_APPEND, .n = 2}, {.kind = KVC_CROP, .n = -1}}}};
    *met = *known;
    (void)snprintf(met->layer, sizeof met->layer, "Window");
}

Test(gate, layer_in_a_container)
{
    kvc_finding known;
    kvc_finding met;

    done_by_layer(&known, &met);
    cr_expect(kvc_gate_layer_kin(&known, "Window", &met, "Window+Full"), "the layer does it by itself");
    (void)snprintf(met.layer, sizeof met.layer, "Full");
    cr_expect_not(kvc_gate_layer_kin(&known, "Window", &met, "Window+Full"), "another layer has to refuse");
    met.layer[0] = '\0';
    cr_expect_not(kvc_gate_layer_kin(&known, "Window", &met, "Window+Full"), "it is the container's own");
    done_by_layer(&known, &met);
    met.sequence.op[1].n = 0;
    cr_expect_not(kvc_gate_layer_kin(&known, "Window", &met, "Window+Full"), "another crop");
    done_by_layer(&known, &met);
    met.failure.place = KVC_PLACE_LENGTH;
    met.failure.deviation = KVC_NEGATIVE;
    cr_expect_not(kvc_gate_layer_kin(&known, "Window", &met, "Window+Full"), "something else is wrong");
}

Test(gate, error_of_a_layer)
{
    kvc_finding known;
    kvc_finding met;

    done_by_layer(&known, &met);
    known.failure.deviation = met.failure.deviation = KVC_REFUSED;
    known.failure.complaint = met.failure.complaint = 7;
    met.layer[0] = '\0';
    cr_expect(kvc_gate_layer_kin(&known, "Window", &met, "Full+Window"), "the same complaint");
    cr_expect(kvc_gate_layer_kin(&known, "Full", &met, "Full+Window"), "an error says not of which layer it is");
    cr_expect_not(kvc_gate_layer_kin(&known, "Static", &met, "Full+Window"), "the container has no such layer");
    cr_expect_not(kvc_gate_layer_kin(&known, "Win", &met, "Full+Window"), "a name that begins so");
    met.failure.complaint = 8;
    cr_expect_not(kvc_gate_layer_kin(&known, "Window", &met, "Full+Window"), "another complaint");
}

/* A crop that was claimed leaves the count wrong. */
static const kvc_finding of_claim = {
    .failure = {.law = KVC_HONEST, .place = KVC_PLACE_STORED, .deviation = KVC_WRONG_VALUE, .op = KVC_CROP, .step = 2},
    .law = KVC_HONEST, .shrunk = 1, .wrong = "count",
    .sequence = {.count = 3, .op = {{.kind = KVC_RECORD, .n = 1}, {.kind = KVC_APPEND, .n = 2}, {.kind = KVC_CROP, .n = -2}}}};

Test(gate, a_false_claim_of_what_is_known_to_be_wrong)
{
    kvc_finding met = of_claim;
    kvc_finding claim = of_claim; /* of another tensor */
    kvc_finding wrong = of_claim; /* without a claim */

    (void)snprintf(claim.wrong, sizeof claim.wrong, "buffer");
    wrong.failure.law = KVC_STATE;
    wrong.law = KVC_STATE;
    wrong.failure.step = 1;
    wrong.sequence = (kvc_sequence){.count = 2, .op = {{.kind = KVC_APPEND, .n = 2}, {.kind = KVC_CROP, .n = -2}}};
    cr_expect(both_cover(&claim, &wrong, &met), "both parts are known");
    cr_expect(both_cover(&wrong, &claim, &met), "in any order");
    cr_expect_not(covers(&claim, &met), "that this tensor is wrong is new");
    cr_expect_not(covers(&wrong, &met), "that it is claimed is new");
    wrong.failure.deviation = KVC_LONG;
    cr_expect_not(both_cover(&claim, &wrong, &met), "it is wrong in another way");
    wrong.failure.deviation = met.failure.deviation;
    wrong.failure.narrow = 1;
    cr_expect_not(both_cover(&claim, &wrong, &met), "in a window of one only");
    wrong.failure.narrow = 0;
    met.failure.place = KVC_PLACE_OUTCOME;
    cr_expect_not(both_cover(&claim, &wrong, &met), "a refusal is no wrong state");
}

Test(gate, an_input_that_is_kept)
{
    kvc_finding known = {.failure = {.law = KVC_ALIAS, .place = KVC_PLACE_KEPT, .deviation = KVC_WRITTEN, .op = KVC_RESET, .step = 1},
                         .law = KVC_ALIAS, .shrunk = 1, .wrong = "states",
                         .sequence = {.count = 2, .op = {{.kind = KVC_APPEND, .n = 1}, {.kind = KVC_RESET}}}};
    kvc_finding met = known;

    met.failure.op = met.sequence.op[1].kind = KVC_APPEND;
    met.sequence.op[1].n = 1;
    cr_expect(covers(&known, &met), "whichever op writes to it");
    met.failure.place = KVC_PLACE_INPUT;
    cr_expect_not(covers(&known, &met), "an append that writes to what it is given");
    met.failure.place = KVC_PLACE_KEPT;
    (void)snprintf(met.wrong, sizeof met.wrong, "keys");
    cr_expect_not(covers(&known, &met), "another tensor");
}
