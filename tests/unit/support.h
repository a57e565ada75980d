/* What several unit tests need: the shipped data, plans from small texts, ops in words, and tensors written as token numbers. */
#ifndef KVC_TESTS_UNIT_SUPPORT_H
#define KVC_TESTS_UNIT_SUPPORT_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/data.h"
#include "reference/op.h"
#include "reference/plan.h"
#include "kvconform/plugin.h"
#include "reference/values.h"

/* One rule of a contract, for every variant. `value` is JSON. */
#define RULE_JSON(rule, value)                                                                                                   \
    "{\"rule\":\"" rule "\",\"value\":" value ",\"variants\":[\"*\"],\"basis\":\"documented\",\"source\":\"a test\"}"
#define RULE(rule, value) RULE_JSON(rule, "\"" value "\"")
/* A rule with the one kind of error that is documented. */
#define RULE_ERROR(rule, value, error)                                                                                           \
    "{\"rule\":\"" rule "\",\"value\":\"" value "\",\"errors\":[\"" error                                                        \
    "\"],\"variants\":[\"*\"],\"basis\":\"documented\",\"source\":\"a test\"}"
/* A view `[batch, heads, tokens, channels]`. */
#define VIEW(name, salt, law, rule, dim, more)                                                                                   \
    "{\"name\":\"" name "\",\"salt\":" salt ",\"law\":\"" law "\",\"rule\":\"" rule                                              \
    "\",\"dims\":[\"batch\",\"heads\",\"tokens\",\"" dim "\"]" more "}"
#define KEYS(rule, more) VIEW("keys", "0", "KEYS", rule, "key_dim", more)
#define VALUES(rule, more) VIEW("values", "1", "VALUES", rule, "value_dim", more)
#define RETURNED(word) ",\"returned\":\"" word "\""

static inline void read_shipped(kvc_catalogue *catalogue) {
    char folder[4096];
    kvc_error error = {""};
    cr_assert(kvc_data_find(folder, sizeof folder, &error), "%s", error.text);
    cr_assert(kvc_data_catalogue(folder, catalogue, &error), "%s", error.text);
}

/* A way to damage a good text: the first `from` becomes `to`, and then the error must speak of `word`. */
typedef struct damage {
    const char *from;
    const char *to;
    const char *word;
} damage;

/* The damaged text, until the next call. */
static inline char *damaged_text(const char *good, const char *from, const char *to) {
    static char out[8192];
    const char *at = strstr(good, from);
    cr_assert_not_null(at, "%s", from);
    (void)snprintf(out, sizeof out, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return out;
}

/* It was refused, in one line that begins with `prefix`. */
static inline void expect_refused(const damage *how, int accepted, const char *prefix, const kvc_error *error) {
    cr_expect_not(accepted, "%s -> %s", how->from, how->to);
    cr_expect_eq(strncmp(error->text, prefix, strlen(prefix)), 0, "%s -> %s: %s", how->from, how->to, error->text);
    cr_expect_not_null(strstr(error->text, how->word), "%s -> %s: no \"%s\" in: %s", how->from, how->to, how->word, error->text);
    cr_expect_null(strchr(error->text, '\n'));
}

/* A catalogue of one variant `v` of subject `s` and one contract `c`, from JSON texts of views and rules. */
typedef struct tiny {
    kvc_catalogue catalogue;
    kvc_spec spec;
    kvc_contract contract;
    kvc_params params;
    kvc_plan plan;
} tiny;

/* The caller sets parameters in `params` and then calls tiny_plan. */
static inline tiny *tiny_open(const char *views, const char *rules) {
    static const char spec_format[] =
        "{\"schema\":\"kvconform-spec/1\",\"subject\":\"s\",\"variant\":\"v\",\"title\":\"of a test\",\"kind\":\"full\",\"claim\":true,"
        "\"ops\":[\"append\",\"crop\",\"reset\",\"reorder\",\"select\",\"repeat\",\"record\",\"offload\",\"prefetch\",\"initialize\","
        "\"copy\",\"pickle\"],"
        "\"params\":{\"batch\":[1,3],\"heads\":[1,2],\"key_dim\":[8,9],\"value_dim\":[8,10],\"index_dim\":[8,9],"
        "\"channels\":[8,9],\"window\":[1,9],\"capacity\":[1,9],\"kernel\":[1,9],\"states\":[1,2],\"block\":[2,4],\"keep\":[0,2],\"residual\":[1,9]},"
        "\"dtypes\":[\"float32\",\"float16\",\"bfloat16\",\"float64\"],\"views\":[%s]}";
    static const char contract_format[] =
        "{\"schema\":\"kvconform-contract/1\",\"id\":\"c\",\"subject\":\"s\",\"from\":\"1\",\"rules\":[%s]}";
    static char text[8192];
    kvc_error error = {""};
    tiny *out = calloc(1, sizeof *out);
    cr_assert_not_null(out);
    int length = snprintf(text, sizeof text, spec_format, views);
    cr_assert(kvc_spec_parse(text, (size_t)length, "spec", &out->spec, &error), "%s", error.text);
    length = snprintf(text, sizeof text, contract_format, rules);
    cr_assert(kvc_contract_parse(text, (size_t)length, "contract", &out->contract, &error), "%s", error.text);
    out->catalogue = (kvc_catalogue){.specs = 1, .spec = &out->spec, .contracts = 1, .contract = &out->contract};
    out->params = kvc_params_standard();
    return out;
}

static inline void tiny_plan(tiny *self) {
    kvc_error error = {""};
    cr_assert(kvc_plan_make(&self->catalogue, &self->contract, &self->spec, "v", &self->params, &self->plan, &error), "%s",
              error.text);
}

static inline void tiny_close(tiny *self) {
    kvc_contract_clear(&self->contract);
    free(self);
}

/* `append 3`, `crop -1`, `reorder 1 0`, `reset`. */
static inline kvc_op op_of(const char *text) {
    char name[16];
    int used = 0;
    kvc_op op = {0};
    kvc_op_kind kind = KVC_APPEND;
    cr_assert_eq(sscanf(text, "%15s%n", name, &used), 1);
    cr_assert(kvc_op_parse_name(name, &kind), "%s", text);
    op.kind = (uint8_t)kind;
    for (const char *rest = text + used; *rest != '\0';) {
        char *end = NULL;
        long number = strtol(rest, &end, 10);
        cr_assert_neq(end, rest, "%s", text);
        /* A number that stands before a list is `n`. */
        if (kvc_op_has_rows(kind) && !(kvc_op_has_number(kind) && rest == text + used)) {
            op.rows[op.count++] = (uint8_t)number;
        } else {
            op.n = (int32_t)number;
        }
        rest = end;
    }
    return op;
}

/* Bytes for the tensors of a test; freed together. */
typedef struct arena {
    size_t used;
    unsigned char byte[1 << 18];
} arena;

/* The cells of one row of a tensor in words. */
typedef struct cells {
    int count;
    struct {
        int32_t number;
        int row;
        int head; /* -1: the head it stands in */
        char kind; /* 't' a token, '0' zeros, '?' of no token */
    } cell[64];
} cells;

static inline const char *read_cells(const char *text, int row, cells *out) {
    out->count = 0;
    while (*text != '\0' && *text != '|') {
        if (*text == ' ') {
            text++;
            continue;
        }
        char *end = NULL;
        int at = out->count++;
        out->cell[at].row = row;
        out->cell[at].head = -1;
        out->cell[at].number = 0;
        out->cell[at].kind = *text == '-' ? '0' : *text == '?' ? '?' : 't';
        if (out->cell[at].kind != 't') {
            text++;
            continue;
        }
        out->cell[at].number = (int32_t)strtol(text, &end, 10);
        cr_assert_neq(end, text, "%s", text);
        if (*end == '@') {
            out->cell[at].row = (int)strtol(end + 1, &end, 10);
        }
        if (*end == '^') {
            out->cell[at].head = (int)strtol(end + 1, &end, 10);
        }
        text = end;
    }
    return *text == '|' ? text + 1 : text;
}

static inline int64_t axis_size(const kvc_plan *plan, kvc_dim dim, int64_t rows, int64_t tokens) {
    switch (dim) {
    case KVC_DIM_BATCH:
        return rows;
    case KVC_DIM_HEADS:
        return plan->params.heads;
    case KVC_DIM_TOKENS:
        return tokens;
    case KVC_DIM_ONE:
        return 1;
    case KVC_DIM_PLANES:
        return KVC_PLANES;
    case KVC_DIM_KEY:
        return plan->params.key_dim;
    case KVC_DIM_VALUE:
        return plan->params.value_dim;
    case KVC_DIM_INDEX:
        return plan->params.index_dim;
    case KVC_DIM_CHANNELS:
        return plan->params.channels;
    case KVC_DIM_KEY_TWICE:
        return 2 * plan->params.key_dim;
    case KVC_DIM_NEW:
        return tokens;
    case KVC_DIM_INDEX_TWICE:
        return 2 * plan->params.index_dim;
    }
    return 0;
}

/*
 * A tensor of a plan's slot. One row after another, separated by `|`: `0 1 2@1` are tokens 0, 1 and token 2 of row 1, `2^1` is
 * of head 1, `-` are zeros, `?` are elements that belong to no token. All rows have as many cells as the first.
 */
static inline kvc_tensor tensor_of(arena *memory, const kvc_plan *plan, int slot, const char *text) {
    const kvc_slot *place = &plan->slot[slot];
    kvc_tensor tensor = {.name = place->name, .dims = place->view->dims, .dtype = (int32_t)place->dtype};
    size_t size = kvc_dtype_size(place->dtype);
    cells row[KVC_ROWS_MAX];
    int64_t rows = 0;
    int64_t elements = 1;
    do {
        text = read_cells(text, (int)rows, &row[rows]);
        rows++;
    } while (*text != '\0');
    for (int axis = 0; axis < tensor.dims; axis++) {
        tensor.shape[axis] = axis_size(plan, place->view->dim[axis], rows, row[0].count);
        elements *= tensor.shape[axis];
    }
    unsigned char *data = memory->byte + memory->used;
    cr_assert_leq(memory->used + (size_t)elements * size, sizeof memory->byte);
    memory->used += ((size_t)elements * size + 15) / 16 * 16;
    tensor.data = data;
    for (int64_t index = 0; index < elements; index++) {
        int64_t rest = index;
        int64_t coordinate[KVC_DIMS_MAX] = {0};
        int channel = 0;
        for (int axis = tensor.dims - 1; axis >= 0; axis--) {
            coordinate[axis] = rest % tensor.shape[axis];
            rest /= tensor.shape[axis];
        }
        for (int axis = 0; axis < tensor.dims; axis++) {
            if (place->view->dim[axis] >= KVC_DIM_KEY) {
                channel = channel * (int)tensor.shape[axis] + (int)coordinate[axis];
            }
        }
        int64_t at = place->tokens_axis >= 0 ? coordinate[place->tokens_axis] : 0;
        const cells *line = &row[coordinate[place->batch_axis]];
        int head = place->heads_axis >= 0 ? (int)coordinate[place->heads_axis] : 0;
        int64_t value = 0;
        if (line->cell[at].kind == 't') {
            head = line->cell[at].head >= 0 ? line->cell[at].head : head;
            value = place->dtype == KVC_INT64
                        ? kvc_value_integer(line->cell[at].number, line->cell[at].row, head)
                        : place->encoding == KVC_TWO_LEVELS
                        ? kvc_value_level(place->salt, line->cell[at].number, line->cell[at].row, head, channel)
                        : kvc_value(place->salt, line->cell[at].number, line->cell[at].row, head, channel);
        } else if (line->cell[at].kind == '?') {
            value = place->dtype == KVC_INT64 ? -5 : 11;
        }
        kvc_value_store(place->dtype, value, data + (size_t)index * size);
    }
    return tensor;
}

/* Ways in which a tensor may lie in memory. */
enum { LIES_DENSE = 0, LIES_TOKENS_FIRST, LIES_WITH_GAPS, LIES_REVERSED, LIES_WAYS };

/*
 * The same elements in another way: all rows and heads of a token together, with as many other bytes between any two elements, or
 * with the first axis innermost.
 */
static inline kvc_tensor laid_out(arena *memory, const kvc_slot *place, const kvc_tensor *tensor, int way) {
    kvc_tensor out = *tensor;
    int64_t elements = 1;
    size_t size = kvc_dtype_size((kvc_dtype)tensor->dtype);
    int64_t step = (int64_t)size * (way == LIES_WITH_GAPS ? 2 : 1);
    int outermost = way == LIES_TOKENS_FIRST ? place->tokens_axis : -1;
    if (way == LIES_DENSE) {
        return out;
    }
    for (int at = tensor->dims - 1; at >= 0; at--) {
        int axis = way == LIES_REVERSED ? tensor->dims - 1 - at : at;
        elements *= tensor->shape[axis];
        if (axis != outermost) {
            out.stride[axis] = step;
            step *= tensor->shape[axis];
        }
    }
    if (outermost >= 0) {
        out.stride[outermost] = step;
    }
    unsigned char *data = memory->byte + memory->used;
    size_t needed = 2 * (size_t)elements * size;
    cr_assert_leq(memory->used + needed, sizeof memory->byte);
    memory->used += (needed + 15) / 16 * 16;
    memset(data, 0x5a, needed);
    out.data = data;
    for (int64_t index = 0; index < elements; index++) {
        int64_t rest = index;
        int64_t offset = 0;
        for (int axis = tensor->dims - 1; axis >= 0; axis--) {
            offset += rest % tensor->shape[axis] * out.stride[axis];
            rest /= tensor->shape[axis];
        }
        memcpy(data + offset, (const unsigned char *)tensor->data + (size_t)index * size, size);
    }
    return out;
}

#endif
