/* kvconform list */
#include <stdio.h>
#include <string.h>

#include "adapters/builtin/builtin.h"
#include "harness/commands.h"

static int list_targets(void)
{
    (void)printf("builtin        the caches that come with kvconform\n"
                 "transformers   Hugging Face transformers; transformers@VERSION gets an environment of its own\n"
                 "mlx-lm         the caches of mlx-lm, likewise\n"
                 "llama.cpp      the memory of llama.cpp, compiled once\n"
                 "python:MODULE:CLASS  any Python class that holds keys and values\n"
                 "plugin:PATH    a C or C++ cache in a shared object\n"
                 "exec:COMMAND   any program that speaks the adapter protocol\n");
    return KVC_EXIT_CONFORMS;
}

static int list_variants(const kvc_catalogue *catalogue)
{
    for (size_t at = 0; at < catalogue->specs; at++)
        (void)printf("%-14s %-44s %s\n", catalogue->spec[at].subject, catalogue->spec[at].variant,
                     catalogue->spec[at].title);
    return KVC_EXIT_CONFORMS;
}

static int list_laws(void)
{
    for (int law = 0; law < KVC_LAWS; law++)
        (void)printf("%-9s %s\n", kvc_law_name((kvc_law)law), kvc_law_text((kvc_law)law));
    return KVC_EXIT_CONFORMS;
}

static int list_contracts(const kvc_catalogue *catalogue)
{
    for (size_t at = 0; at < catalogue->contracts; at++) {
        const kvc_contract *contract = &catalogue->contract[at];
        char when[64] = "with --contract";
        if (contract->from[0] != '\0')
            (void)snprintf(when, sizeof when, "from %s on", contract->from);
        (void)printf("%-20s %s %s, %zu rules%s%s%s%s\n", contract->id, contract->subject, when, contract->rules,
                     contract->extends[0] != '\0' ? ", extends " : "", contract->extends,
                     contract->known_to[0] != '\0' ? ", known to " : "", contract->known_to);
    }
    return KVC_EXIT_CONFORMS;
}

static int list_faults(void)
{
    const kvc_builtin_fault *faults;
    size_t count = kvc_builtin_faults(&faults);

    for (size_t at = 0; at < count; at++)
        (void)printf("%s+%-36s %-9s %s\n", faults[at].variant, faults[at].fault, faults[at].law,
                     faults[at].description);
    return KVC_EXIT_CONFORMS;
}

int kvc_command_list(const kvc_session *session)
{
    const char *what = session->options->word[0];
    kvc_error error;

    if (strcmp(what, "targets") == 0)
        return list_targets();
    if (strcmp(what, "variants") == 0)
        return list_variants(session->catalogue);
    if (strcmp(what, "laws") == 0)
        return list_laws();
    if (strcmp(what, "contracts") == 0)
        return list_contracts(session->catalogue);
    if (strcmp(what, "faults") == 0)
        return list_faults();
    kvc_error_set(&error, "list: \"%.60s\": expected targets, variants, laws, contracts or faults", what);
    kvc_complain(error.text);
    return KVC_EXIT_USAGE;
}
