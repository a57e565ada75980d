/*
 * A case: a sequence with everything that is needed to run it again, `kvconform-case/1`.
 */
#ifndef KVC_HARNESS_CASE_H
#define KVC_HARNESS_CASE_H

#include <cjson/cJSON.h>

#include "harness/generator.h"

enum { KVC_CASE_FILE_MAX = 4 << 20 };

typedef struct kvc_case {
    char subject[KVC_SPEC_NAME_MAX];
    char version[64];                /* "" when the file names none */
    char variant[KVC_SPEC_NAME_MAX];
    char contract[64];               /* "" when the file names none */
    kvc_params params;
    kvc_sequence sequence;
} kvc_case;

/* The case as JSON; the caller frees it with cJSON_Delete. NULL when memory is short. `spec` is that of the variant. */
cJSON *kvc_case_print(const kvc_case *item, const kvc_spec *spec);
/* The parameters as a JSON object, those that the spec uses. */
cJSON *kvc_params_print(const kvc_params *params, const kvc_spec *spec);
cJSON *kvc_ops_print(const kvc_op *op, int count);
/* Reads and checks a case: every op must be possible where it stands. Returns 0 with *error set: file, field, expectation. */
int kvc_case_parse(const char *text, size_t length, const char *name, const kvc_catalogue *catalogue, kvc_case *item,
                   kvc_error *error);
int kvc_case_read(const char *path, const kvc_catalogue *catalogue, kvc_case *item, kvc_error *error);
/* Whether the ops can stand in this order: rows exist, nothing is unspecified. Returns 0 with *error set (may be NULL). */
int kvc_sequence_is_valid(const kvc_plan *plan, const kvc_sequence *sequence, kvc_error *error);

#endif
