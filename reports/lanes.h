/*
 * Lanes: the tokens that a tensor should hold and those that it holds, one above the other, ready to be drawn. There is one lane
 * for each tensor and row; lanes that look the same are drawn once, under all their names.
 */
#ifndef KVC_REPORTS_LANES_H
#define KVC_REPORTS_LANES_H

#include <cjson/cJSON.h>
#include <stddef.h>

enum { KVC_LANE_CELLS_MAX = 48, KVC_LANES_MAX = 512 };

typedef enum kvc_cell_kind {
    KVC_CELL_SAME = 0,
    KVC_CELL_FREE,    /* anything may stand there: expected is "?" */
    KVC_CELL_OTHER,   /* another token than expected */
    KVC_CELL_MISSING, /* a token is expected, nothing is observed */
    KVC_CELL_EXTRA,   /* a token is observed, nothing is expected */
    KVC_CELL_GAP      /* several positions that are not drawn */
} kvc_cell_kind;

typedef struct kvc_lane_cell {
    kvc_cell_kind kind;
    size_t position;       /* from 0, the oldest; of a gap: its first */
    size_t count;          /* positions that this cell stands for: 1, more for a gap */
    size_t wrong;          /* of a gap: how many of them are wrong */
    const cJSON *expected; /* number or string in the result, NULL where there is none */
    const cJSON *observed;
} kvc_lane_cell;

typedef struct kvc_lane_name {
    const char *tensor; /* in the result */
    size_t row;
    size_t rows; /* of that tensor */
} kvc_lane_name;

typedef struct kvc_lane {
    kvc_lane_name *names; /* tensors and rows that look like this */
    size_t name_count;
    kvc_lane_cell *cells; /* at most KVC_LANE_CELLS_MAX */
    size_t cell_count;
    size_t wrong;           /* positions that are wrong */
    kvc_lane_cell first;         /* the first wrong position, if any */
    size_t expected_length; /* in tokens */
    size_t observed_length;
    int newest;            /* 1: the two are aligned at their newest token, since fewer cells differ so; 0: at the oldest */
    const cJSON *expected; /* the rows themselves, NULL where there is none */
    const cJSON *observed;
} kvc_lane;

typedef struct kvc_lanes {
    kvc_lane *lane; /* wrong ones first, those of the finding's own tensor before others */
    size_t count;
    size_t wrong;    /* number of lanes that are wrong: they come first */
    size_t left_out; /* lanes beyond KVC_LANES_MAX */
} kvc_lanes;

/* From a finding of a checked result. Returns 0, or -1 without memory; *out is to be freed in both cases. */
int kvc_lanes_make(const cJSON *finding, kvc_lanes *out);
void kvc_lanes_free(kvc_lanes *lanes);

#endif
