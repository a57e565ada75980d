#include "harness/sequences_compare.h"

#include <math.h>
#include <string.h>

void kvc_sequences_results_take(kvc_sequences_results *results, const kvc_op *op, const kvc_observation *observation)
{
    memset(results->count, 0, sizeof results->count);
    for (int row = 0; op->kind == KVC_DECODE && observation->outcome == 0 && row < op->count && row < KVC_SEQUENCES_MAX; row++)
        results->count[row] = kvc_sequences_logits(observation, op->rows[row], results->logits[row]);
}

int kvc_sequences_is_plain(const kvc_sequence *ops)
{
    for (int at = 0; at < ops->count; at++) {
        const kvc_op *op = &ops->op[at];
        if (op->kind != KVC_DECODE || op->count != 1 || op->rows[0] != ops->op[0].rows[0] || op->begin != 0)
            return 0;
    }
    return 1;
}

/* Adds a decode of `count` tokens that begins at `position`; the cache stands at `next`. */
static int add_piece(kvc_sequence *out, int32_t count, int32_t position, int32_t next)
{
    if (out->count == KVC_OPS_MAX)
        return 0;
    out->op[out->count++] = (kvc_op){.kind = KVC_DECODE, .count = 1, .n = count, .begin = position - next};
    return 1;
}

int kvc_sequences_pieces_make(const kvc_model *model, int sequence, kvc_sequences_pieces *pieces)
{
    const kvc_sequence_log *log = &model->sequences->log[sequence];
    int32_t start = 0;

    pieces->whole.count = pieces->split.count = 0;
    if (!log->pure || log->count == 0 || log->count > model->plan->params.capacity)
        return 0;
    for (int32_t at = 0; at < log->count; at++) {
        const kvc_entry *entry = &log->entry[at];
        int32_t next = start == 0 ? 0 : entry[-1].position + 1;
        int32_t count = at - start + 1;
        pieces->numbers[at] = entry->number;
        if (at > 0 && entry->position != entry[-1].position + 1)
            return 0;
        if (at + 1 < log->count && entry[1].chunk == entry->chunk)
            continue;
        next = start == 0 ? 0 : log->entry[start - 1].position + 1;
        if (!add_piece(&pieces->whole, count, log->entry[start].position, next) ||
            (count > 1 && !add_piece(&pieces->split, count / 2, log->entry[start].position, next)) ||
            !add_piece(&pieces->split, count - count / 2, log->entry[start + count / 2].position,
                       count > 1 ? log->entry[start + count / 2].position : next))
            return 0;
        start = at + 1;
    }
    return 1;
}

float kvc_sequences_distance(const kvc_sequences_results *a, int a_row, const kvc_sequences_results *b, int b_row)
{
    float most = 0;

    if (a->count[a_row] == 0 || a->count[a_row] != b->count[b_row])
        return INFINITY;
    for (int at = 0; at < a->count[a_row]; at++) {
        float apart = fabsf(a->logits[a_row][at] - b->logits[b_row][at]);
        if (!(apart <= most))
            most = isnan(apart) ? INFINITY : apart;
    }
    return most;
}

float kvc_sequences_bound(const kvc_plan *plan)
{
    static const struct {
        const char *word;
        float bound;
    } bounds[] = {{"q4_", 0.5f}, {"q5_", 0.5f}, {"iq4_nl", 0.5f}, {"q8_0", 0.05f}, {"bf16", 0.1f}, {"f16", 0.02f}};

    for (size_t at = 0; at < sizeof bounds / sizeof bounds[0]; at++) {
        if (strstr(plan->parts, bounds[at].word) != NULL)
            return bounds[at].bound;
    }
    return 1e-3f;
}

int kvc_sequences_is_far(const kvc_plan *plan, const kvc_sequences_results *seen, int row, const kvc_sequences_results *same,
                         const kvc_sequences_results *other)
{
    float noise = kvc_sequences_distance(same, 0, other, 0);
    float least = kvc_sequences_bound(plan) + 4 * noise;

    /* Two fresh caches that do not agree at all say nothing about a third. */
    if (!isfinite(noise))
        return 0;
    return kvc_sequences_distance(seen, row, same, 0) > least && kvc_sequences_distance(seen, row, other, 0) > least;
}

kvc_rule_name kvc_sequences_deciding_rule(const kvc_plan *plan, const kvc_sequence *ops)
{
    static const struct {
        kvc_op_kind kind;
        kvc_rule_name rule;
    } order[] = {{KVC_SEQ_RESTORE, KVC_CONTRACT_SEQ_RESTORE},   {KVC_SEQ_CP, KVC_CONTRACT_SEQ_CP},   {KVC_SEQ_RM, KVC_CONTRACT_SEQ_RM},
                 {KVC_SEQ_KEEP, KVC_CONTRACT_SEQ_KEEP}, {KVC_SEQ_ADD, KVC_CONTRACT_SEQ_ADD}, {KVC_SEQ_DIV, KVC_CONTRACT_SEQ_DIV},
                 {KVC_CLEAR, KVC_CONTRACT_CLEAR}};

    for (size_t at = 0; at < sizeof order / sizeof order[0]; at++) {
        for (int op = 0; op < ops->count; op++) {
            if (ops->op[op].kind == order[at].kind)
                return order[at].kind == KVC_SEQ_RM && kvc_plan_remembers(plan, KVC_MEMORY_STATE) ? KVC_CONTRACT_SEQ_RM_STATE
                                                                                                  : order[at].rule;
        }
    }
    return KVC_CONTRACT_DECODE;
}
