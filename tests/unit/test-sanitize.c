/*
 * Sanitize: every block with pages is erased, in the drive's time, and nothing
 * else of the drive changes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#define TLC_OF(slc_erase_ns) \
    "geometry.pages_per_block=24,nand.cell_bits=3," \
    "timing.slc_read_ns=30000,timing.slc_program_ns=200000," \
    "timing.slc_erase_ns=" slc_erase_ns
#define TLC TLC_OF("2000000")
#define PAIRED CUTS "," TLC ",ftl.paired_pages=pad"
#define STATIC_POWER PAIRED ",slc.static_blocks=2,slc.fold_idle_us=10000"
#define DYNAMIC_POWER PAIRED ",slc.dynamic=1,slc.most_blocks=4,slc.full=fold"
#define DYNAMIC_DEMAND DYNAMIC_POWER ",ftl.mapping=demand," \
    "ftl.over_provisioning_permille=400"

typedef struct {
    const char *name, *scheme, *overrides;
    int64_t erase_ns; /* the shortest of an erase */
} Case;

static const Case cases[] = {
    { "page", "baseline", NULL, TBERS },
    { "buffer", "pgc", "controller.buffer_bytes=65536", TBERS },
    { "demand", "baseline", "ftl.mapping=demand,ftl.map_cache_bytes=1024",
      TBERS },
    { "block", "baseline", "ftl.mapping=block", TBERS },
    { "superblock", "baseline", "ftl.mapping=superblock", TBERS },
    { "fast", "baseline", "ftl.mapping=fast", TBERS },
    { "static", "baseline", TLC ",slc.static_blocks=2,slc.fold_idle_us=10000",
      TBERS / 2 },
    { "dynamic", "baseline", TLC ",slc.dynamic=1,slc.most_blocks=4",
      TBERS / 2 },
    { "slow", "baseline", TLC_OF("9000000") ",slc.static_blocks=2,"
      "slc.fold_idle_us=10000", TBERS },
    { "power", "baseline", CUTS, TBERS },
    { "static-power", "baseline", STATIC_POWER, TBERS / 2 },
    { "dynamic-power", "baseline", DYNAMIC_POWER, TBERS / 2 },
    /* worn-out static blocks become bad, and free blocks take their places */
    { "worn", "baseline", STATIC_POWER ",nand.endurance_erases=100,"
      "slc.endurance_erases=3", TBERS / 2 },
    { "static-demand", "baseline", TLC ",slc.static_blocks=2,slc.full=fold,"
      "ftl.mapping=demand,ftl.map_cache_bytes=1024", TBERS / 2 },
    { "dynamic-demand", "baseline", DYNAMIC_DEMAND, TBERS / 2 },
    { "units", "baseline", "ftl.reclaim_planes=4", TBERS },
    { "groups", "baseline", "ftl.reclaim_planes=2,"
      "controller.buffer_bytes=16384", TBERS },
};

static void sanitize(Rig *rig)
{
    g_autoptr(GError) error = NULL;
    ScarpDrive *next = scarp_sanitize(rig->drive, &error);

    g_assert_no_error(error);
    rig->drive = next;
    power_check(rig);
}

static void wait_until_ready(Rig *rig)
{
    while (!scarp_is_ready(rig->drive)) {
        g_assert_cmpint(scarp_next_event_ns(rig->drive), !=, SCARP_TIME_NEVER);
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    power_check(rig);
}

static void fill_twice(Rig *rig)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    for (unsigned i = 0; i < 2; i++) {
        rig_fill(rig, 0, pages);
    }
    for (uint64_t i = 0; i < pages / 4; i++) {
        rig_write(rig, i * 7 % pages);
    }
    /* bytes that are not zero take memory, which the erase must free */
    for (uint64_t i = 0; i < 8; i++) {
        power_write(rig, i, 7);
    }
    rig_drain(rig);
}

static uint32_t used_blocks(const Rig *rig)
{
    uint32_t n = 0;

    for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
        n += inside_programmed(rig->drive, b) > 0;
    }
    return n;
}

/* What was written is gone, every block with pages was erased once. */
static void all_erased(gconstpointer data)
{
    const Case *which = data;
    Rig *rig = rig_new(which->scheme, NULL, which->overrides);
    uint32_t planes = inside_planes(rig->drive), used;
    uint64_t bytes = scarp_drive_logical_bytes(rig->drive), erases;
    ScarpCmd read = read_page(3);
    int64_t from_ns, took_ns;

    fill_twice(rig);
    used = used_blocks(rig);
    erases = rig_stats(rig)->erases;
    from_ns = scarp_now_ns(rig->drive);
    g_assert_cmpuint(used, >, planes);
    sanitize(rig);
    g_assert_cmpuint(scarp_sanitize_left(rig->drive), ==, used);
    g_assert_false(scarp_is_ready(rig->drive));
    /* a command of the host waits until all is erased */
    scarp_submit(rig->drive, &read, from_ns);
    wait_until_ready(rig);
    took_ns = scarp_now_ns(rig->drive) - from_ns;
    g_assert_cmpuint(rig_stats(rig)->erases - erases, ==, used);
    g_assert_cmpuint(scarp_sanitize_left(rig->drive), ==, 0);
    g_assert_cmpuint(used_blocks(rig), ==, 0);
    /* the fullest plane's erases, one after the other */
    g_assert_cmpint(took_ns, >=, (int64_t)((used + planes - 1) / planes) *
                                     which->erase_ns);
    g_assert_cmpint(took_ns, <=, scarp_sanitize_bound_ns(rig->drive));
    rig_drain(rig);
    g_assert_cmpint(read.complete_ns, >, from_ns + took_ns);
    for (uint64_t at = 0; at < bytes; at += PAGE) {
        g_assert_false(scarp_is_mapped(rig->drive, at, PAGE));
    }
    /* the drive is as good as a new one */
    fill_twice(rig);
    g_assert_true(scarp_is_mapped(rig->drive, 0, bytes));
    g_assert_cmpuint(rig_stats(rig)->oob_mismatches, ==, 0);
    power_check(rig);
    rig_free(rig);
}

static const char *const cut_drives[] = {
    CUTS,
    "nand.power_cuts=1,ftl.recovery=1,ftl.mapping=demand,"
    "ftl.map_cache_bytes=1024,ftl.checkpoint_pages=40",
    CUTS ",nand.cell_bits=2,ftl.paired_pages=pad,controller.buffer_bytes=65536",
    /* a stripe whose parity is erased, and whose members are not */
    "nand.power_cuts=1,ftl.recovery=1,ftl.parity_width=4,"
    "controller.buffer_bytes=65536,controller.plp_bytes=65536",
    STATIC_POWER ",nand.endurance_erases=100,slc.endurance_erases=3",
    DYNAMIC_POWER,
    DYNAMIC_DEMAND,
};

static void write_some(Rig *rig)
{
    for (uint64_t i = 0; i < 200; i++) {
        power_write(rig, i * 7 % 128, 7);
    }
    rig_drain(rig);
}

/*
 * The power fails after `half` halves of an erase. Sanitize goes on: no block
 * that is erased may be read beside one that is not.
 */
static void cut_once(const char *overrides, unsigned half)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    uint64_t bytes = scarp_drive_logical_bytes(rig->drive);
    uint32_t left;
    int64_t from_ns;

    write_some(rig);
    from_ns = scarp_now_ns(rig->drive);
    sanitize(rig);
    left = scarp_sanitize_left(rig->drive);
    g_assert_cmpuint(left, >, inside_planes(rig->drive));
    scarp_run(rig->drive, from_ns + half * TBERS / 2);
    g_assert_false(scarp_is_ready(rig->drive));
    power_off(rig);
    /* old data was left, and is not to be found */
    g_assert_false(scarp_is_ready(rig->drive));
    g_assert_cmpuint(scarp_sanitize_left(rig->drive), >, 0);
    g_assert_cmpuint(scarp_sanitize_left(rig->drive), <=, left);
    wait_until_ready(rig);
    g_assert_cmpuint(used_blocks(rig), ==, 0);
    for (uint64_t at = 0; at < bytes; at += PAGE) {
        g_assert_false(scarp_is_mapped(rig->drive, at, PAGE));
    }
    power_cycle(rig);
    g_assert_cmpint(power_tag(rig, 3), ==, 0);
    write_some(rig);
    power_check(rig);
    rig_free(rig);
}

static void cut_on_the_way(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cut_drives); i++) {
        for (unsigned half = 1; half < 4; half += 2) {
            cut_once(cut_drives[i], half);
        }
    }
}

/* Programs that wait for their pads have programmed their pages. */
static void unpaired(void)
{
    Rig *rig = rig_new("baseline", NULL, cut_drives[2]);
    ScarpCmd write = write_page(0);

    scarp_submit(rig->drive, &write, 0);
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    g_assert_true(scarp_reap(rig->drive) == &write);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 1);
    sanitize(rig);
    g_assert_cmpuint(scarp_sanitize_left(rig->drive), ==, 1);
    wait_until_ready(rig);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    rig_free(rig);
}

static void refused(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    g_autoptr(GError) error = NULL;
    ScarpCmd write = write_page(0);

    scarp_submit(rig->drive, &write, 0);
    g_assert_null(scarp_sanitize(rig->drive, &error));
    g_assert_nonnull(error);
    g_clear_error(&error);
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    /* the write has ended, and its owner has not got it back */
    g_assert_null(scarp_sanitize(rig->drive, &error));
    g_assert_nonnull(error);
    g_assert_true(scarp_reap(rig->drive) == &write);
    /* what is held back for ever is no work under way */
    scarp_hold_collections(rig->drive, SCARP_TIME_LAST);
    /* a drive without data has nothing to erase */
    sanitize(rig);
    wait_until_ready(rig);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    sanitize(rig);
    g_assert_true(scarp_is_ready(rig->drive));
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strconcat("/sanitize/all/", cases[i].name,
                                            NULL);

        g_test_add_data_func(name, &cases[i], all_erased);
    }
    g_test_add_func("/sanitize/cut", cut_on_the_way);
    g_test_add_func("/sanitize/unpaired", unpaired);
    g_test_add_func("/sanitize/refused", refused);
    return g_test_run();
}
