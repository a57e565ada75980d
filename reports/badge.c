#include "reports/badge.h"

#include <string.h>

#include "reports/words.h"

/* Width of a text at 11 pixels. Fonts differ: the picture also says how long its texts are, so that they fit in any. */
static unsigned width_of(const char *text)
{
    unsigned tenths = 0;
    for (; *text != '\0'; text++) {
        tenths += strchr("il ,.", *text) != NULL ? 38 : strchr("mwKVC", *text) != NULL ? 86 : 68;
    }
    return (tenths + 9) / 10;
}

static void add_text(kvc_text *out, const char *text, unsigned left, unsigned width)
{
    kvc_text_add_format(out, "<text x=\"%u\" y=\"14\" textLength=\"%u\">%s</text>", left, width, text);
}

int kvc_report_badge(const kvc_report_model *model, kvc_text *out)
{
    static const char label[] = "KV caches";
    /* White on these is readable: at least 4.5 to 1. */
    const char *colour = model->cause_count > 0 ? "#b34700" : model->rows_run > 0 ? "#00664b" : "#57606a";
    kvc_text message = {0};
    if (model->cause_count > 0) {
        kvc_words_add_plural(&message, model->cause_count, "finding", "findings");
    } else {
        kvc_text_add(&message, model->rows_run > 0 ? "no finding" : "nothing was run");
    }
    unsigned left = width_of(label);
    unsigned right = width_of(kvc_text_string(&message));
    kvc_text_add_format(out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"20\" role=\"img\" "
                        "aria-label=\"%s: %s\">\n<title>%s: %s</title>\n<rect width=\"%u\" height=\"20\" rx=\"3\" fill=\"#3b434b\"/>"
                        "<path fill=\"%s\" d=\"M%u 0h%ua3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%uz\"/>\n"
                        "<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">",
                        left + right + 24, label, kvc_text_string(&message), label, kvc_text_string(&message), left + right + 24,
                        colour, left + 12, right + 9, right + 9);
    add_text(out, label, 6, left);
    add_text(out, kvc_text_string(&message), left + 18, right);
    kvc_text_add(out, "</g>\n</svg>\n");
    out->failed |= message.failed;
    kvc_text_free(&message);
    return out->failed ? -1 : 0;
}
