#include "harness/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/alphabet.h"
#include "harness/choice.h"
#include "harness/draw.h"
#include "harness/guided.h"
#include "harness/random.h"
#include "harness/sequences_alphabet.h"

enum { TRIES = 6, SMALL_LENGTH = 3 };
/* So many sequences of a stage stand between two random blocks: a small budget is shared, whatever it is. */
enum { BETWEEN_RANDOM = 3 * KVC_BLOCK };
/* The opening: long sequences of all ops, each with parameters of its own and watched. */
enum { OPENING = 128, OPENING_BLOCK = 1, OPENING_OPS_MIN = 12, OPENING_OPS_MAX = 20 };

/* All sequences of one length, for one choice of parts and layers, and the random blocks between them. */
typedef struct stage {
    uint64_t start;
    uint64_t count; /* of its own sequences */
    uint64_t size;  /* with the random ones */
    int combination;
    int length;
    int letters; /* of the alphabet that are used */
} stage;

struct kvc_generator {
    const kvc_catalogue *catalogue;
    const kvc_contract *contract;
    const kvc_spec *spec;
    const char *variant;
    uint64_t seed;
    uint64_t stream; /* of random numbers */
    kvc_draws draws;
    kvc_choice choice;
    kvc_alphabet alphabet; /* of the first combination */
    uint64_t opening; /* sequences before the first stage */
    int stages;
    stage stage[KVC_STAGES_MAX];
    uint64_t tail; /* first sequence behind all stages */
    kvc_plan plan;
    uint64_t plan_block; /* first index of the block of `plan`, UINT64_MAX for none */
    uint64_t plan_end;   /* and the first behind it */
    const stage *plan_stage; /* whose own sequences these are, NULL: they are random */
    uint64_t plan_number;    /* of the first one in its stage */
    kvc_alphabet block_alphabet;
    int last_kind; /* none behind it is drawn with this plan */
    kvc_model model;
    kvc_guided guided;
    kvc_expectation expectation; /* of the op that was taken last, or could not be */
    kvc_taken_function taken; /* NULL: nobody wants to know */
    void *context;
};

/* Sequences of three ops with the letters of storing are many: they are run for the first choice of parts and layers. */
static int letters_of(const kvc_plan *plan, const kvc_alphabet *alphabet, int length, int combination)
{
    /* Those of several sequences are many, and few of their orders mean anything: what is longer is left to the random stage. */
    if (kvc_plan_has_sequences(plan))
        return combination > 0 ? (length < SMALL_LENGTH ? alphabet->in_long : 0)
               : length < SMALL_LENGTH ? alphabet->count : length == SMALL_LENGTH ? alphabet->in_long : 0;
    /* Each op of a whole model is a forward: only the shortest are run with all letters. */
    if (plan->spec->kind == KVC_KIND_MODEL)
        return length < SMALL_LENGTH && combination == 0 ? alphabet->count : alphabet->in_long;
    return length < SMALL_LENGTH || (length == SMALL_LENGTH && combination == 0) ? alphabet->count : alphabet->in_long;
}

/* The plan of these parameters, as far as the profile uses it. */
static int make_plan(kvc_generator *generator, const kvc_params *params, kvc_error *error)
{
    if (kvc_plan_resize(&generator->plan, params))
        return 1;
    if (!kvc_plan_make(generator->catalogue, generator->contract, generator->spec, generator->variant, params,
                       &generator->plan, error)) {
        generator->plan.slots = 0; /* it is none that could be resized */
        return 0;
    }
    generator->plan.ops &= generator->draws.ops;
    return 1;
}

static int add_stages(kvc_generator *generator, kvc_error *error)
{
    kvc_plan *plan = &generator->plan;
    kvc_params base = kvc_choice_base(&generator->choice, 0);

    if (!make_plan(generator, &base, error))
        return 0;
    kvc_alphabet_make(plan, &generator->alphabet);
    /*
     * Of several sequences most long ones mean little; what only does as assisted decoding does has no ops to mix; of a whole model
     * only the last append of a sequence is compared.
     */
    if (generator->draws.like == KVC_HOSTILE && generator->draws.exhaustive > 0 && !kvc_plan_has_sequences(plan) && plan->spec->kind != KVC_KIND_MODEL)
        generator->tail = generator->opening = OPENING;
    for (int length = 1; length <= generator->draws.exhaustive; length++) {
        for (int at = 0; at < generator->choice.combinations; at++) {
            stage *next = &generator->stage[generator->stages];
            kvc_alphabet alphabet;
            /* A variant with many combinations, or a part of the budget only, keeps some of it for the random stage. */
            if (generator->stages == KVC_STAGES_MAX || ((at > 0 || generator->spec->share > 1 || generator->spec->layers > 0) && length > SMALL_LENGTH))
                break;
            base = kvc_choice_base(&generator->choice, at);
            if (!make_plan(generator, &base, error))
                return 0;
            kvc_alphabet_make(plan, &alphabet);
            next->start = generator->tail;
            next->combination = at;
            next->length = length;
            next->letters = letters_of(plan, &alphabet, length, at);
            if (next->letters == 0)
                break;
            next->count = 1;
            for (int letter = 0; letter < length; letter++)
                next->count *= (uint64_t)next->letters;
            next->size = next->count + (next->count - 1) / BETWEEN_RANDOM * KVC_BLOCK;
            generator->tail += next->size;
            generator->stages++;
        }
    }
    return 1;
}

kvc_generator *kvc_generator_open(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                                  const char *variant, const char *version, const char *const *variants, uint64_t seed,
                                  kvc_profile profile, kvc_error *error)
{
    kvc_draws draws;

    kvc_profile_of(profile, &draws);
    return kvc_generator_open_draws(catalogue, contract, spec, variant, version, variants, seed, &draws, error);
}

kvc_generator *kvc_generator_open_draws(const kvc_catalogue *catalogue, const kvc_contract *contract, const kvc_spec *spec,
                                        const char *variant, const char *version, const char *const *variants, uint64_t seed,
                                        const kvc_draws *draws, kvc_error *error)
{
    kvc_generator *generator = calloc(1, sizeof *generator);
    kvc_rules rules;

    if (generator == NULL) {
        kvc_error_set(error, "not enough memory");
        return NULL;
    }
    generator->catalogue = catalogue;
    generator->contract = contract;
    generator->spec = spec;
    generator->variant = variant;
    generator->seed = seed;
    generator->stream = kvc_random_stream(seed, variant);
    generator->draws = *draws;
    generator->plan_block = UINT64_MAX;
    kvc_catalogue_rules(catalogue, contract, spec->variant, &rules);
    kvc_choice_make(catalogue, spec, &rules, version, variants, &generator->choice);
    if (!kvc_choice_narrow(&generator->choice, draws, error)) {
        free(generator);
        return NULL;
    }
    if (generator->choice.combinations == 0) {
        kvc_error_set(error, "%s: this version has none of the spec's parts or layers", variant);
    } else if (add_stages(generator, error)) {
        if (kvc_model_open(&generator->model, &generator->plan))
            return generator;
        kvc_error_set(error, "not enough memory");
    }
    free(generator);
    return NULL;
}

void kvc_generator_close(kvc_generator *generator)
{
    if (generator == NULL)
        return;
    kvc_model_close(&generator->model);
    free(generator);
}

void kvc_generator_guide(kvc_generator *generator, const kvc_corpus *corpus)
{
    generator->guided.corpus = generator->draws.like == KVC_HOSTILE ? corpus : NULL;
}

const kvc_choice *kvc_generator_choice(const kvc_generator *generator)
{
    return &generator->choice;
}

uint64_t kvc_generator_settled(const kvc_generator *generator)
{
    uint64_t end = 0;

    for (int at = 0; generator->opening > 0 && at < generator->stages && generator->stage[at].length < SMALL_LENGTH; at++)
        end = generator->stage[at].start + generator->stage[at].size;
    return end;
}

uint64_t kvc_generator_tail(const kvc_generator *generator)
{
    return generator->tail;
}

/* How many of the first `size` sequences of a stage, with the random ones, are its own, and whether the next one is. */
static uint64_t own_of(uint64_t size, int *own)
{
    uint64_t group = size / (BETWEEN_RANDOM + KVC_BLOCK);
    uint64_t within = size % (BETWEEN_RANDOM + KVC_BLOCK);

    *own = within < BETWEEN_RANDOM;
    return group * BETWEEN_RANDOM + (within < BETWEEN_RANDOM ? within : BETWEEN_RANDOM);
}

uint64_t kvc_generator_exhaustive(const kvc_generator *generator, uint64_t count)
{
    uint64_t found = 0;
    int own;

    for (int at = 0; at < generator->stages && generator->stage[at].start < count; at++) {
        const stage *here = &generator->stage[at];
        uint64_t size = count - here->start;
        found += size < here->size ? own_of(size, &own) : here->count;
    }
    return found;
}

int kvc_generator_complete_size(const kvc_generator *generator, uint64_t count)
{
    int size = 0;

    for (int at = 0; at < generator->stages; at++) {
        if (generator->stage[at].combination == 0 &&
            generator->stage[at].start + generator->stage[at].size <= count)
            size = generator->stage[at].length;
    }
    return size;
}

int kvc_generator_alphabet(const kvc_generator *generator, char text[KVC_LETTERS_MAX][48])
{
    for (int at = 0; at < generator->alphabet.count; at++) {
        const char *word = kvc_letter_text(&generator->plan, generator->alphabet.letter[at]);
        (void)snprintf(text[at], sizeof text[at], "%s%s", word,
                       at >= generator->alphabet.in_long ? " (in sequences of up to 3)" : "");
    }
    return generator->alphabet.count;
}

/* Where a sequence stands: in a stage or between two pieces of it, or in the opening or behind all (NULL). */
static const stage *find_stage(const kvc_generator *generator, uint64_t index)
{
    for (int at = 0; at < generator->stages && index >= generator->opening; at++) {
        if (index < generator->stage[at].start + generator->stage[at].size)
            return &generator->stage[at];
    }
    return NULL;
}

/* The stage whose own sequence this is, with its number there; NULL for a random one. */
static const stage *own_stage(const kvc_generator *generator, uint64_t index, uint64_t *number)
{
    const stage *found = find_stage(generator, index);
    int own = 0;

    if (found != NULL)
        *number = own_of(index - found->start, &own);
    return own ? found : NULL;
}

uint64_t kvc_generator_round_end(const kvc_generator *generator, uint64_t index)
{
    const stage *found = find_stage(generator, index);

    if (index < generator->opening)
        return generator->opening;
    if (found == NULL)
        return generator->tail + ((index - generator->tail) / KVC_ROUND + 1) * KVC_ROUND;
    /* All stages of one length make a round. */
    for (const stage *next = found; next < generator->stage + generator->stages; next++) {
        if (next->length != found->length)
            return next->start;
    }
    return generator->tail;
}

/* Pieces between random blocks are whole blocks, and so are these. */
static uint64_t block_start(const kvc_generator *generator, uint64_t index)
{
    const stage *found = find_stage(generator, index);
    uint64_t base = found != NULL ? found->start : generator->tail;

    if (index < generator->opening)
        return index / OPENING_BLOCK * OPENING_BLOCK;
    return base + (index - base) / KVC_BLOCK * KVC_BLOCK;
}

uint64_t kvc_generator_block_end(const kvc_generator *generator, uint64_t index)
{
    const stage *found = find_stage(generator, index);
    uint64_t end = block_start(generator, index) + (index < generator->opening ? OPENING_BLOCK : KVC_BLOCK);

    return found != NULL && end > found->start + found->size ? found->start + found->size : end;
}

/* What random numbers are drawn for: those of the opening come behind all others. */
static uint64_t stream_of(const kvc_generator *generator, uint64_t index)
{
    return index - generator->opening;
}

/* Whether a block is made of what is kept; the opening never is. */
static int is_guided(const kvc_generator *generator, uint64_t block)
{
    return block >= generator->opening && kvc_guided_takes(&generator->guided, block);
}

/* See draw_kinds. */
static int find_last_kind(const kvc_plan *plan)
{
    int last = KVC_PICKLE;

    for (int kind = last; kind < KVC_OP_KINDS; kind++) {
        if (kvc_plan_has_op(plan, (kvc_op_kind)kind))
            last = kind;
    }
    return last;
}

const kvc_plan *kvc_generator_plan(kvc_generator *generator, uint64_t index, kvc_error *error)
{
    uint64_t block;
    uint64_t number = 0;
    const stage *found;
    kvc_params params;

    if (generator->plan_block <= index && index < generator->plan_end)
        return &generator->plan;
    block = block_start(generator, index);
    found = own_stage(generator, block, &number);
    if (found != NULL) {
        params = kvc_choice_base(&generator->choice, found->combination);
        params.watch = found->length <= SMALL_LENGTH && generator->choice.watch_most > 0;
    } else {
        kvc_random random = kvc_random_of(generator->stream, stream_of(generator, block) ^ 0x5bd1e995u);
        if (is_guided(generator, block)) {
            params = kvc_guided_begin(&generator->guided, &generator->choice, &random);
        } else {
            uint64_t turn = stream_of(generator, block) / KVC_BLOCK / 4;
            params = kvc_choice_random(&generator->choice, &random);
            /* Among short sequences every fourth block is random; with another seed the turns begin elsewhere. */
            params.call = kvc_choice_call(&generator->choice, (index < generator->opening ? index : turn) + generator->seed % 64);
        }
        if (index < generator->opening)
            params.watch = generator->choice.watch_most;
        /* A window of one token is legal, but no model decodes with it. */
        if (generator->draws.like == KVC_ASSISTED && params.window == 1)
            params.window = 2;
    }
    generator->plan_block = UINT64_MAX;
    if (!make_plan(generator, &params, error))
        return NULL;
    kvc_alphabet_make(&generator->plan, &generator->block_alphabet);
    generator->last_kind = find_last_kind(&generator->plan);
    generator->plan_block = block;
    generator->plan_end = kvc_generator_block_end(generator, index);
    generator->plan_stage = found;
    generator->plan_number = number;
    return &generator->plan;
}

/* Takes the op into the sequence and into the model. Returns 1, 0 when it must not stand here, -1 when memory is short. */
static int take(kvc_generator *generator, const kvc_op *op, const kvc_exclusions *exclusions, int careful,
                kvc_sequence *out, kvc_coverage *coverage)
{
    int situation = 0;
    int taken = kvc_draw_take(&generator->model, generator->draws.like, op, exclusions, careful, out, &generator->expectation,
                              &situation);

    if (taken > 0 && coverage != NULL)
        kvc_coverage_planned(coverage, op->kind, situation);
    if (taken > 0 && generator->taken != NULL)
        generator->taken(generator->context, out, &generator->expectation, situation);
    return taken;
}

/* `rest` is the number of the sequence in its stage. */
static int make_exhaustive(kvc_generator *generator, const stage *found, uint64_t rest,
                           const kvc_exclusions *exclusions, kvc_sequence *out, kvc_coverage *coverage)
{
    for (int at = 0; at < found->length; at++) {
        kvc_op op;
        kvc_letter letter = generator->block_alphabet.letter[rest % (uint64_t)found->letters];
        rest /= (uint64_t)found->letters;
        if (kvc_letter_op(letter, &generator->model, &op) &&
            take(generator, &op, exclusions, 0, out, coverage) < 0)
            return 0;
    }
    return 1;
}


/* One of `kinds`, by their weights, of which `sum` is the sum. */
static int weighted_kind(const kvc_generator *generator, unsigned kinds, uint32_t sum, kvc_random *random)
{
    uint32_t pick = kvc_random_below(random, sum);
    int kind = 0;

    for (;; kind++) {
        uint32_t weight = (kinds & (1u << kind)) != 0 ? generator->draws.weight[kind] : 0u;
        if (pick < weight)
            return kind;
        pick -= weight;
    }
}

/* One of `kinds`, all alike: what can only be done first is seldom met otherwise. */
static int any_kind(unsigned kinds, kvc_random *random)
{
    int kind;

    do
        kind = (int)kvc_random_below(random, KVC_OP_KINDS);
    while ((kinds & 1u << kind) == 0);
    return kind;
}

/* Swarm: a random subset of the ops, as bits. Without a branch for what was drawn: no processor guesses those. */
static inline unsigned draw_kinds(const kvc_generator *generator, int is_opening, kvc_random *random)
{
    const kvc_draws *draws = &generator->draws;
    unsigned kinds = 0;

    for (int kind = 1; kind <= generator->last_kind; kind++) {
        /* For ops that came later nothing is drawn where they are missing: the sequences of the others stay what they were. */
        if (kind > KVC_PICKLE && !kvc_plan_has_op(&generator->plan, (kvc_op_kind)kind))
            continue;
        kinds |= (unsigned)!kvc_chance_draw(draws->off[kind], random) << kind;
    }
    /* The opening has all that the profile gives a weight. */
    for (int kind = 1; is_opening && kind < KVC_OP_KINDS; kind++)
        kinds = (kinds & ~(1u << kind)) | (unsigned)(draws->weight[kind] > 0) << kind;
    return kinds & generator->plan.ops;
}

static int make_random(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions, kvc_sequence *out,
                       kvc_coverage *coverage)
{
    kvc_random random = kvc_random_of(generator->stream, stream_of(generator, index));
    int is_opening = index < generator->opening;
    int sequences = kvc_plan_has_sequences(&generator->plan);
    unsigned kinds = 1u << (sequences ? KVC_DECODE : KVC_APPEND);
    uint32_t sum = 0;
    const kvc_draws *draws = &generator->draws;
    int length = draws->least + (int)kvc_random_below(&random, (uint32_t)(draws->most - draws->least + 1));
    int careful = stream_of(generator, index) % 4 != 0;

    if (is_opening)
        length = kvc_random_between(&random, OPENING_OPS_MIN, OPENING_OPS_MAX);
    else if (draws->long_in > 0 && kvc_random_one_in(&random, (uint32_t)draws->long_in))
        length += (int)kvc_random_below(&random, (uint32_t)(draws->long_most + 1 - length));
    kinds |= draw_kinds(generator, is_opening, &random);
    /* A state that only the subject can compute is compared with that of a fresh cache, which has no rows that changed places. */
    if (is_opening && generator->plan.has_opaque && index % 2 == 0)
        kinds &= ~(1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT);
    /* Nothing can be restored that was not saved. */
    if ((kinds & 1u << KVC_SEQ_RESTORE) != 0)
        kinds |= 1u << KVC_SEQ_SAVE & draws->ops;
    /* Without a prefetch an offload is the end of appending. */
    if ((kinds & 1u << KVC_OFFLOAD) != 0)
        kinds |= 1u << KVC_PREFETCH & draws->ops;
    for (unsigned left = kinds, kind = 0; left != 0; left >>= 1, kind++)
        sum += (left & 1u) * draws->weight[kind];
    for (int at = 0; at < length; at++) {
        for (int attempt = 0; attempt < TRIES; attempt++) {
            kvc_op op;
            int good = sequences && kvc_sequences_follow(&generator->model, out->count > 0 ? &out->op[out->count - 1] : NULL, kinds, &random, &op);
            int taken;
            if (!good)
                good = kvc_draw_op(&generator->model, generator->draws.like, &generator->draws.edges,
                                   (kvc_op_kind)(is_opening && at == 0 ? any_kind(kinds, &random) : weighted_kind(generator, kinds, sum, &random)), &random,
                                   &op);
            taken = good ? take(generator, &op, exclusions, careful, out, coverage) : 0;
            if (taken < 0)
                return 0;
            if (taken > 0)
                break;
        }
    }
    /* What an op left shows in what is decoded behind it. */
    if (sequences && out->count > 0 && out->op[out->count - 1].kind != KVC_DECODE) {
        kvc_op op = kvc_sequences_last(&out->op[out->count - 1]);
        return take(generator, &op, exclusions, careful, out, coverage) >= 0;
    }
    return 1;
}

static int make_guided(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions, kvc_sequence *out,
                       kvc_coverage *coverage)
{
    kvc_random random = kvc_random_of(generator->stream, index);

    return kvc_guided_sequence(&generator->guided, &generator->model, exclusions, index % 4 != 0, index % 4 == 1, &random, out, coverage);
}

/* Prefill, then rounds of a draft and one crop; recording from the start, or from the end of the prefill. */
static int make_assisted(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions, kvc_sequence *out,
                         kvc_coverage *coverage)
{
    kvc_random random = kvc_random_of(generator->stream, index);
    int rounds = 1 + (int)kvc_random_below(&random, (uint32_t)generator->draws.rounds);
    int records = kvc_plan_has_op(&generator->plan, KVC_RECORD);
    int late = records && kvc_random_one_in(&random, 2);
    kvc_op record = {.kind = KVC_RECORD, .n = 1};
    kvc_op op = {.kind = KVC_APPEND};

    if (records && !late && take(generator, &record, exclusions, 1, out, coverage) < 0)
        return 0;
    op.n = kvc_random_between(&random, 1, 2 * kvc_plan_boundary(&generator->plan) + 3);
    if (take(generator, &op, exclusions, 1, out, coverage) < 0)
        return 0;
    if (late && take(generator, &record, exclusions, 1, out, coverage) < 0)
        return 0;
    for (int at = 0; at < rounds; at++) {
        int32_t draft = kvc_random_one_in(&random, 4) ? 1 : kvc_draw_append(&generator->model, generator->draws.like, &generator->draws.edges, &random);
        kvc_op append = {.kind = KVC_APPEND, .n = draft};
        int32_t removed = kvc_random_between(&random, 0, draft > 0 ? draft - 1 : 0);
        int trims = kvc_plan_has_op(&generator->plan, KVC_TRIM);
        kvc_op crop = {.kind = trims ? KVC_TRIM : KVC_CROP, .n = trims ? removed : -removed};
        int taken = take(generator, &append, exclusions, 1, out, coverage);
        if (taken > 0 && kvc_plan_has_op(&generator->plan, (kvc_op_kind)crop.kind))
            taken = take(generator, &crop, exclusions, 1, out, coverage);
        if (taken < 0)
            return 0;
    }
    return 1;
}

int kvc_generator_sequence(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions,
                           kvc_sequence *out, kvc_coverage *coverage, kvc_error *error)
{
    const kvc_plan *plan = kvc_generator_plan(generator, index, error);
    int good;

    out->count = 0;
    if (plan == NULL)
        return 0;
    kvc_model_start(&generator->model, plan, NULL);
    if (generator->plan_stage != NULL)
        good = make_exhaustive(generator, generator->plan_stage, generator->plan_number + (index - generator->plan_block), exclusions,
                               out, coverage);
    else if (generator->draws.like == KVC_ASSISTED)
        good = make_assisted(generator, index, exclusions, out, coverage);
    else if (is_guided(generator, block_start(generator, index)))
        good = make_guided(generator, index, exclusions, out, coverage);
    else
        good = make_random(generator, index, exclusions, out, coverage);
    if (!good)
        kvc_error_set(error, "not enough memory");
    return good;
}

const kvc_model *kvc_generator_model(const kvc_generator *generator)
{
    return &generator->model;
}

int kvc_generator_steps(kvc_generator *generator, uint64_t index, const kvc_exclusions *exclusions, kvc_sequence *out,
                        kvc_coverage *coverage, kvc_taken_function taken, void *context, kvc_error *error)
{
    int good;

    generator->taken = taken;
    generator->context = context;
    good = kvc_generator_sequence(generator, index, exclusions, out, coverage, error);
    generator->taken = NULL;
    return good;
}

kvc_params kvc_generator_smallest(const kvc_generator *generator)
{
    return kvc_choice_smallest(&generator->choice);
}
