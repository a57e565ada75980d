/*
 * What a mask lets each new token see.
 */
#ifndef KVC_REFERENCE_CHECK_SEEN_H
#define KVC_REFERENCE_CHECK_SEEN_H

#include "reference/check.h"

enum { KVC_SEEN_MAX = 4096 }; /* returned tokens; a wider mask is not judged */

/* Where a mask is wrong first. */
typedef struct kvc_seen_fault {
    int row;
    int query; /* of the tokens of the append, from 0 on */
} kvc_seen_fault;

/* The slot of the keys that the mask of `slot` speaks of, or -1. */
int kvc_seen_keys(const kvc_plan *plan, int slot);
/*
 * The mask of the last append, an int64 tensor [rows, new tokens, returned tokens] of 0 and 1, against the log; `keys` is what was
 * returned for the keys, NULL for nothing. KVC_SHORT: a token does not see what it must. KVC_LONG: it sees what it must not. Cells of
 * `keys` that hold no token of the log are left out: they are wrong by themselves.
 */
kvc_deviation kvc_check_seen(const kvc_model *model, int slot, const kvc_tensor *keys, const kvc_tensor *mask,
                             kvc_seen_fault *fault);
/* Whether the new token `query` of the last append must see (1), may see (0) or must not see (-1) the token `at` of the log. */
int kvc_seen_wanted(const kvc_model *model, int slot, int32_t query, int32_t at);
/* The token of the log that a returned cell of the keys holds for `row`, by its place in the log; -1 for none. */
int32_t kvc_seen_token(const kvc_model *model, int keys_slot, const kvc_tensor *keys, int64_t row, int64_t cell);
/* Whether the mask has the shape for these keys. */
int kvc_seen_fits(const kvc_model *model, int keys_slot, const kvc_tensor *keys, const kvc_tensor *mask);
/* Whether `query` sees `cell` in `row`, in a mask that fits. */
int kvc_seen_in(const kvc_tensor *mask, int64_t row, int64_t query, int64_t cell);

#endif
