/*
 * The data bytes of physical units. A unit whose bytes are all zero takes no
 * memory: its pointer is NULL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "media/ops.h"

#define MAX_SPARE 4096

void *scarp_contents_new(ScarpDrive *drive)
{
    GPtrArray *spare = drive->media.spare;

    if (spare->len) {
        return g_ptr_array_steal_index_fast(spare, spare->len - 1);
    }
    return g_malloc(drive->geo.unit_bytes);
}

bool scarp_stock_memory(ScarpDrive *drive)
{
    GPtrArray *spare = drive->media.spare;
    void *data;

    if (!drive->store_data || spare->len >= MAX_SPARE) {
        return false;
    }
    data = g_malloc(drive->geo.unit_bytes);
    /*
     * The operating system maps memory when it is first written. Writing the
     * buffer here keeps that delay out of the command that uses it.
     */
    memset(data, 0, drive->geo.unit_bytes);
    g_ptr_array_add(spare, data);
    return true;
}

void scarp_contents_release(ScarpDrive *drive, void *data)
{
    if (data && drive->media.spare->len < MAX_SPARE) {
        g_ptr_array_add(drive->media.spare, data);
    } else {
        g_free(data);
    }
}

void *scarp_contents_get(const ScarpDrive *drive, uint32_t ppn)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    const ScarpMediaBlock *block = &drive->media.block[index];

    return block->contents
               ? block->contents[ppn - scarp_block_ppn(drive, index)] : NULL;
}

void *scarp_contents_take(ScarpDrive *drive, uint32_t ppn)
{
    void *data = scarp_contents_get(drive, ppn);

    if (data) {
        uint32_t index = scarp_ppn_block(drive, ppn);

        drive->media.block[index]
            .contents[ppn - scarp_block_ppn(drive, index)] = NULL;
    }
    return data;
}

void scarp_contents_put(ScarpDrive *drive, uint32_t ppn, void *data)
{
    uint32_t index = scarp_ppn_block(drive, ppn);
    ScarpMediaBlock *block = &drive->media.block[index];
    const char *bytes = data;

    if (!data) {
        return;
    }
    if (bytes[0] == 0 && !memcmp(bytes, bytes + 1, drive->geo.unit_bytes - 1)) {
        scarp_contents_release(drive, data);
        return;
    }
    if (!block->contents) {
        block->contents = g_new0(void *, drive->geo.units_per_block);
    }
    block->contents[ppn - scarp_block_ppn(drive, index)] = data;
}

void scarp_contents_copy(ScarpDrive *drive, uint32_t from, uint32_t to)
{
    const void *data = scarp_contents_get(drive, from);

    if (data) {
        void *copy = scarp_contents_new(drive);

        memcpy(copy, data, drive->geo.unit_bytes);
        scarp_contents_put(drive, to, copy);
    }
}

bool scarp_contents_any(const ScarpDrive *drive, uint32_t block)
{
    return drive->media.block[block].contents;
}
