/*
 * The tables that stand for the flash cells. These tables are made for a new
 * drive, loaded from an image, or handed to the next drive at a power cut and
 * at a Sanitize.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

uint64_t scarp_media_bytes(const ScarpGeometry *geo,
                           const ScarpDescription *desc)
{
    uint64_t states = desc->power_cuts
                          ? geo->n_blocks * desc->pages_per_block / 4 : 0;

    return scarp_geometry_units(geo) * (desc->recovery ? 12 : 4) + states +
           (uint64_t)geo->n_blocks *
               (sizeof(ScarpMediaBlock) + (geo->slc_pages ? 1 : 0) +
                (desc->slc_endurance_erases ? sizeof(uint32_t) : 0));
}

bool scarp_media_init(ScarpDrive *drive,
                      const ScarpConfig *config G_GNUC_UNUSED, GError **error)
{
    ScarpMedia *media = &drive->media;
    uint64_t units = scarp_geometry_units(&drive->geo);

    media->keeps_contents = drive->store_data || drive->desc.power_cuts ||
                            drive->desc.recovery == RECOVERY_ALL;
    media->spare = g_ptr_array_new_with_free_func(g_free);
    media->block = scarp_table_zeroed((uint64_t)drive->geo.n_blocks *
                                      sizeof(ScarpMediaBlock));
    media->mode = drive->geo.slc_pages
                      ? scarp_table_zeroed(drive->geo.n_blocks) : NULL;
    media->slc_erases =
        drive->desc.slc_endurance_erases
            ? scarp_table_zeroed(drive->geo.n_blocks * sizeof(uint32_t)) : NULL;
    media->version_of = drive->desc.recovery ? g_new0(uint64_t, units) : NULL;
    if (drive->desc.power_cuts) {
        media->page_state = scarp_table_zeroed(
            drive->geo.n_blocks * drive->desc.pages_per_block / 4 + 1);
    }
    media->lpn_of = scarp_table_none(units, error);
    return media->lpn_of;
}

void scarp_media_clear(ScarpDrive *drive)
{
    ScarpMedia *media = &drive->media;

    for (uint32_t b = 0; media->block && b < drive->geo.n_blocks; b++) {
        if (media->block[b].contents) {
            for (uint32_t i = 0; i < drive->geo.units_per_block; i++) {
                g_free(media->block[b].contents[i]);
            }
            g_free(media->block[b].contents);
        }
    }
    scarp_table_free(media->block);
    scarp_table_free(media->mode);
    scarp_table_free(media->slc_erases);
    scarp_table_free(media->lpn_of);
    g_free(media->version_of);
    scarp_table_free(media->page_state);
    scarp_media_forget_saved(drive);
    if (media->spare) {
        g_ptr_array_free(media->spare, true);
    }
}

void scarp_media_load_block(ScarpDrive *drive, uint32_t index, uint8_t origin,
                            uint8_t stream, uint32_t erases, uint64_t seq,
                            uint16_t programmed)
{
    ScarpMediaBlock *block = &drive->media.block[index];

    block->origin = origin;
    block->stream = stream;
    block->erases = erases;
    block->seq = seq;
    block->programmed = programmed;
}

void scarp_media_hand_over(ScarpDrive *from, ScarpDrive *to)
{
    scarp_media_clear(to);
    to->media = from->media;
    from->media = (ScarpMedia) { 0 };
}

void scarp_media_load_next_seq(ScarpDrive *drive, uint64_t next_block_seq)
{
    drive->media.next_block_seq = next_block_seq;
}
