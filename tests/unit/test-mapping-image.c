/*
 * Images of drives whose mapping says where pages go: a drive that starts from
 * one goes on as the saved one does, and laws that are broken are seen, in the
 * drive and in the image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "workload.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define SMALL "geometry.blocks_per_plane=20,geometry.pages_per_block=8," \
              "ftl.over_provisioning_permille=800,geometry.channels=1," \
              "geometry.dies_per_chip=1,ftl.mapping="

static const char *const mappings[] = {
    "block", "fast", "superblock,ftl.superblock_blocks=3",
};

static ScarpDrive *from_image(const char *mapping, const char *image,
                              GError **error)
{
    g_autofree char *overrides = g_strconcat(SMALL, mapping, NULL);
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "pgc", .overrides = overrides, .seed = 1, .store_data = true,
        .image_path = image,
    };

    return scarp_drive_new(&config, error);
}

static ScarpDrive *aged(const char *mapping)
{
    ScarpAge age = { .utilisation_permille = 900,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = 3 };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = from_image(mapping, NULL, &error);

    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    return drive;
}

static char *new_path(void)
{
    g_autoptr(GError) error = NULL;
    char *path = NULL;

    close(g_file_open_tmp("scarp-XXXXXX", &path, &error));
    g_assert_no_error(error);
    g_unlink(path);
    return path;
}

/* Writes and deallocations, one after the other; one number for their times. */
static uint64_t run(ScarpDrive *drive, unsigned n, uint32_t seed)
{
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE, sum = 0;
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);

    for (unsigned i = 0; i < n; i++) {
        ScarpCmd cmd = {
            .op = i % 9 == 8 ? SCARP_OP_DEALLOCATE : SCARP_OP_WRITE,
            .offset_bytes = g_rand_int_range(rand, 0, pages) * (uint64_t)PAGE,
            .length_bytes = PAGE, .deadline_ns = SCARP_TIME_NEVER,
        };

        scarp_submit(drive, &cmd, scarp_now_ns(drive));
        while (!scarp_reap(drive)) {
            scarp_run(drive, scarp_next_event_ns(drive));
        }
        law_sum(&cmd);
        sum = sum * 31 + (uint64_t)(cmd.complete_ns - cmd.submit_ns);
    }
    return sum;
}

static void test_same_future(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        g_autofree char *path = new_path();
        ScarpDrive *a = aged(mappings[i]), *b;
        g_autoptr(GError) error = NULL;

        run(a, 100, 1);
        g_assert_true(scarp_drain(a, &error));
        g_assert_true(scarp_save(a, path, &error));
        b = from_image(mappings[i], path, &error);
        g_assert_no_error(error);
        g_unlink(path);
        g_assert_true(scarp_check(b, &error));
        for (uint32_t lpn = 0; lpn < inside_mapped_units(a); lpn++) {
            g_assert_cmpuint(inside_l2p(a, lpn), ==, inside_l2p(b, lpn));
        }
        g_assert_cmpuint(run(a, 300, 2), ==, run(b, 300, 2));
        g_assert_cmpuint(scarp_stats(b)->full_merges, >, 0);
        scarp_drive_free(a);
        scarp_drive_free(b);
    }
}

/* A bad block has no place in the mapping, and an image has it all the same. */
static void test_bad_block(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        g_autofree char *mapping = g_strconcat(
            mappings[i], ",nand.bad_blocks_permille=50", NULL);
        g_autofree char *path = new_path();
        ScarpDrive *drive = aged(mapping), *again;
        g_autoptr(GError) error = NULL;

        /* One of 20. */
        g_assert_cmpuint(inside_bad_blocks(drive, 0), ==, 1);
        g_assert_true(scarp_save(drive, path, &error));
        again = from_image(mapping, path, &error);
        g_assert_no_error(error);
        g_unlink(path);
        for (uint32_t b = 0; b < inside_blocks(drive); b++) {
            g_assert_true(inside_is_bad(again, b) == inside_is_bad(drive, b));
        }
        scarp_drive_free(drive);
        scarp_drive_free(again);
    }
}

/* An image belongs to its mapping, and to its superblocks. */
static void test_other_mapping(void)
{
    static const char *const others[] = {
        "page", "superblock,ftl.superblock_blocks=3",
        "superblock,ftl.superblock_blocks=4", "fast",
    };
    g_autofree char *path = new_path();
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = aged("superblock,ftl.superblock_blocks=3");

    g_assert_true(scarp_save(drive, path, &error));
    scarp_drive_free(drive);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        drive = from_image(others[i], path, &error);
        g_assert_true(!drive == (i != 1));
        if (drive) {
            scarp_drive_free(drive);
        } else {
            g_assert_nonnull(strstr(error->message, "another layout class"));
        }
        g_clear_error(&error);
    }
    g_unlink(path);
}

/* Each law is seen when it is broken; an image that says so is refused. */
static void test_laws(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        for (unsigned law = 0;; law++) {
            g_autofree char *path = new_path();
            ScarpDrive *drive = aged(mappings[i]), *again;
            g_autoptr(GError) error = NULL;
            const char *what;

            g_assert_true(scarp_check(drive, &error));
            what = inside_break_mapping(drive, law);
            if (!what) {
                g_assert_cmpuint(law, >, 3);
                scarp_drive_free(drive);
                break;
            }
            g_test_message("%s, law %u: %s", mappings[i], law, what);
            g_assert_false(scarp_check(drive, &error));
            g_assert_nonnull(strstr(error->message, what));
            g_clear_error(&error);
            if (inside_forges_mapping(drive, law)) {
                g_assert_true(scarp_save(drive, path, &error));
                again = from_image(mappings[i], path, &error);
                g_assert_null(again);
                g_assert_nonnull(strstr(error->message, "damaged"));
                g_assert_null(strchr(error->message, '\n'));
                g_unlink(path);
            }
            scarp_drive_free(drive);
        }
    }
}

/* States that no drive of the mapping can have: its image is refused. */
static void test_forged(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mappings); i++) {
        for (unsigned n = 0;; n++) {
            g_autofree char *path = new_path();
            ScarpDrive *drive = aged(mappings[i]);
            g_autoptr(GError) error = NULL;
            const char *says = inside_forge_mapping(drive, n);

            if (!says) {
                g_assert_cmpuint(n, >=, 2);
                scarp_drive_free(drive);
                break;
            }
            g_assert_true(scarp_save(drive, path, &error));
            scarp_drive_free(drive);
            drive = from_image(mappings[i], path, &error);
            g_unlink(path);
            g_test_message("%s, %u: %s", mappings[i], n,
                           error ? error->message : "accepted");
            g_assert_null(drive);
            g_assert_nonnull(strstr(error->message, says));
            g_assert_nonnull(strstr(error->message, "damaged"));
            g_assert_null(strchr(error->message, '\n'));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mapping-image/same-future", test_same_future);
    g_test_add_func("/mapping-image/bad-block", test_bad_block);
    g_test_add_func("/mapping-image/other-mapping", test_other_mapping);
    g_test_add_func("/mapping-image/laws", test_laws);
    g_test_add_func("/mapping-image/forged", test_forged);
    return g_test_run();
}
