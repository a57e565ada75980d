#include "reports/lanes.h"

#include <stdlib.h>
#include <string.h>

/* Equal positions that are drawn on each side of a wrong one. */
static const size_t context = 2;

/* A row as an array: cJSON lists are linked, and lanes look at them by position. */
typedef struct kvc_row {
    const cJSON **entries;
    size_t count;
} kvc_row;

static int make_row(const cJSON *list, kvc_row *row)
{
    const cJSON *entry = NULL;
    *row = (kvc_row){0};
    if (list == NULL || list->child == NULL) {
        return 0;
    }
    size_t count = (size_t)cJSON_GetArraySize(list);
    row->entries = malloc(count * sizeof *row->entries);
    if (row->entries == NULL) {
        return -1;
    }
    cJSON_ArrayForEach (entry, list) {
        row->entries[row->count++] = entry;
    }
    return 0;
}

static int equal_entries(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsString(a) && cJSON_IsString(b)) {
        return strcmp(a->valuestring, b->valuestring) == 0;
    }
    /* Both are whole numbers, so that the order says all. */
    return cJSON_IsNumber(a) && cJSON_IsNumber(b) && !(a->valuedouble < b->valuedouble) && !(a->valuedouble > b->valuedouble);
}

/* The entry at `position` of the picture, for a row that begins `shift` positions later. */
static const cJSON *entry_at(const kvc_row *row, size_t position, size_t shift)
{
    return position >= shift && position - shift < row->count ? row->entries[position - shift] : NULL;
}

static kvc_cell_kind kind_of(const cJSON *expected, const cJSON *observed)
{
    if (cJSON_IsString(expected) && strcmp(expected->valuestring, "?") == 0) {
        return KVC_CELL_FREE;
    }
    if (expected == NULL) {
        return KVC_CELL_EXTRA;
    }
    if (observed == NULL) {
        return KVC_CELL_MISSING;
    }
    return equal_entries(expected, observed) ? KVC_CELL_SAME : KVC_CELL_OTHER;
}

static int is_wrong(kvc_cell_kind kind)
{
    return kind == KVC_CELL_OTHER || kind == KVC_CELL_MISSING || kind == KVC_CELL_EXTRA;
}

typedef struct kvc_pair {
    kvc_row expected, observed;
    size_t expected_shift, observed_shift;
    size_t length;
} kvc_pair;

static kvc_lane_cell cell_at(const kvc_pair *pair, size_t position)
{
    kvc_lane_cell cell = {.position = position, .count = 1};
    cell.expected = entry_at(&pair->expected, position, pair->expected_shift);
    cell.observed = entry_at(&pair->observed, position, pair->observed_shift);
    cell.kind = kind_of(cell.expected, cell.observed);
    return cell;
}

static size_t count_wrong(const kvc_pair *pair)
{
    size_t wrong = 0;
    for (size_t position = 0; position < pair->length; position++) {
        wrong += (size_t)is_wrong(cell_at(pair, position).kind);
    }
    return wrong;
}

/* Lays the shorter row at the newest end of the longer one when fewer cells differ there. */
static int align(kvc_pair *pair)
{
    size_t oldest = count_wrong(pair);
    pair->expected_shift = pair->length - pair->expected.count;
    pair->observed_shift = pair->length - pair->observed.count;
    if (pair->expected_shift + pair->observed_shift > 0 && count_wrong(pair) < oldest) {
        return 1;
    }
    pair->expected_shift = 0;
    pair->observed_shift = 0;
    return 0;
}

/* 1 for a position that is drawn: the ends, and the wrong ones with some around them. */
static int is_drawn(const kvc_pair *pair, size_t position)
{
    if (position < context || position + context >= pair->length) {
        return 1;
    }
    for (size_t near = position - context; near <= position + context; near++) {
        if (is_wrong(cell_at(pair, near).kind)) {
            return 1;
        }
    }
    return 0;
}

static void add_gap(kvc_lane *lane, kvc_lane_cell cell)
{
    kvc_lane_cell *last = lane->cell_count > 0 ? &lane->cells[lane->cell_count - 1] : NULL;
    if (last == NULL || last->kind != KVC_CELL_GAP) {
        last = &lane->cells[lane->cell_count++];
        *last = (kvc_lane_cell){.kind = KVC_CELL_GAP, .position = cell.position};
    }
    last->count++;
    last->wrong += (size_t)is_wrong(cell.kind);
}

static int fill_lane(kvc_lane *lane, const kvc_pair *pair)
{
    size_t room = pair->length < KVC_LANE_CELLS_MAX ? pair->length : KVC_LANE_CELLS_MAX;
    lane->cells = calloc(room > 0 ? room : 1, sizeof *lane->cells);
    if (lane->cells == NULL) {
        return -1;
    }
    for (size_t position = 0; position < pair->length; position++) {
        kvc_lane_cell cell = cell_at(pair, position);
        if (is_wrong(cell.kind) && lane->wrong++ == 0) {
            lane->first = cell;
        }
        /* The last cell of a long lane is kept for the gap that ends it. */
        if (pair->length > 16 && (!is_drawn(pair, position) || lane->cell_count + 1 >= KVC_LANE_CELLS_MAX)) {
            add_gap(lane, cell);
        } else {
            lane->cells[lane->cell_count++] = cell;
        }
    }
    return 0;
}

static int make_lane(const cJSON *expected, const cJSON *observed, kvc_lane *lane)
{
    kvc_pair pair = {0};
    int result = -1;
    *lane = (kvc_lane){.expected = expected, .observed = observed};
    if (make_row(expected, &pair.expected) != 0 || make_row(observed, &pair.observed) != 0) {
        goto cleanup;
    }
    pair.length = pair.expected.count > pair.observed.count ? pair.expected.count : pair.observed.count;
    lane->newest = align(&pair);
    lane->expected_length = pair.expected.count;
    lane->observed_length = pair.observed.count;
    result = fill_lane(lane, &pair);
cleanup:
    free(pair.expected.entries);
    free(pair.observed.entries);
    return result;
}

static void free_lane(kvc_lane *lane)
{
    free(lane->names);
    free(lane->cells);
}

static int equal_rows(const cJSON *a, const cJSON *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next) {
        if (!equal_entries(a, b)) {
            return 0;
        }
    }
    return a == b;
}

static int add_name(kvc_lane *lane, kvc_lane_name name)
{
    kvc_lane_name *names = realloc(lane->names, (lane->name_count + 1) * sizeof *names);
    if (names == NULL) {
        return -1;
    }
    lane->names = names;
    names[lane->name_count++] = name;
    return 0;
}

/* `out->lane` has room for KVC_LANES_MAX. */
static int add_lane(kvc_lanes *out, kvc_lane_name name, const cJSON *expected, const cJSON *observed)
{
    for (size_t i = 0; i < out->count; i++) {
        if (equal_rows(out->lane[i].expected, expected) && equal_rows(out->lane[i].observed, observed)) {
            return add_name(&out->lane[i], name);
        }
    }
    if (out->count == KVC_LANES_MAX) {
        out->left_out++;
        return 0;
    }
    kvc_lane lane;
    if (make_lane(expected, observed, &lane) != 0 || add_name(&lane, name) != 0) {
        free_lane(&lane);
        return -1;
    }
    /* Wrong lanes stand in front, in their order. */
    size_t place = lane.wrong > 0 ? out->wrong++ : out->count;
    memmove(&out->lane[place + 1], &out->lane[place], (out->count - place) * sizeof lane);
    out->lane[place] = lane;
    out->count++;
    return 0;
}

/* 1 if `tensor` is the finding's own: `keys` for `keys` and `layer0.keys`. */
static int is_own(const char *tensor, const char *own)
{
    size_t length = strlen(tensor);
    size_t own_length = strlen(own);
    if (own_length == 0 || length < own_length || strcmp(tensor + length - own_length, own) != 0) {
        return 0;
    }
    return length == own_length || tensor[length - own_length - 1] == '.';
}

static int add_tensor(kvc_lanes *out, const cJSON *expected, const cJSON *observed)
{
    const cJSON *expected_row = expected->child;
    const cJSON *observed_row = observed != NULL ? observed->child : NULL;
    size_t rows = (size_t)cJSON_GetArraySize(expected);
    size_t observed_rows = observed != NULL ? (size_t)cJSON_GetArraySize(observed) : 0;
    rows = rows > observed_rows ? rows : observed_rows;
    for (size_t row = 0; row < rows; row++) {
        kvc_lane_name name = {expected->string, row, rows};
        if (add_lane(out, name, expected_row, observed_row) != 0) {
            return -1;
        }
        expected_row = expected_row != NULL ? expected_row->next : NULL;
        observed_row = observed_row != NULL ? observed_row->next : NULL;
    }
    return 0;
}

int kvc_lanes_make(const cJSON *finding, kvc_lanes *out)
{
    const cJSON *expected = cJSON_GetObjectItemCaseSensitive(finding, "expected");
    const cJSON *observed = cJSON_GetObjectItemCaseSensitive(finding, "observed");
    const char *own = cJSON_GetObjectItemCaseSensitive(finding, "tensor")->valuestring;
    const cJSON *tensor = NULL;
    expected = cJSON_GetObjectItemCaseSensitive(expected, "tensors");
    observed = cJSON_GetObjectItemCaseSensitive(observed, "tensors");
    *out = (kvc_lanes){0};
    out->lane = calloc(KVC_LANES_MAX + 1, sizeof *out->lane);
    if (out->lane == NULL) {
        return -1;
    }
    for (int pass = 0; pass < 2; pass++) {
        cJSON_ArrayForEach (tensor, expected) {
            if (is_own(tensor->string, own) == (pass == 0) &&
                add_tensor(out, tensor, cJSON_GetObjectItemCaseSensitive(observed, tensor->string)) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

void kvc_lanes_free(kvc_lanes *lanes)
{
    for (size_t i = 0; lanes->lane != NULL && i < lanes->count; i++) {
        free_lane(&lanes->lane[i]);
    }
    free(lanes->lane);
    *lanes = (kvc_lanes){0};
}
