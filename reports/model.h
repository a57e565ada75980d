/*
 * One view of a checked result, or of a merged one, for all report writers: what was run where, and the findings of one cause put
 * together.
 *
 * A row is a variant of a subject, a column a version of it, a cell what came of both. A merged document (reports/merge.h) has
 * them in order; a plain result has them in the order in which they were run.
 */
#ifndef KVC_REPORTS_MODEL_H
#define KVC_REPORTS_MODEL_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "reports/text.h"

/* From what says least to what says most: the status of a cell is the greatest of its runs. */
typedef enum kvc_status {
    KVC_STATUS_ABSENT = 0,
    KVC_STATUS_NOT_RUN,
    KVC_STATUS_NOT_COVERED,
    KVC_STATUS_CONFORMS,
    KVC_STATUS_FINDINGS
} kvc_status;
enum { KVC_STATUSES = 5 };

#define KVC_NONE SIZE_MAX

/* One entry of `runs`. */
typedef struct kvc_report_run {
    const cJSON *json;
    const cJSON *result; /* the result that it stood in: command, seed, profile, ... */
    kvc_status status;
    size_t version; /* index into `versions` */
    size_t row;     /* index into `rows` */
    size_t cell;    /* index into `cells` */
    size_t next;    /* the next run of that cell, or KVC_NONE */
} kvc_report_run;

/* One subject at one version, or a target that could not say so. */
typedef struct kvc_report_version {
    const char *subject, *version; /* in the result; `version` may be "" */
    size_t subject_index;          /* index into `subjects` */
    size_t ordinal;                /* among the versions of that subject, from 0 */
    size_t first;                  /* index into `runs` of its first run */
    int was_run;                   /* 1: something was run of it */
    int whole_not_run;             /* 1: the version as a whole could not be run */
} kvc_report_version;

typedef struct kvc_report_subject {
    const char *name;
    size_t versions;
    size_t rows, whole_rows, models; /* rows, and those of them that are targets as a whole, or whole models */
} kvc_report_subject;

/* One variant of one subject. */
typedef struct kvc_report_row {
    const char *subject, *variant; /* `variant` may be "": what could not be run has no name */
    const char *target;
    int is_model; /* 1: a whole model (reports/models.h) */
    int is_whole; /* 1: no class but a target that could not be run: its variant is a pattern, or "" */
    size_t subject_index;
    size_t first_cell, last_cell; /* its cells */
    size_t first_cause, causes;   /* `causes[first_cause]` and the next `causes` */
} kvc_report_row;

/* One variant at one version. */
typedef struct kvc_report_cell {
    size_t row, version;
    kvc_status status;
    size_t first_run, last_run;
    size_t next;     /* the next cell of the row, or KVC_NONE */
    size_t findings; /* different ones */
} kvc_report_cell;

/* One finding of one run. */
typedef struct kvc_report_finding {
    const cJSON *json;
    size_t run;   /* index into `runs` */
    size_t cause; /* index into `causes` */
    size_t next;  /* the next finding of that cause, or KVC_NONE */
} kvc_report_finding;

/* A finding over all versions: the same subject, variant and id. Sorted by row, law and id. */
typedef struct kvc_report_cause {
    const char *id, *law;
    size_t row;
    size_t first;      /* index into `findings` */
    size_t shown;      /* the finding whose case is shown: the newest version's */
    size_t same_ids;   /* causes before this one that have the same id in another row */
    uint64_t failures; /* of all runs */
} kvc_report_cause;

/* A finding of a whole model follows from a fault of a layer. Sorted by subject, variant and id of that fault. */
typedef struct kvc_report_link {
    const char *variant, *law, *id; /* of the layer's fault */
    size_t subject;                 /* index into `subjects` */
    size_t model;                   /* the model's finding: index into `causes` */
    size_t layer;                   /* the same of the layer's, or KVC_NONE: it is not in these results */
} kvc_report_link;

/* Points into the result, which must outlive it. */
typedef struct kvc_report_model {
    const cJSON *json;
    const cJSON **results; /* headers: of a plain result itself */
    size_t result_count;
    kvc_report_run *runs;
    size_t run_count;
    kvc_report_subject *subjects;
    size_t subject_count;
    kvc_report_version *versions;
    size_t version_count;
    kvc_report_row *rows;
    size_t row_count;
    kvc_report_cell *cells;
    size_t cell_count;
    kvc_report_finding *findings;
    size_t finding_count;
    kvc_report_cause *causes;
    size_t cause_count;
    kvc_report_link *links;
    size_t link_count;
    size_t status_count[KVC_STATUSES]; /* of cells */
    size_t rows_run, rows_bad;         /* rows that were run in some version, and those with findings */
    size_t versions_run;               /* versions in which something was run */
    uint64_t sequences;
    uint64_t ops;
    double seconds;
} kvc_report_model;

/* From a checked document. Returns 0, or -1 without memory; *out is to be freed in both cases. */
int kvc_report_model_make(const cJSON *json, kvc_report_model *out);
void kvc_report_model_free(kvc_report_model *model);

/* 1 for a row of the matrix: a target that could not be run has none of its own where its subject has classes. */
int kvc_report_model_is_shown(const kvc_report_model *model, size_t row);
/* The cell of a row at a version, or NULL where nothing is known. */
const kvc_report_cell *kvc_report_model_cell(const kvc_report_model *model, size_t row, size_t version);
/* 1 if the cause was found at that version. */
int kvc_report_model_affects(const kvc_report_model *model, size_t cause, size_t version);
/* A text that all results have in common, such as `seed` or `profile`, or "". */
const char *kvc_report_model_common(const kvc_report_model *model, const char *field);
/* 1 for runs that were made: the others have no counts. */
int kvc_report_was_run(kvc_status status);
/* Rank of a law among all that a result may name, for sorting: unknown ones come last. */
size_t kvc_report_law_rank(const char *law);

/* Fields of a checked result: a string, "" where there is none; a number, 0 where there is none; a truth. */
const char *kvc_json_string(const cJSON *object, const char *name);
double kvc_json_number(const cJSON *object, const char *name);
int kvc_json_true(const cJSON *object, const char *name);

#endif
