/*
 * All that unit tests know of a drive's inside: small questions, and the few
 * states that they set by hand.  No other test includes a header of the engine
 * but scarp.h: what moves in the engine is followed here.  Two
 * parts that need no drive, the divisor and the queue of events, are tested by
 * their own names (test-parts.c).
 *
 * Blocks, planes, dies and PPNs are numbered drive-wide.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef INSIDE_H
#define INSIDE_H

#include "blocks/internal.h"
#include "allocation/least.h"
#include "core/divisor.h"
#include "core/event.h"
#include "flow/internal.h"
#include "gc/internal.h"
#include "map/demand.h"
#include "map/log_blocks.h"
#include "map/superblock.h"

#define INSIDE_NONE UINT32_MAX /* no block, no PPN, any LPN */

/* ---- Sizes --------------------------------------------------------------- */

/* Memory that the tables of the cells take. */
static inline uint64_t inside_cells_bytes(const ScarpDrive *drive)
{
    return scarp_media_bytes(&drive->geo, &drive->desc);
}

static inline uint32_t inside_dies(const ScarpDrive *drive)
{
    return drive->geo.n_dies;
}

static inline uint32_t inside_planes(const ScarpDrive *drive)
{
    return drive->geo.n_planes;
}

/* Groups of planes that share reclaim units. */
static inline uint32_t inside_groups(const ScarpDrive *drive)
{
    return drive->geo.reclaim_groups;
}

static inline uint32_t inside_blocks(const ScarpDrive *drive)
{
    return drive->geo.n_blocks;
}

static inline uint32_t inside_blocks_per_plane(const ScarpDrive *drive)
{
    return drive->desc.blocks_per_plane;
}

static inline uint32_t inside_pages_per_block(const ScarpDrive *drive)
{
    return drive->desc.pages_per_block;
}

static inline uint32_t inside_units_per_page(const ScarpDrive *drive)
{
    return drive->geo.units_per_page;
}

static inline uint32_t inside_units_per_block(const ScarpDrive *drive)
{
    return drive->geo.units_per_block;
}

static inline uint32_t inside_units_per_plane(const ScarpDrive *drive)
{
    return drive->geo.units_per_plane;
}

static inline uint32_t inside_logical_units(const ScarpDrive *drive)
{
    return drive->geo.logical_units;
}

/* The host's, then a parity of each stripe. */
static inline uint32_t inside_mapped_units(const ScarpDrive *drive)
{
    return drive->geo.mapped_units;
}

/* Of each plane, for translation units alone (ftl.mapping=demand). */
static inline uint32_t inside_translation_blocks(const ScarpDrive *drive)
{
    return drive->geo.translation_blocks;
}

typedef struct {
    uint32_t units;       /* of translation, that live in a plane */
    uint32_t blocks;      /* of a plane, for those alone */
    uint32_t block_units, page_units;
} InsideTranslation;

/* Of a drive with these keys and next to no over-provisioning: the most. */
static inline InsideTranslation inside_translation(const char *path,
                                                   const char *overrides)
{
    g_autoptr(GError) error = NULL;
    ScarpDescription desc;
    ScarpGeometry geo;

    scarp_description_load(&desc, path, overrides, &error);
    g_assert_no_error(error);
    desc.over_provisioning_permille = 1;
    geo = scarp_geometry(&desc);
    return (InsideTranslation) {
        (geo.mapped_units - geo.first_translation_unit + geo.n_planes - 1) /
            geo.n_planes,
        geo.translation_blocks, geo.units_per_block, geo.units_per_page,
    };
}

/* It is full of translation units; when it was filled. */
static inline bool inside_is_translation_block(const ScarpDrive *drive,
                                               uint32_t block)
{
    return scarp_block_state(drive, block) == BLOCK_TRANSLATION;
}

static inline uint32_t inside_programmed(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_media_programmed(drive, block);
}

static inline uint64_t inside_block_seq(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_seq(drive, block);
}

/* Which of them would be collected; INSIDE_NONE: there is none. */
static inline uint32_t inside_translation_victim(const ScarpDrive *drive,
                                                 uint32_t plane)
{
    return scarp_translation_victim(drive, plane);
}

/* A block of data is being collected there. */
static inline bool inside_collects_data(const ScarpDrive *drive, uint32_t plane)
{
    const ScarpGcJob *job = scarp_gc_job(drive, plane);

    return job->running && !scarp_block_is_translation(drive, job->victim);
}

/* Free blocks that are not kept for translation units. */
static inline uint32_t inside_free_for_data(const ScarpDrive *drive,
                                            uint32_t plane)
{
    return scarp_plane_free_blocks(drive, plane);
}

/* Pages of the plane that are kept for collections of others. */
static inline bool inside_is_promised(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_plane_is_promised(drive, plane);
}

/* Makes free blocks of the plane bad, until so many are left. */
static inline void inside_lose_blocks(ScarpDrive *drive, uint32_t p,
                                      uint32_t left)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[p];

    while (plane->n_free > left) {
        scarp_block_set_bad(drive, scarp_free_pop(drive, plane));
    }
}

/* Of each plane, kept from the host. */
static inline uint32_t inside_reserved_blocks(const ScarpDrive *drive)
{
    return scarp_reserved_blocks(&drive->desc);
}

/* A block was opened since the die found that no plane of it need collect. */
static inline bool inside_has_opened(const ScarpDrive *drive, uint32_t die)
{
    return scarp_blocks_opened(drive, die);
}

/* Sources of events that are not near: test-parts.c. */
static inline uint32_t inside_far_sources(const ScarpEvents *events)
{
    return events->n_far;
}

/* ---- The host queue ------------------------------------------------------ */

/* The oldest command that waits goes to the end of the queue. */
static inline void inside_pass_over(ScarpDrive *drive)
{
    scarp_cmd_push(&drive->hil.waiting, scarp_cmd_pop(&drive->hil.waiting));
}

/* ---- The mapping --------------------------------------------------------- */

/* Where a unit is, or INSIDE_NONE. */
static inline uint32_t inside_l2p(const ScarpDrive *drive, uint32_t lpn)
{
    return scarp_map_lookup(drive, lpn);
}

/* The LPN that the spare area of a programmed unit has. */
static inline uint32_t inside_lpn(const ScarpDrive *drive, uint32_t ppn)
{
    return *scarp_media_lpns(drive, ppn);
}

static inline bool inside_is_valid(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_unit_is_valid(drive, ppn);
}

/* A bit for each of n <= 64 units of a block, the first lowest. */
static inline uint64_t inside_valid_bits(const ScarpDrive *drive, uint32_t ppn,
                                         uint32_t n)
{
    return scarp_valid_bits(drive, ppn, n);
}

/* Whether both were programmed with the same data (ftl.recovery). */
static inline bool inside_same_version(const ScarpDrive *drive, uint32_t ppn,
                                       uint32_t other)
{
    return scarp_media_has_versions(drive) &&
           scarp_media_version(drive, ppn) == scarp_media_version(drive, other);
}

/* Deallocations are written to flash. */
static inline bool inside_records(const ScarpDrive *drive)
{
    return drive->desc.recovery == RECOVERY_ALL;
}

/* The mapping by what the flash holds; l2p[inside_mapped_units()]. */
static inline void inside_rebuild(const ScarpDrive *drive, uint32_t *l2p)
{
    scarp_map_rebuild(drive, l2p);
}

static inline uint32_t inside_ppn_plane(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_ppn_plane(drive, ppn);
}

static inline uint32_t inside_plane_die(const ScarpDrive *drive,
                                        uint32_t plane)
{
    return scarp_plane_die(drive, plane);
}

/* ---- Blocks -------------------------------------------------------------- */

static inline bool inside_is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_is_full(drive, block);
}

static inline bool inside_is_bad(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_state(drive, block) == BLOCK_BAD;
}

/* Units. */
static inline uint32_t inside_valid(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_valid(drive, block);
}

static inline uint32_t inside_erases(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_erases(drive, block);
}

/* Its last program, or when a unit of it last became invalid. */
static inline int64_t inside_modified_ns(const ScarpDrive *drive,
                                         uint32_t block)
{
    return scarp_block_modified_ns(drive, block);
}

/* ---- Planes and dies ----------------------------------------------------- */

static inline uint32_t inside_free_blocks(const ScarpDrive *drive,
                                          uint32_t plane)
{
    return scarp_plane_free_blocks(drive, plane);
}

static inline uint32_t inside_bad_blocks(const ScarpDrive *drive,
                                         uint32_t plane)
{
    return scarp_plane_bad_blocks(drive, plane);
}

/* A block is open for GC's copies. */
static inline bool inside_gc_has_block(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_blocks_active(drive, plane, WRITE_GC) != SCARP_NONE;
}

static inline bool inside_collects(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_gc_runs(drive, plane);
}

/* What is collected there, if anything is. */
static inline uint32_t inside_victim(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_gc_job(drive, plane)->victim;
}

/* What was granted on the die, and is not done, takes so long. */
static inline int64_t inside_granted_ns(const ScarpDrive *drive, uint32_t die)
{
    return scarp_gc_granted_ns(drive, die);
}

/* Planes of the die that collect. */
static inline uint32_t inside_collections(const ScarpDrive *drive,
                                          uint32_t die)
{
    return drive->gc.die[die].jobs;
}

/* Of the host, queued for the die. */
static inline uint32_t inside_queued_programs(const ScarpDrive *drive,
                                              uint32_t die)
{
    return scarp_nand_queued(drive, die, QUEUE_PROGRAMS);
}

/* The full block that was filled longest ago. */
static inline uint32_t inside_oldest_full(const ScarpDrive *drive,
                                          uint32_t plane)
{
    return drive->blocks.plane[plane].full.head;
}

/* ---- States set by hand: to be undone before the drive runs on ------------ */

static inline void inside_set_free_blocks(ScarpDrive *drive, uint32_t plane,
                                          uint32_t n)
{
    drive->blocks.plane[plane].n_free = n;
}

static inline void inside_set_erases(ScarpDrive *drive, uint32_t block,
                                     uint32_t erases)
{
    drive->media.block[block].erases = erases;
}

/* Units. */
static inline void inside_set_valid(ScarpDrive *drive, uint32_t plane,
                                    uint32_t n)
{
    drive->blocks.plane[plane].valid = n;
}

static inline uint32_t inside_valid_of_plane(const ScarpDrive *drive,
                                             uint32_t plane)
{
    return drive->blocks.plane[plane].valid;
}

static inline void inside_set_collects(ScarpDrive *drive, uint32_t plane,
                                       bool collects)
{
    drive->gc.plane[plane].job.running = collects;
}

/* What dynamic allocation sees of a die. */
static inline void inside_set_load(ScarpDrive *drive, uint32_t die,
                                   uint32_t collections, uint32_t reads,
                                   uint32_t programs)
{
    drive->nand.die[die].collecting = collections;
    drive->nand.die[die].queued[QUEUE_READS] = reads;
    drive->nand.die[die].queued[QUEUE_PROGRAMS] = programs;
    scarp_nand_relieved(drive, die);
}

/* The plane that dynamic allocation looks at first. */
static inline void inside_set_first_plane(ScarpDrive *drive, uint32_t plane)
{
    drive->allocation.next_plane = plane;
}

/*
 * The same of ftl.mapping=demand, where unit 0 was written after the drive had
 * aged, and unit 1 is not in the cache.
 */
static inline const char *inside_break_demand(ScarpDrive *drive, unsigned law)
{
    ScarpDemand *demand = drive->map.demand;
    Entry *entry = &demand->entry[scarp_entry_find(demand, 0)];
    uint32_t at = scarp_map_lookup(drive, drive->geo.first_translation_unit);
    uint32_t *says = scarp_contents_get(drive, at);

    switch (law) {
    case 0: /* a change that is forgotten */
        entry->state &= ~(uint32_t)ENTRY_DIRTY;
        demand->n_dirty--;
        demand->tu[0].dirty = SCARP_NONE;
        return "clean entry of unit 0";
    case 1: /* what flash says of a unit */
        says[1]++;
        return "entries that are lost in translation unit 0";
    case 2:
        drive->map.ppn_of[drive->geo.first_translation_unit] = SCARP_NONE;
        scarp_block_set_valid(drive, at, -1);
        return "entries that are lost in translation unit 0";
    case 3: /* counts */
        demand->n_dirty++;
        return "dirty entries 0";
    case 4:
        demand->tu[0].updates++;
        return "translation unit that nobody will write 0";
    case 5:
        demand->n_updates++;
        return "changed translation units";
    case 6: /* the cache */
        entry->state |= ENTRY_LOADING;
        return "entry that nobody reads 0";
    case 7:
        demand->n_used++;
        return "cached entries 0";
    case 8:
        demand->probation.n++;
        return "cached entries in a list";
    case 9:
        entry->state |= ENTRY_PROTECTED;
        return "state of cached entry 0";
    case 10: /* blocks */
        drive->blocks.plane[0].n_map--;
        return "blocks of translation units of plane 0";
    case 11: /* more than there is room for */
        demand->n_reserved += 2 * demand->update_limit + 1;
        return "entries that collections changed";
    case 12:
        entry->state |= ENTRY_LEAVING;
        return "entry that waits for nothing 0";
    case 13:
        demand->probation.n++;
        demand->protected.n--;
        return "cached entries of segment 0";
    case 14:
        demand->n_deallocated++;
        return "changed translation units";
    default:
        return NULL;
    }
}

/*
 * Breaks one law of a drive with reclaim units of several planes, of one group,
 * that has been aged and has an open unit; the rest as above.
 */
static inline const char *inside_break_units(ScarpDrive *drive, unsigned law)
{
    ScarpRus *rus = drive->blocks.rus;
    ScarpRuGroup *group = &rus->group[0];
    ScarpBlocksPlane *plane = &drive->blocks.plane[0];
    uint32_t full = plane->full.head, n = drive->desc.reclaim_planes;
    ScarpRu *unit = &rus->unit[rus->unit_of[full]];
    uint32_t *block = &rus->block[(uint64_t)rus->unit_of[full] * n];

    switch (law) {
    case 0:
        rus->unit_of[block[1]] = rus->unit_of[full] ? 0 : 1;
        return "unit of block";
    case 1: /* a unit's blocks are open, full and free together */
        scarp_block_record(drive, block[1])->state = BLOCK_ACTIVE;
        return "state of a unit's block";
    case 2:
        block[1] = block[0];
        return "plane of a unit's block";
    case 3: /* another handle's block */
        drive->media.block[block[1]].stream++;
        return "stream of a unit's block";
    case 4:
        unit->valid++;
        return "valid units of reclaim unit";
    case 5:
        unit->written--;
        return "blocks and pages of reclaim unit";
    case 6:
        unit->state = RU_OPEN;
        return "state of a unit's block";
    case 7:
        group->collected = true;
        return "victims of group 0";
    case 8:
        group->valid--;
        return "valid units of group 0";
    case 9: /* the last free unit is kept for collections */
        plane->n_free = 0;
        return "free reclaim units of group 0";
    case 10:
        group->point[RU_POINT_HOST].newer = SCARP_NONE;
        group->point[RU_POINT_HOST].older = SCARP_NONE;
        group->point[RU_POINT_HOST].begun = false;
        return "open reclaim units of group 0";
    case 11:
        rus->unit[group->point[RU_POINT_HOST].newer].point++;
        return "stream of PPN";
    case 12:
        plane->bucket_filled[0] ^= 1;
        return "mark of bucket";
    case 13:
        drive->blocks.link[plane->full.head].prev = plane->free.head;
        return "block before block";
    case 14:
        plane->n_full--;
        return "full reclaim units of group 0";
    case 15: /* a block that is lost */
        scarp_block_record(drive, plane->free.head)->state = BLOCK_FULL;
        return "reclaim unit of block";
    case 16:
        rus->n_free[0]--;
        return "free blocks of plane 0";
    case 17:
        plane->n_bad++;
        return "bad blocks of plane 0";
    case 18:
        drive->blocks.plane[1].valid++;
        return "valid units of plane 1";
    case 19:
        scarp_block_record(drive, block[0])->is_valid[0] ^= 1;
        return "valid units of block";
    case 20:
        rus->early[2] = true;
        return "early block of plane 2";
    case 21:
        rus->unit[group->point[RU_POINT_HOST].newer].end = 1;
        return "end of open reclaim unit";
    case 22: /* a page was taken that no program was made for */
        group->point[RU_POINT_HOST].reserved = 0;
        return "programs of reclaim unit";
    case 23: /* in a unit of another stream than that which wrote it */
        memset(rus->stream_of, 1, drive->geo.mapped_units);
        return "stream of PPN";
    default:
        return NULL;
    }
}

/*
 * Breaks one law of a drive of one plane that has been aged, and returns what
 * scarp_check() is to say; NULL: there are no more laws.  Such a drive is good
 * for nothing but scarp_check() and scarp_drive_free().
 */
static inline const char *inside_break(ScarpDrive *drive, unsigned law)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[0];
    uint32_t lpn = 0, b = plane->full.tail, low = 0, unmapped = 0;
    ScarpBlock *block;

    while (!plane->bucket_filled[low / 64]) {
        low += 64;
    }
    low += __builtin_ctzll(plane->bucket_filled[low / 64]);
    while (drive->blocks.link[b].prev == SCARP_NONE ||
           !scarp_block_record(drive, b)->valid) {
        b = drive->blocks.full[b].prev;
    }
    while (drive->map.ppn_of[unmapped] != SCARP_NONE) {
        unmapped++;
    }
    while (drive->map.ppn_of[lpn] == SCARP_NONE) {
        lpn++;
    }
    block = scarp_block_record(drive, b);
    switch (law) {
    case 0: /* forward and reverse map */
        drive->map.ppn_of[lpn] = drive->map.ppn_of[lpn + 1];
        return "mark of unit";
    case 1:
        drive->map.ppn_of[unmapped] = drive->map.ppn_of[lpn];
        return "reverse map of unit";
    case 2: /* marks and counts of valid units */
        block->is_valid[0] ^= 1;
        return "valid units of block";
    case 3:
        block->valid--;
        return "valid units of block";
    case 4:
        plane->valid++;
        return "valid units of plane";
    case 5: /* pages of a block */
        scarp_block_record(drive, plane->free.head)->written = 1;
        return "pages in free block";
    case 6:
        block->written = (block->valid - 1) / drive->geo.units_per_page;
        return "valid over written units of block";
    case 7:
        drive->media.block[b].programmed = block->written + 1;
        return "programmed pages of block";
    case 8: /* buckets: the candidates by valid units */
        plane->bucket_filled[low / 64] ^= 1ull << (low % 64);
        return "mark of bucket";
    case 9:
        block->state = BLOCK_VICTIM;
        return "bucket of block";
    case 10:
        drive->blocks.link[b].prev = b;
        return "block before block";
    case 11:
        plane->bucket[low].tail = plane->free.head;
        return "last block of bucket";
    case 12:
        plane->bucket[low] = (ScarpBlockList) { SCARP_NONE, SCARP_NONE };
        plane->bucket_filled[low / 64] ^= 1ull << (low % 64);
        return "candidates of plane";
    case 13: /* counts of blocks */
        plane->n_free++;
        return "free blocks of plane";
    case 14:
        plane->n_bad++;
        return "bad blocks of plane";
    case 15:
        plane->n_full--;
        return "bad blocks of plane";
    case 16: /* write points */
        plane->active[WRITE_HOST] = b;
        return "open block";
    case 17:
        plane->active[WRITE_HOST + SCARP_MAX_STREAMS - 1] =
            plane->active[WRITE_HOST];
        return "open block";
    case 18:
        plane->active[WRITE_HOST] = SCARP_NONE;
        return "open blocks of plane";
    case 19:
        drive->media.block[plane->active[WRITE_HOST]].stream++;
        return "stream of block";
    case 20: /* a page that nobody will take */
        scarp_plane_promise(drive, 0, 1);
        return "promised pages of plane";
    case 21: /* the reverse map names a unit above the one that has the page */
        scarp_map_unmap(drive, lpn);
        drive->map.ppn_of[lpn] = drive->map.ppn_of[lpn + 1];
        return "reverse map of unit";
    default:
        return NULL;
    }
}

/*
 * Makes a drive of one plane, aged and at rest, into one that an image of it
 * must not start a drive from, and returns what is to be said then; "": it may,
 * just; NULL: there are no more.  Good for nothing but scarp_save().
 */
static inline const char *inside_forge(ScarpDrive *drive, unsigned n)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[0];
    uint32_t b = plane->full.head, units = drive->geo.units_per_block, ppn = 0;
    ScarpBlock *block, *open;

    while (scarp_block_record(drive, b)->valid < 2) {
        b = drive->blocks.full[b].next;
    }
    while (!scarp_unit_is_valid(drive, ppn)) {
        ppn++;
    }
    block = scarp_block_record(drive, b);
    open = scarp_block_record(drive, plane->active[WRITE_HOST]);
    switch (n) {
    case 0:
        return "";
    case 1:
        block->state = BLOCK_VICTIM;
        return "is in state 3 with 8 pages written";
    case 2:
        block->state = BLOCK_BAD + 1;
        return "a block's state is 5; allowed are 0 to 4";
    case 3:
        drive->media.block[b].origin = SCARP_ORIGIN_PREMIGRATE;
        return "";
    case 4:
        drive->media.block[b].origin = SCARP_ORIGIN_PREMIGRATE + 1;
        return "a block's origin is 4; allowed are 0 to 3";
    case 5:
        drive->media.block[b].stream = SCARP_MAX_STREAMS - 1;
        return "";
    case 6:
        drive->media.block[b].stream = SCARP_MAX_STREAMS;
        return "a block's stream is 8; allowed are 0 to 7";
    case 7:
        block->written = 9;
        return "a block's written pages is 9; allowed are 0 to 8";
    case 8:
        drive->media.block[b].erases = UINT32_MAX - 1;
        return "";
    case 9:
        drive->media.block[b].erases = UINT32_MAX;
        return "a block's erases is 4294967295";
    case 10:
        block->modified_ns = drive->core.now_ns;
        return "";
    case 11:
        block->modified_ns = drive->core.now_ns + 1;
        return "a block's modified_ns is";
    case 12:
        drive->media.block[b].seq = drive->media.next_block_seq;
        return "";
    case 13:
        drive->media.block[b].seq = drive->media.next_block_seq + 1;
        return "a block's seq is";
    case 14:
        drive->core.random = 0;
        return "random is 0; allowed are 1 to 18446744073709551615";
    case 15:
        drive->allocation.next_plane = 1;
        return "next_plane is 1; allowed are 0 to 0";
    case 16:
        drive->core.next_seq = 1ull << 63;
        return "next_seq is 9223372036854775808; allowed are 0 to "
               "9223372036854775807";
    case 17:
        drive->media.next_block_seq = 1ull << 63;
        return "next_block_seq is 9223372036854775808";
    case 18:
        drive->core.past_ns = INT64_MAX / 2 - drive->core.now_ns + 1;
        return "life_ns is 4611686018427387904; allowed are 0 to "
               "4611686018427387903";
    case 19:
        scarp_block_record(drive, plane->free.head)->written = 1;
        return "is in state 0 with 1 pages written";
    case 20:
        block->written = 0;
        return "is in state 2 with 0 pages written";
    case 21:
        open->written = 8;
        return "is in state 1 with 8 pages written";
    case 22:
        open->written = 0;
        return "is in state 1 with 0 pages written";
    case 23:
        plane->active[WRITE_GC] = b;
        return "is in a list of state 1, or twice";
    case 24:
        plane->active[WRITE_GC] = plane->active[WRITE_HOST];
        return "is in a list of state 1, or twice";
    case 25:
        plane->active[WRITE_GC] = drive->geo.n_blocks;
        return "a list's block is 64; allowed are 0 to 63";
    case 26:
        plane->n_full--;
        return "is in no list";
    case 27:
        drive->media.block[plane->active[WRITE_HOST]].stream = 1;
        return "is of another stream";
    case 28:
        drive->media.lpn_of[ppn] = drive->geo.mapped_units;
        return "holds the logical unit";
    case 29:
        drive->media.lpn_of[b * units] = drive->media.lpn_of[b * units + 1];
        block->is_valid[0] |= 3;
        return "is in ";
    case 30:
        scarp_block_record(drive, plane->free.head)->is_valid[0] = 1;
        return "holds the logical unit 4294967295";
    case 31:
        drive->media.lpn_of[(plane->active[WRITE_HOST] + 1) * units - 1] = 0;
        return "has a unit in a page that is not written";
    case 32:
        plane->n_free = 0;
        return "free blocks of a plane is 0; allowed are 1 to 64";
    case 33:
        plane->n_free--;
        return "is in no list";
    default:
        return NULL;
    }
}

/*
 * The same of a drive with two pages in an SLC block: of three static blocks
 * one is full, one is open and one is free.
 */
static inline const char *inside_forge_cache(ScarpDrive *drive, unsigned n)
{
    ScarpSlcPlane *slc = &drive->blocks.slc[0];
    uint32_t full = slc->full[1].head;

    switch (n) {
    case 0:
        return "";
    case 1:
        drive->media.mode[full] = MODE_SLC;
        return "of mode";
    case 2:
        drive->media.mode[drive->blocks.plane[0].free.head] = MODE_STATIC;
        return "of mode";
    case 3:
        drive->media.slc_erases[full] = drive->media.block[full].erases + 1;
        return "a block's erases in SLC mode is";
    case 4:
        drive->media.block[slc->active[0]].stream = 1;
        return "of stream 0";
    case 5:
        drive->media.block[full].origin = SCARP_ORIGIN_GC;
        return "origin of SLC block";
    case 6:
        slc->full[1].head = SCARP_NONE;
        return "full SLC blocks of plane";
    case 7:
        slc->active[0] = SCARP_NONE;
        return "static blocks of plane";
    case 8:
        slc->free.head = SCARP_NONE;
        return "static blocks of plane";
    default:
        return NULL;
    }
}

/* What its description says from now on; nothing else changes. */
static inline void inside_set_order(ScarpDrive *drive, const char *order)
{
    strcpy((char *)drive->desc.allocation, order);
}

/*
 * The same of a drive of one plane with versions, and of one whose mapping is
 * on flash, without data.
 */
static inline const char *inside_forge_versions(ScarpDrive *drive, unsigned n)
{
    uint64_t *version = drive->media.version_of;
    uint32_t lpn = 0, ppn, stale = 0;

    while (drive->map.ppn_of[lpn] == SCARP_NONE) {
        lpn++;
    }
    ppn = drive->map.ppn_of[lpn];
    while (drive->media.lpn_of[stale] == SCARP_NONE ||
           scarp_unit_is_valid(drive, stale) ||
           drive->map.ppn_of[drive->media.lpn_of[stale]] == SCARP_NONE) {
        stale++;
    }
    switch (n) {
    case 0:
        version[ppn] = drive->core.next_seq - 1;
        return "";
    case 1:
        version[ppn] = drive->core.next_seq;
        return "and the next one is";
    case 2: /* as old as its successor: either will do */
        version[stale] = version[drive->map.ppn_of[drive->media.lpn_of[stale]]];
        return "";
    case 3:
        version[stale] =
            version[drive->map.ppn_of[drive->media.lpn_of[stale]]] + 1;
        return "by its versions the logical unit";
    default:
        return NULL;
    }
}

/* Contents of a unit of flash, which are the caller's to change. */
static inline void *inside_contents(ScarpDrive *drive, uint32_t ppn)
{
    return scarp_contents_get(drive, ppn);
}

/* A unit of the host's that is superseded, in block b or later. */
static inline uint32_t inside_stale(const ScarpDrive *drive, uint32_t b)
{
    uint32_t ppn = b * drive->geo.units_per_block;

    while (drive->media.lpn_of[ppn] >= drive->geo.logical_units ||
           scarp_unit_is_valid(drive, ppn)) {
        ppn++;
    }
    return ppn;
}

/*
 * The same of drives whose power may fail, of what only recovery reads: spare
 * areas of what is superseded, and contents of units that are the mapping's own.
 */
static inline const char *inside_forge_kept_demand(ScarpDrive *drive,
                                                   unsigned n)
{
    uint32_t tu = drive->geo.first_translation_unit;
    uint32_t ppn = drive->map.ppn_of[tu], stale = inside_stale(drive, 0);
    uint32_t *says = scarp_contents_get(drive, ppn);
    uint64_t *journal = scarp_contents_get(drive, drive->map.ppn_of[tu + 1]);

    switch (n) {
    case 0:
        return "";
    case 1: /* beyond the drive */
        says[0] = GUINT32_TO_LE(scarp_geometry_units(&drive->geo));
        return "damaged: what unit";
    case 2: /* one that is another's */
        says[0] = says[1];
        return "clean entry of unit 0";
    case 3: /* that what comes next to the open block is not of the journal */
        *journal = GUINT64_TO_LE(scarp_checkpoint_first_open(drive) + 1);
        return "damaged: what unit";
    case 4: /* a superseded one, of the mapping in a block of the host's */
        drive->media.lpn_of[stale] = tu;
        drive->media.version_of[stale] = 0;
        return "cannot hold the logical unit";
    default:
        return NULL;
    }
}

static inline const char *inside_forge_kept_records(ScarpDrive *drive,
                                                    unsigned n)
{
    ScarpCmd cmd = { .op = SCARP_OP_DEALLOCATE,
                     .length_bytes = drive->geo.unit_bytes };
    uint64_t *when;

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    g_assert_true(scarp_drain(drive, NULL));
    g_assert_true(scarp_reap(drive) == &cmd);
    when = scarp_contents_get(drive,
                              drive->map.ppn_of[drive->geo.logical_units]);
    when[0] = GUINT64_TO_LE(drive->core.next_seq - !n);
    return n == 0 ? "" : n == 1 ? "damaged: what unit" : NULL;
}

/* A superseded page becomes one of another logical block, or of another place. */
static inline const char *inside_forge_kept_blocks(ScarpDrive *drive,
                                                   unsigned n)
{
    uint32_t stale = inside_stale(drive, 0);
    uint32_t lpn = drive->media.lpn_of[stale];

    if (n == 1) {
        drive->media.lpn_of[stale] = lpn > drive->geo.logical_units / 2
                                           ? 0 : drive->geo.logical_units - 1;
        drive->media.version_of[stale] = 0;
    }
    return n == 0 ? "" : n == 1 ? "cannot hold the logical unit" : NULL;
}

/* A superseded page becomes one of another plane's: its stripe's parity. */
static inline const char *inside_forge_kept_stripes(ScarpDrive *drive,
                                                    unsigned n)
{
    uint32_t stale = inside_stale(drive, 0);

    if (n == 1) {
        drive->media.lpn_of[stale] =
            scarp_parity_lpn(drive, drive->media.lpn_of[stale]);
        drive->media.version_of[stale] = 0;
    }
    return n == 0 ? "" : n == 1 ? "cannot hold the logical unit" : NULL;
}

static inline const char *inside_forge_demand(ScarpDrive *drive, unsigned n)
{
    ScarpBlocksPlane *plane = &drive->blocks.plane[0];
    uint32_t tu = drive->geo.first_translation_unit, b;

    switch (n) {
    case 0:
        return "";
    case 1: /* all that there is room for are full, and one more is open */
        while (plane->n_map <= drive->geo.translation_blocks) {
            b = plane->full.head;
            for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
                uint32_t ppn = b * drive->geo.units_per_block + i;

                if (scarp_unit_is_valid(drive, ppn)) {
                    scarp_map_unmap(drive, drive->media.lpn_of[ppn]);
                }
            }
            scarp_block_take(drive, b);
            plane->n_map++;
            drive->media.block[b].origin = SCARP_ORIGIN_MAP;
            scarp_block_record(drive, b)->written = drive->desc.pages_per_block;
            scarp_block_record(drive, b)->state = BLOCK_TRANSLATION;
        }
        return "blocks of translation units; at most";
    case 2: /* a unit of the host in one of them, and one of theirs elsewhere */
        b = drive->map.ppn_of[tu];
        drive->map.ppn_of[tu] = drive->map.ppn_of[0];
        drive->map.ppn_of[0] = b;
        drive->media.lpn_of[b] = 0;
        drive->media.lpn_of[drive->map.ppn_of[tu]] = tu;
        return "block of translation unit";
    case 3: /* of the host, too */
        b = drive->map.ppn_of[tu];
        drive->map.ppn_of[tu] = SCARP_NONE;
        scarp_map_unmap(drive, 0);
        drive->map.ppn_of[0] = b;
        drive->media.lpn_of[b] = 0;
        return "units in blocks of translation units";
    default:
        return NULL;
    }
}

static inline const char *inside_break_logs(ScarpDrive *drive, unsigned law)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t data = logs->data_of[0], log = logs->plane[0].oldest;
    bool own = drive->desc.mapping == MAPPING_BLOCK;

    switch (law) {
    case 0: /* two logical blocks' data blocks are swapped */
        logs->data_of[0] = logs->data_of[1];
        logs->data_of[1] = data;
        return "place of logical unit";
    case 1: /* a block that nobody names */
        logs->data_of[0] = SCARP_NONE;
        return "role of mapped block";
    case 2: /* one that two name */
        logs->data_of[0] = logs->data_of[1];
        return "role of mapped block";
    case 3: /* a free one */
        logs->data_of[0] = drive->blocks.plane[0].free.head;
        return "role of mapped block";
    case 4:
        logs->plane[0].n_logs++;
        return "log blocks of plane";
    case 5:
        logs->block[log].older = log;
        return "log block before block";
    case 6:
        if (own) {
            logs->block[log].in_order = !logs->block[log].in_order;
            return "order of log block";
        }
        return NULL;
    case 7:
        logs->log_of[logs->block[log].group] = data;
        return "log block of logical block";
    default:
        return NULL;
    }
}

static inline const char *inside_break_supers(ScarpDrive *drive, unsigned law)
{
    ScarpSupers *supers = scarp_supers(drive);
    ScarpSuper *super = &supers->super[0];

    switch (law) {
    case 0: /* two superblocks' blocks are swapped */
        supers->super[0] = supers->super[1];
        return "superblock of block";
    case 1:
        super->current = drive->blocks.plane[0].free.head;
        return "current block of superblock";
    case 2:
        super->n++;
        return "blocks of superblock";
    case 3:
        supers->plane[0].updates++;
        return "update blocks of plane";
    case 4:
        supers->plane[0].newest = SCARP_NONE;
        return "superblocks with update blocks of plane";
    default:
        return NULL;
    }
}

/*
 * Breaks one law of the mapping of an aged drive of one plane, and returns what
 * scarp_check() is to say; NULL: there are no more.
 */
static inline const char *inside_break_mapping(ScarpDrive *drive, unsigned law)
{
    return drive->desc.mapping == MAPPING_SUPERBLOCK
               ? inside_break_supers(drive, law)
               : inside_break_logs(drive, law);
}

/* An image of it says the same: what follows from the rest is made anew. */
static inline bool inside_forges_mapping(const ScarpDrive *drive, unsigned law)
{
    return drive->desc.mapping == MAPPING_SUPERBLOCK ? law < 2 : law < 4;
}

/* A free block of which so many pages are written, with nothing valid. */
static inline uint32_t inside_open_stale(ScarpDrive *drive, uint32_t pages)
{
    uint32_t block = scarp_block_open(drive, 0, SCARP_ORIGIN_HOST);

    for (uint32_t i = 0; i < pages; i++) {
        scarp_media_pages_programmed(drive, scarp_block_next_page(drive, block),
                                     1);
    }
    return block;
}

/*
 * A drive of one plane that was aged, with a mapping that has log blocks, gets
 * a state that it cannot have.  Returns what is to be said when its image is
 * loaded; NULL: there are no more.
 */
static inline const char *inside_forge_logs(ScarpDrive *drive, unsigned n)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPlane *plane = &logs->plane[0];
    bool fast = drive->desc.mapping == MAPPING_FAST;
    uint32_t pages = drive->desc.pages_per_block, group = 0, block;
    uint32_t first = plane->oldest;

    switch (n) {
    case 0: /* a block that no collection ever looks at */
        block = inside_open_stale(drive, pages);
        scarp_blocks_add_full(drive, block);
        scarp_blocks_add_candidate(drive, block);
        return "is in state 2 with";
    case 1: /* so many that none is left to merge into */
        while (scarp_plane_free_blocks(drive, 0) > 1) {
            block = inside_open_stale(drive, pages);
            while (!fast && logs->log_of[group] != SCARP_NONE) {
                group++;
            }
            logs->block[block].group = fast ? SCARP_NONE : group++;
            scarp_log_append(drive, 0, block);
        }
        return "room for log blocks of plane 0";
    case 2: /* with one that is not in order, or for a mapping without any */
        if (fast) {
            uint32_t ppn = scarp_block_ppn(drive, plane->sequential);

            if (scarp_unit_is_valid(drive, ppn)) {
                scarp_map_unmap(drive, scarp_media_lpn(drive, ppn));
            }
            scarp_media_set_lpn(drive, ppn, SCARP_NONE);
        } else {
            plane->sequential = logs->data_of[0];
            logs->data_of[0] = SCARP_NONE;
            logs->block[plane->sequential].group = 0;
        }
        return fast ? "order of sequential log block"
                    : "sequential log block of plane 0";
    case 3: /* the second oldest is the oldest */
        if (!fast) {
            return NULL;
        }
        g_assert_cmpuint(plane->n_logs, >, 2);
        scarp_log_remove(drive, 0, first);
        scarp_log_append(drive, 0, first);
        return "age of log block";
    case 4: /* one that is written goes before another */
        block = inside_open_stale(drive, 1);
        logs->block[block].newer = first;
        logs->block[block].older = SCARP_NONE;
        logs->block[first].older = block;
        plane->oldest = block;
        plane->n_logs++;
        return "pages of full log block";
    default:
        return NULL;
    }
}

/* The same of superblocks. */
static inline const char *inside_forge_supers(ScarpDrive *drive, unsigned n)
{
    ScarpSupers *supers = scarp_supers(drive);
    uint32_t s = 0, block;

    switch (n) {
    case 0:
        block = inside_open_stale(drive, drive->desc.pages_per_block);
        scarp_blocks_add_full(drive, block);
        scarp_blocks_add_candidate(drive, block);
        return "is in state 2 with";
    case 1: /* nobody writes the rest of it */
        while (supers->super[s].current == SCARP_NONE ||
               scarp_block_written(drive, supers->super[s].current) ==
                   drive->geo.units_per_block) {
            s++;
        }
        supers->super[s].current = SCARP_NONE;
        return "pages of full block";
    default:
        return NULL;
    }
}

static inline const char *inside_forge_mapping(ScarpDrive *drive, unsigned n)
{
    return drive->desc.mapping == MAPPING_SUPERBLOCK
               ? inside_forge_supers(drive, n) : inside_forge_logs(drive, n);
}

/*
 * ftl.mapping=demand: a plane asks whether its collection of the block, which
 * has nothing valid, may begin; true: it counts as begun.
 */
static inline bool inside_begins(ScarpDrive *drive, uint32_t plane,
                                 uint32_t block)
{
    return scarp_gc_has_room(drive, plane, block);
}

/* Entries that others may change: one; or so many that no room is left. */
static inline void inside_set_changes(ScarpDrive *drive, bool all)
{
    ScarpDemand *demand = drive->map.demand;

    demand->n_reserved = all ? demand->update_limit + 1 : 1;
}

static inline void inside_set_no_changes(ScarpDrive *drive)
{
    drive->map.demand->n_reserved = 0;
}

/* In all planes, as the drive counts them. */
static inline uint32_t inside_all_free_blocks(const ScarpDrive *drive)
{
    return drive->blocks.n_free;
}

/* One bit of what is stored for a unit is another. */
static inline void inside_corrupt(ScarpDrive *drive, uint32_t lpn,
                                  uint32_t byte)
{
    uint8_t *data = scarp_contents_get(drive, drive->map.ppn_of[lpn]);

    if (!data) { /* zeroes are not stored */
        data = g_malloc0(drive->geo.unit_bytes);
        data[byte] = 0x10;
        scarp_contents_put(drive, drive->map.ppn_of[lpn], data);
        return;
    }
    data[byte] ^= 0x10;
}

/* There is a page for lpn, without a merge, by the rules of its mapping. */
static inline bool inside_has_page(const ScarpDrive *drive, uint32_t plane,
                                   uint32_t lpn)
{
    return scarp_map_page_possible(drive, plane, lpn);
}

/* The same of a page of lpn, when those of ahead are on their way. */
static inline bool inside_has_page_behind(const ScarpDrive *drive,
                                          uint32_t plane, uint32_t lpn,
                                          const uint32_t *ahead,
                                          uint32_t n_ahead)
{
    return scarp_map_has_room(drive, plane, lpn, 1, ahead, n_ahead);
}

/* A page for the host is taken, and no program follows it. */
static inline void inside_take_page(ScarpDrive *drive, uint32_t plane,
                                    bool aligned)
{
    if (aligned) {
        scarp_aligned_take(drive, plane, SCARP_ORIGIN_HOST);
    } else {
        scarp_page_take(drive, plane, SCARP_ORIGIN_HOST, 0);
    }
}

/* Where in its block the host's next page of the plane would be. */
static inline uint32_t inside_next_page(const ScarpDrive *drive,
                                        uint32_t plane)
{
    return scarp_page_offset(drive, plane, SCARP_ORIGIN_HOST, 0);
}

/* ---- Policies, asked by hand --------------------------------------------- */

static inline uint32_t inside_allocate(ScarpDrive *drive, uint32_t lpn,
                                       uint16_t stream)
{
    return drive->scheme.alloc->plane(drive, lpn, stream);
}

/* The plane of the die's programs of the host that wait; INSIDE_NONE: none. */
static inline uint32_t inside_program_waits(const ScarpDrive *drive,
                                            uint32_t die)
{
    uint32_t first = scarp_die_plane(drive, die);

    for (uint32_t p = first; p < first + drive->desc.planes_per_die; p++) {
        if (scarp_nand_head(drive, p, QUEUE_PROGRAMS)) {
            return p;
        }
    }
    return INSIDE_NONE;
}

/* Where a unit goes that a collection of the plane's first block moves. */
static inline uint32_t inside_place(ScarpDrive *drive, uint32_t plane,
                                    uint32_t lpn)
{
    ScarpGcJob gc = { .plane = plane,
                   .victim = plane * (uint32_t)drive->desc.blocks_per_plane };

    return drive->scheme.place->plane(drive, &gc, lpn);
}

static inline uint32_t inside_choose_victim(ScarpDrive *drive, uint32_t plane)
{
    return drive->scheme.victim->choose(drive, plane);
}

/* The policy's choice, or the one that is to be collected for its wear. */
static inline uint32_t inside_collect_next(ScarpDrive *drive, uint32_t plane,
                                           bool *levelling)
{
    return scarp_gc_choose_victim(drive, plane, levelling);
}

static inline uint32_t inside_random_full(ScarpDrive *drive, uint32_t plane)
{
    return scarp_victim_random_full(drive, plane);
}

/* Whether GC goes first on a die that collects and that the host waits for. */
static inline bool inside_gc_turn(ScarpDrive *drive, uint32_t die)
{
    return drive->scheme.pacing->turn(drive, die) == TURN_GC;
}

/* The generator that policies draw from. */
static inline uint64_t inside_random(uint64_t *state)
{
    return scarp_random(state);
}

/* As it is now; a drive has one. */
static inline uint64_t inside_random_state(const ScarpDrive *drive)
{
    return drive->core.random;
}

static inline void inside_set_random(ScarpDrive *drive, uint64_t state)
{
    drive->core.random = state;
}

static inline int64_t inside_gc_cost_ns(const ScarpDrive *drive,
                                        uint32_t plane)
{
    return scarp_gc_cost_ns(drive, plane);
}

/* Units that collections have on their way to a plane, in programs. */
static inline uint32_t inside_gc_coming(const ScarpDrive *drive, uint32_t plane)
{
    return scarp_pack_gc_coming(drive, plane);
}

/* What a die's collections still need, by the estimate that policies have. */
static inline int64_t inside_gc_remaining_ns(const ScarpDrive *drive,
                                             uint32_t die)
{
    return scarp_gc_remaining_ns(drive, die);
}

/* ---- Rounds of the pacing `redistributed` -------------------------------- */

static inline bool inside_open_round(ScarpDrive *drive, uint32_t plane,
                                     uint32_t lpn)
{
    ScarpGcWrite write = { .plane = plane, .lpn = lpn };

    return scarp_gc_open_round(drive, &write);
}

/* What was granted of the plane's round is what the write of lpn waits for. */
static inline bool inside_makes_room(const ScarpDrive *drive, uint32_t plane,
                                     uint32_t lpn)
{
    return scarp_gc_makes_room(drive, plane, lpn);
}

static inline uint32_t inside_round_left(const ScarpDrive *drive,
                                         uint32_t plane, uint32_t *erases)
{
    return scarp_gc_round_left(drive, plane, erases);
}

static inline void inside_grant(ScarpDrive *drive, uint32_t plane,
                                uint32_t erases, uint32_t pages)
{
    scarp_gc_grant(drive, plane, erases, pages);
}

/* ---- Policies, watched: one drive at a time ------------------------------ */

typedef void (*InsideChosen)(ScarpDrive *drive, uint32_t plane,
                             uint32_t block);

static struct {
    const ScarpVictimOps *victim;
    ScarpVictimOps watched_victim;
    InsideChosen chosen;
    const ScarpPacingOps *pacing;
    ScarpPacingOps watched_pacing;
    uint64_t looks;
} inside G_GNUC_UNUSED;

static inline uint32_t inside_choose_watched(ScarpDrive *drive, uint32_t plane)
{
    uint32_t block = inside.victim->choose(drive, plane);

    inside.chosen(drive, plane, block);
    return block;
}

/* chosen() is told of every victim, INSIDE_NONE when there was none. */
static inline void inside_watch_victims(ScarpDrive *drive, InsideChosen chosen)
{
    inside.chosen = chosen;
    inside.victim = drive->scheme.victim;
    inside.watched_victim = *inside.victim;
    inside.watched_victim.choose = inside_choose_watched;
    drive->scheme.victim = &inside.watched_victim;
}

static inline void inside_unwatch_victims(ScarpDrive *drive)
{
    drive->scheme.victim = inside.victim;
}

static inline void inside_count_look(ScarpDrive *drive, uint32_t die)
{
    inside.looks++;
    inside.pacing->check(drive, die);
}

/* Counts how often a die looks for work. */
static inline void inside_watch_looks(ScarpDrive *drive)
{
    inside.looks = 0;
    inside.pacing = drive->scheme.pacing;
    inside.watched_pacing = *inside.pacing;
    inside.watched_pacing.check = inside_count_look;
    drive->scheme.pacing = &inside.watched_pacing;
}

static inline uint64_t inside_unwatch_looks(ScarpDrive *drive)
{
    drive->scheme.pacing = inside.pacing;
    return inside.looks;
}

/* A host-queue policy of a test's own takes the place of the scheme's. */
static inline void inside_set_host_policy(ScarpDrive *drive,
                                          const ScarpHilOps *policy)
{
    drive->scheme.hil = policy;
}

static inline void inside_set_host_timer(ScarpDrive *drive, int64_t time_ns)
{
    scarp_timer_set(drive, AXIS_HIL, time_ns);
}

/* ---- Cells that a power cut leaves (nand.power_cuts) ---------------------- */

/* What a block's pages hold, by letters: . erased, p programmed, t torn. */
static inline char *inside_cells(const ScarpDrive *drive, uint32_t block)
{
    uint32_t n = drive->desc.pages_per_block;
    char *cells = g_malloc0(n + 1);

    for (uint32_t i = 0; i < n; i++) {
        cells[i] = ".pt?"[scarp_media_page(drive, block * n + i)];
    }
    return cells;
}

static inline void inside_set_cells(ScarpDrive *drive, uint32_t page,
                                    unsigned state)
{
    scarp_media_set_pages(drive, page, 1, state);
}

/* Of a unit's spare area: its LPN, or INSIDE_NONE; when the host wrote it. */
static inline uint32_t inside_spare_lpn(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_media_lpn(drive, ppn);
}

static inline uint64_t inside_version(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_media_version(drive, ppn);
}

/* The cells say of two copies of a unit that the older one is the newer. */
static inline void inside_swap_versions(ScarpDrive *drive, uint32_t a,
                                        uint32_t b)
{
    uint64_t version = drive->media.version_of[a];

    drive->media.version_of[a] = drive->media.version_of[b];
    drive->media.version_of[b] = version;
}

/* The block was opened for the host, or for collections. */
static inline ScarpOrigin inside_origin(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_origin(drive, block);
}

/* Of the host's block that it was opened for. */
static inline uint32_t inside_stream(const ScarpDrive *drive, uint32_t block)
{
    return scarp_media_stream(drive, block);
}

/* Of any block: pages that it counts as written. */
static inline uint32_t inside_written(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_written(drive, block);
}

/* Full blocks of the plane, or full reclaim units of the group it begins. */
static inline uint32_t inside_full_blocks(const ScarpDrive *drive,
                                          uint32_t plane)
{
    return scarp_plane_full_blocks(drive, plane);
}

/* Free blocks of the plane, those that are kept among them. */
static inline uint32_t inside_erased_blocks(const ScarpDrive *drive,
                                            uint32_t plane)
{
    return drive->blocks.plane[plane].n_free;
}

/* Units of the buffer, and deallocations, that energy saved. */
static inline uint32_t inside_saved(const ScarpDrive *drive)
{
    return scarp_media_saved_units(drive);
}

/* Translation units, and the unit that says which checkpoint is whole. */
static inline uint32_t inside_first_translation_unit(const ScarpDrive *drive)
{
    return drive->geo.first_translation_unit;
}

static inline uint64_t inside_units_since_checkpoint(const ScarpDrive *drive)
{
    return drive->map.demand->checkpoint.units;
}

/* Seq of the first block that is read after a power cut, by what flash says. */
static inline uint64_t inside_journal(const ScarpDrive *drive)
{
    return drive->map.journal;
}

/* ---- Parity, and rest ---------------------------------------------------- */

/* The parity's LPN of a unit's stripe. */
static inline uint32_t inside_parity_lpn(const ScarpDrive *drive, uint32_t lpn)
{
    return scarp_parity_lpn(drive, lpn);
}

/* Where a unit of a stripe must be. */
static inline uint32_t inside_parity_plane(const ScarpDrive *drive,
                                           uint32_t lpn)
{
    return scarp_parity_plane(drive, lpn);
}

/* Stripes whose parity is in RAM. */
static inline uint32_t inside_open_stripes(const ScarpDrive *drive)
{
    return drive->parity.n_open;
}

/* These, and those that have a place there for parts of pages. */
static inline uint32_t inside_placed_stripes(const ScarpDrive *drive)
{
    return drive->parity.n_placed;
}

/* The laws of stripes, and what their pages hold. */
static inline bool inside_parity_check(const ScarpDrive *drive, GError **error)
{
    return scarp_parity_check(drive, true, error);
}

/* Quiescent, and nothing is buffered or still to happen. */
static inline bool inside_at_rest(const ScarpDrive *drive, GError **error)
{
    return scarp_at_rest(drive, error);
}

#endif /* INSIDE_H */
