/* The judge: observations built by hand, right ones and, for each law, wrong ones that it must name. */
#include "tests/unit/support.h"

#include "reference/judge.h"

typedef struct scene {
    tiny *subject;
    kvc_judge *judge;
    kvc_observation *seen;
    arena *memory;
    kvc_op op;
    kvc_failure failure;
    int lies; /* how the tensors that are shown lie in memory */
    int names;
    char name[64][KVC_SLOT_NAME_MAX]; /* each kept once for the whole scene, as those of a plugin */
} scene;

static scene *begin(tiny *subject) {
    scene *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    tiny_plan(subject);
    s->subject = subject;
    s->judge = kvc_judge_open();
    s->seen = calloc(1, sizeof *s->seen);
    s->memory = calloc(1, sizeof *s->memory);
    cr_assert(s->judge != NULL && s->seen != NULL && s->memory != NULL);
    cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
    return s;
}

static void end(scene *s) {
    kvc_judge_close(s->judge);
    tiny_close(s->subject);
    free(s->seen);
    free(s->memory);
    free(s);
}

static kvc_tensor *find(scene *s, const char *name) {
    for (int32_t at = 0; at < s->seen->tensors; at++) {
        if (strcmp(s->seen->tensor[at].name, name) == 0) {
            return &s->seen->tensor[at];
        }
    }
    return NULL;
}

static const char *keep_name(scene *s, const char *name) {
    int at = 0;
    while (at < s->names && strcmp(s->name[at], name) != 0) {
        at++;
    }
    if (at == s->names) {
        cr_assert_lt(s->names, 64);
        (void)snprintf(s->name[s->names++], sizeof s->name[0], "%s", name);
    }
    return s->name[at];
}

/* Shows a tensor: a slot's by its name, `returned.keys`, `input.0.keys`. */
static void show(scene *s, const char *name, const char *text) {
    const kvc_plan *plan = &s->subject->plan;
    const char *base = strrchr(name, '.');
    kvc_tensor *place = find(s, name);
    int slot = -1;
    for (int at = 0; at < plan->slots; at++) {
        if (strcmp(plan->slot[at].name, name) == 0 || strcmp(plan->slot[at].returned_name, name) == 0 ||
            (base != NULL && strcmp(plan->slot[at].name, base + 1) == 0)) {
            slot = at;
        }
    }
    cr_assert_geq(slot, 0, "%s", name);
    if (place == NULL) {
        place = &s->seen->tensor[s->seen->tensors++];
    }
    kvc_tensor dense = tensor_of(s->memory, plan, slot, text);
    *place = laid_out(s->memory, &plan->slot[slot], &dense, s->lies);
    place->name = keep_name(s, name);
}

/* Shows the cache that was copied: all its slots hold `text`, and it reports that length. */
static void show_original(scene *s, const char *text, int64_t length) {
    const kvc_plan *plan = &s->subject->plan;
    unsigned char *data = s->memory->byte + s->memory->used;
    for (int at = 0; at < plan->slots; at++) {
        char name[KVC_SLOT_NAME_MAX];
        (void)snprintf(name, sizeof name, "original.%.60s", plan->slot[at].name);
        show(s, name, text);
        data = s->memory->byte + s->memory->used;
    }
    cr_assert_leq(s->memory->used + 16, sizeof s->memory->byte);
    s->memory->used += 16;
    memcpy(data, &length, sizeof length);
    s->seen->tensor[s->seen->tensors++] = (kvc_tensor){
        .name = keep_name(s, "original.length"), .data = data, .dims = 1, .shape = {1}, .dtype = KVC_INT64};
}

static void hide(scene *s, const char *name) {
    kvc_tensor *place = find(s, name);
    cr_assert_not_null(place);
    *place = s->seen->tensor[--s->seen->tensors];
}

static int count_cells(const char *text) {
    cells row;
    (void)read_cells(text, 0, &row);
    return row.count;
}

/* What a cache shows that did the op: all slots hold `text`, an append returned it, and the counts agree. */
static void see(scene *s, const char *op, const char *text) {
    const kvc_plan *plan = &s->subject->plan;
    int64_t length = count_cells(text);
    s->op = op_of(op);
    s->memory->used = 0;
    memset(s->seen, 0, sizeof *s->seen);
    s->seen->layers = 1;
    s->seen->claim = -1;
    s->seen->error_kind = s->seen->error_text = "";
    s->seen->length[0] = s->seen->position[0] = length;
    s->seen->mask_length[0] = s->op.kind == KVC_APPEND ? length : KVC_ABSENT;
    s->seen->mask_offset[0] = s->op.kind == KVC_APPEND ? 0 : KVC_ABSENT;
    for (int at = 0; at < plan->slots; at++) {
        show(s, plan->slot[at].name, text);
        if (s->op.kind == KVC_APPEND && plan->slot[at].view->returned != KVC_RETURNS_NONE) {
            show(s, plan->slot[at].returned_name, text);
        }
    }
}

static void refuse(scene *s, const char *op, const char *kind, const char *text) {
    see(s, op, text);
    s->seen->outcome = 1;
    s->seen->error_kind = kind;
}

static int judge(scene *s) {
    return kvc_judge_step(s->judge, &s->op, s->seen, &s->failure);
}

static void good(scene *s) {
    char text[64];
    (void)kvc_op_format(&s->op, text, sizeof text);
    cr_assert_eq(judge(s), 0, "%s: %s, %s", text, kvc_law_name((kvc_law)s->failure.law),
                 kvc_deviation_text((kvc_deviation)s->failure.deviation));
}

enum { NONE = 0 };
#define LAW(name) (1u << KVC_##name)

static void bad(scene *s, kvc_law law, kvc_place place, kvc_deviation deviation, uint32_t also) {
    char names[256] = "";
    cr_assert_eq(judge(s), 1, "expected %s", kvc_law_name(law));
    for (int at = 0; at < KVC_LAWS; at++) {
        if ((s->failure.also & (1u << at)) != 0) {
            (void)strcat(strcat(names, " "), kvc_law_name((kvc_law)at));
        }
    }
    cr_expect_eq((int)s->failure.law, (int)law, "is %s, expected %s", kvc_law_name((kvc_law)s->failure.law), kvc_law_name(law));
    cr_expect_eq((int)s->failure.place, (int)place, "%s: place %d, expected %d", kvc_law_name(law), s->failure.place, (int)place);
    cr_expect_eq((int)s->failure.deviation, (int)deviation, "%s: %s, expected %s", kvc_law_name(law),
                 kvc_deviation_text((kvc_deviation)s->failure.deviation), kvc_deviation_text(deviation));
    cr_expect_eq(s->failure.also, also, "%s: also%s", kvc_law_name(law), names);
    cr_expect_eq((int)s->failure.op, (int)s->op.kind);
}

static const char full_rules[] = RULE_ERROR("crop_positive", "refuse", "ValueError") "," RULE("crop_zero", "nothing");
#define FULL KEYS("all", RETURNED("all")) "," VALUES("all", RETURNED("all"))

static scene *full(void) {
    return begin(tiny_open(FULL, full_rules));
}

static scene *full_with(const char *op, const char *text) {
    scene *s = full();
    see(s, op, text);
    good(s);
    return s;
}

Test(judge, a_right_cache) {
    scene *s = full();
    see(s, "crop -1", "");
    good(s);
    see(s, "append 3", "0 1 2");
    good(s);
    see(s, "crop 0", "0 1 2");
    good(s);
    refuse(s, "crop 2", "ValueError", "0 1 2");
    good(s);
    see(s, "crop -1", "0 1");
    good(s);
    see(s, "append 2", "0 1 3 4");
    good(s);
    see(s, "crop -9", "");
    good(s);
    see(s, "append 1", "5");
    good(s);
    see(s, "reset", "");
    good(s);
    end(s);
}

/* What a cache does not report is not judged. */
Test(judge, a_silent_cache) {
    scene *s = full();
    see(s, "append 3", "0 1 2");
    s->seen->position[0] = s->seen->mask_length[0] = s->seen->mask_offset[0] = KVC_ABSENT;
    good(s);
    end(s);
}

Test(judge, alive) {
    scene *s = full_with("append 3", "0 1 2");
    kvc_op op = op_of("crop -1");
    kvc_judge_died(s->judge, &op, KVC_HUNG, &s->failure);
    cr_expect_eq((int)s->failure.law, KVC_ALIVE);
    cr_expect_eq((int)s->failure.deviation, KVC_HUNG);
    cr_expect_eq(s->failure.step, 1);
    cr_expect_eq((int)s->failure.op, KVC_CROP);
    cr_expect_eq(s->failure.also, 0u);
    cr_expect_eq((int)s->failure.situation.ask, KVC_ASK_PART);
    cr_expect_eq(kvc_judge_model(s->judge)->length, 2, "the report shows where the op should have led");
    end(s);
}

Test(judge, keys) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop -1", "0 1");
    show(s, "keys", "1 2");
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_STALE, NONE);
    cr_expect_eq(s->failure.slot, 0);
    cr_expect_eq(s->failure.step, 1);
    end(s);
    s = full();
    see(s, "append 3", "0 1 2");
    show(s, "keys", "0 1");
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_SHORT, NONE);
    end(s);
    s = full();
    see(s, "append 3", "0 1 2");
    hide(s, "keys");
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_MISSING, NONE);
    end(s);
    s = full();
    see(s, "append 3", "0 1 2");
    find(s, "keys")->dtype = KVC_FLOAT16;
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_WRONG_DTYPE, NONE);
    end(s);
}

Test(judge, values) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop -1", "0 1");
    show(s, "values", "0 1 2");
    bad(s, KVC_VALUES, KVC_PLACE_STORED, KVC_STALE, NONE);
    cr_expect_eq(s->failure.slot, 1);
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "crop -1", "0 1");
    show(s, "keys", "0");
    show(s, "values", "0");
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_SHORT, LAW(VALUES));
    end(s);
}

Test(judge, length) {
    static const struct {
        int64_t length;
        kvc_deviation deviation;
    } table[] = {{3, KVC_TOO_HIGH}, {1, KVC_TOO_LOW}, {-3, KVC_NEGATIVE}, {KVC_ABSENT, KVC_MISSING}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        scene *s = full_with("append 3", "0 1 2");
        see(s, "crop -1", "0 1");
        s->seen->length[0] = table[at].length;
        bad(s, KVC_LENGTH, KVC_PLACE_LENGTH, table[at].deviation, NONE);
        end(s);
    }
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop -1", "0 1");
    s->seen->length[0] = 3;
    show(s, "values", "0 1 2");
    bad(s, KVC_LENGTH, KVC_PLACE_LENGTH, KVC_TOO_HIGH, LAW(VALUES));
    end(s);
}

Test(judge, index) {
    scene *s = begin(tiny_open(FULL ",{\"name\":\"indexer_keys\",\"salt\":2,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"batch\",\"tokens\",\"index_dim\"]}",
                               full_rules));
    see(s, "append 3", "0 1 2");
    good(s);
    see(s, "crop -2", "0");
    show(s, "indexer_keys", "0 1");
    bad(s, KVC_INDEX, KVC_PLACE_STORED, KVC_STALE, NONE);
    cr_expect_eq(s->failure.slot, 2);
    end(s);
    /* The table that started the project: over-removal leaves one index key. */
    s = begin(tiny_open(FULL ",{\"name\":\"indexer_keys\",\"salt\":2,\"law\":\"INDEX\",\"rule\":\"all\",\"dims\":[\"batch\",\"tokens\",\"index_dim\"]}",
                        full_rules));
    see(s, "append 3", "0 1 2");
    good(s);
    see(s, "crop -5", "");
    show(s, "indexer_keys", "0");
    bad(s, KVC_CLAMP, KVC_PLACE_STORED, KVC_STALE, LAW(INDEX));
    end(s);
}

Test(judge, clamp) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop -5", "0");
    bad(s, KVC_CLAMP, KVC_PLACE_LENGTH, KVC_TOO_HIGH, LAW(LENGTH) | LAW(KEYS) | LAW(VALUES) | LAW(POSITION));
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "crop -5", "");
    s->seen->length[0] = -2;
    bad(s, KVC_CLAMP, KVC_PLACE_LENGTH, KVC_NEGATIVE, LAW(LENGTH));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop -5", "IndexError", "0 1 2");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, LAW(CLAMP));
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "crop -3", "0");
    bad(s, KVC_LENGTH, KVC_PLACE_LENGTH, KVC_TOO_HIGH, LAW(KEYS) | LAW(VALUES) | LAW(POSITION));
    end(s);
}

Test(judge, zero) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop 0", "");
    bad(s, KVC_ZERO, KVC_PLACE_LENGTH, KVC_TOO_LOW, LAW(LENGTH) | LAW(KEYS) | LAW(VALUES) | LAW(POSITION));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop 0", "ValueError", "0 1 2");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, LAW(ZERO));
    end(s);
}

Test(judge, refuse) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "crop 2", "0 1");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_NOT_REFUSED, NONE);
    cr_expect_eq(s->failure.rule, KVC_CONTRACT_CROP_POSITIVE);
    cr_expect_eq(kvc_judge_model(s->judge)->length, 3);
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop 2", "RuntimeError", "0 1 2");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_WRONG_ERROR, NONE);
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop -1", "ValueError", "0 1 2");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, NONE);
    cr_expect_eq(kvc_judge_model(s->judge)->length, 2, "the report shows where the op should have led");
    end(s);
    s = full();
    refuse(s, "append 3", "ValueError", "");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, NONE);
    end(s);
}

Test(judge, refused_append_uses_its_numbers_up) {
    scene *s = begin(tiny_open(KEYS("fixed", RETURNED("buffer")), RULE_ERROR("overflow", "refuse", "IndexError")));
    s->subject->params.capacity = 3;
    tiny_plan(s->subject);
    see(s, "append 2", "0 1 -");
    s->seen->length[0] = s->seen->position[0] = 2;
    good(s);
    refuse(s, "append 2", "IndexError", "0 1 -");
    s->seen->length[0] = s->seen->position[0] = 2;
    good(s);
    see(s, "append 1", "0 1 4");
    good(s);
    end(s);
}

Test(judge, atomic) {
    scene *s = full_with("append 3", "0 1 2");
    refuse(s, "crop 2", "ValueError", "0 1");
    bad(s, KVC_ATOMIC, KVC_PLACE_LENGTH, KVC_TOO_LOW, LAW(LENGTH) | LAW(KEYS) | LAW(VALUES));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop 2", "ValueError", "0 1 2");
    show(s, "values", "");
    bad(s, KVC_ATOMIC, KVC_PLACE_STORED, KVC_SHORT, LAW(VALUES));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop -1", "ValueError", "0 1");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, LAW(ATOMIC) | LAW(LENGTH) | LAW(KEYS) | LAW(VALUES));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "crop 2", "RuntimeError", "0 1 2");
    show(s, "keys", "0 1");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_WRONG_ERROR, LAW(ATOMIC) | LAW(KEYS));
    end(s);
}

/* A tensor that no view describes must not change either when an op is refused. */
Test(judge, atomic_of_other_tensors) {
    static const unsigned char before[2] = {1, 2};
    static const unsigned char after[2] = {1, 3};
    for (int change = 0; change < 2; change++) {
        scene *s = full();
        see(s, "append 3", "0 1 2");
        s->seen->tensor[s->seen->tensors++] =
            (kvc_tensor){.name = "counter", .data = before, .dims = 1, .shape = {1}, .dtype = KVC_FLOAT16};
        good(s);
        refuse(s, "crop 2", "ValueError", "0 1 2");
        s->seen->tensor[s->seen->tensors++] =
            (kvc_tensor){.name = "counter", .data = change ? after : before, .dims = 1, .shape = {1}, .dtype = KVC_FLOAT16};
        if (change) {
            bad(s, KVC_ATOMIC, KVC_PLACE_OTHER, KVC_CHANGED, NONE);
        } else {
            good(s);
        }
        end(s);
    }
}

Test(judge, reset) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "reset", "");
    show(s, "values", "0 1 2");
    bad(s, KVC_RESET_LAW, KVC_PLACE_STORED, KVC_STALE, LAW(VALUES));
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "reset", "");
    s->seen->length[0] = 3;
    bad(s, KVC_RESET_LAW, KVC_PLACE_LENGTH, KVC_TOO_HIGH, LAW(LENGTH));
    end(s);
    s = full_with("append 3", "0 1 2");
    refuse(s, "reset", "ValueError", "0 1 2");
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, 1u << KVC_RESET_LAW);
    end(s);
}

Test(judge, save) {
    static const char *const ops[] = {"pickle", "offload", "prefetch", "copy"};
    static const unsigned char counter[2] = {1, 2};
    static const unsigned char other[2] = {1, 3};
    for (size_t at = 0; at < sizeof ops / sizeof ops[0]; at++) {
        int copied = strcmp(ops[at], "copy") == 0;
        for (int fault = 0; fault < 4; fault++) {
            scene *s = full();
            see(s, "append 3", "0 1 2");
            s->seen->tensor[s->seen->tensors++] =
                (kvc_tensor){.name = "counter", .data = counter, .dims = 1, .shape = {1}, .dtype = KVC_FLOAT16};
            good(s);
            see(s, ops[at], "0 1 2");
            s->seen->tensor[s->seen->tensors++] = (kvc_tensor){
                .name = "counter", .data = fault == 1 ? other : counter, .dims = 1, .shape = {1}, .dtype = KVC_FLOAT16};
            if (copied) {
                show_original(s, "0 1 2", 3);
            }
            if (fault == 0) {
                good(s);
            } else if (fault == 1) {
                bad(s, KVC_SAVE, KVC_PLACE_OTHER, KVC_CHANGED, NONE);
            } else if (fault == 2) {
                show(s, "values", "0 1");
                bad(s, KVC_SAVE, KVC_PLACE_STORED, KVC_SHORT, LAW(VALUES));
            } else {
                s->seen->outcome = 1;
                s->seen->error_kind = "RuntimeError";
                bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_REFUSED, LAW(SAVE));
            }
            end(s);
        }
    }
}

Test(judge, isolation) {
    static const struct {
        const char *content;
        int64_t length;
        kvc_deviation deviation;
        int slot;
    } at_once[] = {{"0 1", 3, KVC_SHORT, 0}, {"0 1 1", 3, KVC_WRONG_ORDER, 0}, {"0 1 2", 2, KVC_TOO_LOW, -1}, {"0 1 2", 4, KVC_TOO_HIGH, -1}};
    scene *s;
    for (size_t at = 0; at < sizeof at_once / sizeof at_once[0]; at++) {
        s = full_with("append 3", "0 1 2");
        see(s, "copy", "0 1 2");
        show_original(s, at_once[at].content, at_once[at].length);
        bad(s, KVC_ISOLATION, KVC_PLACE_ORIGINAL, at_once[at].deviation, NONE);
        cr_expect_eq(s->failure.slot, at_once[at].slot);
        end(s);
    }
    s = full_with("append 3", "0 1 2");
    see(s, "copy", "0 1 2");
    bad(s, KVC_ISOLATION, KVC_PLACE_ORIGINAL, KVC_MISSING, NONE);
    end(s);
    /* It stays as it was, whatever is done with the copy, and the next copy has an original of its own. */
    s = full_with("append 3", "0 1 2");
    see(s, "copy", "0 1 2");
    show_original(s, "0 1 2", 3);
    good(s);
    see(s, "crop -1", "0 1");
    show_original(s, "0 1 2", 3);
    good(s);
    see(s, "append 1", "0 1 3");
    show_original(s, "0 1 2", 3);
    good(s);
    see(s, "copy", "0 1 3");
    show_original(s, "0 1 3", 3);
    good(s);
    refuse(s, "crop 2", "ValueError", "0 1 3");
    show_original(s, "0 1 3", 3);
    good(s);
    see(s, "append 1", "0 1 3 4");
    show_original(s, "0 1 3", 3);
    show(s, "original.values", "0 1 4");
    bad(s, KVC_ISOLATION, KVC_PLACE_ORIGINAL, KVC_WRITTEN, NONE);
    cr_expect_eq(s->failure.slot, 1);
    end(s);
    for (int refused = 0; refused < 2; refused++) {
        s = full_with("append 3", "0 1 2");
        see(s, "copy", "0 1 2");
        show_original(s, "0 1 2", 3);
        good(s);
        if (refused) {
            refuse(s, "crop 2", "ValueError", "0 1 2");
        } else {
            see(s, "crop -1", "0 1");
        }
        show_original(s, "0 1 2", 2);
        bad(s, KVC_ISOLATION, KVC_PLACE_ORIGINAL, KVC_WRITTEN, NONE);
        cr_expect_eq(s->failure.slot, -1);
        end(s);
    }
}

/* Static buffers that are made early are buffers already, with the size and the type that they will have. */
Test(judge, early_buffers) {
    tiny *subject = tiny_open(KEYS("fixed", ",\"static\":true"), RULE("overflow", "refuse"));
    subject->params.capacity = 2;
    for (int fault = 0; fault < 4; fault++) {
        scene *s = begin(subject);
        see(s, "initialize", fault == 1 ? "-" : "- -");
        s->seen->length[0] = s->seen->position[0] = 0;
        if (fault == 0) {
            good(s);
        } else if (fault == 1) {
            bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_WRONG_SHAPE, NONE);
        } else if (fault == 2) {
            find(s, "keys")->dtype = KVC_FLOAT16;
            bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_WRONG_DTYPE, NONE);
        } else {
            hide(s, "keys");
            bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_MISSING, NONE);
        }
        kvc_judge_close(s->judge);
        free(s->seen);
        free(s->memory);
        free(s);
    }
    tiny_close(subject);
}

Test(judge, batch) {
    tiny *subject = tiny_open(FULL, full_rules);
    static const char *const ops[] = {"reorder 1 0", "select 1 0", "repeat 1"};
    subject->params.batch = 2;
    scene *s = begin(subject);
    see(s, "append 2", "0 1|0 1");
    good(s);
    see(s, "reorder 1 0", "0@1 1@1|0@0 1@0");
    good(s);
    see(s, "append 1", "0@1 1@1 2|0@0 1@0 2");
    good(s);
    see(s, "select 1", "0@0 1@0 2@1");
    good(s);
    see(s, "repeat 2", "0@0 1@0 2@1|0@0 1@0 2@1");
    good(s);
    for (size_t at = 0; at < 2; at++) {
        cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
        see(s, "append 2", "0 1|0 1");
        good(s);
        see(s, ops[at], "0@1 1@1|0@0 1@0");
        show(s, "values", "0 1|0 1");
        bad(s, KVC_BATCH, KVC_PLACE_STORED, KVC_WRONG_ROW, LAW(VALUES));
        cr_expect_eq(s->failure.slot, 1);
    }
    cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
    see(s, "append 2", "0 1|0 1");
    good(s);
    see(s, "repeat 2", "0 1|0@0 1@0|0@1 1@1|0@1 1@1");
    show(s, "keys", "0 1|0 1|0@0 1@0|0@1 1@1");
    bad(s, KVC_BATCH, KVC_PLACE_STORED, KVC_WRONG_ROW, LAW(KEYS));
    end(s);
}

/* The op that was seen, judged by a model that another keeps. */
static int followed(scene *s, kvc_model *model, kvc_op *ops, int step) {
    kvc_expectation expectation;
    kvc_model_expect(model, &s->op, &expectation);
    cr_assert(kvc_model_commit(model, &s->op, &expectation, expectation.verdict == KVC_MUST_REFUSE));
    ops[step] = s->op;
    return kvc_judge_followed(s->judge, ops, step, &expectation, s->seen, &s->failure);
}

Test(judge, follows_a_model) {
    static const char rules[] = RULE_ERROR("crop_positive", "refuse", "ValueError") "," RULE("crop_zero", "nothing") "," RULE(
        "crop_unused", "either");
    scene *s = begin(tiny_open(FULL, rules));
    kvc_model model;
    kvc_op ops[8];
    cr_assert(kvc_model_open(&model, &s->subject->plan));
    for (int refuses = 0; refuses < 2; refuses++) {
        int step = 0;
        kvc_model_start(&model, &s->subject->plan, NULL);
        kvc_judge_follow(s->judge, &model);
        /* Where it may do either, only the subject knows where it stands: the judge parts from the model when it is refused. */
        see(s, "crop -1", "");
        if (refuses) {
            refuse(s, "crop -1", "RuntimeError", "");
        }
        cr_assert_eq(followed(s, &model, ops, step++), 0);
        cr_expect_eq(kvc_judge_model(s->judge) != &model, refuses);
        see(s, "append 3", "0 1 2");
        cr_assert_eq(followed(s, &model, ops, step++), 0);
        refuse(s, "crop 2", "ValueError", "0 1 2");
        cr_assert_eq(followed(s, &model, ops, step++), 0);
        see(s, "crop -1", "0 1");
        cr_assert_eq(followed(s, &model, ops, step++), 0);
        cr_expect_eq(kvc_judge_model(s->judge) != &model, refuses);
        see(s, "append 1", "0 1 2");
        cr_assert_eq(followed(s, &model, ops, step++), 1, "token 2 was removed");
        cr_expect_eq((int)s->failure.law, KVC_KEYS);
        cr_expect_eq((int)s->failure.deviation, KVC_STALE);
        cr_expect_eq(s->failure.step, 4);
    }
    /* A refusal that must not be. */
    kvc_model_start(&model, &s->subject->plan, NULL);
    kvc_judge_follow(s->judge, &model);
    see(s, "append 2", "0 1");
    cr_assert_eq(followed(s, &model, ops, 0), 0);
    refuse(s, "crop -1", "RuntimeError", "0 1");
    cr_assert_eq(followed(s, &model, ops, 1), 1);
    cr_expect_eq((int)s->failure.law, KVC_REFUSE);
    cr_expect_eq(s->failure.step, 1);
    kvc_judge_leave(s->judge);
    kvc_model_close(&model);
    end(s);
}

/* Where it may do either and refuses, it stands where the model of the sequence is not: an op that was made for there may mean nothing here. */
Test(judge, what_no_text_covers_is_not_judged) {
    scene *s = begin(tiny_open(KEYS("fixed", ""), RULE("crop", "either") "," RULE("overflow", "unspecified")));
    tiny *subject = s->subject;
    kvc_model model;
    kvc_op ops[8];
    subject->params.capacity = 4;
    tiny_plan(subject);
    cr_assert(kvc_model_open(&model, &subject->plan));
    for (int follows = 0; follows < 2; follows++) {
        kvc_model_start(&model, &subject->plan, NULL);
        if (follows) {
            kvc_judge_follow(s->judge, &model);
        } else {
            cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
        }
        see(s, "append 3", "0 1 2 -");
        s->seen->length[0] = s->seen->position[0] = s->seen->mask_length[0] = 3;
        cr_assert_eq(follows ? followed(s, &model, ops, 0) : judge(s), 0);
        refuse(s, "crop -1", "RuntimeError", "0 1 2 -");
        s->seen->length[0] = s->seen->position[0] = 3;
        cr_assert_eq(follows ? followed(s, &model, ops, 1) : judge(s), 0);
        refuse(s, "append 2", "IndexError", "0 1 2 -");
        s->seen->length[0] = s->seen->position[0] = 3;
        cr_expect_eq(follows ? followed(s, &model, ops, 2) : judge(s), 2, "five tokens in four cells");
    }
    kvc_judge_leave(s->judge);
    kvc_model_close(&model);
    end(s);
}

Test(judge, returned) {
    scene *s = full_with("append 3", "0 1 2");
    see(s, "append 1", "0 1 2 3");
    show(s, "returned.keys", "3");
    show(s, "returned.values", "3");
    s->seen->mask_length[0] = 1;
    s->seen->mask_offset[0] = 3;
    bad(s, KVC_RETURN, KVC_PLACE_RETURNED, KVC_SHORT, NONE);
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "append 1", "0 1 2 3");
    hide(s, "returned.values");
    bad(s, KVC_RETURN, KVC_PLACE_RETURNED, KVC_MISSING, NONE);
    cr_expect_eq(s->failure.slot, 1);
    end(s);
    s = full_with("append 3", "0 1 2");
    see(s, "append 1", "0 1 2 3");
    show(s, "keys", "0 1 2");
    show(s, "returned.keys", "0 1 2");
    s->seen->mask_length[0] = 3;
    bad(s, KVC_KEYS, KVC_PLACE_STORED, KVC_SHORT, LAW(RETURN) | LAW(MASK));
    end(s);
}

/* A returned tensor that is the stored one is checked with it, but only where both must hold the same. */
Test(judge, returned_in_place) {
    tiny *subject = tiny_open(KEYS("window", RETURNED("window")), RULE("unrecorded", "refuse"));
    subject->params.window = 3;
    scene *s = begin(subject);
    see(s, "append 2", "0 1");
    find(s, "returned.keys")->data = find(s, "keys")->data;
    good(s);
    see(s, "append 1", "1 2");
    find(s, "returned.keys")->data = find(s, "keys")->data;
    s->seen->length[0] = s->seen->position[0] = 3;
    s->seen->mask_length[0] = 2;
    s->seen->mask_offset[0] = 1;
    bad(s, KVC_RETURN, KVC_PLACE_RETURNED, KVC_SHORT, NONE);
    end(s);
}

Test(judge, mask) {
    static const struct {
        int64_t length;
        int64_t offset;
        kvc_deviation deviation;
    } table[] = {{3, 0, KVC_TOO_LOW}, {5, 0, KVC_TOO_HIGH}, {4, 1, KVC_WRONG_VALUE}, {4, -1, KVC_WRONG_VALUE}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        scene *s = full_with("append 3", "0 1 2");
        see(s, "append 1", "0 1 2 3");
        s->seen->mask_length[0] = table[at].length;
        s->seen->mask_offset[0] = table[at].offset;
        bad(s, KVC_MASK, KVC_PLACE_MASK, table[at].deviation, NONE);
        end(s);
    }
}

Test(judge, window) {
    tiny *subject = tiny_open(KEYS("window", RETURNED("window")),
                              RULE_ERROR("unrecorded", "refuse", "RuntimeError") "," RULE("crop_zero", "shrink") "," RULE("claim", "croppable"));
    subject->params.window = 4;
    scene *s = begin(subject);
    see(s, "append 6", "3 4 5");
    show(s, "returned.keys", "0 1 2 3 4 5");
    s->seen->length[0] = s->seen->position[0] = s->seen->mask_length[0] = 6;
    good(s);
    refuse(s, "crop -1", "RuntimeError", "3 4 5");
    s->seen->length[0] = s->seen->position[0] = 6;
    /* Nothing was recorded: what the cache claims now is not HONEST's to judge. */
    s->seen->claim = 1;
    good(s);
    see(s, "append 1", "4 5 6");
    show(s, "returned.keys", "3 4 5 6");
    s->seen->length[0] = s->seen->position[0] = 7;
    s->seen->mask_length[0] = 4;
    s->seen->mask_offset[0] = 3;
    good(s);
    see(s, "crop -1", "4 5");
    s->seen->length[0] = s->seen->position[0] = 6;
    s->seen->claim = 1;
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_NOT_REFUSED, NONE);
    end(s);
}

/* A cache that records since its first token and claims a crop must give it back. */
Test(judge, honest) {
    static const int claims[] = {1, 0, -1};
    for (size_t at = 0; at < 3; at++) {
        for (int done = 0; done < 2; done++) {
            tiny *subject = tiny_open(KEYS("window", ""), RULE_ERROR("unrecorded", "refuse", "RuntimeError") "," RULE("claim", "croppable"));
            subject->params.window = 4;
            scene *s = begin(subject);
            see(s, "record 1", "");
            good(s);
            see(s, "append 6", "0 1 2 3 4 5");
            good(s);
            if (done) {
                see(s, "crop -1", "2 3");
                s->seen->length[0] = s->seen->position[0] = 5;
            } else {
                refuse(s, "crop -1", "RuntimeError", "0 1 2 3 4 5");
            }
            s->seen->claim = claims[at];
            if (claims[at] == 1) {
                bad(s, KVC_HONEST, done ? KVC_PLACE_STORED : KVC_PLACE_OUTCOME, done ? KVC_SHORT : KVC_REFUSED,
                    done ? LAW(KEYS) : LAW(REFUSE));
            } else {
                bad(s, done ? KVC_KEYS : KVC_REFUSE, done ? KVC_PLACE_STORED : KVC_PLACE_OUTCOME, done ? KVC_SHORT : KVC_REFUSED,
                    NONE);
            }
            end(s);
        }
    }
}

Test(judge, state) {
    tiny *subject = tiny_open("{\"name\":\"recurrent\",\"salt\":4,\"law\":\"STATE\",\"rule\":\"folded\",\"dims\":[\"batch\",\"heads\",\"key_dim\"],"
                              "\"returned\":\"state\"}",
                              RULE_ERROR("recurrent", "refuse", "RuntimeError") "," RULE("claim", "croppable"));
    scene *s = begin(subject);
    see(s, "append 2", "33");
    s->seen->length[0] = s->seen->position[0] = 2;
    good(s);
    refuse(s, "crop -1", "RuntimeError", "33");
    s->seen->length[0] = s->seen->position[0] = 2;
    good(s);
    see(s, "append 1", "33");
    s->seen->length[0] = s->seen->position[0] = 3;
    show(s, "returned.recurrent", "1026");
    bad(s, KVC_STATE, KVC_PLACE_STORED, KVC_WRONG_VALUE, NONE);
    end(s);
    subject = tiny_open("{\"name\":\"recurrent\",\"salt\":4,\"law\":\"STATE\",\"rule\":\"folded\",\"dims\":[\"batch\",\"heads\",\"key_dim\"]}",
                        RULE_ERROR("recurrent", "refuse", "RuntimeError"));
    s = begin(subject);
    see(s, "append 2", "33");
    s->seen->length[0] = s->seen->position[0] = 2;
    good(s);
    see(s, "crop -1", "33");
    s->seen->length[0] = s->seen->position[0] = 1;
    bad(s, KVC_REFUSE, KVC_PLACE_OUTCOME, KVC_NOT_REFUSED, NONE);
    cr_expect_eq(s->failure.rule, KVC_CONTRACT_RECURRENT);
    end(s);
}

Test(judge, address) {
    tiny *subject = tiny_open(KEYS("fixed", ",\"static\":true"), RULE("overflow", "refuse"));
    subject->params.capacity = 2;
    scene *s = begin(subject);
    see(s, "append 1", "0 -");
    s->seen->length[0] = s->seen->position[0] = 1;
    find(s, "keys")->address = 4096;
    good(s);
    see(s, "reset", "0 -");
    s->seen->length[0] = s->seen->position[0] = 0;
    find(s, "keys")->address = 4096;
    good(s);
    see(s, "append 1", "1 -");
    s->seen->length[0] = s->seen->position[0] = 1;
    find(s, "keys")->address = 8192;
    bad(s, KVC_ADDRESS, KVC_PLACE_ADDRESS, KVC_MOVED, NONE);
    /* Where no address is told none is judged, and another sequence begins anew. */
    cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
    see(s, "append 1", "0 -");
    s->seen->length[0] = s->seen->position[0] = 1;
    find(s, "keys")->address = 16384;
    good(s);
    see(s, "append 1", "0 1");
    good(s);
    /* A copy or a saved cache has buffers of its own, which then stay. */
    cr_assert(kvc_judge_start(s->judge, &subject->plan, NULL));
    see(s, "append 2", "0 1");
    find(s, "keys")->address = 4096;
    good(s);
    see(s, "pickle", "0 1");
    find(s, "keys")->address = 8192;
    good(s);
    see(s, "reorder 0", "0 1");
    find(s, "keys")->address = 4096;
    bad(s, KVC_ADDRESS, KVC_PLACE_ADDRESS, KVC_MOVED, NONE);
    end(s);
}

Test(judge, alias) {
    scene *s = full();
    see(s, "append 2", "0 1");
    show(s, "input.0.keys", "0 1");
    show(s, "earlier.0.keys", "0 1");
    good(s);
    see(s, "crop -1", "0");
    show(s, "input.0.keys", "0 1");
    show(s, "earlier.0.keys", "0 1");
    good(s);
    see(s, "append 1", "0 2");
    show(s, "input.0.keys", "0 1");
    show(s, "earlier.0.keys", "0 2");
    show(s, "input.1.keys", "2");
    show(s, "earlier.1.keys", "0 2");
    bad(s, KVC_ALIAS, KVC_PLACE_EARLIER, KVC_WRITTEN, NONE);
    cr_expect_eq(s->failure.slot, 0);
    end(s);
    s = full();
    see(s, "append 2", "0 1");
    show(s, "input.0.values", "0 1");
    good(s);
    see(s, "crop -1", "0");
    show(s, "input.0.values", "0 -");
    bad(s, KVC_ALIAS, KVC_PLACE_KEPT, KVC_WRITTEN, NONE);
    cr_expect_eq(s->failure.slot, 1);
    end(s);
    /* An input that was written by the append that took it. */
    s = full();
    see(s, "append 2", "0 1");
    show(s, "input.0.values", "0 -");
    bad(s, KVC_ALIAS, KVC_PLACE_INPUT, KVC_WRITTEN, NONE);
    end(s);
}

/* However they lie: tensors that stand where they stood hold what they held, to the last byte; another place is no change. */
Test(judge, alias_in_place) {
    for (int way = LIES_DENSE; way < LIES_WAYS; way++) {
        for (int wrong = 0; wrong < 4; wrong++) {
            scene *s = full();
            kvc_tensor kept[4];
            int first;
            unsigned char *last;
            s->lies = way;
            see(s, "append 2", "0 1");
            first = s->seen->tensors;
            show(s, "input.0.keys", "0 1");
            show(s, "input.0.values", "0 1");
            show(s, "earlier.0.keys", "0 1");
            show(s, "earlier.0.values", "0 1");
            memcpy(kept, &s->seen->tensor[first], sizeof kept);
            good(s);
            for (int round = 0; round < 3; round++) {
                see(s, "crop 0", "0 1");
                memcpy(&s->seen->tensor[s->seen->tensors], kept, sizeof kept);
                if (round == 1) {
                    size_t size = (size_t)kvc_tensor_element(&kept[wrong], kvc_tensor_elements(&kept[wrong]) - 1) + 8;
                    unsigned char *copy = s->memory->byte + s->memory->used;
                    s->memory->used += size;
                    memcpy(copy, kept[wrong].data, size);
                    s->seen->tensor[s->seen->tensors + wrong].data = copy;
                }
                s->seen->tensors += 4;
                if (round < 2) {
                    good(s);
                }
            }
            last = (unsigned char *)(uintptr_t)kept[wrong].data + kvc_tensor_element(&kept[wrong], kvc_tensor_elements(&kept[wrong]) - 1);
            *last ^= 1;
            bad(s, KVC_ALIAS, wrong < 2 ? KVC_PLACE_KEPT : KVC_PLACE_EARLIER, KVC_WRITTEN, NONE);
            cr_expect_eq(s->failure.slot, wrong % 2);
            end(s);
        }
    }
}

/* What the contract calls `live` may change. */
Test(judge, live_returns) {
    scene *s = begin(tiny_open(FULL, RULE("returned_tensors", "live")));
    see(s, "append 2", "0 1");
    show(s, "earlier.0.keys", "0 1");
    good(s);
    see(s, "crop -1", "0");
    show(s, "earlier.0.keys", "0");
    good(s);
    end(s);
}

Test(judge, position) {
    static const struct {
        int64_t position;
        kvc_deviation deviation;
    } table[] = {{3, KVC_TOO_HIGH}, {1, KVC_TOO_LOW}, {-1, KVC_NEGATIVE}};
    for (size_t at = 0; at < sizeof table / sizeof table[0]; at++) {
        scene *s = full_with("append 3", "0 1 2");
        see(s, "crop -1", "0 1");
        s->seen->position[0] = table[at].position;
        bad(s, KVC_POSITION, KVC_PLACE_POSITION, table[at].deviation, NONE);
        end(s);
    }
}

/* A state of the subject's own making is digested, for RESUME and CHUNK to compare. */
Test(judge, opaque) {
    static const unsigned char one[8] = {1};
    static const unsigned char two[8] = {2};
    uint64_t digests[3];
    const unsigned char *const data[3] = {one, two, one};
    for (int at = 0; at < 3; at++) {
        scene *s = begin(tiny_open("{\"name\":\"summary\",\"salt\":0,\"law\":\"STATE\",\"rule\":\"opaque\",\"dims\":[\"batch\"],\"dtype\":\"int64\"}",
                                   RULE("recurrent", "refuse")));
        see(s, "append 3", "0");
        s->seen->length[0] = s->seen->position[0] = 3;
        find(s, "summary")->data = data[at];
        good(s);
        digests[at] = kvc_judge_opaque(s->judge);
        end(s);
    }
    cr_expect_eq(digests[0], digests[2]);
    cr_expect_neq(digests[0], digests[1]);
}

/* A cache without a length: nothing is said of lengths, masks and positions that it does not report. */
Test(judge, no_length) {
    scene *s = full();
    s->subject->spec.length = 0;
    see(s, "append 3", "0 1 2");
    s->seen->length[0] = s->seen->position[0] = s->seen->mask_length[0] = s->seen->mask_offset[0] = KVC_ABSENT;
    good(s);
    end(s);
}

Test(judge, assumed_steps) {
    scene *s = full();
    kvc_op append = op_of("append 3");
    kvc_op positive = op_of("crop 1");
    cr_assert(kvc_judge_assume(s->judge, &append));
    cr_assert(kvc_judge_assume(s->judge, &positive));
    see(s, "crop -1", "0 1");
    good(s);
    cr_expect_eq(s->failure.step, 2);
    end(s);
}

Test(judge, numbers) {
    static const int32_t numbers[] = {7, 70, 700};
    scene *s = full();
    cr_assert(kvc_judge_start(s->judge, &s->subject->plan, numbers));
    see(s, "append 2", "7 70");
    good(s);
    see(s, "append 1", "7 70 700");
    good(s);
    end(s);
}

Test(judge, naming) {
    kvc_failure failure = {.law = KVC_KEYS};
    kvc_failure_add(&failure, KVC_VALUES);
    cr_expect_eq((int)failure.law, KVC_KEYS);
    cr_expect_eq(failure.also, LAW(VALUES));
    kvc_failure_add(&failure, KVC_CLAMP);
    cr_expect_eq((int)failure.law, KVC_CLAMP);
    cr_expect_eq(failure.also, LAW(VALUES) | LAW(KEYS));
    kvc_failure_add(&failure, KVC_CLAMP);
    cr_expect_eq(failure.also, LAW(VALUES) | LAW(KEYS));
}

/* The laws in the order in which they name a failure. */
Test(judge, laws) {
    static const char *const names[KVC_LAWS] = {"ALIVE", "CALL",  "HONEST", "REFUSE", "ATOMIC", "CLAMP",   "ZERO",
                                                "RESET", "BATCH", "SAVE",  "LENGTH", "INDEX",  "STATE", "KEYS",    "VALUES",
                                                "RETURN", "MASK", "ADDRESS", "ALIAS", "ISOLATION", "RESUME", "CHUNK", "POSITION"};
    kvc_law law = KVC_ALIVE;
    for (int at = 0; at < KVC_LAWS; at++) {
        cr_expect_str_eq(kvc_law_name((kvc_law)at), names[at]);
        cr_expect(kvc_law_parse(names[at], &law));
        cr_expect_eq((int)law, at);
        cr_expect_gt(strlen(kvc_law_text((kvc_law)at)), (size_t)10);
    }
    cr_expect_not(kvc_law_parse("keys", &law));
    cr_expect_str_eq(kvc_law_name((kvc_law)KVC_LAWS), "?");
}
