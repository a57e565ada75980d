/*
 * Tokens in blocks: one entry for each finished block, the tokens of the unfinished one, the tokens of the newest finished one, and
 * how many are finished. A finished block cannot be opened again.
 */
#include "reference/view.h"

static int32_t finished(const kvc_model *model, int32_t length)
{
    return length / model->plan->params.block * model->plan->params.block;
}

static kvc_verdict decide(const kvc_model *model, int slot, int possible, const kvc_contract_rule **rule)
{
    const kvc_contract_rule *blocks = kvc_slot_rule(model, slot, KVC_CONTRACT_BLOCKS);

    if (possible && blocks->value == KVC_BLOCKS_EXACT)
        return KVC_DO;
    *rule = blocks;
    return possible ? KVC_EITHER : KVC_MUST_REFUSE;
}

static kvc_verdict crop(const kvc_model *model, int slot, const kvc_expectation *asked,
                        const kvc_contract_rule **rule)
{
    if (asked->removed == 0)
        return KVC_DO;
    return decide(model, slot,
                  asked->target >= finished(model, model->length) || finished(model, asked->target) == asked->target, rule);
}

/* The block before the newest finished one is kept nowhere. */
static kvc_verdict crop_overlap(const kvc_model *model, int slot, const kvc_expectation *asked,
                                const kvc_contract_rule **rule)
{
    if (asked->removed == 0)
        return KVC_DO;
    return decide(model, slot, asked->target == 0 || asked->target >= finished(model, model->length), rule);
}

static void stored_entries(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = KVC_CELL_BLOCK;
    extent->end = model->length / model->plan->params.block;
}

static void stored_rest(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->end = model->length;
    extent->first_min = extent->first_max = finished(model, model->length);
}

static void stored_overlap(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->end = finished(model, model->length);
    extent->first_min = extent->first_max = kvc_larger(0, extent->end - model->plan->params.block);
}

static void stored_count(const kvc_model *model, int slot, kvc_extent *extent)
{
    (void)slot;
    extent->kind = KVC_CELL_NUMBER;
    extent->end = model->length / model->plan->params.block;
}

const kvc_view_kind kvc_view_blocks = {NULL, crop, NULL, stored_entries};
const kvc_view_kind kvc_view_block_rest = {NULL, crop, NULL, stored_rest};
const kvc_view_kind kvc_view_block_overlap = {NULL, crop_overlap, NULL, stored_overlap};
const kvc_view_kind kvc_view_block_count = {NULL, crop, NULL, stored_count};
