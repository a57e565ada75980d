#include "harness/portion_internal.h"

#include "reference/params.h"

const kvc_cause_info kvc_cause_fields[KVC_CAUSE_FIELDS] = {
    {"named", 0, KVC_LAWS - 1},           {"law", 0, KVC_LAWS - 1},  {"place", 0, KVC_PLACE_KEPT},
    {"deviation", 0, KVC_DEVIATIONS - 1}, {"op", 0, KVC_OP_KINDS - 1}, {"narrow", 0, 1},
    {"rule", -1, KVC_CONTRACT_RULES - 1}, {"complaint", 0, UINT32_MAX}, {"situation", 0, KVC_SITUATIONS - 1},
    {"call", 0, KVC_CALLS - 1},           {"shrunk", 0, 1}};

int64_t kvc_cause_get(const kvc_finding *finding, kvc_cause_field field)
{
    const kvc_failure *failure = &finding->failure;

    switch (field) {
    case KVC_CAUSE_NAMED:
        return finding->law;
    case KVC_CAUSE_LAW:
        return failure->law;
    case KVC_CAUSE_PLACE:
        return failure->place;
    case KVC_CAUSE_DEVIATION:
        return failure->deviation;
    case KVC_CAUSE_OP:
        return failure->op;
    case KVC_CAUSE_NARROW:
        return failure->narrow;
    case KVC_CAUSE_RULE:
        return failure->rule;
    case KVC_CAUSE_COMPLAINT:
        return failure->complaint;
    case KVC_CAUSE_SITUATION:
        return kvc_situation_code(&failure->situation);
    case KVC_CAUSE_CALL:
        return finding->params.call;
    case KVC_CAUSE_SHRUNK:
        break;
    }
    return finding->shrunk != 0;
}

void kvc_cause_set(kvc_finding *finding, kvc_cause_field field, int64_t value)
{
    kvc_failure *failure = &finding->failure;

    switch (field) {
    case KVC_CAUSE_NAMED:
        finding->law = (kvc_law)value;
        return;
    case KVC_CAUSE_LAW:
        failure->law = (uint8_t)value;
        return;
    case KVC_CAUSE_PLACE:
        failure->place = (uint8_t)value;
        return;
    case KVC_CAUSE_DEVIATION:
        failure->deviation = (uint8_t)value;
        return;
    case KVC_CAUSE_OP:
        failure->op = (uint8_t)value;
        return;
    case KVC_CAUSE_NARROW:
        failure->narrow = (uint8_t)value;
        return;
    case KVC_CAUSE_RULE:
        failure->rule = (int32_t)value;
        return;
    case KVC_CAUSE_COMPLAINT:
        failure->complaint = (uint32_t)value;
        return;
    case KVC_CAUSE_SITUATION:
        kvc_situation_from_code((int)value, &failure->situation);
        return;
    case KVC_CAUSE_CALL:
        finding->params.call = (int32_t)value;
        return;
    case KVC_CAUSE_SHRUNK:
        finding->shrunk = value != 0;
        return;
    }
}
