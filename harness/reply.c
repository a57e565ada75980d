/* Reading replies. Nothing in them is trusted. */
#include <stdlib.h>
#include <string.h>

#include "harness/protocol.h"
#include "reference/check.h"
#include "reference/json.h"

enum { NAMES_MAX = 4096, ID_MAX = 1 << 30 };
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

int kvc_reply_parse(const char *line, size_t length, int64_t id, cJSON **out, kvc_error *error)
{
    cJSON *json;
    const cJSON *text;
    int64_t got;

    *out = NULL;
    if (!kvc_json_parse(line, length, where, &json, error))
        return 0;
    if (!cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: expected an object", where);
        cJSON_Delete(json);
        return 0;
    }
    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "id"), where, "id", 0, ID_MAX, &got, error)) {
        cJSON_Delete(json);
        return 0;
    }
    if (got != id) {
        kvc_error_set(error, "%s: field \"id\": %lld, expected %lld", where, (long long)got, (long long)id);
        cJSON_Delete(json);
        return 0;
    }
    text = cJSON_GetObjectItemCaseSensitive(json, "error");
    if (text != NULL) {
        kvc_error_set(error, "the adapter says: %.500s",
                      cJSON_IsString(text) ? text->valuestring : "(an error that is no text)");
        cJSON_Delete(json);
        return 0;
    }
    *out = json;
    return 1;
}

int kvc_reply_check_hello(const cJSON *json, kvc_error *error)
{
    char text[256];
    const cJSON *list;
    const cJSON *item;
    int64_t protocol;

    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "protocol"), where, "protocol", 1, 1, &protocol,
                          error) ||
        !kvc_json_text(json, where, "subject", text, 96, error) ||
        !kvc_json_text(json, where, "version", text, 64, error) ||
        !kvc_json_array(json, where, "variants", 4096, &list, error))
        return 0;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0' || strlen(item->valuestring) >= KVC_SPEC_NAME_MAX ||
            !kvc_text_is_plain(item->valuestring)) {
            kvc_error_set(error, "%s: field \"variants\": expected names shorter than %d bytes", where,
                          KVC_SPEC_NAME_MAX);
            return 0;
        }
        for (const cJSON *other = item->next; other != NULL; other = other->next) {
            if (cJSON_IsString(other) && strcmp(other->valuestring, item->valuestring) == 0) {
                kvc_error_set(error, "%s: field \"variants\": \"%.60s\" stands twice", where, item->valuestring);
                return 0;
            }
        }
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
    const cJSON *item;

    reply->errors = cJSON_GetObjectItemCaseSensitive(reply->json, "errors");
    if (reply->errors == NULL)
        return 1;
    if (!cJSON_IsArray(reply->errors)) {
        kvc_error_set(error, "%s: field \"errors\": expected an array of [kind, text]", where);
        return 0;
    }
    cJSON_ArrayForEach(item, reply->errors) {
        if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 || !cJSON_IsString(cJSON_GetArrayItem(item, 0)) ||
            !cJSON_IsString(cJSON_GetArrayItem(item, 1))) {
            kvc_error_set(error, "%s: field \"errors\": expected an array of [kind, text]", where);
            return 0;
        }
    }
    return 1;
}

int kvc_reply_open(cJSON *json, const kvc_batch *batch, kvc_names *names, kvc_reply *reply, kvc_error *error)
{
    const cJSON *list;
    const cJSON *item;
    int64_t bytes;
    size_t at = 0;

    memset(reply, 0, sizeof *reply);
    reply->json = json;
    if (!kvc_json_integer(cJSON_GetObjectItemCaseSensitive(json, "bytes"), where, "bytes", 0, KVC_REPLY_DATA_MAX,
                          &bytes, error) ||
        !kvc_json_array(json, where, "tensors", KVC_REPLY_TENSORS_MAX, &list, error) || !read_errors(reply, error))
        return 0;
    reply->bytes = (size_t)bytes;
    reply->tensor = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *reply->tensor);
    if (reply->tensor == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        if (!read_tensor(item, names, &reply->tensor[reply->tensors], error))
            return 0;
        reply->tensors++;
    }
    if (!kvc_json_array(json, where, "results", (int)batch->count, &reply->results, error))
        return 0;
    cJSON_ArrayForEach(item, reply->results) {
        if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != batch->sequence[at].count) {
            kvc_error_set(error, "%s: field \"results\": sequence %zu: expected %d steps", where, at,
                          (int)batch->sequence[at].count);
            return 0;
        }
        at++;
    }
    if (at != batch->count) {
        kvc_error_set(error, "%s: field \"results\": %zu sequences, expected %zu", where, at, batch->count);
        return 0;
    }
    return 1;
}

void kvc_reply_clear(kvc_reply *reply)
{
    free(reply->tensor);
    cJSON_Delete(reply->json);
    memset(reply, 0, sizeof *reply);
}

/* Integers or null, one for each layer. */
static int read_layers(const cJSON *list, const char *field, int64_t *out, int *layers, kvc_error *error)
{
    const cJSON *item;
    int count = 0;

    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KVC_LAYERS_MAX) {
        kvc_error_set(error, "%s: step: %s: expected an array of at most %d", where, field, KVC_LAYERS_MAX);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        out[count] = KVC_ABSENT;
        if (!cJSON_IsNull(item) &&
            !kvc_json_integer(item, where, field, -((int64_t)1 << 53), (int64_t)1 << 53, &out[count], error))
            return 0;
        count++;
    }
    for (int at = count; at < KVC_LAYERS_MAX; at++)
        out[at] = KVC_ABSENT;
    if (count > *layers)
        *layers = count;
    return 1;
}

static int read_masks(const cJSON *list, kvc_observation *out, kvc_error *error)
{
    const cJSON *item;
    int count = 0;

    for (int at = 0; at < KVC_LAYERS_MAX; at++)
        out->mask_length[at] = out->mask_offset[at] = KVC_ABSENT;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KVC_LAYERS_MAX) {
        kvc_error_set(error, "%s: step: masks: expected an array of at most %d", where, KVC_LAYERS_MAX);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        int64_t limit = (int64_t)1 << 53;
        if (!cJSON_IsNull(item) &&
            (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 ||
             !kvc_json_integer(item->child, where, "masks", -limit, limit, &out->mask_length[count], error) ||
             !kvc_json_integer(item->child->next, where, "masks", -limit, limit, &out->mask_offset[count], error))) {
            kvc_error_set(error, "%s: step: masks: expected [length, offset] or null", where);
            return 0;
        }
        count++;
    }
    return 1;
}

static int read_step_tensors(const kvc_reply *reply, const cJSON *list, const uint8_t *data, size_t *used,
                             kvc_observation *out, kvc_error *error)
{
    const cJSON *item;

    out->tensors = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > KVC_TENSORS_MAX) {
        kvc_error_set(error, "%s: step: tensors: expected an array of at most %d", where, KVC_TENSORS_MAX);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        kvc_tensor *tensor = &out->tensor[out->tensors];
        const cJSON *number = item;
        const kvc_reply_tensor *known;
        int64_t index;
        int64_t same = -1;
        if (cJSON_IsArray(item)) {
            if (cJSON_GetArraySize(item) != 2 ||
                !kvc_json_integer(item->child->next, where, "tensors", 0, out->tensors - 1, &same, error)) {
                kvc_error_set(error, "%s: step: tensors: expected [index, an earlier entry]", where);
                return 0;
            }
            number = item->child;
        }
        if (!kvc_json_integer(number, where, "tensors", 0, reply->tensors - 1, &index, error))
            return 0;
        known = &reply->tensor[index];
        /* Names are kept once, so that the same name is the same pointer. */
        for (int at = 0; at < out->tensors; at++) {
            if (out->tensor[at].name == known->name) {
                kvc_error_set(error, "%s: step: tensors: \"%s\" is shown twice, expected each tensor once", where,
                              known->name);
                return 0;
            }
        }
        tensor->name = known->name;
        tensor->dtype = known->dtype;
        tensor->dims = known->dims;
        tensor->address = 0;
        memcpy(tensor->shape, known->shape, sizeof tensor->shape);
        if (same >= 0) {
            const kvc_tensor *other = &out->tensor[same];
            if ((uint64_t)kvc_tensor_elements(other) * kvc_dtype_size((kvc_dtype)other->dtype) != known->bytes) {
                kvc_error_set(error, "%s: step: tensors: \"%s\" shares the bytes of a tensor of another size", where,
                              known->name);
                return 0;
            }
            tensor->data = other->data;
        } else {
            if (known->bytes > reply->bytes - *used) {
                kvc_error_set(error, "%s: field \"bytes\": %zu, the steps speak of more", where, reply->bytes);
                return 0;
            }
            tensor->data = data + *used;
            *used += known->bytes;
        }
        out->tensors++;
    }
    return 1;
}

static int read_addresses(const cJSON *list, kvc_observation *out, kvc_error *error)
{
    const cJSON *item;
    int at = 0;

    if (list == NULL)
        return 1;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != out->tensors) {
        kvc_error_set(error, "%s: step: addresses: expected one for each tensor", where);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        int64_t address;
        if (!kvc_json_integer(item, where, "addresses", 0, (int64_t)1 << 53, &address, error))
            return 0;
        out->tensor[at++].address = (uint64_t)address;
    }
    return 1;
}

static int read_outcome(const kvc_reply *reply, const cJSON *outcome, const cJSON *claim, const cJSON *index,
                        kvc_observation *out, kvc_error *error)
{
    int64_t number;

    if (!kvc_json_integer(outcome, where, "outcome", 0, 1, &number, error))
        return 0;
    out->outcome = (int32_t)number;
    out->claim = -1;
    if (!cJSON_IsNull(claim)) {
        if (!kvc_json_integer(claim, where, "claim", 0, 1, &number, error))
            return 0;
        out->claim = (int32_t)number;
    }
    if (!kvc_json_integer(index, where, "error", -1, reply->errors != NULL ? cJSON_GetArraySize(reply->errors) - 1 : -1,
                          &number, error))
        return 0;
    out->error_kind = out->error_text = "";
    if (number >= 0) {
        const cJSON *pair = cJSON_GetArrayItem(reply->errors, (int)number);
        out->error_kind = pair->child->valuestring;
        out->error_text = pair->child->next->valuestring;
    }
    return 1;
}

int kvc_reply_step(const kvc_reply *reply, const cJSON *step, const uint8_t *data, size_t *used, kvc_observation *out,
                   kvc_error *error)
{
    const cJSON *field[8] = {NULL};
    const cJSON *item = cJSON_IsArray(step) ? step->child : NULL;
    int count = 0;

    for (; item != NULL && count < 8; item = item->next)
        field[count++] = item;
    if (count < 7 || item != NULL) {
        kvc_error_set(error, "%s: step: expected 7 or 8 fields", where);
        return 0;
    }
    out->layers = 0;
    return read_outcome(reply, field[0], field[4], field[6], out, error) &&
           read_layers(field[1], "lengths", out->length, &out->layers, error) && read_masks(field[2], out, error) &&
           read_layers(field[3], "positions", out->position, &out->layers, error) &&
           read_step_tensors(reply, field[5], data, used, out, error) && read_addresses(field[7], out, error);
}
