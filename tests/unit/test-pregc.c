/*
 * PreGC: what idle time does to the collections after it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scarp.h"

#define OVERRIDES "geometry.blocks_per_plane=40," \
                  "geometry.pages_per_block=64,gc.trigger_free_blocks=4," \
                  "ftl.over_provisioning_permille=300"
#define PAGE 4096u
#define PAGES_PER_BLOCK 64u
#define PLANES 4u

/* Collections, those that moved a page, and the pages moved by all. */
typedef struct {
    uint64_t runs, moving, moved;
} Seen;

static void gc_done(void *opaque, const ScarpGcRun *run)
{
    Seen *seen = opaque;

    seen->runs++;
    seen->moving += run->moved_units > 0;
    seen->moved += run->moved_units;
}

static ScarpDrive *aged(const char *params)
{
    ScarpConfig config = {
        .description_path = g_test_get_filename(G_TEST_DIST, "tiny.ini", NULL),
        .scheme = params ? "pregc" : "baseline", .params = params,
        .overrides = OVERRIDES, .seed = 1,
    };
    ScarpAge age = { .utilisation_permille = 800,
                     .overwrite_permille = UINT32_MAX, .pattern = "random",
                     .seed = 1 };
    g_autoptr(GError) error = NULL;
    ScarpDrive *drive = scarp_drive_new(&config, &error);

    g_assert_no_error(error);
    g_assert_true(scarp_age(drive, &age, &error));
    scarp_stats_reset(drive);
    return drive;
}

static void settle(ScarpDrive *drive)
{
    while (scarp_next_event_ns(drive) != SCARP_TIME_NEVER) {
        scarp_run(drive, scarp_next_event_ns(drive));
    }
}

/* One write, and then all the time that PreGC wants. */
static void write_one(ScarpDrive *drive, uint64_t page)
{
    ScarpCmd cmd = { .op = SCARP_OP_WRITE, .offset_bytes = page * PAGE,
                     .length_bytes = PAGE, .deadline_ns = SCARP_TIME_NEVER };

    scarp_submit(drive, &cmd, scarp_now_ns(drive) + 1000);
    settle(drive);
    g_assert_true(scarp_reap(drive) == &cmd);
}

/* The collections of random writes, each followed by idle time. */
static Seen collections(ScarpDrive *drive, unsigned writes)
{
    ScarpObserver observer = { .gc_done = gc_done };
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE * 8 / 10;
    Seen seen = { 0 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    g_autoptr(GError) error = NULL;

    observer.opaque = &seen;
    scarp_set_observer(drive, &observer);
    for (unsigned i = 0; i < writes; i++) {
        write_one(drive, g_rand_int_range(rand, 0, pages));
        if (i < 100) { /* the aged drive's first collections had no idle time */
            seen = (Seen) { 0 };
        }
    }
    g_assert_true(scarp_quiescent(drive, &error));
    g_assert_true(scarp_check(drive, &error));
    g_assert_cmpuint(seen.runs, >, 20);
    return seen;
}

/* Pages that a collection moves, a thousand times their mean. */
static uint64_t mean_moved(ScarpDrive *drive, unsigned writes)
{
    Seen seen = collections(drive, writes);

    return seen.moved * 1000 / seen.runs;
}

/*
 * With idle time after each write, collections have about T_page left: one that
 * PreGC's own programs bring on in the middle of its work has more.
 */
static void test_leaves_t_page(void)
{
    ScarpDrive *base = aged(NULL), *drive = aged("t_block=150,t_page=100");
    uint64_t base_mean = mean_moved(base, 2000);
    uint64_t mean = mean_moved(drive, 2000);

    g_assert_cmpuint(mean * 2, <, base_mean);
    g_assert_cmpuint(scarp_stats(drive)->premigrated_units, >, 0);
    scarp_drive_free(base);
    scarp_drive_free(drive);
}

/*
 * below=1: a victim that has T_page valid or more is left alone. No victim of
 * the drive without PreGC has so few, so the runs are equal.
 */
static void test_below_leaves_the_rest(void)
{
    ScarpDrive *base = aged(NULL), *few = aged("t_block=150,below=1");

    g_assert_cmpuint(mean_moved(few, 1500), ==, mean_moved(base, 1500));
    g_assert_cmpuint(scarp_stats(few)->premigrated_units, ==, 0);
    scarp_drive_free(base);
    scarp_drive_free(few);
}

/*
 * below=1 with T_page of a whole block: in idle time each plane's next victim
 * loses all its valid pages. A collection finds some only where it began in the
 * middle of that: where a copy of PreGC's took the free block that GC's
 * threshold wants. Copies take a block for each pages_per_block of them, and
 * each plane has one that they began to fill before.
 */
static void test_below_empties(void)
{
    ScarpDrive *drive = aged("t_block=150,t_page=1000,below=1");
    Seen seen = collections(drive, 1500);
    const ScarpStats *stats = scarp_stats(drive);
    uint64_t copies = stats->gc_page_programs;

    g_test_message("%u of %u collections moved pages, %u copies in all",
                   (unsigned)seen.moving, (unsigned)seen.runs,
                   (unsigned)copies);
    g_assert_cmpuint(stats->premigrated_units, >, 0);
    g_assert_cmpuint(seen.moving, <=,
                     copies / PAGES_PER_BLOCK + PLANES);
    g_assert_cmpuint(seen.moving * 4, <, seen.runs * 3);
    scarp_drive_free(drive);
}

/* At or under the GC threshold T_block asks for nothing. */
static void test_t_block_below_gc(void)
{
    ScarpDrive *drive = aged("t_block=90");

    mean_moved(drive, 1500);
    g_assert_cmpuint(scarp_stats(drive)->premigrated_units, ==, 0);
    scarp_drive_free(drive);
}

/* One block of each plane is prepared, however large t_block is. */
static void test_prepares_one(void)
{
    uint64_t moved[2];

    for (unsigned i = 0; i < 2; i++) {
        ScarpDrive *drive = aged(i ? "t_block=1000" : "t_block=150");

        write_one(drive, 0);
        moved[i] = scarp_stats(drive)->premigrated_units;
        scarp_drive_free(drive);
    }
    g_assert_cmpuint(moved[0], >, 0);
    g_assert_cmpuint(moved[0], ==, moved[1]);
}

/* The higher, the further ahead; each stops by itself. */
static void test_t_block_says_how_far(void)
{
    uint64_t before = 0;

    for (unsigned t_block = 150; t_block <= 300; t_block += 50) {
        g_autofree char *params = g_strdup_printf("t_block=%u,look_ahead=1",
                                                   t_block);
        ScarpDrive *drive = aged(params);
        uint64_t moved;

        write_one(drive, 0);
        moved = scarp_stats(drive)->premigrated_units;
        g_assert_cmpuint(moved, >, before);
        before = moved;
        scarp_drive_free(drive);
    }
}

/*
 * T_page of a whole block: every full block counts as free, and there is no
 * next one.  That no block has more is asked of the plane's own table, which
 * ends with full blocks: what lies behind it is none of its memory, as a build
 * with sanitizers says.
 */
static void test_all_prepared(void)
{
    ScarpDrive *drive = aged("t_block=1000,t_page=1000,look_ahead=1");

    write_one(drive, 0);
    g_assert_cmpuint(scarp_stats(drive)->premigrated_units, ==, 0);
    scarp_drive_free(drive);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pregc/leaves-t-page", test_leaves_t_page);
    g_test_add_func("/pregc/t-block-below-gc", test_t_block_below_gc);
    g_test_add_func("/pregc/below-leaves-the-rest", test_below_leaves_the_rest);
    g_test_add_func("/pregc/below-empties", test_below_empties);
    g_test_add_func("/pregc/prepares-one", test_prepares_one);
    g_test_add_func("/pregc/t-block-says-how-far", test_t_block_says_how_far);
    g_test_add_func("/pregc/all-prepared", test_all_prepared);
    return g_test_run();
}
