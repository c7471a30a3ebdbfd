/*
 * ftl.mapping=demand: blocks of translation units are few, and writing these
 * and collecting those go on for ever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/* A plane's translation units fill several blocks; the cache is the least. */
#define SMALL "ftl.mapping=demand,ftl.map_cache_bytes=128," \
              "geometry.channels=1,geometry.dies_per_chip=1," \
              "geometry.page_bytes=512"
#define SMALL_PAGE 512
#define MOST_AT_ONCE 64

/* With this, what is pending has ended, or it never will. */
#define LONG_NS (100ll * 1000 * 1000 * 1000)

typedef struct {
    const char *scheme, *overrides;
    unsigned at_once, writes, pages; /* pages: of a write */
} Load;

typedef struct {
    ScarpCmd cmd;
    bool busy;
} Slot;

static Rig *full(const char *scheme, const char *overrides)
{
    g_autofree char *all = g_strconcat(SMALL, overrides, NULL);
    Rig *rig = rig_new(scheme, NULL, all);

    rig_age(rig, 1000);
    return rig;
}

static unsigned reap(Rig *rig)
{
    ScarpCmd *cmd;
    unsigned n = 0;

    while ((cmd = scarp_reap(rig->drive))) {
        Slot *slot = cmd->opaque;

        latency(cmd);
        slot->busy = false;
        n++;
    }
    return n;
}

/* A full drive is written at random, so many commands at once. */
static void write_all_over(gconstpointer opaque)
{
    const Load *load = opaque;
    Rig *rig = full(load->scheme, load->overrides);
    uint32_t pages = scarp_drive_logical_bytes(rig->drive) / SMALL_PAGE;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    unsigned sent = 0, done = 0;
    Slot slot[MOST_AT_ONCE] = { 0 };
    int64_t end_ns;

    while (done < load->writes) {
        for (unsigned i = 0; i < load->at_once && sent < load->writes; i++) {
            uint64_t page = g_rand_int_range(rand, 0, pages - load->pages);

            if (!slot[i].busy) {
                slot[i].cmd = cmd_of(SCARP_OP_WRITE, page * SMALL_PAGE,
                                     load->pages * SMALL_PAGE);
                slot[i].cmd.opaque = &slot[i];
                slot[i].busy = true;
                scarp_submit(rig->drive, &slot[i].cmd,
                             scarp_now_ns(rig->drive));
                sent++;
            }
        }
        g_assert_cmpint(scarp_next_event_ns(rig->drive), !=, SCARP_TIME_NEVER);
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        done += reap(rig);
    }
    end_ns = scarp_now_ns(rig->drive) + LONG_NS;
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        g_assert_cmpint(scarp_now_ns(rig->drive), <, end_ns);
    }
    rig_free(rig);
}

static const struct {
    const char *path;
    Load load;
} loads[] = {
    /* The last page of the block that their collection needs was taken. */
    { "/mapping/demand/space/pgc", {
        "pgc", ",geometry.blocks_per_plane=512", 16, 200, 4 } },
    { "/mapping/demand/space/pgc-planes", {
        "pgc", ",geometry.blocks_per_plane=256,geometry.planes_per_die=2", 16,
        200, 4 } },
    { "/mapping/demand/space/gc-par+pgc", {
        "gc-par+pgc",
        ",geometry.blocks_per_plane=512,geometry.planes_per_die=2", 16, 200,
        4 } },
    { "/mapping/demand/space/gftl", {
        "gftl", ",geometry.blocks_per_plane=512", 16, 200, 4 } },
};

/*
 * A drive that is half empty has nothing to collect but translation units.
 * Once pagc's siblings took part, which changed entries: so the next collection
 * was due, and with levelling of wear there was no end.
 */
static void test_alone(void)
{
    Rig *rig = rig_new("pagc", NULL,
                       SMALL ",geometry.planes_per_die=4,"
                       "geometry.blocks_per_plane=256,"
                       "geometry.pages_per_block=4");
    uint64_t pages = scarp_drive_logical_bytes(rig->drive) / SMALL_PAGE;
    ScarpAge age = { .utilisation_permille = 500, .pattern = "sequential" };
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autoptr(GError) error = NULL;

    g_assert_true(scarp_age(rig->drive, &age, &error));
    for (unsigned i = 0; i < 150; i++) {
        ScarpCmd cmd = cmd_of(SCARP_OP_WRITE,
                              g_rand_int_range(rand, 0, pages / 2) *
                                  (uint64_t)SMALL_PAGE, SMALL_PAGE);

        scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
        while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
            scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
            for (uint32_t p = 0; p < inside_planes(rig->drive); p++) {
                g_assert_cmpuint(inside_free_for_data(rig->drive, p), >, 3);
                g_assert_false(inside_collects_data(rig->drive, p));
            }
        }
        g_assert_true(scarp_reap(rig->drive) == &cmd);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_runs, >, 0);
    rig_free(rig);
}

static bool begins(Rig *rig, uint32_t plane)
{
    uint32_t per_plane = inside_blocks_per_plane(rig->drive);

    return inside_begins(rig->drive, plane, (plane + 1) * per_plane - 1);
}

/*
 * The plane that was refused has a turn: once as many collections as there are
 * planes have begun, no other may begin before it.  It is one turn.  When its
 * program still waits after it, as the victim has not yielded a page, the
 * others begin as before.
 */
static void test_one_turn(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.mapping=demand");
    uint32_t planes = inside_planes(rig->drive), was_erased, kept;
    ScarpCmd cmd[2] = { write_page(15 * 4), write_page(16 * 4) };

    /* The last page of plane 0's block is programmed, and one more waits. */
    for (unsigned i = 0; i < 15; i++) {
        rig_write(rig, i * 4);
    }
    scarp_submit(rig->drive, &cmd[0], scarp_now_ns(rig->drive));
    scarp_submit(rig->drive, &cmd[1], scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TPROG / 2);
    g_assert_cmpuint(inside_queued_programs(rig->drive, 0), ==, 1);
    was_erased = inside_erased_blocks(rig->drive, 0);
    kept = was_erased - inside_free_for_data(rig->drive, 0);
    inside_set_free_blocks(rig->drive, 0, kept + 1); /* the last is GC's */

    inside_set_changes(rig->drive, true);
    g_assert_false(begins(rig, 0));
    inside_set_changes(rig->drive, false);
    for (uint32_t i = 0; i < planes; i++) {
        g_assert_true(begins(rig, 1));
    }
    g_assert_false(begins(rig, 1));
    g_assert_true(begins(rig, 0));
    for (uint32_t i = 0; i < 2 * planes; i++) {
        g_assert_true(begins(rig, 1));
    }

    inside_set_no_changes(rig->drive);
    inside_set_free_blocks(rig->drive, 0, was_erased);
    rig_drain(rig);
    latency(&cmd[1]);
    rig_free(rig);
}

/*
 * When no block of translation units is open, and all of a plane's but one are
 * full, collecting the one with the least valid units yields a page, wherever
 * they lie.  Ageing writes each of them once, and leaves two blocks.
 */
static void test_enough(void)
{
    static const unsigned pages[] = { 2, 3, 4, 8, 31, 64, 256 };
    static const unsigned blocks[] = { 64, 150, 512, 2048 };
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tiny.ini",
                                                  NULL);

    for (unsigned i = 0; i < 4 * 7 * 7 * 7; i++) {
        unsigned unit = 512 << i % 7, in_page = 1 << i / 7 % 7;
        g_autofree char *overrides = g_strdup_printf(
            "ftl.mapping=demand,ftl.unit_bytes=%u,geometry.page_bytes=%u,"
            "geometry.pages_per_block=%u,geometry.blocks_per_plane=%u,"
            "ftl.over_provisioning_permille=9000", unit, unit * in_page,
            pages[i / 49 % 7], blocks[i / 343]);
        InsideTranslation is;

        if (unit * in_page > 32768) {
            continue;
        }
        is = inside_translation(path, overrides);
        g_assert_cmpuint(is.units, <, (is.blocks - 1) *
                                          (is.block_units - in_page + 1));
        g_assert_cmpuint((is.units + in_page - 1) / in_page * in_page, <=,
                         (is.blocks - 2) * is.block_units);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_test_add_data_func(loads[i].path, &loads[i].load, write_all_over);
    }
    g_test_add_func("/mapping/demand/space/alone", test_alone);
    g_test_add_func("/mapping/demand/space/enough", test_enough);
    g_test_add_func("/mapping/demand/space/one-turn", test_one_turn);
    return g_test_run();
}
