/*
 * A worker process: obeys commands over a socket and works in shared memory.
 */
#ifndef KVC_HARNESS_WORKER_H
#define KVC_HARNESS_WORKER_H

#include "harness/driver.h"
#include "harness/shared.h"

typedef enum kvc_command {
    KVC_COMMAND_HELLO = 1, /* start the subject; its hello comes in the shared text */
    KVC_COMMAND_CLASSES,   /* all cache classes of the subject as a JSON list, or null, in the shared text */
    KVC_COMMAND_CHOOSE,    /* the shared selection */
    KVC_COMMAND_RANGE,     /* sequences start to end - 1 */
    KVC_COMMAND_EVALUATE,  /* the shared cases from `start` on */
    KVC_COMMAND_DETAIL,    /* the first shared case; JSON comes in the shared text */
    KVC_COMMAND_SCRIPT,    /* the shared text is the request, and becomes the script */
    KVC_COMMAND_LAYERS     /* the shared text is the request, and becomes what was answered, or null */
} kvc_command;

typedef struct kvc_order {
    int32_t command;
    int32_t unused;
    uint64_t start;
    uint64_t end;
} kvc_order;

/* 1: done. 0: the shared text says what went wrong. */
typedef struct kvc_answer {
    int32_t done;
    int32_t command;
} kvc_answer;

/* What is driven: a plugin that is here, one to load, or a process. One of the three is set. */
typedef struct kvc_subject_access {
    const kvc_plugin *plugin;
    const char *library; /* path of a shared object */
    kvc_process_options process; /* command NULL for a plugin */
} kvc_subject_access;
/* Whether the subject lives in the worker: then it ends the worker when it ends. */
static inline int kvc_subject_in_process(const kvc_subject_access *access)
{
    return access->plugin != NULL || access->library != NULL;
}
/* NULL when memory is short. What `access` points to must live longer. */
kvc_driver *kvc_subject_open(const kvc_subject_access *access);

/* The life of a worker; returns its exit status when the socket is closed. `corpus` may be NULL. */
int kvc_worker_run(int socket, kvc_catalogue *catalogue, const kvc_subject_access *access, kvc_shared *shared,
                   const kvc_corpus *corpus, uint64_t growth_limit);

#endif
