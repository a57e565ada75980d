/*
 * The result format and the report writers: what is refused and how it is said, escapes, atomic files, lanes, and
 * that no report lets foreign text act.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/json.h"
#include "reports/file.h"
#include "reports/badge.h"
#include "reports/html.h"
#include "reports/html_internal.h"
#include "reports/junit.h"
#include "reports/lanes.h"
#include "reports/markdown.h"
#include "reports/merge.h"
#include "reports/model.h"
#include "reports/result.h"
#include "reports/sarif.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/words.h"

static char error[600];

/* The samples lie below the source tree, wherever the test is built. */
static cJSON *read_sample(const char *name)
{
    const char *top = getenv("KVC_TOP");
    char path[1000];
    cJSON *result = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/data/%s", top != NULL ? top : ".", name);
    cr_assert_eq(kvc_result_read_file(path, &result, error, sizeof error), 0, "%s", error);
    return result;
}

/* Follows a path such as `runs.1.findings.0`; numbers are places in a list. */
static cJSON *find(cJSON *json, const char *path)
{
    char copy[200];
    (void)snprintf(copy, sizeof copy, "%s", path);
    char *rest = copy;
    for (char *word = strtok_r(rest, ".", &rest); word != NULL; word = strtok_r(NULL, ".", &rest)) {
        json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(word)) : cJSON_GetObjectItemCaseSensitive(json, word);
        cr_assert_not_null(json, "%s in %s", word, path);
    }
    return json;
}

/* Puts `json` (NULL: nothing) in place of the field of the sample, and gives the judge's answer. */
static int judge_changed(const char *parent, const char *field, const char *json)
{
    cJSON *result = read_sample("result-sample.json");
    cJSON *object = find(result, parent);
    if (json == NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(object, field);
    } else {
        cJSON *value = cJSON_Parse(json);
        cr_assert_not_null(value, "%s", json);
        if (cJSON_GetObjectItemCaseSensitive(object, field) != NULL) {
            cJSON_ReplaceItemInObjectCaseSensitive(object, field, value);
        } else {
            cJSON_AddItemToObject(object, field, value);
        }
    }
    int answer = kvc_result_check(result, error, sizeof error);
    cJSON_Delete(result);
    return answer;
}

Test(result, samples_are_good)
{
    cJSON_Delete(read_sample("result-sample.json"));
    cJSON_Delete(read_sample("result-hostile.json"));
}

Test(result, names_the_wrong_field)
{
    static const struct {
        const char *parent, *field, *json, *named;
    } wrong[] = {
        {"", "schema", "\"kvconform-result/2\"", "schema: expected `kvconform-result/1` or `kvconform-merged/1`, found another version"},
        {"", "schema", NULL, "schema: expected"},
        {"", "finished", NULL, "finished: expected true or an object, found nothing: the run was cut short"},
        {"", "finished", "false", "finished: expected"},
        {"", "finished", "{}", "finished.at: expected a string"},
        {"", "tool", "[]", "tool: expected an object, found a list"},
        {"tool", "version", "1", "tool.version: expected a string, found a number"},
        {"", "command", "[\"a\", 1]", "command: expected a list of strings"},
        {"", "seed", "1", "seed: expected a string, found a number"},
        {"", "seed", "\"18446744073709551616\"", "seed: expected a number from 0"},
        {"", "seed", "\"01\"", "seed: expected a number from 0"},
        {"", "seed", "\"-1\"", "seed: expected a number from 0"},
        {"", "profile", "\"\"", "profile: expected a string that is not empty"},
        {"", "budget", "{\"sequences\": []}", "budget: expected a number or a string for `sequences`"},
        {"environment", "platform", "1", "environment.platform: expected a string, found a number"},
        {"environment", "subjects", NULL, "environment.subjects: expected a list"},
        {"environment", "news", "{}", NULL},
        {"environment", "subjects", "[]", NULL},
        {"environment", "subjects", "[1]", "environment.subjects[0]: expected an object"},
        {"environment.subjects.1", "target", "\"\"", "environment.subjects[1].target: expected a string that is not empty"},
        {"environment.subjects.2", "torch", NULL, "environment.subjects[2].torch: expected a string, found nothing"},
        {"", "runs", "{}", "runs: expected a list, found an object"},
        {"", "runs", "[1]", "runs[0]: expected an object"},
        {"runs.0", "status", "\"fine\"", "runs[0].status: expected one of `conforms`, `findings`"},
        {"runs.0", "status", "\"findings\"", "runs[0].findings: 0 findings do not go with the status `findings`"},
        {"runs.1", "status", "\"conforms\"", "runs[1].findings: 2 findings do not go with the status `conforms`"},
        {"runs.3", "status", "\"not run\"", NULL},
        {"runs.3", "reason", NULL, "runs[3].reason: expected a string, found nothing"},
        {"runs.0", "reason", NULL, "runs[0].reason: expected a string, found nothing"},
        {"runs.0", "reason", "\"interrupted after 5 sequences\"", NULL},
        {"runs.10", "sequences", NULL, "runs[10].sequences: expected a whole number from 0, found nothing"},
        {"runs.10", "coverage", NULL, "runs[10].coverage: expected a list"},
        {"runs.10", "unreached", NULL, "runs[10].unreached: expected a list"},
        {"runs.10", "exhaustive", NULL, "runs[10].exhaustive: expected an object"},
        {"runs.10", "assumed", NULL, "runs[10].assumed: expected true or false"},
        {"runs.0", "lost", "-1", "runs[0].lost: expected a whole number from 0"},
        {"runs.10", "reason", NULL, "runs[10].reason: expected a string, found nothing"},
        {"runs.10", "reason", "\"\"", "runs[10].reason: expected a string that is not empty"},
        {"runs.0", "contract", "\"\"", "runs[0].contract: expected a string that is not empty"},
        {"runs.0", "assumed", "0", "runs[0].assumed: expected true or false"},
        {"runs.0", "sequences", "-1", "runs[0].sequences: expected a whole number from 0"},
        {"runs.0", "sequences", "1.5", "runs[0].sequences: expected a whole number from 0"},
        {"runs.0", "sequences", "1e999", "runs[0].sequences: expected a whole number from 0"},
        {"runs.0", "ops", NULL, "runs[0].ops: expected a whole number from 0, found nothing"},
        {"runs.0", "seconds", "-1", "runs[0].seconds: expected a number from 0"},
        {"runs.0.exhaustive", "size", "\"5\"", "runs[0].exhaustive.size: expected a whole number"},
        {"runs.0.coverage.2", "count", "null", "runs[0].coverage[2].count: expected a whole number"},
        {"runs.1.unreached.0", "because", NULL, "runs[1].unreached[0].because: expected a string"},
        {"runs.1.findings.0", "id", "\"a b\"", "runs[1].findings[0].id: expected letters"},
        {"runs.1.findings.0", "law", "\"\"", "runs[1].findings[0].law: expected"},
        {"runs.1.findings.0", "also", "\"KEYS\"", "runs[1].findings[0].also: expected a list"},
        {"runs.1.findings.0", "severity", "\"bad\"", "runs[1].findings[0].severity: expected one of `silent`"},
        {"runs.1.findings.0", "step", "2", "runs[1].findings[0].step: expected the number of one of the 2 ops"},
        {"runs.1.findings.0", "flaky", "\"no\"", "runs[1].findings[0].flaky: expected true or false"},
        {"runs.1.findings.0", "flaky", NULL, NULL},
        {"runs.1.findings.0", "rule", NULL, NULL},
        {"runs.1.findings.0", "news", "[{}]", NULL},
        {"runs.1.findings.0.rule", "value", "null", "runs[1].findings[0].rule.value: expected a word"},
        {"runs.1.findings.0", "basis", "\"guessed\"", "runs[1].findings[0].basis: expected one of `documented`"},
        {"runs.1.findings.0.case", "schema", "\"kvconform-case/2\"", "runs[1].findings[0].case.schema: expected"},
        {"runs.1.findings.0.case", "params", "{\"batch\": []}", "runs[1].findings[0].case.params: expected"},
        {"runs.1.findings.0.case", "ops", "[[\"append\", 2], [\"crop\", 0.5]]",
         "runs[1].findings[0].case.ops[1]: expected an op"},
        {"runs.1.findings.0.case", "ops", "[[\"append\", 2], []]", "runs[1].findings[0].case.ops[1]: expected an op"},
        {"runs.1.findings.0.case", "ops", "[[\"append\", 2], [\"reorder\", [-1]]]", "runs[1].findings[0].case.ops[1]"},
        {"runs.1.findings.0.case", "ops", "[[\"append\", 2, 3, 4, 5, 6], [\"reset\"]]", "runs[1].findings[0].case.ops[0]"},
        {"runs.1.findings.0.case", "seed", "7", "runs[1].findings[0].case.seed: expected a string"},
        {"runs.1.findings.0.expected", "outcome", "\"ok\"", "runs[1].findings[0].expected.outcome: expected one of `done`"},
        {"runs.1.findings.0.observed", "length", "[1.5]", "runs[1].findings[0].observed.length: expected a whole number or null"},
        {"runs.1.findings.0.observed", "masks", "[[1]]", "runs[1].findings[0].observed.masks: expected [length, offset]"},
        {"runs.1.findings.0.observed", "masks", "[[1, 0], null]", NULL},
        {"runs.1.findings.0.observed.tensors", "keys", "[[0], 1]",
         "runs[1].findings[0].observed.tensors.keys[1]: expected a list"},
        {"runs.1.findings.0.observed.tensors", "keys", "[[0, null]]",
         "runs[1].findings[0].observed.tensors.keys[0]: expected a token"},
        {"runs.1.findings.0.minimal", "proved", "1", "runs[1].findings[0].minimal.proved: expected true or false"},
        {"runs.1.findings.0", "script", NULL, "runs[1].findings[0].script: expected a string"},
        {"runs.1.findings.0", "script_suffix", "1", "runs[1].findings[0].script_suffix: expected a string"},
        {"runs.1.findings.0", "script_suffix", "\"../c\"", "runs[1].findings[0].script_suffix: expected small letters and digits"},
        {"runs.1.findings.0", "script_suffix", "\"json\"", "runs[1].findings[0].script_suffix: expected small letters and digits"},
        {"runs.1.findings.0", "no_script", "1", "runs[1].findings[0].no_script: expected a string"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int answer = judge_changed(wrong[i].parent, wrong[i].field, wrong[i].json);
        cr_expect_eq(answer, wrong[i].named != NULL ? -1 : 0, "%s.%s: %s", wrong[i].parent, wrong[i].field, error);
        if (wrong[i].named != NULL) {
            cr_expect_eq(strncmp(error, wrong[i].named, strlen(wrong[i].named)), 0, "%s\n%s", error, wrong[i].named);
        }
    }
}

static int parse(const char *text)
{
    cJSON *result = NULL;
    int answer = kvc_result_parse("x.json", text, strlen(text), &result, error, sizeof error);
    cr_expect_null(result);
    return answer;
}

Test(result, text_is_bounded)
{
    cr_expect_eq(parse(""), -1);
    cr_expect_str_eq(error, "x.json:1: not JSON, or cut short; expected a result as kvconform run writes it");
    cr_expect_eq(parse("{\n\"schema\": \"kvconform-result/1\",\n"), -1);
    cr_expect_eq(strncmp(error, "x.json:3: not JSON", 18), 0, "%s", error);
    cr_expect_eq(parse("{} {}"), -1);
    cr_expect_eq(parse("[]"), -1);
    cr_expect_str_eq(error, "x.json: result: expected an object, found a list");
    cr_expect_eq(parse("\"\\"), -1);

    size_t count = 200000;
    char *deep = malloc(count + 1);
    cr_assert_not_null(deep);
    memset(deep, '[', count);
    deep[count] = '\0';
    cr_expect_eq(parse(deep), -1);
    cr_expect_str_eq(error, "x.json:1: nested deeper than 64");
    free(deep);

    count = KVC_RESULT_VALUES_MAX + 16;
    char *wide = malloc(count + 1);
    cr_assert_not_null(wide);
    memset(wide, ',', count);
    wide[count] = '\0';
    cr_expect_eq(parse(wide), -1);
    cr_expect_str_eq(error, "x.json: more than 16000000 values");
    free(wide);

    cJSON *result = NULL;
    cr_expect_eq(kvc_result_parse("x.json", "{\0}", 3, &result, error, sizeof error), -1);
    cr_expect_str_eq(error, "x.json:1: a zero byte, expected JSON text");
}

/* A folder of its own for each test, removed by the test. */
static void make_folder(char *path)
{
    (void)strcpy(path, "report-test-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

Test(result, files_are_replaced_in_one_step)
{
    char folder[32];
    char path[64];
    char link_path[64];
    char *bytes = NULL;
    kvc_error reason;
    size_t size = 0;
    struct stat status;
    make_folder(folder);
    (void)snprintf(path, sizeof path, "%s/a.json", folder);
    (void)snprintf(link_path, sizeof link_path, "%s/link.json", folder);

    cJSON *result = read_sample("result-sample.json");
    cJSON *again = NULL;
    cr_expect_eq(kvc_result_write_file(path, result, error, sizeof error), 0, "%s", error);
    cr_expect_eq(kvc_result_read_file(path, &again, error, sizeof error), 0, "%s", error);
    cr_expect(cJSON_Compare(result, again, 1));
    cJSON_Delete(again);
    cJSON_Delete(result);

    cr_expect_eq(symlink("a.json", link_path), 0);
    cr_expect_eq(kvc_report_file_write(link_path, "new", 3, error, sizeof error), 0, "%s", error);
    cr_expect(lstat(link_path, &status) == 0 && S_ISLNK(status.st_mode), "the link stays");
    cr_expect_eq(kvc_file_read(path, 100, &bytes, &size, &reason), 1);
    cr_expect_str_eq(bytes, "new");
    free(bytes);
    cr_expect_eq(kvc_file_read(path, 2, &bytes, &size, &reason), 0);
    cr_expect_null(bytes);
    cr_expect_not_null(strstr(reason.text, "a.json: larger than 2 bytes"));

    cr_expect_eq(unlink(link_path), 0);
    cr_expect_eq(unlink(path), 0);
    cr_expect_eq(rmdir(folder), 0, "nothing else was left in it");
}

Test(result, file_errors_name_path_and_reason)
{
    cJSON *result = NULL;
    cr_expect_eq(kvc_result_read_file("no/such/file.json", &result, error, sizeof error), -1);
    cr_expect_str_eq(error, "no/such/file.json: cannot be opened: No such file or directory");
    cr_expect_eq(kvc_report_file_write("no/such/file.json", "x", 1, error, sizeof error), -1);
    cr_expect_str_eq(error, "no/such/file.json: cannot create a file in that folder: No such file or directory");
    cr_expect_eq(kvc_report_file_write(".", "x", 1, error, sizeof error), -1);
    cr_expect_str_eq(error, ".: cannot write: Is a directory");
    cr_expect_eq(kvc_report_file_write("/dev/null", "x", 1, error, sizeof error), 0, "%s", error);
    if (access("/dev/full", W_OK) == 0) {
        cr_expect_eq(kvc_report_file_write("/dev/full", "x", 1, error, sizeof error), -1);
        cr_expect_str_eq(error, "/dev/full: cannot write: No space left on device");
    }
}

typedef int (*writer)(const kvc_report_model *, kvc_text *);

static int summary_plain(const kvc_report_model *model, kvc_text *text)
{
    return kvc_report_summary(model, 0, text);
}

static int summary_coloured(const kvc_report_model *model, kvc_text *text)
{
    return kvc_report_summary(model, 1, text);
}

/* What a writer makes of a result. The caller frees *text. */
static void write_report(writer function, const cJSON *result, kvc_text *text)
{
    kvc_report_model model = {0};
    cr_assert_eq(kvc_report_model_make(result, &model), 0);
    cr_expect_eq(function(&model, text), 0);
    kvc_report_model_free(&model);
}

typedef void (*escape)(kvc_text *, const char *);

static void html_line(kvc_text *text, const char *string)
{
    kvc_text_add_html(text, string, KVC_LINES_SHOW);
}

static void html_lines(kvc_text *text, const char *string)
{
    kvc_text_add_html(text, string, KVC_LINES_KEEP);
}

static void terminal_line(kvc_text *text, const char *string)
{
    kvc_text_add_terminal(text, string, KVC_LINES_SHOW);
}

static void terminal_short(kvc_text *text, const char *string)
{
    kvc_text_add_terminal_short(text, string, 3);
}

static void markdown_html(kvc_text *text, const char *string)
{
    kvc_text_add_markdown_html(text, string, 1000);
}

static void markdown_block(kvc_text *text, const char *string)
{
    kvc_text_add_markdown_block(text, string, "sh");
}

static void expect_escape(escape function, const char *string, const char *expected)
{
    kvc_text text = {0};
    function(&text, string);
    cr_expect_str_eq(kvc_text_string(&text), expected);
    cr_expect_eq(text.failed, 0);
    kvc_text_free(&text);
}

Test(escape, html)
{
    expect_escape(html_line, NULL, "");
    expect_escape(html_line, "a<b>&\"'c\n\t", "a&lt;b&gt;&amp;&quot;&#39;c\\n\\t");
    expect_escape(html_lines, "</script>\n\tx\r\n", "&lt;/script&gt;\n\tx\\r\n");
    expect_escape(html_line, "\x1b[31m\x7f\xc2\x9b", "\\x1b[31m\\x7f\\x9b");
    expect_escape(html_line, "\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf\xe2\x80\xa8", "\\u202e\\u2066\\ufeff\\u2028");
    expect_escape(html_line, "\xf3\xa0\x81\x81", "\\U000e0041");
    expect_escape(html_line, "\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x98\x80");
}

Test(escape, bytes_that_are_not_text)
{
    expect_escape(terminal_line, "\xff", "\\xff");
    expect_escape(terminal_line, "\xc0\xbc", "\\xc0\\xbc");          /* overlong < */
    expect_escape(terminal_line, "\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
    expect_escape(terminal_line, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    expect_escape(terminal_line, "\xe2\x80", "\\xe2\\x80"); /* cut short */
    expect_escape(terminal_line, "\xe2<", "\\xe2<");
}

Test(escape, terminal)
{
    expect_escape(terminal_line, "a\rb\nc\x08\x1b]0;title\x07", "a\\rb\\nc\\x08\\x1b]0;title\\x07");
    expect_escape(terminal_short, "abc", "abc");
    expect_escape(terminal_short,
                  "ab\xc3\xa9"
                  "d",
                  "ab\xc3\xa9\xe2\x80\xa6");
}

Test(escape, markdown)
{
    expect_escape(kvc_text_add_markdown, "a*b* [x](y) `c` | <b> & snake_case _em_",
                  "a\\*b\\* \\[x\\](y) \\`c\\` \\| &lt;b&gt; &amp; snake_case \\_em\\_");
    expect_escape(kvc_text_add_markdown, "@someone #12 a @ b # c", "@<!-- -->someone #<!-- -->12 a @ b # c");
    expect_escape(kvc_text_add_markdown, "two\nlines\x1b", "two\\\\nlines\\\\x1b");
    expect_escape(markdown_html, "<b>@someone #12 it's", "&lt;b&gt;@<!-- -->someone #<!-- -->12 it&#39;s");
    expect_escape(kvc_text_add_markdown_code, "a_b*c", "`a_b*c`");
    expect_escape(kvc_text_add_markdown_code, "", "(empty)");
    expect_escape(kvc_text_add_markdown_code, "a|`b<", "<code>a&#124;&#96;b&#60;</code>");
    expect_escape(markdown_block, "a\n```\n````b", "`````sh\na\n```\n````b\n`````\n");
    expect_escape(markdown_block, "", "```sh\n\n```\n");
}

Test(text, remembers_a_failure)
{
    kvc_text text = {0};
    kvc_text_add(&text, "kept");
    kvc_text_add_char(&text, 'x', KVC_TEXT_MAX);
    cr_expect_eq(text.failed, 1);
    kvc_text_add(&text, "lost");
    kvc_text_add_char(&text, 'x', SIZE_MAX);
    cr_expect_str_eq(kvc_text_string(&text), "kept");
    kvc_text_free(&text);
    cr_expect_str_eq(kvc_text_string(&text), "");
    for (size_t i = 0; i < 10000; i++) {
        kvc_text_add_format(&text, "%d,", 7);
    }
    cr_expect_eq(text.length, 20000U);
    kvc_text_free(&text);
    kvc_text_add_count(&text, 1234567);
    kvc_text_add_count(&text, 12);
    kvc_text_add_count(&text, 0);
    cr_expect_str_eq(kvc_text_string(&text), "1,234,567120");
    kvc_text_free(&text);
}

/* Lanes of one tensor with these rows, as JSON. The caller frees both. */
static cJSON *make_lanes(const char *expected, const char *observed, kvc_lanes *lanes)
{
    kvc_text json = {0};
    kvc_text_add_format(&json, "{\"tensor\": \"keys\", \"expected\": {\"tensors\": %s}, \"observed\": {\"tensors\": %s}}",
                        expected, observed);
    cJSON *finding = cJSON_Parse(kvc_text_string(&json));
    cr_assert_not_null(finding);
    kvc_text_free(&json);
    cr_assert_eq(kvc_lanes_make(finding, lanes), 0);
    return finding;
}

Test(lanes, kinds)
{
    kvc_lanes lanes;
    cJSON *finding = make_lanes("{\"keys\": [[0, 1, \"?\", 3]]}", "{\"keys\": [[0, \"1@row1\", 9, 3, 4]]}", &lanes);
    cr_assert_eq(lanes.count, 1U);
    cr_assert_eq(lanes.lane[0].cell_count, 5U);
    static const kvc_cell_kind kinds[] = {KVC_CELL_SAME, KVC_CELL_OTHER, KVC_CELL_FREE, KVC_CELL_SAME, KVC_CELL_EXTRA};
    for (size_t i = 0; i < 5; i++) {
        cr_expect_eq(lanes.lane[0].cells[i].kind, kinds[i], "cell %zu", i);
    }
    cr_expect_eq(lanes.lane[0].first.position, 1U);
    cr_expect_eq(lanes.lane[0].wrong, 2U);
    kvc_lanes_free(&lanes);
    cJSON_Delete(finding);
}

Test(lanes, lost_oldest_token_is_aligned_at_the_newest)
{
    kvc_lanes lanes;
    cJSON *finding = make_lanes("{\"keys\": [[2, 3, 4]]}", "{\"keys\": [[3, 4]]}", &lanes);
    cr_expect_eq(lanes.lane[0].newest, 1);
    cr_expect_eq(lanes.lane[0].wrong, 1U);
    cr_expect_eq(lanes.lane[0].first.kind, KVC_CELL_MISSING);
    kvc_lanes_free(&lanes);
    cJSON_Delete(finding);
}

Test(lanes, wrong_ones_first_and_equal_ones_once)
{
    kvc_lanes lanes;
    cJSON *finding = make_lanes("{\"a\": [[1]], \"values\": [[1], [1]], \"layer0.keys\": [[1], [1]], \"free\": [[]]}",
                                "{\"a\": [[1]], \"values\": [[2], [2]], \"layer0.keys\": [[2], [3]], \"more\": [[1]]}", &lanes);
    cr_assert_eq(lanes.count, 4U);
    cr_expect_eq(lanes.wrong, 2U);
    cr_expect_str_eq(lanes.lane[0].names[0].tensor, "layer0.keys");
    cr_expect_eq(lanes.lane[0].name_count, 3U, "its row 0 and both rows of values");
    cr_expect_eq(lanes.lane[1].names[0].row, 1U);
    cr_expect_str_eq(lanes.lane[2].names[0].tensor, "a");
    cr_expect_eq(lanes.lane[3].wrong, 0U, "an empty tensor may be absent");
    kvc_lanes_free(&lanes);
    cJSON_Delete(finding);
}

Test(lanes, long_ones_are_bounded)
{
    kvc_text expected = {0};
    kvc_text observed = {0};
    kvc_lanes lanes;
    kvc_text_add(&expected, "{\"keys\": [[");
    kvc_text_add(&observed, "{\"keys\": [[");
    for (int i = 0; i < 1000; i++) {
        kvc_text_add_format(&expected, "%s%d", i > 0 ? "," : "", i);
        kvc_text_add_format(&observed, "%s%d", i > 0 ? "," : "", i >= 500 && i < 900 ? 7000 + i : i);
    }
    kvc_text_add(&expected, "]]}");
    kvc_text_add(&observed, "]]}");
    cJSON *finding = make_lanes(kvc_text_string(&expected), kvc_text_string(&observed), &lanes);
    const kvc_lane *lane = &lanes.lane[0];
    size_t positions = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < lane->cell_count; i++) {
        positions += lane->cells[i].count;
        wrong += lane->cells[i].kind == KVC_CELL_GAP ? lane->cells[i].wrong : lane->cells[i].kind == KVC_CELL_OTHER;
    }
    cr_expect_leq(lane->cell_count, (size_t)KVC_LANE_CELLS_MAX);
    cr_expect_eq(positions, 1000U);
    cr_expect_eq(wrong, 400U);
    cr_expect_eq(lane->first.position, 500U);
    kvc_lanes_free(&lanes);
    cJSON_Delete(finding);
    kvc_text_free(&expected);
    kvc_text_free(&observed);
}

Test(model, joins_a_cause_over_versions)
{
    cJSON *result = read_sample("result-sample.json");
    kvc_report_model model = {0};
    size_t joined = KVC_NONE;
    cr_assert_eq(kvc_report_model_make(result, &model), 0);
    cr_expect_eq(model.finding_count, 7U);
    cr_expect_eq(model.cause_count, 6U);
    cr_expect_eq(model.version_count, 3U);
    cr_expect_eq(model.status_count[KVC_STATUS_FINDINGS], 5U);
    for (size_t i = 0; i < model.cause_count; i++) {
        if (model.findings[model.causes[i].first].next != KVC_NONE) {
            cr_expect_eq(joined, KVC_NONE, "only one is in two versions");
            joined = i;
        }
    }
    cr_assert_neq(joined, KVC_NONE);
    cr_expect_str_eq(model.causes[joined].id, "a41f0c7d93be");
    cr_expect_neq(model.causes[joined].shown, model.causes[joined].first, "the newest version's case is shown");
    cr_expect(kvc_report_model_affects(&model, joined, 0));
    cr_expect(kvc_report_model_affects(&model, joined, 1));
    cr_expect_not(kvc_report_model_affects(&model, joined, 2));
    kvc_report_model_free(&model);
    cJSON_Delete(result);
}

Test(model, a_version_that_could_not_be_run_has_no_row)
{
    cJSON *result = read_sample("result-sample.json");
    cJSON *run = cJSON_Duplicate(find(result, "runs.10"), 1);
    kvc_report_model model = {0};
    kvc_text text = {0};
    cr_assert_str_eq(kvc_json_string(run, "status"), "not run");
    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(run, "subject"), "transformers");
    cJSON_ReplaceItemInObjectCaseSensitive(run, "version", cJSON_CreateString("9.9.9"));
    cJSON_ReplaceItemInObjectCaseSensitive(run, "variant", cJSON_CreateString("*Layer"));
    cJSON_AddItemToArray(find(result, "runs"), run);
    cr_assert_eq(kvc_report_model_make(result, &model), 0);
    cr_expect_not(kvc_report_model_is_shown(&model, model.row_count - 1));
    cr_expect(kvc_report_model_is_shown(&model, 0));
    cr_expect_eq(model.versions[model.version_count - 1].whole_not_run, 1);
    cr_expect_eq(kvc_report_markdown(&model, &text), 0);
    cr_expect_null(strstr(kvc_text_string(&text), "| `*Layer` | \xe2\x80\x93"), "%s", kvc_text_string(&text));
    cr_expect_not_null(strstr(kvc_text_string(&text), "| `DynamicLayer` | \xe2\x9c\x93 | \xe2\x9c\x93 | \xe2\x8a\x98 |"), "%s",
                       kvc_text_string(&text));
    kvc_text_free(&text);
    kvc_report_model_free(&model);
    cJSON_Delete(result);
}

/* 1 if `text` holds something that a terminal, a page or a reader's eye would obey. */
static int acts(const char *text, int escapes_allowed)
{
    static const char *const marks[] = {"\xe2\x80\xae", "\xe2\x80\xac", "\xe2\x81\xa6", "\xe2\x81\xa9",
                                        "\xe2\x80\x8b", "\xef\xbb\xbf", "\r",           "\x07"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (strstr(text, marks[i]) != NULL) {
            return 1;
        }
    }
    return !escapes_allowed && strchr(text, '\x1b') != NULL;
}

Test(reports, hostile_text_never_acts)
{
    cJSON *result = read_sample("result-hostile.json");
    kvc_text text = {0};
    write_report(kvc_report_html, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    cr_expect_null(strstr(kvc_text_string(&text), "<script"));
    cr_expect_null(strstr(kvc_text_string(&text), "<img"));
    cr_expect_eq(strstr(kvc_text_string(&text), "</style>"), strstr(kvc_text_string(&text), "</style>\n</head>"));
    kvc_text_free(&text);

    write_report(kvc_report_junit, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    cr_expect_null(strstr(kvc_text_string(&text), "<script"));
    kvc_text_free(&text);

    write_report(kvc_report_sarif, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    kvc_text_free(&text);

    write_report(kvc_report_badge, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    kvc_text_free(&text);

    write_report(kvc_report_markdown, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    cr_expect_leq(text.length, (size_t)KVC_MARKDOWN_MAX);
    cr_expect_not_null(strstr(kvc_text_string(&text), "Title &lt;/script&gt;&lt;/style&gt;&lt;script&gt;alert(1)"));
    cr_expect_not_null(strstr(kvc_text_string(&text), "[d](javascript:alert(1)) @<!-- -->someone"));
    kvc_text_free(&text);

    write_report(summary_plain, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 0), 0);
    kvc_text_free(&text);
    write_report(summary_coloured, result, &text);
    cr_expect_eq(acts(kvc_text_string(&text), 1), 0);
    cr_expect_null(strstr(kvc_text_string(&text), "\x1b[31mred"));
    kvc_text_free(&text);
    cJSON_Delete(result);
}

Test(reports, summary_says_it_all)
{
    static const char *const parts[] = {
        "\xe2\x9c\x93 DynamicLayer  transformers 5.14.1",
        "2 findings, 48,211 sequences, all up to 5 ops\n",
        "not run: the package hqq is not installed",
        "crop(-3) on 2 tokens leaves a stale token instead of an empty cache\n",
        "  in:   DynamicIndexedLayer, transformers 5.14.1\n  case: append 2, crop -3\n",
        "  law:  CLAMP (silent, documented)\n  id:   3e90b5a2c1d7\n",
        "MiniMaxM3VLSparseCacheLayer, transformers all 2 versions\n",
        "6 findings in 4 of 6 variants, 1 not run, 1 not covered, 1 absent; 433,899 sequences, 2,083,320 ops, seed 1\n",
    };
    cJSON *result = read_sample("result-sample.json");
    kvc_text text = {0};
    write_report(summary_plain, result, &text);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        cr_expect_not_null(strstr(kvc_text_string(&text), parts[i]), "%s\nin\n%s", parts[i], kvc_text_string(&text));
    }
    kvc_text_free(&text);
    cJSON_Delete(result);
}

Test(reports, markdown_draws_lanes)
{
    static const char *const picture = "position     0  1  2\n"
                                       "expected     2  3  4\n"
                                       "observed     \xe2\x88\x85  3  4\n"
                                       "difference  \xe2\x88\x92\xe2\x96\xb2      \n";
    cJSON *result = read_sample("result-sample.json");
    kvc_text text = {0};
    write_report(kvc_report_markdown, result, &text);
    cr_expect_not_null(strstr(kvc_text_string(&text), picture), "%s", kvc_text_string(&text));
    cr_expect_not_null(strstr(kvc_text_string(&text), "`append 2, crop -3` goes wrong at op 2. length 1, expected 0."));
    kvc_text_free(&text);
    cJSON_Delete(result);
}

Test(reports, nothing_run_and_nothing_found)
{
    cJSON *result = read_sample("result-sample.json");
    kvc_text text = {0};
    cJSON_ReplaceItemInObjectCaseSensitive(result, "runs", cJSON_CreateArray());
    cr_expect_eq(kvc_result_check(result, error, sizeof error), 0, "%s", error);
    write_report(summary_plain, result, &text);
    cr_expect_not_null(strstr(kvc_text_string(&text), "Nothing was run"));
    kvc_text_free(&text);
    write_report(kvc_report_html, result, &text);
    kvc_text_free(&text);
    write_report(kvc_report_markdown, result, &text);
    kvc_text_free(&text);
    cJSON_Delete(result);

    result = read_sample("result-sample.json");
    cJSON *run = cJSON_DetachItemFromArray(find(result, "runs"), 0);
    cJSON *runs = cJSON_CreateArray();
    cJSON_AddItemToArray(runs, run);
    cJSON_ReplaceItemInObjectCaseSensitive(result, "runs", runs);
    write_report(summary_plain, result, &text);
    cr_expect_not_null(strstr(kvc_text_string(&text), "\xe2\x9c\x93 No finding in 1 variant; 48,211 sequences"));
    kvc_text_free(&text);
    cJSON_Delete(result);
}

/* SHA-256 of `size` bytes as base64, written down here so that the test needs no library: FIPS 180-4. */
static uint32_t rotate(uint32_t word, unsigned by)
{
    return (word >> by) | (word << (32 - by));
}

/* The first 32 bits of the fractional part of a root, found by whole numbers alone: `cube` 0 for square roots. */
static uint32_t root_fraction(uint64_t prime, int cube)
{
    uint64_t low = 0;
    uint64_t high = (uint64_t)1 << 37; /* the root, times 2^32 */
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        long double root = (long double)middle / 4294967296.0L;
        if ((cube ? root * root * root : root * root) <= (long double)prime) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

static void hash_block(uint32_t *state, const uint32_t *constants, const unsigned char *block)
{
    uint32_t schedule[64];
    uint32_t work[8];
    for (size_t i = 0; i < 16; i++) {
        schedule[i] =
            (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t early = schedule[i - 15];
        uint32_t late = schedule[i - 2];
        schedule[i] = schedule[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ (early >> 3)) + schedule[i - 7] +
                      (rotate(late, 17) ^ rotate(late, 19) ^ (late >> 10));
    }
    memcpy(work, state, sizeof work);
    for (size_t i = 0; i < 64; i++) {
        uint32_t first = work[7] + (rotate(work[4], 6) ^ rotate(work[4], 11) ^ rotate(work[4], 25)) +
                         ((work[4] & work[5]) ^ (~work[4] & work[6])) + constants[i] + schedule[i];
        uint32_t second = (rotate(work[0], 2) ^ rotate(work[0], 13) ^ rotate(work[0], 22)) +
                          ((work[0] & work[1]) ^ (work[0] & work[2]) ^ (work[1] & work[2]));
        memmove(work + 1, work, 7 * sizeof *work);
        work[4] += first;
        work[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++) {
        state[i] += work[i];
    }
}

static void hash_text(const kvc_text *text, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t state[8];
    uint32_t constants[64];
    unsigned char hash[33] = {0};
    size_t found = 0;
    for (uint64_t prime = 2; found < 64; prime++) {
        uint64_t divisor = 2;
        while (prime % divisor != 0) {
            divisor++;
        }
        if (divisor == prime) {
            if (found < 8) {
                state[found] = root_fraction(prime, 0);
            }
            constants[found++] = root_fraction(prime, 1);
        }
    }
    size_t blocks = (text->length + 8) / 64 + 1;
    unsigned char *padded = calloc(blocks, 64);
    cr_assert_not_null(padded);
    memcpy(padded, text->data, text->length);
    padded[text->length] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        padded[blocks * 64 - 1 - i] = (unsigned char)((uint64_t)text->length * 8 >> (8 * i));
    }
    for (size_t i = 0; i < blocks; i++) {
        hash_block(state, constants, padded + 64 * i);
    }
    free(padded);
    for (size_t i = 0; i < 32; i++) {
        hash[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    }
    for (size_t i = 0; i < 33; i += 3) {
        uint32_t three = (uint32_t)hash[i] << 16 | (uint32_t)hash[i + 1] << 8 | hash[i + 2];
        for (unsigned part = 0; part < 4; part++) {
            *out++ = digits[three >> (18 - 6 * part) & 63];
        }
    }
    out[-1] = '='; /* 32 bytes leave one third of the last group empty */
    *out = '\0';
}

Test(reports, policy_names_the_style_sheet)
{
    kvc_text style = {0};
    char expected[64] = "sha256-";
    for (size_t i = 0; kvc_html_style[i] != NULL; i++) {
        kvc_text_add(&style, kvc_html_style[i]);
    }
    hash_text(&style, expected + 7);
    cr_expect_str_eq(kvc_html_style_hash, expected, "put %s into reports/html_style.c", expected);
    kvc_text_free(&style);
}
