/*
 * Ops: their names, order and size. What an op is stands in the plugin interface.
 */
#ifndef KVC_REFERENCE_OP_H
#define KVC_REFERENCE_OP_H

#include <stddef.h>
#include <stdint.h>

#include "kvconform/plugin.h"

enum { KVC_OP_KINDS = 31, KVC_OPS_MAX = 64, KVC_COUNT_MAX = 255 };

const char *kvc_op_name(kvc_op_kind kind);
/*
 * The arguments of an op in the order in which they are written, one letter each: `n`, `r` for a list of rows or of numbers of tokens for rows, `s` for the sequence, `o` for the
 * other one, `b` and `e` for begin and end. "" for an op that stands alone.
 */
const char *kvc_op_arguments(kvc_op_kind kind);
/* The argument of such a letter; not for `r`. */
int32_t kvc_op_argument(const kvc_op *op, char letter);
void kvc_op_set_argument(kvc_op *op, char letter, int32_t value);
/* Least and greatest value of the argument of a letter; for `r` of each entry of the list. */
void kvc_op_bounds(kvc_op_kind kind, char letter, int32_t *low, int32_t *high);
/* A decode is written without its `begin` where that is 0. */
int kvc_op_omits(const kvc_op *op, char letter);
int kvc_op_has_number(kvc_op_kind kind);
int kvc_op_has_rows(kvc_op_kind kind);
/* Whether its list says rows of a batch, or numbers of tokens for each of them. */
int kvc_op_names_rows(kvc_op_kind kind);
int kvc_op_has_counts(kvc_op_kind kind);
/* Tokens of an op on several sequences or on rows with lengths of their own. */
int32_t kvc_op_tokens_of_rows(const kvc_op *op);
/* How many token numbers it uses up; of rows those that get fewer tokens get the first of them. */
static inline int32_t kvc_op_tokens(const kvc_op *op)
{
    return op->kind == KVC_APPEND ? op->n : op->kind < KVC_DECODE ? 0 : kvc_op_tokens_of_rows(op);
}
/* Rows of a cache of `rows` rows after the op; 0 when such a cache has no such op. */
int32_t kvc_op_rows_after(const kvc_op *op, int32_t rows);
/* Whether it is an op on a cache that holds several sequences. */
static inline int kvc_op_is_of_sequences(int kind)
{
    return kind >= KVC_DECODE && kind <= KVC_SEQ_RESTORE;
}
/* Whether the op puts the whole cache elsewhere and must leave it as it was: offload, prefetch, copy, pickle, ... */
static inline int kvc_op_moves_cache(kvc_op_kind kind)
{
    return kind == KVC_OFFLOAD || kind == KVC_PREFETCH || kind == KVC_COPY || kind == KVC_PICKLE || kind == KVC_SAVE_FILE ||
           kind == KVC_FROM_STATE || kind == KVC_QUANTIZE;
}
/* Whether the op removes the newest tokens: a crop, whose negative argument removes, or a trim, whose positive one does. */
static inline int kvc_op_is_rollback(int kind)
{
    return kind == KVC_CROP || kind == KVC_TRIM;
}
/* The argument of a crop or trim as a crop has it: negative to remove tokens. */
static inline int32_t kvc_op_as_crop(const kvc_op *op)
{
    return op->kind != KVC_TRIM ? op->n : op->n == INT32_MIN ? INT32_MAX : -op->n;
}
/* Returns 1 and sets *kind, or 0 for an unknown name. */
int kvc_op_parse_name(const char *name, kvc_op_kind *kind);
/* Fixed order of ops: <0, 0, >0. The last tie-break of the size of a case. */
int kvc_op_compare(const kvc_op *a, const kvc_op *b);
/* What the op adds to the size of a case: |n|, the tokens of all rows, or 1 for an op without either; 2 for an early initialisation and an append of nothing. */
int64_t kvc_op_weight(const kvc_op *op);
/* Size order of sequences: number of ops, then the sum of weights, then the ops in their fixed order. */
int kvc_ops_compare(const kvc_op *a, size_t a_count, const kvc_op *b, size_t b_count);
/* Writes `append 3` or `reorder [1, 0]`; returns the length as snprintf does. */
int kvc_op_format(const kvc_op *op, char *buffer, size_t size);

#endif
