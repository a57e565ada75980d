/*
 * Specs and the contract that a subject brings itself, in its hello (docs/protocol.md, Hello).
 */
#ifndef KVC_REFERENCE_BROUGHT_H
#define KVC_REFERENCE_BROUGHT_H

#include <cjson/cJSON.h>

#include "reference/catalogue.h"

/*
 * Adds what a checked hello brings behind what was read from files, in place of what another hello brought before. What the data
 * folder has counts first: a spec or a contract that is there is not replaced. A subject that brings specs and has no contract gets
 * one without rules. Returns 1, or 0 with *error set; nothing is brought then. Pointers into the catalogue are no longer valid.
 */
int kvc_catalogue_bring(kvc_catalogue *catalogue, const cJSON *hello, kvc_error *error);

#endif
