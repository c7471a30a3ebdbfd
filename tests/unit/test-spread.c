/*
 * Units that lie in planes where static allocation would not have put them:
 * dynamic allocation, or a placement across planes, did it before.  Whatever
 * is written then, each plane takes what is its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "workload.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define SMALL "geometry.blocks_per_plane=20,geometry.pages_per_block=8," \
              "geometry.dies_per_chip=2,"

static const char *const drives[] = {
    "ftl.over_provisioning_permille=500,gc.trigger_free_blocks=1",
    "ftl.over_provisioning_permille=700,gc.trigger_free_blocks=5",
    "ftl.over_provisioning_permille=900,gc.trigger_free_blocks=1,"
    "ftl.unit_bytes=1024,controller.buffer_bytes=65536",
    "ftl.over_provisioning_permille=1200,gc.trigger_free_blocks=2,"
    "ftl.unit_bytes=2048,ftl.mapping=demand,nand.copyback=1",
};

static ScarpDrive *of_image(const char *scheme, const char *overrides,
                            const char *image)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = scheme, .overrides = overrides, .seed = 1,
        .store_data = true, .image_path = image,
    };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    g_assert_no_error(error);
    return drive;
}

static void one(ScarpDrive *drive, ScarpOp op, uint64_t page)
{
    ScarpCmd cmd = { .op = op, .offset_bytes = page * PAGE,
                     .length_bytes = PAGE, .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive));
    while (!scarp_reap(drive)) {
        g_assert_cmpint(scarp_next_event_ns(drive), !=, SCARP_TIME_NEVER);
        scarp_run(drive, scarp_next_event_ns(drive));
    }
}

/* All pages that static allocation gives a plane, plane after plane. */
static void fill_planes(ScarpDrive *drive, const char *overrides)
{
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    uint32_t planes = inside_planes(drive);
    g_autoptr(GError) error = NULL;

    for (uint32_t p = 0; p < planes; p++) {
        g_test_message("%s: %u", overrides, p);
        for (uint64_t page = p; page < pages; page += planes) {
            one(drive, SCARP_OP_WRITE, page);
        }
    }
    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_check(drive, &error));
    g_assert_cmpuint(scarp_stats(drive)->oob_mismatches, ==, 0);
}

static char *new_path(void)
{
    char *path = NULL;

    close(g_file_open_tmp("scarp-XXXXXX", &path, NULL));
    return path;
}

/*
 * A full drive, of which a plane loses what is its own; what the others
 * have is written over and over, and may come to lie there.
 */
static void spread(ScarpDrive *drive, uint32_t seed)
{
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    uint32_t planes = inside_planes(drive);
    ScarpAge age = { .utilisation_permille = 1000, .pattern = "random",
                     .overwrite_permille = UINT32_MAX, .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(drive, &age, &error));
    for (uint64_t page = 0; page < pages; page++) {
        if (page % planes == 0) {
            one(drive, SCARP_OP_DEALLOCATE, page);
        }
    }
    for (int n = 0; n < 2000; n++) {
        uint64_t page = g_rand_int_range(rand, 0, pages);

        if (page % planes) {
            one(drive, SCARP_OP_WRITE, page);
        }
    }
}

/* An image of such a drive. */
static void test_image(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(drives); i++) {
        g_autofree char *overrides = g_strconcat(SMALL, drives[i], NULL);
        g_autofree char *path = new_path();
        ScarpDrive *drive = of_image(data, overrides, NULL);
        g_autoptr(GError) error = NULL;

        spread(drive, i);
        g_assert_true(scarp_drain(drive, &error));
        g_assert_true(scarp_save(drive, path, &error));
        scarp_drive_free(drive);
        drive = of_image("baseline", overrides, path);
        g_unlink(path);
        fill_planes(drive, overrides);
        scarp_drive_free(drive);
    }
}

/* The same in another order, of a mapping that all orders go with. */
static void test_order(void)
{
    static const char *const orders[] = { "cwdp", "pdwc", "dynamic" };

    for (size_t i = 0; i < 9 * 3; i++) {
        const char *before = orders[i / 3 % 3], *after = orders[i % 3];
        g_autofree char *own = g_strconcat(SMALL, drives[i / 9],
                                           ",ftl.allocation=", before, NULL);
        g_autofree char *other = g_strconcat(SMALL, drives[i / 9],
                                             ",ftl.allocation=", after, NULL);
        g_autofree char *path = new_path();
        ScarpDrive *drive = of_image("baseline", own, NULL);
        g_autoptr(GError) error = NULL;

        spread(drive, i);
        g_assert_true(scarp_drain(drive, &error));
        g_assert_true(scarp_save(drive, path, &error));
        scarp_drive_free(drive);
        drive = of_image("baseline", other, path);
        g_unlink(path);
        fill_planes(drive, other);
        scarp_drive_free(drive);
    }
}

/* A drive whose scheme is another one now, or the same. */
static void test_switched(gconstpointer data)
{
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(drives); i++) {
        g_autofree char *overrides = g_strconcat(SMALL, drives[i / 2], NULL);
        ScarpDrive *drive = of_image(data, overrides, NULL);
        g_autoptr(GError) error = NULL;

        spread(drive, i);
        g_assert_true(scarp_drive_set_scheme(drive, i % 2 ? "baseline" : data,
                                             NULL, &error));
        fill_planes(drive, overrides);
        scarp_drive_free(drive);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/spread/image/dynamic", "dynamic", test_image);
    g_test_add_data_func("/spread/image/global", "global", test_image);
    g_test_add_data_func("/spread/image/gc-z", "gc-z", test_image);
    g_test_add_data_func("/spread/image/paragc", "paragc", test_image);
    g_test_add_func("/spread/order", test_order);
    g_test_add_data_func("/spread/switched/global", "global", test_switched);
    g_test_add_data_func("/spread/switched/gc-z", "gc-z", test_switched);
    g_test_add_data_func("/spread/switched/paragc", "paragc", test_switched);
    return g_test_run();
}
