/*
 * A cache that holds several sequences, right and broken in one way for each variant: what the judge of such caches must tell apart.
 *
 * Its logits are a sum over the tokens that a sequence holds and their positions, so that whatever stays behind shows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvconform/plugin.h"

enum { SEQUENCES = 4, CELLS = 1024, COLUMNS = 4, LOGITS = 4, LAST = 1 << 30 };

static const char *const variants[] = {
    "right",
    "rm_refuses_any",        /* sequence -1 is refused */
    "rm_keeps_last",         /* the newest of the removed tokens stays */
    "rm_takes_others",       /* tokens of sequence 1 go along */
    "rm_remembers",          /* what comes later still depends on what was removed */
    "keep_keeps_all",        /* seq_keep does nothing */
    "add_moves_nothing",     /* positions stay */
    "clear_keeps_one",       /* sequence 1 survives */
    "gaps_are_taken",        /* positions need not follow */
    "overflow_is_taken",     /* more tokens than cells */
    "refusal_empties",       /* a refused decode empties the sequence */
    "save_drops_one",        /* saving removes the newest token */
    "restore_lacks_one",     /* the newest token is not restored */
    "restore_takes_damaged", /* a damaged state is taken */
    "restore_costs",         /* a damaged state is refused, and the sequence is empty then */
    "decode_spoils_others",  /* values of sequence 0 change when sequence 1 is decoded */
    "cp_shares_too_much",    /* what is decoded into a copy shows in its source */
    "dies_on_divide",
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

typedef struct cell {
    int32_t position;
    int32_t token;
} cell;

typedef struct sequence {
    int count;
    cell cell[CELLS];
    uint32_t ghost; /* of what was removed and is not forgotten */
    uint32_t spoilt;
} sequence;

struct kvc_cache {
    const char *variant;
    kvc_params params;
    sequence sequence[SEQUENCES];
    sequence saved;
    int copy_of[SEQUENCES];
    int64_t positions[SEQUENCES][2];
    int64_t shown[SEQUENCES][CELLS * COLUMNS];
    float logits[SEQUENCES][LOGITS];
};

static int is(const kvc_cache *cache, const char *fault)
{
    return strcmp(cache->variant, fault) == 0;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t hash = (a + 1) * 2654435761u ^ (b + 7) * 2246822519u;

    hash ^= hash >> 15;
    hash *= 2654435761u;
    return hash ^ hash >> 13;
}

static int32_t last_of(const sequence *of)
{
    return of->count > 0 ? of->cell[of->count - 1].position : -1;
}

static int holds(const kvc_op *op, int32_t position)
{
    return position >= (op->begin < 0 ? 0 : op->begin) && position < (op->end < 0 ? LAST : op->end);
}

static int decode(kvc_cache *cache, const kvc_op *op, const int32_t *numbers)
{
    int good = 1;

    for (int row = 0; row < op->count; row++)
        good = good &&
               (cache->sequence[op->rows[row]].count + op->n <= cache->params.capacity || is(cache, "overflow_is_taken")) &&
               (op->begin == 0 || cache->sequence[op->rows[row]].count == 0 || is(cache, "gaps_are_taken")) &&
               cache->sequence[op->rows[row]].count + op->n <= CELLS;
    for (int row = 0; row < op->count; row++) {
        sequence *into = &cache->sequence[op->rows[row]];
        int32_t first = last_of(into) + 1 + op->begin;
        if (!good && is(cache, "refusal_empties"))
            into->count = 0;
        for (int at = 0; good && at < op->n; at++)
            into->cell[into->count++] = (cell){first + at, numbers[row * op->n + at]};
        if (good && op->rows[row] == 1 && is(cache, "decode_spoils_others"))
            cache->sequence[0].spoilt++;
        if (good && is(cache, "cp_shares_too_much") && cache->copy_of[op->rows[row]] >= 0) {
            sequence *source = &cache->sequence[cache->copy_of[op->rows[row]]];
            if (source->count < CELLS)
                source->cell[source->count++] = (cell){last_of(source) + 1, numbers[row * op->n]};
        }
    }
    return good;
}

static int remove_range(kvc_cache *cache, const kvc_op *op)
{
    if (op->sequence < 0 && is(cache, "rm_refuses_any"))
        return 0;
    for (int at = 0; at < cache->params.sequences; at++) {
        sequence *from = &cache->sequence[at];
        int kept = 0;
        if (op->sequence >= 0 && op->sequence != at && !(at == 1 && is(cache, "rm_takes_others")))
            continue;
        for (int place = 0; place < from->count; place++) {
            int stays = !holds(op, from->cell[place].position) ||
                        (place + 1 == from->count && from->count > 1 && is(cache, "rm_keeps_last"));
            if (!stays && is(cache, "rm_remembers"))
                from->ghost += mix((uint32_t)from->cell[place].token, 3);
            if (stays)
                from->cell[kept++] = from->cell[place];
        }
        from->count = kept;
    }
    return 1;
}

static void move(kvc_cache *cache, const kvc_op *op)
{
    sequence *of = &cache->sequence[op->sequence];

    if (op->kind == KVC_SEQ_DIV && is(cache, "dies_on_divide"))
        abort();
    for (int at = 0; at < of->count && !is(cache, "add_moves_nothing"); at++) {
        if (holds(op, of->cell[at].position))
            of->cell[at].position = op->kind == KVC_SEQ_DIV ? of->cell[at].position / op->n : of->cell[at].position + op->n;
    }
}

static int restore(kvc_cache *cache, const kvc_op *op)
{
    sequence *to = &cache->sequence[op->sequence];

    if (op->n > 0 && !is(cache, "restore_takes_damaged")) {
        if (is(cache, "restore_costs"))
            to->count = 0;
        return 0;
    }
    *to = cache->saved;
    if (is(cache, "restore_lacks_one") && to->count > 0)
        to->count--;
    return 1;
}

static void copy(kvc_cache *cache, const kvc_op *op)
{
    const sequence *from = &cache->sequence[op->sequence];
    sequence *to = &cache->sequence[op->other];

    if (from == to)
        return;
    to->count = 0;
    for (int at = 0; at < from->count; at++) {
        if (holds(op, from->cell[at].position))
            to->cell[to->count++] = from->cell[at];
    }
    cache->copy_of[op->other] = op->sequence;
}

static void show(kvc_cache *cache, const kvc_op *op, kvc_observation *out)
{
    static const char *const names[SEQUENCES][3] = {
        {"sequence0.positions", "sequence0.attention", "returned.sequence0.logits"},
        {"sequence1.positions", "sequence1.attention", "returned.sequence1.logits"},
        {"sequence2.positions", "sequence2.attention", "returned.sequence2.logits"},
        {"sequence3.positions", "sequence3.attention", "returned.sequence3.logits"}};

    for (int number = 0; number < cache->params.sequences; number++) {
        const sequence *of = &cache->sequence[number];
        int64_t two = 2, logits = LOGITS;
        int64_t shape[2] = {of->count, COLUMNS};
        uint32_t sum = of->ghost;
        cache->positions[number][0] = of->count > 0 ? of->cell[0].position : -1;
        cache->positions[number][1] = last_of(of);
        for (int at = 0; at < of->count; at++) {
            int64_t *row = cache->shown[number] + at * COLUMNS;
            uint32_t token = (uint32_t)of->cell[at].token;
            row[0] = of->cell[at].position;
            row[1] = of->cell[at].token;
            row[2] = mix(token, (uint32_t)of->cell[at].position);
            row[3] = mix(token, of->spoilt);
            sum += mix(token, (uint32_t)of->cell[at].position);
        }
        (void)kvc_show(out, names[number][0], KVC_INT64, cache->positions[number], 1, &two);
        (void)kvc_show(out, names[number][1], KVC_INT64, cache->shown[number], 2, shape);
        for (int row = 0; op->kind == KVC_DECODE && out->outcome == 0 && row < op->count; row++) {
            if (op->rows[row] != number)
                continue;
            for (int at = 0; at < LOGITS; at++)
                cache->logits[number][at] = (float)(mix(sum, (uint32_t)at) % 1000) / 100.0f;
            (void)kvc_show(out, names[number][2], KVC_FLOAT32, cache->logits[number], 1, &logits);
        }
    }
}

static void run(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out)
{
    int good = 1;

    switch (op->kind) {
    case KVC_DECODE:
        good = decode(cache, op, numbers);
        break;
    case KVC_SEQ_RM:
        good = remove_range(cache, op);
        break;
    case KVC_SEQ_CP:
        copy(cache, op);
        break;
    case KVC_SEQ_KEEP:
    case KVC_CLEAR:
        for (int at = 0; at < cache->params.sequences; at++) {
            if ((op->kind == KVC_CLEAR && !(at == 1 && is(cache, "clear_keeps_one"))) ||
                (op->kind == KVC_SEQ_KEEP && at != op->sequence && !is(cache, "keep_keeps_all")))
                cache->sequence[at].count = 0;
        }
        break;
    case KVC_SEQ_ADD:
    case KVC_SEQ_DIV:
        move(cache, op);
        break;
    case KVC_SEQ_SAVE:
        cache->saved = cache->sequence[op->sequence];
        if (is(cache, "save_drops_one") && cache->sequence[op->sequence].count > 0)
            cache->sequence[op->sequence].count--;
        break;
    case KVC_SEQ_RESTORE:
        good = restore(cache, op);
        break;
    default:
        good = 0;
    }
    if (!good)
        kvc_refuse(out, "false", "");
    show(cache, op, out);
}

static const char *name_of(size_t index)
{
    return index < VARIANTS ? variants[index] : NULL;
}

static const char *spec_of(const char *variant)
{
    static char text[VARIANTS][700];
    size_t at = 0;

    while (at + 1 < VARIANTS && strcmp(variants[at], variant) != 0)
        at++;
    (void)snprintf(text[at], sizeof text[at],
                   "{\"schema\": \"kvconform-spec/1\", \"subject\": \"several\", \"variant\": \"%s\", \"title\": \"Several sequences\","
                   " \"kind\": \"full\", \"ops\": [\"decode\", \"seq_rm\", \"seq_cp\", \"seq_keep\", \"seq_add\", \"seq_div\", \"clear\","
                   " \"seq_save\", \"seq_restore\"], \"params\": {\"sequences\": [1, 3], \"capacity\": [64, 64], \"step\": [8, 16],"
                   " \"load\": [5, 9]}, \"parts\": [\"split\"], \"memory\": [\"attention\", \"alone\"]}",
                   variants[at]);
    return text[at];
}

static kvc_cache *open_cache(const char *variant, const kvc_params *params, const char *parts, const char *layers)
{
    kvc_cache *cache = calloc(1, sizeof *cache);

    (void)parts;
    (void)layers;
    for (size_t at = 0; cache != NULL && at < VARIANTS; at++)
        cache->variant = strcmp(variants[at], variant) == 0 ? variants[at] : cache->variant;
    if (cache == NULL || cache->variant == NULL) {
        free(cache);
        return NULL;
    }
    cache->params = *params;
    for (int at = 0; at < SEQUENCES; at++)
        cache->copy_of[at] = -1;
    return cache;
}

static void close_cache(kvc_cache *cache)
{
    free(cache);
}

KVCONFORM_EXPORT const kvc_plugin *kvconform_plugin(void)
{
    static const kvc_plugin plugin = {.version = KVC_PLUGIN_VERSION,
                                      .size = sizeof plugin,
                                      .subject = "several",
                                      .subject_version = "1",
                                      .variant = name_of,
                                      .spec = spec_of,
                                      .open = open_cache,
                                      .run = run,
                                      .close = close_cache};

    return &plugin;
}
