/*
 * The state of superblock mapping: map/superblock.c, and its laws.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_SUPERBLOCK_H
#define SCARP_SUPERBLOCK_H

#include "map/internal.h"

typedef struct {
    uint32_t first;        /* first of its blocks, or SCARP_NONE */
    uint32_t n;            /* number of its blocks */
    uint32_t current;      /* the block being written, or SCARP_NONE */
    uint32_t older, newer; /* in its plane's list, while it has update blocks */
    uint32_t seen;         /* the last look that saw it */
} ScarpSuper;

/* A block of a superblock. */
typedef struct {
    uint32_t next, prev; /* in its superblock's list, or SCARP_NONE */
    uint32_t super;
} ScarpSuperBlock;

typedef struct {
    uint32_t oldest, newest; /* superblocks with update blocks */
    uint32_t updates;        /* blocks beyond the logical ones */
} ScarpSuperPlane;

typedef struct {
    uint32_t width;     /* logical blocks of a superblock */
    uint32_t blocks;    /* logical blocks of a plane */
    uint32_t n;         /* superblocks of a plane */
    uint32_t *plane_of; /* [n_planes]: planes of a round of pages */
    ScarpDivisor by_width;
    ScarpSuper *super;  /* [superblock], those of a plane together */
    ScarpSuperBlock *block;
    ScarpSuperPlane *plane;
    uint32_t look; /* number of fits()'s look */
} ScarpSupers;

static inline ScarpSupers *scarp_supers(const ScarpDrive *drive)
{
    return drive->map.state;
}

/* Returns the superblock of a logical page. */
static inline uint32_t scarp_super_of(const ScarpDrive *drive, uint32_t p,
                                      uint32_t lpn)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint32_t page = scarp_divide(lpn, drive->geo.by_planes);
    uint32_t block = scarp_divide(page, drive->geo.by_units_per_block);

    return p * supers->n + scarp_divide(block, supers->by_width);
}

/* Logical blocks of a superblock: the last of a plane may have fewer. */
static inline uint32_t scarp_super_width(const ScarpSupers *supers, uint32_t s)
{
    uint32_t first = s % supers->n * supers->width;

    return MIN(supers->width, supers->blocks - first);
}

static inline bool scarp_super_has_updates(const ScarpSupers *supers,
                                           uint32_t s)
{
    return supers->super[s].n > scarp_super_width(supers, s);
}

/* Adds a block to superblock s. */
void scarp_super_add(ScarpDrive *drive, uint32_t s, uint32_t block);
/* Removes a block from its superblock. */
void scarp_super_drop(ScarpDrive *drive, uint32_t block);
/* Makes s, which was written, the newest of those with update blocks. */
void scarp_super_touch(ScarpSupers *supers, uint32_t s);

/* map/superblock_recover.c: ScarpMappingOps: recover, mend, … */
void scarp_supers_recover(ScarpDrive *drive, uint32_t *ppn_of);
bool scarp_supers_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
void scarp_supers_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                              uint32_t *target);
void scarp_supers_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                              uint32_t block);

/* map/superblock_laws.c */
bool scarp_supers_check(const ScarpDrive *drive, GError **error);
bool scarp_supers_may_hold(const ScarpDrive *drive, uint32_t ppn);
void scarp_supers_persist(ScarpDrive *drive, ScarpVisit *visit);

#endif /* SCARP_SUPERBLOCK_H */
