/* kvconform replay */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case.h"
#include "harness/commands.h"
#include "harness/finding.h"
#include "harness/target.h"

enum { MEMORY_MB = 1024, GROWTH_MB = 16 };

/* The running subject of the cases before: most cases of one call have the same. */
typedef struct replaying {
    const kvc_session *session;
    kvc_target *target;
    char text[KVC_TARGET_TEXT_MAX]; /* target of `crew` */
    kvc_crew *crew;
    const cJSON *hello;
    int findings;
    int not_run;
} replaying;

static void stop_crew(replaying *self)
{
    kvc_crew_close(self->crew);
    self->crew = NULL;
    self->hello = NULL;
}

/* Starts the subject of a case unless it is running. Returns 0, or an exit status with the complaint written. */
static int start_crew(replaying *self, const char *text)
{
    const kvc_options *options = self->session->options;
    kvc_crew_options crew = {.catalogue = self->session->catalogue, .jobs = 1, .stop = self->session->stop};
    kvc_error error = {""};
    kvc_target_result prepared;

    if (self->crew != NULL && strcmp(self->text, text) == 0)
        return 0;
    stop_crew(self);
    prepared = kvc_target_parse(text, options, self->target, &error);
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(self->target, options, self->session->data, &error);
    if (prepared == KVC_TARGET_READY) {
        crew.access = self->target->access;
        crew.stall_ms = self->target->access.process.timeout_ms;
        crew.memory_limit = options->memory_limit > 0 ? options->memory_limit : (uint64_t)MEMORY_MB << 20;
        crew.growth_limit = (uint64_t)GROWTH_MB << 20;
        self->crew = kvc_crew_open(&crew, &error);
        if (self->crew != NULL && kvc_crew_hello(self->crew, &self->hello, &error) == KVC_CREW_DONE) {
            (void)snprintf(self->text, sizeof self->text, "%s", text);
            return 0;
        }
        stop_crew(self);
        prepared = KVC_TARGET_NOT_RUN;
    }
    kvc_complain(error.text[0] != '\0' ? error.text : "interrupted");
    return prepared == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
}

static void print_state(const char *what, const cJSON *state)
{
    char *text = cJSON_PrintUnformatted(state);

    (void)printf("  %s %s\n", what, text != NULL ? text : "?");
    cJSON_free(text);
}

/* Says what came of the case. */
static void print_verdict(replaying *self, const char *path, const kvc_bench *bench, kvc_finding *finding,
                          const char *detail, const char *version)
{
    cJSON *json = detail[0] != '\0' ? cJSON_Parse(detail) : NULL;
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(json, "title");
    kvc_error ignored;

    if (json == NULL) {
        (void)printf("%s: conforms on %s %s\n", path, bench->spec->subject, version);
        return;
    }
    (void)kvc_finding_name(bench, finding, &ignored);
    self->findings = 1;
    (void)printf("%s: breaks %s on %s %s\n", path, kvc_law_name(finding->law), bench->spec->subject, version);
    (void)printf("  %s\n", cJSON_IsString(title) ? title->valuestring : "?");
    print_state("expected", cJSON_GetObjectItemCaseSensitive(json, "expected"));
    print_state("observed", cJSON_GetObjectItemCaseSensitive(json, "observed"));
    cJSON_Delete(json);
}

static int run_case(replaying *self, const char *path, const kvc_case *item)
{
    const kvc_session *session = self->session;
    const kvc_catalogue *catalogue = session->catalogue;
    const char *version = cJSON_GetObjectItemCaseSensitive(self->hello, "version")->valuestring;
    const char *subject = cJSON_GetObjectItemCaseSensitive(self->hello, "subject")->valuestring;
    int assumed;
    const kvc_contract *contract =
        session->options->contract != NULL
            ? kvc_catalogue_contract_by_id(catalogue, session->options->contract)
            : kvc_catalogue_contract(catalogue, subject, version, &assumed);
    kvc_bench bench = {self->crew, catalogue, contract, kvc_catalogue_spec(catalogue, subject, item->variant),
                       item->variant, item->params, 0};
    kvc_selection selection = {.seed = 1};
    const char **names = kvc_hello_variants(self->hello);
    kvc_finding finding = {.params = item->params, .sequence = item->sequence};
    kvc_generator *generator = NULL;
    kvc_error error = {""};
    kvc_plan plan;
    uint8_t failed = 0;
    const char *detail = "";
    int listed = 0;
    int status = KVC_EXIT_NOT_RUN;

    for (size_t at = 0; names != NULL && names[at] != NULL; at++)
        listed |= strcmp(names[at], item->variant) == 0;
    if (names == NULL || contract == NULL || bench.spec == NULL) {
        kvc_error_set(&error, "no contract or no spec for %s %s", subject, version);
    } else if (!listed) {
        (void)printf("%s: absent: %s %s has no %s\n", path, subject, version, item->variant);
        status = 0;
    } else if (!kvc_plan_make(catalogue, contract, bench.spec, item->variant, &item->params, &plan, &error) ||
               !kvc_sequence_is_valid(&plan, &item->sequence, &error)) {
        /* On the version that it names, a case that cannot be is a damaged one; on another it may just not be possible there. */
        if (session->options->target == NULL && session->options->python == NULL)
            status = KVC_EXIT_USAGE;
    } else if ((generator = kvc_generator_open(catalogue, contract, bench.spec, item->variant, version, names, 1,
                                               KVC_HOSTILE, &error)) != NULL) {
        (void)snprintf(selection.subject, sizeof selection.subject, "%s", subject);
        (void)snprintf(selection.version, sizeof selection.version, "%s", version);
        (void)snprintf(selection.variant, sizeof selection.variant, "%s", item->variant);
        (void)snprintf(selection.contract, sizeof selection.contract, "%s", contract->id);
        if (kvc_crew_choose(self->crew, &selection, generator, &error) == KVC_CREW_DONE &&
            kvc_crew_evaluate(self->crew, &item->params, &item->sequence, 1, &failed, &finding.failure, &error) ==
                KVC_CREW_DONE &&
            (!failed || kvc_crew_detail(self->crew, &item->params, &item->sequence, &detail, &error) ==
                            KVC_CREW_DONE)) {
            finding.sequence.count = failed ? finding.failure.step + 1 : finding.sequence.count;
            print_verdict(self, path, &bench, &finding, detail, version);
            status = 0;
        }
    }
    if (status != 0) {
        kvc_error told;
        kvc_error_set(&told, "%s: %s", path, error.text[0] != '\0' ? error.text : "not enough memory");
        kvc_complain(told.text);
    }
    kvc_generator_close(generator);
    free(names);
    return status;
}

static int replay_file(replaying *self, const char *path)
{
    const char *target = self->session->options->target;
    kvc_case *item = malloc(sizeof *item);
    kvc_error error = {""};
    char text[KVC_TARGET_TEXT_MAX];
    int status = KVC_EXIT_INTERNAL;

    if (item == NULL) {
        kvc_complain("not enough memory");
    } else if (!kvc_case_read(path, self->session->catalogue, item, &error)) {
        kvc_complain(error.text);
        status = KVC_EXIT_USAGE;
    } else {
        int versioned = item->version[0] != '\0' && strcmp(item->subject, "builtin") != 0 &&
                        self->session->options->python == NULL;
        if (target != NULL)
            (void)snprintf(text, sizeof text, "%s", target);
        else
            (void)snprintf(text, sizeof text, "%s%s%s", item->subject, versioned ? "@" : "",
                           versioned ? item->version : "");
        status = start_crew(self, text);
        if (status == 0)
            status = run_case(self, path, item);
    }
    free(item);
    return status;
}

int kvc_command_replay(const kvc_session *session)
{
    replaying self = {.session = session};
    int status = 0;

    if (session->options->contract != NULL &&
        kvc_catalogue_contract_by_id(session->catalogue, session->options->contract) == NULL) {
        kvc_error error;
        kvc_error_set(&error, "--contract \"%.60s\": no such contract; kvconform list contracts shows them",
                      session->options->contract);
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    self.target = malloc(sizeof *self.target);
    if (self.target == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    for (int at = 0; at < session->options->words && !*session->stop; at++) {
        int one = replay_file(&self, session->options->word[at]);
        /* A bad file is told and ends the call with its status, but the others are still run. */
        if (status == 0 || one == KVC_EXIT_USAGE)
            status = one != 0 ? one : status;
    }
    stop_crew(&self);
    free(self.target);
    if (*session->stop)
        return KVC_EXIT_INTERRUPTED;
    return status != 0 ? status : self.findings ? KVC_EXIT_FINDINGS : KVC_EXIT_CONFORMS;
}
