/*
 * Records of stripes in RAM: which pages are in a stripe's sum, the exclusive
 * or that becomes its parity.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/internal.h"

ScarpStripe *scarp_stripe_new(ScarpDrive *drive, uint32_t index)
{
    ScarpStripe *stripe = scarp_pool_take(&drive->parity.stripes);

    *stripe = (ScarpStripe) { .index = index };
    return stripe;
}

void scarp_stripe_free(ScarpDrive *drive, ScarpStripe *stripe)
{
    scarp_contents_release(drive, stripe->sum);
    scarp_pool_give(&drive->parity.stripes, stripe);
}

void scarp_stripe_list_add(ScarpStripeList *list, ScarpStripe *stripe)
{
    stripe->next = NULL;
    stripe->prev = list->tail;
    *(stripe->prev ? &stripe->prev->next : &list->head) = stripe;
    list->tail = stripe;
}

void scarp_stripe_list_remove(ScarpStripeList *list, ScarpStripe *stripe)
{
    *(stripe->prev ? &stripe->prev->next : &list->head) = stripe->next;
    *(stripe->next ? &stripe->next->prev : &list->tail) = stripe->prev;
}

ScarpStripe *scarp_stripe_placed(const ScarpDrive *drive, uint32_t index)
{
    const ScarpParity *parity = &drive->parity;
    ScarpStripe *stripe = parity->hash[index & parity->hash_mask];

    while (stripe && stripe->index != index) {
        stripe = stripe->hash_next;
    }
    return stripe;
}

ScarpStripe *scarp_stripe_open(const ScarpDrive *drive, uint32_t index)
{
    ScarpStripe *stripe = scarp_stripe_placed(drive, index);

    return stripe && stripe->open ? stripe : NULL;
}

void scarp_stripe_add(ScarpDrive *drive, ScarpStripe *stripe, const void *data)
{
    const uint64_t *from = data;
    uint64_t *to;

    if (!data) {
        return;
    }
    if (!stripe->sum) {
        stripe->sum = scarp_contents_new(drive);
        memcpy(stripe->sum, data, drive->geo.unit_bytes);
        return;
    }
    to = stripe->sum;
    for (uint32_t i = 0; i < drive->geo.unit_bytes / sizeof(*to); i++) {
        to[i] ^= from[i];
    }
}

bool scarp_stripe_known(const ScarpDrive *drive, uint32_t lpn,
                        const void **data)
{
    const ScarpUnit *unit = scarp_pack_find(drive, lpn);

    *data = NULL;
    if (unit && !scarp_unit_is_partial(unit)) {
        *data = scarp_unit_data(unit);
        return true;
    }
    return !scarp_map_is_mapped(drive, lpn);
}

bool scarp_stripe_is_empty(const ScarpDrive *drive, uint32_t index)
{
    for (uint32_t i = 0; i + 1 < drive->parity.width; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, index, i);

        if (scarp_map_is_mapped(drive, lpn) || scarp_pack_find(drive, lpn)) {
            return false;
        }
    }
    return true;
}

void scarp_stripe_read(ScarpDrive *drive, ScarpStripe *stripe, uint32_t lpn,
                       uint32_t bytes)
{
    ScarpFlashCmd *cmd = scarp_flash_new(drive, SCARP_FLASH_READ, OWNER_STRIPE,
                                         stripe->parent ? SCARP_ORIGIN_HOST
                                                        : SCARP_ORIGIN_PARITY);
    uint32_t ppn = scarp_map_lookup(drive, lpn);

    scarp_flash_set_subject(cmd, stripe);
    scarp_flash_set_lpn(cmd, lpn, 1);
    scarp_flash_set_target(cmd, scarp_ppn_plane(drive, ppn), ppn, bytes);
    scarp_nand_enqueue(drive, cmd);
}
