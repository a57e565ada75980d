/* kvconform bisect */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/bisect.h"
#include "harness/checkout.h"
#include "harness/target.h"

enum { POINTS_MAX = 4096 };

typedef struct bisecting {
    const kvc_session *session;
    kvc_case item;
    char (*version)[64];   /* points of a list of versions; NULL for commits */
    kvc_checkout checkout; /* where commits are laid out */
    int asked;
} bisecting;

static const char *name_of(const bisecting *self, int at)
{
    return self->version != NULL ? self->version[at] : self->checkout.commit[at];
}

/* One point: the subject is started anew, since every point has its own files. */
static int ask(void *context, int at, kvc_verdict_at *verdict)
{
    bisecting *self = context;
    kvc_replayer *replayer;
    kvc_replayed replayed = {.detail = NULL};
    kvc_error error = {""};
    char target[KVC_SPEC_NAME_MAX + 80];
    int status = 0;

    if (self->version != NULL)
        (void)snprintf(target, sizeof target, "%s@%s", self->item.subject, self->version[at]);
    else
        (void)snprintf(target, sizeof target, "%s", self->item.subject);
    if (self->version == NULL && !kvc_checkout_lay_out(&self->checkout, at, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_NOT_RUN;
    }
    replayer = kvc_replayer_open(self->session, 1);
    if (replayer == NULL)
        kvc_error_set(&error, "not enough memory");
    if (replayer == NULL || (status = kvc_replayer_start(replayer, target, &error)) != 0 ||
        (status = kvc_replayer_run(replayer, &self->item, &replayed, &error)) != 0) {
        kvc_error told;
        kvc_error_set(&told, "%.60s: %.540s", name_of(self, at), error.text);
        kvc_complain(*self->session->stop ? "interrupted" : told.text);
        status = *self->session->stop ? KVC_EXIT_INTERRUPTED : replayer == NULL ? KVC_EXIT_INTERNAL : status;
    } else {
        kvc_verdict_take(verdict, &replayed);
        self->asked++;
        if (!self->session->options->quiet)
            kvc_tell(stderr, "%s %s", name_of(self, at), verdict->text);
    }
    kvc_replayed_clear(&replayed);
    kvc_replayer_close(replayer);
    return status;
}

static const char *word_for(const kvc_verdict_at *before, const kvc_verdict_at *after)
{
    if (before->outcome == KVC_CASE_CONFORMS && after->outcome == KVC_CASE_BREAKS)
        return "broken";
    if (before->outcome == KVC_CASE_BREAKS && after->outcome == KVC_CASE_CONFORMS)
        return "fixed";
    return "changed";
}

static int search(bisecting *self, int points)
{
    kvc_verdict_at *verdict = calloc((size_t)points, sizeof *verdict);
    int changed = 0;
    int status;

    if (verdict == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    status = kvc_bisect(points, ask, self, verdict, &changed);
    if (status == 0 && changed == 0) {
        kvc_tell(stdout, "the same at both ends: %s", verdict[0].text);
        status = KVC_EXIT_FINDINGS;
    } else if (status == 0) {
        kvc_tell(stdout, "%s in %s (%d of %d tried)", word_for(&verdict[changed - 1], &verdict[changed]), name_of(self, changed), self->asked, points);
        for (int at = changed - 1; at <= changed; at++)
            kvc_tell(stdout, "  %s %s", name_of(self, at), verdict[at].text);
    }
    free(verdict);
    return status;
}

/* Splits `FIRST..LAST`. Returns 0 with *error set when it is no such pair. */
static int split(const char *text, char *first, char *last, size_t size, kvc_error *error)
{
    const char *dots = strstr(text, "..");
    size_t length = dots != NULL ? (size_t)(dots - text) : 0;

    if (length == 0 || length >= size || dots[2] == '\0' || strlen(dots + 2) >= size || text[0] == '-' || dots[2] == '-') {
        kvc_error_set(error, "--versions: \"%.60s\": expected FIRST..LAST", text);
        return 0;
    }
    memcpy(first, text, length);
    first[length] = '\0';
    (void)snprintf(last, size, "%s", dots + 2);
    return 1;
}

int kvc_command_bisect(const kvc_session *session)
{
    const kvc_options *options = session->options;
    bisecting self = {.session = session};
    char first[128];
    char last[128];
    kvc_error error = {""};
    int status = KVC_EXIT_USAGE;
    int points;

    if (!kvc_case_read(options->word[0], session->catalogue, &self.item, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    if (options->git != NULL) {
        if (!split(options->versions, first, last, sizeof first, &error) ||
            !kvc_checkout_open(&self.checkout, options->git, first, last, self.item.subject, &error)) {
            kvc_complain(error.text);
        } else {
            status = search(&self, self.checkout.commits);
        }
        kvc_checkout_close(&self.checkout);
        return status;
    }
    if (strcmp(self.item.subject, "builtin") == 0) {
        kvc_complain("a case of the built-in caches: they have one version, so there is nothing to bisect");
        return KVC_EXIT_USAGE;
    }
    self.version = calloc(KVC_TARGET_VERSIONS_MAX, sizeof *self.version);
    if (self.version == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    points = kvc_target_versions(self.item.subject, options->versions, options, session->data, self.version, &error);
    if (points < 2)
        kvc_complain(points == 0 ? error.text : "--versions: expected FIRST..LAST, or a list of versions from the oldest to the newest");
    else
        status = search(&self, points);
    free(self.version);
    return status;
}
