#include "harness/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/detail.h"
#include "harness/system.h"
#include "reference/brought.h"

enum {
    LOOK_MS = 20,
    START_TRIES = 5,
    HELLO_TIMES = 10 /* times as long as an op may the loading of a plugin take */
};

typedef struct member {
    pid_t pid; /* 0: none */
    int status; /* of the process before, as waitpid gives it */
    int socket;
    kvc_shared *shared;
    int busy; /* the command it works on, 0 for none */
    uint64_t end; /* of its range */
    uint64_t tick;
    kvc_standing standing; /* since `tick` last changed */
    int64_t look_ms; /* when its memory was last looked at */
    kvc_deviation death; /* how it was ended by us */
    int greeted;
    int has_exclusions; /* in its shared memory, of this choice and of this process */
} member;

struct kvc_crew {
    kvc_crew_options options;
    member *member;
    cJSON *hello;
    char *hello_text; /* of the first worker with a plugin */
    int absent;       /* what failed last: the subject says that it has no such cache */
    kvc_generator *generator;
    kvc_selection selection;
    int chosen;
    int hurry;
    uint64_t earlier; /* sequences of the rounds before, of this choice */
    uint64_t deaths;  /* cases evaluated that ended their process, of this choice */
    kvc_judge *judge;
};

static int start_member(kvc_crew *crew, member *self, kvc_error *error)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        kvc_error_set(error, "no socket: %s", strerror(errno));
        return 0;
    }
    /* A subject that outlives its worker must not hold the socket, or the worker's end would not be heard. */
    (void)fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(pair[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL);
    for (int attempt = 0; (self->pid = fork()) < 0 && attempt < START_TRIES; attempt++)
        (void)poll(NULL, 0, 50 << attempt);
    if (self->pid < 0) {
        kvc_error_set(error, "cannot start a worker: %s", strerror(errno));
        (void)close(pair[0]);
        (void)close(pair[1]);
        self->pid = 0;
        return 0;
    }
    if (self->pid == 0) {
        /* The main process alone answers Ctrl-C; without it the socket ends. */
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGTERM, SIG_DFL);
        (void)close(pair[0]);
        for (int at = 0; at < crew->options.jobs; at++) {
            if (&crew->member[at] != self && crew->member[at].socket >= 0)
                (void)close(crew->member[at].socket);
        }
        kvc_die_with_parent();
        _exit(kvc_worker_run(pair[1], crew->options.catalogue, &crew->options.access, self->shared,
                             crew->options.corpus, crew->options.growth_limit));
    }
    (void)close(pair[1]);
    self->socket = pair[0];
    self->busy = 0;
    self->greeted = 0;
    self->has_exclusions = 0;
    self->death = KVC_AS_EXPECTED;
    return 1;
}

static void end_member(member *self)
{
    if (self->socket >= 0)
        (void)close(self->socket);
    self->socket = -1;
    if (self->pid > 0) {
        int64_t until = kvc_now_ms() + (self->busy ? 0 : 3000);
        pid_t got = 0;
        while ((got = waitpid(self->pid, &self->status, WNOHANG)) == 0 && kvc_now_ms() < until)
            (void)poll(NULL, 0, 2);
        if (got == 0) {
            /* A worker that drives a process takes it along. */
            (void)kill(self->pid, SIGTERM);
            (void)poll(NULL, 0, 20);
            (void)kill(self->pid, SIGKILL);
            while (waitpid(self->pid, &self->status, 0) < 0 && errno == EINTR)
                ;
        }
    }
    self->pid = 0;
    self->busy = 0;
}

static int give_order(member *self, kvc_command command, uint64_t start, uint64_t end)
{
    kvc_order order = {(int32_t)command, 0, start, end};

    self->busy = (int)command;
    self->end = end;
    self->tick = self->shared->tick;
    self->look_ms = kvc_now_ms();
    kvc_standing_begin(&self->standing, (int)self->pid);
    return send(self->socket, &order, sizeof order, MSG_NOSIGNAL) == (ssize_t)sizeof order;
}

kvc_crew *kvc_crew_open(const kvc_crew_options *options, kvc_error *error)
{
    kvc_crew *crew = calloc(1, sizeof *crew);

    if (crew == NULL || (crew->judge = kvc_judge_open()) == NULL ||
        (crew->member = calloc((size_t)options->jobs, sizeof *crew->member)) == NULL) {
        kvc_error_set(error, "not enough memory");
        if (crew != NULL)
            kvc_judge_close(crew->judge);
        free(crew);
        return NULL;
    }
    crew->options = *options;
    for (int at = 0; at < options->jobs; at++) {
        crew->member[at].socket = -1;
        crew->member[at].shared = mmap(NULL, sizeof(kvc_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                       -1, 0);
        if (crew->member[at].shared == MAP_FAILED) {
            crew->member[at].shared = NULL;
            kvc_error_set(error, "not enough memory for a worker");
            kvc_crew_close(crew);
            return NULL;
        }
    }
    for (int at = 0; at < options->jobs; at++) {
        member *self = &crew->member[at];
        if (!start_member(crew, self, error)) {
            kvc_crew_close(crew);
            return NULL;
        }
        (void)give_order(self, KVC_COMMAND_HELLO, 0, 0);
    }
    return crew;
}

void kvc_crew_watch(kvc_crew *crew, void (*progress)(void *context, uint64_t sequences), void *context)
{
    crew->options.progress = progress;
    crew->options.context = context;
}

void kvc_crew_close(kvc_crew *crew)
{
    if (crew == NULL)
        return;
    for (int at = 0; at < crew->options.jobs; at++) {
        if (crew->member[at].socket >= 0) {
            (void)close(crew->member[at].socket);
            crew->member[at].socket = -1;
        }
    }
    for (int at = 0; at < crew->options.jobs; at++) {
        end_member(&crew->member[at]);
        if (crew->member[at].shared != NULL)
            (void)munmap(crew->member[at].shared, sizeof(kvc_shared));
    }
    cJSON_Delete(crew->hello);
    free(crew->hello_text);
    kvc_judge_close(crew->judge);
    free(crew->member);
    free(crew);
}

/* Ends a worker that stands still or holds too much. */
static void look_after(kvc_crew *crew, member *self)
{
    int64_t now = kvc_now_ms();
    int64_t limit = crew->hurry                         ? crew->options.stall_ms / 10
                    : self->busy == KVC_COMMAND_HELLO ? (int64_t)crew->options.stall_ms * HELLO_TIMES
                                                      : crew->options.stall_ms;

    if (!kvc_subject_in_process(&crew->options.access))
        return;
    if (self->shared->tick != self->tick) {
        self->tick = self->shared->tick;
        kvc_standing_begin(&self->standing, (int)self->pid);
    } else if (kvc_standing_look(&self->standing, (int)self->pid) > limit) {
        self->death = KVC_HUNG;
    }
    if (now - self->look_ms > 5 * LOOK_MS) {
        self->look_ms = now;
        if (crew->options.memory_limit > 0 && kvc_memory_use((int)self->pid) > crew->options.memory_limit)
            self->death = KVC_SWELLED;
    }
    if (self->death != KVC_AS_EXPECTED)
        (void)kill(self->pid, SIGKILL);
}

/* What became of the worker: 1 answered, 0 still busy, -1 died. */
static int hear(member *self, kvc_answer *answer)
{
    size_t used = 0;

    while (used < sizeof *answer) {
        ssize_t got = read(self->socket, (char *)answer + used, sizeof *answer - used);
        if (got > 0)
            used += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return -1;
    }
    self->busy = 0;
    return 1;
}

static int stopped(const kvc_crew *crew)
{
    return crew->options.stop != NULL && *crew->options.stop != 0;
}

/*
 * Waits for one of the busy workers first..last to answer or die. *who is its place; *done is 1, 0 (the shared text says what went
 * wrong) or -1 (died).
 */
static kvc_crew_result wait_for_any(kvc_crew *crew, int first, int last, int *who, int *done, kvc_error *error)
{
    struct pollfd ready[KVC_JOBS_MAX];

    for (;;) {
        int count = 0;
        int places[KVC_JOBS_MAX];
        int got;
        for (int at = first; at <= last; at++) {
            if (crew->member[at].busy) {
                ready[count] = (struct pollfd){.fd = crew->member[at].socket, .events = POLLIN};
                places[count++] = at;
            }
        }
        if (count == 0) {
            kvc_error_set(error, "no worker is busy");
            return KVC_CREW_FAILED;
        }
        got = poll(ready, (nfds_t)count, LOOK_MS);
        if (stopped(crew))
            return KVC_CREW_STOPPED;
        for (int at = 0; got > 0 && at < count; at++) {
            kvc_answer answer;
            int heard;
            if (ready[at].revents == 0)
                continue;
            *who = places[at];
            heard = hear(&crew->member[places[at]], &answer);
            *done = heard < 0 ? -1 : answer.done != 0;
            /* It answered at the last moment, when it had been ended: the answer stands, and another goes on. */
            if (heard > 0 && crew->member[places[at]].death != KVC_AS_EXPECTED)
                end_member(&crew->member[places[at]]);
            return KVC_CREW_DONE;
        }
        for (int at = 0; at < count; at++)
            look_after(crew, &crew->member[places[at]]);
        if (crew->options.progress != NULL) {
            crew->options.progress(crew->options.context, crew->earlier + kvc_crew_begun(crew));
        }
    }
}

/* A worker ended while it did something that is no op: takes it away and says how it ended. */
static void bury(kvc_crew *crew, member *self, const char *doing, kvc_error *error)
{
    kvc_deviation death = self->death;

    end_member(self);
    if (death == KVC_HUNG)
        kvc_error_set(error, "the subject gave no answer for %d ms while it %s", crew->options.stall_ms * HELLO_TIMES, doing);
    else if (death == KVC_SWELLED)
        kvc_error_set(error, "the subject passed its memory limit while it %s", doing);
    else if (WIFSIGNALED(self->status))
        kvc_error_set(error, "the subject crashed while it %s: signal %d (%s)", doing, WTERMSIG(self->status),
                      strsignal(WTERMSIG(self->status)));
    else
        kvc_error_set(error, "the subject ended its process while it %s: exit status %d", doing, WEXITSTATUS(self->status));
}

/* Waits for one worker. */
static kvc_crew_result wait_for(kvc_crew *crew, member *self, int *done, kvc_error *error)
{
    int place = (int)(self - crew->member);
    int who;

    return wait_for_any(crew, place, place, &who, done, error);
}

static kvc_crew_result fail_with_text(kvc_crew *crew, member *self, kvc_error *error)
{
    crew->absent = self->shared->absent != 0;
    self->shared->text[sizeof error->text - 1] = '\0';
    kvc_error_set(error, "%s", self->shared->text);
    return KVC_CREW_FAILED;
}

/*
 * A worker has said hello. A plugin's must be the same in all of them: what one worker counts is read by the spec that another
 * brought.
 */
static kvc_crew_result greet(kvc_crew *crew, member *self, kvc_error *error)
{
    const char *text = self->shared->text;

    self->greeted = 1;
    if (!kvc_subject_in_process(&crew->options.access))
        return KVC_CREW_DONE;
    self->shared->text[KVC_SHARED_TEXT - 1] = '\0';
    if (crew->hello_text == NULL && (crew->hello_text = strdup(text)) == NULL) {
        kvc_error_set(error, "not enough memory");
        return KVC_CREW_FAILED;
    }
    if (strcmp(crew->hello_text, text) == 0)
        return KVC_CREW_DONE;
    kvc_error_set(error, "the plugin says another name, version, variants, specs or contract when it is loaded again");
    return KVC_CREW_FAILED;
}

/* Gives the choice to a worker and waits until it was taken: nothing of the subject's runs then. */
static kvc_crew_result give_choice(kvc_crew *crew, member *self, kvc_error *error)
{
    kvc_crew_result result;
    int done;

    self->shared->selection = crew->selection;
    (void)give_order(self, KVC_COMMAND_CHOOSE, 0, 0);
    result = wait_for(crew, self, &done, error);
    if (result != KVC_CREW_DONE)
        return result;
    if (done < 0) {
        end_member(self);
        kvc_error_set(error, "a worker ended while it chose a variant");
        return KVC_CREW_FAILED;
    }
    return done == 0 ? fail_with_text(crew, self, error) : KVC_CREW_DONE;
}

/* Makes sure that a worker is up, knows its subject, has the choice and waits for an order. */
static kvc_crew_result make_ready(kvc_crew *crew, member *self, kvc_error *error)
{
    kvc_crew_result result;
    int done;

    /* It started late and may still be choosing: its answer must not be taken for that of the next order. */
    if (self->pid != 0 && self->greeted && self->busy) {
        result = wait_for(crew, self, &done, error);
        if (result != KVC_CREW_DONE)
            return result;
        if (done == 0)
            return fail_with_text(crew, self, error);
        if (done < 0)
            end_member(self);
    }
    if (self->pid == 0) {
        if (!start_member(crew, self, error))
            return KVC_CREW_FAILED;
        (void)give_order(self, KVC_COMMAND_HELLO, 0, 0);
    }
    if (!self->greeted) {
        result = wait_for(crew, self, &done, error);
        if (result != KVC_CREW_DONE)
            return result;
        if (done == 0)
            return fail_with_text(crew, self, error);
        if (done < 0) {
            bury(crew, self, "started", error);
            return KVC_CREW_FAILED;
        }
        result = greet(crew, self, error);
        if (result != KVC_CREW_DONE)
            return result;
        if (crew->chosen)
            return give_choice(crew, self, error);
    }
    return KVC_CREW_DONE;
}

int kvc_crew_is_absent(const kvc_crew *crew)
{
    return crew->absent;
}

void kvc_crew_hurry(kvc_crew *crew, int hurry)
{
    crew->hurry = hurry;
}

kvc_crew_result kvc_crew_hello(kvc_crew *crew, const cJSON **hello, kvc_error *error)
{
    kvc_crew_result result;

    if (crew->hello == NULL) {
        result = make_ready(crew, &crew->member[0], error);
        if (result != KVC_CREW_DONE)
            return result;
        crew->hello = cJSON_Parse(crew->member[0].shared->text);
        if (crew->hello == NULL) {
            kvc_error_set(error, "not enough memory");
            return KVC_CREW_FAILED;
        }
        if (!kvc_catalogue_bring(crew->options.catalogue, crew->hello, error))
            return KVC_CREW_FAILED;
    }
    *hello = crew->hello;
    return KVC_CREW_DONE;
}

/* A worker may still be at the variant before, which another could not go on with: what it says of that matters no more. */
static kvc_crew_result let_finish(kvc_crew *crew, member *self, kvc_error *error)
{
    kvc_crew_result result;
    int done = 0;

    if (self->pid == 0 || !self->greeted || !self->busy)
        return KVC_CREW_DONE;
    result = wait_for(crew, self, &done, error);
    if (result == KVC_CREW_DONE && done < 0)
        end_member(self);
    return result;
}

kvc_crew_result kvc_crew_choose(kvc_crew *crew, const kvc_selection *selection, kvc_generator *generator,
                                kvc_error *error)
{
    crew->generator = generator;
    crew->selection = *selection;
    crew->chosen = 0;
    crew->earlier = crew->deaths = 0;
    for (int at = 0; at < crew->options.jobs; at++) {
        member *self = &crew->member[at];
        kvc_crew_result result;
        self->has_exclusions = 0;
        /* A worker that is still starting is given the choice when it is first needed. */
        if (!self->greeted && at > 0)
            continue;
        result = let_finish(crew, self, error);
        if (result == KVC_CREW_DONE)
            result = make_ready(crew, self, error);
        if (result == KVC_CREW_DONE)
            result = give_choice(crew, self, error);
        if (result != KVC_CREW_DONE)
            return result;
    }
    crew->chosen = 1;
    return KVC_CREW_DONE;
}

/* The failure of the op that a worker died in. Returns 0 when there is no such op. */
static int death_of(kvc_crew *crew, const member *self, const kvc_plan *plan, const kvc_sequence *sequence,
                    kvc_failure *failure)
{
    int32_t step = self->shared->step;
    kvc_deviation how = self->death != KVC_AS_EXPECTED ? self->death : KVC_CRASHED;

    if (step < 0 || step >= sequence->count || !kvc_judge_start(crew->judge, plan, NULL))
        return 0;
    for (int32_t at = 0; at < step; at++) {
        if (!kvc_judge_assume(crew->judge, &sequence->op[at]))
            return 0;
    }
    kvc_judge_died(crew->judge, &sequence->op[step], how, failure);
    return 1;
}

/* A worker died in its range: counts the failure and lets a new one go on behind it. */
static kvc_crew_result go_on_after_death(kvc_crew *crew, member *self, const kvc_exclusions *exclusions,
                                         uint64_t start, kvc_error *error)
{
    uint64_t index = self->shared->index;
    uint64_t end = self->end;
    kvc_sequence sequence;
    kvc_failure failure;
    const kvc_plan *plan;
    kvc_crew_result result;

    if (index < start || index >= end) {
        end_member(self);
        kvc_error_set(error, "a worker ended outside of any op");
        return KVC_CREW_FAILED;
    }
    /* What it would have come to behind the op was planned too. */
    if (!kvc_generator_sequence(crew->generator, index, exclusions, &sequence, &self->shared->coverage, error))
        return KVC_CREW_FAILED;
    plan = kvc_generator_plan(crew->generator, index, error);
    if (plan == NULL)
        return KVC_CREW_FAILED;
    if (!death_of(crew, self, plan, &sequence, &failure)) {
        kvc_error_set(error, "a worker ended outside of any op");
        return KVC_CREW_FAILED;
    }
    kvc_tally_add(&self->shared->tally, &failure, &plan->params, &sequence, index, index, 1);
    end_member(self);
    result = make_ready(crew, self, error);
    if (result != KVC_CREW_DONE)
        return result;
    if (index + 1 < end)
        (void)give_order(self, KVC_COMMAND_RANGE, index + 1, end);
    return KVC_CREW_DONE;
}

/* Situations of an op that are counted together. */
enum { PARTS = KVC_SITUATIONS / KVC_SITUATIONS_ALONE };

static void add_coverage(kvc_coverage *sum, const kvc_coverage *from, int op, int part)
{
    if (!from->counted[op][part])
        return;
    sum->counted[op][part] = 1;
    for (int code = part * KVC_SITUATIONS_ALONE; code < (part + 1) * KVC_SITUATIONS_ALONE; code++) {
        sum->of[op][code].planned += from->of[op][code].planned;
        sum->of[op][code].judged += from->of[op][code].judged;
        sum->of[op][code].refused += from->of[op][code].refused;
    }
}

static void clear_coverage(kvc_coverage *coverage, int op, int part)
{
    int first = part * KVC_SITUATIONS_ALONE;

    if (!coverage->counted[op][part])
        return;
    memset(&coverage->of[op][first], 0, KVC_SITUATIONS_ALONE * sizeof coverage->of[0][0]);
    coverage->counted[op][part] = 0;
}

static void add_ops(const member *self, kvc_coverage *coverage, uint64_t *ops)
{
    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int part = 0; part < PARTS; part++)
            add_coverage(coverage, &self->shared->coverage, op, part);
    }
    *ops += self->shared->ops;
}

/* Adds what a worker counted. Its memory may hold anything after a crash, so the tally is bounded here. */
static void collect_counts(member *self, kvc_tally *tally, kvc_coverage *coverage, uint64_t *ops)
{
    kvc_tally *found = &self->shared->tally;
    int32_t count = found->count < 0 || found->count > KVC_TALLY_MAX ? 0 : found->count;

    for (int32_t at = 0; at < count; at++) {
        const kvc_tally_entry *entry = &found->entry[at];
        if (entry->sequence.count < 1 || entry->sequence.count > KVC_OPS_MAX || entry->failure.law >= KVC_LAWS ||
            entry->failure.op >= KVC_OP_KINDS)
            continue;
        kvc_tally_add(tally, &entry->failure, &entry->params, &entry->sequence, entry->index, entry->first,
                      entry->failures);
    }
    tally->lost += found->lost;
    add_ops(self, coverage, ops);
}

static void clear_counts(member *self, const kvc_exclusions *exclusions)
{
    self->shared->sequences = self->shared->ops = 0;
    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int part = 0; part < PARTS; part++)
            clear_coverage(&self->shared->coverage, op, part);
    }
    self->shared->tally.count = self->shared->tally.lost = 0;
    self->shared->feedback.candidates = self->shared->feedback.features = 0;
    if (self->has_exclusions && self->shared->exclusions.changes == exclusions->changes)
        return;
    self->shared->exclusions = *exclusions;
    self->has_exclusions = 1;
}

/* A worker that is still starting takes no part, so that the first verdict need not wait for it. */
static int is_up(const member *self)
{
    struct pollfd ready = {.fd = self->socket, .events = POLLIN};

    if (self->greeted)
        return 1;
    return self->pid == 0 || (self->busy == KVC_COMMAND_HELLO && poll(&ready, 1, 0) > 0);
}

kvc_crew_result kvc_crew_range(kvc_crew *crew, uint64_t start, uint64_t end, const kvc_exclusions *exclusions,
                               kvc_tally *tally, kvc_coverage *coverage, uint64_t *ops, kvc_error *error)
{
    int places[KVC_JOBS_MAX];
    uint64_t starts[KVC_JOBS_MAX] = {0};
    int used = 0;
    uint64_t at = start;
    kvc_crew_result result;

    for (int place = 0; place < crew->options.jobs; place++) {
        if (place > 0 && !is_up(&crew->member[place]))
            continue;
        result = make_ready(crew, &crew->member[place], error);
        if (result != KVC_CREW_DONE)
            return result;
        places[used++] = place;
    }
    for (int turn = 0; turn < used; turn++) {
        member *self = &crew->member[places[turn]];
        uint64_t share = (end - at) / (uint64_t)(used - turn);
        uint64_t stop = turn + 1 == used ? end : at + share;
        if (stop > at && stop < end)
            stop = kvc_generator_block_end(crew->generator, stop - 1);
        if (stop > end)
            stop = end;
        clear_counts(self, exclusions);
        self->shared->feedback.mode = crew->options.corpus != NULL ? KVC_FEEDBACK_NEW : KVC_FEEDBACK_OFF;
        starts[places[turn]] = at;
        if (stop > at)
            (void)give_order(self, KVC_COMMAND_RANGE, at, stop);
        at = stop;
    }
    for (;;) {
        int busy = 0;
        int who;
        int done;
        for (int turn = 0; turn < used; turn++)
            busy |= crew->member[places[turn]].busy == KVC_COMMAND_RANGE;
        if (!busy)
            break;
        result = wait_for_any(crew, 0, crew->options.jobs - 1, &who, &done, error);
        if (result == KVC_CREW_DONE && crew->member[who].greeted == 0) {
            /* It has only now finished starting. */
            if (done == 0)
                return fail_with_text(crew, &crew->member[who], error);
            if (done < 0) {
                end_member(&crew->member[who]);
            } else {
                result = greet(crew, &crew->member[who], error);
                if (result != KVC_CREW_DONE)
                    return result;
                crew->member[who].shared->selection = crew->selection;
                (void)give_order(&crew->member[who], KVC_COMMAND_CHOOSE, 0, 0);
            }
            continue;
        }
        if (result == KVC_CREW_DONE && done < 0 && crew->member[who].busy != KVC_COMMAND_RANGE)
            end_member(&crew->member[who]); /* it was still choosing: another is started when it is needed */
        else if (result == KVC_CREW_DONE && done < 0)
            result = go_on_after_death(crew, &crew->member[who], exclusions, starts[who], error);
        else if (result == KVC_CREW_DONE && done == 0)
            result = fail_with_text(crew, &crew->member[who], error);
        if (result != KVC_CREW_DONE) {
            for (int turn = 0; turn < used; turn++)
                collect_counts(&crew->member[places[turn]], tally, coverage, ops);
            return result;
        }
    }
    for (int turn = 0; turn < used; turn++)
        collect_counts(&crew->member[places[turn]], tally, coverage, ops);
    crew->earlier += end - start;
    for (int turn = 0; turn < used; turn++) {
        crew->member[places[turn]].shared->sequences = 0;
        crew->member[places[turn]].shared->feedback.mode = KVC_FEEDBACK_OFF;
    }
    return KVC_CREW_DONE;
}

uint64_t kvc_crew_begun(const kvc_crew *crew)
{
    uint64_t begun = 0;

    for (int at = 0; at < crew->options.jobs; at++)
        begun += crew->member[at].shared->sequences;
    return begun;
}

/* Gives one order to the first worker and waits. *done as in wait_for_any. */
static kvc_crew_result command_first(kvc_crew *crew, kvc_command command, uint64_t start, int *done, kvc_error *error)
{
    kvc_crew_result result = make_ready(crew, &crew->member[0], error);

    if (result != KVC_CREW_DONE)
        return result;
    (void)give_order(&crew->member[0], command, start, 0);
    return wait_for(crew, &crew->member[0], done, error);
}

static int plan_of(kvc_crew *crew, const kvc_params *params, kvc_plan *plan, kvc_error *error)
{
    const kvc_catalogue *catalogue = crew->options.catalogue;
    const kvc_spec *spec = kvc_catalogue_spec(catalogue, crew->selection.subject, crew->selection.variant);
    const kvc_contract *contract = kvc_catalogue_contract_by_id(catalogue, crew->selection.contract);

    return kvc_plan_make(catalogue, contract, spec, crew->selection.variant, params, plan, error);
}

kvc_crew_result kvc_crew_evaluate(kvc_crew *crew, const kvc_params *params, const kvc_sequence *sequence, int count,
                                  uint8_t *failed, kvc_failure *failure, kvc_error *error)
{
    member *self = &crew->member[0];
    int from = 0;

    while (from < count) {
        kvc_crew_result result;
        int done;
        int until = count;
        self->shared->params = *params;
        self->shared->cases = count;
        memcpy(self->shared->sequence, sequence, (size_t)count * sizeof *sequence);
        self->shared->feedback.candidates = self->shared->feedback.features = 0;
        result = command_first(crew, KVC_COMMAND_EVALUATE, (uint64_t)from, &done, error);
        if (result != KVC_CREW_DONE)
            return result;
        if (done == 0)
            return fail_with_text(crew, self, error);
        if (done < 0) {
            uint64_t place = self->shared->index;
            kvc_plan plan;
            if (place < (uint64_t)from || place >= (uint64_t)count || !plan_of(crew, params, &plan, error)) {
                end_member(self);
                kvc_error_set(error, "a worker ended outside of any op");
                return KVC_CREW_FAILED;
            }
            until = (int)place;
            if (!death_of(crew, self, &plan, &sequence[place], &failure[place])) {
                end_member(self);
                kvc_error_set(error, "a worker ended outside of any op");
                return KVC_CREW_FAILED;
            }
            failed[place] = 1;
        }
        memcpy(failed + from, self->shared->failed + from, (size_t)(until - from));
        memcpy(failure + from, self->shared->failure + from, (size_t)(until - from) * sizeof *failure);
        for (int at = from; at < until + (done < 0); at++)
            crew->deaths += failed[at] && failure[at].law == KVC_ALIVE;
        from = until;
        if (done < 0) {
            end_member(self);
            from = until + 1;
        }
    }
    return KVC_CREW_DONE;
}

const kvc_feedback *kvc_crew_feedback(const kvc_crew *crew, int at)
{
    return at < crew->options.jobs ? &crew->member[at].shared->feedback : NULL;
}

static const kvc_exclusions nothing_excluded;

void kvc_crew_collect_cases(kvc_crew *crew, int collect)
{
    for (int at = 0; at < crew->options.jobs; at++)
        clear_counts(&crew->member[at], &nothing_excluded);
    crew->member[0].shared->feedback.mode = collect ? KVC_FEEDBACK_ALL : KVC_FEEDBACK_OFF;
}

void kvc_crew_count_cases(kvc_crew *crew, kvc_coverage *coverage, uint64_t *ops)
{
    add_ops(&crew->member[0], coverage, ops);
}

uint64_t kvc_crew_deaths(const kvc_crew *crew)
{
    return crew->deaths;
}

kvc_crew_result kvc_crew_detail(kvc_crew *crew, const kvc_params *params, const kvc_sequence *sequence,
                                const char **json, kvc_error *error)
{
    member *self = &crew->member[0];
    kvc_crew_result result;
    int done;

    self->shared->params = *params;
    self->shared->cases = 1;
    self->shared->sequence[0] = *sequence;
    result = command_first(crew, KVC_COMMAND_DETAIL, 0, &done, error);
    if (result != KVC_CREW_DONE)
        return result;
    if (done == 0)
        return fail_with_text(crew, self, error);
    if (done < 0 || (self->shared->failed[0] && self->shared->failure[0].law == KVC_ALIVE)) {
        kvc_plan plan;
        kvc_failure failure = self->shared->failure[0];
        int good = plan_of(crew, params, &plan, error) &&
                   (done >= 0 || death_of(crew, self, &plan, sequence, &failure));
        if (good && done >= 0) {
            good = kvc_judge_start(crew->judge, &plan, NULL);
            for (int at = 0; good && at < failure.step && at < sequence->count; at++)
                good = kvc_judge_assume(crew->judge, &sequence->op[at]);
            if (good && failure.step < sequence->count)
                kvc_judge_died(crew->judge, &sequence->op[failure.step], (kvc_deviation)failure.deviation, &failure);
        }
        if (done < 0)
            end_member(self);
        if (!good || failure.step >= sequence->count) {
            kvc_error_set(error, "a worker ended outside of any op");
            return KVC_CREW_FAILED;
        }
        kvc_detail_write(crew->judge, &sequence->op[failure.step], NULL, &failure, self->shared->text,
                         sizeof self->shared->text);
    }
    self->shared->text[KVC_SHARED_TEXT - 1] = '\0';
    *json = self->shared->text;
    return KVC_CREW_DONE;
}

/* Lets the first worker do what answers in its text. `what` it was doing, for the case that it ends. */
static kvc_crew_result ask_first(kvc_crew *crew, kvc_command command, const char *what, const char **text, kvc_error *error)
{
    member *self = &crew->member[0];
    int done;
    kvc_crew_result result = command_first(crew, command, 0, &done, error);

    if (result != KVC_CREW_DONE)
        return result;
    if (done == 0)
        return fail_with_text(crew, self, error);
    if (done < 0) {
        bury(crew, self, what, error);
        return KVC_CREW_FAILED;
    }
    self->shared->text[KVC_SHARED_TEXT - 1] = '\0';
    *text = self->shared->text;
    return KVC_CREW_DONE;
}

/* A worker's answer is JSON that the worker printed. */
static kvc_crew_result read_answer(const char *text, cJSON **out, kvc_error *error)
{
    *out = cJSON_Parse(text);
    if (*out != NULL)
        return KVC_CREW_DONE;
    kvc_error_set(error, "not enough memory");
    return KVC_CREW_FAILED;
}

kvc_crew_result kvc_crew_classes(kvc_crew *crew, cJSON **classes, kvc_error *error)
{
    const char *text;
    kvc_crew_result result = make_ready(crew, &crew->member[0], error);

    if (result == KVC_CREW_DONE)
        result = ask_first(crew, KVC_COMMAND_CLASSES, "looked for classes", &text, error);
    if (result != KVC_CREW_DONE)
        return result;
    return read_answer(text, classes, error);
}

/* The same with a text of its own to answer to. */
static kvc_crew_result ask_first_about(kvc_crew *crew, kvc_command command, const char *request, const char *what, const char **text,
                                       kvc_error *error)
{
    member *self = &crew->member[0];
    kvc_crew_result result = make_ready(crew, self, error);

    if (result != KVC_CREW_DONE)
        return result;
    if (strlen(request) >= KVC_SHARED_TEXT) {
        kvc_error_set(error, "the case is too long: no worker %s", what);
        return KVC_CREW_FAILED;
    }
    memcpy(self->shared->text, request, strlen(request) + 1);
    return ask_first(crew, command, what, text, error);
}

kvc_crew_result kvc_crew_script(kvc_crew *crew, const char *request, const char **script, kvc_error *error)
{
    return ask_first_about(crew, KVC_COMMAND_SCRIPT, request, "wrote a script", script, error);
}

kvc_crew_result kvc_crew_layers(kvc_crew *crew, const char *request, cJSON **layers, kvc_error *error)
{
    const char *text;
    kvc_crew_result result = ask_first_about(crew, KVC_COMMAND_LAYERS, request, "told of layers", &text, error);

    if (result != KVC_CREW_DONE)
        return result;
    return read_answer(text, layers, error);
}
