/*
 * Workers of a crew that start late, and processes that stand still or only wait for a processor.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_setaffinity, SCHED_IDLE */
#endif
#include "adapters/builtin/builtin.h"
#include "tests/unit/support.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/system.h"

enum { TRIES = 3, SHARE = 128 };

static void rest(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    (void)nanosleep(&time, NULL);
}

/* Seen by all processes. */
typedef struct signs {
    atomic_int came; /* workers that were asked for their variants */
    atomic_int late_is_up;
} signs;

static signs *seen_by_all;
/* In a page of its own, so that a worker can be kept from reading it for a while. */
static kvc_catalogue *late_catalogue;
static size_t page_size;

static void *take_pages(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    return pages;
}

static void read_late(int number) {
    (void)number;
    rest(100);
    (void)mprotect(late_catalogue, page_size, PROT_READ | PROT_WRITE);
}

/* The second worker starts late, and is slow to choose its variant: that is when it reads the catalogue. */
static const char *late_variant(size_t index) {
    static int asked;
    static int late;
    const char *name = kvc_builtin_plugin()->variant(index);
    if (!asked) {
        asked = 1;
        late = atomic_fetch_add(&seen_by_all->came, 1) == 1;
        rest(late ? 20 : 0);
    }
    if (late && name == NULL) {
        (void)signal(SIGSEGV, read_late);
        (void)signal(SIGBUS, read_late);
        (void)mprotect(late_catalogue, page_size, PROT_NONE);
        atomic_store(&seen_by_all->late_is_up, 1);
    }
    return name;
}

/* The first range ends when the late worker is up and was told to choose, but has not done so. */
static void run_late(kvc_cache *cache, const kvc_op *op, const int32_t *numbers, kvc_observation *out) {
    static int waited;
    for (int i = 0; i < 5000 && !atomic_load(&seen_by_all->late_is_up); i++) {
        rest(1);
    }
    if (!waited) {
        waited = 1;
        rest(20);
    }
    kvc_builtin_plugin()->run(cache, op, numbers, out);
}

/* Ops of two ranges, one behind the other. */
static uint64_t count_ops(kvc_catalogue *catalogue, const kvc_plugin *plugin, int jobs, uint64_t first) {
    static const char *const variants[] = {"full", NULL};
    static kvc_coverage coverage;
    static kvc_exclusions exclusions;
    static kvc_tally tally;
    kvc_selection selection = {.subject = "builtin", .version = "1", .variant = "full", .contract = "builtin-1", .seed = 1};
    kvc_crew_options options = {.catalogue = catalogue, .access = {.plugin = plugin}, .jobs = jobs, .stall_ms = 60000};
    kvc_error error = {""};
    const cJSON *hello = NULL;
    uint64_t ops = 0;
    kvc_generator *generator = kvc_generator_open(catalogue, kvc_catalogue_contract_by_id(catalogue, "builtin-1"),
                                                  kvc_catalogue_spec(catalogue, "builtin", "full"), "full", "1", variants, 1,
                                                  KVC_HOSTILE, &error);
    cr_assert_not_null(generator, "%s", error.text);
    kvc_profile_of(KVC_HOSTILE, &selection.draws);
    kvc_crew *crew = kvc_crew_open(&options, &error);
    cr_assert_not_null(crew, "%s", error.text);
    cr_assert_eq((int)kvc_crew_hello(crew, &hello, &error), KVC_CREW_DONE, "%s", error.text);
    cr_assert_eq((int)kvc_crew_choose(crew, &selection, generator, &error), KVC_CREW_DONE, "%s", error.text);
    for (int part = 0; part < 2; part++) {
        uint64_t start = part == 0 ? 0 : first;
        uint64_t end = part == 0 ? first : first + SHARE;
        cr_assert_eq((int)kvc_crew_range(crew, start, end, &exclusions, &tally, &coverage, &ops, &error), KVC_CREW_DONE, "%s",
                     error.text);
    }
    kvc_crew_close(crew);
    kvc_generator_close(generator);
    return ops;
}

/* That it has chosen its variant is not taken for the end of the range that it is given next. */
Test(crew, a_worker_that_starts_late) {
    kvc_plugin plugin = *kvc_builtin_plugin();
    kvc_catalogue catalogue;
    read_shipped(&catalogue);
    plugin.variant = late_variant;
    plugin.run = run_late;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    seen_by_all = take_pages(page_size);
    late_catalogue = take_pages(page_size);
    *late_catalogue = catalogue;
    for (uint64_t first = 1; first <= TRIES; first++) {
        uint64_t want = count_ops(&catalogue, kvc_builtin_plugin(), 1, first);
        atomic_store(&seen_by_all->came, 0);
        atomic_store(&seen_by_all->late_is_up, 0);
        cr_assert_eq(count_ops(late_catalogue, &plugin, 2, first), want, "after %d sequences", (int)first);
    }
    (void)munmap(seen_by_all, page_size);
    (void)munmap(late_catalogue, page_size);
    kvc_catalogue_clear(&catalogue);
}

static pid_t start(void (*what)(void)) {
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        kvc_die_with_parent();
        what();
        _exit(0);
    }
    return pid;
}

static void stop(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void sleep_on(void) {
    for (;;) {
        rest(1000);
    }
}

static void spin(void) {
    for (volatile unsigned turn = 0;; turn++) {
    }
}

static int64_t stood_for(pid_t pid, int milliseconds) {
    kvc_standing standing;
    int64_t stood = 0;
    kvc_standing_begin(&standing, (int)pid);
    for (int64_t until = kvc_now_ms() + milliseconds; kvc_now_ms() < until;) {
        rest(20);
        stood = kvc_standing_look(&standing, (int)pid);
    }
    return stood;
}

/* However busy the machine is, the time of one that sleeps passes, at least a tenth of it where looks come late. */
Test(standing, what_sleeps_stands_still) {
    pid_t pid = start(sleep_on);
    int64_t stood = stood_for(pid, 600);
    stop(pid);
    cr_expect_geq(stood, 100, "%d ms", (int)stood);
}

#ifdef __linux__
static void stay_on_first(int policy) {
    cpu_set_t all;
    cpu_set_t one;
    struct sched_param none = {0};
    size_t cpu = 0;
    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return;
    }
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    (void)sched_setscheduler(0, policy, &none);
}

static void spin_on_first(void) {
    stay_on_first(SCHED_OTHER);
    spin();
}

static void spin_when_idle(void) {
    stay_on_first(SCHED_IDLE);
    spin();
}

/* One that would run, had another not taken its processor, does not stand still while it waits. */
Test(standing, what_waits_for_a_processor_does_not) {
    pid_t busy = start(spin_on_first);
    pid_t waiting = start(spin_when_idle);
    int64_t stood;
    rest(100);
    stood = stood_for(waiting, 1500);
    stop(busy); /* first, for the other cannot end while it waits */
    stop(waiting);
    cr_expect_leq(stood, 400, "%d ms", (int)stood);
}
#endif

Test(standing, what_spins_stands_still) {
    pid_t pid = start(spin);
    int64_t stood = 0;
    for (int attempt = 0; attempt < 20 && stood < 50; attempt++) {
        stood = stood_for(pid, 300);
    }
    stop(pid);
    cr_expect_geq(stood, 50, "%d ms", (int)stood);
}
