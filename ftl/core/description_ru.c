/*
 * Checks ftl.reclaim_planes and ftl.isolated_streams of a description: reclaim
 * units of several blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description_check.h"

#include <string.h>

/* Returns what the rest of the description has against units, or NULL. */
static const char *against(const ScarpDescription *d)
{
    uint64_t planes = d->channels * d->chips_per_channel * d->dies_per_chip *
                      d->planes_per_die;

    if (d->reclaim_planes % d->planes_per_die || planes % d->reclaim_planes) {
        return "must be 1, or a multiple of geometry.planes_per_die that "
               "divides the drive's planes";
    }
    if (d->mapping != MAPPING_PAGE) {
        return "needs ftl.mapping=page";
    }
    if (d->parity_width) {
        return "needs ftl.parity_width=0";
    }
    if (scarp_has_slc(d)) {
        return "needs a drive without an SLC cache (slc.static_blocks=0, "
               "slc.dynamic=0)";
    }
    if (d->paired_pages == PAIRED_PAD) {
        return "needs ftl.paired_pages other than pad, as copies of one block "
               "go to several";
    }
    if (!strcmp(d->allocation, "dynamic")) {
        return "needs an order of c, w, d, p in ftl.allocation, in which a "
               "reclaim unit is written";
    }
    if (!d->separate_active_block) {
        return "needs gc.separate_active_block=1, as copies have reclaim units "
               "of their own";
    }
    if (d->copyback) {
        return "needs nand.copyback=0, as copies go to other planes";
    }
    if (d->reclaim_planes < planes && !d->buffer_bytes) {
        return "needs controller.buffer_bytes where it is less than the "
               "drive's planes";
    }
    return NULL;
}

bool scarp_description_check_ru(const ScarpDescription *d, GError **error)
{
    const char *why = scarp_has_units(d) ? against(d) : NULL;

    if (d->streams > scarp_most_streams(d)) {
        return scarp_refuse_key(error, "ftl.streams", d->streams,
                                "above 8 it needs ftl.reclaim_planes above 1");
    }
    if (d->isolated_streams > d->streams) {
        return scarp_refuse_key(error, "ftl.isolated_streams",
                                d->isolated_streams,
                                "at most ftl.streams are allowed");
    }
    if (d->isolated_streams && !scarp_has_units(d)) {
        return scarp_refuse_key(error, "ftl.isolated_streams",
                                d->isolated_streams,
                                "needs ftl.reclaim_planes above 1");
    }
    return !why || scarp_refuse_key(error, "ftl.reclaim_planes",
                                    d->reclaim_planes, why);
}
