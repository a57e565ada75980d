/*
 * Plugins that were compiled with AddressSanitizer: its runtime must be in the program before anything else.
 */
#ifndef KVC_HARNESS_SANITIZER_H
#define KVC_HARNESS_SANITIZER_H

#include <stddef.h>

#include "reference/error.h"

/*
 * What a shared object needs of AddressSanitizer: 0 nothing; 1 *runtime becomes the name of the runtime that it was linked to; -1 it was linked
 * to none, as clang does unless it is given -shared-libasan, or what it is cannot be told.
 */
int kvc_sanitizer_of(const char *path, char *runtime, size_t size);
/*
 * Starts this program anew, with the runtime that this plugin needs in front, unless it is there. Returns only if that is not needed (1) or
 * cannot be done (0 with *error set).
 */
int kvc_sanitizer_preload(const char *path, char **argv, kvc_error *error);
/*
 * How many times as much memory a plugin takes with the runtime that this program was started anew with: what is freed is held back, and
 * memory is taken in larger pieces. 1 without one.
 */
int kvc_sanitizer_memory_times(void);

#endif
