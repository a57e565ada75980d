/*
 * What a portion says beside its findings, written by portion.c and read by portion_join.c.
 */
#ifndef KVC_HARNESS_PORTION_INTERNAL_H
#define KVC_HARNESS_PORTION_INTERNAL_H

#include "harness/finding.h"

enum { KVC_COVERAGE_ROW = 5 };

/* The numbers of a finding's `cause`. */
typedef enum kvc_cause_field {
    KVC_CAUSE_NAMED = 0, /* the law by which it is named */
    KVC_CAUSE_LAW,       /* the law as the judge named it */
    KVC_CAUSE_PLACE,
    KVC_CAUSE_DEVIATION,
    KVC_CAUSE_OP,
    KVC_CAUSE_NARROW,
    KVC_CAUSE_RULE,
    KVC_CAUSE_COMPLAINT,
    KVC_CAUSE_SITUATION,
    KVC_CAUSE_CALL,
    KVC_CAUSE_SHRUNK
} kvc_cause_field;
enum { KVC_CAUSE_FIELDS = 11 };

typedef struct kvc_cause_info {
    const char *name;
    int64_t minimum;
    int64_t maximum;
} kvc_cause_info;

extern const kvc_cause_info kvc_cause_fields[KVC_CAUSE_FIELDS];
int64_t kvc_cause_get(const kvc_finding *finding, kvc_cause_field field);
/* `value` lies within the limits of the field. */
void kvc_cause_set(kvc_finding *finding, kvc_cause_field field, int64_t value);

#endif
