/*
 * Declarations that the sources of map share: a mapping is a table of
 * functions, one file each, named in map/mapping.c's list.
 *
 * Every mapping keeps the table of all units, ppn_of, as the simulator's truth:
 * where the newest copy of a unit lies. The RAM of a controller with that
 * mapping is the mapping's own state. Its laws say that this state alone finds
 * each unit where ppn_of says that it is.
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
     * Bits of ScarpMapCan. Without MAP_PLACES_PAGES and MAP_MERGES the scheme
     * chooses places and victims.
     */
    uint32_t can;
    /*
     * The functions below may be NULL. state: drive->map.state, the mapping's
     * own.
     */
    bool (*init)(ScarpDrive *drive, GError **error);
    void (*clear)(ScarpDrive *drive);
    /*
     * Number of blocks whose pages are best written together; NULL: one of each
     * plane.
     */
    uint64_t (*group_blocks)(const ScarpDrive *drive);
    /* RAM of a controller that has this mapping; NULL: an entry per unit. */
    uint64_t (*ram_bytes)(const ScarpDrive *drive);
    /* Part of that RAM which must be read again after its loss; NULL: all. */
    uint64_t (*table_bytes)(const ScarpDrive *drive);
    /* Checks the mapping's laws, after those of all mappings. */
    bool (*check)(const ScarpDrive *drive, GError **error);
    /*
     * The functions from here to needs_all belong to mappings that say where
     * pages go: a unit is a page, and static allocation chooses its plane.
     * drive->map.merge[plane] is the plane's merge.
     *
     * room returns the block that lpn's next page goes to, which has a page
     * left; SCARP_FRESH: a block that open() opens; SCARP_NONE: something must
     * be merged before.
     */
    uint32_t (*room)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    uint32_t (*open)(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
    /* lpn is about to get the next page of block, which room() returned. */
    void (*wrote)(ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                  uint32_t block);
    /* lpn lies at ppn now, not as a merge's copy. May be NULL. */
    void (*mapped)(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
    /*
     * True when n pages from lpn on, each n_planes further, fit in before
     * anything is merged, if those of ahead[], of the same plane, are written
     * first: a host-queue policy asks this about a write whose data has not
     * come. The answer may be wrong: a program without room then waits. NULL:
     * room() is asked for lpn alone.
     */
    bool (*fits)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 uint32_t n, const uint32_t *ahead, uint32_t n_ahead);
    /*
     * Chooses a merge for lpn, which has no room, or for SCARP_NONE, so that
     * the plane gains a free block; false: there is none. A target that is yet
     * to be opened is SCARP_FRESH.
     */
    bool (*plan)(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                 ScarpMerge *merge);
    /* Begins the planned merge. */
    void (*begin)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* Number of pages still to be copied; NULL: merge->end - merge->next. */
    uint32_t (*copies_left)(const ScarpDrive *drive, const ScarpMerge *merge);
    /*
     * Returns the next page to copy, SCARP_PAD, or SCARP_NONE after the last.
     */
    uint32_t (*source_page)(const ScarpDrive *drive, ScarpMerge *merge);
    /* Returns the block that the copy goes to. */
    uint32_t (*target)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* All copies are on flash: changes the mapping, and fills dead[]. */
    void (*finish)(ScarpDrive *drive, uint32_t plane, ScarpMerge *merge);
    /* True when no block of the plane may go bad now; NULL: one may. */
    bool (*needs_all)(const ScarpDrive *drive, uint32_t plane);
    /* Visits what an image keeps of the mapping, and checks what it loads. */
    void (*persist)(ScarpDrive *drive, ScarpVisit *visit);
    /*
     * True when the mapping could have put the unit of ppn's spare area there,
     * behind the pages before it in its block, valid or not; NULL: any unit may
     * lie anywhere.
     */
    bool (*may_hold)(const ScarpDrive *drive, uint32_t ppn);
    /*
     * Restores the mapping after a power cut. ppn_of holds the newest copy of
     * each unit; the mapping may choose another copy of the same version. It
     * gives each block with a page in use its state (scarp_block_recover()).
     * NULL: any page will do.
     */
    void (*recover)(ScarpDrive *drive, uint32_t *ppn_of);
    /* scarp_map_mend() and what follows it; NULL if recover is. */
    bool (*mend)(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
    void (*mend_copied)(ScarpDrive *drive, ScarpMend *mend, uint32_t *target);
    void (*mend_filled)(ScarpDrive *drive, const ScarpMend *mend,
                        uint32_t block);
    /*
     * Replaces ppn_of, made from all spare areas, by what the mapping finds
     * from those that it reads. Returns the seq of the first block of which it
     * reads all. May be NULL.
     */
    uint64_t (*reread)(const ScarpDrive *drive, uint32_t *ppn_of);
    /* Recovery is complete. May be NULL. */
    void (*recovered)(ScarpDrive *drive);
};

/* map/rebuild.c: true when a is the copy that counts, of two of a unit. */
bool scarp_unit_is_newer(const ScarpDrive *drive, uint32_t a, uint32_t b);

/* ---- map/mend.c: work to mend ------------------------------------------- */

/*
 * Returns the blocks with a page in use, in the order in which they were
 * opened.
 */
GArray *scarp_mend_used(ScarpDrive *drive);
/*
 * Returns for each block the number of units whose newest copy it has; g_free()
 * it.
 */
uint32_t *scarp_mend_count(const ScarpDrive *drive, const uint32_t *ppn_of);

/*
 * Adds a unit to be copied (SCARP_PAD: a page without data), or a block to be
 * erased.
 */
void scarp_mend_add(ScarpDrive *drive, ScarpMend *mend, uint32_t ppn);
void scarp_mend_kill(ScarpDrive *drive, ScarpMend *mend, uint32_t block);
/* Adds victim's valid units to be copied, and victim to be erased. */
void scarp_mend_victim(ScarpDrive *drive, ScarpMend *mend, uint32_t victim);

#define SCARP_FRESH (SCARP_NONE - 1) /* a block that is to be opened */

/* Abilities of a mapping whose log blocks are merged. */
#define MAP_BY_BLOCK \
    (MAP_PLACES_PAGES | MAP_MERGES | MAP_OWNS_BLOCKS | MAP_KEEPS_ORDER)

extern const ScarpMappingOps scarp_mapping_page, scarp_mapping_demand,
    scarp_mapping_block, scarp_mapping_superblock, scarp_mapping_fast;

#endif /* SCARP_MAP_INTERNAL_H */
