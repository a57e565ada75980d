#include "harness/observed.h"

#include <string.h>

#include "reference/json.h"

enum { TEXT_MAX = 1 << 16 };

static int text_is_good(const char *text)
{
    return text != NULL && (text[0] == '\0' || memchr(text, '\0', TEXT_MAX) != NULL);
}

/* A name is short, plain, and ends. */
static int name_is_good(const char *name)
{
    return name != NULL && name[0] != '\0' && memchr(name, '\0', KVC_NAME_MAX) != NULL && kvc_text_is_plain(name);
}

static int refuse(const kvc_tensor *tensor, const char *what, kvc_error *error)
{
    kvc_error_set(error, "the plugin's tensor \"%.60s\": %s", tensor->name, what);
    return 0;
}

/* What the strides reach over is as much memory as a tensor may have. */
static int strides_are_good(const kvc_tensor *tensor)
{
    int64_t reach = 0;

    for (int at = 0; at < tensor->dims; at++) {
        if (tensor->stride[at] < 1 || tensor->stride[at] > KVC_SHOWN_BYTES_MAX)
            return 0;
        /* Both factors are at most 2^30. */
        reach += tensor->shape[at] > 1 ? (tensor->shape[at] - 1) * tensor->stride[at] : 0;
        if (reach > KVC_SHOWN_BYTES_MAX)
            return 0;
    }
    return 1;
}

static int tensor_is_good(const kvc_tensor *tensor, kvc_error *error)
{
    int64_t bytes;

    if (tensor->dims < 0 || tensor->dims > KVC_DIMS_MAX)
        return refuse(tensor, "expected 0 to 6 dimensions", error);
    if (tensor->dtype < KVC_FLOAT32 || tensor->dtype > KVC_INT64)
        return refuse(tensor, "an unknown type of elements", error);
    bytes = (int64_t)kvc_dtype_size((kvc_dtype)tensor->dtype);
    for (int at = 0; at < tensor->dims; at++) {
        if (tensor->shape[at] < 0)
            return refuse(tensor, "a negative size in its shape", error);
        /* Both factors are at most 2^30. */
        if (tensor->shape[at] > KVC_SHOWN_BYTES_MAX || bytes * tensor->shape[at] > KVC_SHOWN_BYTES_MAX)
            return refuse(tensor, "more than 1 GiB", error);
        bytes *= tensor->shape[at];
    }
    if (bytes > 0 && tensor->data == NULL)
        return refuse(tensor, "it has elements, and its data is NULL", error);
    if (tensor->dims > 0 && tensor->stride[0] != 0 && !strides_are_good(tensor))
        return refuse(tensor, "a stride below 1, or strides over more than 1 GiB", error);
    return 1;
}

int kvc_observed_check(kvc_observed *known, const kvc_observation *observation, kvc_error *error)
{
    if (observation->outcome < 0 || observation->outcome > 1)
        kvc_error_set(error, "the plugin's outcome is %ld, expected 0 or 1", (long)observation->outcome);
    else if (observation->layers < 0 || observation->layers > KVC_LAYERS_MAX)
        kvc_error_set(error, "the plugin shows %ld layers, expected 0 to %d", (long)observation->layers, KVC_LAYERS_MAX);
    else if (observation->claim < -1 || observation->claim > 1)
        kvc_error_set(error, "the plugin's claim is %ld, expected -1, 0 or 1", (long)observation->claim);
    else if (observation->tensors < 0 || observation->tensors > KVC_TENSORS_MAX)
        kvc_error_set(error, "the plugin shows %ld tensors, expected 0 to %d", (long)observation->tensors, KVC_TENSORS_MAX);
    else if (!text_is_good(observation->error_kind) || !text_is_good(observation->error_text))
        kvc_error_set(error, "the plugin's kind or text of an error is NULL or has no end");
    else {
        for (int32_t at = 0; at < observation->tensors; at++) {
            const kvc_tensor *tensor = &observation->tensor[at];
            if (tensor->name != known->name[at] || tensor->name == NULL) {
                if (!name_is_good(tensor->name)) {
                    kvc_error_set(error, "the plugin's tensor %ld: expected a name of less than %d bytes", (long)at, KVC_NAME_MAX);
                    return 0;
                }
                known->name[at] = tensor->name;
            }
            if (!tensor_is_good(tensor, error))
                return 0;
        }
        return 1;
    }
    return 0;
}
