/*
 * Where pages go: relocated ones, and the host's under dynamic allocation.  The
 * policies are asked by hand, at each of their limits and beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#include <math.h>

/* A plane's valid units must stay below this: 64 blocks, six in reserve. */
#define CEILING ((64 - 6) * 16)

/* ---- Room in another plane ------------------------------------------------ */

/* Round all planes; the units of a page go together. */
static void test_global(void)
{
    Rig *rig = rig_new("global", NULL, NULL);

    for (uint32_t i = 1; i <= 10; i++) {
        g_assert_cmpuint(inside_place(rig->drive, 0, i), ==, i % 4);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_fallback_units, ==, 0);
    rig_free(rig);
    rig = rig_new("global", NULL, "ftl.unit_bytes=1024");
    for (uint32_t i = 1; i <= 40; i++) {
        g_assert_cmpuint(inside_place(rig->drive, 0, i), ==, i / 4 % 4);
    }
    rig_free(rig);
}

/* In one of the two planes of its channel, which take turns by victims. */
static void test_in_channel(void)
{
    Rig *rig = rig_new("in-channel", NULL, NULL);
    uint32_t channel = inside_place(rig->drive, 0, 1) / 2;

    g_assert_cmpuint(channel, ==, 0);
    for (uint32_t i = 2; i <= 10; i++) {
        g_assert_cmpuint(inside_place(rig->drive, 0, i), <, 2);
        g_assert_cmpuint(inside_place(rig->drive, 3, i) / 2, ==, 1);
    }
    g_assert_cmpuint(rig_stats(rig)->gc_fallback_units, ==, 0);
    rig_free(rig);
}

/*
 * Each step of a collection ends as its pages are programmed, in other dies;
 * its own, which has nothing to do, goes on with the next one all the same.
 */
static void test_steps(void)
{
    Rig *rig = rig_new("global+gftl", NULL, "timing.erase_ns=1000000");

    rig_age(rig, 900);
    g_assert_cmpuint(scarp_collect_now(rig->drive, UINT32_MAX), >, 0);
    while (scarp_next_event_ns(rig->drive) != SCARP_TIME_NEVER) {
        scarp_run(rig->drive, scarp_next_event_ns(rig->drive));
    }
    for (uint32_t die = 0; die < inside_dies(rig->drive); die++) {
        g_assert_cmpuint(inside_collections(rig->drive, die), ==, 0);
    }
    rig_free(rig);
}

/*
 * Two planes a die.  A program of the host has no page, as another stream has
 * opened the last block that the host may have.  The plane's copies are on
 * their way to the other die, which is busy, so its own die has nothing to do:
 * it looks which of its planes can take nothing any more.  This one will take
 * it when the victim is erased, and in its sibling nothing waits.  So the
 * program stays.
 */
static void test_copies_away(void)
{
    Rig *rig = rig_new("global+gftl", NULL,
                       "geometry.dies_per_chip=1,geometry.planes_per_die=2,"
                       "geometry.blocks_per_plane=16,"
                       "geometry.pages_per_block=8,"
                       "ftl.over_provisioning_permille=700,"
                       "gc.trigger_free_blocks=1,ftl.streams=2");
    /* Two for the other die; what opens the last block; what waits. */
    ScarpCmd cmd[] = { write_page(1), write_page(5), write_page(0),
                       write_page(4) };

    /* Page 4 i is in plane 0.  Nine blocks; then some of each, in five. */
    for (uint32_t i = 0; i < 9 * 8; i++) {
        rig_write(rig, 4 * i);
    }
    for (uint32_t i = 0; i < 5 * 8; i++) {
        rig_write(rig, 4 * (i % 9 * 8 + i / 9));
    }
    g_assert_cmpuint(inside_free_blocks(rig->drive, 0), ==, 2);
    g_assert_cmpuint(rig->n_runs, ==, 0);
    cmd[3].stream = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(cmd); i++) {
        scarp_submit(rig->drive, &cmd[i], scarp_now_ns(rig->drive));
    }
    rig_drain(rig);
    g_assert_cmpuint(rig->n_runs, >, 0);
    g_assert_cmpuint(rig->run[0].plane, ==, 0);
    g_assert_cmpuint(rig->run[0].moved_units, >, 1);
    g_assert_cmpint(cmd[3].complete_ns, >, rig->run[0].end_ns);
    g_assert_cmpuint(inside_ppn_plane(rig->drive, inside_l2p(rig->drive, 4)),
                     ==, 0);
    rig_free(rig);
}

static uint32_t first_place(uint32_t from, uint32_t full, uint32_t n_free,
                            uint32_t valid, uint64_t *fallbacks)
{
    Rig *rig = rig_new("global", NULL, NULL);
    ScarpDrive *drive = rig->drive;
    uint32_t was_free = inside_free_blocks(drive, full), to;

    inside_set_free_blocks(drive, full, n_free);
    inside_set_valid(drive, full, valid);
    to = inside_place(drive, from, 0);
    *fallbacks = rig_stats(rig)->gc_fallback_units;
    inside_set_free_blocks(drive, full, was_free);
    inside_set_valid(drive, full, 0);
    rig_free(rig);
    return to;
}

/* A plane short of blocks, or full, is passed over for the next, and counted. */
static void test_room(void)
{
    uint64_t fallbacks;

    g_assert_cmpuint(first_place(0, 1, 3, CEILING - 1, &fallbacks), ==, 1);
    g_assert_cmpuint(fallbacks, ==, 0);
    g_assert_cmpuint(first_place(0, 1, 2, 0, &fallbacks), ==, 2);
    g_assert_cmpuint(fallbacks, ==, 1);
    g_assert_cmpuint(first_place(0, 1, 3, CEILING, &fallbacks), ==, 2);
    g_assert_cmpuint(fallbacks, ==, 1);
    /* The victim's own plane needs no room. */
    g_assert_cmpuint(first_place(1, 1, 0, CEILING, &fallbacks), ==, 1);
    g_assert_cmpuint(fallbacks, ==, 0);
}

/* None has room: it stays where it is. */
static void test_no_room(void)
{
    for (uint32_t roomy = 1; roomy <= 4; roomy++) {
        Rig *rig = rig_new("global", NULL, NULL);
        ScarpDrive *drive = rig->drive;
        uint32_t was_free = inside_free_blocks(drive, 0);

        for (uint32_t p = 0; p < 4; p++) {
            inside_set_free_blocks(drive, p, p == roomy % 4 && roomy < 4
                                                 ? 3 : 2);
        }
        /* Asked for plane 1; four: none has any. */
        g_assert_cmpuint(inside_place(drive, 0, 0), ==, roomy % 4);
        g_assert_cmpuint(rig_stats(rig)->gc_fallback_units, ==, roomy > 1);
        for (uint32_t p = 0; p < 4; p++) {
            inside_set_free_blocks(drive, p, was_free);
        }
        rig_free(rig);
    }
}

/* ---- GC-Z ------------------------------------------------------------------ */

/* The generator's state before it draws that: xorshift64*, backwards. */
static uint64_t state_before(uint64_t drawn)
{
    const uint64_t factor = 2685821657736338717ull;
    uint64_t inverse = factor, x;

    for (int i = 0; i < 5; i++) {
        inverse *= 2 - factor * inverse; /* twice as many bits are right */
    }
    x = drawn * inverse;
    x ^= x >> 27 ^ x >> 54;
    x ^= x << 25 ^ x << 50;
    return x ^ x >> 12 ^ x >> 24 ^ x >> 36 ^ x >> 48 ^ x >> 60;
}

/* Where the first page goes when the policies' next number is that. */
static uint32_t place_drawn(ScarpDrive *drive, uint64_t drawn)
{
    uint64_t state = state_before(drawn);

    inside_set_random(drive, state);
    g_assert_true(inside_random(&state) == drawn);
    return inside_place(drive, 5, 0);
}

/*
 * The weights are 1 / rank^0.95 of a million.  Of all that may be drawn, each
 * channel has its part: from its first number on, and not the one before.
 */
static void test_gc_z_weights(void)
{
    enum { CHANNELS = 64 };
    Rig *rig = rig_new("gc-z", NULL, "geometry.channels=64,"
                       "geometry.dies_per_chip=1,geometry.blocks_per_plane=8,"
                       "geometry.pages_per_block=2,"
                       "ftl.over_provisioning_permille=5000");
    uint32_t weight[CHANNELS], below = 0, sum = 0;

    for (uint32_t i = 0; i < CHANNELS; i++) {
        weight[i] = lround(1000000 / pow(i + 1, 0.95));
        sum += weight[i];
    }
    for (uint32_t c = 1; c < CHANNELS; c++) {
        uint64_t first;

        below += weight[c - 1];
        first = (((unsigned __int128)below << 64) - 1) / sum + 1;
        g_assert_cmpuint(place_drawn(rig->drive, first), ==, c);
        g_assert_cmpuint(place_drawn(rig->drive, first - 1), ==, c - 1);
    }
    g_assert_cmpuint(place_drawn(rig->drive, 1), ==, 0);
    g_assert_cmpuint(place_drawn(rig->drive, UINT64_MAX), ==, CHANNELS - 1);
    rig_free(rig);
}

/* ---- ParaGC: the rings of service rates ------------------------------------ */

typedef struct {
    unsigned reads[2]; /* of each channel */
    int slot;          /* in this second */
} Reads;

/*
 * Two channels, every page cold, half of a victim's four pages for each: the
 * first two go to the channel that has read least, the lower number of equals.
 * Slots are seconds; the collection begins in that of gc_slot.
 */
static uint32_t channel_of_first(const Reads *reads, unsigned n, int gc_slot)
{
    const char *params = "iterations=0,slot=1000000,hot=65535";
    Rig *rig = rig_new("paragc", params, "geometry.blocks_per_plane=16,"
                       "ftl.over_provisioning_permille=700");
    ScarpDrive *drive = rig->drive;
    uint64_t pages = scarp_drive_logical_bytes(drive) / PAGE;
    const int64_t second = 1000000000;
    uint32_t to;

    rig_fill(rig, 0, pages);
    /* Twelve pages of die 0's first block again, and four of others: 43. */
    for (unsigned i = 0; i < 42; i++) {
        rig_write(rig, 4 * (i < 12 ? i : (i - 12) / 4 * 16 + 16 + i % 4));
    }
    g_assert_cmpuint(rig->n_runs, ==, 0);
    g_assert_cmpint(scarp_now_ns(drive), <, 3 * second);
    for (unsigned i = 0; i < n; i++) {
        scarp_run(drive, reads[i].slot * second);
        for (unsigned c = 0; c < 2; c++) {
            for (unsigned k = 0; k < reads[i].reads[c]; k++) {
                ScarpCmd cmd = read_page(15 * 4 + c);

                rig_do(rig, &cmd);
            }
        }
    }
    /* The program ends, and the collection begins, in gc_slot. */
    scarp_run(drive, MAX(scarp_now_ns(drive), gc_slot * second));
    for (unsigned i = 42; !rig->n_runs; i++) {
        g_assert_cmpuint(i, <, 48);
        rig_write(rig, 4 * ((i - 12) / 4 * 16 + 16 + i % 4));
    }
    g_assert_cmpint(rig->run[0].begin_ns / second, ==, gc_slot);
    g_assert_cmpuint(rig->run[0].plane, ==, 0);
    g_assert_cmpuint(rig->run[0].moved_units, ==, 4);
    to = inside_l2p(drive, 4 * 12) / inside_units_per_plane(drive) / 2;
    g_assert_cmpuint(inside_l2p(drive, 4 * 14) /
                         inside_units_per_plane(drive) / 2, ==, !to);
    rig_free(rig);
    return to;
}

static void test_paragc_rings(void)
{
    const Reads none = { { 0, 0 }, 4 };
    const Reads first = { { 1, 0 }, 4 };
    const Reads more[] = { { { 1, 2 }, 4 } };
    const Reads again[] = { { { 2, 0 }, 4 }, { { 1, 2 }, 20 } };
    const Reads both[] = { { { 2, 0 }, 5 }, { { 1, 2 }, 20 } };

    g_assert_cmpuint(channel_of_first(&none, 1, 5), ==, 0);
    g_assert_cmpuint(channel_of_first(&first, 1, 4), ==, 1);
    /* Sixteen slots count, this one among them. */
    g_assert_cmpuint(channel_of_first(&first, 1, 19), ==, 1);
    g_assert_cmpuint(channel_of_first(&first, 1, 20), ==, 0);
    g_assert_cmpuint(channel_of_first(more, 1, 6), ==, 0);
    /* What a slot's place held sixteen slots ago is forgotten: 1, not 3. */
    g_assert_cmpuint(channel_of_first(again, 2, 20), ==, 0);
    g_assert_cmpuint(channel_of_first(both, 2, 20), ==, 1);
}

/* ---- Dynamic allocation ----------------------------------------------------- */

/* What is told of a die; each has one plane. */
typedef struct {
    uint32_t collections, reads, programs, n_free, valid;
} Load;

static uint32_t allocated(const char *overrides, const Load *load)
{
    Rig *rig = rig_new("dynamic", NULL, overrides);
    ScarpDrive *drive = rig->drive;
    uint32_t was_free = inside_free_blocks(drive, 0), plane;

    for (uint32_t d = 0; d < 4; d++) {
        inside_set_load(drive, d, load[d].collections, load[d].reads,
                        load[d].programs);
        inside_set_free_blocks(drive, d, load[d].n_free);
        inside_set_valid(drive, d, load[d].valid);
    }
    plane = inside_allocate(drive, INSIDE_NONE, 0);
    for (uint32_t d = 0; d < 4; d++) {
        inside_set_load(drive, d, 0, 0, 0);
        inside_set_free_blocks(drive, d, was_free);
        inside_set_valid(drive, d, 0);
    }
    rig_free(rig);
    return plane;
}

static void test_dynamic(void)
{
    /* Three blocks are the trigger; with one, the host gets none. */
    static const struct {
        Load load[4];
        uint32_t plane;
    } rows[] = {
        { { { 0, 1, 0, 9, 0 }, { 0, 0, 1, 9, 0 }, { 0, 0, 0, 9, 0 },
            { 0, 1, 0, 9, 0 } }, 2 },
        { { { 0, 2, 2, 9, 0 }, { 0, 4, 1, 9, 0 }, { 0, 0, 5, 9, 0 },
            { 0, 1, 2, 9, 0 } }, 3 },
        /* About to collect: worse than any queue; just not: by its queue. */
        { { { 0, 0, 0, 3, 0 }, { 0, 9, 9, 9, 0 }, { 0, 0, 0, 3, 0 },
            { 0, 0, 0, 2, 0 } }, 1 },
        { { { 0, 5, 0, 9, 0 }, { 0, 5, 0, 9, 0 }, { 0, 0, 4, 4, 0 },
            { 0, 3, 0, 3, 0 } }, 2 },
        /* Collecting: worse still. */
        { { { 1, 0, 0, 9, 0 }, { 2, 0, 0, 9, 0 }, { 1, 0, 0, 9, 0 },
            { 0, 8, 0, 3, 0 } }, 3 },
        { { { 1, 1, 0, 3, 0 }, { 1, 0, 0, 3, 0 }, { 1, 7, 0, 9, 0 },
            { 1, 0, 0, 3, 0 } }, 2 },
        /* No block for the host. */
        { { { 0, 0, 0, 1, 0 }, { 0, 0, 0, 1, 0 }, { 0, 0, 0, 1, 0 },
            { 3, 9, 9, 2, 0 } }, 3 },
        /* Its valid units are at the ceiling, or one below. */
        { { { 0, 0, 0, 9, CEILING }, { 0, 0, 1, 9, CEILING - 1 },
            { 0, 0, 2, 9, 0 }, { 0, 0, 2, 9, 0 } }, 1 },
        /* None has room: the fewest units, the first of equals. */
        { { { 0, 0, 0, 9, CEILING + 2 }, { 0, 0, 0, 9, CEILING + 1 },
            { 0, 0, 0, 9, CEILING }, { 0, 0, 0, 9, CEILING } }, 2 },
        { { { 0, 0, 0, 1, 5 }, { 0, 0, 0, 1, 6 }, { 0, 0, 0, 0, 7 },
            { 0, 0, 0, 1, 4 } }, 3 },
        { { { 0, 0, 0, 1, 5 }, { 0, 0, 0, 1, 6 }, { 0, 0, 0, 0, 5 },
            { 0, 0, 0, 1, 5 } }, 0 },
        { { { 0, 0, 0, 1, 5 }, { 0, 0, 0, 1, 4 }, { 0, 0, 0, 0, 5 },
            { 0, 0, 0, 1, 5 } }, 1 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("row %zu", i);
        g_assert_cmpuint(allocated(NULL, rows[i].load), ==, rows[i].plane);
    }
}

/*
 * Small units: a block of 32 is a victim only with 8 invalid ones, a page's.
 * Of 64 blocks one is free for a collection and one is what it copies to.  With
 * 25 valid units in each of the other 62 there may be no victim, so a plane
 * gets one less than that, and no more.
 */
static void test_dynamic_limit(void)
{
    enum { LIMIT = 62 * 25 - 1 };
    static const struct {
        Load load[4];
        uint32_t plane;
    } rows[] = {
        { { { 0, 0, 0, 9, LIMIT - 1 }, { 0, 0, 1, 9, 0 }, { 0, 0, 1, 9, 0 },
            { 0, 0, 1, 9, 0 } }, 0 },
        { { { 0, 0, 0, 9, LIMIT }, { 0, 0, 2, 9, 0 }, { 0, 0, 1, 9, 0 },
            { 0, 0, 2, 9, 0 } }, 2 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("row %zu", i);
        g_assert_cmpuint(allocated("geometry.pages_per_block=4,"
                                   "ftl.unit_bytes=512,"
                                   "ftl.over_provisioning_permille=500",
                                   rows[i].load), ==, rows[i].plane);
    }
}

/* In turn over all planes: dies first, then the next plane of each. */
static void test_dynamic_turns(void)
{
    static const uint32_t planes[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    Rig *rig = rig_new("dynamic", NULL, "geometry.planes_per_die=2");

    for (uint32_t i = 0; i < 20; i++) {
        g_assert_cmpuint(inside_allocate(rig->drive, INSIDE_NONE, 0), ==,
                         planes[i % 8]);
    }
    rig_free(rig);
}

/* ---- Aligned blocks ---------------------------------------------------------- */

/*
 * Two planes, blocks of eight pages: the first plane's ordinary block is at
 * page 3, the second's at 5, and the second's aligned block goes on alone.  The
 * aligned block that is behind, in the shorter way round, is filled by single
 * programs; at half way either is.
 */
static void test_aligned_lags(void)
{
    static const uint32_t next[][2] = { /* of planes 0 and 1 */
        { 3, 5 }, { 0, 5 }, { 0, 5 }, { 0, 5 }, { 0, 4 },
        { 3, 5 }, { 3, 6 }, { 3, 7 }, { 3, 5 },
    };
    Rig *rig = rig_new("gc-par", NULL, "geometry.planes_per_die=2,"
                       "geometry.pages_per_block=8");

    for (int i = 0; i < 8; i++) {
        inside_take_page(rig->drive, i >= 3, false);
    }
    for (size_t ahead = 0; ahead < G_N_ELEMENTS(next); ahead++) {
        g_test_message("%zu ahead", ahead);
        g_assert_cmpuint(inside_next_page(rig->drive, 0), ==, next[ahead][0]);
        g_assert_cmpuint(inside_next_page(rig->drive, 1), ==, next[ahead][1]);
        inside_take_page(rig->drive, 1, true);
    }
    scarp_drive_free(rig->drive);
    g_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/place/global", test_global);
    g_test_add_func("/policy/place/in-channel", test_in_channel);
    g_test_add_func("/policy/place/global-steps", test_steps);
    g_test_add_func("/policy/place/copies-away", test_copies_away);
    g_test_add_func("/policy/place/room", test_room);
    g_test_add_func("/policy/place/no-room", test_no_room);
    g_test_add_func("/policy/place/gc-z", test_gc_z_weights);
    g_test_add_func("/policy/place/paragc-rings", test_paragc_rings);
    g_test_add_func("/policy/allocate/dynamic", test_dynamic);
    g_test_add_func("/policy/allocate/limit", test_dynamic_limit);
    g_test_add_func("/policy/allocate/turns", test_dynamic_turns);
    g_test_add_func("/policy/allocate/aligned", test_aligned_lags);
    return g_test_run();
}
