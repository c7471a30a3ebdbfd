/*
 * GClock (3.3) against the rule as it is usually told, and flush scores
 * (3.3.1) computed by hand.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

/* One set of 12 pages: every page of the array is in it, in slots 0, 1, … */
#define ONE_SET "cache_bytes=49152"

static void assert_scores(const Rig *rig, const uint32_t *scores)
{
    for (uint32_t i = 0; i < 12; i++) {
        g_assert_cmpuint(array_flush_score(rig->array, i), ==, scores[i]);
    }
}

static void test_scores(void)
{
    /*
     * Page 0 has a hit, page 3 has two, the head is at 0.  hits x 12 +
     * distance: 12 1 2 27 4 5 6 7 8 9 10 11.  The least, page 1, goes next.
     */
    static const uint32_t at_0[12] = { 1, 11, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 };
    /* The head at 5: 19 8 9 34 11 0 1 2 3 4 5 6. */
    static const uint32_t at_5[12] = { 1, 4, 3, 0, 2, 11, 10, 9, 8, 7, 6, 5 };
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, 1);
        g_assert_cmpuint(rig_page(&rig, i), ==, i);
    }
    rig_hit(&rig, 0);
    rig_hit(&rig, 3);
    rig_hit(&rig, 3);
    g_assert_cmpuint(array_distance(rig.array, 3), ==, 27);
    assert_scores(&rig, at_0);
    rig.array->sets[0].hand = 5;
    g_assert_cmpuint(array_distance(rig.array, 3), ==, 34);
    assert_scores(&rig, at_5);
    rig_clear(&rig);
}

/* GClock as it is usually told: round and round, a hit from each page. */
static uint32_t walk(uint16_t *hits, const bool *dirty, uint32_t *hand)
{
    for (;;) {
        uint32_t at = *hand;

        *hand = (*hand + 1) % 12;
        if (dirty[at]) {
            continue;
        }
        if (!hits[at]) {
            return at;
        }
        hits[at]--;
    }
}

static void test_sweep(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, 1);
    }
    for (int round = 0; round < 20000; round++) {
        Array *a = rig.array;
        uint16_t hits[12];
        bool dirty[12];
        uint32_t hand = g_rand_int_range(rand, 0, 12), clean = 0, victim;

        a->sets[0].hand = hand;
        for (int i = 0; i < 12; i++) {
            dirty[i] = g_rand_boolean(rand);
            clean += !dirty[i];
            hits[i] = g_rand_int_range(rand, 0, 5);
            a->hits[i] = hits[i];
            a->flags[i] = PAGE_VALID | (dirty[i] ? PAGE_DIRTY : 0);
        }
        victim = array_victim(a, 0);
        if (!clean) {
            g_assert_cmpuint(victim, ==, NONE);
            continue;
        }
        g_assert_cmpuint(victim, ==, walk(hits, dirty, &hand));
        g_assert_cmpuint(a->sets[0].hand, ==, hand);
        for (uint32_t i = 0; i < 12; i++) {
            g_assert_cmpuint(a->hits[i], ==, hits[i]);
        }
    }
    rig_clear(&rig);
}

/* Slots 0 to 5 clean, 6 to 11 dirty, no hits, the head at 6. */
static void half_dirty(Rig *rig, const char *keys)
{
    rig_init(rig, 1, 64, keys);
    for (int i = 0; i < 12; i++) {
        rig_write(rig, i, 1);
        if (i == 5) {
            ArrayRequest *r = rig_submit(rig, ARRAY_OP_FLUSH, 0, 0, 0);

            rig_end_all(rig);
            rig_forget(rig, r, 0);
        }
    }
    rig->array->sets[0].hand = 6;
}

static void test_clean_first(void)
{
    Rig rig;

    half_dirty(&rig, ONE_SET ",flusher=0");
    rig_hit(&rig, 6);
    /* The head passes the dirty pages and takes the first clean one. */
    rig_write(&rig, 20, 1);
    g_assert_cmpuint(rig_page(&rig, 20), ==, 0);
    g_assert_cmpuint(rig.array->hits[6], ==, 1);
    rig_clear(&rig);
}

static void test_not_clean_first(void)
{
    ArrayRequest *r;
    Rig rig;

    half_dirty(&rig, ONE_SET ",flusher=0,clean_first=0");
    r = rig_submit(&rig, ARRAY_OP_WRITE, 20 * PAGE, PAGE, 1);
    g_assert_false(rig_is_done(&rig, r));
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)), ==, 6);
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpuint(rig_page(&rig, 20), ==, 6);
    rig_forget(&rig, r, 0);
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/gclock/scores", test_scores);
    g_test_add_func("/array/gclock/sweep", test_sweep);
    g_test_add_func("/array/gclock/clean-first", test_clean_first);
    g_test_add_func("/array/gclock/not-clean-first", test_not_clean_first);
    return g_test_run();
}
