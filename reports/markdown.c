#include "reports/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "reports/markdown_internal.h"
#include "reports/models.h"
#include "reports/runtimes.h"
#include "reports/words.h"

/* Room that each part leaves for those behind it. */
enum { COLUMNS_MAX = 16, ROWS_MAX = 120, LEFT_BY_MATRIX = 30000, LEFT_BY_FINDINGS = 8000, LEFT_BY_REASONS = 3000 };

/* Moves a part into the report if it leaves `left` bytes there. Returns 1 if it did. */
static int add_part(kvc_text *out, kvc_text *part, size_t left)
{
    int fits = out->length + part->length + left <= KVC_MARKDOWN_MAX;
    if (fits) {
        kvc_text_add(out, kvc_text_string(part));
    }
    out->failed |= part->failed;
    kvc_text_free(part);
    return fits;
}

static int is_column(const kvc_report_model *model, size_t version, size_t subject)
{
    const kvc_report_version *of = &model->versions[version];
    return of->subject_index == subject && of->ordinal + COLUMNS_MAX >= model->subjects[subject].versions;
}

static void add_cell(kvc_text *out, const kvc_report_cell *cell, const kvc_report_version *version)
{
    if (cell == NULL) {
        kvc_text_add_format(out, " %s |", version->whole_not_run ? kvc_status_glyph(KVC_STATUS_NOT_RUN) : "–");
    } else if (cell->status == KVC_STATUS_FINDINGS) {
        kvc_text_add_format(out, " ✗ **%zu** |", cell->findings);
    } else {
        kvc_text_add_format(out, " %s |", kvc_status_glyph(cell->status));
    }
}

/* The heads of a table with a column for each version of a subject. Returns 1 if there is room for them. */
static int add_heads(kvc_text *out, const kvc_report_model *model, size_t subject, const char *what)
{
    kvc_text part = {0};
    kvc_text_add(&part, "| ");
    kvc_markdown_add_short(&part, model->subjects[subject].name);
    kvc_text_add_format(&part, "%s |", what);
    for (size_t i = 0; i < model->version_count; i++) {
        if (is_column(model, i, subject)) {
            kvc_text_add(&part, " ");
            kvc_markdown_add_short(&part, model->versions[i].version);
            kvc_text_add(&part, " |");
        }
    }
    kvc_text_add(&part, "\n|---|");
    for (size_t i = 0; i < model->version_count; i++) {
        kvc_text_add(&part, is_column(model, i, subject) ? ":-:|" : "");
    }
    kvc_text_add(&part, "\n");
    return add_part(out, &part, LEFT_BY_MATRIX);
}

/* One row of such a table. Returns 1 if there is room for it. */
static int add_row(kvc_text *out, const kvc_report_model *model, size_t row, const char *name)
{
    kvc_text part = {0};
    kvc_text_add(&part, "| ");
    kvc_text_add_markdown_code(&part, name);
    kvc_text_add(&part, " |");
    for (size_t i = 0; i < model->version_count; i++) {
        if (is_column(model, i, model->rows[row].subject_index)) {
            add_cell(&part, kvc_report_model_cell(model, row, i), &model->versions[i]);
        }
    }
    kvc_text_add(&part, "\n");
    return add_part(out, &part, LEFT_BY_MATRIX);
}

static void add_matrix(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    size_t shown = 0;
    int cut = 0;
    if ((model->subjects[subject].models > 0 && model->subjects[subject].models == model->subjects[subject].rows) ||
        !add_heads(out, model, subject, "")) {
        return;
    }
    for (size_t row = 0; row < model->row_count && !cut; row++) {
        if (model->rows[row].subject_index != subject || model->rows[row].is_model || !kvc_report_model_is_shown(model, row)) {
            continue;
        }
        cut = shown == ROWS_MAX || !add_row(out, model, row, kvc_words_row_name(&model->rows[row]));
        shown += !cut;
    }
    kvc_text_add(out, "\n");
    if (cut) {
        kvc_text_add_format(out, "%zu variants are shown, of %zu.\n\n", shown,
                            model->subjects[subject].rows - model->subjects[subject].models);
    }
}

/* Whole models are many: those with findings have a row, the others are counted. */
static void add_models(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    size_t count = 0;
    size_t bad = 0;
    size_t shown = 0;
    int cut = 0;
    size_t *rows = kvc_models_sorted(model, subject, &count);
    if (rows == NULL) {
        out->failed = 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bad += model->rows[rows[i]].causes > 0;
    }
    cut = bad > 0 && !add_heads(out, model, subject, ", whole models");
    for (size_t i = 0; i < count && !cut; i++) {
        if (model->rows[rows[i]].causes > 0) {
            cut = shown == ROWS_MAX || !add_row(out, model, rows[i], kvc_models_name(&model->rows[rows[i]]));
            shown += !cut;
        }
    }
    kvc_text_add(out, shown > 0 ? "\n" : "");
    if (count > 0) {
        kvc_words_add_plural(out, count, "whole model of ", "whole models of ");
        kvc_markdown_add_short(out, model->subjects[subject].name);
        kvc_text_add_format(out, ", %zu of them with findings%s. All of them, and what changed from version to version, are in the page "
                                 "beside this text.\n\n",
                            bad, cut ? ", not all of which are shown" : "");
    }
    free(rows);
}

/* Each fault of a layer with how many models it reaches. */
static void add_faults(kvc_text *out, const kvc_report_model *model)
{
    kvc_text part = {0};
    for (size_t at = 0; at < model->link_count; at = kvc_models_links_end(model, at)) {
        size_t end = kvc_models_links_end(model, at);
        size_t row = KVC_NONE;
        size_t names = 0;
        kvc_text_add(&part, at == 0 ? "| fault of a layer | reaches |\n|---|---|\n| " : "| ");
        kvc_text_add_markdown_code(&part, model->links[at].variant);
        kvc_text_add(&part, " ");
        kvc_text_add_markdown_code(&part, model->links[at].id);
        kvc_text_add(&part, " | ");
        for (size_t i = at; i < end; i++) {
            if (model->causes[model->links[i].model].row != row) {
                row = model->causes[model->links[i].model].row;
                kvc_text_add(&part, names++ > 0 ? ", " : "");
                kvc_markdown_add_short(&part, kvc_models_name(&model->rows[row]));
            }
        }
        kvc_text_add(&part, " |\n");
    }
    kvc_text_add(&part, model->link_count > 0 ? "\n" : "");
    if (!add_part(out, &part, LEFT_BY_MATRIX)) {
        kvc_text_add(out, "Which faults of layers reach which models is in the page beside this text.\n\n");
    }
}

static void add_findings(kvc_text *out, const kvc_report_model *model)
{
    size_t shown = 0;
    if (model->cause_count == 0) {
        return;
    }
    kvc_text_add(out, "## Findings\n\nThe smallest case of each. In the pictures the oldest token stands left; ≠ another token, + one "
                      "too many, − one missing, ▲ the first wrong cell.\n\n");
    for (; shown < model->cause_count; shown++) {
        kvc_text part = {0};
        kvc_markdown_add_finding(&part, model, shown);
        if (!add_part(out, &part, LEFT_BY_FINDINGS)) {
            break;
        }
    }
    kvc_text_add(out, "\n");
    if (shown < model->cause_count) {
        kvc_words_add_plural(out, model->cause_count - shown, "more finding is", "more findings are");
        kvc_text_add(out, " in the page beside this text.\n\n");
    }
}

/* What was not run, with the reason, but for classes that a version does not have. */
static void add_not_run(kvc_text *out, const kvc_report_model *model)
{
    size_t lines = 0;
    size_t more = 0;
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        kvc_text part = {0};
        kvc_text plain = {0};
        if (run->status == KVC_STATUS_ABSENT || *kvc_json_string(run->json, "reason") == '\0') {
            continue;
        }
        if (lines == 0) {
            kvc_text_add(&part, "## Not run, or not to the end\n\n| variant | version | state | reason |\n|---|---|---|---|\n");
        }
        kvc_text_add(&part, "| ");
        kvc_text_add_markdown_code(&part, kvc_words_row_name(&model->rows[run->row]));
        kvc_text_add(&part, " | ");
        kvc_words_add_version(&plain, &model->versions[run->version]);
        kvc_markdown_add_text(&part, &plain);
        kvc_text_add_format(&part, " | %s %s | ", kvc_status_glyph(run->status), kvc_status_word(run->status));
        kvc_markdown_add_short(&part, kvc_json_string(run->json, "reason"));
        kvc_text_add(&part, " |\n");
        if (more > 0 || !add_part(out, &part, LEFT_BY_REASONS)) {
            kvc_text_free(&part);
            more++;
        } else {
            lines++;
        }
    }
    kvc_text_add(out, lines > 0 ? "\n" : "");
    if (more > 0) {
        kvc_text_add_format(out, "%zu more are in the page beside this text.\n\n", more);
    }
}

/* What was taken for granted of classes that nobody knows, and what is not tested of them. */
static void add_notes(kvc_text *out, const kvc_report_model *model)
{
    static const char *const fields[][2] = {{"assumptions", "assumed"}, {"untested", "not tested"}};
    kvc_text part = {0};
    for (size_t i = 0; i < model->run_count; i++) {
        for (size_t field = 0; field < sizeof fields / sizeof fields[0]; field++) {
            const cJSON *note = NULL;
            cJSON_ArrayForEach (note, cJSON_GetObjectItemCaseSensitive(model->runs[i].json, fields[field][0])) {
                kvc_text_add(&part, part.length == 0 ? "## Assumed, and not tested\n\n- " : "- ");
                kvc_text_add_markdown_code(&part, kvc_words_row_name(&model->rows[model->runs[i].row]));
                kvc_text_add_format(&part, ", %s: ", fields[field][1]);
                kvc_markdown_add_short(&part, note->valuestring);
                kvc_text_add(&part, "\n");
            }
        }
    }
    kvc_text_add(&part, part.length > 0 ? "\n" : "");
    if (!add_part(out, &part, LEFT_BY_REASONS)) {
        kvc_text_add(out, "What was assumed, and what is not tested, is in the page beside this text.\n\n");
    }
}

static void add_provenance(kvc_text *out, const kvc_report_model *model)
{
    for (size_t i = 0; i < model->result_count; i++) {
        const cJSON *result = model->results[i];
        const cJSON *tool = cJSON_GetObjectItemCaseSensitive(result, "tool");
        kvc_text part = {0};
        kvc_text plain = {0};
        kvc_text_add(&part, "- ");
        kvc_words_add_command(&plain, cJSON_GetObjectItemCaseSensitive(result, "command"));
        kvc_markdown_add_code(&part, &plain);
        kvc_text_add_format(&plain, ": seed %s, profile %s, budget ", kvc_json_string(result, "seed"),
                            kvc_json_string(result, "profile"));
        kvc_words_add_table(&plain, cJSON_GetObjectItemCaseSensitive(result, "budget"));
        kvc_text_add_format(&plain, ", %s %s, %s", kvc_json_string(tool, "name"), kvc_json_string(tool, "version"),
                            kvc_json_string(cJSON_GetObjectItemCaseSensitive(result, "finished"), "at"));
        kvc_markdown_add_text(&part, &plain);
        kvc_text_add(&part, "\n");
        if (!add_part(out, &part, 100)) {
            kvc_text_add(out, "- and more\n");
            break;
        }
    }
}

/* Variants of each kind of cache, by runtime: how many have findings. */
static void add_runtimes(kvc_text *out, const kvc_report_model *model)
{
    kvc_runtimes *runtimes = calloc(1, sizeof *runtimes);
    kvc_text part = {0};
    if (runtimes == NULL) {
        out->failed = 1;
        return;
    }
    kvc_runtimes_gather(model, runtimes);
    kvc_text_add(&part, "| kind of cache |");
    for (size_t subject = 0; subject < runtimes->subjects; subject++) {
        kvc_text plain = {0};
        kvc_text_add(&part, " ");
        kvc_words_add_version(&plain, &model->versions[runtimes->version[subject]]);
        kvc_markdown_add_text(&part, &plain);
        kvc_text_add(&part, " |");
    }
    kvc_text_add(&part, "\n|---|");
    for (size_t subject = 0; subject < runtimes->subjects; subject++) {
        kvc_text_add(&part, ":-:|");
    }
    kvc_text_add(&part, "\n");
    for (size_t kind = 0; kind < runtimes->kinds; kind++) {
        kvc_text_add(&part, "| ");
        kvc_markdown_add_short(&part, runtimes->kind[kind]);
        kvc_text_add(&part, " |");
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            size_t variants = runtimes->variants[kind][subject];
            if (variants == 0) {
                kvc_text_add(&part, " – |");
            } else if (runtimes->bad[kind][subject] == 0) {
                kvc_text_add_format(&part, " ✓ %zu |", variants);
            } else {
                kvc_text_add_format(&part, " ✗ **%zu** of %zu |", runtimes->bad[kind][subject], variants);
            }
        }
        kvc_text_add(&part, "\n");
    }
    kvc_text_add(&part, "\n");
    if (runtimes->subjects > 1 && runtimes->kinds > 0) {
        (void)add_part(out, &part, LEFT_BY_MATRIX);
    }
    kvc_text_free(&part);
    free(runtimes);
}

int kvc_report_markdown(const kvc_report_model *model, kvc_text *out)
{
    kvc_text_add(out, "# ");
    kvc_words_add_headline(out, model);
    kvc_text_add(out, "\n\n");
    add_runtimes(out, model);
    for (size_t subject = 0; subject < model->subject_count; subject++) {
        add_matrix(out, model, subject);
        add_models(out, model, subject);
    }
    add_faults(out, model);
    kvc_text_add(out, "✗ findings, ✓ conforms, ○ not covered, ⊘ not run, ∅ absent. ");
    kvc_words_add_plural(out, model->sequences, "sequence", "sequences");
    kvc_text_add(out, " with ");
    kvc_words_add_plural(out, model->ops, "op", "ops");
    kvc_text_add(out, ".\n\n");
    add_findings(out, model);
    add_notes(out, model);
    add_not_run(out, model);
    kvc_text_add(out, "## How it was run\n\n");
    add_provenance(out, model);
    return out->failed ? -1 : 0;
}
