/*
 * All specs and contracts of a data folder.
 */
#ifndef KVC_REFERENCE_CATALOGUE_H
#define KVC_REFERENCE_CATALOGUE_H

#include <stddef.h>

#include "reference/contract.h"
#include "reference/exemptions.h"
#include "reference/spec.h"

typedef struct kvc_catalogue {
    size_t specs;
    kvc_spec *spec; /* owned, sorted by subject and variant */
    size_t contracts;
    kvc_contract *contract; /* owned, sorted by subject and version */
    size_t exempted;
    kvc_exemptions *exemptions; /* owned, one for each subject that has some */
    /* How many specs and contracts at the end were brought by a subject (reference/brought.h). */
    size_t brought_specs;
    size_t brought_contracts;
} kvc_catalogue;

/*
 * Reads `folder`/specs/SUBJECT/VARIANT.json, `folder`/contracts/ID.json and, if it is there,
 * `folder`/exemptions/SUBJECT.json. Returns 1, or 0 with *error set when a file is
 * damaged, stands twice, or extends a contract that is not there. Free with kvc_catalogue_clear, also after a failure.
 */
int kvc_catalogue_read(const char *folder, kvc_catalogue *catalogue, kvc_error *error);
void kvc_catalogue_clear(kvc_catalogue *catalogue);
/*
 * NULL when there is none. A name with a fault, `full+off_by_one`, has the spec of the part before the `+`; one of a family that
 * has no spec of its own, `model/llama`, that of the family, `model`.
 */
const kvc_spec *kvc_catalogue_spec(const kvc_catalogue *catalogue, const char *subject, const char *variant);
/*
 * The contract of a version: the one with the greatest first version not above it; NULL when there is none. *assumed becomes 1
 * when the version is newer than any that a contract knows.
 */
const kvc_contract *kvc_catalogue_contract(const kvc_catalogue *catalogue, const char *subject, const char *version,
                                           int *assumed);
/* NULL when there is none. */
const kvc_contract *kvc_catalogue_contract_by_id(const kvc_catalogue *catalogue, const char *id);
/* NULL when there is none. */
const kvc_exemptions *kvc_catalogue_exemptions(const kvc_catalogue *catalogue, const char *subject);
/* The rules of one variant: those of the extended contracts first. */
void kvc_catalogue_rules(const kvc_catalogue *catalogue, const kvc_contract *contract, const char *variant,
                         kvc_rules *rules);

#endif
