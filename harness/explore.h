/*
 * Exploring one variant: rounds of sequences, and the findings that come of them.
 */
#ifndef KVC_HARNESS_EXPLORE_H
#define KVC_HARNESS_EXPLORE_H

#include "harness/guide.h"
#include "harness/until.h"

enum { KVC_FINDINGS_MAX = 200 };

struct kvc_exploration;

typedef struct kvc_explore_options {
    uint64_t first;     /* number of the first sequence: a portion begins anywhere, and knows nothing of those before it */
    uint64_t sequences; /* how many to run */
    int64_t milliseconds; /* ends after the round in which it passes; 0: no bound */
    kvc_until *until; /* ends after the round in which enough was covered; NULL: no bound */
    int scripts; /* ask the adapter for stand-alone programs */
    uint64_t deaths; /* gives the variant up after the round in which its process has ended more often; 0: no bound */
    kvc_guide *guide; /* goes on where it says, and keeps what reaches something new; NULL: from the first sequence, and nothing is kept */
    void (*save)(void *context, const struct kvc_exploration *exploration); /* with a guide: there is something new, and it is finished */
    int (*is_known)(void *context, const kvc_finding *finding); /* not to be proved: it is known what it is; may be NULL */
    void *context; /* of both */
    const kvc_finding *const *known; /* what is known of the variant before: failures that it covers are counted for it */
    int knowns;
} kvc_explore_options;

typedef struct kvc_exploration {
    uint64_t sequences; /* that were run: unless it was interrupted the same number runs the same again */
    uint64_t ops;
    uint64_t exhaustive; /* sequences of the exhaustive stage among them */
    int exhaustive_size; /* longest length of which all are among them and those before them */
    int64_t milliseconds;
    int lost; /* kinds of failure that found no room */
    int interrupted;
    uint64_t deaths; /* how often the process ended, when the variant was given up for that; otherwise 0 */
    kvc_coverage coverage;
    int findings;
    kvc_finding *finding; /* owned, KVC_FINDINGS_MAX places */
} kvc_exploration;

/*
 * Runs a variant that was chosen for bench->crew. What was found stands in *out whatever is returned; free it with
 * kvc_exploration_clear.
 */
kvc_crew_result kvc_explore(const kvc_bench *bench, kvc_generator *generator, const kvc_explore_options *options,
                            kvc_exploration *out, kvc_error *error);
void kvc_exploration_clear(kvc_exploration *out);
/* One of its own, in which nothing was explored: its tables take megabytes, which no stack has. NULL when memory is short. */
kvc_exploration *kvc_exploration_open(void);
void kvc_exploration_close(kvc_exploration *exploration); /* may be NULL */

#endif
