/*
 * scarp_check() can fail: each law of the tables, broken by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <unistd.h>

static void test_laws(void)
{
    bool more = true;
    unsigned law;

    for (law = 0; more; law++) {
        Rig *rig = rig_new("baseline", NULL,
                           "geometry.channels=1,geometry.dies_per_chip=1,"
                           "geometry.pages_per_block=8,ftl.unit_bytes=2048,"
                           "ftl.over_provisioning_permille=1000");
        g_autoptr(GError) error = NULL;
        const char *says;

        rig_age(rig, 900);
        rig_write(rig, 0); /* a block is open */
        g_assert_true(scarp_check(rig->drive, &error));
        g_assert_no_error(error);
        says = inside_break(rig->drive, law);
        more = says;
        g_assert_true(scarp_check(rig->drive, &error) == !more);
        if (more) {
            g_test_message("%s", error->message);
            g_assert_nonnull(strstr(error->message, says));
        }
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
    g_assert_cmpuint(law, >, 20);
}

/*
 * After a power cut the cells alone say where each unit is.  So what they say
 * is compared of every unit, not only of the first.
 */
static void test_cells(void)
{
    static const uint32_t lpns[] = { 0, 1, 5 };

    for (size_t i = 0; i < G_N_ELEMENTS(lpns); i++) {
        Rig *rig = rig_new("baseline", NULL,
                           "geometry.channels=1,geometry.dies_per_chip=1,"
                           "nand.power_cuts=1,ftl.recovery=1");
        g_autofree char *says = g_strdup_printf("place by the cells of unit %u",
                                                lpns[i]);
        g_autoptr(GError) error = NULL;
        uint32_t before;

        rig_fill(rig, 0, 6);
        before = inside_l2p(rig->drive, lpns[i]);
        rig_write(rig, lpns[i]);
        g_assert_true(scarp_check(rig->drive, &error));
        inside_swap_versions(rig->drive, before,
                             inside_l2p(rig->drive, lpns[i]));
        g_assert_false(scarp_check(rig->drive, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, says));
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
}

static void check_all_free(const ScarpDrive *drive)
{
    uint32_t n = 0;

    for (uint32_t p = 0; p < inside_planes(drive); p++) {
        n += inside_free_blocks(drive, p);
    }
    g_assert_cmpuint(inside_all_free_blocks(drive), ==, n);
}

/* The drive's count of free blocks, which no law checks: through its life. */
static void test_free_blocks(void)
{
    const char *overrides = "nand.bad_blocks_permille=50,"
                            "nand.endurance_erases=3,"
                            "geometry.blocks_per_plane=20,"
                            "geometry.pages_per_block=8,"
                            "ftl.over_provisioning_permille=1500";
    g_autofree char *description = g_test_build_filename(G_TEST_DIST,
                                                         "tiny.ini", NULL);
    Rig *rig = rig_new("ideal", NULL, overrides);
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, NULL);
    ScarpConfig config = { .description_path = description, .scheme = "ideal",
                           .overrides = overrides, .image_path = path };
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    ScarpDrive *again;

    close(fd);
    check_all_free(rig->drive);
    g_assert_cmpuint(inside_all_free_blocks(rig->drive), ==, 4 * (20 - 1));
    rig_age(rig, 900);
    check_all_free(rig->drive);
    for (unsigned i = 0; i < 1500; i++) {
        rig_write(rig, i * 7919 % pages);
    }
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, >, 4);
    check_all_free(rig->drive);
    g_assert_true(scarp_save(rig->drive, path, NULL));
    again = scarp_drive_new(&config, NULL);
    check_all_free(again);
    scarp_drive_free(again);
    unlink(path);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check/laws", test_laws);
    g_test_add_func("/check/cells", test_cells);
    g_test_add_func("/check/free-blocks", test_free_blocks);
    return g_test_run();
}
