/*
 * Starting from an image. The file is not trusted: its sizes are compared with
 * the drive's sizes before anything is allocated, and each entry of a table
 * must be in its range.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

#include <string.h>

char *scarp_image_description(ScarpImage *image, GError **error)
{
    size_t n;

    return (char *)image_read_all(image, "describe", &n, error);
}

static bool has_bytes(const ScarpImage *image, const char *name,
                      uint64_t bytes, GError **error)
{
    const ImageSection *section = image_find(image, name);

    if (section && section->bytes == bytes) {
        return true;
    }
    return image_fail(image, error, "damaged: section '%s' has %"
                      G_GUINT64_FORMAT " bytes, a drive of its layout needs %"
                      G_GUINT64_FORMAT, name, section ? section->bytes : 0,
                      bytes);
}

bool scarp_image_fits(ScarpImage *image, const ScarpDrive *drive,
                      GError **error)
{
    size_t length;
    g_autofree char *own = image_layout_text(drive, image_has_cache(image));
    g_autofree char *its =
        (char *)image_read_all(image, "layout", &length, error);
    g_auto(GStrv) own_lines = g_strsplit(own, "\n", -1);
    g_auto(GStrv) its_lines = g_strsplit(its ? its : "", "\n", -1);
    uint64_t units;
    size_t i = 0;

    if (!its) {
        return false;
    }
    while (own_lines[i] && its_lines[i] &&
           !strcmp(own_lines[i], its_lines[i])) {
        i++;
    }
    if (own_lines[i] || its_lines[i]) {
        g_autofree char *line = g_strescape(its_lines[i] ? its_lines[i] : "",
                                            NULL);

        return image_fail(image, error, "is of another layout class: it has "
                          "%s, the drive %s", *line ? line : "no more",
                          own_lines[i] && *own_lines[i] ? own_lines[i]
                                                        : "no more");
    }
    if (image_has_cache(image) && !drive->geo.slc_pages) {
        return image_fail(image, error, "damaged: its blocks have modes, and "
                          "its layout no SLC cache");
    }
    units = scarp_geometry_units(&drive->geo);
    return has_bytes(image, "p2l", units * sizeof(uint32_t), error) &&
           has_bytes(image, "valid", (units / 64 + 1) * sizeof(uint64_t),
                     error) &&
           (!drive->desc.recovery ||
            has_bytes(image, "version", units * sizeof(uint64_t), error)) &&
           (!image_has_cache(image) ||
            has_bytes(image, "modes", drive->geo.n_blocks, error)) &&
           (!drive->desc.power_cuts ||
            has_bytes(image, "pages", units / drive->geo.units_per_page,
                      error));
}

/* ---- Mapping ------------------------------------------------------------- */

static bool read_u64s(ScarpImage *image, const char *name, uint64_t *values,
                      uint64_t n, GError **error)
{
    if (!image_read_begin(image, name, error) ||
        !image_read(image, values, n * sizeof(*values), error) ||
        !image_read_end(image, error)) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        values[i] = GUINT64_FROM_LE(values[i]);
    }
    return true;
}

static bool read_lpns(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint32_t part[4096];
    uint64_t n = scarp_geometry_units(&drive->geo);

    if (!image_read_begin(image, "p2l", error)) {
        return false;
    }
    for (uint64_t ppn = 0; ppn < n;) {
        uint32_t k = MIN(G_N_ELEMENTS(part), n - ppn);

        if (!image_read(image, part, k * sizeof(*part), error)) {
            return false;
        }
        for (uint32_t i = 0; i < k; i++, ppn++) {
            scarp_media_set_lpn(drive, ppn, GUINT32_FROM_LE(part[i]));
        }
    }
    return image_read_end(image, error);
}

static bool read_versions(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint64_t n = scarp_geometry_units(&drive->geo);
    g_autofree uint64_t *version = NULL;

    if (!scarp_media_has_versions(drive)) {
        return true;
    }
    version = g_new(uint64_t, n);
    if (!read_u64s(image, "version", version, n, error)) {
        return false;
    }
    for (uint64_t ppn = 0; ppn < n; ppn++) {
        scarp_media_set_version(drive, ppn, version[ppn]);
    }
    return true;
}

/*
 * Reads which physical units are valid, a bit each. Section "p2l" has given the
 * LPN of each physical unit, so the valid bits complete the forward map.
 */
static bool read_marks(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint64_t n = scarp_geometry_units(&drive->geo);
    g_autofree uint64_t *valid = g_new(uint64_t, n / 64 + 1);

    if (!read_u64s(image, "valid", valid, n / 64 + 1, error)) {
        return false;
    }
    if (valid[n / 64] >> (n % 64)) {
        return image_fail(image, error, "damaged: units beyond the last");
    }
    for (uint32_t ppn = 0; ppn < n; ppn++) {
        uint32_t lpn = scarp_media_lpn(drive, ppn);
        bool mapped = valid[ppn / 64] >> (ppn % 64) & 1;

        if (lpn == SCARP_NONE ? mapped : lpn >= drive->geo.mapped_units) {
            return image_fail(image, error, "damaged: unit %u holds the "
                              "logical unit %u", ppn, lpn);
        }
        if (!mapped) {
            continue;
        }
        if (scarp_map_is_mapped(drive, lpn)) {
            return image_fail(image, error, "damaged: the logical unit %u "
                              "is in %u and in %u", lpn,
                              scarp_map_lookup(drive, lpn), ppn);
        }
        scarp_map_load(drive, lpn, ppn);
    }
    return true;
}

/* Checks that no unit lies in a page that was not programmed. */
static bool check_written(ScarpImage *image, ScarpDrive *drive,
                          GError **error)
{
    for (uint32_t b = 0; b < drive->geo.n_blocks; b++) {
        uint32_t i = scarp_block_written(drive, b) * drive->geo.units_per_page;

        for (; i < drive->geo.units_per_block; i++) {
            if (scarp_media_lpn(drive, scarp_block_ppn(drive, b) + i) !=
                SCARP_NONE) {
                return image_fail(image, error, "damaged: block %u has a unit "
                                  "in a page that is not written", b);
            }
        }
    }
    return true;
}

/* ---- State --------------------------------------------------------------- */

static bool visit_section(ScarpImage *image, const char *name,
                          ScarpDrive *drive,
                          void (*describe)(ScarpDrive *, ScarpVisit *),
                          GError **error)
{
    size_t n = 0;
    g_autofree uint8_t *bytes = image_read_all(image, name, &n, error);
    ScarpVisit visit = { .loading = true, .in = bytes, .left = n };

    if (!bytes) {
        return false;
    }
    describe(drive, &visit);
    if (!visit.problem && visit.left) {
        scarp_visit_fail(&visit, "has more than is needed");
    }
    if (visit.problem) {
        image_fail(image, error, "damaged: section '%s': %s", name,
                   visit.problem);
        g_free(visit.problem);
        return false;
    }
    return true;
}

static bool read_state(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    return visit_section(image, "state", drive, image_visit_state, error);
}

static bool read_modes(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    return !image_has_cache(image) ||
           visit_section(image, "modes", drive, image_visit_modes, error);
}

static bool read_cache(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    return !image_has_cache(image) ||
           visit_section(image, "cache", drive, image_visit_cache, error);
}

static bool read_wear(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    return !image_find(image, "wear") || !drive->desc.slc_endurance_erases ||
           visit_section(image, "wear", drive, image_visit_wear, error);
}

bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error)
{
    return visit_section(image, "scheme", drive, image_visit_scheme, error);
}

/* ---- Data ---------------------------------------------------------------- */

/*
 * True when lpn belongs to the FTL, not to the host: a record of deallocations,
 * or, where power may fail, a translation unit. The bytes of such units are in
 * every image, even in an image without data of the host.
 */
static bool is_record(const ScarpDrive *drive, uint32_t lpn)
{
    if (lpn >= drive->geo.first_translation_unit) {
        return scarp_media_keeps(drive);
    }
    return drive->desc.recovery == RECOVERY_ALL &&
           lpn >= drive->geo.logical_units;
}

/*
 * True when an image may have bytes for the unit at ppn. Where power may fail,
 * that is any unit whose block is not erased yet; otherwise it is a valid unit.
 */
static bool has_contents(const ScarpDrive *drive, uint32_t ppn)
{
    return scarp_media_keeps(drive) ? scarp_media_lpn(drive, ppn) != SCARP_NONE
                                    : scarp_unit_is_valid(drive, ppn);
}

static bool read_data(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    g_autofree char *spare = g_malloc(drive->geo.unit_bytes);
    int64_t last = -1;

    if (!image_find(image, "data")) {
        return true;
    }
    if (!image_read_begin(image, "data", error)) {
        return false;
    }
    while (image->left) {
        uint32_t ppn;

        if (!image_read(image, &ppn, sizeof(ppn), error) ||
            !image_read(image, spare, drive->geo.unit_bytes, error)) {
            return false;
        }
        ppn = GUINT32_FROM_LE(ppn);
        if (ppn <= last || ppn >= scarp_geometry_units(&drive->geo) ||
            !has_contents(drive, ppn)) {
            return image_fail(image, error, "damaged: data in unit %u", ppn);
        }
        last = ppn;
        if (drive->store_data || is_record(drive, scarp_media_lpn(drive, ppn))) {
            void *data = scarp_contents_new(drive);

            memcpy(data, spare, drive->geo.unit_bytes);
            scarp_contents_put(drive, ppn, data);
            if (!scarp_map_may_say(drive, scarp_media_lpn(drive, ppn), data)) {
                return image_fail(image, error, "damaged: what unit %u says",
                                  ppn);
            }
        }
    }
    return image_read_end(image, error);
}

/* ---- Versions ------------------------------------------------------------ */

/*
 * Checks the versions of units. No version may be above the drive's last
 * sequence number. Recovery sees only LPNs and versions, and must find with
 * them the map that the image has, except for units whose deallocation was not
 * programmed.
 */
static bool check_versions(ScarpImage *image, ScarpDrive *drive,
                           GError **error)
{
    uint32_t units = scarp_geometry_units(&drive->geo);
    g_autofree uint32_t *ppn_of = NULL;

    if (!scarp_media_has_versions(drive)) {
        return true;
    }
    for (uint32_t ppn = 0; ppn < units; ppn++) {
        if (scarp_media_lpn(drive, ppn) != SCARP_NONE &&
            scarp_media_version(drive, ppn) >= scarp_seq_count(drive)) {
            return image_fail(image, error, "damaged: unit %u has version %"
                              G_GUINT64_FORMAT ", and the next one is %"
                              G_GUINT64_FORMAT, ppn,
                              scarp_media_version(drive, ppn),
                              scarp_seq_count(drive));
        }
    }
    if (scarp_map_rebuild_lies(drive)) {
        return true;
    }
    ppn_of = g_new(uint32_t, drive->geo.mapped_units);
    scarp_map_rebuild(drive, ppn_of);
    for (uint32_t lpn = 0; lpn < drive->geo.mapped_units; lpn++) {
        uint32_t is = scarp_map_lookup(drive, lpn);

        if (ppn_of[lpn] == is ||
            (is == SCARP_NONE && drive->desc.recovery != RECOVERY_ALL) ||
            (is != SCARP_NONE && ppn_of[lpn] != SCARP_NONE &&
             scarp_media_version(drive, is) ==
                 scarp_media_version(drive, ppn_of[lpn]))) {
            continue;
        }
        return image_fail(image, error, "damaged: by its versions the logical "
                          "unit %u is in %d, by its marks in %d", lpn,
                          (int)ppn_of[lpn], (int)is);
    }
    return true;
}

/*
 * Reads the section that names the program that wrote the image. Any name is
 * accepted. The first images had no such section.
 */
static bool read_writer(ScarpImage *image, ScarpDrive *drive G_GNUC_UNUSED,
                        GError **error)
{
    g_autofree uint8_t *text = NULL;
    size_t n;

    if (!image_find(image, "writer")) {
        return true;
    }
    text = image_read_all(image, "writer", &n, error);
    return text;
}

/* The steps of loading. A step may rely on all steps before it. */
static bool (*const steps[])(ScarpImage *, ScarpDrive *, GError **) = {
    read_lpns,         read_versions, image_read_pages, read_marks,
    read_modes,        read_state,    read_cache,       read_wear,
    check_written,     image_check_pages, read_data,    check_versions,
    read_writer,
};

/*
 * Loads an image. If that fails, the caller frees the drive, so no step has to
 * be undone.
 */
bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (!steps[i](image, drive, error)) {
            return false;
        }
    }
    scarp_blocks_close_unused(drive);
    scarp_map_loaded(drive);
    return true;
}
