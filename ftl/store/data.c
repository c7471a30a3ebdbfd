/*
 * What is stored in each physical page.  All-zero pages are not stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

void *scarp_store_new(ScarpDrive *drive)
{
    if (drive->free_pages->len) {
        return g_ptr_array_steal_index_fast(drive->free_pages,
                                            drive->free_pages->len - 1);
    }
    return g_malloc(drive->d.page_bytes);
}

void scarp_store_release(ScarpDrive *drive, void *page)
{
    if (page) {
        g_ptr_array_add(drive->free_pages, page);
    }
}

void *scarp_store_get(const ScarpDrive *drive, uint32_t ppn)
{
    const ScarpBlock *block = &drive->block[scarp_ppn_block(drive, ppn)];

    return block->data ? block->data[ppn % drive->d.pages_per_block] : NULL;
}

void *scarp_store_take(ScarpDrive *drive, uint32_t ppn)
{
    void *page = scarp_store_get(drive, ppn);

    if (page) {
        drive->block[scarp_ppn_block(drive, ppn)]
            .data[ppn % drive->d.pages_per_block] = NULL;
    }
    return page;
}

void scarp_store_put(ScarpDrive *drive, uint32_t ppn, void *page)
{
    ScarpBlock *block = &drive->block[scarp_ppn_block(drive, ppn)];
    const char *bytes = page;

    if (!page) {
        return;
    }
    if (bytes[0] == 0 && !memcmp(bytes, bytes + 1, drive->d.page_bytes - 1)) {
        scarp_store_release(drive, page);
        return;
    }
    if (!block->data) {
        block->data = g_new0(void *, drive->d.pages_per_block);
    }
    block->data[ppn % drive->d.pages_per_block] = page;
}

void scarp_check_oob(ScarpDrive *drive, uint32_t ppn, uint32_t lpn)
{
    drive->stats.oob_checks++;
    if (drive->p2l[ppn] != lpn) {
        drive->stats.oob_mismatches++;
        drive->broken = true;
    }
}
