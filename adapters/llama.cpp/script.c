#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_choice.h"

enum { FILE_MAX = 1 << 17, WORD_MAX = 400 };

/* What is written so far. */
typedef struct text {
    char *out;
    size_t room;
    size_t length; /* of the whole, as if there were room */
} text;

static void put(text *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(text *self, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(self->length < self->room ? self->out + self->length : NULL,
                       self->length < self->room ? self->room - self->length : 0, format, arguments);
    va_end(arguments);
    self->length += length > 0 ? (size_t)length : 0;
}

/* ---- The little of JSON that a request is made of; it was written by kvconform and is well formed ---- */

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\n\r,:");
}

static const char *skip_text(const char *at)
{
    for (at++; *at != '\0' && *at != '"'; at++)
        at += *at == '\\' && at[1] != '\0';
    return *at == '"' ? at + 1 : at;
}

static const char *skip_value(const char *at)
{
    int depth = 0;

    do {
        at = skip_space(at);
        if (*at == '"') {
            at = skip_text(at);
        } else if (*at == '[' || *at == '{') {
            depth++;
            at++;
        } else if (*at == ']' || *at == '}') {
            depth--;
            at++;
        } else {
            at += strcspn(at, " \t\n\r,:[]{}\"");
        }
    } while (depth > 0 && *at != '\0');
    return at;
}

/* The value of a field, or NULL. */
static const char *find(const char *object, const char *field)
{
    size_t length = strlen(field);
    const char *at = object != NULL && *object == '{' ? skip_space(object + 1) : "";

    while (*at == '"') {
        const char *name = at + 1;
        const char *value = skip_space(skip_text(at));
        if (strncmp(name, field, length) == 0 && name[length] == '"')
            return value;
        at = skip_space(skip_value(value));
    }
    return NULL;
}

static int number_of(const char *object, const char *field, int standard)
{
    const char *value = find(object, field);

    return value != NULL && strchr("-0123456789", *value) != NULL ? (int)strtol(value, NULL, 10) : standard;
}

/* The words of a text, without what would end a comment. */
static const char *word_of(const char *object, const char *field, char out[WORD_MAX])
{
    const char *at = find(object, field);
    size_t used = 0;

    if (at != NULL && *at == '"') {
        for (at++; *at != '\0' && *at != '"' && used + 1 < WORD_MAX; at++) {
            if (*at == '\\' && at[1] != '\0')
                at++;
            out[used++] = *at == '*' && at[1] == '/' ? '+' : *at;
        }
    }
    out[used] = '\0';
    return out;
}

/* ---- The program ---- */

static void put_file(text *out, const char *name)
{
    char path[1024];
    char line[1024];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", KVC_LLAMA_SOURCES, name);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "#include \"", 10) != 0)
            put(out, "%s", line);
    }
    if (file != NULL)
        (void)fclose(file);
}

static void put_op(text *out, const char *op)
{
    static const struct {
        const char *name;
        const char *word;
        const char *letters; /* its arguments: r rows, s sequence, o other, b begin, e end, n */
    } kinds[] = {{"decode", "DECODE", "rnb"},    {"seq_rm", "SEQ_RM", "sbe"},    {"seq_cp", "SEQ_CP", "sobe"},
                 {"seq_keep", "SEQ_KEEP", "s"},  {"seq_add", "SEQ_ADD", "sben"}, {"seq_div", "SEQ_DIV", "sben"},
                 {"clear", "CLEAR", "n"},        {"seq_save", "SAVE", "s"},      {"seq_restore", "RESTORE", "sn"}};
    const char *end = skip_value(op);
    const char *at = skip_space(op + 1);
    char shown[WORD_MAX];
    size_t used = 0;

    for (const char *place = op + 1; place + 1 < end && used + 1 < sizeof shown; place++) {
        if (*place != '"')
            shown[used++] = *place == ',' && place > op + 1 && place[-1] != ' ' ? ' ' : *place;
    }
    shown[used] = '\0';
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        size_t length = strlen(kinds[kind].name);
        if (strncmp(at + 1, kinds[kind].name, length) != 0 || at[1 + length] != '"')
            continue;
        put(out, "    {.text = \"%s\", .kind = %s", shown, kinds[kind].word);
        at = skip_space(skip_text(at));
        for (const char *letter = kinds[kind].letters; *letter != '\0' && *at != ']'; letter++) {
            static const char *const fields = "sobenr";
            static const char *const names[] = {"sequence", "other", "begin", "end", "n"};
            if (*letter == 'r') {
                int count = 0;
                put(out, ", .rows = {");
                for (const char *row = skip_space(at + 1); *row != ']' && *row != '\0'; row = skip_space(skip_value(row)))
                    put(out, "%s%d", count++ > 0 ? ", " : "", (int)strtol(row, NULL, 10));
                put(out, "}, .count = %d", count);
            } else {
                put(out, ", .%s = %d", names[strchr(fields, *letter) - fields], (int)strtol(at, NULL, 10));
            }
            at = skip_space(skip_value(at));
        }
        put(out, "},\n");
        return;
    }
}

static void put_head(text *out, const char *request)
{
    char word[WORD_MAX];

    put(out, "/*\n * %s\n *\n", word_of(request, "title", word));
    put(out, " * Law: %s", word_of(request, "law", word));
    put(out, " (%s)\n", word_of(request, "basis", word));
    put(out, " * Source: %s\n *\n", word_of(request, "source", word));
    put(out, " * This program needs llama.cpp alone; it writes its own tiny model. With PREFIX where llama.cpp is:\n *\n"
             " *     cc -std=c11 -D_POSIX_C_SOURCE=200809L -I PREFIX/include THIS.c -o show -L PREFIX/lib -Wl,-rpath,PREFIX/lib \\\n"
             " *         -lllama -lggml -lggml-base -lm && ./show\n *\n"
             " * It exits 1 when the fault shows and 0 when it does not. Made by kvconform; finding %s.\n */\n",
        word_of(request, "id", word));
}

static void put_constants(text *out, const char *request)
{
    const char *params = find(request, "params");
    const char *expected = find(request, "expected");
    char variant[WORD_MAX];
    char parts[WORD_MAX];
    char word[WORD_MAX];
    kvc_llama_choice choice;

    (void)word_of(request, "variant", variant);
    (void)word_of(params, "parts", parts);
    kvc_llama_choose(variant, parts, &choice);
    put(out, "\n#define MODEL ((kvc_model_kind)%d)\n#define WINDOW %d\n#define SEQUENCES %d\n#define CAPACITY %d\n#define STEP %d\n"
             "#define SNAPSHOTS %d\n#define UNIFIED %d\n#define FULL_SIZE %d\n#define CACHE_TYPE %s\n#define BOUND %s\n"
             "#define IN_FILE %d\n#define CHECKPOINT %d\n#define ATTENTION %d\n",
        (int)choice.model, number_of(params, "window", 4), number_of(params, "sequences", 1), number_of(params, "capacity", 256),
        number_of(params, "step", 8), number_of(params, "snapshots", 0), choice.unified, choice.full_size, choice.type_word,
        choice.bound, choice.in_file, choice.checkpoint, choice.shape.attention);
    put(out, "#define MUST_REFUSE %d\n", strcmp(word_of(expected, "outcome", word), "refused") == 0);
    (void)word_of(request, "law", word);
    put(out, "#define IS_REFUSAL %d /* whether it is done or refused is the fault */\n", strcmp(word, "REFUSE") == 0);
    put(out, "#define IS_CHANGE %d /* what a refusal leaves is the fault */\n", strcmp(word, "ATOMIC") == 0);
}

static void put_expected(text *out, const char *request)
{
    const char *expected = find(request, "expected");
    const char *list = find(expected, "length");
    int sequence = 0;

    put(out, "\n/* The largest position of each sequence at the end. */\nstatic const int largest[] = {");
    for (const char *at = list != NULL ? skip_space(list + 1) : "]"; *at != ']' && *at != '\0'; at = skip_space(skip_value(at)))
        put(out, "%d, ", (int)strtol(at, NULL, 10) - 1);
    put(out, "-1};\n\n/* What a fresh context would decode for the same: pieces of a sequence, each of tokens that follow each other. */\n"
             "static const struct {\n    int sequence, position, token, count;\n} pieces[] = {\n");
    list = find(expected, "pieces");
    for (const char *one = list != NULL ? skip_space(list + 1) : "]"; *one != ']' && *one != '\0'; one = skip_space(skip_value(one))) {
        for (const char *piece = *one == '[' ? skip_space(one + 1) : "]"; *piece == '['; piece = skip_space(skip_value(piece))) {
            int number[3] = {0};
            const char *at = skip_space(piece + 1);
            for (int place = 0; place < 3; place++, at = skip_space(skip_value(at)))
                number[place] = (int)strtol(at, NULL, 10);
            put(out, "    {%d, %d, %d, %d},\n", sequence, number[0], number[1], number[2]);
        }
        sequence++;
    }
    put(out, "    {-1, 0, 0, 0}};\n");
}

size_t kvc_llama_script(const char *request, char *out, size_t room)
{
    text self = {out, room, 0};
    const char *ops = find(request, "ops");

    if (room > 0)
        out[0] = '\0';
    if (ops == NULL || *ops != '[')
        return 0;
    put_head(&self, request);
    put_file(&self, "model.h");
    put_file(&self, "model.c");
    put_file(&self, "saved.h");
    put_file(&self, "saved.c");
    put_constants(&self, request);
    put(&self, "\nenum kind { DECODE, SEQ_RM, SEQ_CP, SEQ_KEEP, SEQ_ADD, SEQ_DIV, CLEAR, SAVE, RESTORE };\n"
               "static const struct op {\n    const char *text;\n    enum kind kind;\n    int rows[8], count, n, sequence, other, begin, end;\n"
               "} ops[] = {\n");
    for (const char *at = skip_space(ops + 1); *at == '['; at = skip_space(skip_value(at)))
        put_op(&self, at);
    put(&self, "};\n");
    put_expected(&self, request);
    put(&self, "\n");
    put_file(&self, "standalone.c");
    return self.length;
}
