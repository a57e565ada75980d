/*
 * What a variant and its parts choose: a model, and how a context keeps what it reads.
 */
#ifndef KVC_ADAPTERS_LLAMA_PLUGIN_CHOICE_H
#define KVC_ADAPTERS_LLAMA_PLUGIN_CHOICE_H

#include <ggml.h>

#include "blob.h"
#include "model.h"

typedef struct kvc_llama_choice {
    kvc_model_kind model;
    kvc_memory_shape shape;
    int full_size; /* the window's cache is as large as the other */
    int tokens;    /* which cells say which token they hold: 1 those of attention, 2 those of the window, 0 none */
    int unified;
    int in_file;           /* states are saved to files, not to memory */
    int checkpoint;        /* states are checkpoints */
    enum ggml_type type;   /* of the cache */
    const char *type_word; /* the same, as in ggml.h */
    float near;            /* how far the values of one token may be apart in two cells: by the order of the arithmetic and a step of the type */
    const char *bound;     /* how far logits may be apart that are the same but for the order of the arithmetic */
} kvc_llama_choice;

/* Name of variant number `index`, or NULL past the last. */
const char *kvc_llama_variant(size_t index);
/* Returns 1, or 0 for an unknown variant. */
int kvc_llama_choose(const char *variant, const char *parts, kvc_llama_choice *choice);

#endif
