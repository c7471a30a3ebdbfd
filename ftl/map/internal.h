/*
 * Declarations that the sources of map share. Each mapping (page, demand,
 * block, ...) is a ScarpMappingOps in a file of its own, and stands in the list
 * of map/mapping.c.
 *
 * With every mapping the simulator has ppn_of, the PPN of each unit's newest
 * copy, and looks units up there, for speed. A real controller need not have
 * such a table: its RAM has only the mapping's own state. Checks
 * (ScarpMappingOps.check) prove that this state alone leads to the same PPNs.
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
     * Bits of ScarpMapCan. A mapping without MAP_PLACES_PAGES lets a unit lie
     * in any page. Without MAP_MERGES, the GC policies choose the victim
     * blocks.
     */
    uint32_t can;
    /*
     * Each function below may be NULL, with two exceptions. A mapping with
     * MAP_PLACES_PAGES must have room, open and wrote, and a mapping with
     * MAP_MERGES must have plan, begin, source_page, target and finish. A
     * mapping stores its own state in drive->map.state.
     */
    bool (*init)(ScarpDrive *drive, GError **error);
    void (*clear)(ScarpDrive *drive);
    /*
     * Returns the number of blocks that should be written in turn, a page each,
     * so that they can be reclaimed together. NULL means one block of each
     * plane.
     */
    uint64_t (*group_blocks)(const ScarpDrive *drive);
    /*
     * Returns the bytes of RAM that a controller needs for this mapping. NULL
     * means 4 bytes for each unit.
     */
    uint64_t (*ram_bytes)(const ScarpDrive *drive);
    /*
     * Returns how many of the bytes of ram_bytes() must be read from flash
     * after the RAM was lost. NULL means all of them.
     */
    uint64_t (*table_bytes)(const ScarpDrive *drive);
    /*
     * Checks the invariants of this mapping's own state. scarp_map_check()
     * calls it after the checks that hold for every mapping.
     */
    bool (*check)(const ScarpDrive *drive, GError **error);
    /*
     * The functions from here to needs_all are for mappings with
     * MAP_PLACES_PAGES, which choose the page of each write. With them a unit
     * is as large as a page, and static allocation chooses the plane of each
     * LPN. drive->map.merge[plane] is the merge that runs in the plane.
     *
     * room() returns the block, with a free page, that a write of lpn goes to.
     * SCARP_FRESH means that open() must first open a block for the write.
     * SCARP_NONE means that a merge must first make room.
     */
    uint32_t (*room)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    uint32_t (*open)(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    /*
     * Called just before a write of lpn takes the next page of `block`, which
     * room() or open() returned.
     */
    void (*wrote)(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                  uint32_t block);
    /*
     * Called when lpn has been mapped to ppn, unless a merge made the copy at
     * ppn.
     */
    void (*mapped)(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
    /*
     * True when the plane can take n pages before it has to merge blocks: the
     * page of lpn, and n - 1 pages of the LPNs lpn + n_planes, lpn + 2 *
     * n_planes and so on. The pages of the LPNs in ahead[], which are on their
     * way to the plane, are written before. A host-queue policy asks this about
     * a write whose data has not arrived yet. A wrong answer costs only time,
     * as a program without room waits for a merge. Without this function
     * (NULL), room(lpn) gives the answer.
     */
    bool (*fits)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 uint32_t n, const uint32_t *ahead, uint32_t n_ahead);
    /*
     * Chooses a merge that makes room for lpn, or, if lpn is SCARP_NONE, a
     * merge that gives the plane a free block. Returns false if there is no
     * such merge. Sets merge->target to SCARP_FRESH if begin() has to open the
     * target block.
     */
    bool (*plan)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 ScarpMerge *merge);
    /* Begins the planned merge. */
    void (*begin)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * Returns how many pages the merge still has to copy. NULL means that the
     * number is merge->end - merge->next.
     */
    uint32_t (*copies_left)(const ScarpDrive *drive, const ScarpMerge *merge);
    /*
     * Returns the PPN of the next page that the merge copies. SCARP_PAD means a
     * page without data, and SCARP_NONE that no page is left.
     */
    uint32_t (*source_page)(const ScarpDrive *drive, ScarpMerge *merge);
    /* Returns the block that the merge's next copy goes to. */
    uint32_t (*target)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * Called when all copies of the merge are on flash. Makes the target a
     * block of the mapping. After the call merge->dead[] has the blocks to
     * erase.
     */
    void (*finish)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /*
     * True when the plane would not work with one block fewer, so that no block
     * may become bad now. NULL means that a block may always become bad.
     */
    bool (*needs_all)(const ScarpDrive *drive, uint32_t plane);
    /* Saves the mapping's own state to an image, or loads and checks it. */
    void (*persist)(ScarpDrive *drive, ScarpVisit *visit);
    /*
     * True when this mapping can have put the unit that ppn's spare area names
     * at ppn. The pages before ppn in the block, valid or not, decide that,
     * too. NULL means that any unit may lie anywhere.
     */
    bool (*may_hold)(const ScarpDrive *drive, uint32_t ppn);
    /*
     * Restores the mapping's own state after a power cut. ppn_of has the newest
     * copy of each unit that was found on flash. If several copies of a unit
     * have the same version, the function may choose another of these copies.
     * The function calls scarp_block_recover() for each block with a valid
     * page. A mapping that lets a unit lie in any page has NULL here.
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
     * For a mapping that reads only a part of the pages after a power cut. The
     * caller has made ppn_of from all spare areas. The function replaces this
     * by the PPNs that the mapping would find with its fewer reads. Recovery
     * reads all pages of a block only if the block's sequence number is at
     * least the returned number.
     */
    uint64_t (*reread)(const ScarpDrive *drive, uint32_t *ppn_of);
    /* Called when recovery from a power cut is complete. */
    void (*recovered)(ScarpDrive *drive);
};

/*
 * Compares two copies of a unit on flash. True when the copy at PPN a, and not
 * the copy at PPN b, counts as the unit's newest data. Source: map/rebuild.c.
 */
bool scarp_unit_is_newer(const ScarpDrive *drive, uint32_t a, uint32_t b);

/* ---- map/mend.c: copies and erases of recovery -------------------------- */

/*
 * Returns the numbers of all blocks that have a programmed page and are not
 * bad, in the order in which the blocks were opened. The caller frees the
 * array.
 */
GArray *scarp_mend_used(ScarpDrive *drive);
/*
 * twins.c: changes ppn_of[], which scarp_map_rebuild() has filled. If each
 * mapping unit of a reclaim unit has a copy in a newer reclaim unit, ppn_of[]
 * names the newer copies after the call.
 */
void scarp_map_prefer_complete(ScarpDrive *drive, uint32_t *ppn_of);
/*
 * Returns an array with the number of units whose newest copy, by ppn_of, is in
 * each block. The caller frees it by g_free().
 */
uint32_t *scarp_mend_count(const ScarpDrive *drive, const uint32_t *ppn_of);

/*
 * scarp_mend_add() adds a unit that recovery has to copy, or, as SCARP_PAD, a
 * page without data that recovery has to program. scarp_mend_kill() adds a
 * block that recovery erases after all copies.
 */
void scarp_mend_add(ScarpDrive *drive, ScarpMend *mend, uint32_t ppn);
void scarp_mend_kill(ScarpDrive *drive, ScarpMend *mend, uint32_t block);
/*
 * Adds the copies of all valid units of the block `victim` to `mend`, and then
 * the erase of that block.
 */
void scarp_mend_victim(ScarpDrive *drive, ScarpMend *mend, uint32_t victim);

#define SCARP_FRESH (SCARP_NONE - 1) /* a block that is to be opened */

/* The abilities that all mappings with log blocks have. */
#define MAP_BY_BLOCK \
    (MAP_PLACES_PAGES | MAP_MERGES | MAP_OWNS_BLOCKS | MAP_KEEPS_ORDER)

extern const ScarpMappingOps scarp_mapping_page, scarp_mapping_demand,
    scarp_mapping_block, scarp_mapping_superblock, scarp_mapping_fast;

#endif /* SCARP_MAP_INTERNAL_H */
