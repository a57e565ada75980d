#include "reference/plan.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "reference/view.h"

static int dim_is_channel(kvc_dim dim)
{
    return dim == KVC_DIM_KEY || dim == KVC_DIM_VALUE || dim == KVC_DIM_INDEX || dim == KVC_DIM_CHANNELS ||
           dim == KVC_DIM_KEY_TWICE || dim == KVC_DIM_INDEX_TWICE;
}

/* Size of one axis; 0 for the axes that are known only at run time. */
static int dim_size(const kvc_params *params, kvc_dim dim)
{
    switch (dim) {
    case KVC_DIM_HEADS:
        return params->heads;
    case KVC_DIM_ONE:
        return 1;
    case KVC_DIM_PLANES:
        return KVC_PLANES;
    case KVC_DIM_KEY:
        return params->key_dim;
    case KVC_DIM_VALUE:
        return params->value_dim;
    case KVC_DIM_INDEX:
        return params->index_dim;
    case KVC_DIM_CHANNELS:
        return params->channels;
    case KVC_DIM_KEY_TWICE:
        return 2 * params->key_dim;
    case KVC_DIM_INDEX_TWICE:
        return 2 * params->index_dim;
    case KVC_DIM_BATCH:
    case KVC_DIM_TOKENS:
    case KVC_DIM_NEW:
        break;
    }
    return 0;
}

static void find_axes(kvc_slot *slot, const kvc_params *params)
{
    const kvc_view_spec *view = slot->view;

    slot->tokens_axis = slot->heads_axis = slot->channel_axis = -1;
    slot->batch_axis = 0;
    slot->heads = 1;
    slot->channels = 1;
    for (int axis = 0; axis < view->dims; axis++) {
        kvc_dim dim = view->dim[axis];
        slot->size[axis] = dim == KVC_DIM_BATCH || dim == KVC_DIM_TOKENS || dim == KVC_DIM_NEW ? -1 : dim_size(params, dim);
        if (dim == KVC_DIM_BATCH)
            slot->batch_axis = axis;
        else if (dim == KVC_DIM_TOKENS)
            slot->tokens_axis = axis;
        else if (dim == KVC_DIM_HEADS || dim == KVC_DIM_PLANES) {
            slot->heads_axis = axis;
            slot->heads = dim_size(params, dim);
        } else if (dim_is_channel(dim)) {
            if (slot->channel_axis < 0)
                slot->channel_axis = axis;
            slot->channels *= dim_size(params, dim);
        }
    }
}

static int axes_are_in_lanes(const kvc_slot *slot)
{
    int dims = slot->view->dims;

    if (slot->batch_axis != 0 || slot->tokens_axis < 0 || slot->tokens_axis > 2 ||
        (slot->heads_axis >= 0 && slot->heads_axis != 1) ||
        (slot->channel_axis >= 0 && slot->channel_axis != slot->tokens_axis + 1))
        return 0;
    for (int axis = 0; axis < dims; axis++) {
        kvc_dim dim = slot->view->dim[axis];
        if (axis > slot->tokens_axis ? !dim_is_channel(dim)
                                     : dim != KVC_DIM_BATCH && dim != KVC_DIM_HEADS && dim != KVC_DIM_TOKENS)
            return 0;
    }
    return 1;
}

/* All of a slot that depends on parameters. */
static void size_slot(kvc_slot *slot, const kvc_params *params)
{
    slot->dtype = slot->view->integer ? KVC_INT64 : (kvc_dtype)params->dtype;
    slot->encoding = slot->view->integer ? KVC_DIGITS : (kvc_encoding)params->values;
    find_axes(slot, params);
    slot->in_lanes = axes_are_in_lanes(slot);
    slot->element = kvc_dtype_size(slot->dtype);
    slot->cell = (size_t)slot->channels * slot->element;
}

static int add_slot(kvc_plan *plan, const kvc_view_spec *view, int layer, int state, kvc_error *error)
{
    kvc_slot *slot;
    char prefix[24] = "";
    char number[16] = "";

    if (plan->slots == KVC_SLOTS_MAX) {
        kvc_error_set(error, "%s: more than %d tensors", plan->variant, KVC_SLOTS_MAX);
        return 0;
    }
    slot = &plan->slot[plan->slots++];
    memset(slot, 0, sizeof *slot);
    slot->view = view;
    slot->layer = layer;
    slot->salt = (view->salt + state) % 7;
    if (plan->spec->layers > 0)
        (void)snprintf(prefix, sizeof prefix, "layer%d.", layer);
    if (view->numbered)
        (void)snprintf(number, sizeof number, "%d", state);
    (void)snprintf(slot->name, sizeof slot->name, "%s%s%s", prefix, view->name, number);
    (void)snprintf(slot->returned_name, sizeof slot->returned_name, "%sreturned.%s%s", prefix, view->name, number);
    slot->kind = kvc_view_kind_of(view->rule);
    size_slot(slot, &plan->params);
    return 1;
}

static int add_views(kvc_plan *plan, const kvc_spec *spec, int layer, unsigned parts, kvc_error *error)
{
    for (int at = 0; at < spec->views; at++) {
        const kvc_view_spec *view = &spec->view[at];
        int count = view->numbered ? plan->params.states : 1;
        if (view->part >= 0 && (parts & (1u << view->part)) == 0)
            continue;
        for (int state = 0; state < count; state++) {
            if (!add_slot(plan, view, layer, state, error))
                return 0;
        }
    }
    return 1;
}

static unsigned offered_ops(unsigned ops, const kvc_rules *rules)
{
    static const struct {
        kvc_rule_name rule;
        kvc_op_kind op;
    } of_rows[] = {{KVC_CONTRACT_APPEND_ROWS, KVC_APPEND_ROWS},
                   {KVC_CONTRACT_MERGE, KVC_MERGE},
                   {KVC_CONTRACT_EXTRACT, KVC_EXTRACT},
                   {KVC_CONTRACT_EXTEND, KVC_EXTEND},
                   {KVC_CONTRACT_SPLIT, KVC_SPLIT}};
    unsigned batch = 1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT;

    ops &= ~batch | rules->rule[KVC_CONTRACT_BATCH_OPS]->value | rules->rule[KVC_CONTRACT_BATCH_REFUSED]->value;
    if (rules->rule[KVC_CONTRACT_CROP]->value == KVC_CROP_ABSENT)
        ops &= ~(1u << KVC_CROP | 1u << KVC_TRIM);
    if (rules->rule[KVC_CONTRACT_RECORD]->value == KVC_RECORD_ABSENT)
        ops &= ~(1u << KVC_RECORD);
    if (rules->rule[KVC_CONTRACT_OFFLOAD]->value == KVC_OFFLOAD_ABSENT)
        ops &= ~(1u << KVC_OFFLOAD | 1u << KVC_PREFETCH);
    if (rules->rule[KVC_CONTRACT_INITIALIZE]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_INITIALIZE);
    if (rules->rule[KVC_CONTRACT_COPY]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_COPY);
    if (rules->rule[KVC_CONTRACT_PICKLE]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_PICKLE);
    if (rules->rule[KVC_CONTRACT_SAVE]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_SAVE_FILE);
    if (rules->rule[KVC_CONTRACT_STATE]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_FROM_STATE);
    if (rules->rule[KVC_CONTRACT_QUANTIZE]->value == KVC_STORING_ABSENT)
        ops &= ~(1u << KVC_QUANTIZE);
    for (size_t at = 0; at < sizeof of_rows / sizeof of_rows[0]; at++) {
        if (rules->rule[of_rows[at].rule]->value == KVC_STORING_ABSENT)
            ops &= ~(1u << of_rows[at].op);
    }
    return ops;
}

/* What a container refuses by itself, before it asks its layers: whether they have such an op does not matter. */
static unsigned refused_ops(const kvc_rules *rules)
{
    unsigned crop = rules->rule[KVC_CONTRACT_CROP]->value == KVC_CROP_REFUSE ? 1u << KVC_CROP : 0;

    return rules->rule[KVC_CONTRACT_BATCH_REFUSED]->value | crop;
}

/* The parts of a layer that have the name of a part that the container's choice uses. */
static unsigned same_parts(const kvc_spec *container, int parts, const kvc_spec *layer)
{
    unsigned mask = 0;

    if (container->parts == 0)
        return layer->parts > 0 ? layer->part_mask[0] : 0;
    for (int at = 0; at < layer->part_names; at++) {
        for (int other = 0; other < container->part_names; other++) {
            if ((container->part_mask[parts] & 1u << other) != 0 &&
                strcmp(container->part_name[other], layer->part_name[at]) == 0)
                mask |= 1u << at;
        }
    }
    return mask;
}

int kvc_plan_layer_parts(const kvc_catalogue *catalogue, const kvc_spec *spec, const char *variant, int layers, int parts,
                         const kvc_spec *layer_spec[KVC_PLAN_LAYERS_MAX], unsigned mask[KVC_PLAN_LAYERS_MAX],
                         kvc_error *error)
{
    const char *words = spec->layer_choice[layers];
    int count = 0;

    for (const char *rest = words; *rest != '\0';) {
        char name[KVC_SPEC_NAME_MAX];
        size_t length = strcspn(rest, "+");
        if (count == KVC_PLAN_LAYERS_MAX || length >= sizeof name) {
            kvc_error_set(error, "%s: layers \"%s\": expected at most %d variants", variant, words, KVC_PLAN_LAYERS_MAX);
            return 0;
        }
        memcpy(name, rest, length);
        name[length] = '\0';
        layer_spec[count] = kvc_catalogue_spec(catalogue, spec->subject, name);
        if (layer_spec[count] == NULL || layer_spec[count]->layers > 0) {
            kvc_error_set(error, "%s: layers \"%s\": \"%s\" has no spec of a single layer", variant, words, name);
            return 0;
        }
        mask[count] = same_parts(spec, parts, layer_spec[count]);
        count++;
        rest += length + (rest[length] == '+');
    }
    return count;
}

static int add_layers(const kvc_catalogue *catalogue, const kvc_contract *contract, kvc_plan *plan, unsigned parts,
                      kvc_error *error)
{
    /* What a container hands to those of its layers that know it. */
    const unsigned handed = 1u << KVC_RECORD | 1u << KVC_OFFLOAD | 1u << KVC_PREFETCH | 1u << KVC_INITIALIZE |
                            1u << KVC_TRIM_FRONT;
    const kvc_spec *layer_spec[KVC_PLAN_LAYERS_MAX];
    unsigned mask[KVC_PLAN_LAYERS_MAX];
    unsigned known = 0;

    plan->layers = kvc_plan_layer_parts(catalogue, plan->spec, plan->variant, plan->params.layers, plan->params.parts,
                                        layer_spec, mask, error);
    for (int at = 0; at < plan->layers; at++) {
        kvc_layer *layer = &plan->layer[at];
        unsigned offered;
        layer->spec = layer_spec[at];
        kvc_catalogue_rules(catalogue, contract, layer->spec->variant, &layer->rules);
        offered = offered_ops(layer->spec->ops, &layer->rules);
        layer->records = (offered & 1u << KVC_RECORD) != 0;
        layer->initializes = (offered & 1u << KVC_INITIALIZE) != 0;
        known |= offered & handed;
        plan->ops &= offered | handed | refused_ops(&plan->rules);
        if (!add_views(plan, layer->spec, at, mask[at], error) || !add_views(plan, plan->spec, at, parts, error))
            return 0;
    }
    plan->ops &= known | ~handed;
    return plan->layers > 0;
}

static int find_boundary(const kvc_plan *plan)
{
    int boundary = 0;

    for (int at = 0; at < plan->slots; at++) {
        int size = 0;
        switch (plan->slot[at].view->rule) {
        case KVC_RULE_WINDOW:
        case KVC_RULE_PREDICTED:
            size = plan->params.window;
            break;
        case KVC_RULE_LAST:
            size = plan->params.kernel;
            break;
        case KVC_RULE_FIXED:
        case KVC_RULE_RING:
        case KVC_RULE_ROTATING:
        case KVC_RULE_CHUNKED:
            size = plan->params.capacity;
            break;
        case KVC_RULE_PREFIX_WINDOW:
            size = plan->params.window + plan->params.keep;
            break;
        case KVC_RULE_FIXED_PREFIX_WINDOW:
            size = plan->params.window + plan->params.keep;
            size = plan->params.capacity < size ? plan->params.capacity : size;
            break;
        case KVC_RULE_FIXED_WINDOW:
            size = plan->params.capacity < plan->params.window ? plan->params.capacity : plan->params.window;
            break;
        case KVC_RULE_BLOCKS:
        case KVC_RULE_BLOCK_REST:
        case KVC_RULE_BLOCK_OVERLAP:
        case KVC_RULE_BLOCK_COUNT:
            size = plan->params.block;
            break;
        case KVC_RULE_RESIDUAL:
            size = plan->params.residual;
            break;
        case KVC_RULE_ALL:
        case KVC_RULE_FOLDED:
        case KVC_RULE_NOTHING:
        case KVC_RULE_CONSTANT:
        case KVC_RULE_FLAG:
        case KVC_RULE_CHUNK_START:
        case KVC_RULE_COUNT:
        case KVC_RULE_TRIMMED:
        case KVC_RULE_UNUSED:
        case KVC_RULE_AGREED:
        case KVC_RULE_BYTES:
        case KVC_RULE_SEEN:
        case KVC_RULE_SEEN_WINDOW:
        case KVC_RULE_OPAQUE:
            break;
        }
        if (size > 0 && (boundary == 0 || size < boundary))
            boundary = size;
    }
    return boundary;
}

static void find_traits(kvc_plan *plan)
{
    plan->boundary = find_boundary(plan);
    for (int at = 0; at < plan->slots; at++) {
        const kvc_view_spec *view = plan->slot[at].view;
        plan->has_buffer |= view->rule == KVC_RULE_FIXED || view->rule == KVC_RULE_FIXED_WINDOW ||
                            view->rule == KVC_RULE_FIXED_PREFIX_WINDOW;
        plan->has_chunks |= view->rule == KVC_RULE_CHUNKED;
        plan->has_opaque |= view->rule == KVC_RULE_OPAQUE;
        plan->predicts |= view->rule == KVC_RULE_PREDICTED;
        plan->has_window |= view->rule == KVC_RULE_WINDOW || view->rule == KVC_RULE_FIXED_WINDOW ||
                            view->rule == KVC_RULE_PREFIX_WINDOW || view->rule == KVC_RULE_FIXED_PREFIX_WINDOW;
        plan->has_static |= view->is_static;
        plan->has_prefix |= view->rule == KVC_RULE_PREFIX_WINDOW || view->rule == KVC_RULE_FIXED_PREFIX_WINDOW;
    }
    /* Beside others such a layer stands where a model has nothing to store: it is never fed. */
    plan->refuses_append = plan->spec->layers == 0 && plan->layer[0].rules.rule[KVC_CONTRACT_APPEND]->value == KVC_APPEND_REFUSE;
}

int kvc_plan_make(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                  const char *variant, const kvc_params *params, kvc_plan *plan, kvc_error *error)
{
    unsigned parts = 0;

    memset(plan, 0, offsetof(kvc_plan, slot));
    plan->spec = spec;
    plan->params = *params;
    (void)snprintf(plan->variant, sizeof plan->variant, "%s", variant);
    plan->own_rows = spec->own_rows;
    plan->parts = plan->layer_words = "";
    if ((spec->parts > 0 && (params->parts < 0 || params->parts >= spec->parts)) ||
        (spec->layers > 0 && (params->layers < 0 || params->layers >= spec->layers))) {
        kvc_error_set(error, "%s: the spec has no such choice of parts or layers", variant);
        return 0;
    }
    if (spec->parts > 0) {
        plan->parts = spec->part_choice[params->parts];
        parts = spec->part_mask[params->parts];
    }
    kvc_catalogue_rules(catalogue, contract, spec->variant, &plan->rules);
    plan->ops = offered_ops(spec->ops, &plan->rules);
    if (spec->layers > 0) {
        plan->layer_words = spec->layer_choice[params->layers];
        if (!add_layers(catalogue, contract, plan, parts, error))
            return 0;
        find_traits(plan);
        return 1;
    }
    plan->layers = 1;
    plan->layer[0].spec = spec;
    plan->layer[0].rules = plan->rules;
    plan->layer[0].records = (plan->ops & 1u << KVC_RECORD) != 0;
    plan->layer[0].initializes = (plan->ops & 1u << KVC_INITIALIZE) != 0;
    if (!add_views(plan, spec, 0, parts, error))
        return 0;
    find_traits(plan);
    return 1;
}

int kvc_plan_resize(kvc_plan *plan, const kvc_params *params)
{
    if (plan->slots == 0 || params->parts != plan->params.parts || params->layers != plan->params.layers ||
        params->states != plan->params.states)
        return 0;
    plan->params = *params;
    for (int at = 0; at < plan->slots; at++)
        size_slot(&plan->slot[at], params);
    plan->boundary = find_boundary(plan);
    return 1;
}

void kvc_plan_copy(kvc_plan *to, const kvc_plan *from)
{
    memcpy(to, from, offsetof(kvc_plan, slot) + (size_t)from->slots * sizeof from->slot[0]);
}

