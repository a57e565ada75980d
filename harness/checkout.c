#include "harness/checkout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/program.h"

enum { LINE_MAX_BYTES = 640 };

/* Runs git in a folder. Returns 0 with *error set to the words and what git said. */
static int git(const char *folder, const char *const *words, char *out, size_t size, kvc_error *error)
{
    const char *command[12] = {"git", "-C", folder};
    char said[LINE_MAX_BYTES];
    size_t at = 0;
    int status;

    while (words[at] != NULL && at < 8) {
        command[3 + at] = words[at];
        at++;
    }
    status = kvc_program_output(command, out != NULL ? out : said, out != NULL ? size : sizeof said, 0);
    if (status == 0)
        return 1;
    kvc_error_set(error, status == 127 ? "git is not there; install it (Debian: git)" : "git %.40s in %.300s failed: see above",
                  words[0], folder);
    return 0;
}

/* One name on each line becomes the list. */
static int take_commits(kvc_checkout *checkout, char *text, kvc_error *error)
{
    char *rest = text;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (checkout->commits == KVC_CHECKOUT_COMMITS_MAX || strlen(line) >= sizeof checkout->commit[0]) {
            kvc_error_set(error, "more than %d commits; take ends that are nearer to each other", KVC_CHECKOUT_COMMITS_MAX);
            return 0;
        }
        memcpy(checkout->commit[checkout->commits++], line, strlen(line) + 1);
    }
    return 1;
}

int kvc_checkout_open(kvc_checkout *checkout, const char *folder, const char *first, const char *last, const char *subject,
                      kvc_error *error)
{
    enum { LISTED = (KVC_CHECKOUT_COMMITS_MAX + 1) * 64 };
    char range[300];
    char *text = malloc(LISTED);
    const char *path = getenv("PYTHONPATH");
    int good = 0;

    memset(checkout, 0, sizeof *checkout);
    checkout->commit = calloc(KVC_CHECKOUT_COMMITS_MAX, sizeof *checkout->commit);
    checkout->before = path != NULL ? strdup(path) : NULL;
    (void)snprintf(checkout->below, sizeof checkout->below, "%s", strcmp(subject, "transformers") == 0 ? "/src" : "");
    (void)snprintf(range, sizeof range, "%.120s..%.120s", first, last);
    if (text == NULL || checkout->commit == NULL || (path != NULL && checkout->before == NULL)) {
        kvc_error_set(error, "not enough memory");
    } else if (strlen(folder) >= sizeof checkout->git) {
        kvc_error_set(error, "--git: the path is too long");
    } else {
        const char *start[] = {"rev-parse", "--verify", "--quiet", "--short=12", first, NULL};
        const char *list[] = {"rev-list", "--reverse", "--first-parent", "--abbrev-commit", "--abbrev=12", range, "--", NULL};
        memcpy(checkout->git, folder, strlen(folder) + 1);
        good = git(folder, start, text, LISTED, error) && take_commits(checkout, text, error) &&
               git(folder, list, text, LISTED, error) && take_commits(checkout, text, error);
        if (good && checkout->commits < 2) {
            kvc_error_set(error, "--versions: nothing lies between %.60s and %.60s", first, last);
            good = 0;
        }
    }
    free(text);
    return good;
}

int kvc_checkout_lay_out(kvc_checkout *checkout, int at, kvc_error *error)
{
    const char *name = checkout->commit[at];
    char path[2 * KVC_CHECKOUT_PATH_MAX];

    if (checkout->folder[0] == '\0') {
        const char *temporary = getenv("TMPDIR");
        (void)snprintf(checkout->folder, sizeof checkout->folder, "%.4000s/kvconform-XXXXXX",
                       temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
        if (mkdtemp(checkout->folder) == NULL) {
            checkout->folder[0] = '\0';
            kvc_error_set(error, "no folder can be made for a commit; is there room below TMPDIR?");
            return 0;
        }
        const char *words[] = {"worktree", "add", "--quiet", "--detach", checkout->folder, name, NULL};
        if (!git(checkout->git, words, NULL, 0, error))
            return 0;
    } else {
        const char *words[] = {"checkout", "--quiet", "--detach", name, NULL};
        if (!git(checkout->folder, words, NULL, 0, error))
            return 0;
    }
    (void)snprintf(path, sizeof path, "%s%s%s%s", checkout->folder, checkout->below, checkout->before != NULL ? ":" : "",
                   checkout->before != NULL ? checkout->before : "");
    if (setenv("PYTHONPATH", path, 1) != 0) {
        kvc_error_set(error, "not enough memory");
        return 0;
    }
    return 1;
}

void kvc_checkout_close(kvc_checkout *checkout)
{
    kvc_error ignored;

    if (checkout->folder[0] != '\0') {
        const char *words[] = {"worktree", "remove", "--force", checkout->folder, NULL};
        if (!git(checkout->git, words, NULL, 0, &ignored))
            (void)rmdir(checkout->folder);
        if (checkout->before != NULL)
            (void)setenv("PYTHONPATH", checkout->before, 1);
        else
            (void)unsetenv("PYTHONPATH");
    }
    free(checkout->commit);
    free(checkout->before);
    *checkout = (kvc_checkout){.commit = NULL};
}
