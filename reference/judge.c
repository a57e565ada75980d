#include "reference/judge.h"
#include "reference/check_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/sequences_judge.h"
#include "reference/rows_check.h"

enum { WATCHED_MAX = KVC_TENSORS_MAX, SHORTCUTS = 64, COPIES_MAX = 1 << 18 };

/* What a tensor of an observation is. */
enum { STORED = 0, RETURNED, INPUT, EARLIER, OTHER, ORIGINAL, ORIGINAL_LENGTH, ORIGINAL_OTHER, ROW_POSITION, ROW_PADDING };

/* What a tensor was when it was first shown. */
typedef struct first_shown {
    kvc_tensor copy; /* without data when there was no room: `content` stands for it */
    size_t size;     /* of the copy */
    uint64_t content;
    int fills; /* its elements fill a piece of memory, of which the copy is one */
} first_shown;

/* An input or an earlier return. */
typedef struct watched {
    const char *name;
    first_shown as;
    int16_t slot; /* of the plan, or -1 */
    uint8_t kind; /* INPUT or EARLIER */
    uint8_t live; /* documented to change */
} watched;

/* Watched tensors that lie one behind the other, as their copies do. */
typedef struct stretch {
    const uint8_t *data;
    const uint8_t *copy;
    size_t size;
} stretch;

/* Where the tensor that stands at a place of the observation belongs; names are compared by address first. */
typedef struct shortcut {
    const char *name;
    int16_t slot; /* -1: not of the plan; of what rows say of themselves the layer */
    uint8_t kind;
} shortcut;

/* The tensors of one slot in the observation, NULL for those that are not shown. */
typedef struct seen {
    const kvc_tensor *tensor[2]; /* STORED and RETURNED */
    const kvc_tensor *original; /* of the cache that was copied last, as it is now */
} seen;

struct kvc_judge {
    kvc_model model;
    kvc_expected *expected;
    kvc_expectation expectation;
    int step;
    /* What `shortcuts` and `expected` were worked out for. */
    const kvc_spec *spec;
    kvc_params params;
    shortcut shortcuts[2][SHORTCUTS]; /* of an op that returned nothing, and of an append: more is shown then */
    int first_watched; /* place of the first input or earlier return in the observation */
    int followed;      /* so many of them from there on are those of `watch`, in its order */
    uint8_t kind[KVC_TENSORS_MAX]; /* of each tensor of the observation */
    seen seen[KVC_SLOTS_MAX];
    uint64_t address[KVC_SLOTS_MAX];
    int64_t address_cells[KVC_SLOTS_MAX]; /* of the buffer that had the address */
    uint64_t other; /* content of the tensors that no view describes */
    int other_known;
    /* Of the cache that was copied last: as it is shown now, and as it was when it was copied. */
    const kvc_tensor *original_length;
    const kvc_tensor *row_position[KVC_PLAN_LAYERS_MAX]; /* of rows with lengths of their own */
    const kvc_tensor *row_padding[KVC_PLAN_LAYERS_MAX];
    uint64_t original_other;
    int has_original;
    first_shown original[KVC_SLOTS_MAX + 1]; /* the slots and the lengths */
    uint64_t original_other_kept;
    int watched;
    watched watch[WATCHED_MAX];
    kvc_tensor shown[WATCHED_MAX]; /* each as it was shown first */
    int apart;     /* watched tensors that are in no stretch though they must not change */
    int stretches;
    stretch stretch[WATCHED_MAX];
    size_t copied;
    uint8_t copies[COPIES_MAX]; /* of watched tensors: comparing is faster than a digest */
    /* Tensors without their gaps, two at most. */
    uint8_t *packed[2];
    size_t packed_room[2];
    int out_of_memory;
};

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
    if (judge->model.run != NULL)
        kvc_model_close(&judge->model);
    free(judge->packed[0]);
    free(judge->packed[1]);
    free(judge);
}

int kvc_judge_start(kvc_judge *judge, const kvc_plan *plan, const int32_t *numbers)
{
    if (judge->model.run != NULL && (judge->model.sequences != NULL) != kvc_plan_has_sequences(plan))
        kvc_model_close(&judge->model);
    if (judge->model.run == NULL && !kvc_model_open(&judge->model, plan))
        return 0;
    kvc_model_start(&judge->model, plan, numbers);
    if (judge->spec != plan->spec || memcmp(&judge->params, &plan->params, sizeof judge->params) != 0) {
        if (judge->spec != plan->spec || judge->params.parts != plan->params.parts ||
            judge->params.layers != plan->params.layers || judge->params.states != plan->params.states)
            memset(judge->shortcuts, 0, sizeof judge->shortcuts);
        kvc_expected_forget(judge->expected);
        judge->spec = plan->spec;
        judge->params = plan->params;
    }
    judge->step = 0;
    judge->other_known = 0;
    judge->has_original = 0;
    judge->watched = 0;
    judge->apart = 0;
    judge->stretches = 0;
    judge->copied = 0;
    memset(judge->address, 0, (size_t)plan->slots * sizeof judge->address[0]);
    return 1;
}

const kvc_model *kvc_judge_model(const kvc_judge *judge)
{
    return &judge->model;
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

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *byte = data;

    if (size >= 64) {
        /* Eight words at once, each in a sum of its own, so that no multiplication waits for the one before. */
        static const uint64_t spread = 0x9e3779b97f4a7c15u;
        uint64_t lane[8] = {hash, 1, 2, 3, 4, 5, 6, 7};
        for (; size >= 64; size -= 64, byte += 64) {
            uint64_t word[8];
            memcpy(word, byte, sizeof word);
            lane[0] = (lane[0] ^ word[0]) * spread;
            lane[1] = (lane[1] ^ word[1]) * spread;
            lane[2] = (lane[2] ^ word[2]) * spread;
            lane[3] = (lane[3] ^ word[3]) * spread;
            lane[4] = (lane[4] ^ word[4]) * spread;
            lane[5] = (lane[5] ^ word[5]) * spread;
            lane[6] = (lane[6] ^ word[6]) * spread;
            lane[7] = (lane[7] ^ word[7]) * spread;
        }
        for (int at = 0; at < 8; at++)
            hash = mix(hash, lane[at] ^ (lane[at] >> 32));
    }
    for (; size >= 8; size -= 8, byte += 8) {
        uint64_t word;
        memcpy(&word, byte, 8);
        hash = mix(hash, word);
    }
    for (; size > 0; size--, byte++)
        hash = mix(hash, *byte);
    return hash;
}

/* The elements of a tensor, of `size` bytes in all, row by row without gaps; place `which` is used where it has them otherwise. */
static const uint8_t *pack(kvc_judge *judge, int which, const kvc_tensor *tensor, size_t size)
{
    if (!kvc_tensor_is_strided(tensor))
        return tensor->data;
    if (size > judge->packed_room[which]) {
        uint8_t *larger = realloc(judge->packed[which], size);
        if (larger == NULL) {
            judge->out_of_memory = 1;
            return NULL;
        }
        judge->packed[which] = larger;
        judge->packed_room[which] = size;
    }
    kvc_tensor_pack(tensor, (int64_t)(size / kvc_dtype_size((kvc_dtype)tensor->dtype)), judge->packed[which]);
    return judge->packed[which];
}

/* The same for the same elements, however they lie. */
static uint64_t hash_tensor(kvc_judge *judge, uint64_t hash, const kvc_tensor *tensor)
{
    int64_t elements = kvc_tensor_elements(tensor);
    size_t size = elements > 0 ? (size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype) : 0;
    const uint8_t *packed = size > 0 ? pack(judge, 0, tensor, size) : NULL;

    for (int axis = 0; axis < tensor->dims && axis < KVC_DIMS_MAX; axis++)
        hash = mix(hash, (uint64_t)tensor->shape[axis]);
    hash = mix(hash, (uint64_t)tensor->dtype);
    return packed != NULL ? hash_bytes(hash, packed, size) : hash;
}

/* `rows.position` and `rows.padding`, behind `layerN.` in a cache of several layers. */
static shortcut find_rows_name(const kvc_plan *plan, const char *name)
{
    shortcut out = {.name = name, .slot = 0, .kind = OTHER};
    const char *rest = name;

    if (strncmp(name, "layer", 5) == 0 && name[5] >= '0' && name[5] < '0' + plan->layers && name[6] == '.') {
        out.slot = (int16_t)(name[5] - '0');
        rest = name + 7;
    }
    if (strcmp(rest, "rows.position") == 0)
        out.kind = ROW_POSITION;
    else if (strcmp(rest, "rows.padding") == 0)
        out.kind = ROW_PADDING;
    return out;
}

static shortcut find_name(const kvc_plan *plan, const char *name)
{
    shortcut out = {.name = name, .slot = -1, .kind = OTHER};

    if (strncmp(name, "original.", 9) == 0) {
        out.kind = strcmp(name + 9, "length") == 0 ? ORIGINAL_LENGTH : ORIGINAL_OTHER;
        for (int at = 0; at < plan->slots; at++) {
            if (strcmp(plan->slot[at].name, name + 9) == 0) {
                out.slot = (int16_t)at;
                out.kind = ORIGINAL;
            }
        }
        return out;
    }
    for (int at = 0; at < plan->slots; at++) {
        if (strcmp(plan->slot[at].name, name) == 0) {
            out.slot = (int16_t)at;
            out.kind = STORED;
        } else if (strcmp(plan->slot[at].returned_name, name) == 0) {
            out.slot = (int16_t)at;
            out.kind = RETURNED;
        }
    }
    return plan->own_rows && out.kind == OTHER ? find_rows_name(plan, name) : out;
}

static int is_watched(const char *name)
{
    return (name[0] == 'i' && strncmp(name, "input.", 6) == 0) || (name[0] == 'e' && strncmp(name, "earlier.", 8) == 0);
}

/* How many tensors from place `at` on are those that are watched, one after the other. */
static int count_followed(const kvc_judge *judge, const kvc_observation *observation, int at)
{
    int most = observation->tensors - at < judge->watched ? observation->tensors - at : judge->watched;
    int count = 0;

    while (count < most && judge->watch[count].name == observation->tensor[at + count].name)
        count++;
    return count;
}

/* Sorts the tensors of an observation by what they are. */
static void sort_tensors(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, uint64_t *other)
{
    const kvc_plan *plan = judge->model.plan;
    shortcut *shortcuts =
        judge->shortcuts[(op->kind == KVC_APPEND || op->kind == KVC_APPEND_ROWS) && observation->outcome == 0];
    const char *first_watched = judge->watched > 0 ? judge->watch[0].name : NULL;
    int most = observation->tensors < SHORTCUTS ? observation->tensors : SHORTCUTS;
    int known = 0;

    memset(judge->seen, 0, (size_t)plan->slots * sizeof judge->seen[0]);
    judge->original_length = NULL;
    judge->original_other = 0;
    if (plan->own_rows) {
        memset(judge->row_position, 0, sizeof judge->row_position);
        memset(judge->row_padding, 0, sizeof judge->row_padding);
    }
    *other = 0;
    judge->first_watched = observation->tensors;
    judge->followed = 0;
    /* Most often the same tensors as before stand in the same places. */
    while (known < most && shortcuts[known].name == observation->tensor[known].name && shortcuts[known].kind <= RETURNED) {
        judge->seen[shortcuts[known].slot].tensor[shortcuts[known].kind] = &observation->tensor[known];
        known++;
    }
    for (int at = known; at < observation->tensors; at++) {
        const kvc_tensor *tensor = &observation->tensor[at];
        shortcut place;
        if (tensor->name == first_watched && judge->first_watched > at) {
            /* What is watched is shown in the same order after every op, with what is new behind it. */
            judge->first_watched = at;
            judge->followed = count_followed(judge, observation, at);
            at += judge->followed - 1;
            continue;
        }
        if (at < SHORTCUTS && shortcuts[at].name == tensor->name) {
            place = shortcuts[at];
        } else if (is_watched(tensor->name)) {
            /* Names of watched tensors come and go: only the others are known by their address. */
            if (at < SHORTCUTS)
                shortcuts[at].name = NULL;
            judge->kind[at] = tensor->name[0] == 'i' ? INPUT : EARLIER;
            if (judge->first_watched > at)
                judge->first_watched = at;
            continue;
        } else {
            place = find_name(plan, tensor->name);
            if (at < SHORTCUTS)
                shortcuts[at] = place;
        }
        judge->kind[at] = place.kind;
        if (place.kind == STORED)
            judge->seen[place.slot].tensor[STORED] = tensor;
        else if (place.kind == RETURNED)
            judge->seen[place.slot].tensor[RETURNED] = tensor;
        else if (place.kind == ORIGINAL)
            judge->seen[place.slot].original = tensor;
        else if (place.kind == ROW_POSITION)
            judge->row_position[place.slot] = tensor;
        else if (place.kind == ROW_PADDING)
            judge->row_padding[place.slot] = tensor;
        else if (place.kind == ORIGINAL_LENGTH)
            judge->original_length = tensor;
        else if (place.kind == ORIGINAL_OTHER)
            judge->original_other =
                hash_tensor(judge, hash_bytes(judge->original_other, tensor->name, strlen(tensor->name)), tensor);
        else if (place.kind == OTHER)
            *other = hash_tensor(judge, hash_bytes(*other, tensor->name, strlen(tensor->name)), tensor);
    }
    for (int at = 0; plan->has_opaque && at < plan->slots; at++) {
        if (plan->slot[at].view->rule == KVC_RULE_OPAQUE && judge->seen[at].tensor[STORED] != NULL)
            *other = hash_tensor(judge, *other, judge->seen[at].tensor[STORED]);
    }
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
    const kvc_model *model = &judge->model;

    for (int at = 0; *found == 0 && at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_extent extent = {.kind = KVC_CELL_UNKNOWN, .width = -1};
        kvc_deviation deviation;
        if (slot->view->rule != KVC_RULE_BYTES || judge->seen[at].tensor[STORED] == NULL)
            continue;
        slot->kind->stored(model, at, &extent);
        deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[STORED]);
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
    const kvc_model *model = &judge->model;
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
                                      : kvc_rows_check_stored(judge->expected->encoder, model, at, judge->seen[at].tensor[STORED], &row);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, slot->view->law, KVC_PLACE_STORED, at, slot->layer, deviation);
        else if (slot->view->law == KVC_KEYS &&
                 (deviation = kvc_rows_check_padding(model, at, judge->seen[at].tensor[STORED], judge->row_padding[slot->layer],
                                                     &row)) != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_LENGTH, KVC_PLACE_LENGTH, at, slot->layer, deviation);
    }
}

/* What the last call of an append returned, and which of it the mask lets each token see. */
static void check_rows_returned(kvc_judge *judge, kvc_failure *failure, int *found)
{
    const kvc_model *model = &judge->model;
    int32_t row;

    for (int at = 0; at < model->plan->slots; at++) {
        const kvc_slot *slot = &model->plan->slot[at];
        kvc_row_query query;
        int keys = slot->view->law == KVC_MASK ? kvc_seen_keys(model->plan, at) : -1;
        kvc_deviation deviation = kvc_rows_check_returned(judge->expected->encoder, model, at, judge->seen[at].tensor[RETURNED], &row);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_RETURN, KVC_PLACE_RETURNED, at, slot->layer, deviation);
        /* Where the keys are wrong, so is what the mask lets be seen of them. */
        if (keys < 0 || kvc_rows_check_returned(judge->expected->encoder, model, keys, judge->seen[keys].tensor[RETURNED], &row) !=
                            KVC_AS_EXPECTED)
            continue;
        deviation = kvc_rows_check_mask(judge->expected->encoder, model, at, judge->seen[keys].tensor[RETURNED], judge->seen[at].tensor[RETURNED],
                                        &query);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_SEEN, at, slot->layer, deviation);
    }
}

/* Whether a row is wrong that the op gave no token. */
static int an_idle_row_is_wrong(kvc_judge *judge, const kvc_op *op)
{
    int32_t row;

    for (int at = 0; op->kind == KVC_APPEND_ROWS && at < judge->model.plan->slots; at++) {
        if (kvc_rows_check_stored(judge->expected->encoder, &judge->model, at, judge->seen[at].tensor[STORED], &row) != KVC_AS_EXPECTED &&
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
    const kvc_model *model = &judge->model;
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
        deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[STORED]);
        if (deviation == KVC_AS_EXPECTED)
            deviation = check_early_buffer(model, at, &extent, judge->seen[at].tensor[STORED]);
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, plan->slot[at].view->law, KVC_PLACE_STORED, at, plan->slot[at].layer, deviation);
    }
    if (refused == NULL)
        check_bytes(judge, failure, found);
}

static int same_shape(int32_t dims, const int64_t *a, const int64_t *b)
{
    int64_t differs = 0;

    for (int32_t axis = 0; axis < dims; axis++)
        differs |= a[axis] ^ b[axis];
    return differs == 0;
}

/* A returned tensor that shares the bytes of the stored one, and must hold the same, was checked with it. */
static int checked_as_stored(const kvc_judge *judge, int slot, const kvc_extent *returned)
{
    const kvc_tensor *a = judge->seen[slot].tensor[STORED];
    const kvc_tensor *b = judge->seen[slot].tensor[RETURNED];
    kvc_extent stored = {.kind = KVC_CELL_TOKEN, .width = -1};

    if (a == NULL || b == NULL || a->data != b->data || a->data == NULL || !kvc_tensor_lies_as(a, b))
        return 0;
    judge->model.plan->slot[slot].kind->stored(&judge->model, slot, &stored);
    return stored.kind == returned->kind && stored.first_min == returned->first_min &&
           stored.first_max == returned->first_max && stored.end == returned->end && stored.width == returned->width;
}

static void check_mask(kvc_judge *judge, const kvc_observation *observation, int slot, const kvc_extent *extent,
                       kvc_failure *failure, int *found)
{
    const kvc_slot *place = &judge->model.plan->slot[slot];
    const kvc_tensor *tensor = judge->seen[slot].tensor[RETURNED];
    int layer = place->layer;
    int64_t width;
    int64_t offset;

    if (place->view->law != KVC_KEYS || extent->kind != KVC_CELL_TOKEN || layer >= observation->layers ||
        !judge->model.plan->layer[layer].spec->length || observation->mask_length[layer] == KVC_ABSENT)
        return;
    if (tensor == NULL || tensor->dims <= place->tokens_axis || kvc_tensor_elements(tensor) < 0)
        return;
    width = tensor->shape[place->tokens_axis];
    offset = extent->width >= 0 ? extent->first_min : extent->end - width;
    offset += kvc_plan_ahead(judge->model.plan, layer);
    if (observation->mask_length[layer] != width)
        kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_MASK, slot, layer,
             observation->mask_length[layer] < width ? KVC_TOO_LOW : KVC_TOO_HIGH);
    else if (observation->mask_offset[layer] != offset && width > 0)
        kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_MASK, slot, layer, KVC_WRONG_VALUE);
}

static void check_returned(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_model *model = &judge->model;

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
                                 : kvc_check_seen(model, at, judge->seen[keys].tensor[RETURNED], judge->seen[at].tensor[RETURNED], &ignored);
            if (deviation != KVC_AS_EXPECTED)
                kvc_failure_note(failure, found, KVC_MASK, KVC_PLACE_SEEN, at, model->plan->slot[at].layer, deviation);
            continue;
        }
        if (!checked_as_stored(judge, at, &extent)) {
            deviation = kvc_check_tensor(judge->expected, model, at, &extent, judge->seen[at].tensor[RETURNED]);
            if (deviation != KVC_AS_EXPECTED)
                kvc_failure_note(failure, found, KVC_RETURN, KVC_PLACE_RETURNED, at, model->plan->slot[at].layer, deviation);
        }
        check_mask(judge, observation, at, &extent, failure, found);
    }
}

static void check_positions(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_model *model = &judge->model;

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
    const kvc_plan *plan = judge->model.plan;

    for (int at = 0; at < plan->slots; at++) {
        const kvc_tensor *tensor = judge->seen[at].tensor[STORED];
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

/* The slot that a watched tensor (see is_watched) `input.3.layer0.keys` speaks of, or -1. */
static int watched_slot(const kvc_plan *plan, const char *name)
{
    const char *rest = name + (name[0] == 'i' ? strlen("input.") : strlen("earlier."));
    const char *end = rest;

    while (*end >= '0' && *end <= '9')
        end++;
    if (end == rest || *end != '.')
        return -1;
    for (int at = 0; at < plan->slots; at++) {
        if (strcmp(plan->slot[at].name, end + 1) == 0 || strcmp(plan->slot[at].returned_name, end + 1) == 0)
            return at;
    }
    return -1;
}

/* An input that is shown for the first time was just appended: it must hold exactly those tokens. */
static int input_is_whole(kvc_judge *judge, int slot, const kvc_tensor *tensor)
{
    const kvc_model *model = &judge->model;
    kvc_view_rule rule = model->plan->slot[slot].view->rule;
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .end = model->length, .width = -1};

    if (model->plan->own_rows || model->appended == 0 || (rule != KVC_RULE_ALL && rule != KVC_RULE_WINDOW && rule != KVC_RULE_LAST &&
                                 rule != KVC_RULE_FIXED && rule != KVC_RULE_FIXED_WINDOW &&
                                 rule != KVC_RULE_BLOCK_REST && rule != KVC_RULE_PREFIX_WINDOW &&
                                 rule != KVC_RULE_FIXED_PREFIX_WINDOW))
        return 1;
    extent.first_min = extent.first_max = model->length - model->appended;
    /* A caller pads and cuts the first input of a convolution itself where the cache does not. */
    if (rule == KVC_RULE_LAST) {
        extent.zeros_left = 1;
        extent.first_max = kvc_larger(extent.first_min, model->length - model->plan->params.kernel);
    }
    return kvc_check_tensor(judge->expected, model, slot, &extent, tensor) == KVC_AS_EXPECTED;
}

/* Whether the elements, of `size` bytes in all, reach over no more memory than that from `data` on: they lie in it in whatever order. */
static int fills_memory(const kvc_tensor *tensor, size_t size)
{
    int64_t reach = (int64_t)kvc_dtype_size((kvc_dtype)tensor->dtype);

    if (!kvc_tensor_is_strided(tensor) || size == 0)
        return 1;
    for (int axis = 0; axis < tensor->dims; axis++) {
        if (tensor->stride[axis] < 1)
            return 0;
        reach += (tensor->shape[axis] - 1) * tensor->stride[axis];
    }
    return reach == (int64_t)size;
}

/* Remembers a tensor as it is now. */
static void keep(kvc_judge *judge, first_shown *entry, const kvc_tensor *tensor)
{
    int64_t elements = kvc_tensor_elements(tensor);
    size_t size = elements > 0 ? (size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype) : 0;
    uint8_t *copy = judge->copies + judge->copied;
    const uint8_t *from = tensor->data;

    entry->copy = *tensor;
    entry->copy.data = NULL;
    entry->size = size;
    entry->fills = elements >= 0 && fills_memory(tensor, size);
    if (elements < 0 || size > COPIES_MAX - judge->copied) {
        entry->content = hash_tensor(judge, 2, tensor);
        return;
    }
    entry->copy.data = copy;
    if (!entry->fills) {
        memset(entry->copy.stride, 0, sizeof entry->copy.stride);
        from = pack(judge, 0, tensor, size);
    }
    if (size > 0 && from != NULL)
        memcpy(copy, from, size);
    judge->copied += size;
}

static int is_unchanged(kvc_judge *judge, const first_shown *entry, const kvc_tensor *tensor)
{
    const uint8_t *before;
    const uint8_t *now;

    if (entry->copy.data == NULL)
        return entry->content == hash_tensor(judge, 2, tensor);
    if (kvc_tensor_lies_as(&entry->copy, tensor))
        return entry->size == 0 || memcmp(entry->copy.data, tensor->data, entry->size) == 0;
    if (tensor->dtype != entry->copy.dtype || tensor->dims != entry->copy.dims ||
        !same_shape(tensor->dims, entry->copy.shape, tensor->shape))
        return 0;
    if (entry->size == 0)
        return 1;
    before = pack(judge, 0, &entry->copy, entry->size);
    now = pack(judge, 1, tensor, entry->size);
    return before == NULL || now == NULL || memcmp(before, now, entry->size) == 0;
}

/* Remembers a watched tensor. */
static void keep_watched(kvc_judge *judge, watched *entry, const kvc_tensor *tensor, int kind)
{
    const uint8_t *from = tensor->data;
    const uint8_t *copy;

    judge->shown[entry - judge->watch] = *tensor;
    entry->name = tensor->name;
    entry->kind = (uint8_t)kind;
    entry->slot = (int16_t)watched_slot(judge->model.plan, tensor->name);
    entry->live = kind == EARLIER && entry->slot >= 0 &&
                  kvc_slot_rule(&judge->model, entry->slot, KVC_CONTRACT_RETURNED_TENSORS)->value == KVC_RETURNED_LIVE;
    if (entry->live)
        return;
    keep(judge, &entry->as, tensor);
    copy = entry->as.copy.data;
    if (!entry->as.fills || copy == NULL) {
        judge->apart++;
        return;
    }
    if (entry->as.size == 0)
        return;
    if (judge->stretches > 0) {
        stretch *last = &judge->stretch[judge->stretches - 1];
        if (last->data + last->size == from && last->copy + last->size == copy) {
            last->size += entry->as.size;
            return;
        }
    }
    judge->stretch[judge->stretches++] = (stretch){from, copy, entry->as.size};
}

/* All that are followed are shown as they were first, and none of those that must not change has changed. */
static int all_unchanged(const kvc_judge *judge, const kvc_observation *observation)
{
    if (judge->apart > 0 || judge->followed != judge->watched ||
        memcmp(judge->shown, &observation->tensor[judge->first_watched], (size_t)judge->watched * sizeof judge->shown[0]) != 0)
        return 0;
    for (int at = 0; at < judge->stretches; at++) {
        const stretch *next = &judge->stretch[at];
        if (memcmp(next->data, next->copy, next->size) != 0)
            return 0;
    }
    return 1;
}

/*
 * The entry of a watched tensor; `next` is where it stands when it is shown in the same order as before. `complete`: all that are known
 * were shown already. *is_new: it was just made. A name keeps its address as long as the cache lives, and no two addresses have one name.
 */
static watched *find_watched(kvc_judge *judge, const kvc_tensor *tensor, int kind, int complete, int *next, int *is_new)
{
    int at = *next;

    if (!complete && (at >= judge->watched || judge->watch[at].name != tensor->name)) {
        for (at = 0; at < judge->watched && judge->watch[at].name != tensor->name;)
            at++;
    }
    *next = at + 1;
    *is_new = at == judge->watched;
    if (at == WATCHED_MAX)
        return NULL;
    if (*is_new) {
        judge->watched++;
        keep_watched(judge, &judge->watch[at], tensor, kind);
    }
    return &judge->watch[at];
}

/* A tensor that was shown before holds what it held then. */
static void check_known(kvc_judge *judge, const watched *entry, const kvc_tensor *tensor, kvc_failure *failure,
                        int *found)
{
    if (!entry->live && !is_unchanged(judge, &entry->as, tensor))
        kvc_failure_note(failure, found, KVC_ALIAS, entry->kind == INPUT ? KVC_PLACE_INPUT : KVC_PLACE_EARLIER, entry->slot,
             entry->slot >= 0 ? judge->model.plan->slot[entry->slot].layer : 0, KVC_WRITTEN);
}

static void check_watched(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_plan *plan = judge->model.plan;
    int next = judge->followed;
    int complete = judge->followed == judge->watched;

    for (int at = all_unchanged(judge, observation) ? judge->followed : 0; at < judge->followed; at++)
        check_known(judge, &judge->watch[at], &observation->tensor[judge->first_watched + at], failure, found);
    for (int at = judge->first_watched + judge->followed; at < observation->tensors; at++) {
        const kvc_tensor *tensor = &observation->tensor[at];
        int input = judge->kind[at] == INPUT;
        int is_new;
        watched *entry;
        if (!input && judge->kind[at] != EARLIER)
            continue;
        entry = find_watched(judge, tensor, judge->kind[at], complete, &next, &is_new);
        if (entry == NULL || entry->live)
            continue;
        if (!is_new)
            check_known(judge, entry, tensor, failure, found);
        else if (input && entry->slot >= 0 && !input_is_whole(judge, entry->slot, tensor))
            kvc_failure_note(failure, found, KVC_ALIAS, KVC_PLACE_INPUT, entry->slot, plan->slot[entry->slot].layer, KVC_WRITTEN);
    }
}

/* Lengths of the original: one for each layer, -1 where the layer reports none. */
static kvc_deviation check_original_length(const kvc_judge *judge)
{
    const kvc_plan *plan = judge->model.plan;
    const kvc_tensor *tensor = judge->original_length;

    if (plan->own_rows)
        return KVC_AS_EXPECTED;
    if (tensor == NULL)
        return KVC_MISSING;
    if (tensor->dtype != KVC_INT64 || kvc_tensor_elements(tensor) != plan->layers)
        return KVC_WRONG_SHAPE;
    for (int layer = 0; layer < plan->layers; layer++) {
        int64_t length;
        memcpy(&length, (const uint8_t *)tensor->data + kvc_tensor_element(tensor, layer), sizeof length);
        if (plan->layer[layer].spec->length && length != judge->model.length)
            return length < judge->model.length ? KVC_TOO_LOW : KVC_TOO_HIGH;
    }
    return KVC_AS_EXPECTED;
}

/* Whether a tensor of the original, or its lengths, is what it was after the op before. */
static int original_is_unchanged(kvc_judge *judge, int at, const kvc_tensor *tensor)
{
    const first_shown *entry = &judge->original[at];

    return tensor == NULL ? entry->copy.name == NULL : entry->copy.name != NULL && is_unchanged(judge, entry, tensor);
}

/* The cache that was copied is what it was before, and stays so whatever is done with the copy. */
static void check_original(kvc_judge *judge, const kvc_op *op, kvc_failure *failure, int *found)
{
    const kvc_model *model = &judge->model;
    const kvc_plan *plan = model->plan;
    int copied = op->kind == KVC_COPY;

    if (copied) {
        kvc_deviation deviation = check_original_length(judge);
        judge->has_original = 1;
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_ISOLATION, KVC_PLACE_ORIGINAL, -1, 0, deviation);
    }
    for (int at = 0; at <= plan->slots; at++) {
        const kvc_tensor *tensor = at < plan->slots ? judge->seen[at].original : judge->original_length;
        kvc_deviation deviation = KVC_AS_EXPECTED;
        if (!copied) {
            deviation = original_is_unchanged(judge, at, tensor) ? KVC_AS_EXPECTED : KVC_WRITTEN;
        } else {
            if (at < plan->slots && !model->slot[at].unjudged) {
                kvc_extent extent = {.kind = KVC_CELL_TOKEN, .width = -1};
                int32_t row;
                if (plan->own_rows) {
                    deviation = kvc_rows_check_stored(judge->expected->encoder, model, at, tensor, &row);
                } else {
                    plan->slot[at].kind->stored(model, at, &extent);
                    deviation = kvc_check_tensor(judge->expected, model, at, &extent, tensor);
                }
            }
            if (tensor != NULL)
                keep(judge, &judge->original[at], tensor);
            else
                judge->original[at].copy.name = NULL;
        }
        if (deviation != KVC_AS_EXPECTED)
            kvc_failure_note(failure, found, KVC_ISOLATION, KVC_PLACE_ORIGINAL, at < plan->slots ? at : -1,
                 at < plan->slots ? plan->slot[at].layer : 0, deviation);
    }
    if (!copied && judge->original_other != judge->original_other_kept)
        kvc_failure_note(failure, found, KVC_ISOLATION, KVC_PLACE_ORIGINAL, -1, 0, KVC_WRITTEN);
    judge->original_other_kept = judge->original_other;
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
static int was_claimed(const kvc_judge *judge, const kvc_op *op, const kvc_observation *observation)
{
    const kvc_model *model = &judge->model;

    return kvc_op_is_rollback(op->kind) && observation->claim == 1 && kvc_op_as_crop(op) < 0 && judge->expectation.removed > 0 &&
           judge->expectation.situation.ask != KVC_ASK_OVER &&
           model->plan->rules.rule[KVC_CONTRACT_CLAIM]->value == KVC_CLAIM_CROPPABLE &&
           (!kvc_plan_has_op(model->plan, KVC_RECORD) || model->recording_since_first);
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

static int judge_refused(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, uint64_t other,
                         kvc_failure *failure)
{
    const kvc_expectation *expectation = &judge->expectation;
    kvc_failure changed = *failure;
    int found = 0;
    int change = 0;

    if (!kvc_model_commit(&judge->model, op, expectation, 1))
        return -1;
    /* Where an append should have been done, nobody knows which of several calls refused it. */
    if (op->kind != KVC_APPEND || expectation->verdict != KVC_DO ||
        judge->model.plan->layers == 1)
        check_state(judge, observation, op->kind == KVC_APPEND ? expectation : NULL, &changed, &change);
    if (!change && !judge->model.torn && judge->other_known && other != judge->other)
        kvc_failure_note(&changed, &change, KVC_ATOMIC, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    if (expectation->verdict == KVC_DO) {
        kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_REFUSED);
        failure->complaint = complaint_of(observation);
        add_op_laws(judge, op, failure);
        if (was_claimed(judge, op, observation))
            kvc_failure_add(failure, KVC_HONEST);
    } else if (!error_is_documented(expectation->rule, observation->error_kind)) {
        kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_WRONG_ERROR);
    }
    /* Refused as documented, and claimed all the same. */
    if (!found && was_claimed(judge, op, observation)) {
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
    check_watched(judge, observation, failure, &found);
    if (op->kind != KVC_COPY && judge->has_original)
        check_original(judge, op, failure, &found);
    if (found && expectation->verdict == KVC_DO) {
        /* The report shows where the op should have left the cache. */
        judge->model.next -= kvc_op_tokens(op);
        if (!kvc_model_commit(&judge->model, op, expectation, 0))
            return -1;
    }
    return found;
}

static int judge_done(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, uint64_t other,
                      kvc_failure *failure)
{
    const kvc_expectation *expectation = &judge->expectation;
    int claimed = was_claimed(judge, op, observation);
    int found = 0;

    if (expectation->verdict == KVC_MUST_REFUSE) {
        kvc_failure_note(failure, &found, KVC_REFUSE, KVC_PLACE_OUTCOME, -1, 0, KVC_NOT_REFUSED);
        if (claimed)
            kvc_failure_add(failure, KVC_HONEST);
        return kvc_model_commit(&judge->model, op, expectation, 1) ? 1 : -1;
    }
    if (!kvc_model_commit(&judge->model, op, expectation, 0))
        return -1;
    check_state(judge, observation, NULL, failure, &found);
    if (kvc_op_moves_cache((kvc_op_kind)op->kind)) {
        /* Buffers may lie elsewhere now. */
        memset(judge->address, 0, (size_t)judge->model.plan->slots * sizeof judge->address[0]);
        if (!found && judge->other_known && other != judge->other)
            kvc_failure_note(failure, &found, KVC_SAVE, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    }
    if (found) {
        add_op_laws(judge, op, failure);
        if (judge->model.plan->own_rows && an_idle_row_is_wrong(judge, op))
            kvc_failure_add(failure, KVC_ISOLATION);
        if (claimed)
            kvc_failure_add(failure, KVC_HONEST);
    }
    if (op->kind == KVC_APPEND || op->kind == KVC_APPEND_ROWS)
        check_returned(judge, observation, failure, &found);
    /* In a cache of several layers the contract of the one that is wrong decides. */
    if (found && failure->layer >= 0)
        failure->rule_layer = failure->layer;
    if (judge->model.plan->has_static)
        check_addresses(judge, failure, &found);
    check_watched(judge, observation, failure, &found);
    if (op->kind == KVC_COPY || judge->has_original)
        check_original(judge, op, failure, &found);
    check_positions(judge, observation, failure, &found);
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

    if (kvc_sequences_have_pending(judge->model.sequences))
        kvc_sequences_look(&judge->model, &none, observation, &ignored, &found);
    return found;
}

/* One op on a cache that holds several sequences. */
static int judge_sequences(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, uint64_t other,
                           kvc_failure *failure)
{
    const kvc_expectation *expectation = &judge->expectation;
    int changed = judge->other_known && other != judge->other &&
                  !(op->kind == KVC_DECODE && kvc_sequences_have_pending(judge->model.sequences));
    int found = 0;

    /* The cache refused something that it might have done, and stands where this op was not meant for. */
    if (expectation->unspecified)
        return 2;
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
        return kvc_model_commit(&judge->model, op, expectation, !found || expectation->verdict == KVC_MUST_REFUSE) ? found : -1;
    }
    if (!kvc_model_commit(&judge->model, op, expectation, 0))
        return -1;
    kvc_sequences_look(&judge->model, op, observation, failure, &found);
    if (op->kind == KVC_SEQ_SAVE && changed)
        kvc_failure_note(failure, &found, KVC_SAVE, KVC_PLACE_OTHER, -1, 0, KVC_CHANGED);
    if (found && (op->kind == KVC_SEQ_SAVE || op->kind == KVC_SEQ_RESTORE))
        kvc_failure_add(failure, KVC_SAVE);
    if (found && op->kind == KVC_CLEAR)
        kvc_failure_add(failure, KVC_RESET_LAW);
    return found;
}

int kvc_judge_step(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure)
{
    uint64_t other;
    int result;

    kvc_model_expect(&judge->model, op, &judge->expectation);
    memset(failure, 0, sizeof *failure);
    failure->slot = -1;
    failure->step = judge->step++;
    failure->op = op->kind;
    failure->narrow = judge->model.plan->has_window && judge->model.plan->params.window == 1;
    failure->situation = judge->expectation.situation;
    failure->rule = (int32_t)judge->expectation.rule->name;
    failure->rule_layer = judge->expectation.layer;
    if (judge->model.sequences != NULL) {
        other = kvc_sequences_digest(observation);
        result = judge_sequences(judge, op, observation, other, failure);
        judge->other = other;
        judge->other_known = 1;
        return result;
    }
    sort_tensors(judge, op, observation, &other);
    result = observation->outcome != 0 ? judge_refused(judge, op, observation, other, failure)
                                       : judge_done(judge, op, observation, other, failure);
    judge->other = other;
    judge->other_known = 1;
    return judge->out_of_memory ? -1 : result;
}

int kvc_judge_assume(kvc_judge *judge, const kvc_op *op)
{
    kvc_model_expect(&judge->model, op, &judge->expectation);
    judge->step++;
    return kvc_model_commit(&judge->model, op, &judge->expectation,
                            judge->expectation.verdict == KVC_MUST_REFUSE);
}

int kvc_judge_assume_outcome(kvc_judge *judge, const kvc_op *op, int refused)
{
    kvc_model_expect(&judge->model, op, &judge->expectation);
    judge->step++;
    return kvc_model_commit(&judge->model, op, &judge->expectation, refused);
}

uint64_t kvc_judge_opaque(const kvc_judge *judge)
{
    return judge->other;
}

void kvc_judge_died(kvc_judge *judge, const kvc_op *op, kvc_deviation how, kvc_failure *failure)
{
    kvc_model_expect(&judge->model, op, &judge->expectation);
    memset(failure, 0, sizeof *failure);
    failure->law = KVC_ALIVE;
    failure->place = KVC_PLACE_OUTCOME;
    failure->slot = -1;
    failure->deviation = (uint8_t)how;
    failure->step = judge->step;
    failure->op = op->kind;
    failure->narrow = judge->model.plan->has_window && judge->model.plan->params.window == 1;
    failure->situation = judge->expectation.situation;
    failure->rule = (int32_t)judge->expectation.rule->name;
    failure->rule_layer = judge->expectation.layer;
    (void)kvc_model_commit(&judge->model, op, &judge->expectation,
                           judge->expectation.verdict == KVC_MUST_REFUSE);
}
