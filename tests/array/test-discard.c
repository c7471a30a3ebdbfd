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

/*
 * All of a drive of 1 TiB, as who makes a file system asks for.  It has 2^28
 * pages: to look for each of them in the cache would take seconds, so the 48
 * that the cache has are looked at.
 */
static void test_a_large_drive(void)
{
    static const ArrayOps ops = { rig_issue, rig_done };
    uint64_t bytes = 1ull << 40;
    Rig rig = { .ios = g_ptr_array_new(), .done = g_ptr_array_new() };
    ArrayRequest write = {
        .op = ARRAY_OP_WRITE, .offset_bytes = bytes - PAGE,
        .length_bytes = PAGE,
    };
    ArrayRequest all = { .op = ARRAY_OP_DISCARD, .length_bytes = bytes };
    char error[ARRAY_ERROR_BYTES] = "";

    /* Without memory for contents: none are asked for. */
    array_config_init(&rig.config);
    g_assert_true(array_config_parse(&rig.config, KEYS, error));
    rig.config.n_drives = 1;
    rig.config.drive_bytes = &bytes;
    rig.array = array_new(&rig.config, &ops, &rig, error);
    g_assert_nonnull(rig.array);
    array_submit(rig.array, &write);
    g_assert_true(rig_is_done(&rig, &write));
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    array_submit(rig.array, &all);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 0);
    g_assert_cmpuint(only(&rig, ARRAY_IO_DISCARD)->length_bytes, ==, bytes);
    array_io_done(rig.array, rig_io(&rig, 0), 0);
    g_assert_true(rig_is_done(&rig, &all));
    array_free(rig.array);
    g_ptr_array_free(rig.ios, TRUE);
    g_ptr_array_free(rig.done, TRUE);
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
    g_test_add_func("/array/discard/large-drive", test_a_large_drive);
    return g_test_run();
}
