#include "reports/runtimes.h"

#include <string.h>

#include "reference/spec.h"

/* The ends of situations (reference/model.h) that say how much a crop asks for. What removes all is a removal of some. The last is asked by what
 * is appended right behind a rollback. */
static const char go_on[] = "and go on";
static const struct {
    const char *ending, *ask;
} asks[] = {
    {", asked for nothing", "nothing"},
    {", asked for some", "some or all"},
    {", asked for all", "some or all"},
    {", asked for more than there is", "more than there is"},
    {", asked with a positive number", "the other sign or a range"},
    {", asked for all of any", "everything in all sequences"},
    {", asked for some of any", "a range in all sequences"},
    {NULL, go_on},
};

static const char append[] = "append";
static const char roll_back[] = "roll back";
/* What users ask for, whatever a runtime calls it. Ops that are not here go by their own name. */
static const struct {
    const char *op, *asked;
} meanings[] = {
    {"append", append},          {"decode", append},
    {"append_rows", append},     {"crop", roll_back},
    {"trim", roll_back},         {"seq_rm", roll_back},
    {"reset", "empty"},          {"clear", "empty"},
    {"pickle", "save, restore"}, {"save", "save, restore"},
    {"state", "save, restore"},  {"seq_save", "save, restore"},
    {"seq_restore", "save, restore"}, {"copy", "copy"},
    {"seq_cp", "copy"},          {"seq_keep", "keep one sequence alone"},
    {"seq_add", "move positions"}, {"seq_div", "divide positions"},
};

static int ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

static kvc_question question_of(const char *op, const char *situation)
{
    kvc_question question = {op, "", 0};
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strcmp(meanings[i].op, op) == 0) {
            question.op = meanings[i].asked;
        }
    }
    /* Whether a rollback was right shows in what comes behind it. */
    if (question.op == append && strstr(situation, ", just cropped") != NULL) {
        question.op = roll_back;
        question.ask = go_on;
        return question;
    }
    for (size_t i = 0; i < sizeof asks / sizeof asks[0] && question.op == roll_back; i++) {
        if (asks[i].ending != NULL && ends_with(situation, asks[i].ending)) {
            question.ask = asks[i].ask;
            question.past = strstr(situation, "past its boundary") != NULL || strstr(situation, "at its boundary") != NULL;
        }
    }
    return question;
}

/* Of two questions about one op: how much is asked for, then whether it is past the boundary. */
static int ask_rank(const kvc_question *question)
{
    int rank = 0;
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        rank = strcmp(asks[i].ask, question->ask) == 0 ? (int)i + 1 : rank;
    }
    return 2 * rank + question->past;
}

/* Where a question stands; KVC_QUESTIONS_MAX when there is no room. Ops in the order in which they are met. */
static size_t place_question(kvc_runtimes *out, const kvc_question *question)
{
    size_t place = out->questions;
    int rank = ask_rank(question);
    for (size_t i = 0; i < out->questions; i++) {
        if (strcmp(out->question[i].op, question->op) == 0) {
            int other = ask_rank(&out->question[i]);
            if (other == rank) {
                return i;
            }
            place = other < rank ? i + 1 : i;
            if (other > rank) {
                break;
            }
        }
    }
    if (out->questions == KVC_QUESTIONS_MAX) {
        return KVC_QUESTIONS_MAX;
    }
    memmove(&out->question[place + 1], &out->question[place], (out->questions - place) * sizeof out->question[0]);
    out->question[place] = *question;
    out->questions++;
    return place;
}

/* Where a kind stands among those of specs; others come behind them. */
static int kind_rank(const char *kind)
{
    int rank = 0;
    while (rank < KVC_KINDS && strcmp(kvc_kind_name((kvc_kind)rank), kind) != 0) {
        rank++;
    }
    return rank;
}

/* Where a kind stands; KVC_RUNTIME_KINDS_MAX when there is no room. In the order of specs. */
static size_t place_kind(kvc_runtimes *out, const char *kind)
{
    size_t place = out->kinds;
    for (size_t i = 0; i < out->kinds; i++) {
        if (strcmp(out->kind[i], kind) == 0) {
            return i;
        }
    }
    if (out->kinds == KVC_RUNTIME_KINDS_MAX) {
        return KVC_RUNTIME_KINDS_MAX;
    }
    for (; place > 0 && kind_rank(out->kind[place - 1]) > kind_rank(kind); place--) {
        out->kind[place] = out->kind[place - 1];
    }
    out->kind[place] = kind;
    out->kinds++;
    return place;
}

/* The newest version of each subject of which something was run. */
static void choose_versions(const kvc_report_model *model, kvc_runtimes *out)
{
    for (size_t subject = 0; subject < model->subject_count && out->subjects < KVC_RUNTIMES_MAX; subject++) {
        size_t newest = KVC_NONE;
        for (size_t i = 0; i < model->version_count; i++) {
            const kvc_report_version *version = &model->versions[i];
            if (version->subject_index == subject && version->was_run &&
                (newest == KVC_NONE || version->ordinal > model->versions[newest].ordinal)) {
                newest = i;
            }
        }
        if (newest != KVC_NONE) {
            out->version[out->subjects++] = newest;
        }
    }
}

static size_t subject_of(const kvc_runtimes *out, const kvc_report_run *run)
{
    for (size_t i = 0; i < out->subjects; i++) {
        if (out->version[i] == run->version && kvc_report_was_run(run->status)) {
            return i;
        }
    }
    return KVC_RUNTIMES_MAX;
}

static void worsen(kvc_answer *answer, kvc_answer other)
{
    /* Done by one variant and refused by another is either. */
    if ((*answer == KVC_ANSWER_DONE && other == KVC_ANSWER_REFUSED) || (*answer == KVC_ANSWER_REFUSED && other == KVC_ANSWER_DONE)) {
        *answer = KVC_ANSWER_EITHER;
    } else if (*answer == KVC_ANSWER_EITHER && other == KVC_ANSWER_REFUSED) {
        return;
    } else if (other > *answer) {
        *answer = other;
    }
}

static const char *name_at(const cJSON *ops, int at)
{
    const cJSON *name = cJSON_GetArrayItem(cJSON_GetArrayItem(ops, at), 0);
    return cJSON_IsString(name) ? name->valuestring : "";
}

/*
 * What a finding is about: the op that it names; in the first results, which name none, the one that failed. Of what a decode gives it is the
 * op before it whose rule decided, and where a process ended, which has no rule, the last: what was moved, copied or restored shows only then.
 */
static kvc_question question_about(const cJSON *finding)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(finding, "case"), "ops");
    const char *rule = kvc_json_string(cJSON_GetObjectItemCaseSensitive(finding, "rule"), "name");
    const char *said = kvc_json_string(finding, "op");
    int dies = strcmp(kvc_json_string(finding, "law"), "ALIVE") == 0;
    int step = (int)kvc_json_number(finding, "step");
    kvc_question question = question_of(*said != '\0' ? said : name_at(ops, step), kvc_json_string(finding, "situation"));
    for (int at = 0; at < step && question.op == append; at++) {
        const char *name = name_at(ops, at);
        kvc_question before = question_of(name, "");
        if (*name != '\0' && before.op != append && before.op != roll_back &&
            (strncmp(rule, name, strlen(name)) == 0 || (dies && strncmp(name, "seq_", 4) == 0))) {
            question = before;
        }
    }
    return question;
}

/* What one run says of a question that it was asked. */
static kvc_answer answer_of(const cJSON *run, const kvc_question *question, uint64_t count, uint64_t refused)
{
    kvc_answer answer = refused == 0 ? KVC_ANSWER_DONE : refused == count ? KVC_ANSWER_REFUSED : KVC_ANSWER_EITHER;
    const cJSON *finding = NULL;
    cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(run, "findings")) {
        kvc_question about = question_about(finding);
        const char *severity = kvc_json_string(finding, "severity");
        if (strcmp(about.op, question->op) != 0 || strcmp(about.ask, question->ask) != 0 || about.past != question->past) {
            continue;
        }
        worsen(&answer, strcmp(severity, "crash") == 0   ? KVC_ANSWER_DIED
                        : strcmp(severity, "error") == 0 ? KVC_ANSWER_ERROR
                                                         : KVC_ANSWER_WRONG);
    }
    return answer;
}

/* What a run was asked by its findings. Their cases were run too, though `coverage` does not count what made them smaller. */
static void place_findings(const cJSON *run, uint64_t *counts, kvc_runtimes *out)
{
    const cJSON *finding = NULL;
    cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(run, "findings")) {
        kvc_question question = question_about(finding);
        size_t at = *question.op != '\0' ? place_question(out, &question) : KVC_QUESTIONS_MAX;
        if (at < KVC_QUESTIONS_MAX && counts != NULL) {
            counts[at] += counts[at] == 0;
        }
    }
}

static void add_run(const kvc_report_run *run, size_t subject, size_t kind, kvc_runtimes *out)
{
    uint64_t counts[KVC_QUESTIONS_MAX] = {0};
    uint64_t refusals[KVC_QUESTIONS_MAX] = {0};
    const cJSON *entry = NULL;
    cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(run->json, "coverage")) {
        kvc_question question = question_of(kvc_json_string(entry, "op"), kvc_json_string(entry, "situation"));
        size_t at = place_question(out, &question);
        if (at < KVC_QUESTIONS_MAX) {
            counts[at] += (uint64_t)kvc_json_number(entry, "count");
            refusals[at] += (uint64_t)kvc_json_number(entry, "refused");
        }
    }
    place_findings(run->json, counts, out);
    out->variants[kind][subject]++;
    out->bad[kind][subject] += run->status == KVC_STATUS_FINDINGS;
    for (size_t at = 0; at < out->questions; at++) {
        if (counts[at] > 0) {
            kvc_runtime_cell *cell = &out->cell[kind][at][subject];
            kvc_answer answer = answer_of(run->json, &out->question[at], counts[at], refusals[at]);
            cell->asked++;
            cell->bad += answer >= KVC_ANSWER_ERROR;
            worsen(&cell->answer, answer);
        }
    }
}

void kvc_runtimes_gather(const kvc_report_model *model, kvc_runtimes *out)
{
    memset(out, 0, sizeof *out);
    choose_versions(model, out);
    /* All questions first: where they stand must not change any more when answers are counted. */
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < model->run_count; i++) {
            const kvc_report_run *run = &model->runs[i];
            const char *kind = kvc_json_string(run->json, "kind");
            size_t subject = subject_of(out, run);
            const cJSON *entry = NULL;
            if (subject == KVC_RUNTIMES_MAX || *kind == '\0') {
                continue;
            }
            size_t place = place_kind(out, kind);
            if (pass == 1 && place < KVC_RUNTIME_KINDS_MAX) {
                add_run(run, subject, place, out);
                continue;
            }
            cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(run->json, "coverage")) {
                kvc_question question = question_of(kvc_json_string(entry, "op"), kvc_json_string(entry, "situation"));
                (void)place_question(out, &question);
            }
            place_findings(run->json, NULL, out);
        }
    }
    for (size_t kind = 0; kind < out->kinds; kind++) {
        for (size_t at = 0; at < out->questions; at++) {
            for (size_t subject = 0; subject < out->subjects; subject++) {
                if (out->cell[kind][at][subject].asked == 0 && out->variants[kind][subject] > 0) {
                    out->cell[kind][at][subject].answer = KVC_ANSWER_NO_OP;
                }
            }
        }
    }
}

size_t kvc_runtimes_broken(const kvc_report_model *model, const kvc_runtimes *runtimes, size_t kind, size_t subject, const char *law)
{
    size_t count = 0;
    for (size_t i = 0; i < model->finding_count; i++) {
        const kvc_report_finding *finding = &model->findings[i];
        const kvc_report_run *run = &model->runs[finding->run];
        count += run->version == runtimes->version[subject] && strcmp(kvc_json_string(run->json, "kind"), runtimes->kind[kind]) == 0 &&
                 strcmp(model->causes[finding->cause].law, law) == 0;
    }
    return count;
}

void kvc_words_add_question(kvc_text *text, const kvc_question *question)
{
    kvc_text_add(text, question->op);
    if (question->ask == go_on) {
        kvc_text_add_format(text, " %s", go_on);
    } else if (*question->ask != '\0') {
        kvc_text_add_format(text, " by %s%s", question->ask, question->past ? ", at or past the boundary" : "");
    }
}

const char *kvc_answer_glyph(kvc_answer answer)
{
    static const char *const glyphs[] = {"–", "∅", "✓", "✓", "⊖", "✗", "✗", "✗"};
    return glyphs[answer];
}

const char *kvc_answer_word(kvc_answer answer)
{
    static const char *const words[] = {"no such cache", "no such op",       "done",           "done or refused",
                                        "refuses",       "unannounced error", "silently wrong", "dies"};
    return words[answer];
}
