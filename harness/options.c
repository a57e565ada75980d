#include "harness/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/baseline.h"
#include "harness/crew.h"
#include "harness/portion.h"
#include "harness/until.h"
#include "reference/json.h"

enum { JOBS_STANDARD_MAX = 8, BUDGET_TIME_MAX = 1000000 /* seconds or minutes */, RUNS_MAX = 10000 };

static const char help_text[] =
    "kvconform: conformance tests for the KV caches of LLM runtimes\n"
    "\n"
    "usage: kvconform run TARGET... [OPTION...]      drive caches through sequences and report what breaks\n"
    "       kvconform matrix SUBJECT --versions LIST -o DIR [OPTION...]\n"
    "                                                run several versions and compare them in one report\n"
    "       kvconform replay CASE.json|DIR... [OPTION...]\n"
    "                                                run single cases again, or all in a folder\n"
    "       kvconform report RESULT.json... -o DIR   merge results, and write reports of them\n"
    "       kvconform diff OLD.json NEW.json         what is new, fixed, changed or still there\n"
    "       kvconform gate TARGET... --baseline FILE [OPTION...]\n"
    "                                                fail on what the baseline does not hold, and on what is fixed\n"
    "       kvconform baseline update|migrate TARGET... --baseline FILE [OPTION...]\n"
    "                                                accept what is new, drop what is fixed\n"
    "       kvconform bisect CASE.json --versions FIRST..LAST [--git DIR]\n"
    "                                                find the release, or the commit, that changed what a case shows\n"
    "       kvconform keep RESULT.json -o DIR [--id PATTERN]\n"
    "                                                keep the cases of findings as regression tests for replay\n"
    "       kvconform fuzz TARGET... [OPTION...]     search on, guided by what was reached, until it is stopped\n"
    "       kvconform new [python|c] [--like KIND] -o DIR\n"
    "                                                write a cache and its spec to start from\n"
    "       kvconform smoke TARGET                   judge an adapter before its subject\n"
    "       kvconform list targets|variants|laws|contracts|faults\n"
    "       kvconform --help | --version\n"
    "\n"
    "A TARGET is\n"
    "  builtin[:VARIANT]                  the caches that come with kvconform; broken ones are called NAME+FAULT\n"
    "  transformers[@VERSION][:VARIANT]   Hugging Face transformers; without @VERSION what python3 (or --python) has, else\n"
    "                                     5.24.0. A version gets an environment of its own, made once and kept\n"
    "  mlx-lm[@VERSION][:VARIANT]         mlx-lm on the processor, in the same way; newest known 0.32.2\n"
    "  llama.cpp[@VERSION][:KIND]         the memory of llama.cpp, compiled once from the source of llama-cpp-python, newest known\n"
    "                                     0.3.36, or the copy in $KVCONFORM_LLAMA\n"
    "  python:MODULE:CLASS                any Python class that holds keys and values, or a function that makes one:\n"
    "                                     python:my_package.my_module:MyCache, python:./my_cache.py:MyCache\n"
    "  plugin:PATH[:VARIANT]              a C or C++ cache in a shared object: plugin:./my_cache.so, or just ./my_cache.so\n"
    "  exec:COMMAND                       any program that speaks the adapter protocol; see --variant\n"
    "VARIANT may be a pattern: 'transformers@5.24.0:*SlidingWindow*'\n"
    "\n"
    "Options\n"
    "  --budget N | 30s | 5m   sequences, or time, for each variant (10000)\n"
    "  --time 30s | 5m         time for the whole run, shared by its variants; --budget bounds each beside it\n"
    "  --until-covered[=TIMES] go on until every op was judged TIMES (3) in every situation that it can be in, nothing more comes\n"
    "                          while the sequences double, or the bound: --budget (1000000) or --time\n"
    "  --runs N                run: with N seeds one after the other, from --seed on, merged\n"
    "  --shard K/N             run, matrix, gate --explore: the K-th of N parts, for as many machines; kvconform report makes the\n"
    "                          whole of the parts' --json files\n"
    "  --portion N             sequences of a variant that are explored together, apart from others (1000000)\n"
    "  --seed N                the same seed gives the same sequences everywhere (1)\n"
    "  --profile hostile | assisted | FILE.json\n"
    "                          anything a caller may do, or only what assisted decoding does (hostile); or as a file says\n"
    "  --jobs N                worker processes (number of processors, at most 8)\n"
    "  --report DIR            write to DIR: result.json, report.html, report.md, report.sarif, junit.xml, badge.svg, and the\n"
    "                          minimal cases with their scripts\n"
    "  -o DIR                  matrix, report: the same of all results together, with merged.json\n"
    "  --json FILE             write the result, - for standard output\n"
    "  --id PATTERN            keep: only findings with such an id\n"
    "  --baseline FILE         gate, baseline: the accepted findings\n"
    "  --cases DIR             gate, baseline: cases that are tried first\n"
    "  --explore               gate: the sequences of another day; what is new is told and decides nothing\n"
    "  --add                   baseline update: accept what is new\n"
    "  --reason TEXT           why, or\n"
    "  --address URL           where it is told upstream\n"
    "  --expires DAY           and only until the end of that day (2027-01-31)\n"
    "  --remove-fixed          baseline update: drop what does not happen any more\n"
    "  --markdown FILE         diff: write it for a comment on a pull request, - for standard output\n"
    "  --python PATH           run the subject in this interpreter, with the version or checkout it has\n"
    "  --init JSON             what a class is made with: '{\"sliding_window\": 4}', '{\"width\": \"$window\"}'\n"
    "  --spec FILE             what a class keeps and how it is called, where that is not as kvconform assumes\n"
    "  --like KIND             only what it keeps: full, fixed, window, prefix_window, ring, quantised, opaque. new: to start from\n"
    "  --contract ID           judge by this contract instead of the version's own\n"
    "  --variant PATTERN       variants of an exec: or plugin: target\n"
    "  --versions LIST         matrix: 4.57.6,5.24.0; all-minor: the newest patch of each minor; 5.12.0..5.24.0: all\n"
    "                          releases from one to another. bisect: the ends\n"
    "  --git DIR               bisect: commits of this checkout, run with --python\n"
    "  --corpus DIR            fuzz: where sequences are kept (REPORT/corpus); given again: folders to take more from\n"
    "  --minimise              fuzz: run what is kept, keep the fewest that reach the same, and end\n"
    "  --trace                 fuzz: a Python subject tells which of its lines were run\n"
    "  --resume                run: go on with the result of --json or --report where it was stopped\n"
    "  --target TARGET         replay: run the cases on this target instead of the one they name\n"
    "  --timeout SECONDS       time for one answer of a subject (20; built-in caches and plugins 2)\n"
    "  --memory MEGABYTES      memory of one worker's subject (4096; built-in caches and plugins 1024)\n"
    "  --quiet                 no progress and no summary\n"
    "\n"
    "Exit status\n"
    "  0 all conform   1 findings   2 bad usage or bad input   3 a subject could not be run   4 internal error\n"
    "  gate: 1 something is new, fixed, expired or matches nothing\n"
    "  bisect: 1 both ends show the same\n"
    "  diff: 1 something is new, 3 nothing is new but not all was run again\n"
    "  130 interrupted: what was found until then is reported\n"
    "\n"
    "Examples\n"
    "  kvconform run builtin\n"
    "  kvconform run transformers@5.24.0:DynamicSlidingWindowLayer --report out\n"
    "  kvconform run transformers --python .venv/bin/python --profile assisted --budget 30s\n"
    "  kvconform matrix transformers --versions 5.12.1,5.24.0 -o matrix\n"
    "  kvconform run mlx-lm@0.32.2:KVCache\n"
    "  kvconform replay out/cases --target transformers@5.14.1\n"
    "  kvconform report old/result.json new/result.json -o both\n"
    "  kvconform run builtin --budget 5000000 --shard 2/8 --json part-2.json\n"
    "  kvconform diff old/result.json new/result.json --markdown comment.md\n"
    "  kvconform baseline update transformers --baseline known.json --add --reason 'reported upstream'\n"
    "  kvconform gate transformers --baseline known.json\n"
    "  kvconform bisect out/cases/CLAMP-c918cc39.json --versions 5.12.1..5.24.0\n"
    "  kvconform keep out/result.json -o cases --id 'CLAMP-*'\n"
    "  kvconform run python:my_package.my_module:MyCache --init '{\"sliding_window\": 4}'\n"
    "  kvconform new --like window -o my_cache\n"
    "  kvconform run plugin:./my_cache.so\n"
    "  kvconform fuzz ./my_cache.so --budget 30m --report out\n"
    "  kvconform run exec:./my_adapter --variant 'MyCache*'\n"
    "\n"
    "Environment: KVCONFORM_DATA (specs, contracts, adapters), KVCONFORM_CACHE (environments), KVCONFORM_INTERPRETER (python3),\n"
    "  NO_COLOR, PYTHONPATH\n";

static int rank(int status)
{
    static const int order[] = {KVC_EXIT_CONFORMS, KVC_EXIT_NOT_RUN,  KVC_EXIT_FINDINGS,
                                KVC_EXIT_USAGE,    KVC_EXIT_INTERNAL, KVC_EXIT_INTERRUPTED};
    int at = 0;

    while (at + 1 < (int)(sizeof order / sizeof order[0]) && order[at] != status)
        at++;
    return at;
}

int kvc_exit_worse(int a, int b)
{
    return rank(a) > rank(b) ? a : b;
}

const char *kvc_options_help(void)
{
    return help_text;
}

static int read_number(const char *text, const char *name, uint64_t minimum, uint64_t maximum, uint64_t *out,
                       kvc_error *error)
{
    char *end = NULL;
    unsigned long long number;

    errno = 0;
    number = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || number < minimum || number > maximum) {
        kvc_error_set(error, "%s: \"%.60s\": expected a whole number from %llu to %llu", name, text,
                      (unsigned long long)minimum, (unsigned long long)maximum);
        return 0;
    }
    *out = number;
    return 1;
}

static int read_budget(const char *text, kvc_options *options, kvc_error *error)
{
    size_t length = strlen(text);
    char digits[32];
    uint64_t number;
    char unit = length > 0 ? text[length - 1] : '\0';
    int timed = unit == 's' || unit == 'm';
    int good = length > 0 && length < sizeof digits;

    if (good) {
        memcpy(digits, text, length);
        digits[timed ? length - 1 : length] = '\0';
        good = read_number(digits, "--budget", 1, timed ? BUDGET_TIME_MAX : KVC_SEQUENCES_MAX - 1, &number, error);
    }
    if (!good) {
        kvc_error_set(error, "--budget: \"%.60s\": expected a number of sequences, or a time such as 30s or 5m", text);
        return 0;
    }
    options->milliseconds = timed ? (int64_t)number * (unit == 's' ? 1000 : 60000) : 0;
    options->sequences = timed ? KVC_SEQUENCES_MAX : number;
    options->budget_given = 1;
    options->endless = 0;
    return 1;
}

/* A time such as 30s or 5m. */
static int read_time(const char *text, const char *name, int64_t *milliseconds, kvc_error *error)
{
    kvc_options read;
    kvc_error ignored;

    if (!read_budget(text, &read, &ignored) || read.milliseconds == 0) {
        kvc_error_set(error, "%s: \"%.60s\": expected a time such as 30s or 5m", name, text);
        return 0;
    }
    *milliseconds = read.milliseconds;
    return 1;
}

/* K/N */
static int read_shard(const char *text, kvc_options *options, kvc_error *error)
{
    size_t length = strcspn(text, "/");
    char part[16];
    kvc_error ignored;

    if (length < sizeof part && text[length] == '/') {
        memcpy(part, text, length);
        part[length] = '\0';
        if (read_number(text + length + 1, "", 1, KVC_SHARDS_MAX, &options->shards, &ignored) &&
            read_number(part, "", 1, options->shards, &options->shard, &ignored))
            return 1;
    }
    kvc_error_set(error, "--shard: \"%.60s\": expected K/N, the K-th of N parts, such as 2/8; N is at most %d", text, KVC_SHARDS_MAX);
    return 0;
}

static int read_seconds(const char *text, int *milliseconds, kvc_error *error)
{
    char *end = NULL;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds >= 0.05 && seconds <= 86400)) {
        kvc_error_set(error, "--timeout: \"%.60s\": expected seconds from 0.05 to 86400", text);
        return 0;
    }
    *milliseconds = (int)(seconds * 1000);
    return 1;
}

static int read_day(const char *text, kvc_options *options, kvc_error *error)
{
    if (!kvc_baseline_is_day(text)) {
        kvc_error_set(error, "--expires: \"%.60s\": expected a day such as 2027-01-31", text);
        return 0;
    }
    options->expires = text;
    return 1;
}

/* One option with a value. Returns 1, 0 with *error set, or -1 for an unknown name. */
static int set_option(const char *name, const char *value, kvc_options *options, kvc_error *error)
{
    uint64_t number;

    if (strcmp(name, "--budget") == 0)
        return read_budget(value, options, error);
    if (strcmp(name, "--time") == 0)
        return read_time(value, name, &options->run_milliseconds, error);
    if (strcmp(name, "--until-covered") == 0)
        return read_number(value, name, 1, 1000000, &options->until_covered, error);
    if (strcmp(name, "--runs") == 0)
        return read_number(value, name, 1, RUNS_MAX, &options->runs, error);
    if (strcmp(name, "--shard") == 0)
        return read_shard(value, options, error);
    if (strcmp(name, "--portion") == 0)
        return read_number(value, name, 1, KVC_SEQUENCES_MAX - 1, &options->portion, error);
    if (strcmp(name, "--seed") == 0)
        return read_number(value, name, 0, UINT64_MAX, &options->seed, error);
    if (strcmp(name, "--jobs") == 0) {
        if (!read_number(value, name, 1, KVC_JOBS_MAX, &number, error))
            return 0;
        options->jobs = (int)number;
        return 1;
    }
    if (strcmp(name, "--memory") == 0) {
        if (!read_number(value, name, 16, 1 << 24, &number, error))
            return 0;
        options->memory_limit = number << 20;
        return 1;
    }
    if (strcmp(name, "--profile") == 0) {
        if (kvc_profile_named(value, &options->draws))
            return 1;
        if (strchr(value, '/') != NULL || kvc_json_is_name(value))
            return kvc_profile_read(value, &options->draws, error);
        kvc_error_set(error, "--profile: \"%.60s\": expected hostile, assisted or a file, NAME.json", value);
        return 0;
    }
    if (strcmp(name, "--corpus") == 0) {
        if (options->corpora == KVC_CORPORA_MAX) {
            kvc_error_set(error, "--corpus: more than %d folders", KVC_CORPORA_MAX);
            return 0;
        }
        options->corpus[options->corpora++] = value;
        return 1;
    }
    if (strcmp(name, "--timeout") == 0)
        return read_seconds(value, &options->timeout_ms, error);
    if (strcmp(name, "--report") == 0 || strcmp(name, "-o") == 0)
        options->report = value;
    else if (strcmp(name, "--json") == 0)
        options->json = value;
    else if (strcmp(name, "--baseline") == 0)
        options->baseline = value;
    else if (strcmp(name, "--cases") == 0)
        options->cases = value;
    else if (strcmp(name, "--reason") == 0)
        options->reason = value;
    else if (strcmp(name, "--address") == 0)
        options->address = value;
    else if (strcmp(name, "--expires") == 0)
        return read_day(value, options, error);
    else if (strcmp(name, "--id") == 0)
        options->id = value;
    else if (strcmp(name, "--git") == 0)
        options->git = value;
    else if (strcmp(name, "--markdown") == 0)
        options->markdown = value;
    else if (strcmp(name, "--versions") == 0)
        options->versions = value;
    else if (strcmp(name, "--python") == 0)
        options->python = value;
    else if (strcmp(name, "--contract") == 0)
        options->contract = value;
    else if (strcmp(name, "--variant") == 0)
        options->variant = value;
    else if (strcmp(name, "--init") == 0)
        options->init = value;
    else if (strcmp(name, "--spec") == 0)
        options->spec = value;
    else if (strcmp(name, "--like") == 0)
        options->like = value;
    else if (strcmp(name, "--target") == 0)
        options->target = value;
    else
        return -1;
    return 1;
}

static int read_verb(const char *word, kvc_options *options, kvc_error *error)
{
    static const struct {
        const char *word;
        kvc_verb verb;
    } verbs[] = {{"run", KVC_VERB_RUN},       {"matrix", KVC_VERB_MATRIX}, {"replay", KVC_VERB_REPLAY}, {"report", KVC_VERB_REPORT}, {"diff", KVC_VERB_DIFF}, {"gate", KVC_VERB_GATE}, {"baseline", KVC_VERB_BASELINE}, {"bisect", KVC_VERB_BISECT}, {"keep", KVC_VERB_KEEP}, {"smoke", KVC_VERB_SMOKE}, {"fuzz", KVC_VERB_FUZZ}, {"new", KVC_VERB_NEW},
                 {"list", KVC_VERB_LIST},     {"help", KVC_VERB_HELP},     {"--help", KVC_VERB_HELP},
                 {"-h", KVC_VERB_HELP},       {"--version", KVC_VERB_VERSION}};

    for (size_t at = 0; at < sizeof verbs / sizeof verbs[0]; at++) {
        if (strcmp(verbs[at].word, word) == 0) {
            options->verb = verbs[at].verb;
            return 1;
        }
    }
    kvc_error_set(error, "\"%.60s\": expected run, matrix, replay, report, diff, gate, baseline, bisect, keep, smoke, fuzz, new or list; kvconform --help has examples", word);
    return 0;
}

/* An option word with its value, which may stand behind `=` or in the next word. Returns the words used, 0 with *error set. */
static int read_option(char **argv, int at, int argc, kvc_options *options, kvc_error *error)
{
    char name[32];
    size_t length = strcspn(argv[at], "=");
    const char *value = argv[at][length] == '=' ? argv[at] + length + 1 : at + 1 < argc ? argv[at + 1] : NULL;
    int result;

    if (length >= sizeof name) {
        kvc_error_set(error, "%.60s: unknown option; kvconform --help lists them", argv[at]);
        return 0;
    }
    memcpy(name, argv[at], length);
    name[length] = '\0';
    result = value != NULL ? set_option(name, value, options, error) : set_option(name, "", options, error);
    if (result < 0) {
        kvc_error_set(error, "%s: unknown option; kvconform --help lists them", name);
        return 0;
    }
    if (value == NULL || value[0] == '\0') {
        kvc_error_set(error, "%s: expected a value", name);
        return 0;
    }
    if (result == 0)
        return 0;
    return argv[at][length] == '=' ? 1 : 2;
}

static int check_baseline(const kvc_options *options, kvc_error *error)
{
    int updates = options->words > 0 && strcmp(options->word[0], "update") == 0;

    if (!updates && (options->words == 0 || strcmp(options->word[0], "migrate") != 0))
        kvc_error_set(error, "baseline: expected update or migrate, and targets");
    else if (options->words < 2)
        kvc_error_set(error, "baseline %s: expected a target, such as transformers", options->word[0]);
    else if (options->baseline == NULL)
        kvc_error_set(error, "baseline %s: expected --baseline FILE", options->word[0]);
    else if (updates && !options->add && !options->remove_fixed)
        kvc_error_set(error, "baseline update: expected --add, --remove-fixed or both");
    else if (options->add && options->reason == NULL && options->address == NULL)
        kvc_error_set(error, "baseline update --add: expected --reason TEXT or --address URL: why is it accepted?");
    else
        return 1;
    return 0;
}

static int check_words(const kvc_options *options, kvc_error *error)
{
    switch (options->verb) {
    case KVC_VERB_RUN:
        if (options->words == 0)
            kvc_error_set(error, "run: expected a target, such as builtin or transformers@5.24.0");
        else if (options->resume && (options->json == NULL || strcmp(options->json, "-") == 0) && options->report == NULL)
            kvc_error_set(error, "run: --resume goes on with the result of --json FILE or --report DIR, and neither is given");
        else
            return 1;
        return 0;
    case KVC_VERB_MATRIX:
        if (options->words != 1)
            kvc_error_set(error, "matrix: expected one subject, such as transformers or transformers:Dynamic*");
        else if (options->versions == NULL)
            kvc_error_set(error, "matrix: expected --versions, such as 5.12.1,5.24.0 or all-minor");
        else if (options->report == NULL)
            kvc_error_set(error, "matrix: expected -o DIR, the folder to write to and to go on from");
        else if (options->python != NULL || options->json != NULL)
            kvc_error_set(error, "matrix: makes an interpreter and a result for each version; leave out --python and --json");
        else
            return 1;
        return 0;
    case KVC_VERB_REPLAY:
        if (options->words == 0)
            kvc_error_set(error, "replay: expected case files, such as those a report has in its cases/ folder");
        else if (options->report != NULL)
            kvc_error_set(error, "replay: writes no report; leave out --report");
        return options->words > 0 && options->report == NULL;
    case KVC_VERB_REPORT:
        if (options->words == 0)
            kvc_error_set(error, "report: expected results, such as the result.json that kvconform run --report writes");
        else if (options->report == NULL)
            kvc_error_set(error, "report: expected -o DIR, the folder to write to");
        return options->words > 0 && options->report != NULL;
    case KVC_VERB_GATE:
        if (options->words == 0)
            kvc_error_set(error, "gate: expected a target, such as transformers");
        else if (options->baseline == NULL)
            kvc_error_set(error, "gate: expected --baseline FILE; kvconform baseline update --add makes one");
        else
            return 1;
        return 0;
    case KVC_VERB_BISECT:
        if (options->words != 1)
            kvc_error_set(error, "bisect: expected one case file, such as those a report has in its cases/ folder");
        else if (options->versions == NULL)
            kvc_error_set(error, "bisect: expected --versions FIRST..LAST");
        else if ((options->git == NULL) != (options->python == NULL))
            kvc_error_set(error, "bisect: --git and --python go together: the interpreter has what the checkout needs");
        else
            return 1;
        return 0;
    case KVC_VERB_KEEP:
        if (options->words != 1)
            kvc_error_set(error, "keep: expected one result, such as the result.json that kvconform run --report writes");
        else if (options->report == NULL)
            kvc_error_set(error, "keep: expected -o DIR, the folder to write to");
        return options->words == 1 && options->report != NULL;
    case KVC_VERB_BASELINE:
        return check_baseline(options, error);
    case KVC_VERB_DIFF:
        if (options->words != 2)
            kvc_error_set(error, "diff: expected two results, the old one and the new one");
        return options->words == 2;
    case KVC_VERB_SMOKE:
        if (options->words != 1)
            kvc_error_set(error, "smoke: expected one target, such as exec:./my_adapter");
        return options->words == 1;
    case KVC_VERB_FUZZ:
        if (options->words == 0)
            kvc_error_set(error, "fuzz: expected a target, such as ./my_cache.so or transformers@5.24.0");
        else if (options->draws.like == KVC_ASSISTED || !kvc_profile_is_standard(&options->draws))
            kvc_error_set(error, "fuzz: what it makes of other sequences is not what another profile draws; leave out --profile");
        else if (options->resume)
            kvc_error_set(error, "fuzz: always goes on with what its report folder and its corpus hold; leave out --resume");
        else
            return 1;
        return 0;
    case KVC_VERB_NEW:
        if (options->report == NULL)
            kvc_error_set(error, "new: expected -o DIR, the folder to write to");
        else if (options->words > 1)
            kvc_error_set(error, "new: expected only one of python or c");
        return options->report != NULL && options->words <= 1;
    case KVC_VERB_LIST:
        if (options->words != 1)
            kvc_error_set(error, "list: expected %stargets, variants, laws, contracts or faults", options->words > 1 ? "only one of " : "");
        return options->words == 1;
    case KVC_VERB_HELP:
    case KVC_VERB_VERSION:
        break;
    }
    return 1;
}

/* An option without a value. Returns 0 for any other word. */
static int set_switch(const char *word, kvc_options *options)
{
    const struct {
        const char *word;
        int *flag;
    } switches[] = {{"--quiet", &options->quiet},     {"-q", &options->quiet},
                    {"--resume", &options->resume},   {"--explore", &options->explore},
                    {"--add", &options->add},         {"--remove-fixed", &options->remove_fixed},
                    {"--minimise", &options->minimise}, {"--trace", &options->trace}};

    for (size_t at = 0; at < sizeof switches / sizeof switches[0]; at++) {
        if (strcmp(switches[at].word, word) == 0) {
            *switches[at].flag = 1;
            return 1;
        }
    }
    return 0;
}

/* What bounds a run, and what divides it. */
static int check_bounds(kvc_options *options, kvc_error *error)
{
    int runs = options->verb == KVC_VERB_RUN || options->verb == KVC_VERB_MATRIX || options->verb == KVC_VERB_GATE;

    if (options->run_milliseconds > 0 && !options->budget_given)
        options->sequences = KVC_SEQUENCES_MAX;
    else if (options->until_covered > 0 && !options->budget_given)
        options->sequences = KVC_UNTIL_BOUND;
    if (options->verb == KVC_VERB_FUZZ &&
        (options->run_milliseconds > 0 || options->until_covered > 0 || options->portion != KVC_PORTION_STANDARD)) {
        kvc_error_set(error, "fuzz: is bounded by --budget for each variant, or goes on until it is stopped; leave out --time, --until-covered and --portion");
        return 0;
    }
    if (options->verb != KVC_VERB_FUZZ && kvc_options_bounds_sequences(options) && options->sequences / options->portion >= KVC_PORTIONS_MAX)
        kvc_error_set(error, "--portion %llu: makes more than %d portions of --budget %llu; give a larger one",
                      (unsigned long long)options->portion, KVC_PORTIONS_MAX, (unsigned long long)options->sequences);
    else if (options->run_milliseconds > 0 && options->verb == KVC_VERB_MATRIX)
        kvc_error_set(error, "matrix: --time bounds one run, and a matrix is many; give --budget N or --budget 30s");
    else if (options->runs > 0 && options->verb != KVC_VERB_RUN)
        kvc_error_set(error, "--runs: repeats run, and nothing else");
    else if (options->runs > 0 && options->seed > UINT64_MAX - options->runs)
        kvc_error_set(error, "--runs: there are fewer seeds behind --seed %llu", (unsigned long long)options->seed);
    else if (options->runs > 0 && options->resume && options->report == NULL)
        kvc_error_set(error, "--runs: --resume goes on with the results in --report DIR, and it is not given");
    else if (options->runs > 0 && options->shards > 0)
        kvc_error_set(error, "--shard: with --runs each seed is a part already; give each machine a --seed of its own and merge their results");
    else if (options->shards == 0)
        return 1;
    else if (!runs)
        kvc_error_set(error, "--shard: divides run, matrix and gate --explore, and nothing else");
    else if (options->verb == KVC_VERB_GATE && !options->explore)
        kvc_error_set(error, "gate: --shard goes with --explore only: the gate decides by the whole");
    else if (!kvc_options_bounds_sequences(options) || options->milliseconds > 0 || options->run_milliseconds > 0 || options->until_covered > 0)
        kvc_error_set(error, "--shard: how far --time, --budget 30s and --until-covered go is not known before; give --budget N alone, a number of sequences");
    else if (options->verb != KVC_VERB_MATRIX && options->report != NULL)
        kvc_error_set(error, "--shard: a part makes no report; give --json FILE, and make the report of all parts with kvconform report");
    else if (options->verb != KVC_VERB_MATRIX && options->json == NULL)
        kvc_error_set(error, "--shard: expected --json FILE, from which kvconform report makes the result of all parts");
    else
        return 1;
    return 0;
}

int kvc_options_parse(int argc, char **argv, kvc_options *options, kvc_error *error)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    memset(options, 0, sizeof *options);
    options->seed = KVC_SEED_STANDARD;
    options->sequences = KVC_BUDGET_STANDARD;
    options->portion = KVC_PORTION_STANDARD;
    kvc_profile_of(KVC_HOSTILE, &options->draws);
    options->jobs = processors < 1 ? 1 : processors > JOBS_STANDARD_MAX ? JOBS_STANDARD_MAX : (int)processors;
    if (argc < 2) {
        kvc_error_set(error, "expected run, matrix, replay, report, diff, gate, baseline, bisect, keep, smoke, fuzz, new or list; kvconform --help has examples");
        return 0;
    }
    options->word = calloc((size_t)argc, sizeof *options->word);
    if (options->word == NULL) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    if (!read_verb(argv[1], options, error))
        return 0;
    options->endless = options->verb == KVC_VERB_FUZZ;
    for (int at = 2; at < argc;) {
        int used;
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            options->verb = KVC_VERB_HELP;
            return 1;
        }
        if (strcmp(argv[at], "--until-covered") == 0) {
            options->until_covered = KVC_UNTIL_STANDARD;
            at++;
            continue;
        }
        if (set_switch(argv[at], options)) {
            at++;
            continue;
        }
        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            options->word[options->words++] = argv[at++];
            continue;
        }
        used = read_option(argv, at, argc, options, error);
        if (used == 0)
            return 0;
        at += used;
    }
    return check_bounds(options, error) && check_words(options, error);
}

void kvc_options_clear(kvc_options *options)
{
    free(options->word);
    options->word = NULL;
}
