/*
 * Whole models on the page: apart from the cache classes, since there are many of them. What changed from version to version, which faults
 * of layers reach which models, and all models in a table of which the reader chooses a part.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/html_internal.h"
#include "reports/models.h"
#include "reports/words.h"

enum { NAMES_MAX = 400 }; /* models in one list */

int kvc_html_has_models(const kvc_report_model *model)
{
    for (size_t subject = 0; subject < model->subject_count; subject++) {
        if (model->subjects[subject].models > 0) {
            return 1;
        }
    }
    return 0;
}

/* The name of a model, which leads to its findings where they are drawn. */
static void add_name(kvc_text *out, const kvc_report_model *model, size_t row)
{
    int linked = model->rows[row].causes > 0 && model->rows[row].first_cause < KVC_HTML_CARDS_MAX;
    if (linked) {
        kvc_text_add_format(out, "<a href=\"#row-%zu\">", row);
    }
    kvc_html_add(out, kvc_models_name(&model->rows[row]));
    kvc_text_add(out, linked ? "</a>" : "");
}

/* The models of one subject, by name. */
typedef struct kvc_listed {
    const size_t *row;
    size_t count;
    size_t subject;
} kvc_listed;

/* What may be said of a version against the one before: each is a list of models. */
typedef enum kind_of_change { FRESH = 0, GONE, FIRST, RUNS_NOW, LOST } kind_of_change;
enum { KINDS = 5 };

static const struct {
    const char *style, *glyph, *one, *many;
} kinds[KINDS] = {
    {"bad", "✗", "model has a finding that it had not", "models have findings that they had not"},
    {"good", "✓", "model has lost a finding", "models have lost findings"},
    {"soft", "+", "model is new", "models are new"},
    {"soft", "+", "model can be run for the first time", "models can be run for the first time"},
    {"soft", "⊘", "model is not run any more", "models are not run any more"},
};

static int is_of_kind(const kvc_models_change *change, kind_of_change kind)
{
    switch (kind) {
    case FRESH:
        return change->fresh > 0;
    case GONE:
        return change->gone > 0;
    case FIRST:
        return change->is_first && !change->was_there;
    case RUNS_NOW:
        return change->is_first && change->was_there;
    case LOST:
        break;
    }
    return change->is_lost;
}

static void add_change(kvc_text *out, const kvc_report_model *model, const kvc_listed *listed, size_t version, kind_of_change kind)
{
    size_t count = 0;
    kvc_text names = {0};
    for (size_t i = 0; i < listed->count; i++) {
        kvc_models_change change = kvc_models_changed(model, listed->row[i], version);
        if (is_of_kind(&change, kind) && count++ < NAMES_MAX) {
            kvc_text_add(&names, count > 1 ? ", " : "");
            add_name(&names, model, listed->row[i]);
        }
    }
    if (count > 0) {
        kvc_text_add_format(out, "<li><b class=\"%s\">%s %zu</b> %s: ", kinds[kind].style, kinds[kind].glyph, count,
                            count == 1 ? kinds[kind].one : kinds[kind].many);
        kvc_text_add(out, kvc_text_string(&names));
        kvc_text_add(out, count > NAMES_MAX ? " and more</li>\n" : "</li>\n");
    }
    out->failed |= names.failed;
    kvc_text_free(&names);
}

static void add_changes(kvc_text *out, const kvc_report_model *model, const kvc_listed *listed)
{
    const kvc_report_version *before = NULL;
    for (size_t i = 0; i < model->version_count; i++) {
        if (!kvc_html_is_column(model, i, listed->subject)) {
            continue;
        }
        if (before != NULL) {
            kvc_text list = {0};
            for (int kind = 0; kind < KINDS; kind++) {
                add_change(&list, model, listed, i, (kind_of_change)kind);
            }
            kvc_text_add(out, "<h3>");
            kvc_html_add(out, model->versions[i].version);
            kvc_text_add(out, " against ");
            kvc_html_add(out, before->version);
            kvc_text_add(out, "</h3>\n");
            kvc_text_add(out, list.length > 0 ? "<ul>\n" : "<p>Nothing changed.</p>\n");
            kvc_text_add(out, kvc_text_string(&list));
            kvc_text_add(out, list.length > 0 ? "</ul>\n" : "");
            out->failed |= list.failed;
            kvc_text_free(&list);
        }
        before = &model->versions[i];
    }
}

/* The name of a layer's fault, which leads to its finding where that is here and drawn. */
static void add_fault(kvc_text *out, const kvc_report_model *model, const kvc_report_link *link)
{
    kvc_html_add_name(out, link->variant);
    kvc_text_add(out, " ");
    if (link->layer != KVC_NONE && link->layer < KVC_HTML_CARDS_MAX) {
        kvc_text_add(out, "<a href=\"#");
        kvc_html_add_anchor(out, model, link->layer);
        kvc_text_add(out, "\">");
        kvc_html_add(out, link->id);
        kvc_text_add(out, "</a>");
    } else {
        kvc_html_add_code(out, link->id);
    }
}

/* The models whose findings follow from the fault of the links from `at` on. Returns how many. */
static size_t add_reached(kvc_text *out, const kvc_report_model *model, size_t at)
{
    size_t end = kvc_models_links_end(model, at);
    size_t row = KVC_NONE;
    size_t count = 0;
    /* The findings of one model lie side by side. */
    for (; at < end; at++) {
        if (model->causes[model->links[at].model].row == row) {
            continue;
        }
        row = model->causes[model->links[at].model].row;
        if (count++ < NAMES_MAX) {
            kvc_text_add(out, count > 1 ? ", " : "");
            add_name(out, model, row);
        }
    }
    kvc_text_add(out, count > NAMES_MAX ? " and more" : "");
    return count;
}

/* Each fault of a layer with the models that it reaches. */
static void add_faults(kvc_text *out, const kvc_report_model *model, size_t subject)
{
    size_t faults = 0;
    for (size_t at = 0; at < model->link_count; at = kvc_models_links_end(model, at)) {
        kvc_text names = {0};
        if (model->links[at].subject != subject || faults >= KVC_HTML_ROWS_MAX) {
            continue;
        }
        if (faults++ == 0) {
            kvc_text_add(out, "<h3>Faults of layers that reach models</h3>\n");
            kvc_html_open_scroll(out, "Faults of layers that reach models");
            kvc_text_add(out, "<table class=\"wide\">\n<caption>Models whose case shows the fault when it is performed on the layer alone"
                              "</caption>\n<thead><tr><th scope=\"col\">fault of a layer</th><th scope=\"col\">law</th>"
                              "<th scope=\"col\">models</th></tr></thead>\n<tbody>\n");
        }
        size_t count = add_reached(&names, model, at);
        kvc_text_add(out, "<tr><th scope=\"row\">");
        add_fault(out, model, &model->links[at]);
        kvc_text_add(out, "</th><td>");
        kvc_html_add(out, model->links[at].law);
        kvc_text_add_format(out, "</td><td><b>%zu</b>: %s</td></tr>\n", count, kvc_text_string(&names));
        out->failed |= names.failed;
        kvc_text_free(&names);
    }
    if (faults > 0) {
        kvc_text_add(out, "</tbody></table>");
        kvc_html_close_scroll(out);
    }
}

/* What the reader may choose: each is a class of rows, and of the button that leaves only those. */
static const struct {
    const char *name, *says;
} choices[] = {{"all", "all"}, {"bad", "with findings"}, {"changed", "changed"}, {"good", "right in all"}, {"lost", "not run somewhere"}};
enum { CHOICES = sizeof choices / sizeof choices[0] };

/* Which of the choices have this row, bit by bit. */
static unsigned classes_of(const kvc_report_model *model, size_t row)
{
    unsigned classes = 1;
    int all = 1;
    for (size_t i = 0; i < model->version_count; i++) {
        if (model->versions[i].subject_index != model->rows[row].subject_index) {
            continue;
        }
        const kvc_report_cell *cell = kvc_report_model_cell(model, row, i);
        kvc_models_change change = kvc_models_changed(model, row, i);
        classes |= kvc_models_is_change(&change) ? 4U : 0;
        classes |= cell != NULL && !kvc_report_was_run(cell->status) ? 16U : 0;
        all = all && (cell == NULL || cell->status == KVC_STATUS_CONFORMS);
    }
    classes |= model->rows[row].causes > 0 ? 2U : 0;
    return classes | (all ? 8U : 0);
}

static void add_choices(kvc_text *out, const kvc_report_model *model, const kvc_listed *listed)
{
    size_t counts[CHOICES] = {0};
    for (size_t at = 0; at < listed->count; at++) {
        unsigned classes = classes_of(model, listed->row[at]);
        for (size_t i = 0; i < CHOICES; i++) {
            counts[i] += classes >> i & 1U;
        }
    }
    kvc_text_add(out, "<fieldset class=\"pick\"><legend>Models in the table</legend>\n");
    for (size_t i = 0; i < CHOICES; i++) {
        kvc_text_add_format(out, "<label><input type=\"radio\" name=\"models-%zu\" class=\"pick-%s\"%s> %s <b>%zu</b></label>\n", listed->subject,
                            choices[i].name, i == 0 ? " checked" : "", choices[i].says, counts[i]);
    }
    kvc_text_add(out, "</fieldset>\n");
}

/* The classes of the model's layers, each once, as its newest run says. */
static void add_layers(kvc_text *out, const kvc_report_model *model, size_t row)
{
    const cJSON *layers = NULL;
    const cJSON *layer = NULL;
    size_t count = 0;
    for (size_t at = model->rows[row].first_cell; at != KVC_NONE; at = model->cells[at].next) {
        const cJSON *here = cJSON_GetObjectItemCaseSensitive(model->runs[model->cells[at].first_run].json, "layers");
        layers = here != NULL && here->child != NULL ? here : layers;
    }
    cJSON_ArrayForEach (layer, layers) {
        const cJSON *other = layers->child;
        while (strcmp(other->valuestring, layer->valuestring) != 0) {
            other = other->next;
        }
        if (other == layer) {
            kvc_text_add(out, count++ == 0 ? " <span class=\"says\">" : ", ");
            kvc_html_add_name(out, layer->valuestring);
        }
    }
    kvc_text_add(out, count > 0 ? "</span>" : "");
}

static void add_table(kvc_text *out, const kvc_report_model *model, const kvc_listed *listed)
{
    size_t shown = 0;
    kvc_html_open_matrix(out, model, listed->subject, "Whole models", "model");
    kvc_text_add(out, "</tr></thead>\n<tbody>\n");
    for (; shown < listed->count && shown < KVC_HTML_ROWS_MAX && out->length < KVC_HTML_CARDS_BYTES; shown++) {
        size_t row = listed->row[shown];
        unsigned classes = classes_of(model, row);
        kvc_text_add(out, "<tr class=\"");
        for (size_t i = 0; i < CHOICES; i++) {
            if (classes >> i & 1U)
                kvc_text_add_format(out, "%sis-%s", i > 0 ? " " : "", choices[i].name);
        }
        kvc_text_add(out, "\"><th scope=\"row\">");
        kvc_html_add(out, kvc_models_name(&model->rows[row]));
        add_layers(out, model, row);
        kvc_text_add(out, "</th>");
        for (size_t i = 0; i < model->version_count; i++) {
            if (kvc_html_is_column(model, i, listed->subject)) {
                kvc_html_add_cell(out, model, kvc_report_model_cell(model, row, i), i);
            }
        }
        kvc_text_add(out, "</tr>\n");
    }
    kvc_text_add(out, "</tbody></table>");
    kvc_html_close_scroll(out);
    if (shown < listed->count) {
        kvc_text_add_format(out, "<p>%zu models are shown, of %zu.</p>\n", shown, listed->count);
    }
}

void kvc_html_add_models(kvc_text *out, const kvc_report_model *model)
{
    kvc_text_add(out, "<section aria-labelledby=\"models\">\n<h2 id=\"models\">Whole models</h2>\n<p class=\"soft\">Tiny random models with the "
                      "cache that their config asks for: what they predict after a rollback, against a fresh cache of the same tokens.</p>\n");
    for (size_t subject = 0; subject < model->subject_count && out->length < KVC_HTML_CARDS_BYTES; subject++) {
        kvc_listed listed = {NULL, 0, subject};
        size_t *rows = model->subjects[subject].models > 0 ? kvc_models_sorted(model, subject, &listed.count) : NULL;
        listed.row = rows;
        if (model->subjects[subject].models == 0) {
            continue;
        }
        if (rows == NULL) {
            out->failed = 1;
            return;
        }
        add_changes(out, model, &listed);
        add_faults(out, model, subject);
        kvc_text_add(out, "<h3>All models</h3>\n<div class=\"models\">\n");
        add_choices(out, model, &listed);
        add_table(out, model, &listed);
        kvc_text_add(out, "</div>\n");
        free(rows);
    }
    kvc_text_add(out, kvc_html_legend);
    kvc_text_add(out, "</section>\n");
}

void kvc_html_add_model_facts(kvc_text *out, const kvc_report_model *model, size_t cause, const cJSON *finding)
{
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "model"), "links");
    const cJSON *link = NULL;
    kvc_text plain = {0};
    kvc_models_add_words(&plain, finding);
    if (plain.length > 0) {
        kvc_text_add(out, "<dt>Model</dt><dd>");
        kvc_html_add(out, kvc_text_string(&plain));
        kvc_text_add(out, "</dd>\n<dt>Follows from</dt><dd>");
        cJSON_ArrayForEach (link, links) {
            size_t found = kvc_models_find_link(model, cause, link);
            if (found != KVC_NONE) {
                kvc_text_add(out, link == links->child ? "" : "; ");
                add_fault(out, model, &model->links[found]);
            }
        }
        kvc_text_add(out, links == NULL || links->child == NULL ? "No layer shows it by itself." : "");
        kvc_text_add(out, "</dd>\n");
    }
    out->failed |= plain.failed;
    kvc_text_free(&plain);
    for (size_t at = 0; at < model->link_count; at = kvc_models_links_end(model, at)) {
        if (model->links[at].layer == cause) {
            kvc_text_add(out, "<dt>Reaches</dt><dd>");
            (void)add_reached(out, model, at);
            kvc_text_add(out, "</dd>\n");
        }
    }
}
