/* kvconform keep */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/commands.h"
#include "reports/file.h"
#include "reports/model.h"
#include "reports/result.h"

enum { PATH_SIZE = 4096 };

typedef struct keeping {
    const kvc_options *options;
    const kvc_report_model *model;
    int kept;
    int matched;
} keeping;

static int fail(const char *why, int status)
{
    kvc_complain(why);
    return status;
}

/* DIR/VARIANT-ID.json. A name may be anyone's: what is no plain letter becomes an underscore. */
static int path_of(const keeping *self, const kvc_report_cause *cause, char *path)
{
    static const char plain[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_+.";
    int start = snprintf(path, PATH_SIZE, "%s/", self->options->report);
    int length = start > 0 && start < PATH_SIZE
                     ? snprintf(path + start, (size_t)(PATH_SIZE - start), "%.150s-%.60s.json",
                                self->model->rows[cause->row].variant, cause->id)
                     : -1;

    if (length < 0 || length >= PATH_SIZE - start)
        return 0;
    for (char *at = path + start; *at != '\0'; at++) {
        if (strchr(plain, *at) == NULL || (at == path + start && *at == '.'))
            *at = '_';
    }
    return 1;
}

/* The case with what it must show: the law, on every version on which it was found. */
static cJSON *case_of(const keeping *self, const kvc_report_cause *cause)
{
    static const char *const taken[] = {"schema", "subject", "variant"};
    const kvc_report_model *model = self->model;
    const cJSON *finding = model->findings[cause->shown].json;
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(finding, "case");
    cJSON *json = cJSON_CreateObject();
    cJSON *expect;

    for (size_t at = 0; at < sizeof taken / sizeof taken[0]; at++)
        cJSON_AddStringToObject(json, taken[at], kvc_json_string(given, taken[at]));
    cJSON_AddStringToObject(json, "title", kvc_json_string(finding, "title"));
    cJSON_AddStringToObject(json, "source", self->options->address != NULL ? self->options->address : kvc_json_string(finding, "source"));
    cJSON_AddItemToObject(json, "params", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(given, "params"), 1));
    cJSON_AddItemToObject(json, "ops", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(given, "ops"), 1));
    expect = cJSON_AddObjectToObject(json, "expect");
    for (size_t version = 0; version < model->version_count; version++) {
        if (kvc_report_model_affects(model, (size_t)(cause - model->causes), version))
            cJSON_AddStringToObject(expect, model->versions[version].version, cause->law);
    }
    return json;
}

static int keep(keeping *self, const kvc_report_cause *cause)
{
    char path[PATH_SIZE];
    char error[640] = "";
    cJSON *json;
    char *text;
    size_t length = 0;
    int status = 0;

    if (!path_of(self, cause, path))
        return fail("-o: the path is too long", KVC_EXIT_USAGE);
    if (access(path, F_OK) == 0) {
        if (!self->options->quiet)
            (void)printf("%s is there already\n", path);
        return 0;
    }
    json = case_of(self, cause);
    text = json != NULL ? kvc_result_print(json, &length) : NULL;
    if (text == NULL)
        status = fail("not enough memory", KVC_EXIT_INTERNAL);
    else if (kvc_report_file_write(path, text, length, error, sizeof error) != 0)
        status = fail(error, KVC_EXIT_INTERNAL);
    else if (!self->options->quiet)
        (void)printf("%s\n", path);
    self->kept += status == 0;
    cJSON_free(text);
    cJSON_Delete(json);
    return status;
}

static int keep_all(keeping *self)
{
    const char *pattern = self->options->id;
    int status = 0;

    for (size_t at = 0; at < self->model->cause_count && status == 0; at++) {
        const kvc_report_cause *cause = &self->model->causes[at];
        if (pattern != NULL && fnmatch(pattern, cause->id, 0) != 0)
            continue;
        self->matched++;
        status = keep(self, cause);
    }
    if (status == 0 && self->matched == 0) {
        kvc_complain(pattern != NULL ? "--id: no finding of the result has such an id" : "the result holds no finding");
        status = KVC_EXIT_USAGE;
    }
    return status;
}

int kvc_command_keep(const kvc_session *session)
{
    const kvc_options *options = session->options;
    kvc_report_model model = {0};
    keeping self = {.options = options, .model = &model};
    cJSON *result = NULL;
    char error[1024] = "";
    int status;

    if (kvc_result_read_file(options->word[0], &result, error, sizeof error) != 0)
        status = fail(error, KVC_EXIT_USAGE);
    else if (mkdir(options->report, 0777) != 0 && errno != EEXIST) {
        (void)snprintf(error, sizeof error, "%.300s: cannot be made: %s", options->report, strerror(errno));
        status = fail(error, KVC_EXIT_USAGE);
    } else if (kvc_report_model_make(result, &model) != 0)
        status = fail("not enough memory", KVC_EXIT_INTERNAL);
    else
        status = keep_all(&self);
    kvc_report_model_free(&model);
    cJSON_Delete(result);
    return status;
}
