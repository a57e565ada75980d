/*
 * A plan: one variant with one set of parameters under one contract, worked out into the tensors it must show.
 */
#ifndef KVC_REFERENCE_PLAN_H
#define KVC_REFERENCE_PLAN_H

#include "reference/catalogue.h"

enum { KVC_PLAN_LAYERS_MAX = 8, KVC_SLOTS_MAX = 48, KVC_SLOT_NAME_MAX = 96 };

/* One tensor that the cache stores, and what appends return for it. */
typedef struct kvc_slot {
    char name[KVC_SLOT_NAME_MAX];          /* "layer0.keys" */
    char returned_name[KVC_SLOT_NAME_MAX]; /* "layer0.returned.keys" */
    const kvc_view_spec *view;
    int layer;
    int salt;
    kvc_dtype dtype;
    kvc_encoding encoding;
    int heads;    /* heads, planes or 1 */
    int channels; /* product of the channel axes */
    int tokens_axis;  /* -1 for none */
    int batch_axis;
    int heads_axis;   /* -1 for none */
    int channel_axis; /* first channel axis, -1 for none */
    const struct kvc_view_kind *kind; /* how it follows the log */
    int64_t size[KVC_VIEW_DIMS_MAX]; /* of each axis; -1 for those of tokens and rows */
    int in_lanes; /* axes in the order rows, heads, tokens, channels: tokens of one row and head lie one behind the other */
    size_t element; /* bytes of one */
    size_t cell;    /* bytes of the channels of one token */
} kvc_slot;

typedef struct kvc_layer {
    const kvc_spec *spec;
    kvc_rules rules;
    int records;     /* it keeps the past when told to */
    int initializes; /* its buffers exist once it was initialised early */
} kvc_layer;

typedef struct kvc_plan {
    const kvc_spec *spec;
    char variant[KVC_SPEC_NAME_MAX]; /* with the fault's name, if there is one */
    kvc_params params;
    kvc_rules rules; /* of the variant itself */
    unsigned ops;    /* bit 1 << kvc_op_kind: what spec and contract offer */
    const char *parts;       /* the words that the parameters choose, or "" */
    const char *layer_words;
    int layers;
    kvc_layer layer[KVC_PLAN_LAYERS_MAX];
    int boundary; /* see kvc_plan_boundary */
    int own_rows; /* rows have lengths of their own */
    /* Whether it has views of such kinds: asked for at every op, so they are worked out once. */
    int has_buffer; /* fixed, fixed_window, fixed_prefix_window */
    int has_window; /* any view with a window */
    int has_static;
    int has_opaque;
    int has_chunks; /* chunked */
    int has_prefix; /* prefix_window, fixed_prefix_window: no text may say what an append means to them */
    int refuses_append; /* a layer, of which there is only one, is never fed */
    int predicts;   /* what a whole model predicts */
    int slots;
    kvc_slot slot[KVC_SLOTS_MAX]; /* the first `slots` are set */
} kvc_plan;

/* Returns 1, or 0 with *error set when a layer has no spec, a choice does not exist or there are too many tensors. */
int kvc_plan_make(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                  const char *variant, const kvc_params *params, kvc_plan *plan, kvc_error *error);
/*
 * The same for a plan that was made and is asked for again with other parameters. Returns 1, or 0 where it would have other tensors or
 * layers: nothing is changed then.
 */
int kvc_plan_resize(kvc_plan *plan, const kvc_params *params);
/*
 * For each layer of a choice of layers, the parts of it that a choice of parts names: bits of the layer's own spec. Without
 * a choice of parts it is the first choice of the layer. Returns how many layers there are, 0 with *error set as above.
 */
int kvc_plan_layer_parts(const kvc_catalogue *catalogue, const kvc_spec *spec, const char *variant, int layers, int parts,
                         const kvc_spec *layer_spec[KVC_PLAN_LAYERS_MAX], unsigned mask[KVC_PLAN_LAYERS_MAX],
                         kvc_error *error);
/* How far the positions that the cache announces for a layer are ahead of the tokens that it holds. */
static inline int kvc_plan_ahead(const kvc_plan *plan, int layer)
{
    return plan->rules.rule[KVC_CONTRACT_POSITION]->value == KVC_POSITION_DEPTH ? layer + 1 : 0;
}
/* Copies what is used of a plan, which is much less than its size. */
void kvc_plan_copy(kvc_plan *to, const kvc_plan *from);
static inline int kvc_plan_has_op(const kvc_plan *plan, kvc_op_kind kind)
{
    return (plan->ops & (1u << kind)) != 0;
}
/* The size at which the cache changes behaviour (window, kernel, capacity, block), the smallest of them; 0 for none. */
static inline int kvc_plan_boundary(const kvc_plan *plan)
{
    return plan->boundary;
}

#endif
