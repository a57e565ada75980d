/*
 * Several runtimes side by side: by kind of cache, what each answers to what a user may ask, and which laws it breaks.
 */
#include "reference/law.h"
#include "reports/html_internal.h"
#include "reports/runtimes.h"
#include "reports/words.h"

static void add_mark(kvc_text *out, const char *style, const char *glyph)
{
    kvc_text_add_format(out, "<span class=\"%s mark\">%s</span> <span class=\"word\">", style, glyph);
}

static void add_heads(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes, const char *first)
{
    kvc_text_add_format(out, "<thead><tr><th scope=\"col\">%s</th>", first);
    for (size_t subject = 0; subject < runtimes->subjects; subject++) {
        kvc_text plain = {0};
        kvc_text_add(out, "<th scope=\"col\">");
        kvc_words_add_version(&plain, &model->versions[runtimes->version[subject]]);
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, "</th>");
    }
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
}

static void add_summary(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes)
{
    kvc_html_open_scroll(out, "Kinds of cache");
    kvc_text_add(out, "<table class=\"matrix\">\n<caption>Variants of each kind with findings, by runtime</caption>\n");
    add_heads(out, model, runtimes, "kind of cache");
    for (size_t kind = 0; kind < runtimes->kinds; kind++) {
        kvc_text_add_format(out, "<tr><th scope=\"row\"><a href=\"#kind-%zu\">", kind);
        kvc_html_add(out, runtimes->kind[kind]);
        kvc_text_add(out, "</a></th>");
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            size_t variants = runtimes->variants[kind][subject];
            size_t bad = runtimes->bad[kind][subject];
            kvc_text_add_format(out, "<td class=\"cell%s\">", bad > 0 ? " badcell" : "");
            if (variants == 0) {
                add_mark(out, "soft", kvc_answer_glyph(KVC_ANSWER_NO_KIND));
                kvc_text_add_format(out, "%s</span></td>", kvc_answer_word(KVC_ANSWER_NO_KIND));
                continue;
            }
            add_mark(out, bad > 0 ? "bad" : "good", bad > 0 ? "✗" : "✓");
            kvc_text_add_format(out, bad > 0 ? "%zu of %zu" : "%zu of %zu conform", bad > 0 ? bad : variants, variants);
            kvc_text_add(out, "</span></td>");
        }
        kvc_text_add(out, "</tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

static void add_answer(kvc_text *out, const kvc_runtime_cell *cell)
{
    int bad = cell->answer >= KVC_ANSWER_ERROR;
    int soft = cell->answer <= KVC_ANSWER_NO_OP;
    kvc_text_add_format(out, "<td class=\"cell%s\">", bad ? " badcell" : "");
    add_mark(out, bad ? "bad" : soft ? "soft" : "good", kvc_answer_glyph(cell->answer));
    kvc_text_add(out, kvc_answer_word(cell->answer));
    if (bad && cell->asked > 1) {
        kvc_text_add_format(out, " (%zu of %zu)", cell->bad, cell->asked);
    }
    kvc_text_add(out, "</span></td>");
}

static void add_questions(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes, size_t kind)
{
    kvc_html_open_scroll(out, "What is asked of it");
    kvc_text_add(out, "<table class=\"matrix\">\n<caption>What is asked, and the worst answer of its variants</caption>\n");
    add_heads(out, model, runtimes, "what is asked");
    for (size_t at = 0; at < runtimes->questions; at++) {
        kvc_text plain = {0};
        size_t asked = 0;
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            asked += runtimes->cell[kind][at][subject].asked;
        }
        if (asked == 0) {
            continue;
        }
        kvc_text_add(out, "<tr><th scope=\"row\">");
        kvc_words_add_question(&plain, &runtimes->question[at]);
        kvc_html_add_text(out, &plain);
        kvc_text_add(out, "</th>");
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            add_answer(out, &runtimes->cell[kind][at][subject]);
        }
        kvc_text_add(out, "</tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
}

/* A row for each law that is broken somewhere in this kind. */
static void add_laws(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes, size_t kind)
{
    int open = 0;
    for (int number = 0; number < KVC_LAWS; number++) {
        const char *law = kvc_law_name((kvc_law)number);
        size_t counts[KVC_RUNTIMES_MAX] = {0};
        size_t all = 0;
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            counts[subject] = kvc_runtimes_broken(model, runtimes, kind, subject, law);
            all += counts[subject];
        }
        if (all == 0) {
            continue;
        }
        if (!open) {
            kvc_html_open_scroll(out, "Laws that are broken");
            kvc_text_add(out, "<table class=\"matrix\">\n<caption>Laws that are broken, and by how many findings</caption>\n");
            add_heads(out, model, runtimes, "law");
            open = 1;
        }
        kvc_text_add_format(out, "<tr><th scope=\"row\">%s <span class=\"says\">%s</span></th>", law, kvc_law_text((kvc_law)number));
        for (size_t subject = 0; subject < runtimes->subjects; subject++) {
            kvc_text_add_format(out, "<td class=\"cell%s\">", counts[subject] > 0 ? " badcell" : "");
            if (counts[subject] > 0) {
                add_mark(out, "bad", "✗");
                kvc_text_add_format(out, "%zu %s</span></td>", counts[subject], counts[subject] == 1 ? "finding" : "findings");
            } else {
                int known = runtimes->variants[kind][subject] > 0;
                add_mark(out, "soft", known ? "·" : "–");
                kvc_text_add_format(out, "%s</span></td>", known ? "none" : kvc_answer_word(KVC_ANSWER_NO_KIND));
            }
        }
        kvc_text_add(out, "</tr>\n");
    }
    if (open) {
        kvc_text_add(out, "</tbody></table>");
        kvc_html_close_scroll(out);
    }
}

void kvc_html_add_runtimes(kvc_text *out, const kvc_report_model *model, const kvc_runtimes *runtimes)
{
    kvc_text_add(out, "<section aria-labelledby=\"runtimes\">\n<h2 id=\"runtimes\">Runtime by runtime</h2>\n");
    add_summary(out, model, runtimes);
    kvc_text_add(out, "<p class=\"legend\">Each runtime at its newest version here. Runtimes offer different ops: what one does not "
                      "offer cannot go wrong there, so that counts say less than what is asked, kind by kind.</p>\n");
    for (size_t kind = 0; kind < runtimes->kinds && out->length < KVC_HTML_CARDS_BYTES; kind++) {
        kvc_text_add(out, "<details class=\"part\"><summary>");
        kvc_html_add(out, runtimes->kind[kind]);
        /* A link to what is inside opens it. */
        kvc_text_add_format(out, "</summary>\n<div id=\"kind-%zu\">\n", kind);
        add_questions(out, model, runtimes, kind);
        add_laws(out, model, runtimes, kind);
        kvc_text_add(out, "</div></details>\n");
    }
    kvc_text_add(out, "<p class=\"legend\"><b class=\"good\">✓</b> done, each time exactly · <b class=\"good\">⊖</b> refuses, as it is "
                      "documented to · <b class=\"bad\">✗</b> silently wrong, an unannounced error, or dies · ∅ no such op · – no such "
                      "cache</p>\n</section>\n");
}
