/* kvconform smoke: judges an adapter before its subject. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/choice.h"
#include "harness/commands.h"
#include "harness/driver.h"
#include "harness/target.h"

typedef struct smoking {
    const kvc_session *session;
    kvc_driver *driver;
    int problems;
} smoking;

static void check(smoking *self, int good, const char *what, const char *why)
{
    self->problems += !good;
    (void)printf("%s %s%s%s\n", good ? "ok  " : "FAIL", what, good ? "" : ": ", good ? "" : why);
}

/* What a step must show, whatever the subject does. */
typedef struct shown {
    int steps;
    int refused;
    char problem[256];
    const kvc_plan *plan;
    const kvc_sequence *sequence;
} shown;

static int on_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    shown *self = context;
    const kvc_op *op = &self->sequence[sequence].op[step];

    if (observation == NULL)
        return 0;
    self->steps++;
    self->refused += observation->outcome != 0;
    if (observation->layers < 1 && self->plan->spec->length)
        (void)snprintf(self->problem, sizeof self->problem, "sequence %zu, step %d: no length for any layer", sequence,
                       step);
    if (op->kind == KVC_APPEND && observation->outcome == 0 && observation->tensors == 0)
        (void)snprintf(self->problem, sizeof self->problem, "sequence %zu, step %d: an append shows no tensor",
                       sequence, step);
    if (op->kind == KVC_APPEND && observation->outcome == 0 && step == 0) {
        for (int at = 0; at < self->plan->slots; at++) {
            int found = 0;
            for (int tensor = 0; tensor < observation->tensors; tensor++)
                found |= strcmp(observation->tensor[tensor].name, self->plan->slot[at].name) == 0;
            if (!found)
                (void)snprintf(self->problem, sizeof self->problem,
                               "sequence %zu, step %d: tensor \"%s\" of the spec is not shown", sequence, step,
                               self->plan->slot[at].name);
        }
    }
    return 0;
}

static void smoke_variant(smoking *self, const kvc_spec *spec, const char *variant, const char *version,
                          const char *const *variants, const kvc_contract *contract)
{
    kvc_sequence sequence[3] = {{.count = 1, .op = {{.kind = KVC_APPEND, .n = 1}}},
                                {.count = 2, .op = {{.kind = KVC_APPEND, .n = 2}, {.kind = KVC_APPEND, .n = 1}}},
                                {.count = 2, .op = {{.kind = KVC_APPEND, .n = 1}, {.kind = KVC_RESET}}}};
    kvc_rules rules;
    kvc_choice choice;
    kvc_params params;
    kvc_plan plan;
    kvc_batch batch = {&plan, 3, sequence, NULL};
    shown seen = {.plan = &plan, .sequence = sequence};
    kvc_error error = {""};
    kvc_drive drive = KVC_DRIVE_BAD;
    char what[160];

    kvc_catalogue_rules(self->session->catalogue, contract, spec->variant, &rules);
    kvc_choice_make(self->session->catalogue, spec, &rules, version, variants, &choice);
    params = kvc_choice_smallest(&choice);
    (void)snprintf(what, sizeof what, "%s: answers a batch of sequences", variant);
    if (kvc_plan_make(self->session->catalogue, contract, spec, variant, &params, &plan, &error)) {
        if (!kvc_plan_has_op(&plan, KVC_RESET))
            batch.count = 2;
        drive = kvc_driver_submit(self->driver, &batch, &error);
        if (drive == KVC_DROVE)
            drive = kvc_driver_collect(self->driver, on_step, &seen, &error);
    }
    check(self, drive == KVC_DROVE && seen.problem[0] == '\0', what,
          seen.problem[0] != '\0' ? seen.problem : error.text);
}

static void smoke_all(smoking *self, const cJSON *hello)
{
    const kvc_catalogue *catalogue = self->session->catalogue;
    const char *subject = cJSON_GetObjectItemCaseSensitive(hello, "subject")->valuestring;
    const char *version = cJSON_GetObjectItemCaseSensitive(hello, "version")->valuestring;
    const char **variants = kvc_hello_variants(hello);
    int assumed;
    const kvc_contract *contract = kvc_catalogue_contract(catalogue, subject, version, &assumed);
    char what[160];

    if (variants == NULL) {
        check(self, 0, "lists its variants", "not enough memory");
        return;
    }
    (void)snprintf(what, sizeof what, "%s %s: a contract covers it", subject, version);
    check(self, contract != NULL, what, "kvconform list contracts shows what there is");
    for (size_t at = 0; variants[at] != NULL && contract != NULL && !*self->session->stop; at++) {
        const kvc_spec *spec = kvc_catalogue_spec(catalogue, subject, variants[at]);
        if (strchr(variants[at], '+') != NULL)
            continue;
        (void)snprintf(what, sizeof what, "%s: has a spec", variants[at]);
        if (spec == NULL)
            check(self, 0, what, "not covered");
        else
            smoke_variant(self, spec, variants[at], version, variants, contract);
    }
    free(variants);
}

int kvc_command_smoke(const kvc_session *session)
{
    smoking self = {.session = session};
    kvc_target *target = malloc(sizeof *target);
    kvc_error error = {""};
    kvc_target_result prepared;
    cJSON *hello = NULL;
    cJSON *again = NULL;
    kvc_drive drive;

    if (target == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    prepared = kvc_target_parse(session->options->word[0], session->options, target, &error);
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(target, session->options, session->data, &error);
    if (prepared != KVC_TARGET_READY) {
        kvc_complain(error.text);
        free(target);
        return prepared == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
    }
    self.driver = target->access.plugin != NULL ? kvc_plugin_driver_open(target->access.plugin)
                                                : kvc_process_driver_open(&target->access.process);
    if (self.driver == NULL) {
        kvc_complain("not enough memory");
        free(target);
        return KVC_EXIT_INTERNAL;
    }
    drive = kvc_driver_hello(self.driver, &hello, &error);
    check(&self, drive == KVC_DROVE, "says hello", error.text);
    if (drive == KVC_DROVE) {
        drive = kvc_driver_hello(self.driver, &again, &error);
        check(&self, drive == KVC_DROVE && cJSON_Compare(cJSON_GetObjectItemCaseSensitive(hello, "variants"),
                                                         cJSON_GetObjectItemCaseSensitive(again, "variants"), 1),
              "says the same hello again", error.text);
        smoke_all(&self, hello);
        /* Bytes too many at the end of a reply show in the next one. */
        if (self.problems == 0) {
            cJSON_Delete(again);
            again = NULL;
            error.text[0] = '\0';
            drive = kvc_driver_hello(self.driver, &again, &error);
            check(&self, drive == KVC_DROVE, "answers after all that", error.text);
        }
    }
    (void)printf("%s: %d problem%s\n", session->options->word[0], self.problems, self.problems == 1 ? "" : "s");
    cJSON_Delete(hello);
    cJSON_Delete(again);
    kvc_driver_close(self.driver);
    free(target);
    return self.problems > 0 ? KVC_EXIT_NOT_RUN : KVC_EXIT_CONFORMS;
}
