#include "reports/models.h"

#include <stdlib.h>
#include <string.h>

#include "reports/words.h"

static const char family[] = "model/";

int kvc_models_is_run(const cJSON *run)
{
    return strcmp(kvc_json_string(run, "kind"), "model") == 0 || strncmp(kvc_json_string(run, "variant"), family, sizeof family - 1) == 0;
}

const char *kvc_models_name(const kvc_report_row *row)
{
    const char *name = kvc_words_row_name(row);
    return strncmp(name, family, sizeof family - 1) == 0 ? name + sizeof family - 1 : name;
}

/* A row and its name, to be sorted by it. */
typedef struct kvc_named {
    const char *name;
    size_t row;
} kvc_named;

static int compare_names(const void *left, const void *right)
{
    const kvc_named *a = left;
    const kvc_named *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

size_t *kvc_models_sorted(const kvc_report_model *model, size_t subject, size_t *count)
{
    kvc_named *named = malloc((model->row_count + 1) * sizeof *named);
    size_t *rows = malloc((model->row_count + 1) * sizeof *rows);
    *count = 0;
    for (size_t row = 0; named != NULL && row < model->row_count; row++) {
        if (model->rows[row].subject_index == subject && model->rows[row].is_model && kvc_report_model_is_shown(model, row)) {
            named[(*count)++] = (kvc_named){kvc_models_name(&model->rows[row]), row};
        }
    }
    if (named == NULL || rows == NULL) {
        free(named);
        free(rows);
        return NULL;
    }
    qsort(named, *count, sizeof *named, compare_names);
    for (size_t i = 0; i < *count; i++) {
        rows[i] = named[i].row;
    }
    free(named);
    return rows;
}

/* By the fault of the layer, then by the finding of the model. */
static int compare_faults(const kvc_report_link *a, const kvc_report_link *b)
{
    int order = a->subject < b->subject ? -1 : a->subject > b->subject;
    order = order != 0 ? order : strcmp(a->variant, b->variant);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static int compare_links(const void *left, const void *right)
{
    const kvc_report_link *a = left;
    const kvc_report_link *b = right;
    int order = compare_faults(a, b);
    return order != 0 ? order : (a->model > b->model) - (a->model < b->model);
}

static size_t gather(const kvc_report_model *model, kvc_report_link *out)
{
    size_t count = 0;
    for (size_t i = 0; i < model->finding_count; i++) {
        const cJSON *told = cJSON_GetObjectItemCaseSensitive(model->findings[i].json, "model");
        const cJSON *link = NULL;
        cJSON_ArrayForEach (link, cJSON_GetObjectItemCaseSensitive(told, "links")) {
            if (out != NULL) {
                out[count] = (kvc_report_link){.variant = kvc_json_string(link, "variant"), .law = kvc_json_string(link, "law"),
                                               .id = kvc_json_string(link, "id"), .model = model->findings[i].cause, .layer = KVC_NONE};
                out[count].subject = model->rows[model->causes[out[count].model].row].subject_index;
            }
            count++;
        }
    }
    return count;
}

/* The findings of layers as links to themselves, so that both can be walked through side by side. */
static void find_layers(kvc_report_model *model, kvc_report_link *layers)
{
    size_t at = 0;
    for (size_t i = 0; i < model->cause_count; i++) {
        const kvc_report_row *row = &model->rows[model->causes[i].row];
        layers[i] = (kvc_report_link){.variant = row->variant, .id = model->causes[i].id, .subject = row->subject_index, .layer = i};
    }
    qsort(layers, model->cause_count, sizeof *layers, compare_links);
    for (size_t i = 0; i < model->link_count; i++) {
        while (at < model->cause_count && compare_faults(&layers[at], &model->links[i]) < 0) {
            at++;
        }
        if (at < model->cause_count && compare_faults(&layers[at], &model->links[i]) == 0) {
            model->links[i].layer = layers[at].layer;
        }
    }
}

int kvc_models_link(kvc_report_model *model)
{
    size_t count = gather(model, NULL);
    size_t kept = 0;
    kvc_report_link *layers = NULL;
    if (count == 0) {
        return 0;
    }
    model->links = malloc(count * sizeof *model->links);
    layers = malloc((model->cause_count + 1) * sizeof *layers);
    if (model->links == NULL || layers == NULL) {
        free(layers);
        return -1;
    }
    (void)gather(model, model->links);
    qsort(model->links, count, sizeof *model->links, compare_links);
    /* The same in several versions is one. */
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_links(&model->links[kept - 1], &model->links[i]) != 0) {
            model->links[kept++] = model->links[i];
        }
    }
    model->link_count = kept;
    find_layers(model, layers);
    free(layers);
    return 0;
}

size_t kvc_models_links_end(const kvc_report_model *model, size_t at)
{
    size_t end = at;
    while (end < model->link_count && compare_faults(&model->links[at], &model->links[end]) == 0) {
        end++;
    }
    return end;
}

size_t kvc_models_find_link(const kvc_report_model *model, size_t cause, const cJSON *link)
{
    for (size_t i = 0; i < model->link_count; i++) {
        if (model->links[i].model == cause && strcmp(model->links[i].id, kvc_json_string(link, "id")) == 0 &&
            strcmp(model->links[i].variant, kvc_json_string(link, "variant")) == 0) {
            return i;
        }
    }
    return KVC_NONE;
}

kvc_models_change kvc_models_changed(const kvc_report_model *model, size_t row, size_t version)
{
    const kvc_report_row *of = &model->rows[row];
    const kvc_report_cell *here = kvc_report_model_cell(model, row, version);
    int runs = here != NULL && kvc_report_was_run(here->status);
    size_t before = KVC_NONE;
    int was_there = 0;
    kvc_models_change change = {0};
    for (size_t i = 0; i < version; i++) {
        const kvc_report_cell *cell = model->versions[i].subject_index == of->subject_index ? kvc_report_model_cell(model, row, i) : NULL;
        was_there |= cell != NULL && cell->status != KVC_STATUS_ABSENT;
        before = cell != NULL && kvc_report_was_run(cell->status) ? i : before;
    }
    if (before == KVC_NONE) {
        change.is_first = runs && model->versions[version].ordinal > 0;
        change.was_there = change.is_first && was_there;
        return change;
    }
    change.is_lost = !runs;
    for (size_t i = of->first_cause; runs && i < of->first_cause + of->causes; i++) {
        int now = kvc_report_model_affects(model, i, version);
        int then = kvc_report_model_affects(model, i, before);
        change.fresh += now && !then;
        change.gone += then && !now;
    }
    return change;
}

int kvc_models_is_change(const kvc_models_change *change)
{
    return change->fresh > 0 || change->gone > 0 || change->is_first || change->is_lost;
}

void kvc_models_add_words(kvc_text *text, const cJSON *finding)
{
    const cJSON *told = cJSON_GetObjectItemCaseSensitive(finding, "model");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    const cJSON *promised = cJSON_GetObjectItemCaseSensitive(told, "promised");
    const cJSON *layers = cJSON_GetObjectItemCaseSensitive(told, "layers");
    const cJSON *layer = NULL;
    if (told == NULL) {
        return;
    }
    if (cJSON_HasObjectItem(observed, "difference")) {
        kvc_text_add_format(text, "Logits are off by %.2g of the largest one. ", kvc_json_number(observed, "difference"));
    }
    kvc_text_add(text, cJSON_IsTrue(promised)    ? "is_croppable had said that it could be cropped. "
                       : cJSON_IsFalse(promised) ? "is_croppable had said that it could not be cropped. "
                                                 : "");
    kvc_text_add(text, kvc_json_true(told, "generate") ? "Assisted generation comes to it. " : "Assisted generation does not come to it. ");
    kvc_text_add_format(text, "Its cache is %s", kvc_json_string(told, "cache"));
    cJSON_ArrayForEach (layer, layers) {
        kvc_text_add(text, layer == layers->child ? " of " : ", ");
        kvc_text_add(text, layer->valuestring);
    }
    kvc_text_add(text, ".");
}
