#include "reference/spec.h"

#include <stdlib.h>
#include <string.h>

#include "reference/json.h"
#include "reference/values.h"

static const char *const rule_words[] = {"all",        "window",        "last",        "folded",  "fixed",    "fixed_window",
                                         "ring",       "blocks",        "block_rest",  "block_overlap", "block_count",
                                         "nothing",    "prefix_window", "fixed_prefix_window",    "residual",      "constant",    "flag",    "rotating", "chunked", "chunk_start", "count", "trimmed", "unused", "bytes", "seen", "seen_window", "opaque", "predicted", "agreed", NULL};
static const char *const dim_words[] = {"batch",     "heads",     "tokens",    "one", "planes", "key_dim",
                                        "value_dim", "index_dim", "channels",  "2*key_dim", "2*index_dim", "new", NULL};
static const char *const returned_words[] = {"none", "all", "window", "held_and_new", "held", "buffer", "state",
                                             "closed", "prior", "rotating", "seen", "block_start", "predicted", NULL};

/* Index of the text in a NULL-ended list, or -1 with an error that shows the list. */
static const char *const kind_words[] = {"full",       "static",    "window", "static window", "indexed",          "quantised",
                                         "compressed", "recurrent", "hybrid", "layers",        "encoder-decoder", "none",
                                         "model", NULL};

static int find_word(const char *text, const char *const *words, const char *name, const char *field, kvc_error *error)
{
    char list[256] = "";

    for (int at = 0; words[at] != NULL; at++) {
        if (strcmp(words[at], text) == 0)
            return at;
        if (strlen(list) + strlen(words[at]) + 3 < sizeof list) {
            if (list[0] != '\0')
                strcat(list, ", ");
            strcat(list, words[at]);
        }
    }
    kvc_error_set(error, "%s: field \"%s\": \"%.40s\", expected one of %s", name, field, text, list);
    return -1;
}

static int read_boolean(const cJSON *object, const char *name, const char *field, int standard, int *out,
                        kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);

    *out = standard;
    if (item == NULL)
        return 1;
    if (!cJSON_IsBool(item)) {
        kvc_error_set(error, "%s: field \"%s\": expected true or false", name, field);
        return 0;
    }
    *out = cJSON_IsTrue(item);
    return 1;
}

static int read_ops(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;

    if (!kvc_json_array(json, name, "ops", KVC_OP_KINDS, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        kvc_op_kind kind;
        if (!cJSON_IsString(item) || !kvc_op_parse_name(item->valuestring, &kind)) {
            kvc_error_set(error,
                          "%s: field \"ops\": expected ops of docs/protocol.md", name);
            return 0;
        }
        spec->ops |= 1u << kind;
    }
    if ((spec->ops & (1u << KVC_APPEND | 1u << KVC_DECODE)) == 0) {
        kvc_error_set(error, "%s: field \"ops\": expected append or decode among them", name);
        return 0;
    }
    return 1;
}

static int read_params(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(json, "params");
    const kvc_param_info *table = kvc_param_table();
    kvc_params standard = kvc_params_standard();

    for (int at = 0; at < KVC_PARAMS; at++) {
        spec->low[at] = spec->high[at] = kvc_param_get(&standard, at);
        spec->step[at] = 1;
    }
    if (object == NULL)
        return 1;
    if (!cJSON_IsObject(object)) {
        kvc_error_set(error, "%s: field \"params\": expected an object of [smallest, largest]", name);
        return 0;
    }
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        int at = kvc_param_find(item->string);
        int64_t low;
        int64_t high;
        int64_t step = 1;
        int count = cJSON_GetArraySize(item);
        if (at < 0 || table[at].words != NULL) {
            kvc_error_set(error, "%s: field \"params\": \"%.40s\" is not a parameter with a number", name,
                          item->string);
            return 0;
        }
        if ((spec->params & (1u << at)) != 0) {
            kvc_error_set(error, "%s: field \"params\": \"%s\" stands twice", name, item->string);
            return 0;
        }
        if (!cJSON_IsArray(item) || (count != 2 && count != 3)) {
            kvc_error_set(error, "%s: field \"params.%s\": expected [smallest, largest] or [smallest, largest, step]", name,
                          item->string);
            return 0;
        }
        if (!kvc_json_integer(cJSON_GetArrayItem(item, 0), name, item->string, table[at].minimum, table[at].maximum,
                              &low, error) ||
            !kvc_json_integer(cJSON_GetArrayItem(item, 1), name, item->string, low, table[at].maximum, &high, error) ||
            (count == 3 && !kvc_json_integer(cJSON_GetArrayItem(item, 2), name, item->string, 1, table[at].maximum, &step, error)))
            return 0;
        spec->params |= 1u << at;
        spec->low[at] = (int32_t)low;
        spec->high[at] = (int32_t)high;
        spec->step[at] = (int32_t)step;
    }
    return 1;
}

static int read_dtypes(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;

    if (cJSON_GetObjectItemCaseSensitive(json, "dtypes") == NULL) {
        spec->dtypes = 1u << KVC_FLOAT32;
        return 1;
    }
    if (!kvc_json_array(json, name, "dtypes", KVC_DTYPES, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        kvc_dtype dtype;
        if (!cJSON_IsString(item) || !kvc_dtype_parse(item->valuestring, &dtype) || dtype == KVC_INT64) {
            kvc_error_set(error, "%s: field \"dtypes\": expected float32, float16, bfloat16 or float64", name);
            return 0;
        }
        spec->dtypes |= 1u << dtype;
    }
    if (spec->dtypes == 0) {
        kvc_error_set(error, "%s: field \"dtypes\": expected at least one", name);
        return 0;
    }
    return 1;
}

/* A list of choices, each of words joined by `+`. */
static int read_choices(const cJSON *json, const char *name, const char *field,
                        char choice[KVC_CHOICES_MAX][KVC_CHOICE_NAME_MAX], int *count, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;

    *count = 0;
    if (cJSON_GetObjectItemCaseSensitive(json, field) == NULL)
        return 1;
    if (!kvc_json_array(json, name, field, KVC_CHOICES_MAX, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0' ||
            strlen(item->valuestring) >= KVC_CHOICE_NAME_MAX || !kvc_text_is_plain(item->valuestring)) {
            kvc_error_set(error, "%s: field \"%s\": expected words joined by \"+\", shorter than %d bytes", name, field,
                          KVC_CHOICE_NAME_MAX);
            return 0;
        }
        memcpy(choice[*count], item->valuestring, strlen(item->valuestring) + 1);
        (*count)++;
    }
    return 1;
}

static int part_index(kvc_spec *spec, const char *part, size_t length)
{
    for (int at = 0; at < spec->part_names; at++) {
        if (strlen(spec->part_name[at]) == length && memcmp(spec->part_name[at], part, length) == 0)
            return at;
    }
    if (spec->part_names == KVC_PARTS_MAX || length == 0 || length >= sizeof spec->part_name[0])
        return -1;
    memcpy(spec->part_name[spec->part_names], part, length);
    spec->part_name[spec->part_names][length] = '\0';
    return spec->part_names++;
}

static int read_parts(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    if (!read_choices(json, name, "parts", spec->part_choice, &spec->parts, error))
        return 0;
    for (int at = 0; at < spec->parts; at++) {
        const char *rest = spec->part_choice[at];
        for (;;) {
            size_t length = strcspn(rest, "+");
            int index = part_index(spec, rest, length);
            if (index < 0) {
                kvc_error_set(error, "%s: field \"parts\": \"%s\": expected at most %d different short words", name,
                              spec->part_choice[at], KVC_PARTS_MAX);
                return 0;
            }
            spec->part_mask[at] |= 1u << index;
            if (rest[length] == '\0')
                break;
            rest += length + 1;
        }
    }
    return 1;
}

static int read_since(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(json, "since");

    if (object == NULL)
        return 1;
    if (!cJSON_IsObject(object) || cJSON_GetArraySize(object) > KVC_SINCE_MAX) {
        kvc_error_set(error, "%s: field \"since\": expected an object of at most %d versions", name, KVC_SINCE_MAX);
        return 0;
    }
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        if (strlen(item->string) >= sizeof spec->since_name[0] || !kvc_text_is_plain(item->string)) {
            kvc_error_set(error, "%s: field \"since\": expected names shorter than %zu bytes", name,
                          sizeof spec->since_name[0]);
            return 0;
        }
        if (!kvc_json_text(object, name, item->string, spec->since_version[spec->since],
                           sizeof spec->since_version[0], error))
            return 0;
        memcpy(spec->since_name[spec->since], item->string, strlen(item->string) + 1);
        spec->since++;
    }
    return 1;
}

const char *kvc_spec_since(const kvc_spec *spec, const char *name)
{
    for (int at = 0; at < spec->since; at++) {
        if (strcmp(spec->since_name[at], name) == 0)
            return spec->since_version[at];
    }
    return "";
}

/* What a cache of several sequences keeps of each: it has decode instead of append, and no views. */
static int read_memory(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    static const char *const words[] = {"attention", "window", "state", "alone", NULL};
    const cJSON *list;
    const cJSON *item;

    if (cJSON_GetObjectItemCaseSensitive(json, "memory") != NULL) {
        if (!kvc_json_array(json, name, "memory", 4, &list, error))
            return 0;
        cJSON_ArrayForEach(item, list) {
            int word = cJSON_IsString(item) ? find_word(item->valuestring, words, name, "memory", error) : -1;
            if (word < 0) {
                if (!cJSON_IsString(item))
                    kvc_error_set(error, "%s: field \"memory\": expected words", name);
                return 0;
            }
            spec->memory |= 1u << word;
        }
    }
    if ((spec->memory != 0) != ((spec->ops & 1u << KVC_DECODE) != 0) ||
        (spec->memory != 0 && (spec->layers > 0 || (spec->ops & ((1u << KVC_DECODE) - 1)) != 0))) {
        kvc_error_set(error, "%s: expected \"memory\" together with decode and ops on sequences only", name);
        return 0;
    }
    return 1;
}

static int read_share(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "share");
    int64_t share = 1;

    if (item != NULL && !kvc_json_integer(item, name, "share", 1, KVC_SHARE_MAX, &share, error))
        return 0;
    spec->share = (int)share;
    return 1;
}

static int read_dims(const cJSON *json, const char *name, kvc_view_spec *view, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;
    int tokens = 0;

    if (!kvc_json_array(json, name, "dims", KVC_VIEW_DIMS_MAX, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        int dim = cJSON_IsString(item) ? find_word(item->valuestring, dim_words, name, "dims", error) : -1;
        if (dim < 0) {
            if (!cJSON_IsString(item))
                kvc_error_set(error, "%s: field \"dims\": expected words", name);
            return 0;
        }
        tokens += dim == KVC_DIM_TOKENS;
        view->dim[view->dims++] = (kvc_dim)dim;
    }
    int wanted = view->rule != KVC_RULE_FOLDED && view->rule != KVC_RULE_BLOCK_COUNT && view->rule != KVC_RULE_FLAG &&
                 view->rule != KVC_RULE_CHUNK_START && view->rule != KVC_RULE_COUNT && view->rule != KVC_RULE_TRIMMED &&
                 view->rule != KVC_RULE_UNUSED && view->rule != KVC_RULE_BYTES && view->rule != KVC_RULE_PREDICTED && view->rule != KVC_RULE_AGREED;
    if (view->rule != KVC_RULE_OPAQUE && tokens != wanted) {
        kvc_error_set(error, "%s: view \"%s\": field \"dims\": expected %s", name, view->name,
                      wanted ? "exactly one tokens axis" : "no tokens axis");
        return 0;
    }
    return 1;
}

/* Where it is written what is kept, KVC_SPEC_SOURCE_MAX bytes, and whether that is no text of the subject's. */
static int read_source(const cJSON *json, const char *name, char *source, int *inferred, kvc_error *error)
{
    static const char *const words[] = {"documented", "inferred", NULL};
    char text[64];
    int word;

    if (!kvc_json_text_optional(json, name, "source", source, KVC_SPEC_SOURCE_MAX, error) ||
        !kvc_json_text_optional(json, name, "basis", text, sizeof text, error))
        return 0;
    if (text[0] == '\0')
        return 1;
    if ((word = find_word(text, words, name, "basis", error)) < 0)
        return 0;
    *inferred = word;
    return 1;
}

static int read_view(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    static const char *const known[] = {"name",  "salt",     "law",    "rule",  "part", "dims",
                                        "dtype", "returned", "static", "keeps", "source", "basis", NULL};
    kvc_view_spec *view = &spec->view[spec->views];
    char text[64];
    int64_t number;
    size_t length;
    int word;

    if (!kvc_json_known_fields(json, name, "views", known, error) ||
        !kvc_json_text(json, name, "name", view->name, sizeof view->name, error))
        return 0;
    length = strlen(view->name);
    if (view->name[length - 1] == '*') {
        view->numbered = 1;
        view->name[length - 1] = '\0';
    }
    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "salt"), name, "salt", 0, 6, &number, error))
        return 0;
    view->salt = (int)number;
    if (!kvc_json_text(json, name, "law", text, sizeof text, error))
        return 0;
    if (!kvc_law_parse(text, &view->law) ||
        ((view->law < KVC_LENGTH || view->law > KVC_VALUES) && view->law != KVC_MASK && view->law != KVC_RETURN && view->law != KVC_RESUME)) {
        kvc_error_set(error, "%s: view \"%s\": field \"law\": \"%s\", expected KEYS, VALUES, INDEX, STATE, LENGTH, MASK, RETURN or RESUME", name,
                      view->name, text);
        return 0;
    }
    if (!kvc_json_text(json, name, "rule", text, sizeof text, error) ||
        (word = find_word(text, rule_words, name, "rule", error)) < 0)
        return 0;
    view->rule = (kvc_view_rule)word;
    if (!kvc_json_text_optional(json, name, "part", text, sizeof text, error))
        return 0;
    view->part = -1;
    if (text[0] != '\0') {
        for (int at = 0; at < spec->part_names; at++) {
            if (strcmp(spec->part_name[at], text) == 0)
                view->part = at;
        }
        if (view->part < 0 && spec->parts > 0) {
            kvc_error_set(error, "%s: view \"%s\": part \"%s\" stands in no entry of \"parts\"", name, view->name,
                          text);
            return 0;
        }
    }
    if (!read_dims(json, name, view, error) ||
        !kvc_json_text_optional(json, name, "dtype", text, sizeof text, error))
        return 0;
    if (text[0] != '\0' && strcmp(text, "input") != 0 && strcmp(text, "int64") != 0) {
        kvc_error_set(error, "%s: view \"%s\": field \"dtype\": \"%s\", expected input or int64", name, view->name,
                      text);
        return 0;
    }
    view->integer = strcmp(text, "int64") == 0;
    if (!kvc_json_text_optional(json, name, "returned", text, sizeof text, error))
        return 0;
    if (text[0] != '\0') {
        if ((word = find_word(text, returned_words, name, "returned", error)) < 0)
            return 0;
        view->returned = (kvc_returned)word;
    }
    if (!read_boolean(json, name, "static", 0, &view->is_static, error) ||
        !kvc_json_text_optional(json, name, "keeps", text, sizeof text, error))
        return 0;
    if (text[0] != '\0' && strcmp(text, "window") != 0 && strcmp(text, "window-1") != 0 && strcmp(text, "length") != 0) {
        kvc_error_set(error, "%s: view \"%s\": field \"keeps\": \"%s\", expected window, window-1 or length", name, view->name,
                      text);
        return 0;
    }
    view->keeps_length = strcmp(text, "length") == 0;
    view->keeps_window = strcmp(text, "window") == 0;
    if (!read_source(json, name, view->source, &view->inferred, error))
        return 0;
    spec->views++;
    return 1;
}

/* Rows with lengths of their own: of such caches only some views are known. */
static int read_rows(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    static const char *const words[] = {"shared", "own", NULL};
    char text[64];
    int word;

    if (!kvc_json_text_optional(json, name, "rows", text, sizeof text, error))
        return 0;
    if (text[0] == '\0')
        return 1;
    if ((word = find_word(text, words, name, "rows", error)) < 0)
        return 0;
    spec->own_rows = word;
    for (int at = 0; spec->own_rows && at < spec->views; at++) {
        kvc_view_rule rule = spec->view[at].rule;
        if (rule != KVC_RULE_ALL && rule != KVC_RULE_WINDOW && rule != KVC_RULE_RING && rule != KVC_RULE_ROTATING &&
            rule != KVC_RULE_FOLDED && rule != KVC_RULE_COUNT && rule != KVC_RULE_UNUSED && rule != KVC_RULE_BYTES &&
            rule != KVC_RULE_SEEN && rule != KVC_RULE_SEEN_WINDOW) {
            kvc_error_set(error, "%s: view \"%s\": rule %s: rows with lengths of their own have all, window, ring, rotating, folded, count, unused, bytes, seen or seen_window",
                          name, spec->view[at].name, kvc_view_rule_name(rule));
            return 0;
        }
    }
    return 1;
}

/* The parameters that a rule needs must be among those of the spec. */
static int check_rule_params(const kvc_spec *spec, const char *name, kvc_error *error)
{
    static const struct {
        kvc_view_rule rule;
        size_t offset;
    } needs[] = {{KVC_RULE_WINDOW, offsetof(kvc_params, window)},
                 {KVC_RULE_LAST, offsetof(kvc_params, kernel)},
                 {KVC_RULE_FIXED, offsetof(kvc_params, capacity)},
                 {KVC_RULE_FIXED_WINDOW, offsetof(kvc_params, capacity)},
                 {KVC_RULE_FIXED_WINDOW, offsetof(kvc_params, window)},
                 {KVC_RULE_RING, offsetof(kvc_params, capacity)},
                 {KVC_RULE_BLOCKS, offsetof(kvc_params, block)},
                 {KVC_RULE_BLOCK_REST, offsetof(kvc_params, block)},
                 {KVC_RULE_BLOCK_OVERLAP, offsetof(kvc_params, block)},
                 {KVC_RULE_BLOCK_COUNT, offsetof(kvc_params, block)},
                 {KVC_RULE_PREFIX_WINDOW, offsetof(kvc_params, window)},
                 {KVC_RULE_PREFIX_WINDOW, offsetof(kvc_params, keep)},
                 {KVC_RULE_FIXED_PREFIX_WINDOW, offsetof(kvc_params, window)},
                 {KVC_RULE_FIXED_PREFIX_WINDOW, offsetof(kvc_params, keep)},
                 {KVC_RULE_FIXED_PREFIX_WINDOW, offsetof(kvc_params, capacity)},
                 {KVC_RULE_ROTATING, offsetof(kvc_params, capacity)},
                 {KVC_RULE_ROTATING, offsetof(kvc_params, keep)},
                 {KVC_RULE_CHUNKED, offsetof(kvc_params, capacity)},
                 {KVC_RULE_CHUNK_START, offsetof(kvc_params, capacity)},
                 {KVC_RULE_SEEN_WINDOW, offsetof(kvc_params, window)},
                 {KVC_RULE_RESIDUAL, offsetof(kvc_params, residual)}};

    for (int at = 0; at < spec->views; at++) {
        for (size_t need = 0; need < sizeof needs / sizeof needs[0]; need++) {
            if (needs[need].rule == spec->view[at].rule && !kvc_spec_uses(spec, needs[need].offset)) {
                kvc_error_set(error, "%s: view \"%s\": rule %s needs a parameter that \"params\" does not have", name,
                              spec->view[at].name, kvc_view_rule_name(spec->view[at].rule));
                return 0;
            }
        }
    }
    return 1;
}

/* Two levels carry less in a channel than digits do, so every tensor needs enough of them. */
static int check_channels(const kvc_spec *spec, const char *name, kvc_error *error)
{
    static const struct {
        kvc_dim dim;
        size_t offset;
    } sizes[] = {{KVC_DIM_KEY, offsetof(kvc_params, key_dim)},
                 {KVC_DIM_VALUE, offsetof(kvc_params, value_dim)},
                 {KVC_DIM_INDEX, offsetof(kvc_params, index_dim)},
                 {KVC_DIM_CHANNELS, offsetof(kvc_params, channels)}};
    const kvc_param_info *table = kvc_param_table();

    for (int view = 0; spec->values == KVC_TWO_LEVELS && view < spec->views; view++) {
        int channels = 0;
        for (int axis = 0; axis < spec->view[view].dims; axis++) {
            for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
                if (sizes[at].dim != spec->view[view].dim[axis])
                    continue;
                for (int param = 0; param < KVC_PARAMS; param++)
                    channels = table[param].offset == sizes[at].offset ? spec->low[param] : channels;
            }
        }
        if (!spec->view[view].integer && channels < KVC_LEVEL_CHANNELS) {
            kvc_error_set(error, "%s: view \"%s\": values of two levels need %d channels or more", name,
                          spec->view[view].name, KVC_LEVEL_CHANNELS);
            return 0;
        }
    }
    return 1;
}

static int read_values(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    static const char *const words[] = {"digits", "two_levels", NULL};
    char text[64];
    int word;

    if (!kvc_json_text_optional(json, name, "values", text, sizeof text, error))
        return 0;
    if (text[0] == '\0')
        return 1;
    if ((word = find_word(text, words, name, "values", error)) < 0)
        return 0;
    spec->values = (kvc_encoding)word;
    return check_channels(spec, name, error);
}

static int read_kind(const cJSON *json, const char *name, kvc_kind *kind, kvc_error *error)
{
    char text[64];
    int word;

    if (!kvc_json_text(json, name, "kind", text, sizeof text, error) ||
        (word = find_word(text, kind_words, name, "kind", error)) < 0)
        return 0;
    *kind = (kvc_kind)word;
    return 1;
}

int kvc_spec_from_json(const cJSON *json, const char *name, kvc_spec *spec, kvc_error *error)
{
    static const char *const known[] = {"schema", "subject", "variant", "title",  "kind",  "ops",   "params", "dtypes",
                                        "parts",  "layers",  "length",  "claim", "views", "notes",  "since", "source", "basis", "values",
                                        "share",  "memory", "rows", NULL};
    char text[64];
    const cJSON *list;
    const cJSON *item;

    memset(spec, 0, sizeof *spec);
    if (!kvc_json_known_fields(json, name, "spec", known, error) ||
        !kvc_json_text(json, name, "schema", text, sizeof text, error))
        return 0;
    if (strcmp(text, "kvconform-spec/1") != 0) {
        kvc_error_set(error, "%s: field \"schema\": \"%s\", expected kvconform-spec/1", name, text);
        return 0;
    }
    if (!kvc_json_text(json, name, "subject", spec->subject, sizeof spec->subject, error) ||
        !kvc_json_text(json, name, "variant", spec->variant, sizeof spec->variant, error) ||
        !kvc_json_text(json, name, "title", spec->title, sizeof spec->title, error) ||
        !read_kind(json, name, &spec->kind, error) ||
        !read_source(json, name, spec->source, &spec->inferred, error) ||
        !read_ops(json, name, spec, error) || !read_params(json, name, spec, error) ||
        !read_dtypes(json, name, spec, error) || !read_boolean(json, name, "length", 1, &spec->length, error) ||
        !read_boolean(json, name, "claim", 0, &spec->claim, error) || !read_parts(json, name, spec, error) || !read_since(json, name, spec, error) ||
        !read_choices(json, name, "layers", spec->layer_choice, &spec->layers, error) ||
        !read_share(json, name, spec, error) || !read_memory(json, name, spec, error))
        return 0;
    if (cJSON_GetObjectItemCaseSensitive(json, "views") != NULL) {
        if (!kvc_json_array(json, name, "views", KVC_VIEWS_MAX, &list, error))
            return 0;
        cJSON_ArrayForEach(item, list) {
            if (!read_view(item, name, spec, error))
                return 0;
        }
    }
    if (((spec->views > 0) + (spec->layers > 0) == 0) == (spec->memory == 0) || (spec->memory != 0 && spec->views > 0)) {
        kvc_error_set(error, "%s: expected \"views\" or \"layers\", or \"memory\"", name);
        return 0;
    }
    return check_rule_params(spec, name, error) && read_values(json, name, spec, error) &&
           read_rows(json, name, spec, error);
}

int kvc_spec_like(const cJSON *json, const char *name, const kvc_spec *other, kvc_spec *spec, kvc_error *error)
{
    static const char *const known[] = {"like", "title", "kind", "source", "basis", "ops", "params", "dtypes", "notes", NULL};
    kvc_spec own;

    memset(&own, 0, sizeof own);
    *spec = *other;
    spec->source[0] = '\0';
    spec->inferred = 0;
    spec->share = 1;
    if (json == NULL)
        return 1;
    if (!kvc_json_known_fields(json, name, "spec", known, error) ||
        !kvc_json_text_optional(json, name, "title", own.title, sizeof own.title, error) ||
        !read_source(json, name, spec->source, &spec->inferred, error) ||
        (cJSON_GetObjectItemCaseSensitive(json, "kind") != NULL && !read_kind(json, name, &spec->kind, error)) ||
        (cJSON_GetObjectItemCaseSensitive(json, "ops") != NULL && !read_ops(json, name, &own, error)) ||
        !read_params(json, name, &own, error) || !read_dtypes(json, name, &own, error))
        return 0;
    if (own.title[0] != '\0')
        memcpy(spec->title, own.title, sizeof own.title);
    if (own.ops != 0)
        spec->ops = own.ops;
    if (cJSON_GetObjectItemCaseSensitive(json, "dtypes") != NULL)
        spec->dtypes = own.dtypes;
    for (int at = 0; at < KVC_PARAMS; at++) {
        if ((own.params & (1u << at)) == 0)
            continue;
        if ((spec->params & (1u << at)) == 0) {
            kvc_error_set(error, "%s: field \"params\": the other spec has no \"%s\"", name, kvc_param_table()[at].name);
            return 0;
        }
        spec->low[at] = own.low[at];
        spec->high[at] = own.high[at];
    }
    return check_channels(spec, name, error);
}

int kvc_spec_parse(const char *text, size_t length, const char *name, kvc_spec *spec, kvc_error *error)
{
    cJSON *json;
    int good;

    if (!kvc_json_parse(text, length, name, &json, error))
        return 0;
    good = kvc_spec_from_json(json, name, spec, error);
    cJSON_Delete(json);
    return good;
}

int kvc_spec_read(const char *path, kvc_spec *spec, kvc_error *error)
{
    char *text;
    size_t length;
    int good;

    if (!kvc_file_read(path, KVC_SPEC_FILE_MAX, &text, &length, error))
        return 0;
    good = kvc_spec_parse(text, length, path, spec, error);
    free(text);
    return good;
}

int kvc_spec_has_op(const kvc_spec *spec, kvc_op_kind kind)
{
    return (spec->ops & (1u << kind)) != 0;
}

int kvc_spec_uses(const kvc_spec *spec, size_t offset)
{
    const kvc_param_info *table = kvc_param_table();

    for (int at = 0; at < KVC_PARAMS; at++) {
        if (table[at].offset == offset)
            return (spec->params & (1u << at)) != 0;
    }
    return 0;
}

int kvc_spec_writes(const kvc_spec *spec, int index)
{
    const kvc_param_info *info = &kvc_param_table()[index];

    if (info->offset == offsetof(kvc_params, values))
        return spec->values != KVC_DIGITS;
    return info->words != NULL || (spec->params & (1u << index)) != 0;
}

const char *kvc_kind_name(kvc_kind kind)
{
    return (unsigned)kind < KVC_KINDS ? kind_words[kind] : "?";
}

const char *kvc_view_rule_name(kvc_view_rule rule)
{
    return (unsigned)rule < KVC_VIEW_RULES ? rule_words[rule] : "?";
}
