/*
 * The drives of an array as files: opened, locked, told apart by their labels.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_DRIVES_H
#define ARRAY_DRIVES_H

#include "../label.h"

typedef struct {
    uint32_t n;
    int fd[ARRAY_MAX_DRIVES]; /* in the order of striping */
    uint64_t bytes[ARRAY_MAX_DRIVES];
    ArrayLabel label; /* of the first; what they have in common */
    uint32_t newest[ARRAY_MAX_DRIVES]; /* of their run's blocks */
    ArrayRuns runs;
    uint64_t device; /* on which it was served last */
    uint64_t id; /* drawn for the run that begins */
} ArrayDrives;

/* ---- drives.c ---------------------------------------------------------- */

/*
 * Open drives in the order given, whatever is on them.  Nobody else has them
 * while they are open: not another array, a mounted file system or md.
 * False: error (of ARRAY_ERROR_BYTES) is one line, and none is open.
 */
bool array_drives_claim(ArrayDrives *drives, const char *const *paths,
                        uint32_t n, char *error);
void array_drives_close(ArrayDrives *drives);

/* ---- drive_labels.c ---------------------------------------------------- */

/*
 * Write labels that make an array of the drives, block devices or files, in
 * the order given.  A drive that has a label is refused unless force is set.
 * False: error (of ARRAY_ERROR_BYTES) is one line, and nothing was written, or
 * it says which drive could not be written.
 */
bool array_drives_format(const char *const *paths, uint32_t n,
                         const char *keys, bool force, char *error);
/* Claim the drives of one array, in any order. */
bool array_drives_open(ArrayDrives *drives, const char *const *paths,
                       uint32_t n, char *error);
/*
 * A new run begins, of the next number, in two steps: all drives know that it
 * starts, then that it serves, and on which device, and only then data may be
 * written to one.  The second may be taken again, also for another device.
 * False: error is one line.
 */
bool array_drives_start_run(ArrayDrives *drives, char *error);
bool array_drives_serve_run(ArrayDrives *drives, uint64_t device, char *error);
/* The configuration of the array on them: what the label says, and keys. */
bool array_drives_config(const ArrayDrives *drives, const char *keys,
                         ArrayConfig *config, char *error);

#endif /* ARRAY_DRIVES_H */
