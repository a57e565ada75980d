#include "reference/sequences.h"

#include <string.h>

#include "reference/model.h"
#include "reference/values.h"

enum { LAST = INT32_MAX };

/* The range of positions that an op names: below 0 it begins at 0, or ends behind the last. */
typedef struct range {
    int32_t begin;
    int32_t end;
} range;

static range range_of(const kvc_op *op)
{
    range out = {op->begin < 0 ? 0 : op->begin, op->end < 0 ? LAST : op->end};

    return out;
}

static int is_in(range where, int32_t position)
{
    return position >= where.begin && position < where.end;
}

int kvc_plan_is_split(const kvc_plan *plan)
{
    return strstr(plan->parts, "split") != NULL;
}

int kvc_plan_saves_to_files(const kvc_plan *plan)
{
    return strstr(plan->parts, "file") != NULL;
}

int kvc_plan_has_checkpoints(const kvc_plan *plan)
{
    return strstr(plan->parts, "checkpoint") != NULL;
}

static void empty(kvc_sequence_log *log)
{
    log->count = 0;
    log->held = 0;
    log->state = -1;
    log->digest = 0;
    log->pure = 1;
    log->reported = -1;
    log->removed = log->moved = log->copied = log->shares = 0;
}

void kvc_sequences_start(kvc_sequences *sequences)
{
    sequences->chunks = sequences->cells = 0;
    sequences->has_saved = 0;
    sequences->saved_of = -1;
    for (int at = 0; at < KVC_SEQUENCES_MAX; at++) {
        empty(&sequences->log[at]);
        sequences->log[at].used = 0;
    }
    empty(&sequences->saved);
}

/* Copies what is used of a log, which is much less than its size. */
static void copy_log(kvc_sequence_log *to, const kvc_sequence_log *from)
{
    memcpy(to, from, offsetof(kvc_sequence_log, entry) + (size_t)from->count * sizeof from->entry[0]);
}

void kvc_sequences_copy(kvc_sequences *to, const kvc_sequences *from)
{
    to->chunks = from->chunks;
    to->cells = from->cells;
    to->has_saved = from->has_saved;
    to->saved_of = from->saved_of;
    for (int at = 0; at < KVC_SEQUENCES_MAX; at++)
        copy_log(&to->log[at], &from->log[at]);
    copy_log(&to->saved, &from->saved);
}

static int count_in(const kvc_sequence_log *log, range where)
{
    int count = 0;

    for (int32_t at = 0; at < log->count; at++)
        count += is_in(where, log->entry[at].position);
    return count;
}

static int32_t last_of(const kvc_sequence_log *log)
{
    return log->count > 0 ? log->entry[log->count - 1].position : -1;
}

int32_t kvc_sequences_used(const kvc_model *model, int sequence)
{
    const kvc_sequences *all = model->sequences;
    int32_t used = 0;

    if (kvc_plan_is_split(model->plan))
        return all->log[sequence].count;
    for (int32_t at = 0; at < model->rows; at++) {
        const kvc_sequence_log *log = &all->log[at];
        for (int32_t place = 0; place < log->count; place++) {
            int before = 0;
            /* A shared cell is counted for the first of its sequences. */
            for (int32_t other = 0; log->shares != 0 && other < at && !before; other++) {
                if ((log->shares & 1u << other) == 0)
                    continue;
                for (int32_t there = 0; there < all->log[other].count && !before; there++)
                    before = all->log[other].entry[there].cell == log->entry[place].cell;
            }
            used += !before;
        }
    }
    return used;
}

static int shares_cells(const kvc_model *model, int32_t sequence)
{
    return sequence >= 0 && model->sequences->log[sequence].shares != 0;
}

unsigned kvc_op_targets(const kvc_op *op)
{
    unsigned targets = 0;

    switch ((kvc_op_kind)op->kind) {
    case KVC_DECODE:
        for (int at = 0; at < op->count; at++)
            targets |= 1u << op->rows[at];
        return targets;
    case KVC_SEQ_RM:
        return op->sequence < 0 ? ~0u : 1u << op->sequence;
    case KVC_SEQ_CP:
        return 1u << op->other;
    case KVC_SEQ_KEEP:
    case KVC_CLEAR:
        return ~0u;
    case KVC_SEQ_ADD:
    case KVC_SEQ_DIV:
    case KVC_SEQ_RESTORE:
        return 1u << op->sequence;
    default:
        return 0;
    }
}

static void merge(kvc_expectation *out, kvc_verdict verdict, const kvc_contract_rule *rule)
{
    if (verdict > out->verdict) {
        out->verdict = verdict;
        out->rule = rule;
    }
}

static void expect_decode(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_rules *rules = &model->plan->rules;
    const kvc_sequences *all = model->sequences;
    int has_cells = kvc_plan_remembers(model->plan, KVC_MEMORY_ATTENTION) || kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW);
    int32_t capacity = model->plan->params.capacity;

    out->rule = rules->rule[KVC_CONTRACT_CELLS];
    /* No more than a batch may have: that many end the process, as its documents say. */
    out->unspecified |= op->count < 1 || op->n < 1 || (int64_t)op->n * op->count > capacity;
    for (int at = 0; at < op->count && !out->unspecified; at++) {
        const kvc_sequence_log *log = &all->log[op->rows[at]];
        int64_t first;
        for (int other = 0; other < at; other++)
            out->unspecified |= op->rows[other] == op->rows[at];
        out->unspecified |= log->count + op->n > KVC_LOG_MAX;
        if (op->begin != 0 && last_of(log) >= 0)
            merge(out, KVC_MUST_REFUSE, rules->rule[KVC_CONTRACT_DECODE]);
        else if (op->begin != 0)
            merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_DECODE]);
        first = (int64_t)last_of(log) + 1 + op->begin;
        out->unspecified |= first < 0 || first + op->n > KVC_TOKENS_MAX;
        /* With cells of its own each sequence has room for so many; otherwise all have it together. */
        if (has_cells && kvc_plan_is_split(model->plan) && log->count + op->n > capacity)
            merge(out, KVC_MUST_REFUSE, rules->rule[KVC_CONTRACT_CELLS]);
    }
    /* Cells of a window are given to newer tokens, but not those that sequences share: it may be full of them, for all sequences. */
    for (int at = 0; at < model->rows && kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW); at++) {
        if (all->log[at].shares != 0)
            merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_CELLS]);
    }
    if (!out->unspecified && has_cells && !kvc_plan_is_split(model->plan) &&
        kvc_sequences_used(model, 0) + op->n * op->count > capacity)
        merge(out, KVC_MUST_REFUSE, rules->rule[KVC_CONTRACT_CELLS]);
}

/* What is asked of one sequence when a range is removed of it. */
static kvc_ask ask_of(const kvc_sequence_log *log, range where)
{
    int count = count_in(log, where);

    if (count == 0)
        return KVC_ASK_ZERO;
    if (count == log->count)
        return where.end == LAST && where.begin == 0 ? KVC_ASK_ALL : KVC_ASK_OVER;
    return is_in(where, last_of(log)) ? KVC_ASK_PART : KVC_ASK_POSITIVE;
}

static void expect_removal(const kvc_model *model, const kvc_op *op, const kvc_sequence_log *log, kvc_expectation *out)
{
    const kvc_rules *rules = &model->plan->rules;
    range where = range_of(op);
    kvc_ask ask = ask_of(log, where);

    /* A whole sequence goes whatever it is kept in. Of any sequence it is whole when no position is named. */
    if (ask == KVC_ASK_ALL || ask == KVC_ASK_ZERO || (ask == KVC_ASK_OVER && op->sequence >= 0 && where.begin == 0))
        return;
    if (kvc_plan_remembers(model->plan, KVC_MEMORY_STATE)) {
        const kvc_contract_rule *state = rules->rule[KVC_CONTRACT_SEQ_RM_STATE];
        int32_t back = last_of(log) - where.begin + 1;
        /* A state does not know at which position it began: no text says whether it goes. */
        if (ask == KVC_ASK_OVER)
            out->unspecified = 1;
        else if (ask == KVC_ASK_POSITIVE)
            merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_SEQ_RM_INSIDE]);
        else if (state->value == KVC_SEQ_RM_STATE_SNAPSHOTS && back <= model->plan->params.snapshots)
            merge(out, KVC_EITHER, state);
        else
            merge(out, KVC_MUST_REFUSE, state);
    }
    if (kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) && ask == KVC_ASK_PART) {
        int32_t needed = where.begin + 1 - model->plan->params.window;
        if ((needed > 0 ? needed : 0) < log->held)
            merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_SEQ_RM_WINDOW]);
    }
}

static void expect_seq_rm(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    out->rule = model->plan->rules.rule[KVC_CONTRACT_SEQ_RM];
    for (int32_t at = 0; at < model->rows; at++) {
        if (op->sequence < 0 || op->sequence == at)
            expect_removal(model, op, &model->sequences->log[at], out);
    }
}

static void expect_seq_cp(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_contract_rule *rule = model->plan->rules.rule[KVC_CONTRACT_SEQ_CP];
    const kvc_sequence_log *from = &model->sequences->log[op->sequence];
    int whole = count_in(from, range_of(op)) == from->count;

    out->rule = rule;
    if (op->sequence == op->other)
        return;
    /* No text says what becomes of tokens that the other one had, nor of a part of what is kept in one piece. */
    out->unspecified |= model->sequences->log[op->other].count > 0 || model->sequences->log[op->other].state >= 0;
    if (!whole || op->begin > 0 || op->end >= 0)
        out->unspecified |= rule->value == KVC_SEQ_CP_WHOLE || kvc_plan_is_split(model->plan);
}

/* Positions may be moved or divided where that leaves them in order, and where the cell is no other sequence's. */
static void expect_move(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_sequence_log *log = &model->sequences->log[op->sequence];
    range where = range_of(op);
    int count = count_in(log, where);
    int divides = op->kind == KVC_SEQ_DIV;

    out->rule = model->plan->rules.rule[divides ? KVC_CONTRACT_SEQ_DIV : KVC_CONTRACT_SEQ_ADD];
    out->unspecified |= (divides && op->n < 2) || shares_cells(model, op->sequence);
    if (count < log->count && count > 0)
        out->unspecified |= kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) || kvc_plan_remembers(model->plan, KVC_MEMORY_STATE);
    /* What is removed inside a recurrent memory's tokens leaves its position where it is: nothing is said of moving both. */
    out->unspecified |= log->state >= 0 && log->state != last_of(log);
    for (int32_t at = 0; at < log->count; at++) {
        int64_t position = log->entry[at].position;
        int64_t next = at + 1 < log->count ? log->entry[at + 1].position : KVC_TOKENS_MAX;
        if (is_in(where, (int32_t)position))
            position = divides ? position / (op->n > 0 ? op->n : 1) : position + op->n;
        if (at + 1 < log->count && is_in(where, (int32_t)next))
            next = divides ? next / (op->n > 0 ? op->n : 1) : next + op->n;
        out->unspecified |= position < 0 || (divides ? next < position : next <= position);
    }
}

/* Whether a sequence holds all that was saved of it, and perhaps more behind. */
static int goes_on_from_saved(const kvc_sequences *all, int32_t sequence)
{
    const kvc_sequence_log *now = &all->log[sequence];
    int same = all->saved_of == sequence && all->saved.count > 0 && all->saved.count <= now->count;

    for (int32_t at = 0; same && at < all->saved.count; at++)
        same = now->entry[at].cell == all->saved.entry[at].cell && now->entry[at].position == all->saved.entry[at].position;
    return same;
}

static void expect_restore(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_rules *rules = &model->plan->rules;
    const kvc_sequences *all = model->sequences;
    const kvc_sequence_log *now = &all->log[op->sequence];
    int32_t used = kvc_sequences_used(model, op->sequence);

    out->rule = rules->rule[KVC_CONTRACT_SEQ_RESTORE];
    out->unspecified |= !all->has_saved || op->n < 0 || op->n > KVC_DAMAGES;
    if (kvc_plan_has_checkpoints(model->plan)) {
        /* The rest must be there still. Whole states are damaged, not those. */
        out->unspecified |= op->n > 0 || !goes_on_from_saved(all, op->sequence);
        if (now->shares != 0)
            merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_CELLS]);
        return;
    }
    if (out->unspecified)
        return;
    if (op->n > 0) {
        /* What holds nothing has little that could be damaged. */
        out->unspecified |= all->saved.count == 0 || (op->n >= KVC_DAMAGES_OF_FILES && !kvc_plan_saves_to_files(model->plan));
        /* What stands behind a whole state may be left unread. */
        merge(out, op->n == KVC_DAMAGE_LONGER ? KVC_EITHER : KVC_MUST_REFUSE, rules->rule[KVC_CONTRACT_SEQ_RESTORE_DAMAGED]);
        if (op->n != KVC_DAMAGE_LONGER)
            return;
    }
    /* Cells that it shares with others stay theirs. */
    used -= kvc_plan_is_split(model->plan) || now->shares == 0 ? now->count : 0;
    if (used + all->saved.count > model->plan->params.capacity)
        merge(out, KVC_EITHER, rules->rule[KVC_CONTRACT_CELLS]);
}

static void find_situation(const kvc_model *model, const kvc_op *op, kvc_situation *situation)
{
    int32_t about = op->kind == KVC_DECODE ? (op->count > 0 ? op->rows[0] : 0) : op->sequence;
    const kvc_sequence_log *log = &model->sequences->log[about < 0 ? 0 : about];
    int32_t window = kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) ? model->plan->params.window : 0;
    int others = 0;

    for (int32_t at = 0; at < model->rows; at++)
        others += at != about && model->sequences->log[at].count > 0;
    situation->held = (uint8_t)(log->count > 0 ? 2 : log->used ? 1 : 0);
    situation->reached = (uint8_t)(window == 0 || log->count == 0 ? 0 : log->held == 0 ? 1 : 3);
    situation->shared = (uint8_t)(log->shares != 0 ? 2 : others > 0);
    situation->cropped = log->removed;
    situation->ask = KVC_ASK_NOTHING;
    if (op->kind == KVC_SEQ_RM)
        situation->ask = (uint8_t)(op->sequence < 0 ? (op->begin <= 0 && op->end < 0 ? KVC_ASK_ANY : KVC_ASK_PART_OF_ANY)
                                                    : ask_of(log, range_of(op)));
    if (op->kind == KVC_SEQ_RESTORE)
        situation->ask = (uint8_t)(op->n > 0 ? KVC_ASK_PART : model->sequences->saved.count == 0 ? KVC_ASK_ZERO : KVC_ASK_ALL);
    if (op->kind == KVC_SEQ_CP || op->kind == KVC_SEQ_ADD || op->kind == KVC_SEQ_DIV)
        situation->ask = (uint8_t)(count_in(log, range_of(op)) == log->count ? KVC_ASK_ALL : KVC_ASK_PART);
    if (op->kind == KVC_DECODE && op->begin != 0)
        situation->ask = KVC_ASK_POSITIVE;
}

void kvc_sequences_expect(const kvc_model *model, const kvc_op *op, kvc_expectation *out)
{
    const kvc_rules *rules = &model->plan->rules;
    int bad = op->sequence >= model->rows || op->sequence < (op->kind == KVC_SEQ_RM ? -1 : 0) || op->other < 0 ||
              op->other >= model->rows;

    for (int at = 0; at < op->count; at++)
        bad |= op->rows[at] >= model->rows;
    out->rule = rules->rule[KVC_CONTRACT_DECODE];
    out->unspecified = bad;
    if (bad)
        return;
    find_situation(model, op, &out->situation);
    switch ((kvc_op_kind)op->kind) {
    case KVC_DECODE:
        expect_decode(model, op, out);
        return;
    case KVC_SEQ_RM:
        expect_seq_rm(model, op, out);
        return;
    case KVC_SEQ_CP:
        expect_seq_cp(model, op, out);
        return;
    case KVC_SEQ_KEEP:
        out->rule = rules->rule[KVC_CONTRACT_SEQ_KEEP];
        return;
    case KVC_SEQ_ADD:
    case KVC_SEQ_DIV:
        expect_move(model, op, out);
        return;
    case KVC_CLEAR:
        out->rule = rules->rule[KVC_CONTRACT_CLEAR];
        return;
    case KVC_SEQ_SAVE:
        out->rule = rules->rule[KVC_CONTRACT_SEQ_SAVE];
        return;
    case KVC_SEQ_RESTORE:
        expect_restore(model, op, out);
        return;
    default:
        out->unspecified = 1;
    }
}

/* No other sequence shares cells with this one any more. */
static void part(kvc_sequences *all, int sequence)
{
    all->log[sequence].shares = 0;
    for (int at = 0; at < KVC_SEQUENCES_MAX; at++)
        all->log[at].shares &= (uint8_t)~(1u << sequence);
}

static void empty_sequence(kvc_sequences *all, int sequence)
{
    part(all, sequence);
    empty(&all->log[sequence]);
}

static void commit_decode(kvc_model *model, const kvc_op *op)
{
    kvc_sequences *all = model->sequences;
    int32_t window = model->plan->params.window;

    all->chunks++;
    for (int at = 0; at < op->count; at++) {
        kvc_sequence_log *log = &all->log[op->rows[at]];
        int32_t first = last_of(log) + 1 + op->begin;
        /* What lies behind a gap, or behind an empty window, is held from its first new token on. */
        if (log->held > first)
            log->held = first;
        for (int32_t token = 0; token < op->n; token++) {
            kvc_entry *entry = &log->entry[log->count++];
            memset(entry, 0, sizeof *entry);
            entry->position = first + token;
            entry->number = kvc_model_number(model, at * op->n + token);
            entry->chunk = all->chunks;
            entry->cell = all->cells++;
        }
        if (kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) && last_of(log) + 2 - window > log->held)
            log->held = last_of(log) + 2 - window;
        log->state = kvc_plan_remembers(model->plan, KVC_MEMORY_STATE) ? last_of(log) : -1;
        log->digest = 0;
        log->used = 1;
        log->removed = 0;
    }
    /* Keys are turned to the new positions before anything is worked out. */
    for (int at = 0; at < KVC_SEQUENCES_MAX; at++)
        all->log[at].moved = all->log[at].copied = 0;
}

static void remove_range(kvc_model *model, int sequence, range where)
{
    kvc_sequence_log *log = &model->sequences->log[sequence];
    kvc_ask ask = ask_of(log, where);
    int state = kvc_plan_remembers(model->plan, KVC_MEMORY_STATE);
    int32_t kept = 0;

    if (ask == KVC_ASK_ZERO)
        return;
    if (ask == KVC_ASK_ALL || ask == KVC_ASK_OVER) {
        empty_sequence(model->sequences, sequence);
        log->removed = 1;
        return;
    }
    if (ask == KVC_ASK_POSITIVE) {
        /* A recurrent state keeps what it read. Alone it has no cell that could go. */
        if (state && !kvc_plan_remembers(model->plan, KVC_MEMORY_ATTENTION) && !kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW))
            return;
        log->pure = 0;
    } else {
        int32_t needed = where.begin + 1 - model->plan->params.window;
        /* Who asks first goes by what the cache says that it holds. */
        if (kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) &&
            (needed > log->entry[0].position ? needed : log->entry[0].position) < (log->reported >= 0 ? log->reported : log->held))
            log->pure = 0;
        log->removed = 1;
        log->digest = 0;
    }
    for (int32_t at = 0; at < log->count; at++) {
        if (!is_in(where, log->entry[at].position))
            log->entry[kept++] = log->entry[at];
    }
    log->count = kept;
    if (ask == KVC_ASK_PART && state)
        log->state = where.begin - 1;
}

static void commit_seq_cp(kvc_model *model, const kvc_op *op)
{
    kvc_sequences *all = model->sequences;
    kvc_sequence_log *from = &all->log[op->sequence];
    kvc_sequence_log *to = &all->log[op->other];
    range where = range_of(op);
    int split = kvc_plan_is_split(model->plan);
    uint8_t used = to->used;
    int32_t kept = 0;

    if (op->sequence == op->other)
        return;
    copy_log(to, from);
    to->used = (uint8_t)(used | from->used);
    to->shares = 0;
    for (int32_t at = 0; at < from->count; at++) {
        if (!is_in(where, from->entry[at].position)) {
            /* What stays away before others was read by them. */
            to->pure &= kept > 0 && where.begin == 0;
            continue;
        }
        to->entry[kept] = from->entry[at];
        to->entry[kept].cell = split ? all->cells++ : from->entry[at].cell;
        kept++;
    }
    if (kept < to->count && where.begin > 0)
        to->pure = 0;
    to->count = kept;
    if (kept < from->count && kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) && from->held > 0)
        to->pure = 0;
    if (kept == 0)
        to->pure = 1;
    to->copied = split && kept > 0;
    /* A recurrent state is shared even where each sequence has cells of its own. */
    if (kept > 0 && (!split || kvc_plan_remembers(model->plan, KVC_MEMORY_STATE))) {
        uint8_t group = (uint8_t)(from->shares | 1u << op->sequence | 1u << op->other);
        for (int at = 0; at < KVC_SEQUENCES_MAX; at++) {
            if ((group & 1u << at) != 0)
                all->log[at].shares = (uint8_t)(group & ~(1u << at));
        }
    }
}

static void commit_move(kvc_model *model, const kvc_op *op)
{
    kvc_sequence_log *log = &model->sequences->log[op->sequence];
    range where = range_of(op);
    int divides = op->kind == KVC_SEQ_DIV;
    int count = count_in(log, where);

    if (count == 0 || (!divides && op->n == 0))
        return;
    for (int32_t at = 0; at < log->count; at++) {
        kvc_entry *entry = &log->entry[at];
        if (!is_in(where, entry->position))
            continue;
        entry->position = divides ? entry->position / op->n : entry->position + op->n;
        entry->keys = entry->window_keys = 0;
    }
    if (count < log->count || divides)
        log->pure = 0;
    if (!divides)
        log->held += log->held > 0 ? op->n : 0;
    if (divides)
        log->held = log->held > 0 ? last_of(log) : 0;
    if (log->state >= 0)
        log->state = last_of(log);
    log->removed = 0;
    log->moved = 1;
}

static void commit_restore(kvc_model *model, const kvc_op *op)
{
    kvc_sequences *all = model->sequences;
    kvc_sequence_log *log = &all->log[op->sequence];
    int32_t window = model->plan->params.window;
    uint8_t used = log->used;

    if (kvc_plan_has_checkpoints(model->plan)) {
        /* Cells stay where they were, its own or shared. */
        uint8_t shares = log->shares;
        copy_log(log, &all->saved);
        log->shares = shares;
    } else {
        empty_sequence(all, op->sequence);
        copy_log(log, &all->saved);
        log->shares = 0;
        for (int32_t at = 0; at < log->count; at++)
            log->entry[at].cell = all->cells++;
    }
    log->used = (uint8_t)(used | log->used);
    log->removed = 0;
    /* Of a window only what it needs is saved. */
    if (kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW) && last_of(log) + 2 - window > log->held)
        log->held = last_of(log) + 2 - window;
}

void kvc_sequences_commit(kvc_model *model, const kvc_op *op, const kvc_expectation *expectation, int refused)
{
    kvc_sequences *all = model->sequences;

    (void)expectation;
    if (!refused) {
        switch ((kvc_op_kind)op->kind) {
        case KVC_DECODE:
            commit_decode(model, op);
            break;
        case KVC_SEQ_RM:
            for (int32_t at = 0; at < model->rows; at++) {
                if (op->sequence < 0 || op->sequence == at)
                    remove_range(model, at, range_of(op));
            }
            break;
        case KVC_SEQ_CP:
            commit_seq_cp(model, op);
            break;
        case KVC_SEQ_KEEP:
        case KVC_CLEAR:
            for (int32_t at = 0; at < model->rows; at++) {
                if (op->kind == KVC_CLEAR || at != op->sequence)
                    empty_sequence(all, at);
            }
            break;
        case KVC_SEQ_ADD:
        case KVC_SEQ_DIV:
            commit_move(model, op);
            break;
        case KVC_SEQ_SAVE:
            copy_log(&all->saved, &all->log[op->sequence]);
            all->saved.copied = all->saved.moved = 0;
            all->has_saved = 1;
            all->saved_of = op->sequence;
            break;
        case KVC_SEQ_RESTORE:
            commit_restore(model, op);
            break;
        default:
            break;
        }
    }
    model->next += kvc_op_tokens(op);
    model->length = all->log[0].count;
    model->used = 1;
}

int kvc_sequences_have_pending(const kvc_sequences *sequences)
{
    int pending = 0;

    for (int at = 0; at < KVC_SEQUENCES_MAX; at++)
        pending |= sequences->log[at].moved || sequences->log[at].copied;
    return pending;
}

void kvc_sequences_positions(const kvc_model *model, int sequence, int32_t *most, int32_t *least_low, int32_t *least_high)
{
    const kvc_sequence_log *log = &model->sequences->log[sequence];
    int state = kvc_plan_remembers(model->plan, KVC_MEMORY_STATE);

    *most = last_of(log);
    *least_low = *least_high = log->count > 0 ? log->entry[0].position : -1;
    if (log->count > 0 && kvc_plan_remembers(model->plan, KVC_MEMORY_WINDOW)) {
        /* The window surely holds what stands from there on; what was removed is not among it. */
        for (int32_t at = 0; at < log->count && *least_high < log->held; at++)
            *least_high = log->entry[at].position;
    }
    if (state) {
        /* A recurrent memory is at one position. */
        *least_low = *least_high = log->state > *least_low ? log->state : *least_low;
        if (log->state >= 0 && log->state < *most)
            *most = log->state;
    }
}
