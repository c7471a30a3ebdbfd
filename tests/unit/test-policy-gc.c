/*
 * Where the thresholds of GC's policies lie, to the block, the page, the read
 * and the nanosecond: what they do at a threshold, and right beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

/* Logical page i, written in order, is page i % 8 of block i / 8. */
#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.pages_per_block=8"
#define MOVE (CMD + TR + BUS + CMD + BUS + TPROG)

static uint64_t n_pages(const Rig *rig)
{
    return scarp_drive_logical_bytes(rig->drive) / PAGE;
}

/* ---- Cost-benefit -------------------------------------------------------- */

/* Overwrites n pages of a block that was filled in order; when the last ended. */
static int64_t overwrite(Rig *rig, uint32_t block, unsigned n)
{
    ScarpCmd cmd;

    for (unsigned i = 0; i < n; i++) {
        cmd = write_page(block * 8 + i);
        rig_do(rig, &cmd);
    }
    return cmd.complete_ns;
}

/*
 * Age × (n - v) / v, where age is a nanosecond at least: with 4 of 8 valid it
 * is the age, with 6 a third of it.  Of equals, the one with less to move.
 */
static void test_cost_benefit_tie(void)
{
    Rig *rig = rig_new("cost-benefit", NULL, ONE_PLANE);
    int64_t old_ns, new_ns, equal_ns;

    rig_fill(rig, 0, n_pages(rig));
    old_ns = overwrite(rig, 3, 2);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + 20 * TPROG);
    new_ns = overwrite(rig, 7, 4);
    /* t - new + 1 = (t - old + 1) / 3 */
    equal_ns = (3 * new_ns - old_ns) / 2 - 1;
    if ((3 * new_ns - old_ns) % 2) {
        g_assert_not_reached();
    }
    g_assert_cmpint(equal_ns, >, new_ns);
    scarp_run(rig->drive, equal_ns - 1);
    g_assert_cmpuint(inside_choose_victim(rig->drive, 0), ==, 3);
    scarp_run(rig->drive, equal_ns);
    g_assert_cmpint(scarp_now_ns(rig->drive), ==, equal_ns);
    g_assert_cmpuint(inside_choose_victim(rig->drive, 0), ==, 7);
    scarp_run(rig->drive, equal_ns + 1);
    g_assert_cmpuint(inside_choose_victim(rig->drive, 0), ==, 7);
    rig_free(rig);
}

/* ---- PreGC ---------------------------------------------------------------- */

static struct {
    Rig *rig;
    unsigned t_block, t_page; /* blocks; pages */
    bool look_ahead;
    unsigned steps, at_edge;
} pregc;

/* Full blocks that have no more than T_page to move. */
static unsigned prepared_blocks(const ScarpDrive *drive)
{
    unsigned n = 0;

    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        n += inside_is_full(drive, b) && inside_valid(drive, b) <= pregc.t_page;
    }
    return n;
}

/* What is compared with T_block. */
static unsigned ready_blocks(const ScarpDrive *drive)
{
    return inside_free_blocks(drive, 0) +
           (pregc.look_ahead ? prepared_blocks(drive) : 0);
}

static void pregc_step(void *opaque G_GNUC_UNUSED, const ScarpFlashOp *op)
{
    const ScarpDrive *drive = pregc.rig->drive;
    unsigned ready;

    if (op->origin != SCARP_ORIGIN_PREMIGRATE ||
        op->kind != SCARP_FLASH_READ || op->phase != SCARP_PHASE_IN) {
        return;
    }
    /* A step has begun: while fewer are ready, of a block that is not. */
    ready = ready_blocks(drive);
    g_assert_cmpuint(ready, <, pregc.t_block);
    g_assert_cmpuint(inside_valid(drive, op->block), >, pregc.t_page);
    g_assert_cmpuint(inside_free_blocks(drive, 0), >=, 2);
    if (!pregc.look_ahead) { /* of the greedy victim, and of no second one */
        g_assert_cmpuint(prepared_blocks(drive), ==, 0);
        for (uint32_t b = 0; b < inside_blocks(drive); b++) {
            g_assert_true(!inside_is_full(drive, b) ||
                          inside_valid(drive, b) >=
                              inside_valid(drive, op->block));
        }
    }
    pregc.at_edge += ready == pregc.t_block - 1;
    pregc.steps++;
}

/*
 * T_block = 12.5 % of 64 blocks are 8 (7.8 %: 5, as what is free stays at GC's
 * threshold of 3 or a block above it), T_page = 25 % of 8 pages are 2: a step
 * needs less than 8 blocks ready and a victim of more than 2 valid pages, and
 * it goes on until that is no longer so.
 */
static void pregc_thresholds(bool look_ahead)
{
    Rig *rig = rig_new("pregc", look_ahead
                                    ? "t_block=125,t_page=250,look_ahead=1"
                                    : "t_block=78,t_page=250", ONE_PLANE);
    uint64_t pages = n_pages(rig);

    pregc.rig = rig;
    pregc.t_block = look_ahead ? 8 : 5;
    pregc.t_page = 2;
    pregc.look_ahead = look_ahead;
    pregc.steps = pregc.at_edge = 0;
    rig_age(rig, 1000);
    scarp_set_observer(rig->drive, &(ScarpObserver) {
        .flash_phase = pregc_step });
    for (unsigned i = 0; i < 600; i++) {
        rig_write(rig, i * 7919 % pages);
        g_assert_true(ready_blocks(rig->drive) >= pregc.t_block ||
                      (!look_ahead && prepared_blocks(rig->drive) >= 1));
    }
    g_assert_cmpuint(pregc.steps, >, 50);
    g_assert_cmpuint(pregc.at_edge, >, 20);
    rig_free(rig);
}

static void test_pregc_thresholds(void)
{
    pregc_thresholds(false);
}

static void test_pregc_looks_ahead(void)
{
    pregc_thresholds(true);
}

/* ---- GFTL ----------------------------------------------------------------- */

/*
 * A letter for each command of a die, as it ended, from the given one to the
 * first erase: the host's Reads and Writes, GC's reads (g) and programs (p).
 */
static char *letters_since(const Rig *rig, unsigned from, uint32_t die)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = from; i < rig->n_ops; i++) {
        const ScarpFlashOp *op = &rig->op[i].f;

        if (op->phase != SCARP_PHASE_ARRAY || op->die != die) {
            continue;
        }
        g_string_append_c(text, op->kind == SCARP_FLASH_ERASE ? 'E'
                          : op->origin == SCARP_ORIGIN_HOST
                              ? op->kind == SCARP_FLASH_READ ? 'R' : 'W'
                          : op->kind == SCARP_FLASH_READ ? 'g' : 'p');
        if (op->kind == SCARP_FLASH_ERASE) {
            break;
        }
    }
    return g_string_free(text, false);
}

/* Twelve reads arrive while the write is programmed, and wait for its die. */
static void write_and_reads(Rig *rig, uint64_t page, uint64_t read_page_0,
                            unsigned step)
{
    ScarpCmd write = write_page(page), read[12];
    int64_t at_ns = scarp_now_ns(rig->drive) + 1;

    scarp_submit(rig->drive, &write, at_ns);
    for (unsigned r = 0; r < G_N_ELEMENTS(read); r++) {
        read[r] = read_page(read_page_0 + r * step);
        scarp_submit(rig->drive, &read[r], at_ns + TPROG / 2);
    }
    rig_drain(rig);
}

/*
 * Every logical page once, then two of each block until three blocks are left
 * and one with six valid pages is collected, while twelve reads wait.
 */
static char *collected_among_reads(const char *scheme, const char *params)
{
    Rig *rig = rig_new(scheme, params, ONE_PLANE);
    uint64_t pages = n_pages(rig);
    unsigned from = 0;
    char *letters;

    rig_fill(rig, 0, pages);
    for (unsigned i = 0; !rig->n_runs; i++) {
        g_assert_cmpuint(i / 2 * 8, <, pages);
        from = rig->n_ops;
        write_and_reads(rig, i / 2 * 8 + i % 2, pages - 12, 1);
    }
    letters = letters_since(rig, from, 0);
    rig_free(rig);
    return letters;
}

/*
 * A step is of four moves: an erase takes 3,800 us, a move 846.  The collection
 * begins with three blocks left, and its copies open the next.  Three is at the
 * floor of three: no read comes between.  With a floor of two it waits for one
 * read, and is at its floor when the first step has ended; with a floor of one
 * each step waits.
 */
static void test_gftl_floor(void)
{
    static const char *const expected[] = {
        [3] = "WgpgpgpgpgpgpE",
        [2] = "WRgpgpgpgpgpgpE",
        [1] = "WRgpgpgpgpRgpgpE",
    };

    g_assert_cmpint(TBERS / MOVE, ==, 4);
    for (unsigned floor = 1; floor <= 3; floor++) {
        g_autofree char *params = g_strdup_printf("gftl_floor=%u", floor);
        g_autofree char *letters = collected_among_reads("gftl", params);

        g_assert_cmpstr(letters, ==, expected[floor]);
    }
}

/*
 * Two dies of two planes of 16 blocks, 8 of them logical: pages 0, 4, 8 and so
 * on are of die 0's first plane, pages 1, 5, 9 of die 1's.
 *
 * Two pages of each of eight blocks are written again.  With one more, five
 * free blocks are left, a victim has five valid pages, and its copies open the
 * next block.  Eight such writes at once bring die 0 to its floor of four, so
 * its collection waits for none of them.  Die 1's waits for a read, until it is
 * at its own floor.
 */
static void test_gftl_other_die(void)
{
    Rig *rig = rig_new("gftl", "gftl_floor=4",
                       "geometry.channels=2,geometry.dies_per_chip=1,"
                       "geometry.planes_per_die=2,geometry.blocks_per_plane=16,"
                       "geometry.pages_per_block=8,"
                       "ftl.over_provisioning_permille=1000,"
                       "gc.trigger_free_blocks=5");
    g_autofree char *letters = NULL;
    ScarpCmd write[8];
    unsigned from;

    g_assert_cmpuint(n_pages(rig), ==, 8 * 8 * 4);
    for (unsigned plane = 0; plane < 2; plane++) {
        for (unsigned i = 0; i < 8 * 8; i++) {
            rig_write(rig, i * 4 + plane);
        }
        for (unsigned i = 0; i < 16; i++) {
            rig_write(rig, (i / 2 * 8 + i % 2) * 4 + plane);
        }
        g_assert_cmpuint(inside_free_blocks(rig->drive, plane * 2), ==, 6);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(write); i++) {
        write[i] = write_page((i * 8 + 2) * 4);
        scarp_submit(rig->drive, &write[i], scarp_now_ns(rig->drive));
    }
    while (inside_free_blocks(rig->drive, 0) > 4) {
        scarp_run(rig->drive, scarp_now_ns(rig->drive) + 1000);
    }
    from = rig->n_ops;
    write_and_reads(rig, 2 * 4 + 1, 6 * 8 * 4 + 1, 4);
    letters = letters_since(rig, from, 1);
    g_assert_cmpstr(letters, ==, "WRgpgpgpgpgpE");
    rig_free(rig);
}

/* ---- ParaGC ---------------------------------------------------------------- */

/*
 * Two channels and a victim of four pages, two for each.  No channel has read
 * anything of late (a slot of the rings is a microsecond), so hot pages go to
 * the first channel, as the first two of cold ones do.  Where the victim's last
 * page goes says whether it is hot: to channel 0 if so.
 */
static unsigned channel_of_last(unsigned reads_of_it, unsigned reads_in_all,
                                const char *params)
{
    g_autofree char *all = g_strconcat("iterations=0,slot=1,", params, NULL);
    Rig *rig = rig_new("paragc", all, "geometry.blocks_per_plane=16,"
                       "ftl.over_provisioning_permille=700");
    uint64_t pages = n_pages(rig);
    unsigned channel = 2;

    /* Page 4 i is die 0's: its blocks are filled with 16 of them each. */
    rig_fill(rig, 0, pages);
    for (unsigned i = 0; i < reads_in_all; i++) {
        ScarpCmd cmd = read_page(i < reads_of_it ? 15 * 4 : 1);

        rig_do(rig, &cmd);
    }
    /* Twelve pages of its first block are written again, and four of others. */
    for (unsigned i = 0; !rig->n_runs; i++) {
        rig_write(rig, 4 * (i < 12 ? i : (i - 12) / 4 * 16 + 16 + i % 4));
        g_assert_cmpuint(i, <, 48);
    }
    g_assert_cmpuint(rig->run[0].plane, ==, 0);
    g_assert_cmpuint(rig->run[0].moved_units, ==, 4);
    for (unsigned i = 12; i < 16; i++) {
        channel = inside_l2p(rig->drive, 4 * i) /
                  inside_units_per_plane(rig->drive) / 2;
        g_assert_true(i >= 14 || reads_of_it ||
                      channel == 0); /* the first two, when none is hot */
    }
    rig_free(rig);
    return channel;
}

/* An estimate of `hot` reads is hot; counters halve with the decay-th read. */
static void test_paragc_hot(void)
{
    const char *params = "hot=8,decay=64";

    g_assert_cmpuint(channel_of_last(0, 0, params), ==, 1);
    g_assert_cmpuint(channel_of_last(7, 7, params), ==, 1);
    g_assert_cmpuint(channel_of_last(8, 8, params), ==, 0);
    g_assert_cmpuint(channel_of_last(8, 63, params), ==, 0);
    g_assert_cmpuint(channel_of_last(8, 64, params), ==, 1);
    /* 16 / 2 = 8, and 17 / 2; the next 63 reads change nothing. */
    g_assert_cmpuint(channel_of_last(15, 64, params), ==, 1);
    g_assert_cmpuint(channel_of_last(16, 64, params), ==, 0);
    g_assert_cmpuint(channel_of_last(16, 127, params), ==, 0);
    g_assert_cmpuint(channel_of_last(16, 128, params), ==, 1);
}

/* ---- What a collection costs --------------------------------------------- */

/*
 * Of four units a page, the victim has five left: one whole page, and one unit
 * of the next.  The fifth has a page to itself, which is programmed as a whole.
 */
static void test_cost(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_PLANE ",ftl.unit_bytes=1024");
    ScarpCmd three = cmd_of(SCARP_OP_WRITE, (3 * 8 + 1) * PAGE + 1024, 3072);

    rig_fill(rig, 0, n_pages(rig));
    rig_do(rig, &three);
    rig_fill(rig, 3 * 8 + 2, 6);
    g_assert_cmpuint(inside_valid(rig->drive, 3), ==, 5);
    g_assert_cmpint(inside_gc_cost_ns(rig->drive, 0), ==,
                    READ_NS + (CMD + TR + BUS / 4) + 2 * PROGRAM_NS + ERASE_NS);
    rig_free(rig);
}

/* ---- When a die looks ---------------------------------------------------- */

/*
 * A plane becomes short of free blocks only as one is opened.  A die that has
 * found none of its planes short asks them no more until then, however many
 * commands it begins.
 */
static void test_looks_once(void)
{
    Rig *rig = rig_new("baseline", NULL, ONE_PLANE);
    ScarpCmd cmd = write_page(8);

    /* A drive that starts does not know. */
    g_assert_true(inside_has_opened(rig->drive, 0));
    rig_fill(rig, 0, 8);
    g_assert_false(inside_has_opened(rig->drive, 0));
    /* The first page of a block, and the die has not looked since. */
    scarp_submit(rig->drive, &cmd, scarp_now_ns(rig->drive) + 1);
    scarp_run(rig->drive, scarp_now_ns(rig->drive) + TPROG / 2);
    g_assert_true(inside_has_opened(rig->drive, 0));
    rig_drain(rig);
    g_assert_false(inside_has_opened(rig->drive, 0));
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/cost-benefit/tie", test_cost_benefit_tie);
    g_test_add_func("/policy/pregc/thresholds", test_pregc_thresholds);
    g_test_add_func("/policy/pregc/looks-ahead", test_pregc_looks_ahead);
    g_test_add_func("/policy/gftl/floor", test_gftl_floor);
    g_test_add_func("/policy/gftl/other-die", test_gftl_other_die);
    g_test_add_func("/policy/paragc/hot", test_paragc_hot);
    g_test_add_func("/policy/cost", test_cost);
    g_test_add_func("/policy/gc/looks-once", test_looks_once);
    return g_test_run();
}
