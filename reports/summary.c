#include "reports/summary.h"

#include "reports/words.h"

enum {
    NAME_COLUMNS = 60,
    TITLE_COLUMNS = 200,
    CASE_COLUMNS = 400,
    LINE_COLUMNS = 100,
    WHOLE_MAX = 20 /* findings that are told whole: of more there is a line each */
};

static const char red[] = "\x1b[31m";
static const char green[] = "\x1b[32m";
static const char bold[] = "\x1b[1m";
static const char faint[] = "\x1b[2m";
static const char plain_again[] = "\x1b[0m";

typedef struct kvc_summary {
    kvc_text *out;
    const kvc_report_model *model;
    int colour;
} kvc_summary;

static void paint(const kvc_summary *summary, const char *code)
{
    if (summary->colour) {
        kvc_text_add(summary->out, code);
    }
}

static size_t characters(const char *string)
{
    size_t count = 0;
    for (; *string != '\0'; string++) {
        count += ((unsigned char)*string & 0xC0U) != 0x80;
    }
    return count;
}

/* Name of the variant and version of a run, ready for the terminal. The caller frees it. */
static kvc_text name_of(const kvc_report_model *model, const kvc_report_run *run)
{
    kvc_text name = {0};
    kvc_text_add_terminal_short(&name, kvc_words_row_name(&model->rows[run->row]), NAME_COLUMNS);
    if (model->version_count > 1) {
        kvc_text version = {0};
        kvc_words_add_version(&version, &model->versions[run->version]);
        kvc_text_add(&name, "  ");
        kvc_text_add_terminal_short(&name, kvc_text_string(&version), NAME_COLUMNS);
        name.failed |= version.failed;
        kvc_text_free(&version);
    }
    return name;
}

/* What was taken for granted of a class that nobody knows, or is not tested of it. */
static void add_notes(const kvc_summary *summary, const kvc_report_run *run, const char *field, const char *word)
{
    const cJSON *note = NULL;
    cJSON_ArrayForEach (note, cJSON_GetObjectItemCaseSensitive(run->json, field)) {
        paint(summary, faint);
        kvc_text_add_format(summary->out, "  %s ", word);
        kvc_text_add_terminal_short(summary->out, note->valuestring, CASE_COLUMNS);
        paint(summary, plain_again);
        kvc_text_add(summary->out, "\n");
    }
}

static void add_run(const kvc_summary *summary, const kvc_report_run *run, size_t width)
{
    kvc_text *out = summary->out;
    kvc_text name = name_of(summary->model, run);
    const char *shown = kvc_text_string(&name);
    size_t columns = characters(shown);
    size_t findings = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(run->json, "findings"));
    paint(summary, run->status == KVC_STATUS_FINDINGS ? red : run->status == KVC_STATUS_CONFORMS ? green : faint);
    kvc_text_add_format(out, "%s", kvc_status_glyph(run->status));
    paint(summary, plain_again);
    kvc_text_add_format(out, " %s", shown);
    kvc_text_add_char(out, ' ', columns < width ? 2 + width - columns : 2);
    if (run->status == KVC_STATUS_FINDINGS) {
        kvc_words_add_plural(out, findings, "finding", "findings");
    } else {
        kvc_text_add(out, kvc_status_word(run->status));
    }
    if (kvc_report_was_run(run->status)) {
        const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run->json, "exhaustive");
        kvc_text_add(out, ", ");
        kvc_words_add_plural(out, (uint64_t)kvc_json_number(run->json, "sequences"), "sequence", "sequences");
        if (kvc_json_number(exhaustive, "size") > 0) {
            kvc_text_add(out, ", all up to ");
            kvc_words_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
        }
    }
    if (*kvc_json_string(run->json, "reason") != '\0') {
        kvc_text_add(out, ": ");
        kvc_text_add_terminal_short(out, kvc_json_string(run->json, "reason"), TITLE_COLUMNS);
    }
    kvc_text_add(out, kvc_json_true(run->json, "assumed") ? ", contract assumed\n" : "\n");
    add_notes(summary, run, "assumptions", "assumed: ");
    add_notes(summary, run, "untested", "untested:");
    out->failed |= name.failed;
    kvc_text_free(&name);
}

static void add_cause(const kvc_summary *summary, size_t cause)
{
    kvc_text *out = summary->out;
    const kvc_report_finding *finding = &summary->model->findings[summary->model->causes[cause].shown];
    const kvc_report_run *run = &summary->model->runs[finding->run];
    const cJSON *json = finding->json;
    kvc_text sizes = {0};
    kvc_text ops = {0};
    kvc_text version = {0};
    kvc_text_add(out, "\n");
    paint(summary, red);
    kvc_text_add(out, "✗");
    paint(summary, plain_again);
    kvc_text_add(out, " ");
    paint(summary, bold);
    kvc_text_add_terminal_short(out, kvc_json_string(json, "title"), TITLE_COLUMNS);
    paint(summary, plain_again);
    kvc_text_add(out, "\n  in:   ");
    kvc_text_add_terminal_short(out, kvc_words_row_name(&summary->model->rows[run->row]), NAME_COLUMNS);
    kvc_text_add_format(&version, ", %s ", summary->model->versions[run->version].subject);
    kvc_words_add_versions(&version, summary->model, cause);
    kvc_text_add_terminal_short(out, kvc_text_string(&version), CASE_COLUMNS);
    out->failed |= version.failed;
    kvc_text_free(&version);
    kvc_words_add_sizes(&sizes, json);
    if (sizes.length > 0) {
        kvc_text_add(out, "\n  with: ");
        kvc_text_add_terminal_short(out, kvc_text_string(&sizes), CASE_COLUMNS);
    }
    out->failed |= sizes.failed;
    kvc_text_free(&sizes);
    kvc_text_add(out, "\n  case: ");
    kvc_words_add_ops(&ops, json);
    kvc_text_add_terminal_short(out, kvc_text_string(&ops), CASE_COLUMNS);
    out->failed |= ops.failed;
    kvc_text_free(&ops);
    kvc_text_add(out, "\n  law:  ");
    kvc_text_add_terminal_short(out, kvc_json_string(json, "law"), NAME_COLUMNS);
    kvc_text_add_format(out, " (%s, %s%s%s)\n  id:   %s\n", kvc_json_string(json, "severity"), kvc_json_string(json, "basis"),
                        kvc_json_true(json, "flaky") ? ", flaky" : "", kvc_json_true(json, "control") ? ", control" : "",
                        kvc_json_string(json, "id"));
}

/* One of many: a line, without what the report says better. */
static void add_cause_line(const kvc_summary *summary, size_t cause)
{
    kvc_text *out = summary->out;
    const cJSON *json = summary->model->findings[summary->model->causes[cause].shown].json;
    kvc_text ops = {0};
    paint(summary, red);
    kvc_text_add_format(out, "%s", kvc_severity_glyph(kvc_json_string(json, "severity")));
    paint(summary, plain_again);
    kvc_text_add(out, " ");
    kvc_text_add_terminal_short(out, kvc_json_string(json, "title"), TITLE_COLUMNS);
    kvc_text_add(out, ": ");
    kvc_words_add_ops(&ops, json);
    kvc_text_add_terminal_short(out, kvc_text_string(&ops), LINE_COLUMNS);
    out->failed |= ops.failed;
    kvc_text_free(&ops);
    kvc_text_add(out, "\n");
}

/* The last line: what happened. */
static void add_counts(const kvc_summary *summary)
{
    kvc_text *out = summary->out;
    const kvc_report_model *model = summary->model;
    static const kvc_status others[] = {KVC_STATUS_NOT_RUN, KVC_STATUS_NOT_COVERED, KVC_STATUS_ABSENT};
    int bad = model->cause_count > 0;
    const char *seed = kvc_report_model_common(model, "seed");
    paint(summary, bold);
    paint(summary, bad ? red : green);
    kvc_words_add_headline(out, model);
    paint(summary, plain_again);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (model->status_count[others[i]] > 0) {
            kvc_text_add_format(out, ", %zu %s", model->status_count[others[i]], kvc_status_word(others[i]));
        }
    }
    kvc_text_add(out, "; ");
    kvc_words_add_plural(out, model->sequences, "sequence", "sequences");
    kvc_text_add(out, ", ");
    kvc_words_add_plural(out, model->ops, "op", "ops");
    kvc_text_add_format(out, ", seed %s\n", *seed != '\0' ? seed : "several");
}

void kvc_report_summary_line(const kvc_report_model *model, int colour, kvc_text *out)
{
    const kvc_summary summary = {out, model, colour};
    add_counts(&summary);
}

int kvc_report_summary(const kvc_report_model *model, int colour, kvc_text *out)
{
    const kvc_summary summary = {out, model, colour};
    size_t width = 0;
    for (size_t i = 0; i < model->run_count; i++) {
        kvc_text name = name_of(model, &model->runs[i]);
        size_t columns = characters(kvc_text_string(&name));
        width = columns > width ? columns : width;
        out->failed |= name.failed;
        kvc_text_free(&name);
    }
    for (size_t i = 0; i < model->run_count && !out->failed; i++) {
        add_run(&summary, &model->runs[i], width);
    }
    int many = model->cause_count > WHOLE_MAX;
    if (many) {
        kvc_text_add_format(out, "\n%s %s; %s %s; %s %s:\n", kvc_severity_glyph("silent"), kvc_severity_meaning("silent"),
                            kvc_severity_glyph("error"), kvc_severity_meaning("error"), kvc_severity_glyph("crash"),
                            kvc_severity_meaning("crash"));
    }
    for (size_t i = 0; i < model->cause_count && !out->failed; i++) {
        if (many) {
            add_cause_line(&summary, i);
        } else {
            add_cause(&summary, i);
        }
    }
    kvc_text_add(out, "\n");
    add_counts(&summary);
    return out->failed ? -1 : 0;
}
