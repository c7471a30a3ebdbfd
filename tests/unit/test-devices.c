/*
 * Every description in devices/: it loads, and an idle drive of it has the
 * latencies that docs/model.md computes from the file's own values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "inside.h"
#include "scarp.h"

#include <string.h>

/* Timing does not depend on these, and every event checks the whole drive. */
#define SMALL "geometry.channels=1,geometry.chips_per_channel=1," \
              "geometry.dies_per_chip=1,geometry.blocks_per_plane=12," \
              "geometry.pages_per_block=%" G_GUINT64_FORMAT "," \
              "nand.layers=%" G_GUINT64_FORMAT "," \
              "ftl.over_provisioning_permille=4000," \
              "gc.trigger_free_blocks=1,gc.background_free_blocks=0," \
              "nand.bad_blocks_permille=0,ftl.parity_width=0," \
              "slc.static_blocks=0,slc.most_blocks=0"

static char *folder(void)
{
    return g_test_build_filename(G_TEST_DIST, "..", "..", "devices", NULL);
}


static int64_t value(GKeyFile *file, const char *group, const char *key,
                     int64_t fallback)
{
    g_autofree char *text = g_key_file_get_value(file, group, key, NULL);

    return text ? g_ascii_strtoll(text, NULL, 10) : fallback; /* a list's first */
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t link_ns(GKeyFile *file, int64_t bytes)
{
    /* A lane's MB/s, as published: the format's table, rounded down. */
    static const double lane[] = { 0, 250, 500, 984.615, 1969.23, 3938.46 };
    int64_t mbs = value(file, "controller", "link_mbs", 0);

    if (!mbs) {
        mbs = lane[value(file, "controller", "pcie_generation", 0)] *
              value(file, "controller", "pcie_lanes", 0);
    }
    return ceil_div(bytes * 1000, mbs);
}

static int64_t bus_ns(GKeyFile *file, int64_t bytes)
{
    return ceil_div(bytes * 1000, value(file, "timing", "channel_mts", 0));
}

static int64_t alone(ScarpDrive *drive, ScarpOp op, uint64_t bytes)
{
    ScarpCmd cmd = { .op = op, .length_bytes = bytes,
                     .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive) + 1);
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
    g_assert_true(scarp_reap(drive) == &cmd);
    return cmd.complete_ns - cmd.submit_ns;
}

static void test_latencies(gconstpointer path)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *overrides = NULL;
    ScarpConfig config = { .description_path = path, .scheme = "baseline" };
    int64_t firmware, command, page, t_read, t_program, fastest;
    ScarpDescription d;
    ScarpDrive *drive;

    g_assert_true(scarp_description_load(&d, path, NULL, &error));
    g_assert_no_error(error);
    g_assert_true(g_key_file_load_from_file(file, path, G_KEY_FILE_NONE,
                                            &error));
    firmware = value(file, "controller", "firmware_ns", -1);
    command = value(file, "timing", "command_ns", 200);
    page = value(file, "geometry", "page_bytes", -1);
    /* The first page: of the first type, in the first layer. */
    fastest = value(file, "nand", "layer_fastest_permille", 1000);
    t_read = value(file, "timing", "read_ns", -1) * fastest / 1000;
    t_program = value(file, "timing", "program_ns", -1) * fastest / 1000;
    if (value(file, "slc", "static_blocks", 0) ||
        value(file, "slc", "dynamic", 0)) { /* the page is in the cache */
        t_read = value(file, "timing", "slc_read_ns", -1);
        t_program = value(file, "timing", "slc_program_ns", -1);
    }

    overrides = g_strdup_printf(SMALL, d.pages_per_block, d.layers);
    config.overrides = overrides;
    drive = scarp_drive_new(&config, &error);
    g_assert_no_error(error);

    g_assert_cmpint(alone(drive, SCARP_OP_READ, page), ==,
                    firmware + link_ns(file, page));
    if (value(file, "controller", "buffer_bytes", 0)) {
        g_assert_cmpint(alone(drive, SCARP_OP_WRITE, page), ==,
                        firmware + link_ns(file, page));
        alone(drive, SCARP_OP_FLUSH, 0);
    } else {
        g_assert_cmpint(alone(drive, SCARP_OP_WRITE, page), ==,
                        firmware + link_ns(file, page) + command +
                            bus_ns(file, page) + t_program);
    }
    g_assert_cmpint(alone(drive, SCARP_OP_READ, page), ==,
                    firmware + command + t_read + bus_ns(file, page) +
                        link_ns(file, page));
    g_assert_cmpint(alone(drive, SCARP_OP_READ, 512), ==,
                    firmware + command + t_read + bus_ns(file, 512) +
                        link_ns(file, 512));
    scarp_drive_free(drive);
}

static ScarpDescription link_of(const char *overrides, char **message)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    g_autoptr(GError) error = NULL;
    ScarpDescription d;

    *message = NULL;
    if (!scarp_description_load(&d, path, overrides, &error)) {
        *message = g_strdup(error->message);
    }
    return d;
}

#define PCIE(generation, lanes) \
    "controller.link_mbs=0,controller.pcie_generation=" #generation \
    ",controller.pcie_lanes=" #lanes

/* docs/model.md's table; the link is one or the other, never both or none. */
static void test_pcie(void)
{
    static const struct {
        const char *overrides;
        uint64_t mbs;
    } good[] = {
        { PCIE(1, 1), 250 }, { PCIE(2, 4), 2000 }, { PCIE(3, 1), 984 },
        { PCIE(3, 4), 3938 }, { PCIE(4, 4), 7876 }, { PCIE(5, 4), 15753 },
        { "", 3200 },
    };
    static const char *const bad[] = {
        "controller.pcie_generation=4", "controller.pcie_lanes=4",
        "controller.pcie_generation=4,controller.pcie_lanes=4",
        "controller.link_mbs=0", PCIE(4, 0), PCIE(0, 4), PCIE(6, 4),
    };
    char *message;

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        ScarpDescription d = link_of(good[i].overrides, &message);

        g_assert_cmpstr(message, ==, NULL);
        g_assert_cmpuint(d.link_mbs, ==, good[i].mbs);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        link_of(bad[i], &message);
        g_assert_nonnull(message);
        g_assert_nonnull(strstr(message, "controller."));
        g_assert_null(strchr(message, '\n'));
        g_free(message);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *devices = NULL;
    const char *name;
    int result;
    GDir *dir;

    g_test_init(&argc, &argv, NULL);
    devices = folder();
    dir = g_dir_open(devices, 0, NULL);
    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".ini")) {
            g_autofree char *test = g_strdup_printf("/devices/%s", name);
            char *path = g_build_filename(devices, name, NULL);

            g_ptr_array_add(paths, path);
            g_test_add_data_func(test, path, test_latencies);
        }
    }
    g_dir_close(dir);
    g_test_add_func("/devices/pcie", test_pcie);
    result = g_test_run();
    return result;
}
