/*
 * Whole models in a report: the faults of single layers that their findings follow from, and what changed from version to version.
 */
#ifndef KVC_REPORTS_MODELS_H
#define KVC_REPORTS_MODELS_H

#include "reports/model.h"

/* Whether an entry of `runs` is one of a whole model: by its kind, or, where it could not be run, by its name. */
int kvc_models_is_run(const cJSON *run);
/* The name of the architecture: that of the row without `model/` in front of it. */
const char *kvc_models_name(const kvc_report_row *row);

/* The models of a subject that have a row, by name. NULL without memory; the caller frees it. */
size_t *kvc_models_sorted(const kvc_report_model *model, size_t subject, size_t *count);

/* Fills in the links of a model that has its causes. Returns 0, or -1 without memory. */
int kvc_models_link(kvc_report_model *model);
/* The first link behind those that speak of the same fault of a layer as link number `at`: they lie side by side. */
size_t kvc_models_links_end(const kvc_report_model *model, size_t at);
/* The link from the finding of a model to a fault, or KVC_NONE. */
size_t kvc_models_find_link(const kvc_report_model *model, size_t cause, const cJSON *link);

/* What a version made of a model, against the last one before it in which the model was run. */
typedef struct kvc_models_change {
    size_t fresh;   /* findings that are new */
    size_t gone;    /* findings that are there no more */
    int is_first;   /* it was not run in any version before, and there are some */
    int was_there;  /* and yet one of them had it: it could not be run there */
    int is_lost;    /* it was run before and is not here */
} kvc_models_change;
kvc_models_change kvc_models_changed(const kvc_report_model *model, size_t row, size_t version);
/* Whether there is any change. */
int kvc_models_is_change(const kvc_models_change *change);

/* Sentences on what is told of a finding of a whole model, plain text; nothing of any other finding. */
void kvc_models_add_words(kvc_text *text, const cJSON *finding);

#endif
