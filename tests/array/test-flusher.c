/*
 * The paper's rules, one by one, with scores computed by hand: the flusher
 * (3.3), stale requests (3.3.2), queues (3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

/* One set of 12 pages: every page of the array is in it, in slots 0, 1, … */
#define ONE_SET "cache_bytes=49152"

/* ---- The flusher ------------------------------------------------------- */

static void assert_low(Rig *rig, guint index, uint64_t number)
{
    ArrayIo *io = rig_io(rig, index);

    g_assert_cmpint(io->op, ==, ARRAY_IO_WRITE);
    g_assert_true(io->low);
    g_assert_cmpuint(rig_number(rig, io), ==, number);
}

static void test_threshold(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    for (int i = 0; i < 6; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_cmpuint(rig.ios->len, ==, 0);
    rig_write(&rig, 6, 1);
    /* Distances 0 to 6, then the empty pages': scores 11, 10, … 5. */
    g_assert_cmpuint(rig.ios->len, ==, 2);
    assert_low(&rig, 0, 0);
    assert_low(&rig, 1, 1);
    g_assert_true(rig.array->sets[0].in_fifo);
    /* One request ends: the set is visited again. */
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpuint(rig.ios->len, ==, 3);
    assert_low(&rig, 1, 2);
    assert_low(&rig, 2, 3);
    rig_end_all(&rig);
    /* Page 6 has a score of 5: it stays. */
    g_assert_cmpuint(array_stats(rig.array)->written_low, ==, 6);
    g_assert_cmpuint(array_stats(rig.array)->flush_requests, ==, 6);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    g_assert_true(rig.array->flags[6] & PAGE_DIRTY);
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_most_urgent(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flush_batch=1");
    for (int i = 0; i < 6; i++) {
        rig_write(&rig, i, 1);
    }
    /* 12 1 14 3 4 5 and 6: pages 1, 3, 4, 5 and 6 come before 0 and 2. */
    rig_hit(&rig, 0);
    rig_hit(&rig, 2);
    rig_write(&rig, 6, 1);
    g_assert_cmpuint(rig.ios->len, ==, 1);
    assert_low(&rig, 0, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    assert_low(&rig, 0, 3);
    rig_end_all(&rig);
    /* Scores 11 to 7 for five of them; 0 and 2 have 1 and 0. */
    g_assert_cmpuint(array_stats(rig.array)->written_low, ==, 5);
    g_assert_true(rig.array->flags[0] & PAGE_DIRTY);
    g_assert_true(rig.array->flags[2] & PAGE_DIRTY);
    rig_clear(&rig);
}

/* Numbers of pages in the set, from number on, n of them. */
static void numbers_of(const Rig *rig, uint32_t set, uint64_t *numbers, int n)
{
    uint64_t number = 0;

    for (int i = 0; i < n; number++) {
        if (array_set_of(rig->array, number) == set) {
            numbers[i++] = number;
        }
    }
}

static void test_round_robin(void)
{
    uint64_t numbers[2][7];
    Rig rig;

    /* A slot for flushes, so that they go one by one. */
    rig_init(&rig, 1, 256, "cache_bytes=98304,slots=1,reserved_slots=0,"
             "flush_batch=1");
    for (int set = 0; set < 2; set++) {
        numbers_of(&rig, set, numbers[set], 7);
        for (int i = 0; i < 7; i++) {
            rig_write(&rig, numbers[set][i], 1);
        }
    }
    /*
     * Set 0's first page, then set 1's; then each end asks the set at the head
     * of the FIFO, which goes to its end.
     */
    for (int i = 0; i < 6; i++) {
        for (int set = 0; set < 2; set++) {
            assert_low(&rig, 0, numbers[set][i]);
            rig_end(&rig, rig_io(&rig, 0), 0);
        }
    }
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_max_flushes(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",max_flushes=1");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, 1);
        g_assert_cmpuint(array_pending_flushes(rig.array), ==, i >= 6);
    }
    for (int i = 0; i < 6; i++) {
        g_assert_cmpuint(rig.ios->len, ==, 1);
        assert_low(&rig, 0, i);
        rig_end(&rig, rig_io(&rig, 0), 0);
    }
    g_assert_cmpuint(array_stats(rig.array)->flush_pending_max, ==, 1);
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_off(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_cmpuint(rig.ios->len, ==, 0);
    rig_clear(&rig);
}

/*
 * A request that ends has a set of the FIFO visited.  Where none is in it, no
 * visit is owed to the set that comes next: that one has its own, and then it
 * waits for a request to end as all others do.
 */
static void test_owes_nothing(void)
{
    uint64_t numbers[2][7];
    Rig rig;

    rig_init(&rig, 1, 256, "cache_bytes=98304");
    for (int set = 0; set < 2; set++) {
        g_assert_cmpuint(rig.ios->len, ==, 0);
        numbers_of(&rig, set, numbers[set], 7);
        for (int i = 0; i < 7; i++) {
            rig_write(&rig, numbers[set][i], 1);
        }
        /* One visit, which asks for flush_batch=2 pages. */
        g_assert_cmpuint(array_pending_flushes(rig.array), ==, 2);
        g_assert_true(rig.array->sets[set].in_fifo);
        /* Of the set's six requests the last ones meet an empty FIFO. */
        rig_end_all(&rig);
        g_assert_false(rig.array->sets[set].in_fifo);
    }
    g_assert_cmpuint(array_stats(rig.array)->flush_requests, ==, 2 * 6);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* ---- Queues ------------------------------------------------------------ */

static void test_reserved(void)
{
    ArrayRequest *reads[3];
    Rig rig;

    /* 4 slots, 2 kept free: two flushes go out, the third waits. */
    rig_init(&rig, 1, 64, ONE_SET ",slots=4,reserved_slots=2,flush_batch=4");
    for (int i = 0; i < 7; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_cmpuint(rig.ios->len, ==, 2);
    for (int i = 0; i < 3; i++) {
        reads[i] = rig_submit(&rig, ARRAY_OP_READ, (40 + i) * PAGE, PAGE, 0);
    }
    /* Reads take the kept ones at once; the third read waits. */
    g_assert_cmpuint(rig.ios->len, ==, 4);
    /* A flush ends: the read goes before the flush that came earlier. */
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpuint(rig.ios->len, ==, 4);
    g_assert_cmpint(rig_io(&rig, 3)->op, ==, ARRAY_IO_READ);
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 3)), ==, 42);
    /* One slot, then two are free: no flush yet; with three there is one. */
    rig_end(&rig, rig_io(&rig, 3), 0);
    g_assert_cmpuint(rig.ios->len, ==, 3);
    rig_end(&rig, rig_io(&rig, 2), 0);
    g_assert_cmpuint(rig.ios->len, ==, 2);
    rig_end(&rig, rig_io(&rig, 1), 0);
    g_assert_cmpuint(rig.ios->len, ==, 2);
    assert_low(&rig, 1, 2);
    rig_end_all(&rig);
    for (int i = 0; i < 3; i++) {
        rig_forget(&rig, reads[i], 0);
    }
    rig_clear(&rig);
}

/*
 * One slot, taken by the flush of page 0.  Pages 1 to 3 wait in the low queue,
 * of pages 0 to 6 that are dirty.
 */
static void flushes_wait(Rig *rig)
{
    rig_init(rig, 1, 64, ONE_SET ",slots=1,reserved_slots=0,flush_batch=4");
    for (int i = 0; i < 7; i++) {
        rig_write(rig, i, 1);
    }
    assert_low(rig, 0, 0);
    g_assert_cmpuint(array_pending_flushes(rig->array), ==, 4);
}

static void test_stale_score(void)
{
    const ArrayStats *stats;
    Rig rig;

    flushes_wait(&rig);
    stats = array_stats(rig.array);
    /* 13: behind all others, so that page 1's score is 0. */
    rig_hit(&rig, 1);
    g_assert_cmpuint(array_flush_score(rig.array, 1), ==, 0);
    rig_end(&rig, rig_io(&rig, 0), 0);
    assert_low(&rig, 0, 2);
    g_assert_cmpuint(stats->discarded_score, ==, 1);
    g_assert_cmpuint(stats->discarded_cleaned + stats->discarded_evicted, ==,
                     0);
    /* It is still dirty, and not lost: when it is urgent, it is asked for. */
    g_assert_true(rig.array->flags[1] & PAGE_DIRTY);
    g_assert_cmpuint(rig.array->pages[1].flush, ==, NONE);
    /*
     * More was asked for in its place and in page 0's: 4, 5 and 6, whose
     * scores have become 8, 7 and 6.
     */
    g_assert_cmpuint(array_pending_flushes(rig.array), ==, 5);
    rig_end_all(&rig);
    g_assert_cmpuint(stats->written_low, ==, 6);
    g_assert_true(rig.array->flags[1] & PAGE_DIRTY);
    rig_clear(&rig);
}

static void test_stale_score_edge(void)
{
    Rig rig;

    flushes_wait(&rig);
    /*
     * 13: page 1 stays longest and has 0; 2 has 10.  With stale_score 6 page
     * 3 of score 6 would go, one of score 5 would not: move the head so that
     * they have them.  The head at 9: distances of 2 and 3 are 5 and 6, and
     * 9, 10, 11, 0 have 0 to 3.
     */
    rig_hit(&rig, 1);
    rig.array->sets[0].hand = 9;
    g_assert_cmpuint(array_flush_score(rig.array, 2), ==, 7);
    g_assert_cmpuint(array_flush_score(rig.array, 3), ==, 6);
    g_assert_cmpuint(array_flush_score(rig.array, 4), ==, 5);
    g_assert_null(array_flush_stale(rig.array, rig.array->pages[3].flush));
    rig.array->sets[0].hand = 8;
    g_assert_cmpuint(array_flush_score(rig.array, 3), ==, 5);
    g_assert_true(array_flush_stale(rig.array, rig.array->pages[3].flush) ==
                  &rig.array->stats.discarded_score);
    rig_end_all(&rig);
    rig_clear(&rig);
}

/* For what was discarded another set is asked, as for what was written. */
static void test_asks_for_more(void)
{
    uint64_t numbers[2][7];
    Rig rig;

    rig_init(&rig, 1, 256, "cache_bytes=98304,slots=1,reserved_slots=0,"
             "flush_batch=1");
    for (int set = 0; set < 2; set++) {
        numbers_of(&rig, set, numbers[set], 7);
        for (int i = 0; i < 7; i++) {
            rig_write(&rig, numbers[set][i], 1);
        }
    }
    /* Set 0's request is under way, set 1's waits and becomes stale. */
    assert_low(&rig, 0, numbers[0][0]);
    g_assert_cmpuint(array_pending_flushes(rig.array), ==, 2);
    rig_hit(&rig, numbers[1][0]);
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpuint(array_stats(rig.array)->discarded_score, ==, 1);
    assert_low(&rig, 0, numbers[0][1]);
    g_assert_cmpuint(array_pending_flushes(rig.array), ==, 2);
    rig_end(&rig, rig_io(&rig, 0), 0);
    assert_low(&rig, 0, numbers[1][1]);
    rig_end_all(&rig);
    rig_clear(&rig);
}

static void test_stale_cleaned(void)
{
    ArrayRequest *r;
    Rig rig;

    flushes_wait(&rig);
    /* A barrier writes them in the high queue meanwhile. */
    r = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    /* 1 to 3, and 4 and 5, which were asked for when page 0's ended. */
    g_assert_cmpuint(array_stats(rig.array)->discarded_cleaned, ==, 5);
    g_assert_cmpuint(array_stats(rig.array)->written_low, ==, 1);
    g_assert_cmpuint(array_stats(rig.array)->written, ==, 7);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* Cleaned, and dirty again: the request is for what has been written. */
static void test_stale_cleaned_again(void)
{
    const ArrayStats *stats;
    ArrayRequest *r;
    Rig rig;

    flushes_wait(&rig);
    stats = array_stats(rig.array);
    r = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_end(&rig, rig_io(&rig, 0), 0); /* page 0; page 1 goes */
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)), ==, 1);
    rig_write(&rig, 1, 2);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    g_assert_cmpuint(stats->discarded_cleaned, ==, 5);
    g_assert_cmpuint(rig.disks[0][PAGE], ==, 1);
    g_assert_true(rig.array->flags[1] & PAGE_DIRTY);
    rig_clear(&rig);
}

static void test_stale_evicted(void)
{
    ArrayRequest *r[12];
    Rig rig;

    flushes_wait(&rig);
    /*
     * Twelve other pages want places: five are empty, page 0 is on its way,
     * and six dirty pages are written before the flush requests.
     */
    for (int i = 0; i < 12; i++) {
        r[i] = rig_submit(&rig, ARRAY_OP_WRITE, (20 + i) * PAGE, PAGE, 2);
        g_assert_true(rig_is_done(&rig, r[i]) == (i < 5));
    }
    rig_end_all(&rig);
    for (int i = 0; i < 12; i++) {
        rig_forget(&rig, r[i], 0);
    }
    g_assert_cmpuint(array_stats(rig.array)->discarded_evicted, ==, 3);
    g_assert_cmpuint(array_stats(rig.array)->evicted_dirty, ==, 6);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* One drive stands still; the others' flushes go on. */
static void test_stalled_drive(void)
{
    Rig rig;
    guint others = 0;
    ArrayRequest *r = NULL;

    rig_init(&rig, 3, 4096, "cache_bytes=1572864,slots=4,reserved_slots=1");
    for (uint64_t i = 0; i < 3000; i++) {
        if (array_stats(rig.array)->waited) {
            break;
        }
        r = rig_submit(&rig, ARRAY_OP_WRITE, i * PAGE, PAGE, 1);
        if (rig_is_done(&rig, r)) {
            rig_forget(&rig, r, 0);
        }
        for (guint k = 0; k < rig.ios->len;) {
            if (rig_io(&rig, k)->drive) {
                rig_end(&rig, rig_io(&rig, k), 0);
                others++;
            } else {
                k++;
            }
        }
    }
    /* 384 pages of cache: a third could be held by the drive that stalls. */
    g_assert_cmpuint(others, >, 384);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/flusher/threshold", test_threshold);
    g_test_add_func("/array/flusher/most-urgent", test_most_urgent);
    g_test_add_func("/array/flusher/round-robin", test_round_robin);
    g_test_add_func("/array/flusher/max-flushes", test_max_flushes);
    g_test_add_func("/array/flusher/off", test_off);
    g_test_add_func("/array/flusher/owes-nothing", test_owes_nothing);
    g_test_add_func("/array/queue/reserved", test_reserved);
    g_test_add_func("/array/queue/stalled-drive", test_stalled_drive);
    g_test_add_func("/array/stale/score", test_stale_score);
    g_test_add_func("/array/stale/score-edge", test_stale_score_edge);
    g_test_add_func("/array/stale/asks-for-more", test_asks_for_more);
    g_test_add_func("/array/stale/cleaned", test_stale_cleaned);
    g_test_add_func("/array/stale/cleaned-again", test_stale_cleaned_again);
    g_test_add_func("/array/stale/evicted", test_stale_evicted);
    return g_test_run();
}
