#include "reference/params.h"

#include <string.h>

static const char *const dtype_words[] = {"float32", "float16", "bfloat16", "float64", "int64", NULL};
static const char *const input_words[] = {"float32", "float16", "bfloat16", "float64", NULL};
static const char *const layout_words[] = {"contiguous", "strided", NULL};
static const char *const values_words[] = {"digits", "two_levels", NULL};
static const char *const call_words[] = {"position",  "keyword",           "deprecated",
                                         "container", "container_keyword", "container_deprecated",
                                         "inference", NULL};

static const kvc_param_info table[KVC_PARAMS] = {
    {"batch", offsetof(kvc_params, batch), 1, KVC_ROWS_MAX, 1, NULL},
    {"heads", offsetof(kvc_params, heads), 1, 64, 1, NULL},
    {"key_dim", offsetof(kvc_params, key_dim), 1, 4096, 8, NULL},
    {"value_dim", offsetof(kvc_params, value_dim), 1, 4096, 8, NULL},
    {"index_dim", offsetof(kvc_params, index_dim), 1, 4096, 8, NULL},
    {"channels", offsetof(kvc_params, channels), 1, 4096, 8, NULL},
    {"window", offsetof(kvc_params, window), 1, 65536, 4, NULL},
    {"capacity", offsetof(kvc_params, capacity), 1, 65536, 8, NULL},
    {"kernel", offsetof(kvc_params, kernel), 1, 4096, 3, NULL},
    {"states", offsetof(kvc_params, states), 1, 8, 1, NULL},
    {"block", offsetof(kvc_params, block), 1, 65536, 4, NULL},
    {"keep", offsetof(kvc_params, keep), 0, 65536, 0, NULL},
    {"residual", offsetof(kvc_params, residual), 1, 65536, 4, NULL},
    {"dtype", offsetof(kvc_params, dtype), 0, 3, KVC_FLOAT32, input_words},
    {"layout", offsetof(kvc_params, layout), 0, 1, KVC_CONTIGUOUS, layout_words},
    {"values", offsetof(kvc_params, values), 0, KVC_ENCODINGS - 1, KVC_DIGITS, values_words},
    {"call", offsetof(kvc_params, call), 0, KVC_CALLS - 1, KVC_CALL_POSITION, call_words},
    {"watch", offsetof(kvc_params, watch), 0, 1, 0, NULL},
    {"parts", offsetof(kvc_params, parts), 0, 255, 0, NULL},
    {"layers", offsetof(kvc_params, layers), 0, 255, 0, NULL},
    {"sequences", offsetof(kvc_params, sequences), 1, 4, 1, NULL},
    {"snapshots", offsetof(kvc_params, snapshots), 0, 64, 0, NULL},
    {"step", offsetof(kvc_params, step), 1, 4096, 8, NULL},
    {"load", offsetof(kvc_params, load), 1, 4096, 3, NULL},
    {"chunk", offsetof(kvc_params, chunk), 0, 65536, 0, NULL},
    {"left", offsetof(kvc_params, left), 0, 1, 0, NULL},
};

const kvc_param_info *kvc_param_table(void) {
    return table;
}

int kvc_param_find(const char *name) {
    for (int i = 0; i < KVC_PARAMS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int32_t kvc_param_get(const kvc_params *params, int index) {
    int32_t value;
    memcpy(&value, (const char *)params + table[index].offset, sizeof value);
    return value;
}

void kvc_param_set(kvc_params *params, int index, int32_t value) {
    memcpy((char *)params + table[index].offset, &value, sizeof value);
}

kvc_params kvc_params_standard(void) {
    kvc_params params;
    memset(&params, 0, sizeof params);
    for (int i = 0; i < KVC_PARAMS; i++) {
        kvc_param_set(&params, i, table[i].standard);
    }
    return params;
}

const char *kvc_dtype_name(kvc_dtype dtype) {
    return dtype_words[dtype];
}

int kvc_dtype_parse(const char *name, kvc_dtype *dtype) {
    for (int i = 0; i < KVC_DTYPES; i++) {
        if (strcmp(dtype_words[i], name) == 0) {
            *dtype = (kvc_dtype)i;
            return 1;
        }
    }
    return 0;
}
