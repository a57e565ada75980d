#include "reports/law_text.h"

#include <stddef.h>
#include <string.h>

#include "reference/law.h"

const char *kvc_report_law_text(const char *name)
{
    /* Laws for subjects that save or share, which a result may name before the reference judges them. */
    static const struct {
        const char *name, *text;
    } others[] = {
        {"SAVE", "Saving and restoring equals never having saved; damaged data is refused and changes nothing."},
        {"ISOLATION", "Ops on one sequence never show in another."},
        {"LEDGER", "Free and live add up to the capacity, owners are counted right, and no removed token can be read."},
    };
    kvc_law law;
    if (kvc_law_parse(name, &law)) {
        return kvc_law_text(law);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].name, name) == 0) {
            return others[i].text;
        }
    }
    return "";
}
