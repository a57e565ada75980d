/*
 * A cache for the view `oldest`: the keys of the first `keep` tokens, in order, and no other. With -DFAULT it goes on filling up after
 * a crop where it stood before, so that the room of removed tokens is lost. docs/extending.md builds it.
 */
#include <stdlib.h>

#include <kvconform/plugin.h>

struct kvc_cache {
    kvc_params params;
    float *keys; /* [keep, key_dim] */
    int32_t held, length;
};

static const char *variant(size_t index)
{
    return index == 0 ? "Oldest" : NULL;
}

static const char *spec(const char *name)
{
    (void)name;
    return "{\"schema\": \"kvconform-spec/1\", \"subject\": \"oldest_cache\", \"variant\": \"Oldest\", \"title\": \"The first tokens\","
           " \"kind\": \"static window\", \"ops\": [\"append\", \"crop\", \"reset\"], \"dtypes\": [\"float32\"],"
           " \"params\": {\"batch\": [1, 1], \"heads\": [1, 1], \"key_dim\": [8, 9], \"keep\": [1, 4]},"
           " \"views\": [{\"name\": \"keys\", \"salt\": 0, \"law\": \"KEYS\", \"rule\": \"oldest\","
           " \"dims\": [\"batch\", \"heads\", \"tokens\", \"key_dim\"]}]}";
}

static kvc_cache *open_cache(const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    kvc_cache *cache = calloc(1, sizeof *cache);

    (void)name, (void)parts, (void)layers;
    if (cache == NULL)
        return NULL;
    cache->params = *params;
    cache->keys = calloc((size_t)params->keep * (size_t)params->key_dim, sizeof *cache->keys);
    if (cache->keys == NULL) {
        free(cache);
        return NULL;
    }
    return cache;
}

static void close_cache(kvc_cache *cache)
{
    free(cache->keys);
    free(cache);
}

static void run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    int32_t room = cache->params.keep - cache->held;

    if (op->kind == KVC_APPEND) {
        int32_t taken = op->n < room ? op->n : room;
        kvc_value_fill(&cache->params, 0, 1, 1, numbers, taken, cache->params.key_dim,
                       cache->keys + (size_t)cache->held * (size_t)cache->params.key_dim);
        cache->held += taken;
        cache->length += op->n;
    } else if (op->kind == KVC_RESET || (op->kind == KVC_CROP && op->n <= 0)) {
        int64_t left = op->kind == KVC_RESET ? 0 : (int64_t)cache->length + op->n;
        cache->length = left > 0 ? (int32_t)left : 0;
#ifndef FAULT
        if (cache->held > cache->length)
#else
        if (cache->length == 0)
#endif
            cache->held = cache->length;
    } else {
        kvc_refuse(out, "", "this cache does not do that");
    }
    out->layers = 1;
    out->length[0] = cache->length;
    kvc_show(out, "keys", KVC_FLOAT32, cache->keys, 4, (const int64_t[]){1, 1, cache->held, cache->params.key_dim});
}

const kvc_plugin *kvconform_plugin(void)
{
    static const kvc_plugin plugin = {.version = KVC_PLUGIN_VERSION, .size = sizeof plugin, .subject = "oldest_cache",
                                      .subject_version = "1.0", .variant = variant, .spec = spec, .open = open_cache, .run = run,
                                      .close = close_cache};

    return &plugin;
}
