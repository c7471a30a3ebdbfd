/*
 * The RAM that each mapping needs (map_ram_bytes), computed by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "merges.h"

/* 8 logical blocks and 8 spare ones in each of two planes. */
#define TWO_PLANES ONE_PLANE ",geometry.channels=2"
#define HALF_PAGES "ftl.mapping=demand,ftl.unit_bytes=2048"

typedef struct {
    const char *overrides;
    uint64_t bytes;
} Case;

static const Case cases[] = {
    /* An entry of 4 bytes for each of 8 x 4 units. */
    { ONE_PLANE, 128 },
    { TWO_PLANES, 256 },
    /* 4 a logical block; each log block 4, and 2 a page; 64 bits. */
    { ONE_PLANE ",ftl.mapping=block,ftl.log_blocks=3", 32 + 3 * 12 + 8 },
    /* All spare blocks but one are log blocks. */
    { ONE_PLANE ",ftl.mapping=block", 32 + 7 * 12 + 8 },
    { TWO_PLANES ",ftl.mapping=block", 2 * (32 + 7 * 12 + 8) },
    /* The same with 4 a page of a log block. */
    { ONE_PLANE ",ftl.mapping=fast,ftl.log_blocks=2", 32 + 2 * 20 + 8 },
    { ONE_PLANE ",ftl.mapping=fast", 32 + 7 * 20 + 8 },
    { TWO_PLANES ",ftl.mapping=fast", 2 * (32 + 7 * 20 + 8) },
    /*
     * 4 a block; for each of 32 units 4 bits, that name one of (2 + 2) x 4
     * pages, and 5 bits for one of (3 + 2) x 4; 64 bits.
     */
    { ONE_PLANE ",ftl.mapping=superblock,ftl.superblock_blocks=2,"
      "ftl.log_blocks=2", 64 + 16 + 8 },
    { ONE_PLANE ",ftl.mapping=superblock,ftl.superblock_blocks=3,"
      "ftl.log_blocks=2", 64 + 20 + 8 },
    /* All 8 spare blocks are update blocks: (2 + 8) x 4 pages, 6 bits. */
    { TWO_PLANES ",ftl.mapping=superblock,ftl.superblock_blocks=2",
      2 * (64 + 24 + 8) },
    /*
     * 64 blocks of 16 pages in each of 4 planes.  2 + 1 blocks of a plane are
     * translation units': 61 x 16 / 1.3 = 750 pages of data, 3000 in all, and 3
     * translation units of 1024 entries.  8 bytes for each cached entry, each
     * page of 4 blocks and of 4 open pages; 4 a translation unit; 4 + 64
     * translation units on their way.
     */
    { "ftl.mapping=demand,ftl.map_cache_bytes=8192",
      8 * (1024 + 64 + 4) + 4 * 3 + 68 * 4096 },
    { "ftl.mapping=demand,ftl.map_cache_bytes=128",
      8 * (16 + 64 + 4) + 4 * 3 + 68 * 4096 },
    /* 6000 units, and 12 translation units of 512 entries; two in a page. */
    { HALF_PAGES ",ftl.map_cache_bytes=8192",
      8 * (1024 + 128 + 8) + 4 * 12 + 72 * 2048 },
    /* By itself the cache has a hundredth of 4 x 6012 bytes. */
    { HALF_PAGES, 8 * (30 + 128 + 8) + 4 * 12 + 72 * 2048 },
    /* At least 16 entries, and one for each unit of the buffer. */
    { "ftl.mapping=demand", 8 * (16 + 64 + 4) + 4 * 3 + 68 * 4096 },
    { "ftl.mapping=demand,controller.buffer_bytes=40960",
      8 * (26 + 64 + 4) + 4 * 3 + 68 * 4096 },
    /* And no more than there are units. */
    { "ftl.mapping=demand,ftl.map_cache_bytes=65536",
      8 * (3000 + 64 + 4) + 4 * 3 + 68 * 4096 },
};

static void test_ram(gconstpointer data)
{
    const Case *one = data;
    Rig *rig = rig_new("baseline", NULL, one->overrides);

    g_assert_cmpuint(rig_stats(rig)->map_ram_bytes, ==, one->bytes);
    scarp_stats_reset(rig->drive);
    g_assert_cmpuint(rig_stats(rig)->map_ram_bytes, ==, one->bytes);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("/mapping-ram/%zu", i);

        g_test_add_data_func(name, &cases[i], test_ram);
    }
    return g_test_run();
}
