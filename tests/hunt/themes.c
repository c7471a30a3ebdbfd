/*
 * Themes: what few scenarios would have together if each part of them were
 * drawn by itself.  The marks that no other scenario meets say which are worth
 * it (docs/hunt.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "themes.h"

/* For who has to have it: no energy, and no checkpoints unless it asks. */
#define CUTS "nand.power_cuts=1,ftl.recovery=1|2,controller.plp_bytes=0," \
             "ftl.checkpoint_pages=0,"

/*
 * Of jobs beside a load: what makes the bound of a command's age long beside
 * what a thousand others take is left away.
 */
#define JOBS "controller.reads_first_limit=1,controller.buffer_bytes=0," \
             "controller.slots=64,controller.queue=64," \
             "nand.suspend_program=0,nand.suspend_erase=0," \
             "timing.erase_ns=1000000,ftl.allocation=cwpd|pdwc|dcwp,"

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
      .depth = 1, .between = "idle 100000000000" },
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
              "controller.buffer_bytes=0", .host = HOST_OVER,
      .commands = 1000 },
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
    { .scheme = "baseline", .mapping = "page", .units = 8, .depth = 4,
      .host = HOST_FORCED, .between = "reset",
      .keys = "geometry.page_bytes=4096,controller.buffer_bytes=8192" },
    /* Pages that wait in other planes, where there is least room. */
    { .scheme = "pgc+global|pgc+gc-z|pgc+paragc|gftl+global|gc-par+global",
      .mapping = "page", .units = 4, .dies = 4, .blocks = 16, .pages = 4,
      .most_units = 2048, .tight = true, .full = true, .commands = 2000,
      .depth = 64, .host = HOST_UNITS,
      .keys = "controller.slots=64,gc.trigger_free_blocks=1|2" },
    { .scheme = "hios-1+gc-z|hios-2+global|hios-1+paragc", .mapping = "page",
      .units = 4, .dies = 4, .blocks = 16, .pages = 4, .most_units = 2048,
      .tight = true, .full = true, .commands = 1000, .depth = 32,
      .host = HOST_UNITS,
      .keys = "controller.slots=32,gc.separate_active_block=0|1,"
              "gc.trigger_free_blocks=3",
      .between = "drain|idle 100000000000|scheme" },
    { .scheme = "global|gc-z|pgc+global|gftl+gc-z", .mapping = "page",
      .units = 4, .dies = 2, .blocks = 16, .pages = 4, .most_units = 2048,
      .tight = true, .full = true, .commands = 1000, .depth = 32,
      .host = HOST_UNITS,
      .between = "scheme|scheme in-plane -|scheme pgc -" },
    { .scheme = "gftl+global|gftl+gc-z|gftl+paragc", .dies = 4, .depth = 4,
      .keys = "timing.erase_ns=0|1000000",
      .between = "collect 1000000;drain|collect 8;idle 100000000000" },
    /* Planes that fill up, as units may lie in any of them. */
    { .scheme = "dynamic|dynamic+ideal|dynamic+pgc|dynamic+gftl",
      .mapping = "page", .planes = 2, .tight = true, .full = true,
      .commands = 1000, .depth = 64, .host = HOST_UNITS,
      .keys = "controller.slots=64,controller.reads_first_limit=1|1|1000" },
    /* Blocks that keep stale units for good. */
    { .units = 8, .tight = true, .full = true, .commands = 1000, .depth = 16,
      .host = HOST_UNITS, .keys = "nand.bad_blocks_permille=0|49|100|300" },
    /* Few blocks for many translation units, and collections that yield. */
    { .scheme = "pgc|gc-par+pgc|gftl", .params = "pgc_floor=1|gftl_floor=1",
      .mapping = "demand", .units = 1, .most_units = 16384,
      .least_units = 8192, .depth = 64,
      .keys = "geometry.page_bytes=512,ftl.map_cache_bytes=128,"
              "gc.trigger_free_blocks=3,ftl.over_provisioning_permille=1000,"
              "controller.slots=64" },
    /* Blocks that wear out where merges need them. */
    { .mapping = "fast|fast|block", .tight = true, .blocks = 24, .depth = 8,
      .keys = "nand.endurance_erases=1|5,ftl.log_blocks=8" },
    /* What an image does not have of a scheme. */
    { .scheme = "hios-1|hios-2", .tight = true, .full = true, .depth = 16,
      .between = "reload - - - -|reload - - - -;collect 8|collect 8|scheme" },
    { .depth = 8,
      .between = "reload - - - -;scheme|scheme;reload - - - -|scheme" },
    /* A drive that is loaded with another layout: refused, or as good. */
    { .mapping = "block|superblock|fast|page", .dies = 2, .depth = 8,
      .keys = "ftl.allocation=cwdp|pdwc|dcwp",
      .between = "reload - - - ftl.allocation=cwdp|"
                 "reload - - - ftl.allocation=pdwc|"
                 "reload - - - ftl.allocation=dynamic|"
                 "reload - - - ftl.log_blocks=1|"
                 "reload - - - ftl.superblock_blocks=2|"
                 "reload - - - ftl.streams=2" },
    { .mapping = "page", .units = 1, .dies = 2, .depth = 8,
      .keys = "ftl.parity_width=2|3,ftl.parity_stripes=2|16,"
              "ftl.allocation=cwdp|pdwc|dcwp",
      .between = "reload - - - ftl.allocation=cwdp|"
                 "reload - - - ftl.allocation=pdwc|"
                 "reload - - - ftl.parity_stripes=3" },
    /* Copies that become stale on their way, in rounds that are cut short. */
    { .scheme = "hios-1|hios-2", .mapping = "page", .blocks = 29, .pages = 8,
      .params = "erase_last=1|erase_last=1,accumulate_us=0,margin_us=0",
      .tight = true, .full = true, .commands = 2000, .depth = 8,
      .most_units = 1024, .host = HOST_LATE, .between = "hold 0",
      .keys = "controller.slots=4|16,gc.trigger_free_blocks=2" },
    /* Wear that is far apart when it begins to matter. */
    { .mapping = "page|demand", .tight = true, .full = true,
      .commands = 10000, .depth = 8, .host = HOST_OVER,
      .between = "reset|reset|reload - - - gc.wear_spread_erases=1" },
    /* Pages of cells that the power is cut in the middle of. */
    { .scheme = "baseline|baseline|pgc|gftl|pregc|hios-1|hios-2",
      .mapping = "page|page|demand", .tight = true, .full = true,
      .blocks = 12, .commands = 400, .depth = 8, .host = HOST_UNITS,
      .most_units = 1024, .between = "cut 20 0 0|cut 3 0 0|cut 100 0 0;drain",
      .keys = CUTS "nand.cell_bits=2,geometry.pages_per_block=4|8|16,"
              "ftl.paired_pages=pad,gc.separate_active_block=1,"
              "ftl.allocation=cwdp,ftl.parity_width=0" },
    { .scheme = "baseline|pgc|hios-2", .mapping = "page", .tight = true,
      .blocks = 12, .commands = 400, .depth = 4, .host = HOST_FORCED,
      .units = 4, .most_units = 2048,
      .between = "cut 5 0 0|cut 30 0 0|cut 200 0 0",
      .keys = CUTS "nand.cell_bits=3,geometry.pages_per_block=6|12,"
              "ftl.paired_pages=pad,gc.separate_active_block=1,"
              "ftl.allocation=cwdp,ftl.parity_width=0" },
    /* Planes that have no block to spare when power returns. */
    { .mapping = "page|page|demand", .tight = true, .full = true,
      .blocks = 8, .commands = 800, .depth = 16, .host = HOST_UNITS,
      .most_units = 1024, .keys = CUTS "gc.trigger_free_blocks=1",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 1 60 2;drain" },
    { .scheme = "global|gc-z|paragc|pgc+global|gftl+gc-z|gc-par+global",
      .mapping = "page", .dies = 4, .blocks = 16, .pages = 4,
      .most_units = 2048, .tight = true, .full = true, .commands = 800,
      .depth = 64, .host = HOST_UNITS,
      .keys = CUTS "controller.slots=64,gc.trigger_free_blocks=1|2",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 1 60 2;drain" },
    { .mapping = "superblock", .tight = true, .full = true, .blocks = 8,
      .commands = 800, .depth = 16, .host = HOST_UNITS, .most_units = 1024,
      .keys = CUTS "gc.trigger_free_blocks=1|2",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 1 60 2;drain" },
    { .mapping = "fast|block", .tight = true, .full = true, .blocks = 8,
      .commands = 400, .depth = 16, .host = HOST_UNITS, .most_units = 1024,
      .keys = CUTS "gc.trigger_free_blocks=1|2",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 1 60 2;drain" },
    /* Collections without time, beside those of the scheme before. */
    { .scheme = "baseline|pgc|gc-par|pgc+global|paragc",
      .mapping = "page|page|demand", .tight = true, .full = true,
      .commands = 1000, .depth = 32, .host = HOST_UNITS, .most_units = 2048,
      .keys = "controller.slots=64",
      .between = "scheme ideal -|scheme d-choices+ideal -|scheme baseline -|"
                 "scheme global+ideal -|scheme pgc -|scheme" },
    /* Reads that do not end, and what they go before. */
    { .full = true, .units = 1, .commands = 1500, .depth = 4,
      .most_units = 512, .host = HOST_READING,
      .keys = "geometry.page_bytes=512,geometry.channels=1,"
              "geometry.chips_per_channel=1,geometry.dies_per_chip=1,"
              "timing.read_ns=10000000,"
              "timing.program_ns=1000,controller.reads_first=1,"
              "controller.reads_first_limit=1|2|8,"
              "controller.slots=64,nand.suspend_program=0|1,"
              "nand.suspend_erase=0|1,gc.after_reads=0|1" },
    /* A checkpoint is read: copies count, and so does what is not copied yet. */
    { .scheme = "baseline|pgc|gftl|gc-par", .mapping = "demand", .full = true,
      .tight = true, .blocks = 12, .pages = 8, .units = 1, .commands = 4000,
      .depth = 16, .host = HOST_UNITS, .most_units = 512,
      .keys = CUTS "ftl.recovery=1,ftl.checkpoint_pages=4,"
              "gc.trigger_free_blocks=1,timing.read_ns=1000|1000000,"
              "timing.program_ns=1000000,timing.erase_ns=1000",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 20 0 0;cut 3 0 0" },
    /* The same behind each other, and merges that the host goes before. */
    { .scheme = "hios-2|hios-1|pgc", .mapping = "superblock|block|fast",
      .full = true, .units = 1, .commands = 1500, .depth = 4,
      .most_units = 512, .host = HOST_READING,
      .keys = "geometry.page_bytes=512,geometry.channels=1,"
              "geometry.chips_per_channel=1,geometry.dies_per_chip=1,"
              "timing.read_ns=10000000,timing.program_ns=1000,"
              "controller.reads_first=1,controller.reads_first_limit=1,"
              "controller.slots=64,nand.cache=1,gc.after_reads=1" },
    /* A load that is split: some wait for their die or plane among others. */
    { .scheme = "pgc+global|pgc+paragc|pgc+gc-z", .mapping = "page",
      .full = true, .units = 1, .dies = 2, .commands = 4000, .depth = 6,
      .blocks = 12, .most_units = 256, .host = HOST_SPLIT,
      .keys = JOBS "geometry.page_bytes=512,timing.read_ns=1000000,"
              "timing.program_ns=1000|100000,gc.trigger_free_blocks=1|3" },
    { .scheme = "gc-z|gc-z|gc-z|paragc", .mapping = "page",
      .rare = true, .steady = true, .units = 1, .commands = 20000, .depth = 16,
      .host = HOST_SPLIT,
      .keys = JOBS "geometry.channels=4,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.planes_per_die=1,"
              "geometry.blocks_per_plane=128,geometry.pages_per_block=16,"
              "ftl.over_provisioning_permille=150,"
              "geometry.page_bytes=512,gc.trigger_free_blocks=6,"
              "timing.read_ns=1000,timing.program_ns=200000" },
    { .scheme = "pgc|baseline|gc-par+pgc",
      .mapping = "superblock|block|fast|page", .full = true, .units = 1,
      .commands = 4000, .depth = 4, .most_units = 256,
      .host = HOST_SPLIT,
      .keys = JOBS "geometry.channels=1,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.planes_per_die=2|2|4,"
              "gc.trigger_free_blocks=3|6" },
    /* Pads behind reads, and behind programs of other planes. */
    { .scheme = "baseline|pgc|hios-2", .mapping = "page", .full = true,
      .units = 1, .blocks = 12, .commands = 3000, .depth = 4,
      .most_units = 512, .host = HOST_SPLIT,
      .keys = CUTS JOBS "nand.cell_bits=2,geometry.pages_per_block=4|8,"
              "ftl.paired_pages=pad,ftl.parity_width=0,"
              "controller.reads_first=1|1|0,"
              "geometry.channels=1,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1" },
    /* One unit is rewritten while reads of it and parts of it wait. */
    { .scheme = "baseline|pgc|hios-2|ideal", .full = true, .units = 1,
      .commands = 4000, .depth = 8, .most_units = 256, .host = HOST_AGAIN,
      .keys = JOBS "geometry.page_bytes=1024,geometry.channels=1,"
              "geometry.chips_per_channel=1,geometry.dies_per_chip=1,"
              "controller.reads_first=1,"
              "timing.read_ns=10000000,timing.program_ns=1000" },
    /* As many write as there are entries, and one waits for an entry. */
    { .scheme = "baseline|pgc|gc-par|ideal", .mapping = "demand",
      .full = true, .units = 1, .commands = 3000, .depth = 17,
      .most_units = 512, .least_units = 128, .host = HOST_ENTRIES,
      .keys = JOBS "ftl.map_cache_bytes=128" },
    /* Planes that fill up, behind reads. */
    { .scheme = "dynamic|dynamic+pgc", .mapping = "page", .planes = 2,
      .tight = true, .full = true, .units = 1, .commands = 2000, .depth = 96,
      .most_units = 768, .host = HOST_TURNS,
      .keys = "controller.slots=1024,controller.reads_first=1,"
              "controller.reads_first_limit=1|10,gc.trigger_free_blocks=1,"
              "gc.separate_active_block=0,geometry.pages_per_block=3,"
              "geometry.page_bytes=512,geometry.planes_per_die=4,"
              "geometry.channels=1|2,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.blocks_per_plane=20|31,"
              "controller.buffer_bytes=0,nand.suspend_program=0,"
              "nand.suspend_erase=0,nand.cache=0,nand.multiplane=0|1,"
              "timing.read_ns=75000,timing.program_ns=750000" },
    /* Pages that wait to be joined by writes that wait for an entry. */
    { .scheme = "hios-2", .mapping = "demand", .units = 8, .full = true,
      .host = HOST_PARTS, .depth = 64, .least_units = 512,
      .keys = "controller.buffer_bytes=0,ftl.map_cache_bytes=128,"
              "controller.slots=64,controller.queue=64" },
    /* Programs that others join, and one that has no page in its plane. */
    { .scheme = "multi-plane|gc-par|gc-par+gftl|gc-par+pgc|multi-plane+pgc",
      .mapping = "page", .tight = true, .full = true, .units = 1,
      .commands = 12000, .depth = 32, .most_units = 768, .host = HOST_ONE,
      .keys = JOBS "controller.slots=200,nand.multiplane=1,"
              "ftl.allocation=dynamic,geometry.planes_per_die=4,"
              "geometry.channels=1|2,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.blocks_per_plane=20|31,"
              "timing.read_ns=75000,timing.program_ns=750000,"
              "geometry.page_bytes=512,geometry.pages_per_block=3,"
              "gc.trigger_free_blocks=1,gc.separate_active_block=0" },
    /* Translation units that change while written, more than may be. */
    { .mapping = "demand", .rare = true, .full = true, .units = 1,
      .commands = 800, .most_units = 16384, .least_units = 13000,
      .host = HOST_TRIMS, .depth = 64,
      .keys = "geometry.page_bytes=512,controller.buffer_bytes=0,"
              "geometry.planes_per_die=1,geometry.channels=1,"
              "geometry.chips_per_channel=1,geometry.dies_per_chip=1,"
              "geometry.blocks_per_plane=256,geometry.pages_per_block=64,"
              "timing.program_ns=10000000,ftl.map_cache_bytes=128|1024,"
              "ftl.over_provisioning_permille=200" },
    /* Power fails while the last blocks fill, and while that is mended. */
    { .scheme = "gftl|pgc|gc-par", .mapping = "demand", .full = true,
      .tight = true, .units = 1, .commands = 1500, .depth = 16,
      .host = HOST_UNITS, .most_units = 512,
      .keys = CUTS "ftl.recovery=1,ftl.checkpoint_pages=2,"
              "gc.trigger_free_blocks=1,timing.read_ns=1000000,"
              "timing.program_ns=1000000,timing.erase_ns=1000,"
              "geometry.channels=1,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.planes_per_die=1|2,"
              "geometry.blocks_per_plane=16,geometry.pages_per_block=8,"
              "geometry.page_bytes=512,ftl.map_cache_bytes=512|1024",
      .between = "cut 5 0 0;cut 30 0 0|cut 60 300 3|cut 20 100 4|"
                 "cut 20 130 4|cut 20 150 4|cut 5 180 4" },
    { .mapping = "fast|fast|block", .full = true, .tight = true, .blocks = 8,
      .commands = 800, .depth = 16, .host = HOST_UNITS, .most_units = 512,
      .keys = CUTS "gc.trigger_free_blocks=1|2,"
              "geometry.channels=1,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.planes_per_die=1,"
              "geometry.pages_per_block=8|16,geometry.page_bytes=512",
      .between = "cut 5 60 3|cut 20 80 3|cut 5 100 3|cut 20 120 3|"
                 "cut 5 140 3|cut 20 160 3|cut 5 200 3|cut 20 260 3" },
    /* A die that takes in what others collect, and has to collect itself. */
    { .scheme = "gc-z", .mapping = "page", .rare = true, .steady = true,
      .units = 1, .commands = 12000, .depth = 128,
      .most_units = 16384, .host = HOST_SPLIT,
      .keys = JOBS "geometry.channels=8,geometry.chips_per_channel=1,"
              "geometry.dies_per_chip=1,geometry.planes_per_die=1,"
              "geometry.blocks_per_plane=96|128,geometry.pages_per_block=8,"
              "geometry.page_bytes=512,gc.trigger_free_blocks=6,"
              "controller.slots=1024,controller.reads_first_limit=1000,"
              "ftl.over_provisioning_permille=200|150,ftl.streams=1,"
              "nand.bad_blocks_permille=0,nand.endurance_erases=0,"
              "timing.read_ns=50000,timing.program_ns=200000" },
    /* A transfer that waits for a channel on which all other dies collect. */
    { .scheme = "baseline|gc-par", .mapping = "page", .full = true,
      .tight = true, .units = 1, .commands = 400, .depth = 64,
      .most_units = 4096, .host = HOST_UNITS,
      .keys = "controller.gc_first_on_channel=1,geometry.channels=1,"
              "geometry.chips_per_channel=2|4,geometry.dies_per_chip=2,"
              "geometry.planes_per_die=1,geometry.pages_per_block=64,"
              "geometry.blocks_per_plane=16,ftl.streams=1,"
              "gc.trigger_free_blocks=1,gc.separate_active_block=0,"
              "nand.bad_blocks_permille=0,nand.endurance_erases=0,"
              "ftl.parity_width=0,"
              "geometry.page_bytes=512,timing.channel_mts=10,"
              "timing.read_ns=1000,timing.program_ns=1000,"
              "timing.erase_ns=1000,controller.buffer_bytes=0,"
              "controller.slots=64,controller.queue=64" },
    /* More log blocks than the drive that is loaded is to have, and a cut. */
    { .scheme = "baseline|pgc", .mapping = "fast|block", .units = 1,
      .commands = 1000, .depth = 4, .blocks = 48, .host = HOST_UNITS,
      .keys = CUTS "ftl.log_blocks=0,ftl.over_provisioning_permille=900,"
              "geometry.page_bytes=512,timing.read_ns=1000,"
              "timing.program_ns=1000000,timing.erase_ns=1000",
      .between = "reload - - - ftl.log_blocks=2;cut 5 0 0" },
};

char *theme_pick(Draw *draw, const char *alternatives)
{
    g_auto(GStrv) each = g_strsplit(alternatives ? alternatives : "", "|", -1);
    guint n = g_strv_length(each);

    return n ? g_strdup(each[n > 1 ? draw_below(draw, n) : 0]) : NULL;
}

static bool has_cuts(const Theme *theme)
{
    return theme->keys && g_str_has_prefix(theme->keys, CUTS);
}

const Theme *theme_draw(Draw *draw, bool cuts)
{
    const Theme *theme;

    if (!draw_chance(draw, 50)) {
        return NULL;
    }
    cuts = cuts && draw_chance(draw, 50);
    do {
        theme = &themes[draw_below(draw, G_N_ELEMENTS(themes))];
    } while ((cuts && !has_cuts(theme)) ||
             (theme->rare && !draw_chance(draw, 12)));
    return theme;
}

const Theme *theme_numbered(uint64_t number)
{
    return number - 1 < G_N_ELEMENTS(themes) ? &themes[number - 1] : NULL;
}
