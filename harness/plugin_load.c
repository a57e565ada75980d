#include "harness/plugin_load.h"

#include <dlfcn.h>
#include <string.h>

/* A table of a later header, with functions behind those that are known, is no larger. */
enum { TABLE_MAX = 4096 };

int kvc_plugin_check(const kvc_plugin *plugin, const char *name, kvc_plugin *copy, kvc_error *error)
{
    const unsigned char *bytes = (const unsigned char *)plugin;
    const char *missing = NULL;
    uint32_t size;

    memset(copy, 0, sizeof *copy);
    if (plugin == NULL) {
        kvc_error_set(error, "%s: the plugin says that it cannot run here", name);
        return 0;
    }
    if (plugin->version == 0 || plugin->version > KVC_PLUGIN_VERSION) {
        kvc_error_set(error, "%s: has version %lu of the plugin interface; this kvconform knows version %d", name,
                      (unsigned long)plugin->version, KVC_PLUGIN_VERSION);
        return 0;
    }
    size = plugin->size;
    if (size < offsetof(kvc_plugin, close) + sizeof plugin->close || size > TABLE_MAX) {
        kvc_error_set(error, "%s: its table has %lu bytes, expected sizeof(kvc_plugin)", name, (unsigned long)size);
        return 0;
    }
    for (uint32_t at = sizeof *copy; at < size; at++) {
        if (bytes[at] != 0) {
            kvc_error_set(error, "%s: needs functions of a newer plugin interface than this kvconform has", name);
            return 0;
        }
    }
    memcpy(copy, plugin, size < sizeof *copy ? size : sizeof *copy);
    if (copy->subject == NULL)
        missing = "subject";
    else if (copy->subject_version == NULL)
        missing = "subject_version";
    else if (copy->variant == NULL)
        missing = "variant";
    else if (copy->open == NULL)
        missing = "open";
    else if (copy->run == NULL)
        missing = "run";
    else if (copy->close == NULL)
        missing = "close";
    if (missing == NULL)
        return 1;
    kvc_error_set(error, "%s: field \"%s\" of its table is NULL", name, missing);
    return 0;
}

int kvc_plugin_load(const char *path, kvc_plugin *copy, kvc_error *error)
{
    /* POSIX lets the two kinds of pointer be converted; ISO C knows no way but this. */
    union {
        void *object;
        const kvc_plugin *(*function)(void);
    } entry;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why;

    if (library == NULL) {
        why = dlerror();
        kvc_error_set(error, "cannot be loaded: %.400s", why != NULL ? why : path);
        return 0;
    }
    entry.object = dlsym(library, "kvconform_plugin");
    if (entry.object == NULL) {
        kvc_error_set(error, "%s: exports no function kvconform_plugin", path);
        return 0;
    }
    return kvc_plugin_check(entry.function(), path, copy, error);
}
