#include "model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* GGUF 3: a header, pairs of key and value, descriptions of tensors, then their data in places that are multiples of 32. */
enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_ALIGNMENT = 32 };
enum { TENSORS_MAX = 64, NAME_MAX = 48, LAYERS_MAX = 4, FEED_FORWARD = 64, HEADS = 2, KERNEL = 3, STATE = 8 };

/* What a tensor is filled with. */
enum { WEIGHT = 0, EMBEDDING, NORM, BIAS, DECAY };

typedef struct tensor {
    char name[NAME_MAX];
    int fill;
    uint64_t columns; /* the first dimension of GGUF: what lies side by side */
    uint64_t rows;    /* 0: one dimension only */
    uint64_t offset;
} tensor;

typedef struct writer {
    FILE *file;
    const char *architecture;
    int keys;
    int counting; /* keys are counted, not written */
    int tensors;
    tensor tensor[TENSORS_MAX];
    uint64_t data; /* bytes of all tensors */
} writer;

static void put(writer *self, const void *bytes, size_t size)
{
    if (!self->counting)
        (void)fwrite(bytes, 1, size, self->file);
}

static void put_u32(writer *self, uint32_t number)
{
    put(self, &number, sizeof number);
}

static void put_u64(writer *self, uint64_t number)
{
    put(self, &number, sizeof number);
}

static void put_text(writer *self, const char *text)
{
    put_u64(self, strlen(text));
    put(self, text, strlen(text));
}

/* A key: `general.NAME` and `tokenizer.NAME` as they are, all others behind the name of the architecture. */
static void put_key(writer *self, const char *name, uint32_t type)
{
    char key[96];
    int whole = strncmp(name, "general.", 8) == 0 || strncmp(name, "tokenizer.", 10) == 0;

    (void)snprintf(key, sizeof key, "%s%s%s", whole ? "" : self->architecture, whole ? "" : ".", name);
    put_text(self, key);
    put_u32(self, type);
    self->keys += self->counting;
}

static void set_number(writer *self, const char *name, uint32_t number)
{
    put_key(self, name, GGUF_U32);
    put_u32(self, number);
}

static void set_real(writer *self, const char *name, float number)
{
    put_key(self, name, GGUF_F32);
    put(self, &number, sizeof number);
}

static void set_text(writer *self, const char *name, const char *text)
{
    put_key(self, name, GGUF_STRING);
    put_text(self, text);
}

static void set_numbers(writer *self, const char *name, const int32_t *numbers, uint64_t count)
{
    put_key(self, name, GGUF_ARRAY);
    put_u32(self, GGUF_I32);
    put_u64(self, count);
    put(self, numbers, (size_t)count * sizeof *numbers);
}

static void add(writer *self, int layer, const char *name, int fill, uint64_t columns, uint64_t rows)
{
    tensor *next = &self->tensor[self->tensors++];
    uint64_t size = columns * (rows > 0 ? rows : 1) * sizeof(float);

    if (layer < 0)
        (void)snprintf(next->name, sizeof next->name, "%s", name);
    else
        (void)snprintf(next->name, sizeof next->name, "blk.%d.%s", layer, name);
    next->fill = fill;
    next->columns = columns;
    next->rows = rows;
    next->offset = self->data;
    self->data += (size + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
}

static void add_attention(writer *self, int layer)
{
    uint64_t width = KVC_MODEL_WIDTH;

    add(self, layer, "attn_q.weight", WEIGHT, width, width);
    add(self, layer, "attn_k.weight", WEIGHT, width, width);
    add(self, layer, "attn_v.weight", WEIGHT, width, width);
    add(self, layer, "attn_output.weight", WEIGHT, width, width);
}

static void add_feed_forward(writer *self, int layer, int norm)
{
    uint64_t width = KVC_MODEL_WIDTH;

    if (norm)
        add(self, layer, "ffn_norm.weight", NORM, width, 0);
    add(self, layer, "ffn_gate.weight", WEIGHT, width, FEED_FORWARD);
    add(self, layer, "ffn_down.weight", WEIGHT, FEED_FORWARD, width);
    add(self, layer, "ffn_up.weight", WEIGHT, width, FEED_FORWARD);
}

static void add_mamba(writer *self, int layer, int norms)
{
    uint64_t width = KVC_MODEL_WIDTH;
    uint64_t inner = 2 * width;
    uint64_t rank = 2;

    add(self, layer, "ssm_in.weight", WEIGHT, width, 2 * inner);
    add(self, layer, "ssm_conv1d.weight", WEIGHT, KERNEL + 1, inner);
    add(self, layer, "ssm_conv1d.bias", BIAS, inner, 0);
    add(self, layer, "ssm_x.weight", WEIGHT, inner, rank + 2 * STATE);
    add(self, layer, "ssm_dt.weight", WEIGHT, rank, inner);
    add(self, layer, "ssm_dt.bias", BIAS, inner, 0);
    add(self, layer, "ssm_a", DECAY, STATE, inner);
    add(self, layer, "ssm_d", NORM, inner, 0);
    add(self, layer, "ssm_out.weight", WEIGHT, inner, width);
    if (norms) {
        add(self, layer, "ssm_dt_norm.weight", NORM, rank, 0);
        add(self, layer, "ssm_b_norm.weight", NORM, STATE, 0);
        add(self, layer, "ssm_c_norm.weight", NORM, STATE, 0);
    }
}

static void add_lfm2(writer *self, int layer, int attention)
{
    uint64_t width = KVC_MODEL_WIDTH;

    if (attention) {
        add_attention(self, layer);
        add(self, layer, "attn_q_norm.weight", NORM, width / HEADS, 0);
        add(self, layer, "attn_k_norm.weight", NORM, width / HEADS, 0);
    } else {
        add(self, layer, "shortconv.conv.weight", WEIGHT, KERNEL, width);
        add(self, layer, "shortconv.in_proj.weight", WEIGHT, width, 3 * width);
        add(self, layer, "shortconv.out_proj.weight", WEIGHT, width, width);
    }
}

static int layers_of(kvc_model_kind kind)
{
    static const int layers[] = {2, 1, 4, 2, 4, 4, 4};

    return layers[kind];
}

static int is_hybrid(kvc_model_kind kind)
{
    return kind == KVC_MODEL_HYBRID || kind == KVC_MODEL_HYBRID_WINDOW || kind == KVC_MODEL_HYBRID_MAMBA;
}

static void put_keys(writer *self, kvc_model_kind kind, int window)
{
    /* The first layer is one with attention, for its values depend on the token alone: they say which token a cell holds. */
    static const int32_t heads[LAYERS_MAX] = {HEADS, 0, HEADS, 0};
    int mamba = kind == KVC_MODEL_RECURRENT || kind == KVC_MODEL_HYBRID_MAMBA;

    set_text(self, "general.architecture", self->architecture);
    set_text(self, "tokenizer.ggml.model", "none");
    set_number(self, "vocab_size", KVC_MODEL_VOCABULARY);
    set_number(self, "context_length", 4096);
    set_number(self, "embedding_length", KVC_MODEL_WIDTH);
    set_number(self, "block_count", (uint32_t)layers_of(kind));
    set_number(self, "feed_forward_length", kind == KVC_MODEL_RECURRENT ? 0 : FEED_FORWARD);
    set_number(self, "attention.head_count", kind == KVC_MODEL_RECURRENT ? 0 : HEADS);
    if (is_hybrid(kind))
        set_numbers(self, "attention.head_count_kv", heads, (uint64_t)layers_of(kind));
    else if (kind != KVC_MODEL_RECURRENT)
        set_number(self, "attention.head_count_kv", HEADS);
    if (kind == KVC_MODEL_WINDOW)
        set_real(self, "attention.layer_norm_epsilon", 1e-5f);
    else
        set_real(self, "attention.layer_norm_rms_epsilon", 1e-5f);
    if (!mamba)
        set_number(self, "rope.dimension_count", KVC_MODEL_WIDTH / HEADS);
    if (kind == KVC_MODEL_WINDOW)
        set_real(self, "logit_scale", 1.0f);
    if (kind == KVC_MODEL_WINDOW || kind == KVC_MODEL_HYBRID_WINDOW)
        set_number(self, "attention.sliding_window", (uint32_t)window);
    if (kind == KVC_MODEL_HYBRID || kind == KVC_MODEL_HYBRID_WINDOW)
        set_number(self, "shortconv.l_cache", KERNEL);
    if (mamba) {
        set_number(self, "ssm.conv_kernel", KERNEL + 1);
        set_number(self, "ssm.inner_size", 2 * KVC_MODEL_WIDTH);
        set_number(self, "ssm.state_size", STATE);
        set_number(self, "ssm.time_step_rank", 2);
    }
}

static void add_tensors(writer *self, kvc_model_kind kind)
{
    int lfm2 = kind == KVC_MODEL_HYBRID || kind == KVC_MODEL_HYBRID_WINDOW;

    add(self, -1, "token_embd.weight", EMBEDDING, KVC_MODEL_WIDTH, KVC_MODEL_VOCABULARY);
    add(self, -1, lfm2 ? "token_embd_norm.weight" : "output_norm.weight", NORM, KVC_MODEL_WIDTH, 0);
    for (int layer = 0; layer < layers_of(kind); layer++) {
        add(self, layer, "attn_norm.weight", NORM, KVC_MODEL_WIDTH, 0);
        if (lfm2)
            add_lfm2(self, layer, layer % 2 == 0);
        else if (kind == KVC_MODEL_RECURRENT || (kind == KVC_MODEL_HYBRID_MAMBA && layer % 2 == 1))
            add_mamba(self, layer, kind == KVC_MODEL_HYBRID_MAMBA);
        else
            add_attention(self, layer);
        if (kind != KVC_MODEL_RECURRENT)
            add_feed_forward(self, layer, kind != KVC_MODEL_WINDOW);
    }
}

/* A number between -1 and 1 that depends on its place alone. */
static float noise(uint64_t place)
{
    uint64_t word = place + 0x9e3779b97f4a7c15u;

    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    word ^= word >> 31;
    return (float)(int32_t)(uint32_t)(word >> 32) / 2147483648.0f;
}

static void put_tensor(writer *self, const tensor *what, uint64_t number)
{
    uint64_t count = what->columns * (what->rows > 0 ? what->rows : 1);
    float scale = sqrtf(3.0f / (float)what->columns);
    static const char nothing[GGUF_ALIGNMENT] = {0};

    for (uint64_t at = 0; at < count; at++) {
        float random = noise((number + 1) * 0x100000001b3u + at * 0x9e3779b97f4a7c15u);
        float value = what->fill == WEIGHT      ? random * scale
                      : what->fill == EMBEDDING ? random
                      : what->fill == NORM      ? 1.0f + 0.1f * random
                      : what->fill == BIAS      ? 0.1f * random
                                                : -0.2f * (float)(at % what->columns + 1);
        put(self, &value, sizeof value);
    }
    put(self, nothing, (size_t)((GGUF_ALIGNMENT - count * sizeof(float) % GGUF_ALIGNMENT) % GGUF_ALIGNMENT));
}

int kvc_model_write(const char *path, kvc_model_kind kind, int window)
{
    static const char *const architectures[] = {"llama", "llama", "cohere2", "mamba", "lfm2", "lfm2", "jamba"};
    static const char nothing[GGUF_ALIGNMENT] = {0};
    writer self;
    long at;

    memset(&self, 0, sizeof self);
    self.architecture = architectures[kind];
    self.file = fopen(path, "wb");
    if (self.file == NULL)
        return 0;
    add_tensors(&self, kind);
    self.counting = 1;
    put_keys(&self, kind, window);
    self.counting = 0;
    put(&self, "GGUF", 4);
    put_u32(&self, 3);
    put_u64(&self, (uint64_t)self.tensors);
    put_u64(&self, (uint64_t)self.keys);
    put_keys(&self, kind, window);
    for (int number = 0; number < self.tensors; number++) {
        const tensor *what = &self.tensor[number];
        put_text(&self, what->name);
        put_u32(&self, what->rows > 0 ? 2 : 1);
        put_u64(&self, what->columns);
        if (what->rows > 0)
            put_u64(&self, what->rows);
        put_u32(&self, 0); /* float32 */
        put_u64(&self, what->offset);
    }
    at = ftell(self.file);
    put(&self, nothing, (size_t)((GGUF_ALIGNMENT - at % GGUF_ALIGNMENT) % GGUF_ALIGNMENT));
    for (int number = 0; number < self.tensors; number++)
        put_tensor(&self, &self.tensor[number], (uint64_t)number);
    at = ferror(self.file);
    return fclose(self.file) == 0 && at == 0;
}
