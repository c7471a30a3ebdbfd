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

typedef struct {
    void *base; /* NULL: there is none */
    size_t bytes;
    uint64_t *marks; /* [buffers] */
    void *memory;    /* [buffers] of page_bytes */
    uint64_t buffers, page_bytes;
} Keep;

/* As PATH.new, empty.  False: error is one line. */
bool keep_make(Keep *keep, const char *path, const ArrayLabel *array,
               uint64_t buffers, char *error);
/* What another process left; base is NULL where it left nothing. */
bool keep_open(Keep *keep, const char *path, const ArrayLabel *array,
               char *error);
/* PATH.new is PATH now, in one step. */
bool keep_take_over(const char *path, char *error);
/* All is on the drives. */
void keep_remove(const char *path);
void keep_close(Keep *keep);

#endif /* ARRAY_KEEP_H */
