/*
 * Functions that the sources of parity share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_INTERNAL_H
#define SCARP_PARITY_INTERNAL_H

#include "parity/ops.h"

/*
 * Returns the stripe of a unit, and sets *place to the unit's place in that
 * stripe.
 */
static inline uint32_t scarp_stripe_of(const ScarpDrive *drive, uint32_t lpn,
                                       uint32_t *place)
{
    uint32_t data = drive->parity.width - 1;

    if (lpn >= drive->geo.logical_units) {
        *place = data;
        return lpn - drive->geo.logical_units;
    }
    *place = lpn % data;
    return lpn / data;
}

static inline uint32_t scarp_stripe_lpn(const ScarpDrive *drive,
                                        uint32_t stripe, uint32_t place)
{
    uint32_t data = drive->parity.width - 1;

    return place == data ? drive->geo.logical_units + stripe
                         : stripe * data + place;
}

/*
 * Computes the layout of stripes (layout.c). Returns false, with *error set, if
 * the planes cannot be divided into groups.
 */
bool scarp_parity_layout_init(ScarpDrive *drive, GError **error);
void scarp_parity_layout_clear(ScarpDrive *drive);

/* ---- parity/stripe.c ---------------------------------------------------- */

/*
 * Returns a record of the stripe that is in no list. scarp_stripe_free() frees
 * the record and its sum.
 */
ScarpStripe *scarp_stripe_new(ScarpDrive *drive, uint32_t index);
void scarp_stripe_free(ScarpDrive *drive, ScarpStripe *stripe);
void scarp_stripe_list_add(ScarpStripeList *list, ScarpStripe *stripe);
void scarp_stripe_list_remove(ScarpStripeList *list, ScarpStripe *stripe);
/*
 * Returns the stripe's record in the controller's RAM, or NULL if it has none
 * there.
 */
ScarpStripe *scarp_stripe_placed(const ScarpDrive *drive, uint32_t index);
/*
 * Returns the stripe's record if the stripe is open: pages have changed, so the
 * parity on flash is out of date. Otherwise returns NULL.
 */
ScarpStripe *scarp_stripe_open(const ScarpDrive *drive, uint32_t index);
/*
 * Adds a page to the stripe's sum (the parity in the making) by exclusive or.
 * `data` NULL stands for a page of zeroes.
 */
void scarp_stripe_add(ScarpDrive *drive, ScarpStripe *stripe, const void *data);
/*
 * True when the newest contents of the unit are known without a read. *data is
 * then the unit's data in RAM, or NULL for zeroes.
 */
bool scarp_stripe_known(const ScarpDrive *drive, uint32_t lpn,
                        const void **data);
/*
 * True when no unit of the stripe is mapped or being written. Such a stripe
 * needs no parity.
 */
bool scarp_stripe_is_empty(const ScarpDrive *drive, uint32_t index);
/*
 * Queues a read of lpn's page, whose data is then added to the stripe's sum.
 * Only `bytes` bytes of the page cross the channel.
 */
void scarp_stripe_read(ScarpDrive *drive, ScarpStripe *stripe, uint32_t lpn,
                       uint32_t bytes);

/* ---- parity/reconstruct.c ----------------------------------------------- */

/* Called when a read for a rebuild has ended; frees the read. */
void scarp_rebuild_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
/*
 * Called when the host has written or deallocated a page of the stripe: running
 * rebuilds from this stripe are then of no use.
 */
void scarp_rebuild_spoil(ScarpDrive *drive, uint32_t index);

#endif /* SCARP_PARITY_INTERNAL_H */
