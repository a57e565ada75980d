/*
 * The catalogue of the source tree ($KVCONFORM_DATA, or the folder the fuzzer is run in), read once.
 */
#ifndef KVC_FUZZ_CATALOGUE_H
#define KVC_FUZZ_CATALOGUE_H

#include "fuzz/fuzz.h"
#include "harness/data.h"

/* Ends the process when there is none. Never freed: it is reached until the end. */
static const kvc_catalogue *kvc_fuzz_catalogue(void)
{
    static kvc_catalogue catalogue;
    static int is_read;
    char folder[4096];
    kvc_error error = {""};

    if (!is_read && (!kvc_data_find(folder, sizeof folder, &error) || !kvc_data_catalogue(folder, &catalogue, &error))) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    is_read = 1;
    return &catalogue;
}

#endif
