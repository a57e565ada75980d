/*
 * Where specs, contracts and adapters lie.
 */
#ifndef KVC_HARNESS_DATA_H
#define KVC_HARNESS_DATA_H

#include <stddef.h>

#include "reference/catalogue.h"

/*
 * The folder that holds `reference/` and `adapters/`: $KVCONFORM_DATA, else ../share/kvconform beside the program, else where it was
 * to be installed. Never the current folder: programs of the data folder are run. Returns 0 with *error set.
 */
int kvc_data_find(char *folder, size_t size, kvc_error *error);
/* Reads the catalogue of that folder. Free it with kvc_catalogue_clear, also after a failure. */
int kvc_data_catalogue(const char *folder, kvc_catalogue *catalogue, kvc_error *error);

#endif
