#include "harness/target.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/program.h"
#include "harness/sanitizer.h"

#include "adapters/builtin/builtin.h"

enum {
    PLUGIN_TIMEOUT_MS = 2000,
    PROCESS_TIMEOUT_MS = 20000,
    START_TIMEOUT_MS = 600000, /* importing a large library on a busy machine */
    EXEC_START = 10, /* times as long as an answer may the start of a program of one's own take */
    PROCESS_MEMORY_MB = 4096,
    PLUGIN_MEMORY_MB = 1024,
    PLUGIN_GROWTH_MB = 16
};

/* The subjects that a Python adapter drives. */
typedef struct python_subject {
    const char *name;   /* also that of its package */
    const char *newest; /* the version that is run when none is there and none is asked for */
} python_subject;
/* llama.cpp is driven by a plugin that is compiled against it; its version is that of the package that brings it. */
static const char llama[] = "llama.cpp";
static const char newest_llama[] = "0.3.36";

static const python_subject python_subjects[] = {{"transformers", "5.24.0"}, {"mlx-lm", "0.32.2"}};

static const python_subject *find_python_subject(const char *name)
{
    for (size_t at = 0; at < sizeof python_subjects / sizeof python_subjects[0]; at++) {
        if (strcmp(python_subjects[at].name, name) == 0)
            return &python_subjects[at];
    }
    return NULL;
}

static int copy(char *out, size_t size, const char *text, size_t length)
{
    if (length >= size)
        return 0;
    memcpy(out, text, length);
    out[length] = '\0';
    return 1;
}

static kvc_target_result too_long(const char *text, kvc_error *error)
{
    kvc_error_set(error, "target \"%.60s\": a part of it is too long", text);
    return KVC_TARGET_BAD;
}

/* Splits a command at spaces; quotes keep words together. */
static kvc_target_result split_command(kvc_target *target, const char *text, kvc_error *error)
{
    char *out = target->words;
    char quote = '\0';
    int count = 0;
    int inside = 0;

    for (; *text != '\0'; text++) {
        if (quote == '\0' && (*text == ' ' || *text == '\t')) {
            if (inside)
                *out++ = '\0';
            inside = 0;
            continue;
        }
        if (!inside) {
            if (count == KVC_COMMAND_WORDS_MAX) {
                kvc_error_set(error, "exec: more than %d words", KVC_COMMAND_WORDS_MAX);
                return KVC_TARGET_BAD;
            }
            target->command[count++] = out;
            inside = 1;
        }
        if (quote != '\0' && *text == quote)
            quote = '\0';
        else if (quote == '\0' && (*text == '"' || *text == '\''))
            quote = *text;
        else
            *out++ = *text;
    }
    if (quote != '\0' || count == 0) {
        kvc_error_set(error, quote != '\0' ? "exec: a quotation mark is not closed" : "exec: expected a command");
        return KVC_TARGET_BAD;
    }
    *out = '\0';
    target->command[count] = NULL;
    target->access.process.command = target->command;
    return KVC_TARGET_READY;
}

/* Length of PATH in PATH[:VARIANT]: the variant stands behind the last colon, unless a part of a path does. */
static size_t path_length(const char *text)
{
    const char *colon = strrchr(text, ':');

    return colon != NULL && strchr(colon, '/') == NULL ? (size_t)(colon - text) : strlen(text);
}

/* MODULE:CLASS; what it is, only Python can tell. */
static kvc_target_result check_python(const kvc_target *target, const char *text, kvc_error *error)
{
    const char *colon = strrchr(text, ':');

    if (colon != NULL && colon > text && colon[1] != '\0')
        return KVC_TARGET_READY;
    kvc_error_set(error, "target \"%.60s\": expected a module or a file, and a class or a function that makes a cache, such as "
                         "python:my_package.my_module:MyCache or python:./my_cache.py:MyCache", target->text);
    return KVC_TARGET_BAD;
}

int kvc_target_is_same(const char *one, const char *other)
{
    size_t length;

    if (strncmp(one, "plugin:", 7) != 0 || strncmp(other, "plugin:", 7) != 0)
        return strcmp(one, other) == 0;
    length = path_length(one + 7);
    return path_length(other + 7) == length && strncmp(one + 7, other + 7, length) == 0;
}

static kvc_target_result split_plugin(kvc_target *target, const char *text, kvc_error *error)
{
    size_t length = path_length(text);
    /* A name alone would be looked for where libraries lie. */
    const char *folder = memchr(text, '/', length) != NULL ? "" : "./";

    if (length == 0) {
        kvc_error_set(error, "plugin: expected the path of a shared object, such as plugin:./my_cache.so");
        return KVC_TARGET_BAD;
    }
    if (text[length] == ':' && text[length + 1] == '\0') {
        kvc_error_set(error, "target \"%.60s\": expected a variant after the colon", target->text);
        return KVC_TARGET_BAD;
    }
    if (text[length] == ':' && !copy(target->variant, sizeof target->variant, text + length + 1, strlen(text + length + 1)))
        return too_long(text, error);
    /* The words have the room of the whole target, of which "plugin:" is longer than the folder. */
    (void)snprintf(target->words, sizeof target->words, "%s%.*s", folder, (int)length, text);
    target->access.library = target->words;
    return KVC_TARGET_READY;
}

kvc_target_result kvc_target_parse(const char *text, const kvc_options *options, kvc_target *target, kvc_error *error)
{
    char path[KVC_TARGET_TEXT_MAX];
    size_t subject;
    const char *rest;

    /* A path can be nothing but that of a plugin. */
    if (text[0] == '/' || text[0] == '.') {
        int length = snprintf(path, sizeof path, "plugin:%s", text);
        if (length < 0 || (size_t)length >= sizeof path)
            return too_long(text, error);
        text = path;
    }
    subject = strcspn(text, "@:");
    rest = text + subject;

    memset(target, 0, sizeof *target);
    if (strlen(text) >= sizeof target->text || !copy(target->subject, sizeof target->subject, text, subject))
        return too_long(text, error);
    memcpy(target->text, text, strlen(text) + 1);
    target->is_exec = strncmp(text, "exec:", 5) == 0;
    target->is_plugin = strncmp(text, "plugin:", 7) == 0;
    target->is_python = strncmp(text, "python:", 7) == 0;
    if (!target->is_python && (options->init != NULL || options->spec != NULL)) {
        kvc_error_set(error, "%s: is for targets such as python:my_module:MyCache, not for %.60s",
                      options->init != NULL ? "--init" : "--spec", text);
        return KVC_TARGET_BAD;
    }
    if (target->is_exec || target->is_plugin || target->is_python) {
        target->subject[0] = '\0';
        if (options->variant != NULL &&
            !copy(target->variant, sizeof target->variant, options->variant, strlen(options->variant)))
            return too_long(options->variant, error);
        if (target->is_python)
            return check_python(target, text + 7, error);
        return target->is_exec ? split_command(target, text + 5, error) : split_plugin(target, text + 7, error);
    }
    if (strcmp(target->subject, "builtin") != 0 && strcmp(target->subject, llama) != 0 && find_python_subject(target->subject) == NULL) {
        kvc_error_set(error, "target \"%.60s\": expected builtin[:VARIANT], transformers[@VERSION][:VARIANT], "
                             "mlx-lm[@VERSION][:VARIANT], llama.cpp[@VERSION][:KIND], python:MODULE:CLASS, plugin:PATH[:VARIANT] or exec:COMMAND",
                      text);
        return KVC_TARGET_BAD;
    }
    if (*rest == '@') {
        size_t length = strcspn(rest + 1, ":");
        if (strcmp(target->subject, "builtin") == 0 || length == 0) {
            kvc_error_set(error, "target \"%.60s\": %s", text,
                          length == 0 ? "expected a version after @" : "the built-in caches have no versions");
            return KVC_TARGET_BAD;
        }
        if (!copy(target->version, sizeof target->version, rest + 1, length))
            return too_long(text, error);
        rest += 1 + length;
    }
    if (*rest == ':') {
        if (rest[1] == '\0') {
            kvc_error_set(error, "target \"%.60s\": expected a variant after the colon", text);
            return KVC_TARGET_BAD;
        }
        if (!copy(target->variant, sizeof target->variant, rest + 1, strlen(rest + 1)))
            return too_long(text, error);
    }
    return KVC_TARGET_READY;
}

int kvc_target_takes(const kvc_target *target, const char *variant)
{
    if (strchr(variant, '+') != NULL && strchr(target->variant, '+') == NULL)
        return 0;
    /* A family, such as that of whole models, is run when it is asked for. */
    return target->variant[0] == '\0' ? strchr(variant, '/') == NULL : fnmatch(target->variant, variant, FNM_PATHNAME) == 0;
}

/* What is meant by python3. The console script of an installation by pip names the interpreter that it was installed for. */
static const char *standard_python(void)
{
    const char *given = getenv("KVCONFORM_INTERPRETER");

    return given != NULL && given[0] != '\0' ? given : "python3";
}

/*
 * Asks the program that makes environments. `line` becomes its answer, at most size - 1 bytes, or why there is none. Returns
 * its exit status, -1 when it cannot be called.
 */
static int ask_environment(const char *subject, const char *version, const kvc_options *options, const char *data, char *line,
                           size_t size)
{
    char program[KVC_TARGET_TEXT_MAX];
    const char *command[] = {standard_python(), program, subject, version, NULL};
    int length = snprintf(program, sizeof program, "%s/adapters/environment/kvconform_environment.py", data);
    int status;

    line[0] = '\0';
    if (length < 0 || (size_t)length >= sizeof program) {
        (void)snprintf(line, size, "the path of kvconform's data is too long");
        return -1;
    }
    status = kvc_program_line(command, line, size, options->quiet);
    if (status == 127)
        (void)snprintf(line, size, "%.300s is not there; install it (Debian: python3 python3-venv)", command[0]);
    else if (line[0] == '\0')
        (void)snprintf(line, size, "the program that makes environments ended with status %d", status);
    return status;
}

/* The interpreter for a version: made when it is not there. */
static kvc_target_result find_environment(kvc_target *target, const kvc_options *options, const char *data,
                                          const char *version, char *python, size_t size, kvc_error *error)
{
    int status = ask_environment(target->subject, version, options, data, python, size);

    if (status == 0)
        return KVC_TARGET_READY;
    kvc_error_set(error, "%s: %s%.400s", target->text, status == 2 || status == 127 ? "" : "no environment: ", python);
    return status == 2 ? KVC_TARGET_BAD : KVC_TARGET_NOT_RUN;
}

static int add_version(const char *text, size_t length, char versions[KVC_TARGET_VERSIONS_MAX][64], int count,
                       kvc_error *error)
{
    if (count == KVC_TARGET_VERSIONS_MAX) {
        kvc_error_set(error, "--versions: more than %d", KVC_TARGET_VERSIONS_MAX);
        return 0;
    }
    /* It becomes a part of a file name and of a target. */
    if (length == 0 || strspn(text, "0123456789.abcdefghijklmnopqrstuvwxyz") < length ||
        !copy(versions[count], sizeof versions[count], text, length)) {
        kvc_error_set(error, "--versions: \"%.*s\": expected versions such as 5.12.1,5.24.0, or all-minor",
                      (int)(length < 60 ? length : 60), text);
        return 0;
    }
    for (int at = 0; at < count; at++) {
        if (strcmp(versions[at], versions[count]) == 0) {
            kvc_error_set(error, "--versions: %.60s stands there twice", versions[count]);
            return 0;
        }
    }
    return 1;
}

/* Whether a part of a list of versions stands for several, which the package index knows. */
static int is_list(const char *text, size_t length)
{
    static const char minors[] = "all-minor";
    size_t at = 0;

    if (length == sizeof minors - 1 && memcmp(text, minors, length) == 0)
        return 1;
    while (at + 2 < length && (text[at] != '.' || text[at + 1] != '.'))
        at++;
    return at > 0 && at + 2 < length && length < 120;
}

int kvc_target_versions(const char *subject, const char *list, const kvc_options *options, const char *data,
                        char versions[KVC_TARGET_VERSIONS_MAX][64], kvc_error *error)
{
    char line[KVC_TARGET_TEXT_MAX];
    int count = 0;

    for (;;) {
        size_t length = strcspn(list, ",");
        if (is_list(list, length)) {
            const char *at = line;
            char wanted[128];
            (void)snprintf(wanted, sizeof wanted, "%.*s", (int)length, list);
            if (ask_environment(subject, wanted, options, data, line, sizeof line) != 0) {
                kvc_error_set(error, "--versions %.120s: %.480s", wanted, line);
                return 0;
            }
            for (; *at != '\0'; at += at[strcspn(at, " ")] == ' ' ? strcspn(at, " ") + 1 : strcspn(at, " ")) {
                if (!add_version(at, strcspn(at, " "), versions, count, error))
                    return 0;
                count++;
            }
        } else {
            if (!add_version(list, length, versions, count, error))
                return 0;
            count++;
        }
        if (list[length] == '\0')
            return count;
        list += length + 1;
    }
}

/* Puts the adapters' folder in front of PYTHONPATH. */
static int set_python_path(const char *data)
{
    static const char below[] = "/adapters/python";
    const char *before = getenv("PYTHONPATH");
    size_t room = strlen(data) + sizeof below + (before != NULL ? strlen(before) : 0) + 2;
    char *path = malloc(room);
    int good;

    if (path == NULL)
        return 0;
    if (before != NULL && strncmp(before, data, strlen(data)) == 0 &&
        strncmp(before + strlen(data), below, sizeof below - 1) == 0) {
        free(path);
        return 1;
    }
    (void)snprintf(path, room, "%s%s%s%s", data, below, before != NULL && before[0] != '\0' ? ":" : "",
                   before != NULL ? before : "");
    /* A folder called transformers where kvconform is started must not be taken for the subject. */
    good = setenv("PYTHONPATH", path, 1) == 0 && setenv("PYTHONSAFEPATH", "1", 1) == 0;
    free(path);
    return good;
}

/* The interpreter that `from`, an option or a variable, names. */
static kvc_target_result take_interpreter(kvc_target *target, const char *from, const char *python, kvc_error *error)
{
    if (!copy(target->words, sizeof target->words, python, strlen(python)))
        return too_long(python, error);
    if (strchr(python, '/') != NULL && access(python, X_OK) != 0) {
        kvc_error_set(error, "%s %.300s: %s", from, python, strerror(errno));
        return KVC_TARGET_BAD;
    }
    return KVC_TARGET_READY;
}

/* The adapter in Python, for what it calls `name`, by the interpreter in `words`. */
static kvc_target_result set_adapter(kvc_target *target, const char *name, const char *data, kvc_error *error)
{
    if (!set_python_path(data)) {
        kvc_error_set(error, "not enough memory");
        return KVC_TARGET_NOT_RUN;
    }
    target->command[0] = target->words;
    target->command[1] = "-m";
    target->command[2] = "kvconform_adapter";
    target->command[3] = name;
    target->command[4] = NULL;
    target->access.process.command = target->command;
    return KVC_TARGET_READY;
}

static kvc_target_result prepare_python(kvc_target *target, const kvc_options *options, const char *data,
                                        kvc_error *error)
{
    char found[64] = "";
    const python_subject *subject = find_python_subject(target->subject);
    const char *probe[] = {standard_python(), "-c", "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))",
                           subject->name, NULL};
    kvc_target_result result = KVC_TARGET_READY;

    if (options->python != NULL) {
        result = take_interpreter(target, "--python", options->python, error);
    } else if (target->version[0] == '\0' && kvc_program_line(probe, found, sizeof found, 1) == 0 && found[0] != '\0') {
        result = take_interpreter(target, "KVCONFORM_INTERPRETER", probe[0], error);
    } else {
        result = find_environment(target, options, data,
                                  target->version[0] != '\0' ? target->version : subject->newest, target->words,
                                  sizeof target->words, error);
    }
    if (result == KVC_TARGET_READY)
        result = set_adapter(target, target->subject, data, error);
    return result;
}

/* Any class: the interpreter is that of --python, or python3. */
static kvc_target_result prepare_class(kvc_target *target, const kvc_options *options, const char *data, kvc_error *error)
{
    const char *const more[][2] = {{"--init", options->init}, {"--spec", options->spec}, {"--like", options->like}};
    kvc_target_result result = options->python != NULL ? take_interpreter(target, "--python", options->python, error)
                                                       : take_interpreter(target, "KVCONFORM_INTERPRETER", standard_python(), error);
    int count = 4;

    if (result == KVC_TARGET_READY)
        result = set_adapter(target, "python", data, error);
    if (result != KVC_TARGET_READY)
        return result;
    target->command[count++] = target->text + 7;
    for (size_t at = 0; at < sizeof more / sizeof more[0]; at++) {
        if (more[at][1] == NULL)
            continue;
        target->command[count++] = more[at][0];
        target->command[count++] = more[at][1];
    }
    target->command[count] = NULL;
    return KVC_TARGET_READY;
}

/* The adapter for llama.cpp: compiled when it is not there. */
static kvc_target_result prepare_llama(kvc_target *target, const kvc_options *options, const char *data, kvc_error *error)
{
    kvc_target_result result;

#ifdef KVC_LLAMA_PREFIX
    if (target->version[0] == '\0' && setenv("KVCONFORM_LLAMA", KVC_LLAMA_PREFIX, 0) != 0) {
        kvc_error_set(error, "not enough memory");
        return KVC_TARGET_NOT_RUN;
    }
#endif
    result = find_environment(target, options, data, target->version[0] != '\0' ? target->version : newest_llama, target->words,
                              sizeof target->words, error);
    if (result != KVC_TARGET_READY)
        return result;
    target->access.library = target->words;
    target->access.process.command = NULL;
    target->access.process.timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : PROCESS_TIMEOUT_MS;
    target->version[0] = '\0'; /* that of llama.cpp itself is in its hello */
    return KVC_TARGET_READY;
}

kvc_target_result kvc_target_prepare(kvc_target *target, const kvc_options *options, const char *data,
                                     kvc_error *error)
{
    target->access.process.timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : PROCESS_TIMEOUT_MS;
    target->access.process.start_timeout_ms = START_TIMEOUT_MS;
    target->access.process.memory_limit =
        options->memory_limit > 0 ? options->memory_limit : (uint64_t)PROCESS_MEMORY_MB << 20;
    if (target->is_exec) {
        /* A program that says nothing at all is not waited for as long as an import. */
        if (options->timeout_ms > 0 && options->timeout_ms < START_TIMEOUT_MS / EXEC_START)
            target->access.process.start_timeout_ms = EXEC_START * options->timeout_ms;
        return KVC_TARGET_READY;
    }
    if (target->is_plugin || strcmp(target->subject, "builtin") == 0) {
        if (!target->is_plugin)
            target->access.plugin = kvc_builtin_plugin();
        target->access.process.command = NULL;
        target->access.process.timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : PLUGIN_TIMEOUT_MS;
        return KVC_TARGET_READY;
    }
    if (target->is_python)
        return prepare_class(target, options, data, error);
    if (strcmp(target->subject, llama) == 0)
        return prepare_llama(target, options, data, error);
    return prepare_python(target, options, data, error);
}

void kvc_target_bound(const kvc_target *target, const kvc_options *options, kvc_crew_options *crew)
{
    uint64_t times = (uint64_t)kvc_sanitizer_memory_times();

    crew->access = target->access;
    crew->stall_ms = target->access.process.timeout_ms;
    crew->memory_limit = options->memory_limit > 0 ? options->memory_limit : ((uint64_t)PLUGIN_MEMORY_MB << 20) * times;
    crew->growth_limit = ((uint64_t)PLUGIN_GROWTH_MB << 20) * times;
}
