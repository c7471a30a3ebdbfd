/*
 * Block mapping with shared log blocks (FAST). Each logical block has a data
 * block, in which its page i lies at offset i. A write that is not the next
 * page of the data block goes to a log block. Log blocks are of two kinds.
 *
 * A sequential log block begins with page 0 of a logical block, and gets the
 * pages that follow in order. All other writes go to the newest random log
 * block, which all logical blocks of the plane share.
 *
 * Random log blocks are reclaimed in the order in which they were opened. The
 * logical blocks that have valid pages in the log block are merged, one after
 * the other. Then the log block is erased.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/log_blocks.h"

/*
 * The log block that a page needs if it cannot go to its data block. LOG_MERGE
 * means that the sequential log block must be merged before the page can be
 * written.
 */
typedef enum { LOG_SEQUENTIAL, LOG_NEW_SEQUENTIAL, LOG_MERGE, LOG_RANDOM } Need;

static Need need_of(const ScarpDrive *drive, uint32_t p, ScarpLogPage page)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = logs->plane[p].sequential;

    if (!page.offset) {
        return log == SCARP_NONE ? LOG_NEW_SEQUENTIAL : LOG_MERGE;
    }
    if (log == SCARP_NONE || logs->block[log].group != page.group) {
        return LOG_RANDOM;
    }
    /*
     * The page's logical block has the sequential log block. If the page is not
     * the next one in order, that log block has to be merged first.
     */
    return scarp_block_written(drive, log) == page.offset ? LOG_SEQUENTIAL
                                                          : LOG_MERGE;
}

static bool is_full(const ScarpDrive *drive, uint32_t block)
{
    return scarp_block_written(drive, block) == drive->geo.units_per_block;
}

static uint32_t room(const ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    const ScarpLogPlane *plane = &scarp_logs(drive)->plane[p];
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    uint32_t block = scarp_log_in_place(drive, p, page);
    bool may_open = scarp_logs_may_open(drive, p);

    if (block != SCARP_NONE) {
        return block == SCARP_FRESH && !may_open ? SCARP_NONE : block;
    }
    switch (need_of(drive, p, page)) {
    case LOG_SEQUENTIAL:
        return plane->sequential;
    case LOG_NEW_SEQUENTIAL:
        return may_open ? SCARP_FRESH : SCARP_NONE;
    case LOG_MERGE:
        return SCARP_NONE;
    default:
        break;
    }
    if (plane->newest != SCARP_NONE && !is_full(drive, plane->newest)) {
        return plane->newest;
    }
    /*
     * Room for a sequential log block is always kept, so there may be one
     * random log block less than the limit.
     */
    return may_open && plane->n_logs + 1 < scarp_logs_max(drive, p)
               ? SCARP_FRESH : SCARP_NONE;
}

static uint32_t open(ScarpDrive *drive, uint32_t p, uint32_t lpn)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    bool in_place = scarp_log_in_place(drive, p, page) == SCARP_FRESH;
    uint32_t block = scarp_block_open(drive, p, SCARP_ORIGIN_HOST);

    if (in_place) {
        logs->data_of[page.group] = block;
    } else if (!page.offset) {
        logs->plane[p].sequential = block;
        logs->block[block].group = page.group;
        logs->block[block].in_order = true;
    } else {
        logs->block[block].group = SCARP_NONE;
        logs->block[block].in_order = false;
        scarp_log_append(drive, p, block);
    }
    return block;
}

static void wrote(ScarpDrive *drive G_GNUC_UNUSED, uint32_t p G_GNUC_UNUSED,
                  uint32_t lpn G_GNUC_UNUSED, uint32_t block G_GNUC_UNUSED)
{
}

static bool fits(const ScarpDrive *drive, uint32_t p, uint32_t lpn, uint32_t n,
                 const uint32_t *ahead, uint32_t n_ahead)
{
    const ScarpLogPlane *plane = &scarp_logs(drive)->plane[p];
    ScarpLogPage page = scarp_log_page(drive, p, lpn);
    ScarpLogAhead all = scarp_log_ahead(drive, p, lpn, ahead, n_ahead);
    bool may_open = scarp_plane_free_blocks(drive, p) >= all.others_data + 2;
    uint32_t log = plane->sequential, left = 0;

    if (scarp_log_in_place_behind(drive, p, page, all.data)) {
        return all.data ||
               scarp_logs(drive)->data_of[page.group] != SCARP_NONE || may_open;
    }
    if (!page.offset) {
        return log == SCARP_NONE && may_open;
    }
    if (log != SCARP_NONE &&
        scarp_logs(drive)->block[log].group == page.group) {
        return scarp_block_written(drive, log) + all.log == page.offset;
    }
    if (plane->newest != SCARP_NONE) {
        left = drive->geo.units_per_block -
               scarp_block_written(drive, plane->newest);
    }
    if (may_open && plane->n_logs + 1 < scarp_logs_max(drive, p)) {
        left += drive->geo.units_per_block;
    }
    /* all pages of ahead[] may go to these log blocks */
    return n + n_ahead <= left;
}

/* ---- Merges ------------------------------------------------------------- */

static bool is_settled(const ScarpDrive *drive, uint32_t block)
{
    return block == SCARP_NONE || scarp_block_settled(drive, block);
}

static bool plan_sequential(const ScarpDrive *drive, uint32_t p,
                            ScarpMerge *merge)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = logs->plane[p].sequential;
    uint32_t group = logs->block[log].group;

    if (!is_settled(drive, log) || !is_settled(drive, logs->data_of[group])) {
        scarp_mark(drive, merge_awaits_programs);
        return false;
    }
    merge->victim = log;
    merge->group = group;
    scarp_log_plan(drive, log, merge);
    return true;
}

/* Returns a valid page of the block, or SCARP_NONE. */
static uint32_t first_valid(const ScarpDrive *drive, uint32_t block)
{
    for (uint32_t i = 0; i < drive->geo.units_per_block; i += 64) {
        uint32_t first = scarp_block_ppn(drive, block) + i;
        uint64_t valid = scarp_valid_bits(
            drive, first, MIN(64, drive->geo.units_per_block - i));

        if (valid) {
            return first + __builtin_ctzll(valid);
        }
    }
    return SCARP_NONE;
}

/*
 * Plans the merge of one logical block that has a valid page in the random log
 * block `log`. If `log` has no valid page, plans its erase. Returns false while
 * a program is under way in `log`, or in another block of that logical block.
 */
static bool plan_random(const ScarpDrive *drive, uint32_t p, uint32_t log,
                        ScarpMerge *merge)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t ppn = first_valid(drive, log);
    uint32_t sequential = logs->plane[p].sequential;

    if (!is_settled(drive, log)) {
        return false;
    }
    merge->victim = log;
    if (ppn == SCARP_NONE) {
        scarp_mark(drive, shared_log_empty);
        merge->kind = SCARP_MERGE_ERASE;
        merge->group = SCARP_NONE;
        return true;
    }
    merge->group = scarp_log_page(drive, p, scarp_media_lpn(drive, ppn)).group;
    if (sequential == SCARP_NONE ||
        logs->block[sequential].group != merge->group) {
        sequential = SCARP_NONE;
    }
    if (!is_settled(drive, sequential) ||
        !is_settled(drive, logs->data_of[merge->group])) {
        return false;
    }
    if (sequential != SCARP_NONE) {
        scarp_mark(drive, random_took_sequential);
        /*
         * The sequential log block has pages of the same logical block. The
         * merge copies its valid pages, too, so that block is erased as well.
         */
        merge->dead[merge->n_dead++] = sequential;
    }
    scarp_log_plan(drive, SCARP_NONE, merge);
    return true;
}

static bool plan(const ScarpDrive *drive, uint32_t p, uint32_t lpn,
                 ScarpMerge *merge)
{
    const ScarpLogPlane *plane = &scarp_logs(drive)->plane[p];
    bool stuck = lpn != SCARP_NONE, sequential = false;

    if (stuck) {
        ScarpLogPage page = scarp_log_page(drive, p, lpn);

        sequential = scarp_log_in_place(drive, p, page) == SCARP_NONE &&
                     need_of(drive, p, page) == LOG_MERGE;
    }
    /*
     * A full sequential log block can become the data block without copies (a
     * switch merge), so it is merged first.
     */
    if (plane->sequential != SCARP_NONE &&
        (sequential || is_full(drive, plane->sequential))) {
        scarp_mark_if(drive, sequential_merged_first, sequential);
        return plan_sequential(drive, p, merge);
    }
    if (plane->oldest != SCARP_NONE &&
        (stuck || is_full(drive, plane->oldest))) {
        return plan_random(drive, p, plane->oldest, merge);
    }
    scarp_mark_if(drive, sequential_for_room,
                  stuck && plane->sequential != SCARP_NONE);
    return stuck && plane->sequential != SCARP_NONE &&
           plan_sequential(drive, p, merge);
}

static void begin(ScarpDrive *drive, uint32_t p, ScarpMerge *merge)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t log = logs->plane[p].sequential;

    /*
     * If the merged logical block owns the sequential log block, the merge
     * either copies that block's pages or turns it into the data block. From
     * now on the plane has no sequential log block.
     */
    if (log != SCARP_NONE && logs->block[log].group == merge->group) {
        logs->plane[p].sequential = SCARP_NONE;
    }
    scarp_log_begin(drive, p, merge);
}

static void finish(ScarpDrive *drive, uint32_t p, ScarpMerge *merge)
{
    uint32_t log = scarp_logs(drive)->plane[p].oldest;

    if (merge->group != SCARP_NONE) {
        scarp_logs(drive)->data_of[merge->group] = merge->target;
    }
    /*
     * If the merge copied the last valid page of the oldest random log block,
     * the merge also erases that log block.
     */
    if (log != SCARP_NONE && log == merge->victim &&
        !scarp_block_valid(drive, log) && scarp_block_settled(drive, log)) {
        scarp_log_remove(drive, p, log);
        merge->dead[merge->n_dead++] = log;
    }
}

/* ---- RAM ---------------------------------------------------------------- */

/*
 * For each page of a log block, RAM stores four bytes: the page's logical block
 * and its offset there. A shared log block has pages of any logical block, so
 * the offset alone would not do.
 */
static uint64_t ram_bytes(const ScarpDrive *drive)
{
    return scarp_logs_ram_bytes(drive, 4);
}

const ScarpMappingOps scarp_mapping_fast = {
    .name = "fast",
    .help = "an entry per logical block, and log blocks that all share",
    .source = "Lee et al. 2007",
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
