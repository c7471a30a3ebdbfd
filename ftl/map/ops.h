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

/* Returns the bytes of the tables of map. */
uint64_t scarp_map_bytes(const ScarpGeometry *geo);
/*
 * Returns the bytes of the host's memory for the cache of entries (demand), or
 * 0.
 */
uint64_t scarp_map_cache_bytes(const ScarpDrive *drive);
bool scarp_map_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);
void scarp_map_clear(ScarpDrive *drive);

/*
 * True when the mapping has the ability `what`. Other rooms ask this, and never
 * which mapping the drive has.
 */
static inline bool scarp_map_can(const ScarpDrive *drive, ScarpMapCan what)
{
    return drive->map.can & what;
}
/*
 * True when units, or translation units, lie in the planes that ftl.allocation
 * gives them. This function and the next one also work before the drive has
 * tables.
 */
bool scarp_map_keeps_order(const ScarpDrive *drive);
/* Adds lines to text that an image and a drive must have in common. */
void scarp_map_add_class(const ScarpDrive *drive, GString *text);
/* Returns the number of blocks whose pages are best written together. */
uint64_t scarp_map_group_blocks(const ScarpDrive *drive);
/* Returns the RAM that a controller needs for the drive's mapping. */
uint64_t scarp_map_ram_bytes(const ScarpDrive *drive);
/*
 * Returns how much of that RAM a drive at rest has to read again after it has
 * lost its RAM.
 */
uint64_t scarp_map_table_bytes(const ScarpDrive *drive);

/*
 * Returns the PPN of lpn's newest copy on flash, or SCARP_NONE if lpn is
 * unmapped. pack finds units that are still buffered.
 */
static inline uint32_t scarp_map_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn];
}

static inline bool scarp_map_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn] != SCARP_NONE;
}

/* Prefetch lpn's entry, which will soon be looked up, or written. */
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
 * Asks for lpn's entry, for a read. False: the entry is on flash, and the
 * caller has to call scarp_map_wait_read().
 */
bool scarp_demand_get(ScarpDrive *drive, uint32_t lpn);

static inline bool scarp_map_known(ScarpDrive *drive, uint32_t lpn)
{
    return !drive->map.demand || scarp_demand_get(drive, lpn);
}
/* Lets a read of one unit of the host wait for its entry. */
void scarp_map_wait_read(ScarpDrive *drive, ScarpFlashCmd *read);
/*
 * Asks for the entry of a unit that the host wrote. True: the entry stays in
 * RAM until scarp_map_unpin(). False: the unit waits, until
 * scarp_map_take_ready() returns it.
 */
bool scarp_map_pin(ScarpDrive *drive, ScarpUnit *unit);
void scarp_map_unpin(ScarpDrive *drive, uint32_t lpn);

/*
 * Goes on with the reads and writes of translation units. flow then takes the
 * reads and units whose entries are known now, by scarp_map_take_ready().
 */
void scarp_map_pump(ScarpDrive *drive);
static inline bool scarp_map_wants(const ScarpDrive *drive)
{
    return drive->map.wants;
}
/*
 * Returns the reads and units whose entries are known now, in the order in
 * which they got them, or NULL. scarp_map_wait_next() leads to the others. The
 * caller gives each of them back by scarp_map_give_ready().
 */
ScarpMapWait *scarp_map_take_ready(ScarpDrive *drive);
ScarpMapWait *scarp_map_wait_next(const ScarpMapWait *wait);
/*
 * Return the members of a wait: its read, or its unit, the other being NULL,
 * and the LPN whose entry it waited for.
 */
ScarpFlashCmd *scarp_map_wait_cmd(const ScarpMapWait *wait);
ScarpUnit *scarp_map_wait_unit(const ScarpMapWait *wait);
uint32_t scarp_map_wait_lpn(const ScarpMapWait *wait);
void scarp_map_give_ready(ScarpDrive *drive, ScarpMapWait *wait);

/* Called when a flash command of map has ended. They free it. */
void scarp_map_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_map_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * True when a collection of the block may begin, because there is room for the
 * entries that it changes. Otherwise all dies look for work again when there is
 * room. behind: another plane's collection comes first, so this one may begin
 * only if it changes no entry.
 */
bool scarp_demand_may_collect(ScarpDrive *drive, uint32_t block, bool behind);
/*
 * For mappings that fetch: true when no change of a collection waits to be
 * written, and no collection can make one.
 */
bool scarp_map_changes_nothing(const ScarpDrive *drive);
/*
 * Called when a collection begins, which will change at most n entries, and
 * when it has ended.
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

/* Queues for writing all translation units that differ from flash. */
void scarp_map_drain(ScarpDrive *drive);
bool scarp_map_at_rest(const ScarpDrive *drive);
/*
 * Begin and end a span, such as ageing, in which changes of entries are not
 * counted.
 */
void scarp_map_age_begins(ScarpDrive *drive);
void scarp_map_aged(ScarpDrive *drive);
/*
 * Visit the mapping's state, beside ppn_of, for an image of a drive at rest,
 * and end the load of one.
 */
void scarp_map_visit(ScarpDrive *drive, ScarpVisit *visit);
void scarp_map_loaded(ScarpDrive *drive);
/*
 * Check an image, where power may fail. scarp_map_may_hold() is true if the
 * mapping may have put the unit that ppn's spare area names at ppn,
 * scarp_map_may_say() if unit lpn may have these contents.
 */
bool scarp_map_may_hold(const ScarpDrive *drive, uint32_t ppn);
bool scarp_map_may_say(const ScarpDrive *drive, uint32_t lpn, const void *says);

/* Maps lpn to ppn, where a program has put the host's data. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/*
 * Maps lpn to ppn for data that the host did not write: parity, a translation
 * unit, ageing.
 */
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* Unmaps lpn and drops its contents. */
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
/* Unmaps lpn for the host's deallocation. */
void scarp_map_deallocate(ScarpDrive *drive, uint32_t lpn);
/*
 * Called when a copy of the unit at `from` is on flash at `to`. True: the copy
 * is the valid one now, and mapping and contents have switched together. False:
 * the copy is stale, as the host wrote or deallocated lpn meanwhile.
 */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to);
/*
 * Called when the n valid units from[], of one block, have moved to `to` and
 * the units behind it, in another block. Their old block counts them as valid
 * until scarp_block_emptied().
 */
void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to);

/* ---- Places of pages, if the mapping chooses them: map/next_page.c ------ */

/*
 * Do the same for a page with lpn as scarp_page_possible(), _offset() and
 * _take() do for any page.
 */
bool scarp_map_page_possible(const ScarpDrive *drive, uint32_t plane,
                             uint32_t lpn);
uint32_t scarp_map_page_offset(const ScarpDrive *drive, uint32_t plane,
                               uint32_t lpn);
uint32_t scarp_map_page_take(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* True when a program of the host waits for a merge of the plane. */
bool scarp_map_is_stuck(const ScarpDrive *drive, uint32_t plane);

/*
 * True when n pages, lpn and each n_planes further, fit into the plane before
 * anything is merged, if the pages ahead[] are written first.
 */
bool scarp_map_has_room(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                        uint32_t n, const uint32_t *ahead, uint32_t n_ahead);

/* ---- Merges: map/merge.c ----------------------------------------------- */

/*
 * The steps of a merge:
 *
 * begin      chooses one that makes room for lpn, or (SCARP_NONE) frees a
 *            block; false: there is none
 * next_copy  returns the next page to copy, SCARP_PAD for a page without data,
 *            or SCARP_NONE after the last
 * offset     returns the offset of the page that the copy goes to
 * take       takes that page, as the copy's program starts
 * finish     changes the mapping, when all copies are on flash
 * next_dead  returns the next block to erase; SCARP_NONE: the merge is over
 */
bool scarp_merge_begin(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
uint32_t scarp_merge_next_copy(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_take(ScarpDrive *drive, uint32_t plane);
void scarp_merge_finish(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_next_dead(ScarpDrive *drive, uint32_t plane);
/* Called when the block that next_dead returned is erased. */
void scarp_merge_erased(ScarpDrive *drive, uint32_t plane);
/*
 * Returns how many pages are still to be copied, those without data included.
 */
uint32_t scarp_merge_copies_left(const ScarpDrive *drive, uint32_t plane);
/*
 * Sets *copies and *erases to those of the merge that begin would choose.
 * Returns false if there is none. The function looks at each page of a block.
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

/* True when all copies are on flash, and the mapping has changed. */
static inline bool scarp_merge_is_copied(const ScarpMerge *merge)
{
    return merge->switched;
}

/*
 * Returns how many blocks are still to be erased, without the one whose erase
 * has begun.
 */
static inline uint32_t scarp_merge_erases_left(const ScarpMerge *merge)
{
    return merge->n_dead;
}

/*
 * Returns the lpn of the plane's first program of the host; there must be one.
 */
static inline uint32_t scarp_map_waiting_lpn(const ScarpDrive *drive,
                                             uint32_t plane)
{
    const ScarpFlashCmd *head = scarp_nand_head(drive, plane, QUEUE_PROGRAMS);

    return scarp_unit_lpn(scarp_flash_units(head));
}

/* Maps lpn, which is unmapped, to ppn, as an image or recovery says. */
void scarp_map_load(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/*
 * map/rebuild.c: fills ppn_of[mapped_units] from flash alone, as after a loss
 * of all RAM. docs/images.md explains the result.
 */
void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *ppn_of);

/*
 * True when the drive tells a lie by which the rebuilt mapping may differ from
 * the real one.
 */
static inline bool scarp_map_rebuild_lies(const ScarpDrive *drive)
{
    return drive->desc.unserialised || drive->desc.deallocation_undone ||
           drive->desc.no_checkpoint;
}

/* ---- After a power cut: map/mend.c -------------------------------------- */

/*
 * Sets blocks and units by their cells. Blocks of no use become apart. Before
 * the call no block has a state, and nothing is mapped.
 */
void scarp_map_recover(ScarpDrive *drive);
/*
 * Fills mend with the next work for the plane. Returns false if there is none:
 * the plane is sound. The caller zeroes mend before the first call, and keeps
 * it from one call to the next.
 */
bool scarp_map_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
/*
 * Called when all units of mend are copied. *target is the block that was
 * copied to, and may get more units. If it may not, the function sets it to
 * SCARP_NONE.
 */
void scarp_map_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                           uint32_t *target);
/* Called when a block that units were copied to is full, or gets no more. */
void scarp_map_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                           uint32_t block);
void scarp_mend_clear(ScarpMend *mend);
/* Ends recovery, as every plane is sound. */
void scarp_map_recovered(ScarpDrive *drive);
/*
 * True when recovery reads all pages of the block; otherwise it reads only the
 * first one.
 */
bool scarp_map_must_scan(const ScarpDrive *drive, uint32_t block);

#ifdef SCARP_CHECKED
/* Mark that a power cut meets a merge of the plane, or a checkpoint. */
void scarp_map_mark_cut(const ScarpDrive *drive, uint32_t plane, bool erases);
void scarp_map_mark_cut_checkpoint(const ScarpDrive *drive);
/* For a mark: true when changed entries are leaving the cache. */
bool scarp_map_evicts(const ScarpDrive *drive);
#endif

/*
 * map/laws.c: checks that forward map, spare areas and valid marks agree.
 * closely: checks the cells, too, where power may fail; otherwise only after
 * some of the calls.
 */
bool scarp_map_check(const ScarpDrive *drive, bool closely, GError **error);

#endif /* SCARP_MAP_OPS_H */
