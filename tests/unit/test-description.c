/*
 * A drive's description: which values each key allows, what a key that is left
 * out means, and which values cannot work together.  Each bound from both sides.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "scarp.h"

#include <string.h>
#include <unistd.h>

#define GIB (1ull << 30)

static char *tiny(void)
{
    return g_test_build_filename(G_TEST_DIST, "tiny.ini", NULL);
}

/* tiny.ini with overrides: NULL, or the message. */
static char *load(ScarpDescription *d, const char *overrides)
{
    g_autofree char *path = tiny();
    g_autoptr(GError) error = NULL;

    if (scarp_description_load(d, path, overrides, &error)) {
        g_assert_no_error(error);
        return NULL;
    }
    g_assert_null(strchr(error->message, '\n'));
    return g_strdup(error->message);
}

static void good(const char *overrides)
{
    ScarpDescription d;
    g_autofree char *message = load(&d, overrides);

    g_test_message("%s", overrides);
    g_assert_cmpstr(message, ==, NULL);
}

/* It is refused, and the message says so. */
static void bad(const char *overrides, const char *says)
{
    ScarpDescription d;
    g_autofree char *message = load(&d, overrides);

    g_test_message("%s: %s", overrides, message);
    g_assert_nonnull(message);
    g_assert_nonnull(strstr(message, says));
}

typedef struct {
    const char *key;
    uint64_t min, max;
    const char *fallback; /* NULL: must be given */
} Key;

static const Key keys[] = {
    { "geometry.channels", 1, 256, NULL },
    { "geometry.chips_per_channel", 1, 256, NULL },
    { "geometry.dies_per_chip", 1, 64, NULL },
    { "geometry.planes_per_die", 1, 16, NULL },
    { "geometry.blocks_per_plane", 4, 1048576, NULL },
    { "geometry.pages_per_block", 2, 4096, NULL },
    { "geometry.page_bytes", 512, 32768, NULL },
    { "timing.read_ns", 0, 1000000000, NULL },
    { "timing.program_ns", 0, 1000000000, NULL },
    { "timing.erase_ns", 0, 10000000000, NULL },
    { "timing.command_ns", 0, 1000000, "200" },
    { "timing.channel_mts", 1, 100000, NULL },
    { "timing.slc_read_ns", 0, 1000000000, "0" },
    { "timing.slc_program_ns", 0, 1000000000, "0" },
    { "timing.slc_erase_ns", 0, 10000000000, "0" },
    { "nand.cell_bits", 1, 4, "1" },
    { "nand.layers", 1, 4096, "1" },
    { "nand.layer_fastest_permille", 1, 10000, "1000" },
    { "nand.layer_slowest_permille", 1, 10000, "1000" },
    { "nand.multiplane", 0, 1, "0" },
    { "nand.cache", 0, 1, "0" },
    { "nand.copyback", 0, 1, "0" },
    { "nand.suspend_program", 0, 1, "0" },
    { "nand.suspend_erase", 0, 1, "0" },
    { "nand.suspend_limit", 1, 1000, "8" },
    { "nand.suspend_min_ns", 0, 1000000000, "100000" },
    { "nand.suspend_ns", 0, 10000000, "20000" },
    { "nand.resume_ns", 0, 10000000, "10000" },
    { "nand.bad_blocks_permille", 0, 500, "0" },
    { "nand.endurance_erases", 0, GIB, "0" },
    { "slc.endurance_erases", 0, GIB, "0" },
    { "nand.power_cuts", 0, 1, "0" },
    { "controller.firmware_ns", 0, 100000000, NULL },
    { "controller.link_mbs", 0, 1000000, "0" },
    { "controller.pcie_generation", 0, 5, "0" },
    { "controller.pcie_lanes", 0, 32, "0" },
    { "controller.deadline_idle_us", 0, 1000000000, "0" },
    { "controller.deadline_normal_us", 0, 1000000000, "0" },
    { "controller.deadline_low_us", 0, 1000000000, "0" },
    { "controller.slots", 1, 65536, "1024" },
    { "controller.queue", 1, 65536, "32" },
    { "controller.buffer_bytes", 0, 64 * GIB, "0" },
    { "controller.plp_bytes", 0, 64 * GIB, "0" },
    { "controller.reads_first", 0, 1, "1" },
    { "controller.reads_first_limit", 1, 1000000, "1000" },
    { "controller.gc_first_on_channel", 0, 1, "0" },
    { "ftl.unit_bytes", 0, 32768, "0" },
    { "ftl.over_provisioning_permille", 1, 10000, NULL },
    { "ftl.streams", 1, 32, "1" },
    { "ftl.reclaim_planes", 1, 1u << 20, "1" },
    { "ftl.isolated_streams", 0, 32, "0" },
    { "ftl.recovery", 0, 2, "0" },
    { "ftl.parity_width", 0, 32, "0" },
    { "ftl.parity_stripes", 2, 65536, "64" },
    { "ftl.map_cache_bytes", 0, 64 * GIB, "0" },
    { "ftl.log_blocks", 0, 1048576, "0" },
    { "ftl.superblock_blocks", 0, 256, "0" },
    { "ftl.checkpoint_pages", 0, 1024 * GIB, "0" },
    { "gc.trigger_free_blocks", 1, 1048576, NULL },
    { "gc.separate_active_block", 0, 1, "1" },
    { "gc.victim_candidates", 1, 64, "8" },
    { "gc.background_free_blocks", 0, 1048576, "0" },
    { "gc.wear_spread_erases", 0, GIB, "0" },
    { "gc.after_reads", 0, 1, "0" },
    { "slc.static_blocks", 0, 1048576, "0" },
    { "slc.dynamic", 0, 1, "0" },
    { "slc.most_blocks", 0, 1048576, "0" },
    { "slc.fold_idle_us", 0, 1000000000, "0" },
    { "slc.keep_blocks", 0, 1048576, "0" },
    { "slc.fold_planes", 1, 16, "1" },
    { "heat.capacity_mj", 0, 1000000000, "0" },
    { "heat.loss_ms", 0, 1000000000, "0" },
    { "heat.ambient_celsius", 0, 100, "25" },
    { "heat.read_nj", 0, 1000000000, "0" },
    { "heat.program_nj", 0, 1000000000, "0" },
    { "heat.erase_nj", 0, 1000000000, "0" },
    { "heat.light_celsius", 0, 1000, "0" },
    { "heat.light_permille", 0, 100000, "0" },
    { "heat.heavy_celsius", 0, 1000, "0" },
    { "heat.heavy_permille", 0, 100000, "0" },
    { "lie.flush_ignored", 0, 1, "0" },
    { "lie.fua_ignored", 0, 1, "0" },
    { "lie.flush_queued_only", 0, 1, "0" },
    { "lie.shorn_writes", 0, 1, "0" },
    { "lie.unserialised", 0, 1, "0" },
    { "lie.deallocation_undone", 0, 1, "0" },
    { "lie.no_checkpoint", 0, 1, "0" },
};

/* One below the least and one above the most: the message has both. */
static void test_ranges(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const Key *key = &keys[i];
        g_autofree char *range = g_strdup_printf(
            ": must be a whole number from %" G_GUINT64_FORMAT " to %"
            G_GUINT64_FORMAT, key->min, key->max);
        g_autofree char *above = g_strdup_printf("%s=%" G_GUINT64_FORMAT,
                                                 key->key, key->max + 1);
        g_autofree char *below = g_strdup_printf("%s=%" G_GINT64_FORMAT,
                                                 key->key,
                                                 (int64_t)key->min - 1);
        const char *const ends[] = { above, below };

        for (int end = 0; end < 2; end++) {
            g_autofree char *says = g_strconcat(ends[end], range, NULL);

            bad(ends[end], says);
        }
    }
}

/* A description without a key: it has the value that is documented, or none. */
static void test_fallbacks(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const Key *key = &keys[i];
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_auto(GStrv) name = g_strsplit(key->key, ".", 2);
        g_autofree char *path = tiny(), *text = NULL, *now = NULL, *line = NULL;
        g_autoptr(GError) error = NULL;
        ScarpDescription d;

        g_assert_true(g_key_file_load_from_file(file, path, 0, NULL));
        g_key_file_remove_key(file, name[0], name[1], NULL);
        text = g_key_file_to_data(file, NULL, NULL);
        if (!strcmp(key->key, "controller.link_mbs")) {
            continue; /* one of two ways must be given: test-devices.c */
        }
        if (!key->fallback) {
            g_autofree char *says = g_strdup_printf(
                "it: key %s is missing; a whole number from %" G_GUINT64_FORMAT
                " to %" G_GUINT64_FORMAT " is needed", key->key, key->min,
                key->max);

            g_assert_false(scarp_description_parse(&d, text, "it", NULL,
                                                   &error));
            /* A group that is empty now is refused first. */
            g_assert_true(strstr(error->message, says) ||
                          strstr(error->message, "] is empty"));
            continue;
        }
        g_assert_true(scarp_description_parse(&d, text, "it", NULL, &error));
        now = scarp_description_text(&d);
        line = g_strdup_printf("\n%s=%s\n", name[1], key->fallback);
        g_assert_nonnull(strstr(now, line));
    }
}

/* What is told of the keys: each with what it allows, and what it has if not. */
static void test_told(void)
{
    g_autofree char *text = scarp_keys_text();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint n = g_strv_length(lines);

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const Key *key = &keys[i];
        bool list = g_str_has_suffix(key->key, ".read_ns") ||
                    g_str_has_suffix(key->key, ".program_ns");
        g_autofree char *line = g_strdup_printf(
            "%s%s%s (%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT "%s", key->key,
            key->fallback ? "=" : "", key->fallback ? key->fallback : "",
            key->min, key->max,
            list ? "; one, or nand.cell_bits of them)" : ")");

        g_assert_true(g_strv_contains((const char *const *)lines, line));
    }
    g_assert_true(g_strv_contains((const char *const *)lines, "ftl.mapping="
                  "page (page, demand, block, superblock or fast)"));
    g_assert_true(g_strv_contains((const char *const *)lines,
                                  "ftl.paired_pages=none (none, pad, backup "
                                  "or plp)"));
    g_assert_true(g_strv_contains((const char *const *)lines,
                                  "slc.full=direct (direct or fold)"));
    g_assert_cmpstr(lines[n - 2], ==, "ftl.allocation=cwdp (an order of c, w, "
                    "d, p, or dynamic)");
    /* These, and the end. */
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(keys) + 4 + 1);
}

/* A file that is not there, one that is none, and what is wrong in one. */
static void test_files(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "channels=1\n", "it: its description: " },
        { "[geometry]\nchannels\n", "it: its description: " },
        { "[geometry]\nchannels=1\n[gc]\n", "it: group [gc] is empty" },
        { "[geometry]\nchannels=0\n", "it: geometry.channels=0: must be" },
        { "[geometry]\nflash=1\n", "unknown key geometry.flash" },
        { "", "it: key geometry.channels is missing" },
    };
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "scarp-no", "it",
                                             NULL);
    g_autofree char *says = g_strdup_printf("description=%s: ", path);
    g_autoptr(GError) error = NULL;
    ScarpDescription d;

    g_assert_false(scarp_description_load(&d, path, NULL, &error));
    g_assert_error(error, SCARP_ERROR, SCARP_ERROR_FILE);
    g_assert_true(g_str_has_prefix(error->message, says));
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_clear_error(&error);
        g_assert_false(scarp_description_parse(&d, rows[i].text, "it", NULL,
                                               &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, rows[i].says));
    }
}

/* What is written of a description reads as the same description. */
static void test_text(void)
{
    static const char *const overrides[] = {
        "", "nand.cell_bits=3,timing.read_ns=1;2;3,timing.program_ns=4;5;6",
        "controller.link_mbs=0,controller.pcie_generation=4,"
        "controller.pcie_lanes=2,ftl.allocation=pdwc",
        "ftl.allocation=dynamic,nand.cache=1,gc.trigger_free_blocks=4",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(overrides); i++) {
        ScarpDescription d, again;
        g_autofree char *message = load(&d, overrides[i]);
        g_autofree char *text = scarp_description_text(&d), *same = NULL;

        g_assert_null(message);
        g_assert_true(scarp_description_parse(&again, text, "it", NULL, NULL));
        g_assert_cmpmem(&d, sizeof(d), &again, sizeof(again));
        same = scarp_description_text(&again);
        g_assert_cmpstr(text, ==, same);
    }
}

static void test_lists(void)
{
    ScarpDescription d;
    g_autofree char *none =
        load(&d, "nand.cell_bits=3,timing.read_ns=10;20;30;,"
                 "timing.program_ns=7");

    g_assert_null(none);
    g_assert_cmpuint(d.read_ns[SCARP_LIST_COUNT], ==, 3);
    g_assert_cmpuint(d.read_ns[0], ==, 10);
    g_assert_cmpuint(d.read_ns[2], ==, 30);
    g_assert_cmpuint(d.program_ns[SCARP_LIST_COUNT], ==, 1);
    good("nand.cell_bits=4,timing.read_ns=1;2;3;4");
    bad("nand.cell_bits=4,timing.read_ns=1;2;3;4;5", "must be one value, or");
    bad("timing.read_ns=;", "whole number");
    bad("timing.read_ns=", "must be one value, or");
    bad("nand.cell_bits=2,timing.read_ns=1;2;3",
        "timing.read_ns: has 3 values; one, or nand.cell_bits=2 are needed");
    bad("nand.cell_bits=2,timing.program_ns=1;2;3",
        "timing.program_ns: has 3 values; one, or nand.cell_bits=2 are needed");
    bad("timing.read_ns=1;1000000001", "to 1000000000");
}

static void test_keys(void)
{
    bad("gc.none=1", "unknown key gc.none; allowed are gc.trigger_free_blocks "
        "gc.separate_active_block gc.victim_candidates "
        "gc.background_free_blocks gc.wear_spread_erases");
    bad("ftl.none=1", "ftl.mapping ftl.map_cache_bytes");
    bad("none.channels=1", "allowed are the groups geometry timing nand "
        "controller ftl gc");
    bad("timing.channels=4", "unknown key timing.channels");
    bad("geometry.channels", "must be group.key=value");
    bad("channels=1", "must be group.key=value");
    bad("channels=1.5", "must be group.key=value");
    bad("geometry.channels=1,", "must be group.key=value");
    good("geometry.channels= 1 ");
    bad("geometry.channels=1x", "whole number");
    bad("ftl.allocation=cwd", "order of the letters");
    bad("ftl.allocation=cwdd", "order of the letters");
    bad("ftl.allocation=wwdp", "order of the letters");
    bad("ftl.allocation=cwpp", "order of the letters");
    bad("ftl.allocation=ccdp", "order of the letters");
    bad("ftl.allocation=cwdpc", "order of the letters");
    good("ftl.allocation=pdwc");
}

/* Values that are allowed by themselves, and not together. */
static void test_together(void)
{
    good("geometry.page_bytes=512,ftl.unit_bytes=512");
    good("geometry.page_bytes=32768,ftl.unit_bytes=512,"
         "ftl.over_provisioning_permille=10000,gc.trigger_free_blocks=1,"
         "geometry.blocks_per_plane=1000,geometry.pages_per_block=2");
    bad("geometry.page_bytes=4095", "must be a power of two from 512 to 32768");
    bad("ftl.unit_bytes=8192", "from 512 to geometry.page_bytes, at most 64");
    bad("ftl.mapping=hybrid", "ftl.mapping=hybrid: allowed are page demand");
    bad("ftl.unit_bytes=256", "from 512 to geometry.page_bytes");
    bad("ftl.unit_bytes=1536", "must be a power of two");

    bad("controller.buffer_bytes=8191",
        "must be 0, or at least 8192, two pages");
    good("controller.buffer_bytes=8192");
    bad("gc.background_free_blocks=3",
        "must be 0, or more than gc.trigger_free_blocks=3");
    good("gc.background_free_blocks=4");

    bad("ftl.parity_width=1", "must be 0, or from 2 to 32");
    good("ftl.parity_width=2,ftl.unit_bytes=4096");
    bad("ftl.parity_width=2,ftl.unit_bytes=2048",
        "must be 0, or geometry.page_bytes=4096");
    bad("ftl.parity_width=2,ftl.allocation=dynamic", "an order of the letters");
}

#define SMALL ",geometry.blocks_per_plane=8,geometry.pages_per_block=2" \
              ",gc.trigger_free_blocks=1,ftl.over_provisioning_permille=5000"

static void test_sizes(void)
{
    good("geometry.channels=256,geometry.chips_per_channel=256,"
         "geometry.dies_per_chip=1" SMALL);
    bad("geometry.channels=256,geometry.chips_per_channel=256,"
        "geometry.dies_per_chip=1,geometry.planes_per_die=2" SMALL,
        "planes_per_die = 131072: at most 65536 planes are allowed");
    /* 4 planes x 262144 blocks x 4095 pages: less than 2^32 - 1 units. */
    good("geometry.blocks_per_plane=262144,geometry.pages_per_block=4095");
    bad("geometry.blocks_per_plane=262144,geometry.pages_per_block=4096",
        "4294967296 mapping units in all do not fit a 4-byte entry; at most "
        "4294967294 are allowed");
    /* (2^32 - 1) = 3 x 5 x 17 x 257 x 65537, not one of which fits a key. */
    good("geometry.blocks_per_plane=262144,geometry.pages_per_block=2047,"
         "ftl.unit_bytes=2048,ftl.over_provisioning_permille=2000");
    bad("geometry.blocks_per_plane=262144,geometry.pages_per_block=2048,"
        "ftl.unit_bytes=2048,ftl.over_provisioning_permille=2000",
        "4294967296 mapping units");
}

/*
 * Spare blocks of a plane: the trigger's 3, those of GC and of an aligned
 * block, and one of each stream.  Of 64 blocks x 16 pages the host has
 * 1024 x 1000 / (1000 + permille) pages: 928 leave six blocks.
 */
static void test_spare(void)
{
    good("ftl.over_provisioning_permille=103"); /* 1024000 / 1103 = 928 */
    bad("ftl.over_provisioning_permille=102",   /* 929 */
        "leaves 5 spare blocks of a plane; gc.trigger_free_blocks + "
        "ftl.streams + 2, and room for units that share a page, = 6 are");
    /* Seven: 912. */
    good("ftl.over_provisioning_permille=122,ftl.streams=2");
    bad("ftl.over_provisioning_permille=121,ftl.streams=2", "= 7 are needed");
    good("ftl.over_provisioning_permille=122,gc.trigger_free_blocks=4");
    bad("ftl.over_provisioning_permille=121,gc.trigger_free_blocks=4",
        "= 7 are needed");
    /*
     * With two units in a page, a block with one invalid unit yields no page:
     * one for each of 64 blocks, 32 pages more, which leaves 896.
     */
    good("ftl.over_provisioning_permille=142,ftl.unit_bytes=2048");
    bad("ftl.over_provisioning_permille=141,ftl.unit_bytes=2048",
        "= 8 are needed");
    /* A plane has more blocks than are spare, whatever is left of the pages. */
    bad("geometry.blocks_per_plane=6,ftl.over_provisioning_permille=10000",
        "= 6 are needed");
    good("geometry.blocks_per_plane=7,ftl.over_provisioning_permille=10000");
}

/* MiB that a drive's tables need, by the message that refuses it; 0: none. */
static uint64_t mib_needed(const char *more, uint64_t *has)
{
    g_autofree char *path = tiny();
    /* 4096 planes of 1,044,480 pages: 4,278,190,080 units. */
    g_autofree char *overrides = g_strconcat(
        "geometry.channels=256,geometry.chips_per_channel=8,"
        "geometry.blocks_per_plane=4096,geometry.pages_per_block=255", more,
        NULL);
    ScarpConfig config = { .description_path = path, .scheme = "baseline",
                           .overrides = overrides };
    g_autoptr(GError) error = NULL;
    const char *needs;

    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_nonnull(strstr(error->message, " of 4278190080 units "));
    needs = strstr(error->message, "needs ");
    *has = g_ascii_strtoull(strstr(error->message, "host has ") + 9, NULL, 10);
    return g_ascii_strtoull(needs + 6, NULL, 10);
}

/*
 * 4 bytes for each unit of the host and of the flash, less than 200 for each
 * block, and 8 for each unit of the flash with ftl.recovery.
 */
static void test_memory(void)
{
    const uint64_t units = 4278190080, blocks = 4096 * 4096, mib = 1 << 20;
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                        sysconf(_SC_PAGESIZE) / mib;
    uint64_t maps = 4 * (units + units * 10 / 13) / mib, plain, has;

    if (physical > maps) {
        g_test_skip("this host has memory enough for the largest mapping");
        return;
    }
    plain = mib_needed("", &has);
    g_assert_cmpuint(has, ==, physical);
    g_assert_cmpuint(plain, >, maps);
    g_assert_cmpuint(plain, <, maps + blocks * 200 / mib);
    g_assert_cmpuint(mib_needed(",ftl.recovery=1", &has) - plain, ==,
                     8 * units / mib);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/description/ranges", test_ranges);
    g_test_add_func("/description/fallbacks", test_fallbacks);
    g_test_add_func("/description/told", test_told);
    g_test_add_func("/description/files", test_files);
    g_test_add_func("/description/text", test_text);
    g_test_add_func("/description/lists", test_lists);
    g_test_add_func("/description/keys", test_keys);
    g_test_add_func("/description/together", test_together);
    g_test_add_func("/description/sizes", test_sizes);
    g_test_add_func("/description/spare", test_spare);
    g_test_add_func("/description/memory", test_memory);
    return g_test_run();
}
