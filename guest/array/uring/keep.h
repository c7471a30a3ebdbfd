/*
 * The cache in a file of shared memory (tmpfs), which survives the end of the
 * process. The next process then writes to the drives what was acknowledged and
 * is not on them yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ARRAY_KEEP_H
#define ARRAY_KEEP_H

#include "../label.h"

/*
 * The run to which a kept cache belongs. The cache is used only if that run is
 * the last that served, or took over that run's data without serving later. Any
 * other cache is wrong in one of three ways: the drives are newer than the
 * cache; the drives have never heard of the cache's run; or the drives were put
 * back to an earlier time and then had another run with that number.
 */
typedef struct {
    uint64_t number, id; /* of the run, as in ArrayRun */
    uint64_t after_id;   /* id of the last run that served before this one */
} KeepRun;

typedef struct {
    void *base; /* the mapped file; NULL: there is no cache */
    size_t bytes;
    int fd; /* locked: no other process has the file */
    uint64_t *marks; /* [buffers] */
    void *memory;    /* [buffers] of page_bytes */
    uint64_t buffers, page_bytes;
    bool taken_over; /* the file is PATH, no longer PATH.new */
} Keep;

/*
 * Makes an empty cache for this run in the file PATH.new. The caller has the
 * file exclusively until keep_close(), even after the file is renamed to PATH:
 * another server that is given PATH is refused. An existing PATH.new is
 * emptied, so that file must not have other names. False: error is one line.
 */
bool keep_make(Keep *keep, const char *path, const ArrayLabel *array,
               const KeepRun *run, uint64_t buffers, char *error);
/*
 * Opens the cache that the last run that served has left, for an array of
 * n_pages. keep->base is NULL if that run left none. An empty cache of another
 * run is not opened, as a caller who adopts it would make it the last run's. If
 * `recovers` is set (the caller recovers a device), such a cache is refused:
 * the last run may have acknowledged data that is neither there nor on the
 * drives. False: the file is no cache that fits this array and the runs of its
 * drives; error is one line, and the file is unchanged.
 */
bool keep_open(Keep *keep, const char *path, const ArrayLabel *array,
               const ArrayRuns *last, uint64_t n_pages, bool recovers,
               char *error);
/*
 * Makes the cache one of the run that starts, which is to write the cache's
 * data to the drives. If that run ends early, the next run needs the cache. All
 * drives already know that the run starts.
 */
void keep_adopt(Keep *keep, const KeepRun *run);
/* Renames PATH.new to PATH, in one step of the file system. */
bool keep_take_over(Keep *keep, const char *path, char *error);
/*
 * Renames PATH.new to PATH, and empties the cache `left`, whose file was PATH
 * and whose data is on the drives. `left` is emptied because its file may have
 * other names.
 */
bool keep_replace(Keep *keep, Keep *left, const char *path, char *error);
/*
 * Removes the cache's file PATH if all its data is on the drives. A cache whose
 * file is still PATH.new has no data, so that file is removed. The file PATH is
 * then not this run's, and stays.
 */
void keep_end(Keep *keep, const char *path, bool all_on_drives);
void keep_close(Keep *keep);

#endif /* ARRAY_KEEP_H */
