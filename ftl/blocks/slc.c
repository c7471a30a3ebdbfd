/*
 * The blocks of an SLC cache: free blocks that can be opened in SLC mode, the
 * open block of each stream, and full blocks in the order of filling. Full SLC
 * blocks are in no bucket, so victim policies do not see them; gc/fold.c
 * decides when a full SLC block is collected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "blocks/internal.h"

void scarp_slc_init(ScarpDrive *drive)
{
    ScarpSlcPlane *slc;

    if (!drive->geo.slc_pages) {
        return;
    }
    slc = g_new(ScarpSlcPlane, drive->geo.n_planes);
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        slc[p] = (ScarpSlcPlane) {
            .free = { SCARP_NONE, SCARP_NONE },
            .full = { { SCARP_NONE, SCARP_NONE }, { SCARP_NONE, SCARP_NONE } },
        };
        for (int i = 0; i < SCARP_MAX_STREAMS; i++) {
            slc[p].active[i] = SCARP_NONE;
        }
    }
    drive->blocks.slc = slc;
}

void scarp_slc_clear(ScarpDrive *drive)
{
    g_free(drive->blocks.slc);
}

/* Appends an erased static block to the plane's list of free static blocks. */
static void static_push(ScarpDrive *drive, uint32_t p, uint32_t index)
{
    ScarpBlockList *list = &drive->blocks.slc[p].free;
    ScarpBlockLink *link = drive->blocks.link;

    link[index].next = SCARP_NONE;
    scarp_block_record(drive, index)->state = BLOCK_FREE;
    *(list->head == SCARP_NONE ? &list->head : &link[list->tail].next) = index;
    list->tail = index;
}

void scarp_blocks_set_static(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        for (uint32_t i = 0; i < drive->geo.static_blocks; i++) {
            uint32_t index = scarp_free_pop(drive, &drive->blocks.plane[p]);

            scarp_media_set_mode(drive, index, MODE_STATIC);
            static_push(drive, p, index);
        }
    }
}

/*
 * True when a free block of the plane may be opened in SLC mode: the plane has
 * more free blocks than must be reserved, and fewer than slc.most_blocks
 * dynamic SLC blocks.
 */
static bool may_open_dynamic(const ScarpDrive *drive, uint32_t p)
{
    uint64_t most = drive->desc.slc_most_blocks;

    return drive->desc.slc_dynamic &&
           scarp_plane_spare_blocks(drive, p) +
                   scarp_recovery_blocks(&drive->desc) >
               scarp_reserved_blocks(&drive->desc) &&
           (!most || drive->blocks.slc[p].n_dynamic < most);
}

bool scarp_slc_has_room(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    const ScarpSlcPlane *slc = &drive->blocks.slc[p];

    return slc->active[stream] != SCARP_NONE || slc->free.head != SCARP_NONE ||
           may_open_dynamic(drive, p);
}

/*
 * Takes a block that is to be opened in SLC mode: a static block if one is
 * free, otherwise a block of the plane's free list.
 */
static uint32_t pop(ScarpDrive *drive, uint32_t p)
{
    ScarpSlcPlane *slc = &drive->blocks.slc[p];
    uint32_t index = slc->free.head;

    drive->slc_stats.slc_blocks++;
    if (index != SCARP_NONE) {
        slc->free.head = drive->blocks.link[index].next;
        slc->n_static++;
        return index;
    }
    index = scarp_free_pop(drive, &drive->blocks.plane[p]);
    scarp_media_set_mode(drive, index, MODE_SLC);
    slc->n_dynamic++;
    return index;
}

/* ---- Full blocks -------------------------------------------------------- */

static ScarpBlockList *full_list(const ScarpDrive *drive, uint32_t index)
{
    return &drive->blocks.slc[scarp_block_plane(drive, index)]
                .full[scarp_media_mode(drive, index) == MODE_STATIC];
}

/* Called when the last page of an SLC block has been taken. */
static void insert(ScarpDrive *drive, uint32_t index)
{
    ScarpBlockList *list = full_list(drive, index);
    ScarpBlockLink *link = drive->blocks.full;
    uint32_t p = scarp_block_plane(drive, index);

    link[index] = (ScarpBlockLink) { SCARP_NONE, list->tail };
    *(list->tail == SCARP_NONE ? &list->head : &link[list->tail].next) = index;
    list->tail = index;
    drive->blocks.slc[p].n_full++;
    scarp_block_record(drive, index)->state = BLOCK_CACHE;
    scarp_blocks_set_opened(drive, scarp_plane_die(drive, p));
}

uint32_t scarp_slc_offset(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    uint32_t index = drive->blocks.slc[p].active[stream];

    return index == SCARP_NONE ? 0 : scarp_block_record(drive, index)->written;
}

uint32_t scarp_slc_take(ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    uint32_t *active = &drive->blocks.slc[p].active[stream], ppn;
    ScarpBlock *block;

    if (*active == SCARP_NONE) {
        *active = pop(drive, p);
        scarp_block_record(drive, *active)->state = BLOCK_ACTIVE;
        scarp_media_open(drive, *active, SCARP_ORIGIN_HOST, stream);
        scarp_blocks_set_opened(drive, scarp_plane_die(drive, p));
    }
    block = scarp_block_record(drive, *active);
    ppn = scarp_block_ppn(drive, *active) +
          block->written * drive->geo.units_per_page;
    block->written++;
    block->modified_ns = scarp_time_ns(drive);
    if (block->written == drive->geo.slc_pages) {
        insert(drive, *active);
        *active = SCARP_NONE;
    }
    return ppn;
}

void scarp_slc_remove(ScarpDrive *drive, uint32_t index)
{
    ScarpBlockList *list = full_list(drive, index);
    ScarpBlockLink *links = drive->blocks.full, link = links[index];

    *(link.prev == SCARP_NONE ? &list->head : &links[link.prev].next) =
        link.next;
    *(link.next == SCARP_NONE ? &list->tail : &links[link.next].prev) =
        link.prev;
    drive->blocks.slc[scarp_block_plane(drive, index)].n_full--;
}

uint32_t scarp_slc_oldest(const ScarpDrive *drive, uint32_t p, bool dynamic)
{
    const ScarpSlcPlane *slc = &drive->blocks.slc[p];
    uint32_t free = slc->full[0].head, fixed = slc->full[1].head;

    if (dynamic || fixed == SCARP_NONE) {
        return free;
    }
    return free == SCARP_NONE || scarp_media_seq(drive, fixed) <
                                     scarp_media_seq(drive, free)
               ? fixed : free;
}

/* ---- Loading from an image ---------------------------------------------- */

uint32_t scarp_slc_first_free(const ScarpDrive *drive, uint32_t p)
{
    return drive->blocks.slc[p].free.head;
}

uint32_t scarp_slc_first_full(const ScarpDrive *drive, uint32_t p, bool fixed)
{
    return drive->blocks.slc[p].full[fixed].head;
}

uint32_t scarp_slc_active(const ScarpDrive *drive, uint32_t p, uint16_t stream)
{
    return drive->blocks.slc[p].active[stream];
}

uint32_t scarp_slc_dynamic_blocks(const ScarpDrive *drive, uint32_t p)
{
    return drive->blocks.slc[p].n_dynamic;
}

void scarp_slc_load_free(ScarpDrive *drive, uint32_t index)
{
    static_push(drive, scarp_block_plane(drive, index), index);
}

/* Counts a block of the SLC cache that has pages. */
static void count(ScarpDrive *drive, uint32_t index)
{
    ScarpSlcPlane *slc = &drive->blocks.slc[scarp_block_plane(drive, index)];

    drive->slc_stats.slc_blocks++;
    ++*(scarp_media_mode(drive, index) == MODE_STATIC ? &slc->n_static
                                                      : &slc->n_dynamic);
}

void scarp_slc_load_full(ScarpDrive *drive, uint32_t index)
{
    count(drive, index);
    insert(drive, index);
}

void scarp_slc_load_active(ScarpDrive *drive, uint32_t p, uint16_t stream,
                           uint32_t index)
{
    count(drive, index);
    drive->blocks.slc[p].active[stream] = index;
}

/* Makes a block full: its pages that are not written stay empty. */
static void close_early(ScarpDrive *drive, uint32_t index)
{
    scarp_block_record(drive, index)->written = drive->geo.slc_pages;
    scarp_media_set_programmed(drive, index, drive->geo.slc_pages);
    insert(drive, index);
}

void scarp_slc_close_unused(ScarpDrive *drive, uint32_t p)
{
    ScarpSlcPlane *slc = &drive->blocks.slc[p];

    for (uint32_t s = drive->desc.streams; s < SCARP_MAX_STREAMS; s++) {
        if (slc->active[s] != SCARP_NONE) {
            scarp_mark(drive, closed_on_load);
            close_early(drive, slc->active[s]);
            slc->active[s] = SCARP_NONE;
        }
    }
}

/* ---- Cells of another drive: after a power cut, or for Sanitize --------- */

bool scarp_slc_recover(ScarpDrive *drive, uint32_t index, uint32_t pages)
{
    ScarpCellMode mode = scarp_media_mode(drive, index);

    if (mode == MODE_REAL) {
        return false;
    }
    if (pages) {
        count(drive, index);
        return false;
    }
    if (mode == MODE_STATIC) {
        static_push(drive, scarp_block_plane(drive, index), index);
        return true;
    }
    /* The block has no page: its first program had not begun. */
    scarp_mark(drive, cut_before_slc_page);
    scarp_media_set_mode(drive, index, MODE_REAL);
    return false;
}

void scarp_slc_recover_full(ScarpDrive *drive, uint32_t index)
{
    close_early(drive, index);
}

/* ---- Erased blocks ------------------------------------------------------ */

/*
 * Makes a worn-out static block bad, and a free block static in its place.
 * Returns false if the block is not worn out, or if the plane needs all of its
 * free blocks.
 */
static bool replace(ScarpDrive *drive, uint32_t p, uint32_t index)
{
    uint32_t other;

    if (scarp_plane_free_blocks(drive, p) <= drive->desc.trigger_free_blocks ||
        !scarp_block_is_worn_out(drive, index)) {
        return false;
    }
    scarp_mark(drive, static_block_replaced);
    scarp_media_set_mode(drive, index, MODE_REAL);
    scarp_block_set_bad(drive, index);
    other = scarp_free_pop(drive, &drive->blocks.plane[p]);
    scarp_media_set_mode(drive, other, MODE_STATIC);
    static_push(drive, p, other);
    /* the plane has fewer free blocks, so a collection may be due */
    scarp_blocks_set_opened(drive, scarp_plane_die(drive, p));
    return true;
}

bool scarp_slc_erased(ScarpDrive *drive, uint32_t index, ScarpCellMode mode,
                      bool needed)
{
    uint32_t p = scarp_block_plane(drive, index);
    ScarpSlcPlane *slc;

    if (mode == MODE_REAL) {
        return false;
    }
    slc = &drive->blocks.slc[p];
    drive->slc_stats.slc_blocks--;
    if (mode == MODE_SLC) {
        slc->n_dynamic--;
        return false;
    }
    slc->n_static--;
    if (needed || !replace(drive, p, index)) {
        static_push(drive, p, index);
    }
    return true;
}
