/*
 * The runner: performs sequences on a subject, judges every step, and counts. Lives in a worker process.
 */
#ifndef KVC_HARNESS_RUNNER_H
#define KVC_HARNESS_RUNNER_H

#include "harness/driver.h"
#include "harness/shared.h"

typedef struct kvc_runner kvc_runner;

typedef struct kvc_runner_options {
    const kvc_catalogue *catalogue;
    kvc_driver *driver;
    kvc_shared *shared;
    const kvc_corpus *corpus; /* that guides the generator; NULL: none */
    uint64_t growth_limit; /* bytes that one sequence may add to this process; 0: not looked at */
} kvc_runner_options;

/* Returns NULL when memory is short. */
kvc_runner *kvc_runner_open(const kvc_runner_options *options);
void kvc_runner_close(kvc_runner *runner);
/* Chooses what runs next. `variants` NULL-ended; all must live longer. Returns 0 with *error set. */
int kvc_runner_choose(kvc_runner *runner, const char *subject, const char *version, const char *variant,
                      const char *contract, const char *const *variants, uint64_t seed, const kvc_draws *draws,
                      kvc_error *error);
/* Runs sequences start to end - 1 and counts them into the shared memory. Returns 0 with *error set. */
int kvc_runner_range(kvc_runner *runner, uint64_t start, uint64_t end, kvc_error *error);
/* Evaluates the cases in the shared memory from number `from`. Returns 0 with *error set. */
int kvc_runner_evaluate(kvc_runner *runner, int from, kvc_error *error);
/* Runs the first case once more and writes what was expected and observed to the shared text, as JSON. */
int kvc_runner_detail(kvc_runner *runner, kvc_error *error);

#endif
