/* Baselines: conditions, order, what an entry must say, and that what is written can be read again. */
#include "tests/unit/support.h"

#include <unistd.h>

#include "harness/baseline.h"

#define ENTRY(id, target, more)                                                                                                 \
    "{\"id\": \"" id "\", \"target\": \"" target "\", \"law\": \"KEYS\", \"title\": \"t\", \"case\": {}, \"reason\": \"r\","       \
    " \"date\": \"2026-11-30\"" more "}"
#define BASELINE(entries) "{\"schema\": \"kvconform-baseline/1\", \"entries\": [" entries "]}"

static int parse(const char *text, kvc_baseline *baseline, kvc_error *error)
{
    memset(error, 0, sizeof *error);
    return kvc_baseline_parse(text, strlen(text), "file.json", baseline, error);
}

Test(baseline, conditions)
{
    static const char text[] = BASELINE(ENTRY("K-1", "s:*", ", \"when\": {\"from\": \"5.9\", \"to\": \"5.10.1\"}") "," ENTRY(
        "K-2", "s:v", ", \"when\": {\"dtype\": \"float16\", \"platform\": \"Linux-*\"}, \"expires\": \"2026-12-31\""));
    kvc_baseline_place place = {"s", "5.10.0", "v", "Linux-x86_64", "float16"};
    kvc_baseline baseline;
    kvc_error error;

    cr_assert(parse(text, &baseline, &error), "%s", error.text);
    cr_assert_eq(baseline.entries, 2);
    cr_expect(kvc_baseline_applies(&baseline.entry[0], &place));
    cr_expect(kvc_baseline_find(&baseline, "K-1", &place) == &baseline.entry[0]);
    cr_expect_null(kvc_baseline_find(&baseline, "K-3", &place));
    place.version = "5.8.2";
    cr_expect_not(kvc_baseline_applies(&baseline.entry[0], &place), "older than from");
    cr_expect(kvc_baseline_matches(&baseline.entry[0], &place), "of that variant it speaks all the same");
    place.version = "5.11.0";
    cr_expect_not(kvc_baseline_applies(&baseline.entry[0], &place), "newer than to");
    cr_expect(kvc_baseline_applies(&baseline.entry[1], &place));
    place.dtype = "float32";
    cr_expect_not(kvc_baseline_applies(&baseline.entry[1], &place), "another dtype");
    place.dtype = "";
    cr_expect(kvc_baseline_applies(&baseline.entry[1], &place), "any dtype");
    place.platform = "Darwin-arm64";
    cr_expect_not(kvc_baseline_applies(&baseline.entry[1], &place), "another platform");
    place = (kvc_baseline_place){"other", "5.10.0", "v", "", ""};
    cr_expect_not(kvc_baseline_matches(&baseline.entry[0], &place), "another subject");
    cr_expect_not(kvc_baseline_expired(&baseline.entry[1], "2026-12-31"), "the last day counts");
    cr_expect(kvc_baseline_expired(&baseline.entry[1], "2027-01-01"));
    cr_expect_not(kvc_baseline_expired(&baseline.entry[0], "2099-01-01"), "no last day");
    kvc_baseline_clear(&baseline);
}

Test(baseline, same_finding_twice)
{
    kvc_baseline baseline;
    kvc_error error;

    cr_expect(parse(BASELINE(ENTRY("K-1", "s:v", ", \"when\": {\"to\": \"2\"}") "," ENTRY("K-1", "s:v", ", \"when\": {\"from\": \"3\"}")),
                    &baseline, &error),
              "%s", error.text);
    kvc_baseline_clear(&baseline);
    cr_expect_not(parse(BASELINE(ENTRY("K-1", "s:v", ", \"when\": {\"to\": \"3\"}") "," ENTRY("K-1", "s:v", ", \"when\": {\"from\": \"3\"}")),
                        &baseline, &error));
    cr_expect(strstr(error.text, "twice") != NULL, "%s", error.text);
    kvc_baseline_clear(&baseline);
    /* The last one and the first overlap; the one between them speaks of another dtype. */
    cr_expect_not(parse(BASELINE(ENTRY("K-1", "s:v", "") "," ENTRY("K-1", "s:v", ", \"when\": {\"dtype\": \"float16\"}") "," ENTRY(
                            "K-1", "s:v", ", \"when\": {\"from\": \"3\"}")),
                        &baseline, &error));
    cr_expect(strstr(error.text, "twice") != NULL, "%s", error.text);
    kvc_baseline_clear(&baseline);
}

Test(baseline, what_is_added_is_sorted_and_read_again)
{
    static const char finding_text[] = "{\"id\": \"A-1\", \"law\": \"CLAMP\", \"title\": \"a title\","
                                       " \"case\": {\"subject\": \"s\", \"variant\": \"a\", \"params\": {}, \"ops\": [[\"crop\", -1]]}}";
    kvc_baseline_words words = {"because", NULL, "2026-11-30", "2027-06-30", "5.1", NULL};
    char path[] = "baseline-XXXXXX";
    int file = mkstemp(path);
    cJSON *finding = cJSON_Parse(finding_text);
    kvc_baseline baseline;
    kvc_baseline again;
    kvc_error error;

    cr_assert_geq(file, 0);
    (void)close(file);
    cr_assert(parse(BASELINE(ENTRY("K-1", "s:b", "")), &baseline, &error), "%s", error.text);
    cr_assert(kvc_baseline_add(&baseline, finding, &words, &error), "%s", error.text);
    cr_expect_str_eq(baseline.entry[0].id, "A-1", "s:a stands before s:b");
    cr_assert(kvc_baseline_write(path, &baseline, &error), "%s", error.text);
    cr_assert(kvc_baseline_read(path, &again, &error), "%s", error.text);
    cr_assert_eq(again.entries, 2);
    cr_expect_str_eq(again.entry[0].target, "s:a");
    cr_expect_str_eq(again.entry[0].from, "5.1");
    cr_expect_str_eq(again.entry[0].to, "");
    cr_expect_str_eq(again.entry[0].expires, "2027-06-30");
    cr_expect_eq((int)again.entry[0].law, KVC_CLAMP);
    kvc_baseline_clear(&again);
    words.reason = NULL;
    cr_expect_not(kvc_baseline_add(&baseline, finding, &words, &error), "nobody says why");
    cr_expect_eq(baseline.entries, 2);
    kvc_baseline_remove(&baseline, 0);
    cr_expect_eq(baseline.entries, 1);
    cr_expect_str_eq(baseline.entry[0].id, "K-1");
    kvc_baseline_clear(&baseline);
    cJSON_Delete(finding);
    (void)unlink(path);
}

Test(baseline, days)
{
    static const char *const bad[] = {"", "2026-1-1", "2026-13-01", "2026-00-10", "2026-01-32", "2026-01-00", "20260101", "2026-01-01x"};

    cr_expect(kvc_baseline_is_day("2026-02-28"));
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++)
        cr_expect_not(kvc_baseline_is_day(bad[at]), "%s", bad[at]);
}
