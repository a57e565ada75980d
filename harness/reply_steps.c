/*
 * Reading the steps of a reply. They are most of what an adapter says, so they are read straight from their text, without a tree.
 * Nothing in them is trusted: the text ends with a zero byte, which no part of the grammar allows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/protocol.h"
#include "reference/check.h"

enum { NUMBER_MAX = 64, TEXT_SHOWN = 24 };
static const char where[] = "adapter's reply";
static const int64_t number_limit = (int64_t)1 << 53;

static void skip_blanks(kvc_reply *reply)
{
    while (*reply->at == ' ' || *reply->at == '\t' || *reply->at == '\r')
        reply->at++;
}

/* Whether `mark` comes next; then it is taken. */
static int take(kvc_reply *reply, char mark)
{
    skip_blanks(reply);
    if (*reply->at != mark)
        return 0;
    reply->at++;
    return 1;
}

static int take_null(kvc_reply *reply)
{
    skip_blanks(reply);
    if (strncmp(reply->at, "null", 4) != 0)
        return 0;
    reply->at += 4;
    return 1;
}

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* JSON may write a whole number as 3.0 or 3e0; few do. `start` is where it begins. */
static int take_long_number(kvc_reply *reply, const char *start, int64_t *out)
{
    size_t length = strspn(start, "-+.0123456789eE");
    char text[NUMBER_MAX];
    char *end;
    const char *at = reply->at;
    double value;

    if (length >= sizeof text || (*at == '.' && !is_digit(at[1])))
        return 0;
    memcpy(text, start, length);
    text[length] = '\0';
    value = strtod(text, &end);
    if (*end != '\0' || !(fabs(value) <= (double)number_limit) || value != floor(value))
        return 0;
    reply->at = start + length;
    *out = (int64_t)value;
    return 1;
}

/* A whole number, as JSON writes them. */
static int take_number(kvc_reply *reply, int64_t *out)
{
    const char *start;
    int64_t value = 0;
    int negative;

    skip_blanks(reply);
    start = reply->at;
    negative = *reply->at == '-';
    reply->at += negative;
    if (!is_digit(*reply->at) || (*reply->at == '0' && is_digit(reply->at[1])))
        return 0;
    for (; is_digit(*reply->at); reply->at++) {
        value = 10 * value + (*reply->at - '0');
        if (value > number_limit)
            return 0;
    }
    if (*reply->at == '.' || *reply->at == 'e' || *reply->at == 'E')
        return take_long_number(reply, start, out);
    *out = negative ? -value : value;
    return 1;
}

/* A number between two bounds, or the error. */
static int take_bounded(kvc_reply *reply, const char *field, int64_t low, int64_t high, int64_t *out, kvc_error *error)
{
    const char *start;
    int shown = 0;

    skip_blanks(reply);
    start = reply->at;
    if (take_number(reply, out) && *out >= low && *out <= high)
        return 1;
    while (shown < TEXT_SHOWN && start[shown] > ' ' && start[shown] < 0x7f && start[shown] != ',' && start[shown] != ']')
        shown++;
    kvc_error_set(error, "%s: step: %s: %.*s, expected a whole number from %lld to %lld", where, field, shown, start,
                  (long long)low, (long long)high);
    return 0;
}

/* Behind an entry of an array: 1 when another one follows, 0 at its end, -1 where neither is there. */
static int more(kvc_reply *reply)
{
    return take(reply, ',') ? 1 : take(reply, ']') ? 0 : -1;
}

/* Integers or null, one for each layer. */
static int read_layers(kvc_reply *reply, const char *field, int64_t *out, int *layers, kvc_error *error)
{
    int count = 0;
    int next = take(reply, '[') ? !take(reply, ']') : -1;

    for (; next > 0 && count < KVC_LAYERS_MAX; next = more(reply)) {
        out[count] = KVC_ABSENT;
        if (!take_null(reply) && !take_bounded(reply, field, -number_limit, number_limit, &out[count], error))
            return 0;
        count++;
    }
    if (next != 0) {
        kvc_error_set(error, "%s: step: %s: expected an array of at most %d", where, field, KVC_LAYERS_MAX);
        return 0;
    }
    for (int at = count; at < KVC_LAYERS_MAX; at++)
        out[at] = KVC_ABSENT;
    if (count > *layers)
        *layers = count;
    return 1;
}

static int read_masks(kvc_reply *reply, kvc_observation *out, kvc_error *error)
{
    int count = 0;
    int next = take(reply, '[') ? !take(reply, ']') : -1;

    for (int at = 0; at < KVC_LAYERS_MAX; at++)
        out->mask_length[at] = out->mask_offset[at] = KVC_ABSENT;
    for (; next > 0 && count < KVC_LAYERS_MAX; next = more(reply)) {
        int64_t length;
        int64_t offset;
        if (!take_null(reply)) {
            if (!take(reply, '[') || !take_number(reply, &length) || !take(reply, ',') || !take_number(reply, &offset) ||
                !take(reply, ']')) {
                kvc_error_set(error, "%s: step: masks: expected [length, offset] or null", where);
                return 0;
            }
            out->mask_length[count] = length;
            out->mask_offset[count] = offset;
        }
        count++;
    }
    if (next == 0)
        return 1;
    kvc_error_set(error, "%s: step: masks: expected an array of at most %d", where, KVC_LAYERS_MAX);
    return 0;
}

/* The bytes that the step before showed of a tensor. They mostly stand in the same order: looking begins behind the last one found. */
static const kvc_reply_shown *find_before(const kvc_reply *reply, int index, int *from)
{
    for (int looked = 0; looked < reply->shown; looked++) {
        int at = (*from + looked) % reply->shown;
        if (reply->before[at].index == index) {
            *from = at + 1;
            return &reply->before[at];
        }
    }
    return NULL;
}

/* The bytes of one entry. */
static int find_data(kvc_reply *reply, const kvc_observation *out, int index, int shares, int64_t same, const uint8_t *data,
                     int *from, const void **found, kvc_error *error)
{
    const kvc_reply_tensor *known = &reply->table->tensor[index];

    if (shares && same < 0) {
        const kvc_reply_shown *before = find_before(reply, index, from);
        if (before == NULL) {
            kvc_error_set(error, "%s: step: tensors: \"%s\" is said to be as before, but was not shown so in the step before",
                          where, known->name);
            return 0;
        }
        *found = before->data;
    } else if (shares) {
        const kvc_tensor *other = &out->tensor[same];
        if ((uint64_t)kvc_tensor_elements(other) * kvc_dtype_size((kvc_dtype)other->dtype) != known->bytes) {
            kvc_error_set(error, "%s: step: tensors: \"%s\" shares the bytes of a tensor of another size", where,
                          known->name);
            return 0;
        }
        *found = other->data;
    } else {
        if (known->bytes > reply->bytes - reply->used) {
            kvc_error_set(error, "%s: field \"bytes\": %zu, the steps speak of more", where, reply->bytes);
            return 0;
        }
        *found = data + reply->used;
        reply->used += known->bytes;
    }
    return 1;
}

static int read_step_tensors(kvc_reply *reply, const uint8_t *data, kvc_observation *out, kvc_error *error)
{
    kvc_reply_shown shown[KVC_TENSORS_MAX];
    int from = 0;
    int next = take(reply, '[') ? !take(reply, ']') : -1;

    out->tensors = 0;
    for (; next > 0 && out->tensors < KVC_TENSORS_MAX; next = more(reply)) {
        kvc_tensor *tensor = &out->tensor[out->tensors];
        const kvc_reply_tensor *known;
        int shares = take(reply, '[');
        int64_t index;
        int64_t same = 0;
        if (!take_bounded(reply, "tensors", 0, reply->table->count - 1, &index, error))
            return 0;
        if (shares && (!take(reply, ',') || !take_number(reply, &same) || same < -1 || same >= out->tensors ||
                       !take(reply, ']'))) {
            kvc_error_set(error, "%s: step: tensors: expected [index, an earlier entry or -1]", where);
            return 0;
        }
        known = &reply->table->tensor[index];
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
        if (!find_data(reply, out, (int)index, shares, same, data, &from, &tensor->data, error))
            return 0;
        shown[out->tensors++] = (kvc_reply_shown){(int)index, tensor->data};
    }
    if (next != 0) {
        kvc_error_set(error, "%s: step: tensors: expected an array of at most %d", where, KVC_TENSORS_MAX);
        return 0;
    }
    memcpy(reply->before, shown, (size_t)out->tensors * sizeof *shown);
    reply->shown = out->tensors;
    return 1;
}

static int read_addresses(kvc_reply *reply, kvc_observation *out, kvc_error *error)
{
    int count = 0;
    int next = take(reply, '[') ? !take(reply, ']') : -1;

    for (; next > 0 && count < out->tensors; next = more(reply)) {
        int64_t address;
        if (!take_bounded(reply, "addresses", 0, number_limit, &address, error))
            return 0;
        out->tensor[count++].address = (uint64_t)address;
    }
    if (next == 0 && count == out->tensors)
        return 1;
    kvc_error_set(error, "%s: step: addresses: expected one for each tensor", where);
    return 0;
}

static int read_outcome(kvc_reply *reply, kvc_observation *out, kvc_error *error)
{
    int64_t number;

    if (!take_bounded(reply, "outcome", 0, 1, &number, error))
        return 0;
    out->outcome = (int32_t)number;
    return 1;
}

static int read_claim(kvc_reply *reply, kvc_observation *out, kvc_error *error)
{
    int64_t number = -1;

    if (!take_null(reply) && !take_bounded(reply, "claim", 0, 1, &number, error))
        return 0;
    out->claim = (int32_t)number;
    return 1;
}

static int read_error(kvc_reply *reply, kvc_observation *out, kvc_error *error)
{
    int64_t number;

    if (!take_bounded(reply, "error", -1, reply->errors - 1, &number, error))
        return 0;
    out->error_kind = out->error_text = "";
    if (number >= 0) {
        out->error_kind = reply->error[number]->child->valuestring;
        out->error_text = reply->error[number]->child->next->valuestring;
    }
    return 1;
}

/* The comma behind a field, or the error. */
static int next_field(kvc_reply *reply, kvc_error *error)
{
    if (take(reply, ','))
        return 1;
    kvc_error_set(error, "%s: step: expected 7 or 8 fields", where);
    return 0;
}

static int read_step(kvc_reply *reply, const uint8_t *data, kvc_observation *out, kvc_error *error)
{
    out->layers = 0;
    if (!read_outcome(reply, out, error) || !next_field(reply, error) ||
        !read_layers(reply, "lengths", out->length, &out->layers, error) || !next_field(reply, error) ||
        !read_masks(reply, out, error) || !next_field(reply, error) ||
        !read_layers(reply, "positions", out->position, &out->layers, error) || !next_field(reply, error) ||
        !read_claim(reply, out, error) || !next_field(reply, error) ||
        !read_step_tensors(reply, data, out, error) || !next_field(reply, error) || !read_error(reply, out, error))
        return 0;
    if (take(reply, ']'))
        return 1;
    if (!next_field(reply, error) || !read_addresses(reply, out, error))
        return 0;
    if (take(reply, ']'))
        return 1;
    kvc_error_set(error, "%s: step: expected 7 or 8 fields", where);
    return 0;
}

static int wrong_steps(const kvc_reply *reply, kvc_error *error)
{
    kvc_error_set(error, "%s: field \"results\": sequence %zu: expected %d steps", where, reply->sequence,
                  (int)reply->batch->sequence[reply->sequence].count);
    return -1;
}

/* Moves into the next step. Returns 1, 0 behind the last one, -1 with *error set. */
static int find_step(kvc_reply *reply, kvc_error *error)
{
    const kvc_batch *batch = reply->batch;

    if (reply->step < 0 && reply->sequence == 0 && !take(reply, '[')) {
        kvc_error_set(error, "%s: field \"results\": expected an array", where);
        return -1;
    }
    while (reply->sequence < batch->count) {
        if (reply->step < 0 && reply->sequence > 0 && !take(reply, ',')) {
            kvc_error_set(error, "%s: field \"results\": %zu sequences, expected %zu", where, reply->sequence, batch->count);
            return -1;
        }
        if (reply->step < 0 && !take(reply, '['))
            return wrong_steps(reply, error);
        reply->step++;
        if (reply->step < batch->sequence[reply->sequence].count)
            return (reply->step == 0 || take(reply, ',')) && take(reply, '[') ? 1 : wrong_steps(reply, error);
        if (!take(reply, ']'))
            return wrong_steps(reply, error);
        reply->sequence++;
        reply->step = -1;
        reply->shown = 0;
    }
    if (take(reply, ']')) {
        skip_blanks(reply);
        if (*reply->at == '\0')
            return 0;
    }
    kvc_error_set(error, "%s: field \"results\": more than %zu sequences", where, batch->count);
    return -1;
}

int kvc_reply_next(kvc_reply *reply, const uint8_t *data, kvc_observation *out, kvc_error *error)
{
    int found = find_step(reply, error);

    if (found > 0)
        return read_step(reply, data, out, error) ? 1 : -1;
    if (found == 0 && reply->used != reply->bytes) {
        kvc_error_set(error, "%s: field \"bytes\": %zu, the steps speak of %zu", where, reply->bytes, reply->used);
        return -1;
    }
    return found;
}
