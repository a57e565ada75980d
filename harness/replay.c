#include "harness/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/target.h"

struct kvc_replayer {
    const kvc_session *session;
    int jobs;
    kvc_target target;
    char text[KVC_TARGET_TEXT_MAX]; /* target of `crew` */
    kvc_crew *crew;
    const cJSON *hello;
    char failed[KVC_TARGET_TEXT_MAX]; /* the target that could not be started: told once */
    int failed_status;
};

kvc_replayer *kvc_replayer_open(const kvc_session *session, int jobs)
{
    kvc_replayer *replayer = calloc(1, sizeof *replayer);

    if (replayer != NULL) {
        replayer->session = session;
        replayer->jobs = jobs;
    }
    return replayer;
}

static void stop(kvc_replayer *self)
{
    kvc_crew_close(self->crew);
    self->crew = NULL;
    self->hello = NULL;
}

void kvc_replayer_close(kvc_replayer *replayer)
{
    if (replayer != NULL)
        stop(replayer);
    free(replayer);
}

const cJSON *kvc_replayer_hello(const kvc_replayer *replayer)
{
    return replayer->hello;
}

kvc_crew *kvc_replayer_lend(const kvc_replayer *replayer, const char *target)
{
    return replayer->crew != NULL && strcmp(replayer->text, target) == 0 ? replayer->crew : NULL;
}

int kvc_replayer_start(kvc_replayer *self, const char *text, kvc_error *error)
{
    const kvc_options *options = self->session->options;
    kvc_crew_options crew = {.catalogue = self->session->catalogue, .jobs = self->jobs, .stop = self->session->stop};
    kvc_target_result prepared;

    error->text[0] = '\0';
    if (self->crew != NULL && strcmp(self->text, text) == 0)
        return 0;
    if (self->failed_status != 0 && strcmp(self->failed, text) == 0)
        return self->failed_status;
    stop(self);
    prepared = kvc_target_parse(text, options, &self->target, error);
    if (prepared == KVC_TARGET_READY)
        prepared = kvc_target_prepare(&self->target, options, self->session->data, error);
    if (prepared == KVC_TARGET_READY) {
        kvc_target_bound(&self->target, options, &crew);
        self->crew = kvc_crew_open(&crew, error);
        if (self->crew != NULL && kvc_crew_hello(self->crew, &self->hello, error) == KVC_CREW_DONE) {
            (void)snprintf(self->text, sizeof self->text, "%s", text);
            return 0;
        }
        stop(self);
        prepared = KVC_TARGET_NOT_RUN;
    }
    if (error->text[0] == '\0')
        kvc_error_set(error, "interrupted");
    (void)snprintf(self->failed, sizeof self->failed, "%s", text);
    self->failed_status = prepared == KVC_TARGET_BAD ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
    return self->failed_status;
}

/* Performs the case. Returns 0 with *out set, or an exit status with *error set, or left empty when memory is short. */
static int perform(kvc_replayer *self, const kvc_bench *bench, const kvc_case *item, const char *const *variants, kvc_replayed *out,
                   kvc_error *error)
{
    kvc_selection selection = {.seed = 1};
    kvc_finding finding = {.params = item->params, .sequence = item->sequence};
    kvc_generator *generator = kvc_generator_open(bench->catalogue, bench->contract, bench->spec, item->variant, out->version,
                                                  variants, 1, KVC_HOSTILE, error);
    const char *detail = "";
    uint8_t failed = 0;
    kvc_error ignored;
    int status = KVC_EXIT_NOT_RUN;

    if (generator == NULL)
        return status;
    kvc_profile_of(KVC_HOSTILE, &selection.draws);
    (void)snprintf(selection.subject, sizeof selection.subject, "%s", out->subject);
    (void)snprintf(selection.version, sizeof selection.version, "%s", out->version);
    (void)snprintf(selection.variant, sizeof selection.variant, "%s", item->variant);
    (void)snprintf(selection.contract, sizeof selection.contract, "%s", bench->contract->id);
    if (kvc_crew_choose(self->crew, &selection, generator, error) == KVC_CREW_DONE &&
        kvc_crew_evaluate(self->crew, &item->params, &item->sequence, 1, &failed, &finding.failure, error) == KVC_CREW_DONE &&
        (!failed || kvc_crew_detail(self->crew, &item->params, &item->sequence, &detail, error) == KVC_CREW_DONE)) {
        finding.sequence.count = failed ? finding.failure.step + 1 : finding.sequence.count;
        out->outcome = KVC_CASE_CONFORMS;
        if (detail[0] != '\0') {
            out->detail = cJSON_Parse(detail);
            out->outcome = KVC_CASE_BREAKS;
            if (kvc_finding_name(bench, &finding, &ignored)) {
                (void)snprintf(out->id, sizeof out->id, "%s", finding.id);
                out->finding = finding;
                out->finding.shrunk = 1; /* cases that are kept are as small as they go */
            }
            out->law = finding.law;
        }
        status = 0;
    }
    kvc_generator_close(generator);
    return status;
}

int kvc_replayer_run(kvc_replayer *self, const kvc_case *item, kvc_replayed *out, kvc_error *error)
{
    const kvc_session *session = self->session;
    const kvc_catalogue *catalogue = session->catalogue;
    const kvc_contract *contract;
    const char **names = kvc_hello_variants(self->hello);
    kvc_plan plan;
    int assumed;
    int listed = 0;
    int status = KVC_EXIT_NOT_RUN;

    memset(out, 0, sizeof *out);
    error->text[0] = '\0';
    out->version = cJSON_GetObjectItemCaseSensitive(self->hello, "version")->valuestring;
    out->subject = cJSON_GetObjectItemCaseSensitive(self->hello, "subject")->valuestring;
    contract = session->options->contract != NULL ? kvc_catalogue_contract_by_id(catalogue, session->options->contract)
                                                  : kvc_catalogue_contract(catalogue, out->subject, out->version, &assumed);
    kvc_bench bench = {self->crew, catalogue, contract, kvc_catalogue_spec(catalogue, out->subject, item->variant),
                       item->variant, item->params, 0, NULL};
    for (size_t at = 0; names != NULL && names[at] != NULL; at++)
        listed |= strcmp(names[at], item->variant) == 0;
    if (names == NULL) {
        kvc_error_set(error, "not enough memory");
    } else if (contract == NULL) {
        kvc_error_set(error, "no contract for %s %s", out->subject, out->version);
    } else if (bench.spec == NULL) {
        kvc_error_set(error, listed ? "no spec for %s %s, variant %s" : "%s %s has no variant %s, which the case needs",
                      out->subject, out->version, item->variant);
    } else if (!listed && kvc_hello_unavailable(self->hello, item->variant) != NULL) {
        kvc_error_set(error, "%s cannot be run here: %s", item->variant, kvc_hello_unavailable(self->hello, item->variant));
    } else if (!listed) {
        kvc_error_set(&out->why, "%s %s has no %s", out->subject, out->version, item->variant);
        out->outcome = KVC_CASE_ABSENT;
        status = 0;
    } else if (!kvc_plan_make(catalogue, contract, bench.spec, item->variant, &item->params, &plan, &out->why) ||
               !kvc_sequence_is_valid(&plan, &item->sequence, &out->why)) {
        out->outcome = KVC_CASE_IMPOSSIBLE;
        status = 0;
    } else {
        status = perform(self, &bench, item, names, out, error);
    }
    free(names);
    if (status != 0 && error->text[0] == '\0')
        kvc_error_set(error, *session->stop ? "interrupted" : "not enough memory");
    return status;
}

void kvc_replayed_clear(kvc_replayed *replayed)
{
    cJSON_Delete(replayed->detail);
    replayed->detail = NULL;
}
