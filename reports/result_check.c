/*
 * The judge of result documents. Each check_* function looks at one part, returns 0, or -1 once `error` is written.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "reports/check_internal.h"
#include "reports/result.h"

static int check_op(const kvc_check *check, const cJSON *op)
{
    const cJSON *name = cJSON_GetArrayItem(op, 0);
    const cJSON *argument = NULL;
    const cJSON *row = NULL;
    int good = cJSON_IsArray(op) && cJSON_GetArraySize(op) <= 5 && cJSON_IsString(name) && name->valuestring[0] != '\0' &&
               strlen(name->valuestring) <= KVC_RESULT_WORD_MAX;
    for (argument = good ? name->next : NULL; argument != NULL; argument = argument->next) {
        good = good && (cJSON_IsArray(argument) ? cJSON_GetArraySize(argument) <= 1024
                                                : kvc_check_is_integer(argument, -2147483648.0, 2147483647.0));
        cJSON_ArrayForEach (row, argument) {
            good = good && cJSON_IsArray(argument) && kvc_check_is_integer(row, 0, 1 << 20);
        }
    }
    return good ? 0 : kvc_check_fail(check, NULL, "expected an op such as [\"append\", 3], [\"reorder\", [1, 0]] or [\"reset\"]");
}

static int check_case(kvc_check *check, const cJSON *finding, int *ops_count)
{
    const cJSON *value = NULL;
    const cJSON *ops = NULL;
    const cJSON *op = NULL;
    int index = 0;
    if (kvc_check_field(check, finding, "case", KVC_REQUIRED, cJSON_Object, "an object", &value) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, ".case");
    static const char *const schemas[] = {"kvconform-case/1", NULL};
    if (kvc_check_word(check, value, "schema", schemas) < 0 || kvc_check_name(check, value, "subject") < 0 ||
        kvc_check_name(check, value, "version") < 0 || kvc_check_name(check, value, "variant") < 0 ||
        kvc_check_name(check, value, "contract") < 0 || kvc_check_table(check, value, "params", KVC_REQUIRED, 1) < 0 ||
        kvc_check_seed(check, value, KVC_OPTIONAL) < 0 || kvc_check_list(check, value, "ops", KVC_REQUIRED, 10000, &ops) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (op, ops) {
        size_t inside = kvc_check_enter(check, ".ops[%d]", index++);
        if (check_op(check, op) < 0) {
            return -1;
        }
        kvc_check_leave(check, inside);
    }
    *ops_count = index;
    kvc_check_leave(check, before);
    return 0;
}

static int check_row(const kvc_check *check, const cJSON *row)
{
    const cJSON *entry = NULL;
    int count = 0;
    if (!cJSON_IsArray(row)) {
        return kvc_check_fail(check, NULL, "expected a list of tokens, found %s", kvc_check_kind(row));
    }
    cJSON_ArrayForEach (entry, row) {
        if (++count > KVC_RESULT_TOKENS_MAX) {
            return kvc_check_fail(check, NULL, "more than %d tokens", (int)KVC_RESULT_TOKENS_MAX);
        }
        if (!kvc_check_is_integer(entry, -KVC_LARGEST_INTEGER, KVC_LARGEST_INTEGER) &&
            !(cJSON_IsString(entry) && strlen(entry->valuestring) <= KVC_RESULT_WORD_MAX)) {
            return kvc_check_fail(check, NULL, "expected a token, a whole number or a short string, as entry %d", count - 1);
        }
    }
    return 0;
}

static int check_tensors(kvc_check *check, const cJSON *state)
{
    const cJSON *tensors = NULL;
    const cJSON *tensor = NULL;
    const cJSON *row = NULL;
    int found = kvc_check_field(check, state, "tensors", KVC_OPTIONAL, cJSON_Object, "an object", &tensors);
    if (found < 1) {
        return found;
    }
    cJSON_ArrayForEach (tensor, tensors) {
        size_t before = kvc_check_enter(check, ".tensors.%.80s", tensor->string);
        int index = 0;
        if (tensor->string[0] == '\0' || strlen(tensor->string) > KVC_RESULT_WORD_MAX) {
            return kvc_check_fail(check, NULL, "expected a name of 1 to %d bytes", (int)KVC_RESULT_WORD_MAX);
        }
        if (!cJSON_IsArray(tensor) || cJSON_GetArraySize(tensor) > 1024) {
            return kvc_check_fail(check, NULL, "expected a list of at most 1024 rows, found %s", kvc_check_kind(tensor));
        }
        cJSON_ArrayForEach (row, tensor) {
            size_t inside = kvc_check_enter(check, "[%d]", index++);
            if (check_row(check, row) < 0) {
                return -1;
            }
            kvc_check_leave(check, inside);
        }
        kvc_check_leave(check, before);
    }
    return 0;
}

/* A list with one entry for each layer: whole numbers or null, or for masks pairs of them. */
static int check_layers(const kvc_check *check, const cJSON *state, const char *name, int pairs)
{
    const cJSON *list = NULL;
    const cJSON *entry = NULL;
    int found = kvc_check_list(check, state, name, KVC_OPTIONAL, 1024, &list);
    if (found < 1) {
        return found;
    }
    cJSON_ArrayForEach (entry, list) {
        const cJSON *first = pairs ? cJSON_GetArrayItem(entry, 0) : entry;
        const cJSON *second = pairs ? cJSON_GetArrayItem(entry, 1) : entry;
        int good = kvc_check_is_integer(first, -KVC_LARGEST_INTEGER, KVC_LARGEST_INTEGER) &&
                   kvc_check_is_integer(second, -KVC_LARGEST_INTEGER, KVC_LARGEST_INTEGER) &&
                   (!pairs || (cJSON_IsArray(entry) && cJSON_GetArraySize(entry) == 2));
        if (!good && !cJSON_IsNull(entry)) {
            return kvc_check_fail(check, name, "expected %s or null for each layer",
                                  pairs ? "[length, offset]" : "a whole number");
        }
    }
    return 1;
}

static int check_state(kvc_check *check, const cJSON *finding, const char *name)
{
    static const char *const outcomes[] = {"done", "refused", "died", NULL};
    const cJSON *state = NULL;
    if (kvc_check_field(check, finding, name, KVC_REQUIRED, cJSON_Object, "an object", &state) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, ".%s", name);
    if (kvc_check_word(check, state, "outcome", outcomes) < 0 ||
        kvc_check_string(check, state, "error", KVC_OPTIONAL, 0, KVC_RESULT_TEXT_MAX) < 0 ||
        check_layers(check, state, "length", 0) < 0 || check_layers(check, state, "masks", 1) < 0 ||
        check_layers(check, state, "positions", 0) < 0 || kvc_check_bool(check, state, "claim", KVC_OPTIONAL) < 0 ||
        check_tensors(check, state) < 0) {
        return -1;
    }
    kvc_check_leave(check, before);
    return 0;
}

static int check_rule(kvc_check *check, const cJSON *finding)
{
    const cJSON *rule = NULL;
    int found = kvc_check_field(check, finding, "rule", KVC_OPTIONAL, cJSON_Object, "an object", &rule);
    if (found < 1) {
        return found;
    }
    size_t before = kvc_check_enter(check, ".rule");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(rule, "value");
    if (kvc_check_name(check, rule, "name") < 0) {
        return -1;
    }
    if (cJSON_IsArray(value)) {
        if (kvc_check_words(check, rule, "value", KVC_REQUIRED) < 0) {
            return -1;
        }
    } else if (!cJSON_IsString(value) && !cJSON_IsNumber(value) && !cJSON_IsBool(value)) {
        return kvc_check_fail(check, "value", "expected a word, a number, true, false or a list of words, found %s",
                              kvc_check_kind(value));
    }
    kvc_check_leave(check, before);
    return 0;
}

/* An id stands in addresses, file names and command lines: nothing that any of them would read otherwise. */
static int check_id(const kvc_check *check, const cJSON *object, const char *name)
{
    static const char allowed[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.";
    if (kvc_check_string(check, object, name, KVC_REQUIRED, 1, 64) < 0) {
        return -1;
    }
    const char *id = cJSON_GetObjectItemCaseSensitive(object, name)->valuestring;
    return strspn(id, allowed) == strlen(id) ? 0 : kvc_check_fail(check, name, "expected letters, digits, `-`, `_` and `.` only");
}

int kvc_suffix_is_good(const char *suffix)
{
    size_t length = strspn(suffix, "0123456789abcdefghijklmnopqrstuvwxyz");
    return length >= 1 && length <= 8 && suffix[length] == '\0' && strcmp(suffix, "json") != 0;
}

const char *kvc_script_suffix(const cJSON *finding)
{
    const char *suffix = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(finding, "script_suffix"));
    return suffix != NULL && kvc_suffix_is_good(suffix) ? suffix : "py";
}

static int check_suffix(kvc_check *check, const cJSON *finding)
{
    const char *suffix = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(finding, "script_suffix"));
    if (kvc_check_string(check, finding, "script_suffix", KVC_OPTIONAL, 1, 8) < 0) {
        return -1;
    }
    return suffix == NULL || kvc_suffix_is_good(suffix) ? 0 : kvc_check_fail(check, "script_suffix", "expected small letters and digits");
}

/* The faults of single layers that a finding of a whole model follows from. */
static int check_links(kvc_check *check, const cJSON *model)
{
    const cJSON *links = NULL;
    const cJSON *link = NULL;
    const cJSON *layers = NULL;
    const cJSON *layer = NULL;
    int index = 0;
    if (kvc_check_list(check, model, "links", KVC_REQUIRED, KVC_RESULT_LAYERS_MAX, &links) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (link, links) {
        size_t before = kvc_check_enter(check, ".links[%d]", index++);
        if (!cJSON_IsObject(link)) {
            return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(link));
        }
        if (kvc_check_name(check, link, "variant") < 0 || check_id(check, link, "law") < 0 || check_id(check, link, "id") < 0 ||
            kvc_check_list(check, link, "layers", KVC_REQUIRED, KVC_RESULT_LAYERS_MAX, &layers) < 0) {
            return -1;
        }
        cJSON_ArrayForEach (layer, layers) {
            if (!kvc_check_is_integer(layer, 0, KVC_RESULT_LAYERS_MAX)) {
                return kvc_check_fail(check, "layers", "expected numbers of layers, from 0");
            }
        }
        kvc_check_leave(check, before);
    }
    return 1;
}

/* What is told of a finding of a whole model besides. */
static int check_model(kvc_check *check, const cJSON *finding)
{
    const cJSON *model = NULL;
    int found = kvc_check_field(check, finding, "model", KVC_OPTIONAL, cJSON_Object, "an object", &model);
    if (found < 1) {
        return found;
    }
    size_t before = kvc_check_enter(check, ".model");
    const cJSON *promised = cJSON_GetObjectItemCaseSensitive(model, "promised");
    if (kvc_check_name(check, model, "cache") < 0 || kvc_check_words(check, model, "layers", KVC_REQUIRED) < 0 ||
        kvc_check_bool(check, model, "generate", KVC_REQUIRED) < 0 || check_links(check, model) < 0) {
        return -1;
    }
    if (!cJSON_IsBool(promised) && !cJSON_IsNull(promised)) {
        return kvc_check_fail(check, "promised", "expected true, false or null, found %s", kvc_check_kind(promised));
    }
    kvc_check_leave(check, before);
    return 1;
}

static int check_finding(kvc_check *check, const cJSON *finding)
{
    static const char *const severities[] = {"silent", "error", "crash", NULL};
    static const char *const bases[] = {"documented", "inferred", NULL};
    const cJSON *minimal = NULL;
    int ops = 0;
    if (!cJSON_IsObject(finding)) {
        return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(finding));
    }
    if (check_id(check, finding, "id") < 0 || check_id(check, finding, "law") < 0 ||
        kvc_check_words(check, finding, "also", KVC_REQUIRED) < 0 ||
        kvc_check_string(check, finding, "title", KVC_REQUIRED, 1, KVC_RESULT_TEXT_MAX) < 0 ||
        kvc_check_word(check, finding, "severity", severities) < 0 || kvc_check_bool(check, finding, "flaky", KVC_OPTIONAL) < 0 ||
        kvc_check_words(check, finding, "tries", KVC_OPTIONAL) < 0 || kvc_check_bool(check, finding, "control", KVC_OPTIONAL) < 0 ||
        kvc_check_count(check, finding, "failures", KVC_REQUIRED) < 0 || kvc_check_count(check, finding, "first", KVC_OPTIONAL) < 0 ||
        kvc_check_string(check, finding, "tensor", KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_string(check, finding, "op", KVC_OPTIONAL, 0, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_string(check, finding, "situation", KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_string(check, finding, "deviation", KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0 ||
        check_case(check, finding, &ops) < 0 || kvc_check_count(check, finding, "step", KVC_REQUIRED) < 0) {
        return -1;
    }
    if (cJSON_GetObjectItemCaseSensitive(finding, "step")->valuedouble >= ops) {
        return kvc_check_fail(check, "step", "expected the number of one of the %d ops, from 0", ops);
    }
    if (check_state(check, finding, "expected") < 0 || check_state(check, finding, "observed") < 0 ||
        check_rule(check, finding) < 0 || kvc_check_string(check, finding, "source", KVC_REQUIRED, 0, KVC_RESULT_TEXT_MAX) < 0 ||
        kvc_check_word(check, finding, "basis", bases) < 0 ||
        kvc_check_field(check, finding, "minimal", KVC_REQUIRED, cJSON_Object, "an object", &minimal) < 0) {
        return -1;
    }
    if (check_model(check, finding) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, ".minimal");
    if (kvc_check_bool(check, minimal, "proved", KVC_REQUIRED) < 0 ||
        kvc_check_count(check, minimal, "smaller_tried", KVC_REQUIRED) < 0) {
        return -1;
    }
    kvc_check_leave(check, before);
    return kvc_check_string(check, finding, "script", KVC_REQUIRED, 0, KVC_RESULT_TEXT_MAX) < 0 ||
                   check_suffix(check, finding) < 0 ||
                   kvc_check_string(check, finding, "no_script", KVC_OPTIONAL, 0, KVC_RESULT_TEXT_MAX) < 0 ||
                   kvc_check_string(check, finding, "replay", KVC_REQUIRED, 0, KVC_RESULT_TEXT_MAX) < 0
               ? -1
               : 0;
}

/* Lists of objects with an op and a situation: `coverage` and `unreached`. */
static int check_situations(kvc_check *check, const cJSON *run, const char *name, int counted)
{
    const cJSON *list = NULL;
    const cJSON *entry = NULL;
    int index = 0;
    if (kvc_check_list(check, run, name, KVC_REQUIRED, 1000000, &list) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (entry, list) {
        size_t before = kvc_check_enter(check, ".%s[%d]", name, index++);
        if (!cJSON_IsObject(entry)) {
            return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(entry));
        }
        if (kvc_check_name(check, entry, "op") < 0 || kvc_check_name(check, entry, "situation") < 0 ||
            (counted && (kvc_check_count(check, entry, "count", KVC_REQUIRED) < 0 ||
                         kvc_check_count(check, entry, "refused", KVC_OPTIONAL) < 0)) ||
            (!counted && kvc_check_string(check, entry, "because", KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0)) {
            return -1;
        }
        kvc_check_leave(check, before);
    }
    return 1;
}

static int check_exhaustive(kvc_check *check, const cJSON *run)
{
    const cJSON *exhaustive = NULL;
    if (kvc_check_field(check, run, "exhaustive", KVC_REQUIRED, cJSON_Object, "an object", &exhaustive) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, ".exhaustive");
    if (kvc_check_words(check, exhaustive, "alphabet", KVC_REQUIRED) < 0 ||
        kvc_check_count(check, exhaustive, "size", KVC_REQUIRED) < 0 ||
        kvc_check_count(check, exhaustive, "sequences", KVC_REQUIRED) < 0) {
        return -1;
    }
    kvc_check_leave(check, before);
    return 1;
}

/* Where the class is written: a path inside the subject, and a line. */
static int check_location(kvc_check *check, const cJSON *run)
{
    const cJSON *location = NULL;
    int found = kvc_check_field(check, run, "location", KVC_OPTIONAL, cJSON_Object, "an object", &location);
    if (found < 1) {
        return found;
    }
    size_t before = kvc_check_enter(check, ".location");
    if (kvc_check_name(check, location, "file") < 0) {
        return -1;
    }
    const char *file = cJSON_GetObjectItemCaseSensitive(location, "file")->valuestring;
    if (file[0] == '/' || strstr(file, "..") != NULL) {
        return kvc_check_fail(check, "file", "expected a path below the folder of the subject's packages");
    }
    if (!kvc_check_is_integer(cJSON_GetObjectItemCaseSensitive(location, "line"), 1, INT32_MAX)) {
        return kvc_check_fail(check, "line", "expected a whole number from 1");
    }
    kvc_check_leave(check, before);
    return 1;
}

static int check_run(kvc_check *check, const cJSON *run)
{
    static const char *const statuses[] = {"conforms", "findings", "absent", "not covered", "not run", NULL};
    const cJSON *seconds = NULL;
    const cJSON *findings = NULL;
    const cJSON *finding = NULL;
    int index = 0;
    if (!cJSON_IsObject(run)) {
        return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(run));
    }
    if (kvc_check_name(check, run, "target") < 0 || kvc_check_name(check, run, "subject") < 0 ||
        kvc_check_word(check, run, "status", statuses) < 0) {
        return -1;
    }
    const char *status = cJSON_GetObjectItemCaseSensitive(run, "status")->valuestring;
    int ran = strcmp(status, "conforms") == 0 || strcmp(status, "findings") == 0;
    /* What could not be run may have no version, variant or contract to tell of, but must say why. */
    size_t least = ran ? 1 : 0;
    if (kvc_check_string(check, run, "version", KVC_REQUIRED, least, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_string(check, run, "variant", KVC_REQUIRED, least, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_string(check, run, "contract", KVC_REQUIRED, least, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_bool(check, run, "assumed", KVC_REQUIRED) < 0 ||
        kvc_check_table(check, run, "environment", KVC_REQUIRED, 0) < 0 ||
        kvc_check_string(check, run, "reason", KVC_REQUIRED, ran ? 0 : 1, KVC_RESULT_TEXT_MAX) < 0 ||
        kvc_check_count(check, run, "sequences", KVC_REQUIRED) < 0 || kvc_check_count(check, run, "ops", KVC_REQUIRED) < 0 ||
        check_location(check, run) < 0 || kvc_check_words(check, run, "assumptions", KVC_OPTIONAL) < 0 ||
        kvc_check_words(check, run, "untested", KVC_OPTIONAL) < 0 || kvc_check_words(check, run, "layers", KVC_OPTIONAL) < 0 ||
        check_exhaustive(check, run) < 0 || check_situations(check, run, "coverage", 1) < 0 ||
        check_situations(check, run, "unreached", 0) < 0 ||
        kvc_check_field(check, run, "seconds", KVC_REQUIRED, cJSON_Number, "a number from 0", &seconds) < 0 ||
        kvc_check_count(check, run, "lost", KVC_OPTIONAL) < 0 ||
        kvc_check_list(check, run, "findings", KVC_REQUIRED, KVC_RESULT_FINDINGS_MAX, &findings) < 0) {
        return -1;
    }
    if (!(seconds->valuedouble >= 0 && isfinite(seconds->valuedouble))) {
        return kvc_check_fail(check, "seconds", "expected a number from 0");
    }
    cJSON_ArrayForEach (finding, findings) {
        size_t before = kvc_check_enter(check, ".findings[%d]", index++);
        if (check_finding(check, finding) < 0) {
            return -1;
        }
        kvc_check_leave(check, before);
    }
    if ((strcmp(status, "findings") == 0) != (index > 0)) {
        return kvc_check_fail(check, "findings", "%d findings do not go with the status `%s`", index, status);
    }
    return 0;
}

/* True, or an object that says when: a document without it was cut short. */
static int check_finished(kvc_check *check, const cJSON *result)
{
    const cJSON *finished = cJSON_GetObjectItemCaseSensitive(result, "finished");
    if (cJSON_IsTrue(finished)) {
        return 0;
    }
    if (!cJSON_IsObject(finished)) {
        return kvc_check_fail(check, "finished",
                              "expected true or an object, found %s: the run was cut short; run it again, or leave its result out",
                              cJSON_IsFalse(finished) ? "false" : kvc_check_kind(finished));
    }
    size_t before = kvc_check_enter(check, check->length > 0 ? ".finished" : "finished");
    if (kvc_check_string(check, finished, "at", KVC_REQUIRED, 1, KVC_RESULT_WORD_MAX) < 0) {
        return -1;
    }
    kvc_check_leave(check, before);
    return 0;
}

/* The machine, and who answered for each target. */
static int check_environment(kvc_check *check, const cJSON *result)
{
    static const char *const said[] = {"python", "torch", "platform"};
    const cJSON *environment = NULL;
    const cJSON *subjects = NULL;
    const cJSON *subject = NULL;
    int index = 0;
    if (kvc_check_field(check, result, "environment", KVC_REQUIRED, cJSON_Object, "an object", &environment) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, check->length > 0 ? ".environment" : "environment");
    if (kvc_check_string(check, environment, "platform", KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0 ||
        kvc_check_list(check, environment, "subjects", KVC_REQUIRED, KVC_RESULT_RUNS_MAX, &subjects) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (subject, subjects) {
        size_t inside = kvc_check_enter(check, ".subjects[%d]", index++);
        if (!cJSON_IsObject(subject)) {
            return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(subject));
        }
        if (kvc_check_name(check, subject, "target") < 0 || kvc_check_name(check, subject, "subject") < 0 ||
            kvc_check_name(check, subject, "version") < 0) {
            return -1;
        }
        for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
            if (kvc_check_string(check, subject, said[i], KVC_REQUIRED, 0, KVC_RESULT_WORD_MAX) < 0) {
                return -1;
            }
        }
        kvc_check_leave(check, inside);
    }
    kvc_check_leave(check, before);
    return 0;
}

/* What a result says of itself, whatever was run. */
static int check_header(kvc_check *check, const cJSON *result)
{
    const cJSON *tool = NULL;
    const cJSON *profile = NULL;
    if (check_finished(check, result) < 0 ||
        kvc_check_field(check, result, "tool", KVC_REQUIRED, cJSON_Object, "an object", &tool) < 0) {
        return -1;
    }
    size_t before = kvc_check_enter(check, check->length > 0 ? ".tool" : "tool");
    if (kvc_check_name(check, tool, "name") < 0 || kvc_check_name(check, tool, "version") < 0 ||
        kvc_check_name(check, tool, "build") < 0) {
        return -1;
    }
    kvc_check_leave(check, before);
    return kvc_check_words(check, result, "command", KVC_REQUIRED) < 0 || check_environment(check, result) < 0 ||
                   kvc_check_seed(check, result, KVC_REQUIRED) < 0 || kvc_check_name(check, result, "profile") < 0 ||
                   kvc_check_field(check, result, "profile_file", KVC_OPTIONAL, cJSON_Object, "an object", &profile) < 0 ||
                   kvc_check_table(check, result, "budget", KVC_REQUIRED, 1) < 0
               ? -1
               : 0;
}

/* The headers of the results that a merged document was made of. */
static int check_results(kvc_check *check, const cJSON *merged, int *count)
{
    const cJSON *list = NULL;
    const cJSON *header = NULL;
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(merged, "finished"))) {
        return kvc_check_fail(check, "finished", "expected true: the document was cut short; merge the results again");
    }
    if (kvc_check_list(check, merged, "results", KVC_REQUIRED, KVC_RESULT_RUNS_MAX, &list) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (header, list) {
        size_t before = kvc_check_enter(check, "results[%d]", (*count)++);
        if (!cJSON_IsObject(header)) {
            return kvc_check_fail(check, NULL, "expected an object, found %s", kvc_check_kind(header));
        }
        if (check_header(check, header) < 0) {
            return -1;
        }
        kvc_check_leave(check, before);
    }
    return 0;
}

int kvc_result_check(const cJSON *result, char *error, size_t error_size)
{
    kvc_check check = {.error = error, .error_size = error_size};
    const cJSON *runs = NULL;
    const cJSON *run = NULL;
    int index = 0;
    int results = 0;
    if (error_size > 0) {
        error[0] = '\0';
    }
    if (!cJSON_IsObject(result)) {
        return kvc_check_fail(&check, NULL, "expected an object, found %s", kvc_check_kind(result));
    }
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(result, "schema");
    int merged = cJSON_IsString(schema) && strcmp(schema->valuestring, KVC_MERGED_SCHEMA) == 0;
    if (cJSON_IsString(schema) && strcmp(schema->valuestring, KVC_SHARD_SCHEMA) == 0) {
        return kvc_check_fail(&check, "schema", "a shard, which is a part of a run; make a result of all parts with kvconform report");
    }
    if (!merged && (!cJSON_IsString(schema) || strcmp(schema->valuestring, KVC_RESULT_SCHEMA) != 0)) {
        int other = cJSON_IsString(schema) && (strncmp(schema->valuestring, "kvconform-result/", 17) == 0 ||
                                               strncmp(schema->valuestring, "kvconform-merged/", 17) == 0);
        return kvc_check_fail(&check, "schema", "expected `%s` or `%s`, found %.60s", KVC_RESULT_SCHEMA, KVC_MERGED_SCHEMA,
                              other                    ? "another version of it"
                              : cJSON_IsString(schema) ? schema->valuestring
                                                       : kvc_check_kind(schema));
    }
    if ((merged ? check_results(&check, result, &results) : check_header(&check, result)) < 0 ||
        kvc_check_list(&check, result, "runs", KVC_REQUIRED, KVC_RESULT_RUNS_MAX, &runs) < 0) {
        return -1;
    }
    cJSON_ArrayForEach (run, runs) {
        size_t inside = kvc_check_enter(&check, "runs[%d]", index++);
        if (check_run(&check, run) < 0) {
            return -1;
        }
        if (merged && !kvc_check_is_integer(cJSON_GetObjectItemCaseSensitive(run, "result"), 0, results - 1)) {
            return kvc_check_fail(&check, "result", "expected the number of one of the %d results, from 0", results);
        }
        kvc_check_leave(&check, inside);
    }
    return 0;
}
