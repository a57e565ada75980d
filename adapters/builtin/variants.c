#include "adapters/builtin/builtin_internal.h"

#include <string.h>

#include "adapters/builtin/ragged.h"

#define TEXT_NAMES(prefix)                                                                                              \
    {                                                                                                                   \
        prefix "keys", prefix "values", prefix "indexer_keys", prefix "conv_states.0", prefix "recurrent_states.0",     \
            prefix "summary", prefix "entries", prefix "rest", prefix "overlap", prefix "count", prefix "cross_keys",   \
            prefix "cross_values", prefix "residual_keys", prefix "residual_values"                                     \
    }

static const char *const stored_names[KVC_LAYERS_MAX + 1][KVC_NAMES] = {
    TEXT_NAMES(""),        TEXT_NAMES("layer0."), TEXT_NAMES("layer1."), TEXT_NAMES("layer2."), TEXT_NAMES("layer3."),
    TEXT_NAMES("layer4."), TEXT_NAMES("layer5."), TEXT_NAMES("layer6."), TEXT_NAMES("layer7."),
};

static const char *const returned_names[KVC_LAYERS_MAX + 1][KVC_NAMES] = {
    TEXT_NAMES("returned."),        TEXT_NAMES("layer0.returned."), TEXT_NAMES("layer1.returned."),
    TEXT_NAMES("layer2.returned."), TEXT_NAMES("layer3.returned."), TEXT_NAMES("layer4.returned."),
    TEXT_NAMES("layer5.returned."), TEXT_NAMES("layer6.returned."), TEXT_NAMES("layer7.returned."),
};

static const char *const original_names[KVC_LAYERS_MAX + 1][KVC_NAMES] = {
    TEXT_NAMES("original."),        TEXT_NAMES("original.layer0."), TEXT_NAMES("original.layer1."),
    TEXT_NAMES("original.layer2."), TEXT_NAMES("original.layer3."), TEXT_NAMES("original.layer4."),
    TEXT_NAMES("original.layer5."), TEXT_NAMES("original.layer6."), TEXT_NAMES("original.layer7."),
};

#define KEYS(rule) {KVC_PART_##rule, KVC_NAME_KEYS, KVC_SHAPE_KEYS, 0, 1}
#define VALUES(rule) {KVC_PART_##rule, KVC_NAME_VALUES, KVC_SHAPE_VALUES, 1, 1}

static const kvc_variant_info variants[] = {
    {"full", 2, 1, 0, 1, 0, {KEYS(ALL), VALUES(ALL)}},
    {"indexed", 3, 1, 0, 1, 0, {KEYS(ALL), VALUES(ALL), {KVC_PART_ALL, KVC_NAME_INDEX, KVC_SHAPE_INDEX, 2, 1}}},
    {"window", 2, 1, 1, 1, 1, {KEYS(WINDOW), VALUES(WINDOW)}},
    {"convolution", 1, 1, 1, 0, 1, {{KVC_PART_LAST, KVC_NAME_CONVOLUTION, KVC_SHAPE_TURNED, 3, 1}}},
    {"recurrent", 1, 1, 0, 0, 1, {{KVC_PART_FOLDED, KVC_NAME_RECURRENT, KVC_SHAPE_STATE, 4, 1}}},
    {"running", 1, 1, 0, 0, 0, {{KVC_PART_OPAQUE, KVC_NAME_SUMMARY, KVC_SHAPE_SUMMARY, 0, 0}}},
    {"fixed", 2, 0, 0, 1, 0, {KEYS(FIXED), VALUES(FIXED)}},
    {"fixed_window", 2, 0, 0, 1, 1, {KEYS(FIXED_WINDOW), VALUES(FIXED_WINDOW)}},
    {"ring",
     2,
     1,
     0,
     0,
     0,
     {{KVC_PART_RING, KVC_NAME_KEYS, KVC_SHAPE_KEYS, 0, 0}, {KVC_PART_RING, KVC_NAME_VALUES, KVC_SHAPE_VALUES, 1, 0}}},
    {"blocks",
     2,
     1,
     0,
     0,
     0,
     {{KVC_PART_ENTRIES, KVC_NAME_ENTRIES, KVC_SHAPE_KEYS, 0, 0}, {KVC_PART_REST, KVC_NAME_REST, KVC_SHAPE_KEYS, 1, 0}}},
    {"overlap",
     4,
     1,
     0,
     0,
     0,
     {{KVC_PART_ENTRIES, KVC_NAME_ENTRIES, KVC_SHAPE_KEYS, 0, 1},
      {KVC_PART_REST, KVC_NAME_REST, KVC_SHAPE_KEYS, 1, 1},
      {KVC_PART_OVERLAP, KVC_NAME_OVERLAP, KVC_SHAPE_KEYS, 1, 1},
      {KVC_PART_COUNT, KVC_NAME_COUNT, KVC_SHAPE_NUMBER, 0, 1}}},
    {"prefix_window", 2, 1, 1, 1, 1, {KEYS(PREFIX), VALUES(PREFIX)}},
    {"fixed_prefix", 2, 0, 0, 1, 1, {KEYS(FIXED_PREFIX), VALUES(FIXED_PREFIX)}},
    {"nothing", 1, 1, 0, 0, 0, {{KVC_PART_NOTHING, KVC_NAME_KEYS, KVC_SHAPE_KEYS, 0, 0}}},
    {"cross",
     4,
     1,
     0,
     1,
     0,
     {{KVC_PART_CONSTANT, KVC_NAME_CROSS_KEYS, KVC_SHAPE_KEYS, 2, 0},
      {KVC_PART_CONSTANT, KVC_NAME_CROSS_VALUES, KVC_SHAPE_VALUES, 3, 0},
      KEYS(ALL),
      VALUES(ALL)}},
    {"quantised",
     4,
     1,
     0,
     1,
     0,
     {{KVC_PART_RESIDUAL, KVC_NAME_RESIDUAL_KEYS, KVC_SHAPE_KEYS, 0, 0},
      {KVC_PART_RESIDUAL, KVC_NAME_RESIDUAL_VALUES, KVC_SHAPE_VALUES, 1, 0},
      KEYS(QUANTISED),
      VALUES(QUANTISED)}},
    {"hybrid", 3, 1, 1, 1, 0, {{KVC_PART_LAST, KVC_NAME_CONVOLUTION, KVC_SHAPE_TURNED, 3, 1}, KEYS(ALL), VALUES(ALL)}},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

const kvc_variant_info *kvc_variant_find(const char *name, size_t length) {
    for (size_t i = 0; i < VARIANTS; i++) {
        if (strlen(variants[i].name) == length && memcmp(variants[i].name, name, length) == 0) {
            return &variants[i];
        }
    }
    return NULL;
}

const char *kvc_variant_name(size_t index) {
    if (index < VARIANTS) {
        return variants[index].name;
    }
    return index == VARIANTS ? "layers" : kvc_ragged_name(index - VARIANTS - 1);
}

const char *kvc_stored_name(int layer, kvc_part_name name) {
    return stored_names[layer + 1][name];
}

const char *kvc_returned_name(int layer, kvc_part_name name) {
    return returned_names[layer + 1][name];
}

const char *kvc_original_name(int layer, kvc_part_name name) {
    return original_names[layer + 1][name];
}
