/*
 * What an earlier session of a long search has reported, in the result of the one that goes on with it.
 */
#ifndef KVC_HARNESS_CARRY_H
#define KVC_HARNESS_CARRY_H

#include <cjson/cJSON.h>

/*
 * Adds to `entry`, a run of now, the findings that the same run of `earlier` has and that do not show each time: they may have been met before and
 * not now. What shows each time and did not now is gone. Returns how many, -1 when memory is short.
 */
int kvc_carry_findings(const cJSON *earlier, cJSON *entry);
/* Adds the runs of `earlier` that `result` has none of: they were not come to again. Returns 0 when memory is short. */
int kvc_carry_runs(const cJSON *earlier, cJSON *result);

#endif
