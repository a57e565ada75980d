#include "reference/judge_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/check_seen.h"
#include "reference/rows_check.h"
#include "reference/sequences_judge.h"

kvc_judge *kvc_judge_open(void)
{
    kvc_judge *judge = calloc(1, sizeof *judge);

    if (judge == NULL)
        return NULL;
    judge->expected = kvc_expected_open();
    if (judge->expected == NULL) {
        free(judge);
        return NULL;
    }
    return judge;
}

void kvc_judge_close(kvc_judge *judge)
{
    if (judge == NULL)
        return;
    kvc_expected_close(judge->expected);
    if (judge->own.run != NULL)
        kvc_model_close(&judge->own);
    free(judge->packed[0]);
    free(judge->packed[1]);
    free(judge);
}

/* All that is known of a plan's tensors is worked out anew when it is another than before. */
static void take_plan(kvc_judge *judge, const kvc_plan *plan)
{
    if (judge->spec == plan->spec && memcmp(&judge->params, &plan->params, sizeof judge->params) == 0)
        return;
    if (judge->spec != plan->spec || judge->params.parts != plan->params.parts ||
        judge->params.layers != plan->params.layers || judge->params.states != plan->params.states) {
        memset(judge->shortcuts, 0, sizeof judge->shortcuts);
        judge->texts = 0;
    }
    kvc_expected_forget(judge->expected);
    kvc_judge_prepare_glance(judge, plan);
    judge->spec = plan->spec;
    judge->params = plan->params;
}

/* From now on this model says what must be. */
static void take_model(kvc_judge *judge, const kvc_model *model)
{
    if (judge->model != model)
        kvc_expected_forget(judge->expected);
    judge->model = model;
}

static void begin_sequence(kvc_judge *judge, const kvc_plan *plan)
{
    judge->step = 0;
    judge->other_known = 0;
    judge->has_original = 0;
    judge->watched = 0;
    judge->apart = 0;
    judge->stretches = 0;
    judge->copied = 0;
    if (plan->has_static)
        memset(judge->address, 0, (size_t)plan->slots * sizeof judge->address[0]);
}

/* The judge's own model begins anew. Returns 0 when memory is short. */
static int start_own(kvc_judge *judge, const kvc_plan *plan, const int32_t *numbers)
{
    if (judge->own.run != NULL && (judge->own.sequences != NULL) != kvc_plan_has_sequences(plan))
        kvc_model_close(&judge->own);
    if (judge->own.run == NULL && !kvc_model_open(&judge->own, plan))
        return 0;
    kvc_model_start(&judge->own, plan, numbers);
    take_model(judge, &judge->own);
    return 1;
}

int kvc_judge_start(kvc_judge *judge, const kvc_plan *plan, const int32_t *numbers)
{
    if (!start_own(judge, plan, numbers))
        return 0;
    take_plan(judge, plan);
    begin_sequence(judge, plan);
    return 1;
}

void kvc_judge_follow(kvc_judge *judge, const kvc_model *model)
{
    take_model(judge, model);
    take_plan(judge, model->plan);
    begin_sequence(judge, model->plan);
}

const kvc_model *kvc_judge_model(const kvc_judge *judge)
{
    return judge->model;
}

const kvc_expectation *kvc_judge_expectation(const kvc_judge *judge)
{
    return &judge->expectation;
}

kvc_encoder *kvc_judge_encoder(kvc_judge *judge)
{
    return judge->expected->encoder;
}

void kvc_failure_add(kvc_failure *failure, kvc_law law)
{
    if (law < (kvc_law)failure->law) {
        failure->also |= 1u << failure->law;
        failure->law = (uint8_t)law;
    } else if (law != (kvc_law)failure->law) {
        failure->also |= 1u << law;
    }
    failure->also &= ~(1u << failure->law);
}

/* A first fault decides place and deviation; later ones only add their laws. */
void kvc_failure_note(kvc_failure *failure, int *found, kvc_law law, kvc_place place, int slot, int layer,
                      kvc_deviation deviation)
{
    if (*found) {
        /* The fault that the name of the failure speaks of is the one of the first law. */
        if (law < (kvc_law)failure->law) {
            failure->place = (uint8_t)place;
            failure->slot = (int16_t)slot;
            failure->layer = (int16_t)layer;
            failure->deviation = (uint8_t)deviation;
        }
        kvc_failure_add(failure, law);
        return;
    }
    *found = 1;
    failure->law = (uint8_t)law;
    failure->place = (uint8_t)place;
    failure->slot = (int16_t)slot;
    failure->layer = (int16_t)layer;
    failure->deviation = (uint8_t)deviation;
}

/* `rows.position` and `rows.padding`, behind `layerN.` in a cache of several layers. */
static kvc_shortcut find_rows_name(const kvc_plan *plan, const char *name)
{
    kvc_shortcut out = {.name = name, .slot = 0, .kind = KVC_IS_OTHER};
    const char *rest = name;

    if (strncmp(name, "layer", 5) == 0 && name[5] >= '0' && name[5] < '0' + plan->layers && name[6] == '.') {
        out.slot = (int16_t)(name[5] - '0');
        rest = name + 7;
    }
    if (strcmp(rest, "rows.position") == 0)
        out.kind = KVC_IS_ROW_POSITION;
    else if (strcmp(rest, "rows.padding") == 0)
        out.kind = KVC_IS_ROW_PADDING;
    return out;
}

static kvc_shortcut find_name(const kvc_plan *plan, const char *name)
{
    kvc_shortcut out = {.name = name, .slot = -1, .kind = KVC_IS_OTHER};

    if (strncmp(name, "original.", 9) == 0) {
        out.kind = strcmp(name + 9, "length") == 0 ? KVC_IS_ORIGINAL_LENGTH : KVC_IS_ORIGINAL_OTHER;
        for (int at = 0; at < plan->slots; at++) {
            if (strcmp(plan->slot[at].name, name + 9) == 0) {
                out.slot = (int16_t)at;
                out.kind = KVC_IS_ORIGINAL;
            }
        }
        return out;
    }
    for (int at = 0; at < plan->slots; at++) {
        if (strcmp(plan->slot[at].name, name) == 0) {
            out.slot = (int16_t)at;
            out.kind = KVC_IS_STORED;
        } else if (strcmp(plan->slot[at].returned_name, name) == 0) {
            out.slot = (int16_t)at;
            out.kind = KVC_IS_RETURNED;
        }
    }
    /* How close a model's choices were, and what its cache loses. */
    if (plan->predicts && (strcmp(name, "returned.margin") == 0 || strcmp(name, "returned.loss") == 0))
        out.kind = KVC_IS_ASIDE;
    return plan->own_rows && out.kind == KVC_IS_OTHER ? find_rows_name(plan, name) : out;
}

/* Sorts the tensors of an observation by what they are. Returns the content of those that no view describes. */
static uint64_t sort_tensors(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation)
{
    const kvc_plan *plan = judge->model->plan;
    kvc_shortcut *shortcuts =
        judge->shortcuts[(op->kind == KVC_APPEND || op->kind == KVC_APPEND_ROWS) && observation->outcome == 0];
    const char *first_watched = judge->watched > 0 ? judge->watch[0].name : NULL;
    int most = observation->tensors < KVC_SHORTCUTS ? observation->tensors : KVC_SHORTCUTS;
    uint64_t other = 0;
    int known = 0;

    judge->regular[0] = judge->regular[1] = -1;
    memset(judge->seen, 0, (size_t)plan->slots * sizeof judge->seen[0]);
    judge->original_length = NULL;
    judge->original_other = 0;
    if (plan->own_rows) {
        memset(judge->row_position, 0, sizeof judge->row_position);
        memset(judge->row_padding, 0, sizeof judge->row_padding);
    }
    judge->first_watched = observation->tensors;
    judge->followed = 0;
    /* Most often the same tensors as before stand in the same places. */
    while (known < most && shortcuts[known].name == observation->tensor[known].name && shortcuts[known].kind <= KVC_IS_RETURNED) {
        judge->seen[shortcuts[known].slot].tensor[shortcuts[known].kind] = &observation->tensor[known];
        known++;
    }
    for (int at = known; at < observation->tensors; at++) {
        const kvc_tensor *tensor = &observation->tensor[at];
        kvc_shortcut place;
        if (tensor->name == first_watched && judge->first_watched > at) {
            /* What is watched is shown in the same order after every op, with what is new behind it. */
            judge->first_watched = at;
            judge->followed = kvc_judge_count_followed(judge, observation, at);
            at += judge->followed - 1;
            continue;
        }
        if (at < KVC_SHORTCUTS && shortcuts[at].name == tensor->name) {
            place = shortcuts[at];
        } else if (kvc_judge_is_watched(tensor->name)) {
            /* Names of watched tensors come and go: only the others are known by their address. */
            if (at < KVC_SHORTCUTS)
                shortcuts[at].name = NULL;
            judge->kind[at] = tensor->name[0] == 'i' ? KVC_IS_INPUT : KVC_IS_EARLIER;
            if (judge->first_watched > at)
                judge->first_watched = at;
            continue;
        } else {
            place = find_name(plan, tensor->name);
            if (at < KVC_SHORTCUTS)
                shortcuts[at] = place;
        }
        judge->kind[at] = place.kind;
        if (place.kind == KVC_IS_STORED)
            judge->seen[place.slot].tensor[KVC_IS_STORED] = tensor;
        else if (place.kind == KVC_IS_RETURNED)
            judge->seen[place.slot].tensor[KVC_IS_RETURNED] = tensor;
        else if (place.kind == KVC_IS_ORIGINAL)
            judge->seen[place.slot].original = tensor;
        else if (place.kind == KVC_IS_ROW_POSITION)
            judge->row_position[place.slot] = tensor;
        else if (place.kind == KVC_IS_ROW_PADDING)
            judge->row_padding[place.slot] = tensor;
        else if (place.kind == KVC_IS_ORIGINAL_LENGTH)
            judge->original_length = tensor;
        else if (place.kind == KVC_IS_ORIGINAL_OTHER)
            judge->original_other =
                kvc_judge_hash(judge, kvc_judge_hash_bytes(judge->original_other, tensor->name, strlen(tensor->name)), tensor);
        else if (place.kind == KVC_IS_OTHER)
            other = kvc_judge_hash(judge, kvc_judge_hash_bytes(other, tensor->name, strlen(tensor->name)), tensor);
    }
    for (int at = 0; plan->has_opaque && at < plan->slots; at++) {
        if (plan->slot[at].view->rule == KVC_RULE_OPAQUE && judge->seen[at].tensor[KVC_IS_STORED] != NULL)
            other = kvc_judge_hash(judge, other, judge->seen[at].tensor[KVC_IS_STORED]);
    }
    return other;
}

/*
 * A buffer that was made before there are tokens: nothing else can be said of its content, so its type and its size are what is
 * checked.
 */
static kvc_deviation check_early_buffer(const kvc_model *model, int slot, const kvc_extent *extent,
                                        const kvc_tensor *tensor)
{
    const kvc_slot *place = &model->plan->slot[slot];

    if (!model->initialized || model->used || !model->plan->layer[place->layer].initializes || !place->view->is_static ||
        /* A cross-attention is not initialised early with the self-attention. */
        place->view->rule == KVC_RULE_CONSTANT || (place->view->law != KVC_KEYS && place->view->law != KVC_VALUES) ||
        extent->width < 0)
        return KVC_AS_EXPECTED;
    if (tensor == NULL)
        return KVC_MISSING;
    if (tensor->dtype != (int32_t)place->dtype)
        return KVC_WRONG_DTYPE;
    if (kvc_check_width(model->plan, slot, tensor) != extent->width ||
        tensor->shape[place->batch_axis] != model->rows)
        return KVC_WRONG_SHAPE;
    return KVC_AS_EXPECTED;
}

/*
 * The memory that it says it takes: less than what it must hold takes. Where that itself is wrong, so is its size, and nothing more
 * is said.
 */
static void check_bytes(kvc_judge *judge, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;

    for (int at = 0; *found == 0 && at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_extent extent = {.kind = KVC_CELL_UNKNOWN, .width = -1};
        kvc_deviation deviation;
        if (slot->view->rule != KVC_RULE_BYTES || judge->seen[at].tensor[KVC_IS_STORED] == NULL)
            continue;
        slot->kind->stored(model, at, &extent);
        deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[KVC_IS_STORED]);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, slot->view->law, KVC_PLACE_STORED, at, slot->layer, deviation);
    }
}

/*
 * Rows with lengths of their own: what is stored of each. The length that a batch reports counts what pads it; that of one row
 * which was taken out of it does not.
 */
static void check_rows_state(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;
    int32_t row;

    for (int layer = 0; model->own.alone && layer < model->plan->layers && layer < observation->layers; layer++) {
        int64_t length = observation->length[layer];
        if (length != KVC_ABSENT && model->plan->layer[layer].spec->length && length != model->length)
            kvc_failure_note(failure, found, KVC_LENGTH, KVC_PLACE_LENGTH, -1, layer,
                 length < 0 ? KVC_NEGATIVE : length < model->length ? KVC_TOO_LOW : KVC_TOO_HIGH);
    }
    for (int at = 0; at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_deviation deviation = slot->view->rule == KVC_RULE_BYTES
                                      ? KVC_AS_EXPECTED
                                      : kvc_rows_check_stored(judge->expected->encoder, model, at, judge->seen[at].tensor[KVC_IS_STORED],
                                                              &row);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, slot->view->law, KVC_PLACE_STORED, at, slot->layer, deviation);
        else if (slot->view->law == KVC_KEYS &&
                 (deviation = kvc_rows_check_padding(model, at, judge->seen[at].tensor[KVC_IS_STORED], judge->row_padding[slot->layer],
                                                     &row)) != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_LENGTH, KVC_PLACE_LENGTH, at, slot->layer, deviation);
    }
}

/* What the last call of an append returned, and which of it the mask lets each token see. */
static void check_rows_returned(kvc_judge *judge, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;
    int32_t row;

    for (int at = 0; at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_row_query query;
        int keys = slot->view->law == KVC_MASK ? kvc_seen_keys(model->plan, at) : -1;
        kvc_deviation deviation = kvc_rows_check_returned(judge->expected->encoder, model, at, judge->seen[at].tensor[KVC_IS_RETURNED], &row);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_RETURN, KVC_PLACE_RETURNED, at, slot->layer, deviation);
        /* Where the keys are wrong, so is what the mask lets be seen of them. */
        if (keys < 0 || kvc_rows_check_returned(judge->expected->encoder, model, keys, judge->seen[keys].tensor[KVC_IS_RETURNED], &row) !=
                            KVC_AS_EXPECTED)
            continue;
        deviation = kvc_rows_check_mask(judge->expected->encoder, model, at, judge->seen[keys].tensor[KVC_IS_RETURNED], judge->seen[at].tensor[KVC_IS_RETURNED],
                                        &query);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_SEEN, at, slot->layer, deviation);
    }
}

/* Whether a row is wrong that the op gave no token. */
static int an_idle_row_is_wrong(kvc_judge *judge, const kvc_op *op)
{
    int32_t row;

    for (int at = 0; op->kind == KVC_APPEND_ROWS && at < judge->model->plan->slots; at++) {
        if (kvc_rows_check_stored(judge->expected->encoder, judge->model, at, judge->seen[at].tensor[KVC_IS_STORED], &row) != KVC_AS_EXPECTED &&
            op->rows[row] == 0)
            return 1;
    }
    return 0;
}

/*
 * Stored tensors and lengths against the model as it stands. After an append that was refused, what had been fed before is left
 * out: `refused` is what was expected of it, NULL for any other op.
 */
static void check_state(kvc_judge *judge, const kvc_observation *observation, const kvc_expectation *refused,
                        kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;
    const kvc_plan *plan = model->plan;

    if (plan->own_rows) {
        check_rows_state(judge, observation, failure, found);
        check_bytes(judge, failure, found);
        return;
    }
    for (int layer = 0; layer < plan->layers; layer++) {
        int64_t length = layer < observation->layers ? observation->length[layer] : KVC_ABSENT;
        if (!plan->layer[layer].spec->length || length == model->length || (refused != NULL && layer < refused->layer))
            continue;
        kvc_failure_note(failure, found, KVC_LENGTH, KVC_PLACE_LENGTH, -1, layer,
             length == KVC_ABSENT ? KVC_MISSING
             : length < 0         ? KVC_NEGATIVE
                                  : (length < model->length ? KVC_TOO_LOW : KVC_TOO_HIGH));
    }
    for (int at = 0; at < plan->slots; at++) {
        kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
        kvc_deviation deviation;
        if (model->slot[at].unjudged || plan->slot[at].view->rule == KVC_RULE_BYTES ||
            (refused != NULL && kvc_model_fed_before(model, at, refused)))
            continue;
        plan->slot[at].kind->stored(model, at, &extent);
        deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[KVC_IS_STORED]);
        if (deviation == KVC_AS_EXPECTED)
            deviation = check_early_buffer(model, at, &extent, judge->seen[at].tensor[KVC_IS_STORED]);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, plan->slot[at].view->law, KVC_PLACE_STORED, at, plan->slot[at].layer, deviation);
    }
    if (refused == NULL)
        check_bytes(judge, failure, found);
}

/* A returned tensor that shares the bytes of the stored one, and must hold the same, was checked with it. */
static int checked_as_stored(const kvc_judge *judge, int slot, const kvc_extent *returned)
{
    const kvc_tensor *a = judge->seen[slot].tensor[KVC_IS_STORED];
    const kvc_tensor *b = judge->seen[slot].tensor[KVC_IS_RETURNED];
    kvc_extent stored = {.kind = KVC_CELL_TOKEN, .width = -1};

    if (a == NULL || b == NULL || a->data != b->data || a->data == NULL || !kvc_tensor_lies_as(a, b))
        return 0;
    judge->model->plan->slot[slot].kind->stored(judge->model, slot, &stored);
    return stored.kind == returned->kind && stored.first_min == returned->first_min &&
           stored.first_max == returned->first_max && stored.end == returned->end && stored.width == returned->width;
}

static void check_mask(kvc_judge *judge, const kvc_observation *observation, int slot, const kvc_extent *extent,
                       kvc_failure *failure, int *found)
{
    const kvc_slot *place = &judge->model->plan->slot[slot];
    const kvc_tensor *tensor = judge->seen[slot].tensor[KVC_IS_RETURNED];
    int layer = place->layer;
    int64_t width;
    int64_t offset;

    if (place->view->law != KVC_KEYS || extent->kind != KVC_CELL_TOKEN || layer >= observation->layers ||
        !judge->model->plan->layer[layer].spec->length || observation->mask_length[layer] == KVC_ABSENT)
        return;
    if (tensor == NULL || tensor->dims <= place->tokens_axis || kvc_tensor_elements(tensor) < 0)
        return;
    width = tensor->shape[place->tokens_axis];
    offset = extent->width >= 0 ? extent->first_min : extent->end - width;
    offset += kvc_plan_ahead(judge->model->plan, layer);
    if (observation->mask_length[layer] != width)
        kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_MASK, slot, layer,
             observation->mask_length[layer] < width ? KVC_TOO_LOW : KVC_TOO_HIGH);
    else if (observation->mask_offset[layer] != offset && width > 0)
        kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_MASK, slot, layer, KVC_WRONG_VALUE);
}

static void check_returned(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;

    if (model->plan->own_rows) {
        check_rows_returned(judge, failure, found);
        return;
    }
    for (int at = 0; at < model->plan->slots; at++) {
        kvc_extent extent;
        kvc_deviation deviation;
        if (model->slot[at].unjudged || !kvc_view_returned(model, at, &extent))
            continue;
        if (extent.kind == KVC_CELL_SEEN) {
            kvc_seen_fault ignored;
            int keys = kvc_seen_keys(model->plan, at);
            deviation = keys < 0 ? KVC_AS_EXPECTED
                                 : kvc_check_seen(model, at, judge->seen[keys].tensor[KVC_IS_RETURNED], judge->seen[at].tensor[KVC_IS_RETURNED], &ignored);
            if (deviation != KVC_AS_EXPECTED)
                kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_SEEN, at, model->plan->slot[at].layer, deviation);
            continue;
        }
        if (!checked_as_stored(judge, at, &extent)) {
            deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[KVC_IS_RETURNED]);
            if (deviation != KVC_AS_EXPECTED)
                kvc_failure_note(failure, found, KVC_RETURN, KVC_PLACE_RETURNED, at, model->plan->slot[at].layer, deviation);
        }
        check_mask(judge, observation, at, &extent, failure, found);
    }
}

static void check_positions(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;

    for (int layer = 0; model->plan->own_rows && layer < model->plan->layers; layer++) {
        int32_t row;
        kvc_deviation deviation = kvc_rows_check_numbers(model, judge->row_position[layer], &row);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_POSITION, KVC_PLACE_POSITION, -1, layer, deviation);
    }
    for (int layer = 0; !model->plan->own_rows && layer < model->plan->layers && layer < observation->layers; layer++) {
        int64_t position = model->length + kvc_plan_ahead(model->plan, layer);
        if (observation->position[layer] != KVC_ABSENT && observation->position[layer] != position)
            kvc_failure_note(failure, found, KVC_POSITION, KVC_PLACE_POSITION, -1, layer,
                 observation->position[layer] < 0          ? KVC_NEGATIVE
                 : observation->position[layer] < position ? KVC_TOO_LOW
                                                           : KVC_TOO_HIGH);
    }
}

static void check_addresses(kvc_judge *judge, kvc_failure *failure, int *found)
{
    const kvc_plan *plan = judge->model->plan;

    for (int at = 0; at < plan->slots; at++) {
        const kvc_tensor *tensor = judge->seen[at].tensor[KVC_IS_STORED];
        int axis = plan->slot[at].tokens_axis;
        int64_t cells = tensor != NULL && axis >= 0 && axis < tensor->dims ? tensor->shape[axis] : 0;
        if (!plan->slot[at].view->is_static || tensor == NULL || tensor->address == 0)
            continue;
        /* A buffer of another length is another buffer: how long it must be is said by its view. */
        if (judge->address[at] != 0 && judge->address[at] != tensor->address && judge->address_cells[at] == cells)
            kvc_failure_note(failure, found, KVC_ADDRESS, KVC_PLACE_ADDRESS, at, plan->slot[at].layer, KVC_MOVED);
        judge->address[at] = tensor->address;
        judge->address_cells[at] = cells;
    }
}

static int error_is_documented(const kvc_contract_rule *rule, const char *kind)
{
    if (rule->errors == 0)
        return 1;
    for (int at = 0; at < rule->errors; at++) {
        if (strcmp(rule->error[at], kind) == 0)
            return 1;
    }
    return 0;
}

/* Whether HONEST may judge this crop: it was claimed, and nothing was lost through the caller's doing. */
static int was_claimed(const kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation)
{
    const kvc_model *model = judge->model;

    return kvc_op_is_rollback(op->kind) && observation->claim == 1 && kvc_op_as_crop(op) < 0 && expectation->removed > 0 &&
           expectation->situation.ask != KVC_ASK_OVER &&
           model->plan->rules.rule[KVC_CONTRACT_CLAIM]->value == KVC_CLAIM_CROPPABLE &&
           (!kvc_plan_has_op(model->plan, KVC_RECORD) || model->recording_since_first);
}

int kvc_judge_may_refuse(const kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation)
{
    return error_is_documented(expectation->rule, observation->error_kind) && !was_claimed(judge, op, expectation, observation);
}

/* Laws that speak of the kind of op, once its state was found wrong. */
static void add_op_laws(const kvc_judge *judge, const kvc_op *op, kvc_failure *failure)
{
    switch ((kvc_op_kind)op->kind) {
    case KVC_CROP:
    case KVC_TRIM:
        if (judge->expectation.situation.ask == KVC_ASK_OVER)
            kvc_failure_add(failure, KVC_CLAMP);
        if (judge->expectation.situation.ask == KVC_ASK_ZERO)
            kvc_failure_add(failure, KVC_ZERO);
        break;
    case KVC_RESET:
        kvc_failure_add(failure, KVC_RESET_LAW);
        break;
    case KVC_REORDER:
    case KVC_SELECT:
    case KVC_REPEAT:
    case KVC_EXTEND:
    case KVC_SPLIT:
        kvc_failure_add(failure, KVC_BATCH);
        break;
    case KVC_MERGE:
    case KVC_EXTRACT:
        kvc_failure_add(failure, KVC_SAVE);
        break;
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
    case KVC_COPY:
    case KVC_PICKLE:
    case KVC_SAVE_FILE:
    case KVC_FROM_STATE:
    case KVC_QUANTIZE:
        kvc_failure_add(failure, KVC_SAVE);
        break;
    default:
        break;
    }
}

/* Digests an error so that the same complaint about other numbers is the same. */
static uint32_t complaint_of(const kvc_observation *observation)
{
    const char *const part[] = {observation->error_kind, observation->error_text};
    uint32_t hash = 2166136261u;

    for (size_t at = 0; at < sizeof part / sizeof part[0]; at++) {
        for (const char *byte = part[at]; *byte != '\0'; byte++) {
            if (*byte < '0' || *byte > '9')
                hash = (hash ^ (unsigned char)*byte) * 16777619u;
        }
    }
    return hash | 1;
}

static int judge_refused(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure)
{
    const kvc_expectation *expectation = &judge->expectation;
    const uint64_t other = sort_tensors(judge, op, observation);
    kvc_failure changed = *failure;
    int found = 0;
    int change = 0;

    /* Where an append should have been done, nobody knows which of several calls refused it. */
    if (op->kind != KVC_APPEND || expectation->verdict != KVC_DO ||
        judge->model->plan->layers == 1)
        check_state(judge, observation, op->kind == KVC_APPEND ? expectation : NULL, &changed, &change);
    if (!change && !judge->model->torn && judge->other_known && other != judge->other)
        kvc_failure_note(&changed, &change, KVC_ATOMIC, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    if (expectation->verdict == KVC_DO) {
        kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_REFUSED);
        failure->complaint = complaint_of(observation);
        add_op_laws(judge, op, failure);
        if (was_claimed(judge, op, &judge->expectation, observation))
            kvc_failure_add(failure, KVC_HONEST);
    } else if (!error_is_documented(expectation->rule, observation->error_kind)) {
        kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_WRONG_ERROR);
    }
    /* Refused as documented, and claimed all the same. */
    if (!found && was_claimed(judge, op, &judge->expectation, observation)) {
        kvc_failure_note(failure, &found, KVC_HONEST, KVC_PLACE_OUTCOME, -1, 0, KVC_REFUSED);
        failure->complaint = complaint_of(observation);
    }
    if (change) {
        if (found) {
            kvc_failure_add(failure, KVC_ATOMIC);
            failure->also |= (1u << changed.law | changed.also) & ~(1u << failure->law);
        } else {
            *failure = changed;
            kvc_failure_add(failure, KVC_ATOMIC);
            failure->deviation = failure->place == KVC_PLACE_OTHER ? (uint8_t)KVC_CHANGED : failure->deviation;
            found = 1;
        }
    }
    judge->other = other;
    kvc_judge_check_watched(judge, observation, failure, &found);
    if (op->kind != KVC_COPY && judge->has_original)
        kvc_judge_check_original(judge, op, failure, &found);
    if (found && expectation->verdict == KVC_DO) {
        /* The report shows where the op should have left the cache. */
        judge->own.next -= kvc_op_tokens(op);
        if (!kvc_model_commit(&judge->own, op, expectation, 0))
            return -1;
    }
    return found;
}

/* It was done though it must be refused. */
static int judge_not_refused(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure)
{
    int found = 0;

    kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_NOT_REFUSED);
    if (was_claimed(judge, op, &judge->expectation, observation))
        kvc_failure_add(failure, KVC_HONEST);
    return 1;
}

/* It was done, and the model stands behind it. */
static int judge_done(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure)
{
    const uint64_t other = sort_tensors(judge, op, observation);
    int found = 0;

    check_state(judge, observation, NULL, failure, &found);
    if (kvc_op_moves_cache((kvc_op_kind)op->kind)) {
        /* Buffers may lie elsewhere now. */
        memset(judge->address, 0, (size_t)judge->model->plan->slots * sizeof judge->address[0]);
        if (!found && judge->other_known && other != judge->other)
            kvc_failure_note(failure, &found, KVC_SAVE, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    }
    /* What a cache raises when it is asked for a number is about the number, whatever the op. */
    if (found && failure->deviation != KVC_RAISED) {
        add_op_laws(judge, op, failure);
        if (judge->model->plan->own_rows && an_idle_row_is_wrong(judge, op))
            kvc_failure_add(failure, KVC_ISOLATION);
        if (was_claimed(judge, op, &judge->expectation, observation))
            kvc_failure_add(failure, KVC_HONEST);
    }
    if (op->kind == KVC_APPEND || op->kind == KVC_APPEND_ROWS)
        check_returned(judge, observation, failure, &found);
    /* In a cache of several layers the contract of the one that is wrong decides. */
    if (found && failure->layer >= 0)
        failure->rule_layer = failure->layer;
    if (judge->model->plan->has_static)
        check_addresses(judge, failure, &found);
    kvc_judge_check_watched(judge, observation, failure, &found);
    if (op->kind == KVC_COPY || judge->has_original)
        kvc_judge_check_original(judge, op, failure, &found);
    check_positions(judge, observation, failure, &found);
    judge->other = other;
    return found;
}

/*
 * Where something was put off until the next decode, one that is refused may have done it: only what the model knows must be as it was.
 */
static int is_changed_behind(kvc_judge *judge, const kvc_observation *observation)
{
    const kvc_op none = {.kind = KVC_SEQ_SAVE};
    kvc_failure ignored = {0};
    int found = 0;

    if (kvc_sequences_have_pending(judge->model->sequences))
        kvc_sequences_look(&judge->own, &none, observation, &ignored, &found);
    return found;
}

/* One op on a cache that holds several sequences. */
static int judge_sequences(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, uint64_t other,
                           kvc_failure *failure)
{
    const kvc_expectation *expectation = &judge->expectation;
    int changed = judge->other_known && other != judge->other &&
                  !(op->kind == KVC_DECODE && kvc_sequences_have_pending(judge->model->sequences));
    int found = 0;

    /* It says itself that positions cannot be moved. */
    if ((op->kind == KVC_SEQ_ADD || op->kind == KVC_SEQ_DIV) && observation->claim == 0)
        return 2;

    if (observation->outcome != 0 || expectation->verdict == KVC_MUST_REFUSE) {
        if (observation->outcome == 0)
            kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_NOT_REFUSED);
        else if (expectation->verdict == KVC_DO)
            kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_REFUSED);
        failure->complaint = found && observation->outcome != 0 ? complaint_of(observation) : 0;
        if (observation->outcome != 0 && (changed || is_changed_behind(judge, observation)))
            kvc_failure_note(failure, &found, KVC_ATOMIC, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
        /* The report shows where the op should have left the cache. */
        return kvc_model_commit(&judge->own, op, expectation, !found || expectation->verdict == KVC_MUST_REFUSE) ? found : -1;
    }
    if (!kvc_model_commit(&judge->own, op, expectation, 0))
        return -1;
    kvc_sequences_look(&judge->own, op, observation, failure, &found);
    if (op->kind == KVC_SEQ_SAVE && changed)
        kvc_failure_note(failure, &found, KVC_SAVE, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    if (found && (op->kind == KVC_SEQ_SAVE || op->kind == KVC_SEQ_RESTORE))
        kvc_failure_add(failure, KVC_SAVE);
    if (found && op->kind == KVC_CLEAR)
        kvc_failure_add(failure, KVC_RESET_LAW);
    return found;
}

/* A failure of this op, before it is known what is wrong. */
static void begin_failure(const kvc_judge *judge, const kvc_op *op, int step, kvc_failure *failure)
{
    const kvc_plan *plan = judge->model->plan;

    memset(failure, 0, sizeof *failure);
    failure->slot = -1;
    failure->step = step;
    failure->op = op->kind;
    failure->narrow = plan->has_window && plan->params.window == 1;
    failure->situation = judge->expectation.situation;
    failure->rule = (int32_t)judge->expectation.rule->name;
    failure->rule_layer = judge->expectation.layer;
}

/* The model stands behind an op, of which is known what was expected of it; `refused` is whether the model took it as refused. */
static int judge_behind(kvc_judge *judge, const kvc_op *op, int refused, const kvc_observation *observation, kvc_failure *failure)
{
    int step = judge->step++;
    int result;

    begin_failure(judge, op, step, failure);
    result = observation->outcome != 0 ? judge_refused(judge, op, observation, failure)
             : refused                 ? judge_not_refused(judge, op, observation, failure)
                                       : judge_done(judge, op, observation, failure);
    judge->other_known = 1;
    return judge->out_of_memory ? -1 : result;
}

int kvc_judge_watched(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                      kvc_failure *failure)
{
    int found = 0;

    if (expectation != &judge->expectation)
        judge->expectation = *expectation;
    begin_failure(judge, op, judge->step - 1, failure);
    kvc_judge_check_watched(judge, observation, failure, &found);
    return judge->out_of_memory ? -1 : found;
}

int kvc_judge_at_length(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                        kvc_failure *failure)
{
    if (expectation != &judge->expectation)
        judge->expectation = *expectation;
    return judge_behind(judge, op, expectation->verdict == KVC_MUST_REFUSE, observation, failure);
}

int kvc_judge_step(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure)
{
    int refused;

    kvc_model_expect(&judge->own, op, &judge->expectation);
    /* The cache refused something that it might have done, and stands where this op was not meant for. */
    if (judge->expectation.unspecified)
        return 2;
    if (judge->own.sequences != NULL) {
        uint64_t other = kvc_sequences_digest(observation);
        int result;
        begin_failure(judge, op, judge->step++, failure);
        result = judge_sequences(judge, op, observation, other, failure);
        judge->other = other;
        judge->other_known = 1;
        return result;
    }
    refused = observation->outcome != 0 || judge->expectation.verdict == KVC_MUST_REFUSE;
    if (!kvc_model_commit(&judge->own, op, &judge->expectation, refused))
        return -1;
    if (refused != (judge->expectation.verdict == KVC_MUST_REFUSE) || refused != (observation->outcome != 0))
        return judge_behind(judge, op, refused, observation, failure);
    return kvc_judge_glance(judge, op, &judge->expectation, observation, failure);
}

void kvc_judge_leave(kvc_judge *judge)
{
    take_model(judge, &judge->own);
}

int kvc_judge_part(kvc_judge *judge, const kvc_op *ops, int count)
{
    const kvc_plan *plan = judge->model->plan;

    if (judge->model == &judge->own)
        return 1;
    if (!start_own(judge, plan, NULL))
        return 0;
    for (int at = 0; at < count; at++) {
        kvc_model_expect(&judge->own, &ops[at], &judge->expectation);
        if (!kvc_model_commit(&judge->own, &ops[at], &judge->expectation, judge->expectation.verdict == KVC_MUST_REFUSE))
            return 0;
    }
    return 1;
}

/* The subject is where the model that is followed is not: from here on the judge has one of its own. */
static __attribute__((noinline)) int judge_apart(kvc_judge *judge, const kvc_op *ops, int step, const kvc_observation *observation,
                                                 kvc_failure *failure)
{
    return kvc_judge_part(judge, ops, step) ? kvc_judge_step(judge, &ops[step], observation, failure) : -1;
}

int kvc_judge_followed(kvc_judge *judge, const kvc_op *ops, int step, const kvc_expectation *expectation,
                       const kvc_observation *observation, kvc_failure *failure)
{
    int refused = expectation->verdict == KVC_MUST_REFUSE;

    if (judge->model == &judge->own || (observation->outcome != 0) != refused)
        return judge_apart(judge, ops, step, observation, failure);
    return kvc_judge_glance(judge, &ops[step], expectation, observation, failure);
}

int kvc_judge_assume(kvc_judge *judge, const kvc_op *op)
{
    kvc_model_expect(&judge->own, op, &judge->expectation);
    judge->step++;
    return kvc_model_commit(&judge->own, op, &judge->expectation,
                            judge->expectation.verdict == KVC_MUST_REFUSE);
}

int kvc_judge_assume_outcome(kvc_judge *judge, const kvc_op *op, int refused)
{
    kvc_model_expect(&judge->own, op, &judge->expectation);
    judge->step++;
    return kvc_model_commit(&judge->own, op, &judge->expectation, refused);
}

uint64_t kvc_judge_opaque(const kvc_judge *judge)
{
    return judge->other;
}

void kvc_judge_died(kvc_judge *judge, const kvc_op *op, kvc_deviation how, kvc_failure *failure)
{
    kvc_model_expect(&judge->own, op, &judge->expectation);
    memset(failure, 0, sizeof *failure);
    failure->law = KVC_ALIVE;
    failure->place = KVC_PLACE_OUTCOME;
    failure->slot = -1;
    failure->deviation = (uint8_t)how;
    failure->step = judge->step;
    failure->op = op->kind;
    failure->narrow = judge->model->plan->has_window && judge->model->plan->params.window == 1;
    failure->situation = judge->expectation.situation;
    failure->rule = (int32_t)judge->expectation.rule->name;
    failure->rule_layer = judge->expectation.layer;
    (void)kvc_model_commit(&judge->own, op, &judge->expectation,
                           judge->expectation.verdict == KVC_MUST_REFUSE);
}
