/*
 * Targets: `builtin:full`, `transformers@5.24.0:Dynamic*`, `python:my_module:MyCache`, `plugin:./my_cache.so`,
 * `exec:./adapter`.
 */
#ifndef KVC_HARNESS_TARGET_H
#define KVC_HARNESS_TARGET_H

#include "harness/options.h"
#include "harness/worker.h"

enum { KVC_COMMAND_WORDS_MAX = 32, KVC_TARGET_TEXT_MAX = 4096, KVC_TARGET_VERSIONS_MAX = 64 };

typedef struct kvc_target {
    char text[KVC_TARGET_TEXT_MAX]; /* as given; of a path alone with `plugin:` before it */
    char subject[KVC_SPEC_NAME_MAX]; /* "" for python:, plugin: and exec: until the hello */
    char version[64];                /* "" for what is there */
    char variant[KVC_SPEC_NAME_MAX]; /* glob, "" for all */
    int is_exec;
    int is_plugin;
    int is_python;
    kvc_subject_access access;
    char words[KVC_TARGET_TEXT_MAX]; /* holds the words of the command, or the path of the plugin */
    const char *command[KVC_COMMAND_WORDS_MAX + 1];
} kvc_target;

struct kvc_crew_options;

typedef enum kvc_target_result {
    KVC_TARGET_READY = 0,
    KVC_TARGET_BAD,    /* bad usage: *error says what */
    KVC_TARGET_NOT_RUN /* it cannot be run here: *error says why */
} kvc_target_result;

/* Reads the text of a target. */
kvc_target_result kvc_target_parse(const char *text, const kvc_options *options, kvc_target *target, kvc_error *error);
/* Whether a run of the target takes this variant in: caches that are broken on purpose only when they are asked for. */
int kvc_target_takes(const kvc_target *target, const char *variant);
/* Whether two texts of targets that were read name the same program or shared object, whatever their variants are. */
int kvc_target_is_same(const char *one, const char *other);
/* Makes it ready to be started: for a version of a Python subject its environment is made when it is not there. */
kvc_target_result kvc_target_prepare(kvc_target *target, const kvc_options *options, const char *data,
                                     kvc_error *error);
/* What starts a target that is ready, and the bounds of its workers. */
void kvc_target_bound(const kvc_target *target, const kvc_options *options, struct kvc_crew_options *crew);

/*
 * The versions of a list such as `4.57.6,5.24.0`, `4.57.6,all-minor` or `5.12.0..5.24.0`; the last two ask the package index. Written to `versions` as
 * strings; returns their number, 0 with *error set.
 */
int kvc_target_versions(const char *subject, const char *list, const kvc_options *options, const char *data,
                        char versions[KVC_TARGET_VERSIONS_MAX][64], kvc_error *error);

#endif
