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
    ArrayLabel label; /* the first drive's, for what all share */
    uint32_t newest[ARRAY_MAX_DRIVES]; /* of its run's blocks */
    ArrayRuns runs;
    uint64_t device; /* the device that served last */
    uint64_t id; /* drawn for the run that begins */
} ArrayDrives;

/* ---- drives.c ---------------------------------------------------------- */

/*
 * Opens drives in the order given, whatever they contain, for exclusive use: no
 * other array, mounted file system or md may have them. False: error (of
 * ARRAY_ERROR_BYTES) is one line, and no drive is open.
 */
bool array_drives_claim(ArrayDrives *drives, const char *const *paths,
                        uint32_t n, char *error);
void array_drives_close(ArrayDrives *drives);

/* ---- drive_labels.c ---------------------------------------------------- */

/*
 * Writes labels that make an array of the drives, block devices or files, in
 * the order given. A drive that has a label is refused unless force is set.
 * False: error (of ARRAY_ERROR_BYTES) is one line, and nothing was written, or
 * it names the drive that could not be written.
 */
bool array_drives_format(const char *const *paths, uint32_t n,
                         const char *keys, bool force, char *error);
/* Opens the drives of one array, given in any order. */
bool array_drives_open(ArrayDrives *drives, const char *const *paths,
                       uint32_t n, char *error);
/*
 * Begins a run, of the next number, in two steps: all drives learn that it
 * starts, then that it serves, and on which device; only then data may be
 * written. The second step may be repeated, also for another device. False:
 * error is one line.
 */
bool array_drives_start_run(ArrayDrives *drives, char *error);
bool array_drives_serve_run(ArrayDrives *drives, uint64_t device, char *error);
/* Makes the array's configuration: what the label says, and keys. */
bool array_drives_config(const ArrayDrives *drives, const char *keys,
                         ArrayConfig *config, char *error);

#endif /* ARRAY_DRIVES_H */
