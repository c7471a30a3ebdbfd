/*
 * Barriers and errors: what a flush waits for, in which order, and what
 * becomes of what cannot be written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define ONE_SET "cache_bytes=49152"

static ArrayRequest *flush(Rig *rig)
{
    return rig_submit(rig, ARRAY_OP_FLUSH, 0, 0, 0);
}

static void test_nothing(void)
{
    Rig rig;

    rig_init(&rig, 2, 64, ONE_SET);
    rig_forget(&rig, flush(&rig), 0);
    g_assert_cmpuint(array_stats(rig.array)->drive_flushes, ==, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* Data first, then the drives' own caches, of those drives that wrote. */
static void test_order(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 3, 64, "cache_bytes=1048576");
    rig_write(&rig, 0, 1);
    rig_write(&rig, 1, 1);
    rig_write(&rig, 3, 1);
    f = flush(&rig);
    g_assert_cmpuint(rig.ios->len, ==, 3);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_WRITE);
        g_assert_false(rig_io(&rig, 0)->low);
        rig_end(&rig, rig_io(&rig, 0), 0);
    }
    g_assert_cmpuint(rig.ios->len, ==, 2);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
    g_assert_cmpint(rig_io(&rig, 1)->op, ==, ARRAY_IO_FLUSH);
    g_assert_cmpuint(rig_io(&rig, 0)->drive + rig_io(&rig, 1)->drive, ==, 1);
    rig_end(&rig, rig_io(&rig, 1), 0);
    g_assert_false(rig_is_done(&rig, f));
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_forget(&rig, f, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* What is written after the flush is not its concern. */
static void test_later_writes(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 1, 64, "cache_bytes=1048576");
    rig_write(&rig, 0, 1);
    f = flush(&rig);
    rig_write(&rig, 1, 2);
    rig_write(&rig, 0, 2); /* of the same page, which is being written */
    g_assert_cmpuint(rig.ios->len, ==, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_forget(&rig, f, 0);
    g_assert_cmpuint(rig.disks[0][0], ==, 1);
    g_assert_cmpuint(rig.disks[0][PAGE], ==, 0);
    rig_clear(&rig);
}

/* A page that the flusher is already writing counts as any other. */
static void test_under_way(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    for (int i = 0; i < 7; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_cmpuint(rig.ios->len, ==, 2);
    f = flush(&rig);
    g_assert_cmpuint(rig.ios->len, ==, 7);
    for (int i = 0; i < 7; i++) {
        g_assert_false(rig_is_done(&rig, f));
        /* The two that were under way come last. */
        rig_end(&rig, rig_io(&rig, rig.ios->len - 1), 0);
    }
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    rig_clear(&rig);
}

static void test_fua(void)
{
    ArrayRequest r = { .op = ARRAY_OP_WRITE, .fua = true, .length_bytes = PAGE,
                       .offset_bytes = PAGE };
    Rig rig;

    rig_init(&rig, 1, 64, "cache_bytes=1048576");
    rig_write(&rig, 0, 1);
    r.data = g_malloc(PAGE);
    memset(r.data, 2, PAGE);
    array_submit(rig.array, &r);
    /* It, and what was written before it. */
    g_assert_cmpuint(rig.ios->len, ==, 2);
    rig_end(&rig, rig_io(&rig, 1), 0);
    g_assert_cmpuint(rig.disks[0][PAGE], ==, 2);
    g_assert_false(rig_is_done(&rig, &r));
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_true(rig_is_done(&rig, &r));
    g_assert_cmpint(r.error, ==, 0);
    g_free(r.data);
    rig_clear(&rig);
}

/* Two barriers: the later one's data arrive first. */
static void test_two(void)
{
    ArrayRequest *f[2];
    Rig rig;

    rig_init(&rig, 2, 64, "cache_bytes=1048576");
    rig_write(&rig, 0, 1);
    f[0] = flush(&rig);
    rig_write(&rig, 1, 1);
    f[1] = flush(&rig);
    g_assert_cmpuint(rig.ios->len, ==, 2);
    rig_end(&rig, rig_io(&rig, 1), 0);
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_cmpuint(rig.done->len, ==, 0);
    rig_end_all(&rig);
    g_assert_true(rig.done->pdata[0] == f[0]);
    rig_forget(&rig, f[0], 0);
    rig_forget(&rig, f[1], 0);
    /* Both were settled by one flush of each drive. */
    g_assert_cmpuint(array_stats(rig.array)->drive_flushes, ==, 2);
    rig_clear(&rig);
}

/* At most as many of a barrier's writes wait as a drive has slots. */
static void test_reads_get_through(void)
{
    ArrayRequest *f, *r;
    Rig rig;

    rig_init(&rig, 1, 64, "cache_bytes=1048576,slots=4,reserved_slots=1,"
             "flusher=0");
    for (int i = 0; i < 40; i++) {
        rig_write(&rig, i, 1);
    }
    f = flush(&rig);
    r = rig_submit(&rig, ARRAY_OP_READ, 50 * PAGE, PAGE, 0);
    /* 4 under way, 4 waiting; the read is the 9th of 41. */
    for (int i = 0; i < 8; i++) {
        g_assert_false(rig_is_done(&rig, r));
        rig_end(&rig, rig_io(&rig, 0), 0);
    }
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_forget(&rig, r, 0);
    g_assert_false(rig_is_done(&rig, f));
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    rig_clear(&rig);
}

/* ---- Errors ------------------------------------------------------------ */

static void end_with_errors(Rig *rig, int n)
{
    for (int i = 0; i < n; i++) {
        g_assert_cmpuint(rig->ios->len, ==, 1);
        g_assert_cmpint(rig_io(rig, 0)->op, ==, ARRAY_IO_WRITE);
        rig_end_torn(rig, rig_io(rig, 0), EIO, i);
    }
}

static void test_retried(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    rig_write(&rig, 0, 1);
    f = flush(&rig);
    end_with_errors(&rig, 3);
    g_assert_false(rig_is_done(&rig, f));
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    g_assert_cmpuint(rig.disks[0][PAGE - 1], ==, 1);
    g_assert_cmpuint(array_stats(rig.array)->write_errors, ==, 3);
    g_assert_cmpuint(array_stats(rig.array)->failed, ==, 0);
    rig_clear(&rig);
}

static void test_reported(void)
{
    ArrayRequest *f[2];
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    rig_write(&rig, 0, 1);
    f[0] = flush(&rig);
    f[1] = flush(&rig);
    end_with_errors(&rig, 4);
    rig_forget(&rig, f[0], EIO);
    rig_forget(&rig, f[1], EIO);
    g_assert_cmpuint(array_failed_pages(rig.array), ==, 1);
    g_assert_cmpuint(array_dirty_pages(rig.array), ==, 1);
    /* It can still be read, and the next flush tries again, and says so. */
    rig_hit(&rig, 0);
    f[0] = flush(&rig);
    end_with_errors(&rig, 4);
    rig_forget(&rig, f[0], EIO);
    f[0] = flush(&rig);
    rig_end_all(&rig);
    rig_forget(&rig, f[0], 0);
    g_assert_cmpuint(array_failed_pages(rig.array), ==, 0);
    g_assert_cmpuint(rig.disks[0][PAGE - 1], ==, 1);
    rig_forget(&rig, flush(&rig), 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* Nobody waited when it failed: the next flush finds out. */
static void test_failed_unseen(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flush_batch=1,max_flushes=1");
    for (int i = 0; i < 7; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_true(rig_io(&rig, 0)->low);
    rig_end(&rig, rig_io(&rig, 0), EIO);
    for (int i = 0; i < 3; i++) {
        /* The retry is of high priority; beside it the flusher goes on. */
        ArrayIo *io = rig_io(&rig, rig_number(&rig, rig_io(&rig, 0)) ? 1 : 0);

        g_assert_cmpuint(rig_number(&rig, io), ==, 0);
        g_assert_false(io->low);
        rig_end(&rig, io, EIO);
    }
    g_assert_cmpuint(array_failed_pages(rig.array), ==, 1);
    rig_end_all(&rig);
    g_assert_cmpuint(array_failed_pages(rig.array), ==, 1);
    f = flush(&rig);
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)) *
                     rig_number(&rig, rig_io(&rig, 1)), ==, 0);
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    g_assert_cmpuint(rig.disks[0][0], ==, 1);
    rig_clear(&rig);
}

/* Changed while the write that fails was under way: both are owed. */
static void test_failed_and_changed(void)
{
    ArrayRequest *f[2];
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    rig_write(&rig, 0, 1);
    f[0] = flush(&rig);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 0, 8, 2), 0);
    f[1] = flush(&rig);
    end_with_errors(&rig, 1);
    g_assert_cmpuint(((unsigned char *)rig_io(&rig, 0)->data)[0], ==, 2);
    rig_end_all(&rig);
    rig_forget(&rig, f[0], 0);
    rig_forget(&rig, f[1], 0);
    g_assert_cmpuint(rig.disks[0][7], ==, 2);
    g_assert_cmpuint(rig.disks[0][8], ==, 1);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* A set of which nothing can be written back tells those who want a place. */
static void test_no_room(void)
{
    ArrayRequest *r;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0,retries=0");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, i);
    }
    r = rig_submit(&rig, ARRAY_OP_READ, 20 * PAGE, PAGE, 0);
    for (int i = 0; i < 12; i++) {
        g_assert_false(rig_is_done(&rig, r));
        g_assert_cmpuint(rig.ios->len, ==, 1);
        rig_end(&rig, rig_io(&rig, 0), EIO);
    }
    rig_forget(&rig, r, EIO);
    g_assert_cmpuint(array_failed_pages(rig.array), ==, 12);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_READ, 20 * PAGE, 1, 0), EIO);
    /* What is in the cache is served; a new write of it is tried again. */
    rig_hit(&rig, 5);
    rig_write(&rig, 5, 50);
    r = rig_submit(&rig, ARRAY_OP_READ, 20 * PAGE, PAGE, 0);
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)), ==, 5);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    g_assert_cmpuint(rig.disks[0][5 * PAGE], ==, 50);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* A drive that does not keep what it has acknowledged is not believed again */
static void test_lost(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 2, 64, ONE_SET);
    rig_write(&rig, 1, 1);
    f = flush(&rig);
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_end(&rig, rig_io(&rig, 0), EIO);
    rig_end(&rig, rig_io(&rig, 0), 0); /* the second attempt */
    rig_forget(&rig, f, 0);
    rig_write(&rig, 1, 2);
    f = flush(&rig);
    rig_end(&rig, rig_io(&rig, 0), 0);
    for (int i = 0; i < 4; i++) {
        g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
        rig_end(&rig, rig_io(&rig, 0), EIO);
    }
    rig_forget(&rig, f, EIO);
    f = flush(&rig);
    rig_end_all(&rig);
    rig_forget(&rig, f, EIO);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* The first write of a request that cannot be served in full. */
static void test_fua_error(void)
{
    ArrayRequest r = { .op = ARRAY_OP_WRITE, .fua = true, .length_bytes = 10 };
    char data[10] = "";
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    r.data = data;
    array_submit(rig.array, &r);
    rig_end(&rig, rig_io(&rig, 0), EIO);
    g_assert_true(rig_is_done(&rig, &r));
    g_assert_cmpint(r.error, ==, EIO);
    g_assert_cmpuint(rig.ios->len, ==, 0);
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/barrier/nothing", test_nothing);
    g_test_add_func("/array/barrier/order", test_order);
    g_test_add_func("/array/barrier/later-writes", test_later_writes);
    g_test_add_func("/array/barrier/under-way", test_under_way);
    g_test_add_func("/array/barrier/fua", test_fua);
    g_test_add_func("/array/barrier/two", test_two);
    g_test_add_func("/array/barrier/reads-get-through", test_reads_get_through);
    g_test_add_func("/array/errors/retried", test_retried);
    g_test_add_func("/array/errors/reported", test_reported);
    g_test_add_func("/array/errors/failed-unseen", test_failed_unseen);
    g_test_add_func("/array/errors/failed-and-changed",
                    test_failed_and_changed);
    g_test_add_func("/array/errors/no-room", test_no_room);
    g_test_add_func("/array/errors/lost", test_lost);
    g_test_add_func("/array/errors/fua", test_fua_error);
    return g_test_run();
}
