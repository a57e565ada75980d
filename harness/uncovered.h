/*
 * The coverage gate: cache classes of a subject that nothing drives and no exemption names.
 */
#ifndef KVC_HARNESS_UNCOVERED_H
#define KVC_HARNESS_UNCOVERED_H

#include <cjson/cJSON.h>

#include "reference/catalogue.h"

/*
 * Compares all `classes` of an installation with the `variants` that its adapter drives (NULL-ended; what follows a `-` in their
 * names says how the class is made) and with the exemptions. Returns the names of the rest as a list that the caller frees; NULL
 * with *error set when memory is short or an exemption names no class of this version, or one that is driven. `assumed`: the version is newer than
 * anything that was read, or a build between two releases: exemptions may be behind.
 */
cJSON *kvc_uncovered_find(const kvc_catalogue *catalogue, const char *subject, const char *version, int assumed,
                          const cJSON *classes, const char *const *variants, kvc_error *error);

#endif
