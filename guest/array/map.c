/*
 * Mapping of the array's pages to drives (section 3.1): with N drives, striping
 * unit u of the array is unit u / N of drive u mod N, as in RAID-0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "internal.h"

uint32_t array_map(const Array *a, uint64_t number, uint64_t *offset_bytes)
{
    uint64_t unit = number / a->stripe_pages;
    uint64_t on_drive = unit / a->config.n_drives * a->stripe_pages +
                        number % a->stripe_pages;

    *offset_bytes = a->config.data_offset_bytes +
                    on_drive * a->config.page_bytes;
    return unit % a->config.n_drives;
}

uint64_t array_map_before(const Array *a, uint64_t number, uint32_t drive)
{
    uint64_t row_pages = a->stripe_pages * a->config.n_drives;
    uint64_t in_row = number % row_pages, begin = drive * a->stripe_pages;
    uint64_t own = in_row > begin ? in_row - begin : 0;

    return number / row_pages * a->stripe_pages +
           (own < a->stripe_pages ? own : a->stripe_pages);
}
