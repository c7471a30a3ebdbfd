/*
 * Checks the group slc of a description: the SLC cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "core/description_check.h"

const char *const scarp_slc_full_names[SLC_FULL__COUNT] = {
    "direct", "fold",
};

/* Refuses keys of the SLC cache on a drive without an SLC cache. */
static bool check_without(const ScarpDescription *d, GError **error)
{
    const ScarpUnusedKey key[] = {
        { "timing.slc_read_ns", d->slc_read_ns, 0 },
        { "timing.slc_program_ns", d->slc_program_ns, 0 },
        { "timing.slc_erase_ns", d->slc_erase_ns, 0 },
        { "slc.most_blocks", d->slc_most_blocks, 0 },
        { "slc.fold_idle_us", d->slc_fold_idle_us, 0 },
        { "slc.keep_blocks", d->slc_keep_blocks, 0 },
        { "slc.fold_planes", d->slc_fold_planes, 1 },
        { "slc.endurance_erases", d->slc_endurance_erases, 0 },
    };

    if (!scarp_check_unused(key, G_N_ELEMENTS(key),
                            "needs an SLC cache: slc.static_blocks above 0, or "
                            "slc.dynamic=1", error)) {
        return false;
    }
    if (d->slc_full != SLC_DIRECT) {
        g_set_error(error, SCARP_ERROR, SCARP_ERROR_VALUE,
                    "slc.full=%s: needs an SLC cache: slc.static_blocks above "
                    "0, or slc.dynamic=1", scarp_slc_full_names[d->slc_full]);
        return false;
    }
    return true;
}

/* Checks that the rest of the description allows an SLC cache. */
static bool check_drive(const ScarpDescription *d, GError **error)
{
    const char *cache = d->slc_dynamic ? "slc.dynamic" : "slc.static_blocks";
    uint64_t value = d->slc_dynamic ? 1 : d->slc_static_blocks;
    const char *why = NULL;

    if (d->cell_bits == 1) {
        why = "needs nand.cell_bits of 2 to 4, as cells of one bit are SLC "
              "already";
    } else if (d->pages_per_block % d->cell_bits) {
        why = "needs geometry.pages_per_block to be a multiple of "
              "nand.cell_bits";
    } else if (d->mapping != MAPPING_PAGE && d->mapping != MAPPING_DEMAND) {
        why = "needs ftl.mapping=page or demand, as the other mappings choose "
              "the page of a write";
    } else if (d->parity_width) {
        why = "needs ftl.parity_width=0";
    } else if (d->paired_pages == PAIRED_PAD &&
               d->pages_per_block < 2 * d->cell_bits) {
        why = "with ftl.paired_pages=pad it needs geometry.pages_per_block of "
              "at least 2 * nand.cell_bits, as the pages of a fold fill whole "
              "cells";
    } else if (!d->endurance_erases != !d->slc_endurance_erases) {
        why = "needs nand.endurance_erases and slc.endurance_erases either both "
              "0 or both above 0, as each mode wears the same cells";
    } else if (!d->slc_read_ns || !d->slc_program_ns || !d->slc_erase_ns) {
        why = "needs timing.slc_read_ns, timing.slc_program_ns and "
              "timing.slc_erase_ns, each above 0";
    }
    return !why || scarp_refuse_key(error, cache, value, why);
}

/*
 * With slc.full=fold a write waits for an SLC block of its stream. Checks that
 * the cache can have a block for each stream, so that no write waits for ever.
 */
static bool check_fold(const ScarpDescription *d, GError **error)
{
    bool fixed = d->slc_static_blocks >= d->streams;

    if (d->slc_full != SLC_FOLD || fixed) {
        return true;
    }
    if (!d->slc_dynamic) {
        return scarp_refuse_key(error, "slc.static_blocks",
                                d->slc_static_blocks,
                                "with slc.full=fold it must be at least "
                                "ftl.streams, as each stream has an open "
                                "block, or slc.dynamic be 1");
    }
    if (d->slc_most_blocks && d->slc_most_blocks < d->streams) {
        return scarp_refuse_key(error, "slc.most_blocks", d->slc_most_blocks,
                                "with slc.full=fold it must be 0, or at "
                                "least ftl.streams, as each stream has an "
                                "open block");
    }
    return true;
}

bool scarp_description_check_slc(const ScarpDescription *d, GError **error)
{
    if (!scarp_has_slc(d)) {
        return check_without(d, error);
    }
    if (!check_drive(d, error) || !check_fold(d, error)) {
        return false;
    }
    if (d->slc_static_blocks >= d->blocks_per_plane) {
        return scarp_refuse_key(error, "slc.static_blocks",
                                d->slc_static_blocks,
                                "must be less than "
                                "geometry.blocks_per_plane, as the host's "
                                "data must have room beside these blocks");
    }
    if (d->slc_most_blocks && !d->slc_dynamic) {
        return scarp_refuse_key(error, "slc.most_blocks", d->slc_most_blocks,
                                "with slc.dynamic=0 it must be 0");
    }
    if (d->slc_full == SLC_DIRECT && d->slc_static_blocks &&
        !d->slc_fold_idle_us) {
        return scarp_refuse_key(error, "slc.fold_idle_us", 0,
                                "with slc.full=direct and slc.static_blocks "
                                "it must not be 0, as nothing else would "
                                "empty these blocks");
    }
    if (d->slc_fold_planes > d->planes_per_die) {
        return scarp_refuse_key(error, "slc.fold_planes", d->slc_fold_planes,
                                "must be from 1 to geometry.planes_per_die");
    }
    return true;
}
