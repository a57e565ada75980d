#include "reference/op.h"

#include <stdio.h>
#include <string.h>

static const char *const names[KVC_OP_KINDS] = {"append", "crop", "reset", "reorder", "select", "repeat", "record",
                                                "offload", "prefetch", "initialize", "copy", "pickle",
                                                "trim", "trim_front", "save", "state", "quantize",
                                                "decode", "seq_rm", "seq_cp", "seq_keep", "seq_add", "seq_div",
                                                "clear", "seq_save", "seq_restore",
                                                "append_rows", "merge", "extract", "extend", "split"};
static const char *const arguments[KVC_OP_KINDS] = {"n", "n", "", "r", "r", "n", "n", "", "", "", "", "",
                                                    "n", "", "", "", "",
                                                    "rnb", "sbe", "sobe", "s", "sben", "sben", "n", "s", "sn",
                                                    "r", "r", "n", "r", "nr"};

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

const char *kvc_op_arguments(kvc_op_kind kind) {
    return arguments[kind];
}

int32_t kvc_op_argument(const kvc_op *op, char letter) {
    switch (letter) {
    case 's':
        return op->sequence;
    case 'o':
        return op->other;
    case 'b':
        return op->begin;
    case 'e':
        return op->end;
    default:
        return op->n;
    }
}

void kvc_op_set_argument(kvc_op *op, char letter, int32_t value) {
    switch (letter) {
    case 's':
        op->sequence = value;
        return;
    case 'o':
        op->other = value;
        return;
    case 'b':
        op->begin = value;
        return;
    case 'e':
        op->end = value;
        return;
    default:
        op->n = value;
    }
}

void kvc_op_bounds(kvc_op_kind kind, char letter, int32_t *low, int32_t *high) {
    static const struct {
        kvc_op_kind kind;
        int32_t low;
        int32_t high;
    } numbers[] = {{KVC_APPEND, 0, KVC_TOKENS_MAX}, {KVC_REPEAT, 1, KVC_ROWS_MAX}, {KVC_RECORD, 0, 1},
                   {KVC_DECODE, 1, KVC_TOKENS_MAX / KVC_ROWS_MAX}, {KVC_CLEAR, 0, 1}, {KVC_SEQ_RESTORE, 0, 64},
                   {KVC_EXTRACT, 0, KVC_ROWS_MAX - 1}, {KVC_SPLIT, 0, KVC_TOKENS_MAX}};
    *low = -INT32_MAX;
    *high = INT32_MAX;
    for (size_t i = 0; letter == 'n' && i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].kind == kind) {
            *low = numbers[i].low;
            *high = numbers[i].high;
        }
    }
    if (letter == 'r') {
        *low = 0;
        *high = kvc_op_has_counts(kind) ? KVC_COUNT_MAX : KVC_ROWS_MAX - 1;
    } else if (letter == 's' || letter == 'o') {
        *low = kind == KVC_SEQ_RM ? -1 : 0;
        *high = KVC_ROWS_MAX - 1;
    } else if (letter != 'n') {
        *low = -KVC_TOKENS_MAX;
        *high = KVC_TOKENS_MAX;
    }
}

int kvc_op_omits(const kvc_op *op, char letter) {
    return op->kind == KVC_DECODE && letter == 'b' && op->begin == 0;
}

int kvc_op_has_number(kvc_op_kind kind) {
    return strchr(arguments[kind], 'n') != NULL;
}

int kvc_op_has_rows(kvc_op_kind kind) {
    return strchr(arguments[kind], 'r') != NULL;
}

int kvc_op_names_rows(kvc_op_kind kind) {
    return kind == KVC_REORDER || kind == KVC_SELECT || kind == KVC_MERGE || kind == KVC_SPLIT;
}

int kvc_op_has_counts(kvc_op_kind kind) {
    return kind == KVC_APPEND_ROWS || kind == KVC_EXTEND;
}

int32_t kvc_op_tokens_of_rows(const kvc_op *op) {
    int32_t most = op->kind == KVC_SPLIT ? op->n : op->kind == KVC_DECODE ? op->n * op->count : 0;
    for (int i = 0; kvc_op_has_counts((kvc_op_kind)op->kind) && i < op->count; i++) {
        most = op->rows[i] > most ? op->rows[i] : most;
    }
    return most;
}

/* Whether some rows of a batch, in order, are meant, and not all. */
static int is_part(const kvc_op *op, int32_t rows) {
    for (int i = 1; i < op->count; i++) {
        if (op->rows[i] <= op->rows[i - 1]) {
            return 0;
        }
    }
    return op->count < rows;
}

int32_t kvc_op_rows_after(const kvc_op *op, int32_t rows) {
    int64_t after = rows;
    for (int i = 0; kvc_op_names_rows((kvc_op_kind)op->kind) && i < op->count; i++) {
        if (op->rows[i] >= rows) {
            return 0;
        }
    }
    switch ((kvc_op_kind)op->kind) {
    case KVC_REORDER:
    case KVC_APPEND_ROWS:
        after = op->count == rows ? rows : 0;
        break;
    case KVC_SELECT:
    case KVC_MERGE:
        after = op->count;
        break;
    case KVC_REPEAT:
        after = op->n < 1 ? 0 : (int64_t)rows * op->n;
        break;
    case KVC_EXTEND:
        after = op->count > 0 ? rows + op->count : 0;
        break;
    case KVC_SPLIT:
        after = op->count > 0 && op->n >= 0 && is_part(op, rows) ? rows : 0;
        break;
    case KVC_EXTRACT:
        after = op->n >= 0 && op->n < rows;
        break;
    default:
        break;
    }
    return after <= KVC_ROWS_MAX ? (int32_t)after : 0;
}

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int64_t magnitude(int32_t n) {
    return n < 0 ? -(int64_t)n : (int64_t)n;
}

/* How far an argument is from the plainest: no bound for a range, sequence 0; a number that means any sequence comes last. */
static int64_t distance(const kvc_op *op, char letter) {
    int32_t value = kvc_op_argument(op, letter);
    if (letter == 's') {
        return value < 0 ? KVC_ROWS_MAX : value;
    }
    if ((letter == 'b' || letter == 'e') && op->kind != KVC_DECODE) {
        return value < 0 ? 0 : (int64_t)value + 1;
    }
    return magnitude(value);
}

static int compare_rows(const kvc_op *a, const kvc_op *b) {
    int order = compare_numbers(a->count, b->count);
    for (size_t i = 0; order == 0 && i < a->count && i < KVC_ROWS_MAX; i++) {
        order = compare_numbers(a->rows[i], b->rows[i]);
    }
    return order;
}

int kvc_op_compare(const kvc_op *a, const kvc_op *b) {
    int order = compare_numbers(a->kind, b->kind);
    for (const char *letter = arguments[a->kind]; order == 0 && *letter != '\0'; letter++) {
        int32_t left = kvc_op_argument(a, *letter);
        int32_t right = kvc_op_argument(b, *letter);
        if (*letter == 'r') {
            order = compare_rows(a, b);
            continue;
        }
        order = compare_numbers(distance(a, *letter), distance(b, *letter));
        if (order == 0) {
            order = compare_numbers(left, right);
        }
    }
    return order;
}

int64_t kvc_op_weight(const kvc_op *op) {
    const char *letters = arguments[op->kind];
    int64_t weight = 0;

    if (kvc_op_has_counts((kvc_op_kind)op->kind)) {
        int64_t tokens = 1;
        for (int i = 0; i < op->count; i++) {
            tokens += op->rows[i];
        }
        return tokens;
    }
    if (op->kind == KVC_EXTRACT || op->kind == KVC_SPLIT) {
        return 1 + magnitude(op->n);
    }
    /* An append of one token is the plainer way to a cache that has its memory, and a plainer one than an append of none. */
    if (op->kind == KVC_INITIALIZE || (op->kind == KVC_APPEND && op->n == 0)) {
        return 2;
    }
    if (strcmp(letters, "n") == 0) {
        return magnitude(op->n);
    }
    for (; *letters != '\0'; letters++) {
        weight += *letters == 'r' ? (op->kind == KVC_DECODE ? op->count : 0) : distance(op, *letters);
    }
    return weight > 0 ? weight : 1;
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
    /* Rows are below 256: three digits, a comma and a space each. Other arguments have at most eleven characters and a comma. */
    char list[5 * KVC_ROWS_MAX + 80];
    size_t used = 0;
    list[0] = '\0';
    for (const char *letter = arguments[op->kind]; *letter != '\0'; letter++) {
        if (kvc_op_omits(op, *letter)) {
            continue;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, " ");
        if (*letter != 'r') {
            used += (size_t)snprintf(list + used, sizeof list - used, "%d", (int)kvc_op_argument(op, *letter));
            continue;
        }
        for (size_t i = 0; i < op->count && i < KVC_ROWS_MAX; i++) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i == 0 ? "[" : ", ", (unsigned)op->rows[i]);
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s", op->count > 0 ? "]" : "[]");
    }
    return snprintf(buffer, size, "%s%s", kvc_op_name((kvc_op_kind)op->kind), list);
}
