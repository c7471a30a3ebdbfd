/*
 * The cache in a file of shared memory (tmpfs), which the end of the process
 * leaves as it is: who comes after writes to the drives what was acknowledged
 * and is not there yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_KEEP_H
#define ARRAY_KEEP_H

#include "../label.h"

/*
 * A cache that another run of the array left may be older than the drives: it
 * knows the run it is of, and is taken only if none has served since.  Drives
 * that never heard of that run are older than the cache, and refused with it.
 * So are drives that were put back and have had another run of that number.
 */
typedef struct {
    uint64_t number, id; /* as in ArrayRun */
    uint64_t after_id;   /* of the last run that served before it */
} KeepRun;

typedef struct {
    void *base; /* NULL: there is none */
    size_t bytes;
    int fd; /* locked: no other process has the file */
    uint64_t *marks; /* [buffers] */
    void *memory;    /* [buffers] of page_bytes */
    uint64_t buffers, page_bytes;
    bool taken_over; /* it is PATH, and no longer PATH.new */
} Keep;

/*
 * As PATH.new, empty, of this run.  Who has it from here to keep_close() has it
 * alone, whatever its name: another server that is given PATH is refused.  What
 * is there is emptied, so it may not be another file's name, too.
 * False: error is one line.
 */
bool keep_make(Keep *keep, const char *path, const ArrayLabel *array,
               const KeepRun *run, uint64_t buffers, char *error);
/*
 * What the last run that served left, of an array of n_pages; base is NULL
 * where it left nothing.  A file of another run that has nothing either is not
 * adopted: it would be taken for the last one's then.  Who recovers is refused
 * with it, as the last one may have acknowledged what is neither in it nor on
 * the drives.  False: it is not for this array as it is now, and error is one
 * line; the file is untouched.
 */
bool keep_open(Keep *keep, const char *path, const ArrayLabel *array,
               const ArrayRuns *last, uint64_t n_pages, bool recovers,
               char *error);
/*
 * It is now of a run that starts, and is to write it to the drives: that run
 * may end, and the next one needs it then.  All drives know that it starts.
 */
void keep_adopt(Keep *keep, const KeepRun *run);
/* PATH.new is PATH now, in one step. */
bool keep_take_over(Keep *keep, const char *path, char *error);
/*
 * The same, and what was PATH, all of which is on the drives, is of no use to
 * anybody: it may have other names.
 */
bool keep_replace(Keep *keep, Keep *left, const char *path, char *error);
/*
 * The file goes when all is on the drives.  One that was not taken over has
 * nothing: PATH is what another process left, and stays.
 */
void keep_end(Keep *keep, const char *path, bool all_on_drives);
void keep_close(Keep *keep);

#endif /* ARRAY_KEEP_H */
