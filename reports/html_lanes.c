#include <string.h>

#include "reports/html_internal.h"
#include "reports/lanes.h"

/* Marks below a lane, with the word that a reader hears who does not see them. */
static const struct {
    const char *glyph, *word;
} marks[] = {
    [KVC_CELL_SAME] = {"", ""},
    [KVC_CELL_FREE] = {"", ""},
    [KVC_CELL_OTHER] = {"≠", "other token"},
    [KVC_CELL_MISSING] = {"−", "missing"},
    [KVC_CELL_EXTRA] = {"+", "too many"},
    [KVC_CELL_GAP] = {"", ""},
};

static void add_token(kvc_text *out, const cJSON *token)
{
    kvc_text plain = {0};
    kvc_model_add_value(&plain, token);
    kvc_html_add_text(out, &plain);
}

static void add_names(kvc_text *out, const kvc_lane *lane)
{
    for (size_t i = 0; i < lane->name_count; i++) {
        const kvc_lane_name *name = &lane->names[i];
        if (i == 0 || strcmp(name->tensor, lane->names[i - 1].tensor) != 0) {
            kvc_text_add(out, i == 0 ? "" : "; ");
            kvc_html_add_code(out, name->tensor);
            if (name->rows > 1) {
                kvc_text_add_format(out, " row %zu", name->row);
            }
        } else {
            kvc_text_add_format(out, ", %zu", name->row);
        }
    }
}

/* One row of cells: `observed` 0 for the tokens expected, 1 for those observed. */
static void add_tokens(kvc_text *out, const kvc_lane *lane, int observed)
{
    kvc_text_add_format(out, "<tr><th scope=\"row\">%s</th>", observed ? "observed" : "expected");
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        const cJSON *token = observed ? cell->observed : cell->expected;
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add(out, "<td class=\"gap\">⋯</td>");
            continue;
        }
        int wrong = observed && cell->kind >= KVC_CELL_OTHER;
        int first = wrong && cell->position == lane->first.position;
        int is_long = cJSON_IsString(token) && strlen(token->valuestring) > 16;
        kvc_text_add_format(out, "<td class=\"%s%s%s%s\">", token == NULL ? "none " : "", wrong ? "wrong " : "",
                            first ? "first " : "", is_long ? "long" : "");
        if (token == NULL) {
            kvc_text_add(out, "∅<span class=\"hidden\">nothing</span>");
        } else if (!observed && cell->kind == KVC_CELL_FREE) {
            kvc_text_add(out, "any");
        } else {
            add_token(out, token);
        }
        kvc_text_add(out, "</td>");
    }
    kvc_text_add(out, "</tr>\n");
}

static void add_marks(kvc_text *out, const kvc_lane *lane)
{
    kvc_text_add(out, "<tr class=\"marks\"><th scope=\"row\">difference</th>");
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        int wrong = cell->kind >= KVC_CELL_OTHER && cell->kind != KVC_CELL_GAP;
        kvc_text_add(out, "<td>");
        if (cell->kind == KVC_CELL_GAP && cell->wrong > 0) {
            kvc_text_add_format(out, "%zu wrong", cell->wrong);
        } else if (wrong) {
            kvc_text_add_format(out, "%s<span class=\"hidden\">%s</span>", marks[cell->kind].glyph, marks[cell->kind].word);
            if (cell->position == lane->first.position) {
                kvc_text_add(out, "<br>▲<span class=\"hidden\">first wrong cell</span>");
            }
        }
        kvc_text_add(out, "</td>");
    }
    kvc_text_add(out, "</tr>\n");
}

/* What is wrong first, in words. */
static void add_first(kvc_text *out, const kvc_lane *lane)
{
    const kvc_lane_cell *first = &lane->first;
    kvc_text_add_format(out, "<p><span class=\"bad\">▲</span> First wrong cell at position %zu: ", first->position);
    if (first->kind == KVC_CELL_EXTRA) {
        kvc_text_add(out, "token <code>");
        add_token(out, first->observed);
        kvc_text_add(out, "</code> is there, nothing should be.");
    } else if (first->kind == KVC_CELL_MISSING) {
        kvc_text_add(out, "token <code>");
        add_token(out, first->expected);
        kvc_text_add(out, "</code> is missing.");
    } else {
        kvc_text_add(out, "token <code>");
        add_token(out, first->observed);
        kvc_text_add(out, "</code> instead of <code>");
        add_token(out, first->expected);
        kvc_text_add(out, "</code>.");
    }
    if (lane->wrong > 1) {
        kvc_text_add_format(out, " %zu cells are wrong.", lane->wrong);
    }
    kvc_text_add(out, "</p>\n");
}

static void add_wrong_lane(kvc_text *out, const kvc_lane *lane)
{
    kvc_text_add(out, "<figure><figcaption>");
    add_names(out, lane);
    kvc_text_add(out, " <span class=\"soft\">– ");
    kvc_model_add_plural(out, lane->expected_length, "token", "tokens");
    kvc_text_add_format(out, " expected, %zu observed%s</span></figcaption>\n", lane->observed_length,
                        lane->newest ? ", aligned at the newest" : "");
    kvc_text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tokens of ");
    kvc_html_add(out, lane->names[0].tensor);
    kvc_text_add(out, "\"><table class=\"cells\">\n<caption class=\"hidden\">Expected and observed tokens of ");
    kvc_html_add(out, lane->names[0].tensor);
    kvc_text_add(out, "</caption>\n<thead><tr><th scope=\"row\">position</th>");
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add_format(out, "<th scope=\"col\">%zu–%zu</th>", cell->position, cell->position + cell->count - 1);
        } else {
            kvc_text_add_format(out, "<th scope=\"col\">%zu</th>", cell->position);
        }
    }
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
    add_tokens(out, lane, 0);
    add_tokens(out, lane, 1);
    add_marks(out, lane);
    kvc_text_add(out, "</tbody></table></div>\n");
    add_first(out, lane);
    kvc_text_add(out, "</figure>\n");
}

/* A lane with nothing wrong, in one line. */
static void add_good_lane(kvc_text *out, const kvc_lane *lane)
{
    kvc_text_add(out, "<p><span class=\"good glyph\">✓</span> As expected: ");
    add_names(out, lane);
    kvc_text_add(out, " holds ");
    if (lane->expected_length == 0) {
        kvc_text_add(out, "no token");
    }
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        kvc_text_add(out, i == 0 ? "<code>" : " ");
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add(out, "⋯");
        } else if (cell->kind == KVC_CELL_FREE) {
            kvc_text_add(out, "any");
        } else {
            add_token(out, cell->expected);
        }
        kvc_text_add(out, i + 1 == lane->cell_count ? "</code>" : "");
    }
    kvc_text_add(out, "</p>\n");
}

int kvc_html_add_lanes(kvc_text *out, const cJSON *finding)
{
    kvc_lanes lanes = {0};
    int result = kvc_lanes_make(finding, &lanes);
    if (result == 0 && lanes.count > 0) {
        kvc_text_add(out, "<h4>Tokens in each tensor after that op</h4>\n");
        if (lanes.wrong > 0) {
            kvc_text_add(out, "<p class=\"soft\">Oldest token left. ≠ another token, + a token too many, − a token "
                              "missing, ▲ the first wrong cell.</p>\n");
        }
        for (size_t i = 0; i < lanes.count; i++) {
            if (i < lanes.wrong) {
                add_wrong_lane(out, &lanes.lane[i]);
            } else {
                add_good_lane(out, &lanes.lane[i]);
            }
        }
        if (lanes.left_out > 0) {
            kvc_text_add_format(out, "<p>%zu more tensor rows are not drawn.</p>\n", lanes.left_out);
        }
    }
    kvc_lanes_free(&lanes);
    return result;
}
