/*
 * The cache in a file of shared memory (tmpfs), which survives the end of the
 * process: the next process writes to the drives what was acknowledged and is
 * not there yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_KEEP_H
#define ARRAY_KEEP_H

#include "../label.h"

/*
 * The run that a kept cache is of. The cache may be older than the drives, so
 * it is taken only if no run has served since. Drives that never heard of that
 * run are older than the cache, and refused with it. So are drives that were
 * put back and have had another run of that number.
 */
typedef struct {
    uint64_t number, id; /* as in ArrayRun */
    uint64_t after_id;   /* of the last run that served before it */
} KeepRun;

typedef struct {
    void *base; /* NULL: there is no cache */
    size_t bytes;
    int fd; /* locked: no other process has the file */
    uint64_t *marks; /* [buffers] */
    void *memory;    /* [buffers] of page_bytes */
    uint64_t buffers, page_bytes;
    bool taken_over; /* it is PATH, no longer PATH.new */
} Keep;

/*
 * Makes PATH.new, empty, for this run. Its owner has it exclusively until
 * keep_close(), whatever its name: another server that is given PATH is
 * refused. An existing file is emptied, so it must not have other names. False:
 * error is one line.
 */
bool keep_make(Keep *keep, const char *path, const ArrayLabel *array,
               const KeepRun *run, uint64_t buffers, char *error);
/*
 * Opens what the last run that served left, of an array of n_pages; base is
 * NULL where it left nothing. An empty file of another run is not adopted, as
 * it would then count as the last run's. A server that recovers is refused with
 * such a file, as the last run may have acknowledged what is neither in it nor
 * on the drives. False: the file is not for this array as it is now, error is
 * one line, and the file is untouched.
 */
bool keep_open(Keep *keep, const char *path, const ArrayLabel *array,
               const ArrayRuns *last, uint64_t n_pages, bool recovers,
               char *error);
/*
 * Makes the cache one of a run that starts, and is to write it to the drives:
 * if that run ends early, the next one needs the cache. All drives know that
 * the run starts.
 */
void keep_adopt(Keep *keep, const KeepRun *run);
/* Renames PATH.new to PATH, in one step. */
bool keep_take_over(Keep *keep, const char *path, char *error);
/*
 * Renames PATH.new to PATH, and empties the old PATH, all of which is on the
 * drives: it may have other names.
 */
bool keep_replace(Keep *keep, Keep *left, const char *path, char *error);
/*
 * Removes the file if all is on the drives. A cache that was not taken over has
 * nothing: PATH is what another process left, and stays.
 */
void keep_end(Keep *keep, const char *path, bool all_on_drives);
void keep_close(Keep *keep);

#endif /* ARRAY_KEEP_H */
