/*
 * The second half of a stand-alone program; the first is made for its case: the model's code, constants, the ops and what is expected of them.
 * It performs the ops in a child process, for some end it, and says what it expected and what it saw.
 */
#include <llama.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROBE = 500, SHOWN = 16, TOKENS = 4096 };

static struct llama_model *model;
static kvc_saved saved = {.in_file = IN_FILE, .checkpoint = CHECKPOINT, .attention = ATTENTION};

static void be_quiet(enum ggml_log_level level, const char *text, void *context)
{
    (void)context;
    if (level == GGML_LOG_LEVEL_ERROR)
        (void)fprintf(stderr, "  llama.cpp says: %s", text);
}

static struct llama_context *make_context(void)
{
    struct llama_context_params params = llama_context_default_params();

    params.n_seq_max = SEQUENCES;
    params.n_ctx = UNIFIED ? CAPACITY : CAPACITY * SEQUENCES;
    params.n_batch = CAPACITY;
    params.n_ubatch = STEP;
    params.n_rs_seq = SNAPSHOTS;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = params.type_v = CACHE_TYPE;
    params.flash_attn_type = ggml_is_quantized(CACHE_TYPE) ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.kv_unified = UNIFIED;
    params.swa_full = FULL_SIZE;
    params.offload_kqv = false;
    return llama_init_from_model(model, params);
}

/* Decodes `count` tokens, numbered from `token` on, for each of the sequences, from their next position on. */
static int decode(struct llama_context *context, const int *sequence, int sequences, int count, int token, int off)
{
    struct llama_batch batch = llama_batch_init(TOKENS, 0, 1);
    int result;

    for (int row = 0; row < sequences; row++) {
        int first = llama_memory_seq_pos_max(llama_get_memory(context), sequence[row]) + 1 + off;
        for (int at = 0; at < count; at++) {
            int place = batch.n_tokens++;
            batch.token[place] = (token + row * count + at) % KVC_MODEL_VOCABULARY;
            batch.pos[place] = first + at;
            batch.n_seq_id[place] = 1;
            batch.seq_id[place][0] = sequence[row];
            batch.logits[place] = at + 1 == count;
        }
    }
    result = llama_decode(context, batch);
    llama_batch_free(batch);
    return result;
}

/* Performs an op. Returns 1 when it was done, 0 when it was refused. */
static int perform(struct llama_context *context, const struct op *op, int token)
{
    llama_memory_t memory = llama_get_memory(context);

    switch (op->kind) {
    case DECODE:
        return decode(context, op->rows, op->count, op->n, token, op->begin) == 0;
    case SEQ_RM:
        return llama_memory_seq_rm(memory, op->sequence, op->begin, op->end);
    case SEQ_CP:
        llama_memory_seq_cp(memory, op->sequence, op->other, op->begin, op->end);
        return 1;
    case SEQ_KEEP:
        llama_memory_seq_keep(memory, op->sequence);
        return 1;
    case SEQ_ADD:
        llama_memory_seq_add(memory, op->sequence, op->begin, op->end, op->n);
        return 1;
    case SEQ_DIV:
        llama_memory_seq_div(memory, op->sequence, op->begin, op->end, op->n);
        return 1;
    case CLEAR:
        llama_memory_clear(memory, op->n != 0);
        return 1;
    case SAVE:
        return kvc_saved_take(&saved, context, op->sequence);
    default:
        return kvc_saved_restore(&saved, context, op->sequence, op->n);
    }
}

/* All that the context holds, to be compared. */
static size_t hold(struct llama_context *context, unsigned char **bytes)
{
    size_t size = 0;

    *bytes = NULL;
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        size_t more = llama_state_seq_get_size(context, sequence);
        *bytes = realloc(*bytes, size + more + 8);
        size += llama_state_seq_get_data(context, *bytes + size, more, sequence);
        for (int end = 0; end < 2; end++) {
            llama_pos position = end ? llama_memory_seq_pos_max(llama_get_memory(context), sequence)
                                     : llama_memory_seq_pos_min(llama_get_memory(context), sequence);
            memcpy(*bytes + size, &position, sizeof position);
            size += sizeof position;
        }
    }
    return size;
}

/* What a fresh context makes of the tokens of a sequence, and of `probe` behind them where that is not below 0. Returns 0 when it cannot. */
static int ask_fresh(int sequence, int probe, float *logits)
{
    struct llama_context *fresh = make_context();
    int zero = 0;
    int count = 0;
    int good = 1;

    for (size_t at = 0; at < sizeof pieces / sizeof pieces[0]; at++) {
        int next = llama_memory_seq_pos_max(llama_get_memory(fresh), 0) + 1;
        if (pieces[at].sequence != sequence)
            continue;
        good = good && decode(fresh, &zero, 1, pieces[at].count, pieces[at].token, pieces[at].position - next) == 0;
        count = pieces[at].count;
    }
    if (probe >= 0) {
        good = good && decode(fresh, &zero, 1, 1, probe, 0) == 0;
        count = 1;
    }
    if (good && count > 0)
        memcpy(logits, llama_get_logits_ith(fresh, count - 1), SHOWN * sizeof *logits);
    llama_free(fresh);
    return good && count > 0;
}

static int differ(const float *seen, int sequence, int probe)
{
    float wanted[SHOWN];
    float most = 0;

    if (!ask_fresh(sequence, probe, wanted))
        return 0;
    for (int at = 0; at < SHOWN; at++) {
        float apart = fabsf(seen[at] - wanted[at]);
        most = apart > most ? apart : most;
    }
    (void)printf("logits of sequence %d: expected those of a fresh context with the same tokens, seen: %g apart (bound %g)\n", sequence, most,
                 BOUND);
    return !(most <= BOUND);
}

static int is_known(int sequence)
{
    for (size_t at = 0; at < sizeof pieces / sizeof pieces[0]; at++) {
        if (pieces[at].sequence == sequence)
            return 1;
    }
    return 0;
}

/* Returns 1 when the fault shows. */
static int show(void)
{
    struct llama_context *context = make_context();
    unsigned char *before = NULL, *after = NULL;
    size_t before_size = 0, after_size;
    int token = 0, done = 1, wrong = 0;

    for (size_t at = 0; at < sizeof ops / sizeof ops[0]; at++) {
        if (at + 1 == sizeof ops / sizeof ops[0])
            before_size = hold(context, &before);
        done = perform(context, &ops[at], token);
        (void)printf("%s: %s\n", ops[at].text, done ? "done" : "refused");
        token += ops[at].kind == DECODE ? ops[at].n * ops[at].count : 0;
    }
    (void)printf("last op: expected %s, seen %s\n", MUST_REFUSE ? "refused" : "done", done ? "done" : "refused");
    wrong |= IS_REFUSAL && done == MUST_REFUSE;
    after_size = hold(context, &after);
    if (!done && IS_CHANGE) {
        int same = before_size == after_size && memcmp(before, after, after_size) == 0;
        (void)printf("what is held: expected as it was before the refusal, seen %s\n", same ? "the same" : "something else");
        wrong |= !same;
    }
    for (int sequence = 0; done && !MUST_REFUSE && sequence < SEQUENCES; sequence++) {
        llama_memory_t memory = llama_get_memory(context);
        int first = llama_memory_seq_pos_min(memory, sequence);
        int last = llama_memory_seq_pos_max(memory, sequence);
        (void)printf("sequence %d: expected largest position %d, seen %d (smallest %d)\n", sequence, largest[sequence], last, first);
        wrong |= last != largest[sequence] || (largest[sequence] < 0 && first >= 0);
    }
    for (int row = 0; done && ops[sizeof ops / sizeof ops[0] - 1].kind == DECODE && row < ops[sizeof ops / sizeof ops[0] - 1].count; row++) {
        const struct op *op = &ops[sizeof ops / sizeof ops[0] - 1];
        if (is_known(op->rows[row]))
            wrong |= differ(llama_get_logits_ith(context, (row + 1) * op->n - 1), op->rows[row], -1);
    }
    /* What cells hold shows in what comes of the next token. */
    for (int sequence = 0; done && !MUST_REFUSE && !wrong && sequence < SEQUENCES; sequence++) {
        if (is_known(sequence) && decode(context, &sequence, 1, 1, PROBE, 0) == 0)
            wrong |= differ(llama_get_logits_ith(context, 0), sequence, PROBE);
    }
    return wrong;
}

int main(void)
{
    char path[] = "kvconform-model-XXXXXX";
    int file = mkstemp(path);
    int status = 0;
    pid_t child;

    if (file < 0 || close(file) != 0 || !kvc_model_write(path, MODEL, WINDOW)) {
        (void)fprintf(stderr, "cannot write a model here\n");
        return 2;
    }
    (void)setenv("GGML_NO_BACKTRACE", "1", 1);
    llama_log_set(be_quiet, NULL);
    llama_backend_init();
    child = fork();
    if (child == 0) {
        model = llama_model_load_from_file(path, llama_model_default_params());
        if (model == NULL)
            _exit(2);
        status = show();
        (void)fflush(stdout);
        _exit(status);
    }
    (void)waitpid(child, &status, 0);
    (void)unlink(path);
    if (!WIFEXITED(status)) {
        (void)printf("the process was ended by signal %d\n", WTERMSIG(status));
        return 1;
    }
    if (WEXITSTATUS(status) == 1)
        (void)printf("the fault shows\n");
    else if (WEXITSTATUS(status) == 0)
        (void)printf("the fault does not show\n");
    return WEXITSTATUS(status);
}
