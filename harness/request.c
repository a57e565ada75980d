/* Writing requests. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/protocol.h"

/* A text that grows; `bad` once memory was short. */
typedef struct text {
    char *at;
    size_t used;
    size_t room;
    int bad;
} text;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void put(text *out, const char *format, ...)
{
    for (int attempt = 0; attempt < 2 && !out->bad; attempt++) {
        va_list arguments;
        int length;
        va_start(arguments, format);
        length = vsnprintf(out->at != NULL ? out->at + out->used : NULL, out->room - out->used, format, arguments);
        va_end(arguments);
        if (length < 0) {
            out->bad = 1;
        } else if (out->used + (size_t)length < out->room) {
            out->used += (size_t)length;
            return;
        } else {
            size_t room = (out->used + (size_t)length + 1) * 2 + 256;
            char *larger = realloc(out->at, room);
            if (larger == NULL) {
                out->bad = 1;
            } else {
                out->at = larger;
                out->room = room;
            }
        }
    }
}

static char *finish(text *out)
{
    if (!out->bad)
        return out->at;
    free(out->at);
    return NULL;
}

/* A JSON text: names come from specs and the command line, so they are quoted. */
static void put_quoted(text *out, const char *word)
{
    put(out, "\"");
    for (; *word != '\0'; word++) {
        unsigned char byte = (unsigned char)*word;
        if (byte == '"' || byte == '\\')
            put(out, "\\%c", byte);
        else if (byte < 0x20)
            put(out, "\\u%04x", byte);
        else
            put(out, "%c", byte);
    }
    put(out, "\"");
}

char *kvc_request_hello(int64_t id)
{
    text out = {0};

    put(&out, "{\"id\": %lld, \"request\": \"hello\", \"protocol\": %d}\n", (long long)id, KVC_PROTOCOL_VERSION);
    return finish(&out);
}

char *kvc_request_classes(int64_t id)
{
    text out = {0};

    put(&out, "{\"id\": %lld, \"request\": \"classes\"}\n", (long long)id);
    return finish(&out);
}

static void put_op(text *out, const kvc_op *op)
{
    put(out, "[\"%s\"", kvc_op_name((kvc_op_kind)op->kind));
    for (const char *letter = kvc_op_arguments((kvc_op_kind)op->kind); *letter != '\0'; letter++) {
        if (kvc_op_omits(op, *letter))
            continue;
        if (*letter != 'r') {
            put(out, ",%d", (int)kvc_op_argument(op, *letter));
            continue;
        }
        put(out, ",[");
        for (int at = 0; at < op->count; at++)
            put(out, "%s%d", at > 0 ? "," : "", op->rows[at]);
        put(out, "]");
    }
    put(out, "]");
}

static int32_t tokens_of(const kvc_sequence *sequence)
{
    int32_t count = 0;

    for (int at = 0; at < sequence->count; at++)
        count += kvc_op_tokens(&sequence->op[at]);
    return count;
}

static void put_params(text *out, const kvc_plan *plan)
{
    const kvc_param_info *table = kvc_param_table();
    const kvc_spec *spec = plan->spec;

    put(out, "{");
    for (int at = 0; at < KVC_PARAMS; at++) {
        int32_t value = kvc_param_get(&plan->params, at);
        if (!kvc_spec_writes(spec, at))
            continue;
        if (table[at].words == NULL)
            put(out, "\"%s\":%d,", table[at].name, (int)value);
        else
            put(out, "\"%s\":\"%s\",", table[at].name, table[at].words[value]);
    }
    if (plan->parts[0] != '\0') {
        put(out, "\"parts\":");
        put_quoted(out, plan->parts);
        put(out, ",");
    }
    if (plan->layer_words[0] != '\0') {
        put(out, "\"layers\":");
        put_quoted(out, plan->layer_words);
        put(out, ",");
    }
    put(out, "\"watch\":%d}", (int)plan->params.watch);
}

/* The number of a token, with the rows that its rows stand for where these are not the rows themselves. */
static void put_number(text *out, const kvc_batch *batch, size_t sequence, int32_t token)
{
    const uint8_t(*origins)[KVC_ROWS_MAX] = batch->origins != NULL ? batch->origins[sequence] : NULL;

    if (origins == NULL) {
        put(out, "%d", (int)batch->numbers[sequence][token]);
        return;
    }
    put(out, "[%d,[", (int)batch->numbers[sequence][token]);
    for (int32_t row = 0; row < batch->plan->params.batch; row++)
        put(out, "%s%d", row > 0 ? "," : "", origins[token][row]);
    put(out, "]]");
}

char *kvc_request_run(int64_t id, const kvc_batch *batch)
{
    text out = {0};
    int explicit_numbers = 0;

    put(&out, "{\"id\":%lld,\"request\":\"run\",\"variant\":", (long long)id);
    put_quoted(&out, batch->plan->variant);
    put(&out, ",\"params\":");
    put_params(&out, batch->plan);
    put(&out, ",\"sequences\":[");
    for (size_t at = 0; at < batch->count; at++) {
        put(&out, "%s[", at > 0 ? "," : "");
        for (int op = 0; op < batch->sequence[at].count; op++) {
            if (op > 0)
                put(&out, ",");
            put_op(&out, &batch->sequence[at].op[op]);
        }
        put(&out, "]");
        explicit_numbers |= batch->numbers != NULL && batch->numbers[at] != NULL;
    }
    put(&out, "]");
    if (explicit_numbers) {
        put(&out, ",\"numbers\":[");
        for (size_t at = 0; at < batch->count; at++) {
            const int32_t *numbers = batch->numbers[at];
            put(&out, "%s", at > 0 ? "," : "");
            if (numbers == NULL) {
                put(&out, "null");
                continue;
            }
            put(&out, "[");
            for (int32_t token = 0; token < tokens_of(&batch->sequence[at]); token++) {
                put(&out, token > 0 ? "," : "");
                put_number(&out, batch, at, token);
            }
            put(&out, "]");
        }
        put(&out, "]");
    }
    put(&out, batch->places ? ",\"places\":1}\n" : "}\n");
    return finish(&out);
}

/* A request of this kind with the fields of an object that is text. */
static char *request_with(int64_t id, const char *kind, const char *fields)
{
    text out = {0};
    size_t length = strlen(fields);

    while (length > 0 && fields[length - 1] != '}')
        length--;
    if (length < 2)
        return NULL;
    put(&out, "%.*s,\"id\":%lld,\"request\":\"%s\"}\n", (int)(length - 1), fields, (long long)id, kind);
    return finish(&out);
}

char *kvc_request_script(int64_t id, const char *fields)
{
    return request_with(id, "script", fields);
}

char *kvc_request_layers(int64_t id, const char *fields)
{
    return request_with(id, "layers", fields);
}
