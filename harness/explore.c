#include "harness/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/detail.h"
#include "harness/record.h"
#include "harness/system.h"

enum { DEATHS_MAX = 20, SAVE_MS = 60000, OPENING_BLOCKS = 4 };

typedef struct explorer {
    const kvc_bench *bench;
    kvc_generator *generator;
    const kvc_explore_options *options;
    kvc_exploration *out;
    kvc_error *error;
    kvc_exclusions exclusions;
    kvc_bench own;   /* the bench, with what is known to be deadly */
    uint64_t deaths; /* in rounds: what was evaluated is counted by the crew */
    kvc_tally *tally; /* of the round */
    kvc_tally *known; /* of all rounds, worked up */
    uint64_t begun;               /* sequences of a round that was broken off */
    int16_t owner[KVC_TALLY_MAX]; /* finding that each entry of `known` belongs to */
    int64_t saved_ms; /* when what is there was saved last */
} explorer;

kvc_exploration *kvc_exploration_open(void)
{
    return calloc(1, sizeof(kvc_exploration));
}

void kvc_exploration_close(kvc_exploration *exploration)
{
    if (exploration != NULL)
        kvc_exploration_clear(exploration);
    free(exploration);
}

void kvc_exploration_clear(kvc_exploration *out)
{
    for (int at = 0; at < out->findings; at++)
        kvc_finding_clear(&out->finding[at]);
    free(out->finding);
    memset(out, 0, sizeof *out);
}

/*
 * The trigger of a finding. For an append that fails it is the last other op before it: without appends nothing deeper could be
 * reached.
 */
static void exclude_trigger(explorer *self, const kvc_finding *finding)
{
    kvc_plan plan;
    kvc_model model;
    kvc_situation situation = finding->failure.situation;
    int kind = -1;
    /* On several sequences something may be put off until the next decode: what kills it then is the op that put it off. */
    int put_off = self->bench->spec->memory != 0 && finding->failure.op == KVC_DECODE && finding->failure.step > 0;

    self->exclusions.changes++;
    if (finding->law == KVC_ALIVE && !put_off) {
        /* The hang was seen again and again while the case was made smaller. */
        if (finding->failure.deviation == KVC_HUNG)
            kvc_crew_hurry(self->bench->crew, 1);
        kvc_exclude_outline(self->exclusions.always[finding->failure.op], &finding->failure, &situation);
        return;
    }
    if (finding->params.call != KVC_CALL_POSITION)
        return; /* other ways of calling reach everything */
    if (!kvc_plan_make(self->bench->catalogue, self->bench->contract, self->bench->spec, self->bench->variant,
                       &finding->params, &plan, self->error) ||
        !kvc_model_open(&model, &plan))
        return;
    for (int at = 0; at < finding->sequence.count; at++) {
        const kvc_op *op = &finding->sequence.op[at];
        kvc_expectation expectation;
        kvc_model_expect(&model, op, &expectation);
        /* Of what a copy or a restored cache does wrong the copying is the cause. */
        if (op->kind != KVC_APPEND && op->kind != KVC_DECODE && op->kind != KVC_SEQ_SAVE && ((finding->law != KVC_SAVE && finding->law != KVC_ISOLATION) ||
                                       kvc_op_moves_cache((kvc_op_kind)op->kind) || kvc_op_is_of_sequences(op->kind))) {
            kind = op->kind;
            situation = expectation.situation;
        }
        if (!kvc_model_commit(&model, op, &expectation, expectation.verdict == KVC_MUST_REFUSE))
            break;
    }
    kvc_model_close(&model);
    if (kind >= 0 && finding->law == KVC_ALIVE)
        kvc_exclude_outline(self->exclusions.always[kind], &finding->failure, &situation);
    else if (kind >= 0 && kind != KVC_RECORD)
        kvc_exclude_outline(self->exclusions.often[kind], &finding->failure, &situation);
}

static int compare_entries(const void *left, const void *right)
{
    const kvc_tally_entry *a = left;
    const kvc_tally_entry *b = right;
    int order = kvc_ops_compare(a->sequence.op, (size_t)a->sequence.count, b->sequence.op, (size_t)b->sequence.count);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Sequences that failed for the cause of a finding, of which `first` is the number of the first. One that is known is met with the first. */
static void count_failures(explorer *self, kvc_finding *finding, uint64_t failures, uint64_t first)
{
    if (finding->given && finding->failures == 0)
        exclude_trigger(self, finding);
    finding->failures += failures;
    if (first < finding->first)
        finding->first = first;
}

/*
 * Whether a failure has the id of a finding, and keeps it when its case is made smaller: it was named by the judge alone, and not by what its
 * case contains.
 */
static int has_id_of(const kvc_finding *finding, const kvc_finding *met)
{
    return met->law == (kvc_law)met->failure.law && strcmp(finding->id, met->id) == 0;
}

static int find_cover(const explorer *self, const kvc_finding *finding)
{
    for (int at = 0; at < self->out->findings; at++) {
        if (kvc_finding_covers(&self->out->finding[at], finding) || has_id_of(&self->out->finding[at], finding))
            return at;
    }
    return -1;
}

/* What one run of a case showed, in a few words. */
static void tell_try(const explorer *self, const kvc_finding *finding, int failed, const kvc_failure *failure, char *out,
                     size_t size)
{
    kvc_finding shown = *finding;
    kvc_error ignored;

    shown.failure = *failure;
    if (!failed)
        (void)snprintf(out, size, "conforms");
    else if (kvc_finding_name(self->bench, &shown, &ignored))
        (void)snprintf(out, size, "%s: %s: %s", kvc_law_name(shown.law), shown.tensor,
                       kvc_deviation_text((kvc_deviation)failure->deviation));
    else
        (void)snprintf(out, size, "%s", kvc_law_name((kvc_law)failure->law));
}

/* Runs the minimal case again: three times in all, with that in which it was found, must agree. */
static kvc_crew_result look_for_flakes(explorer *self, kvc_finding *finding)
{
    tell_try(self, finding, 1, &finding->failure, finding->tries[0], sizeof finding->tries[0]);
    for (int run = 1; run < KVC_TRIES; run++) {
        uint8_t failed = 0;
        kvc_failure failure;
        kvc_crew_result result = kvc_crew_evaluate(self->bench->crew, &finding->params, &finding->sequence, 1, &failed,
                                                   &failure, self->error);
        if (result != KVC_CREW_DONE)
            return result;
        if (!failed || !kvc_failures_alike(&finding->failure, &finding->params, &finding->sequence, &failure,
                                           &finding->params, &finding->sequence, 0))
            finding->flaky = 1;
        tell_try(self, finding, failed, &failure, finding->tries[run], sizeof finding->tries[run]);
    }
    return KVC_CREW_DONE;
}

/*
 * The process ended too often. Each end costs a start, which may take longer than ten thousand ops; counted are ends and not
 * seconds, so that the result is the same on any machine.
 */
static int is_spent(const explorer *self)
{
    return self->options->deaths > 0 && self->deaths + kvc_crew_deaths(self->bench->crew) > self->options->deaths;
}

/*
 * In a search that goes on, somebody may have ended a worker: what did not end it is not to be left out from then on. In a run of a known
 * length it is not asked.
 */
static kvc_crew_result happens_again(explorer *self, const kvc_finding *finding, int *again)
{
    kvc_failure failure;
    kvc_crew_result result;
    uint8_t failed = 0;

    *again = 1;
    if (self->options->guide == NULL || finding->law != KVC_ALIVE)
        return KVC_CREW_DONE;
    result = kvc_crew_evaluate(self->bench->crew, &finding->params, &finding->sequence, 1, &failed, &failure, self->error);
    *again = result == KVC_CREW_DONE && failed && failure.law == KVC_ALIVE;
    return result;
}

/*
 * Most of what fails when it is called in another way fails by position too: then the way is no part of the fault, and what is known covers
 * it before it is made smaller. What ends the process is not tried once more for that.
 */
static kvc_crew_result call_by_position(explorer *self, kvc_finding *finding)
{
    kvc_params params = finding->params;
    kvc_failure failure;
    kvc_crew_result result;
    uint8_t failed = 0;

    if (params.call == KVC_CALL_POSITION || finding->failure.law == KVC_ALIVE)
        return KVC_CREW_DONE;
    params.call = KVC_CALL_POSITION;
    result = kvc_crew_evaluate(self->bench->crew, &params, &finding->sequence, 1, &failed, &failure, self->error);
    if (result != KVC_CREW_DONE || !failed || !kvc_failures_alike(&finding->failure, &finding->params, &finding->sequence, &failure,
                                                                  &params, &finding->sequence, 0))
        return result;
    finding->failure = failure;
    finding->params = params;
    finding->sequence.count = failure.step + 1;
    return KVC_CREW_DONE;
}

static kvc_crew_result work_up(explorer *self, const kvc_tally_entry *entry, int16_t *owner)
{
    kvc_exploration *out = self->out;
    kvc_finding finding = {.failure = entry->failure, .params = entry->params, .sequence = entry->sequence,
                           .failures = entry->failures, .first = entry->first};
    kvc_crew_result result;
    kvc_error ignored;
    int cover;
    int again;

    *owner = -1;
    result = call_by_position(self, &finding);
    if (!kvc_finding_name(self->bench, &finding, result == KVC_CREW_DONE ? self->error : &ignored) && result == KVC_CREW_DONE)
        return KVC_CREW_FAILED;
    if (finding.params.call == KVC_CALL_POSITION && (cover = find_cover(self, &finding)) >= 0) {
        count_failures(self, &out->finding[cover], finding.failures, finding.first);
        *owner = (int16_t)cover;
        return KVC_CREW_DONE;
    }
    if (out->findings == KVC_FINDINGS_MAX) {
        out->lost++;
        return KVC_CREW_DONE;
    }
    /* A spent subject is not killed again only for a smaller case. */
    if (result == KVC_CREW_DONE && !(finding.law == KVC_ALIVE && is_spent(self)))
        result = kvc_finding_shrink(self->bench, &finding, self->error);
    if (!kvc_finding_name(self->bench, &finding, result == KVC_CREW_DONE ? self->error : &ignored) &&
        result == KVC_CREW_DONE)
        result = KVC_CREW_FAILED;
    if (result != KVC_CREW_DONE) {
        /* What was found is kept as it is. */
        out->finding[out->findings] = finding;
        *owner = (int16_t)out->findings++;
        return result;
    }
    cover = find_cover(self, &finding);
    if (cover >= 0) {
        count_failures(self, &out->finding[cover], finding.failures, finding.first);
        *owner = (int16_t)cover;
        return KVC_CREW_DONE;
    }
    out->finding[out->findings] = finding;
    *owner = (int16_t)out->findings++;
    result = happens_again(self, &finding, &again);
    if (again)
        exclude_trigger(self, &out->finding[*owner]);
    return result;
}

/* A run begins with what is known: half of the room is left for what is new. */
static void begin_with_known(explorer *self)
{
    kvc_exploration *out = self->out;

    for (int at = 0; at < self->options->knowns && out->findings < KVC_FINDINGS_MAX / 2; at++) {
        kvc_finding *finding = &out->finding[out->findings++];
        *finding = *self->options->known[at];
        finding->given = 1;
        finding->first = UINT64_MAX;
    }
}

/* What is known and was not met is not of this run. */
static int is_unmet(const kvc_finding *finding)
{
    return finding->given && finding->failures == 0;
}

static void drop_unmet(kvc_exploration *out)
{
    int kept = 0;

    for (int at = 0; at < out->findings; at++) {
        if (!is_unmet(&out->finding[at]))
            out->finding[kept++] = out->finding[at];
    }
    out->findings = kept;
}

/* An op that ends the process again and again, wherever the cache stands, is not asked for any more. */
static void exclude_deadly(explorer *self)
{
    for (int at = 0; at < self->out->findings; at++) {
        const kvc_finding *finding = &self->out->finding[at];
        if (finding->law != KVC_ALIVE ||
            (finding->failures < DEATHS_MAX && finding->failure.deviation != KVC_SWELLED))
            continue;
        self->exclusions.changes++;
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            kvc_situation situation;
            kvc_situation_from_code(code, &situation);
            if (situation.ask == finding->failure.situation.ask)
                self->exclusions.always[finding->failure.op][code] = 1;
        }
    }
}

/* The entry of `known` that looks the same, or -1. */
static int find_known(const explorer *self, const kvc_tally_entry *entry)
{
    const kvc_tally *known = self->known;

    for (int at = 0; at < known->count; at++) {
        if (kvc_failures_alike(&known->entry[at].failure, &known->entry[at].params, &known->entry[at].sequence,
                               &entry->failure, &entry->params, &entry->sequence, 1))
            return at;
    }
    return -1;
}

/* Takes the failures of a round: known kinds are counted, new ones are worked up, smallest first. */
static kvc_crew_result work_up_round(explorer *self)
{
    kvc_tally *tally = self->tally;
    kvc_tally *known = self->known;
    kvc_crew_result result = KVC_CREW_DONE;
    int at = 0;

    qsort(tally->entry, (size_t)tally->count, sizeof tally->entry[0], compare_entries);
    /* Making cases smaller takes its time: what failed is kept before. */
    for (int new = 0; self->options->guide != NULL && new < tally->count; new++) {
        if (find_known(self, &tally->entry[new]) < 0 && known->count < KVC_TALLY_MAX &&
            !kvc_guide_failed(self->options->guide, &tally->entry[new], self->error))
            result = KVC_CREW_FAILED;
    }
    for (; at < tally->count && result == KVC_CREW_DONE; at++) {
        const kvc_tally_entry *entry = &tally->entry[at];
        int same = find_known(self, entry);
        if (same >= 0) {
            if (self->owner[same] >= 0)
                count_failures(self, &self->out->finding[self->owner[same]], entry->failures, entry->first);
            continue;
        }
        if (known->count == KVC_TALLY_MAX) {
            self->out->lost++;
            continue;
        }
        known->entry[known->count] = *entry;
        result = work_up(self, entry, &self->owner[known->count]);
        known->count++;
    }
    self->out->lost += tally->lost;
    tally->lost = 0;
    /* What was not come to is left to be kept as it is. */
    tally->count -= at;
    memmove(tally->entry, tally->entry + at, (size_t)tally->count * sizeof tally->entry[0]);
    return result;
}

static char *copy_text(const char *text)
{
    size_t length = strlen(text) + 1;
    char *out = malloc(length);

    if (out != NULL)
        memcpy(out, text, length);
    return out;
}

/* The message that asks an adapter for a stand-alone program. */
static char *script_request(const kvc_bench *bench, const kvc_finding *finding)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *detail = cJSON_Parse(finding->detail);
    char *text = NULL;

    if (json != NULL && detail != NULL) {
        cJSON_AddStringToObject(json, "variant", bench->variant);
        cJSON_AddItemToObject(json, "params", kvc_params_print(&finding->params, bench->spec));
        cJSON_AddItemToObject(json, "ops", kvc_ops_print(finding->sequence.op, finding->sequence.count));
        cJSON_AddNumberToObject(json, "step", finding->failure.step);
        cJSON_AddStringToObject(json, "law", kvc_law_name(finding->law));
        cJSON_AddStringToObject(json, "id", finding->id);
        cJSON_AddItemToObject(json, "title", cJSON_DetachItemFromObject(detail, "title"));
        cJSON_AddItemToObject(json, "expected", cJSON_DetachItemFromObject(detail, "expected"));
        kvc_record_rule(json, bench, finding);
        cJSON_DeleteItemFromObjectCaseSensitive(json, "rule");
        text = cJSON_PrintUnformatted(json);
    }
    cJSON_Delete(json);
    cJSON_Delete(detail);
    return text;
}

static kvc_crew_result describe(explorer *self, kvc_finding *finding)
{
    const char *text = "";
    kvc_crew_result result =
        kvc_crew_detail(self->bench->crew, &finding->params, &finding->sequence, &text, self->error);

    if (result != KVC_CREW_DONE)
        return result;
    if (text[0] == '\0') {
        finding->flaky = 1;
        (void)snprintf(finding->tries[KVC_TRIES], sizeof finding->tries[KVC_TRIES], "conforms");
        kvc_error_set(&finding->no_script, "the case did not fail when it was run again");
        return KVC_CREW_DONE;
    }
    finding->detail = copy_text(text);
    if (finding->detail == NULL) {
        kvc_error_set(self->error, "not enough memory");
        return KVC_CREW_FAILED;
    }
    if (self->options->scripts) {
        char *request = script_request(self->bench, finding);
        kvc_crew_result written = KVC_CREW_FAILED;
        if (request != NULL)
            written = kvc_crew_script(self->bench->crew, request, &text, &finding->no_script);
        if (written == KVC_CREW_DONE)
            finding->script = copy_text(text);
        cJSON_free(request);
        if (written == KVC_CREW_STOPPED)
            return written;
    }
    return KVC_CREW_DONE;
}

/* Proofs may find a smaller case, so two findings may become one. */
static void merge_after_proof(explorer *self, int at)
{
    kvc_exploration *out = self->out;

    for (int other = 0; other < out->findings && !out->finding[at].given; other++) {
        if (other == at || !(kvc_finding_covers(&out->finding[other], &out->finding[at]) ||
                             strcmp(out->finding[other].id, out->finding[at].id) == 0))
            continue;
        if (other > at && out->finding[other].failure.law == out->finding[at].failure.law &&
            kvc_ops_compare(out->finding[at].sequence.op, (size_t)out->finding[at].sequence.count,
                                          out->finding[other].sequence.op,
                                          (size_t)out->finding[other].sequence.count) <= 0)
            continue;
        count_failures(self, &out->finding[other], out->finding[at].failures, out->finding[at].first);
        for (int entry = 0; entry < self->known->count; entry++) {
            int16_t owner = self->owner[entry];
            self->owner[entry] = (int16_t)(owner == at ? other - (other > at) : owner - (owner > at));
        }
        kvc_finding_clear(&out->finding[at]);
        memmove(&out->finding[at], &out->finding[at + 1], (size_t)(out->findings - at - 1) * sizeof out->finding[0]);
        out->findings--;
        return;
    }
}

/* Proves, joins, tries again and describes what was found since the last time. */
static kvc_crew_result finish_findings(explorer *self)
{
    kvc_exploration *out = self->out;
    kvc_crew_result result = KVC_CREW_DONE;

    for (int at = 0; at < out->findings && result == KVC_CREW_DONE; at++) {
        if (out->finding[at].finished || out->finding[at].given ||
            (self->options->is_known != NULL && self->options->is_known(self->options->context, &out->finding[at])))
            continue;
        result = kvc_finding_prove(self->bench, &out->finding[at], self->error);
        if (!kvc_finding_name(self->bench, &out->finding[at], self->error))
            result = KVC_CREW_FAILED;
    }
    for (int at = out->findings - 1; at >= 0; at--)
        merge_after_proof(self, at);
    for (int at = 0; at < out->findings && result == KVC_CREW_DONE; at++) {
        if (out->finding[at].finished || is_unmet(&out->finding[at]))
            continue;
        result = look_for_flakes(self, &out->finding[at]);
        if (result == KVC_CREW_DONE)
            result = describe(self, &out->finding[at]);
        out->finding[at].finished = result == KVC_CREW_DONE;
    }
    return result;
}

static int has_unfinished(const kvc_exploration *out)
{
    for (int at = 0; at < out->findings; at++) {
        if (!out->finding[at].finished)
            return 1;
    }
    return 0;
}

/* While there is no end in sight, what was found is finished and saved after its round. */
static kvc_crew_result finish_round(explorer *self)
{
    kvc_crew_result result = KVC_CREW_DONE;
    int new = has_unfinished(self->out);

    if (new)
        result = finish_findings(self);
    if (result == KVC_CREW_DONE && self->options->save != NULL && (new || kvc_now_ms() - self->saved_ms >= SAVE_MS)) {
        self->saved_ms = kvc_now_ms();
        self->options->save(self->options->context, self->out);
    }
    return result;
}

/* What is kept of earlier runs is run first. */
static kvc_crew_result begin_guided(explorer *self)
{
    kvc_guide *guide = self->options->guide;
    kvc_exploration *out = self->out;
    kvc_crew_result result = kvc_guide_begin(guide, self->tally, &out->coverage, &out->ops, self->error);

    out->sequences = kvc_guide_next(guide) > (uint64_t)kvc_guide_read(guide) ? kvc_guide_next(guide) : (uint64_t)kvc_guide_read(guide);
    if (result == KVC_CREW_DONE)
        result = work_up_round(self);
    exclude_deadly(self);
    return result == KVC_CREW_DONE ? finish_round(self) : result;
}

static kvc_crew_result run_rounds(explorer *self)
{
    kvc_exploration *out = self->out;
    int64_t start = kvc_now_ms();
    kvc_guide *guide = self->options->guide;
    kvc_crew_result result = guide != NULL ? begin_guided(self) : KVC_CREW_DONE;
    uint64_t first = guide != NULL ? kvc_guide_next(guide) : self->options->first;
    uint64_t base = guide != NULL ? 0 : first; /* a search counts what earlier sessions ran */
    uint64_t index = first;
    /* Of which the next round has at most so many; 0: no bound. A process that dies in the opening has died in few of its sequences. */
    int blocks = self->options->deaths > 0 && first < kvc_generator_settled(self->generator) ? OPENING_BLOCKS : 0;

    while (result == KVC_CREW_DONE && index - first < self->options->sequences) {
        uint64_t end = kvc_generator_round_end(self->generator, index);
        uint64_t deaths = self->deaths;
        uint64_t near = index;
        int late;
        int put_off;
        for (int at = 0; at < blocks && near < end; at++)
            near = kvc_generator_block_end(self->generator, near);
        if (blocks > 0 && near < end)
            end = near;
        if (end - first > self->options->sequences)
            end = first + self->options->sequences;
        result = kvc_crew_range(self->bench->crew, index, end, &self->exclusions, self->tally, &out->coverage,
                                &out->ops, self->error);
        if (result != KVC_CREW_DONE)
            self->begun = kvc_crew_begun(self->bench->crew);
        for (int at = 0; at < self->tally->count; at++)
            self->deaths += self->tally->entry[at].failure.law == KVC_ALIVE ? self->tally->entry[at].failures : 0;
        late = self->options->milliseconds > 0 && kvc_now_ms() - start >= self->options->milliseconds;
        if (result == KVC_CREW_DONE) {
            if (guide != NULL && !kvc_guide_round(guide, &self->exclusions, &out->coverage, end, out->ops, self->error))
                result = KVC_CREW_FAILED;
            index = end;
            out->sequences = index - base;
        }
        /* What the opening's long sequences showed is not made smaller before all short ones have shown what they can. */
        put_off = guide == NULL && !late && self->deaths == deaths && index - first < self->options->sequences &&
                  index < kvc_generator_settled(self->generator);
        if (result == KVC_CREW_DONE && !put_off) {
            result = work_up_round(self);
            exclude_deadly(self);
        }
        if (result == KVC_CREW_DONE && guide != NULL)
            result = finish_round(self);
        /* What ends the process is known only after its round, and till then it costs every block a start: so begin small. */
        if (self->options->deaths > 0 && self->deaths > deaths)
            blocks = 1;
        else if (blocks > 0)
            blocks = blocks < KVC_ROUND / KVC_BLOCK ? 2 * blocks : 0;
        if (result == KVC_CREW_DONE && is_spent(self) && index - first < self->options->sequences) {
            out->deaths = self->deaths + kvc_crew_deaths(self->bench->crew);
            break;
        }
        if (result == KVC_CREW_DONE && !put_off && self->options->until != NULL &&
            kvc_until_is_over(self->options->until, &out->coverage, &self->exclusions, out->sequences))
            break;
        if (late)
            break;
    }
    return result;
}

/* What is known of a case without running it again: what was expected, and in words what was wrong. NULL when memory is short. */
static char *outline_of(const explorer *self, const kvc_finding *finding)
{
    kvc_judge *judge = kvc_judge_open();
    char *text = malloc(KVC_SHARED_TEXT);
    kvc_plan plan;
    kvc_error ignored;
    int good = judge != NULL && text != NULL &&
               kvc_plan_make(self->bench->catalogue, self->bench->contract, self->bench->spec, self->bench->variant,
                             &finding->params, &plan, &ignored) &&
               kvc_judge_start(judge, &plan, NULL);

    for (int at = 0; good && at < finding->sequence.count; at++)
        good = kvc_judge_assume(judge, &finding->sequence.op[at]);
    if (good)
        kvc_detail_write(judge, &finding->sequence.op[finding->sequence.count - 1], NULL, &finding->failure, text,
                         KVC_SHARED_TEXT);
    kvc_judge_close(judge);
    if (!good) {
        free(text);
        text = NULL;
    }
    return text;
}

/* After Ctrl-C the subject is not asked any more: findings are named as they were met. */
static void keep_unfinished(explorer *self, kvc_crew_result result)
{
    kvc_exploration *out = self->out;
    kvc_error ignored;

    qsort(self->tally->entry, (size_t)self->tally->count, sizeof self->tally->entry[0], compare_entries);
    for (int at = 0; at < self->tally->count; at++) {
        const kvc_tally_entry *entry = &self->tally->entry[at];
        kvc_finding finding = {.failure = entry->failure, .params = entry->params, .sequence = entry->sequence,
                               .failures = entry->failures, .first = entry->first};
        int known = find_known(self, entry);
        int cover = known >= 0 ? self->owner[known] : -1;
        if (known >= 0 && cover < 0)
            continue;
        if (cover < 0 && kvc_finding_name(self->bench, &finding, &ignored))
            cover = find_cover(self, &finding);
        if (cover >= 0)
            count_failures(self, &out->finding[cover], finding.failures, finding.first);
        else if (out->findings < KVC_FINDINGS_MAX)
            out->finding[out->findings++] = finding;
        else
            out->lost++;
    }
    self->tally->count = 0;
    for (int at = out->findings - 1; at >= 0 && result != KVC_CREW_DONE; at--)
        merge_after_proof(self, at);
    drop_unmet(out);
    for (int at = 0; at < out->findings; at++) {
        kvc_finding *finding = &out->finding[at];
        if (finding->detail == NULL)
            finding->detail = outline_of(self, finding);
        if (finding->script == NULL && finding->no_script.text[0] == '\0')
            kvc_error_set(&finding->no_script, result == KVC_CREW_STOPPED  ? "the run was interrupted before it was written"
                                               : result == KVC_CREW_FAILED ? "the run failed before it was written"
                                                                           : "none was asked for");
    }
}

kvc_crew_result kvc_explore(const kvc_bench *bench, kvc_generator *generator, const kvc_explore_options *options,
                            kvc_exploration *out, kvc_error *error)
{
    explorer *self = calloc(1, sizeof *self);
    int64_t start = kvc_now_ms();
    kvc_crew_result result = KVC_CREW_FAILED;

    memset(out, 0, sizeof *out);
    out->finding = calloc(KVC_FINDINGS_MAX, sizeof *out->finding);
    if (self != NULL) {
        self->tally = calloc(1, sizeof *self->tally);
        self->known = calloc(1, sizeof *self->known);
    }
    if (self == NULL || self->tally == NULL || self->known == NULL || out->finding == NULL) {
        kvc_error_set(error, "not enough memory");
    } else {
        self->own = *bench;
        if (options->deaths > 0)
            self->own.deadly = &self->exclusions;
        self->bench = &self->own;
        self->generator = generator;
        self->options = options;
        self->out = out;
        self->error = error;
        kvc_crew_hurry(bench->crew, 0);
        begin_with_known(self);
        result = run_rounds(self);
        if (result == KVC_CREW_DONE)
            result = finish_findings(self);
        keep_unfinished(self, result);
        out->interrupted = result == KVC_CREW_STOPPED;
        qsort(out->finding, (size_t)out->findings, sizeof out->finding[0], kvc_findings_compare);
    }
    out->exhaustive = kvc_generator_exhaustive(generator, options->first + out->sequences) -
                      kvc_generator_exhaustive(generator, options->first);
    out->exhaustive_size = kvc_generator_complete_size(generator, options->first + out->sequences);
    out->milliseconds = kvc_now_ms() - start;
    if (self != NULL)
        out->sequences += self->begun;
    if (self != NULL) {
        free(self->tally);
        free(self->known);
    }
    free(self);
    return result;
}
