/*
 * Declarations that the sources of map share. A mapping is a table of
 * functions, in a file of its own, and named in map/mapping.c's list.
 *
 * Every mapping keeps ppn_of, the place of each unit's newest copy. This table
 * is the simulator's truth. The RAM of a controller with that mapping is the
 * mapping's own state. The mapping's laws say that this state alone finds each
 * unit where ppn_of has it.
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
     * Bits of ScarpMapCan. Without MAP_PLACES_PAGES and MAP_MERGES any page
     * will do, and the scheme chooses victims.
     */
    uint32_t can;
    /*
     * Each function below may be NULL. The mapping's own state is
     * drive->map.state.
     */
    bool (*init)(ScarpDrive *drive, GError **error);
    void (*clear)(ScarpDrive *drive);
    /*
     * Returns the number of blocks whose pages are best written together. NULL:
     * one block of each plane.
     */
    uint64_t (*group_blocks)(const ScarpDrive *drive);
    /*
     * Returns the RAM of a controller that has this mapping. NULL: an entry per
     * unit.
     */
    uint64_t (*ram_bytes)(const ScarpDrive *drive);
    /*
     * Returns how much of that RAM has to be read again after its loss. NULL:
     * all of it.
     */
    uint64_t (*table_bytes)(const ScarpDrive *drive);
    /* Checks the mapping's laws, after those of all mappings. */
    bool (*check)(const ScarpDrive *drive, GError **error);
    /*
     * The functions from here to needs_all are for mappings that choose a
     * unit's page. There a unit is a page, and static allocation chooses its
     * plane. drive->map.merge[plane] is the plane's merge.
     *
     * room returns the block that lpn's next page goes to. It has a page left.
     * SCARP_FRESH: open() has to open that block. SCARP_NONE: something must be
     * merged before.
     */
    uint32_t (*room)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    uint32_t (*open)(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    /*
     * Called when lpn is about to get the next page of block, which room() or
     * open() returned.
     */
    void (*wrote)(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                  uint32_t block);
    /*
     * Called when lpn lies at ppn now, except for copies of a merge. May be
     * NULL.
     */
    void (*mapped)(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
    /*
     * A host-queue policy asks this about a write whose data has not come. True
     * when n pages, lpn and each n_planes further, fit in before anything is
     * merged. Pages on their way to the plane, ahead[], are taken to be written
     * first. The answer may be wrong: a program without room then waits. NULL:
     * room() is asked about lpn alone.
     */
    bool (*fits)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 uint32_t n, const uint32_t *ahead, uint32_t n_ahead);
    /*
     * Chooses a merge that makes room for lpn, or, with SCARP_NONE, one by
     * which the plane gains a free block. Returns false if there is none. The
     * target is SCARP_FRESH if it has yet to be opened.
     */
    bool (*plan)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 ScarpMerge *merge);
    /* Begins the planned merge. */
    void (*begin)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * Returns the number of pages still to be copied. NULL: merge->end -
     * merge->next.
     */
    uint32_t (*copies_left)(const ScarpDrive *drive, const ScarpMerge *merge);
    /*
     * Returns the next page to copy, SCARP_PAD for a page without data, or
     * SCARP_NONE after the last.
     */
    uint32_t (*source_page)(const ScarpDrive *drive, ScarpMerge *merge);
    /* Returns the block that the next copy goes to. */
    uint32_t (*target)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * Called when all copies are on flash: changes the mapping. From then on
     * dead[] has the blocks to be erased.
     */
    void (*finish)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * True when the plane needs all of its blocks, so that none may go bad now.
     * NULL: one may.
     */
    bool (*needs_all)(const ScarpDrive *drive, uint32_t plane);
    /*
     * Visits the part of the state that an image keeps, and checks it when
     * loaded.
     */
    void (*persist)(ScarpDrive *drive, ScarpVisit *visit);
    /*
     * True when the mapping could have put the unit that ppn's spare area names
     * at ppn, after the pages before it in its block, valid or not. NULL: any
     * unit may lie anywhere.
     */
    bool (*may_hold)(const ScarpDrive *drive, uint32_t ppn);
    /*
     * Restores the mapping after a power cut. ppn_of has the newest copy of
     * each unit. The mapping may choose another copy of the same version. It
     * gives each block with a page in use its state, by scarp_block_recover().
     * NULL: any page will do.
     */
    void (*recover)(ScarpDrive *drive, uint32_t *ppn_of);
    /*
     * Implement scarp_map_mend(), scarp_map_mend_copied() and
     * scarp_map_mend_filled(). NULL if recover is NULL.
     */
    bool (*mend)(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
    void (*mend_copied)(ScarpDrive *drive, ScarpMend *mend, uint32_t *target);
    void (*mend_filled)(ScarpDrive *drive, const ScarpMend *mend,
                        uint32_t block);
    /*
     * Replaces ppn_of, which was made from all spare areas, by the places that
     * the mapping finds with those pages alone that it reads after a power cut.
     * Returns the seq of the first block of which it reads all pages. May be
     * NULL.
     */
    uint64_t (*reread)(const ScarpDrive *drive, uint32_t *ppn_of);
    /* Called when recovery is complete. May be NULL. */
    void (*recovered)(ScarpDrive *drive);
};

/*
 * map/rebuild.c: a and b are the PPNs of two copies of a unit. True when the
 * copy at a counts.
 */
bool scarp_unit_is_newer(const ScarpDrive *drive, uint32_t a, uint32_t b);

/* ---- map/mend.c: work to mend ------------------------------------------- */

/*
 * Returns the blocks with a programmed page, in the order in which they were
 * opened, without bad ones. The caller frees the array.
 */
GArray *scarp_mend_used(ScarpDrive *drive);
/*
 * Returns, for each block, how many units have their newest copy there, by
 * ppn_of. The caller frees the array by g_free().
 */
uint32_t *scarp_mend_count(const ScarpDrive *drive, const uint32_t *ppn_of);

/*
 * Add work to mend: scarp_mend_add() a unit to be copied (SCARP_PAD: a page
 * without data to be programmed), scarp_mend_kill() a block to be erased when
 * all copies are done.
 */
void scarp_mend_add(ScarpDrive *drive, ScarpMend *mend, uint32_t ppn);
void scarp_mend_kill(ScarpDrive *drive, ScarpMend *mend, uint32_t block);
/* Adds the copies of all valid units of victim to mend, and its erase. */
void scarp_mend_victim(ScarpDrive *drive, ScarpMend *mend, uint32_t victim);

#define SCARP_FRESH (SCARP_NONE - 1) /* a block that is to be opened */

/* Abilities of a mapping that merges log blocks. */
#define MAP_BY_BLOCK \
    (MAP_PLACES_PAGES | MAP_MERGES | MAP_OWNS_BLOCKS | MAP_KEEPS_ORDER)

extern const ScarpMappingOps scarp_mapping_page, scarp_mapping_demand,
    scarp_mapping_block, scarp_mapping_superblock, scarp_mapping_fast;

#endif /* SCARP_MAP_INTERNAL_H */
