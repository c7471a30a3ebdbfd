/*
 * The drives of an array as files: opening them, locking them, and finding
 * their order by their labels.
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
    ArrayLabel label; /* of the first drive, for what all drives share */
    /* for each drive, the newer of its two blocks for the run */
    uint32_t newest[ARRAY_MAX_DRIVES];
    ArrayRuns runs;
    uint64_t device; /* ArrayRun.device of the last run that served */
    uint64_t id; /* random id of the run that begins */
} ArrayDrives;

/* ---- drives.c ---------------------------------------------------------- */

/*
 * Opens drives in the order given, whatever they contain, for exclusive use: no
 * other array, mounted file system or md has them. False: error (of
 * ARRAY_ERROR_BYTES) is one line, and no drive is open.
 */
bool array_drives_claim(ArrayDrives *drives, const char *const *paths,
                        uint32_t n, char *error);
void array_drives_close(ArrayDrives *drives);

/* ---- drive_labels.c ---------------------------------------------------- */

/*
 * Makes an array of drives, which may be block devices or files, by writing
 * labels to them in the order given. A drive with a label is refused unless
 * force is set. False: error (of ARRAY_ERROR_BYTES) is one line. Either nothing
 * was written, or error names the drive that could not be written.
 */
bool array_drives_format(const char *const *paths, uint32_t n,
                         const char *keys, bool force, char *error);
/* Opens the drives of one array. paths may have any order. */
bool array_drives_open(ArrayDrives *drives, const char *const *paths,
                       uint32_t n, char *error);
/*
 * Begin a run with the next number, in two steps. After
 * array_drives_start_run() all drives know that the run starts. After
 * array_drives_serve_run() they know that it serves, and on which device; only
 * then may data be written. The second step may be repeated, also for another
 * device. False: error is one line.
 */
bool array_drives_start_run(ArrayDrives *drives, char *error);
bool array_drives_serve_run(ArrayDrives *drives, uint64_t device, char *error);
/* Makes the array's configuration from the labels and from keys. */
bool array_drives_config(const ArrayDrives *drives, const char *keys,
                         ArrayConfig *config, char *error);

#endif /* ARRAY_DRIVES_H */
