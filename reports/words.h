/*
 * What all reports say in the same words. Plain text, which each writer must escape.
 */
#ifndef KVC_REPORTS_WORDS_H
#define KVC_REPORTS_WORDS_H

#include "reports/model.h"

/* A mark and a word for a status: "✓" and "conforms". Static. */
const char *kvc_status_glyph(kvc_status status);
const char *kvc_status_word(kvc_status status);
/* The same for a severity of the result, with what it means: "wrong without an error". */
const char *kvc_severity_glyph(const char *severity);
const char *kvc_severity_meaning(const char *severity);

/* `append 2`, `reorder [1, 0]`. */
void kvc_words_add_op(kvc_text *text, const cJSON *op);
/* The ops of a finding's case: `append 2, crop -3`. */
void kvc_words_add_ops(kvc_text *text, const cJSON *finding);
/* With what the case needs: `window 2`, `batch 2, dtype float16`. Nothing where all is at its simplest. */
void kvc_words_add_sizes(kvc_text *text, const cJSON *finding);
/* `batch=1, dtype=float32`. */
void kvc_words_add_table(kvc_text *text, const cJSON *table);
/* A number, word or list of a result: `3`, `nothing`, `1, 2`, `none` for null. */
void kvc_words_add_value(kvc_text *text, const cJSON *value);
/* A command line. */
void kvc_words_add_command(kvc_text *text, const cJSON *words);
/* How it is known that the case is minimal, one sentence. */
void kvc_words_add_minimal(kvc_text *text, const cJSON *finding);
/* ` (KEYS: keys: too short; conforms; conforms)`: what each run of a flaky case showed. Nothing where that is not told. */
void kvc_words_add_tries(kvc_text *text, const cJSON *finding);
/* `✗ 3 findings in 2 of 8 variants`, or `✓ No finding in 8 variants`, one line without the rest of the counts. */
void kvc_words_add_headline(kvc_text *text, const kvc_report_model *model);
/* `transformers 5.24.0`, or the subject alone. */
void kvc_words_add_version(kvc_text *text, const kvc_report_version *version);
/* The versions of a cause in few words: `5.12.1 to 5.14.1, 5.24.0`, or `all 4 versions`. */
void kvc_words_add_versions(kvc_text *text, const kvc_report_model *model, size_t cause);
/* The name of a row: its variant, or its target. */
const char *kvc_words_row_name(const kvc_report_row *row);
/* The title of a finding, without the name of the row in front of it: it stands where that is said already. */
const char *kvc_words_title(const kvc_report_row *row, const cJSON *finding);
/* What is wrong in a few words: `outcome refused, expected done; ValueError: ...`, or the tensor and how it deviates. */
void kvc_words_add_difference(kvc_text *text, const cJSON *finding);
/* `1 finding`, `2 findings`. */
void kvc_words_add_plural(kvc_text *text, uint64_t count, const char *one, const char *many);

/* What is compared of a state beside its tensors, in the order in which it is shown. */
typedef struct kvc_fact {
    const char *field, *name;
    int compared; /* 0: texts, which differ without being wrong */
} kvc_fact;
enum { KVC_FACTS = 6 };
extern const kvc_fact kvc_facts[KVC_FACTS];

#endif
