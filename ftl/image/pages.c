/*
 * Saves, loads and checks the state of each page's cells, for drives whose
 * power may fail: a byte for each page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "image/internal.h"
#include "parity/ops.h"

static uint64_t pages_of(const ScarpDrive *drive)
{
    return (uint64_t)drive->geo.n_blocks * drive->desc.pages_per_block;
}

void image_put_pages(ImageWriter *writer, ScarpDrive *drive)
{
    uint8_t part[4096];

    for (uint64_t page = 0; page < pages_of(drive);) {
        uint32_t k = 0;

        for (; k < sizeof(part) && page < pages_of(drive); k++, page++) {
            part[k] = scarp_media_page(drive, page);
        }
        image_put(writer, part, k);
    }
}

/*
 * True when a page may have this state. Only a programmed page may have units.
 */
static bool suits(const ScarpDrive *drive, uint32_t page, ScarpPageState state)
{
    uint32_t ppn = page << drive->geo.page_shift;

    for (uint32_t i = 0; i < drive->geo.units_per_page; i++) {
        if (state != PAGE_PROGRAMMED &&
            scarp_media_lpn(drive, ppn + i) != SCARP_NONE) {
            return false;
        }
    }
    return state <= PAGE_TORN;
}

bool image_read_pages(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    uint8_t part[4096];

    if (!scarp_media_keeps(drive)) {
        return true;
    }
    if (!image_read_begin(image, "pages", error)) {
        return false;
    }
    for (uint64_t page = 0; page < pages_of(drive);) {
        uint32_t k = MIN(sizeof(part), pages_of(drive) - page);

        if (!image_read(image, part, k, error)) {
            return false;
        }
        for (uint32_t i = 0; i < k; i++, page++) {
            if (!suits(drive, page, part[i])) {
                return image_fail(image, error, "damaged: page %u is in state "
                                  "%u", (uint32_t)page, part[i]);
            }
            scarp_media_set_pages(drive, page, 1, part[i]);
        }
    }
    return image_read_end(image, error);
}

bool image_check_pages(ScarpImage *image, ScarpDrive *drive, GError **error)
{
    for (uint32_t b = 0; scarp_media_keeps(drive) && b < drive->geo.n_blocks;
         b++) {
        uint32_t ppn = scarp_block_ppn(drive, b);

        if (scarp_media_used_pages(drive, b) > scarp_block_written(drive, b)) {
            return image_fail(image, error, "damaged: block %u has a page in "
                              "use that is not written", b);
        }
        for (uint32_t i = 0; i < drive->geo.units_per_block; i++, ppn++) {
            if (scarp_media_lpn(drive, ppn) != SCARP_NONE &&
                !(scarp_map_may_hold(drive, ppn) &&
                  scarp_parity_may_hold(drive, ppn))) {
                return image_fail(image, error, "damaged: unit %u cannot hold "
                                  "the logical unit %u", ppn,
                                  scarp_media_lpn(drive, ppn));
            }
        }
    }
    return true;
}
