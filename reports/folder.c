#include "reports/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/badge.h"
#include "reports/file.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/model.h"
#include "reports/result.h"
#include "reports/sarif.h"

enum { PATH_SIZE = 4096 };

/* FOLDER/NAME. Returns 0, or -1 when that is too long. */
static int join(char *path, const char *folder, const char *name, char *error, size_t error_size)
{
    int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    if (length >= 0 && length < PATH_SIZE) {
        return 0;
    }
    (void)snprintf(error, error_size, "%.200s...: the path is too long", folder);
    return -1;
}

int kvc_report_folder_make_one(const char *path, char *error, size_t error_size)
{
    struct stat status;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        return 0;
    }
    (void)snprintf(error, error_size, "%.400s: the folder cannot be made: %s", path,
                   strerror(errno == EEXIST ? ENOTDIR : errno));
    return -1;
}

static int is_document(const char *name)
{
    static const char *const documents[] = {"result.json", "merged.json", "report.html", "report.md",
                                            "report.sarif", "junit.xml", "badge.svg"};
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        if (strcmp(name, documents[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* LAW-0123abcd.json, or with the suffix of a script. */
static int is_case(const char *name)
{
    size_t law = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return law > 0 && name[law] == '-' && strspn(name + law + 1, "0123456789abcdef") == 8 && name[law + 9] == '.';
}

int kvc_report_folder_make(const char *folder, char *error, size_t error_size)
{
    char cases[PATH_SIZE];
    if (join(cases, folder, "cases", error, error_size) != 0 || kvc_report_folder_make_one(folder, error, error_size) != 0 ||
        kvc_report_folder_make_one(cases, error, error_size) != 0) {
        return -1;
    }
    kvc_report_file_sweep_folder(folder, is_document);
    kvc_report_file_sweep_folder(cases, is_case);
    return 0;
}

int kvc_report_folder_write_json(const char *folder, const char *name, const cJSON *json, char *error, size_t error_size)
{
    char path[PATH_SIZE];
    return join(path, folder, name, error, error_size) != 0 ? -1 : kvc_result_write_file(path, json, error, error_size);
}

/* There may be thousands of cases, and the document that holds them all is written with care. */
static int write_case(const char *folder, const cJSON *finding, char *error, size_t error_size)
{
    const char *script = kvc_json_string(finding, "script");
    const char *id = kvc_json_string(finding, "id");
    char name[128];
    char path[PATH_SIZE];
    size_t length = 0;
    char *text = kvc_result_print(cJSON_GetObjectItemCaseSensitive(finding, "case"), &length);
    int result = -1;
    if (text == NULL) {
        (void)snprintf(error, error_size, "not enough memory to write a case");
        return -1;
    }
    (void)snprintf(name, sizeof name, "cases/%.64s.json", id);
    if (join(path, folder, name, error, error_size) == 0) {
        result = kvc_report_file_write_quickly(path, text, length, error, error_size);
    }
    cJSON_free(text);
    (void)snprintf(name, sizeof name, "cases/%.64s.%s", id, kvc_script_suffix(finding));
    if (result == 0 && *script != '\0' && (result = join(path, folder, name, error, error_size)) == 0) {
        result = kvc_report_file_write_quickly(path, script, strlen(script), error, error_size);
    }
    return result;
}

int kvc_report_folder_write_cases(const char *folder, const cJSON *run, char *error, size_t error_size)
{
    const cJSON *finding = NULL;
    cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(run, "findings")) {
        if (write_case(folder, finding, error, error_size) != 0) {
            return -1;
        }
    }
    return 0;
}

int kvc_report_folder_write(const char *folder, const cJSON *merged, char *error, size_t error_size)
{
    static const struct {
        const char *name;
        int (*make)(const kvc_report_model *, kvc_text *);
    } reports[] = {
        {"report.html", kvc_report_html}, {"report.md", kvc_report_markdown}, {"report.sarif", kvc_report_sarif},
        {"junit.xml", kvc_report_junit},  {"badge.svg", kvc_report_badge},
    };
    kvc_report_model model = {0};
    kvc_text text = {0};
    char path[PATH_SIZE];
    int result = -1;
    if (kvc_report_model_make(merged, &model) != 0) {
        (void)snprintf(error, error_size, "not enough memory to make the reports");
        goto cleanup;
    }
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        if (reports[i].make(&model, &text) != 0) {
            (void)snprintf(error, error_size, "%s: not enough memory to make it", reports[i].name);
            goto cleanup;
        }
        if (join(path, folder, reports[i].name, error, error_size) != 0 ||
            kvc_report_file_write(path, kvc_text_string(&text), text.length, error, error_size) != 0) {
            goto cleanup;
        }
        kvc_text_free(&text);
    }
    /* Of a finding in several versions the case that is shown. */
    for (size_t i = 0; i < model.cause_count; i++) {
        if (write_case(folder, model.findings[model.causes[i].shown].json, error, error_size) != 0) {
            goto cleanup;
        }
    }
    result = 0;
cleanup:
    kvc_text_free(&text);
    kvc_report_model_free(&model);
    return result;
}
