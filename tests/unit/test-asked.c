/*
 * What a drive can be asked, and what it refuses to do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"

static void test_mapped(void)
{
    Rig *rig = rig_new("baseline", NULL, "controller.buffer_bytes=32768,"
                                         "ftl.unit_bytes=2048");
    ScarpCmd cmd = write_page(2);

    g_assert_false(scarp_is_mapped(rig->drive, 2 * PAGE, PAGE));
    scarp_submit(rig->drive, &cmd, 0);
    g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
    /* In the buffer, on flash; a part of it, and one sector too many. */
    g_assert_true(scarp_is_mapped(rig->drive, 2 * PAGE, PAGE));
    g_assert_true(scarp_drain(rig->drive, NULL));
    g_assert_true(scarp_is_mapped(rig->drive, 2 * PAGE, PAGE));
    g_assert_true(scarp_is_mapped(rig->drive, 3 * PAGE - 512, 512));
    g_assert_false(scarp_is_mapped(rig->drive, 2 * PAGE, PAGE + 512));
    g_assert_false(scarp_is_mapped(rig->drive, 2 * PAGE - 512, 1024));
    g_assert_true(scarp_reap(rig->drive) == &cmd);
    rig_free(rig);
}

static void assert_run(const Rig *rig, uint64_t offset, uint64_t length,
                       uint32_t block, uint64_t run, bool is_mapped)
{
    bool mapped;

    g_assert_cmpuint(scarp_mapped_run(rig->drive, offset, length, block,
                                      &mapped), ==, run);
    g_assert_true(mapped == is_mapped);
}

/* Blocks that are smaller than a unit, as large, and larger. */
static void test_mapped_run(void)
{
    Rig *rig = rig_new("baseline", NULL, "controller.buffer_bytes=32768,"
                                         "ftl.unit_bytes=2048");
    ScarpCmd cmd = write_page(2);

    scarp_submit(rig->drive, &cmd, 0);
    g_assert_true(scarp_run_until_done(rig->drive, SCARP_TIME_LAST));
    g_assert_true(scarp_drain(rig->drive, NULL));
    for (uint32_t block = 512; block <= PAGE; block *= 2) {
        assert_run(rig, 0, 8 * PAGE, block, 2 * PAGE, false);
        assert_run(rig, 0, PAGE, block, PAGE, false);
        assert_run(rig, 2 * PAGE, 6 * PAGE, block, PAGE, true);
        assert_run(rig, 3 * PAGE, 5 * PAGE, block, 5 * PAGE, false);
    }
    assert_run(rig, 2 * PAGE - 512, PAGE, 512, 512, false);
    assert_run(rig, 3 * PAGE - 512, PAGE, 512, 512, true);
    assert_run(rig, 2 * PAGE + 512, 1024, 512, 1024, true);
    /* a block that is mapped in part is not mapped */
    assert_run(rig, PAGE + 2048, 3 * PAGE, PAGE, 3 * PAGE, false);
    assert_run(rig, PAGE + 2048, 3 * PAGE, 2048, 2048, false);
    g_assert_true(scarp_reap(rig->drive) == &cmd);
    rig_free(rig);
}

static void test_program_bytes(void)
{
    Rig *rig = rig_new("baseline", NULL, "geometry.planes_per_die=2");

    g_assert_cmpuint(scarp_drive_program_bytes(rig->drive), ==, PAGE);
    rig_free(rig);
    rig = rig_new("baseline", NULL,
                  "geometry.planes_per_die=2,nand.multiplane=1");
    g_assert_cmpuint(scarp_drive_program_bytes(rig->drive), ==, 2 * PAGE);
    rig_free(rig);
}

static void refuse_age(Rig *rig, uint32_t permille, const char *pattern,
                       const char *says)
{
    ScarpAge age = { .utilisation_permille = permille, .pattern = pattern,
                     .overwrite_permille = 0, .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_false(scarp_age(rig->drive, &age, &error));
    g_assert_cmpstr(error->message, ==, says);
}

static void test_age(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);

    refuse_age(rig, 500, "often",
               "age-pattern=often: allowed: random, sequential");
    refuse_age(rig, 500, NULL, "age-pattern=: allowed: random, sequential");
    refuse_age(rig, 1001, "random",
               "age=1001: must be a whole number from 0 to 1000");
    rig_age(rig, 500);
    refuse_age(rig, 500, "random", "age: only a fresh drive can be aged");
    rig_free(rig);
    rig = rig_new("baseline", NULL, NULL);
    rig_write(rig, 0);
    refuse_age(rig, 500, "random", "age: only a fresh drive can be aged");
    rig_free(rig);
}

/* Tables of channels have an end. */
static void test_channels(void)
{
    static const char *const schemes[] = { "gc-z", "paragc" };
    Rig *rig = rig_new("baseline", NULL,
                       "geometry.channels=65,geometry.dies_per_chip=1,"
                       "geometry.chips_per_channel=1");

    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++) {
        g_autofree char *says = g_strdup_printf(
            "scheme=%s: geometry.channels=65: at most 64 are allowed",
            schemes[i]);
        g_autoptr(GError) error = NULL;

        g_assert_false(scarp_drive_set_scheme(rig->drive, schemes[i], NULL,
                                              &error));
        g_assert_cmpstr(error->message, ==, says);
    }
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/asked/mapped", test_mapped);
    g_test_add_func("/asked/mapped-run", test_mapped_run);
    g_test_add_func("/asked/program-bytes", test_program_bytes);
    g_test_add_func("/asked/age", test_age);
    g_test_add_func("/asked/channels", test_channels);
    return g_test_run();
}
