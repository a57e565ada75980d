/*
 * The main process's side of fuzzing: which sequences have reached something new, and where they are kept.
 *
 * In the folder of a variant lie its sequences; in `failing/` below it the first of each kind that failed, from before it was made smaller;
 * and `next`, the number of the sequence to go on with. All is written before anything else is done with it: whoever is killed loses the
 * round that runs.
 */
#ifndef KVC_HARNESS_GUIDE_H
#define KVC_HARNESS_GUIDE_H

#include "harness/corpus.h"
#include "harness/finding.h"

enum { KVC_GUIDE_FOLDERS_MAX = 32 };

typedef struct kvc_guide_options {
    kvc_corpus *corpus; /* that the crew was opened with */
    const char *folder; /* where it is kept, each variant in a folder of its own below */
    const char *const *more; /* folders to take sequences from: those of the variant below, or all in them */
    int mores;
    const char *cases; /* a folder of cases to run too; those that cannot be any more are left out */
    int minimise; /* keep only the fewest that reach the same */
} kvc_guide_options;

typedef struct kvc_guide kvc_guide;

/*
 * A guide for the variant that was chosen for bench->crew. Makes the folder and reads where to go on. Everything given must live longer. NULL
 * with *error set.
 */
kvc_guide *kvc_guide_open(const kvc_guide_options *options, const kvc_bench *bench, kvc_generator *generator, kvc_error *error);
void kvc_guide_close(kvc_guide *guide);
/* The first sequence that was not run yet, and ops that were until then. */
uint64_t kvc_guide_next(const kvc_guide *guide);
uint64_t kvc_guide_ops(const kvc_guide *guide);
/* How many sequences are kept, and how many were read to begin with. */
int kvc_guide_count(const kvc_guide *guide);
int kvc_guide_read(const kvc_guide *guide);
/*
 * Runs the sequences that are there already. What fails goes to `tally`; ops and situations are counted. With `minimise` the folder holds only
 * what is needed afterwards.
 */
kvc_crew_result kvc_guide_begin(kvc_guide *guide, kvc_tally *tally, kvc_coverage *coverage, uint64_t *ops, kvc_error *error);
/* Writes a sequence that failed in a way that was not met before. Returns 0 with *error set. */
int kvc_guide_failed(kvc_guide *guide, const kvc_tally_entry *entry, kvc_error *error);
/*
 * After a range that ended with sequence `next` - 1: takes what reached something new. `exclusions` are those of the range, `ops` those of all
 * ranges. Returns 0 with *error set.
 */
int kvc_guide_round(kvc_guide *guide, const kvc_exclusions *exclusions, const kvc_coverage *coverage, uint64_t next, uint64_t ops,
                    kvc_error *error);

#endif
