/* The parts of the guided search: features, the corpus and its folder, what a worker tells, trimming, and what is carried over. */
#include "tests/unit/support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "harness/carry.h"
#include "harness/corpus_folder.h"
#include "harness/feedback.h"
#include "harness/guided.h"
#include "harness/trim.h"

static const char hello[] = "{\"id\":0,\"protocol\":1,\"subject\":\"mine\",\"version\":\"1\",\"environment\":{},\"variants\":[\"Full\"],"
                            "\"specs\":{\"Full\":{\"like\":\"builtin:full\",\"ops\":[\"append\",\"crop\",\"reset\"]}}}";

static kvc_fuzz_target *open_target(void) {
    kvc_error error = {""};
    kvc_fuzz_target *target = kvc_fuzz_target_of_hello(hello, NULL, &error);
    cr_assert_not_null(target, "%s", error.text);
    return target;
}

static void encode(kvc_fuzz_target *target, const kvc_sequence *sequence, kvc_bytes *bytes) {
    const kvc_bench *bench = kvc_fuzz_target_bench(target);
    kvc_plan plan;
    kvc_error error = {""};
    cr_assert(kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &bench->smallest, &plan, &error), "%s",
              error.text);
    cr_assert(kvc_encode(kvc_fuzz_target_choice(target), kvc_fuzz_target_model(target), &plan, sequence, bytes));
}

static void decode(kvc_fuzz_target *target, const kvc_bytes *bytes, kvc_decoded *out) {
    const kvc_bench *bench = kvc_fuzz_target_bench(target);
    kvc_params params = kvc_decode_params(kvc_fuzz_target_choice(target), bytes);
    kvc_plan plan;
    kvc_error error = {""};
    cr_assert(kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &params, &plan, &error), "%s", error.text);
    kvc_model_start(kvc_fuzz_target_model(target), &plan, NULL);
    cr_assert(kvc_decode_ops(kvc_fuzz_target_model(target), bytes, NULL, 0, out));
}

Test(fuzz, corpus) {
    kvc_corpus *corpus = kvc_corpus_open();
    kvc_bytes bytes;
    int different = 0;
    cr_assert_not_null(corpus);
    kvc_bytes_take(NULL, 0, &bytes);
    for (int at = 0; at < KVC_CORPUS_MAX + 2; at++)
        cr_assert_eq(kvc_corpus_add(corpus, &bytes), at < KVC_CORPUS_MAX);
    cr_expect_eq(corpus->lost, 2);
    for (uint64_t one = 0; one < 1000; one++) {
        uint32_t feature = kvc_feature(KVC_FEATURE_SITUATION, one, 0);
        cr_assert_lt(feature, (uint32_t)KVC_FEATURES);
        different += !kvc_feature_is_in(corpus->seen, feature);
        kvc_feature_put(corpus->seen, feature);
        cr_assert(kvc_feature_is_in(corpus->seen, feature));
    }
    cr_expect_gt(different, 990, "features fall together");
    cr_expect_neq(kvc_feature(KVC_FEATURE_SITUATION, 1, 0), kvc_feature(KVC_FEATURE_TOLD, 1, 0));
    kvc_corpus_clear(corpus);
    cr_expect_eq(corpus->count + corpus->lost, 0);
    cr_expect_not(kvc_feature_is_in(corpus->seen, kvc_feature(KVC_FEATURE_SITUATION, 5, 0)));
    kvc_corpus_close(corpus);
}

Test(fuzz, what_a_worker_tells) {
    kvc_corpus *corpus = kvc_corpus_open();
    kvc_feedback *feedback = calloc(1, sizeof *feedback);
    kvc_collector *collector = kvc_collector_open(feedback, corpus);
    static const uint32_t told[] = {7, 8};
    cr_assert_not_null(collector);
    /* Nothing is collected until it is asked for. */
    kvc_collector_begin(collector);
    kvc_collector_start(collector);
    kvc_collector_op(collector, 0, 1, 0);
    kvc_collector_end(collector, 0);
    cr_expect_eq(feedback->candidates, 0);
    /* Only what is new: to the corpus, and in this range. */
    feedback->mode = KVC_FEEDBACK_NEW;
    kvc_feature_put(corpus->seen, kvc_feature(KVC_FEATURE_TOLD, 7, 0));
    kvc_collector_begin(collector);
    for (uint64_t index = 10; index < 14; index++) {
        kvc_collector_start(collector);
        kvc_collector_op(collector, 0, 1, index == 12);
        kvc_collector_told(collector, told, 2);
        kvc_collector_end(collector, index);
    }
    cr_assert_eq(feedback->candidates, 2);
    cr_expect(feedback->candidate[0].index == 10 && feedback->candidate[0].count == 3, "situation, op, place 8");
    cr_expect(feedback->candidate[1].index == 12 && feedback->candidate[1].count == 2, "it refused there");
    /* What does not conform after all is taken back. */
    kvc_collector_drop(collector, 10);
    cr_assert_eq(feedback->candidates, 1);
    cr_expect_eq(feedback->candidate[0].index, 12u);
    /* All of each sequence. */
    feedback->mode = KVC_FEEDBACK_ALL;
    feedback->candidates = feedback->features = 0;
    kvc_collector_begin(collector);
    for (uint64_t index = 0; index < 2; index++) {
        kvc_collector_start(collector);
        kvc_collector_op(collector, 0, 1, 0);
        kvc_collector_told(collector, told, 2);
        kvc_collector_end(collector, index);
    }
    cr_assert_eq(feedback->candidates, 2);
    cr_expect_eq(feedback->candidate[0].count, 4);
    cr_expect_eq(feedback->candidate[1].count, 4);
    kvc_collector_close(collector);
    free(feedback);
    kvc_corpus_close(corpus);
}

Test(fuzz, folder) {
    char folder[] = "fuzz-test-XXXXXX";
    char path[128];
    kvc_corpus_files files = {0};
    kvc_bytes small;
    kvc_bytes large;
    kvc_error error = {""};
    cr_assert_not_null(mkdtemp(folder));
    kvc_bytes_take((const uint8_t *)"a", 1, &small);
    large = small;
    large.size += KVC_BYTES_RECORD;
    cr_assert(kvc_corpus_folder_write(folder, &large, 0, &error), "%s", error.text);
    cr_assert(kvc_corpus_folder_write(folder, &small, 1, &error), "%s", error.text);
    cr_assert(kvc_corpus_folder_write(folder, &small, 1, &error), "%s", error.text);
    for (int at = 0; at < 3; at++) {
        static const char *const others[] = {"0123456789abcdef.12.0.part", ".hidden", "id:000000"};
        FILE *file;
        (void)snprintf(path, sizeof path, "%s/%s", folder, others[at]);
        file = fopen(path, "w");
        cr_assert(file != NULL && fclose(file) == 0);
    }
    cr_assert(kvc_corpus_folder_list(folder, &files, &error), "%s", error.text);
    kvc_corpus_files_sort(&files);
    cr_assert_eq(files.count, 3);
    cr_expect_eq(files.file[0].size, 0u, "another fuzzer's file is read too");
    cr_expect_eq(files.file[1].size, (size_t)small.size);
    cr_expect_eq(files.file[2].size, (size_t)large.size);
    /* What was left half written goes, only files with a digest for a name can be removed. */
    kvc_corpus_folder_tidy(folder);
    (void)snprintf(path, sizeof path, "%s/0123456789abcdef.12.0.part", folder);
    cr_expect_neq(access(path, F_OK), 0);
    for (int at = 0; at < 3; at++)
        kvc_corpus_file_remove(files.file[at].path);
    cr_expect_eq(access(files.file[0].path, F_OK), 0);
    cr_expect_neq(access(files.file[1].path, F_OK), 0);
    (void)unlink(files.file[0].path);
    kvc_corpus_files_clear(&files);
    (void)snprintf(path, sizeof path, "%s/.hidden", folder);
    (void)unlink(path);
    cr_expect_eq(rmdir(folder), 0, "nothing else is in it");
    cr_expect_not(kvc_corpus_folder_list(folder, &files, &error));
    cr_expect_not_null(strstr(error.text, "cannot be read"), "%s", error.text);
}

/* What is looked for: an append of two tokens or more, and behind it a crop. */
static int will_do(const kvc_sequence *sequence) {
    int appended = 0;
    for (int at = 0; at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        if (op->kind == KVC_CROP && op->n < 0 && appended)
            return 1;
        appended |= op->kind == KVC_APPEND && op->n >= 2;
    }
    return 0;
}

/* The trimmer comes to the smallest, with yes and no one at a time, and proposes legal sequences only. */
Test(fuzz, trim) {
    kvc_fuzz_target *target = open_target();
    kvc_trim *trim = kvc_trim_open(target);
    kvc_sequence sequence = {7,
                             {{.kind = KVC_APPEND, .n = 1},
                              {.kind = KVC_RESET},
                              {.kind = KVC_APPEND, .n = 7},
                              {.kind = KVC_CROP},
                              {.kind = KVC_APPEND, .n = 2},
                              {.kind = KVC_CROP, .n = -5},
                              {.kind = KVC_RESET}}};
    kvc_bytes bytes;
    kvc_decoded decoded;
    kvc_bytes best;
    int tried = 0;
    int more;
    encode(target, &sequence, &bytes);
    best = bytes;
    for (more = kvc_trim_begin(trim, bytes.byte, (size_t)bytes.size); more > 0 && tried < 1000; tried++) {
        int did;
        decode(target, kvc_trim_candidate(trim), &decoded);
        did = will_do(&decoded.sequence);
        if (did)
            best = *kvc_trim_candidate(trim);
        more = kvc_trim_answer(trim, did);
    }
    cr_expect_eq(more, 0);
    cr_expect(tried > 5 && tried <= 300, "%d tried", tried);
    decode(target, &best, &decoded);
    cr_assert_eq(decoded.sequence.count, 2);
    cr_expect(decoded.sequence.op[0].kind == KVC_APPEND && decoded.sequence.op[0].n == 2);
    cr_expect(decoded.sequence.op[1].kind == KVC_CROP && decoded.sequence.op[1].n == -1);
    /* Nothing is smaller than nothing, and an answer that was not asked for changes nothing. */
    kvc_bytes_take(NULL, 0, &bytes);
    cr_expect_eq(kvc_trim_begin(trim, bytes.byte, 0), 0);
    cr_expect_eq(kvc_trim_answer(trim, 1), 0);
    kvc_trim_close(trim);
    kvc_fuzz_target_close(target);
}

Test(fuzz, a_target_that_cannot_be) {
    kvc_error error = {""};
    cr_expect_null(kvc_fuzz_target_of_hello("{}", NULL, &error));
    cr_expect_neq(error.text[0], '\0');
    cr_expect_null(kvc_fuzz_target_of_hello(hello, "Another", &error));
    cr_expect_not_null(strstr(error.text, "no variant \"Another\""), "%s", error.text);
    cr_expect_null(kvc_fuzz_target_load("./nothing.so", NULL, &error));
    cr_expect_not_null(strstr(error.text, "cannot be loaded"), "%s", error.text);
}

/* Sequences made of a corpus: legal, the same again, aimed at what was not reached, and with the parameters of the block. */
Test(fuzz, guided) {
    kvc_fuzz_target *target = open_target();
    const kvc_bench *bench = kvc_fuzz_target_bench(target);
    kvc_corpus *corpus = kvc_corpus_open();
    kvc_guided guided = {.corpus = corpus};
    kvc_sequence seed = {2, {{.kind = KVC_APPEND, .n = 3}, {.kind = KVC_CROP, .n = -1}}};
    kvc_bytes bytes;
    kvc_plan plan;
    kvc_error error = {""};
    int aimed_new = 0;
    int blind_new = 0;
    cr_expect_not(kvc_guided_takes(&guided, KVC_BLOCK), "it is empty");
    encode(target, &seed, &bytes);
    cr_assert(kvc_corpus_add(corpus, &bytes));
    cr_expect(kvc_guided_takes(&guided, KVC_BLOCK) && !kvc_guided_takes(&guided, 4 * KVC_BLOCK));
    /* Everything was reached but a crop of more than there is, when it was just cropped. */
    memset(corpus->reached, 1, sizeof corpus->reached);
    for (int code = 0; code < KVC_SITUATIONS; code++) {
        kvc_situation situation;
        kvc_situation_from_code(code, &situation);
        if (situation.ask == KVC_ASK_OVER && situation.cropped)
            corpus->reached[KVC_CROP][code] = 0;
    }
    for (uint64_t block = 0; block < 40; block++) {
        kvc_random random = kvc_random_for(1, "block", block);
        kvc_params params = kvc_guided_begin(&guided, kvc_fuzz_target_choice(target), &random);
        cr_assert(kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &params, &plan, &error), "%s",
                  error.text);
        for (int aimed = 0; aimed < 2; aimed++) {
            for (uint64_t index = 0; index < 20; index++) {
                kvc_random one = kvc_random_for(1, "one", block * 100 + index);
                kvc_random again = one;
                kvc_sequence sequence;
                kvc_sequence same;
                kvc_decoded decoded;
                int new = 0;
                kvc_model_start(kvc_fuzz_target_model(target), &plan, NULL);
                cr_assert(kvc_guided_sequence(&guided, kvc_fuzz_target_model(target), NULL, 0, aimed, &one, &sequence, NULL));
                kvc_model_start(kvc_fuzz_target_model(target), &plan, NULL);
                cr_assert(kvc_guided_sequence(&guided, kvc_fuzz_target_model(target), NULL, 0, aimed, &again, &same, NULL));
                cr_assert_eq(kvc_ops_compare(sequence.op, (size_t)sequence.count, same.op, (size_t)same.count), 0);
                (void)kvc_encode(kvc_fuzz_target_choice(target), kvc_fuzz_target_model(target), &plan, &sequence, &bytes);
                decode(target, &bytes, &decoded);
                cr_assert_eq(kvc_ops_compare(sequence.op, (size_t)sequence.count, decoded.sequence.op,
                                             (size_t)decoded.sequence.count), 0, "it is legal");
                for (int at = 0; at < sequence.count; at++)
                    new |= !corpus->reached[sequence.op[at].kind][decoded.situation[at]];
                *(aimed ? &aimed_new : &blind_new) += new;
            }
        }
    }
    cr_expect(aimed_new > 2 * blind_new && aimed_new > 20, "%d of those aimed come to what is new, %d of the others", aimed_new,
              blind_new);
    kvc_corpus_close(corpus);
    kvc_fuzz_target_close(target);
}

static cJSON *result_of(const char *runs) {
    char text[2048];
    cJSON *json;
    (void)snprintf(text, sizeof text, "{\"runs\":[%s]}", runs);
    json = cJSON_Parse(text);
    cr_assert_not_null(json, "%s", text);
    return json;
}
#define RUN(variant, findings)                                                                                                   \
    "{\"target\":\"t\",\"subject\":\"s\",\"version\":\"1\",\"variant\":\"" variant "\",\"status\":\"conforms\",\"findings\":["    \
    findings "]}"

/* Of what an earlier session found only that which does not show each time is carried over, and whole variants that it did not come to. */
Test(fuzz, carried_over) {
    cJSON *earlier = result_of(RUN("a", "{\"id\":\"X-1\",\"flaky\":true},{\"id\":\"X-2\",\"flaky\":false},{\"id\":\"X-3\",\"flaky\":true}") ","
                               RUN("b", "{\"id\":\"X-4\",\"flaky\":false}"));
    cJSON *now = result_of(RUN("a", "{\"id\":\"X-3\",\"flaky\":false}"));
    cJSON *entry = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(now, "runs"), 0);
    const cJSON *findings = cJSON_GetObjectItemCaseSensitive(entry, "findings");
    cr_expect_eq(kvc_carry_findings(earlier, entry), 1);
    cr_assert_eq(cJSON_GetArraySize(findings), 2);
    cr_expect_str_eq(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(findings, 1), "id")->valuestring, "X-1");
    cr_expect_str_eq(cJSON_GetObjectItemCaseSensitive(entry, "status")->valuestring, "findings");
    cr_expect_eq(kvc_carry_findings(earlier, entry), 0, "once is enough");
    cr_expect_eq(kvc_carry_findings(NULL, entry), 0);
    cr_expect(kvc_carry_runs(earlier, now) && kvc_carry_runs(earlier, now) && kvc_carry_runs(NULL, now));
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(now, "runs")), 2);
    cJSON_Delete(earlier);
    cJSON_Delete(now);
}
