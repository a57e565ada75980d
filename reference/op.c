#include "reference/op.h"

#include <stdio.h>
#include <string.h>

static const char *const names[KVC_OP_KINDS] = {"append", "crop", "reset", "reorder", "select", "repeat", "record",
                                                "offload", "prefetch", "initialize", "copy", "pickle",
                                                "trim", "trim_front", "save", "state", "quantize"};

const char *kvc_op_name(kvc_op_kind kind) {
    return names[kind];
}

int kvc_op_parse_name(const char *name, kvc_op_kind *kind) {
    for (int i = 0; i < KVC_OP_KINDS; i++) {
        if (strcmp(names[i], name) == 0) {
            *kind = (kvc_op_kind)i;
            return 1;
        }
    }
    return 0;
}

int kvc_op_has_number(kvc_op_kind kind) {
    return kind == KVC_APPEND || kvc_op_is_rollback((int)kind) || kind == KVC_REPEAT || kind == KVC_RECORD;
}

int kvc_op_has_rows(kvc_op_kind kind) {
    return kind == KVC_REORDER || kind == KVC_SELECT;
}

static int has_number(const kvc_op *op) {
    return kvc_op_has_number((kvc_op_kind)op->kind);
}

static int has_rows(const kvc_op *op) {
    return kvc_op_has_rows((kvc_op_kind)op->kind);
}

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int64_t magnitude(int32_t n) {
    return n < 0 ? -(int64_t)n : (int64_t)n;
}

int kvc_op_compare(const kvc_op *a, const kvc_op *b) {
    int order = compare_numbers(a->kind, b->kind);
    if (order == 0 && has_number(a)) {
        order = compare_numbers(magnitude(a->n), magnitude(b->n));
        if (order == 0) {
            order = compare_numbers(a->n, b->n);
        }
    }
    if (order == 0 && has_rows(a)) {
        order = compare_numbers(a->count, b->count);
        for (size_t i = 0; order == 0 && i < a->count && i < KVC_ROWS_MAX; i++) {
            order = compare_numbers(a->rows[i], b->rows[i]);
        }
    }
    return order;
}

int64_t kvc_op_weight(const kvc_op *op) {
    /* An append of one token is the plainer way to a cache that has its memory, and a plainer one than an append of none. */
    return op->kind == KVC_APPEND && op->n == 0 ? 2 : has_number(op) ? magnitude(op->n) : op->kind == KVC_INITIALIZE ? 2 : 1;
}

static int64_t total_weight(const kvc_op *ops, size_t count) {
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += kvc_op_weight(&ops[i]);
    }
    return total;
}

int kvc_ops_compare(const kvc_op *a, size_t a_count, const kvc_op *b, size_t b_count) {
    if (a_count != b_count) {
        return a_count < b_count ? -1 : 1;
    }
    int order = compare_numbers(total_weight(a, a_count), total_weight(b, b_count));
    for (size_t i = 0; order == 0 && i < a_count; i++) {
        order = kvc_op_compare(&a[i], &b[i]);
    }
    return order;
}

int kvc_op_format(const kvc_op *op, char *buffer, size_t size) {
    if (has_number(op)) {
        return snprintf(buffer, size, "%s %d", kvc_op_name((kvc_op_kind)op->kind), (int)op->n);
    }
    if (!has_rows(op)) {
        return snprintf(buffer, size, "%s", kvc_op_name((kvc_op_kind)op->kind));
    }
    /* Rows are below 256: three digits, a comma and a space each. */
    char list[5 * KVC_ROWS_MAX + 1];
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < op->count && i < KVC_ROWS_MAX; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i == 0 ? "" : ", ", (unsigned)op->rows[i]);
    }
    return snprintf(buffer, size, "%s [%s]", kvc_op_name((kvc_op_kind)op->kind), list);
}
