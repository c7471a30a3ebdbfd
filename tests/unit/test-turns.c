/*
 * Turns: a waiter is owed the next one when as many have gone before it as its
 * limit says, and counts belong to waiters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "helpers.h"
#include "inside.h"

#define LIMIT 3

/* Commands of a kind go before a waiter of die 0 so often. */
static void pass(ScarpDrive *drive, ScarpPasser passer, uint64_t waiter,
                 unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        scarp_turn_passed(drive, passer, 0, waiter);
    }
}

static bool is_owed(const ScarpDrive *drive, ScarpPasser passer,
                    uint64_t waiter)
{
    return scarp_turn_owed(drive, passer, 0, waiter);
}

static void test_first(void)
{
    Rig *rig = rig_new("baseline", NULL, "controller.reads_first_limit=3");
    ScarpDrive *drive = rig->drive;

    pass(drive, PASS_READS, SCARP_NOBODY, 2 * LIMIT);
    g_assert_false(is_owed(drive, PASS_READS, SCARP_NOBODY));
    pass(drive, PASS_READS, 10, LIMIT - 1);
    g_assert_false(is_owed(drive, PASS_READS, 10));
    pass(drive, PASS_READS, 10, 1);
    g_assert_true(is_owed(drive, PASS_READS, 10));
    /* Older waiters are owed, too; a younger one has a count of its own. */
    g_assert_true(is_owed(drive, PASS_READS, 9));
    g_assert_false(is_owed(drive, PASS_READS, 11));
    g_assert_false(is_owed(drive, PASS_READS, SCARP_NOBODY));
    g_assert_false(scarp_turn_owed(drive, PASS_READS, 1, 10));
    pass(drive, PASS_READS, 11, 1);
    g_assert_false(is_owed(drive, PASS_READS, 11));
    pass(drive, PASS_READS, 10, LIMIT - 1);
    g_assert_true(is_owed(drive, PASS_READS, 11));
    rig_free(rig);
}

static void test_all(void)
{
    Rig *rig = rig_new("baseline", NULL, "geometry.planes_per_die=2");
    ScarpDrive *drive = rig->drive;
    unsigned limit = 16 * 2;
    uint64_t youngest;

    rig_fill(rig, 0, 8); /* numbers have been given out */
    youngest = scarp_seq_count(drive) - 1;
    pass(drive, PASS_PROGRAMS, 2, limit - 1);
    g_assert_false(is_owed(drive, PASS_PROGRAMS, 2));
    pass(drive, PASS_PROGRAMS, 3, 1);
    g_assert_true(is_owed(drive, PASS_PROGRAMS, 2));
    g_assert_true(is_owed(drive, PASS_PROGRAMS, youngest));
    g_assert_false(is_owed(drive, PASS_PROGRAMS, youngest + 1));
    rig_free(rig);
}

static void test_may_pass(void)
{
    Rig *rig = rig_new("baseline", NULL, "controller.reads_first_limit=3");
    g_autofree ScarpOwnCount *own = g_new0(ScarpOwnCount, 1);

    for (unsigned i = 0; i < LIMIT; i++) {
        g_assert_true(scarp_turn_may_pass(rig->drive, PASS_READS, 0, 5));
    }
    g_assert_false(scarp_turn_may_pass(rig->drive, PASS_READS, 0, 5));
    g_assert_true(scarp_turn_may_pass(rig->drive, PASS_READS, 0, 6));
    for (unsigned i = 0; i < 4; i++) {
        g_assert_true(scarp_turn_may_pass_own(rig->drive, PASS_RETRIES, own));
    }
    g_assert_false(scarp_turn_may_pass_own(rig->drive, PASS_RETRIES, own));
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/turns/first", test_first);
    g_test_add_func("/turns/all", test_all);
    g_test_add_func("/turns/may-pass", test_may_pass);
    return g_test_run();
}
