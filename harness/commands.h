/*
 * The verbs of the command line. Each returns an exit status of harness/options.h.
 */
#ifndef KVC_HARNESS_COMMANDS_H
#define KVC_HARNESS_COMMANDS_H

#include <signal.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "harness/options.h"

struct kvc_crew;
struct kvc_finding;

/* What is known of variants before a run. */
typedef struct kvc_known {
    /* Puts up to `most` findings of a variant into `out` and returns how many. */
    int (*of)(const void *context, const char *subject, const char *version, const char *variant, const struct kvc_finding **out, int most);
    /* Whether what a run has met is known, of the variant or of one of its layers (names with `+` between, or NULL). */
    int (*covers)(const void *context, const char *subject, const char *version, const char *variant, const char *layers,
                  const struct kvc_finding *met);
    /* The crew that has started a target, with as many workers as the options say: it stays the lender's. NULL: none has. */
    struct kvc_crew *(*lend)(const void *context, const char *target);
    const void *context;
} kvc_known;

/* Everything that a verb needs. */
typedef struct kvc_session {
    const kvc_options *options;
    int argc;
    char **argv;
    const char *data; /* folder */
    kvc_catalogue *catalogue;
    const volatile sig_atomic_t *stop; /* set by Ctrl-C */
    const kvc_known *known; /* or NULL */
} kvc_session;

int kvc_command_run(const kvc_session *session);
int kvc_command_gate(const kvc_session *session);
int kvc_command_baseline(const kvc_session *session);
int kvc_command_bisect(const kvc_session *session);
int kvc_command_keep(const kvc_session *session);
int kvc_command_matrix(const kvc_session *session);
int kvc_command_replay(const kvc_session *session);
int kvc_command_report(const kvc_session *session);
int kvc_command_diff(const kvc_session *session);
int kvc_command_fuzz(const kvc_session *session);
int kvc_command_smoke(const kvc_session *session);
int kvc_command_new(const kvc_session *session);
int kvc_command_list(const kvc_session *session);

/*
 * What `run` does, without the summary: *result, NULL on an early failure, is for the caller to free. Returns the exit status of
 * `run`.
 */
int kvc_run_targets(const kvc_session *session, cJSON **result);
/* The same for --runs: with several seeds, whose results are merged. */
int kvc_run_seeds(const kvc_session *session);

/* Writes `kvconform: TEXT` as one line to standard error, with nothing in it that a terminal would act on. */
void kvc_complain(const char *text);
/* Prints one line for a person, in which words of a subject act on no terminal: what they hold beside text is made visible. */
__attribute__((format(printf, 2, 3))) void kvc_tell(FILE *out, const char *format, ...);

#endif
