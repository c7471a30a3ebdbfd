/*
 * Starting from an image.  Nothing in the file is believed: sizes are compared
 * with the drive's before anything is allocated, every entry of a table with
 * what it may be.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/image.h"

#include <string.h>

static uint64_t units(const ScarpDrive *drive)
{
    return (uint64_t)drive->units_per_plane * drive->n_planes;
}

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
    g_autofree char *own = image_layout_text(drive);
    g_autofree char *its =
        (char *)image_read_all(image, "layout", &length, error);
    g_auto(GStrv) own_lines = g_strsplit(own, "\n", -1);
    g_auto(GStrv) its_lines = g_strsplit(its ? its : "", "\n", -1);
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
    return has_bytes(image, "p2l", units(drive) * sizeof(uint32_t), error) &&
           has_bytes(image, "valid",
                     (units(drive) / 64 + 1) * sizeof(uint64_t), error) &&
           (!drive->d.recovery ||
            has_bytes(image, "version", units(drive) * sizeof(uint64_t),
                      error));
}

/* ---- Mapping -------------------------------------------------------------- */

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

static bool read_tables(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint64_t n = units(drive);
    g_autofree uint64_t *valid = g_new(uint64_t, n / 64 + 1);

    if (!image_read_begin(image, "p2l", error) ||
        !image_read(image, drive->p2l, n * sizeof(uint32_t), error) ||
        !image_read_end(image, error) ||
        !read_u64s(image, "valid", valid, n / 64 + 1, error) ||
        (drive->version &&
         !read_u64s(image, "version", drive->version, n, error))) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        drive->p2l[i] = GUINT32_FROM_LE(drive->p2l[i]);
    }
    for (uint64_t b = 0, ppn = 0; b < drive->n_blocks; b++) {
        ScarpBlock *block = scarp_block(drive, b);

        for (uint32_t i = 0; i < drive->units_per_block; i++, ppn++) {
            block->is_valid[i / 64] |= (valid[ppn / 64] >> (ppn % 64) & 1)
                                       << (i % 64);
        }
    }
    return !(valid[n / 64] >> (n % 64)) ||
           image_fail(image, error, "damaged: units beyond the last");
}

/* The forward table follows from the reverse one and the marks. */
static bool derive(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint32_t ppn = 0;

    for (uint32_t b = 0; b < drive->n_blocks; b++) {
        uint32_t valid = 0;

        for (uint32_t i = 0; i < drive->units_per_block; i++, ppn++) {
            uint32_t lpn = drive->p2l[ppn];
            bool mapped = scarp_map_valid(drive, ppn);

            if (lpn == SCARP_NONE ? mapped : lpn >= drive->mapped_units) {
                return image_fail(image, error, "damaged: unit %u holds the "
                                  "logical unit %u", ppn, lpn);
            }
            if (!mapped) {
                continue;
            }
            if (drive->l2p[lpn] != SCARP_NONE) {
                return image_fail(image, error, "damaged: the logical unit %u "
                                  "is in %u and in %u", lpn, drive->l2p[lpn],
                                  ppn);
            }
            drive->l2p[lpn] = ppn;
            valid++;
        }
        scarp_block(drive, b)->valid = valid;
        drive->plane[scarp_block_plane(drive, b)].valid += valid;
    }
    return true;
}

/* No unit lies where nothing was programmed. */
static bool check_written(ScarpImage *image, const ScarpDrive *drive,
                          GError **error)
{
    for (uint32_t b = 0; b < drive->n_blocks; b++) {
        uint32_t i = scarp_block(drive, b)->written * drive->units_per_page;

        for (; i < drive->units_per_block; i++) {
            if (drive->p2l[b * drive->units_per_block + i] != SCARP_NONE) {
                return image_fail(image, error, "damaged: block %u has a unit "
                                  "in a page that is not written", b);
            }
        }
    }
    return true;
}

/* ---- State ---------------------------------------------------------------- */

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

bool scarp_image_load_scheme(ScarpImage *image, ScarpDrive *drive,
                             GError **error)
{
    return visit_section(image, "scheme", drive, image_visit_scheme, error);
}

/* ---- Data ----------------------------------------------------------------- */

static bool read_data(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    g_autofree char *spare = g_malloc(drive->unit_bytes);
    int64_t last = -1;

    if (!image_read_begin(image, "data", error)) {
        return false;
    }
    while (image->left) {
        uint32_t ppn;

        if (!image_read(image, &ppn, sizeof(ppn), error) ||
            !image_read(image, spare, drive->unit_bytes, error)) {
            return false;
        }
        ppn = GUINT32_FROM_LE(ppn);
        if (ppn <= last || ppn >= units(drive) ||
            !scarp_map_valid(drive, ppn)) {
            return image_fail(image, error, "damaged: data in unit %u", ppn);
        }
        last = ppn;
        if (drive->store_data) {
            void *data = scarp_store_new(drive);

            memcpy(data, spare, drive->unit_bytes);
            scarp_store_put(drive, ppn, data);
        }
    }
    return image_read_end(image, error);
}

bool scarp_image_load(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    if (!read_tables(image, drive, error) || !derive(image, drive, error) ||
        !visit_section(image, "state", drive, image_visit_state, error) ||
        !check_written(image, drive, error) ||
        (image_find(image, "data") && !read_data(image, drive, error))) {
        return false;
    }
    scarp_blocks_close_unused(drive);
    return true;
}
