/*
 * An SLC cache on a drive whose mapping lies on flash (ftl.mapping=demand): the
 * host's pages go to the cache, and translation units to blocks of the real
 * mode. Folds change entries of the mapping, as other collections do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "power.h"

#include <glib/gstdio.h>

/*
 * The drive has one plane of 64 blocks of 24 pages, or of 8 in SLC mode, and 2
 * translation units. Beside scarp_reserved_blocks() 3 blocks are kept for
 * translation units.
 */
#define TLC ONE ",geometry.pages_per_block=24,nand.cell_bits=3," \
    "timing.slc_read_ns=30000,timing.slc_program_ns=200000," \
    "timing.slc_erase_ns=2000000,ftl.mapping=demand"
#define DYNAMIC ",slc.dynamic=1"
#define STATIC ",slc.static_blocks=1,slc.full=fold"
/* The RAM has room for all entries of the mapping, or for 16. */
#define ALL ",ftl.map_cache_bytes=65536"
#define FEW ",ftl.map_cache_bytes=128"

enum {
    SLC_TR = 30000, SLC_TPROG = 200000, SLC_TBERS = 2000000,
    BLOCKS = 64, RESERVED = 6, TRANSLATION = 3, SLC_PAGES = 8,
    SLC_WRITE = FW + LINK + CMD + BUS + SLC_TPROG,
    REAL_WRITE = FW + LINK + PROGRAM_NS,
    SLC_READ = FW + CMD + SLC_TR + BUS + LINK,
    REAL_READ = FW + READ_NS + LINK,
    FOLD_NS = SLC_PAGES * (CMD + SLC_TR + BUS + PROGRAM_NS) + CMD + SLC_TBERS,
};

static const ScarpSlcStats *slc_of(const Rig *rig)
{
    return scarp_slc_stats(rig->drive);
}

/*
 * The cache of an empty drive has all blocks but the reserved ones and those of
 * translation units, and no entry leaves the RAM meanwhile.
 */
static void test_first_cliff(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC ALL);
    unsigned pages = (BLOCKS - RESERVED - TRANSLATION) * SLC_PAGES;

    for (unsigned i = 0; i < pages; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, pages), ==, REAL_WRITE);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, pages);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 1);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 0);
    rig_free(rig);
}

/*
 * A translation unit is programmed in the time of the real mode, although the
 * cache has room, and read in that time.
 */
static void test_units_are_real(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC FEW);
    uint64_t programs = 0;
    ScarpCmd cmd = read_page(0);

    for (unsigned i = 0; i < 100; i++) {
        rig_write(rig, i);
    }
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->origin != SCARP_ORIGIN_MAP ||
            op->phase != SCARP_PHASE_ARRAY) {
            continue;
        }
        programs += op->kind == SCARP_FLASH_PROGRAM;
        g_assert_cmpint(op->end_ns - op->begin_ns, ==,
                        op->kind == SCARP_FLASH_PROGRAM ? TPROG : TR);
    }
    g_assert_cmpuint(programs, ==, rig_stats(rig)->map_page_programs);
    g_assert_cmpuint(programs, >, 0);
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, 100);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 0);
    /* the entry of page 0 has left the RAM */
    g_assert_cmpint(rig_do(rig, &cmd), ==, SLC_READ + READ_NS);
    rig_free(rig);
}

/* A fold changes the entries of its units, as many as the RAM still has. */
static void test_fold(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC STATIC ALL);

    for (unsigned i = 0; i < SLC_PAGES; i++) {
        g_assert_cmpint(rig_write(rig, i), ==, SLC_WRITE);
    }
    g_assert_cmpint(rig_write(rig, SLC_PAGES), ==, SLC_WRITE + FOLD_NS);
    g_assert_cmpuint(slc_of(rig)->folded_units, ==, SLC_PAGES);
    for (unsigned i = 0; i <= SLC_PAGES; i++) {
        ScarpCmd cmd = read_page(i);

        g_assert_cmpint(rig_do(rig, &cmd), ==,
                        i < SLC_PAGES ? REAL_READ : SLC_READ);
    }
    g_assert_true(scarp_drain(rig->drive, NULL));
    /* one program for all nine entries */
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, ==, 1);
    rig_free(rig);
}

/* With little RAM for entries folds go on as well, for ever. */
static void test_many_folds(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC STATIC FEW);
    unsigned pages = scarp_drive_logical_bytes(rig->drive) / PAGE;

    for (unsigned i = 0; i < 3 * pages; i++) {
        rig_write(rig, (uint64_t)i * 7 % pages);
    }
    g_assert_cmpuint(slc_of(rig)->slc_page_programs, ==, 3 * pages);
    g_assert_cmpuint(slc_of(rig)->direct_page_programs, ==, 0);
    g_assert_cmpuint(rig_stats(rig)->map_page_programs, >,
                     rig_stats(rig)->gc_runs / 2);
    g_assert_cmpuint(rig_stats(rig)->gc_runs, >, 3 * pages / SLC_PAGES / 2);
    g_assert_true(scarp_drain(rig->drive, NULL));
    rig_free(rig);
}

/* ---- Ageing -------------------------------------------------------------- */

/*
 * The cache is filled behind the ageing, so each translation unit is written
 * twice; the translation units on flash have the PPNs in the cache.
 */
static void age(const char *overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    ScarpAge age = { .utilisation_permille = 500, .pattern = "sequential",
                     .seed = 1 };
    uint64_t filled = scarp_drive_logical_bytes(rig->drive) / PAGE / 2;
    unsigned blocks = (filled + 23) / 24;
    unsigned in_cache = BLOCKS - RESERVED - TRANSLATION - blocks;
    ScarpCmd first = read_page(0), last = read_page(filled - 1);
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    g_assert_true(scarp_age_slc(rig->drive, &age, &error));
    scarp_check(rig->drive, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, in_cache);
    g_assert_cmpint(rig_do(rig, &first), ==, SLC_READ + READ_NS);
    g_assert_cmpint(rig_do(rig, &last), ==, REAL_READ + READ_NS);
    g_assert_cmpint(rig_write(rig, filled), ==, REAL_WRITE + READ_NS);
    rig_free(rig);
}

static void test_age(void)
{
    age(TLC DYNAMIC FEW);
}

/*
 * The drive has so many units that blocks of translation units are collected
 * when all of these are written for the second time.
 */
static void test_age_collects(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC DYNAMIC FEW ",ftl.unit_bytes=512,"
                       "geometry.blocks_per_plane=1300,"
                       "geometry.pages_per_block=12,"
                       "ftl.over_provisioning_permille=90");
    ScarpAge age = { .utilisation_permille = 1000, .pattern = "random",
                     .overwrite_permille = 100, .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    g_assert_true(scarp_age_slc(rig->drive, &age, &error));
    scarp_check(rig->drive, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(mark_times(rig, "translation_victim"), >, 0);
    rig_write(rig, 0);
    rig_free(rig);
}

/* ---- Images -------------------------------------------------------------- */

static void reload(Rig *rig, const char *overrides)
{
    g_autofree char *text = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("scarp-slc-XXXXXX", &path, &error);
    ScarpDrive *other;

    g_assert_no_error(error);
    g_assert_true(g_close(fd, &error));
    g_assert_true(scarp_save(rig->drive, path, &error));
    other = scarp_drive_new(&(ScarpConfig) {
        .description_path = text, .scheme = "baseline",
        .overrides = overrides, .seed = 1, .store_data = true,
        .image_path = path }, &error);
    g_assert_no_error(error);
    g_unlink(path);
    scarp_drive_free(rig->drive);
    rig->drive = other;
}

/* The loaded drive's commands take as long as those of the saved one. */
static void test_image(void)
{
    static const char keys[] = TLC STATIC FEW ",slc.fold_idle_us=20000";
    Rig *rig = rig_new("baseline", NULL, keys);
    Rig *other = rig_new("baseline", NULL, keys);

    for (unsigned i = 0; i < 200; i++) {
        uint64_t page = (uint64_t)i * 37 % 101;

        g_assert_cmpint(rig_write(rig, page), ==, rig_write(other, page));
    }
    g_assert_true(scarp_drain(rig->drive, NULL));
    g_assert_true(scarp_drain(other->drive, NULL));
    reload(other, keys);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t page = (uint64_t)i * 41 % 97;
        ScarpCmd a = read_page(page), b = read_page(page);

        g_assert_cmpint(rig_write(rig, page + 1), ==,
                        rig_write(other, page + 1));
        g_assert_cmpint(rig_do(rig, &a), ==, rig_do(other, &b));
    }
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, slc_of(other)->slc_blocks);
    rig_free(rig);
    rig_free(other);
}

/* ---- Power cuts ---------------------------------------------------------- */

static void check_tags(const Rig *rig, unsigned pages)
{
    for (unsigned i = 0; i < pages; i++) {
        g_assert_cmpint(power_tag(rig, i), ==, 'a' + i);
    }
}

/* Runs so many events; the cut then comes between two. True: no more came. */
static bool run_events(Rig *rig, unsigned events)
{
    for (unsigned i = 0; i < events; i++) {
        int64_t next_ns = scarp_next_event_ns(rig->drive);
        int64_t now_ns = scarp_now_ns(rig->drive);

        if (next_ns == SCARP_TIME_NEVER) {
            return true;
        }
        scarp_run(rig->drive, i + 1 < events ? next_ns
                                             : (now_ns + next_ns) / 2);
    }
    return false;
}

/* Takes all entries of the first pages out of the RAM. */
static void forget_entries(Rig *rig)
{
    for (unsigned i = 0; i < 80; i++) {
        ScarpCmd cmd = read_page(200 + i % 40);

        power_do(rig, &cmd);
    }
    g_assert_true(scarp_drain(rig->drive, NULL));
}

/*
 * Power fails after each event in turn of a fold and of the translation unit
 * behind it: all that was acknowledged is there, whatever the cut tears.
 */
static void fold_cut(const char *overrides)
{
    bool ended = false;

    for (unsigned events = 1; !ended; events++) {
        Rig *rig = rig_new_seeded("baseline", NULL, overrides, events);
        ScarpCmd cmd = write_tag(SLC_PAGES, 1, 'a' + SLC_PAGES);
        uint64_t programs;

        for (unsigned i = 0; i < SLC_PAGES; i++) {
            power_write(rig, i, 'a' + i);
        }
        forget_entries(rig);
        programs = rig_stats(rig)->map_page_programs;
        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive));
        ended = run_events(rig, events);
        g_assert_cmpuint(events, <, 300);
        if (ended) {
            g_assert_nonnull(scarp_reap(rig->drive));
            g_assert_cmpuint(slc_of(rig)->folded_units, ==, SLC_PAGES);
            g_assert_cmpuint(rig_stats(rig)->map_page_programs, >, programs);
        }
        power_cycle(rig);
        check_tags(rig, SLC_PAGES + ended);
        power_write(rig, SLC_PAGES, 'a' + SLC_PAGES);
        power_cycle(rig);
        check_tags(rig, SLC_PAGES + 1);
        rig_drain(rig);
        rig_free(rig);
    }
}

static void test_fold_cut(void)
{
    static const char *const keys[] = {
        TLC "," CUTS STATIC FEW ",ftl.paired_pages=pad",
        TLC "," CUTS STATIC FEW ",ftl.paired_pages=backup",
        TLC "," CUTS FEW ",ftl.paired_pages=pad,slc.dynamic=1,"
            "slc.most_blocks=1,slc.full=fold,"
            "ftl.over_provisioning_permille=400",
        TLC ",nand.power_cuts=1,ftl.recovery=1" STATIC FEW
            ",ftl.paired_pages=backup,ftl.checkpoint_pages=8",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        fold_cut(keys[i]);
    }
}

/*
 * After a cut all entries are read from flash: of a page in the cache, and of a
 * folded one.
 */
static void test_cut_modes(void)
{
    Rig *rig = rig_new("baseline", NULL, TLC "," CUTS STATIC FEW
                       ",ftl.paired_pages=pad");
    ScarpCmd folded = read_page(0), cached = read_page(SLC_PAGES);

    for (unsigned i = 0; i <= SLC_PAGES; i++) {
        power_write(rig, i, 'a' + i);
    }
    g_assert_true(scarp_drain(rig->drive, NULL));
    power_cycle(rig);
    check_tags(rig, SLC_PAGES + 1);
    g_assert_cmpuint(slc_of(rig)->slc_blocks, ==, 1);
    g_assert_cmpint(rig_do(rig, &folded), ==, REAL_READ + READ_NS);
    g_assert_cmpint(rig_do(rig, &cached), ==, SLC_READ + READ_NS);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slc-demand/first-cliff", test_first_cliff);
    g_test_add_func("/slc-demand/units-are-real", test_units_are_real);
    g_test_add_func("/slc-demand/fold", test_fold);
    g_test_add_func("/slc-demand/many-folds", test_many_folds);
    g_test_add_func("/slc-demand/age", test_age);
    g_test_add_func("/slc-demand/age-collects", test_age_collects);
    g_test_add_func("/slc-demand/image", test_image);
    g_test_add_func("/slc-demand/fold-cut", test_fold_cut);
    g_test_add_func("/slc-demand/cut-modes", test_cut_modes);
    return g_test_run();
}
