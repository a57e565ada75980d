#include "harness/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "harness/build_digest.h"
#include "harness/case.h"
#include "harness/portion.h"
#include "harness/shard.h"
#include "reports/result.h"
#include "reports/text.h"

cJSON *kvc_record_start(const kvc_session *session)
{
    const kvc_options *options = session->options;
    char build[KVC_BUILD_DIGEST_SIZE];
    cJSON *result = cJSON_CreateObject();
    cJSON *part;
    struct utsname system;
    char text[256];

    if (result == NULL)
        return NULL;
    cJSON_AddStringToObject(result, "schema", options->shards > 0 ? KVC_SHARD_SCHEMA : KVC_RESULT_SCHEMA);
    part = cJSON_AddObjectToObject(result, "tool");
    cJSON_AddStringToObject(part, "name", "kvconform");
    cJSON_AddStringToObject(part, "version", KVC_VERSION);
    kvc_build_digest(session->data, build);
    cJSON_AddStringToObject(part, "build", build);
    part = cJSON_AddArrayToObject(result, "command");
    cJSON_AddItemToArray(part, cJSON_CreateString("kvconform"));
    for (int at = 1; at < session->argc; at++)
        cJSON_AddItemToArray(part, cJSON_CreateString(session->argv[at]));
    part = cJSON_AddObjectToObject(result, "environment");
    text[0] = '\0';
    if (uname(&system) == 0)
        (void)snprintf(text, sizeof text, "%.100s-%.100s", system.sysname, system.machine);
    cJSON_AddStringToObject(part, "platform", text);
    cJSON_AddArrayToObject(part, "subjects");
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)options->seed);
    cJSON_AddStringToObject(result, "seed", text);
    cJSON_AddStringToObject(result, "profile", options->draws.name);
    if (!kvc_profile_is_standard(&options->draws))
        cJSON_AddItemToObject(result, "profile_file", kvc_profile_print(&options->draws));
    part = cJSON_AddObjectToObject(result, "budget");
    if (options->verb == KVC_VERB_FUZZ)
        cJSON_AddStringToObject(part, "fuzz", options->endless ? "until it is stopped" : "guided by a corpus");
    if (!options->endless && options->milliseconds > 0)
        cJSON_AddNumberToObject(part, "seconds", (double)options->milliseconds / 1000);
    if (options->run_milliseconds > 0)
        cJSON_AddNumberToObject(part, "time", (double)options->run_milliseconds / 1000);
    if (kvc_options_bounds_sequences(options))
        cJSON_AddNumberToObject(part, "sequences", (double)options->sequences);
    if (options->until_covered > 0)
        cJSON_AddNumberToObject(part, "covered", (double)options->until_covered);
    if (options->portion != KVC_PORTION_STANDARD)
        cJSON_AddNumberToObject(part, "portion", (double)options->portion);
    if (options->shards > 0)
        kvc_shard_begin(result, options);
    if (cJSON_AddArrayToObject(result, "runs") == NULL) {
        cJSON_Delete(result);
        return NULL;
    }
    return result;
}

int kvc_record_finish(cJSON *result, int interrupted)
{
    cJSON *finished = cJSON_AddObjectToObject(result, "finished");
    time_t now = time(NULL);
    struct tm parts;
    char text[32];

    if (finished == NULL || gmtime_r(&now, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        return 0;
    if (interrupted && cJSON_AddTrueToObject(finished, "interrupted") == NULL)
        return 0;
    return cJSON_AddStringToObject(finished, "at", text) != NULL;
}

/* The text of a field, cut to what a name may have; "" where there is none. */
static cJSON *copy_name(const cJSON *object, const char *field)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field);
    char text[KVC_RESULT_WORD_MAX + 1];

    (void)snprintf(text, sizeof text, "%s", cJSON_IsString(item) ? item->valuestring : "");
    return cJSON_CreateString(text);
}

int kvc_record_subject(cJSON *result, const char *target, const cJSON *hello)
{
    static const char *const said[] = {"python", "torch", "platform"};
    cJSON *list = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(result, "environment"), "subjects");
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(hello, "environment");
    cJSON *entry = cJSON_CreateObject();

    if (entry == NULL || !cJSON_AddItemToArray(list, entry)) {
        cJSON_Delete(entry);
        return 0;
    }
    cJSON_AddStringToObject(entry, "target", target);
    cJSON_AddItemToObject(entry, "subject", copy_name(hello, "subject"));
    cJSON_AddItemToObject(entry, "version", copy_name(hello, "version"));
    for (size_t at = 0; at < sizeof said / sizeof said[0]; at++)
        cJSON_AddItemToObject(entry, said[at], copy_name(environment, said[at]));
    return 1;
}

static const char *severity_of(const kvc_failure *failure)
{
    if (failure->law == KVC_ALIVE)
        return "crash";
    return failure->deviation == KVC_REFUSED || failure->deviation == KVC_WRONG_ERROR || failure->deviation == KVC_RAISED ? "error" : "silent";
}

static void add_case(cJSON *json, const kvc_record_run *run, const kvc_bench *bench, const kvc_finding *finding)
{
    kvc_case item = {.params = finding->params, .sequence = finding->sequence};

    (void)snprintf(item.subject, sizeof item.subject, "%s", run->subject);
    (void)snprintf(item.version, sizeof item.version, "%s", run->version);
    (void)snprintf(item.variant, sizeof item.variant, "%s", run->variant);
    (void)snprintf(item.contract, sizeof item.contract, "%s", run->contract);
    cJSON_AddItemToObject(json, "case", kvc_case_print(&item, bench->spec));
}

/* The kind of op to which a finding is put down: what moved the cache elsewhere, where that shows at a later one. */
static int blamed_op(const kvc_finding *finding)
{
    int kind = finding->failure.op;

    int moved = finding->law == KVC_SAVE || (finding->also & (1u << KVC_SAVE)) != 0;

    for (int at = 0; (moved || finding->law == KVC_ISOLATION) && at < finding->sequence.count; at++) {
        int op = finding->sequence.op[at].kind;
        if (moved ? kvc_op_moves_cache((kvc_op_kind)op) : op == KVC_COPY)
            kind = op;
    }
    return kind;
}

/* The rule of the op that put the cache elsewhere or made it ready, where the finding speaks of that; otherwise NULL. */
static const kvc_contract_rule *rule_of_storing(const kvc_plan *plan, const kvc_finding *finding)
{
    switch (blamed_op(finding)) {
    case KVC_OFFLOAD:
    case KVC_PREFETCH:
        return plan->rules.rule[KVC_CONTRACT_OFFLOAD];
    case KVC_INITIALIZE:
        return plan->rules.rule[KVC_CONTRACT_INITIALIZE];
    case KVC_COPY:
        return plan->rules.rule[KVC_CONTRACT_COPY];
    case KVC_PICKLE:
        return plan->rules.rule[KVC_CONTRACT_PICKLE];
    case KVC_SAVE_FILE:
        return plan->rules.rule[KVC_CONTRACT_SAVE];
    case KVC_FROM_STATE:
        return plan->rules.rule[KVC_CONTRACT_STATE];
    case KVC_QUANTIZE:
        return plan->rules.rule[KVC_CONTRACT_QUANTIZE];
    case KVC_APPEND_ROWS:
        return plan->rules.rule[KVC_CONTRACT_APPEND_ROWS];
    case KVC_MERGE:
        return plan->rules.rule[KVC_CONTRACT_MERGE];
    case KVC_EXTRACT:
        return plan->rules.rule[KVC_CONTRACT_EXTRACT];
    case KVC_EXTEND:
        return plan->rules.rule[KVC_CONTRACT_EXTEND];
    case KVC_SPLIT:
        return plan->rules.rule[KVC_CONTRACT_SPLIT];
    default:
        return NULL;
    }
}

/*
 * Whether a rule that is documented does not speak of the situation. The texts on what was not recorded speak of caches that record
 * nothing, and those on a crop of caches that were never used or hold tokens, not of one that was initialised early and is empty. That an
 * empty sequence is restored as one is our argument.
 */
static int is_beyond_the_text(const kvc_failure *failure, const kvc_contract_rule *rule)
{
    return (rule->name == KVC_CONTRACT_UNRECORDED && failure->deviation == KVC_NOT_REFUSED && failure->situation.recording != 0) ||
           (rule->name == KVC_CONTRACT_CROP_OVER && failure->situation.held == 3) ||
           (rule->name == KVC_CONTRACT_SEQ_RESTORE && failure->situation.ask == KVC_ASK_ZERO);
}

/* The view that says what the tensor must hold and where that is written, where it says so itself; otherwise NULL. */
static const kvc_view_spec *view_with_source(const kvc_plan *plan, const kvc_finding *finding)
{
    const kvc_failure *failure = &finding->failure;
    const kvc_view_spec *view = failure->slot >= 0 && failure->slot < plan->slots ? plan->slot[failure->slot].view : NULL;

    return view != NULL && view->source[0] != '\0' && failure->place == KVC_PLACE_STORED && finding->law == view->law ? view : NULL;
}

/* What rests on no rule of a contract: on the spec's word, or on the law itself. */
static void add_law(cJSON *json, kvc_law law, const char *source, int documented)
{
    cJSON *part = cJSON_AddObjectToObject(json, "rule");

    cJSON_AddStringToObject(part, "name", "law");
    cJSON_AddStringToObject(part, "value", kvc_law_name(law));
    cJSON_AddStringToObject(json, "source", source);
    cJSON_AddStringToObject(json, "basis", documented ? "documented" : "inferred");
}

void kvc_record_rule(cJSON *json, const kvc_bench *bench, const kvc_finding *finding)
{
    kvc_plan plan;
    kvc_error ignored;
    const kvc_contract_rule *rule;
    const kvc_contract_rule *storing;
    const kvc_view_spec *view;
    char value[160];
    int layer;

    if (!kvc_plan_make(bench->catalogue, bench->contract, bench->spec, bench->variant, &finding->params, &plan,
                       &ignored) ||
        finding->failure.rule < 0 || finding->failure.rule >= KVC_CONTRACT_RULES)
        return;
    if ((view = view_with_source(&plan, finding)) != NULL) {
        add_law(json, finding->law, view->source, !view->inferred);
        return;
    }
    layer = finding->failure.rule_layer >= 0 && finding->failure.rule_layer < plan.layers ? finding->failure.rule_layer : 0;
    rule = plan.layer[layer].rules.rule[finding->failure.rule];
    /* What a container refuses by itself stands in its own rules. */
    if ((rule->name == KVC_CONTRACT_CROP && plan.rules.rule[rule->name]->value == KVC_CROP_REFUSE) ||
        rule->name == KVC_CONTRACT_BATCH_REFUSED)
        rule = plan.rules.rule[rule->name];
    storing = rule_of_storing(&plan, finding);
    if (storing != NULL && finding->law != KVC_CALL)
        rule = storing;
    else if (finding->law == KVC_CALL)
        rule = plan.rules.rule[KVC_CONTRACT_CALLS];
    else if (finding->law == KVC_ALIAS && finding->failure.place == KVC_PLACE_EARLIER)
        rule = plan.layer[layer].rules.rule[KVC_CONTRACT_RETURNED_TENSORS];
    else if (finding->failure.place == KVC_PLACE_SEEN)
        rule = plan.layer[layer].rules.rule[KVC_CONTRACT_MASK];
    else if (finding->law == KVC_HONEST)
        rule = plan.layer[layer].rules.rule[KVC_CONTRACT_CLAIM];
    if (storing != NULL || finding->failure.place == KVC_PLACE_SEEN || rule->name == KVC_CONTRACT_APPEND_NONE || (bench->spec->memory != 0 && finding->law != KVC_ALIVE) || (kvc_op_is_rollback(finding->failure.op) && finding->law != KVC_ALIAS) || finding->law == KVC_CALL ||
        (finding->law == KVC_ALIAS && finding->failure.place == KVC_PLACE_EARLIER) || finding->law == KVC_ATOMIC ||
        finding->failure.deviation == KVC_NOT_REFUSED || finding->failure.deviation == KVC_WRONG_ERROR) {
        cJSON *part = cJSON_AddObjectToObject(json, "rule");
        cJSON_AddStringToObject(part, "name", kvc_rule_name_text(rule->name));
        cJSON_AddStringToObject(part, "value", kvc_rule_value_text(rule, value, sizeof value));
        cJSON_AddStringToObject(json, "source", rule->source);
        cJSON_AddStringToObject(json, "basis",
                                rule->documented && !is_beyond_the_text(&finding->failure, rule) ? "documented" : "inferred");
        return;
    }
    /* No rule of the contract decides: what the tensor holds is the spec's word, the rest the law's own. */
    {
        int of = finding->failure.layer >= 0 && finding->failure.layer < plan.layers ? finding->failure.layer : 0;
        const kvc_spec *spec = plan.layer[of].spec;
        const char *source = spec->source;
        /* What a tensor holds is written down; what reset, batch ops and refusals must leave alone is our argument. */
        int rests_on_spec = source[0] != '\0' && finding->law >= KVC_LENGTH && finding->law <= KVC_ADDRESS;
        add_law(json, finding->law, rests_on_spec ? source : kvc_law_text(finding->law), rests_on_spec && !spec->inferred);
    }
}

/* An option with a value that a shell takes as it is. */
static void add_option(kvc_text *text, const char *name, const char *value)
{
    if (value == NULL)
        return;
    kvc_text_add_format(text, " %s '", name);
    for (; *value != '\0'; value++) {
        const char one[] = {*value, '\0'};
        kvc_text_add(text, *value == '\'' ? "'\\''" : one);
    }
    kvc_text_add(text, "'");
}

/* The command that replays a case, as a shell reads it. A subject that kvconform cannot start by its name needs the target. */
static void add_replay(cJSON *json, const kvc_record_run *run, const char *id)
{
    kvc_text text = {0};
    int is_class = strncmp(run->target, "python:", 7) == 0;

    kvc_text_add_format(&text, "kvconform replay cases/%s.json", id);
    if (is_class || strncmp(run->target, "plugin:", 7) == 0 || strncmp(run->target, "exec:", 5) == 0)
        add_option(&text, "--target", run->target);
    if (is_class && run->options != NULL) {
        add_option(&text, "--init", run->options->init);
        add_option(&text, "--spec", run->options->spec);
        add_option(&text, "--like", run->options->like);
        add_option(&text, "--python", run->options->python);
    }
    cJSON_AddStringToObject(json, "replay", kvc_text_string(&text));
    kvc_text_free(&text);
}

cJSON *kvc_record_finding(const kvc_record_run *run, const kvc_bench *bench, const kvc_finding *finding)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *detail = finding->detail != NULL && finding->detail[0] != '\0' ? cJSON_Parse(finding->detail) : NULL;
    cJSON *part;
    char text[512];

    if (json == NULL) {
        cJSON_Delete(detail);
        return NULL;
    }
    cJSON_AddStringToObject(json, "id", finding->id);
    cJSON_AddStringToObject(json, "law", kvc_law_name(finding->law));
    part = cJSON_AddArrayToObject(json, "also");
    for (int law = 0; law < KVC_LAWS; law++) {
        if ((finding->also & (1u << law)) != 0)
            cJSON_AddItemToArray(part, cJSON_CreateString(kvc_law_name((kvc_law)law)));
    }
    if (detail != NULL) {
        cJSON_AddItemToObject(json, "title", cJSON_DetachItemFromObject(detail, "title"));
    } else {
        (void)snprintf(text, sizeof text, "%s: %s of %s: %s", run->variant, kvc_deviation_text((kvc_deviation)finding->failure.deviation),
                       finding->tensor, finding->situation);
        cJSON_AddStringToObject(json, "title", text);
    }
    cJSON_AddStringToObject(json, "severity", severity_of(&finding->failure));
    cJSON_AddBoolToObject(json, "flaky", finding->flaky);
    if (finding->flaky) {
        part = cJSON_AddArrayToObject(json, "tries");
        for (int at = 0; at <= KVC_TRIES; at++) {
            if (finding->tries[at][0] != '\0')
                cJSON_AddItemToArray(part, cJSON_CreateString(finding->tries[at]));
        }
    }
    cJSON_AddFalseToObject(json, "control");
    cJSON_AddNumberToObject(json, "failures", (double)finding->failures);
    cJSON_AddNumberToObject(json, "first", (double)finding->first + 1);
    cJSON_AddStringToObject(json, "tensor", finding->tensor);
    cJSON_AddStringToObject(json, "op", kvc_op_name((kvc_op_kind)blamed_op(finding)));
    cJSON_AddStringToObject(json, "situation", finding->situation);
    cJSON_AddStringToObject(json, "deviation", kvc_deviation_text((kvc_deviation)finding->failure.deviation));
    add_case(json, run, bench, finding);
    cJSON_AddNumberToObject(json, "step", finding->failure.step);
    if (detail != NULL) {
        cJSON_AddItemToObject(json, "expected", cJSON_DetachItemFromObject(detail, "expected"));
        cJSON_AddItemToObject(json, "observed", cJSON_DetachItemFromObject(detail, "observed"));
    } else {
        cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "expected"), "outcome", "done");
        cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "observed"), "outcome", "done");
    }
    kvc_record_rule(json, bench, finding);
    if (finding->model != NULL)
        cJSON_AddItemToObject(json, "model", cJSON_Parse(finding->model));
    part = cJSON_AddObjectToObject(json, "minimal");
    cJSON_AddBoolToObject(part, "proved", finding->proved);
    cJSON_AddNumberToObject(part, "smaller_tried", (double)finding->smaller_tried);
    cJSON_AddStringToObject(json, "script", finding->script != NULL ? finding->script : "");
    if (finding->script != NULL && finding->script[0] != '\0' && run->scripts != NULL)
        cJSON_AddStringToObject(json, "script_suffix", run->scripts);
    cJSON_AddStringToObject(json, "no_script", finding->no_script.text);
    add_replay(json, run, finding->id);
    cJSON_Delete(detail);
    return json;
}

cJSON *kvc_record_open(const kvc_record_run *run, const kvc_record_explored *explored)
{
    char letters[KVC_LETTERS_MAX][48];
    int count = explored != NULL ? kvc_generator_alphabet(explored->generator, letters) : 0;
    cJSON *entry = cJSON_CreateObject();
    cJSON *part;

    if (entry == NULL)
        return NULL;
    cJSON_AddStringToObject(entry, "target", run->target);
    cJSON_AddStringToObject(entry, "subject", run->subject);
    cJSON_AddStringToObject(entry, "version", run->version);
    cJSON_AddStringToObject(entry, "variant", run->variant);
    cJSON_AddStringToObject(entry, "kind", explored != NULL ? kvc_kind_name(explored->bench->spec->kind) : "");
    /* Filled in once the model has been made. */
    if (explored != NULL && explored->bench->spec->kind == KVC_KIND_MODEL)
        (void)cJSON_AddArrayToObject(entry, "layers");
    cJSON_AddStringToObject(entry, "contract", run->contract != NULL ? run->contract : "");
    cJSON_AddBoolToObject(entry, "assumed", run->assumed);
    cJSON_AddItemToObject(entry, "environment",
                          run->environment != NULL ? cJSON_Duplicate(run->environment, 1) : cJSON_CreateObject());
    if (run->location != NULL)
        cJSON_AddItemToObject(entry, "location", cJSON_Duplicate(run->location, 1));
    if (run->assumptions != NULL)
        cJSON_AddItemToObject(entry, "assumptions", cJSON_Duplicate(run->assumptions, 1));
    if (run->untested != NULL)
        cJSON_AddItemToObject(entry, "untested", cJSON_Duplicate(run->untested, 1));
    cJSON_AddStringToObject(entry, "status", run->status);
    cJSON_AddStringToObject(entry, "reason", run->reason != NULL ? run->reason : "");
    part = cJSON_AddArrayToObject(entry, "alphabet");
    for (int at = 0; at < count; at++)
        cJSON_AddItemToArray(part, cJSON_CreateString(letters[at]));
    if (part != NULL && cJSON_AddArrayToObject(entry, "portions") != NULL)
        return entry;
    cJSON_Delete(entry);
    return NULL;
}
