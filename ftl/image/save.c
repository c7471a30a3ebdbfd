/*
 * Saving a drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"

#include <string.h>

static void put_text(ImageWriter *writer, const char *text)
{
    image_put(writer, text, strlen(text));
}

static void put_layout(ImageWriter *writer, ScarpDrive *drive)
{
    g_autofree char *text = image_layout_text(drive,
                                              scarp_blocks_cached(drive));

    put_text(writer, text);
}

static void put_description(ImageWriter *writer, ScarpDrive *drive)
{
    g_autofree char *text = scarp_description_text(&drive->desc);

    put_text(writer, text);
}

static void put_visit(ImageWriter *writer, ScarpDrive *drive,
                      void (*describe)(ScarpDrive *, ScarpVisit *))
{
    ScarpVisit visit = { .out = g_byte_array_new() };

    describe(drive, &visit);
    image_put(writer, visit.out->data, visit.out->len);
    g_byte_array_free(visit.out, true);
}

static void put_state(ImageWriter *writer, ScarpDrive *drive)
{
    put_visit(writer, drive, image_visit_state);
}

static void put_modes(ImageWriter *writer, ScarpDrive *drive)
{
    put_visit(writer, drive, image_visit_modes);
}

static void put_cache(ImageWriter *writer, ScarpDrive *drive)
{
    put_visit(writer, drive, image_visit_cache);
}

static void put_wear(ImageWriter *writer, ScarpDrive *drive)
{
    put_visit(writer, drive, image_visit_wear);
}

static void put_scheme(ImageWriter *writer, ScarpDrive *drive)
{
    put_visit(writer, drive, image_visit_scheme);
}

static void put_versions(ImageWriter *writer, ScarpDrive *drive)
{
    uint64_t part[2048], n = scarp_geometry_units(&drive->geo);

    for (uint64_t ppn = 0; ppn < n;) {
        uint32_t k = 0;

        for (; k < G_N_ELEMENTS(part) && ppn < n; k++, ppn++) {
            part[k] = GUINT64_TO_LE(scarp_media_version(drive, ppn));
        }
        image_put(writer, part, k * sizeof(*part));
    }
}

/*
 * Writes the valid bit of each unit of the drive, without gaps between blocks.
 */
static void put_valid(ImageWriter *writer, ScarpDrive *drive)
{
    uint64_t n = scarp_geometry_units(&drive->geo);

    for (uint64_t ppn = 0; ppn <= n; ppn += 64) {
        uint64_t word = 0;
        uint32_t k = 0;

        while (k < 64 && ppn + k < n) {
            uint32_t left = drive->geo.units_per_block -
                            (ppn + k) % drive->geo.units_per_block;
            uint32_t bits = MIN(left, 64 - k);

            word |= scarp_valid_bits(drive, ppn + k, bits) << k;
            k += bits;
        }
        word = GUINT64_TO_LE(word);
        image_put(writer, &word, sizeof(word));
    }
}

static void put_lpns(ImageWriter *writer, ScarpDrive *drive)
{
    uint32_t part[4096];
    uint64_t n = scarp_geometry_units(&drive->geo);

    for (uint64_t i = 0; i < n;) {
        uint32_t k = 0;

        for (; k < G_N_ELEMENTS(part) && i < n; k++, i++) {
            part[k] = GUINT32_TO_LE(scarp_media_lpn(drive, i));
        }
        image_put(writer, part, k * sizeof(*part));
    }
}

/* Writes each unit that has contents: first its PPN, then its bytes. */
static void put_data(ImageWriter *writer, ScarpDrive *drive)
{
    for (uint64_t ppn = 0; ppn < scarp_geometry_units(&drive->geo); ppn++) {
        uint32_t le = GUINT32_TO_LE((uint32_t)ppn);
        const void *data;

        if (!scarp_contents_any(drive, scarp_ppn_block(drive, ppn))) {
            ppn += drive->geo.units_per_block - 1;
            continue;
        }
        data = scarp_contents_get(drive, ppn);
        if (data) {
            image_put(writer, &le, sizeof(le));
            image_put(writer, data, drive->geo.unit_bytes);
        }
    }
}

static bool has_versions(const ScarpDrive *drive)
{
    return scarp_media_has_versions(drive);
}

static bool has_data(const ScarpDrive *drive)
{
    return scarp_contents_kept(drive);
}

static bool has_cache(const ScarpDrive *drive)
{
    return scarp_blocks_cached(drive);
}

static bool has_wear(const ScarpDrive *drive)
{
    return drive->desc.slc_endurance_erases;
}

static bool has_pages(const ScarpDrive *drive)
{
    return scarp_media_keeps(drive);
}

/*
 * Writes the name of the program that saves the image, for people, and for
 * later versions that must work round a known fault of this version.
 */
static void put_writer(ImageWriter *writer, ScarpDrive *drive G_GNUC_UNUSED)
{
    static const char text[] = "scarp " SCARP_VERSION "\n";

    image_put(writer, text, strlen(text));
}

/* The sections of the file, in their order. */
static const struct {
    const char *name;
    void (*put)(ImageWriter *writer, ScarpDrive *drive);
    /* NULL: every image has the section */
    bool (*wanted)(const ScarpDrive *drive);
} sections[] = {
    { "layout", put_layout, NULL },
    { "describe", put_description, NULL },
    { "p2l", put_lpns, NULL },
    { "valid", put_valid, NULL },
    { "version", put_versions, has_versions },
    { "pages", image_put_pages, has_pages },
    { "modes", put_modes, has_cache },
    { "state", put_state, NULL },
    { "cache", put_cache, has_cache },
    { "wear", put_wear, has_wear },
    { "scheme", put_scheme, NULL },
    { "data", put_data, has_data },
    { "writer", put_writer, NULL },
};

static bool is_wanted(const ScarpDrive *drive, size_t i)
{
    return !sections[i].wanted || sections[i].wanted(drive);
}

/*
 * Saves a drive. A failure need not be undone, because the old file is not
 * touched before image_commit().
 */
bool scarp_image_save(ScarpDrive *drive, const char *path, GError **error)
{
    ImageWriter writer;
    uint32_t n = 0;

    if (scarp_is_broken(drive)) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "image=%s: the drive broke a law and is not saved", path);
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        n += is_wanted(drive, i);
    }
    if (!image_create(&writer, path, n, error)) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        if (is_wanted(drive, i)) {
            image_begin(&writer, sections[i].name);
            sections[i].put(&writer, drive);
            image_end(&writer);
        }
    }
    return image_commit(&writer, error);
}
