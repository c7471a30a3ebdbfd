/*
 * Invariants (laws) of stripes, for checked builds. The laws compute all values
 * anew from the pages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parity/internal.h"

static bool broken(GError **error, const char *what, uint32_t index)
{
    g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE, "stripe %u %s", index,
                what);
    return false;
}

static const void *newest(const ScarpDrive *drive, uint32_t lpn)
{
    const void *data;

    return scarp_stripe_known(drive, lpn, &data)
               ? data
               : scarp_contents_get(drive, scarp_map_lookup(drive, lpn));
}

/* True when the exclusive or of a stripe's pages, with its parity, is zero. */
static bool sums_up(const ScarpDrive *drive, uint32_t index)
{
    uint32_t words = drive->geo.unit_bytes / sizeof(uint64_t);
    g_autofree uint64_t *sum = g_new0(uint64_t, words);

    for (uint32_t i = 0; i < drive->parity.width; i++) {
        const uint64_t *data = newest(drive,
                                      scarp_stripe_lpn(drive, index, i));

        for (uint32_t w = 0; data && w < words; w++) {
            sum[w] ^= data[w];
        }
    }
    for (uint32_t w = 0; w < words; w++) {
        if (sum[w]) {
            return false;
        }
    }
    return true;
}

static bool check_stripe(const ScarpDrive *drive, uint32_t s, bool contents,
                         GError **error)
{
    bool mapped = scarp_map_is_mapped(drive, drive->geo.logical_units + s);

    if (mapped == scarp_stripe_is_empty(drive, s)) {
        return broken(error, mapped ? "is empty and has a parity"
                                    : "has no parity", s);
    }
    for (uint32_t i = 0; i < drive->parity.width; i++) {
        uint32_t lpn = scarp_stripe_lpn(drive, s, i);
        uint32_t ppn = scarp_map_lookup(drive, lpn);

        if (ppn != SCARP_NONE &&
            scarp_ppn_plane(drive, ppn) != scarp_parity_plane(drive, lpn)) {
            return broken(error, "has left its planes", s);
        }
    }
    /*
     * With lie.unserialised, a deliberate fault, a power cut may bring back an
     * older version of a page, which the parity does not cover.
     */
    return !contents || !drive->store_data || drive->desc.unserialised ||
           sums_up(drive, s) ||
           broken(error, "is not what its parity says", s);
}

/*
 * Checks that at most ftl.parity_stripes stripes have a place in RAM, and that
 * the counters of stripes are right. After a power cut more stripes may be
 * restored. In that case no further stripe may get a place.
 */
static bool check_places(const ScarpDrive *drive, uint32_t placed,
                         uint32_t open, GError **error)
{
    const ScarpParity *parity = &drive->parity;

    if (placed > parity->most) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "%u stripes have their parity in RAM, %u may", placed,
                    parity->most);
        return false;
    }
    return (placed == parity->n_placed ||
            scarp_law_differs(error, "stripes with a place", 0,
                              parity->n_placed, placed)) &&
           (open == parity->n_open ||
            scarp_law_differs(error, "open stripes", 0, parity->n_open, open));
}

bool scarp_parity_check(const ScarpDrive *drive, bool contents, GError **error)
{
    uint32_t stripes = drive->geo.mapped_units - drive->geo.logical_units;
    uint32_t placed = 0, open = 0;

    for (uint32_t s = 0; s < stripes; s++) {
        const ScarpStripe *stripe = scarp_stripe_placed(drive, s);

        placed += stripe != NULL;
        if (stripe && stripe->open) {
            open++;
        } else if (!check_stripe(drive, s, contents, error)) {
            return false;
        }
    }
    return check_places(drive, placed, open, error);
}
