#include "reports/markdown.h"

#include "reports/markdown_internal.h"

static int was_run(const kvc_report_run *run)
{
    return run->status == KVC_STATUS_CONFORMS || run->status == KVC_STATUS_FINDINGS;
}

static void add_version(kvc_text *out, const kvc_report_model *model, size_t version)
{
    kvc_text plain = {0};
    kvc_model_add_version(&plain, &model->versions[version]);
    kvc_markdown_add_text(out, &plain);
}

static void add_verdict(kvc_text *out, const kvc_report_run *run)
{
    kvc_text_add_format(out, "%s ", kvc_status_glyph(run->status));
    if (run->status == KVC_STATUS_FINDINGS) {
        kvc_model_add_plural(out, run->findings, "finding", "findings");
    } else {
        kvc_text_add(out, kvc_status_word(run->status));
    }
}

static void add_head(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "# ");
    kvc_model_add_headline(out, model);
    kvc_text_add(out, "\n\n");
    for (size_t i = 0; i < model->version_count && i < 8; i++) {
        kvc_text_add(out, i > 0 ? ", " : "");
        add_version(out, model, i);
    }
    if (model->version_count > 8) {
        kvc_text_add_format(out, " and %zu more", model->version_count - 8);
    }
    kvc_text_add(out, ". ");
    kvc_model_add_plural(out, model->sequences, "sequence", "sequences");
    kvc_text_add(out, " with ");
    kvc_model_add_plural(out, model->ops, "op", "ops");
    kvc_text_add_format(out, " in %.1f s, profile ", model->seconds);
    kvc_text_add_markdown_code(out, model->profile);
    kvc_text_add(out, ", seed ");
    kvc_text_add_markdown_code(out, model->seed);
    kvc_text_add(out, ".\n\n");
}

static void add_list(kvc_text *out, const kvc_report_model *model)
{
    kvc_text plain = {0};
    for (size_t i = 0; i < model->finding_count; i++) {
        const kvc_report_finding *finding = &model->findings[i];
        if (finding->cause != i) {
            continue;
        }
        kvc_text_add_format(out, "%zu. **", finding->number);
        kvc_text_add_markdown(out, kvc_json_string(finding->json, "title"));
        kvc_text_add(out, "**: ");
        kvc_text_add_markdown_code(out, kvc_json_string(model->runs[finding->run].json, "variant"));
        kvc_text_add(out, " after ");
        kvc_model_add_ops(&plain,
                          cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding->json, "case"), "ops"));
        kvc_markdown_add_code(out, &plain);
        kvc_text_add_format(out, " (%s)\n", kvc_json_string(finding->json, "severity"));
    }
    kvc_text_add(out, model->causes > 0 ? "\n" : "");
}

static void add_runs(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "## Verdicts\n\n| variant | version | verdict | sequences | all up to | contract |\n"
                      "|---|---|---|---:|---:|---|\n");
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        const char *variant = kvc_json_string(run->json, "variant");
        const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run->json, "exhaustive");
        kvc_text_add(out, "| ");
        kvc_text_add_markdown_code(out, *variant != '\0' ? variant : kvc_json_string(run->json, "target"));
        kvc_text_add(out, " | ");
        add_version(out, model, run->version);
        kvc_text_add(out, " | ");
        add_verdict(out, run);
        kvc_text_add(out, " | ");
        if (was_run(run)) {
            kvc_text_add_count(out, (uint64_t)kvc_json_number(run->json, "sequences"));
            kvc_text_add(out, " | ");
            kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
        } else {
            kvc_text_add(out, "– | –");
        }
        kvc_text_add(out, " | ");
        kvc_text_add_markdown(out, kvc_json_string(run->json, "contract"));
        kvc_text_add(out, kvc_json_true(run->json, "assumed") ? " (assumed)" : "");
        kvc_text_add(out, " |\n");
    }
    kvc_text_add(out, "\n*All up to*: every sequence of the variant's small alphabet up to that many ops was run; longer "
                      "ones were drawn at random.\n\n");
}

static void add_not_run(kvc_text *out, const kvc_report_model *model)
{
    int any = 0;
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        if (*kvc_json_string(run->json, "reason") == '\0') {
            continue;
        }
        kvc_text_add(out, any++ ? ""
                                : "## What was not run, or not to its end, and why\n\n| variant | version | state | reason |\n"
                                  "|---|---|---|---|\n");
        kvc_text_add(out, "| ");
        const char *variant = kvc_json_string(run->json, "variant");
        kvc_text_add_markdown_code(out, *variant != '\0' ? variant : kvc_json_string(run->json, "target"));
        kvc_text_add(out, " | ");
        add_version(out, model, run->version);
        kvc_text_add(out, " | ");
        add_verdict(out, run);
        kvc_text_add(out, " | ");
        kvc_text_add_markdown(out, kvc_json_string(run->json, "reason"));
        kvc_text_add(out, " |\n");
    }
    kvc_text_add(out, any ? "\n" : "");
}

static void add_unreached(kvc_text *out, const kvc_report_model *model)
{
    int any = 0;
    const cJSON *entry = NULL;
    for (size_t i = 0; i < model->run_count; i++) {
        cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(model->runs[i].json, "unreached")) {
            kvc_text_add(out, any++ ? ""
                                    : "## What could not be reached\n\nA finding stands in the way: look again once it is "
                                      "mended.\n\n| variant | op | situation | because of |\n|---|---|---|---|\n");
            kvc_text_add(out, "| ");
            kvc_text_add_markdown_code(out, kvc_json_string(model->runs[i].json, "variant"));
            kvc_text_add(out, " | ");
            kvc_text_add_markdown(out, kvc_json_string(entry, "op"));
            kvc_text_add(out, " | ");
            kvc_text_add_markdown(out, kvc_json_string(entry, "situation"));
            kvc_text_add(out, " | ");
            kvc_text_add_markdown_code(out, kvc_json_string(entry, "because"));
            kvc_text_add(out, " |\n");
        }
    }
    kvc_text_add(out, any ? "\n" : "");
}

static void add_coverage(kvc_text *out, const kvc_report_model *model)
{
    const cJSON *entry = NULL;
    kvc_text plain = {0};
    kvc_text_add(out, "## Coverage\n\nHow often each op was done in each situation.\n\n");
    for (size_t i = 0; i < model->run_count; i++) {
        const kvc_report_run *run = &model->runs[i];
        const cJSON *exhaustive = cJSON_GetObjectItemCaseSensitive(run->json, "exhaustive");
        if (!was_run(run)) {
            continue;
        }
        kvc_text_add(out, "<details><summary>");
        kvc_text_add_html(out, kvc_json_string(run->json, "variant"), KVC_LINES_SHOW);
        kvc_text_add(out, " ");
        kvc_model_add_version(&plain, &model->versions[run->version]);
        kvc_text_add_html(out, kvc_text_string(&plain), KVC_LINES_SHOW);
        out->failed |= plain.failed;
        kvc_text_free(&plain);
        kvc_text_add(out, "</summary>\n\nAll ");
        kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "sequences"), "sequence", "sequences");
        kvc_text_add(out, " of up to ");
        kvc_model_add_plural(out, (uint64_t)kvc_json_number(exhaustive, "size"), "op", "ops");
        kvc_text_add(out, " from: ");
        kvc_model_add_value(&plain, cJSON_GetObjectItemCaseSensitive(exhaustive, "alphabet"));
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, ".\n\n| op | situation | times |\n|---|---|---:|\n");
        cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(run->json, "coverage")) {
            kvc_text_add(out, "| ");
            kvc_text_add_markdown(out, kvc_json_string(entry, "op"));
            kvc_text_add(out, " | ");
            kvc_text_add_markdown(out, kvc_json_string(entry, "situation"));
            kvc_text_add(out, " | ");
            kvc_text_add_count(out, (uint64_t)kvc_json_number(entry, "count"));
            kvc_text_add(out, " |\n");
        }
        kvc_text_add(out, "\n</details>\n\n");
    }
}

static void add_provenance(kvc_text *out, const kvc_report_model *model)
{
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(model->result, "command");
    const cJSON *tool = cJSON_GetObjectItemCaseSensitive(model->result, "tool");
    const cJSON *word = NULL;
    kvc_text plain = {0};
    kvc_text_add(out, "## How it was run\n\n");
    cJSON_ArrayForEach (word, command) {
        kvc_text_add(&plain, word == command->child ? "" : " ");
        kvc_text_add(&plain, word->valuestring);
    }
    kvc_text_add_markdown_block(out, kvc_text_string(&plain), "sh");
    out->failed |= plain.failed;
    kvc_text_free(&plain);
    kvc_text_add(out, "\n");
    kvc_text_add_format(&plain, "%s %s; budget ", kvc_json_string(tool, "name"), kvc_json_string(tool, "version"));
    kvc_model_add_table(&plain, cJSON_GetObjectItemCaseSensitive(model->result, "budget"));
    kvc_text_add(&plain, "; ");
    kvc_text_add(&plain, kvc_json_string(cJSON_GetObjectItemCaseSensitive(model->result, "environment"), "platform"));
    kvc_markdown_add_text(out, &plain);
    kvc_text_add(out, "\n");
    for (size_t i = 0; i < model->version_count; i++) {
        const cJSON *environment = cJSON_GetObjectItemCaseSensitive(model->runs[model->versions[i].first].json, "environment");
        if (environment != NULL && environment->child != NULL) {
            kvc_text_add(out, i == 0 ? "\n- " : "- ");
            add_version(out, model, i);
            kvc_text_add(out, ": ");
            kvc_model_add_table(&plain, environment);
            kvc_markdown_add_text(out, &plain);
            kvc_text_add(out, "\n");
        }
    }
}

int kvc_report_markdown(const cJSON *result, kvc_text *out)
{
    kvc_report_model model = {0};
    if (kvc_model_make(result, &model) != 0) {
        kvc_model_free(&model);
        return -1;
    }
    add_head(out, &model);
    add_list(out, &model);
    add_runs(out, &model);
    kvc_text_add(out, model.causes > 0 ? "## Each finding\n\n" : "");
    for (size_t i = 0; i < model.finding_count; i++) {
        if (model.findings[i].cause == i) {
            kvc_markdown_add_finding(out, &model, i);
        }
    }
    add_not_run(out, &model);
    add_unreached(out, &model);
    add_coverage(out, &model);
    add_provenance(out, &model);
    kvc_model_free(&model);
    return out->failed ? -1 : 0;
}
