#include "harness/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/detail.h"
#include "harness/prediction_memo.h"
#include "harness/sequences_compare.h"
#include "harness/system.h"

enum { MEMORY_SAMPLE = 64, MEMORY_ALWAYS_BELOW = 128, MEMORY_FRESH_FOR = 1024 };

/* Sequences on their way to the subject. */
typedef struct flight {
    kvc_plan plan;
    uint64_t start; /* number of the first sequence */
    int count;
    kvc_sequence sequence[KVC_BLOCK];
    int waiting; /* submitted, not collected */
} flight;

struct kvc_runner {
    kvc_runner_options options;
    kvc_judge *judge;
    kvc_generator *generator;
    kvc_collector *collector; /* NULL without a corpus */
    const kvc_spec *spec;
    const kvc_contract *contract;
    char variant[KVC_SPEC_NAME_MAX];
    flight flight[KVC_BATCHES_IN_FLIGHT];
    /* While steps are shown. */
    flight *shown;
    const int32_t *shown_numbers;
    int evaluating;  /* -1: counting into the tally; otherwise the place of the first case */
    int started;     /* sequence of `shown` that the judge follows, -1 for none */
    int detail;      /* write the detail of the first failure */
    uint64_t memory; /* before the sequence, 0 when it is not looked at */
    uint64_t memory_read; /* what was read last, */
    uint64_t memory_index; /* before which sequence, */
    uint64_t memory_peak; /* and the peak then */
    uint64_t opaque[KVC_BLOCK]; /* digest at the end of each sequence that conforms */
    uint8_t conforms[KVC_BLOCK];
    /* Of caches that hold several sequences: which ops were refused, and what the last one returned. */
    uint64_t refused[KVC_BLOCK];
    uint8_t claimed[KVC_BLOCK];   /* kvc_claimed, before the crops so far */
    uint64_t promised[KVC_BLOCK]; /* which crops were done of which the cache had said that it could */
    kvc_sequences_results results[KVC_BLOCK];
    kvc_sequences_pieces pieces[KVC_BLOCK][KVC_SEQUENCES_MAX];
    /* Of whole models: what the last append predicted, at which step, and what fresh caches did. */
    kvc_prediction prediction[KVC_BLOCK];
    int predicted_at[KVC_BLOCK]; /* -1: nowhere */
    kvc_prediction control_prediction[2];
    kvc_prediction_memo *memo;
    const uint8_t (*origins)[KVC_ROWS_MAX]; /* of the tokens of a control run, NULL for none */
    int out_of_memory;
};

kvc_runner *kvc_runner_open(const kvc_runner_options *options)
{
    kvc_runner *runner = calloc(1, sizeof *runner);

    if (runner == NULL)
        return NULL;
    runner->options = *options;
    runner->judge = kvc_judge_open();
    runner->memo = kvc_prediction_memo_open();
    if (options->corpus != NULL)
        runner->collector = kvc_collector_open(&options->shared->feedback, options->corpus);
    if (runner->judge == NULL || runner->memo == NULL || (options->corpus != NULL && runner->collector == NULL)) {
        kvc_runner_close(runner);
        return NULL;
    }
    return runner;
}

void kvc_runner_close(kvc_runner *runner)
{
    if (runner == NULL)
        return;
    kvc_generator_close(runner->generator);
    kvc_judge_close(runner->judge);
    kvc_collector_close(runner->collector);
    for (int at = 0; at < KVC_BLOCK; at++)
        kvc_prediction_clear(&runner->prediction[at]);
    for (int at = 0; at < 2; at++)
        kvc_prediction_clear(&runner->control_prediction[at]);
    kvc_prediction_memo_close(runner->memo);
    free(runner);
}

int kvc_runner_choose(kvc_runner *runner, const char *subject, const char *version, const char *variant,
                      const char *contract, const char *const *variants, uint64_t seed, const kvc_draws *draws,
                      kvc_error *error)
{
    kvc_judge_leave(runner->judge);
    kvc_prediction_memo_forget(runner->memo);
    kvc_generator_close(runner->generator);
    runner->generator = NULL;
    runner->spec = kvc_catalogue_spec(runner->options.catalogue, subject, variant);
    runner->contract = kvc_catalogue_contract_by_id(runner->options.catalogue, contract);
    if (runner->spec == NULL || runner->contract == NULL) {
        kvc_error_set(error, "%s:%s: no spec, or no contract \"%s\"", subject, variant, contract);
        return 0;
    }
    memcpy(runner->variant, variant, strlen(variant) + 1);
    runner->generator = kvc_generator_open_draws(runner->options.catalogue, runner->contract, runner->spec, runner->variant,
                                                 version, variants, seed, draws, error);
    if (runner->generator != NULL)
        kvc_generator_guide(runner->generator, runner->options.corpus);
    return runner->generator != NULL;
}

/* The number of a sequence, or its place among the cases. */
static uint64_t number_of(const kvc_runner *runner, int sequence)
{
    return runner->evaluating >= 0 ? (uint64_t)runner->evaluating + (uint64_t)sequence : runner->shown->start + (uint64_t)sequence;
}

static void record(kvc_runner *runner, int sequence, const kvc_failure *met)
{
    kvc_shared *shared = runner->options.shared;
    flight *shown = runner->shown;
    kvc_failure told = *met;
    const kvc_failure *failure = &told;

    told.claimed = runner->shown->plan.predicts ? runner->claimed[sequence] : KVC_CLAIMED_NOTHING;

    runner->conforms[sequence] = 0;
    if (runner->collector != NULL)
        kvc_collector_drop(runner->collector, number_of(runner, sequence));
    if (runner->evaluating >= 0) {
        int place = runner->evaluating + sequence;
        shared->failed[place] = 1;
        shared->failure[place] = *failure;
        return;
    }
    kvc_tally_add(&shared->tally, failure, &shown->plan.params, &shown->sequence[sequence],
                  shown->start + (uint64_t)sequence, shown->start + (uint64_t)sequence, 1);
}

/* The most this process ever held, in units that differ between systems but are never larger than a KiB; 0: not known. */
static uint64_t peak_memory(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0 ? (uint64_t)usage.ru_maxrss : 0;
}

/*
 * Reading what the process holds costs as much as twenty checked ops, asking for its peak much less: what was read a short while
 * ago still stands when the peak does.
 */
static uint64_t memory_before(kvc_runner *runner, uint64_t index)
{
    uint64_t peak = peak_memory();

    if (runner->evaluating < 0 && index >= MEMORY_ALWAYS_BELOW && runner->memory_read > 0 && peak > 0 &&
        peak == runner->memory_peak && index >= runner->memory_index &&
        index - runner->memory_index < MEMORY_FRESH_FOR)
        return runner->memory_read;
    runner->memory_read = kvc_memory_use(0);
    runner->memory_index = index;
    runner->memory_peak = peak;
    return runner->memory_read;
}

/* Whether this sequence has added more than it may. */
static int has_swelled(const kvc_runner *runner)
{
    uint64_t limit = runner->memory + runner->options.growth_limit;
    uint64_t peak = peak_memory();

    if (peak > 0 && peak <= limit / 1024)
        return 0;
    return kvc_memory_use(0) > limit;
}

/* Before a sequence, when its memory is looked at. */
static void look_at_memory(kvc_runner *runner, uint64_t index)
{
    int look = runner->options.growth_limit > 0 &&
               (runner->evaluating >= 0 || index < MEMORY_ALWAYS_BELOW || index % MEMORY_SAMPLE == 0);

    runner->memory = look ? memory_before(runner, index) : 0;
}

/* The judge begins to follow a sequence. Returns 0 when memory is short. */
static int follow(kvc_runner *runner, int sequence)
{
    runner->started = sequence;
    runner->options.shared->sequences += runner->evaluating < 0;
    runner->conforms[sequence] = 1;
    runner->refused[sequence] = runner->promised[sequence] = 0;
    runner->claimed[sequence] = KVC_CLAIMED_NOTHING;
    runner->predicted_at[sequence] = -1;
    kvc_prediction_start(&runner->prediction[sequence]);
    look_at_memory(runner, runner->shown->start + (uint64_t)sequence);
    if (runner->collector != NULL)
        kvc_collector_start(runner->collector);
    return kvc_judge_start(runner->judge, &runner->shown->plan, runner->shown_numbers);
}

/* Keeps what the last op returned, and what a fresh cache would have to decode to return the same. */
static void take_results(kvc_runner *runner, int sequence, const kvc_op *op, const kvc_observation *observation)
{
    kvc_sequences_results *results = &runner->results[sequence];
    int plain = kvc_sequences_is_plain(&runner->shown->sequence[sequence]);

    kvc_sequences_results_take(results, op, observation);
    for (int row = 0; row < KVC_SEQUENCES_MAX; row++) {
        if (results->count[row] > 0 &&
            (plain || !kvc_sequences_pieces_make(kvc_judge_model(runner->judge), op->rows[row], &runner->pieces[sequence][row])))
            results->count[row] = 0;
    }
}

/* A sequence has come to its end and conforms so far. */
static void end_collection(kvc_runner *runner, int sequence)
{
    const uint32_t *told;
    size_t count = kvc_driver_told(runner->options.driver, (size_t)sequence, &told);

    kvc_collector_told(runner->collector, told, count);
    kvc_collector_end(runner->collector, number_of(runner, sequence));
}

/* An op was shown. Returns 1 when the rest of the sequence need not be. */
static int look(kvc_runner *runner, size_t sequence, int step, const kvc_observation *observation)
{
    kvc_shared *shared = runner->options.shared;
    const kvc_op *op = &runner->shown->sequence[sequence].op[step];
    kvc_failure failure;
    int result;

    if (runner->memory > 0 && has_swelled(runner)) {
        kvc_judge_died(runner->judge, op, KVC_SWELLED, &failure);
        result = 1;
    } else {
        result = kvc_judge_step(runner->judge, op, observation, &failure);
    }
    if (runner->evaluating < 0 || shared->feedback.mode == KVC_FEEDBACK_ALL) {
        int situation = kvc_situation_code(&kvc_judge_expectation(runner->judge)->situation);
        shared->ops++;
        kvc_coverage_judged(&shared->coverage, op->kind, situation, observation->outcome);
        if (runner->collector != NULL)
            kvc_collector_op(runner->collector, op->kind, situation, observation->outcome);
    }
    if (result < 0) {
        runner->out_of_memory = 1;
        return 1;
    }
    if (step + 1 == runner->shown->sequence[sequence].count) {
        runner->opaque[sequence] = kvc_judge_opaque(runner->judge);
        if (kvc_plan_has_sequences(&runner->shown->plan))
            take_results(runner, (int)sequence, op, observation);
        if (result == 0 && runner->collector != NULL)
            end_collection(runner, (int)sequence);
    }
    runner->refused[sequence] |= (uint64_t)(observation->outcome != 0) << step;
    if (kvc_op_is_rollback(op->kind) && observation->claim >= 0) {
        uint8_t said = observation->claim == 1 ? KVC_CLAIMED_YES : KVC_CLAIMED_NO;
        runner->claimed[sequence] = said > runner->claimed[sequence] ? said : runner->claimed[sequence];
    }
    runner->promised[sequence] |= (uint64_t)(kvc_op_is_rollback(op->kind) && observation->claim == 1 && observation->outcome == 0) << step;
    if (result == 0 && runner->shown->plan.predicts && op->kind == KVC_APPEND && observation->outcome == 0) {
        runner->predicted_at[sequence] = step;
        if (!kvc_prediction_take(&runner->prediction[sequence], observation)) {
            runner->out_of_memory = 1;
            return 1;
        }
    }
    if (result == 0)
        return 0;
    if (result == 2) {
        runner->conforms[sequence] = 0; /* it has no end to compare */
        return 1;
    }
    record(runner, (int)sequence, &failure);
    if (runner->detail) {
        runner->detail = 0;
        kvc_detail_write(runner->judge, op, observation, &failure, shared->text, sizeof shared->text);
    }
    return 1;
}

static int on_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    kvc_runner *runner = context;
    kvc_shared *shared = runner->options.shared;

    /* Plugins are shown before every op: that is when it must be known which op it is. */
    if (observation != NULL && runner->options.driver->in_process)
        return look(runner, sequence, step, observation);
    shared->index = number_of(runner, (int)sequence);
    shared->step = step;
    shared->tick = shared->tick + 1;
    if (step == 0 && runner->started != (int)sequence && !follow(runner, (int)sequence)) {
        runner->out_of_memory = 1;
        return 1;
    }
    return observation != NULL ? look(runner, sequence, step, observation) : 0;
}

static void show(kvc_runner *runner, flight *shown, const int32_t *numbers)
{
    runner->shown = shown;
    runner->shown_numbers = numbers;
    runner->started = -1;
    memset(runner->conforms, 0, sizeof runner->conforms);
}

/* Steps of a sequence that runs by itself: the place in the batch is put back. */
typedef struct alone {
    kvc_runner *runner;
    int sequence;
} alone;

static int on_step_alone(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    alone *self = context;

    (void)sequence;
    return on_step(self->runner, (size_t)self->sequence, step, observation);
}

static int collects(const kvc_runner *runner)
{
    return runner->collector != NULL && runner->options.shared->feedback.mode != KVC_FEEDBACK_OFF;
}

/* Performs one sequence by itself. */
static kvc_drive run_alone(kvc_runner *runner, flight *shown, int sequence, int length, const int32_t *numbers,
                           kvc_step_function step, void *context, kvc_error *error)
{
    kvc_sequence cut = shown->sequence[sequence];
    const int32_t *const list[1] = {numbers};
    const uint8_t(*const origins[1])[KVC_ROWS_MAX] = {runner->origins};
    kvc_batch batch = {.plan = &shown->plan,
                       .count = 1,
                       .sequence = &cut,
                       .numbers = numbers != NULL ? list : NULL,
                       .origins = numbers != NULL && runner->origins != NULL ? origins : NULL,
                       .places = collects(runner) && step == on_step_alone};
    kvc_drive drive;

    if (length < cut.count)
        cut.count = length;
    drive = kvc_driver_submit(runner->options.driver, &batch, error);
    return drive == KVC_DROVE ? kvc_driver_collect(runner->options.driver, step, context, error) : drive;
}

static int ignore_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    (void)context;
    (void)sequence;
    (void)step;
    (void)observation;
    return 0;
}

static kvc_deviation how_it_died(kvc_drive drive)
{
    return drive == KVC_DRIVE_HUNG ? KVC_HUNG : drive == KVC_DRIVE_SWELLED ? KVC_SWELLED : KVC_CRASHED;
}

/* Situations in which an op was seen to end the subject's process. */
typedef struct deadly {
    uint8_t table[KVC_OP_KINDS][KVC_SITUATIONS];
} deadly;

/* How many ops of a sequence come before the first that is known to be deadly. -1: memory is short. */
static int safe_length(kvc_runner *runner, const flight *shown, int sequence, const deadly *known)
{
    const kvc_sequence *ops = &shown->sequence[sequence];

    if (!kvc_judge_start(runner->judge, &shown->plan, NULL))
        return -1;
    for (int at = 0; at < ops->count; at++) {
        if (!kvc_judge_assume(runner->judge, &ops->op[at]))
            return -1;
        if (known->table[ops->op[at].kind][kvc_situation_code(&kvc_judge_expectation(runner->judge)->situation)])
            return at;
    }
    return ops->count;
}

/* The first `limit` ops of the sequence end the subject's process: which one does it? */
static int find_deadly_op(kvc_runner *runner, flight *shown, int sequence, int limit, kvc_drive drive, deadly *known,
                          kvc_error *error)
{
    const kvc_sequence *ops = &shown->sequence[sequence];
    int length = 1;
    kvc_failure failure;

    for (; length < limit; length++) {
        kvc_error ignored;
        kvc_drive again = run_alone(runner, shown, sequence, length, NULL, ignore_step, NULL, &ignored);
        runner->options.shared->tick = runner->options.shared->tick + 1;
        if (again == KVC_DRIVE_BAD) {
            *error = ignored;
            return 0;
        }
        if (again != KVC_DROVE) {
            drive = again;
            break;
        }
    }
    if (!kvc_judge_start(runner->judge, &shown->plan, NULL))
        return 0;
    for (int at = 0; at + 1 < length; at++) {
        if (!kvc_judge_assume(runner->judge, &ops->op[at]))
            return 0;
    }
    kvc_judge_died(runner->judge, &ops->op[length - 1], how_it_died(drive), &failure);
    record(runner, sequence, &failure);
    kvc_exclude_outline(known->table[failure.op], &failure, &failure.situation);
    return 1;
}

/*
 * A batch was lost with the process: its sequences are performed one by one. A start of the subject may take seconds, so what
 * was seen to end it is not done again in the other sequences of the batch: those are performed up to there. A batch is the same
 * for any number of workers, and so is what comes of it. Cases that are evaluated are performed whole.
 */
static int run_one_by_one(kvc_runner *runner, flight *shown, kvc_drive lost, kvc_error *error)
{
    deadly known;
    int deaths = 0;

    memset(&known, 0, sizeof known);
    for (int at = 0; at < shown->count; at++) {
        alone context = {runner, at};
        int whole = shown->sequence[at].count;
        int length = runner->evaluating < 0 && deaths > 0 ? safe_length(runner, shown, at, &known) : whole;
        kvc_drive drive;
        if (length < 0)
            return 0;
        if (length == 0)
            continue;
        /* The lost batch was this sequence. */
        drive = shown->count == 1 ? lost
                                  : run_alone(runner, shown, at, length, NULL, on_step_alone, &context, error);
        if (drive == KVC_DRIVE_BAD)
            return 0;
        if (length < whole)
            runner->conforms[at] = 0; /* it has no end to compare */
        if (drive == KVC_DROVE)
            continue;
        deaths++;
        if (!find_deadly_op(runner, shown, at, length, drive, &known, error))
            return 0;
    }
    if (deaths == 0 && shown->count > 0) {
        /* It did not happen again. It is not forgotten: the finding will be called flaky. */
        kvc_failure failure;
        if (!kvc_judge_start(runner->judge, &shown->plan, NULL))
            return 0;
        kvc_judge_died(runner->judge, &shown->sequence[0].op[0], how_it_died(lost), &failure);
        record(runner, 0, &failure);
    }
    return 1;
}

/* Final digests of a control run, compared with that of the sequence it controls. */
typedef struct control {
    kvc_runner *runner;
    kvc_sequences_results results;
    kvc_prediction *prediction; /* where to put it, or NULL; not owned */
    uint64_t digest;
    int failed;
} control;

static int on_control_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    control *self = context;
    kvc_failure failure;

    if (observation == NULL)
        return 0;
    self->failed |= kvc_judge_step(self->runner->judge, &self->runner->flight[1].sequence[sequence].op[step],
                                   observation, &failure) != 0;
    self->digest = kvc_judge_opaque(self->runner->judge);
    kvc_sequences_results_take(&self->results, &self->runner->flight[1].sequence[sequence].op[step], observation);
    if (self->prediction != NULL && !kvc_prediction_take(self->prediction, observation))
        self->failed = self->runner->out_of_memory = 1;
    return self->failed;
}

/*
 * Runs `ops` on the other flight's plan, with the given token numbers, and digests what it ends with. Returns 0 with *error set.
 */
static int run_control(kvc_runner *runner, const kvc_sequence *ops, const int32_t *numbers, control *out,
                       kvc_error *error)
{
    flight *spare = &runner->flight[1];

    spare->sequence[0] = *ops;
    spare->count = 1;
    out->runner = runner;
    out->digest = 0;
    out->failed = 0;
    if (!kvc_judge_start(runner->judge, &spare->plan, numbers))
        return 0;
    return run_alone(runner, spare, 0, KVC_OPS_MAX, numbers, on_control_step, out, error) == KVC_DROVE;
}

static int contains(const kvc_sequence *sequence, kvc_op_kind kind)
{
    for (int at = 0; at < sequence->count; at++) {
        if (sequence->op[at].kind == kind)
            return 1;
    }
    return 0;
}

static int has_move(const kvc_sequence *sequence)
{
    for (int at = 0; at < sequence->count; at++) {
        if (kvc_op_moves_cache((kvc_op_kind)sequence->op[at].kind))
            return 1;
    }
    return 0;
}

/* Caches of such plans are compared with fresh ones once a sequence has come to its end. */
static int is_compared(const kvc_plan *plan)
{
    return plan->has_opaque || plan->predicts || kvc_plan_has_sequences(plan);
}

/* The judge's model goes through the first `count` ops of a sequence that was shown, as the subject took them. Returns 0 when memory is short. */
static int retrace(kvc_runner *runner, const flight *shown, int sequence, int count)
{
    const kvc_op *ops = shown->sequence[sequence].op;

    if (!kvc_judge_start(runner->judge, &shown->plan, NULL))
        return 0;
    for (int at = 0; at < count; at++) {
        if (!kvc_judge_assume_outcome(runner->judge, &ops[at], (runner->refused[sequence] >> at & 1u) != 0))
            return 0;
    }
    return 1;
}

/* The detail of a failure that no single step shows: the op's own observation was as expected. */
static int describe_difference(kvc_runner *runner, flight *shown, int sequence, const kvc_failure *failure)
{
    const kvc_sequence *ops = &shown->sequence[sequence];
    kvc_observation *seen;

    if (!runner->detail)
        return 1;
    runner->detail = 0;
    if (!retrace(runner, shown, sequence, failure->step + 1))
        return 0;
    seen = calloc(1, sizeof *seen);
    if (seen == NULL)
        return 0;
    seen->layers = shown->plan.layers;
    seen->claim = -1;
    seen->error_kind = seen->error_text = "";
    for (int layer = 0; layer < KVC_LAYERS_MAX; layer++) {
        seen->length[layer] = kvc_judge_model(runner->judge)->length;
        seen->mask_length[layer] = seen->mask_offset[layer] = seen->position[layer] = KVC_ABSENT;
    }
    kvc_detail_write(runner->judge, &ops->op[failure->step], seen, failure, runner->options.shared->text,
                     sizeof runner->options.shared->text);
    free(seen);
    return 1;
}

/*
 * RESUME and CHUNK for states that only the subject can work out: a fresh cache that gets the kept tokens must end the same, in one
 * append and token by token. The model knows the kept tokens without the subject.
 */
static int compare_with_fresh(kvc_runner *runner, flight *shown, int sequence, kvc_error *error)
{
    const kvc_sequence *ops = &shown->sequence[sequence];
    kvc_sequence whole = {0};
    kvc_sequence split = {0};
    int32_t numbers[KVC_OPS_MAX * 8];
    const kvc_model *model;
    control in_one = {0};
    control one_by_one = {0};
    kvc_failure failure;
    kvc_op record_on = {.kind = KVC_RECORD, .n = 1};

    if (contains(ops, KVC_REORDER) || contains(ops, KVC_SELECT) || contains(ops, KVC_REPEAT) || ops->count == 0)
        return 1;
    if (!retrace(runner, shown, sequence, ops->count))
        return 0;
    model = kvc_judge_model(runner->judge);
    if (model->length == 0 || model->length > (int32_t)(sizeof numbers / sizeof numbers[0]) ||
        model->length >= KVC_OPS_MAX - 1)
        return 1;
    for (int32_t at = 0; at < model->length; at++)
        numbers[at] = kvc_model_token(model, at);
    if (model->recording)
        whole.op[whole.count++] = split.op[split.count++] = record_on;
    whole.op[whole.count++] = (kvc_op){.kind = KVC_APPEND, .n = model->length};
    for (int32_t at = 0; at < model->length; at++)
        split.op[split.count++] = (kvc_op){.kind = KVC_APPEND, .n = 1};
    kvc_plan_copy(&runner->flight[1].plan, &shown->plan);
    runner->flight[1].plan.params.watch = 0;
    failure = (kvc_failure){.slot = -1, .step = ops->count - 1, .deviation = KVC_DIFFERS, .place = KVC_PLACE_OTHER};
    failure.op = ops->op[ops->count - 1].kind;
    failure.situation = kvc_judge_expectation(runner->judge)->situation;
    failure.rule = KVC_CONTRACT_CHUNK;
    if (!run_control(runner, &whole, numbers, &in_one, error) ||
        !run_control(runner, &split, numbers, &one_by_one, error))
        return 0;
    /* A fresh cache that breaks a law itself gives no verdict on others. */
    if (in_one.failed || one_by_one.failed)
        return 1;
    runner->shown = shown;
    if (in_one.digest != one_by_one.digest) {
        failure.law = KVC_CHUNK;
    } else if (runner->opaque[sequence] != in_one.digest) {
        failure.law = contains(ops, KVC_RESET) ? KVC_RESET_LAW : contains(ops, KVC_CROP) || contains(ops, KVC_TRIM) ? KVC_RESUME : has_move(ops) ? KVC_SAVE : KVC_CHUNK;
        if (failure.law != KVC_CHUNK)
            failure.rule = KVC_CONTRACT_CROP;
    } else {
        return 1;
    }
    if (failure.law == KVC_CHUNK && shown->plan.layer[0].rules.rule[KVC_CONTRACT_CHUNK]->value != KVC_CHUNK_SAME)
        return 1;
    record(runner, sequence, &failure);
    return describe_difference(runner, shown, sequence, &failure);
}

/*
 * RESUME for what a decode returns of one sequence: a fresh cache that decodes only what is there, in the same pieces and at the same
 * positions, must return the same. Where it does not, another fresh cache gets the same in other pieces: how far these two are apart is
 * what the arithmetic does by itself.
 */
static int compare_sequence(kvc_runner *runner, flight *shown, int sequence, int row, kvc_error *error)
{
    const kvc_sequence *ops = &shown->sequence[sequence];
    const kvc_sequences_results *seen = &runner->results[sequence];
    const kvc_sequences_pieces *pieces = &runner->pieces[sequence][row];
    control same = {0};
    control other = {0};
    kvc_failure failure = {.slot = -1, .step = ops->count - 1, .deviation = KVC_DIFFERS, .place = KVC_PLACE_LOGITS,
                           .law = KVC_RESUME, .op = KVC_DECODE};

    if (!retrace(runner, shown, sequence, ops->count))
        return 0;
    failure.situation = kvc_judge_expectation(runner->judge)->situation;
    failure.rule = (int32_t)kvc_sequences_deciding_rule(&shown->plan, ops);
    kvc_plan_copy(&runner->flight[1].plan, &shown->plan);
    runner->flight[1].plan.params.watch = 0;
    if (!run_control(runner, &pieces->whole, pieces->numbers, &same, error))
        return 0;
    /* A fresh cache that breaks a law itself gives no verdict on others. */
    if (same.failed || kvc_sequences_distance(seen, row, &same.results, 0) <= kvc_sequences_bound(&shown->plan))
        return 1;
    if (!run_control(runner, &pieces->split, pieces->numbers, &other, error))
        return 0;
    if (other.failed || !kvc_sequences_is_far(&shown->plan, seen, row, &same.results, &other.results))
        return 1;
    runner->shown = shown;
    record(runner, sequence, &failure);
    return describe_difference(runner, shown, sequence, &failure);
}

static int compare_sequences(kvc_runner *runner, flight *shown, int sequence, kvc_error *error)
{
    const kvc_sequence *ops = &shown->sequence[sequence];

    if (ops->count == 0 || ops->op[ops->count - 1].kind != KVC_DECODE ||
        (runner->refused[sequence] >> (ops->count - 1) & 1u) != 0)
        return 1;
    for (int row = 0; row < ops->op[ops->count - 1].count && runner->conforms[sequence]; row++) {
        if (runner->results[sequence].count[row] > 0 && !compare_sequence(runner, shown, sequence, row, error))
            return 0;
    }
    return 1;
}

/*
 * What a fresh cache on the other flight's plan predicts that is given the kept tokens by these appends. Returns 0 with *error set.
 */
static int predict_fresh(kvc_runner *runner, const kvc_sequence *appends, const kvc_kept *kept, control *out, kvc_error *error)
{
    const kvc_params *params = &runner->flight[1].plan.params;
    int known = kvc_prediction_memo_find(runner->memo, params, appends, kept, out->prediction, &out->failed);
    int good = 1;

    if (known > 0)
        return 1;
    kvc_prediction_start(out->prediction);
    runner->origins = (const uint8_t(*)[KVC_ROWS_MAX])kept->origin;
    if (known == 0)
        good = run_control(runner, appends, kept->number, out, error);
    runner->origins = NULL;
    if (!good)
        return 0;
    if (known == 0 && !runner->out_of_memory && kvc_prediction_memo_add(runner->memo, params, appends, kept, out->prediction, out->failed))
        return 1;
    kvc_error_set(error, "not enough memory");
    return 0;
}

/*
 * Whether the appends of a sequence alone, without what was done between them, already predict something else than the same tokens in one
 * piece, or fail: then nothing between them is to blame. Returns 0 with *error set.
 */
static int is_shown_by_appends(kvc_runner *runner, const flight *shown, const kvc_sequence *ops, uint64_t refused, int recording,
                               int *is_shown, kvc_error *error)
{
    control pieces = {.prediction = &runner->control_prediction[0]};
    control whole = {.prediction = &runner->control_prediction[1]};
    kvc_kept kept = {.count = 0};
    kvc_sequence appends;

    /* Too many to be asked for: nothing can be said. */
    *is_shown = 1;
    if (!kvc_kept_all(&kept, ops, refused))
        return 1;
    runner->flight[1].plan.params.batch = shown->plan.params.batch;
    kvc_kept_appends(&kept, recording, 0, &appends);
    if (!predict_fresh(runner, &appends, &kept, &pieces, error))
        return 0;
    kvc_kept_appends(&kept, recording, 1, &appends);
    if (!predict_fresh(runner, &appends, &kept, &whole, error))
        return 0;
    *is_shown = pieces.failed || whole.failed ||
                !(kvc_prediction_distance(pieces.prediction, whole.prediction) <=
                  kvc_prediction_allowed(pieces.prediction, whole.prediction, whole.prediction));
    return 1;
}

/*
 * RESUME for whole models: with a fresh cache that is given only the tokens that are still there, the last append must predict the
 * same. Two fresh caches are asked, one in the same pieces and one in a single piece. Where these differ, the model itself depends on
 * how it is fed: that is told of sequences that do nothing but append, and no other op is blamed for it.
 */
static int compare_predictions(kvc_runner *runner, flight *shown, int sequence, kvc_error *error)
{
    kvc_sequence ops = shown->sequence[sequence];
    const kvc_prediction *seen = &runner->prediction[sequence];
    kvc_kept kept = {.count = 0};
    control pieces = {.prediction = &runner->control_prediction[0]};
    control whole = {.prediction = &runner->control_prediction[1]};
    kvc_failure failure = {.slot = -1, .deviation = KVC_DIFFERS, .place = KVC_PLACE_LOGITS, .op = KVC_APPEND};
    kvc_rule_name rule = KVC_CONTRACT_CHUNK;
    kvc_sequence appends;
    const kvc_model *model;
    uint64_t refused;
    uint64_t crops = 0;
    int only_appends;
    int since_first;
    int recording;

    ops.count = runner->predicted_at[sequence] + 1;
    if (ops.count < 2)
        return 1;
    if (!kvc_judge_start(runner->judge, &shown->plan, NULL))
        return 0;
    model = kvc_judge_model(runner->judge);
    for (int at = 0; at < ops.count; at++) {
        if (!kvc_judge_assume_outcome(runner->judge, &ops.op[at], (runner->refused[sequence] >> at & 1u) != 0))
            return 0;
        kvc_kept_follow(&kept, model);
        crops |= (uint64_t)kvc_op_is_rollback(ops.op[at].kind) << at;
    }
    since_first = model->recording_since_first;
    if (!kvc_kept_finish(&kept, model) || kept.pieces == 0)
        return 1;
    refused = runner->refused[sequence] & (((uint64_t)1 << (ops.count - 1)) - 1);
    only_appends = kvc_only_appends(&ops, refused);
    failure.step = ops.count - 1;
    failure.situation = kvc_judge_expectation(runner->judge)->situation;
    recording = model->recording;
    kvc_plan_copy(&runner->flight[1].plan, &shown->plan);
    runner->flight[1].plan.params.watch = 0;
    runner->flight[1].plan.params.batch = model->rows;
    kvc_kept_appends(&kept, recording, 1, &appends);
    if (!predict_fresh(runner, &appends, &kept, &whole, error))
        return 0;
    failure.apart = (float)kvc_prediction_distance(seen, whole.prediction);
    /* No second cache could make it a failure. */
    if (failure.apart <= kvc_prediction_bound())
        return 1;
    if (!only_appends) {
        kvc_kept_appends(&kept, recording, 0, &appends);
        if (!predict_fresh(runner, &appends, &kept, &pieces, error))
            return 0;
    }
    /* A fresh cache that breaks a law itself gives no verdict on others, and no choice by chance does. */
    if (whole.failed || pieces.failed || kvc_prediction_is_tied(seen) || kvc_prediction_is_tied(whole.prediction) ||
        (!only_appends && kvc_prediction_is_tied(pieces.prediction)))
        return 1;
    if (only_appends) {
        if (failure.apart <= kvc_prediction_allowed(seen, NULL, whole.prediction))
            return 1;
        failure.law = KVC_CHUNK;
    } else {
        int is_shown;

        failure.apart = fminf(failure.apart, (float)kvc_prediction_distance(seen, pieces.prediction));
        if (failure.apart <= kvc_prediction_allowed(seen, pieces.prediction, whole.prediction))
            return 1;
        if (!is_shown_by_appends(runner, shown, &ops, refused, recording, &is_shown, error))
            return 0;
        if (is_shown)
            return 1;
        failure.law = (uint8_t)kvc_prediction_law(&ops, refused, &rule);
        /* It was said, with recording on since the first append, that the crop could be done. */
        if (failure.law == KVC_RESUME && since_first && (runner->promised[sequence] & crops) != 0)
            kvc_failure_add(&failure, KVC_HONEST);
    }
    failure.rule = (int32_t)rule;
    runner->shown = shown;
    record(runner, sequence, &failure);
    return describe_difference(runner, shown, sequence, &failure);
}

static kvc_drive submit(kvc_runner *runner, flight *next, kvc_error *error)
{
    kvc_batch batch = {&next->plan, (size_t)next->count, next->sequence, NULL, NULL, collects(runner)};

    next->waiting = 1;
    return kvc_driver_submit(runner->options.driver, &batch, error);
}

/* Collects the older flight; `other` is the one behind it. */
static int collect(kvc_runner *runner, flight *oldest, flight *other, kvc_error *error)
{
    kvc_drive drive;

    show(runner, oldest, NULL);
    drive = kvc_driver_collect(runner->options.driver, on_step, runner, error);
    oldest->waiting = 0;
    if (drive == KVC_DRIVE_BAD)
        return 0;
    if (drive != KVC_DROVE) {
        /* Nothing of a lost batch was shown, so nothing is counted twice. */
        show(runner, oldest, NULL);
        if (!run_one_by_one(runner, oldest, drive, error))
            return 0;
        if (other->waiting && submit(runner, other, error) == KVC_DRIVE_BAD)
            return 0;
    }
    if (runner->out_of_memory) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    if (is_compared(&oldest->plan)) {
        uint8_t conforms[KVC_BLOCK];
        memcpy(conforms, runner->conforms, sizeof conforms);
        for (int at = 0; at < oldest->count; at++) {
            runner->conforms[at] = conforms[at];
            if (conforms[at] && !(oldest->plan.has_opaque ? compare_with_fresh(runner, oldest, at, error)
                                  : oldest->plan.predicts ? compare_predictions(runner, oldest, at, error)
                                                          : compare_sequences(runner, oldest, at, error)))
                return 0;
        }
    }
    return 1;
}

/* A sequence on its way: each op is performed and judged as soon as it is made. */
typedef struct stride {
    kvc_runner *runner;
    uint64_t index;
    int left; /* the rest of the sequence is not performed */
    kvc_error *error;
    int bad;
    kvc_failure failure;
} stride;

static void on_taken(void *context, const kvc_sequence *ops, const kvc_expectation *expectation, int code)
{
    stride *self = context;
    kvc_runner *runner = self->runner;
    kvc_shared *shared = runner->options.shared;
    int step = ops->count - 1;
    const kvc_op *op = &ops->op[step];
    const kvc_observation *shown;
    int result;

    if (self->left)
        return;
    shared->step = step;
    shared->tick = shared->tick + 1;
    shown = kvc_driver_perform(runner->options.driver, op, NULL, self->error);
    if (shown == NULL) {
        self->left = self->bad = 1;
        return;
    }
    if (runner->memory > 0 && has_swelled(runner)) {
        result = kvc_judge_part(runner->judge, ops->op, step) ? 1 : -1;
        if (result > 0)
            kvc_judge_died(runner->judge, op, KVC_SWELLED, &self->failure);
    } else {
        result = kvc_judge_followed(runner->judge, ops->op, step, expectation, shown, &self->failure);
    }
    /* The subject may be where the generator's model is not. */
    if (kvc_judge_model(runner->judge) != kvc_generator_model(runner->generator))
        code = kvc_situation_code(&kvc_judge_expectation(runner->judge)->situation);
    shared->ops++;
    kvc_coverage_judged(&shared->coverage, op->kind, code, shown->outcome);
    if (result == 0)
        return;
    self->left = 1;
    if (result < 0)
        runner->out_of_memory = 1;
    else if (result == 1)
        kvc_tally_add(&shared->tally, &self->failure, &kvc_judge_model(runner->judge)->plan->params, ops, self->index,
                      self->index, 1);
}

/*
 * The sequences from *index to `end` of one block, on a cache of this process: the generator's model serves the judge too, as long
 * as the subject does what that model says.
 */
static int run_in_step(kvc_runner *runner, uint64_t *index, uint64_t end, const kvc_plan *plan, kvc_error *error)
{
    kvc_shared *shared = runner->options.shared;
    kvc_driver *driver = runner->options.driver;
    kvc_sequence *ops = &runner->flight[0].sequence[0];
    stride self = {.runner = runner, .error = error};

    for (int another = 1; *index < end; ++*index, another = 0) {
        self.index = *index;
        self.left = 0;
        shared->index = *index;
        shared->step = 0;
        shared->tick = shared->tick + 1;
        look_at_memory(runner, *index);
        kvc_judge_follow(runner->judge, kvc_generator_model(runner->generator));
        shared->sequences++;
        /* A crash while the cache is opened belongs to this sequence. */
        if (!kvc_driver_begin(driver, plan, another, error) ||
            !kvc_generator_steps(runner->generator, *index, &shared->exclusions, ops, &shared->coverage, on_taken, &self, error) ||
            self.bad)
            return 0;
        kvc_driver_finish(driver);
    }
    if (runner->out_of_memory)
        kvc_error_set(error, "not enough memory");
    return !runner->out_of_memory;
}

int kvc_runner_range(kvc_runner *runner, uint64_t start, uint64_t end, kvc_error *error)
{
    kvc_shared *shared = runner->options.shared;
    uint64_t index = start;
    int next = 0;

    runner->evaluating = -1;
    if (runner->collector != NULL)
        kvc_collector_begin(runner->collector);
    runner->flight[0].waiting = runner->flight[1].waiting = 0;
    while (index < end || runner->flight[0].waiting || runner->flight[1].waiting) {
        flight *here = &runner->flight[next];
        flight *other = &runner->flight[1 - next];
        if (here->waiting && !collect(runner, here, other, error))
            return 0;
        if (index < end) {
            uint64_t block_end = kvc_generator_block_end(runner->generator, index);
            const kvc_plan *plan = kvc_generator_plan(runner->generator, index, error);
            if (plan == NULL)
                return 0;
            if (runner->options.driver->in_process && runner->collector == NULL && !is_compared(plan)) {
                if (!run_in_step(runner, &index, block_end < end ? block_end : end, plan, error))
                    return 0;
                continue;
            }
            /* What is compared flies alone and first: its controls use the second. */
            if (is_compared(plan)) {
                if (other->waiting && !collect(runner, other, here, error))
                    return 0;
                here = &runner->flight[0];
                other = &runner->flight[1];
            }
            kvc_plan_copy(&here->plan, plan);
            here->start = index;
            here->count = 0;
            for (; index < end && index < block_end; index++) {
                if (!kvc_generator_sequence(runner->generator, index, &shared->exclusions,
                                            &here->sequence[here->count], &shared->coverage, error))
                    return 0;
                here->count++;
            }
            if (submit(runner, here, error) == KVC_DRIVE_BAD)
                return 0;
            /* The caches of this process run when they are collected. */
            if (runner->options.driver->in_process || is_compared(&here->plan)) {
                if (!collect(runner, here, other, error))
                    return 0;
            }
        }
        if (!runner->options.driver->in_process)
            next = 1 - next;
    }
    return 1;
}

int kvc_runner_evaluate(kvc_runner *runner, int from, kvc_error *error)
{
    kvc_shared *shared = runner->options.shared;
    int cases = shared->cases;

    if (cases < 0 || cases > KVC_EVALUATE_MAX || from < 0) {
        kvc_error_set(error, "%d cases to evaluate, expected at most %d", cases, KVC_EVALUATE_MAX);
        return 0;
    }
    if (runner->collector != NULL)
        kvc_collector_begin(runner->collector);
    runner->flight[0].waiting = runner->flight[1].waiting = 0;
    while (from < cases) {
        flight *here = &runner->flight[0];
        if (!kvc_plan_make(runner->options.catalogue, runner->contract, runner->spec, runner->variant, &shared->params,
                           &here->plan, error))
            return 0;
        here->start = 0;
        for (here->count = 0; here->count < KVC_BLOCK && from + here->count < cases; here->count++) {
            int place = from + here->count;
            here->sequence[here->count] = shared->sequence[place];
            shared->failed[place] = 0;
        }
        runner->evaluating = from;
        if (submit(runner, here, error) == KVC_DRIVE_BAD || !collect(runner, here, &runner->flight[1], error))
            return 0;
        from += here->count;
    }
    return 1;
}

int kvc_runner_detail(kvc_runner *runner, kvc_error *error)
{
    int good;

    runner->options.shared->text[0] = '\0';
    runner->options.shared->cases = 1;
    runner->detail = 1;
    good = kvc_runner_evaluate(runner, 0, error);
    runner->detail = 0;
    return good;
}
