/*
 * What other rooms may ask of map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_MAP_OPS_H
#define SCARP_MAP_OPS_H

#include "allocation/ops.h"
#include "blocks/ops.h"
#include "pack/ops.h"

/* Bytes of its tables. */
uint64_t scarp_map_bytes(const ScarpGeometry *geo);
/* Of this host, for the entries that the drive has in RAM (demand); or 0. */
uint64_t scarp_map_cache_bytes(const ScarpDrive *drive);
bool scarp_map_init(ScarpDrive *drive, const ScarpConfig *config,
                    GError **error);
void scarp_map_clear(ScarpDrive *drive);

/* What it can; no other room asks which mapping it is. */
static inline bool scarp_map_can(const ScarpDrive *drive, ScarpMapCan what)
{
    return drive->map.can & what;
}
/*
 * Something of it lies where ftl.allocation says.  This and the next may be
 * asked before there are tables.
 */
bool scarp_map_keeps_order(const ScarpDrive *drive);
/* Lines for what an image and a drive must have in common. */
void scarp_map_add_class(const ScarpDrive *drive, GString *text);
/* Blocks whose pages are best written together. */
uint64_t scarp_map_group_blocks(const ScarpDrive *drive);
/* RAM that a controller with the drive's mapping needs for it. */
uint64_t scarp_map_ram_bytes(const ScarpDrive *drive);
/* Of a drive at rest: what is to be read again when it has lost its RAM. */
uint64_t scarp_map_table_bytes(const ScarpDrive *drive);

/* Where lpn lies, SCARP_NONE: it is unmapped.  What is buffered is pack's. */
static inline uint32_t scarp_map_lookup(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn];
}

static inline bool scarp_map_is_mapped(const ScarpDrive *drive, uint32_t lpn)
{
    return drive->map.ppn_of[lpn] != SCARP_NONE;
}

/* Hints: lpn will be looked up, or written, soon. */
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
 * A read wants lpn's entry.  False: it is on flash, and the caller waits by
 * scarp_map_wait_read().
 */
bool scarp_demand_get(ScarpDrive *drive, uint32_t lpn);

static inline bool scarp_map_known(ScarpDrive *drive, uint32_t lpn)
{
    return !drive->map.demand || scarp_demand_get(drive, lpn);
}
/* A read of the host, of one unit. */
void scarp_map_wait_read(ScarpDrive *drive, ScarpFlashCmd *read);
/*
 * A unit that the host wrote wants its entry, and keeps it in RAM until
 * scarp_map_release().  False: it waits.
 */
bool scarp_map_hold(ScarpDrive *drive, ScarpUnit *unit);
void scarp_map_release(ScarpDrive *drive, uint32_t lpn);

/* What can go on is made ready: flow takes it by scarp_map_take_ready(). */
void scarp_map_pump(ScarpDrive *drive);
static inline bool scarp_map_wants(const ScarpDrive *drive)
{
    return drive->map.wants;
}
/* In the order of their turns; the list is the caller's to give back. */
ScarpMapWait *scarp_map_take_ready(ScarpDrive *drive);
ScarpMapWait *scarp_map_wait_next(const ScarpMapWait *wait);
/* Of a wait, one of the two: a read, or a unit; which has lpn. */
ScarpFlashCmd *scarp_map_wait_cmd(const ScarpMapWait *wait);
ScarpUnit *scarp_map_wait_unit(const ScarpMapWait *wait);
uint32_t scarp_map_wait_lpn(const ScarpMapWait *wait);
void scarp_map_give_ready(ScarpDrive *drive, ScarpMapWait *wait);

/* Its flash commands have ended; they are freed. */
void scarp_map_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_map_program_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);

/*
 * Whether a collection of the block may begin: there is room for the entries
 * that it changes.  If not, dies look for work when there is.  behind: it waits
 * for that of another plane, unless it needs no room.
 */
bool scarp_demand_may_collect(ScarpDrive *drive, uint32_t block, bool behind);
/* Of a mapping that fetches: no collection runs, and no change waits. */
bool scarp_map_changes_nothing(const ScarpDrive *drive);
/* It begins, and changes n entries at most; it has changed all that it will. */
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

/* Every entry that differs from what is on flash gets on its way there. */
void scarp_map_drain(ScarpDrive *drive);
bool scarp_map_at_rest(const ScarpDrive *drive);
/* Between the two: entries change, and nobody keeps account of it. */
void scarp_map_age_begins(ScarpDrive *drive);
void scarp_map_aged(ScarpDrive *drive);
/* A drive at rest: what the mapping holds besides; all of it was loaded. */
void scarp_map_visit(ScarpDrive *drive, ScarpVisit *visit);
void scarp_map_loaded(ScarpDrive *drive);
/*
 * Of an image, where power may fail: the mapping may have put there what ppn's
 * spare area says, and these may be the contents of lpn.
 */
bool scarp_map_may_hold(const ScarpDrive *drive, uint32_t ppn);
bool scarp_map_may_say(const ScarpDrive *drive, uint32_t lpn, const void *says);

/* What the host wrote is on flash at ppn. */
void scarp_map_commit(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* The same of what is not the host's own: a parity, ageing. */
void scarp_map_move(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);
/* It was deallocated: its contents are gone, too. */
void scarp_map_unmap(ScarpDrive *drive, uint32_t lpn);
/* The same, of what the host deallocated. */
void scarp_map_trim(ScarpDrive *drive, uint32_t lpn);
/*
 * A copy of the unit at from is on flash at to.  True: it is the valid one
 * now; mapping and data switch together.  False: the host wrote meanwhile.
 */
bool scarp_map_relocate(ScarpDrive *drive, uint32_t lpn, uint32_t from,
                        uint32_t to);
/*
 * The n valid units from[], of one block, have moved to those from to on, of
 * another.  The first block counts them until scarp_block_emptied().
 */
void scarp_map_relocate_run(ScarpDrive *drive, const uint32_t *from,
                            uint32_t n, uint32_t to);

/* ---- Where pages go, if it is not any page: map/next_page.c ------------- */

/* As scarp_page_possible(), _offset() and _take(), of a page with lpn. */
bool scarp_map_page_possible(const ScarpDrive *drive, uint32_t plane,
                             uint32_t lpn);
uint32_t scarp_map_page_offset(const ScarpDrive *drive, uint32_t plane,
                               uint32_t lpn);
uint32_t scarp_map_page_take(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
/* A program of the host waits until something of the plane is merged. */
bool scarp_map_is_stuck(const ScarpDrive *drive, uint32_t plane);

/*
 * Whether n pages from lpn on, each n_planes further, have room in the plane
 * before anything is merged, if those of ahead[] get theirs first.
 */
bool scarp_map_has_room(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                        uint32_t n, const uint32_t *ahead, uint32_t n_ahead);

/* ---- Merges: map/merge.c ----------------------------------------------- */

/*
 * A merge is chosen, for lpn, or SCARP_NONE for a free block more; false:
 * there is none.  Then, until it is SCARP_NONE: each next page to copy, or
 * SCARP_PAD, and the page that it goes to, as its program starts.  When all
 * copies are there the mapping changes (finish); then comes each block to
 * erase.  After the last the plane merges nothing.
 */
bool scarp_merge_begin(ScarpDrive *drive, uint32_t plane, uint32_t lpn);
uint32_t scarp_merge_next_copy(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_offset(const ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_take(ScarpDrive *drive, uint32_t plane);
void scarp_merge_finish(ScarpDrive *drive, uint32_t plane);
uint32_t scarp_merge_next_dead(ScarpDrive *drive, uint32_t plane);
/* That block is erased. */
void scarp_merge_erased(ScarpDrive *drive, uint32_t plane);
/* Pages that are still to be copied, those without data too. */
uint32_t scarp_merge_copies_left(const ScarpDrive *drive, uint32_t plane);
/* What would be chosen; false: nothing.  Linear in a block's pages. */
bool scarp_merge_plan(const ScarpDrive *drive, uint32_t plane, uint32_t lpn,
                      uint32_t *copies, uint32_t *erases);

#define SCARP_PAD (SCARP_NONE - 1) /* a page is programmed without data */

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

/* All copies are there, and the mapping has changed. */
static inline bool scarp_merge_is_copied(const ScarpMerge *merge)
{
    return merge->switched;
}

/* Blocks that are still to be erased, but for the one that is. */
static inline uint32_t scarp_merge_erases_left(const ScarpMerge *merge)
{
    return merge->n_dead;
}

/* The lpn of the oldest program that waits at the plane, which has one. */
static inline uint32_t scarp_map_waiting_lpn(const ScarpDrive *drive,
                                             uint32_t plane)
{
    const ScarpFlashCmd *head = scarp_nand_head(drive, plane, QUEUE_PROGRAMS);

    return scarp_unit_lpn(scarp_flash_units(head));
}

/* From an image: lpn, which is unmapped, lies at ppn. */
void scarp_map_load(ScarpDrive *drive, uint32_t lpn, uint32_t ppn);

/*
 * map/rebuild.c: the mapping by what the flash holds, as after a loss of all
 * else; docs/images.md says what it finds.  ppn_of[mapped_units] is filled.
 */
void scarp_map_rebuild(const ScarpDrive *drive, uint32_t *ppn_of);

/* By a lie of the description, that may find another place than the mapping's. */
static inline bool scarp_map_rebuild_lies(const ScarpDrive *drive)
{
    return drive->desc.unserialised || drive->desc.deallocation_undone ||
           drive->desc.no_checkpoint;
}

/* ---- After a power cut: map/mend.c -------------------------------------- */

/*
 * Blocks and units get the place that the cells say, and those of no use are
 * apart.  The states of blocks are not known yet, nor is anything mapped.
 */
void scarp_map_recover(ScarpDrive *drive);
/*
 * What is to be mended next in the plane; false: nothing, it is sound.  mend is
 * zeroed at first, and kept from one call to the next.
 */
bool scarp_map_mend(ScarpDrive *drive, uint32_t plane, ScarpMend *mend);
/* All of its units are copied.  *target: it may be used on, or SCARP_NONE. */
void scarp_map_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                           uint32_t *target);
/* A block that units were copied to is full, or all there will be of it. */
void scarp_map_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                           uint32_t block);
void scarp_mend_clear(ScarpMend *mend);
/* Every plane is sound. */
void scarp_map_recovered(ScarpDrive *drive);
/* Whether all pages of the block have to be read, or the first one alone. */
bool scarp_map_must_scan(const ScarpDrive *drive, uint32_t block);

#ifdef SCARP_CHECKED
/* For marks: a power cut meets a merge of the plane, or a checkpoint. */
void scarp_map_mark_cut(const ScarpDrive *drive, uint32_t plane, bool erases);
void scarp_map_mark_cut_checkpoint(const ScarpDrive *drive);
/* For a mark: changed entries are on their way out of the cache. */
bool scarp_map_evicts(const ScarpDrive *drive);
#endif

/*
 * map/laws.c: forward map, spare areas and marks agree.  closely: so do the
 * cells, where power may fail; else they are looked at now and then.
 */
bool scarp_map_check(const ScarpDrive *drive, bool closely, GError **error);

#endif /* SCARP_MAP_OPS_H */
