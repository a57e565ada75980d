/*
 * What must stay as it was: inputs and earlier returns of a cache that is watched, and a cache that was copied.
 */
#include "reference/judge_internal.h"

#include <stdlib.h>
#include <string.h>

#include "reference/rows_check.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t kvc_judge_hash_bytes(uint64_t hash, const void *data, size_t size)
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
uint64_t kvc_judge_hash(kvc_judge *judge, uint64_t hash, const kvc_tensor *tensor)
{
    int64_t elements = kvc_tensor_elements(tensor);
    size_t size = elements > 0 ? (size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype) : 0;
    const uint8_t *packed = size > 0 ? pack(judge, 0, tensor, size) : NULL;

    for (int axis = 0; axis < tensor->dims && axis < KVC_DIMS_MAX; axis++)
        hash = mix(hash, (uint64_t)tensor->shape[axis]);
    hash = mix(hash, (uint64_t)tensor->dtype);
    return packed != NULL ? kvc_judge_hash_bytes(hash, packed, size) : hash;
}

static int same_shape(int32_t dims, const int64_t *a, const int64_t *b)
{
    int64_t differs = 0;

    for (int32_t axis = 0; axis < dims; axis++)
        differs |= a[axis] ^ b[axis];
    return differs == 0;
}

/* The slot that a watched tensor (see kvc_judge_is_watched) `input.3.layer0.keys` speaks of, or -1. */
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
    const kvc_model *model = judge->model;
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
static void keep(kvc_judge *judge, kvc_first_shown *entry, const kvc_tensor *tensor)
{
    int64_t elements = kvc_tensor_elements(tensor);
    size_t size = elements > 0 ? (size_t)elements * kvc_dtype_size((kvc_dtype)tensor->dtype) : 0;
    uint8_t *copy = judge->copies + judge->copied;
    const uint8_t *from = tensor->data;

    entry->copy = *tensor;
    entry->copy.data = NULL;
    entry->size = size;
    entry->fills = elements >= 0 && fills_memory(tensor, size);
    if (elements < 0 || size > KVC_COPIES_MAX - judge->copied) {
        entry->content = kvc_judge_hash(judge, 2, tensor);
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

static int is_unchanged(kvc_judge *judge, const kvc_first_shown *entry, const kvc_tensor *tensor)
{
    const uint8_t *before;
    const uint8_t *now;

    if (entry->copy.data == NULL)
        return entry->content == kvc_judge_hash(judge, 2, tensor);
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

/* The slot that a new entry speaks of. Most often one of the same name stood here in the sequence before. */
static int16_t slot_of(kvc_judge *judge, kvc_watched_entry *entry, const char *name)
{
    size_t at = (size_t)(entry - judge->watch);
    size_t length;

    if (at < (size_t)judge->texts && strcmp(entry->text, name) == 0)
        return entry->slot;
    length = strlen(name);
    entry->text[0] = '\0';
    if (length < sizeof entry->text)
        memcpy(entry->text, name, length + 1);
    if (at == (size_t)judge->texts)
        judge->texts++;
    return (int16_t)watched_slot(judge->model->plan, name);
}

/* Remembers a watched tensor. */
static void keep_watched(kvc_judge *judge, kvc_watched_entry *entry, const kvc_tensor *tensor, int kind)
{
    const uint8_t *from = tensor->data;
    const uint8_t *copy;

    judge->shown[entry - judge->watch] = *tensor;
    entry->name = tensor->name;
    entry->kind = (uint8_t)kind;
    entry->slot = slot_of(judge, entry, tensor->name);
    entry->live = kind == KVC_IS_EARLIER && entry->slot >= 0 &&
                  kvc_slot_rule(judge->model, entry->slot, KVC_CONTRACT_RETURNED_TENSORS)->value == KVC_RETURNED_LIVE;
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
        kvc_stretch *last = &judge->stretch[judge->stretches - 1];
        if (last->data + last->size == from && last->copy + last->size == copy) {
            last->size += entry->as.size;
            return;
        }
    }
    judge->stretch[judge->stretches++] = (kvc_stretch){from, copy, entry->as.size};
}

/* All that are followed are shown as they were first, and none of those that must not change has changed. */
static int all_unchanged(const kvc_judge *judge, const kvc_observation *observation)
{
    if (judge->apart > 0 || judge->followed != judge->watched ||
        memcmp(judge->shown, &observation->tensor[judge->first_watched], (size_t)judge->watched * sizeof judge->shown[0]) != 0)
        return 0;
    for (int at = 0; at < judge->stretches; at++) {
        const kvc_stretch *next = &judge->stretch[at];
        if (memcmp(next->data, next->copy, next->size) != 0)
            return 0;
    }
    return 1;
}

/*
 * The entry of a watched tensor; `next` is where it stands when it is shown in the same order as before. `complete`: all that are known
 * were shown already. *is_new: it was just made. A name keeps its address as long as the cache lives, and no two addresses have one name.
 */
static kvc_watched_entry *find_watched(kvc_judge *judge, const kvc_tensor *tensor, int kind, int complete, int *next, int *is_new)
{
    int at = *next;

    if (!complete && (at >= judge->watched || judge->watch[at].name != tensor->name)) {
        for (at = 0; at < judge->watched && judge->watch[at].name != tensor->name;)
            at++;
    }
    *next = at + 1;
    *is_new = at == judge->watched;
    if (at == KVC_WATCHED_MAX)
        return NULL;
    if (*is_new) {
        judge->watched++;
        keep_watched(judge, &judge->watch[at], tensor, kind);
    }
    return &judge->watch[at];
}

/* A tensor that was shown before holds what it held then. */
static void check_known(kvc_judge *judge, const kvc_watched_entry *entry, const kvc_tensor *tensor, kvc_failure *failure,
                        int *found)
{
    if (!entry->live && !is_unchanged(judge, &entry->as, tensor))
        kvc_failure_note(failure, found, KVC_ALIAS, entry->kind == KVC_IS_INPUT ? KVC_PLACE_KEPT : KVC_PLACE_EARLIER, entry->slot,
             entry->slot >= 0 ? judge->model->plan->slot[entry->slot].layer : 0, KVC_WRITTEN);
}

void kvc_judge_check_watched(kvc_judge *judge, const kvc_observation *observation, kvc_failure *failure, int *found)
{
    const kvc_plan *plan = judge->model->plan;
    int next = judge->followed;
    int complete = judge->followed == judge->watched;

    for (int at = all_unchanged(judge, observation) ? judge->followed : 0; at < judge->followed; at++)
        check_known(judge, &judge->watch[at], &observation->tensor[judge->first_watched + at], failure, found);
    for (int at = judge->first_watched + judge->followed; at < observation->tensors; at++) {
        const kvc_tensor *tensor = &observation->tensor[at];
        int input = judge->kind[at] == KVC_IS_INPUT;
        int is_new;
        kvc_watched_entry *entry;
        if (!input && judge->kind[at] != KVC_IS_EARLIER)
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
    const kvc_plan *plan = judge->model->plan;
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
        if (plan->layer[layer].spec->length && length != judge->model->length)
            return length < judge->model->length ? KVC_TOO_LOW : KVC_TOO_HIGH;
    }
    return KVC_AS_EXPECTED;
}

/* Whether a tensor of the original, or its lengths, is what it was after the op before. */
static int original_is_unchanged(kvc_judge *judge, int at, const kvc_tensor *tensor)
{
    const kvc_first_shown *entry = &judge->original[at];

    return tensor == NULL ? entry->copy.name == NULL : entry->copy.name != NULL && is_unchanged(judge, entry, tensor);
}

/* The cache that was copied is what it was before, and stays so whatever is done with the copy. */
void kvc_judge_check_original(kvc_judge *judge, const kvc_op *op, kvc_failure *failure, int *found)
{
    const kvc_model *model = judge->model;
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
