/*
 * How long a drive may take until something completes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bound.h"

#include <stdlib.h>
#include <string.h>

#define IN_A_ROW_MOST 64

/* Of a list the greatest. */
static uint64_t value(const Scenario *s, const char *key, uint64_t fallback)
{
    const char *text = scenario_key(s, key);
    g_auto(GStrv) items = g_strsplit(text ? text : "", ";", -1);
    uint64_t most = text ? 0 : fallback;

    for (char **item = items; *item; item++) {
        most = MAX(most, strtoull(*item, NULL, 10));
    }
    return most;
}

/* Of the real mode's time and SLC's, on a throttled drive. */
static uint64_t longer(const Scenario *s, const char *name, uint64_t fallback)
{
    g_autofree char *real = g_strconcat("timing.", name, NULL);
    g_autofree char *slc = g_strconcat("timing.slc_", name, NULL);
    uint64_t permille = MAX(value(s, "heat.light_permille", 0),
                            value(s, "heat.heavy_permille", 0));

    return MAX(value(s, real, fallback), value(s, slc, 0)) *
           (1000 + permille) / 1000;
}

/* A page goes to the SLC cache, and from there to real cells. */
static bool is_cached(const Scenario *s)
{
    return value(s, "slc.static_blocks", 0) || value(s, "slc.dynamic", 0);
}

void bound_know(Bound *bound, const Scenario *s, uint64_t logical_bytes)
{
    uint64_t page = value(s, "geometry.page_bytes", SECTOR);
    uint64_t layer = MAX(value(s, "nand.layer_fastest_permille", 1000),
                         value(s, "nand.layer_slowest_permille", 1000));
    uint64_t stops = value(s, "nand.suspend_program", 0) +
                     value(s, "nand.suspend_erase", 0);
    uint64_t stop_ns = stops * value(s, "nand.suspend_limit", 8) *
                       (value(s, "nand.suspend_ns", 20000) +
                        value(s, "nand.resume_ns", 10000));
    uint64_t channel_ns = value(s, "timing.command_ns", 200) + 1 +
                          page * 1000 / value(s, "timing.channel_mts", 400);
    /* The slowest lane has 250 MB/s. */
    uint64_t link = MAX(value(s, "controller.link_mbs", 3200), 1);

    if (value(s, "controller.pcie_generation", 0)) {
        link = 250;
    }
    bound->page_ns = (longer(s, "read_ns", 75000) +
                      longer(s, "program_ns", 750000)) *
                         MAX(layer, 1000) / 1000 + 2 * channel_ns + stop_ns;
    bound->read_ns = longer(s, "read_ns", 75000) * MAX(layer, 1000) / 1000 +
                     2 * channel_ns;
    bound->erase_ns = longer(s, "erase_ns", 3800000) + channel_ns + stop_ns;
    bound->passing = value(s, "controller.reads_first_limit", 1000) *
                     (1 + stops * value(s, "nand.suspend_limit", 8));
    if (!value(s, "controller.reads_first", 1) &&
        !value(s, "gc.after_reads", 0) && !stops) {
        bound->passing = 0;
    }
    if (!g_strcmp0(scenario_key(s, "ftl.paired_pages"), "pad")) {
        /* A page may take all of its cells for itself. */
        bound->page_ns *= value(s, "nand.cell_bits", 1);
    }
    bound->sector_ns = SECTOR * 1000 / link + 1;
    bound->command_ns = value(s, "controller.firmware_ns", 5000);
    /* A die waits for what other dies collect in their part of a unit. */
    bound->merges = (strcmp(scenario_mapping(s), "page") &&
                     strcmp(scenario_mapping(s), "demand")) ||
                    value(s, "ftl.reclaim_planes", 1) > 1;
    bound->dies = value(s, "geometry.channels", 1) *
                  value(s, "geometry.chips_per_channel", 1) *
                  value(s, "geometry.dies_per_chip", 1);
    bound->die_planes = value(s, "geometry.planes_per_die", 1);
    bound->channel_ns = 2 * channel_ns;
    bound->block_pages = value(s, "geometry.pages_per_block", 4) *
                         (is_cached(s) ? 3 : 1) *
                         value(s, "ftl.reclaim_planes", 1);
    bound->blocks = value(s, "geometry.channels", 1) *
                    value(s, "geometry.chips_per_channel", 1) *
                    value(s, "geometry.dies_per_chip", 1) *
                    value(s, "geometry.planes_per_die", 1) *
                    value(s, "geometry.blocks_per_plane", 16);
    /* However small the drive: an older one of a unit may be on its way. */
    bound->buffered = value(s, "controller.buffer_bytes", 0) / SECTOR;
    bound->buffer_bytes = value(s, "controller.buffer_bytes", 0);
    bound->parities = value(s, "ftl.parity_width", 0)
                          ? value(s, "ftl.parity_stripes", 64) : 0;
    bound->pages = MAX(bound->blocks * bound->block_pages,
                       logical_bytes / page);
}

static double written_by(const Bound *bound, uint64_t commands,
                         uint64_t sectors)
{
    return (double)commands + sectors + bound->buffered;
}

static double pages_moved(const Bound *bound, uint64_t commands,
                          uint64_t sectors)
{
    return 2.0 * bound->pages + written_by(bound, commands, sectors) *
                                    (double)bound->block_pages;
}

int64_t bound_passing_ns(const Bound *bound, uint64_t commands,
                         uint64_t sectors, uint64_t later_units)
{
    double pages = pages_moved(bound, commands, sectors) + 2.0 * bound->blocks +
                   (double)commands + sectors + bound->buffered;
    /* A unit's entry of the mapping is read, too. */
    double ns = MIN(pages * bound->passing, 2.0 * later_units) * bound->read_ns;

    return MIN(ns, SCARP_TIME_LAST);
}

/* So many pages are moved one after the other, and blocks erased. */
static double moving_ns(const Bound *bound, double pages, double blocks,
                        uint64_t commands, uint64_t sectors)
{
    return pages * bound->page_ns +
           (2.0 * blocks + written_by(bound, commands, sectors)) *
               bound->erase_ns +
           (double)sectors * bound->sector_ns +
           (commands + 1.0) * bound->command_ns + 1000000;
}

int64_t bound_ns(const Bound *bound, uint64_t commands, uint64_t sectors)
{
    double ns = moving_ns(bound, pages_moved(bound, commands, sectors),
                          bound->blocks, commands, sectors);

    return MIN(ns, SCARP_TIME_LAST);
}

int64_t bound_die_ns(const Bound *bound, uint64_t commands, uint64_t sectors)
{
    double in_a_row = (double)IN_A_ROW_MOST * bound->die_planes;
    double blocks = (double)bound->blocks / bound->dies + in_a_row;
    double pages = blocks * bound->block_pages;
    double others = pages * (bound->dies - 1) * bound->channel_ns;
    double ns = moving_ns(bound, pages + written_by(bound, commands, sectors) *
                                             bound->block_pages,
                          blocks, commands, sectors) + others;

    return bound->merges ? bound_ns(bound, commands, sectors)
                         : MIN(ns, bound_ns(bound, commands, sectors));
}

uint64_t bound_pieces(const Bound *bound, uint64_t sectors,
                      uint64_t unit_bytes)
{
    uint64_t pieces = 1, room = bound->buffer_bytes / unit_bytes;

    if (room) {
        pieces += sectors / room;
    }
    /* The rest of a stripe is read, then its parity programmed. */
    if (bound->parities) {
        pieces += 2 * (sectors / bound->parities + 1);
    }
    return pieces;
}
