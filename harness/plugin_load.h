/*
 * Loading a plugin, whose table may hold anything.
 */
#ifndef KVC_HARNESS_PLUGIN_LOAD_H
#define KVC_HARNESS_PLUGIN_LOAD_H

#include "kvconform/plugin.h"
#include "reference/error.h"

/*
 * Checks a table and copies it: functions that an older plugin does not have are NULL in the copy. Returns 1, or 0 with *error set.
 * `name` is used in errors.
 */
int kvc_plugin_check(const kvc_plugin *plugin, const char *name, kvc_plugin *copy, kvc_error *error);
/*
 * Loads a shared object into this process and copies its table. What the plugin does then can end the process, so it is called in
 * a worker only. It stays loaded. Returns 1, or 0 with *error set.
 */
int kvc_plugin_load(const char *path, kvc_plugin *copy, kvc_error *error);

#endif
