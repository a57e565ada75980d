/*
 * Rows with lengths of their own: the token log of each row of a batch, for caches in which rows are padded so that they end
 * together. Where all rows get the same tokens, one log serves them all (reference/model.h); a spec says `"rows": "own"` for the
 * others. Sequences that share a pool need the same log for each; what they share is not looked at here.
 *
 * Tokens of a row are its own: what pads it is no part of the log, and padding cells may hold anything. Positions are those in the
 * row, from 0 on.
 */
#ifndef KVC_REFERENCE_ROWS_H
#define KVC_REFERENCE_ROWS_H

#include <stdint.h>

#include "reference/op.h"

struct kvc_model;
struct kvc_expectation;
struct kvc_plan;

/* Tokens of one row with numbers that follow each other and the same row of origin; it ends where the next begins. */
typedef struct kvc_row_run {
    int32_t begin;  /* index into the log of the row */
    int32_t number; /* of the first token */
    uint8_t origin; /* the row of the batch into which they were appended */
} kvc_row_run;

typedef struct kvc_row_log {
    int32_t length;  /* tokens that were appended and not removed, evicted ones included */
    int32_t held;    /* the oldest token that a windowed tensor must still hold */
    int32_t spare;   /* the oldest that it may still hold */
    int32_t in_call; /* tokens that the last call of the last append gave it */
    int32_t runs;
    kvc_row_run run[KVC_OPS_MAX]; /* an op adds one at most */
} kvc_row_log;

typedef struct kvc_rows {
    int alone;    /* it is one row that was taken out of its batch: nothing pads it */
    int uneven;   /* rows have or had different lengths: padding may have taken some of the room */
    int32_t call; /* tokens of the last call of the last append, padding included; 0 after any other op */
    int left;     /* the last append was padded on the left */
    int merged;   /* it was made of single caches */
    kvc_row_log row[KVC_ROWS_MAX];
} kvc_rows;

/* The number and the row of origin of token `index` of a row, below its length. */
static inline const kvc_row_run *kvc_row_run_of(const kvc_row_log *row, int32_t index)
{
    const kvc_row_run *run = row->run + row->runs - 1;

    while (run->begin > index)
        run--;
    return run;
}

/* Tokens that the newest one may see, itself included; 0: all. */
int32_t kvc_rows_window(const struct kvc_plan *plan);
/* All rows are empty. */
void kvc_rows_start(struct kvc_model *model);
/* As kvc_model_expect and kvc_model_commit, whose parts these are. The situation is set before. */
void kvc_rows_expect(const struct kvc_model *model, const kvc_op *op, struct kvc_expectation *out);
int kvc_rows_commit(struct kvc_model *model, const kvc_op *op);

#endif
