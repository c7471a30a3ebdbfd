/*
 * Packers collect the units of one flash page until it is full. The index, a
 * hash table, finds a unit of the host that is not on flash yet by its LPN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "pack/ops.h"

/*
 * Returns the number of entries of the hash table, a power of two of at least
 * 4096. That is enough for the units of a full write buffer, or, without a
 * buffer, for the units of the writes that run at the same time.
 */
static uint32_t hash_size(const ScarpDrive *drive)
{
    uint64_t units = MAX(drive->desc.buffer_bytes / drive->geo.unit_bytes,
                         4096);
    uint32_t n = 4096;

    while (n < units && n < 1u << 24) {
        n *= 2;
    }
    return n;
}

bool scarp_pack_init(ScarpDrive *drive,
                     const ScarpConfig *config G_GNUC_UNUSED,
                     GError **error G_GNUC_UNUSED)
{
    drive->pack.hash_mask = hash_size(drive) - 1;
    drive->pack.hash = g_new0(ScarpUnit *, drive->pack.hash_mask + 1);
    drive->pack.plane = scarp_table_zeroed(drive->geo.n_planes *
                                           sizeof(ScarpPackPlane));
    return true;
}

void scarp_pack_clear(ScarpDrive *drive)
{
    g_free(drive->pack.hash);
    scarp_table_free(drive->pack.plane);
}

void scarp_pack_index(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpUnit **head = &drive->pack.hash[unit->lpn & drive->pack.hash_mask];

    unit->hash_next = *head;
    *head = unit;
    drive->pack.n_indexed++;
}

void scarp_pack_unindex(ScarpDrive *drive, ScarpUnit *unit)
{
    ScarpUnit **link = &drive->pack.hash[unit->lpn & drive->pack.hash_mask];

    while (*link != unit) {
        link = &(*link)->hash_next;
    }
    *link = unit->hash_next;
    drive->pack.n_indexed--;
}

void scarp_packer_remove(ScarpPacker *packer, ScarpUnit *unit)
{
    ScarpUnit **link = &packer->head;

    while (*link != unit) {
        link = &(*link)->next;
    }
    *link = unit->next;
    packer->n--;
    if (!*link) {
        packer->tail = link;
    }
    unit->packing = false;
}

ScarpFlashCmd *scarp_packer_emit(ScarpDrive *drive, ScarpPacker *packer,
                                 ScarpOwner owner, ScarpOrigin origin)
{
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_PROGRAM, owner,
                                         origin);

    scarp_mark_if(drive, host_page_padded, owner == OWNER_BUFFER &&
                  packer->n < drive->geo.units_per_page);
    scarp_flash_set_units(cmd, packer->head, packer->n);
    for (ScarpUnit *unit = packer->head; unit; unit = unit->next) {
        unit->packing = false;
    }
    drive->stats.padded_units += drive->geo.units_per_page - packer->n;
    packer->n = 0;
    packer->head = NULL;
    return cmd;
}
