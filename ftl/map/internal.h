/*
 * What the sources of map share: a mapping is a table of functions, one file
 * each, named in map/mapping.c's list.
 *
 * Every mapping keeps the table of all units, ppn_of, as the simulator's truth:
 * where the newest copy of a unit lies.  What a controller with that mapping
 * would hold in its RAM is the mapping's own state.  Its laws say that by this
 * state alone each unit is found where ppn_of says that it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_INTERNAL_H
#define SCARP_MAP_INTERNAL_H

#include "map/ops.h"

struct ScarpMappingOps {
    const char *name; /* as in ftl.mapping */
    const char *help;
    const char *source; /* paper, section */
    /*
     * What it can: ScarpMapCan.  Without MAP_PLACES_PAGES and MAP_MERGES places
     * and victims are the scheme's to choose.
     */
    uint32_t can;
    /* The rest may be NULL.  state: drive->map.state, the mapping's own. */
    bool (*init)(ScarpDrive *drive, GError **error);
    void (*clear)(ScarpDrive *drive);
    /* Blocks whose pages are best written together; NULL: one of each plane. */
    uint64_t (*group_blocks)(const ScarpDrive *drive);
    /* RAM of a controller that has this mapping; NULL: an entry per unit. */
    uint64_t (*ram_bytes)(const ScarpDrive *drive);
    /* What of it a drive at rest cannot do without; NULL: all of it. */
    uint64_t (*table_bytes)(const ScarpDrive *drive);
    /* Its laws; those of all mappings hold already. */
    bool (*check)(const ScarpDrive *drive, GError **error);
    /*
     * The rest is of those that say where pages go; a unit is a page, and
     * static allocation says of which plane.  drive->map.merge[plane] is what
     * is merged there.
     *
     * The block that lpn's next page goes to, which has one left; SCARP_FRESH:
     * to one that open() opens; SCARP_NONE: something must be merged before.
     */
    uint32_t (*room)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    uint32_t (*open)(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    /* lpn is about to get the next page of block, which room() named. */
    void (*wrote)(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                  uint32_t block);
    /* lpn lies at ppn now, which is not what a merge copied; may be NULL. */
    void (*mapped)(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
    /*
     * Whether n pages from lpn on, each n_planes further, have room before
     * anything is merged, if those of ahead[], of the same plane, get theirs
     * before: what a host queue's policy wants to know of a write whose data
     * has not come.  It may be wrong: a program without room waits.  NULL:
     * room() is asked for lpn alone.
     */
    bool (*fits)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 uint32_t n, const uint32_t *ahead, uint32_t n_ahead);
    /*
     * Chooses what to merge, for lpn, which has no room, or for SCARP_NONE, so
     * that the plane has a free block more; false: there is nothing.  A target
     * that is to be opened is SCARP_FRESH.
     */
    bool (*plan)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 ScarpMerge *merge);
    /* What was planned begins. */
    void (*begin)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* Pages that are still to be copied; NULL: all that are to be looked at. */
    uint32_t (*copies_left)(const ScarpDrive *drive, const ScarpMerge *merge);
    /* The next page to copy, SCARP_PAD, or SCARP_NONE: that was all. */
    uint32_t (*source_page)(const ScarpDrive *drive, ScarpMerge *merge);
    /* The block that it goes to. */
    uint32_t (*target)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* All copies are there: the mapping changes, and dead[] is known. */
    void (*finish)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* The plane has no block that could go bad now; NULL: it may have. */
    bool (*needs_all)(const ScarpDrive *drive, uint32_t plane);
    /* What an image keeps of it, and the laws of what it brings back. */
    void (*persist)(ScarpDrive *drive, ScarpVisit *visit);
    /*
     * What ppn's spare area says may lie there, beside what is before it in its
     * block, valid or not; NULL: any unit may.
     */
    bool (*may_hold)(const ScarpDrive *drive, uint32_t ppn);
    /*
     * After a power cut; ppn_of says where the newest copy of each unit lies,
     * and the mapping may choose another one of the same version.  It says of
     * each block that has a page in use what it is for, or that it is of no use
     * (scarp_block_recover()).  NULL: any page will do.
     */
    void (*recover)(ScarpDrive *drive, uint32_t *ppn_of);
    /* scarp_map_mend() and what follows; NULL as well. */
    bool (*mend)(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
    void (*mend_copied)(ScarpDrive *drive, ScarpMend *mend, uint32_t *target);
    void (*mend_filled)(ScarpDrive *drive, const ScarpMend *mend,
                        uint32_t block);
    /*
     * In place of what all spare areas together say: what the mapping finds
     * with those that it reads; may be NULL.  Returns the seq of the first block
     * of which it reads all.
     */
    uint64_t (*reread)(const ScarpDrive *drive, uint32_t *ppn_of);
    /* All of it is over; may be NULL. */
    void (*recovered)(ScarpDrive *drive);
};

/* map/rebuild.c: of two copies of a unit, which counts. */
bool scarp_unit_is_newer(const ScarpDrive *drive, uint32_t a, uint32_t b);

/* ---- map/mend.c: what there is to be mended ----------------------------- */

/* Blocks with a page in use, in the order in which they were opened. */
GArray *scarp_mend_used(ScarpDrive *drive);
/* Of each block the units that are newest in it; g_free() it. */
uint32_t *scarp_mend_count(const ScarpDrive *drive, const uint32_t *ppn_of);

/* A unit is copied, SCARP_PAD: nothing; a block is erased. */
void scarp_mend_add(ScarpDrive *drive, ScarpMend *mend, uint32_t ppn);
void scarp_mend_kill(ScarpDrive *drive, ScarpMend *mend, uint32_t block);
/* Its valid units are copied, and then it is erased. */
void scarp_mend_victim(ScarpDrive *drive, ScarpMend *mend, uint32_t victim);

#define SCARP_FRESH (SCARP_NONE - 1) /* a block that is to be opened */

/* Of a mapping whose log blocks are merged. */
#define MAP_BY_BLOCK \
    (MAP_PLACES_PAGES | MAP_MERGES | MAP_OWNS_BLOCKS | MAP_KEEPS_ORDER)

extern const ScarpMappingOps scarp_mapping_page, scarp_mapping_demand,
    scarp_mapping_block, scarp_mapping_superblock, scarp_mapping_fast;

#endif /* SCARP_MAP_INTERNAL_H */
