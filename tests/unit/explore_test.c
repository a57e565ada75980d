/*
 * Exploring the built-in caches with a crew of workers: nothing is found in correct ones, and in broken ones the law and the smallest
 * case that their description implies, whatever the number of workers.
 *
 * KVC_SLOW multiplies the time that a worker may stand still, for tools that make everything slow.
 */
#include "adapters/builtin/builtin.h"
#include "tests/unit/support.h"

#include <poll.h>
#include <signal.h>

#include "harness/explore.h"

/* Long enough that a busy machine is not taken for a hang; a cache that hangs is waited for so long a few times. */
enum { STALL_MS = 1500, GROWTH_MB = 16, PROVE = 20000 };

static const char *const all_variants[] = {"full",  "indexed", "window", "convolution", "recurrent", "running", "fixed", "fixed_window",
                                           "ring",  "blocks",  "overlap", "prefix_window", "fixed_prefix", "nothing", "cross",  "quantised", "hybrid",      "layers",    NULL};

typedef struct scene {
    kvc_catalogue catalogue;
    const kvc_contract *contract;
    kvc_crew_options options;
    kvc_crew *crew;
    kvc_generator *generator;
    kvc_bench bench;
    kvc_exploration out;
    kvc_error error;
    char variant[KVC_SPEC_NAME_MAX];
} scene;

static int slowness(void) {
    const char *text = getenv("KVC_SLOW");
    return text != NULL && atoi(text) > 0 ? atoi(text) : 1;
}

/* `crop` is what the contract says of a crop: its first rule. */
static scene *begin_under(unsigned crop, const kvc_plugin *plugin, int jobs) {
    scene *s = calloc(1, sizeof *s);
    const cJSON *hello = NULL;
    cr_assert_not_null(s);
    read_shipped(&s->catalogue);
    s->contract = kvc_catalogue_contract_by_id(&s->catalogue, "builtin-1");
    cr_assert_eq((int)s->contract->rule->name, KVC_CONTRACT_CROP);
    s->contract->rule->value = crop;
    s->options = (kvc_crew_options){.catalogue = &s->catalogue,
                                    .access = {.plugin = plugin},
                                    .jobs = jobs,
                                    .stall_ms = STALL_MS * slowness(),
                                    .memory_limit = (uint64_t)1 << 30,
                                    .growth_limit = (uint64_t)GROWTH_MB << 20};
    s->crew = kvc_crew_open(&s->options, &s->error);
    cr_assert_not_null(s->crew, "%s", s->error.text);
    cr_assert_eq((int)kvc_crew_hello(s->crew, &hello, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cr_expect_str_eq(cJSON_GetObjectItemCaseSensitive(hello, "subject")->valuestring, "builtin");
    return s;
}

static scene *begin_with(const kvc_plugin *plugin, int jobs) {
    return begin_under(KVC_CROP_REMOVE, plugin, jobs);
}

static scene *begin(int jobs) {
    return begin_with(kvc_builtin_plugin(), jobs);
}

static void forget(scene *s) {
    kvc_exploration_clear(&s->out);
    kvc_generator_close(s->generator);
    s->generator = NULL;
}

static void end(scene *s) {
    forget(s);
    kvc_crew_close(s->crew);
    kvc_catalogue_clear(&s->catalogue);
    free(s);
}

static void choose(scene *s, const char *variant, uint64_t seed) {
    kvc_selection selection = {.subject = "builtin", .version = "1", .contract = "builtin-1", .seed = seed};
    const kvc_spec *spec = kvc_catalogue_spec(&s->catalogue, "builtin", variant);
    cr_assert_not_null(spec, "%s", variant);
    forget(s);
    (void)snprintf(s->variant, sizeof s->variant, "%s", variant);
    (void)snprintf(selection.variant, sizeof selection.variant, "%s", variant);
    kvc_profile_of(KVC_HOSTILE, &selection.draws);
    s->generator = kvc_generator_open(&s->catalogue, s->contract, spec, s->variant, "1", all_variants, seed, KVC_HOSTILE, &s->error);
    cr_assert_not_null(s->generator, "%s", s->error.text);
    s->bench = (kvc_bench){s->crew, &s->catalogue, s->contract, spec, s->variant, kvc_generator_smallest(s->generator), PROVE, NULL};
    cr_assert_eq((int)kvc_crew_choose(s->crew, &selection, s->generator, &s->error), KVC_CREW_DONE, "%s", s->error.text);
}

/* 0: all short sequences, and some blocks of random ones, in which ops are called in other ways too. */
static void explore(scene *s, const char *variant, uint64_t sequences) {
    kvc_explore_options options = {.sequences = sequences};
    choose(s, variant, 1);
    if (sequences == 0) {
        sequences = options.sequences = kvc_generator_tail(s->generator) + 4096;
    }
    cr_assert_eq((int)kvc_explore(&s->bench, s->generator, &options, &s->out, &s->error), KVC_CREW_DONE, "%s: %s", variant,
                 s->error.text);
    cr_expect_eq(s->out.sequences, sequences);
    cr_expect_eq(s->out.interrupted, 0);
}

/* The ops of a finding, `append 2, crop -3`. */
static const char *ops_of(const kvc_finding *finding, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (int at = 0; at < finding->sequence.count && used < size; at++) {
        used += (size_t)snprintf(out + used, size - used, "%s", at > 0 ? ", " : "");
        used += (size_t)kvc_op_format(&finding->sequence.op[at], out + used, size - used);
    }
    return out;
}

Test(explore, correct_caches) {
    scene *s = begin(2);
    for (size_t at = 0; all_variants[at] != NULL; at++) {
        uint64_t judged = 0;
        uint64_t planned = 0;
        char ops[512] = "";
        explore(s, all_variants[at], 5000);
        cr_expect_eq(s->out.findings, 0, "%s: %s: %s", all_variants[at], s->out.findings > 0 ? s->out.finding[0].id : "",
                     s->out.findings > 0 ? ops_of(&s->out.finding[0], ops, sizeof ops) : "");
        for (int kind = 0; kind < KVC_OP_KINDS; kind++) {
            for (int code = 0; code < KVC_SITUATIONS; code++) {
                judged += s->out.coverage.of[kind][code].judged;
                planned += s->out.coverage.of[kind][code].planned;
            }
        }
        cr_expect_eq(judged, s->out.ops, "%s: %llu judged", all_variants[at], (unsigned long long)judged);
        cr_expect_eq(planned, judged, "%s: every planned op was judged", all_variants[at]);
        cr_expect_geq(s->out.exhaustive_size, 3);
        cr_expect_eq(s->out.lost, 0);
    }
    end(s);
}

/* One broken cache for each law, with the smallest case that its description in docs/builtin.md implies. NULL: not unique. */
Test(explore, broken_caches) {
    static const struct {
        const char *variant;
        kvc_law law;
        const char *ops;
    } table[] = {
        {"full+over_removal_leaves_stale", KVC_CLAMP, "append 2, crop -3"},
        {"full+zero_empties", KVC_ZERO, "append 1, crop 0"},
        {"full+full_crop_refused", KVC_REFUSE, "append 1, crop -1"},
        {"full+unused_crop_raises", KVC_REFUSE, "crop -1"},
        {"full+keyword_ignored", KVC_CALL, "append 1, crop -1"},
        {"full+reset_keeps_values", KVC_RESET_LAW, "append 1, reset"},
        {"full+reorder_keys_only", KVC_BATCH, "append 1, reorder [0, 0]"},
        {"full+length_not_rolled_back", KVC_LENGTH, "append 1, crop -1"},
        {"full+append_repeats_row", KVC_KEYS, "append 1"},
        {"full+values_not_cropped", KVC_VALUES, "append 1, crop -1"},
        {"full+returns_new_only", KVC_RETURN, "append 1, append 1"},
        {"full+mask_not_rolled_back", KVC_MASK, "append 1, crop -1, append 1"},
        {"full+input_written", KVC_ALIAS, "append 2"},
        {"full+position_not_rolled_back", KVC_POSITION, "append 1, crop -1"},
        {"full+late_stale_value", KVC_VALUES, NULL},
        {"indexed+index_one_short", KVC_INDEX, "append 2, crop -1"},
        {"indexed+over_removal_index_left", KVC_CLAMP, "append 2, crop -3"},
        {"window+double_crop_loses", KVC_REFUSE, NULL},
        {"window+refuses_recorded", KVC_HONEST, NULL},
        {"convolution+pads_right", KVC_STATE, "append 1"},
        {"recurrent+refused_crop_clears", KVC_ATOMIC, "append 1, crop -1"},
        {"recurrent+claims_lost_tokens", KVC_HONEST, "append 1, crop -1"},
        {"recurrent+claims_and_refuses", KVC_HONEST, "append 1, crop -1"},
        {"running+not_reset_on_full_crop", KVC_RESUME, "append 1, crop -1, append 1"},
        {"running+chunk_dependent", KVC_CHUNK, "append 2"},
        {"fixed+overflow_wraps", KVC_REFUSE, "append 5"},
        {"fixed+reset_moves_buffer", KVC_ADDRESS, "crop 0, reset"},
        {"full+offload_drops_values", KVC_SAVE, "append 1, offload"},
        {"full+prefetch_restores_stale", KVC_SAVE, "append 2, offload, crop -1, prefetch"},
        {"full+initialize_wrong_dtype", KVC_KEYS, "initialize, append 1"},
        {"full+copy_shares_values", KVC_ISOLATION, "append 1, copy, crop -1, append 1"},
        {"full+copy_empties_original", KVC_ISOLATION, "append 1, copy"},
        {"window+copy_loses_recording", KVC_SAVE, NULL},
        {"fixed+copy_shares_buffers", KVC_ISOLATION, "copy, append 1"},
        {"fixed+pickle_loses_count", KVC_SAVE, "append 1, pickle"},
        {"fixed+initialize_counts", KVC_LENGTH, "initialize"},
        {"fixed+initialize_one_cell_short", KVC_KEYS, "initialize"},
        {"layers+container_skips_last", KVC_CALL, NULL},
        {"layers+crop_half_done", KVC_ATOMIC, NULL},
    };
    scene *s = begin(2);
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        char ops[512];
        int first = -1;
        explore(s, table[at].variant, 0);
        for (int finding = 0; finding < s->out.findings; finding++) {
            const kvc_finding *have = &s->out.finding[finding];
            cr_expect_eq(have->flaky, 0, "%s: %s", table[at].variant, have->id);
            cr_expect_gt(have->failures, (uint64_t)0);
            cr_expect_eq(have->failure.step, have->sequence.count - 1, "its last op fails");
            cr_expect_not_null(strstr(have->detail, "\"expected\""), "%s: %s", have->id, have->detail);
            cr_expect_eq(strncmp(have->id, kvc_law_name(have->law), strlen(kvc_law_name(have->law))), 0);
            if (first < 0 && have->law == table[at].law) {
                first = finding;
            }
        }
        cr_assert_geq(first, 0, "%s: %d findings, none of law %s, first %s", table[at].variant, s->out.findings,
                      kvc_law_name(table[at].law), s->out.findings > 0 ? kvc_law_name(s->out.finding[0].law) : "");
        cr_expect(s->out.finding[first].proved, "%s: %s: %llu smaller ones were tried", table[at].variant,
                  ops_of(&s->out.finding[first], ops, sizeof ops), (unsigned long long)s->out.finding[first].smaller_tried);
        if (table[at].ops != NULL) {
            cr_expect_str_eq(ops_of(&s->out.finding[first], ops, sizeof ops), table[at].ops, "%s: %s", table[at].variant, ops);
        }
    }
    end(s);
}

/* Everything that a result says of an exploration, but times. */
static void write_down(const kvc_exploration *out, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%llu %llu %d %d\n", (unsigned long long)out->sequences, (unsigned long long)out->ops,
                                   out->findings, out->lost);
    for (int at = 0; at < out->findings; at++) {
        const kvc_finding *finding = &out->finding[at];
        char ops[512];
        used += (size_t)snprintf(text + used, size - used, "%s %s %s: %s; %llu failures, also %x, proved %d after %llu, flaky %d, params",
                                 finding->id, finding->tensor, finding->situation, ops_of(finding, ops, sizeof ops),
                                 (unsigned long long)finding->failures, (unsigned)finding->also, finding->proved,
                                 (unsigned long long)finding->smaller_tried, finding->flaky);
        for (int param = 0; param < KVC_PARAMS; param++) {
            used += (size_t)snprintf(text + used, size - used, " %d", (int)kvc_param_get(&finding->params, param));
        }
        used += (size_t)snprintf(text + used, size - used, "\n");
        cr_assert_lt(used, size);
    }
}

Test(explore, any_number_of_workers) {
    static const char *const variants[] = {"full+over_removal_leaves_stale", "window+double_crop_loses", "layers+crop_half_done",
                                           "running+not_reset_on_full_crop", "full+aborts_when_empty_again"};
    static char text[3][65536];
    static kvc_coverage coverage[3];
    for (size_t at = 0; at < sizeof variants / sizeof variants[0]; at++) {
        for (int jobs = 1; jobs <= 3; jobs++) {
            scene *s = begin(jobs);
            /* All workers take part from the start. */
            (void)poll(NULL, 0, 50);
            explore(s, variants[at], 7000);
            cr_expect_gt(s->out.findings, 0, "%s", variants[at]);
            write_down(&s->out, text[jobs - 1], sizeof text[0]);
            coverage[jobs - 1] = s->out.coverage;
            end(s);
        }
        cr_expect_str_eq(text[1], text[0], "%s: 2 workers:\n%s1 worker:\n%s", variants[at], text[1], text[0]);
        cr_expect_str_eq(text[2], text[0], "%s: 3 workers:\n%s1 worker:\n%s", variants[at], text[2], text[0]);
        if (strcmp(variants[at], "full+aborts_when_empty_again") != 0) {
            cr_expect_eq(memcmp(&coverage[0], &coverage[1], sizeof coverage[0]), 0, "%s", variants[at]);
            cr_expect_eq(memcmp(&coverage[0], &coverage[2], sizeof coverage[0]), 0, "%s", variants[at]);
        }
    }
}

/* A run that was bounded by time records how many sequences it finished, and that number reproduces it. */
Test(explore, bounded_by_time) {
    static char text[2][65536];
    scene *s = begin(2);
    kvc_explore_options options = {.sequences = UINT64_MAX, .milliseconds = 150};
    choose(s, "window+double_crop_loses", 1);
    cr_assert_eq((int)kvc_explore(&s->bench, s->generator, &options, &s->out, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cr_expect_gt(s->out.sequences, (uint64_t)0);
    cr_expect_lt(s->out.sequences, (uint64_t)10000000);
    uint64_t sequences = s->out.sequences;
    write_down(&s->out, text[0], sizeof text[0]);
    explore(s, "window+double_crop_loses", sequences);
    write_down(&s->out, text[1], sizeof text[1]);
    cr_expect_str_eq(text[0], text[1], "%s%s", text[0], text[1]);
    end(s);
}

/* A cache that ends its process, stands still or swells costs a worker, not the run. */
Test(explore, deadly_caches, .timeout = 120) {
    static const struct {
        const char *variant;
        kvc_deviation deviation;
        const char *ops; /* NULL: not unique */
    } table[] = {{"full+aborts_when_empty_again", KVC_CRASHED, "append 1, crop -1, crop 0"},
                 {"full+hangs_on_second_zero", KVC_HUNG, "crop 0, crop 0"},
                 {"full+leaks_memory", KVC_SWELLED, NULL}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        scene *s = begin(2);
        char ops[512];
        explore(s, table[at].variant, 2600);
        cr_assert_geq(s->out.findings, 1, "%s", table[at].variant);
        const kvc_finding *finding = &s->out.finding[0];
        cr_expect_eq((int)finding->law, KVC_ALIVE, "%s: %s", table[at].variant, kvc_law_name(finding->law));
        cr_expect_eq((int)finding->failure.deviation, (int)table[at].deviation, "%s: %s", table[at].variant,
                     kvc_deviation_text((kvc_deviation)finding->failure.deviation));
        if (table[at].ops != NULL) {
            cr_expect_str_eq(ops_of(finding, ops, sizeof ops), table[at].ops, "%s: %s", table[at].variant, ops);
        }
        cr_expect_not_null(strstr(finding->detail, "expected"), "%s", finding->detail);
        /* The same crew goes on with another variant. */
        explore(s, "full", 300);
        cr_expect_eq(s->out.findings, 0);
        end(s);
    }
}

static volatile sig_atomic_t stop_now;

static void stop_soon(void *context, uint64_t sequences) {
    (void)context;
    if (sequences > 0) {
        stop_now = 1;
    }
}

Test(explore, interrupted) {
    scene *s = begin(2);
    kvc_explore_options options = {.sequences = UINT64_MAX};
    kvc_crew_close(s->crew);
    s->options.stop = &stop_now;
    s->options.progress = stop_soon;
    s->crew = kvc_crew_open(&s->options, &s->error);
    cr_assert_not_null(s->crew);
    choose(s, "full", 1);
    s->bench.crew = s->crew;
    cr_expect_eq((int)kvc_explore(&s->bench, s->generator, &options, &s->out, &s->error), KVC_CREW_STOPPED);
    cr_expect_eq(s->out.interrupted, 1);
    cr_expect_eq(s->out.findings, 0);
    end(s);
}

/* A plugin that reports a wrong length now and then, whatever is done. */
static void run_flaky(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    static int count;
    kvc_builtin_plugin()->run(cache, op, numbers, out);
    if (++count % 499 == 0) {
        out->length[0]++;
    }
}

Test(explore, flaky) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    plugin.run = run_flaky;
    scene *s = begin_with(&plugin, 1);
    explore(s, "full", 1500);
    cr_assert_gt(s->out.findings, 0);
    for (int at = 0; at < s->out.findings; at++) {
        cr_expect(s->out.finding[at].flaky, "%s", s->out.finding[at].id);
    }
    end(s);
}

/* A plugin that refuses to remove anything, as a contract may allow. */
static void refuse_crops(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    static const kvc_op positive = {.kind = KVC_CROP, .n = 1}; /* is refused */
    kvc_builtin_plugin()->run(cache, op->kind == KVC_CROP ? &positive : op, numbers, out);
    if (op->kind == KVC_CROP && op->n <= 0) {
        kvc_refuse(out, "RuntimeError", "nothing is removed");
    }
}

/* What a fresh cache is given are the tokens that the subject kept, not those that it would have kept had it done what it may refuse. */
Test(explore, a_refused_crop_leaves_its_tokens_to_compare) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    plugin.run = refuse_crops;
    scene *s = begin_under(KVC_CROP_EITHER, &plugin, 1);
    explore(s, "running", 1500);
    cr_expect_eq(s->out.findings, 0, "%s", s->out.findings > 0 ? s->out.finding[0].id : "");
    end(s);
}

static kvc_sequence sequence_of(const char *const *ops) {
    kvc_sequence out = {0};
    for (; *ops != NULL; ops++) {
        out.op[out.count++] = op_of(*ops);
    }
    return out;
}

/* Many cases at once, some of which end the worker. */
/* A case, as a finding that has not been made smaller. */
static kvc_finding met(scene *s, const char *variant, int32_t window, const kvc_op *ops, int count) {
    kvc_finding finding = {.failures = 1};
    uint8_t failed = 0;
    choose(s, variant, 1);
    finding.params = s->bench.smallest;
    finding.params.window = window;
    finding.sequence.count = count;
    memcpy(finding.sequence.op, ops, (size_t)count * sizeof *ops);
    cr_assert_eq((int)kvc_crew_evaluate(s->crew, &finding.params, &finding.sequence, 1, &failed, &finding.failure, &s->error),
                 KVC_CREW_DONE, "%s", s->error.text);
    cr_assert_eq((int)failed, 1, "%s", variant);
    cr_assert(kvc_finding_name(&s->bench, &finding, &s->error), "%s", s->error.text);
    return finding;
}

Test(explore, a_window_of_one_is_part_of_a_fault_only_if_no_other_shows_it) {
    static const kvc_op held[] = {{.kind = KVC_APPEND, .n = 3}};
    scene *s = begin(1);
    kvc_finding wide = met(s, "window+keeps_too_many", 2, held, 1);
    kvc_finding narrow = met(s, "window+keeps_too_many", 1, held, 1);
    cr_expect(narrow.failure.narrow);
    cr_expect_str_neq(narrow.id, wide.id);
    cr_assert_eq((int)kvc_finding_shrink(&s->bench, &narrow, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cr_assert(kvc_finding_name(&s->bench, &narrow, &s->error), "%s", s->error.text);
    cr_expect_eq((int)narrow.failure.narrow, 0);
    cr_expect_geq(narrow.params.window, 2);
    cr_expect_str_eq(narrow.id, wide.id);
    end(s);
}

Test(crew, evaluate) {
    enum { COUNT = 40 };
    static const char *const good[] = {"append 3", "crop -1", NULL};
    static const char *const deadly[] = {"append 2", "crop -2", "crop -1", "append 1", NULL};
    static const char *const positive[] = {"append 1", "crop 1", NULL};
    scene *s = begin(1);
    kvc_params params = kvc_params_standard();
    kvc_sequence *cases = calloc(COUNT, sizeof *cases);
    kvc_failure failure[COUNT];
    uint8_t failed[COUNT];
    cr_assert_not_null(cases);
    choose(s, "full+aborts_when_empty_again", 1);
    for (int at = 0; at < COUNT; at++) {
        cases[at] = sequence_of(at % 7 == 3 ? deadly : at % 2 == 0 ? good : positive);
    }
    memset(failed, 7, sizeof failed);
    cr_assert_eq((int)kvc_crew_evaluate(s->crew, &params, cases, COUNT, failed, failure, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    for (int at = 0; at < COUNT; at++) {
        cr_expect_eq((int)failed[at], at % 7 == 3, "case %d", at);
        if (at % 7 == 3) {
            cr_expect_eq((int)failure[at].law, KVC_ALIVE);
            cr_expect_eq((int)failure[at].deviation, KVC_CRASHED);
            cr_expect_eq(failure[at].step, 2);
            cr_expect_eq((int)failure[at].op, KVC_CROP);
        }
    }
    free(cases);
    end(s);
}

Test(crew, detail) {
    static const char *const fails[] = {"append 1", "crop 0", NULL};
    static const char *const holds[] = {"append 1", "crop -1", NULL};
    scene *s = begin(1);
    kvc_params params = kvc_params_standard();
    kvc_sequence sequence = sequence_of(fails);
    const char *text = NULL;
    choose(s, "full+zero_empties", 1);
    cr_assert_eq((int)kvc_crew_detail(s->crew, &params, &sequence, &text, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cJSON *json = cJSON_Parse(text);
    cr_assert_not_null(json, "%s", text);
    cr_expect(cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "expected")));
    cr_expect(cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(json, "observed")));
    cr_expect(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "title")));
    cJSON_Delete(json);
    sequence = sequence_of(holds);
    cr_assert_eq((int)kvc_crew_detail(s->crew, &params, &sequence, &text, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cr_expect_str_eq(text, "", "a case that does not fail has no detail");
    /* Built-in caches have no scripts. */
    cr_assert_eq((int)kvc_crew_script(s->crew, "{\"variant\":\"full\"}", &text, &s->error), KVC_CREW_DONE, "%s", s->error.text);
    cr_expect_str_eq(text, "");
    end(s);
}

Test(crew, wrong_choices) {
    scene *s = begin(2);
    kvc_selection selection = {.subject = "builtin", .version = "1", .variant = "full", .contract = "nothing-1"};
    choose(s, "full", 1);
    cr_expect_eq((int)kvc_crew_choose(s->crew, &selection, s->generator, &s->error), KVC_CREW_FAILED);
    cr_expect_not_null(strstr(s->error.text, "nothing-1"), "%s", s->error.text);
    /* It can be chosen again. */
    explore(s, "full", 100);
    cr_expect_eq(s->out.findings, 0);
    end(s);
}

static void crash_at_once(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    (void)cache;
    (void)op;
    (void)numbers;
    (void)out;
    (void)raise(SIGKILL);
}

static const char *no_variant(size_t index) {
    (void)index;
    (void)raise(SIGKILL);
    return NULL;
}

/* Every op of the subject ends the process: that is one finding, not an endless run. */
Test(crew, a_subject_that_always_crashes, .timeout = 60) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    plugin.run = crash_at_once;
    scene *s = begin_with(&plugin, 2);
    explore(s, "full", 200);
    cr_expect_gt(s->out.findings, 0);
    cr_expect_eq((int)s->out.finding[0].law, KVC_ALIVE);
    cr_expect_eq(s->out.finding[0].sequence.count, 1);
    end(s);
}

Test(crew, a_subject_that_dies_before_its_hello) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    kvc_error error = {""};
    kvc_catalogue catalogue = {0};
    const cJSON *hello = NULL;
    plugin.variant = no_variant;
    kvc_crew_options options = {.catalogue = &catalogue, .access = {.plugin = &plugin}, .jobs = 2, .stall_ms = STALL_MS * slowness()};
    kvc_crew *crew = kvc_crew_open(&options, &error);
    cr_assert_not_null(crew, "%s", error.text);
    cr_expect_eq((int)kvc_crew_hello(crew, &hello, &error), KVC_CREW_FAILED);
    cr_expect_gt(strlen(error.text), (size_t)0);
    kvc_crew_close(crew);
}
