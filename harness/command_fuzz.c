/* kvconform fuzz */
#include <stdio.h>
#include <string.h>

#include "harness/commands.h"

enum { SLICE_MS = 60 * 1000, SLICE_MAX_MS = 16 * 60 * 1000 };

/*
 * Without a bound the variants take turns, each time for longer, until it is stopped. What a turn reached lies in the corpus and in the
 * report, from where the next goes on: so does a search that was killed.
 */
int kvc_command_fuzz(const kvc_session *session)
{
    kvc_options options = *session->options;
    kvc_session own = *session;
    char corpus[4096];
    int status;

    own.options = &options;
    if (options.report == NULL)
        options.report = "kvconform-fuzz";
    if (options.corpora == 0) {
        if ((size_t)snprintf(corpus, sizeof corpus, "%s/corpus", options.report) >= sizeof corpus) {
            kvc_complain("--report: path too long");
            return KVC_EXIT_USAGE;
        }
        options.corpus[options.corpora++] = corpus;
    }
    options.endless = options.endless && !options.minimise;
    if (options.endless) {
        options.milliseconds = SLICE_MS;
        options.sequences = KVC_SEQUENCES_MAX;
    }
    do {
        status = kvc_run_targets(&own, NULL);
        if (options.milliseconds < SLICE_MAX_MS)
            options.milliseconds *= 2;
    } while (options.endless && (status == KVC_EXIT_CONFORMS || status == KVC_EXIT_FINDINGS));
    return status;
}
