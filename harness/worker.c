#include "harness/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/runner.h"
#include "reference/brought.h"

typedef struct worker {
    kvc_catalogue *catalogue;
    kvc_shared *shared;
    kvc_driver *driver;
    kvc_runner *runner;
    cJSON *hello;
    const char **variants; /* NULL-ended, points into `hello` */
} worker;

static void show_life(void *context)
{
    kvc_shared *shared = context;

    shared->tick = shared->tick + 1;
}

kvc_driver *kvc_subject_open(const kvc_subject_access *access)
{
    return kvc_subject_in_process(access) ? kvc_plugin_driver_open(access->plugin, access->library)
                                          : kvc_process_driver_open(&access->process);
}

/* Reads or writes exactly `size` bytes. Returns 0 at the end or on an error. */
static int move_bytes(int socket, void *data, size_t size, int out)
{
    char *at = data;

    while (size > 0) {
        ssize_t moved = out ? write(socket, at, size) : read(socket, at, size);
        if (moved > 0) {
            at += moved;
            size -= (size_t)moved;
        } else if (moved == 0 || errno != EINTR) {
            return 0;
        }
    }
    return 1;
}

static int say_hello(worker *self, kvc_error *error)
{
    cJSON_Delete(self->hello);
    self->hello = NULL;
    if (kvc_driver_hello(self->driver, &self->hello, error) != KVC_DROVE)
        return 0;
    free(self->variants);
    self->variants = kvc_hello_variants(self->hello);
    if (self->variants == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    if (!kvc_catalogue_bring(self->catalogue, self->hello, error))
        return 0;
    if (!cJSON_PrintPreallocated(self->hello, self->shared->text, KVC_SHARED_TEXT - 1024, 0)) {
        kvc_error_set(error, "the adapter's hello is too long");
        return 0;
    }
    return 1;
}

/* Puts an answer, or null, into the shared text and frees it. */
static int share(worker *self, cJSON *answer, const char *what, kvc_error *error)
{
    int good;

    (void)snprintf(self->shared->text, KVC_SHARED_TEXT, "null");
    good = answer == NULL || cJSON_PrintPreallocated(answer, self->shared->text, KVC_SHARED_TEXT - 1024, 0);
    if (!good)
        kvc_error_set(error, "the adapter's list of %s is too long", what);
    cJSON_Delete(answer);
    return good;
}

static int list_classes(worker *self, kvc_error *error)
{
    cJSON *classes = NULL;

    return kvc_driver_classes(self->driver, &classes, error) == KVC_DROVE && share(self, classes, "classes", error);
}

static int list_layers(worker *self, kvc_error *error)
{
    cJSON *layers = NULL;

    return kvc_driver_layers(self->driver, self->shared->text, &layers, error) == KVC_DROVE && share(self, layers, "layers", error);
}

static int write_script(worker *self, kvc_error *error)
{
    char *script = NULL;
    size_t length;

    if (kvc_driver_script(self->driver, self->shared->text, &script, error) != KVC_DROVE)
        return 0;
    length = strlen(script);
    if (length < KVC_SHARED_TEXT)
        memcpy(self->shared->text, script, length + 1);
    else
        kvc_error_set(error, "the adapter's script is too long");
    free(script);
    return length < KVC_SHARED_TEXT;
}

static int obey(worker *self, const kvc_order *order, kvc_error *error)
{
    const kvc_selection *selection = &self->shared->selection;

    switch ((kvc_command)order->command) {
    case KVC_COMMAND_HELLO:
        return say_hello(self, error);
    case KVC_COMMAND_CLASSES:
        return list_classes(self, error);
    case KVC_COMMAND_CHOOSE:
        return kvc_runner_choose(self->runner, selection->subject, selection->version, selection->variant,
                                 selection->contract, self->variants, selection->seed,
                                 &selection->draws, error);
    case KVC_COMMAND_RANGE:
        return kvc_runner_range(self->runner, order->start, order->end, error);
    case KVC_COMMAND_EVALUATE:
        return kvc_runner_evaluate(self->runner, (int)order->start, error);
    case KVC_COMMAND_DETAIL:
        return kvc_runner_detail(self->runner, error);
    case KVC_COMMAND_SCRIPT:
        return write_script(self, error);
    case KVC_COMMAND_LAYERS:
        return list_layers(self, error);
    }
    kvc_error_set(error, "unknown order %d", (int)order->command);
    return 0;
}

int kvc_worker_run(int socket, kvc_catalogue *catalogue, const kvc_subject_access *access, kvc_shared *shared,
                   const kvc_corpus *corpus, uint64_t growth_limit)
{
    worker self = {.catalogue = catalogue, .shared = shared};
    kvc_subject_access here = *access;
    kvc_runner_options options;
    kvc_order order;
    int good = 1;

    here.process.alive = show_life;
    here.process.context = shared;
    /* What a plugin prints must not stand among what kvconform prints. */
    if (access->library != NULL)
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    self.driver = kvc_subject_open(&here);
    if (self.driver == NULL)
        return 1;
    options = (kvc_runner_options){catalogue, self.driver, shared, corpus, self.driver->in_process ? growth_limit : 0};
    self.runner = kvc_runner_open(&options);
    while (good && self.runner != NULL && move_bytes(socket, &order, sizeof order, 0)) {
        kvc_error error = {""};
        kvc_answer answer = {0, order.command};
        answer.done = obey(&self, &order, &error);
        if (!answer.done)
            (void)snprintf(shared->text, sizeof shared->text, "%s", error.text);
        shared->absent = (uint8_t)(self.driver->absent != 0);
        good = move_bytes(socket, &answer, sizeof answer, 1);
    }
    kvc_runner_close(self.runner);
    kvc_driver_close(self.driver);
    free(self.variants);
    cJSON_Delete(self.hello);
    return 0;
}
