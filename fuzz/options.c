/* The command line: one word for each line of the input. Targets among the words are taken apart too. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "harness/target.h"

enum { WORDS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char name[] = "kvconform";
    char *word[WORDS_MAX + 2] = {name};
    int words = 1;
    kvc_options options;
    kvc_error error = {""};
    kvc_target *target = malloc(sizeof *target);
    int good;

    if (text == NULL || target == NULL)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at != NULL && words <= WORDS_MAX;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end++ = '\0';
        word[words++] = at;
        at = end;
    }
    good = kvc_options_parse(words, word, &options, &error);
    KVC_MUST(good || error.text[0] != '\0');
    for (int at = 0; good && at < options.words; at++) {
        kvc_target_result parsed = kvc_target_parse(options.word[at], &options, target, &error);
        KVC_MUST(parsed == KVC_TARGET_READY || error.text[0] != '\0');
    }
    kvc_options_clear(&options);
    free(target);
    free(text);
    return 0;
}
