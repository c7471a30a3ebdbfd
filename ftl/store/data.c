/*
 * What is stored in each physical data.  All-zero pages are not stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "drive.h"

#include <string.h>

#define MAX_SPARE 4096

void *scarp_store_new(ScarpDrive *drive)
{
    if (drive->free_data->len) {
        return g_ptr_array_steal_index_fast(drive->free_data,
                                            drive->free_data->len - 1);
    }
    return g_malloc(drive->unit_bytes);
}

void scarp_store_release(ScarpDrive *drive, void *data)
{
    if (data && drive->free_data->len < MAX_SPARE) {
        g_ptr_array_add(drive->free_data, data);
    } else {
        g_free(data);
    }
}

void *scarp_store_get(const ScarpDrive *drive, uint32_t ppn)
{
    const BlockRest *block = &drive->block_rest[scarp_ppn_block(drive, ppn)];

    return block->data ? block->data[ppn % drive->units_per_block] : NULL;
}

void *scarp_store_take(ScarpDrive *drive, uint32_t ppn)
{
    void *data = scarp_store_get(drive, ppn);

    if (data) {
        drive->block_rest[scarp_ppn_block(drive, ppn)]
            .data[ppn % drive->units_per_block] = NULL;
    }
    return data;
}

void scarp_store_put(ScarpDrive *drive, uint32_t ppn, void *data)
{
    BlockRest *block = &drive->block_rest[scarp_ppn_block(drive, ppn)];
    const char *bytes = data;

    if (!data) {
        return;
    }
    if (bytes[0] == 0 && !memcmp(bytes, bytes + 1, drive->unit_bytes - 1)) {
        scarp_store_release(drive, data);
        return;
    }
    if (!block->data) {
        block->data = g_new0(void *, drive->units_per_block);
    }
    block->data[ppn % drive->units_per_block] = data;
}

void scarp_check_oob(ScarpDrive *drive, uint32_t ppn, uint32_t lpn)
{
    drive->stats.oob_checks++;
    if (drive->p2l[ppn] != lpn) {
        drive->stats.oob_mismatches++;
        drive->broken = true;
    }
}
