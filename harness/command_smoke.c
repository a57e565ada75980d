/* kvconform smoke: judges an adapter before its subject. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/choice.h"
#include "harness/commands.h"
#include "harness/driver.h"
#include "harness/system.h"
#include "harness/target.h"
#include "reference/brought.h"
#include "reference/sequences_judge.h"

enum { LOOK_MS = 20, STANDING_TIMES = 10 };

/* What a child that judges a plugin says to its parent, while it lives. */
typedef struct smoke_state {
    volatile int problems;
    volatile unsigned checks; /* begun */
    char doing[160];          /* the last of them */
} smoke_state;

typedef struct smoking {
    const kvc_session *session;
    kvc_driver *driver;
    FILE *out;
    smoke_state *state;
} smoking;

/* A check begins: what goes wrong from now on belongs to it. */
static void begin(smoking *self, const char *what)
{
    (void)snprintf(self->state->doing, sizeof self->state->doing, "%s", what);
    self->state->checks = self->state->checks + 1;
}

static void check(smoking *self, int good, const char *what, const char *why)
{
    self->state->problems = self->state->problems + !good;
    kvc_tell(self->out, "%s %s%s%s", good ? "ok  " : "FAIL", what, good ? "" : ": ", good ? "" : why);
}

/* What a step must show, whatever the subject does. */
typedef struct shown {
    int steps;
    int refused;
    char problem[256];
    const kvc_plan *plan;
    const kvc_sequence *sequence;
} shown;

/* What a cache that holds several sequences must show of the first of them. */
static void look_at_sequences(shown *self, size_t sequence, int step, const kvc_op *op, const kvc_observation *observation)
{
    static const char *const parts[] = {"attention", "window", "state"};
    float logits[KVC_LOGITS_MAX];
    const char *missing = kvc_sequences_tensor(observation, 0, "positions") == NULL ? "positions" : NULL;

    for (int part = 0; part < 3 && missing == NULL; part++) {
        if (kvc_plan_remembers(self->plan, (kvc_memory)part) && kvc_sequences_tensor(observation, 0, parts[part]) == NULL)
            missing = parts[part];
    }
    if (missing == NULL && op->kind == KVC_DECODE && observation->outcome == 0 && kvc_sequences_logits(observation, 0, logits) == 0)
        missing = "logits";
    if (missing != NULL)
        (void)snprintf(self->problem, sizeof self->problem, "sequence %zu, step %d: %s of sequence 0 are not shown as they must be", sequence,
                       step, missing);
}

static int on_step(void *context, size_t sequence, int step, const kvc_observation *observation)
{
    shown *self = context;
    const kvc_op *op = &self->sequence[sequence].op[step];

    if (observation == NULL)
        return 0;
    self->steps++;
    self->refused += observation->outcome != 0;
    if (kvc_plan_has_sequences(self->plan)) {
        look_at_sequences(self, sequence, step, op, observation);
        return 0;
    }
    if (observation->layers < 1 && self->plan->spec->length)
        (void)snprintf(self->problem, sizeof self->problem, "sequence %zu, step %d: no length for any layer", sequence,
                       step);
    if (op->kind == KVC_APPEND && observation->outcome == 0 && observation->tensors == 0)
        (void)snprintf(self->problem, sizeof self->problem, "sequence %zu, step %d: an append shows no tensor",
                       sequence, step);
    if (op->kind == KVC_APPEND && observation->outcome == 0 && step == 0) {
        for (int at = 0; at < self->plan->slots; at++) {
            const kvc_slot *slot = &self->plan->slot[at];
            /* A mask is not stored: it belongs to what the append returned. */
            const char *name = slot->view->law == KVC_MASK ? slot->returned_name : slot->name;
            kvc_view_rule rule = slot->view->rule;
            /* Shown after a trim only, or not by all versions. */
            int found = rule == KVC_RULE_TRIMMED || rule == KVC_RULE_COUNT || rule == KVC_RULE_UNUSED || rule == KVC_RULE_BYTES;
            for (int tensor = 0; tensor < observation->tensors; tensor++)
                found |= strcmp(observation->tensor[tensor].name, name) == 0;
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
    kvc_sequence several[3] = {
        {.count = 1, .op = {{.kind = KVC_DECODE, .count = 1, .n = 1}}},
        {.count = 2, .op = {{.kind = KVC_DECODE, .count = 1, .n = 2}, {.kind = KVC_DECODE, .count = 1, .n = 1}}},
        {.count = 2, .op = {{.kind = KVC_DECODE, .count = 1, .n = 1}, {.kind = KVC_CLEAR, .n = 1}}}};
    kvc_rules rules;
    kvc_choice choice;
    kvc_params params;
    kvc_plan plan;
    kvc_batch batch = {&plan, 3, sequence, NULL, NULL, 0};
    shown seen = {.plan = &plan, .sequence = sequence};
    kvc_error error = {""};
    kvc_drive drive = KVC_DRIVE_BAD;
    char what[160];

    kvc_catalogue_rules(self->session->catalogue, contract, spec->variant, &rules);
    kvc_choice_make(self->session->catalogue, spec, &rules, version, variants, &choice);
    params = kvc_choice_smallest(&choice);
    (void)snprintf(what, sizeof what, "%s: answers a batch of sequences", variant);
    begin(self, what);
    if (kvc_plan_make(self->session->catalogue, contract, spec, variant, &params, &plan, &error)) {
        if (!kvc_plan_has_op(&plan, KVC_RESET))
            batch.count = 2;
        if (kvc_plan_has_sequences(&plan)) {
            seen.sequence = several;
            batch = (kvc_batch){&plan, kvc_plan_has_op(&plan, KVC_CLEAR) ? 3 : 2, several, NULL, NULL, 0};
        }
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
    (void)snprintf(what, sizeof what, "%s %s: %s", subject, version,
                   contract != NULL && strcmp(contract->id, "standard") == 0 ? "it has no contract, so the standard rules count"
                                                                             : "a contract covers it");
    check(self, contract != NULL, what, "kvconform list contracts shows what there is");
    for (size_t at = 0; variants[at] != NULL && contract != NULL && !*self->session->stop; at++) {
        const kvc_spec *spec = kvc_catalogue_spec(catalogue, subject, variants[at]);
        /* Broken caches, and families, which have as many members as there are models. */
        if (strpbrk(variants[at], "+/") != NULL)
            continue;
        (void)snprintf(what, sizeof what, "%s: has a spec", variants[at]);
        if (spec == NULL)
            check(self, 0, what, "not covered");
        else
            smoke_variant(self, spec, variants[at], version, variants, contract);
    }
    free(variants);
}

/* All checks of one subject. Returns 0 when memory is short. */
static int smoke_subject(smoking *self, const kvc_target *target)
{
    cJSON *hello = NULL;
    cJSON *again = NULL;
    kvc_error error = {""};
    kvc_drive drive;

    self->driver = kvc_subject_open(&target->access);
    if (self->driver == NULL) {
        kvc_complain("not enough memory");
        return 0;
    }
    begin(self, "says hello");
    drive = kvc_driver_hello(self->driver, &hello, &error);
    if (drive == KVC_DROVE && !kvc_catalogue_bring(self->session->catalogue, hello, &error))
        drive = KVC_DRIVE_BAD;
    check(self, drive == KVC_DROVE, "says hello", error.text);
    if (drive == KVC_DROVE) {
        begin(self, "says the same hello again");
        drive = kvc_driver_hello(self->driver, &again, &error);
        check(self, drive == KVC_DROVE && cJSON_Compare(cJSON_GetObjectItemCaseSensitive(hello, "variants"),
                                                        cJSON_GetObjectItemCaseSensitive(again, "variants"), 1),
              "says the same hello again", error.text);
        smoke_all(self, hello);
        /* Bytes too many at the end of a reply show in the next one. */
        if (self->state->problems == 0) {
            cJSON_Delete(again);
            again = NULL;
            error.text[0] = '\0';
            begin(self, "answers after all that");
            drive = kvc_driver_hello(self->driver, &again, &error);
            check(self, drive == KVC_DROVE, "answers after all that", error.text);
        }
    }
    cJSON_Delete(hello);
    cJSON_Delete(again);
    begin(self, "closes");
    kvc_driver_close(self->driver);
    return 1;
}

/* The child's part: what the plugin prints goes to standard error. */
static int smoke_plugin(smoking *self, const kvc_target *target)
{
    int output = dup(STDOUT_FILENO);
    int good;

    kvc_die_with_parent();
    self->out = output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen(output, "w") : NULL;
    if (self->out == NULL)
        return 0;
    /* What was judged stands there even when the next thing crashes. */
    (void)setvbuf(self->out, NULL, _IOLBF, 0);
    good = smoke_subject(self, target);
    return fclose(self->out) == 0 && good;
}

/* A plugin may crash or stand still: it is judged in a child, and that becomes the problem of the check that was begun. */
static int smoke_in_child(smoking *self, const kvc_target *target)
{
    char why[128] = "";
    int64_t limit = (int64_t)target->access.process.timeout_ms * STANDING_TIMES;
    unsigned checks = 0;
    int status = 0;
    kvc_standing standing;
    pid_t pid;
    pid_t got;

    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(smoke_plugin(self, target) ? 0 : 1);
    if (pid < 0) {
        kvc_complain("cannot start a process");
        return 0;
    }
    kvc_standing_begin(&standing, (int)pid);
    while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
        (void)poll(NULL, 0, LOOK_MS);
        if (self->state->checks != checks) {
            checks = self->state->checks;
            kvc_standing_begin(&standing, (int)pid);
        } else if (*self->session->stop || kvc_standing_look(&standing, (int)pid) > limit) {
            (void)snprintf(why, sizeof why, "no answer for %lld ms", (long long)limit);
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            break;
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && strcmp(self->state->doing, "closes") == 0)
        return 1;
    if (why[0] == '\0' && WIFSIGNALED(status))
        (void)snprintf(why, sizeof why, "it crashed: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (why[0] == '\0')
        (void)snprintf(why, sizeof why, "it ended the process: exit status %d", WEXITSTATUS(status));
    self->state->doing[sizeof self->state->doing - 1] = '\0';
    check(self, 0, self->state->doing, why);
    return 1;
}

int kvc_command_smoke(const kvc_session *session)
{
    smoking self = {.session = session, .out = stdout};
    kvc_target *target = malloc(sizeof *target);
    kvc_error error = {""};
    kvc_target_result prepared;
    int status = KVC_EXIT_INTERNAL;

    self.state = mmap(NULL, sizeof *self.state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (target == NULL || self.state == MAP_FAILED) {
        kvc_complain("not enough memory");
        free(target);
        return KVC_EXIT_INTERNAL;
    }
    prepared = kvc_target_parse(session->options->word[0], session->options, target, &error);
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(target, session->options, session->data, &error);
    if (prepared != KVC_TARGET_READY) {
        kvc_complain(error.text);
        status = prepared == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
    } else if (target->access.library != NULL ? smoke_in_child(&self, target) : smoke_subject(&self, target)) {
        (void)printf("%s: %d problem%s\n", session->options->word[0], self.state->problems, self.state->problems == 1 ? "" : "s");
        status = self.state->problems > 0 ? KVC_EXIT_NOT_RUN : KVC_EXIT_CONFORMS;
    }
    (void)munmap(self.state, sizeof *self.state);
    free(target);
    return status;
}
