/* The generator: the same sequences everywhere, all short ones, and only what the profile allows. */
#include "tests/unit/support.h"

#include "harness/alphabet.h"
#include "harness/case.h"
#include "harness/choice.h"
#include "harness/generator.h"

static const char *const builtin_variants[] = {"full",  "indexed",      "window", "convolution", "recurrent", "running", "fixed",
                                               "fixed_window", "ring", "blocks", "overlap", "prefix_window", "fixed_prefix",     "nothing",   "cross",   "quantised",
                                               "hybrid", "layers", NULL};

typedef struct scene {
    kvc_catalogue catalogue;
    const kvc_contract *contract;
    const kvc_spec *spec;
    kvc_generator *generator;
} scene;

static kvc_generator *open_generator(const scene *s, const char *variant, uint64_t seed, kvc_profile profile) {
    kvc_error error = {""};
    kvc_generator *generator =
        kvc_generator_open(&s->catalogue, s->contract, s->spec, variant, "1", builtin_variants, seed, profile, &error);
    cr_assert_not_null(generator, "%s", error.text);
    return generator;
}

static void begin(scene *s, const char *variant, uint64_t seed, kvc_profile profile) {
    read_shipped(&s->catalogue);
    s->contract = kvc_catalogue_contract_by_id(&s->catalogue, "builtin-1");
    s->spec = kvc_catalogue_spec(&s->catalogue, "builtin", variant);
    cr_assert(s->contract != NULL && s->spec != NULL);
    s->generator = open_generator(s, variant, seed, profile);
}

static void end(scene *s) {
    kvc_generator_close(s->generator);
    kvc_catalogue_clear(&s->catalogue);
}

static void make(kvc_generator *generator, uint64_t index, kvc_sequence *out) {
    kvc_error error = {""};
    memset(out, 0, sizeof *out);
    cr_assert(kvc_generator_sequence(generator, index, NULL, out, NULL, &error), "%s", error.text);
    cr_assert(out->count >= 0 && out->count <= KVC_OPS_MAX);
}

/* `append 3;crop -1;` and the parameters in front of it. */
static void write_down(kvc_generator *generator, uint64_t index, int with_params, char *out, size_t size) {
    kvc_sequence sequence;
    kvc_error error = {""};
    size_t used = 0;
    const kvc_plan *plan = kvc_generator_plan(generator, index, &error);
    cr_assert_not_null(plan, "%s", error.text);
    for (int at = 0; with_params && at < KVC_PARAMS; at++) {
        used += (size_t)snprintf(out + used, size - used, "%d ", (int)kvc_param_get(&plan->params, at));
    }
    make(generator, index, &sequence);
    for (int at = 0; at < sequence.count; at++) {
        used += (size_t)kvc_op_format(&sequence.op[at], out + used, size - used);
        used += (size_t)snprintf(out + used, size - used, ";");
        cr_assert_lt(used, size);
    }
    if (sequence.count == 0) {
        (void)snprintf(out + used, size - used, "-");
    }
}

enum { TEXT = 2048, SAMPLE = 3000 };

static int is_exhaustive(const kvc_generator *generator, uint64_t index) {
    return kvc_generator_exhaustive(generator, index + 1) > kvc_generator_exhaustive(generator, index);
}

/* Few random blocks meet every way of calling, with any seed: two of three call by position, the others have their turns. */
Test(generator, ways_of_calling_take_turns) {
    for (uint64_t seed = 1; seed <= 7; seed++) {
        scene s;
        kvc_error error = {""};
        int blocks = 0;
        int by_position = 0;
        unsigned calls = 0;
        begin(&s, "full", seed, KVC_HOSTILE);
        /* Four blocks of the last stage are one turn; there are two ways beside that by position. */
        for (uint64_t index = kvc_generator_tail(s.generator); blocks < 4 * 3 * 2 + 3; index = kvc_generator_block_end(s.generator, index)) {
            const kvc_plan *plan = kvc_generator_plan(s.generator, index, &error);
            cr_assert_not_null(plan, "%s", error.text);
            calls |= 1u << plan->params.call;
            by_position += plan->params.call == KVC_CALL_POSITION;
            blocks++;
        }
        cr_expect_eq(calls, 1u << KVC_CALL_POSITION | 1u << KVC_CALL_KEYWORD | 1u << KVC_CALL_CONTAINER, "seed %d", (int)seed);
        cr_expect(by_position >= 4 * 4 - 3 && by_position <= 4 * 4 + 3, "seed %d: %d by position", (int)seed, by_position);
        end(&s);
    }
}

/* Two generators agree on every sequence, whatever order and pieces they are asked in. */
Test(generator, the_same_everywhere) {
    static const char *const variants[] = {"full", "window", "layers", "fixed_window"};
    for (size_t variant = 0; variant < sizeof variants / sizeof variants[0]; variant++) {
        for (int profile = KVC_HOSTILE; profile <= KVC_ASSISTED; profile++) {
            scene s;
            char a[TEXT];
            char b[TEXT];
            begin(&s, variants[variant], 7, (kvc_profile)profile);
            kvc_generator *other = open_generator(&s, variants[variant], 7, (kvc_profile)profile);
            uint64_t base = kvc_generator_tail(s.generator);
            cr_expect_eq(base, kvc_generator_tail(other));
            for (uint64_t step = 0; step < SAMPLE; step++) {
                /* Backwards, forwards, and in leaps over block and stage borders. */
                uint64_t index = step % 3 == 0 ? base + SAMPLE - step : step % 3 == 1 ? step : step * 7919 % (base + SAMPLE);
                write_down(s.generator, index, 1, a, sizeof a);
                if (step % 5 == 0) {
                    write_down(other, step * 104729 % (base + SAMPLE), 1, b, sizeof b);
                }
                write_down(other, index, 1, b, sizeof b);
                cr_assert_str_eq(a, b, "%s, sequence %llu", variants[variant], (unsigned long long)index);
            }
            kvc_generator_close(other);
            end(&s);
        }
    }
}

Test(generator, another_seed_is_another_run) {
    scene s;
    char a[TEXT];
    char b[TEXT];
    int same = 0;
    begin(&s, "window", 1, KVC_HOSTILE);
    kvc_generator *other = open_generator(&s, "window", 2, KVC_HOSTILE);
    uint64_t base = kvc_generator_tail(s.generator);
    for (uint64_t index = 0; index < 1000; index++) {
        write_down(s.generator, base + index, 1, a, sizeof a);
        write_down(other, base + index, 1, b, sizeof b);
        same += strcmp(a, b) == 0;
    }
    cr_expect_lt(same, 50);
    /* The exhaustive stage does not depend on it. */
    for (uint64_t index = 0; index < base; index += 3) {
        if (!is_exhaustive(s.generator, index)) {
            continue;
        }
        write_down(s.generator, index, 1, a, sizeof a);
        write_down(other, index, 1, b, sizeof b);
        cr_assert_str_eq(a, b);
    }
    kvc_generator_close(other);
    end(&s);
}

/* Every sequence can stand as it is: the model alone says so. */
Test(generator, valid) {
    for (size_t variant = 0; builtin_variants[variant] != NULL; variant++) {
        for (int profile = KVC_HOSTILE; profile <= KVC_ASSISTED; profile++) {
            scene s;
            begin(&s, builtin_variants[variant], 3, (kvc_profile)profile);
            uint64_t base = kvc_generator_tail(s.generator);
            for (uint64_t step = 0; step < 2000; step++) {
                uint64_t index = step < 1000 ? step * 37 % (base + 1) : base + step;
                kvc_sequence sequence;
                kvc_error error = {""};
                const kvc_plan *plan = kvc_generator_plan(s.generator, index, &error);
                cr_assert_not_null(plan, "%s", error.text);
                make(s.generator, index, &sequence);
                cr_assert(kvc_sequence_is_valid(plan, &sequence, &error), "%s: %s", builtin_variants[variant], error.text);
            }
            end(&s);
        }
    }
}

Test(generator, parameters) {
    for (size_t variant = 0; builtin_variants[variant] != NULL; variant++) {
        scene s;
        unsigned dtypes = 0;
        unsigned calls = 0;
        int watched = 0;
        int strided = 0;
        int32_t low[KVC_PARAMS];
        int32_t high[KVC_PARAMS];
        kvc_params standard = kvc_params_standard();
        begin(&s, builtin_variants[variant], 11, KVC_HOSTILE);
        for (int at = 0; at < KVC_PARAMS; at++) {
            low[at] = INT32_MAX;
            high[at] = INT32_MIN;
        }
        uint64_t base = kvc_generator_tail(s.generator);
        for (uint64_t index = 0; index < base + (uint64_t)300 * KVC_BLOCK; index = kvc_generator_block_end(s.generator, index)) {
            kvc_error error = {""};
            const kvc_plan *plan = kvc_generator_plan(s.generator, index, &error);
            cr_assert_not_null(plan, "%s", error.text);
            for (int at = 0; at < KVC_PARAMS; at++) {
                int32_t value = kvc_param_get(&plan->params, at);
                if ((s.spec->params & (1u << at)) != 0) {
                    cr_assert(value >= s.spec->low[at] && value <= s.spec->high[at], "%s: %s is %d", builtin_variants[variant],
                              kvc_param_table()[at].name, (int)value);
                } else if (kvc_param_table()[at].words == NULL && at != kvc_param_find("watch") && at != kvc_param_find("parts") &&
                           at != kvc_param_find("layers")) {
                    cr_assert_eq(value, kvc_param_get(&standard, at), "%s is not used", kvc_param_table()[at].name);
                }
                low[at] = value < low[at] ? value : low[at];
                high[at] = value > high[at] ? value : high[at];
            }
            cr_assert((s.spec->dtypes & (1u << plan->params.dtype)) != 0);
            cr_assert(kvc_choice_allows(s.spec, &plan->params, &error), "%s", error.text);
            dtypes |= 1u << plan->params.dtype;
            calls |= 1u << plan->params.call;
            watched |= plan->params.watch;
            strided |= plan->params.layout;
        }
        /* Three hundred blocks reach every border of every parameter. */
        for (int at = 0; at < KVC_PARAMS; at++) {
            if ((s.spec->params & (1u << at)) != 0) {
                cr_expect(low[at] == s.spec->low[at] && high[at] == s.spec->high[at], "%s: %s from %d to %d",
                          builtin_variants[variant], kvc_param_table()[at].name, (int)low[at], (int)high[at]);
            }
        }
        cr_expect_eq(dtypes, s.spec->dtypes);
        cr_expect_eq(calls, 1u << KVC_CALL_POSITION | 1u << KVC_CALL_KEYWORD | 1u << KVC_CALL_CONTAINER);
        cr_expect(watched && strided);
        end(&s);
    }
}

Test(generator, blocks_and_rounds) {
    scene s;
    begin(&s, "layers", 1, KVC_HOSTILE);
    uint64_t base = kvc_generator_tail(s.generator);
    uint64_t rounds = 0;
    for (uint64_t index = 0; index < base + 10000;) {
        uint64_t block = kvc_generator_block_end(s.generator, index);
        kvc_error error = {""};
        char text[TEXT];
        cr_assert(block > index && block <= index + KVC_BLOCK);
        kvc_params first = kvc_generator_plan(s.generator, index, &error)->params;
        kvc_params last = kvc_generator_plan(s.generator, block - 1, &error)->params;
        cr_assert_eq(memcmp(&first, &last, sizeof first), 0, "a block shares its parameters");
        write_down(s.generator, block - 1, 0, text, sizeof text);
        index = block;
    }
    for (uint64_t index = 0; index < base + 10000; rounds++) {
        uint64_t next = kvc_generator_round_end(s.generator, index);
        cr_assert_gt(next, index);
        cr_assert_eq(kvc_generator_round_end(s.generator, next - 1), next);
        cr_assert(index >= base || next <= base, "a round is of one stage");
        index = next;
    }
    cr_expect_gt(rounds, (uint64_t)4);
    end(&s);
}

/* The tree of all sequences of letters, walked without the generator. */
static uint64_t count_tree(const kvc_plan *plan, const kvc_alphabet *alphabet, kvc_sequence *sequence, int depth, int is_short) {
    uint64_t count = 0;
    for (int letter = 0; depth > 0 && letter < alphabet->count; letter++) {
        kvc_model model;
        kvc_op op;
        kvc_expectation expectation;
        /* The longest sequences are made of the first letters only. */
        if (depth == 1 && (is_short || letter >= alphabet->in_long)) {
            continue;
        }
        cr_assert(kvc_model_open(&model, plan));
        for (int at = 0; at < sequence->count; at++) {
            kvc_model_expect(&model, &sequence->op[at], &expectation);
            cr_assert(kvc_model_commit(&model, &sequence->op[at], &expectation, expectation.verdict == KVC_MUST_REFUSE));
        }
        if (kvc_letter_op(alphabet->letter[letter], &model, &op)) {
            /* Two letters may stand for one op here: crop(-1) of a single token is crop(-held). */
            int twice = 0;
            for (int other = 0; other < letter; other++) {
                kvc_op same;
                twice |= kvc_letter_op(alphabet->letter[other], &model, &same) && kvc_op_compare(&same, &op) == 0;
            }
            kvc_model_expect(&model, &op, &expectation);
            if (!twice && !expectation.unspecified) {
                sequence->op[sequence->count++] = op;
                count += 1 + count_tree(plan, alphabet, sequence, depth - 1, is_short || letter >= alphabet->in_long);
                sequence->count--;
            }
        }
        kvc_model_close(&model);
    }
    return count;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Test(generator, exhaustive) {
    static const char *const variants[] = {"full", "window", "fixed", "recurrent"};
    for (size_t variant = 0; variant < sizeof variants / sizeof variants[0]; variant++) {
        scene s;
        kvc_alphabet alphabet;
        kvc_sequence empty = {0};
        char words[KVC_LETTERS_MAX][48];
        kvc_error error = {""};
        begin(&s, variants[variant], 1, KVC_HOSTILE);
        uint64_t all = kvc_generator_exhaustive(s.generator, UINT64_MAX);
        char **texts = calloc((size_t)all, sizeof *texts);
        uint64_t distinct = 0;
        cr_assert_not_null(texts);
        uint64_t opening = kvc_generator_round_end(s.generator, 0);
        kvc_alphabet_make(kvc_generator_plan(s.generator, opening, &error), &alphabet);
        cr_expect_eq(kvc_generator_alphabet(s.generator, words), alphabet.count);
        cr_expect_leq(alphabet.count, KVC_ALPHABET_MAX);
        cr_expect_geq(alphabet.count, 6);
        uint64_t own = 0;
        for (uint64_t index = 0; index < kvc_generator_tail(s.generator); index++) {
            char text[TEXT];
            if (!is_exhaustive(s.generator, index)) {
                continue;
            }
            write_down(s.generator, index, 0, text, sizeof text);
            texts[own] = malloc(strlen(text) + 1);
            cr_assert_not_null(texts[own]);
            memcpy(texts[own++], text, strlen(text) + 1);
        }
        cr_assert_eq(own, all);
        /* Complete up to a length at the end of its stage, and not before. */
        uint64_t border = opening;
        uint64_t counted = 0;
        cr_expect_eq(kvc_generator_exhaustive(s.generator, border), (uint64_t)0, "it opens with random ones");
        cr_expect_eq(kvc_generator_complete_size(s.generator, 0), 0);
        for (int length = 1; length <= KVC_EXHAUSTIVE_MAX; length++) {
            uint64_t letters = (uint64_t)(length < KVC_EXHAUSTIVE_MAX ? alphabet.count : alphabet.in_long);
            uint64_t power = 1;
            for (int letter = 0; letter < length; letter++) {
                power *= letters;
            }
            uint64_t start = border;
            counted += power;
            border = kvc_generator_round_end(s.generator, start);
            cr_expect_eq(border - start, power + (power - 1) / (3 * KVC_BLOCK) * KVC_BLOCK, "every fourth block is random");
            cr_expect_eq(kvc_generator_exhaustive(s.generator, border), counted);
            cr_expect_eq(kvc_generator_complete_size(s.generator, border - 1), length - 1);
            cr_expect_eq(kvc_generator_complete_size(s.generator, border), length);
        }
        cr_expect_eq(border, kvc_generator_tail(s.generator));
        cr_expect_eq(counted, all);
        qsort(texts, (size_t)all, sizeof *texts, compare_texts);
        for (uint64_t index = 0; index < all; index++) {
            distinct += strcmp(texts[index], "-") != 0 && (index == 0 || strcmp(texts[index - 1], texts[index]) != 0);
        }
        cr_expect_eq(distinct, count_tree(kvc_generator_plan(s.generator, opening, &error), &alphabet, &empty, KVC_EXHAUSTIVE_MAX, 0),
                     "%s: %llu different sequences", variants[variant], (unsigned long long)distinct);
        for (uint64_t index = 0; index < all; index++) {
            free(texts[index]);
        }
        free(texts);
        end(&s);
    }
}

/* The opening: long sequences of every op that there is, each with parameters of its own, among them those that a run seldom has. */
Test(generator, opens_with_long_sequences) {
    static const char *const variants[] = {"full", "window", "ragged", "running"};
    for (size_t variant = 0; variant < sizeof variants / sizeof variants[0]; variant++) {
        scene s;
        kvc_error error = {""};
        begin(&s, variants[variant], 1, KVC_HOSTILE);
        uint64_t opening = kvc_generator_round_end(s.generator, 0);
        unsigned met = 0;
        uint64_t ops = 0;
        cr_assert(opening >= 64 && opening <= 512);
        for (uint64_t index = 0; index < opening; index++) {
            kvc_sequence sequence;
            cr_assert_eq(kvc_generator_block_end(s.generator, index), index + 1);
            cr_assert(kvc_generator_sequence(s.generator, index, NULL, &sequence, NULL, &error));
            cr_assert(kvc_generator_plan(s.generator, index, &error)->params.watch);
            ops += (uint64_t)sequence.count;
            for (int at = 0; at < sequence.count; at++)
                met |= 1u << sequence.op[at].kind;
        }
        cr_expect_gt(ops, 10 * opening, "%s", variants[variant]);
        cr_expect_eq(met, kvc_generator_plan(s.generator, 0, &error)->ops, "%s: %#x", variants[variant], met);
        end(&s);
    }
}

/* Any budget that a run may have has random sequences, and three quarters of it are exhaustive while these last. */
Test(generator, a_small_budget_is_shared) {
    static const char *const variants[] = {"full", "window", "layers", "recurrent"};
    for (size_t variant = 0; variant < sizeof variants / sizeof variants[0]; variant++) {
        scene s;
        begin(&s, variants[variant], 1, KVC_HOSTILE);
        uint64_t opening = kvc_generator_round_end(s.generator, 0);
        uint64_t short_ones = kvc_generator_round_end(s.generator, kvc_generator_round_end(s.generator, opening));
        cr_expect_eq(kvc_generator_complete_size(s.generator, short_ones), 2);
        cr_expect_eq(kvc_generator_settled(s.generator), short_ones);
        cr_expect_eq(kvc_generator_exhaustive(s.generator, short_ones), short_ones - opening);
        short_ones -= opening;
        for (uint64_t budget = short_ones + 512; opening + budget < kvc_generator_tail(s.generator); budget += 97) {
            uint64_t own = kvc_generator_exhaustive(s.generator, opening + budget) - short_ones;
            uint64_t rest = budget - short_ones - own;
            /* A stage ends with own ones, up to three blocks of them. */
            cr_assert(rest >= KVC_BLOCK && own <= 4 * rest + (uint64_t)(6 * KVC_BLOCK), "%s, budget %llu: %llu random",
                      variants[variant], (unsigned long long)budget, (unsigned long long)rest);
        }
        end(&s);
    }
}

/* The arguments of the alphabet are relative to the state. */
Test(generator, letters) {
    static const struct {
        const char *before;
        kvc_letter letter;
        const char *op; /* NULL: none in this state */
    } table[] = {{"append 5", KVC_LETTER_APPEND_ONE, "append 1"},
                 {"append 5", KVC_LETTER_APPEND_BOUNDARY, "append 4"},
                 {"append 5", KVC_LETTER_CROP_ZERO, "crop 0"},
                 {"append 5", KVC_LETTER_CROP_ONE, "crop -1"},
                 {"append 5", KVC_LETTER_CROP_HELD, "crop -5"},
                 {"append 5", KVC_LETTER_CROP_OVER, "crop -6"},
                 {"append 5", KVC_LETTER_CROP_POSITIVE, "crop 1"},
                 {"append 5", KVC_LETTER_RESET, "reset"},
                 {"append 5", KVC_LETTER_REORDER, "reorder [2, 1, 0]"},
                 {"append 5", KVC_LETTER_SELECT, "select [2]"},
                 {"append 5", KVC_LETTER_REPEAT, "repeat 2"},
                 {"append 5", KVC_LETTER_RECORD, "record 1"},
                 {"append 5", KVC_LETTER_RECORD_OFF, "record 0"},
                 {"select 0", KVC_LETTER_REORDER, NULL},
                 {"repeat 2", KVC_LETTER_REPEAT, NULL},
                 {"reset", KVC_LETTER_CROP_OVER, NULL},
                 {"append 1", KVC_LETTER_CROP_HELD, NULL}};
    tiny *s = tiny_open(KEYS("window", ""), RULE("unrecorded", "refuse"));
    s->params.batch = 3;
    s->params.window = 4;
    tiny_plan(s);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        kvc_model model;
        kvc_expectation expectation;
        kvc_op op = op_of(table[at].before);
        char text[64];
        cr_assert(kvc_model_open(&model, &s->plan));
        kvc_model_expect(&model, &op, &expectation);
        cr_assert(kvc_model_commit(&model, &op, &expectation, 0));
        cr_expect_eq(kvc_letter_op(table[at].letter, &model, &op), table[at].op != NULL, "%zu", at);
        if (table[at].op != NULL) {
            (void)kvc_op_format(&op, text, sizeof text);
            cr_expect_str_eq(text, table[at].op);
        }
        cr_expect_gt(strlen(kvc_letter_text(&s->plan, table[at].letter)), (size_t)4);
        kvc_model_close(&model);
    }
    tiny_close(s);
}

/* Assisted decoding: record at most once, a prefill, then rounds of a draft and one crop that keeps a token of it. */
static void expect_assisted(const kvc_sequence *sequence, int records) {
    int recorded = 0;
    int appends = 0;
    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        switch ((kvc_op_kind)op->kind) {
        case KVC_RECORD:
            cr_assert(records && op->n == 1 && !recorded && appends <= 1);
            recorded = 1;
            break;
        case KVC_APPEND:
            cr_assert_gt(op->n, 0);
            appends++;
            break;
        case KVC_CROP:
            cr_assert(at > 0 && sequence->op[at - 1].kind == KVC_APPEND);
            cr_assert(op->n <= 0 && -op->n < sequence->op[at - 1].n, "crop %d after append %d", (int)op->n,
                      (int)sequence->op[at - 1].n);
            break;
        case KVC_RESET:
        case KVC_REORDER:
        case KVC_SELECT:
        case KVC_REPEAT:
        case KVC_OFFLOAD:
        case KVC_PREFETCH:
        case KVC_INITIALIZE:
        case KVC_COPY:
        case KVC_PICKLE:
        case KVC_TRIM:
        case KVC_TRIM_FRONT:
        case KVC_SAVE_FILE:
        case KVC_FROM_STATE:
        case KVC_QUANTIZE:
        default:
            cr_assert_fail("%s in assisted decoding", kvc_op_name((kvc_op_kind)op->kind));
        }
    }
}

Test(generator, assisted) {
    for (size_t variant = 0; builtin_variants[variant] != NULL; variant++) {
        scene s;
        int zero = 0;
        int longest = 0;
        if (strcmp(builtin_variants[variant], "nothing") == 0) {
            continue; /* no draft can be appended to it */
        }
        begin(&s, builtin_variants[variant], 5, KVC_ASSISTED);
        cr_expect_eq(kvc_generator_tail(s.generator), (uint64_t)0);
        for (uint64_t index = 0; index < 3000; index++) {
            kvc_sequence sequence;
            kvc_error error = {""};
            make(s.generator, index, &sequence);
            const kvc_plan *plan = kvc_generator_plan(s.generator, index, &error);
            expect_assisted(&sequence, kvc_plan_has_op(plan, KVC_RECORD));
            longest = sequence.count > longest ? sequence.count : longest;
            /* It does nothing that the contract lets a cache refuse. */
            kvc_model model;
            cr_assert(kvc_model_open(&model, plan));
            for (int at = 0; at < sequence.count; at++) {
                kvc_expectation expectation;
                kvc_model_expect(&model, &sequence.op[at], &expectation);
                cr_assert_eq((int)expectation.verdict, KVC_DO, "%s", builtin_variants[variant]);
                cr_assert(kvc_model_commit(&model, &sequence.op[at], &expectation, 0));
                zero |= sequence.op[at].kind == KVC_CROP && sequence.op[at].n == 0;
            }
            kvc_model_close(&model);
        }
        cr_expect_gt(longest, 3, "%s", builtin_variants[variant]);
        cr_expect(zero, "%s: crop by 0 too", builtin_variants[variant]);
        end(&s);
    }
}

/* The random stage is weighted toward edges. */
Test(generator, edges) {
    scene s;
    uint64_t seen[16] = {0};
    begin(&s, "window", 9, KVC_HOSTILE);
    uint64_t base = kvc_generator_tail(s.generator);
    for (uint64_t index = base; index < base + 4000; index++) {
        kvc_sequence sequence;
        kvc_error error = {""};
        kvc_model model;
        make(s.generator, index, &sequence);
        cr_assert(kvc_model_open(&model, kvc_generator_plan(s.generator, index, &error)));
        for (int at = 0; at < sequence.count; at++) {
            const kvc_op *op = &sequence.op[at];
            kvc_expectation expectation;
            kvc_model_expect(&model, op, &expectation);
            const kvc_situation *here = &expectation.situation;
            seen[0] += here->ask == KVC_ASK_ZERO;
            seen[1] += here->ask == KVC_ASK_ALL;
            seen[2] += here->ask == KVC_ASK_OVER;
            seen[3] += here->ask == KVC_ASK_POSITIVE;
            seen[4] += here->ask != KVC_ASK_NOTHING && here->held == 0;
            seen[5] += here->ask != KVC_ASK_NOTHING && here->held == 1;
            seen[6] += here->ask != KVC_ASK_NOTHING && here->cropped;
            seen[7] += here->recording == 1;
            seen[8] += here->recording == 2;
            seen[9] += here->reached == 2;
            seen[10] += op->kind == KVC_APPEND && op->n > model.plan->params.window;
            seen[11] += op->kind == KVC_REORDER && model.rows > 1;
            seen[12] += op->kind == KVC_RECORD && op->n == 0;
            seen[13] += op->kind == KVC_CROP && op->n == -1;
            seen[14] += op->kind == KVC_REPEAT;
            seen[15] += op->kind == KVC_SELECT;
            cr_assert(kvc_model_commit(&model, op, &expectation, expectation.verdict == KVC_MUST_REFUSE));
        }
        kvc_model_close(&model);
    }
    for (size_t at = 0; at < 16; at++) {
        cr_expect_gt(seen[at], (uint64_t)20, "edge %zu was reached %llu times", at, (unsigned long long)seen[at]);
    }
    end(&s);
}

typedef struct taken_so_far {
    const kvc_generator *generator;
    uint64_t ops;
    int32_t length; /* of the cache behind the last op */
} taken_so_far;

static void count_taken(void *context, const kvc_sequence *ops, const kvc_expectation *expectation, int code) {
    taken_so_far *self = context;
    cr_assert_eq(code, kvc_situation_code(&expectation->situation));
    self->ops += ops->count > 0;
    self->length = kvc_generator_model(self->generator)->length;
}

Test(generator, steps_are_those_of_the_sequence) {
    scene s;
    begin(&s, "window", 1, KVC_HOSTILE);
    for (uint64_t index = 0; index < 500; index++) {
        kvc_sequence whole;
        kvc_sequence stepwise;
        kvc_error error = {""};
        taken_so_far taken = {.generator = s.generator};
        cr_assert(kvc_generator_sequence(s.generator, index, NULL, &whole, NULL, &error), "%s", error.text);
        cr_assert(kvc_generator_steps(s.generator, index, NULL, &stepwise, NULL, count_taken, &taken, &error), "%s", error.text);
        cr_assert_eq(kvc_ops_compare(whole.op, (size_t)whole.count, stepwise.op, (size_t)stepwise.count), 0);
        cr_assert_eq(taken.ops, (uint64_t)whole.count);
        cr_assert_eq(taken.length, kvc_generator_model(s.generator)->length);
    }
    end(&s);
}

Test(generator, exclusions_and_coverage) {
    scene s;
    kvc_exclusions *exclusions = calloc(1, sizeof *exclusions);
    kvc_coverage *coverage = calloc(1, sizeof *coverage);
    uint64_t planned = 0;
    uint64_t ops = 0;
    uint64_t resets = 0;
    cr_assert(exclusions != NULL && coverage != NULL);
    begin(&s, "full", 1, KVC_HOSTILE);
    memset(exclusions->always[KVC_CROP], 1, sizeof exclusions->always[KVC_CROP]);
    memset(exclusions->often[KVC_RESET], 1, sizeof exclusions->often[KVC_RESET]);
    exclusions->changes = 1;
    uint64_t base = kvc_generator_tail(s.generator);
    for (uint64_t index = 0; index < base + 2000; index++) {
        kvc_sequence sequence;
        kvc_error error = {""};
        cr_assert(kvc_generator_sequence(s.generator, index, exclusions, &sequence, coverage, &error), "%s", error.text);
        ops += (uint64_t)sequence.count;
        for (int at = 0; at < sequence.count; at++) {
            cr_assert_neq((int)sequence.op[at].kind, KVC_CROP);
            resets += index >= base && sequence.op[at].kind == KVC_RESET;
        }
    }
    cr_expect_gt(resets, (uint64_t)0, "left out of three sequences in four, not of all");
    for (int kind = 0; kind < KVC_OP_KINDS; kind++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            planned += coverage->of[kind][code].planned;
            cr_expect_eq(coverage->of[kind][code].judged, (uint64_t)0);
        }
    }
    cr_expect_eq(planned, ops);
    free(exclusions);
    free(coverage);
    end(&s);
}

/* Parts and parameters that came with a later version are not tried in an earlier one. */
Test(generator, what_a_version_has) {
    static const char *const names[] = {"DynamicLayer", "DynamicIndexedLayer", "LinearAttentionLayer", "DynamicCache", NULL};
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_rules rules;
    kvc_choice choice;
    read_shipped(&catalogue);
    const kvc_contract *old = kvc_catalogue_contract_by_id(&catalogue, "transformers-5.17");
    const kvc_contract *newest = kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24");
    const kvc_spec *spec = kvc_catalogue_spec(&catalogue, "transformers", "DynamicIndexedLayer");
    kvc_catalogue_rules(&catalogue, old, spec->variant, &rules);
    kvc_choice_make(&catalogue, spec, &rules, "5.17.0", names, &choice);
    for (int at = 0; at < choice.combinations; at++) {
        cr_expect_null(strstr(spec->part_choice[choice.parts[at]], "positions"));
    }
    int before = choice.combinations;
    kvc_catalogue_rules(&catalogue, newest, spec->variant, &rules);
    kvc_choice_make(&catalogue, spec, &rules, "5.24.0", names, &choice);
    cr_expect_gt(choice.combinations, before);
    /* Layers are chosen from the variants that the subject has. */
    spec = kvc_catalogue_spec(&catalogue, "transformers", "DynamicCache");
    kvc_catalogue_rules(&catalogue, newest, spec->variant, &rules);
    kvc_choice_make(&catalogue, spec, &rules, "5.24.0", names, &choice);
    cr_expect_gt(choice.combinations, 0);
    for (int at = 0; at < choice.combinations; at++) {
        cr_expect_null(strstr(spec->layer_choice[choice.layers[at]], "Sliding"), "%s", spec->layer_choice[choice.layers[at]]);
    }
    static const char *const none[] = {NULL};
    cr_expect_null(kvc_generator_open(&catalogue, newest, spec, "DynamicCache", "5.24.0", none, 1, KVC_HOSTILE, &error));
    cr_expect_not_null(strstr(error.text, "DynamicCache"), "%s", error.text);
    kvc_catalogue_clear(&catalogue);
}

/* A container's parts are found in its layers by name, and choices that no layer can tell apart are one. */
Test(generator, parts_of_layers) {
    static const char *const names[] = {"DynamicLayer", "DynamicIndexedLayer", "LinearAttentionLayer", "DynamicCache", NULL};
    kvc_catalogue catalogue;
    kvc_error error = {""};
    kvc_rules rules;
    kvc_choice choice;
    kvc_params params = kvc_params_standard();
    kvc_plan plan;
    int plain = 0;
    int folded = 0;
    read_shipped(&catalogue);
    const kvc_contract *newest = kvc_catalogue_contract_by_id(&catalogue, "transformers-5.24");
    const kvc_spec *spec = kvc_catalogue_spec(&catalogue, "transformers", "DynamicCache");
    kvc_catalogue_rules(&catalogue, newest, spec->variant, &rules);
    kvc_choice_make(&catalogue, spec, &rules, "5.24.0", names, &choice);
    for (int at = 0; at < choice.combinations; at++) {
        const char *layers = spec->layer_choice[choice.layers[at]];
        plain += strcmp(layers, "DynamicLayer+DynamicLayer") == 0;
        if (strcmp(layers, "DynamicLayer+LinearAttentionLayer") != 0)
            continue;
        params.layers = choice.layers[at];
        params.parts = choice.parts[at];
        cr_assert(kvc_plan_make(&catalogue, newest, spec, "DynamicCache", &params, &plan, &error), "%s", error.text);
        for (int slot = 0; slot < plan.slots; slot++)
            folded += plan.slot[slot].view->rule == KVC_RULE_FOLDED;
        cr_expect_eq(plan.slots, strstr(spec->part_choice[params.parts], "recurrent") != NULL ? 4 : 3);
    }
    cr_expect_eq(plain, 1);
    cr_expect_eq(folded, 1);
    kvc_catalogue_clear(&catalogue);
}

Test(generator, random_numbers) {
    kvc_random a = kvc_random_for(1, "full", 0);
    kvc_random b = kvc_random_for(1, "full", 0);
    uint64_t counts[7] = {0};
    for (int at = 0; at < 1000; at++) {
        cr_assert_eq(kvc_random_next(&a), kvc_random_next(&b));
    }
    cr_expect_neq(kvc_random_for(1, "full", 0).state, kvc_random_for(1, "full", 1).state);
    cr_expect_neq(kvc_random_for(1, "full", 0).state, kvc_random_for(2, "full", 0).state);
    cr_expect_neq(kvc_random_for(1, "full", 0).state, kvc_random_for(1, "ful", 0).state);
    cr_expect_neq(kvc_random_for(1, "", 0).state, kvc_random_for(0, "", 1).state);
    cr_expect_eq(kvc_random_below(&a, 0), 0u);
    cr_expect_eq(kvc_random_below(&a, 1), 0u);
    cr_expect_eq(kvc_random_between(&a, 3, 3), 3);
    cr_expect_eq(kvc_random_between(&a, 3, 2), 3);
    for (int at = 0; at < 7000; at++) {
        int32_t number = kvc_random_between(&a, -3, 3);
        cr_assert(number >= -3 && number <= 3);
        counts[number + 3]++;
    }
    for (int at = 0; at < 7; at++) {
        cr_expect(counts[at] > 850 && counts[at] < 1150, "%d came %llu times in 7000", at - 3, (unsigned long long)counts[at]);
    }
    cr_expect_leq(kvc_random_between(&a, INT32_MIN, INT32_MAX - 1), INT32_MAX);
}

/* The same functions draw from bytes: little-endian, one byte for a choice of up to 256; behind the end they count up. */
Test(generator, choices_from_bytes) {
    static const uint8_t bytes[] = {5, 0, 250, 1, 2, 3, 0, 0, 1};
    kvc_random from = kvc_random_from(bytes, sizeof bytes);
    uint32_t met = 0;
    cr_expect_eq(kvc_random_below(&from, 0), 0u);
    cr_expect_eq(kvc_random_below(&from, 8), 5u);
    cr_expect(kvc_random_one_in(&from, 4));
    cr_expect_eq(kvc_random_between(&from, -3, 3), -3 + 250 % 7);
    cr_expect_eq(kvc_random_below(&from, 1000), 0x0201u % 1000u);
    cr_expect_eq(kvc_random_below(&from, 1u << 20), 3u);
    cr_expect_eq(kvc_random_between(&from, 3, 3), 3);
    for (int at = 0; at < 5; at++)
        met |= 1u << kvc_random_below(&from, 5);
    cr_expect_eq(met, 31u, "what is drawn until it fits must come to an end");
    from = kvc_random_from(NULL, 0);
    cr_expect_eq(kvc_random_below(&from, 7), 0u);
}
