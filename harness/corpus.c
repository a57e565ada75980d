#include "harness/corpus.h"

#include <string.h>
#include <sys/mman.h>

#include "harness/random.h"

uint32_t kvc_feature(kvc_feature_kind kind, uint64_t one, uint64_t two)
{
    uint64_t word = kvc_random_scramble(((uint64_t)kind << 56) + one + 0x9e3779b97f4a7c15u);

    return (uint32_t)(kvc_random_scramble(word + two) % KVC_FEATURES);
}

kvc_corpus *kvc_corpus_open(void)
{
    kvc_corpus *corpus = mmap(NULL, sizeof *corpus, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return corpus != MAP_FAILED ? corpus : NULL;
}

void kvc_corpus_close(kvc_corpus *corpus)
{
    if (corpus != NULL)
        (void)munmap(corpus, sizeof *corpus);
}

void kvc_corpus_clear(kvc_corpus *corpus)
{
    corpus->count = corpus->lost = 0;
    memset(corpus->seen, 0, sizeof corpus->seen);
    memset(corpus->reached, 0, sizeof corpus->reached);
}

int kvc_corpus_add(kvc_corpus *corpus, const kvc_bytes *bytes)
{
    if (corpus->count == KVC_CORPUS_MAX) {
        corpus->lost++;
        return 0;
    }
    corpus->entry[corpus->count++] = *bytes;
    return 1;
}
