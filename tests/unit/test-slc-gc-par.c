/*
 * GC-PAR on a drive with an SLC cache: planes run a command together only in
 * one mode, and the host's pages in the cache are in no aligned block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

/* The drive has one die of two planes. */
#define TLC "geometry.channels=1,geometry.dies_per_chip=1," \
    "geometry.planes_per_die=2,nand.multiplane=1," \
    "geometry.pages_per_block=24,nand.cell_bits=3,timing.slc_read_ns=30000," \
    "timing.slc_program_ns=200000,timing.slc_erase_ns=2000000"
/* Aligned blocks need so many free blocks. */
#define MANY TLC ",geometry.blocks_per_plane=64,gc.trigger_free_blocks=5," \
    "gc.separate_active_block=0,ftl.over_provisioning_permille=600," \
    "slc.static_blocks=4"

enum { SLC_TR = 30000, WRITES = 6000, GAP_NS = 1250000 };

static const ScarpSlcStats *slc_of(const Rig *rig)
{
    return scarp_slc_stats(rig->drive);
}

/*
 * Plane 0 folds its static block. While it programs the first page, a read
 * arrives for the second page of plane 1's static block.
 */
static uint64_t groups_of(const char *scheme, int64_t *read_ns)
{
    Rig *rig = rig_new(scheme, NULL,
                       TLC ",slc.static_blocks=1,slc.full=fold");
    ScarpCmd write = write_page(16), read = read_page(3);
    int64_t at_ns;
    uint64_t groups;

    rig_fill(rig, 0, 16);
    at_ns = scarp_now_ns(rig->drive) + 1;
    scarp_submit(rig->drive, &write, at_ns);
    at_ns += FW + LINK + CMD + SLC_TR + BUS + CMD + BUS + TPROG / 2;
    scarp_run(rig->drive, at_ns - 1);
    scarp_submit(rig->drive, &read, at_ns);
    rig_drain(rig);
    *read_ns = latency(&read);
    latency(&write);
    g_assert_cmpuint(slc_of(rig)->folded_units, ==, 8);
    groups = rig_stats(rig)->multiplane_groups;
    rig_free(rig);
    return groups;
}

static void test_read_with_fold(void)
{
    int64_t alone_ns, with_ns;

    g_assert_cmpuint(groups_of("baseline", &alone_ns), ==, 0);
    g_assert_cmpuint(groups_of("gc-par", &with_ns), ==, 1);
    /* half of the program, the read of two planes, and both transfers at most */
    g_assert_cmpint(with_ns, <=, TPROG / 2 + 2 * CMD + SLC_TR + 2 * BUS + LINK);
    g_assert_cmpint(with_ns, <, alone_ns);
}

/* Random writes to an aged drive, some of them while it collects. */
static Rig *loaded(const char *overrides)
{
    Rig *rig = rig_new("gc-par", NULL, overrides);
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, WRITES);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    rig_age(rig, 1000);
    for (unsigned i = 0; i < WRITES; i++) {
        int64_t at_ns = (i + 1) * (int64_t)GAP_NS;

        cmd[i] = write_page(g_rand_int_range(rand, 0, pages));
        while (scarp_next_event_ns(rig->drive) <= at_ns) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        }
        scarp_submit(rig->drive, &cmd[i], at_ns);
    }
    rig_drain(rig);
    for (unsigned i = 0; i < WRITES; i++) {
        latency(&cmd[i]);
    }
    return rig;
}

/* Past the cache, programs of the host join those of collections. */
static void test_direct(void)
{
    Rig *rig = loaded(MANY ",slc.fold_idle_us=1000");

    g_assert_cmpuint(slc_of(rig)->direct_page_programs, >, 0);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, >, 0);
    g_assert_cmpuint(mark_times(rig, "aligned_mates"), >, 0);
    g_assert_cmpuint(mark_times(rig, "mates_of_other_modes"), >, 0);
    rig_free(rig);
}

/* Where all of the host's pages go to the cache, none joins a collection. */
static void test_fold(void)
{
    Rig *rig = loaded(MANY ",slc.full=fold");

    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 0);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, WRITES);
    g_assert_cmpuint(slc_of(rig)->folded_units, >, 0);
    g_assert_cmpuint(mark_times(rig, "aligned_mates"), ==, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slc-gc-par/read-with-fold", test_read_with_fold);
    g_test_add_func("/slc-gc-par/direct", test_direct);
    g_test_add_func("/slc-gc-par/fold", test_fold);
    return g_test_run();
}
