/*
 * The gate: what a run finds, set against what a baseline accepts.
 *
 * First the cases of the baseline and of a corpus are run again, then the targets as `run` does. Everything is decided from the
 * ids of findings and from replays; a fault that the run did not meet again but whose case still shows it is still there.
 */
#ifndef KVC_HARNESS_GATE_H
#define KVC_HARNESS_GATE_H

#include "harness/baseline.h"
#include "harness/commands.h"
#include "harness/finding.h"
#include "harness/replay.h"

typedef enum kvc_gate_state {
    KVC_GATE_KNOWN = 0, /* a finding that the baseline holds */
    KVC_GATE_NEW,       /* a finding that it does not hold */
    KVC_GATE_FLAKY,     /* a finding that does not repeat: told, never decides */
    KVC_GATE_FIXED,     /* an entry whose fault does not happen any more */
    KVC_GATE_NOTHING,   /* an entry whose target matches no variant */
    KVC_GATE_EXPIRED,   /* an entry whose last day is over; its fault may still be there */
    KVC_GATE_UNKNOWN    /* an entry that could not be tried */
} kvc_gate_state;
enum { KVC_GATE_STATES = 7 };

/* What a known finding says of one that was met, as bits. */
typedef enum kvc_gate_kin {
    KVC_GATE_ALL = 1,  /* that it is the same fault */
    KVC_GATE_CLAIM = 2, /* that the cache claims what does not hold of this op */
    KVC_GATE_WRONG = 4 /* what the op does wrong, but for the claim */
} kvc_gate_kin;

typedef struct kvc_gate_item {
    kvc_gate_state state;
    kvc_baseline_entry *entry; /* of an entry; NULL for a finding that is new or flaky */
    cJSON *finding;            /* of a finding, owned: as in a result, or of a case of the corpus (id, law, title, case) */
    char version[64];          /* where it was met, or tried */
    char id[48];               /* of a known one, when its case shows another id than the entry's; otherwise "" */
    char note[400];            /* why it is unknown, which file of the corpus; may be "" */
    kvc_finding *shown;        /* of an entry whose case was tried: what it shows, owned; or NULL */
} kvc_gate_item;

typedef struct kvc_gate {
    kvc_baseline baseline;
    cJSON *result; /* of the run */
    int run_status; /* exit status of the run */
    kvc_gate_item *item;
    int items;
    size_t count[KVC_GATE_STATES];
    int not_run;   /* runs that could not be made, or not to their end */
    int elsewhere; /* entries that speak of other targets or versions */
    int covered;   /* findings that are those of entries, met in another way */
    char today[16];
    kvc_replayer *replayer; /* its crew serves the run too: starting a subject costs more than its cases */
} kvc_gate;

/*
 * Reads the baseline and looks. Returns 0, or an exit status with the complaint written: bad usage, a baseline that cannot be read,
 * an internal error, an interruption. A baseline that is not there is empty if `may_be_new`. Free with kvc_gate_clear in any case.
 */
int kvc_gate_look(const kvc_session *session, int may_be_new, kvc_gate *gate);
void kvc_gate_clear(kvc_gate *gate);
/* Whether a variant that has findings was not run to its end: what it did not come to may be new. */
int kvc_gate_was_cut_short(const cJSON *run);

/* Whether an item is that of an entry about a variant whose case was tried and shows its fault. */
int kvc_gate_speaks_of(const kvc_gate_item *item, const kvc_baseline_place *place);

/*
 * What joins failures to one finding within a run joins a finding to an entry: with another seed a fault may be met past a boundary
 * first, and has another id then. Whether an entry covers what was met at `version`, of the variant or of a kind of layer of `layers` (names
 * with `+` between; NULL: it has none) ...
 */
int kvc_gate_covers(const kvc_gate *gate, const kvc_finding *met, const char *subject, const char *version, const char *variant,
                    const char *layers);
/*
 * What something known of a kind of layer by itself says of what was met in a container of layers `layers`, as bits of kvc_gate_kin; 0 where
 * the layer that does wrong is of another kind.
 */
unsigned kvc_gate_layer_kin(const kvc_finding *known, const char *layer, const kvc_finding *met, const char *layers);
/* Whether a case that was run, of `variant`, shows what an entry covers, of the variant or of a kind of layer that it contains. */
int kvc_gate_knows(const kvc_session *session, const kvc_gate *gate, kvc_replayer *replayer, const kvc_replayed *met,
                   const char *variant);
/* ... and takes those away that are new and covered; their cases are run again for it. Returns 0, or an exit status as told. */
int kvc_gate_cover(const kvc_session *session, kvc_gate *gate);

#endif
