/*
 * Images of drives that cannot be: each is refused, with the reason, and what
 * is just possible is not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <unistd.h>

#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.pages_per_block=8"

/* Each forged drive is saved and loaded; how many of them were refused. */
static unsigned forge(const char *overrides, bool data,
                      const char *(*forge_one)(ScarpDrive *, unsigned),
                      unsigned *n)
{
    g_autofree char *description = g_test_build_filename(G_TEST_DIST,
                                                         "tiny.ini", NULL);
    g_autofree char *path = NULL;
    ScarpConfig config = { .description_path = description,
                           .scheme = "baseline", .overrides = overrides,
                           .seed = 1, .store_data = data };
    unsigned refused = 0;
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, NULL);

    close(fd);
    for (*n = 0;; ++*n) {
        ScarpDrive *drive;
        g_autoptr(GError) error = NULL;
        const char *says;
        Rig rig;

        config.image_path = NULL;
        rig.drive = drive = scarp_drive_new(&config, &error);
        g_assert_no_error(error);
        rig_age(&rig, 900);
        for (uint64_t page = 0; page < 3; page++) {
            rig_write(&rig, page);
        }
        g_assert_true(scarp_drain(drive, &error));
        says = forge_one(drive, *n);
        if (!says) {
            scarp_drive_free(drive);
            unlink(path);
            return refused;
        }
        g_test_message("%u: %s", *n, says);
        g_assert_true(scarp_save(drive, path, &error));
        scarp_drive_free(drive);
        config.image_path = path;
        drive = scarp_drive_new(&config, &error);
        g_assert_true(!drive == !!*says);
        if (drive) {
            scarp_drive_free(drive);
        } else {
            g_test_message("%s", error->message);
            g_assert_nonnull(strstr(error->message, says));
            g_assert_nonnull(strstr(error->message, "damaged"));
            g_assert_null(strchr(error->message, '\n'));
            refused++;
        }
    }
}

static void test_forged(void)
{
    unsigned n, refused = forge(ONE_PLANE, true, inside_forge, &n);

    g_assert_cmpuint(refused, >, 20);
    g_assert_cmpuint(n - refused, >, 5);
}

static void test_versions(void)
{
    unsigned n;

    g_assert_cmpuint(forge(ONE_PLANE ",ftl.recovery=1", true,
                           inside_forge_versions, &n), ==, 2);
    g_assert_cmpuint(n, ==, 4);
}

static void test_demand(void)
{
    unsigned n;

    g_assert_cmpuint(forge(ONE_PLANE ",ftl.mapping=demand,"
                           "ftl.over_provisioning_permille=600", false,
                           inside_forge_demand, &n), ==, 3);
    g_assert_cmpuint(n, ==, 4);
}

#define CUTS ONE_PLANE ",nand.power_cuts=1,ftl.recovery="

static void test_kept(void)
{
    unsigned n;

    g_assert_cmpuint(forge(CUTS "1,ftl.mapping=demand,ftl.checkpoint_pages=64,"
                           "ftl.over_provisioning_permille=600", false,
                           inside_forge_kept_demand, &n), ==, 4);
    g_assert_cmpuint(n, ==, 5);
    g_assert_cmpuint(forge(CUTS "2", false, inside_forge_kept_records, &n),
                     ==, 1);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(forge(CUTS "1,ftl.mapping=block", false,
                           inside_forge_kept_blocks, &n), ==, 1);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(forge(CUTS "1,ftl.mapping=superblock,ftl.superblock_blocks=2", false,
                           inside_forge_kept_blocks, &n), ==, 1);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(forge("nand.power_cuts=1,ftl.recovery=1,"
                           "ftl.parity_width=2,controller.buffer_bytes=65536,"
                           "controller.plp_bytes=65536",
                           false, inside_forge_kept_stripes, &n), ==, 1);
    g_assert_cmpuint(n, ==, 2);
}

static void test_cache(void)
{
    unsigned n;

    g_assert_cmpuint(forge(ONE_PLANE ",geometry.pages_per_block=6,"
                           "nand.cell_bits=3,timing.slc_read_ns=30000,"
                           "timing.slc_program_ns=200000,"
                           "timing.slc_erase_ns=2000000,slc.static_blocks=3,"
                           "slc.full=fold,nand.endurance_erases=1000,"
                           "slc.endurance_erases=1000", false,
                           inside_forge_cache, &n), ==, 8);
    g_assert_cmpuint(n, ==, 9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/image/forged", test_forged);
    g_test_add_func("/image/forged-versions", test_versions);
    g_test_add_func("/image/forged-demand", test_demand);
    g_test_add_func("/image/forged-kept", test_kept);
    g_test_add_func("/image/forged-cache", test_cache);
    return g_test_run();
}
