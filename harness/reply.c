/* Reading replies, all but their steps. Nothing in them is trusted. */
#include <stdlib.h>
#include <string.h>

#include "harness/protocol.h"
#include "reference/check.h"
#include "reference/json.h"
#include "reports/result.h"

enum { NAMES_MAX = 4096, OFFERS_MAX = 16, ID_MAX = 1 << 30, REASON_SIZE = 400, NOTES_MAX = 64, LAYERS_MAX = 64 };
static const char where[] = "adapter's reply";

void kvc_names_clear(kvc_names *names)
{
    for (size_t at = 0; at < names->count; at++)
        free(names->name[at]);
    free(names->name);
    memset(names, 0, sizeof *names);
}

const char *kvc_names_keep(kvc_names *names, const char *name)
{
    size_t length = strlen(name) + 1;

    for (size_t at = 0; at < names->count; at++) {
        if (strcmp(names->name[at], name) == 0)
            return names->name[at];
    }
    if (names->count == NAMES_MAX)
        return NULL;
    if (names->count == names->room) {
        size_t room = names->room * 2 + 32;
        char **larger = realloc(names->name, room * sizeof *larger);
        if (larger == NULL)
            return NULL;
        names->name = larger;
        names->room = room;
    }
    names->name[names->count] = malloc(length);
    if (names->name[names->count] == NULL)
        return NULL;
    memcpy(names->name[names->count], name, length);
    return names->name[names->count++];
}

void kvc_reply_table_restart(kvc_reply_table *table)
{
    table->count = 0;
}

void kvc_reply_table_clear(kvc_reply_table *table)
{
    kvc_names_clear(&table->names);
    free(table->tensor);
    memset(table, 0, sizeof *table);
}

/* Behind the JSON value that begins at `at`, or NULL where none ends before `end`. Says nothing about what is in it. */
static char *skip_value(char *at, const char *end)
{
    int depth = 0;

    for (; at < end; at++) {
        if (*at == '"') {
            for (at++; at < end && *at != '"'; at++)
                at += *at == '\\';
            if (at >= end)
                return NULL;
        } else if (*at == '[' || *at == '{') {
            if (++depth > KVC_JSON_DEPTH_MAX)
                return NULL;
        } else if (*at == ']' || *at == '}') {
            if (depth == 0)
                return at;
            depth--;
        } else if (*at == ',' && depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* The array in the field `results` of an object, or NULL: then the reader of JSON says what is wrong, if anything is. */
static char *find_results(char *line, size_t length, char **behind)
{
    static const char key[] = "\"results\"";
    const char *end = line + length;
    char *at = line + strspn(line, " \t");

    if (at >= end || *at != '{')
        return NULL;
    for (at++; at < end; at++) {
        char *value;
        at += strspn(at, " \t\r");
        value = at;
        if (strncmp(at, key, sizeof key - 1) == 0) {
            value += sizeof key - 1;
            value += strspn(value, " \t\r");
            if (*value == ':') {
                value++;
                value += strspn(value, " \t\r");
            }
        }
        at = skip_value(at, end);
        if (at != NULL && value < at && *value == '[') {
            *behind = at;
            return value;
        }
        if (at == NULL || *at != ',')
            return NULL;
    }
    return NULL;
}

/* Takes the results out of the line: they are by far the most of it, and read without a tree. */
static int take_results(char *line, size_t length, char **results, kvc_error *error)
{
    char *behind;
    char *at = memchr(line, '\0', length) == NULL ? find_results(line, length, &behind) : NULL;

    *results = NULL;
    if (at == NULL)
        return 1;
    *results = malloc((size_t)(behind - at) + 1);
    if (*results == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    memcpy(*results, at, (size_t)(behind - at));
    (*results)[behind - at] = '\0';
    /* Blanks, so that what is said of the rest speaks of the right byte. */
    memset(at, ' ', (size_t)(behind - at));
    at[0] = '[';
    at[1] = ']';
    return 1;
}

static int check_message(const cJSON *json, int64_t id, kvc_said *said, kvc_error *error)
{
    const cJSON *text;
    int64_t got;

    if (!cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: expected an object", where);
        return 0;
    }
    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "id"), where, "id", 0, ID_MAX, &got, error))
        return 0;
    if (got != id) {
        kvc_error_set(error, "%s: field \"id\": %lld, expected %lld", where, (long long)got, (long long)id);
        return 0;
    }
    text = cJSON_GetObjectItemCaseSensitive(json, "absent");
    if (text != NULL) {
        kvc_error_set(error, "%.500s", cJSON_IsString(text) ? text->valuestring : "(a reason that is no text)");
        *said = KVC_SAID_ABSENT;
        return 0;
    }
    text = cJSON_GetObjectItemCaseSensitive(json, "error");
    if (text != NULL) {
        kvc_error_set(error, "the adapter says: %.500s",
                      cJSON_IsString(text) ? text->valuestring : "(an error that is no text)");
        *said = KVC_SAID_ERROR;
        return 0;
    }
    return 1;
}

int kvc_reply_parse(char *line, size_t length, int64_t id, cJSON **out, char **results, kvc_said *said, kvc_error *error)
{
    *out = NULL;
    *said = KVC_SAID_NOTHING;
    if (results != NULL && !take_results(line, length, results, error))
        return 0;
    if (kvc_json_parse(line, length, where, out, error) && check_message(*out, id, said, error))
        return 1;
    if (*out == NULL && (length == 0 || strchr("{[ \t", line[0]) == NULL))
        kvc_error_set(error, "%s: not valid JSON, expected a line that begins with {; what a subject prints belongs on standard error",
                      where);
    cJSON_Delete(*out);
    *out = NULL;
    if (results != NULL) {
        free(*results);
        *results = NULL;
    }
    return 0;
}

/* Variants that cannot be had here, each with a reason; none of them is among those that can. */
static int check_unavailable(const cJSON *json, const cJSON *variants, kvc_error *error)
{
    const cJSON *item;

    if (json != NULL && !cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: field \"unavailable\": expected an object of reasons", where);
        return 0;
    }
    cJSON_ArrayForEach(item, json) {
        const cJSON *other;
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0' || strlen(item->valuestring) >= REASON_SIZE) {
            kvc_error_set(error, "%s: field \"unavailable\": expected reasons shorter than %d bytes", where,
                          REASON_SIZE);
            return 0;
        }
        cJSON_ArrayForEach(other, variants) {
            if (strcmp(other->valuestring, item->string) == 0) {
                kvc_error_set(error, "%s: field \"unavailable\": \"%.60s\" stands in \"variants\" too", where,
                              item->string);
                return 0;
            }
        }
    }
    return 1;
}

/* Where classes are written: paths inside the folder of the subject's packages, and lines. */
static int check_locations(const cJSON *json, kvc_error *error)
{
    const cJSON *locations = cJSON_GetObjectItemCaseSensitive(json, "locations");
    const cJSON *item;
    char file[201];
    int64_t line;

    if (locations == NULL)
        return 1;
    if (!cJSON_IsObject(locations)) {
        kvc_error_set(error, "%s: field \"locations\": expected an object", where);
        return 0;
    }
    cJSON_ArrayForEach(item, locations) {
        if (!kvc_json_text(item, where, "file", file, sizeof file, error) ||
            !kvc_json_integer(cJSON_GetObjectItemCaseSensitive(item, "line"), where, "line", 1, INT32_MAX, &line, error))
            return 0;
        if (file[0] == '\0' || file[0] == '/' || strstr(file, "..") != NULL) {
            kvc_error_set(error, "%s: field \"locations\": \"%.60s\": expected a path below the folder of packages", where,
                          file);
            return 0;
        }
    }
    return 1;
}

/* What was taken for granted of a variant, and what is not tested: for each a list of texts. */
static int check_notes(const cJSON *json, const char *field, kvc_error *error)
{
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, field);
    const cJSON *list;
    const cJSON *item;
    int good = notes == NULL || cJSON_IsObject(notes);

    for (list = good && notes != NULL ? notes->child : NULL; list != NULL; list = list->next) {
        good = good && cJSON_IsArray(list) && cJSON_GetArraySize(list) <= NOTES_MAX;
        cJSON_ArrayForEach(item, list)
            good = good && cJSON_IsString(item) && item->valuestring[0] != '\0' && strlen(item->valuestring) < REASON_SIZE;
    }
    if (!good)
        kvc_error_set(error, "%s: field \"%s\": expected for each variant at most %d texts shorter than %d bytes", where, field, NOTES_MAX,
                      REASON_SIZE);
    return good;
}

/* Plain, short, all different. */
static int check_names(const cJSON *list, const char *field, kvc_error *error)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0' || strlen(item->valuestring) >= KVC_SPEC_NAME_MAX ||
            !kvc_text_is_plain(item->valuestring)) {
            kvc_error_set(error, "%s: field \"%s\": expected names shorter than %d bytes", where, field,
                          KVC_SPEC_NAME_MAX);
            return 0;
        }
        for (const cJSON *other = item->next; other != NULL; other = other->next) {
            if (cJSON_IsString(other) && strcmp(other->valuestring, item->valuestring) == 0) {
                kvc_error_set(error, "%s: field \"%s\": \"%.60s\" stands twice", where, field, item->valuestring);
                return 0;
            }
        }
    }
    return 1;
}

int kvc_reply_check_hello(const cJSON *json, kvc_error *error)
{
    char text[256];
    const cJSON *list;
    const cJSON *offers;
    const cJSON *item;
    int64_t protocol;

    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "protocol"), where, "protocol", 1, 1, &protocol,
                          error) ||
        !kvc_json_text(json, where, "subject", text, 96, error) ||
        !kvc_json_text(json, where, "version", text, 64, error) ||
        !kvc_json_array(json, where, "variants", NAMES_MAX, &list, error))
        return 0;
    if (!check_names(list, "variants", error))
        return 0;
    if (cJSON_GetObjectItemCaseSensitive(json, "offers") != NULL &&
        (!kvc_json_array(json, where, "offers", OFFERS_MAX, &offers, error) || !check_names(offers, "offers", error)))
        return 0;
    item = cJSON_GetObjectItemCaseSensitive(json, "scripts");
    if (item != NULL && (!cJSON_IsString(item) || !kvc_suffix_is_good(item->valuestring))) {
        kvc_error_set(error, "%s: field \"scripts\": expected 1 to 8 small letters and digits, such as py", where);
        return 0;
    }
    item = cJSON_GetObjectItemCaseSensitive(json, "environment");
    if (!cJSON_IsObject(item)) {
        kvc_error_set(error, "%s: field \"environment\": expected an object of texts", where);
        return 0;
    }
    for (item = item->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item)) {
            kvc_error_set(error, "%s: field \"environment\": expected an object of texts", where);
            return 0;
        }
    }
    return check_unavailable(cJSON_GetObjectItemCaseSensitive(json, "unavailable"), list, error) &&
           check_locations(json, error) && check_notes(json, "assumptions", error) && check_notes(json, "untested", error);
}

int kvc_reply_offers(const cJSON *hello, const char *request)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(hello, "offers")) {
        if (strcmp(item->valuestring, request) == 0)
            return 1;
    }
    return 0;
}

int kvc_reply_check_classes(const cJSON *json, kvc_error *error)
{
    const cJSON *list;

    return kvc_json_array(json, where, "classes", NAMES_MAX, &list, error) && check_names(list, "classes", error);
}

int kvc_reply_check_layers(const cJSON *json, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;
    const cJSON *params;
    const cJSON *param;
    char text[KVC_SPEC_NAME_MAX];

    if (!kvc_json_text(json, where, "cache", text, sizeof text, error) ||
        !kvc_json_array(json, where, "layers", LAYERS_MAX, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsObject(item) || !kvc_json_text(item, where, "class", text, sizeof text, error) ||
            !kvc_json_text_optional(item, where, "variant", text, sizeof text, error)) {
            kvc_error_set(error, "%s: field \"layers\": expected objects with a \"class\"", where);
            return 0;
        }
        params = cJSON_GetObjectItemCaseSensitive(item, "params");
        if (params != NULL && !cJSON_IsObject(params)) {
            kvc_error_set(error, "%s: field \"params\": expected an object", where);
            return 0;
        }
        cJSON_ArrayForEach(param, params) {
            if (!cJSON_IsString(param) && !(cJSON_IsNumber(param) && param->valuedouble == (double)param->valueint)) {
                kvc_error_set(error, "%s: field \"params\": expected whole numbers and words", where);
                return 0;
            }
        }
    }
    return 1;
}

static int read_tensor(const cJSON *json, kvc_names *names, kvc_reply_tensor *out, kvc_error *error)
{
    const cJSON *name = cJSON_GetArrayItem(json, 0);
    const cJSON *dtype = cJSON_GetArrayItem(json, 1);
    const cJSON *shape = cJSON_GetArrayItem(json, 2);
    const cJSON *axis;
    kvc_dtype type;
    kvc_tensor tensor;
    int64_t elements;

    memset(&tensor, 0, sizeof tensor);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != 3 || !cJSON_IsString(name) || !cJSON_IsString(dtype) ||
        !cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > KVC_DIMS_MAX) {
        kvc_error_set(error, "%s: field \"tensors\": expected [name, dtype, [at most %d sizes]]", where, KVC_DIMS_MAX);
        return 0;
    }
    if (name->valuestring[0] == '\0' || strlen(name->valuestring) > 2 * KVC_NAME_MAX ||
        !kvc_text_is_plain(name->valuestring) || (out->name = kvc_names_keep(names, name->valuestring)) == NULL) {
        kvc_error_set(error, "%s: field \"tensors\": a name that is empty, too long, or one name too many", where);
        return 0;
    }
    if (kvc_dtype_parse(dtype->valuestring, &type)) {
        out->dtype = (int32_t)type;
    } else {
        kvc_error_set(error,
                      "%s: field \"tensors\": dtype \"%.40s\", expected float32, float16, bfloat16, float64 or int64",
                      where, dtype->valuestring);
        return 0;
    }
    cJSON_ArrayForEach(axis, shape) {
        if (!kvc_json_integer(axis, where, "tensors.shape", 0, 1 << 30, &out->shape[out->dims], error))
            return 0;
        out->dims++;
    }
    tensor.dims = out->dims;
    memcpy(tensor.shape, out->shape, sizeof tensor.shape);
    elements = kvc_tensor_elements(&tensor);
    if (elements < 0 || (uint64_t)elements * kvc_dtype_size(type) > KVC_REPLY_DATA_MAX) {
        kvc_error_set(error, "%s: field \"tensors\": \"%s\": a shape of too many elements", where, out->name);
        return 0;
    }
    out->bytes = (size_t)elements * kvc_dtype_size(type);
    return 1;
}

static int read_errors(kvc_reply *reply, kvc_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(reply->json, "errors");
    const cJSON *item;

    if (list == NULL)
        return 1;
    if (!cJSON_IsArray(list)) {
        kvc_error_set(error, "%s: field \"errors\": expected an array of [kind, text]", where);
        return 0;
    }
    reply->error = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *reply->error);
    if (reply->error == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 || !cJSON_IsString(item->child) ||
            !cJSON_IsString(item->child->next)) {
            kvc_error_set(error, "%s: field \"errors\": expected an array of [kind, text]", where);
            return 0;
        }
        reply->error[reply->errors++] = item;
    }
    return 1;
}

/* Adds the tensors of a reply to those that it keeps of the replies before. */
static int read_tensors(const cJSON *json, kvc_reply_table *table, kvc_error *error)
{
    const cJSON *known = cJSON_GetObjectItemCaseSensitive(json, "known");
    const cJSON *list;
    const cJSON *item;
    int64_t kept = 0;
    int need;

    if ((known != NULL && !kvc_json_integer(known, where, "known", 0, table->count, &kept, error)) ||
        !kvc_json_array(json, where, "tensors", KVC_REPLY_TENSORS_MAX - (int)kept, &list, error))
        return 0;
    table->count = (int)kept;
    need = table->count + cJSON_GetArraySize(list);
    if (need > table->room) {
        int room = 2 * need;
        kvc_reply_tensor *larger = realloc(table->tensor, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            kvc_error_set(error, "not enough memory");
            return 0;
        }
        table->tensor = larger;
        table->room = room;
    }
    cJSON_ArrayForEach(item, list) {
        memset(&table->tensor[table->count], 0, sizeof *table->tensor);
        if (!read_tensor(item, &table->names, &table->tensor[table->count], error))
            return 0;
        table->count++;
    }
    return 1;
}

int kvc_reply_open(cJSON *json, char *results, const kvc_batch *batch, kvc_reply_table *table, kvc_reply *reply,
                   kvc_error *error)
{
    const cJSON *item;
    int64_t bytes;
    int times = 0;

    reply->json = json;
    reply->results = results;
    reply->batch = batch;
    reply->table = table;
    reply->error = NULL;
    reply->errors = 0;
    reply->at = results;
    reply->used = 0;
    reply->sequence = 0;
    reply->step = -1;
    reply->shown = 0;
    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "bytes"), where, "bytes", 0, KVC_REPLY_DATA_MAX,
                          &bytes, error) ||
        !read_tensors(json, table, error) || !read_errors(reply, error))
        return 0;
    reply->bytes = (size_t)bytes;
    for (item = json->child; item != NULL; item = item->next)
        times += strcmp(item->string, "results") == 0;
    if (results == NULL || times != 1) {
        kvc_error_set(error, "%s: field \"results\": expected one array of %zu sequences", where, batch->count);
        return 0;
    }
    return 1;
}

void kvc_reply_clear(kvc_reply *reply)
{
    free(reply->error);
    free(reply->results);
    cJSON_Delete(reply->json);
    reply->error = NULL;
    reply->results = NULL;
    reply->json = NULL;
}

int kvc_reply_check_places(const kvc_reply *reply, kvc_error *error)
{
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(reply->json, "places");
    const cJSON *list;
    const cJSON *item;

    if (!cJSON_IsArray(places) || (size_t)cJSON_GetArraySize(places) != reply->batch->count) {
        kvc_error_set(error, "%s: field \"places\": expected one array for each of %zu sequences", where, reply->batch->count);
        return 0;
    }
    cJSON_ArrayForEach(list, places) {
        int64_t number;
        if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KVC_REPLY_PLACES_MAX) {
            kvc_error_set(error, "%s: field \"places\": expected arrays of at most %d numbers", where, KVC_REPLY_PLACES_MAX);
            return 0;
        }
        cJSON_ArrayForEach(item, list) {
            if (!kvc_json_integer(item, where, "places", 0, UINT32_MAX, &number, error))
                return 0;
        }
    }
    return 1;
}

size_t kvc_reply_places(const kvc_reply *reply, size_t sequence, uint32_t *out)
{
    const cJSON *list = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply->json, "places"), (int)sequence);
    const cJSON *item;
    size_t count = 0;

    cJSON_ArrayForEach(item, list)
        out[count++] = (uint32_t)item->valuedouble;
    return count;
}
