/*
 * The contents of a drive after a power cut, which are judged, counted, named
 * and saved.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_CUTS_LOOK_H
#define SCARP_CUTS_LOOK_H

#include "cuts/judged.h"

typedef struct {
    char *story; /* the fault in the contents, as text; NULL: none */
    /*
     * Number of sectors that show neither the last completed write nor a write
     * that was under way. The contract permits that if the last completed write
     * was not durable.
     */
    uint64_t lost;
    char *name; /* equal contents in this run have equal names */
} CutsLook;

/*
 * Fills *look from a drive that has recovered. The caller must submit no host
 * command after this call.
 */
void cuts_look(CutsDrive *d, CutsLook *look);
void cuts_look_clear(CutsLook *look);

/*
 * Writes the contents to a sparse file NAME.raw in the folder, where NAME is
 * look->name, unless that file exists. Returns false, with *error set, if the
 * file could not be written.
 */
bool cuts_look_keep(const CutsDrive *d, const CutsLook *look,
                    const char *folder, GError **error);

#endif /* SCARP_CUTS_LOOK_H */
