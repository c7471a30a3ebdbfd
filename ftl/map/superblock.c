/*
 * Superblock mapping: a superblock is a group of adjacent logical blocks, and
 * has flash blocks of its own. A page of the superblock may lie anywhere in
 * these flash blocks. Writes fill one of the blocks at a time
 * (ScarpSuper.current). If a superblock has more flash blocks than logical
 * blocks, those in excess are called update blocks.
 *
 * A merge reclaims a block of a superblock that has update blocks, beginning
 * with the superblock written least recently. The merge takes the superblock's
 * block with the fewest valid pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/superblock.h"

static bool init(ScarpDrive *drive, GError **error G_GNUC_UNUSED)
{
    ScarpSupers *supers = g_new0(ScarpSupers, 1);
    const ScarpGeometry *geo = &drive->geo;
    uint32_t pages = geo->mapped_units / geo->n_planes;

    drive->map.state = supers;
    supers->width = drive->desc.superblock_blocks;
    supers->by_width = scarp_divisor(supers->width);
    supers->blocks = (pages + geo->units_per_block - 1) / geo->units_per_block;
    supers->n = (supers->blocks + supers->width - 1) / supers->width;
    supers->plane_of = g_new(uint32_t, geo->n_planes);
    for (uint32_t i = 0; i < geo->n_planes; i++) {
        supers->plane_of[i] = scarp_plane_in_order(&drive->desc, i);
    }
    supers->super = g_new(ScarpSuper, supers->n * geo->n_planes);
    for (uint32_t s = 0; s < supers->n * geo->n_planes; s++) {
        supers->super[s] = (ScarpSuper) { .first = SCARP_NONE,
                                          .current = SCARP_NONE };
    }
    supers->block = scarp_table_zeroed((uint64_t)geo->n_blocks *
                                       sizeof(ScarpSuperBlock));
    supers->plane = g_new(ScarpSuperPlane, geo->n_planes);
    for (uint32_t p = 0; p < geo->n_planes; p++) {
        supers->plane[p] = (ScarpSuperPlane) { SCARP_NONE, SCARP_NONE, 0 };
    }
    return true;
}

static void clear(ScarpDrive *drive)
{
    ScarpSupers *supers = scarp_supers(drive);

    if (supers) {
        g_free(supers->plane_of);
        g_free(supers->super);
        scarp_table_free(supers->block);
        g_free(supers->plane);
        g_free(supers);
    }
}

/* ---- The blocks of a superblock, and who has update blocks -------------- */

static void append(ScarpSupers *supers, uint32_t s)
{
    ScarpSuperPlane *plane = &supers->plane[s / supers->n];

    supers->super[s].older = plane->newest;
    supers->super[s].newer = SCARP_NONE;
    *(plane->newest == SCARP_NONE ? &plane->oldest
                                  : &supers->super[plane->newest].newer) = s;
    plane->newest = s;
}

static void leave(ScarpSupers *supers, uint32_t s)
{
    ScarpSuperPlane *plane = &supers->plane[s / supers->n];
    const ScarpSuper *super = &supers->super[s];

    *(super->older == SCARP_NONE ? &plane->oldest
                                 : &supers->super[super->older].newer) =
        super->newer;
    *(super->newer == SCARP_NONE ? &plane->newest
                                 : &supers->super[super->newer].older) =
        super->older;
}

void scarp_super_touch(ScarpSupers *supers, uint32_t s)
{
    leave(supers, s);
    append(supers, s);
}

void scarp_super_add(ScarpDrive *drive, uint32_t s, uint32_t block)
{
    ScarpSupers *supers = scarp_supers(drive);
    ScarpSuper *super = &supers->super[s];
    bool had = scarp_super_has_updates(supers, s);

    supers->block[block] = (ScarpSuperBlock) { super->first, SCARP_NONE, s };
    if (super->first != SCARP_NONE) {
        supers->block[super->first].prev = block;
    }
    super->first = block;
    super->n++;
    supers->plane[s / supers->n].updates += scarp_super_has_updates(supers, s);
    if (scarp_super_has_updates(supers, s) && !had) {
        append(supers, s);
    }
}

void scarp_super_drop(ScarpDrive *drive, uint32_t block)
{
    ScarpSupers *supers = scarp_supers(drive);
    ScarpSuperBlock link = supers->block[block];
    ScarpSuper *super = &supers->super[link.super];

    supers->plane[link.super / supers->n].updates -=
        scarp_super_has_updates(supers, link.super);
    *(link.prev == SCARP_NONE ? &super->first
                              : &supers->block[link.prev].next) = link.next;
    if (link.next != SCARP_NONE) {
        supers->block[link.next].prev = link.prev;
    }
    super->n--;
    super->current = super->current == block ? SCARP_NONE : super->current;
    if (super->n == scarp_super_width(supers, link.super)) {
        leave(supers, link.super);
    }
}

/* ---- Places of pages ---------------------------------------------------- */

/* True when `block` has an unprogrammed page. SCARP_NONE has none. */
static bool has_room(const ScarpDrive *drive, uint32_t block)
{
    return block != SCARP_NONE && scarp_block_written(drive, block) <
                                      drive->geo.units_per_block;
}

static uint32_t room(const ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    const ScarpSupers *supers = scarp_supers(drive);
    const ScarpMerge *merge = &drive->map.merge[p];
    uint32_t s = scarp_super_of(drive, p, lpn);
    const ScarpSuper *super = &supers->super[s];

    if (has_room(drive, super->current)) {
        return super->current;
    }
    scarp_mark_if(drive, superblock_awaits_merge,
                  merge->kind && !merge->switched && merge->group == s);
    /*
     * While a merge of superblock s copies pages, the host may not open a block
     * for s. The merge opens a block for its copies, which becomes the current
     * block.
     */
    if ((merge->kind && !merge->switched && merge->group == s) ||
        scarp_plane_free_blocks(drive, p) < 2) {
        return SCARP_NONE;
    }
    return super->n < scarp_super_width(supers, s) ||
                   !drive->desc.log_blocks ||
                   supers->plane[p].updates < drive->desc.log_blocks
               ? SCARP_FRESH : SCARP_NONE;
}

static uint32_t open(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    uint32_t block = scarp_block_open(drive, p, SCARP_ORIGIN_HOST);
    uint32_t s = scarp_super_of(drive, p, lpn);

    scarp_super_add(drive, s, block);
    scarp_supers(drive)->super[s].current = block;
    return block;
}

static void wrote(ScarpDrive *drive, uint32_t p, uint32_t lpn,
                  uint32_t block G_GNUC_UNUSED)
{
    ScarpSupers *supers = scarp_supers(drive);
    uint32_t s = scarp_super_of(drive, p, lpn);

    if (supers->plane[p].newest != s && scarp_super_has_updates(supers, s)) {
        scarp_super_touch(supers, s);
    }
}

/* Returns how many pages the current block of superblock s has left. */
static uint32_t pages_left(const ScarpDrive *drive, uint32_t s)
{
    uint32_t block = scarp_supers(drive)->super[s].current;

    return block == SCARP_NONE ? 0 : drive->geo.units_per_block -
                                         scarp_block_written(drive, block);
}

/*
 * Returns a number that no superblock has in `seen` yet. A walk writes this
 * number into `seen` to note the superblocks that it has met.
 */
static uint32_t next_look(ScarpSupers *supers, uint32_t n_supers)
{
    if (!++supers->look) {
        for (uint32_t s = 0; s < n_supers; s++) {
            supers->super[s].seen = 0;
        }
        supers->look = 1;
    }
    return supers->look;
}

static bool fits(const ScarpDrive *drive, uint32_t p, uint32_t lpn, uint32_t n,
                 const uint32_t *ahead, uint32_t n_ahead)
{
    ScarpSupers *supers = scarp_supers(drive);
    uint32_t s = scarp_super_of(drive, p, lpn), left = pages_left(drive, s);
    uint32_t look = next_look(supers, supers->n * drive->geo.n_planes);
    uint32_t opened = 0, updates = 0; /* blocks opened by other superblocks */
    const ScarpMerge *merge = &drive->map.merge[p];

    for (uint32_t i = 0; i < n_ahead; i++) {
        uint32_t other = scarp_super_of(drive, p, ahead[i]);
        bool seen = supers->super[other].seen == look;

        supers->super[other].seen = look;
        if (other == s) {
            n++;
        } else if (!seen && !pages_left(drive, other)) {
            opened++;
            updates += supers->super[other].n >=
                       scarp_super_width(supers, other);
        }
    }
    if (n <= left) {
        return true;
    }
    if ((merge->kind && !merge->switched && merge->group == s) ||
        scarp_plane_free_blocks(drive, p) < opened + 2) {
        return false;
    }
    return n <= left + drive->geo.units_per_block &&
           (supers->super[s].n < scarp_super_width(supers, s) ||
            !drive->desc.log_blocks ||
            supers->plane[p].updates + updates < drive->desc.log_blocks);
}

/* ---- Merges ------------------------------------------------------------- */

/*
 * Returns the block of superblock s with the fewest valid pages. Blocks whose
 * pages are all valid, or in which a program is under way, are no candidates.
 * Returns SCARP_NONE if no candidate is left.
 */
static uint32_t fewest(const ScarpDrive *drive, uint32_t s)
{
    const ScarpSupers *supers = scarp_supers(drive);
    const ScarpSuper *super = &supers->super[s];
    uint32_t best = SCARP_NONE, least = drive->geo.units_per_block;

    for (uint32_t b = super->first; b != SCARP_NONE;
         b = supers->block[b].next) {
        uint32_t valid = scarp_block_valid(drive, b);

        /*
         * The host still writes to the current block, so it is not reclaimed
         * while it has a valid page.
         */
        if (b == super->current && has_room(drive, b) && valid) {
            continue;
        }
        if (valid < least && scarp_block_settled(drive, b)) {
            least = valid;
            best = b;
        }
    }
    return best;
}

static bool plan(const ScarpDrive *drive, uint32_t p,
                 uint32_t lpn G_GNUC_UNUSED, ScarpMerge *merge)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint32_t s = supers->plane[p].oldest, valid, left = 0, current;

    for (; s != SCARP_NONE; s = supers->super[s].newer) {
        merge->victim = fewest(drive, s);
        if (merge->victim != SCARP_NONE) {
            break;
        }
    }
    if (s == SCARP_NONE) {
        scarp_mark_if(drive, merge_awaits_programs,
                      supers->plane[p].oldest != SCARP_NONE);
        return false;
    }
    merge->dead[merge->n_dead++] = merge->victim;
    current = supers->super[s].current;
    if (current != merge->victim && has_room(drive, current)) {
        scarp_mark(drive, merged_into_current);
        merge->target = current;
        left = drive->geo.units_per_block - scarp_block_written(drive, current);
    }
    valid = scarp_block_valid(drive, merge->victim);
    merge->kind = !valid ? SCARP_MERGE_SWITCH
                  : valid <= left ? SCARP_MERGE_PARTIAL : SCARP_MERGE_FULL;
    merge->group = s;
    merge->end = valid ? scarp_block_written(drive, merge->victim) : 0;
    return true;
}

static void begin(ScarpDrive *drive, uint32_t p G_GNUC_UNUSED,
                  ScarpMerge *merge)
{
    ScarpSuper *super = &scarp_supers(drive)->super[merge->group];

    if (super->current == merge->victim) {
        super->current = SCARP_NONE;
    }
}

static uint32_t copies_left(const ScarpDrive *drive, const ScarpMerge *merge)
{
    uint32_t first = scarp_block_ppn(drive, merge->victim), n = 0;

    for (uint32_t page = merge->next; page < merge->end; page += 64) {
        n += __builtin_popcountll(scarp_valid_bits(
            drive, first + page, MIN(64, merge->end - page)));
    }
    return n;
}

static uint32_t source_page(const ScarpDrive *drive, ScarpMerge *merge)
{
    uint32_t first = scarp_block_ppn(drive, merge->victim);

    while (merge->next < merge->end) {
        uint32_t ppn = first + merge->next++;

        if (scarp_unit_is_valid(drive, ppn)) {
            return ppn;
        }
    }
    return SCARP_NONE;
}

static uint32_t target(ScarpDrive *drive, uint32_t p, ScarpMerge *merge)
{
    if (!has_room(drive, merge->target)) {
        scarp_mark(drive, merge_opened_block);
        merge->target = scarp_block_open(drive, p, SCARP_ORIGIN_GC);
        scarp_super_add(drive, merge->group, merge->target);
    }
    return merge->target;
}

static void finish(ScarpDrive *drive, uint32_t p G_GNUC_UNUSED,
                   ScarpMerge *merge)
{
    ScarpSuper *super = &scarp_supers(drive)->super[merge->group];

    if (!has_room(drive, super->current) && has_room(drive, merge->target)) {
        super->current = merge->target;
    }
    scarp_super_drop(drive, merge->victim);
}

/* ---- RAM ---------------------------------------------------------------- */

/*
 * Adds up the RAM: 4 bytes for each block, to link it to its superblock; for
 * each LPN enough bits to number all pages of a superblock; and a valid bit for
 * each page. The paper stores the page numbers in spare areas on flash instead.
 */
static uint64_t ram_bytes(const ScarpDrive *drive)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint64_t spare = drive->desc.blocks_per_plane - supers->blocks;
    uint64_t pages = (supers->width + (drive->desc.log_blocks
                                           ? drive->desc.log_blocks : spare)) *
                     drive->geo.units_per_block;
    uint64_t bits = 64 - __builtin_clzll(pages - 1);

    return 4ull * drive->geo.n_blocks + drive->geo.mapped_units * bits / 8 +
           scarp_geometry_units(&drive->geo) / 8;
}

static uint64_t group_blocks(const ScarpDrive *drive)
{
    return drive->desc.superblock_blocks;
}

const ScarpMappingOps scarp_mapping_superblock = {
    .name = "superblock",
    .help = "an entry per superblock, and pages anywhere in its blocks",
    .source = "Kang et al. 2006; the H-FTL of hios-isca14 section 2.3",
    .can = MAP_BY_BLOCK,
    .group_blocks = group_blocks,
    .init = init,
    .clear = clear,
    .ram_bytes = ram_bytes,
    .check = scarp_supers_check,
    .room = room,
    .open = open,
    .wrote = wrote,
    .fits = fits,
    .plan = plan,
    .begin = begin,
    .copies_left = copies_left,
    .source_page = source_page,
    .target = target,
    .finish = finish,
    .persist = scarp_supers_persist,
    .may_hold = scarp_supers_may_hold,
    .recover = scarp_supers_recover,
    .mend = scarp_supers_mend,
    .mend_copied = scarp_supers_mend_copied,
    .mend_filled = scarp_supers_mend_filled,
};
