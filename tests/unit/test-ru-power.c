/*
 * Power cuts of drives with reclaim units of several planes: what was told to
 * be durable is there, and the drive works on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sweep.h"

/* Four planes of so many blocks, as little to spare as is accepted. */
#define SMALL "geometry.blocks_per_plane=12,geometry.pages_per_block=4," \
              "gc.trigger_free_blocks=1,"
#define UNITS_OF_4 CUTS "," SMALL "ftl.reclaim_planes=4,"
#define UNITS_OF_2 CUTS "," SMALL "ftl.reclaim_planes=2," \
                   "controller.buffer_bytes=8192,controller.plp_bytes=8192,"
#define ISOLATED UNITS_OF_4 "ftl.streams=2,ftl.isolated_streams=1,"

typedef struct {
    const char *name, *scheme, *keys;
    unsigned streams;
} Case;

static const Case cases[] = {
    { "drive", "pgc", UNITS_OF_4, 1 },
    { "blocking", "baseline", UNITS_OF_4, 1 },
    { "groups", "pgc", UNITS_OF_2, 1 },
    { "isolated", "pgc", ISOLATED, 2 },
};

/* The least over-provisioning that the description accepts. */
static char *overrides_of(const Case *which)
{
    for (unsigned permille = 100;; permille += 20) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                      NULL);
        char *text = g_strdup_printf("%sftl.over_provisioning_permille=%u",
                                     which->keys, permille);
        ScarpConfig config = { .description_path = path, .overrides = text,
                               .scheme = which->scheme, .seed = 1 };
        ScarpDrive *drive = scarp_drive_new(&config, NULL);

        if (drive) {
            scarp_drive_free(drive);
            return text;
        }
        g_free(text);
        g_assert_cmpuint(permille, <, 9000);
    }
}

/* ---- What is there after a cut ------------------------------------------ */

static void fill(Rig *rig)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    for (uint64_t i = 0; i < 2 * pages; i++) {
        uint64_t page = i < pages ? i : i * 7 % pages;

        power_write(rig, page, SWEEP_FIRST + page % 90);
    }
}

/* Power fails at events of a hundred writes and a few deallocations. */
static void test_sweep(gconstpointer data)
{
    const Case *which = data;
    g_autofree char *overrides = overrides_of(which);
    g_autofree ScarpCmd *cmd = g_new0(ScarpCmd, 100);
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    Rig *rig = rig_new(which->scheme, NULL, overrides);
    uint32_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    Sweep all = { .scheme = which->scheme, .overrides = overrides,
                  .prepare = fill, .cmd = cmd, .n_cmds = 100,
                  .is_durable = true, .twice = true, .step = 11 };

    rig_free(rig);
    for (unsigned i = 0; i < all.n_cmds; i++) {
        uint64_t page = g_rand_int(rand) % pages;

        cmd[i] = i % 20 == 19 ? trim_pages(page, 1) : write_page(page);
        cmd[i].stream = i % which->streams;
    }
    g_assert_cmpuint(sweep(&all), >, 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *swept = g_strconcat("/ru-power/sweep/", cases[i].name,
                                             NULL);

        g_test_add_data_func(swept, &cases[i], test_sweep);
    }
    return g_test_run();
}
