/*
 * An array's drives as files: what they are told of runs, and what the ends of
 * their I/O mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "files.h"
#include "ring.h"

#include <errno.h>

#define RUNS_BYTES (ARRAY_RUN_BLOCKS * ARRAY_LABEL_BYTES)

static void open_drives(const Files *f, ArrayDrives *drives)
{
    char error[ARRAY_ERROR_BYTES] = "";

    if (!array_drives_open(drives, paths(f), N, error)) {
        g_error("%s", error);
    }
}

/*
 * Killed while it told its drives that it serves: the first knows, the others
 * know that it starts.  None of them was missing, so they still are an array.
 */
static void test_killed_while_telling(void)
{
    /* The drives are read and written past the kernel's cache: whole blocks. */
    static _Alignas(ARRAY_LABEL_BYTES) unsigned char starts[N][RUNS_BYTES];
    char error[ARRAY_ERROR_BYTES] = "";
    ArrayDrives drives;
    Files f;

    files_init(&f);
    format(&f);
    open_drives(&f, &drives);
    for (uint64_t run = 1; run <= 3; run++) {
        g_assert_true(array_drives_start_run(&drives, error));
        for (int i = 1; i < N; i++) {
            g_assert_cmpint(pread(drives.fd[i], starts[i], RUNS_BYTES,
                                  array_run_offset(0)), ==, RUNS_BYTES);
        }
        g_assert_true(array_drives_serve_run(&drives, ARRAY_NO_DEVICE, error));
        for (int i = 1; i < N; i++) {
            g_assert_cmpint(pwrite(drives.fd[i], starts[i], RUNS_BYTES,
                                   array_run_offset(0)), ==, RUNS_BYTES);
        }
        array_drives_close(&drives);
        open_drives(&f, &drives);
        g_assert_cmpuint(drives.runs.heard, ==, run);
        g_assert_cmpuint(drives.runs.served, ==, run);
    }
    array_drives_close(&drives);
    files_clear(&f);
}

/* The kernel says how many bytes it has moved; a discard moves none. */
static void test_ends(void)
{
    static const ArrayIo read = { .op = ARRAY_IO_READ, .length_bytes = PAGE };
    static const ArrayIo write = { .op = ARRAY_IO_WRITE, .length_bytes = PAGE };
    static const ArrayIo flush = { .op = ARRAY_IO_FLUSH };
    static const ArrayIo discard = {
        .op = ARRAY_IO_DISCARD, .length_bytes = 16 * PAGE,
    };

    g_assert_cmpint(array_ring_error(&read, PAGE), ==, 0);
    g_assert_cmpint(array_ring_error(&read, PAGE - 512), ==, EIO);
    g_assert_cmpint(array_ring_error(&write, PAGE), ==, 0);
    g_assert_cmpint(array_ring_error(&write, 0), ==, EIO);
    g_assert_cmpint(array_ring_error(&flush, 0), ==, 0);
    g_assert_cmpint(array_ring_error(&flush, -EIO), ==, EIO);
    g_assert_cmpint(array_ring_error(&discard, 0), ==, 0);
    g_assert_cmpint(array_ring_error(&discard, -EOPNOTSUPP), ==, EOPNOTSUPP);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/array/drives/killed-while-telling",
                    test_killed_while_telling);
    g_test_add_func("/array/drives/ends", test_ends);
    return g_test_run();
}
