/*
 * The result of a run, `kvconform-result/1`, and several of them in one, `kvconform-merged/1`: JSON documents, described in
 * docs/result.md and reports/schemas/kvconform-*.schema.json. Every report is made from one that passed kvc_result_check.
 *
 * All functions return 0, or -1 with one sentence in `error` that names the file or the field and what was expected.
 */
#ifndef KVC_REPORTS_RESULT_H
#define KVC_REPORTS_RESULT_H

#include <cjson/cJSON.h>
#include <stddef.h>

#define KVC_RESULT_SCHEMA "kvconform-result/1"
#define KVC_MERGED_SCHEMA "kvconform-merged/1"
#define KVC_SHARD_SCHEMA "kvconform-shard/1" /* a part of a run: harness/shard.h */
#define KVC_RESULT_BYTES_MAX ((size_t)256 << 20) /* size of a file that is read */
enum {
    KVC_RESULT_DEPTH_MAX = 64,         /* nesting of a file that is read */
    KVC_RESULT_VALUES_MAX = 16000000,  /* values of a file that is read: bounds the memory it may take */
    KVC_RESULT_RUNS_MAX = 10000,       /* entries of `runs` */
    KVC_RESULT_FINDINGS_MAX = 10000,   /* entries of `findings` of one run */
    KVC_RESULT_LAYERS_MAX = 1000,      /* entries of `links` of a finding, and of their `layers` */
    KVC_RESULT_WORD_MAX = 200,         /* bytes of a name */
    KVC_RESULT_TEXT_MAX = 1024 * 1024, /* bytes of a script or an error text */
    KVC_RESULT_TOKENS_MAX = 117649     /* entries of a row of tokens */
};

/* Judges a whole document: types, words, bounds, what must agree, and `finished`. Unknown fields are ignored. */
int kvc_result_check(const cJSON *result, char *error, size_t error_size);

/*
 * Reads ("-": standard input), parses and checks a file. *out is for the caller to free with cJSON_Delete; NULL on
 * failure.
 */
int kvc_result_read_file(const char *path, cJSON **out, char *error, size_t error_size);
/* The same for what a run that was stopped has left: `finished` may be missing. */
int kvc_result_read_unfinished(const char *path, cJSON **out, char *error, size_t error_size);
/* Only bounded and parsed: for a file that may be a result or something else; the caller checks what it is. */
int kvc_result_read_unchecked(const char *path, cJSON **out, char *error, size_t error_size);
/* The same as kvc_result_read_file for text in memory; `name` stands for the path in errors. `text` has a NUL at text[size]. */
int kvc_result_parse(const char *name, const char *text, size_t size, cJSON **out, char *error, size_t error_size);

/* What a file holds of it: `length` bytes, the last a line end, no NUL. To be freed with cJSON_free; NULL without memory. */
char *kvc_result_print(const cJSON *json, size_t *length);
/* Writes a result ("-": standard output), as kvc_report_file_write does. Does not check it. */
int kvc_result_write_file(const char *path, const cJSON *result, char *error, size_t error_size);

/* Whether a file's name may end so behind the dot: 1 to 8 small letters and digits, and not json, which is what cases are. */
int kvc_suffix_is_good(const char *suffix);
/* How the name of the file with a finding's script ends, whatever the finding says of it. */
const char *kvc_script_suffix(const cJSON *finding);

#endif
