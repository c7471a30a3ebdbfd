/*
 * What a drive contains after a power cut: judged, counted, named, kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_LOOK_H
#define SCARP_CUTS_LOOK_H

#include "cuts-drive.h"

typedef struct {
    char *story; /* what breaks the contract, in words; NULL: nothing */
    /*
     * Sectors with neither the last write that had completed there nor one that
     * was under way.  The contract allows most of it.
     */
    uint64_t lost;
    char *name; /* the same for the same contents of this run */
} CutsLook;

/* It is ready; its host is gone. */
void cuts_look(CutsDrive *d, CutsLook *look);
void cuts_look_clear(CutsLook *look);

/*
 * The contents as a sparse file NAME.raw in the folder, unless it is there.
 * False and *error set: it could not be written.
 */
bool cuts_look_keep(const CutsDrive *d, const CutsLook *look,
                    const char *folder, GError **error);

#endif /* SCARP_CUTS_LOOK_H */
