#include "harness/tally.h"

kvc_situation kvc_failure_outline(const kvc_failure *failure)
{
    kvc_situation out = failure->situation;

    out.cropped = 0;
    /* A row that was taken out of its batch is another kind of cache. */
    out.rows = out.rows == 2 ? 2 : 0;
    out.reached = out.reached >= 2;
    /* Others beside it seldom make another fault; those that share its cells do. */
    if (out.shared == 1)
        out.shared = 0;
    /* Where its positions begin is no part of what is wrong with a decode that was taken. */
    if (failure->op == KVC_DECODE && failure->law != KVC_REFUSE && failure->law != KVC_ATOMIC)
        out.ask = KVC_ASK_NOTHING;
    /* What an op does to others does not depend on what the one held that it was about. */
    if (failure->law == KVC_ISOLATION && failure->op > KVC_DECODE) {
        out.held = 0;
        out.ask = KVC_ASK_NOTHING;
    }
    /* What is restored does not depend on what was there. */
    if (failure->op == KVC_SEQ_RESTORE)
        out.held = 0;
    /* A sequence number that means any is a fault of its own where it is refused. */
    if (out.ask == KVC_ASK_PART_OF_ANY || out.ask == KVC_ASK_ANY)
        out.ask = failure->deviation == KVC_REFUSED ? KVC_ASK_ANY : KVC_ASK_PART;
    if (out.ask == KVC_ASK_ALL)
        out.ask = KVC_ASK_PART;
    /* What must be refused, or was refused, must be so for any number of tokens. */
    if (out.ask == KVC_ASK_OVER &&
        (failure->deviation == KVC_NOT_REFUSED || failure->law == KVC_ATOMIC || failure->deviation == KVC_WRONG_ERROR))
        out.ask = KVC_ASK_PART;
    /* Recording is no part of the cause where another rule decides. */
    if (failure->rule != KVC_CONTRACT_UNRECORDED && failure->deviation == KVC_NOT_REFUSED)
        out.recording = 0;
    return out;
}

void kvc_exclude_outline(uint8_t table[KVC_SITUATIONS], const kvc_failure *failure, const kvc_situation *situation)
{
    kvc_failure like = *failure;
    kvc_situation wanted;

    like.situation = *situation;
    wanted = kvc_failure_outline(&like);
    for (int code = 0; code < KVC_SITUATIONS; code++) {
        kvc_situation outline;
        kvc_situation_from_code(code, &like.situation);
        outline = kvc_failure_outline(&like);
        if (kvc_situation_code(&outline) == kvc_situation_code(&wanted))
            table[code] = 1;
    }
}

static int has_reset(const kvc_sequence *sequence)
{
    for (int at = 0; at + 1 < sequence->count; at++) {
        if (sequence->op[at].kind == KVC_RESET)
            return 1;
    }
    return 0;
}

static int has_move(const kvc_sequence *sequence)
{
    for (int at = 0; at + 1 < sequence->count; at++) {
        if (kvc_op_moves_cache((kvc_op_kind)sequence->op[at].kind))
            return 1;
    }
    return 0;
}

/*
 * What a whole model predicts breaks the law of the ops before it: of RESUME, BATCH, RESET and SAVE the smaller case tells which. CHUNK is
 * what its control shows, where no op before is to blame.
 */
static int is_one_law(const kvc_failure *a, const kvc_failure *b)
{
    return a->law == b->law || (a->place == KVC_PLACE_LOGITS && b->place == KVC_PLACE_LOGITS && a->op == KVC_APPEND &&
                                b->op == KVC_APPEND && a->law != KVC_CHUNK && b->law != KVC_CHUNK);
}

int kvc_failures_alike(const kvc_failure *a, const kvc_params *a_params, const kvc_sequence *a_sequence,
                       const kvc_failure *b, const kvc_params *b_params, const kvc_sequence *b_sequence, int strict)
{
    kvc_situation a_outline = kvc_failure_outline(a);
    kvc_situation b_outline = kvc_failure_outline(b);

    if ((strict ? a->law != b->law : !is_one_law(a, b)) || a->place != b->place || a->deviation != b->deviation || a->op != b->op ||
        a->narrow != b->narrow || a->slot != b->slot || a->layer != b->layer ||
        a_params->parts != b_params->parts || a_params->layers != b_params->layers ||
        kvc_situation_code(&a_outline) != kvc_situation_code(&b_outline))
        return 0;
    return !strict || ((a_params->call != 0) == (b_params->call != 0) &&
                       has_reset(a_sequence) == has_reset(b_sequence) &&
                       has_move(a_sequence) == has_move(b_sequence));
}

void kvc_tally_add(kvc_tally *tally, const kvc_failure *failure, const kvc_params *params,
                   const kvc_sequence *sequence, uint64_t index, uint64_t first, uint64_t failures)
{
    kvc_sequence cut = *sequence;

    if (failure->step + 1 < cut.count)
        cut.count = failure->step + 1;
    for (int at = 0; at < tally->count; at++) {
        kvc_tally_entry *entry = &tally->entry[at];
        int order;
        if (!kvc_failures_alike(&entry->failure, &entry->params, &entry->sequence, failure, params, &cut, 1))
            continue;
        entry->failures += failures;
        if (first < entry->first)
            entry->first = first;
        order = kvc_ops_compare(cut.op, (size_t)cut.count, entry->sequence.op, (size_t)entry->sequence.count);
        if (order < 0 || (order == 0 && index < entry->index)) {
            entry->failure = *failure;
            entry->params = *params;
            entry->sequence = cut;
            entry->index = index;
        }
        return;
    }
    if (tally->count == KVC_TALLY_MAX) {
        tally->lost++;
        return;
    }
    tally->entry[tally->count].failure = *failure;
    tally->entry[tally->count].params = *params;
    tally->entry[tally->count].sequence = cut;
    tally->entry[tally->count].index = index;
    tally->entry[tally->count].first = first;
    tally->entry[tally->count].failures = failures;
    tally->count++;
}
