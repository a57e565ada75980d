/*
 * Several results in one: shards, versions and subjects become one document, `kvconform-merged/1`, from which every report is
 * made. What is in it depends on the results alone, never on their order or their file names. docs/result.md has the rules.
 */
#ifndef KVC_REPORTS_MERGE_H
#define KVC_REPORTS_MERGE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* A checked result, or a document that was merged before; `name` stands for it in errors. */
typedef struct kvc_merge_input {
    const char *name;
    const cJSON *json;
} kvc_merge_input;

/*
 * Makes the document. Returns 0, or -1 with one sentence in `error` that names file and field, what was expected and what to do:
 * the same run twice, the same run with another verdict, a class that is both there and absent, too many runs, no memory.
 * *out is for the caller to free with cJSON_Delete; NULL on failure.
 */
int kvc_merge(const kvc_merge_input *inputs, size_t count, cJSON **out, char *error, size_t error_size);

#endif
