/*
 * The label: which array a drive belongs to, how the array is laid out, and
 * which run of the array the drive has seen last. Adapters write and read
 * labels at the drive's first bytes; this file has their format and the rules
 * by which drives are one array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_LABEL_H
#define ARRAY_LABEL_H

#include "array.h"

#define ARRAY_LABEL_BYTES 4096u /* written whole, in one I/O */
#define ARRAY_DATA_OFFSET (1u << 20) /* adapters keep these bytes for labels */

/*
 * The label on the drive, little endian, in this order after the magic; then
 * zeroes.
 */
typedef struct {
    uint8_t array[16]; /* the same on all drives of an array, no other's */
    uint32_t n_drives;
    uint32_t index;    /* this drive's place in the striping */
    uint64_t drive_bytes;
    uint64_t data_offset_bytes;
    uint64_t page_bytes;
    uint64_t stripe_bytes;
} ArrayLabel;

typedef enum {
    ARRAY_LABEL_GOOD,
    ARRAY_LABEL_NONE,    /* no label was here */
    ARRAY_LABEL_DAMAGED, /* a damaged label; error says how */
} ArrayLabelState;

/*
 * The last run of the array that a drive has seen, in two blocks behind the
 * label. A new run overwrites the block that is older, or damaged: a torn write
 * leaves the newest. A run first writes on all drives that it starts, then on
 * all that it serves, in both blocks, and only then writes data. So a drive
 * that has not heard the start of the last run that served was absent, or has
 * old contents. Runs that fail before they serve have written nothing: a drive
 * that has not heard of them has missed nothing.
 * Drives that are put back together to an earlier time count on from there. So
 * each run draws an identity, too: two runs of one number are still told apart.
 */
typedef struct {
    uint8_t array[16]; /* as the label's */
    uint64_t state;    /* 2 * number of the run, + 1 once it served */
    uint64_t served;   /* before it serves: last run that served; 0: none */
    uint64_t id;       /* drawn for the run; 0: by a program without */
    uint64_t served_id; /* before it serves: id of that last run */
    /*
     * The block device of the last run that served; 0: a program that told
     * none.
     */
    uint64_t device;
} ArrayRun;

/* The device of a run that served without one. */
#define ARRAY_NO_DEVICE UINT64_MAX

/* The last runs of the array, by what its drives say. */
typedef struct {
    uint64_t heard;  /* the last run that began to start; 0: none */
    uint64_t served; /* the last run that wrote data; 0: none */
    uint64_t served_id;
} ArrayRuns;

#define ARRAY_RUN_BLOCKS 2u
#define ARRAY_RUNS_END (ARRAY_LABEL_BYTES * (1 + ARRAY_RUN_BLOCKS))
/* Offset of a block from the drive's first byte. */
static inline uint64_t array_run_offset(uint32_t block)
{
    return ARRAY_LABEL_BYTES * (UINT64_C(1) + block);
}

void array_run_encode(const ArrayRun *run,
                      unsigned char bytes[ARRAY_LABEL_BYTES]);
/* Returns ARRAY_LABEL_NONE if no run has been written there. */
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
 * Finds the last runs that n drives have seen; false: they differ, and error
 * names the drive, by its place.
 */
bool array_run_set(const ArrayRun *runs, uint32_t n, ArrayRuns *last,
                   char *error);
/* Returns the device on which drives that are such a set were served last. */
uint64_t array_run_device(const ArrayRun *runs, uint32_t n,
                          const ArrayRuns *last);

/*
 * Makes the number of an array's block device, which the driver keeps with it:
 * one half tells the array, the other is drawn. The driver issues the writes of
 * a device that was left behind anew, and file systems on it do not know what
 * another device has written since: only the last device may go on. Programs
 * that drew nothing gave all devices of an array the same number.
 */
uint64_t array_device_number(const ArrayLabel *label, uint64_t drawn);
/*
 * True when the device may go on; last: as array_run_device(). False: error
 * says why not.
 */
bool array_device_goes_on(uint64_t device, const ArrayLabel *label,
                          uint64_t last, char *error);

void array_label_encode(const ArrayLabel *label,
                        unsigned char bytes[ARRAY_LABEL_BYTES]);
ArrayLabelState array_label_decode(const unsigned char *bytes,
                                   ArrayLabel *label, char *error);
/*
 * True when the labels of n drives, in the order given, are those of one whole
 * array, and the drives have the sizes they had. order[i] is the drive to be
 * used as number i. False: error names the drive, by its place.
 */
bool array_label_set(const ArrayLabel *labels, const uint64_t *drive_bytes,
                     uint32_t n, uint32_t *order, char *error);

#endif /* ARRAY_LABEL_H */
