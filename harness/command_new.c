/* kvconform new */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/commands.h"
#include "reference/json.h"
#include "reports/file.h"
#include "reports/text.h"

enum { PATH_SIZE = 4096, TEMPLATE_MAX = 1 << 20 };

/* Kinds of cache that there is a class of, and what those classes are made with. */
static const struct {
    const char *name;
    const char *init;
} kinds[] = {{"full", "{}"},
             {"fixed", "{\"capacity\": \"$capacity\"}"},
             {"window", "{\"window\": \"$window\"}"},
             {"prefix_window", "{\"window\": \"$window\", \"sinks\": \"$keep\"}"},
             {"ring", "{\"capacity\": \"$capacity\", \"keep\": \"$keep\"}"},
             {"quantised", "{\"bits\": 4}"}};

/* A file that is to be written: its name, and what is put into it. */
typedef struct fresh_file {
    const char *from; /* below the folder `examples` of the data */
    const char *name;
    int filled; /* @LIKE@ and @INIT@ stand for words of the kind */
} fresh_file;

static int bad(const char *text)
{
    kvc_complain(text);
    return KVC_EXIT_USAGE;
}

static int find_kind(const char *name)
{
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
        if (strcmp(kinds[at].name, name) == 0)
            return (int)at;
    }
    return -1;
}

/* The text of a template with its words filled in. */
static void fill(kvc_text *out, const char *text, int kind)
{
    const struct {
        const char *mark;
        const char *value;
    } words[] = {{"@LIKE@", kinds[kind].name}, {"@INIT@", kinds[kind].init}};

    while (*text != '\0') {
        size_t taken = 0;
        for (size_t at = 0; at < sizeof words / sizeof words[0] && taken == 0; at++) {
            if (strncmp(text, words[at].mark, strlen(words[at].mark)) == 0) {
                kvc_text_add(out, words[at].value);
                taken = strlen(words[at].mark);
            }
        }
        if (taken == 0)
            kvc_text_add_bytes(out, text++, 1);
        text += taken;
    }
}

static int write_one(const kvc_session *session, const fresh_file *file, int kind, const char *path)
{
    char from[PATH_SIZE];
    char *text = NULL;
    size_t length = 0;
    kvc_text filled = {0};
    kvc_error error = {""};
    int status = KVC_EXIT_CONFORMS;

    (void)snprintf(from, sizeof from, "%.3000s/examples/%s", session->data, file->from);
    if (!kvc_file_read(from, TEMPLATE_MAX, &text, &length, &error))
        return bad(error.text);
    if (file->filled)
        fill(&filled, text, kind);
    else
        kvc_text_add_bytes(&filled, text, length);
    free(text);
    if (filled.failed) {
        kvc_complain("not enough memory");
        status = KVC_EXIT_INTERNAL;
    } else if (kvc_report_file_write(path, kvc_text_string(&filled), filled.length, error.text, sizeof error.text) != 0) {
        status = bad(error.text);
    } else if (!session->options->quiet) {
        (void)printf("%s\n", path);
    }
    kvc_text_free(&filled);
    return status;
}

/* Nothing is written when one of the files is there. */
static int write_all(const kvc_session *session, const fresh_file *files, int count, int kind)
{
    const char *folder = session->options->report;
    char path[2][PATH_SIZE];
    kvc_error error;
    int status = KVC_EXIT_CONFORMS;

    for (int at = 0; at < count; at++) {
        if (snprintf(path[at], PATH_SIZE, "%s/%s", folder, files[at].name) >= PATH_SIZE)
            return bad("-o: the path is too long");
        if (access(path[at], F_OK) == 0) {
            kvc_error_set(&error, "%.300s is there already: nothing is written; give another folder", path[at]);
            return bad(error.text);
        }
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        kvc_error_set(&error, "-o %.300s: cannot be made: %s", folder, strerror(errno));
        return bad(error.text);
    }
    for (int at = 0; at < count && status == KVC_EXIT_CONFORMS; at++)
        status = write_one(session, &files[at], kind, path[at]);
    return status;
}

int kvc_command_new(const kvc_session *session)
{
    const kvc_options *options = session->options;
    const char *language = options->words > 0 ? options->word[0] : "python";
    const char *like = options->like != NULL ? options->like : "full";
    const char *folder = options->report;
    char source[64];
    fresh_file files[2] = {{source, "my_cache.py", 0}, {"new/class.jsonc", "my_cache.jsonc", 1}};
    const fresh_file plugin = {"my_cache.c", "my_cache.c", 0};
    kvc_error error;
    int kind = find_kind(like);
    int status;

    if (strcmp(language, "python") != 0 && strcmp(language, "c") != 0) {
        kvc_error_set(&error, "new: \"%.60s\": expected python or c", language);
        return bad(error.text);
    }
    if (kind < 0) {
        kvc_error_set(&error, "--like: \"%.60s\": expected full, fixed, window, prefix_window, ring or quantised", like);
        return bad(error.text);
    }
    if (strcmp(language, "c") == 0) {
        if (strcmp(like, "full") != 0)
            return bad("new c: there is a cache to start from for --like full only; its spec says \"like\", and takes any of kvconform list variants");
        status = write_all(session, &plugin, 1, kind);
        if (status == KVC_EXIT_CONFORMS && !options->quiet)
            (void)printf("next: cc -O1 -g -shared -fPIC $(pkg-config --cflags kvconform) %s/my_cache.c -o my_cache.so\n"
                         "      kvconform run plugin:./my_cache.so\n",
                         folder);
        return status;
    }
    (void)snprintf(source, sizeof source, "new/%s.py", kinds[kind].name);
    status = write_all(session, files, 2, kind);
    if (status == KVC_EXIT_CONFORMS && !options->quiet)
        (void)printf("next: kvconform run python:%s/my_cache.py:MyCache --spec %s/my_cache.jsonc\n", folder, folder);
    return status;
}
