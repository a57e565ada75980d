/*
 * llama.cpp under test: a kvconform plugin on its public C interface, llama.h.
 *
 * Every cache is a context of a tiny model that this program writes itself (model.h). All that is shown is what llama.cpp says: positions
 * by its own functions, cells as it saves them.
 */
#include "kvconform/plugin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <llama.h>

#include "blob.h"
#include "model.h"
#include "plugin_choice.h"
#include "saved.h"
#include "script.h"

enum { SEQUENCES_MAX = 4, LOGITS_SHOWN = 16, COLUMNS = 4, MODEL_PATH = 512 };

/* Which token a cell's values are of. */
typedef struct word {
    float values[KVC_CELL_FIRST];
    int32_t token;
} word;

typedef struct shown {
    int64_t positions[2];
    int64_t state[3];
    int64_t *attention; /* KVC_CELLS_MAX rows */
    int64_t *window;
    float logits[LOGITS_SHOWN];
} shown;

struct kvc_cache {
    const char *variant;
    kvc_llama_choice choice;
    kvc_params params;
    enum ggml_type type;
    kvc_blob_numbers numbers; /* of this type */
    struct llama_model *model;
    struct llama_context *context;
    int words; /* of the dictionary below */
    word word[KVC_MODEL_VOCABULARY];
    struct llama_batch batch;
    uint8_t *bytes; /* of a state that is read */
    size_t room;
    kvc_saved saved;
    kvc_blob blob;
    shown shown[SEQUENCES_MAX];
    char code[16];
    char text[256]; /* what llama.cpp said last */
};

/* What llama.cpp says goes to the cache that is in use; one process has one at a time. */
static void keep_text(enum ggml_log_level level, const char *text, void *context)
{
    kvc_cache *cache = context;

    if (level == GGML_LOG_LEVEL_ERROR && cache != NULL) {
        (void)snprintf(cache->text, sizeof cache->text, "%s", text);
        cache->text[strcspn(cache->text, "\n")] = '\0';
    }
}

static struct llama_model *load_model(kvc_model_kind which, int window)
{
    char path[MODEL_PATH];
    const char *folder = getenv("TMPDIR");
    struct llama_model *model = NULL;
    int file;

    /* Written anew by every process: it takes a millisecond, and nothing can be out of date. */
    (void)snprintf(path, sizeof path, "%.400s/kvconform-model-XXXXXX", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    file = mkstemp(path);
    if (file < 0)
        return NULL;
    (void)close(file);
    if (kvc_model_write(path, which, window))
        model = llama_model_load_from_file(path, llama_model_default_params());
    (void)unlink(path);
    return model;
}

static struct llama_context *make_context(const kvc_cache *cache)
{
    struct llama_context_params params = llama_context_default_params();
    const kvc_params *wanted = &cache->params;
    uint32_t capacity = (uint32_t)wanted->capacity;

    params.n_seq_max = (uint32_t)wanted->sequences;
    params.n_ctx = cache->choice.unified ? capacity : capacity * params.n_seq_max;
    params.n_batch = capacity;
    params.n_ubatch = (uint32_t)wanted->step;
    params.n_rs_seq = (uint32_t)wanted->snapshots;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = cache->type;
    /* Quantised values need flash attention, which rounds more than the rest does. */
    params.flash_attn_type = ggml_is_quantized(cache->type) ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.kv_unified = cache->choice.unified != 0;
    params.swa_full = cache->choice.full_size != 0;
    params.offload_kqv = false;
    params.no_perf = true;
    return llama_init_from_model(cache->model, params);
}

/* Reads what a sequence holds. Returns 0 when it cannot be saved or read. */
static int read_sequence(kvc_cache *cache, llama_seq_id sequence)
{
    size_t size = llama_state_seq_get_size(cache->context, sequence);

    if (size > cache->room) {
        uint8_t *larger = realloc(cache->bytes, size);
        if (larger == NULL)
            return 0;
        cache->bytes = larger;
        cache->room = size;
    }
    return size > 0 && llama_state_seq_get_data(cache->context, cache->bytes, size, sequence) == size &&
           kvc_blob_read(cache->bytes, size, &cache->choice.shape, cache->numbers, KVC_MODEL_WIDTH, &cache->blob);
}

static int by_values(const void *a, const void *b)
{
    const word *left = a;
    const word *right = b;

    return (left->values[0] > right->values[0]) - (left->values[0] < right->values[0]);
}

static int are_near(const float *a, const float *b, float most)
{
    for (int at = 0; at < KVC_CELL_FIRST; at++) {
        if (!(a[at] - b[at] <= most && b[at] - a[at] <= most))
            return 0;
    }
    return 1;
}

/* The token whose values these are; past the last one when there is none. */
static int32_t token_of(const kvc_cache *cache, const float *values)
{
    float most = cache->choice.near;
    int low = 0;
    int high = cache->words;

    while (low < high) {
        int middle = (low + high) / 2;
        if (cache->word[middle].values[0] < values[0] - most)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < cache->words && cache->word[low].values[0] <= values[0] + most; low++) {
        if (are_near(cache->word[low].values, values, most))
            return cache->word[low].token;
    }
    return KVC_MODEL_VOCABULARY;
}

static int decode(kvc_cache *cache, const kvc_op *op, const int32_t *numbers)
{
    llama_memory_t memory = llama_get_memory(cache->context);
    struct llama_batch *batch = &cache->batch;

    batch->n_tokens = 0;
    for (int row = 0; row < op->count; row++) {
        llama_pos first = llama_memory_seq_pos_max(memory, op->rows[row]) + 1 + op->begin;
        for (int32_t at = 0; at < op->n; at++) {
            int32_t place = batch->n_tokens++;
            batch->token[place] = numbers[row * op->n + at] % KVC_MODEL_VOCABULARY;
            batch->pos[place] = first + at;
            batch->n_seq_id[place] = 1;
            batch->seq_id[place][0] = op->rows[row];
            batch->logits[place] = at + 1 == op->n;
        }
    }
    return llama_decode(cache->context, *batch);
}

/* The dictionary: values of the first layer depend on the token alone. The context stores them as they are. */
static int learn_words(kvc_cache *cache)
{
    llama_memory_t memory = llama_get_memory(cache->context);
    kvc_op op = {.kind = KVC_DECODE, .count = 1, .n = 1};

    for (int32_t token = 0; cache->choice.tokens != 0 && token < KVC_MODEL_VOCABULARY; token++) {
        const kvc_cells *cells = cache->choice.tokens == 1 ? &cache->blob.attention : &cache->blob.window;
        llama_memory_clear(memory, false);
        if (decode(cache, &op, &token) != 0 || !read_sequence(cache, 0) || cells->count != 1)
            return 0;
        memcpy(cache->word[token].values, cells->cell[0].first, sizeof cache->word[token].values);
        cache->word[token].token = token;
        /* Two tokens that a cache type rounds to the same could not be told apart. */
        for (int other = 0; other < token; other++) {
            if (are_near(cache->word[other].values, cache->word[token].values, 2 * cache->choice.near))
                return 0;
        }
    }
    cache->words = cache->choice.tokens != 0 ? KVC_MODEL_VOCABULARY : 0;
    qsort(cache->word, (size_t)cache->words, sizeof cache->word[0], by_values);
    return 1;
}

static void close_cache(kvc_cache *cache)
{
    if (cache == NULL)
        return;
    llama_log_set(keep_text, NULL);
    if (cache->batch.token != NULL)
        llama_batch_free(cache->batch);
    if (cache->context != NULL)
        llama_free(cache->context);
    if (cache->model != NULL)
        llama_model_free(cache->model);
    for (int at = 0; at < SEQUENCES_MAX; at++) {
        free(cache->shown[at].attention);
        free(cache->shown[at].window);
    }
    free(cache->bytes);
    kvc_saved_clear(&cache->saved);
    free(cache);
}

static void copy_numbers(const void *elements, float *out, int64_t count)
{
    memcpy(out, elements, (size_t)count * sizeof *out);
}

/* Returns 0 for what this plugin does not have. */
static int set_choice(kvc_cache *cache, const char *name, const kvc_params *params, const char *parts)
{
    if (!kvc_llama_choose(name, parts, &cache->choice) || params->capacity > KVC_CELLS_MAX || params->sequences > SEQUENCES_MAX)
        return 0;
    for (size_t at = 0; kvc_llama_variant(at) != NULL; at++)
        cache->variant = strcmp(kvc_llama_variant(at), name) == 0 ? kvc_llama_variant(at) : cache->variant;
    cache->params = *params;
    cache->saved.in_file = cache->choice.in_file;
    cache->saved.checkpoint = cache->choice.checkpoint;
    cache->saved.attention = cache->choice.shape.attention;
    cache->type = cache->choice.type;
    cache->numbers = cache->type == GGML_TYPE_F32 ? copy_numbers : ggml_get_type_traits(cache->type)->to_float;
    return 1;
}

static int make_room(kvc_cache *cache)
{
    for (int at = 0; at < SEQUENCES_MAX; at++) {
        shown *here = &cache->shown[at];
        here->attention = malloc(sizeof(int64_t) * COLUMNS * KVC_CELLS_MAX);
        here->window = malloc(sizeof(int64_t) * COLUMNS * KVC_CELLS_MAX);
        if (here->attention == NULL || here->window == NULL)
            return 0;
    }
    cache->batch = llama_batch_init(KVC_CELLS_MAX, 0, 1);
    return cache->batch.token != NULL;
}

static int start(kvc_cache *cache)
{
    cache->context = make_context(cache);
    return cache->context != NULL;
}

static void stop(kvc_cache *cache)
{
    if (cache->context != NULL)
        llama_free(cache->context);
    cache->context = NULL;
    kvc_saved_clear(&cache->saved);
}

static kvc_cache *open_cache(const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    kvc_cache *cache = calloc(1, sizeof *cache);

    (void)layers;
    if (cache == NULL || !set_choice(cache, name, params, parts)) {
        free(cache);
        return NULL;
    }
    llama_log_set(keep_text, cache);
    cache->model = load_model(cache->choice.model, params->window);
    cache->type = GGML_TYPE_F32;
    cache->numbers = copy_numbers;
    if (cache->model != NULL && make_room(cache) && start(cache) && learn_words(cache)) {
        stop(cache);
        if (set_choice(cache, name, params, parts) && start(cache))
            return cache;
    }
    close_cache(cache);
    return NULL;
}

static int renew(kvc_cache *cache)
{
    /* A new context, not one that was cleared: whether those are the same is what is asked. */
    llama_log_set(keep_text, cache);
    stop(cache);
    return start(cache);
}

static kvc_cache *reopen(kvc_cache *cache, const char *name, const kvc_params *params, const char *parts, const char *layers)
{
    int32_t window = cache->params.window;
    kvc_model_kind model = cache->choice.model;

    llama_log_set(keep_text, cache);
    stop(cache);
    if (!set_choice(cache, name, params, parts) || model != cache->choice.model) {
        close_cache(cache);
        return open_cache(name, params, parts, layers);
    }
    /* The width of a window is the model's; what it makes of a token alone does not depend on it. */
    if (window != params->window) {
        llama_model_free(cache->model);
        cache->model = load_model(cache->choice.model, params->window);
    }
    if (cache->model != NULL && start(cache))
        return cache;
    close_cache(cache);
    return NULL;
}

static int64_t fill_cells(const kvc_cache *cache, const kvc_cells *cells, int told, int64_t *out)
{
    for (int at = 0; at < cells->count; at++, out += COLUMNS) {
        out[0] = cells->cell[at].position;
        out[1] = told ? token_of(cache, cells->cell[at].first) : -1;
        out[2] = (int64_t)cells->cell[at].keys;
        out[3] = (int64_t)cells->cell[at].values;
    }
    return cells->count;
}

static void show_sequence(kvc_cache *cache, llama_seq_id sequence, kvc_observation *out)
{
    static const char *const names[SEQUENCES_MAX][4] = {
        {"sequence0.positions", "sequence0.attention", "sequence0.window", "sequence0.state"},
        {"sequence1.positions", "sequence1.attention", "sequence1.window", "sequence1.state"},
        {"sequence2.positions", "sequence2.attention", "sequence2.window", "sequence2.state"},
        {"sequence3.positions", "sequence3.attention", "sequence3.window", "sequence3.state"}};
    llama_memory_t memory = llama_get_memory(cache->context);
    const kvc_memory_shape *shape = &cache->choice.shape;
    const kvc_blob *blob = &cache->blob;
    shown *here = &cache->shown[sequence];
    int64_t two = 2, three = 3;
    int64_t cells[2] = {0, COLUMNS};

    here->positions[0] = llama_memory_seq_pos_min(memory, sequence);
    here->positions[1] = llama_memory_seq_pos_max(memory, sequence);
    (void)kvc_show(out, names[sequence][0], KVC_INT64, here->positions, 1, &two);
    if (!read_sequence(cache, sequence))
        return;
    if (shape->attention) {
        cells[0] = fill_cells(cache, &blob->attention, cache->choice.tokens == 1, here->attention);
        (void)kvc_show(out, names[sequence][1], KVC_INT64, here->attention, 2, cells);
    }
    if (shape->window) {
        cells[0] = fill_cells(cache, &blob->window, cache->choice.tokens == 2, here->window);
        (void)kvc_show(out, names[sequence][2], KVC_INT64, here->window, 2, cells);
    }
    if (shape->recurrent > 0) {
        here->state[0] = blob->states;
        here->state[1] = blob->position;
        here->state[2] = (int64_t)blob->state;
        (void)kvc_show(out, names[sequence][3], KVC_INT64, here->state, 1, &three);
    }
}

static void show_logits(kvc_cache *cache, const kvc_op *op, kvc_observation *out)
{
    static const char *const names[SEQUENCES_MAX] = {"returned.sequence0.logits", "returned.sequence1.logits",
                                                     "returned.sequence2.logits", "returned.sequence3.logits"};
    int64_t count = LOGITS_SHOWN;

    for (int row = 0; row < op->count; row++) {
        const float *logits = llama_get_logits_ith(cache->context, (row + 1) * op->n - 1);
        shown *here = &cache->shown[op->rows[row]];
        if (logits == NULL)
            continue;
        memcpy(here->logits, logits, sizeof here->logits);
        (void)kvc_show(out, names[op->rows[row]], KVC_FLOAT32, here->logits, 1, &count);
    }
}

static void refuse_with(kvc_cache *cache, kvc_observation *out, const char *format, int code)
{
    (void)snprintf(cache->code, sizeof cache->code, format, code);
    kvc_refuse(out, cache->code, cache->text);
}

static void run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    llama_memory_t memory = llama_get_memory(cache->context);
    int code;

    cache->text[0] = '\0';
    llama_log_set(keep_text, cache);
    switch (op->kind) {
    case KVC_DECODE:
        code = decode(cache, op, numbers);
        if (code != 0)
            refuse_with(cache, out, "%d", code);
        break;
    case KVC_SEQ_RM:
        if (!llama_memory_seq_rm(memory, op->sequence, op->begin, op->end))
            refuse_with(cache, out, "false", 0);
        break;
    case KVC_SEQ_CP:
        llama_memory_seq_cp(memory, op->sequence, op->other, op->begin, op->end);
        break;
    case KVC_SEQ_KEEP:
        llama_memory_seq_keep(memory, op->sequence);
        break;
    case KVC_SEQ_ADD:
        out->claim = llama_memory_can_shift(memory);
        llama_memory_seq_add(memory, op->sequence, op->begin, op->end, op->n);
        break;
    case KVC_SEQ_DIV:
        out->claim = llama_memory_can_shift(memory);
        llama_memory_seq_div(memory, op->sequence, op->begin, op->end, op->n);
        break;
    case KVC_CLEAR:
        llama_memory_clear(memory, op->n != 0);
        break;
    case KVC_SEQ_SAVE:
        if (!kvc_saved_take(&cache->saved, cache->context, op->sequence))
            refuse_with(cache, out, "%d", 0);
        break;
    case KVC_SEQ_RESTORE:
        if (!kvc_saved_restore(&cache->saved, cache->context, op->sequence, op->n))
            refuse_with(cache, out, "%d", 0);
        break;
    default:
        kvc_refuse(out, "unknown", "llama.cpp has no such op");
    }
    if (op->kind == KVC_DECODE && out->outcome == 0)
        show_logits(cache, op, out);
    for (int32_t sequence = 0; sequence < cache->params.sequences; sequence++)
        show_sequence(cache, sequence, out);
}

const kvc_plugin *kvconform_plugin(void)
{
    static kvc_plugin plugin = {.version = KVC_PLUGIN_VERSION,
                                .size = sizeof plugin,
                                .subject = "llama.cpp",
                                .variant = kvc_llama_variant,
                                .open = open_cache,
                                .run = run,
                                .close = close_cache,
                                .renew = renew,
                                .reopen = reopen,
                                .script = kvc_llama_script,
                                .script_suffix = "c"};

    /* A failed assertion would start a debugger; the harness wants to see the process end. */
    (void)setenv("GGML_NO_BACKTRACE", "1", 0);
    llama_log_set(keep_text, NULL);
    llama_backend_init();
    plugin.subject_version = llama_version();
    return &plugin;
}
