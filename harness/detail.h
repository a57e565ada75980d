/*
 * What was expected and what was observed at a failing step, as JSON, for the report.
 */
#ifndef KVC_HARNESS_DETAIL_H
#define KVC_HARNESS_DETAIL_H

#include "reference/judge.h"

/*
 * Writes {"expected": {...}, "observed": {...}, "title": "...", "tensor": "..."} to `out` as NUL-ended JSON; "" when it does not fit.
 * `observation` is NULL when the op never came back, or when what it showed is not known any more: then only its outcome is told.
 * The judge stands where kvc_judge_step left it.
 */
void kvc_detail_write(kvc_judge *judge, const kvc_op *op, const kvc_observation *observation,
                      const kvc_failure *failure, char *out, size_t size);

#endif
