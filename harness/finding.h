/*
 * A finding: all failures with one cause, shown by one minimal case.
 */
#ifndef KVC_HARNESS_FINDING_H
#define KVC_HARNESS_FINDING_H

#include "harness/crew.h"

/* How often a minimal case is run before it is reported. */
enum { KVC_TRIES = 3 };

typedef struct kvc_finding {
    kvc_failure failure; /* of the minimal case, as the judge named it */
    kvc_law law;         /* with what the minimal case itself shows: CALL, RESET */
    uint32_t also;
    kvc_params params;
    kvc_sequence sequence; /* the minimal case; its last op fails */
    uint64_t failures;     /* sequences that failed for this cause */
    uint64_t first;        /* number of the first of them, from 0 */
    int proved;            /* every smaller sequence was run */
    uint64_t smaller_tried;
    int shrunk;            /* made as small as it goes */
    int given;             /* known before the run, from a case that is kept: neither made smaller nor proved again */
    int finished;          /* proved or given up, tried again and described */
    int flaky;             /* the minimal case did not fail in the same way each time */
    char tries[KVC_TRIES + 1][256]; /* what its runs showed, that which describes it last; "": there was none */
    char tensor[160];      /* "keys" or "keys of DynamicLayer", "length" ... */
    char wrong[200];       /* that of it which is part of the cause */
    char layer[KVC_SPEC_NAME_MAX]; /* of a container: the kind of the layer that it shows in; "" where none is told */
    char situation[200];
    char id[48];
    char *detail; /* JSON with expected, observed and title; owned */
    char *script; /* "" or a stand-alone program; owned */
    char *model;  /* of a whole model what is told of it besides, as JSON; NULL: nothing; owned */
    kvc_error no_script; /* why there is none; "" when there is */
} kvc_finding;

/* What findings are worked out with. Everything must live as long as it is used. */
typedef struct kvc_bench {
    kvc_crew *crew;
    const kvc_catalogue *catalogue;
    const kvc_contract *contract;
    const kvc_spec *spec;
    const char *variant;
    kvc_params smallest;
    uint64_t prove_limit; /* sequences that a proof may run */
    const kvc_exclusions *deadly; /* what is known to end a process that is slow to start, not to be tried; NULL: nothing */
} kvc_bench;

/* Makes the case smaller while it fails in the same way; then proves that nothing smaller does, or says that it could not. */
kvc_crew_result kvc_finding_shrink(const kvc_bench *bench, kvc_finding *finding, kvc_error *error);
kvc_crew_result kvc_finding_prove(const kvc_bench *bench, kvc_finding *finding, kvc_error *error);
/* Names it: law, tensor, situation, id. */
int kvc_finding_name(const kvc_bench *bench, kvc_finding *finding, kvc_error *error);
/* Whether `other` is the same fault as the already minimal `finding`, met in a longer way. */
int kvc_finding_covers(const kvc_finding *finding, const kvc_finding *other);
/* The order in which findings are told, for qsort: by law, then smaller cases first, then by id. */
int kvc_findings_compare(const void *left, const void *right);
void kvc_finding_clear(kvc_finding *finding);

#endif
