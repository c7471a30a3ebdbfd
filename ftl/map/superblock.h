/*
 * The tables of superblock mapping, which map/superblock.c explains.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_SUPERBLOCK_H
#define SCARP_SUPERBLOCK_H

#include "map/internal.h"

typedef struct {
    uint32_t first;        /* the first of its blocks, or SCARP_NONE */
    uint32_t n;            /* number of its blocks */
    uint32_t current;      /* the block that writes fill, or SCARP_NONE */
    /* neighbours in the plane's list of superblocks with update blocks */
    uint32_t older, newer;
    uint32_t seen;         /* number of the last walk that met the superblock */
} ScarpSuper;

/* A block of a superblock. */
typedef struct {
    uint32_t next, prev; /* links of its superblock's list, or SCARP_NONE */
    uint32_t super;
} ScarpSuperBlock;

typedef struct {
    /*
     * the plane's superblocks with update blocks, by the time of their last
     * write
     */
    uint32_t oldest, newest;
    uint32_t updates;        /* update blocks of the plane */
} ScarpSuperPlane;

typedef struct {
    uint32_t width;     /* logical blocks of a superblock */
    uint32_t blocks;    /* logical blocks of a plane */
    uint32_t n;         /* superblocks of a plane */
    uint32_t *plane_of; /* [lpn % n_planes]: the plane of lpn */
    ScarpDivisor by_width;
    ScarpSuper *super;  /* [superblock], ordered by plane */
    ScarpSuperBlock *block;
    ScarpSuperPlane *plane;
    uint32_t look; /* number of the last walk of fits() */
} ScarpSupers;

static inline ScarpSupers *scarp_supers(const ScarpDrive *drive)
{
    return drive->map.state;
}

/*
 * Returns the number of the superblock of lpn. `p` must be the plane that
 * ftl.allocation gives to lpn.
 */
static inline uint32_t scarp_super_of(const ScarpDrive *drive, uint32_t p,
                                      uint32_t lpn)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint32_t page = scarp_divide(lpn, drive->geo.by_planes);
    uint32_t block = scarp_divide(page, drive->geo.by_units_per_block);

    return p * supers->n + scarp_divide(block, supers->by_width);
}

/*
 * Returns how many logical blocks superblock s has. The last superblock of a
 * plane may have fewer, if the plane's logical blocks do not divide evenly.
 */
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
/*
 * Called when superblock s, which has update blocks, was written: moves it to
 * the newest end of its plane's list.
 */
void scarp_super_touch(ScarpSupers *supers, uint32_t s);

/*
 * map/superblock_recover.c: implement `recover`, `mend`, `mend_copied` and
 * `mend_filled` of ScarpMappingOps.
 */
void scarp_supers_recover(ScarpDrive *drive, uint32_t *ppn_of);
bool scarp_supers_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
void scarp_supers_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                              uint32_t *target);
void scarp_supers_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                              uint32_t block);

/*
 * map/superblock_laws.c: implement `check`, `may_hold` and `persist` of
 * ScarpMappingOps.
 */
bool scarp_supers_check(const ScarpDrive *drive, GError **error);
bool scarp_supers_may_hold(const ScarpDrive *drive, uint32_t ppn);
void scarp_supers_persist(ScarpDrive *drive, ScarpVisit *visit);

#endif /* SCARP_SUPERBLOCK_H */
