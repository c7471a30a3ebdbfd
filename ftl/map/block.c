/*
 * Block mapping with log blocks (BAST). Each logical block has a data block, in
 * which page i of the logical block lies at offset i. A write that is not the
 * next page of the data block goes to the logical block's log block, at any
 * offset. When room is needed, the log block that was written least recently is
 * merged first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/log_blocks.h"

static uint32_t room(const ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    const ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    uint32_t block = scarp_log_in_place(drive, p, page), log;

    if (block != SCARP_NONE) {
        return block == SCARP_FRESH && !scarp_logs_may_open(drive, p)
                   ? SCARP_NONE : block;
    }
    log = logs->log_of[page.group];
    if (log == SCARP_NONE) {
        return logs->plane[p].n_logs < scarp_logs_max(drive, p) &&
                       scarp_logs_may_open(drive, p)
                   ? SCARP_FRESH : SCARP_NONE;
    }
    return scarp_block_written(drive, log) < drive->geo.units_per_block
               ? log : SCARP_NONE;
}

static uint32_t open(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    bool in_place = scarp_log_in_place(drive, p, page) == SCARP_FRESH;
    uint32_t block = scarp_block_open(drive, p, SCARP_ORIGIN_HOST);

    if (in_place) {
        logs->data_of[page.group] = block;
        return block;
    }
    logs->log_of[page.group] = block;
    logs->block[block].group = page.group;
    logs->block[block].in_order = true;
    scarp_log_append(drive, p, block);
    return block;
}

static void wrote(ScarpDrive *drive, uint32_t p, uint32_t lpn, uint32_t block)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPage page = scarp_log_page(drive, p, lpn);

    if (block != logs->log_of[page.group]) {
        return;
    }
    logs->block[block].in_order &= scarp_block_written(drive, block) ==
                                   page.offset;
    if (logs->plane[p].newest != block) {
        scarp_log_remove(drive, p, block);
        scarp_log_append(drive, p, block);
    }
}

static bool fits(const ScarpDrive *drive, uint32_t p, uint32_t lpn, uint32_t n,
                 const uint32_t *ahead, uint32_t n_ahead)
{
    const ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    ScarpLogAhead all = scarp_log_ahead(drive, p, lpn, ahead, n_ahead);
    uint32_t log = logs->log_of[page.group];
    uint32_t opened = all.others_data + all.others_log;
    /*
     * The pages ahead of lpn may open `opened` blocks, and lpn one block more.
     * A merge needs another free block.
     */
    bool may_open = scarp_plane_free_blocks(drive, p) >= opened + 2;

    if (scarp_log_in_place_behind(drive, p, page, all.data)) {
        return all.data || logs->data_of[page.group] != SCARP_NONE || may_open;
    }
    if (log == SCARP_NONE) {
        return may_open && logs->plane[p].n_logs + all.others_log <
                               scarp_logs_max(drive, p) &&
               all.log + n <= drive->geo.units_per_block;
    }
    return scarp_block_written(drive, log) + all.log + n <=
           drive->geo.units_per_block;
}

/* ---- Merges ------------------------------------------------------------- */

/*
 * True when no program is under way in the log block, nor in the data block of
 * the same logical block. The two blocks may be merged only then.
 */
static bool is_settled(const ScarpDrive *drive, uint32_t log)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t data = logs->data_of[logs->block[log].group];

    return scarp_block_settled(drive, log) &&
           (data == SCARP_NONE || scarp_block_settled(drive, data));
}

static bool plan(const ScarpDrive *drive, uint32_t p, uint32_t lpn,
                 ScarpMerge *merge)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = SCARP_NONE;

    if (lpn != SCARP_NONE) {
        log = logs->log_of[scarp_log_page(drive, p, lpn).group];
    }
    /*
     * If the logical block of lpn has no log block, or a log block with free
     * pages, then the plane lacks free blocks: its oldest log block is merged.
     */
    if (log == SCARP_NONE ||
        scarp_block_written(drive, log) < drive->geo.units_per_block) {
        log = logs->plane[p].oldest;
        while (log != SCARP_NONE && !is_settled(drive, log)) {
            log = logs->block[log].newer;
        }
    }
    scarp_mark_if(drive, merge_awaits_programs,
                  logs->plane[p].oldest != SCARP_NONE &&
                  (log == SCARP_NONE || !is_settled(drive, log)));
    if (log == SCARP_NONE || !is_settled(drive, log)) {
        return false;
    }
    merge->victim = log;
    merge->group = logs->block[log].group;
    scarp_log_plan(drive, log, merge);
    return true;
}

static void begin(ScarpDrive *drive, uint32_t p, ScarpMerge *merge)
{
    scarp_log_remove(drive, p, merge->victim);
    scarp_logs(drive)->log_of[merge->group] = SCARP_NONE;
    scarp_log_begin(drive, p, merge);
}

static void finish(ScarpDrive *drive, uint32_t p G_GNUC_UNUSED,
                   ScarpMerge *merge)
{
    scarp_logs(drive)->data_of[merge->group] = merge->target;
}

/* ---- RAM ---------------------------------------------------------------- */

/*
 * For each page of a log block, RAM stores the page's offset in the logical
 * block, in two bytes.
 */
static uint64_t ram_bytes(const ScarpDrive *drive)
{
    return scarp_logs_ram_bytes(drive, 2);
}

const ScarpMappingOps scarp_mapping_block = {
    .name = "block",
    .help = "an entry per logical block, and log blocks, each of one of them",
    .source = "Kim et al. 2002; the B-FTL of hios-isca14 section 2.3",
    .can = MAP_BY_BLOCK,
    .group_blocks = scarp_logs_group_blocks,
    .init = scarp_logs_init,
    .clear = scarp_logs_clear,
    .ram_bytes = ram_bytes,
    .check = scarp_logs_check,
    .may_hold = scarp_logs_may_hold,
    .recover = scarp_logs_recover,
    .mend = scarp_logs_mend,
    .mend_copied = scarp_logs_mend_copied,
    .mend_filled = scarp_logs_mend_filled,
    .room = room,
    .open = open,
    .wrote = wrote,
    .mapped = scarp_logs_mapped,
    .fits = fits,
    .plan = plan,
    .begin = begin,
    .source_page = scarp_log_source,
    .target = scarp_log_target,
    .finish = finish,
    .needs_all = scarp_logs_need_all,
    .persist = scarp_logs_persist,
};
