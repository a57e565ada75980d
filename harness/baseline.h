/*
 * The findings that a project knows and accepts, `kvconform-baseline/1` (docs/baseline.md). Read, judged, changed and written as a
 * whole; a file that is not right in every field is refused.
 */
#ifndef KVC_HARNESS_BASELINE_H
#define KVC_HARNESS_BASELINE_H

#include <cjson/cJSON.h>

#include "reference/error.h"
#include "reference/law.h"

#define KVC_BASELINE_SCHEMA "kvconform-baseline/1"
enum { KVC_BASELINE_ENTRIES_MAX = 10000, KVC_BASELINE_FILE_MAX = 64 << 20, KVC_BASELINE_TEXT_MAX = 2000 };

/* One accepted finding. Texts point into `json`. */
typedef struct kvc_baseline_entry {
    const char *id;
    const char *target;   /* pattern of SUBJECT:VARIANT */
    const char *from;     /* first and last version to which it applies; "" for no bound */
    const char *to;
    const char *dtype;    /* of the case's inputs, "" for any */
    const char *platform; /* pattern of `environment.platform`, "" for any */
    kvc_law law;
    const char *title;
    const char *reason;  /* why it is accepted; this or `address` is given */
    const char *address; /* where it is told upstream */
    const char *date;    /* YYYY-MM-DD, when it was accepted */
    const char *expires; /* the last day on which it counts, or "" */
    const cJSON *item;   /* kvconform-case/1 */
    cJSON *json;         /* the entry; owned by the baseline */
} kvc_baseline_entry;

typedef struct kvc_baseline {
    kvc_baseline_entry *entry; /* sorted by target, id, from */
    int entries;
} kvc_baseline;

/* Where a finding was met, for conditions. */
typedef struct kvc_baseline_place {
    const char *subject, *version, *variant, *platform, *dtype;
} kvc_baseline_place;

/*
 * Reads and checks a file. Returns 1, or 0 with *error set: file, entry, field, expectation. Doubled entries (same target, id and
 * overlapping versions), unknown fields and a wrong order are errors. Free with kvc_baseline_clear, also after a failure.
 */
int kvc_baseline_read(const char *path, kvc_baseline *baseline, kvc_error *error);
int kvc_baseline_parse(const char *text, size_t length, const char *name, kvc_baseline *baseline, kvc_error *error);
void kvc_baseline_clear(kvc_baseline *baseline);

/* Whether the entry speaks of this variant at all, and whether its conditions hold there. A dtype "" in `place` is any. */
int kvc_baseline_matches(const kvc_baseline_entry *entry, const kvc_baseline_place *place);
int kvc_baseline_applies(const kvc_baseline_entry *entry, const kvc_baseline_place *place);
/* The entry for a finding with this id met there, or NULL. */
kvc_baseline_entry *kvc_baseline_find(const kvc_baseline *baseline, const char *id, const kvc_baseline_place *place);
/* Whether its last day is over on the day `today` (YYYY-MM-DD). */
int kvc_baseline_expired(const kvc_baseline_entry *entry, const char *today);
/* A day as baselines write it. */
int kvc_baseline_is_day(const char *text);

/* What the person who accepts a finding says. */
typedef struct kvc_baseline_words {
    const char *reason, *address; /* one of them at least */
    const char *date;
    const char *expires; /* NULL: none */
    const char *from, *to; /* NULL: no bound */
} kvc_baseline_words;

/* Adds an entry for a finding of a result. Returns 1, or 0 with *error set. */
int kvc_baseline_add(kvc_baseline *baseline, const cJSON *finding, const kvc_baseline_words *words, kvc_error *error);
/* Takes entry number `at` out. */
void kvc_baseline_remove(kvc_baseline *baseline, int at);
/* Writes the file in one step, sorted, one entry after the other. Returns 1, or 0 with *error set. */
int kvc_baseline_write(const char *path, const kvc_baseline *baseline, kvc_error *error);

#endif
