/*
 * Data that is saved when power fails, where stored energy backs the write
 * buffer (controller.plp_bytes). This data stays in reserved flash until the
 * drive is ready again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

static void save(ScarpDrive *drive, ScarpSavedUnit unit)
{
    if (!drive->media.saved) {
        drive->media.saved = g_array_new(false, false, sizeof(unit));
    }
    g_array_append_val(drive->media.saved, unit);
}

void scarp_media_save_unit(ScarpDrive *drive, uint32_t lpn, uint16_t stream,
                           const void *data)
{
    ScarpSavedUnit unit = { .lpn = lpn, .stream = stream };

    if (data) {
        unit.data = scarp_contents_new(drive);
        memcpy(unit.data, data, drive->geo.unit_bytes);
    }
    save(drive, unit);
}

void scarp_media_save_deallocation(ScarpDrive *drive, uint32_t lpn,
                                   uint64_t when)
{
    save(drive, (ScarpSavedUnit) { .lpn = lpn, .deallocated = when });
}

void scarp_media_save_stripe(ScarpDrive *drive, uint32_t stripe)
{
    if (!drive->media.saved_stripes) {
        drive->media.saved_stripes =
            g_array_new(false, false, sizeof(stripe));
    }
    g_array_append_val(drive->media.saved_stripes, stripe);
}

GArray *scarp_media_take_stripes(ScarpDrive *drive)
{
    return g_steal_pointer(&drive->media.saved_stripes);
}

void scarp_media_forget_saved(ScarpDrive *drive)
{
    for (uint32_t i = 0; i < scarp_media_saved_units(drive); i++) {
        g_free(scarp_media_saved_unit(drive, i)->data);
    }
    g_clear_pointer(&drive->media.saved, g_array_unref);
    g_clear_pointer(&drive->media.saved_stripes, g_array_unref);
}
