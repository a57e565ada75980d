#include "harness/until.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 100000, STANDSTILL_MIN = 10 * KVC_ROUND };

struct kvc_until {
    uint64_t times;
    uint8_t reachable[KVC_OP_KINDS][KVC_SITUATIONS];
    uint64_t judged[KVC_OP_KINDS][KVC_SITUATIONS]; /* in all portions so far, as far as it was looked at */
    uint64_t before[KVC_OP_KINDS][KVC_SITUATIONS]; /* in those before this one */
    uint64_t sequences_before;
    uint64_t lacking;  /* how many more are wanted, over all */
    uint64_t progress; /* number of sequences when that last became less */
    int covered;
    int standstill;
};

kvc_until *kvc_until_open(kvc_generator *generator, uint64_t times, kvc_error *error)
{
    kvc_until *until = calloc(1, sizeof *until);
    kvc_coverage *coverage = calloc(1, sizeof *coverage);
    kvc_exclusions *nothing = calloc(1, sizeof *nothing);
    kvc_sequence sequence;
    int good = until != NULL && coverage != NULL && nothing != NULL;

    kvc_error_set(error, "not enough memory");
    for (uint64_t index = 0; good && index < LOOKED_AT; index++)
        good = kvc_generator_sequence(generator, index, nothing, &sequence, coverage, error);
    if (good) {
        until->times = times;
        until->lacking = UINT64_MAX;
        for (int op = 0; op < KVC_OP_KINDS; op++) {
            for (int code = 0; code < KVC_SITUATIONS; code++)
                until->reachable[op][code] = coverage->of[op][code].planned > 0;
        }
    } else {
        free(until);
        until = NULL;
    }
    free(coverage);
    free(nothing);
    return until;
}

void kvc_until_close(kvc_until *until)
{
    free(until);
}

static uint64_t lack(const kvc_until *until, uint64_t judged)
{
    return judged < until->times ? until->times - judged : 0;
}

int kvc_until_is_over(kvc_until *until, const kvc_coverage *coverage, const kvc_exclusions *exclusions, uint64_t sequences)
{
    uint64_t lacking = 0;

    sequences += until->sequences_before;
    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            if (!until->reachable[op][code])
                continue;
            until->judged[op][code] = until->before[op][code] + coverage->of[op][code].judged;
            if (!exclusions->always[op][code])
                lacking += lack(until, until->judged[op][code]);
        }
    }
    if (lacking < until->lacking)
        until->progress = sequences;
    until->lacking = lacking;
    until->covered = lacking == 0;
    until->standstill = !until->covered && sequences >= 2 * until->progress && sequences >= STANDSTILL_MIN;
    return until->covered || until->standstill;
}

void kvc_until_add(kvc_until *until, const kvc_coverage *coverage, uint64_t sequences)
{
    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            if (until->reachable[op][code])
                until->judged[op][code] = until->before[op][code] += coverage->of[op][code].judged;
        }
    }
    until->sequences_before += sequences;
}

cJSON *kvc_until_print(const kvc_until *until)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *missing = cJSON_CreateArray();
    double reachable = 0;
    double reached = 0;

    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            kvc_situation situation;
            char text[160];
            cJSON *row;
            reachable += until->reachable[op][code];
            reached += until->reachable[op][code] && lack(until, until->judged[op][code]) == 0;
            if (!until->reachable[op][code] || lack(until, until->judged[op][code]) == 0)
                continue;
            row = cJSON_CreateObject();
            kvc_situation_from_code(code, &situation);
            cJSON_AddStringToObject(row, "op", kvc_op_name((kvc_op_kind)op));
            cJSON_AddStringToObject(row, "situation", kvc_situation_text(&situation, text, sizeof text));
            cJSON_AddNumberToObject(row, "count", (double)until->judged[op][code]);
            cJSON_AddItemToArray(missing, row);
        }
    }
    cJSON_AddNumberToObject(json, "times", (double)until->times);
    cJSON_AddNumberToObject(json, "reachable", reachable);
    cJSON_AddNumberToObject(json, "reached", reached);
    cJSON_AddStringToObject(json, "ended", until->covered ? "covered" : until->standstill ? "standstill" : "bound");
    if (!cJSON_AddItemToObject(json, "missing", missing)) {
        cJSON_Delete(missing);
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}
