/*
 * A drive: made, run, freed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

G_DEFINE_QUARK(scarp-error-quark, scarp_error)

static void store_free(ScarpDrive *drive)
{
    for (uint32_t b = 0; b < drive->n_blocks; b++) {
        if (drive->block[b].data) {
            for (uint32_t i = 0; i < drive->d.pages_per_block; i++) {
                g_free(drive->block[b].data[i]);
            }
            g_free(drive->block[b].data);
        }
    }
    g_ptr_array_free(drive->free_pages, true);
}

void scarp_drive_free(ScarpDrive *drive)
{
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        g_free(drive->plane[p].bucket);
        g_free(drive->plane[p].bucket_filled);
    }
    for (size_t i = 0; i < SCARP_INFLIGHT_BUCKETS; i++) {
        for (ScarpTx *tx = drive->inflight[i]; tx; tx = tx->hash_next) {
            g_free(tx->data);
        }
    }
    store_free(drive);
    scarp_events_clear(&drive->events);
    g_ptr_array_free(drive->tx_chunks, true);
    g_free(drive->channel);
    g_free(drive->die);
    g_free(drive->plane);
    g_free(drive->block);
    g_free(drive->l2p);
    g_free(drive->p2l);
    g_free(drive);
}

static uint32_t *new_table(uint64_t n, GError **error)
{
    uint32_t *table = g_try_new(uint32_t, n);

    if (!table) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                    "geometry.blocks_per_plane: no memory for a mapping of %"
                    G_GUINT64_FORMAT " pages; fewer are allowed", n);
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        table[i] = SCARP_NONE;
    }
    return table;
}

ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error)
{
    const ScarpScheme *scheme = scarp_scheme_find(config->scheme, error);
    ScarpDescription d;
    ScarpDrive *drive;
    uint64_t pages;

    if (!scheme || !scarp_description_load(&d, config->description_path,
                                           config->overrides, error)) {
        return NULL;
    }
    drive = g_new0(ScarpDrive, 1);
    drive->d = d;
    drive->scheme = scheme;
    drive->store_data = config->store_data;
    drive->n_dies = d.channels * d.chips_per_channel * d.dies_per_chip;
    drive->n_planes = drive->n_dies * d.planes_per_die;
    drive->n_blocks = drive->n_planes * d.blocks_per_plane;
    pages = drive->n_blocks * d.pages_per_block;
    /* The same number for each plane, so that striping fills them evenly. */
    drive->logical_pages = pages / drive->n_planes * 1000 /
                           (1000 + d.over_provisioning_permille) *
                           drive->n_planes;
    drive->page_transfer_ns = (d.page_bytes * 1000 + d.channel_mts - 1) /
                              d.channel_mts;
    drive->tx_chunks = g_ptr_array_new_with_free_func(g_free);
    drive->free_pages = g_ptr_array_new_with_free_func(g_free);
    scarp_events_init(&drive->events,
                      d.channels + drive->n_dies + STAGE__COUNT);
    drive->channel = g_new0(ScarpChannel, d.channels);
    for (uint32_t c = 0; c < d.channels; c++) {
        drive->channel[c].user = drive->channel[c].wait_head = SCARP_NONE;
    }
    drive->die = g_new0(ScarpDie, drive->n_dies);
    for (uint32_t i = 0; i < drive->n_dies; i++) {
        drive->die[i].holder = SCARP_NONE;
        drive->die[i].activity = DIE_IDLE;
    }
    drive->block = g_new0(ScarpBlock, drive->n_blocks);
    drive->plane = g_new0(ScarpPlane, drive->n_planes);
    for (uint32_t p = 0; p < drive->n_planes; p++) {
        drive->plane[p].reads.tail = &drive->plane[p].reads.head;
        drive->plane[p].programs.tail = &drive->plane[p].programs.head;
    }
    scarp_map_init(drive);
    drive->l2p = new_table(drive->logical_pages, error);
    drive->p2l = drive->l2p ? new_table(pages, error) : NULL;
    if (!drive->p2l) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

uint64_t scarp_drive_logical_bytes(const ScarpDrive *drive)
{
    return (uint64_t)drive->logical_pages * drive->d.page_bytes;
}

uint32_t scarp_drive_unit_bytes(const ScarpDrive *drive)
{
    return drive->d.page_bytes;
}

const char *scarp_drive_scheme(const ScarpDrive *drive)
{
    return drive->scheme->name;
}

int64_t scarp_now_ns(const ScarpDrive *drive)
{
    return drive->now_ns;
}

int64_t scarp_next_event_ns(const ScarpDrive *drive)
{
    return scarp_events_next_ns(&drive->events);
}

void scarp_run(ScarpDrive *drive, int64_t now_ns)
{
    while (scarp_events_next_ns(&drive->events) <= now_ns) {
        uint32_t source = scarp_events_first(&drive->events);

        drive->now_ns = scarp_events_next_ns(&drive->events);
        if (source < drive->d.channels) {
            scarp_channel_event(drive, source);
        } else if (source < drive->d.channels + drive->n_dies) {
            scarp_die_event(drive, source - drive->d.channels);
        } else {
            scarp_stage_event(drive,
                              source - drive->d.channels - drive->n_dies);
        }
#ifdef SCARP_CHECKED
        {
            g_autoptr(GError) error = NULL;

            if (!scarp_check(drive, &error)) {
                g_error("at %" G_GINT64_FORMAT " ns: %s", drive->now_ns,
                        error->message);
            }
        }
#endif
    }
    drive->now_ns = MAX(drive->now_ns, now_ns);
}

ScarpCmd *scarp_reap(ScarpDrive *drive)
{
    return scarp_cmd_pop(&drive->done);
}

bool scarp_is_mapped(const ScarpDrive *drive, uint64_t offset_bytes,
                     uint64_t length_bytes)
{
    uint64_t end = offset_bytes + length_bytes;

    for (uint64_t lpn = offset_bytes / drive->d.page_bytes;
         lpn * drive->d.page_bytes < end; lpn++) {
        if (drive->l2p[lpn] == SCARP_NONE && !scarp_inflight_find(drive, lpn)) {
            return false;
        }
    }
    return true;
}

void scarp_set_observer(ScarpDrive *drive, const ScarpObserver *observer)
{
    drive->observer = *observer;
}

bool scarp_quiescent(const ScarpDrive *drive, GError **error)
{
    const ScarpStats *stats = &drive->stats;
    uint32_t busy = 0;

    for (uint32_t i = 0; i < drive->n_dies; i++) {
        busy += drive->die[i].current || drive->die[i].holder != SCARP_NONE;
    }
    if (stats->cmds_accepted == stats->cmds_completed && !busy) {
        return true;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                "accepted %" G_GUINT64_FORMAT " commands, completed %"
                G_GUINT64_FORMAT ", %u dies busy", stats->cmds_accepted,
                stats->cmds_completed, busy);
    return false;
}
