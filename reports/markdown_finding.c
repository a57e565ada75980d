#include <string.h>

#include "reports/lanes.h"
#include "reports/law_text.h"
#include "reports/markdown_internal.h"
#include "reports/models.h"
#include "reports/words.h"

enum { TEXT_COLUMNS = 400 };

void kvc_markdown_add_text(kvc_text *out, kvc_text *plain)
{
    kvc_text cut = {0};
    kvc_text_add_terminal_short(&cut, kvc_text_string(plain), TEXT_COLUMNS);
    kvc_text_add_markdown(out, kvc_text_string(&cut));
    out->failed |= plain->failed | cut.failed;
    kvc_text_free(plain);
    kvc_text_free(&cut);
}

void kvc_markdown_add_code(kvc_text *out, kvc_text *plain)
{
    kvc_text cut = {0};
    kvc_text_add_terminal_short(&cut, kvc_text_string(plain), TEXT_COLUMNS);
    kvc_text_add_markdown_code(out, kvc_text_string(&cut));
    out->failed |= plain->failed | cut.failed;
    kvc_text_free(plain);
    kvc_text_free(&cut);
}

void kvc_markdown_add_short(kvc_text *out, const char *string)
{
    kvc_text plain = {0};
    kvc_text_add(&plain, string);
    kvc_markdown_add_text(out, &plain);
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
        kvc_words_add_value(&token, value);
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

/* The lane that is wrong first. */
static void add_lane(kvc_text *out, const cJSON *finding)
{
    kvc_lanes lanes = {0};
    out->failed |= kvc_lanes_make(finding, &lanes) != 0;
    if (!out->failed && lanes.wrong > 0) {
        const kvc_lane *lane = &lanes.lane[0];
        kvc_text block = {0};
        kvc_text_add_format(&block, "%s", lane->names[0].tensor);
        if (lane->names[0].rows > 1) {
            kvc_text_add_format(&block, " row %zu", lane->names[0].row);
        }
        kvc_text_add(&block, lane->newest ? ", aligned at the newest token\n" : "\n");
        add_picture(&block, lane);
        kvc_text_add_markdown_block(out, kvc_text_string(&block), "text");
        if (lanes.wrong > 1) {
            kvc_text_add_format(out, "\n%zu more tensors or rows are wrong too.\n", lanes.wrong - 1);
        }
        kvc_text_add(out, "\n");
        out->failed |= block.failed;
        kvc_text_free(&block);
    }
    kvc_lanes_free(&lanes);
}

/* What is told of a finding of a whole model, and which models one of a layer reaches. */
static void add_model(kvc_text *out, const kvc_report_model *model, size_t cause, const cJSON *finding)
{
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "model"), "links");
    const cJSON *link = NULL;
    kvc_text plain = {0};
    kvc_models_add_words(&plain, finding);
    cJSON_ArrayForEach (link, links) {
        kvc_text_add_format(&plain, "%s%s %s", link == links->child ? " It follows from " : ", ", kvc_json_string(link, "variant"),
                            kvc_json_string(link, "id"));
    }
    kvc_text_add(&plain, links != NULL && links->child != NULL ? "." : "");
    for (size_t at = 0; at < model->link_count; at++) {
        if (model->links[at].layer == cause) {
            kvc_text_add(&plain, plain.length == 0 ? "Reaches " : ", ");
            kvc_text_add(&plain, kvc_models_name(&model->rows[model->causes[model->links[at].model].row]));
        }
    }
    if (plain.length > 0) {
        kvc_text_add(out, "\n- ");
        kvc_markdown_add_text(out, &plain);
    }
    kvc_text_free(&plain);
}

void kvc_markdown_add_finding(kvc_text *out, const kvc_report_model *model, size_t cause)
{
    const cJSON *json = model->findings[model->causes[cause].shown].json;
    kvc_text plain = {0};
    kvc_text_add_format(out, "<details><summary>%zu. <b>", cause + 1);
    kvc_text_add_markdown_html(out, kvc_words_row_name(&model->rows[model->causes[cause].row]), TEXT_COLUMNS);
    kvc_text_add(out, "</b>: ");
    kvc_text_add_markdown_html(out, kvc_words_title(&model->rows[model->causes[cause].row], json), TEXT_COLUMNS);
    kvc_text_add(out, " (");
    kvc_words_add_versions(&plain, model, cause);
    kvc_text_add_markdown_html(out, kvc_text_string(&plain), TEXT_COLUMNS);
    kvc_text_free(&plain);
    kvc_text_add(out, ")</summary>\n\n");
    kvc_words_add_ops(&plain, json);
    kvc_markdown_add_code(out, &plain);
    kvc_words_add_sizes(&plain, json);
    if (plain.length > 0) {
        kvc_text_add(out, " with ");
        kvc_markdown_add_text(out, &plain);
    }
    kvc_text_free(&plain);
    kvc_text_add_format(out, " goes wrong at op %.0f. ", kvc_json_number(json, "step") + 1);
    kvc_words_add_difference(&plain, json);
    if (plain.length > 0) {
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, ".");
    }
    kvc_text_free(&plain);
    kvc_text_add(out, "\n\n");
    add_lane(out, json);
    kvc_text_add(out, "- **");
    kvc_text_add_markdown(out, kvc_json_string(json, "law"));
    kvc_text_add_format(out, "** (%s): %s\n- **%s**: ", kvc_severity_meaning(kvc_json_string(json, "severity")),
                        kvc_report_law_text(kvc_json_string(json, "law")), kvc_json_string(json, "basis"));
    kvc_markdown_add_short(out, kvc_json_string(json, "source"));
    add_model(out, model, cause, json);
    kvc_text_add(out, "\n- ");
    if (kvc_json_true(json, "flaky")) {
        kvc_text_add(out, "Flaky: the case did not fail every time");
        kvc_words_add_tries(&plain, json);
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, ". ");
    }
    kvc_text_add(out, kvc_json_true(json, "control") ? "Control: broken on purpose. " : "");
    kvc_words_add_minimal(out, json);
    kvc_text_add(out, "\n- ");
    kvc_text_add(&plain, kvc_json_string(json, "replay"));
    kvc_markdown_add_code(out, &plain);
    kvc_text_add(out, "\n\n</details>\n");
}
