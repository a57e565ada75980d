/* Drives an adapter that is a process of its own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/channel.h"
#include "harness/protocol.h"
#include "reference/json.h"

enum { MODEL_SEQUENCES = 4 }; /* of a whole model, for which an answer may take as long as one for a batch of a cache */

typedef struct process_driver {
    kvc_driver base;
    const kvc_process_options *options;
    kvc_channel *channel; /* NULL while no process runs */
    int64_t next_id;
    kvc_batch batch[KVC_BATCHES_IN_FLIGHT];
    int64_t batch_id[KVC_BATCHES_IN_FLIGHT];
    int batches;
    int answered; /* the process has answered once: it is up */
    char prepared[2][KVC_CHOICE_NAME_MAX]; /* the variant and the layers that the process was asked for last */
    int loads_late; /* its hello says that it loads a variant when it is first asked for it */
    int offers_layers;
    int offers_places; /* its hello says that it can tell which places in its code are run */
    int with_places; /* the batch that is collected asked for them */
    int offers_classes; /* its hello says that it can look for them */
    kvc_reply_table table;
    kvc_reply reply; /* while a batch is collected */
    kvc_observation observation;
    uint32_t places[KVC_REPLY_PLACES_MAX];
} process_driver;

static int start(process_driver *self, kvc_error *error)
{
    if (self->channel != NULL)
        return 1;
    self->answered = 0;
    self->prepared[0][0] = '\0';
    kvc_reply_table_restart(&self->table);
    self->channel = kvc_channel_open(self->options, error);
    return self->channel != NULL;
}

static kvc_drive stop(process_driver *self, kvc_drive why)
{
    kvc_channel_close(self->channel);
    self->channel = NULL;
    self->batches = 0;
    return why;
}

static kvc_drive send_line(process_driver *self, char *line, kvc_error *error)
{
    int good = line != NULL && kvc_channel_send(self->channel, line, strlen(line));

    free(line);
    if (good)
        return KVC_DROVE;
    kvc_error_set(error, "not enough memory");
    return stop(self, KVC_DRIVE_BAD);
}

static kvc_drive receive_within(process_driver *self, int timeout_ms, int64_t id, cJSON **json, char **results, kvc_error *error)
{
    char *line;
    size_t length;
    kvc_drive drive = kvc_channel_read_line(self->channel, KVC_REPLY_LINE_MAX, timeout_ms, &line, &length, error);
    kvc_said said = KVC_SAID_NOTHING;

    if (drive == KVC_DROVE && !kvc_reply_parse(line, length, id, json, results, &said, error))
        drive = KVC_DRIVE_BAD;
    self->base.absent = said == KVC_SAID_ABSENT;
    /* One that says that it cannot do this goes on with something else, but for what it is still asked. */
    if (drive != KVC_DROVE && (said == KVC_SAID_NOTHING || self->batches > 0))
        return stop(self, drive);
    self->answered = 1;
    return drive;
}

static kvc_drive receive(process_driver *self, int64_t id, cJSON **json, char **results, kvc_error *error)
{
    int timeout_ms = self->answered ? self->options->timeout_ms : self->options->start_timeout_ms;

    return receive_within(self, timeout_ms, id, json, results, error);
}

static kvc_drive greet(process_driver *self, cJSON **out, kvc_error *error)
{
    int64_t id = self->next_id++;
    kvc_drive drive;

    if (!start(self, error))
        return KVC_DRIVE_BAD;
    drive = send_line(self, kvc_request_hello(id), error);
    if (drive == KVC_DROVE)
        drive = receive(self, id, out, NULL, error);
    if (drive == KVC_DROVE && !kvc_reply_check_hello(*out, error)) {
        cJSON_Delete(*out);
        *out = NULL;
        return stop(self, KVC_DRIVE_BAD);
    }
    if (drive == KVC_DROVE) {
        self->offers_classes = kvc_reply_offers(*out, "classes");
        self->offers_layers = kvc_reply_offers(*out, "layers");
        self->offers_places = kvc_reply_offers(*out, "places");
        self->loads_late = kvc_reply_offers(*out, "prepare");
    }
    return drive;
}

static kvc_drive hello(kvc_driver *driver, cJSON **out, kvc_error *error)
{
    return greet((process_driver *)driver, out, error);
}

/*
 * A process that is started again says hello first: until then it gets the time of a start, after that no answer does. What
 * goes wrong before is not the doing of any op.
 */
static int make_ready(process_driver *self, kvc_error *error)
{
    cJSON *greeting = NULL;

    if (self->channel != NULL && self->answered)
        return 1;
    if (greet(self, &greeting, error) != KVC_DROVE)
        return 0;
    cJSON_Delete(greeting);
    return 1;
}

/*
 * Before its first sequences of a variant the process is asked for none: it may have to load what the variant is made of, which
 * takes the time of a start and is not the doing of any op.
 */
static kvc_drive prepare(process_driver *self, const kvc_plan *plan, kvc_error *error)
{
    kvc_batch none = {.plan = plan};
    int64_t id;
    cJSON *json = NULL;
    char *results = NULL;
    kvc_drive drive;

    if (!self->loads_late || self->batches > 0 ||
        (strcmp(self->prepared[0], plan->variant) == 0 && strcmp(self->prepared[1], plan->layer_words) == 0))
        return KVC_DROVE;
    id = self->next_id++;
    drive = send_line(self, kvc_request_run(id, &none), error);
    self->answered = 0;
    if (drive == KVC_DROVE)
        drive = receive(self, id, &json, &results, error);
    if (drive != KVC_DROVE)
        return drive;
    if (!kvc_reply_open(json, results, &none, &self->table, &self->reply, error))
        drive = stop(self, KVC_DRIVE_BAD);
    kvc_reply_clear(&self->reply);
    (void)snprintf(self->prepared[0], sizeof self->prepared[0], "%s", plan->variant);
    (void)snprintf(self->prepared[1], sizeof self->prepared[1], "%s", plan->layer_words);
    return drive;
}

static kvc_drive submit(kvc_driver *driver, const kvc_batch *batch, kvc_error *error)
{
    process_driver *self = (process_driver *)driver;
    kvc_drive drive;

    if (self->batches == KVC_BATCHES_IN_FLIGHT) {
        kvc_error_set(error, "too many batches in flight");
        return KVC_DRIVE_BAD;
    }
    if (!make_ready(self, error))
        return KVC_DRIVE_BAD;
    drive = prepare(self, batch->plan, error);
    if (drive != KVC_DROVE)
        return drive;
    self->batch[self->batches] = *batch;
    self->batch[self->batches].places = batch->places && self->options->places && self->offers_places;
    self->batch_id[self->batches] = self->next_id++;
    drive = send_line(self, kvc_request_run(self->batch_id[self->batches], &self->batch[self->batches]), error);
    if (drive == KVC_DROVE)
        self->batches++;
    return drive;
}

static int show_steps(process_driver *self, kvc_reply *reply, const uint8_t *data, kvc_step_function step, void *context,
                      kvc_error *error)
{
    size_t left = SIZE_MAX; /* the sequence that is left */
    int next;

    while ((next = kvc_reply_next(reply, data, &self->observation, error)) > 0) {
        if (left != reply->sequence && step(context, reply->sequence, reply->step, &self->observation))
            left = reply->sequence;
    }
    return next == 0;
}

/* The time for an answer. One for sequences of a whole model is longer by that much again for every few of them. */
static int patience(const process_driver *self, const kvc_batch *batch)
{
    int times = batch->plan->spec->kind == KVC_KIND_MODEL ? 1 + (int)batch->count / MODEL_SEQUENCES : 1;

    return self->options->timeout_ms < INT_MAX / times ? times * self->options->timeout_ms : INT_MAX;
}

static kvc_drive collect(kvc_driver *driver, kvc_step_function step, void *context, kvc_error *error)
{
    process_driver *self = (process_driver *)driver;
    kvc_batch batch = self->batch[0];
    int64_t id = self->batch_id[0];
    cJSON *json = NULL;
    char *results = NULL;
    kvc_reply *reply = &self->reply;
    const uint8_t *data = NULL;
    kvc_drive drive;

    if (self->batches == 0) {
        kvc_error_set(error, "no batch in flight");
        return KVC_DRIVE_BAD;
    }
    drive = receive_within(self, patience(self, &batch), id, &json, &results, error);
    if (drive != KVC_DROVE)
        return drive;
    self->batches--;
    memmove(self->batch, self->batch + 1, (size_t)self->batches * sizeof batch);
    memmove(self->batch_id, self->batch_id + 1, (size_t)self->batches * sizeof id);
    self->with_places = batch.places;
    if (!kvc_reply_open(json, results, &batch, &self->table, reply, error) ||
        (self->with_places && !kvc_reply_check_places(reply, error))) {
        drive = KVC_DRIVE_BAD;
    } else {
        drive = kvc_channel_read_bytes(self->channel, reply->bytes, patience(self, &batch), &data, error);
        if (drive == KVC_DROVE && !show_steps(self, reply, data, step, context, error))
            drive = KVC_DRIVE_BAD;
    }
    kvc_reply_clear(reply);
    return drive == KVC_DROVE ? KVC_DROVE : stop(self, drive);
}

/* Sends a request that is not of sequences and waits for the reply, which the caller frees. */
static kvc_drive ask(process_driver *self, int64_t id, char *line, int timeout_ms, cJSON **json, kvc_error *error)
{
    kvc_drive drive = send_line(self, line, error);

    return drive == KVC_DROVE ? receive_within(self, timeout_ms, id, json, NULL, error) : drive;
}

static kvc_drive script(kvc_driver *driver, const char *request, char **out, kvc_error *error)
{
    process_driver *self = (process_driver *)driver;
    int64_t id;
    cJSON *json = NULL;
    const cJSON *text;
    kvc_drive drive;

    if (!make_ready(self, error))
        return KVC_DRIVE_BAD;
    id = self->next_id++;
    drive = ask(self, id, kvc_request_script(id, request), self->options->timeout_ms, &json, error);
    if (drive != KVC_DROVE)
        return drive;
    text = cJSON_GetObjectItemCaseSensitive(json, "script");
    *out = cJSON_IsString(text) ? malloc(strlen(text->valuestring) + 1) : NULL;
    if (*out != NULL)
        memcpy(*out, text->valuestring, strlen(text->valuestring) + 1);
    else
        kvc_error_set(error, "adapter's reply: field \"script\": expected a text");
    cJSON_Delete(json);
    return *out != NULL ? KVC_DROVE : KVC_DRIVE_BAD;
}

static kvc_drive classes(kvc_driver *driver, cJSON **out, kvc_error *error)
{
    process_driver *self = (process_driver *)driver;
    int64_t id;
    cJSON *json = NULL;
    kvc_drive drive;

    if (!make_ready(self, error))
        return KVC_DRIVE_BAD;
    if (!self->offers_classes)
        return KVC_DROVE;
    id = self->next_id++;
    drive = ask(self, id, kvc_request_classes(id), self->options->timeout_ms, &json, error);
    if (drive != KVC_DROVE)
        return drive;
    if (kvc_reply_check_classes(json, error))
        *out = cJSON_DetachItemFromObjectCaseSensitive(json, "classes");
    cJSON_Delete(json);
    return *out != NULL ? KVC_DROVE : stop(self, KVC_DRIVE_BAD);
}

/* The model may have to be made first, which takes the time of a start. */
static kvc_drive layers(kvc_driver *driver, const char *request, cJSON **out, kvc_error *error)
{
    process_driver *self = (process_driver *)driver;
    int64_t id;
    cJSON *json = NULL;
    kvc_drive drive;

    if (!make_ready(self, error))
        return KVC_DRIVE_BAD;
    if (!self->offers_layers)
        return KVC_DROVE;
    id = self->next_id++;
    drive = ask(self, id, kvc_request_layers(id, request), self->options->start_timeout_ms, &json, error);
    if (drive != KVC_DROVE)
        return drive;
    if (kvc_reply_check_layers(json, error)) {
        cJSON_DeleteItemFromObjectCaseSensitive(json, "id");
        *out = json;
        return KVC_DROVE;
    }
    cJSON_Delete(json);
    return stop(self, KVC_DRIVE_BAD);
}

static size_t told(kvc_driver *driver, size_t sequence, const uint32_t **out)
{
    process_driver *self = (process_driver *)driver;

    *out = self->places;
    return self->with_places ? kvc_reply_places(&self->reply, sequence, self->places) : 0;
}

static void close_driver(kvc_driver *driver)
{
    process_driver *self = (process_driver *)driver;

    kvc_channel_close(self->channel);
    kvc_reply_table_clear(&self->table);
    free(self);
}

kvc_driver *kvc_process_driver_open(const kvc_process_options *options)
{
    static const kvc_driver_table table = {hello, submit, collect, script, classes, layers, close_driver, told, NULL, NULL, NULL};
    process_driver *self = calloc(1, sizeof *self);

    if (self == NULL)
        return NULL;
    self->base.table = &table;
    self->options = options;
    return &self->base;
}
