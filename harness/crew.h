/*
 * The crew: the worker processes of one target. A worker that crashes, stands still or swells is ended, the op that did it becomes
 * a failure of law ALIVE, and a new worker goes on.
 */
#ifndef KVC_HARNESS_CREW_H
#define KVC_HARNESS_CREW_H

#include <signal.h>

#include "harness/worker.h"

enum { KVC_JOBS_MAX = 256 };

typedef struct kvc_crew_options {
    kvc_catalogue *catalogue; /* to which the subject's hello adds what it brings */
    kvc_subject_access access;
    int jobs;
    int stall_ms;          /* a worker that begins no op for so long stands still */
    uint64_t memory_limit; /* bytes that a worker with a plugin may hold */
    uint64_t growth_limit; /* bytes that one sequence may add to it */
    const kvc_corpus *corpus; /* that guides the workers, in shared memory; NULL: none */
    const volatile sig_atomic_t *stop;   /* becomes non-zero to give up; may be NULL */
    void (*progress)(void *context, uint64_t sequences); /* called now and then; may be NULL */
    void *context;
} kvc_crew_options;

typedef enum kvc_crew_result {
    KVC_CREW_DONE = 0,
    KVC_CREW_STOPPED, /* *stop was set */
    KVC_CREW_FAILED   /* *error says what */
} kvc_crew_result;

typedef struct kvc_crew kvc_crew;

/* Starts the workers; all begin to start their subject. NULL with *error set. */
kvc_crew *kvc_crew_open(const kvc_crew_options *options, kvc_error *error);
/* Whom to tell how far a range is, from now on. */
void kvc_crew_watch(kvc_crew *crew, void (*progress)(void *context, uint64_t sequences), void *context);
/* Ends all processes. */
void kvc_crew_close(kvc_crew *crew);
/* Makes the limit for standing still ten times shorter, once a hang is known to be one; or whole again. */
void kvc_crew_hurry(kvc_crew *crew, int hurry);
/* After KVC_CREW_FAILED: whether the subject says that it has no such cache. */
int kvc_crew_is_absent(const kvc_crew *crew);
/* The first worker's hello; belongs to the crew. */
kvc_crew_result kvc_crew_hello(kvc_crew *crew, const cJSON **hello, kvc_error *error);
/* Chooses a variant for all workers. `generator` is the main process's own of the same choice and must live until the next. */
kvc_crew_result kvc_crew_choose(kvc_crew *crew, const kvc_selection *selection, kvc_generator *generator,
                                kvc_error *error);
/* Runs sequences start to end - 1; failures, coverage and counts are added to what is given. */
kvc_crew_result kvc_crew_range(kvc_crew *crew, uint64_t start, uint64_t end, const kvc_exclusions *exclusions,
                               kvc_tally *tally, kvc_coverage *coverage, uint64_t *ops, kvc_error *error);
/* Sequences begun of a range that did not end well. */
uint64_t kvc_crew_begun(const kvc_crew *crew);
/* Evaluates at most KVC_EVALUATE_MAX cases: failed[i] and failure[i] say what came of sequence[i]. */
kvc_crew_result kvc_crew_evaluate(kvc_crew *crew, const kvc_params *params, const kvc_sequence *sequence, int count,
                                  uint8_t *failed, kvc_failure *failure, kvc_error *error);
/*
 * What the workers have told of the last range, or of the cases evaluated last: of worker number `at`, NULL behind the last of them.
 * Only with a corpus.
 */
const kvc_feedback *kvc_crew_feedback(const kvc_crew *crew, int at);
/* Whether evaluated cases are collected as sequences of a range are: all their features are told, and their ops counted. */
void kvc_crew_collect_cases(kvc_crew *crew, int collect);
/* Adds to `coverage` and `ops` what the cases evaluated since then have counted. */
void kvc_crew_count_cases(kvc_crew *crew, kvc_coverage *coverage, uint64_t *ops);
/* Cases evaluated since the last choice that ended the subject's process. */
uint64_t kvc_crew_deaths(const kvc_crew *crew);
/* Detail of a case as JSON text, "" when it did not fail; belongs to the crew until the next call. */
kvc_crew_result kvc_crew_detail(kvc_crew *crew, const kvc_params *params, const kvc_sequence *sequence,
                                const char **json, kvc_error *error);
/*
 * All cache classes of the subject's installation, a list of names, or a JSON null when the subject does not offer to look for
 * them. The caller frees *classes.
 */
kvc_crew_result kvc_crew_classes(kvc_crew *crew, cJSON **classes, kvc_error *error);
/* What the cache of a whole model is made of, or a JSON null when the subject does not say. The caller frees *layers. */
kvc_crew_result kvc_crew_layers(kvc_crew *crew, const char *request, cJSON **layers, kvc_error *error);
/* Stand-alone program for a request; belongs to the crew until the next call. */
kvc_crew_result kvc_crew_script(kvc_crew *crew, const char *request, const char **script, kvc_error *error);

#endif
