/*
 * The functions of map that other directories of ftl/ may call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_OPS_H
#define SCARP_MAP_OPS_H

#include "allocation/ops.h"
#include "blocks/ops.h"
#include "pack/ops.h"

/* Returns the bytes of the tables of map. */
uint64_t scarp_map_bytes(const ScarpGeometry *geo);
/*
 * Returns the bytes of host memory that the simulator needs for the cache of
 * mapping entries (ftl.mapping=demand). Returns 0 for other mappings.
 */
uint64_t scarp_map_cache_bytes(const ScarpDrive *drive);
bool scarp_map_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);
void scarp_map_clear(ScarpDrive *drive);

/*
 * True when the mapping has the ability `what`. Code outside map asks for an
 * ability and never compares drive->desc.mapping, so a new mapping needs no
 * change there.
 */
static inline bool scarp_map_can(const ScarpDrive *drive, ScarpMapCan what)
{
    return drive->map.can & what;
}
/*
 * True when the mapping has MAP_KEEPS_ORDER. This function and
 * scarp_map_add_class() may be called before scarp_map_init().
 */
bool scarp_map_keeps_order(const ScarpDrive *drive);
/*
 * Appends the mapping's settings to `text`. An image can be loaded into a drive
 * only if the drive's text equals the text stored in the image.
 */
void scarp_map_add_class(const ScarpDrive *drive, GString *text);
/*
 * Returns the number of blocks that should be written in turn, a page each, so
 * that they can be reclaimed together.
 */
uint64_t scarp_map_group_blocks(const ScarpDrive *drive);
/*
 * Returns the bytes of RAM that a real controller needs for the drive's
 * mapping.
 */
uint64_t scarp_map_ram_bytes(const ScarpDrive *drive);
/*
 * Returns how many of the bytes of scarp_map_ram_bytes() an idle drive has to
 * read from flash again after its RAM was lost.
 */
uint64_t scarp_map_table_bytes(const ScarpDrive *drive);

/*
 * Returns the PPN of lpn's newest copy on flash, or SCARP_NONE if lpn is
 * unmapped. Data that is still in the write buffer is not on flash;
 * scarp_pack_find() finds it.
 */
static inline uint32_t scarp_map_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn];
}

static inline bool scarp_map_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn] != SCARP_NONE;
}

/*
 * Prefetch lpn's mapping entry into the host CPU's cache, as the caller will
 * soon read or write it.
 */
static inline void scarp_map_expect(const ScarpDrive *drive, uint32_t lpn)
{
    __builtin_prefetch(&drive->map.ppn_of[lpn]);
}

static inline void scarp_map_expect_write(const ScarpDrive *drive, uint32_t lpn)
{
    __builtin_prefetch(&drive->map.ppn_of[lpn], 1);
}

/* ---- Entries that are not in RAM: MAP_FETCHES --------------------------- */

/*
 * Looks for lpn's mapping entry in the modelled RAM, on behalf of a host read.
 * Returns false if the entry has to be fetched from flash. The caller then has
 * to call scarp_map_wait_read().
 */
bool scarp_demand_get(ScarpDrive *drive, uint32_t lpn);

static inline bool scarp_map_known(ScarpDrive *drive, uint32_t lpn)
{
    return !drive->map.demand || scarp_demand_get(drive, lpn);
}
/* Makes a host read of one unit wait until its mapping entry is in RAM. */
void scarp_map_wait_read(ScarpDrive *drive, ScarpFlashCmd *read);
/*
 * Pins the mapping entry of a unit that the host wrote, so that the entry stays
 * in RAM until scarp_map_unpin(). Returns false if the entry is not in RAM. The
 * unit then waits until scarp_map_take_ready() returns it with the entry
 * pinned.
 */
bool scarp_map_pin(ScarpDrive *drive, ScarpUnit *unit);
void scarp_map_unpin(ScarpDrive *drive, uint32_t lpn);

/*
 * Starts the reads and writes of translation units that are due. After the
 * call, flow calls scarp_map_take_ready() to get the reads and written units
 * whose entries have come into RAM.
 */
void scarp_map_pump(ScarpDrive *drive);
static inline bool scarp_map_wants(const ScarpDrive *drive)
{
    return drive->map.wants;
}
/*
 * Takes the list of the reads and written units that have waited and now have
 * their entries, in the order in which they got these. Returns the first
 * element, or NULL if the list is empty. scarp_map_wait_next() returns the
 * element behind another one. The caller must free each element with
 * scarp_map_give_ready().
 */
ScarpMapWait *scarp_map_take_ready(ScarpDrive *drive);
ScarpMapWait *scarp_map_wait_next(const ScarpMapWait *wait);
/*
 * Return the read or the written unit that has waited, and the LPN whose entry
 * it waited for. A wait has either a read or a unit; the function for the other
 * kind returns NULL.
 */
ScarpFlashCmd *scarp_map_wait_cmd(const ScarpMapWait *wait);
ScarpUnit *scarp_map_wait_unit(const ScarpMapWait *wait);
uint32_t scarp_map_wait_lpn(const ScarpMapWait *wait);
void scarp_map_give_ready(ScarpDrive *drive, ScarpMapWait *wait);

/*
 * Called when a read or a program of translation units has ended. Both
 * functions free cmd.
 */
void scarp_map_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_map_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * True when garbage collection of the block may begin. Collection changes the
 * entry of each unit that it moves, and the changes need RAM until they are
 * written. If that RAM is full, the function returns false, and all dies look
 * for work again once some of it is free.
 *
 * `behind` tells that the collection of another plane has waited longer. The
 * block may then be collected only if its collection changes no entry.
 */
bool scarp_demand_may_collect(ScarpDrive *drive, uint32_t block, bool behind);
/*
 * For mappings with MAP_FETCHES: true when all entries that collections have
 * changed are on flash, and no running collection can change a further entry.
 */
bool scarp_map_changes_nothing(const ScarpDrive *drive);
/*
 * scarp_demand_collects() is called when the collection of a block in the plane
 * begins. It reserves RAM for `n` changed entries, the most that the collection
 * can change. scarp_demand_collected() is called when the collection has ended,
 * and releases the RAM that was reserved and not used.
 */
void scarp_demand_collects(ScarpDrive *drive, uint32_t plane, uint32_t n);
void scarp_demand_collected(ScarpDrive *drive, uint32_t plane);
static inline bool scarp_map_may_collect(ScarpDrive *drive, uint32_t block,
                                         bool behind)
{
    return !drive->map.demand || scarp_demand_may_collect(drive, block, behind);
}
static inline void scarp_map_collects(ScarpDrive *drive, uint32_t plane,
                                      uint32_t n)
{
    if (drive->map.demand) {
        scarp_demand_collects(drive, plane, n);
    }
}
static inline void scarp_map_collected(ScarpDrive *drive, uint32_t plane)
{
    if (drive->map.demand) {
        scarp_demand_collected(drive, plane);
    }
}

static inline bool scarp_is_translation_unit(const ScarpDrive *drive,
                                             uint32_t lpn)
{
    return lpn >= drive->geo.first_translation_unit &&
           drive->geo.translation_blocks;
}

/*
 * Queues all translation units whose newest contents are only in RAM, to be
 * written to flash.
 */
void scarp_map_drain(ScarpDrive *drive);
bool scarp_map_at_rest(const ScarpDrive *drive);
/*
 * Begin and end a span in which the entries of moved units do not count as
 * changed. While the drive is aged, for example, no translation unit is written
 * for such entries; scarp_map_aged() writes each translation unit once, and
 * calls make_room() before it takes a page of a plane for them.
 */
typedef void ScarpMakeRoom(ScarpDrive *drive, uint32_t plane);

void scarp_map_age_begins(ScarpDrive *drive);
void scarp_map_aged(ScarpDrive *drive, ScarpMakeRoom *make_room);
/*
 * scarp_map_visit() saves the mapping's own state to an image, or loads it from
 * an image. ppn_of is saved elsewhere. scarp_map_loaded() ends a load. The
 * drive must be idle.
 */
void scarp_map_visit(ScarpDrive *drive, ScarpVisit *visit);
void scarp_map_loaded(ScarpDrive *drive);
/*
 * Check an image of a drive whose power may fail. scarp_map_may_hold() is true
 * if the mapping can have put the unit that ppn's spare area names at ppn.
 * scarp_map_may_say() is true if the bytes at `says` can be the contents of the
 * unit `lpn`.
 */
bool scarp_map_may_hold(const ScarpDrive *drive, uint32_t ppn);
bool scarp_map_may_say(const ScarpDrive *drive, uint32_t lpn, const void *says);

/* Maps lpn to ppn, because a program of the host's data at ppn has ended. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * Maps lpn to ppn for a write that the host did not make: of parity, of a
 * translation unit, or of ageing.
 */
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* Unmaps lpn and drops its contents. */
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
/* Unmaps lpn for the host's deallocation. */
void scarp_map_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * Called when garbage collection has copied the unit lpn from PPN `from` to PPN
 * `to`. Returns true if lpn is mapped to `to` now. Returns false if the host
 * wrote or deallocated lpn during the copy, so that the copy is stale.
 */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to);
/*
 * Called when n valid units of one block, at the PPNs from[], have been copied
 * to consecutive PPNs of another block, beginning at `to`. The old block counts
 * these units as valid until scarp_block_emptied() is called.
 */
void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to);

/* ---- Places of pages, if the mapping chooses them: map/next_page.c ------ */

/*
 * Work like scarp_page_possible(), scarp_page_offset() and scarp_page_take(),
 * for a page with the data of lpn. May be called only if the mapping has
 * MAP_PLACES_PAGES.
 */
bool scarp_map_page_possible(const ScarpDrive *drive, uint32_t plane,
                             uint32_t lpn);
uint32_t scarp_map_page_offset(const ScarpDrive *drive, uint32_t plane,
                               uint32_t lpn);
uint32_t scarp_map_page_take(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/*
 * True when no page is left for the first program of the host in the plane's
 * queue, so that a merge must make room.
 */
bool scarp_map_is_stuck(const ScarpDrive *drive, uint32_t plane);

/*
 * True when the plane can take n pages before it has to merge blocks: the page
 * of lpn, and n - 1 pages of the LPNs lpn + n_planes, lpn + 2 * n_planes and so
 * on. ahead[] has the LPNs of pages that are on their way to the plane, and
 * will be written before these n pages.
 */
bool scarp_map_has_room(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                        uint32_t n, const uint32_t *ahead, uint32_t n_ahead);

/* ---- Merges: map/merge.c ----------------------------------------------- */

/*
 * The steps of a merge, in the order in which gc calls them for a plane:
 *
 * begin      chooses a merge that makes room for lpn, or, if lpn is SCARP_NONE,
 *            one that frees a block. Returns false if there is none.
 * next_copy  returns the next page to copy, SCARP_PAD for a page without data,
 *            or SCARP_NONE after the last
 * offset     returns the offset in its block of the page that the copy goes to
 * take       takes that page, when the copy's program starts
 * finish     maps the copied pages to their new places, when all copies are on
 *            flash
 * next_dead  returns the next block to erase, or SCARP_NONE: the merge is over
 */
bool scarp_merge_begin(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
uint32_t scarp_merge_next_copy(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_take(ScarpDrive *drive, uint32_t plane);
void scarp_merge_finish(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_next_dead(ScarpDrive *drive, uint32_t plane);
/*
 * Called when the block that scarp_merge_next_dead() returned has been erased.
 */
void scarp_merge_erased(ScarpDrive *drive, uint32_t plane);
/*
 * Returns how many pages the plane's merge still has to program. Pages without
 * data, which only fill gaps, count too.
 */
uint32_t scarp_merge_copies_left(const ScarpDrive *drive, uint32_t plane);
/*
 * Sets *copies to the number of pages that scarp_merge_begin() would copy, and
 * *erases to the number of blocks that it would erase. Returns false if
 * scarp_merge_begin() would find no merge. The call is slow, as it looks at
 * every page of a block.
 */
bool scarp_merge_plan(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                      uint32_t *copies, uint32_t *erases);

#define SCARP_PAD (SCARP_NONE - 1) /* a page programmed without data */

static inline const ScarpMerge *scarp_merge_of(const ScarpDrive *drive,
                                               uint32_t plane)
{
    return &drive->map.merge[plane];
}

static inline ScarpMergeKind scarp_merge_kind(const ScarpMerge *merge)
{
    return merge->kind;
}

static inline uint32_t scarp_merge_victim(const ScarpMerge *merge)
{
    return merge->victim;
}

/* True when all of the merge's copies are on flash and mapped. */
static inline bool scarp_merge_is_copied(const ScarpMerge *merge)
{
    return merge->switched;
}

/*
 * Returns how many blocks the merge still has to erase, without the block whose
 * erase has begun.
 */
static inline uint32_t scarp_merge_erases_left(const ScarpMerge *merge)
{
    return merge->n_dead;
}

/*
 * Returns the LPN of the first host program in the plane's queue. The queue
 * must not be empty.
 */
static inline uint32_t scarp_map_waiting_lpn(const ScarpDrive *drive,
                                             uint32_t plane)
{
    const ScarpFlashCmd *head = scarp_nand_head(drive, plane, QUEUE_PROGRAMS);

    return scarp_unit_lpn(scarp_flash_units(head));
}

/*
 * Maps lpn to ppn, because an image or the recovery from a power cut says so.
 * lpn must be unmapped before.
 */
void scarp_map_load(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/*
 * Fills ppn_of[mapped_units] from flash alone, like a controller that has lost
 * all of its RAM. docs/images.md explains how far the result agrees with the
 * lost mapping. Source: map/rebuild.c.
 */
void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *ppn_of);

/*
 * True when a lie.* setting makes the result of scarp_map_rebuild() wrong on
 * purpose (for example lie.unserialised). Checks then do not compare it.
 */
static inline bool scarp_map_rebuild_lies(const ScarpDrive *drive)
{
    return drive->desc.unserialised || drive->desc.deallocation_undone ||
           drive->desc.no_checkpoint;
}

/* ---- After a power cut: map/mend.c -------------------------------------- */

/*
 * Rebuilds the mapping from the pages on flash, and sets the state of each
 * block. A written block without a valid unit becomes BLOCK_APART, which is
 * erased later. Before the call no block has a state, and no LPN is mapped.
 */
void scarp_map_recover(ScarpDrive *drive);
/*
 * Fills `mend` with the next units to copy, or blocks to erase, so that the
 * plane gets enough free blocks to accept host writes again. Returns false if
 * the plane needs no more work. The caller must zero `mend` before the first
 * call, and must keep it from one call to the next.
 */
bool scarp_map_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
/*
 * Does what scarp_map_mend() does, for a group of planes that share reclaim
 * units of several planes. Called with the group's first plane when
 * scarp_map_mend() has no more work in any plane. Fills `mend` with the copies
 * of a reclaim unit, and the erases of its blocks.
 */
bool scarp_map_mend_group(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
/*
 * Called when all units of `mend` have been copied to the block *target. The
 * function sets *target to SCARP_NONE if that block must get no units of the
 * next call of scarp_map_mend().
 */
void scarp_map_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                           uint32_t *target);
/*
 * Called when recovery has copied units to `block`, and will copy no more
 * there.
 */
void scarp_map_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                           uint32_t block);
void scarp_mend_clear(ScarpMend *mend);
/* Ends recovery of the mapping. Called when no plane needs more work. */
void scarp_map_recovered(ScarpDrive *drive);
/*
 * True when recovery has to read all pages of the block. Of any other block it
 * reads only the first page, as a checkpoint has the rest.
 */
bool scarp_map_must_scan(const ScarpDrive *drive, uint32_t block);

#ifdef SCARP_CHECKED
/*
 * Count, for tests, that power failed during a merge of the plane, or during a
 * checkpoint.
 */
void scarp_map_mark_cut(const ScarpDrive *drive, uint32_t plane, bool erases);
void scarp_map_mark_cut_checkpoint(const ScarpDrive *drive);
/* True when dirty entries are about to leave the cache. Tests ask this. */
bool scarp_map_evicts(const ScarpDrive *drive);
#endif

/*
 * Checks that the forward map, spare areas and valid bits agree. On a drive
 * whose power may fail, scarp_map_rebuild() must also find the same mapping.
 * This second check is slow: without `closely` only some calls, drawn at
 * random, make it. Source: map/laws.c.
 */
bool scarp_map_check(const ScarpDrive *drive, bool closely, GError **error);

#endif /* SCARP_MAP_OPS_H */
