/*
 * scarp_check() can fail: each law of the tables, broken by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check/laws", test_laws);
    return g_test_run();
}
