#include <stdlib.h>
#include <string.h>

#include "harness/gate.h"
#include "harness/replay.h"
#include "harness/target.h"
#include "reports/model.h"

enum { HOLDING = 2 }; /* of a situation's `held`: there are tokens */

/* The op before the one that fails; NULL when it is the first. How recording is set up does not count. */
static const kvc_op *op_before(const kvc_finding *finding)
{
    int at = finding->failure.step - 1;

    while (at >= 0 && finding->sequence.op[at].kind == KVC_RECORD)
        at--;
    return at >= 0 ? &finding->sequence.op[at] : NULL;
}

/* Whether the op before changes how many rows there are, so that what it left behind does not fit. */
static int changed_rows(const kvc_finding *finding, const kvc_op *before)
{
    int32_t rows = finding->params.batch;

    for (const kvc_op *op = finding->sequence.op; op < before; op++)
        rows = kvc_op_rows_after(op, rows);
    return kvc_op_rows_after(before, rows) != rows;
}

/* Whether the op puts rows beside those that are there, or takes some of them. */
static int meets_rows(int kind)
{
    return kind == KVC_APPEND || kind == KVC_APPEND_ROWS || kind == KVC_REORDER || kind == KVC_SELECT || kind == KVC_REPEAT;
}

/*
 * Whether what was met concerns the tensors that the known finding says were left behind: those of its law, or the same one where it is
 * returned. A refusal shows no tensor.
 */
static int is_of_same_tensors(const kvc_finding *known, const kvc_finding *met)
{
    const char *of = strstr(known->tensor, " of ");
    size_t length = of != NULL ? (size_t)(of - known->tensor) : strlen(known->tensor);

    return strcmp(known->wrong, met->wrong) == 0 || strcmp(known->wrong, kvc_law_name((kvc_law)met->failure.law)) == 0 ||
           (strncmp(known->tensor, met->wrong, length) == 0 && met->wrong[length] == '\0');
}

/*
 * A batch op that leaves a tensor behind shows it where there are tokens. In a cache that is empty, again or after a reset, what is
 * left behind counts for nothing, and the op that comes next shows it, by rows that do not fit.
 */
static int is_of_rows_left_behind(const kvc_finding *known, const kvc_finding *met)
{
    const kvc_op *before = op_before(met);
    uint8_t deviation = met->failure.deviation;

    return known->failure.law == KVC_BATCH && known->failure.place == KVC_PLACE_STORED &&
           (known->failure.deviation == KVC_WRONG_SHAPE || known->failure.deviation == KVC_WRONG_ROW) && before != NULL &&
           before->kind == known->failure.op && changed_rows(met, before) && met->failure.situation.held != HOLDING &&
           meets_rows(met->failure.op) &&
           (deviation == KVC_REFUSED ||
            ((deviation == KVC_WRONG_SHAPE || deviation == KVC_WRONG_ROW) && is_of_same_tensors(known, met)));
}

/* Behind a window of one nothing is held. What holds something nevertheless does so whichever op has just been done. */
static int is_of_window_of_one(const kvc_finding *known, const kvc_finding *met)
{
    return known->failure.narrow && met->failure.narrow && known->failure.place == KVC_PLACE_STORED &&
           met->failure.place == KVC_PLACE_STORED && known->failure.deviation == KVC_LONG && met->failure.deviation == KVC_LONG &&
           strcmp(known->wrong, met->wrong) == 0;
}

/*
 * A wrong state behind a crop that the cache had claimed breaks HONEST. It is known in two parts: what the crop does to that tensor is known
 * where nothing was claimed, and that the claim does not hold is known of another tensor.
 */
static unsigned kin_of_claim(const kvc_finding *known, const kvc_finding *met)
{
    kvc_finding claimed = *known;

    if (met->failure.law != KVC_HONEST || met->failure.place == KVC_PLACE_OUTCOME || met->failure.op != known->failure.op ||
        (known->failure.narrow && !met->failure.narrow))
        return 0;
    if (known->failure.law == KVC_HONEST)
        return KVC_GATE_CLAIM;
    claimed.failure.law = KVC_HONEST;
    claimed.failure.rule = met->failure.rule;
    return kvc_finding_covers(&claimed, met) ? KVC_GATE_WRONG : 0;
}

static unsigned kin_of(const kvc_finding *known, const kvc_finding *met)
{
    return kvc_finding_covers(known, met) || is_of_rows_left_behind(known, met) || is_of_window_of_one(known, met)
               ? KVC_GATE_ALL
               : kin_of_claim(known, met);
}

/* Whether what several known findings say of one that was met is all that is wrong with it. */
static int is_enough(unsigned kin)
{
    return (kin & KVC_GATE_ALL) != 0 || (kin & (KVC_GATE_CLAIM | KVC_GATE_WRONG)) == (KVC_GATE_CLAIM | KVC_GATE_WRONG);
}

int kvc_gate_speaks_of(const kvc_gate_item *item, const kvc_baseline_place *place)
{
    return item->state == KVC_GATE_KNOWN && item->shown != NULL && kvc_baseline_applies(item->entry, place) &&
           strcmp(kvc_json_string(item->entry->item, "subject"), place->subject) == 0 &&
           strcmp(kvc_json_string(item->entry->item, "variant"), place->variant) == 0;
}

/* Whether a name is one of several with `+` between. */
static int is_word_of(const char *words, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = words; at != NULL; at = strchr(at, '+')) {
        at += *at == '+';
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == '+'))
            return 1;
    }
    return 0;
}

unsigned kvc_gate_layer_kin(const kvc_finding *known, const char *layer, const kvc_finding *met, const char *layers)
{
    /* An error does not say which layer raised it: where one is known it must be the same complaint. */
    int is_of_layer = met->failure.deviation == KVC_REFUSED
                          ? is_word_of(layers, layer) &&
                                (known->failure.deviation != KVC_REFUSED || known->failure.complaint == met->failure.complaint)
                          : strcmp(met->layer, layer) == 0;

    return is_of_layer ? kin_of(known, met) : 0;
}

int kvc_gate_covers(const kvc_gate *gate, const kvc_finding *met, const char *subject, const char *version, const char *variant,
                    const char *layers)
{
    kvc_baseline_place place = {subject, version, variant, "", ""};
    unsigned kin = 0;

    for (int at = 0; at < gate->items && !is_enough(kin); at++) {
        /* Its case was tried at one version; the entry speaks of all to which it applies. */
        const kvc_gate_item *item = &gate->item[at];
        kvc_baseline_place of_layer = {subject, version, item->entry != NULL ? kvc_json_string(item->entry->item, "variant") : "", "", ""};
        if (kvc_gate_speaks_of(item, &place))
            kin |= kin_of(item->shown, met);
        if (layers != NULL && kvc_gate_speaks_of(item, &of_layer))
            kin |= kvc_gate_layer_kin(item->shown, of_layer.variant, met, layers);
    }
    return is_enough(kin);
}

/* What the case of an entry of a kind of layer, run here, says of the finding that was met in a container of such layers. */
static unsigned shown_of_layer(const kvc_session *session, const kvc_baseline_entry *entry, kvc_replayer *replayer, const kvc_replayed *met,
                       const char *layers)
{
    char *text = cJSON_PrintUnformatted(entry->item);
    kvc_replayed shown = {.detail = NULL};
    kvc_error ignored = {""};
    kvc_case one;
    unsigned kin = 0;

    if (text != NULL && kvc_case_parse(text, strlen(text), entry->id, session->catalogue, &one, &ignored) &&
        kvc_replayer_run(replayer, &one, &shown, &ignored) == 0 && shown.id[0] != '\0')
        kin = kvc_gate_layer_kin(&shown.finding, one.variant, &met->finding, layers);

    cJSON_free(text);
    kvc_replayed_clear(&shown);
    return kin;
}

/*
 * What a kind of layer is known to do wrong by itself it does in every container. Its entries are run again here: where containers
 * alone are asked for, they have not been.
 */
static int is_known_of_layer(const kvc_session *session, const kvc_gate *gate, kvc_replayer *replayer, const kvc_replayed *met,
                             const char *layers)
{
    const char *platform = kvc_json_string(cJSON_GetObjectItemCaseSensitive(kvc_replayer_hello(replayer), "environment"), "platform");
    unsigned kin = 0;

    for (int at = 0; layers != NULL && !is_enough(kin) && at < gate->baseline.entries; at++) {
        const kvc_baseline_entry *entry = &gate->baseline.entry[at];
        kvc_baseline_place place = {met->subject, met->version, kvc_json_string(entry->item, "variant"), platform, ""};
        if (strcmp(kvc_json_string(entry->item, "subject"), met->subject) == 0 && is_word_of(layers, place.variant) &&
            kvc_baseline_applies(entry, &place) && !kvc_baseline_expired(entry, gate->today))
            kin |= shown_of_layer(session, entry, replayer, met, layers);
    }
    return is_enough(kin);
}

int kvc_gate_knows(const kvc_session *session, const kvc_gate *gate, kvc_replayer *replayer, const kvc_replayed *met,
                   const char *variant)
{
    const kvc_spec *spec = kvc_catalogue_spec(session->catalogue, met->subject, variant);
    const char *layers = spec != NULL && spec->layers > 0 ? spec->layer_choice[met->finding.params.layers] : NULL;

    return met->id[0] != '\0' && (kvc_gate_covers(gate, &met->finding, met->subject, met->version, variant, layers) ||
                                  is_known_of_layer(session, gate, replayer, met, layers));
}

/* Whether the subject that runs is where a new finding was met. */
static int was_met_here(const kvc_gate_item *item, const cJSON *hello, const kvc_target *target)
{
    const cJSON *one = cJSON_GetObjectItemCaseSensitive(item->finding, "case");

    return item->state == KVC_GATE_NEW && strcmp(kvc_json_string(one, "subject"), kvc_json_string(hello, "subject")) == 0 &&
           strcmp(item->version, kvc_json_string(hello, "version")) == 0 &&
           kvc_target_takes(target, kvc_json_string(one, "variant"));
}

/* Runs the case of a new finding again. One that cannot be run stays new. */
static int is_covered(const kvc_session *session, const kvc_gate *gate, const kvc_gate_item *item, kvc_replayer *replayer)
{
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(item->finding, "case"));
    kvc_replayed replayed = {.detail = NULL};
    kvc_error ignored = {""};
    kvc_case one;
    int covered = 0;

    if (text != NULL && kvc_case_parse(text, strlen(text), "a new finding", session->catalogue, &one, &ignored) &&
        kvc_replayer_run(replayer, &one, &replayed, &ignored) == 0)
        covered = kvc_gate_knows(session, gate, replayer, &replayed, one.variant);
    cJSON_free(text);
    kvc_replayed_clear(&replayed);
    return covered;
}

static void take_away(kvc_gate *gate, int at)
{
    cJSON_Delete(gate->item[at].finding);
    gate->items--;
    memmove(&gate->item[at], &gate->item[at + 1], (size_t)(gate->items - at) * sizeof *gate->item);
    gate->count[KVC_GATE_NEW]--;
    gate->covered++;
}

int kvc_gate_cover(const kvc_session *session, kvc_gate *gate)
{
    const kvc_options *options = session->options;
    kvc_target *target = malloc(sizeof *target);
    kvc_error error = {""};
    int status = 0;

    if (target == NULL) {
        kvc_complain("not enough memory");
        status = KVC_EXIT_INTERNAL;
    }
    for (int word = 0; word < options->words && status == 0 && gate->count[KVC_GATE_NEW] > 0 && gate->baseline.entries > 0; word++) {
        if (kvc_target_parse(options->word[word], options, target, &error) != KVC_TARGET_READY ||
            kvc_replayer_start(gate->replayer, options->word[word], &error) != 0)
            continue; /* told by the run */
        for (int at = gate->items - 1; at >= 0 && !*session->stop; at--) {
            if (was_met_here(&gate->item[at], kvc_replayer_hello(gate->replayer), target) &&
                is_covered(session, gate, &gate->item[at], gate->replayer))
                take_away(gate, at);
        }
        status = *session->stop ? KVC_EXIT_INTERRUPTED : 0;
    }
    free(target);
    return status;
}
