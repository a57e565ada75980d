#include "harness/bisect.h"

#include <stdio.h>
#include <string.h>

void kvc_verdict_take(kvc_verdict_at *verdict, const kvc_replayed *replayed)
{
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(replayed->detail, "title");

    verdict->known = 1;
    verdict->outcome = replayed->outcome;
    verdict->law = replayed->law;
    if (replayed->outcome == KVC_CASE_BREAKS)
        (void)snprintf(verdict->text, sizeof verdict->text, "breaks %s: %.600s", kvc_law_name(replayed->law),
                       cJSON_IsString(title) ? title->valuestring : "");
    else if (replayed->outcome == KVC_CASE_CONFORMS)
        (void)snprintf(verdict->text, sizeof verdict->text, "conforms");
    else
        (void)snprintf(verdict->text, sizeof verdict->text, "%s: %.600s",
                       kvc_case_outcome_text(replayed->outcome, KVC_ALIVE), replayed->why.text);
}

int kvc_verdicts_alike(const kvc_verdict_at *a, const kvc_verdict_at *b)
{
    return a->outcome == b->outcome && (a->outcome != KVC_CASE_BREAKS || a->law == b->law);
}

int kvc_bisect(int count, kvc_bisect_ask *ask, void *context, kvc_verdict_at *verdict, int *changed)
{
    int low = 0;
    int high = count - 1;
    int status;

    *changed = 0;
    if ((status = ask(context, low, &verdict[low])) != 0 || high == low)
        return status;
    if ((status = ask(context, high, &verdict[high])) != 0)
        return status;
    if (kvc_verdicts_alike(&verdict[low], &verdict[high]))
        return 0;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if ((status = ask(context, middle, &verdict[middle])) != 0)
            return status;
        if (kvc_verdicts_alike(&verdict[middle], &verdict[0]))
            low = middle;
        else
            high = middle;
    }
    *changed = high;
    return 0;
}
