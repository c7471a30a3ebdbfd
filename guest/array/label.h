/*
 * The label that says which array a drive belongs to, and how the array is
 * laid out.  The adapters write and read it at the drive's first byte; this is
 * its format and what makes a set of them one array.
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
