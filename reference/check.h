/*
 * Comparing a tensor with what its view says, and reading back which tokens it holds.
 */
#ifndef KVC_REFERENCE_CHECK_H
#define KVC_REFERENCE_CHECK_H

#include <string.h>

#include "reference/expected.h"

/* In what way an observation differs from what was expected. */
typedef enum kvc_deviation {
    KVC_AS_EXPECTED = 0,
    KVC_MISSING,      /* the tensor does not exist */
    KVC_WRONG_DTYPE,
    KVC_WRONG_SHAPE,  /* another axis than the tokens' */
    KVC_SHORT,        /* tokens are missing */
    KVC_LONG,         /* tokens too many, all of them still in the sequence */
    KVC_STALE,        /* tokens that were removed */
    KVC_WRONG_ORDER,
    KVC_WRONG_ROW,    /* tokens of another batch row */
    KVC_WRONG_HEAD,
    KVC_WRONG_VALUE,  /* elements that belong to no token */
    KVC_NEGATIVE,     /* a negative number */
    KVC_TOO_LOW,
    KVC_TOO_HIGH,
    KVC_NOT_REFUSED,  /* done, though it must be refused */
    KVC_REFUSED,      /* refused, though it must be done */
    KVC_WRONG_ERROR,  /* refused with an undocumented kind of error */
    KVC_CHANGED,      /* changed by an op that was refused */
    KVC_MOVED,        /* another address */
    KVC_WRITTEN,      /* an input or an earlier return was written to */
    KVC_DIFFERS,      /* two runs that must agree do not */
    KVC_RAISED,       /* a number that raises an error when the cache is asked for it */
    KVC_CRASHED,
    KVC_HUNG,
    KVC_SWELLED       /* passed its memory limit */
} kvc_deviation;
enum { KVC_DEVIATIONS = 25 };

/* "stale tokens" */
const char *kvc_deviation_text(kvc_deviation deviation);

/* Number of elements, or -1 for a shape that is not sane. */
int64_t kvc_tensor_elements(const kvc_tensor *tensor);
/* Whether its strides say where its elements lie: else they lie row by row, without gaps. */
static inline int kvc_tensor_is_strided(const kvc_tensor *tensor)
{
    return tensor->dims > 0 && tensor->stride[0] != 0;
}
/* Of one axis: 0 when both have the same size and the same distance from one element to the next. */
static inline int64_t kvc_axis_differs(const kvc_tensor *a, const kvc_tensor *b, int axis)
{
    return (a->shape[axis] ^ b->shape[axis]) | (a->stride[axis] ^ b->stride[axis]);
}
/*
 * Whether both have the same type and shape, and elements that lie alike; it may say no to what is the same. Number by number: what was
 * written a moment ago in small pieces is not ready to be read in large ones. One of them has sane dimensions.
 */
static inline int kvc_tensor_lies_as(const kvc_tensor *a, const kvc_tensor *b)
{
    int64_t differs = (a->dims ^ b->dims) | (a->dtype ^ b->dtype);

    if (differs != 0)
        return 0;
    /* Most tensors have four axes: those without a loop. */
    if (a->dims == 4)
        return (kvc_axis_differs(a, b, 0) | kvc_axis_differs(a, b, 1) | kvc_axis_differs(a, b, 2) | kvc_axis_differs(a, b, 3)) == 0;
    for (int axis = 0; axis < a->dims; axis++)
        differs |= kvc_axis_differs(a, b, axis);
    return differs == 0;
}
/* Whether it is an interval of cells, as many as there are, and nothing else. */
static inline int kvc_extent_is_plain(const kvc_extent *extent)
{
    return (extent->as_set | extent->zeros_left | extent->keep) == 0 && extent->width < 0;
}
/* Whether a tensor with strides holds what is expected from a plain extent, and lies as what was laid out does. */
static inline int kvc_check_plain(kvc_expected_cells *laid, const kvc_extent *extent, int tokens_axis, const kvc_tensor *tensor)
{
    int64_t width = tensor->shape[tokens_axis];

    laid->tensor.shape[tokens_axis] = width;
    if (!kvc_tensor_lies_as(tensor, &laid->tensor))
        return 0;
    if (width == 0)
        return extent->first_max >= extent->end;
    return extent->end - width >= extent->first_min &&
           extent->end - width <= extent->first_max &&
           memcmp(tensor->data, laid->want + (size_t)(extent->end - width) * laid->stripe, (size_t)width * laid->stripe) == 0;
}
/* The same for any extent of tokens, blocks, constants or a state; `tokens_axis` is -1 for a tensor without tokens. */
int kvc_check_laid(kvc_expected_cells *laid, const kvc_extent *extent, int tokens_axis, const kvc_tensor *tensor);
/* Where element `index`, counted row by row, lies: bytes from `data` on. The shape is sane and `index` below its elements. */
int64_t kvc_tensor_element(const kvc_tensor *tensor, int64_t index);
/* Writes all of its `elements` to `out`, row by row without gaps. */
void kvc_tensor_pack(const kvc_tensor *tensor, int64_t elements, void *out);
/* Compares; the result is exact, the kind of deviation is worked out only when there is one. */
kvc_deviation kvc_check_tensor(kvc_expected *expected, const kvc_model *model, int slot, const kvc_extent *extent,
                               const kvc_tensor *tensor);

/* The same, for what kvc_check_tensor cannot say at once. */
kvc_deviation kvc_check_at_length(kvc_encoder *encoder, const kvc_model *model, int slot, const kvc_extent *extent,
                                  const kvc_tensor *tensor);

/* One cell of a tensor, read back. */
typedef struct kvc_cell {
    int known; /* 1: token, row and head are set. 0: its elements belong to none. -1: all zero */
    int32_t token;
    int row;
    int head;
} kvc_cell;

/* Cells on the token axis (1 for a tensor without one); -1 when the tensor has not the slot's shape. */
int64_t kvc_check_width(const kvc_plan *plan, int slot, const kvc_tensor *tensor);
/* Whether all heads of a cell hold a token that came from row `origin`. The tensor has the slot's shape. */
int kvc_check_cell_is(kvc_encoder *encoder, const kvc_slot *slot, const kvc_tensor *tensor, int64_t row, int64_t cell,
                      int32_t number, int origin);
/* Reads the cell of `row` and `head`. The tensor has the slot's shape. */
void kvc_check_read(const kvc_plan *plan, int slot, const kvc_tensor *tensor, int64_t row, int64_t head, int64_t cell,
                    kvc_cell *out);

#endif
