#include "reference/law.h"

#include <string.h>

static const struct {
    const char *name;
    const char *text;
} laws[KVC_LAWS] = {
    {"ALIVE", "The process does not crash, hang or pass its memory limit."},
    {"CALL", "Every documented way to call an op does the same: by position, by keyword, by a deprecated keyword while "
             "it lasts, on the layer or through its container."},
    {"HONEST", "What a cache claims about itself holds: it does not claim a crop that it cannot give back."},
    {"REFUSE", "What cannot be done is refused in the documented way and not answered with a wrong state; what can be "
               "done is not refused."},
    {"ATOMIC", "After a refused or failed op every tensor and length is as it was, in all layers."},
    {"CLAMP", "Removing more than there is leaves an empty cache that works."},
    {"ZERO", "crop(0) does what the contract says: nothing, trim recorded extra state, or refuse."},
    {"RESET", "A reset cache behaves as a fresh one with the same settings."},
    {"BATCH", "Reorder, select and repeat move every tensor of a row together."},
    {"SAVE", "Copying, saving and restoring, offloading and prefetching, quantising lose nothing: going on equals never having done it."},
    {"LENGTH", "The reported sequence length is the number of tokens."},
    {"INDEX", "Index tensors are exactly their view, and as long as the sequence."},
    {"STATE", "Convolution, recurrent, compressed and buffered states are exactly their view."},
    {"KEYS", "The stored keys are exactly their view: content, order, shape and dtype."},
    {"VALUES", "The stored values are exactly their view: content, order, shape and dtype."},
    {"RETURN", "What an append returns is what attention may see."},
    {"MASK", "The mask announced before an append matches what that append returns, and lets each new token see what it may see."},
    {"ADDRESS", "Buffers documented as static keep their address."},
    {"ALIAS", "Inputs are never written, and a returned tensor that the contract calls fresh is not changed by later ops."},
    {"ISOLATION", "Ops on a copy or a sequence never show in its original or in another."},
    {"RESUME", "After a rollback, going on equals a fresh cache that was given only the kept tokens."},
    {"CHUNK", "Any split of the same tokens into appends gives the same cache."},
    {"POSITION", "The position that the cache announces for the next token is right in every row."},
};

const char *kvc_law_name(kvc_law law)
{
    return (unsigned)law < KVC_LAWS ? laws[law].name : "?";
}

const char *kvc_law_text(kvc_law law)
{
    return (unsigned)law < KVC_LAWS ? laws[law].text : "";
}

int kvc_law_parse(const char *name, kvc_law *law)
{
    for (int at = 0; at < KVC_LAWS; at++) {
        if (strcmp(laws[at].name, name) == 0) {
            *law = (kvc_law)at;
            return 1;
        }
    }
    return 0;
}
