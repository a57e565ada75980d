/* A difference for a terminal, for a comment on a pull request, and for programs. */
#include <string.h>

#include "reports/difference.h"
#include "reports/markdown_internal.h"
#include "reports/words.h"

enum { TITLE_COLUMNS = 200, CASE_COLUMNS = 400, MARKDOWN_ROWS_MAX = 300 };

static const char *const glyphs[KVC_CHANGE_KINDS] = {"✗", "✓", "≠", "=", "?"};

static const cJSON *shown(const kvc_change *change)
{
    return change->after != NULL ? change->after : change->before;
}

/* `transformers 5.14.1 → 5.15.1`. */
static void add_pair(kvc_text *out, const kvc_change_pair *pair)
{
    const kvc_report_version *any = pair->after != NULL ? pair->after : pair->before;
    kvc_text_add_format(out, "%s ", any->subject);
    if (pair->before == NULL) {
        kvc_text_add_format(out, "%s (nothing to compare with)", pair->after->version);
    } else if (pair->after == NULL) {
        kvc_text_add_format(out, "%s (not in the new result)", pair->before->version);
    } else if (strcmp(pair->before->version, pair->after->version) == 0) {
        kvc_text_add(out, pair->after->version);
    } else {
        kvc_text_add_format(out, "%s → %s", pair->before->version, pair->after->version);
    }
}

/* `2 new, 1 fixed, 4 still there`. */
static void add_counts(kvc_text *out, const kvc_difference *difference)
{
    int any = 0;
    for (int kind = 0; kind < KVC_CHANGE_KINDS; kind++) {
        if (difference->count[kind] > 0 || kind == KVC_CHANGE_NEW) {
            kvc_text_add(out, any ? ", " : "");
            kvc_text_add_count(out, difference->count[kind]);
            kvc_text_add_format(out, " %s", kvc_change_word((kvc_change_kind)kind));
            any = 1;
        }
    }
}

static void add_short(kvc_text *out, kvc_text *plain, size_t columns)
{
    kvc_text_add_terminal_short(out, kvc_text_string(plain), columns);
    out->failed |= plain->failed;
    kvc_text_free(plain);
}

int kvc_difference_text(const kvc_difference *difference, int colour, kvc_text *out)
{
    kvc_text plain = {0};
    for (size_t i = 0; i < difference->changes && !out->failed; i++) {
        const kvc_change *change = &difference->change[i];
        const char *paint = change->kind == KVC_CHANGE_NEW ? "\x1b[31m" : change->kind == KVC_CHANGE_FIXED ? "\x1b[32m" : "\x1b[2m";
        kvc_text_add_format(out, "%s%s %s%s ", colour ? paint : "", glyphs[change->kind], kvc_change_word(change->kind),
                            colour ? "\x1b[0m" : "");
        kvc_text_add(&plain, kvc_json_string(shown(change), "title"));
        add_short(out, &plain, TITLE_COLUMNS);
        kvc_text_add(out, "\n  in:   ");
        kvc_text_add_format(&plain, "%s, ", change->variant);
        add_pair(&plain, &difference->pair[change->pair]);
        add_short(out, &plain, TITLE_COLUMNS);
        kvc_text_add(out, "\n  case: ");
        kvc_words_add_ops(&plain, shown(change));
        add_short(out, &plain, CASE_COLUMNS);
        kvc_text_add(out, "\n  id:   ");
        kvc_text_add(&plain, kvc_json_string(shown(change), "id"));
        add_short(out, &plain, TITLE_COLUMNS);
        kvc_text_add(out, "\n");
        if (change->kind == KVC_CHANGE_CHANGED) {
            kvc_text_add(out, "  not as before: ");
            kvc_change_add_fields(out, change);
            kvc_text_add(out, "\n");
        }
        if (*change->note != '\0') {
            kvc_text_add_format(out, "  note: %s\n", change->note);
        }
    }
    for (size_t i = 0; i < difference->pairs; i++) {
        add_pair(&plain, &difference->pair[i]);
        add_short(out, &plain, TITLE_COLUMNS);
        kvc_text_add(out, "\n");
    }
    add_counts(out, difference);
    kvc_text_add(out, "\n");
    return out->failed ? -1 : 0;
}

int kvc_difference_markdown(const kvc_difference *difference, kvc_text *out)
{
    kvc_text plain = {0};
    kvc_text_add(out, "# ");
    kvc_text_add(out, difference->count[KVC_CHANGE_NEW] > 0 ? "✗ " : "✓ ");
    add_counts(out, difference);
    kvc_text_add(out, "\n\n");
    for (size_t i = 0; i < difference->pairs; i++) {
        kvc_text_add(out, "- ");
        add_pair(&plain, &difference->pair[i]);
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, "\n");
    }
    if (difference->changes > 0) {
        kvc_text_add(out, "\n| | finding | case | where | |\n|---|---|---|---|---|\n");
    }
    for (size_t i = 0; i < difference->changes && i < MARKDOWN_ROWS_MAX; i++) {
        const kvc_change *change = &difference->change[i];
        kvc_text_add_format(out, "| %s %s | ", glyphs[change->kind], kvc_change_word(change->kind));
        kvc_markdown_add_short(out, kvc_json_string(shown(change), "title"));
        kvc_text_add(out, " | ");
        kvc_words_add_ops(&plain, shown(change));
        kvc_markdown_add_code(out, &plain);
        kvc_text_add(out, " | ");
        kvc_text_add_markdown_code(out, change->variant);
        kvc_text_add(out, ", ");
        add_pair(&plain, &difference->pair[change->pair]);
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, " | ");
        kvc_change_add_fields(&plain, change);
        kvc_text_add(&plain, change->note);
        kvc_markdown_add_text(out, &plain);
        kvc_text_add(out, " |\n");
    }
    if (difference->changes > MARKDOWN_ROWS_MAX) {
        kvc_text_add_format(out, "\n%zu more are not listed.\n", difference->changes - MARKDOWN_ROWS_MAX);
    }
    return out->failed ? -1 : 0;
}

static void add_version(cJSON *object, const char *name, const kvc_report_version *version)
{
    if (version != NULL) {
        cJSON_AddStringToObject(object, name, version->version);
    }
}

cJSON *kvc_difference_json(const kvc_difference *difference)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *list;
    cJSON *counts;
    cJSON_AddStringToObject(json, "schema", "kvconform-diff/1");
    counts = cJSON_AddObjectToObject(json, "counts");
    for (int kind = 0; kind < KVC_CHANGE_KINDS; kind++) {
        cJSON_AddNumberToObject(counts, kvc_change_word((kvc_change_kind)kind), (double)difference->count[kind]);
    }
    list = cJSON_AddArrayToObject(json, "compared");
    for (size_t i = 0; i < difference->pairs; i++) {
        const kvc_change_pair *pair = &difference->pair[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "subject", (pair->after != NULL ? pair->after : pair->before)->subject);
        add_version(entry, "old", pair->before);
        add_version(entry, "new", pair->after);
        cJSON_AddItemToArray(list, entry);
    }
    list = cJSON_AddArrayToObject(json, "changes");
    for (size_t i = 0; i < difference->changes; i++) {
        const kvc_change *change = &difference->change[i];
        const kvc_change_pair *pair = &difference->pair[change->pair];
        kvc_text fields = {0};
        cJSON *entry = cJSON_CreateObject();
        kvc_change_add_fields(&fields, change);
        cJSON_AddStringToObject(entry, "change", kvc_change_word(change->kind));
        cJSON_AddStringToObject(entry, "subject", (pair->after != NULL ? pair->after : pair->before)->subject);
        cJSON_AddStringToObject(entry, "variant", change->variant);
        add_version(entry, "old_version", pair->before);
        add_version(entry, "new_version", pair->after);
        cJSON_AddStringToObject(entry, "id", kvc_json_string(shown(change), "id"));
        cJSON_AddStringToObject(entry, "differs", kvc_text_string(&fields));
        cJSON_AddStringToObject(entry, "note", change->note);
        if (change->before != NULL) {
            cJSON_AddItemToObject(entry, "old", cJSON_Duplicate(change->before, 1));
        }
        if (change->after != NULL) {
            cJSON_AddItemToObject(entry, "new", cJSON_Duplicate(change->after, 1));
        }
        cJSON_AddItemToArray(list, entry);
        kvc_text_free(&fields);
    }
    /* cJSON gives nothing back where memory is short: what was not added is missing at the end. */
    if (cJSON_GetArraySize(list) != (int)difference->changes) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}
