/*
 * Exemptions: cache classes of a subject that no spec covers, each with the reason why not (docs/formats.md).
 */
#ifndef KVC_REFERENCE_EXEMPTIONS_H
#define KVC_REFERENCE_EXEMPTIONS_H

#include <stddef.h>

#include "reference/error.h"

enum { KVC_EXEMPTIONS_MAX = 1024, KVC_EXEMPTIONS_FILE_MAX = 1 << 20 };

typedef struct kvc_exemption {
    char classes[96]; /* glob */
    char from[32];    /* the first version that has them, or "" */
    char until[32];   /* the first version that has them no more, or "" */
    char reason[512];
} kvc_exemption;

/* The exemptions of one subject. */
typedef struct kvc_exemptions {
    char subject[64];
    size_t count;
    kvc_exemption *exemption; /* owned */
} kvc_exemptions;

/* Reads and checks a file. Returns 0 with *error set. Free with kvc_exemptions_clear, also after a failure. */
int kvc_exemptions_read(const char *path, kvc_exemptions *exemptions, kvc_error *error);
int kvc_exemptions_parse(const char *text, size_t length, const char *name, kvc_exemptions *exemptions, kvc_error *error);
void kvc_exemptions_clear(kvc_exemptions *exemptions);
/* Whether it speaks of this version. */
int kvc_exemption_applies(const kvc_exemption *exemption, const char *version);
/* The first that names this class of this version; NULL when none does, or `exemptions` is NULL. */
const kvc_exemption *kvc_exemptions_find(const kvc_exemptions *exemptions, const char *version, const char *name);

#endif
