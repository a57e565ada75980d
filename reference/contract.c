#include "reference/contract.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/json.h"
#include "reference/op.h"
#include "reference/params.h"

/* The words of a set, by number; NULL past the last. */
static const char *call_word(unsigned index)
{
    const char *const *words = kvc_param_table()[kvc_param_find("call")].words;

    return index < KVC_CALLS ? words[index] : NULL;
}

static const char *op_word(unsigned index)
{
    return index < KVC_OP_KINDS ? kvc_op_name((kvc_op_kind)index) : NULL;
}

/* The closed set of rules. `word` marks those whose value is a set. */
static const struct {
    const char *name;
    const char *values[6];
    const char *(*word)(unsigned index);
    unsigned standard;
} rule_table[KVC_CONTRACT_RULES] = {
    {"crop", {"remove", "absent", "refuse", "ignored", "either", NULL}, NULL, KVC_CROP_REMOVE},
    {"crop_positive", {"refuse", "keep", "nothing", "refuse_used", "unspecified", NULL}, NULL, KVC_POSITIVE_REFUSE},
    {"crop_zero", {"nothing", "empty", "shrink", NULL}, NULL, KVC_ZERO_NOTHING},
    {"crop_unused", {"nothing", "either", NULL}, NULL, KVC_UNUSED_NOTHING},
    {"crop_over", {"empty", NULL}, NULL, 0},
    {"unrecorded", {"refuse", "exact", "ignored", "unspecified", NULL}, NULL, KVC_UNRECORDED_REFUSE},
    {"recurrent", {"refuse", "ignored", "unspecified", NULL}, NULL, KVC_RECURRENT_REFUSE},
    {"overflow", {"refuse", "evict", "unspecified", "either", NULL}, NULL, KVC_OVERFLOW_REFUSE},
    {"claim", {"none", "croppable", NULL}, NULL, KVC_CLAIM_NONE},
    {"calls", {NULL}, call_word, 1u << 0},
    {"returns", {"held_and_new", "held", NULL}, NULL, KVC_CONVOLUTION_HELD_AND_NEW},
    {"batch_ops", {NULL}, op_word, 1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT},
    {"batch_refused", {NULL}, op_word, 0},
    {"record", {"offered", "absent", "tolerated", NULL}, NULL, KVC_RECORD_OFFERED},
    {"returned_tensors", {"fresh", "live", NULL}, NULL, KVC_RETURNED_FRESH},
    {"chunk", {"same", "unspecified", NULL}, NULL, KVC_CHUNK_SAME},
    {"append", {"take", "refuse", NULL}, NULL, KVC_APPEND_TAKE},
    {"blocks", {"exact", "either", NULL}, NULL, KVC_BLOCKS_EXACT},
    {"offload", {"prefetch_first", "any", "absent", NULL}, NULL, KVC_OFFLOAD_PREFETCH_FIRST},
    {"initialize", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"copy", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"pickle", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"position", {"length", "depth", NULL}, NULL, KVC_POSITION_LENGTH},
    {"append_parts", {"one_by_one", "together", NULL}, NULL, KVC_PARTS_ONE_BY_ONE},
    {"append_none", {"unspecified", "nothing", NULL}, NULL, KVC_NONE_UNSPECIFIED},
    {"crop_evicted", {"refuse", "clamp", NULL}, NULL, KVC_EVICTED_REFUSE},
    {"save", {"offered", "absent", "used", NULL}, NULL, KVC_STORING_OFFERED},
    {"state", {"offered", "absent", "used", NULL}, NULL, KVC_STORING_OFFERED},
    {"quantize", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"mask", {"visible", NULL}, NULL, 0},
    {"decode", {"consecutive", NULL}, NULL, 0},
    {"cells", {"refuse", NULL}, NULL, 0},
    {"seq_rm", {"exact", NULL}, NULL, 0},
    {"seq_rm_state", {"refuse", "snapshots", NULL}, NULL, KVC_SEQ_RM_STATE_REFUSE},
    {"seq_rm_inside", {"hole", "left", NULL}, NULL, KVC_SEQ_RM_INSIDE_HOLE},
    {"seq_rm_window", {"ask_first", NULL}, NULL, 0},
    {"seq_cp", {"any", "whole", NULL}, NULL, KVC_SEQ_CP_ANY},
    {"seq_keep", {"others_go", NULL}, NULL, 0},
    {"seq_add", {"move", NULL}, NULL, 0},
    {"seq_div", {"divide", NULL}, NULL, 0},
    {"clear", {"all", NULL}, NULL, 0},
    {"seq_save", {"nothing_changes", NULL}, NULL, 0},
    {"seq_restore", {"replaces", NULL}, NULL, 0},
    {"seq_restore_damaged", {"refuse", NULL}, NULL, 0},
    {"append_rows", {"offered", "absent", "several", "left", "merged", NULL}, NULL, KVC_STORING_OFFERED},
    {"merge", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"extract", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
    {"extend", {"offered", "absent", "filled", NULL}, NULL, KVC_STORING_OFFERED},
    {"split", {"offered", "absent", NULL}, NULL, KVC_STORING_OFFERED},
};

static int read_list_value(const cJSON *item, const char *name, kvc_contract_rule *rule, kvc_error *error)
{
    const char *(*word)(unsigned) = rule_table[rule->name].word;
    const cJSON *entry;

    if (!cJSON_IsArray(item)) {
        kvc_error_set(error, "%s: rule \"%s\": field \"value\": expected a list of words", name,
                      rule_table[rule->name].name);
        return 0;
    }
    cJSON_ArrayForEach(entry, item) {
        unsigned at = 0;
        if (!cJSON_IsString(entry)) {
            kvc_error_set(error, "%s: rule \"%s\": field \"value\": expected a list of words", name,
                          rule_table[rule->name].name);
            return 0;
        }
        while (word(at) != NULL && strcmp(word(at), entry->valuestring) != 0)
            at++;
        if (word(at) == NULL) {
            kvc_error_set(error, "%s: rule \"%s\": unknown value \"%.40s\"", name, rule_table[rule->name].name,
                          entry->valuestring);
            return 0;
        }
        rule->value |= 1u << at;
    }
    return 1;
}

static int read_value(const cJSON *json, const char *name, kvc_contract_rule *rule, kvc_error *error)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "value");
    const char *const *values = rule_table[rule->name].values;

    if (rule_table[rule->name].word != NULL)
        return read_list_value(item, name, rule, error);
    if (cJSON_IsString(item)) {
        for (unsigned at = 0; values[at] != NULL; at++) {
            if (strcmp(values[at], item->valuestring) == 0) {
                rule->value = at;
                return 1;
            }
        }
    }
    kvc_error_set(error, "%s: rule \"%s\": field \"value\": \"%.40s\", expected one of the values of docs/formats.md",
                  name, rule_table[rule->name].name, cJSON_IsString(item) ? item->valuestring : "(no text)");
    return 0;
}

/* Optional list of short texts into rows of `width` bytes. */
static int read_texts(const cJSON *json, const char *name, const char *field, int limit, char *out, size_t width,
                      int *count, kvc_error *error)
{
    const cJSON *list;
    const cJSON *entry;

    *count = 0;
    if (cJSON_GetObjectItemCaseSensitive(json, field) == NULL)
        return 1;
    if (!kvc_json_array(json, name, field, limit, &list, error))
        return 0;
    cJSON_ArrayForEach(entry, list) {
        if (!cJSON_IsString(entry) || entry->valuestring[0] == '\0' || strlen(entry->valuestring) >= width ||
            !kvc_text_is_plain(entry->valuestring)) {
            kvc_error_set(error, "%s: field \"%s\": expected texts shorter than %zu bytes", name, field, width);
            return 0;
        }
        memcpy(out + (size_t)*count * width, entry->valuestring, strlen(entry->valuestring) + 1);
        (*count)++;
    }
    return 1;
}

static int read_rule(const cJSON *json, const char *name, kvc_contract_rule *rule, kvc_error *error)
{
    static const char *const known[] = {"rule", "value", "errors", "variants", "basis", "source", NULL};
    char text[64];
    int at;

    memset(rule, 0, sizeof *rule);
    if (!kvc_json_known_fields(json, name, "rules", known, error) ||
        !kvc_json_text(json, name, "rule", text, sizeof text, error))
        return 0;
    for (at = 0; at < KVC_CONTRACT_RULES && strcmp(rule_table[at].name, text) != 0; at++)
        ;
    if (at == KVC_CONTRACT_RULES) {
        kvc_error_set(error, "%s: field \"rule\": \"%s\" is not a rule of docs/formats.md", name, text);
        return 0;
    }
    rule->name = (kvc_rule_name)at;
    if (!read_value(json, name, rule, error) ||
        !read_texts(json, name, "errors", KVC_RULE_ERRORS_MAX, rule->error[0], sizeof rule->error[0], &rule->errors,
                    error) ||
        !read_texts(json, name, "variants", KVC_RULE_VARIANTS_MAX, rule->variant[0], sizeof rule->variant[0],
                    &rule->variants, error) ||
        !kvc_json_text(json, name, "basis", text, sizeof text, error) ||
        !kvc_json_text(json, name, "source", rule->source, sizeof rule->source, error))
        return 0;
    if (rule->variants == 0) {
        kvc_error_set(error, "%s: rule \"%s\": field \"variants\": expected at least one glob", name,
                      rule_table[rule->name].name);
        return 0;
    }
    if (strcmp(text, "documented") != 0 && strcmp(text, "inferred") != 0) {
        kvc_error_set(error, "%s: rule \"%s\": field \"basis\": \"%s\", expected documented or inferred", name,
                      rule_table[rule->name].name, text);
        return 0;
    }
    rule->documented = strcmp(text, "documented") == 0;
    return 1;
}

int kvc_contract_from_json(const cJSON *json, const char *name, kvc_contract *contract, kvc_error *error)
{
    static const char *const known[] = {"schema", "id", "extends", "subject", "from", "known_to", "rules", "notes",
                                        NULL};
    char text[64];
    const cJSON *list;
    const cJSON *item;

    memset(contract, 0, sizeof *contract);
    if (!kvc_json_known_fields(json, name, "contract", known, error) ||
        !kvc_json_text(json, name, "schema", text, sizeof text, error))
        return 0;
    if (strcmp(text, "kvconform-contract/1") != 0) {
        kvc_error_set(error, "%s: field \"schema\": \"%s\", expected kvconform-contract/1", name, text);
        return 0;
    }
    if (!kvc_json_text(json, name, "id", contract->id, sizeof contract->id, error) ||
        !kvc_json_text_optional(json, name, "extends", contract->extends, sizeof contract->extends, error) ||
        !kvc_json_text(json, name, "subject", contract->subject, sizeof contract->subject, error) ||
        !kvc_json_text_optional(json, name, "from", contract->from, sizeof contract->from, error) ||
        !kvc_json_text_optional(json, name, "known_to", contract->known_to, sizeof contract->known_to, error) ||
        !kvc_json_array(json, name, "rules", 512, &list, error))
        return 0;
    if (contract->from[0] == '\0' && cJSON_HasObjectItem(json, "from")) {
        kvc_error_set(error, "%s: field \"from\": is empty, expected a version; a contract for --contract only has no such field",
                      name);
        return 0;
    }
    contract->rule = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *contract->rule);
    if (contract->rule == NULL) {
        kvc_error_set(error, "%s: not enough memory", name);
        return 0;
    }
    cJSON_ArrayForEach(item, list) {
        if (!read_rule(item, name, &contract->rule[contract->rules], error))
            return 0;
        contract->rules++;
    }
    return 1;
}

int kvc_contract_parse(const char *text, size_t length, const char *name, kvc_contract *contract, kvc_error *error)
{
    cJSON *json;
    int good;

    memset(contract, 0, sizeof *contract);
    if (!kvc_json_parse(text, length, name, &json, error))
        return 0;
    good = kvc_contract_from_json(json, name, contract, error);
    cJSON_Delete(json);
    return good;
}

int kvc_contract_read(const char *path, kvc_contract *contract, kvc_error *error)
{
    char *text;
    size_t length;
    int good;

    memset(contract, 0, sizeof *contract);
    if (!kvc_file_read(path, KVC_CONTRACT_FILE_MAX, &text, &length, error))
        return 0;
    good = kvc_contract_parse(text, length, path, contract, error);
    free(text);
    return good;
}

void kvc_contract_clear(kvc_contract *contract)
{
    free(contract->rule);
    memset(contract, 0, sizeof *contract);
}

#define STANDARD(index)                                                                                              \
    {                                                                                                                \
        .name = (index), .source = "No contract says anything; this is what every cache is expected to do."         \
    }
static const kvc_contract_rule standard_rules[KVC_CONTRACT_RULES] = {
    STANDARD(KVC_CONTRACT_CROP),          STANDARD(KVC_CONTRACT_CROP_POSITIVE),
    STANDARD(KVC_CONTRACT_CROP_ZERO),     STANDARD(KVC_CONTRACT_CROP_UNUSED),
    STANDARD(KVC_CONTRACT_CROP_OVER),     STANDARD(KVC_CONTRACT_UNRECORDED),
    STANDARD(KVC_CONTRACT_RECURRENT),     STANDARD(KVC_CONTRACT_OVERFLOW),
    STANDARD(KVC_CONTRACT_CLAIM),
    {.name = KVC_CONTRACT_CALLS, .value = 1u, .source = "No contract says anything: ops are called by position."},
    STANDARD(KVC_CONTRACT_RETURNS),
    {.name = KVC_CONTRACT_BATCH_OPS,
     .value = 1u << KVC_REORDER | 1u << KVC_SELECT | 1u << KVC_REPEAT,
     .source = "No contract says anything: the ops of the spec."},
    STANDARD(KVC_CONTRACT_BATCH_REFUSED),
    STANDARD(KVC_CONTRACT_RECORD),        STANDARD(KVC_CONTRACT_RETURNED_TENSORS),
    STANDARD(KVC_CONTRACT_CHUNK),         STANDARD(KVC_CONTRACT_APPEND),
    STANDARD(KVC_CONTRACT_BLOCKS),        STANDARD(KVC_CONTRACT_OFFLOAD),
    STANDARD(KVC_CONTRACT_INITIALIZE),    STANDARD(KVC_CONTRACT_COPY),
    STANDARD(KVC_CONTRACT_PICKLE),        STANDARD(KVC_CONTRACT_POSITION),
    STANDARD(KVC_CONTRACT_APPEND_PARTS),  STANDARD(KVC_CONTRACT_APPEND_NONE),
    STANDARD(KVC_CONTRACT_CROP_EVICTED),  STANDARD(KVC_CONTRACT_SAVE),
    STANDARD(KVC_CONTRACT_STATE),         STANDARD(KVC_CONTRACT_QUANTIZE),
    STANDARD(KVC_CONTRACT_MASK),
    STANDARD(KVC_CONTRACT_DECODE),
    STANDARD(KVC_CONTRACT_CELLS),
    STANDARD(KVC_CONTRACT_SEQ_RM),
    STANDARD(KVC_CONTRACT_SEQ_RM_STATE),
    STANDARD(KVC_CONTRACT_SEQ_RM_INSIDE),
    STANDARD(KVC_CONTRACT_SEQ_RM_WINDOW),
    STANDARD(KVC_CONTRACT_SEQ_CP),
    STANDARD(KVC_CONTRACT_SEQ_KEEP),
    STANDARD(KVC_CONTRACT_SEQ_ADD),
    STANDARD(KVC_CONTRACT_SEQ_DIV),
    STANDARD(KVC_CONTRACT_CLEAR),
    STANDARD(KVC_CONTRACT_SEQ_SAVE),
    STANDARD(KVC_CONTRACT_SEQ_RESTORE),
    STANDARD(KVC_CONTRACT_SEQ_RESTORE_DAMAGED),
    STANDARD(KVC_CONTRACT_APPEND_ROWS),
    STANDARD(KVC_CONTRACT_MERGE),         STANDARD(KVC_CONTRACT_EXTRACT),
    STANDARD(KVC_CONTRACT_EXTEND),        STANDARD(KVC_CONTRACT_SPLIT)};

void kvc_rules_standard(kvc_rules *rules)
{
    for (int at = 0; at < KVC_CONTRACT_RULES; at++)
        rules->rule[at] = &standard_rules[at];
}

void kvc_rules_apply(kvc_rules *rules, const kvc_contract *contract, const char *variant)
{
    for (size_t at = 0; at < contract->rules; at++) {
        const kvc_contract_rule *rule = &contract->rule[at];
        for (int glob = 0; glob < rule->variants; glob++) {
            if (fnmatch(rule->variant[glob], variant, 0) == 0) {
                rules->rule[rule->name] = rule;
                break;
            }
        }
    }
}

const char *kvc_rule_name_text(kvc_rule_name name)
{
    return (unsigned)name < KVC_CONTRACT_RULES ? rule_table[name].name : "?";
}

const char *kvc_rule_value_text(const kvc_contract_rule *rule, char *buffer, size_t size)
{
    const char *(*word)(unsigned) = rule_table[rule->name].word;
    size_t used = 0;

    buffer[0] = '\0';
    if (word == NULL) {
        (void)snprintf(buffer, size, "%s", rule_table[rule->name].values[rule->value]);
        return buffer;
    }
    for (unsigned at = 0; word(at) != NULL; at++) {
        if ((rule->value & (1u << at)) != 0 && used + strlen(word(at)) + 3 < size) {
            int wrote = snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "", word(at));
            used += (size_t)wrote;
        }
    }
    return buffer;
}

int kvc_version_compare(const char *a, const char *b)
{
    for (int part = 0; part < 4; part++) {
        char *a_end = NULL;
        char *b_end = NULL;
        unsigned long a_number = *a >= '0' && *a <= '9' ? strtoul(a, &a_end, 10) : 0;
        unsigned long b_number = *b >= '0' && *b <= '9' ? strtoul(b, &b_end, 10) : 0;
        if (a_number != b_number)
            return a_number < b_number ? -1 : 1;
        a = a_end != NULL && *a_end == '.' ? a_end + 1 : "";
        b = b_end != NULL && *b_end == '.' ? b_end + 1 : "";
    }
    return 0;
}

const char *kvc_call_name(int call)
{
    return call >= 0 && call < KVC_CALLS ? call_word((unsigned)call) : "?";
}
