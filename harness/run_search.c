/* kvconform fuzz: the search of one variant. It is one portion without an end of its own, saved while it goes on. */
#include <stdio.h>

#include "harness/carry.h"
#include "harness/running.h"

/* What is known of the variant that is searched. */
typedef struct searching {
    kvc_running *running;
    kvc_record_run *run;
    const kvc_bench *bench;
    kvc_generator *generator;
} searching;

/* What the search has found, with what earlier sessions did, as an entry of the result. NULL with the complaint made. */
static cJSON *add_entry(const searching *self, const kvc_exploration *exploration, kvc_portion_end end, const char *why)
{
    kvc_running *running = self->running;
    cJSON *open = kvc_record_open(self->run, &(kvc_record_explored){self->bench, self->generator});
    cJSON *entry = NULL;
    kvc_error error = {"not enough memory"};

    if (open != NULL && kvc_portion_add(open, 0, self->run, self->bench, exploration, end, why))
        entry = kvc_portions_join(open, &error);
    cJSON_Delete(open);
    if (entry == NULL || kvc_carry_findings(running->earlier, entry) < 0 ||
        !cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(running->result, "runs"), entry)) {
        cJSON_Delete(entry);
        kvc_running_fail(running, error.text);
        return NULL;
    }
    return entry;
}

/* It has found something new, or has gone on for a while. */
static void save_search(void *context, const kvc_exploration *exploration)
{
    const searching *self = context;
    /* What has no end yet has not conformed. */
    cJSON *entry = add_entry(self, exploration, KVC_PORTION_FAILED, "the search was going on when this was written");

    if (entry == NULL)
        return;
    kvc_running_save(self->running, entry);
    cJSON_Delete(cJSON_DetachItemViaPointer(cJSON_GetObjectItemCaseSensitive(self->running->result, "runs"), entry));
}

/* The corpus of the variant. NULL with *error set. */
static kvc_guide *open_guide(const searching *self, char *cases, size_t size, kvc_error *error)
{
    const kvc_options *options = self->running->session->options;
    kvc_guide_options guide = {self->running->corpus, self->running->corpus_folder, &options->corpus[1], options->corpora - 1, cases,
                               options->minimise};

    /* What was reported must show again. */
    (void)snprintf(cases, size, "%s/cases", options->report);
    return kvc_guide_open(&guide, self->bench, self->generator, error);
}

void kvc_running_search(kvc_running *self, const kvc_bench *bench, kvc_generator *generator, const kvc_selection *selection,
                        kvc_record_run *run, uint64_t sequences)
{
    const kvc_options *options = self->session->options;
    searching search = {self, run, bench, generator};
    kvc_explore_options explore = {.sequences = options->minimise ? 0 : sequences, .milliseconds = options->milliseconds, .scripts = 1,
                                   .save = save_search, .context = &search};
    char cases[4096];
    kvc_exploration *exploration = kvc_exploration_open();
    kvc_error error = {""};
    kvc_crew_result result;
    cJSON *entry;

    if (exploration == NULL) {
        kvc_running_fail(self, "not enough memory");
        return;
    }
    explore.guide = open_guide(&search, cases, sizeof cases, &error);
    if (explore.guide == NULL) {
        kvc_running_not_run(self, run, error.text);
        kvc_exploration_close(exploration);
        return;
    }
    result = kvc_crew_choose(bench->crew, selection, generator, &error);
    if (result == KVC_CREW_DONE) {
        result = kvc_explore(bench, generator, &explore, exploration, &error);
        self->ran++;
        entry = add_entry(&search, exploration,
                          result == KVC_CREW_FAILED    ? KVC_PORTION_FAILED
                          : result == KVC_CREW_STOPPED ? KVC_PORTION_INTERRUPTED
                                                       : KVC_PORTION_WHOLE,
                          result == KVC_CREW_FAILED ? error.text : "");
        self->findings |= cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(entry, "findings")) > 0;
        self->not_run |= result == KVC_CREW_FAILED || (result != KVC_CREW_DONE && exploration->findings == 0);
        if (entry != NULL)
            kvc_running_save(self, entry);
        self->progress.done += options->milliseconds > 0 ? exploration->sequences : explore.sequences;
    } else {
        kvc_running_not_run(self, run, result == KVC_CREW_FAILED ? error.text : "interrupted before it began");
    }
    self->interrupted |= result == KVC_CREW_STOPPED;
    kvc_guide_close(explore.guide);
    kvc_exploration_close(exploration);
}
