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

int kvc_llama_choose(const char *variant, const char *parts, kvc_llama_choice *choice)
{
    static const struct {
        const char *word;
        const char *type;
        const char *bound;
    } types[] = {{"q8_0", "GGML_TYPE_Q8_0", "0.05f"}, {"f16", "GGML_TYPE_F16", "0.02f"}, {"", "GGML_TYPE_F32", "0.001f"}};
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
    choice->type_word = types[type].type;
    choice->bound = types[type].bound;
    return 1;
}
