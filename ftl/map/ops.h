/*
 * Functions of map for other rooms.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_OPS_H
#define SCARP_MAP_OPS_H

#include "allocation/ops.h"
#include "blocks/ops.h"
#include "pack/ops.h"

/* Bytes of the tables of map. */
uint64_t scarp_map_bytes(const ScarpGeometry *geo);
/*
 * Bytes of the host's memory for the entries that the drive caches (demand);
 * else 0.
 */
uint64_t scarp_map_cache_bytes(const ScarpDrive *drive);
bool scarp_map_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);
void scarp_map_clear(ScarpDrive *drive);

/*
 * Tells an ability of the mapping; no other room asks which mapping the drive
 * has.
 */
static inline bool scarp_map_can(const ScarpDrive *drive, ScarpMapCan what)
{
    return drive->map.can & what;
}
/*
 * True when units or translation units lie in the planes that ftl.allocation
 * says. This function and the next work before the drive has tables.
 */
bool scarp_map_keeps_order(const ScarpDrive *drive);
/* Adds lines about what an image and a drive must have in common. */
void scarp_map_add_class(const ScarpDrive *drive, GString *text);
/* Number of blocks whose pages are best written together. */
uint64_t scarp_map_group_blocks(const ScarpDrive *drive);
/* RAM that a controller needs for the drive's mapping. */
uint64_t scarp_map_ram_bytes(const ScarpDrive *drive);
/*
 * Part of that RAM which a drive at rest must read again after it has lost its
 * RAM.
 */
uint64_t scarp_map_table_bytes(const ScarpDrive *drive);

/*
 * Returns where lpn lies; SCARP_NONE: it is unmapped. Buffered units are
 * pack's.
 */
static inline uint32_t scarp_map_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn];
}

static inline bool scarp_map_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn] != SCARP_NONE;
}

/* Hints that lpn will soon be looked up, or written. */
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
 * Asks for lpn's entry for a read. False: the entry is on flash, and the caller
 * waits by scarp_map_wait_read().
 */
bool scarp_demand_get(ScarpDrive *drive, uint32_t lpn);

static inline bool scarp_map_known(ScarpDrive *drive, uint32_t lpn)
{
    return !drive->map.demand || scarp_demand_get(drive, lpn);
}
/* Makes a host read of one unit wait for its entry. */
void scarp_map_wait_read(ScarpDrive *drive, ScarpFlashCmd *read);
/*
 * Asks for the entry of a unit that the host wrote, and keeps it in RAM until
 * scarp_map_unpin(). False: the unit waits.
 */
bool scarp_map_pin(ScarpDrive *drive, ScarpUnit *unit);
void scarp_map_unpin(ScarpDrive *drive, uint32_t lpn);

/*
 * Works on fetches and writes of translation units; flow takes what can go on
 * by scarp_map_take_ready().
 */
void scarp_map_pump(ScarpDrive *drive);
static inline bool scarp_map_wants(const ScarpDrive *drive)
{
    return drive->map.wants;
}
/*
 * Returns the waits that can go on, in the order of their turns; the caller
 * gives each back.
 */
ScarpMapWait *scarp_map_take_ready(ScarpDrive *drive);
ScarpMapWait *scarp_map_wait_next(const ScarpMapWait *wait);
/* Members of a wait: either a read or a unit, and its lpn. */
ScarpFlashCmd *scarp_map_wait_cmd(const ScarpMapWait *wait);
ScarpUnit *scarp_map_wait_unit(const ScarpMapWait *wait);
uint32_t scarp_map_wait_lpn(const ScarpMapWait *wait);
void scarp_map_give_ready(ScarpDrive *drive, ScarpMapWait *wait);

/* Ends of map's flash commands, which they free. */
void scarp_map_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_map_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * True when a collection of the block may begin: there is room for the entries
 * that it changes. Otherwise dies look for work again when there is. behind:
 * another plane's collection comes first, so this one may begin only if it
 * needs no room.
 */
bool scarp_demand_may_collect(ScarpDrive *drive, uint32_t block, bool behind);
/* True when no collection runs and no change waits (mappings that fetch). */
bool scarp_map_changes_nothing(const ScarpDrive *drive);
/* A collection begins, and will change at most n entries; or it has ended. */
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

/* Queues every entry that differs from flash for writing. */
void scarp_map_drain(ScarpDrive *drive);
bool scarp_map_at_rest(const ScarpDrive *drive);
/* Begins and ends a span in which changes of entries are not counted. */
void scarp_map_age_begins(ScarpDrive *drive);
void scarp_map_aged(ScarpDrive *drive);
/*
 * Visits a drive at rest: the mapping's state besides ppn_of; or ends a load.
 */
void scarp_map_visit(ScarpDrive *drive, ScarpVisit *visit);
void scarp_map_loaded(ScarpDrive *drive);
/*
 * Checks of an image, where power may fail: the mapping may have put the unit
 * of ppn's spare area there; lpn may have these contents.
 */
bool scarp_map_may_hold(const ScarpDrive *drive, uint32_t ppn);
bool scarp_map_may_say(const ScarpDrive *drive, uint32_t lpn, const void *says);

/* Maps lpn to ppn, where the host's data is on flash. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* Maps lpn to ppn for data that the host did not write: a parity, ageing. */
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* Unmaps lpn and drops its contents. */
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
/* Unmaps lpn for the host's deallocation. */
void scarp_map_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * A copy of the unit at from is on flash at to. True: the copy is now the valid
 * one; mapping and data switch together. False: the host wrote lpn meanwhile.
 */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to);
/*
 * The n valid units from[], of one block, have moved to to and the units behind
 * it, in another block. The first block still counts them as valid until
 * scarp_block_emptied().
 */
void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to);

/* ---- Places of pages, if the mapping chooses them: map/next_page.c ------ */

/* Like scarp_page_possible(), _offset() and _take(), for a page with lpn. */
bool scarp_map_page_possible(const ScarpDrive *drive, uint32_t plane,
                             uint32_t lpn);
uint32_t scarp_map_page_offset(const ScarpDrive *drive, uint32_t plane,
                               uint32_t lpn);
uint32_t scarp_map_page_take(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* True when a program of the host waits for a merge of the plane. */
bool scarp_map_is_stuck(const ScarpDrive *drive, uint32_t plane);

/*
 * True when n pages from lpn on, each n_planes further, fit into the plane
 * before anything is merged, if those of ahead[] are written first.
 */
bool scarp_map_has_room(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                        uint32_t n, const uint32_t *ahead, uint32_t n_ahead);

/* ---- Merges: map/merge.c ----------------------------------------------- */

/*
 * A merge's life. begin chooses one for lpn, or SCARP_NONE for another free
 * block; false: there is none. next_copy returns each page to copy, or
 * SCARP_PAD, and SCARP_NONE after the last; offset and take name the page that
 * the copy goes to, as its program starts. finish changes the mapping when all
 * copies are on flash; next_dead then returns each block to erase, and
 * SCARP_NONE when the merge is over.
 */
bool scarp_merge_begin(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
uint32_t scarp_merge_next_copy(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_take(ScarpDrive *drive, uint32_t plane);
void scarp_merge_finish(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_next_dead(ScarpDrive *drive, uint32_t plane);
/* The block that next_dead returned is erased. */
void scarp_merge_erased(ScarpDrive *drive, uint32_t plane);
/* Pages still to be copied, those without data included. */
uint32_t scarp_merge_copies_left(const ScarpDrive *drive, uint32_t plane);
/* Tells what begin would choose; false: nothing. Linear in a block's pages. */
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

/* True when all copies are on flash, and the mapping has changed. */
static inline bool scarp_merge_is_copied(const ScarpMerge *merge)
{
    return merge->switched;
}

/* Number of blocks still to be erased, without the one being erased. */
static inline uint32_t scarp_merge_erases_left(const ScarpMerge *merge)
{
    return merge->n_dead;
}

/*
 * Returns the lpn of the oldest program that waits at the plane, which has one.
 */
static inline uint32_t scarp_map_waiting_lpn(const ScarpDrive *drive,
                                             uint32_t plane)
{
    const ScarpFlashCmd *head = scarp_nand_head(drive, plane, QUEUE_PROGRAMS);

    return scarp_unit_lpn(scarp_flash_units(head));
}

/* Maps lpn, which is unmapped, to ppn, from an image. */
void scarp_map_load(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/*
 * map/rebuild.c: fills ppn_of[mapped_units] from flash alone, as after a loss
 * of all RAM; docs/images.md explains the result.
 */
void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *ppn_of);

/*
 * True when a lie of the description may make the rebuilt mapping differ from
 * the real one.
 */
static inline bool scarp_map_rebuild_lies(const ScarpDrive *drive)
{
    return drive->desc.unserialised || drive->desc.deallocation_undone ||
           drive->desc.no_checkpoint;
}

/* ---- After a power cut: map/mend.c -------------------------------------- */

/*
 * Sets blocks and units by their cells; blocks of no use are apart. Before the
 * call no state of a block is known and nothing is mapped.
 */
void scarp_map_recover(ScarpDrive *drive);
/*
 * Fills mend with the plane's next work; false: there is none, the plane is
 * sound. The caller zeroes mend at first, and keeps it from one call to the
 * next.
 */
bool scarp_map_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
/*
 * All of mend's units are copied. *target: the block may get more; SCARP_NONE:
 * it may not.
 */
void scarp_map_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                           uint32_t *target);
/* A block that units were copied to is full, or gets no more. */
void scarp_map_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                           uint32_t block);
void scarp_mend_clear(ScarpMend *mend);
/* Ends recovery: every plane is sound. */
void scarp_map_recovered(ScarpDrive *drive);
/*
 * True when recovery reads all pages of the block, false: the first one alone.
 */
bool scarp_map_must_scan(const ScarpDrive *drive, uint32_t block);

#ifdef SCARP_CHECKED
/* Marks that a power cut meets a merge of the plane, or a checkpoint. */
void scarp_map_mark_cut(const ScarpDrive *drive, uint32_t plane, bool erases);
void scarp_map_mark_cut_checkpoint(const ScarpDrive *drive);
/* True when changed entries are leaving the cache; for a mark. */
bool scarp_map_evicts(const ScarpDrive *drive);
#endif

/*
 * map/laws.c: forward map, spare areas and marks agree. closely: the cells,
 * too, where power may fail; else these are checked from time to time.
 */
bool scarp_map_check(const ScarpDrive *drive, bool closely, GError **error);

#endif /* SCARP_MAP_OPS_H */
