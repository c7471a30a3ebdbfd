/*
 * Lines whose change no other test noticed (docs/mutation.md): at a bound, and
 * right beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hios.h"
#include "merges.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* Another drive that starts from an image of it. */
static Rig *reload(const Rig *rig, const char *scheme, const char *overrides)
{
    g_autofree char *description = g_test_build_filename(G_TEST_DIST,
                                                         "tiny.ini", NULL);
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    ScarpConfig config = { .description_path = description, .scheme = scheme,
                           .overrides = overrides, .seed = 1,
                           .store_data = true };
    Rig *again = g_new0(Rig, 1);

    close(g_file_open_tmp("scarp-XXXXXX", &path, NULL));
    config.image_path = path;
    g_assert_true(scarp_save(rig->drive, path, &error));
    again->drive = scarp_drive_new(&config, &error);
    g_assert_no_error(error);
    g_unlink(path);
    return again;
}

/* PreGC has asked all four dies, and none has work: it asks none again. */
static void test_pregc_tried(void)
{
    Rig *rig = rig_new("pregc", NULL, NULL);

    rig_write(rig, 0);
    rig_drain(rig);
    rig_free(reload(rig, "pregc", NULL));
    rig_free(rig);
}

/*
 * Looking ahead, t_page=0 leaves more to move than one idle time may: it ends
 * after as many pages as the blocks of t_block have.
 */
static void test_pregc_steps(void)
{
    /* 30 blocks of 8 pages: 0.3 of them are 72; 0.301 are more. */
    static const struct {
        const char *params;
        uint64_t steps;
    } cases[] = { { "t_block=300,t_page=0,look_ahead=1", 72 },
                  { "t_block=301,t_page=0,look_ahead=1", 73 } };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Rig *rig = rig_new("pregc", cases[i].params,
                           "geometry.channels=1,geometry.dies_per_chip=1,"
                           "geometry.blocks_per_plane=30,"
                           "geometry.pages_per_block=8,"
                           "ftl.over_provisioning_permille=400,"
                           "gc.trigger_free_blocks=1");

        rig_age(rig, 1000);
        rig_write(rig, 0);
        g_assert_cmpuint(rig_stats(rig)->premigrated_units, ==,
                         cases[i].steps);
        rig_free(rig);
    }
}

/*
 * 3000 units have three translation units of 1024 entries.  Aged by half, the
 * drive has written none of the last one's, which is not on flash either.
 */
static void test_demand_aged(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.mapping=demand");
    uint32_t first = inside_logical_units(rig->drive);

    g_assert_cmpuint(first, ==, 3000);
    rig_age(rig, 500);
    g_assert_cmpuint(inside_l2p(rig->drive, first), !=, INSIDE_NONE);
    g_assert_cmpuint(inside_l2p(rig->drive, first + 1), !=, INSIDE_NONE);
    g_assert_cmpuint(inside_l2p(rig->drive, first + 2), ==, INSIDE_NONE);
    rig_free(rig);
}

/*
 * The last of 16 entries is for the unit that asked first, whose translation
 * unit must be read; the second unit's need not be, as it holds nothing, but it
 * waits for an entry that leaves.  Both reads are at once, on two dies.  The
 * other way round one would come after the other.
 */
static void test_demand_first_come(void)
{
    Rig *rig = rig_new("baseline", NULL,
                       "ftl.mapping=demand,ftl.map_cache_bytes=128");
    ScarpCmd read = cmd_of(SCARP_OP_READ, 2047 * PAGE, 2 * PAGE);

    rig_age(rig, 500);
    rig_fill(rig, 0, 15);
    g_assert_cmpint(rig_do(rig, &read), ==, FW + CMD + TR + BUS + 2 * LINK);
    rig_free(rig);
}

/* What a die's collections need: a move of each valid page, and the erases. */
static void test_gc_remaining(gconstpointer overrides)
{
    Rig *rig = rig_new("baseline", NULL, overrides);
    bool copyback = strstr(overrides, "copyback");
    int64_t move_ns = TR + TPROG + 2 * (CMD + (copyback ? 0 : BUS));
    int64_t left_ns, should_ns = 0;
    uint64_t moved = 0;

    rig_age(rig, 900);
    scarp_collect_now(rig->drive, UINT32_MAX);
    left_ns = inside_gc_remaining_ns(rig->drive, 0);
    rig_drain(rig);
    for (unsigned i = 0; i < rig->n_runs; i++) {
        const ScarpGcRun *run = &rig->run[i];

        if (inside_plane_die(rig->drive, run->plane) == 0) {
            should_ns += run->moved_units * move_ns + TBERS;
            moved += run->moved_units;
        }
    }
    g_assert_cmpuint(moved, >, 0);
    g_assert_cmpint(left_ns, ==, should_ns);
    g_assert_cmpint(inside_gc_remaining_ns(rig->drive, 0), ==, 0);
    rig_free(rig);
}

/*
 * Superblocks with update blocks are in the order in which they were written,
 * not in that of their numbers, when a drive starts from an image.
 */
static void test_super_order(void)
{
    const char *overrides = ONE_PLANE ",ftl.mapping=superblock,"
                            "ftl.superblock_blocks=2,ftl.log_blocks=2";
    Rig *rig = rig_new("baseline", NULL, overrides), *again;

    rig_free(reload(rig, "baseline", overrides)); /* there are none */
    rig_fill(rig, 0, LOGICAL_BLOCKS * BLOCK_PAGES);
    write_offsets(rig, 2, "01"); /* superblock 1 */
    write_offsets(rig, 0, "01");
    again = reload(rig, "baseline", overrides);
    /* The third one needs an update block: the first one's is reclaimed. */
    write_offsets(rig, 4, "0");
    write_offsets(again, 4, "0");
    for (unsigned lpn = 0; lpn < LOGICAL_BLOCKS * BLOCK_PAGES; lpn++) {
        g_assert_cmpuint(inside_l2p(rig->drive, lpn), ==,
                         inside_l2p(again->drive, lpn));
    }
    g_assert_cmpuint(block_of(rig, 2, 2), ==, block_of(rig, 2, 0));
    g_assert_cmpuint(block_of(rig, 0, 2), !=, block_of(rig, 0, 0));
    rig_free(again);
    rig_free(rig);
}

static void deallocate_halves(Rig *rig, uint64_t first, uint64_t n)
{
    ScarpCmd cmd = cmd_of(SCARP_OP_DEALLOCATE, first * PAGE / 2, n * PAGE / 2);

    rig_do(rig, &cmd);
}

/*
 * A unit that a collection has read waits for another one, to fill its page.
 * When the host has deallocated all others, a page must be granted for it.
 */
static void test_round_staged(void)
{
    Rig *rig = rig_new("hios-1", NULL, ONE_PLANE ",ftl.unit_bytes=2048");
    ScarpCmd read = read_page(20);
    uint32_t erases;

    read.deadline_ns = 1; /* too late to carry anything of the round */
    /* Of block 0's four pages one unit of the first is left, and the second. */
    rig_fill(rig, 0, LOGICAL_BLOCKS * BLOCK_PAGES);
    deallocate_halves(rig, 1, 1);
    deallocate_halves(rig, 4, 4);
    g_assert_cmpuint(inside_valid(rig->drive, 0), ==, 3);
    g_assert_true(inside_open_round(rig->drive, 0, 0));
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 3);
    inside_grant(rig->drive, 0, 0, 1);
    rig_do(rig, &read); /* an idle die collects nothing */
    g_assert_cmpuint(rig_stats(rig)->gc_page_reads, ==, 1);
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 2);
    deallocate_halves(rig, 2, 2);
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 1);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 0);
    inside_grant(rig->drive, 0, 0, 1);
    rig_do(rig, &read);
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, ==, 1);
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 0);
    g_assert_cmpuint(erases, ==, 0);
    /* The erase is for the next round. */
    g_assert_true(inside_open_round(rig->drive, 0, 0));
    inside_round_left(rig->drive, 0, &erases);
    g_assert_cmpuint(erases, ==, 1);
    inside_grant(rig->drive, 0, 1, 0);
    rig_do(rig, &read);
    g_assert_cmpuint(rig_stats(rig)->erases, ==, 1);
    rig_free(rig);
}

/*
 * A round of two pages.  The first is deallocated while it moves: all that is
 * left of the round is on its way then.  When it turns out to move nothing, the
 * second page is still granted.
 */
static void test_round_again(void)
{
    Rig *rig = rig_new("hios-1", NULL, ONE_PLANE);
    ScarpCmd read = read_page(20), late = read_page(21), write = write_page(30);
    ScarpCmd gone = cmd_of(SCARP_OP_DEALLOCATE, 0, PAGE);
    uint32_t erases;

    read.deadline_ns = late.deadline_ns = 1; /* they carry nothing */
    rig_fill(rig, 0, LOGICAL_BLOCKS * BLOCK_PAGES);
    deallocate_halves(rig, 4, 4);
    g_assert_true(inside_open_round(rig->drive, 0, 0));
    inside_grant(rig->drive, 0, 0, 1);
    scarp_submit(rig->drive, &read, scarp_now_ns(rig->drive) + 1);
    while (!rig_stats(rig)->gc_page_reads) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    scarp_submit(rig->drive, &gone, scarp_now_ns(rig->drive));
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + FW + 1);
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 0);
    scarp_submit(rig->drive, &late, scarp_now_ns(rig->drive) + 1);
    rig_drain(rig);
    g_assert_cmpuint(inside_round_left(rig->drive, 0, &erases), ==, 1);
    g_assert_cmpuint(inside_valid(rig->drive, 0), ==, 1);
    rig_do(rig, &write);
    g_assert_cmpuint(inside_valid(rig->drive, 0), ==, 0);
    /* Both pages began to move, the deallocated one, too. */
    g_assert_cmpuint(rig_stats(rig)->gc_segments, ==, 2);
    rig_free(rig);
}

/* HIOS puts writes of whole units together: not one of a byte inside of one. */
static void test_part_of_unit(void)
{
    for (int part = 0; part < 2; part++) {
        Rig *rig = rig_new("hios-2", NULL,
                           "controller.slots=1,ftl.unit_bytes=1024");
        ScarpCmd first = write_page(4);
        ScarpCmd cmd[] = {
            cmd_of(SCARP_OP_WRITE, 0, 1024),
            cmd_of(SCARP_OP_WRITE, 1024 + part, part ? 1 : 1024),
        };

        scarp_submit(rig->drive, &first, 1);
        scarp_submit(rig->drive, &cmd[0], 1);
        scarp_submit(rig->drive, &cmd[1], 1);
        rig_drain(rig);
        g_assert_cmpuint(rig_stats(rig)->aggregated_writes, ==, !part);
        rig_free(rig);
    }
}

/*
 * 16 blocks of 256 pages, over-provisioned by as much as there is data: exactly
 * 8 logical blocks.  A page more would be another one.
 */
static void test_log_blocks(void)
{
    rig_free(rig_new("baseline", NULL,
                     ONE_PLANE ",geometry.pages_per_block=256,"
                     "ftl.mapping=block,ftl.log_blocks=7"));
}

/*
 * A write is late by its own time, not by that of reads: a younger one at a
 * lower address goes before it, and no law is broken.
 */
static void test_anticipatory_bound(void)
{
    Rig *rig = rig_new("anticipatory", "antic_us=0,read_expire_us=50",
                       "controller.slots=1");
    ScarpCmd cmd[] = { write_page(4), write_page(60), write_page(10) };

    for (size_t i = 0; i < G_N_ELEMENTS(cmd); i++) {
        scarp_submit(rig->drive, &cmd[i], 1);
    }
    rig_drain(rig);
    g_assert_cmpint(cmd[0].complete_ns, >, 1 + 50000);
    g_assert_cmpint(cmd[2].complete_ns, <, cmd[1].complete_ns);
    rig_free(rig);
}

/*
 * Two planes, both due, and a round of the first one.  A write to the second
 * one needs a round of its own, and is passed over while there is time: not
 * when the slot is free at the last moment at which it can begin.
 */
static void test_hios_last_moment(void)
{
    for (int early = 0; early < 2; early++) {
        Rig *rig = rig_new("hios-1", "margin_us=0,accumulate_us=0",
                           "geometry.channels=1,geometry.dies_per_chip=1,"
                           "geometry.planes_per_die=2,"
                           "geometry.blocks_per_plane=16,"
                           "geometry.pages_per_block=8,"
                           "ftl.over_provisioning_permille=1000,"
                           "gc.trigger_free_blocks=5,controller.slots=1");
        ScarpCmd read, cmd[3] = { write_page(100), write_page(101), write_page(102) };
        int64_t at;

        rig_fill(rig, 0, 128);
        for (unsigned i = 0; inside_free_blocks(rig->drive, 0) > 5 ||
                             inside_free_blocks(rig->drive, 1) > 5; i++) {
            rig_write(rig, i * 7 % 128);
        }
        scarp_stats_reset(rig->drive);
        at = begin_busy(rig, &read, 60);
        /* It leaves no room for a segment of the first one's. */
        cmd[1].deadline_ns = at + 2 * OWN + early;
        for (int c = 0; c < 3; c++) {
            scarp_submit(rig->drive, &cmd[c], scarp_now_ns(rig->drive));
        }
        rig_drain(rig);
        g_assert_cmpint(cmd[0].complete_ns, ==, at + OWN);
        g_assert_cmpuint(rig_stats(rig)->passed_to_next_round, ==, early);
        g_assert_cmpint(cmd[1].complete_ns < cmd[2].complete_ns, ==, !early);
        rig_free(rig);
    }
}

/* FAST opens no log block where that would be the last free one. */
static void test_fast_last_free(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_PLANE ",ftl.mapping=fast");
    uint32_t was_free;

    rig_fill(rig, 0, LOGICAL_BLOCKS * BLOCK_PAGES);
    was_free = inside_free_blocks(rig->drive, 0);
    inside_set_free_blocks(rig->drive, 0, 2);
    g_assert_true(inside_has_page(rig->drive, 0, 1));
    inside_set_free_blocks(rig->drive, 0, 1);
    g_assert_false(inside_has_page(rig->drive, 0, 1));
    inside_set_free_blocks(rig->drive, 0, was_free);
    rig_free(rig);
}

/* A plane that collects page by page has one page on its way, or none. */
static void test_gc_coming(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    uint32_t most = 0;

    rig_age(rig, 900);
    scarp_collect_now(rig->drive, UINT32_MAX);
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
        most = MAX(most, inside_gc_coming(rig->drive, 0));
    }
    g_assert_cmpuint(rig_stats(rig)->gc_page_programs, >, 0);
    g_assert_cmpuint(most, ==, 1);
    g_assert_cmpuint(inside_gc_coming(rig->drive, 0), ==, 0);
    rig_free(rig);
}

/* A record says of 512 units when they were deallocated: these are in two. */
static void test_two_records(void)
{
    Rig *rig = rig_new("baseline", NULL, "ftl.recovery=2");
    ScarpCmd trim = cmd_of(SCARP_OP_DEALLOCATE, 510 * PAGE, 4 * PAGE);

    rig_fill(rig, 510, 4);
    rig_do(rig, &trim);
    g_assert_cmpuint(rig_stats(rig)->deallocated_units, ==, 4);
    g_assert_cmpuint(rig_stats(rig)->record_writes, ==, 2);
    rig_free(rig);
}

/*
 * Twice as many blocks of half as many pages have as many units, and 256 blocks
 * more.  Of each there are 24 bytes: when it was opened (8), where its contents
 * are (8), its erases (4), its pages (2) and who opened it (2).  A drive of
 * blocks that are not counted would start where the memory is too small for it.
 */
static void test_memory_of_blocks(void)
{
    Rig *few = rig_new("baseline", NULL, NULL);
    Rig *many = rig_new("baseline", NULL, "geometry.blocks_per_plane=128,"
                                          "geometry.pages_per_block=8");

    g_assert_cmpuint(inside_blocks(many->drive), ==,
                     inside_blocks(few->drive) + 256);
    g_assert_cmpuint(inside_cells_bytes(many->drive), ==,
                     inside_cells_bytes(few->drive) + 256 * 24);
    rig_free(few);
    rig_free(many);
}

static unsigned stock(ScarpDrive *drive)
{
    unsigned n = 0;

    while (scarp_stock_memory(drive)) {
        n++;
    }
    return n;
}

/* What is stocked is bounded, is what writes then take, and no data is lost. */
static void test_stock(void)
{
    Rig *rig = rig_new("baseline", NULL, NULL);
    g_autofree char *data = g_malloc(PAGE), *back = g_malloc(PAGE);
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = "baseline",
    };
    ScarpDrive *replay = scarp_drive_new(&config, NULL);

    g_assert_cmpuint(stock(replay), ==, 0);
    scarp_drive_free(replay);

    g_assert_cmpuint(stock(rig->drive), ==, 4096);
    for (unsigned page = 0; page < 3; page++) {
        ScarpCmd cmd = write_page(page);

        memset(data, 'a' + page, PAGE);
        cmd.data = data;
        rig_do(rig, &cmd);
    }
    g_assert_cmpuint(stock(rig->drive), ==, 3);
    for (unsigned page = 0; page < 3; page++) {
        ScarpCmd cmd = read_page(page);

        cmd.data = back;
        rig_do(rig, &cmd);
        memset(data, 'a' + page, PAGE);
        g_assert_cmpmem(data, PAGE, back, PAGE);
    }
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/edges/pregc/tried", test_pregc_tried);
    g_test_add_func("/edges/pregc/steps", test_pregc_steps);
    g_test_add_func("/edges/demand/aged", test_demand_aged);
    g_test_add_func("/edges/demand/first-come", test_demand_first_come);
    g_test_add_data_func("/edges/gc-remaining/pages", "", test_gc_remaining);
    g_test_add_data_func("/edges/gc-remaining/copyback", "nand.copyback=1",
                         test_gc_remaining);
    g_test_add_data_func("/edges/gc-remaining/planes",
                         "geometry.planes_per_die=2", test_gc_remaining);
    g_test_add_func("/edges/superblock/order", test_super_order);
    g_test_add_func("/edges/redistributed/staged", test_round_staged);
    g_test_add_func("/edges/redistributed/again", test_round_again);
    g_test_add_func("/edges/hios/part-of-unit", test_part_of_unit);
    g_test_add_func("/edges/description/log-blocks", test_log_blocks);
    g_test_add_func("/edges/anticipatory/bound", test_anticipatory_bound);
    g_test_add_func("/edges/hios/last-moment", test_hios_last_moment);
    g_test_add_func("/edges/fast/last-free", test_fast_last_free);
    g_test_add_func("/edges/gc-coming", test_gc_coming);
    g_test_add_func("/edges/records/two", test_two_records);
    g_test_add_func("/edges/memory-of-blocks", test_memory_of_blocks);
    g_test_add_func("/edges/stock", test_stock);
    return g_test_run();
}
