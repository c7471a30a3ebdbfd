/*
 * The label that says which array a drive belongs to, and how the array is
 * laid out, and which run of the array the drive has seen last.  The adapters
 * write and read them at the drive's first bytes; this is their format and what
 * makes a set of drives one array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_LABEL_H
#define ARRAY_LABEL_H

#include "array.h"

#define ARRAY_LABEL_BYTES 4096u /* written whole, in one I/O */
#define ARRAY_DATA_OFFSET (1u << 20) /* what adapters keep free for it */

/* On the drive, little endian, in this order after the magic; then zeroes. */
typedef struct {
    uint8_t array[16]; /* the same on all drives of an array, no other's */
    uint32_t n_drives;
    uint32_t index;    /* of this drive, in the order of striping */
    uint64_t drive_bytes;
    uint64_t data_offset_bytes;
    uint64_t page_bytes;
    uint64_t stripe_bytes;
} ArrayLabel;

typedef enum {
    ARRAY_LABEL_GOOD,
    ARRAY_LABEL_NONE,    /* nothing of ours was here */
    ARRAY_LABEL_DAMAGED, /* was ours; error says what is wrong */
} ArrayLabelState;

/*
 * Which run of the array a drive has seen last, in two blocks behind the label.
 * The one that is older, or damaged, is written: a torn one leaves the newest.
 * A run first says on all drives that it starts, then on all that it serves, in
 * both blocks, and only then writes data.  So a drive that has not heard the
 * start of the last run that served was not there, or holds old contents.
 * Starts that fail before that, however many, have written nothing: who has
 * not heard of them has missed nothing.
 * Drives that are put back together begin to count again where they were.  So
 * each run draws an identity, too: two of one number are still told apart.
 */
typedef struct {
    uint8_t array[16]; /* as the label's */
    uint64_t state;    /* twice the run's number; and 1: it served */
    uint64_t served;   /* while it starts: the last run that served; 0: none */
    uint64_t id;       /* of the run, drawn; 0: of a program that drew none */
    uint64_t served_id; /* while it starts: of the last run that served */
    /* On which what served last did; 0: a program served that told none. */
    uint64_t device;
} ArrayRun;

/* The device of a run that served without one. */
#define ARRAY_NO_DEVICE UINT64_MAX

/* Of the array, as its drives say: what ran last. */
typedef struct {
    uint64_t heard;  /* the last run that began to start; 0: none did */
    uint64_t served; /* the last one that wrote data; 0: none did */
    uint64_t served_id;
} ArrayRuns;

#define ARRAY_RUN_BLOCKS 2u
#define ARRAY_RUNS_END (ARRAY_LABEL_BYTES * (1 + ARRAY_RUN_BLOCKS))
/* Of a block, from the drive's first byte. */
static inline uint64_t array_run_offset(uint32_t block)
{
    return ARRAY_LABEL_BYTES * (UINT64_C(1) + block);
}

void array_run_encode(const ArrayRun *run,
                      unsigned char bytes[ARRAY_LABEL_BYTES]);
/* NONE: no run has been written there. */
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
 * Whether n drives have seen the same runs, and which ones.  False: error names
 * the drive, by its place.
 */
bool array_run_set(const ArrayRun *runs, uint32_t n, ArrayRuns *last,
                   char *error);
/* Of drives that are such a set: on which device it was served last. */
uint64_t array_run_device(const ArrayRun *runs, uint32_t n,
                          const ArrayRuns *last);

/*
 * A block device of an array has a number, which the driver keeps with it: one
 * half says whose it is, the other is drawn.  One that was left behind has
 * writes which the driver issues anew, and file systems on it know nothing of
 * what another one has written since: only the last one may go on.  Programs
 * that drew nothing gave all devices of an array the same number.
 */
uint64_t array_device_number(const ArrayLabel *label, uint64_t drawn);
/* last: as array_run_device().  False: error says why it may not go on. */
bool array_device_goes_on(uint64_t device, const ArrayLabel *label,
                          uint64_t last, char *error);

void array_label_encode(const ArrayLabel *label,
                        unsigned char bytes[ARRAY_LABEL_BYTES]);
ArrayLabelState array_label_decode(const unsigned char *bytes,
                                   ArrayLabel *label, char *error);
/*
 * Whether the labels of n drives, in the order given, are those of one whole
 * array, and the drives have the sizes they had.  order[i] is the drive to be
 * used as number i.  False: error names the drive, by its place.
 */
bool array_label_set(const ArrayLabel *labels, const uint64_t *drive_bytes,
                     uint32_t n, uint32_t *order, char *error);

#endif /* ARRAY_LABEL_H */
