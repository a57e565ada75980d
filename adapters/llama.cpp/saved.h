/*
 * The state of a sequence, saved to memory or to a file, and restored as it is or damaged; docs/protocol.md says what each damage is.
 *
 * This file and saved.c need nothing but llama.cpp: stand-alone programs take them along.
 */
#ifndef KVC_ADAPTERS_LLAMA_SAVED_H
#define KVC_ADAPTERS_LLAMA_SAVED_H

#include <stddef.h>
#include <stdint.h>

#include <llama.h>

typedef struct kvc_saved {
    uint8_t *bytes; /* owned; NULL: nothing was saved */
    size_t size;
    int in_file;    /* they are those of a file, with a prompt */
    int checkpoint; /* only what cannot be gone back to is saved, and restored into the sequence that went on from there */
    int attention;  /* cells of attention come first in it */
    llama_pos last; /* largest position that was saved */
} kvc_saved;

/* Saves a sequence instead of what was saved before. Returns 1, or 0 when llama.cpp does not. */
int kvc_saved_take(kvc_saved *self, struct llama_context *context, llama_seq_id sequence);
/*
 * Restores it into a sequence, as a checkpoint with removal of what came behind it, damaged where `damage` is above 0. Returns 1, or 0 when llama.cpp
 * does not, or when another prompt comes out of a whole file than went into it.
 */
int kvc_saved_restore(const kvc_saved *self, struct llama_context *context, llama_seq_id sequence, int damage);
void kvc_saved_clear(kvc_saved *self);

#endif
