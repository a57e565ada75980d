/*
 * Portions: what the sequences of a variant are divided into when they are many. Each is explored by itself, knowing nothing of the
 * others, so that any machine may run any of them; what they brought is joined in their order. A run on one machine does the same
 * with all of them, which is why the parts of a run and the whole of it are the same.
 *
 * An open entry of `runs` (kvc_record_open) has the list `portions`; joining makes an entry of a result of it.
 */
#ifndef KVC_HARNESS_PORTION_H
#define KVC_HARNESS_PORTION_H

#include "harness/record.h"

enum {
    KVC_PORTION_STANDARD = 1000000, /* sequences: what is shallow is found again in each of them, which costs seconds */
    KVC_PORTIONS_MAX = 10000        /* of one variant: bounds what a shard's file holds */
};

/* How the exploring of a portion ended. */
typedef enum kvc_portion_end {
    KVC_PORTION_WHOLE = 0,   /* with its last sequence, or the round in which its time passed */
    KVC_PORTION_INTERRUPTED, /* by Ctrl-C */
    KVC_PORTION_GIVEN_UP,    /* the subject's process had ended too often */
    KVC_PORTION_FAILED,      /* the subject could not be run any more */
    KVC_PORTION_ABSENT,      /* the subject says that it has no such cache after all */
    KVC_PORTION_NOT_COVERED  /* it could not be run, which an exemption has said before */
} kvc_portion_end;

/* Adds what a portion brought; `why` says why it failed or is not there, otherwise "". Returns 0 when memory is short. */
int kvc_portion_add(cJSON *open, int64_t number, const kvc_record_run *run, const kvc_bench *bench,
                    const kvc_exploration *exploration, kvc_portion_end end, const char *why);
/* The portion of this number, or NULL. */
const cJSON *kvc_portion_find(const cJSON *open, int64_t number);
/* How it ended. */
kvc_portion_end kvc_portion_ended(const cJSON *portion);
/* Whether it came to its end, so that it need not be run again. */
int kvc_portion_is_done(const cJSON *portion);
/*
 * Makes an entry of a result of an open one and its portions in their order, up to the first that did not come to its end. One
 * without portions keeps the status and reason that it has. `open` may come from a file: returns NULL with *error set (a field and
 * what was expected). The caller frees the entry with cJSON_Delete.
 */
cJSON *kvc_portions_join(const cJSON *open, kvc_error *error);

#endif
