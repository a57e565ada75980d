#include "harness/resume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/record.h"
#include "harness/shard.h"
#include "reports/model.h"
#include "reports/result.h"

static int is_text(const cJSON *object, const char *field, const char *text)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    return cJSON_IsString(item) && strcmp(item->valuestring, text) == 0;
}

/* Compares what a run of these options would write at its head. */
static int is_same_run(const char *path, const cJSON *earlier, const kvc_session *session, kvc_error *error)
{
    static const char *const fields[] = {"tool", "seed", "profile", "profile_file", "budget", "shard"};
    cJSON *now = kvc_record_start(session);
    int good = now != NULL;

    if (now == NULL)
        kvc_error_set(error, "not enough memory");
    for (size_t at = 0; good && at < sizeof fields / sizeof fields[0]; at++) {
        const cJSON *there = cJSON_GetObjectItemCaseSensitive(earlier, fields[at]);
        const cJSON *here = cJSON_GetObjectItemCaseSensitive(now, fields[at]);
        if ((there != NULL || here != NULL) && !cJSON_Compare(there, here, 1)) {
            kvc_error_set(error, "%.300s: made with another \"%s\"; go on with the same, or remove the file", path,
                          fields[at]);
            good = 0;
        }
    }
    cJSON_Delete(now);
    return good;
}

int kvc_resume_read(const char *path, const kvc_session *session, cJSON **earlier, kvc_error *error)
{
    *earlier = NULL;
    if (access(path, F_OK) != 0)
        return 1;
    if (session->options->shards > 0 ? !kvc_shard_read(path, 1, earlier, error)
                                     : kvc_result_read_unfinished(path, earlier, error->text, sizeof error->text) != 0)
        return 0;
    if (is_same_run(path, *earlier, session, error))
        return 1;
    cJSON_Delete(*earlier);
    *earlier = NULL;
    return 0;
}

int kvc_resume_is_complete(const cJSON *earlier)
{
    const cJSON *finished = cJSON_GetObjectItemCaseSensitive(earlier, "finished");
    const cJSON *entry;

    if (!cJSON_IsObject(finished) || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(finished, "interrupted")))
        return 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(earlier, "runs")) {
        if (is_text(entry, "status", "not run") ||
            (!is_text(entry, "reason", "") && (is_text(entry, "status", "conforms") || is_text(entry, "status", "findings"))))
            return 0;
    }
    return 1;
}

const cJSON *kvc_resume_find(const cJSON *earlier, const char *target, const char *version, const char *variant,
                             const char *contract)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(earlier, "runs")) {
        /* A reason says why the variant was not run to its end. */
        if (is_text(entry, "target", target) && is_text(entry, "version", version) && is_text(entry, "variant", variant) &&
            is_text(entry, "contract", contract) &&
            (is_text(entry, "status", "absent") ||
             (is_text(entry, "reason", "") && (is_text(entry, "status", "conforms") || is_text(entry, "status", "findings")))))
            return entry;
    }
    return NULL;
}

int kvc_resume_keep(cJSON *result, const cJSON *earlier)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(earlier, "runs")) {
        const char *target = kvc_json_string(entry, "target");
        const char *version = kvc_json_string(entry, "version");
        const char *variant = kvc_json_string(entry, "variant");
        const char *contract = kvc_json_string(entry, "contract");
        if (kvc_resume_find(earlier, target, version, variant, contract) == entry &&
            kvc_resume_find(result, target, version, variant, contract) == NULL &&
            !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(result, "runs"), cJSON_Duplicate(entry, 1)))
            return 0;
    }
    return 1;
}
