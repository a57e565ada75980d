/*
 * Most ops leave a cache as it must be, and show it in the order in which it was shown before: that is found out here, in one walk
 * over what is shown. It can only say that nothing is wrong. All else is looked at again by judge.c, which says what is wrong.
 */
#include "reference/judge_internal.h"

#include <string.h>

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
        glanced->cells = &judge->expected->slot[slot];
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

/* Any other tensor than those that store every token. */
static inline __attribute__((always_inline)) int is_right(kvc_judge *judge, const kvc_glanced *glanced, int slot,
                                                          const kvc_extent *extent, const kvc_tensor *tensor)
{
    kvc_expected_cells *cells;

    if (!kvc_tensor_is_strided(tensor) || extent->kind >= KVC_CELL_NUMBER)
        return is_right_after_all(judge, slot, extent, tensor);
    if (extent->kind != KVC_CELL_TOKEN) {
        cells = kvc_expected_lay(judge->expected, judge->model, slot, extent->kind, extent->end);
    } else {
        cells = kvc_expected_tokens(judge->expected, glanced->cells, judge->model, slot, extent->end);
    }
    if (cells != NULL && (glanced->tokens_axis >= 0 && kvc_extent_is_plain(extent)
                              ? kvc_check_plain(cells, extent, glanced->tokens_axis, tensor)
                              : kvc_check_laid(cells, extent, glanced->tokens_axis, tensor)))
        return 1;
    return is_right_after_all(judge, slot, extent, tensor);
}

static __attribute__((noinline)) int all_is_right_after_all(kvc_judge *judge, int slot, const kvc_tensor *tensor)
{
    kvc_extent extent = {.kind = KVC_CELL_TOKEN, .end = judge->model->length, .width = -1};

    return is_right_after_all(judge, slot, &extent, tensor);
}

/* Of one that stores every token: nothing has to be asked of its view. */
static inline int all_is_right(kvc_judge *judge, const kvc_glanced *glanced, int slot, const kvc_tensor *tensor)
{
    const kvc_model *model = judge->model;
    int32_t length = model->length;
    int tokens = glanced->tokens_axis;

    if (kvc_tensor_is_strided(tensor) && tensor->shape[tokens] == length) {
        kvc_expected_cells *cells = kvc_expected_tokens(judge->expected, glanced->cells, model, slot, length);
        if (cells != NULL) {
            cells->tensor.shape[tokens] = length;
            if (kvc_tensor_lies_as(tensor, &cells->tensor) &&
                (length == 0 || memcmp(tensor->data, cells->want, (size_t)length * cells->stripe) == 0))
                return 1;
        }
    }
    return all_is_right_after_all(judge, slot, tensor);
}

/* Any other. */
static __attribute__((noinline)) int stored_is_right(kvc_judge *judge, const kvc_glanced *glanced, int slot, const kvc_tensor *tensor)
{
    kvc_extent *extent = &judge->looked_at.extent;

    *extent = (kvc_extent){.kind = KVC_CELL_TOKEN, .width = -1};
    glanced->stored(judge->model, slot, extent);
    return is_right(judge, glanced, slot, extent, tensor);
}

/* What was announced of a mask fits the keys that are seen through it, of which the first is token number `first` of the log. */
static inline int mask_is_right(const kvc_judge *judge, const kvc_glanced *glanced, int64_t width, int64_t first,
                                const kvc_observation *observation)
{
    int layer = glanced->layer;

    if (layer >= observation->layers || observation->mask_length[layer] == KVC_ABSENT)
        return 1;
    return observation->mask_length[layer] == width &&
           (observation->mask_offset[layer] == first + judge->ahead[layer] || width == 0);
}

/* One that shares the bytes of the stored one, and must hold the same, was checked with it. */
static inline int is_stored(const kvc_judge *judge, int slot, const kvc_tensor *tensor)
{
    const kvc_looked_at *stored = &judge->looked_at;

    return stored->slot == slot && tensor->data != NULL && tensor->data == stored->tensor->data &&
           kvc_tensor_lies_as(tensor, stored->tensor);
}

static __attribute__((noinline)) int returned_is_right(kvc_judge *judge, const kvc_glanced *glanced, int slot, const kvc_tensor *tensor,
                                                       const kvc_observation *observation)
{
    kvc_extent *extent = &judge->returned;
    int64_t width;

    if (!kvc_view_returned(judge->model, slot, extent))
        return 1;
    if (extent->kind == KVC_CELL_SEEN)
        return 0;
    if ((glanced->is_all || !is_stored(judge, slot, tensor) || memcmp(extent, &judge->looked_at.extent, sizeof *extent) != 0) &&
        !is_right(judge, glanced, slot, extent, tensor))
        return 0;
    if (!glanced->has_mask || extent->kind != KVC_CELL_TOKEN)
        return 1;
    width = tensor->shape[glanced->tokens_axis];
    return mask_is_right(judge, glanced, width, extent->width >= 0 ? extent->first_min : extent->end - width, observation);
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

static __attribute__((noinline)) int originals_are_right(kvc_judge *judge, const kvc_op *op)
{
    kvc_failure ignored = {0};
    int found = 0;

    kvc_judge_check_original(judge, op, &ignored, &found);
    return !found;
}

/* Buffers that are documented as static have not moved. */
static int addresses_are_right(kvc_judge *judge, const kvc_op *op)
{
    const kvc_plan *plan = judge->model->plan;

    if (kvc_op_moves_cache((kvc_op_kind)op->kind))
        memset(judge->address, 0, (size_t)plan->slots * sizeof judge->address[0]);
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

/* Called in one place. Returns how many places were found to be as they must be, as far as they are known; -1: one is not. */
static inline int walk(kvc_judge *judge, int appended, int originals, const kvc_observation *observation)
{
    const kvc_model *model = judge->model;
    const kvc_shortcut *known = judge->shortcuts[appended];
    const kvc_tensor *tensor = observation->tensor;
    const kvc_shortcut *end = known + (observation->tensors < KVC_SHORTCUTS ? observation->tensors : KVC_SHORTCUTS);

    judge->looked_at.slot = -1;
    for (; known < end && known->name == tensor->name; known++, tensor++) {
        int slot = known->slot;
        if (known->kind <= KVC_IS_RETURNED && model->slot[slot].unjudged)
            return -1;
        if (known->kind == KVC_IS_STORED) {
            const kvc_glanced *glanced = &judge->glanced[slot];
            judge->looked_at.slot = slot;
            judge->looked_at.tensor = judge->seen[slot].tensor[KVC_IS_STORED] = tensor;
            if (!(glanced->is_all ? all_is_right(judge, glanced, slot, tensor) : stored_is_right(judge, glanced, slot, tensor)))
                return -1;
        } else if (known->kind == KVC_IS_RETURNED) {
            const kvc_glanced *glanced = &judge->glanced[slot];
            if (!appended)
                continue;
            if (glanced->is_all && glanced->returns_all && is_stored(judge, slot, tensor)) {
                if (glanced->has_mask && !mask_is_right(judge, glanced, model->length, 0, observation))
                    return -1;
            } else if (!returned_is_right(judge, glanced, slot, tensor, observation)) {
                return -1;
            }
        } else if (known->kind == KVC_IS_ORIGINAL && originals) {
            judge->seen[slot].original = tensor;
        } else if (known->kind == KVC_IS_ORIGINAL_LENGTH && originals) {
            judge->original_length = tensor;
        } else {
            return -1;
        }
    }
    return (int)(tensor - observation->tensor);
}

/*
 * Whether all that is shown is as it must be but for inputs and earlier returns, which are sorted then and not looked at. 0: it cannot
 * tell.
 */
static inline int is_as_it_must_be(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation,
                                   const kvc_observation *observation)
{
    const kvc_model *model = judge->model;
    int appended = op->kind == KVC_APPEND && expectation->verdict != KVC_MUST_REFUSE;
    int originals = op->kind == KVC_COPY || judge->has_original;
    int place;

    if (!judge->glances || judge->other != 0 || (model->initialized && !model->used) || !numbers_are_right(judge, observation) ||
        (originals && !forget_originals(judge, op)))
        return 0;
    place = walk(judge, appended, originals, observation);
    if (place < 0)
        return 0;
    judge->first_watched = place;
    judge->followed = 0;
    if ((place < observation->tensors && !sort_watched(judge, observation, place)) ||
        (place != judge->regular[appended] && !missing_are_right(judge, appended, place)) ||
        (originals && !originals_are_right(judge, op)))
        return 0;
    return !model->plan->has_static || expectation->verdict == KVC_MUST_REFUSE || addresses_are_right(judge, op);
}

int kvc_judge_glance(kvc_judge *judge, const kvc_op *op, const kvc_expectation *expectation, const kvc_observation *observation,
                     kvc_failure *failure)
{
    if ((expectation->verdict == KVC_MUST_REFUSE &&
         (op->kind == KVC_COPY || !kvc_judge_may_refuse(judge, op, expectation, observation))) ||
        !is_as_it_must_be(judge, op, expectation, observation))
        return kvc_judge_at_length(judge, op, expectation, observation, failure);
    judge->step++;
    judge->other_known = 1;
    if (judge->first_watched < observation->tensors)
        return kvc_judge_watched(judge, op, expectation, observation, failure);
    return judge->out_of_memory ? -1 : 0;
}
