/*
 * Themes: what few scenarios would have together if each part of them were
 * drawn by itself.  The marks that no other scenario meets say which are worth
 * it (docs/hunt.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "themes.h"

static const Theme themes[] = {
    /* Writes that join a page in the device, and beyond its slots. */
    { .scheme = "hios-2", .mapping = "page", .units = 4, .host = HOST_PARTS,
      .keys = "controller.buffer_bytes=0,controller.slots=1,"
              "controller.queue=64", .depth = 64 },
    { .scheme = "hios-1", .mapping = "page", .units = 8,
      .host = HOST_PARTS, .depth = 16,
      .keys = "controller.buffer_bytes=0,controller.slots=2,"
              "controller.queue=16" },
    /* Steps whose units do not fill their pages, and a switch meanwhile. */
    { .scheme = "gftl", .units = 4, .depth = 4, .between = "scheme" },
    { .scheme = "gftl", .params = "gftl_floor=1", .mapping = "page",
      .units = 8, .blocks = 12, .depth = 64, .host = HOST_UNITS,
      .between = "scheme gftl gftl_floor=1",
      .keys = "timing.erase_ns=0,gc.trigger_free_blocks=3,"
              "ftl.over_provisioning_permille=700,controller.slots=64" },
    { .scheme = "gftl+global", .units = 8, .planes = 2, .blocks = 12,
      .depth = 8,
      .keys = "ftl.over_provisioning_permille=1500,ftl.streams=1",
      .between = "scheme" },
    { .scheme = "pregc+gftl", .units = 4, .depth = 2, .between = "scheme" },
    { .scheme = "pregc", .params = "t_page=0,t_block=1000", .units = 4,
      .depth = 1, .between = "idle" },
    { .scheme = "paragc", .units = 4, .planes = 2, .blocks = 12, .depth = 16,
      .keys = "ftl.over_provisioning_permille=1500,ftl.streams=1",
      .between = "scheme" },
    { .scheme = "gc-z", .units = 4, .planes = 2, .blocks = 12, .depth = 16,
      .keys = "ftl.over_provisioning_permille=1500,ftl.streams=1" },
    /* Collections that run together, and write to each other's planes. */
    { .scheme = "paragc", .mapping = "page", .units = 4, .dies = 4,
      .blocks = 16, .depth = 64, .host = HOST_UNITS,
      .keys = "gc.trigger_free_blocks=3,ftl.over_provisioning_permille=1000,"
              "controller.buffer_bytes=65536" },
    { .scheme = "global", .mapping = "page", .units = 4, .dies = 4,
      .blocks = 16, .depth = 64, .host = HOST_UNITS,
      .keys = "gc.trigger_free_blocks=3,ftl.over_provisioning_permille=1000,"
              "controller.buffer_bytes=65536" },
    { .scheme = "gc-par+pgc", .planes = 2, .depth = 16 },
    { .scheme = "gc-par+pgc", .mapping = "page", .planes = 2, .depth = 64,
      .blocks = 12, .host = HOST_UNITS,
      .keys = "gc.trigger_free_blocks=3,ftl.over_provisioning_permille=700" },
    { .scheme = "gc-vic+pgc", .planes = 2, .depth = 16, .between = "scheme" },
    { .scheme = "flash-aware", .params = "bundle_max=3", .host = HOST_PARTS,
      .keys = "controller.slots=1,controller.queue=64", .depth = 64 },
    { .scheme = "flash-aware+gc-vic", .planes = 2, .host = HOST_READS,
      .depth = 64 },
    /* Reads made from the rest of their stripe. */
    { .scheme = "ttflash", .mapping = "page", .units = 1, .depth = 32,
      .keys = "ftl.parity_width=3,ftl.parity_stripes=8",
      .host = HOST_READS },
    { .scheme = "ttflash", .mapping = "page", .units = 1, .depth = 64,
      .keys = "ftl.parity_width=2,ftl.parity_stripes=2,"
              "controller.buffer_bytes=0", .host = HOST_OVER },
    /* Entries and blocks that the drive which is loaded has no room for. */
    { .scheme = "baseline", .mapping = "demand", .depth = 8,
      .keys = "ftl.map_cache_bytes=65536,controller.buffer_bytes=0",
      .between = "reload - - - ftl.map_cache_bytes=128" },
    { .scheme = "baseline", .depth = 8,
      .keys = "gc.separate_active_block=1",
      .between = "reload - - - gc.separate_active_block=0" },
    { .scheme = "baseline", .mapping = "demand", .units = 1, .depth = 64,
      .most_units = 16384, .least_units = 13000, .host = HOST_UNITS,
      .keys = "geometry.page_bytes=512,ftl.map_cache_bytes=65536,"
              "ftl.over_provisioning_permille=200,controller.buffer_bytes=0",
      .between = "drain" },
    /* Translation units that are collected while they wait to be read. */
    { .scheme = "baseline", .mapping = "demand", .units = 1, .depth = 64,
      .most_units = 4096, .least_units = 1500, .host = HOST_UNITS,
      .keys = "geometry.page_bytes=512,ftl.map_cache_bytes=128,"
              "controller.buffer_bytes=0" },
    /* A unit that is written again before its page is full. */
    { .scheme = "baseline", .units = 8, .host = HOST_OVER, .depth = 16,
      .keys = "controller.buffer_bytes=65536,ftl.streams=3,"
              "ftl.over_provisioning_permille=1000" },
    /* One that a forced write still packs when it is deallocated. */
    { .scheme = "baseline", .mapping = "page", .units = 8, .depth = 32,
      .host = HOST_FORCED,
      .keys = "geometry.page_bytes=4096,controller.buffer_bytes=8192" },
};

const Theme *theme_draw(Draw *draw)
{
    return draw_chance(draw, 20)
               ? &themes[draw_below(draw, G_N_ELEMENTS(themes))] : NULL;
}

const Theme *theme_numbered(uint64_t number)
{
    return number - 1 < G_N_ELEMENTS(themes) ? &themes[number - 1] : NULL;
}
