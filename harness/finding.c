#include "harness/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/sequences.h"

void kvc_finding_clear(kvc_finding *finding)
{
    free(finding->detail);
    free(finding->script);
    cJSON_free(finding->model);
    memset(finding, 0, sizeof *finding);
}

static void add_law(kvc_finding *finding, kvc_law law)
{
    if (law < finding->law) {
        finding->also |= 1u << finding->law;
        finding->law = law;
    } else if (law != finding->law) {
        finding->also |= 1u << law;
    }
}

/* Whether an op is about other sequences than those that the op which fails is about. */
static int is_about_others(const kvc_finding *finding, int at)
{
    unsigned targets = kvc_op_targets(&finding->sequence.op[at]);

    return targets != 0 && (targets & kvc_op_targets(&finding->sequence.op[finding->failure.step])) == 0;
}

/* What the minimal case shows: whatever it still contains is needed for the fault. */
static void add_laws_of_case(kvc_finding *finding)
{
    int crop_before = 0;
    int several = finding->failure.place == KVC_PLACE_LOGITS;

    if (finding->params.call != KVC_CALL_POSITION)
        add_law(finding, KVC_CALL);
    /* What changes the original of a copy is shared with it, whatever else the case does. */
    if (finding->failure.place == KVC_PLACE_ORIGINAL)
        return;
    for (int at = 0; at + 1 < finding->sequence.count; at++) {
        /* A buffer that moves does so whatever the cache holds. */
        if (finding->sequence.op[at].kind == KVC_RESET && finding->failure.place != KVC_PLACE_ADDRESS)
            add_law(finding, KVC_RESET_LAW);
        if (kvc_op_moves_cache((kvc_op_kind)finding->sequence.op[at].kind) &&
            finding->failure.place != KVC_PLACE_ADDRESS)
            add_law(finding, KVC_SAVE);
        crop_before |= kvc_op_is_rollback(finding->sequence.op[at].kind);
        /* What comes of a decode is wrong by what was done before it. */
        if (several && finding->sequence.op[at].kind == KVC_SEQ_RESTORE)
            add_law(finding, KVC_SAVE);
        if (several && (finding->sequence.op[at].kind == KVC_SEQ_CP || is_about_others(finding, at)))
            add_law(finding, KVC_ISOLATION);
    }
    if (crop_before && finding->failure.op == KVC_APPEND)
        add_law(finding, KVC_RESUME);
}

/* Whether a slot is a view of the container itself: it is the same thing beside any layer. */
static int is_of_container(const kvc_plan *plan, int slot)
{
    const kvc_view_spec *view = plan->slot[slot].view;

    return view >= plan->spec->view && view < plan->spec->view + plan->spec->views;
}

static void name_tensor(const kvc_plan *plan, kvc_finding *finding)
{
    static const char *const places[] = {"outcome", "length", "", "", "mask", "position", "", "", "", "state", "length", "mask",
                                         "positions", "cells", "keys", "values", "window", "recurrent state", "logits", ""};
    const kvc_failure *failure = &finding->failure;
    const char *variant = plan->spec->layers > 0 ? plan->layer[failure->layer].spec->variant : "";

    if (failure->slot >= 0 && failure->slot < plan->slots && failure->place != KVC_PLACE_MASK) {
        const kvc_view_spec *view = plan->slot[failure->slot].view;
        variant = is_of_container(plan, failure->slot) ? "" : variant;
        (void)snprintf(finding->tensor, sizeof finding->tensor, "%s%s%s%s%s",
                       failure->place == KVC_PLACE_ORIGINAL ? "original "
                       : failure->place == KVC_PLACE_RETURNED || failure->place == KVC_PLACE_EARLIER ? "returned " : "",
                       view->name, view->numbered ? "N" : "", variant[0] != '\0' ? " of " : "", variant);
    } else {
        (void)snprintf(finding->tensor, sizeof finding->tensor, "%s%s%s", places[failure->place % (sizeof places / sizeof places[0])],
                       variant[0] != '\0' && failure->place != KVC_PLACE_OUTCOME ? " of " : "",
                       failure->place != KVC_PLACE_OUTCOME ? variant : "");
    }
}

/* Whether the tensor was not moved by a batch op: its rows are too many, too few, or the wrong ones, by what was asked for. */
static int is_left_behind(const kvc_failure *failure)
{
    return failure->place == KVC_PLACE_STORED && failure->law == KVC_BATCH &&
           (failure->deviation == KVC_WRONG_SHAPE || failure->deviation == KVC_WRONG_ROW);
}

/* The kind of deviation, as far as it makes another cause. What a reset did not remove may look like anything. */
static const char *deviation_of(const kvc_failure *failure)
{
    if (is_left_behind(failure))
        return "left behind";
    if (failure->place == KVC_PLACE_STORED && failure->op == KVC_RESET)
        return "not reset";
    return kvc_deviation_text((kvc_deviation)failure->deviation);
}

/*
 * What is wrong, as far as it makes another cause. Which layer of a container shows it is none, nor of which kind that is: what
 * layers do wrong by themselves is told apart in their own variants. And where a batch op leaves tensors behind, those that one law
 * speaks of are one cause: the op does not know of them.
 */
static void name_cause(const kvc_plan *plan, kvc_finding *finding)
{
    const kvc_failure *failure = &finding->failure;
    const char *of = strstr(finding->tensor, " of ");
    int refused_elsewhere = plan->layers > 1 && finding->law == KVC_ATOMIC && failure->rule_layer >= 0 &&
                            failure->rule_layer < plan->layers && failure->rule_layer != failure->layer;
    size_t length = of != NULL ? (size_t)(of - finding->tensor) : strlen(finding->tensor);

    if (is_left_behind(failure))
        (void)snprintf(finding->wrong, sizeof finding->wrong, "%s", kvc_law_name(plan->slot[failure->slot].view->law));
    else
        (void)snprintf(finding->wrong, sizeof finding->wrong, "%.*s%s", (int)length, finding->tensor,
                       refused_elsewhere ? ", refused by another layer" : "");
    if (refused_elsewhere) {
        length = strlen(finding->tensor);
        (void)snprintf(finding->tensor + length, sizeof finding->tensor - length, ", refused by %.80s",
                       plan->layer[failure->rule_layer].spec->variant);
    }
}

/*
 * The kind of the layer of a container that does wrong: the one that holds the tensor or the number, or that had to refuse. An error says
 * not which layer raised it.
 */
static void name_layer(const kvc_plan *plan, kvc_finding *finding)
{
    const kvc_failure *failure = &finding->failure;
    int at = failure->deviation == KVC_NOT_REFUSED ? failure->rule_layer : failure->layer;

    finding->layer[0] = '\0';
    if (plan->spec->layers > 0 && failure->deviation != KVC_REFUSED && at >= 0 && at < plan->layers &&
        !(failure->slot >= 0 && failure->slot < plan->slots && is_of_container(plan, failure->slot)))
        (void)snprintf(finding->layer, sizeof finding->layer, "%s", plan->layer[at].spec->variant);
}

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash ^ (hash >> 15);
}

int kvc_finding_name(const kvc_bench *bench, kvc_finding *finding, kvc_error *error)
{
    kvc_plan plan;
    kvc_situation outline = kvc_failure_outline(&finding->failure);
    char cause[640];

    if (!kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &finding->params, &plan, error))
        return 0;
    finding->law = (kvc_law)finding->failure.law;
    finding->also = finding->failure.also;
    add_laws_of_case(finding);
    name_tensor(&plan, finding);
    name_cause(&plan, finding);
    name_layer(&plan, finding);
    (void)kvc_situation_text(&finding->failure.situation, finding->situation, sizeof finding->situation);
    if (finding->law == KVC_CALL)
        (void)snprintf(cause, sizeof cause, "%s|CALL|%s|%s", bench->variant, kvc_call_name(finding->params.call),
                       kvc_op_name((kvc_op_kind)finding->failure.op));
    else
        (void)snprintf(cause, sizeof cause, "%s|%s|%s|%s|%d|%s", bench->variant, kvc_law_name(finding->law),
                   finding->wrong, kvc_op_name((kvc_op_kind)finding->failure.op), kvc_situation_code(&outline),
                   deviation_of(&finding->failure));
    if (finding->failure.narrow) {
        size_t used = strlen(cause);
        (void)snprintf(cause + used, sizeof cause - used, "|window 1");
    }
    (void)snprintf(finding->id, sizeof finding->id, "%s-%08x", kvc_law_name(finding->law), (unsigned)hash_text(cause));
    return 1;
}

/* Feeding rows different numbers of tokens is an append; a part that is split off is put back as another batch is. */
static int family(int kind)
{
    return kind == KVC_APPEND_ROWS ? KVC_APPEND : kind == KVC_SPLIT ? KVC_EXTEND : kind;
}

/* Ops of the same shape do the same kind of thing. What was initialised early is as what was appended and removed. */
static int same_shape(const kvc_op *a, const kvc_op *b)
{
    int a_sign = (a->n > 0) - (a->n < 0);
    int b_sign = (b->n > 0) - (b->n < 0);

    int a_batch = a->kind == KVC_REORDER || a->kind == KVC_SELECT || a->kind == KVC_REPEAT;
    int b_batch = b->kind == KVC_REORDER || b->kind == KVC_SELECT || b->kind == KVC_REPEAT;

    if ((a_batch && b_batch) || (a->kind == KVC_APPEND && b->kind == KVC_INITIALIZE))
        return 1;
    /* Both put off turning the keys until the next decode. */
    if ((a->kind == KVC_SEQ_ADD && b->kind == KVC_SEQ_DIV) || (a->kind == KVC_SEQ_DIV && b->kind == KVC_SEQ_ADD))
        return 1;
    return family(a->kind) == family(b->kind) && ((!kvc_op_is_rollback(a->kind) && a->kind != KVC_RECORD) || a_sign == b_sign);
}

/* A way of calling that does not work is one fault for each op, whatever the op was asked for. */
static int same_call(const kvc_finding *finding, const kvc_finding *other)
{
    return finding->law == KVC_CALL && other->law == KVC_CALL && finding->params.call == other->params.call &&
           finding->failure.op == other->failure.op;
}

/* Place of the op before the one that fails, or -1. That recording was switched on is how the cache was set up. */
static int op_before(const kvc_finding *finding)
{
    int at = finding->failure.step - 1;

    while (at >= 0 && finding->sequence.op[at].kind == KVC_RECORD && finding->sequence.op[at].n == 1)
        at--;
    return at;
}

/*
 * An op that is refused with the same complaint, right after the same kind of op or as the first, is refused for the same
 * reason, whatever the cache holds and however many tokens were asked for.
 */
static int same_refusal(const kvc_finding *finding, const kvc_finding *other)
{
    int a = op_before(finding);
    int b = op_before(other);

    /* Of a case that holds more than it needs, the op before may have nothing to do with it. */
    return other->shrunk && finding->failure.law == KVC_REFUSE && other->failure.law == KVC_REFUSE &&
           finding->failure.deviation == KVC_REFUSED && other->failure.deviation == KVC_REFUSED &&
           (finding->failure.op == other->failure.op ||
            (finding->failure.op == KVC_APPEND && other->failure.op == KVC_SPLIT && other->sequence.op[other->failure.step].n > 0)) &&
           finding->failure.complaint == other->failure.complaint &&
           (a < 0) == (b < 0) && (a < 0 || same_shape(&finding->sequence.op[a], &other->sequence.op[b]));
}

/* To what number a refused append moves the length depends on its argument, and says nothing of the cause. */
static int same_deviation(const kvc_finding *finding, const kvc_finding *other)
{
    return strcmp(deviation_of(&finding->failure), deviation_of(&other->failure)) == 0 ||
           (finding->failure.law == KVC_ATOMIC && other->failure.law == KVC_ATOMIC && finding->failure.place == KVC_PLACE_LENGTH);
}

int kvc_finding_covers(const kvc_finding *finding, const kvc_finding *other)
{
    kvc_situation a = kvc_failure_outline(&finding->failure);
    kvc_situation b = kvc_failure_outline(&other->failure);
    int found = 0;

    if (same_call(finding, other))
        return 1;
    if (finding->failure.narrow && !other->failure.narrow)
        return 0;
    /* A buffer that an op moves is moved whatever the cache holds. */
    if (finding->failure.place == KVC_PLACE_ADDRESS && other->failure.place == KVC_PLACE_ADDRESS &&
        finding->failure.op == other->failure.op && strcmp(finding->wrong, other->wrong) == 0)
        return 1;
    if (same_refusal(finding, other) &&
        (finding->params.call == KVC_CALL_POSITION || other->params.call != KVC_CALL_POSITION))
        return 1;
    /* A tensor that a copy shares, or that was given and is kept, is changed by every op that writes to it. */
    if ((finding->failure.place == KVC_PLACE_ORIGINAL || finding->failure.place == KVC_PLACE_KEPT) &&
        other->failure.place == finding->failure.place && strcmp(finding->wrong, other->wrong) == 0)
        return 1;
    /* The same wrong state may break an earlier law in one situation and a later one in another. */
    if (finding->failure.law > other->failure.law ||
        (finding->failure.law != other->failure.law && finding->failure.rule == KVC_CONTRACT_UNRECORDED) ||
        finding->failure.place != other->failure.place ||
        !same_deviation(finding, other) || family(finding->failure.op) != family(other->failure.op) || strcmp(finding->wrong, other->wrong) != 0 || a.ask != b.ask ||
        (finding->params.call != KVC_CALL_POSITION && other->params.call == KVC_CALL_POSITION))
        return 0;
    for (int at = 0; at <= other->sequence.count && found < finding->sequence.count; at++) {
        /* When recording began matters only where the contract's word on it decides; a case without it is the smaller one. */
        while (found < finding->sequence.count && finding->sequence.op[found].kind == KVC_RECORD &&
               finding->sequence.count <= other->sequence.count &&
               finding->failure.rule != KVC_CONTRACT_UNRECORDED)
            found++;
        if (found < finding->sequence.count && at < other->sequence.count)
            found += same_shape(&finding->sequence.op[found], &other->sequence.op[at]);
    }
    return found == finding->sequence.count;
}

int kvc_findings_compare(const void *left, const void *right)
{
    const kvc_finding *a = left;
    const kvc_finding *b = right;
    int order = (int)a->law - (int)b->law;

    if (order == 0)
        order = kvc_ops_compare(a->sequence.op, (size_t)a->sequence.count, b->sequence.op, (size_t)b->sequence.count);
    return order != 0 ? order : strcmp(a->id, b->id);
}
