/*
 * What changed between two results: findings that are new, gone, changed or still there.
 *
 * Versions are compared in pairs: one that both results have with itself; otherwise a version of the new result with the
 * newest one of the old that is not newer, or with its only one. Findings are the same when variant and id are. A finding whose
 * variant was not run in the new result is unknown, never fixed.
 */
#ifndef KVC_REPORTS_DIFFERENCE_H
#define KVC_REPORTS_DIFFERENCE_H

#include "reports/model.h"

typedef enum kvc_change_kind {
    KVC_CHANGE_NEW = 0,
    KVC_CHANGE_FIXED,
    KVC_CHANGE_CHANGED,
    KVC_CHANGE_STILL,
    KVC_CHANGE_UNKNOWN
} kvc_change_kind;
enum { KVC_CHANGE_KINDS = 5 };

/* Points into the models. */
typedef struct kvc_change {
    kvc_change_kind kind;
    size_t pair;         /* index into `pairs` */
    const char *variant;
    const cJSON *before; /* the finding in the old result; NULL when new */
    const cJSON *after;  /* in the new result; NULL when fixed or unknown */
    const char *note;    /* "not run: REASON" for what is unknown, what the old result says for what is new; may be "" */
} kvc_change;

typedef struct kvc_change_pair {
    const kvc_report_version *before; /* NULL: the old result has nothing to compare with */
    const kvc_report_version *after;  /* NULL: the new result has no such version */
} kvc_change_pair;

typedef struct kvc_difference {
    kvc_change_pair *pair;
    size_t pairs;
    kvc_change *change; /* by kind, then pair, then variant, then id */
    size_t changes;
    size_t count[KVC_CHANGE_KINDS];
} kvc_difference;

/* Both models must outlive *out. Returns 0, or -1 without memory; *out is to be freed in both cases. */
int kvc_difference_make(const kvc_report_model *before, const kvc_report_model *after, kvc_difference *out);
void kvc_difference_free(kvc_difference *difference);

/* "new", "fixed", ... Static. */
const char *kvc_change_word(kvc_change_kind kind);
/* What about a changed finding is not as it was: `case, observed`; "" when nothing is. */
void kvc_change_add_fields(kvc_text *out, const kvc_change *change);

/* For a terminal, for a comment on a pull request, and as kvconform-diff/1. All return 0, or -1 without memory. */
int kvc_difference_text(const kvc_difference *difference, int colour, kvc_text *out);
int kvc_difference_markdown(const kvc_difference *difference, kvc_text *out);
/* NULL without memory. For the caller to free with cJSON_Delete. */
cJSON *kvc_difference_json(const kvc_difference *difference);

#endif
