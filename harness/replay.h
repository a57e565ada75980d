/*
 * Running single cases again on a subject that is started once for as many as follow each other.
 */
#ifndef KVC_HARNESS_REPLAY_H
#define KVC_HARNESS_REPLAY_H

#include <cjson/cJSON.h>

#include "harness/case.h"
#include "harness/commands.h"
#include "harness/finding.h"

/* What came of a case. */
typedef struct kvc_replayed {
    const char *subject, *version; /* of the hello; live until another subject is started */
    kvc_case_outcome outcome;
    kvc_law law;    /* of KVC_CASE_BREAKS */
    char id[48];    /* of the finding that it shows; "" when it cannot be named */
    kvc_finding finding; /* that finding, without detail and script; only where it has an id */
    cJSON *detail;  /* of KVC_CASE_BREAKS: title, expected, observed; owned, may be NULL */
    kvc_error why;  /* why it is absent or impossible */
} kvc_replayed;

typedef struct kvc_replayer kvc_replayer;

/*
 * `jobs` is how many workers start each target: one is enough for cases, more are of use to those that the crew is lent to. NULL when memory
 * is short. Close with kvc_replayer_close, which ends the subject too.
 */
kvc_replayer *kvc_replayer_open(const kvc_session *session, int jobs);
void kvc_replayer_close(kvc_replayer *replayer);
/*
 * Starts a target unless it is the one that runs. Returns 0, or an exit status with *error set; the target that could not be started
 * last fails again at once, with an empty *error: it was told.
 */
int kvc_replayer_start(kvc_replayer *replayer, const char *target, kvc_error *error);
/* The hello of the subject that runs, or NULL. */
const cJSON *kvc_replayer_hello(const kvc_replayer *replayer);
/* The crew of a target if it is the one that runs, otherwise NULL. It stays the replayer's. */
kvc_crew *kvc_replayer_lend(const kvc_replayer *replayer, const char *target);
/* Runs a case on the subject that was started. Returns 0 with *out set, to be freed, or an exit status with *error set. */
int kvc_replayer_run(kvc_replayer *replayer, const kvc_case *item, kvc_replayed *out, kvc_error *error);
void kvc_replayed_clear(kvc_replayed *replayed);

#endif
