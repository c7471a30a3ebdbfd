/*
 * Victims by chance and for wear: the same draws, made here by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#define ONE_PLANE "geometry.channels=1,geometry.dies_per_chip=1," \
                  "geometry.pages_per_block=8,gc.victim_candidates=64"

/* Of 64 blocks, drawn until one is full. */
static uint32_t draw(const ScarpDrive *drive, uint64_t *random)
{
    for (;;) {
        uint32_t block = (inside_random(random) >> 32) * 64 >> 32;

        if (inside_is_full(drive, block)) {
            return block;
        }
    }
}

static bool worth(const ScarpDrive *drive, uint32_t block)
{
    return inside_valid(drive, block) < 8;
}

static Rig *aged(const char *scheme, const char *params, const char *overrides)
{
    g_autofree char *all = g_strconcat(ONE_PLANE, overrides, NULL);
    Rig *rig = rig_new(scheme, params, all);

    rig_age(rig, 900);
    rig_write(rig, 0);
    return rig;
}

/* One draw, or d of them: the fewest valid units, the first of equals. */
static void test_draws(void)
{
    for (unsigned d = 1; d <= 5; d += 2) {
        g_autofree char *params = g_strdup_printf("d=%u", d);
        Rig *rig = d == 1 ? aged("random", NULL, "")
                          : aged("d-choices", params, "");
        uint64_t random = inside_random_state(rig->drive);

        for (unsigned i = 0; i < 300; i++) {
            uint32_t best = draw(rig->drive, &random), is;

            for (unsigned more = 1; more < d; more++) {
                uint32_t other = draw(rig->drive, &random);

                best = inside_valid(rig->drive, other) <
                               inside_valid(rig->drive, best) ? other : best;
            }
            is = inside_choose_victim(rig->drive, 0);
            if (worth(rig->drive, best)) {
                g_assert_cmpuint(is, ==, best);
            } else {
                g_assert_true(worth(rig->drive, is)); /* greedy's */
            }
        }
        rig_free(rig);
    }
}

static void set_erases(ScarpDrive *drive, GRand *rand, int most)
{
    for (uint32_t b = 0; b < 64; b++) {
        inside_set_erases(drive, b, rand ? g_rand_int_range(rand, 0, most) : 0);
    }
}

/*
 * For wear: of the oldest full block and eight drawn ones the least erased, if
 * that plus the spread is less than what the policy's choice has; the first of
 * equals.  One in four times, by lot, the policy has its choice all the same.
 */
static void test_wear(void)
{
    Rig *rig = aged("fifo", NULL, ",gc.wear_spread_erases=6");
    ScarpDrive *drive = rig->drive;
    uint64_t random = inside_random_state(drive);
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    unsigned levelled = 0, left = 0, just = 0, not_quite = 0;
    bool levelling, uneven;

    for (unsigned i = 0; i < 2000; i++) {
        uint32_t least = inside_oldest_full(drive, 0), policy, is;

        set_erases(drive, rand, 12);
        policy = inside_choose_victim(drive, 0); /* draws nothing */
        for (unsigned look = 0; look < 8; look++) {
            uint32_t other = draw(drive, &random);

            least = inside_erases(drive, other) < inside_erases(drive, least)
                        ? other : least;
        }
        is = inside_collect_next(drive, 0, &levelling);
        uneven = inside_erases(drive, least) + 6 <
                 inside_erases(drive, policy);
        g_assert_true(levelling ==
                      (uneven && inside_random(&random) >> 62));
        g_assert_cmpuint(is, ==, levelling ? least : policy);
        levelled += levelling;
        left += uneven && !levelling;
        just += inside_erases(drive, least) + 7 == inside_erases(drive, policy);
        not_quite += inside_erases(drive, least) + 6 ==
                     inside_erases(drive, policy);
    }
    g_assert_cmpuint(levelled, >, 100);
    g_assert_cmpuint(left, >, 50);
    g_assert_cmpuint(just, >, 50);
    g_assert_cmpuint(not_quite, >, 50);
    set_erases(drive, NULL, 0);
    rig_free(rig);
}

/* With one free block there is no time for it: nothing is even drawn. */
static void test_wear_waits(void)
{
    Rig *rig = aged("fifo", NULL, ",gc.wear_spread_erases=1");
    ScarpDrive *drive = rig->drive;
    uint32_t was = inside_free_blocks(drive, 0);

    for (uint32_t n_free = 1; n_free <= 2; n_free++) {
        uint64_t random = inside_random_state(drive);
        bool levelling;

        set_erases(drive, NULL, 0);
        inside_set_erases(drive, inside_choose_victim(drive, 0), 9);
        inside_set_free_blocks(drive, 0, n_free);
        inside_collect_next(drive, 0, &levelling);
        g_assert_true(levelling == (n_free == 2));
        g_assert_true((random != inside_random_state(drive)) == levelling);
    }
    inside_set_free_blocks(drive, 0, was);
    set_erases(drive, NULL, 0);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/victim/draws", test_draws);
    g_test_add_func("/policy/victim/wear", test_wear);
    g_test_add_func("/policy/victim/wear-waits", test_wear_waits);
    return g_test_run();
}
