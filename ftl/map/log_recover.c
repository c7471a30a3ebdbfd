/*
 * Recovery of the mappings block and fast from a power cut: decides which
 * blocks become data blocks and log blocks.
 *
 * A block can be a data block if all of its pages are of one logical block,
 * each at its own offset. If such a block has the newest copies of all pages of
 * its logical block, it is the target of a complete merge, or a log block
 * written in order. Such a complete block becomes the data block, and the other
 * blocks of that logical block are erased.
 *
 * If no block is complete, the oldest block that can be a data block becomes
 * the data block, and the others become log blocks, as far as the mapping has
 * room for log blocks. The remaining blocks are reclaimed by full merges before
 * the host may use the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/log_blocks.h"

enum { NO_GROUP = SCARP_NONE, MANY = SCARP_NONE - 1 };

/* A block, described by the pages found in it. */
typedef struct {
    uint32_t group;   /* logical block of all pages, or NO_GROUP, or MANY */
    bool in_place;    /* each readable page is at its own offset */
    bool in_order;    /* in_place, and no page is unreadable */
} Found;

static Found look_at(const ScarpDrive *drive, uint32_t block)
{
    const uint32_t *lpns = scarp_media_lpns(drive,
                                            scarp_block_ppn(drive, block));
    uint32_t p = scarp_block_plane(drive, block);
    Found found = { .group = NO_GROUP, .in_place = true, .in_order = true };

    for (uint32_t i = 0; i < scarp_block_written(drive, block); i++) {
        ScarpLogPage page;

        if (lpns[i] == SCARP_NONE) {
            found.in_order = false;
            continue;
        }
        page = scarp_log_page(drive, p, lpns[i]);
        found.in_place &= page.offset == i;
        if (found.group == NO_GROUP) {
            found.group = page.group;
        } else if (found.group != page.group) {
            found.group = MANY;
        }
    }
    found.in_place &= found.group != MANY && found.group != NO_GROUP;
    found.in_order &= found.in_place;
    return found;
}

/*
 * True when the block has the newest copy of every mapped page of the logical
 * block `group`, each at its own offset.
 */
static bool is_complete(const ScarpDrive *drive, uint32_t block, uint32_t group,
                        const uint32_t *ppn_of)
{
    for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
        uint32_t lpn = scarp_log_lpn(drive, group, i);
        uint32_t here = scarp_block_ppn(drive, block) + i;

        if (lpn != SCARP_NONE && ppn_of[lpn] != SCARP_NONE &&
            (scarp_media_lpn(drive, here) != lpn ||
             scarp_media_version(drive, here) !=
                 scarp_media_version(drive, ppn_of[lpn]))) {
            return false;
        }
    }
    return true;
}

static void choose(const ScarpDrive *drive, uint32_t block, uint32_t group,
                   uint32_t *ppn_of)
{
    uint32_t first = scarp_block_ppn(drive, block);

    for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
        uint32_t lpn = scarp_log_lpn(drive, group, i);

        if (lpn != SCARP_NONE && ppn_of[lpn] != SCARP_NONE) {
            scarp_mark_if(drive, found_complete, ppn_of[lpn] != first + i);
            ppn_of[lpn] = first + i;
        }
    }
}

/* ---- Roles of blocks ---------------------------------------------------- */

/*
 * Makes `block` a log block. With ftl.mapping=fast it becomes the sequential
 * log block or a shared log block. With ftl.mapping=block it becomes the log
 * block of its logical block. If that logical block has a log block already,
 * the new block gets the state BLOCK_APART, and scarp_logs_mend() merges it.
 */
static void make_log(ScarpDrive *drive, uint32_t block, const Found *found)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t p = scarp_block_plane(drive, block);
    ScarpLogPlane *plane = &logs->plane[p];

    if (drive->desc.mapping == MAPPING_FAST) {
        if (found->in_order && plane->sequential == SCARP_NONE) {
            plane->sequential = block;
            logs->block[block].group = found->group;
            logs->block[block].in_order = true;
            return;
        }
        /*
         * Host writes go to the newest random log block only. So the previous
         * newest one, which may have free pages, is closed.
         */
        if (plane->newest != SCARP_NONE) {
            scarp_block_close_early(drive, plane->newest);
        }
        logs->block[block].group = SCARP_NONE;
        logs->block[block].in_order = false;
        scarp_log_append(drive, p, block);
        return;
    }
    if (logs->log_of[found->group] != SCARP_NONE) {
        /*
         * A logical block can have only one log block. scarp_logs_mend() merges
         * this second log block before the host may use the drive.
         */
        scarp_mark(drive, mended_twins);
        scarp_block_recover(drive, block, BLOCK_APART);
        return;
    }
    logs->log_of[found->group] = block;
    logs->block[block].group = found->group;
    logs->block[block].in_order = found->in_order;
    scarp_log_append(drive, p, block);
}

static void make_use(ScarpDrive *drive, uint32_t block)
{
    ScarpLogs *logs = scarp_logs(drive);
    Found found = look_at(drive, block);

    scarp_block_recover(drive, block, BLOCK_OWNED);
    if (found.in_place && logs->data_of[found.group] == SCARP_NONE) {
        logs->data_of[found.group] = block;
    } else {
        make_log(drive, block, &found);
    }
}

void scarp_logs_recover(ScarpDrive *drive, uint32_t *ppn_of)
{
    g_autoptr(GArray) used = scarp_mend_used(drive);
    g_autofree uint32_t *newest = NULL;

    /*
     * If a logical block has several complete blocks, the block opened last
     * becomes the data block. Power failed before the blocks from which it was
     * merged were erased.
     */
    for (guint i = 0; i < used->len; i++) {
        uint32_t block = g_array_index(used, uint32_t, i);
        Found found = look_at(drive, block);

        if (found.in_place && is_complete(drive, block, found.group, ppn_of)) {
            choose(drive, block, found.group, ppn_of);
        }
    }
    newest = scarp_mend_count(drive, ppn_of);
    for (guint i = 0; i < used->len; i++) {
        uint32_t block = g_array_index(used, uint32_t, i);

        if (newest[block]) {
            make_use(drive, block);
        }
    }
}

/* ---- Mending ------------------------------------------------------------ */

/*
 * Returns a block of the plane that must be merged, as it has the state
 * BLOCK_APART and a valid unit. Returns SCARP_NONE if the plane has no such
 * block.
 */
static uint32_t find_apart(const ScarpDrive *drive, uint32_t p)
{
    uint32_t blocks = drive->desc.blocks_per_plane;

    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        if (scarp_block_state(drive, b) == BLOCK_APART &&
            scarp_block_valid(drive, b)) {
            return b;
        }
    }
    return SCARP_NONE;
}

/* Returns the logical block of the first valid page in block, or SCARP_NONE. */
static uint32_t group_in(const ScarpDrive *drive, uint32_t block)
{
    uint32_t first = scarp_block_ppn(drive, block);

    for (uint32_t i = 0; i < scarp_block_written(drive, block); i++) {
        if (scarp_unit_is_valid(drive, first + i)) {
            return scarp_log_page(drive, scarp_block_plane(drive, block),
                                  scarp_media_lpn(drive, first + i)).group;
        }
    }
    return SCARP_NONE;
}

/*
 * Takes *block out of the mapping, to be erased after the copies of `mend`, and
 * sets *block to SCARP_NONE.
 */
static void retire(ScarpDrive *drive, ScarpMend *mend, uint32_t *block)
{
    if (*block != SCARP_NONE) {
        scarp_block_recover(drive, *block, BLOCK_APART);
        scarp_mend_kill(drive, mend, *block);
        *block = SCARP_NONE;
    }
}

static void retire_log(ScarpDrive *drive, uint32_t p, ScarpMend *mend,
                       uint32_t block)
{
    scarp_log_remove(drive, p, block);
    retire(drive, mend, &block);
}

/*
 * Plans the merge of the logical block `group`: adds to `mend` the operations
 * that copy all its pages to a new data block, and then erase its old blocks.
 */
static void merge(ScarpDrive *drive, uint32_t p, ScarpMend *mend,
                  uint32_t group)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = logs->log_of[group], end = scarp_log_end(drive, group);
    uint32_t blocks = drive->desc.blocks_per_plane;

    for (uint32_t i = 0; i < end; i++) {
        uint32_t ppn = scarp_map_lookup(drive, scarp_log_lpn(drive, group, i));

        scarp_mend_add(drive, mend, ppn == SCARP_NONE ? SCARP_PAD : ppn);
    }
    mend->group = group;
    retire(drive, mend, &logs->data_of[group]);
    if (log != SCARP_NONE) {
        logs->log_of[group] = SCARP_NONE;
        retire_log(drive, p, mend, log);
    }
    if (logs->plane[p].sequential != SCARP_NONE &&
        logs->block[logs->plane[p].sequential].group == group) {
        retire(drive, mend, &logs->plane[p].sequential);
    }
    /* Blocks of the group that have no role (BLOCK_APART) are erased, too. */
    for (uint32_t b = p * blocks; b < (p + 1) * blocks; b++) {
        bool is_dead = false;

        for (uint32_t i = 0; i < mend->n_dead; i++) {
            is_dead |= mend->dead[i] == b;
        }
        if (!is_dead && scarp_block_state(drive, b) == BLOCK_APART &&
            scarp_block_valid(drive, b) && group_in(drive, b) == group) {
            scarp_mend_kill(drive, mend, b);
        }
    }
}

bool scarp_logs_mend(ScarpDrive *drive, uint32_t p, ScarpMend *mend)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t apart = find_apart(drive, p), log = logs->plane[p].oldest, group;

    if (apart != SCARP_NONE) {
        merge(drive, p, mend, group_in(drive, apart));
        return true;
    }
    if (log == SCARP_NONE ||
        /* Log blocks beyond ftl.log_blocks are merged later, as writes come. */
        (scarp_logs_count(drive, p) <= scarp_logs_room(drive, p) &&
         scarp_plane_is_sound(drive, p))) {
        return false;
    }
    scarp_mark(drive, mended_log);
    group = group_in(drive, log);
    if (group == SCARP_NONE) {
        retire_log(drive, p, mend, log);
    } else {
        merge(drive, p, mend, group);
    }
    return true;
}

static void make_data(ScarpDrive *drive, const ScarpMend *mend, uint32_t block)
{
    scarp_block_recover(drive, block, BLOCK_OWNED);
    scarp_logs(drive)->data_of[mend->group] = block;
}

void scarp_logs_mend_copied(ScarpDrive *drive, ScarpMend *mend,
                            uint32_t *target)
{
    if (*target != SCARP_NONE) {
        make_data(drive, mend, *target);
        *target = SCARP_NONE;
    }
}

void scarp_logs_mend_filled(ScarpDrive *drive, const ScarpMend *mend,
                            uint32_t block)
{
    make_data(drive, mend, block);
}
