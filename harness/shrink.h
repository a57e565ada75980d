/*
 * Making a sequence smaller: fewer ops, smaller numbers, smaller parameters, as long as somebody says that it will do. Only legal sequences are
 * proposed, and always the same for the same answers.
 */
#ifndef KVC_HARNESS_SHRINK_H
#define KVC_HARNESS_SHRINK_H

#include "harness/finding.h"

/*
 * Which of `count` candidates, all with these parameters, is the first that will do: its place, or -1 for none. It may be cut before it is
 * taken. Setting *result to anything but KVC_CREW_DONE ends the shrinking.
 */
typedef int (*kvc_shrink_choose)(void *context, const kvc_params *params, kvc_sequence *candidate, int count,
                                 kvc_crew_result *result);
/* Of `bench` the crew is not used. KVC_CREW_FAILED also when memory is short. */
kvc_crew_result kvc_shrink(const kvc_bench *bench, kvc_params *params, kvc_sequence *sequence, kvc_shrink_choose choose,
                           void *context);

#endif
