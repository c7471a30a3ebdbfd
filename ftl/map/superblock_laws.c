/*
 * Invariants of superblock mapping, and the parts of its tables that an image
 * contains.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/superblock.h"

/* True when the plane's merge copies pages from or to the block. */
static bool is_merged(const ScarpDrive *drive, uint32_t block)
{
    const ScarpMerge *merge =
        &drive->map.merge[scarp_block_plane(drive, block)];

    return merge->kind && (merge->victim == block || merge->target == block);
}

/*
 * Checks that each block in the list of superblock s is in no other list, and
 * that the current block of superblock s is in this list.
 */
static bool check_super(const ScarpDrive *drive, bool *named, uint32_t s,
                        GError **error)
{
    const ScarpSupers *supers = scarp_supers(drive);
    const ScarpSuper *super = &supers->super[s];
    uint32_t n = 0, last = SCARP_NONE, left = SCARP_NONE;
    bool current = super->current == SCARP_NONE;

    for (uint32_t b = super->first; b != SCARP_NONE;
         b = supers->block[b].next) {
        if (named[b] || scarp_block_state(drive, b) != BLOCK_OWNED ||
            supers->block[b].super != s || supers->block[b].prev != last ||
            scarp_block_plane(drive, b) != s / supers->n) {
            return scarp_law_differs(error, "superblock of block", b,
                                     supers->block[b].super, s);
        }
        named[b] = true;
        if (b != super->current && !is_merged(drive, b) &&
            scarp_block_written(drive, b) != drive->geo.units_per_block) {
            left = b;
        }
        current |= b == super->current;
        last = b;
        n++;
    }
    if (!current) {
        return scarp_law_differs(error, "current block of superblock", s,
                                 super->current, super->first);
    }
    if (n != super->n) {
        return scarp_law_differs(error, "blocks of superblock", s, super->n, n);
    }
    /*
     * Only the current block and the blocks of a merge may be written in part.
     */
    return left == SCARP_NONE ||
           scarp_law_differs(error, "pages of full block", left,
                             scarp_block_written(drive, left),
                             drive->geo.units_per_block);
}

/*
 * Checks that the plane's list (ScarpSuperPlane) has exactly the superblocks
 * with update blocks.
 */
static bool check_plane(const ScarpDrive *drive, bool *named, uint32_t p,
                        GError **error)
{
    const ScarpSupers *supers = scarp_supers(drive);
    const ScarpSuperPlane *plane = &supers->plane[p];
    const ScarpMerge *merge = &drive->map.merge[p];
    uint32_t updates = 0, with = 0, listed = 0, last = SCARP_NONE;

    for (uint32_t s = p * supers->n; s < (p + 1) * supers->n; s++) {
        if (!check_super(drive, named, s, error)) {
            return false;
        }
        if (scarp_super_has_updates(supers, s)) {
            updates += supers->super[s].n - scarp_super_width(supers, s);
            with++;
        }
    }
    for (uint32_t s = plane->oldest; s != SCARP_NONE && listed <= with;
         s = supers->super[s].newer) {
        if (!scarp_super_has_updates(supers, s) ||
            supers->super[s].older != last) {
            return scarp_law_differs(error, "superblock before superblock", s,
                                     supers->super[s].older, last);
        }
        last = s;
        listed++;
    }
    if (listed != with || plane->newest != last) {
        return scarp_law_differs(
            error, "superblocks with update blocks of plane", p, listed, with);
    }
    if (merge->kind && merge->erasing != SCARP_NONE) {
        named[merge->erasing] = true;
    }
    /*
     * A merge has taken the blocks that it will erase out of their superblocks.
     * named[] has them nevertheless, so that they do not look lost.
     */
    for (uint32_t i = 0; merge->kind && merge->switched && i < merge->n_dead;
         i++) {
        named[merge->dead[i]] = true;
    }
    return updates == plane->updates ||
           scarp_law_differs(error, "update blocks of plane", p, plane->updates,
                             updates);
}

bool scarp_supers_check(const ScarpDrive *drive, GError **error)
{
    const ScarpSupers *supers = scarp_supers(drive);
    g_autofree bool *named = g_new0(bool, drive->geo.n_blocks);

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        if (!check_plane(drive, named, p, error)) {
            return false;
        }
    }
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        if (named[b] != (scarp_block_state(drive, b) == BLOCK_OWNED)) {
            return scarp_law_differs(error, "role of mapped block", b, named[b],
                                     !named[b]);
        }
    }
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        uint32_t ppn = scarp_map_lookup(drive, lpn), block, s;

        if (ppn == SCARP_NONE) {
            continue;
        }
        block = scarp_ppn_block(drive, ppn);
        s = scarp_super_of(drive, supers->plane_of[lpn % drive->geo.n_planes],
                           lpn);
        if (supers->block[block].super != s) {
            return scarp_law_differs(error, "place of logical unit", lpn,
                                     supers->block[block].super, s);
        }
    }
    return true;
}

/* ---- Images ------------------------------------------------------------- */

static void load_block(ScarpDrive *drive, uint32_t s, uint32_t block,
                       bool *named, ScarpVisit *visit)
{
    if (named[block] || scarp_block_state(drive, block) != BLOCK_OWNED) {
        scarp_visit_fail(visit, "block %u is of two superblocks, or of none",
                         block);
        return;
    }
    named[block] = true;
    scarp_super_add(drive, s, block);
}

static void visit_super(ScarpDrive *drive, uint32_t s, bool *named,
                        ScarpVisit *visit)
{
    const ScarpSupers *supers = scarp_supers(drive);
    ScarpSuper *super = &supers->super[s];
    uint32_t blocks = drive->desc.blocks_per_plane, n = super->n;
    uint32_t first = s / supers->n * blocks, b = super->first;
    bool current = super->current != SCARP_NONE;

    /*
     * Saving begins with the last block of the list, because loading inserts
     * each block at the head.
     */
    while (!visit->loading && b != SCARP_NONE &&
           supers->block[b].next != SCARP_NONE) {
        b = supers->block[b].next;
    }
    scarp_visit_u32(visit, "blocks of a superblock", &n, 0, blocks);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        scarp_visit_u32(visit, "a superblock's block", &b, first,
                        first + blocks - 1);
        if (visit->loading && !visit->problem) {
            load_block(drive, s, b, named, visit);
        } else if (!visit->loading) {
            b = supers->block[b].prev;
        }
    }
    scarp_visit_bool(visit, "a current block", &current);
    if (current) {
        scarp_visit_u32(visit, "a current block", &super->current, first,
                        first + blocks - 1);
    }
}

/*
 * Saves or loads the plane's list of superblocks with update blocks, the least
 * recently written superblock first.
 */
static void visit_order(ScarpDrive *drive, uint32_t p, ScarpVisit *visit)
{
    ScarpSupers *supers = scarp_supers(drive);
    uint32_t n = 0, s = supers->plane[p].oldest, first = p * supers->n;

    for (uint32_t i = s; i != SCARP_NONE; i = supers->super[i].newer) {
        n++;
    }
    scarp_visit_u32(visit, "superblocks with update blocks", &n, n,
                    visit->loading ? n : supers->n);
    for (uint32_t i = 0; i < n && !visit->problem; i++) {
        scarp_visit_u32(visit, "a superblock with update blocks", &s, first,
                        first + supers->n - 1);
        if (!visit->loading) {
            s = supers->super[s].newer;
        } else if (scarp_super_has_updates(supers, s)) {
            scarp_super_touch(supers, s);
        } else {
            scarp_visit_fail(visit, "superblock %u has no update blocks", s);
        }
    }
}

void scarp_supers_persist(ScarpDrive *drive, ScarpVisit *visit)
{
    g_autofree bool *named = g_new0(bool, drive->geo.n_blocks);
    const ScarpSupers *supers = scarp_supers(drive);
    g_autoptr(GError) error = NULL;

    for (uint32_t p = 0; p < drive->geo.n_planes && !visit->problem; p++) {
        for (uint32_t s = p * supers->n;
             s < (p + 1) * supers->n && !visit->problem; s++) {
            visit_super(drive, s, named, visit);
        }
        if (!visit->problem) {
            visit_order(drive, p, visit);
        }
    }
    if (visit->loading && !visit->problem &&
        !scarp_supers_check(drive, &error)) {
        scarp_visit_fail(visit, "%s", error->message);
    }
}

/*
 * True when the LPN that is stored at ppn may be there. Static allocation must
 * give the LPN to ppn's plane, and the LPN must be of the same superblock as
 * the first LPN in the block.
 */
bool scarp_supers_may_hold(const ScarpDrive *drive, uint32_t ppn)
{
    const ScarpSupers *supers = scarp_supers(drive);
    uint32_t p = scarp_ppn_plane(drive, ppn), lpn = scarp_media_lpn(drive, ppn);
    uint32_t first = scarp_block_ppn(drive, scarp_ppn_block(drive, ppn));

    while (scarp_media_lpn(drive, first) == SCARP_NONE) {
        first++;
    }
    return supers->plane_of[lpn % drive->geo.n_planes] == p &&
           scarp_super_of(drive, p, lpn) ==
               scarp_super_of(drive, p, scarp_media_lpn(drive, first));
}
