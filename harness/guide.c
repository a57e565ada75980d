#include "harness/guide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/case.h"
#include "harness/corpus_folder.h"
#include "reference/json.h"
#include "reports/file.h"
#include "reports/folder.h"

enum { PATH_SIZE = 4096, STATE_MAX = 64, SEED_FILE_MAX = 1 << 20 };

/* A sequence that was read and is kept, with what it reaches. */
typedef struct kept {
    kvc_bytes bytes;
    uint32_t *feature; /* owned; while minimising */
    int features;
} kept;

struct kvc_guide {
    kvc_guide_options options;
    const kvc_bench *bench;
    kvc_generator *generator;
    kvc_plan plan;
    kvc_model model;
    char folder[PATH_SIZE];
    char failing[PATH_SIZE + 16];
    uint64_t next;
    uint64_t ops;
    int read;
    kept *kept; /* while minimising */
    int kepts;
};

/* One accepted sequence of a round. */
typedef struct found {
    uint64_t index;
    const kvc_feedback *from;
    const kvc_candidate *candidate;
} found;

static int make_plan(kvc_guide *guide, const kvc_params *params, kvc_error *error)
{
    return kvc_plan_make(guide->bench->catalogue, guide->bench->contract, guide->bench->spec, guide->bench->variant, params,
                         &guide->plan, error);
}

/* The folder of a variant below another; what is no plain letter of a file's name becomes `_`. */
static int folder_of(const char *folder, const char *variant, char out[PATH_SIZE], kvc_error *error)
{
    int length = snprintf(out, PATH_SIZE, "%s/%s", folder, variant);

    if (length < 0 || length + 32 >= PATH_SIZE) {
        kvc_error_set(error, "%.300s: path too long", folder);
        return 0;
    }
    for (char *at = out + strlen(folder) + 1; *at != '\0'; at++) {
        if (strchr("/\\:*?\"<>| ", *at) != NULL || (unsigned char)*at < ' ')
            *at = '_';
    }
    return 1;
}

static void read_state(kvc_guide *guide)
{
    char path[PATH_SIZE + 16];
    char *text = NULL;
    size_t length = 0;
    unsigned long long next;
    unsigned long long ops;
    kvc_error ignored;

    (void)snprintf(path, sizeof path, "%s/next", guide->folder);
    /* Without it, or with another's, the numbers begin anew: that costs time only. */
    if (kvc_file_read(path, STATE_MAX, &text, &length, &ignored) && sscanf(text, "%llu %llu", &next, &ops) == 2 &&
        next <= UINT64_MAX / 8 && ops <= UINT64_MAX / 8) {
        guide->next = next;
        guide->ops = ops;
    }
    free(text);
}

static int write_state(kvc_guide *guide, kvc_error *error)
{
    char path[PATH_SIZE + 16];
    char text[STATE_MAX];
    int length = snprintf(text, sizeof text, "%llu %llu\n", (unsigned long long)guide->next, (unsigned long long)guide->ops);

    (void)snprintf(path, sizeof path, "%s/next", guide->folder);
    return kvc_report_file_write_quickly(path, text, (size_t)length, error->text, sizeof error->text) == 0;
}

kvc_guide *kvc_guide_open(const kvc_guide_options *options, const kvc_bench *bench, kvc_generator *generator, kvc_error *error)
{
    kvc_guide *guide = calloc(1, sizeof *guide);
    kvc_params params = kvc_generator_smallest(generator);
    int good = guide != NULL;

    if (!good) {
        kvc_error_set(error, "not enough memory");
        return NULL;
    }
    guide->options = *options;
    guide->bench = bench;
    guide->generator = generator;
    good = folder_of(options->folder, bench->variant, guide->folder, error) && make_plan(guide, &params, error);
    if (good) {
        (void)snprintf(guide->failing, sizeof guide->failing, "%s/failing", guide->folder);
        good = kvc_report_folder_make_one(options->folder, error->text, sizeof error->text) == 0 &&
               kvc_report_folder_make_one(guide->folder, error->text, sizeof error->text) == 0 &&
               kvc_report_folder_make_one(guide->failing, error->text, sizeof error->text) == 0;
    }
    if (good && !kvc_model_open(&guide->model, &guide->plan)) {
        kvc_error_set(error, "not enough memory");
        good = 0;
    }
    if (!good) {
        free(guide);
        return NULL;
    }
    kvc_corpus_folder_tidy(guide->folder);
    kvc_corpus_folder_tidy(guide->failing);
    kvc_corpus_clear(options->corpus);
    kvc_generator_guide(generator, options->corpus);
    read_state(guide);
    return guide;
}

static void forget_kept(kvc_guide *guide)
{
    for (int at = 0; at < guide->kepts; at++)
        free(guide->kept[at].feature);
    free(guide->kept);
    guide->kept = NULL;
    guide->kepts = 0;
}

void kvc_guide_close(kvc_guide *guide)
{
    if (guide == NULL)
        return;
    kvc_generator_guide(guide->generator, NULL);
    forget_kept(guide);
    kvc_model_close(&guide->model);
    free(guide);
}

uint64_t kvc_guide_next(const kvc_guide *guide)
{
    return guide->next;
}

uint64_t kvc_guide_ops(const kvc_guide *guide)
{
    return guide->ops;
}

int kvc_guide_count(const kvc_guide *guide)
{
    return guide->options.corpus->count;
}

int kvc_guide_read(const kvc_guide *guide)
{
    return guide->read;
}

/* The bytes of a sequence; what has none as it is becomes what is nearest. */
static int encode(kvc_guide *guide, const kvc_params *params, const kvc_sequence *sequence, kvc_bytes *out, kvc_error *error)
{
    if (!make_plan(guide, params, error))
        return 0;
    (void)kvc_encode(kvc_generator_choice(guide->generator), &guide->model, &guide->plan, sequence, out);
    return 1;
}

static int is_case(const char *path)
{
    size_t length = strlen(path);

    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

/* Reads a file as bytes. Returns 1, 0 when it is none of this variant's, -1 with *error set. */
static int read_file(kvc_guide *guide, const kvc_corpus_file *file, kvc_bytes *bytes, kvc_error *error)
{
    char *data = NULL;
    size_t length = 0;

    if (is_case(file->path)) {
        kvc_case *item = malloc(sizeof *item);
        int good = item != NULL && kvc_case_read(file->path, guide->bench->catalogue, item, error);
        int mine = good && strcmp(item->variant, guide->bench->variant) == 0 && strcmp(item->subject, guide->bench->spec->subject) == 0;
        if (item == NULL)
            kvc_error_set(error, "not enough memory");
        if (mine)
            good = encode(guide, &item->params, &item->sequence, bytes, error);
        free(item);
        /* The spec may have changed since it was reported. */
        if (!good && strncmp(file->path, guide->options.cases, strlen(guide->options.cases)) == 0)
            return 0;
        return good ? mine : -1;
    }
    if (file->size > SEED_FILE_MAX || strcmp(strrchr(file->path, '/'), "/next") == 0)
        return 0;
    if (!kvc_file_read(file->path, SEED_FILE_MAX, &data, &length, error))
        return -1;
    kvc_bytes_take((const uint8_t *)data, length, bytes);
    free(data);
    return 1;
}

static int list_files(kvc_guide *guide, kvc_corpus_files *files, kvc_error *error)
{
    if (!kvc_corpus_folder_list(guide->folder, files, error) || !kvc_corpus_folder_list(guide->failing, files, error) ||
        !kvc_corpus_folder_list(guide->options.cases, files, error))
        return 0;
    for (int at = 0; at < guide->options.mores; at++) {
        char below[PATH_SIZE];
        struct stat status;
        char failing[PATH_SIZE + 16];
        if (!folder_of(guide->options.more[at], guide->bench->variant, below, error))
            return 0;
        if (stat(below, &status) != 0 || !S_ISDIR(status.st_mode)) {
            if (!kvc_corpus_folder_list(guide->options.more[at], files, error))
                return 0;
            continue;
        }
        (void)snprintf(failing, sizeof failing, "%s/failing", below);
        if (!kvc_corpus_folder_list(below, files, error) ||
            (stat(failing, &status) == 0 && !kvc_corpus_folder_list(failing, files, error)))
            return 0;
    }
    kvc_corpus_files_sort(files);
    return 1;
}

/* Marks features as seen; returns how many were not. */
static int mark(kvc_corpus *corpus, const kvc_feedback *from, const kvc_candidate *candidate)
{
    int new = 0;

    for (int at = 0; at < candidate->count; at++) {
        uint32_t feature = from->feature[candidate->first + at];
        if (feature >= KVC_FEATURES || kvc_feature_is_in(corpus->seen, feature))
            continue;
        kvc_feature_put(corpus->seen, feature);
        new++;
    }
    return new;
}

/* A worker's memory may hold anything after a crash. */
static int is_sound(const kvc_feedback *from, const kvc_candidate *candidate)
{
    return candidate->first >= 0 && candidate->count >= 0 && candidate->first <= KVC_FEEDBACK_FEATURES - candidate->count &&
           from->candidates >= 0 && from->candidates <= KVC_CANDIDATES_MAX;
}

static int keep_features(kvc_guide *guide, const kvc_bytes *bytes, const kvc_feedback *from, const kvc_candidate *candidate,
                         kvc_error *error)
{
    kept *grown = realloc(guide->kept, ((size_t)guide->kepts + 1) * sizeof *grown);
    uint32_t *feature = malloc(((size_t)candidate->count + 1) * sizeof *feature);

    if (grown != NULL)
        guide->kept = grown;
    if (grown == NULL || feature == NULL) {
        free(feature);
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    memcpy(feature, from->feature + candidate->first, (size_t)candidate->count * sizeof *feature);
    guide->kept[guide->kepts].bytes = *bytes;
    guide->kept[guide->kepts].feature = feature;
    guide->kept[guide->kepts++].features = candidate->count;
    return 1;
}

/* Runs one sequence that was read, and takes it when it reaches something new. */
static kvc_crew_result run_seed(kvc_guide *guide, const kvc_bytes *bytes, kvc_tally *tally, kvc_error *error)
{
    kvc_corpus *corpus = guide->options.corpus;
    kvc_params params = kvc_decode_params(kvc_generator_choice(guide->generator), bytes);
    const kvc_feedback *from = kvc_crew_feedback(guide->bench->crew, 0);
    kvc_decoded decoded;
    kvc_crew_result result;
    kvc_failure failure;
    uint8_t failed = 0;

    if (!make_plan(guide, &params, error))
        return KVC_CREW_FAILED;
    kvc_model_start(&guide->model, &guide->plan, NULL);
    if (!kvc_decode_ops(&guide->model, bytes, NULL, 0, &decoded)) {
        kvc_error_set(error, "not enough memory");
        return KVC_CREW_FAILED;
    }
    if (decoded.sequence.count == 0)
        return KVC_CREW_DONE;
    result = kvc_crew_evaluate(guide->bench->crew, &params, &decoded.sequence, 1, &failed, &failure, error);
    if (result != KVC_CREW_DONE)
        return result;
    if (failed) {
        kvc_tally_add(tally, &failure, &params, &decoded.sequence, 0, 0, 1);
        return kvc_corpus_folder_write(guide->failing, &decoded.kept, 1, error) ? KVC_CREW_DONE : KVC_CREW_FAILED;
    }
    if (from->candidates != 1 || !is_sound(from, &from->candidate[0]) || mark(corpus, from, &from->candidate[0]) == 0 ||
        !kvc_corpus_add(corpus, &decoded.kept))
        return KVC_CREW_DONE;
    if (guide->options.minimise && !keep_features(guide, &decoded.kept, from, &from->candidate[0], error))
        return KVC_CREW_FAILED;
    return kvc_corpus_folder_write(guide->folder, &decoded.kept, 0, error) ? KVC_CREW_DONE : KVC_CREW_FAILED;
}

static int is_kept(const kvc_guide *guide, const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    for (int at = 0; at < guide->kepts; at++) {
        char own[KVC_CORPUS_NAME_SIZE];
        kvc_corpus_name(&guide->kept[at].bytes, own);
        if (guide->kept[at].features > 0 && strcmp(own, name) == 0)
            return 1;
    }
    return 0;
}

/*
 * The smallest came first and took what they reach, so each was needed then. What all others together reach as well is let go, the
 * longest first; then the files that were not kept are removed.
 */
static int minimise(kvc_guide *guide, kvc_error *error)
{
    uint16_t *times = calloc(KVC_FEATURES, sizeof *times);
    kvc_corpus_files files = {0};
    int good = times != NULL;

    if (!good)
        kvc_error_set(error, "not enough memory");
    for (int at = 0; good && at < guide->kepts; at++) {
        for (int feature = 0; feature < guide->kept[at].features; feature++)
            times[guide->kept[at].feature[feature] % KVC_FEATURES]++;
    }
    for (int at = guide->kepts - 1; good && at >= 0; at--) {
        kept *entry = &guide->kept[at];
        int needed = 0;
        for (int feature = 0; feature < entry->features; feature++)
            needed |= times[entry->feature[feature] % KVC_FEATURES] == 1;
        for (int feature = 0; !needed && feature < entry->features; feature++)
            times[entry->feature[feature] % KVC_FEATURES]--;
        entry->features = needed ? entry->features : 0;
    }
    free(times);
    good = good && kvc_corpus_folder_list(guide->folder, &files, error);
    for (int at = 0; good && at < files.count; at++) {
        if (!is_kept(guide, files.file[at].path))
            kvc_corpus_file_remove(files.file[at].path);
    }
    kvc_corpus_files_clear(&files);
    guide->options.corpus->count = 0;
    for (int at = 0; good && at < guide->kepts; at++) {
        if (guide->kept[at].features > 0)
            (void)kvc_corpus_add(guide->options.corpus, &guide->kept[at].bytes);
    }
    return good;
}

static void note_reached(kvc_corpus *corpus, const kvc_coverage *coverage)
{
    for (int op = 0; op < KVC_OP_KINDS; op++) {
        for (int code = 0; code < KVC_SITUATIONS; code++) {
            if (code % KVC_SITUATIONS_ALONE == 0 && !coverage->counted[op][code / KVC_SITUATIONS_ALONE])
                code += KVC_SITUATIONS_ALONE - 1;
            else
                corpus->reached[op][code] |= coverage->of[op][code].judged > 0;
        }
    }
}

kvc_crew_result kvc_guide_begin(kvc_guide *guide, kvc_tally *tally, kvc_coverage *coverage, uint64_t *ops, kvc_error *error)
{
    kvc_corpus_files files = {0};
    kvc_crew_result result = list_files(guide, &files, error) ? KVC_CREW_DONE : KVC_CREW_FAILED;
    kvc_bytes bytes;
    uint64_t counted = 0;

    kvc_crew_collect_cases(guide->bench->crew, 1);
    for (int at = 0; at < files.count && result == KVC_CREW_DONE; at++) {
        int read = read_file(guide, &files.file[at], &bytes, error);
        if (read > 0) {
            guide->read++;
            result = run_seed(guide, &bytes, tally, error);
        } else if (read < 0) {
            result = KVC_CREW_FAILED;
        }
    }
    kvc_crew_count_cases(guide->bench->crew, coverage, &counted);
    kvc_crew_collect_cases(guide->bench->crew, 0);
    /* What was run before this session is counted already; what is run again is not counted twice. */
    *ops = guide->ops > 0 ? guide->ops : counted;
    note_reached(guide->options.corpus, coverage);
    if (result == KVC_CREW_DONE && guide->options.minimise && !minimise(guide, error))
        result = KVC_CREW_FAILED;
    forget_kept(guide);
    kvc_corpus_files_clear(&files);
    return result;
}

static int compare_found(const void *left, const void *right)
{
    const found *a = left;
    const found *b = right;

    return (a->index > b->index) - (a->index < b->index);
}

/* What all workers told, in the order of the sequences: so it does not matter how many workers there are. */
static int gather(const kvc_guide *guide, found **out, kvc_error *error)
{
    const kvc_feedback *from;
    int count = 0;
    int room = 1;

    for (int at = 0; (from = kvc_crew_feedback(guide->bench->crew, at)) != NULL; at++)
        room += from->candidates > 0 && from->candidates <= KVC_CANDIDATES_MAX ? from->candidates : 0;
    *out = malloc((size_t)room * sizeof **out);
    if (*out == NULL) {
        kvc_error_set(error, "not enough memory");
        return -1;
    }
    for (int at = 0; (from = kvc_crew_feedback(guide->bench->crew, at)) != NULL; at++) {
        for (int one = 0; one < from->candidates && count < room - 1; one++) {
            if (is_sound(from, &from->candidate[one]))
                (*out)[count++] = (found){from->candidate[one].index, from, &from->candidate[one]};
        }
    }
    qsort(*out, (size_t)count, sizeof **out, compare_found);
    return count;
}

/* All are made before any is added: what a sequence is depends on the corpus of its round. */
static int take_found(kvc_guide *guide, const kvc_exclusions *exclusions, const found *list, int count, kvc_error *error)
{
    kvc_corpus *corpus = guide->options.corpus;
    kvc_bytes *taken = malloc(((size_t)count + 1) * sizeof *taken);
    int takes = 0;
    int good = taken != NULL;

    if (!good)
        kvc_error_set(error, "not enough memory");
    for (int at = 0; good && at < count; at++) {
        kvc_sequence sequence;
        const kvc_plan *plan;
        if (mark(corpus, list[at].from, list[at].candidate) == 0)
            continue;
        plan = kvc_generator_plan(guide->generator, list[at].index, error);
        good = plan != NULL && kvc_generator_sequence(guide->generator, list[at].index, exclusions, &sequence, NULL, error) &&
               encode(guide, &plan->params, &sequence, &taken[takes], error);
        takes += good;
    }
    for (int at = 0; good && at < takes; at++) {
        if (kvc_corpus_add(corpus, &taken[at]))
            good = kvc_corpus_folder_write(guide->folder, &taken[at], 0, error);
    }
    free(taken);
    return good;
}

int kvc_guide_failed(kvc_guide *guide, const kvc_tally_entry *entry, kvc_error *error)
{
    kvc_bytes bytes;

    return encode(guide, &entry->params, &entry->sequence, &bytes, error) &&
           kvc_corpus_folder_write(guide->failing, &bytes, 1, error);
}

int kvc_guide_round(kvc_guide *guide, const kvc_exclusions *exclusions, const kvc_coverage *coverage, uint64_t next, uint64_t ops,
                    kvc_error *error)
{
    found *list = NULL;
    int count = gather(guide, &list, error);
    int good = count >= 0 && take_found(guide, exclusions, list, count, error);

    free(list);
    note_reached(guide->options.corpus, coverage);
    guide->next = next;
    guide->ops = ops;
    return good && write_state(guide, error);
}
