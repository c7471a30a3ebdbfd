/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[8] = "SCARPAR1";
static const char run_magic[8] = "SCARPRUN";

#define CHECKSUM_AT (ARRAY_LABEL_BYTES - 4)

/*
 * Returns the CRC-32C of n bytes. It takes four bits at a time, with a small
 * table: it runs only a few times for each drive.
 */
static uint32_t crc32c(const unsigned char *bytes, size_t n)
{
    static const uint32_t after[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
        0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    uint32_t crc = UINT32_MAX;

    while (n--) {
        crc ^= *bytes++;
        crc = crc >> 4 ^ after[crc & 15];
        crc = crc >> 4 ^ after[crc & 15];
    }
    return ~crc;
}

static unsigned char *put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *at++ = value >> 8 * i;
    }
    return at;
}

static uint64_t get(const unsigned char **at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++) {
        value |= (uint64_t)*(*at)++ << 8 * i;
    }
    return value;
}

static void seal(unsigned char *bytes)
{
    put(bytes + CHECKSUM_AT, crc32c(bytes, CHECKSUM_AT), 4);
}

static bool sealed(const unsigned char *bytes)
{
    const unsigned char *at = bytes + CHECKSUM_AT;

    return get(&at, 4) == crc32c(bytes, CHECKSUM_AT);
}

void array_label_encode(const ArrayLabel *label,
                        unsigned char bytes[ARRAY_LABEL_BYTES])
{
    unsigned char *at = bytes;

    memset(bytes, 0, ARRAY_LABEL_BYTES);
    memcpy(at, magic, sizeof(magic));
    at += sizeof(magic);
    memcpy(at, label->array, sizeof(label->array));
    at += sizeof(label->array);
    at = put(at, label->n_drives, 4);
    at = put(at, label->index, 4);
    at = put(at, label->drive_bytes, 8);
    at = put(at, label->data_offset_bytes, 8);
    at = put(at, label->page_bytes, 8);
    put(at, label->stripe_bytes, 8);
    seal(bytes);
}

ArrayLabelState array_label_decode(const unsigned char *bytes,
                                   ArrayLabel *label, char *error)
{
    const unsigned char *at;

    if (memcmp(bytes, magic, sizeof(magic))) {
        snprintf(error, ARRAY_ERROR_BYTES, "has no label of an array");
        return ARRAY_LABEL_NONE;
    }
    if (!sealed(bytes)) {
        snprintf(error, ARRAY_ERROR_BYTES, "its label's checksum is wrong");
        return ARRAY_LABEL_DAMAGED;
    }
    at = bytes + sizeof(magic);
    memcpy(label->array, at, sizeof(label->array));
    at += sizeof(label->array);
    label->n_drives = get(&at, 4);
    label->index = get(&at, 4);
    label->drive_bytes = get(&at, 8);
    label->data_offset_bytes = get(&at, 8);
    label->page_bytes = get(&at, 8);
    label->stripe_bytes = get(&at, 8);
    if (!label->n_drives || label->n_drives > ARRAY_MAX_DRIVES ||
        label->index >= label->n_drives ||
        label->data_offset_bytes < ARRAY_RUNS_END ||
        !array_key_allows("page_bytes", label->page_bytes) ||
        !array_key_allows("stripe_bytes", label->stripe_bytes)) {
        snprintf(error, ARRAY_ERROR_BYTES, "its label says drive %" PRIu32
                 " of %" PRIu32 ", data from byte %" PRIu64 ", pages of %"
                 PRIu64 " and stripes of %" PRIu64 " bytes", label->index,
                 label->n_drives, label->data_offset_bytes, label->page_bytes,
                 label->stripe_bytes);
        return ARRAY_LABEL_DAMAGED;
    }
    return ARRAY_LABEL_GOOD;
}

static bool same_layout(const ArrayLabel *a, const ArrayLabel *b)
{
    return a->drive_bytes == b->drive_bytes &&
           a->data_offset_bytes == b->data_offset_bytes &&
           a->page_bytes == b->page_bytes && a->stripe_bytes == b->stripe_bytes;
}

bool array_label_set(const ArrayLabel *labels, const uint64_t *drive_bytes,
                     uint32_t n, uint32_t *order, char *error)
{
    bool seen[ARRAY_MAX_DRIVES] = { false };

    if (!n || n > ARRAY_MAX_DRIVES || labels[0].n_drives != n) {
        snprintf(error, ARRAY_ERROR_BYTES, "%" PRIu32 " drives given, but the "
                 "array has %" PRIu32, n, n ? labels[0].n_drives : 0);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const ArrayLabel *label = &labels[i];

        if (memcmp(label->array, labels[0].array, sizeof(label->array)) ||
            label->n_drives != n) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given belongs to another array than the first", i);
            return false;
        }
        if (!same_layout(label, &labels[0])) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given is laid out otherwise than the first", i);
            return false;
        }
        if (label->drive_bytes != drive_bytes[i]) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given has %" PRIu64 " bytes, its label says %" PRIu64, i,
                     drive_bytes[i], label->drive_bytes);
            return false;
        }
        if (label->index >= n || seen[label->index]) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given is number %" PRIu32 " of the array, as another is",
                     i, label->index);
            return false;
        }
        seen[label->index] = true;
        order[label->index] = i;
    }
    return true;
}

void array_run_encode(const ArrayRun *run,
                      unsigned char bytes[ARRAY_LABEL_BYTES])
{
    unsigned char *at = bytes;

    memset(bytes, 0, ARRAY_LABEL_BYTES);
    memcpy(at, run_magic, sizeof(run_magic));
    at += sizeof(run_magic);
    memcpy(at, run->array, sizeof(run->array));
    at += sizeof(run->array);
    at = put(at, run->state, 8);
    at = put(at, run->served, 8);
    at = put(at, run->id, 8);
    at = put(at, run->served_id, 8);
    put(at, run->device, 8);
    seal(bytes);
}

ArrayLabelState array_run_decode(const unsigned char *bytes, ArrayRun *run)
{
    const unsigned char *at = bytes;

    if (memcmp(at, run_magic, sizeof(run_magic))) {
        return ARRAY_LABEL_NONE;
    }
    if (!sealed(bytes)) {
        return ARRAY_LABEL_DAMAGED;
    }
    at += sizeof(run_magic);
    memcpy(run->array, at, sizeof(run->array));
    at += sizeof(run->array);
    run->state = get(&at, 8);
    run->served = get(&at, 8);
    run->id = get(&at, 8);
    run->served_id = get(&at, 8);
    run->device = get(&at, 8);
    return ARRAY_LABEL_GOOD;
}

/*
 * True when the drive has heard of the last run that served. A run with the
 * same number but another id is a different run.
 */
static bool has_heard(const ArrayRun *run, const ArrayRuns *last)
{
    if (array_run_served(run) == last->served) {
        return array_run_served_id(run) == last->served_id;
    }
    /* The drive heard that the run starts, and missed that it serves. */
    return run->state / 2 == last->served && run->id == last->served_id;
}

bool array_run_set(const ArrayRun *runs, uint32_t n, ArrayRuns *last,
                   char *error)
{
    *last = (ArrayRuns) { 0 };
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = runs[i].state / 2;
        uint64_t served = array_run_served(&runs[i]);

        last->heard = number > last->heard ? number : last->heard;
        if (served > last->served) {
            last->served = served;
            last->served_id = array_run_served_id(&runs[i]);
        }
    }
    /* before a run serves, all its drives have heard that it starts */
    for (uint32_t i = 0; i < n; i++) {
        if (runs[i].state / 2 < last->served) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given was there in run %" PRIu64 " of the array, but not "
                     "in run %" PRIu64 ", as another: it holds old contents", i,
                     runs[i].state / 2, last->served);
            return false;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!has_heard(&runs[i], last)) {
            snprintf(error, ARRAY_ERROR_BYTES, "drive %" PRIu32 " of those "
                     "given was there in another run %" PRIu64 " of the array "
                     "than others: some were put back to an earlier time", i,
                     last->served);
            return false;
        }
    }
    return true;
}

/*
 * A server may be killed while it tells the drives that the run serves on
 * another device. Drives of that run then have two device numbers. Nothing has
 * been served on the new device yet, so either number is right.
 */
uint64_t array_run_device(const ArrayRun *runs, uint32_t n,
                          const ArrayRuns *last)
{
    for (uint32_t i = 0; i < n; i++) {
        if (array_run_served(&runs[i]) == last->served) {
            return runs[i].device;
        }
    }
    return 0;
}

/* Returns the number that older programs gave to every device of the array. */
static uint64_t identity(const ArrayLabel *label)
{
    uint64_t number;

    memcpy(&number, label->array, sizeof(number));
    return number;
}

uint64_t array_device_number(const ArrayLabel *label, uint64_t drawn)
{
    return identity(label) >> 32 << 32 | (drawn & UINT32_MAX);
}

bool array_device_goes_on(uint64_t device, const ArrayLabel *label,
                          uint64_t last, char *error)
{
    if (device >> 32 != identity(label) >> 32) {
        snprintf(error, ARRAY_ERROR_BYTES, "--recover: the ublk device is not "
                 "this array's");
        return false;
    }
    if (device != (last ? last : identity(label))) {
        snprintf(error, ARRAY_ERROR_BYTES, "--recover: the array was served "
                 "last on another ublk device, or on none: --remove this one");
        return false;
    }
    return true;
}
