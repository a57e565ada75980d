/*
 * What the tensors of a cache must hold, laid out and kept from op to op: an append adds to it, so that a check is one comparison
 * of memory, however many tokens, rows and heads there are.
 */
#ifndef KVC_REFERENCE_EXPECTED_H
#define KVC_REFERENCE_EXPECTED_H

#include "kvconform/plugin.h"
#include "reference/encoder.h"
#include "reference/view.h"

enum { KVC_EXPECTED_BYTES_MAX = 1 << 16 }; /* for one tensor */

/* The cells of one slot: [cell][row][head][channel]. */
typedef struct kvc_expected_cells {
    const uint8_t *want; /* the first cell: in `bytes`, or in a table of the encoder where the log is one run */
    uint8_t *bytes;      /* what was laid out; owned */
    size_t room;
    size_t stripe; /* bytes of one cell in all rows and heads */
    uint32_t changes; /* of the model, when it was looked at last */
    int32_t rows; /* 0: not of this plan */
    int32_t laid; /* so many cells from the first on are as they must be */
    kvc_cell_kind kind;
    kvc_encoded *table; /* NULL: there are too many channels */
    const kvc_striped *striped; /* what the table has of so many rows and heads; NULL: nothing */
    int salt;
    int channels;
    kvc_dtype dtype;
    kvc_encoding encoding;
    int heads;
    kvc_tensor tensor; /* one that lies in the same way; only type, shape and strides are set */
    int one_is_dense; /* a tensor of one cell without gaps lies in the same way too */
    /* Of a folded state: what was laid. */
    int32_t fold[KVC_ROWS_MAX];
    uint8_t fold_row[KVC_ROWS_MAX];
} kvc_expected_cells;

/* Belongs to one model. */
typedef struct kvc_expected {
    kvc_encoder *encoder;
    kvc_expected_cells slot[KVC_SLOTS_MAX];
} kvc_expected;

/* Returns NULL when memory is short. */
kvc_expected *kvc_expected_open(void);
void kvc_expected_close(kvc_expected *expected);
/* The model follows another plan from now on. */
void kvc_expected_forget(kvc_expected *expected);
/* What kvc_expected_find does when not all is laid. */
kvc_expected_cells *kvc_expected_lay(kvc_expected *expected, const kvc_model *model, int slot, kvc_cell_kind kind,
                                     int32_t end);
/* The same for tokens of a log that only became longer. */
kvc_expected_cells *kvc_expected_go_on(kvc_expected *expected, const kvc_model *model, int slot, int32_t end);
/* kvc_expected_find for tokens, `kept` are the slot's: asked for each tensor that is shown, so it is part of whoever asks. */
static inline __attribute__((always_inline)) kvc_expected_cells *kvc_expected_tokens(kvc_expected *expected, kvc_expected_cells *kept,
                                                                                    const kvc_model *model, int slot, int32_t end)
{
    if (kept->rows != model->rows || kept->kind != KVC_CELL_TOKEN)
        return kvc_expected_lay(expected, model, slot, KVC_CELL_TOKEN, end);
    if (model->runs == 1 && model->run->ordered && kept->striped != NULL && end <= model->length) {
        int32_t number = model->run->number;
        /* Most often all are worked out that are needed. */
        const uint8_t *stripes = number + end <= kept->striped->filled
                                     ? kept->striped->bytes + (size_t)number * kept->stripe
                                     : kvc_encoded_stripes(expected->encoder, kept->table, number, end, kept->rows, kept->heads);
        if (stripes != NULL) {
            kept->want = stripes;
            return kept;
        }
    }
    if (kept->changes != model->changes) {
        int32_t intact = kept->changes + 1 == model->changes ? model->intact : 0;
        kept->laid = kept->laid < intact ? kept->laid : intact;
        kept->changes = model->changes;
    }
    kept->want = kept->bytes;
    return kept->laid >= end ? kept : kvc_expected_go_on(expected, model, slot, end);
}
/*
 * The cells of a slot of this kind, from the first of the log (its first block, constant, or the one state) to number `end`; the
 * first is `want`, the distance from one to the next `stripe`. NULL when they would be too large or memory is short. Valid until the next call; the
 * caller may set the size of the tokens' axis of `tensor`.
 */
static inline kvc_expected_cells *kvc_expected_find(kvc_expected *expected, const kvc_model *model, int slot,
                                                    kvc_cell_kind kind, int32_t end)
{
    return kind == KVC_CELL_TOKEN ? kvc_expected_tokens(expected, &expected->slot[slot], model, slot, end)
                                  : kvc_expected_lay(expected, model, slot, kind, end);
}

#endif
