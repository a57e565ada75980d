/*
 * Going on with a run that was stopped: which variants of an earlier result need not be run again.
 */
#ifndef KVC_HARNESS_RESUME_H
#define KVC_HARNESS_RESUME_H

#include <cjson/cJSON.h>

#include "harness/commands.h"

/*
 * Reads the earlier result at `path`, finished or not. *earlier is NULL when there is no such file; the caller frees it with
 * cJSON_Delete. Returns 0 with *error set when the file is damaged, or was made by another build of kvconform, with another
 * seed, budget or profile: going on would mix what cannot be compared.
 */
int kvc_resume_read(const char *path, const kvc_session *session, cJSON **earlier, kvc_error *error);
/* Whether nothing of `earlier` is left to run: it was finished, and every variant to its end. */
int kvc_resume_is_complete(const cJSON *earlier);
/*
 * The entry of this variant, if all of its sequences were run and it was judged by this contract; else NULL. `earlier` may be
 * NULL. It belongs to `earlier`.
 */
const cJSON *kvc_resume_find(const cJSON *earlier, const char *target, const char *version, const char *variant,
                             const char *contract);
/* Adds what `earlier` (may be NULL) has of variants that the result has not come to. Returns 0 when memory is short. */
int kvc_resume_keep(cJSON *result, const cJSON *earlier);

#endif
