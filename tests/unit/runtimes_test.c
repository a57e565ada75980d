/* Runtimes side by side: what is asked of each kind of cache, and the worst answer of its variants. */
#include <criterion/criterion.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "reports/runtimes.h"

/* Two subjects; of the first an older version too, which must not count. */
static const char result_text[] =
    "{\"runs\": ["
    "{\"subject\": \"a\", \"version\": \"1\", \"variant\": \"Full\", \"kind\": \"full\", \"status\": \"findings\","
    " \"coverage\": [{\"op\": \"append\", \"situation\": \"never used\", \"count\": 5, \"refused\": 0}],"
    " \"findings\": [{\"id\": \"x\", \"law\": \"KEYS\", \"severity\": \"silent\", \"op\": \"append\", \"situation\": \"never used\"}]},"
    "{\"subject\": \"a\", \"version\": \"2\", \"variant\": \"Full\", \"kind\": \"full\", \"status\": \"findings\","
    " \"coverage\": [{\"op\": \"append\", \"situation\": \"never used\", \"count\": 5, \"refused\": 0},"
    "  {\"op\": \"crop\", \"situation\": \"holding tokens, asked for more than there is\", \"count\": 4, \"refused\": 0},"
    "  {\"op\": \"crop\", \"situation\": \"holding tokens, asked for nothing\", \"count\": 4, \"refused\": 4}],"
    " \"findings\": [{\"id\": \"y\", \"law\": \"CLAMP\", \"severity\": \"silent\", \"op\": \"crop\","
    "  \"situation\": \"empty again, asked for more than there is\"}]},"
    "{\"subject\": \"a\", \"version\": \"2\", \"variant\": \"Other\", \"kind\": \"full\", \"status\": \"conforms\","
    " \"coverage\": [{\"op\": \"crop\", \"situation\": \"holding tokens, asked for more than there is\", \"count\": 4, \"refused\": 0},"
    "  {\"op\": \"crop\", \"situation\": \"holding tokens, asked for nothing\", \"count\": 4, \"refused\": 0}], \"findings\": []},"
    "{\"subject\": \"b\", \"version\": \"7\", \"variant\": \"Window\", \"kind\": \"window\", \"status\": \"findings\","
    " \"coverage\": [{\"op\": \"seq_rm\", \"situation\": \"holding tokens, past its boundary, asked for some\", \"count\": 9, \"refused\": 9},"
    "  {\"op\": \"crop\", \"situation\": \"holding tokens, below its boundary, asked for all\", \"count\": 9, \"refused\": 3}],"
    " \"findings\": [{\"id\": \"z\", \"law\": \"ALIVE\", \"severity\": \"crash\", \"step\": 0, \"case\": {\"ops\": [[\"crop\", -1]]},"
    "  \"situation\": \"holding tokens, asked for some\"}]},"
    "{\"subject\": \"b\", \"version\": \"7\", \"variant\": \"Full\", \"kind\": \"full\", \"status\": \"absent\"}]}";

static size_t place_of(const kvc_runtimes *runtimes, const char *op, const char *ask, int past)
{
    for (size_t i = 0; i < runtimes->questions; i++) {
        const kvc_question *question = &runtimes->question[i];
        if (strcmp(question->op, op) == 0 && strcmp(question->ask, ask) == 0 && question->past == past) {
            return i;
        }
    }
    cr_assert_fail("nobody asked for %s %s", op, ask);
    return 0;
}

Test(runtimes, worst_answer_of_each_kind)
{
    static kvc_runtimes runtimes;
    kvc_report_model model = {0};
    cJSON *json = cJSON_Parse(result_text);
    cr_assert_not_null(json);
    cr_assert_eq(kvc_report_model_make(json, &model), 0);
    kvc_runtimes_gather(&model, &runtimes);
    cr_assert_eq(runtimes.subjects, 2U);
    cr_assert_eq(runtimes.kinds, 2U);
    cr_expect_str_eq(runtimes.kind[0], "full");
    cr_expect_str_eq(runtimes.kind[1], "window");
    cr_expect_eq(runtimes.variants[0][0], 2U, "only the newest version counts");
    cr_expect_eq(runtimes.bad[0][0], 1U);
    cr_expect_eq(runtimes.variants[0][1], 0U, "an absent class is none");
    cr_expect_eq(runtimes.variants[1][1], 1U);

    const kvc_runtime_cell *over = &runtimes.cell[0][place_of(&runtimes, "roll back", "more than there is", 0)][0];
    cr_expect_eq((int)over->answer, KVC_ANSWER_WRONG);
    cr_expect_eq(over->asked, 2U);
    cr_expect_eq(over->bad, 1U);
    const kvc_runtime_cell *nothing = &runtimes.cell[0][place_of(&runtimes, "roll back", "nothing", 0)][0];
    cr_expect_eq((int)nothing->answer, KVC_ANSWER_EITHER, "one variant refuses, the other does it");
    cr_expect_eq((int)runtimes.cell[0][place_of(&runtimes, "append", "", 0)][0].answer, KVC_ANSWER_DONE, "the fault was in version 1");
    cr_expect_eq((int)runtimes.cell[1][place_of(&runtimes, "append", "", 0)][1].answer, KVC_ANSWER_NO_OP);
    cr_expect_eq((int)runtimes.cell[1][place_of(&runtimes, "append", "", 0)][0].answer, KVC_ANSWER_NO_KIND);
    cr_expect_eq((int)runtimes.cell[1][place_of(&runtimes, "roll back", "some or all", 1)][1].answer, KVC_ANSWER_REFUSED);
    cr_expect_eq((int)runtimes.cell[1][place_of(&runtimes, "roll back", "some or all", 0)][1].answer, KVC_ANSWER_DIED,
                 "a finding without an op is put down to the one that failed");
    cr_expect_eq(kvc_runtimes_broken(&model, &runtimes, 0, 0, "CLAMP"), 1U);
    cr_expect_eq(kvc_runtimes_broken(&model, &runtimes, 0, 0, "KEYS"), 0U);
    cr_expect_eq(kvc_runtimes_broken(&model, &runtimes, 1, 1, "ALIVE"), 1U);
    kvc_report_model_free(&model);
    cJSON_Delete(json);
}

/* What was rolled back, moved or restored wrongly shows in what is appended then: it is put down to what was asked before. */
Test(runtimes, findings_are_put_down_to_what_was_asked)
{
    static const char text[] =
        "{\"runs\": [{\"subject\": \"a\", \"version\": \"1\", \"variant\": \"Full\", \"kind\": \"full\", \"status\": \"findings\","
        " \"coverage\": [{\"op\": \"decode\", \"situation\": \"holding tokens\", \"count\": 5, \"refused\": 0},"
        "  {\"op\": \"decode\", \"situation\": \"holding tokens, just cropped\", \"count\": 5, \"refused\": 0},"
        "  {\"op\": \"seq_rm\", \"situation\": \"holding tokens, asked for all of any\", \"count\": 5, \"refused\": 5},"
        "  {\"op\": \"seq_add\", \"situation\": \"holding tokens, asked for all\", \"count\": 5, \"refused\": 0}],"
        " \"findings\": [{\"id\": \"x\", \"law\": \"RESUME\", \"severity\": \"silent\", \"op\": \"decode\", \"step\": 2,"
        "  \"situation\": \"holding tokens, just cropped\", \"case\": {\"ops\": [[\"decode\", [0], 2], [\"seq_rm\", 0, 1, -1], [\"decode\", [0], 1]]},"
        "  \"rule\": {\"name\": \"seq_rm_state\"}},"
        " {\"id\": \"y\", \"law\": \"ALIVE\", \"severity\": \"crash\", \"op\": \"decode\", \"step\": 2,"
        "  \"situation\": \"holding tokens\", \"case\": {\"ops\": [[\"decode\", [0], 2], [\"seq_add\", 0, -1, -1, 1], [\"decode\", [0], 1]]},"
        "  \"rule\": null}]}]}";
    static kvc_runtimes runtimes;
    kvc_report_model model = {0};
    kvc_text words = {0};
    cJSON *json = cJSON_Parse(text);
    cr_assert_not_null(json);
    cr_assert_eq(kvc_report_model_make(json, &model), 0);
    kvc_runtimes_gather(&model, &runtimes);
    size_t resumed = place_of(&runtimes, "roll back", "and go on", 0);
    cr_expect_eq((int)runtimes.cell[0][resumed][0].answer, KVC_ANSWER_WRONG);
    cr_expect_eq((int)runtimes.cell[0][place_of(&runtimes, "append", "", 0)][0].answer, KVC_ANSWER_DONE);
    cr_expect_eq((int)runtimes.cell[0][place_of(&runtimes, "move positions", "", 0)][0].answer, KVC_ANSWER_DIED);
    cr_expect_eq((int)runtimes.cell[0][place_of(&runtimes, "roll back", "everything in all sequences", 0)][0].answer, KVC_ANSWER_REFUSED);
    kvc_words_add_question(&words, &runtimes.question[resumed]);
    cr_expect_str_eq(kvc_text_string(&words), "roll back and go on");
    kvc_text_free(&words);
    kvc_report_model_free(&model);
    cJSON_Delete(json);
}

Test(runtimes, questions_stand_in_order_and_are_bounded)
{
    static kvc_runtimes runtimes;
    kvc_report_model model = {0};
    cJSON *json = cJSON_Parse(result_text);
    cJSON *coverage = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "runs"), 1), "coverage");
    cr_assert_not_null(coverage);
    for (int i = 0; i < 2 * KVC_QUESTIONS_MAX; i++) {
        char name[24];
        cJSON *entry = cJSON_CreateObject();
        (void)snprintf(name, sizeof name, "op%d", i);
        cJSON_AddStringToObject(entry, "op", name);
        cJSON_AddStringToObject(entry, "situation", "never used");
        cJSON_AddNumberToObject(entry, "count", 1);
        cJSON_AddItemToArray(coverage, entry);
    }
    cr_assert_eq(kvc_report_model_make(json, &model), 0);
    kvc_runtimes_gather(&model, &runtimes);
    cr_expect_eq(runtimes.questions, (size_t)KVC_QUESTIONS_MAX);
    cr_expect_eq(place_of(&runtimes, "roll back", "more than there is", 0), place_of(&runtimes, "roll back", "nothing", 0) + 1);
    kvc_report_model_free(&model);
    cJSON_Delete(json);
}
