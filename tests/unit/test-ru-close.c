/*
 * Reclaim units of several planes that the host closes before they are full:
 * what is written after that goes to other units, whatever waits in queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <glib/gstdio.h>

/* tiny.ini has four dies of one plane, of 64 blocks of 16 pages. */
#define UNITS_OF_4 "ftl.reclaim_planes=4"
#define UNITS_OF_2 "ftl.reclaim_planes=2,controller.buffer_bytes=16384"

enum { PAGES = 16, PLANES = 4, ALL = PAGES * PLANES * 4096 };

static void write_to(Rig *rig, uint64_t page, uint16_t stream)
{
    ScarpCmd cmd = write_page(page);

    cmd.stream = stream;
    rig_do(rig, &cmd);
}

/* Nothing is closed before the stream has written. */
static void test_nothing(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.streams=2");

    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 1), ==, ALL);
    write_to(rig, 0, 0);
    g_assert_false(scarp_close_units(rig->drive, 1));
    g_assert_cmpuint(scarp_unit_stats(rig->drive)->closed_reclaim_units, ==, 0);
    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 0), ==, ALL - PAGE);
    rig_free(rig);
}

/* The next page begins another unit; what is left of the first is lost. */
static void test_rest_is_lost(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.streams=2");

    for (unsigned i = 0; i < 5; i++) {
        write_to(rig, i, 0);
        write_to(rig, 100 + i, 1);
    }
    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 0), ==, ALL - 5 * PAGE);
    g_assert_true(scarp_close_units(rig->drive, 0));
    g_assert_cmpuint(scarp_unit_stats(rig->drive)->unwritten_pages, ==,
                     PAGES * PLANES - 5);
    g_assert_cmpuint(inside_full_blocks(rig->drive, 0), ==, 1);
    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 0), ==, ALL);
    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 1), ==, ALL - 5 * PAGE);
    for (unsigned i = 0; i < 5; i++) {
        const ScarpFlashOp *op;

        write_to(rig, 10 + i, 0);
        op = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST, 10 + i);
        g_assert_cmpuint(op->page, ==, i / PLANES);
        g_assert_cmpuint(op->block % 64, ==, 2);
    }
    rig_free(rig);
}

/* What waits for company is written without it, to the unit that is closed. */
static void test_waiting_unit(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.unit_bytes=1024,"
                       "controller.buffer_bytes=65536");
    ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, 0, 1024);
    uint64_t padded = rig_stats(rig)->padded_units;

    rig_do(rig, &cmd);
    g_assert_cmpuint(scarp_unit_left_bytes(rig->drive, 0), ==, ALL - 1024);
    g_assert_true(scarp_close_units(rig->drive, 0));
    g_assert_cmpuint(rig_stats(rig)->padded_units, ==, padded + 3);
    rig_drain(rig);
    g_assert_cmpuint(inside_full_blocks(rig->drive, 0), ==, 1);
    g_assert_cmpuint(scarp_unit_stats(rig->drive)->unwritten_pages, ==,
                     PAGES * PLANES - 1);
    rig_free(rig);
}

/* Checks that no block of the host has pages of two rounds. */
static void check_rounds(const Rig *rig, const uint16_t *round_of)
{
    for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
        uint16_t round = 0;

        for (uint32_t ppn = b * PAGES; ppn < (b + 1) * PAGES; ppn++) {
            if (inside_is_valid(rig->drive, ppn)) {
                uint16_t is = round_of[inside_lpn(rig->drive, ppn)];

                g_assert_true(!round || round == is);
                round = is;
            }
        }
    }
}

/*
 * Two streams write in bursts, and close their units while programs wait for
 * their dies. No block has pages of a stream from before and after a close.
 */
static void programs_wait(const char *overrides)
{
    enum { ROUNDS = 40, MOST = 12 };
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpCmd cmd[ROUNDS * MOST];
    uint16_t round_of[ROUNDS * MOST], round[] = { 1, 2 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    unsigned page = 0, closed = 0;
    uint64_t groups = inside_groups(rig->drive), left = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned n = g_rand_int_range(rand, 1, MOST);
        uint16_t stream = g_rand_int_range(rand, 0, 2);

        for (; n; n--, page++) {
            cmd[page] = write_page(page);
            cmd[page].stream = stream;
            round_of[page] = round[stream];
            scarp_submit(rig->drive, &cmd[page], scarp_now_ns(rig->drive));
        }
        /* long enough for the data to arrive, too short for the programs */
        scarp_run(rig->drive, scarp_now_ns(rig->drive) + 100000);
        if (g_rand_int_range(rand, 0, 3)) {
            g_assert_true(scarp_close_units(rig->drive, stream));
            round[stream] += 2;
            closed++;
        }
    }
    rig_drain(rig);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 0);
    check_rounds(rig, round_of);
    for (uint16_t s = 0; s < 2; s++) {
        left += groups * PLANES * PAGES / groups -
                scarp_unit_left_bytes(rig->drive, s) / PAGE;
    }
    /* what was written is in closed units, or in those that are open */
    g_assert_cmpuint(scarp_unit_stats(rig->drive)->closed_reclaim_units *
                             PLANES * PAGES / groups -
                         scarp_unit_stats(rig->drive)->unwritten_pages + left,
                     ==, page);
    g_assert_cmpuint(mark_times(rig, "closed_with_programs"), >, 10);
    g_assert_cmpuint(mark_times(rig, "closed_before_opened"), >, 0);
    g_assert_cmpuint(closed, >, ROUNDS / 2);
    rig_free(rig);
}

#define ROOMY ",ftl.streams=2,controller.buffer_bytes=4194304," \
    "ftl.over_provisioning_permille=1500"

static void test_programs_wait(void)
{
    programs_wait(UNITS_OF_4 ROOMY);
    programs_wait("ftl.reclaim_planes=2" ROOMY);
}

/* ---- A full drive -------------------------------------------------------- */

/* The least over-provisioning that the description accepts. */
static Rig *least(const char *scheme, const char *keys)
{
    for (unsigned permille = 100;; permille += 20) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                      NULL);
        g_autofree char *text =
            g_strdup_printf("%s,ftl.over_provisioning_permille=%u", keys,
                            permille);
        ScarpConfig config = { .description_path = path, .overrides = text,
                               .scheme = scheme, .seed = 1 };
        ScarpDrive *drive = scarp_drive_new(&config, NULL);

        if (drive) {
            scarp_drive_free(drive);
            return rig_new(scheme, NULL, text);
        }
        g_assert_cmpuint(permille, <, 9000);
    }
}

/*
 * With as little to spare as is accepted, a full drive goes on for ever, though
 * the host closes each unit after a few pages.
 */
static void goes_on(const char *scheme, const char *keys, unsigned streams)
{
    Rig *rig = least(scheme, keys);
    uint32_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    ScarpCmd cmds[32];

    rig_age(rig, 1000);
    for (unsigned i = 0; i < 150; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(cmds); j++) {
            cmds[j] = write_page(g_rand_int(rand) % pages);
            cmds[j].stream = g_rand_int(rand) % streams;
            scarp_submit(rig->drive, &cmds[j], scarp_now_ns(rig->drive) + 1);
            if (g_rand_int_range(rand, 0, 3) == 0) {
                scarp_run(rig->drive, scarp_now_ns(rig->drive) +
                                          g_rand_int_range(rand, 1, 300000));
                scarp_close_units(rig->drive, g_rand_int(rand) % streams);
            }
        }
        rig_drain(rig);
    }
    g_assert_cmpuint(scarp_unit_stats(rig->drive)->closed_reclaim_units, >,
                     500);
    rig_free(rig);
}

#define SMALL ",geometry.blocks_per_plane=24,geometry.pages_per_block=4," \
    "gc.trigger_free_blocks=1"

static void test_goes_on(void)
{
    goes_on("pgc", UNITS_OF_4 SMALL, 1);
    goes_on("baseline", UNITS_OF_4 SMALL ",ftl.streams=4", 4);
    goes_on("fifo", UNITS_OF_4 SMALL ",ftl.streams=3,ftl.isolated_streams=2",
            3);
    goes_on("pgc", UNITS_OF_2 SMALL ",ftl.streams=2", 2);
    goes_on("greedy", UNITS_OF_4 SMALL ",ftl.streams=2,"
            "controller.buffer_bytes=1048576,ftl.unit_bytes=2048", 2);
}

/* ---- Images -------------------------------------------------------------- */

/* A drive from an image has no open unit where the host had closed it. */
static void test_image(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "close-XXXXXX",
                                             NULL);
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4);
    ScarpConfig config = { .image_path = path, .scheme = "baseline",
                           .seed = 1 };
    g_autoptr(GError) error = NULL;
    ScarpDrive *other;
    int file = g_mkstemp(path);

    g_assert_cmpint(file, !=, -1);
    g_close(file, NULL);
    write_to(rig, 0, 0);
    g_assert_true(scarp_close_units(rig->drive, 0));
    g_assert_true(scarp_save(rig->drive, path, &error));
    other = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    g_unlink(path);
    g_assert_true(scarp_check(other, &error));
    g_assert_cmpuint(inside_full_blocks(other, 0), ==, 1);
    g_assert_cmpuint(scarp_unit_left_bytes(other, 0), ==, ALL);
    scarp_drive_free(other);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ru-close/nothing", test_nothing);
    g_test_add_func("/ru-close/rest-is-lost", test_rest_is_lost);
    g_test_add_func("/ru-close/waiting-unit", test_waiting_unit);
    g_test_add_func("/ru-close/programs-wait", test_programs_wait);
    g_test_add_func("/ru-close/goes-on", test_goes_on);
    g_test_add_func("/ru-close/image", test_image);
    return g_test_run();
}
