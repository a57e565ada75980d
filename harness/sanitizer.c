/* For RTLD_DEFAULT. */
#define _GNU_SOURCE
#include "harness/sanitizer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/program.h"
#include "reference/json.h"

enum { LIBRARY_MAX = 256 << 20, OPTIONS_MAX = 1024, MEMORY_TIMES = 4 };
static const char started[] = "KVCONFORM_SANITIZER";

static const char *find(const char *data, size_t length, const char *word)
{
    size_t size = strlen(word);
    const char *end = data + length;

    for (const char *at = data; at != NULL && (size_t)(end - at) >= size; at++) {
        at = memchr(at, word[0], (size_t)(end - at) - size + 1);
        if (at == NULL || memcmp(at, word, size) == 0)
            return at;
    }
    return NULL;
}

/* Names of libraries and of what is missing stand in the file as they are, each with a zero byte behind it. */
int kvc_sanitizer_of(const char *path, char *runtime, size_t size)
{
    static const char *const names[] = {"libasan.so", "libclang_rt.asan"};
    char *data = NULL;
    size_t length = 0;
    kvc_error ignored;
    int found = 0;

    if (!kvc_file_read(path, LIBRARY_MAX, &data, &length, &ignored))
        return 0; /* that it cannot be read is told when it is loaded */
    for (size_t at = 0; found <= 0 && at < sizeof names / sizeof names[0]; at++) {
        const char *name = find(data, length, names[at]);
        if (name != NULL && memchr(name, '\0', (size_t)(data + length - name)) != NULL && strlen(name) < size) {
            memcpy(runtime, name, strlen(name) + 1);
            found = 1;
        }
    }
    if (found == 0 && find(data, length, "__asan_init") != NULL)
        found = -1;
    free(data);
    return found;
}

/* clang's runtimes lie in a folder of its own. */
static void ask_clang(char *runtime, size_t size)
{
    struct utsname system;
    char name[128];
    char option[160];
    char line[256];
    const char *const command[] = {"clang", option, NULL};

    if (strncmp(runtime, "libclang_rt", 11) == 0)
        (void)snprintf(name, sizeof name, "%.100s", runtime);
    else if (runtime[0] == '\0' && uname(&system) == 0)
        (void)snprintf(name, sizeof name, "libclang_rt.asan-%.60s.so", system.machine);
    else
        return;
    (void)snprintf(option, sizeof option, "-print-file-name=%s", name);
    if (kvc_program_line(command, line, sizeof line, 1) == 0 && strchr(line, '/') != NULL)
        (void)snprintf(runtime, size, "%s", line);
}

int kvc_sanitizer_preload(const char *path, char **argv, kvc_error *error)
{
    char runtime[256];
    char text[OPTIONS_MAX];
    const char *before = getenv("LD_PRELOAD");
    const char *options = getenv("ASAN_OPTIONS");
    int needs;

    if (dlsym(RTLD_DEFAULT, "__asan_init") != NULL)
        return 1;
    runtime[0] = '\0';
    needs = kvc_sanitizer_of(path, runtime, sizeof runtime);
    if (needs == 0)
        return 1;
    ask_clang(runtime, sizeof runtime);
    if (runtime[0] == '\0' || getenv(started) != NULL) {
        kvc_error_set(error, "%.200s: needs AddressSanitizer's runtime, which was not found; build it with gcc, or start kvconform with "
                             "LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-$(uname -m).so)",
                      path);
        return 0;
    }
    /*
     * Leaks are looked for at the end of a process; a worker's end says nothing of the cache. What was freed is held back for a while, by
     * default as much as a quarter of what a worker may hold. What the user says comes behind and counts.
     */
    (void)snprintf(text, sizeof text, "detect_leaks=0:quarantine_size_mb=32%s%s", options != NULL ? ":" : "", options != NULL ? options : "");
    (void)setenv("ASAN_OPTIONS", text, 1);
    (void)snprintf(text, sizeof text, "%s%s%s", runtime, before != NULL ? ":" : "", before != NULL ? before : "");
    (void)setenv("LD_PRELOAD", text, 1);
    (void)setenv(started, "1", 1);
    (void)execv("/proc/self/exe", argv);
    kvc_error_set(error, "%.200s: needs AddressSanitizer's runtime; start kvconform with LD_PRELOAD=%.100s", path, runtime);
    return 0;
}

int kvc_sanitizer_memory_times(void)
{
    return getenv(started) != NULL ? MEMORY_TIMES : 1;
}
