/*
 * A case: a sequence with everything that is needed to run it again, `kvconform-case/1`.
 */
#ifndef KVC_HARNESS_CASE_H
#define KVC_HARNESS_CASE_H

#include <cjson/cJSON.h>

#include "harness/generator.h"

enum { KVC_CASE_FILE_MAX = 4 << 20, KVC_CASE_EXPECTS_MAX = 32 };

/* What a case must show on one version of its subject. */
typedef enum kvc_case_outcome {
    KVC_CASE_CONFORMS = 0,
    KVC_CASE_BREAKS,    /* the law in `law` */
    KVC_CASE_ABSENT,    /* the version has no such class */
    KVC_CASE_IMPOSSIBLE /* the version has the class, but not an op or a parameter of the case */
} kvc_case_outcome;

typedef struct kvc_case_expect {
    char version[64]; /* "" for every version */
    kvc_case_outcome outcome;
    kvc_law law; /* of KVC_CASE_BREAKS */
} kvc_case_expect;

typedef struct kvc_case {
    char subject[KVC_SPEC_NAME_MAX];
    char version[64];                /* "" when the file names none */
    char variant[KVC_SPEC_NAME_MAX];
    char contract[64];               /* "" when the file names none */
    kvc_params params;
    kvc_sequence sequence;
    int expects; /* 0 for a case that says nothing of what it must show */
    kvc_case_expect expect[KVC_CASE_EXPECTS_MAX];
} kvc_case;

/* The case as JSON; the caller frees it with cJSON_Delete. NULL when memory is short. `spec` is that of the variant. */
cJSON *kvc_case_print(const kvc_case *item, const kvc_spec *spec);
/* The parameters as a JSON object, those that the spec uses. */
cJSON *kvc_params_print(const kvc_params *params, const kvc_spec *spec);
/* Sets the parameters that an object names, which may be NULL. Returns 0 with *error set: what the spec has not, or a value that is none. */
int kvc_params_read(const cJSON *json, const char *name, const kvc_spec *spec, kvc_params *params, kvc_error *error);
cJSON *kvc_ops_print(const kvc_op *op, int count);
/* Reads field `ops` of a case, at least one, without asking whether they can stand in this order. */
int kvc_ops_read(const cJSON *json, const char *name, kvc_sequence *out, kvc_error *error);
/* Reads and checks a case: every op must be possible where it stands. Returns 0 with *error set: file, field, expectation. */
int kvc_case_parse(const char *text, size_t length, const char *name, const kvc_catalogue *catalogue, kvc_case *item,
                   kvc_error *error);
int kvc_case_read(const char *path, const kvc_catalogue *catalogue, kvc_case *item, kvc_error *error);
/* What the case must show on this version, or NULL when it does not say. */
const kvc_case_expect *kvc_case_expected(const kvc_case *item, const char *version);
/* `conforms`, `absent`, `impossible` or the id of a law. */
const char *kvc_case_outcome_text(kvc_case_outcome outcome, kvc_law law);
/* Whether the ops can stand in this order: rows exist, nothing is unspecified. Returns 0 with *error set (may be NULL). */
int kvc_sequence_is_valid(const kvc_plan *plan, const kvc_sequence *sequence, kvc_error *error);

#endif
