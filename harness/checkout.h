/*
 * The commits of a git checkout of a Python subject, laid out one at a time in a folder of their own and put in front of PYTHONPATH. The
 * checkout itself is left as it is.
 */
#ifndef KVC_HARNESS_CHECKOUT_H
#define KVC_HARNESS_CHECKOUT_H

#include "reference/error.h"

enum { KVC_CHECKOUT_COMMITS_MAX = 4096, KVC_CHECKOUT_PATH_MAX = 4096 };

typedef struct kvc_checkout {
    char git[KVC_CHECKOUT_PATH_MAX];    /* the checkout */
    char folder[KVC_CHECKOUT_PATH_MAX]; /* where a commit is laid out; "" before the first */
    char below[64];                     /* where the packages lie in it: "src" for transformers, "" for others */
    char *before;                       /* PYTHONPATH as it was, or NULL; owned */
    char (*commit)[64];                 /* names, the oldest first; owned */
    int commits;
} kvc_checkout;

/* Lists the commits from `first` to `last` on the main line. Returns 0 with *error set. Close it in any case. */
int kvc_checkout_open(kvc_checkout *checkout, const char *git, const char *first, const char *last, const char *subject,
                      kvc_error *error);
/* Lays commit number `at` out. Returns 0 with *error set. */
int kvc_checkout_lay_out(kvc_checkout *checkout, int at, kvc_error *error);
/* Removes the folder, and gives PYTHONPATH back. */
void kvc_checkout_close(kvc_checkout *checkout);

#endif
