/*
 * Tables and merges that the mappings block and fast share. The tables have an
 * entry for each logical block, which has log blocks for updates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "map/log_blocks.h"

bool scarp_logs_init(ScarpDrive *drive, GError **error)
{
    ScarpLogs *logs = g_new0(ScarpLogs, 1);
    const ScarpGeometry *geo = &drive->geo;
    uint32_t pages = geo->mapped_units / geo->n_planes;
    uint32_t groups = (pages + geo->units_per_block - 1) /
                      geo->units_per_block;

    drive->map.state = logs;
    logs->groups = groups;
    logs->turn_of = g_new(uint32_t, geo->n_planes);
    for (uint32_t i = 0; i < geo->n_planes; i++) {
        logs->turn_of[scarp_plane_in_order(&drive->desc, i)] = i;
    }
    logs->data_of = scarp_table_none((uint64_t)groups * geo->n_planes, error);
    logs->log_of = scarp_table_none((uint64_t)groups * geo->n_planes, error);
    if (!logs->data_of || !logs->log_of) {
        return false;
    }
    logs->seen = scarp_table_zeroed((uint64_t)groups * geo->n_planes *
                                    sizeof(*logs->seen));
    logs->end_of = scarp_table_zeroed((uint64_t)groups * geo->n_planes *
                                      sizeof(*logs->end_of));
    logs->block = scarp_table_zeroed((uint64_t)geo->n_blocks *
                                     sizeof(ScarpLogBlock));
    logs->plane = scarp_table_zeroed(geo->n_planes * sizeof(ScarpLogPlane));
    for (uint32_t p = 0; p < geo->n_planes; p++) {
        logs->plane[p] = (ScarpLogPlane) { SCARP_NONE, SCARP_NONE, 0,
                                           SCARP_NONE };
    }
    return true;
}

void scarp_logs_clear(ScarpDrive *drive)
{
    ScarpLogs *logs = scarp_logs(drive);

    if (logs) {
        g_free(logs->turn_of);
        scarp_table_free(logs->data_of);
        scarp_table_free(logs->log_of);
        scarp_table_free(logs->end_of);
        scarp_table_free(logs->seen);
        scarp_table_free(logs->block);
        scarp_table_free(logs->plane);
        g_free(logs);
    }
}

uint64_t scarp_logs_group_blocks(const ScarpDrive *drive G_GNUC_UNUSED)
{
    return 1;
}

uint32_t scarp_log_lpn(const ScarpDrive *drive, uint32_t group,
                       uint32_t offset)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t p = group / logs->groups;
    uint64_t page = (uint64_t)(group % logs->groups) *
                        drive->geo.units_per_block + offset;
    uint64_t lpn = page * drive->geo.n_planes + logs->turn_of[p];

    return lpn < drive->geo.mapped_units ? lpn : SCARP_NONE;
}

uint32_t scarp_logs_room(const ScarpDrive *drive, uint32_t p)
{
    return drive->desc.blocks_per_plane - scarp_plane_bad_blocks(drive, p) -
           drive->geo.recovery_blocks - scarp_logs(drive)->groups - 1;
}

uint32_t scarp_logs_count(const ScarpDrive *drive, uint32_t p)
{
    return scarp_logs(drive)->plane[p].n_logs +
           (drive->desc.mapping == MAPPING_FAST);
}

uint32_t scarp_logs_max(const ScarpDrive *drive, uint32_t p)
{
    uint32_t room = scarp_logs_room(drive, p);

    return drive->desc.log_blocks ? MIN(drive->desc.log_blocks, room) : room;
}

bool scarp_logs_need_all(const ScarpDrive *drive, uint32_t p)
{
    return scarp_logs_count(drive, p) >= scarp_logs_room(drive, p);
}

uint64_t scarp_logs_ram_bytes(const ScarpDrive *drive, uint32_t page_bytes)
{
    uint64_t log_bytes = 4 + (uint64_t)page_bytes * drive->geo.units_per_block;
    uint64_t bytes = scarp_geometry_units(&drive->geo) / 8;

    for (uint32_t p = 0; p < drive->geo.n_planes; p++) {
        bytes += 4ull * scarp_logs(drive)->groups +
                 log_bytes * scarp_logs_max(drive, p);
    }
    return bytes;
}

/* ---- Lists of log blocks ------------------------------------------------ */

void scarp_log_append(ScarpDrive *drive, uint32_t p, uint32_t block)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPlane *plane = &logs->plane[p];

    logs->block[block].older = plane->newest;
    logs->block[block].newer = SCARP_NONE;
    *(plane->newest == SCARP_NONE ? &plane->oldest
                                  : &logs->block[plane->newest].newer) = block;
    plane->newest = block;
    plane->n_logs++;
}

void scarp_log_remove(ScarpDrive *drive, uint32_t p, uint32_t block)
{
    ScarpLogs *logs = scarp_logs(drive);
    ScarpLogPlane *plane = &logs->plane[p];
    ScarpLogBlock *log = &logs->block[block];

    *(log->older == SCARP_NONE ? &plane->oldest
                               : &logs->block[log->older].newer) = log->newer;
    *(log->newer == SCARP_NONE ? &plane->newest
                               : &logs->block[log->newer].older) = log->older;
    plane->n_logs--;
}

/* ---- Pages that are on their way ----------------------------------------- */

/*
 * Returns a number that seen[] does not have for any logical block yet. A walk
 * writes this number into seen[] to note the logical blocks that it has met.
 */
static uint32_t next_look(ScarpLogs *logs, uint32_t n_groups)
{
    if (!++logs->look) {
        memset(logs->seen, 0, n_groups * sizeof(*logs->seen));
        logs->look = 1;
    }
    return logs->look;
}

/*
 * Called when `page`, on its way to the plane, is the first page met of a
 * logical block other than lpn's. Counts the data block or log block that has
 * to be opened for it.
 */
static void count_other(const ScarpDrive *drive, uint32_t p, ScarpLogPage page,
                        ScarpLogAhead *all)
{
    const ScarpLogs *logs = scarp_logs(drive);

    if (scarp_log_in_place_behind(drive, p, page, 0)) {
        all->others_data += logs->data_of[page.group] == SCARP_NONE;
    } else {
        all->others_log += logs->log_of[page.group] == SCARP_NONE;
    }
}

ScarpLogAhead scarp_log_ahead(const ScarpDrive *drive, uint32_t p,
                              uint32_t lpn, const uint32_t *ahead,
                              uint32_t n_ahead)
{
    ScarpLogs *logs = scarp_logs(drive);
    uint32_t look = next_look(logs, logs->groups * drive->geo.n_planes);
    uint32_t group = scarp_log_page(drive, p, lpn).group;
    ScarpLogAhead all = { 0 };

    for (uint32_t i = 0; i < n_ahead; i++) {
        ScarpLogPage page = scarp_log_page(drive, p, ahead[i]);

        if (page.group != group) {
            if (logs->seen[page.group] != look) {
                logs->seen[page.group] = look;
                count_other(drive, p, page, &all);
            }
        } else if (scarp_log_in_place_behind(drive, p, page, all.data)) {
            all.data++;
        } else {
            all.log++;
        }
    }
    return all;
}

/* ---- Merges ------------------------------------------------------------- */

/*
 * Returns the PPN of the page at `offset` in the logical block `group`. Returns
 * SCARP_NONE if that page is unmapped, or lies beyond the drive's last LPN.
 */
static uint32_t place_of(const ScarpDrive *drive, uint32_t group,
                         uint32_t offset)
{
    uint32_t lpn = scarp_log_lpn(drive, group, offset);

    return lpn == SCARP_NONE ? SCARP_NONE : scarp_map_lookup(drive, lpn);
}

void scarp_logs_mapped(ScarpDrive *drive, uint32_t lpn, uint32_t ppn)
{
    ScarpLogPage page = scarp_log_page(drive, scarp_ppn_plane(drive, ppn), lpn);
    uint32_t *end = &scarp_logs(drive)->end_of[page.group];

    *end = MAX(*end, page.offset + 1);
}

/*
 * Returns the offset behind the last mapped page of the logical block. The
 * function stores this offset in end_of, so that the next call does not look at
 * the unmapped pages behind it again.
 */
uint32_t scarp_log_end(const ScarpDrive *drive, uint32_t group)
{
    uint32_t *end = &scarp_logs(drive)->end_of[group];

    while (*end && place_of(drive, group, *end - 1) == SCARP_NONE) {
        --*end;
    }
    return *end;
}

/*
 * True when the first n pages of the logical block's data block are all
 * invalid. A log block that has these n pages in order can then become the data
 * block, without copies.
 */
static bool supersedes(const ScarpDrive *drive, uint32_t group, uint32_t n)
{
    uint32_t data = scarp_logs(drive)->data_of[group];

    for (uint32_t i = 0; data != SCARP_NONE && i < n; i += 64) {
        if (scarp_valid_bits(drive, scarp_block_ppn(drive, data) + i,
                             MIN(64, n - i))) {
            return false;
        }
    }
    return true;
}

void scarp_log_plan(const ScarpDrive *drive, uint32_t log, ScarpMerge *merge)
{
    const ScarpLogs *logs = scarp_logs(drive);
    uint32_t data = logs->data_of[merge->group], written = 0;
    uint32_t end = scarp_log_end(drive, merge->group);

    if (log != SCARP_NONE) {
        written = scarp_block_written(drive, log);
        merge->dead[merge->n_dead++] = log;
    }
    if (data != SCARP_NONE) {
        merge->dead[merge->n_dead++] = data;
    }
    if (!end) {
        scarp_mark(drive, group_unmapped);
        merge->kind = SCARP_MERGE_ERASE;
    } else if (log != SCARP_NONE && !scarp_block_valid(drive, log)) {
        /*
         * The log block has no valid page left. Only the log block is erased,
         * and the data block stays in use.
         */
        merge->kind = SCARP_MERGE_ERASE;
        merge->target = data;
        merge->n_dead = 1;
    } else if (log != SCARP_NONE && logs->block[log].in_order &&
               supersedes(drive, merge->group, written)) {
        /* The log block becomes the data block. */
        merge->target = log;
        merge->next = written;
        merge->end = MAX(end, written);
        merge->kind = merge->next == merge->end ? SCARP_MERGE_SWITCH
                                                : SCARP_MERGE_PARTIAL;
        merge->dead[0] = data;
        merge->n_dead = data != SCARP_NONE;
    } else {
        merge->target = SCARP_FRESH;
        merge->end = end;
        merge->kind = SCARP_MERGE_FULL;
    }
}

void scarp_log_begin(ScarpDrive *drive, uint32_t p, ScarpMerge *merge)
{
    if (merge->target == SCARP_FRESH) {
        merge->target = scarp_block_open(drive, p, SCARP_ORIGIN_GC);
    }
}

uint32_t scarp_log_source(const ScarpDrive *drive, ScarpMerge *merge)
{
    uint32_t ppn;

    if (merge->next == merge->end) {
        return SCARP_NONE;
    }
    ppn = place_of(drive, merge->group, merge->next++);
    return ppn == SCARP_NONE ? SCARP_PAD : ppn;
}

uint32_t scarp_log_target(ScarpDrive *drive G_GNUC_UNUSED,
                          uint32_t p G_GNUC_UNUSED, ScarpMerge *merge)
{
    return merge->target;
}
