/*
 * One clear line about what went wrong: what, where, what was expected, what to do.
 */
#ifndef KVC_REFERENCE_ERROR_H
#define KVC_REFERENCE_ERROR_H

typedef struct kvc_error {
    char text[640]; /* "" when nothing is wrong */
} kvc_error;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void kvc_error_set(kvc_error *error, const char *format, ...);

#endif
