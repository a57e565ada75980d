/* Profiles as files. What a file leaves out is as in the profile that it is like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/profile.h"
#include "reference/json.h"

enum { FILE_MAX = 1 << 16, WEIGHT_MAX = 255, CHANCE_MAX = 1000, ROUNDS_MAX = 30 };

static const char *const likes[] = {"hostile", "assisted"};
static const char *const append_words[KVC_APPEND_EDGES] = {"one", "two", "few", "below boundary", "at boundary", "past boundary", "twice boundary"};
static const char *const crop_words[KVC_CROP_EDGES] = {"zero", "one", "all", "over", "far over", "to boundary", "near boundary", "positive", "part"};

/* Reading. */
typedef struct reading {
    const char *file;
    kvc_draws *draws;
    kvc_error *error;
} reading;

static int refuse(const reading *self, const char *field, const char *word, const char *expected)
{
    kvc_error_set(self->error, "%.300s: field \"%s%s%.60s\": expected %s", self->file, field, word[0] != '\0' ? "." : "", word, expected);
    return 0;
}

static int read_number(const reading *self, const cJSON *object, const char *field, int64_t minimum, int64_t maximum, int32_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);
    int64_t value;

    if (item == NULL)
        return 1;
    if (!kvc_json_integer(item, self->file, field, minimum, maximum, &value, self->error))
        return 0;
    *out = (int32_t)value;
    return 1;
}

/* A number of field `word` of `group`, from minimum to maximum. */
static int read_within(const reading *self, const cJSON *item, const char *group, const char *word, int64_t minimum, int64_t maximum,
                       int64_t *out)
{
    char field[160];

    (void)snprintf(field, sizeof field, "%s.%.100s", group, word);
    return kvc_json_integer(item, self->file, field, minimum, maximum, out, self->error);
}

/* An object, or nothing: *out is NULL then. */
static int read_object(const reading *self, const cJSON *json, const char *field, const cJSON **out)
{
    *out = cJSON_GetObjectItemCaseSensitive(json, field);
    return *out == NULL || cJSON_IsObject(*out) ? 1 : refuse(self, field, "", "an object");
}

/* Weights by words: what is named is changed, and not all may be 0. */
static int read_edges(const reading *self, const cJSON *json, const char *field, const char *const *words, int count, int basic, uint8_t *out)
{
    const cJSON *object;
    const cJSON *item;
    int64_t value;
    unsigned sum = 0;

    if (!read_object(self, json, field, &object))
        return 0;
    cJSON_ArrayForEach(item, object) {
        int at = 0;
        while (at < count && strcmp(words[at], item->string) != 0)
            at++;
        if (at == count)
            return refuse(self, field, item->string, "a word of docs/profiles.md");
        if (!read_within(self, item, field, item->string, 0, WEIGHT_MAX, &value))
            return 0;
        out[at] = (uint8_t)value;
    }
    for (int at = 0; at < basic; at++)
        sum += out[at];
    return sum > 0 ? 1 : refuse(self, field, "", "a weight that is not 0 among those that need no boundary");
}

static int read_weights(const reading *self, const cJSON *json)
{
    kvc_draws *draws = self->draws;
    const cJSON *object;
    const cJSON *item;
    kvc_op_kind kind;
    int64_t value;

    if (!read_object(self, json, "weights", &object))
        return 0;
    cJSON_ArrayForEach(item, object) {
        if (!kvc_op_parse_name(item->string, &kind))
            return refuse(self, "weights", item->string, "the name of an op, such as crop");
        if (!read_within(self, item, "weights", item->string, 0, WEIGHT_MAX, &value))
            return 0;
        if (value == 0 && (kind == KVC_APPEND || kind == KVC_DECODE))
            return refuse(self, "weights", item->string, "a number from 1: nothing is held without it");
        draws->weight[kind] = (uint8_t)value;
        draws->ops = value > 0 ? draws->ops | 1u << kind : draws->ops & ~(1u << kind);
    }
    return 1;
}

static int read_off(const reading *self, const cJSON *json)
{
    const cJSON *object;
    const cJSON *item;
    kvc_op_kind kind;

    if (!read_object(self, json, "off", &object))
        return 0;
    cJSON_ArrayForEach(item, object) {
        const cJSON *part = cJSON_GetArrayItem(item, 0);
        const cJSON *of = cJSON_GetArrayItem(item, 1);
        int64_t number[2];
        if (!kvc_op_parse_name(item->string, &kind))
            return refuse(self, "off", item->string, "the name of an op, such as crop");
        if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2)
            return refuse(self, "off", item->string, "a chance such as [1, 8]");
        if (!read_within(self, of, "off", item->string, 1, CHANCE_MAX, &number[1]) ||
            !read_within(self, part, "off", item->string, 0, number[1], &number[0]))
            return 0;
        if (kind == KVC_APPEND || kind == KVC_DECODE)
            return refuse(self, "off", item->string, "another op: it is never switched off");
        self->draws->off[kind] = (kvc_chance){(uint16_t)number[0], (uint16_t)number[1]};
    }
    return 1;
}

static int read_lengths(const reading *self, const cJSON *json)
{
    static const char *const known[] = {"least", "most", "long_in", "long_most", NULL};
    kvc_draws *draws = self->draws;
    const cJSON *object;

    if (!read_object(self, json, "lengths", &object))
        return 0;
    if (object == NULL)
        return 1;
    if (!kvc_json_known_fields(object, self->file, "lengths", known, self->error) ||
        !read_number(self, object, "least", 1, KVC_OPS_MAX - 1, &draws->least) ||
        !read_number(self, object, "most", 1, KVC_OPS_MAX - 1, &draws->most) ||
        !read_number(self, object, "long_in", 0, CHANCE_MAX, &draws->long_in) ||
        !read_number(self, object, "long_most", 1, KVC_OPS_MAX - 1, &draws->long_most))
        return 0;
    if (draws->least > draws->most)
        return refuse(self, "lengths", "most", "a number from \"least\" on");
    if (draws->long_in > 0 && draws->long_most < draws->most)
        return refuse(self, "lengths", "long_most", "a number from \"most\" on");
    return 1;
}

static int read_words(const reading *self, const cJSON *item, const kvc_param_info *info, uint32_t *out)
{
    const cJSON *word;

    *out = 0;
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) == 0)
        return refuse(self, "params", item->string, "a list of words");
    cJSON_ArrayForEach(word, item) {
        int at = 0;
        while (info->words[at] != NULL && (!cJSON_IsString(word) || strcmp(info->words[at], word->valuestring) != 0))
            at++;
        if (info->words[at] == NULL)
            return refuse(self, "params", item->string, "words that the parameter has");
        *out |= 1u << at;
    }
    return 1;
}

static int read_params(const reading *self, const cJSON *json)
{
    kvc_draws *draws = self->draws;
    const cJSON *object;
    const cJSON *item;

    if (!read_object(self, json, "params", &object))
        return 0;
    cJSON_ArrayForEach(item, object) {
        int at = kvc_param_find(item->string);
        const kvc_param_info *info = at >= 0 ? &kvc_param_table()[at] : NULL;
        int64_t limit[2];
        if (info == NULL || info->offset == offsetof(kvc_params, parts) || info->offset == offsetof(kvc_params, layers) ||
            info->offset == offsetof(kvc_params, values))
            return refuse(self, "params", item->string, "a parameter such as batch, heads or dtype");
        if (info->words != NULL) {
            if (!read_words(self, item, info, &draws->words[at]))
                return 0;
            continue;
        }
        if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2)
            return refuse(self, "params", item->string, "the least and the largest value, such as [1, 2]");
        if (!read_within(self, cJSON_GetArrayItem(item, 0), "params", item->string, info->minimum, info->maximum, &limit[0]) ||
            !read_within(self, cJSON_GetArrayItem(item, 1), "params", item->string, limit[0], info->maximum, &limit[1]))
            return 0;
        draws->low[at] = (int32_t)limit[0];
        draws->high[at] = (int32_t)limit[1];
    }
    return 1;
}

/* What makes no difference to sequences of the other kind is refused. */
static int read_of_kind(const reading *self, const cJSON *json)
{
    static const char *const hostile[] = {"exhaustive", "weights", "off", "lengths", "crop"};

    if (self->draws->like == KVC_ASSISTED) {
        for (size_t at = 0; at < sizeof hostile / sizeof hostile[0]; at++) {
            if (cJSON_HasObjectItem(json, hostile[at]))
                return refuse(self, hostile[at], "", "to be left out: it means nothing where sequences are like assisted");
        }
        return read_number(self, json, "rounds", 1, ROUNDS_MAX, &self->draws->rounds);
    }
    if (cJSON_HasObjectItem(json, "rounds"))
        return refuse(self, "rounds", "", "to be left out: it means nothing where sequences are like hostile");
    return read_number(self, json, "exhaustive", 0, KVC_EXHAUSTIVE_MAX, &self->draws->exhaustive) && read_weights(self, json) &&
           read_off(self, json) && read_lengths(self, json) &&
           read_edges(self, json, "crop", crop_words, KVC_CROP_EDGES, KVC_CROP_EDGES, self->draws->edges.crop);
}

static int read_all(const reading *self, const cJSON *json)
{
    static const char *const known[] = {"schema", "name", "like", "notes", "exhaustive", "weights", "off", "lengths", "rounds", "append", "crop", "params", NULL};
    kvc_draws *draws = self->draws;
    kvc_draws standard;
    char text[KVC_PROFILE_NAME_MAX];

    if (!kvc_json_known_fields(json, self->file, "profile", known, self->error) ||
        !kvc_json_text(json, self->file, "schema", text, sizeof text, self->error))
        return 0;
    if (strcmp(text, "kvconform-profile/1") != 0)
        return refuse(self, "schema", "", "kvconform-profile/1");
    if (!kvc_json_text(json, self->file, "like", text, sizeof text, self->error))
        return 0;
    if (!kvc_profile_named(text, draws))
        return refuse(self, "like", "", "hostile or assisted");
    memset(draws->name, 0, sizeof draws->name);
    if (!kvc_json_text(json, self->file, "name", draws->name, sizeof draws->name, self->error) ||
        !read_of_kind(self, json) || !read_edges(self, json, "append", append_words, KVC_APPEND_EDGES, KVC_APPEND_FEW + 1, draws->edges.append) ||
        !read_params(self, json))
        return 0;
    kvc_edges_add_up(&draws->edges);
    if (draws->name[0] == '\0')
        return refuse(self, "name", "", "a name");
    if (kvc_profile_named(draws->name, &standard) && !kvc_profile_is_standard(draws))
        return refuse(self, "name", "", "another name: a profile of this one comes with kvconform, and it is not the same");
    return 1;
}

int kvc_profile_parse(const char *text, size_t length, const char *name, kvc_draws *draws, kvc_error *error)
{
    const reading self = {name, draws, error};
    cJSON *json = NULL;
    int good = kvc_json_parse(text, length, name, &json, error) && read_all(&self, json);

    cJSON_Delete(json);
    return good;
}

int kvc_profile_read(const char *path, kvc_draws *draws, kvc_error *error)
{
    char *text = NULL;
    size_t length = 0;
    int good = kvc_file_read(path, FILE_MAX, &text, &length, error) && kvc_profile_parse(text, length, path, draws, error);

    free(text);
    return good;
}

static void print_edges(cJSON *json, const char *field, const char *const *words, int count, const uint8_t *weight)
{
    cJSON *object = cJSON_AddObjectToObject(json, field);

    for (int at = 0; at < count; at++)
        cJSON_AddNumberToObject(object, words[at], weight[at]);
}

static void print_hostile(const kvc_draws *draws, cJSON *json)
{
    cJSON *weights;
    cJSON *off;
    cJSON *lengths;

    cJSON_AddNumberToObject(json, "exhaustive", draws->exhaustive);
    weights = cJSON_AddObjectToObject(json, "weights");
    off = cJSON_AddObjectToObject(json, "off");
    for (int kind = 0; kind < KVC_OP_KINDS; kind++) {
        const int chance[2] = {draws->off[kind].part, draws->off[kind].of};
        cJSON_AddNumberToObject(weights, kvc_op_name((kvc_op_kind)kind), draws->weight[kind]);
        if (kind != KVC_APPEND && kind != KVC_DECODE)
            cJSON_AddItemToObject(off, kvc_op_name((kvc_op_kind)kind), cJSON_CreateIntArray(chance, 2));
    }
    lengths = cJSON_AddObjectToObject(json, "lengths");
    cJSON_AddNumberToObject(lengths, "least", draws->least);
    cJSON_AddNumberToObject(lengths, "most", draws->most);
    cJSON_AddNumberToObject(lengths, "long_in", draws->long_in);
    cJSON_AddNumberToObject(lengths, "long_most", draws->long_most);
    print_edges(json, "crop", crop_words, KVC_CROP_EDGES, draws->edges.crop);
}

/* Those that are bounded closer than anything can be. */
static void print_params(const kvc_draws *draws, cJSON *json)
{
    const kvc_param_info *table = kvc_param_table();
    cJSON *params = cJSON_AddObjectToObject(json, "params");

    for (int at = 0; at < KVC_PARAMS; at++) {
        const int limit[2] = {draws->low[at], draws->high[at]};
        cJSON *list;
        if (table[at].words == NULL && (limit[0] > table[at].minimum || limit[1] < table[at].maximum))
            cJSON_AddItemToObject(params, table[at].name, cJSON_CreateIntArray(limit, 2));
        if (table[at].words == NULL || draws->words[at] == UINT32_MAX)
            continue;
        list = cJSON_AddArrayToObject(params, table[at].name);
        for (int word = 0; table[at].words[word] != NULL; word++) {
            if ((draws->words[at] & 1u << word) != 0)
                cJSON_AddItemToArray(list, cJSON_CreateString(table[at].words[word]));
        }
    }
}

cJSON *kvc_profile_print(const kvc_draws *draws)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddStringToObject(json, "schema", "kvconform-profile/1");
    cJSON_AddStringToObject(json, "name", draws->name);
    cJSON_AddStringToObject(json, "like", likes[draws->like]);
    if (draws->like == KVC_HOSTILE)
        print_hostile(draws, json);
    else
        cJSON_AddNumberToObject(json, "rounds", draws->rounds);
    print_edges(json, "append", append_words, KVC_APPEND_EDGES, draws->edges.append);
    print_params(draws, json);
    return json;
}
