/*
 * Most ops leave a cache as it must be, and show it in the order in which it was shown before: that is found out here, in one walk
 * over what is shown. It can only say that nothing is wrong. All else is looked at again by judge.c, which says what is wrong.
 */
#include "reference/judge_internal.h"

#include <string.h>

/* What a tensor must hold that was looked at. */
typedef struct looked_at {
    int slot; /* -1 for none */
    const kvc_tensor *tensor;
    kvc_extent extent; /* not of one that stores every token */
} looked_at;

void kvc_judge_prepare_glance(kvc_judge *judge, const kvc_plan *plan)
{
    judge->glances = !plan->own_rows && !plan->has_opaque && !kvc_plan_has_sequences(plan);
    judge->regular[0] = judge->regular[1] = -1;
    for (int layer = 0; layer < plan->layers; layer++) {
        judge->reports[layer] = plan->layer[layer].spec->length != 0;
        judge->ahead[layer] = kvc_plan_ahead(plan, layer);
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        const kvc_slot *place = &plan->slot[slot];
        kvc_glanced *glanced = &judge->glanced[slot];
        judge->glances &= place->view->rule != KVC_RULE_BYTES;
        glanced->stored = place->kind->stored;
        glanced->tokens_axis = place->tokens_axis;
        glanced->layer = (int16_t)place->layer;
        glanced->is_all = place->view->rule == KVC_RULE_ALL && place->tokens_axis >= 0;
        glanced->returns_all = place->view->returned == KVC_RETURNS_ALL;
        glanced->has_mask = place->view->law == KVC_KEYS && place->tokens_axis >= 0 && judge->reports[place->layer];
    }
}

/* What is not shown with strides, or is wrong. */
static __attribute__((noinline)) int is_right_after_all(kvc_judge *judge, int slot, const kvc_extent *extent,
                                                        const kvc_tensor *tensor)
{
    return kvc_check_tensor(judge->expected, judge->model, slot, extent, tensor) == KVC_AS_EXPECTED;
}

static inline void find_stored(const kvc_judge *judge, int slot, kvc_extent *extent)
{
    *extent = (kvc_extent){.kind = KVC_CELL_TOKEN, .width = -1};
    judge->glanced[slot].stored(judge->model, slot, extent);
}

/* Called in one place, where it is part of the walk. */
static inline int is_right(kvc_judge *judge, int slot, const kvc_extent *extent, const kvc_tensor *tensor)
{
    if (extent->kind < KVC_CELL_NUMBER && kvc_tensor_is_strided(tensor)) {
        kvc_expected_cells *cells = kvc_expected_find(judge->expected, judge->model, slot, extent->kind, extent->end);
        if (cells != NULL && kvc_check_laid(cells, extent, judge->glanced[slot].tokens_axis, tensor))
            return 1;
    }
    return is_right_after_all(judge, slot, extent, tensor);
}

/* Of one that stores every token: nothing has to be asked of its view. */
static inline int all_is_right(kvc_judge *judge, int slot, const kvc_tensor *tensor)
{
    int32_t length = judge->model->length;
    int tokens = judge->glanced[slot].tokens_axis;

    if (kvc_tensor_is_strided(tensor) && tensor->shape[tokens] == length) {
        kvc_expected_cells *cells = kvc_expected_tokens(judge->expected, judge->model, slot, length);
        if (cells != NULL) {
            cells->tensor.shape[tokens] = length;
            if (kvc_tensor_lies_as(tensor, &cells->tensor) &&
                (length == 0 || memcmp(tensor->data, cells->want, (size_t)length * cells->stripe) == 0))
                return 1;
        }
    }
    return is_right_after_all(judge, slot, &(kvc_extent){.kind = KVC_CELL_TOKEN, .end = length, .width = -1}, tensor);
}

/* What was announced of a mask fits the keys that are seen through it, of which the first is token number `first` of the log. */
static inline int mask_is_right(const kvc_judge *judge, int slot, int64_t width, int64_t first, const kvc_observation *observation)
{
    int layer = judge->glanced[slot].layer;

    if (layer >= observation->layers || observation->mask_length[layer] == KVC_ABSENT)
        return 1;
    return observation->mask_length[layer] == width &&
           (observation->mask_offset[layer] == first + judge->ahead[layer] || width == 0);
}

/* One that shares the bytes of the stored one, and must hold the same, was checked with it. */
static inline int is_stored(const looked_at *stored, int slot, const kvc_tensor *tensor)
{
    return stored->slot == slot && tensor->data != NULL && tensor->data == stored->tensor->data &&
           kvc_tensor_lies_as(tensor, stored->tensor);
}

static inline int returned_is_right(kvc_judge *judge, const looked_at *stored, int slot, const kvc_tensor *tensor,
                                    const kvc_observation *observation)
{
    const kvc_glanced *glanced = &judge->glanced[slot];
    kvc_extent extent;
    int64_t width;

    if (judge->model->slot[slot].unjudged)
        return 0;
    if (glanced->is_all && glanced->returns_all && is_stored(stored, slot, tensor))
        return !glanced->has_mask || mask_is_right(judge, slot, judge->model->length, 0, observation);
    if (!kvc_view_returned(judge->model, slot, &extent))
        return 1;
    if (extent.kind == KVC_CELL_SEEN)
        return 0;
    if ((glanced->is_all || !is_stored(stored, slot, tensor) || memcmp(&extent, &stored->extent, sizeof extent) != 0) &&
        !is_right(judge, slot, &extent, tensor))
        return 0;
    if (!glanced->has_mask || extent.kind != KVC_CELL_TOKEN)
        return 1;
    width = tensor->shape[glanced->tokens_axis];
    return mask_is_right(judge, slot, width, extent.width >= 0 ? extent.first_min : extent.end - width, observation);
}

/*
 * Which tensors the first `count` places show. Those that are not shown must be those that need not be. Returns 1; where all are shown
 * that the plan has, each once, that is remembered.
 */
static __attribute__((noinline)) int missing_are_right(kvc_judge *judge, int appended, int count)
{
    const kvc_plan *plan = judge->model->plan;
    const uint64_t all = ((uint64_t)1 << plan->slots) - 1;
    uint64_t shown[2] = {0, 0};
    int originals = 0;
    kvc_extent extent;

    for (int at = 0; at < count; at++) {
        const kvc_shortcut *known = &judge->shortcuts[appended][at];
        if (known->kind > KVC_IS_RETURNED) {
            originals = 1;
        } else if ((shown[known->kind] >> known->slot & 1u) != 0) {
            return 0;
        } else {
            shown[known->kind] |= (uint64_t)1 << known->slot;
        }
    }
    if (shown[0] == all && (shown[1] == all || !appended)) {
        if (!originals)
            judge->regular[appended] = count;
        return 1;
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        if (judge->model->slot[slot].unjudged)
            return 0;
        if ((shown[0] >> slot & 1u) == 0) {
            find_stored(judge, slot, &extent);
            judge->seen[slot].tensor[KVC_IS_STORED] = NULL;
            if (!is_right_after_all(judge, slot, &extent, NULL))
                return 0;
        }
        if (appended && (shown[1] >> slot & 1u) == 0 && kvc_view_returned(judge->model, slot, &extent) &&
            (extent.kind == KVC_CELL_SEEN || !is_right_after_all(judge, slot, &extent, NULL)))
            return 0;
    }
    return 1;
}

static inline int numbers_are_right(const kvc_judge *judge, const kvc_observation *observation)
{
    int64_t length = judge->model->length;
    int layers = judge->model->plan->layers;

    for (int layer = 0; layer < layers; layer++) {
        int shown = layer < observation->layers;
        if (judge->reports[layer] && (!shown || observation->length[layer] != length))
            return 0;
        if (shown && observation->position[layer] != KVC_ABSENT && observation->position[layer] != length + judge->ahead[layer])
            return 0;
    }
    return 1;
}

/* The inputs and earlier returns behind the other tensors, from place `at` on. */
static int sort_watched(kvc_judge *judge, const kvc_observation *observation, int at)
{
    if (judge->watched > 0 && observation->tensor[at].name == judge->watch[0].name)
        judge->followed = kvc_judge_count_followed(judge, observation, at);
    for (at += judge->followed; at < observation->tensors; at++) {
        const char *name = observation->tensor[at].name;
        if (!kvc_judge_is_watched(name))
            return 0;
        judge->kind[at] = name[0] == 'i' ? KVC_IS_INPUT : KVC_IS_EARLIER;
    }
    return 1;
}

static int originals_are_right(kvc_judge *judge, const kvc_op *op)
{
    kvc_failure ignored = {0};
    int found = 0;

    kvc_judge_check_original(judge, op, &ignored, &found);
    return !found;
}

/* Buffers that are documented as static have not moved. */
static int addresses_are_right(kvc_judge *judge)
{
    const kvc_plan *plan = judge->model->plan;

    for (int slot = 0; slot < plan->slots; slot++) {
        const kvc_tensor *tensor = judge->seen[slot].tensor[KVC_IS_STORED];
        int axis = plan->slot[slot].tokens_axis;
        if (!plan->slot[slot].view->is_static || tensor == NULL || tensor->address == 0)
            continue;
        if (judge->address[slot] != 0 && judge->address[slot] != tensor->address)
            return 0;
        judge->address[slot] = tensor->address;
        judge->address_cells[slot] = axis >= 0 ? tensor->shape[axis] : 0;
    }
    return 1;
}

/* Before the originals of copies are looked for among what is shown. */
static int forget_originals(kvc_judge *judge, const kvc_op *op)
{
    if (op->kind != KVC_COPY && judge->original_other_kept != 0)
        return 0;
    judge->original_other = 0;
    judge->original_length = NULL;
    for (int slot = 0; slot < judge->model->plan->slots; slot++)
        judge->seen[slot].original = NULL;
    return 1;
}

int kvc_judge_glance(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation)
{
    const kvc_model *model = judge->model;
    const kvc_plan *plan = model->plan;
    int appended = op->kind == KVC_APPEND;
    int originals = op->kind == KVC_COPY || judge->has_original;
    int most = observation->tensors < KVC_SHORTCUTS ? observation->tensors : KVC_SHORTCUTS;
    const kvc_shortcut *known = judge->shortcuts[appended];
    looked_at stored = {.slot = -1};
    int place = 0;

    if (!judge->glances || judge->other != 0 || (model->initialized && !model->used) || !numbers_are_right(judge, observation) ||
        (originals && !forget_originals(judge, op)))
        return 0;
    for (; place < most && known[place].name == observation->tensor[place].name; place++) {
        const kvc_tensor *tensor = &observation->tensor[place];
        int slot = known[place].slot;
        if (known[place].kind == KVC_IS_STORED) {
            if (model->slot[slot].unjudged)
                return 0;
            stored.slot = slot;
            stored.tensor = judge->seen[slot].tensor[KVC_IS_STORED] = tensor;
            if (judge->glanced[slot].is_all) {
                if (!all_is_right(judge, slot, tensor))
                    return 0;
                continue;
            }
            find_stored(judge, slot, &stored.extent);
            if (!is_right(judge, slot, &stored.extent, tensor))
                return 0;
        } else if (known[place].kind == KVC_IS_RETURNED) {
            if (appended && !returned_is_right(judge, &stored, slot, tensor, observation))
                return 0;
        } else if (known[place].kind == KVC_IS_ORIGINAL && originals) {
            judge->seen[slot].original = tensor;
        } else if (known[place].kind == KVC_IS_ORIGINAL_LENGTH && originals) {
            judge->original_length = tensor;
        } else {
            return 0;
        }
    }
    judge->first_watched = place;
    judge->followed = 0;
    if ((place < observation->tensors && !sort_watched(judge, observation, place)) ||
        (place != judge->regular[appended] && !missing_are_right(judge, appended, place)) ||
        (originals && !originals_are_right(judge, op)))
        return 0;
    if (plan->has_static) {
        if (kvc_op_moves_cache((kvc_op_kind)op->kind))
            memset(judge->address, 0, (size_t)plan->slots * sizeof judge->address[0]);
        return addresses_are_right(judge);
    }
    return 1;
}
