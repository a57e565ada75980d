/*
 * Writing down what was run and found: the entries of a result, docs/result.md.
 */
#ifndef KVC_HARNESS_RECORD_H
#define KVC_HARNESS_RECORD_H

#include <cjson/cJSON.h>

#include "harness/commands.h"
#include "harness/explore.h"

/* An empty result of this session, without `finished`. NULL when memory is short. */
cJSON *kvc_record_start(const kvc_session *session);
/* The last thing that is written: a reader refuses a result without it. */
int kvc_record_finish(cJSON *result, int interrupted);

/* What is known of a run. */
typedef struct kvc_record_run {
    const char *target;
    const char *subject;
    const char *version;
    const char *variant;
    const char *contract; /* NULL: none */
    int assumed;
    const cJSON *environment; /* from the hello; NULL: none */
    const char *status;
    const char *reason; /* NULL: none */
    const cJSON *location; /* of the class, from the hello; NULL: not told */
    const char *scripts; /* how the name of a file with a script ends; NULL: py */
    const cJSON *assumptions; /* what was taken for granted, from the hello; NULL: nothing */
    const cJSON *untested;    /* what is not tested, likewise */
    const kvc_options *options; /* that the command which replays a case needs too */
} kvc_record_run;

/* What it is explored with. */
typedef struct kvc_record_explored {
    const kvc_bench *bench;
    kvc_generator *generator;
} kvc_record_explored;

/* Adds who answered for a target. Returns 0 when memory is short. */
int kvc_record_subject(cJSON *result, const char *target, const cJSON *hello);
/*
 * The head of an entry of `runs`, to which harness/portion.h adds what came of its sequences; `explored` is NULL when none are run.
 * NULL when memory is short; to be freed with cJSON_Delete.
 */
cJSON *kvc_record_open(const kvc_record_run *run, const kvc_record_explored *explored);
/* Adds to a finding `rule`, `source` and `basis`: what decides, for the layer and kind of cache that failed. */
void kvc_record_rule(cJSON *json, const kvc_bench *bench, const kvc_finding *finding);
/* One finding as JSON, with its case. */
cJSON *kvc_record_finding(const kvc_record_run *run, const kvc_bench *bench, const kvc_finding *finding);

#endif
