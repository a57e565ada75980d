/*
 * The tensors of a finding: drawn as lanes of tokens, oldest left, and the same as tables.
 */
#include <string.h>

#include "reports/html_internal.h"
#include "reports/words.h"

enum { DRAWN_MAX = 4, WORDS_CELLS_MAX = 8 };

/* Marks below a lane, with the word for them. */
static const struct {
    const char *glyph, *word;
} marks[] = {
    [KVC_CELL_SAME] = {"", "same"},      [KVC_CELL_FREE] = {"", "may be anything"}, [KVC_CELL_OTHER] = {"≠", "another token"},
    [KVC_CELL_MISSING] = {"−", "missing"}, [KVC_CELL_EXTRA] = {"+", "too many"},      [KVC_CELL_GAP] = {"⋯", ""},
};

static int is_wrong(const kvc_lane_cell *cell)
{
    return cell->kind == KVC_CELL_OTHER || cell->kind == KVC_CELL_MISSING || cell->kind == KVC_CELL_EXTRA;
}

static void add_names(kvc_text *out, const kvc_lane *lane)
{
    for (size_t i = 0; i < lane->name_count && i < 40; i++) {
        const kvc_lane_name *name = &lane->names[i];
        if (i == 0 || strcmp(name->tensor, lane->names[i - 1].tensor) != 0) {
            kvc_text_add(out, i == 0 ? "" : ", ");
            kvc_html_add_code(out, name->tensor);
            if (name->rows > 1) {
                kvc_text_add_format(out, " row %zu", name->row);
            }
        } else {
            kvc_text_add_format(out, ", %zu", name->row);
        }
    }
    if (lane->name_count > 40) {
        kvc_text_add_format(out, " and %zu more", lane->name_count - 40);
    }
}

/* What stands in a cell of the row of expected or observed tokens. */
static void add_token(kvc_text *out, const kvc_lane_cell *cell, int observed)
{
    const cJSON *token = observed ? cell->observed : cell->expected;
    if (cell->kind == KVC_CELL_GAP) {
        kvc_text_add(out, "⋯");
    } else if (token == NULL) {
        kvc_text_add(out, "∅");
    } else if (!observed && cell->kind == KVC_CELL_FREE) {
        kvc_text_add(out, "any");
    } else {
        kvc_html_add_value(out, token);
    }
}

/* What is wrong first, in words. */
static void add_first(kvc_text *out, const kvc_lane *lane)
{
    const kvc_lane_cell *first = &lane->first;
    kvc_text_add_format(out, "at position %zu ", first->position);
    if (first->kind == KVC_CELL_EXTRA) {
        kvc_text_add(out, "token <b>");
        add_token(out, first, 1);
        kvc_text_add(out, "</b> is there, nothing should be");
    } else if (first->kind == KVC_CELL_MISSING) {
        kvc_text_add(out, "token <b>");
        add_token(out, first, 0);
        kvc_text_add(out, "</b> is missing");
    } else {
        kvc_text_add(out, "stands <b>");
        add_token(out, first, 1);
        kvc_text_add(out, "</b> instead of <b>");
        add_token(out, first, 0);
        kvc_text_add(out, "</b>");
    }
}

/* One row of a drawn lane: 0 expected, 1 observed, 2 difference. */
static void add_row(kvc_text *out, const kvc_lane *lane, int line)
{
    static const char *const heads[] = {"expected", "observed", "difference"};
    kvc_text_add_format(out, "<span class=\"line%s\"><span class=\"name\">%s</span>", line == 2 ? " marks" : "", heads[line]);
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        int wrong = is_wrong(cell);
        int first = wrong && cell->position == lane->first.position;
        if (line == 2 && cell->kind == KVC_CELL_GAP && cell->wrong > 0) {
            kvc_text_add_format(out, "<span>%zu wrong</span>", cell->wrong);
        } else if (line == 2) {
            kvc_text_add_format(out, "<span>%s%s</span>", wrong ? marks[cell->kind].glyph : "", first ? " ▲" : "");
        } else {
            const cJSON *token = line == 1 ? cell->observed : cell->expected;
            const char *style = cell->kind == KVC_CELL_GAP ? "gap" : token == NULL ? "none" : "token";
            kvc_text_add_format(out, "<span class=\"%s%s%s%s\">", style, line == 1 && wrong ? " wrong" : "",
                                line == 1 && first ? " first" : "",
                                cJSON_IsString(token) && strlen(token->valuestring) > 16 ? " long" : "");
            add_token(out, cell, line);
            kvc_text_add(out, "</span>");
        }
    }
    kvc_text_add(out, "</span>");
}

/* The same for those who do not see it. */
static void add_description(kvc_text *out, const kvc_lane *lane)
{
    kvc_html_add(out, lane->names[0].tensor);
    for (int observed = 0; observed < 2; observed++) {
        kvc_text_add(out, observed ? "; observed" : ": expected");
        for (size_t i = 0; i < lane->cell_count; i++) {
            kvc_text_add(out, i > 0 ? ", " : " ");
            if (lane->cells[i].kind == KVC_CELL_GAP) {
                kvc_text_add_format(out, "%zu more", lane->cells[i].count);
            } else if ((observed ? lane->cells[i].observed : lane->cells[i].expected) == NULL) {
                kvc_text_add(out, "nothing");
            } else {
                add_token(out, &lane->cells[i], observed);
            }
        }
    }
    kvc_text_add_format(out, "; first wrong cell at position %zu: %s", lane->first.position, marks[lane->first.kind].word);
}

static void add_wrong_lane(kvc_text *out, const kvc_lane *lane)
{
    kvc_text label = {0};
    kvc_text_add(out, "<figure><figcaption>");
    add_names(out, lane);
    kvc_text_add(out, ": ");
    add_first(out, lane);
    kvc_text_add(out, " <span class=\"soft\">– ");
    kvc_words_add_plural(out, lane->expected_length, "token", "tokens");
    kvc_text_add_format(out, " expected, %zu observed%s</span></figcaption>\n", lane->observed_length,
                        lane->newest ? ", aligned at the newest" : "");
    kvc_text_add(&label, "Tokens of ");
    kvc_html_add(&label, lane->names[0].tensor);
    kvc_html_open_scroll(out, kvc_text_string(&label));
    kvc_text_add(out, "<div class=\"lane\" role=\"img\" aria-label=\"");
    add_description(out, lane);
    kvc_text_add(out, "\"><span class=\"line heads\"><span class=\"name\">position</span>");
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        kvc_text_add_format(out, "<span>%zu", cell->position);
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add_format(out, "–%zu", cell->position + cell->count - 1);
        }
        kvc_text_add(out, "</span>");
    }
    kvc_text_add(out, "</span>");
    for (int line = 0; line < 3; line++) {
        add_row(out, lane, line);
    }
    kvc_text_add(out, "</div>");
    kvc_html_close_scroll(out);
    kvc_text_add(out, "</figure>\n");
    out->failed |= label.failed;
    kvc_text_free(&label);
}

/* A lane with nothing wrong, in one line. */
static void add_good_lane(kvc_text *out, const kvc_lane *lane)
{
    kvc_text_add(out, "<p class=\"fine\"><span class=\"good\">✓</span> as expected: ");
    add_names(out, lane);
    kvc_text_add(out, lane->expected_length == 0 ? ", empty" : " ");
    for (size_t i = 0; i < lane->cell_count; i++) {
        kvc_text_add(out, i == 0 ? "<code>" : " ");
        add_token(out, &lane->cells[i], 0);
        kvc_text_add(out, i + 1 == lane->cell_count ? "</code>" : "");
    }
    kvc_text_add(out, "</p>\n");
}

void kvc_html_add_lanes(kvc_text *out, const kvc_lanes *lanes)
{
    for (size_t i = 0; i < lanes->wrong && i < DRAWN_MAX; i++) {
        add_wrong_lane(out, &lanes->lane[i]);
    }
    if (lanes->wrong > DRAWN_MAX) {
        kvc_text_add_format(out, "<p class=\"soft\">%zu more tensors or rows are wrong too.</p>\n", lanes->wrong - DRAWN_MAX);
    }
    for (size_t i = lanes->wrong; i < lanes->count && i < lanes->wrong + DRAWN_MAX; i++) {
        add_good_lane(out, &lanes->lane[i]);
    }
}

/* Some cells of one row, with those from `from` on. */
static void add_short_row(kvc_text *out, const kvc_lane *lane, size_t from, int observed)
{
    size_t to = from + WORDS_CELLS_MAX < lane->cell_count ? from + WORDS_CELLS_MAX : lane->cell_count;
    kvc_text_add(out, observed ? " · observed <code>" : " expected <code>");
    kvc_text_add(out, from > 0 ? "⋯ " : "");
    for (size_t i = from; i < to; i++) {
        int wrong = observed && is_wrong(&lane->cells[i]);
        kvc_text_add(out, i > from ? " " : "");
        kvc_text_add(out, wrong ? "<b class=\"bad\">" : "");
        add_token(out, &lane->cells[i], observed);
        kvc_text_add(out, wrong ? "</b>" : "");
    }
    kvc_text_add(out, to < lane->cell_count ? " ⋯</code>" : "</code>");
}

void kvc_html_add_lane_words(kvc_text *out, const kvc_lanes *lanes)
{
    const kvc_lane *lane = &lanes->lane[0];
    size_t from = 0;
    if (lanes->wrong == 0) {
        return;
    }
    while (from < lane->cell_count && !is_wrong(&lane->cells[from])) {
        from++;
    }
    from = from > WORDS_CELLS_MAX / 2 && lane->cell_count > WORDS_CELLS_MAX ? from - WORDS_CELLS_MAX / 2 : 0;
    kvc_html_add_code(out, lane->names[0].tensor);
    add_short_row(out, lane, from, 0);
    add_short_row(out, lane, from, 1);
}

static void add_lane_table(kvc_text *out, const kvc_lane *lane)
{
    kvc_html_open_scroll(out, "Positions");
    kvc_text_add(out, "<table class=\"positions\">\n<caption>Tokens of ");
    add_names(out, lane);
    kvc_text_add(out, "</caption>\n<thead><tr><th scope=\"col\">position</th><th scope=\"col\">expected</th><th scope=\"col\">"
                      "observed</th><th scope=\"col\">difference</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < lane->cell_count; i++) {
        const kvc_lane_cell *cell = &lane->cells[i];
        int wrong = is_wrong(cell);
        int first = wrong && cell->position == lane->first.position;
        kvc_text_add_format(out, "<tr%s><th scope=\"row\">%zu", first ? " class=\"here\"" : "", cell->position);
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add_format(out, "–%zu", cell->position + cell->count - 1);
        }
        kvc_text_add(out, "</th><td>");
        add_token(out, cell, 0);
        kvc_text_add(out, "</td><td>");
        add_token(out, cell, 1);
        kvc_text_add(out, "</td><td>");
        if (cell->kind == KVC_CELL_GAP) {
            kvc_text_add_format(out, "%zu wrong", cell->wrong);
        } else {
            kvc_text_add_format(out, "%s %s%s", marks[cell->kind].glyph, marks[cell->kind].word, first ? " (▲ first)" : "");
        }
        kvc_text_add(out, "</td></tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

void kvc_html_add_lane_tables(kvc_text *out, const kvc_lanes *lanes)
{
    for (size_t i = 0; i < lanes->wrong && i < DRAWN_MAX; i++) {
        add_lane_table(out, &lanes->lane[i]);
    }
}
