/*
 * Saving a drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/image.h"

#include <string.h>

static uint64_t units(const ScarpDrive *drive)
{
    return (uint64_t)drive->units_per_plane * drive->n_planes;
}

static void put_text(ImageWriter *writer, const char *name, const char *text)
{
    image_begin(writer, name);
    image_put(writer, text, strlen(text));
    image_end(writer);
}

static void put_visit(ImageWriter *writer, const char *name, ScarpDrive *drive,
                      void (*describe)(ScarpDrive *, ScarpVisit *))
{
    ScarpVisit visit = { .out = g_byte_array_new() };

    describe(drive, &visit);
    image_begin(writer, name);
    image_put(writer, visit.out->data, visit.out->len);
    image_end(writer);
    g_byte_array_free(visit.out, true);
}

static void put_u64s(ImageWriter *writer, const char *name,
                     const uint64_t *values, uint64_t n)
{
    uint64_t part[2048];

    image_begin(writer, name);
    for (uint64_t i = 0; i < n;) {
        uint32_t k = 0;

        for (; k < G_N_ELEMENTS(part) && i < n; k++, i++) {
            part[k] = GUINT64_TO_LE(values[i]);
        }
        image_put(writer, part, k * sizeof(*part));
    }
    image_end(writer);
}

/* One bit after the other, whichever block it is of. */
static void put_valid(ImageWriter *writer, const ScarpDrive *drive)
{
    uint64_t n = units(drive);

    image_begin(writer, "valid");
    for (uint64_t ppn = 0; ppn <= n; ppn += 64) {
        uint64_t word = 0;
        uint32_t k = 0;

        while (k < 64 && ppn + k < n) {
            uint32_t left = drive->units_per_block -
                            (ppn + k) % drive->units_per_block;
            uint32_t bits = MIN(left, 64 - k);

            word |= scarp_map_valid_bits(drive, ppn + k, bits) << k;
            k += bits;
        }
        word = GUINT64_TO_LE(word);
        image_put(writer, &word, sizeof(word));
    }
    image_end(writer);
}

static void put_mapping(ImageWriter *writer, const ScarpDrive *drive)
{
    uint32_t part[4096];
    uint64_t n = units(drive);

    image_begin(writer, "p2l");
    for (uint64_t i = 0; i < n;) {
        uint32_t k = 0;

        for (; k < G_N_ELEMENTS(part) && i < n; k++, i++) {
            part[k] = GUINT32_TO_LE(drive->p2l[i]);
        }
        image_put(writer, part, k * sizeof(*part));
    }
    image_end(writer);
    put_valid(writer, drive);
}

/* Where something is stored: the PPN, then the unit. */
static void put_data(ImageWriter *writer, const ScarpDrive *drive)
{
    image_begin(writer, "data");
    for (uint64_t ppn = 0; ppn < units(drive); ppn++) {
        uint32_t le = GUINT32_TO_LE((uint32_t)ppn);
        const void *data;

        if (!drive->block_rest[scarp_ppn_block(drive, ppn)].data) {
            ppn += drive->units_per_block - 1;
            continue;
        }
        data = scarp_store_get(drive, ppn);
        if (data) {
            image_put(writer, &le, sizeof(le));
            image_put(writer, data, drive->unit_bytes);
        }
    }
    image_end(writer);
}

bool scarp_save(ScarpDrive *drive, const char *path, GError **error)
{
    g_autofree char *layout = image_layout_text(drive);
    g_autofree char *description = scarp_description_text(&drive->d);
    ImageWriter writer;

    if (!scarp_at_rest(drive, error)) {
        return false;
    }
    if (drive->broken) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "image=%s: the drive broke a law and is not saved", path);
        return false;
    }
    if (!image_create(&writer, path, 6 + !!drive->version + drive->store_data,
                      error)) {
        return false;
    }
    put_text(&writer, "layout", layout);
    put_text(&writer, "describe", description);
    put_mapping(&writer, drive);
    if (drive->version) {
        put_u64s(&writer, "version", drive->version, units(drive));
    }
    put_visit(&writer, "state", drive, image_visit_state);
    put_visit(&writer, "scheme", drive, image_visit_scheme);
    if (drive->store_data) {
        put_data(&writer, drive);
    }
    return image_commit(&writer, error);
}
