/*
 * The program of bench/oracle.h.
 *
 *   oracle [--python PATH] [--like CASE.json] TARGET:VARIANT
 *
 * starts the subject, writes a line of JSON that says what can be chosen, and answers commands from standard input, one a line:
 *
 *   start V...            new sequence with these parameters, in the order of the table of parameters: `ok BOUNDARY OPS` or `no`
 *   op KIND N ROW...      may this op come next? `ok HELD ROWS`, how the reference stands then, or `no`
 *   judge                 performs the sequence: `conforms`, `fails` or `other`, then number and weight of the ops up to the failure, its
 *                         law, and the ops
 *   random SEED LIMIT     plain random testing: `found NUMBER SECONDS` and the case as above, or `nothing LIMIT SECONDS`
 *   generator SEED LIMIT  the sequences of kvconform, until one fails: the same, without a case
 *   explore SEED LIMIT    all that `kvconform run` does: the same, with the smallest case
 *
 * With --like a failure counts when law, kind of op and what was wrong are those of the case; others are `other`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/oracle.h"
#include "harness/case.h"
#include "harness/data.h"

enum { LINE_MAX_BYTES = 4096, MEMORY_MB = 1024, GROWTH_MB = 16 };

/* Chooses the variant with this seed. */
int kvc_oracle_choose(kvc_oracle *self, uint64_t seed, kvc_error *error)
{
    kvc_generator *generator = kvc_generator_open(&self->catalogue, self->contract, self->spec, self->selection.variant,
                                                  self->selection.version, self->variants, seed, KVC_HOSTILE, error);
    int good = generator != NULL;

    self->selection.seed = seed;
    kvc_profile_of(KVC_HOSTILE, &self->selection.draws);
    good = good && kvc_crew_choose(self->crew, &self->selection, generator, error) == KVC_CREW_DONE;
    if (good) {
        kvc_generator_close(self->generator);
        self->generator = generator;
    } else {
        kvc_generator_close(generator);
    }
    return good;
}

/* Performs one sequence. Returns -1 with *error set, else whether it failed. */
int kvc_oracle_perform(kvc_oracle *self, const kvc_params *params, kvc_sequence *sequence, kvc_failure *failure, kvc_error *error)
{
    uint8_t failed = 0;

    if (kvc_crew_evaluate(self->crew, params, sequence, 1, &failed, failure, error) != KVC_CREW_DONE)
        return -1;
    if (failed)
        sequence->count = failure->step + 1;
    return failed;
}

int kvc_oracle_is_like(const kvc_oracle *self, const kvc_failure *failure)
{
    return !self->has_like ||
           (failure->law == self->like.law && failure->op == self->like.op && failure->place == self->like.place);
}

void kvc_oracle_print_case(const char *verdict, const kvc_sequence *sequence, const kvc_failure *failure)
{
    int64_t weight = 0;
    char text[128];

    for (int at = 0; at < sequence->count; at++)
        weight += kvc_op_weight(&sequence->op[at]);
    (void)printf("%s %d %" PRId64 " %s", verdict, (int)sequence->count, weight, kvc_law_name((kvc_law)failure->law));
    for (int at = 0; at < sequence->count; at++) {
        (void)kvc_op_format(&sequence->op[at], text, sizeof text);
        (void)printf("%s %s", at > 0 ? "," : "", text);
    }
    (void)putchar('\n');
}

/* Begins a sequence with parameters that the spec allows. */
int kvc_oracle_start(kvc_oracle *self, const kvc_params *params)
{
    kvc_error ignored;

    self->started = kvc_choice_allows(self->spec, params, &ignored) &&
                    kvc_plan_make(&self->catalogue, self->contract, self->spec, self->selection.variant, params, &self->plan,
                                  &ignored);
    self->sequence.count = 0;
    if (self->started)
        kvc_model_start(&self->model, &self->plan, NULL);
    return self->started;
}

/* Takes the op when it may stand here. Returns 1, 0, or -1 when memory is short. */
int kvc_oracle_take(kvc_oracle *self, const kvc_op *op)
{
    kvc_sequence longer = self->sequence;
    kvc_expectation expectation;
    kvc_error ignored;

    if (!kvc_plan_has_op(&self->plan, (kvc_op_kind)op->kind) || longer.count == KVC_OPS_MAX ||
        (op->kind == KVC_APPEND && op->n == 0 &&
         self->plan.rules.rule[KVC_CONTRACT_APPEND_NONE]->value != KVC_NONE_NOTHING))
        return 0;
    longer.op[longer.count++] = *op;
    if (!kvc_sequence_is_valid(&self->plan, &longer, &ignored))
        return 0;
    kvc_model_expect(&self->model, op, &expectation);
    if (expectation.unspecified)
        return 0;
    self->sequence = longer;
    return kvc_model_commit(&self->model, op, &expectation, expectation.verdict == KVC_MUST_REFUSE) ? 1 : -1;
}

int32_t kvc_oracle_held(const kvc_oracle *self)
{
    return self->model.length - kvc_model_floor(&self->model);
}

static int open_subject(kvc_oracle *self, const char *text, const char *python, kvc_error *error)
{
    kvc_options options = {.python = python, .quiet = 1};
    kvc_crew_options crew = {.jobs = 1, .memory_limit = (uint64_t)MEMORY_MB << 20, .growth_limit = (uint64_t)GROWTH_MB << 20};
    char folder[LINE_MAX_BYTES];
    kvc_rules rules;
    int assumed;

    if (!kvc_data_find(folder, sizeof folder, error) || !kvc_data_catalogue(folder, &self->catalogue, error) ||
        kvc_target_parse(text, &options, &self->target, error) != KVC_TARGET_READY ||
        kvc_target_prepare(&self->target, &options, folder, error) != KVC_TARGET_READY)
        return 0;
    crew.catalogue = &self->catalogue;
    crew.access = self->target.access;
    crew.stall_ms = self->target.access.process.timeout_ms;
    self->crew = kvc_crew_open(&crew, error);
    if (self->crew == NULL || kvc_crew_hello(self->crew, &self->hello, error) != KVC_CREW_DONE)
        return 0;
    self->variants = kvc_hello_variants(self->hello);
    (void)snprintf(self->selection.subject, sizeof self->selection.subject, "%s",
                   cJSON_GetObjectItemCaseSensitive(self->hello, "subject")->valuestring);
    (void)snprintf(self->selection.version, sizeof self->selection.version, "%s",
                   cJSON_GetObjectItemCaseSensitive(self->hello, "version")->valuestring);
    (void)snprintf(self->selection.variant, sizeof self->selection.variant, "%s", self->target.variant);
    self->spec = kvc_catalogue_spec(&self->catalogue, self->selection.subject, self->selection.variant);
    self->contract = kvc_catalogue_contract(&self->catalogue, self->selection.subject, self->selection.version, &assumed);
    if (self->variants == NULL || self->spec == NULL || self->contract == NULL) {
        kvc_error_set(error, "%s: expected SUBJECT:VARIANT with a spec, and a version with a contract", text);
        return 0;
    }
    (void)snprintf(self->selection.contract, sizeof self->selection.contract, "%s", self->contract->id);
    kvc_catalogue_rules(&self->catalogue, self->contract, self->spec->variant, &rules);
    kvc_choice_make(&self->catalogue, self->spec, &rules, self->selection.version, self->variants, &self->choice);
    return kvc_oracle_choose(self, 1, error);
}

/* What is looked for: the failure of this case. */
static int read_like(kvc_oracle *self, const char *path, kvc_error *error)
{
    kvc_case item;
    int failed;

    if (!kvc_case_read(path, &self->catalogue, &item, error))
        return 0;
    failed = kvc_oracle_perform(self, &item.params, &item.sequence, &self->like, error);
    if (failed == 0)
        kvc_error_set(error, "%s: it conforms here", path);
    self->has_like = failed > 0;
    return failed > 0;
}

/* Reads whole numbers up to the end of the line. Returns how many, -1 when there is something else or too many. */
static int read_numbers(const char *text, int64_t *number, int most)
{
    int count = 0;

    for (;;) {
        char *end;
        text += strspn(text, " ");
        if (*text == '\0')
            return count;
        errno = 0;
        if (count == most)
            return -1;
        number[count++] = strtoll(text, &end, 10);
        if (end == text || errno != 0 || (*end != ' ' && *end != '\0'))
            return -1;
        text = end;
    }
}

static int answer_start(kvc_oracle *self, const int64_t *number, int count)
{
    const kvc_param_info *table = kvc_param_table();
    kvc_params params = kvc_choice_smallest(&self->choice);

    if (count != KVC_PARAMS)
        return 0;
    for (int at = 0; at < KVC_PARAMS; at++) {
        if (number[at] < table[at].minimum || number[at] > table[at].maximum)
            return 0;
        kvc_param_set(&params, at, (int32_t)number[at]);
    }
    if (kvc_oracle_start(self, &params))
        (void)printf("ok %d %u\n", kvc_plan_boundary(&self->plan), self->plan.ops);
    else
        (void)printf("no\n");
    return 1;
}

static int answer_op(kvc_oracle *self, const int64_t *number, int count)
{
    kvc_op op = {.kind = 0};
    int taken;

    if (!self->started || count < 2 || number[0] < 0 || number[0] >= KVC_OP_KINDS || number[1] < -KVC_TOKENS_MAX ||
        number[1] > KVC_TOKENS_MAX || count - 2 > KVC_ROWS_MAX)
        return 0;
    op.kind = (uint8_t)number[0];
    op.n = (int32_t)number[1];
    op.count = (uint8_t)(count - 2);
    for (int at = 2; at < count; at++) {
        if (number[at] < 0 || number[at] > KVC_COUNT_MAX)
            return 0;
        op.rows[at - 2] = (uint8_t)number[at];
    }
    taken = kvc_oracle_take(self, &op);
    if (taken > 0)
        (void)printf("ok %d %d\n", (int)kvc_oracle_held(self), (int)self->model.rows);
    else
        (void)printf("no\n");
    return taken >= 0;
}

static int answer_judge(kvc_oracle *self, kvc_error *error)
{
    const kvc_params params = self->plan.params;
    kvc_failure failure;
    int failed;

    if (!self->started)
        return 0;
    failed = self->sequence.count > 0 ? kvc_oracle_perform(self, &params, &self->sequence, &failure, error) : 0;
    if (failed > 0)
        kvc_oracle_print_case(kvc_oracle_is_like(self, &failure) ? "fails" : "other", &self->sequence, &failure);
    else if (failed == 0)
        (void)printf("conforms\n");
    return failed >= 0;
}

/* Returns 0 for a line that cannot be answered, with *error set where it is not the line's fault. */
static int answer(kvc_oracle *self, char *line, kvc_error *error)
{
    char *word = line;
    char *rest = line + strcspn(line, " ");
    int64_t number[KVC_PARAMS + KVC_ROWS_MAX];
    int count;

    if (*rest != '\0')
        *rest++ = '\0';
    count = read_numbers(rest, number, (int)(sizeof number / sizeof number[0]));
    if (strcmp(word, "start") == 0)
        return answer_start(self, number, count);
    if (strcmp(word, "op") == 0)
        return answer_op(self, number, count);
    if (strcmp(word, "judge") == 0)
        return answer_judge(self, error);
    if (count != 2 || number[0] < 0 || number[1] < 0)
        return 0;
    if (strcmp(word, "random") == 0)
        return kvc_oracle_random(self, (uint64_t)number[0], (uint64_t)number[1], error);
    if (strcmp(word, "generator") == 0)
        return kvc_oracle_generator(self, (uint64_t)number[0], (uint64_t)number[1], error);
    if (strcmp(word, "explore") == 0)
        return kvc_oracle_explore(self, (uint64_t)number[0], (uint64_t)number[1], error);
    return 0;
}

/* The values of a parameter that may be chosen, the simplest first. */
static cJSON *values_of(const kvc_oracle *self, int index, const kvc_params *smallest)
{
    const kvc_param_info *info = &kvc_param_table()[index];
    const kvc_spec *spec = self->spec;
    cJSON *list = cJSON_CreateArray();

    cJSON_AddItemToArray(list, cJSON_CreateNumber(kvc_param_get(smallest, index)));
    for (int32_t value = info->minimum; value <= info->maximum; value++) {
        int allowed = 0;
        if (info->offset == offsetof(kvc_params, dtype))
            allowed = (spec->dtypes & 1u << value) != 0;
        else if (info->offset == offsetof(kvc_params, call))
            allowed = (self->choice.calls & 1u << value) != 0;
        else if (info->offset == offsetof(kvc_params, layout) || info->offset == offsetof(kvc_params, watch))
            allowed = 1;
        else if ((spec->params & 1u << index) != 0 && (self->choice.frozen & 1u << index) == 0)
            allowed = value >= spec->low[index] && value <= spec->high[index] &&
                      (value - spec->low[index]) % spec->step[index] == 0;
        if (allowed && value != kvc_param_get(smallest, index))
            cJSON_AddItemToArray(list, cJSON_CreateNumber(value));
    }
    return list;
}

/* What can be chosen, as one line. Returns 0 when memory is short. */
static int print_head(const kvc_oracle *self)
{
    kvc_params smallest = kvc_choice_smallest(&self->choice);
    cJSON *head = cJSON_CreateObject();
    cJSON *parameters = cJSON_AddArrayToObject(head, "parameters");
    cJSON *combinations = cJSON_AddArrayToObject(head, "combinations");
    cJSON *kinds = cJSON_AddArrayToObject(head, "kinds");
    char *text;

    cJSON_AddStringToObject(head, "version", self->selection.version);
    for (int at = 0; at < KVC_PARAMS; at++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "name", kvc_param_table()[at].name);
        cJSON_AddItemToObject(entry, "values", values_of(self, at, &smallest));
        cJSON_AddItemToArray(parameters, entry);
    }
    for (int at = 0; at < self->choice.combinations; at++) {
        int pair[2] = {self->choice.parts[at], self->choice.layers[at]};
        cJSON_AddItemToArray(combinations, cJSON_CreateIntArray(pair, 2));
    }
    for (int kind = 0; kind < KVC_OP_KINDS; kind++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "name", kvc_op_name((kvc_op_kind)kind));
        cJSON_AddBoolToObject(entry, "number", kvc_op_has_number((kvc_op_kind)kind));
        cJSON_AddBoolToObject(entry, "rows", kvc_op_names_rows((kvc_op_kind)kind));
        cJSON_AddBoolToObject(entry, "counts", kvc_op_has_counts((kvc_op_kind)kind));
        cJSON_AddItemToArray(kinds, entry);
    }
    text = cJSON_PrintUnformatted(head);
    if (text != NULL)
        (void)printf("%s\n", text);
    cJSON_Delete(head);
    cJSON_free(text);
    return text != NULL && fflush(stdout) == 0;
}

static int serve(kvc_oracle *self, kvc_error *error)
{
    char line[LINE_MAX_BYTES];

    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        error->text[0] = '\0';
        if (!answer(self, line, error)) {
            if (error->text[0] == '\0')
                kvc_error_set(error, "\"%.60s\": expected start, op, judge, random, generator or explore, and their numbers", line);
            return 0;
        }
        if (fflush(stdout) != 0)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    kvc_oracle *self = calloc(1, sizeof *self);
    const char *python = NULL;
    const char *like = NULL;
    const char *target = NULL;
    kvc_error error = {""};
    int good;

    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--python") == 0 && at + 1 < argc)
            python = argv[++at];
        else if (strcmp(argv[at], "--like") == 0 && at + 1 < argc)
            like = argv[++at];
        else if (argv[at][0] != '-' && target == NULL)
            target = argv[at];
        else
            argc = 0;
    }
    if (self == NULL || target == NULL || argc == 0) {
        (void)fprintf(stderr, "usage: oracle [--python PATH] [--like CASE.json] SUBJECT:VARIANT\n"
                              "example: echo 'random 1 1000' | oracle builtin:full+zero_empties\n");
        free(self);
        return 2;
    }
    good = open_subject(self, target, python, &error) && (like == NULL || read_like(self, like, &error));
    if (good) {
        kvc_params params = kvc_choice_smallest(&self->choice);
        good = kvc_plan_make(&self->catalogue, self->contract, self->spec, self->selection.variant, &params, &self->plan, &error) &&
               kvc_model_open(&self->model, &self->plan);
        good = good && print_head(self) && serve(self, &error);
        kvc_model_close(&self->model);
    }
    if (!good)
        (void)fprintf(stderr, "oracle: %s\n", error.text[0] != '\0' ? error.text : "not enough memory");
    kvc_crew_close(self->crew);
    kvc_generator_close(self->generator);
    free(self->variants);
    kvc_catalogue_clear(&self->catalogue);
    free(self);
    return good ? 0 : 1;
}
