#include "harness/report_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/json.h"
#include "reports/result.h"

enum { PATH_SIZE = 4096 };

/* Removes a file that holds just these bytes and `end`. A link is left alone, whatever it leads to. */
static void remove_same(const char *path, const char *bytes, const char *end)
{
    size_t size = strlen(bytes);
    struct stat status;
    char *held = NULL;
    size_t length = 0;
    kvc_error ignored;

    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) || (uint64_t)status.st_size != size + strlen(end))
        return;
    if (kvc_file_read(path, size + strlen(end), &held, &length, &ignored) && length == size + strlen(end) &&
        memcmp(held, bytes, size) == 0 && memcmp(held + size, end, strlen(end)) == 0)
        (void)unlink(path);
    free(held);
}

/* The two files of a finding. Its id may be anyone's, so it must be a plain name. */
static void remove_finding(const char *folder, const cJSON *finding)
{
    static const char plain[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(finding, "id");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(finding, "case");
    const cJSON *script = cJSON_GetObjectItemCaseSensitive(finding, "script");
    char path[PATH_SIZE];
    char *text;
    int length;

    if (!cJSON_IsString(id) || id->valuestring[0] == '\0' || strspn(id->valuestring, plain) != strlen(id->valuestring) ||
        !cJSON_IsObject(item))
        return;
    length = snprintf(path, sizeof path, "%s/cases/%s.json", folder, id->valuestring);
    if (length < 0 || (size_t)length >= sizeof path)
        return;
    text = cJSON_Print(item);
    if (text != NULL)
        remove_same(path, text, "\n");
    cJSON_free(text);
    if (cJSON_IsString(script) && script->valuestring[0] != '\0') {
        length = snprintf(path, sizeof path, "%s/cases/%s.%s", folder, id->valuestring, kvc_script_suffix(finding));
        if (length > 0 && (size_t)length < sizeof path)
            remove_same(path, script->valuestring, "");
    }
}

void kvc_report_folder_sweep_result(const char *folder, const cJSON *result)
{
    const cJSON *run;
    const cJSON *finding;

    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(result, "runs")) {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(run, "findings"))
            remove_finding(folder, finding);
    }
}

void kvc_report_folder_sweep(const char *folder, const char *document)
{
    char path[PATH_SIZE];
    cJSON *result = NULL;
    kvc_error ignored;
    int length = snprintf(path, sizeof path, "%s/%s", folder, document);

    /* A result that was cut short lists what was written before. */
    if (length < 0 || (size_t)length >= sizeof path || !kvc_json_read_file(path, KVC_RESULT_BYTES_MAX, &result, &ignored))
        return;
    kvc_report_folder_sweep_result(folder, result);
    cJSON_Delete(result);
}
