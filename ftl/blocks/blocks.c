/*
 * Blocks of a plane: the free list, the lists of full blocks, victims, and what
 * happens after an erase.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"
#include "nand/ops.h"

/*
 * Returns the size of a block's record, valid bits included. The size is
 * rounded up to half a cache line, or to whole lines, so that no small record
 * crosses a line.
 */
static uint32_t record_bytes(const ScarpGeometry *geo)
{
    uint32_t bytes = sizeof(ScarpBlock) + scarp_valid_bytes(geo);
    uint32_t line = bytes <= SCARP_CACHE_LINE / 2 ? SCARP_CACHE_LINE / 2
                                                  : SCARP_CACHE_LINE;

    return (bytes + line - 1) / line * line;
}

uint64_t scarp_blocks_bytes(const ScarpGeometry *geo)
{
    return (uint64_t)geo->n_blocks *
               (record_bytes(geo) + 2 * sizeof(ScarpBlockLink)) +
           scarp_ru_bytes(geo);
}

bool scarp_blocks_init(ScarpDrive *drive,
                       const ScarpConfig *config G_GNUC_UNUSED,
                       GError **error G_GNUC_UNUSED)
{
    ScarpBlocks *blocks = &drive->blocks;
    const ScarpGeometry *geo = &drive->geo;
    uint32_t buckets = geo->units_per_block + 1;

    blocks->record_bytes = record_bytes(geo);
    blocks->records = scarp_table_zeroed((uint64_t)geo->n_blocks *
                                         blocks->record_bytes);
    blocks->link = scarp_table_zeroed((uint64_t)geo->n_blocks *
                                      sizeof(ScarpBlockLink));
    blocks->full = scarp_table_zeroed((uint64_t)geo->n_blocks *
                                      sizeof(ScarpBlockLink));
    blocks->plane = scarp_table_zeroed(geo->n_planes *
                                       sizeof(ScarpBlocksPlane));
    blocks->map_full = g_new(uint32_t, (uint64_t)geo->n_planes *
                                           geo->translation_blocks);
    blocks->opened = g_new(bool, geo->n_dies);
    memset(blocks->opened, true, geo->n_dies);
    /*
     * The list heads of all planes are in one table. Consecutive accesses to
     * different planes then touch few pages of host memory, which the CPU's TLB
     * can hold.
     */
    blocks->buckets = scarp_table_new((uint64_t)geo->n_planes * buckets *
                                      sizeof(ScarpBlockList));
    g_assert(blocks->buckets);
    for (uint32_t p = 0; p < geo->n_planes; p++) {
        ScarpBlocksPlane *plane = &blocks->plane[p];

        plane->free.head = plane->full.head = plane->full.tail = SCARP_NONE;
        for (int i = 0; i < WRITE__COUNT; i++) {
            plane->active[i] = SCARP_NONE;
        }
        plane->bucket = &blocks->buckets[(uint64_t)p * buckets];
        plane->bucket_filled = g_new0(uint64_t, buckets / 64 + 1);
        for (uint32_t i = 0; i < buckets; i++) {
            plane->bucket[i] = (ScarpBlockList) { SCARP_NONE, SCARP_NONE };
        }
        for (uint32_t b = 0; b < drive->desc.blocks_per_plane; b++) {
            scarp_free_push(drive, plane, p * drive->desc.blocks_per_plane + b);
        }
    }
    scarp_slc_init(drive);
    return true;
}

void scarp_blocks_clear(ScarpDrive *drive)
{
    ScarpBlocks *blocks = &drive->blocks;

    for (uint32_t p = 0; blocks->plane && p < drive->geo.n_planes; p++) {
        g_free(blocks->plane[p].bucket_filled);
    }
    scarp_slc_clear(drive);
    scarp_ru_clear(drive);
    g_free(blocks->opened);
    g_free(blocks->map_full);
    scarp_table_free(blocks->plane);
    scarp_table_free(blocks->records);
    scarp_table_free(blocks->link);
    scarp_table_free(blocks->full);
    scarp_table_free(blocks->buckets);
}

/* ---- Full blocks -------------------------------------------------------- */

void scarp_full_append(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index)
{
    ScarpBlockLink *link = drive->blocks.full;
    ScarpBlockList *list = &plane->full;

    link[index] = (ScarpBlockLink) { SCARP_NONE, list->tail };
    *(list->tail == SCARP_NONE ? &list->head : &link[list->tail].next) = index;
    list->tail = index;
    plane->n_full++;
    scarp_block_record(drive, index)->state = BLOCK_FULL;
}

void scarp_full_insert(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index)
{
    scarp_full_append(drive, plane, index);
    scarp_bucket_insert(drive, plane, index,
                        scarp_block_record(drive, index)->valid);
}

void scarp_full_unlink(ScarpDrive *drive, ScarpBlocksPlane *plane,
                       uint32_t index)
{
    ScarpBlockLink *links = drive->blocks.full, link = links[index];
    ScarpBlockList *list = &plane->full;

    *(link.prev == SCARP_NONE ? &list->head : &links[link.prev].next) =
        link.next;
    *(link.next == SCARP_NONE ? &list->tail : &links[link.next].prev) =
        link.prev;
    plane->n_full--;
}

static void full_remove(ScarpDrive *drive, ScarpBlocksPlane *plane,
                        uint32_t index)
{
    scarp_full_unlink(drive, plane, index);
    scarp_bucket_remove(drive, plane, index,
                        scarp_block_record(drive, index)->valid);
}

/* ---- Free blocks -------------------------------------------------------- */

/*
 * Appends a block to the plane's free list. Blocks are taken from its head, so
 * all free blocks take turns, which spreads wear.
 */
void scarp_free_push(ScarpDrive *drive, ScarpBlocksPlane *plane,
                     uint32_t index)
{
    ScarpBlockList *list = &plane->free;
    ScarpBlockLink *link = drive->blocks.link;

    link[index].next = SCARP_NONE;
    scarp_block_record(drive, index)->state = BLOCK_FREE;
    plane->n_free++;
    drive->blocks.n_free++;
    scarp_nand_relieved(drive,
                        scarp_plane_die(drive, plane - drive->blocks.plane));
    *(list->head == SCARP_NONE ? &list->head : &link[list->tail].next) = index;
    list->tail = index;
    if (drive->blocks.rus) {
        scarp_ru_freed(drive, index);
    }
}

uint32_t scarp_free_pop(ScarpDrive *drive, ScarpBlocksPlane *plane)
{
    uint32_t index = plane->free.head;

    plane->free.head = drive->blocks.link[index].next;
    plane->n_free--;
    drive->blocks.n_free--;
    scarp_mark_if(drive, last_free_block, !plane->n_free);
    return index;
}

/* ---- Full blocks of translation units ----------------------------------- */

void scarp_translation_insert(ScarpDrive *drive, uint32_t index)
{
    uint32_t p = scarp_block_plane(drive, index);
    ScarpBlocksPlane *plane = &drive->blocks.plane[p];

    drive->blocks.map_full[p * drive->geo.translation_blocks +
                           plane->n_map_full++] = index;
    scarp_block_record(drive, index)->state = BLOCK_TRANSLATION;
    /*
     * With one more full block of translation units, a collection of such
     * blocks may be due. The trigger policy looks only at dies that are marked
     * as having opened a block, so this die is marked. For other blocks, take()
     * of write_points.c marks the die.
     */
    scarp_blocks_set_opened(drive, scarp_plane_die(drive, p));
}

static void translation_remove(ScarpDrive *drive, uint32_t index)
{
    uint32_t p = scarp_block_plane(drive, index), i = 0;
    uint32_t *full = &drive->blocks.map_full[p * drive->geo.translation_blocks];

    while (full[i] != index) {
        i++;
    }
    full[i] = full[--drive->blocks.plane[p].n_map_full];
}

uint32_t scarp_translation_victim(const ScarpDrive *drive, uint32_t p)
{
    const uint32_t *full =
        &drive->blocks.map_full[p * drive->geo.translation_blocks];
    uint32_t best = SCARP_NONE;
    uint64_t least = UINT64_MAX;

    /*
     * A plane has few full blocks of translation units, so the loop looks at
     * all of them. Of blocks with equally few valid units, the block opened
     * first is taken.
     */
    for (uint32_t i = 0; i < drive->blocks.plane[p].n_map_full; i++) {
        uint32_t valid = scarp_block_valid(drive, full[i]);

        if (valid < least ||
            (valid == least && scarp_media_seq(drive, full[i]) <
                                   scarp_media_seq(drive, best))) {
            least = valid;
            best = full[i];
        }
    }
    return best;
}

/* ---- Victims ------------------------------------------------------------ */

void scarp_block_take(ScarpDrive *drive, uint32_t index)
{
    if (scarp_block_record(drive, index)->state == BLOCK_TRANSLATION) {
        translation_remove(drive, index);
    } else if (scarp_block_record(drive, index)->state == BLOCK_CACHE) {
        scarp_slc_remove(drive, index);
    } else {
        full_remove(drive, scarp_blocks_plane_of(drive, index), index);
    }
    scarp_block_record(drive, index)->state = BLOCK_VICTIM;
}

void scarp_block_put_back(ScarpDrive *drive, uint32_t index)
{
    scarp_mark(drive, victim_put_back);
    scarp_full_insert(drive, scarp_blocks_plane_of(drive, index), index);
}

static void erased(ScarpDrive *drive, uint32_t index, bool needed)
{
    ScarpBlock *block = scarp_block_record(drive, index);
    ScarpCellMode mode = scarp_media_mode(drive, index);

    /*
     * A block must not be erased while it has a valid unit, or while a program
     * is under way in it, because data would be lost.
     */
    if (block->valid ||
        scarp_media_programmed(drive, index) != block->written) {
        scarp_law_broken(drive);
    }
    block->written = 0;
    if (scarp_block_is_translation(drive, index) &&
        block->state != BLOCK_APART) {
        scarp_blocks_plane_of(drive, index)->n_map--;
    }
    scarp_media_erase(drive, index);
    if (drive->blocks.rus) {
        scarp_ru_erased(drive, index);
    }
    if (scarp_slc_erased(drive, index, mode, needed)) {
        return;
    }
    if (!needed && scarp_block_is_worn_out(drive, index)) {
        scarp_mark(drive, worn_out);
        scarp_block_set_bad(drive, index);
    } else {
        scarp_mark_if(drive, worn_out_but_needed,
                      drive->desc.endurance_erases &&
                      scarp_media_erases(drive, index) >=
                          drive->desc.endurance_erases);
        scarp_free_push(drive, scarp_blocks_plane_of(drive, index), index);
    }
}

void scarp_block_erased(ScarpDrive *drive, uint32_t index)
{
    erased(drive, index, false);
}

void scarp_block_erased_needed(ScarpDrive *drive, uint32_t index)
{
    erased(drive, index, true);
}
