/*
 * Collections by request: collect now, and hold until a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

static const char *const schemes[] = { "baseline", "pgc", "gftl", "ideal",
                                       "background" };
static const char *const mappings[] = { "page", "demand", "block", "fast",
                                        "superblock" };

/*
 * Overwrites page after page until a collection has run, at most n; no further
 * in time than it takes, as a hold's end is an event, too.
 */
static unsigned overwrite(Rig *rig, unsigned n)
{
    uint64_t runs = rig_stats(rig)->gc_runs;
    unsigned i = 0;

    while (i < n && rig_stats(rig)->gc_runs == runs) {
        ScarpCmd cmd = write_page(i++ * 7 % 64);

        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
        g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
        g_assert_true(scarp_reap(rig->drive) == &cmd);
    }
    return i;
}

static uint32_t least_free(const Rig *rig)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t p = 0; p < inside_planes(rig->drive); p++) {
        least = MIN(least, inside_free_blocks(rig->drive, p));
    }
    return least;
}

static void collect_now(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, NULL);
    uint32_t planes = inside_planes(rig->drive), began;

    rig_age(rig, 900);
    began = scarp_collect_now(rig->drive, 0);
    g_assert_cmpuint(began, ==, 0);
    began = scarp_collect_now(rig->drive, UINT32_MAX);
    g_assert_cmpuint(began, ==, planes);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, >=, planes);
    rig_free(rig);
}

/*
 * The block that yields most is full, but its last page is being programmed:
 * it is not collected before that has ended.
 */
static void last_page(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, "geometry.channels=1,"
                       "geometry.dies_per_chip=1,geometry.blocks_per_plane=16,"
                       "geometry.pages_per_block=8,"
                       "ftl.over_provisioning_permille=1000");
    ScarpCmd last = write_page(0);
    uint32_t began;

    rig_fill(rig, 0, 64);
    for (unsigned i = 0; i < 7; i++) {
        rig_write(rig, 0);
    }
    scarp_submit(rig->drive, &last, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + LINK + TPROG / 2);
    began = scarp_collect_now(rig->drive, UINT32_MAX);
    g_assert_cmpuint(began, ==, 0);
    rig_drain(rig);
    latency(&last);
    began = scarp_collect_now(rig->drive, UINT32_MAX);
    g_assert_cmpuint(began, ==, 1);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->gc_moved_units, ==, 1);
    rig_free(rig);
}

/*
 * What a read senses crosses the channel later: a collection that takes no time
 * erases nothing meanwhile.
 */
static void while_read(gconstpointer mapping)
{
    g_autofree char *keys = g_strconcat(
        "geometry.channels=1,geometry.dies_per_chip=1,"
        "geometry.blocks_per_plane=16,geometry.pages_per_block=8,"
        "ftl.over_provisioning_permille=1000,ftl.mapping=", mapping, NULL);
    Rig *rig = rig_new("ideal", NULL, keys);
    ScarpCmd read = read_page(0);

    rig_fill(rig, 0, 8);
    for (unsigned i = 1; i < 8; i++) {
        rig_write(rig, i);
    }
    rig_drain(rig);
    scarp_submit(rig->drive, &read, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + TR / 2);
    g_assert_cmpuint(scarp_collect_now(rig->drive, UINT32_MAX), ==, 0);
    rig_drain(rig);
    latency(&read);
    rig_free(rig);
}

/*
 * Cells of four pages, two units a page.  One page of the victim is still
 * valid: three more without data fill its copy's cells, or a program that is
 * cut short could take the copy with it when the victim is gone.
 */
static void pads(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, "geometry.channels=1,"
                       "geometry.dies_per_chip=1,geometry.blocks_per_plane=16,"
                       "geometry.pages_per_block=8,ftl.unit_bytes=2048,"
                       "ftl.over_provisioning_permille=9000,"
                       "nand.cell_bits=4,nand.power_cuts=1,ftl.recovery=1,"
                       "ftl.paired_pages=pad");
    ScarpCmd all = cmd_of(SCARP_OP_WRITE, 0, 8 * PAGE);
    ScarpCmd again = cmd_of(SCARP_OP_WRITE, 0, 7 * PAGE);

    rig_do(rig, &all);
    rig_do(rig, &again);
    g_assert_cmpuint(inside_valid(rig->drive, 0), ==, 2);
    scarp_stats_reset(rig->drive); /* the host's last page was padded, too */
    g_assert_cmpuint(scarp_collect_now(rig->drive, UINT32_MAX), ==, 1);
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->pair_pad_pages, ==, 3);
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, 3 * 2);
    rig_free(rig);
}

static void hold(gconstpointer scheme)
{
    Rig *rig = rig_new(scheme, NULL, NULL);
    const int64_t until_ns = 3600 * (int64_t)1000000000;
    unsigned usual, held;
    uint32_t least;

    rig_age(rig, 900);
    usual = overwrite(rig, 100000);
    rig_drain(rig);
    rig_free(rig);
    rig = rig_new(scheme, NULL, NULL);
    rig_age(rig, 900);
    scarp_hold_collections(rig->drive, until_ns);
    /* It is the last free block, not the threshold, that makes one begin. */
    held = overwrite(rig, 100000);
    g_assert_cmpuint(held, >, usual);
    g_assert_cmpuint(held, <, 100000);
    g_assert_cmpint(scarp_now_ns(rig->drive), <, until_ns);
    least = least_free(rig);
    g_assert_cmpuint(least, <=, 2);
    scarp_run(rig->drive, until_ns - 1);
    g_assert_cmpuint(least_free(rig), ==, least);
    /* Then every plane comes back to its threshold by itself. */
    rig_drain(rig);
    rig_write(rig, 0);
    rig_drain(rig);
    g_assert_cmpuint(least_free(rig), >, least);
    rig_free(rig);
}

/* A hold that is lifted was never there, neither was one that has ended. */
static void lifted(void)
{
    unsigned usual = 0;

    for (int which = 0; which < 3; which++) {
        Rig *rig = rig_new("baseline", NULL, NULL);
        unsigned n;

        rig_age(rig, 900);
        if (which) {
            scarp_hold_collections(rig->drive,
                                   which == 1 ? SCARP_TIME_LAST / 2 : 1000);
        }
        if (which == 1) {
            scarp_hold_collections(rig->drive, 0);
        }
        rig_drain(rig);
        g_assert_cmpint(scarp_next_event_ns(rig->drive), ==, SCARP_TIME_NEVER);
        g_assert_cmpint(scarp_now_ns(rig->drive), <=, 1000);
        n = overwrite(rig, 100000);
        usual = which ? usual : n;
        g_assert_cmpuint(n, ==, usual);
        rig_free(rig);
    }
    g_assert_cmpuint(usual, <, 100000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *now = g_strconcat("/gc-request/now/", schemes[i],
                                           NULL);
        g_autofree char *held = g_strconcat("/gc-request/hold/", schemes[i],
                                            NULL);
        g_autofree char *last = g_strconcat("/gc-request/last-page/",
                                            schemes[i], NULL);

        g_test_add_data_func(now, schemes[i], collect_now);
        g_test_add_data_func(last, schemes[i], last_page);
        g_test_add_data_func(held, schemes[i], hold);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        g_autofree char *name = g_strconcat("/gc-request/while-read/",
                                            mappings[i], NULL);

        g_test_add_data_func(name, mappings[i], while_read);
    }
    g_test_add_data_func("/gc-request/pads/baseline", "baseline", pads);
    g_test_add_data_func("/gc-request/pads/ideal", "ideal", pads);
    g_test_add_func("/gc-request/lifted", lifted);
    return g_test_run();
}
