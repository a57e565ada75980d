/* kvconform: conformance tests for the KV caches of LLM runtimes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/data.h"
#include "harness/sanitizer.h"
#include "harness/target.h"
#include "reports/text.h"

/* The only state that a signal handler may touch. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

void kvc_complain(const char *text)
{
    kvc_text shown = {0};

    kvc_text_add_terminal(&shown, text, KVC_LINES_SHOW);
    (void)fprintf(stderr, "kvconform: %s\n", kvc_text_string(&shown));
    kvc_text_free(&shown);
}

void kvc_tell(FILE *out, const char *format, ...)
{
    kvc_text shown = {0};
    va_list arguments;
    char *line = NULL;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    line = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (line == NULL) {
        kvc_complain("not enough memory for a line");
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, (size_t)length + 1, format, arguments);
    va_end(arguments);
    kvc_text_add_terminal(&shown, line, KVC_LINES_SHOW);
    (void)fprintf(out, "%s\n", kvc_text_string(&shown));
    kvc_text_free(&shown);
    free(line);
}

static void catch_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    /* A file that would grow beyond the limit of this user is an error of writing, to be told as any other. */
    (void)sigaction(SIGXFSZ, &action, NULL);
}

/*
 * Standard streams that the caller has closed: no pipe or file of ours may take their numbers. What is opened in their place
 * fails when it is used, as a closed one does; only complaints go nowhere.
 */
static void hold_standard_streams(void)
{
    static const int modes[3] = {O_WRONLY, O_RDONLY, O_RDWR};

    for (int stream = 0; stream < 3; stream++) {
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[stream]) != stream)
            _exit(KVC_EXIT_INTERNAL);
    }
}

/* Before anything is done: a plugin may need this program to be started in another way. */
static int prepare_plugins(const kvc_options *options, char **argv)
{
    kvc_error error = {""};

    for (int at = -1; at < options->words; at++) {
        const char *text = at < 0 ? options->target : options->word[at];
        kvc_target *target = text != NULL ? malloc(sizeof *target) : NULL;
        int good = target == NULL || kvc_target_parse(text, options, target, &error) != KVC_TARGET_READY || !target->is_plugin ||
                   kvc_sanitizer_preload(target->access.library, argv, &error);
        free(target);
        if (!good) {
            kvc_complain(error.text);
            return 0;
        }
    }
    return 1;
}

static int run_verb(const kvc_options *options, int argc, char **argv)
{
    kvc_session session = {options, argc, argv, NULL, NULL, &stop, NULL};
    kvc_catalogue catalogue;
    kvc_error error = {""};
    char data[4096];
    int status;

    /* Needs nothing but the results. */
    if (options->verb == KVC_VERB_REPORT)
        return kvc_command_report(&session);
    if (options->verb == KVC_VERB_DIFF)
        return kvc_command_diff(&session);
    if (options->verb == KVC_VERB_KEEP)
        return kvc_command_keep(&session);
    if (!prepare_plugins(options, argv))
        return KVC_EXIT_NOT_RUN;
    if (!kvc_data_find(data, sizeof data, &error)) {
        kvc_complain(error.text);
        return KVC_EXIT_USAGE;
    }
    if (!kvc_data_catalogue(data, &catalogue, &error)) {
        kvc_complain(error.text);
        kvc_catalogue_clear(&catalogue);
        return KVC_EXIT_USAGE;
    }
    session.data = data;
    session.catalogue = &catalogue;
    switch (options->verb) {
    case KVC_VERB_RUN:
        status = kvc_command_run(&session);
        break;
    case KVC_VERB_MATRIX:
        status = kvc_command_matrix(&session);
        break;
    case KVC_VERB_REPLAY:
        status = kvc_command_replay(&session);
        break;
    case KVC_VERB_GATE:
        status = kvc_command_gate(&session);
        break;
    case KVC_VERB_BASELINE:
        status = kvc_command_baseline(&session);
        break;
    case KVC_VERB_BISECT:
        status = kvc_command_bisect(&session);
        break;
    case KVC_VERB_FUZZ:
        status = kvc_command_fuzz(&session);
        break;
    case KVC_VERB_SMOKE:
        status = kvc_command_smoke(&session);
        break;
    case KVC_VERB_NEW:
        status = kvc_command_new(&session);
        break;
    case KVC_VERB_LIST:
        status = kvc_command_list(&session);
        break;
    case KVC_VERB_REPORT:
    case KVC_VERB_DIFF:
    case KVC_VERB_KEEP:
    case KVC_VERB_HELP:
    case KVC_VERB_VERSION:
    default:
        status = KVC_EXIT_INTERNAL;
    }
    kvc_catalogue_clear(&catalogue);
    return status;
}

int main(int argc, char **argv)
{
    kvc_options options;
    kvc_error error = {""};
    int status = KVC_EXIT_CONFORMS;

    hold_standard_streams();
    catch_signals();
    if (!kvc_options_parse(argc, argv, &options, &error)) {
        kvc_complain(error.text);
        status = KVC_EXIT_USAGE;
    } else if (options.verb == KVC_VERB_HELP) {
        (void)fputs(kvc_options_help(), stdout);
    } else if (options.verb == KVC_VERB_VERSION) {
        (void)printf("kvconform %s\n", KVC_VERSION);
    } else {
        status = run_verb(&options, argc, argv);
    }
    kvc_options_clear(&options);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        kvc_complain("standard output cannot be written");
        if (status != KVC_EXIT_USAGE && status != KVC_EXIT_INTERRUPTED)
            status = KVC_EXIT_INTERNAL;
    }
    return status;
}
