/*
 * A driver: performs sequences on a subject and shows each step. One for plugins, one for processes.
 */
#ifndef KVC_HARNESS_DRIVER_H
#define KVC_HARNESS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "kvconform/plugin.h"
#include "harness/generator.h"

/* Sequences that share their parameters. Everything belongs to the caller and lives until the batch is collected. */
typedef struct kvc_batch {
    const kvc_plan *plan;
    size_t count;
    const kvc_sequence *sequence;
    const int32_t *const *numbers; /* NULL, or for each sequence NULL or its token numbers */
    /* NULL, or for each sequence with numbers and each of its tokens the KVC_ROWS_MAX rows that its rows stand for */
    const uint8_t (*const *origins)[KVC_ROWS_MAX];
    int places; /* the subject is asked for the places in its code that are run */
} kvc_batch;

typedef enum kvc_drive {
    KVC_DROVE = 0,
    KVC_DRIVE_CRASHED, /* the subject's process ended */
    KVC_DRIVE_HUNG,    /* no answer within the limit; it was ended */
    KVC_DRIVE_SWELLED, /* it passed its memory limit and was ended */
    KVC_DRIVE_BAD      /* the adapter broke the protocol or could not do what was asked: *error says what */
} kvc_drive;

/* Called for every step, before an op is performed (observation NULL, plugins only) and after it. Returns 1 to leave the rest of the sequence. */
typedef int (*kvc_step_function)(void *context, size_t sequence, int step, const kvc_observation *observation);

typedef struct kvc_driver kvc_driver;
typedef struct kvc_driver_table {
    kvc_drive (*hello)(kvc_driver *driver, cJSON **hello, kvc_error *error);
    kvc_drive (*submit)(kvc_driver *driver, const kvc_batch *batch, kvc_error *error);
    kvc_drive (*collect)(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error);
    kvc_drive (*script)(kvc_driver *driver, const char *request, char **script, kvc_error *error);
    kvc_drive (*classes)(kvc_driver *driver, cJSON **classes, kvc_error *error); /* NULL: it never offers them */
    kvc_drive (*layers)(kvc_driver *driver, const char *request, cJSON **layers, kvc_error *error); /* likewise */
    void (*close)(kvc_driver *driver);
    size_t (*told)(kvc_driver *driver, size_t sequence, const uint32_t **told); /* NULL: it never tells */
    /* Of a driver that is in process, one op at a time: see kvc_driver_begin. */
    int (*begin)(kvc_driver *driver, const kvc_plan *plan, int another, kvc_error *error);
    const kvc_observation *(*perform)(kvc_driver *driver, const kvc_op *op, const int32_t *numbers, kvc_error *error);
    void (*finish)(kvc_driver *driver);
} kvc_driver_table;
struct kvc_driver {
    const kvc_driver_table *table;
    int in_process; /* a crash of the subject ends this process */
    int absent;     /* after KVC_DRIVE_BAD: the subject says that it has no such cache, and *error why */
};

/*
 * The subject's name, version, environment and variants, as in docs/protocol.md. The caller frees *hello. Starts the subject
 * when it is not running.
 */
kvc_drive kvc_driver_hello(kvc_driver *driver, cJSON **hello, kvc_error *error);
/* Its `assumptions` or `untested` of a variant: a list of texts, or NULL. Points into `hello`. */
const cJSON *kvc_hello_notes(const cJSON *hello, const char *field, const char *variant);
/* Why the subject has this variant and cannot be asked for it here, or NULL. Points into `hello`. */
const char *kvc_hello_unavailable(const cJSON *hello, const char *variant);
/* The names of its variants, NULL-ended; they point into `hello`, the list is the caller's to free. NULL when memory is short. */
const char **kvc_hello_variants(const cJSON *hello);
/* Where the class of a variant is written, `{"file": ..., "line": ...}`; it belongs to `hello`. NULL when the adapter did not say. */
const cJSON *kvc_hello_location(const cJSON *hello, const char *variant);
/* How the name of a file with a script ends, "py" when the adapter did not say; it belongs to `hello`. */
const char *kvc_hello_scripts(const cJSON *hello);
/* Begins a batch. Up to KVC_BATCHES_IN_FLIGHT may be submitted before they are collected, in order. */
enum { KVC_BATCHES_IN_FLIGHT = 2 };
kvc_drive kvc_driver_submit(kvc_driver *driver, const kvc_batch *batch, kvc_error *error);
/* Shows all steps of the oldest batch. After anything but KVC_DROVE no batch is in flight any more. */
kvc_drive kvc_driver_collect(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error);
/*
 * Sequences op by op, of a driver that is in process and has no batch in flight. Begins one; `another`: the cache before was of another
 * plan. Returns 0 with *error set when there is no cache.
 */
static inline int kvc_driver_begin(kvc_driver *driver, const kvc_plan *plan, int another, kvc_error *error)
{
    return driver->table->begin(driver, plan, another, error);
}
/*
 * Performs one op; `numbers` is NULL, or has those of all tokens of the sequence. What it showed is valid until the next call; NULL with
 * *error set when it is not what a plugin may show: the sequence has ended then.
 */
static inline const kvc_observation *kvc_driver_perform(kvc_driver *driver, const kvc_op *op, const int32_t *numbers, kvc_error *error)
{
    return driver->table->perform(driver, op, numbers, error);
}
/* Ends the sequence. */
static inline void kvc_driver_finish(kvc_driver *driver)
{
    driver->table->finish(driver);
}
/* A stand-alone program for a case; `request` are the fields of the message as JSON text. The caller frees *script. */
kvc_drive kvc_driver_script(kvc_driver *driver, const char *request, char **script, kvc_error *error);
/*
 * All cache classes that the subject's installation holds, driven or not: a list of names. *classes is NULL when the subject does
 * not offer to look for them; the caller frees it. To be asked after hello.
 */
kvc_drive kvc_driver_classes(kvc_driver *driver, cJSON **classes, kvc_error *error);
/*
 * What the cache of a whole model is made of, docs/protocol.md: an object with `cache` and `layers`. `request` are the fields of the
 * message as JSON text. *layers is NULL when the subject does not offer it; the caller frees it. To be asked after hello.
 */
kvc_drive kvc_driver_layers(kvc_driver *driver, const char *request, cJSON **layers, kvc_error *error);
/*
 * While a batch is collected: the places in its code that the subject says this sequence was the first to run. Returns how many; *told belongs
 * to the driver. Places are told when the driver was made for that (kvc_process_options).
 */
size_t kvc_driver_told(kvc_driver *driver, size_t sequence, const uint32_t **told);
void kvc_driver_close(kvc_driver *driver);

/*
 * A driver for a table of functions in this process, or, with a path, for that of a shared object, which its hello loads. NULL when
 * memory is short.
 */
kvc_driver *kvc_plugin_driver_open(const kvc_plugin *plugin, const char *path);

typedef struct kvc_process_options {
    const char *const *command; /* NULL-ended program and arguments */
    int timeout_ms;             /* for one request */
    int start_timeout_ms;       /* for the first answer */
    uint64_t memory_limit;      /* bytes of resident memory, 0: none */
    int places; /* an adapter that offers it is asked for places in its code, in batches that want them */
    void (*alive)(void *context); /* called now and then while waiting; may be NULL */
    void *context;
} kvc_process_options;
/* A driver for an adapter process. `options` and what it points to must live longer. */
kvc_driver *kvc_process_driver_open(const kvc_process_options *options);

#endif
