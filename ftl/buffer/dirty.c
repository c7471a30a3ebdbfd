/*
 * Units of the host that are not on flash yet: the list by time of arrival, and
 * the packers (pages under construction) that collect these units.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffer/internal.h"

bool scarp_buffer_init(ScarpDrive *drive,
                       const ScarpConfig *config G_GNUC_UNUSED,
                       GError **error G_GNUC_UNUSED)
{
    ScarpBuffer *buffer = &drive->buffer;

    buffer->room_units = drive->desc.buffer_bytes / drive->geo.unit_bytes;
    buffer->packer = g_new0(ScarpPacker, (drive->geo.n_planes + 1) *
                                             (uint32_t)drive->desc.streams);
    scarp_pool_init(&buffer->pool, sizeof(ScarpDirty));
    buffer->record = g_new(uint64_t, drive->geo.record_lpns);
    return true;
}

void scarp_buffer_enlarge(ScarpDrive *drive, uint64_t bytes)
{
    uint64_t units = bytes / drive->geo.unit_bytes;

    g_assert(drive->buffer.room_units && units >= drive->buffer.room_units);
    drive->buffer.room_units = units;
}

void scarp_buffer_clear(ScarpDrive *drive)
{
    for (ScarpDirty *d = drive->buffer.oldest; d; d = d->newer) {
        g_free(scarp_unit_data(&d->unit));
    }
    g_clear_pointer(&drive->buffer.unrecorded, g_hash_table_unref);
    g_free(drive->buffer.packer);
    g_free(drive->buffer.record);
    scarp_pool_clear(&drive->buffer.pool);
}

/* ---- The order of arrival ----------------------------------------------- */

ScarpDirty *scarp_dirty_new(ScarpDrive *drive, uint32_t lpn)
{
    ScarpBuffer *buffer = &drive->buffer;
    ScarpDirty *dirty = scarp_pool_take(&buffer->pool);

    scarp_clear(dirty, sizeof(*dirty));
    scarp_unit_init(&dirty->unit, lpn);
    scarp_unit_set_seq(&dirty->unit, scarp_next_seq(drive));
    dirty->created_ns = scarp_time_ns(drive);
    dirty->older = buffer->newest;
    *(dirty->older ? &dirty->older->newer : &buffer->oldest) = dirty;
    buffer->newest = dirty;
    buffer->used++;
    return dirty;
}

void scarp_dirty_release(ScarpDrive *drive, ScarpDirty *dirty)
{
    ScarpBuffer *buffer = &drive->buffer;
    uint32_t plane = scarp_unit_plane(&dirty->unit);

    *(dirty->older ? &dirty->older->newer : &buffer->oldest) = dirty->newer;
    *(dirty->newer ? &dirty->newer->older : &buffer->newest) = dirty->older;
    buffer->used--;
    buffer->draining &= buffer->oldest != NULL;
    if (dirty->pinned) {
        scarp_map_unpin(drive, scarp_unit_lpn(&dirty->unit));
    }
    if (plane != SCARP_NONE) {
        scarp_pack_host_units(drive, plane, -1);
    }
    scarp_pool_give(&buffer->pool, dirty);
}

bool scarp_dirty_pin(ScarpDrive *drive, ScarpDirty *dirty)
{
    if (!scarp_map_can(drive, MAP_FETCHES) || dirty->pinned ||
        scarp_unit_lpn(&dirty->unit) >= drive->geo.logical_units) {
        return true;
    }
    dirty->pinned = scarp_map_pin(drive, &dirty->unit);
    return dirty->pinned;
}

bool scarp_dirty_awaits_entry(const ScarpDrive *drive, const ScarpDirty *dirty)
{
    return scarp_map_can(drive, MAP_FETCHES) && !dirty->pinned &&
           scarp_unit_lpn(&dirty->unit) < drive->geo.logical_units;
}

bool scarp_dirty_is_late(const ScarpDrive *drive, const ScarpDirty *dirty)
{
    const ScarpCmdQueue *flushes = &drive->buffer.flushes;

    return dirty->cmd ||
           (scarp_cmd_first(flushes) &&
            scarp_cmd_last(flushes)->order > scarp_unit_seq(&dirty->unit));
}

uint64_t scarp_buffer_cmd_seq(const ScarpUnit *unit)
{
    return ((const ScarpDirty *)unit)->cmd_seq;
}

/* ---- Packing ------------------------------------------------------------ */

static ScarpPacker *packer_of(ScarpDrive *drive, const ScarpUnit *unit)
{
    uint32_t p = drive->scheme.alloc->early ? scarp_unit_plane(unit)
                                            : drive->geo.n_planes;

    return &drive->buffer.packer[p * (uint32_t)drive->desc.streams +
                                 scarp_unit_stream(unit)];
}

static void emit(ScarpDrive *drive, ScarpPacker *packer)
{
    uint32_t n = scarp_packer_count(packer);
    ScarpUnit *first = scarp_packer_first(packer);
    ScarpFlashCmd *cmd = scarp_packer_emit(drive, packer, OWNER_BUFFER,
                                           SCARP_ORIGIN_HOST);
    uint32_t plane = scarp_unit_plane(first);

    drive->buffer.packing -= n;
    if (plane == SCARP_NONE) {
        plane = drive->scheme.alloc->plane(drive, SCARP_NONE,
                                           scarp_unit_stream(first));
        for (ScarpUnit *unit = first; unit; unit = scarp_unit_next(unit)) {
            scarp_unit_set_plane(unit, plane);
        }
        scarp_pack_host_units(drive, plane, (int)n);
    }
    scarp_flash_set_target(cmd, plane, 0, drive->desc.page_bytes);
    scarp_nand_enqueue(drive, cmd);
}

void scarp_buffer_redirect(ScarpDrive *drive, ScarpFlashCmd *program,
                           uint32_t plane)
{
    for (ScarpUnit *unit = scarp_flash_units(program); unit;
         unit = scarp_unit_next(unit)) {
        scarp_pack_host_units(drive, scarp_unit_plane(unit), -1);
        scarp_unit_set_plane(unit, plane);
        scarp_pack_host_units(drive, plane, 1);
    }
    scarp_flash_set_target(program, plane, 0, drive->desc.page_bytes);
    scarp_nand_enqueue_by_age(drive, program);
}

void scarp_dirty_emit(ScarpDrive *drive, ScarpDirty *dirty)
{
    emit(drive, packer_of(drive, &dirty->unit));
}

void scarp_buffer_emit_stream(ScarpDrive *drive, uint16_t stream)
{
    ScarpPacker *packer =
        &drive->buffer.packer[drive->geo.n_planes *
                                  (uint32_t)drive->desc.streams + stream];

    if (scarp_packer_count(packer)) {
        scarp_mark(drive, padded_by_close);
        emit(drive, packer);
    }
}

uint64_t scarp_buffer_without_place(const ScarpDrive *drive, uint16_t stream)
{
    uint64_t units = 0;

    for (const ScarpDirty *d = drive->buffer.oldest; d; d = d->newer) {
        units += scarp_unit_stream(&d->unit) == stream && !d->superseded &&
                 scarp_unit_plane(&d->unit) == SCARP_NONE;
    }
    return units;
}

void scarp_dirty_emit_company(ScarpDrive *drive, const ScarpDirty *dirty)
{
    ScarpPacker *packer = packer_of(drive, &dirty->unit);

    if (scarp_packer_count(packer)) {
        scarp_mark(drive, page_without_the_one_that_joins);
        emit(drive, packer);
    }
}

void scarp_dirty_pack(ScarpDrive *drive, ScarpDirty *dirty)
{
    ScarpPacker *packer = packer_of(drive, &dirty->unit);

    drive->buffer.packing++;
    if (scarp_packer_add(drive, packer, &dirty->unit)) {
        emit(drive, packer);
    }
}

void scarp_dirty_unpack(ScarpDrive *drive, ScarpDirty *dirty)
{
    scarp_packer_remove(packer_of(drive, &dirty->unit), &dirty->unit);
    drive->buffer.packing--;
}

void scarp_dirty_drain(ScarpDrive *drive, uint64_t seq)
{
    for (ScarpDirty *dirty = drive->buffer.oldest;
         dirty && scarp_unit_seq(&dirty->unit) < seq; dirty = dirty->newer) {
        if (scarp_unit_is_packing(&dirty->unit)) {
            scarp_dirty_emit(drive, dirty);
        }
    }
}

void scarp_dirty_drain_half(ScarpDrive *drive)
{
    for (ScarpDirty *dirty = drive->buffer.oldest;
         dirty && drive->buffer.packing * 2 > drive->buffer.room_units;
         dirty = dirty->newer) {
        if (scarp_unit_is_packing(&dirty->unit)) {
            scarp_mark(drive, buffer_half_emptied);
            scarp_dirty_emit(drive, dirty);
        }
    }
}

void scarp_buffer_drain(ScarpDrive *drive)
{
    drive->buffer.draining = drive->buffer.oldest;
    scarp_dirty_drain(drive, UINT64_MAX);
}

bool scarp_buffer_presses(const ScarpDrive *drive)
{
    return drive->buffer.draining || scarp_cmd_first(&drive->buffer.flushes) ||
           scarp_cmd_first(&drive->buffer.waiting);
}

bool scarp_buffer_is_late(const ScarpDrive *drive, const ScarpUnit *unit)
{
    return scarp_dirty_is_late(drive, (const ScarpDirty *)unit);
}
