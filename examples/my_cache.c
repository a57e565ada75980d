/*
 * A KV cache under test: the cache itself, and behind it the functions by which kvconform drives it. C11, and C++17.
 * docs/tutorial-own-cache.md explains it.
 */
#include <stdlib.h>
#include <string.h>

#include <kvconform/plugin.h>

/* ---- The cache. Put yours here. ---- */

/* Keys, or values: token after token, for one row and one head. */
typedef struct my_tensor {
    unsigned char *data;
    size_t length, room; /* in tokens */
    size_t width;        /* bytes of one token */
} my_tensor;

static void my_append(my_tensor *tensor, const void *input, size_t count)
{
    if (tensor->length + count > tensor->room) {
        tensor->room = 2 * (tensor->length + count);
        tensor->data = (unsigned char *)realloc(tensor->data, tensor->room * tensor->width);
    }
    memcpy(tensor->data + tensor->length * tensor->width, input, count * tensor->width);
    tensor->length += count;
}

static void my_crop(my_tensor *tensor, size_t removed)
{
    tensor->length = removed < tensor->length ? tensor->length - removed : 0;
}

/* ---- What kvconform calls. ---- */

struct kvc_cache {
    kvc_params params;
    my_tensor keys, values;
};

static const char *variant(size_t index)
{
    return index == 0 ? "Full" : NULL;
}

/* It keeps every token, as builtin:full does, but has one row, one head and fewer ops. */
static const char *spec(const char *name)
{
    (void)name;
    return "{\"like\": \"builtin:full\", \"ops\": [\"append\", \"crop\", \"reset\"],"
           " \"params\": {\"batch\": [1, 1], \"heads\": [1, 1]}}";
}

static kvc_cache *open_cache(const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    kvc_cache *cache = (kvc_cache *)calloc(1, sizeof *cache);

    (void)name, (void)parts, (void)layers;
    cache->params = *params;
    cache->keys.width = (size_t)params->key_dim * kvc_dtype_size((kvc_dtype)params->dtype);
    cache->values.width = (size_t)params->value_dim * kvc_dtype_size((kvc_dtype)params->dtype);
    return cache;
}

static void close_cache(kvc_cache *cache)
{
    free(cache->keys.data);
    free(cache->values.data);
    free(cache);
}

/* Makes the input by the value formula and appends it. `salt` is that of the tensor in the spec. */
static void append(const kvc_cache *cache, my_tensor *tensor, int salt, int channels, const int32_t *numbers, int32_t count)
{
    void *input = malloc((size_t)count * tensor->width);

    kvc_value_fill(&cache->params, salt, 1, 1, numbers, count, channels, input);
    my_append(tensor, input, (size_t)count);
    free(input);
}

static void show(const kvc_cache *cache, const my_tensor *tensor, int channels, const char *name, kvc_observation *out)
{
    const int64_t shape[] = {1, 1, (int64_t)tensor->length, channels};

    kvc_show(out, name, (kvc_dtype)cache->params.dtype, tensor->data, 4, shape);
}

static void run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    if (op->kind == KVC_APPEND) {
        append(cache, &cache->keys, 0, cache->params.key_dim, numbers, op->n);
        append(cache, &cache->values, 1, cache->params.value_dim, numbers, op->n);
    } else if (op->kind == KVC_CROP && op->n <= 0) {
        my_crop(&cache->keys, (size_t)-(int64_t)op->n);
        my_crop(&cache->values, (size_t)-(int64_t)op->n);
    } else if (op->kind == KVC_RESET) {
        my_crop(&cache->keys, cache->keys.length);
        my_crop(&cache->values, cache->values.length);
    } else {
        kvc_refuse(out, "", "this cache does not do that");
    }
    out->layers = 1;
    out->length[0] = (int64_t)cache->keys.length;
    show(cache, &cache->keys, cache->params.key_dim, "keys", out);
    show(cache, &cache->values, cache->params.value_dim, "values", out);
    if (op->kind == KVC_APPEND) { /* what the append gives to attention */
        show(cache, &cache->keys, cache->params.key_dim, "returned.keys", out);
        show(cache, &cache->values, cache->params.value_dim, "returned.values", out);
    }
}

const kvc_plugin *kvconform_plugin(void)
{
    static const kvc_plugin plugin = {KVC_PLUGIN_VERSION, sizeof plugin, "my_cache", "1.0", variant, spec, NULL, open_cache, run,
                                      close_cache, NULL, NULL, NULL, NULL, NULL};

    return &plugin;
}
