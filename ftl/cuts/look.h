/*
 * The contents of a drive after a power cut: judged, counted, named, kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_LOOK_H
#define SCARP_CUTS_LOOK_H

#include "cuts/rerun.h"

typedef struct {
    char *story; /* how they break the contract; NULL: not */
    /*
     * Sectors with neither the last write that had completed there nor one that
     * was under way. The contract allows most of these.
     */
    uint64_t lost;
    char *name; /* equal for equal contents of this run */
} CutsLook;

/* Looks at a drive that is ready, and whose host is gone. */
void cuts_look(CutsDrive *d, CutsLook *look);
void cuts_look_clear(CutsLook *look);

/*
 * Writes the contents to a sparse file NAME.raw in folder, unless it exists.
 * False and *error set: it could not be written.
 */
bool cuts_look_keep(const CutsDrive *d, const CutsLook *look,
                    const char *folder, GError **error);

#endif /* SCARP_CUTS_LOOK_H */
