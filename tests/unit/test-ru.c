/*
 * Reclaim units of several planes: the order in which they are written, how
 * they are collected, and what is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <glib/gstdio.h>

/* tiny.ini has four dies of one plane, of 64 blocks of 16 pages. */
#define UNITS_OF_2 "ftl.reclaim_planes=2,controller.buffer_bytes=16384"
#define UNITS_OF_4 "ftl.reclaim_planes=4"
/* Eight planes, and pages of four mapping units. */
#define UNITS_OF_8 "ftl.reclaim_planes=8,geometry.planes_per_die=2," \
    "ftl.unit_bytes=1024"

enum { PAGES = 16, PLANES = 4, BLOCKS = 64 };

/* ---- Order -------------------------------------------------------------- */

/* The planes take turns in the order of ftl.allocation, whatever is written. */
static void test_stripe_order(void)
{
    static const unsigned dies[] = { 0, 2, 1, 3 };
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4);

    for (unsigned i = 0; i < 4 * PLANES * PAGES; i++) {
        const ScarpFlashOp *op;

        rig_write(rig, i * 7 % 100);
        op = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST, i);
        g_assert_cmpuint(op->die, ==, dies[i % PLANES]);
        g_assert_cmpuint(op->page, ==, i / PLANES % PAGES);
    }
    rig_free(rig);
}

/* Another order of ftl.allocation is another order of the stripe. */
static void test_stripe_order_of_key(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.allocation=dwcp");

    for (unsigned i = 0; i < 2 * PLANES * PAGES; i++) {
        rig_write(rig, i % 3);
        g_assert_cmpuint(rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                                i)->die, ==, i % PLANES);
    }
    rig_free(rig);
}

/* Two groups of planes take turns page by page, each with a unit open. */
static void test_groups_take_turns(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_2);

    for (unsigned i = 0; i < 64; i++) {
        ScarpCmd cmd = write_page(i), flush = cmd_of(SCARP_OP_FLUSH, 0, 0);

        rig_do(rig, &cmd);
        rig_do(rig, &flush);
        g_assert_cmpuint(rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST,
                                i)->die / 2, ==, i % 2);
    }
    rig_free(rig);
}

/* A handle has units of its own, and its own place in the stripe. */
static void test_streams_have_units(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.streams=2");

    for (unsigned i = 0; i < 40; i++) {
        ScarpCmd cmd = write_page(i);
        const ScarpFlashOp *op;

        cmd.stream = i % 2;
        rig_do(rig, &cmd);
        op = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST, i);
        g_assert_cmpuint(op->page, ==, i / 2 / PLANES);
        g_assert_cmpuint(op->block % BLOCKS, ==, i % 2);
    }
    rig_free(rig);
}

/* 32 streams, half of them isolated, have units of their own. */
static void test_many_streams(void)
{
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.streams=32,"
                       "ftl.isolated_streams=16,"
                       "geometry.blocks_per_plane=160,"
                       "ftl.over_provisioning_permille=1500");

    for (unsigned i = 0; i < 32 * 70; i++) {
        ScarpCmd cmd = write_page(i % 1000);
        const ScarpFlashOp *op;

        cmd.stream = i % 32;
        rig_do(rig, &cmd);
        op = rig_op(rig, SCARP_FLASH_PROGRAM, SCARP_ORIGIN_HOST, i);
        g_assert_cmpuint(inside_stream(rig->drive, op->block), ==, i % 32);
        g_assert_cmpuint(op->page, ==, i / 32 / PLANES % PAGES);
    }
    rig_free(rig);
}

/* ---- Collections -------------------------------------------------------- */

static void write_random(Rig *rig, unsigned n)
{
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    ScarpCmd cmds[32];

    for (unsigned i = 0; i < n; i += G_N_ELEMENTS(cmds)) {
        for (unsigned j = 0; j < G_N_ELEMENTS(cmds); j++) {
            cmds[j] = write_page(g_rand_int_range(rand, 0, pages));
            scarp_submit(rig->drive, &cmds[j], scarp_now_ns(rig->drive) + 1);
        }
        rig_drain(rig);
    }
}

/*
 * A victim is collected in all planes of its group before the next one: of each
 * `planes` collections that end in the group, each is of another plane.
 */
static void collected_together(const char *overrides, unsigned planes,
                               unsigned groups)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    g_autofree uint64_t *seen = g_new0(uint64_t, groups);

    rig_age(rig, 1000);
    write_random(rig, 3000);
    g_assert_cmpuint(rig->n_runs, >, 10 * planes * groups);
    for (unsigned i = 0; i < rig->n_runs; i++) {
        unsigned group = rig->run[i].plane / planes;
        uint64_t bit = 1ull << (rig->run[i].plane % planes);

        g_assert_false(seen[group] & bit);
        seen[group] |= bit;
        if (seen[group] == (1ull << planes) - 1) {
            seen[group] = 0;
        }
    }
    for (unsigned g = 0; g < groups; g++) {
        g_assert_cmpuint(seen[g], ==, 0); /* the drive is at rest */
    }
    rig_free(rig);
}

static void test_collected_together(void)
{
    collected_together(UNITS_OF_4, 4, 1);
    collected_together(UNITS_OF_2, 2, 2);
    collected_together(UNITS_OF_8, 8, 1);
    collected_together(UNITS_OF_8 ",ftl.reclaim_planes=2,"
                       "controller.buffer_bytes=16384", 2, 4);
}

/*
 * A unit is free when its last block is erased. Plane 0 has fewer good blocks
 * than the others, so the group's free units are those of plane 0 as long as no
 * victim has lost its block there alone.
 */
static void test_free_when_erased(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       UNITS_OF_4 ",nand.endurance_erases=100000");
    uint32_t bad;

    rig_age(rig, 1000);
    for (uint32_t b = 0; b < 8; b++) {
        inside_set_erases(rig->drive, b, 100000);
    }
    write_random(rig, 3000);
    bad = inside_bad_blocks(rig->drive, 0);
    g_assert_cmpuint(bad, >, 0);
    for (uint32_t p = 1; p < PLANES; p++) {
        g_assert_cmpuint(inside_bad_blocks(rig->drive, p), ==, 0);
        g_assert_cmpuint(inside_erased_blocks(rig->drive, p), >=,
                         inside_erased_blocks(rig->drive, 0));
    }
    write_random(rig, 3000);
    rig_free(rig);
}

/*
 * A collection gains a page, though each of its jobs may leave its last page of
 * copies partly filled. The oldest units have a stale mapping unit in the last
 * page of each block: four in all, but each job's last page has three copies,
 * so that the copies fill a whole unit. Such units are left alone.
 */
static void test_gains(void)
{
    enum { UNITS = 20, HOT = UNITS * PLANES * PAGES };
    Rig *rig = rig_new("fifo", NULL, UNITS_OF_4 ",ftl.unit_bytes=1024");

    rig_fill(rig, 0, HOT);
    for (unsigned i = 0; i < UNITS; i++) {
        for (unsigned p = 0; p < PLANES; p++) {
            uint64_t page = (i + 1) * PLANES * PAGES - PLANES + p;
            ScarpCmd cmd = cmd_of(SCARP_OP_WRITE, page * PAGE, 1024);

            rig_do(rig, &cmd);
        }
    }
    for (unsigned i = 0; rig->n_runs < PLANES; i++) {
        g_assert_cmpuint(i, <, BLOCKS * PLANES * PAGES);
        rig_write(rig, HOT + i % (PLANES * PAGES));
    }
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, <, PLANES * PAGES);
    rig_free(rig);
}

/* Copies fill their own units, page by page round the planes. */
static void test_copies_in_stripe_order(void)
{
    static const unsigned dies[] = { 0, 2, 1, 3 };
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4);
    unsigned n[PLANES] = { 0 }, all = 0;

    rig_age(rig, 1000);
    write_random(rig, 2000);
    for (unsigned i = 0; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->kind == SCARP_FLASH_PROGRAM && op->origin == SCARP_ORIGIN_GC &&
            op->phase == SCARP_PHASE_ARRAY) {
            n[op->die]++;
            all++;
        }
    }
    g_assert_cmpuint(all, >, 500);
    for (unsigned i = 0; i < PLANES; i++) {
        g_assert_cmpuint(n[dies[i]], >=, all / PLANES);
        g_assert_cmpuint(n[dies[i]], <=, all / PLANES + 1);
    }
    rig_free(rig);
}

/*
 * Two streams write at random to a half of the drive each. Returns how many
 * full blocks of copies have data of stream 1 (`alone`), and how many of these
 * have data of stream 0, too (`mixed`).
 */
static void copy_streams(const char *overrides, unsigned *alone,
                         unsigned *mixed)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    uint32_t pages = scarp_drive_logical_bytes(rig->drive) / PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);

    *alone = *mixed = 0;
    for (unsigned i = 0; i < 6 * pages; i++) {
        ScarpCmd cmd = write_page(i < pages ? i * 7 % pages
                                      : g_rand_int(rand) % pages);

        cmd.stream = cmd.offset_bytes / PAGE >= pages / 2;
        rig_do(rig, &cmd);
    }
    rig_drain(rig);
    for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
        bool has[2] = { false, false };

        if (inside_origin(rig->drive, b) != SCARP_ORIGIN_GC) {
            continue;
        }
        for (uint32_t i = 0; i < PAGES; i++) {
            uint32_t ppn = b * PAGES + i;

            if (inside_is_valid(rig->drive, ppn)) {
                has[inside_lpn(rig->drive, ppn) >= pages / 2] = true;
            }
        }
        *alone += has[1];
        *mixed += has[0] && has[1];
    }
    g_assert_cmpuint(rig_stats(rig)->gc_moved_units, >, pages / 2);
    rig_free(rig);
}

/* Copies of a persistently isolated stream meet no others'; of others, all. */
static void test_isolated(void)
{
    unsigned alone, mixed;

    copy_streams(UNITS_OF_4 ",ftl.streams=2", &alone, &mixed);
    g_assert_cmpuint(mixed, >, 20);
    copy_streams(UNITS_OF_4 ",ftl.streams=2,ftl.isolated_streams=1", &alone,
                 &mixed);
    g_assert_cmpuint(alone, >, 20);
    g_assert_cmpuint(mixed, ==, 0);
    copy_streams(UNITS_OF_2 ",ftl.streams=2,ftl.isolated_streams=2", &alone,
                 &mixed);
    g_assert_cmpuint(alone, >, 20);
    g_assert_cmpuint(mixed, ==, 0);
}

/* scarp_check() can fail: each law of units, broken by hand. */
static void test_laws(void)
{
    bool more = true;
    unsigned law;

    for (law = 0; more; law++) {
        Rig *rig = rig_new("baseline", NULL, UNITS_OF_4);
        g_autoptr(GError) error = NULL;
        const char *says;

        rig_age(rig, 1000);
        rig_write(rig, 0); /* a unit is open */
        g_assert_true(scarp_check(rig->drive, &error));
        says = inside_break_units(rig->drive, law);
        more = says;
        g_assert_true(scarp_check(rig->drive, &error) == !more);
        if (more) {
            g_test_message("%s", error->message);
            g_assert_nonnull(strstr(error->message, says));
        }
        scarp_drive_free(rig->drive);
        g_free(rig);
    }
    g_assert_cmpuint(law, ==, 25);
}

/* ---- What is refused ---------------------------------------------------- */

static void refused(const char *scheme, const char *overrides, const char *says)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);
    ScarpConfig config = { .description_path = path, .scheme = scheme,
                           .overrides = overrides, .seed = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_null(scarp_drive_new(&config, &error));
    if (!strstr(error->message, says) || strchr(error->message, '\n')) {
        g_error("'%s' does not say '%s'", error->message, says);
    }
}

static void test_refused(void)
{
    refused("baseline", "ftl.reclaim_planes=0", "from 1 to");
    refused("baseline", "ftl.reclaim_planes=3",
            "ftl.reclaim_planes=3: must be 1, or a multiple of "
            "geometry.planes_per_die that divides the drive's planes");
    refused("baseline", "ftl.reclaim_planes=8", "divides the drive's planes");
    refused("baseline", "geometry.planes_per_die=4,ftl.reclaim_planes=2",
            "a multiple of geometry.planes_per_die");
    refused("baseline", UNITS_OF_4 ",ftl.mapping=demand", "ftl.mapping=page");
    refused("baseline", UNITS_OF_4 ",ftl.parity_width=2",
            "ftl.parity_width=0");
    refused("baseline", UNITS_OF_4 ",nand.power_cuts=1,ftl.recovery=1,"
            "nand.cell_bits=2,ftl.paired_pages=pad",
            "ftl.paired_pages other than pad");
    refused("baseline", UNITS_OF_4 ",ftl.allocation=dynamic",
            "an order of c, w, d, p");
    refused("baseline", UNITS_OF_4 ",gc.separate_active_block=0",
            "needs gc.separate_active_block=1");
    refused("baseline", UNITS_OF_4 ",nand.copyback=1", "nand.copyback=0");
    refused("baseline", "ftl.reclaim_planes=2", "controller.buffer_bytes");
    refused("baseline", UNITS_OF_4 ",nand.cell_bits=2,slc.dynamic=1,"
            "timing.slc_read_ns=1,timing.slc_program_ns=1,"
            "timing.slc_erase_ns=1", "without an SLC cache");
    refused("baseline", UNITS_OF_4 ",ftl.streams=8,"
            "ftl.over_provisioning_permille=100", "spare blocks of a plane");
    refused("baseline", "ftl.streams=9",
            "ftl.streams=9: above 8 it needs ftl.reclaim_planes above 1");
    refused("baseline", "ftl.streams=2,ftl.isolated_streams=1",
            "ftl.isolated_streams=1: needs ftl.reclaim_planes above 1");
    refused("baseline", UNITS_OF_4 ",ftl.streams=2,ftl.isolated_streams=3",
            "ftl.isolated_streams=3: at most ftl.streams are allowed");
}

/* Schemes that need the plane of a block, of a unit or of a write. */
static void test_refused_schemes(void)
{
    static const struct {
        const char *scheme, *says;
    } cases[] = {
        { "static", "ftl.reclaim_planes=1" },
        { "dynamic", "ftl.reclaim_planes=1" },
        { "in-plane", "ftl.reclaim_planes=1" },
        { "copyback", "ftl.reclaim_planes=1" },
        { "in-channel", "ftl.reclaim_planes=1" },
        { "global", "ftl.reclaim_planes=1" },
        { "gc-z", "ftl.reclaim_planes=1" },
        { "paragc", "ftl.reclaim_planes=1" },
        { "pregc", "ftl.reclaim_planes=1" },
        { "ideal", "ftl.reclaim_planes=1" },
        { "gc-par", "ftl.reclaim_planes=1" },
        { "gc-vic", "ftl.reclaim_planes=1" },
        { "hios-1", "write allocation by address" },
        { "hios-2", "write allocation by address" },
        { "ttflash", "a drive with parity" },
    };
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_8);

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_false(scarp_drive_set_scheme(rig->drive, cases[i].scheme,
                                              NULL, &error));
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
    rig_free(rig);
}

/* ---- Images ------------------------------------------------------------- */

/* A drive with fewer streams closes the open units of those that it lacks. */
static void test_image_fewer_streams(void)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "ru-XXXXXX",
                                             NULL);
    Rig *rig = rig_new("baseline", NULL, UNITS_OF_4 ",ftl.streams=3");
    ScarpConfig config = { .image_path = path, .scheme = "baseline",
                           .overrides = "ftl.streams=1", .seed = 1 };
    g_autoptr(GError) error = NULL;
    ScarpDrive *other;
    uint32_t open;
    int file = g_mkstemp(path);

    g_assert_cmpint(file, !=, -1);
    g_close(file, NULL);
    for (unsigned i = 0; i < 30; i++) {
        ScarpCmd cmd = write_page(i);

        cmd.stream = i % 3;
        rig_do(rig, &cmd);
    }
    open = inside_full_blocks(rig->drive, 0);
    g_assert_true(scarp_save(rig->drive, path, &error));
    other = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    /* a unit's pages lie in the order of ftl.allocation */
    config.overrides = "ftl.allocation=dcwp";
    g_assert_null(scarp_drive_new(&config, &error));
    g_assert_nonnull(strstr(error->message, "the drive ftl.allocation=dcwp"));
    g_clear_error(&error);
    g_unlink(path);
    g_assert_true(scarp_check(other, &error));
    g_assert_cmpuint(inside_full_blocks(other, 0), ==, open + 2);
    g_assert_true(scarp_is_mapped(other, 0, 30 * PAGE));
    scarp_drive_free(other);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ru/stripe-order", test_stripe_order);
    g_test_add_func("/ru/stripe-order-of-key", test_stripe_order_of_key);
    g_test_add_func("/ru/groups-take-turns", test_groups_take_turns);
    g_test_add_func("/ru/streams-have-units", test_streams_have_units);
    g_test_add_func("/ru/many-streams", test_many_streams);
    g_test_add_func("/ru/collected-together", test_collected_together);
    g_test_add_func("/ru/free-when-erased", test_free_when_erased);
    g_test_add_func("/ru/gains", test_gains);
    g_test_add_func("/ru/copies-in-stripe-order", test_copies_in_stripe_order);
    g_test_add_func("/ru/isolated", test_isolated);
    g_test_add_func("/ru/laws", test_laws);
    g_test_add_func("/ru/refused", test_refused);
    g_test_add_func("/ru/refused-schemes", test_refused_schemes);
    g_test_add_func("/ru/image-fewer-streams", test_image_fewer_streams);
    return g_test_run();
}
