#include "reference/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/values.h"
#include "reference/view.h"

enum { ROOM_AT_FIRST = 64 };

int kvc_model_open(kvc_model *model, const kvc_plan *plan)
{
    memset(model, 0, sizeof *model);
    model->run = malloc(ROOM_AT_FIRST * sizeof *model->run);
    model->room = ROOM_AT_FIRST;
    if (model->run == NULL || (kvc_plan_has_sequences(plan) && (model->sequences = malloc(sizeof *model->sequences)) == NULL)) {
        free(model->run);
        return 0;
    }
    kvc_model_start(model, plan, NULL);
    return 1;
}

/* What a cache forgets when it is reset: everything but its settings. */
static __attribute__((noinline)) void forget(kvc_model *model)
{
    model->length = 0;
    model->changes++;
    model->intact = 0;
    model->runs = 0;
    model->appended = 0;
    model->used = 0;
    model->appended_none = 0;
    model->initialized = 0;
    model->recording_since_first = model->recording;
    model->cropped = 0;
    model->trimmed = -1;
    model->quantized = 0;
    model->torn = 0;
    memset(model->slot, 0, (size_t)model->plan->slots * sizeof model->slot[0]);
    if (model->plan->own_rows)
        kvc_rows_start(model);
}

void kvc_model_start(kvc_model *model, const kvc_plan *plan, const int32_t *numbers)
{
    model->plan = plan;
    model->numbers = numbers;
    model->rows = plan->params.batch;
    model->next = 0;
    model->recording = 0;
    model->was_reset = 0;
    model->offloaded = 0;
    model->fresh = 1;
    forget(model);
    if (model->sequences != NULL) {
        model->rows = plan->params.sequences;
        kvc_sequences_start(model->sequences);
    }
}

void kvc_model_close(kvc_model *model)
{
    free(model->run);
    free(model->sequences);
    memset(model, 0, sizeof *model);
}

int32_t kvc_model_number(const kvc_model *model, int32_t index)
{
    int32_t count = model->next + index;

    return (model->numbers != NULL ? model->numbers[count] : count) % KVC_TOKENS_MAX;
}

int32_t kvc_model_floor(const kvc_model *model)
{
    int32_t floor = 0;

    for (int at = 0; model->plan->has_chunks && at < model->plan->slots; at++) {
        if (model->plan->slot[at].view->rule == KVC_RULE_CHUNKED)
            floor = kvc_larger(floor, model->slot[at].held);
    }
    return floor;
}

static void find_situation(const kvc_model *model, const kvc_op *op, kvc_situation *situation)
{
    int boundary = kvc_plan_boundary(model->plan);
    int32_t held = model->length - kvc_model_floor(model);
    int32_t n;

    situation->held = (uint8_t)(held > 0 ? 2 : model->used ? 1 : model->initialized ? 3 : 0);
    situation->reached = (uint8_t)(boundary == 0 ? 0 : held < boundary ? 1 : held == boundary ? 2 : 3);
    situation->recording = (uint8_t)(!model->recording ? 0 : model->recording_since_first ? 1 : 2);
    situation->cropped = (uint8_t)model->cropped;
    situation->ask = KVC_ASK_NOTHING;
    if (!kvc_op_is_rollback(op->kind))
        return;
    n = kvc_op_as_crop(op);
    if (n > 0)
        situation->ask = KVC_ASK_POSITIVE;
    else if (n == 0)
        situation->ask = KVC_ASK_ZERO;
    else if (-(int64_t)n > held)
        situation->ask = KVC_ASK_OVER;
    else
        situation->ask = (uint8_t)(-(int64_t)n == held ? KVC_ASK_ALL : KVC_ASK_PART);
}

static __attribute__((noinline)) void expect_append(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_plan *plan = model->plan;
    int64_t length = (int64_t)model->length + op->n;

    out->rule = plan->rules.rule[KVC_CONTRACT_OVERFLOW];
    if (op->n == 0 && plan->rules.rule[KVC_CONTRACT_APPEND_NONE]->value == KVC_NONE_NOTHING)
        out->rule = plan->rules.rule[KVC_CONTRACT_APPEND_NONE];
    if (model->offloaded && plan->rules.rule[KVC_CONTRACT_OFFLOAD]->value != KVC_OFFLOAD_ANY) {
        out->rule = plan->rules.rule[KVC_CONTRACT_OFFLOAD];
        out->unspecified = 1;
        return;
    }
    if (op->n < 0 || length > KVC_TOKENS_MAX) {
        out->unspecified = 1;
        return;
    }
    if (plan->refuses_append) {
        out->verdict = KVC_MUST_REFUSE;
        out->rule = plan->layer[0].rules.rule[KVC_CONTRACT_APPEND];
        return;
    }
    for (int at = 0; plan->has_prefix && at < plan->slots; at++) {
        if (model->slot[at].unsure) {
            out->unspecified = 1;
            return;
        }
    }
    /* A whole model has buffers of several kinds, of which some refuse and some slide. */
    if (plan->rules.rule[KVC_CONTRACT_OVERFLOW]->value == KVC_OVERFLOW_EITHER && length > plan->params.capacity)
        out->verdict = KVC_EITHER;
    for (int at = 0; plan->has_buffer && length > plan->params.capacity && at < plan->slots; at++) {
        kvc_view_rule rule = plan->slot[at].view->rule;
        const kvc_contract_rule *overflow = kvc_slot_rule(model, at, KVC_CONTRACT_OVERFLOW);
        if (rule == KVC_RULE_FIXED && overflow->value == KVC_OVERFLOW_REFUSE) {
            /* The first layer that refuses ends the append. */
            if (out->verdict == KVC_MUST_REFUSE)
                continue;
            out->verdict = KVC_MUST_REFUSE;
            out->rule = overflow;
            out->layer = plan->slot[at].layer;
        } else if (rule == KVC_RULE_FIXED) {
            out->unspecified = 1;
        } else if (rule == KVC_RULE_FIXED_WINDOW && plan->params.capacity <= plan->params.window) {
            /* The buffer is the whole cache then: no text says that it slides. */
            out->unspecified = 1;
        } else if (rule == KVC_RULE_FIXED_PREFIX_WINDOW &&
                   kvc_view_prefix_fills(model, at, plan->params.keep > 0 ? plan->params.keep : op->n)) {
            out->unspecified = 1;
        }
    }
}

static void merge(kvc_expectation *out, kvc_verdict verdict, const kvc_contract_rule *rule, int layer)
{
    if (verdict > out->verdict) {
        out->verdict = verdict;
        out->rule = rule;
        out->layer = layer;
    }
}

static __attribute__((noinline)) void expect_crop(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_plan *plan = model->plan;
    int32_t n = kvc_op_as_crop(op);
    int32_t floor = kvc_model_floor(model);
    int no_layers;

    /* What a container refuses it refuses in its own way, before any layer is asked. */
    if (plan->rules.rule[KVC_CONTRACT_CROP]->value == KVC_CROP_REFUSE)
        merge(out, KVC_MUST_REFUSE, plan->rules.rule[KVC_CONTRACT_CROP], 0);
    no_layers = !model->used && plan->rules.rule[KVC_CONTRACT_CROP_POSITIVE]->value == KVC_POSITIVE_REFUSE_USED;
    for (int layer = 0; layer < plan->layers; layer++) {
        const kvc_contract_rule *const *rule = plan->layer[layer].rules.rule;
        if (rule[KVC_CONTRACT_CROP]->value == KVC_CROP_REFUSE)
            merge(out, KVC_MUST_REFUSE, rule[KVC_CONTRACT_CROP], layer);
        if (rule[KVC_CONTRACT_CROP]->value == KVC_CROP_EITHER &&
            (n <= 0 || rule[KVC_CONTRACT_CROP_POSITIVE]->value == KVC_POSITIVE_KEEP))
            merge(out, KVC_EITHER, rule[KVC_CONTRACT_CROP], layer);
        if (n > 0 && rule[KVC_CONTRACT_CROP_POSITIVE]->value == KVC_POSITIVE_NOTHING)
            merge(out, KVC_EITHER, rule[KVC_CONTRACT_CROP_POSITIVE], layer);
        else if (n > 0 && rule[KVC_CONTRACT_CROP_POSITIVE]->value != KVC_POSITIVE_KEEP)
            merge(out, no_layers ? KVC_EITHER : KVC_MUST_REFUSE, rule[KVC_CONTRACT_CROP_POSITIVE], layer);
    }
    {
        const kvc_contract_rule *const *rule = plan->rules.rule;
        if (out->rule == NULL)
            out->rule = n > 0    ? rule[KVC_CONTRACT_CROP_POSITIVE]
                        : n == 0 ? rule[KVC_CONTRACT_CROP_ZERO]
                        : out->situation.ask == KVC_ASK_OVER ? rule[KVC_CONTRACT_CROP_OVER]
                                                             : rule[KVC_CONTRACT_CROP];
        if (rule[KVC_CONTRACT_CROP]->value == KVC_CROP_IGNORED) {
            out->leave = 1;
            out->target = model->length;
            return;
        }
    }
    out->target = model->length;
    if (n > 0) {
        out->unspecified |= kvc_rule_is_silent(plan->rules.rule[KVC_CONTRACT_CROP_POSITIVE]);
        if (plan->rules.rule[KVC_CONTRACT_CROP_POSITIVE]->value != KVC_POSITIVE_NOTHING)
            out->target = kvc_smaller(model->length, n);
    } else if (n < 0) {
        out->target = (int32_t)(-(int64_t)n >= model->length ? 0 : model->length + n);
        if (out->target < floor) {
            out->target = floor;
            out->rule = plan->rules.rule[KVC_CONTRACT_CROP_EVICTED];
            if (out->rule->value == KVC_EVICTED_REFUSE)
                merge(out, KVC_MUST_REFUSE, out->rule, 0);
        }
    } else {
        unsigned zero = plan->layer[0].rules.rule[KVC_CONTRACT_CROP_ZERO]->value;
        if (zero == KVC_ZERO_EMPTY)
            out->target = 0;
        out->trim = 1;
    }
    out->removed = model->length - out->target;
    if (!model->used) {
        for (int layer = 0; layer < plan->layers; layer++) {
            const kvc_contract_rule *unused = plan->layer[layer].rules.rule[KVC_CONTRACT_CROP_UNUSED];
            if (unused->value == KVC_UNUSED_EITHER)
                merge(out, KVC_EITHER, unused, layer);
            else if (out->verdict == KVC_DO && !model->initialized && (layer == 0 || !unused->documented)) {
                /* What is promised for all layers is promised no more firmly than for the least of them. */
                out->rule = unused;
                out->layer = layer;
            }
        }
    }
    for (int at = 0; at < plan->slots; at++) {
        const kvc_view_kind *kind = plan->slot[at].kind;
        const kvc_contract_rule *rule = out->rule;
        kvc_verdict verdict = kind->crop != NULL ? kind->crop(model, at, out, &rule) : KVC_DO;
        /* A cache that was never used has no state that could be lost: refusing is documented, doing nothing is right. */
        if (!model->used && verdict == KVC_MUST_REFUSE)
            verdict = KVC_EITHER;
        out->unspecified |= verdict != KVC_DO && kvc_rule_is_silent(rule);
        merge(out, verdict, rule, plan->slot[at].layer);
    }
}

/* What is done for every op is to choose: the functions that are chosen from stand apart, so that choosing needs no stack. */
void kvc_model_expect(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    memset(out, 0, sizeof *out);
    if (model->sequences != NULL) {
        kvc_sequences_expect(model, op, out);
        return;
    }
    find_situation(model, op, &out->situation);
    if (model->plan->own_rows) {
        kvc_rows_expect(model, op, out);
        return;
    }
    /* Its layers are no longer in step: nothing is said of such a cache but that a reset mends it. */
    out->unspecified = model->torn && op->kind != KVC_RESET;
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
        expect_append(model, op, out);
        return;
    case KVC_CROP:
    case KVC_TRIM:
        expect_crop(model, op, out);
        return;
    case KVC_RESET:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_BATCH_OPS];
        return;
    case KVC_REORDER:
    case KVC_SELECT:
    case KVC_REPEAT:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_BATCH_OPS];
        if ((model->plan->rules.rule[KVC_CONTRACT_BATCH_REFUSED]->value & 1u << op->kind) != 0)
            merge(out, KVC_MUST_REFUSE, model->plan->rules.rule[KVC_CONTRACT_BATCH_REFUSED], 0);
        return;
    case KVC_RECORD:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_RECORD];
        /* Recording ends as runtimes end it: after a crop has given back what was recorded. */
        out->unspecified |= op->n == 0 && model->recording && model->used && !model->cropped;
        return;
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_OFFLOAD];
        return;
    case KVC_INITIALIZE:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_INITIALIZE];
        /* Early is before anything else: so callers do it. */
        out->unspecified = !model->fresh;
        return;
    case KVC_COPY:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_COPY];
        return;
    case KVC_PICKLE:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_PICKLE];
        return;
    case KVC_TRIM_FRONT:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_CROP_EVICTED];
        return;
    case KVC_SAVE_FILE:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_SAVE];
        out->verdict = out->rule->value == KVC_STORING_USED && !model->used ? KVC_EITHER : KVC_DO;
        return;
    case KVC_FROM_STATE:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_STATE];
        out->verdict = out->rule->value == KVC_STORING_USED && !model->used ? KVC_EITHER : KVC_DO;
        return;
    case KVC_QUANTIZE:
        out->rule = model->plan->rules.rule[KVC_CONTRACT_QUANTIZE];
        out->unspecified |= model->quantized;
        return;
    default:
        break; /* ops on sequences: of other models */
    }
    out->rule = model->plan->rules.rule[KVC_CONTRACT_CROP];
    out->unspecified = 1;
}

/* How many of the next `count` tokens have numbers that follow each other, from number `at` on. */
static int32_t count_following(const kvc_model *model, int32_t at, int32_t count)
{
    int32_t first = kvc_model_number(model, at);
    int32_t taken = 1;

    if (model->numbers == NULL)
        return kvc_smaller(count - at, KVC_TOKENS_MAX - first);
    while (at + taken < count && kvc_model_number(model, at + taken) == first + taken)
        taken++;
    return taken;
}

/* Tokens from `begin` on, the end of the log, are appended: they lengthen the last run where they go on with it. */
static int add_run(kvc_model *model, int32_t begin, int32_t number)
{
    static const kvc_run fresh = {0, 0, {0, 1, 2, 3, 4, 5, 6}, 1};
    kvc_run *last = model->run + model->runs - 1;

    if (model->runs > 0 && last->ordered && last->number + (begin - last->begin) == number)
        return 1;
    if (model->runs == model->room) {
        kvc_run *larger = realloc(model->run, 2 * (size_t)model->room * sizeof *larger);
        if (larger == NULL)
            return 0;
        model->run = larger;
        model->room *= 2;
    }
    last = &model->run[model->runs++];
    *last = fresh;
    last->begin = begin;
    last->number = number;
    return 1;
}

static __attribute__((noinline)) int commit_append(kvc_model *model, int32_t count)
{
    int32_t length = model->length + count;

    if (!model->used)
        model->recording_since_first = model->recording;
    for (int32_t at = 0, taken; at < count; at += taken) {
        taken = count_following(model, at, count);
        if (!add_run(model, length - count + at, kvc_model_number(model, at)))
            return 0;
    }
    model->length = length;
    model->appended = count;
    model->used = model->used || count > 0;
    model->appended_none |= count == 0;
    for (int at = 0; at < model->plan->slots; at++) {
        const kvc_view_kind *kind = model->plan->slot[at].kind;
        model->slot[at].held_before = model->slot[at].held;
        if (kind->appended != NULL && count > 0)
            kind->appended(model, at);
    }
    model->next += count;
    return 1;
}

static __attribute__((noinline)) void commit_crop(kvc_model *model, const kvc_expectation *crop)
{
    model->cropped = 1;
    model->trimmed = crop->removed;
    if (crop->leave) {
        for (int at = 0; at < model->plan->slots; at++)
            model->slot[at].unjudged = 1;
        return;
    }
    model->length = crop->target;
    model->changes++;
    model->intact = crop->target;
    while (model->runs > 0 && model->run[model->runs - 1].begin >= model->length)
        model->runs--;
    for (int at = 0; at < model->plan->slots; at++) {
        const kvc_view_kind *kind = model->plan->slot[at].kind;
        if (kind->cropped != NULL)
            kind->cropped(model, at, crop);
    }
}

/* Row i becomes what row rows[i] was, everywhere. */
static __attribute__((noinline)) void move_rows(kvc_model *model, const uint8_t *rows, int32_t count)
{
    for (int32_t at = 0; at < model->runs; at++) {
        kvc_run *run = &model->run[at];
        kvc_run before = *run;
        run->ordered = 1;
        for (int32_t row = 0; row < count; row++) {
            run->origin[row] = before.origin[rows[row]];
            run->ordered &= run->origin[row] == row;
        }
    }
    for (int at = 0; at < model->plan->slots; at++) {
        kvc_slot_state before = model->slot[at];
        for (int32_t row = 0; row < count; row++) {
            model->slot[at].fold[row] = before.fold[rows[row]];
            model->slot[at].fold_row[row] = before.fold_row[rows[row]];
        }
    }
    model->rows = count;
    model->changes++;
    model->intact = 0;
}

/* The oldest tokens go, down to the capacity. */
static __attribute__((noinline)) void trim_front(kvc_model *model)
{
    for (int at = 0; at < model->plan->slots; at++) {
        kvc_view_rule rule = model->plan->slot[at].view->rule;
        if (rule == KVC_RULE_CHUNKED || rule == KVC_RULE_CHUNK_START)
            model->slot[at].held = kvc_larger(model->slot[at].held, model->length - model->plan->params.capacity);
    }
}

int kvc_model_fed_before(const kvc_model *model, int slot, const kvc_expectation *refused)
{
    const kvc_slot *place = &model->plan->slot[slot];

    if (model->plan->rules.rule[KVC_CONTRACT_APPEND_PARTS]->value == KVC_PARTS_TOGETHER)
        return 0;
    return place->layer < refused->layer ||
           (place->layer == refused->layer &&
            (place->view->rule == KVC_RULE_LAST || place->view->rule == KVC_RULE_FOLDED));
}

static __attribute__((noinline)) int commit_rows(kvc_model *model, const kvc_op *op, int refused)
{
    int good = refused || kvc_rows_commit(model, op);

    model->next += kvc_op_tokens(op);
    model->cropped |= kvc_op_is_rollback(op->kind) && !refused;
    return good;
}

static __attribute__((noinline)) void commit_refused_append(kvc_model *model, const kvc_op *op, const kvc_expectation *expectation)
{
    model->next += op->n;
    for (int at = 0; at < model->plan->slots; at++)
        model->torn |= kvc_model_fed_before(model, at, expectation);
}

static __attribute__((noinline)) void repeat_rows(kvc_model *model, int32_t times)
{
    uint8_t rows[KVC_ROWS_MAX];

    for (int32_t row = 0; row < model->rows * times && row < KVC_ROWS_MAX; row++)
        rows[row] = (uint8_t)(row / times);
    move_rows(model, rows, kvc_smaller(model->rows * times, KVC_ROWS_MAX));
}

/* As kvc_model_expect. */
int kvc_model_commit(kvc_model *model, const kvc_op *op, const kvc_expectation *expectation, int refused)
{
    if (model->sequences != NULL) {
        kvc_sequences_commit(model, op, expectation, refused);
        return 1;
    }
    model->appended = 0;
    model->fresh = model->fresh && op->kind == KVC_RECORD;
    model->trimmed = -1;
    if (!kvc_op_is_rollback(op->kind) && op->kind != KVC_RECORD && !kvc_op_moves_cache((kvc_op_kind)op->kind))
        model->cropped = 0;
    if (model->plan->own_rows)
        return commit_rows(model, op, refused);
    if (refused) {
        if (op->kind == KVC_APPEND)
            commit_refused_append(model, op, expectation);
        return 1;
    }
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
        return commit_append(model, op->n);
    case KVC_CROP:
    case KVC_TRIM:
        commit_crop(model, expectation);
        return 1;
    case KVC_RESET:
        model->was_reset = 1;
        forget(model);
        return 1;
    case KVC_REORDER:
    case KVC_SELECT:
        move_rows(model, op->rows, op->count);
        return 1;
    case KVC_REPEAT:
        repeat_rows(model, op->n);
        return 1;
    case KVC_RECORD:
        model->recording = op->n != 0;
        if (!model->recording || !model->used)
            model->recording_since_first = model->recording;
        return 1;
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
        model->offloaded = op->kind == KVC_OFFLOAD;
        return 1;
    case KVC_INITIALIZE:
        model->initialized = 1;
        return 1;
    case KVC_TRIM_FRONT:
        trim_front(model);
        return 1;
    case KVC_QUANTIZE:
        model->quantized = 1;
        return 1;
    case KVC_COPY:
    case KVC_PICKLE:
    case KVC_SAVE_FILE:
    case KVC_FROM_STATE:
    case KVC_APPEND_ROWS:
    case KVC_MERGE:
    case KVC_EXTRACT:
    case KVC_EXTEND:
    case KVC_SPLIT:
        break;
    default:
        break; /* ops on sequences: of other models */
    }
    return 1;
}

void kvc_situation_from_code(int code, kvc_situation *situation)
{
    int alone = code % KVC_SITUATIONS_ALONE;
    int more = code / KVC_SITUATIONS_ALONE;

    situation->cropped = (uint8_t)(alone % 2);
    alone /= 2;
    situation->ask = (uint8_t)(alone % KVC_ASKS + more % 2 * KVC_ASKS);
    alone /= KVC_ASKS;
    situation->recording = (uint8_t)(alone % 3);
    alone /= 3;
    situation->reached = (uint8_t)(alone % 4);
    situation->held = (uint8_t)(alone / 4 % 4);
    situation->shared = (uint8_t)(more / 2 % 3);
    situation->rows = (uint8_t)(more / 6 % 3);
}

const char *kvc_situation_text(const kvc_situation *situation, char *buffer, size_t size)
{
    static const char *const held[] = {"never used", "empty again", "holding tokens", "initialised and never used"};
    static const char *const reached[] = {"", ", below its boundary", ", at its boundary", ", past its boundary"};
    static const char *const recording[] = {"", ", recording", ", recording switched on late"};
    static const char *const ask[] = {"",          ", asked for nothing",        ", asked for some",
                                      ", asked for all", ", asked for more than there is", ", asked with a positive number",
                                      ", asked for all of any", ", asked for some of any"};
    static const char *const shared[] = {"", ", beside others", ", sharing with others"};

    static const char *const rows[] = {"", ", rows of different lengths", ", taken out of its batch"};

    (void)snprintf(buffer, size, "%s%s%s%s%s%s%s", held[situation->held % 4], reached[situation->reached % 4],
                   recording[situation->recording % 3], shared[situation->shared % 3], rows[situation->rows % 3],
                   situation->cropped ? ", just cropped" : "", ask[situation->ask % 8]);
    return buffer;
}
