/*
 * Tiny random models, written as GGUF files of a few hundred KiB: one for each kind of memory that llama.cpp has.
 *
 * This file and model.c need nothing but the C library: stand-alone programs take them along.
 */
#ifndef KVC_ADAPTERS_LLAMA_MODEL_H
#define KVC_ADAPTERS_LLAMA_MODEL_H

/* Token ids go from 0 to here, so that each token of a sequence can be told from all others. */
enum { KVC_MODEL_VOCABULARY = 512, KVC_MODEL_WIDTH = 64 };

/* How a model reads what came before. */
typedef enum kvc_model_kind {
    KVC_MODEL_FULL = 0,      /* two layers of full attention (architecture llama) */
    KVC_MODEL_ONE_LAYER,     /* one: what it holds of a token depends on nothing but the token and its position */
    KVC_MODEL_WINDOW,        /* three layers with a sliding window, one with full attention (cohere2) */
    KVC_MODEL_RECURRENT,     /* two recurrent layers (mamba) */
    KVC_MODEL_HYBRID,        /* attention and short convolutions (lfm2) */
    KVC_MODEL_HYBRID_WINDOW, /* the same, attention with a sliding window */
    KVC_MODEL_HYBRID_MAMBA   /* attention and mamba (jamba) */
} kvc_model_kind;

/*
 * Writes the model to `path`, the same bytes every time. `window` is the width of a sliding window in tokens; it counts for two kinds only.
 * Returns 1, or 0 when the file cannot be written.
 */
int kvc_model_write(const char *path, kvc_model_kind kind, int window);

#endif
