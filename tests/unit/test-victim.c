/*
 * Victims against brute force: every choice of a busy drive is looked at beside
 * all that could have been chosen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <math.h>

#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.pages_per_block=8,gc.victim_candidates=64"

/* Every block b of a plane. */
#define FOR_BLOCKS(drive, plane, b)                                           \
    for (uint32_t b = (plane) * inside_blocks_per_plane(drive);               \
         b < ((plane) + 1) * inside_blocks_per_plane(drive); b++)

/* More units in a block than a word has bits. */
#define LARGE_BLOCKS "geometry.channels=1,geometry.dies_per_chip=1," \
                     "geometry.blocks_per_plane=14," \
                     "geometry.pages_per_block=72,gc.victim_candidates=64," \
                     "ftl.over_provisioning_permille=1000"

typedef bool (*Good)(const ScarpDrive *drive, uint32_t plane, uint32_t block);

/* One test at a time: the policies' functions have no room for more. */
static struct {
    uint64_t filled[4096]; /* when each block was filled; counted here */
    uint64_t fills, choices, ties;
    Good good;
} spy;


static bool candidate(const ScarpDrive *drive, uint32_t b)
{
    return inside_is_full(drive, b) &&
           inside_valid(drive, b) + inside_units_per_page(drive) <=
               inside_units_per_block(drive);
}

static void chosen(ScarpDrive *drive, uint32_t plane, uint32_t block)
{
    uint32_t first = plane * inside_blocks_per_plane(drive);
    bool any = false;

    FOR_BLOCKS(drive, plane, b) {
        any |= candidate(drive, b);
    }
    g_assert_true(any == (block != INSIDE_NONE));
    if (any) {
        g_assert_true(candidate(drive, block));
        g_assert_cmpuint(block - first, <, inside_blocks_per_plane(drive));
        g_assert_true(spy.good(drive, plane, block));
        spy.choices++;
    }
}

/* The last page of a block is programmed: within a plane, in the same order. */
static void phase(void *opaque, const ScarpFlashOp *op)
{
    ScarpDrive *drive = opaque;

    if (op->kind == SCARP_FLASH_PROGRAM && op->phase == SCARP_PHASE_IN &&
        op->page == inside_pages_per_block(drive) - 1) {
        spy.filled[op->block] = ++spy.fills;
    }
}

static void watch(const char *scheme, const char *overrides, bool hot_and_cold,
                  Good good)
{
    Rig *rig = rig_new(scheme, NULL, overrides);
    uint64_t units = scarp_drive_logical_bytes(rig->drive) /
                     scarp_drive_unit_bytes(rig->drive);
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    uint32_t unit = scarp_drive_unit_bytes(rig->drive);

    memset(&spy, 0, sizeof(spy));
    spy.good = good;
    inside_watch_victims(rig->drive, chosen);
    scarp_set_observer(rig->drive, &(ScarpObserver) { .flash_phase = phase,
                                                      .opaque = rig->drive });
    for (unsigned i = 0; i < 4000; i++) {
        /* Four fifths of the writes to a fifth of the space, some of it cold. */
        bool hot = hot_and_cold && g_rand_int_range(rand, 0, 5);
        uint64_t range = hot ? units / 5 : units * 19 / 20;
        uint64_t drawn = g_rand_int_range(rand, 0, range);
        uint64_t at = i < units * 19 / 20 ? i : drawn;
        ScarpCmd cmd = cmd_of(i % 40 == 39 ? SCARP_OP_DEALLOCATE
                                           : SCARP_OP_WRITE, at * unit, unit);

        rig_do(rig, &cmd);
    }
    g_assert_cmpuint(spy.choices, >, 50);
    g_test_message("%" G_GUINT64_FORMAT " choices", spy.choices);
    inside_unwatch_victims(rig->drive);
    rig_free(rig);
}

static bool greedy(const ScarpDrive *drive, uint32_t plane, uint32_t block)
{
    uint32_t v = inside_valid(drive, block);

    FOR_BLOCKS(drive, plane, b) {
        uint32_t erases = inside_erases(drive, b);

        if (b == block || !candidate(drive, b)) {
            continue;
        }
        if (inside_valid(drive, b) < v ||
            (inside_valid(drive, b) == v &&
             erases < inside_erases(drive, block))) {
            return false;
        }
        spy.ties += inside_valid(drive, b) == v &&
                    erases > inside_erases(drive, block);
    }
    return true;
}

static void test_greedy(void)
{
    watch("greedy", ONE_PLANE, true, greedy);
    g_assert_cmpuint(spy.ties, >, 0); /* wear was asked for */
    watch("greedy", "geometry.planes_per_die=2,geometry.pages_per_block=8,"
          "gc.victim_candidates=64,ftl.unit_bytes=1024,"
          "geometry.blocks_per_plane=16,ftl.over_provisioning_permille=1000",
          true, greedy);
    watch("greedy", LARGE_BLOCKS, false, greedy);
}

/* The oldest; if it has nothing to gain, what greedy would take. */
static bool fifo(const ScarpDrive *drive, uint32_t plane, uint32_t block)
{
    uint32_t oldest = INSIDE_NONE;

    FOR_BLOCKS(drive, plane, b) {
        if (inside_is_full(drive, b) &&
            (oldest == INSIDE_NONE || spy.filled[b] < spy.filled[oldest])) {
            oldest = b;
        }
    }
    if (!candidate(drive, oldest)) {
        FOR_BLOCKS(drive, plane, b) {
            if (candidate(drive, b) &&
                inside_valid(drive, b) < inside_valid(drive, block)) {
                return false;
            }
        }
        return true;
    }
    spy.ties++;
    return block == oldest;
}

static void test_fifo(void)
{
    watch("fifo", ONE_PLANE, false, fifo);
    g_assert_cmpuint(spy.ties, >, spy.choices * 3 / 4);
}

/* The greatest age × (n - v) / v, compared crosswise; nothing valid is best. */
static bool cost_benefit(const ScarpDrive *drive, uint32_t plane,
                         uint32_t block)
{
    uint32_t n = inside_units_per_block(drive), v = inside_valid(drive, block);
    int64_t now_ns = scarp_now_ns(drive);
    uint64_t age = now_ns - inside_modified_ns(drive, block) + 1;

    FOR_BLOCKS(drive, plane, b) {
        uint64_t its = now_ns - inside_modified_ns(drive, b) + 1;
        uint32_t other = inside_valid(drive, b);

        if (v && candidate(drive, b) &&
            (unsigned __int128)its * (n - other) * v >
                (unsigned __int128)age * (n - v) * other) {
            return false;
        }
        spy.ties += candidate(drive, b) && other < v;
    }
    return true;
}

static void test_cost_benefit(void)
{
    watch("cost-benefit", ONE_PLANE, true, cost_benefit);
    g_assert_cmpuint(spy.ties, >, 0); /* greedy would have chosen otherwise */
    watch("cost-benefit", LARGE_BLOCKS, true, cost_benefit);
}

/* ---- Choices by chance ---------------------------------------------------- */

/* A drive whose full blocks all are worth collecting; how many there are. */
static Rig *aged(const char *scheme, const char *params, uint32_t *n_full)
{
    Rig *rig = rig_new(scheme, params, ONE_PLANE);

    rig_age(rig, 900);
    *n_full = 0;
    for (uint32_t b = 0; b < inside_blocks(rig->drive); b++) {
        *n_full += inside_is_full(rig->drive, b);
    }
    g_assert_cmpuint(*n_full, >, 40);
    return rig;
}

#define DRAWS 20000

/* Each full block as often as any other: chi-square. */
static void test_random(void)
{
    uint32_t n;
    Rig *rig = aged("random", NULL, &n);
    ScarpDrive *drive = rig->drive;
    g_autofree uint64_t *times = g_new0(uint64_t, inside_blocks(drive));
    double sum = 0, expected = (double)DRAWS / n;

    for (unsigned i = 0; i < DRAWS; i++) {
        times[inside_random_full(drive, 0)]++;
    }
    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        if (inside_is_full(drive, b)) {
            sum += (times[b] - expected) * (times[b] - expected) / expected;
        } else {
            g_assert_cmpuint(times[b], ==, 0);
        }
    }
    g_test_message("chi-square %.1f with %u degrees of freedom", sum, n - 1);
    /* Mean n - 1, variance 2 (n - 1): five standard deviations. */
    g_assert_cmpfloat(sum, <, n - 1 + 5 * 1.4143 * sqrt(n - 1));
    rig_free(rig);
}

/*
 * The least of d drawn: no more than v units with 1 - (share above v)^d.  When
 * nothing drawn is worth it, greedy decides: the least there is.
 */
static void test_d_choices(gconstpointer data)
{
    unsigned d = GPOINTER_TO_UINT(data);
    g_autofree char *params = g_strdup_printf("d=%u", d);
    uint32_t n;
    Rig *rig = aged("d-choices", params, &n);
    ScarpDrive *drive = rig->drive;
    uint32_t times[9] = { 0 }, above[9] = { 0 }, seen = 0;

    for (unsigned i = 0; i < DRAWS; i++) {
        times[inside_valid(drive, inside_choose_victim(drive, 0))]++;
    }
    for (uint32_t b = 0; b < inside_blocks(drive); b++) {
        for (uint32_t v = 0; inside_is_full(drive, b) &&
                             v < inside_valid(drive, b); v++) {
            above[v]++;
        }
    }
    g_assert_cmpuint(above[6], >, above[7]); /* they are not all alike */
    for (uint32_t v = 0; v < 8; v++) {
        double least = above[v] < n ? pow((double)above[7] / n, d) : 0;
        double p = 1 - pow((double)above[v] / n, d) + least;

        seen += times[v];
        g_assert_cmpfloat(fabs(seen - p * DRAWS), <=,
                          5 * sqrt(p * (1 - p) * DRAWS) + 1);
    }
    g_assert_cmpuint(times[8], ==, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/victim/greedy", test_greedy);
    g_test_add_func("/victim/fifo", test_fifo);
    g_test_add_func("/victim/cost-benefit", test_cost_benefit);
    g_test_add_func("/victim/random", test_random);
    g_test_add_data_func("/victim/d-choices/1", GUINT_TO_POINTER(1),
                         test_d_choices);
    g_test_add_data_func("/victim/d-choices/3", GUINT_TO_POINTER(3),
                         test_d_choices);
    g_test_add_data_func("/victim/d-choices/10", GUINT_TO_POINTER(10),
                         test_d_choices);
    return g_test_run();
}
