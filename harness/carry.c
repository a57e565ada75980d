#include "harness/carry.h"

#include <string.h>

#include "reports/model.h"

static int is_same_run(const cJSON *a, const cJSON *b)
{
    static const char *const field[] = {"target", "subject", "version", "variant"};

    for (size_t at = 0; at < sizeof field / sizeof field[0]; at++) {
        if (strcmp(kvc_json_string(a, field[at]), kvc_json_string(b, field[at])) != 0)
            return 0;
    }
    return 1;
}

static const cJSON *find_run(const cJSON *result, const cJSON *like)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(result, "runs")) {
        if (is_same_run(entry, like))
            return entry;
    }
    return NULL;
}

static int has_finding(const cJSON *findings, const cJSON *like)
{
    const cJSON *finding;

    cJSON_ArrayForEach(finding, findings) {
        if (strcmp(kvc_json_string(finding, "id"), kvc_json_string(like, "id")) == 0)
            return 1;
    }
    return 0;
}

int kvc_carry_findings(const cJSON *earlier, cJSON *entry)
{
    const cJSON *before = find_run(earlier, entry);
    cJSON *findings = cJSON_GetObjectItemCaseSensitive(entry, "findings");
    const cJSON *finding;
    int carried = 0;

    cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(before, "findings")) {
        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(finding, "flaky")) || has_finding(findings, finding))
            continue;
        if (!cJSON_AddItemToArray(findings, cJSON_Duplicate(finding, 1)))
            return -1;
        carried++;
    }
    if (carried > 0 && !cJSON_ReplaceItemInObjectCaseSensitive(entry, "status", cJSON_CreateString("findings")))
        return -1;
    return carried;
}

int kvc_carry_runs(const cJSON *earlier, cJSON *result)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(earlier, "runs")) {
        if (find_run(result, entry) == NULL &&
            !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(result, "runs"), cJSON_Duplicate(entry, 1)))
            return 0;
    }
    return 1;
}
