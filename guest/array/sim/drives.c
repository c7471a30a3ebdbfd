/*
 * N drives of the engine on one clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sim.h"

struct SimDrives {
    uint32_t n;
    ScarpDrive *drive[ARRAY_MAX_DRIVES];
    int64_t next_ns[ARRAY_MAX_DRIVES];
    /* Drives that may have completed commands: a stack with each drive once. */
    uint32_t touched[ARRAY_MAX_DRIVES], n_touched;
    bool is_touched[ARRAY_MAX_DRIVES];
    uint32_t first; /* the first drive with the earliest next event */
    bool alone;     /* no other drive has an event at that time */
    SimDriveDone *done;
    void *opaque;
};

/*
 * Returns the seed of a drive. Each drive has another seed, so that the
 * collections of the drives are not in step.
 */
static uint64_t seed_of(const SimOptions *o, uint32_t index)
{
    return o->seed * 1000 + index;
}

/*
 * Returns the path of the image of the aged drive. The file's name tells, by a
 * digest, the filling and the seed, all that the aged drive depends on except
 * the engine's version, which the engine checks itself.
 */
static char *image_path(const SimOptions *o, uint32_t index, GError **error)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *text = NULL, *name = NULL;
    gsize length;

    if (!g_file_get_contents(o->description, &text, &length, error)) {
        return NULL;
    }
    g_checksum_update(sum, (const guchar *)text, length);
    for (int i = 0; i < 3; i++) {
        const char *more[] = { o->scheme, o->params, o->overrides };

        g_checksum_update(sum, (const guchar *)(more[i] ? more[i] : ""), -1);
        g_checksum_update(sum, (const guchar *)"\n", 1);
    }
    name = g_strdup_printf("%.16s-%u-%" G_GUINT64_FORMAT ".img",
                           g_checksum_get_string(sum), o->fill_permille,
                           seed_of(o, index));
    return g_build_filename(o->images, name, NULL);
}

static ScarpDrive *open_drive(const SimOptions *o, uint32_t index,
                              const char *image, GError **error)
{
    ScarpConfig config = {
        .description_path = o->description, .scheme = o->scheme,
        .params = o->params, .overrides = o->overrides,
        .seed = seed_of(o, index), .image_path = image,
    };

    return scarp_drive_new(&config, error);
}

static ScarpDrive *make_drive(const SimOptions *o, uint32_t index,
                              GError **error)
{
    ScarpAge age = {
        .utilisation_permille = o->fill_permille,
        .overwrite_permille = UINT32_MAX,
        .pattern = "random",
        .seed = seed_of(o, index),
    };
    g_autofree char *image = NULL;
    ScarpDrive *drive;

    if (o->images && !o->fresh) {
        image = image_path(o, index, error);
        if (!image) {
            return NULL;
        }
        if (g_file_test(image, G_FILE_TEST_EXISTS)) {
            return open_drive(o, index, image, error);
        }
    }
    drive = open_drive(o, index, NULL, error);
    if (!drive || o->fresh) {
        return drive;
    }
    if (!scarp_age(drive, &age, error) ||
        (image && !scarp_save(drive, image, error))) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

SimDrives *sim_drives_new(const SimOptions *o, SimDriveDone *done,
                          void *opaque, GError **error)
{
    SimDrives *drives = g_new0(SimDrives, 1);

    drives->done = done;
    drives->opaque = opaque;
    for (uint32_t i = 0; i < o->drives; i++) {
        drives->drive[i] = make_drive(o, i, error);
        if (!drives->drive[i]) {
            sim_drives_free(drives);
            return NULL;
        }
        drives->n++;
        drives->next_ns[i] = scarp_next_event_ns(drives->drive[i]);
    }
    return drives;
}

void sim_drives_free(SimDrives *drives)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        scarp_drive_free(drives->drive[i]);
    }
    g_free(drives);
}

uint64_t sim_drives_bytes(const SimDrives *drives)
{
    return scarp_drive_logical_bytes(drives->drive[0]);
}

ScarpDrive *sim_drives_get(const SimDrives *drives, uint32_t index)
{
    return drives->drive[index];
}

static void touch(SimDrives *drives, uint32_t index)
{
    if (!drives->is_touched[index]) {
        drives->is_touched[index] = true;
        drives->touched[drives->n_touched++] = index;
    }
}

void sim_drives_submit(SimDrives *drives, uint32_t index, ScarpCmd *cmd,
                       int64_t now_ns)
{
    scarp_submit(drives->drive[index], cmd, now_ns);
    touch(drives, index);
}

void sim_drives_issue(SimDrives *drives, ArrayIo *io, ScarpCmd *cmd,
                      int64_t now_ns)
{
    static const ScarpOp ops[] = {
        [ARRAY_IO_READ] = SCARP_OP_READ, [ARRAY_IO_WRITE] = SCARP_OP_WRITE,
        [ARRAY_IO_FLUSH] = SCARP_OP_FLUSH,
        [ARRAY_IO_DISCARD] = SCARP_OP_DEALLOCATE,
    };

    *cmd = (ScarpCmd) {
        .op = ops[io->op], .offset_bytes = io->offset_bytes,
        .length_bytes = io->length_bytes, .deadline_ns = SCARP_TIME_NEVER,
        .opaque = io,
    };
    sim_drives_submit(drives, io->drive, cmd, now_ns);
}

bool sim_drives_reap(SimDrives *drives)
{
    bool any = false;

    while (drives->n_touched) {
        uint32_t index = drives->touched[--drives->n_touched];
        ScarpDrive *drive = drives->drive[index];
        ScarpCmd *cmd;

        drives->is_touched[index] = false;
        while ((cmd = scarp_reap(drive))) {
            drives->done(drives->opaque, cmd);
            any = true;
        }
        drives->next_ns[index] = scarp_next_event_ns(drive);
    }
    return any;
}

/* Called for every event, so one pass finds both the time and the drive. */
int64_t sim_drives_next_ns(SimDrives *drives)
{
    const int64_t *next_ns = drives->next_ns;
    int64_t next = next_ns[0];

    drives->first = 0;
    drives->alone = true;
    for (uint32_t i = 1; i < drives->n; i++) {
        if (next_ns[i] < next) {
            next = next_ns[i];
            drives->first = i;
            drives->alone = true;
        } else if (next_ns[i] == next) {
            drives->alone = false;
        }
    }
    return next;
}

void sim_drives_run(SimDrives *drives, int64_t now_ns)
{
    for (uint32_t i = drives->first; i < drives->n; i++) {
        if (drives->next_ns[i] <= now_ns) {
            ScarpDrive *drive = drives->drive[i];

            scarp_run(drive, now_ns);
            touch(drives, i);
            /* no command ended, so no other drive has got an event now */
            if (!sim_drives_reap(drives) && drives->alone) {
                return;
            }
        }
    }
}

void sim_drives_hold(SimDrives *drives, uint32_t index, int64_t until_ns,
                     int64_t now_ns)
{
    scarp_run(drives->drive[index], now_ns);
    scarp_hold_collections(drives->drive[index], until_ns);
    touch(drives, index);
}

void sim_drives_collect(SimDrives *drives, uint32_t index,
                        uint32_t free_blocks, int64_t now_ns)
{
    sim_drives_hold(drives, index, now_ns, now_ns);
    scarp_collect_now(drives->drive[index], free_blocks);
}

bool sim_drives_end(SimDrives *drives, GError **error)
{
    for (uint32_t i = 0; i < drives->n; i++) {
        ScarpDrive *drive = drives->drive[i];
        const ScarpStats *stats = scarp_stats(drive);

        if (!scarp_drain(drive, error) || !scarp_quiescent(drive, error) ||
            !scarp_check(drive, error)) {
            g_prefix_error(error, "drive %u: ", i);
            return false;
        }
        if (stats->oob_mismatches) {
            g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                        "drive %u: %" G_GUINT64_FORMAT " wrong pages", i,
                        stats->oob_mismatches);
            return false;
        }
    }
    return true;
}
