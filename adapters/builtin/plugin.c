#include "adapters/builtin/builtin_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/builtin/ragged.h"

/* One block of the memory that a fault takes. */
typedef struct leaked_block {
    struct leaked_block *next;
} leaked_block;
/* Larger than what an allocator keeps for itself after it was given back, so that every op takes it anew. */
enum { LEAKED_SIZE = (size_t)40 << 20, PAGE_SIZE_LEAST = 4096 };

static const char *variant_name(size_t index) {
    const kvc_builtin_fault *table;
    size_t correct = 0;
    while (kvc_variant_name(correct) != NULL) {
        if (correct == index) {
            return kvc_variant_name(index);
        }
        correct++;
    }
    return index - correct < kvc_builtin_faults(&table) ? kvc_fault_variant(index - correct) : NULL;
}

/* Splits `VARIANT+FAULT`. Returns 1 and sets *fault and the length of the correct variant's name, or 0. */
static int parse_variant(const char *variant, size_t *length, kvc_fault *fault) {
    const kvc_builtin_fault *table;
    size_t faults = kvc_builtin_faults(&table);
    const char *plus = strchr(variant, '+');
    *fault = KVC_FAULT_NONE;
    *length = plus != NULL ? (size_t)(plus - variant) : strlen(variant);
    if (plus == NULL) {
        return 1;
    }
    for (size_t i = 0; i < faults; i++) {
        if (strcmp(kvc_fault_variant(i), variant) == 0) {
            *fault = kvc_fault_at(i);
            return 1;
        }
    }
    return 0;
}

static int32_t count_words(const char *words) {
    int32_t count = 1;
    for (const char *c = words; *c != '\0'; c++) {
        count += *c == '+';
    }
    return count;
}

static int params_fit(const kvc_params *params) {
    for (int i = 0; i < KVC_PARAMS; i++) {
        const kvc_param_info *info = &kvc_param_table()[i];
        int32_t value = kvc_param_get(params, i);
        if (value < info->minimum || value > info->maximum) {
            return 0;
        }
    }
    return 1;
}

static void free_leaked(kvc_cache *cache) {
    while (cache->leaked != NULL) {
        leaked_block *block = cache->leaked;
        cache->leaked = block->next;
        free(block);
    }
}

static void close_cache(kvc_cache *cache) {
    if (cache == NULL) {
        return;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        kvc_builtin_layer_close(&cache->layer[i]);
    }
    if (cache->inputs != NULL) {
        kvc_inputs_close(cache->inputs);
    }
    free(cache->inputs);
    kvc_watch_close(&cache->watch);
    kvc_builtin_close_originals(cache);
    kvc_ragged_close(cache->ragged);
    free_leaked(cache);
    free(cache);
}

static int renew_cache(kvc_cache *cache) {
    if (cache->ragged != NULL) {
        return kvc_ragged_renew(cache->ragged);
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        if (kvc_builtin_layer_renew(&cache->layer[i]) != 0) {
            return 0;
        }
    }
    cache->rows = cache->params.batch;
    cache->appends = 0;
    cache->zeros = 0;
    kvc_watch_renew(&cache->watch);
    kvc_builtin_renew_originals(cache);
    free_leaked(cache);
    return 1;
}

/* Opens layer after layer; `words` are the variants of the layers. Returns 0, or -1. */
static int open_layers(kvc_cache *cache, const char *words) {
    int32_t wanted = cache->layers;
    cache->layers = 0;
    for (int32_t i = 0; i < wanted; i++) {
        size_t length = strcspn(words, "+");
        const kvc_variant_info *info = kvc_variant_find(words, length);
        if (info == NULL) {
            return -1;
        }
        cache->layers++;
        if (kvc_builtin_layer_open(&cache->layer[i], info, &cache->params, cache->several ? i : -1, cache->fault,
                                   cache->inputs) != 0) {
            return -1;
        }
        words += length + (words[length] == '+');
    }
    return 0;
}

static int is_ragged(const char *variant, size_t length) {
    for (size_t i = 0; kvc_ragged_name(i) != NULL; i++) {
        if (strlen(kvc_ragged_name(i)) == length && memcmp(kvc_ragged_name(i), variant, length) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_several(const char *variant, size_t length) {
    return length == strlen("layers") && strncmp(variant, "layers", length) == 0;
}

/* Makes a cache without its layers, or NULL. *words are set to the variants of those. */
static kvc_cache *make_cache(const char *variant, const kvc_params *params, const char *layers, const char **words) {
    size_t length;
    kvc_fault fault;
    if (!params_fit(params) || !parse_variant(variant, &length, &fault)) {
        return NULL;
    }
    int several = is_several(variant, length);
    int ragged = is_ragged(variant, length);
    if (!several && !ragged && kvc_variant_find(variant, length) == NULL) {
        return NULL;
    }
    int32_t count = ragged ? 0 : several ? count_words(layers) : 1;
    if (count > KVC_LAYERS_MAX) {
        return NULL;
    }
    kvc_cache *cache = calloc(1, sizeof *cache + (size_t)count * sizeof cache->layer[0]);
    if (cache == NULL) {
        return NULL;
    }
    cache->params = *params;
    cache->fault = fault;
    cache->rows = params->batch;
    cache->layers = count;
    cache->several = several;
    *words = several ? layers : variant;
    if (ragged) {
        cache->ragged = kvc_ragged_open(variant, length, &cache->params, fault);
        if (cache->ragged == NULL) {
            free(cache);
            return NULL;
        }
    }
    return cache;
}

static kvc_cache *open_cache(const char *variant, const kvc_params *params, const char *parts, const char *layers) {
    const char *words;
    kvc_cache *cache = make_cache(variant, params, layers, &words);
    (void)parts;
    if (cache == NULL) {
        return NULL;
    }
    cache->inputs = calloc(1, sizeof *cache->inputs);
    if (cache->inputs == NULL || open_layers(cache, words) != 0) {
        close_cache(cache);
        return NULL;
    }
    return cache;
}

/* Whether the cache has layers of these variants, and can be made one of other parameters. */
static int has_layers(const kvc_cache *cache, const char *words, int several) {
    if (cache->ragged != NULL || cache->several != several || cache->layers != (several ? count_words(words) : 1)) {
        return 0;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        size_t length = strcspn(words, "+");
        if (kvc_variant_find(words, length) != cache->layer[i].info) {
            return 0;
        }
        words += length + (words[length] == '+');
    }
    return 1;
}

/* The same layers with other parameters keep their memory. Returns 0, or -1 when memory is short. */
static int resize_cache(kvc_cache *cache, const kvc_params *params, kvc_fault fault) {
    cache->params = *params;
    cache->fault = fault;
    cache->rows = params->batch;
    cache->appends = 0;
    cache->zeros = 0;
    kvc_watch_renew(&cache->watch);
    kvc_builtin_renew_originals(cache);
    free_leaked(cache);
    for (int32_t i = 0; i < cache->layers; i++) {
        if (kvc_builtin_layer_reopen(&cache->layer[i], fault, cache->inputs) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Inputs stay: whatever the parameters are, a token's values are the same for one kind of tensor. */
static kvc_cache *reopen_cache(kvc_cache *before, const char *variant, const kvc_params *params, const char *parts,
                               const char *layers) {
    const char *words;
    size_t length;
    kvc_fault fault;
    kvc_cache *cache;
    (void)parts;
    if (before->inputs != NULL) {
        kvc_inputs_limit(before->inputs);
    }
    if (params_fit(params) && parse_variant(variant, &length, &fault)) {
        int several = is_several(variant, length);
        if (has_layers(before, several ? layers : variant, several)) {
            if (resize_cache(before, params, fault) == 0) {
                return before;
            }
            close_cache(before);
            return NULL;
        }
    }
    cache = make_cache(variant, params, layers, &words);
    if (cache != NULL) {
        cache->inputs = before->inputs;
        before->inputs = NULL;
    }
    close_cache(before);
    if (cache == NULL) {
        return NULL;
    }
    if (open_layers(cache, words) != 0) {
        close_cache(cache);
        return NULL;
    }
    return cache;
}

static void hang(void) {
    const struct timespec while_asleep = {1, 0};
    for (;;) {
        (void)nanosleep(&while_asleep, NULL);
    }
}

static void leak(kvc_cache *cache) {
    unsigned char *block = malloc(LEAKED_SIZE);
    if (block == NULL) {
        return;
    }
    /* Memory counts once it was touched. */
    for (size_t i = 0; i < LEAKED_SIZE; i += PAGE_SIZE_LEAST) {
        block[i] = 1;
    }
    leaked_block head = {cache->leaked};
    memcpy(block, &head, sizeof head);
    cache->leaked = block;
}

static const kvc_refusal *run_append(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    int32_t number = cache->appends++;
    if (op->n < 1 || numbers == NULL) {
        return &kvc_refusal_count;
    }
    kvc_inputs_ask(cache->inputs, numbers, op->n);
    for (int32_t i = 0; i < cache->layers; i++) {
        kvc_builtin_layer_mask(&cache->layer[i], op->n, &out->mask_length[i], &out->mask_offset[i]);
        if (cache->params.watch && kvc_watch_inputs(&cache->watch, &cache->layer[i], number, numbers, op->n) != 0) {
            return &kvc_refusal_memory;
        }
    }
    if (cache->fault == KVC_FAULT_APPEND_HALF_DONE) {
        for (int32_t i = 0; i < cache->layers; i++) {
            const kvc_refusal *refusal = kvc_builtin_layer_check_append(&cache->layer[i], op->n);
            if (refusal != NULL) {
                return refusal;
            }
            kvc_builtin_layer_append(&cache->layer[i], numbers, op->n);
        }
        return NULL;
    }
    const kvc_refusal *refusal = NULL;
    for (int32_t i = 0; refusal == NULL && i < cache->layers; i++) {
        refusal = kvc_builtin_layer_check_append(&cache->layer[i], op->n);
        if (refusal != NULL) {
            kvc_builtin_layer_spoil_refused_append(&cache->layer[i], numbers, op->n);
        }
    }
    if (refusal != NULL) {
        return refusal;
    }
    if (cache->fault == KVC_FAULT_RETURNED_OVERWRITTEN && cache->layer[0].shrunk) {
        kvc_watch_spoil(&cache->watch, number - 1, 0);
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        kvc_builtin_layer_append(&cache->layer[i], numbers, op->n);
    }
    if (cache->fault == KVC_FAULT_INPUT_WRITTEN && op->n >= 2) {
        kvc_watch_spoil(&cache->watch, number, 1);
    }
    return NULL;
}

/* Removes `removed` tokens from the first `layers` layers: from all of them or from none. */
static const kvc_refusal *remove_tokens(kvc_cache *cache, int64_t removed, int32_t layers) {
    const kvc_refusal *refusal = NULL;
    if (cache->fault == KVC_FAULT_CROP_HALF_DONE) {
        for (int32_t i = 0; i < layers; i++) {
            refusal = kvc_builtin_layer_check_crop(&cache->layer[i], removed);
            if (refusal != NULL) {
                return refusal;
            }
            kvc_builtin_layer_crop(&cache->layer[i], removed);
        }
        return NULL;
    }
    for (int32_t i = 0; refusal == NULL && i < layers; i++) {
        refusal = kvc_builtin_layer_check_crop(&cache->layer[i], removed);
    }
    for (int32_t i = 0; i < layers; i++) {
        if (refusal != NULL) {
            kvc_builtin_layer_spoil_refused_crop(&cache->layer[i], removed);
        } else {
            kvc_builtin_layer_crop(&cache->layer[i], removed);
        }
    }
    return refusal;
}

static int is_keyword_call(int32_t call) {
    return call == KVC_CALL_KEYWORD || call == KVC_CALL_CONTAINER_KEYWORD;
}

static int is_container_call(int32_t call) {
    return call == KVC_CALL_CONTAINER || call == KVC_CALL_CONTAINER_KEYWORD;
}

/* A positive argument is refused; the broken caches do other things with it. */
static const kvc_refusal *crop_positive(kvc_cache *cache, int64_t kept) {
    int64_t length = cache->layer[0].length;
    switch (cache->fault) {
    case KVC_FAULT_POSITIVE_KEEPS:
        return kept < length ? remove_tokens(cache, length - kept, cache->layers) : NULL;
    case KVC_FAULT_POSITIVE_WRONG_ERROR:
        return &kvc_refusal_broken;
    case KVC_FAULT_REFUSED_POSITIVE_EMPTIES:
        (void)remove_tokens(cache, length, cache->layers);
        return &kvc_refusal_positive;
    default:
        return &kvc_refusal_positive;
    }
}

static const kvc_refusal *run_crop(kvc_cache *cache, const kvc_op *op, kvc_observation *out) {
    kvc_builtin_layer *first = &cache->layer[0];
    int32_t call = cache->params.call;
    int64_t removed = -(int64_t)op->n;
    int32_t layers = cache->layers;
    out->claim = layers == 1 ? kvc_builtin_layer_claim(first) : -1;
    if (op->n > 0) {
        return crop_positive(cache, op->n);
    }
    cache->zeros = removed == 0 ? cache->zeros + 1 : 0;
    switch (cache->fault) {
    case KVC_FAULT_KEYWORD_IGNORED:
        removed = is_keyword_call(call) ? 0 : removed;
        break;
    case KVC_FAULT_CONTAINER_CROPS_TWICE:
        removed *= is_container_call(call) ? 2 : 1;
        break;
    case KVC_FAULT_CONTAINER_SKIPS_LAST:
        layers -= is_container_call(call) && layers > 1;
        break;
    case KVC_FAULT_ZERO_EMPTIES:
        removed = removed == 0 ? first->length : removed;
        break;
    case KVC_FAULT_ABORTS_WHEN_EMPTY_AGAIN:
        if (first->used && first->length == 0) {
            abort();
        }
        break;
    case KVC_FAULT_HANGS_ON_SECOND_ZERO:
        if (cache->zeros == 2) {
            hang();
        }
        break;
    default:
        break;
    }
    return remove_tokens(cache, removed, layers);
}

static const kvc_refusal *run_reset(kvc_cache *cache) {
    int32_t layers = cache->fault == KVC_FAULT_RESET_FIRST_ONLY ? 1 : cache->layers;
    for (int32_t i = 0; i < layers; i++) {
        kvc_builtin_layer_reset(&cache->layer[i]);
    }
    return NULL;
}

static const kvc_refusal *run_record(kvc_cache *cache, const kvc_op *op) {
    int records = cache->layer[0].number >= 0;
    for (int32_t i = 0; i < cache->layers; i++) {
        records |= cache->layer[i].info->records;
    }
    if (!records) {
        return &kvc_refusal_absent;
    }
    if (op->n < 0 || op->n > 1) {
        return &kvc_refusal_count;
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        if (cache->layer[i].info->records) {
            kvc_builtin_layer_record(&cache->layer[i], op->n);
        }
    }
    return NULL;
}

/* Which rows the op makes the new ones of. Returns a refusal, or sets rows[*count]. */
static const kvc_refusal *find_rows(const kvc_cache *cache, const kvc_op *op, uint8_t *rows, int32_t *count) {
    if (op->kind == KVC_REPEAT) {
        if (op->n < 1 || op->n > KVC_ROWS_MAX / cache->rows) {
            return &kvc_refusal_count;
        }
        *count = cache->rows * op->n;
        for (int32_t row = 0; row < *count; row++) {
            rows[row] = (uint8_t)(row / op->n);
        }
        return NULL;
    }
    *count = op->count;
    if (op->count < 1 || op->count > KVC_ROWS_MAX || (op->kind == KVC_REORDER && op->count != cache->rows)) {
        return &kvc_refusal_rows;
    }
    for (int32_t row = 0; row < *count; row++) {
        if (op->rows[row] >= cache->rows) {
            return &kvc_refusal_rows;
        }
        rows[row] = op->rows[row];
    }
    return NULL;
}

/* Apart from the ops that are done most often, which need no room for rows. */
static __attribute__((noinline)) const kvc_refusal *run_rows(kvc_cache *cache, const kvc_op *op) {
    uint8_t rows[KVC_ROWS_MAX];
    uint8_t same[KVC_ROWS_MAX] = {0, 1, 2, 3, 4, 5, 6};
    int32_t count = 0;
    for (int32_t i = 0; i < cache->layers; i++) {
        if (op->kind != KVC_REORDER && !cache->layer[i].info->selects) {
            return &kvc_refusal_absent;
        }
    }
    const kvc_refusal *refusal = find_rows(cache, op, rows, &count);
    for (int32_t i = 0; refusal == NULL && i < cache->layers; i++) {
        int skipped = i > 0 && cache->fault == KVC_FAULT_REORDER_FIRST_ONLY && op->kind == KVC_REORDER;
        if (kvc_builtin_layer_prepare_rows(&cache->layer[i], op, skipped ? same : rows, count) != 0) {
            refusal = &kvc_refusal_memory;
        }
    }
    for (int32_t i = 0; i < cache->layers; i++) {
        if (refusal != NULL) {
            kvc_builtin_layer_abandon_rows(&cache->layer[i]);
        } else {
            kvc_builtin_layer_commit_rows(&cache->layer[i], op, count);
        }
    }
    cache->rows = refusal != NULL ? cache->rows : count;
    return refusal;
}

static const kvc_refusal *run_op(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    if (op->kind != KVC_CROP) {
        cache->zeros = 0;
    }
    switch ((kvc_op_kind)op->kind) {
    case KVC_APPEND:
        return run_append(cache, op, numbers, out);
    case KVC_CROP:
        return run_crop(cache, op, out);
    case KVC_RESET:
        return run_reset(cache);
    case KVC_REORDER:
    case KVC_SELECT:
    case KVC_REPEAT:
        return run_rows(cache, op);
    case KVC_RECORD:
        return run_record(cache, op);
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
    case KVC_INITIALIZE:
    case KVC_COPY:
    case KVC_PICKLE:
        return kvc_builtin_keep(cache, op);
    case KVC_TRIM:
    case KVC_TRIM_FRONT:
    case KVC_SAVE_FILE:
    case KVC_FROM_STATE:
    case KVC_QUANTIZE:
    default:
        break;
    }
    return &kvc_refusal_absent;
}

static void refuse(const kvc_refusal *refusal, kvc_observation *out) {
    kvc_refuse(out, refusal->kind, refusal->text);
}

/* Keeps what an append returned. Returns 0, or -1 when memory is short. */
static int watch_returned(kvc_cache *cache, const kvc_observation *out) {
    int32_t at = 0;
    for (int32_t i = 0; i < cache->layers; i++) {
        const kvc_builtin_layer *layer = &cache->layer[i];
        for (int p = 0; p < layer->info->parts; p++) {
            const char *name = layer->part[p].returned_as.name;
            int32_t found = at;
            if (!layer->part[p].info->returned) {
                continue;
            }
            /* Shown in this order, some not at all. */
            while (found < out->tensors && out->tensor[found].name != name) {
                found++;
            }
            if (found == out->tensors) {
                continue;
            }
            if (kvc_watch_returned(&cache->watch, cache->appends - 1, &out->tensor[found]) != 0) {
                return -1;
            }
            at = found + 1;
        }
    }
    return 0;
}

static void run_cache(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    if (cache->ragged != NULL) {
        kvc_ragged_run(cache->ragged, op, numbers, out);
        return;
    }
    out->layers = cache->layers;
    if (cache->fault == KVC_FAULT_LEAKS_MEMORY && op->kind == KVC_APPEND) {
        leak(cache);
    }
    const kvc_refusal *refusal = run_op(cache, op, numbers, out);
    if (refusal != NULL) {
        refuse(refusal, out);
    }
    int appended = refusal == NULL && op->kind == KVC_APPEND;
    for (int32_t i = 0; i < cache->layers; i++) {
        kvc_builtin_layer *layer = &cache->layer[i];
        int lags = cache->fault == KVC_FAULT_LENGTH_OF_LAST_LAGS && i > 0 && i == cache->layers - 1 && op->kind == KVC_CROP;
        out->length[i] = lags ? layer->peak : kvc_builtin_layer_reported_length(layer);
        out->position[i] = kvc_builtin_layer_position(layer);
        if (kvc_builtin_layer_show(layer, appended, out) != 0) {
            refuse(&kvc_refusal_memory, out);
        }
    }
    if (cache->original != NULL && kvc_builtin_show_original(cache, out) != 0) {
        refuse(&kvc_refusal_memory, out);
    }
    if (cache->params.watch) {
        if (appended && watch_returned(cache, out) != 0) {
            refuse(&kvc_refusal_memory, out);
        }
        kvc_watch_show(&cache->watch, out);
    }
}

static const kvc_plugin plugin = {
    .version = KVC_PLUGIN_VERSION,
    .size = sizeof(kvc_plugin),
    .subject = "builtin",
    .subject_version = "1",
    .variant = variant_name,
    .open = open_cache,
    .run = run_cache,
    .close = close_cache,
    .renew = renew_cache,
    .reopen = reopen_cache,
};

const kvc_plugin *kvc_builtin_plugin(void) {
    return &plugin;
}
