#include <string.h>

#include "reports/lanes.h"
#include "reports/law_text.h"
#include "reports/markdown_internal.h"

void kvc_markdown_add_text(kvc_text *out, kvc_text *plain)
{
    kvc_text_add_markdown(out, kvc_text_string(plain));
    out->failed |= plain->failed;
    kvc_text_free(plain);
}

void kvc_markdown_add_code(kvc_text *out, kvc_text *plain)
{
    kvc_text_add_markdown_code(out, kvc_text_string(plain));
    out->failed |= plain->failed;
    kvc_text_free(plain);
}

static void add_ops(kvc_text *out, const cJSON *finding)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "ops");
    const cJSON *op = NULL;
    kvc_text plain = {0};
    int step = (int)kvc_json_number(finding, "step");
    int index = 0;
    kvc_text_add(out, "| step | op | |\n|---:|---|---|\n");
    cJSON_ArrayForEach (op, ops) {
        kvc_text_add_format(out, "| %d | ", index);
        kvc_model_add_op(&plain, op);
        kvc_markdown_add_code(out, &plain);
        kvc_text_add(out, index == step ? " | ✗ **wrong here** |\n" : " | |\n");
        index++;
    }
    kvc_text_add(out, "\n");
}

static void add_facts(kvc_text *out, const cJSON *finding)
{
    static const struct {
        const char *field, *name;
    } facts[] = {
        {"outcome", "outcome"},         {"length", "length"},        {"masks", "mask sizes"},
        {"positions", "next position"}, {"claim", "claims to crop"}, {"error", "error"},
    };
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(finding, "expected");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    kvc_text_add(out, "| after that op | expected | observed | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const cJSON *left = cJSON_GetObjectItemCaseSensitive(expected, facts[i].field);
        const cJSON *right = cJSON_GetObjectItemCaseSensitive(observed, facts[i].field);
        kvc_text left_text = {0};
        kvc_text right_text = {0};
        if (left == NULL && right == NULL) {
            continue;
        }
        int is_error = strcmp(facts[i].field, "error") == 0;
        kvc_model_add_value(&left_text, left);
        kvc_model_add_value(&right_text, right);
        int same = strcmp(kvc_text_string(&left_text), kvc_text_string(&right_text)) == 0;
        kvc_text_add_format(out, "| %s | ", facts[i].name);
        if (left != NULL) {
            kvc_markdown_add_code(out, &left_text);
        } else {
            kvc_text_add(out, "–");
        }
        kvc_text_add(out, " | ");
        if (right != NULL) {
            kvc_markdown_add_code(out, &right_text);
        } else {
            kvc_text_add(out, "–");
        }
        kvc_text_add(out, is_error || left == NULL || right == NULL ? " | |\n" : same ? " | ✓ same |\n" : " | ✗ differs |\n");
        out->failed |= left_text.failed | right_text.failed;
        kvc_text_free(&left_text);
        kvc_text_free(&right_text);
    }
    kvc_text_add(out, "\n");
}

static size_t characters(const char *string)
{
    size_t count = 0;
    for (; *string != '\0'; string++) {
        count += ((unsigned char)*string & 0xC0U) != 0x80;
    }
    return count;
}

/* What stands in a cell of one of the four lines of a lane. */
static void add_cell(kvc_text *plain, const kvc_lane_cell *cell, const kvc_lane_cell *first, int line)
{
    static const char *const marks[] = {"", "", "≠", "−", "+", ""};
    kvc_text token = {0};
    const cJSON *value = line == 1 ? cell->expected : cell->observed;
    if (line == 0 && cell->kind == KVC_CELL_GAP) {
        kvc_text_add_format(plain, "%zu–%zu", cell->position, cell->position + cell->count - 1);
    } else if (line == 0) {
        kvc_text_add_format(plain, "%zu", cell->position);
    } else if (line == 3 && cell->kind == KVC_CELL_GAP && cell->wrong > 0) {
        kvc_text_add_format(plain, "%zu wrong", cell->wrong);
    } else if (line == 3) {
        int wrong = cell->kind >= KVC_CELL_OTHER && cell->kind != KVC_CELL_GAP;
        kvc_text_add_format(plain, "%s%s", marks[cell->kind], wrong && cell->position == first->position ? "▲" : "");
    } else if (cell->kind == KVC_CELL_GAP) {
        kvc_text_add(plain, "⋯");
    } else if (line == 1 && cell->kind == KVC_CELL_FREE) {
        kvc_text_add(plain, "any");
    } else if (value == NULL) {
        kvc_text_add(plain, "∅");
    } else {
        kvc_model_add_value(&token, value);
        kvc_text_add_terminal_short(plain, kvc_text_string(&token), 24);
        plain->failed |= token.failed;
    }
    kvc_text_free(&token);
}

/* Four lines of text with columns in line: a picture in a code block. */
static void add_picture(kvc_text *block, const kvc_lane *lane)
{
    static const char *const names[] = {"position  ", "expected  ", "observed  ", "difference"};
    size_t widths[KVC_LANE_CELLS_MAX] = {0};
    for (size_t i = 0; i < lane->cell_count; i++) {
        for (int line = 0; line < 4; line++) {
            kvc_text plain = {0};
            add_cell(&plain, &lane->cells[i], &lane->first, line);
            size_t width = characters(kvc_text_string(&plain));
            widths[i] = width > widths[i] ? width : widths[i];
            block->failed |= plain.failed;
            kvc_text_free(&plain);
        }
    }
    for (int line = 0; line < 4 && !block->failed; line++) {
        kvc_text_add(block, names[line]);
        for (size_t i = 0; i < lane->cell_count; i++) {
            kvc_text plain = {0};
            add_cell(&plain, &lane->cells[i], &lane->first, line);
            kvc_text_add_char(block, ' ', 2 + widths[i] - characters(kvc_text_string(&plain)));
            kvc_text_add(block, kvc_text_string(&plain));
            block->failed |= plain.failed;
            kvc_text_free(&plain);
        }
        kvc_text_add(block, "\n");
    }
}

static void add_names(kvc_text *out, const kvc_lane *lane)
{
    for (size_t i = 0; i < lane->name_count; i++) {
        const kvc_lane_name *name = &lane->names[i];
        if (i > 0 && strcmp(name->tensor, lane->names[i - 1].tensor) == 0) {
            kvc_text_add_format(out, ", %zu", name->row);
            continue;
        }
        kvc_text_add(out, i > 0 ? "; " : "");
        kvc_text_add_markdown_code(out, name->tensor);
        if (name->rows > 1) {
            kvc_text_add_format(out, " row %zu", name->row);
        }
    }
}

static void add_lanes(kvc_text *out, const cJSON *finding)
{
    kvc_lanes lanes = {0};
    out->failed |= kvc_lanes_make(finding, &lanes) != 0;
    if (lanes.wrong > 0) {
        kvc_text_add(out, "Oldest token left; ≠ another token, + a token too many, − a token missing, ▲ the first wrong "
                          "cell.\n\n");
    }
    for (size_t i = 0; i < lanes.count; i++) {
        const kvc_lane *lane = &lanes.lane[i];
        kvc_text block = {0};
        if (i >= lanes.wrong) {
            kvc_text_add(out, i == lanes.wrong ? "✓ As expected: " : "; ");
            add_names(out, lane);
            continue;
        }
        add_names(out, lane);
        kvc_text_add(out, ": ");
        kvc_model_add_plural(out, lane->expected_length, "token", "tokens");
        kvc_text_add_format(out, " expected, %zu observed%s\n\n", lane->observed_length,
                            lane->newest ? ", aligned at the newest" : "");
        add_picture(&block, lane);
        kvc_text_add_markdown_block(out, kvc_text_string(&block), "text");
        kvc_text_add(out, "\n");
        out->failed |= block.failed;
        kvc_text_free(&block);
    }
    kvc_text_add(out, lanes.count > lanes.wrong ? "\n\n" : "");
    if (lanes.left_out > 0) {
        kvc_text_add_format(out, "%zu more tensor rows are not drawn.\n\n", lanes.left_out);
    }
    kvc_lanes_free(&lanes);
}

static void add_seen(kvc_text *out, const kvc_report_model *model, size_t index)
{
    kvc_text plain = {0};
    uint64_t failures = 0;
    size_t previous = SIZE_MAX;
    kvc_text_add(out, "- **Seen in**: ");
    for (size_t at = index; at != KVC_NO_FINDING; at = model->findings[at].next) {
        size_t version = model->runs[model->findings[at].run].version;
        failures += (uint64_t)kvc_json_number(model->findings[at].json, "failures");
        if (version != previous) {
            kvc_text_add(out, previous == SIZE_MAX ? "" : ", ");
            kvc_model_add_version(&plain, &model->versions[version]);
            kvc_markdown_add_text(out, &plain);
            previous = version;
        }
    }
    kvc_text_add(out, " (");
    kvc_model_add_plural(out, failures, "failing sequence", "failing sequences");
    kvc_text_add(out, ")\n");
}

static void add_reasons(kvc_text *out, const cJSON *finding)
{
    const char *law = kvc_json_string(finding, "law");
    const cJSON *also = cJSON_GetObjectItemCaseSensitive(finding, "also");
    const cJSON *rule = cJSON_GetObjectItemCaseSensitive(finding, "rule");
    const char *source = kvc_json_string(finding, "source");
    kvc_text plain = {0};
    kvc_text_add(out, "- **Law broken**: ");
    kvc_text_add_markdown(out, law);
    kvc_text_add_format(out, ": %s", kvc_report_law_text(law));
    if (also->child != NULL) {
        kvc_text_add(out, " Also: ");
        kvc_model_add_value(&plain, also);
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, ".");
    }
    if (rule != NULL) {
        kvc_text_add(out, "\n- **Rule**: ");
        kvc_text_add_format(&plain, "%s = ", kvc_json_string(rule, "name"));
        kvc_model_add_value(&plain, cJSON_GetObjectItemCaseSensitive(rule, "value"));
        kvc_markdown_add_code(out, &plain);
    }
    kvc_text_add_format(out, "\n- **Rests on**: %s", kvc_json_string(finding, "basis"));
    if (*source != '\0') {
        kvc_text_add(out, ": ");
        kvc_text_add_markdown(out, source);
    }
    kvc_text_add(out, "\n- **Minimal**: ");
    kvc_model_add_minimal(out, finding);
    kvc_text_add(out, "\n");
}

void kvc_markdown_add_finding(kvc_text *out, const kvc_report_model *model, size_t index)
{
    const kvc_report_finding *finding = &model->findings[index];
    const cJSON *json = finding->json;
    const char *severity = kvc_json_string(json, "severity");
    const char *script = kvc_json_string(json, "script");
    const char *replay = kvc_json_string(json, "replay");
    kvc_text plain = {0};
    kvc_text_add_format(out, "### ✗ %zu. ", finding->number);
    kvc_text_add_markdown(out, kvc_json_string(json, "title"));
    kvc_text_add_format(out, "\n\n%s **%s**, %s; ", kvc_severity_glyph(severity), severity, kvc_severity_meaning(severity));
    kvc_text_add_markdown_code(out, kvc_json_string(model->runs[finding->run].json, "variant"));
    kvc_text_add(out, kvc_json_true(json, "flaky") ? "; ≈ flaky: did not happen every time" : "");
    kvc_text_add(out, kvc_json_true(json, "control") ? "; ⚑ control: broken on purpose" : "");
    kvc_text_add(out, "\n\n");
    add_ops(out, json);
    add_facts(out, json);
    add_lanes(out, json);
    add_reasons(out, json);
    add_seen(out, model, index);
    kvc_text_add(out, "- **Parameters**: ");
    kvc_model_add_table(&plain, cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "case"), "params"));
    kvc_markdown_add_text(out, &plain);
    kvc_text_add(out, "\n- **Finding**: ");
    kvc_text_add_markdown_code(out, kvc_json_string(json, "id"));
    kvc_text_add(out, "\n\n");
    if (*replay != '\0') {
        kvc_text_add_markdown_block(out, replay, "sh");
        kvc_text_add(out, "\n");
    }
    if (*script != '\0') {
        kvc_text_add(out, "<details><summary>Script to paste (exit status 1: the fault shows)</summary>\n\n");
        kvc_text_add_markdown_block(out, script, "");
        kvc_text_add(out, "\n</details>\n\n");
    } else if (*kvc_json_string(json, "no_script") != '\0') {
        kvc_text_add(out, "No script: ");
        kvc_text_add_markdown(out, kvc_json_string(json, "no_script"));
        kvc_text_add(out, "\n\n");
    }
}
