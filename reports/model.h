/*
 * One view of a checked result for all report writers: counts, and findings of the same cause put together.
 */
#ifndef KVC_REPORTS_MODEL_H
#define KVC_REPORTS_MODEL_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "reports/text.h"

typedef enum kvc_status {
    KVC_STATUS_CONFORMS = 0,
    KVC_STATUS_FINDINGS,
    KVC_STATUS_ABSENT,
    KVC_STATUS_NOT_COVERED,
    KVC_STATUS_NOT_RUN
} kvc_status;
enum { KVC_STATUSES = 5 };

/* One entry of `runs`. */
typedef struct kvc_report_run {
    const cJSON *json;
    kvc_status status;
    size_t version; /* index into `versions` */
    size_t first;   /* its findings are `findings[first]` and the next `findings` */
    size_t findings;
} kvc_report_run;

#define KVC_NO_FINDING SIZE_MAX

/* One subject at one version, or a target that could not say so. */
typedef struct kvc_report_version {
    const char *subject, *version; /* in the result; `version` may be "" */
    size_t first;                  /* index into `runs` of its first run */
} kvc_report_version;

/* One finding of one run. */
typedef struct kvc_report_finding {
    const cJSON *json;
    size_t run;    /* index into `runs` */
    size_t cause;  /* index of the first finding with the same subject, variant and id: itself, if that is this one */
    size_t next;   /* the next finding of that cause, or KVC_NO_FINDING */
    size_t number; /* of the cause, from 1, in the order of the result */
} kvc_report_finding;

/* Points into the result, which must outlive it. */
typedef struct kvc_report_model {
    const cJSON *result;
    kvc_report_run *runs;
    size_t run_count;
    kvc_report_version *versions; /* in the order of the result */
    size_t version_count;
    kvc_report_finding *findings;
    size_t finding_count;
    size_t causes;
    size_t status_count[KVC_STATUSES];
    uint64_t sequences;
    uint64_t ops;
    double seconds;
    const char *profile;
    const char *seed;
} kvc_report_model;

/* From a checked result. Returns 0, or -1 without memory; *out is to be freed in both cases. */
int kvc_model_make(const cJSON *result, kvc_report_model *out);
void kvc_model_free(kvc_report_model *model);

/* A mark and a word for a status: "✓" and "conforms". Static. */
const char *kvc_status_glyph(kvc_status status);
const char *kvc_status_word(kvc_status status);
/* The same for a severity of the result, with what it means: "wrong, without any error". */
const char *kvc_severity_glyph(const char *severity);
const char *kvc_severity_meaning(const char *severity);

/* Fields of a checked result: a string, "" where there is none; a number, 0 where there is none; a truth. */
const char *kvc_json_string(const cJSON *object, const char *name);
double kvc_json_number(const cJSON *object, const char *name);
int kvc_json_true(const cJSON *object, const char *name);

/* Plain text, which each writer must escape: */
/* `append 2`, `reorder [1, 0]`. */
void kvc_model_add_op(kvc_text *text, const cJSON *op);
/* `append 2, crop -3`. */
void kvc_model_add_ops(kvc_text *text, const cJSON *ops);
/* `batch=1, dtype=float32`. */
void kvc_model_add_table(kvc_text *text, const cJSON *table);
/* A number, word or list of a result: `3`, `nothing`, `1, 2`, `none` for null. */
void kvc_model_add_value(kvc_text *text, const cJSON *value);
/* How it is known that the case is minimal, one sentence. */
void kvc_model_add_minimal(kvc_text *text, const cJSON *finding);
/* `✗ 3 findings in 2 of 8 variants`, or `✓ No finding in 8 variants`, one line without the rest of the counts. */
void kvc_model_add_headline(kvc_text *text, const kvc_report_model *model);
/* `transformers 5.24.0`, or the subject alone. */
void kvc_model_add_version(kvc_text *text, const kvc_report_version *version);
/* `1 finding`, `2 findings`. */
void kvc_model_add_plural(kvc_text *text, uint64_t count, const char *one, const char *many);

#endif
