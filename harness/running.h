/*
 * A run while it goes on, private to command_run.c, run_variant.c and run_search.c.
 */
#ifndef KVC_HARNESS_RUNNING_H
#define KVC_HARNESS_RUNNING_H

#include "harness/crew.h"
#include "harness/model_findings.h"
#include "harness/portion.h"
#include "harness/progress.h"

/* The state of a whole run. */
typedef struct kvc_running {
    const kvc_session *session;
    cJSON *result;
    cJSON *shown;   /* at the end: the same, or of a shard what it found, in the form of a result; NULL: there is none */
    cJSON *earlier; /* the result to go on with, or NULL */
    kvc_progress progress;
    uint64_t units; /* portions of all variants so far: of them a shard has every so many */
    int64_t began_ms;
    int64_t next_save_ms; /* not before then, but at the end of a variant */
    int targets_left;  /* with the one that runs */
    int variants_left; /* of that target, with the one that runs */
    int ran; /* variants that conform or have findings, here or on another shard */
    int findings;
    int not_run;
    int not_covered;
    int internal;
    int interrupted;
    int summarised_elsewhere; /* the caller takes the result and says what came of it */
    kvc_layer_links *links; /* of the target that runs, once it has run a whole model; otherwise NULL */
    kvc_corpus *corpus; /* fuzz: what guides the workers; otherwise NULL */
    const char *corpus_folder; /* fuzz: where it is kept */
    int swept; /* the report folder holds nothing of an earlier run any more */
} kvc_running;

/* Tells an internal error, which ends the run. */
void kvc_running_fail(kvc_running *self, const char *error);
/* The first thing of this run that comes to the report folder takes the place of what an earlier one left there. */
void kvc_running_sweep(kvc_running *self);
/* Adds what the earlier result has and this run has not come to yet. Returns 0 when memory is short. */
int kvc_running_keep(const kvc_running *self, cJSON *result);
/*
 * What was found so far is on disk after every variant: a crash or a power cut loses one variant at most, of a shard one portion, and
 * nothing of the earlier result.
 */
void kvc_running_save(kvc_running *self, const cJSON *entry);
/* Writes down what none of is run. */
void kvc_running_add(kvc_running *self, const kvc_record_run *run);
/* The same, for the reason that is given. */
void kvc_running_not_run(kvc_running *self, const kvc_record_run *run, const char *reason);
/* Why what comes after is not run any more. */
const char *kvc_running_broken_off(const kvc_running *self);
/* Sequences of one variant; for one that only time bounds as many as there may be. */
uint64_t kvc_running_sequences(const kvc_running *self, const kvc_spec *spec);
/*
 * One variant: explores it, or the portions of it that are this shard's, and writes down what came of it. What the earlier result has
 * of it is taken over.
 */
void kvc_running_variant(kvc_running *self, kvc_crew *crew, const kvc_spec *spec, kvc_record_run *run,
                         const kvc_contract *contract, const char *const *variants, int in_process);
/* The same for a search, which a corpus guides. */
void kvc_running_search(kvc_running *self, const kvc_bench *bench, kvc_generator *generator, const kvc_selection *selection,
                        kvc_record_run *run, uint64_t sequences);

#endif
