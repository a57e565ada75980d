#include "plugin_choice.h"

#include <string.h>

static const struct {
    const char *name;
    kvc_model_kind model;
    kvc_memory_shape shape;
    int full_size;
    int tokens;
} kinds[] = {
    {"full", KVC_MODEL_FULL, {1, 0, 0}, 0, 1},
    {"quantised", KVC_MODEL_FULL, {1, 0, 0}, 0, 1},
    {"window", KVC_MODEL_WINDOW, {1, 1, 0}, 0, 2},
    {"window_full_size", KVC_MODEL_WINDOW, {1, 1, 0}, 1, 2},
    {"recurrent", KVC_MODEL_RECURRENT, {0, 0, 2}, 0, 0},
    {"hybrid", KVC_MODEL_HYBRID, {1, 0, 2}, 0, 1},
    {"hybrid_snapshots", KVC_MODEL_HYBRID, {1, 0, 2}, 0, 1},
    {"hybrid_window", KVC_MODEL_HYBRID_WINDOW, {1, 1, 2}, 0, 2},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *kvc_llama_variant(size_t index)
{
    return index < KINDS ? kinds[index].name : NULL;
}

/* The type of the cache, by the first of these words that the parts hold. */
#define TYPE(word, type, bound, near) {word, type, #type, bound, near}
static const struct {
    const char *word;
    enum ggml_type type;
    const char *type_word;
    const char *bound;
    float near;
} types[] = {TYPE("q8_0", GGML_TYPE_Q8_0, "0.05f", 0.05f),   TYPE("q5_1", GGML_TYPE_Q5_1, "0.5f", 0.15f),
             TYPE("q5_0", GGML_TYPE_Q5_0, "0.5f", 0.2f),    TYPE("q4_1", GGML_TYPE_Q4_1, "0.5f", 0.35f),
             TYPE("q4_0", GGML_TYPE_Q4_0, "0.5f", 0.4f),    TYPE("iq4_nl", GGML_TYPE_IQ4_NL, "0.5f", 0.4f),
             TYPE("bf16", GGML_TYPE_BF16, "0.1f", 0.02f),   TYPE("f16", GGML_TYPE_F16, "0.02f", 4e-3f),
             TYPE("", GGML_TYPE_F32, "0.001f", 1e-4f)};

int kvc_llama_choose(const char *variant, const char *parts, kvc_llama_choice *choice)
{
    size_t at = 0;
    size_t type = 0;

    while (at < KINDS && strcmp(kinds[at].name, variant) != 0)
        at++;
    if (at == KINDS)
        return 0;
    while (strstr(parts, types[type].word) == NULL)
        type++;
    choice->model = strstr(parts, "one_layer") != NULL ? KVC_MODEL_ONE_LAYER
                    : strstr(parts, "mamba") != NULL   ? KVC_MODEL_HYBRID_MAMBA
                                                       : kinds[at].model;
    choice->shape = kinds[at].shape;
    choice->full_size = kinds[at].full_size;
    choice->tokens = kinds[at].tokens;
    choice->unified = strstr(parts, "split") == NULL;
    choice->in_file = strstr(parts, "file") != NULL;
    choice->checkpoint = strstr(parts, "checkpoint") != NULL;
    choice->type = types[type].type;
    choice->type_word = types[type].type_word;
    choice->bound = types[type].bound;
    choice->near = types[type].near;
    return 1;
}
