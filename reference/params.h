/*
 * The parameters of a case as a table: their names, limits and words. What they are stands in the plugin interface. A kvc_params
 * is copied by value and owns nothing; `parts` and `layers` are places in the lists of the variant's spec.
 */
#ifndef KVC_REFERENCE_PARAMS_H
#define KVC_REFERENCE_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "kvconform/plugin.h"

enum { KVC_DTYPES = 5, KVC_ENCODINGS = 2, KVC_CALLS = KVC_CALL_INFERENCE + 1 };

/* One row of the table of parameters: its name in JSON and where it lies in kvc_params. */
typedef struct kvc_param_info {
    const char *name;
    size_t offset;
    int32_t minimum;
    int32_t maximum;
    int32_t standard; /* the default */
    const char *const *words; /* for parameters written as words: a NULL-ended list, otherwise NULL */
} kvc_param_info;

enum { KVC_PARAMS = 26 };
/* The table, in the order of the struct. */
const kvc_param_info *kvc_param_table(void);
/* Index of `name` in the table, or -1. */
int kvc_param_find(const char *name);
int32_t kvc_param_get(const kvc_params *params, int index);
void kvc_param_set(kvc_params *params, int index, int32_t value);
/* All parameters at their default. */
kvc_params kvc_params_standard(void);

const char *kvc_dtype_name(kvc_dtype dtype);
/* Returns 1 and sets *dtype, or 0 for an unknown name. */
int kvc_dtype_parse(const char *name, kvc_dtype *dtype);

#endif
