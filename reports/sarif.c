#include "reports/sarif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/utf8.h"
#include "reports/law_text.h"
#include "reports/words.h"

enum { TEXT_MAX = 2000, RESULTS_MAX = 5000 }; /* bytes of foreign text; results that scanners take */

/* Adds foreign text as a string: on one line, with nothing that a viewer would act on. */
static cJSON *add_string(cJSON *object, const char *name, const char *string)
{
    kvc_text visible = {0};
    kvc_text_add_terminal_short(&visible, string, TEXT_MAX);
    cJSON *added = visible.failed ? NULL : cJSON_AddStringToObject(object, name, kvc_text_string(&visible));
    kvc_text_free(&visible);
    return added;
}

/* The same for what was gathered in *plain; empties it. */
static void add_text(cJSON *object, const char *name, kvc_text *plain)
{
    add_string(object, name, kvc_text_string(plain));
    kvc_text_free(plain);
}

static cJSON *add_message(cJSON *object, const char *name, const char *string)
{
    cJSON *message = cJSON_AddObjectToObject(object, name);
    add_string(message, "text", string);
    return message;
}

/* A new object at the end of a list. */
static cJSON *append(cJSON *list)
{
    cJSON *object = cJSON_CreateObject();
    if (!cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return NULL;
    }
    return object;
}

/* The laws that are named, each once, in order. Returns the list, for the caller to free, or NULL without memory. */
static const char **list_laws(const kvc_report_model *model, size_t *count)
{
    const char **laws = malloc((model->cause_count + 1) * sizeof *laws);
    *count = 0;
    for (size_t i = 0; laws != NULL && i < model->cause_count; i++) {
        size_t place = 0;
        while (place < *count && strcmp(laws[place], model->causes[i].law) != 0) {
            place++;
        }
        if (place == *count) {
            laws[(*count)++] = model->causes[i].law;
        }
    }
    for (size_t i = 1; laws != NULL && i < *count; i++) {
        for (size_t j = i; j > 0; j--) {
            size_t before = kvc_report_law_rank(laws[j - 1]);
            size_t after = kvc_report_law_rank(laws[j]);
            if (before < after || (before == after && strcmp(laws[j - 1], laws[j]) < 0)) {
                break;
            }
            const char *law = laws[j];
            laws[j] = laws[j - 1];
            laws[j - 1] = law;
        }
    }
    return laws;
}

static void add_rules(cJSON *driver, const char *const *laws, size_t count)
{
    cJSON *rules = cJSON_AddArrayToObject(driver, "rules");
    for (size_t i = 0; i < count; i++) {
        const char *text = kvc_report_law_text(laws[i]);
        cJSON *rule = append(rules);
        add_string(rule, "id", laws[i]);
        if (*text != '\0') {
            add_message(rule, "shortDescription", text);
        }
    }
}

/* A path as a URI: everything but what stands for itself is written as %XX. */
static void add_uri(cJSON *object, const char *path)
{
    kvc_text uri = {0};
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        int itself = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                     strchr("-_.~/", byte) != NULL;
        kvc_text_add_format(&uri, itself ? "%c" : "%%%02X", byte);
    }
    add_text(object, "uri", &uri);
}

static void add_location(cJSON *result, const kvc_report_model *model, const kvc_report_run *run)
{
    const cJSON *location = cJSON_GetObjectItemCaseSensitive(run->json, "location");
    const kvc_report_row *row = &model->rows[run->row];
    cJSON *place = append(cJSON_AddArrayToObject(result, "locations"));
    if (location != NULL) {
        cJSON *physical = cJSON_AddObjectToObject(place, "physicalLocation");
        cJSON *artifact = cJSON_AddObjectToObject(physical, "artifactLocation");
        add_uri(artifact, kvc_json_string(location, "file"));
        cJSON_AddStringToObject(artifact, "uriBaseId", "PACKAGES");
        cJSON_AddNumberToObject(cJSON_AddObjectToObject(physical, "region"), "startLine", kvc_json_number(location, "line"));
    }
    cJSON *logical = append(cJSON_AddArrayToObject(place, "logicalLocations"));
    kvc_text name = {0};
    add_string(logical, "name", kvc_words_row_name(row));
    kvc_text_add_format(&name, "%s.%s", row->subject, kvc_words_row_name(row));
    add_text(logical, "fullyQualifiedName", &name);
    cJSON_AddStringToObject(logical, "kind", "type");
}

static void add_properties(cJSON *result, const kvc_report_model *model, size_t cause, const cJSON *finding)
{
    static const char *const fields[] = {"severity", "basis", "situation", "deviation", "tensor", "source", "replay"};
    const kvc_report_row *row = &model->rows[model->causes[cause].row];
    cJSON *properties = cJSON_AddObjectToObject(result, "properties");
    cJSON *versions = cJSON_AddArrayToObject(properties, "versions");
    for (size_t at = row->first_cell; at != KVC_NONE; at = model->cells[at].next) {
        if (kvc_report_model_affects(model, cause, model->cells[at].version)) {
            kvc_text visible = {0};
            kvc_text_add_terminal_short(&visible, model->versions[model->cells[at].version].version, TEXT_MAX);
            cJSON_AddItemToArray(versions, cJSON_CreateString(kvc_text_string(&visible)));
            kvc_text_free(&visible);
        }
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        add_string(properties, fields[i], kvc_json_string(finding, fields[i]));
    }
}

static void add_result(cJSON *results, const kvc_report_model *model, size_t cause, const char *const *laws)
{
    const kvc_report_finding *finding = &model->findings[model->causes[cause].shown];
    const kvc_report_run *run = &model->runs[finding->run];
    const char *level = strcmp(kvc_json_string(finding->json, "basis"), "documented") == 0 ? "error" : "warning";
    cJSON *result = append(results);
    kvc_text plain = {0};
    size_t rule = 0;
    while (strcmp(laws[rule], model->causes[cause].law) != 0) {
        rule++;
    }
    add_string(result, "ruleId", laws[rule]);
    cJSON_AddNumberToObject(result, "ruleIndex", (double)rule);
    cJSON_AddStringToObject(result, "level", kvc_json_true(finding->json, "control") ? "note" : level);
    kvc_text_add_format(&plain, "%s. Case: ", kvc_json_string(finding->json, "title"));
    kvc_words_add_ops(&plain, finding->json);
    kvc_text_add(&plain, ". ");
    kvc_words_add_difference(&plain, finding->json);
    add_message(result, "message", kvc_text_string(&plain));
    kvc_text_free(&plain);
    add_location(result, model, run);
    kvc_text_add_format(&plain, "%s/%s/%s", model->rows[run->row].subject, kvc_words_row_name(&model->rows[run->row]),
                        model->causes[cause].id);
    add_text(cJSON_AddObjectToObject(result, "partialFingerprints"), "kvconform/v1", &plain);
    add_properties(result, model, cause, finding->json);
}

/* How each result came about, and what could not be run. */
static void add_invocations(cJSON *run, const kvc_report_model *model)
{
    cJSON *list = cJSON_AddArrayToObject(run, "invocations");
    for (size_t i = 0; i < model->result_count; i++) {
        const cJSON *finished = cJSON_GetObjectItemCaseSensitive(model->results[i], "finished");
        cJSON *invocation = append(list);
        cJSON *notifications = NULL;
        kvc_text plain = {0};
        kvc_words_add_command(&plain, cJSON_GetObjectItemCaseSensitive(model->results[i], "command"));
        add_text(invocation, "commandLine", &plain);
        cJSON_AddBoolToObject(invocation, "executionSuccessful", !kvc_json_true(finished, "interrupted"));
        for (size_t j = 0; j < model->run_count; j++) {
            const kvc_report_run *entry = &model->runs[j];
            if (entry->result != model->results[i] || entry->status != KVC_STATUS_NOT_RUN) {
                continue;
            }
            notifications = notifications != NULL ? notifications : cJSON_AddArrayToObject(invocation, "toolExecutionNotifications");
            cJSON *notification = append(notifications);
            kvc_words_add_version(&plain, &model->versions[entry->version]);
            kvc_text_add_format(&plain, " %s: %s: %s", kvc_words_row_name(&model->rows[entry->row]),
                                kvc_status_word(entry->status), kvc_json_string(entry->json, "reason"));
            add_message(notification, "message", kvc_text_string(&plain));
            kvc_text_free(&plain);
            cJSON_AddStringToObject(notification, "level", "error");
        }
    }
}

int kvc_report_sarif(const kvc_report_model *model, kvc_text *out)
{
    cJSON *document = cJSON_CreateObject();
    size_t law_count = 0;
    const char **laws = list_laws(model, &law_count);
    char *printed = NULL;
    int result = -1;
    if (laws == NULL) {
        goto cleanup;
    }
    cJSON_AddStringToObject(document, "$schema",
                            "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json");
    cJSON_AddStringToObject(document, "version", "2.1.0");
    cJSON *run = append(cJSON_AddArrayToObject(document, "runs"));
    cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
    cJSON_AddStringToObject(driver, "name", "kvconform");
    add_rules(driver, laws, law_count);
    add_message(cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "originalUriBaseIds"), "PACKAGES"), "description",
                "The folder in which the subject's packages are installed, such as site-packages.");
    add_invocations(run, model);
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (size_t i = 0; i < model->cause_count && i < RESULTS_MAX; i++) {
        add_result(results, model, i, laws);
    }
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(run, "properties"), "findings", (double)model->cause_count);
    printed = results != NULL ? cJSON_Print(document) : NULL;
    if (printed != NULL) {
        kvc_utf8_repair(printed);
        kvc_text_add(out, printed);
        kvc_text_add(out, "\n");
        result = out->failed ? -1 : 0;
    }
cleanup:
    cJSON_free(printed);
    cJSON_Delete(document);
    free(laws);
    return result;
}
