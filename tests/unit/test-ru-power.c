/*
 * Power cuts of drives with reclaim units of several planes: what was told to
 * be durable is there, units are put together from what their spare areas say,
 * and recovery never runs out of free units, however often it is cut short.
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
    unsigned marks; /* of those that test_full() looks for: met by it */
    bool closes;    /* test_full() closes units while programs wait */
} Case;

static const Case cases[] = {
    { "drive", "pgc", UNITS_OF_4, 1, 3, false },
    { "blocking", "baseline", UNITS_OF_4, 1, 3, false },
    { "groups", "pgc", UNITS_OF_2, 1, 2, false },
    { "isolated", "pgc", ISOLATED, 2, 3, false },
    { "mapping-units", "pgc", UNITS_OF_4 "ftl.unit_bytes=2048,", 1, 2,
      false },
    { "closed", "pgc", UNITS_OF_4 "ftl.streams=2,", 2, 2, true },
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

/* ---- Free units --------------------------------------------------------- */

typedef struct {
    Rig *rig;
    GRand *rand;
    ScarpCmd cmd[48];
    uint8_t *is; /* [page]: its tag, which is durable */
    uint32_t pages;
} Full;

/* Writes all over the drive, until so many events have passed. */
static void work(Full *f, unsigned round, const Case *which)
{
    unsigned events = g_rand_int_range(f->rand, 1, 400);
    const ScarpCmd *done;

    for (unsigned i = 0; i < G_N_ELEMENTS(f->cmd); i++) {
        f->cmd[i] = write_tag(g_rand_int(f->rand) % f->pages, 1,
                              1 + (round * 48 + i) % 250);
        f->cmd[i].stream = i % which->streams;
        scarp_submit(f->rig->drive, &f->cmd[i], scarp_now_ns(f->rig->drive));
    }
    for (unsigned i = 0; i < events; i++) {
        int64_t next_ns = scarp_next_event_ns(f->rig->drive);

        if (next_ns == SCARP_TIME_NEVER) {
            break;
        }
        scarp_run(f->rig->drive, next_ns);
        if (which->closes && i % 30 == 29) {
            scarp_close_units(f->rig->drive, i / 30 % which->streams);
        }
        while ((done = scarp_reap(f->rig->drive))) {
            f->is[done->offset_bytes / PAGE] = *(const uint8_t *)done->data;
        }
    }
}

static void look(Full *f)
{
    for (uint64_t page = 0; page < f->pages; page++) {
        int is = power_tag(f->rig, page);
        bool found = is == f->is[page];

        for (unsigned i = 0; i < G_N_ELEMENTS(f->cmd); i++) {
            found |= f->cmd[i].offset_bytes == page * PAGE &&
                     is == *(const uint8_t *)f->cmd[i].data;
        }
        g_assert_true(found);
        f->is[page] = is;
    }
}

/*
 * Power fails, and again after one event of recovery, after some more, and so
 * on, but after each event once recovery copies: whatever is cut short, the
 * drive becomes ready, and has a unit to go on with beside that which is kept.
 */
static void test_full(gconstpointer data)
{
    static const char *const marks[] = {
        "mended_by_unit", "unit_with_erased_block", "unit_with_torn_block",
        "complete_copies_kept",
    };
    const Case *which = data;
    g_autofree char *overrides = overrides_of(which);
    Full f = { .rig = rig_new(which->scheme, NULL, overrides),
               .rand = g_rand_new_with_seed(1) };
    unsigned cuts = 0, met = 0;

    f.pages = scarp_drive_logical_bytes(f.rig->drive) / PAGE;
    f.is = g_new0(uint8_t, f.pages);
    for (uint32_t page = 0; page < f.pages; page++) {
        f.is[page] = 1 + page % 250;
        power_write(f.rig, page, f.is[page]);
    }
    for (unsigned round = 0; round < (g_test_slow() ? 200 : 25); round++) {
        bool ready = false;

        work(&f, round, which);
        for (unsigned events = 0, step; !ready; events += step) {
            uint64_t copied = rig_stats(f.rig)->recovery_page_programs;

            power_off(f.rig);
            cuts++;
            for (unsigned i = 0; !scarp_is_ready(f.rig->drive) && i < events;
                 i++) {
                scarp_run(f.rig->drive, scarp_next_event_ns(f.rig->drive));
            }
            ready = scarp_is_ready(f.rig->drive);
            step = rig_stats(f.rig)->recovery_page_programs > copied
                       ? 1 : 1 + events / 8;
        }
        power_check(f.rig);
        look(&f);
        for (uint32_t p = 0; p < inside_planes(f.rig->drive); p++) {
            g_assert_cmpuint(inside_erased_blocks(f.rig->drive, p), >=, 2);
        }
    }
    g_assert_cmpuint(cuts, >, 100);
    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++) {
        g_test_message("%s: %u", marks[i],
                       (unsigned)mark_times(f.rig, marks[i]));
        met += mark_times(f.rig, marks[i]) > 0;
    }
    g_assert_cmpuint(met, >=, which->marks);
    rig_drain(f.rig);
    rig_free(f.rig);
    g_rand_free(f.rand);
    g_free(f.is);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *swept = g_strconcat("/ru-power/sweep/", cases[i].name,
                                             NULL);
        g_autofree char *full = g_strconcat("/ru-power/full/", cases[i].name,
                                            NULL);

        g_test_add_data_func(swept, &cases[i], test_sweep);
        g_test_add_data_func(full, &cases[i], test_full);
    }
    return g_test_run();
}
