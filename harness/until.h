/*
 * When enough of a variant was covered: every op in every situation that it can be in was judged so many times.
 */
#ifndef KVC_HARNESS_UNTIL_H
#define KVC_HARNESS_UNTIL_H

#include <cjson/cJSON.h>

#include "harness/generator.h"

enum { KVC_UNTIL_STANDARD = 3 /* times */, KVC_UNTIL_BOUND = 1000000 /* sequences, where nothing else bounds them */ };

typedef struct kvc_until kvc_until;

/*
 * What can be reached is what the generator comes to in its first 100,000 sequences with the reference alone, and so the same on any
 * machine. NULL with *error set.
 */
kvc_until *kvc_until_open(kvc_generator *generator, uint64_t times, kvc_error *error);
void kvc_until_close(kvc_until *until);
/*
 * Looks after a round whether to end; `sequences` are those of the portion so far. It ends when all is covered, and when nothing
 * more was covered while the sequences doubled: the rest lies behind faults, or is too seldom. What kills the process is not asked for.
 */
int kvc_until_is_over(kvc_until *until, const kvc_coverage *coverage, const kvc_exclusions *exclusions, uint64_t sequences);
/* A portion is at its end: the next one adds to it. */
void kvc_until_add(kvc_until *until, const kvc_coverage *coverage, uint64_t sequences);
/* What came of it: `times`, `reachable`, `reached`, `ended`, `missing`. NULL when memory is short. */
cJSON *kvc_until_print(const kvc_until *until);

#endif
