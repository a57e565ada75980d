/*
 * Runtimes side by side: for each kind of cache and each thing that a user may ask of it, what every subject answers, at its newest
 * version in the result.
 *
 * Made from `kind`, `coverage` and `findings` of the runs alone (docs/result.md). What is asked is what ops of several names do
 * (`crop`, `trim` and `seq_rm` roll back); of a rollback also how much of what is there, and whether tokens have left the window or
 * the buffer is full, and how it goes on behind it. A
 * finding in what a decode gives is put down to the op before it that the rule is about.
 */
#ifndef KVC_REPORTS_RUNTIMES_H
#define KVC_REPORTS_RUNTIMES_H

#include "reports/model.h"

/* From nothing to the worst: of several variants the worst answer counts. */
typedef enum kvc_answer {
    KVC_ANSWER_NO_KIND = 0, /* no such cache was run */
    KVC_ANSWER_NO_OP,       /* it was never asked: there is no such op */
    KVC_ANSWER_DONE,        /* done, exactly, each time */
    KVC_ANSWER_EITHER,      /* done exactly, or refused as the contract says */
    KVC_ANSWER_REFUSED,     /* refused each time, as the contract says */
    KVC_ANSWER_ERROR,       /* an error that nobody announced */
    KVC_ANSWER_WRONG,       /* a wrong state, and nobody told */
    KVC_ANSWER_DIED
} kvc_answer;

/* Bounds: what a result says beyond them is left out. */
enum { KVC_RUNTIMES_MAX = 8, KVC_RUNTIME_KINDS_MAX = 24, KVC_QUESTIONS_MAX = 48 };

typedef struct kvc_question {
    const char *op;  /* "append", "roll back", ..., or the op's own name */
    const char *ask; /* of a rollback: "nothing", "some or all", ..., "and go on"; otherwise "" */
    int past;        /* 1: once tokens had left the window, or the buffer was full */
} kvc_question;

typedef struct kvc_runtime_cell {
    kvc_answer answer;
    size_t asked; /* variants that were asked */
    size_t bad;   /* of these, those with findings about it */
} kvc_runtime_cell;

/* Points into the model, which must outlive it. */
typedef struct kvc_runtimes {
    size_t subjects;
    size_t version[KVC_RUNTIMES_MAX]; /* index into the model's versions: the newest that was run */
    size_t kinds;
    const char *kind[KVC_RUNTIME_KINDS_MAX];
    size_t variants[KVC_RUNTIME_KINDS_MAX][KVC_RUNTIMES_MAX]; /* that were run */
    size_t bad[KVC_RUNTIME_KINDS_MAX][KVC_RUNTIMES_MAX];      /* of these, those with findings */
    size_t questions;
    kvc_question question[KVC_QUESTIONS_MAX];
    kvc_runtime_cell cell[KVC_RUNTIME_KINDS_MAX][KVC_QUESTIONS_MAX][KVC_RUNTIMES_MAX];
} kvc_runtimes;

void kvc_runtimes_gather(const kvc_report_model *model, kvc_runtimes *out);
/* Findings of a law in caches of a kind of one runtime. */
size_t kvc_runtimes_broken(const kvc_report_model *model, const kvc_runtimes *runtimes, size_t kind, size_t subject, const char *law);
/* "append", "roll back by some or all, at or past the boundary". */
void kvc_words_add_question(kvc_text *text, const kvc_question *question);
/* A glyph and a word for an answer. Static. */
const char *kvc_answer_glyph(kvc_answer answer);
const char *kvc_answer_word(kvc_answer answer);

#endif
