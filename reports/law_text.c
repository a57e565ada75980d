#include "reports/law_text.h"

#include <string.h>

#include "reference/law.h"

const char *kvc_report_law_text(const char *name)
{
    kvc_law law;
    if (kvc_law_parse(name, &law)) {
        return kvc_law_text(law);
    }
    /* What a result may name before the reference judges it. */
    if (strcmp(name, "LEDGER") == 0) {
        return "Free and live add up to the capacity, owners are counted right, and no removed token can be read.";
    }
    return "";
}
