/*
 * Makes and frees a drive. Each directory of ftl/ whose part of the drive must
 * be made has a function that makes this part, and most have one that frees it.
 * steps[] lists these functions in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive/internal.h"
#include "flow/ops.h"
#include "image/ops.h"

typedef struct {
    const char *name;
    bool (*init)(ScarpDrive *drive, const ScarpConfig *config, GError **error);
    void (*clear)(ScarpDrive *drive); /* called even if init failed */
} Step;

/*
 * The directories of ftl/ in the order in which their parts of the drive are
 * made. Each part may use the parts made before it. The parts are freed in the
 * reverse order.
 */
static const Step steps[] = {
    { "core", scarp_core_init, scarp_core_clear },
    { "heat", scarp_heat_init, NULL },
    { "stat", scarp_stat_init, scarp_stat_clear },
    { "media", scarp_media_init, scarp_media_clear },
    { "turns", scarp_turns_init, scarp_turns_clear },
    { "nand", scarp_nand_init, scarp_nand_clear },
    { "blocks", scarp_blocks_init, scarp_blocks_clear },
    { "pack", scarp_pack_init, scarp_pack_clear },
    { "map", scarp_map_init, scarp_map_clear },
    { "gc", scarp_gc_init, scarp_gc_clear },
    { "parity", scarp_parity_init, scarp_parity_clear },
    { "buffer", scarp_buffer_init, scarp_buffer_clear },
    { "hil", scarp_hil_init, NULL },
    { "recovery", scarp_recovery_init, scarp_recovery_clear },
};

static void clear_steps(ScarpDrive *drive, size_t n)
{
    while (n--) {
        if (steps[n].clear) {
            steps[n].clear(drive);
        }
    }
}

void scarp_drive_free(ScarpDrive *drive)
{
    scarp_scheme_clear(&drive->scheme, drive);
    clear_steps(drive, G_N_ELEMENTS(steps));
    g_free(drive);
}

static bool memory_suffices(const ScarpDrive *drive, GError **error)
{
    uint64_t physical = scarp_memory_physical_bytes();
    uint64_t needed = scarp_media_bytes(&drive->geo, &drive->desc) +
                      scarp_blocks_bytes(&drive->geo) +
                      scarp_map_bytes(&drive->geo);
    uint64_t cache = scarp_map_cache_bytes(drive);

    if (needed + cache < physical) {
        return true;
    }
    if (needed < physical) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "ftl.map_cache_bytes=%" G_GUINT64_FORMAT ": its entries "
                    "need %" G_GUINT64_FORMAT " MiB, and the rest of the "
                    "mapping %" G_GUINT64_FORMAT " MiB; this host has %"
                    G_GUINT64_FORMAT " MiB, so a smaller one is allowed",
                    drive->desc.map_cache_bytes, cache >> 20, needed >> 20,
                    physical >> 20);
        return false;
    }
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_GEOMETRY,
                "geometry.blocks_per_plane=%" G_GUINT64_FORMAT
                ": the mapping of %" G_GUINT64_FORMAT " units needs %"
                G_GUINT64_FORMAT " MiB; this host has %" G_GUINT64_FORMAT
                " MiB, so fewer blocks, or larger units, are allowed",
                drive->desc.blocks_per_plane, scarp_geometry_units(&drive->geo),
                needed >> 20, physical >> 20);
    return false;
}

static bool describe(ScarpDescription *d, const ScarpConfig *config,
                     ScarpImage *image, GError **error)
{
    g_autofree char *text = NULL;

    if (image) {
        /*
         * Reads the image's description even if description_path replaces it,
         * because the read checks the section for damage.
         */
        text = scarp_image_description(image, error);
        if (!text) {
            return false;
        }
    }
    return config->description_path || !image
               ? scarp_description_load(d, config->description_path,
                                        config->overrides, error)
               : scarp_description_parse(d, text, config->image_path,
                                         config->overrides, error);
}

static bool init_rooms(ScarpDrive *drive, const ScarpConfig *config,
                       GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (!steps[i].init(drive, config, error)) {
            clear_steps(drive, i + 1);
            return false;
        }
    }
    return true;
}

ScarpDrive *scarp_drive_blank(const ScarpDescription *desc,
                              const ScarpConfig *config, GError **error)
{
    ScarpDrive *drive = scarp_core_new(desc, config);

    if (!init_rooms(drive, config, error)) {
        g_free(drive);
        return NULL;
    }
    return drive;
}

/*
 * Loads the tables of an image. scarp_image_load() checks each table by itself.
 * scarp_check() checks that the tables agree.
 */
static bool load(ScarpDrive *drive, ScarpImage *image, const char *path,
                 GError **error)
{
    g_autoptr(GError) law = NULL;

    if (!scarp_image_load(image, drive, error)) {
        return false;
    }
    if (!scarp_check(drive, &law)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_FILE,
                    "image=%s: damaged: %s", path, law->message);
    }
    return !law;
}

/*
 * Fills the tables of a new drive, from the image if there is one. Then the
 * function makes the policies of the scheme that the user has chosen.
 */
static bool fill(ScarpDrive *drive, const ScarpConfig *config,
                 ScarpImage *image, GError **error)
{
    if (!image) {
        scarp_blocks_set_bad(drive);
        scarp_blocks_set_static(drive);
        scarp_blocks_set_units(drive);
    }
    return (!image || load(drive, image, config->image_path, error)) &&
           scarp_scheme_init(&drive->scheme, drive, config->scheme,
                             config->params, error) &&
           (!image || scarp_image_load_scheme(image, drive, error));
}

static ScarpDrive *drive_new(const ScarpConfig *config, ScarpImage *image,
                             GError **error)
{
    ScarpDescription desc;
    ScarpDrive *drive;

    if (!describe(&desc, config, image, error)) {
        return NULL;
    }
    drive = scarp_core_new(&desc, config);
    if ((image && !scarp_image_fits(image, drive, error)) ||
        !memory_suffices(drive, error) || !init_rooms(drive, config, error)) {
        g_free(drive);
        return NULL;
    }
    if (!fill(drive, config, image, error)) {
        scarp_drive_free(drive);
        return NULL;
    }
    return drive;
}

ScarpDrive *scarp_drive_new(const ScarpConfig *config, GError **error)
{
    ScarpImage *image = NULL;
    ScarpDrive *drive;

    if (config->image_path) {
        image = scarp_image_open(config->image_path, error);
        if (!image) {
            return NULL;
        }
    }
    drive = drive_new(config, image, error);
    scarp_image_close(image);
    return drive;
}

bool scarp_save(ScarpDrive *drive, const char *path, GError **error)
{
    if (!scarp_at_rest(drive, error)) {
        return false;
    }
    return scarp_image_save(drive, path, error);
}

const char *scarp_drive_scheme(const ScarpDrive *drive)
{
    return drive->scheme.name;
}
