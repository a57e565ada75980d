/*
 * Contracts: the rules that a subject follows in an age of its versions, each with its source (docs/formats.md).
 */
#ifndef KVC_REFERENCE_CONTRACT_H
#define KVC_REFERENCE_CONTRACT_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "reference/error.h"

typedef enum kvc_rule_name {
    KVC_CONTRACT_CROP = 0,
    KVC_CONTRACT_CROP_POSITIVE,
    KVC_CONTRACT_CROP_ZERO,
    KVC_CONTRACT_CROP_UNUSED,
    KVC_CONTRACT_CROP_OVER,
    KVC_CONTRACT_UNRECORDED,
    KVC_CONTRACT_RECURRENT,
    KVC_CONTRACT_OVERFLOW,
    KVC_CONTRACT_CLAIM,
    KVC_CONTRACT_CALLS,
    KVC_CONTRACT_RETURNS,
    KVC_CONTRACT_BATCH_OPS,
    KVC_CONTRACT_BATCH_REFUSED,
    KVC_CONTRACT_RECORD,
    KVC_CONTRACT_RETURNED_TENSORS,
    KVC_CONTRACT_CHUNK,
    KVC_CONTRACT_APPEND,
    KVC_CONTRACT_BLOCKS,
    KVC_CONTRACT_OFFLOAD,
    KVC_CONTRACT_INITIALIZE,
    KVC_CONTRACT_COPY,
    KVC_CONTRACT_PICKLE,
    KVC_CONTRACT_POSITION,
    KVC_CONTRACT_APPEND_PARTS,
    KVC_CONTRACT_APPEND_NONE,
    KVC_CONTRACT_CROP_EVICTED,
    KVC_CONTRACT_SAVE,
    KVC_CONTRACT_STATE,
    KVC_CONTRACT_QUANTIZE,
    KVC_CONTRACT_MASK,
    /* Of caches that hold several sequences. */
    KVC_CONTRACT_DECODE,
    KVC_CONTRACT_CELLS,
    KVC_CONTRACT_SEQ_RM,
    KVC_CONTRACT_SEQ_RM_STATE,
    KVC_CONTRACT_SEQ_RM_INSIDE,
    KVC_CONTRACT_SEQ_RM_WINDOW,
    KVC_CONTRACT_SEQ_CP,
    KVC_CONTRACT_SEQ_KEEP,
    KVC_CONTRACT_SEQ_ADD,
    KVC_CONTRACT_SEQ_DIV,
    KVC_CONTRACT_CLEAR,
    KVC_CONTRACT_SEQ_SAVE,
    KVC_CONTRACT_SEQ_RESTORE,
    KVC_CONTRACT_SEQ_RESTORE_DAMAGED,
    /* Of rows with lengths of their own. */
    KVC_CONTRACT_APPEND_ROWS,
    KVC_CONTRACT_MERGE,
    KVC_CONTRACT_EXTRACT,
    KVC_CONTRACT_EXTEND,
    KVC_CONTRACT_SPLIT
} kvc_rule_name;
enum { KVC_CONTRACT_RULES = 49 };

/* Values, in the order of docs/formats.md. The first is what holds when no contract says anything. */
enum { KVC_CROP_REMOVE = 0, KVC_CROP_ABSENT, KVC_CROP_REFUSE, KVC_CROP_IGNORED, KVC_CROP_EITHER };
enum { KVC_POSITIVE_REFUSE = 0, KVC_POSITIVE_KEEP, KVC_POSITIVE_NOTHING, KVC_POSITIVE_REFUSE_USED, KVC_POSITIVE_UNSPECIFIED };
enum { KVC_ZERO_NOTHING = 0, KVC_ZERO_EMPTY, KVC_ZERO_SHRINK };
enum { KVC_UNUSED_NOTHING = 0, KVC_UNUSED_EITHER };
enum { KVC_UNRECORDED_REFUSE = 0, KVC_UNRECORDED_EXACT, KVC_UNRECORDED_IGNORED, KVC_UNRECORDED_UNSPECIFIED };
enum { KVC_RECURRENT_REFUSE = 0, KVC_RECURRENT_IGNORED, KVC_RECURRENT_UNSPECIFIED };
enum { KVC_OVERFLOW_REFUSE = 0, KVC_OVERFLOW_EVICT, KVC_OVERFLOW_UNSPECIFIED, KVC_OVERFLOW_EITHER };
enum { KVC_CLAIM_NONE = 0, KVC_CLAIM_CROPPABLE };
enum { KVC_CONVOLUTION_HELD_AND_NEW = 0, KVC_CONVOLUTION_HELD };
enum { KVC_RECORD_OFFERED = 0, KVC_RECORD_ABSENT, KVC_RECORD_TOLERATED };
enum { KVC_RETURNED_FRESH = 0, KVC_RETURNED_LIVE };
enum { KVC_CHUNK_SAME = 0, KVC_CHUNK_UNSPECIFIED };
enum { KVC_APPEND_TAKE = 0, KVC_APPEND_REFUSE };
enum { KVC_NONE_UNSPECIFIED = 0, KVC_NONE_NOTHING };
enum { KVC_EVICTED_REFUSE = 0, KVC_EVICTED_CLAMP };
enum { KVC_PARTS_ONE_BY_ONE = 0, KVC_PARTS_TOGETHER };
enum { KVC_BLOCKS_EXACT = 0, KVC_BLOCKS_EITHER };
enum { KVC_OFFLOAD_PREFETCH_FIRST = 0, KVC_OFFLOAD_ANY, KVC_OFFLOAD_ABSENT };
/* Also of copy, pickle, save, state and quantize, and of the ops for rows with lengths of their own. */
enum { KVC_STORING_OFFERED = 0, KVC_STORING_ABSENT, KVC_STORING_USED };
enum { KVC_ROWS_OFFERED = 0, KVC_ROWS_ABSENT, KVC_ROWS_SEVERAL, KVC_ROWS_LEFT, KVC_ROWS_MERGED };
enum { KVC_EXTEND_OFFERED = 0, KVC_EXTEND_ABSENT, KVC_EXTEND_FILLED };
enum { KVC_POSITION_LENGTH = 0, KVC_POSITION_DEPTH };
enum { KVC_SEQ_RM_STATE_REFUSE = 0, KVC_SEQ_RM_STATE_SNAPSHOTS };
enum { KVC_SEQ_RM_INSIDE_HOLE = 0, KVC_SEQ_RM_INSIDE_LEFT };
enum { KVC_SEQ_CP_ANY = 0, KVC_SEQ_CP_WHOLE };

enum { KVC_RULE_ERRORS_MAX = 8, KVC_RULE_VARIANTS_MAX = 24, KVC_SOURCE_MAX = 900, KVC_CONTRACT_FILE_MAX = 1 << 20 };

typedef struct kvc_contract_rule {
    kvc_rule_name name;
    /* An index into the values of the rule; for `calls`, `batch_ops` and `batch_refused` a set of bits (1 << kvc_call, 1 << kvc_op_kind). */
    unsigned value;
    int errors;                            /* kinds of exception that are documented; 0: any kind */
    char error[KVC_RULE_ERRORS_MAX][48];
    int variants;                          /* globs */
    char variant[KVC_RULE_VARIANTS_MAX][96];
    int documented;                        /* 1 documented, 0 inferred */
    char source[KVC_SOURCE_MAX];
} kvc_contract_rule;

typedef struct kvc_contract {
    char id[64];
    char extends[64];
    char subject[64];
    char from[32];     /* first version; "": it holds for none by itself */
    char known_to[32]; /* newest version that was read, or "" */
    size_t rules;
    kvc_contract_rule *rule; /* owned */
} kvc_contract;

/* Whether nothing is said of a crop that the rule would decide. */
static inline int kvc_rule_is_silent(const kvc_contract_rule *rule)
{
    return (rule->name == KVC_CONTRACT_UNRECORDED && rule->value == KVC_UNRECORDED_UNSPECIFIED) ||
           (rule->name == KVC_CONTRACT_RECURRENT && rule->value == KVC_RECURRENT_UNSPECIFIED) ||
           (rule->name == KVC_CONTRACT_CROP_POSITIVE && rule->value == KVC_POSITIVE_UNSPECIFIED);
}

/* The rules of one variant under one contract. Points into contracts and into constants; owns nothing. */
typedef struct kvc_rules {
    const kvc_contract_rule *rule[KVC_CONTRACT_RULES];
} kvc_rules;

/* Reads and checks a contract file. Free with kvc_contract_clear, also after a failure. */
int kvc_contract_read(const char *path, kvc_contract *contract, kvc_error *error);
/* As kvc_contract_read, from memory and from JSON; `name` is used in errors. */
int kvc_contract_parse(const char *text, size_t length, const char *name, kvc_contract *contract, kvc_error *error);
int kvc_contract_from_json(const cJSON *json, const char *name, kvc_contract *contract, kvc_error *error);
void kvc_contract_clear(kvc_contract *contract);
/* All rules at what holds when no contract says anything. */
void kvc_rules_standard(kvc_rules *rules);
/* Lays the rules of `contract` that match `variant` over *rules. */
void kvc_rules_apply(kvc_rules *rules, const kvc_contract *contract, const char *variant);
const char *kvc_rule_name_text(kvc_rule_name name);
/* The value as a word, or a list of words; written to `buffer`. */
const char *kvc_rule_value_text(const kvc_contract_rule *rule, char *buffer, size_t size);
/* Compares versions such as 5.9.1 and 5.12.0.dev0 by their numbers: <0, 0, >0. */
int kvc_version_compare(const char *a, const char *b);
const char *kvc_call_name(int call);

#endif
