/*
 * Requests through the cache: hits, misses, updates of parts of pages, pages
 * that change while they are written, errors of reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rig.h"

#define ONE_SET "cache_bytes=49152"

static void assert_bytes(const void *data, size_t from, size_t n, int byte)
{
    for (size_t i = from; i < from + n; i++) {
        g_assert_cmpuint(((const unsigned char *)data)[i], ==, byte);
    }
}

/* Unit u of the array is unit u / N of drive u mod N. */
static void test_map(void)
{
    uint64_t offset;
    Rig rig;

    rig_init(&rig, 3, 64, "stripe_bytes=8192,cache_bytes=98304");
    g_assert_cmpuint(array_bytes(rig.array), ==, 3 * 64 * PAGE);
    g_assert_cmpuint(array_map(rig.array, 0, &offset), ==, 0);
    g_assert_cmpuint(offset, ==, 0);
    g_assert_cmpuint(array_map(rig.array, 1, &offset), ==, 0);
    g_assert_cmpuint(offset, ==, PAGE);
    g_assert_cmpuint(array_map(rig.array, 2, &offset), ==, 1);
    g_assert_cmpuint(offset, ==, 0);
    g_assert_cmpuint(array_map(rig.array, 7, &offset), ==, 0);
    g_assert_cmpuint(offset, ==, 3 * PAGE);
    g_assert_cmpuint(array_map(rig.array, 191, &offset), ==, 2);
    g_assert_cmpuint(offset, ==, 63 * PAGE);
    rig_clear(&rig);
}

/* Every page of the array has a place of its own. */
static void test_map_once(void)
{
    bool *taken = g_new0(bool, 5 * 96);
    Rig rig;

    rig_init(&rig, 5, 96, "stripe_bytes=12288,cache_bytes=98304");
    rig.array->config.data_offset_bytes = 0;
    for (uint64_t i = 0; i < 5 * 96; i++) {
        uint64_t offset;
        uint32_t drive = array_map(rig.array, i, &offset);

        g_assert_cmpuint(offset % PAGE, ==, 0);
        g_assert_cmpuint(offset / PAGE, <, 96);
        g_assert_false(taken[drive * 96 + offset / PAGE]);
        taken[drive * 96 + offset / PAGE] = true;
    }
    g_free(taken);
    rig_clear(&rig);
}

static void test_read(void)
{
    ArrayRequest *r[2];
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    memset(rig.disks[0] + 7 * PAGE, 7, PAGE);
    r[0] = rig_submit(&rig, ARRAY_OP_READ, 7 * PAGE + 100, 50, 0);
    r[1] = rig_submit(&rig, ARRAY_OP_READ, 7 * PAGE + 200, 60, 0);
    /* One I/O for both, of the whole page, of high priority. */
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_false(rig_io(&rig, 0)->low);
    g_assert_cmpuint(rig_io(&rig, 0)->length_bytes, ==, PAGE);
    rig_end_all(&rig);
    assert_bytes(r[0]->data, 0, 50, 7);
    assert_bytes(r[1]->data, 0, 60, 7);
    rig_forget(&rig, r[0], 0);
    rig_forget(&rig, r[1], 0);
    rig_hit(&rig, 7);
    g_assert_cmpuint(array_stats(rig.array)->hits, ==, 1);
    g_assert_cmpuint(array_stats(rig.array)->misses, ==, 2);
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_update(void)
{
    ArrayRequest *w, *f;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    memset(rig.disks[0] + 7 * PAGE, 7, PAGE);
    w = rig_submit(&rig, ARRAY_OP_WRITE, 7 * PAGE + 128, 128, 9);
    g_assert_false(rig_is_done(&rig, w));
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_READ);
    rig_end_all(&rig);
    rig_forget(&rig, w, 0);
    /* What is in the cache now needs no reading. */
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 7 * PAGE, 1, 8), 0);
    f = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    assert_bytes(rig.disks[0], 7 * PAGE, 1, 8);
    assert_bytes(rig.disks[0], 7 * PAGE + 1, 127, 7);
    assert_bytes(rig.disks[0], 7 * PAGE + 128, 128, 9);
    assert_bytes(rig.disks[0], 7 * PAGE + 256, PAGE - 256, 7);
    g_assert_cmpuint(array_stats(rig.array)->read, ==, 1);
    rig_clear(&rig);
}

static void test_whole_page_is_not_read(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    rig_write(&rig, 3, 1);
    g_assert_cmpuint(array_stats(rig.array)->read, ==, 0);
    g_assert_cmpuint(rig.ios->len, ==, 0);
    rig_clear(&rig);
}

static void test_several_pages(void)
{
    ArrayRequest *r;
    Rig rig;

    rig_init(&rig, 2, 64, "cache_bytes=1048576");
    /* The end of page 1, pages 2 and 3, the beginning of page 4. */
    r = rig_submit(&rig, ARRAY_OP_WRITE, 2 * PAGE - 10, 2 * PAGE + 30, 5);
    g_assert_cmpuint(rig.ios->len, ==, 2);
    g_assert_false(rig_is_done(&rig, r));
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    r = rig_submit(&rig, ARRAY_OP_READ, 2 * PAGE - 11, 2 * PAGE + 32, 1);
    assert_bytes(r->data, 0, 1, 0);
    assert_bytes(r->data, 1, 2 * PAGE + 30, 5);
    assert_bytes(r->data, 2 * PAGE + 31, 1, 0);
    rig_forget(&rig, r, 0);
    rig_clear(&rig);
}

static void test_dirty_set(void)
{
    ArrayRequest *r;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0");
    for (int i = 0; i < 12; i++) {
        rig_write(&rig, i, i);
    }
    rig_hit(&rig, 0);
    /* Page 1 goes next; the write waits for it, in the high queue. */
    r = rig_submit(&rig, ARRAY_OP_WRITE, 30 * PAGE, PAGE, 30);
    g_assert_false(rig_is_done(&rig, r));
    g_assert_cmpuint(rig.ios->len, ==, 1);
    g_assert_false(rig_io(&rig, 0)->low);
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)), ==, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    rig_forget(&rig, r, 0);
    g_assert_cmpuint(rig_page(&rig, 30), ==, 1);
    assert_bytes(rig.disks[0], PAGE, PAGE, 1);
    g_assert_cmpuint(array_stats(rig.array)->evicted_dirty, ==, 1);
    rig_quiet(&rig);
    rig_clear(&rig);
}

static void test_changed_while_written(void)
{
    ArrayRequest *r;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    for (int i = 0; i < 7; i++) {
        rig_write(&rig, i, 1);
    }
    g_assert_cmpuint(rig_number(&rig, rig_io(&rig, 0)), ==, 0);
    /* A part of it, then again: one copy; then the drive ends the first. */
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 100, 8, 2), 0);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 108, 8, 3), 0);
    g_assert_cmpuint(array_stats(rig.array)->copied, ==, 1);
    assert_bytes(rig_io(&rig, 0)->data, 0, PAGE, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    assert_bytes(rig.disks[0], 0, PAGE, 1);
    g_assert_true(rig.array->flags[0] & PAGE_DIRTY);
    r = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_end_all(&rig);
    rig_forget(&rig, r, 0);
    assert_bytes(rig.disks[0], 0, 100, 1);
    assert_bytes(rig.disks[0], 100, 8, 2);
    assert_bytes(rig.disks[0], 108, 8, 3);
    assert_bytes(rig.disks[0], 116, PAGE - 116, 1);
    rig_clear(&rig);
}

/*
 * Who comes after the process was killed has the marked contents alone: they
 * stay as they are until the new ones are whole, and marked.
 */
static void test_changed_while_marked(void)
{
    ArrayRequest *flush;
    uint32_t spares, old;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0,slots=1,reserved_slots=0");
    spares = rig.array->n_spares;
    g_assert_cmpuint(spares, ==, 2);
    rig_write(&rig, 0, 1);
    for (int i = 0; i < 3; i++) {
        old = rig.array->pages[0].buffer;
        g_assert_cmpuint(rig.marks[old], ==, 1);
        rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 100, 8, 2 + i), 0);
        assert_bytes(array_buffer(rig.array, old), 100, 8, 1 + i);
        assert_bytes(array_buffer(rig.array, rig.array->pages[0].buffer), 0,
                     100, 1);
        g_assert_cmpuint(rig.marks[old], ==, 0);
        g_assert_cmpuint(rig.array->n_spares, ==, spares);
    }
    /* Also while each slot's page has another buffer by now. */
    flush = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_write(&rig, 0, 7);
    g_assert_cmpuint(rig.array->n_spares, ==, spares - 1);
    old = rig.array->pages[0].buffer;
    rig_write(&rig, 0, 8);
    assert_bytes(array_buffer(rig.array, old), 0, PAGE, 7);
    g_assert_cmpuint(rig.array->n_spares, ==, spares - 1);
    g_assert_cmpuint(array_stats(rig.array)->copied, ==, 1);
    rig_end_all(&rig);
    rig_forget(&rig, flush, 0);
    rig_clear(&rig);
}

/* The page is never written twice at once. */
static void test_one_write_of_a_page(void)
{
    ArrayRequest *f;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET ",flusher=0");
    rig_write(&rig, 0, 1);
    f = rig_submit(&rig, ARRAY_OP_FLUSH, 0, 0, 0);
    rig_write(&rig, 0, 2);
    g_assert_cmpuint(rig.ios->len, ==, 1);
    rig_end(&rig, rig_io(&rig, 0), 0);
    g_assert_cmpint(rig_io(&rig, 0)->op, ==, ARRAY_IO_FLUSH);
    rig_end_all(&rig);
    rig_forget(&rig, f, 0);
    assert_bytes(rig.disks[0], 0, PAGE, 1);
    rig_clear(&rig);
}

static void test_read_error(void)
{
    ArrayRequest *read, *part, *whole;
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    read = rig_submit(&rig, ARRAY_OP_READ, 0, 512, 0);
    part = rig_submit(&rig, ARRAY_OP_WRITE, 512, 512, 4);
    whole = rig_submit(&rig, ARRAY_OP_WRITE, PAGE, PAGE, 5);
    rig_end(&rig, rig_io(&rig, 0), EIO);
    rig_forget(&rig, read, EIO);
    rig_forget(&rig, part, EIO);
    rig_forget(&rig, whole, 0);
    /* Nothing of it stays: the next one reads. */
    read = rig_submit(&rig, ARRAY_OP_READ, 0, 512, 1);
    g_assert_cmpuint(rig.ios->len, ==, 1);
    rig_end_all(&rig);
    assert_bytes(read->data, 0, 512, 0);
    rig_forget(&rig, read, 0);
    g_assert_cmpuint(array_stats(rig.array)->read_errors, ==, 1);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* One page of three cannot be read. */
static void test_part_of_a_request(void)
{
    ArrayRequest *r;
    Rig rig;

    rig_init(&rig, 1, 64, "cache_bytes=1048576");
    r = rig_submit(&rig, ARRAY_OP_READ, 0, 3 * PAGE, 0);
    g_assert_cmpuint(rig.ios->len, ==, 3);
    rig_end(&rig, rig_io(&rig, 1), EREMOTEIO);
    g_assert_false(rig_is_done(&rig, r));
    rig_end_all(&rig);
    rig_forget(&rig, r, EREMOTEIO);
    rig_clear(&rig);
}

static void test_outside(void)
{
    Rig rig;

    rig_init(&rig, 1, 64, ONE_SET);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_READ, 64 * PAGE - 1, 2, 0),
               EINVAL);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, UINT64_MAX, 1, 0),
               EINVAL);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_READ, 64 * PAGE, 0, 0), 0);
    rig_forget(&rig, rig_submit(&rig, ARRAY_OP_WRITE, 0, 0, 0), 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* More pages wait than there is room for: requests go on one by one. */
static void test_backlog(void)
{
    ArrayRequest *r[4];
    Rig rig;

    rig_init(&rig, 1, 4096, "cache_bytes=98304");
    for (int i = 0; i < 4; i++) {
        r[i] = rig_submit(&rig, ARRAY_OP_READ, i * 600 * PAGE, 600 * PAGE, 1);
    }
    g_assert_cmpuint(rig.array->part_free, ==, NONE);
    g_assert_nonnull(rig.array->backlog_first);
    rig_end_all(&rig);
    for (int i = 0; i < 4; i++) {
        assert_bytes(r[i]->data, 0, 600 * PAGE, 0);
        rig_forget(&rig, r[i], 0);
    }
    rig_quiet(&rig);
    rig_clear(&rig);
}

/*
 * Of one set of two pages the first is dirty and to go; who waits for that is
 * overtaken, and by a write of the same page at that, which takes the other.
 */
static void test_overtaken(void)
{
    ArrayRequest *clean, *update, *whole;
    Rig rig;

    rig_init(&rig, 1, 64, "set_pages=2,cache_bytes=8192,dirty_pages=1,"
             "stale_score=1,flusher=0,clean_first=0");
    rig_write(&rig, 0, 'a');
    clean = rig_submit(&rig, ARRAY_OP_READ, PAGE, PAGE, 0);
    rig_end_all(&rig);
    rig_forget(&rig, clean, 0);
    update = rig_submit(&rig, ARRAY_OP_WRITE, 2 * PAGE + 8, 8, 'b');
    whole = rig_submit(&rig, ARRAY_OP_WRITE, 2 * PAGE, PAGE, 'c');
    rig_forget(&rig, whole, 0);
    g_assert_false(rig_is_done(&rig, update));
    rig_end_all(&rig);
    rig_forget(&rig, update, 0);
    rig_quiet(&rig);
    rig_clear(&rig);
}

/*
 * A page that waits to be read makes no room.  Who needs some has a dirty page
 * written at once, and need not wait for the drive that is to read.
 */
static void test_room_beside_reads(void)
{
    ArrayRequest *reads[2], *write;
    ArrayIo *io;
    Rig rig;

    rig_init(&rig, 2, 64, ONE_SET ",flusher=0,slots=1,reserved_slots=0");
    /* Odd pages are drive 1's: it reads one, and the other is in its queue. */
    for (int i = 0; i < 2; i++) {
        reads[i] = rig_submit(&rig, ARRAY_OP_READ, (2 * i + 1) * PAGE, PAGE, 0);
    }
    g_assert_cmpuint(rig.ios->len, ==, 1);
    /* The other ten of the set are drive 0's, which has nothing to do. */
    for (int i = 0; i < 10; i++) {
        rig_write(&rig, 2 * i, 1);
    }
    write = rig_submit(&rig, ARRAY_OP_WRITE, 40 * PAGE, PAGE, 2);
    io = rig_io(&rig, 1);
    g_assert_cmpint(io->op, ==, ARRAY_IO_WRITE);
    g_assert_cmpuint(io->drive, ==, 0);
    rig_end(&rig, io, 0);
    rig_forget(&rig, write, 0);
    g_assert_false(rig_is_done(&rig, reads[0]));
    rig_end_all(&rig);
    for (int i = 0; i < 2; i++) {
        rig_forget(&rig, reads[i], 0);
    }
    rig_quiet(&rig);
    rig_clear(&rig);
}

/* Every way in which blocks, vectors and single bytes may follow each other. */
static void test_copy(void)
{
    unsigned char from[320], to[340];

    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = i % 255 + 1; /* no byte is what stands in `to` before */
    }
    for (size_t bytes = 0; bytes <= 300; bytes++) {
        for (size_t at = 0; at < 16; at++) {
            size_t source = (at * 7 + bytes) % 16;

            memset(to, 0, sizeof(to));
            array_copy(to + at, from + source, bytes);
            g_assert_cmpmem(to + at, bytes, from + source, bytes);
            assert_bytes(to, 0, at, 0);
            assert_bytes(to, at + bytes, sizeof(to) - at - bytes, 0);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/map/places", test_map);
    g_test_add_func("/array/map/once", test_map_once);
    g_test_add_func("/array/cache/read", test_read);
    g_test_add_func("/array/cache/update", test_update);
    g_test_add_func("/array/cache/whole-page", test_whole_page_is_not_read);
    g_test_add_func("/array/cache/several-pages", test_several_pages);
    g_test_add_func("/array/cache/dirty-set", test_dirty_set);
    g_test_add_func("/array/cache/changed-while-written",
                    test_changed_while_written);
    g_test_add_func("/array/cache/changed-while-marked",
                    test_changed_while_marked);
    g_test_add_func("/array/cache/one-write", test_one_write_of_a_page);
    g_test_add_func("/array/cache/read-error", test_read_error);
    g_test_add_func("/array/cache/part-of-a-request", test_part_of_a_request);
    g_test_add_func("/array/cache/outside", test_outside);
    g_test_add_func("/array/cache/backlog", test_backlog);
    g_test_add_func("/array/cache/overtaken", test_overtaken);
    g_test_add_func("/array/cache/room-beside-reads", test_room_beside_reads);
    g_test_add_func("/array/cache/copy", test_copy);
    return g_test_run();
}
