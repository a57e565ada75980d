/*
 * What a cache that holds several sequences shows, compared with their logs.
 *
 * For sequence N it shows, as int64: `sequenceN.positions` [2], the smallest and largest position that it reports; `sequenceN.attention`
 * and `sequenceN.window` [cells, 4], for each cell its position, its token (-1 where that cannot be told) and digests of its keys and values;
 * `sequenceN.state` [3], how many recurrent states there are, the position and a digest. A decode also shows
 * `returned.sequenceN.logits`.
 */
#ifndef KVC_REFERENCE_SEQUENCES_JUDGE_H
#define KVC_REFERENCE_SEQUENCES_JUDGE_H

#include "reference/judge.h"

enum { KVC_LOGITS_MAX = 64 };

/* Digest of all that is stored: what an op returned is not part of it. */
uint64_t kvc_sequences_digest(const kvc_observation *observation);
/* Compares every sequence with the model, which stands behind the op, and lets it learn what the cells hold. */
void kvc_sequences_look(kvc_model *model, const kvc_op *op, const kvc_observation *observation, kvc_failure *failure, int *found);
/* The logits that a decode returned for a sequence. Returns how many, at most KVC_LOGITS_MAX; 0 when there are none. */
int kvc_sequences_logits(const kvc_observation *observation, int sequence, float logits[KVC_LOGITS_MAX]);
/* One of the tensors above, "positions" and so on; NULL when it is not shown as it must be. */
const kvc_tensor *kvc_sequences_tensor(const kvc_observation *observation, int sequence, const char *what);
/* Element `at` of an int64 tensor that is shown as it must be. */
int64_t kvc_sequences_number(const kvc_tensor *tensor, int64_t at);

#endif
