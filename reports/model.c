#include "reports/model.h"

#include <stdlib.h>
#include <string.h>

#include "reference/law.h"
#include "reports/models.h"

const char *kvc_json_string(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(value) ? value->valuestring : "";
}

double kvc_json_number(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

int kvc_json_true(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static kvc_status status_of(const cJSON *run)
{
    static const char *const words[KVC_STATUSES] = {"absent", "not run", "not covered", "conforms", "findings"};
    const char *word = kvc_json_string(run, "status");
    for (int status = 0; status < KVC_STATUSES; status++) {
        if (strcmp(words[status], word) == 0) {
            return (kvc_status)status;
        }
    }
    return KVC_STATUS_NOT_RUN;
}

int kvc_report_was_run(kvc_status status)
{
    return status >= KVC_STATUS_CONFORMS;
}

size_t kvc_report_law_rank(const char *law)
{
    kvc_law known;
    if (kvc_law_parse(law, &known)) {
        return (size_t)known;
    }
    return KVC_LAWS + (strcmp(law, "LEDGER") != 0);
}

/*
 * Finding a subject, version, row or cell again: a merged document is sorted, so the last one is nearly always the one. All lists
 * have room for one entry more than there are runs.
 */
static size_t find_subject(kvc_report_model *out, const char *name)
{
    for (size_t i = out->subject_count; i-- > 0;) {
        if (strcmp(out->subjects[i].name, name) == 0) {
            return i;
        }
    }
    out->subjects[out->subject_count] = (kvc_report_subject){.name = name};
    return out->subject_count++;
}

static size_t find_version(kvc_report_model *out, const char *subject, const char *version)
{
    for (size_t i = out->version_count; i-- > 0;) {
        if (strcmp(out->versions[i].version, version) == 0 && strcmp(out->versions[i].subject, subject) == 0) {
            return i;
        }
    }
    size_t index = find_subject(out, subject);
    size_t ordinal = out->subjects[index].versions++;
    out->versions[out->version_count] = (kvc_report_version){subject, version, index, ordinal, out->run_count, 0, 0};
    return out->version_count++;
}

/* The names of the rows in a table of hashes: in a merged document the runs of one row lie far apart. */
static size_t find_row(kvc_report_model *out, size_t *table, size_t size, const char *subject, const cJSON *run)
{
    const char *variant = kvc_json_string(run, "variant");
    const char *target = kvc_json_string(run, "target");
    const char *name = *variant != '\0' ? variant : target;
    size_t hash = 5381;
    for (const char *at = subject; *at != '\0'; at++) {
        hash = hash * 33 + (unsigned char)*at;
    }
    for (const char *at = name; *at != '\0'; at++) {
        hash = hash * 33 + (unsigned char)*at;
    }
    for (hash %= size; table[hash] != KVC_NONE; hash = (hash + 1) % size) {
        const kvc_report_row *row = &out->rows[table[hash]];
        if (strcmp(row->variant, variant) == 0 && strcmp(row->subject, subject) == 0 &&
            (*variant != '\0' || strcmp(row->target, target) == 0)) {
            return table[hash];
        }
    }
    size_t index = find_subject(out, subject);
    out->subjects[index].rows++;
    table[hash] = out->row_count;
    out->rows[out->row_count] = (kvc_report_row){.subject = subject, .variant = variant, .target = target};
    out->rows[out->row_count].is_whole = *variant == '\0' || strpbrk(variant, "*?[") != NULL;
    out->subjects[index].whole_rows += (size_t)out->rows[out->row_count].is_whole;
    out->rows[out->row_count].subject_index = index;
    out->rows[out->row_count].first_cell = KVC_NONE;
    return out->row_count++;
}

/* The cell of a row at a version, made when there is none. */
static size_t find_cell(kvc_report_model *out, size_t row, size_t version)
{
    kvc_report_row *of = &out->rows[row];
    if (of->first_cell != KVC_NONE) {
        if (out->cells[of->last_cell].version == version) {
            return of->last_cell;
        }
        for (size_t at = of->first_cell; at != KVC_NONE; at = out->cells[at].next) {
            if (out->cells[at].version == version) {
                return at;
            }
        }
        out->cells[of->last_cell].next = out->cell_count;
    } else {
        of->first_cell = out->cell_count;
    }
    of->last_cell = out->cell_count;
    out->cells[out->cell_count] = (kvc_report_cell){.row = row, .version = version, .first_run = KVC_NONE, .next = KVC_NONE};
    return out->cell_count++;
}

static void add_run(kvc_report_model *out, const cJSON *json, size_t *table, size_t table_size)
{
    const cJSON *finding = NULL;
    const char *subject = kvc_json_string(json, "subject");
    size_t header = (size_t)kvc_json_number(json, "result");
    size_t index = out->run_count;
    kvc_report_run *run = &out->runs[index];
    *run = (kvc_report_run){.json = json, .status = status_of(json), .next = KVC_NONE};
    run->result = out->results[header < out->result_count ? header : 0];
    run->version = find_version(out, subject, kvc_json_string(json, "version"));
    run->row = find_row(out, table, table_size, subject, json);
    run->cell = find_cell(out, run->row, run->version);
    out->subjects[out->rows[run->row].subject_index].models += kvc_models_is_run(json) && !out->rows[run->row].is_model;
    out->rows[run->row].is_model |= kvc_models_is_run(json);
    out->versions[run->version].whole_not_run |= out->rows[run->row].is_whole && run->status == KVC_STATUS_NOT_RUN;
    kvc_report_cell *cell = &out->cells[run->cell];
    if (cell->first_run == KVC_NONE) {
        cell->first_run = index;
        cell->status = run->status;
    } else {
        out->runs[cell->last_run].next = index;
        cell->status = run->status > cell->status ? run->status : cell->status;
    }
    cell->last_run = index;
    cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(json, "findings")) {
        out->findings[out->finding_count++] = (kvc_report_finding){.json = finding, .run = index, .next = KVC_NONE};
    }
    out->run_count++;
    out->sequences += (uint64_t)kvc_json_number(json, "sequences");
    out->ops += (uint64_t)kvc_json_number(json, "ops");
    out->seconds += kvc_json_number(json, "seconds");
}

/* What a finding is sorted by, so that those of one cause lie side by side. */
typedef struct kvc_key {
    const char *id, *law;
    size_t rank, row, finding;
} kvc_key;

static int compare_keys(const void *left, const void *right)
{
    const kvc_key *a = left;
    const kvc_key *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    int order = strcmp(a->law, b->law);
    order = order != 0 ? order : strcmp(a->id, b->id);
    return order != 0 ? order : (a->finding > b->finding) - (a->finding < b->finding);
}

static void add_cause(kvc_report_model *out, const kvc_key *key)
{
    out->causes[out->cause_count] =
        (kvc_report_cause){.id = key->id, .law = key->law, .row = key->row, .first = key->finding, .shown = key->finding};
    kvc_report_row *row = &out->rows[key->row];
    row->first_cause = row->causes == 0 ? out->cause_count : row->first_cause;
    row->causes++;
    out->cause_count++;
}

static int join_causes(kvc_report_model *out)
{
    kvc_key *keys = malloc((out->finding_count + 1) * sizeof *keys);
    if (keys == NULL) {
        return -1;
    }
    for (size_t i = 0; i < out->finding_count; i++) {
        const cJSON *json = out->findings[i].json;
        keys[i] = (kvc_key){.id = kvc_json_string(json, "id"), .law = kvc_json_string(json, "law"), .finding = i};
        keys[i].rank = kvc_report_law_rank(keys[i].law);
        keys[i].row = out->runs[out->findings[i].run].row;
    }
    qsort(keys, out->finding_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < out->finding_count; i++) {
        kvc_report_finding *finding = &out->findings[keys[i].finding];
        int again = i > 0 && keys[i - 1].row == keys[i].row && strcmp(keys[i - 1].id, keys[i].id) == 0 &&
                    strcmp(keys[i - 1].law, keys[i].law) == 0;
        if (again) {
            out->findings[keys[i - 1].finding].next = keys[i].finding;
        } else {
            add_cause(out, &keys[i]);
        }
        kvc_report_cause *cause = &out->causes[out->cause_count - 1];
        kvc_report_cell *cell = &out->cells[out->runs[finding->run].cell];
        finding->cause = out->cause_count - 1;
        cause->failures += (uint64_t)kvc_json_number(finding->json, "failures");
        /* Another seed may find the same at the same version: the first of the newest version is shown. */
        if (!again || out->runs[out->findings[cause->shown].run].cell != out->runs[finding->run].cell) {
            cause->shown = keys[i].finding;
            cell->findings++;
        }
    }
    free(keys);
    return 0;
}

static int compare_ids(const void *left, const void *right)
{
    const kvc_report_cause *a = *(const kvc_report_cause *const *)left;
    const kvc_report_cause *b = *(const kvc_report_cause *const *)right;
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Counts causes that share their id with one in another row. */
static int count_same_ids(kvc_report_model *out)
{
    kvc_report_cause **sorted = malloc((out->cause_count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return -1;
    }
    for (size_t i = 0; i < out->cause_count; i++) {
        sorted[i] = &out->causes[i];
    }
    qsort(sorted, out->cause_count, sizeof(kvc_report_cause *), compare_ids);
    for (size_t i = 1; i < out->cause_count; i++) {
        sorted[i]->same_ids = strcmp(sorted[i - 1]->id, sorted[i]->id) == 0 ? sorted[i - 1]->same_ids + 1 : 0;
    }
    free(sorted);
    return 0;
}

static void count_cells(kvc_report_model *out)
{
    for (size_t i = 0; i < out->cell_count; i++) {
        out->status_count[out->cells[i].status]++;
    }
    for (size_t i = 0; i < out->row_count; i++) {
        int run = 0;
        for (size_t at = out->rows[i].first_cell; at != KVC_NONE; at = out->cells[at].next) {
            int here = kvc_report_was_run(out->cells[at].status);
            run |= here;
            out->versions_run += here && !out->versions[out->cells[at].version].was_run;
            out->versions[out->cells[at].version].was_run |= here;
        }
        out->rows_run += (size_t)run;
        out->rows_bad += out->rows[i].causes > 0;
    }
}

int kvc_report_model_make(const cJSON *json, kvc_report_model *out)
{
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(json, "runs");
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(json, "results");
    const cJSON *run = NULL;
    const cJSON *header = NULL;
    size_t count = (size_t)cJSON_GetArraySize(runs) + 1;
    size_t findings = 1;
    size_t table_size = 2 * count + 1;
    size_t *table = malloc(table_size * sizeof *table);
    *out = (kvc_report_model){.json = json};
    cJSON_ArrayForEach (run, runs) {
        findings += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(run, "findings"));
    }
    out->results = malloc(((size_t)cJSON_GetArraySize(results) + 1) * sizeof *out->results);
    out->runs = calloc(count, sizeof *out->runs);
    out->subjects = calloc(count, sizeof *out->subjects);
    out->versions = calloc(count, sizeof *out->versions);
    out->rows = calloc(count, sizeof *out->rows);
    out->cells = calloc(count, sizeof *out->cells);
    out->findings = calloc(findings, sizeof *out->findings);
    out->causes = calloc(findings, sizeof *out->causes);
    if (table == NULL || out->results == NULL || out->runs == NULL || out->subjects == NULL || out->versions == NULL ||
        out->rows == NULL || out->cells == NULL || out->findings == NULL || out->causes == NULL) {
        free(table);
        return -1;
    }
    for (size_t i = 0; i < table_size; i++) {
        table[i] = KVC_NONE;
    }
    cJSON_ArrayForEach (header, results) {
        out->results[out->result_count++] = header;
    }
    if (results == NULL) {
        out->results[out->result_count++] = json;
    }
    cJSON_ArrayForEach (run, runs) {
        add_run(out, run, table, table_size);
    }
    free(table);
    if (join_causes(out) != 0 || count_same_ids(out) != 0 || kvc_models_link(out) != 0) {
        return -1;
    }
    count_cells(out);
    return 0;
}

void kvc_report_model_free(kvc_report_model *model)
{
    free(model->results);
    free(model->runs);
    free(model->subjects);
    free(model->versions);
    free(model->rows);
    free(model->cells);
    free(model->findings);
    free(model->causes);
    free(model->links);
    *model = (kvc_report_model){0};
}

const kvc_report_cell *kvc_report_model_cell(const kvc_report_model *model, size_t row, size_t version)
{
    for (size_t at = model->rows[row].first_cell; at != KVC_NONE; at = model->cells[at].next) {
        if (model->cells[at].version == version) {
            return &model->cells[at];
        }
    }
    return NULL;
}

int kvc_report_model_affects(const kvc_report_model *model, size_t cause, size_t version)
{
    for (size_t at = model->causes[cause].first; at != KVC_NONE; at = model->findings[at].next) {
        if (model->runs[model->findings[at].run].version == version) {
            return 1;
        }
    }
    return 0;
}

const char *kvc_report_model_common(const kvc_report_model *model, const char *field)
{
    const char *text = model->result_count > 0 ? kvc_json_string(model->results[0], field) : "";
    for (size_t i = 1; i < model->result_count; i++) {
        if (strcmp(kvc_json_string(model->results[i], field), text) != 0) {
            return "";
        }
    }
    return text;
}

int kvc_report_model_is_shown(const kvc_report_model *model, size_t row)
{
    const kvc_report_subject *subject = &model->subjects[model->rows[row].subject_index];
    return !model->rows[row].is_whole || subject->rows == subject->whole_rows;
}
