/*
 * The command line.
 */
#ifndef KVC_HARNESS_OPTIONS_H
#define KVC_HARNESS_OPTIONS_H

#include <stdint.h>

#include "harness/generator.h"

/* Exit statuses, as documented in --help and the manual. */
enum {
    KVC_EXIT_CONFORMS = 0,
    KVC_EXIT_FINDINGS = 1,
    KVC_EXIT_USAGE = 2,
    KVC_EXIT_NOT_RUN = 3,
    KVC_EXIT_INTERNAL = 4,
    KVC_EXIT_INTERRUPTED = 130
};

enum { KVC_BUDGET_STANDARD = 10000, KVC_SEED_STANDARD = 1, KVC_CORPORA_MAX = 32, KVC_SHARDS_MAX = 100000 };
#define KVC_SEQUENCES_MAX (UINT64_MAX / 4)

typedef enum kvc_verb { KVC_VERB_RUN = 0, KVC_VERB_MATRIX, KVC_VERB_REPLAY, KVC_VERB_REPORT, KVC_VERB_DIFF, KVC_VERB_GATE, KVC_VERB_BASELINE, KVC_VERB_BISECT, KVC_VERB_KEEP, KVC_VERB_SMOKE, KVC_VERB_FUZZ, KVC_VERB_NEW, KVC_VERB_LIST, KVC_VERB_HELP, KVC_VERB_VERSION } kvc_verb;

/* Points into argv; owns only the list of words. */
typedef struct kvc_options {
    kvc_verb verb;
    const char **word; /* targets, case files, what to list; owned */
    int words;
    const char *python;
    const char *contract;
    const char *variant; /* glob for exec: targets */
    const char *init;    /* python: targets: what the class is made with, JSON */
    const char *spec;    /* python: targets: file that says what the class keeps and how it is called */
    const char *like;    /* python: targets, new: a kind of cache */
    const char *target;  /* replay: run the cases on this one */
    const char *report;  /* folder */
    const char *json;    /* file or "-" */
    const char *baseline; /* gate, baseline: file */
    const char *cases;    /* gate, baseline: folder of cases that are tried first */
    const char *id;       /* keep: pattern */
    const char *corpus[KVC_CORPORA_MAX]; /* fuzz: folders with sequences; kept is the first */
    int corpora;
    int minimise; /* fuzz: only make the corpus smaller */
    int trace;    /* fuzz: ask an adapter which lines of its subject were run */
    int endless;  /* fuzz: until it is stopped; `milliseconds` is a part of that then */
    const char *git;      /* bisect: a checkout */
    const char *reason;   /* baseline: why findings are accepted */
    const char *address;
    const char *expires;
    int add;          /* baseline: accept what is new */
    int remove_fixed; /* baseline: drop what happens no more */
    int explore;      /* gate: new sequences, which decide nothing */
    const char *markdown; /* diff: file or "-" */
    const char *versions; /* matrix: a list */
    uint64_t seed;
    uint64_t sequences;    /* per variant; KVC_SEQUENCES_MAX: only time bounds it */
    int64_t milliseconds;  /* per variant, 0: no bound */
    int64_t run_milliseconds; /* of the whole run, 0: no bound */
    int budget_given;
    uint64_t until_covered; /* ends when all was judged so many times; 0: no bound */
    uint64_t runs;         /* with as many seeds, one after the other */
    uint64_t portion;      /* sequences of a variant that are explored together */
    uint64_t shard;        /* this one, from 1 */
    uint64_t shards;       /* of so many; 0: the run is not divided */
    const char *const *beside; /* matrix: the targets of all its runs; no option of the command line */
    int beside_count;
    kvc_draws draws; /* the profile */
    int jobs;
    int timeout_ms; /* 0: the standard one */
    uint64_t memory_limit; /* bytes, 0: the standard one */
    int quiet;
    int resume;   /* run: variants that the result file has already are not run again */
    int progress; /* a pipe to tell how far a run is, 0 for none; no option of the command line */
} kvc_options;

/* Returns 1, or 0 with *error set: what, and what to do. Free with kvc_options_clear, also after a failure. */
int kvc_options_parse(int argc, char **argv, kvc_options *options, kvc_error *error);
void kvc_options_clear(kvc_options *options);
/* Whether a number of sequences bounds each variant. */
static inline int kvc_options_bounds_sequences(const kvc_options *options)
{
    return options->sequences < KVC_SEQUENCES_MAX;
}
/* Of two exit statuses the one that tells more: a finding outweighs what could not be run. */
int kvc_exit_worse(int a, int b);
/* Help of the whole program. */
const char *kvc_options_help(void);

#endif
