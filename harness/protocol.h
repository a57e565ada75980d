/*
 * The adapter protocol, docs/protocol.md: writing requests, reading replies, which may hold anything.
 */
#ifndef KVC_HARNESS_PROTOCOL_H
#define KVC_HARNESS_PROTOCOL_H

#include "harness/driver.h"

enum {
    KVC_PROTOCOL_VERSION = 1,
    KVC_REPLY_LINE_MAX = 16 << 20, /* bytes */
    KVC_REPLY_DATA_MAX = 1 << 30,
    KVC_REPLY_TENSORS_MAX = 65536 /* different names, dtypes and shapes in one reply */
};

/* One name, dtype and shape of a reply. */
typedef struct kvc_reply_tensor {
    const char *name; /* kept for the life of the names */
    int32_t dtype;
    int32_t dims;
    int64_t shape[KVC_DIMS_MAX];
    size_t bytes;
} kvc_reply_tensor;

/* Names that were ever seen, each kept once, so that equal names have equal addresses. */
typedef struct kvc_names {
    char **name; /* owned */
    size_t count;
    size_t room;
} kvc_names;
void kvc_names_clear(kvc_names *names);
/* The kept copy of `name`; NULL when there are too many or memory is short. */
const char *kvc_names_keep(kvc_names *names, const char *name);

/* A reply to `run`, checked in everything but its raw data. */
typedef struct kvc_reply {
    cJSON *json; /* owned */
    int tensors;
    kvc_reply_tensor *tensor; /* owned */
    const cJSON *results;
    const cJSON *errors;
    size_t bytes;
} kvc_reply;

/* A request as one line with its newline. The caller frees it. NULL when memory is short. */
char *kvc_request_hello(int64_t id);
char *kvc_request_run(int64_t id, const kvc_batch *batch);
/* `fields` is a JSON object whose fields are taken over. */
char *kvc_request_script(int64_t id, const char *fields);

/* Any reply: the id must match, and "error" becomes *error (KVC_DRIVE_BAD). The caller frees *json. */
int kvc_reply_parse(const char *line, size_t length, int64_t id, cJSON **json, kvc_error *error);
/* Checks a reply to `hello`. */
int kvc_reply_check_hello(const cJSON *json, kvc_error *error);
/* Checks a reply to `run` of this batch. Takes `json` over. Free with kvc_reply_clear, also after a failure. */
int kvc_reply_open(cJSON *json, const kvc_batch *batch, kvc_names *names, kvc_reply *reply, kvc_error *error);
void kvc_reply_clear(kvc_reply *reply);
/*
 * Reads one step. *used is the offset into the raw data and moves on. Everything set in *out points into the reply, the names
 * and the data. Returns 1, or 0 with *error set.
 */
int kvc_reply_step(const kvc_reply *reply, const cJSON *step, const uint8_t *data, size_t *used, kvc_observation *out,
                   kvc_error *error);

#endif
