/*
 * The label of a drive: which array the drive belongs to, how the array is laid
 * out, and which run of the array the drive has heard of last. Adapters write
 * labels to the first bytes of drives, and read them there. This file has the
 * format, and the rules by which drives are one array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_LABEL_H
#define ARRAY_LABEL_H

#include "array.h"

#define ARRAY_LABEL_BYTES 4096u /* written whole, by one I/O */
#define ARRAY_DATA_OFFSET (1u << 20) /* bytes of a drive that are for labels */

/*
 * A label. On the drive its members follow the magic, little endian and in this
 * order; zeroes fill the rest.
 */
typedef struct {
    /* tells the array: equal on all its drives */
    uint8_t array[16];
    uint32_t n_drives;
    uint32_t index;    /* the drive's number in the striping */
    uint64_t drive_bytes;
    uint64_t data_offset_bytes;
    uint64_t page_bytes;
    uint64_t stripe_bytes;
} ArrayLabel;

typedef enum {
    ARRAY_LABEL_GOOD,
    ARRAY_LABEL_NONE,    /* the drive has no label */
    ARRAY_LABEL_DAMAGED, /* the label is damaged; error says how */
} ArrayLabelState;

/*
 * The last run of the array that a drive has heard of. The drive has two blocks
 * for it, behind the label. A new run overwrites the older or damaged block, so
 * a torn write leaves the newest run readable.
 *
 * A run tells the drives twice before it writes data. First it writes on all
 * drives that it starts. Then it writes, in both blocks of all drives, that it
 * serves. So a drive that has not heard the start of the last run that served
 * was absent, or has old contents. A run that fails before it serves has
 * written no data, so a drive that has not heard of that run has missed
 * nothing.
 *
 * Somebody may put all drives back to an earlier time together. Their runs then
 * count on from there, so two runs have the same number. Each run has a random
 * id, by which such runs differ.
 */
typedef struct {
    uint8_t array[16]; /* as in the drive's label */
    uint64_t state;    /* 2 * number of this run, + 1 when it serves */
    uint64_t served; /* until this run serves: the last run that did; 0: none */
    uint64_t id;       /* random, made for this run; 0: older programs */
    uint64_t served_id; /* until this run serves: id of the last that did */
    /*
     * The number of the block device on which the last run served; 0: that
     * run's program recorded none.
     */
    uint64_t device;
} ArrayRun;

/* ArrayRun.device of a run that served without a block device. */
#define ARRAY_NO_DEVICE UINT64_MAX

/* The array's last runs, found by comparing the ArrayRun of each drive. */
typedef struct {
    uint64_t heard;  /* the last run that wrote its start; 0: none */
    uint64_t served; /* the last run that may have written data; 0: none */
    uint64_t served_id;
} ArrayRuns;

#define ARRAY_RUN_BLOCKS 2u
#define ARRAY_RUNS_END (ARRAY_LABEL_BYTES * (1 + ARRAY_RUN_BLOCKS))
/* Returns the offset of a run's block from the drive's first byte. */
static inline uint64_t array_run_offset(uint32_t block)
{
    return ARRAY_LABEL_BYTES * (UINT64_C(1) + block);
}

void array_run_encode(const ArrayRun *run,
                      unsigned char bytes[ARRAY_LABEL_BYTES]);
/*
 * Reads a run from its block. ARRAY_LABEL_NONE: no run was ever written there.
 */
ArrayLabelState array_run_decode(const unsigned char *bytes, ArrayRun *run);
static inline uint64_t array_run_served(const ArrayRun *run)
{
    return run->state % 2 ? run->state / 2 : run->served;
}
static inline uint64_t array_run_served_id(const ArrayRun *run)
{
    return run->state % 2 ? run->id : run->served_id;
}
/*
 * Sets *last from what n drives have heard. False: the drives have heard of
 * different runs, and error names one of them by its place in runs[].
 */
bool array_run_set(const ArrayRun *runs, uint32_t n, ArrayRuns *last,
                   char *error);
/*
 * Returns the block device of the run last->served, from the drives of a set
 * that array_run_set() has accepted.
 */
uint64_t array_run_device(const ArrayRun *runs, uint32_t n,
                          const ArrayRuns *last);

/*
 * Returns the number that the ublk driver keeps with the array's block device:
 * one half names the array, the other half is random. The number tells whether
 * a device that a killed server left behind may serve the array again. The
 * driver sends unfinished writes of such a device once more, and a file system
 * on it does not know of writes through a newer device. So only the device that
 * served the array last may go on. Older programs had no random half: they gave
 * all devices of an array one number.
 */
uint64_t array_device_number(const ArrayLabel *label, uint64_t drawn);
/*
 * True when the block device of a killed server may go on to serve the array.
 * last: as array_run_device() returns it. False: error says why not.
 */
bool array_device_goes_on(uint64_t device, const ArrayLabel *label,
                          uint64_t last, char *error);

void array_label_encode(const ArrayLabel *label,
                        unsigned char bytes[ARRAY_LABEL_BYTES]);
ArrayLabelState array_label_decode(const unsigned char *bytes,
                                   ArrayLabel *label, char *error);
/*
 * True when the labels of n drives are those of one whole array, and the drives
 * have the sizes that the labels tell. order[i] is the place in labels[] of the
 * array's drive i. False: error names a drive by its place.
 */
bool array_label_set(const ArrayLabel *labels, const uint64_t *drive_bytes,
                     uint32_t n, uint32_t *order, char *error);

#endif /* ARRAY_LABEL_H */
