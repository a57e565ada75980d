#include "harness/mutate.h"

#include <string.h>

enum { CHANGES_MAX = 4, PIECE_MAX = 4, TIMES_MAX = 4, SMALL_CHOICE = 16 };

/* Makes room for `count` records before record `at`. Returns how many there is room for. */
static int open_gap(kvc_bytes *bytes, int at, int count, int records_max)
{
    int records = kvc_bytes_records(bytes);

    if (count > records_max - records)
        count = records_max - records;
    if (count <= 0)
        return 0;
    memmove(kvc_bytes_record(bytes, at + count), kvc_bytes_record(bytes, at), (size_t)(records - at) * KVC_BYTES_RECORD);
    bytes->size += count * KVC_BYTES_RECORD;
    return count;
}

static void close_gap(kvc_bytes *bytes, int at, int count)
{
    int records = kvc_bytes_records(bytes);

    memmove(kvc_bytes_record(bytes, at), kvc_bytes_record(bytes, at + count), (size_t)(records - at - count) * KVC_BYTES_RECORD);
    bytes->size -= count * KVC_BYTES_RECORD;
    memset(bytes->byte + bytes->size, 0, (size_t)count * KVC_BYTES_RECORD);
}

static void random_choices(uint8_t *record, kvc_random *random)
{
    for (int at = 1; at < KVC_BYTES_RECORD; at++)
        record[at] = (uint8_t)kvc_random_below(random, kvc_random_one_in(random, 4) ? 256 : SMALL_CHOICE);
}

static void insert(kvc_bytes *bytes, int records_max, kvc_random *random)
{
    int at = (int)kvc_random_below(random, (uint32_t)kvc_bytes_records(bytes) + 1);

    if (open_gap(bytes, at, 1, records_max) == 0)
        return;
    kvc_bytes_record(bytes, at)[0] = (uint8_t)kvc_random_below(random, KVC_OP_KINDS);
    random_choices(kvc_bytes_record(bytes, at), random);
}

/* An op's kind, one of its choices, or a number written in it. */
static void change(kvc_bytes *bytes, kvc_random *random)
{
    int records = kvc_bytes_records(bytes);
    uint8_t *record = kvc_bytes_record(bytes, (int)kvc_random_below(random, (uint32_t)records));
    int literal = (record[0] & KVC_BYTES_LITERAL) != 0;

    if (records == 0)
        return;
    switch (kvc_random_below(random, 4)) {
    case 0:
        record[0] = (uint8_t)kvc_random_below(random, KVC_OP_KINDS);
        random_choices(record, random);
        return;
    case 1:
        record[0] &= KVC_BYTES_KIND;
        random_choices(record, random);
        return;
    case 2: {
        uint8_t *byte = &record[1 + kvc_random_below(random, literal ? 5 : 3)];
        *byte = (uint8_t)(*byte + kvc_random_between(random, -2, 2));
        return;
    }
    default:
        record[1 + kvc_random_below(random, literal ? 5 : 3)] = (uint8_t)kvc_random_below(random, SMALL_CHOICE);
    }
}

/* A few records of `from`, which may be the same sequence, stand once or more often at another place. */
static void copy_piece(kvc_bytes *bytes, const kvc_bytes *from, int times, int records_max, kvc_random *random)
{
    uint8_t piece[PIECE_MAX * KVC_BYTES_RECORD];
    int records = kvc_bytes_records(from);
    int first = (int)kvc_random_below(random, (uint32_t)records);
    int length = kvc_random_between(random, 1, PIECE_MAX);
    int at = (int)kvc_random_below(random, (uint32_t)kvc_bytes_records(bytes) + 1);

    if (records == 0)
        return;
    if (length > records - first)
        length = records - first;
    memcpy(piece, from->byte + KVC_BYTES_HEADER + first * KVC_BYTES_RECORD, (size_t)length * KVC_BYTES_RECORD);
    for (int time = 0; time < times; time++) {
        int room = open_gap(bytes, at, length, records_max);
        memcpy(kvc_bytes_record(bytes, at), piece, (size_t)room * KVC_BYTES_RECORD);
    }
}

static void swap(kvc_bytes *bytes, kvc_random *random)
{
    int records = kvc_bytes_records(bytes);
    uint8_t *first = kvc_bytes_record(bytes, (int)kvc_random_below(random, (uint32_t)records));
    uint8_t *second = kvc_bytes_record(bytes, (int)kvc_random_below(random, (uint32_t)records));
    uint8_t kept[KVC_BYTES_RECORD];

    if (records == 0)
        return;
    memcpy(kept, first, sizeof kept);
    memmove(first, second, sizeof kept);
    memcpy(second, kept, sizeof kept);
}

static void cut(kvc_bytes *bytes, kvc_random *random)
{
    int records = kvc_bytes_records(bytes);
    int first = (int)kvc_random_below(random, (uint32_t)records);
    int length = kvc_random_one_in(random, 2) ? 1 : kvc_random_between(random, 1, PIECE_MAX);

    if (records > 1)
        close_gap(bytes, first, length > records - first ? records - first : length);
}

void kvc_mutate(kvc_bytes *bytes, const kvc_bytes *other, int parameters, int records_max, kvc_random *random)
{
    int changes = kvc_random_between(random, 1, CHANGES_MAX);

    if (records_max > KVC_OPS_MAX)
        records_max = KVC_OPS_MAX;
    for (int done = 0; done < changes; done++) {
        switch (kvc_random_below(random, 8)) {
        case 0:
        case 1:
            insert(bytes, records_max, random);
            break;
        case 2:
            cut(bytes, random);
            break;
        case 3:
        case 4:
            change(bytes, random);
            break;
        case 5:
            copy_piece(bytes, other != NULL ? other : bytes, 1, records_max, random);
            break;
        case 6:
            copy_piece(bytes, bytes, kvc_random_between(random, 1, TIMES_MAX), records_max, random);
            break;
        default:
            swap(bytes, random);
        }
    }
    if (parameters && kvc_random_one_in(random, 4))
        bytes->byte[kvc_random_below(random, KVC_BYTES_HEADER)] = (uint8_t)kvc_random_below(random, SMALL_CHOICE);
}

void kvc_cross_over(const kvc_bytes *first, const kvc_bytes *second, int records_max, kvc_random *random, kvc_bytes *out)
{
    int before = (int)kvc_random_below(random, (uint32_t)kvc_bytes_records(first) + 1);
    int from = (int)kvc_random_below(random, (uint32_t)kvc_bytes_records(second) + 1);
    int behind = kvc_bytes_records(second) - from;

    if (records_max > KVC_OPS_MAX)
        records_max = KVC_OPS_MAX;
    if (before > records_max)
        before = records_max;
    if (behind > records_max - before)
        behind = records_max - before;
    memset(out->byte, 0, sizeof out->byte);
    memcpy(out->byte, first->byte, (size_t)(KVC_BYTES_HEADER + before * KVC_BYTES_RECORD));
    out->size = KVC_BYTES_HEADER + (before + behind) * KVC_BYTES_RECORD;
    memcpy(kvc_bytes_record(out, before), second->byte + KVC_BYTES_HEADER + from * KVC_BYTES_RECORD,
           (size_t)behind * KVC_BYTES_RECORD);
}
