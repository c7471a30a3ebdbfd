/*
 * Images of drives with an SLC cache: the loaded drive has the cache as it was,
 * and folds at the same nanosecond. tests/unit/test-image.c compares the
 * futures of such drives under every scheme.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <glib/gstdio.h>

/* One plane of 64 blocks of 24 pages, or of 8 in SLC mode. */
#define REAL "geometry.channels=1,geometry.dies_per_chip=1," \
    "geometry.pages_per_block=24,nand.cell_bits=3"
#define TIMES ",timing.slc_read_ns=30000,timing.slc_program_ns=200000," \
    "timing.slc_erase_ns=2000000"
#define DYNAMIC REAL TIMES ",slc.dynamic=1"
#define IDLE REAL TIMES ",slc.static_blocks=10,slc.fold_idle_us=10000"

enum {
    SLC_TR = 30000, SLC_TPROG = 200000, SLC_TBERS = 2000000,
    BLOCKS = 64, RESERVED = 6, IDLE_NS = 10000 * 1000,
    SLC_WRITE = FW + LINK + CMD + BUS + SLC_TPROG,
    REAL_WRITE = FW + LINK + PROGRAM_NS,
    SLC_READ = FW + CMD + SLC_TR + BUS + LINK,
    REAL_READ = FW + READ_NS + LINK,
    FOLD_NS = 8 * (CMD + SLC_TR + BUS + PROGRAM_NS) + CMD + SLC_TBERS,
};

static char *save(ScarpDrive *drive)
{
    g_autoptr(GError) error = NULL;
    char *path = NULL;
    int fd = g_file_open_tmp("scarp-slc-XXXXXX", &path, &error);

    g_assert_no_error(error);
    g_assert_true(g_close(fd, &error));
    g_assert_true(scarp_drain(drive, &error));
    g_assert_true(scarp_save(drive, path, &error));
    return path;
}

static ScarpDrive *load(const char *path, const char *overrides,
                        GError **error)
{
    g_autofree char *text = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);

    return scarp_drive_new(&(ScarpConfig) {
        .description_path = text, .scheme = "baseline",
        .overrides = overrides, .seed = 1, .store_data = true,
        .image_path = path }, error);
}

/* Saves the rig's drive, and puts one from the image in its place. */
static void reload(Rig *rig, const char *overrides)
{
    g_autofree char *path = save(rig->drive);
    g_autoptr(GError) error = NULL;
    ScarpDrive *other = load(path, overrides, &error);

    g_assert_no_error(error);
    g_unlink(path);
    scarp_drive_free(rig->drive);
    rig->drive = other;
    g_assert_cmpint(scarp_now_ns(other), ==, 0);
}

static const ScarpSlcStats *slc_of(const Rig *rig)
{
    return scarp_slc_stats(rig->drive);
}

/* Writes one page after the other, which idle time does not interrupt. */
static int64_t write_at_once(Rig *rig, uint64_t page)
{
    ScarpCmd cmd = write_page(page);

    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
    while (!scarp_reap(rig->drive)) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    return latency(&cmd);
}

/* The idle time that had passed when the drive was saved counts. */
static void test_idle(void)
{
    Rig *rig = rig_new("baseline", NULL, IDLE);
    int64_t before_ns = 3000 * 1000, due_ns = IDLE_NS - before_ns;

    for (unsigned i = 0; i < 40; i++) {
        g_assert_cmpint(write_at_once(rig, i), ==, SLC_WRITE);
    }
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + before_ns);
    reload(rig, IDLE);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 5);
    scarp_run(rig->drive, due_ns - 1);
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 0);
    scarp_run(rig->drive, due_ns + FOLD_NS - 1);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 0);
    scarp_run(rig->drive, due_ns + FOLD_NS);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 1);
    scarp_run(rig->drive, due_ns + 5 * FOLD_NS);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, ==, 5);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    rig_free(rig);
}

/*
 * Saved in the middle of an SLC block: the next writes fill that block, and the
 * cache takes as many pages as it would have.
 */
static void test_open_block(void)
{
    Rig *rig = rig_new("baseline", NULL, DYNAMIC);
    ScarpCmd cmd = read_page(3);

    rig_fill(rig, 0, 20);
    reload(rig, DYNAMIC);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 3);
    g_assert_cmpint(rig_do(rig, &cmd), ==, SLC_READ);
    for (unsigned i = 20; i < (BLOCKS - RESERVED) * 8; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, (BLOCKS - RESERVED) * 8), ==, REAL_WRITE);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, BLOCKS - RESERVED);
    rig_free(rig);
}

/* With fewer streams an open block of the cache counts as full. */
static void test_fewer_streams(void)
{
    Rig *rig = rig_new("baseline", NULL, IDLE ",ftl.streams=2");
    ScarpCmd cmd = write_page(0);

    cmd.stream = 1;
    scarp_submit(rig->drive, &cmd, 0);
    while (!scarp_reap(rig->drive)) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    reload(rig, IDLE);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 1);
    g_assert_true(scarp_check(rig->drive, NULL));
    scarp_run(rig->drive, IDLE_NS * 2);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    g_assert_cmpuint(slc_of(rig)->folded_units, ==, 1);
    rig_free(rig);
}

/* From an image without a cache a dynamic one begins empty. */
static void test_older(void)
{
    Rig *rig = rig_new("baseline", NULL, REAL);
    ScarpCmd cmd = read_page(5);

    rig_fill(rig, 0, 48);
    reload(rig, DYNAMIC);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 0);
    g_assert_cmpint(rig_do(rig, &cmd), ==, REAL_READ);
    /* the real blocks are two full ones */
    for (unsigned i = 0; i < (BLOCKS - RESERVED - 2) * 8; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, 0), ==, REAL_WRITE);
    rig_free(rig);
}

static void refused(const char *image, const char *overrides, const char *says)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(load(image, overrides, &error));
    if (!strstr(error->message, says) || strchr(error->message, '\n')) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

static void test_refused(void)
{
    Rig *real = rig_new("baseline", NULL, REAL);
    Rig *cached = rig_new("baseline", NULL, DYNAMIC);
    g_autofree char *of_real = save(real->drive), *of_cached = NULL;

    refused(of_real, IDLE, "slc.static_blocks=10");
    rig_fill(cached, 0, 24);
    of_cached = save(cached->drive);
    refused(of_cached, REAL, "it has slc.static_blocks=0, the drive no more");
    refused(of_cached, IDLE, "it has slc.static_blocks=0, the drive "
            "slc.static_blocks=10");
    refused(of_cached, DYNAMIC ",nand.cell_bits=4",
            "it has nand.cell_bits=3, the drive nand.cell_bits=4");
    refused(of_cached, DYNAMIC ",slc.most_blocks=2",
            "plane 0 has 3 blocks in SLC mode, too many for slc.most_blocks=2");
    g_unlink(of_real);
    g_unlink(of_cached);
    rig_free(real);
    rig_free(cached);
}

/* ---- Wear --------------------------------------------------------------- */

/* Erases in SLC mode are counted on, so that a block goes bad when it would. */
static void test_wear(void)
{
    static const char keys[] = REAL TIMES ",slc.static_blocks=1,slc.full=fold,"
                               "nand.endurance_erases=1000,"
                               "slc.endurance_erases=2";
    Rig *rig = rig_new("baseline", NULL, keys);
    unsigned percent;

    rig_fill(rig, 0, 8);
    rig_fill(rig, 0, 8);
    percent = scarp_used_percent(rig->drive);
    reload(rig, keys);
    g_assert_cmpuint(scarp_used_percent(rig->drive), ==, percent);
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 0);
    rig_fill(rig, 0, 8);
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 1);
    reload(rig, keys);
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 1);
    rig_fill(rig, 0, 16);
    g_assert_cmpuint(rig_stats(rig)->bad_blocks, ==, 2);
    rig_free(rig);
}

/* ---- Ageing -------------------------------------------------------------- */

static void test_age(void)
{
    Rig *rig = rig_new("baseline", NULL, DYNAMIC);
    ScarpAge age = { .utilisation_permille = 500, .pattern = "sequential",
                     .seed = 1 };
    uint64_t filled = scarp_drive_logical_bytes(rig->drive) / PAGE * 500 / 1000;
    unsigned blocks = (filled + 23) / 24, in_cache = BLOCKS - RESERVED - blocks;
    ScarpCmd first = read_page(0), last = read_page(filled - 1);
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    g_assert_true(scarp_age_slc(rig->drive, &age, &error));
    g_assert_true(scarp_check(rig->drive, &error));
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, in_cache);
    g_assert_cmpuint(rig_stats(rig)->host_page_programs, ==, 0);
    g_assert_cmpuint(in_cache * 8, <, filled);
    reload(rig, DYNAMIC);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, in_cache);
    g_assert_cmpint(rig_do(rig, &first), ==, SLC_READ);
    g_assert_cmpint(rig_do(rig, &last), ==, REAL_READ);
    g_assert_cmpint(rig_write(rig, 0), ==, REAL_WRITE);
    rig_free(rig);
}

/*
 * The cache of each plane is full, whatever is drawn: a unit of a plane that
 * has room may be drawn late, as few are filled.
 */
static void test_age_few(void)
{
    static const char keys[] = DYNAMIC ",geometry.planes_per_die=8,"
                               "ftl.allocation=pcwd";

    for (unsigned seed = 0; seed < 20; seed++) {
        Rig *rig = rig_new("baseline", NULL, keys);
        uint64_t units = scarp_drive_logical_bytes(rig->drive) / PAGE;
        ScarpAge age = { .utilisation_permille = (8 * 1000 + units - 1) / units,
                         .pattern = "random", .seed = seed };
        uint64_t filled = units * age.utilisation_permille / 1000;
        uint32_t pages = 0;

        g_assert_cmpuint(filled, >=, 8);
        g_assert_cmpuint(filled, <, 16);
        g_assert_true(scarp_age(rig->drive, &age, NULL));
        g_assert_true(scarp_age_slc(rig->drive, &age, NULL));
        for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
            pages += inside_written(rig->drive, b);
        }
        /* each plane has one real block, with at least one page */
        g_assert_cmpuint(pages, ==, filled + 8 * (BLOCKS - RESERVED - 1) * 8);
        rig_free(rig);
    }
}

/* A drive without a cache, or one that was used, is refused. */
static void test_age_refused(void)
{
    ScarpAge age = { .utilisation_permille = 500, .pattern = "random",
                     .seed = 1 };
    Rig *real = rig_new("baseline", NULL, REAL);
    Rig *used = rig_new("baseline", NULL, DYNAMIC);
    g_autoptr(GError) error = NULL;

    g_assert_false(scarp_age_slc(real->drive, &age, &error));
    g_assert_cmpstr(error->message, ==, "age-slc=full: needs an SLC cache: "
                    "slc.static_blocks above 0, or slc.dynamic=1");
    g_clear_error(&error);
    rig_write(used, 0);
    g_assert_false(scarp_age_slc(used->drive, &age, &error));
    g_assert_cmpstr(error->message, ==,
                    "age-slc=full: only a fresh drive can be aged");
    rig_free(real);
    rig_free(used);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slc-image/idle", test_idle);
    g_test_add_func("/slc-image/open-block", test_open_block);
    g_test_add_func("/slc-image/fewer-streams", test_fewer_streams);
    g_test_add_func("/slc-image/older", test_older);
    g_test_add_func("/slc-image/refused", test_refused);
    g_test_add_func("/slc-image/wear", test_wear);
    g_test_add_func("/slc-image/age", test_age);
    g_test_add_func("/slc-image/age-few", test_age_few);
    g_test_add_func("/slc-image/age-refused", test_age_refused);
    return g_test_run();
}
