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

static void test_forged(void)
{
    g_autofree char *description = g_test_build_filename(G_TEST_DIST,
                                                         "tiny.ini", NULL);
    g_autofree char *path = NULL;
    unsigned refused = 0, n;
    bool more = true;
    int fd = g_file_open_tmp("scarp-XXXXXX", &path, NULL);

    close(fd);
    for (n = 0; more; n++) {
        Rig *rig = rig_new("baseline", NULL, ONE_PLANE);
        ScarpConfig config = { .description_path = description,
                               .scheme = "baseline", .overrides = ONE_PLANE,
                               .seed = 1, .image_path = path };
        g_autoptr(GError) error = NULL;
        const char *says;

        rig_age(rig, 900);
        for (uint64_t page = 0; page < 3; page++) {
            rig_write(rig, page);
        }
        says = inside_forge(rig->drive, n);
        more = says;
        if (more) {
            ScarpDrive *drive;

            g_test_message("%u: %s", n, says);
            g_assert_true(scarp_save(rig->drive, path, &error));
            drive = scarp_drive_new(&config, &error);
            g_assert_true(!drive == !!*says);
            if (drive) {
                scarp_drive_free(drive);
            } else {
                g_test_message("%s", error->message);
                g_assert_nonnull(strstr(error->message, says));
                g_assert_nonnull(strstr(error->message, "damaged"));
                refused++;
            }
        }
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
    g_assert_cmpuint(refused, >, 20);
    g_assert_cmpuint(n - refused, >, 5);
    unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/image/forged", test_forged);
    return g_test_run();
}
