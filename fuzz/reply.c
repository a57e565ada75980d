/*
 * Replies of an adapter: hello and run, as far as what is reported of them. The first byte chooses a variant, the first line is the
 * reply, the rest its raw data. The batch is always the same: fuzz/seeds.py writes good replies to it.
 */
#include <string.h>

#include "fuzz/catalogue.h"
#include "harness/choice.h"
#include "harness/detail.h"
#include "harness/protocol.h"

enum { SEQUENCES = 2, DETAIL_SIZE = 1 << 16 };

static const char *const variants[] = {"full", "window", "fixed", "hybrid", "running", "layers", "blocks", "recurrent", NULL};

/* One sequence after the other, as a process driver shows them, and the detail of what fails. */
static void judge_reply(kvc_judge *judge, kvc_reply *reply, const uint8_t *data, char *detail)
{
    kvc_observation *seen = calloc(1, sizeof *seen);
    size_t left = SIZE_MAX;
    kvc_error error = {""};
    int next;

    if (seen == NULL)
        abort();
    while ((next = kvc_reply_next(reply, data, seen, &error)) > 0) {
        const kvc_op *op = &reply->batch->sequence[reply->sequence].op[reply->step];
        kvc_failure failure;
        KVC_MUST(reply->used <= reply->bytes);
        if (reply->step == 0)
            KVC_MUST(kvc_judge_start(judge, reply->batch->plan, NULL));
        if (left != reply->sequence && kvc_judge_step(judge, op, seen, &failure) == 1) {
            KVC_MUST(failure.law < KVC_LAWS);
            kvc_detail_write(judge, op, seen, &failure, detail, DETAIL_SIZE);
            KVC_MUST(strlen(detail) < DETAIL_SIZE);
            left = reply->sequence;
        }
    }
    KVC_MUST((next < 0) == (error.text[0] != '\0'));
    free(seen);
}

/* What the process has sent before. */
static void fill_table(kvc_reply_table *table, const kvc_batch *batch)
{
    char line[] = "{\"id\":1,\"bytes\":0,\"tensors\":[[\"keys\",\"float32\",[1,1,1,8]],[\"values\",\"float32\",[1,1,1,8]]],\"results\":[]}";
    kvc_error error = {""};
    kvc_reply reply;
    kvc_said said;
    cJSON *json;
    char *results;

    KVC_MUST(kvc_reply_parse(line, sizeof line - 1, 1, &json, &results, &said, &error));
    KVC_MUST(kvc_reply_open(json, results, batch, table, &reply, &error));
    kvc_reply_clear(&reply);
}

static void run_reply(const char *variant, cJSON *json, char *results, const uint8_t *data, size_t size)
{
    static const kvc_sequence sequence[SEQUENCES] = {
        {.count = 4,
         .op = {{.kind = KVC_APPEND, .n = 2}, {.kind = KVC_CROP, .n = -1}, {.kind = KVC_CROP, .n = 1}, {.kind = KVC_APPEND, .n = 1}}},
        {.count = 2, .op = {{.kind = KVC_APPEND, .n = 1}, {.kind = KVC_RESET}}}};
    const kvc_catalogue *catalogue = kvc_fuzz_catalogue();
    const kvc_spec *spec = kvc_catalogue_spec(catalogue, "builtin", variant);
    const kvc_contract *contract = kvc_catalogue_contract_by_id(catalogue, "builtin-1");
    kvc_rules rules;
    kvc_choice choice;
    kvc_params params;
    kvc_plan *plan = malloc(sizeof *plan);
    kvc_batch batch = {plan, SEQUENCES, sequence, NULL, NULL, 0};
    kvc_reply_table table = {0};
    kvc_judge *judge = kvc_judge_open();
    char *detail = malloc(DETAIL_SIZE);
    kvc_reply reply;
    kvc_error error = {""};

    if (plan == NULL || judge == NULL || detail == NULL)
        abort();
    kvc_catalogue_rules(catalogue, contract, variant, &rules);
    kvc_choice_make(spec, &rules, "1", variants, &choice);
    params = kvc_choice_smallest(&choice);
    params.watch = 1;
    KVC_MUST(kvc_plan_make(catalogue, contract, spec, variant, &params, plan, &error));
    fill_table(&table, &batch);
    if (!kvc_reply_open(json, results, &batch, &table, &reply, &error))
        KVC_MUST(error.text[0] != '\0');
    else if (reply.bytes <= size)
        judge_reply(judge, &reply, data, detail);
    kvc_reply_clear(&reply);
    kvc_reply_table_clear(&table);
    kvc_judge_close(judge);
    free(detail);
    free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end;
    kvc_error error = {""};
    kvc_said said;
    cJSON *json;
    char *results;
    char *line;
    uint8_t *raw;
    size_t length;
    size_t rest;

    if (size == 0 || (end = memchr(data, '\n', size)) == NULL)
        return 0;
    length = (size_t)(end - data) - (end > data);
    rest = size - (size_t)(end - data) - 1;
    line = malloc(length + 1);
    raw = malloc(rest > 0 ? rest : 1);
    if (line == NULL || raw == NULL)
        abort();
    memcpy(line, data + (end > data), length);
    line[length] = '\0';
    memcpy(raw, end + 1, rest);
    if (kvc_reply_parse(line, length, 1, &json, &results, &said, &error)) {
        (void)kvc_reply_check_hello(json, &error);
        run_reply(variants[data[0] % (sizeof variants / sizeof variants[0] - 1)], json, results, raw, rest);
    } else {
        KVC_MUST(error.text[0] != '\0');
    }
    free(line);
    free(raw);
    return 0;
}
