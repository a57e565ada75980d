#include "harness/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/choice.h"
#include "reference/json.h"
#include "reference/values.h"

cJSON *kvc_params_print(const kvc_params *params, const kvc_spec *spec)
{
    const kvc_param_info *table = kvc_param_table();
    cJSON *json = cJSON_CreateObject();

    for (int at = 0; json != NULL && at < KVC_PARAMS; at++) {
        int32_t value = kvc_param_get(params, at);
        if (!kvc_spec_writes(spec, at))
            continue;
        if (table[at].words != NULL)
            cJSON_AddStringToObject(json, table[at].name, table[at].words[value]);
        else
            cJSON_AddNumberToObject(json, table[at].name, value);
    }
    if (json == NULL)
        return NULL;
    cJSON_AddNumberToObject(json, "watch", params->watch);
    if (spec->parts > 0)
        cJSON_AddStringToObject(json, "parts", spec->part_choice[params->parts]);
    if (spec->layers > 0)
        cJSON_AddStringToObject(json, "layers", spec->layer_choice[params->layers]);
    return json;
}

static cJSON *op_print(const kvc_op *op)
{
    cJSON *json = cJSON_CreateArray();
    cJSON *rows;

    if (json == NULL)
        return NULL;
    cJSON_AddItemToArray(json, cJSON_CreateString(kvc_op_name((kvc_op_kind)op->kind)));
    for (const char *letter = kvc_op_arguments((kvc_op_kind)op->kind); *letter != '\0'; letter++) {
        if (kvc_op_omits(op, *letter))
            continue;
        if (*letter != 'r') {
            cJSON_AddItemToArray(json, cJSON_CreateNumber(kvc_op_argument(op, *letter)));
            continue;
        }
        rows = cJSON_CreateArray();
        for (int at = 0; rows != NULL && at < op->count; at++)
            cJSON_AddItemToArray(rows, cJSON_CreateNumber(op->rows[at]));
        cJSON_AddItemToArray(json, rows);
    }
    return json;
}

cJSON *kvc_ops_print(const kvc_op *op, int count)
{
    cJSON *json = cJSON_CreateArray();

    for (int at = 0; json != NULL && at < count; at++)
        cJSON_AddItemToArray(json, op_print(&op[at]));
    return json;
}

cJSON *kvc_case_print(const kvc_case *item, const kvc_spec *spec)
{
    cJSON *json = cJSON_CreateObject();

    if (json == NULL)
        return NULL;
    cJSON_AddStringToObject(json, "schema", "kvconform-case/1");
    cJSON_AddStringToObject(json, "subject", item->subject);
    cJSON_AddStringToObject(json, "version", item->version);
    cJSON_AddStringToObject(json, "variant", item->variant);
    cJSON_AddStringToObject(json, "contract", item->contract);
    cJSON_AddItemToObject(json, "params", kvc_params_print(&item->params, spec));
    cJSON_AddItemToObject(json, "ops", kvc_ops_print(item->sequence.op, item->sequence.count));
    return json;
}

static int find_choice(const char *text, const char choice[KVC_CHOICES_MAX][KVC_CHOICE_NAME_MAX], int count)
{
    for (int at = 0; at < count; at++) {
        if (strcmp(choice[at], text) == 0)
            return at;
    }
    return -1;
}

/* Whether the variant has this parameter; words and `watch` belong to every one. */
static int uses_param(const kvc_spec *spec, int at)
{
    const kvc_param_info *info = &kvc_param_table()[at];

    if (info->offset == offsetof(kvc_params, parts))
        return spec->parts > 0;
    if (info->offset == offsetof(kvc_params, layers))
        return spec->layers > 0;
    return info->offset == offsetof(kvc_params, watch) || kvc_spec_writes(spec, at);
}

/* Says which parameters there are. */
static void refuse_param(const char *param, const char *name, const kvc_spec *spec, kvc_error *error)
{
    char known[320] = "";

    for (int at = 0; at < KVC_PARAMS; at++) {
        size_t used = strlen(known);
        if (uses_param(spec, at))
            (void)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", kvc_param_table()[at].name);
    }
    kvc_error_set(error, "%s: field \"params.%.40s\": %s has no such parameter, expected one of %s", name, param,
                  spec->variant, known);
}

static int read_param(const cJSON *item, const char *name, const kvc_spec *spec, kvc_params *params, kvc_error *error)
{
    const kvc_param_info *table = kvc_param_table();
    int at = kvc_param_find(item->string);
    int64_t number;
    int found = -1;

    if (at < 0 || !uses_param(spec, at)) {
        refuse_param(item->string, name, spec, error);
        return 0;
    }
    if (strcmp(item->string, "parts") == 0 || strcmp(item->string, "layers") == 0) {
        int parts = item->string[0] == 'p';
        if (cJSON_IsString(item))
            found = parts ? find_choice(item->valuestring, spec->part_choice, spec->parts)
                          : find_choice(item->valuestring, spec->layer_choice, spec->layers);
        if (found < 0) {
            kvc_error_set(error, "%s: field \"params.%s\": expected one of the choices in the spec of %s", name,
                          item->string, spec->variant);
            return 0;
        }
        kvc_param_set(params, at, found);
        return 1;
    }
    if (table[at].words != NULL) {
        for (int word = 0; cJSON_IsString(item) && table[at].words[word] != NULL; word++) {
            if (strcmp(table[at].words[word], item->valuestring) == 0)
                found = word;
        }
        if (found < 0) {
            kvc_error_set(error, "%s: field \"params.%s\": expected one of the words of docs/protocol.md", name,
                          item->string);
            return 0;
        }
        if (table[at].offset == offsetof(kvc_params, values) && found != (int)spec->values) {
            kvc_error_set(error, "%s: field \"params.values\": the spec of %s says \"%s\"", name, spec->variant,
                          table[at].words[spec->values]);
            return 0;
        }
        kvc_param_set(params, at, found);
        return 1;
    }
    if (!kvc_json_integer(item, name, item->string, table[at].minimum, table[at].maximum, &number, error))
        return 0;
    kvc_param_set(params, at, (int32_t)number);
    return 1;
}

int kvc_params_read(const cJSON *json, const char *name, const kvc_spec *spec, kvc_params *params, kvc_error *error)
{
    const cJSON *entry;

    if (json != NULL && !cJSON_IsObject(json)) {
        kvc_error_set(error, "%s: field \"params\": expected an object", name);
        return 0;
    }
    cJSON_ArrayForEach(entry, json) {
        if (!read_param(entry, name, spec, params, error))
            return 0;
    }
    return 1;
}

/* Numbers of rows, or of tokens for each row. */
static int read_rows(const cJSON *list, const char *name, kvc_op *op, kvc_error *error)
{
    const cJSON *item;
    int32_t least;
    int32_t most;

    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1 || cJSON_GetArraySize(list) > KVC_ROWS_MAX) {
        kvc_error_set(error, "%s: field \"ops\": expected a list of 1 to %d rows", name, KVC_ROWS_MAX);
        return 0;
    }
    kvc_op_bounds((kvc_op_kind)op->kind, 'r', &least, &most);
    cJSON_ArrayForEach(item, list) {
        int64_t row;
        if (!kvc_json_integer(item, name, "ops", least, most, &row, error))
            return 0;
        op->rows[op->count++] = (uint8_t)row;
    }
    return 1;
}

static int read_argument(const cJSON *json, const char *name, char letter, kvc_op *op, kvc_error *error)
{
    int64_t number;
    int32_t low;
    int32_t high;
    char field[32];

    kvc_op_bounds((kvc_op_kind)op->kind, letter, &low, &high);
    (void)snprintf(field, sizeof field, "ops.%s", kvc_op_name((kvc_op_kind)op->kind));
    if (!kvc_json_integer(json, name, field, low, high, &number, error))
        return 0;
    kvc_op_set_argument(op, letter, (int32_t)number);
    return 1;
}

static int read_op(const cJSON *json, const char *name, kvc_op *op, kvc_error *error)
{
    const cJSON *word = cJSON_IsArray(json) ? json->child : NULL;
    const cJSON *argument = word != NULL ? word->next : NULL;
    const char *letters = "";
    kvc_op_kind kind = KVC_APPEND;
    int good;
    int given = cJSON_GetArraySize(json) - 1;
    int wanted;

    memset(op, 0, sizeof *op);
    good = cJSON_IsString(word) && kvc_op_parse_name(word->valuestring, &kind);
    op->kind = (uint8_t)kind;
    if (good)
        letters = kvc_op_arguments(kind);
    wanted = (int)strlen(letters);
    if (!good || (given != wanted && !(given == wanted - 1 && kvc_op_omits(op, letters[given])))) {
        kvc_error_set(error, "%s: field \"ops\": expected an op such as [\"append\", 3], [\"crop\", -1], [\"reset\"]",
                      name);
        return 0;
    }
    for (; argument != NULL; argument = argument->next, letters++) {
        if (!(*letters == 'r' ? read_rows(argument, name, op, error)
                              : read_argument(argument, name, *letters, op, error)))
            return 0;
    }
    return 1;
}

int kvc_ops_read(const cJSON *json, const char *name, kvc_sequence *out, kvc_error *error)
{
    const cJSON *list;
    const cJSON *entry;

    out->count = 0;
    if (!kvc_json_array(json, name, "ops", KVC_OPS_MAX, &list, error))
        return 0;
    cJSON_ArrayForEach(entry, list) {
        if (!read_op(entry, name, &out->op[out->count], error))
            return 0;
        out->count++;
    }
    if (out->count > 0)
        return 1;
    kvc_error_set(error, "%s: field \"ops\": expected at least one", name);
    return 0;
}

int kvc_sequence_is_valid(const kvc_plan *plan, const kvc_sequence *sequence, kvc_error *error)
{
    kvc_error ignored;
    kvc_model model;
    int good = 1;

    if (error == NULL)
        error = &ignored;
    if (plan->params.call != KVC_CALL_POSITION &&
        (plan->rules.rule[KVC_CONTRACT_CALLS]->value & 1u << plan->params.call) == 0) {
        kvc_error_set(error, "%s: no contract says that its ops can be called by %s", plan->variant,
                      kvc_call_name(plan->params.call));
        return 0;
    }
    if (!kvc_model_open(&model, plan)) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    for (int at = 0; good && at < sequence->count; at++) {
        const kvc_op *op = &sequence->op[at];
        kvc_expectation expectation;
        if (!kvc_plan_has_op(plan, (kvc_op_kind)op->kind)) {
            kvc_error_set(error, "%s: op %d: this version has no %s", plan->variant, at + 1,
                          kvc_op_name((kvc_op_kind)op->kind));
            good = 0;
            break;
        }
        good = kvc_op_rows_after(op, model.rows) > 0;
        if (!good) {
            kvc_error_set(error, "%s: op %d: %s: the cache has %d rows there", plan->variant, at + 1,
                          kvc_op_name((kvc_op_kind)op->kind), (int)model.rows);
            break;
        }
        kvc_model_expect(&model, op, &expectation);
        if (expectation.unspecified) {
            kvc_error_set(error, "%s: op %d: no contract says what this %s does", plan->variant, at + 1,
                          kvc_op_name((kvc_op_kind)op->kind));
            good = 0;
        } else if (!kvc_model_commit(&model, op, &expectation, expectation.verdict == KVC_MUST_REFUSE)) {
            kvc_error_set(error, "not enough memory");
            good = 0;
        }
    }
    kvc_model_close(&model);
    return good;
}

const char *kvc_case_outcome_text(kvc_case_outcome outcome, kvc_law law)
{
    static const char *const text[] = {"conforms", "", "absent", "impossible"};

    return outcome == KVC_CASE_BREAKS ? kvc_law_name(law) : text[outcome];
}

const kvc_case_expect *kvc_case_expected(const kvc_case *item, const char *version)
{
    for (int at = 0; at < item->expects; at++) {
        if (item->expect[at].version[0] == '\0' || strcmp(item->expect[at].version, version) == 0)
            return &item->expect[at];
    }
    return NULL;
}

static int read_outcome(const cJSON *json, const char *name, const char *version, kvc_case *item, kvc_error *error)
{
    kvc_case_expect *expect = &item->expect[item->expects];
    const char *text = cJSON_IsString(json) ? json->valuestring : "";
    int good = 1;

    if (item->expects == KVC_CASE_EXPECTS_MAX) {
        kvc_error_set(error, "%s: field \"expect\": more than %d versions", name, KVC_CASE_EXPECTS_MAX);
        return 0;
    }
    if (kvc_case_expected(item, version) != NULL || strlen(version) >= sizeof expect->version) {
        kvc_error_set(error, "%s: field \"expect\": version \"%.60s\" %s", name, version,
                      strlen(version) >= sizeof expect->version ? "is too long" : "stands there twice");
        return 0;
    }
    (void)snprintf(expect->version, sizeof expect->version, "%s", version);
    if (strcmp(text, "conforms") == 0)
        expect->outcome = KVC_CASE_CONFORMS;
    else if (strcmp(text, "absent") == 0)
        expect->outcome = KVC_CASE_ABSENT;
    else if (strcmp(text, "impossible") == 0)
        expect->outcome = KVC_CASE_IMPOSSIBLE;
    else if (kvc_law_parse(text, &expect->law))
        expect->outcome = KVC_CASE_BREAKS;
    else
        good = 0;
    if (!good)
        kvc_error_set(error, "%s: field \"expect\": expected a law, \"conforms\", \"absent\" or \"impossible\"", name);
    item->expects++;
    return good;
}

/* One word for every version, or an object of version and word. Such a case is kept for others: it must say what it is. */
static int read_expect(const cJSON *json, const char *name, kvc_case *item, kvc_error *error)
{
    static const char *const needed[] = {"title", "source"};
    const cJSON *expect = cJSON_GetObjectItemCaseSensitive(json, "expect");
    const cJSON *entry;

    if (expect == NULL)
        return 1;
    for (size_t at = 0; at < sizeof needed / sizeof needed[0]; at++) {
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(json, needed[at]);
        if (!cJSON_IsString(text) || text->valuestring[0] == '\0') {
            kvc_error_set(error, "%s: field \"%s\": a case with \"expect\" needs this text", name, needed[at]);
            return 0;
        }
    }
    if (cJSON_IsString(expect))
        return read_outcome(expect, name, "", item, error);
    if (!cJSON_IsObject(expect) || expect->child == NULL) {
        kvc_error_set(error, "%s: field \"expect\": expected an object of versions, or one word for all", name);
        return 0;
    }
    cJSON_ArrayForEach(entry, expect) {
        if (entry->string[0] == '\0') {
            kvc_error_set(error, "%s: field \"expect\": expected a version, found an empty name", name);
            return 0;
        }
        if (!read_outcome(entry, name, entry->string, item, error))
            return 0;
    }
    return 1;
}

static int read_case(const cJSON *json, const char *name, const kvc_catalogue *catalogue, kvc_case *item,
                     kvc_error *error)
{
    static const char *const known[] = {"schema", "subject", "version", "variant", "contract", "params",
                                        "ops",    "seed",    "title",   "source",  "notes",  "expect", NULL};
    const kvc_spec *spec;
    char text[64];

    memset(item, 0, sizeof *item);
    if (!kvc_json_known_fields(json, name, "case", known, error) ||
        !kvc_json_text(json, name, "schema", text, sizeof text, error))
        return 0;
    if (strcmp(text, "kvconform-case/1") != 0) {
        kvc_error_set(error, "%s: field \"schema\": \"%s\", expected kvconform-case/1", name, text);
        return 0;
    }
    if (!kvc_json_text(json, name, "subject", item->subject, sizeof item->subject, error) ||
        !kvc_json_text_optional(json, name, "version", item->version, sizeof item->version, error) ||
        !kvc_json_text(json, name, "variant", item->variant, sizeof item->variant, error) ||
        !kvc_json_text_optional(json, name, "contract", item->contract, sizeof item->contract, error))
        return 0;
    spec = kvc_catalogue_spec(catalogue, item->subject, item->variant);
    if (spec == NULL) {
        kvc_error_set(error, "%s: no spec for variant \"%s\" of \"%s\" (see kvconform list variants)", name,
                      item->variant, item->subject);
        return 0;
    }
    item->params = kvc_params_standard();
    item->params.values = (int32_t)spec->values;
    if (!kvc_params_read(cJSON_GetObjectItemCaseSensitive(json, "params"), name, spec, &item->params, error) ||
        !kvc_ops_read(json, name, &item->sequence, error))
        return 0;
    return read_expect(json, name, item, error) && kvc_choice_allows(spec, &item->params, error);
}

int kvc_case_parse(const char *text, size_t length, const char *name, const kvc_catalogue *catalogue, kvc_case *item,
                   kvc_error *error)
{
    cJSON *json;
    int good;

    if (!kvc_json_parse(text, length, name, &json, error))
        return 0;
    good = read_case(json, name, catalogue, item, error);
    cJSON_Delete(json);
    return good;
}

int kvc_case_read(const char *path, const kvc_catalogue *catalogue, kvc_case *item, kvc_error *error)
{
    char *text;
    size_t length;
    int good;

    if (!kvc_file_read(path, KVC_CASE_FILE_MAX, &text, &length, error))
        return 0;
    good = kvc_case_parse(text, length, path, catalogue, item, error);
    free(text);
    return good;
}
