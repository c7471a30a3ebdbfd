/*
 * The contents of a drive after a power cut: judged, counted, named, kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_LOOK_H
#define SCARP_CUTS_LOOK_H

#include "cuts/judged.h"

typedef struct {
    char *story; /* how the contents break the contract; NULL: they do not */
    /*
     * Number of sectors that show neither the last completed write nor one that
     * was under way. The contract permits most of these.
     */
    uint64_t lost;
    char *name; /* equal contents in this run have equal names */
} CutsLook;

/* Fills *look from a drive that has recovered, and whose host is gone. */
void cuts_look(CutsDrive *d, CutsLook *look);
void cuts_look_clear(CutsLook *look);

/*
 * Writes the contents to a sparse file NAME.raw in the folder, where NAME is
 * look->name, unless that file exists. False, with *error set: the file could
 * not be written.
 */
bool cuts_look_keep(const CutsDrive *d, const CutsLook *look,
                    const char *folder, GError **error);

#endif /* SCARP_CUTS_LOOK_H */
