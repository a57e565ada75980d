#include "reports/words.h"

#include <string.h>

static const struct {
    const char *glyph, *word;
} statuses[KVC_STATUSES] = {
    {"∅", "absent"}, {"⊘", "not run"}, {"○", "not covered"}, {"✓", "conforms"}, {"✗", "findings"},
};

const kvc_fact kvc_facts[KVC_FACTS] = {
    {"outcome", "outcome", 1},         {"length", "length", 1},        {"masks", "mask sizes", 1},
    {"positions", "next position", 1}, {"claim", "claims to crop", 1}, {"error", "error", 0},
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

void kvc_words_add_value(kvc_text *text, const cJSON *value)
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
                kvc_words_add_value(text, entry);
                kvc_text_add_char(text, ']', 1);
            } else {
                kvc_words_add_value(text, entry);
            }
        }
    } else {
        kvc_text_add(text, "none");
    }
}

void kvc_words_add_op(kvc_text *text, const cJSON *op)
{
    kvc_text_add(text, op->child->valuestring);
    for (const cJSON *argument = op->child->next; argument != NULL; argument = argument->next) {
        kvc_text_add(text, cJSON_IsArray(argument) ? " [" : " ");
        kvc_words_add_value(text, argument);
        kvc_text_add(text, cJSON_IsArray(argument) ? "]" : "");
    }
}

void kvc_words_add_ops(kvc_text *text, const cJSON *finding)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "ops");
    const cJSON *op = NULL;
    cJSON_ArrayForEach (op, ops) {
        kvc_text_add(text, op == ops->child ? "" : ", ");
        kvc_words_add_op(text, op);
    }
}

void kvc_words_add_sizes(kvc_text *text, const cJSON *finding)
{
    /* Sizes of the cache are always told, the rest where it is not the simplest: then the case needs it. */
    static const struct {
        const char *name, *simplest;
    } told[] = {{"batch", "1"},  {"heads", "1"},       {"window", ""},           {"capacity", ""},    {"kernel", ""},
                {"block", ""},   {"keep", ""},         {"residual", ""},         {"chunk", "0"},      {"left", "0"},
                {"dtype", "float32"}, {"layout", "contiguous"}, {"call", "position"}};
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "params");
    int found = 0;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(params, told[i].name);
        kvc_text plain = {0};
        if (value == NULL) {
            continue;
        }
        kvc_words_add_value(&plain, value);
        if (strcmp(kvc_text_string(&plain), told[i].simplest) != 0) {
            kvc_text_add_format(text, "%s%s %s", found++ > 0 ? ", " : "", told[i].name, kvc_text_string(&plain));
        }
        text->failed |= plain.failed;
        kvc_text_free(&plain);
    }
}

void kvc_words_add_table(kvc_text *text, const cJSON *table)
{
    const cJSON *entry = NULL;
    cJSON_ArrayForEach (entry, table) {
        kvc_text_add_format(text, "%s%s=", entry == table->child ? "" : ", ", entry->string);
        kvc_words_add_value(text, entry);
    }
}

void kvc_words_add_version(kvc_text *text, const kvc_report_version *version)
{
    kvc_text_add_format(text, "%s%s%s", version->subject, version->version[0] != '\0' ? " " : "", version->version);
}

void kvc_words_add_plural(kvc_text *text, uint64_t count, const char *one, const char *many)
{
    kvc_text_add_count(text, count);
    kvc_text_add_format(text, " %s", count == 1 ? one : many);
}

void kvc_words_add_minimal(kvc_text *text, const cJSON *finding)
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
        kvc_words_add_plural(text, tried, "smaller sequence", "smaller sequences");
        kvc_text_add(text, " tried).");
    }
}

void kvc_words_add_tries(kvc_text *text, const cJSON *finding)
{
    const cJSON *tries = cJSON_GetObjectItemCaseSensitive(finding, "tries");
    const cJSON *one;
    cJSON_ArrayForEach (one, tries) {
        kvc_text_add(text, one == tries->child ? " (" : "; ");
        kvc_text_add(text, cJSON_IsString(one) ? one->valuestring : "?");
    }
    kvc_text_add(text, cJSON_GetArraySize(tries) > 0 ? ")" : "");
}

void kvc_words_add_command(kvc_text *text, const cJSON *words)
{
    const cJSON *word = NULL;
    cJSON_ArrayForEach (word, words) {
        const char *string = word->valuestring;
        /* Quoted where a shell would read it otherwise, so that the line can be pasted. */
        int plain = *string != '\0' && strpbrk(string, " \t\n\r\"'\\`$&|;<>()*?[]{}!#~") == NULL;
        kvc_text_add(text, word == words->child ? "" : " ");
        kvc_text_add(text, plain ? "" : "'");
        for (; *string != '\0'; string++) {
            if (*string == '\'') {
                kvc_text_add(text, "'\\''");
            } else {
                kvc_text_add_char(text, *string, 1);
            }
        }
        kvc_text_add(text, plain ? "" : "'");
    }
}

void kvc_words_add_headline(kvc_text *text, const kvc_report_model *model)
{
    if (model->cause_count > 0) {
        kvc_text_add(text, "✗ ");
        kvc_words_add_plural(text, model->cause_count, "finding", "findings");
        kvc_text_add(text, " in ");
        kvc_text_add_count(text, model->rows_bad);
        kvc_text_add(text, " of ");
        kvc_words_add_plural(text, model->rows_run, "variant", "variants");
    } else if (model->rows_run > 0) {
        kvc_text_add(text, "✓ No finding in ");
        kvc_words_add_plural(text, model->rows_run, "variant", "variants");
    } else {
        kvc_text_add(text, model->sequences > 0 ? "⊘ Nothing was run to its end" : "⊘ Nothing was run");
    }
    if (model->subject_count == 1 && model->versions_run > 1) {
        kvc_text_add(text, ", ");
        kvc_words_add_plural(text, model->versions_run, "version", "versions");
    }
}

const char *kvc_words_row_name(const kvc_report_row *row)
{
    return *row->variant != '\0' ? row->variant : row->target;
}

const char *kvc_words_title(const kvc_report_row *row, const cJSON *finding)
{
    const char *title = kvc_json_string(finding, "title");
    size_t length = strlen(row->variant);
    int repeats = length > 0 && strncmp(title, row->variant, length) == 0 && strncmp(title + length, ": ", 2) == 0;
    return repeats && title[length + 2] != '\0' ? title + length + 2 : title;
}

void kvc_words_add_versions(kvc_text *text, const kvc_report_model *model, size_t cause)
{
    const kvc_report_row *row = &model->rows[model->causes[cause].row];
    size_t affected = 0;
    size_t started = KVC_NONE; /* where the range began that goes on now */
    size_t last = KVC_NONE;    /* the newest version of that range */
    size_t ranges = 0;
    for (size_t at = row->first_cell; at != KVC_NONE; at = model->cells[at].next) {
        affected += (size_t)kvc_report_model_affects(model, cause, model->cells[at].version);
    }
    if (affected > 1 && affected == model->subjects[row->subject_index].versions) {
        kvc_text_add_format(text, "all %zu versions", affected);
        return;
    }
    /* Versions where the class was not run neither end a range nor belong to it. */
    for (size_t at = row->first_cell;; at = model->cells[at].next) {
        const kvc_report_cell *cell = at != KVC_NONE ? &model->cells[at] : NULL;
        int hit = cell != NULL && kvc_report_model_affects(model, cause, cell->version);
        if (hit) {
            started = started == KVC_NONE ? cell->version : started;
            last = cell->version;
        }
        if (started != KVC_NONE && (cell == NULL || (!hit && kvc_report_was_run(cell->status)))) {
            kvc_text_add(text, ranges++ > 0 ? ", " : "");
            kvc_text_add(text, model->versions[started].version);
            if (started != last) {
                kvc_text_add_format(text, " to %s", model->versions[last].version);
            }
            started = KVC_NONE;
        }
        if (cell == NULL) {
            break;
        }
    }
}

void kvc_words_add_difference(kvc_text *text, const cJSON *finding)
{
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(finding, "expected");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    size_t differences = 0;
    for (size_t i = 0; i < KVC_FACTS; i++) {
        const cJSON *left = cJSON_GetObjectItemCaseSensitive(expected, kvc_facts[i].field);
        const cJSON *right = cJSON_GetObjectItemCaseSensitive(observed, kvc_facts[i].field);
        if (kvc_facts[i].compared && left != NULL && right != NULL && !cJSON_Compare(left, right, 1)) {
            kvc_text_add_format(text, "%s%s ", differences++ > 0 ? "; " : "", kvc_facts[i].name);
            kvc_words_add_value(text, right);
            kvc_text_add(text, ", expected ");
            kvc_words_add_value(text, left);
        }
    }
    if (*kvc_json_string(observed, "error") != '\0' && *kvc_json_string(expected, "error") == '\0') {
        kvc_text_add_format(text, "%s%s", differences++ > 0 ? "; " : "", kvc_json_string(observed, "error"));
    }
    if (differences == 0) {
        kvc_text_add_format(text, "%s%s%s", kvc_json_string(finding, "tensor"),
                            *kvc_json_string(finding, "tensor") != '\0' ? ": " : "", kvc_json_string(finding, "deviation"));
    }
}
