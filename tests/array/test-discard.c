/*
 * Discards: what the cache forgets, what each drive is told, what they wait
 * for and what waits for them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

/* Small enough that the flusher leaves everything alone. */
#define KEYS "cache_bytes=196608"

static ArrayIo *only(Rig *rig, ArrayIoOp op)
{
    ArrayIo *io = rig_io(rig, 0);

    g_assert_cmpuint(rig->ios->len, ==, 1);
    g_assert_cmpint(io->op, ==, op);
    return io;
}

static void test_dirty_page_is_forgotten(void)
{
    Rig rig;
    ArrayRequest *r, *flush;

    rig_init(&rig, 1, 64, KEYS);
    rig_write(&rig, 5, 'a');
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 5 * PAGE, PAGE, 0);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 0);
    g_assert_false(rig_is_done(&rig, r));
    rig_end(&rig, only(&rig, ARRAY_IO_DISCARD), 0);
    rig_forget(&rig, r, 0);
    /* Nothing is left to write; but the drive must keep what it was told. */
    flush = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_end(&rig, only(&rig, ARRAY_IO_FLUSH), 0);
    rig_forget(&rig, flush, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_a_page_under_way_stays(void)
{
    Rig rig;
    ArrayRequest *r, *flush;
    ArrayIo *write;

    rig_init(&rig, 1, 64, KEYS);
    rig_write(&rig, 5, 'a');
    flush = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    write = only(&rig, ARRAY_IO_WRITE);
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 5 * PAGE, PAGE, 0);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    rig_end(&rig, rig_io(&rig, 1), 0);
    rig_forget(&rig, r, 0);
    rig_end(&rig, write, 0);
    rig_end_all(&rig);
    rig_forget(&rig, flush, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* A flush that waits for a page waits no longer when nobody wants the page. */
static void test_a_flush_is_paid(void)
{
    Rig rig;
    ArrayRequest *flush, *r;

    rig_init(&rig, 1, 64, KEYS ",slots=1,reserved_slots=0");
    rig_write(&rig, 5, 'a');
    rig_write(&rig, 6, 'b');
    flush = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    /* One is on its way, the other waits in the list: high queue of 1. */
    only(&rig, ARRAY_IO_WRITE);
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 5 * PAGE, 2 * PAGE, 0);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    rig_forget(&rig, flush, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* Three drives, a page a unit: pages 4 to 11 are 4 7 10, 5 8 11 and 6 9. */
static void test_a_range_on_each_drive(void)
{
    static const uint64_t at[] = { 2, 1, 1 }, pages[] = { 2, 3, 3 };
    Rig rig;
    ArrayRequest *r;

    rig_init(&rig, 3, 64, KEYS);
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 4 * PAGE, 8 * PAGE, 0);
    g_assert_cmpuint(rig.ios->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const ArrayIo *io = rig_io(&rig, i);

        g_assert_cmpint(io->op, ==, ARRAY_IO_DISCARD);
        g_assert_cmpuint(io->offset_bytes, ==, at[io->drive] * PAGE);
        g_assert_cmpuint(io->length_bytes, ==, pages[io->drive] * PAGE);
    }
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    rig_clear(&rig);
}

static void test_parts_of_pages_are_left_alone(void)
{
    Rig rig;
    ArrayRequest *r;

    rig_init(&rig, 1, 64, KEYS);
    rig_write(&rig, 5, 'a');
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 5 * PAGE + 512, PAGE, 0);
    rig_forget(&rig, r, 0);
    g_assert_cmpuint(rig.ios->len, ==, 0);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 64 * PAGE, PAGE, 0);
    rig_forget(&rig, r, EINVAL);
    rig_clear(&rig);
}

static void test_one_after_the_other_and_errors(void)
{
    Rig rig;
    ArrayRequest *first, *second;

    rig_init(&rig, 2, 64, KEYS);
    first = rig_submit(&rig, ARRAY_OP_DISCARD, 0, 4 * PAGE, 0);
    second = rig_submit(&rig, ARRAY_OP_DISCARD, 8 * PAGE, PAGE, 0);
    g_assert_cmpuint(rig.ios->len, ==, 2);
    rig_end(&rig, rig_io(&rig, 1), EOPNOTSUPP);
    g_assert_cmpuint(rig.ios->len, ==, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_forget(&rig, first, EOPNOTSUPP);
    rig_end(&rig, only(&rig, ARRAY_IO_DISCARD), 0);
    rig_forget(&rig, second, 0);
    rig_clear(&rig);
}

/* More pages than the cache has: it is the cache that is gone through. */
static void test_everything(void)
{
    Rig rig;
    ArrayRequest *r;

    rig_init(&rig, 1, 128, KEYS);
    rig_write(&rig, 3, 'a');
    rig_write(&rig, 127, 'b');
    r = rig_submit(&rig, ARRAY_OP_DISCARD, 4 * PAGE, 124 * PAGE, 0);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    rig_hit(&rig, 3);
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/discard/dirty", test_dirty_page_is_forgotten);
    g_test_add_func("/array/discard/under-way", test_a_page_under_way_stays);
    g_test_add_func("/array/discard/flush", test_a_flush_is_paid);
    g_test_add_func("/array/discard/ranges", test_a_range_on_each_drive);
    g_test_add_func("/array/discard/parts", test_parts_of_pages_are_left_alone);
    g_test_add_func("/array/discard/order", test_one_after_the_other_and_errors);
    g_test_add_func("/array/discard/everything", test_everything);
    return g_test_run();
}
