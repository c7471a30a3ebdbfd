/*
 * Functions that the sources of parity share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PARITY_INTERNAL_H
#define SCARP_PARITY_INTERNAL_H

#include "parity/ops.h"

/* Returns the stripe of a unit; *place: the unit's place there. */
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
 * parity/layout.c: false and *error set when the planes cannot be grouped.
 */
bool scarp_parity_layout_init(ScarpDrive *drive, GError **error);
void scarp_parity_layout_clear(ScarpDrive *drive);

/* Functions of parity/stripe.c. */
ScarpStripe *scarp_stripe_new(ScarpDrive *drive, uint32_t index);
void scarp_stripe_free(ScarpDrive *drive, ScarpStripe *stripe);
void scarp_stripe_list_add(ScarpStripeList *list, ScarpStripe *stripe);
void scarp_stripe_list_remove(ScarpStripeList *list, ScarpStripe *stripe);
/* Returns the stripe that has a place in RAM, open or not, or NULL. */
ScarpStripe *scarp_stripe_placed(const ScarpDrive *drive, uint32_t index);
/* Returns the stripe whose parity on flash is out of date, or NULL. */
ScarpStripe *scarp_stripe_open(const ScarpDrive *drive, uint32_t index);
/* Adds a page of data (NULL: zeroes) to the stripe's sum by exclusive or. */
void scarp_stripe_add(ScarpDrive *drive, ScarpStripe *stripe, const void *data);
/*
 * True when no read is needed for the newest contents of a unit: *data is them
 * in RAM, or NULL for zeroes.
 */
bool scarp_stripe_known(const ScarpDrive *drive, uint32_t lpn,
                        const void **data);
/*
 * True when no unit of the stripe is mapped or being written: it needs no
 * parity.
 */
bool scarp_stripe_is_empty(const ScarpDrive *drive, uint32_t index);
/* Reads bytes of lpn's page for the stripe. */
void scarp_stripe_read(ScarpDrive *drive, ScarpStripe *stripe, uint32_t lpn,
                       uint32_t bytes);

/*
 * parity/reconstruct.c: a rebuild's read has ended; a page of the stripe
 * was written.
 */
void scarp_rebuild_read_ended(ScarpDrive *drive, ScarpFlashCmd *cmd);
void scarp_rebuild_spoil(ScarpDrive *drive, uint32_t index);

#endif /* SCARP_PARITY_INTERNAL_H */
