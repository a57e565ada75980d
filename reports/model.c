#include "reports/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *glyph, *word;
} statuses[KVC_STATUSES] = {
    {"✓", "conforms"}, {"✗", "findings"}, {"∅", "absent"}, {"○", "not covered"}, {"⊘", "not run"},
};

const char *kvc_status_glyph(kvc_status status)
{
    return statuses[status].glyph;
}

const char *kvc_status_word(kvc_status status)
{
    return statuses[status].word;
}

static const struct {
    const char *name, *glyph, *meaning;
} severities[] = {
    {"silent", "◐", "wrong without an error"},
    {"error", "⚠", "an error where none belongs, or the wrong one"},
    {"crash", "✸", "the process died"},
};

const char *kvc_severity_glyph(const char *severity)
{
    for (size_t i = 0; i < sizeof severities / sizeof severities[0]; i++) {
        if (strcmp(severities[i].name, severity) == 0) {
            return severities[i].glyph;
        }
    }
    return "";
}

const char *kvc_severity_meaning(const char *severity)
{
    for (size_t i = 0; i < sizeof severities / sizeof severities[0]; i++) {
        if (strcmp(severities[i].name, severity) == 0) {
            return severities[i].meaning;
        }
    }
    return "";
}

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
    const char *word = kvc_json_string(run, "status");
    for (int status = 0; status < KVC_STATUSES; status++) {
        if (strcmp(statuses[status].word, word) == 0) {
            return (kvc_status)status;
        }
    }
    return KVC_STATUS_NOT_RUN;
}

/* What makes two findings one cause, with their order in the result. */
typedef struct kvc_cause {
    const char *subject, *variant, *id;
    size_t index;
} kvc_cause;

static int same_cause(const kvc_cause *a, const kvc_cause *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->variant, b->variant) == 0 && strcmp(a->subject, b->subject) == 0;
}

static int compare_causes(const void *left, const void *right)
{
    const kvc_cause *a = left;
    const kvc_cause *b = right;
    int order = strcmp(a->id, b->id);
    order = order != 0 ? order : strcmp(a->variant, b->variant);
    order = order != 0 ? order : strcmp(a->subject, b->subject);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int join_causes(kvc_report_model *model)
{
    kvc_cause *causes = calloc(model->finding_count + 1, sizeof *causes);
    if (causes == NULL) {
        return -1;
    }
    for (size_t i = 0; i < model->finding_count; i++) {
        const cJSON *run = model->runs[model->findings[i].run].json;
        causes[i] = (kvc_cause){kvc_json_string(run, "subject"), kvc_json_string(run, "variant"),
                                kvc_json_string(model->findings[i].json, "id"), i};
    }
    qsort(causes, model->finding_count, sizeof *causes, compare_causes);
    for (size_t i = 0; i < model->finding_count; i++) {
        kvc_report_finding *finding = &model->findings[causes[i].index];
        int again = i > 0 && same_cause(&causes[i - 1], &causes[i]);
        finding->cause = again ? model->findings[causes[i - 1].index].cause : causes[i].index;
        if (again) {
            model->findings[causes[i - 1].index].next = causes[i].index;
        }
    }
    for (size_t i = 0; i < model->finding_count; i++) {
        kvc_report_finding *finding = &model->findings[i];
        finding->number = finding->cause == i ? ++model->causes : model->findings[finding->cause].number;
    }
    free(causes);
    return 0;
}

/* `out->versions` has room for one more. */
static size_t find_version(kvc_report_model *out, const cJSON *run)
{
    const char *subject = kvc_json_string(run, "subject");
    const char *version = kvc_json_string(run, "version");
    for (size_t i = 0; i < out->version_count; i++) {
        if (strcmp(out->versions[i].subject, subject) == 0 && strcmp(out->versions[i].version, version) == 0) {
            return i;
        }
    }
    out->versions[out->version_count] = (kvc_report_version){subject, version, out->run_count};
    return out->version_count++;
}

int kvc_model_make(const cJSON *result, kvc_report_model *out)
{
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(result, "runs");
    const cJSON *run = NULL;
    const cJSON *finding = NULL;
    *out = (kvc_report_model){.result = result};
    out->profile = kvc_json_string(result, "profile");
    out->seed = kvc_json_string(result, "seed");
    size_t findings = 0;
    cJSON_ArrayForEach (run, runs) {
        findings += (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(run, "findings"));
    }
    out->runs = calloc((size_t)cJSON_GetArraySize(runs) + 1, sizeof *out->runs);
    out->versions = calloc((size_t)cJSON_GetArraySize(runs) + 1, sizeof *out->versions);
    out->findings = calloc(findings + 1, sizeof *out->findings);
    if (out->runs == NULL || out->versions == NULL || out->findings == NULL) {
        return -1;
    }
    cJSON_ArrayForEach (run, runs) {
        kvc_report_run *entry = &out->runs[out->run_count];
        *entry = (kvc_report_run){.json = run, .status = status_of(run), .first = out->finding_count};
        entry->version = find_version(out, run);
        cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(run, "findings")) {
            out->findings[out->finding_count++] =
                (kvc_report_finding){.json = finding, .run = out->run_count, .next = KVC_NO_FINDING};
            entry->findings++;
        }
        out->run_count++;
        out->status_count[entry->status]++;
        out->sequences += (uint64_t)kvc_json_number(run, "sequences");
        out->ops += (uint64_t)kvc_json_number(run, "ops");
        out->seconds += kvc_json_number(run, "seconds");
    }
    return join_causes(out);
}

void kvc_model_free(kvc_report_model *model)
{
    free(model->runs);
    free(model->versions);
    free(model->findings);
    *model = (kvc_report_model){0};
}

void kvc_model_add_value(kvc_text *text, const cJSON *value)
{
    if (cJSON_IsString(value)) {
        kvc_text_add(text, value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        kvc_text_add_format(text, "%.15g", value->valuedouble);
    } else if (cJSON_IsBool(value)) {
        kvc_text_add(text, cJSON_IsTrue(value) ? "true" : "false");
    } else if (cJSON_IsArray(value)) {
        const cJSON *entry = NULL;
        cJSON_ArrayForEach (entry, value) {
            kvc_text_add(text, entry == value->child ? "" : ", ");
            if (cJSON_IsArray(entry)) {
                kvc_text_add_char(text, '[', 1);
                kvc_model_add_value(text, entry);
                kvc_text_add_char(text, ']', 1);
            } else {
                kvc_model_add_value(text, entry);
            }
        }
    } else {
        kvc_text_add(text, "none");
    }
}

void kvc_model_add_op(kvc_text *text, const cJSON *op)
{
    const cJSON *argument = op->child->next;
    kvc_text_add(text, op->child->valuestring);
    if (argument != NULL) {
        kvc_text_add(text, cJSON_IsArray(argument) ? " [" : " ");
        kvc_model_add_value(text, argument);
        kvc_text_add(text, cJSON_IsArray(argument) ? "]" : "");
    }
}

void kvc_model_add_ops(kvc_text *text, const cJSON *ops)
{
    const cJSON *op = NULL;
    cJSON_ArrayForEach (op, ops) {
        kvc_text_add(text, op == ops->child ? "" : ", ");
        kvc_model_add_op(text, op);
    }
}

void kvc_model_add_table(kvc_text *text, const cJSON *table)
{
    const cJSON *entry = NULL;
    cJSON_ArrayForEach (entry, table) {
        kvc_text_add_format(text, "%s%s=", entry == table->child ? "" : ", ", entry->string);
        kvc_model_add_value(text, entry);
    }
}

void kvc_model_add_version(kvc_text *text, const kvc_report_version *version)
{
    kvc_text_add_format(text, "%s%s%s", version->subject, version->version[0] != '\0' ? " " : "", version->version);
}

void kvc_model_add_plural(kvc_text *text, uint64_t count, const char *one, const char *many)
{
    kvc_text_add_count(text, count);
    kvc_text_add_format(text, " %s", count == 1 ? one : many);
}

void kvc_model_add_minimal(kvc_text *text, const cJSON *finding)
{
    const cJSON *minimal = cJSON_GetObjectItemCaseSensitive(finding, "minimal");
    uint64_t tried = (uint64_t)kvc_json_number(minimal, "smaller_tried");
    if (kvc_json_true(minimal, "proved")) {
        if (tried == 0) {
            kvc_text_add(text, "Proved minimal: there is no smaller sequence.");
        } else if (tried == 1) {
            kvc_text_add(text, "Proved minimal: the only smaller sequence was run and does not show it.");
        } else {
            kvc_text_add(text, "Proved minimal: all ");
            kvc_text_add_count(text, tried);
            kvc_text_add(text, " smaller sequences were run and none of them shows it.");
        }
    } else {
        kvc_text_add(text, "Not proved minimal: no op can be left out and no number made smaller without losing it (");
        kvc_model_add_plural(text, tried, "smaller sequence", "smaller sequences");
        kvc_text_add(text, " tried).");
    }
}

void kvc_model_add_headline(kvc_text *text, const kvc_report_model *model)
{
    size_t good = model->status_count[KVC_STATUS_CONFORMS];
    size_t bad = model->status_count[KVC_STATUS_FINDINGS];
    if (bad > 0) {
        kvc_text_add(text, "✗ ");
        kvc_model_add_plural(text, model->causes, "finding", "findings");
        kvc_text_add(text, " in ");
        kvc_text_add_count(text, bad);
        kvc_text_add(text, " of ");
        /* A variant may stand there once for each version of its subject. */
        kvc_model_add_plural(text, bad + good, model->version_count > 1 ? "run" : "variant",
                             model->version_count > 1 ? "runs" : "variants");
    } else if (good > 0) {
        kvc_text_add(text, "✓ No finding in ");
        kvc_model_add_plural(text, good, model->version_count > 1 ? "run" : "variant",
                             model->version_count > 1 ? "runs" : "variants");
    } else {
        kvc_text_add(text, "⊘ Nothing was run");
    }
}
