/*
 * Comparing what a cache shows with the logs of rows that have lengths of their own. Rows end together; cells left of a row's
 * tokens, and in what an append returns those right of them, pad it and may hold anything.
 */
#ifndef KVC_REFERENCE_ROWS_CHECK_H
#define KVC_REFERENCE_ROWS_CHECK_H

#include "reference/check.h"

/* What a row of a tensor must hold. */
typedef struct kvc_row_extent {
    int32_t first; /* tokens of the row's log from here on, */
    int32_t least; /* and maybe from here on, */
    int32_t end;   /* up to here */
    int32_t right; /* padding cells right of them */
    int as_set;    /* in any order */
    int whole;     /* nothing pads them */
    int skipped;   /* nothing is said of this row */
} kvc_row_extent;

void kvc_rows_stored(const kvc_model *model, int slot, int32_t row, kvc_row_extent *extent);
/* What the last call of the last append must have returned. 0 when it returns nothing for the slot. */
int kvc_rows_returned(const kvc_model *model, int slot, int32_t row, kvc_row_extent *extent);

/* What the tokens of a row fold to, oldest first. */
int32_t kvc_rows_fold(const kvc_row_log *log);

/* *row is set to the first row that is wrong. */
kvc_deviation kvc_rows_check_stored(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor,
                                    int32_t *row);
kvc_deviation kvc_rows_check_returned(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *tensor,
                                      int32_t *row);
/* A number that a batch says of itself (reference/views/numbers.c). NULL: not shown, and not judged. */
int kvc_rows_is_number(const kvc_model *model, int slot);
/* One number for each row: its tokens, which is the position of the next. NULL: not shown, and not judged. */
kvc_deviation kvc_rows_check_numbers(const kvc_model *model, const kvc_tensor *tensor, int32_t *row);

/*
 * How much pads each row, beside what is stored for `slot`: with its tokens it makes the whole width. Only views of every token say how many there are.
 */
kvc_deviation kvc_rows_check_padding(const kvc_model *model, int slot, const kvc_tensor *stored, const kvc_tensor *padding,
                                     int32_t *row);

/* Which tokens one query of the last call may see: those from `first` to `last` of its row. */
typedef struct kvc_row_query {
    int32_t row;
    int32_t query; /* its place in the mask */
    int32_t first;
    int32_t last;
} kvc_row_query;
/*
 * The mask of `slot`, [rows, queries, cells] with 1 where a query may see a cell, beside what was returned for the keys: each query
 * sees exactly the cells in which the tokens stand that it may see. *wrong is the first query that does not.
 */
kvc_deviation kvc_rows_check_mask(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_tensor *keys,
                                  const kvc_tensor *mask, kvc_row_query *wrong);
/* Whether a query sees a cell. The mask has the shape above. */
int kvc_rows_sees(const kvc_tensor *mask, int32_t row, int32_t query, int64_t cell);

#endif
