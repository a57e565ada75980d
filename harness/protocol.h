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
    KVC_REPLY_PLACES_MAX = 8192, /* of one sequence */
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

/* What is kept from one reply of a process to the next. */
typedef struct kvc_reply_table {
    kvc_names names;
    kvc_reply_tensor *tensor; /* owned */
    int count;
    int room;
} kvc_reply_table;
/* Forgets the tensors: a process that is started anew has sent none. Names are kept. */
void kvc_reply_table_restart(kvc_reply_table *table);
void kvc_reply_table_clear(kvc_reply_table *table);

/* One tensor of the step before. */
typedef struct kvc_reply_shown {
    int index; /* into the table */
    const uint8_t *data;
} kvc_reply_shown;

/* A reply to `run`, checked in everything but its steps and raw data. */
typedef struct kvc_reply {
    cJSON *json;   /* owned; without its results */
    char *results; /* owned; their text */
    const kvc_batch *batch;
    const kvc_reply_table *table;
    const cJSON **error; /* owned; each an array of kind and text */
    int errors;
    size_t bytes;
    /* While steps are read. */
    const char *at;
    size_t used; /* bytes of raw data */
    size_t sequence;
    int step; /* of that sequence, -1 before the first */
    int shown;
    kvc_reply_shown before[KVC_TENSORS_MAX]; /* what the step before showed */
} kvc_reply;

/* A request as one line with its newline. The caller frees it. NULL when memory is short. */
char *kvc_request_hello(int64_t id);
char *kvc_request_classes(int64_t id);
char *kvc_request_run(int64_t id, const kvc_batch *batch);
/* `fields` is a JSON object whose fields are taken over. */
char *kvc_request_script(int64_t id, const char *fields);
char *kvc_request_layers(int64_t id, const char *fields);

/*
 * Any reply: the id must match, and "error" or "absent" becomes *error and *said. Where `results` is not NULL the text of the field of that name goes there
 * instead of into *json, and the line is changed. The caller frees both.
 */
typedef enum kvc_said {
    KVC_SAID_NOTHING = 0, /* it is a reply, or none in good form */
    KVC_SAID_ERROR,       /* "error": what was asked for cannot be done */
    KVC_SAID_ABSENT       /* "absent": the subject has no such cache */
} kvc_said;
int kvc_reply_parse(char *line, size_t length, int64_t id, cJSON **json, char **results, kvc_said *said, kvc_error *error);
/* Checks a reply to `hello`. */
int kvc_reply_check_hello(const cJSON *json, kvc_error *error);
/* Whether a checked hello offers an optional request. */
int kvc_reply_offers(const cJSON *hello, const char *request);
/* Checks a reply to `classes`. */
int kvc_reply_check_classes(const cJSON *json, kvc_error *error);
/* Checks a reply to `layers`. */
int kvc_reply_check_layers(const cJSON *json, kvc_error *error);
/*
 * Checks a reply to `run` of this batch, which must live as long. Takes `json` and `results` over and adds to the table. Free with
 * kvc_reply_clear, also after a failure.
 */
int kvc_reply_open(cJSON *json, char *results, const kvc_batch *batch, kvc_reply_table *table, kvc_reply *reply, kvc_error *error);
void kvc_reply_clear(kvc_reply *reply);
/*
 * Checks the field `places` of an open reply, of a run that asked for it: for each sequence a list of numbers of 32 bits. Returns 0 with *error
 * set.
 */
int kvc_reply_check_places(const kvc_reply *reply, kvc_error *error);
/* Those of one sequence, checked, to `out` of KVC_REPLY_PLACES_MAX; returns how many. 0 where none were asked for. */
size_t kvc_reply_places(const kvc_reply *reply, size_t sequence, uint32_t *out);
/*
 * Reads the next step, that of reply->sequence and reply->step, out of reply->results and `data` of reply->bytes. Everything set in
 * *out points into the reply, the table and the data. Returns 1, 0 when all steps of the batch were read and all data belongs to
 * them, or -1 with *error set.
 */
int kvc_reply_next(kvc_reply *reply, const uint8_t *data, kvc_observation *out, kvc_error *error);

#endif
