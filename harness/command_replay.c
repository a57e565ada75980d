/* kvconform replay */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/case_files.h"
#include "harness/replay.h"
#include "reports/result.h"

/* One case on one target. */
typedef struct replay {
    const char *path;
    const kvc_case *item;
    char target[KVC_SPEC_NAME_MAX + 80];
} replay;

typedef struct replaying {
    const kvc_session *session;
    kvc_replayer *replayer;
    FILE *out;       /* where it is told */
    cJSON *document; /* what --json writes, or NULL */
    int findings; /* cases that say nothing of what they must show, and break a law */
    int as_expected;
    int unexpected;
    int not_run;
} replaying;

/* Starts the subject of a case unless it is running. Returns 0, or an exit status with the complaint written. */
static int start(replaying *self, const char *text)
{
    kvc_error error;
    int status = kvc_replayer_start(self->replayer, text, &error);

    if (error.text[0] != '\0')
        kvc_complain(error.text);
    return status;
}

static void print_state(FILE *out, const char *what, const cJSON *state)
{
    char *text = cJSON_PrintUnformatted(state);

    kvc_tell(out, "  %s %s", what, text != NULL ? text : "?");
    cJSON_free(text);
}

/* Counts one outcome; returns the words that set it against what the case must show. */
static const char *judge(replaying *self, const replay *one, const char *version, kvc_case_outcome outcome, kvc_law law)
{
    const kvc_case_expect *expect = kvc_case_expected(one->item, version);

    if (expect == NULL) {
        self->findings += outcome == KVC_CASE_BREAKS;
        return "";
    }
    if (expect->outcome == outcome && (outcome != KVC_CASE_BREAKS || expect->law == law)) {
        self->as_expected++;
        return ", as expected";
    }
    self->unexpected++;
    return ", NOT as expected";
}

/* Says what must have come of the case when something else did. */
static void print_expectation(const replaying *self, const replay *one, const char *version)
{
    const kvc_case_expect *expect = kvc_case_expected(one->item, version);

    (void)fprintf(self->out, "  the case must show: %s\n", kvc_case_outcome_text(expect->outcome, expect->law));
}

/* Says what came of the case. */
static void print_verdict(replaying *self, const replay *one, const kvc_replayed *replayed)
{
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(replayed->detail, "title");
    int unexpected = self->unexpected;
    const char *words = judge(self, one, replayed->version, replayed->outcome, replayed->law);

    if (replayed->outcome == KVC_CASE_ABSENT || replayed->outcome == KVC_CASE_IMPOSSIBLE) {
        kvc_tell(self->out, "%s: %s: %s%s", one->path, kvc_case_outcome_text(replayed->outcome, KVC_ALIVE), replayed->why.text, words);
    } else if (replayed->outcome == KVC_CASE_CONFORMS) {
        kvc_tell(self->out, "%s: conforms on %s %s%s", one->path, replayed->subject, replayed->version, words);
    } else {
        kvc_tell(self->out, "%s: breaks %s on %s %s%s", one->path, kvc_law_name(replayed->law), replayed->subject, replayed->version, words);
        /* What is known needs one line. */
        if (strcmp(words, ", as expected") != 0) {
            kvc_tell(self->out, "  %s", cJSON_IsString(title) ? title->valuestring : "?");
            print_state(self->out, "expected", cJSON_GetObjectItemCaseSensitive(replayed->detail, "expected"));
            print_state(self->out, "observed", cJSON_GetObjectItemCaseSensitive(replayed->detail, "observed"));
        }
    }
    if (self->unexpected != unexpected)
        print_expectation(self, one, replayed->version);
}

/* What --json holds of one replay. `told` is why it could not be run, or "". */
static void write_down(replaying *self, const replay *one, const kvc_replayed *replayed, const char *told)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(self->document, "replays");
    cJSON *entry = list != NULL ? cJSON_CreateObject() : NULL;
    const kvc_case_expect *expect = told[0] == '\0' ? kvc_case_expected(one->item, replayed->version) : NULL;

    if (entry == NULL)
        return;
    cJSON_AddStringToObject(entry, "file", one->path);
    cJSON_AddStringToObject(entry, "subject", one->item->subject);
    cJSON_AddStringToObject(entry, "variant", one->item->variant);
    if (told[0] != '\0') {
        cJSON_AddStringToObject(entry, "outcome", "not run");
        cJSON_AddStringToObject(entry, "reason", told);
    } else {
        cJSON_AddStringToObject(entry, "version", replayed->version);
        cJSON_AddStringToObject(entry, "outcome", kvc_case_outcome_text(replayed->outcome, replayed->law));
        if (replayed->outcome == KVC_CASE_BREAKS) {
            cJSON_AddStringToObject(entry, "id", replayed->id);
            cJSON_AddItemToObject(entry, "detail", cJSON_Duplicate(replayed->detail, 1));
        } else if (replayed->why.text[0] != '\0') {
            cJSON_AddStringToObject(entry, "reason", replayed->why.text);
        }
        if (expect != NULL)
            cJSON_AddStringToObject(entry, "expected", kvc_case_outcome_text(expect->outcome, expect->law));
    }
    cJSON_AddItemToArray(list, entry);
}

static int run_case(replaying *self, const replay *one)
{
    const kvc_options *options = self->session->options;
    kvc_replayed replayed;
    kvc_error error;
    kvc_error told;
    int status = kvc_replayer_run(self->replayer, one->item, &replayed, &error);

    /* On the version that it names, a case that cannot be is a damaged one; on another it may just not be possible there. */
    if (status == 0 && replayed.outcome == KVC_CASE_IMPOSSIBLE && kvc_case_expected(one->item, replayed.version) == NULL) {
        status = options->target == NULL && options->python == NULL ? KVC_EXIT_USAGE : KVC_EXIT_NOT_RUN;
        error = replayed.why;
    }
    if (status == 0) {
        print_verdict(self, one, &replayed);
        write_down(self, one, &replayed, "");
    } else {
        kvc_error_set(&told, "%s: %s", one->path, error.text);
        kvc_complain(told.text);
        write_down(self, one, &replayed, error.text[0] != '\0' ? error.text : "not run");
    }
    kvc_replayed_clear(&replayed);
    return status;
}

/* The cases of a command line and all that must be replayed of them. */
typedef struct workload {
    kvc_case_files files;
    kvc_case *item; /* one for each file */
    replay *replay;
    int replays;
} workload;

static int add_replay(workload *work, const char *path, const kvc_case *item, const char *target)
{
    replay *grown = realloc(work->replay, ((size_t)work->replays + 1) * sizeof *grown);

    if (grown == NULL)
        return 0;
    work->replay = grown;
    grown[work->replays] = (replay){.path = path, .item = item};
    (void)snprintf(grown[work->replays].target, sizeof grown->target, "%s", target);
    work->replays++;
    return 1;
}

/* A case goes to the target of the command line, else to every version that it speaks of, else to the one that it names. */
static int add_replays(const kvc_session *session, workload *work, const char *path, const kvc_case *item)
{
    char target[sizeof work->replay->target];
    int versioned = strcmp(item->subject, "builtin") != 0 && session->options->python == NULL;

    if (session->options->target != NULL)
        return add_replay(work, path, item, "");
    if (versioned && item->expects > 0 && item->expect[0].version[0] != '\0') {
        for (int at = 0; at < item->expects; at++) {
            (void)snprintf(target, sizeof target, "%s@%s", item->subject, item->expect[at].version);
            if (!add_replay(work, path, item, target))
                return 0;
        }
        return 1;
    }
    versioned = versioned && item->version[0] != '\0';
    (void)snprintf(target, sizeof target, "%s%s%s", item->subject, versioned ? "@" : "", versioned ? item->version : "");
    return add_replay(work, path, item, target);
}

/* Every target is started once: its replays stand together, in the order of the files. */
static int compare_replays(const void *left, const void *right)
{
    const replay *a = left;
    const replay *b = right;
    int by_target = strcmp(a->target, b->target);

    return by_target != 0 ? by_target : a->item < b->item ? -1 : a->item > b->item;
}

/* Reads all files. A bad one is told, and the others are still run. Returns an exit status. */
static int prepare(const kvc_session *session, workload *work)
{
    kvc_error error = {""};
    int status = 0;

    if (!kvc_case_files_find(session->options->word, session->options->words, &work->files, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    work->item = calloc((size_t)work->files.count + 1, sizeof *work->item);
    for (int at = 0; work->item != NULL && at < work->files.count; at++) {
        if (!kvc_case_read(work->files.path[at], session->catalogue, &work->item[at], &error)) {
            kvc_complain(error.text);
            status = KVC_EXIT_USAGE;
        } else if (!add_replays(session, work, work->files.path[at], &work->item[at])) {
            kvc_complain("not enough memory");
            return KVC_EXIT_INTERNAL;
        }
    }
    if (work->item == NULL) {
        kvc_complain("not enough memory");
        return KVC_EXIT_INTERNAL;
    }
    if (work->replays > 0)
        qsort(work->replay, (size_t)work->replays, sizeof *work->replay, compare_replays);
    return status;
}

static int replay_all(replaying *self, const workload *work)
{
    int status = 0;

    for (int at = 0; at < work->replays && !*self->session->stop; at++) {
        const replay *one = &work->replay[at];
        int result = start(self, self->session->options->target != NULL ? self->session->options->target : one->target);
        if (result == 0)
            result = run_case(self, one);
        else
            write_down(self, one, NULL, "its subject could not be started");
        self->not_run += result != 0;
        if (status == 0 || result == KVC_EXIT_USAGE)
            status = result != 0 ? result : status;
        (void)fflush(self->out);
    }
    return status;
}

/* Writes what --json asks for, if it does. Returns 0 with the complaint written. */
static int write_document(const replaying *self)
{
    char error[640] = "";

    if (self->document == NULL ||
        kvc_result_write_file(self->session->options->json, self->document, error, sizeof error) == 0)
        return 1;
    kvc_complain(error);
    return 0;
}

/* The target of the command line is started first: it may bring the specs that its cases are read by. */
static int start_given(replaying *self)
{
    return self->session->options->target != NULL ? start(self, self->session->options->target) : 0;
}

int kvc_command_replay(const kvc_session *session)
{
    int to_output = session->options->json != NULL && strcmp(session->options->json, "-") == 0;
    replaying self = {.session = session, .out = to_output ? stderr : stdout};
    workload work = {.replay = NULL};
    int status = KVC_EXIT_INTERNAL;

    if (session->options->contract != NULL &&
        kvc_catalogue_contract_by_id(session->catalogue, session->options->contract) == NULL) {
        kvc_error error;
        kvc_error_set(&error, "--contract \"%.60s\": no such contract; kvconform list contracts shows them",
                      session->options->contract);
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    self.replayer = kvc_replayer_open(session, 1);
    if (session->options->json != NULL) {
        self.document = cJSON_CreateObject();
        cJSON_AddStringToObject(self.document, "schema", "kvconform-replay/1");
        cJSON_AddArrayToObject(self.document, "replays");
    }
    if (self.replayer == NULL) {
        kvc_complain("not enough memory");
    } else if ((status = start_given(&self)) == 0 && (status = prepare(session, &work)) != KVC_EXIT_INTERNAL) {
        int ran = replay_all(&self, &work);
        status = status != 0 ? status : ran;
        if (self.as_expected + self.unexpected > 0 && !session->options->quiet)
            (void)fprintf(self.out, "%d as expected, %d not as expected%s\n", self.as_expected, self.unexpected,
                         self.not_run > 0 ? ", some not run" : "");
        if (!write_document(&self))
            status = KVC_EXIT_INTERNAL;
    }
    cJSON_Delete(self.document);
    kvc_replayer_close(self.replayer);
    free(work.item);
    free(work.replay);
    kvc_case_files_clear(&work.files);
    if (*session->stop)
        return KVC_EXIT_INTERRUPTED;
    return status != 0 ? status : self.findings + self.unexpected > 0 ? KVC_EXIT_FINDINGS : KVC_EXIT_CONFORMS;
}
