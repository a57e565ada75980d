/*
 * The laws, in the order in which a failure is named: a failure that breaks several has the name of the first.
 */
#ifndef KVC_REFERENCE_LAW_H
#define KVC_REFERENCE_LAW_H

#include <stdint.h>

typedef enum kvc_law {
    KVC_ALIVE = 0,
    KVC_CALL,
    KVC_HONEST,
    KVC_REFUSE,
    KVC_ATOMIC,
    KVC_CLAMP,
    KVC_ZERO,
    KVC_RESET_LAW,
    KVC_BATCH,
    KVC_SAVE,
    KVC_LENGTH,
    KVC_INDEX,
    KVC_STATE,
    KVC_KEYS,
    KVC_VALUES,
    KVC_RETURN,
    KVC_MASK,
    KVC_ADDRESS,
    KVC_ALIAS,
    KVC_ISOLATION,
    KVC_RESUME,
    KVC_CHUNK,
    KVC_POSITION
} kvc_law;
enum { KVC_LAWS = KVC_POSITION + 1 };

/* "CLAMP" */
const char *kvc_law_name(kvc_law law);
/* One sentence: what holds. */
const char *kvc_law_text(kvc_law law);
/* Returns 1 and sets *law, or 0 for an unknown name. */
int kvc_law_parse(const char *name, kvc_law *law);

#endif
